/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats: see stats.h. Three parts: summary, A against B (on logarithms, so that half and double
 * are equally far), and the tests of standing still.
 */
#include "stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 2000
#define SEED	  UINT64_C(0x9e3779b97f4a7c15)
/* With more values than this, only the rank of a resample's median is drawn. */
#define MANY 200
/* From so many values on, the bootstrap of the median holds what it promises. */
#define ENOUGH 20
/* So many degrees of freedom are the normal distribution to three digits. */
#define DF_MAX 1000

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double sorted_median(const double *v, int n)
{
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double gp_median(const double *values, int n)
{
	double sorted[GP_ROUNDS_MAX];

	memcpy(sorted, values, (size_t)n * sizeof(*values));
	qsort(sorted, (size_t)n, sizeof(*sorted), compare_doubles);
	return sorted_median(sorted, n);
}

/* xorshift64*: more than good enough to choose indices, and the same everywhere. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static int random_below(uint64_t *state, int n)
{
	return (int)((next_random(state) >> 32) * (uint64_t)n >> 32);
}

static void swap(double *a, double *b)
{
	double t = *a;

	*a = *b;
	*b = t;
}

/* Put the k-th smallest at v[k], none greater before it (Hoare's selection; the middle value as
 * pivot, ties split evenly). */
static double select_rank(double *v, int n, int k)
{
	int lo = 0, hi = n - 1;

	while (lo < hi) {
		double pivot = v[lo + (hi - lo) / 2];
		int i = lo, j = hi;

		while (i <= j) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i <= j)
				swap(&v[i++], &v[j--]);
		}
		if (k <= j)
			hi = j;
		else if (k >= i)
			lo = i;
		else
			break;
	}
	return v[k];
}

/* Median, with v left in another order. */
static double median_of(double *v, int n)
{
	double upper = select_rank(v, n, n / 2), lower;

	if (n % 2)
		return upper;
	lower = v[0];
	for (int i = 1; i < n / 2; i++)
		lower = fmax(lower, v[i]);
	return (lower + upper) / 2;
}

/* The median of one resample of v, drawn with replacement into scratch. */
static double resampled_median(const double *v, int n, double *scratch, uint64_t *state)
{
	for (int i = 0; i < n; i++)
		scratch[i] = v[random_below(state, n)];
	return median_of(scratch, n);
}

/* The ends of the middle `confidence` of RESAMPLES values; sorts them. */
static void percentiles(double *values, double confidence, double *lo, double *hi)
{
	int cut = (int)(RESAMPLES * (1 - confidence) / 2 + 1e-9);

	qsort(values, RESAMPLES, sizeof(*values), compare_doubles);
	*lo = values[cut];
	*hi = values[RESAMPLES - 1 - cut];
}

struct gp_summary gp_summarize(const double *values, int n)
{
	struct gp_summary s = {NAN, NAN, NAN, NAN, NAN};
	double medians[RESAMPLES], scratch[GP_ROUNDS_MAX];
	uint64_t state = SEED;

	if (n == 0)
		return s;
	s.median = gp_median(values, n);
	s.min = s.max = values[0];
	for (int i = 1; i < n; i++) {
		s.min = fmin(s.min, values[i]);
		s.max = fmax(s.max, values[i]);
	}
	if (n < 3)
		return s;
	for (int r = 0; r < RESAMPLES; r++)
		medians[r] = resampled_median(values, n, scratch, &state);
	percentiles(medians, GP_CONFIDENCE, &s.lo, &s.hi);
	return s;
}

struct gp_summary gp_summarize_ratio(const double *a, const double *b, int n)
{
	double ratio[GP_ROUNDS_MAX];

	for (int i = 0; i < n; i++)
		ratio[i] = a[i] / b[i];
	return gp_summarize(ratio, n);
}

/* --- A against B --- */

const char *gp_ab_name(enum gp_ab_verdict verdict)
{
	static const char *const names[] = {[GP_AB_SAME] = "same",
					    [GP_AB_BETTER] = "better",
					    [GP_AB_WORSE] = "worse",
					    [GP_AB_UNCLEAR] = "unclear"};

	return names[verdict];
}

/* P(|T| < t) of Student's distribution with df degrees of freedom: the finite series in
 * theta = atan(t / sqrt(df)) that holds for whole df (Abramowitz and Stegun 26.7.3, 26.7.4). */
static double student_inside(double t, int df)
{
	double theta = atan(t / sqrt(df)), c2 = cos(theta) * cos(theta);
	double term = df % 2 ? cos(theta) : 1, sum = 0;

	for (int k = df % 2 ? 1 : 0; k <= df - 2; k += 2) {
		sum += term;
		term *= c2 * (k + 1) / (k + 2);
	}
	return df % 2 ? 2 / M_PI * (theta + sin(theta) * sum) : sin(theta) * sum;
}

/* The t that holds `confidence` between -t and t. */
static double student_t(double confidence, int df)
{
	double lo = 0, hi = 1e6;

	if (df > DF_MAX)
		df = DF_MAX;
	for (int i = 0; i < 60; i++) {
		double mid = (lo + hi) / 2;

		if (student_inside(mid, df) < confidence)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

/* Values as logarithms, and what is needed of them. */
struct sample {
	double *log, *scratch; /* n each; owned */
	int n;
	double median, mean, variance; /* variance NaN below 2 */
};

static void sample_measure(struct sample *s)
{
	double sum = 0, squares = 0;

	memcpy(s->scratch, s->log, (size_t)s->n * sizeof(*s->log));
	s->median = median_of(s->scratch, s->n);
	for (int i = 0; i < s->n; i++)
		sum += s->log[i];
	s->mean = sum / s->n;
	for (int i = 0; i < s->n; i++)
		squares += (s->log[i] - s->mean) * (s->log[i] - s->mean);
	s->variance = s->n > 1 ? squares / (s->n - 1) : NAN;
}

/* log of top[i], or of top[i] / bottom[i]; what has no logarithm is left out. -1: nothing is left,
 * or no memory. */
static int sample_open(struct sample *s, const double *top, const double *bottom, int n)
{
	*s = (struct sample){.log = calloc((size_t)n + 1, sizeof(double)),
			     .scratch = calloc((size_t)n + 1, sizeof(double))};
	if (!s->log || !s->scratch)
		return -1;
	for (int i = 0; i < n; i++) {
		double value = bottom ? top[i] / bottom[i] : top[i];

		if (value > 0 && isfinite(value) && (!bottom || bottom[i] > 0))
			s->log[s->n++] = log(value);
	}
	if (s->n == 0)
		return -1;
	if (s->n > MANY)
		qsort(s->log, (size_t)s->n, sizeof(*s->log), compare_doubles);
	sample_measure(s);
	return 0;
}

static void sample_close(struct sample *s)
{
	free(s->log);
	free(s->scratch);
	*s = (struct sample){0};
}

/* A difference of logarithms with its interval; `sd` is of one value, scaled so that the standard
 * error is sd / sqrt(n) where every side that grows has n values. */
struct estimate {
	double centre, lo, hi, sd;
	int n;
};

/* Resampling n values misses the n-th part of their variance, and that it had to be estimated:
 * with both put back, the share of resamples to take is a little more than the confidence. Below
 * ENOUGH values Student's interval sees to that. */
static double widened(double confidence, int n)
{
	if (n < ENOUGH)
		return confidence;
	return student_inside(student_t(confidence, n - 1) * sqrt(n / (n - 1.0)), DF_MAX);
}

/* The same of a sample. The rank that the median of a resample has among n values is normal around
 * the middle with deviation sqrt(n) / 2, closely enough where they are many; those are sorted. */
static double sample_resampled(struct sample *s, uint64_t *state)
{
	double z = -6;
	int rank;

	if (s->n <= MANY)
		return resampled_median(s->log, s->n, s->scratch, state);
	for (int i = 0; i < 12; i++)
		z += (double)(next_random(state) >> 11) / 9007199254740992.0;
	rank = (int)lrint((s->n - 1) / 2.0 + z * sqrt(s->n) / 2);
	return s->log[rank < 0 ? 0 : rank >= s->n ? s->n - 1 : rank];
}

/* Bootstrap of the median of b, less that of a where there is one. */
static void widen_by_bootstrap(struct estimate *e, struct sample *a, struct sample *b,
			       double confidence)
{
	double medians[RESAMPLES], lo, hi;
	uint64_t state = SEED;

	for (int r = 0; r < RESAMPLES; r++) {
		medians[r] = sample_resampled(b, &state);
		if (a)
			medians[r] -= sample_resampled(a, &state);
	}
	percentiles(medians, widened(confidence, e->n), &lo, &hi);
	e->lo = fmin(e->lo, lo);
	e->hi = fmax(e->hi, hi);
}

static void widen_by_student(struct estimate *e, double mean, double error, int df,
			     double confidence)
{
	double half = student_t(confidence, df) * error;

	e->lo = fmin(e->lo, mean - half);
	e->hi = fmax(e->hi, mean + half);
}

/* Standard error of mean(b) - mean(a) and its degrees of freedom: Welch; with one value on a side
 * it is taken to vary as the other side does. */
static double sides_error(const struct sample *a, const struct sample *b, int *df)
{
	double va = a->variance, vb = b->variance, ea, eb, df_real;

	if (a->n == 1 || b->n == 1) {
		double v = a->n == 1 ? vb : va;

		*df = a->n + b->n - 2;
		return sqrt(v / a->n + v / b->n);
	}
	ea = va / a->n;
	eb = vb / b->n;
	df_real = (ea + eb) * (ea + eb) / (ea * ea / (a->n - 1) + eb * eb / (b->n - 1));
	*df = isfinite(df_real) && df_real >= 1 ? (int)fmin(df_real, 1e6) : a->n + b->n - 2;
	return sqrt(ea + eb);
}

/* How many more values would probably bring the interval to within `target` of the centre; fewer
 * never do where more don't, so halving finds it. The median of many values varies by 1.25 times
 * what the mean does. */
static int rounds_wanted(const struct estimate *e, double target, double confidence)
{
	int lo = e->n, hi = e->n + GP_ROUNDS_MAX + 1;

	while (hi - lo > 1) {
		int n = lo + (hi - lo) / 2;

		if (1.2533 * student_t(confidence, n - 1) * e->sd / sqrt(n) <= target)
			hi = n;
		else
			lo = n;
	}
	return hi > e->n + GP_ROUNDS_MAX ? -1 : hi - e->n;
}

static void judge(const struct estimate *e, const struct gp_ab_ask *ask, struct gp_ab *ab)
{
	double least = log1p(ask->min_effect), far = fabs(e->centre), target;

	ab->ratio = exp(e->centre);
	ab->verdict = GP_AB_UNCLEAR;
	ab->more = 0;
	if (!isfinite(e->lo)) {
		ab->lo = ab->hi = NAN;
		ab->more = e->n < 5 ? 5 - e->n : 1;
		return;
	}
	ab->lo = exp(e->lo);
	ab->hi = exp(e->hi);
	if (e->lo > -least && e->hi < least)
		ab->verdict = GP_AB_SAME;
	else if (e->hi < 0 && e->centre <= -least)
		ab->verdict = GP_AB_WORSE;
	else if (e->lo > 0 && e->centre >= least)
		ab->verdict = GP_AB_BETTER;
	if (ab->verdict != GP_AB_UNCLEAR)
		return;
	/* Right at the border no number of rounds settles it: be content with an eighth. */
	target = fmax(far >= least ? far : least - far, least / 8);
	ab->more = rounds_wanted(e, target, ask->confidence);
}

struct gp_ab gp_ab_paired(const double *a, const double *b, int n, const struct gp_ab_ask *ask)
{
	struct gp_ab ab = {GP_AB_UNCLEAR, NAN, NAN, NAN, 0, 0, 5};
	struct sample s;

	if (sample_open(&s, b, a, n) == 0) {
		struct estimate e = {s.median, INFINITY, -INFINITY, sqrt(s.variance), s.n};

		ab.n_a = ab.n_b = s.n;
		if (s.n >= 2)
			widen_by_bootstrap(&e, NULL, &s, ask->confidence);
		if (s.n >= 2 && s.n < ENOUGH)
			widen_by_student(&e, s.mean, sqrt(s.variance / s.n), s.n - 1,
					 ask->confidence);
		judge(&e, ask, &ab);
	}
	sample_close(&s);
	return ab;
}

static void judge_sides(struct sample *a, struct sample *b, const struct gp_ab_ask *ask,
			struct gp_ab *ab)
{
	struct estimate e = {b->median - a->median, INFINITY, -INFINITY, NAN,
			     a->n < b->n ? a->n : b->n};
	int df = 0;
	double error;

	ab->n_a = a->n;
	ab->n_b = b->n;
	if (a->n + b->n >= 4 || (a->n == 2 && b->n == 2)) {
		error = sides_error(a, b, &df);
		e.sd = error * sqrt(e.n);
		widen_by_bootstrap(&e, a, b, ask->confidence);
		if (e.n < ENOUGH)
			widen_by_student(&e, b->mean - a->mean, error, df, ask->confidence);
	}
	judge(&e, ask, ab);
}

struct gp_ab gp_ab_sides(const double *a, int n_a, const double *b, int n_b,
			 const struct gp_ab_ask *ask)
{
	struct gp_ab ab = {GP_AB_UNCLEAR, NAN, NAN, NAN, 0, 0, 5};
	struct sample sa, sb = {0};

	if (sample_open(&sa, a, NULL, n_a) == 0 && sample_open(&sb, b, NULL, n_b) == 0)
		judge_sides(&sa, &sb, ask, &ab);
	sample_close(&sa);
	sample_close(&sb);
	return ab;
}

/* --- standing still --- */

#define CHANCE	      0.02
#define STEP_FROM     9 /* below, a perfect step is no rarer than CHANCE */
#define SHUFFLES      999
#define EXACT_KENDALL 40

static int kendall_s(const double *v, int n)
{
	int s = 0;

	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			s += (v[j] > v[i]) - (v[j] < v[i]);
	return s;
}

/* Two-sided: how likely |S| or more is among all orders. Counted up to EXACT_KENDALL values (the
 * number of orders of m with k inversions builds up from m - 1), normal beyond. */
static double kendall_p(int s, int n)
{
	double share[EXACT_KENDALL * EXACT_KENDALL / 2 + 1] = {1}, next[sizeof(share) / 8];
	int pairs = n * (n - 1) / 2, most = (pairs - abs(s)) / 2;
	double p = 0;

	if (n > EXACT_KENDALL)
		return erfc((abs(s) - 1) / sqrt(n * (n - 1.0) * (2 * n + 5) / 18) / M_SQRT2);
	for (int m = 2; m <= n; m++) {
		for (int k = 0; k <= m * (m - 1) / 2; k++) {
			next[k] = 0;
			for (int j = 0; j < m && j <= k; j++)
				if (k - j <= (m - 1) * (m - 2) / 2)
					next[k] += share[k - j] / m;
		}
		memcpy(share, next, sizeof(double) * (size_t)(m * (m - 1) / 2 + 1));
	}
	for (int k = 0; k <= most; k++)
		p += share[k];
	return fmin(1, 2 * p);
}

/* The split that parts early from late best; *at is the first of the later part. */
static double best_split(const double *v, int n, double mean, int *at)
{
	double sum = 0, best = -1;

	for (int k = 1; k < n; k++) {
		double reach;

		sum += v[k - 1] - mean;
		if (k < 2 || k > n - 2)
			continue; /* one round is an outlier, no level */
		reach = fabs(sum) / sqrt((double)k * (n - k));
		if (reach > best) {
			best = reach;
			*at = k;
		}
	}
	return best;
}

/* How many of all orders of these values part as well as this one; a sample of the orders. */
static double step_p(const double *v, int n, int *at)
{
	double shuffled[GP_ROUNDS_MAX], mean = 0, found;
	uint64_t state = SEED;
	int as_far = 1, ignored;

	memcpy(shuffled, v, (size_t)n * sizeof(*v));
	for (int i = 0; i < n; i++)
		mean += v[i] / n;
	found = best_split(v, n, mean, at);
	for (int r = 0; r < SHUFFLES; r++) {
		for (int i = n - 1; i > 0; i--)
			swap(&shuffled[i], &shuffled[random_below(&state, i + 1)]);
		as_far += best_split(shuffled, n, mean, &ignored) >= found * (1 - 1e-9);
	}
	return (double)as_far / (SHUFFLES + 1);
}

/* Least squares; *left is the sum of squares that the line leaves. Returns last less first. */
static double line_rise(const double *v, int n, double *left)
{
	double mean = 0, mid = (n - 1) / 2.0, sxy = 0, sxx = 0, syy = 0;

	for (int i = 0; i < n; i++)
		mean += v[i] / n;
	for (int i = 0; i < n; i++) {
		sxy += (i - mid) * (v[i] - mean);
		sxx += (i - mid) * (i - mid);
		syy += (v[i] - mean) * (v[i] - mean);
	}
	*left = syy - sxy * sxy / sxx;
	return sxy / sxx * (n - 1);
}

/* The same for two levels. Returns the later less the earlier. */
static double step_rise(const double *v, int n, int at, double *left)
{
	double before = gp_median(v, at), after = gp_median(v + at, n - at);

	*left = 0;
	for (int i = 0; i < n; i++) {
		double d = v[i] - (i < at ? before : after);

		*left += d * d;
	}
	return after - before;
}

static struct gp_steadiness find_outliers(const double *v, int n)
{
	struct gp_steadiness s = {.kind = GP_STEADY};
	double away[GP_ROUNDS_MAX], median = gp_median(v, n), bar, least = median;

	for (int i = 0; i < n; i++)
		away[i] = fabs(v[i] - median);
	bar = fmax(0.1 * median, 6 * 1.4826 * gp_median(away, n));
	for (int i = 0; i < n; i++) {
		if (v[i] >= median - bar)
			continue;
		s.count++;
		if (v[i] < least) {
			least = v[i];
			s.round = i;
		}
	}
	if (s.count == 0 || s.count > n / 3)
		return (struct gp_steadiness){.kind = GP_STEADY};
	s.kind = GP_OUTLIERS;
	s.change = least / median - 1;
	return s;
}

struct gp_steadiness gp_steadiness(const double *values, int n, double min_effect)
{
	double line_left, step_left = INFINITY, rise, step = 0, median;
	bool drifts, steps = false;
	int at = 0;

	n = n > GP_ROUNDS_MAX ? GP_ROUNDS_MAX : n;
	if (n < 5)
		return (struct gp_steadiness){.kind = GP_STEADY};
	median = gp_median(values, n);
	rise = line_rise(values, n, &line_left);
	drifts = fabs(rise) >= 2 * min_effect * median &&
		 kendall_p(kendall_s(values, n), n) <= CHANCE;
	if (n >= STEP_FROM) {
		steps = step_p(values, n, &at) <= CHANCE;
		step = step_rise(values, n, at, &step_left);
		steps = steps && fabs(step) >= 2 * min_effect * median;
	}
	if (steps && (!drifts || step_left < line_left))
		return (struct gp_steadiness){GP_STEP, step / (gp_median(values, at)), at, 0};
	if (drifts)
		return (struct gp_steadiness){GP_DRIFT, rise / (median - rise / 2), 0, 0};
	return find_outliers(values, n);
}

char *gp_steadiness_write(const struct gp_steadiness *s, char *buf, size_t size)
{
	buf[0] = '\0';
	if (s->kind == GP_DRIFT)
		snprintf(buf, size, "drifts by %+.1f %% from the first round to the last",
			 s->change * 100);
	else if (s->kind == GP_STEP)
		snprintf(buf, size, "steps by %+.1f %% at round %d", s->change * 100, s->round + 1);
	else if (s->kind == GP_OUTLIERS)
		snprintf(buf, size, "%d round%s far below the others, round %d by %.1f %%",
			 s->count, s->count == 1 ? "" : "s", s->round + 1, -s->change * 100);
	return buf;
}

int gp_warmup(const double *values, int n, double min_effect)
{
	double min, max, range;
	int cut = 0;

	n = n > GP_ROUNDS_MAX ? GP_ROUNDS_MAX : n;
	if (n < 5)
		return 0;
	min = max = values[n / 2];
	for (int i = n / 2 + 1; i < n; i++) {
		min = fmin(min, values[i]);
		max = fmax(max, values[i]);
	}
	range = fmax(3 * (max - min), min_effect * max);
	while (cut < n / 4 && fmax(min - values[cut], values[cut] - max) > range)
		cut++;
	return cut;
}
