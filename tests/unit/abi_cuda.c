/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * abi_cuda: every type, constant and prototype of common/cuda_abi.h against the real headers, by
 * the compiler: that this file compiles is the test. NVML's header is often not installed; what
 * was compared is printed as TAP.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#if __has_include(<nvml.h>)
#include <nvml.h>
#define HAVE_NVML 1
#endif

#define GP_ABI_REAL_TYPES
typedef cudaError_t gp_abi_rt_error;
typedef enum cudaMemcpyKind gp_abi_rt_copy_kind;
typedef CUresult gp_abi_result;
typedef CUdevice gp_abi_device;
typedef CUdevice_attribute gp_abi_device_attr;
typedef CUpointer_attribute gp_abi_pointer_attr;
typedef CUmemRangeHandleType gp_abi_range_handle;
typedef CUflushGPUDirectRDMAWritesTarget gp_abi_flush_target;
typedef CUflushGPUDirectRDMAWritesScope gp_abi_flush_scope;
typedef CUdeviceptr gp_abi_deviceptr;
typedef cudaStream_t gp_abi_stream;
typedef cudaEvent_t gp_abi_event;
typedef CUuuid gp_abi_uuid;
#ifdef HAVE_NVML
typedef nvmlReturn_t gp_abi_nvml_result;
typedef nvmlDevice_t gp_abi_nvml_device;
typedef nvmlBAR1Memory_t gp_abi_nvml_bar1;
#endif
#include "cuda_abi.h"

/* What cuda_abi.h declares an int, a pointer or an array of bytes must have that size. */
#define SAME_SIZE(type, as) _Static_assert(sizeof(type) == sizeof(as), #type " is not like " #as)
SAME_SIZE(gp_abi_rt_error, int);
SAME_SIZE(gp_abi_rt_copy_kind, int);
SAME_SIZE(gp_abi_result, int);
SAME_SIZE(gp_abi_device, int);
SAME_SIZE(gp_abi_device_attr, int);
SAME_SIZE(gp_abi_pointer_attr, int);
SAME_SIZE(gp_abi_range_handle, int);
SAME_SIZE(gp_abi_flush_target, int);
SAME_SIZE(gp_abi_flush_scope, int);
SAME_SIZE(gp_abi_deviceptr, unsigned long long);
SAME_SIZE(gp_abi_stream, void *);
SAME_SIZE(gp_abi_event, void *);
SAME_SIZE(gp_abi_uuid, char[16]);

#define SAME_VALUE(name, symbol, value) _Static_assert((symbol) == (value), #symbol);
GP_ABI_CUDART_CONSTANTS(SAME_VALUE)
GP_ABI_CUDA_CONSTANTS(SAME_VALUE)
#if CUDA_VERSION >= 12080
_Static_assert(CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE == GP_ABI_DMA_BUF_MAPPING_PCIE, "flag");
#endif

#define SAME_PROTOTYPE(member, result, symbol, params)                                      \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), result(*) params), \
		       #symbol);
GP_ABI_CUDART_FUNCTIONS(SAME_PROTOTYPE)
GP_ABI_CUDA_FUNCTIONS(SAME_PROTOTYPE)
GP_ABI_CUDA_OPTIONAL(SAME_PROTOTYPE)
#ifdef HAVE_NVML
SAME_SIZE(gp_abi_nvml_result, int);
SAME_SIZE(gp_abi_nvml_device, void *);
SAME_SIZE(gp_abi_nvml_bar1, unsigned long long[3]);
GP_ABI_NVML_FUNCTIONS(SAME_PROTOTYPE)
#endif

#define COUNT(...) +1

int main(void)
{
	printf("ok 1 - %d constants and %d prototypes are those of CUDA %d.%d\n",
	       0 GP_ABI_CUDART_CONSTANTS(COUNT) GP_ABI_CUDA_CONSTANTS(COUNT),
	       0 GP_ABI_CUDART_FUNCTIONS(COUNT) GP_ABI_CUDA_FUNCTIONS(COUNT)
		       GP_ABI_CUDA_OPTIONAL(COUNT),
	       CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
#ifdef HAVE_NVML
	printf("ok 2 - %d prototypes are those of nvml.h\n", 0 GP_ABI_NVML_FUNCTIONS(COUNT));
#else
	printf("ok 2 - prototypes of nvml.h # SKIP this toolkit has no nvml.h\n");
#endif
	printf("1..2\n");
	return 0;
}
