/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * host: what this machine offers for a measurement, and the choice of one NIC and one GPU from it.
 */
#ifndef GP_HOST_H
#define GP_HOST_H

#include "cuda.h"
#include "err.h"
#include "limit.h"
#include "rdma.h"
#include "topo.h"

struct gp_host {
	char name[64];
	char kernel[128];
	struct gp_cuda *cuda; /* NULL: not there, cuda_error says why */
	struct gp_error cuda_error;
	struct gp_cuda_versions cuda_versions;
	struct gp_gpu gpus[GP_GPU_MAX];
	int n_gpus;
	struct gp_nic nics[GP_NIC_MAX];
	int n_nics;
	struct gp_topo *topo;
	json_t *inventory; /* gp_here_describe(); NULL: not had */
};

/* Look at this machine. No GPU and no NIC are no errors; `with_cuda` false leaves CUDA alone. */
int gp_host_open(bool with_cuda, struct gp_host *host, struct gp_error *err);
void gp_host_close(struct gp_host *host);

struct gp_choice {
	const struct gp_nic *nic;
	const struct gp_gpu *gpu; /* NULL: none asked for, or none there */
	bool gpu_declined;	  /* --gpu none, or no path uses one */
	enum gp_class distance;	  /* GP_CLASS_UNKNOWN without a GPU */
	struct gp_error no_gpu;	  /* why gpu is NULL although it was not declined */
};

/*
 * Choose. Empty words mean: the nearest to the other one; both empty: the closest pair whose port
 * is active. `gpu` is an ordinal, a PCI address, a UUID or "none". A GPU or NIC that is named and
 * not there is GP_EXIT_MISSING; so is having no active NIC at all. That there is no GPU is not: see
 * no_gpu.
 */
int gp_host_choose(const struct gp_host *host, const char *nic, const char *gpu,
		   struct gp_choice *choice, struct gp_error *err);

/* PIX ... SYS of a GPU and a NIC; GP_CLASS_UNKNOWN where a place is not known, or `gpu` is NULL. */
enum gp_class gp_host_distance(const struct gp_host *host, const struct gp_gpu *gpu,
			       const struct gp_nic *nic);

/* A NIC port with the GPU that it serves best; gpu is NULL where CUDA shows none. */
struct gp_rail {
	const struct gp_gpu *gpu;
	const struct gp_nic *nic;
};
#define GP_RAILS_MAX 64

/* The rails of this host: every NIC with an active port once, with a GPU of its own as far as they
 * go round (gp_topo_share). Returns how many, at most GP_RAILS_MAX. */
int gp_host_rails(const struct gp_host *host, struct gp_rail rails[GP_RAILS_MAX]);

/* What rails share below their ports, as findings of the topology; returns how many. */
int gp_host_rail_findings(const struct gp_host *host, const struct gp_rail *rails, int n,
			  struct gp_topo_finding findings[GP_TOPO_FINDINGS_MAX]);

/* What this side's NIC port, and the PCIe links of NIC and GPU, let through in one direction. */
void gp_host_limit(const struct gp_host *host, const struct gp_choice *choice,
		   struct gp_limit *limit);

/*
 * The NUMA node that a word of --cpu-node or --mem-node names: a number, "nic", "gpu" or "far" (the
 * furthest from the NIC). -1 where the device's node is not told, which binds nothing.
 * GP_EXIT_USAGE for another word, GP_EXIT_MISSING for a GPU or a far node that is not there.
 */
int gp_host_node(const struct gp_host *host, const struct gp_choice *choice, const char *word,
		 int *node, struct gp_error *err);

/* The `client` and `server` object of the record (results/result.schema.json); a new reference. */
json_t *gp_host_describe(const struct gp_host *host, const struct gp_choice *choice);

#endif
