/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_file: small files and links of sysfs below a root, by a path that is put together on the
 * spot. Absence is an answer here, never an error: most of sysfs is optional.
 */
#ifndef GP_TOPO_FILE_H
#define GP_TOPO_FILE_H

#include "root.h"

/* The first size - 1 bytes at most, ends trimmed of white space, a NUL behind. Returns their
 * number, -1 and "" where there is no such file. */
int gp_file_text(const struct gp_root *root, char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The first bytes of a file that is no text; -1: there is none. */
int gp_file_bytes(const struct gp_root *root, void *bytes, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* An integer in base 10 or, with 0x, 16. */
long gp_file_int(const struct gp_root *root, long missing, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Where a link points to, as it is written there; false and "" where it is no link. */
bool gp_file_link(const struct gp_root *root, char *target, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Sorted names of a directory, 0 where there is none; gp_root_names_free(). */
int gp_file_list(const struct gp_root *root, char ***names, int max, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool gp_file_exists(const struct gp_root *root, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
