/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_region: fill and check in host memory. A wrong byte is counted and found at its place, in
 * whatever shape the messages lie; gaps are nobody's; sampling reads a part and says how much.
 */
#include "region.h"
#include "pattern.h"
#include "units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SEED	 UINT64_C(0x5eed)

/* How messages lie. */
struct shape {
	uint64_t origin, size, stride, count;
};

static const struct shape shapes[] = {
	{0, 64, 64, 1},
	{0, 1, 64, 1000},
	{64, 3, 64, 70000},
	{0, 100, 128, 5000},
	{4096, 4096, 4096, 4096},
	{0, 1000, 1024, 10000},
	{0, GP_MIB, GP_MIB, 13},
	{0, GP_MIB + 1, GP_MIB + 64, 9},
	{64, 4 * GP_MIB, 4 * GP_MIB, 3},
	{0, 4 * GP_MIB - 1, 4 * GP_MIB, 3},
	{0, 4 * GP_MIB + 8, 4 * GP_MIB + 64, 3},
	{64, 8 * GP_MIB, 8 * GP_MIB, 2},
	{0, 13 * GP_MIB + 5, 13 * GP_MIB + 64, 2},
};

static void open_region(struct gp_region *region, uint64_t bytes)
{
	struct gp_error err = {0};

	assert_int_equal(gp_region_open(NULL, bytes, -1, region, &err), 0);
	assert_non_null(region->addr);
	assert_int_equal(region->bytes, bytes);
}

static unsigned char *at(const struct gp_region *region, uint64_t offset)
{
	return (unsigned char *)region->addr + offset;
}

static uint64_t span_bytes(const struct shape *shape)
{
	return shape->stride * shape->count;
}

static void fill(struct gp_region *region, const struct shape *shape)
{
	struct gp_error err = {0};

	assert_int_equal(gp_region_fill(region, shape->origin, span_bytes(shape), SEED, &err), 0);
}

/* Check messages [first, first + count) of the shape. */
static struct gp_check check(struct gp_region *region, const struct shape *shape, uint64_t first,
			     uint64_t count, uint64_t seed, bool sample)
{
	struct gp_span span = {shape->origin, shape->origin + first * shape->stride, shape->size,
			       shape->stride, count};
	struct gp_check result = {0};
	struct gp_error err = {0};

	assert_int_equal(gp_region_check(region, &span, seed, sample, &result, &err), 0);
	return result;
}

static void test_what_was_filled_is_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct shape *s = &shapes[i];
		struct gp_region region;
		struct gp_check result;

		open_region(&region, s->origin + span_bytes(s));
		fill(&region, s);
		result = check(&region, s, 0, s->count, SEED, false);
		assert_int_equal(result.wrong_bytes, 0);
		assert_int_equal(result.checked_bytes, s->size * s->count);
		gp_region_close(&region);
	}
}

static void test_fill_is_the_pattern_and_stays_within(void **state)
{
	static unsigned char expected[6 * GP_MIB];
	struct gp_region region;
	struct gp_error err = {0};

	(void)state;
	open_region(&region, 7 * GP_MIB);
	memset(region.addr, 0xa5, region.bytes);
	assert_int_equal(gp_region_fill(&region, 512, sizeof(expected), SEED, &err), 0);
	gp_pattern_fill(expected, sizeof(expected), 0, SEED);
	assert_memory_equal(at(&region, 512), expected, sizeof(expected));
	for (uint64_t i = 0; i < 512; i++)
		assert_int_equal(*at(&region, i), 0xa5);
	for (uint64_t i = 512 + sizeof(expected); i < region.bytes; i++)
		if (*at(&region, i) != 0xa5)
			fail_msg("byte %llu was written", (unsigned long long)i);
	gp_region_close(&region);
}

/* First, last and some byte between, of the first, the last and some message between. */
static void test_a_wrong_byte_is_found_at_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct shape *s = &shapes[i];
		const uint64_t messages[] = {0, s->count / 2, s->count - 1};
		const uint64_t bytes[] = {0, s->size / 2, s->size - 1};
		struct gp_region region;

		open_region(&region, s->origin + span_bytes(s));
		fill(&region, s);
		for (size_t m = 0; m < COUNT(messages); m++)
			for (size_t b = 0; b < COUNT(bytes); b++) {
				uint64_t where = s->origin + messages[m] * s->stride + bytes[b];
				struct gp_check result;

				*at(&region, where) ^= 0x10;
				result = check(&region, s, 0, s->count, SEED, false);
				*at(&region, where) ^= 0x10;
				assert_int_equal(result.wrong_bytes, 1);
				assert_int_equal(result.first_wrong, where);
				assert_int_equal(result.checked_bytes, s->size * s->count);
			}
		gp_region_close(&region);
	}
}

static void test_every_wrong_byte_counts_and_the_first_is_kept(void **state)
{
	static const struct shape shape = {64, 100, 128, 100000};
	struct gp_region region;
	struct gp_check result;

	(void)state;
	open_region(&region, 64 + span_bytes(&shape));
	fill(&region, &shape);
	for (uint64_t m = 7; m < shape.count; m += 1000) {
		*at(&region, 64 + m * 128 + 9) ^= 1;
		*at(&region, 64 + m * 128 + 99) ^= 1;
	}
	result = check(&region, &shape, 0, shape.count, SEED, false);
	assert_int_equal(result.wrong_bytes, 200);
	assert_int_equal(result.first_wrong, 64 + 7 * 128 + 9);
	gp_region_close(&region);
}

static void test_gaps_and_surroundings_are_not_looked_at(void **state)
{
	static const struct shape shape = {128, 100, 128, 5000};
	struct gp_region region;
	struct gp_check result;

	(void)state;
	open_region(&region, 256 + span_bytes(&shape));
	fill(&region, &shape);
	memset(region.addr, 0, 128);
	memset(at(&region, 128 + span_bytes(&shape)), 0, 128);
	for (uint64_t m = 0; m < shape.count; m++)
		memset(at(&region, 128 + m * 128 + 100), 0xee, 28);
	result = check(&region, &shape, 0, shape.count, SEED, false);
	assert_int_equal(result.wrong_bytes, 0);
	gp_region_close(&region);
}

/* A lane's messages do not begin where the pattern does. */
static void test_a_part_is_checked_at_its_own_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		const struct shape *s = &shapes[i];
		uint64_t first = s->count / 3, count = s->count - first;
		struct gp_region region;
		struct gp_check result;

		if (s->count < 2)
			continue;
		open_region(&region, s->origin + span_bytes(s));
		fill(&region, s);
		result = check(&region, s, first, count, SEED, false);
		assert_int_equal(result.wrong_bytes, 0);
		assert_int_equal(result.checked_bytes, s->size * count);
		gp_region_close(&region);
	}
}

static void test_stale_and_shifted_data_is_wrong(void **state)
{
	static const struct shape shape = {0, 4096, 4096, 64};
	struct gp_region region;
	struct gp_check result;
	uint64_t bytes = 64 * 4096;

	(void)state;
	open_region(&region, bytes);
	result = check(&region, &shape, 0, 64, SEED, false); /* nothing arrived: zeroes */
	assert_true(result.wrong_bytes > bytes * 9 / 10);
	fill(&region, &shape);
	result = check(&region, &shape, 0, 64, SEED + 1, false);
	assert_true(result.wrong_bytes > bytes * 9 / 10);
	memmove(at(&region, 8), region.addr, bytes - 8);
	result = check(&region, &shape, 0, 64, SEED, false);
	assert_true(result.wrong_bytes > bytes * 9 / 10);
	gp_region_close(&region);
}

static void test_no_messages_is_nothing_checked(void **state)
{
	static const struct shape shape = {0, 4096, 4096, 64};
	struct gp_region region;
	struct gp_check result;

	(void)state;
	open_region(&region, 64 * 4096);
	result = check(&region, &shape, 0, 0, SEED, false);
	assert_int_equal(result.checked_bytes, 0);
	result = check(&region, &shape, 0, 0, SEED, true);
	assert_int_equal(result.checked_bytes, 0);
	gp_region_close(&region);
}

static void test_results_add_up(void **state)
{
	struct gp_span span = {0, 0, 64, 64, 10};
	struct gp_check result = {0};
	struct gp_region region;
	struct gp_error err = {0};

	(void)state;
	open_region(&region, 1280);
	assert_int_equal(gp_region_fill(&region, 0, 1280, SEED, &err), 0);
	*at(&region, 100) ^= 1;
	*at(&region, 700) ^= 1;
	assert_int_equal(gp_region_check(&region, &span, SEED, false, &result, &err), 0);
	span.from = 640;
	assert_int_equal(gp_region_check(&region, &span, SEED, false, &result, &err), 0);
	assert_int_equal(result.checked_bytes, 1280);
	assert_int_equal(result.wrong_bytes, 2);
	assert_int_equal(result.first_wrong, 100);
	gp_region_close(&region);
}

/* Of what is many messages, at most an eighth and at least a thirty-second is read, spread so that
 * an error in any quarter of it is seen; of few, everything. */
static void test_sample_reads_a_spread_part(void **state)
{
	static const struct shape many[] = {
		{0, 64, 64, 1 << 18},
		{64, 100, 128, 100000},
		{0, 4096, 4096, 4096},
		{0, GP_MIB, GP_MIB, 64},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(many); i++) {
		const struct shape *s = &many[i];
		uint64_t all = s->size * s->count;
		struct gp_region region;
		struct gp_check result;

		open_region(&region, s->origin + span_bytes(s));
		fill(&region, s);
		result = check(&region, s, 0, s->count, SEED, true);
		assert_int_equal(result.wrong_bytes, 0);
		assert_true(result.checked_bytes >= all / 32);
		assert_true(result.checked_bytes <= all / 8);
		for (uint64_t quarter = 0; quarter < 4; quarter++) {
			fill(&region, s);
			memset(at(&region, s->origin + quarter * span_bytes(s) / 4), 0,
			       span_bytes(s) / 4);
			result = check(&region, s, 0, s->count, SEED, true);
			assert_true(result.wrong_bytes > 0);
		}
		gp_region_close(&region);
	}
}

static void test_sample_of_little_is_all_of_it(void **state)
{
	static const struct shape few = {0, 1000, 1024, 16};
	struct gp_region region;
	struct gp_check result;

	(void)state;
	open_region(&region, span_bytes(&few));
	fill(&region, &few);
	*at(&region, 15 * 1024 + 999) ^= 1;
	result = check(&region, &few, 0, 16, SEED, true);
	assert_int_equal(result.checked_bytes, 16000);
	assert_int_equal(result.wrong_bytes, 1);
	gp_region_close(&region);
}

/* Messages over the size of a block are cut up for checking; sampling must still be sampling. */
static void test_sample_of_large_messages_is_a_part(void **state)
{
	static const struct shape large = {0, 8 * GP_MIB, 8 * GP_MIB, 32};
	struct gp_region region;
	struct gp_check result;

	(void)state;
	open_region(&region, span_bytes(&large));
	fill(&region, &large);
	result = check(&region, &large, 0, large.count, SEED, true);
	assert_true(result.checked_bytes > 0);
	assert_true(result.checked_bytes <= span_bytes(&large) / 8);
	gp_region_close(&region);
}

static void test_close_may_be_called_twice_and_on_nothing(void **state)
{
	struct gp_region region = {0};

	(void)state;
	gp_region_close(&region);
	open_region(&region, 4096);
	gp_region_close(&region);
	gp_region_close(&region);
	assert_null(region.addr);
}

static void test_memory_that_is_not_there_is_an_error(void **state)
{
	struct gp_region region;
	struct gp_error err = {0};

	(void)state;
	assert_int_equal(gp_region_open(NULL, UINT64_C(1) << 60, -1, &region, &err), -1);
	assert_true(err.set);
	assert_int_equal(err.exit_code, GP_EXIT_FAILED);
	assert_non_null(strstr(err.fact, "mmap"));
	assert_null(region.addr);
	gp_region_close(&region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_filled_is_right),
		cmocka_unit_test(test_fill_is_the_pattern_and_stays_within),
		cmocka_unit_test(test_a_wrong_byte_is_found_at_its_place),
		cmocka_unit_test(test_every_wrong_byte_counts_and_the_first_is_kept),
		cmocka_unit_test(test_gaps_and_surroundings_are_not_looked_at),
		cmocka_unit_test(test_a_part_is_checked_at_its_own_place),
		cmocka_unit_test(test_stale_and_shifted_data_is_wrong),
		cmocka_unit_test(test_no_messages_is_nothing_checked),
		cmocka_unit_test(test_results_add_up),
		cmocka_unit_test(test_sample_reads_a_spread_part),
		cmocka_unit_test(test_sample_of_little_is_all_of_it),
		cmocka_unit_test(test_sample_of_large_messages_is_a_part),
		cmocka_unit_test(test_close_may_be_called_twice_and_on_nothing),
		cmocka_unit_test(test_memory_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests_name("region", tests, NULL, NULL);
}
