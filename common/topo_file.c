/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_file: the openat helpers of the topology readers. Absence is an answer here, never an error:
 * most of sysfs is optional.
 */
#include "topo_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int gp_file_open(int root_fd, const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
		fd = openat(root_fd, path, flags | O_CLOEXEC);
	return (int)fd;
}

/* vsnprintf that refuses what does not fit: a cut path is another path. */
static bool path_make(char *path, size_t size, const char *fmt, va_list args)
{
	int n = vsnprintf(path, size, fmt, args);

	return n > 0 && (size_t)n < size;
}

static int read_all(int root_fd, const char *path, char *bytes, size_t size)
{
	int fd = gp_file_open(root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	size_t used = 0;
	ssize_t got = 0;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -1;
	}
	while (used < size && (got = read(fd, bytes + used, size - used)) > 0)
		used += (size_t)got;
	close(fd);
	/* sysfs answers -EINVAL and the like for what a device does not have */
	return used == 0 && got < 0 ? -1 : (int)used;
}

int gp_file_bytes(int root_fd, void *bytes, size_t size, const char *fmt, ...)
{
	char path[1024];
	va_list args;
	bool fits;

	va_start(args, fmt);
	fits = path_make(path, sizeof(path), fmt, args);
	va_end(args);
	return fits ? read_all(root_fd, path, bytes, size) : -1;
}

static int text_read(int root_fd, const char *path, char *text, size_t size)
{
	int n = read_all(root_fd, path, text, size - 1), from = 0;

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

int gp_file_text(int root_fd, char *text, size_t size, const char *fmt, ...)
{
	char path[1024];
	va_list args;
	bool fits;

	text[0] = 0;
	va_start(args, fmt);
	fits = path_make(path, sizeof(path), fmt, args);
	va_end(args);
	return fits ? text_read(root_fd, path, text, size) : -1;
}

long gp_file_int(int root_fd, long missing, const char *fmt, ...)
{
	char path[1024], text[64], *end;
	va_list args;
	bool fits;
	long value;

	va_start(args, fmt);
	fits = path_make(path, sizeof(path), fmt, args);
	va_end(args);
	if (!fits || text_read(root_fd, path, text, sizeof(text)) <= 0)
		return missing;
	errno = 0;
	value = strtol(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	return errno || *end ? missing : value;
}

bool gp_file_link(int root_fd, char *target, size_t size, const char *fmt, ...)
{
	char path[1024];
	va_list args;
	ssize_t n;
	bool fits;
	int fd;

	va_start(args, fmt);
	fits = path_make(path, sizeof(path), fmt, args);
	va_end(args);
	fd = fits ? gp_file_open(root_fd, path, O_PATH | O_NOFOLLOW) : -1;
	if (fd < 0)
		return false;
	n = readlinkat(fd, "", target, size - 1);
	close(fd);
	if (n <= 0 || (size_t)n >= size - 1)
		return false;
	target[n] = 0;
	return true;
}

bool gp_file_exists(int root_fd, const char *fmt, ...)
{
	char path[1024];
	va_list args;
	bool fits;
	int fd;

	va_start(args, fmt);
	fits = path_make(path, sizeof(path), fmt, args);
	va_end(args);
	fd = fits ? gp_file_open(root_fd, path, O_PATH) : -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int list_read(DIR *dir, char **names, int max)
{
	struct dirent *entry;
	int n = 0;

	while (n < max && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		names[n] = strdup(entry->d_name);
		if (!names[n])
			break;
		n++;
	}
	qsort(names, (size_t)n, sizeof(*names), by_name);
	return n;
}

int gp_file_list(int root_fd, char ***names, int max, const char *fmt, ...)
{
	char path[1024];
	va_list args;
	bool fits;
	int fd, n = 0;
	DIR *dir;

	*names = NULL;
	va_start(args, fmt);
	fits = path_make(path, sizeof(path), fmt, args);
	va_end(args);
	fd = fits ? gp_file_open(root_fd, path, O_RDONLY | O_DIRECTORY) : -1;
	if (fd < 0)
		return 0;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return 0;
	}
	*names = calloc((size_t)max, sizeof(**names));
	if (*names)
		n = list_read(dir, *names, max);
	closedir(dir);
	return n;
}

void gp_names_free(char **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}
