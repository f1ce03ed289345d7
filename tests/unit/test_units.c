/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_units: sizes, byte counts and rates as text, both ways where there are two.
 */
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_size_reads(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{"0", 0},
		{"1", 1},
		{"4096", 4096},
		{"64K", 65536},
		{"64k", 65536},
		{"64KiB", 65536},
		{"64kib", 65536},
		{"1M", GP_MIB},
		{"2G", 2 * GP_GIB},
		{"2GiB", 2 * GP_GIB},
		{"007", 7},
		{"18446744073709551615", UINT64_MAX},
		{"17179869183G", UINT64_MAX - GP_GIB + 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t bytes = 77;

		assert_int_equal(gp_size_read(rows[i].text, &bytes), 0);
		assert_int_equal(bytes, rows[i].bytes);
	}
}

static void test_size_refuses(void **state)
{
	static const char *const rows[] = {
		"",
		"-1",
		"-1K",
		"+1",
		" 1",
		"1 ",
		"K",
		"1KK",
		"1Ki",
		"1KB",
		"1B",
		"1T",
		"1 K",
		"1.5M",
		"1e3",
		"0x10",
		"1,2",
		"1iB",
		"1K\n",
		"one",
		"\xff",
		"18446744073709551616",
		"17179869184G",
		"99999999999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t bytes = 77;

		if (gp_size_read(rows[i], &bytes) != -1)
			print_error("'%s' was read as %" PRIu64 "\n", rows[i], bytes);
		assert_int_equal(gp_size_read(rows[i], &bytes), -1);
		assert_int_equal(bytes, 77); /* set only on success */
	}
}

static void test_size_writes_exactly_and_shortest(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{0, "0"},
		{1, "1"},
		{1023, "1023"},
		{1024, "1K"},
		{1025, "1025"},
		{3000, "3000"},
		{GP_MIB, "1M"},
		{GP_MIB + 1024, "1025K"},
		{1536 * GP_KIB, "1536K"},
		{GP_GIB, "1G"},
		{4096 * GP_GIB, "4096G"},
		{UINT64_MAX, "18446744073709551615"},
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(gp_size_write(rows[i].bytes, buf, sizeof(buf)), rows[i].text);
}

static void test_size_written_reads_back(void **state)
{
	char buf[32];

	(void)state;
	for (int bit = 0; bit < 64; bit++)
		for (int near = -1; near <= 1; near++) {
			uint64_t bytes = (UINT64_C(1) << bit) + (uint64_t)near, back = ~bytes;

			gp_size_write(bytes, buf, sizeof(buf));
			assert_int_equal(gp_size_read(buf, &back), 0);
			assert_int_equal(back, bytes);
		}
}

static void test_bytes_for_people(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{0, "0 B"},
		{17, "17 B"},
		{999, "999 B"},
		{1000, "1.0 kB"},
		{1024, "1.0 kB"},
		{99949, "99.9 kB"},
		{99950, "100 kB"},
		{999499, "999 kB"},
		{999500, "1.0 MB"},
		{512000000, "512 MB"},
		{UINT64_C(24400000000), "24.4 GB"},
		{UINT64_C(1000000000000), "1.0 TB"},
		{UINT64_MAX, "18.4 EB"},
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(gp_bytes_write(rows[i].bytes, buf, sizeof(buf)), rows[i].text);
}

static void test_rate_has_three_digits(void **state)
{
	static const struct {
		double rate;
		const char *text;
	} rows[] = {
		{48.7, "48.7"},	  {48.74, "48.7"},    {9.994, "9.99"},	  {9.996, "10.0"},
		{99.94, "99.9"},  {99.96, "100"},     {399.6, "400"},	  {1234, "1234"},
		{1, "1.00"},	  {0.5, "0.500"},     {0.0183, "0.0183"}, {0.9994, "0.999"},
		{0.9996, "1.00"}, {0.09996, "0.100"}, {0, "0.00"},	  {-0.1, "-"},
		{NAN, "-"},	  {INFINITY, "-"},    {-INFINITY, "-"},
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(gp_rate_write(rows[i].rate, buf, sizeof(buf)), rows[i].text);
}

/* Every rate of four digits: rounding must not bring a fourth to light. From 1000 on all are. */
static void test_rate_never_shows_more_than_three_digits(void **state)
{
	char buf[32];

	(void)state;
	for (int exponent = -4; exponent <= 2; exponent++)
		for (int digits = 1000; digits < 10000; digits++) {
			double rate = digits * pow(10, exponent - 3);
			const char *p;
			int shown = 0;

			if (rate >= 999.5)
				break;
			gp_rate_write(rate, buf, sizeof(buf));
			for (p = buf + strspn(buf, "0."); *p; p++)
				shown += *p != '.';
			if (shown != 3 || fabs(atof(buf) - rate) > rate * 0.00501)
				print_error("%.12g is shown as %s\n", rate, buf);
			assert_int_equal(shown, 3);
			assert_true(fabs(atof(buf) - rate) <= rate * 0.00501);
		}
}

static void test_align_up(void **state)
{
	static const struct {
		uint64_t value, align, result;
	} rows[] = {
		{0, 64, 0},	    {1, 64, 64},
		{63, 64, 64},	    {64, 64, 64},
		{65, 64, 128},	    {7, 1, 7},
		{4097, 4096, 8192}, {(UINT64_C(1) << 40) + 1, 4096, (UINT64_C(1) << 40) + 4096},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(gp_align_up(rows[i].value, rows[i].align), rows[i].result);
}

static void test_clock_never_goes_back(void **state)
{
	uint64_t before = gp_now_ns();

	(void)state;
	assert_true(before > 0);
	for (int i = 0; i < 1000; i++) {
		uint64_t now = gp_now_ns();

		assert_true(now >= before);
		before = now;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_reads),
		cmocka_unit_test(test_size_refuses),
		cmocka_unit_test(test_size_writes_exactly_and_shortest),
		cmocka_unit_test(test_size_written_reads_back),
		cmocka_unit_test(test_bytes_for_people),
		cmocka_unit_test(test_rate_has_three_digits),
		cmocka_unit_test(test_rate_never_shows_more_than_three_digits),
		cmocka_unit_test(test_align_up),
		cmocka_unit_test(test_clock_never_goes_back),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
