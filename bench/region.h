/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * region: a piece of GPU or host memory that can be filled with the pattern and checked against it.
 * GPU memory is only ever touched through CUDA.
 */
#ifndef GP_REGION_H
#define GP_REGION_H

#include "cuda.h"
#include "err.h"

#include <stdint.h>

struct gp_region {
	struct gp_cuda *cuda; /* NULL: host memory */
	void *addr;
	uint64_t bytes;
	void *block, *expected; /* scratch of fill and check */
};

/* cudaMalloc; or, where cuda is NULL, host memory on NUMA node `node` (-1: anywhere). */
int gp_region_open(struct gp_cuda *cuda, uint64_t bytes, int node, struct gp_region *region,
		   struct gp_error *err);
/* May be called twice, and on a zeroed region. */
void gp_region_close(struct gp_region *region);

/* Put the pattern of `seed` into [from, from + bytes); positions count from `from`. */
int gp_region_fill(struct gp_region *region, uint64_t from, uint64_t bytes, uint64_t seed,
		   struct gp_error *err);

/* What check found, added to what is there. */
struct gp_check {
	uint64_t checked_bytes, wrong_bytes;
	uint64_t first_wrong; /* offset in the region, where wrong_bytes > 0 */
};

/*
 * Read back `count` messages of `size` bytes, `stride` apart, the first at `from`, and compare them
 * with the pattern whose position 0 is at `origin`. With `sample`, one block in sixteen is read.
 */
struct gp_span {
	uint64_t origin, from, size, stride, count;
};
int gp_region_check(struct gp_region *region, const struct gp_span *span, uint64_t seed,
		    bool sample, struct gp_check *check, struct gp_error *err);

#endif
