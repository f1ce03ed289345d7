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

#define GP_CELL_ID_MAX 320

struct gp_round_value {
	double gbytes_per_s;
	uint64_t bytes, messages; /* two-way: of both sides */
	double seconds;
};

/* Where one side's posting thread and host buffers were: asked, and as the kernel told. -1: not
 * asked, not told, or (memory) none in use. */
struct gp_placed {
	int cpu_node_asked, cpu_node, cpu;
	int mem_node_asked, mem_node;
	double mem_share; /* of the pages looked at, on mem_node */
};

/* One row: a path, op and size between two devices. Numbers that are not known are NaN. */
struct gp_cell {
	char path[16];
	char op[8];    /* empty where the path could not be had at all */
	uint64_t size; /* bytes; 0 likewise */
	int qps, tx_depth;
	bool two_way;
	char placement[16];
	struct gp_placed placed[GP_SIDES];
	char gpu[16], nic[72], server_gpu[16],
		server_nic[72];	       /* PCI address or "none"; name:port */
	struct gp_round_value *rounds; /* owned */
	int n_rounds;
	struct gp_summary summary;  /* GB/s */
	double of_limit, vs_bounce; /* ratios */
	enum gp_verdict verdict;
	char reason[900];
	struct gp_error error; /* of this cell alone */
	struct gp_facts facts;
	uint64_t checked_bytes, wrong_bytes;
};

struct gp_threshold {
	char name[24]; /* the option: "min-gbps" */
	double wanted;
	char cell[GP_CELL_ID_MAX]; /* id of the cell that it was held against */
	double measured;
	bool met;
};

struct gp_limit_note {
	double gbytes_per_s; /* NaN: no limit is known */
	char bound_by[64];
	char detail[200];
};

struct gp_record {
	char tool[64];		 /* version */
	char started[32];	 /* ISO 8601, UTC */
	json_t *command;	 /* {option: text}, owned; may be NULL */
	json_t *client, *server; /* as host describes them, owned; may be NULL */
	json_t *connection;	 /* owned; may be NULL */
	struct gp_limit_note limit;
	struct gp_cell *cells; /* owned */
	int n_cells;
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

/* Append a round. -1 out of memory. */
int gp_cell_add_round(struct gp_cell *cell, const struct gp_round_value *value);

/* Add a threshold that a cell was held against. */
int gp_record_add_threshold(struct gp_record *record, const struct gp_threshold *threshold);

/* Both ways; a new reference. What is not known is null. */
json_t *gp_record_to_json(const struct gp_record *record);

/* Write to a file, "-" being standard output. GP_EXIT_FAILED. */
int gp_record_write(const struct gp_record *record, const char *file, struct gp_error *err);

#endif
