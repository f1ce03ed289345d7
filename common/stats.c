/* SPDX-License-Identifier: BSD-2-Clause */
/* stats: see stats.h. */
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESAMPLES 2000

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

struct gp_summary gp_summarize(const double *values, int n)
{
	struct gp_summary s = {NAN, NAN, NAN, NAN, NAN};
	double medians[RESAMPLES], sample[GP_ROUNDS_MAX];
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

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
	for (int r = 0; r < RESAMPLES; r++) {
		for (int i = 0; i < n; i++)
			sample[i] = values[next_random(&state) % (uint64_t)n];
		qsort(sample, (size_t)n, sizeof(*sample), compare_doubles);
		medians[r] = sorted_median(sample, n);
	}
	qsort(medians, RESAMPLES, sizeof(*medians), compare_doubles);
	s.lo = medians[RESAMPLES * 25 / 1000];
	s.hi = medians[RESAMPLES - 1 - RESAMPLES * 25 / 1000];
	return s;
}

struct gp_summary gp_summarize_ratio(const double *a, const double *b, int n)
{
	double ratio[GP_ROUNDS_MAX];

	for (int i = 0; i < n; i++)
		ratio[i] = a[i] / b[i];
	return gp_summarize(ratio, n);
}
