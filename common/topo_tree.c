/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_tree: how readers build a topology, and what is worked out of it once it is read: the order
 * of the devices, their places and links, all pairs.
 */
#include "topo_tree.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- addresses and text --- */

int gp_bdf_read(const char *text, char bdf[16])
{
	unsigned domain = 0, bus, slot, function;
	size_t len = strlen(text);
	char rest;

	/* strict about the form: sscanf alone would take "+1a: 0.0" */
	if (len < 6 || len > 16 || strspn(text, "0123456789abcdefABCDEF:.") != len)
		return -1;
	if (sscanf(text, "%8x:%2x:%2x.%1x%c", &domain, &bus, &slot, &function, &rest) != 4) {
		domain = 0;
		if (sscanf(text, "%2x:%2x.%1x%c", &bus, &slot, &function, &rest) != 3)
			return -1;
	}
	if (domain > 0xfffff || slot > 0x1f || function > 7)
		return -1;
	snprintf(bdf, 16, "%04x:%02x:%02x.%x", domain, bus, slot, function);
	return 0;
}

void gp_topo_text(char *dst, size_t size, const char *src, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size && src[i]; i++)
		dst[n++] = isprint((unsigned char)src[i]) ? src[i] : '?';
	while (n > 0 && dst[n - 1] == ' ')
		n--;
	dst[n] = 0;
}

/* --- what the readers build with --- */

int gp_topo_obj_add(struct gp_topo *topo, enum gp_obj_kind kind, int parent, struct gp_error *err)
{
	struct gp_obj *obj;

	if (topo->n_objs == topo->objs_cap) {
		int cap = topo->objs_cap ? topo->objs_cap * 2 : 64;
		struct gp_obj *objs = NULL;

		if (cap <= GP_TOPO_OBJS_MAX)
			objs = realloc(topo->objs, (size_t)cap * sizeof(*objs));
		if (!objs)
			return gp_error_set(err, GP_EXIT_USAGE,
					    "topology: more than %d PCI objects", topo->objs_cap);
		topo->objs = objs;
		topo->objs_cap = cap;
	}
	obj = &topo->objs[topo->n_objs];
	memset(obj, 0, sizeof(*obj));
	obj->kind = kind;
	obj->parent = parent;
	obj->numa_node = -1;
	obj->acs = -1;
	return topo->n_objs++;
}

int gp_topo_obj_find(const struct gp_topo *topo, const char *bdf)
{
	for (int i = 0; i < topo->n_objs && bdf[0]; i++)
		if (strcmp(topo->objs[i].bdf, bdf) == 0)
			return i;
	return -1;
}

static struct gp_topo_device *device_init(struct gp_topo_device *device, const char *name)
{
	memset(device, 0, sizeof(*device));
	gp_topo_text(device->name, sizeof(device->name), name, strlen(name));
	device->numa_node = -1;
	return device;
}

struct gp_topo_device *gp_topo_gpu_add(struct gp_topo *topo, int obj, const char *name)
{
	struct gp_topo_device *gpu;

	if (topo->n_gpus == GP_TOPO_MAX) {
		topo->n_left_out++;
		return NULL;
	}
	gpu = device_init(&topo->gpus[topo->n_gpus], name);
	topo->gpu_obj[topo->n_gpus] = obj;
	topo->ordinal[topo->n_gpus++] = -1;
	if (obj >= 0)
		memcpy(gpu->bdf, topo->objs[obj].bdf, sizeof(gpu->bdf));
	return gpu;
}

struct gp_topo_device *gp_topo_nic_add(struct gp_topo *topo, int obj, const char *name)
{
	struct gp_topo_device *nic;

	if (topo->n_nics == GP_TOPO_MAX) {
		topo->n_left_out++;
		return NULL;
	}
	nic = device_init(&topo->nics[topo->n_nics], name);
	topo->nic_obj[topo->n_nics++] = obj;
	if (obj >= 0)
		memcpy(nic->bdf, topo->objs[obj].bdf, sizeof(nic->bdf));
	return nic;
}

void gp_topo_node_add(struct gp_topo *topo, int os_index, int socket)
{
	for (int i = 0; i < topo->n_nodes; i++)
		if (topo->nodes[i].os_index == os_index)
			return;
	if (topo->n_nodes == GP_TOPO_NODES_MAX)
		return;
	topo->nodes[topo->n_nodes].os_index = os_index;
	topo->nodes[topo->n_nodes++].socket = socket;
}

int gp_topo_node_socket(const struct gp_topo *topo, int os_index)
{
	for (int i = 0; i < topo->n_nodes; i++)
		if (topo->nodes[i].os_index == os_index)
			return topo->nodes[i].socket;
	return -1;
}

int gp_topo_obj_node(const struct gp_topo *topo, int obj)
{
	while (obj >= 0 && topo->objs[obj].numa_node < 0)
		obj = topo->objs[obj].parent;
	return obj >= 0 ? topo->objs[obj].numa_node : -1;
}

/* --- after reading --- */

double gp_link_weight(const struct gp_link *link)
{
	/* 128b/130b from 8 GT/s on, 8b/10b before (PCIe Base Specification, 4.2) */
	if (link->gts > 0 && link->width > 0)
		return link->gts * link->width * (link->gts < 8 ? 0.8 : 128.0 / 130) / 8;
	return link->gbytes_per_s;
}

/*
 * The narrowest link between a device and its host bridge. Both ends of a link report it; where
 * ends pair up (device, port, port, root port) the lower end speaks for both, since the emulated
 * ports of a virtual machine report anything.
 */
static void narrowest_find(const struct gp_topo *topo, int obj, struct gp_topo_device *device)
{
	int chain[GP_TOPO_DEPTH_MAX], n = 0;
	double least = gp_link_weight(&device->link);
	bool pairs = true;

	for (int at = obj; at >= 0 && n < GP_TOPO_DEPTH_MAX; at = topo->objs[at].parent) {
		pairs &= topo->objs[at].kind != GP_OBJ_SWITCH;
		if (topo->objs[at].kind != GP_OBJ_HOST)
			chain[n++] = at;
	}
	pairs &= n % 2 == 0;
	device->narrowest = device->link;
	memcpy(device->narrowest_bdf, device->bdf, sizeof(device->bdf));
	for (int i = 1; i < n; i++) {
		const struct gp_obj *at = &topo->objs[chain[i]];
		double weight = gp_link_weight(&at->link);

		if (weight <= 0 ||
		    (pairs && i % 2 && gp_link_weight(&topo->objs[chain[i - 1]].link) > 0))
			continue;
		if (least > 0 && weight >= least * 0.999)
			continue;
		least = weight;
		device->narrowed = true;
		device->narrowest = at->link;
		memcpy(device->narrowest_bdf, at->bdf, sizeof(at->bdf));
	}
}

/* Copy what the tree knows of a device's place into the device. */
static void device_resolve(const struct gp_topo *topo, int obj, struct gp_topo_device *device)
{
	if (obj < 0)
		return;
	device->link = topo->objs[obj].link;
	device->numa_node = gp_topo_obj_node(topo, obj);
	device->max_payload_bytes = topo->objs[obj].max_payload_bytes;
	memcpy(device->iommu, topo->objs[obj].iommu, sizeof(device->iommu));
	for (int at = obj; at >= 0 && !device->cpus[0]; at = topo->objs[at].parent)
		memcpy(device->cpus, topo->objs[at].cpus, sizeof(device->cpus));
	device->narrowed = false;
	narrowest_find(topo, obj, device);
}

void gp_topo_resolve(struct gp_topo *topo)
{
	if (topo->given)
		return;
	for (int i = 0; i < topo->n_gpus; i++)
		device_resolve(topo, topo->gpu_obj[i], &topo->gpus[i]);
	for (int i = 0; i < topo->n_nics; i++)
		device_resolve(topo, topo->nic_obj[i], &topo->nics[i]);
	for (int g = 0; g < topo->n_gpus; g++)
		for (int n = 0; n < topo->n_nics; n++)
			topo->pair[g][n] =
				gp_topo_obj_class(topo, topo->gpu_obj[g], topo->nic_obj[n]);
}

/* Domain, bus and slot in order; devices without an address last, then by name. */
static int device_compare(const struct gp_topo_device *a, const struct gp_topo_device *b,
			  bool by_address)
{
	size_t len_a = strlen(a->bdf), len_b = strlen(b->bdf);
	int order = len_a != len_b ? (len_a && (!len_b || len_a < len_b) ? -1 : 1)
				   : strcmp(a->bdf, b->bdf);

	return by_address && order ? order : strverscmp(a->name, b->name);
}

/* Insertion keeps equals in order, and these lists are short. */
static void devices_sort(struct gp_topo_device *devices, int *objs, int n, bool by_address)
{
	for (int i = 1; i < n; i++) {
		struct gp_topo_device device = devices[i];
		int obj = objs[i], k = i;

		for (; k > 0 && device_compare(&device, &devices[k - 1], by_address) < 0; k--) {
			devices[k] = devices[k - 1];
			objs[k] = objs[k - 1];
		}
		devices[k] = device;
		objs[k] = obj;
	}
}

/* nvidia-smi numbers GPUs by address. What a dump or a matrix calls GPU3 stays GPU3. */
void gp_topo_order(struct gp_topo *topo)
{
	if (topo->given || topo->hosts_untold)
		return;
	devices_sort(topo->gpus, topo->gpu_obj, topo->n_gpus, true);
	devices_sort(topo->nics, topo->nic_obj, topo->n_nics, false);
	for (int i = 0; i < topo->n_gpus; i++)
		snprintf(topo->gpus[i].name, sizeof(topo->gpus[i].name), "GPU%d", i);
}
