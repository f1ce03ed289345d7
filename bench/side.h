/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side: what either side does around a round: fill its source, note the NIC's counters, check what
 * arrived. Data flows from the client to the server in direction 0, back in direction 1.
 */
#ifndef GP_SIDE_H
#define GP_SIDE_H

#include "path.h"

/* One round as this side sees it. */
struct gp_task {
	struct gp_rig *rig;
	struct gp_round round;
	uint64_t seed; /* the round's; each direction makes its own of it */
	struct gp_counters before;
};

/* True where data leaves, arrives at, this side in the round. */
bool gp_task_is_source(const struct gp_task *task);
bool gp_task_is_sink(const struct gp_task *task);

/* Fill the source with the pattern and read the counters. */
int gp_task_prepare(struct gp_task *task, struct gp_error *err);

/* Differences of the counters since; what is unknown stays -1. */
void gp_task_count(const struct gp_task *task, struct gp_counters *counted);

/*
 * Read back and compare what arrived here: the messages that `mover` (the side that initiated that
 * direction) moved. With --verify off nothing is read.
 */
int gp_task_check(struct gp_task *task, const struct gp_moved *mover, struct gp_check *check,
		  struct gp_error *err);

/* Whose count it is that says what arrived here: with write the peer's, with read our own. */
bool gp_task_mover_is_peer(const struct gp_task *task);

/* gp_moved over the wire. Reading checks that it fits the walk. */
json_t *gp_moved_to_json(const struct gp_moved *moved);
int gp_moved_from_json(const json_t *json, struct gp_moved *moved, struct gp_error *err);

/* gp_connect_prepare() with what the rig's path and the options ask for. */
int gp_side_prepare_connection(struct gp_rig *rig, enum gp_connect_way way, json_t **info,
			       struct gp_error *err);

/* How long an answer may take in which a whole region is filled or checked. */
double gp_side_patience_s(const struct gp_bw_options *opt);

#endif
