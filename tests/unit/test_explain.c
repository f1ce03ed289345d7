/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_explain: facts go from a record, as bw writes it, to the rule that rests on them. The record
 * is of two virtual hosts; figures and one fact at a time are made up.
 */
#include "explain.h"
#include "record_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LIMIT	 49.0

static void set_level(json_t *cell, double level)
{
	json_t *summary = json_object_get(cell, "summary");

	json_object_set_new(summary, "median", json_real(level));
}

/* Host memory near the limit, the GPU at 0.4 of it. */
static void set_levels(json_t *record, double host, double gpu)
{
	json_t *cell;
	size_t i;

	json_object_set_new(record, "limit",
			    json_pack("{s:f s:s s:s}", "gbytes_per_s", LIMIT, "bound_by",
				      "NIC rate", "detail", "400 Gb/s"));
	json_array_foreach (json_object_get(record, "cells"), i, cell) {
		const char *path = json_string_value(
			json_object_get(json_object_get(cell, "path"), "requested"));
		bool is_host = strcmp(path, "host") == 0, bounce = strcmp(path, "bounce") == 0;

		set_level(cell, is_host ? host : bounce ? gpu / 2 : gpu);
	}
}

/* Sets what a dotted path names; each member of it must be there already. */
static void set_fact(json_t *json, const char *path, const char *value)
{
	char part[64];
	const char *dot;

	for (; (dot = strchr(path, '.')); path = dot + 1) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - path), path);
		json = json_object_get(json, part);
	}
	assert_non_null(json_object_get(json, path));
	assert_int_equal(json_object_set_new(json, path, json_loads(value, JSON_DECODE_ANY, NULL)),
			 0);
}

static json_t *load(void)
{
	json_t *json = json_load_file("tests/data/records/emulated.json", 0, NULL);

	assert_non_null(json);
	return json;
}

/* Whether a line of that rule is there, and says so. Takes the record. */
static bool explained(json_t *json, const char *id, const char *words)
{
	struct gp_diagnosis diagnosis;
	struct gp_record record;
	struct gp_error err = {0};
	bool found = false;

	assert_int_equal(gp_record_from_json(json, &record, &err), 0);
	gp_explain(&record, &diagnosis);
	for (int i = 0; i < diagnosis.n; i++)
		found = found || (strcmp(diagnosis.line[i].id, id) == 0 &&
				  strstr(diagnosis.line[i].facts, words));
	gp_record_free(&record);
	json_decref(json);
	return found;
}

static void test_each_fact_reaches_its_rule(void **state)
{
	static const struct {
		const char *id, *words; /* of the line that then must be there */
		double host, gpu;
		struct {
			const char *path, *value;
		} fact[2];
	} rows[] = {
		{"coherent-mapping", "client", 47, 20, {{"client.gpu.host_page_tables", "true"}}},
		{"relaxed-ordering-off", "", 47, 20, {{"command.relaxed-ordering", "\"off\""}}},
		{"acs-redirect",
		 "server",
		 47,
		 20,
		 {{"server.acs_redirect", "true"}, {"server.distance", "\"PXB\""}}},
		{"distance-sys", "SYS", 47, 20, {{"client.distance", "\"SYS\""}}},
		{"iommu-translating", "client", 47, 20, {{"client.nic.iommu", "\"DMA-FQ\""}}},
		{"iommu-translating", "server", 47, 20, {{"server.gpu.iommu", "\"DMA\""}}},
		{"gpu-link",
		 "16 GT/s x8 of 16 GT/s x16",
		 47,
		 12,
		 {{"client.gpu.link", "{\"gts\":16,\"width\":8,\"max_gts\":16,\"max_width\":16}"}}},
		{"gpu-link",
		 "above the GPU",
		 47,
		 12,
		 {{"server.gpu.narrowest",
		   "{\"gts\":8,\"width\":16,\"max_gts\":16,\"max_width\":16}"}}},
		{"link-rate",
		 "200 Gb/s",
		 30,
		 29,
		 {{"client.nic.rate_gbits_per_s", "400"}, {"server.nic.rate_gbits_per_s", "200"}}},
		{"mtu", "1024", 30, 29, {{"client.nic.mtu_max", "4096"}}},
		{"roce-v1",
		 "RoCE v1",
		 30,
		 29,
		 {{"connection.gid_type", "\"RoCE v1\""}, {"connection.mtu", "4096"}}},
		{"peer-to-peer-reads",
		 "client chipset",
		 47,
		 45,
		 {{"server.cpu", "\"Intel(R) Core(TM) i9-10900X CPU @ 3.70GHz\""},
		  {"server.distance", "\"PXB\""}}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *json = load();

		set_levels(json, rows[i].host, rows[i].gpu);
		if (strcmp(rows[i].id, "peer-to-peer-reads") == 0)
			set_level(json_array_get(json_object_get(json, "cells"), 1), 9);
		for (int k = 0; k < 2 && rows[i].fact[k].path; k++)
			set_fact(json, rows[i].fact[k].path, rows[i].fact[k].value);
		if (!explained(json, rows[i].id, rows[i].words))
			fail_msg("row %zu: no line of %s with '%s'", i, rows[i].id, rows[i].words);
	}
}

static void test_the_pcie_mapping_is_in_the_evidence(void **state)
{
	json_t *json = load(), *facts, *fact;
	size_t i;

	(void)state;
	set_levels(json, 47, 20);
	set_fact(json, "client.gpu.host_page_tables", "true");
	for (int c = 0; c < 2; c++) {
		facts = json_object_get(json_array_get(json_object_get(json, "cells"), (size_t)c),
					"evidence");
		json_array_foreach (facts, i, fact)
			if (strcmp(json_string_value(json_object_get(fact, "fact")), "export") == 0)
				json_object_set_new(
					fact, "value",
					json_string("8388608 bytes as fd 9, PCIe mapping"));
	}
	assert_false(explained(json, "coherent-mapping", ""));
}

static void test_what_the_record_lacks_keeps_rules_silent(void **state)
{
	static const char *const rules[] = {"iommu-translating", "acs-redirect", "gpu-link",
					    "coherent-mapping",	 "mtu",		 "roce-v1"};

	(void)state;
	for (size_t i = 0; i < COUNT(rules); i++) {
		json_t *json = load();

		set_levels(json, 47, 20);
		assert_false(explained(json, rules[i], ""));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_fact_reaches_its_rule),
		cmocka_unit_test(test_the_pcie_mapping_is_in_the_evidence),
		cmocka_unit_test(test_what_the_record_lacks_keeps_rules_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
