/* SPDX-License-Identifier: BSD-2-Clause */
/* explain: see explain.h. */
#include "explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int number_or_unknown(const json_t *json)
{
	return json_is_integer(json) ? (int)json_integer_value(json) : GP_DIAGNOSE_UNKNOWN;
}

static void read_side(const json_t *host, struct gp_diagnose_side *side)
{
	const json_t *gpu = json_object_get(host, "gpu"), *nic = json_object_get(host, "nic");

	gp_diagnose_side_init(side);
	side->gpu = json_is_object(gpu);
	side->distance = json_string_value(json_object_get(host, "distance"));
	side->gpu_node = number_or_unknown(json_object_get(gpu, "numa_node"));
	side->nic_node = number_or_unknown(json_object_get(nic, "numa_node"));
	side->nic_gbits_per_s = json_number_value(json_object_get(nic, "rate_gbits_per_s"));
}

static bool same_row(const struct gp_diagnose_row *row, const struct gp_cell *cell)
{
	return strcmp(row->op, cell->op) == 0 && row->size == cell->size &&
	       strcmp(row->placement, cell->placement) == 0 && row->two_way == cell->two_way;
}

/* The row of the cell's op, size and placement, begun where there is none yet. */
static struct gp_diagnose_row *row_of(struct gp_diagnose_row *rows, int *n,
				      const struct gp_cell *cell,
				      const struct gp_diagnose_side *sides)
{
	for (int i = 0; i < *n; i++)
		if (same_row(&rows[i], cell))
			return &rows[i];
	gp_diagnose_row_init(&rows[*n]);
	rows[*n].op = cell->op;
	rows[*n].size = cell->size;
	rows[*n].placement = cell->placement;
	rows[*n].two_way = cell->two_way;
	rows[*n].sides = sides;
	return &rows[(*n)++];
}

static void read_cell(const struct gp_cell *cell, struct gp_diagnose_row *row)
{
	int path = gp_diagnose_path_find(cell->path);

	if (path < 0)
		return;
	if (cell->n_rounds && cell->verdict != GP_CONTRADICTED)
		row->path[path].gbytes_per_s = cell->summary.median;
	row->path[path].space = cell->error.space;
	row->path[path].code = cell->error.code;
}

/* InfiniBand is known not to be RoCE; which RoCE it is the record does not tell. */
static int roce_of(const struct gp_record *record)
{
	const json_t *nic = json_object_get(record->client, "nic");
	const char *link = json_string_value(json_object_get(nic, "link"));

	return link && strcmp(link, "InfiniBand") == 0 ? GP_DIAGNOSE_NOT_ROCE : GP_DIAGNOSE_UNKNOWN;
}

static int option_number(const struct gp_record *record, const char *name)
{
	const char *text = json_string_value(json_object_get(record->command, name));

	return text ? atoi(text) : 0;
}

static int relaxed_ordering(const struct gp_record *record)
{
	const char *text = json_string_value(json_object_get(record->command, "relaxed-ordering"));

	return text ? strcmp(text, "on") == 0 : GP_DIAGNOSE_UNKNOWN;
}

void gp_explain(const struct gp_record *record, struct gp_diagnosis *diagnosis)
{
	struct gp_diagnose_row *rows = calloc((size_t)record->n_cells + 1, sizeof(*rows));
	struct gp_diagnose_side sides[GP_SIDES];
	struct gp_diagnose_run run;
	int n = 0;

	*diagnosis = (struct gp_diagnosis){0};
	if (!rows)
		return;
	read_side(record->client, &sides[GP_CLIENT]);
	read_side(record->server, &sides[GP_SERVER]);
	for (int i = 0; i < record->n_cells; i++)
		if (record->cells[i].op[0])
			read_cell(&record->cells[i], row_of(rows, &n, &record->cells[i], sides));
	gp_diagnose_run_init(&run);
	run.rows = rows;
	run.n_rows = n;
	run.limit = record->limit;
	run.relaxed_ordering = relaxed_ordering(record);
	run.mtu = (int)json_integer_value(json_object_get(record->connection, "mtu"));
	run.roce = roce_of(record);
	run.qps = option_number(record, "qp");
	gp_diagnose(&run, diagnosis);
	free(rows);
}
