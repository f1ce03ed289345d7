/* SPDX-License-Identifier: BSD-2-Clause */
/* emu: see emu.h. Switches, GPUs, device memory and its dma-bufs. */
#include "emu.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALLOC_MAX  64
#define EXPORT_MAX 64
#define ALIGN	   ((size_t)2 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_memory memories[ALLOC_MAX];
static struct {
	dev_t dev;
	ino_t ino;
	uintptr_t addr;
} exports[EXPORT_MAX];
static int n_exports;
static long peermem_users;
static __thread int current_gpu;

const char *emu_text(const char *name, const char *otherwise)
{
	char variable[64];
	const char *value;

	snprintf(variable, sizeof(variable), "GP_EMU_%s", name);
	value = getenv(variable);
	return value && value[0] ? value : otherwise;
}

long emu_number(const char *name, long otherwise)
{
	const char *value = emu_text(name, NULL);

	return value ? strtol(value, NULL, 0) : otherwise;
}

bool emu_is(const char *name, const char *value)
{
	return strcmp(emu_text(name, ""), value) == 0;
}

bool emu_fails(const char *call)
{
	static long calls;
	const char *what = emu_text("FAIL_CALL", "");
	size_t len = strcspn(what, ":");

	if (strlen(call) != len || strncmp(what, call, len) != 0)
		return false;
	return __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) ==
	       (what[len] ? strtol(what + len + 1, NULL, 10) : 1);
}

int emu_gpu_count(void)
{
	long n = emu_number("GPUS", 1);

	return n < 0 ? 0 : n > EMU_GPU_MAX ? EMU_GPU_MAX : (int)n;
}

/* GP_EMU_BDFS, separated by commas or spaces; the lab gives those of its stand-in devices. */
const char *emu_gpu_bdf(int gpu)
{
	static __thread char bdf[32];
	const char *list = emu_text("BDFS", "");

	for (int i = 0; i < gpu && *list; i++) {
		list += strcspn(list, ", ");
		list += strspn(list, ", ");
	}
	if (*list)
		snprintf(bdf, sizeof(bdf), "%.*s", (int)strcspn(list, ", "), list);
	else
		snprintf(bdf, sizeof(bdf), "0000:%02x:00.0", 0xe0 + gpu);
	return bdf;
}

size_t emu_gpu_memory(void)
{
	return (size_t)emu_number("MEMORY", 1L << 30);
}

int emu_current_gpu(void)
{
	return current_gpu;
}

void emu_set_current_gpu(int gpu)
{
	current_gpu = gpu;
}

/* ---- memory ---- */

static bool map_memory(struct emu_memory *m, size_t bytes)
{
	char *reserved;

	m->bytes = bytes;
	m->mapped = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	m->memfd = memfd_create("gp_emu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->memfd < 0 || ftruncate(m->memfd, (off_t)m->mapped) < 0)
		return false;
	/* What /dev/udmabuf asks for. */
	fcntl(m->memfd, F_ADD_SEALS, F_SEAL_SHRINK);
	m->shadow = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, m->memfd, 0);
	reserved = mmap(NULL, m->mapped + ALIGN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->shadow == MAP_FAILED || reserved == MAP_FAILED)
		return false;
	m->addr = ((uintptr_t)reserved + ALIGN - 1) / ALIGN * ALIGN;
	/* Keep only the aligned part. */
	if (m->addr > (uintptr_t)reserved)
		munmap(reserved, m->addr - (uintptr_t)reserved);
	munmap((void *)(m->addr + m->mapped), (uintptr_t)reserved + ALIGN - m->addr);
	memset(m->shadow, 0xee, bytes); /* cudaMalloc promises nothing about its bytes */
	return true;
}

void *emu_alloc(size_t bytes)
{
	struct emu_memory *slot = NULL;
	size_t used = 0;
	void *ptr = NULL;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < ALLOC_MAX; i++) {
		used += memories[i].gpu == current_gpu ? memories[i].bytes : 0;
		if (!memories[i].addr && !slot)
			slot = &memories[i];
	}
	if (slot && bytes && used + bytes <= emu_gpu_memory()) {
		struct emu_memory m = {.gpu = current_gpu};

		if (map_memory(&m, bytes)) {
			*slot = m;
			ptr = (void *)m.addr;
		} else if (m.memfd >= 0) {
			close(m.memfd);
		}
	}
	pthread_mutex_unlock(&lock);
	return ptr;
}

bool emu_free(void *ptr)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < ALLOC_MAX && !found; i++) {
		struct emu_memory *m = &memories[i];

		if (m->addr != (uintptr_t)ptr)
			continue;
		found = true;
		munmap((void *)m->addr, m->mapped);
		munmap(m->shadow, m->mapped);
		close(m->memfd);
		for (int e = 0; e < n_exports; e++)
			if (exports[e].addr == m->addr)
				exports[e--] = exports[--n_exports];
		*m = (struct emu_memory){0};
	}
	pthread_mutex_unlock(&lock);
	return found;
}

bool emu_find(const void *ptr, size_t bytes, struct emu_memory *out)
{
	uintptr_t addr = (uintptr_t)ptr;
	bool found = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < ALLOC_MAX && !found; i++) {
		const struct emu_memory *m = &memories[i];

		if (m->addr && addr >= m->addr && addr - m->addr <= m->bytes &&
		    bytes <= m->bytes - (addr - m->addr)) {
			*out = *m;
			found = true;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void *emu_host_view(const void *ptr, size_t bytes)
{
	struct emu_memory m;

	return emu_find(ptr, bytes, &m) ? m.shadow + ((uintptr_t)ptr - m.addr) : (void *)ptr;
}

/* ---- dma-bufs ---- */

/* A real dma-buf where the kernel makes them (up to its limit of 64 MiB), else the memfd itself. */
static int make_dmabuf(const struct emu_memory *m)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)m->memfd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = m->mapped};
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = -1;

	if (dev >= 0) {
		fd = ioctl(dev, UDMABUF_CREATE, &create);
		close(dev);
	}
	return fd >= 0 ? fd : fcntl(m->memfd, F_DUPFD_CLOEXEC, 0);
}

int emu_export(const struct emu_memory *m)
{
	struct stat st;
	int fd = make_dmabuf(m);

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	pthread_mutex_lock(&lock);
	if (n_exports < EXPORT_MAX) {
		exports[n_exports].dev = st.st_dev;
		exports[n_exports].ino = st.st_ino;
		exports[n_exports++].addr = m->addr;
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

bool emu_find_export(int fd, struct emu_memory *out)
{
	uintptr_t addr = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_exports; i++)
		if (exports[i].dev == st.st_dev && exports[i].ino == st.st_ino)
			addr = exports[i].addr;
	pthread_mutex_unlock(&lock);
	return addr && emu_find((void *)addr, 0, out);
}

void emu_peermem_register(int change)
{
	__atomic_add_fetch(&peermem_users, change, __ATOMIC_SEQ_CST);
}

long emu_peermem_users(void)
{
	return __atomic_load_n(&peermem_users, __ATOMIC_SEQ_CST);
}

void emu_copy(void *dst, const void *src, size_t bytes)
{
	static long copies_to_host;
	struct emu_memory m;
	char *from = emu_host_view(src, bytes);

	if (emu_find(src, bytes, &m) &&
	    __atomic_add_fetch(&copies_to_host, 1, __ATOMIC_SEQ_CST) == emu_number("FLIP_BYTE", 0))
		from[bytes / 2] ^= 0x10;
	memcpy(emu_host_view(dst, bytes), from, bytes);
}
