/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * accept: an acceptance file, YAML: what cells of a run must reach for it to be accepted. README.md
 * shows one. Names and limits of the values are those of the options of `bw`.
 */
#ifndef GP_ACCEPT_H
#define GP_ACCEPT_H

#include "bw_options.h"
#include "record.h"

#define GP_ACCEPT_RULES_MAX	 128
#define GP_ACCEPT_PLACEMENTS_MAX 8

/* One rule: which cells (an empty list is any), and what they must reach. */
struct gp_accept_rule {
	int line;		   /* of the file, from 1 */
	struct gp_bw_options want; /* path, op and size (lists), and the minima */
	char placement[GP_ACCEPT_PLACEMENTS_MAX][GP_PLACEMENT_MAX]; /* patterns of fnmatch(3) */
	int n_placements;
	enum gp_verdict verdict; /* GP_PROVEN, or GP_UNPROVEN: that or better */
};

/* All zero is an empty one. */
struct gp_accept {
	char name[80];		      /* of the file, without its directory */
	struct gp_accept_rule *rules; /* owned */
	int n;
};

/*
 * Read a file. GP_EXIT_USAGE with FILE:LINE where it can't be read, is no YAML, has a key or value
 * that is not known, or no rule.
 */
int gp_accept_read(const char *file, struct gp_accept *accept, struct gp_error *err);
/* The same of `size` bytes of text; `file` is their name. */
int gp_accept_parse(const char *text, size_t size, const char *file, struct gp_accept *accept,
		    struct gp_error *err);
void gp_accept_free(struct gp_accept *accept);

/*
 * What the command line leaves open is what the rules need: --path (with bounce beside it, as the
 * baseline), --op, --size and --placement, each where every rule names it. `given`: the options of
 * the command line. Call it before gp_bw_options_finish(). GP_EXIT_USAGE where there is too much.
 */
int gp_accept_plan(const struct gp_accept *accept, gp_option_mask given, struct gp_bw_options *opt,
		   struct gp_error *err);

/*
 * Hold a run's cells against the rules, each as thresholds of the record. A rule that no measured
 * cell fits is one that is not met. -1 out of memory.
 */
int gp_accept_judge(const struct gp_accept *accept, struct gp_record *record, struct gp_error *err);

#endif
