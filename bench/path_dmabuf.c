/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_dmabuf: the recommended path. The GPU driver exports the allocation as a dma-buf, the NIC's
 * driver imports it. A dma-buf fd alone is no proof of GPU memory (CUDA exports pinned host memory
 * too): its exporter and the pointer's attributes are looked at.
 */
#include "path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Exporters of GPU memory: `nvidia` before driver 580.65, `nv_dmabuf` since (kernel-open/nvidia/
 * nv-dmabuf.c of both). */
static const char *const gpu_exporters[] = {"nv_dmabuf", "nvidia"};

struct fdinfo {
	char exporter[64]; /* empty: not told */
	long count;	   /* references to the dma-buf, -1 not told */
};

static void read_fdinfo(int fd, struct fdinfo *info, char *path, size_t size)
{
	char line[128];
	FILE *f;

	*info = (struct fdinfo){.count = -1};
	snprintf(path, size, "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "exp_name: %63[^\n]", info->exporter) == 1)
			continue;
		sscanf(line, "count: %ld", &info->count);
	}
	if (f)
		fclose(f);
}

static void add_exporter_fact(struct gp_rig *rig)
{
	enum gp_support supports = GP_SUPPORT_NO;
	struct fdinfo info;
	char path[64];

	read_fdinfo(rig->dmabuf_fd, &info, path, sizeof(path));
	for (size_t i = 0; i < sizeof(gpu_exporters) / sizeof(gpu_exporters[0]); i++)
		if (strcmp(info.exporter, gpu_exporters[i]) == 0)
			supports = GP_SUPPORT_YES;
	if (!info.exporter[0])
		supports = GP_SUPPORT_UNKNOWN;
	gp_fact_add(&rig->facts, "exporter", rig->end->side, path, supports,
		    info.exporter[0] ? "exported by %s%s" : "exporter not told%s%s", info.exporter,
		    supports == GP_SUPPORT_NO ? ", which is not the GPU driver" : "");
}

static int export_and_register(struct gp_rig *rig, struct gp_error *err)
{
	unsigned access = gp_rdma_access(rig->end->opt->relaxed_ordering == GP_ON);
	bool pcie_mapping;

	if (gp_cuda_export_dmabuf(rig->end->cuda, rig->region.addr, rig->region.bytes,
				  &rig->dmabuf_fd, &pcie_mapping, err) < 0)
		return -1;
	gp_fact_add(&rig->facts, "export", rig->end->side, "cuMemGetHandleForAddressRange",
		    GP_SUPPORT_YES, "%" PRIu64 " bytes as fd %d, %s mapping", rig->region.bytes,
		    rig->dmabuf_fd, pcie_mapping ? "PCIe" : "default");
	add_exporter_fact(rig);
	if (gp_rdma_register_dmabuf(rig->end->rdma, rig->dmabuf_fd, rig->region.bytes,
				    (uintptr_t)rig->region.addr, access, &rig->mr, err) < 0)
		return -1;
	rig->mr_addr = (uintptr_t)rig->region.addr;
	gp_fact_add(&rig->facts, "registration", rig->end->side, "ibv_reg_dmabuf_mr",
		    GP_SUPPORT_YES, "%" PRIu64 " bytes of GPU memory, rkey 0x%x", rig->region.bytes,
		    rig->mr->rkey);
	return 0;
}

static int dmabuf_open(struct gp_rig *rig, struct gp_error *err)
{
	if (gp_rig_open_region(rig, err) < 0)
		return -1;
	if (!gp_rig_on_gpu(rig))
		return gp_rig_register_region(rig, "host memory", err);
	return export_and_register(rig, err);
}

static const struct gp_need needs[] = {
	{"registration", GP_AT_EACH_SIDE},
	{"pointer", GP_AT_EACH_GPU},
	{"exporter", GP_AT_EACH_GPU},
	{"data", GP_AT_EACH_SINK},
	{0},
};

const struct gp_path gp_path_dmabuf = {
	.name = "dmabuf",
	.help = "DMA-BUF: cudaMalloc, cuMemGetHandleForAddressRange, ibv_reg_dmabuf_mr",
	.needs_gpu = true,
	.needs = needs,
	.beside = gp_direct_beside,
	.queues = gp_direct_queues,
	.open = dmabuf_open,
	.ready = gp_direct_ready,
	.tune = gp_direct_tune,
	.walk = gp_direct_walk,
	.run = gp_direct_run,
	.close = gp_direct_close,
};
