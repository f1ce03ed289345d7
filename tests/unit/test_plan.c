/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_plan: which paths and cells follow from the options, what the rounds sum up to, which
 * thresholds are held against what, and the one exit code and line that remain of all that.
 */
#include "plan.h"
#include "units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ROUNDS	 3

/* Options from "--name value" pairs. */
static struct gp_bw_options options(const char *args)
{
	struct gp_bw_options opt = {0};
	struct gp_error err = {0};
	char copy[200];

	gp_options_default(&gp_bw_table, &opt);
	snprintf(copy, sizeof(copy), "%s", args);
	for (char *name = strtok(copy, " "); name; name = strtok(NULL, " ")) {
		const struct gp_option *row = gp_option_find(&gp_bw_table, name + 2);

		assert_non_null(row);
		assert_int_equal(gp_option_read(row, strtok(NULL, " "), &opt, &err), 0);
	}
	return opt;
}

/* A measured or unavailable cell, in short. rate 0: no rounds. */
struct brief {
	const char *path, *op;
	uint64_t size;
	double rate;
	enum gp_verdict verdict;
	enum gp_exit error; /* of the cell; 0: none */
};

static void add_brief(struct gp_record *record, const struct brief *brief)
{
	size_t count = (size_t)record->n_cells + 1;
	struct gp_cell *cell;

	record->cells = realloc(record->cells, count * sizeof(*cell));
	assert_non_null(record->cells);
	cell = &record->cells[record->n_cells++];
	*cell = (struct gp_cell){.size = brief->size,
				 .placement = "near",
				 .of_limit = NAN,
				 .vs_bounce = NAN,
				 .verdict = brief->verdict};
	snprintf(cell->path, sizeof(cell->path), "%s", brief->path);
	snprintf(cell->op, sizeof(cell->op), "%s", brief->op);
	if (brief->verdict == GP_CONTRADICTED)
		snprintf(cell->reason, sizeof(cell->reason), "server data: wrong");
	for (int r = 0; brief->rate > 0 && r < ROUNDS; r++) {
		struct gp_round_value value = {brief->rate + r - 1, 1000, 1, 1, NAN};

		assert_int_equal(gp_cell_add_round(cell, &value), 0);
	}
	if (brief->error)
		gp_error_set(&cell->error, brief->error, "%s failed", brief->path);
}

static void make_record(struct gp_record *record, const struct brief *brief, double limit)
{
	gp_record_init(record, "v");
	for (; brief->path; brief++) {
		add_brief(record, brief);
		record->cells[record->n_cells - 1].limit_gbytes_per_s = limit;
	}
	assert_true(gp_plan_summarize(record, 0.02) >= 0);
}

static void test_named_paths_are_taken_in_order(void **state)
{
	struct gp_bw_options opt = options("--path bounce,host,dmabuf");
	struct gp_plan plan;

	(void)state;
	gp_plan_make(&opt, &plan);
	assert_true(plan.named);
	assert_int_equal(plan.n_paths, 3);
	assert_string_equal(plan.path[0]->name, "bounce");
	assert_string_equal(plan.path[1]->name, "host");
	assert_string_equal(plan.path[2]->name, "dmabuf");
}

static void test_auto_is_every_path_with_a_gpu(void **state)
{
	struct gp_bw_options opt = options("");
	struct gp_plan plan;
	bool bounce = false;
	int with_gpu = 0;

	(void)state;
	gp_plan_make(&opt, &plan);
	assert_false(plan.named);
	for (int i = 0; gp_paths[i]; i++)
		with_gpu += gp_paths[i]->needs_gpu;
	assert_int_equal(plan.n_paths, with_gpu);
	for (int i = 0; i < plan.n_paths; i++) {
		assert_true(plan.path[i]->needs_gpu);
		bounce = bounce || plan.path[i] == &gp_path_bounce;
	}
	assert_true(bounce); /* the baseline */
}

/* The words of --path and the array must go together, or one path would run as another. */
static void test_choices_of_path_are_the_array(void **state)
{
	const struct gp_option *row = gp_option_find(&gp_bw_table, "path");
	const struct gp_option *op = gp_option_find(&gp_bw_table, "op");
	int n = 0, ops = 0;

	(void)state;
	assert_string_equal(row->choices[GP_PATH_AUTO], "auto");
	for (; gp_paths[n]; n++) {
		assert_string_equal(row->choices[n + 1], gp_paths[n]->name);
		assert_ptr_equal(gp_path_find(gp_paths[n]->name), gp_paths[n]);
	}
	assert_null(row->choices[n + 1]);
	assert_true(n <= GP_PLAN_PATHS_MAX);
	for (; gp_ops[ops].name; ops++)
		assert_string_equal(op->choices[ops], gp_ops[ops].name);
	assert_null(op->choices[ops]);
	assert_null(gp_path_find("auto"));
}

static void test_cells_are_ops_times_sizes(void **state)
{
	struct gp_bw_options opt = options("--op read,write --size 64K,1M --qp 4 --tx-depth 32 "
					   "--bidirectional on");
	struct gp_cell like = {.placement = "near", .gpu = "g", .nic = "n"};
	struct gp_record record;
	struct gp_error err = {0};

	(void)state;
	gp_record_init(&record, "v");
	assert_int_equal(gp_plan_add_cells(&opt, &gp_path_dmabuf, true, &like, &record, &err), 0);
	assert_int_equal(record.n_cells, 4);
	for (int i = 0; i < 4; i++) {
		const struct gp_cell *cell = &record.cells[i];

		assert_string_equal(cell->path, "dmabuf");
		assert_string_equal(cell->op, i < 2 ? "read" : "write");
		assert_int_equal(cell->size, i % 2 ? GP_MIB : 64 * GP_KIB);
		assert_int_equal(cell->qps, 4);
		assert_int_equal(cell->tx_depth, 32);
		assert_true(cell->two_way);
		assert_string_equal(cell->nic, "n");
		assert_true(isnan(cell->of_limit) && isnan(cell->vs_bounce));
	}
	gp_record_free(&record);
}

static void test_path_that_could_not_be_had_is_one_cell(void **state)
{
	struct gp_bw_options opt = options("--size 64K,1M");
	struct gp_cell like = {.placement = "near"};
	struct gp_record record;
	struct gp_error err = {0};

	(void)state;
	gp_record_init(&record, "v");
	assert_int_equal(gp_plan_add_cells(&opt, &gp_path_peermem, false, &like, &record, &err), 0);
	assert_int_equal(record.n_cells, 1);
	assert_string_equal(record.cells[0].op, "");
	assert_int_equal(record.cells[0].size, 0);
	gp_record_free(&record);
}

static void test_summary_is_against_limit_and_bounce(void **state)
{
	static const struct brief cells[] = {
		{"dmabuf", "write", 1 << 20, 48, GP_PROVEN, 0},
		{"dmabuf", "read", 1 << 20, 40, GP_PROVEN, 0},
		{"dmabuf", "write", 64, 10, GP_PROVEN, 0},
		{"bounce", "write", 1 << 20, 24, GP_PROVEN, 0},
		{"bounce", "read", 1 << 20, 20, GP_PROVEN, 0},
		{"peermem", "", 0, 0, GP_UNAVAILABLE, GP_EXIT_MISSING},
		{0},
	};
	struct gp_record record;

	(void)state;
	make_record(&record, cells, 50);
	assert_true(record.cells[0].summary.median == 48);
	assert_true(record.cells[0].summary.min == 47 && record.cells[0].summary.max == 49);
	assert_true(record.cells[0].of_limit == 0.96);
	assert_true(record.cells[0].vs_bounce == 2);
	assert_true(record.cells[1].vs_bounce == 2);
	assert_true(isnan(record.cells[2].vs_bounce)); /* no bounce of that size */
	assert_true(record.cells[3].vs_bounce == 1);
	assert_true(isnan(record.cells[5].of_limit) && isnan(record.cells[5].vs_bounce));
	assert_true(isnan(record.cells[5].summary.median));
	gp_record_free(&record);
}

static void test_no_limit_is_no_share_of_it(void **state)
{
	static const struct brief cells[] = {{"host", "write", 64, 48, GP_PROVEN, 0}, {0}};
	struct gp_record record;

	(void)state;
	make_record(&record, cells, NAN);
	assert_true(isnan(record.cells[0].of_limit));
	gp_record_free(&record);
}

static void test_thresholds(void **state)
{
	static const struct {
		const char *args;
		double limit;
		struct brief cells[4];
		int n;		 /* thresholds held */
		bool met[3];	 /* each */
		double measured; /* the first; NaN: unknown */
	} rows[] = {
		/* none asked for */
		{"", 50, {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}}, 0, {0}, 0},
		{"--min-gbps 48", 50, {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}}, 1, {true}, 48},
		{"--min-gbps 48.1",
		 50,
		 {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}},
		 1,
		 {false},
		 48},
		{"--min-limit 96", 50, {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}}, 1, {true}, 96},
		{"--min-limit 97", 50, {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}}, 1, {false}, 96},
		/* NaN is not met: no limit is known, no bounce was measured */
		{"--min-limit 1",
		 NAN,
		 {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}},
		 1,
		 {false},
		 NAN},
		{"--min-vs-bounce 1",
		 50,
		 {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}},
		 1,
		 {false},
		 NAN},
		/* the GPU paths are held, not bounce and host beside them */
		{"--min-gbps 30",
		 50,
		 {{"dmabuf", "write", 64, 48, GP_PROVEN, 0},
		  {"bounce", "write", 64, 20, GP_PROVEN, 0},
		  {"host", "write", 64, 20, GP_PROVEN, 0}},
		 1,
		 {true},
		 48},
		{"--min-vs-bounce 2",
		 50,
		 {{"dmabuf", "write", 64, 48, GP_PROVEN, 0},
		  {"bounce", "write", 64, 20, GP_PROVEN, 0}},
		 1,
		 {true},
		 2.4},
		/* every GPU path and cell */
		{"--min-gbps 45",
		 50,
		 {{"dmabuf", "write", 64, 48, GP_PROVEN, 0},
		  {"dmabuf", "read", 64, 40, GP_PROVEN, 0},
		  {"peermem", "write", 64, 47, GP_PROVEN, 0}},
		 3,
		 {true, false, true},
		 48},
		/* where no GPU path was measured, what was */
		{"--min-gbps 30",
		 50,
		 {{"peermem", "", 0, 0, GP_UNAVAILABLE, GP_EXIT_MISSING},
		  {"bounce", "write", 64, 20, GP_PROVEN, 0}},
		 1,
		 {false},
		 20},
		{"--min-gbps 30", 50, {{"host", "write", 64, 40, GP_PROVEN, 0}}, 1, {true}, 40},
		/* several at once */
		{"--min-gbps 40 --min-limit 99",
		 50,
		 {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}},
		 2,
		 {true, false},
		 48},
		/* nothing measured: nothing to hold */
		{"--min-gbps 30",
		 50,
		 {{"dmabuf", "", 0, 0, GP_UNAVAILABLE, GP_EXIT_MISSING}},
		 0,
		 {0},
		 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_bw_options opt = options(rows[i].args);
		struct gp_record record;
		struct gp_error err = {0};

		make_record(&record, rows[i].cells, rows[i].limit);
		assert_int_equal(gp_plan_judge(&opt, &record, &err), 0);
		if (record.n_thresholds != rows[i].n)
			print_error("row %zu\n", i);
		assert_int_equal(record.n_thresholds, rows[i].n);
		for (int t = 0; t < rows[i].n; t++) {
			assert_int_equal(record.thresholds[t].met, rows[i].met[t]);
			assert_true(record.thresholds[t].cell[0]);
		}
		if (rows[i].n && !isnan(rows[i].measured))
			assert_true(fabs(record.thresholds[0].measured - rows[i].measured) < 1e-9);
		else if (rows[i].n)
			assert_true(isnan(record.thresholds[0].measured));
		gp_record_free(&record);
	}
}

static void test_threshold_names_option_and_cell(void **state)
{
	static const struct brief cells[] = {{"dmabuf", "write", 64, 48, GP_PROVEN, 0}, {0}};
	struct gp_bw_options opt = options("--min-gbps 50");
	struct gp_record record;
	struct gp_error err = {0};
	char id[300];

	(void)state;
	make_record(&record, cells, 50);
	memset(record.cells[0].nic, 'n', sizeof(record.cells[0].nic) - 1);
	memset(record.cells[0].server_nic, 's', sizeof(record.cells[0].server_nic) - 1);
	assert_int_equal(gp_plan_judge(&opt, &record, &err), 0);
	assert_string_equal(record.thresholds[0].name, "min-gbps");
	assert_true(record.thresholds[0].wanted == 50);
	assert_string_equal(record.thresholds[0].cell,
			    gp_cell_id(&record.cells[0], id, sizeof(id)));
	gp_record_free(&record);
}

#define GOOD                                            \
	{                                               \
		"dmabuf", "write", 64, 48, GP_PROVEN, 0 \
	}
#define UNPROVEN                                          \
	{                                                 \
		"dmabuf", "write", 64, 48, GP_UNPROVEN, 0 \
	}
#define GONE                                                         \
	{                                                            \
		"peermem", "", 0, 0, GP_UNAVAILABLE, GP_EXIT_MISSING \
	}
#define BROKEN                                                       \
	{                                                            \
		"dmabuf", "read", 64, 0, GP_UNPROVEN, GP_EXIT_FAILED \
	}
#define BROKE_LATE                                                    \
	{                                                             \
		"dmabuf", "read", 64, 48, GP_UNPROVEN, GP_EXIT_FAILED \
	}
#define WRONG                                                 \
	{                                                     \
		"dmabuf", "write", 64, 48, GP_CONTRADICTED, 0 \
	}

static void test_exit_code_and_its_line(void **state)
{
	static const struct {
		const char *args;
		struct brief cells[4];
		int exit_code;
		const char *fact;
	} rows[] = {
		{"", {GOOD}, 0, NULL},
		{"", {UNPROVEN}, 0, NULL},
		/* a path that could not be had: only where it was named */
		{"", {GOOD, GONE}, 0, NULL},
		{"", {GONE, GOOD}, 0, NULL},
		{"--path dmabuf,peermem", {GOOD, GONE}, 4, "peermem failed"},
		{"--path peermem,dmabuf", {GONE, GOOD}, 4, "peermem failed"},
		/* auto that found nothing */
		{"", {GONE}, 4, "peermem failed"},
		{"", {{0}}, 4, "no path could be had"},
		/* what broke while running */
		{"", {BROKEN}, 1, "dmabuf failed"},
		{"", {GOOD, BROKE_LATE}, 1, "dmabuf failed"},
		{"--path dmabuf,peermem", {GONE, BROKEN}, 1, "dmabuf failed"},
		{"--path dmabuf,peermem", {BROKEN, GONE}, 1, "dmabuf failed"},
		/* wrong data weighs most, wherever it stands */
		{"", {WRONG}, 5, "dmabuf write: contradicted: server data: wrong"},
		{"", {BROKEN, WRONG}, 5, "contradicted"},
		{"", {WRONG, BROKEN}, 5, "contradicted"},
		{"--path dmabuf,peermem", {GONE, BROKEN, WRONG}, 5, "contradicted"},
		/* thresholds come after what broke */
		{"--min-gbps 40", {GOOD}, 0, NULL},
		{"--min-gbps 50", {GOOD}, 3, "--min-gbps 50 missed by dmabuf/write/64/"},
		{"--min-gbps 50", {GOOD, GONE}, 3, "--min-gbps 50 missed"},
		{"--min-gbps 50", {GOOD, BROKEN}, 1, "dmabuf failed"},
		{"--min-gbps 50", {WRONG}, 5, "contradicted"},
		{"--min-gbps 50 --path dmabuf,peermem", {GOOD, GONE}, 4, "peermem failed"},
		{"--min-vs-bounce 1", {GOOD}, 3, "--min-vs-bounce 1 missed"},
		{"--min-limit 1", {GOOD}, 3, "--min-limit 1 missed"},
		/* --require-path: measured and proven, in all cells; 4 comes before 3 */
		{"--require-path dmabuf", {GOOD}, 0, NULL},
		{"--require-path dmabuf", {GOOD, GONE}, 0, NULL},
		{"--require-path dmabuf", {UNPROVEN}, 4, "--require-path dmabuf"},
		{"--require-path dmabuf", {GOOD, UNPROVEN}, 4, "--require-path dmabuf"},
		{"--require-path peermem", {GOOD, GONE}, 4, "--require-path peermem"},
		{"--require-path bounce", {GOOD}, 4, "--require-path bounce"},
		{"--require-path dmabuf", {WRONG}, 5, "contradicted"},
		{"--require-path peermem --min-gbps 50", {GOOD, GONE}, 4, "--require-path peermem"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_bw_options opt = options(rows[i].args);
		struct gp_plan plan;
		struct gp_record record;
		struct gp_error err = {0};

		gp_plan_make(&opt, &plan);
		make_record(&record, rows[i].cells, NAN);
		assert_int_equal(gp_plan_judge(&opt, &record, &err), 0);
		gp_plan_conclude(&opt, &plan, &record);
		if (record.exit_code != rows[i].exit_code)
			print_error("row %zu: %d: %s\n", i, record.exit_code, record.error.fact);
		assert_int_equal(record.exit_code, rows[i].exit_code);
		assert_int_equal(record.error.set, rows[i].fact != NULL);
		if (rows[i].fact) {
			assert_int_equal(record.error.exit_code, rows[i].exit_code);
			if (!strstr(record.error.fact, rows[i].fact))
				print_error("row %zu: %s\n", i, record.error.fact);
			assert_non_null(strstr(record.error.fact, rows[i].fact));
		}
		gp_record_free(&record);
	}
}

/* ---- comparisons within a run, sums of rails ---- */

/* A cell with `n` rounds of the given rates; the windows of a second begin at `start`, and every
 * `step` one after the other. */
static struct gp_cell *add_rounds(struct gp_record *record, const char *path, const char *placement,
				  const double *rates, int n, double start, double step)
{
	const struct brief brief = {path, "write", GP_MIB, 0, GP_PROVEN, 0};
	struct gp_cell *cell;

	add_brief(record, &brief);
	cell = &record->cells[record->n_cells - 1];
	snprintf(cell->placement, sizeof(cell->placement), "%s", placement);
	cell->limit_gbytes_per_s = 50;
	cell->placed[GP_CLIENT] = cell->placed[GP_SERVER] =
		(struct gp_placed){-1, -1, -1, -1, -1, 0};
	for (int r = 0; r < n; r++) {
		struct gp_round_value value = {rates[r], 1000, 1, 1, start + step * r};

		assert_int_equal(gp_cell_add_round(cell, &value), 0);
	}
	return cell;
}

static const struct gp_contrast *find_contrast(const struct gp_record *record, const char *what)
{
	for (int i = 0; i < record->n_contrasts; i++)
		if (strcmp(record->contrasts[i].what, what) == 0)
			return &record->contrasts[i];
	return NULL;
}

static void test_far_is_held_against_near(void **state)
{
	static const double near[] = {40, 41, 40, 39, 40}, far[] = {20, 20.5, 20, 19.5, 20};
	const struct gp_contrast *contrast;
	struct gp_record record;
	char id[GP_CELL_ID_MAX];

	(void)state;
	gp_record_init(&record, "v");
	add_rounds(&record, "dmabuf", "near", near, 5, 0, 10);
	add_rounds(&record, "dmabuf", "far", far, 5, 1, 10);
	add_rounds(&record, "host", "far", far, 5, 2, 10); /* it has no near */
	assert_int_equal(gp_plan_summarize(&record, 0.02), 0);
	assert_int_equal(record.n_contrasts, 1);
	contrast = find_contrast(&record, "far / near");
	assert_non_null(contrast);
	assert_string_equal(contrast->a, gp_cell_id(&record.cells[0], id, sizeof(id)));
	assert_string_equal(contrast->b, gp_cell_id(&record.cells[1], id, sizeof(id)));
	assert_true(fabs(contrast->ab.ratio - 0.5) < 1e-9);
	assert_int_equal(contrast->ab.verdict, GP_AB_WORSE);
	/* again, as after one more round: nothing is counted twice */
	assert_int_equal(gp_plan_summarize(&record, 0.02), 0);
	assert_int_equal(record.n_contrasts, 1);
	gp_record_free(&record);
}

static void test_paths_are_held_against_each_other_in_one_placement(void **state)
{
	static const double dmabuf[] = {40, 41, 40, 39, 40}, bounce[] = {20, 20.5, 20, 19.5, 20},
			    noisy[] = {30, 50, 41, 33, 47};
	const struct gp_contrast *contrast;
	struct gp_record record;

	(void)state;
	gp_record_init(&record, "v");
	add_rounds(&record, "dmabuf", "near", dmabuf, 5, 0, 10);
	add_rounds(&record, "peermem", "near", noisy, 5, 0, 10);
	add_rounds(&record, "bounce", "near", bounce, 5, 0, 10);
	assert_int_equal(gp_plan_summarize(&record, 0.02), 1); /* peermem / dmabuf */
	assert_int_equal(find_contrast(&record, "peermem / dmabuf")->ab.verdict, GP_AB_UNCLEAR);
	contrast = find_contrast(&record, "dmabuf / bounce");
	assert_true(fabs(contrast->ab.ratio - 2) < 1e-9);
	assert_int_equal(contrast->ab.verdict, GP_AB_BETTER);
	assert_non_null(find_contrast(&record, "peermem / bounce"));
	/* a figure that the evidence contradicts is compared with nothing */
	record.cells[1].verdict = GP_CONTRADICTED;
	assert_int_equal(gp_plan_summarize(&record, 0.02), 0);
	assert_null(find_contrast(&record, "peermem / dmabuf"));
	gp_record_free(&record);
}

static void test_rails_are_summed_over_common_windows(void **state)
{
	static const double one[] = {20, 20.125, 20}, two[] = {30, 30.125, 30};
	struct gp_record record;
	const struct gp_sum *sum;

	(void)state;
	gp_record_init(&record, "v");
	add_rounds(&record, "dmabuf", "rail1", one, 3, 0, 10);
	add_rounds(&record, "dmabuf", "rail2", two, 3, 0.1, 10);
	record.cells[1].rounds[2].start_s = 20.3; /* 0.7 s of 1 in common */
	assert_int_equal(gp_plan_summarize(&record, 0.02), 0);
	assert_int_equal(record.n_sums, 1);
	sum = &record.sums[0];
	assert_int_equal(sum->rails, 2);
	assert_int_equal(sum->n_rounds, 2);
	assert_int_equal(sum->left_out, 1);
	assert_true(sum->gbytes_per_s[0] == 50 && sum->gbytes_per_s[1] == 50.25);
	assert_true(sum->summary.median == 50.125 && sum->of_limit == 0.50125);
	assert_true(fabs(sum->overlap - 0.7) < 1e-9);
	assert_int_equal(gp_plan_find(&record, 0.02), 0);
	assert_int_equal(record.n_findings, 1);
	assert_string_equal(record.findings[0].id, "rails-not-together");
	gp_record_free(&record);
}

static void test_what_is_elsewhere_than_bound_is_found_once(void **state)
{
	static const double rates[] = {20, 20, 20};
	struct gp_record record;

	(void)state;
	gp_record_init(&record, "v");
	for (int i = 0; i < 2; i++) {
		struct gp_cell *cell = add_rounds(&record, "host", "near", rates, 3, 0, 10);

		cell->placed[GP_CLIENT] = cell->placed[GP_SERVER] =
			(struct gp_placed){0, 0, 3, 0, 0, 1};
		cell->placed[GP_SERVER].mem_node = 1;
	}
	assert_int_equal(gp_plan_find(&record, 0.02), 0);
	assert_int_equal(record.n_findings, 1);
	assert_string_equal(record.findings[0].id, "misplaced");
	assert_non_null(strstr(record.findings[0].message, "server"));
	gp_record_free(&record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_paths_are_taken_in_order),
		cmocka_unit_test(test_auto_is_every_path_with_a_gpu),
		cmocka_unit_test(test_choices_of_path_are_the_array),
		cmocka_unit_test(test_cells_are_ops_times_sizes),
		cmocka_unit_test(test_path_that_could_not_be_had_is_one_cell),
		cmocka_unit_test(test_summary_is_against_limit_and_bounce),
		cmocka_unit_test(test_no_limit_is_no_share_of_it),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_threshold_names_option_and_cell),
		cmocka_unit_test(test_exit_code_and_its_line),
		cmocka_unit_test(test_far_is_held_against_near),
		cmocka_unit_test(test_paths_are_held_against_each_other_in_one_placement),
		cmocka_unit_test(test_rails_are_summed_over_common_windows),
		cmocka_unit_test(test_what_is_elsewhere_than_bound_is_found_once),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
