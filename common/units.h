/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * units: sizes, rates and times, read and written; and the monotonic clock.
 *
 * Sizes of messages and buffers use K, M, G as powers of 1024, as perftest and fio do. Rates are
 * decimal: 1 GB/s is 10^9 bytes per second, 1 Gb/s is 10^9 bits per second.
 */
#ifndef GP_UNITS_H
#define GP_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define GP_KIB UINT64_C(1024)
#define GP_MIB (GP_KIB * 1024)
#define GP_GIB (GP_MIB * 1024)

#define GP_NS_PER_S UINT64_C(1000000000)

/* Read "4096", "64K", "1M", "2G" (also "64k", "64KiB"). Returns 0, or -1 for anything else. */
int gp_size_read(const char *text, uint64_t *bytes);

/* Write it back, exactly: "64K", "1M", "3000". gp_size_read() of it gives the same. Returns buf. */
char *gp_size_write(uint64_t bytes, char *buf, size_t size);

/* For people: "24.4 GB", "512 MB", "17 B"; powers of 1000. Returns buf. */
char *gp_bytes_write(uint64_t bytes, char *buf, size_t size);

/* A rate for a table column, three significant digits and never more than is known: "48.7",
 * "0.0183", "-" for a negative or non-finite value. Returns buf. */
char *gp_rate_write(double gbytes_per_s, char *buf, size_t size);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t gp_now_ns(void);

/* The least multiple of `align` (a power of two) that is >= value. */
uint64_t gp_align_up(uint64_t value, uint64_t align);

#endif
