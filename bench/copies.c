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
#define IN_A_ROW   4
#define TRIES	   4
#define TRIES_NS   (GP_NS_PER_S / 200) /* no try begins after so long, but the first */

/* Queue some copies and wait for the last: ns of one. */
static int time_row(struct gp_copies *copies, enum gp_pipe_kind pipe, char *gpu, uint64_t bytes,
		    double timeout_s, double *ns, struct gp_error *err)
{
	uint64_t start_ns = gp_now_ns();
	int rc = 0;

	for (int i = 0; i < IN_A_ROW && rc == 0; i++)
		rc = gp_copies_begin(copies, pipe, i, bytes, gpu + (uint64_t)i * bytes, bytes, err);
	while (rc == 0) {
		rc = gp_copies_done(copies, pipe, IN_A_ROW - 1, err);
		if (rc == 0 && (double)(gp_now_ns() - start_ns) > timeout_s * 1e9)
			return gp_error_set(err, GP_EXIT_FAILED,
					    "cudaMemcpyAsync of %llu bytes: no progress for %.1f s",
					    (unsigned long long)bytes, timeout_s);
		if (rc == 0)
			sched_yield();
	}
	*ns = (double)(gp_now_ns() - start_ns) / IN_A_ROW;
	return rc < 0 ? -1 : 0;
}

/* The best of a few: what disturbs a copy only makes it longer. */
static int time_best(struct gp_copies *copies, enum gp_pipe_kind pipe, void *gpu, uint64_t bytes,
		     double timeout_s, double *best_ns, struct gp_error *err)
{
	uint64_t start_ns = gp_now_ns();
	double ns = 0;

	for (int i = 0; i < TRIES && (i == 0 || gp_now_ns() - start_ns < TRIES_NS); i++) {
		if (time_row(copies, pipe, gpu, bytes, timeout_s, &ns, err) < 0)
			return -1;
		if (i == 0 || ns < *best_ns)
			*best_ns = ns;
	}
	return 0;
}

int gp_copies_measure(struct gp_copies *copies, enum gp_pipe_kind pipe, void *gpu,
		      uint64_t gpu_bytes, double timeout_s, struct gp_stage_rate *rate,
		      struct gp_error *err)
{
	uint64_t most =
		(gpu_bytes < copies->room_bytes ? gpu_bytes : copies->room_bytes) / IN_A_ROW;
	uint64_t longer = most < LONG_BYTES ? most / 4096 * 4096 : LONG_BYTES;
	uint64_t shorter = longer / 16;
	double short_ns, long_ns;

	if (shorter == 0) { /* no room to tell anything */
		*rate = (struct gp_stage_rate){0};
		return 0;
	}
	if (time_best(copies, pipe, gpu, shorter, timeout_s, &short_ns, err) < 0 ||
	    time_best(copies, pipe, gpu, longer, timeout_s, &long_ns, err) < 0)
		return -1;
	*rate = gp_stage_rate_fit(shorter, short_ns, longer, long_ns);
	return 0;
}
