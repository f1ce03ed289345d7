/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stand: one place to measure from: a GPU, a NIC and a NUMA node of the client, a session of its
 * own with the server, and the paths open in it. A plain run has one stand; --placement and --rails
 * have several. Which stands there are is decided in placement.c.
 *
 * Everything a stand does runs on a thread of its own that is bound to its node: so stands can take
 * turns or work at once, and no thread is ever bound twice.
 */
#ifndef GP_STAND_H
#define GP_STAND_H

#include "plan.h"
#include "session.h"

#define GP_STANDS_MAX GP_RAILS_MAX

struct gp_stand {
	struct gp_bw_options opt; /* the run's, with this stand's devices and nodes in it */
	const struct gp_host *host;
	char name[GP_PLACEMENT_MAX]; /* what its cells call it: "near", "far", "rail1" */
	char differs[200];	     /* from the first stand, in words; empty: nothing, or all */
	int rail;		     /* from 1; 0: none */
	bool needs_gpu;		     /* only paths with a GPU say something new here */
	struct gp_error missing;     /* set: it can't be had, and why */

	struct gp_choice choice;
	struct gp_session session;
	struct gp_limit_note limit; /* the lesser of both sides'; NaN: not known */
	struct gp_rig rig[GP_PLAN_PATHS_MAX];
	struct gp_facts opening[GP_PLAN_PATHS_MAX];
	uint32_t round_number[GP_PLAN_PATHS_MAX];

	/* Of the step that ran last. */
	struct gp_error failed;
	struct gp_outcome outcome;
};

/*
 * Which stands a run has, by --placement, --rails and this host. `stands` is owned by the caller
 * (free), also after a failure. A placement that this host has not is a stand that is missing; a
 * device that is named and not there is GP_EXIT_MISSING, too many stands GP_EXIT_USAGE.
 */
int gp_stands_plan(const struct gp_bw_options *opt, const struct gp_host *host,
		   struct gp_stand **stands, int *n, struct gp_error *err);

/* Choose the devices and open the session. Its own errors, and the server's. */
int gp_stand_open(struct gp_stand *stand, const char *server, const char *ticket,
		  struct gp_error *err);
/* Closes paths and session; takes one that was never opened. */
void gp_stand_close(struct gp_stand *stand);

/* Open path number `p` of the plan; `placed` gets where thread and memory are, on both sides. */
int gp_stand_open_path(struct gp_stand *stand, int p, const struct gp_path *path,
		       struct gp_placed placed[GP_SIDES], struct gp_error *err);
/* After a failed round: its QPs are in the error state. */
int gp_stand_reopen_path(struct gp_stand *stand, int p, struct gp_error *err);

/*
 * One round of a path, op and size on `n` stands at once, in one common window where n > 1. Each
 * stand then has its outcome, or in `failed` why not.
 */
void gp_stands_round(struct gp_stand *const *stands, int n, int p, const struct gp_op *op,
		     uint64_t size);

#endif
