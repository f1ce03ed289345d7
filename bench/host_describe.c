/* SPDX-License-Identifier: BSD-2-Clause */
/* host_describe: a host and its choice for the record, with all that a diagnosis may rest on. */
#include "host.h"
#include "root.h"

#include <stdlib.h>
#include <string.h>

static json_t *text_or_null(const char *text)
{
	return text && text[0] ? json_string(text) : json_null();
}

static json_t *number_or_null(int value, int unknown)
{
	return value == unknown ? json_null() : json_integer(value);
}

/* 1, 0, -1: not told */
static json_t *three(int value)
{
	return value < 0 ? json_null() : json_boolean(value);
}

/* Where a GPU or NIC stands; all null where the topology does not know it. */
static void describe_place(const struct gp_topo_device *device, json_t *json)
{
	static const struct gp_topo_device nowhere = {.numa_node = -1};
	const struct gp_topo_device *d = device ? device : &nowhere;

	json_object_set_new(json, "numa_node", number_or_null(d->numa_node, -1));
	json_object_set_new(json, "link", gp_link_to_json(&d->link));
	json_object_set_new(json, "narrowest",
			    d->narrowed ? gp_link_to_json(&d->narrowest) : json_null());
	json_object_set_new(json, "iommu", text_or_null(d->iommu));
}

static json_t *describe_gpu(const struct gp_host *host, const struct gp_gpu *gpu)
{
	int index = gpu ? gp_topo_gpu_find(host->topo, gpu->bdf) : -1;
	json_t *json;

	if (!gpu)
		return json_null();
	json = json_pack("{s:i s:s s:s s:o s:o}", "ordinal", gpu->ordinal, "name", gpu->name, "bdf",
			 gpu->bdf, "uuid", text_or_null(gpu->uuid), "host_page_tables",
			 three(gpu->host_page_tables));
	describe_place(index < 0 ? NULL : gp_topo_gpu(host->topo, index), json);
	return json;
}

static json_t *describe_nic(const struct gp_host *host, const struct gp_nic *nic)
{
	int index = gp_topo_nic_find(host->topo, nic->name);
	const struct gp_topo_device *where = index < 0 ? NULL : gp_topo_nic(host->topo, index);
	json_t *json = json_pack(
		"{s:s s:i s:s s:b s:o s:i s:o s:o s:o s:o}", "name", nic->name, "port", nic->port,
		"link", nic->ethernet ? "RoCE" : "InfiniBand", "software", (int)nic->software,
		"rate_gbits_per_s", nic->software ? json_null() : json_real(nic->rate_gbits_per_s),
		"mtu", nic->mtu, "mtu_max", number_or_null(nic->mtu_max, 0), "bdf",
		text_or_null(where ? where->bdf : ""), "netdev", text_or_null(nic->netdev),
		"firmware", text_or_null(nic->firmware));

	describe_place(where, json);
	/* "link" is what the port is; the PCIe link is the place's */
	json_object_set(json, "pcie", json_object_get(json, "link"));
	json_object_set_new(json, "link", json_string(nic->ethernet ? "RoCE" : "InfiniBand"));
	return json;
}

static json_t *describe_limit(const struct gp_host *host, const struct gp_choice *choice)
{
	struct gp_limit limit;

	gp_host_limit(host, choice, &limit);
	return json_pack("{s:o s:s s:s}", "gbytes_per_s",
			 limit.known ? json_real(limit.gbytes_per_s) : json_null(), "bound_by",
			 limit.bound_by, "detail", limit.detail);
}

/* "Intel(R) Xeon(R) Gold 6326 CPU @ 2.90GHz"; empty where the kernel does not tell (ARM). */
static void read_cpu(char *name, size_t size)
{
	struct gp_root root = {.fd = -1};
	struct gp_bytes bytes = {0};
	struct gp_error ignored = {0};
	const char *at;

	name[0] = '\0';
	if (gp_root_open(NULL, &root, &ignored) == 0 &&
	    gp_root_read(&root, "proc/cpuinfo", &bytes, &ignored) == 0) {
		at = strstr(bytes.text, "model name");
		at = at ? strstr(at, ": ") : NULL;
		if (at)
			snprintf(name, size, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
	}
	free(bytes.text);
	gp_root_close(&root);
}

static json_t *describe_distance(const struct gp_choice *choice)
{
	return choice->gpu && choice->distance != GP_CLASS_UNKNOWN
		       ? json_string(gp_class_name(choice->distance))
		       : json_null();
}

static json_t *describe_acs(const struct gp_host *host, const struct gp_choice *choice)
{
	int g = choice->gpu ? gp_topo_gpu_find(host->topo, choice->gpu->bdf) : -1;
	int n = gp_topo_nic_find(host->topo, choice->nic->name);

	return g < 0 || n < 0 ? json_null() : three(gp_topo_acs_redirect(host->topo, g, n));
}

/* Out of one object into another; null where it is not there. */
static void move_member(json_t *from, const char *name, json_t *to)
{
	json_t *value = json_object_get(from, name);

	json_object_set(to, name, value ? value : json_null());
	json_object_del(from, name);
}

/* What `gdrproof path` says of this host, and the two texts that come with it. */
static void describe_inventory(const struct gp_host *host, json_t *json)
{
	json_t *inventory = host->inventory ? json_copy(host->inventory) : json_null();

	move_member(inventory, "driver", json);
	move_member(inventory, "ofed", json);
	json_object_set_new(json, "inventory", inventory);
}

json_t *gp_host_describe(const struct gp_host *host, const struct gp_choice *choice)
{
	char cpu[128];
	json_t *json;

	read_cpu(cpu, sizeof(cpu));
	json = json_pack("{s:s s:s s:o s:o s:o s:o s:o s:o s:{s:o s:o s:o}}", "host", host->name,
			 "kernel", host->kernel, "cpu", text_or_null(cpu), "gpu",
			 describe_gpu(host, choice->gpu), "nic", describe_nic(host, choice->nic),
			 "distance", describe_distance(choice), "acs_redirect",
			 describe_acs(host, choice), "limit", describe_limit(host, choice), "cuda",
			 "runtime", number_or_null(host->cuda_versions.runtime, 0), "driver",
			 number_or_null(host->cuda_versions.driver, 0), "library",
			 text_or_null(host->cuda_versions.runtime_lib));
	if (json)
		describe_inventory(host, json);
	return json;
}
