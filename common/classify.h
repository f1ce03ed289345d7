/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify: from the facts of a host to its module path, the lines that decide it, and findings.
 * Pure: struct in, struct out, no I/O.
 *
 * The rule. Each path has four prerequisites, each ok, missing or unknown:
 *
 *              driver               CUDA               kernel            OFED
 *   dmabuf     Open Kernel Module   11.7, both sides   5.12, and the     optional
 *                                                      NIC's driver
 *   peermem    any                  no minimum         no minimum        MLNX_OFED or DOCA-OFED
 *
 *  1. What no module changes decides first: no NVIDIA driver, no RDMA device, or only GPUs without
 *     GPUDirect RDMA is path `none`, confirmed.
 *  2. DMA-BUF is the path where driver and kernel are known to be ok and nothing is known to be
 *     missing: confirmed where CUDA is known too, conditional on CUDA where it is not.
 *  3. Where something of DMA-BUF is known to be missing, nvidia-peermem is the path if OFED is
 *     there or the module is loaded: confirmed where OFED is there and it is known whether the
 *     module is loaded (not loaded is a finding, not another path); conditional on the part that
 *     is not known. The module needs OFED by the table, but a loaded module proves that the kernel
 *     has the peer-memory interface: OFED absent makes it conditional, with a finding.
 *     With neither, `none`: confirmed, since OFED is known to be absent. OFED unknown and no
 *     module seen: `undetermined`.
 *  4. Where DMA-BUF can't be judged (flavour or kernel unknown), a loaded peer-memory module makes
 *     the path `peermem`, conditional, since DMA-BUF may be there too. Else `undetermined`.
 *
 * What is not in the capture never counts as missing. An RDMA device or a GPU model that the
 * capture does not mention makes nothing conditional: they are prerequisites of both paths and
 * decide between none of them. CUDA toolkit and driver side count each where known; one that falls
 * short while the other is ok is conditional, since a container may bring its own toolkit.
 */
#ifndef GP_CLASSIFY_H
#define GP_CLASSIFY_H

#include "inventory.h"

enum gp_path_id { GP_PATH_UNDETERMINED, GP_PATH_NONE, GP_PATH_PEERMEM, GP_PATH_DMABUF };
enum gp_state { GP_STATE_UNKNOWN, GP_STATE_OK, GP_STATE_MISSING };
enum gp_prereq { GP_NEED_DRIVER, GP_NEED_CUDA, GP_NEED_KERNEL, GP_NEED_OFED, GP_NEED_COUNT };
enum gp_severity { GP_SEVERITY_ERROR, GP_SEVERITY_WARNING, GP_SEVERITY_INFO };

#define GP_DECIDERS_MAX	  6
#define GP_CONDITIONS_MAX 6
#define GP_EVIDENCE_MAX	  6
#define GP_FINDINGS_MAX	  24

/* One prerequisite of one path. `fact` (may be NULL) is what it was judged by. */
struct gp_prerequisite {
	enum gp_state state;
	char detail[140]; /* "open 570.86.15", "5.15 >= 5.12", "not in the capture" */
	const struct gp_host_fact *fact;
};

struct gp_decider {
	const char *name; /* "driver", "kernel", "OFED", … */
	const struct gp_host_fact *fact;
	char note[80]; /* " >= 5.12": what the line is measured against; may be empty */
};

struct gp_finding {
	const char *id;
	enum gp_severity severity;
	char message[480];
	char fix[720];
	struct { /* lines, borrowed from the inventory */
		const char *source, *line;
		int number;
	} evidence[GP_EVIDENCE_MAX];
	int n_evidence;
};

struct gp_path_verdict {
	enum gp_path_id path;
	bool confirmed;
	char condition[GP_CONDITIONS_MAX][160];
	int n_conditions;
	struct gp_prerequisite dmabuf[GP_NEED_COUNT], peermem[GP_NEED_COUNT];
	struct gp_decider decider[GP_DECIDERS_MAX];
	int n_deciders;
	char helm[4][80]; /* what the GPU Operator should be told on such a node */
	int n_helm;
	struct gp_finding finding[GP_FINDINGS_MAX];
	int n_findings;
	char expectation[160]; /* what lsmod should show, and whether it does */
};

/* Judge one host. The verdict points into `inv`, which has to outlive it. */
void gp_classify(const struct gp_inventory *inv, struct gp_path_verdict *verdict);

/* True where the finding `id` is among them. */
bool gp_path_verdict_has(const struct gp_path_verdict *verdict, const char *id);

/* "dmabuf", "driver", "missing", "error": the words of the record. */
const char *gp_path_word(enum gp_path_id path);
const char *gp_need_word(enum gp_prereq need);
const char *gp_state_word(enum gp_state state);
const char *gp_severity_word(enum gp_severity severity);

/*
 * Why `path` (GP_PATH_DMABUF or GP_PATH_PEERMEM) is not there, as one sentence with its line:
 * "driver: proprietary 535.183.06 (\"NVRM version: …\")". False, and an empty text, where nothing
 * is known to be missing.
 */
bool gp_classify_missing(const struct gp_inventory *inv, enum gp_path_id path, char *text,
			 size_t size);

/* --- a fleet --- */

/* Nodes with the same path and the same findings. */
struct gp_group {
	int *node; /* indices, ascending */
	int n;
};

/* One cluster-wide setting over nodes that differ in what it is about. */
struct gp_split {
	bool there;
	bool told;		   /* the value of useHostMofed */
	int right, wrong, unknown; /* numbers of nodes */
	char message[320];
	char fix[720]; /* both ways out, with the trade-off */
};

struct gp_fleet_verdict {
	struct gp_path_verdict *verdict; /* of each node, in the fleet's order */
	int n;
	struct gp_group *group;
	int n_groups;
	struct gp_split split;
	char summary[600]; /* the one sentence for the case notes */
};

/* Judge all nodes, group them, compare cluster-wide settings with all of them. Returns 0, or -1
 * where memory is out. Close frees it; may be called twice. */
int gp_classify_fleet(const struct gp_fleet *fleet, struct gp_fleet_verdict *out);
void gp_fleet_verdict_close(struct gp_fleet_verdict *fleet);

/* The record (results/path.schema.json); a new reference, NULL where memory is out. */
json_t *gp_classify_to_json(const struct gp_fleet *fleet, const struct gp_fleet_verdict *verdict);

/* --- internal to classify*.c --- */

/* Add what applies of the findings' table to a verdict whose path is decided. */
void gp_findings_add(const struct gp_inventory *inv, struct gp_path_verdict *verdict);

/* Errors first, then warnings, then info. */
void gp_findings_sort(struct gp_path_verdict *verdict);

/* GPUs by name. */
bool gp_gpu_name_lacks_gdr(const char *name);
bool gp_gpu_name_is_coherent(const char *name);
bool gp_gpu_name_is_old(const char *name); /* before Turing: no Open Kernel Module */
bool gp_gpu_name_is_vgpu(const char *name);
bool gp_gpus_lack_gdr(const struct gp_inventory *inv, bool *all, const struct gp_host_fact **line);

/* The kernel from which a NIC's driver imports dma-bufs; NULL: unknown driver, "": never. */
const char *gp_nic_dmabuf_since(const char *driver);
const char *gp_nic_driver(const struct gp_device *nic);

#endif
