/* SPDX-License-Identifier: BSD-2-Clause */
/* region: see region.h. */
#include "region.h"
#include "pattern.h"
#include "place.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (4 * GP_MIB)
#define SAMPLE_STEP 16

int gp_region_open(struct gp_cuda *cuda, uint64_t bytes, int node, struct gp_region *region,
		   struct gp_error *err)
{
	*region = (struct gp_region){.cuda = cuda, .bytes = bytes};
	region->block = malloc(BLOCK_BYTES);
	region->expected = malloc(BLOCK_BYTES);
	if (!region->block || !region->expected)
		gp_error_set(err, GP_EXIT_FAILED, "out of memory for the check's buffers");
	else if (cuda)
		gp_cuda_alloc(cuda, bytes, &region->addr, err);
	else
		gp_place_alloc(bytes, node, &region->addr, err);
	if (region->addr)
		return 0;
	gp_region_close(region);
	return -1;
}

void gp_region_close(struct gp_region *region)
{
	if (region->addr && region->cuda)
		gp_cuda_free(region->cuda, region->addr);
	else
		gp_place_free(region->addr, region->bytes);
	free(region->block);
	free(region->expected);
	*region = (struct gp_region){0};
}

static int copy(struct gp_region *region, void *dst, const void *src, uint64_t bytes,
		struct gp_error *err)
{
	if (region->cuda)
		return gp_cuda_copy(region->cuda, dst, src, bytes, err);
	memcpy(dst, src, bytes);
	return 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int gp_region_fill(struct gp_region *region, uint64_t from, uint64_t bytes, uint64_t seed,
		   struct gp_error *err)
{
	for (uint64_t done = 0; done < bytes;) {
		uint64_t part = min_u64(BLOCK_BYTES, bytes - done);

		gp_pattern_fill(region->block, part, done, seed);
		if (copy(region, (char *)region->addr + from + done, region->block, part, err) < 0)
			return -1;
		done += part;
	}
	return 0;
}

/* Compare the messages in one block that is already read back; `at` is its offset in the region. */
static void compare_block(struct gp_region *region, const struct gp_span *span, uint64_t at,
			  uint64_t messages, struct gp_check *check)
{
	uint64_t pieces = span->size == span->stride ? 1 : messages;
	uint64_t piece_bytes = pieces == 1 ? messages * span->size : span->size;

	for (uint64_t i = 0; i < pieces; i++) {
		uint64_t offset = i * span->stride, first = 0;
		uint64_t wrong =
			gp_pattern_differ((char *)region->block + offset,
					  (char *)region->expected + offset, piece_bytes, &first);

		if (wrong && check->wrong_bytes == 0)
			check->first_wrong = at + offset + first;
		check->wrong_bytes += wrong;
		check->checked_bytes += piece_bytes;
	}
}

/* A message larger than a block is checked in parts: it is then a span of its own, gapless. */
static int check_large(struct gp_region *region, const struct gp_span *span, uint64_t seed,
		       bool sample, struct gp_check *check, struct gp_error *err)
{
	for (uint64_t i = 0; i < span->count; i++) {
		uint64_t from = span->from + i * span->stride;
		struct gp_span whole = {span->origin, from, BLOCK_BYTES, BLOCK_BYTES,
					span->size / BLOCK_BYTES};
		struct gp_span rest = {span->origin, from + whole.count * BLOCK_BYTES,
				       span->size % BLOCK_BYTES, span->size % BLOCK_BYTES, 1};

		if (whole.count && gp_region_check(region, &whole, seed, sample, check, err) < 0)
			return -1;
		if (rest.size && gp_region_check(region, &rest, seed, sample, check, err) < 0)
			return -1;
	}
	return 0;
}

int gp_region_check(struct gp_region *region, const struct gp_span *span, uint64_t seed,
		    bool sample, struct gp_check *check, struct gp_error *err)
{
	uint64_t per_block = BLOCK_BYTES / span->stride;
	uint64_t step;

	if (per_block == 0)
		return check_large(region, span, seed, sample, check, err);
	/* At most a sixteenth of what landed, spread over it; the whole of what is small. */
	if (sample && per_block > span->count / SAMPLE_STEP && span->count > SAMPLE_STEP)
		per_block = span->count / SAMPLE_STEP;
	step = sample && span->count > SAMPLE_STEP ? per_block * SAMPLE_STEP : per_block;
	for (uint64_t i = 0; i < span->count; i += step) {
		uint64_t messages = min_u64(per_block, span->count - i);
		uint64_t at = span->from + i * span->stride;
		uint64_t bytes = (messages - 1) * span->stride + span->size;

		if (copy(region, region->block, (char *)region->addr + at, bytes, err) < 0)
			return -1;
		gp_pattern_fill(region->expected, bytes, at - span->origin, seed);
		compare_block(region, span, at, messages, check);
	}
	return 0;
}
