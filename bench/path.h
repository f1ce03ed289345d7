/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path: the ways in which bytes can go between two GPUs, one const struct each, and the rig: what
 * one side of an open path consists of. Nobody asks which path it is; what differs is in the row.
 */
#ifndef GP_PATH_H
#define GP_PATH_H

#include "bw_options.h"
#include "connect.h"
#include "cuda.h"
#include "evidence.h"
#include "loop.h"
#include "rdma.h"
#include "record.h"
#include "region.h"
#include "tuning.h"

struct gp_rig;

struct gp_path {
	const char *name;
	const char *help;	     /* for the README and the manual */
	bool needs_gpu;		     /* on one side at least */
	bool both_sides_run;	     /* the passive side takes part in every round */
	const struct gp_need *needs; /* what `proven` takes */
	/* Work requests that each QP must hold. */
	void (*queues)(const struct gp_bw_options *opt, int *send_wr, int *recv_wr);
	/* Host memory that it has beside the region, in bytes. */
	uint64_t (*beside)(const struct gp_bw_options *opt);
	/* Allocate and register; on failure nothing is left. GP_EXIT_MISSING: can't be had. */
	int (*open)(struct gp_rig *rig, struct gp_error *err);
	/* The peer is connected: what must be in place before it sends. */
	int (*ready)(struct gp_rig *rig, struct gp_error *err);
	/* The client's, when both sides are ready: settle what follows from measuring. */
	int (*tune)(struct gp_rig *rig, struct gp_error *err);
	/* How messages of a size go through the region. */
	struct gp_walk (*walk)(const struct gp_rig *rig, uint64_t size);
	/* Move bytes for one round. */
	int (*run)(struct gp_rig *rig, const struct gp_round *round, struct gp_moved *moved,
		   struct gp_error *err);
	/* Free what `open` made, whatever part of it is there. */
	void (*close)(struct gp_rig *rig);
};

extern const struct gp_path gp_path_dmabuf, gp_path_peermem, gp_path_host, gp_path_bounce;

/* In the order of --path's choices after `auto`; NULL ends it. */
extern const struct gp_path *const gp_paths[];

/* The path of that name, or NULL. */
const struct gp_path *gp_path_find(const char *name);

/* One end of the pair, as long as the session lasts. */
struct gp_end {
	enum gp_side side;
	const struct gp_bw_options *opt;
	struct gp_cuda *cuda;	  /* NULL: no CUDA here, or --gpu none */
	const struct gp_gpu *gpu; /* NULL: none */
	struct gp_error no_gpu;	  /* why none; not set where it was declined, and this side's memory
				     shall be the host's */
	struct gp_rdma *rdma;
	int cpu_node, mem_node; /* NUMA nodes asked for; -1: any */
};

/* Copies out of a side's GPU and into it; all zero where it has none. */
struct gp_copy_rates {
	struct gp_stage_rate out, in;
};

/* What the peer may touch. */
struct gp_remote {
	uint64_t addr;
	uint32_t rkey;
	bool staged; /* addr is of staging slots, not of the region */
	struct gp_copy_rates copies;
};

/* An open path on one side. All zero but `end` and `path` is closed. */
struct gp_rig {
	const struct gp_path *path;
	const struct gp_end *end;
	struct gp_region region; /* two-way: source half, then destination half */
	uint64_t half_bytes;	 /* region.bytes, or half of it when two-way */
	struct ibv_mr *mr;	 /* of the region, or of the staging slots */
	uint64_t mr_addr;	 /* remote address of its first byte */
	int dmabuf_fd;		 /* -1: none */
	struct gp_staging *staging;
	struct gp_copy_rates copies; /* measured when the slots were opened */
	struct gp_tuning tuning;     /* of the slots; the client's choice on both sides */
	/* By gp_ops[], measured between the slots by the client. */
	struct gp_stage_rate wire[GP_OPS];
	struct gp_connection *conn;
	struct gp_remote remote;
	struct gp_facts facts; /* of opening */
};

/* Open the path's memory and registration on this side. On failure *rig is closed. */
int gp_rig_open(const struct gp_path *path, const struct gp_end *end, struct gp_rig *rig,
		struct gp_error *err);
/* May be called twice. Takes the connection down first. */
void gp_rig_close(struct gp_rig *rig);

/* Where a round's data starts on each side, within the region. */
uint64_t gp_rig_source(const struct gp_rig *rig);
uint64_t gp_rig_sink(const struct gp_rig *rig);

/* Where this side's thread and host memory are, by the kernel; asked and got. */
void gp_rig_ask_place(const struct gp_rig *rig, struct gp_placed *placed);

/* What the peer needs of this side, and the reverse. */
json_t *gp_rig_describe(const struct gp_rig *rig);
int gp_rig_set_remote(struct gp_rig *rig, const json_t *json, struct gp_error *err);

/* Chunk and slots for the rounds to come, from the client. Refuses what does not fit. */
json_t *gp_rig_tuning(const struct gp_rig *rig);
int gp_rig_set_tuning(struct gp_rig *rig, const json_t *json, struct gp_error *err);

/* What the client knows of the stages of its pipeline, for the cell of an op; `busy` is not
 * touched. Nothing is set where the path has none. */
void gp_rig_ask_pipeline(const struct gp_rig *rig, const struct gp_op *op,
			 struct gp_pipeline *pipeline);

/* Pieces that the paths share. */

/* True where this side's region is to be GPU memory: the path uses GPUs and the side has one. */
bool gp_rig_on_gpu(const struct gp_rig *rig);
/* Region of the side's kind, with the fact about its pointer. */
int gp_rig_open_region(struct gp_rig *rig, struct gp_error *err);
/* ibv_reg_mr of the region, with the fact; `what` names the memory. */
int gp_rig_register_region(struct gp_rig *rig, const char *what, struct gp_error *err);
/* The direct loop's beside (nothing), queues, ready, tune (nothing), walk and run. */
uint64_t gp_direct_beside(const struct gp_bw_options *opt);
void gp_direct_queues(const struct gp_bw_options *opt, int *send_wr, int *recv_wr);
int gp_direct_ready(struct gp_rig *rig, struct gp_error *err);
int gp_direct_tune(struct gp_rig *rig, struct gp_error *err);
struct gp_walk gp_direct_walk(const struct gp_rig *rig, uint64_t size);
int gp_direct_run(struct gp_rig *rig, const struct gp_round *round, struct gp_moved *moved,
		  struct gp_error *err);
/* Close for paths that own nothing but region, MR and dma-buf. */
void gp_direct_close(struct gp_rig *rig);

#endif
