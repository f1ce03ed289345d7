/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_peermem: the legacy path. ibv_reg_mr of the device pointer; the kernel finds no pages behind
 * it and asks the peer-memory clients, nvidia_peermem among them.
 */
#include "path.h"

#include <stdio.h>
#include <unistd.h>

/* Users of the module, each MR being one; -1 where it is not told. System-wide. */
static long peermem_users(void)
{
	FILE *f = fopen("/sys/module/nvidia_peermem/refcnt", "re");
	long users = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &users) != 1)
		users = -1;
	fclose(f);
	return users;
}

/* A registration that succeeds proves a peer-memory client only where the CPU can't reach the GPU's
 * memory through its own page tables. */
static void add_page_table_fact(struct gp_rig *rig)
{
	int shared = rig->end->gpu->host_page_tables;

	gp_fact_add(&rig->facts, "own-page-tables", rig->end->side, "cuDeviceGetAttribute(100)",
		    shared == 0 ? GP_SUPPORT_YES : GP_SUPPORT_UNKNOWN, "%s",
		    shared == 0	 ? "the GPU does not share the CPU's page tables"
		    : shared > 0 ? "the GPU shares the CPU's page tables: ibv_reg_mr can succeed "
				   "without nvidia_peermem"
				 : "whether the GPU shares the CPU's page tables is not told");
}

/* The module's use count rises by one per MR: a rise is support, its absence speaks against it.
 * More than one may be somebody else's. */
static void add_users_fact(struct gp_rig *rig, long before, long after)
{
	if (before < 0 || after < 0)
		gp_fact_add(&rig->facts, "peermem-users", rig->end->side,
			    "/sys/module/nvidia_peermem/refcnt", GP_SUPPORT_UNKNOWN, "not told");
	else
		gp_fact_add(&rig->facts, "peermem-users", rig->end->side,
			    "/sys/module/nvidia_peermem/refcnt",
			    after > before    ? GP_SUPPORT_YES
			    : after == before ? GP_SUPPORT_NO
					      : GP_SUPPORT_UNKNOWN,
			    "%ld before the registration, %ld after", before, after);
}

static int peermem_open(struct gp_rig *rig, struct gp_error *err)
{
	long before;

	if (gp_rig_open_region(rig, err) < 0)
		return -1;
	if (!gp_rig_on_gpu(rig))
		return gp_rig_register_region(rig, "host memory", err);
	before = peermem_users();
	if (gp_rig_register_region(rig, "GPU memory", err) < 0)
		return -1;
	add_users_fact(rig, before, peermem_users());
	add_page_table_fact(rig);
	return 0;
}

static const struct gp_need needs[] = {
	{"registration", GP_AT_EACH_SIDE},
	{"pointer", GP_AT_EACH_GPU},
	{"own-page-tables", GP_AT_EACH_GPU},
	{"data", GP_AT_EACH_SINK},
	{0},
};

const struct gp_path gp_path_peermem = {
	.name = "peermem",
	.help = "legacy nvidia-peermem: cudaMalloc, ibv_reg_mr on the device pointer",
	.needs_gpu = true,
	.needs = needs,
	.beside = gp_direct_beside,
	.queues = gp_direct_queues,
	.open = peermem_open,
	.ready = gp_direct_ready,
	.tune = gp_direct_tune,
	.walk = gp_direct_walk,
	.run = gp_direct_run,
	.close = gp_direct_close,
};
