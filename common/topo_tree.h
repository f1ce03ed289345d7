/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_tree: the inside of a topology, shared by the topo_*.c files only.
 *
 * Readers (hwloc, NCCL, nvidia-smi, sysfs) fill one struct gp_topo each from bounded, untrusted
 * text; topo.c then computes classes from the tree, whatever it came from. Nothing outside the room
 * includes this file.
 */
#ifndef GP_TOPO_TREE_H
#define GP_TOPO_TREE_H

#include "root.h"
#include "topo.h"

#include <stddef.h>
#include <stdint.h>

#define GP_TOPO_OBJS_MAX  16384
#define GP_TOPO_NODES_MAX 256
#define GP_TOPO_DEPTH_MAX 128
#define GP_TOPO_TEXT_MAX  (16u << 20) /* bytes of one input file */

enum gp_obj_kind {
	GP_OBJ_HOST,	 /* a root complex: one host bridge, or one CPU of an NCCL dump */
	GP_OBJ_BRIDGE,	 /* one PCI bridge: a root port, or one port of a switch */
	GP_OBJ_SWITCH,	 /* a whole switch (NCCL dumps don't show its ports) */
	GP_OBJ_FUNCTION, /* anything else on PCI */
};

/* One PCI object. Parents come before their children in the array. */
struct gp_obj {
	enum gp_obj_kind kind;
	int parent; /* index, -1: none told */
	char bdf[16];
	unsigned class, vendor; /* class 0x0302; 0: not told */
	int numa_node;		/* -1 */
	char cpus[GP_TOPO_CPUS_MAX];
	struct gp_link link;
	int acs; /* ACS control bits, -1: not told */
	int max_payload_bytes;
	char iommu[16];
	bool virtual_function; /* an SR-IOV VF of a function of this host */
	bool sysfs_read;
};

struct gp_topo_node {
	int os_index;
	int socket; /* -1: not told, or the node spans several */
};

struct gp_topo {
	const char *source;
	bool given;	   /* classes came with the input (nvidia-smi): nothing to compute */
	bool hosts_untold; /* NCCL: the host bridges of one CPU are not told apart */
	bool cuda_numbers; /* gp_topo_gpu_name() was called */
	bool sysfs;	   /* read from sysfs: software devices are told apart */
	bool pci_untold;   /* live or capture: there is no PCI device to be seen */
	int n_objs, objs_cap;
	struct gp_obj *objs;
	int n_nodes, n_sockets;
	struct gp_topo_node nodes[GP_TOPO_NODES_MAX];
	char allowed_nodes[256]; /* live: nodes that this process may use, where not all */
	int n_gpus, n_nics, n_left_out;
	struct gp_topo *told; /* what nvidia-smi says of the same machine, NULL: nothing; owned */
	struct gp_topo_device gpus[GP_TOPO_MAX], nics[GP_TOPO_MAX];
	int gpu_obj[GP_TOPO_MAX], nic_obj[GP_TOPO_MAX]; /* -1: stands nowhere on PCI */
	int ordinal[GP_TOPO_MAX];			/* CUDA's, -1: not told */
	enum gp_class pair[GP_TOPO_MAX][GP_TOPO_MAX];	/* [gpu][nic] */
};

/* --- topo_tree.c: what the readers build with --- */

/* A new object, zeroed and "not told"; its index, or -1 with `err` set. */
int gp_topo_obj_add(struct gp_topo *topo, enum gp_obj_kind kind, int parent, struct gp_error *err);
/* Index of the first object at that address, -1. */
int gp_topo_obj_find(const struct gp_topo *topo, const char *bdf);
/* A new device, zeroed and "not told"; NULL where the list is full. */
struct gp_topo_device *gp_topo_gpu_add(struct gp_topo *topo, int obj, const char *name);
struct gp_topo_device *gp_topo_nic_add(struct gp_topo *topo, int obj, const char *name);
/* Note a NUMA node once; doubles are joined, those past the limit dropped. */
void gp_topo_node_add(struct gp_topo *topo, int os_index, int socket);
/* The node that an object is on: its own, or its nearest ancestor's; -1. */
int gp_topo_obj_node(const struct gp_topo *topo, int obj);
/* Same, but on a machine with one node and at most one socket that node for all. */
int gp_topo_obj_node_effective(const struct gp_topo *topo, int obj);
enum gp_class gp_topo_obj_class(const struct gp_topo *topo, int a, int b);
/* A NIC that is nearer to the GPU than `class`, but has no active port; -1. */
int gp_topo_nearer_down(const struct gp_topo *topo, int gpu, enum gp_class class);
/* Socket of a NUMA node, -1. */
int gp_topo_node_socket(const struct gp_topo *topo, int os_index);

/*
 * Read a PCI address in any of its spellings ("1a:00.0", "00000000:1A:00.0") into sysfs form.
 * `text` must hold nothing else. Returns 0, or -1 where it is none.
 */
int gp_bdf_read(const char *text, char bdf[16]);
/* The last address among the components of a path; -1: there is none. */
int gp_bdf_last(const char *path, char bdf[16]);

/* Copy at most size - 1 printable bytes; others become '?'. */
void gp_topo_text(char *dst, size_t size, const char *src, size_t len);

/* GT/s times lanes, as a yardstick for "narrower"; 0: not told. */
double gp_link_weight(const struct gp_link *link);

/* The bridges that a pair goes through, from each device up to where the ways meet. */
struct gp_way {
	int n;
	int obj[2 * GP_TOPO_DEPTH_MAX];
	bool through_host; /* no PCI bridge is common to both */
};
/* False where the place of either is not known. */
bool gp_topo_way(const struct gp_topo *topo, int gpu, int nic, struct gp_way *way);
/* What a bridge's ACS control bits (-1: not told) do to peer-to-peer traffic. */
bool gp_acs_redirects(int acs);

/* After reading: put the devices in order; and (again whenever a device joins) their places and
 * links, and all pairs. */
void gp_topo_order(struct gp_topo *topo);
void gp_topo_resolve(struct gp_topo *topo);

/* --- readers; `text` has a NUL at text[len] --- */

int gp_topo_read_hwloc(struct gp_topo *topo, const char *text, size_t len, bool devices,
		       struct gp_error *err);
int gp_topo_read_nccl(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err);
int gp_topo_read_smi(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err);
/* Run hwloc on this host: nodes, sockets, PCI tree; no devices. */
int gp_topo_read_live(struct gp_topo *topo, struct gp_error *err);
/*
 * What sysfs under `root` tells: the PCI functions that are not there yet, links, NUMA nodes,
 * ACS, IOMMU; RDMA devices; GPUs by vendor and class.
 */
int gp_topo_read_sysfs(struct gp_topo *topo, const struct gp_root *root, struct gp_error *err);
/* A directory of captured files. */
int gp_topo_read_capture(struct gp_topo *topo, const char *dir, struct gp_error *err);
/* Any of the three text forms; 1 where it is none of them. */
int gp_topo_read_text(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err);
/* True where the text has the matrix of nvidia-smi topo -m in it. */
bool gp_topo_is_smi(const char *text, size_t len);

/* "0000ffff,00000000" (most significant first; 0x or not) as "32-47"; empty where it is too long
 * for `list`. Returns the number of bits, *first is the lowest (-1). */
int gp_mask_list(const char *mask, char *list, size_t size, int *first);

#endif
