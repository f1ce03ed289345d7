/* SPDX-License-Identifier: BSD-2-Clause */
/* wire: see wire.h. */
#include "wire.h"
#include "stop.h"
#include "units.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer whose machine is gone without a word is noticed by TCP itself. */
static void tune_socket(int fd, double timeout_s)
{
	unsigned timeout_ms = (unsigned)(timeout_s * 1000);
	int one = 1, idle_s = 5;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

/* Connect to one address; 0, or an errno value. */
static int connect_one(const struct addrinfo *ai, uint64_t deadline_ns, int *out)
{
	struct gp_error ignored = {0};
	int fd, code = 0;
	socklen_t len = sizeof(code);

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EINPROGRESS)
		code = errno;
	else if (gp_wait_fd(fd, POLLOUT, deadline_ns, "connection", &ignored) < 0)
		code = gp_stop_requested() ? EINTR : ETIMEDOUT;
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
		code = errno;
	if (code) {
		close(fd);
		return code;
	}
	*out = fd;
	return 0;
}

int gp_wire_connect(const char *host, int port, double timeout_s, int *fd, struct gp_error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
	uint64_t deadline_ns = gp_deadline(timeout_s);
	char service[16];
	int rc, code = ECONNREFUSED;

	snprintf(service, sizeof(service), "%d", port);
	rc = getaddrinfo(host, service, &hints, &list);
	if (rc) {
		gp_error_set(err, GP_EXIT_FAILED, "getaddrinfo(%s): %s", host, gai_strerror(rc));
		gp_error_advise(err, "check the name of the server");
		return -1;
	}
	for (struct addrinfo *ai = list; ai; ai = ai->ai_next) {
		code = connect_one(ai, deadline_ns, fd);
		if (code == 0)
			break;
	}
	freeaddrinfo(list);
	if (code)
		return gp_error_errno(err, GP_EXIT_FAILED, code, "connect", "%s port %d", host,
				      port);
	tune_socket(*fd, timeout_s);
	return 0;
}

int gp_wire_listen(const char *address, int port, int *fd, struct gp_error *err)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list;
	const char *shown = address[0] ? address : "all addresses";
	char service[16];
	int rc, sock, one = 1, zero = 0;

	if (!address[0])
		hints.ai_family = AF_INET6; /* and IPv4 through it */
	snprintf(service, sizeof(service), "%d", port);
	rc = getaddrinfo(address[0] ? address : NULL, service, &hints, &list);
	if (rc)
		return gp_error_set(err, GP_EXIT_USAGE, "--bind %s: %s", shown, gai_strerror(rc));
	sock = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0 && !address[0] && errno == EAFNOSUPPORT) {
		freeaddrinfo(list); /* no IPv6 on this host */
		return gp_wire_listen("0.0.0.0", port, fd, err);
	}
	if (sock >= 0) {
		setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (list->ai_family == AF_INET6)
			setsockopt(sock, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	}
	if (sock < 0)
		gp_error_errno(err, GP_EXIT_FAILED, errno, "socket", "%s", shown);
	else if (bind(sock, list->ai_addr, list->ai_addrlen) < 0)
		gp_error_errno(err, GP_EXIT_FAILED, errno, "bind", "%s port %d", shown, port);
	else if (listen(sock, 8) < 0)
		gp_error_errno(err, GP_EXIT_FAILED, errno, "listen", "%s port %d", shown, port);
	freeaddrinfo(list);
	if (err->set) {
		if (sock >= 0)
			close(sock);
		return -1;
	}
	*fd = sock;
	return 0;
}

int gp_wire_accept(int listen_fd, double wait_s, double timeout_s, int *fd, char *peer,
		   size_t peer_size, struct gp_error *err)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	struct gp_error waited = {0};
	const char *shown;

	*fd = -1;
	if (gp_wait_fd(listen_fd, POLLIN, gp_deadline(wait_s), "client", &waited) < 0)
		return 0;
	*fd = accept4(listen_fd, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (*fd < 0) {
		/* A client that went away before it was accepted is nobody's failure. */
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return 0;
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "accept", "control port");
	}
	tune_socket(*fd, timeout_s);
	if (getnameinfo((struct sockaddr *)&addr, len, peer, (socklen_t)peer_size, NULL, 0,
			NI_NUMERICHOST) != 0)
		snprintf(peer, peer_size, "unknown");
	shown = strncmp(peer, "::ffff:", 7) == 0 ? peer + 7 : peer;
	memmove(peer, shown, strlen(shown) + 1);
	return 0;
}

static int send_bytes(int fd, const void *data, size_t size, uint64_t deadline_ns,
		      struct gp_error *err)
{
	const char *p = data;

	while (size) {
		ssize_t n = send(fd, p, size, MSG_NOSIGNAL);

		if (n > 0) {
			p += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (gp_wait_fd(fd, POLLOUT, deadline_ns, "room in the control channel",
				       err) < 0)
				return -1;
		} else if (errno != EINTR) {
			return gp_error_errno(err, GP_EXIT_FAILED, errno, "send",
					      "control channel");
		}
	}
	return 0;
}

static int receive_bytes(int fd, void *data, size_t size, uint64_t deadline_ns,
			 struct gp_error *err)
{
	char *p = data;

	while (size) {
		ssize_t n = recv(fd, p, size, 0);

		if (n > 0) {
			p += n;
			size -= (size_t)n;
		} else if (n == 0) {
			return gp_error_set(err, GP_EXIT_FAILED,
					    "the peer closed the control channel (it ended, or was "
					    "killed)");
		} else if (errno == EAGAIN) {
			if (gp_wait_fd(fd, POLLIN, deadline_ns, "answer from the peer", err) < 0)
				return -1;
		} else if (errno != EINTR) {
			return gp_error_errno(err, GP_EXIT_FAILED, errno, "recv",
					      "control channel");
		}
	}
	return 0;
}

int gp_wire_send(int fd, const json_t *message, uint64_t deadline_ns, struct gp_error *err)
{
	char *text = json_dumps(message, JSON_COMPACT);
	size_t size = text ? strlen(text) : 0;
	uint32_t prefix = htonl((uint32_t)size);
	int rc = -1;

	if (!text || size > GP_WIRE_FRAME_MAX)
		gp_error_set(err, GP_EXIT_FAILED, "a message of %zu bytes is over the limit of %d",
			     size, GP_WIRE_FRAME_MAX);
	else if (send_bytes(fd, &prefix, sizeof(prefix), deadline_ns, err) == 0)
		rc = send_bytes(fd, text, size, deadline_ns, err);
	free(text);
	return rc;
}

int gp_wire_receive(int fd, uint64_t deadline_ns, json_t **message, struct gp_error *err)
{
	json_error_t why;
	uint32_t prefix;
	size_t size;
	json_t *json;
	char *text;

	if (receive_bytes(fd, &prefix, sizeof(prefix), deadline_ns, err) < 0)
		return -1;
	size = ntohl(prefix);
	if (size == 0 || size > GP_WIRE_FRAME_MAX) {
		gp_error_set(err, GP_EXIT_FAILED,
			     "the peer announces a message of %zu bytes (limit %d)", size,
			     GP_WIRE_FRAME_MAX);
		gp_error_advise(err, "most likely the other end is not gdrproof: check the port");
		return -1;
	}
	text = malloc(size);
	if (!text)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for %zu bytes", size);
	if (receive_bytes(fd, text, size, deadline_ns, err) < 0) {
		free(text);
		return -1;
	}
	json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
	free(text);
	if (!json_is_object(json)) {
		json_decref(json);
		return gp_error_set(err, GP_EXIT_FAILED,
				    "the peer sent a message that is no JSON "
				    "object");
	}
	*message = json;
	return 0;
}

/* True for an answer to a request before that of number `id`. */
static bool is_late(const json_t *answer, json_int_t id)
{
	const json_t *re = json_object_get(answer, "re");

	return json_is_integer(re) && json_integer_value(re) < id;
}

int gp_wire_answer(int fd, int64_t id, const char *peer_side, uint64_t deadline_ns, json_t **answer,
		   struct gp_error *err)
{
	json_t *json = NULL, *failure;

	do {
		json_decref(json);
		json = NULL;
		if (gp_wire_receive(fd, deadline_ns, &json, err) < 0)
			return -1;
	} while (is_late(json, id));
	failure = json_object_get(json, "error");
	if (failure) {
		struct gp_error theirs = {0};

		if (gp_error_from_json(failure, &theirs) < 0)
			gp_error_set(&theirs, GP_EXIT_FAILED, "it failed without saying why");
		gp_error_side(&theirs, peer_side);
		if (!err->set)
			*err = theirs;
		json_decref(json);
		return -1;
	}
	*answer = json;
	return 0;
}

int gp_wire_call(int fd, json_t *request, const char *peer_side, uint64_t deadline_ns,
		 json_t **answer, struct gp_error *err)
{
	int64_t id = json_integer_value(json_object_get(request, "id"));
	int rc = gp_wire_send(fd, request, deadline_ns, err);

	json_decref(request);
	return rc < 0 ? -1 : gp_wire_answer(fd, id, peer_side, deadline_ns, answer, err);
}

int gp_wire_send_error(int fd, const struct gp_error *failure, uint64_t deadline_ns,
		       struct gp_error *err)
{
	json_t *json = json_pack("{s:o}", "error", gp_error_to_json(failure));
	int rc = gp_wire_send(fd, json, deadline_ns, err);

	json_decref(json);
	return rc;
}

static short ready_events(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN | POLLRDHUP};

	return poll(&pfd, 1, 0) > 0 ? pfd.revents : 0;
}

bool gp_wire_readable(int fd)
{
	return ready_events(fd) != 0;
}

bool gp_wire_hung_up(int fd)
{
	return (ready_events(fd) & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* A peer's word, cut to fit, with nothing in it that could move a terminal's cursor. */
static void take_word(const json_t *json, const char *otherwise, char *out, size_t size)
{
	const char *text = json_string_value(json);

	snprintf(out, size, "%s", text ? text : otherwise);
	gp_text_clean(out);
}

int gp_wire_key_read(const char *file, struct gp_wire_key *key, struct gp_error *err)
{
	unsigned char text[4097];
	FILE *f = fopen(file, "re");
	size_t n;

	if (!f)
		return gp_error_errno(err, GP_EXIT_USAGE, errno, "fopen", "--psk-file %s", file);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	if (n == sizeof(text))
		return gp_error_set(err, GP_EXIT_USAGE, "--psk-file %s: over 4096 bytes", file);
	while (n > 0 && isspace(text[n - 1]))
		n--;
	if (n == 0)
		return gp_error_set(err, GP_EXIT_USAGE, "--psk-file %s: no key in it", file);
	crypto_generichash(key->bytes, sizeof(key->bytes), text, n, NULL, 0);
	sodium_memzero(text, sizeof(text));
	return 0;
}

#define NONCE_BYTES 16

/* What a proof is made over. */
struct proof_text {
	char role; /* so that nobody can send a proof back to its maker */
	unsigned char client_nonce[NONCE_BYTES], server_nonce[NONCE_BYTES];
};

static void make_proof(const struct gp_wire_key *key, const struct proof_text *text,
		       char hex[2 * crypto_auth_BYTES + 1])
{
	unsigned char mac[crypto_auth_BYTES];

	crypto_auth(mac, (const unsigned char *)text, sizeof(*text), key->bytes);
	sodium_bin2hex(hex, 2 * crypto_auth_BYTES + 1, mac, sizeof(mac));
}

static int send_proof(int fd, const char *hex, uint64_t deadline_ns, struct gp_error *err)
{
	json_t *json = json_pack("{s:s}", "proof", hex);
	int rc = gp_wire_send(fd, json, deadline_ns, err);

	json_decref(json);
	return rc;
}

static int check_proof(int fd, const char *expected, uint64_t deadline_ns, struct gp_error *err)
{
	struct gp_error ignored = {0};
	const char *proof;
	json_t *json;
	bool good;

	if (gp_wire_receive(fd, deadline_ns, &json, err) < 0)
		return -1;
	proof = json_string_value(json_object_get(json, "proof"));
	good = proof && strlen(proof) == strlen(expected) &&
	       sodium_memcmp(proof, expected, strlen(expected)) == 0;
	json_decref(json);
	if (good)
		return 0;
	gp_error_set(err, GP_EXIT_FAILED, "the other end does not know the key of --psk-file");
	gp_error_advise(err, "both ends need the same file");
	gp_wire_send_error(fd, err, deadline_ns, &ignored);
	return -1;
}

/* The client shows that it knows the key, then the server. */
static int exchange_proofs(int fd, const struct gp_wire_self *self, struct proof_text *text,
			   uint64_t deadline_ns, struct gp_error *err)
{
	char client[2 * crypto_auth_BYTES + 1], server[2 * crypto_auth_BYTES + 1];

	text->role = 'c';
	make_proof(self->key, text, client);
	text->role = 's';
	make_proof(self->key, text, server);
	if (self->server)
		return check_proof(fd, client, deadline_ns, err) < 0
			       ? -1
			       : send_proof(fd, server, deadline_ns, err);
	return send_proof(fd, client, deadline_ns, err) < 0
		       ? -1
		       : check_proof(fd, server, deadline_ns, err);
}

/* Read the other's hello. Its nonce is NULL where it has no key. */
static int read_hello(const json_t *hello, const struct gp_wire_self *self,
		      struct gp_wire_peer *peer, const char **nonce, struct gp_error *err)
{
	const json_t *protocol = json_object_get(hello, "gdrproof");

	take_word(json_object_get(hello, "version"), "unknown", peer->version,
		  sizeof(peer->version));
	take_word(json_object_get(hello, "ticket"), "", peer->ticket, sizeof(peer->ticket));
	*nonce = json_string_value(json_object_get(hello, "nonce"));
	if (!json_is_integer(protocol))
		return gp_error_set(err, GP_EXIT_FAILED, "the other end is not gdrproof");
	if (json_integer_value(protocol) != GP_WIRE_PROTOCOL) {
		gp_error_set(err, GP_EXIT_FAILED,
			     "the other end is gdrproof %.40s with protocol %lld, this is gdrproof "
			     "%s with protocol %d",
			     peer->version, (long long)json_integer_value(protocol), self->version,
			     GP_WIRE_PROTOCOL);
		gp_error_advise(err, "install the same version on both hosts");
		return -1;
	}
	if (!self->key == !*nonce)
		return 0;
	gp_error_set(err, GP_EXIT_FAILED, "%s has a key (--psk-file), %s has none",
		     self->key ? "this end" : "the other end",
		     self->key ? "the other end" : "this end");
	gp_error_advise(err, "give both ends the same --psk-file");
	return -1;
}

void gp_wire_ticket(char ticket[33])
{
	unsigned char bytes[16];

	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(ticket, 33, bytes, sizeof(bytes));
}

int gp_wire_hello(int fd, const struct gp_wire_self *self, uint64_t deadline_ns,
		  struct gp_wire_peer *peer, struct gp_error *err)
{
	struct proof_text text = {0};
	unsigned char *mine = self->server ? text.server_nonce : text.client_nonce;
	unsigned char *other = self->server ? text.client_nonce : text.server_nonce;
	char nonce[2 * NONCE_BYTES + 1];
	json_t *hello =
		json_pack("{s:i s:s}", "gdrproof", GP_WIRE_PROTOCOL, "version", self->version);
	const char *their_nonce;
	size_t nonce_bytes;
	int rc;

	if (self->ticket)
		json_object_set_new(hello, "ticket", json_string(self->ticket));
	if (self->key) {
		randombytes_buf(mine, NONCE_BYTES);
		json_object_set_new(
			hello, "nonce",
			json_string(sodium_bin2hex(nonce, sizeof(nonce), mine, NONCE_BYTES)));
	}
	rc = gp_wire_send(fd, hello, deadline_ns, err);
	json_decref(hello);
	if (rc < 0 || gp_wire_receive(fd, deadline_ns, &hello, err) < 0)
		return -1;
	rc = read_hello(hello, self, peer, &their_nonce, err);
	if (rc == 0 && self->key) {
		if (sodium_hex2bin(other, NONCE_BYTES, their_nonce, strlen(their_nonce), NULL,
				   &nonce_bytes, NULL) != 0 ||
		    nonce_bytes != NONCE_BYTES)
			rc = gp_error_set(err, GP_EXIT_FAILED, "the other end's nonce is none");
		else
			rc = exchange_proofs(fd, self, &text, deadline_ns, err);
	}
	json_decref(hello);
	return rc;
}
