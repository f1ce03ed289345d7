/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_wire: frames over a socketpair, good ones and all that a peer could send in their place:
 * short, huge, late, cut off, in single bytes, or of another protocol. Every wait ends in time.
 */
#include "wire.h"
#include "stop.h"
#include "units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SHORT_S	 0.15
#define LONG_S	 5.0

/* Our end is non-blocking, as gp_wire_connect() leaves it; the peer's is the test's. */
struct pair {
	int ours, peer;
};

static struct pair pair_open(void)
{
	struct pair pair;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	assert_int_equal(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
	pair = (struct pair){fd[0], fd[1]};
	return pair;
}

static void pair_close(struct pair *pair)
{
	if (pair->ours >= 0)
		close(pair->ours);
	if (pair->peer >= 0)
		close(pair->peer);
	*pair = (struct pair){-1, -1};
}

static void expect_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("no '%s' in '%s'\n", part, text);
	assert_non_null(strstr(text, part));
}

static void put_bytes(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n <= 0)
			return; /* the other end is gone, which some tests want */
		p += n;
		size -= (size_t)n;
	}
}

static void put_frame(int fd, const char *text, size_t size)
{
	uint32_t prefix = htonl((uint32_t)size);

	put_bytes(fd, &prefix, sizeof(prefix));
	put_bytes(fd, text, size);
}

/* What the peer sends from a thread of its own: slowly, or more than a socket holds. */
struct sender {
	pthread_t thread;
	int fd;
	const char *text;
	size_t size;
	unsigned gap_us;
};

static void *send_slowly(void *arg)
{
	struct sender *s = arg;
	uint32_t prefix = htonl((uint32_t)s->size);
	char *frame = malloc(s->size + 4);

	memcpy(frame, &prefix, 4);
	memcpy(frame + 4, s->text, s->size);
	for (size_t i = 0; s->gap_us && i < s->size + 4; i++) {
		if (send(s->fd, frame + i, 1, MSG_NOSIGNAL) != 1)
			break;
		usleep(s->gap_us);
	}
	if (!s->gap_us)
		put_bytes(s->fd, frame, s->size + 4);
	free(frame);
	return NULL;
}

static void sender_start(struct sender *s)
{
	assert_int_equal(pthread_create(&s->thread, NULL, send_slowly, s), 0);
}

static double seconds_since(uint64_t start_ns)
{
	return (double)(gp_now_ns() - start_ns) / 1e9;
}

static void test_object_arrives_as_it_was_sent(void **state)
{
	struct pair pair = pair_open();
	json_t *sent, *got = NULL;
	struct gp_error err = {0};

	(void)state;
	sent = json_pack("{s:s s:I s:[i n b] s:{}}", "do", "start \xc3\xa4 \"q\"", "n",
			 (json_int_t)INT64_MAX, "list", -1, 1, "empty");
	assert_int_equal(gp_wire_send(pair.peer, sent, gp_deadline(LONG_S), &err), 0);
	assert_int_equal(gp_wire_receive(pair.ours, gp_deadline(LONG_S), &got, &err), 0);
	assert_true(json_equal(sent, got));
	json_decref(sent);
	json_decref(got);
	pair_close(&pair);
}

static void test_frames_keep_their_order_and_bounds(void **state)
{
	struct pair pair = pair_open();
	struct gp_error err = {0};
	json_t *got;

	(void)state;
	put_bytes(pair.peer, "\0\0\0\2{}\0\0\0\7{\"a\":1}\0\0\0\4 {} ", 6 + 11 + 8);
	for (size_t i = 0; i < 3; i++) {
		got = NULL;
		assert_int_equal(gp_wire_receive(pair.ours, gp_deadline(LONG_S), &got, &err), 0);
		assert_int_equal(json_object_size(got), i == 1);
		json_decref(got);
	}
	assert_false(gp_wire_readable(pair.ours));
	pair_close(&pair);
}

/* One frame's text, and what receiving it says; NULL: it is taken. */
static void test_text_of_a_frame(void **state)
{
#define NO_OBJECT "no JSON object"
#define ROW(text, fact)                      \
	{                                    \
		text, sizeof(text) - 1, fact \
	}
	static const struct {
		const char *text;
		size_t size;
		const char *fact;
	} rows[] = {
		ROW("{}", NULL),
		ROW(" \n{\"a\": {\"b\": [{\"c\": null}]}}\n", NULL),
		ROW("{\"gdrproof\": 1e2, \"x\": \"\\u0007\"}", NULL),
		ROW("[]", NO_OBJECT),
		ROW("[{}]", NO_OBJECT),
		ROW("1", NO_OBJECT),
		ROW("\"{}\"", NO_OBJECT),
		ROW("null", NO_OBJECT),
		ROW(" ", NO_OBJECT),
		ROW("{", NO_OBJECT),
		ROW("{}}", NO_OBJECT),
		ROW("{} {}", NO_OBJECT),
		ROW("{\"a\":1,}", NO_OBJECT),
		ROW("{\"a\":NaN}", NO_OBJECT),
		ROW("{a:1}", NO_OBJECT),
		ROW("{\"a\":99999999999999999999}", NO_OBJECT),
		ROW("{\"a\":1e999}", NO_OBJECT),
		ROW("{\"a\":1,\"a\":1}", NO_OBJECT),
		ROW("{\"a\":{\"b\":1,\"b\":2}}", NO_OBJECT),
		ROW("{\"a\":\"\\u0000\"}", NO_OBJECT),
		ROW("{}\0", NO_OBJECT),
		ROW("\0\0\0\0", NO_OBJECT),
		ROW("{\"a\":\"\xff\"}", NO_OBJECT),
		ROW("{\"a\":\"\xed\xa0\x80\"}", NO_OBJECT),
		ROW("GET / HTTP/1.1\r\n\r\n", NO_OBJECT),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct pair pair = pair_open();
		struct gp_error err = {0};
		json_t *got = NULL;
		int rc;

		put_frame(pair.peer, rows[i].text, rows[i].size);
		rc = gp_wire_receive(pair.ours, gp_deadline(SHORT_S), &got, &err);
		if ((rc == 0) != (rows[i].fact == NULL))
			print_error("row %zu: %s\n", i, rows[i].text);
		assert_int_equal(rc, rows[i].fact ? -1 : 0);
		assert_int_equal(got != NULL, rc == 0);
		if (rows[i].fact) {
			expect_in(err.fact, rows[i].fact);
			assert_int_equal(err.exit_code, GP_EXIT_FAILED);
		}
		json_decref(got);
		pair_close(&pair);
	}
}

static void test_nesting_is_bounded(void **state)
{
	static const struct {
		int depth, rc;
	} rows[] = {{100, 0}, {1000, 0}, {100000, -1}};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t size = (size_t)rows[i].depth * 2 + 8;
		char *text = malloc(size);
		struct pair pair = pair_open();
		struct sender sender = {.fd = pair.peer, .text = text, .size = size};
		struct gp_error err = {0};
		json_t *got = NULL;

		memset(text, '[', size);
		memcpy(text, "{\"abc\":", 7);
		memset(text + 7 + rows[i].depth, ']', (size_t)rows[i].depth);
		text[size - 1] = '}';
		sender_start(&sender);
		assert_int_equal(gp_wire_receive(pair.ours, gp_deadline(LONG_S), &got, &err),
				 rows[i].rc);
		pthread_join(sender.thread, NULL);
		json_decref(got);
		free(text);
		pair_close(&pair);
	}
}

/* The length is judged before anything is read or allocated for it. */
static void test_foreign_peers_are_refused_at_once(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} rows[] = {
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27},
		{"SSH-2.0-OpenSSH_9.2p1\r\n", 23},
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11}, /* TLS */
		{"\x00\x00\x00\x00", 4},
		{"\x00\x10\x00\x01", 4}, /* one over the limit */
		{"\xff\xff\xff\xff", 4},
		{"\x80\x00\x00\x00", 4},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct pair pair = pair_open();
		struct gp_error err = {0};
		uint64_t start = gp_now_ns();
		json_t *got = NULL;

		put_bytes(pair.peer, rows[i].bytes, rows[i].size);
		assert_int_equal(gp_wire_receive(pair.ours, gp_deadline(LONG_S), &got, &err), -1);
		assert_true(seconds_since(start) < LONG_S / 2);
		assert_null(got);
		expect_in(err.fact, "announces a message of");
		expect_in(err.advice, "not gdrproof");
		pair_close(&pair);
	}
}

static void test_largest_frame_passes_and_one_byte_more_does_not(void **state)
{
	size_t size = GP_WIRE_FRAME_MAX;
	char *text = malloc(size + 2);
	struct pair pair = pair_open();
	struct sender sender = {.fd = pair.peer, .text = text, .size = size};
	struct gp_error err = {0};
	json_t *got = NULL, *sent;

	(void)state;
	memset(text, 'x', size + 2);
	memcpy(text, "{\"a\":\"", 6);
	memcpy(text + size - 2, "\"}", 2);
	sender_start(&sender);
	assert_int_equal(gp_wire_receive(pair.ours, gp_deadline(LONG_S), &got, &err), 0);
	pthread_join(sender.thread, NULL);
	json_decref(got);

	text[size - 2] = 'x'; /* a value of one byte more */
	text[size - 1] = '\0';
	sent = json_pack("{s:s}", "a", text + 6);
	assert_int_equal(gp_wire_send(pair.ours, sent, gp_deadline(SHORT_S), &err), -1);
	expect_in(err.fact, "over the limit");
	json_decref(sent);
	assert_int_equal(recv(pair.peer, text, 1, MSG_DONTWAIT), -1); /* nothing went out */
	free(text);
	pair_close(&pair);
}

static void test_frame_in_single_bytes_is_put_together(void **state)
{
	static const char text[] = "{\"do\":\"start\",\"n\":12}";
	struct pair pair = pair_open();
	struct sender sender = {
		.fd = pair.peer, .text = text, .size = sizeof(text) - 1, .gap_us = 1000};
	struct gp_error err = {0};
	json_t *got = NULL;

	(void)state;
	sender_start(&sender);
	assert_int_equal(gp_wire_receive(pair.ours, gp_deadline(LONG_S), &got, &err), 0);
	assert_int_equal(json_integer_value(json_object_get(got, "n")), 12);
	pthread_join(sender.thread, NULL);
	json_decref(got);
	pair_close(&pair);
}

/* The deadline is the message's, not each byte's: a peer that drips can't hold us. */
static void test_frame_that_drips_past_the_deadline_fails(void **state)
{
	static const char text[] = "{\"do\":\"start and take your time, there is plenty\"}";
	struct pair pair = pair_open();
	struct sender sender = {
		.fd = pair.peer, .text = text, .size = sizeof(text) - 1, .gap_us = 20000};
	struct gp_error err = {0};
	uint64_t start = gp_now_ns();
	json_t *got = NULL;

	(void)state;
	sender_start(&sender);
	assert_int_equal(gp_wire_receive(pair.ours, gp_deadline(SHORT_S), &got, &err), -1);
	assert_true(seconds_since(start) >= SHORT_S - 0.01);
	assert_true(seconds_since(start) < SHORT_S + 0.5);
	expect_in(err.fact, "no answer from the peer within");
	close(pair.ours);
	pair.ours = -1;
	pthread_join(sender.thread, NULL);
	pair_close(&pair);
}

/* A frame cut off anywhere: with the channel open it is late, with it closed the peer is gone. */
static void test_half_frames(void **state)
{
	static const char frame[] = "\0\0\0\x09{\"a\": 12}";

	(void)state;
	for (size_t size = 0; size < sizeof(frame) - 1; size++)
		for (int closed = 0; closed < 2; closed++) {
			struct pair pair = pair_open();
			struct gp_error err = {0};
			json_t *got = NULL;

			put_bytes(pair.peer, frame, size);
			if (closed)
				shutdown(pair.peer, SHUT_WR);
			assert_int_equal(gp_wire_receive(pair.ours,
							 gp_deadline(closed ? LONG_S : 0.01), &got,
							 &err),
					 -1);
			assert_null(got);
			expect_in(err.fact, closed ? "the peer closed the control channel"
						   : "no answer from the peer within");
			assert_int_equal(err.exit_code, GP_EXIT_FAILED);
			pair_close(&pair);
		}
}

static void test_silence_ends_at_the_deadline(void **state)
{
	struct pair pair = pair_open();
	struct gp_error err = {0};
	uint64_t start = gp_now_ns();
	json_t *got = NULL;

	(void)state;
	assert_int_equal(gp_wire_receive(pair.ours, gp_deadline(SHORT_S), &got, &err), -1);
	assert_true(seconds_since(start) >= SHORT_S - 0.01);
	assert_true(seconds_since(start) < SHORT_S + 0.5);
	expect_in(err.fact, "no answer from the peer within 0.");
	pair_close(&pair);
}

/* A peer that stops reading must not hold us for ever either. */
static void test_sending_to_a_peer_that_does_not_read_ends_at_the_deadline(void **state)
{
	struct pair pair = pair_open();
	char *big = malloc(900001);
	struct gp_error err = {0};
	uint64_t start = gp_now_ns();
	json_t *json;

	(void)state;
	memset(big, 'x', 900000);
	big[900000] = '\0';
	json = json_pack("{s:s}", "a", big);
	assert_int_equal(gp_wire_send(pair.ours, json, gp_deadline(SHORT_S), &err), -1);
	assert_true(seconds_since(start) < SHORT_S + 0.5);
	expect_in(err.fact, "no room in the control channel within");
	json_decref(json);
	free(big);
	pair_close(&pair);
}

static void test_sending_to_a_closed_peer_is_an_error_and_no_signal(void **state)
{
	struct pair pair = pair_open();
	json_t *json = json_object();
	struct gp_error err = {0};

	(void)state;
	close(pair.peer);
	pair.peer = -1;
	assert_int_equal(gp_wire_send(pair.ours, json, gp_deadline(SHORT_S), &err), -1);
	assert_int_equal(err.space, GP_SPACE_ERRNO);
	assert_int_equal(err.code, EPIPE);
	assert_string_equal(err.call, "send");
	json_decref(json);
	pair_close(&pair);
}

static void test_readable_and_hung_up(void **state)
{
	struct pair pair = pair_open();

	(void)state;
	assert_false(gp_wire_readable(pair.ours));
	assert_false(gp_wire_hung_up(pair.ours));
	put_bytes(pair.peer, "x", 1);
	assert_true(gp_wire_readable(pair.ours));
	assert_true(gp_wire_readable(pair.ours)); /* nothing was read */
	assert_false(gp_wire_hung_up(pair.ours));
	close(pair.peer);
	pair.peer = -1;
	assert_true(gp_wire_readable(pair.ours));
	assert_true(gp_wire_hung_up(pair.ours)); /* also with data still to be read */
	pair_close(&pair);

	pair = pair_open();
	shutdown(pair.peer, SHUT_WR);
	assert_true(gp_wire_hung_up(pair.ours));
	pair_close(&pair);
}

/* Call with the peer's answer already on its way; returns the request that the peer got. */
static json_t *call(const char *answer, json_t **got, int *rc, struct gp_error *err)
{
	struct pair pair = pair_open();
	struct gp_error peer_err = {0};
	json_t *request = NULL;

	if (answer)
		put_frame(pair.peer, answer, strlen(answer));
	else
		shutdown(pair.peer, SHUT_WR);
	*rc = gp_wire_call(pair.ours, json_pack("{s:s}", "do", "open"), "server",
			   gp_deadline(SHORT_S), got, err);
	assert_int_equal(gp_wire_receive(pair.peer, gp_deadline(SHORT_S), &request, &peer_err), 0);
	pair_close(&pair);
	return request;
}

static void test_call_sends_and_gives_the_answer(void **state)
{
	struct gp_error err = {0};
	json_t *got = NULL, *request;
	int rc;

	(void)state;
	request = call("{\"ok\": 7}", &got, &rc, &err);
	assert_int_equal(rc, 0);
	assert_string_equal(json_string_value(json_object_get(request, "do")), "open");
	assert_int_equal(json_integer_value(json_object_get(got, "ok")), 7);
	json_decref(request);
	json_decref(got);
}

static void test_call_that_is_answered_with_an_error(void **state)
{
	static const struct {
		const char *answer, *side, *fact;
		int exit_code;
	} rows[] = {
		{"{\"error\": {\"exit_code\": 4, \"fact\": \"no GPU\"}}", "server", "no GPU",
		 GP_EXIT_MISSING},
		{"{\"error\": {\"exit_code\": 4, \"fact\": \"no GPU\", \"side\": \"client\"}}",
		 "client", "no GPU", GP_EXIT_MISSING},
		{"{\"error\": {\"exit_code\": 0, \"fact\": \"x\"}, \"ok\": 1}", "server", "x",
		 GP_EXIT_FAILED},
		{"{\"error\": \"x\"}", "server", "it failed without saying why", GP_EXIT_FAILED},
		{"{\"error\": {}}", "server", "it failed without saying why", GP_EXIT_FAILED},
		{"{\"error\": null}", "server", "it failed without saying why", GP_EXIT_FAILED},
		{"[]", "", "no JSON object", GP_EXIT_FAILED},
		{NULL, "", "the peer closed the control channel", GP_EXIT_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_error err = {0};
		json_t *got = NULL;
		int rc;

		json_decref(call(rows[i].answer, &got, &rc, &err));
		assert_int_equal(rc, -1);
		assert_null(got);
		assert_true(err.set);
		assert_string_equal(err.side, rows[i].side);
		expect_in(err.fact, rows[i].fact);
		assert_int_equal(err.exit_code, rows[i].exit_code);
	}
}

static void test_call_keeps_an_earlier_failure(void **state)
{
	struct gp_error err = {0};
	json_t *got = NULL;
	int rc;

	(void)state;
	gp_error_set(&err, GP_EXIT_WRONG, "first");
	json_decref(call("{\"error\": {\"exit_code\": 4, \"fact\": \"second\"}}", &got, &rc, &err));
	assert_int_equal(rc, -1);
	assert_string_equal(err.fact, "first");
}

static void test_error_crosses_the_wire_whole(void **state)
{
	struct pair pair = pair_open();
	struct gp_error theirs = {0}, err = {0}, sending = {0};
	json_t *got = NULL;

	(void)state;
	gp_error_code(&theirs, GP_EXIT_MISSING, GP_SPACE_CUDART, 2, "cudaErrorMemoryAllocation",
		      "cudaMalloc", "%d bytes", 5);
	assert_int_equal(gp_wire_send_error(pair.peer, &theirs, gp_deadline(SHORT_S), &sending), 0);
	assert_int_equal(
		gp_wire_call(pair.ours, json_object(), "server", gp_deadline(SHORT_S), &got, &err),
		-1);
	assert_string_equal(err.side, "server");
	assert_string_equal(err.fact, theirs.fact);
	assert_string_equal(err.advice, theirs.advice);
	assert_string_equal(err.call, "cudaMalloc");
	assert_int_equal(err.space, GP_SPACE_CUDART);
	assert_int_equal(err.code, 2);
	assert_int_equal(err.exit_code, GP_EXIT_MISSING);
	pair_close(&pair);
}

/* A round that both sides gave up: what the server said of it comes before the answer that counts.
 */
static void test_an_answer_to_an_earlier_request_is_passed_over(void **state)
{
	static const char *const sent[] = {"{\"error\": {\"fact\": \"late\"}, \"re\": 6}",
					   "{\"re\": 1}", "{\"value\": 7, \"re\": 7}"};
	struct pair pair = pair_open();
	struct gp_error err = {0};
	json_t *got = NULL;

	(void)state;
	for (size_t i = 0; i < COUNT(sent); i++) {
		json_t *json = json_loads(sent[i], 0, NULL);

		assert_int_equal(gp_wire_send(pair.peer, json, gp_deadline(SHORT_S), &err), 0);
		json_decref(json);
	}
	assert_int_equal(gp_wire_call(pair.ours, json_pack("{s:i}", "id", 7), "server",
				      gp_deadline(SHORT_S), &got, &err),
			 0);
	assert_int_equal(json_integer_value(json_object_get(got, "value")), 7);
	json_decref(got);
	/* nothing but late ones: the wait ends */
	got = json_pack("{s:i}", "re", 7);
	assert_int_equal(gp_wire_send(pair.peer, got, gp_deadline(SHORT_S), &err), 0);
	json_decref(got);
	assert_int_equal(gp_wire_answer(pair.ours, 8, "server", gp_deadline(0.2), &got, &err), -1);
	pair_close(&pair);
}

/* A server whose error holds odd bytes must still answer with that error. */
static void test_error_of_any_text_crosses_the_wire(void **state)
{
	struct pair pair = pair_open();
	struct gp_error theirs = {0}, err = {0}, sending = {0};
	json_t *got = NULL;

	(void)state;
	gp_error_set(&theirs, GP_EXIT_MISSING, "no NIC mlx5_\xff");
	assert_int_equal(gp_wire_send_error(pair.peer, &theirs, gp_deadline(SHORT_S), &sending), 0);
	assert_int_equal(
		gp_wire_call(pair.ours, json_object(), "server", gp_deadline(SHORT_S), &got, &err),
		-1);
	expect_in(err.fact, "no NIC mlx5_");
	pair_close(&pair);
}

static const struct gp_wire_self client = {.version = "1.0"};

static const struct gp_wire_key key_a = {"0123456789abcdef0123456789abcde"};
static const struct gp_wire_key key_b = {"0123456789abcdef0123456789abcdf"};

/* One end of a hello; the other is in a thread of its own. */
struct greeter {
	pthread_t thread;
	int fd, rc;
	struct gp_wire_self self;
	struct gp_wire_peer peer;
	struct gp_error err;
};

static void *greet(void *arg)
{
	struct greeter *g = arg;

	g->rc = gp_wire_hello(g->fd, &g->self, gp_deadline(LONG_S), &g->peer, &g->err);
	return NULL;
}

/* Both ends of one hello. What is left in the channel afterwards would be taken for a request. */
static void greet_each_other(const struct gp_wire_self *one, const struct gp_wire_self *other,
			     struct greeter *a, struct greeter *b)
{
	struct pair pair = pair_open();

	assert_int_equal(fcntl(pair.peer, F_SETFL, O_NONBLOCK), 0);
	*a = (struct greeter){.fd = pair.ours, .self = *one};
	*b = (struct greeter){.fd = pair.peer, .self = *other};
	assert_int_equal(pthread_create(&b->thread, NULL, greet, b), 0);
	greet(a);
	close(pair.ours);
	pair.ours = -1;
	pthread_join(b->thread, NULL);
	if (b->rc == 0)
		assert_int_equal(recv(pair.peer, &(char){0}, 1, MSG_DONTWAIT), 0);
	pair_close(&pair);
}

static void test_hello_exchanges_versions(void **state)
{
	static const struct gp_wire_self server = {.server = true, .version = "2.1"};
	struct greeter a, b;

	(void)state;
	greet_each_other(&client, &server, &a, &b);
	assert_int_equal(a.rc, 0);
	assert_int_equal(b.rc, 0);
	assert_string_equal(a.peer.version, "2.1");
	assert_string_equal(b.peer.version, "1.0");
}

static void test_hello_carries_the_clients_ticket(void **state)
{
	static const struct gp_wire_self server = {.server = true, .version = "2.1"};
	struct gp_wire_self self = client;
	struct greeter a, b;
	char ticket[33], other[33];

	(void)state;
	gp_wire_ticket(ticket);
	gp_wire_ticket(other);
	assert_int_equal(strspn(ticket, "0123456789abcdef"), 32);
	assert_int_equal(strlen(ticket), 32);
	assert_string_not_equal(ticket, other);
	self.ticket = ticket;
	greet_each_other(&self, &server, &a, &b);
	assert_int_equal(b.rc, 0);
	assert_string_equal(b.peer.ticket, ticket);
	assert_string_equal(a.peer.ticket, "");
	greet_each_other(&client, &server, &a, &b);
	assert_string_equal(b.peer.ticket, "");
}

static void test_hello_with_keys(void **state)
{
	static const struct {
		const struct gp_wire_key *client, *server;
		const char *client_fact, *server_fact; /* NULL: content */
	} rows[] = {
		{NULL, NULL, NULL, NULL},
		{&key_a, &key_a, NULL, NULL},
		{&key_a, &key_b, "does not know the key", "does not know the key"},
		{&key_a, NULL, "this end has a key (--psk-file), the other end has none",
		 "the other end has a key (--psk-file), this end has none"},
		{NULL, &key_a, "the other end has a key (--psk-file), this end has none",
		 "this end has a key (--psk-file), the other end has none"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_wire_self c = {.version = "c", .key = rows[i].client};
		struct gp_wire_self s = {.server = true, .version = "s", .key = rows[i].server};
		struct greeter a, b;

		greet_each_other(&c, &s, &a, &b);
		assert_int_equal(a.rc, rows[i].client_fact ? -1 : 0);
		assert_int_equal(b.rc, rows[i].server_fact ? -1 : 0);
		if (rows[i].client_fact)
			expect_in(a.err.fact, rows[i].client_fact);
		if (rows[i].server_fact)
			expect_in(b.err.fact, rows[i].server_fact);
	}
}

/* A peer without the key that sends back our own nonce and then our own proof must not pass. */
static void test_hello_takes_no_proof_of_its_own(void **state)
{
	struct pair pair = pair_open();
	struct greeter ours = {.fd = pair.ours, .self = {.version = "1.0", .key = &key_a}};
	struct gp_error err = {0};

	(void)state;
	assert_int_equal(fcntl(pair.peer, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(pthread_create(&ours.thread, NULL, greet, &ours), 0);
	for (int i = 0; i < 2; i++) {
		json_t *json = NULL;

		assert_int_equal(gp_wire_receive(pair.peer, gp_deadline(LONG_S), &json, &err), 0);
		assert_non_null(json_object_get(json, i ? "proof" : "nonce"));
		assert_int_equal(gp_wire_send(pair.peer, json, gp_deadline(LONG_S), &err), 0);
		json_decref(json);
	}
	pthread_join(ours.thread, NULL);
	assert_int_equal(ours.rc, -1);
	expect_in(ours.err.fact, "does not know the key");
	pair_close(&pair);
}

static void test_hello_makes_a_new_nonce_each_time(void **state)
{
	char nonce[2][80] = {{0}};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct pair pair = pair_open();
		struct gp_wire_self self = {.version = "1.0", .key = &key_a};
		struct gp_error err = {0};
		struct gp_wire_peer peer;
		json_t *json = NULL;

		shutdown(pair.peer, SHUT_WR);
		assert_int_equal(gp_wire_hello(pair.ours, &self, gp_deadline(SHORT_S), &peer, &err),
				 -1);
		err = (struct gp_error){0};
		assert_int_equal(gp_wire_receive(pair.peer, gp_deadline(SHORT_S), &json, &err), 0);
		snprintf(nonce[i], sizeof(nonce[i]), "%s",
			 json_string_value(json_object_get(json, "nonce")));
		json_decref(json);
		pair_close(&pair);
	}
	assert_true(strlen(nonce[0]) >= 32);
	assert_string_not_equal(nonce[0], nonce[1]);
}

static void test_hello_with_a_bad_nonce_or_proof(void **state)
{
	static const struct {
		const char *nonce, *proof, *fact;
	} rows[] = {
		{"zz", "{}", "nonce is none"},
		{"0", "{}", "nonce is none"},
		{"000102030405060708090a0b0c0d0e0f10", "{}", "nonce is none"}, /* too long */
		{"000102030405060708090a0b0c0d0e0f", "{}", "does not know the key"},
		{"000102030405060708090a0b0c0d0e0f", "{\"proof\": \"\"}", "does not know the key"},
		{"000102030405060708090a0b0c0d0e0f", "{\"proof\": 5}", "does not know the key"},
		{"000102030405060708090a0b0c0d0e0f", "[]", "no JSON object"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct pair pair = pair_open();
		struct gp_wire_self self = {.server = true, .version = "1.0", .key = &key_a};
		struct gp_error err = {0};
		struct gp_wire_peer peer;
		char hello[200];

		snprintf(hello, sizeof(hello), "{\"gdrproof\": %d, \"nonce\": \"%s\"}",
			 GP_WIRE_PROTOCOL, rows[i].nonce);
		put_frame(pair.peer, hello, strlen(hello));
		put_frame(pair.peer, rows[i].proof, strlen(rows[i].proof));
		assert_int_equal(gp_wire_hello(pair.ours, &self, gp_deadline(SHORT_S), &peer, &err),
				 -1);
		expect_in(err.fact, rows[i].fact);
		pair_close(&pair);
	}
}

static void key_file(const void *bytes, size_t size, char path[32])
{
	int fd;

	strcpy(path, "/tmp/test_wire.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	put_bytes(fd, bytes, size);
	close(fd);
}

static void test_key_is_of_the_files_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} same[] = {{"secret", 6}, {"secret\n", 7}, {"secret \r\n\t", 10}},
	  others[] = {{"Secret", 6}, {" secret", 7}, {"secret\0", 7}, {"s", 1}};
	struct gp_wire_key first, key;
	struct gp_error err = {0};
	char path[32];

	(void)state;
	for (size_t i = 0; i < COUNT(same); i++) {
		key_file(same[i].bytes, same[i].size, path);
		assert_int_equal(gp_wire_key_read(path, i ? &key : &first, &err), 0);
		unlink(path);
		if (i)
			assert_memory_equal(&key, &first, sizeof(key));
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		key_file(others[i].bytes, others[i].size, path);
		assert_int_equal(gp_wire_key_read(path, &key, &err), 0);
		unlink(path);
		assert_memory_not_equal(&key, &first, sizeof(key));
	}
}

static void test_key_file_that_is_none(void **state)
{
	static char big[4097];
	static const struct {
		const char *bytes;
		size_t size;
		const char *fact;
	} rows[] = {
		{"", 0, "no key in it"}, {" \n\t", 3, "no key in it"}, {big, 4097, "over 4096"}};
	struct gp_wire_key key;
	char path[32];

	(void)state;
	memset(big, 'x', sizeof(big));
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_error err = {0};

		key_file(rows[i].bytes, rows[i].size, path);
		assert_int_equal(gp_wire_key_read(path, &key, &err), -1);
		unlink(path);
		assert_int_equal(err.exit_code, GP_EXIT_USAGE);
		expect_in(err.fact, rows[i].fact);
		err = (struct gp_error){0};
		assert_int_equal(gp_wire_key_read(path, &key, &err), -1); /* gone */
		assert_int_equal(err.code, ENOENT);
		assert_int_equal(err.exit_code, GP_EXIT_USAGE);
	}
	key_file(big, 4096, path);
	assert_int_equal(gp_wire_key_read(path, &key, &(struct gp_error){0}), 0);
	unlink(path);
}

/* A hello from the peer, as text; both versions must be in the refusal. */
static void test_hello_of_another_kind_is_refused(void **state)
{
	static const struct {
		const char *hello;
		const char *facts[4]; /* NULL first: accepted */
		const char *version;
	} rows[] = {
		{"{\"gdrproof\": 1, \"version\": \"9.9\"}", {NULL}, "9.9"},
		{"{\"gdrproof\": 1, \"version\": \"9.9\", \"more\": []}", {NULL}, "9.9"},
		{"{\"gdrproof\": 1, \"nonce\": \"00\"}",
		 {"the other end has a key (--psk-file), this end has none"},
		 "unknown"},
		{"{\"gdrproof\": 1}", {NULL}, "unknown"},
		{"{\"gdrproof\": 1, \"version\": 9}", {NULL}, "unknown"},
		{"{\"gdrproof\": 1, \"version\": \"a\\nb\\u001b[2J\"}", {NULL}, "a b [2J"},
		{"{\"gdrproof\": 2, \"version\": \"9.9\"}",
		 {"gdrproof 9.9 with protocol 2", "gdrproof 1.0 with protocol 1"},
		 "9.9"},
		{"{\"gdrproof\": 0, \"version\": \"0.1\"}",
		 {"gdrproof 0.1 with protocol 0", "gdrproof 1.0 with protocol 1"},
		 "0.1"},
		{"{\"gdrproof\": -1}", {"gdrproof unknown with protocol -1"}, "unknown"},
		{"{\"gdrproof\": \"1\", \"version\": \"9.9\"}", {"is not gdrproof"}, "9.9"},
		{"{\"gdrproof\": 1.0}", {"is not gdrproof"}, "unknown"},
		{"{}", {"is not gdrproof"}, "unknown"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct pair pair = pair_open();
		struct gp_error err = {0};
		struct gp_wire_peer peer = {0};
		int rc;

		put_frame(pair.peer, rows[i].hello, strlen(rows[i].hello));
		rc = gp_wire_hello(pair.ours, &client, gp_deadline(SHORT_S), &peer, &err);
		assert_int_equal(rc, rows[i].facts[0] ? -1 : 0);
		assert_string_equal(peer.version, rows[i].version);
		for (int f = 0; f < 4 && rows[i].facts[f]; f++)
			expect_in(err.fact, rows[i].facts[f]);
		pair_close(&pair);
	}
}

/* The other direction: what we send first lets a peer of any protocol name both versions. */
static void test_hello_tells_our_protocol_before_it_reads(void **state)
{
	struct pair pair = pair_open();
	struct gp_error err = {0};
	struct gp_wire_peer peer;
	json_t *got = NULL;

	(void)state;
	assert_int_equal(gp_wire_hello(pair.ours, &client, gp_deadline(SHORT_S), &peer, &err),
			 -1); /* nothing came */
	err = (struct gp_error){0};
	assert_int_equal(gp_wire_receive(pair.peer, gp_deadline(SHORT_S), &got, &err), 0);
	assert_int_equal(json_integer_value(json_object_get(got, "gdrproof")), GP_WIRE_PROTOCOL);
	assert_string_equal(json_string_value(json_object_get(got, "version")), "1.0");
	json_decref(got);
	pair_close(&pair);
}

static void test_hello_names_a_huge_protocol_as_it_is(void **state)
{
	static const char hello[] = "{\"gdrproof\": 4294967297, \"version\": \"9.9\"}";
	struct pair pair = pair_open();
	struct gp_error err = {0};
	struct gp_wire_peer peer;

	(void)state;
	put_frame(pair.peer, hello, strlen(hello));
	assert_int_equal(gp_wire_hello(pair.ours, &client, gp_deadline(SHORT_S), &peer, &err), -1);
	assert_null(strstr(err.fact, "9.9 with protocol 1,"));
	pair_close(&pair);
}

static void test_hello_cuts_a_long_version(void **state)
{
	struct pair pair = pair_open();
	struct gp_error err = {0};
	struct gp_wire_peer peer;
	char hello[600];

	(void)state;
	snprintf(hello, sizeof(hello), "{\"gdrproof\": 2, \"version\": \"%0500d\"}", 7);
	put_frame(pair.peer, hello, strlen(hello));
	assert_int_equal(gp_wire_hello(pair.ours, &client, gp_deadline(SHORT_S), &peer, &err), -1);
	assert_int_equal(strlen(peer.version), sizeof(peer.version) - 1);
	expect_in(err.fact, "with protocol 1"); /* our own half is not pushed out */
	pair_close(&pair);
}

static int port_of(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	return ntohs(addr.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&addr)->sin6_port
						: ((struct sockaddr_in *)&addr)->sin_port);
}

static void test_connect_and_accept(void **state)
{
	static const char *const addresses[] = {"127.0.0.1", ""};

	(void)state;
	for (size_t i = 0; i < COUNT(addresses); i++) {
		struct gp_error err = {0};
		int listen_fd = -1, fd = -1, server = -1;
		char peer[64];
		json_t *json = json_object(), *got = NULL;

		assert_int_equal(gp_wire_listen(addresses[i], 0, &listen_fd, &err), 0);
		assert_int_equal(
			gp_wire_connect("127.0.0.1", port_of(listen_fd), LONG_S, &fd, &err), 0);
		assert_int_equal(gp_wire_accept(listen_fd, LONG_S, LONG_S, &server, peer,
						sizeof(peer), &err),
				 0);
		assert_string_equal(peer, "127.0.0.1"); /* also where it came through IPv6 */
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(server, F_GETFL) & O_NONBLOCK);
		assert_int_equal(gp_wire_send(fd, json, gp_deadline(LONG_S), &err), 0);
		assert_int_equal(gp_wire_receive(server, gp_deadline(LONG_S), &got, &err), 0);
		close(fd);
		assert_int_equal(gp_wait_fd(server, POLLIN, gp_deadline(LONG_S), "end", &err), 0);
		assert_true(gp_wire_hung_up(server));
		json_decref(json);
		json_decref(got);
		close(server);
		close(listen_fd);
	}
}

static void test_accept_waits_no_longer_than_told(void **state)
{
	struct gp_error err = {0};
	uint64_t start = gp_now_ns();
	int listen_fd, fd = 7;
	char peer[64];

	(void)state;
	assert_int_equal(gp_wire_listen("127.0.0.1", 0, &listen_fd, &err), 0);
	assert_int_equal(gp_wire_accept(listen_fd, SHORT_S, LONG_S, &fd, peer, sizeof(peer), &err),
			 0);
	assert_int_equal(fd, -1);
	assert_false(err.set);
	assert_true(seconds_since(start) >= SHORT_S - 0.01);
	assert_true(seconds_since(start) < SHORT_S + 0.5);
	close(listen_fd);
}

static void test_connect_where_nobody_listens(void **state)
{
	struct gp_error err = {0};
	int listen_fd, fd = -1, port;

	(void)state;
	assert_int_equal(gp_wire_listen("127.0.0.1", 0, &listen_fd, &err), 0);
	port = port_of(listen_fd);
	close(listen_fd);
	assert_int_equal(gp_wire_connect("127.0.0.1", port, SHORT_S, &fd, &err), -1);
	assert_int_equal(fd, -1);
	assert_int_equal(err.exit_code, GP_EXIT_FAILED);
	assert_int_equal(err.code, ECONNREFUSED);
	expect_in(err.advice, "gdrproof serve");
}

static void test_connect_to_a_name_that_is_none(void **state)
{
	struct gp_error err = {0};
	int fd = -1;

	(void)state;
	assert_int_equal(gp_wire_connect("no such host", 1, SHORT_S, &fd, &err), -1);
	expect_in(err.fact, "getaddrinfo(no such host)");
	assert_int_equal(err.exit_code, GP_EXIT_FAILED);
}

static void test_listen_refuses(void **state)
{
	struct gp_error err = {0}, busy = {0}, none = {0}, not_ours = {0};
	int first, fd = -1;

	(void)state;
	assert_int_equal(gp_wire_listen("127.0.0.1", 0, &first, &err), 0);
	assert_int_equal(gp_wire_listen("127.0.0.1", port_of(first), &fd, &busy), -1);
	assert_int_equal(busy.code, EADDRINUSE);
	expect_in(busy.advice, "another process listens");
	assert_int_equal(gp_wire_listen("no such address", 0, &fd, &none), -1);
	assert_int_equal(none.exit_code, GP_EXIT_USAGE);
	assert_int_equal(gp_wire_listen("192.0.2.1", 0, &fd, &not_ours), -1);
	assert_int_equal(not_ours.code, EADDRNOTAVAIL);
	assert_int_equal(fd, -1);
	close(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_arrives_as_it_was_sent),
		cmocka_unit_test(test_frames_keep_their_order_and_bounds),
		cmocka_unit_test(test_text_of_a_frame),
		cmocka_unit_test(test_nesting_is_bounded),
		cmocka_unit_test(test_foreign_peers_are_refused_at_once),
		cmocka_unit_test(test_largest_frame_passes_and_one_byte_more_does_not),
		cmocka_unit_test(test_frame_in_single_bytes_is_put_together),
		cmocka_unit_test(test_frame_that_drips_past_the_deadline_fails),
		cmocka_unit_test(test_half_frames),
		cmocka_unit_test(test_silence_ends_at_the_deadline),
		cmocka_unit_test(test_sending_to_a_peer_that_does_not_read_ends_at_the_deadline),
		cmocka_unit_test(test_sending_to_a_closed_peer_is_an_error_and_no_signal),
		cmocka_unit_test(test_readable_and_hung_up),
		cmocka_unit_test(test_call_sends_and_gives_the_answer),
		cmocka_unit_test(test_call_that_is_answered_with_an_error),
		cmocka_unit_test(test_call_keeps_an_earlier_failure),
		cmocka_unit_test(test_error_crosses_the_wire_whole),
		cmocka_unit_test(test_error_of_any_text_crosses_the_wire),
		cmocka_unit_test(test_an_answer_to_an_earlier_request_is_passed_over),
		cmocka_unit_test(test_hello_exchanges_versions),
		cmocka_unit_test(test_hello_carries_the_clients_ticket),
		cmocka_unit_test(test_hello_with_keys),
		cmocka_unit_test(test_hello_takes_no_proof_of_its_own),
		cmocka_unit_test(test_hello_makes_a_new_nonce_each_time),
		cmocka_unit_test(test_hello_with_a_bad_nonce_or_proof),
		cmocka_unit_test(test_key_is_of_the_files_bytes),
		cmocka_unit_test(test_key_file_that_is_none),
		cmocka_unit_test(test_hello_of_another_kind_is_refused),
		cmocka_unit_test(test_hello_tells_our_protocol_before_it_reads),
		cmocka_unit_test(test_hello_names_a_huge_protocol_as_it_is),
		cmocka_unit_test(test_hello_cuts_a_long_version),
		cmocka_unit_test(test_connect_and_accept),
		cmocka_unit_test(test_accept_waits_no_longer_than_told),
		cmocka_unit_test(test_connect_where_nobody_listens),
		cmocka_unit_test(test_connect_to_a_name_that_is_none),
		cmocka_unit_test(test_listen_refuses),
	};

	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
