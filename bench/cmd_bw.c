/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_bw: the active side. Opens the paths, runs the rounds interleaved over all cells, concludes,
 * prints the table and writes the record; the policy of a measurement is here, its mechanism in
 * session, loop and staged.
 */
#include "bw_options.h"
#include "command.h"
#include "host.h"
#include "plan.h"
#include "proof.h"
#include "session.h"
#include "stop.h"
#include "table.h"
#include "version.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A run, from options to record. Cells of one path lie side by side in the record. */
struct run {
	struct gp_bw_options opt;
	struct gp_host host;
	struct gp_choice choice;
	struct gp_session session;
	struct gp_plan plan;
	struct gp_rig rig[GP_PLAN_PATHS_MAX];
	struct gp_facts opening[GP_PLAN_PATHS_MAX];
	int first_cell[GP_PLAN_PATHS_MAX + 1]; /* of each path; the last is the end */
	uint32_t round_number[GP_PLAN_PATHS_MAX];
	struct gp_proof *proofs; /* by cell */
	struct gp_record record;
	int mtu;
};

static const struct gp_op *find_op(const char *name)
{
	for (int i = 0; gp_ops[i].name; i++)
		if (strcmp(gp_ops[i].name, name) == 0)
			return &gp_ops[i];
	return NULL;
}

/* What all cells have in common: the devices at both ends. */
static void describe_ends(const struct run *run, const struct gp_path *path, struct gp_cell *cell)
{
	const json_t *server = run->session.server;
	const json_t *gpu = json_object_get(server, "gpu"), *nic = json_object_get(server, "nic");
	const char *server_bdf = json_string_value(json_object_get(gpu, "bdf"));
	const char *server_nic = json_string_value(json_object_get(nic, "name"));
	const struct gp_gpu *mine = path->needs_gpu ? run->choice.gpu : NULL;

	const struct gp_placed nowhere = {-1, -1, -1, -1, -1, 0};

	*cell = (struct gp_cell){.placement = "near", .placed = {nowhere, nowhere}};
	snprintf(cell->gpu, sizeof(cell->gpu), "%s", mine ? mine->bdf : "none");
	snprintf(cell->nic, sizeof(cell->nic), "%s:%d", run->choice.nic->name,
		 run->choice.nic->port);
	snprintf(cell->server_gpu, sizeof(cell->server_gpu), "%.15s",
		 path->needs_gpu && server_bdf ? server_bdf : "none");
	snprintf(cell->server_nic, sizeof(cell->server_nic), "%.60s:%d",
		 server_nic ? server_nic : "?",
		 (int)json_integer_value(json_object_get(nic, "port")));
}

/* Open every path; one that can't be had becomes a row with the reason. -1 only where the session
 * itself is gone. */
static int open_paths(struct run *run, struct gp_error *err)
{
	for (int i = 0; i < run->plan.n_paths; i++) {
		const struct gp_path *path = run->plan.path[i];
		struct gp_error failed = {0};
		struct gp_cell like;
		bool good = gp_session_open_path(&run->session, path, &run->rig[i], &failed) == 0;

		describe_ends(run, path, &like);
		if (good) {
			gp_rig_ask_place(&run->rig[i], &like.placed[GP_CLIENT]);
			like.placed[GP_SERVER] = run->session.server_placed;
		}
		run->first_cell[i] = run->record.n_cells;
		if (gp_plan_add_cells(&run->opt, path, good, &like, &run->record, err) < 0)
			return -1;
		if (good) {
			run->opening[i] = run->rig[i].facts;
			continue;
		}
		run->record.cells[run->first_cell[i]].verdict = GP_UNAVAILABLE;
		run->record.cells[run->first_cell[i]].error = failed;
		/* A peer that left, or a stop, ends everything; so does a failed connection that is
		 * not the path's fault. */
		if (failed.exit_code != GP_EXIT_MISSING) {
			*err = failed;
			return -1;
		}
	}
	run->first_cell[run->plan.n_paths] = run->record.n_cells;
	return 0;
}

static void note_connection(struct run *run)
{
	for (int i = 0; i < run->plan.n_paths && !run->record.connection; i++)
		if (run->rig[i].conn) {
			run->record.connection = gp_connection_describe(run->rig[i].conn);
			run->mtu = (int)json_integer_value(
				json_object_get(run->record.connection, "mtu"));
		}
}

/* A failed round leaves QPs in the error state: the path is opened anew for the other cells. */
static int reopen_path(struct run *run, int p, struct gp_error *err)
{
	const struct gp_path *path = run->plan.path[p];

	gp_session_close_path(&run->session, &run->rig[p]);
	return gp_session_open_path(&run->session, path, &run->rig[p], err);
}

static int run_cell(struct run *run, int p, int c, struct gp_status *status, struct gp_error *err)
{
	struct gp_cell *cell = &run->record.cells[c];
	struct gp_round_value value;
	struct gp_outcome outcome;
	struct gp_error failed = {0};

	if (cell->error.set)
		return 0;
	gp_status_show(status, cell,
		       cell->n_rounds ? cell->rounds[cell->n_rounds - 1].gbytes_per_s : NAN);
	if (gp_session_round(&run->session, &run->rig[p], find_op(cell->op), cell->size,
			     run->round_number[p]++, &outcome, &failed) < 0) {
		cell->error = failed;
		if (failed.space != GP_SPACE_WC || gp_stop_requested()) {
			*err = failed;
			return -1;
		}
		return reopen_path(run, p, err);
	}
	gp_proof_add(&run->proofs[c], &outcome);
	value = (struct gp_round_value){.gbytes_per_s = outcome.gbytes_per_s,
					.bytes = outcome.bytes,
					.messages = outcome.messages,
					.seconds = outcome.seconds};
	if (gp_cell_add_round(cell, &value) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for the record");
	return 0;
}

/* A B C A B C ...: what drifts hits all cells alike. */
static int run_rounds(struct run *run, struct gp_error *err)
{
	struct gp_status status;
	int rc = 0;

	gp_status_start(&status, run->opt.rounds * run->record.n_cells);
	for (int r = 0; r < run->opt.rounds && rc == 0; r++)
		for (int p = 0; p < run->plan.n_paths && rc == 0; p++)
			for (int c = run->first_cell[p]; c < run->first_cell[p + 1] && rc == 0;
			     c++) {
				rc = run_cell(run, p, c, &status, err);
				status.done++;
			}
	gp_status_end(&status);
	return rc;
}

static void conclude_cells(struct run *run)
{
	for (int p = 0; p < run->plan.n_paths; p++)
		for (int c = run->first_cell[p]; c < run->first_cell[p + 1]; c++) {
			struct gp_cell *cell = &run->record.cells[c];
			const struct gp_path *path = run->plan.path[p];
			struct gp_scene scene;

			if (!cell->n_rounds)
				continue;
			scene = gp_proof_scene(&run->session, path, find_op(cell->op));
			gp_proof_conclude(&run->proofs[c], &run->opening[p], &scene, path, run->mtu,
					  run->opt.verify != GP_VERIFY_OFF, cell);
		}
}

static int measure(struct run *run, struct gp_error *err)
{
	int rc;

	if (open_paths(run, err) < 0)
		return -1;
	note_connection(run);
	run->proofs = calloc((size_t)run->record.n_cells, sizeof(*run->proofs));
	if (!run->proofs)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for the evidence");
	rc = run_rounds(run, err);
	conclude_cells(run);
	gp_plan_summarize(&run->record);
	return rc < 0 ? -1 : gp_plan_judge(&run->opt, &run->record, err);
}

/* The lesser of both sides' limits; where either is not known there is none. */
static void note_limit(struct run *run)
{
	const json_t *hosts[] = {run->record.client, run->record.server};
	struct gp_limit_note *limit = &run->record.limit;
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

static int prepare(struct run *run, const char *server, struct gp_error *err)
{
	bool gpu = gp_bw_uses_gpu(&run->opt);
	char ticket[33];

	if (gp_host_open(gpu, &run->host, err) < 0 ||
	    gp_host_choose(&run->host, run->opt.nic, gpu ? run->opt.gpu : "none", &run->choice,
			   err) < 0)
		return -1;
	if (run->choice.gpu && gp_cuda_use(run->host.cuda, run->choice.gpu->ordinal, err) < 0)
		return -1;
	run->record.client = gp_host_describe(&run->host, &run->choice);
	gp_wire_ticket(ticket);
	if (gp_session_open(server, ticket, &run->opt, &run->host, &run->choice, &run->session,
			    err) < 0)
		return -1;
	run->record.server = json_incref(run->session.server);
	note_limit(run);
	return 0;
}

static void close_run(struct run *run)
{
	for (int i = 0; i < run->plan.n_paths; i++)
		gp_session_close_path(&run->session, &run->rig[i]);
	gp_session_close(&run->session);
	gp_host_close(&run->host);
	gp_record_free(&run->record);
	free(run->proofs);
}

/* Table and record, to standard output unless the record goes there. */
static int show(struct run *run, struct gp_error *err)
{
	bool json_to_stdout = strcmp(run->opt.json, "-") == 0;
	struct gp_error failed = {0};

	if (run->record.n_cells)
		gp_table_print(&run->record, run->opt.verbose, json_to_stdout ? stderr : stdout);
	if (!run->opt.json[0] || gp_record_write(&run->record, run->opt.json, &failed) == 0)
		return 0;
	if (!err->set)
		*err = failed;
	return -1;
}

/* Options have no order: --json counts also behind the word that could not be read. */
static void find_json(int argc, char **argv, struct gp_bw_options *opt)
{
	const struct gp_option *row = gp_option_find(&gp_bw_table, "json");
	struct gp_error ignored = {0};

	for (int i = 1; i < argc && !opt->json[0]; i++) {
		if (strncmp(argv[i], "--json=", 7) == 0)
			gp_option_read(row, argv[i] + 7, opt, &ignored);
		else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
			gp_option_read(row, argv[i + 1], opt, &ignored);
	}
}

/* A record that can't be written is better known before the run than after it. */
static int check_json(const struct gp_bw_options *opt, struct gp_error *err)
{
	FILE *f;

	if (!opt->json[0] || strcmp(opt->json, "-") == 0)
		return 0;
	f = fopen(opt->json, "ae");
	if (!f)
		return gp_error_errno(err, GP_EXIT_USAGE, errno, "fopen", "--json %s", opt->json);
	fclose(f);
	return 0;
}

static int run_bw(int argc, char **argv, struct gp_error *err)
{
	struct run run = {.session.fd = -1};
	gp_option_mask given;
	const char *words[1];
	int n_words, exit_code;

	gp_options_default(&gp_bw_table, &run.opt);
	gp_record_init(&run.record, gp_version);
	if (gp_options_parse(&gp_bw_table, argc, argv, &run.opt, &given, words, 1, &n_words, err) <
	    0)
		find_json(argc, argv, &run.opt);
	if (!err->set && n_words == 0) {
		gp_error_set(err, GP_EXIT_USAGE, "bw needs the server's HOST");
		gp_error_advise(err, "start `gdrproof serve` there; see gdrproof bw --help");
	}
	if (!err->set && gp_bw_options_finish(&run.opt, given, err) == 0 &&
	    check_json(&run.opt, err) == 0) {
		run.record.command = gp_options_to_json(&gp_bw_table, &run.opt, GP_OPT_RECORD);
		gp_plan_make(&run.opt, &run.plan);
		gp_stop_install();
		if (prepare(&run, words[0], err) == 0)
			measure(&run, err);
		gp_error_side(err, "client");
	}
	if (!err->set)
		gp_plan_conclude(&run.opt, &run.plan, &run.record);
	else
		run.record.error = *err;
	*err = run.record.error;
	run.record.exit_code = err->set ? (int)err->exit_code : GP_EXIT_OK;
	show(&run, err);
	exit_code = run.record.exit_code;
	close_run(&run);
	return exit_code;
}

const struct gp_command gp_cmd_bw = {.options = &gp_bw_table, .run = run_bw};
