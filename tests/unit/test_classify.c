/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_classify: each directory of tests/data/path is a capture (input.txt, input/, intent*,
 * nccl.log, nccl-off.log) with what must come out of it (expect.json) and why (why.md). What the
 * expectation does not mention is not compared, but findings_absent must not be there.
 */
#include "classify_findings.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DATA "tests/data/path"

struct check {
	const char *name; /* of the case */
	int failures;
};

static void fail_case(struct check *check, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void fail_case(struct check *check, const char *fmt, ...)
{
	va_list args;

	check->failures++;
	fprintf(stderr, "%s: ", check->name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static bool has_finding(const json_t *node, const char *id)
{
	json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(node, "findings"), i, finding)
		if (strcmp(json_string_value(json_object_get(finding, "id")), id) == 0)
			return true;
	return false;
}

static void check_findings(struct check *check, const char *where, const json_t *want,
			   const json_t *got)
{
	json_t *id;
	size_t i;

	json_array_foreach (json_object_get(want, "findings"), i, id)
		if (!has_finding(got, json_string_value(id)))
			fail_case(check, "%s lacks %s", where, json_string_value(id));
	json_array_foreach (json_object_get(want, "findings_absent"), i, id)
		if (has_finding(got, json_string_value(id)))
			fail_case(check, "%s must not have %s", where, json_string_value(id));
}

static void check_word(struct check *check, const char *where, const char *key, const json_t *want,
		       const json_t *got)
{
	const char *wanted = json_string_value(json_object_get(want, key));
	const char *is = json_string_value(json_object_get(got, key));

	if (wanted && (!is || strcmp(wanted, is) != 0))
		fail_case(check, "%s: %s is %s, not %s", where, key, is ? is : "missing", wanted);
}

/* Each text of the list is part of the line of one decider. */
static void check_deciders(struct check *check, const json_t *want, const json_t *got)
{
	json_t *part, *decider;
	size_t i, j;

	json_array_foreach (json_object_get(want, "decided_by"), i, part) {
		bool found = false;

		json_array_foreach (json_object_get(got, "decided_by"), j, decider)
			found |= strstr(json_string_value(json_object_get(decider, "line")),
					json_string_value(part)) != NULL;
		if (!found)
			fail_case(check, "no deciding line has '%s'", json_string_value(part));
	}
}

/* `want` is a part of `got`: objects member by member, arrays item by item, numbers nearly. */
static bool is_part(const json_t *want, const json_t *got)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_number(want) && json_is_number(got))
		return fabs(json_number_value(want) - json_number_value(got)) < 0.001;
	if (json_is_array(want)) {
		json_array_foreach (want, i, value)
			if (!is_part(value, json_array_get(got, i)))
				return false;
		return json_is_array(got) && json_array_size(want) == json_array_size(got);
	}
	if (!json_is_object(want))
		return json_equal(want, got);
	json_object_foreach ((json_t *)want, key, value)
		if (!is_part(value, json_object_get(got, key)))
			return false;
	return json_is_object(got);
}

static void check_nccl(struct check *check, const json_t *want, const json_t *got)
{
	static const char *const keys[] = {"network",	   "link",	   "nics",  "gdr",
					   "gdr_channels", "net_channels", "errors"};
	const json_t *nccl = json_object_get(got, "nccl");

	if (json_object_get(want, "nccl") && !is_part(json_object_get(want, "nccl"), nccl))
		fail_case(check, "nccl differs: %s", json_dumps(nccl, JSON_COMPACT));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_get(want, keys[i]) &&
		    !is_part(json_object_get(want, keys[i]), json_object_get(nccl, keys[i])))
			fail_case(check, "nccl.%s differs", keys[i]);
}

/* A text that must stand in some finding's message. */
static void check_message(struct check *check, const json_t *want, const json_t *got)
{
	const char *part = json_string_value(json_object_get(want, "message"));
	json_t *finding;
	bool found = !part;
	size_t i;

	json_array_foreach (json_object_get(got, "findings"), i, finding)
		found |= part &&
			 strstr(json_string_value(json_object_get(finding, "message")), part);
	if (!found)
		fail_case(check, "no message has '%s'", part);
}

static void check_node(struct check *check, const char *where, const json_t *want,
		       const json_t *got)
{
	check_word(check, where, "path", want, got);
	check_word(check, where, "confidence", want, got);
	check_findings(check, where, want, got);
	check_deciders(check, want, got);
	check_nccl(check, want, got);
	check_message(check, want, got);
}

static const json_t *node_named(const json_t *record, const char *name)
{
	json_t *node;
	size_t i;

	json_array_foreach (json_object_get(record, "nodes"), i, node) {
		const char *is = json_string_value(json_object_get(node, "name"));

		if (is && strcmp(is, name) == 0)
			return node;
	}
	return NULL;
}

static void check_fleet(struct check *check, const json_t *want, const json_t *record)
{
	const char *summary = json_string_value(json_object_get(want, "summary")), *name;
	const json_t *nodes = json_object_get(want, "nodes");
	json_t *node;

	if (json_array_size(json_object_get(record, "nodes")) != json_object_size(nodes))
		fail_case(check, "%zu nodes, not %zu",
			  json_array_size(json_object_get(record, "nodes")),
			  json_object_size(nodes));
	json_object_foreach ((json_t *)nodes, name, node) {
		const json_t *got = node_named(record, name);

		if (got)
			check_node(check, name, node, got);
		else
			fail_case(check, "no node %s", name);
	}
	if (json_object_get(want, "groups") &&
	    json_integer_value(json_object_get(want, "groups")) !=
		    (json_int_t)json_array_size(json_object_get(record, "groups")))
		fail_case(check, "%zu groups", json_array_size(json_object_get(record, "groups")));
	if (summary && !strstr(json_string_value(json_object_get(record, "summary")), summary))
		fail_case(check, "summary: %s",
			  json_string_value(json_object_get(record, "summary")));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Give each file of the case to the reader that the command line would. */
static int read_case(const char *directory, struct gp_fleet *fleet, struct gp_error *err)
{
	static const struct {
		const char *prefix;
		int (*read)(struct gp_fleet *fleet, const char *path, struct gp_error *err);
	} kinds[] = {
		{"input", gp_fleet_read},
		{"nccl", gp_fleet_read_nccl},
		{"intent", gp_fleet_read_intent},
	};
	struct gp_root root;
	char path[600], **names;
	int rc = gp_root_open(directory, &root, err), n;

	if (rc < 0)
		return -1;
	n = gp_root_list(&root, "", 100, &names);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		/* the log with RDMA off comes second, as on the command line */
		for (int i = n; i-- > 0 && rc == 0;) {
			if (strncmp(names[i], kinds[k].prefix, strlen(kinds[k].prefix)) != 0)
				continue;
			snprintf(path, sizeof(path), "%.300s/%.255s", directory, names[i]);
			rc = kinds[k].read(fleet, path, err);
		}
	gp_root_names_free(names, n);
	gp_root_close(&root);
	gp_fleet_settle(fleet);
	return rc;
}

static void run_case(struct check *check)
{
	struct gp_fleet_verdict verdict = {0};
	struct gp_fleet fleet = {0};
	struct gp_error err = {0};
	char path[500], line[900];
	json_t *want, *record;

	snprintf(path, sizeof(path), DATA "/%s/expect.json", check->name);
	want = json_load_file(path, 0, NULL);
	if (!want) {
		fail_case(check, "no expect.json");
		return;
	}
	snprintf(path, sizeof(path), DATA "/%s", check->name);
	if (read_case(path, &fleet, &err) < 0)
		fail_case(check, "%s", gp_error_line(&err, line, sizeof(line)));
	assert_int_equal(gp_classify_fleet(&fleet, &verdict), 0);
	record = gp_classify_to_json(&fleet, &verdict);
	if (json_object_get(want, "nodes"))
		check_fleet(check, want, record);
	else if (json_array_size(json_object_get(record, "nodes")) == 1)
		check_node(check, "it", want, json_array_get(json_object_get(record, "nodes"), 0));
	else if (!err.set)
		fail_case(check, "%zu nodes", json_array_size(json_object_get(record, "nodes")));
	json_decref(record);
	json_decref(want);
	gp_fleet_verdict_close(&verdict);
	gp_fleet_close(&fleet);
}

static void every_capture_has_its_answer(void **state)
{
	struct check check = {0};
	struct dirent *entry;
	char *names[1000];
	DIR *dir = opendir(DATA);
	int n = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && n < 1000)
			names[n++] = strdup(entry->d_name);
	closedir(dir);
	assert_true(n >= 40);
	qsort(names, (size_t)n, sizeof(names[0]), by_name);
	for (int i = 0; i < n; i++) {
		check.name = names[i];
		run_case(&check);
		free(names[i]);
	}
	assert_int_equal(check.failures, 0);
}

/* Does any expectation, at any depth, list this finding? */
static bool expects(const json_t *want, const char *id)
{
	const char *key;
	json_t *value;
	size_t i;

	json_array_foreach (json_object_get(want, "findings"), i, value)
		if (strcmp(json_string_value(value), id) == 0)
			return true;
	json_object_foreach ((json_t *)json_object_get(want, "nodes"), key, value)
		if (expects(value, id))
			return true;
	return false;
}

static bool some_case_expects(const char *id)
{
	struct dirent *entry;
	char path[500];
	bool found = false;
	DIR *dir = opendir(DATA);

	while (dir && !found && (entry = readdir(dir))) {
		json_t *want;

		snprintf(path, sizeof(path), DATA "/%.200s/expect.json", entry->d_name);
		want = json_load_file(path, 0, NULL);
		found = expects(want, id);
		json_decref(want);
	}
	closedir(dir);
	return found;
}

/* A row without a case is a claim that nobody checks. */
static void every_finding_has_a_case(void **state)
{
	static const struct gp_finding_row *const tables[] = {
		gp_host_findings, gp_operator_findings, gp_nccl_findings};

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct gp_finding_row *row = tables[i]; row->id; row++)
			if (!some_case_expects(row->id))
				fail_msg("no case under " DATA " expects %s", row->id);
	if (!some_case_expects("clusterwide-mofed-split"))
		fail_msg("no case expects clusterwide-mofed-split");
}

static void a_missing_prerequisite_is_one_sentence(void **state)
{
	static const struct {
		const char *name;
		enum gp_path_id path;
		const char *sentence; /* NULL: nothing is missing */
	} rows[] = {
		{"02-proprietary-el8-peermem", GP_PATH_DMABUF,
		 "driver: proprietary 535.183.06 (\"NVRM version: NVIDIA UNIX x86_64 Kernel Module "
		 "535.183.06\")"},
		{"02-proprietary-el8-peermem", GP_PATH_PEERMEM, NULL},
		{"01-open-5.15-no-ofed-usehostmofed", GP_PATH_DMABUF, NULL},
		{"01-open-5.15-no-ofed-usehostmofed", GP_PATH_PEERMEM,
		 "OFED: required, none installed (\"(command not found)\")"},
		{"06-geforce", GP_PATH_DMABUF,
		 "GPU: without GPUDirect RDMA (\"|   0  NVIDIA GeForce RTX 4090        Off |   "
		 "00000000:1B:00.0 Off |                  Off |\")"},
		{"10-no-nic", GP_PATH_PEERMEM, "RDMA: no RDMA device (\"No IB devices found\")"},
		{"peermem-not-loaded", GP_PATH_PEERMEM,
		 "module: nvidia_peermem is not loaded (\"lsmod | grep nvidia\")"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gp_fleet fleet = {0};
		struct gp_error err = {0};
		char path[300], text[600];

		snprintf(path, sizeof(path), DATA "/%s/input.txt", rows[i].name);
		assert_int_equal(gp_fleet_read(&fleet, path, &err), 0);
		assert_int_equal(
			gp_classify_missing(fleet.nodes[0], rows[i].path, text, sizeof(text)),
			rows[i].sentence != NULL);
		assert_string_equal(text, rows[i].sentence ? rows[i].sentence : "");
		gp_fleet_close(&fleet);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_capture_has_its_answer),
		cmocka_unit_test(every_finding_has_a_case),
		cmocka_unit_test(a_missing_prerequisite_is_one_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
