/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire: the control channel. Frames of a 4-byte big-endian length and that many bytes of JSON (one
 * object) over TCP. A bound on every length and on every wait; nothing the peer sends is trusted.
 *
 * What the messages mean is session's business; only the hello and the form of an error are known
 * here. All failures are GP_EXIT_FAILED unless said otherwise.
 */
#ifndef GP_WIRE_H
#define GP_WIRE_H

#include "err.h"

#include <stdbool.h>
#include <stdint.h>

/* Raised whenever a message changes its meaning; both ends must have the same. */
#define GP_WIRE_PROTOCOL 1

#define GP_WIRE_FRAME_MAX (1024 * 1024)

/* Connect to host:port. On success *fd is a non-blocking socket that the caller closes. */
int gp_wire_connect(const char *host, int port, double timeout_s, int *fd, struct gp_error *err);

/* Listen on `address` (empty: all) and `port`. GP_EXIT_USAGE for an address that is none. */
int gp_wire_listen(const char *address, int port, int *fd, struct gp_error *err);

/* Take a client, waiting at most `wait_s`: where none came, or a stop is asked for, *fd is -1 and 0
 * is returned. `peer` gets "192.0.2.1". */
int gp_wire_accept(int listen_fd, double wait_s, double timeout_s, int *fd, char *peer,
		   size_t peer_size, struct gp_error *err);

/* Send one object. Takes no reference. */
int gp_wire_send(int fd, const json_t *message, uint64_t deadline_ns, struct gp_error *err);

/* Receive one object, for the caller to json_decref. */
int gp_wire_receive(int fd, uint64_t deadline_ns, json_t **message, struct gp_error *err);

/*
 * Wait for the answer to request number `id`. What has a smaller number in "re" answers an earlier
 * request, whose caller did not wait for it, and is passed over. An answer with an "error" member
 * becomes `err`, with `peer_side` as its side.
 */
int gp_wire_answer(int fd, int64_t id, const char *peer_side, uint64_t deadline_ns, json_t **answer,
		   struct gp_error *err);

/* Send `request` (the reference is stolen) and wait for the answer; "id" is its number. */
int gp_wire_call(int fd, json_t *request, const char *peer_side, uint64_t deadline_ns,
		 json_t **answer, struct gp_error *err);

/* Answer with an error object. */
int gp_wire_send_error(int fd, const struct gp_error *failure, uint64_t deadline_ns,
		       struct gp_error *err);

/* True where the peer has sent something, or hung up: without waiting, and without reading it. */
bool gp_wire_readable(int fd);
bool gp_wire_hung_up(int fd);

/* A key that both ends know. */
struct gp_wire_key {
	unsigned char bytes[32];
};

/* Make a key from a file's bytes (1 to 4096, white space at the end left out). GP_EXIT_USAGE. */
int gp_wire_key_read(const char *file, struct gp_wire_key *key, struct gp_error *err);

/* What one end says of itself in the hello. */
struct gp_wire_self {
	bool server;
	const char *version;
	const struct gp_wire_key *key; /* NULL: none */
	const char *ticket; /* client: the same in all sessions of one run; NULL on the server */
};

/* What the other end said. */
struct gp_wire_peer {
	char version[64];
	char ticket[40]; /* a client's; empty where it gave none */
};

/*
 * Exchange the hello: both sides send theirs, then read the other's. A peer that speaks another
 * protocol number, or none at all, is refused with a line that names both versions. Where either
 * side has a key, both must: the client shows first that it knows it, then the server, by
 * HMAC-SHA-512-256 over both sides' fresh nonces.
 */
int gp_wire_hello(int fd, const struct gp_wire_self *self, uint64_t deadline_ns,
		  struct gp_wire_peer *peer, struct gp_error *err);

/* 32 random hex digits for a ticket. */
void gp_wire_ticket(char ticket[33]);

#endif
