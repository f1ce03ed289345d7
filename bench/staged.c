/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * staged: see staged.h.
 *
 * A round has an outgoing pipe on the side where data starts and an incoming one where it ends
 * (two-way: both on both). Notes between the sides are of kind, round and chunk number:
 *
 *   write: source copies k to its slot, writes it into the sink's slot with DATA k, and has its own
 *          slot back when the write is done; the sink copies it on and answers FREE k once the copy
 *          is done.
 *   read:  source copies k to its slot, says READY k; the sink reads it, answers FREE k as soon as
 *          the read is done, and copies it on.
 *
 * So a slot is never overwritten before its last reader is through, both sides have all their slots
 * in use at once, and FREE (write) or the sink's own copy (read) tells the initiator that chunk k
 * is in the destination GPU. The round number in every note keeps what arrives late out of the next
 * round.
 */
#include "staged.h"

enum note { NOTE_DATA, NOTE_READY, NOTE_FREE };
enum work { WORK_DATA, WORK_READ, WORK_NOTE };

struct slot {
	bool busy;	      /* out: taken until its bytes have left */
	bool copying, copied; /* out: GPU -> host; in: host -> GPU */
	bool landed;	      /* in: the bytes are in the slot */
};

/* One direction on one side during a round. All counters are chunk numbers, in order. */
struct pipe {
	enum gp_pipe_kind kind;
	bool used;
	bool initiator;	  /* this side decides when it ends, and counts */
	uint64_t started; /* next to copy out / next to read */
	uint64_t passed;  /* next to send or announce / next whose copy to the GPU is to start */
	uint64_t done;	  /* next that the peer has not freed / next not yet in the GPU */
	uint64_t limit;	  /* no chunk from this on is started */
	/* Whose note has come, by chunk: the source may be a whole set of slots ahead. */
	bool noted[2 * GP_SLOTS_MAX];
	struct slot slot[GP_SLOTS_MAX];
};

/* A stage's work under way, and how long there was any. */
struct load {
	int n;
	uint64_t since_ns, total_ns;
};

struct staged {
	const struct gp_stages *stages;
	const struct gp_round *round;
	struct gp_chunking cut;
	uint64_t slots;
	struct pipe pipe[2];
	int in_flight; /* parcels that are not done */
	uint64_t last_progress_ns;
	struct load load[GP_STAGES];
	uint64_t first_ns, last_ns; /* of any load */
};

static uint64_t now(const struct staged *s)
{
	return s->stages->now_ns(s->stages->arg);
}

static void begin_work(struct staged *s, enum gp_stage stage)
{
	struct load *load = &s->load[stage];

	if (load->n++)
		return;
	load->since_ns = now(s);
	s->first_ns = s->first_ns ? s->first_ns : load->since_ns;
}

static void end_work(struct staged *s, enum gp_stage stage)
{
	struct load *load = &s->load[stage];

	if (--load->n)
		return;
	s->last_ns = now(s);
	load->total_ns += s->last_ns - load->since_ns;
}

static enum gp_stage stage_of(const struct pipe *p)
{
	return p->kind == GP_PIPE_OUT ? GP_STAGE_OUT : GP_STAGE_IN;
}

static struct slot *slot_of(struct staged *s, struct pipe *p, uint64_t k)
{
	return &p->slot[k % s->slots];
}

/* ---- talking to the peer ---- */

/* kind: 2 bits, round: 6 bits, chunk: 24 bits. */
#define NOTE_CHUNK_MASK UINT32_C(0xffffff)

static uint32_t note_make(const struct staged *s, enum note note, uint64_t k)
{
	return ((uint32_t)note << 30) | ((s->round->number & 63) << 24) |
	       ((uint32_t)k & NOTE_CHUNK_MASK);
}

/* The chunk number at or after `base` that has these 24 bits. */
static uint64_t note_chunk(uint32_t note, uint64_t base)
{
	return base + ((note - (uint32_t)base) & NOTE_CHUNK_MASK);
}

static uint64_t work_id(enum work work, enum gp_pipe_kind kind, uint64_t k)
{
	return ((uint64_t)work << 56) | ((uint64_t)kind << 48) | (k & UINT64_C(0xffffffffffff));
}

static int post(struct staged *s, const struct gp_parcel *parcel, struct gp_error *err)
{
	if (s->stages->post(s->stages->arg, parcel, err) < 0)
		return -1;
	s->in_flight++;
	return 0;
}

static int post_note(struct staged *s, enum note note, uint64_t k, struct gp_error *err)
{
	struct gp_parcel parcel = {.kind = GP_PARCEL_NOTE,
				   .chunk = k,
				   .id = work_id(WORK_NOTE, GP_PIPE_OUT, k),
				   .note = note_make(s, note, k)};

	return post(s, &parcel, err);
}

static int post_chunk(struct staged *s, enum gp_pipe_kind kind, uint64_t k, struct gp_error *err)
{
	bool write = s->round->op->from_initiator;
	struct gp_parcel parcel = {.kind = write ? GP_PARCEL_WRITE : GP_PARCEL_READ,
				   .pipe = kind,
				   .chunk = k,
				   .id = work_id(write ? WORK_DATA : WORK_READ, kind, k),
				   .note = note_make(s, NOTE_DATA, k)};

	begin_work(s, GP_STAGE_WIRE);
	return post(s, &parcel, err);
}

/* ---- copies ---- */

static int start_copy(struct staged *s, struct pipe *p, uint64_t k, struct gp_error *err)
{
	struct slot *slot = slot_of(s, p, k);

	slot->copied = !s->stages->copies; /* without a GPU there is nothing to copy */
	slot->copying = !slot->copied;
	if (slot->copied)
		return 0;
	begin_work(s, stage_of(p));
	return s->stages->copy(s->stages->arg, p->kind, (int)(k % s->slots),
			       gp_chunk_offset(&s->cut, k), gp_chunk_bytes(&s->cut, k), err);
}

/* 1 where the copy of chunk k is done, 0 where not yet. */
static int copy_done(struct staged *s, struct pipe *p, uint64_t k, struct gp_error *err)
{
	struct slot *slot = slot_of(s, p, k);
	int rc;

	if (!slot->copying)
		return slot->copied;
	rc = s->stages->copied(s->stages->arg, p->kind, (int)(k % s->slots), err);
	if (rc > 0) {
		slot->copying = false;
		slot->copied = true;
		end_work(s, stage_of(p));
	}
	return rc;
}

static bool *noted(struct staged *s, struct pipe *p, uint64_t k)
{
	return &p->noted[k % (2 * s->slots)];
}

/* ---- the pipes: each function moves one pipe as far as it goes; 1 progress, 0 none, -1 failed */

static int start_copies_out(struct staged *s, struct pipe *p, struct gp_error *err)
{
	int progress = 0;

	while (p->started < p->limit && !slot_of(s, p, p->started)->busy) {
		if (start_copy(s, p, p->started, err) < 0)
			return -1;
		slot_of(s, p, p->started)->busy = true;
		p->started++;
		progress = 1;
	}
	return progress;
}

static int advance_out(struct staged *s, struct pipe *p, struct gp_error *err)
{
	bool write = s->round->op->from_initiator;
	int progress = start_copies_out(s, p, err), rc;

	if (progress < 0)
		return -1;
	/* A write needs the sink's slot; where a read goes the sink knows itself. */
	while (p->passed < p->started && (!write || p->passed - p->done < s->slots)) {
		rc = copy_done(s, p, p->passed, err);
		if (rc <= 0)
			return rc < 0 ? -1 : progress;
		rc = write ? post_chunk(s, GP_PIPE_OUT, p->passed, err)
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
static int finish_in(struct staged *s, struct pipe *p, struct gp_error *err)
{
	*slot_of(s, p, p->done) = (struct slot){0};
	if (s->round->op->from_initiator && post_note(s, NOTE_FREE, p->done, err) < 0)
		return -1;
	p->done++;
	return 0;
}

static int start_reads(struct staged *s, struct pipe *p, struct gp_error *err)
{
	int progress = 0;

	while (p->started < p->limit && p->started - p->done < s->slots &&
	       *noted(s, p, p->started)) {
		*noted(s, p, p->started) = false;
		if (post_chunk(s, GP_PIPE_IN, p->started, err) < 0)
			return -1;
		p->started++;
		progress = 1;
	}
	return progress;
}

static int advance_in(struct staged *s, struct pipe *p, struct gp_error *err)
{
	bool write = s->round->op->from_initiator;
	int progress = write ? 0 : start_reads(s, p, err), rc;

	if (progress < 0)
		return -1;
	while (p->passed - p->done < s->slots && slot_of(s, p, p->passed)->landed) {
		if (start_copy(s, p, p->passed, err) < 0)
			return -1;
		p->passed++;
		progress = 1;
	}
	while (p->done < p->passed) {
		rc = copy_done(s, p, p->done, err);
		if (rc <= 0)
			return rc < 0 ? -1 : progress;
		if (finish_in(s, p, err) < 0)
			return -1;
		progress = 1;
	}
	return progress;
}

/* ---- what the wire tells ---- */

/* A read's source has its slot back. FREE of a later chunk may overtake on another QP: only in
 * order do they count. */
static void take_free(struct staged *s, struct pipe *out, uint64_t k)
{
	if (!s->round->op->from_initiator)
		slot_of(s, out, k)->busy = false;
	*noted(s, out, k) = true;
	for (; out->done < out->passed && *noted(s, out, out->done); out->done++)
		*noted(s, out, out->done) = false;
}

static int take_note(struct staged *s, uint32_t note, struct gp_error *err)
{
	struct pipe *in = &s->pipe[GP_PIPE_IN], *out = &s->pipe[GP_PIPE_OUT];
	uint64_t k;

	if (((note >> 24) & 63) != (s->round->number & 63))
		return 0; /* from a round that is over */
	switch ((enum note)(note >> 30)) {
	case NOTE_DATA:
	case NOTE_READY:
		k = note_chunk(note, in->done);
		if (!in->used || k - in->done >= 2 * s->slots)
			break;
		if (note >> 30 == NOTE_DATA)
			slot_of(s, in, k)->landed = true;
		else
			*noted(s, in, k) = true;
		return 0;
	case NOTE_FREE:
		k = note_chunk(note, out->done);
		if (!out->used || k >= out->passed)
			break;
		take_free(s, out, k);
		return 0;
	}
	return gp_error_set(err, GP_EXIT_FAILED, "the peer sent a bounce note out of order (0x%x)",
			    note);
}

static int take_done(struct staged *s, uint64_t id, struct gp_error *err)
{
	uint64_t k = id & UINT64_C(0xffffffffffff);
	struct pipe *p = &s->pipe[(id >> 48) & 1];

	s->in_flight--;
	switch ((enum work)(id >> 56)) {
	case WORK_DATA:
		end_work(s, GP_STAGE_WIRE);
		slot_of(s, p, k)->busy = false;
		return 0;
	case WORK_READ:
		end_work(s, GP_STAGE_WIRE);
		slot_of(s, p, k)->landed = true;
		return post_note(s, NOTE_FREE, k, err);
	case WORK_NOTE:
		break;
	}
	return 0;
}

#define POLL_BATCH 16

/* 1 where something arrived, 0 where not, -1 failed. */
static int take_arrivals(struct staged *s, struct gp_error *err)
{
	struct gp_arrival arrivals[POLL_BATCH];
	int n = s->stages->poll(s->stages->arg, arrivals, POLL_BATCH, err);

	for (int i = 0; i < n; i++) {
		const struct gp_arrival *a = &arrivals[i];

		if ((a->is_note ? take_note(s, a->note, err) : take_done(s, a->id, err)) < 0)
			return -1;
	}
	return n < 0 ? -1 : n > 0;
}

/* One turn of the wheel. */
static int turn(struct staged *s, struct gp_error *err)
{
	int progress = take_arrivals(s, err), rc;

	if (progress < 0)
		return -1;
	for (int kind = 0; kind < 2; kind++) {
		if (!s->pipe[kind].used)
			continue;
		rc = kind == GP_PIPE_OUT ? advance_out(s, &s->pipe[kind], err)
					 : advance_in(s, &s->pipe[kind], err);
		if (rc < 0)
			return -1;
		progress |= rc;
	}
	if (progress)
		s->last_progress_ns = now(s);
	else
		s->stages->wait(s->stages->arg);
	return progress;
}

/* Nothing of ours is under way any more: no copy, no request, and every chunk started is through.
 */
static bool settled(const struct staged *s)
{
	for (int kind = 0; kind < 2; kind++) {
		const struct pipe *p = &s->pipe[kind];

		for (uint64_t i = 0; i < s->slots; i++)
			if (p->slot[i].copying || p->slot[i].landed)
				return false;
		if (p->used && p->initiator && p->done < p->started)
			return false;
	}
	return s->in_flight == 0;
}

/* Look at the world once in so many idle turns, or so often while busy. */
#define LOOK_TURNS 256

static enum gp_look look(const struct staged *s, const struct gp_round *round, struct gp_error *err)
{
	return s->stages->look(s->stages->arg, round, s->last_progress_ns, err);
}

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
		switch (look(s, s->round, err)) {
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
	s->last_progress_ns = now(s);
	close_limits(s);
	for (unsigned turns = 1; !settled(s); turns++) {
		if (turn(s, err) < 0)
			return -1;
		if (turns % LOOK_TURNS == 0 && look(s, &round, err) == GP_LOOK_FAIL)
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
	s->pipe[GP_PIPE_OUT] = (struct pipe){.kind = GP_PIPE_OUT, .used = out, .limit = UINT64_MAX};
	s->pipe[GP_PIPE_IN] = (struct pipe){.kind = GP_PIPE_IN, .used = in, .limit = UINT64_MAX};
	if (s->round->initiator) {
		struct pipe *mine = &s->pipe[write ? GP_PIPE_OUT : GP_PIPE_IN];

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
		switch (look(s, &round, err)) {
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
	for (int i = 0; i < GP_STAGES; i++)
		moved->busy_ns[i] = s->load[i].total_ns;
	moved->span_ns = s->last_ns - s->first_ns;
	if (!tally->pipe)
		return;
	/* Whole messages only: one that was cut off in the middle is none. */
	moved->messages = (tally->chunks - tally->before) / cut->per_message * cut->messages;
	moved->bytes = moved->messages * cut->size;
	moved->all_messages = tally->pipe->done / cut->per_message * cut->messages;
	moved->lane_messages[0] = moved->all_messages;
}

int gp_staged_run(const struct gp_stages *stages, const struct gp_chunking *cut, int slots,
		  const struct gp_round *round, struct gp_moved *moved, struct gp_error *err)
{
	struct staged s = {.stages = stages, .round = round, .cut = *cut, .slots = (uint64_t)slots};
	struct tally tally = {0};

	start_pipes(&s);
	s.last_progress_ns = tally.start_ns = tally.end_ns = now(&s);
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
