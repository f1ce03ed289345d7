/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pattern: a word says where it belongs and of which round it is; nothing stale, shifted or
 * someone else's can pass, and every wrong byte is counted.
 */
#include "pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS 4096
#define BYTES ((uint64_t)WORDS * 8)

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_parts_make_the_whole(void **state)
{
	static unsigned char whole[BYTES], parts[BYTES];
	static const uint64_t steps[] = {8, 64, 1000, 4096};

	(void)state;
	gp_pattern_fill(whole, BYTES, 0, 5);
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		memset(parts, 0, sizeof(parts));
		for (uint64_t at = 0; at < BYTES; at += steps[s])
			gp_pattern_fill(parts + at, BYTES - at < steps[s] ? BYTES - at : steps[s],
					at, 5);
		assert_memory_equal(whole, parts, BYTES);
	}
}

static void test_fill_writes_just_what_was_asked(void **state)
{
	unsigned char whole[64], buf[64];

	(void)state;
	gp_pattern_fill(whole, sizeof(whole), 128, 3);
	for (uint64_t bytes = 0; bytes <= 40; bytes++) {
		memset(buf, 0xa5, sizeof(buf));
		gp_pattern_fill(buf, bytes, 128, 3);
		assert_memory_equal(buf, whole, bytes);
		for (uint64_t i = bytes; i < sizeof(buf); i++)
			assert_int_equal(buf[i], 0xa5);
	}
}

static void test_no_two_positions_are_alike(void **state)
{
	static uint64_t words[WORDS];

	(void)state;
	gp_pattern_fill(words, BYTES, 0, 77);
	qsort(words, WORDS, sizeof(*words), compare_words);
	for (int i = 1; i < WORDS; i++)
		assert_true(words[i - 1] != words[i]);
}

static void test_shifted_data_differs_in_every_word(void **state)
{
	static uint64_t here[WORDS], there[WORDS];

	(void)state;
	gp_pattern_fill(here, BYTES, 0, 1);
	for (uint64_t shift = 8; shift <= 65536; shift *= 2) {
		gp_pattern_fill(there, BYTES, shift, 1);
		for (int i = 0; i < WORDS; i++)
			assert_true(here[i] != there[i]);
	}
}

static void test_another_round_differs_in_every_word(void **state)
{
	static uint64_t mine[WORDS], other[WORDS];
	uint64_t seed = gp_pattern_seed(42, 0, 0);

	(void)state;
	gp_pattern_fill(mine, BYTES, 0, seed);
	for (uint64_t round = 0; round < 8; round++)
		for (uint64_t direction = 0; direction < 2; direction++) {
			if (round == 0 && direction == 0)
				continue;
			gp_pattern_fill(other, BYTES, 0, gp_pattern_seed(42, round, direction));
			for (int i = 0; i < WORDS; i++)
				assert_true(mine[i] != other[i]);
		}
}

static void test_seeds_differ_by_nonce_round_and_direction(void **state)
{
	static uint64_t seeds[8 * 64 * 2];
	int n = 0;

	(void)state;
	for (uint64_t nonce = 0; nonce < 8; nonce++)
		for (uint64_t round = 0; round < 64; round++)
			for (uint64_t direction = 0; direction < 2; direction++)
				seeds[n++] = gp_pattern_seed(nonce, round, direction);
	qsort(seeds, (size_t)n, sizeof(*seeds), compare_words);
	for (int i = 1; i < n; i++)
		assert_true(seeds[i - 1] != seeds[i]);
	assert_int_equal(gp_pattern_seed(7, 3, 1), gp_pattern_seed(7, 3, 1));
}

/* Zeroed or constant memory must not pass for data. */
static void test_words_use_their_bits(void **state)
{
	static uint64_t words[WORDS];
	uint64_t any = 0, all = UINT64_MAX;

	(void)state;
	gp_pattern_fill(words, BYTES, 0, gp_pattern_seed(1, 1, 0));
	for (int i = 0; i < WORDS; i++) {
		any |= words[i];
		all &= words[i];
	}
	assert_true(any == UINT64_MAX);
	assert_true(all == 0);
}

static void test_differ_counts_bytes_and_finds_the_first(void **state)
{
	unsigned char a[100], b[100];
	uint64_t first = 999;

	(void)state;
	memset(a, 1, sizeof(a));
	memcpy(b, a, sizeof(a));
	assert_int_equal(gp_pattern_differ(a, b, sizeof(a), &first), 0);
	assert_int_equal(gp_pattern_differ(a, b, 0, &first), 0);
	assert_int_equal(first, 999);
	a[99] = 2;
	assert_int_equal(gp_pattern_differ(a, b, sizeof(a), &first), 1);
	assert_int_equal(first, 99);
	assert_int_equal(gp_pattern_differ(a, b, 99, &first), 0);
	a[17] = a[18] = 0;
	assert_int_equal(gp_pattern_differ(a, b, sizeof(a), &first), 3);
	assert_int_equal(first, 17);
	a[0] = 7;
	assert_int_equal(gp_pattern_differ(a, b, sizeof(a), &first), 4);
	assert_int_equal(first, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_make_the_whole),
		cmocka_unit_test(test_fill_writes_just_what_was_asked),
		cmocka_unit_test(test_no_two_positions_are_alike),
		cmocka_unit_test(test_shifted_data_differs_in_every_word),
		cmocka_unit_test(test_another_round_differs_in_every_word),
		cmocka_unit_test(test_seeds_differ_by_nonce_round_and_direction),
		cmocka_unit_test(test_words_use_their_bits),
		cmocka_unit_test(test_differ_counts_bytes_and_finds_the_first),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
