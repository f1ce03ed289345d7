/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session_serve: the server's half of a session; the requests are listed in session.c. A request
 * that fails is answered with the error and leaves the session as it was; the session ends when
 * the client closes the channel, breaks the protocol, or is silent for too long.
 */
#include "session.h"
#include "place.h"
#include "side.h"
#include "stop.h"
#include "units.h"
#include "version.h"
#include "wire.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATHS_MAX 8

struct server {
	int fd;
	struct gp_desk *desk;
	struct gp_bw_options opt;
	struct gp_host host;
	struct gp_choice choice;
	bool started;
	bool is_bound;	       /* this thread, by the session */
	cpu_set_t cpus_before; /* what it could use before */
	struct gp_rdma rdma;
	enum gp_connect_way way;
	struct gp_end end;
	struct gp_rig rig[PATHS_MAX]; /* by place in gp_paths[] */
	struct gp_task task;	      /* the round that is prepared */
	bool round_open, round_failed;
	json_int_t request;    /* the number of the last one, which the answer has too */
	struct gp_moved moved; /* by us in it */
};

/* Each handler returns the answer, or NULL with err set. */
typedef json_t *handler_fn(struct server *server, const json_t *request, struct gp_error *err);

static json_t *protocol_error(struct gp_error *err, const char *what)
{
	gp_error_set(err, GP_EXIT_FAILED, "the client's request %s", what);
	return NULL;
}

/* The devices that the client names, or those of our rail of that number, else the closest. */
static int choose(struct server *server, int rail, struct gp_error *err)
{
	const struct gp_bw_options *opt = &server->opt;
	const char *gpu = gp_bw_uses_gpu(opt) ? opt->server_gpu : "none";
	struct gp_rail rails[GP_RAILS_MAX];
	char nic_word[80], gpu_word[16];
	int n;

	if (rail <= 0 || opt->server_nic[0] || opt->server_gpu[0])
		return gp_host_choose(&server->host, opt->server_nic, gpu, &server->choice, err);
	n = gp_host_rails(&server->host, rails);
	if (rail > n)
		return gp_error_set(err, GP_EXIT_MISSING, "rail %d was asked for, here are %d",
				    rail, n);
	snprintf(nic_word, sizeof(nic_word), "%s:%d", rails[rail - 1].nic->name,
		 rails[rail - 1].nic->port);
	/* Without a GPU here the paths that need one are to say so. */
	if (rails[rail - 1].gpu) {
		snprintf(gpu_word, sizeof(gpu_word), "%d", rails[rail - 1].gpu->ordinal);
		gpu = gpu_word;
	}
	return gp_host_choose(&server->host, nic_word, gpu, &server->choice, err);
}

static json_t *handle_start(struct server *server, const json_t *request, struct gp_error *err)
{
	struct gp_bw_options *opt = &server->opt;
	struct gp_rail rails[GP_RAILS_MAX];

	if (server->started)
		return protocol_error(err, "to start came twice");
	if (gp_options_from_json(&gp_bw_table, json_object_get(request, "options"), GP_OPT_WIRE,
				 opt, err) < 0 ||
	    gp_bw_options_finish(opt, 0, err) < 0)
		return NULL;
	if (gp_host_open(gp_bw_uses_gpu(opt), &server->host, err) < 0)
		return NULL;
	server->started = true;
	if (choose(server, (int)json_integer_value(json_object_get(request, "rail")), err) < 0)
		return NULL;
	if (server->choice.gpu &&
	    gp_cuda_use(server->host.cuda, server->choice.gpu->ordinal, err) < 0)
		return NULL;
	server->end = (struct gp_end){.side = GP_SERVER,
				      .opt = opt,
				      .cuda = server->host.cuda,
				      .gpu = server->choice.gpu,
				      .no_gpu = server->choice.no_gpu,
				      .rdma = &server->rdma};
	if (gp_host_node(&server->host, &server->choice, opt->server_cpu_node,
			 &server->end.cpu_node, err) < 0 ||
	    gp_host_node(&server->host, &server->choice, opt->server_mem_node,
			 &server->end.mem_node, err) < 0 ||
	    gp_place_thread(server->end.cpu_node, NULL, err) < 0)
		return NULL;
	return json_pack("{s:o s:b s:i}", "host", gp_host_describe(&server->host, &server->choice),
			 "has_address", server->choice.nic->address[0] != '\0', "rails",
			 gp_host_rails(&server->host, rails));
}

static struct gp_rig *find_rig(struct server *server, const json_t *request,
			       const struct gp_path **path)
{
	const char *name = json_string_value(json_object_get(request, "path"));

	for (int i = 0; name && gp_paths[i] && i < PATHS_MAX; i++)
		if (strcmp(gp_paths[i]->name, name) == 0) {
			*path = gp_paths[i];
			return &server->rig[i];
		}
	return NULL;
}

/* A path's region; and bounce slots, which a path may have. */
static uint64_t path_bytes(const struct server *server, const struct gp_path *path)
{
	uint64_t region = gp_bw_region_bytes(&server->opt);

	return region * (server->opt.bidirectional ? 2 : 1) + path->beside(&server->opt);
}

/* All open paths of the client's sessions together must be within --max-bytes. */
static int take_bytes(struct server *server, const struct gp_path *path, struct gp_error *err)
{
	uint64_t bytes = path_bytes(server, path), limit = server->desk->max_bytes;
	char asked[32], allowed[32];
	bool fits;

	pthread_mutex_lock(&server->desk->lock);
	fits = bytes <= limit && server->desk->taken_bytes <= limit - bytes;
	if (fits)
		server->desk->taken_bytes += bytes;
	pthread_mutex_unlock(&server->desk->lock);
	if (fits)
		return 0;
	gp_error_set(err, GP_EXIT_MISSING,
		     "the session asks for %s more memory, over the server's --max-bytes %s",
		     gp_size_write(bytes, asked, sizeof(asked)),
		     gp_size_write(limit, allowed, sizeof(allowed)));
	gp_error_advise(err, "lower --region, --size or --qp, or raise --max-bytes there");
	return -1;
}

static void return_bytes(struct server *server, const struct gp_path *path)
{
	pthread_mutex_lock(&server->desk->lock);
	server->desk->taken_bytes -= path_bytes(server, path);
	pthread_mutex_unlock(&server->desk->lock);
}

/* Close a path, open or not, and give back what it had. */
static void close_rig(struct server *server, struct gp_rig *rig)
{
	const struct gp_path *path = rig->path;

	if (!path)
		return;
	gp_rig_close(rig);
	return_bytes(server, path);
}

static int open_nic(struct server *server, const json_t *request, struct gp_error *err)
{
	const char *name = json_string_value(json_object_get(request, "way"));
	enum gp_connect_way way = GP_CONNECT_CM;

	if (name && strcmp(name, gp_connect_name(GP_CONNECT_TCP)) == 0)
		way = GP_CONNECT_TCP;
	if (server->rdma.ctx && way == server->way)
		return 0;
	if (server->rdma.ctx)
		return gp_error_set(err, GP_EXIT_FAILED, "the way to connect changed");
	server->way = way;
	return gp_rdma_open(server->choice.nic, way == GP_CONNECT_CM, &server->rdma, err);
}

/* Read a request, whose number our next answer has. */
static int take_request(struct server *server, uint64_t deadline_ns, json_t **request,
			struct gp_error *err)
{
	if (gp_wire_receive(server->fd, deadline_ns, request, err) < 0)
		return -1;
	server->request = json_integer_value(json_object_get(*request, "id"));
	return 0;
}

/* Send an answer, whose reference is stolen. */
static int reply(struct server *server, json_t *answer, uint64_t deadline_ns, struct gp_error *err)
{
	int rc;

	json_object_set_new(answer, "re", json_integer(server->request));
	rc = gp_wire_send(server->fd, answer, deadline_ns, err);
	json_decref(answer);
	return rc;
}

static int reply_error(struct server *server, const struct gp_error *failure, uint64_t deadline_ns,
		       struct gp_error *err)
{
	return reply(server, json_pack("{s:o}", "error", gp_error_to_json(failure)), deadline_ns,
		     err);
}

/* Answer with our half, then wait for the client's QPs; "connected" tells it how that went. */
static int answer_and_connect(struct server *server, struct gp_rig *rig, json_t *info,
			      const json_t *peer_info, struct gp_error *err)
{
	struct gp_placed placed;
	json_t *answer;

	gp_rig_ask_place(rig, &placed);
	answer = json_pack("{s:o s:o s:o s:o}", "memory", gp_rig_describe(rig), "facts",
			   gp_facts_to_json(&rig->facts), "place", gp_placed_to_json(&placed),
			   "connect", info);
	if (reply(server, answer, gp_deadline(server->opt.timeout_s), err) < 0)
		return -1;
	if (gp_connect_finish(rig->conn, peer_info, server->fd, err) < 0)
		return -1;
	return rig->path->ready(rig, err);
}

static json_t *handle_open(struct server *server, const json_t *request, struct gp_error *err)
{
	const json_t *peer = json_object_get(request, "connect");
	const struct gp_path *path;
	struct gp_rig *rig = find_rig(server, request, &path);
	json_t *info, *next = NULL, *answer = NULL;

	if (!server->started || !server->choice.nic || !rig || rig->path)
		return protocol_error(err, "to open a path makes no sense here");
	if (open_nic(server, request, err) < 0 || take_bytes(server, path, err) < 0)
		return NULL;
	if (gp_rig_open(path, &server->end, rig, err) < 0) {
		return_bytes(server, path);
		return NULL;
	}
	if (gp_rig_set_remote(rig, json_object_get(request, "memory"), err) < 0 ||
	    gp_side_prepare_connection(rig, server->way, &info, err) < 0) {
		close_rig(server, rig);
		return NULL;
	}
	answer_and_connect(server, rig, info, peer, err);
	if (err->set)
		close_rig(server, rig);
	/* The answer to `open` is sent: what follows answers the next request, which is either
	 * "connected", or anything else from a client that has given up. */
	if (take_request(server, gp_deadline(2 * server->opt.timeout_s), &next, err) == 0)
		answer = json_object();
	json_decref(next);
	return err->set ? (json_decref(answer), NULL) : answer;
}

/* The passive side takes part: run until the client says `end`, which stays to be read. */
static int take_part(struct server *server, struct gp_error *err)
{
	struct gp_task *task = &server->task;

	server->moved = (struct gp_moved){0};
	if (!task->round.two_way && !task->rig->path->both_sides_run)
		return 0;
	return task->rig->path->run(task->rig, &task->round, &server->moved, err);
}

static json_t *handle_round(struct server *server, const json_t *request, struct gp_error *err)
{
	const char *op_name = json_string_value(json_object_get(request, "op"));
	json_int_t size = json_integer_value(json_object_get(request, "size"));
	const struct gp_path *path;
	struct gp_rig *rig = find_rig(server, request, &path);
	const struct gp_op *op = NULL;
	bool asked_for = false;

	for (int i = 0; op_name && gp_ops[i].name; i++)
		if (strcmp(gp_ops[i].name, op_name) == 0)
			op = &gp_ops[i];
	for (int i = 0; i < server->opt.size.n; i++)
		asked_for = asked_for || server->opt.size.bytes[i] == (uint64_t)size;
	if (!rig || !rig->path || !op || !asked_for)
		return protocol_error(err, "for a round makes no sense here");
	server->task = (struct gp_task){
		.rig = rig,
		.round = {.op = op,
			  .size = (uint64_t)size,
			  .number =
				  (uint32_t)json_integer_value(json_object_get(request, "number")),
			  .initiator = server->opt.bidirectional,
			  .two_way = server->opt.bidirectional,
			  .timeout_s = server->opt.timeout_s,
			  .control_fd = server->fd,
			  .until_message = true},
		.seed = (uint64_t)json_integer_value(json_object_get(request, "seed")),
	};
	if (gp_rig_set_tuning(rig, json_object_get(request, "tuning"), err) < 0 ||
	    gp_task_prepare(&server->task, err) < 0)
		return NULL;
	server->round_open = true;
	return json_object();
}

static json_t *counters_to_json(const struct gp_counters *c)
{
	return json_pack("{s:I s:I s:I s:I}", "sent_bytes", (json_int_t)c->sent_bytes,
			 "received_bytes", (json_int_t)c->received_bytes, "sent_packets",
			 (json_int_t)c->sent_packets, "received_packets",
			 (json_int_t)c->received_packets);
}

static json_t *handle_end(struct server *server, const json_t *request, struct gp_error *err)
{
	struct gp_task *task = &server->task;
	struct gp_counters counted;
	struct gp_check check = {0};
	struct gp_moved theirs;

	if (!task->rig)
		return protocol_error(err, "ends a round that was not begun");
	if (gp_moved_from_json(json_object_get(request, "moved"), &theirs, err) < 0)
		return NULL;
	gp_task_count(task, &counted);
	if (gp_task_check(task, gp_task_mover_is_peer(task) ? &theirs : &server->moved, &check,
			  err) < 0)
		return NULL;
	task->rig = NULL;
	return json_pack("{s:o s:{s:I s:I s:I} s:o}", "moved", gp_moved_to_json(&server->moved),
			 "check", "checked", (json_int_t)check.checked_bytes, "wrong",
			 (json_int_t)check.wrong_bytes, "first", (json_int_t)check.first_wrong,
			 "counters", counters_to_json(&counted));
}

static json_t *handle_close(struct server *server, const json_t *request, struct gp_error *err)
{
	const struct gp_path *path;
	struct gp_rig *rig = find_rig(server, request, &path);

	if (!rig)
		return protocol_error(err, "closes no path");
	server->task = (struct gp_task){0};
	close_rig(server, rig);
	return json_object();
}

static const struct {
	const char *name;
	handler_fn *handle;
} handlers[] = {
	{"start", handle_start}, {"open", handle_open},	  {"round", handle_round},
	{"end", handle_end},	 {"close", handle_close},
};

static json_t *dispatch(struct server *server, const json_t *request, struct gp_error *err)
{
	const char *name = json_string_value(json_object_get(request, "do"));

	for (size_t i = 0; name && i < sizeof(handlers) / sizeof(handlers[0]); i++)
		if (strcmp(handlers[i].name, name) == 0)
			return handlers[i].handle(server, request, err);
	return protocol_error(err, "is not known");
}

/* Longest silence of a client that is well: it may be filling, running or checking. */
static uint64_t silence_deadline(const struct server *server)
{
	const struct gp_bw_options *opt = &server->opt;
	double round_s = opt->iters ? 86400 : opt->duration_s;

	if (!server->started)
		return gp_deadline(server->desk->timeout_s);
	return gp_deadline(2 * gp_side_patience_s(opt) + opt->timeout_s + round_s);
}

static bool is_end(const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "do"));

	return name && strcmp(name, "end") == 0;
}

/* Read a request, answer it. 1: go on; 0: the client has left; -1: the session is broken. */
static int serve_request(struct server *server, struct gp_error *err)
{
	struct gp_error failed = {0};
	json_t *request, *answer;
	uint64_t deadline_ns = silence_deadline(server);
	int rc;

	if (gp_wait_fd(server->fd, POLLIN, deadline_ns, "request from the client", err) < 0)
		return -1;
	if (take_request(server, deadline_ns, &request, err) < 0) {
		if (!gp_wire_hung_up(server->fd) || server->task.rig)
			return -1;
		*err = (struct gp_error){0};
		return 0;
	}
	if (server->round_failed && is_end(request)) {
		server->round_failed = false;
		json_decref(request);
		return 1;
	}
	server->round_failed = false;
	answer = dispatch(server, request, &failed);
	json_decref(request);
	deadline_ns = gp_deadline(server->desk->timeout_s);
	rc = answer ? reply(server, answer, deadline_ns, err)
		    : reply_error(server, &failed, deadline_ns, err);
	return rc < 0 ? -1 : 1;
}

/*
 * A round whose answer is out runs here, so that the client can begin. Should it fail, the client
 * is told at once: it reads that in its loop, or in place of the answer to an "end" that is under
 * way, which then is not answered. One that has given up the round itself passes it over.
 */
static int serve_round(struct server *server, struct gp_error *err)
{
	struct gp_error failed = {0};

	server->round_open = false;
	if (take_part(server, &failed) == 0)
		return 1;
	server->task = (struct gp_task){0};
	server->round_failed = true;
	gp_error_side(&failed, "server");
	if (reply_error(server, &failed, gp_deadline(server->opt.timeout_s), err) == 0)
		return 1;
	*err = failed; /* what broke the round says more than that the client left */
	return -1;
}

void gp_desk_init(struct gp_desk *desk)
{
	*desk = (struct gp_desk){0};
	pthread_mutex_init(&desk->lock, NULL);
	pthread_cond_init(&desk->left, NULL);
}

/* Sessions that a client may have at once: a rail each. */
#define SESSIONS_MAX 64

/* Wait for our turn. A client's further sessions come in at once. */
static int come_in(struct gp_desk *desk, const char *ticket, struct gp_error *err)
{
	struct timespec until;
	bool ours;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)desk->timeout_s;
	pthread_mutex_lock(&desk->lock);
	for (;;) {
		ours = desk->sessions == 0 || (ticket[0] && strcmp(ticket, desk->ticket) == 0);
		if (ours || gp_stop_requested() ||
		    pthread_cond_timedwait(&desk->left, &desk->lock, &until) != 0)
			break;
	}
	if (ours && desk->sessions == SESSIONS_MAX)
		gp_error_set(err, GP_EXIT_MISSING, "the server has %d sessions of this client",
			     SESSIONS_MAX);
	else if (!ours)
		gp_error_set(err, GP_EXIT_FAILED, "the server is busy with another client");
	else if (desk->sessions++ == 0)
		snprintf(desk->ticket, sizeof(desk->ticket), "%s", ticket);
	pthread_mutex_unlock(&desk->lock);
	return err->set ? -1 : 0;
}

static void leave(struct gp_desk *desk)
{
	pthread_mutex_lock(&desk->lock);
	desk->sessions--;
	pthread_cond_broadcast(&desk->left);
	pthread_mutex_unlock(&desk->lock);
}

static int serve_requests(struct server *server, struct gp_error *err)
{
	int rc = 1;

	gp_options_default(&gp_bw_table, &server->opt);
	while (rc > 0)
		rc = server->round_open ? serve_round(server, err) : serve_request(server, err);
	for (int i = 0; i < PATHS_MAX; i++)
		close_rig(server, &server->rig[i]);
	gp_rdma_close(&server->rdma);
	gp_host_close(&server->host);
	return rc;
}

int gp_session_serve(int fd, struct gp_desk *desk, struct gp_error *err)
{
	struct gp_wire_self self = {.server = true, .version = gp_version, .key = desk->key};
	struct server *server;
	struct gp_error ignored = {0};
	struct gp_wire_peer peer;
	int rc;

	if (gp_wire_hello(fd, &self, gp_deadline(desk->timeout_s), &peer, err) < 0)
		return -1;
	if (come_in(desk, peer.ticket, err) < 0) {
		gp_wire_send_error(fd, err, gp_deadline(desk->timeout_s), &ignored);
		return -1;
	}
	server = calloc(1, sizeof(*server)); /* too large for a thread's stack */
	if (server) {
		server->fd = fd;
		server->desk = desk;
		rc = serve_requests(server, err);
		free(server);
	} else {
		rc = gp_error_set(err, GP_EXIT_FAILED, "out of memory for a session");
	}
	leave(desk);
	return rc;
}
