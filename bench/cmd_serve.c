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
	{"max-bytes", 0, GP_OPT_SIZE, AT(max_bytes), 65536, 1e15, NULL, NULL, "4G", "SIZE",
	 "most memory that one session may ask for", 0},
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

/* A broken session is this client's trouble, not the server's: say it and go on. */
static bool serve_one(int fd, const char *peer, const struct gp_serve_limits *limits,
		      struct gp_error *err)
{
	char line[1024];

	fprintf(stderr, "gdrproof: client %s\n", peer);
	if (gp_session_serve(fd, limits, err) == 0) {
		fprintf(stderr, "gdrproof: client %s: done\n", peer);
		return true;
	}
	gp_error_side(err, "server");
	fprintf(stderr, "gdrproof: client %s: %s\n", peer, gp_error_line(err, line, sizeof(line)));
	return false;
}

static int serve_clients(int listen_fd, const struct gp_serve_limits *limits, bool once,
			 struct gp_error *err)
{
	while (!gp_stop_requested()) {
		struct gp_error failed = {0};
		char peer[128];
		bool good;
		int fd;

		if (gp_wire_accept(listen_fd, limits->timeout_s, &fd, peer, sizeof(peer), err) < 0)
			return -1;
		if (fd < 0)
			break;
		good = serve_one(fd, peer, limits, &failed);
		close(fd);
		if (!once)
			continue;
		if (!good)
			*err = failed;
		return good ? 0 : -1;
	}
	return 0;
}

static int run(int argc, char **argv, struct gp_error *err)
{
	struct serve_options opt = {0};
	struct gp_serve_limits limits = {0};
	struct gp_wire_key key;
	const char *words[1];
	char size[32];
	int n_words, listen_fd, rc;

	gp_options_default(&table, &opt);
	if (gp_options_parse(&table, argc, argv, &opt, NULL, words, 0, &n_words, err) < 0)
		return -1;
	limits.max_bytes = opt.max_bytes;
	limits.timeout_s = opt.timeout_s;
	if (opt.psk_file[0]) {
		if (gp_wire_key_read(opt.psk_file, &key, err) < 0)
			return -1;
		limits.key = &key;
	}
	gp_stop_install();
	if (gp_wire_listen(opt.bind, opt.port, &listen_fd, err) < 0)
		return -1;
	fprintf(stderr, "gdrproof %s serves on %s port %d; %s may use up to %s of memory here\n",
		gp_version, opt.bind[0] ? opt.bind : "all addresses", opt.port,
		limits.key ? "who knows the key" : "anyone who reaches it",
		gp_size_write(opt.max_bytes, size, sizeof(size)));
	rc = serve_clients(listen_fd, &limits, opt.once, err);
	close(listen_fd);
	return rc < 0 ? GP_EXIT_FAILED : GP_EXIT_OK;
}

const struct gp_command gp_cmd_serve = {.options = &table, .run = run};
