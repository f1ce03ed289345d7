/* SPDX-License-Identifier: BSD-2-Clause */
/* units: see units.h. */
#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static const struct {
	char letter;
	uint64_t factor;
} size_units[] = {{'G', GP_GIB}, {'M', GP_MIB}, {'K', GP_KIB}};
#define N_SIZE_UNITS (sizeof(size_units) / sizeof(size_units[0]))

int gp_size_read(const char *text, uint64_t *bytes)
{
	uint64_t value, factor = 1;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -1;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -1;
	for (size_t i = 0; i < N_SIZE_UNITS; i++)
		if (toupper((unsigned char)*end) == size_units[i].letter) {
			factor = size_units[i].factor;
			end++;
			if (strcasecmp(end, "iB") == 0)
				end += 2;
			break;
		}
	if (*end != '\0' || value > UINT64_MAX / factor)
		return -1;
	*bytes = value * factor;
	return 0;
}

char *gp_size_write(uint64_t bytes, char *buf, size_t size)
{
	for (size_t i = 0; i < N_SIZE_UNITS; i++)
		if (bytes && bytes % size_units[i].factor == 0) {
			snprintf(buf, size, "%" PRIu64 "%c", bytes / size_units[i].factor,
				 size_units[i].letter);
			return buf;
		}
	snprintf(buf, size, "%" PRIu64, bytes);
	return buf;
}

char *gp_bytes_write(uint64_t bytes, char *buf, size_t size)
{
	static const char *const names[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < sizeof(names) / sizeof(names[0])) {
		value /= 1000;
		unit++;
	}
	snprintf(buf, size, "%.*f %s", unit && value < 99.95 ? 1 : 0, value, names[unit]);
	return buf;
}

char *gp_rate_write(double gbytes_per_s, char *buf, size_t size)
{
	int digits = 2;

	if (!isfinite(gbytes_per_s) || gbytes_per_s < 0) {
		snprintf(buf, size, "-");
		return buf;
	}
	/* Three significant digits: one decimal less for each power of ten over 1, after rounding.
	 */
	for (double v = gbytes_per_s; v >= 9.995 && digits > 0; v /= 10)
		digits--;
	for (double v = gbytes_per_s; v > 0 && v < 0.9995 && digits < 9; v *= 10)
		digits++;
	snprintf(buf, size, "%.*f", digits, gbytes_per_s);
	return buf;
}

uint64_t gp_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * GP_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t gp_align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}
