/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory: what is known of a host and of what its cluster was told, as facts.
 *
 * A fact is unknown until a line says otherwise, and keeps that line verbatim with its source.
 * "No" is only ever set by a line that could have said yes: output that is not there leaves a fact
 * unknown. Several lines about one fact: the source of the higher rank wins, and of equal ranks
 * the later one, since a host changes while its owner works on it. Reading is here; judging is in
 * classify.
 *
 * A fleet is the nodes of one run and, in `cluster`, what holds for all of them.
 */
#ifndef GP_INVENTORY_H
#define GP_INVENTORY_H

#include "err.h"
#include "nccl.h"
#include "root.h"

#include <stdbool.h>
#include <stddef.h>

enum gp_known { GP_UNKNOWN, GP_NO, GP_YES };

/* The table in inventory.c has the names and which of them are the cluster's. */
enum gp_fact_id {
	/* the host */
	GP_FACT_KERNEL,	       /* value "5.15.0-118-generic" */
	GP_FACT_DRIVER,	       /* the NVIDIA kernel module is there; value its version */
	GP_FACT_OPEN,	       /* yes: Open Kernel Module, no: proprietary; value the version */
	GP_FACT_CUDA_TOOLKIT,  /* value "12.4": what programs are built with */
	GP_FACT_CUDA_DRIVER,   /* value "12.8": the highest that the driver supports */
	GP_FACT_DMABUF,	       /* CUDA attribute 124 */
	GP_FACT_OFED,	       /* MLNX_OFED or DOCA-OFED installed on the host; value its version */
	GP_FACT_OFED_MODULES,  /* the loaded NIC modules are OFED's, whoever brought them */
	GP_FACT_RDMA,	       /* an RDMA device is there */
	GP_FACT_NIC_PCI,       /* a NIC is on the PCI bus, RDMA device or not */
	GP_FACT_PEERMEM,       /* nvidia_peermem loaded */
	GP_FACT_NV_PEER_MEM,   /* its predecessor loaded */
	GP_FACT_MEMORY_PEERS,  /* /sys/kernel/mm/memory_peers is there */
	GP_FACT_PEER_SYMBOLS,  /* yes: nvidia_peermem did not load for want of ib_core's symbols */
	GP_FACT_PEERMEM_ERROR, /* yes: it did not load for another reason; value the reason */
	GP_FACT_NVIDIA_FS,     /* loaded or installed; value its version where known */
	GP_FACT_GPU_GDR,       /* CUDA attribute 116 */
	GP_FACT_COHERENT,      /* the GPU shares the CPU's page tables */
	GP_FACT_MEMLOCK,       /* yes: enough; no: limited; value as printed */
	GP_FACT_BAR1,	       /* value its size as printed */
	GP_FACT_PEERMEM_LOG,   /* nvidia-peermem-ctr runs on this node; yes: it loaded the module */

	/* the cluster */
	GP_FACT_DRIVER_MANAGED,	   /* driver.enabled */
	GP_FACT_RDMA_ENABLED,	   /* driver.rdma.enabled: the legacy path was asked for */
	GP_FACT_HOST_MOFED,	   /* driver.rdma.useHostMofed */
	GP_FACT_MODULE_TYPE,	   /* driver.kernelModuleType; value open, proprietary, auto */
	GP_FACT_GDS,		   /* gds.enabled */
	GP_FACT_GDS_VERSION,	   /* value "2.17.5" */
	GP_FACT_OPERATOR_DRIVER,   /* driver.version */
	GP_FACT_OFED_DRIVER,	   /* NicClusterPolicy has an ofedDriver; value its version */
	GP_FACT_GPU_OPERATOR,	   /* value its version, "v24.9.2" */
	GP_FACT_NETWORK_OPERATOR,  /* value its version, "26.7.0" */
	GP_FACT_PEERMEM_CONTAINER, /* the driver DaemonSet has nvidia-peermem-ctr */
	GP_FACT_VALUES,		   /* GPU Operator values, or a ClusterPolicy, were shown */
	GP_FACT_COUNT
};

/* How much a source's word weighs. */
enum gp_rank {
	GP_RANK_HEARSAY = 1, /* a person's words: "Kernel: 5.15" in an issue form */
	GP_RANK_INSTALLED,   /* a package list, a module file: there, but is it what runs? */
	GP_RANK_INDIRECT,    /* a line about something else that implies it */
	GP_RANK_DIRECT,	     /* the tool or file that is made to tell it */
	GP_RANK_KERNEL,	     /* the kernel or the driver itself */
};

struct gp_host_fact {
	enum gp_known known;
	enum gp_rank rank;
	char *value;  /* never NULL where known; may be empty */
	char *source; /* "lsmod | grep nvidia", "proc/driver/nvidia/version" */
	char *line;   /* verbatim, trimmed and cut to a sensible length */
	int number;   /* of the line in its file; 0 where there are none */
};

/* Where a line is from. */
struct gp_origin {
	const char *source;
	const char *line;
	int number;
};

#define GP_DEVICES_MAX 64

/* A GPU or RDMA device: its name, the driver behind it where known, the line that names it. */
struct gp_device {
	char *name;
	char *driver;
	struct gp_host_fact named;
};

struct gp_devices {
	struct gp_device *item;
	int n;
};

/* A sentence about input that could not be read. */
struct gp_unread {
	char *text;
	struct gp_unread *next;
};

struct gp_inventory {
	char *name;   /* host name; NULL where no line tells it */
	char *source; /* the SRC that it is from */
	struct gp_host_fact facts[GP_FACT_COUNT];
	struct gp_devices gpus, nics;
	struct gp_nccl *nccl[2]; /* A/B: the second is the comparison */
	int n_nccl;
	struct gp_unread *unread;
};

/* Start with everything unknown is `= {0}`. Frees all that is inside; may be called twice. */
void gp_inventory_close(struct gp_inventory *inv);

/* Set a fact; see above for which of two wins. `value` may be NULL. */
void gp_inventory_set(struct gp_inventory *inv, enum gp_fact_id id, enum gp_known known,
		      enum gp_rank rank, const char *value, const struct gp_origin *where);

/* Note a GPU or RDMA device by name, once each. `driver` may be NULL. */
void gp_inventory_gpu(struct gp_inventory *inv, const char *name, const struct gp_origin *where);
void gp_inventory_nic(struct gp_inventory *inv, const char *name, const char *driver,
		      const struct gp_origin *where);

/* Note input that could not be read; the same sentence once. */
void gp_inventory_unread(struct gp_inventory *inv, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Take the cluster's facts of `from` where `inv` does not have its own. */
void gp_inventory_adopt(struct gp_inventory *inv, const struct gp_inventory *from);

/* Add all that `from` knows, as if its lines came after those of `inv`; its logs move over. */
void gp_inventory_merge(struct gp_inventory *inv, struct gp_inventory *from);

/* True where at least one fact, device or log of the host (not of the cluster) is known. */
bool gp_inventory_has_host(const struct gp_inventory *inv);
bool gp_inventory_has_intent(const struct gp_inventory *inv);

/* "driver.rdma.useHostMofed", "kernel", …: for people and for the record. */
const char *gp_fact_name(enum gp_fact_id id);
bool gp_fact_is_cluster(enum gp_fact_id id);

/* "570.86.15", "12.8", "v25.3.0", "5.15.0-118-generic": compares at most `parts` leading numbers.
 * Returns <0, 0, >0. */
int gp_version_compare(const char *a, const char *b, int parts);

struct gp_fleet {
	struct gp_inventory **nodes;
	int n;
	struct gp_inventory cluster;
};

void gp_fleet_close(struct gp_fleet *fleet);

/* A new node of the fleet, owned by it; NULL where memory is out. */
struct gp_inventory *gp_fleet_add(struct gp_fleet *fleet);

/*
 * Read one SRC: a directory of one node, a directory of nodes, or a pasted text ("-": standard
 * input). Adds what it finds to the fleet. Nothing readable at all is GP_EXIT_USAGE.
 */
int gp_fleet_read(struct gp_fleet *fleet, const char *src, struct gp_error *err);

/* Read an --intent FILE into the fleet's cluster facts. Broken YAML or JSON, or a file in which
 * nothing is known, is GP_EXIT_USAGE. */
int gp_fleet_read_intent(struct gp_fleet *fleet, const char *file, struct gp_error *err);

/* Read an --nccl LOG. It goes to the node whose name it has, to the only node, or to a new one.
 * A log without any NCCL line is GP_EXIT_USAGE. */
int gp_fleet_read_nccl(struct gp_fleet *fleet, const char *file, struct gp_error *err);

/* Give the cluster's facts to every node; once, when all is read. */
void gp_fleet_settle(struct gp_fleet *fleet);

/*
 * This host. Needs no root, changes nothing. Without `with_commands` only files are read (a few
 * milliseconds). CUDA's own answers are the caller's to add.
 */
int gp_inventory_live(struct gp_inventory *inv, bool with_commands, struct gp_error *err);

/* Write what gp_inventory_live() reads to a new directory, so that --from reads the same; without
 * serial numbers, GUIDs, MAC and IP addresses. */
int gp_inventory_capture(const char *directory, struct gp_error *err);

/* Take all facts from a text. `label` names the file; `command`, where not NULL, is what printed
 * its first lines. Nodes are found in it by their prompts; those without a name are `first`. */
void gp_inventory_text(struct gp_fleet *fleet, struct gp_inventory *first, const char *label,
		       const char *command, char *text, size_t length);

#endif
