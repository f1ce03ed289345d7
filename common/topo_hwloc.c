/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_hwloc: the tree of an hwloc XML file, of format 1, 2 or 3, and of this host.
 *
 * The host is read by libhwloc and handed over as XML, so that a live machine and a captured one
 * go through the same reader. hwloc's plugins for CUDA, NVML, OpenCL and the like stay off: they
 * would make GPU contexts.
 */
#include "topo_tree.h"
#include "topo_xml.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#define BITS_MAX 4096

/* hwloc's bitmap: 32-bit words in hex, most significant first, an empty word is 0. */
struct bits {
	int n, first;
	uint32_t word[BITS_MAX / 32];
};

static void bits_read(const char *text, struct bits *bits)
{
	int words = 1, at;

	memset(bits, 0, sizeof(*bits));
	bits->first = -1;
	if (!*text || strncmp(text, "0xf...f", 7) == 0)
		return; /* endless: not a set of real CPUs or nodes */
	for (const char *c = text; *c; c++)
		words += *c == ',';
	for (at = words - 1; at >= 0; at--) {
		char *end;
		unsigned long value = strtoul(text, &end, 16);

		if (at < BITS_MAX / 32)
			bits->word[at] = (uint32_t)value;
		if (*end != ',')
			break;
		text = end + 1;
	}
	for (int i = 0; i < BITS_MAX; i++) {
		if (!(bits->word[i / 32] >> (i % 32) & 1))
			continue;
		bits->first = bits->n++ ? bits->first : i;
	}
}

/* "0-13,28-41" */
static void bits_list(const struct bits *bits, char *list, size_t size)
{
	size_t used = 0;

	list[0] = 0;
	for (int i = 0; i < BITS_MAX; i++) {
		int from = i, n;

		if (!(bits->word[i / 32] >> (i % 32) & 1))
			continue;
		while (i + 1 < BITS_MAX && bits->word[(i + 1) / 32] >> ((i + 1) % 32) & 1)
			i++;
		n = snprintf(list + used, size - used, from == i ? "%s%d" : "%s%d-%d",
			     used ? "," : "", from, i);
		if (n < 0 || (size_t)n >= size - used) {
			list[0] = 0; /* half a list would be a lie */
			return;
		}
		used += (size_t)n;
	}
}

int gp_mask_list(const char *mask, char *list, size_t size, int *first)
{
	struct bits bits;

	bits_read(mask, &bits);
	bits_list(&bits, list, size);
	*first = bits.first;
	return bits.n;
}

/* What an open element hands down to those inside it. */
struct frame {
	bool object;   /* <object>, not <info> and the like */
	int obj;       /* PCI object that the next one hangs from, -1 */
	int numa_node; /* the one node that it is local to, -1 */
	int socket;
	int gpu; /* device of the list that an <info> may describe, -1 */
	char cpus[GP_TOPO_CPUS_MAX];
};

struct reader {
	struct gp_topo *topo;
	bool devices;	/* GPUs and NICs are wanted too */
	bool osdev_set; /* format 3: osdev_type is a set of bits, not a number */
	int depth;
	struct frame stack[GP_TOPO_DEPTH_MAX];
	struct bits socket_nodes[64]; /* nodeset of each package */
	struct gp_error *err;
};

static void place_read(const struct gp_xml_tag *tag, struct frame *frame)
{
	char text[1300];
	struct bits bits;

	if (gp_xml_attr(tag, "nodeset", text, sizeof(text))) {
		bits_read(text, &bits);
		frame->numa_node = bits.n == 1 ? bits.first : -1;
	}
	if (gp_xml_attr(tag, "cpuset", text, sizeof(text))) {
		bits_read(text, &bits);
		bits_list(&bits, frame->cpus, sizeof(frame->cpus));
	}
}

static void package_read(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame)
{
	char text[1300];
	int socket = reader->topo->n_sockets++;

	frame->socket = socket;
	if (socket < 64 && gp_xml_attr(tag, "nodeset", text, sizeof(text)))
		bits_read(text, &reader->socket_nodes[socket]);
}

static void node_read(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame)
{
	int os_index = (int)gp_xml_int(tag, "os_index", 10, -1);

	if (os_index < 0)
		return;
	frame->numa_node = os_index; /* format 1 nests what is local in it */
	gp_topo_node_add(reader->topo, os_index, frame->socket);
}

/* "0302 [10de:20b0] [10de:1463] a1 00": class, vendor and device. */
static void pci_read(const struct gp_xml_tag *tag, struct gp_obj *obj)
{
	char text[64];
	unsigned class, vendor, device;

	if (gp_xml_attr(tag, "pci_busid", text, sizeof(text)))
		gp_bdf_read(text, obj->bdf);
	if (gp_xml_attr(tag, "pci_type", text, sizeof(text)) &&
	    sscanf(text, "%4x [%4x:%4x]", &class, &vendor, &device) == 3) {
		obj->class = class;
		obj->vendor = vendor;
	}
	if (gp_xml_attr(tag, "pci_link_speed", text, sizeof(text))) {
		double rate = strtod(text, NULL);

		obj->link.gbytes_per_s = rate > 0 && rate < 1e4 ? rate : 0;
	}
}

/* "0000:[00-0f]": named as sysfs does, "pci0000:00". */
static void host_read(const struct gp_xml_tag *tag, struct gp_obj *obj)
{
	char text[64];
	unsigned domain, bus;

	if (gp_xml_attr(tag, "bridge_pci", text, sizeof(text)) &&
	    sscanf(text, "%8x:[%2x-", &domain, &bus) == 2 && domain <= 0xfffff)
		snprintf(obj->bdf, sizeof(obj->bdf), "pci%04x:%02x", domain, bus);
}

static int pci_add(struct reader *reader, const struct gp_xml_tag *tag, enum gp_obj_kind kind,
		   struct frame *frame)
{
	int index = gp_topo_obj_add(reader->topo, kind, frame->obj, reader->err);
	struct gp_obj *obj;

	if (index < 0)
		return -1;
	obj = &reader->topo->objs[index];
	obj->numa_node = frame->numa_node;
	memcpy(obj->cpus, frame->cpus, sizeof(obj->cpus));
	if (kind == GP_OBJ_HOST)
		host_read(tag, obj);
	else
		pci_read(tag, obj);
	frame->obj = index;
	return 0;
}

static int bridge_read(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame)
{
	char type[16];

	gp_xml_attr(tag, "bridge_type", type, sizeof(type));
	return pci_add(reader, tag, type[0] == '0' ? GP_OBJ_HOST : GP_OBJ_BRIDGE, frame);
}

static int function_read(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame)
{
	struct gp_obj *obj;
	char name[16];

	if (pci_add(reader, tag, GP_OBJ_FUNCTION, frame) < 0)
		return -1;
	obj = &reader->topo->objs[frame->obj];
	if (!reader->devices)
		return 0;
	if (obj->vendor == 0x10de && (obj->class == 0x0302 || obj->class == 0x0300)) {
		snprintf(name, sizeof(name), "GPU%d", reader->topo->n_gpus);
		if (gp_topo_gpu_add(reader->topo, frame->obj, name))
			frame->gpu = reader->topo->n_gpus - 1;
	}
	return 0;
}

/*
 * An OS device. hwloc.h of format 1 and 2: NETWORK is 2, OPENFABRICS 3; of format 3: bits 1 << 4
 * and 1 << 5, and an RDMA device has both.
 */
static int osdev_read(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame)
{
	long type = gp_xml_int(tag, "osdev_type", 10, -1);
	struct gp_topo *topo = reader->topo;
	struct gp_topo_device *nic;
	char name[64];

	if (!reader->devices || !gp_xml_attr(tag, "name", name, sizeof(name)) || type < 0)
		return 0;
	if (reader->osdev_set ? !(type & 1 << 5) : type != 3)
		return 0;
	nic = gp_topo_nic_add(topo, frame->obj, name);
	if (nic && frame->obj < 0)
		nic->numa_node = frame->numa_node;
	return 0;
}

static const struct {
	const char *type;
	int (*read)(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame);
	void (*note)(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame);
	bool io;
} types[] = {
	{"Package", NULL, package_read, false}, {"Socket", NULL, package_read, false},
	{"NUMANode", NULL, node_read, false},	{"Node", NULL, node_read, false},
	{"Bridge", bridge_read, NULL, true},	{"PCIDev", function_read, NULL, true},
	{"OSDev", osdev_read, NULL, true},
};

static int object_read(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame)
{
	char type[32];

	gp_xml_attr(tag, "type", type, sizeof(type));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(type, types[i].type) != 0)
			continue;
		if (types[i].io)
			return types[i].read(reader, tag, frame);
		place_read(tag, frame);
		types[i].note(reader, tag, frame);
		return 0;
	}
	place_read(tag, frame);
	return 0;
}

/* <info name="GPUModel" value="..."/> below a GPU's OS device. */
static void info_read(struct reader *reader, const struct gp_xml_tag *tag, struct frame *frame)
{
	char name[32];
	struct gp_topo_device *gpu;

	gp_xml_attr(tag, "name", name, sizeof(name));
	if (frame->gpu < 0 || strcmp(name, "GPUModel") != 0)
		return;
	gpu = &reader->topo->gpus[frame->gpu];
	gp_xml_attr(tag, "value", gpu->model, sizeof(gpu->model));
}

static int tag_read(struct reader *reader, const struct gp_xml_tag *tag)
{
	struct frame frame = {.obj = -1, .numa_node = -1, .socket = -1, .gpu = -1};
	char text[16];

	if (tag->open) {
		if (reader->depth + 1 >= GP_TOPO_DEPTH_MAX)
			return gp_error_set(reader->err, GP_EXIT_USAGE,
					    "hwloc XML: nested deeper than %d", GP_TOPO_DEPTH_MAX);
		if (reader->depth > 0)
			frame = reader->stack[reader->depth];
		frame.object = strcmp(tag->name, "object") == 0;
		if (strcmp(tag->name, "topology") == 0 &&
		    gp_xml_attr(tag, "version", text, sizeof(text)))
			reader->osdev_set = atoi(text) >= 3;
		if (frame.object && object_read(reader, tag, &frame) < 0)
			return -1;
		if (strcmp(tag->name, "info") == 0)
			info_read(reader, tag, &frame);
		reader->stack[++reader->depth] = frame;
	}
	if (tag->close && --reader->depth < 0)
		return gp_error_set(reader->err, GP_EXIT_USAGE, "hwloc XML: </%s> closes nothing",
				    tag->name);
	return 0;
}

/* InfiniBand functions (0207; 0c06 on old ones) that no OS device stands for: the driver was not
 * loaded when the file was made. */
static void nics_by_class(struct gp_topo *topo)
{
	for (int i = 0; i < topo->n_objs; i++) {
		bool known = false;

		if (topo->objs[i].class != 0x0207 && topo->objs[i].class != 0x0c06)
			continue;
		for (int k = 0; k < topo->n_nics; k++)
			known |= topo->nic_obj[k] == i;
		if (!known)
			gp_topo_nic_add(topo, i, topo->objs[i].bdf);
	}
}

/* A node in several packages, or in none, has no socket. */
static void sockets_resolve(struct reader *reader)
{
	struct gp_topo *topo = reader->topo;
	int n_sockets = topo->n_sockets < 64 ? topo->n_sockets : 64;

	for (int i = 0; i < topo->n_nodes; i++) {
		int node = topo->nodes[i].os_index, owners = 0;

		for (int s = 0; s < n_sockets && node < BITS_MAX; s++) {
			if (!(reader->socket_nodes[s].word[node / 32] >> (node % 32) & 1))
				continue;
			topo->nodes[i].socket = s;
			owners++;
		}
		if (owners > 1)
			topo->nodes[i].socket = -1;
	}
}

int gp_topo_read_hwloc(struct gp_topo *topo, const char *text, size_t len, bool devices,
		       struct gp_error *err)
{
	struct gp_xml xml = {text, text + len};
	struct gp_xml_tag tag;
	struct reader *reader = calloc(1, sizeof(*reader));
	int rc = -1, got;

	if (!reader)
		return gp_error_set(err, GP_EXIT_FAILED, "hwloc XML: out of memory");
	reader->topo = topo;
	reader->devices = devices;
	reader->err = err;
	while ((got = gp_xml_next(&xml, &tag)) == 1)
		if (tag_read(reader, &tag) < 0)
			goto out;
	if (got < 0 || reader->depth != 0) {
		gp_error_set(err, GP_EXIT_USAGE, "hwloc XML: broken or cut off at byte %zu",
			     (size_t)(xml.at - text));
		goto out;
	}
	if (devices)
		nics_by_class(topo);
	sockets_resolve(reader);
	rc = 0;
out:
	free(reader);
	return rc;
}

/*
 * Nodes that this process may not use are shown too, and named here, so that a container with a
 * restricted cpuset still sees where its devices stand. A node without CPUs (of a GPU, of HBM) is
 * not restricted for having none.
 */
static void note_allowed(struct gp_topo *topo, hwloc_topology_t hwloc)
{
	hwloc_const_nodeset_t may = hwloc_topology_get_allowed_nodeset(hwloc);
	hwloc_const_nodeset_t nodes = hwloc_topology_get_topology_nodeset(hwloc);
	hwloc_bitmap_t cpus = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(hwloc));
	hwloc_bitmap_t bound = hwloc_bitmap_alloc(), near = hwloc_bitmap_alloc();
	hwloc_bitmap_t all = hwloc_bitmap_alloc();

	if (cpus && bound && near && all) {
		if (hwloc_get_cpubind(hwloc, bound, HWLOC_CPUBIND_PROCESS) == 0)
			hwloc_bitmap_and(cpus, cpus, bound);
		hwloc_cpuset_to_nodeset(hwloc, cpus, near);
		hwloc_cpuset_to_nodeset(hwloc, hwloc_topology_get_topology_cpuset(hwloc), all);
		if (!hwloc_bitmap_isequal(near, all) || !hwloc_bitmap_isequal(may, nodes)) {
			hwloc_bitmap_and(near, near, may);
			hwloc_bitmap_list_snprintf(topo->allowed_nodes, sizeof(topo->allowed_nodes),
						   near);
		}
	}
	hwloc_bitmap_free(cpus);
	hwloc_bitmap_free(bound);
	hwloc_bitmap_free(near);
	hwloc_bitmap_free(all);
}

static int live_load(hwloc_topology_t hwloc, struct gp_topo *topo, struct gp_error *err)
{
	static const char *const off[] = {"cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"};
	char *text;
	int len, rc;

	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++)
		hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
					      off[i]);
	hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	hwloc_topology_set_cache_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_io_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_ALL);
	if (hwloc_topology_load(hwloc) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "hwloc_topology_load failed");
	note_allowed(topo, hwloc);
	if (hwloc_topology_export_xmlbuffer(hwloc, &text, &len, 0) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "hwloc_topology_export_xmlbuffer failed");
	rc = gp_topo_read_hwloc(topo, text, strnlen(text, (size_t)len), false, err);
	hwloc_free_xmlbuffer(hwloc, text);
	/* where there is one node hwloc puts all on it, NUMA off or not: the kernel knows better */
	for (int i = 0; i < topo->n_objs && topo->n_nodes == 1; i++)
		topo->objs[i].numa_node = -1;
	return rc;
}

int gp_topo_read_live(struct gp_topo *topo, struct gp_error *err)
{
	hwloc_topology_t hwloc;
	int rc;

	if (hwloc_topology_init(&hwloc) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "hwloc_topology_init failed");
	rc = live_load(hwloc, topo, err);
	hwloc_topology_destroy(hwloc);
	return rc;
}
