/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_file: small files, links and directories below a root directory that may be a capture.
 *
 * A link in a capture, absolute or full of "..", never leads out of it (openat2 with
 * RESOLVE_IN_ROOT, Linux 5.6). Where the kernel has no openat2, links are followed plainly.
 */
#ifndef GP_TOPO_FILE_H
#define GP_TOPO_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* openat() that can't leave the root. */
int gp_file_open(int root_fd, const char *path, int flags);

/* Read at most size - 1 bytes; ends are trimmed of white space, a NUL is put behind. Returns the
 * bytes read, -1 where there is no such file. Paths are relative to `root_fd`. */
int gp_file_text(int root_fd, char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The same without trimming, for files that are not text. */
int gp_file_bytes(int root_fd, void *bytes, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* As an integer in base 10 or, with 0x, 16. */
long gp_file_int(int root_fd, long missing, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Where a link points to, as written in it; false where it is no link. */
bool gp_file_link(int root_fd, char *target, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool gp_file_exists(int root_fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Names in a directory, without those that begin with a dot, sorted; at most `max`. The caller
 * frees *names with gp_names_free(). Returns their number, 0 where there is no such directory. */
int gp_file_list(int root_fd, char ***names, int max, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void gp_names_free(char **names, int n);

#endif
