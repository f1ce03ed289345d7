/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect: bring RC queue pairs up between two opened ports. Two ways, one table row each: `cm`
 * (librdmacm) and `tcp` (numbers exchanged over the control channel). The caller carries the JSON
 * between the sides; what is in it is known here only.
 *
 *   active side                          passive side
 *   prepare -> info                  ->
 *                                    <-  prepare -> info
 *   finish(passive's info)               finish(active's info), at the same time
 *
 * After both have returned, every QP is in RTS and has its receives posted by nobody yet.
 */
#ifndef GP_CONNECT_H
#define GP_CONNECT_H

#include "err.h"
#include "rdma.h"

#include <stdbool.h>
#include <stdint.h>

/* What the QPs shall be. mtu in bytes and gid_index are for `tcp` only; 0 and -1 choose. */
struct gp_connect_want {
	int qps;
	int send_wr, recv_wr; /* of each QP */
	int mtu;
	int gid_index;
	int service_level;
	int traffic_class;
	double timeout_s; /* the longest single wait */
};

struct gp_connection;

enum gp_connect_way { GP_CONNECT_CM, GP_CONNECT_TCP };

/* "cm", "tcp" */
const char *gp_connect_name(enum gp_connect_way way);

/*
 * Create the QPs (tcp), or a listener (cm, passive side). With `cm` the port must have been opened
 * for it and have an address. *info is a new reference.
 */
int gp_connect_prepare(enum gp_connect_way way, struct gp_rdma *rdma,
		       const struct gp_connect_want *want, bool active, struct gp_connection **conn,
		       json_t **info, struct gp_error *err);

/*
 * Bring every QP to RTS. `control_fd` is watched meanwhile: a peer that hangs up ends the wait.
 * With `cm`, an id that rdma_cm put on another device than the chosen one is an error.
 */
int gp_connect_finish(struct gp_connection *conn, const json_t *peer_info, int control_fd,
		      struct gp_error *err);

/* Takes NULL and half-made ones. */
void gp_connect_close(struct gp_connection *conn);

int gp_connection_qps(const struct gp_connection *conn);
struct ibv_qp *gp_connection_qp(const struct gp_connection *conn, int i);
struct ibv_cq *gp_connection_cq(const struct gp_connection *conn);

/* RDMA reads that one QP may have outstanding, as both devices allow. */
int gp_connection_rd_atomic(const struct gp_connection *conn);

/* For the record: {"way", "mtu", "gid_index", "gid", "gid_type"}, the last three null where they
 * are not told; gid_type is "InfiniBand", "RoCE v1" or "RoCE v2". A new reference. */
json_t *gp_connection_describe(const struct gp_connection *conn);

#endif
