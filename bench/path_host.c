/* SPDX-License-Identifier: BSD-2-Clause */
/* path_host: page-locked host memory on both sides. No GPU is in the path: what NIC and wire do. */
#include "path.h"

static int host_open(struct gp_rig *rig, struct gp_error *err)
{
	if (gp_rig_open_region(rig, err) < 0)
		return -1;
	return gp_rig_register_region(rig, "host memory", err);
}

static const struct gp_need needs[] = {
	{"registration", GP_AT_EACH_SIDE},
	{"data", GP_AT_EACH_SINK},
	{0},
};

const struct gp_path gp_path_host = {
	.name = "host",
	.help = "page-locked host memory on both sides: what NIC and wire can do without a GPU",
	.needs = needs,
	.beside = gp_direct_beside,
	.queues = gp_direct_queues,
	.open = host_open,
	.ready = gp_direct_ready,
	.tune = gp_direct_tune,
	.walk = gp_direct_walk,
	.run = gp_direct_run,
	.close = gp_direct_close,
};
