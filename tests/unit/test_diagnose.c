/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_diagnose: rows of figures and facts, each with the ids of all lines that may come of it, in
 * order, and words that must be in the first of them. Every row starts from a pair of hosts that
 * nothing is wrong with and changes what its function says; "silent" rows take a fact away again.
 * Several are made from public reports, named in place.
 */
#include "diagnose.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MIB	 (UINT64_C(1) << 20)

enum { WRITE, READ, FAR_WRITE, ROWS };
#define HOST	GP_DIAGNOSE_HOST
#define DMABUF	GP_DIAGNOSE_DMABUF
#define PEERMEM GP_DIAGNOSE_PEERMEM
#define BOUNCE	GP_DIAGNOSE_BOUNCE

struct scene {
	struct gp_diagnose_run run;
	struct gp_diagnose_row row[ROWS];
	struct gp_diagnose_side near[GP_SIDES], far[GP_SIDES];
	struct gp_diagnose_rail rail[8];
};

static void set(struct scene *s, int row, enum gp_diagnose_path path, double gbytes_per_s)
{
	s->row[row].path[path].gbytes_per_s = gbytes_per_s;
}

static void fail_row(struct scene *s, int row, enum gp_diagnose_path path, int code)
{
	s->row[row].path[path].gbytes_per_s = NAN;
	s->row[row].path[path].space = GP_SPACE_WC;
	s->row[row].path[path].code = code;
}

static void set_distance(struct scene *s, const char *class, int gpu_node, int nic_node)
{
	for (int i = 0; i < GP_SIDES; i++) {
		s->near[i].distance = class;
		s->near[i].gpu_node = gpu_node;
		s->near[i].nic_node = nic_node;
	}
}

static void set_limit(struct scene *s, double gbytes_per_s, const char *bound_by)
{
	for (int r = 0; r < ROWS; r++) {
		struct gp_limit_note *limit = &s->row[r].limit;

		limit->gbytes_per_s = gbytes_per_s;
		snprintf(limit->bound_by, sizeof(limit->bound_by), "%s", bound_by);
	}
}

static void make_side(struct gp_diagnose_side *side)
{
	static const struct gp_diagnose_link gen4 = {16, 16, 16, 16};

	gp_diagnose_side_init(side);
	side->gpu = true;
	side->distance = "PIX";
	side->gpu_node = side->nic_node = 0;
	side->acs_redirect = side->iommu_translating = side->coherent = side->client_chipset = 0;
	side->mtu_max = 4096;
	side->nic_gbits_per_s = 200;
	side->gpu_link = side->gpu_narrowest = side->nic_link = side->nic_narrowest = gen4;
}

/* 200 Gb/s, PIX, everything as it should be, host and dmabuf near the limit; bounce far below. */
static void make_good(struct scene *s)
{
	static const char *const ops[] = {"write", "read", "write"};

	memset(s, 0, sizeof(*s));
	gp_diagnose_run_init(&s->run);
	for (int i = 0; i < GP_SIDES; i++) {
		make_side(&s->near[i]);
		make_side(&s->far[i]);
	}
	for (int r = 0; r < ROWS; r++) {
		gp_diagnose_row_init(&s->row[r]);
		s->row[r].op = ops[r];
		s->row[r].size = MIB;
		s->row[r].placement = r == FAR_WRITE ? "far" : "near";
		s->row[r].sides = r == FAR_WRITE ? s->far : s->near;
		set(s, r, HOST, 23.9);
		set(s, r, DMABUF, 23.5);
		set(s, r, BOUNCE, 12.5);
	}
	set_limit(s, 24.5, "NIC rate");
	s->run.rows = s->row;
	s->run.n_rows = 2;
	s->run.relaxed_ordering = 1;
	s->run.mtu = 4096;
	s->run.roce = GP_DIAGNOSE_ROCE_V2;
	s->run.qps = 4;
}

/* --- public reports --- */

/* linux-rdma/perftest#241: ib_write_bw of 32 MiB, 23000 MB/s between hosts, 11000 between GPUs,
 * the GPU and NIC SYS apart; nothing else was told. */
static void perftest_241(struct scene *s)
{
	set_distance(s, "SYS", 0, 1);
	s->run.n_rows = 1;
	s->row[WRITE].size = 32 * MIB;
	set(s, WRITE, HOST, 23);
	set(s, WRITE, DMABUF, NAN);
	set(s, WRITE, PEERMEM, 11);
	set(s, WRITE, BOUNCE, NAN);
}

/* kvcache-ai/Mooncake#1459: 400 Gb/s, 47 GB/s from DRAM, 15 from the GPU; where they stand was not
 * told, so nothing may be said of why. */
static void mooncake_1459(struct scene *s)
{
	for (int i = 0; i < GP_SIDES; i++)
		gp_diagnose_side_init(&s->near[i]);
	s->near[0].gpu = s->near[1].gpu = true;
	set_limit(s, 49.7, "NIC rate");
	s->run.relaxed_ordering = GP_DIAGNOSE_UNKNOWN;
	s->run.n_rows = 1;
	set(s, WRITE, HOST, 47);
	set(s, WRITE, DMABUF, 15);
	set(s, WRITE, BOUNCE, NAN);
}

/* The same where topo shows GPU and NIC on one node, between host bridges. */
static void mooncake_1459_node(struct scene *s)
{
	mooncake_1459(s);
	set_distance(s, "NODE", 0, 0);
}

/* openucx/ucx#10955: about 16 instead of over 40 GB/s on Emerald Rapids without relaxed ordering.
 */
static void ucx_10955(struct scene *s)
{
	set_limit(s, 49.7, "NIC rate");
	s->run.relaxed_ordering = 0;
	s->run.n_rows = 1;
	set(s, WRITE, HOST, 46);
	set(s, WRITE, DMABUF, 16);
}

/* The same way is good for reading: ordering can't be what binds it. */
static void relaxed_one_op(struct scene *s)
{
	ucx_10955(s);
	s->run.n_rows = 2;
	set(s, READ, HOST, 46);
	set(s, READ, DMABUF, 44);
}

/* openucx/ucx#8062: AMD EPYC, 150 Gb/s instead of 200, host memory. */
static void ucx_8062(struct scene *s)
{
	s->run.relaxed_ordering = 0;
	s->run.n_rows = 1;
	set(s, WRITE, HOST, 150 / 8.0);
	set(s, WRITE, DMABUF, 150 / 8.0);
}

/* NVIDIA/open-gpu-kernel-modules#1253: Arrow Lake-S, GPU and NIC on two root ports; writing runs at
 * line rate, reading ends in a completion error. */
static void kernel_modules_1253(struct scene *s)
{
	set_distance(s, "PHB", -1, -1);
	s->near[GP_SERVER].client_chipset = 1;
	fail_row(s, READ, DMABUF, 11);
}

/* --- each rule, and what takes it away again --- */

static void good(struct scene *s)
{
	(void)s;
}

static void reads_time_out(struct scene *s)
{
	kernel_modules_1253(s);
	fail_row(s, READ, DMABUF, 12);
	s->near[GP_SERVER].client_chipset = 0;
}

static void reads_slow(struct scene *s)
{
	set_distance(s, "PHB", 0, 0);
	set(s, READ, DMABUF, 8);
}

/* The client's GPU is the source of a write. */
static void writes_slow(struct scene *s)
{
	s->near[GP_CLIENT].distance = "PHB";
	set(s, WRITE, DMABUF, 8);
}

static void reads_fail_pix(struct scene *s)
{
	fail_row(s, READ, DMABUF, 11);
}

static void reads_fail_host_too(struct scene *s)
{
	kernel_modules_1253(s);
	fail_row(s, READ, HOST, 12);
}

static void reads_fail_write_unknown(struct scene *s)
{
	kernel_modules_1253(s);
	set(s, WRITE, DMABUF, NAN);
}

/* Another space's 11 (EAGAIN) is no completion status. */
static void reads_fail_errno(struct scene *s)
{
	kernel_modules_1253(s);
	s->row[READ].path[DMABUF].space = GP_SPACE_ERRNO;
}

/* The client's chipset is not what a read goes through. */
static void reads_fail_other_side(struct scene *s)
{
	fail_row(s, READ, DMABUF, 11);
	s->near[GP_CLIENT].client_chipset = 1;
}

static void reads_slow_no_gpu_there(struct scene *s)
{
	reads_slow(s);
	s->near[GP_SERVER].gpu = false;
}

static void gpu_low(struct scene *s)
{
	set(s, WRITE, DMABUF, 14);
	set(s, READ, DMABUF, 14.5);
	set(s, WRITE, BOUNCE, NAN);
	set(s, READ, BOUNCE, NAN);
}

static void acs_refuses(struct scene *s)
{
	fail_row(s, WRITE, PEERMEM, 4);
	s->near[GP_CLIENT].acs_redirect = 1;
}

static void acs_refuses_unknown(struct scene *s)
{
	fail_row(s, WRITE, PEERMEM, 4);
	s->near[GP_CLIENT].acs_redirect = GP_DIAGNOSE_UNKNOWN;
}

static void acs(struct scene *s)
{
	gpu_low(s);
	s->near[GP_SERVER].acs_redirect = 1;
}

/* Through the host bridge it goes anyway. */
static void acs_phb(struct scene *s)
{
	acs(s);
	set_distance(s, "PHB", 0, 0);
}

static void acs_gpu_good(struct scene *s)
{
	s->near[GP_SERVER].acs_redirect = 1;
}

static void iommu(struct scene *s)
{
	gpu_low(s);
	s->near[GP_CLIENT].iommu_translating = s->near[GP_SERVER].iommu_translating = 1;
}

/* Reading is good: only the source of the write is left, and there nothing translates. */
static void iommu_one_op(struct scene *s)
{
	iommu(s);
	set(s, READ, DMABUF, 23);
	s->near[GP_CLIENT].iommu_translating = 0;
}

static void coherent(struct scene *s)
{
	gpu_low(s);
	s->near[GP_CLIENT].coherent = 1;
	s->near[GP_CLIENT].pcie_mapping = 0;
	set(s, WRITE, PEERMEM, 23);
}

static void coherent_mapped(struct scene *s)
{
	coherent(s);
	s->near[GP_CLIENT].pcie_mapping = 1;
	set(s, WRITE, PEERMEM, NAN);
}

static void gpu_link(struct scene *s)
{
	gpu_low(s);
	s->near[GP_SERVER].gpu_link = (struct gp_diagnose_link){16, 16, 8, 16};
}

static void gpu_link_above(struct scene *s)
{
	gpu_low(s);
	s->near[GP_CLIENT].gpu_narrowest = (struct gp_diagnose_link){8, 16, 16, 16};
}

/* The link makes the limit, and the figure is near it: host memory need not be known. */
static void gpu_link_limit(struct scene *s)
{
	gpu_low(s);
	s->near[GP_SERVER].gpu_link = (struct gp_diagnose_link){8, 16, 16, 16};
	set_limit(s, 14.4, "PCIe link of the GPU");
	set(s, WRITE, DMABUF, 13.5);
	set(s, READ, DMABUF, 13.4);
	set(s, WRITE, HOST, NAN);
	set(s, READ, HOST, NAN);
}

/* 14 GB/s can't have gone over 2.5 GT/s: the GPU slept when it was looked at. */
static void gpu_link_asleep(struct scene *s)
{
	gpu_low(s);
	s->near[GP_SERVER].gpu_link = (struct gp_diagnose_link){2.5, 16, 16, 16};
}

/* 14 GB/s is far from what 31 could carry: something else binds. */
static void gpu_link_wide(struct scene *s)
{
	gpu_low(s);
	s->near[GP_SERVER].gpu_link = (struct gp_diagnose_link){16, 32, 16, 16};
}

static void sys(struct scene *s)
{
	gpu_low(s);
	set_distance(s, "SYS", 0, 1);
}

static void sys_one_node_told(struct scene *s)
{
	gpu_low(s);
	set_distance(s, "SYS", 0, -1);
}

static void sys_all(struct scene *s)
{
	sys(s);
	set(s, WRITE, BOUNCE, 14);
	s->run.relaxed_ordering = 0;
	s->near[GP_CLIENT].iommu_translating = 1;
}

/* The near row is as slow: the distance is not what binds. */
static void sys_refuted(struct scene *s)
{
	sys(s);
	memcpy(s->far, s->near, sizeof(s->far));
	set_distance(s, "PIX", 0, 0);
	s->run.n_rows = ROWS;
	set(s, FAR_WRITE, DMABUF, 13.5);
	set(s, FAR_WRITE, BOUNCE, NAN);
}

/* A nearer row of the other op says nothing of this one. */
static void sys_other_op_low(struct scene *s)
{
	s->far[GP_CLIENT].distance = s->far[GP_SERVER].distance = "SYS";
	s->run.n_rows = ROWS;
	set(s, FAR_WRITE, DMABUF, 11);
	set(s, READ, DMABUF, 11);
	set(s, FAR_WRITE, BOUNCE, NAN);
	set(s, READ, BOUNCE, NAN);
}

static void far_row_low(struct scene *s)
{
	s->far[GP_CLIENT].distance = s->far[GP_SERVER].distance = "SYS";
	s->run.n_rows = ROWS;
	set(s, FAR_WRITE, DMABUF, 11);
	set(s, FAR_WRITE, BOUNCE, NAN);
}

static void sys_without_limit(struct scene *s)
{
	sys(s);
	set_limit(s, NAN, "");
}

static void sys_host_low(struct scene *s)
{
	sys(s);
	set(s, WRITE, HOST, 20);
	set(s, READ, HOST, 20);
}

static void sys_gpu_enough(struct scene *s)
{
	sys(s);
	set(s, WRITE, DMABUF, 17);
	set(s, READ, DMABUF, 17);
}

static void sys_small(struct scene *s)
{
	sys(s);
	s->row[WRITE].size = s->row[READ].size = 32768;
}

static void sys_no_sides(struct scene *s)
{
	sys(s);
	s->row[WRITE].sides = s->row[READ].sides = NULL;
}

/* Another GPU path is good between the same devices. */
static void sys_peermem_good(struct scene *s)
{
	sys(s);
	set(s, WRITE, PEERMEM, 23);
	set(s, READ, PEERMEM, 23);
}

static void node(struct scene *s)
{
	gpu_low(s);
	s->near[GP_CLIENT].distance = "NODE";
	s->near[GP_SERVER].distance = "PHB";
}

static void phb(struct scene *s)
{
	gpu_low(s);
	s->near[GP_SERVER].distance = "PHB";
}

/* Both directions at once: 28 of 49 GB/s, host 47. */
static void two_way(struct scene *s)
{
	phb(s);
	for (int r = WRITE; r <= READ; r++) {
		s->row[r].two_way = true;
		set(s, r, HOST, 47);
		set(s, r, DMABUF, 28);
	}
}

static void two_way_gpu_link(struct scene *s)
{
	two_way(s);
	set_distance(s, "PIX", 0, 0);
	s->near[GP_SERVER].gpu_link = (struct gp_diagnose_link){16, 16, 8, 16};
}

static void two_way_host_low(struct scene *s)
{
	two_way(s);
	set(s, WRITE, HOST, 24);
	set(s, READ, HOST, 24);
	set(s, WRITE, DMABUF, 14);
	set(s, READ, DMABUF, 14);
}

static void both_low(struct scene *s)
{
	for (int r = WRITE; r <= READ; r++) {
		set(s, r, HOST, 12);
		set(s, r, DMABUF, 11.8);
		set(s, r, BOUNCE, 7);
	}
}

static void mtu(struct scene *s)
{
	both_low(s);
	s->run.mtu = 1024;
}

static void mtu_port(struct scene *s)
{
	mtu(s);
	s->near[GP_SERVER].mtu_max = 1024;
}

static void mtu_untold(struct scene *s)
{
	mtu(s);
	s->near[GP_SERVER].mtu_max = 0;
}

static void mtu_not_low(struct scene *s)
{
	s->run.mtu = 1024;
}

static void mtu_without_gpu(struct scene *s)
{
	mtu(s);
	s->near[0].gpu = s->near[1].gpu = false;
	for (int r = WRITE; r <= READ; r++)
		set(s, r, DMABUF, NAN), set(s, r, BOUNCE, NAN);
}

/* Host memory is slow, the GPU is not: no fault of the wire. */
static void mtu_gpu_good(struct scene *s)
{
	s->run.mtu = 1024;
	set(s, WRITE, HOST, 12);
	set(s, READ, HOST, 12);
}

static void rate_binds(struct scene *s)
{
	s->near[GP_CLIENT].nic_gbits_per_s = 400;
}

static void rate_overruns(struct scene *s)
{
	both_low(s);
	s->near[GP_SERVER].nic_gbits_per_s = 400;
}

static void rate_pcie_binds(struct scene *s)
{
	rate_binds(s);
	set_limit(s, 24.5, "PCIe link of mlx5_0");
}

static void roce_v1(struct scene *s)
{
	both_low(s);
	s->run.roce = GP_DIAGNOSE_ROCE_V1;
}

static void one_qp(struct scene *s)
{
	both_low(s);
	s->run.qps = 1;
}

static void one_qp_good(struct scene *s)
{
	s->run.qps = 1;
}

static void all_low(struct scene *s)
{
	mtu(s);
	s->run.qps = 1;
	s->run.roce = GP_DIAGNOSE_ROCE_V1;
	s->near[GP_SERVER].nic_gbits_per_s = 400;
	set(s, WRITE, BOUNCE, 11.8);
}

static void nic_link(struct scene *s)
{
	s->near[GP_CLIENT].nic_link = (struct gp_diagnose_link){8, 16, 16, 16};
	set_limit(s, 14.4, "PCIe link of mlx5_0");
	for (int r = WRITE; r <= READ; r++) {
		set(s, r, HOST, 13.8);
		set(s, r, DMABUF, 13.6);
		set(s, r, BOUNCE, 9);
	}
}

static void nic_link_full(struct scene *s)
{
	nic_link(s);
	s->near[GP_CLIENT].nic_link = (struct gp_diagnose_link){8, 8, 16, 16};
}

static void paths_differ(struct scene *s)
{
	set(s, WRITE, PEERMEM, 10);
}

static void bounce(struct scene *s)
{
	set_limit(s, NAN, "");
	set(s, READ, BOUNCE, 22);
}

static void bounce_full(struct scene *s)
{
	set(s, WRITE, BOUNCE, 24);
}

static void bounce_slower(struct scene *s)
{
	set(s, WRITE, BOUNCE, 20);
}

static void bounce_faster(struct scene *s)
{
	set_limit(s, NAN, "");
	set(s, WRITE, BOUNCE, 40);
}

static void set_rails(struct scene *s, int n, const double *gbytes_per_s)
{
	static const char *const names[] = {"rail0", "rail1", "rail2", "rail3",
					    "rail4", "rail5", "rail6", "rail7"};

	for (int i = 0; i < n; i++)
		s->rail[i] = (struct gp_diagnose_rail){names[i], gbytes_per_s[i], NAN};
	s->row[WRITE].rails = s->rail;
	s->row[WRITE].n_rails = n;
}

static void rail(struct scene *s)
{
	static const double values[] = {23, 23.1, 22.9, 11, 23, 23, NAN, 23};

	set_rails(s, 8, values);
}

static void rail_two(struct scene *s)
{
	static const double values[] = {23, 11, 23, 10, 23};

	set_rails(s, 5, values);
}

static void rail_half(struct scene *s)
{
	static const double values[] = {23, 11, 23, 11};

	set_rails(s, 4, values);
}

static void rail_all(struct scene *s)
{
	static const double values[] = {12, 11, 11.5, 11};

	set_rails(s, 4, values);
}

/* A rail of half the rate, each as near to its own limit as the others. */
static void rail_unlike(struct scene *s)
{
	static const double values[] = {23, 11, 23};

	set_rails(s, 3, values);
	s->rail[0].limit = s->rail[2].limit = 24.5;
	s->rail[1].limit = 12.2;
}

static void rail_unlike_low(struct scene *s)
{
	rail_unlike(s);
	s->rail[1].gbytes_per_s = 5;
}

static void rail_one(struct scene *s)
{
	static const double values[] = {3};

	set_rails(s, 1, values);
}

static void far_equal(struct scene *s)
{
	set_limit(s, NAN, "");
	s->row[WRITE].path[DMABUF].far = 23;
}

static void far_equal_bounce(struct scene *s)
{
	set_limit(s, NAN, "");
	s->row[WRITE].path[BOUNCE].far = 12.5;
}

static void far_lower(struct scene *s)
{
	set_limit(s, NAN, "");
	s->row[WRITE].path[DMABUF].far = 20;
}

static void far_near_limit(struct scene *s)
{
	s->row[WRITE].path[DMABUF].far = 23;
}

static void far_both_sys(struct scene *s)
{
	far_equal(s);
	s->near[GP_SERVER].distance = "SYS";
}

static void no_host(struct scene *s)
{
	sys(s);
	set(s, WRITE, HOST, NAN);
	set(s, READ, HOST, NAN);
}

static void no_host_failed(struct scene *s)
{
	no_host(s);
	fail_row(s, WRITE, HOST, 12);
	fail_row(s, READ, HOST, 12);
}

static void no_rows(struct scene *s)
{
	s->run.n_rows = 0;
}

static void nothing_known(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	gp_diagnose_run_init(&s->run);
	for (int r = 0; r < ROWS; r++)
		gp_diagnose_row_init(&s->row[r]);
	s->run.rows = s->row;
	s->run.n_rows = ROWS;
}

static void infinite(struct scene *s)
{
	sys(s);
	set(s, WRITE, HOST, INFINITY);
	set(s, READ, HOST, -1);
	set(s, WRITE, DMABUF, INFINITY);
	set(s, READ, DMABUF, 0);
}

#define CASE(make) #make, make

static const struct {
	const char *name;
	void (*make)(struct scene *s);
	const char *ids;     /* all that is said */
	const char *says[4]; /* in the first line, in any of its parts */
	const char *says_not[2];
} cases[] = {
	{CASE(perftest_241),
	 "distance-sys",
	 {"write 32M near: peermem 11.0 GB/s, host 23.0, limit 24.5",
	  "client: SYS, GPU node 0, NIC node 1; server: SYS", "gdrproof topo"},
	 {"dmabuf", "each way"}},
	{CASE(mooncake_1459), "", {0}, {0}},
	{CASE(mooncake_1459_node), "distance-node", {"dmabuf 15.0 GB/s, host 47.0", "NODE"}, {0}},
	{CASE(ucx_10955),
	 "relaxed-ordering-off",
	 {"dmabuf 16.0 GB/s, host 46.0", "--relaxed-ordering off", "--relaxed-ordering on"},
	 {0}},
	{CASE(relaxed_one_op), "", {0}, {0}},
	{CASE(ucx_8062), "relaxed-ordering-off", {"host 18.8"}, {0}},
	{CASE(kernel_modules_1253),
	 "peer-to-peer-reads",
	 {"the server's NIC", "dmabuf write 23.5 GB/s",
	  "dmabuf read ends in completion status 11 (remote operation error)",
	  "server: client chipset"},
	 {"client: PHB", "node -1"}},
	{CASE(good), "", {0}, {0}},
	{CASE(reads_time_out),
	 "peer-to-peer-reads",
	 {"status 12 (retries exceeded)", "server: PHB"},
	 {"chipset"}},
	{CASE(reads_slow),
	 "peer-to-peer-reads bounce-equal",
	 {"read 1M near: dmabuf 8.00 GB/s, host 23.9", "dmabuf write 23.5", "(--op write)"},
	 {"status"}},
	{CASE(writes_slow),
	 "peer-to-peer-reads bounce-equal",
	 {"the client's NIC", "(--op read)"},
	 {"server"}},
	{CASE(reads_fail_pix), "", {0}, {0}},
	{CASE(reads_fail_host_too), "", {0}, {0}},
	{CASE(reads_fail_write_unknown), "", {0}, {0}},
	{CASE(reads_fail_errno), "", {0}, {0}},
	{CASE(reads_fail_other_side), "", {0}, {0}},
	{CASE(reads_slow_no_gpu_there), "bounce-equal", {0}, {0}},
	{CASE(gpu_low), "", {0}, {0}},
	{CASE(acs_refuses),
	 "acs-refuses",
	 {"peermem ends in completion status 4", "setpci", "host 23.9"},
	 {0}},
	{CASE(acs_refuses_unknown), "", {0}, {0}},
	{CASE(acs), "acs-redirect", {"server: ACS redirect", "write 1M near: dmabuf 14.0"}, {0}},
	{CASE(acs_phb), "distance-phb", {0}, {0}},
	{CASE(acs_gpu_good), "", {0}, {0}},
	{CASE(iommu), "iommu-translating", {"both sides: IOMMU", "iommu=pt"}, {0}},
	{CASE(iommu_one_op), "", {0}, {0}},
	{CASE(coherent),
	 "coherent-mapping",
	 {"client: the GPU shares", "dmabuf 14.0", "peermem 23.0", "CUDA 12.8"},
	 {0}},
	{CASE(coherent_mapped), "", {0}, {0}},
	{CASE(gpu_link),
	 "gpu-link",
	 {"server: PCIe link of the GPU runs at 16 GT/s x8 of 16 GT/s x16"},
	 {0}},
	{CASE(gpu_link_above),
	 "gpu-link",
	 {"client: narrowest PCIe link above the GPU runs at 8 GT/s x16 of 16 GT/s x16"},
	 {0}},
	{CASE(gpu_link_limit),
	 "gpu-link",
	 {"read 1M near: dmabuf 13.4 GB/s, limit 14.4"},
	 {"host"}},
	{CASE(gpu_link_asleep), "", {0}, {0}},
	{CASE(gpu_link_wide), "", {0}, {0}},
	{CASE(sys), "distance-sys", {"client: SYS, GPU node 0, NIC node 1; server: SYS"}, {0}},
	{CASE(sys_one_node_told), "distance-sys", {"client: SYS; server: SYS"}, {"GPU node"}},
	{CASE(sys_other_op_low), "distance-sys", {"write 1M far"}, {0}},
	{CASE(sys_all), "relaxed-ordering-off distance-sys iommu-translating", {0}, {0}},
	{CASE(sys_refuted), "", {0}, {0}},
	{CASE(far_row_low), "distance-sys", {"write 1M far: dmabuf 11.0"}, {0}},
	{CASE(sys_without_limit), "", {0}, {0}},
	{CASE(sys_host_low), "", {0}, {0}},
	{CASE(sys_gpu_enough), "", {0}, {0}},
	{CASE(sys_small), "", {0}, {0}},
	{CASE(sys_no_sides), "", {0}, {0}},
	{CASE(sys_peermem_good),
	 "gpu-paths-differ",
	 {"dmabuf is far below peermem", "let the job use peermem"},
	 {0}},
	{CASE(node), "distance-node", {"client: NODE"}, {"PHB,"}},
	{CASE(phb), "distance-phb", {"server: PHB"}, {"client"}},
	{CASE(two_way), "distance-phb", {"dmabuf 28.0 GB/s, host 47.0, limit 24.5 each way"}, {0}},
	{CASE(two_way_gpu_link), "gpu-link", {"16 GT/s x8"}, {0}},
	{CASE(two_way_host_low), "", {0}, {0}},
	{CASE(both_low), "", {0}, {0}},
	{CASE(mtu), "mtu", {"active MTU 1024, the ports can do 4096 and 4096", "host 12.0"}, {0}},
	{CASE(mtu_port), "", {0}, {0}},
	{CASE(mtu_untold), "", {0}, {0}},
	{CASE(mtu_not_low), "", {0}, {0}},
	{CASE(mtu_without_gpu), "mtu", {"host 12.0 GB/s, limit 24.5"}, {0}},
	{CASE(mtu_gpu_good), "", {0}, {0}},
	{CASE(rate_binds),
	 "link-rate",
	 {"the server's port is the slower one, and all goes at its rate",
	  "client port 400 Gb/s, server port 200 Gb/s"},
	 {0}},
	{CASE(rate_overruns), "link-rate", {"the client's port", "overrun"}, {0}},
	{CASE(rate_pcie_binds), "", {0}, {0}},
	{CASE(roce_v1), "roce-v1", {"RoCE v1", "-x"}, {0}},
	{CASE(one_qp), "one-qp", {"1 QP", "-q 4"}, {0}},
	{CASE(one_qp_good), "", {0}, {0}},
	{CASE(all_low), "link-rate mtu roce-v1", {0}, {0}},
	{CASE(nic_link),
	 "nic-link",
	 {"client: PCIe link of the NIC runs at 8 GT/s x16 of 16 GT/s x16", "limit 14.4"},
	 {0}},
	{CASE(nic_link_full), "", {0}, {0}},
	{CASE(paths_differ), "gpu-paths-differ", {"peermem is far below dmabuf"}, {0}},
	{CASE(bounce),
	 "bounce-equal",
	 {"dmabuf is about as fast as bounce", "read 1M", "1.07 of bounce", "host,dmabuf,bounce"},
	 {"limit"}},
	{CASE(bounce_full), "bounce-equal", {"near the limit"}, {"see why"}},
	{CASE(bounce_slower), "", {0}, {0}},
	{CASE(bounce_faster), "bounce-equal", {"dmabuf is slower than bounce"}, {0}},
	{CASE(rail),
	 "rail-low",
	 {"rail3", "rail 11.0 GB/s, the median of the others 23.0", "1 of 8 rails low"},
	 {"%"}},
	{CASE(rail_two), "rail-low", {"rail3", "2 of 5 rails low"}, {0}},
	{CASE(rail_half), "", {0}, {0}},
	{CASE(rail_all), "", {0}, {0}},
	{CASE(rail_unlike), "", {0}, {0}},
	{CASE(rail_unlike_low), "rail-low", {"41 % of its limit, the others 94 %"}, {0}},
	{CASE(rail_one), "", {0}, {0}},
	{CASE(far_equal), "far-equal", {"dmabuf far 23.0 GB/s, 0.98 of near"}, {0}},
	{CASE(far_equal_bounce), "far-equal", {"bounce far 12.5 GB/s, 1.00 of near"}, {0}},
	{CASE(far_lower), "", {0}, {0}},
	{CASE(far_near_limit), "", {0}, {0}},
	{CASE(far_both_sys), "", {0}, {0}},
	{CASE(no_host), "host-not-measured", {"dmabuf 14.0 GB/s, limit 24.5", "--path host"}, {0}},
	{CASE(no_host_failed), "", {0}, {0}},
	{CASE(no_rows), "", {0}, {0}},
	{CASE(nothing_known), "", {0}, {0}},
	{CASE(infinite), "", {0}, {0}},
};

static bool contains(const struct gp_diagnosis_line *line, const char *words)
{
	return strstr(line->what, words) || strstr(line->facts, words) || strstr(line->next, words);
}

static const char *ids_of(const struct gp_diagnosis *d, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; i < d->n; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? " " : "",
					 d->line[i].id);
	return buf;
}

static int check_case(size_t i, const struct gp_diagnosis *d)
{
	char ids[256];
	int failures = 0;

	if (strcmp(ids_of(d, ids, sizeof(ids)), cases[i].ids) != 0) {
		print_error("%s: expected \"%s\", got \"%s\"\n", cases[i].name, cases[i].ids, ids);
		failures++;
	}
	for (size_t k = 0; k < COUNT(cases[i].says) && cases[i].says[k]; k++)
		if (!contains(&d->line[0], cases[i].says[k])) {
			print_error("%s: no \"%s\" in: %s | %s | %s\n", cases[i].name,
				    cases[i].says[k], d->line[0].what, d->line[0].facts,
				    d->line[0].next);
			failures++;
		}
	for (size_t k = 0; k < COUNT(cases[i].says_not) && cases[i].says_not[k]; k++)
		if (strstr(d->line[0].what, cases[i].says_not[k]) ||
		    strstr(d->line[0].facts, cases[i].says_not[k])) {
			print_error("%s: \"%s\" in: %s | %s\n", cases[i].name, cases[i].says_not[k],
				    d->line[0].what, d->line[0].facts);
			failures++;
		}
	return failures;
}

static void test_cases(void **state)
{
	int failures = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gp_diagnosis d;
		struct scene s;

		make_good(&s);
		cases[i].make(&s);
		gp_diagnose(&s.run, &d);
		failures += check_case(i, &d);
	}
	assert_int_equal(failures, 0);
}

/* Whatever is said is whole: filled, not cut, without a figure that is none. */
static void test_lines_are_whole(void **state)
{
	static const char *const none[] = {"nan", "inf", " - ", "- GB/s", "-1", "(null)"};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gp_diagnosis d;
		struct scene s;

		make_good(&s);
		cases[i].make(&s);
		gp_diagnose(&s.run, &d);
		assert_in_range(d.n, 0, GP_DIAGNOSIS_MAX);
		for (int l = 0; l < d.n; l++) {
			const struct gp_diagnosis_line *line = &d.line[l];

			assert_in_range(strlen(line->what), 10, sizeof(line->what) - 2);
			assert_in_range(strlen(line->facts), 10, sizeof(line->facts) - 2);
			assert_in_range(strlen(line->next), 10, sizeof(line->next) - 2);
			for (size_t k = 0; k < COUNT(none); k++)
				if (strstr(line->facts, none[k]))
					fail_msg("%s: %s", cases[i].name, line->facts);
		}
	}
}

static void test_every_rule_has_a_case(void **state)
{
	(void)state;
	for (int r = 0; gp_diagnose_rule(r); r++) {
		bool found = false;

		for (size_t i = 0; i < COUNT(cases); i++)
			found = found || strstr(cases[i].ids, gp_diagnose_rule(r));
		if (!found)
			fail_msg("no case for %s", gp_diagnose_rule(r));
		for (int other = 0; other < r; other++)
			assert_string_not_equal(gp_diagnose_rule(r), gp_diagnose_rule(other));
	}
	assert_null(gp_diagnose_rule(-1));
}

/* At the constants themselves: one step to either side changes what is said. */
static void test_thresholds(void **state)
{
	static const struct {
		double limit, host, gpu, bounce;
		uint64_t size;
		const char *ids;
	} rows[] = {
		{100, 85.1, 59, 0, MIB, "distance-phb"}, {100, 84.9, 59, 0, MIB, ""},
		{100, 90, 62.9, 0, MIB, "distance-phb"}, {100, 90, 63.1, 0, MIB, ""},
		{100, 90, 59, 0, 65536, "distance-phb"}, {100, 90, 59, 0, 65535, ""},
		{NAN, 90, 80, 73, MIB, "bounce-equal"},	 {NAN, 90, 80, 72, MIB, ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_diagnosis d;
		struct scene s;
		char ids[256];

		make_good(&s);
		s.run.n_rows = 1;
		s.near[GP_CLIENT].distance = "PHB";
		set_limit(&s, rows[i].limit, "NIC rate");
		s.row[WRITE].size = rows[i].size;
		set(&s, WRITE, HOST, rows[i].host);
		set(&s, WRITE, DMABUF, rows[i].gpu);
		set(&s, WRITE, BOUNCE, rows[i].bounce);
		gp_diagnose(&s.run, &d);
		if (strcmp(ids_of(&d, ids, sizeof(ids)), rows[i].ids) != 0)
			fail_msg("row %zu: expected \"%s\", got \"%s\"", i, rows[i].ids, ids);
	}
}

/* More rails than are looked at, all figures missing but one: no overrun. */
static void test_many_rails(void **state)
{
	static struct gp_diagnose_rail rails[2 * GP_DIAGNOSE_RAILS_MAX];
	struct gp_diagnosis d;
	struct scene s;

	(void)state;
	for (size_t i = 0; i < COUNT(rails); i++)
		rails[i] = (struct gp_diagnose_rail){"rail", i ? (double)NAN : 3, NAN};
	make_good(&s);
	s.row[WRITE].rails = rails;
	s.row[WRITE].n_rails = (int)COUNT(rails);
	gp_diagnose(&s.run, &d);
	assert_int_equal(d.n, 0);
	for (size_t i = 1; i < COUNT(rails); i++)
		rails[i].gbytes_per_s = 23;
	gp_diagnose(&s.run, &d);
	assert_int_equal(d.n, 1);
	assert_non_null(strstr(d.line[0].facts, "1 of 64 rails low"));
}

static void test_path_names(void **state)
{
	(void)state;
	assert_int_equal(gp_diagnose_path_find("host"), GP_DIAGNOSE_HOST);
	assert_int_equal(gp_diagnose_path_find("dmabuf"), GP_DIAGNOSE_DMABUF);
	assert_int_equal(gp_diagnose_path_find("peermem"), GP_DIAGNOSE_PEERMEM);
	assert_int_equal(gp_diagnose_path_find("bounce"), GP_DIAGNOSE_BOUNCE);
	assert_int_equal(gp_diagnose_path_find("shm"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_lines_are_whole),
		cmocka_unit_test(test_every_rule_has_a_case),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_many_rails),
		cmocka_unit_test(test_path_names),
	};

	return cmocka_run_group_tests_name("diagnose", tests, NULL, NULL);
}
