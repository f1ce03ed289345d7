/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_record: a record made by hand, as JSON: the keys, null where nothing is known, ids that are
 * equal for the same cell and differ for any other, and writing that fails with a line.
 */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct gp_cell make_cell(void)
{
	struct gp_cell cell = {
		.path = "dmabuf",
		.op = "write",
		.size = 1 << 20,
		.qps = 1,
		.tx_depth = 128,
		.placement = "near",
		.gpu = "0000:18:00.0",
		.nic = "mlx5_0:1",
		.server_gpu = "0000:19:00.0",
		.server_nic = "mlx5_1:1",
		.of_limit = 0.98,
		.vs_bounce = 2.31,
		.verdict = GP_PROVEN,
		.checked_bytes = 1000,
	};

	return cell;
}

static void add_rounds(struct gp_cell *cell, int n)
{
	double values[8];

	for (int i = 0; i < n; i++) {
		struct gp_round_value value = {40 + i, UINT64_C(80000000000) + (uint64_t)i, 76294,
					       2.0, 0.5 + i};

		values[i] = value.gbytes_per_s;
		assert_int_equal(gp_cell_add_round(cell, &value), 0);
	}
	cell->summary = gp_summarize(values, n);
}

/* What a run with placements and rails has more. */
static void add_lists(struct gp_record *record)
{
	struct gp_stand_note *stand = gp_record_add_stand(record);
	struct gp_contrast *contrast = gp_record_add_contrast(record);
	struct gp_sum *sum = gp_record_add_sum(record);
	struct gp_run_finding *finding = gp_record_add_finding(record);

	assert_true(stand && contrast && sum && finding);
	*stand = (struct gp_stand_note){.name = "far",
					.differs = "GPU 1 in place of GPU 0",
					.client = json_pack("{s:s}", "host", "nodeA"),
					.limit = {24.5, "NIC rate", "200 Gb/s less headers"}};
	*contrast = (struct gp_contrast){.what = "far / near",
					 .a = "some/near",
					 .b = "some/far",
					 .ab = {GP_AB_UNCLEAR, 0.98, 0.9, 1.1, 5, 5, 7}};
	*sum = (struct gp_sum){.path = "dmabuf",
			       .op = "read",
			       .size = 65536,
			       .two_way = true,
			       .rails = 2,
			       .gbytes_per_s = malloc(2 * sizeof(double)),
			       .n_rounds = 2,
			       .left_out = 1,
			       .overlap = 0.75,
			       .of_limit = 0.9};
	assert_non_null(sum->gbytes_per_s);
	sum->gbytes_per_s[0] = 80;
	sum->gbytes_per_s[1] = 82;
	sum->summary = gp_summarize(sum->gbytes_per_s, 2);
	*finding = (struct gp_run_finding){"not-steady", "warning", "it drifts", "look"};
	record->times = (struct gp_times){12, 1, 10, 0.5, 0.25};
}

/* A record that has everything. */
static void make_record(struct gp_record *record)
{
	struct gp_cell *cell;
	struct gp_threshold threshold = {
		.name = "min-gbps", .wanted = 45, .cell = "some/cell", .measured = 42.5};

	gp_record_init(record, "1.2.3");
	record->command = json_pack("{s:s}", "size", "1M");
	record->client = json_pack("{s:s}", "host", "nodeA");
	record->server = json_pack("{s:s}", "host", "nodeB");
	record->connection = json_pack("{s:s}", "way", "cm");
	record->limit = (struct gp_limit_note){49.7, "NIC rate", "400 Gb/s less headers"};
	record->cells = cell = malloc(sizeof(*cell));
	assert_non_null(cell);
	*cell = make_cell();
	add_rounds(cell, 5);
	gp_fact_add(&cell->facts, "registration", GP_CLIENT, "ibv_reg_dmabuf_mr", GP_SUPPORT_YES,
		    "rkey 0x1");
	gp_fact_add(&cell->facts, "port-sent", GP_CLIENT, "counters", GP_SUPPORT_UNKNOWN, "none");
	record->n_cells = 1;
	add_lists(record);
	assert_int_equal(gp_record_add_threshold(record, &threshold), 0);
	gp_error_set(&record->error, GP_EXIT_THRESHOLD, "missed");
	record->exit_code = GP_EXIT_THRESHOLD;
}

static const json_t *at(const json_t *json, const char *path)
{
	char copy[100];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *word = strtok(copy, "."); word; word = strtok(NULL, ".")) {
		json = *word >= '0' && *word <= '9' ? json_array_get(json, (size_t)atoi(word))
						    : json_object_get(json, word);
		if (!json)
			fail_msg("no %s", path);
	}
	return json;
}

static void expect_keys(const json_t *json, const char *const *keys)
{
	size_t n = 0;

	for (; keys[n]; n++)
		if (!json_object_get(json, keys[n]))
			fail_msg("no key %s", keys[n]);
	if (json_object_size(json) != n)
		fail_msg("%zu keys, expected %zu", json_object_size(json), n);
}

static void test_json_has_the_keys_of_the_schema(void **state)
{
	static const char *const top[] = {
		"schema",     "tool",	  "started",	"command",    "client",	   "server",
		"connection", "limit",	  "time",	"placements", "cells",	   "comparisons",
		"sums",	      "findings", "thresholds", "error",      "exit_code", NULL};
	static const char *const cell[] = {"id",
					   "path",
					   "op",
					   "size",
					   "qps",
					   "tx_depth",
					   "bidirectional",
					   "placement",
					   "gpu",
					   "nic",
					   "server_gpu",
					   "server_nic",
					   "rounds",
					   "warmup_rounds",
					   "summary",
					   "of_limit",
					   "vs_bounce",
					   "verdict",
					   "reason",
					   "error",
					   "evidence",
					   "verify",
					   "pipeline",
					   NULL};
	static const char *const path[] = {"requested", "used", NULL};
	static const char *const placement[] = {"asked", "client", "server", NULL};
	static const char *const placed[] = {"thread", "memory", NULL};
	static const char *const thread[] = {"asked", "verified", "cpu", NULL};
	static const char *const memory[] = {"asked", "verified", "share", NULL};
	static const char *const round[] = {"gbytes_per_s", "bytes", "seconds",
					    "messages",	    "start", NULL};
	static const char *const summary[] = {"median", "min", "max", "ci95", NULL};
	static const char *const verify[] = {"bytes_checked", "bytes_wrong", NULL};
	static const char *const evidence[] = {"fact", "side", "source", "value", "supports", NULL};
	static const char *const limit[] = {"gbytes_per_s", "bound_by", "detail", NULL};
	static const char *const threshold[] = {"name", "wanted", "cell", "measured",
						"met",	"rule",	  NULL};
	static const struct {
		const char *where;
		const char *const *keys;
	} rows[] = {
		{"", top},
		{"limit", limit},
		{"cells.0", cell},
		{"cells.0.path", path},
		{"cells.0.placement", placement},
		{"cells.0.placement.server", placed},
		{"cells.0.placement.client.thread", thread},
		{"cells.0.placement.server.memory", memory},
		{"cells.0.rounds.4", round},
		{"cells.0.summary", summary},
		{"cells.0.verify", verify},
		{"cells.0.evidence.1", evidence},
		{"thresholds.0", threshold},
	};
	struct gp_record record;
	json_t *json;

	(void)state;
	make_record(&record);
	json = gp_record_to_json(&record);
	for (size_t i = 0; i < COUNT(rows); i++)
		expect_keys(at(json, rows[i].where), rows[i].keys);
	json_decref(json);
	gp_record_free(&record);
}

static void test_json_has_the_values(void **state)
{
	static const struct {
		const char *where, *text;
	} texts[] = {
		{"schema", "gdrproof/result/1"},
		{"tool", "gdrproof 1.2.3"},
		{"command.size", "1M"},
		{"client.host", "nodeA"},
		{"server.host", "nodeB"},
		{"connection.way", "cm"},
		{"limit.bound_by", "NIC rate"},
		{"cells.0.path.requested", "dmabuf"},
		{"cells.0.path.used", "dmabuf"},
		{"cells.0.op", "write"},
		{"cells.0.nic", "mlx5_0:1"},
		{"cells.0.server_gpu", "0000:19:00.0"},
		{"cells.0.verdict", "proven"},
		{"cells.0.placement.asked", "near"},
		{"thresholds.0.name", "min-gbps"},
		{"cells.0.evidence.0.fact", "registration"},
		{"error.fact", "missed"},
	};
	static const struct {
		const char *where;
		double value;
	} numbers[] = {
		{"limit.gbytes_per_s", 49.7},
		{"cells.0.size", 1048576},
		{"cells.0.qps", 1},
		{"cells.0.tx_depth", 128},
		{"cells.0.rounds.1.gbytes_per_s", 41},
		{"cells.0.rounds.1.bytes", 80000000001.0},
		{"cells.0.rounds.0.seconds", 2},
		{"cells.0.rounds.0.messages", 76294},
		{"cells.0.summary.median", 42},
		{"cells.0.summary.min", 40},
		{"cells.0.summary.max", 44},
		{"cells.0.of_limit", 0.98},
		{"cells.0.vs_bounce", 2.31},
		{"cells.0.verify.bytes_checked", 1000},
		{"thresholds.0.measured", 42.5},
		{"exit_code", 3},
	};
	struct gp_record record;
	json_t *json;

	(void)state;
	make_record(&record);
	json = gp_record_to_json(&record);
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_string_equal(json_string_value(at(json, texts[i].where)), texts[i].text);
	for (size_t i = 0; i < COUNT(numbers); i++)
		assert_true(json_number_value(at(json, numbers[i].where)) == numbers[i].value);
	assert_int_equal(json_array_size(at(json, "cells.0.rounds")), 5);
	assert_int_equal(json_array_size(at(json, "cells.0.summary.ci95")), 2);
	assert_true(json_is_false(at(json, "cells.0.bidirectional")));
	assert_true(json_is_false(at(json, "thresholds.0.met")));
	assert_true(json_is_null(at(json, "cells.0.error")));
	json_decref(json);
	gp_record_free(&record);
}

static void test_unknown_is_null(void **state)
{
	static const char *const nulls[] = {
		"command",
		"client",
		"server",
		"connection",
		"limit",
		"error",
		"cells.0.op",
		"cells.0.size",
		"cells.0.gpu",
		"cells.0.server_nic",
		"cells.0.summary",
		"cells.0.of_limit",
		"cells.0.vs_bounce",
		"cells.0.reason",
		"cells.0.error",
		"cells.0.path.used",
		"thresholds.0.measured",
	};
	struct gp_threshold threshold = {
		.name = "min-limit", .wanted = 90, .cell = "c", .measured = NAN};
	struct gp_record record;
	json_t *json;

	(void)state;
	gp_record_init(&record, "v");
	record.cells = calloc(1, sizeof(*record.cells));
	record.n_cells = 1;
	record.cells[0] = (struct gp_cell){.path = "peermem",
					   .placement = "near",
					   .of_limit = NAN,
					   .vs_bounce = NAN,
					   .verdict = GP_UNAVAILABLE};
	gp_record_add_threshold(&record, &threshold);
	json = gp_record_to_json(&record);
	for (size_t i = 0; i < COUNT(nulls); i++)
		if (!json_is_null(at(json, nulls[i])))
			fail_msg("%s is not null", nulls[i]);
	assert_int_equal(json_array_size(at(json, "cells.0.rounds")), 0);
	assert_int_equal(json_array_size(at(json, "cells.0.evidence")), 0);
	assert_string_equal(json_string_value(at(json, "cells.0.verdict")), "unavailable");
	json_decref(json);
	gp_record_free(&record);
}

static void test_no_interval_is_null(void **state)
{
	struct gp_record record;
	json_t *json;

	(void)state;
	gp_record_init(&record, "v");
	record.cells = malloc(sizeof(*record.cells));
	record.n_cells = 1;
	record.cells[0] = make_cell();
	add_rounds(&record.cells[0], 2);
	json = gp_record_to_json(&record);
	assert_true(json_is_null(at(json, "cells.0.summary.ci95")));
	assert_true(json_number_value(at(json, "cells.0.summary.median")) == 40.5);
	json_decref(json);
	gp_record_free(&record);
}

/* The path that was used is only what the evidence lets one say. */
static void test_used_path_follows_the_verdict(void **state)
{
	static const struct {
		enum gp_verdict verdict;
		int rounds;
		const char *used;
	} rows[] = {
		{GP_PROVEN, 3, "dmabuf"},  {GP_UNPROVEN, 3, "dmabuf"}, {GP_CONTRADICTED, 3, NULL},
		{GP_UNAVAILABLE, 0, NULL}, {GP_UNPROVEN, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_record record;
		const char *used;
		json_t *json;

		gp_record_init(&record, "v");
		record.cells = malloc(sizeof(*record.cells));
		record.n_cells = 1;
		record.cells[0] = make_cell();
		record.cells[0].verdict = rows[i].verdict;
		add_rounds(&record.cells[0], rows[i].rounds);
		json = gp_record_to_json(&record);
		used = json_string_value(at(json, "cells.0.path.used"));
		assert_int_equal(used != NULL, rows[i].used != NULL);
		if (used)
			assert_string_equal(used, rows[i].used);
		json_decref(json);
		gp_record_free(&record);
	}
}

static void test_placement_goes_both_ways(void **state)
{
	static const struct gp_placed rows[] = {
		{0, 0, 7, 0, 0, 1},	 {1, 0, 63, 1, 1, 0.75}, {-1, 1, 40, -1, -1, 0},
		{-1, -1, -1, -1, -1, 0}, {0, -1, 3, 1, -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *json = gp_placed_to_json(&rows[i]);
		struct gp_placed back;

		assert_non_null(json);
		assert_int_equal(json_is_null(at(json, "thread.verified")), rows[i].cpu_node < 0);
		assert_int_equal(json_is_null(at(json, "memory.share")), rows[i].mem_node < 0);
		assert_int_equal(gp_placed_from_json(json, &back), 0);
		assert_int_equal(back.cpu_node_asked, rows[i].cpu_node_asked);
		assert_int_equal(back.cpu_node, rows[i].cpu_node);
		assert_int_equal(back.cpu, rows[i].cpu);
		assert_int_equal(back.mem_node_asked, rows[i].mem_node_asked);
		assert_int_equal(back.mem_node, rows[i].mem_node);
		assert_true(back.mem_share == rows[i].mem_share);
		json_decref(json);
	}
	assert_int_equal(gp_placed_from_json(NULL, &(struct gp_placed){0}), -1);
}

/* Unknown is not elsewhere. */
static void test_placement_that_differs(void **state)
{
	static const struct {
		struct gp_placed placed;
		bool differs;
	} rows[] = {
		{{0, 0, 7, 0, 0, 1}, false},	 {{1, 0, 7, -1, -1, 0}, true},
		{{-1, 0, 7, -1, 1, 0.5}, false}, {{0, -1, -1, 1, -1, 0}, false},
		{{0, 0, 7, 1, 0, 1}, true},	 {{0, 0, 7, 1, 1, 0.99}, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(gp_placed_differs(&rows[i].placed), rows[i].differs);
}

static void test_start_is_utc_in_iso_form(void **state)
{
	struct gp_record record;
	int year, month, day, hour, minute, second, end = 0;

	(void)state;
	gp_record_init(&record, "v");
	assert_int_equal(sscanf(record.started, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &year, &month, &day,
				&hour, &minute, &second, &end),
			 6);
	assert_int_equal(end, strlen(record.started));
	assert_int_equal(end, 20);
	assert_true(year >= 2024);
	assert_true(isnan(record.limit.gbytes_per_s));
	gp_record_free(&record);
}

static const char *id_of(const struct gp_cell *cell)
{
	static char buf[2][300];
	static int turn;

	turn = !turn;
	return gp_cell_id(cell, buf[turn], sizeof(buf[turn]));
}

static void test_id_is_of_what_was_measured(void **state)
{
	struct gp_cell a = make_cell(), b;

	(void)state;
	assert_string_equal(id_of(&a), "dmabuf/write/1M/q1/t128/near/0000:18:00.0-mlx5_0:1/"
				       "0000:19:00.0-mlx5_1:1");
	b = make_cell();
	b.of_limit = 0.5;
	b.verdict = GP_UNPROVEN;
	b.wrong_bytes = 7;
	gp_error_set(&b.error, GP_EXIT_FAILED, "x");
	add_rounds(&b, 3);
	assert_string_equal(id_of(&a), id_of(&b));
	free(b.rounds);
}

static void test_id_differs_with_every_part(void **state)
{
	struct gp_cell cells[12];

	(void)state;
	for (size_t i = 0; i < COUNT(cells); i++)
		cells[i] = make_cell();
	strcpy(cells[1].path, "peermem");
	strcpy(cells[2].op, "read");
	cells[3].size++;
	cells[4].qps = 2;
	cells[5].tx_depth = 64;
	cells[6].two_way = true;
	strcpy(cells[7].placement, "far");
	strcpy(cells[8].gpu, "0000:99:00.0");
	strcpy(cells[9].nic, "mlx5_0:2");
	strcpy(cells[10].server_gpu, "none");
	strcpy(cells[11].server_nic, "mlx5_9:1");
	for (size_t a = 0; a < COUNT(cells); a++)
		for (size_t b = 0; b < a; b++)
			assert_string_not_equal(id_of(&cells[a]), id_of(&cells[b]));
}

static void test_id_of_a_path_that_could_not_be_had(void **state)
{
	struct gp_cell cell = make_cell();

	(void)state;
	cell.op[0] = '\0';
	cell.size = 0;
	assert_memory_equal(id_of(&cell), "dmabuf/-/0/", 11);
}

/* The longest that the members can hold; where it is cut, two cells would be taken for one. */
static void test_id_fits_where_it_is_kept(void **state)
{
	struct gp_cell cell = make_cell();
	struct gp_threshold threshold;
	char id[400];

	(void)state;
	memset(cell.nic, 'n', sizeof(cell.nic) - 1);
	memset(cell.server_nic, 's', sizeof(cell.server_nic) - 1);
	memset(cell.gpu, 'g', sizeof(cell.gpu) - 1);
	memset(cell.server_gpu, 'h', sizeof(cell.server_gpu) - 1);
	memset(cell.path, 'p', sizeof(cell.path) - 1);
	memset(cell.placement, 'q', sizeof(cell.placement) - 1);
	cell.size = UINT64_MAX;
	gp_cell_id(&cell, id, sizeof(id));
	assert_true(strlen(id) < sizeof(threshold.cell));
}

static json_t *read_back(const char *file)
{
	json_error_t why;
	json_t *json = json_load_file(file, JSON_REJECT_DUPLICATES, &why);

	if (!json)
		print_error("%s:%d: %s\n", file, why.line, why.text);
	assert_non_null(json);
	return json;
}

static void test_write_gives_the_same_json(void **state)
{
	char file[] = "/tmp/test_record.XXXXXX";
	struct gp_record record;
	struct gp_error err = {0};
	json_t *made, *written;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	make_record(&record);
	assert_int_equal(gp_record_write(&record, file, &err), 0);
	made = gp_record_to_json(&record);
	written = read_back(file);
	assert_true(json_equal(made, written));
	json_decref(made);
	json_decref(written);
	unlink(file);
	gp_record_free(&record);
}

static void test_write_to_standard_output(void **state)
{
	char file[] = "/tmp/test_record.XXXXXX";
	int fd = mkstemp(file), saved = dup(STDOUT_FILENO);
	struct gp_record record;
	struct gp_error err = {0};
	json_t *json;
	int rc;

	(void)state;
	assert_true(fd >= 0 && saved >= 0);
	make_record(&record);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	rc = gp_record_write(&record, "-", &err);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	assert_int_equal(rc, 0);
	json = read_back(file);
	assert_int_equal(json_integer_value(at(json, "exit_code")), 3);
	json_decref(json);
	unlink(file);
	gp_record_free(&record);
}

static void test_write_that_fails_says_so(void **state)
{
	static const struct {
		const char *file, *call;
		int code;
	} rows[] = {
		{"/dev/full", "write", ENOSPC},
		{"/no/such/directory/record.json", "fopen", ENOENT},
		{"/tmp", "fopen", EISDIR},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_record record;
		struct gp_error err = {0};

		make_record(&record);
		assert_int_equal(gp_record_write(&record, rows[i].file, &err), -1);
		assert_true(err.set);
		assert_int_equal(err.exit_code, GP_EXIT_FAILED);
		assert_string_equal(err.call, rows[i].call);
		assert_int_equal(err.code, rows[i].code);
		assert_non_null(strstr(err.fact, rows[i].file));
		gp_record_free(&record);
	}
}

/* A large record fills the buffer before the end: the failure must not be forgotten by then. */
static void test_write_of_much_to_a_full_device_says_so(void **state)
{
	struct gp_record record;
	struct gp_error err = {0};

	(void)state;
	make_record(&record);
	for (int i = 0; i < 5000; i++) {
		struct gp_round_value value = {i, 1, 1, 1, NAN};

		gp_cell_add_round(&record.cells[0], &value);
	}
	assert_int_equal(gp_record_write(&record, "/dev/full", &err), -1);
	assert_int_equal(err.code, ENOSPC);
	gp_record_free(&record);
}

static void test_free_may_be_called_twice(void **state)
{
	struct gp_record record;

	(void)state;
	make_record(&record);
	gp_record_free(&record);
	assert_null(record.cells);
	assert_int_equal(record.n_cells, 0);
	gp_record_free(&record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_has_the_keys_of_the_schema),
		cmocka_unit_test(test_json_has_the_values),
		cmocka_unit_test(test_unknown_is_null),
		cmocka_unit_test(test_no_interval_is_null),
		cmocka_unit_test(test_used_path_follows_the_verdict),
		cmocka_unit_test(test_placement_goes_both_ways),
		cmocka_unit_test(test_placement_that_differs),
		cmocka_unit_test(test_start_is_utc_in_iso_form),
		cmocka_unit_test(test_id_is_of_what_was_measured),
		cmocka_unit_test(test_id_differs_with_every_part),
		cmocka_unit_test(test_id_of_a_path_that_could_not_be_had),
		cmocka_unit_test(test_id_fits_where_it_is_kept),
		cmocka_unit_test(test_write_gives_the_same_json),
		cmocka_unit_test(test_write_to_standard_output),
		cmocka_unit_test(test_write_that_fails_says_so),
		cmocka_unit_test(test_write_of_much_to_a_full_device_says_so),
		cmocka_unit_test(test_free_may_be_called_twice),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
