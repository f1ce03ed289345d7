/* SPDX-License-Identifier: BSD-2-Clause */
/* root: see root.h. */
#include "root.h"
#include "units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_OUTPUT_MAX ((size_t)1 << 20)
#define READ_STEP	   ((size_t)64 << 10)

int gp_root_open(const char *path, struct gp_root *root, struct gp_error *err)
{
	*root = (struct gp_root){.fd = -1};
	root->fd = open(path ? path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root->fd < 0)
		return gp_error_set(err, GP_EXIT_USAGE, "%s: %s", path ? path : "/",
				    strerror(errno));
	root->live = !path;
	return 0;
}

void gp_root_close(struct gp_root *root)
{
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}

/* openat() that can't leave the root; where the kernel has no openat2, links are followed. */
static int open_below(const struct gp_root *root, const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	long fd;

	path += strspn(path, "/");
	if (root->live)
		return openat(root->fd, path[0] ? path : ".", flags | O_CLOEXEC);
	fd = syscall(SYS_openat2, root->fd, path[0] ? path : ".", &how, sizeof(how));
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root->fd, path[0] ? path : ".", flags | O_CLOEXEC);
	return (int)fd;
}

/* Room for READ_STEP more bytes and a NUL; doubles. */
static int grow(struct gp_bytes *bytes, size_t *capacity)
{
	char *text;

	if (bytes->length + READ_STEP < *capacity)
		return 0;
	*capacity = (*capacity ? *capacity * 2 : 2 * READ_STEP);
	text = realloc(bytes->text, *capacity);
	if (!text)
		return -1;
	bytes->text = text;
	return 0;
}

/* Read to the end of `fd`; files of sysfs and procfs have no size to trust. */
static int read_all(int fd, size_t max, struct gp_bytes *out)
{
	size_t capacity = 0;
	ssize_t got;

	*out = (struct gp_bytes){0};
	for (;;) {
		if (grow(out, &capacity) < 0)
			return -ENOMEM;
		got = read(fd, out->text + out->length, READ_STEP);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		out->length += (size_t)got;
		if (out->length > max)
			return -EFBIG;
	}
	out->text[out->length] = '\0';
	return got < 0 ? -errno : 0;
}

/* Takes over `fd`. A pipe is taken where a person names one, not inside a capture. */
static int read_open(int fd, const char *path, bool regular_only, struct gp_bytes *out,
		     struct gp_error *err)
{
	struct gp_bytes bytes = {0};
	char limit[32];
	struct stat st;
	int rc = -EINVAL;

	if (fd < 0)
		return gp_error_set(err, GP_EXIT_USAGE, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || !regular_only))
		rc = st.st_size > (off_t)GP_ROOT_FILE_MAX ? -EFBIG
							  : read_all(fd, GP_ROOT_FILE_MAX, &bytes);
	close(fd);
	if (rc == 0) {
		*out = bytes;
		return 0;
	}
	free(bytes.text);
	if (rc == -EFBIG)
		return gp_error_set(err, GP_EXIT_USAGE, "%s: larger than the %s that are read",
				    path, gp_size_write(GP_ROOT_FILE_MAX, limit, sizeof(limit)));
	if (rc == -EINVAL)
		return gp_error_set(err, GP_EXIT_USAGE, "%s: not a regular file", path);
	return gp_error_set(err, GP_EXIT_USAGE, "%s: %s", path, strerror(-rc));
}

int gp_root_read(const struct gp_root *root, const char *path, struct gp_bytes *out,
		 struct gp_error *err)
{
	return read_open(open_below(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY), path, true, out,
			 err);
}

int gp_root_read_file(const char *path, struct gp_bytes *out, struct gp_error *err)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO)
					: open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

	return read_open(fd, path, false, out, err);
}

static bool stat_below(const struct gp_root *root, const char *path, struct stat *st)
{
	int fd = open_below(root, path, O_PATH);
	bool found;

	if (fd < 0)
		return false;
	found = fstat(fd, st) == 0;
	close(fd);
	return found;
}

bool gp_root_exists(const struct gp_root *root, const char *path)
{
	struct stat st;

	return stat_below(root, path, &st);
}

bool gp_root_is_directory(const struct gp_root *root, const char *path)
{
	struct stat st;

	return stat_below(root, path, &st) && S_ISDIR(st.st_mode);
}

bool gp_root_link_name(const struct gp_root *root, const char *path, char *name, size_t size)
{
	int fd = open_below(root, path, O_PATH | O_NOFOLLOW);
	char target[512];
	const char *slash;
	ssize_t n;

	if (fd < 0)
		return false;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	close(fd);
	if (n <= 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, size, "%s", slash ? slash + 1 : target);
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Room doubles at each power of two. */
static int name_add(char ***names, int n, const char *name)
{
	if ((n & (n - 1)) == 0) {
		char **more = realloc(*names, sizeof(**names) * (n ? 2 * (size_t)n : 1));

		if (!more)
			return -1;
		*names = more;
	}
	(*names)[n] = strdup(name);
	return (*names)[n] ? 0 : -1;
}

int gp_root_list(const struct gp_root *root, const char *path, int max, char ***names)
{
	int fd = open_below(root, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int n = 0;

	*names = NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (n < max && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (name_add(names, n, entry->d_name) < 0)
			break;
		n++;
	}
	closedir(dir);
	if (n > 1)
		qsort(*names, (size_t)n, sizeof(**names), by_name);
	return n;
}

void gp_root_names_free(char **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* --- a command --- */

/* Its own process group, so that it goes with its children; no standard input; C locale. */
static int start(const char *const argv[], int output_fd, pid_t *pid)
{
	static char *const environment[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:"
		"/usr/local/cuda/bin",
		"LC_ALL=C", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output_fd, STDERR_FILENO);
	rc = posix_spawnp(pid, argv[0], &actions, &attr, (char *const *)argv, environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* 0 at the end of the output, -1 at the deadline or the size bound. */
static int collect(int fd, uint64_t deadline_ns, struct gp_bytes *out)
{
	size_t capacity = 0;

	*out = (struct gp_bytes){0};
	for (;;) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		uint64_t now_ns = gp_now_ns();
		ssize_t got;

		if (now_ns >= deadline_ns || out->length > COMMAND_OUTPUT_MAX ||
		    grow(out, &capacity) < 0)
			return -1;
		if (poll(&pfd, 1, (int)((deadline_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		got = read(fd, out->text + out->length, READ_STEP);
		if (got <= 0) {
			out->text[out->length] = '\0';
			return 0;
		}
		out->length += (size_t)got;
	}
}

int gp_root_run(const struct gp_root *root, const char *const argv[], int timeout_ms,
		struct gp_bytes *out, struct gp_error *err)
{
	uint64_t deadline_ns = gp_now_ns() + (uint64_t)timeout_ms * 1000000;
	struct gp_bytes bytes = {0};
	int fds[2], rc;
	pid_t pid;

	if (!root->live)
		return gp_error_set(err, GP_EXIT_FAILED, "%s: nothing is run on a capture",
				    argv[0]);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "pipe2", "%s", argv[0]);
	rc = start(argv, fds[1], &pid);
	close(fds[1]);
	if (rc != 0) {
		close(fds[0]);
		return rc == ENOENT ? 1
				    : gp_error_errno(err, GP_EXIT_FAILED, rc, "posix_spawnp", "%s",
						     argv[0]);
	}
	rc = collect(fds[0], deadline_ns, &bytes);
	close(fds[0]);
	kill(-pid, SIGKILL); /* it has ended, or has to; children that linger go too */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (rc < 0) {
		free(bytes.text);
		return gp_error_set(err, GP_EXIT_FAILED, "%s did not end within %d ms", argv[0],
				    timeout_ms);
	}
	*out = bytes;
	return 0;
}
