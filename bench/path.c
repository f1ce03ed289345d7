/* SPDX-License-Identifier: BSD-2-Clause */
/* path: see path.h. The array is the table of contents; below it is what the paths share. */
#include "path.h"
#include "place.h"
#include "here.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

const struct gp_path *const gp_paths[] = {
	&gp_path_dmabuf, &gp_path_peermem, &gp_path_host, &gp_path_bounce, NULL,
};

const struct gp_path *gp_path_find(const char *name)
{
	for (int i = 0; gp_paths[i]; i++)
		if (strcmp(gp_paths[i]->name, name) == 0)
			return gp_paths[i];
	return NULL;
}

/* Where a prerequisite is known to be missing, that is the reason behind what failed. */
static void add_prerequisite(const struct gp_path *path, struct gp_error *err)
{
	char missing[260], advice[sizeof(err->advice)];

	if (err->exit_code != GP_EXIT_MISSING ||
	    !gp_here_missing(path->name, missing, sizeof(missing)))
		return;
	snprintf(advice, sizeof(advice), "%s", err->advice);
	gp_error_advise(err, "%s%smissing here: %s", advice, advice[0] ? "; " : "", missing);
}

int gp_rig_open(const struct gp_path *path, const struct gp_end *end, struct gp_rig *rig,
		struct gp_error *err)
{
	*rig = (struct gp_rig){.path = path, .end = end, .dmabuf_fd = -1};
	if (path->needs_gpu && !end->gpu && end->no_gpu.set) {
		*err = end->no_gpu;
		return -1;
	}
	if (path->open(rig, err) == 0)
		return 0;
	gp_rig_close(rig);
	add_prerequisite(path, err);
	return -1;
}

void gp_rig_close(struct gp_rig *rig)
{
	if (!rig->path)
		return;
	gp_connect_close(rig->conn);
	rig->path->close(rig);
	*rig = (struct gp_rig){.dmabuf_fd = -1};
}

uint64_t gp_rig_source(const struct gp_rig *rig)
{
	(void)rig;
	return 0;
}

uint64_t gp_rig_sink(const struct gp_rig *rig)
{
	return rig->region.bytes - rig->half_bytes;
}

static json_t *rate_to_json(const struct gp_stage_rate *rate)
{
	return json_pack("{s:f s:f}", "gbytes_per_s", rate->gbytes_per_s, "fixed_ns",
			 rate->fixed_ns);
}

/* Nothing measured, or nothing that makes sense, is no such stage. */
static struct gp_stage_rate rate_from_json(const json_t *json)
{
	struct gp_stage_rate rate = {
		json_number_value(json_object_get(json, "gbytes_per_s")),
		json_number_value(json_object_get(json, "fixed_ns")),
	};

	if (!(rate.gbytes_per_s > 0) || !(rate.fixed_ns >= 0))
		rate = (struct gp_stage_rate){0};
	return rate;
}

json_t *gp_rig_describe(const struct gp_rig *rig)
{
	return json_pack("{s:I s:I s:b s:o s:o}", "addr", (json_int_t)rig->mr_addr, "rkey",
			 (json_int_t)rig->mr->rkey, "staged",
			 (int)(rig->staging && gp_rig_on_gpu(rig)), "copies_out",
			 rate_to_json(&rig->copies.out), "copies_in",
			 rate_to_json(&rig->copies.in));
}

json_t *gp_rig_tuning(const struct gp_rig *rig)
{
	return json_pack("{s:I s:i}", "chunk", (json_int_t)rig->tuning.chunk_bytes, "slots",
			 rig->tuning.slots);
}

/* What a stage gives in chunks. A copy waits for the one before it, the wire does not. */
static double stage_alone(const struct gp_stage_rate *rate, uint64_t chunk_bytes)
{
	double bytes = (double)chunk_bytes;

	return rate->gbytes_per_s > 0 ? bytes / (rate->fixed_ns + bytes / rate->gbytes_per_s)
				      : (double)NAN;
}

void gp_rig_ask_pipeline(const struct gp_rig *rig, const struct gp_op *op, struct gp_pipeline *p)
{
	bool out = op->from_initiator;
	const struct gp_copy_rates *source = out ? &rig->copies : &rig->remote.copies;
	const struct gp_copy_rates *sink = out ? &rig->remote.copies : &rig->copies;
	double wire = rig->wire[op - gp_ops].gbytes_per_s;

	if (!rig->staging)
		return;
	p->chunk_bytes = rig->tuning.chunk_bytes;
	p->slots = rig->tuning.slots;
	p->copy_out.gbytes_per_s = stage_alone(&source->out, p->chunk_bytes);
	p->copy_in.gbytes_per_s = stage_alone(&sink->in, p->chunk_bytes);
	p->wire.gbytes_per_s = wire > 0 ? wire : (double)NAN;
}

int gp_rig_set_tuning(struct gp_rig *rig, const json_t *json, struct gp_error *err)
{
	struct gp_tuning tuning = {
		.chunk_bytes = (uint64_t)json_integer_value(json_object_get(json, "chunk")),
		.slots = (int)json_integer_value(json_object_get(json, "slots")),
	};

	if (!rig->staging)
		return 0;
	if (!gp_tuning_fits(rig->end->opt, &tuning))
		return gp_error_set(err, GP_EXIT_FAILED,
				    "the peer's bounce chunks and slots do not fit here");
	rig->tuning = tuning;
	return 0;
}

int gp_rig_set_remote(struct gp_rig *rig, const json_t *json, struct gp_error *err)
{
	const json_t *addr = json_object_get(json, "addr"), *rkey = json_object_get(json, "rkey");

	if (!json_is_integer(addr) || !json_is_integer(rkey))
		return gp_error_set(err, GP_EXIT_FAILED,
				    "the peer did not say where its memory is");
	rig->remote = (struct gp_remote){
		.addr = (uint64_t)json_integer_value(addr),
		.rkey = (uint32_t)json_integer_value(rkey),
		.staged = json_is_true(json_object_get(json, "staged")),
		.copies = {rate_from_json(json_object_get(json, "copies_out")),
			   rate_from_json(json_object_get(json, "copies_in"))},
	};
	return 0;
}

void gp_rig_ask_place(const struct gp_rig *rig, struct gp_placed *placed)
{
	*placed = (struct gp_placed){.cpu_node_asked = rig->end->cpu_node,
				     .mem_node_asked = rig->end->mem_node,
				     .mem_node = -1};
	gp_place_ask_thread(&placed->cpu, &placed->cpu_node);
	/* The MR covers the host memory in use: the region, or the bounce slots. */
	if (rig->staging || !gp_rig_on_gpu(rig))
		gp_place_ask_memory((void *)(uintptr_t)rig->mr_addr, rig->mr->length,
				    &placed->mem_node, &placed->mem_share);
}

bool gp_rig_on_gpu(const struct gp_rig *rig)
{
	return rig->path->needs_gpu && rig->end->gpu;
}

/* The driver's word on the pointer: device memory, not managed, on the GPU that was chosen. */
static int add_pointer_fact(struct gp_rig *rig, struct gp_error *err)
{
	static const char *const types[] = {"no CUDA pointer", "host memory", "device memory",
					    "an array", "unified memory"};
	const struct gp_gpu *gpu = rig->end->gpu;
	struct gp_cuda_pointer p;
	bool good;

	if (gp_cuda_pointer(rig->end->cuda, rig->region.addr, &p, err) < 0)
		return -1;
	good = p.memory_type == 2 && p.is_managed == 0 && p.ordinal == gpu->ordinal;
	gp_fact_add(&rig->facts, "pointer", rig->end->side, "cuPointerGetAttribute",
		    good				? GP_SUPPORT_YES
		    : p.is_managed < 0 || p.ordinal < 0 ? GP_SUPPORT_UNKNOWN
							: GP_SUPPORT_NO,
		    "%s%s on GPU %d, %s",
		    p.memory_type >= 0 && p.memory_type <= 4 ? types[p.memory_type] : "unknown",
		    p.is_managed > 0 ? ", managed," : "", p.ordinal, gpu->name);
	return 0;
}

int gp_rig_open_region(struct gp_rig *rig, struct gp_error *err)
{
	const struct gp_bw_options *opt = rig->end->opt;
	bool on_gpu = gp_rig_on_gpu(rig);

	rig->half_bytes = gp_bw_region_bytes(opt);
	if (gp_region_open(on_gpu ? rig->end->cuda : NULL,
			   rig->half_bytes * (opt->bidirectional ? 2 : 1), rig->end->mem_node,
			   &rig->region, err) < 0)
		return -1;
	return on_gpu ? add_pointer_fact(rig, err) : 0;
}

int gp_rig_register_region(struct gp_rig *rig, const char *what, struct gp_error *err)
{
	unsigned access = gp_rdma_access(rig->end->opt->relaxed_ordering == GP_ON);

	if (gp_rdma_register(rig->end->rdma, rig->region.addr, rig->region.bytes, access, what,
			     &rig->mr, err) < 0)
		return -1;
	rig->mr_addr = (uintptr_t)rig->region.addr;
	gp_fact_add(&rig->facts, "registration", rig->end->side, "ibv_reg_mr", GP_SUPPORT_YES,
		    "%" PRIu64 " bytes of %s, rkey 0x%x", rig->region.bytes, what, rig->mr->rkey);
	return 0;
}

uint64_t gp_direct_beside(const struct gp_bw_options *opt)
{
	(void)opt;
	return 0;
}

void gp_direct_queues(const struct gp_bw_options *opt, int *send_wr, int *recv_wr)
{
	*send_wr = opt->tx_depth;
	*recv_wr = 1;
}

int gp_direct_ready(struct gp_rig *rig, struct gp_error *err)
{
	(void)rig;
	(void)err;
	return 0;
}

int gp_direct_tune(struct gp_rig *rig, struct gp_error *err)
{
	(void)rig;
	(void)err;
	return 0;
}

struct gp_walk gp_direct_walk(const struct gp_rig *rig, uint64_t size)
{
	struct gp_batch batch = gp_bw_batch(rig->end->opt, size);

	return gp_walk_plan(rig->half_bytes, size, gp_connection_qps(rig->conn), batch.messages);
}

int gp_direct_run(struct gp_rig *rig, const struct gp_round *round, struct gp_moved *moved,
		  struct gp_error *err)
{
	const struct gp_bw_options *opt = rig->end->opt;
	struct gp_batch batch = gp_bw_batch(opt, round->size);
	struct ibv_qp *qp[GP_QP_MAX];
	bool outwards = round->op->from_initiator;
	int qps = gp_connection_qps(rig->conn);
	struct gp_direct direct = {
		.cq = gp_connection_cq(rig->conn),
		.qp = qp,
		.walk = gp_direct_walk(rig, round->size),
		.tx_depth = opt->tx_depth,
		.post_list = batch.post_list,
		.cq_mod = batch.cq_mod,
		.batch = batch.messages,
		.local_addr = rig->mr_addr + (outwards ? gp_rig_source(rig) : gp_rig_sink(rig)),
		.remote_addr =
			rig->remote.addr + (outwards ? gp_rig_sink(rig) : gp_rig_source(rig)),
		.lkey = rig->mr->lkey,
		.rkey = rig->remote.rkey,
	};

	for (int i = 0; i < qps; i++)
		qp[i] = gp_connection_qp(rig->conn, i);
	return gp_loop_run(&direct, round, moved, err);
}

void gp_direct_close(struct gp_rig *rig)
{
	gp_rdma_deregister(rig->mr);
	rig->mr = NULL;
	if (rig->dmabuf_fd >= 0)
		close(rig->dmabuf_fd);
	rig->dmabuf_fd = -1;
	gp_region_close(&rig->region);
}
