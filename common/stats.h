/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats: what a handful of rounds says: median and interval, A against B, and whether a figure
 * stood still while it was taken. Pure; the same input gives the same output, the resampling
 * included (its generator starts from a constant). What a cell or a record is, is not known here.
 */
#ifndef GP_STATS_H
#define GP_STATS_H

#include <stddef.h>
#include <stdint.h>

#define GP_ROUNDS_MAX 1000

struct gp_summary {
	double median, min, max;
	double lo, hi; /* 95 % interval of the median, percentile bootstrap; NaN below 3 values */
};

/* Median of n values (n >= 1, at most GP_ROUNDS_MAX); the mean of the middle two where n is even.
 */
double gp_median(const double *values, int n);

/* All of it; everything NaN where n is 0. n at most GP_ROUNDS_MAX. */
struct gp_summary gp_summarize(const double *values, int n);

/* The same of a[i]/b[i], the pairs being rounds that ran one after the other. */
struct gp_summary gp_summarize_ratio(const double *a, const double *b, int n);

/* --- A against B --- */

#define GP_MIN_EFFECT 0.02 /* the least change that counts, as a share */
#define GP_CONFIDENCE 0.95

enum gp_ab_verdict { GP_AB_SAME, GP_AB_BETTER, GP_AB_WORSE, GP_AB_UNCLEAR };

/* "same", "better", "worse", "unclear" */
const char *gp_ab_name(enum gp_ab_verdict verdict);

struct gp_ab_ask {
	double min_effect; /* share, > 0 */
	double confidence; /* of the interval, 0.5 to 0.9999 */
};

/*
 * B as a share of A. Changes are symmetric in the logarithm: "less than 2 %" is 1/1.02 to 1.02.
 *   same     the whole interval is less than min_effect away from 1
 *   better, worse  the interval does not hold 1 and the ratio is min_effect away or more
 *   unclear  all else; `more` says how many more values a side would probably settle it
 * The interval is the percentile bootstrap of the median (of the medians' ratio, where the sides
 * are not paired), and below 20 values never narrower than Student's interval of the mean of the
 * logarithms: with a handful of values the bootstrap alone is too sure of itself.
 */
struct gp_ab {
	enum gp_ab_verdict verdict;
	double ratio, lo, hi; /* B/A; the ends NaN where there are too few values for any */
	int n_a, n_b;	      /* values used */
	int more;	      /* unclear: 1 to GP_ROUNDS_MAX; -1: more than that; else 0 */
};

/* a[i] and b[i] were taken one after the other: drift hits both alike. Values must be > 0; a pair
 * with one that is not is left out. Any n. */
struct gp_ab gp_ab_paired(const double *a, const double *b, int n, const struct gp_ab_ask *ask);

/* Two runs, each with its own values; one side may have one value where the other has three. */
struct gp_ab gp_ab_sides(const double *a, int n_a, const double *b, int n_b,
			 const struct gp_ab_ask *ask);

/* --- standing still --- */

enum gp_steady {
	GP_STEADY,
	GP_DRIFT,    /* a slope from the first to the last */
	GP_STEP,     /* one level before `round`, another from it on */
	GP_OUTLIERS, /* `count` rounds far below the others */
};

struct gp_steadiness {
	enum gp_steady kind;
	double change; /* share: first to last, before to after, outliers to median */
	int round;     /* STEP: the first of the new level; OUTLIERS: the lowest; from 0 */
	int count;     /* OUTLIERS */
};

/*
 * Did n values, in the order they were taken, come from one level? A finding takes both a pattern
 * that chance makes in at most 2 % of all cases (drift: Kendall's, from 5 values; step: by
 * shuffling, from 9) and a change of at least twice min_effect. Outliers: from 5 values, at most
 * a third of them, 10 % and six deviations (by the median deviation) below the median. At most
 * GP_ROUNDS_MAX values are looked at.
 */
struct gp_steadiness gp_steadiness(const double *values, int n, double min_effect);

/* "drifts by -7.1 % from the first round to the last", empty where steady. Returns buf. */
char *gp_steadiness_write(const struct gp_steadiness *s, char *buf, size_t size);

/*
 * Rounds at the start that are warm-up: each lies outside the range of the later half by more
 * than three times that range and by more than min_effect. At most a quarter of n; 0 below 5.
 */
int gp_warmup(const double *values, int n, double min_effect);

#endif
