/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session: a connected pair. The client's calls are here, and the server's one: serve a client
 * until it leaves. What goes over the control channel is known to session.c and session_serve.c
 * only.
 */
#ifndef GP_SESSION_H
#define GP_SESSION_H

#include "host.h"
#include "path.h"
#include "wire.h"

struct gp_session {
	int fd; /* -1: closed */
	struct gp_end end;
	struct gp_rdma rdma;
	enum gp_connect_way way;
	uint64_t nonce;
	json_t *server;			/* how the server describes itself */
	struct gp_placed server_placed; /* of the path opened last */
	bool server_has_gpu;		/* and it was not declined */
	char server_version[64];
};

/* What one round gave. Bytes and rate are of both directions where the round was two-way. */
struct gp_outcome {
	uint64_t bytes, messages;
	double seconds, gbytes_per_s;
	uint64_t moved_bytes; /* with what was in flight when the window closed; one direction */
	struct gp_check check[GP_SIDES];
	struct gp_counters counted[GP_SIDES]; /* differences over the round; -1 unknown */
};

/*
 * Connect to the server, agree on the options, choose the devices. `choice` is this side's.
 * GP_EXIT_MISSING where a device is not there, on either side (named).
 */
int gp_session_open(const char *host_name, const struct gp_bw_options *opt,
		    const struct gp_host *host, const struct gp_choice *choice,
		    struct gp_session *session, struct gp_error *err);
void gp_session_close(struct gp_session *session);

/* Open a path on both sides and connect it; rig->facts then holds the facts of both. */
int gp_session_open_path(struct gp_session *session, const struct gp_path *path, struct gp_rig *rig,
			 struct gp_error *err);
void gp_session_close_path(struct gp_session *session, struct gp_rig *rig);

/* One round of one cell: fill, run, check. */
int gp_session_round(struct gp_session *session, struct gp_rig *rig, const struct gp_op *op,
		     uint64_t size, uint32_t number, struct gp_outcome *outcome,
		     struct gp_error *err);

/* What the server allows. */
struct gp_serve_limits {
	uint64_t max_bytes;
	double timeout_s;
	const struct gp_wire_key *key; /* NULL: any client is served */
};

/* Serve one client on a connected control channel until it leaves. 0 where it left in order. */
int gp_session_serve(int fd, const struct gp_serve_limits *limits, struct gp_error *err);

#endif
