/* SPDX-License-Identifier: BSD-2-Clause */
/* side: see side.h. */
#include "side.h"
#include "pattern.h"
#include "units.h"

#include <string.h>

bool gp_task_is_source(const struct gp_task *task)
{
	const struct gp_round *round = &task->round;

	return round->two_way || round->initiator == round->op->from_initiator;
}

bool gp_task_is_sink(const struct gp_task *task)
{
	const struct gp_round *round = &task->round;

	return round->two_way || round->initiator != round->op->from_initiator;
}

bool gp_task_mover_is_peer(const struct gp_task *task)
{
	return task->round.op->from_initiator;
}

/* Direction 0 leaves the client. */
static uint64_t direction_seed(const struct gp_task *task, bool outgoing)
{
	bool client = task->rig->end->side == GP_CLIENT;

	return gp_pattern_seed(task->seed, task->round.number, client == outgoing ? 0 : 1);
}

static uint64_t walked_bytes(const struct gp_walk *walk)
{
	return (uint64_t)walk->lanes * walk->slots * walk->stride;
}

int gp_task_prepare(struct gp_task *task, struct gp_error *err)
{
	struct gp_rig *rig = task->rig;
	struct gp_walk walk = rig->path->walk(rig, task->round.size);

	if (gp_task_is_source(task) && rig->end->opt->verify != GP_VERIFY_OFF &&
	    gp_region_fill(&rig->region, gp_rig_source(rig), walked_bytes(&walk),
			   direction_seed(task, true), err) < 0)
		return -1;
	gp_rdma_counters(&rig->end->rdma->nic, &task->before);
	return 0;
}

static int64_t difference(int64_t before, int64_t after)
{
	return before < 0 || after < before ? -1 : after - before;
}

void gp_task_count(const struct gp_task *task, struct gp_counters *counted)
{
	const struct gp_counters *before = &task->before;
	struct gp_counters after;

	gp_rdma_counters(&task->rig->end->rdma->nic, &after);
	*counted = (struct gp_counters){
		.sent_bytes = difference(before->sent_bytes, after.sent_bytes),
		.received_bytes = difference(before->received_bytes, after.received_bytes),
		.sent_packets = difference(before->sent_packets, after.sent_packets),
		.received_packets = difference(before->received_packets, after.received_packets),
	};
}

static int flush_writes(struct gp_rig *rig, struct gp_error *err)
{
	const char *what;

	if (!gp_rig_on_gpu(rig))
		return 0;
	return gp_cuda_flush(rig->end->cuda, rig->end->gpu, &what, err);
}

int gp_task_check(struct gp_task *task, const struct gp_moved *mover, struct gp_check *check,
		  struct gp_error *err)
{
	struct gp_rig *rig = task->rig;
	struct gp_walk walk = rig->path->walk(rig, task->round.size);
	int verify = rig->end->opt->verify;

	if (!gp_task_is_sink(task) || verify == GP_VERIFY_OFF)
		return 0;
	if (mover->lanes != walk.lanes)
		return gp_error_set(err, GP_EXIT_FAILED,
				    "the peer moved data on %d QPs, here there are %d",
				    mover->lanes, walk.lanes);
	if (flush_writes(rig, err) < 0)
		return -1;
	for (int i = 0; i < walk.lanes; i++) {
		uint64_t count = mover->lane_messages[i];
		struct gp_span span = {
			.origin = gp_rig_sink(rig),
			.from = gp_rig_sink(rig) + gp_walk_begin(&walk, i),
			.size = walk.size,
			.stride = walk.stride,
			.count = count < walk.slots ? count : walk.slots,
		};

		if (gp_region_check(&rig->region, &span, direction_seed(task, false),
				    verify == GP_VERIFY_SAMPLE, check, err) < 0)
			return -1;
	}
	return 0;
}

json_t *gp_moved_to_json(const struct gp_moved *moved)
{
	json_t *lanes = json_array(), *busy = json_array();

	for (int i = 0; i < moved->lanes; i++)
		json_array_append_new(lanes, json_integer((json_int_t)moved->lane_messages[i]));
	for (int i = 0; i < GP_STAGES; i++)
		json_array_append_new(busy, json_integer((json_int_t)moved->busy_ns[i]));
	return json_pack("{s:I s:I s:I s:I s:o s:o s:I}", "messages", (json_int_t)moved->messages,
			 "bytes", (json_int_t)moved->bytes, "ns", (json_int_t)moved->ns, "all",
			 (json_int_t)moved->all_messages, "lanes", lanes, "busy", busy, "span",
			 (json_int_t)moved->span_ns);
}

static int read_count(const json_t *value, uint64_t *out, struct gp_error *err)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "the peer did not say what it moved");
	*out = (uint64_t)json_integer_value(value);
	return 0;
}

int gp_moved_from_json(const json_t *json, struct gp_moved *moved, struct gp_error *err)
{
	const json_t *lanes = json_object_get(json, "lanes");
	struct gp_moved m = {.lanes = (int)json_array_size(lanes)};

	if (json_array_size(lanes) > GP_QP_MAX)
		return gp_error_set(err, GP_EXIT_FAILED, "the peer speaks of too many QPs");
	if (read_count(json_object_get(json, "messages"), &m.messages, err) < 0 ||
	    read_count(json_object_get(json, "bytes"), &m.bytes, err) < 0 ||
	    read_count(json_object_get(json, "ns"), &m.ns, err) < 0 ||
	    read_count(json_object_get(json, "all"), &m.all_messages, err) < 0)
		return -1;
	if (read_count(json_object_get(json, "span"), &m.span_ns, err) < 0)
		return -1;
	for (size_t i = 0; i < GP_STAGES; i++)
		if (read_count(json_array_get(json_object_get(json, "busy"), i), &m.busy_ns[i],
			       err) < 0)
			return -1;
	for (int i = 0; i < m.lanes; i++)
		if (read_count(json_array_get(lanes, (size_t)i), &m.lane_messages[i], err) < 0)
			return -1;
	*moved = m;
	return 0;
}

static struct gp_connect_want connect_want(const struct gp_path *path,
					   const struct gp_bw_options *opt)
{
	struct gp_connect_want want = {
		.qps = opt->qps,
		.mtu = opt->mtu,
		.gid_index = opt->gid_index,
		.service_level = opt->service_level,
		.traffic_class = opt->traffic_class,
		.timeout_s = opt->timeout_s,
	};

	path->queues(opt, &want.send_wr, &want.recv_wr);
	return want;
}

int gp_side_prepare_connection(struct gp_rig *rig, enum gp_connect_way way, json_t **info,
			       struct gp_error *err)
{
	struct gp_connect_want want = connect_want(rig->path, rig->end->opt);

	return gp_connect_prepare(way, rig->end->rdma, &want, rig->end->side == GP_CLIENT,
				  &rig->conn, info, err);
}

/* No machine that this runs on fills or checks memory more slowly. */
#define SLOWEST_BYTES_PER_S (16.0 * GP_MIB)

double gp_side_patience_s(const struct gp_bw_options *opt)
{
	double bytes = (double)gp_bw_region_bytes(opt) * (opt->bidirectional ? 2 : 1);

	return opt->timeout_s + bytes / SLOWEST_BYTES_PER_S;
}
