/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stop: the program's one global, the flag that SIGINT and SIGTERM set, and absolute deadlines.
 * Every wait in the program has a deadline and ends early when the flag is set.
 */
#ifndef GP_STOP_H
#define GP_STOP_H

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

/* Let SIGINT and SIGTERM set the flag, and ignore SIGPIPE. A second signal ends the process. */
void gp_stop_install(void);

bool gp_stop_requested(void);

/* A point in time (gp_now_ns scale) so many seconds from now. */
uint64_t gp_deadline(double seconds);

/*
 * Wait until `fd` has one of poll's `events`, the deadline passes, or a stop is asked for.
 * Returns 0 when ready (also on hang-up: the next read tells). Else -1 and GP_EXIT_FAILED with
 * "no WHAT within ... s" or "interrupted while waiting for WHAT".
 */
int gp_wait_fd(int fd, short events, uint64_t deadline_ns, const char *what, struct gp_error *err);

#endif
