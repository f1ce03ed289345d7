/* SPDX-License-Identifier: BSD-2-Clause */
/* copies: see copies.h. */
#include "copies.h"
#include "place.h"
#include "units.h"

#include <sched.h>

int gp_copies_open(struct gp_cuda *cuda, uint64_t room_bytes, int node, struct gp_copies *copies,
		   struct gp_error *err)
{
	void *host;

	*copies = (struct gp_copies){.cuda = cuda, .room_bytes = room_bytes};
	/* Every page is on its node before the pin, which would hold it wherever it is. */
	if (gp_place_alloc(2 * room_bytes, node, &host, err) < 0)
		return -1;
	if (gp_cuda_pin(cuda, host, 2 * room_bytes, err) < 0) {
		gp_place_free(host, 2 * room_bytes);
		return -1;
	}
	copies->host = host;
	for (int pipe = 0; pipe < 2; pipe++) {
		if (gp_cuda_stream_create(cuda, &copies->stream[pipe], err) < 0)
			goto failed;
		for (int i = 0; i < GP_SLOTS_MAX; i++)
			if (gp_cuda_event_create(cuda, &copies->event[pipe][i], err) < 0)
				goto failed;
	}
	return 0;
failed:
	gp_copies_close(copies);
	return -1;
}

int gp_copies_close(struct gp_copies *copies)
{
	struct gp_cuda *cuda = copies->cuda;
	bool hung = false;

	for (int pipe = 0; pipe < 2; pipe++) {
		hung = gp_cuda_stream_destroy(cuda, copies->stream[pipe]) < 0 || hung;
		for (int i = 0; i < GP_SLOTS_MAX && !hung; i++)
			gp_cuda_event_destroy(cuda, copies->event[pipe][i]);
	}
	if (copies->host && !hung) {
		gp_cuda_unpin(cuda, copies->host);
		gp_place_free(copies->host, 2 * copies->room_bytes);
	}
	*copies = (struct gp_copies){0};
	return hung ? -1 : 0;
}

void *gp_copies_slot(const struct gp_copies *copies, enum gp_pipe_kind pipe, int i,
		     uint64_t slot_bytes)
{
	return (char *)copies->host + (uint64_t)pipe * copies->room_bytes +
	       (uint64_t)i * slot_bytes;
}

int gp_copies_begin(struct gp_copies *copies, enum gp_pipe_kind pipe, int slot, uint64_t slot_bytes,
		    void *gpu, uint64_t bytes, struct gp_error *err)
{
	void *host = gp_copies_slot(copies, pipe, slot, slot_bytes);
	bool out = pipe == GP_PIPE_OUT;

	return gp_cuda_copy_async(copies->cuda, out ? host : gpu, out ? gpu : host, bytes,
				  copies->stream[pipe], copies->event[pipe][slot], err);
}

int gp_copies_done(struct gp_copies *copies, enum gp_pipe_kind pipe, int slot, struct gp_error *err)
{
	return gp_cuda_event_query(copies->cuda, copies->event[pipe][slot], err);
}

/* ---- measuring ---- */

#define LONG_BYTES GP_MIB
#define SHORT_ROW  2
#define LONG_ROW   8
#define TRIES	   4
#define TRIES_NS   (GP_NS_PER_S / 200) /* no try begins after so long, but the first */

/* What is measured: copies of `bytes`, `n` in a row. */
struct row {
	struct gp_copies *copies;
	enum gp_pipe_kind pipe;
	char *gpu;
	uint64_t bytes;
	double timeout_s;
};

/* Queue `n` copies and wait for the last. */
static int time_row(const struct row *row, int n, double *ns, struct gp_error *err)
{
	uint64_t start_ns = gp_now_ns();
	int rc = 0;

	for (int i = 0; i < n && rc == 0; i++)
		rc = gp_copies_begin(row->copies, row->pipe, i, row->bytes,
				     row->gpu + (uint64_t)i * row->bytes, row->bytes, err);
	while (rc == 0) {
		rc = gp_copies_done(row->copies, row->pipe, n - 1, err);
		if (rc == 0 && (double)(gp_now_ns() - start_ns) > row->timeout_s * 1e9)
			return gp_error_set(err, GP_EXIT_FAILED,
					    "cudaMemcpyAsync of %llu bytes: no progress for %.1f s",
					    (unsigned long long)row->bytes, row->timeout_s);
		if (rc == 0)
			sched_yield();
	}
	*ns = (double)(gp_now_ns() - start_ns);
	return rc < 0 ? -1 : 0;
}

/* What one more copy in a queue takes: a long row less a short one. The best of a few each, since
 * what disturbs a copy only makes it longer. */
static int time_one(const struct row *row, double *one_ns, struct gp_error *err)
{
	uint64_t start_ns = gp_now_ns();
	double few_ns = 0, many_ns = 0, ns = 0;

	for (int i = 0; i < TRIES && (i == 0 || gp_now_ns() - start_ns < TRIES_NS); i++) {
		if (time_row(row, SHORT_ROW, &ns, err) < 0)
			return -1;
		few_ns = i == 0 || ns < few_ns ? ns : few_ns;
		if (time_row(row, LONG_ROW, &ns, err) < 0)
			return -1;
		many_ns = i == 0 || ns < many_ns ? ns : many_ns;
	}
	*one_ns = (many_ns - few_ns) / (LONG_ROW - SHORT_ROW);
	if (*one_ns < many_ns / LONG_ROW / 4) /* disturbed beyond use */
		*one_ns = many_ns / LONG_ROW;
	return 0;
}

int gp_copies_measure(struct gp_copies *copies, enum gp_pipe_kind pipe, void *gpu,
		      uint64_t gpu_bytes, double timeout_s, struct gp_stage_rate *rate,
		      struct gp_error *err)
{
	uint64_t room = gpu_bytes < copies->room_bytes ? gpu_bytes : copies->room_bytes;
	uint64_t most = room / LONG_ROW / 4096 * 4096;
	uint64_t longer = most < LONG_BYTES ? most : LONG_BYTES, shorter = longer / 16;
	struct row row = {copies, pipe, gpu, shorter, timeout_s};
	double short_ns, long_ns;

	*rate = (struct gp_stage_rate){0};
	if (longer == 0)
		return 0; /* no room to tell anything */
	if (time_one(&row, &short_ns, err) < 0)
		return -1;
	row.bytes = longer;
	if (time_one(&row, &long_ns, err) < 0)
		return -1;
	*rate = gp_stage_rate_fit(shorter, short_ns, longer, long_ns);
	return 0;
}
