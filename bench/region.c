/* SPDX-License-Identifier: BSD-2-Clause */
/* region: see region.h. */
#include "region.h"
#include "pattern.h"
#include "place.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (4 * GP_MIB)
/* A sample is one piece of so many bytes in sixteen. */
#define SAMPLE_BYTES (64 * GP_KIB)
#define SAMPLE_STEP  16

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

/* What is read back at a time: some whole messages, or part of one. */
struct piece {
	uint64_t at;	   /* offset in the region */
	uint64_t messages; /* 1 where it is a part */
	uint64_t size, stride;
};

/* Compare one piece that is already read back. */
static void compare_piece(struct gp_region *region, const struct piece *p, struct gp_check *check)
{
	uint64_t runs = p->size == p->stride ? 1 : p->messages;
	uint64_t run_bytes = runs == 1 ? p->messages * p->size : p->size;

	for (uint64_t i = 0; i < runs; i++) {
		uint64_t offset = i * p->stride, first = 0;
		uint64_t wrong =
			gp_pattern_differ((char *)region->block + offset,
					  (char *)region->expected + offset, run_bytes, &first);

		if (wrong && check->wrong_bytes == 0)
			check->first_wrong = p->at + offset + first;
		check->wrong_bytes += wrong;
		check->checked_bytes += run_bytes;
	}
}

/* How a span falls into pieces of at most `most` bytes. */
struct cut {
	uint64_t messages; /* per piece; 0: a message takes several pieces */
	uint64_t parts;	   /* pieces of a message, where it does */
	uint64_t pieces;   /* in all */
	uint64_t most;
};

static struct cut cut_span(const struct gp_span *span, uint64_t most)
{
	struct cut cut = {.messages = most / span->stride, .most = most};

	if (cut.messages) {
		cut.pieces = (span->count + cut.messages - 1) / cut.messages;
	} else {
		cut.parts = (span->size + most - 1) / most;
		cut.pieces = span->count * cut.parts;
	}
	return cut;
}

static struct piece get_piece(const struct gp_span *span, const struct cut *cut, uint64_t index)
{
	uint64_t first, before;

	if (cut->messages) {
		first = index * cut->messages;
		return (struct piece){.at = span->from + first * span->stride,
				      .messages = min_u64(cut->messages, span->count - first),
				      .size = span->size,
				      .stride = span->stride};
	}
	before = index % cut->parts * cut->most;
	return (struct piece){.at = span->from + index / cut->parts * span->stride + before,
			      .messages = 1,
			      .size = min_u64(cut->most, span->size - before),
			      .stride = cut->most};
}

int gp_region_check(struct gp_region *region, const struct gp_span *span, uint64_t seed,
		    bool sample, struct gp_check *check, struct gp_error *err)
{
	struct cut cut = cut_span(span, sample ? SAMPLE_BYTES : BLOCK_BYTES);
	/* Of little, all: a sixteenth of a few pieces would leave whole stretches unseen. */
	uint64_t step = sample && cut.pieces >= 4 * SAMPLE_STEP ? SAMPLE_STEP : 1;

	for (uint64_t i = 0; i < cut.pieces; i += step) {
		struct piece p = get_piece(span, &cut, i);
		uint64_t bytes = (p.messages - 1) * p.stride + p.size;

		if (copy(region, region->block, (char *)region->addr + p.at, bytes, err) < 0)
			return -1;
		gp_pattern_fill(region->expected, bytes, p.at - span->origin, seed);
		compare_piece(region, &p, check);
	}
	return 0;
}
