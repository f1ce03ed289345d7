/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stats: median, extremes and interval against known values; the same input gives the same
 * output to the last bit; A against B and the findings of standing still on simulated rounds, whose
 * false alarms and power are measured and printed.
 */
#include "stats.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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
		{1, {7}, 7},
		{2, {1, 2}, 1.5},
		{3, {3, 1, 2}, 2},
		{4, {4, 1, 3, 2}, 2.5},
		{5, {5, 5, 1, 9, 9}, 5},
		{5, {-1, -2, -3, -4, -5}, -3},
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

/* --- A against B, on simulated rounds --- */

static const struct gp_ab_ask usual = {GP_MIN_EFFECT, GP_CONFIDENCE};

static double uniform(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

/* Standard normal (Box and Muller); with `tail`, one in ten is five times as far out. */
static double noise(uint64_t *state, bool tail)
{
	double z = sqrt(-2 * log(uniform(state))) * cos(2 * M_PI * uniform(state));

	return tail && uniform(state) < 0.1 ? 5 * z : z;
}

static void make_rounds(double *values, int n, double level, double sd, bool tail, uint64_t *state)
{
	for (int i = 0; i < n; i++)
		values[i] = level * exp(sd * noise(state, tail));
}

struct tally {
	int by[4]; /* verdicts */
};

/* `times` comparisons of n rounds a side; B is `shift` times A. */
static struct tally simulate(int times, int n, double sd, bool tail, double shift, bool paired)
{
	struct tally tally = {{0}};
	uint64_t state = 42;

	for (int t = 0; t < times; t++) {
		double a[50], b[50];
		struct gp_ab ab;

		make_rounds(a, n, 40, sd, tail, &state);
		make_rounds(b, n, 40 * shift, sd, tail, &state);
		ab = paired ? gp_ab_paired(a, b, n, &usual) : gp_ab_sides(a, n, b, n, &usual);
		tally.by[ab.verdict]++;
	}
	return tally;
}

static double alarms(const struct tally *t, int times)
{
	return 100.0 * (t->by[GP_AB_BETTER] + t->by[GP_AB_WORSE]) / times;
}

static void test_false_alarms(void **state)
{
	static const struct {
		int times, n;
		double sd;
		bool tail, paired;
	} rows[] = {
		{10000, 5, 0.01, false, true}, {10000, 5, 0.01, false, false},
		{1000, 3, 0.05, false, true},  {1000, 5, 0.05, false, true},
		{1000, 7, 0.10, false, true},  {1000, 10, 0.10, false, true},
		{1000, 30, 0.10, false, true}, {1000, 3, 0.05, false, false},
		{1000, 5, 0.05, false, false}, {1000, 10, 0.10, false, false},
		{1000, 5, 0.05, true, true},   {1000, 10, 0.05, true, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct tally t = simulate(rows[i].times, rows[i].n, rows[i].sd, rows[i].tail, 1,
					  rows[i].paired);
		double rate = alarms(&t, rows[i].times);

		print_message("# A/A, %2d rounds, noise %4.1f %%%s, %s: %.2f %% false alarms, "
			      "%.1f %% same, %d comparisons\n",
			      rows[i].n, rows[i].sd * 100, rows[i].tail ? " with outliers" : "",
			      rows[i].paired ? "paired" : "two runs", rate,
			      100.0 * t.by[GP_AB_SAME] / rows[i].times, rows[i].times);
		/* the small runs are allowed the chance of their own counting */
		assert_true(rate <= (rows[i].times == 10000 ? 5 : 6.8));
	}
}

static void test_power(void **state)
{
	struct tally drop = simulate(2000, 5, 0.01, false, 0.97, true);
	struct tally rise = simulate(2000, 5, 0.01, false, 1.05, true);
	struct tally big = simulate(2000, 5, 0.01, false, 0.90, true);

	(void)state;
	print_message("# a 3 %% drop at 5 rounds of 1 %% noise: worse in %.1f %%, same in %.1f %%, "
		      "unclear in %.1f %%\n",
		      drop.by[GP_AB_WORSE] / 20.0, drop.by[GP_AB_SAME] / 20.0,
		      drop.by[GP_AB_UNCLEAR] / 20.0);
	assert_true(drop.by[GP_AB_WORSE] > 1500);
	assert_true(drop.by[GP_AB_SAME] < 20);
	assert_int_equal(drop.by[GP_AB_BETTER], 0);
	assert_true(rise.by[GP_AB_BETTER] > 1850);
	assert_true(big.by[GP_AB_WORSE] > 1990);
}

/* Taking the rounds that `more` asks for settles most of what was unclear. */
static void test_more_rounds_settle_it(void **state)
{
	int unclear = 0, settled = 0;
	uint64_t seed = 7;

	(void)state;
	for (int t = 0; t < 600; t++) {
		double a[GP_ROUNDS_MAX + 8], b[GP_ROUNDS_MAX + 8];
		double shift = t % 3 == 0 ? 1 : t % 3 == 1 ? 0.96 : 1.03;
		struct gp_ab ab;

		make_rounds(a, GP_ROUNDS_MAX + 5, 40, 0.02, false, &seed);
		make_rounds(b, GP_ROUNDS_MAX + 5, 40 * shift, 0.02, false, &seed);
		ab = gp_ab_paired(a, b, 5, &usual);
		if (ab.verdict != GP_AB_UNCLEAR) {
			assert_int_equal(ab.more, 0);
			continue;
		}
		assert_true(ab.more > 0 || ab.more == -1);
		unclear++;
		if (ab.more < 0)
			continue;
		ab = gp_ab_paired(a, b, 5 + ab.more, &usual);
		settled += ab.verdict != GP_AB_UNCLEAR;
	}
	print_message("# unclear at 5 rounds of 2 %% noise: %d of 600; settled by as many more as "
		      "was said: %d\n",
		      unclear, settled);
	assert_true(unclear > 100 && settled * 2 > unclear);
}

static void test_verdicts_of_clear_cases(void **state)
{
	static const struct {
		const char *what;
		double a[5], b[5];
		enum gp_ab_verdict verdict;
	} rows[] = {
		{"equal", {5, 5, 5, 5, 5}, {5, 5, 5, 5, 5}, GP_AB_SAME},
		{"1 % less, always", {100, 101, 99, 100, 100}, {99, 100, 98, 99, 99}, GP_AB_SAME},
		{"half", {100, 101, 99, 100, 102}, {50, 50.5, 49.5, 50.2, 51}, GP_AB_WORSE},
		{"double", {50, 50.5, 49.5, 50.2, 51}, {100, 101, 99, 100, 102}, GP_AB_BETTER},
		{"wild", {100, 20, 70, 10, 90}, {30, 80, 15, 99, 50}, GP_AB_UNCLEAR},
		{"drift on both alike", {10, 20, 30, 40, 50}, {9, 18, 27, 36.1, 45}, GP_AB_WORSE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_ab ab = gp_ab_paired(rows[i].a, rows[i].b, 5, &usual);

		if (ab.verdict != rows[i].verdict)
			print_error("%s: %s\n", rows[i].what, gp_ab_name(ab.verdict));
		assert_int_equal(ab.verdict, rows[i].verdict);
		assert_int_equal(ab.n_a, 5);
		assert_true(ab.lo <= ab.ratio && ab.ratio <= ab.hi);
		assert_true((ab.more == 0) == (ab.verdict != GP_AB_UNCLEAR));
	}
}

/* Student's interval by hand: logs 0, 0.01, 0.02: mean 0.01, s 0.01, t(2) 4.3027. */
static void test_interval_is_students_where_rounds_are_few(void **state)
{
	const double a[] = {1, 1, 1}, b[] = {1, exp(0.01), exp(0.02)};
	struct gp_ab ab = gp_ab_paired(a, b, 3, &usual);
	double half = 4.30265 * 0.01 / sqrt(3);

	(void)state;
	assert_true(fabs(log(ab.lo) - (0.01 - half)) < 1e-6);
	assert_true(fabs(log(ab.hi) - (0.01 + half)) < 1e-6);
	/* two values: t(1) is 12.706, s is 0.01 * sqrt(2) / 2 */
	ab = gp_ab_paired(a, b, 2, &usual);
	assert_true(fabs(log(ab.hi) - (0.005 + 12.7062 * 0.005)) < 1e-5);
	/* one value on a side varies as the three of the other do */
	ab = gp_ab_sides(b, 3, a, 1, &usual);
	half = 4.30265 * 0.01 * sqrt(1 + 1 / 3.0);
	assert_true(fabs(log(ab.lo) - (-0.01 - half)) < 1e-6);
}

static void test_too_few_to_tell(void **state)
{
	const double one[] = {10}, other[] = {5}, zero[] = {0, 0, 0}, some[] = {3, 4, 5};
	struct gp_ab ab = gp_ab_paired(one, other, 1, &usual);

	(void)state;
	assert_int_equal(ab.verdict, GP_AB_UNCLEAR);
	assert_int_equal(ab.more, 4);
	assert_true(ab.ratio > 0.4999 && ab.ratio < 0.5001 && isnan(ab.lo) && isnan(ab.hi));
	ab = gp_ab_sides(one, 1, other, 1, &usual);
	assert_int_equal(ab.verdict, GP_AB_UNCLEAR);
	ab = gp_ab_paired(zero, some, 3, &usual);
	assert_int_equal(ab.n_a, 0);
	assert_int_equal(ab.verdict, GP_AB_UNCLEAR);
	assert_true(isnan(ab.ratio));
	ab = gp_ab_paired(some, some, 0, &usual);
	assert_int_equal(ab.n_a, 0);
}

static void test_least_effect_and_confidence_are_heeded(void **state)
{
	static const double a[] = {100, 101, 99, 100, 100.5}, b[] = {95, 96, 94.5, 95.1, 95.2};
	struct gp_ab_ask ask = usual;

	(void)state;
	assert_int_equal(gp_ab_paired(a, b, 5, &ask).verdict, GP_AB_WORSE);
	ask.min_effect = 0.10;
	assert_int_equal(gp_ab_paired(a, b, 5, &ask).verdict, GP_AB_SAME);
	ask = usual;
	double narrow = gp_ab_paired(a, b, 5, &ask).hi;

	ask.confidence = 0.999;
	assert_true(gp_ab_paired(a, b, 5, &ask).hi > narrow);
}

/* --- standing still --- */

static int count_findings(int n, double sd, double slope, double step, enum gp_steady kind)
{
	uint64_t state = 5;
	int count = 0;

	for (int t = 0; t < 1000; t++) {
		double v[50];

		make_rounds(v, n, 40, sd, false, &state);
		for (int i = 0; i < n; i++)
			v[i] *= 1 + slope * i / (n - 1) + (i >= n / 2 ? step : 0);
		count += gp_steadiness(v, n, GP_MIN_EFFECT).kind == kind;
	}
	return count;
}

static void test_steadiness(void **state)
{
	static const struct {
		int n;
		double sd, slope, step;
		enum gp_steady kind;
		int least, most; /* of 1000 */
	} rows[] = {
		{5, 0.01, 0, 0, GP_STEADY, 990, 1000},	  {10, 0.01, 0, 0, GP_STEADY, 990, 1000},
		{5, 0.10, 0, 0, GP_DRIFT, 0, 25},	  {10, 0.10, 0, 0, GP_DRIFT, 0, 25},
		{10, 0.10, 0, 0, GP_STEP, 0, 20},	  {20, 0.10, 0, 0, GP_STEP, 0, 20},
		{5, 0.005, -0.2, 0, GP_DRIFT, 950, 1000}, {10, 0.01, -0.2, 0, GP_DRIFT, 900, 1000},
		{10, 0.01, 0, -0.2, GP_STEP, 950, 1000},  {20, 0.01, 0, -0.1, GP_STEP, 950, 1000},
		{50, 0.01, -0.2, 0, GP_DRIFT, 950, 1000},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int got = count_findings(rows[i].n, rows[i].sd, rows[i].slope, rows[i].step,
					 rows[i].kind);

		print_message("# %d rounds, noise %.1f %%, slope %.2f, step %.2f: kind %d in %d of "
			      "1000\n",
			      rows[i].n, rows[i].sd * 100, rows[i].slope, rows[i].step,
			      rows[i].kind, got);
		assert_in_range(got, rows[i].least, rows[i].most);
	}
}

static void test_steadiness_says_where_and_how_much(void **state)
{
	static const double step[] = {40, 40.1, 39.9, 40, 30, 30.1, 29.9, 30, 30.05, 30.02};
	static const double drift[] = {40, 39, 38, 37, 36};
	static const double outlier[] = {40, 40.1, 20, 40.2, 39.9};
	struct gp_steadiness s = gp_steadiness(step, 10, 0.02);
	char buf[100];

	(void)state;
	assert_int_equal(s.kind, GP_STEP);
	assert_int_equal(s.round, 4);
	assert_true(fabs(s.change + 0.25) < 0.002);
	assert_string_equal(gp_steadiness_write(&s, buf, sizeof(buf)),
			    "steps by -25.0 % at round 5");
	s = gp_steadiness(drift, 5, 0.02);
	assert_int_equal(s.kind, GP_DRIFT);
	assert_true(fabs(s.change + 0.1) < 0.001);
	assert_string_equal(gp_steadiness_write(&s, buf, sizeof(buf)),
			    "drifts by -10.0 % from the first round to the last");
	s = gp_steadiness(outlier, 5, 0.02);
	assert_int_equal(s.kind, GP_OUTLIERS);
	assert_int_equal(s.round, 2);
	assert_int_equal(s.count, 1);
	gp_steadiness_write(&s, buf, sizeof(buf));
	assert_string_equal(buf, "1 round far below the others, round 3 by 50.0 %");
	s = gp_steadiness(drift, 4, 0.02);
	assert_int_equal(s.kind, GP_STEADY);
	assert_string_equal(gp_steadiness_write(&s, buf, sizeof(buf)), "");
}

static void test_warmup(void **state)
{
	static const struct {
		int n, cut;
		double values[8];
	} rows[] = {
		{5, 1, {20, 40, 40.1, 39.9, 40}},
		{5, 1, {60, 40, 40.1, 39.9, 40}},
		{5, 0, {40, 40, 40.1, 39.9, 40}},
		{5, 0, {39.5, 40, 40.1, 39.9, 40}}, /* less than the least effect */
		{8, 2, {10, 20, 40, 40.1, 39.9, 40, 40, 40}},
		{8, 2, {10, 20, 30, 40.1, 39.9, 40, 40, 40}}, /* no more than a quarter */
		{4, 0, {20, 40, 40, 40}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(gp_warmup(rows[i].values, rows[i].n, 0.02), rows[i].cut);
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
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_more_rounds_settle_it),
		cmocka_unit_test(test_verdicts_of_clear_cases),
		cmocka_unit_test(test_interval_is_students_where_rounds_are_few),
		cmocka_unit_test(test_too_few_to_tell),
		cmocka_unit_test(test_least_effect_and_confidence_are_heeded),
		cmocka_unit_test(test_steadiness),
		cmocka_unit_test(test_steadiness_says_where_and_how_much),
		cmocka_unit_test(test_warmup),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
