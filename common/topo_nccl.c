/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_nccl: the file that NCCL writes where NCCL_TOPO_DUMP_FILE says so: <system>, in it a <cpu>
 * for each NUMA node, in it nested <pci>, at their ends <gpu> and <nic><net>.
 *
 * A <pci> of class 0x0604 is a whole switch there, and host bridges are not told apart: what is
 * below one CPU and shares no switch is PHB in NCCL's words, which has no NODE.
 */
#include "topo_tree.h"
#include "topo_xml.h"

#include <stdlib.h>
#include <string.h>

struct reader {
	struct gp_topo *topo;
	struct gp_error *err;
	int depth;
	int obj[GP_TOPO_DEPTH_MAX]; /* what the next element hangs from */
};

static int cpu_read(struct reader *reader, const struct gp_xml_tag *tag, int parent)
{
	int index = gp_topo_obj_add(reader->topo, GP_OBJ_HOST, parent, reader->err), first;
	long node = gp_xml_int(tag, "numaid", 10, -1);
	struct gp_obj *obj;
	char mask[1300];

	if (index < 0)
		return -2;
	obj = &reader->topo->objs[index];
	if (node >= 0 && node < 65536) {
		obj->numa_node = (int)node;
		gp_topo_node_add(reader->topo, (int)node, -1);
	}
	if (gp_xml_attr(tag, "affinity", mask, sizeof(mask)))
		gp_mask_list(mask, obj->cpus, sizeof(obj->cpus), &first);
	return index;
}

static int pci_read(struct reader *reader, const struct gp_xml_tag *tag, int parent)
{
	long class = gp_xml_int(tag, "class", 16, 0);
	enum gp_obj_kind kind = class >> 8 == 0x0604   ? GP_OBJ_SWITCH
				: class >> 8 == 0x0600 ? GP_OBJ_HOST /* in files made by hand */
						       : GP_OBJ_FUNCTION;
	int index = gp_topo_obj_add(reader->topo, kind, parent, reader->err);
	struct gp_obj *obj;
	char text[64];

	if (index < 0)
		return -2;
	obj = &reader->topo->objs[index];
	obj->class = (unsigned)(class >> 8) & 0xffff;
	obj->vendor = (unsigned)gp_xml_int(tag, "vendor", 16, 0) & 0xffff;
	if (gp_xml_attr(tag, "busid", text, sizeof(text)))
		gp_bdf_read(text, obj->bdf);
	if (gp_xml_attr(tag, "link_speed", text, sizeof(text))) {
		double gts = strtod(text, NULL); /* "16.0 GT/s PCIe" */

		obj->link.gts = gts >= 1 && gts <= 1000 ? gts : 0;
	}
	obj->link.width = (int)gp_xml_int(tag, "link_width", 10, 0);
	if (obj->link.width < 1 || obj->link.width > 32)
		obj->link.width = 0;
	return index;
}

static int gpu_read(struct reader *reader, const struct gp_xml_tag *tag, int parent)
{
	long dev = gp_xml_int(tag, "dev", 10, reader->topo->n_gpus);
	char name[32];

	snprintf(name, sizeof(name), "GPU%ld", dev);
	gp_topo_gpu_add(reader->topo, parent, name);
	return parent;
}

static struct gp_topo_device *nic_find(struct gp_topo *topo, const char *name)
{
	for (int i = 0; i < topo->n_nics; i++)
		if (strcmp(topo->nics[i].name, name) == 0)
			return &topo->nics[i];
	return NULL;
}

/* A <net> a port; sockets have port 0 and no GUID and are no RDMA device. Speed is in Mb/s. */
static int net_read(struct reader *reader, const struct gp_xml_tag *tag, int parent)
{
	long port = gp_xml_int(tag, "port", 10, -1), speed = gp_xml_int(tag, "speed", 10, 0);
	struct gp_topo_device *nic;
	char name[64], guid[32];

	if (!gp_xml_attr(tag, "name", name, sizeof(name)) || !name[0])
		return parent;
	gp_xml_attr(tag, "guid", guid, sizeof(guid));
	if (port == 0 && strcmp(guid, "0x0") == 0)
		return parent;
	nic = nic_find(reader->topo, name);
	if (!nic)
		nic = gp_topo_nic_add(reader->topo, parent, name);
	if (nic && port >= 1 && port <= 255 && nic->n_ports < GP_TOPO_PORTS_MAX) {
		nic->ports[nic->n_ports].number = (int)port;
		nic->ports[nic->n_ports++].rate_gbps =
			speed > 0 && speed < 100000000 ? (double)speed / 1000 : 0;
	}
	return parent;
}

/* Each returns what elements inside hang from; -2 with `err` set. */
static const struct {
	const char *name;
	int (*read)(struct reader *reader, const struct gp_xml_tag *tag, int parent);
} elements[] = {{"cpu", cpu_read}, {"pci", pci_read}, {"gpu", gpu_read}, {"net", net_read}};

static int tag_read(struct reader *reader, const struct gp_xml_tag *tag)
{
	int obj = reader->depth > 0 ? reader->obj[reader->depth] : -1;

	if (tag->open) {
		for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
			if (strcmp(tag->name, elements[i].name) == 0)
				obj = elements[i].read(reader, tag, obj);
		if (obj == -2)
			return -1;
		if (reader->depth + 1 >= GP_TOPO_DEPTH_MAX)
			return gp_error_set(reader->err, GP_EXIT_USAGE,
					    "NCCL dump: nested deeper than %d", GP_TOPO_DEPTH_MAX);
		reader->obj[++reader->depth] = obj;
	}
	if (tag->close && --reader->depth < 0)
		return gp_error_set(reader->err, GP_EXIT_USAGE, "NCCL dump: </%s> closes nothing",
				    tag->name);
	return 0;
}

int gp_topo_read_nccl(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err)
{
	struct gp_xml xml = {text, text + len};
	struct reader reader = {.topo = topo, .err = err};
	struct gp_xml_tag tag;
	int got;

	while ((got = gp_xml_next(&xml, &tag)) == 1)
		if (tag_read(&reader, &tag) < 0)
			return -1;
	if (got < 0 || reader.depth != 0)
		return gp_error_set(err, GP_EXIT_USAGE, "NCCL dump: broken or cut off at byte %zu",
				    (size_t)(xml.at - text));
	return 0;
}
