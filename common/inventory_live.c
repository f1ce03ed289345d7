/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_live: this host, read and captured.
 *
 * A row of `items` is a file to read, a directory to list or a command to run, and the name of the
 * file that a capture keeps it in. Each gives the text that a person would have pasted, so the live
 * host and a capture of it go through the same readers and give the same answer.
 */
#include "inventory_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMAND_TIMEOUT_MS 5000
#define CAP_IPC_LOCK_BIT   14

/* Makes the text of one item; 0, or -1 where there is nothing to tell. */
struct item;
typedef int make_fn(const struct gp_root *root, const struct item *item, struct gp_bytes *out);

struct item {
	const char *file; /* in a capture */
	make_fn *make;
	const char *source;   /* how it is cited, and the command that would print it */
	const char *argv[6];  /* of a command; [0] NULL: none is run */
	const char *only;     /* keep only lines with one of these words, separated by '|' */
	bool until_processes; /* cut nvidia-smi's list of other people's programs */
};

static int text_set(struct gp_bytes *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int text_set(struct gp_bytes *out, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&out->text, fmt, args);
	va_end(args);
	out->length = n > 0 ? (size_t)n : 0;
	return n < 0 ? -1 : 0;
}

/* A file of the root; its absence as `cat` would say it. */
static int make_file(const struct gp_root *root, const struct item *item, struct gp_bytes *out)
{
	const char *path = strchr(item->source, '/');
	struct gp_error ignored = {0};

	if (!gp_root_exists(root, path))
		return text_set(out, "cat: %s: No such file or directory\n", path);
	return gp_root_read(root, path, out, &ignored);
}

/* The same, where not being there means nothing. */
static int make_file_if(const struct gp_root *root, const struct item *item, struct gp_bytes *out)
{
	return gp_root_exists(root, strchr(item->source, '/')) ? make_file(root, item, out) : -1;
}

/* Names in a directory, one a line; its absence as `ls` would say it. */
static int make_list(const struct gp_root *root, const struct item *item, struct gp_bytes *out)
{
	const char *path = strchr(item->source, '/');
	char **names;
	int n, rc;

	if (!gp_root_exists(root, path))
		return text_set(out, "ls: cannot access '%s': No such file or directory\n", path);
	n = gp_root_list(root, path, GP_DEVICES_MAX, &names);
	rc = text_set(out, "%s", "");
	for (int i = 0; i < n && rc == 0; i++) {
		char *before = out->text;

		rc = text_set(out, "%s%s\n", before, names[i]);
		free(before);
	}
	gp_root_names_free(names, n);
	return rc;
}

/* The models of all GPUs, from the driver's own files. */
static int make_gpus(const struct gp_root *root, const struct item *item, struct gp_bytes *out)
{
	char **names, path[300];
	int n = gp_root_list(root, "proc/driver/nvidia/gpus", GP_DEVICES_MAX, &names), rc = 0;

	(void)item;
	for (int i = 0; i < n && rc == 0; i++) {
		struct gp_error ignored = {0};
		struct gp_bytes one = {0};
		char *before = out->text;

		snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information", names[i]);
		if (gp_root_read(root, path, &one, &ignored) < 0)
			continue;
		rc = text_set(out, "%s%s", before ? before : "", one.text);
		free(before);
		free(one.text);
	}
	gp_root_names_free(names, n);
	return out->text ? rc : -1;
}

/* The soft limit; a process that may lock without a limit has none to speak of. */
static int make_memlock(const struct gp_root *root, const struct item *item, struct gp_bytes *out)
{
	struct gp_error ignored = {0};
	struct gp_bytes status = {0};
	unsigned long long caps = 0;
	struct rlimit limit;
	const char *line;

	(void)item;
	if (gp_root_read(root, "proc/self/status", &status, &ignored) == 0) {
		line = strstr(status.text, "CapEff:");
		caps = line ? strtoull(line + 7, NULL, 16) : 0;
		free(status.text);
	}
	if ((caps >> CAP_IPC_LOCK_BIT) & 1 || getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return -1;
	if (limit.rlim_cur == RLIM_INFINITY)
		return text_set(out, "unlimited\n");
	return text_set(out, "%llu\n", (unsigned long long)limit.rlim_cur / 1024);
}

static bool line_wanted(const char *line, size_t length, const char *only)
{
	while (*only) {
		size_t n = strcspn(only, "|");

		if (memmem(line, length, only, n))
			return true;
		only += n + (only[n] == '|');
	}
	return false;
}

/* Keep the lines that `item` wants, in place. */
static void filter(const struct item *item, struct gp_bytes *bytes)
{
	char *out = bytes->text;

	for (char *line = bytes->text, *next; *line; line = next) {
		size_t length = strcspn(line, "\n");

		next = line + length + (line[length] == '\n');
		if (item->until_processes && memmem(line, length, "Processes:", 10))
			break;
		if (item->only && !line_wanted(line, length, item->only))
			continue;
		memmove(out, line, (size_t)(next - line));
		out += next - line;
	}
	*out = '\0';
	bytes->length = (size_t)(out - bytes->text);
}

static int make_command(const struct gp_root *root, const struct item *item, struct gp_bytes *out)
{
	struct gp_error ignored = {0};
	int rc = gp_root_run(root, item->argv, COMMAND_TIMEOUT_MS, out, &ignored);

	if (rc == 1)
		return text_set(out, "%s: command not found\n", item->argv[0]);
	if (rc == 0 && (item->only || item->until_processes))
		filter(item, out);
	return rc;
}

static const struct item items[] = {
	{.file = "hostname", .make = make_file, .source = "cat /proc/sys/kernel/hostname"},
	{.file = "uname", .make = make_file, .source = "cat /proc/sys/kernel/osrelease"},
	{.file = "proc/driver/nvidia/version",
	 .make = make_file,
	 .source = "cat /proc/driver/nvidia/version"},
	{.file = "proc/modules", .make = make_file, .source = "cat /proc/modules"},
	{.file = "infiniband", .make = make_list, .source = "ls /sys/class/infiniband"},
	{.file = "memory_peers", .make = make_list, .source = "ls /sys/kernel/mm/memory_peers"},
	{.file = "sys/module/nvidia_peermem/version",
	 .make = make_file_if,
	 .source = "cat /sys/module/nvidia_peermem/version"},
	{.file = "sys/module/mlx5_core/version",
	 .make = make_file_if,
	 .source = "cat /sys/module/mlx5_core/version"},
	{.file = "sys/module/nvidia_fs/version",
	 .make = make_file_if,
	 .source = "cat /sys/module/nvidia_fs/version"},
	{.file = "usr/local/cuda/version.json",
	 .make = make_file_if,
	 .source = "cat /usr/local/cuda/version.json"},
	{.file = "gpus", .make = make_gpus, .source = "cat /proc/driver/nvidia/gpus"},
	{.file = "memlock", .make = make_memlock, .source = "ulimit -l"},
	{.file = "ofed_info",
	 .make = make_command,
	 .source = "ofed_info -s",
	 .argv = {"ofed_info", "-s"}},
	{.file = "nvidia-smi",
	 .make = make_command,
	 .source = "nvidia-smi",
	 .argv = {"nvidia-smi"},
	 .until_processes = true},
	{.file = "nvcc",
	 .make = make_command,
	 .source = "nvcc --version",
	 .argv = {"nvcc", "--version"}},
	{.file = "modinfo_nvidia",
	 .make = make_command,
	 .source = "modinfo nvidia",
	 .argv = {"modinfo", "nvidia"},
	 .only = "filename:|version:|license:|ERROR"},
	{.file = "dmesg",
	 .make = make_command,
	 .source = "dmesg",
	 .argv = {"dmesg"},
	 .only = "nvidia_peermem|nv_peer_mem|ib_register_peer_memory_client|NVRM: loading"},
};
#define N_ITEMS (sizeof(items) / sizeof(items[0]))

/* The host name has its own file, whose one line is the name. */
static void take_name(struct gp_inventory *inv, const struct gp_bytes *bytes)
{
	size_t length = strcspn(bytes->text, " \t\n");

	if (!inv->name && length > 0 && bytes->text[length] == '\n')
		inv->name = strndup(bytes->text, length);
}

/* Which driver stands behind each RDMA device is told by links. */
static void take_nic_drivers(struct gp_inventory *inv, const struct gp_root *root)
{
	char **names, path[300], driver[64];
	int n = gp_root_list(root, "sys/class/infiniband", GP_DEVICES_MAX, &names);

	for (int i = 0; i < n; i++) {
		struct gp_origin where = {"ls /sys/class/infiniband", names[i], 0};

		snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/driver", names[i]);
		if (gp_root_link_name(root, path, driver, sizeof(driver)))
			gp_inventory_nic(inv, names[i], driver, &where);
	}
	gp_root_names_free(names, n);
}

static void take_item(struct gp_inventory *inv, const struct gp_root *root, const struct item *item)
{
	struct gp_bytes bytes = {0};
	struct gp_fleet others = {0};

	if (item->make(root, item, &bytes) < 0)
		return;
	if (strcmp(item->file, "hostname") == 0)
		take_name(inv, &bytes);
	else
		gp_inventory_text(&others, inv, item->source, item->source, bytes.text,
				  bytes.length);
	gp_fleet_close(&others);
	free(bytes.text);
}

int gp_inventory_live(struct gp_inventory *inv, bool with_commands, struct gp_error *err)
{
	struct gp_root root;

	if (gp_root_open(NULL, &root, err) < 0)
		return -1;
	take_nic_drivers(inv, &root);
	for (size_t i = 0; i < N_ITEMS; i++)
		if (with_commands || !items[i].argv[0])
			take_item(inv, &root, &items[i]);
	gp_root_close(&root);
	return 0;
}

/* --- capturing --- */

/* Length of an address or identifier at `p`: hex groups with three colons or more (MAC, GUID,
 * IPv6), a UUID, sixteen hex digits, or an IPv4 address that is no part of a version. */
static size_t private_length(const char *start, const char *p)
{
	size_t hex, length = strspn(p, "0123456789abcdefABCDEF:");
	unsigned part[4];
	int colons = 0, used = 0;

	if (p > start && (isalnum((unsigned char)p[-1]) || strchr("-._:", p[-1])))
		return 0;
	for (size_t i = 0; i < length; i++)
		colons += p[i] == ':';
	if (colons >= 3 || (colons >= 2 && strncasecmp(p, "fe80:", 5) == 0))
		return length;
	hex = strspn(p, "0123456789abcdefABCDEF");
	if (hex == 16 && !isalnum((unsigned char)p[16]))
		return hex;
	if (hex == 8 && p[8] == '-' && strspn(p, "0123456789abcdefABCDEF-") == 36)
		return 36;
	if (sscanf(p, "%3u.%3u.%3u.%3u%n", &part[0], &part[1], &part[2], &part[3], &used) == 4 &&
	    part[0] < 256 && part[1] < 256 && part[2] < 256 && part[3] < 256 &&
	    !isalnum((unsigned char)p[used]) && !strchr(".-_", p[used] ? p[used] : ' '))
		return (size_t)used;
	return 0;
}

/* Write `text` without what identifies a machine or its owner. */
static void put_anonymous(FILE *out, const char *text)
{
	for (const char *p = text; *p;) {
		const char *serial = strncasecmp(p, "serial", 6) == 0 ? p : NULL;
		size_t skip = strncmp(p, "GPU-", 4) == 0 ? 4 : private_length(text, p);

		if (strncmp(p, "GPU-", 4) == 0)
			skip = strspn(p + 4, "0123456789abcdef-") == 36 ? 40 : 0;
		if (serial) {
			fprintf(out, "Serial removed");
			p += strcspn(p, "\n");
		} else if (skip) {
			fputs("(removed)", out);
			p += skip;
		} else {
			fputc(*p++, out);
		}
	}
}

/* mkdir -p of a path's parents, below `fd`. */
static int make_parents(int fd, const char *path, struct gp_error *err)
{
	char copy[300];

	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		snprintf(copy, sizeof(copy), "%.*s", (int)(slash - path), path);
		if (mkdirat(fd, copy, 0777) < 0 && errno != EEXIST)
			return gp_error_errno(err, GP_EXIT_FAILED, errno, "mkdir", "%s", copy);
	}
	return 0;
}

static int write_item(int fd, const char *path, const char *text, struct gp_error *err)
{
	FILE *out;
	int file;

	if (make_parents(fd, path, err) < 0)
		return -1;
	file = openat(fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	out = file < 0 ? NULL : fdopen(file, "w");
	if (!out) {
		if (file >= 0)
			close(file);
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "open", "%s", path);
	}
	put_anonymous(out, text);
	if (fclose(out) != 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "write", "%s", path);
	return 0;
}

/* The link that tells an RDMA device's driver, as sysfs has it. */
static int write_nic_drivers(int fd, const struct gp_root *root, struct gp_error *err)
{
	char **names, path[300], driver[64];
	int n = gp_root_list(root, "sys/class/infiniband", GP_DEVICES_MAX, &names), rc = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/driver", names[i]);
		if (!gp_root_link_name(root, path, driver, sizeof(driver)))
			continue;
		rc = make_parents(fd, path, err);
		if (rc == 0 && symlinkat(driver, fd, path) < 0)
			rc = gp_error_errno(err, GP_EXIT_FAILED, errno, "symlink", "%s", path);
	}
	gp_root_names_free(names, n);
	return rc;
}

static int write_items(int fd, const struct gp_root *root, struct gp_error *err)
{
	int rc = write_nic_drivers(fd, root, err);

	for (size_t i = 0; i < N_ITEMS && rc == 0; i++) {
		struct gp_bytes bytes = {0};

		if (items[i].make(root, &items[i], &bytes) == 0)
			rc = write_item(fd, items[i].file, bytes.text, err);
		free(bytes.text);
	}
	return rc;
}

int gp_inventory_capture(const char *directory, struct gp_error *err)
{
	struct gp_root root;
	int fd, rc;

	if (mkdir(directory, 0777) < 0)
		return gp_error_set(err, GP_EXIT_USAGE, "a capture goes to a new directory: %s: %s",
				    directory, strerror(errno));
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "open", "%s", directory);
	rc = gp_root_open(NULL, &root, err);
	if (rc == 0)
		rc = write_items(fd, &root, err);
	gp_root_close(&root);
	close(fd);
	return rc;
}
