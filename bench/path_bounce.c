/* SPDX-License-Identifier: BSD-2-Clause */
/* path_bounce: the baseline without GPUDirect, through pinned host memory; the work is staging's.
 */
#include "path.h"
#include "staging.h"

static int bounce_open(struct gp_rig *rig, struct gp_error *err)
{
	if (gp_rig_open_region(rig, err) < 0)
		return -1;
	return gp_staging_open(rig, err);
}

static void bounce_close(struct gp_rig *rig)
{
	gp_staging_close(rig);
	gp_direct_close(rig);
}

static uint64_t bounce_beside(const struct gp_bw_options *opt)
{
	return 2 * gp_tuning_room(opt);
}

static const struct gp_need needs[] = {
	{"registration", GP_AT_EACH_SIDE},
	{"pointer", GP_AT_EACH_GPU},
	{"data", GP_AT_EACH_SINK},
	{0},
};

const struct gp_path gp_path_bounce = {
	.name = "bounce",
	.help = "the baseline without GPUDirect: GPU, pinned host, NIC, wire, NIC, pinned host, "
		"GPU",
	.needs_gpu = true,
	.both_sides_run = true,
	.needs = needs,
	.beside = bounce_beside,
	.queues = gp_staging_queues,
	.open = bounce_open,
	.ready = gp_staging_ready,
	.tune = gp_staging_tune,
	.walk = gp_staging_walk,
	.run = gp_staging_run,
	.close = bounce_close,
};
