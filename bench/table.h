/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table: what a person sees of a record, made from the record alone; and the status line while it
 * is being made.
 */
#ifndef GP_TABLE_H
#define GP_TABLE_H

#include "record.h"

#include <stdio.h>

/* The two hosts, the limit, other placements; a row per cell, sums of rails; a line of evidence per
 * path, diagnosis, findings, comparisons. `verbose` adds every fact of every cell, and where the
 * time went. */
void gp_table_print(const struct gp_record *record, bool verbose, FILE *out);

/* The bounce cells: chunk and slots, what each stage does alone, and how busy it was. With
 * `verbose` the table has them too. */
void gp_table_print_pipelines(const struct gp_record *record, FILE *out);

/* One status line, overwritten in place: only where standard error is a terminal. */
struct gp_status {
	bool on;
	uint64_t start_ns;
	int done, total; /* rounds */
};
void gp_status_start(struct gp_status *status, int total);
void gp_status_show(struct gp_status *status, const struct gp_cell *cell, double gbytes_per_s);
void gp_status_end(struct gp_status *status);

#endif
