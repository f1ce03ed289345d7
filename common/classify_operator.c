/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify_operator: findings about what the GPU Operator and the Network Operator were told,
 * against the host that has to live with it. Their conditions, then their rows.
 */
#include "classify_findings.h"

#include <string.h>

static bool is_dmabuf(const struct gp_case *c)
{
	return gp_case_is(c, GP_PATH_DMABUF);
}

static bool claimed_absent(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_HOST_MOFED) == GP_YES &&
	       gp_case_known(c, GP_FACT_OFED) == GP_NO;
}

/* Not told is the default, false; it matters only where the legacy path was asked for. */
static bool present_not_claimed(const struct gp_case *c)
{
	bool told = gp_case_known(c, GP_FACT_HOST_MOFED) == GP_NO;
	bool left = gp_case_known(c, GP_FACT_HOST_MOFED) == GP_UNKNOWN &&
		    gp_case_known(c, GP_FACT_RDMA_ENABLED) == GP_YES;

	return (told || left) && gp_case_known(c, GP_FACT_OFED) == GP_YES;
}

static bool asked_for_peermem(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_RDMA_ENABLED) == GP_YES ||
	       (gp_case_known(c, GP_FACT_RDMA_ENABLED) == GP_UNKNOWN &&
		gp_case_known(c, GP_FACT_PEERMEM_LOG) != GP_UNKNOWN);
}

static bool peermem_on_dmabuf(const struct gp_case *c)
{
	return gp_case_is(c, GP_PATH_DMABUF) && asked_for_peermem(c);
}

/* Told off, or left off in values that were shown, and nobody else loaded the module. */
static bool peermem_disabled(const struct gp_case *c)
{
	bool managed = gp_case_known(c, GP_FACT_DRIVER_MANAGED) != GP_NO;
	bool off = gp_case_known(c, GP_FACT_RDMA_ENABLED) == GP_NO;
	bool left_off = gp_case_known(c, GP_FACT_RDMA_ENABLED) == GP_UNKNOWN &&
			gp_case_known(c, GP_FACT_VALUES) == GP_YES &&
			gp_case_known(c, GP_FACT_PEERMEM_LOG) == GP_UNKNOWN &&
			gp_case_known(c, GP_FACT_PEERMEM_CONTAINER) != GP_YES &&
			gp_case_known(c, GP_FACT_PEERMEM) != GP_YES;

	return gp_case_is(c, GP_PATH_PEERMEM) && managed && (off || left_off);
}

/* The DaemonSet's containers against the path, and against what was asked for. */
static bool container_mismatch(const struct gp_case *c)
{
	enum gp_known there = gp_case_known(c, GP_FACT_PEERMEM_CONTAINER);

	if (there == GP_UNKNOWN)
		return false;
	if (there == GP_YES)
		return gp_case_is(c, GP_PATH_DMABUF) ||
		       gp_case_known(c, GP_FACT_RDMA_ENABLED) == GP_NO;
	return (gp_case_is(c, GP_PATH_PEERMEM) && gp_case_known(c, GP_FACT_PEERMEM) != GP_YES) ||
	       gp_case_known(c, GP_FACT_RDMA_ENABLED) == GP_YES;
}

static bool gds_needs_open(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_GDS) == GP_YES &&
	       (gp_case_proprietary(c) ||
		(gp_case_known(c, GP_FACT_OPEN) == GP_UNKNOWN &&
		 strcmp(gp_case_value(c, GP_FACT_MODULE_TYPE), "proprietary") == 0));
}

static bool fs_too_old(const struct gp_case *c)
{
	return gp_case_fs_older(c, GP_FACT_GDS_VERSION) ||
	       (gp_case_fs_older(c, GP_FACT_NVIDIA_FS) && !gp_case_proprietary(c));
}

static bool module_type_mismatch(const struct gp_case *c)
{
	const char *type = gp_case_value(c, GP_FACT_MODULE_TYPE);
	enum gp_known open = gp_case_known(c, GP_FACT_OPEN);

	if (strcmp(type, "auto") == 0) /* open from R570 on, where the GPU can */
		return open == GP_NO && gp_case_known(c, GP_FACT_OPEN) &&
		       !gp_case_driver_is_old(c) && gp_case_value(c, GP_FACT_OPEN)[0] &&
		       !gp_case_gpu_is_old(c);
	return (strcmp(type, "open") == 0 && open == GP_NO) ||
	       (strcmp(type, "proprietary") == 0 && open == GP_YES);
}

static bool told_open(const struct gp_case *c)
{
	return strcmp(gp_case_value(c, GP_FACT_MODULE_TYPE), "proprietary") != 0;
}

static bool ofeddriver_and_host(const struct gp_case *c)
{
	return gp_case_known(c, GP_FACT_OFED_DRIVER) == GP_YES &&
	       gp_case_known(c, GP_FACT_HOST_MOFED) == GP_YES;
}

/* Network Operator 26.7 expects GPU Operator v25.3; a DOCA driver of 26.07 is from it. */
static bool operator_too_old(const struct gp_case *c)
{
	const char *ofed = strchr(gp_case_value(c, GP_FACT_OFED_DRIVER), '-');
	bool new_network = gp_case_known(c, GP_FACT_NETWORK_OPERATOR) == GP_YES
				   ? !gp_case_older(c, GP_FACT_NETWORK_OPERATOR, "26.7", 2)
				   : ofed && gp_version_compare(ofed, "26.7", 2) >= 0;

	return new_network && gp_case_older(c, GP_FACT_GPU_OPERATOR, "25.3", 2);
}

const struct gp_finding_row gp_operator_findings[] = {
	{"host-mofed-claimed-absent",
	 GP_SEVERITY_ERROR,
	 claimed_absent,
	 {GP_FACT_HOST_MOFED, GP_FACT_OFED, GP_NO_FACT},
	 "the GPU Operator was told useHostMofed=true, and no OFED is installed on this host",
	 "--set driver.rdma.useHostMofed=false and let the Network Operator supply DOCA-OFED, or "
	 "install OFED on the host and keep true",
	 NULL,
	 NULL,
	 NULL},
	{"host-mofed-present-not-claimed",
	 GP_SEVERITY_WARNING,
	 present_not_claimed,
	 {GP_FACT_HOST_MOFED, GP_FACT_RDMA_ENABLED, GP_FACT_OFED, GP_NO_FACT},
	 "OFED {ofed} is installed on this host, and the GPU Operator was told useHostMofed=false: "
	 "the driver pod waits for, or builds against, a containerised OFED instead",
	 "--set driver.rdma.useHostMofed=true, or remove OFED from the host and leave it to the "
	 "Network Operator",
	 NULL,
	 NULL,
	 NULL},
	{"peermem-enabled-on-dmabuf",
	 GP_SEVERITY_WARNING,
	 peermem_on_dmabuf,
	 {GP_FACT_RDMA_ENABLED, GP_FACT_PEERMEM_LOG, GP_NO_FACT},
	 "nvidia-peermem was asked for (driver.rdma.enabled=true) on a host that is on DMA-BUF and "
	 "does not need it",
	 "--set driver.rdma.enabled=false; or keep it, where other nodes of this cluster need the "
	 "legacy path, and expect nvidia-peermem-ctr to fail here without OFED",
	 NULL,
	 NULL,
	 NULL},
	{"peermem-expected-but-disabled",
	 GP_SEVERITY_ERROR,
	 peermem_disabled,
	 {GP_FACT_RDMA_ENABLED, GP_FACT_VALUES, GP_FACT_OPEN, GP_NO_FACT},
	 "nvidia-peermem is the path of this host, and the GPU Operator does not load it "
	 "(driver.rdma.enabled is false)",
	 "--set driver.rdma.enabled=true (and driver.rdma.useHostMofed=true where OFED is on the "
	 "host), or move the host to DMA-BUF: open kernel module and kernel 5.12",
	 NULL,
	 NULL,
	 NULL},
	{"peermem-container-mismatch",
	 GP_SEVERITY_WARNING,
	 container_mismatch,
	 {GP_FACT_PEERMEM_CONTAINER, GP_FACT_RDMA_ENABLED, GP_NO_FACT},
	 "the driver DaemonSet lacks nvidia-peermem-ctr, which the legacy path (or "
	 "driver.rdma.enabled=true) calls for",
	 "--set driver.rdma.enabled=true; where it is set already, let the DaemonSet roll out",
	 is_dmabuf,
	 "the driver DaemonSet and the path differ: this host is on DMA-BUF, and "
	 "nvidia-peermem-ctr "
	 "{container}",
	 "--set driver.rdma.enabled=false, and let the DaemonSet roll out"},
	{"gds-needs-open-driver",
	 GP_SEVERITY_ERROR,
	 gds_needs_open,
	 {GP_FACT_GDS, GP_FACT_OPEN, GP_FACT_MODULE_TYPE, GP_NO_FACT},
	 "GPUDirect Storage is enabled with the proprietary driver; nvidia-fs 2.17.5 and newer "
	 "need the Open Kernel Module",
	 "--set driver.kernelModuleType=open, or --set gds.enabled=false",
	 NULL,
	 NULL,
	 NULL},
	{"nvidia-fs-too-old",
	 GP_SEVERITY_WARNING,
	 fs_too_old,
	 {GP_FACT_GDS_VERSION, GP_FACT_NVIDIA_FS, GP_FACT_GDS, GP_NO_FACT},
	 "nvidia-fs {fs} is older than 2.17.5, the first for the Open Kernel Module",
	 "--set gds.version=2.17.5 or newer (on a host without the operator, install it)",
	 NULL,
	 NULL,
	 NULL},
	{"kernel-module-type-mismatch",
	 GP_SEVERITY_ERROR,
	 module_type_mismatch,
	 {GP_FACT_MODULE_TYPE, GP_FACT_OPEN, GP_NO_FACT},
	 "the GPU Operator was told kernelModuleType={module_type}, and the loaded driver {driver} "
	 "is {flavour}",
	 "--set driver.kernelModuleType=open, which DMA-BUF needs (auto chooses it from R570 on); "
	 "proprietary takes this host off DMA-BUF when the driver pods restart",
	 told_open,
	 NULL,
	 "the setting has not reached this host: let the driver pods restart (below R570 only "
	 "--set driver.kernelModuleType=open does it, auto takes the proprietary module); a driver "
	 "installed on the host itself is to be replaced there"},
	{"ofeddriver-with-host-mofed",
	 GP_SEVERITY_WARNING,
	 ofeddriver_and_host,
	 {GP_FACT_OFED_DRIVER, GP_FACT_HOST_MOFED, GP_NO_FACT},
	 "the NicClusterPolicy deploys an ofedDriver while the GPU Operator was told "
	 "useHostMofed=true: two owners of one OFED",
	 "choose one: --set driver.rdma.useHostMofed=false with the ofedDriver, or no ofedDriver "
	 "in "
	 "the NicClusterPolicy with OFED on every host",
	 NULL,
	 NULL,
	 NULL},
	{"gpu-operator-too-old",
	 GP_SEVERITY_WARNING,
	 operator_too_old,
	 {GP_FACT_GPU_OPERATOR, GP_FACT_NETWORK_OPERATOR, GP_FACT_OFED_DRIVER, GP_NO_FACT},
	 "GPU Operator {gpu_operator} is older than v25.3, which Network Operator 26.7 expects",
	 "helm upgrade gpu-operator nvidia/gpu-operator --version v25.3.0 or newer, before the "
	 "Network Operator",
	 NULL,
	 NULL,
	 NULL},
	{.id = NULL},
};
