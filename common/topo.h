/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo: which GPU and which RDMA device stand where, and how far apart they are.
 *
 * A topology is read once, from the live host (hwloc and sysfs) or from something captured, and is
 * a plain value afterwards: nothing below but gp_topo_open() touches a machine, nothing needs root,
 * and what the source does not tell stays unknown. Binding threads and memory is not done here
 * (place), nor is any device opened (rdma, cuda).
 */
#ifndef GP_TOPO_H
#define GP_TOPO_H

#include "err.h"

#include <stdbool.h>
#include <stddef.h>

#define GP_TOPO_MAX	  128 /* most GPUs, and most NICs, of one topology */
#define GP_TOPO_PORTS_MAX 4
#define GP_TOPO_CPUS_MAX  1024 /* bytes of a list of CPUs */

/*
 * Distance of two devices, nearest first, so that `<` is "nearer". The words are those of
 * `nvidia-smi topo -m`; a "bridge" there is a whole PCIe switch (NVML's
 * nvmlGpuTopologyLevel_t), not each of its ports.
 */
enum gp_class {
	GP_CLASS_PIX,	  /* at most one PCIe switch */
	GP_CLASS_PXB,	  /* several PCIe switches, no host bridge */
	GP_CLASS_PHB,	  /* through one host bridge */
	GP_CLASS_NODE,	  /* between host bridges of one NUMA node */
	GP_CLASS_SYS,	  /* between NUMA nodes */
	GP_CLASS_UNKNOWN, /* not told */
};

/* "PIX" ... "SYS", "unknown". */
const char *gp_class_name(enum gp_class class);
/* "at most one PCIe switch between them", ... */
const char *gp_class_text(enum gp_class class);

/* A PCIe link: GT/s (2.5, 5, 8, 16, 32, 64) and lanes, now and at most. 0: not told. */
struct gp_link {
	double gts, max_gts;
	int width, max_width;
	double gbytes_per_s; /* where the source tells only this (hwloc XML); else 0 */
};

/* One port of an RDMA device as sysfs (or an NCCL dump) tells. */
struct gp_topo_port {
	int number;	  /* from 1 */
	double rate_gbps; /* 0: not told, or fiction (software devices) */
	char state[16];	  /* "ACTIVE", "DOWN"; empty: not told */
	char layer[16];	  /* "InfiniBand", "Ethernet"; empty: not told */
};

/* A GPU or an RDMA device. Texts that are empty were not told. */
struct gp_topo_device {
	char name[64];	 /* "GPU0"; "mlx5_0", "rxe0" */
	char model[96];	 /* "NVIDIA H200" */
	char bdf[16];	 /* where it stands: "0000:1a:00.0", lower case. Of a virtual device (rxe,
			    bond, VF, SF) that of the netdev or parent behind it */
	char via[64];	 /* why that bdf, where it is not the device's own: "netdev eth0" */
	char netdev[16]; /* the netdev of its first port: "ens3f0np0", "eth0" */
	int numa_node;	 /* -1: not told */
	bool software;	 /* NIC: rxe, siw. Its rate is fiction, it has no limit */
	bool narrowed;	 /* `narrowest` is another link than `link` and has less to give */
	struct gp_link link;	  /* of the device */
	struct gp_link narrowest; /* of the narrowest link between it and its host bridge */
	char narrowest_bdf[16];	  /* the lower end of that link */
	int max_payload_bytes;	  /* PCIe MPS in force on the device's link; 0: not told */
	char iommu[16];		  /* iommu_group/type: "identity", "DMA", "DMA-FQ" */
	int n_ports;		  /* NIC */
	struct gp_topo_port ports[GP_TOPO_PORTS_MAX];
	char cpus[GP_TOPO_CPUS_MAX]; /* CPUs near it: "0-13,28-41" */
};

/* The partner chosen for a device. */
struct gp_topo_pick {
	int index; /* of the partner, -1: there is none */
	enum gp_class class;
	char why[160]; /* "PIX: at most one PCIe switch between them, the only one so near" */
};

struct gp_topo;

/*
 * Open a topology; the caller closes it. `from` is NULL or "" for this host, else a file or
 * directory, recognised by what is in it: hwloc XML (lstopo --of xml), `nvidia-smi topo -m` as
 * pasted text, an NCCL dump (NCCL_TOPO_DUMP_FILE), or a directory with captured files (sysfs under
 * its own paths, or any of the above). No devices, no PCI access and no NUMA are no errors.
 * Errors: GP_EXIT_USAGE for what can't be read or recognised.
 */
int gp_topo_open(const char *from, struct gp_topo **topo, struct gp_error *err);
/* The same for text that is in memory already, with a NUL at text[len]. */
int gp_topo_open_text(const char *text, size_t len, struct gp_topo **topo, struct gp_error *err);
/* Takes NULL. */
void gp_topo_close(struct gp_topo *topo);

/* "this host", "hwloc XML", "nvidia-smi topo -m", "NCCL topology dump", "capture". */
const char *gp_topo_source(const struct gp_topo *topo);
/* How many NUMA nodes and sockets there are; 0: not told. */
int gp_topo_numa_nodes(const struct gp_topo *topo);
int gp_topo_sockets(const struct gp_topo *topo);

/* Devices; GPUs in order of PCI address, NICs of name (or as in the text that they came from);
 * NULL past the end. GPUs are PCI
 * functions of vendor 10de and class 0300 or 0302 until gp_topo_gpu_name() says more. */
const struct gp_topo_device *gp_topo_gpu(const struct gp_topo *topo, int index);
const struct gp_topo_device *gp_topo_nic(const struct gp_topo *topo, int index);
int gp_topo_gpu_count(const struct gp_topo *topo);
int gp_topo_nic_count(const struct gp_topo *topo);

/* Index by name ("GPU0", "mlx5_0") or PCI address ("0000:1a:00.0", "1a:00.0", in any case, also
 * NVML's eight-digit domain); -1: there is none. */
int gp_topo_gpu_find(const struct gp_topo *topo, const char *name_or_bdf);
int gp_topo_nic_find(const struct gp_topo *topo, const char *name_or_bdf);

/*
 * Say that the PCI function `bdf` is a GPU: CUDA's number and model of it. It joins the list where
 * it is not in it yet (a GPU on any PCI device, or on none). Returns its index, -1 where
 * the list is full; no other index changes. After the first call GPUs that CUDA does not show are
 * named by their PCI address.
 */
int gp_topo_gpu_name(struct gp_topo *topo, const char *bdf, int ordinal, const char *model);

/* Distance of GPU and NIC by index, and of any two PCI functions. */
enum gp_class gp_topo_pair(const struct gp_topo *topo, int gpu, int nic);
enum gp_class gp_topo_class(const struct gp_topo *topo, const char *bdf_a, const char *bdf_b);

/* Whether ACS on a bridge between the two sends peer-to-peer traffic to the root complex, and
 * whether the IOMMU translates for a device (iommu_group/type DMA...): 1, 0, -1 not told. */
int gp_topo_acs_redirect(const struct gp_topo *topo, int gpu, int nic);
int gp_topo_iommu_translates(const struct gp_topo_device *device);

/* NUMA node of a PCI function, -1 where not told; the CPUs near it ("0-13,28-41") in `cpus`, empty
 * where not told. */
int gp_topo_numa_node(const struct gp_topo *topo, const char *bdf);
void gp_topo_cpus(const struct gp_topo *topo, const char *bdf, char *cpus, size_t size);

/* The nearest NIC of a GPU, and the nearest GPU of a NIC, each on its own (a job with one GPU).
 * NICs that are up come before those known to be down; then the lower name. */
void gp_topo_pick_nic(const struct gp_topo *topo, int gpu, struct gp_topo_pick *pick);
void gp_topo_pick_gpu(const struct gp_topo *topo, int nic, struct gp_topo_pick *pick);

/* NICs for all GPUs at once: each gets one of those that are best for it, and of these the GPUs get
 * one each as far as they go round. picks[] has one per GPU. Deterministic. */
void gp_topo_share(const struct gp_topo *topo, struct gp_topo_pick picks[GP_TOPO_MAX]);

/* What slows it: one row of a table in topo_find.c each. */
struct gp_topo_finding {
	const char *id;	      /* "cross-socket" */
	const char *severity; /* "error", "warning", "info" */
	int gpu, nic;	      /* whom it is about, -1: nobody */
	char message[400];
	char fix[300];
};
#define GP_TOPO_FINDINGS_MAX 128

/* Fill at most GP_TOPO_FINDINGS_MAX, in order of the table; returns how many. They speak of the
 * pairs that gp_topo_share() makes. */
int gp_topo_findings(const struct gp_topo *topo, struct gp_topo_finding *findings);

/* Only what makes rails share a link, for pairs that were chosen elsewhere: picks[] has one per
 * GPU, index -1 where it is in no rail. */
int gp_topo_rail_findings(const struct gp_topo *topo, const struct gp_topo_pick picks[GP_TOPO_MAX],
			  struct gp_topo_finding *findings);

/* {"gts", "width", "max_gts", "max_width", "gbytes_per_s"} as in that schema, what is not told
 * null; a new reference. */
json_t *gp_link_to_json(const struct gp_link *link);

/* Schema gdrproof/topo/1, results/topo.schema.json; a new reference. And for graphviz. */
json_t *gp_topo_to_json(const struct gp_topo *topo);
void gp_topo_to_dot(const struct gp_topo *topo, FILE *out);

#endif
