/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limit: the formulas, each with its source.
 *
 * Wire, per packet of one MTU (the RETH of a message's first packet, 16 bytes, is left out):
 *   InfiniBand      LRH 8 + BTH 12 + ICRC 4 + VCRC 2 = 26            IBTA vol. 1, 5.2
 *   Ethernet        preamble and SFD 8 + MAC 14 + FCS 4 + gap 12 = 38  IEEE 802.3, 3.1 and 4.4.2
 *   RoCE v1         Ethernet + GRH 40 + BTH 12 + ICRC 4 = 94         IBTA annex A16
 *   RoCE v2, IPv4   Ethernet + IP 20 + UDP 8 + BTH 12 + ICRC 4 = 82  IBTA annex A17
 *   RoCE v2, IPv6   Ethernet + IP 40 + UDP 8 + BTH 12 + ICRC 4 = 102
 * InfiniBand's names for rates count coding in up to QDR (8b/10b: 80 % is data) and FDR (14.0625
 * Gb/s a lane with 64b/66b: 54.5 of "56"); from EDR on they are data rates.
 *
 * PCIe, per posted write of one max payload size:
 *   up to 5 GT/s    8b/10b; STP 1 + sequence 2 + header 16 + LCRC 4 + END 1 = 24   PCIe Base 4.2.1
 *   8 to 32 GT/s    128b/130b; STP token with sequence 4 + header 16 + LCRC 4 = 24 PCIe Base 4.2.2
 *   64 GT/s         no coding; 236 of each 256-byte flit are TLP bytes; header 16  PCIe
 * Base 6.0 4.2.3 A header with a 64-bit address is 16 bytes (2.2.4.1). An RDMA transfer has a
 * posted write at its receiving end, so reads (completions, 12-byte header) never raise the bound.
 * With both directions busy an acknowledgement and a credit update, 8 bytes each (3.5), go the same
 * way for every TLP; inside flits they have room of their own.
 */
#include "limit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ETHERNET_BYTES (8 + 14 + 4 + 12)

static const struct {
	const char *name;
	int packet_bytes; /* on the wire besides the payload */
} wires[GP_PACKET_COUNT] = {
	[GP_PACKET_UNKNOWN] = {"unknown", 0},
	[GP_PACKET_INFINIBAND] = {"InfiniBand", 8 + 12 + 4 + 2},
	[GP_PACKET_ROCE_V1] = {"RoCE v1", ETHERNET_BYTES + 40 + 12 + 4},
	[GP_PACKET_ROCE_V2_IPV4] = {"RoCE v2, IPv4", ETHERNET_BYTES + 20 + 8 + 12 + 4},
	[GP_PACKET_ROCE_V2_IPV6] = {"RoCE v2, IPv6", ETHERNET_BYTES + 40 + 8 + 12 + 4},
};

/* ibv_port_attr.active_speed whose nominal rate is more than its data rate. */
static const struct {
	int speed;
	double data; /* of the nominal rate */
} ib_codings[] = {
	{1, 0.8},			/* SDR */
	{2, 0.8},			/* DDR */
	{4, 0.8},			/* QDR */
	{16, 14.0625 * 64 / 66 / 14.0}, /* FDR */
};

static const struct {
	double max_gts;	  /* up to here */
	double data;	  /* of the bits */
	int packet_bytes; /* besides the payload */
	int dllp_bytes;	  /* more with both directions busy */
} generations[] = {
	{5, 8.0 / 10, 24, 16},
	{32, 128.0 / 130, 24, 16},
	{64, 236.0 / 256, 16, 0},
};

const char *gp_packet_name(enum gp_packet wire)
{
	return wires[(unsigned)wire < GP_PACKET_COUNT ? wire : GP_PACKET_UNKNOWN].name;
}

static void limit_unknown(struct gp_limit *limit, const char *why)
{
	memset(limit, 0, sizeof(*limit));
	snprintf(limit->detail, sizeof(limit->detail), "%s", why);
}

static void limit_set(struct gp_limit *limit, double gbits_per_s)
{
	memset(limit, 0, sizeof(*limit));
	limit->known = true;
	limit->gbits_per_s = gbits_per_s;
	limit->gbytes_per_s = gbits_per_s / 8;
}

void gp_limit_wire(double rate_gbps, int ib_speed, int mtu, enum gp_packet wire, bool software,
		   struct gp_limit *limit)
{
	double data = 1;

	if (software) {
		limit_unknown(limit, "a software device: its rate is a fiction");
		return;
	}
	if (!isfinite(rate_gbps) || rate_gbps <= 0 || mtu < 256 || mtu > 65536 ||
	    wire == GP_PACKET_UNKNOWN || (unsigned)wire >= GP_PACKET_COUNT) {
		limit_unknown(limit, "rate, MTU or kind of the link is not told");
		return;
	}
	for (size_t i = 0; i < sizeof(ib_codings) / sizeof(ib_codings[0]); i++)
		if (wire == GP_PACKET_INFINIBAND && ib_codings[i].speed == ib_speed)
			data = ib_codings[i].data;
	limit_set(limit, rate_gbps * data * mtu / (mtu + wires[wire].packet_bytes));
	snprintf(limit->bound_by, sizeof(limit->bound_by), "NIC rate");
	snprintf(limit->detail, sizeof(limit->detail), "%g Gb/s less %sheaders at MTU %d",
		 rate_gbps, data < 1 ? "coding and " : "", mtu);
}

void gp_limit_pcie(const char *what, double gts, int width, int max_payload_bytes, bool both_ways,
		   struct gp_limit *limit)
{
	int payload = max_payload_bytes ? max_payload_bytes : 512;
	size_t row = 0;

	while (row < sizeof(generations) / sizeof(generations[0]) &&
	       !(gts <= generations[row].max_gts))
		row++;
	if (row == sizeof(generations) / sizeof(generations[0]) || gts <= 0 || width < 1 ||
	    width > 32 || payload < 64 || payload > 4096) {
		limit_unknown(limit, "speed or width of the PCIe link is not told");
		return;
	}
	limit_set(limit, gts * width * generations[row].data * payload /
				 (payload + generations[row].packet_bytes +
				  (both_ways ? generations[row].dllp_bytes : 0)));
	snprintf(limit->bound_by, sizeof(limit->bound_by), "PCIe link of %.40s", what);
	snprintf(limit->detail, sizeof(limit->detail),
		 "%g GT/s x%d less coding and headers at %d B payload%s", gts, width, payload,
		 max_payload_bytes ? "" : " (assumed: not readable)");
}

void gp_limit_least(const struct gp_limit *limits, int n, struct gp_limit *least)
{
	if (n < 1) {
		limit_unknown(least, "nothing is told");
		return;
	}
	*least = limits[0];
	for (int i = 1; i < n && limits[0].known; i++)
		if (limits[i].known && limits[i].gbytes_per_s < least->gbytes_per_s)
			*least = limits[i];
}
