/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_sysfs: PCI functions, links, NUMA nodes, ACS and IOMMU as sysfs tells, of this host or of a
 * capture. RDMA devices are found in topo_rdma.c. Every file is optional; what is absent, or only
 * readable for root, stays "not told".
 */
#include "topo_file.h"
#include "topo_sysfs.h"

#include <stdlib.h>
#include <string.h>

#define LIST_MAX 8192

/* "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0" from the tree; "" where its root is not told.
 */
static void dir_from_tree(const struct gp_topo *topo, int obj, char *dir, size_t size)
{
	int chain[GP_TOPO_DEPTH_MAX], n = 0;
	size_t used;

	for (; obj >= 0 && n < GP_TOPO_DEPTH_MAX; obj = topo->objs[obj].parent)
		chain[n++] = obj;
	used = (size_t)snprintf(dir, size, "sys/devices");
	while (n > 0 && used < size) {
		int step = snprintf(dir + used, size - used, "/%s", topo->objs[chain[--n]].bdf);

		used += (size_t)step;
	}
	if (used >= size)
		dir[0] = 0;
}

/* Where the function's files are. */
static bool dir_find(const struct gp_topo *topo, const struct gp_root *root, int obj, char *dir,
		     size_t size)
{
	snprintf(dir, size, "sys/bus/pci/devices/%s", topo->objs[obj].bdf);
	if (gp_file_exists(root, "%s/vendor", dir))
		return true;
	dir_from_tree(topo, obj, dir, size);
	return dir[0] && gp_file_exists(root, "%s/vendor", dir);
}

/* "16.0 GT/s PCIe", "8 GT/s"; "Unknown" is 0. */
static double speed_read(const struct gp_root *root, const char *dir, const char *name)
{
	char text[64];
	double gts;

	if (gp_file_text(root, text, sizeof(text), "%s/%s", dir, name) <= 0)
		return 0;
	gts = strtod(text, NULL);
	return gts >= 1 && gts <= 1000 ? gts : 0;
}

/* Lanes; 0 and 255 stand for "no link" and "no PCI Express". */
static int width_read(const struct gp_root *root, const char *dir, const char *name)
{
	long width = gp_file_int(root, 0, "%s/%s", dir, name);

	return width >= 1 && width <= 32 ? (int)width : 0;
}

static void link_read(const struct gp_root *root, const char *dir, struct gp_link *link)
{
	struct gp_link got = {
		.gts = speed_read(root, dir, "current_link_speed"),
		.max_gts = speed_read(root, dir, "max_link_speed"),
		.width = width_read(root, dir, "current_link_width"),
		.max_width = width_read(root, dir, "max_link_width"),
	};

	if (got.gts > 0 || got.max_gts > 0)
		*link = got;
}

static unsigned le16(const unsigned char *at)
{
	return (unsigned)at[0] | (unsigned)at[1] << 8;
}

/*
 * PCI configuration space. Without CAP_SYS_ADMIN only 64 bytes are readable and nothing of this is
 * found. Offsets: linux/pci_regs.h PCI_CAPABILITY_LIST 0x34, PCI_CAP_ID_EXP 0x10, PCI_EXP_DEVCTL 8
 * (payload size in bits 5-7: 128 << n), PCI_EXT_CAP_ID_ACS 0x0d, PCI_ACS_CTRL 6.
 */
static void config_read(const struct gp_root *root, const char *dir, struct gp_obj *obj)
{
	unsigned char config[4096];
	int n = gp_file_bytes(root, config, sizeof(config), "%s/config", dir);
	int at;

	if (n < 256)
		return;
	at = config[0x34] & ~3;
	for (int hops = 0; hops < 48 && at >= 0x40 && at + 12 <= 256; hops++) {
		if (config[at] == 0x10)
			obj->max_payload_bytes = 128 << (le16(config + at + 8) >> 5 & 7);
		at = config[at + 1] & ~3;
	}
	at = 0x100;
	for (int hops = 0; hops < 96 && at >= 0x100 && at + 8 <= n; hops++) {
		if (le16(config + at) == 0x0d)
			obj->acs = (int)le16(config + at + 6);
		at = (int)(le16(config + at + 2) >> 4) & ~3;
	}
	if (n >= 0x104 && obj->acs < 0)
		obj->acs = 0; /* all capabilities were readable, and ACS is not among them */
}

static void function_read(struct gp_topo *topo, const struct gp_root *root, int index)
{
	struct gp_obj *obj = &topo->objs[index];
	char dir[1000], pf[1040], target[512];
	long node;

	if (obj->sysfs_read || obj->kind == GP_OBJ_HOST)
		return;
	obj->sysfs_read = true;
	if (!dir_find(topo, root, index, dir, sizeof(dir)))
		return;
	obj->class = (unsigned)gp_file_int(root, (long)obj->class << 8, "%s/class", dir) >> 8;
	obj->vendor = (unsigned)gp_file_int(root, obj->vendor, "%s/vendor", dir);
	node = gp_file_int(root, -1, "%s/numa_node", dir);
	if (node >= 0 && node < 65536)
		obj->numa_node = (int)node;
	else if (topo->n_nodes <= 1)
		obj->numa_node = -1;
	if (gp_file_text(root, obj->cpus, sizeof(obj->cpus), "%s/local_cpulist", dir) >=
	    (int)sizeof(obj->cpus) - 1)
		obj->cpus[0] = 0; /* half a list would be a lie */
	link_read(root, dir, &obj->link);
	obj->virtual_function = gp_file_link(root, target, sizeof(target), "%s/physfn", dir) ||
				gp_file_exists(root, "%s/physfn/vendor", dir);
	snprintf(pf, sizeof(pf), "%s/physfn", dir);
	if (obj->virtual_function && obj->link.gts <= 0)
		link_read(root, pf, &obj->link);
	config_read(root, dir, obj);
	gp_file_text(root, obj->iommu, sizeof(obj->iommu), "%s/iommu_group/type", dir);
}

static int child_of(struct gp_topo *topo, const char *bdf, enum gp_obj_kind kind, int parent,
		    struct gp_error *err)
{
	int index = gp_topo_obj_find(topo, bdf);

	if (index >= 0)
		return index;
	index = gp_topo_obj_add(topo, kind, parent, err);
	if (index >= 0)
		snprintf(topo->objs[index].bdf, sizeof(topo->objs[index].bdf), "%s", bdf);
	return index;
}

/*
 * Add the functions that a path goes through: "../devices/pci0000:16/0000:16:01.0/0000:17:00.0".
 * Returns the index of the last one, -1 where there is none; -2 with `err` set.
 */
int gp_topo_path_add(struct gp_topo *topo, const char *path, struct gp_error *err)
{
	char copy[1024], bdf[16], *save = NULL, *part;
	int last = -1;

	if (strlen(path) >= sizeof(copy))
		return -1;
	memcpy(copy, path, strlen(path) + 1);
	for (part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		enum gp_obj_kind kind = GP_OBJ_FUNCTION;

		if (last < 0 && strncmp(part, "pci", 3) == 0 && strlen(part) < sizeof(bdf) &&
		    strchr(part, ':')) {
			kind = GP_OBJ_HOST;
			memcpy(bdf, part, strlen(part) + 1);
		} else if (gp_bdf_read(part, bdf) < 0) {
			continue;
		}
		if (last >= 0 && topo->objs[last].kind == GP_OBJ_FUNCTION)
			topo->objs[last].kind = GP_OBJ_BRIDGE; /* something hangs from it */
		last = child_of(topo, bdf, kind, last, err);
		if (last < 0)
			return -2;
	}
	return last >= 0 && topo->objs[last].kind != GP_OBJ_HOST ? last : -1;
}

/* Every function of sys/bus/pci/devices. Where its link was not captured, its place stays untold.
 */
static int bus_read(struct gp_topo *topo, const struct gp_root *root, struct gp_error *err)
{
	char **names, target[512], bdf[16];
	int n = gp_file_list(root, &names, LIST_MAX, "sys/bus/pci/devices"), rc = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		if (gp_bdf_read(names[i], bdf) < 0)
			continue;
		if (!gp_file_link(root, target, sizeof(target), "sys/bus/pci/devices/%s", names[i]))
			memcpy(target, bdf, sizeof(bdf));
		if (gp_topo_path_add(topo, target, err) == -2)
			rc = -1;
	}
	gp_root_names_free(names, n);
	return rc;
}

/* Directories below sys/devices/pciDDDD:BB that are PCI addresses, depth first. `budget` is how
 * many may still be looked into: links in a capture can go in circles. */
static int tree_read(struct gp_topo *topo, const struct gp_root *root, const char *dir, int depth,
		     int *budget, struct gp_error *err)
{
	char **names, path[1000], bdf[16];
	int n, rc = 0;

	if (depth > 32 || --*budget < 0)
		return 0;
	n = gp_file_list(root, &names, LIST_MAX, "%s", dir);
	for (int i = 0; i < n && rc == 0; i++) {
		bool host = depth == 0 && strncmp(names[i], "pci", 3) == 0;

		if (!host && (depth == 0 || gp_bdf_read(names[i], bdf) < 0))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir, names[i]) >= (int)sizeof(path))
			continue;
		if (gp_topo_path_add(topo, path, err) == -2)
			rc = -1;
		else
			rc = tree_read(topo, root, path, depth + 1, budget, err);
	}
	gp_root_names_free(names, n);
	return rc;
}

static int first_cpu(const char *list)
{
	return list[0] >= '0' && list[0] <= '9' ? atoi(list) : -1;
}

/* NUMA nodes and sockets of a capture; hwloc has told them on a live host. */
static void nodes_read(struct gp_topo *topo, const struct gp_root *root)
{
	char **names, cpus[256];
	long packages[64];
	int n, n_packages = 0;

	n = gp_file_list(root, &names, 4096, "sys/devices/system/cpu");
	for (int i = 0; i < n; i++) {
		long id = gp_file_int(root, -1, "sys/devices/system/cpu/%s/topology/%s", names[i],
				      "physical_package_id");
		int k = 0;

		while (k < n_packages && packages[k] != id)
			k++;
		if (id >= 0 && k == n_packages && k < 64)
			packages[n_packages++] = id;
	}
	gp_root_names_free(names, n);
	topo->n_sockets = n_packages;
	n = gp_file_list(root, &names, GP_TOPO_NODES_MAX, "sys/devices/system/node");
	for (int i = 0; i < n; i++) {
		int os_index, cpu, socket = -1;
		char rest;

		if (sscanf(names[i], "node%d%c", &os_index, &rest) != 1 || os_index < 0)
			continue;
		gp_file_text(root, cpus, sizeof(cpus), "sys/devices/system/node/%s/cpulist",
			     names[i]);
		cpu = first_cpu(cpus);
		if (cpu >= 0)
			socket = (int)gp_file_int(
				root, -1,
				"sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
		gp_topo_node_add(topo, os_index, socket);
	}
	gp_root_names_free(names, n);
}

/* "Model: \t\t NVIDIA H200" of the driver's own file. */
static void model_read(const struct gp_root *root, struct gp_topo_device *gpu)
{
	char text[2048], *model;

	gp_file_text(root, text, sizeof(text), "proc/driver/nvidia/gpus/%s/information", gpu->bdf);
	model = strstr(text, "Model:");
	if (!model)
		return;
	model += strlen("Model:");
	model += strspn(model, " \t");
	gp_topo_text(gpu->model, sizeof(gpu->model), model, strcspn(model, "\r\n"));
}

/* NVIDIA functions of class 3D controller or VGA; virtual functions belong to guests. */
static void gpus_by_class(struct gp_topo *topo, const struct gp_root *root)
{
	for (int i = 0; i < topo->n_objs; i++) {
		const struct gp_obj *obj = &topo->objs[i];
		struct gp_topo_device *gpu;
		char name[16];

		if (obj->vendor != 0x10de || (obj->class != 0x0302 && obj->class != 0x0300) ||
		    obj->virtual_function)
			continue;
		snprintf(name, sizeof(name), "GPU%d", topo->n_gpus);
		gpu = gp_topo_gpu_add(topo, i, name);
		if (gpu)
			model_read(root, gpu);
	}
}

int gp_topo_read_sysfs(struct gp_topo *topo, const struct gp_root *root, struct gp_error *err)
{
	int budget = GP_TOPO_OBJS_MAX;

	if (bus_read(topo, root, err) < 0 ||
	    (topo->n_objs == 0 && tree_read(topo, root, "sys/devices", 0, &budget, err) < 0))
		return -1;
	if (topo->n_nodes == 0)
		nodes_read(topo, root);
	for (int i = 0; i < topo->n_objs; i++)
		function_read(topo, root, i);
	topo->sysfs = true;
	topo->pci_untold = true;
	for (int i = 0; i < topo->n_objs; i++)
		topo->pci_untold &= topo->objs[i].kind == GP_OBJ_HOST;
	gpus_by_class(topo, root);
	return gp_topo_read_rdma(topo, root, err);
}
