/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_evidence: the verdict as a fold over facts and needs, row by row; facts as JSON, also such
 * as a hostile peer would send.
 */
#include "evidence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define YES	 GP_SUPPORT_YES
#define NO	 GP_SUPPORT_NO
#define UNKNOWN	 GP_SUPPORT_UNKNOWN

/* A fact in a row of a table; a row ends where the name is missing. */
struct brief {
	const char *name;
	enum gp_side side;
	enum gp_support supports;
};

static void add_all(struct gp_facts *facts, const struct brief *brief)
{
	for (; brief->name; brief++)
		gp_fact_add(facts, brief->name, brief->side, "source", brief->supports,
			    "value of %s", brief->name);
}

static const struct gp_need needs[] = {
	{"registration", GP_AT_EACH_SIDE},
	{"pointer", GP_AT_EACH_GPU},
	{"data", GP_AT_EACH_SINK},
	{0},
};

#define ALL_CLIENT                        \
	{"registration", GP_CLIENT, YES}, \
	{                                 \
		"pointer", GP_CLIENT, YES \
	}
#define ALL_SERVER                                                     \
	{"registration", GP_SERVER, YES}, {"pointer", GP_SERVER, YES}, \
	{                                                              \
		"data", GP_SERVER, YES                                 \
	}

/* Data goes from a GPU in the client to one in the server. */
static const struct gp_scene write_scene = {.gpu = {true, true}, .sink = {false, true}};

static void test_verdict_folds_facts_over_needs(void **state)
{
	static const struct {
		struct brief facts[8];
		struct gp_scene scene;
		enum gp_verdict verdict;
		const char *reason; /* all of it */
	} rows[] = {
		{{ALL_CLIENT, ALL_SERVER}, {{true, true}, {false, true}}, GP_PROVEN, ""},
		{{ALL_SERVER, ALL_CLIENT}, {{true, true}, {false, true}}, GP_PROVEN, ""},
		/* each need missing in turn */
		{{{"pointer", GP_CLIENT, YES}, ALL_SERVER},
		 {{true, true}, {false, true}},
		 GP_UNPROVEN,
		 "client registration: not known"},
		{{{"registration", GP_CLIENT, YES}, ALL_SERVER},
		 {{true, true}, {false, true}},
		 GP_UNPROVEN,
		 "client pointer: not known"},
		{{ALL_CLIENT, {"registration", GP_SERVER, YES}, {"pointer", GP_SERVER, YES}},
		 {{true, true}, {false, true}},
		 GP_UNPROVEN,
		 "server data: not known"},
		{{ALL_CLIENT, {"data", GP_SERVER, YES}, {"pointer", GP_SERVER, YES}},
		 {{true, true}, {false, true}},
		 GP_UNPROVEN,
		 "server registration: not known"},
		/* there, and unknown: its value is the reason */
		{{ALL_CLIENT,
		  {"registration", GP_SERVER, YES},
		  {"pointer", GP_SERVER, YES},
		  {"data", GP_SERVER, UNKNOWN}},
		 {{true, true}, {false, true}},
		 GP_UNPROVEN,
		 "server data: value of data"},
		/* on the wrong side */
		{{ALL_CLIENT,
		  {"data", GP_CLIENT, YES},
		  {"registration", GP_SERVER, YES},
		  {"pointer", GP_SERVER, YES}},
		 {{true, true}, {false, true}},
		 GP_UNPROVEN,
		 "server data: not known"},
		/* needed only where the scene has a GPU, and where data arrives */
		{{{"registration", GP_CLIENT, YES}, ALL_SERVER},
		 {{false, true}, {false, true}},
		 GP_PROVEN,
		 ""},
		{{ALL_CLIENT, {"data", GP_CLIENT, YES}, {"registration", GP_SERVER, YES}},
		 {{true, false}, {true, false}},
		 GP_PROVEN,
		 ""},
		{{ALL_CLIENT, ALL_SERVER},
		 {{true, true}, {true, true}},
		 GP_UNPROVEN,
		 "client data: not known"},
		/* several missing: all are named */
		{{{0}},
		 {{false, false}, {false, false}},
		 GP_UNPROVEN,
		 "client registration: not known; server registration: not known"},
		/* one "no" outweighs everything, also where nobody needs the fact */
		{{ALL_CLIENT, ALL_SERVER, {"port-sent", GP_CLIENT, NO}},
		 {{true, true}, {false, true}},
		 GP_CONTRADICTED,
		 "client port-sent: value of port-sent"},
		{{{"data", GP_SERVER, NO}},
		 {{true, true}, {false, true}},
		 GP_CONTRADICTED,
		 "server data: value of data"},
		{{ALL_CLIENT, {"a", GP_CLIENT, NO}, {"b", GP_SERVER, NO}},
		 {{true, true}, {false, true}},
		 GP_CONTRADICTED,
		 "client a: value of a; server b: value of b"},
		/* unknown facts that nobody needs change nothing */
		{{ALL_CLIENT, ALL_SERVER, {"port-sent", GP_CLIENT, UNKNOWN}},
		 {{true, true}, {false, true}},
		 GP_PROVEN,
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_facts facts = {0};
		char reason[300] = "left over";
		enum gp_verdict verdict;

		add_all(&facts, rows[i].facts);
		verdict =
			gp_evidence_verdict(&facts, needs, &rows[i].scene, reason, sizeof(reason));
		if (verdict != rows[i].verdict || strcmp(reason, rows[i].reason) != 0)
			print_error("row %zu: %s: %s\n", i, gp_verdict_name(verdict), reason);
		assert_int_equal(verdict, rows[i].verdict);
		assert_string_equal(reason, rows[i].reason);
		assert_int_equal(gp_evidence_verdict(&facts, needs, &rows[i].scene, NULL, 0),
				 verdict);
	}
}

static void test_no_needs_and_no_facts_is_proven(void **state)
{
	static const struct gp_need none[] = {{0}};
	struct gp_facts facts = {0};

	(void)state;
	assert_int_equal(gp_evidence_verdict(&facts, none, &write_scene, NULL, 0), GP_PROVEN);
}

/* A fact may be stated twice, from two sources: one of them that says yes is enough. */
static void test_any_yes_of_a_name_meets_the_need(void **state)
{
	static const struct brief unknown_first[] = {
		ALL_CLIENT, {"data", GP_SERVER, UNKNOWN}, ALL_SERVER, {0}};
	static const struct brief yes_first[] = {
		ALL_CLIENT, ALL_SERVER, {"data", GP_SERVER, UNKNOWN}, {0}};
	struct gp_facts facts = {0};

	(void)state;
	add_all(&facts, yes_first);
	assert_int_equal(gp_evidence_verdict(&facts, needs, &write_scene, NULL, 0), GP_PROVEN);
	facts.n = 0;
	add_all(&facts, unknown_first);
	assert_int_equal(gp_evidence_verdict(&facts, needs, &write_scene, NULL, 0), GP_PROVEN);
}

static void test_reason_is_cut_to_fit(void **state)
{
	struct gp_facts facts = {0};
	char reason[40];

	(void)state;
	for (int i = 0; i < 30; i++)
		gp_fact_add(&facts, "a-rather-long-name", GP_SERVER, "s", NO, "%0100d", i);
	memset(reason, 'x', sizeof(reason));
	assert_int_equal(gp_evidence_verdict(&facts, needs, &write_scene, reason, 20),
			 GP_CONTRADICTED);
	assert_int_equal(strlen(reason), 19);
	assert_int_equal(reason[20], 'x');
}

static void test_fact_texts_are_cut_to_fit(void **state)
{
	struct gp_facts facts = {0};
	char big[500];

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	gp_fact_add(&facts, big, GP_SERVER, big, YES, "%s", big);
	assert_int_equal(facts.n, 1);
	assert_int_equal(strlen(facts.fact[0].name), sizeof(facts.fact[0].name) - 1);
	assert_int_equal(strlen(facts.fact[0].source), sizeof(facts.fact[0].source) - 1);
	assert_int_equal(strlen(facts.fact[0].value), sizeof(facts.fact[0].value) - 1);
	assert_int_equal(facts.fact[0].side, GP_SERVER);
	assert_int_equal(facts.fact[0].supports, YES);
}

static void test_a_full_list_takes_no_more(void **state)
{
	struct gp_facts facts = {0}, more = {0};

	(void)state;
	for (int i = 0; i < GP_FACTS_MAX + 5; i++)
		gp_fact_add(&facts, "f", GP_CLIENT, "s", YES, "%d", i);
	assert_int_equal(facts.n, GP_FACTS_MAX);
	gp_fact_add(&more, "g", GP_CLIENT, "s", YES, "v");
	gp_facts_append(&facts, &more);
	assert_int_equal(facts.n, GP_FACTS_MAX);
	assert_string_equal(facts.fact[GP_FACTS_MAX - 1].name, "f");
}

static void test_append_keeps_order(void **state)
{
	static const struct brief first[] = {{"a", GP_CLIENT, YES}, {0}};
	static const struct brief second[] = {{"b", GP_SERVER, NO}, {"c", GP_CLIENT, YES}, {0}};
	struct gp_facts facts = {0}, more = {0};

	(void)state;
	add_all(&facts, first);
	add_all(&more, second);
	gp_facts_append(&facts, &more);
	assert_int_equal(facts.n, 3);
	assert_string_equal(facts.fact[0].name, "a");
	assert_string_equal(facts.fact[1].name, "b");
	assert_int_equal(facts.fact[1].supports, NO);
	assert_string_equal(facts.fact[2].name, "c");
}

static void test_verdict_names_read_back(void **state)
{
	static const enum gp_verdict all[] = {GP_UNPROVEN, GP_PROVEN, GP_CONTRADICTED,
					      GP_UNAVAILABLE};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		enum gp_verdict back = all[(i + 1) % COUNT(all)];

		assert_int_equal(gp_verdict_read(gp_verdict_name(all[i]), &back), 0);
		assert_int_equal(back, all[i]);
		assert_true(gp_verdict_text(all[i])[0]);
	}
	assert_string_equal(gp_verdict_name(GP_PROVEN), "proven");
	assert_string_equal(gp_verdict_name(GP_CONTRADICTED), "contradicted");
	assert_int_equal(gp_verdict_read("Proven", &(enum gp_verdict){0}), -1);
	assert_int_equal(gp_verdict_read("", &(enum gp_verdict){0}), -1);
}

static void test_json_keeps_every_fact(void **state)
{
	static const struct brief brief[] = {{"registration", GP_CLIENT, YES},
					     {"data", GP_SERVER, NO},
					     {"port-sent", GP_CLIENT, UNKNOWN},
					     {0}};
	struct gp_facts facts = {0}, back = {.n = 7};
	json_t *json, *third;

	(void)state;
	add_all(&facts, brief);
	json = gp_facts_to_json(&facts);
	assert_int_equal(json_array_size(json), 3);
	third = json_array_get(json, 2);
	assert_string_equal(json_string_value(json_object_get(third, "side")), "client");
	assert_true(json_is_null(json_object_get(third, "supports")));
	assert_true(json_is_false(json_object_get(json_array_get(json, 1), "supports")));
	assert_int_equal(gp_facts_from_json(json, &back), 0);
	json_decref(json);
	assert_int_equal(back.n, facts.n);
	for (int i = 0; i < facts.n; i++) {
		assert_string_equal(back.fact[i].name, facts.fact[i].name);
		assert_string_equal(back.fact[i].source, facts.fact[i].source);
		assert_string_equal(back.fact[i].value, facts.fact[i].value);
		assert_int_equal(back.fact[i].side, facts.fact[i].side);
		assert_int_equal(back.fact[i].supports, facts.fact[i].supports);
	}
}

#define FACT(side, source, value) \
	"{\"fact\": \"f\", \"side\": " side ", \"source\": " source ", \"value\": " value "}"

static void test_json_from_a_peer_is_bounded(void **state)
{
	static const struct {
		const char *json;
		int rc, n;
	} rows[] = {
		{"{}", -1, 0},
		{"null", -1, 0},
		{"\"proven\"", -1, 0},
		{"[]", 0, 0},
		{"[1]", -1, 0},
		{"[[]]", -1, 0},
		{"[{}]", -1, 0},
		{"[" FACT("\"client\"", "\"s\"", "\"v\"") "]", 0, 1},
		{"[" FACT("\"middle\"", "\"s\"", "\"v\"") "]", -1, 0},
		{"[" FACT("1", "\"s\"", "\"v\"") "]", -1, 0},
		{"[" FACT("\"server\"", "null", "\"v\"") "]", -1, 0},
		{"[" FACT("\"server\"", "\"s\"", "{}") "]", -1, 0},
		{"[" FACT("\"server\"", "\"s\"", "\"%s%n\"") "]", 0, 1},
		{"[{\"side\": \"client\", \"source\": \"s\", \"value\": \"v\"}]", -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *json = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
		struct gp_facts facts = {0};

		assert_non_null(json);
		assert_int_equal(gp_facts_from_json(json, &facts), rows[i].rc);
		if (rows[i].rc == 0)
			assert_int_equal(facts.n, rows[i].n);
		json_decref(json);
	}
	assert_int_equal(gp_facts_from_json(NULL, &(struct gp_facts){0}), -1);
}

/* Only the words true and false say something; all else is unknown, never false and never true. */
static void test_json_supports_is_true_false_or_unknown(void **state)
{
	static const struct {
		const char *supports;
		enum gp_support value;
	} rows[] = {
		{"true", YES},	{"false", NO},	      {"null", UNKNOWN}, {"1", UNKNOWN},
		{"0", UNKNOWN}, {"\"yes\"", UNKNOWN}, {"[]", UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *json = json_pack("[{s:s s:s s:s s:s s:o}]", "fact", "f", "side", "server",
					 "source", "s", "value", "v", "supports",
					 json_loads(rows[i].supports, JSON_DECODE_ANY, NULL));
		struct gp_facts facts = {0};

		assert_int_equal(gp_facts_from_json(json, &facts), 0);
		assert_int_equal(facts.fact[0].supports, rows[i].value);
		json_decref(json);
	}
}

static void test_json_with_too_many_facts_is_cut(void **state)
{
	json_t *json = json_array();
	struct gp_facts facts = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		json_array_append_new(json, json_pack("{s:s s:s s:s s:s}", "fact", "f", "side",
						      "client", "source", "s", "value", "v"));
	assert_int_equal(gp_facts_from_json(json, &facts), 0);
	assert_int_equal(facts.n, GP_FACTS_MAX);
	json_decref(json);
}

/* Values are printed to a terminal: a peer must not be able to move its cursor. */
static void test_json_texts_from_a_peer_are_cleaned(void **state)
{
	json_t *json = json_pack("[{s:s s:s s:s s:s}]", "fact", "a\033b", "side", "server",
				 "source", "c\nd", "value", "\033[2Jproven\r\177");
	struct gp_facts facts = {0};

	(void)state;
	assert_int_equal(gp_facts_from_json(json, &facts), 0);
	json_decref(json);
	assert_null(strpbrk(facts.fact[0].name, "\n\r\033\177"));
	assert_null(strpbrk(facts.fact[0].source, "\n\r\033\177"));
	assert_null(strpbrk(facts.fact[0].value, "\n\r\033\177"));
}

/* What was read from a device or a file may be no UTF-8, and may be cut within a character. */
static void test_json_loses_no_fact_for_its_text(void **state)
{
	struct gp_facts facts = {0};
	char big[400];
	json_t *json;

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(big); i += 2)
		memcpy(big + i, "\xc3\xa4", 3);
	gp_fact_add(&facts, "odd", GP_CLIENT, "s", NO, "na\xefve");
	gp_fact_add(&facts, "cut", GP_CLIENT, "s", NO, "%s", big);
	json = gp_facts_to_json(&facts);
	assert_int_equal(json_array_size(json), 2);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdict_folds_facts_over_needs),
		cmocka_unit_test(test_no_needs_and_no_facts_is_proven),
		cmocka_unit_test(test_any_yes_of_a_name_meets_the_need),
		cmocka_unit_test(test_reason_is_cut_to_fit),
		cmocka_unit_test(test_fact_texts_are_cut_to_fit),
		cmocka_unit_test(test_a_full_list_takes_no_more),
		cmocka_unit_test(test_append_keeps_order),
		cmocka_unit_test(test_verdict_names_read_back),
		cmocka_unit_test(test_json_keeps_every_fact),
		cmocka_unit_test(test_json_from_a_peer_is_bounded),
		cmocka_unit_test(test_json_supports_is_true_false_or_unknown),
		cmocka_unit_test(test_json_with_too_many_facts_is_cut),
		cmocka_unit_test(test_json_texts_from_a_peer_are_cleaned),
		cmocka_unit_test(test_json_loses_no_fact_for_its_text),
	};

	return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
