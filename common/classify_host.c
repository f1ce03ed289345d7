/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify_host: findings about a host by itself: driver, GPU, NIC, kernel, CUDA, OFED, modules,
 * limits. Their conditions, then their rows.
 */
#include "classify_findings.h"

#include <string.h>

static bool module_loaded(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_PEERMEM) == GP_YES ||
	       gp_case_known(c, GP_FACT_NV_PEER_MEM) == GP_YES;
}

static bool is_dmabuf(const struct gp_case *c)
{
	return gp_case_is(c, GP_PATH_DMABUF);
}

static bool no_driver(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_DRIVER) == GP_NO;
}

static bool no_rdma(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_RDMA) == GP_NO;
}

static bool no_gdr(const struct gp_case *c)
{
	const struct gp_host_fact *line;
	bool all;

	return gp_gpus_lack_gdr(c->inv, &all, &line);
}

static bool kernel_old(const struct gp_case *c)
{
	return gp_case_older(c, GP_FACT_KERNEL, "5.12", 2);
}

static bool cuda_old(const struct gp_case *c)
{
	return gp_case_older(c, GP_FACT_CUDA_TOOLKIT, "11.7", 2) ||
	       gp_case_older(c, GP_FACT_CUDA_DRIVER, "11.7", 2);
}

static bool nic_without_dmabuf(const struct gp_case *c)
{
	return strstr(c->verdict->dmabuf[GP_NEED_KERNEL].detail, " has dma-buf ") != NULL;
}

/* OFED is known to be absent, and the legacy path is what is left. */
static bool lacks_ofed(const struct gp_case *c)
{
	bool gated = no_driver(c) || no_rdma(c) || no_gdr(c);

	return !gated && c->verdict->peermem[GP_NEED_OFED].state == GP_STATE_MISSING &&
	       (gp_case_is(c, GP_PATH_NONE) || gp_case_is(c, GP_PATH_PEERMEM));
}

static bool needs_ofed(const struct gp_case *c)
{
	return lacks_ofed(c) && !module_loaded(c);
}

/* The kernel's own peer-memory interface: Ubuntu's 5.4 and 5.15, linux-nvidia. */
static bool loaded_without_ofed(const struct gp_case *c)
{
	return lacks_ofed(c) && module_loaded(c);
}

static bool not_loaded(const struct gp_case *c)
{
	return gp_case_is(c, GP_PATH_PEERMEM) && gp_case_known(c, GP_FACT_PEERMEM) == GP_NO &&
	       !module_loaded(c);
}

static bool memory_peers_absent(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_MEMORY_PEERS) == GP_NO &&
	       gp_case_known(c, GP_FACT_PEERMEM) != GP_NO && c->verdict->path != GP_PATH_NONE &&
	       (!gp_case_is(c, GP_PATH_DMABUF) || module_loaded(c));
}

static bool peer_symbols(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_PEER_SYMBOLS) == GP_YES;
}

static bool legacy_module(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_NV_PEER_MEM) == GP_YES;
}

static bool memlock_limited(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_MEMLOCK) == GP_NO;
}

static bool coherent(const struct gp_case *c)
{
	for (int i = 0; i < c->inv->gpus.n; i++)
		if (gp_gpu_name_is_coherent(c->inv->gpus.item[i].name))
			return true;
	return gp_case_known(c, GP_FACT_COHERENT) == GP_YES;
}

static bool both_paths(const struct gp_case *c)
{
	return gp_case_is(c, GP_PATH_DMABUF) && module_loaded(c) &&
	       c->verdict->peermem[GP_NEED_OFED].state != GP_STATE_MISSING;
}

const struct gp_finding_row gp_host_findings[] = {
	{"no-gpu-driver",
	 GP_SEVERITY_ERROR,
	 no_driver,
	 {GP_FACT_DRIVER, GP_NO_FACT},
	 "no NVIDIA driver is loaded on this host",
	 "install the NVIDIA driver with the Open Kernel Module (R515 or newer, Turing or newer)",
	 NULL,
	 NULL,
	 NULL},
	{"no-rdma-device",
	 GP_SEVERITY_ERROR,
	 no_rdma,
	 {GP_FACT_RDMA, GP_FACT_NIC_PCI, GP_NO_FACT},
	 "no RDMA device is visible: neither path can be judged against a NIC that this host does "
	 "not see",
	 "fix the NIC half first: lspci for the card, dmesg and lsmod for mlx5_core and mlx5_ib "
	 "(or "
	 "the driver of that NIC), then ibv_devinfo",
	 NULL,
	 NULL,
	 NULL},
	{"gpu-without-gdr",
	 GP_SEVERITY_ERROR,
	 no_gdr,
	 {GP_FACT_GPU_GDR, GP_NO_FACT},
	 "{gpu} does not support GPUDirect RDMA, whatever modules are loaded",
	 "no module or setting helps: use a data-centre or professional GPU (a passed-through one "
	 "in place of a vGPU slice), or stay with host memory; CUDA attribute 116 tells for sure",
	 NULL,
	 NULL,
	 NULL},
	{"driver-proprietary-blocks-dmabuf",
	 GP_SEVERITY_WARNING,
	 gp_case_proprietary,
	 {GP_FACT_OPEN, GP_FACT_DRIVER, GP_NO_FACT},
	 "the NVIDIA driver {driver} is the proprietary flavour, which alone rules DMA-BUF out",
	 "install the Open Kernel Module flavour of the driver; with the GPU Operator --set "
	 "driver.kernelModuleType=open (from R570 on `auto` chooses it)",
	 gp_case_gpu_is_old,
	 "the NVIDIA driver {driver} is the proprietary flavour, which alone rules DMA-BUF out, "
	 "and "
	 "{gpu} is older than Turing: the Open Kernel Module does not drive it",
	 "stay with nvidia-peermem on this GPU; DMA-BUF needs Turing or newer"},
	{"kernel-below-5.12",
	 GP_SEVERITY_WARNING,
	 kernel_old,
	 {GP_FACT_KERNEL, GP_NO_FACT},
	 "kernel {kernel} is below 5.12, the first with RDMA memory regions from dma-bufs",
	 "for DMA-BUF, run a kernel 5.12 or newer (RHEL 9, Ubuntu 22.04 and newer have one)",
	 NULL,
	 NULL,
	 NULL},
	{"cuda-below-11.7",
	 GP_SEVERITY_WARNING,
	 cuda_old,
	 {GP_FACT_CUDA_TOOLKIT, GP_FACT_CUDA_DRIVER, GP_NO_FACT},
	 "CUDA is below 11.7, which DMA-BUF needs: {cuda}",
	 "upgrade the side that falls short: the driver (R515 or newer), or the toolkit that the "
	 "program and its NCCL are built with",
	 NULL,
	 NULL,
	 NULL},
	{"nic-driver-no-dmabuf",
	 GP_SEVERITY_WARNING,
	 nic_without_dmabuf,
	 {GP_FACT_KERNEL, GP_NO_FACT},
	 "the NIC's driver can't import dma-bufs on this kernel: {nic}",
	 "use a kernel that has it (mlx5 5.12, efa 5.16, irdma 6.3, bnxt_re 6.6), or a NIC whose "
	 "driver does",
	 NULL,
	 NULL,
	 NULL},
	{"peermem-needs-ofed",
	 GP_SEVERITY_ERROR,
	 needs_ofed,
	 {GP_FACT_OFED, GP_FACT_OFED_MODULES, GP_NO_FACT},
	 "nvidia-peermem requires MLNX_OFED or DOCA-OFED, and none is installed on this host",
	 "two ways: the Open Kernel Module (driver.kernelModuleType=open) and DMA-BUF, which needs "
	 "no OFED where kernel and CUDA do; or install DOCA-OFED (on the host, or by the Network "
	 "Operator), rebuild the driver's modules against it, and modprobe nvidia-peermem",
	 NULL,
	 NULL,
	 NULL},
	{"peermem-needs-ofed",
	 GP_SEVERITY_WARNING,
	 loaded_without_ofed,
	 {GP_FACT_OFED, GP_FACT_OFED_MODULES, GP_FACT_PEERMEM, GP_NO_FACT},
	 "nvidia-peermem is loaded without MLNX_OFED or DOCA-OFED: this kernel has a peer-memory "
	 "interface of its own, which NVIDIA's prerequisites do not cover",
	 "prove it with gdrproof bw; the supported ways are DMA-BUF, or DOCA-OFED under "
	 "nvidia-peermem",
	 NULL,
	 NULL,
	 NULL},
	{"peermem-not-loaded",
	 GP_SEVERITY_ERROR,
	 not_loaded,
	 {GP_FACT_PEERMEM, GP_FACT_PEERMEM_ERROR, GP_FACT_PEER_SYMBOLS, GP_NO_FACT},
	 "nvidia-peermem is the path of this host, and the module is not loaded{load_error}",
	 "modprobe nvidia-peermem, and keep it (/etc/modules-load.d/nvidia-peermem.conf); with the "
	 "GPU Operator --set driver.rdma.enabled=true",
	 NULL,
	 NULL,
	 NULL},
	{"memory-peers-absent",
	 GP_SEVERITY_INFO,
	 memory_peers_absent,
	 {GP_FACT_MEMORY_PEERS, GP_FACT_PEERMEM, GP_NO_FACT},
	 "/sys/kernel/mm/memory_peers is absent, which proves nothing: newer peer-memory cores "
	 "create no files there; but NCCL before 2.23.4 looks only at them and says GPU Direct "
	 "RDMA Disabled",
	 "use NCCL 2.23.4 or newer, which also looks at /sys/module/nvidia_peermem/version; to "
	 "know, measure: gdrproof bw --path peermem",
	 NULL,
	 NULL,
	 NULL},
	{"peermem-load-failed-peer-symbols",
	 GP_SEVERITY_ERROR,
	 peer_symbols,
	 {GP_FACT_PEER_SYMBOLS, GP_NO_FACT},
	 "nvidia-peermem did not load: it was built against another ib_core than the one that runs "
	 "(no or other ib_register_peer_memory_client symbols)",
	 "install OFED where there is none, then rebuild the driver's modules against it (dkms; or "
	 "restart the driver pod after the OFED pod is ready)",
	 is_dmabuf,
	 NULL,
	 "this host is on DMA-BUF and needs no nvidia-peermem: turn it off (--set "
	 "driver.rdma.enabled=false); else rebuild the driver's modules against the loaded OFED"},
	{"nv-peer-mem-legacy-module",
	 GP_SEVERITY_WARNING,
	 legacy_module,
	 {GP_FACT_NV_PEER_MEM, GP_NO_FACT},
	 "nv_peer_mem is loaded, the separate module from before driver R470; nvidia-peermem has "
	 "taken its place",
	 "remove nv_peer_mem (nvidia-peer-memory-dkms) and modprobe nvidia-peermem, which comes "
	 "with the driver from R470 on; only one of the two may be loaded",
	 NULL,
	 NULL,
	 NULL},
	{"memlock-limit",
	 GP_SEVERITY_WARNING,
	 memlock_limited,
	 {GP_FACT_MEMLOCK, GP_NO_FACT},
	 "locked memory is limited to {memlock}: registration of larger buffers fails with ENOMEM",
	 "ulimit -l unlimited (limits.conf, LimitMEMLOCK=infinity of the service; a container "
	 "needs --ulimit memlock=-1)",
	 NULL,
	 NULL,
	 NULL},
	{"coherent-platform",
	 GP_SEVERITY_INFO,
	 coherent,
	 {GP_FACT_COHERENT, GP_NO_FACT},
	 "coherent platform: the GPU shares the CPU's page tables, so ibv_reg_mr of a device "
	 "pointer may succeed without nvidia-peermem, and success alone proves nothing",
	 "let gdrproof bw tell the paths apart by its other evidence",
	 NULL,
	 NULL,
	 NULL},
	{"both-paths-available",
	 GP_SEVERITY_INFO,
	 both_paths,
	 {GP_FACT_OPEN, GP_FACT_PEERMEM, GP_FACT_NV_PEER_MEM, GP_NO_FACT},
	 "DMA-BUF and the legacy path are both there; NCCL and UCX take DMA-BUF, the recommended "
	 "one",
	 "nothing to do; nvidia-peermem may be unloaded, or compared: gdrproof bw --path "
	 "dmabuf,peermem",
	 NULL,
	 NULL,
	 NULL},
	{.id = NULL},
};
