/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop: see loop.h. The hot part is one always_inline body, made into named instances whose
 * constants fold its branches. A lane is one QP and its walk. Its work requests are prepared once:
 * all of the walk's where they are few, so that posting a batch touches none of them; else those
 * of one batch, whose addresses move on after each post. A window of tx_depth messages slides and
 * is never drained; the clock is read when completions have arrived.
 */
#include "loop.h"
#include "stop.h"
#include "units.h"
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

const struct gp_op gp_ops[] = {
	{"write", IBV_WR_RDMA_WRITE, true},
	{"read", IBV_WR_RDMA_READ, false},
	{0},
};

struct gp_walk gp_walk_plan(uint64_t bytes, uint64_t size, int lanes, int batch)
{
	uint64_t stride = size < 64 ? 64 : gp_align_up(size, 64);
	uint64_t slots = bytes / stride / (uint64_t)lanes;

	return (struct gp_walk){.lanes = lanes,
				.size = size,
				.stride = stride,
				.slots = slots - slots % (uint64_t)batch};
}

uint64_t gp_walk_begin(const struct gp_walk *walk, int lane)
{
	return (uint64_t)lane * walk->slots * walk->stride;
}

/* A peer that is gone is looked for after this long without a completion. */
#define QUIET_NS (GP_NS_PER_S / 10)

/* In the middle of a round the peer has either left, or says why it can't go on. */
static void read_cause(int control_fd, struct gp_error *err)
{
	struct gp_error ignored = {0};
	json_t *message = NULL;

	if (!gp_wire_hung_up(control_fd) &&
	    gp_wire_receive(control_fd, gp_deadline(1), &message, &ignored) == 0 &&
	    gp_error_from_json(json_object_get(message, "error"), err) == 0) {
		json_decref(message);
		return;
	}
	json_decref(message);
	gp_error_set(err, GP_EXIT_FAILED, "the peer went away in the middle of a round");
	gp_error_advise(err, "it ended or was killed: look at its last lines there");
}

enum gp_look gp_round_look(const struct gp_round *round, uint64_t idle_since_ns,
			   struct gp_error *err)
{
	uint64_t idle_ns = gp_now_ns() - idle_since_ns;

	if (gp_stop_requested()) {
		gp_error_set(err, GP_EXIT_FAILED, "interrupted");
		return GP_LOOK_FAIL;
	}
	if (round->until_message && gp_wire_readable(round->control_fd))
		return GP_LOOK_END;
	if (idle_ns > QUIET_NS && round->control_fd >= 0 && gp_wire_readable(round->control_fd)) {
		read_cause(round->control_fd, err);
		return GP_LOOK_FAIL;
	}
	/* A passive side gives the other, which knows more, the time to say it first. */
	if ((double)idle_ns > round->timeout_s * (round->until_message ? 2e9 : 1e9)) {
		gp_error_set(err, GP_EXIT_FAILED, "RDMA %s of %llu bytes: no progress for %.1f s",
			     round->op->name, (unsigned long long)round->size,
			     (double)idle_ns / 1e9);
		gp_error_advise(err, "the peer or the link is stuck; --timeout sets the limit");
		return GP_LOOK_FAIL;
	}
	return GP_LOOK_GO_ON;
}

int gp_round_wc_error(const struct gp_round *round, const struct ibv_wc *wc, struct gp_error *err)
{
	struct gp_error waited = {0};

	/* The NIC may tell of a dead peer before the control channel does: give that a moment. */
	if (round->control_fd >= 0 && wc->status != IBV_WC_LOC_PROT_ERR) {
		gp_wait_fd(round->control_fd, POLLIN | POLLRDHUP, gp_deadline(0.5), "cause",
			   &waited);
		if (gp_wire_readable(round->control_fd)) {
			read_cause(round->control_fd, err);
			return -1;
		}
	}
	return gp_error_code(err, GP_EXIT_FAILED, GP_SPACE_WC, (int)wc->status,
			     ibv_wc_status_str(wc->status), "ibv_poll_cq",
			     "RDMA %s of %llu bytes on QP 0x%x, vendor error 0x%x", round->op->name,
			     (unsigned long long)round->size, wc->qp_num, wc->vendor_err);
}

struct lane {
	struct ibv_qp *qp;
	/* Whole batches, chained post_list at a time. What a driver reads of a write or a read is
	 * in a WR's first cache line; its sge lies apart, so that the line is all it loads. */
	struct ibv_send_wr *wr, *next, *end;
	struct ibv_sge *sge;
	uint64_t
		slots_left; /* until the walk starts over; not kept where it has all its requests */
	uint64_t posted;
	int64_t room; /* messages that the window has place for */
};

struct loop {
	const struct gp_direct *d;
	const struct gp_round *round;
	struct lane *lanes;
	bool whole_walk; /* every slot of every lane has its own request */
	int64_t posted;	 /* when the window was filled */
	uint64_t completed;
	uint64_t start_ns, before; /* when the window opened, and how many were through by then */
};

/* All lanes' requests together stay in a core's second-level cache. */
#define REQUESTS_MAX 4096

static void lane_prepare(struct lane *lane, uint64_t offset, const struct gp_direct *d,
			 const struct gp_op *op)
{
	int n = (int)(lane->end - lane->wr);

	for (int i = 0; i < n; i++) {
		bool last = (i + 1) % d->post_list == 0;

		lane->sge[i] = (struct ibv_sge){.addr = d->local_addr + offset,
						.length = (uint32_t)d->walk.size,
						.lkey = d->lkey};
		lane->wr[i] = (struct ibv_send_wr){
			.wr_id = (uintptr_t)lane,
			.next = last ? NULL : &lane->wr[i + 1],
			.sg_list = &lane->sge[i],
			.num_sge = 1,
			.opcode = op->opcode,
			.send_flags = (i + 1) % d->cq_mod == 0 ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = {d->remote_addr + offset, d->rkey},
		};
		offset += d->walk.stride;
	}
}

static void loop_free(struct loop *loop)
{
	for (int i = 0; loop->lanes && i < loop->d->walk.lanes; i++) {
		free(loop->lanes[i].wr);
		free(loop->lanes[i].sge);
	}
	free(loop->lanes);
	loop->lanes = NULL;
}

static int loop_prepare(struct loop *loop, struct gp_error *err)
{
	const struct gp_direct *d = loop->d;
	const struct gp_walk *walk = &d->walk;
	uint64_t requests;

	loop->whole_walk = walk->slots <= REQUESTS_MAX / (uint64_t)walk->lanes;
	requests = loop->whole_walk ? walk->slots : (uint64_t)d->batch;
	loop->lanes = calloc((size_t)walk->lanes, sizeof(*loop->lanes));
	for (int i = 0; loop->lanes && i < walk->lanes; i++) {
		struct lane *lane = &loop->lanes[i];

		lane->qp = d->qp[i];
		lane->wr = lane->next = aligned_alloc(64, requests * sizeof(*lane->wr));
		lane->sge = calloc(requests, sizeof(*lane->sge));
		if (!lane->wr || !lane->sge)
			return gp_error_set(err, GP_EXIT_FAILED, "out of memory for requests");
		lane->end = lane->wr + requests;
		lane->slots_left = walk->slots;
		lane->room = d->tx_depth;
		lane_prepare(lane, gp_walk_begin(walk, i), d, loop->round->op);
	}
	if (!loop->lanes)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for requests");
	return 0;
}

#define MOVED_AT_ONCE 4

/* The only batch has been posted: its requests become those of the slots behind it. */
static inline __attribute__((always_inline)) void lane_move(struct lane *lane,
							    const struct gp_direct *d)
{
	uint64_t step = (uint64_t)d->batch * d->walk.stride;
	struct ibv_send_wr *wr = lane->wr, *end = lane->end;
	struct ibv_sge *sge = lane->sge;

	lane->slots_left -= (uint64_t)d->batch;
	if (lane->slots_left == 0) {
		lane->slots_left = d->walk.slots;
		step -= d->walk.slots * d->walk.stride;
	}
	for (; end - wr >= MOVED_AT_ONCE; wr += MOVED_AT_ONCE, sge += MOVED_AT_ONCE)
#pragma GCC unroll 4
		for (int i = 0; i < MOVED_AT_ONCE; i++) {
			sge[i].addr += step;
			wr[i].wr.rdma.remote_addr += step;
		}
	for (; wr < end; wr++, sge++) {
		sge->addr += step;
		wr->wr.rdma.remote_addr += step;
	}
}

/* The chains of a batch behind its first: where a signal takes several. */
static __attribute__((noinline)) int lane_post_rest(struct lane *lane, struct ibv_send_wr *wr,
						    const struct gp_direct *d)
{
	struct ibv_send_wr *bad;
	int code = 0;

	for (int i = d->post_list; i < d->batch && code == 0; i += d->post_list)
		code = ibv_post_send(lane->qp, &wr[i], &bad);
	return code;
}

/* Post the next batch. `whole_walk` is a constant at each call. Returns 0 or an errno value. */
static inline __attribute__((always_inline)) int lane_post(struct lane *lane, const bool whole_walk,
							   const int64_t batch,
							   const struct gp_direct *d)
{
	struct ibv_send_wr *wr = lane->next, *next = wr + batch, *bad;
	int code;

	lane->room -= batch;
	lane->posted += (uint64_t)batch;
	if (whole_walk)
		lane->next = next == lane->end ? lane->wr : next;
	code = ibv_post_send(lane->qp, wr, &bad);
	if (__builtin_expect(d->post_list < batch && code == 0, 0))
		code = lane_post_rest(lane, wr, d);
	if (!whole_walk)
		lane_move(lane, d);
	return code;
}

static int post_failed(const struct loop *loop, int code, struct gp_error *err)
{
	return gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_post_send",
			      "RDMA %s of %llu bytes, tx-depth %d", loop->round->op->name,
			      (unsigned long long)loop->round->size, loop->d->tx_depth);
}

#define POLL_BATCH 16
/* The idle branch looks at the clock once in so many empty polls. */
#define IDLE_POLLS 1024

/* A passive side has no end of its own: it looks for the message that ends it this often. */
#define LOOK_NS (GP_NS_PER_S / 500)

/* The deadline has come: it is the round's end, or only time to open the window, or to look. `more`
 * are through that are not counted yet. -1: failed. */
static __attribute__((noinline)) int loop_deadline(struct loop *loop, uint64_t now, uint64_t more,
						   uint64_t *deadline_ns, struct gp_error *err)
{
	enum gp_look look;

	if (loop->start_ns < loop->round->open_ns) {
		loop->start_ns = now;
		loop->before = loop->completed + more;
		*deadline_ns = now + loop->round->duration_ns;
		return 0;
	}
	if (!loop->round->until_message)
		return 0;
	look = gp_round_look(loop->round, now, err);
	if (look == GP_LOOK_GO_ON)
		*deadline_ns = now + LOOK_NS;
	return look == GP_LOOK_FAIL ? -1 : 0;
}

static uint64_t loop_first_deadline(const struct loop *loop)
{
	const struct gp_round *round = loop->round;

	if (loop->start_ns < round->open_ns)
		return round->open_ns;
	return loop->start_ns + (round->until_message ? LOOK_NS : round->duration_ns);
}

/* Breadth first, so that every QP has work at once; no more than a round by messages wants. */
static int loop_fill(struct loop *loop, struct gp_error *err)
{
	const struct gp_direct *d = loop->d;
	int64_t target = loop->round->messages ? (int64_t)loop->round->messages : INT64_MAX;

	for (int depth = d->batch; depth <= d->tx_depth; depth += d->batch)
		for (int i = 0; i < d->walk.lanes && loop->posted < target; i++) {
			struct lane *lane = &loop->lanes[i];
			int code = lane_post(lane, loop->whole_walk, d->batch, d);

			if (code)
				return post_failed(loop, code, err);
			loop->posted += d->batch;
		}
	return 0;
}

/*
 * Complete and post until the round is over. `by_time` and `whole_walk` are constants at each
 * call: the other kinds of ending and of posting are not in the code. Sets *end_ns to when the last
 * completion that counts came, and loop->completed to how many messages there were until then.
 */
static inline __attribute__((always_inline)) int loop_body(struct loop *loop, const bool by_time,
							   const bool whole_walk, uint64_t *end_ns,
							   struct gp_error *err)
{
	const struct gp_direct *d = loop->d;
	const int64_t batch = d->batch, cq_mod = d->cq_mod;
	const uint64_t target = loop->round->messages;
	int64_t to_post = (int64_t)target - loop->posted; /* by messages */
	uint64_t deadline_ns = loop_first_deadline(loop);
	struct ibv_wc wcs[POLL_BATCH];
	uint64_t now = loop->start_ns;
	unsigned idle = 0;

	for (;;) {
		int n = ibv_poll_cq(d->cq, POLL_BATCH, wcs);

		if (__builtin_expect(n < 0, 0))
			return gp_error_errno(err, GP_EXIT_FAILED, -n, "ibv_poll_cq", " ");
		if (n == 0) {
			if (__builtin_expect(++idle % IDLE_POLLS != 0, 1))
				continue;
			switch (gp_round_look(loop->round, now, err)) {
			case GP_LOOK_FAIL:
				return -1;
			case GP_LOOK_END:
				*end_ns = now;
				return 0;
			case GP_LOOK_GO_ON:
				continue;
			}
		}
		now = gp_now_ns();
		if (by_time && __builtin_expect(now >= deadline_ns, 0) &&
		    loop_deadline(loop, now, (uint64_t)(n * cq_mod), &deadline_ns, err) < 0)
			return -1;
		for (const struct ibv_wc *wc = wcs, *end = wcs + n; wc < end; wc++) {
			struct lane *lane = (struct lane *)(uintptr_t)wc->wr_id;
			int code;

			if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0))
				return gp_round_wc_error(loop->round, wc, err);
			lane->room += cq_mod;
			if (lane->room < batch || (by_time ? now >= deadline_ns : to_post <= 0))
				continue;
			to_post -= batch;
			code = lane_post(lane, whole_walk, batch, d);
			if (__builtin_expect(code != 0, 0))
				return post_failed(loop, code, err);
		}
		loop->completed += (uint64_t)(n * cq_mod);
		*end_ns = now;
		if (by_time ? now >= deadline_ns : loop->completed >= target)
			return 0;
	}
}

/* Named, so that a profile tells which one ran. */
#define LOOP_INSTANCE(name, by_time, whole_walk)                                       \
	static __attribute__((noinline)) int name(struct loop *loop, uint64_t *end_ns, \
						  struct gp_error *err)                \
	{                                                                              \
		return loop_body(loop, by_time, whole_walk, end_ns, err);              \
	}

LOOP_INSTANCE(loop_time_walk, true, true)
LOOP_INSTANCE(loop_time_move, true, false)
LOOP_INSTANCE(loop_messages_walk, false, true)
LOOP_INSTANCE(loop_messages_move, false, false)

static int loop_run(struct loop *loop, uint64_t *end_ns, struct gp_error *err)
{
	if (loop->round->messages)
		return loop->whole_walk ? loop_messages_walk(loop, end_ns, err)
					: loop_messages_move(loop, end_ns, err);
	return loop->whole_walk ? loop_time_walk(loop, end_ns, err)
				: loop_time_move(loop, end_ns, err);
}

/* Take in what was in flight when the window closed; it is not part of the figure. */
static int loop_drain(struct loop *loop, struct gp_error *err)
{
	struct gp_round round = *loop->round;
	uint64_t last_ns = gp_now_ns();
	struct ibv_wc wc;
	int left = 0;
	unsigned idle = 0;

	round.until_message = false;
	for (int i = 0; i < loop->d->walk.lanes; i++)
		left += loop->d->tx_depth - (int)loop->lanes[i].room;
	while (left > 0) {
		int n = ibv_poll_cq(loop->d->cq, 1, &wc);

		if (n < 0)
			return gp_error_errno(err, GP_EXIT_FAILED, -n, "ibv_poll_cq", " ");
		if (n == 0) {
			if (++idle % IDLE_POLLS == 0 &&
			    gp_round_look(&round, last_ns, err) == GP_LOOK_FAIL)
				return -1;
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS)
			return gp_round_wc_error(&round, &wc, err);
		last_ns = gp_now_ns();
		left -= loop->d->cq_mod;
	}
	return 0;
}

int gp_loop_run(const struct gp_direct *direct, const struct gp_round *round,
		struct gp_moved *moved, struct gp_error *err)
{
	struct loop loop = {.d = direct, .round = round};
	uint64_t end_ns = 0;
	int rc = loop_prepare(&loop, err);

	if (rc == 0) {
		loop.start_ns = end_ns = gp_now_ns();
		rc = loop_fill(&loop, err);
		if (rc == 0)
			rc = loop_run(&loop, &end_ns, err);
	}
	if (rc == 0)
		rc = loop_drain(&loop, err);
	if (rc == 0) {
		*moved = (struct gp_moved){.messages = loop.completed - loop.before,
					   .bytes = (loop.completed - loop.before) *
						    direct->walk.size,
					   .ns = end_ns - loop.start_ns,
					   .start_ns = loop.start_ns,
					   .lanes = direct->walk.lanes};
		for (int i = 0; i < direct->walk.lanes; i++) {
			moved->lane_messages[i] = loop.lanes[i].posted;
			moved->all_messages += loop.lanes[i].posted;
		}
	}
	loop_free(&loop);
	if (rc == 0 && round->ended)
		rc = round->ended(round->ended_arg, moved, err);
	return rc;
}
