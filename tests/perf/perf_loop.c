/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_loop: drives gp_loop_run() against a device that does nothing: posting walks the chain, as
 * any driver must, and notes what is signalled; polling hands that back at once. What is left is
 * what our loop costs. One configuration a run, one line of nanoseconds a message; tests/perf/run
 * makes the table of them, and counts instructions with valgrind. `floor` posts one chain over and
 * over without any loop of ours.
 */
#include "bw_options.h"
#include "loop.h"
#include "units.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING	    16384 /* completions that wait: more than any queue here holds */
#define THREADS_MAX 64
#define TX_DEPTH    128

struct stub {
	struct ibv_context ctx;
	struct ibv_cq cq;
	struct ibv_qp qp[GP_QP_MAX], *qps[GP_QP_MAX];
	uint64_t ring[RING];
	unsigned head, tail;
};

/* Not static, so that valgrind finds them by name. */
int stub_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int stub_poll(struct ibv_cq *cq, int max, struct ibv_wc *wc);
int loop_floor(struct stub *stub, const struct gp_direct *d, uint64_t messages);

int stub_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct stub *stub = qp->qp_context;

	(void)bad;
	for (; wr; wr = wr->next)
		if (wr->send_flags & IBV_SEND_SIGNALED)
			stub->ring[stub->tail++ % RING] = wr->wr_id;
	return 0;
}

int stub_poll(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	struct stub *stub = cq->cq_context;
	int n = 0;

	for (; n < max && stub->head != stub->tail; n++) {
		wc[n].wr_id = stub->ring[stub->head++ % RING];
		wc[n].status = IBV_WC_SUCCESS;
	}
	return n;
}

static void stub_open(struct stub *stub, int qps)
{
	stub->ctx.ops.post_send = stub_post;
	stub->ctx.ops.poll_cq = stub_poll;
	stub->cq = (struct ibv_cq){.context = &stub->ctx, .cq_context = stub};
	for (int i = 0; i < qps; i++) {
		stub->qp[i] = (struct ibv_qp){.context = &stub->ctx, .qp_context = stub};
		stub->qps[i] = &stub->qp[i];
	}
}

/* The least that moves messages: post a chain, poll for it. */
int loop_floor(struct stub *stub, const struct gp_direct *d, uint64_t messages)
{
	struct ibv_send_wr *wr = calloc((size_t)d->post_list, sizeof(*wr)), *bad;
	struct ibv_wc wc[16];
	int lane = 0;

	if (!wr)
		return -1;
	for (int i = 0; i < d->post_list; i++)
		wr[i].next = i + 1 < d->post_list ? &wr[i + 1] : NULL;
	wr[d->post_list - 1].send_flags = IBV_SEND_SIGNALED;
	for (uint64_t posted = 0; posted < messages; posted += (uint64_t)d->post_list) {
		ibv_post_send(stub->qps[lane], wr, &bad);
		lane = lane + 1 == d->walk.lanes ? 0 : lane + 1;
		if (lane == 0)
			while (ibv_poll_cq(d->cq, 16, wc) == 16)
				;
	}
	free(wr);
	return 0;
}

/* One device with its own loop. */
struct job {
	pthread_t thread;
	struct stub stub;
	struct gp_direct direct;
	uint64_t messages, size, ns;
	bool floor, failed;
};

static void *job_run(void *arg)
{
	struct job *job = arg;
	struct gp_round round = {.op = &gp_ops[0],
				 .size = job->size,
				 .messages = job->messages,
				 .initiator = true,
				 .control_fd = -1,
				 .timeout_s = 10};
	struct gp_moved moved = {0};
	struct gp_error err = {0};
	uint64_t start_ns = gp_now_ns();

	if (job->floor) {
		job->failed = loop_floor(&job->stub, &job->direct, job->messages) < 0;
		job->ns = gp_now_ns() - start_ns;
		return NULL;
	}
	job->failed = gp_loop_run(&job->direct, &round, &moved, &err) < 0 ||
		      moved.messages < job->messages;
	job->ns = moved.ns;
	if (err.set)
		fprintf(stderr, "loop: %s\n", err.fact);
	return NULL;
}

static void job_open(struct job *job, int qps, int post_list)
{
	struct gp_bw_options opt = {0};
	struct gp_batch batch;

	gp_options_default(&gp_bw_table, &opt);
	opt.qps = qps;
	opt.tx_depth = TX_DEPTH;
	opt.post_list = post_list;
	opt.size = (struct gp_size_list){1, {job->size}};
	batch = gp_bw_batch(&opt, job->size);
	stub_open(&job->stub, qps);
	job->direct = (struct gp_direct){
		.cq = &job->stub.cq,
		.qp = job->stub.qps,
		.walk = gp_walk_plan(gp_bw_region_bytes(&opt), job->size, qps, batch.messages),
		.tx_depth = opt.tx_depth,
		.post_list = batch.post_list,
		.cq_mod = batch.cq_mod,
		.batch = batch.messages,
		.local_addr = 1 << 30,
		.remote_addr = 1 << 20,
	};
}

int main(int argc, char **argv)
{
	int qps = argc > 2 ? atoi(argv[2]) : 0, post_list = argc > 3 ? atoi(argv[3]) : -1;
	int threads = argc > 6 ? atoi(argv[6]) : 1;
	uint64_t size = 0, messages = argc > 5 ? strtoull(argv[5], NULL, 10) : 0, ns = 0;
	struct job *jobs = calloc(THREADS_MAX, sizeof(*jobs));
	bool failed = !jobs;

	if (argc < 6 || qps < 1 || qps > GP_QP_MAX || post_list < 0 || post_list > TX_DEPTH ||
	    gp_size_read(argv[4], &size) < 0 || !size || !messages || threads < 1 ||
	    threads > THREADS_MAX) {
		fprintf(stderr, "usage: loop run|floor QPS POST_LIST|0 SIZE MESSAGES [THREADS]\n");
		free(jobs);
		return 2;
	}
	for (int i = 0; jobs && i < threads; i++) {
		jobs[i].messages = messages;
		jobs[i].size = size;
		jobs[i].floor = strcmp(argv[1], "floor") == 0;
		job_open(&jobs[i], qps, post_list);
		if (pthread_create(&jobs[i].thread, NULL, job_run, &jobs[i]) != 0)
			exit(1);
	}
	for (int i = 0; jobs && i < threads; i++) {
		pthread_join(jobs[i].thread, NULL);
		failed = failed || jobs[i].failed;
		ns += jobs[i].ns;
	}
	free(jobs);
	/* Of each thread's own time: 8 threads on 2 CPUs still tell what a message costs. */
	printf("%.2f\n", (double)ns / (double)messages / threads);
	return failed ? 1 : 0;
}
