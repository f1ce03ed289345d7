/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_compare: which cells match, what selections leave out, which unit counts, what refuses, and
 * what a gate lets pass; on records made here, with figures that leave no doubt.
 */
#include "compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct gp_compare_ask usual = {.ab = {GP_MIN_EFFECT, GP_CONFIDENCE}};

static void add_cell(struct gp_record *record, const char *path, uint64_t size, double level)
{
	static struct gp_cell cells[8];
	struct gp_cell *cell = &cells[record->n_cells];

	*cell = (struct gp_cell){.size = size, .qps = 1, .tx_depth = 8, .verdict = GP_PROVEN};
	strcpy(cell->path, path);
	strcpy(cell->op, "write");
	strcpy(cell->placement, "near");
	strcpy(cell->gpu, strcmp(path, "host") == 0 ? "none" : "18:00.0");
	strcpy(cell->server_gpu, cell->gpu);
	strcpy(cell->nic, "mlx5_0:1");
	strcpy(cell->server_nic, "mlx5_0:1");
	for (int i = 0; i < 5 && level > 0; i++)
		gp_cell_add_round(cell, &(struct gp_round_value){
						.gbytes_per_s = level * (1 + 0.001 * (i * 3 % 5))});
	record->cells = cells;
	record->n_cells++;
}

static void drop(struct gp_record *record)
{
	struct gp_cell *cells = record->cells;

	for (int i = 0; i < record->n_cells; i++) {
		free(cells[i].rounds);
		cells[i].rounds = NULL;
	}
	record->cells = NULL; /* not owned here */
	record->n_cells = 0;
	gp_record_free(record);
}

/* A record with these figures; 0: the cell is there without rounds. */
static void make(struct gp_record *record, double dmabuf, double peermem, double host)
{
	*record = (struct gp_record){.tool = "gdrproof t"};
	record->client = json_pack("{s:s s:s s:{s:i}}", "host", "a", "kernel", "6.1", "cuda",
				   "driver", 13000);
	record->command = json_pack("{s:s}", "region", "256M");
	add_cell(record, "dmabuf", 1 << 20, dmabuf);
	add_cell(record, "peermem", 1 << 20, peermem);
	add_cell(record, "host", 1 << 20, host);
}

static void add(struct gp_compare *c, enum gp_compare_side side, double dmabuf, double peermem,
		double host)
{
	struct gp_record record;
	struct gp_error err = {0};

	make(&record, dmabuf, peermem, host);
	assert_int_equal(gp_compare_add(c, side, "r", &record, &err), 0);
	drop(&record);
}

static struct gp_compare *open_one(const struct gp_compare_ask *ask)
{
	struct gp_error err = {0};
	struct gp_compare *c;

	assert_int_equal(gp_compare_open(ask, &c, &err), 0);
	return c;
}

static void test_cells_match_by_id(void **state)
{
	struct gp_compare *c = open_one(&usual);
	struct gp_comparison result;
	struct gp_error err = {0};

	(void)state;
	add(c, GP_BASE, 48, 47, 49);
	add(c, GP_NEW, 48, 40, 60);
	assert_int_equal(gp_compare_finish(c, &result, &err), 0);
	assert_int_equal(result.n_rows, 3);
	assert_string_equal(gp_compare_word(&result.rows[0]), "same");
	assert_string_equal(gp_compare_word(&result.rows[1]), "worse");
	assert_string_equal(gp_compare_word(&result.rows[2]), "better");
	assert_true(fabs(result.rows[1].ab.ratio - 40.0 / 47) < 1e-6);
	assert_int_equal(result.count[GP_AB_WORSE], 1);
	assert_false(gp_compare_passes(&result));
	gp_comparison_free(&result);
	gp_compare_close(c);
}

static void test_vanished_and_new(void **state)
{
	struct gp_compare *c = open_one(&usual);
	struct gp_comparison result;
	struct gp_error err = {0};

	(void)state;
	add(c, GP_BASE, 48, 47, 0);
	add(c, GP_NEW, 48, 0, 49);
	assert_int_equal(gp_compare_finish(c, &result, &err), 0);
	assert_string_equal(gp_compare_word(&result.rows[1]), "vanished");
	assert_string_equal(gp_compare_word(&result.rows[2]), "new");
	assert_int_equal(result.vanished, 1);
	assert_int_equal(result.added, 1);
	assert_false(gp_compare_passes(&result));
	gp_comparison_free(&result);
	gp_compare_close(c);
}

/* A figure whose path is contradicted is none. */
static void test_contradicted_has_vanished(void **state)
{
	struct gp_compare *c = open_one(&usual);
	struct gp_comparison result;
	struct gp_record record;
	struct gp_error err = {0};

	(void)state;
	add(c, GP_BASE, 48, 47, 49);
	make(&record, 48, 47, 49);
	record.cells[0].verdict = GP_CONTRADICTED;
	strcpy(record.cells[0].reason, "exporter: udmabuf");
	assert_int_equal(gp_compare_add(c, GP_NEW, "r", &record, &err), 0);
	drop(&record);
	assert_int_equal(gp_compare_finish(c, &result, &err), 0);
	assert_string_equal(gp_compare_word(&result.rows[0]), "vanished");
	assert_non_null(strstr(result.rows[0].note, "exporter: udmabuf"));
	gp_comparison_free(&result);
	gp_compare_close(c);
}

static void test_selections_inside_one_record(void **state)
{
	struct gp_compare_ask ask = usual;
	struct gp_comparison result;
	struct gp_error err = {0};
	struct gp_compare *c;

	(void)state;
	ask.within = true;
	assert_int_equal(gp_selection_read("path=peermem", &ask.pick[0], &err), 0);
	assert_int_equal(gp_selection_read("path=dmabuf,size=1M,qps=1", &ask.pick[1], &err), 0);
	c = open_one(&ask);
	add(c, GP_BASE, 48, 40, 49);
	assert_int_equal(gp_compare_finish(c, &result, &err), 0);
	assert_int_equal(result.n_rows, 1);
	assert_int_equal(result.count[GP_AB_BETTER], 1);
	assert_true(fabs(result.rows[0].ab.ratio - 48.0 / 40) < 1e-9); /* rounds are paired */
	assert_true(result.rows[0].ab.hi - result.rows[0].ab.lo < 1e-9);
	gp_comparison_free(&result);
	gp_compare_close(c);
}

/* host has no GPU: the GPUs' names are no reason not to match. */
static void test_selection_of_host(void **state)
{
	struct gp_compare_ask ask = usual;
	struct gp_comparison result;
	struct gp_error err = {0};
	struct gp_compare *c;

	(void)state;
	ask.within = true;
	assert_int_equal(gp_selection_read("path=host", &ask.pick[0], &err), 0);
	assert_int_equal(gp_selection_read("path=dmabuf", &ask.pick[1], &err), 0);
	c = open_one(&ask);
	add(c, GP_BASE, 48, 40, 49);
	assert_int_equal(gp_compare_finish(c, &result, &err), 0);
	assert_int_equal(result.n_rows, 1);
	assert_int_equal(result.rows[0].kind, GP_ROW_COMPARED);
	gp_comparison_free(&result);
	gp_compare_close(c);
}

static void test_selection_that_is_ambiguous_or_wrong(void **state)
{
	static const char *const wrong[] = {"path", "speed=1", "=x", "path=a,", "path=a,b"};
	struct gp_compare_ask ask = usual;
	struct gp_error err = {0};
	struct gp_selection s;
	struct gp_record record;
	struct gp_compare *c;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		err = (struct gp_error){0};
		if (i == 3) /* a comma at the end is let pass */
			assert_int_equal(gp_selection_read(wrong[i], &s, &err), 0);
		else
			assert_int_equal(gp_selection_read(wrong[i], &s, &err), -1);
	}
	err = (struct gp_error){0};
	ask.within = true;
	assert_int_equal(gp_selection_read("placement=near", &ask.pick[0], &err), 0);
	assert_int_equal(gp_selection_read("placement=far", &ask.pick[1], &err), 0);
	c = open_one(&ask);
	make(&record, 48, 47, 49);
	add_cell(&record, "dmabuf", 1 << 20, 40); /* the same but for the device, which is masked */
	strcpy(record.cells[3].nic, "mlx5_1:1");
	assert_int_equal(gp_compare_add(c, GP_BASE, "r", &record, &err), -1);
	assert_int_equal(err.exit_code, GP_EXIT_USAGE);
	assert_non_null(strstr(err.fact, "two cells"));
	drop(&record);
	gp_compare_close(c);
}

static void test_from_three_records_on_a_record_is_one_value(void **state)
{
	struct gp_compare *c = open_one(&usual);
	struct gp_comparison result;
	struct gp_error err = {0};

	(void)state;
	/* Within a run nothing moves; from run to run 10 % do: one run 5 % lower says nothing. */
	add(c, GP_BASE, 50, 47, 49);
	add(c, GP_BASE, 45, 47, 49);
	add(c, GP_BASE, 55, 47, 49);
	add(c, GP_NEW, 47.5, 40, 49);
	assert_int_equal(gp_compare_finish(c, &result, &err), 0);
	assert_true(result.rows[0].by_record);
	assert_int_equal(result.rows[0].ab.n_a, 3);
	assert_int_equal(result.rows[0].ab.n_b, 1);
	assert_string_equal(gp_compare_word(&result.rows[0]), "unclear");
	assert_string_equal(gp_compare_word(&result.rows[1]), "worse");
	assert_string_equal(gp_compare_word(&result.rows[2]), "same");
	gp_comparison_free(&result);
	gp_compare_close(c);
}

/* Forty rounds that fall by 20 %: their median is that of the base, and its interval is narrow. */
static void test_a_level_that_moves_is_not_the_same(void **state)
{
	struct gp_compare *c = open_one(&(struct gp_compare_ask){.ab = {0.08, GP_CONFIDENCE}});
	struct gp_comparison result;
	struct gp_record record;
	struct gp_error err = {0};

	(void)state;
	add(c, GP_BASE, 48, 47, 49);
	make(&record, 48, 47, 49);
	record.cells[0].n_rounds = 0;
	for (int i = 0; i < 40; i++)
		gp_cell_add_round(&record.cells[0],
				  &(struct gp_round_value){.gbytes_per_s = 53 - i * 0.25});
	assert_int_equal(gp_compare_add(c, GP_NEW, "r", &record, &err), 0);
	drop(&record);
	assert_int_equal(gp_compare_finish(c, &result, &err), 0);
	assert_true(result.rows[0].ab.lo > 0.95 && result.rows[0].ab.hi < 1.05);
	assert_string_equal(gp_compare_word(&result.rows[0]), "unclear");
	assert_non_null(strstr(result.rows[0].note, "new: drifts by -"));
	assert_string_equal(result.rows[1].note, "");
	gp_comparison_free(&result);
	gp_compare_close(c);
}

static void test_other_surroundings_refuse(void **state)
{
	struct gp_compare_ask ask = usual;

	(void)state;
	for (int force = 0; force < 2; force++) {
		struct gp_comparison result = {0};
		struct gp_record record;
		struct gp_error err = {0};
		struct gp_compare *c;

		ask.force = force;
		c = open_one(&ask);
		add(c, GP_BASE, 48, 47, 49);
		make(&record, 48, 47, 49);
		json_object_set_new(record.client, "kernel", json_string("6.12"));
		json_object_set_new(record.client, "host", json_string("b"));
		assert_int_equal(gp_compare_add(c, GP_NEW, "r", &record, &err), 0);
		drop(&record);
		assert_int_equal(gp_compare_finish(c, &result, &err), force ? 0 : -1);
		if (force) {
			assert_int_equal(result.n_differences, 2);
			assert_int_equal(result.n_rows, 3);
		} else {
			assert_int_equal(err.exit_code, GP_EXIT_USAGE);
			assert_non_null(strstr(err.fact, "client kernel is '6.1' and '6.12'"));
			assert_non_null(strstr(err.advice, "--force"));
		}
		gp_comparison_free(&result);
		gp_compare_close(c);
	}
}

/* The host's name alone, and what only one of them tells, refuse nothing. */
static void test_other_host_does_not_refuse(void **state)
{
	struct gp_compare *c = open_one(&usual);
	struct gp_comparison result;
	struct gp_record record;
	struct gp_error err = {0};

	(void)state;
	add(c, GP_BASE, 48, 47, 49);
	make(&record, 48, 47, 49);
	json_object_set_new(record.client, "host", json_string("b"));
	json_object_set_new(record.client, "driver", json_string("570"));
	json_object_del(record.client, "kernel");
	assert_int_equal(gp_compare_add(c, GP_NEW, "r", &record, &err), 0);
	drop(&record);
	assert_int_equal(gp_compare_finish(c, &result, &err), 0);
	assert_int_equal(result.n_differences, 1);
	assert_string_equal(result.differences[0].what, "client host");
	gp_comparison_free(&result);
	gp_compare_close(c);
}

static void test_nothing_measured_is_an_error(void **state)
{
	struct gp_compare *c = open_one(&usual);
	struct gp_comparison result;
	struct gp_error err = {0};

	(void)state;
	add(c, GP_BASE, 0, 0, 0);
	add(c, GP_NEW, 48, 47, 49);
	assert_int_equal(gp_compare_finish(c, &result, &err), -1);
	assert_int_equal(err.exit_code, GP_EXIT_USAGE);
	gp_comparison_free(&result);
	gp_compare_close(c);
	gp_compare_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells_match_by_id),
		cmocka_unit_test(test_vanished_and_new),
		cmocka_unit_test(test_contradicted_has_vanished),
		cmocka_unit_test(test_selections_inside_one_record),
		cmocka_unit_test(test_selection_of_host),
		cmocka_unit_test(test_selection_that_is_ambiguous_or_wrong),
		cmocka_unit_test(test_from_three_records_on_a_record_is_one_value),
		cmocka_unit_test(test_a_level_that_moves_is_not_the_same),
		cmocka_unit_test(test_other_surroundings_refuse),
		cmocka_unit_test(test_other_host_does_not_refuse),
		cmocka_unit_test(test_nothing_measured_is_an_error),
	};

	return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
