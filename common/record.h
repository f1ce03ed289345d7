/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record: the result of one run of `bw`, in memory and as JSON (schema gdrproof/result/1,
 * results/result.schema.json). Everything a person is shown is made from this.
 */
#ifndef GP_RECORD_H
#define GP_RECORD_H

#include "err.h"
#include "evidence.h"
#include "stats.h"

#include <stdbool.h>
#include <stdint.h>

#define GP_CELL_ID_MAX	 384
#define GP_PLACEMENT_MAX 48

struct gp_round_value {
	double gbytes_per_s;
	uint64_t bytes, messages; /* two-way: of both sides */
	double seconds;
	double start_s; /* when its window opened, since the run began; NaN: not known */
};

/* Where one side's posting thread and host buffers were: asked, and as the kernel told. -1: not
 * asked, not told, or (memory) none in use. */
struct gp_placed {
	int cpu_node_asked, cpu_node, cpu;
	int mem_node_asked, mem_node;
	double mem_share; /* of the pages looked at, on mem_node */
};

/* A stage of the bounce pipeline: what it does alone, at the chunk that was used, and the share of
 * the rounds in which it had work. NaN: there is no such stage, or it was not measured. */
struct gp_stage_note {
	double gbytes_per_s, busy;
};
struct gp_pipeline {
	uint64_t chunk_bytes;			      /* 0: the cell has no pipeline */
	int slots;				      /* of each direction on each side */
	struct gp_stage_note copy_out, wire, copy_in; /* out of the source's GPU, into the sink's */
};

/* One row: a path, op and size between two devices. Numbers that are not known are NaN. */
struct gp_cell {
	char path[16];
	char op[8];    /* empty where the path could not be had at all */
	uint64_t size; /* bytes; 0 likewise */
	int qps, tx_depth;
	bool two_way;
	char placement[GP_PLACEMENT_MAX]; /* "near", "far", "rail1", "gpu0,mlx5_0:1,node0" */
	struct gp_placed placed[GP_SIDES];
	char gpu[16], nic[72], server_gpu[16],
		server_nic[72];	       /* PCI address or "none"; name:port */
	struct gp_round_value *rounds; /* owned */
	int n_rounds;
	int warmup;		    /* rounds at the start that do not count (gp_warmup) */
	struct gp_summary summary;  /* GB/s */
	double limit_gbytes_per_s;  /* of its placement; not in JSON: of_limit is */
	double of_limit, vs_bounce; /* ratios */
	enum gp_verdict verdict;
	char reason[900];
	struct gp_error error; /* of this cell alone */
	struct gp_facts facts;
	uint64_t checked_bytes, wrong_bytes;
	struct gp_pipeline pipeline; /* of bounce */
};

struct gp_limit_note {
	double gbytes_per_s; /* NaN: no limit is known */
	char bound_by[64];
	char detail[200];
};

/* One placement or rail of a run that has several. */
struct gp_stand_note {
	char name[GP_PLACEMENT_MAX];
	char differs[200];	 /* from the first, in words; may be empty */
	json_t *client, *server; /* as record.client and .server; owned, NULL: not had */
	struct gp_limit_note limit;
};

/* B as a share of A, by paired rounds. */
struct gp_contrast {
	char what[80]; /* "far / near", "peermem / dmabuf" */
	char a[GP_CELL_ID_MAX], b[GP_CELL_ID_MAX];
	struct gp_ab ab;
};

/* Rails together: the rounds' sums over the window that they had in common. */
struct gp_sum {
	char path[16], op[8];
	uint64_t size;
	bool two_way;
	int rails;
	double *gbytes_per_s; /* owned; of each round whose windows overlap */
	int n_rounds, left_out;
	double overlap; /* the least share of a window that all rails had in common */
	struct gp_summary summary;
	double of_limit; /* of the limits added */
};

struct gp_run_finding {
	char id[40], severity[12]; /* "error", "warning", "info" */
	char message[400], fix[300];
};

/* What a cell was held against: a figure, or (wanted_word is not empty) a verdict. */
struct gp_threshold {
	char name[24]; /* the option: "min-gbps"; of a rule also "verdict" */
	double wanted;
	char cell[GP_CELL_ID_MAX]; /* id of the cell; empty where a rule fitted none */
	double measured;	   /* NaN: could not be had */
	bool met;
	char rule[96]; /* "rack.yaml:5", of an acceptance file; empty: an option */
	char wanted_word[16], measured_word[16]; /* "proven", "not measured" */
};

#define GP_THRESHOLD_MAX 640

/* Where the time went, in seconds. NaN: not known. */
struct gp_times {
	double wall_s;	   /* the whole run */
	double setup_s;	   /* hosts looked at, sessions, paths, connections opened */
	double measured_s; /* windows of the rounds */
	double before_s;   /* of the rounds: sources filled, queues filled until the window opens */
	double after_s;	   /* of the rounds: queues drained, data checked */
};

struct gp_record {
	char tool[64];		 /* version */
	char started[32];	 /* ISO 8601, UTC */
	json_t *command;	 /* {option: text}, owned; may be NULL */
	json_t *client, *server; /* as host describes them, owned; may be NULL */
	json_t *connection;	 /* owned; may be NULL */
	struct gp_times times;
	struct gp_limit_note limit;   /* of the first placement */
	struct gp_stand_note *stands; /* owned; none where there is one placement */
	int n_stands;
	struct gp_cell *cells; /* owned */
	int n_cells;
	struct gp_contrast *contrasts; /* owned */
	int n_contrasts;
	struct gp_sum *sums; /* owned */
	int n_sums;
	struct gp_run_finding *findings; /* owned */
	int n_findings;
	struct gp_threshold *thresholds; /* owned */
	int n_thresholds;
	struct gp_error error;
	int exit_code;
};

/* Start one: time, version, and nothing known. */
void gp_record_init(struct gp_record *record, const char *version);
void gp_record_free(struct gp_record *record);

/* "dmabuf/write/1M/q1/t128/near/0000:18:00.0-mlx5_0:1/0000:18:00.0-mlx5_0:1": the same in two
 * records where the same thing was measured. Returns buf. */
char *gp_cell_id(const struct gp_cell *cell, char *buf, size_t size);

/* Both ways, for the record and the wire. -1 where `json` is none. */
json_t *gp_placed_to_json(const struct gp_placed *placed);
int gp_placed_from_json(const json_t *json, struct gp_placed *placed);

/* True where something was asked for and is known to be elsewhere. */
bool gp_placed_differs(const struct gp_placed *placed);

/* GB/s of the rounds that count, those behind the warm-up; returns how many. */
int gp_cell_values(const struct gp_cell *cell, double values[GP_ROUNDS_MAX]);

/* Append a round. -1 out of memory. */
int gp_cell_add_round(struct gp_cell *cell, const struct gp_round_value *value);

/* "--min-gbps 45 missed by CELL: 42.5", "rack.yaml:5 verdict proven met by CELL: proven"; at most
 * GP_THRESHOLD_MAX. Returns buf. */
char *gp_threshold_write(const struct gp_threshold *threshold, char *buf, size_t size);

/* Add a threshold that a cell was held against. */
int gp_record_add_threshold(struct gp_record *record, const struct gp_threshold *threshold);

/* Make room for one more at the end of the record's list; NULL out of memory. It is all zero. */
struct gp_stand_note *gp_record_add_stand(struct gp_record *record);
struct gp_contrast *gp_record_add_contrast(struct gp_record *record);
struct gp_sum *gp_record_add_sum(struct gp_record *record);
struct gp_run_finding *gp_record_add_finding(struct gp_record *record);

/* Both ways; a new reference. What is not known is null. */
json_t *gp_record_to_json(const struct gp_record *record);

/* Write to a file, "-" being standard output. GP_EXIT_FAILED. */
int gp_record_write(const struct gp_record *record, const char *file, struct gp_error *err);

#endif
