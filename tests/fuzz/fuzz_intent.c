/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_intent: any bytes as YAML, JSON or `kubectl describe` of a cluster.
 */
#include "intent.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct gp_inventory inv = {0};
	struct gp_segments segments;
	char *text = malloc(size + 1);
	char why[100];

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (gp_segments_read(text, size, NULL, &segments) == 0)
		for (int i = 0; i < segments.n; i++) {
			gp_intent_yaml(&inv, segments.item[i].lines, segments.item[i].n, "fuzz",
				       why, sizeof(why));
			gp_intent_read(&inv, &segments.item[i], "fuzz");
		}
	gp_segments_close(&segments);
	gp_inventory_close(&inv);
	free(text);
	return 0;
}
