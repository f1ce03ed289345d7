/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * emu_verbs: preloaded in front of libibverbs. rdma_rxe imports no dma-bufs and knows no peer
 * memory, so registrations of emulated device memory go to the pages behind it, at the device
 * address, through the real ibv_reg_mr_iova2. Everything else passes through. Also answers for the
 * two files by which a kernel with the real modules would tell of them.
 */
#include "emu.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define EXPORT	    __attribute__((visibility("default")))
#define MR_MAX	    64
#define PEERMEM_DIR "/sys/module/nvidia_peermem"

static void *next(const char *symbol)
{
	void *address = dlsym(RTLD_NEXT, symbol);

	if (!address) {
		fprintf(stderr, "gp_emu: no %s behind the preload\n", symbol);
		abort();
	}
	return address;
}

/* MRs that the emulated peer-memory client holds. */
static struct ibv_mr *peermem_mr[MR_MAX];

static void remember(struct ibv_mr *mr)
{
	for (int i = 0; mr && i < MR_MAX; i++) {
		struct ibv_mr *none = NULL;

		if (__atomic_compare_exchange_n(&peermem_mr[i], &none, mr, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST)) {
			emu_peermem_register(1);
			return;
		}
	}
}

static struct ibv_mr *real_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					unsigned access)
{
	struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, uint64_t, unsigned) =
		next("ibv_reg_mr_iova2");

	return real(pd, addr, length, iova, access);
}

/* GP_EMU_REG_ERRNO on the verb that GP_EMU_REG_FAIL names (dmabuf, peermem, all). */
static bool planted_failure(const char *verb)
{
	static const struct {
		const char *name;
		int code;
	} codes[] = {{"EOPNOTSUPP", EOPNOTSUPP},	   {"ENOMEM", ENOMEM}, {"EINVAL", EINVAL},
		     {"EPROTONOSUPPORT", EPROTONOSUPPORT}, {"EFAULT", EFAULT}, {"524", 524}};
	const char *name = emu_text("REG_ERRNO", NULL);

	if (!name || (!emu_is("REG_FAIL", verb) && strcmp(emu_text("REG_FAIL", "all"), "all") != 0))
		return false;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(name, codes[i].name) == 0)
			errno = codes[i].code;
	return true;
}

static bool has_peermem(void)
{
	return !emu_is("PEERMEM", "off");
}

/* Host page tables that reach the GPU make a plain registration succeed without the client. */
static struct ibv_mr *reg_device(struct ibv_pd *pd, const struct emu_memory *m, void *addr,
				 size_t length, uint64_t iova, unsigned access)
{
	char *pages = m->shadow + ((uintptr_t)addr - m->addr);
	struct ibv_mr *mr;

	if (planted_failure("peermem"))
		return NULL;
	if (!has_peermem() && !emu_is("SHARED_PAGE_TABLES", "1"))
		pages = addr; /* the kernel's own EFAULT */
	mr = real_reg_mr_iova2(pd, pages, length, iova, access);
	if (mr && has_peermem() && !emu_is("PEERMEM_IDLE", "1"))
		remember(mr);
	if (mr)
		mr->addr = addr;
	return mr;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned access)
{
	struct emu_memory m;

	if (emu_find(addr, length, &m))
		return reg_device(pd, &m, addr, length, iova, access);
	return real_reg_mr_iova2(pd, addr, length, iova, access);
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				      int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

/* A planted lie: other pages are registered than those of the allocation. */
static char *other_pages(size_t bytes)
{
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					uint64_t iova, int fd, int access)
{
	struct ibv_mr *(*real)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int) =
		next("ibv_reg_dmabuf_mr");
	struct emu_memory m;
	char *pages;

	if (planted_failure("dmabuf"))
		return NULL;
	if (!emu_find_export(fd, &m))
		return real(pd, offset, length, iova, fd, access);
	if (offset + length > m.bytes) {
		errno = EINVAL;
		return NULL;
	}
	pages = emu_is("DMABUF_LIE", "1") ? other_pages(length) : m.shadow + offset;
	return real_reg_mr_iova2(pd, pages, length, iova, (unsigned)access);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	int (*real)(struct ibv_mr *) = next("ibv_dereg_mr");

	for (int i = 0; i < MR_MAX; i++) {
		struct ibv_mr *held = mr;

		if (__atomic_compare_exchange_n(&peermem_mr[i], &held, NULL, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			emu_peermem_register(-1);
	}
	return real(mr);
}

/* ---- the files of the kernel's side ---- */

static FILE *text_file(const char *text)
{
	FILE *f = tmpfile();

	if (f) {
		fputs(text, f);
		rewind(f);
	}
	return f;
}

/* fdinfo of an emulated dma-buf names the GPU driver's exporter, as it would. */
static FILE *fdinfo_file(int fd)
{
	struct emu_memory m;
	char text[200];

	if (!emu_find_export(fd, &m))
		return NULL;
	snprintf(text, sizeof(text),
		 "pos:\t0\nflags:\t02000002\nmnt_id:\t16\nino:\t1\nsize:\t%zu\ncount:\t2\n"
		 "exp_name:\t%s\n",
		 m.bytes, emu_text("EXPORTER", "nv_dmabuf"));
	return text_file(text);
}

static FILE *emulated_file(const char *path)
{
	char text[32];
	int fd;

	if (sscanf(path, "/proc/self/fdinfo/%d", &fd) == 1)
		return fdinfo_file(fd);
	if (strcmp(path, PEERMEM_DIR "/refcnt") == 0 && has_peermem()) {
		snprintf(text, sizeof(text), "%ld\n", emu_peermem_users());
		return text_file(text);
	}
	return NULL;
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) = next("fopen");
	FILE *f = emulated_file(path);

	return f ? f : real(path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return fopen(path, mode);
}

EXPORT int access(const char *path, int mode)
{
	int (*real)(const char *, int) = next("access");

	if (strcmp(path, PEERMEM_DIR) == 0 && has_peermem())
		return 0;
	return real(path, mode);
}
