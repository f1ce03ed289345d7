/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_accept: any bytes as an acceptance file: read, or refused in one line; what was read can be
 * planned by.
 */
#include "accept.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct gp_bw_options opt;
	struct gp_accept accept;
	struct gp_error err = {0};

	if (gp_accept_parse((const char *)data, size, "f", &accept, &err) < 0) {
		if (!err.set || strchr(err.fact, '\n') || accept.rules)
			abort();
		return 0;
	}
	gp_options_default(&gp_bw_table, &opt);
	gp_accept_plan(&accept, 0, &opt, &err);
	gp_accept_free(&accept);
	return 0;
}
