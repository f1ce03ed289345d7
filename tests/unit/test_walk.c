/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_walk: how messages and chunks lie in the region, by painting every byte of it. Each message
 * is covered exactly once in a walk, nothing lies outside, and the batches that fill the walk fit.
 */
#include "bw_options.h"
#include "loop.h"
#include "staging.h"
#include "units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const uint64_t sizes[] = {
	1,	    2,
	3,	    63,
	64,	    65,
	100,	    127,
	128,	    1000,
	4096,	    4097,
	65536,	    131072,
	131136,	    262143,
	262144,	    262145,
	524288,	    GP_MIB - 64,
	GP_MIB - 1, GP_MIB,
	GP_MIB + 1, GP_MIB + 64,
	3000000,    2 * GP_MIB + 63,
	5 * GP_MIB, 8 * GP_MIB,
};

static const struct gp_tuning tunings[] = {{GP_MIB, 8}, {4096, 2}, {12288, 64}, {4 * GP_MIB, 32}};

static struct gp_bw_options defaults(void)
{
	struct gp_bw_options opt = {0};

	gp_options_default(&gp_bw_table, &opt);
	return opt;
}

/* A map of the region: one byte for each of its bytes, set where it is painted. */
struct canvas {
	unsigned char *cell;
	uint64_t bytes;
};

static struct canvas canvas_open(uint64_t bytes)
{
	struct canvas canvas = {calloc(1, bytes), bytes};

	assert_non_null(canvas.cell);
	return canvas;
}

/* Fails where a byte lies outside, or is painted a second time. */
static void paint(struct canvas *canvas, uint64_t offset, uint64_t bytes)
{
	assert_true(bytes <= canvas->bytes && offset <= canvas->bytes - bytes);
	if (memchr(canvas->cell + offset, 1, bytes))
		fail_msg("a byte in %llu bytes at %llu is covered twice", (unsigned long long)bytes,
			 (unsigned long long)offset);
	memset(canvas->cell + offset, 1, bytes);
}

static void expect_painted(const struct canvas *canvas, uint64_t offset, uint64_t bytes)
{
	if (memchr(canvas->cell + offset, 0, bytes))
		fail_msg("a byte in %llu bytes at %llu is not covered", (unsigned long long)bytes,
			 (unsigned long long)offset);
}

static void test_stride_is_the_size_in_cache_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		uint64_t stride = gp_bw_stride(sizes[i]);

		assert_int_equal(stride % 64, 0);
		assert_true(stride >= sizes[i] && stride - sizes[i] < 64);
		assert_true(stride >= 64);
	}
}

static void test_lanes_of_a_walk_never_overlap(void **state)
{
	static const struct {
		int lanes, batch;
	} rows[] = {{1, 1}, {1, 16}, {2, 1}, {3, 5}, {7, 16}, {16, 128}, {256, 1}};

	(void)state;
	for (size_t s = 0; s < COUNT(sizes); s++)
		for (size_t r = 0; r < COUNT(rows); r++) {
			struct gp_bw_options opt = defaults();
			struct gp_walk walk;
			struct canvas canvas;
			uint64_t bytes;

			opt.region_bytes = GP_MIB;
			opt.qps = rows[r].lanes;
			opt.tx_depth = 128;
			opt.cq_mod = opt.post_list = rows[r].batch;
			opt.size = (struct gp_size_list){1, {sizes[s]}};
			bytes = gp_bw_region_bytes(&opt);
			if (bytes > 16 * GP_MIB)
				continue; /* the map would be large */
			walk = gp_walk_plan(bytes, sizes[s], rows[r].lanes, rows[r].batch);
			assert_int_equal(walk.lanes, rows[r].lanes);
			assert_int_equal(walk.size, sizes[s]);
			assert_int_equal(walk.stride, gp_bw_stride(sizes[s]));
			assert_true(walk.slots >= (uint64_t)rows[r].batch);
			assert_int_equal(walk.slots % (uint64_t)rows[r].batch, 0);
			canvas = canvas_open(bytes);
			for (int lane = 0; lane < walk.lanes; lane++)
				for (uint64_t slot = 0; slot < walk.slots; slot++)
					paint(&canvas,
					      gp_walk_begin(&walk, lane) + slot * walk.stride,
					      walk.size);
			free(canvas.cell);
		}
}

/* At most a batch of each lane may be left over at the end of the region. */
static void test_walk_uses_the_region(void **state)
{
	static const struct {
		uint64_t bytes, size;
		int lanes, batch;
		uint64_t slots;
	} rows[] = {
		{64 * GP_MIB, GP_MIB, 1, 1, 64},    {64 * GP_MIB, GP_MIB, 1, 16, 64},
		{64 * GP_MIB, GP_MIB, 4, 16, 16},   {64 * GP_MIB, GP_MIB, 3, 1, 21},
		{64 * GP_MIB, GP_MIB, 3, 16, 16},   {GP_MIB, 2, 1, 16, 16384},
		{GP_MIB, 65, 1, 1, 8192},	    {GP_MIB, 1000, 1, 16, 1024},
		{GP_MIB + 65535, 1024, 1, 1, 1087}, {0, 1, 1, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(
			gp_walk_plan(rows[i].bytes, rows[i].size, rows[i].lanes, rows[i].batch)
				.slots,
			rows[i].slots);
}

static void cover(uint64_t region, uint64_t size, const struct gp_tuning *tuning)
{
	struct gp_chunking cut = gp_chunking_plan(region, size, tuning);
	uint64_t messages = cut.walk_chunks / cut.per_message * cut.messages;
	struct canvas canvas;

	if (gp_bw_stride(size) > region)
		return; /* no region is smaller than its largest message */
	assert_true(cut.walk_chunks > 0);
	assert_int_equal(cut.walk_chunks % cut.per_message, 0);
	assert_true(cut.per_message == 1 || cut.messages == 1);
	assert_true(cut.chunk_bytes <= tuning->chunk_bytes); /* a slot holds it */
	canvas = canvas_open(region);
	for (uint64_t k = 0; k < cut.walk_chunks; k++) {
		assert_true(gp_chunk_bytes(&cut, k) > 0);
		assert_true(gp_chunk_bytes(&cut, k) <= cut.chunk_bytes);
		paint(&canvas, gp_chunk_offset(&cut, k), gp_chunk_bytes(&cut, k));
	}
	for (uint64_t m = 0; m < messages; m++)
		expect_painted(&canvas, m * cut.stride, cut.size);
	/* and no walk leaves out what would still have fitted */
	assert_true((messages + cut.messages) * cut.stride > region);
	free(canvas.cell);
}

static void test_chunks_cover_each_message_once(void **state)
{
	static const uint64_t regions[] = {GP_MIB, 9 * GP_MIB + 64 * GP_KIB};

	(void)state;
	for (size_t s = 0; s < COUNT(sizes); s++)
		for (size_t r = 0; r < COUNT(regions); r++)
			for (size_t t = 0; t < COUNT(tunings); t++)
				cover(regions[r], sizes[s], &tunings[t]);
}

static void test_chunks_go_round_and_round(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT(sizes); s++) {
		struct gp_chunking cut = gp_chunking_plan(16 * GP_MIB, sizes[s], &tunings[0]);

		for (uint64_t k = 0; k < cut.walk_chunks; k += 1 + cut.walk_chunks / 50) {
			uint64_t later = k + 12345 * cut.walk_chunks;

			assert_int_equal(gp_chunk_offset(&cut, k), gp_chunk_offset(&cut, later));
			assert_int_equal(gp_chunk_bytes(&cut, k), gp_chunk_bytes(&cut, later));
		}
	}
}

/* A message's chunks follow one another, so that the last of them completes it. */
static void test_chunks_of_a_large_message_are_in_order(void **state)
{
	struct gp_chunking cut = gp_chunking_plan(16 * GP_MIB, 2 * GP_MIB + 63, &tunings[0]);

	(void)state;
	assert_int_equal(cut.per_message, 3);
	for (uint64_t m = 0; m < cut.walk_chunks / 3; m++) {
		uint64_t at = m * cut.stride;

		for (uint64_t i = 0; i < 3; i++) {
			assert_int_equal(gp_chunk_offset(&cut, 3 * m + i), at);
			at += gp_chunk_bytes(&cut, 3 * m + i);
		}
		assert_int_equal(at, m * cut.stride + cut.size);
	}
}

static void test_small_messages_share_a_chunk(void **state)
{
	static const struct {
		uint64_t size, messages, per_message;
	} rows[] = {
		{2, 512, 1},	{64, 512, 1},	    {512, 512, 1},	{2048, 512, 1},
		{65536, 16, 1}, {131072, 8, 1},	    {131073, 4, 1},	{262144, 4, 1},
		{GP_MIB, 1, 1}, {GP_MIB + 1, 1, 2}, {8 * GP_MIB, 1, 8}, {GP_GIB, 1, 1024},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_chunking cut = gp_chunking_plan(4 * GP_GIB, rows[i].size, &tunings[0]);

		assert_int_equal(cut.messages, rows[i].messages);
		assert_int_equal(cut.per_message, rows[i].per_message);
	}
}

static void test_staged_walk_is_where_the_chunks_are(void **state)
{
	(void)state;
	for (size_t s = 0; s < COUNT(sizes); s++) {
		struct gp_rig rig = {.half_bytes = 16 * GP_MIB, .tuning = tunings[0]};
		struct gp_chunking cut = gp_chunking_plan(rig.half_bytes, sizes[s], &tunings[0]);
		struct gp_walk walk = gp_staging_walk(&rig, sizes[s]);
		uint64_t last = cut.walk_chunks - 1;

		assert_int_equal(walk.lanes, 1);
		assert_int_equal(walk.size, sizes[s]);
		assert_int_equal(walk.stride, cut.stride);
		assert_int_equal((walk.slots - 1) * walk.stride + walk.size,
				 gp_chunk_offset(&cut, last) + gp_chunk_bytes(&cut, last));
	}
}

static void test_batch_is_what_was_asked_or_chosen(void **state)
{
	static const struct {
		int tx_depth, post_list, cq_mod;
		uint64_t size;
		int want_post_list, want_cq_mod, want_messages;
	} rows[] = {
		/* auto: by the depth, at most 16, at most 8 MiB, a power of two */
		{128, 0, 0, 2, 16, 16, 16},
		{128, 0, 0, GP_MIB, 8, 8, 8},
		{128, 0, 0, 8 * GP_MIB, 1, 1, 1},
		{128, 0, 0, GP_GIB, 1, 1, 1},
		{127, 0, 0, 2, 8, 8, 8},
		{16384, 0, 0, 2, 16, 16, 16},
		{16, 0, 0, 2, 2, 2, 2},
		{1, 0, 0, 2, 1, 1, 1},
		{128, 0, 0, 3 * GP_MIB, 2, 2, 2},
		/* one given: the other follows */
		{128, 4, 0, 2, 4, 4, 4},
		{128, 0, 32, 2, 32, 32, 32},
		/* both given */
		{128, 4, 8, 2, 4, 8, 8},
		{128, 8, 4, 2, 8, 4, 8},
		{1, 1, 1, GP_GIB, 1, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_bw_options opt = defaults();
		struct gp_batch batch;

		opt.tx_depth = rows[i].tx_depth;
		opt.post_list = rows[i].post_list;
		opt.cq_mod = rows[i].cq_mod;
		batch = gp_bw_batch(&opt, rows[i].size);
		assert_int_equal(batch.post_list, rows[i].want_post_list);
		assert_int_equal(batch.cq_mod, rows[i].want_cq_mod);
		assert_int_equal(batch.messages, rows[i].want_messages);
	}
}

/* The loop posts whole batches: whatever the options, they must divide and fit the queue. */
static void test_batch_always_fits(void **state)
{
	(void)state;
	for (int depth = 1; depth <= 300; depth++)
		for (size_t s = 0; s < COUNT(sizes); s++)
			for (int given = 0; given <= depth; given += 1 + depth / 7) {
				struct gp_bw_options opt = defaults();
				struct gp_batch batch;

				opt.tx_depth = depth;
				opt.post_list = given;
				batch = gp_bw_batch(&opt, sizes[s]);
				assert_true(batch.post_list >= 1 && batch.cq_mod >= 1);
				assert_true(batch.messages <= depth);
				assert_int_equal(batch.messages % batch.post_list, 0);
				assert_int_equal(batch.messages % batch.cq_mod, 0);
			}
}

static void test_region_is_as_asked_or_as_needed(void **state)
{
	static const struct {
		uint64_t region;
		int qps, tx_depth;
		struct gp_size_list size;
		uint64_t bytes;
	} rows[] = {
		{256 * GP_MIB, 1, 128, {1, {GP_MIB}}, 256 * GP_MIB},
		{GP_MIB, 1, 1, {1, {64}}, GP_MIB},
		{GP_MIB + 1, 1, 1, {1, {64}}, GP_MIB + 64 * GP_KIB},
		{GP_MIB, 1, 1, {1, {GP_GIB}}, GP_GIB},
		{GP_MIB, 4, 1, {1, {GP_GIB}}, 4 * GP_GIB},
		{GP_MIB, 1, 128, {1, {GP_MIB}}, 8 * GP_MIB},
		{GP_MIB, 2, 128, {3, {64, 8 * GP_MIB, GP_MIB}}, 16 * GP_MIB},
		{GP_MIB, 1, 1, {1, {GP_MIB + 1}}, GP_MIB + 64 * GP_KIB},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_bw_options opt = defaults();

		opt.region_bytes = rows[i].region;
		opt.qps = rows[i].qps;
		opt.tx_depth = rows[i].tx_depth;
		opt.size = rows[i].size;
		assert_int_equal(gp_bw_region_bytes(&opt), rows[i].bytes);
	}
}

/* Whatever passes the rows' limits: every size has at least one batch of slots on each QP. */
static void test_region_holds_a_batch_of_every_size(void **state)
{
	static const int qps[] = {1, 3, 256}, depths[] = {1, 100, 16384}, mods[] = {0, 1, 100};

	(void)state;
	for (size_t q = 0; q < COUNT(qps); q++)
		for (size_t d = 0; d < COUNT(depths); d++)
			for (size_t m = 0; m < COUNT(mods); m++) {
				struct gp_bw_options opt = defaults();
				uint64_t bytes;

				opt.qps = qps[q];
				opt.tx_depth = depths[d];
				opt.cq_mod = mods[m] < depths[d] ? mods[m] : depths[d];
				opt.region_bytes = GP_MIB;
				opt.size = (struct gp_size_list){4, {1, 65, GP_MIB + 1, GP_GIB}};
				bytes = gp_bw_region_bytes(&opt);
				assert_int_equal(bytes % (64 * GP_KIB), 0);
				for (int s = 0; s < opt.size.n; s++) {
					uint64_t size = opt.size.bytes[s];
					int batch = gp_bw_batch(&opt, size).messages;
					struct gp_walk walk =
						gp_walk_plan(bytes, size, opt.qps, batch);

					assert_true(walk.slots >= (uint64_t)batch);
					assert_true(gp_chunking_plan(bytes, size, &tunings[0])
							    .walk_chunks > 0);
				}
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stride_is_the_size_in_cache_lines),
		cmocka_unit_test(test_lanes_of_a_walk_never_overlap),
		cmocka_unit_test(test_walk_uses_the_region),
		cmocka_unit_test(test_chunks_cover_each_message_once),
		cmocka_unit_test(test_chunks_go_round_and_round),
		cmocka_unit_test(test_chunks_of_a_large_message_are_in_order),
		cmocka_unit_test(test_small_messages_share_a_chunk),
		cmocka_unit_test(test_staged_walk_is_where_the_chunks_are),
		cmocka_unit_test(test_batch_is_what_was_asked_or_chosen),
		cmocka_unit_test(test_batch_always_fits),
		cmocka_unit_test(test_region_is_as_asked_or_as_needed),
		cmocka_unit_test(test_region_holds_a_batch_of_every_size),
	};

	return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
