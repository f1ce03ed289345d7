/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_nccl: any bytes as the lines of an NCCL log.
 */
#include "nccl.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	char *text = malloc(size + 1), *rest = text, *line;
	struct gp_nccl nccl;
	int number = 0;

	if (!text)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	gp_nccl_init(&nccl);
	while ((line = strsep(&rest, "\n")))
		gp_nccl_line(&nccl, line, ++number);
	free(text);
	return 0;
}
