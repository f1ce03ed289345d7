/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_wire: any bytes as what a peer sends. Frames are received through a socketpair until one is
 * refused; each message then goes through the readers that a session would give it to: options,
 * errors, facts, hello. One entry point, for libFuzzer and for replaying a corpus.
 */
#include "bw_options.h"
#include "evidence.h"
#include "record.h"
#include "side.h"
#include "stop.h"
#include "wire.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* More does not fit in a socket unread; nothing new is behind it either. */
#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* What was taken from a peer must be whole: within its limits, and fit to be written again. */
static void use_options(const json_t *json)
{
	struct gp_bw_options opt = {0}, again = {0};
	struct gp_error err = {0};
	json_t *written;

	if (gp_options_from_json(&gp_bw_table, json, GP_OPT_WIRE, &opt, &err) < 0) {
		require(err.set && err.exit_code == GP_EXIT_USAGE);
		return;
	}
	written = gp_options_to_json(&gp_bw_table, &opt, GP_OPT_WIRE);
	require(gp_options_from_json(&gp_bw_table, written, GP_OPT_WIRE, &again, &err) == 0);
	json_decref(written);
	if (gp_bw_options_finish(&opt, 0, &err) < 0)
		return;
	for (int i = 0; i < opt.size.n; i++) {
		struct gp_batch batch = gp_bw_batch(&opt, opt.size.bytes[i]);

		require(batch.messages >= 1 && batch.messages <= opt.tx_depth);
		require(gp_walk_plan(gp_bw_region_bytes(&opt), opt.size.bytes[i], opt.qps,
				     batch.messages)
				.slots > 0);
	}
}

static void use_error(const json_t *json)
{
	struct gp_error err = {0};
	char line[1024];

	if (gp_error_from_json(json, &err) < 0)
		return;
	require(err.set && err.exit_code >= GP_EXIT_FAILED && err.exit_code <= GP_EXIT_WRONG);
	gp_error_line(&err, line, sizeof(line));
	json_decref(gp_error_to_json(&err));
}

static void use_facts(const json_t *json)
{
	static const struct gp_need needs[] = {{"registration", GP_AT_EACH_SIDE}, {0}};
	static const struct gp_scene scene = {.gpu = {true, true}, .sink = {false, true}};
	struct gp_facts facts = {0}, twice = {0};
	char reason[100];

	if (gp_facts_from_json(json, &facts) < 0)
		return;
	require(facts.n <= GP_FACTS_MAX);
	gp_facts_append(&twice, &facts);
	gp_facts_append(&twice, &facts);
	gp_evidence_verdict(&twice, needs, &scene, reason, sizeof(reason));
	json_decref(gp_facts_to_json(&twice));
}

static void use_placed(const json_t *json)
{
	struct gp_placed placed;

	if (gp_placed_from_json(json, &placed) < 0)
		return;
	gp_placed_differs(&placed);
	json_decref(gp_placed_to_json(&placed));
}

static void use_moved(const json_t *json)
{
	struct gp_moved moved = {0};
	struct gp_error err = {0};

	if (gp_moved_from_json(json, &moved, &err) == 0)
		json_decref(gp_moved_to_json(&moved));
}

static void use(const json_t *json)
{
	use_options(json);
	use_options(json_object_get(json, "options"));
	use_error(json);
	use_error(json_object_get(json, "error"));
	use_facts(json_object_get(json, "facts"));
	use_moved(json_object_get(json, "moved"));
	use_placed(json_object_get(json, "placed"));
}

/* Both ends non-blocking, the input in, and nothing to follow. */
static int feed(const uint8_t *data, size_t size, int fd[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) < 0)
		return -1;
	if (write(fd[1], data, size) == (ssize_t)size && shutdown(fd[1], SHUT_WR) == 0)
		return 0;
	close(fd[0]);
	close(fd[1]);
	return -1;
}

static void receive_all(const uint8_t *data, size_t size)
{
	struct gp_error err = {0};
	json_t *json;
	int fd[2];

	if (feed(data, size, fd) < 0)
		return;
	while (gp_wire_receive(fd[0], gp_deadline(1), &json, &err) == 0) {
		use(json);
		json_decref(json);
	}
	require(err.set);
	close(fd[0]);
	close(fd[1]);
}

static void say_hello(const uint8_t *data, size_t size, const struct gp_wire_self *self)
{
	struct gp_error err = {0};
	struct gp_wire_peer peer;
	int fd[2];

	if (feed(data, size, fd) < 0)
		return;
	if (gp_wire_hello(fd[0], self, gp_deadline(1), &peer, &err) < 0)
		require(err.set);
	else
		require(!self->key); /* no input can hold the proof over a fresh nonce */
	close(fd[0]);
	close(fd[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gp_wire_key key = {"no input knows this"};
	static const struct gp_wire_self client = {.version = "fuzz", .ticket = "00"};
	static const struct gp_wire_self server = {.server = true, .version = "fuzz", .key = &key};

	if (size == 0 || size > INPUT_MAX)
		return 0;
	receive_all(data, size);
	say_hello(data, size, &client);
	say_hello(data, size, &server);
	return 0;
}
