/* SPDX-License-Identifier: BSD-2-Clause */
/* bw_options: see bw_options.h. */
#include "bw_options.h"
#include "rdma.h"
#include "stats.h"
#include "units.h"

#include <string.h>

static const char *const path_choices[] = {"auto", "dmabuf", "peermem", "host", "bounce", NULL};
static const char *const op_choices[] = {"write", "read", NULL};
static const char *const connect_choices[] = {"auto", "cm", "tcp", NULL};
static const char *const verify_choices[] = {"full", "sample", "off", NULL};
static const char *const placement_choices[] = {"near", "far", "all", NULL};
static const char *const on_off[] = {"on", "off", NULL};

#define SIZE_MAX_BYTES	 (1024.0 * 1024 * 1024)
#define REGION_MIN	 (1024.0 * 1024)
#define REGION_MAX	 (1024.0 * 1024 * 1024 * 1024)
#define BOUNCE_CHUNK_MIN 4096.0
#define BOUNCE_CHUNK_MAX (64.0 * 1024 * 1024)
#define BOTH		 (GP_OPT_WIRE | GP_OPT_RECORD)
#define AT(member)	 offsetof(struct gp_bw_options, member)

static const struct gp_option rows[] = {
	{"port", 'p', GP_OPT_INT, AT(port), 1, 65535, NULL, NULL, "18515", "N",
	 "TCP port of the control channel", 0},
	{"nic", 'd', GP_OPT_TEXT, AT(nic), 0, 79, NULL, NULL, NULL, "NAME[:PORT]",
	 "RDMA device; default: the one nearest to the GPU", GP_OPT_RECORD},
	{"server-nic", 0, GP_OPT_TEXT, AT(server_nic), 0, 79, NULL, NULL, NULL, "NAME[:PORT]",
	 "RDMA device of the server", BOTH},
	{"gpu", 0, GP_OPT_TEXT, AT(gpu), 0, 79, NULL, NULL, NULL, "N|BDF|UUID|none",
	 "GPU; none: host memory on this side; default: the one nearest to the NIC", GP_OPT_RECORD},
	{"server-gpu", 0, GP_OPT_TEXT, AT(server_gpu), 0, 79, NULL, NULL, NULL, "N|BDF|UUID|none",
	 "GPU of the server", BOTH},
	{"path", 0, GP_OPT_CHOICES, AT(path), 0, 0, NULL, path_choices, "auto", "LIST",
	 "paths to measure; auto: every GPU path that this pair can do, and bounce", BOTH},
	{"op", 0, GP_OPT_CHOICES, AT(op), 0, 0, NULL, op_choices, "write,read", "LIST",
	 "RDMA operations", BOTH},
	{"size", 's', GP_OPT_SIZES, AT(size), 1, SIZE_MAX_BYTES, NULL, NULL, "1M", "LIST",
	 "message sizes, such as 64K,1M,8M", BOTH},
	{"all", 'a', GP_OPT_FLAG, AT(all), 0, 0, NULL, NULL, NULL, NULL,
	 "all sizes from 2 bytes to 8M in powers of two", 0},
	{"qp", 'q', GP_OPT_INT, AT(qps), 1, GP_QP_MAX, NULL, NULL, "1", "N", "queue pairs", BOTH},
	{"tx-depth", 't', GP_OPT_INT, AT(tx_depth), 1, 16384, NULL, NULL, "128", "N",
	 "messages in flight on each QP", BOTH},
	{"cq-mod", 'Q', GP_OPT_INT, AT(cq_mod), 1, 16384, "auto", NULL, "auto", "N",
	 "messages between two completions", BOTH},
	{"post-list", 'l', GP_OPT_INT, AT(post_list), 1, 1024, "auto", NULL, "auto", "N",
	 "messages posted with one doorbell", BOTH},
	{"duration", 'D', GP_OPT_REAL, AT(duration_s), 0.01, 86400, NULL, NULL, "2", "SEC",
	 "length of one round", BOTH},
	{"iters", 'n', GP_OPT_INT, AT(iters), 1, 2000000000, "off", NULL, "off", "N",
	 "messages of one round, in place of a duration; rounded up to whole batches", BOTH},
	{"rounds", 0, GP_OPT_INT, AT(rounds), 1, GP_ROUNDS_MAX, NULL, NULL, "5", "N",
	 "rounds of each cell, interleaved over all cells", GP_OPT_RECORD},
	{"bidirectional", 'b', GP_OPT_FLAG, AT(bidirectional), 0, 0, NULL, NULL, NULL, NULL,
	 "both directions at once; the figure is their sum", BOTH},
	{"region", 0, GP_OPT_SIZE, AT(region_bytes), REGION_MIN, REGION_MAX, NULL, NULL, "256M",
	 "SIZE", "memory that each side walks through; larger than any GPU's cache", BOTH},
	{"bounce-chunk", 0, GP_OPT_SIZE, AT(bounce_chunk), BOUNCE_CHUNK_MIN, BOUNCE_CHUNK_MAX,
	 "auto", NULL, "auto", "SIZE",
	 "bytes that bounce copies at a time, in pages of 4K; auto: by the measured rates", BOTH},
	{"bounce-slots", 0, GP_OPT_INT, AT(bounce_slots), 1, 64, "auto", NULL, "auto", "N",
	 "chunks that bounce has under way in each direction on each side", BOTH},
	{"explain-bounce", 0, GP_OPT_FLAG, AT(explain_bounce), 0, 0, NULL, NULL, NULL, NULL,
	 "show what each stage of bounce does alone, and how busy it was", 0},
	{"mtu", 'm', GP_OPT_INT, AT(mtu), 256, 4096, "auto", NULL, "auto", "BYTES",
	 "path MTU (connects by tcp)", BOTH},
	{"gid-index", 'x', GP_OPT_INT, AT(gid_index), -1, 255, NULL, NULL, "-1", "N",
	 "GID index on both sides (connects by tcp); -1: the RoCE v2 GID of the NIC's own address",
	 BOTH},
	{"sl", 'S', GP_OPT_INT, AT(service_level), 0, 15, NULL, NULL, "0", "N",
	 "service level (connects by tcp)", BOTH},
	{"tclass", 'T', GP_OPT_INT, AT(traffic_class), 0, 255, NULL, NULL, "0", "N",
	 "traffic class", BOTH},
	{"relaxed-ordering", 0, GP_OPT_CHOICE, AT(relaxed_ordering), 0, 0, NULL, on_off, "on",
	 "WHEN", "IBV_ACCESS_RELAXED_ORDERING on every MR", BOTH},
	{"connect", 0, GP_OPT_CHOICE, AT(connect), 0, 0, NULL, connect_choices, "auto", "HOW",
	 "QPs through librdmacm, or by exchange over the control channel; auto: cm where both NICs "
	 "have an address",
	 GP_OPT_RECORD},
	{"verify", 0, GP_OPT_CHOICE, AT(verify), 0, 0, NULL, verify_choices, "full", "HOW",
	 "check the bytes that landed", BOTH},
	{"cpu-node", 0, GP_OPT_TEXT, AT(cpu_node), 0, 15, NULL, NULL, "nic", "N|nic|gpu|far",
	 "NUMA node of the posting thread; far: the furthest from the NIC", GP_OPT_RECORD},
	{"mem-node", 0, GP_OPT_TEXT, AT(mem_node), 0, 15, NULL, NULL, "nic", "N|nic|gpu|far",
	 "NUMA node of host and bounce buffers", GP_OPT_RECORD},
	{"server-cpu-node", 0, GP_OPT_TEXT, AT(server_cpu_node), 0, 15, NULL, NULL, "nic",
	 "N|nic|gpu|far", "the same of the server's thread", BOTH},
	{"server-mem-node", 0, GP_OPT_TEXT, AT(server_mem_node), 0, 15, NULL, NULL, "nic",
	 "N|nic|gpu|far", "the same of the server's buffers", BOTH},
	{"placement", 0, GP_OPT_CHOICES, AT(placement), 0, 0, NULL, placement_choices, "near",
	 "LIST",
	 "same socket, across sockets (one thing differs, and it says which), or all of GPUs, NICs "
	 "and nodes",
	 GP_OPT_RECORD},
	{"rails", 0, GP_OPT_TEXT, AT(rails), 0, 511, NULL, NULL, NULL, "auto|GPU:NIC,...",
	 "several GPU-NIC pairs at once, a thread each; auto: every NIC with a GPU of its own",
	 GP_OPT_RECORD},
	{"server-rails", 0, GP_OPT_TEXT, AT(server_rails), 0, 511, NULL, NULL, NULL, "GPU:NIC,...",
	 "their counterparts; default: the server's own, in its order", GP_OPT_RECORD},
	{"min-effect", 0, GP_OPT_REAL, AT(min_effect_percent), 0.01, 100, NULL, NULL, "2", "PCT",
	 "the least difference that counts when two figures are compared", GP_OPT_RECORD},
	{"until-clear", 0, GP_OPT_FLAG, AT(until_clear), 0, 0, NULL, NULL, NULL, NULL,
	 "after --rounds go on until every comparison is settled, or --max-time", GP_OPT_RECORD},
	{"max-time", 0, GP_OPT_REAL, AT(max_time_s), 1, 604800, NULL, NULL, "600", "SEC",
	 "with --until-clear: no round begins after so long", GP_OPT_RECORD},
	{"json", 0, GP_OPT_TEXT, AT(json), 0, 511, NULL, NULL, NULL, "FILE",
	 "write the record; -: to standard output, and the table goes to standard error", 0},
	{"require-path", 0, GP_OPT_TEXT, AT(require_path), 0, 15, NULL, NULL, NULL, "P",
	 "exit 4 unless this path was measured and proven", GP_OPT_RECORD},
	{"min-gbps", 0, GP_OPT_REAL, AT(min_gbytes_per_s), 0, 1e6, NULL, NULL, "0", "X",
	 "exit 3 where a GPU path's median is below X GB/s", GP_OPT_RECORD},
	{"min-limit", 0, GP_OPT_REAL, AT(min_limit_percent), 0, 100, NULL, NULL, "0", "PCT",
	 "exit 3 where a GPU path's median is below PCT per cent of the limit", GP_OPT_RECORD},
	{"min-vs-bounce", 0, GP_OPT_REAL, AT(min_vs_bounce), 0, 1e6, NULL, NULL, "0", "X",
	 "exit 3 where a GPU path is below X times bounce", GP_OPT_RECORD},
	{"accept", 0, GP_OPT_TEXT, AT(accept), 0, 511, NULL, NULL, NULL, "FILE",
	 "acceptance file, YAML: the least figures and the verdict by path, op, size and "
	 "placement; "
	 "what is measured is what it names, unless given here",
	 GP_OPT_RECORD},
	{"timeout", 0, GP_OPT_REAL, AT(timeout_s), 0.5, 3600, NULL, NULL, "10", "SEC",
	 "the longest any single wait may take", BOTH},
	{"psk-file", 0, GP_OPT_TEXT, AT(psk_file), 0, 511, NULL, NULL, NULL, "FILE",
	 "key that the server must know too", 0},
	{"verbose", 'v', GP_OPT_FLAG, AT(verbose), 0, 0, NULL, NULL, NULL, NULL,
	 "show every fact, and what was chosen", 0},
	{0},
};

const struct gp_option_table gp_bw_table = {
	.command = "bw",
	.arguments = "HOST",
	.summary = "how many GB/s each path moves, by which path really, against host bounce",
	.details = "HOST runs `gdrproof serve`; it is where the control channel goes, a management "
		   "address will do.",
	.rows = rows,
};

static int expand_all_sizes(struct gp_bw_options *opt, gp_option_mask given, struct gp_error *err)
{
	if (gp_option_given(&gp_bw_table, given, "size"))
		return gp_error_set(err, GP_EXIT_USAGE, "--all and --size exclude each other");
	opt->size.n = 0;
	for (uint64_t size = 2; size <= 8 * GP_MIB; size *= 2)
		opt->size.bytes[opt->size.n++] = size;
	return 0;
}

bool gp_bw_uses_gpu(const struct gp_bw_options *opt)
{
	for (int i = 0; i < opt->path.n; i++)
		if (strcmp(path_choices[opt->path.index[i]], "host") != 0)
			return true;
	return false;
}

static int check_gpu_options(const struct gp_bw_options *opt, struct gp_error *err)
{
	bool no_gpu = strcmp(opt->gpu, "none") == 0 && strcmp(opt->server_gpu, "none") == 0;

	if (!gp_bw_uses_gpu(opt) && (opt->gpu[0] || opt->server_gpu[0]))
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--path host moves host memory: --gpu and --server-gpu have no "
				    "place there");
	if (no_gpu && gp_bw_uses_gpu(opt))
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--gpu none on both sides leaves only --path host");
	return 0;
}

static int check_batches(const struct gp_bw_options *opt, struct gp_error *err)
{
	int a = opt->post_list, b = opt->cq_mod;

	if (a > opt->tx_depth || b > opt->tx_depth)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--post-list and --cq-mod can't be over --tx-depth (%d)",
				    opt->tx_depth);
	if (a && b && a % b && b % a)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "one of --post-list %d and --cq-mod %d must be a multiple of "
				    "the other",
				    a, b);
	return 0;
}

/* What rdma_cm settles by itself can only be asked for with `tcp`. */
static int choose_connect(struct gp_bw_options *opt, gp_option_mask given, struct gp_error *err)
{
	static const char *const tcp_only[] = {"gid-index", "mtu", "sl"};

	for (size_t i = 0; i < sizeof(tcp_only) / sizeof(tcp_only[0]); i++) {
		if (!gp_option_given(&gp_bw_table, given, tcp_only[i]))
			continue;
		if (opt->connect == GP_CONNECT_BY_CM)
			return gp_error_set(err, GP_EXIT_USAGE,
					    "rdma_cm chooses the path itself: --%s goes with "
					    "--connect tcp",
					    tcp_only[i]);
		opt->connect = GP_CONNECT_BY_TCP;
	}
	return 0;
}

static int check_mtu(const struct gp_bw_options *opt, struct gp_error *err)
{
	if (opt->mtu & (opt->mtu - 1))
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--mtu is 256, 512, 1024, 2048 or 4096, not %d", opt->mtu);
	return 0;
}

static int check_paths(const struct gp_bw_options *opt, struct gp_error *err)
{
	bool known = opt->require_path[0] == '\0';

	for (int i = GP_PATH_AUTO + 1; path_choices[i]; i++)
		known = known || strcmp(path_choices[i], opt->require_path) == 0;
	if (!known)
		return gp_error_set(err, GP_EXIT_USAGE, "--require-path: no path is called '%s'",
				    opt->require_path);
	for (int i = 0; i < opt->path.n; i++)
		if (opt->path.index[i] == GP_PATH_AUTO && opt->path.n > 1)
			return gp_error_set(err, GP_EXIT_USAGE, "--path auto stands alone");
	return 0;
}

static int check_bounce(const struct gp_bw_options *opt, struct gp_error *err)
{
	if (opt->bounce_chunk % 4096)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--bounce-chunk is a multiple of 4K, not %llu",
				    (unsigned long long)opt->bounce_chunk);
	return 0;
}

/* Rails name their devices, and share a window of time. */
static int check_rails(const struct gp_bw_options *opt, gp_option_mask given, struct gp_error *err)
{
	static const char *const not_with[] = {"nic",	     "gpu",	  "server-nic",
					       "server-gpu", "placement", "iters"};

	if (!opt->rails[0] && opt->server_rails[0])
		return gp_error_set(err, GP_EXIT_USAGE, "--server-rails goes with --rails");
	for (size_t i = 0; opt->rails[0] && i < sizeof(not_with) / sizeof(not_with[0]); i++)
		if (gp_option_given(&gp_bw_table, given, not_with[i]))
			return gp_error_set(err, GP_EXIT_USAGE,
					    "--rails and --%s exclude each other", not_with[i]);
	if (gp_option_given(&gp_bw_table, given, "max-time") && !opt->until_clear)
		return gp_error_set(err, GP_EXIT_USAGE, "--max-time goes with --until-clear");
	return 0;
}

int gp_bw_options_finish(struct gp_bw_options *opt, gp_option_mask given, struct gp_error *err)
{
	if (opt->all && expand_all_sizes(opt, given, err) < 0)
		return -1;
	if (check_paths(opt, err) < 0 || check_gpu_options(opt, err) < 0 ||
	    check_batches(opt, err) < 0 || check_mtu(opt, err) < 0 || check_bounce(opt, err) < 0 ||
	    check_rails(opt, given, err) < 0)
		return -1;
	return choose_connect(opt, given, err);
}

/* Doorbells and completions cost nothing on large messages, and time is read at completions: a
 * batch that takes long would make the clock coarse. */
#define AUTO_BATCH_BYTES (8 * GP_MIB)
#define AUTO_BATCH_MAX	 16

static int largest_power_of_two(uint64_t limit)
{
	int value = 1;

	while ((uint64_t)value * 2 <= limit && value < AUTO_BATCH_MAX)
		value *= 2;
	return value;
}

struct gp_batch gp_bw_batch(const struct gp_bw_options *opt, uint64_t size)
{
	uint64_t by_bytes = AUTO_BATCH_BYTES / size;
	uint64_t by_depth = (uint64_t)opt->tx_depth / 8;
	int chosen = largest_power_of_two(by_bytes < by_depth ? by_bytes : by_depth);
	struct gp_batch batch = {.post_list = opt->post_list, .cq_mod = opt->cq_mod};

	if (!batch.post_list && !batch.cq_mod)
		batch.post_list = batch.cq_mod = chosen;
	else if (!batch.post_list)
		batch.post_list = batch.cq_mod;
	else if (!batch.cq_mod)
		batch.cq_mod = batch.post_list;
	batch.messages = batch.post_list > batch.cq_mod ? batch.post_list : batch.cq_mod;
	return batch;
}

uint64_t gp_bw_stride(uint64_t size)
{
	return size < 64 ? 64 : gp_align_up(size, 64);
}

uint64_t gp_bw_region_bytes(const struct gp_bw_options *opt)
{
	uint64_t bytes = opt->region_bytes;

	for (int i = 0; i < opt->size.n; i++) {
		uint64_t size = opt->size.bytes[i];
		uint64_t need = (uint64_t)gp_bw_batch(opt, size).messages * gp_bw_stride(size) *
				(uint64_t)opt->qps;

		if (need > bytes)
			bytes = need;
	}
	return gp_align_up(bytes, 64 * GP_KIB);
}
