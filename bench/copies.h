/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copies: the copy stages of one side: pinned slots in host memory, a CUDA stream for each way, an
 * event for each slot. No NIC is needed.
 */
#ifndef GP_COPIES_H
#define GP_COPIES_H

#include "cuda.h"
#include "staged.h"
#include "tuning.h"

/* Zero is closed. */
struct gp_copies {
	struct gp_cuda *cuda;
	void *host;	     /* the slots of the outgoing pipe, behind them those of the incoming */
	uint64_t room_bytes; /* of each */
	void *stream[2];     /* by enum gp_pipe_kind */
	void *event[2][GP_SLOTS_MAX];
};

/* Room for slots on NUMA node `node` (-1: any), pinned, and what copies need. */
int gp_copies_open(struct gp_cuda *cuda, uint64_t room_bytes, int node, struct gp_copies *copies,
		   struct gp_error *err);
/*
 * Waits for copies under way. -1 where one hangs: it still has the slots and its GPU memory, so
 * the slots stay, and the caller must leave it the GPU memory. May be called twice.
 */
int gp_copies_close(struct gp_copies *copies);

/* Slot `i` of a pipe, when slots have `slot_bytes`. */
void *gp_copies_slot(const struct gp_copies *copies, enum gp_pipe_kind pipe, int i,
		     uint64_t slot_bytes);

/* Begin to copy between GPU memory and a slot; 1 where the copy begun last in a slot is done. */
int gp_copies_begin(struct gp_copies *copies, enum gp_pipe_kind pipe, int slot, uint64_t slot_bytes,
		    void *gpu, uint64_t bytes, struct gp_error *err);
int gp_copies_done(struct gp_copies *copies, enum gp_pipe_kind pipe, int slot,
		   struct gp_error *err);

/*
 * What copies out of, or into, `gpu` give: queued one behind another as in the pipeline, of two
 * lengths, within a few milliseconds where the machine is no slower than 1 GB/s. `gpu_bytes` of
 * memory there are used, what is in it is overwritten where copies go in. A copy that does not end
 * within `timeout_s` is an error. All zero where there is too little room to measure.
 */
int gp_copies_measure(struct gp_copies *copies, enum gp_pipe_kind pipe, void *gpu,
		      uint64_t gpu_bytes, double timeout_s, struct gp_stage_rate *rate,
		      struct gp_error *err);

#endif
