/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * staged: see staged.h.
 *
 * A round has an outgoing pipe on the side where data starts and an incoming one where it ends
 * (two-way: both on both). Chunk k uses slot k % SLOTS on each side and QP k % qps. Notes between
 * the sides are zero-byte writes with an immediate of kind, round and chunk number:
 *
 *   write: source copies k to its slot, writes it into the sink's slot with DATA k; the sink copies
 *          it on and answers FREE k once the copy is done.
 *   read:  source copies k to its slot, says READY k; the sink reads it, answers FREE k as soon as
 *          the read is done, and copies it on.
 *
 * So a slot is never overwritten before its last reader is through, and FREE (write) or the sink's
 * own copy (read) tells the initiator that chunk k is in the destination GPU. The round number in
 * every immediate keeps what arrives late out of the next round.
 */
#include "staged.h"
#include "place.h"
#include "stop.h"
#include "units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS	       8
#define CHUNK_BYTES    GP_MIB	      /* large enough for a copy engine to reach its rate */
#define CHUNK_MIN      (256 * GP_KIB) /* messages below this share a chunk */
#define CHUNK_MESSAGES 512	      /* what one QP can take of them */

enum note { NOTE_DATA, NOTE_READY, NOTE_FREE };
enum work { WORK_DATA, WORK_READ, WORK_NOTE };

enum pipe_kind { PIPE_OUT, PIPE_IN };

struct slot {
	void *host;	      /* staging, or NULL: the NIC uses the region itself */
	void *event;	      /* of the copy in progress */
	bool copying, copied; /* out: GPU -> host; in: host -> GPU */
	bool sending;	      /* out, write: our NIC is still reading the slot */
	bool landed;	      /* in: the bytes are in the slot */
};

struct gp_staging {
	void *host; /* both pipes' slots, pinned and registered; NULL without a GPU */
	uint64_t host_bytes, slot_bytes;
	void *stream[2]; /* by pipe_kind */
	struct slot slot[2][SLOTS];
};

/* One direction on one side during a round. All counters are chunk numbers, in order. */
struct pipe {
	enum pipe_kind kind;
	bool used;
	bool initiator;	  /* this side decides when it ends, and counts */
	uint64_t started; /* next to copy out / next to read */
	uint64_t passed;  /* next to send or announce / next whose copy to the GPU is to start */
	uint64_t done;	  /* next that the peer has not freed / next not yet in the GPU */
	uint64_t limit;	  /* no chunk from this on is started */
	/* Whose note has come, by chunk: the source may be a whole set of slots ahead. */
	bool noted[2 * SLOTS];
};

struct staged {
	struct gp_rig *rig;
	struct gp_staging *st;
	const struct gp_round *round;
	struct gp_chunking cut;
	struct pipe pipe[2];
	int in_flight; /* signalled requests without a completion */
	uint64_t last_progress_ns;
};

struct gp_chunking gp_chunking_plan(uint64_t region_bytes, uint64_t size)
{
	struct gp_chunking c = {.size = size, .stride = gp_bw_stride(size), .per_message = 1};

	c.messages = 1;
	if (size > CHUNK_BYTES) {
		c.chunk_bytes = CHUNK_BYTES;
		c.per_message = (size + CHUNK_BYTES - 1) / CHUNK_BYTES;
	} else {
		while (c.messages * 2 * c.stride <= CHUNK_MIN && c.messages * 2 <= CHUNK_MESSAGES)
			c.messages *= 2;
		c.chunk_bytes = c.messages * c.stride;
	}
	c.walk_chunks = region_bytes / (c.messages * c.stride) * c.per_message;
	return c;
}

uint64_t gp_chunk_offset(const struct gp_chunking *c, uint64_t k)
{
	uint64_t in_walk = k % c->walk_chunks;

	return in_walk / c->per_message * c->messages * c->stride +
	       in_walk % c->per_message * c->chunk_bytes;
}

uint64_t gp_chunk_bytes(const struct gp_chunking *c, uint64_t k)
{
	uint64_t before = k % c->per_message * c->chunk_bytes;

	if (c->per_message == 1)
		return (c->messages - 1) * c->stride + c->size;
	return c->size - before < c->chunk_bytes ? c->size - before : c->chunk_bytes;
}

void gp_staged_queues(const struct gp_bw_options *opt, int *send_wr, int *recv_wr)
{
	uint64_t most = 1;

	for (int i = 0; i < opt->size.n; i++) {
		uint64_t messages = gp_chunking_plan(UINT64_MAX, opt->size.bytes[i]).messages;

		most = messages > most ? messages : most;
	}
	*send_wr = (int)most * SLOTS + 4 * SLOTS;
	*recv_wr = 4 * SLOTS;
}

static uint64_t largest_chunk(const struct gp_bw_options *opt)
{
	uint64_t most = 0;

	for (int i = 0; i < opt->size.n; i++) {
		uint64_t bytes = gp_chunking_plan(UINT64_MAX, opt->size.bytes[i]).chunk_bytes;

		most = bytes > most ? bytes : most;
	}
	return gp_align_up(most, 4096);
}

struct gp_walk gp_staged_walk(const struct gp_rig *rig, uint64_t size)
{
	struct gp_chunking cut = gp_chunking_plan(rig->half_bytes, size);

	return (struct gp_walk){.lanes = 1,
				.size = size,
				.stride = cut.stride,
				.slots = cut.walk_chunks / cut.per_message * cut.messages};
}

/* ---- the slots ---- */

static int open_slots(struct gp_staging *st, struct gp_rig *rig, struct gp_error *err)
{
	struct gp_cuda *cuda = rig->end->cuda;
	void *host;

	st->slot_bytes = largest_chunk(rig->end->opt);
	st->host_bytes = 2 * SLOTS * st->slot_bytes;
	/* Every page is on its node before the pin, which would hold it wherever it is. */
	if (gp_place_alloc(st->host_bytes, rig->end->mem_node, &host, err) < 0)
		return -1;
	if (gp_cuda_pin(cuda, host, st->host_bytes, err) < 0) {
		gp_place_free(host, st->host_bytes);
		return -1;
	}
	st->host = host;
	for (int kind = 0; kind < 2; kind++) {
		if (gp_cuda_stream_create(cuda, &st->stream[kind], err) < 0)
			return -1;
		for (int i = 0; i < SLOTS; i++) {
			struct slot *slot = &st->slot[kind][i];

			slot->host = (char *)host + (uint64_t)(kind * SLOTS + i) * st->slot_bytes;
			if (gp_cuda_event_create(cuda, &slot->event, err) < 0)
				return -1;
		}
	}
	return 0;
}

int gp_staging_open(struct gp_rig *rig, struct gp_error *err)
{
	unsigned access = gp_rdma_access(rig->end->opt->relaxed_ordering == GP_ON);
	void *addr = rig->region.addr;
	uint64_t bytes = rig->region.bytes;

	rig->staging = calloc(1, sizeof(*rig->staging));
	if (!rig->staging)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for bounce slots");
	if (gp_rig_on_gpu(rig)) {
		if (open_slots(rig->staging, rig, err) < 0)
			return -1;
		addr = rig->staging->host;
		bytes = rig->staging->host_bytes;
	}
	if (gp_rdma_register(rig->end->rdma, addr, bytes, access, "host memory", &rig->mr, err) < 0)
		return -1;
	rig->mr_addr = (uintptr_t)addr;
	gp_fact_add(&rig->facts, "registration", rig->end->side, "ibv_reg_mr", GP_SUPPORT_YES,
		    "%" PRIu64 " bytes of %s, rkey 0x%x", bytes,
		    rig->staging->host ? "pinned host memory beside the GPU's" : "host memory",
		    rig->mr->rkey);
	return 0;
}

void gp_staging_close(struct gp_rig *rig)
{
	struct gp_staging *st = rig->staging;
	struct gp_cuda *cuda = rig->end->cuda;
	bool hung = false;

	if (!st)
		return;
	for (int kind = 0; kind < 2; kind++) {
		hung = gp_cuda_stream_destroy(cuda, st->stream[kind]) < 0 || hung;
		for (int i = 0; i < SLOTS && !hung; i++)
			gp_cuda_event_destroy(cuda, st->slot[kind][i].event);
	}
	gp_rdma_deregister(rig->mr);
	rig->mr = NULL;
	rig->staging = NULL;
	if (hung) {
		/* A copy that never ends still has the slots and the region: leave them to it. */
		rig->region = (struct gp_region){0};
		return;
	}
	if (st->host) {
		gp_cuda_unpin(cuda, st->host);
		gp_place_free(st->host, st->host_bytes);
	}
	free(st);
}

/* ---- talking to the peer ---- */

/* kind: 2 bits, round: 6 bits, chunk: 24 bits. */
#define IMM_CHUNK_MASK UINT32_C(0xffffff)

static uint32_t imm_make(const struct staged *s, enum note note, uint64_t k)
{
	return htonl(((uint32_t)note << 30) | ((s->round->number & 63) << 24) |
		     ((uint32_t)k & IMM_CHUNK_MASK));
}

/* The chunk number at or after `base` that has these 24 bits. */
static uint64_t imm_chunk(uint32_t imm, uint64_t base)
{
	return base + ((imm - (uint32_t)base) & IMM_CHUNK_MASK);
}

static uint64_t work_id(enum work work, enum pipe_kind kind, uint64_t k)
{
	return ((uint64_t)work << 56) | ((uint64_t)kind << 48) | (k & UINT64_C(0xffffffffffff));
}

static struct ibv_qp *chunk_qp(const struct staged *s, uint64_t k)
{
	return gp_connection_qp(s->rig->conn, (int)(k % (uint64_t)gp_connection_qps(s->rig->conn)));
}

static int post(struct staged *s, uint64_t k, struct ibv_send_wr *wr, const char *what,
		struct gp_error *err)
{
	struct ibv_send_wr *bad;
	int code = ibv_post_send(chunk_qp(s, k), wr, &bad);

	if (code)
		return gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_post_send", "bounce %s",
				      what);
	s->in_flight++;
	return 0;
}

static int post_note(struct staged *s, enum note note, uint64_t k, struct gp_error *err)
{
	struct ibv_send_wr wr = {.wr_id = work_id(WORK_NOTE, PIPE_OUT, k),
				 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = imm_make(s, note, k),
				 .wr.rdma = {s->rig->remote.addr, s->rig->remote.rkey}};

	return post(s, k, &wr, "note", err);
}

static int post_receive(struct ibv_qp *qp, struct gp_error *err)
{
	struct ibv_recv_wr wr = {.wr_id = (uintptr_t)qp}, *bad;
	int code = ibv_post_recv(qp, &wr, &bad);

	return code ? gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_post_recv", "bounce note") : 0;
}

int gp_staged_ready(struct gp_rig *rig, struct gp_error *err)
{
	int send_wr, recv_wr;

	gp_staged_queues(rig->end->opt, &send_wr, &recv_wr);
	for (int q = 0; q < gp_connection_qps(rig->conn); q++)
		for (int i = 0; i < recv_wr; i++)
			if (post_receive(gp_connection_qp(rig->conn, q), err) < 0)
				return -1;
	return 0;
}

/* Where chunk k of a pipe is for our NIC, and for the peer's. */
static uint64_t local_addr(const struct staged *s, enum pipe_kind kind, uint64_t k)
{
	const struct slot *slot = &s->st->slot[kind][k % SLOTS];
	uint64_t base = kind == PIPE_OUT ? gp_rig_source(s->rig) : gp_rig_sink(s->rig);

	if (slot->host)
		return (uintptr_t)slot->host;
	return (uintptr_t)s->rig->region.addr + base + gp_chunk_offset(&s->cut, k);
}

/* The peer's slots lie as ours do: its outgoing ones first. */
static uint64_t remote_addr(const struct staged *s, enum pipe_kind kind, uint64_t k)
{
	const struct gp_remote *remote = &s->rig->remote;
	uint64_t slot_bytes = largest_chunk(s->rig->end->opt);
	uint64_t base = kind == PIPE_OUT ? gp_rig_source(s->rig) : gp_rig_sink(s->rig);

	if (remote->staged)
		return remote->addr + ((uint64_t)kind * SLOTS + k % SLOTS) * slot_bytes;
	return remote->addr + base + gp_chunk_offset(&s->cut, k);
}

/* Post chunk k as wire messages of the message size; only the last is signalled. */
static int post_chunk(struct staged *s, enum pipe_kind kind, uint64_t k, struct gp_error *err)
{
	bool write = s->round->op->from_initiator;
	enum pipe_kind theirs = kind == PIPE_OUT ? PIPE_IN : PIPE_OUT;
	uint64_t wire_bytes = s->cut.per_message == 1 ? s->cut.size : gp_chunk_bytes(&s->cut, k);
	uint64_t local = local_addr(s, kind, k), remote = remote_addr(s, theirs, k);
	struct ibv_send_wr wr[CHUNK_MESSAGES];
	struct ibv_sge sge[CHUNK_MESSAGES];
	int n = (int)s->cut.messages;

	for (int i = 0; i < n; i++) {
		uint64_t offset = (uint64_t)i * s->cut.stride;

		sge[i] = (struct ibv_sge){local + offset, (uint32_t)wire_bytes, s->rig->mr->lkey};
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
			.wr.rdma = {remote + offset, s->rig->remote.rkey},
		};
	}
	wr[n - 1].send_flags = IBV_SEND_SIGNALED;
	wr[n - 1].wr_id = work_id(write ? WORK_DATA : WORK_READ, kind, k);
	if (write) {
		wr[n - 1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr[n - 1].imm_data = imm_make(s, NOTE_DATA, k);
	}
	return post(s, k, wr, write ? "write" : "read", err);
}

/* ---- copies ---- */

static int start_copy(struct staged *s, enum pipe_kind kind, uint64_t k, struct gp_error *err)
{
	struct slot *slot = &s->st->slot[kind][k % SLOTS];
	uint64_t bytes = gp_chunk_bytes(&s->cut, k);
	char *gpu = (char *)s->rig->region.addr + gp_chunk_offset(&s->cut, k);
	void *dst, *src;

	gpu += kind == PIPE_OUT ? gp_rig_source(s->rig) : gp_rig_sink(s->rig);
	dst = kind == PIPE_OUT ? slot->host : (void *)gpu;
	src = kind == PIPE_OUT ? (void *)gpu : slot->host;
	slot->copied = !slot->host; /* without a GPU there is nothing to copy */
	slot->copying = !slot->copied;
	if (slot->copied)
		return 0;
	return gp_cuda_copy_async(s->rig->end->cuda, dst, src, bytes, s->st->stream[kind],
				  slot->event, err);
}

/* 1 where the slot's copy is done, 0 where not yet. */
static int copy_done(struct staged *s, struct slot *slot, struct gp_error *err)
{
	int rc;

	if (!slot->copying)
		return slot->copied;
	rc = gp_cuda_event_query(s->rig->end->cuda, slot->event, err);
	if (rc > 0) {
		slot->copying = false;
		slot->copied = true;
	}
	return rc;
}

static bool *noted(struct pipe *p, uint64_t k)
{
	return &p->noted[k % (2 * SLOTS)];
}

/* ---- the pipes: each function moves one pipe as far as it goes; 1 progress, 0 none, -1 failed */

static int advance_out(struct staged *s, struct pipe *p, struct gp_error *err)
{
	bool write = s->round->op->from_initiator;
	int progress = 0, rc;

	while (p->started < p->limit && p->started - p->done < SLOTS) {
		struct slot *slot = &s->st->slot[PIPE_OUT][p->started % SLOTS];

		if (slot->sending)
			break;
		if (start_copy(s, PIPE_OUT, p->started, err) < 0)
			return -1;
		p->started++;
		progress = 1;
	}
	while (p->passed < p->started) {
		struct slot *slot = &s->st->slot[PIPE_OUT][p->passed % SLOTS];

		rc = copy_done(s, slot, err);
		if (rc <= 0)
			return rc < 0 ? -1 : progress;
		slot->sending = write;
		rc = write ? post_chunk(s, PIPE_OUT, p->passed, err)
			   : post_note(s, NOTE_READY, p->passed, err);
		if (rc < 0)
			return -1;
		p->passed++;
		progress = 1;
	}
	return progress;
}

/* The copy of chunk `done` is in the GPU: free what it held. With read the source's slot was
 * freed when our read had completed. */
static int finish_in(struct staged *s, struct pipe *p, struct slot *slot, struct gp_error *err)
{
	slot->landed = slot->copied = false;
	if (s->round->op->from_initiator && post_note(s, NOTE_FREE, p->done, err) < 0)
		return -1;
	p->done++;
	return 0;
}

static int advance_in(struct staged *s, struct pipe *p, struct gp_error *err)
{
	bool write = s->round->op->from_initiator;
	int progress = 0, rc;

	while (!write && p->started < p->limit && p->started - p->done < SLOTS) {
		if (!*noted(p, p->started))
			break;
		*noted(p, p->started) = false;
		if (post_chunk(s, PIPE_IN, p->started, err) < 0)
			return -1;
		p->started++;
		progress = 1;
	}
	while (p->passed - p->done < SLOTS && s->st->slot[PIPE_IN][p->passed % SLOTS].landed) {
		if (start_copy(s, PIPE_IN, p->passed, err) < 0)
			return -1;
		p->passed++;
		progress = 1;
	}
	while (p->done < p->passed) {
		struct slot *slot = &s->st->slot[PIPE_IN][p->done % SLOTS];

		rc = copy_done(s, slot, err);
		if (rc <= 0)
			return rc < 0 ? -1 : progress;
		if (finish_in(s, p, slot, err) < 0)
			return -1;
		progress = 1;
	}
	return progress;
}

/* ---- completions ---- */

static int take_note(struct staged *s, uint32_t imm, struct gp_error *err)
{
	struct pipe *in = &s->pipe[PIPE_IN], *out = &s->pipe[PIPE_OUT];
	uint64_t k;

	if (((imm >> 24) & 63) != (s->round->number & 63))
		return 0; /* from a round that is over */
	switch ((enum note)(imm >> 30)) {
	case NOTE_DATA:
	case NOTE_READY:
		k = imm_chunk(imm, in->done);
		if (!in->used || k - in->done >= 2 * SLOTS)
			break;
		if (imm >> 30 == NOTE_DATA)
			s->st->slot[PIPE_IN][k % SLOTS].landed = true;
		else
			*noted(in, k) = true;
		return 0;
	case NOTE_FREE:
		k = imm_chunk(imm, out->done);
		if (!out->used || k >= out->passed)
			break;
		/* FREE of a later chunk may overtake on another QP: only in order do they count. */
		*noted(out, k) = true;
		for (; out->done < out->passed && *noted(out, out->done); out->done++)
			*noted(out, out->done) = false;
		return 0;
	}
	return gp_error_set(err, GP_EXIT_FAILED, "the peer sent a bounce note out of order (0x%x)",
			    imm);
}

static int take_sent(struct staged *s, uint64_t id, struct gp_error *err)
{
	uint64_t k = id & UINT64_C(0xffffffffffff);
	struct slot *slot = &s->st->slot[(id >> 48) & 1][k % SLOTS];

	s->in_flight--;
	switch ((enum work)(id >> 56)) {
	case WORK_DATA:
		slot->sending = false;
		return 0;
	case WORK_READ:
		slot->landed = true;
		return post_note(s, NOTE_FREE, k, err);
	case WORK_NOTE:
		break;
	}
	return 0;
}

#define POLL_BATCH 16

/* 1 where something completed, 0 where not, -1 failed. */
static int take_completions(struct staged *s, struct gp_error *err)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = ibv_poll_cq(gp_connection_cq(s->rig->conn), POLL_BATCH, wc);

	if (n < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, -n, "ibv_poll_cq", "bounce");
	for (int i = 0; i < n; i++) {
		int rc;

		if (wc[i].status != IBV_WC_SUCCESS)
			return gp_round_wc_error(s->round, &wc[i], err);
		if (wc[i].opcode & IBV_WC_RECV) {
			rc = post_receive((struct ibv_qp *)(uintptr_t)wc[i].wr_id, err);
			if (rc == 0)
				rc = take_note(s, ntohl(wc[i].imm_data), err);
		} else {
			rc = take_sent(s, wc[i].wr_id, err);
		}
		if (rc < 0)
			return -1;
	}
	return n > 0;
}

/* One turn of the wheel. */
static int turn(struct staged *s, struct gp_error *err)
{
	int progress = take_completions(s, err), rc;

	if (progress < 0)
		return -1;
	for (int kind = 0; kind < 2; kind++) {
		if (!s->pipe[kind].used)
			continue;
		rc = kind == PIPE_OUT ? advance_out(s, &s->pipe[kind], err)
				      : advance_in(s, &s->pipe[kind], err);
		if (rc < 0)
			return -1;
		progress |= rc;
	}
	if (progress)
		s->last_progress_ns = gp_now_ns();
	else
		sched_yield(); /* the copies' and the NIC's own threads may need this CPU */
	return progress;
}

/* Nothing of ours is under way any more: no copy, no request, and every chunk started is through.
 */
static bool settled(const struct staged *s)
{
	for (int kind = 0; kind < 2; kind++) {
		const struct pipe *p = &s->pipe[kind];

		for (int i = 0; i < SLOTS; i++)
			if (s->st->slot[kind][i].copying || s->st->slot[kind][i].landed)
				return false;
		if (p->used && p->initiator && p->done < p->started)
			return false;
	}
	return s->in_flight == 0;
}

/* Look at the world once in so many idle turns, or so often while busy. */
#define LOOK_TURNS 256

static void close_limits(struct staged *s)
{
	for (int kind = 0; kind < 2; kind++)
		if (s->pipe[kind].limit > s->pipe[kind].started)
			s->pipe[kind].limit = s->pipe[kind].started;
}

/* The chunks that this side counts, and when the last of them was through. */
struct tally {
	const struct pipe *pipe; /* NULL: this side counts nothing */
	uint64_t chunks, end_ns;
	uint64_t start_ns, before; /* when the window opened, and the chunks through by then */
};

/* What is through before the window opens does not count; whole messages, as at its end. */
static void open_window(const struct staged *s, struct tally *tally)
{
	uint64_t per_message = s->cut.per_message;

	if (tally->start_ns >= s->round->open_ns || s->last_progress_ns < s->round->open_ns)
		return;
	tally->start_ns = s->last_progress_ns;
	tally->before = tally->chunks / per_message * per_message;
}

static int run_window(struct staged *s, struct tally *tally, struct gp_error *err)
{
	bool by_time = !s->round->messages && !s->round->until_message;

	for (unsigned turns = 1;; turns++) {
		int rc = turn(s, err);

		if (rc < 0)
			return -1;
		if (tally->pipe && tally->pipe->done > tally->chunks) {
			tally->chunks = tally->pipe->done;
			tally->end_ns = s->last_progress_ns;
			open_window(s, tally);
		}
		/* However short the round: one message at least. */
		if (by_time && rc && tally->start_ns >= s->round->open_ns &&
		    s->last_progress_ns >= tally->start_ns + s->round->duration_ns &&
		    tally->chunks >= tally->before + s->cut.per_message)
			return 0;
		if (tally->pipe && tally->pipe->limit == tally->pipe->done)
			return 0; /* by messages */
		if (turns % LOOK_TURNS)
			continue;
		switch (gp_round_look(s->round, s->last_progress_ns, err)) {
		case GP_LOOK_FAIL:
			return -1;
		case GP_LOOK_END:
			return 0;
		case GP_LOOK_GO_ON:
			break;
		}
	}
}

static int drain(struct staged *s, struct gp_error *err)
{
	struct gp_round round = *s->round;

	round.until_message = false;
	s->last_progress_ns = gp_now_ns();
	close_limits(s);
	for (unsigned turns = 1; !settled(s); turns++) {
		if (turn(s, err) < 0)
			return -1;
		if (turns % LOOK_TURNS == 0 &&
		    gp_round_look(&round, s->last_progress_ns, err) == GP_LOOK_FAIL)
			return -1;
	}
	return 0;
}

static void start_pipes(struct staged *s)
{
	bool write = s->round->op->from_initiator;
	bool out = s->round->two_way || s->round->initiator == write;
	bool in = s->round->two_way || s->round->initiator != write;
	uint64_t limit = UINT64_MAX;

	if (s->round->messages)
		limit = (s->round->messages + s->cut.messages - 1) / s->cut.messages *
			s->cut.per_message;
	for (int kind = 0; kind < 2; kind++)
		for (int i = 0; i < SLOTS; i++) {
			struct slot *slot = &s->st->slot[kind][i];

			*slot = (struct slot){.host = slot->host, .event = slot->event};
		}
	s->pipe[PIPE_OUT] = (struct pipe){.kind = PIPE_OUT, .used = out, .limit = UINT64_MAX};
	s->pipe[PIPE_IN] = (struct pipe){.kind = PIPE_IN, .used = in, .limit = UINT64_MAX};
	if (s->round->initiator) {
		struct pipe *mine = &s->pipe[write ? PIPE_OUT : PIPE_IN];

		mine->initiator = true;
		mine->limit = limit;
	}
}

/* Two-way: the peer may still have chunks under way to us; serve it until it answers. */
static int linger(struct staged *s, struct gp_error *err)
{
	struct gp_round round = *s->round;

	round.until_message = true;
	for (unsigned turns = 1;; turns++) {
		if (turn(s, err) < 0)
			return -1;
		if (turns % LOOK_TURNS)
			continue;
		switch (gp_round_look(&round, s->last_progress_ns, err)) {
		case GP_LOOK_FAIL:
			return -1;
		case GP_LOOK_END:
			return 0;
		case GP_LOOK_GO_ON:
			break;
		}
	}
}

static void report(const struct staged *s, const struct tally *tally, struct gp_moved *moved)
{
	const struct gp_chunking *cut = &s->cut;

	*moved = (struct gp_moved){
		.lanes = 1, .ns = tally->end_ns - tally->start_ns, .start_ns = tally->start_ns};
	if (!tally->pipe)
		return;
	/* Whole messages only: one that was cut off in the middle is none. */
	moved->messages = (tally->chunks - tally->before) / cut->per_message * cut->messages;
	moved->bytes = moved->messages * cut->size;
	moved->all_messages = tally->pipe->done / cut->per_message * cut->messages;
	moved->lane_messages[0] = moved->all_messages;
}

int gp_staged_run(struct gp_rig *rig, const struct gp_round *round, struct gp_moved *moved,
		  struct gp_error *err)
{
	struct staged s = {.rig = rig,
			   .st = rig->staging,
			   .round = round,
			   .cut = gp_chunking_plan(rig->half_bytes, round->size)};
	struct tally tally = {0};

	start_pipes(&s);
	s.last_progress_ns = tally.start_ns = tally.end_ns = gp_now_ns();
	for (int kind = 0; kind < 2; kind++)
		if (s.pipe[kind].initiator)
			tally.pipe = &s.pipe[kind];
	if (run_window(&s, &tally, err) < 0 || drain(&s, err) < 0)
		return -1;
	report(&s, &tally, moved);
	if (round->ended && round->ended(round->ended_arg, moved, err) < 0)
		return -1;
	return round->ended && round->two_way ? linger(&s, err) : 0;
}
