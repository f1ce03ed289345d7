/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan: options to cells, in the order of the table; and thresholds, verdicts and the exit code
 * that follow from what was measured. Pure.
 */
#ifndef GP_PLAN_H
#define GP_PLAN_H

#include "path.h"
#include "record.h"

#define GP_PLAN_PATHS_MAX 8

/* The paths to try, and whether the user named them: then one that can't be had is exit 4. */
struct gp_plan {
	const struct gp_path *path[GP_PLAN_PATHS_MAX];
	int n_paths;
	bool named;
};

void gp_plan_make(const struct gp_bw_options *opt, struct gp_plan *plan);

/*
 * Add the cells of one path to the record: one for each op and size. `like` gives what they have
 * in common (devices, placement). With `op` NULL there is one cell, for a path that can't be had.
 */
int gp_plan_add_cells(const struct gp_bw_options *opt, const struct gp_path *path, bool available,
		      const struct gp_cell *like, struct gp_record *record, struct gp_error *err);

/*
 * What the rounds of every cell say so far: warm-up, summary, of_limit, vs_bounce; the comparisons
 * of the run (far with near, the GPU paths with each other and with bounce); and, for rails, their
 * sums. May be called again when there are more rounds. `min_effect` is a share. Returns how many
 * comparisons are unclear, -1 out of memory.
 */
int gp_plan_summarize(struct gp_record *record, double min_effect);

/* What is worth knowing beside the figures: threads and memory that are not where they were bound,
 * cells that did not stand still or had a warm-up, rails that were not together. Called once, at
 * the end. -1 out of memory. */
int gp_plan_find(struct gp_record *record, double min_effect);

/* Hold the GPU paths' cells (any but host and bounce) against the thresholds; where none was
 * measured, all cells. */
int gp_plan_judge(const struct gp_bw_options *opt, struct gp_record *record, struct gp_error *err);

/* The exit code, and in record->error the one line for it where it is not 0. */
void gp_plan_conclude(const struct gp_bw_options *opt, const struct gp_plan *plan,
		      struct gp_record *record);

#endif
