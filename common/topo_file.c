/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_file: printf-like paths over the room `root`.
 */
#include "topo_file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct path {
	char text[1024];
	bool fits; /* a path that was cut is another path */
};

static struct path path_make(const char *fmt, va_list args)
{
	struct path path;
	int n = vsnprintf(path.text, sizeof(path.text), fmt, args);

	path.fits = n > 0 && (size_t)n < sizeof(path.text);
	return path;
}

#define PATH_MAKE(path, fmt)                 \
	do {                                 \
		va_list args;                \
                                             \
		va_start(args, fmt);         \
		path = path_make(fmt, args); \
		va_end(args);                \
	} while (0)

static int bytes_read(const struct gp_root *root, const struct path *path, void *bytes, size_t size)
{
	struct gp_error ignored = {0};
	struct gp_bytes got;
	size_t n;

	if (!path->fits || gp_root_read(root, path->text, &got, &ignored) < 0)
		return -1;
	n = got.length < size ? got.length : size;
	memcpy(bytes, got.text, n);
	free(got.text);
	return (int)n;
}

static int text_read(const struct gp_root *root, const struct path *path, char *text, size_t size)
{
	int n = bytes_read(root, path, text, size - 1), from = 0;

	text[n > 0 ? n : 0] = 0;
	if (n < 0)
		return -1;
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		text[--n] = 0;
	while (from < n && isspace((unsigned char)text[from]))
		from++;
	memmove(text, text + from, (size_t)(n - from) + 1);
	return n - from;
}

int gp_file_bytes(const struct gp_root *root, void *bytes, size_t size, const char *fmt, ...)
{
	struct path path;

	PATH_MAKE(path, fmt);
	return bytes_read(root, &path, bytes, size);
}

int gp_file_text(const struct gp_root *root, char *text, size_t size, const char *fmt, ...)
{
	struct path path;

	PATH_MAKE(path, fmt);
	return text_read(root, &path, text, size);
}

long gp_file_int(const struct gp_root *root, long missing, const char *fmt, ...)
{
	char text[64], *end;
	struct path path;
	long value;

	PATH_MAKE(path, fmt);
	if (text_read(root, &path, text, sizeof(text)) <= 0)
		return missing;
	errno = 0;
	value = strtol(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	return errno || *end ? missing : value;
}

/* The link itself, found without leaving the root where the kernel can see to that. */
static int link_open(const struct gp_root *root, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT};
	long fd = syscall(SYS_openat2, root->fd, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root->fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return (int)fd;
}

bool gp_file_link(const struct gp_root *root, char *target, size_t size, const char *fmt, ...)
{
	struct path path;
	ssize_t n;
	int fd;

	target[0] = 0;
	PATH_MAKE(path, fmt);
	fd = path.fits ? link_open(root, path.text) : -1;
	if (fd < 0)
		return false;
	n = readlinkat(fd, "", target, size);
	close(fd);
	if (n <= 0 || (size_t)n >= size)
		n = 0;
	target[n] = 0;
	return n > 0;
}

bool gp_file_exists(const struct gp_root *root, const char *fmt, ...)
{
	struct path path;

	PATH_MAKE(path, fmt);
	return path.fits && gp_root_exists(root, path.text);
}

int gp_file_list(const struct gp_root *root, char ***names, int max, const char *fmt, ...)
{
	struct path path;

	*names = NULL;
	PATH_MAKE(path, fmt);
	return path.fits ? gp_root_list(root, path.text, max, names) : 0;
}
