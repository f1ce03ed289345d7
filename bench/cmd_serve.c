/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_serve: the passive side. Serves one client after another; the client decides everything. */
#include "bw_options.h"
#include "command.h"
#include "host.h"
#include "session.h"
#include "stop.h"
#include "units.h"
#include "version.h"
#include "wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct serve_options {
	int port;
	char bind[256];
	uint64_t max_bytes;
	double timeout_s;
	char psk_file[512];
	bool once;
};

#define AT(member) offsetof(struct serve_options, member)

static const struct gp_option rows[] = {
	{"port", 'p', GP_OPT_INT, AT(port), 1, 65535, NULL, NULL, "18515", "N",
	 "TCP port of the control channel", 0},
	{"bind", 0, GP_OPT_TEXT, AT(bind), 0, 255, NULL, NULL, NULL, "ADDR",
	 "address to listen on; default: all", 0},
	{"max-bytes", 0, GP_OPT_SIZE, AT(max_bytes), 65536, (double)(1ULL << 50), NULL, NULL, "4G",
	 "SIZE", "most memory that one session may ask for", 0},
	{"timeout", 0, GP_OPT_REAL, AT(timeout_s), 0.5, 3600, NULL, NULL, "10", "SEC",
	 "longest wait for a client that has connected", 0},
	{"psk-file", 0, GP_OPT_TEXT, AT(psk_file), 0, 511, NULL, NULL, NULL, "FILE",
	 "serve only clients that know this key", 0},
	{"once", 0, GP_OPT_FLAG, AT(once), 0, 0, NULL, NULL, NULL, NULL,
	 "end after the first client", 0},
	{0},
};

static const struct gp_option_table table = {
	.command = "serve",
	.arguments = "",
	.summary = "the passive side of bw: offers this host's NICs and GPUs to clients",
	.details = "The client sends every parameter of a measurement; see gdrproof bw --help.",
	.rows = rows,
};

/* The server: its desk, and how the sessions that have ended went. */
struct serve {
	struct gp_desk desk;
	int running;		/* sessions, under desk.lock */
	int ended;		/* sessions that a client had, likewise */
	struct gp_error failed; /* of the last that ended badly */
};

struct visit {
	struct serve *serve;
	int fd;
	char peer[128];
};

/* A broken session is its client's trouble, not the server's: say it and go on. */
static void *serve_visit(void *arg)
{
	struct visit *visit = arg;
	struct serve *serve = visit->serve;
	struct gp_error err = {0};
	char line[1024];

	fprintf(stderr, "gdrproof: client %s\n", visit->peer);
	if (gp_session_serve(visit->fd, &serve->desk, &err) == 0) {
		fprintf(stderr, "gdrproof: client %s: done\n", visit->peer);
	} else {
		gp_error_side(&err, "server");
		fprintf(stderr, "gdrproof: client %s: %s\n", visit->peer,
			gp_error_line(&err, line, sizeof(line)));
	}
	close(visit->fd);
	pthread_mutex_lock(&serve->desk.lock);
	if (err.set)
		serve->failed = err;
	serve->running--;
	serve->ended++;
	pthread_mutex_unlock(&serve->desk.lock);
	free(visit);
	return NULL;
}

static int start_visit(struct serve *serve, int fd, const char *peer, struct gp_error *err)
{
	struct visit *visit = malloc(sizeof(*visit));
	pthread_t thread;
	int code = ENOMEM;

	if (visit) {
		*visit = (struct visit){.serve = serve, .fd = fd};
		snprintf(visit->peer, sizeof(visit->peer), "%s", peer);
		pthread_mutex_lock(&serve->desk.lock);
		serve->running++;
		pthread_mutex_unlock(&serve->desk.lock);
		code = pthread_create(&thread, NULL, serve_visit, visit);
		if (code == 0) {
			pthread_detach(thread);
			return 0;
		}
		serve->running--;
	}
	free(visit);
	close(fd);
	return gp_error_errno(err, GP_EXIT_FAILED, code, "pthread_create", "a session");
}

/* How many sessions run, and whether any has ended: one look. */
static int running(struct serve *serve, bool *any_ended)
{
	int n;

	pthread_mutex_lock(&serve->desk.lock);
	n = serve->running;
	*any_ended = serve->ended > 0;
	pthread_mutex_unlock(&serve->desk.lock);
	return n;
}

#define LOOK_S	0.2
#define LEAVE_S 10 /* a stop is seen by every session within its next look */

static int serve_clients(int listen_fd, struct serve *serve, bool once, struct gp_error *err)
{
	uint64_t deadline_ns;
	bool ended = false;
	char peer[128];
	int fd, rc = 0;

	while (!gp_stop_requested() && rc == 0) {
		if (gp_wire_accept(listen_fd, LOOK_S, serve->desk.timeout_s, &fd, peer,
				   sizeof(peer), err) < 0)
			rc = -1;
		else if (fd >= 0)
			rc = start_visit(serve, fd, peer, err);
		else if (running(serve, &ended) == 0 && ended && once)
			break;
	}
	deadline_ns = gp_deadline(LEAVE_S);
	while (running(serve, &ended) > 0 && gp_now_ns() < deadline_ns)
		usleep(20000);
	if (once && rc == 0 && serve->failed.set) {
		*err = serve->failed;
		return -1;
	}
	return rc;
}

/* What this host has to offer, so that a missing GPU is known before a client asks for one. */
static void print_offer(void)
{
	struct gp_error err = {0};
	struct gp_host host;
	char line[1200];

	if (gp_host_open(true, &host, &err) < 0) {
		fprintf(stderr, "gdrproof: %s\n", gp_error_line(&err, line, sizeof(line)));
		return;
	}
	for (int i = 0; i < host.n_nics; i++)
		fprintf(stderr, "gdrproof: NIC %s:%d, %s\n", host.nics[i].name, host.nics[i].port,
			host.nics[i].active ? "active" : "not active");
	for (int i = 0; i < host.n_gpus; i++)
		fprintf(stderr, "gdrproof: GPU %d, %s, %s\n", host.gpus[i].ordinal,
			host.gpus[i].name, host.gpus[i].bdf);
	if (host.n_nics == 0)
		fprintf(stderr, "gdrproof: no RDMA device here\n");
	if (host.n_gpus == 0)
		fprintf(stderr, "gdrproof: no GPU for clients: %s\n",
			host.cuda ? "CUDA shows none"
				  : gp_error_line(&host.cuda_error, line, sizeof(line)));
	gp_host_close(&host);
}

static int run(int argc, char **argv, struct gp_error *err)
{
	struct serve_options opt = {0};
	struct serve serve = {0};
	struct gp_wire_key key;
	const char *words[1];
	char size[32];
	int n_words, listen_fd, rc;

	gp_options_default(&table, &opt);
	if (gp_options_parse(&table, argc, argv, &opt, NULL, words, 0, &n_words, err) < 0)
		return -1;
	gp_desk_init(&serve.desk);
	serve.desk.max_bytes = opt.max_bytes;
	serve.desk.timeout_s = opt.timeout_s;
	if (opt.psk_file[0]) {
		if (gp_wire_key_read(opt.psk_file, &key, err) < 0)
			return -1;
		serve.desk.key = &key;
	}
	gp_stop_install();
	if (gp_wire_listen(opt.bind, opt.port, &listen_fd, err) < 0)
		return -1;
	fprintf(stderr, "gdrproof %s serves on %s port %d; %s may use up to %s of memory here\n",
		gp_version, opt.bind[0] ? opt.bind : "all addresses", opt.port,
		serve.desk.key ? "who knows the key" : "anyone who reaches it",
		gp_size_write(opt.max_bytes, size, sizeof(size)));
	print_offer();
	rc = serve_clients(listen_fd, &serve, opt.once, err);
	close(listen_fd);
	return rc < 0 ? GP_EXIT_FAILED : GP_EXIT_OK;
}

const struct gp_command gp_cmd_serve = {.options = &table, .run = run};
