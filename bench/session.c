/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session: the client's half; see session.h. Requests are objects with a member "do"; every one is
 * answered, with what was asked for or with an "error" object, which has the request's "id" in
 * "re":
 *
 *   start      the options, and which rail of ours this is; answers with the server's host, its
 *              devices chosen
 *   open       a path: where our memory is, our QPs; answers with the server's
 *   connected  our QPs are up; answers when the server's are
 *   round      prepare one; answers when the server is ready for the first byte
 *   end        the round is over, this was moved; answers with the server's count and check
 *   close      a path
 *
 * A client leaves by closing the channel between two requests.
 */
#include "session.h"
#include "place.h"
#include "side.h"
#include "stop.h"
#include "units.h"
#include "version.h"
#include "wire.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Twice the time-out: the server then has the time to find out first, and to say what it was. */
static uint64_t call_deadline(const struct gp_session *session)
{
	return gp_deadline(2 * gp_side_patience_s(session->end.opt));
}

static int call(struct gp_session *session, json_t *request, json_t **answer, struct gp_error *err)
{
	json_object_set_new(request, "id", json_integer(++session->asked));
	return gp_wire_call(session->fd, request, "server", call_deadline(session), answer, err);
}

static enum gp_connect_way choose_way(const struct gp_session *session, bool server_has_address)
{
	switch (session->end.opt->connect) {
	case GP_CONNECT_BY_CM:
		return GP_CONNECT_CM;
	case GP_CONNECT_BY_TCP:
		return GP_CONNECT_TCP;
	}
	return session->rdma.nic.address[0] && server_has_address ? GP_CONNECT_CM : GP_CONNECT_TCP;
}

static int start(struct gp_session *session, const struct gp_nic *nic, int rail,
		 struct gp_error *err)
{
	json_t *options = gp_options_to_json(&gp_bw_table, session->end.opt, GP_OPT_WIRE);
	json_t *answer, *host;

	if (call(session,
		 json_pack("{s:s s:o s:i}", "do", "start", "options", options, "rail", rail),
		 &answer, err) < 0)
		return -1;
	host = json_object_get(answer, "host");
	if (!json_is_object(host)) {
		json_decref(answer);
		return gp_error_set(err, GP_EXIT_FAILED, "the server did not describe itself");
	}
	session->server = json_incref(host);
	session->server_has_gpu = json_is_object(json_object_get(host, "gpu"));
	session->server_rails = (int)json_integer_value(json_object_get(answer, "rails"));
	session->rdma.nic = *nic;
	session->way = choose_way(session, json_is_true(json_object_get(answer, "has_address")));
	json_decref(answer);
	return gp_rdma_open(nic, session->way == GP_CONNECT_CM, &session->rdma, err);
}

int gp_session_open(const char *host_name, const char *ticket, int rail,
		    const struct gp_bw_options *opt, const struct gp_host *host,
		    const struct gp_choice *choice, struct gp_session *session,
		    struct gp_error *err)
{
	struct gp_wire_self self = {.version = gp_version, .ticket = ticket};
	struct gp_wire_peer peer;
	struct gp_wire_key key;

	*session = (struct gp_session){
		.fd = -1,
		.end = {.side = GP_CLIENT,
			.opt = opt,
			.cuda = host->cuda,
			.gpu = choice->gpu,
			.no_gpu = choice->no_gpu},
	};
	session->end.rdma = &session->rdma;
	if (gp_host_node(host, choice, opt->cpu_node, &session->end.cpu_node, err) < 0 ||
	    gp_host_node(host, choice, opt->mem_node, &session->end.mem_node, err) < 0 ||
	    gp_place_thread(session->end.cpu_node, NULL, err) < 0)
		return -1;
	gp_error_side(&session->end.no_gpu, "client");
	if (getrandom(&session->nonce, sizeof(session->nonce), 0) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "getrandom failed");
	if (opt->psk_file[0]) {
		if (gp_wire_key_read(opt->psk_file, &key, err) < 0)
			return -1;
		self.key = &key;
	}
	if (gp_wire_connect(host_name, opt->port, opt->timeout_s, &session->fd, err) < 0)
		return -1;
	/* Twice: the server may keep us at its desk for as long as its own time-out. */
	if (gp_wire_hello(session->fd, &self, gp_deadline(2 * opt->timeout_s), &peer, err) == 0 &&
	    start(session, choice->nic, rail, err) == 0)
		return 0;
	if (!err->advice[0] && !err->side[0])
		gp_error_advise(err, "the server may be busy: it serves one client after another, "
				     "and --timeout waits longer");
	gp_session_close(session);
	return -1;
}

void gp_session_close(struct gp_session *session)
{
	gp_rdma_close(&session->rdma);
	if (session->fd >= 0)
		close(session->fd);
	session->fd = -1;
	json_decref(session->server);
	session->server = NULL;
}

/* Take the server's half of an open path: its memory, its facts, its QPs. */
static int join(struct gp_session *session, struct gp_rig *rig, const json_t *answer,
		struct gp_error *err)
{
	struct gp_facts theirs = {0};
	json_t *done;

	if (gp_rig_set_remote(rig, json_object_get(answer, "memory"), err) < 0)
		return -1;
	if (gp_facts_from_json(json_object_get(answer, "facts"), &theirs) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "the server's facts can't be read");
	gp_facts_append(&rig->facts, &theirs);
	if (gp_placed_from_json(json_object_get(answer, "place"), &session->server_placed) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "the server's placement can't be read");
	if (gp_connect_finish(rig->conn, json_object_get(answer, "connect"), session->fd, err) <
		    0 ||
	    rig->path->ready(rig, err) < 0)
		return -1;
	if (call(session, json_pack("{s:s}", "do", "connected"), &done, err) < 0)
		return -1;
	json_decref(done);
	return rig->path->tune(rig, err);
}

int gp_session_open_path(struct gp_session *session, const struct gp_path *path, struct gp_rig *rig,
			 struct gp_error *err)
{
	json_t *info, *answer = NULL;
	int rc;

	if (gp_rig_open(path, &session->end, rig, err) < 0) {
		gp_error_side(err, "client");
		return -1;
	}
	rc = gp_side_prepare_connection(rig, session->way, &info, err);
	if (rc == 0)
		rc = call(session,
			  json_pack("{s:s s:s s:s s:o s:o}", "do", "open", "path", path->name,
				    "way", gp_connect_name(session->way), "memory",
				    gp_rig_describe(rig), "connect", info),
			  &answer, err);
	if (rc == 0)
		rc = join(session, rig, answer, err);
	json_decref(answer);
	gp_error_side(err, "client");
	if (rc < 0)
		gp_session_close_path(session, rig);
	return rc;
}

void gp_session_close_path(struct gp_session *session, struct gp_rig *rig)
{
	struct gp_error ignored = {0};
	json_t *answer = NULL;

	if (!rig->path)
		return;
	if (session->fd >= 0 && !gp_wire_hung_up(session->fd))
		call(session, json_pack("{s:s s:s}", "do", "close", "path", rig->path->name),
		     &answer, &ignored);
	json_decref(answer);
	gp_rig_close(rig);
}

static int64_t counter_from_json(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void read_server_end(const json_t *answer, struct gp_outcome *outcome)
{
	const json_t *check = json_object_get(answer, "check");
	const json_t *counters = json_object_get(answer, "counters");
	struct gp_check *c = &outcome->check[GP_SERVER];

	c->checked_bytes = (uint64_t)json_integer_value(json_object_get(check, "checked"));
	c->wrong_bytes = (uint64_t)json_integer_value(json_object_get(check, "wrong"));
	c->first_wrong = (uint64_t)json_integer_value(json_object_get(check, "first"));
	outcome->counted[GP_SERVER] = (struct gp_counters){
		.sent_bytes = counter_from_json(counters, "sent_bytes"),
		.received_bytes = counter_from_json(counters, "received_bytes"),
		.sent_packets = counter_from_json(counters, "sent_packets"),
		.received_packets = counter_from_json(counters, "received_packets"),
	};
}

/* Sent by the loop when our part is through; the answer is read after it has returned. It has the
 * number of its round: should that fail on the server, the failure comes in place of the answer. */
static int tell_end(void *arg, const struct gp_moved *moved, struct gp_error *err)
{
	struct gp_session *session = arg;
	json_t *message = json_pack("{s:s s:I s:o}", "do", "end", "id", (json_int_t)session->asked,
				    "moved", gp_moved_to_json(moved));
	int rc = gp_wire_send(session->fd, message, call_deadline(session), err);

	json_decref(message);
	return rc;
}

static double rate(const struct gp_moved *moved)
{
	return moved->ns ? (double)moved->bytes / (double)moved->ns : 0;
}

/* A stage of both directions where the round was two-way. */
static double busy_share(const struct gp_moved *mine, const struct gp_moved *theirs,
			 enum gp_stage stage)
{
	uint64_t busy = mine->busy_ns[stage] + theirs->busy_ns[stage];
	uint64_t span = (mine->busy_ns[stage] ? mine->span_ns : 0) +
			(theirs->busy_ns[stage] ? theirs->span_ns : 0);

	return span ? (double)busy / (double)span : (double)NAN;
}

/* bytes per nanosecond are GB/s. Two-way: the sum of what each side saw itself move. */
static int sum_up(const struct gp_task *task, const struct gp_moved *mine,
		  const struct gp_moved *theirs, struct gp_outcome *outcome, struct gp_error *err)
{
	outcome->bytes = mine->bytes;
	outcome->messages = mine->messages;
	outcome->seconds = (double)mine->ns / 1e9;
	outcome->gbytes_per_s = rate(mine);
	for (int i = 0; i < GP_STAGES; i++)
		outcome->busy[i] = busy_share(mine, theirs, (enum gp_stage)i);
	outcome->moved_bytes = mine->all_messages * task->round.size;
	outcome->port_bytes[GP_CLIENT] = outcome->port_bytes[GP_SERVER] = outcome->moved_bytes;
	if (task->round.two_way) {
		outcome->bytes += theirs->bytes;
		outcome->messages += theirs->messages;
		outcome->gbytes_per_s += rate(theirs);
	}
	if (mine->messages == 0) {
		gp_error_set(err, GP_EXIT_FAILED,
			     "no message of %llu bytes was through when the round of %.2f s ended",
			     (unsigned long long)task->round.size,
			     (double)task->round.duration_ns / 1e9);
		gp_error_advise(err, "give a longer --duration or a smaller --size");
		return -1;
	}
	return 0;
}

static int run_and_check(struct gp_session *session, struct gp_task *task,
			 struct gp_outcome *outcome, struct gp_error *err)
{
	struct gp_moved mine = {0}, theirs = {0};
	json_t *answer = NULL;
	int rc;

	if (task->rig->path->run(task->rig, &task->round, &mine, err) < 0)
		return -1;
	outcome->start_ns = mine.start_ns;
	if (gp_wire_answer(session->fd, session->asked, "server", call_deadline(session), &answer,
			   err) < 0)
		return -1;
	rc = gp_moved_from_json(json_object_get(answer, "moved"), &theirs, err);
	read_server_end(answer, outcome);
	json_decref(answer);
	if (rc < 0)
		return -1;
	gp_task_count(task, &outcome->counted[GP_CLIENT]);
	if (gp_task_check(task, gp_task_mover_is_peer(task) ? &theirs : &mine,
			  &outcome->check[GP_CLIENT], err) < 0)
		return -1;
	return sum_up(task, &mine, &theirs, outcome, err);
}

void gp_start_init(struct gp_start *start, int n)
{
	*start = (struct gp_start){.awaited = n};
	pthread_mutex_init(&start->lock, NULL);
	pthread_cond_init(&start->all_here, NULL);
}

void gp_start_destroy(struct gp_start *start)
{
	pthread_mutex_destroy(&start->lock);
	pthread_cond_destroy(&start->all_here);
}

/* Long enough for every thread to be awake and its queues full. */
#define LEAD_NS (GP_NS_PER_S / 200)

static void arrive(struct gp_start *start)
{
	if (--start->awaited > 0)
		return;
	start->open_ns = gp_now_ns() + LEAD_NS;
	pthread_cond_broadcast(&start->all_here);
}

uint64_t gp_start_come(struct gp_start *start)
{
	pthread_mutex_lock(&start->lock);
	arrive(start);
	while (start->awaited > 0)
		pthread_cond_wait(&start->all_here, &start->lock);
	pthread_mutex_unlock(&start->lock);
	return start->open_ns;
}

void gp_start_pass(struct gp_start *start)
{
	pthread_mutex_lock(&start->lock);
	arrive(start);
	pthread_mutex_unlock(&start->lock);
}

int gp_session_round(struct gp_session *session, struct gp_rig *rig, const struct gp_op *op,
		     uint64_t size, uint32_t number, struct gp_outcome *outcome,
		     struct gp_error *err)
{
	const struct gp_bw_options *opt = session->end.opt;
	struct gp_task task = {
		.rig = rig,
		.round = {.op = op,
			  .size = size,
			  .duration_ns = opt->iters ? 0 : (uint64_t)(opt->duration_s * 1e9),
			  .messages = (uint64_t)opt->iters,
			  .number = number,
			  .initiator = true,
			  .two_way = opt->bidirectional,
			  .timeout_s = opt->timeout_s,
			  .control_fd = session->fd,
			  .ended = tell_end,
			  .ended_arg = session},
		.seed = (session->nonce + number) & INT64_MAX,
	};
	uint64_t began_ns;
	json_t *answer;
	int rc;

	*outcome = (struct gp_outcome){0};
	began_ns = gp_now_ns();
	rc = gp_task_prepare(&task, err);
	if (rc == 0)
		rc = call(session,
			  json_pack("{s:s s:s s:s s:I s:I s:I s:o}", "do", "round", "path",
				    rig->path->name, "op", op->name, "size", (json_int_t)size,
				    "number", (json_int_t)number, "seed", (json_int_t)task.seed,
				    "tuning", gp_rig_tuning(rig)),
			  &answer, err);
	if (rc == 0)
		json_decref(answer);
	if (session->start && rc < 0)
		gp_start_pass(session->start);
	else if (session->start)
		task.round.open_ns = gp_start_come(session->start);
	if (rc == 0)
		rc = run_and_check(session, &task, outcome, err);
	outcome->before_s = ((double)outcome->start_ns - (double)began_ns) / 1e9;
	outcome->after_s =
		((double)gp_now_ns() - (double)outcome->start_ns) / 1e9 - outcome->seconds;
	gp_error_side(err, "client");
	return rc;
}
