/* SPDX-License-Identifier: BSD-2-Clause */
/* tuning: see tuning.h. */
#include "tuning.h"
#include "units.h"

#include <math.h>

#define CHUNK_LEAST  (64 * GP_KIB)
#define CHUNK_MOST   (4 * GP_MIB)
#define CHUNK_BEGIN  GP_MIB
#define SLOTS_LEAST  8
#define SLOTS_MOST   32
#define ROOM	     (SLOTS_LEAST * CHUNK_MOST)
#define FIXED_SHARE  0.03
#define REQUESTS_MAX 4096 /* of the data of all slots, on one QP */

struct gp_stage_rate gp_stage_rate_fit(uint64_t short_bytes, double short_ns, uint64_t long_bytes,
				       double long_ns)
{
	double per_byte = (long_ns - short_ns) / (double)(long_bytes - short_bytes);
	double fixed_ns = short_ns - per_byte * (double)short_bytes;

	if (per_byte <= 0 || fixed_ns < 0)
		return (struct gp_stage_rate){(double)long_bytes / long_ns, 0};
	return (struct gp_stage_rate){1 / per_byte, fixed_ns};
}

static int most_slots(const struct gp_bw_options *opt)
{
	return opt->bounce_slots ? opt->bounce_slots : SLOTS_MOST;
}

uint64_t gp_tuning_room(const struct gp_bw_options *opt)
{
	uint64_t least = CHUNK_BEGIN, slots = SLOTS_LEAST;

	if (opt->bounce_chunk)
		least = opt->bounce_chunk;
	if (opt->bounce_slots)
		slots = (uint64_t)opt->bounce_slots;
	if (opt->bounce_chunk && opt->bounce_slots)
		return least * slots;
	return least * slots > ROOM ? least * slots : ROOM;
}

struct gp_tuning gp_tuning_begin(const struct gp_bw_options *opt)
{
	return (struct gp_tuning){
		.chunk_bytes = opt->bounce_chunk ? opt->bounce_chunk : CHUNK_BEGIN,
		.slots = opt->bounce_slots ? opt->bounce_slots : SLOTS_LEAST,
	};
}

static double time_of(const struct gp_stage_rate *stage, double bytes)
{
	return stage->gbytes_per_s > 0 ? stage->fixed_ns + bytes / stage->gbytes_per_s : 0;
}

/* A copy twice as fast as the wire may cost what it will: larger chunks would gain nothing. */
static bool keeps_up(const struct gp_stage_rate *copy, const struct gp_stage_rate *wire,
		     uint64_t chunk)
{
	double bytes = (double)chunk, ns = time_of(copy, bytes);

	return copy->gbytes_per_s <= 0 || copy->fixed_ns <= FIXED_SHARE * ns ||
	       (wire->gbytes_per_s > 0 && 2 * ns <= bytes / wire->gbytes_per_s);
}

static uint64_t choose_chunk(const struct gp_pipe_rates *pipes, int n, uint64_t most)
{
	uint64_t chunk = CHUNK_LEAST;

	for (int i = 0; i < n; i++)
		while (chunk * 2 <= most && (!keeps_up(&pipes[i].out, &pipes[i].wire, chunk) ||
					     !keeps_up(&pipes[i].in, &pipes[i].wire, chunk)))
			chunk *= 2;
	return chunk < most ? chunk : most;
}

/*
 * A slot is held at the source while its chunk is copied, announced, fetched and freed again, at
 * the sink while it comes, is copied and freed. With read, the longer, that is two round trips
 * beside the work.
 */
static double slots_in_use(const struct gp_pipe_rates *pipe, uint64_t chunk)
{
	double bytes = (double)chunk;
	double out = time_of(&pipe->out, bytes), in = time_of(&pipe->in, bytes);
	double wire = time_of(&pipe->wire, bytes);
	double slowest = fmax(fmax(out, in), wire - pipe->wire.fixed_ns);

	return slowest > 0 ? (wire + fmax(out, in) + pipe->wire.fixed_ns) / slowest : 0;
}

static int choose_slots(const struct gp_pipe_rates *pipes, int n, uint64_t chunk, uint64_t room)
{
	double wanted = SLOTS_LEAST, most = SLOTS_MOST;

	for (int i = 0; i < n; i++)
		wanted = fmax(wanted, 2 * ceil(slots_in_use(&pipes[i], chunk)));
	most = fmin(most, (double)(room / chunk));
	return (int)fmin(wanted, most);
}

struct gp_tuning gp_tuning_choose(const struct gp_bw_options *opt,
				  const struct gp_pipe_rates *pipes, int n)
{
	struct gp_tuning tuning = gp_tuning_begin(opt);
	uint64_t room = gp_tuning_room(opt);
	uint64_t most = room / (uint64_t)tuning.slots;

	if (!opt->bounce_chunk)
		tuning.chunk_bytes = choose_chunk(pipes, n, most < CHUNK_MOST ? most : CHUNK_MOST);
	if (!opt->bounce_slots)
		tuning.slots = choose_slots(pipes, n, tuning.chunk_bytes, room);
	return tuning;
}

bool gp_tuning_fits(const struct gp_bw_options *opt, const struct gp_tuning *tuning)
{
	return tuning->chunk_bytes >= 4096 && tuning->chunk_bytes % 4096 == 0 &&
	       tuning->slots >= 1 && tuning->slots <= most_slots(opt) &&
	       tuning->chunk_bytes <= gp_tuning_room(opt) / (uint64_t)tuning->slots;
}

struct gp_chunking gp_chunking_plan(uint64_t region_bytes, uint64_t size,
				    const struct gp_tuning *tuning)
{
	struct gp_chunking c = {.size = size, .stride = gp_bw_stride(size), .per_message = 1};
	uint64_t most = REQUESTS_MAX / (uint64_t)tuning->slots;

	most = most < GP_CHUNK_MESSAGES ? most : GP_CHUNK_MESSAGES;
	c.messages = 1;
	c.chunk_bytes = tuning->chunk_bytes;
	if (size > c.chunk_bytes) {
		c.per_message = (size + c.chunk_bytes - 1) / c.chunk_bytes;
	} else {
		uint64_t room = c.chunk_bytes < region_bytes ? c.chunk_bytes : region_bytes;

		while (c.messages * 2 * c.stride <= room && c.messages * 2 <= most)
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

void gp_tuning_queues(const struct gp_bw_options *opt, int *send_wr, int *recv_wr)
{
	uint64_t chunk = opt->bounce_chunk ? opt->bounce_chunk : CHUNK_MOST;
	uint64_t slots = (uint64_t)most_slots(opt), most = slots;

	for (int i = 0; i < opt->size.n; i++) {
		uint64_t messages = chunk / gp_bw_stride(opt->size.bytes[i]);

		most = slots * messages > most ? slots * messages : most;
	}
	*send_wr = (int)(most < REQUESTS_MAX ? most : REQUESTS_MAX) + 4 * (int)slots;
	*recv_wr = 4 * (int)slots;
}
