/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda: the one place that talks to CUDA and NVML.
 *
 * libcudart, libcuda and libnvidia-ml are found at run time with dlopen, so the program builds and
 * starts on a machine that has none of them. Nothing outside cuda.c includes cuda_abi.h: callers
 * see plain pointers, file descriptors and the structs below. All calls fail with the library's
 * own name for the code and GP_EXIT_MISSING (not there) or GP_EXIT_FAILED (there, and failed).
 *
 * Order: open, list, use (on every thread that calls the rest), ..., close.
 */
#ifndef GP_CUDA_H
#define GP_CUDA_H

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_GPU_MAX 32

struct gp_cuda; /* the loaded libraries: a struct of function pointers */

/* One GPU as CUDA and NVML tell. A tri-state int is 1 yes, 0 no, -1 not told. */
struct gp_gpu {
	int ordinal;	      /* CUDA's, after CUDA_VISIBLE_DEVICES */
	char name[96];	      /* "NVIDIA H200" */
	char bdf[16];	      /* PCI address in sysfs form, lower case: "0000:18:00.0" */
	char uuid[48];	      /* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"; empty where not told */
	int gdr;	      /* CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED (116) */
	int dma_buf;	      /* CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED (124) */
	int host_page_tables; /* ..._PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES (100): the GPU
				 shares the CPU's page tables, so ibv_reg_mr may take a device
				 pointer without any peer-memory client */
	int integrated;	      /* CU_DEVICE_ATTRIBUTE_INTEGRATED (18) */
	int flush_options;    /* 117: bit 0 host call, bit 1 memops; -1 not told */
	int writes_ordering;  /* 118: 0 none, 100 owner, 200 all devices; -1 not told */
	int cc_major, cc_minor;
	uint64_t memory_bytes;	   /* total; 0 where not told */
	uint64_t bar1_total_bytes; /* NVML; 0 where not told */
	uint64_t bar1_used_bytes;
};

/* What the driver says of a pointer (cuPointerGetAttribute 2, 8, 9, 15). */
struct gp_cuda_pointer {
	int memory_type; /* 1 host, 2 device, 3 array, 4 unified; 0: not a CUDA pointer */
	int is_managed;	 /* 1, 0, -1 not told */
	int ordinal;	 /* device that it belongs to, -1 not told */
	int gdr_capable; /* 1, 0, -1 not told */
};

/* Versions, as 1000 * major + 10 * minor (12090 is 12.9); 0 where not told. */
struct gp_cuda_versions {
	int runtime;	      /* of the libcudart that was loaded */
	int driver;	      /* highest CUDA that the driver supports */
	char runtime_lib[64]; /* "libcudart.so.13", empty where none was found */
};

/*
 * Load the libraries. *cuda is set only on success. Fails with GP_EXIT_MISSING and one line that
 * names what is missing: the runtime, the driver library, or a driver that answers. NVML is
 * optional. `versions` (may be NULL) is filled as far as it got, on failure too.
 */
int gp_cuda_open(struct gp_cuda **cuda, struct gp_cuda_versions *versions, struct gp_error *err);

/* Takes NULL. */
void gp_cuda_close(struct gp_cuda *cuda);

/* Fill at most `max` GPUs in CUDA's order; *n is how many there are (0 is no error). */
int gp_cuda_list(struct gp_cuda *cuda, struct gp_gpu *gpus, int max, int *n, struct gp_error *err);

/* Make the GPU current on the calling thread (cudaSetDevice; creates its primary context). */
int gp_cuda_use(struct gp_cuda *cuda, int ordinal, struct gp_error *err);

/*
 * cudaMalloc on the current GPU, aligned to 64 KiB at least (asserted), with
 * CU_POINTER_ATTRIBUTE_SYNC_MEMOPS set. The pointer is never to be touched by the CPU.
 */
int gp_cuda_alloc(struct gp_cuda *cuda, uint64_t bytes, void **device_ptr, struct gp_error *err);

/* Takes NULL. */
void gp_cuda_free(struct gp_cuda *cuda, void *device_ptr);

/* Ask the driver what a pointer is. */
int gp_cuda_pointer(struct gp_cuda *cuda, const void *ptr, struct gp_cuda_pointer *out,
		    struct gp_error *err);

/*
 * Export [device_ptr, +bytes), a whole allocation, as a dma-buf
 * (cuMemGetHandleForAddressRange). Asks for the PCIe mapping first where the driver knows the flag
 * (CUDA 12.8), and for the default one where that gives NOT_SUPPORTED, as it does on platforms
 * that have only one; *pcie_mapping says which it was. The caller closes *fd.
 */
int gp_cuda_export_dmabuf(struct gp_cuda *cuda, void *device_ptr, uint64_t bytes, int *fd,
			  bool *pcie_mapping, struct gp_error *err);

/* Page-lock host memory that the caller allocated and placed (cudaHostRegister, portable). */
int gp_cuda_pin(struct gp_cuda *cuda, void *host_ptr, uint64_t bytes, struct gp_error *err);
void gp_cuda_unpin(struct gp_cuda *cuda, void *host_ptr);

/* A copy between any two of host and device, finished on return. */
int gp_cuda_copy(struct gp_cuda *cuda, void *dst, const void *src, uint64_t bytes,
		 struct gp_error *err);

/*
 * Streams (non-blocking) and events (no timing), on the current GPU. Opaque; destroy takes NULL.
 * Destroying a stream waits for its copies, at most 2 s: -1 where one hangs. The stream then stays,
 * and so must the memory that it works on.
 */
int gp_cuda_stream_create(struct gp_cuda *cuda, void **stream, struct gp_error *err);
int gp_cuda_stream_destroy(struct gp_cuda *cuda, void *stream);
int gp_cuda_event_create(struct gp_cuda *cuda, void **event, struct gp_error *err);
void gp_cuda_event_destroy(struct gp_cuda *cuda, void *event);

/* Queue a copy on `stream` and then record `event` behind it. */
int gp_cuda_copy_async(struct gp_cuda *cuda, void *dst, const void *src, uint64_t bytes,
		       void *stream, void *event, struct gp_error *err);

/* 1: all before the event is done; 0: not yet; -1: failed. Never blocks. */
int gp_cuda_event_query(struct gp_cuda *cuda, void *event, struct gp_error *err);

/*
 * Make RDMA writes that have arrived visible to the GPU (cuFlushGPUDirectRDMAWrites), where its
 * attributes 117 and 118 say that this is needed and offered; else does nothing. *what names what
 * was done ("flushed", "ordered by the platform", "no flush offered"): static text.
 */
int gp_cuda_flush(struct gp_cuda *cuda, const struct gp_gpu *gpu, const char **what,
		  struct gp_error *err);

#endif
