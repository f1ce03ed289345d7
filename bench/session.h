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

#include <pthread.h>

/* Where sessions on a thread each meet before a round: all then measure the same window. */
struct gp_start {
	pthread_mutex_t lock;
	pthread_cond_t all_here;
	int awaited;
	uint64_t open_ns; /* when the window opens; the last to come says it */
};
void gp_start_init(struct gp_start *start, int n);
void gp_start_destroy(struct gp_start *start);
/* Each of the `n` must do one of these once: come and wait for all, which returns when the window
 * opens, by gp_now_ns(); or pass, since it will not take part. */
uint64_t gp_start_come(struct gp_start *start);
void gp_start_pass(struct gp_start *start);

struct gp_session {
	int fd; /* -1: closed */
	struct gp_end end;
	struct gp_rdma rdma;
	enum gp_connect_way way;
	uint64_t nonce;
	int64_t asked;			/* the number of the last request */
	json_t *server;			/* how the server describes itself */
	struct gp_placed server_placed; /* of the path opened last */
	bool server_has_gpu;		/* and it was not declined */
	int server_rails;		/* how many it has to offer */
	struct gp_start *start;		/* of rounds that begin together; NULL: alone */
};

/* What one round gave. Bytes and rate are of both directions where the round was two-way. */
struct gp_outcome {
	uint64_t bytes, messages;
	double seconds, gbytes_per_s;
	uint64_t start_ns;    /* when the window opened, by gp_now_ns() */
	uint64_t moved_bytes; /* with what was in flight when the window closed; one direction */
	uint64_t port_bytes[GP_SIDES]; /* the same of all that used that side's port */
	double before_s, after_s; /* of fill and ramp before the window, drain and check after */
	double busy[GP_STAGES];	  /* bounce: share of the time that a stage had work, NaN: none */
	struct gp_check check[GP_SIDES];
	struct gp_counters counted[GP_SIDES]; /* differences over the round; -1 unknown */
};

/*
 * Connect to the server, agree on the options, choose the devices. `choice` is this side's.
 * `rail` from 1: the server shall use its rail of that number, where the options don't name its
 * devices; 0: no rail. The calling thread is bound to the node that the options ask for.
 * GP_EXIT_MISSING where a device is not there, on either side (named).
 */
int gp_session_open(const char *host_name, const char *ticket, int rail,
		    const struct gp_bw_options *opt, const struct gp_host *host,
		    const struct gp_choice *choice, struct gp_session *session,
		    struct gp_error *err);
void gp_session_close(struct gp_session *session);

/* Open a path on both sides and connect it; rig->facts then holds the facts of both. */
int gp_session_open_path(struct gp_session *session, const struct gp_path *path, struct gp_rig *rig,
			 struct gp_error *err);
void gp_session_close_path(struct gp_session *session, struct gp_rig *rig);

/* One round of one cell: fill, run, check. */
int gp_session_round(struct gp_session *session, struct gp_rig *rig, const struct gp_op *op,
		     uint64_t size, uint32_t number, struct gp_outcome *outcome,
		     struct gp_error *err);

/*
 * What all sessions of a server share. One client is served at a time; a client may have several
 * sessions, which its ticket shows to be one run's. Another one waits at the desk until the client
 * has left, and is told so where that takes longer than the time-out.
 */
struct gp_desk {
	uint64_t max_bytes; /* most that a client's sessions may have together */
	double timeout_s;
	const struct gp_wire_key *key; /* NULL: any client is served */
	pthread_mutex_t lock;
	pthread_cond_t left;
	char ticket[40]; /* of the client that is served */
	int sessions;	 /* of that client */
	uint64_t taken_bytes;
};

/* `timeout_s` and the rest are set by the caller afterwards; no destroy is needed. */
void gp_desk_init(struct gp_desk *desk);

/* Serve one session on a connected control channel until the client leaves; several may run at a
 * time, on a thread each. 0 where it left in order. */
int gp_session_serve(int fd, struct gp_desk *desk, struct gp_error *err);

#endif
