/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_loop: the direct loop against a device that looks at every work request. Each lane goes
 * through its slots in order, over and over, whether its requests are prepared for the whole walk
 * or moved on; the window is never overrun; a round ends as it should, or fails with its cause.
 */
#include "loop.h"
#include "units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LOCAL	 (UINT64_C(1) << 40)
#define REMOTE	 (UINT64_C(1) << 30)
#define LKEY	 17
#define RKEY	 23
#define RING	 65536 /* completions that wait */

struct shape {
	int lanes;
	uint64_t bytes, size;
	int tx_depth, post_list, cq_mod;
};

/* Whole walks in requests and moved ones; signals on each chain, on several, within one. */
static const struct shape shapes[] = {
	{1, GP_MIB, 64 * GP_KIB, 128, 16, 16},
	{1, GP_MIB, 64 * GP_KIB, 16, 16, 16},
	{1, 64 * GP_KIB, 64 * GP_KIB, 1, 1, 1},
	{3, GP_MIB, 4096, 128, 1, 1},
	{4, 4 * GP_MIB, 1000, 100, 16, 16},
	{4, 4 * GP_MIB, 1000, 100, 4, 16},
	{4, 4 * GP_MIB, 1000, 100, 16, 4},
	{1, 4096 * 64, 64, 128, 16, 16},
	{1, 4097 * 64, 64, 128, 1, 1},
	{2, GP_MIB, 2, 128, 16, 16},
	{2, GP_MIB, 2, 128, 5, 10},
	{5, 3 * GP_MIB, 65, 99, 3, 3},
	{256, 16 * GP_MIB, 64, 128, 16, 16},
	{16, GP_MIB, 1, 1024, 64, 128},
};

struct lane {
	struct ibv_qp qp;
	uint64_t posted, signalled, completed; /* messages */
};

struct device {
	struct ibv_context ctx;
	struct ibv_cq cq;
	struct lane lane[GP_QP_MAX];
	struct ibv_qp *qps[GP_QP_MAX];
	struct gp_direct direct;
	enum ibv_wr_opcode opcode;
	struct {
		uint64_t wr_id;
		struct lane *lane;
	} ring[RING];
	unsigned head, tail;
	unsigned posts, polls;
	unsigned fail_post, fail_poll, fail_wc; /* the n-th fails; 0: none */
	bool silent;				/* nothing ever completes */
};

static void expect_request(const struct device *dev, const struct lane *lane,
			   const struct ibv_send_wr *wr)
{
	const struct gp_walk *walk = &dev->direct.walk;
	uint64_t offset = gp_walk_begin(walk, (int)(lane - dev->lane)) +
			  lane->posted % walk->slots * walk->stride;

	assert_int_equal(wr->opcode, dev->opcode);
	assert_int_equal(wr->num_sge, 1);
	assert_int_equal(wr->sg_list->addr, LOCAL + offset);
	assert_int_equal(wr->sg_list->length, walk->size);
	assert_int_equal(wr->sg_list->lkey, LKEY);
	assert_int_equal(wr->wr.rdma.remote_addr, REMOTE + offset);
	assert_int_equal(wr->wr.rdma.rkey, RKEY);
}

static int device_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct device *dev = qp->qp_context;
	struct lane *lane = (struct lane *)qp;
	int chained = 0;

	if (++dev->posts == dev->fail_post) {
		*bad = wr;
		return ENOMEM;
	}
	for (; wr; wr = wr->next, chained++) {
		expect_request(dev, lane, wr);
		lane->posted++;
		assert_int_equal(!!(wr->send_flags & IBV_SEND_SIGNALED),
				 lane->posted % (uint64_t)dev->direct.cq_mod == 0);
		if (!(wr->send_flags & IBV_SEND_SIGNALED))
			continue;
		lane->signalled = lane->posted;
		dev->ring[dev->tail % RING].lane = lane;
		dev->ring[dev->tail++ % RING].wr_id = wr->wr_id;
		assert_true(dev->tail - dev->head <= RING);
	}
	assert_int_equal(chained, dev->direct.post_list);
	assert_true(lane->posted - lane->completed <= (uint64_t)dev->direct.tx_depth);
	return 0;
}

/* Now none, now one, now all that there is room for. */
static int device_poll(struct ibv_cq *cq, int max, struct ibv_wc *wc)
{
	struct device *dev = cq->cq_context;
	int n = 0, most = ++dev->polls % 3 == 0 ? 0 : dev->polls % 3 == 1 ? 1 : max;

	if (dev->polls == dev->fail_poll)
		return -EIO;
	for (; n < most && dev->head != dev->tail && !dev->silent; n++) {
		struct lane *lane = dev->ring[dev->head % RING].lane;

		wc[n].wr_id = dev->ring[dev->head++ % RING].wr_id;
		wc[n].status = dev->head == dev->fail_wc ? IBV_WC_REM_ACCESS_ERR : IBV_WC_SUCCESS;
		lane->completed += (uint64_t)dev->direct.cq_mod;
	}
	return n;
}

static struct device *device_open(const struct shape *shape)
{
	int batch = shape->post_list > shape->cq_mod ? shape->post_list : shape->cq_mod;
	struct device *dev = calloc(1, sizeof(*dev));

	assert_non_null(dev);
	dev->ctx.ops.post_send = device_post;
	dev->ctx.ops.poll_cq = device_poll;
	dev->cq = (struct ibv_cq){.context = &dev->ctx, .cq_context = dev};
	dev->opcode = IBV_WR_RDMA_WRITE;
	for (int i = 0; i < shape->lanes; i++) {
		dev->lane[i].qp = (struct ibv_qp){.context = &dev->ctx, .qp_context = dev};
		dev->qps[i] = &dev->lane[i].qp;
	}
	dev->direct = (struct gp_direct){
		.cq = &dev->cq,
		.qp = dev->qps,
		.walk = gp_walk_plan(shape->bytes, shape->size, shape->lanes, batch),
		.tx_depth = shape->tx_depth,
		.post_list = shape->post_list,
		.cq_mod = shape->cq_mod,
		.batch = batch,
		.local_addr = LOCAL,
		.remote_addr = REMOTE,
		.lkey = LKEY,
		.rkey = RKEY,
	};
	assert_true(dev->direct.walk.slots > 0);
	return dev;
}

static struct gp_round round_of(const struct device *dev)
{
	return (struct gp_round){.op = &gp_ops[0],
				 .size = dev->direct.walk.size,
				 .initiator = true,
				 .control_fd = -1,
				 .timeout_s = 5};
}

static void expect_moved(const struct device *dev, const struct gp_moved *moved)
{
	uint64_t all = 0;

	assert_int_equal(moved->lanes, dev->direct.walk.lanes);
	for (int i = 0; i < moved->lanes; i++) {
		const struct lane *lane = &dev->lane[i];

		assert_int_equal(moved->lane_messages[i], lane->posted);
		assert_int_equal(lane->completed, lane->posted);
		all += lane->posted;
	}
	assert_int_equal(moved->all_messages, all);
	assert_true(moved->messages <= all);
	assert_int_equal(moved->bytes, moved->messages * dev->direct.walk.size);
	assert_int_equal(dev->head, dev->tail);
}

static void test_each_lane_walks_its_slots_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct device *dev = device_open(&shapes[i]);
		const struct gp_walk *walk = &dev->direct.walk;
		struct gp_round round = round_of(dev);
		struct gp_moved moved = {0};
		struct gp_error err = {0};

		/* Twice through, and on: device_post() looks at every request. */
		round.messages = walk->slots * (uint64_t)walk->lanes * 5 / 2;
		assert_int_equal(gp_loop_run(&dev->direct, &round, &moved, &err), 0);
		expect_moved(dev, &moved);
		assert_true(moved.messages >= round.messages);
		for (int lane = 0; lane < walk->lanes; lane++)
			assert_true(dev->lane[lane].posted >= walk->slots);
		free(dev);
	}
}

/* The overshoot is what was in flight, no more: one message posts one batch. */
static void test_no_more_is_posted_than_the_messages_want(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++)
		for (uint64_t messages = 1; messages < 2000; messages = messages * 3 + 1) {
			struct device *dev = device_open(&shapes[i]);
			struct gp_round round = round_of(dev);
			struct gp_moved moved = {0};
			struct gp_error err = {0};

			round.messages = messages;
			assert_int_equal(gp_loop_run(&dev->direct, &round, &moved, &err), 0);
			expect_moved(dev, &moved);
			assert_true(moved.messages >= messages);
			assert_true(moved.all_messages < messages + (uint64_t)dev->direct.batch);
			free(dev);
		}
}

static int count_ended(void *arg, const struct gp_moved *moved, struct gp_error *err)
{
	(void)moved;
	(void)err;
	++*(int *)arg;
	return 0;
}

static void test_a_round_by_time_lasts_as_long(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct device *dev = device_open(&shapes[i]);
		struct gp_round round = round_of(dev);
		struct gp_moved moved = {0};
		struct gp_error err = {0};
		int ended = 0;

		round.op = &gp_ops[1];
		dev->opcode = IBV_WR_RDMA_READ;
		round.duration_ns = GP_NS_PER_S / 200;
		round.ended = count_ended;
		round.ended_arg = &ended;
		assert_int_equal(gp_loop_run(&dev->direct, &round, &moved, &err), 0);
		assert_int_equal(ended, 1);
		assert_true(moved.ns >= round.duration_ns && moved.ns < 200 * round.duration_ns);
		assert_true(moved.messages > 0);
		expect_moved(dev, &moved);
		free(dev);
	}
}

/* The window opens late: what came before is moved, and not counted. */
static void test_a_window_opens_when_it_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++) {
		struct device *dev = device_open(&shapes[i]);
		struct gp_round round = round_of(dev);
		struct gp_moved moved = {0};
		struct gp_error err = {0};

		round.duration_ns = GP_NS_PER_S / 500;
		round.open_ns = gp_now_ns() + GP_NS_PER_S / 100;
		assert_int_equal(gp_loop_run(&dev->direct, &round, &moved, &err), 0);
		assert_true(moved.start_ns >= round.open_ns);
		assert_true(moved.ns >= round.duration_ns);
		assert_true(moved.messages > 0);
		/* Five sixths of the time were before it. */
		assert_true(moved.messages < moved.all_messages);
		assert_true(moved.bytes == moved.messages * dev->direct.walk.size);
		free(dev);
	}
}

static void test_a_passive_side_ends_by_the_peers_message(void **state)
{
	struct device *dev = device_open(&shapes[0]);
	struct gp_round round = round_of(dev);
	struct gp_moved moved = {0};
	struct gp_error err = {0};
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	round.control_fd = fds[0];
	round.until_message = true;
	assert_int_equal(gp_loop_run(&dev->direct, &round, &moved, &err), 0);
	expect_moved(dev, &moved);
	close(fds[0]);
	close(fds[1]);
	free(dev);
}

static void expect_failure(struct device *dev, const char *fact)
{
	struct gp_round round = round_of(dev);
	struct gp_moved moved = {.messages = 77};
	struct gp_error err = {0};

	round.messages = 1 << 20;
	round.timeout_s = 0.05;
	assert_int_equal(gp_loop_run(&dev->direct, &round, &moved, &err), -1);
	assert_true(err.set);
	assert_int_equal(err.exit_code, GP_EXIT_FAILED);
	assert_non_null(strstr(err.fact, fact));
	assert_int_equal(moved.messages, 77);
	free(dev);
}

static void test_what_fails_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(shapes); i++)
		for (unsigned n = 1; n < 300; n = n * 3 + 1) {
			struct device *dev = device_open(&shapes[i]);

			dev->fail_post = n;
			expect_failure(dev, "ibv_post_send");
			dev = device_open(&shapes[i]);
			dev->fail_poll = n;
			expect_failure(dev, "ibv_poll_cq");
			dev = device_open(&shapes[i]);
			dev->fail_wc = n;
			expect_failure(dev, "RDMA write");
		}
}

static void test_a_silent_device_ends_in_time(void **state)
{
	struct device *dev = device_open(&shapes[0]);

	(void)state;
	dev->silent = true;
	expect_failure(dev, "no progress");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_lane_walks_its_slots_in_order),
		cmocka_unit_test(test_no_more_is_posted_than_the_messages_want),
		cmocka_unit_test(test_a_round_by_time_lasts_as_long),
		cmocka_unit_test(test_a_window_opens_when_it_is_told),
		cmocka_unit_test(test_a_passive_side_ends_by_the_peers_message),
		cmocka_unit_test(test_what_fails_is_told),
		cmocka_unit_test(test_a_silent_device_ends_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
