/* SPDX-License-Identifier: BSD-2-Clause */
/* emu_cuda: stands in for libcuda.so.1; see emu_cudart.c. Also for the few calls of NVML, whose
 * library is a link to the same source built with -DEMU_NVML. */
#include "emu.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#ifndef EMU_NVML

enum {
	OK = 0,
	INVALID_VALUE = 1,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	NOT_SUPPORTED = 801,
	UNKNOWN = 999
};

EXPORT int cuInit(unsigned flags);
EXPORT int cuInit(unsigned flags)
{
	(void)flags;
	return emu_fails("cuInit") ? UNKNOWN : OK;
}

EXPORT int cuGetErrorName(int code, const char **name);
EXPORT int cuGetErrorName(int code, const char **name)
{
	static const struct {
		int code;
		const char *name;
	} names[] = {{INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
		     {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
		     {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
		     {UNKNOWN, "CUDA_ERROR_UNKNOWN"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].code == code) {
			*name = names[i].name;
			return OK;
		}
	return INVALID_VALUE;
}

EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal >= 0 && ordinal < emu_gpu_count() ? OK : INVALID_DEVICE;
}

EXPORT int cuDeviceGetName(char *name, int size, int device);
EXPORT int cuDeviceGetName(char *name, int size, int device)
{
	(void)device;
	snprintf(name, (size_t)size, "%s", EMU_GPU_NAME);
	return OK;
}

/* The same GPU of the same host has the same UUID every time. */
EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device);
EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device)
{
	char seed[128] = "";
	uint64_t hash = UINT64_C(1469598103934665603);

	gethostname(seed, 64);
	strncat(seed, emu_gpu_bdf(device), 32);
	for (int i = 0; i < 16; i++) {
		for (const char *p = seed; *p; p++)
			hash = (hash ^ (unsigned char)*p) * UINT64_C(1099511628211) + (uint64_t)i;
		uuid[i] = (unsigned char)(hash >> 32);
	}
	return OK;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = emu_gpu_memory();
	return OK;
}

static bool exports_dmabufs(void)
{
	return !emu_is("DRIVER", "proprietary") && !emu_is("DMABUF", "off");
}

EXPORT int cuDeviceGetAttribute(int *value, int which, int device);
EXPORT int cuDeviceGetAttribute(int *value, int which, int device)
{
	const struct {
		int which, value;
	} attributes[] = {
		{18, emu_is("INTEGRATED", "1")}, /* INTEGRATED */
		{75, 9},			 /* COMPUTE_CAPABILITY_MAJOR */
		{76, 0},			 /* COMPUTE_CAPABILITY_MINOR */
		{100, emu_is("SHARED_PAGE_TABLES", "1")},
		{116, !emu_is("GDR", "off")}, /* GPU_DIRECT_RDMA_SUPPORTED */
		{117, 1},		      /* FLUSH_WRITES_OPTIONS: host */
		{118, 0},		      /* WRITES_ORDERING: none, so that a flush is due */
		{124, exports_dmabufs()},     /* DMA_BUF_SUPPORTED */
	};

	(void)device;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].which == which) {
			*value = attributes[i].value;
			return OK;
		}
	return INVALID_VALUE;
}

EXPORT int cuPointerGetAttribute(void *out, int which, unsigned long long ptr);
EXPORT int cuPointerGetAttribute(void *out, int which, unsigned long long ptr)
{
	struct emu_memory m;

	if (!emu_find((void *)(uintptr_t)ptr, 0, &m))
		return INVALID_VALUE;
	switch (which) {
	case 2: /* MEMORY_TYPE */
		*(unsigned *)out = emu_is("MEMORY_TYPE", "host") ? 1 : 2;
		return OK;
	case 8: /* IS_MANAGED */
		*(bool *)out = emu_is("MANAGED", "1");
		return OK;
	case 9: /* DEVICE_ORDINAL */
		*(int *)out = m.gpu;
		return OK;
	case 15: /* IS_GPU_DIRECT_RDMA_CAPABLE */
		*(bool *)out = !emu_is("GDR", "off");
		return OK;
	}
	return INVALID_VALUE;
}

EXPORT int cuPointerSetAttribute(const void *value, int which, unsigned long long ptr);
EXPORT int cuPointerSetAttribute(const void *value, int which, unsigned long long ptr)
{
	struct emu_memory m;

	(void)value;
	if (emu_fails(__func__))
		return UNKNOWN;
	return which == 6 && emu_find((void *)(uintptr_t)ptr, 0, &m) ? OK : INVALID_VALUE;
}

EXPORT int cuMemGetHandleForAddressRange(void *handle, unsigned long long ptr, size_t bytes,
					 int type, unsigned long long flags);
EXPORT int cuMemGetHandleForAddressRange(void *handle, unsigned long long ptr, size_t bytes,
					 int type, unsigned long long flags)
{
	struct emu_memory m;
	int fd;

	if (emu_fails(__func__))
		return UNKNOWN;
	if (!exports_dmabufs() || flags != 0) /* one mapping only, as on most platforms */
		return NOT_SUPPORTED;
	if (type != 1 || bytes % 4096 || !emu_find((void *)(uintptr_t)ptr, bytes, &m) ||
	    m.addr != ptr)
		return INVALID_VALUE;
	fd = emu_export(&m);
	if (fd < 0)
		return UNKNOWN;
	*(int *)handle = fd;
	return OK;
}

EXPORT int cuFlushGPUDirectRDMAWrites(int target, int scope);
EXPORT int cuFlushGPUDirectRDMAWrites(int target, int scope)
{
	if (emu_fails(__func__))
		return UNKNOWN;
	return target == 0 && (scope == 100 || scope == 200) ? OK : INVALID_VALUE;
}

#else /* EMU_NVML */

struct bar1 {
	unsigned long long total, free, used;
};

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
	return emu_is("DRIVER", "none") ? 9 : 0;
}

EXPORT int nvmlShutdown(void);
EXPORT int nvmlShutdown(void)
{
	return 0;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bdf, void **device);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bdf, void **device)
{
	for (int i = 0; i < emu_gpu_count(); i++)
		if (strcasecmp(bdf, emu_gpu_bdf(i)) == 0) {
			*device = (void *)(uintptr_t)(i + 1);
			return 0;
		}
	return 6;
}

EXPORT int nvmlDeviceGetBAR1MemoryInfo(void *device, struct bar1 *bar1);
EXPORT int nvmlDeviceGetBAR1MemoryInfo(void *device, struct bar1 *bar1)
{
	(void)device;
	*bar1 = (struct bar1){emu_gpu_memory(), emu_gpu_memory(), 0};
	return 0;
}

#endif
