/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diagnose: why a figure is low, and what to try next: at most three lines, each with the facts
 * that carry it. Pure: figures and facts in, lines out; one table of rules in diagnose.c. What is
 * not known keeps a rule silent, and so does what speaks against it. Where the figures and facts
 * come from (record, hosts, topology) is not known here.
 */
#ifndef GP_DIAGNOSE_H
#define GP_DIAGNOSE_H

#include "err.h"
#include "evidence.h"
#include "record.h"

#include <stdbool.h>
#include <stdint.h>

#define GP_DIAGNOSIS_MAX      3
#define GP_DIAGNOSE_RAILS_MAX 64 /* rails of a row past that are not looked at */
#define GP_DIAGNOSE_UNKNOWN   (-1)
#define GP_DIAGNOSE_ROCE_V1   1
#define GP_DIAGNOSE_ROCE_V2   2
#define GP_DIAGNOSE_NOT_ROCE  0

enum gp_diagnose_path {
	GP_DIAGNOSE_HOST,
	GP_DIAGNOSE_DMABUF,
	GP_DIAGNOSE_PEERMEM,
	GP_DIAGNOSE_BOUNCE,
	GP_DIAGNOSE_PATHS
};

/* A PCIe link: GT/s and lanes, now and at most (what both ends can do). 0: not told. */
struct gp_diagnose_link {
	double gts, max_gts;
	int width, max_width;
};

/*
 * What is known of GPU and NIC of one side. Facts with three values: 1 yes, 0 no,
 * GP_DIAGNOSE_UNKNOWN. gp_diagnose_side_init() makes all of it unknown.
 */
struct gp_diagnose_side {
	bool gpu;	      /* it has one in the path */
	const char *distance; /* "PIX" ... "SYS"; NULL or another word: not told */
	int gpu_node, nic_node;
	int acs_redirect;	/* on a bridge between the two */
	int iommu_translating;	/* for either */
	int coherent;		/* the GPU shares the CPU's page tables */
	int pcie_mapping;	/* its dma-buf was exported with the PCIe mapping */
	int client_chipset;	/* a desktop or workstation CPU and chipset, no server's */
	int mtu_max;		/* bytes that the NIC's port can do; 0: not told */
	double nic_gbits_per_s; /* active rate of the port; 0 or NaN: not told, or fiction */
	struct gp_diagnose_link gpu_link, gpu_narrowest; /* its own; the narrowest on its way up */
	struct gp_diagnose_link nic_link, nic_narrowest;
};

/* What one path did. A median that is NaN, infinite or not positive is not known. Leave out what
 * the evidence contradicts: such a figure is not that path's. */
struct gp_diagnose_figure {
	double gbytes_per_s; /* median */
	double far;	     /* the same with --placement far, where this row is near; else NaN */
	enum gp_space space; /* where it failed: of the error's code; else GP_SPACE_NONE */
	int code;
};

struct gp_diagnose_rail {
	const char *name;    /* "0000:18:00.0-mlx5_0:1" */
	double gbytes_per_s; /* median */
	double limit;	     /* GB/s of this rail alone; NaN: not known */
};

/* One op, size and placement. gp_diagnose_row_init() makes it known to nothing. */
struct gp_diagnose_row {
	const char *op; /* "write", "read" */
	uint64_t size;	/* bytes */
	const char *placement;
	bool two_way; /* figures are the sum of both directions, each with the limit for itself */
	struct gp_diagnose_figure path[GP_DIAGNOSE_PATHS];
	const struct gp_diagnose_side *sides; /* GP_SIDES of them; NULL: nothing is known */
	struct gp_limit_note limit; /* of one direction; NaN keeps rules that need one silent */
	const struct gp_diagnose_rail *rails; /* borrowed; n_rails of them */
	int n_rails;
};

/* A run. Everything is borrowed. */
struct gp_diagnose_run {
	const struct gp_diagnose_row *rows;
	int n_rows;
	int relaxed_ordering; /* one option for both sides: 1, 0, GP_DIAGNOSE_UNKNOWN */
	int mtu;	      /* active, bytes; 0: not told */
	int roce;	      /* GP_DIAGNOSE_ROCE_V1 ... or GP_DIAGNOSE_UNKNOWN */
	int qps;	      /* 0: not told */
};

struct gp_diagnosis_line {
	const char *id;	 /* of the rule, static: "distance-sys" */
	char what[160];	 /* why the figure is low */
	char facts[400]; /* what that rests on, with figures */
	char next[320];	 /* what to try */
};

struct gp_diagnosis {
	int n;
	struct gp_diagnosis_line line[GP_DIAGNOSIS_MAX]; /* best carried first */
};

void gp_diagnose_side_init(struct gp_diagnose_side *side);
void gp_diagnose_row_init(struct gp_diagnose_row *row);
void gp_diagnose_run_init(struct gp_diagnose_run *run);

/* Index into gp_diagnose_row.path by a path's name ("dmabuf"), -1: there is none. */
int gp_diagnose_path_find(const char *name);

/* The diagnosis. The same input gives the same lines; of rows that carry the same rule the one
 * with the worst figure is named. */
void gp_diagnose(const struct gp_diagnose_run *run, struct gp_diagnosis *diagnosis);

/* Ids of all rules in order of precedence, NULL past the end. */
const char *gp_diagnose_rule(int index);

#endif
