/* SPDX-License-Identifier: BSD-2-Clause */
/* emu_stream: a copy engine. Each stream is a thread that does its copies in order, at a set rate
 * where GP_EMU_COPY_GBPS is given. */
#include "emu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUEUE 256

struct emu_event {
	long asked, done; /* records queued, records passed */
};

struct work {
	void *dst;
	const void *src;
	size_t bytes;
	struct emu_event *event; /* or a copy, where NULL */
};

struct emu_stream {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct work queue[QUEUE];
	unsigned head, tail;
	bool busy, stop;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Hold the copy until it would be through at the set rate. */
static void pace(double start_s, size_t bytes)
{
	const char *rate = emu_text("COPY_GBPS", NULL);
	double left_s;

	if (!rate)
		return;
	left_s = start_s + (double)bytes / (atof(rate) * 1e9) - now_s();
	if (left_s > 0)
		usleep((useconds_t)(left_s * 1e6));
}

static void do_copy(const struct work *work)
{
	static long copies;
	double start_s = now_s();

	if (__atomic_add_fetch(&copies, 1, __ATOMIC_SEQ_CST) == emu_number("HANG_COPY", 0))
		for (;;)
			pause();
	memcpy(emu_host_view(work->dst, work->bytes), emu_host_view(work->src, work->bytes),
	       work->bytes);
	pace(start_s, work->bytes);
}

static void *run(void *arg)
{
	struct emu_stream *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct work work;

		while (s->head == s->tail && !s->stop)
			pthread_cond_wait(&s->changed, &s->lock);
		if (s->head == s->tail)
			break;
		work = s->queue[s->head++ % QUEUE];
		s->busy = true;
		pthread_mutex_unlock(&s->lock);
		if (work.event)
			__atomic_add_fetch(&work.event->done, 1, __ATOMIC_RELEASE);
		else
			do_copy(&work);
		pthread_mutex_lock(&s->lock);
		s->busy = false;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct emu_stream *emu_stream_create(void)
{
	struct emu_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (pthread_create(&s->thread, NULL, run, s) == 0)
		return s;
	free(s);
	return NULL;
}

static void push(struct emu_stream *s, const struct work *work)
{
	pthread_mutex_lock(&s->lock);
	while (s->tail - s->head == QUEUE)
		pthread_cond_wait(&s->changed, &s->lock);
	s->queue[s->tail++ % QUEUE] = *work;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void emu_stream_copy(struct emu_stream *stream, void *dst, const void *src, size_t bytes)
{
	push(stream, &(struct work){.dst = dst, .src = src, .bytes = bytes});
}

void emu_stream_record(struct emu_stream *stream, struct emu_event *event)
{
	__atomic_add_fetch(&event->asked, 1, __ATOMIC_ACQ_REL);
	push(stream, &(struct work){.event = event});
}

bool emu_stream_idle(struct emu_stream *s)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = s->head == s->tail && !s->busy;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

void emu_stream_destroy(struct emu_stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct emu_event *emu_event_create(void)
{
	return calloc(1, sizeof(struct emu_event));
}

bool emu_event_done(struct emu_event *event)
{
	return __atomic_load_n(&event->done, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&event->asked, __ATOMIC_ACQUIRE);
}

void emu_event_destroy(struct emu_event *event)
{
	free(event);
}
