/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * emu: what the stand-ins for CUDA, NVML and the registration verbs share: the emulated device
 * memory, the streams, and the fault switches. It lives in libgp_emu.so, so that all of them see
 * one state in a process. README.md tells what is emulated and what is not.
 */
#ifndef GP_EMU_H
#define GP_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EMU_GPU_MAX 16

/* A switch is an environment variable GP_EMU_NAME; each is read where it takes effect. */
const char *emu_text(const char *name, const char *otherwise);
long emu_number(const char *name, long otherwise);
bool emu_is(const char *name, const char *value);

/* GP_EMU_FAIL_CALL=name:N makes the N-th call of a CUDA function fail: true for that one. */
bool emu_fails(const char *call);

/* The GPUs. */
int emu_gpu_count(void);
const char *emu_gpu_bdf(int gpu);
#define EMU_GPU_NAME "Emulated GPU (host memory)"
size_t emu_gpu_memory(void);
int emu_current_gpu(void);
void emu_set_current_gpu(int gpu);

/* One allocation: a PROT_NONE reservation is the device pointer, a memfd behind it holds the
 * bytes, and `shadow` maps them for the emulator alone. */
struct emu_memory {
	uintptr_t addr;
	size_t bytes, mapped;
	char *shadow;
	int memfd;
	int gpu;
};

void *emu_alloc(size_t bytes);
bool emu_free(void *ptr);
/* The allocation that holds all of [ptr, ptr + bytes), copied out; false where none does. */
bool emu_find(const void *ptr, size_t bytes, struct emu_memory *out);
/* A pointer that the CPU may use: into the shadow for device memory, else ptr itself. */
void *emu_host_view(const void *ptr, size_t bytes);

/* A dma-buf of an allocation; -1 with errno. And the allocation of such an fd (or a dup of it). */
int emu_export(const struct emu_memory *memory);
bool emu_find_export(int fd, struct emu_memory *out);

/* Registrations through the emulated peer-memory client. */
void emu_peermem_register(int change);
long emu_peermem_users(void);

/* A synchronous copy, with the planted fault of GP_EMU_FLIP_BYTE. */
void emu_copy(void *dst, const void *src, size_t bytes);

/* Streams: a worker thread each, copies in order, events behind them. */
struct emu_stream;
struct emu_event;
struct emu_stream *emu_stream_create(void);
void emu_stream_copy(struct emu_stream *stream, void *dst, const void *src, size_t bytes);
void emu_stream_record(struct emu_stream *stream, struct emu_event *event);
bool emu_stream_idle(struct emu_stream *stream);
void emu_stream_destroy(struct emu_stream *stream);
struct emu_event *emu_event_create(void);
bool emu_event_done(struct emu_event *event);
void emu_event_destroy(struct emu_event *event);

#endif
