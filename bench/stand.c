/* SPDX-License-Identifier: BSD-2-Clause */
/* stand: see stand.h. */
#include "stand.h"
#include "place.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* A step of one stand, on its thread. */
struct step {
	struct gp_stand *stand;
	int (*run)(struct step *step, struct gp_error *err);
	const char *server, *ticket; /* open */
	int p;			     /* open path, round */
	const struct gp_path *path;
	struct gp_placed *placed;
	const struct gp_op *op; /* round */
	uint64_t size;
	struct gp_start *start; /* of a round together; NULL: alone */
	pthread_t thread;
	bool on_thread;
};

/* A new thread is where the kernel likes and has no GPU. */
static int settle(struct gp_stand *stand, struct gp_error *err)
{
	if (stand->session.fd < 0)
		return 0;
	if (gp_place_thread(stand->session.end.cpu_node, NULL, err) < 0)
		return -1;
	return stand->choice.gpu ? gp_cuda_use(stand->host->cuda, stand->choice.gpu->ordinal, err)
				 : 0;
}

static void *run_step(void *arg)
{
	struct step *step = arg;
	struct gp_stand *stand = step->stand;

	stand->failed = (struct gp_error){0};
	if (settle(stand, &stand->failed) == 0)
		step->run(step, &stand->failed);
	else if (step->start)
		gp_start_pass(step->start);
	gp_error_side(&stand->failed, "client");
	return NULL;
}

static void run_steps(struct step *steps, int n)
{
	for (int i = 0; i < n; i++) {
		int code = pthread_create(&steps[i].thread, NULL, run_step, &steps[i]);

		steps[i].on_thread = code == 0;
		if (code) {
			steps[i].stand->failed = (struct gp_error){0};
			gp_error_errno(&steps[i].stand->failed, GP_EXIT_FAILED, code,
				       "pthread_create", "%s", steps[i].stand->name);
			if (steps[i].start)
				gp_start_pass(steps[i].start);
		}
	}
	for (int i = 0; i < n; i++)
		if (steps[i].on_thread)
			pthread_join(steps[i].thread, NULL);
}

static int run_alone(struct step *step, struct gp_error *err)
{
	run_steps(step, 1);
	if (!step->stand->failed.set)
		return 0;
	*err = step->stand->failed;
	return -1;
}

/* ---- open ---- */

/* The lesser of both sides' limits; where either is not known there is none. */
static void note_limit(struct gp_stand *stand, const json_t *client)
{
	const json_t *hosts[] = {client, stand->session.server};
	struct gp_limit_note *limit = &stand->limit;
	double least = INFINITY;

	for (int i = 0; i < 2; i++) {
		const json_t *json = json_object_get(hosts[i], "limit");
		const json_t *value = json_object_get(json, "gbytes_per_s");
		const char *bound_by = json_string_value(json_object_get(json, "bound_by"));
		const char *detail = json_string_value(json_object_get(json, "detail"));
		double rate = json_is_number(value) ? json_number_value(value) : (double)NAN;

		if (rate >= least)
			continue;
		least = rate;
		limit->gbytes_per_s = rate;
		snprintf(limit->bound_by, sizeof(limit->bound_by), "%s", bound_by ? bound_by : "");
		snprintf(limit->detail, sizeof(limit->detail), "%s", detail ? detail : "");
		if (isnan(rate))
			return;
	}
}

static int open_session(struct step *step, struct gp_error *err)
{
	struct gp_stand *stand = step->stand;
	const char *gpu = gp_bw_uses_gpu(&stand->opt) ? stand->opt.gpu : "none";
	json_t *client;

	if (gp_host_choose(stand->host, stand->opt.nic, gpu, &stand->choice, err) < 0)
		return -1;
	if (stand->choice.gpu &&
	    gp_cuda_use(stand->host->cuda, stand->choice.gpu->ordinal, err) < 0)
		return -1;
	if (gp_session_open(step->server, step->ticket, stand->rail, &stand->opt, stand->host,
			    &stand->choice, &stand->session, err) < 0)
		return -1;
	client = gp_host_describe(stand->host, &stand->choice);
	note_limit(stand, client);
	json_decref(client);
	return 0;
}

int gp_stand_open(struct gp_stand *stand, const char *server, const char *ticket,
		  struct gp_error *err)
{
	struct step step = {
		.stand = stand, .run = open_session, .server = server, .ticket = ticket};

	return run_alone(&step, err);
}

static int close_session(struct step *step, struct gp_error *err)
{
	struct gp_stand *stand = step->stand;

	(void)err;
	for (int p = 0; p < GP_PLAN_PATHS_MAX; p++)
		gp_session_close_path(&stand->session, &stand->rig[p]);
	gp_session_close(&stand->session);
	return 0;
}

void gp_stand_close(struct gp_stand *stand)
{
	struct step step = {.stand = stand, .run = close_session};
	struct gp_error ignored = {0};

	if (stand->session.fd >= 0)
		run_alone(&step, &ignored);
}

static int open_path(struct step *step, struct gp_error *err)
{
	struct gp_stand *stand = step->stand;
	struct gp_rig *rig = &stand->rig[step->p];

	if (gp_session_open_path(&stand->session, step->path, rig, err) < 0)
		return -1;
	gp_rig_ask_place(rig, &step->placed[GP_CLIENT]);
	step->placed[GP_SERVER] = stand->session.server_placed;
	stand->opening[step->p] = rig->facts;
	return 0;
}

int gp_stand_open_path(struct gp_stand *stand, int p, const struct gp_path *path,
		       struct gp_placed placed[GP_SIDES], struct gp_error *err)
{
	struct step step = {
		.stand = stand, .run = open_path, .p = p, .path = path, .placed = placed};

	return run_alone(&step, err);
}

static int reopen_path(struct step *step, struct gp_error *err)
{
	struct gp_session *session = &step->stand->session;
	struct gp_rig *rig = &step->stand->rig[step->p];
	const struct gp_path *path = rig->path;

	gp_session_close_path(session, rig);
	return gp_session_open_path(session, path, rig, err);
}

int gp_stand_reopen_path(struct gp_stand *stand, int p, struct gp_error *err)
{
	struct step step = {.stand = stand, .run = reopen_path, .p = p};

	return run_alone(&step, err);
}

/* ---- rounds ---- */

static int run_round(struct step *step, struct gp_error *err)
{
	struct gp_stand *stand = step->stand;

	return gp_session_round(&stand->session, &stand->rig[step->p], step->op, step->size,
				stand->round_number[step->p]++, &stand->outcome, err);
}

static bool same_port(const struct gp_stand *a, const struct gp_stand *b, enum gp_side side)
{
	const json_t *x = json_object_get(a->session.server, "nic");
	const json_t *y = json_object_get(b->session.server, "nic");

	if (side == GP_CLIENT)
		return a->choice.nic == b->choice.nic;
	return json_equal(json_object_get(x, "name"), json_object_get(y, "name")) &&
	       json_equal(json_object_get(x, "port"), json_object_get(y, "port"));
}

/* A port counts what all stands move through it. */
static void add_up_ports(struct gp_stand *const *stands, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			for (enum gp_side side = GP_CLIENT; side <= GP_SERVER; side++)
				if (k != i && !stands[k]->failed.set &&
				    same_port(stands[i], stands[k], side))
					stands[i]->outcome.port_bytes[side] +=
						stands[k]->outcome.moved_bytes;
}

void gp_stands_round(struct gp_stand *const *stands, int n, int p, const struct gp_op *op,
		     uint64_t size)
{
	struct step steps[GP_STANDS_MAX];
	struct gp_start start;

	gp_start_init(&start, n);
	for (int i = 0; i < n; i++) {
		steps[i] = (struct step){.stand = stands[i],
					 .run = run_round,
					 .p = p,
					 .op = op,
					 .size = size,
					 .start = n > 1 ? &start : NULL};
		stands[i]->session.start = steps[i].start;
	}
	run_steps(steps, n);
	gp_start_destroy(&start);
	add_up_ports(stands, n);
}
