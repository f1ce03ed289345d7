/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proof: what the rounds of a cell showed, turned into facts, and with those of the path's opening
 * into the cell's verdict.
 */
#ifndef GP_PROOF_H
#define GP_PROOF_H

#include "record.h"
#include "session.h"

/* Sums over the rounds of one cell. A counter that was unknown once is unknown. */
struct gp_proof {
	struct gp_check check[GP_SIDES];
	struct gp_counters counted[GP_SIDES];
	uint64_t port_bytes[GP_SIDES];
	int rounds;
};

void gp_proof_add(struct gp_proof *proof, const struct gp_outcome *outcome);

/* Which sides are what in this cell. */
struct gp_scene gp_proof_scene(const struct gp_session *session, const struct gp_path *path,
			       const struct gp_op *op);

/* Set the cell's facts, check counts, verdict and reason. `opening` are the path's own facts. */
void gp_proof_conclude(const struct gp_proof *proof, const struct gp_facts *opening,
		       const struct gp_scene *scene, const struct gp_path *path, int mtu,
		       bool verified, struct gp_cell *cell);

#endif
