/* SPDX-License-Identifier: BSD-2-Clause */
/* stop: see stop.h. */
#include "stop.h"
#include "units.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

static volatile sig_atomic_t stop_flag;

/* A wait looks at the flag this often, since a signal may come just before poll() is entered. */
#define LOOK_MS 200

static void on_signal(int number)
{
	stop_flag = 1;
	signal(number, SIG_DFL);
}

void gp_stop_install(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

bool gp_stop_requested(void)
{
	return stop_flag;
}

uint64_t gp_deadline(double seconds)
{
	return gp_now_ns() + (uint64_t)(seconds * 1e9);
}

int gp_wait_fd(int fd, short events, uint64_t deadline_ns, const char *what, struct gp_error *err)
{
	uint64_t start = gp_now_ns();

	for (;;) {
		uint64_t now = gp_now_ns();
		struct pollfd pfd = {.fd = fd, .events = events};
		uint64_t left_ms;
		int rc;

		if (stop_flag)
			return gp_error_set(err, GP_EXIT_FAILED, "interrupted while waiting for %s",
					    what);
		left_ms = now < deadline_ns ? (deadline_ns - now + 999999) / 1000000 : 0;
		rc = poll(&pfd, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return gp_error_errno(err, GP_EXIT_FAILED, errno, "poll", "%s", what);
		if (rc == 0 && left_ms == 0)
			return gp_error_set(err, GP_EXIT_FAILED, "no %s within %.1f s", what,
					    (double)(now - start) / 1e9);
	}
}
