/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_record_read: what is written is read back the same, and each way for a record to be wrong is
 * refused with the words that name it, exit 2 and nothing left behind.
 */
#include "record_read.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static json_t *load(void)
{
	json_error_t why;
	json_t *json = json_load_file("tests/data/records/emulated.json", 0, &why);

	if (!json)
		print_error("%s\n", why.text);
	assert_non_null(json);
	return json;
}

static void test_what_is_written_is_read_the_same(void **state)
{
	json_t *json = load(), *again;
	struct gp_record record, twice;
	struct gp_error err = {0};

	(void)state;
	assert_int_equal(gp_record_from_json(json, &record, &err), 0);
	assert_int_equal(record.n_cells, 8);
	assert_int_equal(record.cells[0].n_rounds, 3);
	assert_string_equal(record.cells[0].path, "dmabuf");
	assert_int_equal(record.cells[0].verdict, GP_PROVEN);
	again = gp_record_to_json(&record);
	assert_true(json_equal(again, json));
	assert_int_equal(gp_record_from_json(again, &twice, &err), 0);
	json_decref(again);
	json_decref(json);
	gp_record_free(&record);
	gp_record_free(&twice);
}

/* A dotted path through objects and lists; the last part is the member. */
static json_t *parent_of(json_t *json, const char *path, char *last, size_t size)
{
	char part[64];
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - path), path);
		json = json_is_array(json) ? json_array_get(json, (size_t)atoi(part))
					   : json_object_get(json, part);
		assert_non_null(json);
		path = dot + 1;
	}
	snprintf(last, size, "%s", path);
	return json;
}

static void test_what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *path;
		const char *value; /* JSON; NULL: removed */
		const char *words;
	} rows[] = {
		{"schema", NULL, "names no schema"},
		{"schema", "1", "names no schema"},
		{"schema", "\"gdrproof/topo/1\"", "its schema is 'gdrproof/topo/1'"},
		{"schema", "\"gdrproof/result/2\"", "this gdrproof reads version 1"},
		{"schema", "\"gdrproof/result/\"", "this gdrproof reads version 1"},
		{"schema", "\"gdrproof/result/1x\"", "this gdrproof reads version 1"},
		{"schema", "\"gdrproof/result/2\\u001b\"", "version 1"},
		{"tool", NULL, "'tool'"},
		{"started", "7", "'started'"},
		{"client", "[]", "'client'"},
		{"command", "\"bw\"", "'command'"},
		{"limit", "{\"gbytes_per_s\": \"fast\"}", "'gbytes_per_s'"},
		{"cells", NULL, "'cells'"},
		{"cells", "{}", "'cells'"},
		{"cells.1", "null", "cell 2: it is not an object"},
		{"cells.0.id", NULL, "cell 1: 'id'"},
		{"cells.2.id", "\"x\"", "cell 3: its id is x, its members make it peermem/"},
		{"cells.0.path", "null", "cell 1: 'requested'"},
		{"cells.0.path.requested", "\"a-path-that-is-far-too-long\"", "longer than 15"},
		{"cells.0.op", "\"overwrite\"", "longer than 7"},
		{"cells.0.size", "0", "'size'"},
		{"cells.0.size", "1.5", "'size'"},
		{"cells.0.qps", "-1", "'qps'"},
		{"cells.0.tx_depth", "9999999999", "'tx_depth'"},
		{"cells.0.placement", "null", "'placement'"},
		{"cells.0.rounds", "null", "'rounds'"},
		{"cells.0.rounds.0", "7", "'gbytes_per_s'"},
		{"cells.0.rounds.1.gbytes_per_s", "-1", "'gbytes_per_s'"},
		{"cells.0.rounds.1.bytes", "1.5", "'bytes'"},
		{"cells.0.summary", "null", "'summary'"},
		{"cells.0.verdict", "\"good\"", "'verdict'"},
		{"cells.0.evidence", "{}", "'evidence'"},
		{"cells.0.evidence.0.side", "\"middle\"", "'evidence'"},
		{"cells.0.verify", "null", "'bytes_checked'"},
		{"cells.0.error", "{\"fact\": \"x\"}", "'error'"},
		{"cells.0.of_limit", "\"1\"", "'of_limit'"},
		{"time", "7", "'time'"},
		{"time", "{\"wall_s\": \"long\"}", "'wall_s'"},
		{"placements", "{}", "'placements'"},
		{"placements", "[{}]", "placements 1: 'name'"},
		{"comparisons", "[7]", "comparisons 1: 'what'"},
		{"sums", "[{}]", "sums 1: 'path'"},
		{"findings", "[{\"id\": 1}]", "findings 1: 'id'"},
		{"cells.0.warmup_rounds", "3", "'warmup_rounds'"},
		{"cells.0.rounds.0.start", "\"now\"", "'start'"},
		{"thresholds", "null", "'thresholds'"},
		{"cells.6.pipeline", "1", "'pipeline'"},
		{"cells.6.pipeline.chunk", "0", "'chunk'"},
		{"cells.6.pipeline.slots", "null", "'slots'"},
		{"cells.6.pipeline.wire", "[]", "'wire'"},
		{"cells.6.pipeline.wire.busy", "true", "'busy'"},
		{"exit_code", "\"0\"", "'exit_code'"},
		{"client.\x1b[2J", "1", "control character"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_record record;
		struct gp_error err = {0};
		json_t *json = load(), *in;
		char last[64];

		in = parent_of(json, rows[i].path, last, sizeof(last));
		if (!rows[i].value)
			json_object_del(in, last);
		else if (json_is_array(in))
			json_array_set_new(in, (size_t)atoi(last),
					   json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		else
			json_object_set_new(in, last,
					    json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		assert_int_equal(gp_record_from_json(json, &record, &err), -1);
		if (!strstr(err.fact, rows[i].words))
			print_error("%s: %s\n", rows[i].path, err.fact);
		assert_non_null(strstr(err.fact, rows[i].words));
		assert_null(strchr(err.fact, 0x1b));
		assert_int_equal(err.exit_code, GP_EXIT_USAGE);
		assert_null(record.cells);
		json_decref(json);
	}
}

static void test_unknown_members_do_not_matter(void **state)
{
	json_t *json = load();
	struct gp_record record;
	struct gp_error err = {0};

	(void)state;
	json_object_set_new(json, "weather", json_string("fine"));
	json_object_set_new(json_array_get(json_object_get(json, "cells"), 0), "rail", json_null());
	assert_int_equal(gp_record_from_json(json, &record, &err), 0);
	gp_record_free(&record);
	json_decref(json);
}

/* Nothing that a record says may move a terminal's cursor. */
static void test_control_characters_become_spaces(void **state)
{
	json_t *json = load();
	struct gp_record record;
	struct gp_error err = {0};

	(void)state;
	json_object_set_new(json_object_get(json, "client"), "host",
			    json_string("\x1b[2Jnode\xc2\x9b"));
	json_object_set_new(json_array_get(json_object_get(json, "cells"), 0), "reason",
			    json_string("one\ntwo"));
	assert_int_equal(gp_record_from_json(json, &record, &err), 0);
	assert_string_equal(json_string_value(json_object_get(record.client, "host")),
			    " [2Jnode??");
	assert_string_equal(record.cells[0].reason, "one two");
	gp_record_free(&record);
	json_decref(json);
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *out = fopen(path, "wb");

	assert_non_null(out);
	assert_int_equal(fwrite(data, 1, size, out), size);
	assert_int_equal(fclose(out), 0);
}

/* Cut anywhere, it is refused: one line, exit 2. */
static void test_truncated_files(void **state)
{
	char path[] = "/tmp/test_record_read.XXXXXX", line[1024];
	json_t *json = load();
	char *text = json_dumps(json, JSON_INDENT(1));
	size_t size = strlen(text);

	(void)state;
	close(mkstemp(path));
	for (size_t cut = 0; cut < size; cut += 331) {
		struct gp_record record;
		struct gp_error err = {0};

		write_file(path, text, cut);
		assert_int_equal(
			(cut % 2 ? gp_record_read : gp_record_read_figures)(path, &record, &err),
			-1);
		assert_int_equal(err.exit_code, GP_EXIT_USAGE);
		assert_null(strchr(gp_error_line(&err, line, sizeof(line)), '\n'));
		assert_non_null(strstr(line, path));
	}
	unlink(path);
	free(text);
	json_decref(json);
}

static void test_files_that_are_none(void **state)
{
	static const struct {
		const char *path, *words;
	} rows[] = {
		{"/no/such/file", "ENOENT"},   {"/tmp", "EISDIR"},
		{"/dev/null", "empty"},	       {"/dev/zero", "larger than 64 MiB"},
		{"Makefile", "no valid JSON"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_record record;
		struct gp_error err = {0};

		assert_int_equal(gp_record_read(rows[i].path, &record, &err), -1);
		assert_int_equal(err.exit_code, GP_EXIT_USAGE);
		assert_non_null(strstr(err.fact, rows[i].words));
		assert_non_null(strstr(err.fact, rows[i].path));
	}
}

/* Figures alone: the same cells and rounds, no facts; brackets and quotes in texts mislead nobody.
 */
static void test_figures_without_evidence(void **state)
{
	char path[] = "/tmp/test_record_read.XXXXXX";
	json_t *json = load(), *cell = json_array_get(json_object_get(json, "cells"), 1);
	json_t *fact = json_array_get(json_object_get(cell, "evidence"), 0);
	struct gp_record whole, figures, none;
	struct gp_error err = {0};

	(void)state;
	json_object_set_new(fact, "value", json_string("]\"] \\\" \\"));
	json_object_set_new(cell, "reason", json_string("\"evidence\": ["));
	close(mkstemp(path));
	assert_int_equal(json_dump_file(json, path, 0), 0);
	assert_int_equal(gp_record_read(path, &whole, &err), 0);
	assert_int_equal(gp_record_read_figures(path, &figures, &err), 0);
	assert_int_equal(whole.n_cells, figures.n_cells);
	write_file(path, "{\"exit_code\": 0 0}", 18); /* shortening makes no JSON of what is none */
	assert_int_equal(gp_record_read_figures(path, &none, &err), -1);
	assert_non_null(strstr(err.fact, "no valid JSON"));
	for (int i = 0; i < whole.n_cells; i++) {
		assert_true(whole.cells[i].facts.n > 0);
		assert_int_equal(figures.cells[i].facts.n, 0);
		assert_string_equal(whole.cells[i].reason, figures.cells[i].reason);
		assert_int_equal(whole.cells[i].n_rounds, figures.cells[i].n_rounds);
		assert_true(whole.cells[i].rounds[0].gbytes_per_s ==
			    figures.cells[i].rounds[0].gbytes_per_s);
	}
	gp_record_free(&whole);
	gp_record_free(&figures);
	unlink(path);
	json_decref(json);
}

static void test_a_file_without_end_is_refused(void **state)
{
	char path[] = "/tmp/test_record_read.XXXXXX";
	struct gp_record record;
	struct gp_error err = {0};
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, "[", 1), 1);
	char *spaces = malloc(1 << 20);

	memset(spaces, ' ', 1 << 20);
	for (int i = 0; i < 65; i++)
		assert_int_equal(write(fd, spaces, 1 << 20), 1 << 20);
	close(fd);
	free(spaces);
	assert_int_equal(gp_record_read(path, &record, &err), -1);
	assert_non_null(strstr(err.fact, "larger than 64 MiB"));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read_the_same),
		cmocka_unit_test(test_what_is_wrong_is_named),
		cmocka_unit_test(test_unknown_members_do_not_matter),
		cmocka_unit_test(test_control_characters_become_spaces),
		cmocka_unit_test(test_truncated_files),
		cmocka_unit_test(test_files_that_are_none),
		cmocka_unit_test(test_figures_without_evidence),
		cmocka_unit_test(test_a_file_without_end_is_refused),
	};

	return cmocka_run_group_tests_name("record_read", tests, NULL, NULL);
}
