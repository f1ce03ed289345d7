/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tuning: how the bounce pipeline cuts messages into chunks, and how large a chunk is and how many
 * slots there are, by the rates of its stages. Pure; what measures and what moves is elsewhere.
 */
#ifndef GP_TUNING_H
#define GP_TUNING_H

#include "bw_options.h"

#define GP_SLOTS_MAX	  64
#define GP_CHUNK_MESSAGES 512 /* that share a chunk, at most */

/* Chunk size (a multiple of 4096) and slots of each direction on each side. */
struct gp_tuning {
	uint64_t chunk_bytes;
	int slots;
};

/* A stage: n bytes take fixed_ns + n / rate. For a copy `fixed_ns` is what each costs in a queue of
 * them; on the wire it is a round trip, which the next chunk does not wait for. All zero: there is
 * no such stage. */
struct gp_stage_rate {
	double gbytes_per_s; /* bytes per ns */
	double fixed_ns;
};

/* The stages of one direction, from GPU to GPU. */
struct gp_pipe_rates {
	struct gp_stage_rate out, wire, in;
};

/*
 * The rate of two measured copies of different lengths. Where the longer took no more time, all of
 * it is rate.
 */
struct gp_stage_rate gp_stage_rate_fit(uint64_t short_bytes, double short_ns, uint64_t long_bytes,
				       double long_ns);

/* What the slots of one direction take on one side, at most; all that is chosen later fits. */
uint64_t gp_tuning_room(const struct gp_bw_options *opt);

/* What is used until rates are known: as asked for, else a middling choice. */
struct gp_tuning gp_tuning_begin(const struct gp_bw_options *opt);

/*
 * The choice for `n` directions at once: the smallest chunk (a power of two) in which no copy's
 * fixed cost is over 3 %, or the copy is twice as fast as the wire; and twice the slots that keep
 * the slowest stage at work while a chunk is in the others. What the options say stays as it is.
 */
struct gp_tuning gp_tuning_choose(const struct gp_bw_options *opt,
				  const struct gp_pipe_rates *pipes, int n);

/* True where a tuning, from a peer, is one that gp_tuning_room() and the queues hold. */
bool gp_tuning_fits(const struct gp_bw_options *opt, const struct gp_tuning *tuning);

/* How a message size is cut: into chunks of a message, or messages to a chunk. */
struct gp_chunking {
	uint64_t size, stride; /* of a message */
	uint64_t chunk_bytes;  /* copied at a time, at most */
	uint64_t per_message;  /* chunks that a message takes; 1 where it fits in one */
	uint64_t messages;     /* messages in a chunk; 1 where one takes several */
	uint64_t walk_chunks;  /* chunks until the walk starts over */
};
struct gp_chunking gp_chunking_plan(uint64_t region_bytes, uint64_t size,
				    const struct gp_tuning *tuning);

/* Offset of chunk k in the region, and the bytes to copy for it. */
uint64_t gp_chunk_offset(const struct gp_chunking *c, uint64_t k);
uint64_t gp_chunk_bytes(const struct gp_chunking *c, uint64_t k);

/* Requests that each QP needs, whatever is chosen. */
void gp_tuning_queues(const struct gp_bw_options *opt, int *send_wr, int *recv_wr);

#endif
