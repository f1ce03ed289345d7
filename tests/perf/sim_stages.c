/* SPDX-License-Identifier: BSD-2-Clause */
/* sim_stages: see sim_stages.h. Each side is a thread, of which one at a time has the turn. */
#include "sim_stages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 4096
#define NEVER	   UINT64_MAX
#define BEGIN_NS   UINT64_C(1000000000)

enum event_kind { DONE, NOTE, REQUEST };

struct event {
	uint64_t at_ns;
	int side;
	enum event_kind kind;
	struct gp_parcel parcel;
};

struct slot_state {
	uint64_t done_ns; /* of the copy begun last */
	uint64_t chunk;	  /* whose bytes are in it */
};

struct sim;

struct side {
	struct sim *sim;
	int number;
	struct gp_round round;
	struct gp_moved moved;
	struct gp_error err;
	uint64_t engine_free_ns[2]; /* by pipe kind */
	struct slot_state slot[2][GP_SLOTS_MAX];
	uint64_t copied[2]; /* chunks that copies were begun for, by pipe kind */
	bool idle, ended, over;
};

struct sim {
	const struct sim_setup *setup;
	struct gp_chunking cut;
	pthread_mutex_t lock;
	pthread_cond_t turned;
	int turn;
	uint64_t now_ns, wire_free_ns[2]; /* by the side that sends */
	struct side side[2];
	struct event events[EVENTS_MAX];
	int n_events;
	uint64_t notes, chunks_in;
	int faults;
	bool stuck;
};

/* ---- the wire's own ---- */

static uint64_t max_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t one_way_ns(const struct sim *sim)
{
	return (uint64_t)(sim->setup->pipe.wire.fixed_ns / 2);
}

static void add_event(struct sim *sim, uint64_t at_ns, int side, enum event_kind kind,
		      const struct gp_parcel *parcel)
{
	if (sim->n_events == EVENTS_MAX)
		abort();
	sim->events[sim->n_events++] = (struct event){at_ns, side, kind, *parcel};
}

static uint64_t send_bytes(struct sim *sim, int from, uint64_t bytes)
{
	uint64_t start_ns = max_ns(sim->now_ns, sim->wire_free_ns[from]);
	double ns = (double)bytes / sim->setup->pipe.wire.gbytes_per_s;

	sim->wire_free_ns[from] = start_ns + (uint64_t)ns;
	return sim->wire_free_ns[from];
}

/* Requests to read that have come to the far NIC: it answers by itself. */
static void answer_reads(struct sim *sim)
{
	for (int i = 0; i < sim->n_events; i++) {
		struct event *e = &sim->events[i];

		if (e->kind != REQUEST || e->at_ns > sim->now_ns)
			continue;
		e->at_ns = send_bytes(sim, !e->side, gp_chunk_bytes(&sim->cut, e->parcel.chunk)) +
			   one_way_ns(sim);
		e->kind = DONE;
	}
}

/* ---- the clock ---- */

static uint64_t next_event_ns(const struct sim *sim)
{
	uint64_t next = NEVER;

	for (int i = 0; i < sim->n_events; i++)
		if (sim->events[i].at_ns > sim->now_ns && sim->events[i].at_ns < next)
			next = sim->events[i].at_ns;
	for (int side = 0; side < 2; side++)
		for (int pipe = 0; pipe < 2; pipe++)
			for (int i = 0; i < GP_SLOTS_MAX; i++) {
				uint64_t at_ns = sim->side[side].slot[pipe][i].done_ns;

				if (at_ns > sim->now_ns && at_ns < next)
					next = at_ns;
			}
	return next;
}

/* Neither side could do anything: what comes next does. */
static void go_on(struct sim *sim)
{
	uint64_t next = next_event_ns(sim);

	for (int i = 0; i < 2; i++)
		sim->side[i].idle = false;
	sim->stuck = next == NEVER;
	if (sim->stuck)
		return;
	sim->now_ns = next;
	answer_reads(sim);
}

static void hand_over(struct side *me)
{
	struct sim *sim = me->sim;
	struct side *other = &sim->side[!me->number];

	if ((me->idle || me->over) && (other->idle || other->over))
		go_on(sim);
	if (other->over)
		return;
	sim->turn = other->number;
	pthread_cond_broadcast(&sim->turned);
	while (!me->over && sim->turn != me->number)
		pthread_cond_wait(&sim->turned, &sim->lock);
}

/* ---- copies ---- */

static const struct gp_stage_rate *engine_rate(const struct sim *sim, enum gp_pipe_kind pipe)
{
	return pipe == GP_PIPE_OUT ? &sim->setup->pipe.out : &sim->setup->pipe.in;
}

/* What is copied in must be what the copies before it have not been. */
static void expect_chunk(struct side *me, enum gp_pipe_kind pipe, int slot, uint64_t offset)
{
	struct sim *sim = me->sim;
	uint64_t k = me->copied[pipe]++;

	if (offset != gp_chunk_offset(&sim->cut, k))
		sim->faults++;
	if (pipe == GP_PIPE_OUT)
		me->slot[pipe][slot].chunk = k;
	else if (me->slot[pipe][slot].chunk != k)
		sim->faults++;
	else
		sim->chunks_in++;
}

static int sim_copy(void *arg, enum gp_pipe_kind pipe, int slot, uint64_t offset, uint64_t bytes,
		    struct gp_error *err)
{
	struct side *me = arg;
	struct sim *sim = me->sim;
	const struct gp_stage_rate *rate = engine_rate(sim, pipe);
	uint64_t start_ns = max_ns(sim->now_ns, me->engine_free_ns[pipe]);

	(void)err;
	if (me->slot[pipe][slot].done_ns > sim->now_ns)
		sim->faults++;
	expect_chunk(me, pipe, slot, offset);
	me->engine_free_ns[pipe] =
		start_ns + (uint64_t)(rate->fixed_ns + (double)bytes / rate->gbytes_per_s);
	me->slot[pipe][slot].done_ns = me->engine_free_ns[pipe];
	return 0;
}

static int sim_copied(void *arg, enum gp_pipe_kind pipe, int slot, struct gp_error *err)
{
	struct side *me = arg;

	(void)err;
	return me->slot[pipe][slot].done_ns <= me->sim->now_ns;
}

/* ---- the wire ---- */

static int sim_post(void *arg, const struct gp_parcel *p, struct gp_error *err)
{
	struct side *me = arg;
	struct sim *sim = me->sim;
	int peer = !me->number;
	uint64_t latency_ns = one_way_ns(sim), at_ns;
	uint64_t bytes = gp_chunk_bytes(&sim->cut, p->chunk);

	(void)err;
	if (p->kind == GP_PARCEL_READ) {
		add_event(sim, sim->now_ns + latency_ns, me->number, REQUEST, p);
		return 0;
	}
	bytes = p->kind == GP_PARCEL_NOTE ? 0 : bytes;
	at_ns = send_bytes(sim, me->number, bytes) + latency_ns;
	add_event(sim, at_ns + latency_ns, me->number, DONE, p);
	if (sim->setup->reordered && ++sim->notes % sim->setup->reordered == 0)
		at_ns += 10 * latency_ns;
	add_event(sim, at_ns, peer, NOTE, p);
	return 0;
}

/* A chunk's bytes go from slot to slot. They must be there, and the far slot's last copy done. */
static void move_bytes(struct sim *sim, int initiator, const struct gp_parcel *p)
{
	int source = p->kind == GP_PARCEL_WRITE ? initiator : !initiator;
	uint64_t i = p->chunk % (uint64_t)sim->setup->tuning.slots;
	struct slot_state *from = &sim->side[source].slot[GP_PIPE_OUT][i];
	struct slot_state *to = &sim->side[!source].slot[GP_PIPE_IN][i];

	if (from->chunk != p->chunk || from->done_ns > sim->now_ns || to->done_ns > sim->now_ns)
		sim->faults++;
	to->chunk = from->chunk;
}

/* The earliest event of this side that is due, or -1. */
static int due(const struct side *me)
{
	const struct sim *sim = me->sim;
	int best = -1;

	for (int i = 0; i < sim->n_events; i++) {
		const struct event *e = &sim->events[i];

		if (e->side == me->number && e->kind != REQUEST && e->at_ns <= sim->now_ns &&
		    (best < 0 || e->at_ns < sim->events[best].at_ns))
			best = i;
	}
	return best;
}

static int sim_poll(void *arg, struct gp_arrival *arrivals, int max, struct gp_error *err)
{
	struct side *me = arg;
	struct sim *sim = me->sim;
	int n = 0, i;

	(void)err;
	while (n < max && (i = due(me)) >= 0) {
		struct event e = sim->events[i];
		struct gp_arrival *a = &arrivals[n++];

		memmove(&sim->events[i], &sim->events[i + 1],
			(size_t)(--sim->n_events - i) * sizeof(e));
		*a = (struct gp_arrival){
			.is_note = e.kind == NOTE, .id = e.parcel.id, .note = e.parcel.note};
		/* a write's bytes are there with its note, a read's when it is done */
		if (e.parcel.kind == GP_PARCEL_WRITE && e.kind == NOTE)
			move_bytes(sim, !me->number, &e.parcel);
		if (e.parcel.kind == GP_PARCEL_READ)
			move_bytes(sim, me->number, &e.parcel);
	}
	return n;
}

/* ---- the rest ---- */

static void sim_wait(void *arg)
{
	struct side *me = arg;

	me->idle = true;
	hand_over(me);
	me->idle = false;
}

static uint64_t sim_now(void *arg)
{
	return ((struct side *)arg)->sim->now_ns;
}

static enum gp_look sim_look(void *arg, const struct gp_round *round, uint64_t idle_since_ns,
			     struct gp_error *err)
{
	struct side *me = arg;

	(void)idle_since_ns;
	if (round->until_message && me->sim->side[!me->number].ended)
		return GP_LOOK_END;
	if (!me->sim->stuck)
		return GP_LOOK_GO_ON;
	gp_error_set(err, GP_EXIT_FAILED, "side %d: the pipeline stands still", me->number);
	return GP_LOOK_FAIL;
}

/* Where both initiate, each serves the other until that has ended too. */
static int sim_ended(void *arg, const struct gp_moved *moved, struct gp_error *err)
{
	(void)moved;
	(void)err;
	((struct side *)arg)->ended = true;
	return 0;
}

static void *run_side(void *arg)
{
	struct side *me = arg;
	struct sim *sim = me->sim;
	struct gp_stages stages = {.arg = me,
				   .copies = true,
				   .copy = sim_copy,
				   .copied = sim_copied,
				   .post = sim_post,
				   .poll = sim_poll,
				   .wait = sim_wait,
				   .now_ns = sim_now,
				   .look = sim_look};

	pthread_mutex_lock(&sim->lock);
	while (sim->turn != me->number)
		pthread_cond_wait(&sim->turned, &sim->lock);
	gp_staged_run(&stages, &sim->cut, sim->setup->tuning.slots, &me->round, &me->moved,
		      &me->err);
	me->over = me->ended = true;
	sim->turn = !me->number;
	pthread_cond_broadcast(&sim->turned);
	pthread_mutex_unlock(&sim->lock);
	return NULL;
}

static void set_up(struct sim *sim, const struct sim_setup *setup)
{
	*sim = (struct sim){.setup = setup, .now_ns = BEGIN_NS};
	sim->cut = gp_chunking_plan(setup->region_bytes, setup->size, &setup->tuning);
	pthread_mutex_init(&sim->lock, NULL);
	pthread_cond_init(&sim->turned, NULL);
	for (int i = 0; i < 2; i++)
		sim->side[i] = (struct side){
			.sim = sim,
			.number = i,
			.round = {.op = &gp_ops[strcmp(setup->op, "write") != 0],
				  .size = setup->size,
				  .messages = i == 0 || setup->two_way ? setup->messages : 0,
				  .initiator = i == 0 || setup->two_way,
				  .two_way = setup->two_way,
				  .until_message = i == 1 && !setup->two_way,
				  .control_fd = -1,
				  .ended = i == 0 || setup->two_way ? sim_ended : NULL,
				  .ended_arg = &sim->side[i]},
		};
}

static void sum_up(const struct sim *sim, struct sim_result *result)
{
	int directions = sim->setup->two_way ? 2 : 1;

	*result = (struct sim_result){.faults = sim->faults, .chunks_in = sim->chunks_in};
	for (int i = 0; i < 2; i++)
		result->moved[i] = sim->side[i].moved;
	for (int i = 0; i < directions; i++) {
		const struct gp_moved *m = &sim->side[i].moved;
		double rate = m->ns ? (double)m->bytes / (double)m->ns : 0;

		if (i == 0 || rate < result->gbytes_per_s)
			result->gbytes_per_s = rate;
		if (i == 0 || m->messages < result->messages)
			result->messages = m->messages;
	}
}

int sim_run(const struct sim_setup *setup, struct sim_result *result, struct gp_error *err)
{
	struct sim *sim = malloc(sizeof(*sim));
	pthread_t thread[2];
	int rc = 0;

	if (!sim)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory");
	set_up(sim, setup);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, run_side, &sim->side[i]) != 0)
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (int i = 1; i >= 0; i--)
		if (sim->side[i].err.set) {
			*err = sim->side[i].err;
			rc = -1;
		}
	sum_up(sim, result);
	pthread_cond_destroy(&sim->turned);
	pthread_mutex_destroy(&sim->lock);
	free(sim);
	return rc;
}
