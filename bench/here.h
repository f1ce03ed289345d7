/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * here: this host by the facts and rules of `gdrproof path`: for the reason of a path that could
 * not be had (whether it can be had is found by trying), and for the record.
 */
#ifndef GP_HERE_H
#define GP_HERE_H

#include "cuda.h"
#include "inventory.h"

#include <stdbool.h>
#include <stddef.h>

/* What CUDA said: its versions (0: not told) and GPUs; borrowed. */
struct gp_here_cuda {
	struct gp_cuda_versions versions;
	const struct gp_gpu *gpus;
	int n_gpus;
};

/* gp_inventory_live() with CUDA's own answers in it. */
int gp_here_read(struct gp_inventory *inv, bool with_commands, const struct gp_here_cuda *cuda,
		 struct gp_error *err);

/*
 * The first prerequisite of `path` ("dmabuf", "peermem") that is known to be missing here, as one
 * sentence with its line: "driver: proprietary 535.183.06 (\"NVRM version: ...\")". False, and an
 * empty text, where nothing is known to be missing, or the path has no prerequisites of its own.
 * Reads a few files; runs nothing.
 */
bool gp_here_missing(const char *path, char *text, size_t size);

/*
 * For the record: {"path", "confidence", "conditions", "decided_by", "prerequisites", "driver",
 * "ofed"}, the first five as a node of `path --json` (results/path.schema.json) has them, the last
 * two as texts ("open 570.86.15", "23.10-1.1.9", "none") or null where not known. Reads files only.
 * A new reference; NULL where it can't be had.
 */
json_t *gp_here_describe(const struct gp_here_cuda *cuda);

#endif
