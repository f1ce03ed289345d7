/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * staged: the bounce pipeline, what a job gets without GPUDirect. Bytes go GPU -> pinned host ->
 * NIC -> wire -> NIC -> pinned host -> GPU in chunks; copies, the NIC and the peer all work at
 * once. What counts is what has reached the destination GPU.
 *
 * Here is the order of the work alone. What does it is behind struct gp_stages: CUDA and verbs in
 * staging, set rates and a simulated clock in the tests.
 */
#ifndef GP_STAGED_H
#define GP_STAGED_H

#include "loop.h"
#include "tuning.h"

enum gp_pipe_kind { GP_PIPE_OUT, GP_PIPE_IN };
enum gp_parcel_kind { GP_PARCEL_WRITE, GP_PARCEL_READ, GP_PARCEL_NOTE };

/* A request to the wire. Chunk k of a pipe is in slot k % slots of it, on both sides: an outgoing
 * one here in the incoming slots there, and the reverse. */
struct gp_parcel {
	enum gp_parcel_kind kind;
	enum gp_pipe_kind pipe; /* here, of write and read */
	uint64_t chunk;		/* requests of one chunk number go through one QP */
	uint64_t id;		/* comes back when it is done */
	uint32_t note;		/* what the peer is told with it (write, note) */
};

/* What the wire tells: a parcel of ours is done, or a note from the peer has come. */
struct gp_arrival {
	bool is_note;
	uint64_t id;
	uint32_t note;
};

/* What does the work on one side. Calls that fail return -1 and set err. */
struct gp_stages {
	void *arg;
	bool copies; /* false: no GPU here, the NIC works on the region itself */
	/* Begin to copy `bytes` between the GPU's memory at `offset` of the pipe's half and a slot.
	 * Copies of a pipe are done in the order in which they were begun. */
	int (*copy)(void *arg, enum gp_pipe_kind pipe, int slot, uint64_t offset, uint64_t bytes,
		    struct gp_error *err);
	/* 1: the copy begun last in that slot is done; 0: not yet. */
	int (*copied)(void *arg, enum gp_pipe_kind pipe, int slot, struct gp_error *err);
	int (*post)(void *arg, const struct gp_parcel *parcel, struct gp_error *err);
	/* How many of at most `max` arrivals. */
	int (*poll)(void *arg, struct gp_arrival *arrivals, int max, struct gp_error *err);
	void (*wait)(void *arg); /* nothing moved: let others have the CPU */
	uint64_t (*now_ns)(void *arg);
	enum gp_look (*look)(void *arg, const struct gp_round *round, uint64_t idle_since_ns,
			     struct gp_error *err);
};

/* One round on this side. `cut` and `slots` must be the peer's too. */
int gp_staged_run(const struct gp_stages *stages, const struct gp_chunking *cut, int slots,
		  const struct gp_round *round, struct gp_moved *moved, struct gp_error *err);

#endif
