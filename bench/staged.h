/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * staged: the bounce pipeline, what a job gets without GPUDirect. Bytes go GPU -> pinned host ->
 * NIC -> wire -> NIC -> pinned host -> GPU in chunks; copies on CUDA streams, the NIC and the peer
 * all work at once. What counts is what has reached the destination GPU.
 *
 * A side without a GPU takes part without the copy: the NIC then works on its region itself.
 */
#ifndef GP_STAGED_H
#define GP_STAGED_H

#include "path.h"

struct gp_staging;

/* How a message size is cut: into chunks of a message, or messages to a chunk. */
struct gp_chunking {
	uint64_t size, stride; /* of a message */
	uint64_t chunk_bytes;  /* copied at a time, at most */
	uint64_t per_message;  /* chunks that a message takes; 1 where it fits in one */
	uint64_t messages;     /* messages in a chunk; 1 where one takes several */
	uint64_t walk_chunks;  /* chunks until the walk starts over */
};
struct gp_chunking gp_chunking_plan(uint64_t region_bytes, uint64_t size);

/* Offset of chunk k in the region, and the bytes to copy for it. */
uint64_t gp_chunk_offset(const struct gp_chunking *c, uint64_t k);
uint64_t gp_chunk_bytes(const struct gp_chunking *c, uint64_t k);

/* Requests that each QP needs. */
void gp_staged_queues(const struct gp_bw_options *opt, int *send_wr, int *recv_wr);

/* Pinned slots (where the rig's region is on a GPU), streams and events; sets rig->mr. */
int gp_staging_open(struct gp_rig *rig, struct gp_error *err);
/* Takes a rig without any. Streams are drained, so that no copy touches what is freed. */
void gp_staging_close(struct gp_rig *rig);

/* Post the receives. */
int gp_staged_ready(struct gp_rig *rig, struct gp_error *err);

/* One lane of messages in the order of the chunks. */
struct gp_walk gp_staged_walk(const struct gp_rig *rig, uint64_t size);

int gp_staged_run(struct gp_rig *rig, const struct gp_round *round, struct gp_moved *moved,
		  struct gp_error *err);

#endif
