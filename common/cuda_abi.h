/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda_abi: the handful of types, constants and prototypes of CUDA and NVML that are in use, so
 * that no toolkit is needed to build. Only cuda.c includes this; tests/unit/abi_cuda.c compares
 * every line of it with the real headers where a toolkit is installed. Sources: cuda.h,
 * cuda_runtime_api.h, driver_types.h of CUDA 11.7 to 13.0, nvml.h.
 *
 * Enums are ints and handles are pointers on every platform that CUDA knows, so they are declared
 * as such. GP_ABI_X lists are for cuda.c's symbol table and the test alike.
 */
#ifndef GP_CUDA_ABI_H
#define GP_CUDA_ABI_H

#include <stddef.h>

/* The test puts the real types in place of these and compares sizes and prototypes. */
#ifndef GP_ABI_REAL_TYPES
typedef int gp_abi_rt_error;		     /* cudaError_t */
typedef int gp_abi_rt_copy_kind;	     /* enum cudaMemcpyKind */
typedef int gp_abi_result;		     /* CUresult */
typedef int gp_abi_device;		     /* CUdevice */
typedef int gp_abi_device_attr;		     /* CUdevice_attribute */
typedef int gp_abi_pointer_attr;	     /* CUpointer_attribute */
typedef int gp_abi_range_handle;	     /* CUmemRangeHandleType */
typedef int gp_abi_flush_target;	     /* CUflushGPUDirectRDMAWritesTarget */
typedef int gp_abi_flush_scope;		     /* CUflushGPUDirectRDMAWritesScope */
typedef int gp_abi_nvml_result;		     /* nvmlReturn_t */
typedef unsigned long long gp_abi_deviceptr; /* CUdeviceptr on 64-bit platforms */
typedef void *gp_abi_stream;		     /* cudaStream_t */
typedef void *gp_abi_event;		     /* cudaEvent_t */
typedef void *gp_abi_nvml_device;	     /* nvmlDevice_t */
typedef struct {
	char bytes[16];
} gp_abi_uuid; /* CUuuid */
typedef struct {
	unsigned long long total, free, used; /* bytes */
} gp_abi_nvml_bar1;			      /* nvmlBAR1Memory_t */
#endif

/* Name of ours, the header's name, value. */
#define GP_ABI_CUDART_CONSTANTS(X)                                        \
	X(GP_ABI_RT_SUCCESS, cudaSuccess, 0)                              \
	X(GP_ABI_RT_INSUFFICIENT_DRIVER, cudaErrorInsufficientDriver, 35) \
	X(GP_ABI_RT_NO_DEVICE, cudaErrorNoDevice, 100)                    \
	X(GP_ABI_RT_NOT_READY, cudaErrorNotReady, 600)                    \
	X(GP_ABI_RT_MEMCPY_DEFAULT, cudaMemcpyDefault, 4)                 \
	X(GP_ABI_RT_HOST_REGISTER_PORTABLE, cudaHostRegisterPortable, 1)  \
	X(GP_ABI_RT_STREAM_NON_BLOCKING, cudaStreamNonBlocking, 1)        \
	X(GP_ABI_RT_EVENT_DISABLE_TIMING, cudaEventDisableTiming, 2)

#define GP_ABI_CUDA_CONSTANTS(X)                                                                 \
	X(GP_ABI_SUCCESS, CUDA_SUCCESS, 0)                                                       \
	X(GP_ABI_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE, 1)                                     \
	X(GP_ABI_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED, 801)                                   \
	X(GP_ABI_ATTR_INTEGRATED, CU_DEVICE_ATTRIBUTE_INTEGRATED, 18)                            \
	X(GP_ABI_ATTR_CC_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                \
	X(GP_ABI_ATTR_CC_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                \
	X(GP_ABI_ATTR_HOST_PAGE_TABLES,                                                          \
	  CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 100)                 \
	X(GP_ABI_ATTR_GDR, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 116)                   \
	X(GP_ABI_ATTR_FLUSH_OPTIONS, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS,   \
	  117)                                                                                   \
	X(GP_ABI_ATTR_WRITES_ORDERING, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 118) \
	X(GP_ABI_ATTR_DMA_BUF, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 124)                       \
	X(GP_ABI_PTR_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                           \
	X(GP_ABI_PTR_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 6)                           \
	X(GP_ABI_PTR_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED, 8)                             \
	X(GP_ABI_PTR_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                            \
	X(GP_ABI_PTR_GDR_CAPABLE, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, 15)           \
	X(GP_ABI_HANDLE_DMA_BUF_FD, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 1)                      \
	X(GP_ABI_FLUSH_HOST, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST, 1)                     \
	X(GP_ABI_FLUSH_TARGET_CURRENT, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, 0)    \
	X(GP_ABI_FLUSH_TO_OWNER, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER, 100)

/* The PCIe mapping flag came with CUDA 12.8; the test looks for it in newer headers only. */
#define GP_ABI_DMA_BUF_MAPPING_PCIE 1

/* Member of struct gp_cuda, result, exported symbol, parameters. Symbols are those that every
 * release from 11.0 to 13.0 exports under this name with this meaning. */
#define GP_ABI_CUDART_FUNCTIONS(X)                                                                \
	X(rt_error_name, const char *, cudaGetErrorName, (gp_abi_rt_error))                       \
	X(rt_device_count, gp_abi_rt_error, cudaGetDeviceCount, (int *))                          \
	X(rt_set_device, gp_abi_rt_error, cudaSetDevice, (int))                                   \
	X(rt_runtime_version, gp_abi_rt_error, cudaRuntimeGetVersion, (int *))                    \
	X(rt_driver_version, gp_abi_rt_error, cudaDriverGetVersion, (int *))                      \
	X(rt_pci_bus_id, gp_abi_rt_error, cudaDeviceGetPCIBusId, (char *, int, int))              \
	X(rt_malloc, gp_abi_rt_error, cudaMalloc, (void **, size_t))                              \
	X(rt_free, gp_abi_rt_error, cudaFree, (void *))                                           \
	X(rt_memcpy, gp_abi_rt_error, cudaMemcpy,                                                 \
	  (void *, const void *, size_t, gp_abi_rt_copy_kind))                                    \
	X(rt_memcpy_async, gp_abi_rt_error, cudaMemcpyAsync,                                      \
	  (void *, const void *, size_t, gp_abi_rt_copy_kind, gp_abi_stream))                     \
	X(rt_host_register, gp_abi_rt_error, cudaHostRegister, (void *, size_t, unsigned))        \
	X(rt_host_unregister, gp_abi_rt_error, cudaHostUnregister, (void *))                      \
	X(rt_stream_create, gp_abi_rt_error, cudaStreamCreateWithFlags,                           \
	  (gp_abi_stream *, unsigned))                                                            \
	X(rt_stream_destroy, gp_abi_rt_error, cudaStreamDestroy, (gp_abi_stream))                 \
	X(rt_stream_query, gp_abi_rt_error, cudaStreamQuery, (gp_abi_stream))                     \
	X(rt_event_create, gp_abi_rt_error, cudaEventCreateWithFlags, (gp_abi_event *, unsigned)) \
	X(rt_event_destroy, gp_abi_rt_error, cudaEventDestroy, (gp_abi_event))                    \
	X(rt_event_record, gp_abi_rt_error, cudaEventRecord, (gp_abi_event, gp_abi_stream))       \
	X(rt_event_query, gp_abi_rt_error, cudaEventQuery, (gp_abi_event))

#define GP_ABI_CUDA_FUNCTIONS(X)                                                           \
	X(cu_init, gp_abi_result, cuInit, (unsigned))                                      \
	X(cu_error_name, gp_abi_result, cuGetErrorName, (gp_abi_result, const char **))    \
	X(cu_device_get, gp_abi_result, cuDeviceGet, (gp_abi_device *, int))               \
	X(cu_device_name, gp_abi_result, cuDeviceGetName, (char *, int, gp_abi_device))    \
	X(cu_device_memory, gp_abi_result, cuDeviceTotalMem_v2, (size_t *, gp_abi_device)) \
	X(cu_device_attribute, gp_abi_result, cuDeviceGetAttribute,                        \
	  (int *, gp_abi_device_attr, gp_abi_device))                                      \
	X(cu_pointer_attribute, gp_abi_result, cuPointerGetAttribute,                      \
	  (void *, gp_abi_pointer_attr, gp_abi_deviceptr))                                 \
	X(cu_pointer_set_attribute, gp_abi_result, cuPointerSetAttribute,                  \
	  (const void *, gp_abi_pointer_attr, gp_abi_deviceptr))

/* Not in every driver: a missing one is a NULL pointer. */
#define GP_ABI_CUDA_OPTIONAL(X)                                                           \
	X(cu_device_uuid, gp_abi_result, cuDeviceGetUuid, (gp_abi_uuid *, gp_abi_device)) \
	X(cu_export, gp_abi_result, cuMemGetHandleForAddressRange,                        \
	  (void *, gp_abi_deviceptr, size_t, gp_abi_range_handle, unsigned long long))    \
	X(cu_flush, gp_abi_result, cuFlushGPUDirectRDMAWrites,                            \
	  (gp_abi_flush_target, gp_abi_flush_scope))

#define GP_ABI_NVML_FUNCTIONS(X)                                                \
	X(nvml_init, gp_abi_nvml_result, nvmlInit_v2, (void))                   \
	X(nvml_shutdown, gp_abi_nvml_result, nvmlShutdown, (void))              \
	X(nvml_by_bus_id, gp_abi_nvml_result, nvmlDeviceGetHandleByPciBusId_v2, \
	  (const char *, gp_abi_nvml_device *))                                 \
	X(nvml_bar1, gp_abi_nvml_result, nvmlDeviceGetBAR1MemoryInfo,           \
	  (gp_abi_nvml_device, gp_abi_nvml_bar1 *))

#endif
