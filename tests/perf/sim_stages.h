/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_stages: two sides of the bounce pipeline on simulated devices: copy engines and a wire with
 * set rates, on a clock that stands still while a side works and goes to the next event when
 * neither can. So a run is the same every time, and takes no longer than its turns.
 *
 * Slots hold the number of the chunk that is in them: one that is overwritten before its reader is
 * through, or copied before it is there, is a fault.
 */
#ifndef GP_SIM_STAGES_H
#define GP_SIM_STAGES_H

#include "staged.h"

struct sim_setup {
	struct gp_pipe_rates pipe; /* out of a GPU, wire, into a GPU: of each direction alike */
	const char *op;		   /* "write", "read" */
	uint64_t size, messages, region_bytes;
	bool two_way;
	struct gp_tuning tuning;
	uint64_t reordered; /* every so many notes is late by ten latencies; 0: none */
};

struct sim_result {
	double gbytes_per_s; /* of one direction, the slower */
	uint64_t messages;   /* of one direction, the fewer */
	int faults;	     /* of slots, see above */
	uint64_t chunks_in;  /* that reached a GPU */
	struct gp_moved moved[2];
};

/* Run one round with the client initiating. -1 and err where the pipeline failed or stood still. */
int sim_run(const struct sim_setup *setup, struct sim_result *result, struct gp_error *err);

#endif
