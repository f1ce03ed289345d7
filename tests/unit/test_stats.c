/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stats: median, extremes and interval against known values; the same input gives the same
 * output to the last bit.
 */
#include "stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void same(double got, double want)
{
	if (got != want)
		print_error("expected %.17g, got %.17g\n", want, got);
	assert_true(got == want);
}

/* Values with a shape: n of them around `mid`, from a constant generator. */
static void make_values(double *values, int n, double mid, unsigned seed)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 1103515245u + 12345u;
		values[i] = mid + (double)(seed >> 16 & 0x3ff) / 1024;
	}
}

static void test_median(void **state)
{
	static const struct {
		int n;
		double values[6], median;
	} rows[] = {
		{1, {7}, 7},		     {2, {1, 2}, 1.5},	       {3, {3, 1, 2}, 2},
		{4, {4, 1, 3, 2}, 2.5},	     {5, {5, 5, 1, 9, 9}, 5}, {5, {-1, -2, -3, -4, -5}, -3},
		{6, {1, 1, 1, 9, 9, 9}, 5},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		double copy[6];

		memcpy(copy, rows[i].values, sizeof(copy));
		same(gp_median(copy, rows[i].n), rows[i].median);
		assert_memory_equal(copy, rows[i].values, sizeof(copy)); /* input is left alone */
	}
}

static void test_summary(void **state)
{
	static const double values[] = {48.6, 48.9, 48.1, 48.7, 48.8};
	struct gp_summary s = gp_summarize(values, 5);

	(void)state;
	same(s.median, 48.7);
	same(s.min, 48.1);
	same(s.max, 48.9);
	assert_true(s.lo >= 48.1 && s.lo <= 48.7);
	assert_true(s.hi >= 48.7 && s.hi <= 48.9);
	assert_true(s.lo < s.hi);
}

static void test_nothing_is_known_of_nothing(void **state)
{
	struct gp_summary s = gp_summarize(NULL, 0);

	(void)state;
	assert_true(isnan(s.median) && isnan(s.min) && isnan(s.max));
	assert_true(isnan(s.lo) && isnan(s.hi));
}

static void test_no_interval_below_three_values(void **state)
{
	static const double values[] = {2, 1, 3};
	struct gp_summary s;

	(void)state;
	for (int n = 1; n < 3; n++) {
		s = gp_summarize(values, n);
		assert_false(isnan(s.median));
		same(s.max, 2);
		assert_true(isnan(s.lo) && isnan(s.hi));
	}
	s = gp_summarize(values, 3);
	assert_false(isnan(s.lo) || isnan(s.hi));
}

static void test_equal_values_have_no_spread(void **state)
{
	static const double values[] = {3.5, 3.5, 3.5, 3.5};
	struct gp_summary s = gp_summarize(values, 4);

	(void)state;
	same(s.lo, 3.5);
	same(s.median, 3.5);
	same(s.hi, 3.5);
}

static void test_interval_holds_the_median_and_lies_within(void **state)
{
	double values[GP_ROUNDS_MAX];

	(void)state;
	for (int n = 3; n < 60; n++) {
		struct gp_summary s;

		make_values(values, n, n, (unsigned)n);
		s = gp_summarize(values, n);
		assert_true(s.min <= s.lo && s.lo <= s.median);
		assert_true(s.median <= s.hi && s.hi <= s.max);
	}
}

/* 95 % of the median of n uniform values is about 2 * 1.96 * 0.5 / sqrt(n) wide. */
static void test_interval_narrows_with_the_rounds(void **state)
{
	double values[GP_ROUNDS_MAX];
	struct gp_summary s;

	(void)state;
	make_values(values, GP_ROUNDS_MAX, 10, 1);
	s = gp_summarize(values, 100);
	assert_true(s.hi - s.lo > 0.08 && s.hi - s.lo < 0.4);
	s = gp_summarize(values, GP_ROUNDS_MAX);
	assert_true(s.hi - s.lo > 0.02 && s.hi - s.lo < 0.13);
	same(gp_median(values, GP_ROUNDS_MAX), s.median);
}

static void test_same_input_same_output(void **state)
{
	double values[50];
	struct gp_summary a, b;

	(void)state;
	make_values(values, 50, 20, 9);
	a = gp_summarize(values, 50);
	gp_summarize(values, 20); /* no state is kept between calls */
	b = gp_summarize(values, 50);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void test_ratio_is_of_pairs(void **state)
{
	/* Both drift upwards together: the ratio of each pair is 2, that of the medians not. */
	static const double a[] = {2, 4, 60, 8, 10}, b[] = {1, 2, 30, 4, 5};
	static const double c[] = {3, 6, 2}, d[] = {1, 1, 4};
	struct gp_summary s = gp_summarize_ratio(a, b, 5);

	(void)state;
	same(s.median, 2);
	same(s.lo, 2);
	same(s.hi, 2);
	s = gp_summarize_ratio(c, d, 3);
	same(s.median, 3);
	same(s.min, 0.5);
	same(s.max, 6);
	s = gp_summarize_ratio(a, b, 0);
	assert_true(isnan(s.median));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_nothing_is_known_of_nothing),
		cmocka_unit_test(test_no_interval_below_three_values),
		cmocka_unit_test(test_equal_values_have_no_spread),
		cmocka_unit_test(test_interval_holds_the_median_and_lies_within),
		cmocka_unit_test(test_interval_narrows_with_the_rounds),
		cmocka_unit_test(test_same_input_same_output),
		cmocka_unit_test(test_ratio_is_of_pairs),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
