/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_topo: each directory of tests/data/topo is a topology (`input`, a file or a directory) with
 * what must come out of it (expect.json) and why (why.md). What the expectation does not mention is
 * not compared. An expectation with "external" is for a file that is not kept here: it is looked
 * for below $GP_TOPOLOGIES (hwloc's test data), and skipped where that is not set.
 */
#include "topo.h"

#include <dirent.h>
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

#define DATA "tests/data/topo"

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
		return json_is_array(got);
	}
	if (!json_is_object(want))
		return json_equal(want, got);
	json_object_foreach ((json_t *)want, key, value)
		if (!is_part(value, json_object_get(got, key)))
			return false;
	return json_is_object(got);
}

static const json_t *by_member(const json_t *list, const char *member, const char *value)
{
	json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		if (strcmp(json_string_value(json_object_get(item, member)), value) == 0)
			return item;
	return NULL;
}

static void show(struct check *check, const char *what, const json_t *want, const json_t *got)
{
	char *want_text = want ? json_dumps(want, JSON_ENCODE_ANY) : NULL;
	char *got_text = got ? json_dumps(got, JSON_ENCODE_ANY) : NULL;

	fail_case(check, "%s: expected %s, got %s", what, want_text ? want_text : "nothing",
		  got_text ? got_text : "nothing");
	free(want_text);
	free(got_text);
}

static void check_best(struct check *check, const json_t *want, const json_t *got)
{
	const char *gpu;
	json_t *pick;

	json_object_foreach ((json_t *)want, gpu, pick) {
		const json_t *best = by_member(json_object_get(got, "best"), "gpu", gpu);

		if (!json_equal(json_array_get(pick, 0), json_object_get(best, "nic")) ||
		    !json_equal(json_array_get(pick, 1), json_object_get(best, "class")))
			show(check, gpu, pick, best);
	}
}

static void check_pairs(struct check *check, const json_t *want, const json_t *got)
{
	const char *gpu, *nic;
	json_t *nics, *class, *item;
	size_t i;

	json_object_foreach ((json_t *)want, gpu, nics) {
		json_object_foreach (nics, nic, class) {
			const json_t *found = NULL;

			json_array_foreach (json_object_get(got, "pairs"), i, item)
				if (!strcmp(json_string_value(json_object_get(item, "gpu")), gpu) &&
				    !strcmp(json_string_value(json_object_get(item, "nic")), nic))
					found = json_object_get(item, "class");
			if (!found || !json_equal(class, found))
				show(check, nic, class, found);
		}
	}
}

static void check_devices(struct check *check, const json_t *want, const json_t *got)
{
	const char *name;
	json_t *device;

	json_object_foreach ((json_t *)want, name, device) {
		const json_t *found = by_member(json_object_get(got, "gpus"), "name", name);

		if (!found)
			found = by_member(json_object_get(got, "nics"), "name", name);
		if (!found || !is_part(device, found))
			show(check, name, device, found);
	}
}

/* "findings" empty: none at all. */
static void check_findings(struct check *check, const json_t *want, const json_t *got)
{
	const json_t *findings = json_object_get(got, "findings");
	json_t *id;
	size_t i;

	json_array_foreach (json_object_get(want, "findings"), i, id)
		if (!by_member(findings, "id", json_string_value(id)))
			show(check, "findings", id, findings);
	json_array_foreach (json_object_get(want, "findings_absent"), i, id)
		if (by_member(findings, "id", json_string_value(id)))
			show(check, "findings_absent", id, findings);
	if (json_is_array(json_object_get(want, "findings")) &&
	    json_array_size(json_object_get(want, "findings")) == 0 && json_array_size(findings))
		show(check, "findings", json_object_get(want, "findings"), findings);
}

static void check_messages(struct check *check, const json_t *want, const json_t *got)
{
	const json_t *findings = json_object_get(got, "findings");
	json_t *text, *item;
	const char *id;
	size_t i, k;

	json_array_foreach (json_object_get(want, "messages"), i, text) {
		bool found = false;

		json_array_foreach (findings, k, item)
			found |= strstr(json_string_value(json_object_get(item, "message")),
					json_string_value(text)) != NULL;
		if (!found)
			show(check, "message", text, findings);
	}
	json_object_foreach (json_object_get(want, "severity"), id, text) {
		const json_t *finding = by_member(findings, "id", id);

		if (!json_equal(text, json_object_get(finding, "severity")))
			show(check, id, text, finding);
	}
	json_object_foreach (json_object_get(want, "why"), id, text) {
		const json_t *best = by_member(json_object_get(got, "best"), "gpu", id);

		if (!strstr(json_string_value(json_object_get(best, "why")),
			    json_string_value(text)))
			show(check, id, text, best);
	}
}

static void check_classes(struct check *check, const json_t *want, const struct gp_topo *topo)
{
	json_t *row;
	size_t i;

	json_array_foreach (want, i, row) {
		const char *a = json_string_value(json_array_get(row, 0));
		const char *b = json_string_value(json_array_get(row, 1));
		const char *class = json_string_value(json_array_get(row, 2));
		const char *there = gp_class_name(gp_topo_class(topo, a, b));
		const char *back = gp_class_name(gp_topo_class(topo, b, a));

		if (strcmp(class, there) != 0 || strcmp(class, back) != 0)
			fail_case(check, "%s to %s: expected %s, got %s and %s", a, b, class, there,
				  back);
	}
}

static void check_counts(struct check *check, const json_t *want, const json_t *got)
{
	const char *list;
	json_t *n;

	json_object_foreach ((json_t *)want, list, n)
		if ((json_int_t)json_array_size(json_object_get(got, list)) !=
		    json_integer_value(n))
			show(check, list, n, json_object_get(got, list));
}

static void check_topo(struct check *check, const json_t *expect, const struct gp_topo *topo)
{
	static const char *const plain[] = {"source", "numa_nodes", "sockets"};
	json_t *got = gp_topo_to_json(topo);

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		const json_t *want = json_object_get(expect, plain[i]);

		if (want && !json_equal(want, json_object_get(got, plain[i])))
			show(check, plain[i], want, json_object_get(got, plain[i]));
	}
	check_best(check, json_object_get(expect, "best"), got);
	check_pairs(check, json_object_get(expect, "pairs"), got);
	check_devices(check, json_object_get(expect, "devices"), got);
	check_findings(check, expect, got);
	check_messages(check, expect, got);
	check_counts(check, json_object_get(expect, "count"), got);
	check_classes(check, json_object_get(expect, "classes"), topo);
	json_decref(got);
}

static void check_input(struct check *check, const json_t *expect, const char *input)
{
	int exit_code = (int)json_integer_value(json_object_get(expect, "exit"));
	const char *text = json_string_value(json_object_get(expect, "error"));
	struct gp_topo *topo = NULL;
	struct gp_error err = {0};
	int rc = gp_topo_open(input, &topo, &err);

	if (rc == 0 && exit_code == 0)
		check_topo(check, expect, topo);
	else if (rc == 0)
		fail_case(check, "opened, and should not have");
	else if (exit_code != (int)err.exit_code || !text || !strstr(err.fact, text))
		fail_case(check, "not opened: %s", err.fact);
	if (rc < 0 && topo)
		fail_case(check, "failed and set a topology");
	gp_topo_close(topo);
}

/* Returns false where the case was skipped. */
static bool check_case(struct check *check, int *n_failed)
{
	const char *dir = getenv("GP_TOPOLOGIES"), *external;
	char path[512];
	json_t *expect;
	bool ran = true;

	snprintf(path, sizeof(path), DATA "/%s/expect.json", check->name);
	expect = json_load_file(path, 0, NULL);
	if (!expect) {
		fail_case(check, "expect.json is missing or no JSON");
		*n_failed += 1;
		return true;
	}
	external = json_string_value(json_object_get(expect, "external"));
	snprintf(path, sizeof(path), DATA "/%s/input", check->name);
	if (external)
		snprintf(path, sizeof(path), "%s/%s", dir ? dir : "", external);
	if (external && (!dir || access(path, R_OK) != 0)) {
		printf("skipped: %s needs %s below $GP_TOPOLOGIES\n", check->name, external);
		ran = false;
	} else {
		check_input(check, expect, path);
		*n_failed += check->failures > 0;
	}
	json_decref(expect);
	return ran;
}

static void test_cases(void **state)
{
	struct dirent **names;
	int n = scandir(DATA, &names, NULL, alphasort), ran = 0, failed = 0;

	(void)state;
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		struct check check = {names[i]->d_name, 0};

		if (names[i]->d_name[0] != '.')
			ran += check_case(&check, &failed);
		free(names[i]);
	}
	free(names);
	printf("%d topologies\n", ran);
	assert_true(ran >= 20);
	assert_int_equal(failed, 0);
}

/* Whatever this machine is like, it can be opened, and nothing is contradictory. */
static void test_live(void **state)
{
	struct gp_topo_pick pick;
	struct gp_topo *topo = NULL;
	struct gp_error err = {0};
	json_t *json;

	(void)state;
	assert_int_equal(gp_topo_open(NULL, &topo, &err), 0);
	assert_string_equal(gp_topo_source(topo), "this host");
	assert_true(gp_topo_numa_nodes(topo) >= 1);
	json = gp_topo_to_json(topo);
	assert_non_null(json);
	json_decref(json);
	for (int g = 0; gp_topo_gpu(topo, g); g++) {
		gp_topo_pick_nic(topo, g, &pick);
		assert_true(pick.index < gp_topo_nic_count(topo));
		assert_int_equal(gp_topo_gpu_find(topo, gp_topo_gpu(topo, g)->name), g);
	}
	for (int n = 0; gp_topo_nic(topo, n); n++)
		assert_int_equal(gp_topo_nic_find(topo, gp_topo_nic(topo, n)->name), n);
	gp_topo_close(topo);
	gp_topo_close(NULL);
}

static struct gp_topo *open_case(const char *name)
{
	struct gp_topo *topo = NULL;
	struct gp_error err = {0};
	char path[256];

	snprintf(path, sizeof(path), DATA "/%s/input", name);
	assert_int_equal(gp_topo_open(path, &topo, &err), 0);
	return topo;
}

static void test_addresses(void **state)
{
	static const char *const same[] = {"0000:1a:00.0",     "1a:00.0", "1A:00.0",
					   "00000000:1A:00.0", "mlx5_0",  "MLX5_0"};
	static const char *const none[] = {"",	      "1a",	      "1a:00",	     "1a:00.8",
					   "1a:20.0", "x1a:00.0",     "1a:00.0 ",    "+1a:00.0",
					   "mlx5",    "0001:1a:00.0", "0000:1b:00.0"};
	struct gp_topo *topo = open_case("capture-two-sockets");

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(gp_topo_nic_find(topo, same[i]), 0);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(gp_topo_nic_find(topo, none[i]), -1);
	assert_int_equal(gp_topo_numa_node(topo, "99:00.0"), 1);
	assert_int_equal(gp_topo_numa_node(topo, "77:00.0"), -1);
	assert_int_equal(gp_topo_class(topo, "77:00.0", "99:00.0"), GP_CLASS_UNKNOWN);
	assert_int_equal(gp_topo_class(topo, "18:00.0", "17:01.0"), GP_CLASS_PIX);
	gp_topo_close(topo);
}

static void test_cpus(void **state)
{
	struct gp_topo *topo = open_case("capture-two-sockets");
	char cpus[64];

	(void)state;
	gp_topo_cpus(topo, "0000:18:00.0", cpus, sizeof(cpus));
	assert_string_equal(cpus, "0-1");
	gp_topo_cpus(topo, "0000:99:00.0", cpus, sizeof(cpus));
	assert_string_equal(cpus, "");
	gp_topo_close(topo);
}

static void test_pick(void **state)
{
	struct gp_topo *topo = open_case("capture-two-sockets");
	struct gp_topo_pick pick;

	(void)state;
	gp_topo_pick_nic(topo, 0, &pick);
	assert_int_equal(pick.index, 0);
	assert_string_equal(pick.why, "PIX: at most one PCIe switch between them; the nearest");
	gp_topo_pick_gpu(topo, 1, &pick);
	assert_int_equal(pick.index, 1);
	assert_int_equal(pick.class, GP_CLASS_NODE);
	gp_topo_pick_nic(topo, 7, &pick);
	assert_int_equal(pick.index, -1);
	gp_topo_pick_gpu(topo, -1, &pick);
	assert_int_equal(pick.index, -1);
	gp_topo_close(topo);
	topo = open_case("capture-no-pci");
	gp_topo_pick_gpu(topo, 0, &pick);
	assert_int_equal(pick.index, -1);
	assert_string_equal(pick.why, "there is no GPU");
	gp_topo_close(topo);
}

/* CUDA's numbers, a GPU that is no NVIDIA function, and one that is nowhere on PCI. */
static void test_gpu_name(void **state)
{
	struct gp_topo *topo = open_case("capture-two-sockets");

	(void)state;
	assert_int_equal(gp_topo_gpu_name(topo, "00000000:99:00.0", 0, "Emulated GPU"), 1);
	assert_string_equal(gp_topo_gpu(topo, 1)->name, "GPU0");
	assert_string_equal(gp_topo_gpu(topo, 1)->model, "Emulated GPU");
	assert_string_equal(gp_topo_gpu(topo, 0)->name, "0000:18:00.0");
	assert_int_equal(gp_topo_gpu_name(topo, "0000:17:01.0", 1, "Emulated GPU"), 2);
	assert_int_equal(gp_topo_pair(topo, 2, 0), GP_CLASS_PIX);
	assert_int_equal(gp_topo_gpu(topo, 2)->numa_node, 0);
	assert_int_equal(gp_topo_gpu_name(topo, "0000:00:1f.0", 2, "Emulated GPU"), 3);
	assert_int_equal(gp_topo_pair(topo, 3, 0), GP_CLASS_UNKNOWN);
	assert_int_equal(gp_topo_gpu(topo, 3)->numa_node, -1);
	for (int i = 3; i < 140; i++)
		gp_topo_gpu_name(topo, "", i, "Emulated GPU");
	assert_int_equal(gp_topo_gpu_count(topo), GP_TOPO_MAX);
	gp_topo_close(topo);
}

static void test_dot(void **state)
{
	struct gp_topo *topo = open_case("hwloc-format-2");
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	gp_topo_to_dot(topo, out);
	fclose(out);
	assert_non_null(strstr(text, "graph topology {"));
	assert_non_null(strstr(text, "H100 80GB HBM3 & \\\"co\\\""));
	assert_non_null(strstr(text, "gpu0 -- nic0 [label=\"PIX\""));
	assert_non_null(strstr(text, "host bridge\\npci0000:15"));
	free(text);
	gp_topo_close(topo);
}

static void test_missing(void **state)
{
	struct gp_topo *topo = NULL;
	struct gp_error err = {0};

	(void)state;
	assert_int_equal(gp_topo_open("/nonexistent/file", &topo, &err), -1);
	assert_int_equal(err.exit_code, GP_EXIT_USAGE);
	assert_null(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),	  cmocka_unit_test(test_live),
		cmocka_unit_test(test_addresses), cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_pick),	  cmocka_unit_test(test_gpu_name),
		cmocka_unit_test(test_dot),	  cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests_name("topo", tests, NULL, NULL);
}
