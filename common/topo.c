/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo: open a topology, whatever it comes from, and answer what stands where.
 *
 * Distances are in topo_class.c, findings in topo_find.c, JSON and graphviz in topo_out.c, the tree
 * in topo_tree.c, the readers of each form of input in files of their own.
 */
#include "topo_tree.h"
#include "topo_xml.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- opening --- */

/* Where hwloc gives up, sysfs alone has to do. */
static int open_live(struct gp_topo *topo, struct gp_error *err)
{
	struct gp_error ignored = {0};
	struct gp_root root;
	int rc;

	if (gp_topo_read_live(topo, &ignored) < 0) {
		free(topo->objs);
		memset(topo, 0, sizeof(*topo));
	}
	topo->source = "this host";
	if (gp_root_open(NULL, &root, err) < 0)
		return -1;
	rc = gp_topo_read_sysfs(topo, &root, err);
	gp_root_close(&root);
	return rc;
}

static int read_smi(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err)
{
	topo->source = "nvidia-smi topo -m";
	topo->given = true;
	return gp_topo_read_smi(topo, text, len, err);
}

static int read_hwloc(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err)
{
	topo->source = "hwloc XML";
	return gp_topo_read_hwloc(topo, text, len, true, err);
}

static int read_nccl(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err)
{
	topo->source = "NCCL topology dump";
	topo->hosts_untold = true;
	return gp_topo_read_nccl(topo, text, len, err);
}

static bool is_hwloc(const char *text, size_t len)
{
	return gp_xml_root_is(text, len, "topology");
}

static bool is_nccl(const char *text, size_t len)
{
	return gp_xml_root_is(text, len, "system");
}

static const struct {
	bool (*is)(const char *text, size_t len);
	int (*read)(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err);
} forms[] = {{is_hwloc, read_hwloc}, {is_nccl, read_nccl}, {gp_topo_is_smi, read_smi}};
#define N_FORMS (sizeof(forms) / sizeof(forms[0]))

int gp_topo_read_text(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err)
{
	for (size_t i = 0; i < N_FORMS; i++)
		if (forms[i].is(text, len))
			return forms[i].read(topo, text, len, err);
	return 1;
}

static int read_named(struct gp_topo *topo, const char *text, size_t len, const char *name,
		      struct gp_error *err)
{
	int rc;

	if (len > GP_TOPO_TEXT_MAX)
		return gp_error_set(err, GP_EXIT_USAGE, "%s: larger than %u MiB", name,
				    GP_TOPO_TEXT_MAX >> 20);
	rc = gp_topo_read_text(topo, text, len, err);
	if (rc == 1)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "%s: neither hwloc XML, nor an NCCL topology dump, nor "
				    "`nvidia-smi topo -m`",
				    name);
	return rc;
}

static int open_file(struct gp_topo *topo, const char *path, struct gp_error *err)
{
	struct gp_bytes bytes;
	int rc;

	if (gp_root_read_file(path, &bytes, err) < 0)
		return -1;
	rc = read_named(topo, bytes.text, bytes.length, path, err);
	free(bytes.text);
	return rc;
}

static int open_from(struct gp_topo *topo, const char *from, struct gp_error *err)
{
	struct stat st;

	if (!from || !from[0])
		return open_live(topo, err);
	if (stat(from, &st) == 0 && S_ISDIR(st.st_mode))
		return gp_topo_read_capture(topo, from, err);
	return open_file(topo, from, err);
}

/* What follows reading, and what follows a failure to. */
static int opened(int rc, struct gp_topo *made, struct gp_topo **topo)
{
	if (rc < 0) {
		gp_topo_close(made);
		return -1;
	}
	gp_topo_order(made);
	gp_topo_resolve(made);
	*topo = made;
	return 0;
}

int gp_topo_open(const char *from, struct gp_topo **topo, struct gp_error *err)
{
	struct gp_topo *made = calloc(1, sizeof(*made));

	if (!made)
		return gp_error_set(err, GP_EXIT_FAILED, "topology: out of memory");
	return opened(open_from(made, from, err), made, topo);
}

int gp_topo_open_text(const char *text, size_t len, struct gp_topo **topo, struct gp_error *err)
{
	struct gp_topo *made = calloc(1, sizeof(*made));

	if (!made)
		return gp_error_set(err, GP_EXIT_FAILED, "topology: out of memory");
	return opened(read_named(made, text, len, "text", err), made, topo);
}

void gp_topo_close(struct gp_topo *topo)
{
	if (!topo)
		return;
	gp_topo_close(topo->told);
	free(topo->objs);
	free(topo);
}

/* --- answers --- */

const char *gp_topo_source(const struct gp_topo *topo)
{
	return topo->source;
}

int gp_topo_numa_nodes(const struct gp_topo *topo)
{
	return topo->n_nodes;
}

int gp_topo_sockets(const struct gp_topo *topo)
{
	return topo->n_sockets;
}

const struct gp_topo_device *gp_topo_gpu(const struct gp_topo *topo, int index)
{
	return index >= 0 && index < topo->n_gpus ? &topo->gpus[index] : NULL;
}

const struct gp_topo_device *gp_topo_nic(const struct gp_topo *topo, int index)
{
	return index >= 0 && index < topo->n_nics ? &topo->nics[index] : NULL;
}

int gp_topo_gpu_count(const struct gp_topo *topo)
{
	return topo->n_gpus;
}

int gp_topo_nic_count(const struct gp_topo *topo)
{
	return topo->n_nics;
}

static int device_find(const struct gp_topo_device *devices, int n, const char *name_or_bdf)
{
	char bdf[16];

	for (int i = 0; i < n; i++)
		if (strcasecmp(devices[i].name, name_or_bdf) == 0)
			return i;
	if (gp_bdf_read(name_or_bdf, bdf) < 0)
		return -1;
	for (int i = 0; i < n; i++)
		if (strcmp(devices[i].bdf, bdf) == 0)
			return i;
	return -1;
}

int gp_topo_gpu_find(const struct gp_topo *topo, const char *name_or_bdf)
{
	return device_find(topo->gpus, topo->n_gpus, name_or_bdf);
}

int gp_topo_nic_find(const struct gp_topo *topo, const char *name_or_bdf)
{
	return device_find(topo->nics, topo->n_nics, name_or_bdf);
}

int gp_topo_gpu_name(struct gp_topo *topo, const char *bdf_text, int ordinal, const char *model)
{
	char bdf[16] = "", name[64];
	int index = -1;

	for (int i = 0; i < topo->n_gpus && !topo->cuda_numbers; i++)
		memcpy(topo->gpus[i].name, topo->gpus[i].bdf, sizeof(bdf));
	topo->cuda_numbers = true;
	if (gp_bdf_read(bdf_text, bdf) == 0)
		index = gp_topo_gpu_find(topo, bdf);
	snprintf(name, sizeof(name), "GPU%d", ordinal);
	if (index < 0) {
		if (!gp_topo_gpu_add(topo, gp_topo_obj_find(topo, bdf), name))
			return -1;
		index = topo->n_gpus - 1;
		memcpy(topo->gpus[index].bdf, bdf, sizeof(bdf));
	}
	memcpy(topo->gpus[index].name, name, sizeof(name));
	topo->ordinal[index] = ordinal;
	gp_topo_text(topo->gpus[index].model, sizeof(topo->gpus[index].model), model,
		     strlen(model));
	gp_topo_resolve(topo);
	return index;
}

enum gp_class gp_topo_pair(const struct gp_topo *topo, int gpu, int nic)
{
	if (gpu < 0 || gpu >= topo->n_gpus || nic < 0 || nic >= topo->n_nics)
		return GP_CLASS_UNKNOWN;
	return topo->pair[gpu][nic];
}

/* GPUs and NICs first: there are files in which an address is there twice. */
static int bdf_obj(const struct gp_topo *topo, const char *text)
{
	char bdf[16];

	if (gp_bdf_read(text, bdf) < 0)
		return -1;
	for (int i = 0; i < topo->n_gpus; i++)
		if (strcmp(topo->gpus[i].bdf, bdf) == 0 && topo->gpu_obj[i] >= 0)
			return topo->gpu_obj[i];
	for (int i = 0; i < topo->n_nics; i++)
		if (strcmp(topo->nics[i].bdf, bdf) == 0 && topo->nic_obj[i] >= 0)
			return topo->nic_obj[i];
	return gp_topo_obj_find(topo, bdf);
}

enum gp_class gp_topo_class(const struct gp_topo *topo, const char *bdf_a, const char *bdf_b)
{
	return gp_topo_obj_class(topo, bdf_obj(topo, bdf_a), bdf_obj(topo, bdf_b));
}

int gp_topo_numa_node(const struct gp_topo *topo, const char *bdf)
{
	return gp_topo_obj_node(topo, bdf_obj(topo, bdf));
}

void gp_topo_cpus(const struct gp_topo *topo, const char *bdf, char *cpus, size_t size)
{
	int obj = bdf_obj(topo, bdf);

	while (obj >= 0 && !topo->objs[obj].cpus[0])
		obj = topo->objs[obj].parent;
	snprintf(cpus, size, "%s", obj >= 0 ? topo->objs[obj].cpus : "");
}
