/* SPDX-License-Identifier: BSD-2-Clause */
/* plan: see plan.h. */
#include "plan.h"
#include "units.h"

#include <math.h>
#include <stdarg.h>
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

static bool has_figure(const struct gp_cell *cell)
{
	return cell->n_rounds > 0 && cell->verdict != GP_CONTRADICTED;
}

static bool same_load(const struct gp_cell *a, const struct gp_cell *b)
{
	return a->size == b->size && strcmp(a->op, b->op) == 0;
}

/* The cell of another path or placement with the same load, or NULL. */
static const struct gp_cell *find_cell(const struct gp_record *record, const struct gp_cell *like,
				       const char *path, const char *placement)
{
	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *other = &record->cells[i];

		if (strcmp(other->path, path) == 0 && strcmp(other->placement, placement) == 0 &&
		    same_load(other, like) && has_figure(other))
			return other;
	}
	return NULL;
}

static void summarize_cell(struct gp_cell *cell, double min_effect)
{
	double values[GP_ROUNDS_MAX];

	cell->warmup = 0;
	cell->warmup = gp_warmup(values, gp_cell_values(cell, values), min_effect);
	cell->summary = gp_summarize(values, gp_cell_values(cell, values));
	cell->of_limit = cell->summary.median / cell->limit_gbytes_per_s;
}

/* Rounds of the same number ran one after the other; a warm-up of either is none of both. */
static int add_contrast(struct gp_record *record, const struct gp_cell *a, const struct gp_cell *b,
			const char *b_name, const char *a_name, double min_effect)
{
	struct gp_ab_ask ask = {.min_effect = min_effect, .confidence = GP_CONFIDENCE};
	struct gp_contrast *contrast = gp_record_add_contrast(record);
	int n = a->n_rounds < b->n_rounds ? a->n_rounds : b->n_rounds;
	int from = a->warmup > b->warmup ? a->warmup : b->warmup;
	double va[GP_ROUNDS_MAX], vb[GP_ROUNDS_MAX];

	if (!contrast)
		return -1;
	for (int i = from; i < n; i++) {
		va[i - from] = a->rounds[i].gbytes_per_s;
		vb[i - from] = b->rounds[i].gbytes_per_s;
	}
	snprintf(contrast->what, sizeof(contrast->what), "%s / %s", b_name, a_name);
	gp_cell_id(a, contrast->a, sizeof(contrast->a));
	gp_cell_id(b, contrast->b, sizeof(contrast->b));
	contrast->ab = gp_ab_paired(va, vb, n > from ? n - from : 0, &ask);
	return contrast->ab.verdict == GP_AB_UNCLEAR;
}

/* What a cell is held against, beside its thresholds: {its member's value, the other's}. */
static int contrast_cell(struct gp_record *record, const struct gp_cell *cell, double min_effect)
{
	static const char *const paths[][2] = {
		{"peermem", "dmabuf"}, {"dmabuf", "bounce"}, {"peermem", "bounce"}};
	const struct gp_cell *other = NULL;
	int unclear = 0, rc = 0;

	if (strcmp(cell->placement, "far") == 0)
		other = find_cell(record, cell, cell->path, "near");
	if (other)
		unclear += rc = add_contrast(record, other, cell, "far", "near", min_effect);
	for (size_t i = 0; rc >= 0 && i < sizeof(paths) / sizeof(paths[0]); i++) {
		other = strcmp(cell->path, paths[i][0]) == 0
				? find_cell(record, cell, paths[i][1], cell->placement)
				: NULL;
		if (other)
			unclear += rc = add_contrast(record, other, cell, cell->path, other->path,
						     min_effect);
	}
	return rc < 0 ? -1 : unclear;
}

/* ---- rails ---- */

/* Rounds whose windows have less than this in common are no sum. */
#define OVERLAP_MIN 0.8

static bool is_rail(const struct gp_cell *cell)
{
	return strncmp(cell->placement, "rail", 4) == 0;
}

static bool same_sum(const struct gp_cell *a, const struct gp_cell *b)
{
	return strcmp(a->path, b->path) == 0 && same_load(a, b) && is_rail(b) && b->op[0];
}

/* The share of the longest window that all rails' rounds of that number have in common. */
static double overlap(const struct gp_record *record, const struct gp_cell *first, int round)
{
	double from = -INFINITY, to = INFINITY, longest = 0;

	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];
		const struct gp_round_value *r;

		if (!same_sum(first, cell) || !has_figure(cell))
			continue;
		r = &cell->rounds[round];
		from = fmax(from, r->start_s);
		to = fmin(to, r->start_s + r->seconds);
		longest = fmax(longest, r->seconds);
	}
	return fmax(to - from, 0) / longest;
}

static void add_up_round(const struct gp_record *record, const struct gp_cell *first, int round,
			 struct gp_sum *sum)
{
	double common = overlap(record, first, round), total = 0;

	sum->overlap = fmin(sum->overlap, common);
	if (!(common >= OVERLAP_MIN)) {
		sum->left_out++;
		return;
	}
	for (int i = 0; i < record->n_cells; i++)
		if (same_sum(first, &record->cells[i]) && has_figure(&record->cells[i]))
			total += record->cells[i].rounds[round].gbytes_per_s;
	sum->gbytes_per_s[sum->n_rounds++] = total;
}

/* All cells of one path, op and size, together. A rail that failed on the way ends the sum. */
static int add_up(struct gp_record *record, const struct gp_cell *first)
{
	struct gp_sum *sum = gp_record_add_sum(record);
	int rounds = GP_ROUNDS_MAX;
	double limits = 0;

	if (!sum)
		return -1;
	snprintf(sum->path, sizeof(sum->path), "%s", first->path);
	snprintf(sum->op, sizeof(sum->op), "%s", first->op);
	sum->size = first->size;
	sum->two_way = first->two_way;
	sum->overlap = 1;
	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];

		if (!same_sum(first, cell) || !has_figure(cell))
			continue;
		sum->rails++;
		limits += cell->limit_gbytes_per_s;
		rounds = cell->n_rounds < rounds ? cell->n_rounds : rounds;
	}
	sum->gbytes_per_s = calloc((size_t)rounds, sizeof(double));
	if (!sum->gbytes_per_s)
		return -1;
	for (int r = 0; r < rounds; r++)
		add_up_round(record, first, r, sum);
	sum->summary = gp_summarize(sum->gbytes_per_s, sum->n_rounds);
	sum->of_limit = sum->summary.median / limits;
	return 0;
}

static int add_up_rails(struct gp_record *record)
{
	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];
		bool first = is_rail(cell) && has_figure(cell);

		for (int k = 0; k < i && first; k++)
			first = !(same_sum(cell, &record->cells[k]) &&
				  has_figure(&record->cells[k]));
		if (first && add_up(record, cell) < 0)
			return -1;
	}
	return 0;
}

int gp_plan_summarize(struct gp_record *record, double min_effect)
{
	int unclear = 0;

	record->n_contrasts = 0;
	for (int i = 0; i < record->n_sums; i++)
		free(record->sums[i].gbytes_per_s);
	record->n_sums = 0;
	for (int i = 0; i < record->n_cells; i++)
		summarize_cell(&record->cells[i], min_effect);
	for (int i = 0; i < record->n_cells; i++) {
		struct gp_cell *cell = &record->cells[i];
		const struct gp_cell *bounce =
			find_cell(record, cell, gp_path_bounce.name, cell->placement);
		int rc = has_figure(cell) ? contrast_cell(record, cell, min_effect) : 0;

		cell->vs_bounce =
			bounce ? cell->summary.median / bounce->summary.median : (double)NAN;
		if (rc < 0)
			return -1;
		unclear += rc;
	}
	return add_up_rails(record) < 0 ? -1 : unclear;
}

static __attribute__((format(printf, 5, 6))) int find(struct gp_record *record, const char *id,
						      const char *severity, const char *fix,
						      const char *message_fmt, ...)
{
	struct gp_run_finding *finding = gp_record_add_finding(record);
	va_list args;

	if (!finding)
		return -1;
	snprintf(finding->id, sizeof(finding->id), "%s", id);
	snprintf(finding->severity, sizeof(finding->severity), "%s", severity);
	snprintf(finding->fix, sizeof(finding->fix), "%s", fix);
	va_start(args, message_fmt);
	vsnprintf(finding->message, sizeof(finding->message), message_fmt, args);
	va_end(args);
	return 0;
}

static int find_in_cell(struct gp_record *record, const struct gp_cell *cell, double min_effect)
{
	double values[GP_ROUNDS_MAX];
	struct gp_steadiness steady =
		gp_steadiness(values, gp_cell_values(cell, values), min_effect);
	char words[120], id[GP_CELL_ID_MAX];

	gp_cell_id(cell, id, sizeof(id));
	if (cell->warmup &&
	    find(record, "warm-up", "info", "", "%s: the first %d of %d rounds are warm-up", id,
		 cell->warmup, cell->n_rounds) < 0)
		return -1;
	gp_steadiness_write(&steady, words, sizeof(words));
	if (!words[0])
		return 0;
	return find(record, "not-steady", "warning",
		    "look for a second job on the link, a GPU or NIC that throttles, or a clock "
		    "that changes; the median is of no one level",
		    "%s %s", id, words);
}

/* What was bound and is elsewhere, once for all ops and sizes of a path in one placement. */
static int find_misplaced(struct gp_record *record, int index)
{
	const struct gp_cell *cell = &record->cells[index], *before = cell - 1;

	if (index && strcmp(before->path, cell->path) == 0 &&
	    strcmp(before->placement, cell->placement) == 0)
		return 0;
	for (enum gp_side side = GP_CLIENT; side <= GP_SERVER; side++) {
		const struct gp_placed *p = &cell->placed[side];

		if (cell->n_rounds && gp_placed_differs(p) &&
		    find(record, "misplaced", "warning",
			 "see what binds the process: a cpuset, taskset, numactl, or a node "
			 "without "
			 "free memory",
			 "%s %s: on the %s the thread is on node %d (asked %d), %.0f %% of the "
			 "memory on node %d (asked %d)",
			 cell->path, cell->placement, gp_side_name(side), p->cpu_node,
			 p->cpu_node_asked, p->mem_share * 100, p->mem_node, p->mem_node_asked) < 0)
			return -1;
	}
	return 0;
}

int gp_plan_find(struct gp_record *record, double min_effect)
{
	char size[32];

	for (int i = 0; i < record->n_cells; i++)
		if (find_misplaced(record, i) < 0)
			return -1;

	for (int i = 0; i < record->n_cells; i++)
		if (has_figure(&record->cells[i]) &&
		    find_in_cell(record, &record->cells[i], min_effect) < 0)
			return -1;
	for (int i = 0; i < record->n_sums; i++) {
		const struct gp_sum *s = &record->sums[i];

		if (s->left_out &&
		    find(record, "rails-not-together", "warning",
			 "give a longer --duration, and CPUs enough for a thread a rail",
			 "%s %s %s: in %d rounds the rails had less than %.0f %% of their time in "
			 "common; these are in no sum",
			 s->path, s->op, gp_size_write(s->size, size, sizeof(size)), s->left_out,
			 OVERLAP_MIN * 100) < 0)
			return -1;
	}
	return 0;
}

static bool is_gpu_path(const struct gp_cell *cell)
{
	const struct gp_path *path = gp_path_find(cell->path);

	return path && path->needs_gpu && path != &gp_path_bounce;
}

/* Thresholds are for the GPU paths; where none was measured, for what was. `far` is there to show
 * what it costs: it is held only where there is no `near`. */
static bool is_held(const struct gp_record *record, const struct gp_cell *cell)
{
	bool any_gpu = false, any_near = false, far = strcmp(cell->placement, "far") == 0;

	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *other = &record->cells[i];

		any_gpu = any_gpu || (is_gpu_path(other) && other->n_rounds);
		any_near = any_near || (strcmp(other->placement, "near") == 0 && other->n_rounds);
	}
	return cell->n_rounds && is_gpu_path(cell) == any_gpu && !(far && any_near);
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
			/* no figure beside a path that it is not of */
			if (cell->verdict == GP_CONTRADICTED)
				t.measured = NAN;
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
	char line[GP_THRESHOLD_MAX];

	if (opt->require_path[0] && !is_proven(record, opt->require_path))
		gp_error_set(err, GP_EXIT_MISSING,
			     "--require-path %s: it is not proven in this run", opt->require_path);
	for (int i = 0; i < record->n_thresholds; i++) {
		const struct gp_threshold *t = &record->thresholds[i];

		if (!t->met && t->wanted_word[0])
			gp_error_set(err, GP_EXIT_MISSING, "%s",
				     gp_threshold_write(t, line, sizeof(line)));
	}
	for (int i = 0; i < record->n_thresholds; i++) {
		const struct gp_threshold *t = &record->thresholds[i];

		if (!t->met)
			gp_error_set(err, GP_EXIT_THRESHOLD, "%s",
				     gp_threshold_write(t, line, sizeof(line)));
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
