/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats: what a handful of rounds says. Pure; the same input gives the same output, the resampling
 * included (its generator starts from a constant).
 */
#ifndef GP_STATS_H
#define GP_STATS_H

#include <stdint.h>

#define GP_ROUNDS_MAX 1000

struct gp_summary {
	double median, min, max;
	double lo, hi; /* 95 % interval of the median, percentile bootstrap; NaN below 3 values */
};

/* Median of n values (n >= 1); the mean of the middle two where n is even. */
double gp_median(const double *values, int n);

/* All of it; everything NaN where n is 0. n at most GP_ROUNDS_MAX. */
struct gp_summary gp_summarize(const double *values, int n);

/* The same of a[i]/b[i], the pairs being rounds that ran one after the other. */
struct gp_summary gp_summarize_ratio(const double *a, const double *b, int n);

#endif
