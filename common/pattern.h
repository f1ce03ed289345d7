/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pattern: bytes that say where they belong. Every 8-byte word is a function of its position in the
 * region and of a seed that differs for every round and direction, so that data which is stale,
 * shifted, or someone else's can't pass. Pure; works on host memory.
 */
#ifndef GP_PATTERN_H
#define GP_PATTERN_H

#include <stdint.h>

/* Fill buf with what stands at [offset, offset + bytes) of the region; offset a multiple of 8. */
void gp_pattern_fill(void *buf, uint64_t bytes, uint64_t offset, uint64_t seed);

/* How many of the bytes at buf are not `expected`; *first gets the index of the first such one. */
uint64_t gp_pattern_differ(const void *buf, const void *expected, uint64_t bytes, uint64_t *first);

/* A seed from a run's nonce and what the round is. */
uint64_t gp_pattern_seed(uint64_t nonce, uint64_t round, uint64_t direction);

#endif
