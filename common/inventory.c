/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory: see inventory.h. The store of facts: setting, choosing between two sources, freeing.
 * Who reads what: inventory_text cuts a text into commands and their output, inventory_command
 * takes a command line apart, inventory_tools knows the tools, inventory_files what is there or
 * not, inventory_shapes and inventory_devices lines that need no command; inventory_source finds
 * the nodes in files and directories, inventory_live asks this host.
 */
#include "inventory.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES	220
#define VALUE_MAX_BYTES 160

static const struct {
	const char *name;
	bool cluster;
} fact_rows[GP_FACT_COUNT] = {
	[GP_FACT_KERNEL] = {"kernel", false},
	[GP_FACT_DRIVER] = {"driver", false},
	[GP_FACT_OPEN] = {"driver flavour", false},
	[GP_FACT_CUDA_TOOLKIT] = {"CUDA toolkit", false},
	[GP_FACT_CUDA_DRIVER] = {"CUDA of the driver", false},
	[GP_FACT_DMABUF] = {"CUDA attribute 124", false},
	[GP_FACT_OFED] = {"OFED", false},
	[GP_FACT_OFED_MODULES] = {"OFED modules", false},
	[GP_FACT_RDMA] = {"RDMA device", false},
	[GP_FACT_NIC_PCI] = {"NIC on PCI", false},
	[GP_FACT_PEERMEM] = {"nvidia_peermem", false},
	[GP_FACT_NV_PEER_MEM] = {"nv_peer_mem", false},
	[GP_FACT_MEMORY_PEERS] = {"memory_peers", false},
	[GP_FACT_PEER_SYMBOLS] = {"peer-memory symbols", false},
	[GP_FACT_PEERMEM_ERROR] = {"nvidia_peermem load", false},
	[GP_FACT_NVIDIA_FS] = {"nvidia_fs", false},
	[GP_FACT_GPU_GDR] = {"CUDA attribute 116", false},
	[GP_FACT_COHERENT] = {"coherent platform", false},
	[GP_FACT_MEMLOCK] = {"memlock limit", false},
	[GP_FACT_BAR1] = {"BAR1", false},
	[GP_FACT_PEERMEM_LOG] = {"nvidia-peermem-ctr log", false},
	[GP_FACT_DRIVER_MANAGED] = {"driver.enabled", true},
	[GP_FACT_RDMA_ENABLED] = {"driver.rdma.enabled", true},
	[GP_FACT_HOST_MOFED] = {"driver.rdma.useHostMofed", true},
	[GP_FACT_MODULE_TYPE] = {"driver.kernelModuleType", true},
	[GP_FACT_GDS] = {"gds.enabled", true},
	[GP_FACT_GDS_VERSION] = {"gds.version", true},
	[GP_FACT_OPERATOR_DRIVER] = {"driver.version", true},
	[GP_FACT_OFED_DRIVER] = {"NicClusterPolicy ofedDriver", true},
	[GP_FACT_GPU_OPERATOR] = {"GPU Operator", true},
	[GP_FACT_NETWORK_OPERATOR] = {"Network Operator", true},
	[GP_FACT_PEERMEM_CONTAINER] = {"nvidia-peermem-ctr", true},
	[GP_FACT_VALUES] = {"GPU Operator values", true},
};

const char *gp_fact_name(enum gp_fact_id id)
{
	return fact_rows[id].name;
}

bool gp_fact_is_cluster(enum gp_fact_id id)
{
	return fact_rows[id].cluster;
}

/* A copy without white space at its ends, cut to `max` bytes between two UTF-8 characters. */
static char *copy_trimmed(const char *text, size_t max)
{
	size_t length;

	text = text ? text : "";
	text += strspn(text, " \t");
	length = strlen(text);
	if (length > max) {
		length = max;
		while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
	}
	while (length > 0 && isspace((unsigned char)text[length - 1]))
		length--;
	return strndup(text, length);
}

static void fact_free(struct gp_host_fact *fact)
{
	free(fact->value);
	free(fact->source);
	free(fact->line);
	*fact = (struct gp_host_fact){0};
}

/* All three strings or none: a fact without its line is no fact. */
static void fact_fill(struct gp_host_fact *fact, enum gp_known known, enum gp_rank rank,
		      const char *value, const struct gp_origin *where)
{
	struct gp_host_fact made = {
		.known = known,
		.rank = rank,
		.value = copy_trimmed(value, VALUE_MAX_BYTES),
		.source = copy_trimmed(where->source, VALUE_MAX_BYTES),
		.line = copy_trimmed(where->line, LINE_MAX_BYTES),
		.number = where->number,
	};

	if (!made.value || !made.source || !made.line) {
		fact_free(&made);
		return;
	}
	fact_free(fact);
	*fact = made;
}

void gp_inventory_set(struct gp_inventory *inv, enum gp_fact_id id, enum gp_known known,
		      enum gp_rank rank, const char *value, const struct gp_origin *where)
{
	struct gp_host_fact *fact = &inv->facts[id];

	value = value ? value : "";
	if (fact->known && rank < fact->rank)
		return;
	/* the same again: the first line stays, unless this one knows more */
	if (fact->known == known && rank == fact->rank &&
	    (strcmp(fact->value, value) == 0 || !value[0]))
		return;
	fact_fill(fact, known, rank, value, where);
}

static struct gp_device *device_add(struct gp_devices *devices, const char *name,
				    const struct gp_origin *where)
{
	struct gp_device *item;

	for (int i = 0; i < devices->n; i++)
		if (strcmp(devices->item[i].name, name) == 0)
			return &devices->item[i];
	if (devices->n == GP_DEVICES_MAX)
		return NULL;
	item = realloc(devices->item, sizeof(*item) * (size_t)(devices->n + 1));
	if (!item)
		return NULL;
	devices->item = item;
	item += devices->n;
	*item = (struct gp_device){.name = copy_trimmed(name, VALUE_MAX_BYTES)};
	if (!item->name)
		return NULL;
	fact_fill(&item->named, GP_YES, GP_RANK_DIRECT, name, where);
	if (!item->named.known) {
		free(item->name);
		return NULL;
	}
	devices->n++;
	return item;
}

void gp_inventory_gpu(struct gp_inventory *inv, const char *name, const struct gp_origin *where)
{
	if (name[0])
		device_add(&inv->gpus, name, where);
}

void gp_inventory_nic(struct gp_inventory *inv, const char *name, const char *driver,
		      const struct gp_origin *where)
{
	struct gp_device *nic = name[0] ? device_add(&inv->nics, name, where) : NULL;

	if (!nic)
		return;
	if (driver && driver[0] && !nic->driver)
		nic->driver = strdup(driver);
	gp_inventory_set(inv, GP_FACT_RDMA, GP_YES, GP_RANK_DIRECT, NULL, where);
}

void gp_inventory_unread(struct gp_inventory *inv, const char *fmt, ...)
{
	struct gp_unread **end = &inv->unread;
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (; *end; end = &(*end)->next)
		if (strcmp((*end)->text, text) == 0)
			return;
	*end = calloc(1, sizeof(**end));
	if (*end)
		(*end)->text = strdup(text);
	if (*end && !(*end)->text) {
		free(*end);
		*end = NULL;
	}
}

void gp_inventory_adopt(struct gp_inventory *inv, const struct gp_inventory *from)
{
	for (int id = 0; id < GP_FACT_COUNT; id++) {
		const struct gp_host_fact *fact = &from->facts[id];
		struct gp_origin where = {fact->source, fact->line, fact->number};

		if (fact_rows[id].cluster && fact->known && !inv->facts[id].known)
			fact_fill(&inv->facts[id], fact->known, fact->rank, fact->value, &where);
	}
}

static void merge_devices(struct gp_inventory *inv, const struct gp_devices *gpus,
			  const struct gp_devices *nics)
{
	for (int i = 0; i < gpus->n; i++) {
		const struct gp_host_fact *named = &gpus->item[i].named;

		gp_inventory_gpu(inv, gpus->item[i].name,
				 &(struct gp_origin){named->source, named->line, named->number});
	}
	for (int i = 0; i < nics->n; i++) {
		const struct gp_host_fact *named = &nics->item[i].named;

		gp_inventory_nic(inv, nics->item[i].name, nics->item[i].driver,
				 &(struct gp_origin){named->source, named->line, named->number});
	}
}

void gp_inventory_merge(struct gp_inventory *inv, struct gp_inventory *from)
{
	for (int id = 0; id < GP_FACT_COUNT; id++) {
		const struct gp_host_fact *fact = &from->facts[id];

		if (fact->known)
			gp_inventory_set(
				inv, (enum gp_fact_id)id, fact->known, fact->rank, fact->value,
				&(struct gp_origin){fact->source, fact->line, fact->number});
	}
	merge_devices(inv, &from->gpus, &from->nics);
	for (int i = 0; i < from->n_nccl; i++) {
		if (inv->n_nccl < 2)
			inv->nccl[inv->n_nccl++] = from->nccl[i];
		else
			free(from->nccl[i]);
	}
	from->n_nccl = 0;
	for (const struct gp_unread *u = from->unread; u; u = u->next)
		gp_inventory_unread(inv, "%s", u->text);
}

static bool any_known(const struct gp_inventory *inv, bool cluster)
{
	for (int id = 0; id < GP_FACT_COUNT; id++)
		if (inv->facts[id].known && fact_rows[id].cluster == cluster)
			return true;
	return false;
}

bool gp_inventory_has_host(const struct gp_inventory *inv)
{
	return any_known(inv, false) || inv->gpus.n || inv->nics.n || inv->n_nccl;
}

bool gp_inventory_has_intent(const struct gp_inventory *inv)
{
	return any_known(inv, true);
}

static void devices_free(struct gp_devices *devices)
{
	for (int i = 0; i < devices->n; i++) {
		free(devices->item[i].name);
		free(devices->item[i].driver);
		fact_free(&devices->item[i].named);
	}
	free(devices->item);
	*devices = (struct gp_devices){0};
}

void gp_inventory_close(struct gp_inventory *inv)
{
	while (inv->unread) {
		struct gp_unread *first = inv->unread;

		inv->unread = first->next;
		free(first->text);
		free(first);
	}
	for (int i = 0; i < inv->n_nccl; i++)
		free(inv->nccl[i]);
	for (int id = 0; id < GP_FACT_COUNT; id++)
		fact_free(&inv->facts[id]);
	devices_free(&inv->gpus);
	devices_free(&inv->nics);
	free(inv->name);
	free(inv->source);
	*inv = (struct gp_inventory){0};
}

int gp_version_compare(const char *a, const char *b, int parts)
{
	while (parts-- > 0) {
		unsigned long x, y;
		char *end;

		a += strcspn(a, "0123456789");
		b += strcspn(b, "0123456789");
		if (!*a || !*b)
			return *a ? 1 : (*b ? -1 : 0);
		x = strtoul(a, &end, 10);
		a = end;
		y = strtoul(b, &end, 10);
		b = end;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

struct gp_inventory *gp_fleet_add(struct gp_fleet *fleet)
{
	struct gp_inventory *node = calloc(1, sizeof(*node));
	struct gp_inventory **nodes =
		realloc(fleet->nodes, sizeof(*nodes) * (size_t)(fleet->n + 1));

	if (nodes)
		fleet->nodes = nodes;
	if (!node || !nodes) {
		free(node);
		return NULL;
	}
	nodes[fleet->n++] = node;
	return node;
}

void gp_fleet_close(struct gp_fleet *fleet)
{
	for (int i = 0; i < fleet->n; i++) {
		gp_inventory_close(fleet->nodes[i]);
		free(fleet->nodes[i]);
	}
	free(fleet->nodes);
	gp_inventory_close(&fleet->cluster);
	*fleet = (struct gp_fleet){0};
}

void gp_fleet_settle(struct gp_fleet *fleet)
{
	for (int i = 0; i < fleet->n; i++)
		gp_inventory_adopt(fleet->nodes[i], &fleet->cluster);
}
