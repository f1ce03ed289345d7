/* SPDX-License-Identifier: BSD-2-Clause */
/* emu_cudart: stands in for libcudart.so.13. Only what the product calls; prototypes are those of
 * cuda_runtime_api.h with enums as int. */
#include "emu.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum {
	OK = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	OLD_DRIVER = 35,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	NOT_READY = 600,
	UNKNOWN = 999
};

/* Injected failures are told from real ones by their code. */
#define MAY_FAIL()                       \
	do {                             \
		if (emu_fails(__func__)) \
			return UNKNOWN;  \
	} while (0)

EXPORT const char *cudaGetErrorName(int code);
EXPORT const char *cudaGetErrorName(int code)
{
	switch (code) {
	case OK:
		return "cudaSuccess";
	case INVALID_VALUE:
		return "cudaErrorInvalidValue";
	case OUT_OF_MEMORY:
		return "cudaErrorMemoryAllocation";
	case OLD_DRIVER:
		return "cudaErrorInsufficientDriver";
	case NO_DEVICE:
		return "cudaErrorNoDevice";
	case NOT_READY:
		return "cudaErrorNotReady";
	}
	return "cudaErrorUnknown";
}

EXPORT int cudaGetDeviceCount(int *count);
EXPORT int cudaGetDeviceCount(int *count)
{
	MAY_FAIL();
	*count = 0;
	if (emu_is("DRIVER", "none"))
		return OLD_DRIVER;
	*count = emu_gpu_count();
	return *count ? OK : NO_DEVICE;
}

EXPORT int cudaSetDevice(int device);
EXPORT int cudaSetDevice(int device)
{
	MAY_FAIL();
	if (device < 0 || device >= emu_gpu_count())
		return INVALID_DEVICE;
	emu_set_current_gpu(device);
	return OK;
}

EXPORT int cudaRuntimeGetVersion(int *version);
EXPORT int cudaRuntimeGetVersion(int *version)
{
	*version = 13000;
	return OK;
}

EXPORT int cudaDriverGetVersion(int *version);
EXPORT int cudaDriverGetVersion(int *version)
{
	*version = emu_is("DRIVER", "none") ? 0 : 13000;
	return OK;
}

EXPORT int cudaDeviceGetPCIBusId(char *bdf, int size, int device);
EXPORT int cudaDeviceGetPCIBusId(char *bdf, int size, int device)
{
	MAY_FAIL();
	if (device < 0 || device >= emu_gpu_count())
		return INVALID_DEVICE;
	snprintf(bdf, (size_t)size, "%s", emu_gpu_bdf(device));
	return OK;
}

EXPORT int cudaMalloc(void **ptr, size_t bytes);
EXPORT int cudaMalloc(void **ptr, size_t bytes)
{
	MAY_FAIL();
	*ptr = emu_alloc(bytes);
	return *ptr ? OK : OUT_OF_MEMORY;
}

EXPORT int cudaFree(void *ptr);
EXPORT int cudaFree(void *ptr)
{
	return !ptr || emu_free(ptr) ? OK : INVALID_VALUE;
}

EXPORT int cudaMemcpy(void *dst, const void *src, size_t bytes, int kind);
EXPORT int cudaMemcpy(void *dst, const void *src, size_t bytes, int kind)
{
	(void)kind;
	MAY_FAIL();
	emu_copy(dst, src, bytes);
	return OK;
}

EXPORT int cudaMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream);
EXPORT int cudaMemcpyAsync(void *dst, const void *src, size_t bytes, int kind, void *stream)
{
	(void)kind;
	MAY_FAIL();
	emu_stream_copy(stream, dst, src, bytes);
	return OK;
}

EXPORT int cudaHostRegister(void *ptr, size_t bytes, unsigned flags);
EXPORT int cudaHostRegister(void *ptr, size_t bytes, unsigned flags)
{
	(void)ptr;
	(void)bytes;
	(void)flags;
	MAY_FAIL();
	return OK;
}

EXPORT int cudaHostUnregister(void *ptr);
EXPORT int cudaHostUnregister(void *ptr)
{
	(void)ptr;
	return OK;
}

EXPORT int cudaStreamCreateWithFlags(void **stream, unsigned flags);
EXPORT int cudaStreamCreateWithFlags(void **stream, unsigned flags)
{
	(void)flags;
	MAY_FAIL();
	*stream = emu_stream_create();
	return *stream ? OK : OUT_OF_MEMORY;
}

EXPORT int cudaStreamDestroy(void *stream);
EXPORT int cudaStreamDestroy(void *stream)
{
	emu_stream_destroy(stream);
	return OK;
}

EXPORT int cudaStreamQuery(void *stream);
EXPORT int cudaStreamQuery(void *stream)
{
	return emu_stream_idle(stream) ? OK : NOT_READY;
}

EXPORT int cudaEventCreateWithFlags(void **event, unsigned flags);
EXPORT int cudaEventCreateWithFlags(void **event, unsigned flags)
{
	(void)flags;
	MAY_FAIL();
	*event = emu_event_create();
	return *event ? OK : OUT_OF_MEMORY;
}

EXPORT int cudaEventDestroy(void *event);
EXPORT int cudaEventDestroy(void *event)
{
	emu_event_destroy(event);
	return OK;
}

EXPORT int cudaEventRecord(void *event, void *stream);
EXPORT int cudaEventRecord(void *event, void *stream)
{
	MAY_FAIL();
	emu_stream_record(stream, event);
	return OK;
}

EXPORT int cudaEventQuery(void *event);
EXPORT int cudaEventQuery(void *event)
{
	MAY_FAIL();
	return emu_event_done(event) ? OK : NOT_READY;
}
