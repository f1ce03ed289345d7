/* SPDX-License-Identifier: BSD-2-Clause */
/* cuda: see cuda.h. Three libraries, found with dlopen, become one struct of function pointers. */
#include "cuda.h"
#include "cuda_abi.h"
#include "units.h"

#include <ctype.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMBER(name, result, symbol, params) result(*name) params;

struct gp_cuda {
	void *runtime_lib, *driver_lib, *nvml_lib;
	GP_ABI_CUDART_FUNCTIONS(MEMBER)
	GP_ABI_CUDA_FUNCTIONS(MEMBER)
	GP_ABI_CUDA_OPTIONAL(MEMBER)
	GP_ABI_NVML_FUNCTIONS(MEMBER)
};

#define CONSTANT(name, symbol, value) name = value,
enum { GP_ABI_CUDART_CONSTANTS(CONSTANT) GP_ABI_CUDA_CONSTANTS(CONSTANT) };

struct symbol {
	const char *name;
	size_t offset;
};

#define SYMBOL(member, result, symbol, params) {#symbol, offsetof(struct gp_cuda, member)},
static const struct symbol runtime_symbols[] = {GP_ABI_CUDART_FUNCTIONS(SYMBOL){0}};
static const struct symbol driver_symbols[] = {GP_ABI_CUDA_FUNCTIONS(SYMBOL){0}};
static const struct symbol optional_symbols[] = {GP_ABI_CUDA_OPTIONAL(SYMBOL){0}};
static const struct symbol nvml_symbols[] = {GP_ABI_NVML_FUNCTIONS(SYMBOL){0}};

/* NULL, or the name of the first symbol that is not there. */
static const char *load_symbols(struct gp_cuda *cuda, void *lib, const struct symbol *symbols)
{
	const char *missing = NULL;

	for (; symbols->name; symbols++) {
		void *address = dlsym(lib, symbols->name);

		memcpy((char *)cuda + symbols->offset, &address, sizeof(address));
		if (!address && !missing)
			missing = symbols->name;
	}
	return missing;
}

/* ---- finding the libraries ---- */

static const char *const runtime_names[] = {"libcudart.so.13", "libcudart.so.12",
					    "libcudart.so.11.0"};

/* Where toolkits are installed without telling the loader. */
static void *open_in_toolkit(const char *name)
{
	const char *home = getenv("CUDA_HOME");
	const char *const roots[] = {home ? home : "/usr/local/cuda", "/usr/local/cuda"};
	static const char *const subdirs[] = {"lib64", "lib", "targets/x86_64-linux/lib",
					      "targets/sbsa-linux/lib"};
	void *lib = NULL;

	for (size_t r = 0; r < 2 && !lib; r++)
		for (size_t s = 0; s < sizeof(subdirs) / sizeof(subdirs[0]) && !lib; s++) {
			char path[512];

			snprintf(path, sizeof(path), "%s/%s/%s", roots[r], subdirs[s], name);
			lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		}
	return lib;
}

static int open_runtime(struct gp_cuda *cuda, struct gp_cuda_versions *versions,
			struct gp_error *err)
{
	const size_t n = sizeof(runtime_names) / sizeof(runtime_names[0]);
	const char *missing;
	size_t i;

	/* The loader's own path first, whatever the release. */
	for (i = 0; i < 2 * n && !cuda->runtime_lib; i++)
		cuda->runtime_lib = i < n ? dlopen(runtime_names[i], RTLD_NOW | RTLD_LOCAL)
					  : open_in_toolkit(runtime_names[i - n]);
	if (!cuda->runtime_lib) {
		gp_error_set(err, GP_EXIT_MISSING,
			     "no CUDA runtime here (tried libcudart.so.13, .so.12, .so.11.0)");
		gp_error_advise(err, "install the CUDA runtime, or set CUDA_HOME or "
				     "LD_LIBRARY_PATH to where it is; --path host needs none");
		return -1;
	}
	snprintf(versions->runtime_lib, sizeof(versions->runtime_lib), "%s",
		 runtime_names[(i - 1) % n]);
	missing = load_symbols(cuda, cuda->runtime_lib, runtime_symbols);
	if (missing)
		return gp_error_set(err, GP_EXIT_MISSING, "%s has no %s", versions->runtime_lib,
				    missing);
	cuda->rt_runtime_version(&versions->runtime);
	return 0;
}

static int open_driver(struct gp_cuda *cuda, const struct gp_cuda_versions *versions,
		       struct gp_error *err)
{
	const char *missing;

	cuda->driver_lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cuda->driver_lib) {
		gp_error_set(
			err, GP_EXIT_MISSING,
			"the CUDA runtime %s (%d.%d) is here, but no NVIDIA driver: libcuda.so.1 "
			"is not found",
			versions->runtime_lib, versions->runtime / 1000,
			versions->runtime % 1000 / 10);
		gp_error_advise(err, "install the GPU driver, or in a container pass it in; --path "
				     "host needs none");
		return -1;
	}
	missing = load_symbols(cuda, cuda->driver_lib, driver_symbols);
	load_symbols(cuda, cuda->driver_lib, optional_symbols);
	if (missing)
		return gp_error_set(err, GP_EXIT_MISSING, "libcuda.so.1 has no %s: is it a stub?",
				    missing);
	return 0;
}

static const char *rt_name(const struct gp_cuda *cuda, int code)
{
	const char *name = cuda->rt_error_name(code);

	return name ? name : "unknown error";
}

static const char *cu_name(const struct gp_cuda *cuda, int code)
{
	const char *name = NULL;

	cuda->cu_error_name(code, &name);
	return name ? name : "unknown error";
}

/* The library is loaded; does a driver answer? No device is an answer. */
static int ask_driver(struct gp_cuda *cuda, struct gp_cuda_versions *versions, struct gp_error *err)
{
	int count, code = cuda->rt_device_count(&count);

	if (code == GP_ABI_RT_SUCCESS)
		code = cuda->cu_init(0);
	else if (code != GP_ABI_RT_NO_DEVICE)
		return gp_error_code(err, GP_EXIT_MISSING, GP_SPACE_CUDART, code,
				     rt_name(cuda, code), "cudaGetDeviceCount", "%s %d.%d",
				     versions->runtime_lib, versions->runtime / 1000,
				     versions->runtime % 1000 / 10);
	if (code != GP_ABI_SUCCESS && code != GP_ABI_RT_NO_DEVICE)
		return gp_error_code(err, GP_EXIT_MISSING, GP_SPACE_CUDA, code, cu_name(cuda, code),
				     "cuInit", "0");
	cuda->rt_driver_version(&versions->driver);
	return 0;
}

/* NVML only adds facts: without it they are not told. */
static void open_nvml(struct gp_cuda *cuda)
{
	cuda->nvml_lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cuda->nvml_lib)
		return;
	if (!load_symbols(cuda, cuda->nvml_lib, nvml_symbols) && cuda->nvml_init() == 0)
		return;
	dlclose(cuda->nvml_lib);
	cuda->nvml_lib = NULL;
}

int gp_cuda_open(struct gp_cuda **out, struct gp_cuda_versions *versions, struct gp_error *err)
{
	struct gp_cuda *cuda = calloc(1, sizeof(*cuda));
	struct gp_cuda_versions unused;

	versions = versions ? versions : &unused;
	*versions = (struct gp_cuda_versions){0};
	if (!cuda)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory");
	if (open_runtime(cuda, versions, err) < 0 || open_driver(cuda, versions, err) < 0 ||
	    ask_driver(cuda, versions, err) < 0) {
		gp_cuda_close(cuda);
		return -1;
	}
	open_nvml(cuda);
	*out = cuda;
	return 0;
}

void gp_cuda_close(struct gp_cuda *cuda)
{
	if (!cuda)
		return;
	if (cuda->nvml_lib) {
		cuda->nvml_shutdown();
		dlclose(cuda->nvml_lib);
	}
	if (cuda->driver_lib)
		dlclose(cuda->driver_lib);
	if (cuda->runtime_lib)
		dlclose(cuda->runtime_lib);
	free(cuda);
}

/* ---- GPUs ---- */

/* -1 where the driver does not tell. */
static int attribute(const struct gp_cuda *cuda, int which, gp_abi_device device)
{
	int value;

	return cuda->cu_device_attribute(&value, which, device) == GP_ABI_SUCCESS ? value : -1;
}

static void format_uuid(const gp_abi_uuid *uuid, char *out, size_t size)
{
	const unsigned char *b = (const unsigned char *)uuid->bytes;

	snprintf(out, size,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
		 b[14], b[15]);
}

/* sysfs form: four-digit domain, lower case. */
static void normalize_bdf(char *bdf)
{
	size_t len = strlen(bdf);

	for (char *p = bdf; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (len == 16 && strncmp(bdf, "0000", 4) == 0)
		memmove(bdf, bdf + 4, len - 4 + 1);
}

static void fill_from_driver(const struct gp_cuda *cuda, gp_abi_device device, struct gp_gpu *gpu)
{
	gp_abi_uuid uuid;
	size_t bytes;

	if (cuda->cu_device_name(gpu->name, sizeof(gpu->name), device) != GP_ABI_SUCCESS)
		snprintf(gpu->name, sizeof(gpu->name), "GPU %d", gpu->ordinal);
	if (cuda->cu_device_uuid && cuda->cu_device_uuid(&uuid, device) == GP_ABI_SUCCESS)
		format_uuid(&uuid, gpu->uuid, sizeof(gpu->uuid));
	if (cuda->cu_device_memory(&bytes, device) == GP_ABI_SUCCESS)
		gpu->memory_bytes = bytes;
	gpu->gdr = attribute(cuda, GP_ABI_ATTR_GDR, device);
	gpu->dma_buf = attribute(cuda, GP_ABI_ATTR_DMA_BUF, device);
	gpu->host_page_tables = attribute(cuda, GP_ABI_ATTR_HOST_PAGE_TABLES, device);
	gpu->integrated = attribute(cuda, GP_ABI_ATTR_INTEGRATED, device);
	gpu->flush_options = attribute(cuda, GP_ABI_ATTR_FLUSH_OPTIONS, device);
	gpu->writes_ordering = attribute(cuda, GP_ABI_ATTR_WRITES_ORDERING, device);
	gpu->cc_major = attribute(cuda, GP_ABI_ATTR_CC_MAJOR, device);
	gpu->cc_minor = attribute(cuda, GP_ABI_ATTR_CC_MINOR, device);
}

static void fill_from_nvml(const struct gp_cuda *cuda, struct gp_gpu *gpu)
{
	gp_abi_nvml_device device;
	gp_abi_nvml_bar1 bar1;

	if (!cuda->nvml_lib || cuda->nvml_by_bus_id(gpu->bdf, &device) != 0 ||
	    cuda->nvml_bar1(device, &bar1) != 0)
		return;
	gpu->bar1_total_bytes = bar1.total;
	gpu->bar1_used_bytes = bar1.used;
}

int gp_cuda_list(struct gp_cuda *cuda, struct gp_gpu *gpus, int max, int *n, struct gp_error *err)
{
	int count = 0, code = cuda->rt_device_count(&count);

	*n = 0;
	if (code == GP_ABI_RT_NO_DEVICE)
		return 0;
	if (code != GP_ABI_RT_SUCCESS)
		return gp_error_code(err, GP_EXIT_MISSING, GP_SPACE_CUDART, code,
				     rt_name(cuda, code), "cudaGetDeviceCount", " ");
	for (int i = 0; i < count && *n < max; i++) {
		struct gp_gpu *gpu = &gpus[*n];
		gp_abi_device device;
		char bdf[32];

		*gpu = (struct gp_gpu){.ordinal = i};
		code = cuda->rt_pci_bus_id(bdf, sizeof(bdf), i);
		if (code != GP_ABI_RT_SUCCESS)
			return gp_error_code(err, GP_EXIT_FAILED, GP_SPACE_CUDART, code,
					     rt_name(cuda, code), "cudaDeviceGetPCIBusId", "GPU %d",
					     i);
		code = cuda->cu_device_get(&device, i);
		if (code != GP_ABI_SUCCESS)
			return gp_error_code(err, GP_EXIT_FAILED, GP_SPACE_CUDA, code,
					     cu_name(cuda, code), "cuDeviceGet", "GPU %d", i);
		normalize_bdf(bdf);
		snprintf(gpu->bdf, sizeof(gpu->bdf), "%.15s", bdf);
		fill_from_driver(cuda, device, gpu);
		fill_from_nvml(cuda, gpu);
		(*n)++;
	}
	return 0;
}

/* ---- memory and copies ---- */

/* 0 for success, else the failure of a runtime call. */
static int rt_check(const struct gp_cuda *cuda, int code, const char *call, const char *detail,
		    struct gp_error *err)
{
	if (code == GP_ABI_RT_SUCCESS)
		return 0;
	return gp_error_code(err, GP_EXIT_FAILED, GP_SPACE_CUDART, code, rt_name(cuda, code), call,
			     "%s", detail);
}

int gp_cuda_use(struct gp_cuda *cuda, int ordinal, struct gp_error *err)
{
	char detail[32];

	snprintf(detail, sizeof(detail), "GPU %d", ordinal);
	return rt_check(cuda, cuda->rt_set_device(ordinal), "cudaSetDevice", detail, err);
}

/* GPU pages as peer-memory and dma-buf see them. */
#define GPU_PAGE UINT64_C(65536)

int gp_cuda_alloc(struct gp_cuda *cuda, uint64_t bytes, void **device_ptr, struct gp_error *err)
{
	unsigned yes = 1;
	char detail[48];
	void *ptr = NULL;
	int code;

	snprintf(detail, sizeof(detail), "%" PRIu64 " bytes", bytes);
	if (rt_check(cuda, cuda->rt_malloc(&ptr, bytes), "cudaMalloc", detail, err) < 0) {
		err->exit_code = GP_EXIT_MISSING;
		return -1;
	}
	if ((uintptr_t)ptr % GPU_PAGE) {
		cuda->rt_free(ptr);
		return gp_error_set(err, GP_EXIT_FAILED,
				    "cudaMalloc(%s) gave %p, not aligned to 64 KiB", detail, ptr);
	}
	code = cuda->cu_pointer_set_attribute(&yes, GP_ABI_PTR_SYNC_MEMOPS, (uintptr_t)ptr);
	if (code != GP_ABI_SUCCESS) {
		cuda->rt_free(ptr);
		return gp_error_code(err, GP_EXIT_FAILED, GP_SPACE_CUDA, code, cu_name(cuda, code),
				     "cuPointerSetAttribute", "SYNC_MEMOPS at %p", ptr);
	}
	*device_ptr = ptr;
	return 0;
}

void gp_cuda_free(struct gp_cuda *cuda, void *device_ptr)
{
	if (device_ptr)
		cuda->rt_free(device_ptr);
}

int gp_cuda_pointer(struct gp_cuda *cuda, const void *ptr, struct gp_cuda_pointer *out,
		    struct gp_error *err)
{
	gp_abi_deviceptr address = (uintptr_t)ptr;
	unsigned type = 0;
	int ordinal = -1, code;
	bool managed, capable;

	*out = (struct gp_cuda_pointer){.is_managed = -1, .ordinal = -1, .gdr_capable = -1};
	code = cuda->cu_pointer_attribute(&type, GP_ABI_PTR_MEMORY_TYPE, address);
	if (code == GP_ABI_INVALID_VALUE)
		return 0; /* the driver knows no such pointer */
	if (code != GP_ABI_SUCCESS)
		return gp_error_code(err, GP_EXIT_FAILED, GP_SPACE_CUDA, code, cu_name(cuda, code),
				     "cuPointerGetAttribute", "MEMORY_TYPE of %p", ptr);
	out->memory_type = (int)type;
	if (cuda->cu_pointer_attribute(&managed, GP_ABI_PTR_IS_MANAGED, address) == GP_ABI_SUCCESS)
		out->is_managed = managed;
	if (cuda->cu_pointer_attribute(&ordinal, GP_ABI_PTR_ORDINAL, address) == GP_ABI_SUCCESS)
		out->ordinal = ordinal;
	if (cuda->cu_pointer_attribute(&capable, GP_ABI_PTR_GDR_CAPABLE, address) == GP_ABI_SUCCESS)
		out->gdr_capable = capable;
	return 0;
}

int gp_cuda_export_dmabuf(struct gp_cuda *cuda, void *device_ptr, uint64_t bytes, int *fd,
			  bool *pcie_mapping, struct gp_error *err)
{
	static const unsigned long long flags[] = {GP_ABI_DMA_BUF_MAPPING_PCIE, 0};
	int code = GP_ABI_NOT_SUPPORTED, got = -1;

	if (!cuda->cu_export) {
		gp_error_set(err, GP_EXIT_MISSING,
			     "this NVIDIA driver has no cuMemGetHandleForAddressRange");
		gp_error_advise(err, "DMA-BUF needs CUDA 11.7 or higher in the driver");
		return -1;
	}
	/* A driver that does not know the flag says INVALID_VALUE, a platform that has no second
	 * mapping NOT_SUPPORTED. */
	for (size_t i = 0; i < 2; i++) {
		code = cuda->cu_export(&got, (uintptr_t)device_ptr, bytes, GP_ABI_HANDLE_DMA_BUF_FD,
				       flags[i]);
		*pcie_mapping = flags[i] != 0;
		if (code != GP_ABI_NOT_SUPPORTED && code != GP_ABI_INVALID_VALUE)
			break;
	}
	if (code != GP_ABI_SUCCESS)
		return gp_error_code(err, GP_EXIT_MISSING, GP_SPACE_CUDA, code, cu_name(cuda, code),
				     "cuMemGetHandleForAddressRange", "%" PRIu64 " bytes at %p",
				     bytes, device_ptr);
	*fd = got;
	return 0;
}

int gp_cuda_pin(struct gp_cuda *cuda, void *host_ptr, uint64_t bytes, struct gp_error *err)
{
	char detail[64];

	snprintf(detail, sizeof(detail), "%" PRIu64 " bytes of host memory", bytes);
	return rt_check(cuda,
			cuda->rt_host_register(host_ptr, bytes, GP_ABI_RT_HOST_REGISTER_PORTABLE),
			"cudaHostRegister", detail, err);
}

void gp_cuda_unpin(struct gp_cuda *cuda, void *host_ptr)
{
	if (host_ptr)
		cuda->rt_host_unregister(host_ptr);
}

int gp_cuda_copy(struct gp_cuda *cuda, void *dst, const void *src, uint64_t bytes,
		 struct gp_error *err)
{
	char detail[48];

	snprintf(detail, sizeof(detail), "%" PRIu64 " bytes", bytes);
	return rt_check(cuda, cuda->rt_memcpy(dst, src, bytes, GP_ABI_RT_MEMCPY_DEFAULT),
			"cudaMemcpy", detail, err);
}

int gp_cuda_stream_create(struct gp_cuda *cuda, void **stream, struct gp_error *err)
{
	return rt_check(cuda, cuda->rt_stream_create(stream, GP_ABI_RT_STREAM_NON_BLOCKING),
			"cudaStreamCreateWithFlags", "non-blocking", err);
}

#define DRAIN_NS (2 * GP_NS_PER_S)

int gp_cuda_stream_destroy(struct gp_cuda *cuda, void *stream)
{
	uint64_t deadline_ns = gp_now_ns() + DRAIN_NS;

	if (!stream)
		return 0;
	while (cuda->rt_stream_query(stream) == GP_ABI_RT_NOT_READY)
		if (gp_now_ns() > deadline_ns)
			return -1;
	cuda->rt_stream_destroy(stream);
	return 0;
}

int gp_cuda_event_create(struct gp_cuda *cuda, void **event, struct gp_error *err)
{
	return rt_check(cuda, cuda->rt_event_create(event, GP_ABI_RT_EVENT_DISABLE_TIMING),
			"cudaEventCreateWithFlags", "no timing", err);
}

void gp_cuda_event_destroy(struct gp_cuda *cuda, void *event)
{
	if (event)
		cuda->rt_event_destroy(event);
}

int gp_cuda_copy_async(struct gp_cuda *cuda, void *dst, const void *src, uint64_t bytes,
		       void *stream, void *event, struct gp_error *err)
{
	char detail[48];

	snprintf(detail, sizeof(detail), "%" PRIu64 " bytes", bytes);
	if (rt_check(cuda, cuda->rt_memcpy_async(dst, src, bytes, GP_ABI_RT_MEMCPY_DEFAULT, stream),
		     "cudaMemcpyAsync", detail, err) < 0)
		return -1;
	return rt_check(cuda, cuda->rt_event_record(event, stream), "cudaEventRecord",
			"behind a copy", err);
}

int gp_cuda_event_query(struct gp_cuda *cuda, void *event, struct gp_error *err)
{
	int code = cuda->rt_event_query(event);

	if (code == GP_ABI_RT_NOT_READY)
		return 0;
	return rt_check(cuda, code, "cudaEventQuery", "a copy", err) < 0 ? -1 : 1;
}

int gp_cuda_flush(struct gp_cuda *cuda, const struct gp_gpu *gpu, const char **what,
		  struct gp_error *err)
{
	int code;

	*what = "ordered by the platform";
	if (gpu->writes_ordering >= GP_ABI_FLUSH_TO_OWNER)
		return 0;
	*what = "no flush offered";
	if (!cuda->cu_flush || gpu->flush_options < 0 || !(gpu->flush_options & GP_ABI_FLUSH_HOST))
		return 0;
	*what = "flushed";
	code = cuda->cu_flush(GP_ABI_FLUSH_TARGET_CURRENT, GP_ABI_FLUSH_TO_OWNER);
	if (code != GP_ABI_SUCCESS)
		return gp_error_code(err, GP_EXIT_FAILED, GP_SPACE_CUDA, code, cu_name(cuda, code),
				     "cuFlushGPUDirectRDMAWrites", "to the owner");
	return 0;
}
