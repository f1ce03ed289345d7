/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify_findings: the table of findings. Internal to classify*.c.
 *
 * A row is an id, a severity, when it applies, the facts that are its evidence, what to say and
 * what to do; in texts {driver}, {kernel} and the like stand for values (classify_findings.c has
 * their table). The rows stand with their conditions: classify_host.c for what is wrong with a
 * host, classify_operator.c for what its cluster was told, classify_nccl.c for what a log shows.
 * To add a finding, add a row there, and a case under tests/data/path.
 */
#ifndef GP_CLASSIFY_FINDINGS_H
#define GP_CLASSIFY_FINDINGS_H

#include "classify.h"

/* What a row's condition may look at. */
struct gp_case {
	const struct gp_inventory *inv;
	const struct gp_path_verdict *verdict;
	const struct gp_nccl *nccl, *other; /* NULL where no log was given */
};

typedef bool gp_when_fn(const struct gp_case *c);

#define GP_NO_FACT GP_FACT_COUNT

struct gp_finding_row {
	const char *id; /* NULL ends a table */
	enum gp_severity severity;
	gp_when_fn *when;
	enum gp_fact_id evidence[5]; /* those that are known, up to GP_NO_FACT */
	const char *message, *fix;
	/* where this applies too, these stand instead; each may be NULL */
	gp_when_fn *rather;
	const char *other_message, *other_fix;
};

extern const struct gp_finding_row gp_host_findings[], gp_operator_findings[], gp_nccl_findings[];

/* What more than one of the files asks. */
enum gp_known gp_case_known(const struct gp_case *c, enum gp_fact_id id);
const char *gp_case_value(const struct gp_case *c, enum gp_fact_id id); /* "" where unknown */
/* Known, and its first `parts` numbers are lower. */
bool gp_case_older(const struct gp_case *c, enum gp_fact_id id, const char *than, int parts);
bool gp_case_is(const struct gp_case *c, enum gp_path_id path);
bool gp_case_proprietary(const struct gp_case *c);
bool gp_case_driver_is_old(const struct gp_case *c); /* below R570 */
bool gp_case_gpu_is_old(const struct gp_case *c);    /* before Turing */

/* A version of nvidia-fs below 2.17.5, the first for the open driver. */
bool gp_case_fs_older(const struct gp_case *c, enum gp_fact_id id);

/* The log that is meant to use RDMA, and the other; NULL where there is none. */
const struct gp_nccl *gp_case_on_side(const struct gp_case *c);
const struct gp_nccl *gp_case_off_side(const struct gp_case *c);
bool gp_nccl_disable_ineffective(const struct gp_nccl *nccl);
double gp_nccl_busbw(const struct gp_nccl *nccl); /* negative: unknown */

/* Why two runs can't be compared, as a part of a sentence; false where they can. */
bool gp_nccl_difference(const struct gp_case *c, char *out, size_t size);

#endif
