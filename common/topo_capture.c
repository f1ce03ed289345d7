/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_capture: a directory of captured files. sysfs under its own paths gives devices and links;
 * an hwloc XML beside it gives nodes and sockets, or all there is where sysfs was not captured.
 * Nothing is run, and nothing of the machine that this runs on is looked at.
 */
#include "topo_file.h"
#include "topo_tree.h"
#include "topo_xml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_hwloc(const char *text, size_t len)
{
	return gp_xml_root_is(text, len, "topology");
}

static bool is_nccl(const char *text, size_t len)
{
	return gp_xml_root_is(text, len, "system");
}

/* A regular file of the directory; false where there is none that can be read. */
static bool regular_load(int dir_fd, const char *name, char **text, size_t *len)
{
	int fd = gp_file_open(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct gp_error ignored = {0};
	struct stat st;
	bool got;

	if (fd < 0)
		return false;
	got = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	      gp_topo_fd_load(fd, name, text, len, &ignored) == 0;
	close(fd);
	return got;
}

/* The first file of the directory that has the form: *text is to be freed then. */
static bool form_find(int dir_fd, bool (*is)(const char *text, size_t len), char **text,
		      size_t *len)
{
	char **names;
	int n = gp_file_list(dir_fd, &names, 1024, ".");
	bool found = false;

	for (int i = 0; i < n && !found; i++) {
		if (!regular_load(dir_fd, names[i], text, len))
			continue;
		found = is(*text, *len);
		if (!found)
			free(*text);
	}
	gp_names_free(names, n);
	return found;
}

static int read_below(struct gp_topo *topo, int dir_fd, const char *dir, struct gp_error *err)
{
	static bool (*const rest[])(const char *text, size_t len) = {is_nccl, gp_topo_is_smi};
	bool sysfs = gp_file_exists(dir_fd, "sys/bus/pci/devices") ||
		     gp_file_exists(dir_fd, "sys/devices") ||
		     gp_file_exists(dir_fd, "sys/class/infiniband");
	char *text;
	size_t len;
	int rc = 1;

	if (form_find(dir_fd, is_hwloc, &text, &len)) {
		rc = gp_topo_read_hwloc(topo, text, len, !sysfs, err);
		free(text);
	}
	if (sysfs && rc >= 0)
		rc = gp_topo_read_sysfs(topo, dir_fd, err);
	for (size_t i = 0; rc == 1 && i < sizeof(rest) / sizeof(rest[0]); i++) {
		if (!form_find(dir_fd, rest[i], &text, &len))
			continue;
		rc = gp_topo_read_text(topo, text, len, err);
		free(text);
	}
	if (rc == 1)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "%s: no sysfs, hwloc XML, NCCL topology dump or "
				    "`nvidia-smi topo -m` in it",
				    dir);
	topo->source = "capture";
	return rc;
}

int gp_topo_read_capture(struct gp_topo *topo, const char *dir, struct gp_error *err)
{
	int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (dir_fd < 0)
		return gp_error_errno(err, GP_EXIT_USAGE, errno, "open", "%s", dir);
	rc = read_below(topo, dir_fd, dir, err);
	close(dir_fd);
	return rc;
}
