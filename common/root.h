/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * root: the files of a machine, live or captured.
 *
 * A live root is "/"; a capture is a directory that mirrors parts of one. Everything is read below
 * the root's descriptor, bounded in size, and a link in a capture never leads out of it. Absence is
 * an answer, not an error. The one thing that acts, running a read-only command, is refused on a
 * capture.
 */
#ifndef GP_ROOT_H
#define GP_ROOT_H

#include "err.h"

#include <stdbool.h>
#include <stddef.h>

/* The largest file that is read as a whole: a long dmesg, but never a disk image. */
#define GP_ROOT_FILE_MAX ((size_t)64 << 20)

struct gp_root {
	int fd; /* -1: closed */
	bool live;
};

/* A text that was read: `bytes` long, NUL behind it, freed by the caller. */
struct gp_bytes {
	char *text;
	size_t length;
};

/* Open "/" (path NULL) or a capture directory. Errors: GP_EXIT_USAGE. */
int gp_root_open(const char *path, struct gp_root *root, struct gp_error *err);

/* Takes a closed one. */
void gp_root_close(struct gp_root *root);

/*
 * Read a regular file below the root. Returns 0; -1 where it can't be read, is no regular file or
 * is larger than GP_ROOT_FILE_MAX, with one sentence in `err` (GP_EXIT_USAGE). `path` is relative.
 */
int gp_root_read(const struct gp_root *root, const char *path, struct gp_bytes *out,
		 struct gp_error *err);

/* The same for a path outside any root, "-" being standard input. */
int gp_root_read_file(const char *path, struct gp_bytes *out, struct gp_error *err);

bool gp_root_exists(const struct gp_root *root, const char *path);
bool gp_root_is_directory(const struct gp_root *root, const char *path);

/* The last component of where a link points to ("mlx5_core"); false where it is no link. */
bool gp_root_link_name(const struct gp_root *root, const char *path, char *name, size_t size);

/* Names in a directory without "." and "..", sorted; at most `max`. Returns their number, 0 where
 * there is none. The caller frees *names with gp_root_names_free(). */
int gp_root_list(const struct gp_root *root, const char *path, int max, char ***names);
void gp_root_names_free(char **names, int n);

/*
 * Run a command that only reads, without a shell, and collect what it writes to standard output
 * and standard error, at most 1 MiB. It is killed with its children at `timeout_ms`. Returns 0,
 * also where it failed (its message is the output); 1 where there is no such command; -1 on a
 * capture, on a time-out or where it could not be started, with the reason in `err`.
 */
int gp_root_run(const struct gp_root *root, const char *const argv[], int timeout_ms,
		struct gp_bytes *out, struct gp_error *err);

#endif
