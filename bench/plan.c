/* SPDX-License-Identifier: BSD-2-Clause */
/* plan: see plan.h. */
#include "plan.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void gp_plan_make(const struct gp_bw_options *opt, struct gp_plan *plan)
{
	*plan = (struct gp_plan){.named = opt->path.index[0] != GP_PATH_AUTO};
	for (int i = 0; plan->named && i < opt->path.n; i++)
		plan->path[plan->n_paths++] = gp_paths[opt->path.index[i] - 1];
	for (int i = 0; !plan->named && gp_paths[i]; i++)
		if (gp_paths[i]->needs_gpu)
			plan->path[plan->n_paths++] = gp_paths[i];
}

static int add_cell(struct gp_record *record, const struct gp_cell *cell, struct gp_error *err)
{
	size_t count = (size_t)record->n_cells + 1;
	struct gp_cell *more = realloc(record->cells, count * sizeof(*more));

	if (!more)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for the record");
	more[record->n_cells++] = *cell;
	record->cells = more;
	return 0;
}

int gp_plan_add_cells(const struct gp_bw_options *opt, const struct gp_path *path, bool available,
		      const struct gp_cell *like, struct gp_record *record, struct gp_error *err)
{
	struct gp_cell cell = *like;

	snprintf(cell.path, sizeof(cell.path), "%s", path->name);
	cell.qps = opt->qps;
	cell.tx_depth = opt->tx_depth;
	cell.two_way = opt->bidirectional;
	cell.of_limit = cell.vs_bounce = NAN;
	if (!available)
		return add_cell(record, &cell, err);
	for (int o = 0; o < opt->op.n; o++)
		for (int s = 0; s < opt->size.n; s++) {
			snprintf(cell.op, sizeof(cell.op), "%s", gp_ops[opt->op.index[o]].name);
			cell.size = opt->size.bytes[s];
			if (add_cell(record, &cell, err) < 0)
				return -1;
		}
	return 0;
}

static const struct gp_cell *find_bounce(const struct gp_record *record, const struct gp_cell *cell)
{
	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *other = &record->cells[i];

		if (strcmp(other->path, gp_path_bounce.name) == 0 && other->size == cell->size &&
		    strcmp(other->op, cell->op) == 0 && other->n_rounds)
			return other;
	}
	return NULL;
}

void gp_plan_summarize(struct gp_record *record)
{
	double values[GP_ROUNDS_MAX];

	for (int i = 0; i < record->n_cells; i++) {
		struct gp_cell *cell = &record->cells[i];

		for (int r = 0; r < cell->n_rounds; r++)
			values[r] = cell->rounds[r].gbytes_per_s;
		cell->summary = gp_summarize(values, cell->n_rounds);
		cell->of_limit = cell->summary.median / record->limit.gbytes_per_s;
	}
	for (int i = 0; i < record->n_cells; i++) {
		struct gp_cell *cell = &record->cells[i];
		const struct gp_cell *bounce = find_bounce(record, cell);

		cell->vs_bounce =
			bounce ? cell->summary.median / bounce->summary.median : (double)NAN;
	}
}

static bool is_gpu_path(const struct gp_cell *cell)
{
	const struct gp_path *path = gp_path_find(cell->path);

	return path && path->needs_gpu && path != &gp_path_bounce;
}

/* Thresholds are for the GPU paths; where none was measured, for what was. */
static bool is_held(const struct gp_record *record, const struct gp_cell *cell)
{
	bool any_gpu = false;

	for (int i = 0; i < record->n_cells; i++)
		any_gpu = any_gpu || (is_gpu_path(&record->cells[i]) && record->cells[i].n_rounds);
	return cell->n_rounds && is_gpu_path(cell) == any_gpu;
}

int gp_plan_judge(const struct gp_bw_options *opt, struct gp_record *record, struct gp_error *err)
{
	const struct {
		const char *name;
		double wanted;
		size_t offset;
		double scale;
	} rows[] = {
		{"min-gbps", opt->min_gbytes_per_s, offsetof(struct gp_cell, summary.median), 1},
		{"min-limit", opt->min_limit_percent, offsetof(struct gp_cell, of_limit), 100},
		{"min-vs-bounce", opt->min_vs_bounce, offsetof(struct gp_cell, vs_bounce), 1},
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		for (int i = 0; rows[r].wanted > 0 && i < record->n_cells; i++) {
			const struct gp_cell *cell = &record->cells[i];
			struct gp_threshold t = {.wanted = rows[r].wanted};

			if (!is_held(record, cell))
				continue;
			snprintf(t.name, sizeof(t.name), "%s", rows[r].name);
			gp_cell_id(cell, t.cell, sizeof(t.cell));
			memcpy(&t.measured, (const char *)cell + rows[r].offset,
			       sizeof(t.measured));
			t.measured *= rows[r].scale;
			/* What can't be measured is not met: a NaN compares false. */
			t.met = t.measured >= t.wanted;
			if (gp_record_add_threshold(record, &t) < 0)
				return gp_error_set(err, GP_EXIT_FAILED,
						    "out of memory for the record");
		}
	return 0;
}

static bool is_proven(const struct gp_record *record, const char *path)
{
	bool any = false;

	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];

		if (strcmp(cell->path, path) != 0)
			continue;
		if (cell->verdict != GP_PROVEN)
			return false;
		any = true;
	}
	return any;
}

static void conclude_cell(const struct gp_cell *cell, const struct gp_plan *plan,
			  struct gp_error *err)
{
	bool gone = cell->verdict == GP_UNAVAILABLE;
	enum gp_exit code = gone ? GP_EXIT_MISSING : GP_EXIT_FAILED;

	if (cell->verdict == GP_CONTRADICTED)
		gp_error_set(err, GP_EXIT_WRONG, "%s %s: contradicted: %s", cell->path, cell->op,
			     cell->reason);
	else if (cell->error.set && (plan->named || !gone)) {
		*err = cell->error;
		err->exit_code = code;
	}
}

static void conclude_thresholds(const struct gp_bw_options *opt, const struct gp_record *record,
				struct gp_error *err)
{
	if (opt->require_path[0] && !is_proven(record, opt->require_path))
		gp_error_set(err, GP_EXIT_MISSING,
			     "--require-path %s: it is not proven in this run", opt->require_path);
	for (int i = 0; i < record->n_thresholds; i++) {
		const struct gp_threshold *t = &record->thresholds[i];

		if (!t->met)
			gp_error_set(err, GP_EXIT_THRESHOLD, "--%s %g missed by %s: %.3g", t->name,
				     t->wanted, t->cell, t->measured);
	}
}

/* Wrong data weighs most, then what broke, then what was not there. */
static int weight(enum gp_exit code)
{
	static const int weights[] = {
		[GP_EXIT_WRONG] = 3, [GP_EXIT_FAILED] = 2, [GP_EXIT_MISSING] = 1};

	return weights[code];
}

void gp_plan_conclude(const struct gp_bw_options *opt, const struct gp_plan *plan,
		      struct gp_record *record)
{
	int measured = 0;

	for (int i = 0; i < record->n_cells; i++) {
		struct gp_error err = {0};

		measured += record->cells[i].n_rounds > 0;
		conclude_cell(&record->cells[i], plan, &err);
		if (err.set &&
		    (!record->error.set || weight(err.exit_code) > weight(record->error.exit_code)))
			record->error = err;
	}
	if (!record->error.set)
		conclude_thresholds(opt, record, &record->error);
	/* auto that found nothing at all must not end in silence and 0 */
	if (!record->error.set && !measured) {
		for (int i = 0; i < record->n_cells && !record->error.set; i++)
			record->error = record->cells[i].error;
		gp_error_set(&record->error, GP_EXIT_MISSING, "no path could be had");
	}
	record->exit_code = record->error.set ? (int)record->error.exit_code : GP_EXIT_OK;
}
