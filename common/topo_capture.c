/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_capture: a directory of captured files. sysfs under its own paths gives devices and links;
 * an hwloc XML beside it gives nodes and sockets, or all there is where sysfs was not captured.
 * Nothing is run, and nothing of the machine that this runs on is looked at.
 */
#include "topo_file.h"
#include "topo_tree.h"
#include "topo_xml.h"

#include <stdlib.h>

static bool is_hwloc(const char *text, size_t len)
{
	return gp_xml_root_is(text, len, "topology");
}

static bool is_nccl(const char *text, size_t len)
{
	return gp_xml_root_is(text, len, "system");
}

/* The first file of the directory that has the form: its text is to be freed then. */
static bool form_find(const struct gp_root *root, bool (*is)(const char *text, size_t len),
		      struct gp_bytes *bytes)
{
	char **names;
	int n = gp_file_list(root, &names, 1024, ".");
	bool found = false;

	for (int i = 0; i < n && !found; i++) {
		struct gp_error ignored = {0};

		if (gp_root_read(root, names[i], bytes, &ignored) < 0)
			continue;
		found = bytes->length <= GP_TOPO_TEXT_MAX && is(bytes->text, bytes->length);
		if (!found)
			free(bytes->text);
	}
	gp_root_names_free(names, n);
	return found;
}

/* A matrix beside a tree is no second source, but must agree with it. */
static void told_read(struct gp_topo *topo, const struct gp_root *root)
{
	struct gp_error ignored = {0};
	struct gp_bytes bytes;

	if (!form_find(root, gp_topo_is_smi, &bytes))
		return;
	if (gp_topo_open_text(bytes.text, bytes.length, &topo->told, &ignored) < 0)
		topo->told = NULL;
	free(bytes.text);
}

static int read_below(struct gp_topo *topo, const struct gp_root *root, const char *dir,
		      struct gp_error *err)
{
	static bool (*const rest[])(const char *text, size_t len) = {is_nccl, gp_topo_is_smi};
	bool sysfs = gp_root_exists(root, "sys/bus/pci/devices") ||
		     gp_root_exists(root, "sys/devices") ||
		     gp_root_exists(root, "sys/class/infiniband");
	struct gp_bytes bytes;
	int rc = 1;

	if (form_find(root, is_hwloc, &bytes)) {
		rc = gp_topo_read_hwloc(topo, bytes.text, bytes.length, !sysfs, err);
		free(bytes.text);
	}
	if (sysfs && rc >= 0)
		rc = gp_topo_read_sysfs(topo, root, err);
	if (rc == 0)
		told_read(topo, root);
	for (size_t i = 0; rc == 1 && i < sizeof(rest) / sizeof(rest[0]); i++) {
		if (!form_find(root, rest[i], &bytes))
			continue;
		rc = gp_topo_read_text(topo, bytes.text, bytes.length, err);
		free(bytes.text);
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
	struct gp_root root;
	int rc;

	if (gp_root_open(dir, &root, err) < 0)
		return -1;
	rc = read_below(topo, &root, dir, err);
	gp_root_close(&root);
	return rc;
}
