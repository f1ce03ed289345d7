/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * staging: see staging.h. Chunk k goes over QP k % qps. Notes are zero-byte writes with an
 * immediate, or the immediate of a chunk's last write.
 */
#include "staging.h"
#include "copies.h"
#include "units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

struct gp_staging {
	struct gp_copies copies;
};

/* The stages' argument during a round. */
struct stages {
	struct gp_rig *rig;
	struct gp_copies *copies;
	const struct gp_round *round;
	struct gp_chunking cut;
	uint64_t slot_bytes, slots;
};

/* ---- opening ---- */

static int measure_copies(struct gp_rig *rig, struct gp_error *err)
{
	struct gp_copies *copies = &rig->staging->copies;
	struct gp_copy_rates *r = &rig->copies;

	struct gp_region *region = &rig->region;
	double timeout_s = rig->end->opt->timeout_s;

	if (gp_copies_measure(copies, GP_PIPE_OUT, region->addr, region->bytes, timeout_s, &r->out,
			      err) < 0 ||
	    gp_copies_measure(copies, GP_PIPE_IN, region->addr, region->bytes, timeout_s, &r->in,
			      err) < 0)
		return -1;
	if (r->out.gbytes_per_s <= 0)
		return 0;
	gp_fact_add(&rig->facts, "copies", rig->end->side, "cudaMemcpyAsync, when opened",
		    GP_SUPPORT_UNKNOWN,
		    "out of the GPU %.1f GB/s and %.1f us each, into it %.1f GB/s and %.1f us",
		    r->out.gbytes_per_s, r->out.fixed_ns / 1e3, r->in.gbytes_per_s,
		    r->in.fixed_ns / 1e3);
	return 0;
}

int gp_staging_open(struct gp_rig *rig, struct gp_error *err)
{
	const struct gp_bw_options *opt = rig->end->opt;
	unsigned access = gp_rdma_access(opt->relaxed_ordering == GP_ON);
	void *addr = rig->region.addr;
	uint64_t bytes = rig->region.bytes, room = gp_tuning_room(opt);

	rig->tuning = gp_tuning_begin(opt);
	rig->staging = calloc(1, sizeof(*rig->staging));
	if (!rig->staging)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for bounce slots");
	if (gp_rig_on_gpu(rig)) {
		if (gp_copies_open(rig->end->cuda, room, rig->end->mem_node, &rig->staging->copies,
				   err) < 0 ||
		    measure_copies(rig, err) < 0)
			return -1;
		addr = rig->staging->copies.host;
		bytes = 2 * room;
	}
	if (gp_rdma_register(rig->end->rdma, addr, bytes, access, "host memory", &rig->mr, err) < 0)
		return -1;
	rig->mr_addr = (uintptr_t)addr;
	gp_fact_add(&rig->facts, "registration", rig->end->side, "ibv_reg_mr", GP_SUPPORT_YES,
		    "%" PRIu64 " bytes of %s, rkey 0x%x", bytes,
		    gp_rig_on_gpu(rig) ? "pinned host memory beside the GPU's" : "host memory",
		    rig->mr->rkey);
	return 0;
}

void gp_staging_close(struct gp_rig *rig)
{
	struct gp_staging *st = rig->staging;

	if (!st)
		return;
	gp_rdma_deregister(rig->mr);
	rig->mr = NULL;
	rig->staging = NULL;
	/* A copy that never ends still has the region: leave it that. */
	if (gp_copies_close(&st->copies) < 0)
		rig->region = (struct gp_region){0};
	free(st);
}

void gp_staging_queues(const struct gp_bw_options *opt, int *send_wr, int *recv_wr)
{
	gp_tuning_queues(opt, send_wr, recv_wr);
}

static int post_receive(struct ibv_qp *qp, struct gp_error *err)
{
	struct ibv_recv_wr wr = {.wr_id = (uintptr_t)qp}, *bad;
	int code = ibv_post_recv(qp, &wr, &bad);

	return code ? gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_post_recv", "bounce note") : 0;
}

int gp_staging_ready(struct gp_rig *rig, struct gp_error *err)
{
	int send_wr, recv_wr;

	gp_tuning_queues(rig->end->opt, &send_wr, &recv_wr);
	for (int q = 0; q < gp_connection_qps(rig->conn); q++)
		for (int i = 0; i < recv_wr; i++)
			if (post_receive(gp_connection_qp(rig->conn, q), err) < 0)
				return -1;
	return 0;
}

struct gp_walk gp_staging_walk(const struct gp_rig *rig, uint64_t size)
{
	struct gp_chunking cut = gp_chunking_plan(rig->half_bytes, size, &rig->tuning);

	return (struct gp_walk){.lanes = 1,
				.size = size,
				.stride = cut.stride,
				.slots = cut.walk_chunks / cut.per_message * cut.messages};
}

/* ---- the stages ---- */

static void *gpu_at(const struct stages *s, enum gp_pipe_kind pipe, uint64_t offset)
{
	uint64_t base = pipe == GP_PIPE_OUT ? gp_rig_source(s->rig) : gp_rig_sink(s->rig);

	return (char *)s->rig->region.addr + base + offset;
}

static int stage_copy(void *arg, enum gp_pipe_kind pipe, int slot, uint64_t offset, uint64_t bytes,
		      struct gp_error *err)
{
	struct stages *s = arg;

	return gp_copies_begin(s->copies, pipe, slot, s->slot_bytes, gpu_at(s, pipe, offset), bytes,
			       err);
}

static int stage_copied(void *arg, enum gp_pipe_kind pipe, int slot, struct gp_error *err)
{
	struct stages *s = arg;

	return gp_copies_done(s->copies, pipe, slot, err);
}

/* Where chunk k of a pipe is for our NIC, and for the peer's. */
static uint64_t local_addr(const struct stages *s, enum gp_pipe_kind pipe, uint64_t k)
{
	if (gp_rig_on_gpu(s->rig))
		return (uintptr_t)gp_copies_slot(s->copies, pipe, (int)(k % s->slots),
						 s->slot_bytes);
	return (uintptr_t)gpu_at(s, pipe, gp_chunk_offset(&s->cut, k));
}

/* The peer's slots lie as ours do: its outgoing ones first. */
static uint64_t remote_addr(const struct stages *s, enum gp_pipe_kind theirs, uint64_t k)
{
	const struct gp_remote *remote = &s->rig->remote;
	uint64_t base = theirs == GP_PIPE_OUT ? gp_rig_source(s->rig) : gp_rig_sink(s->rig);

	if (remote->staged)
		return remote->addr + (uint64_t)theirs * gp_tuning_room(s->rig->end->opt) +
		       k % s->slots * s->slot_bytes;
	return remote->addr + base + gp_chunk_offset(&s->cut, k);
}

static int post(struct stages *s, uint64_t k, struct ibv_send_wr *wr, const char *what,
		struct gp_error *err)
{
	int q = (int)(k % (uint64_t)gp_connection_qps(s->rig->conn));
	struct ibv_send_wr *bad;
	int code = ibv_post_send(gp_connection_qp(s->rig->conn, q), wr, &bad);

	return code ? gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_post_send", "bounce %s", what)
		    : 0;
}

static int post_note(struct stages *s, const struct gp_parcel *p, struct gp_error *err)
{
	struct ibv_send_wr wr = {.wr_id = p->id,
				 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl(p->note),
				 .wr.rdma = {s->rig->remote.addr, s->rig->remote.rkey}};

	return post(s, p->chunk, &wr, "note", err);
}

/* A chunk is posted as wire messages of the message size; only the last is signalled. */
static int stage_post(void *arg, const struct gp_parcel *p, struct gp_error *err)
{
	struct stages *s = arg;
	bool write = p->kind == GP_PARCEL_WRITE;
	enum gp_pipe_kind theirs = p->pipe == GP_PIPE_OUT ? GP_PIPE_IN : GP_PIPE_OUT;
	uint64_t wire_bytes =
		s->cut.per_message == 1 ? s->cut.size : gp_chunk_bytes(&s->cut, p->chunk);
	uint64_t local, remote;
	struct ibv_send_wr wr[GP_CHUNK_MESSAGES];
	struct ibv_sge sge[GP_CHUNK_MESSAGES];
	int n = (int)s->cut.messages;

	if (p->kind == GP_PARCEL_NOTE)
		return post_note(s, p, err);
	local = local_addr(s, p->pipe, p->chunk);
	remote = remote_addr(s, theirs, p->chunk);
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
	wr[n - 1].wr_id = p->id;
	if (write) {
		wr[n - 1].opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr[n - 1].imm_data = htonl(p->note);
	}
	return post(s, p->chunk, wr, write ? "write" : "read", err);
}

#define POLL_BATCH 16

static int stage_poll(void *arg, struct gp_arrival *arrivals, int max, struct gp_error *err)
{
	struct stages *s = arg;
	struct ibv_wc wc[POLL_BATCH];
	int n = ibv_poll_cq(gp_connection_cq(s->rig->conn), max < POLL_BATCH ? max : POLL_BATCH,
			    wc);

	if (n < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, -n, "ibv_poll_cq", "bounce");
	for (int i = 0; i < n; i++) {
		bool is_note = wc[i].opcode & IBV_WC_RECV;

		if (wc[i].status != IBV_WC_SUCCESS)
			return gp_round_wc_error(s->round, &wc[i], err);
		if (is_note && post_receive((struct ibv_qp *)(uintptr_t)wc[i].wr_id, err) < 0)
			return -1;
		arrivals[i] = (struct gp_arrival){.is_note = is_note,
						  .id = wc[i].wr_id,
						  .note = is_note ? ntohl(wc[i].imm_data) : 0};
	}
	return n;
}

/* The copies' and the NIC's own threads may need this CPU. */
static void stage_wait(void *arg)
{
	(void)arg;
	sched_yield();
}

static uint64_t stage_now(void *arg)
{
	(void)arg;
	return gp_now_ns();
}

static enum gp_look stage_look(void *arg, const struct gp_round *round, uint64_t idle_since_ns,
			       struct gp_error *err)
{
	(void)arg;
	return gp_round_look(round, idle_since_ns, err);
}

int gp_staging_run(struct gp_rig *rig, const struct gp_round *round, struct gp_moved *moved,
		   struct gp_error *err)
{
	struct stages s = {.rig = rig,
			   .copies = &rig->staging->copies,
			   .round = round,
			   .cut = gp_chunking_plan(rig->half_bytes, round->size, &rig->tuning),
			   .slot_bytes = rig->tuning.chunk_bytes,
			   .slots = (uint64_t)rig->tuning.slots};
	struct gp_stages stages = {.arg = &s,
				   .copies = gp_rig_on_gpu(rig),
				   .copy = stage_copy,
				   .copied = stage_copied,
				   .post = stage_post,
				   .poll = stage_poll,
				   .wait = stage_wait,
				   .now_ns = stage_now,
				   .look = stage_look};

	return gp_staged_run(&stages, &s.cut, rig->tuning.slots, round, moved, err);
}

/* ---- measuring the wire ---- */

#define PROBES	      8
#define PROBE_NS      (GP_NS_PER_S / 100) /* no try begins after so long, but the first */
#define PROBE_TRIES   3
#define LATENCY_BYTES 64

/* Post `n` requests of `bytes` and wait for the last: ns from the first. */
static int time_requests(struct stages *s, const struct gp_op *op, uint64_t bytes, int n,
			 double *ns, struct gp_error *err)
{
	struct ibv_sge sge = {s->rig->mr_addr, (uint32_t)bytes, s->rig->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = op->opcode,
				 .wr.rdma = {s->rig->remote.addr, s->rig->remote.rkey}};
	uint64_t start_ns = gp_now_ns();
	struct gp_arrival arrival;
	int got = 0;

	for (int i = 0; i < n; i++) {
		wr.send_flags = i + 1 < n ? 0 : IBV_SEND_SIGNALED;
		if (post(s, 0, &wr, "probe", err) < 0)
			return -1;
	}
	for (unsigned turns = 1; got == 0; turns++) {
		got = stage_poll(s, &arrival, 1, err);
		if (got < 0)
			return -1;
		if (turns % 1024 == 0 && gp_round_look(s->round, start_ns, err) == GP_LOOK_FAIL)
			return -1;
		if (got == 0)
			sched_yield();
	}
	*ns = (double)(gp_now_ns() - start_ns);
	return 0;
}

/* Several requests in flight for the rate, one small one for the latency; the best of a few. */
static int probe_op(struct stages *s, const struct gp_op *op, struct gp_stage_rate *rate,
		    struct gp_error *err)
{
	uint64_t start_ns = gp_now_ns(), bytes = s->rig->tuning.chunk_bytes;
	double ns, latency_ns;

	bytes = bytes < GP_MIB ? bytes : GP_MIB;
	bytes = bytes < s->rig->half_bytes ? bytes : s->rig->half_bytes;
	*rate = (struct gp_stage_rate){0};
	for (int i = 0; i < PROBE_TRIES && (i == 0 || gp_now_ns() - start_ns < PROBE_NS); i++) {
		if (time_requests(s, op, LATENCY_BYTES, 1, &latency_ns, err) < 0 ||
		    time_requests(s, op, bytes, PROBES, &ns, err) < 0)
			return -1;
		/* the first byte's latency is not the rate's */
		ns = ns > 2 * latency_ns ? ns - latency_ns : ns;
		if (PROBES * (double)bytes / ns > rate->gbytes_per_s)
			rate->gbytes_per_s = PROBES * (double)bytes / ns;
		if (i == 0 || latency_ns < rate->fixed_ns)
			rate->fixed_ns = latency_ns;
	}
	return 0;
}

/* The slower of the operations that are asked for. */
static int measure_wire(struct gp_rig *rig, struct gp_stage_rate *slowest, struct gp_error *err)
{
	const struct gp_bw_options *opt = rig->end->opt;

	*slowest = (struct gp_stage_rate){0};
	for (int i = 0; i < opt->op.n; i++) {
		struct gp_round round = {.op = &gp_ops[opt->op.index[i]],
					 .size = GP_MIB,
					 .timeout_s = opt->timeout_s,
					 .control_fd = -1};
		struct stages s = {.rig = rig, .round = &round};
		struct gp_stage_rate *rate = &rig->wire[opt->op.index[i]];

		if (probe_op(&s, round.op, rate, err) < 0)
			return -1;
		if (i == 0 || rate->gbytes_per_s < slowest->gbytes_per_s)
			*slowest = *rate;
	}
	return 0;
}

int gp_staging_tune(struct gp_rig *rig, struct gp_error *err)
{
	const struct gp_bw_options *opt = rig->end->opt;
	const struct gp_copy_rates *mine = &rig->copies, *theirs = &rig->remote.copies;
	struct gp_pipe_rates pipes[2] = {{.out = mine->out, .in = theirs->in},
					 {.out = theirs->out, .in = mine->in}};
	struct gp_stage_rate wire;
	char chunk[32];

	if (measure_wire(rig, &wire, err) < 0)
		return -1;
	pipes[0].wire = pipes[1].wire = wire;
	rig->tuning = gp_tuning_choose(opt, pipes, 2);
	gp_fact_add(&rig->facts, "wire", rig->end->side, "RDMA between the slots, when opened",
		    GP_SUPPORT_UNKNOWN, "%.1f GB/s, round trip %.1f us", wire.gbytes_per_s,
		    wire.fixed_ns / 1e3);
	gp_fact_add(&rig->facts, "pipeline", rig->end->side,
		    opt->bounce_chunk && opt->bounce_slots ? "--bounce-chunk, --bounce-slots"
		    : opt->bounce_chunk			   ? "--bounce-chunk, rates"
		    : opt->bounce_slots			   ? "--bounce-slots, rates"
							   : "rates of copies and wire",
		    GP_SUPPORT_UNKNOWN, "chunks of %s in %d slots",
		    gp_size_write(rig->tuning.chunk_bytes, chunk, sizeof(chunk)),
		    rig->tuning.slots);
	return 0;
}
