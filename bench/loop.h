/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop: one round. Here are the rows of the operations, what a round is asked to do and what it
 * gives back, and the direct loop: RDMA between the region of one side and that of the other.
 */
#ifndef GP_LOOP_H
#define GP_LOOP_H

#include "err.h"
#include "rdma.h"

#include <stdbool.h>
#include <stdint.h>

struct gp_op {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool from_initiator; /* data flows from the side that posts to the other */
};

/* In the order of --op's choices; a row without a name ends it. */
extern const struct gp_op gp_ops[];
#define GP_OPS 2

struct gp_moved;

struct gp_round {
	const struct gp_op *op;
	uint64_t size;	      /* of a message */
	uint64_t duration_ns; /* 0: by messages */
	uint64_t open_ns;     /* by duration: when the window opens (gp_now_ns); what is through
				 before does not count. 0: at once */
	uint64_t messages;    /* 0: by duration */
	uint32_t number;      /* counts up over the rig's rounds */
	bool initiator;	      /* this side posts (two-way: both do) */
	bool two_way;
	double timeout_s; /* longest time without any progress */
	/* The control channel: a peer that hangs up ends the round; on the passive side a message
	 * that can be read ends it in order. */
	int control_fd;
	bool until_message;
	/* Called once by an initiator that ends by itself, when all it posted is through: tells the
	 * peer. May be NULL. */
	int (*ended)(void *arg, const struct gp_moved *moved, struct gp_error *err);
	void *ended_arg;
};

/* The stages of the bounce pipeline: out of the GPU, over the wire, into the GPU. */
enum gp_stage { GP_STAGE_OUT, GP_STAGE_WIRE, GP_STAGE_IN };
#define GP_STAGES 3

/* What this side moved as initiator. */
struct gp_moved {
	uint64_t messages, bytes, ns;	   /* within the measured window */
	uint64_t start_ns;		   /* when the window opened, by gp_now_ns() */
	uint64_t all_messages;		   /* and with what was in flight when it ended */
	int lanes;			   /* walks through the region: one a QP, or one */
	uint64_t lane_messages[GP_QP_MAX]; /* all, of each walk */
	/* Bounce: how long each stage on this side had work, from its first to its last in the
	 * round. All zero elsewhere. */
	uint64_t busy_ns[GP_STAGES], span_ns;
};

/* How a lane walks: `slots` messages `stride` apart from `begin`, over and over. */
struct gp_walk {
	int lanes;
	uint64_t size, stride, slots;
};

/* The walk of the direct loop through half a region. slots is a multiple of `batch`. */
struct gp_walk gp_walk_plan(uint64_t bytes, uint64_t size, int lanes, int batch);

/* Where lane i's first message is. */
uint64_t gp_walk_begin(const struct gp_walk *walk, int lane);

/* One look at the world while nothing completes; called by the loops of all paths, rarely. */
enum gp_look { GP_LOOK_GO_ON, GP_LOOK_END, GP_LOOK_FAIL };
enum gp_look gp_round_look(const struct gp_round *round, uint64_t idle_since_ns,
			   struct gp_error *err);

/* The error for a completion with a bad status; names the peer's death where that is the cause. */
int gp_round_wc_error(const struct gp_round *round, const struct ibv_wc *wc, struct gp_error *err);

/* What the direct loop works on. */
struct gp_direct {
	struct ibv_cq *cq;
	struct ibv_qp *const *qp;
	struct gp_walk walk;
	int tx_depth, post_list, cq_mod, batch;
	uint64_t local_addr, remote_addr; /* of the walks' origin */
	uint32_t lkey, rkey;
};

int gp_loop_run(const struct gp_direct *direct, const struct gp_round *round,
		struct gp_moved *moved, struct gp_error *err);

#endif
