/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * err: one failure as an object, the exit codes, and the advice.
 *
 * A fallible call returns 0 or -1 and takes a struct gp_error last. The first failure stored
 * stays: clean-up that fails afterwards can't hide the cause. A code always travels with its
 * space, because 4 is EINTR, IBV_WC_LOC_PROT_ERR and cudaErrorCudartUnloading.
 */
#ifndef GP_ERR_H
#define GP_ERR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* What the process exits with; the same for all commands. gp_exit_text() has the words. */
enum gp_exit {
	GP_EXIT_OK = 0,
	GP_EXIT_FAILED = 1,    /* failed while running: peer lost, verbs error, time-out */
	GP_EXIT_USAGE = 2,     /* bad usage, unreadable input */
	GP_EXIT_THRESHOLD = 3, /* a threshold was missed, a regression was found */
	GP_EXIT_MISSING = 4,   /* a requested path, device or prerequisite is not there */
	GP_EXIT_WRONG = 5,     /* wrong data, or the evidence contradicts the path */
};

/* Whose numbers a code is one of. */
enum gp_space {
	GP_SPACE_NONE,
	GP_SPACE_ERRNO,
	GP_SPACE_CUDART, /* cudaError_t */
	GP_SPACE_CUDA,	 /* CUresult */
	GP_SPACE_NVML,	 /* nvmlReturn_t */
	GP_SPACE_WC,	 /* enum ibv_wc_status */
};

/*
 * A failure. All zero is "no failure". Plain data: copy it freely.
 *   side    "client" or "server", empty until somebody who knows sets it
 *   call    the function that failed ("ibv_reg_mr"), empty where no single call did
 *   fact    what was called, with object and size, and what came back
 *   advice  what it most likely means and what to do next; may be empty
 */
struct gp_error {
	bool set;
	enum gp_exit exit_code;
	enum gp_space space;
	int code;
	char side[16];
	char call[48];
	char fact[400];
	char advice[640];
};

/*
 * Store a failure that no return code describes. Always returns -1, so that a caller can
 * `return gp_error_set(...)`. Nothing changes where `err` already holds one.
 */
int gp_error_set(struct gp_error *err, enum gp_exit exit_code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Store the failure of `call`, which returned `code` in `space`. `code_name` may be NULL for
 * GP_SPACE_ERRNO (taken from the C library), else it is the name that the library itself gives.
 * The text becomes "call(DETAIL): NAME (words)"; the advice comes from the table in err.c.
 * Always returns -1.
 */
int gp_error_code(struct gp_error *err, enum gp_exit exit_code, enum gp_space space, int code,
		  const char *code_name, const char *call, const char *detail_fmt, ...)
	__attribute__((format(printf, 7, 8)));

/* gp_error_code() for a call that set errno to `code`. */
#define gp_error_errno(err, exit_code, code, call, ...) \
	gp_error_code(err, exit_code, GP_SPACE_ERRNO, code, NULL, call, __VA_ARGS__)

/* Put better advice in place of what the table gave. */
void gp_error_advise(struct gp_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Name the side on which it failed, where none is named yet. */
void gp_error_side(struct gp_error *err, const char *side);

/* One line, no newline: "client: FACT; ADVICE". Returns buf. */
char *gp_error_line(const struct gp_error *err, char *buf, size_t size);

/*
 * Make a text fit for a line and for JSON: control characters become blanks, what is not UTF-8
 * (also a character that was cut off at the end) becomes '?'. For whatever came from outside.
 */
void gp_text_clean(char *text);

/* The `error` object of records and of the wire; a new reference, NULL where none is set. */
json_t *gp_error_to_json(const struct gp_error *err);

/* Read such an object from a peer or a record. Unknown members are ignored, texts are cut to fit
 * and control characters replaced. Returns -1 where `json` is no such object. */
int gp_error_from_json(const json_t *json, struct gp_error *err);

/* The sentence for an exit code, as printed by --help and the manual. */
const char *gp_exit_text(enum gp_exit code);

/* "EFAULT (Bad address)"; knows the kernel's 524 (ENOTSUPP), which the C library does not. */
const char *gp_errno_text(int code, char *buf, size_t size);

#endif
