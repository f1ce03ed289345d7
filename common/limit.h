/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limit: what a wire and a PCIe link can carry at most, as payload. Pure arithmetic.
 *
 * A limit is an upper bound for large messages in one direction; with both directions busy at once
 * each has its own. It never promises that a device gets there. What is not told makes no limit.
 */
#ifndef GP_LIMIT_H
#define GP_LIMIT_H

#include <stdbool.h>

/* What a packet is wrapped in. */
enum gp_packet {
	GP_PACKET_UNKNOWN,
	GP_PACKET_INFINIBAND,
	GP_PACKET_ROCE_V1,
	GP_PACKET_ROCE_V2_IPV4,
	GP_PACKET_ROCE_V2_IPV6,
	GP_PACKET_COUNT
};

struct gp_limit {
	bool known;
	double gbytes_per_s; /* 10^9 bytes of payload per second */
	double gbits_per_s;
	char bound_by[64]; /* "NIC rate", "PCIe link of mlx5_0"; empty where not known */
	char detail[160];  /* "400 Gb/s less headers at MTU 4096"; where not known: why */
};

/*
 * The wire. `rate_gbps` is the active rate as ibv_query_port or sysfs name it (400, 100, 56);
 * `ib_speed` is ibv_port_attr.active_speed (1 SDR ... 256 XDR), 0 where not told, and only read for
 * InfiniBand; `mtu` is the active MTU in bytes (256 ... 4096). `software`: rxe or siw, whose rate
 * is fiction.
 */
void gp_limit_wire(double rate_gbps, int ib_speed, int mtu, enum gp_packet wire, bool software,
		   struct gp_limit *limit);

/*
 * A PCIe link of device `what`: GT/s (2.5 ... 64), lanes (1 ... 32), max payload size in force in
 * bytes (128 ... 4096; 0: not told, then 512, the most that NICs take, is assumed and said so).
 * `both_ways`: both directions busy, so that acknowledgements and credits take their share.
 */
void gp_limit_pcie(const char *what, double gts, int width, int max_payload_bytes, bool both_ways,
		   struct gp_limit *limit);

/*
 * The one that binds. limits[0] is the wire: where it isn't known nothing is, since a bound that
 * leaves out the wire would flatter. Others that are not known are passed over.
 */
void gp_limit_least(const struct gp_limit *limits, int n, struct gp_limit *least);

/* "InfiniBand", "RoCE v2, IPv4", ... */
const char *gp_packet_name(enum gp_packet wire);

#endif
