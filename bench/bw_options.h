/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bw_options: what a measurement is asked to be. The client reads it from the command line; what
 * concerns the server goes over the wire and is read there through the same rows.
 */
#ifndef GP_BW_OPTIONS_H
#define GP_BW_OPTIONS_H

#include "options.h"

/* Index of the choices of --path: auto, then the paths in the order of gp_paths[]. */
#define GP_PATH_AUTO 0

/* Choices of --placement. */
enum { GP_PLACE_NEAR, GP_PLACE_FAR, GP_PLACE_ALL };
enum { GP_CONNECT_AUTO, GP_CONNECT_BY_CM, GP_CONNECT_BY_TCP };
enum { GP_VERIFY_FULL, GP_VERIFY_SAMPLE, GP_VERIFY_OFF };
enum { GP_ON, GP_OFF };

struct gp_bw_options {
	int port;
	char nic[80], server_nic[80];
	char gpu[80], server_gpu[80];
	struct gp_choice_list path; /* choices of the row */
	struct gp_choice_list op;   /* index into gp_ops[] */
	struct gp_size_list size;
	bool all;
	int qps, tx_depth;
	int cq_mod, post_list; /* 0: auto */
	double duration_s;
	int iters; /* messages of one round; 0: by duration */
	int rounds;
	bool bidirectional;
	uint64_t region_bytes;
	int mtu, gid_index, service_level, traffic_class;
	uint64_t bounce_chunk; /* 0: auto */
	int bounce_slots;      /* 0: auto */
	bool explain_bounce;
	int relaxed_ordering; /* GP_ON, GP_OFF */
	int connect, verify;
	char json[512];
	char require_path[16];
	double min_gbytes_per_s, min_limit_percent, min_vs_bounce;
	char accept[512];
	char cpu_node[16], mem_node[16], server_cpu_node[16], server_mem_node[16];
	struct gp_choice_list placement; /* GP_PLACE_* */
	char rails[512], server_rails[512];
	double min_effect_percent;
	bool until_clear;
	double max_time_s;
	double timeout_s;
	char psk_file[512];
	bool verbose;
};

extern const struct gp_option_table gp_bw_table;

/*
 * What no single row can check, after parsing: -a against -s, sizes against the region, --gpu where
 * no path uses one. Fills in what follows from what was given. Errors: GP_EXIT_USAGE.
 */
int gp_bw_options_finish(struct gp_bw_options *opt, gp_option_mask given, struct gp_error *err);

/* True where a GPU could matter: some path but `host` is asked for. */
bool gp_bw_uses_gpu(const struct gp_bw_options *opt);

/* Messages posted per doorbell and between signals for a message size, autos resolved. */
struct gp_batch {
	int post_list; /* WRs chained per ibv_post_send */
	int cq_mod;    /* WRs per signalled completion */
	int messages;  /* WRs prepared and posted at a time: the larger of the two */
};
struct gp_batch gp_bw_batch(const struct gp_bw_options *opt, uint64_t size);

/* Bytes of the region that each side walks, as asked or as the largest message needs. */
uint64_t gp_bw_region_bytes(const struct gp_bw_options *opt);

/* Distance of messages in the region: the size, cache-line aligned below one. */
uint64_t gp_bw_stride(uint64_t size);

#endif
