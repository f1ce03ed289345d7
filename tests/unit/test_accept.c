/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accept: what a file may say, what it has measured, and which cells of a run meet it.
 */
#include "accept.h"
#include "plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after the headers that it needs */
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int parse(const char *text, struct gp_accept *accept, struct gp_error *err)
{
	*err = (struct gp_error){0};
	return gp_accept_parse(text, strlen(text), "lab/rack.yaml", accept, err);
}

static void test_what_is_refused_says_where(void **state)
{
	static const struct {
		const char *text, *line;
	} rows[] = {
		{"", "rack.yaml:1: an acceptance file begins with 'accept:'"},
		{"accept:\n", "rack.yaml:1: 'accept' takes a list"},
		{"accept: []\n", "rack.yaml:1: 'accept' takes a list"},
		{"- path: dmabuf\n", "rack.yaml:1: an acceptance file begins"},
		{"accepts:\n- {}\n", "rack.yaml:1: 'accept' is the one key, not 'accepts'"},
		{"accept:\n- {}\nmore: 1\n", "rack.yaml:3: 'accept' is the one key"},
		{"accept:\n- dmabuf\n", "rack.yaml:2: a rule is a mapping"},
		{"accept:\n- path: dmabuf\n  min-gbp: 4\n", "rack.yaml:3: a rule has no 'min-gbp'"},
		{"accept:\n- path: dmabuf\n  path: host\n", "rack.yaml:3: 'path' is there twice"},
		{"accept:\n- path: gpudirect\n", "rack.yaml:2: "},
		{"accept:\n- path: auto\n", "rack.yaml:2: a rule names its paths"},
		{"accept:\n- path: {a: b}\n", "rack.yaml:2: 'path' takes"},
		{"accept:\n- path: []\n", "rack.yaml:2: 'path' takes"},
		{"accept:\n- size: 1Q\n", "rack.yaml:2: "},
		{"accept:\n- min-gbps: -1\n", "rack.yaml:2: "},
		{"accept:\n- min-gbps: nan\n", "rack.yaml:2: "},
		{"accept:\n- min-gbps: [1, 2]\n", "rack.yaml:2: 'min-gbps' takes one value"},
		{"accept:\n- min-limit: 101\n", "rack.yaml:2: "},
		{"accept:\n- verdict: contradicted\n", "rack.yaml:2: 'verdict' takes proven"},
		{"accept:\n- placement: [near, [far]]\n", "rack.yaml:2: 'placement' takes"},
		{"accept:\n- placement: [a,b,c,d,e,f,g,h,i]\n", "rack.yaml:2: at most 8"},
		{"accept:\n- path: \"dma\\0buf\"\n", "rack.yaml:2: "},
		{"accept:\n- ? [a]\n  : b\n", "rack.yaml:2: a rule has no 'key that is no text'"},
		{"accept:\n- path: dmabuf\n---\naccept: 1\n", "rack.yaml:4: a second document"},
		{"accept:\n\t- path: dmabuf\n", "rack.yaml:2: no YAML"},
		{"accept: &a\n- *a\n", "rack.yaml:"},
		{"accept:\n- path: [dmabuf\n", "no YAML"},
	};
	struct gp_accept accept;
	struct gp_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (parse(rows[i].text, &accept, &err) == 0 || !strstr(err.fact, rows[i].line))
			fail_msg("row %zu: '%s'", i, err.set ? err.fact : "taken");
		assert_int_equal(err.exit_code, GP_EXIT_USAGE);
		assert_null(strchr(err.fact, '\n'));
		assert_null(accept.rules);
	}
}

static void test_too_many_rules_are_refused(void **state)
{
	char text[GP_ACCEPT_RULES_MAX * 8 + 32] = "accept:\n";
	struct gp_accept accept;
	struct gp_error err;

	(void)state;
	for (int i = 0; i < GP_ACCEPT_RULES_MAX; i++)
		strcat(text, "- {}\n");
	assert_int_equal(parse(text, &accept, &err), 0);
	assert_int_equal(accept.n, GP_ACCEPT_RULES_MAX);
	gp_accept_free(&accept);
	strcat(text, "- {}\n");
	assert_int_equal(parse(text, &accept, &err), -1);
}

/* The options that are left when a file and a command line have spoken, as one would type them. */
static void test_what_is_open_is_measured_as_the_rules_need(void **state)
{
	static const char two[] = "accept:\n- {path: dmabuf, op: write, size: [1M, 64K]}\n"
				  "- {path: peermem, op: write, size: 1M, placement: near}\n";
	static const struct {
		const char *text, *given, *value; /* given: option and value, or NULL */
		const char *path, *op, *size, *placement;
	} rows[] = {
		{two, NULL, NULL, "dmabuf,peermem,bounce", "write", "1M,64K", "near"},
		{two, "path", "host", "host", "write", "1M,64K", "near"},
		{two, "size", "8M", "dmabuf,peermem,bounce", "write", "8M", "near"},
		{two, "op", "read", "dmabuf,peermem,bounce", "read", "1M,64K", "near"},
		{"accept:\n- {}\n", NULL, NULL, "auto", "write,read", "1M", "near"},
		/* one rule leaves the path open, so auto it is */
		{"accept:\n- {path: dmabuf}\n- {op: read}\n", NULL, NULL, "auto", "write,read",
		 "1M", "near"},
		{"accept:\n- {path: host}\n", NULL, NULL, "host", "write,read", "1M", "near"},
		{"accept:\n- {placement: [near, far]}\n", NULL, NULL, "auto", "write,read", "1M",
		 "near,far"},
		{"accept:\n- {placement: far}\n- {placement: near}\n", "placement", "near", "auto",
		 "write,read", "1M", "near"},
		/* a pattern is no placement to ask for */
		{"accept:\n- {placement: 'rail*'}\n", NULL, NULL, "auto", "write,read", "1M",
		 "near"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *const names[] = {"path", "op", "size", "placement"};
		const char *const want[] = {rows[i].path, rows[i].op, rows[i].size,
					    rows[i].placement};
		struct gp_bw_options opt = {0};
		gp_option_mask given = 0;
		struct gp_accept accept;
		struct gp_error err;
		char buf[200];

		gp_options_default(&gp_bw_table, &opt);
		assert_int_equal(parse(rows[i].text, &accept, &err), 0);
		if (rows[i].given) {
			const struct gp_option *row = gp_option_find(&gp_bw_table, rows[i].given);

			assert_int_equal(gp_option_read(row, rows[i].value, &opt, &err), 0);
			given = 1ull << (row - gp_bw_table.rows);
		}
		assert_int_equal(gp_accept_plan(&accept, given, &opt, &err), 0);
		for (int k = 0; k < 4; k++) {
			gp_option_write(gp_option_find(&gp_bw_table, names[k]), &opt, buf,
					sizeof(buf));
			if (strcmp(buf, want[k]) != 0)
				fail_msg("row %zu: --%s %s", i, names[k], buf);
		}
		gp_accept_free(&accept);
	}
}

/* ---- judging ---- */

static void add_cell(struct gp_record *record, const char *path, const char *op, uint64_t size,
		     const char *placement, double rate, enum gp_verdict verdict)
{
	struct gp_round_value round = {.gbytes_per_s = rate, .seconds = 1};
	struct gp_cell *cell;

	record->cells = realloc(record->cells, (size_t)(record->n_cells + 1) * sizeof(*cell));
	assert_non_null(record->cells);
	cell = &record->cells[record->n_cells++];
	*cell = (struct gp_cell){
		.size = size, .verdict = verdict, .of_limit = rate / 50, .vs_bounce = NAN};
	snprintf(cell->path, sizeof(cell->path), "%s", path);
	snprintf(cell->op, sizeof(cell->op), "%s", op);
	snprintf(cell->placement, sizeof(cell->placement), "%s", placement);
	if (rate <= 0)
		return;
	assert_int_equal(gp_cell_add_round(cell, &round), 0);
	cell->summary = (struct gp_summary){.median = rate, .min = rate, .max = rate};
}

static void make_run(struct gp_record *record, bool wrong)
{
	gp_record_init(record, "v");
	add_cell(record, "dmabuf", "write", 1 << 20, "near", 48, GP_PROVEN);
	add_cell(record, "dmabuf", "read", 1 << 20, "near", 40, GP_UNPROVEN);
	add_cell(record, "dmabuf", "write", 1 << 16, "rail1", 30, GP_PROVEN);
	add_cell(record, "dmabuf", "write", 1 << 16, "rail2", 20, GP_PROVEN);
	if (wrong)
		add_cell(record, "peermem", "write", 1 << 20, "near", 99, GP_CONTRADICTED);
	add_cell(record, "host", "", 0, "near", 0, GP_UNAVAILABLE);
}

static void test_rules_hold_the_cells_that_they_name(void **state)
{
	static const struct {
		const char *rule;
		const char *met;	/* one letter for each threshold: y, n */
		enum gp_exit exit_code; /* of the run, were this all */
		const char *line;	/* in the run's one line */
	} rows[] = {
		{"{path: dmabuf, op: write, size: 1M, min-gbps: 48}", "yy", GP_EXIT_OK, NULL},
		{"{path: dmabuf, op: write, size: 1M, min-gbps: 48.5}", "yn", GP_EXIT_THRESHOLD,
		 "rack.yaml:2 min-gbps 48.5 missed by dmabuf/write/1M/"},
		{"{path: dmabuf, op: write, size: 1M, min-limit: 96}", "yy", GP_EXIT_OK, NULL},
		{"{path: dmabuf, op: write, size: 1M, min-limit: 97}", "yn", GP_EXIT_THRESHOLD,
		 "min-limit 97 missed by dmabuf/write/1M/q0/t0/near/-/-: 96"},
		/* no bounce beside it: not known is not met */
		{"{path: dmabuf, op: write, size: 1M, min-vs-bounce: 1}", "yn", GP_EXIT_THRESHOLD,
		 ": not known"},
		{"{path: dmabuf, op: read}", "n", GP_EXIT_MISSING,
		 "rack.yaml:2 verdict proven missed by dmabuf/read/1M/"},
		{"{path: dmabuf, op: read, verdict: unproven}", "y", GP_EXIT_OK, NULL},
		{"{path: dmabuf, verdict: unproven}", "yyyy", GP_EXIT_OK, NULL},
		{"{placement: 'rail*', min-gbps: 25}", "yyyn", GP_EXIT_THRESHOLD, "rail2"},
		{"{placement: [rail1, rail3], min-gbps: 25}", "yy", GP_EXIT_OK, NULL},
		/* what was not measured, or is not there, is no reason to accept */
		{"{path: dmabuf, size: 2M}", "n", GP_EXIT_MISSING,
		 "rack.yaml:2 verdict proven missed: not measured"},
		{"{path: host}", "n", GP_EXIT_MISSING, "not measured"},
		{"{path: host, verdict: unproven}", "n", GP_EXIT_MISSING, "not measured"},
		/* a contradicted path has no figure */
		{"{path: peermem, min-gbps: 1, verdict: unproven}", "nn", GP_EXIT_WRONG,
		 "peermem write: contradicted"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_record record;
		struct gp_bw_options opt = {0};
		struct gp_plan plan = {0};
		struct gp_accept accept;
		struct gp_error err;
		char text[256];

		snprintf(text, sizeof(text), "accept:\n- %s\n", rows[i].rule);
		assert_int_equal(parse(text, &accept, &err), 0);
		make_run(&record, strstr(text, "peermem"));
		assert_int_equal(gp_accept_judge(&accept, &record, &err), 0);
		if (record.n_thresholds != (int)strlen(rows[i].met))
			fail_msg("row %zu: %d thresholds", i, record.n_thresholds);
		for (int t = 0; t < record.n_thresholds; t++) {
			const struct gp_threshold *held = &record.thresholds[t];

			if (held->met != (rows[i].met[t] == 'y'))
				fail_msg("row %zu: threshold %d", i, t);
			if (strstr(held->cell, "peermem"))
				assert_true(isnan(held->measured));
		}
		gp_plan_conclude(&opt, &plan, &record);
		if (record.exit_code != (int)rows[i].exit_code ||
		    (rows[i].line && !strstr(record.error.fact, rows[i].line)))
			fail_msg("row %zu: %d '%s'", i, record.exit_code, record.error.fact);
		gp_record_free(&record);
		gp_accept_free(&accept);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_refused_says_where),
		cmocka_unit_test(test_too_many_rules_are_refused),
		cmocka_unit_test(test_what_is_open_is_measured_as_the_rules_need),
		cmocka_unit_test(test_rules_hold_the_cells_that_they_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
