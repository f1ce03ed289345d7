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

static int yes_or_unknown(const json_t *json)
{
	return json_is_boolean(json) ? json_is_true(json) : GP_DIAGNOSE_UNKNOWN;
}

/* Members that are null or not there stay 0: not told. */
static void read_link(const json_t *json, struct gp_diagnose_link *link)
{
	link->gts = json_number_value(json_object_get(json, "gts"));
	link->width = (int)json_integer_value(json_object_get(json, "width"));
	link->max_gts = json_number_value(json_object_get(json, "max_gts"));
	link->max_width = (int)json_integer_value(json_object_get(json, "max_width"));
}

/* "DMA", "DMA-FQ" translate, "identity" does not (sysfs iommu_group/type, as topo has it). */
static int iommu_of(const json_t *device)
{
	const char *type = json_string_value(json_object_get(device, "iommu"));

	return type ? strncmp(type, "DMA", 3) == 0 : GP_DIAGNOSE_UNKNOWN;
}

/* Intel and AMD name their lines for desktops and for servers differently; of others nothing is
 * said. */
static int client_chipset(const json_t *cpu)
{
	static const struct {
		const char *word;
		int client;
	} lines[] = {{"Core(TM)", 1}, {"Core Ultra", 1}, {"Ryzen", 1}, {"Xeon", 0}, {"EPYC", 0}};
	const char *name = json_string_value(cpu);

	for (size_t i = 0; name && i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strstr(name, lines[i].word))
			return lines[i].client;
	return GP_DIAGNOSE_UNKNOWN;
}

static void read_side(const json_t *host, struct gp_diagnose_side *side)
{
	const json_t *gpu = json_object_get(host, "gpu"), *nic = json_object_get(host, "nic");
	int of_gpu = iommu_of(gpu), of_nic = iommu_of(nic);

	gp_diagnose_side_init(side);
	side->gpu = json_is_object(gpu);
	side->acs_redirect = yes_or_unknown(json_object_get(host, "acs_redirect"));
	side->coherent = yes_or_unknown(json_object_get(gpu, "host_page_tables"));
	side->client_chipset = client_chipset(json_object_get(host, "cpu"));
	side->iommu_translating = of_gpu == 1 || of_nic == 1 ? 1
				  : of_gpu < of_nic	     ? of_gpu
							     : of_nic;
	side->mtu_max = (int)json_integer_value(json_object_get(nic, "mtu_max"));
	read_link(json_object_get(gpu, "link"), &side->gpu_link);
	read_link(json_object_get(gpu, "narrowest"), &side->gpu_narrowest);
	read_link(json_object_get(nic, "pcie"), &side->nic_link);
	read_link(json_object_get(nic, "narrowest"), &side->nic_narrowest);
	side->distance = json_string_value(json_object_get(host, "distance"));
	side->gpu_node = number_or_unknown(json_object_get(gpu, "numa_node"));
	side->nic_node = number_or_unknown(json_object_get(nic, "numa_node"));
	side->nic_gbits_per_s = json_number_value(json_object_get(nic, "rate_gbits_per_s"));
}

/* What diagnose borrows. */
struct scene {
	const struct gp_record *record;
	struct gp_diagnose_row *rows; /* as many as cells */
	int n_rows;
	struct gp_diagnose_side (*sides)[GP_SIDES]; /* by placement; one where there are no notes */
	struct gp_diagnose_rail *rails;		    /* as many as cells, in the order of sums */
	int n_rails;
};

static int stand_of(const struct gp_record *record, const char *placement)
{
	for (int i = 0; i < record->n_stands; i++)
		if (strcmp(record->stands[i].name, placement) == 0)
			return i;
	return 0;
}

static bool has_figure(const struct gp_cell *cell)
{
	return cell->n_rounds && cell->verdict != GP_CONTRADICTED;
}

static struct gp_diagnose_row *find_row(const struct scene *scene, const struct gp_cell *cell,
					const char *placement)
{
	for (int i = 0; i < scene->n_rows; i++) {
		struct gp_diagnose_row *row = &scene->rows[i];

		if (strcmp(row->op, cell->op) == 0 && row->size == cell->size &&
		    strcmp(row->placement, placement) == 0 && row->two_way == cell->two_way)
			return row;
	}
	return NULL;
}

/* The row of the cell's op, size and placement, begun where there is none yet. */
static struct gp_diagnose_row *row_of(struct scene *scene, const struct gp_cell *cell)
{
	int stand = stand_of(scene->record, cell->placement);
	struct gp_diagnose_row *row = find_row(scene, cell, cell->placement);

	if (row)
		return row;
	row = &scene->rows[scene->n_rows++];
	gp_diagnose_row_init(row);
	row->op = cell->op;
	row->size = cell->size;
	row->placement = cell->placement;
	row->two_way = cell->two_way;
	row->sides = scene->sides[stand];
	row->limit =
		scene->record->n_stands ? scene->record->stands[stand].limit : scene->record->limit;
	return row;
}

/* How the GPU's memory was exported stands with the evidence (path_dmabuf). */
static void read_export(const struct gp_cell *cell, struct gp_diagnose_side sides[GP_SIDES])
{
	for (int i = 0; i < cell->facts.n; i++) {
		const struct gp_fact *fact = &cell->facts.fact[i];

		if (strcmp(fact->name, "export") == 0)
			sides[fact->side].pcie_mapping = strstr(fact->value, "PCIe mapping") ? 1
							 : strstr(fact->value, "default mapping")
								 ? 0
								 : GP_DIAGNOSE_UNKNOWN;
	}
}

static void read_cell(const struct gp_cell *cell, struct gp_diagnose_row *row)
{
	int path = gp_diagnose_path_find(cell->path);

	if (path < 0)
		return;
	if (has_figure(cell))
		row->path[path].gbytes_per_s = cell->summary.median;
	row->path[path].space = cell->error.space;
	row->path[path].code = cell->error.code;
}

static int roce_of(const struct gp_record *record)
{
	static const struct {
		const char *type;
		int roce;
	} types[] = {{"InfiniBand", GP_DIAGNOSE_NOT_ROCE},
		     {"RoCE v1", GP_DIAGNOSE_ROCE_V1},
		     {"RoCE v2", GP_DIAGNOSE_ROCE_V2}};
	const char *type = json_string_value(json_object_get(record->connection, "gid_type"));

	for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i].type) == 0)
			return types[i].roce;
	return GP_DIAGNOSE_UNKNOWN;
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

/* What `far` gave beside what `near` gave. */
static void read_far(struct scene *scene, const struct gp_cell *cell)
{
	struct gp_diagnose_row *near = find_row(scene, cell, "near");
	int path = gp_diagnose_path_find(cell->path);

	if (near && path >= 0 && has_figure(cell) && strcmp(cell->placement, "far") == 0)
		near->path[path].far = cell->summary.median;
}

/* Rails that ran together, in the row of the first of them. */
static void read_rails(struct scene *scene, const struct gp_sum *sum)
{
	struct gp_diagnose_rail *first = &scene->rails[scene->n_rails];
	struct gp_diagnose_row *row = NULL;

	for (int i = 0; i < scene->record->n_cells; i++) {
		const struct gp_cell *cell = &scene->record->cells[i];
		int stand = stand_of(scene->record, cell->placement);

		if (strcmp(cell->path, sum->path) != 0 || strcmp(cell->op, sum->op) != 0 ||
		    cell->size != sum->size || !has_figure(cell))
			continue;
		if (!row)
			row = find_row(scene, cell, cell->placement);
		scene->rails[scene->n_rails++] = (struct gp_diagnose_rail){
			.name = cell->placement,
			.gbytes_per_s = cell->summary.median,
			.limit = scene->record->n_stands
					 ? scene->record->stands[stand].limit.gbytes_per_s
					 : (double)NAN};
	}
	/* the GPU paths come first in a record */
	if (row && !row->rails) {
		row->rails = first;
		row->n_rails = (int)(&scene->rails[scene->n_rails] - first);
	}
}

static void read_stands(struct scene *scene)
{
	const struct gp_record *record = scene->record;

	for (int i = 0; i < record->n_stands; i++) {
		read_side(record->stands[i].client, &scene->sides[i][GP_CLIENT]);
		read_side(record->stands[i].server, &scene->sides[i][GP_SERVER]);
	}
	if (record->n_stands)
		return;
	read_side(record->client, &scene->sides[0][GP_CLIENT]);
	read_side(record->server, &scene->sides[0][GP_SERVER]);
}

static void read_cells(struct scene *scene)
{
	const struct gp_record *record = scene->record;

	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];

		read_export(cell, scene->sides[stand_of(record, cell->placement)]);
		if (cell->op[0])
			read_cell(cell, row_of(scene, cell));
	}
	for (int i = 0; i < record->n_cells; i++)
		read_far(scene, &record->cells[i]);
	for (int i = 0; i < record->n_sums; i++)
		read_rails(scene, &record->sums[i]);
}

void gp_explain(const struct gp_record *record, struct gp_diagnosis *diagnosis)
{
	size_t room = (size_t)record->n_cells + 1;
	struct scene scene = {.record = record,
			      .rows = calloc(room, sizeof(*scene.rows)),
			      .rails = calloc(room, sizeof(*scene.rails)),
			      .sides = calloc((size_t)record->n_stands + 1, sizeof(*scene.sides))};
	struct gp_diagnose_run run;

	*diagnosis = (struct gp_diagnosis){0};
	if (scene.rows && scene.rails && scene.sides) {
		read_stands(&scene);
		read_cells(&scene);
		gp_diagnose_run_init(&run);
		run.rows = scene.rows;
		run.n_rows = scene.n_rows;
		run.relaxed_ordering = relaxed_ordering(record);
		run.mtu = (int)json_integer_value(json_object_get(record->connection, "mtu"));
		run.roce = roce_of(record);
		run.qps = option_number(record, "qp");
		gp_diagnose(&run, diagnosis);
	}
	free(scene.rows);
	free(scene.rails);
	free(scene.sides);
}
