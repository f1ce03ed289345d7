/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_limit: the formulas against published and worked-out figures.
 */
#include "limit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void near(double got, double want, double within)
{
	if (fabs(got - want) > within)
		print_error("expected %g, got %g\n", want, got);
	assert_true(fabs(got - want) <= within);
}

static void test_wire(void **state)
{
	/* Gb/s; RoCE v2 over IPv4 has 82 bytes a packet: 92.59 % at MTU 1024, 98.04 % at 4096; over
	 * IPv6 102 bytes: 90.94 % and 97.57 %. InfiniBand 26 bytes: 99.37 % at 4096. */
	static const struct {
		double rate;
		int ib_speed, mtu;
		enum gp_packet wire;
		double gbits;
	} rows[] = {
		{100, 0, 1024, GP_PACKET_ROCE_V2_IPV4, 92.6},
		{200, 0, 1024, GP_PACKET_ROCE_V2_IPV4, 185.2},
		{400, 0, 1024, GP_PACKET_ROCE_V2_IPV4, 370.4},
		{800, 0, 1024, GP_PACKET_ROCE_V2_IPV4, 740.7},
		{100, 0, 4096, GP_PACKET_ROCE_V2_IPV4, 98.0},
		{200, 0, 4096, GP_PACKET_ROCE_V2_IPV4, 196.1},
		{400, 0, 4096, GP_PACKET_ROCE_V2_IPV4, 392.2},
		{800, 0, 4096, GP_PACKET_ROCE_V2_IPV4, 784.3},
		{100, 0, 1024, GP_PACKET_ROCE_V2_IPV6, 90.94},
		{100, 0, 4096, GP_PACKET_ROCE_V2_IPV6, 97.57},
		{100, 0, 4096, GP_PACKET_ROCE_V1, 97.76},
		{400, 128, 4096, GP_PACKET_INFINIBAND, 397.48},
		{200, 64, 4096, GP_PACKET_INFINIBAND, 198.74},
		{100, 32, 2048, GP_PACKET_INFINIBAND, 98.75},
		{56, 16, 4096, GP_PACKET_INFINIBAND, 54.20},
		{40, 4, 4096, GP_PACKET_INFINIBAND, 31.80},
		{40, 8, 4096, GP_PACKET_INFINIBAND, 39.75},
		{40, 4, 4096, GP_PACKET_ROCE_V2_IPV4, 39.21},
	};
	struct gp_limit limit;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gp_limit_wire(rows[i].rate, rows[i].ib_speed, rows[i].mtu, rows[i].wire, false,
			      &limit);
		assert_true(limit.known);
		near(limit.gbits_per_s, rows[i].gbits, rows[i].gbits * 0.0006);
		near(limit.gbytes_per_s, limit.gbits_per_s / 8, 1e-9);
	}
}

static void test_wire_text(void **state)
{
	struct gp_limit limit;

	(void)state;
	gp_limit_wire(400, 128, 4096, GP_PACKET_INFINIBAND, false, &limit);
	assert_string_equal(limit.bound_by, "NIC rate");
	assert_string_equal(limit.detail, "400 Gb/s less headers at MTU 4096");
	near(limit.gbytes_per_s, 49.7, 0.05);
	gp_limit_wire(40, 4, 2048, GP_PACKET_INFINIBAND, false, &limit);
	assert_string_equal(limit.detail, "40 Gb/s less coding and headers at MTU 2048");
}

static void test_wire_unknown(void **state)
{
	struct gp_limit limit;

	(void)state;
	gp_limit_wire(2.5, 0, 1024, GP_PACKET_ROCE_V2_IPV4, true, &limit);
	assert_false(limit.known);
	assert_non_null(strstr(limit.detail, "software"));
	gp_limit_wire(0, 0, 1024, GP_PACKET_ROCE_V2_IPV4, false, &limit);
	assert_false(limit.known);
	gp_limit_wire(100, 0, 0, GP_PACKET_ROCE_V2_IPV4, false, &limit);
	assert_false(limit.known);
	gp_limit_wire(100, 0, 1024, GP_PACKET_UNKNOWN, false, &limit);
	assert_false(limit.known);
	gp_limit_wire(NAN, 0, 1024, GP_PACKET_INFINIBAND, false, &limit);
	assert_false(limit.known);
	gp_limit_wire(100, 0, 1024, (enum gp_packet)77, false, &limit);
	assert_false(limit.known);
}

static void test_pcie(void **state)
{
	/* GB/s of posted writes with 24 bytes a TLP */
	static const struct {
		double gts;
		int width, payload;
		double gbytes;
	} rows[] = {
		{8, 16, 256, 14.4},  {16, 16, 256, 28.8}, {32, 16, 256, 57.6}, {8, 16, 128, 13.3},
		{16, 16, 128, 26.5}, {32, 16, 128, 53.1}, {64, 16, 256, 111},  {2.5, 8, 128, 1.684},
		{5, 8, 256, 3.657},  {16, 8, 512, 15.05}, {16, 8, 0, 15.05},
	};
	struct gp_limit limit;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gp_limit_pcie("x", rows[i].gts, rows[i].width, rows[i].payload, false, &limit);
		assert_true(limit.known);
		near(limit.gbytes_per_s, rows[i].gbytes, rows[i].gbytes * 0.004);
	}
}

/* Acknowledgements and credits take about 5 % where both directions are busy. */
static void test_pcie_both_ways(void **state)
{
	struct gp_limit one, both;

	(void)state;
	gp_limit_pcie("x", 16, 16, 256, false, &one);
	gp_limit_pcie("x", 16, 16, 256, true, &both);
	near(both.gbytes_per_s / one.gbytes_per_s, 0.946, 0.001);
	gp_limit_pcie("x", 64, 16, 256, false, &one);
	gp_limit_pcie("x", 64, 16, 256, true, &both);
	near(both.gbytes_per_s / one.gbytes_per_s, 1, 1e-9);
}

static void test_pcie_unknown(void **state)
{
	static const struct {
		double gts;
		int width, payload;
	} rows[] = {{0, 16, 256},   {16, 0, 256},  {16, 33, 256}, {128, 16, 256},
		    {NAN, 16, 256}, {-8, 16, 256}, {16, 16, 1},	  {16, 16, 8192}};
	struct gp_limit limit;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gp_limit_pcie("x", rows[i].gts, rows[i].width, rows[i].payload, false, &limit);
		assert_false(limit.known);
	}
	gp_limit_pcie("mlx5_0", 16, 8, 0, false, &limit);
	assert_string_equal(limit.bound_by, "PCIe link of mlx5_0");
	assert_non_null(strstr(limit.detail, "assumed"));
}

static void test_least(void **state)
{
	struct gp_limit limits[3], least;

	(void)state;
	gp_limit_wire(400, 128, 4096, GP_PACKET_INFINIBAND, false, &limits[0]);
	gp_limit_pcie("mlx5_0", 32, 16, 256, false, &limits[1]);
	gp_limit_pcie("GPU0", 16, 16, 256, false, &limits[2]);
	gp_limit_least(limits, 2, &least);
	assert_string_equal(least.bound_by, "NIC rate");
	gp_limit_least(limits, 3, &least);
	assert_string_equal(least.bound_by, "PCIe link of GPU0");
	near(least.gbytes_per_s, 28.8, 0.05);
	gp_limit_pcie("GPU0", 0, 0, 0, false, &limits[2]);
	gp_limit_least(limits, 3, &least);
	assert_string_equal(least.bound_by, "NIC rate");
	gp_limit_wire(2.5, 0, 1024, GP_PACKET_ROCE_V2_IPV4, true, &limits[0]);
	gp_limit_least(limits, 3, &least);
	assert_false(least.known);
	gp_limit_least(limits, 0, &least);
	assert_false(least.known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wire),	       cmocka_unit_test(test_wire_text),
		cmocka_unit_test(test_wire_unknown),   cmocka_unit_test(test_pcie),
		cmocka_unit_test(test_pcie_both_ways), cmocka_unit_test(test_pcie_unknown),
		cmocka_unit_test(test_least),
	};

	return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
