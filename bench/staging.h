/* SPDX-License-Identifier: BSD-2-Clause */
/* staging: the bounce pipeline's stages as they really are: CUDA copies, the NIC, the peer. */
#ifndef GP_STAGING_H
#define GP_STAGING_H

#include "path.h"
#include "staged.h"

/* Slots (where the rig's region is on a GPU), their rates, and rig->mr. Sets rig->tuning. */
int gp_staging_open(struct gp_rig *rig, struct gp_error *err);
/* Takes a rig without any. Streams are drained, so that no copy touches what is freed. */
void gp_staging_close(struct gp_rig *rig);

void gp_staging_queues(const struct gp_bw_options *opt, int *send_wr, int *recv_wr);
/* Post the receives. */
int gp_staging_ready(struct gp_rig *rig, struct gp_error *err);
/* Both are connected: measure the wire, and choose chunk and slots; with the facts. */
int gp_staging_tune(struct gp_rig *rig, struct gp_error *err);

/* One lane of messages in the order of the chunks. */
struct gp_walk gp_staging_walk(const struct gp_rig *rig, uint64_t size);
int gp_staging_run(struct gp_rig *rig, const struct gp_round *round, struct gp_moved *moved,
		   struct gp_error *err);

#endif
