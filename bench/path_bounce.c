/* SPDX-License-Identifier: BSD-2-Clause */
/* path_bounce: the baseline without GPUDirect, through pinned host memory; the work is staged's. */
#include "path.h"
#include "staged.h"

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
	.queues = gp_staged_queues,
	.open = bounce_open,
	.ready = gp_staged_ready,
	.walk = gp_staged_walk,
	.run = gp_staged_run,
	.close = bounce_close,
};
