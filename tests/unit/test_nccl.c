/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_nccl: each form of an NCCL line over the versions; rows. Whole logs are test_classify's.
 */
#include "nccl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct gp_nccl read_lines(const char *first, const char *second)
{
	struct gp_nccl nccl;

	gp_nccl_init(&nccl);
	gp_nccl_line(&nccl, first, 1);
	if (second)
		gp_nccl_line(&nccl, second, 2);
	return nccl;
}

static void channels_are_counted_in_every_form(void **state)
{
	static const struct {
		const char *line;
		int net, gdr;
		const char *network;
	} rows[] = {
		{"h:1:2 [0] NCCL INFO Channel 00 : 2[c7000] -> 0[87000] [receive] via "
		 "NET/IB/5/GDRDMA",
		 1, 1, "IB"},
		{"h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via "
		 "NET/IB/0(3)/GDRDMA(PCI)/Shared",
		 1, 1, "IB"},
		{"h:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 2[0] [receive] via NET/IBext_v8/1", 1,
		 0, "IBext_v8"},
		{"h:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0", 1, 0,
		 "Socket"},
		{"h:1:2 [0] NCCL INFO Channel 02/0 : 0[0] -> 1[1] via P2P/CUMEM/read", 0, 0, ""},
		{"h:1:2 [0] NCCL INFO Channel 00/24 :    0   1   2   3", -1, -1, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gp_nccl nccl = read_lines(rows[i].line, NULL);

		assert_int_equal(nccl.net_channels, rows[i].net);
		assert_int_equal(nccl.gdr_channels, rows[i].gdr);
		assert_string_equal(nccl.network, rows[i].network);
	}
}

static void nics_are_named_in_every_form(void **state)
{
	static const struct {
		const char *line;
		int n;
		const char *first, *link;
	} rows[] = {
		{"h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
		 "b:1<0>",
		 2, "mlx5_0:1", "RoCE"},
		{"h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB/SHARP [RO]; OOB ib0:1<0>", 1,
		 "mlx5_0:1", "IB"},
		{"h:1:2 [0] NCCL INFO NET/IB : Using [0]={[0] mlx5_2:1/RoCE, [1] mlx5_3:1/RoCE} "
		 "[RO]; OOB",
		 2, "mlx5_2:1", "RoCE"},
		{"h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_bond_0:1/RoCE ; OOB "
		 "b:1<0>",
		 2, "mlx5_0:1", ""},
		{"h:1:2 [0] NCCL INFO NET/IB : Using "
		 "[0]a_name_that_is_longer_than_any_device_can_ever_be:1/"
		 "RoCEvvvvvvvvvvv; OOB",
		 0, "", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gp_nccl nccl = read_lines(rows[i].line, NULL);

		assert_int_equal(nccl.n_nics, rows[i].n);
		assert_string_equal(nccl.nics[0].name, rows[i].first);
		assert_string_equal(nccl.link, rows[i].link);
	}
}

static void one_rank_that_can_not_is_what_counts(void **state)
{
	struct gp_nccl nccl = read_lines(
		"h:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'",
		"h:1:3 [1] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no "
		"module)");

	(void)state;
	assert_int_equal(nccl.n_hcas, 1);
	assert_false(nccl.hcas[0].gdr);
}

static void distances_are_read_in_every_form(void **state)
{
	static const char *const lines[] = {
		"h:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 8 > "
		"5), read 0",
		"h:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 3 / HCA a (distance 8 > 5), "
		"read 1 mode Default",
		"h:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU/0-1b000 (rank 3) - NET/0-1 "
		"(distance 8 > 5)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct gp_nccl nccl = read_lines(lines[i], NULL);

		assert_int_equal(nccl.distance, 8);
		assert_int_equal(nccl.distance_limit, 5);
	}
}

static void environment_and_versions_are_kept(void **state)
{
	struct gp_nccl nccl =
		read_lines("n1:1884:2298 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.",
			   "n1:1884:1884 [0] NCCL INFO NCCL version 2.18.3+cuda12.2");

	(void)state;
	assert_string_equal(gp_nccl_env(&nccl, "NCCL_IB_DISABLE"), "1");
	assert_null(gp_nccl_env(&nccl, "NCCL_NET"));
	assert_string_equal(nccl.version, "2.18.3");
	assert_string_equal(nccl.host, "n1");
}

static void results_of_nccl_tests_are_read(void **state)
{
	struct gp_nccl nccl =
		read_lines("  1073741824     268435456     float     sum      -1   5571.4  192.72  "
			   "361.35      0   5570.1  192.77  361.44      0",
			   "# Avg bus bandwidth    : 361.395 ");

	(void)state;
	assert_true(nccl.busbw > 361.39 && nccl.busbw < 361.40);
	assert_true(nccl.busbw_top > 361.34 && nccl.busbw_top < 361.36);
	assert_true(nccl.size_top == 1073741824.0);
}

static void other_lines_say_nothing(void **state)
{
	struct gp_nccl nccl = read_lines("hello", "NCCL is a library");

	(void)state;
	assert_false(nccl.any);
	assert_int_equal(nccl.net_channels, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(channels_are_counted_in_every_form),
		cmocka_unit_test(nics_are_named_in_every_form),
		cmocka_unit_test(one_rank_that_can_not_is_what_counts),
		cmocka_unit_test(distances_are_read_in_every_form),
		cmocka_unit_test(environment_and_versions_are_kept),
		cmocka_unit_test(results_of_nccl_tests_are_read),
		cmocka_unit_test(other_lines_say_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
