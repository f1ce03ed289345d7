/* SPDX-License-Identifier: BSD-2-Clause */
/* pattern: see pattern.h. */
#include "pattern.h"

#include <string.h>

/* A bijection of 64-bit words: no two positions of a region carry the same word. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= UINT64_C(0x7fb5d329728ea185);
	x ^= x >> 29;
	return x;
}

void gp_pattern_fill(void *buf, uint64_t bytes, uint64_t offset, uint64_t seed)
{
	uint64_t words = bytes / 8, index = offset / 8;
	unsigned char *p = buf;
	uint64_t word;

	for (uint64_t i = 0; i < words; i++) {
		word = mix(index + i + seed);
		memcpy(p + i * 8, &word, 8);
	}
	word = mix(index + words + seed);
	memcpy(p + words * 8, &word, bytes % 8);
}

uint64_t gp_pattern_differ(const void *buf, const void *expected, uint64_t bytes, uint64_t *first)
{
	const unsigned char *a = buf, *b = expected;
	uint64_t wrong = 0;

	if (memcmp(a, b, bytes) == 0)
		return 0;
	for (uint64_t i = 0; i < bytes; i++) {
		if (a[i] == b[i])
			continue;
		if (wrong++ == 0)
			*first = i;
	}
	return wrong;
}

uint64_t gp_pattern_seed(uint64_t nonce, uint64_t round, uint64_t direction)
{
	return mix(nonce + mix(round * 2 + direction + 1));
}
