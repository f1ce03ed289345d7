/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prerequisite: what this host lacks for a path, by the same facts and rules as `gdrproof path`.
 * For the reason of a path that could not be had; whether it can be had is found by trying.
 */
#ifndef GP_PREREQUISITE_H
#define GP_PREREQUISITE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The first prerequisite of `path` ("dmabuf", "peermem") that is known to be missing here, as one
 * sentence with its line: "driver: proprietary 535.183.06 (\"NVRM version: ...\")". False, and an
 * empty text, where nothing is known to be missing, or the path has no prerequisites of its own.
 * Reads a few files; runs nothing.
 */
bool gp_prerequisite_missing(const char *path, char *text, size_t size);

#endif
