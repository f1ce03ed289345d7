/* SPDX-License-Identifier: BSD-2-Clause */
/* measure: see measure.h. */
#include "measure.h"
#include "host.h"
#include "proof.h"
#include "stand.h"
#include "stop.h"
#include "table.h"
#include "units.h"
#include "wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What belongs to a cell of the record while it is measured. */
struct slot {
	struct gp_stand *stand;
	int p; /* path of the plan; -1: nothing to measure */
	const struct gp_op *op;
	struct gp_proof proof;
};

/* Cells of one path lie side by side in the record, within it those of one stand. */
struct run {
	const struct gp_bw_options *opt;
	const struct gp_plan *plan;
	struct gp_host host;
	struct gp_stand *stands;
	int n_stands;
	struct slot *slots; /* by cell */
	struct gp_record *record;
	struct gp_status status;
	uint64_t began_ns;
	int mtu;
};

static double since(const struct run *run, uint64_t ns)
{
	return (double)(ns - run->began_ns) / 1e9;
}

static const struct gp_op *find_op(const char *name)
{
	for (int i = 0; gp_ops[i].name; i++)
		if (strcmp(gp_ops[i].name, name) == 0)
			return &gp_ops[i];
	return NULL;
}

static int out_of_memory(struct gp_error *err)
{
	return gp_error_set(err, GP_EXIT_FAILED, "out of memory for the record");
}

static __attribute__((format(printf, 4, 5))) int note_finding(struct run *run, const char *id,
							      const char *fix, const char *fmt, ...)
{
	struct gp_run_finding *finding = gp_record_add_finding(run->record);
	va_list args;

	if (!finding)
		return -1;
	snprintf(finding->id, sizeof(finding->id), "%s", id);
	snprintf(finding->severity, sizeof(finding->severity), "warning");
	snprintf(finding->fix, sizeof(finding->fix), "%s", fix);
	va_start(args, fmt);
	vsnprintf(finding->message, sizeof(finding->message), fmt, args);
	va_end(args);
	return 0;
}

/* ---- stands ---- */

/* Without --server-rails there are as many rails as both sides have. */
static int fit_rails(struct run *run, struct gp_error *err)
{
	int theirs = run->stands[0].session.server_rails;

	if (strcmp(run->opt->rails, "auto") != 0 || run->opt->server_rails[0] ||
	    theirs >= run->n_stands)
		return 0;
	if (note_finding(run, "rails-of-one-side-idle",
			 "name the pairs with --rails and --server-rails where a NIC shall serve "
			 "two",
			 "the client has %d rails and the server %d: %d are measured",
			 run->n_stands, theirs, theirs) < 0)
		return out_of_memory(err);
	run->n_stands = theirs;
	return 0;
}

static int note_stand(struct run *run, const struct gp_stand *stand)
{
	struct gp_stand_note *note;

	if (!run->record->client && !stand->missing.set) {
		run->record->client = gp_host_describe(&run->host, &stand->choice);
		run->record->server = json_incref(stand->session.server);
		run->record->limit = stand->limit;
	}
	if (run->n_stands == 1)
		return 0;
	note = gp_record_add_stand(run->record);
	if (!note)
		return -1;
	snprintf(note->name, sizeof(note->name), "%s", stand->name);
	snprintf(note->differs, sizeof(note->differs), "%s", stand->differs);
	note->limit = stand->limit;
	if (stand->missing.set)
		return 0;
	note->client = gp_host_describe(&run->host, &stand->choice);
	note->server = json_copy(stand->session.server);
	/* of the hosts, not of where a placement is: they stand once, above */
	json_object_del(note->client, "inventory");
	json_object_del(note->server, "inventory");
	return 0;
}

static int open_stands(struct run *run, const char *server, struct gp_error *err)
{
	char ticket[33];

	gp_wire_ticket(ticket);
	for (int i = 0; i < run->n_stands; i++) {
		struct gp_stand *stand = &run->stands[i];

		if (!stand->missing.set && gp_stand_open(stand, server, ticket, err) < 0)
			return -1;
		if (i == 0 && fit_rails(run, err) < 0)
			return -1;
	}
	for (int i = 0; i < run->n_stands; i++)
		if (note_stand(run, &run->stands[i]) < 0)
			return out_of_memory(err);
	return 0;
}

/* Two rails through one port, on one GPU or over one link share what that has. */
static int find_shared_rails(struct run *run)
{
	struct gp_topo_finding findings[GP_TOPO_FINDINGS_MAX];
	struct gp_rail rails[GP_RAILS_MAX];
	int n;

	for (int i = 0; i < run->n_stands; i++) {
		const struct gp_choice *mine = &run->stands[i].choice;

		rails[i] = (struct gp_rail){mine->gpu, mine->nic};
		for (int k = 0; k < i; k++) {
			const struct gp_rail *other = &rails[k];
			int rc = 0;

			if (other->nic == mine->nic)
				rc = note_finding(run, "rails-share-link",
						  "give each rail a port of its own",
						  "rails %d and %d are both on %s:%d", k + 1, i + 1,
						  mine->nic->name, mine->nic->port);
			else if (mine->gpu && other->gpu == mine->gpu)
				rc = note_finding(run, "rails-share-link",
						  "give each rail a GPU of its own",
						  "rails %d and %d are both on GPU %d (%s): its "
						  "PCIe link carries both",
						  k + 1, i + 1, mine->gpu->ordinal, mine->gpu->bdf);
			if (rc < 0)
				return -1;
		}
	}
	n = gp_host_rail_findings(&run->host, rails, run->n_stands, findings);
	for (int i = 0; i < n; i++)
		if (note_finding(run, findings[i].id, findings[i].fix, "%s", findings[i].message) <
		    0)
			return -1;
	return 0;
}

/* ---- paths ---- */

/* What all cells of a path on one stand have in common: the devices at both ends. */
static void describe_ends(const struct gp_stand *stand, const struct gp_path *path,
			  struct gp_cell *cell)
{
	static const struct gp_placed nowhere = {-1, -1, -1, -1, -1, 0};
	const json_t *server = stand->session.server;
	const json_t *gpu = json_object_get(server, "gpu"), *nic = json_object_get(server, "nic");
	const char *server_bdf = json_string_value(json_object_get(gpu, "bdf"));
	const char *server_nic = json_string_value(json_object_get(nic, "name"));
	const struct gp_gpu *mine = path->needs_gpu ? stand->choice.gpu : NULL;

	*cell = (struct gp_cell){.placed = {nowhere, nowhere},
				 .limit_gbytes_per_s = stand->limit.gbytes_per_s};
	snprintf(cell->placement, sizeof(cell->placement), "%s", stand->name);
	snprintf(cell->gpu, sizeof(cell->gpu), "%s", mine ? mine->bdf : "none");
	snprintf(cell->server_gpu, sizeof(cell->server_gpu), "%.15s",
		 path->needs_gpu && server_bdf ? server_bdf : "none");
	if (stand->missing.set) {
		cell->nic[0] = cell->server_nic[0] = '?';
		return;
	}
	snprintf(cell->nic, sizeof(cell->nic), "%s:%d", stand->choice.nic->name,
		 stand->choice.nic->port);
	snprintf(cell->server_nic, sizeof(cell->server_nic), "%.60s:%d",
		 server_nic ? server_nic : "?",
		 (int)json_integer_value(json_object_get(nic, "port")));
}

/* Slots for the cells that the record has got. */
static int add_slots(struct run *run, struct gp_stand *stand, int p, int first,
		     struct gp_error *err)
{
	size_t n = (size_t)run->record->n_cells;
	struct slot *more = realloc(run->slots, n * sizeof(*more));

	if (!more)
		return out_of_memory(err);
	run->slots = more;
	for (int c = first; c < run->record->n_cells; c++)
		run->slots[c] = (struct slot){
			.stand = stand, .p = p, .op = find_op(run->record->cells[c].op)};
	return 0;
}

/* A peer that left, or a stop, ends everything. A connection that fails although path and peer are
 * there is a pair of NICs that can't reach each other: of several placements it ends one. */
static bool can_do_without(const struct run *run, const struct gp_stand *stand)
{
	return run->n_stands > 1 && !stand->rail && !gp_stop_requested() &&
	       !gp_wire_hung_up(stand->session.fd);
}

static int open_path(struct run *run, struct gp_stand *stand, int p, struct gp_error *err)
{
	const struct gp_path *path = run->plan->path[p];
	struct gp_error failed = stand->missing;
	int first = run->record->n_cells;
	struct gp_cell like;
	bool good;

	describe_ends(stand, path, &like);
	good = !failed.set && gp_stand_open_path(stand, p, path, like.placed, &failed) == 0;
	if (gp_plan_add_cells(run->opt, path, good, &like, run->record, err) < 0 ||
	    add_slots(run, stand, good ? p : -1, first, err) < 0)
		return -1;
	if (good) {
		const struct gp_connection *conn = stand->rig[p].conn;

		if (!run->record->connection)
			run->record->connection = gp_connection_describe(conn);
		return 0;
	}
	run->record->cells[first].verdict = GP_UNAVAILABLE;
	run->record->cells[first].error = failed;
	if (failed.exit_code == GP_EXIT_MISSING)
		return 0;
	if (can_do_without(run, stand)) {
		stand->missing = failed;
		return 0;
	}
	*err = failed;
	return -1;
}

/* Open every path on every stand; one that can't be had becomes a row with the reason. -1 only
 * where the run can't go on. */
static int open_paths(struct run *run, struct gp_error *err)
{
	for (int p = 0; p < run->plan->n_paths; p++)
		for (int i = 0; i < run->n_stands; i++) {
			struct gp_stand *stand = &run->stands[i];

			if (stand->needs_gpu && !run->plan->path[p]->needs_gpu)
				continue;
			if (open_path(run, stand, p, err) < 0)
				return -1;
		}
	run->mtu = (int)json_integer_value(json_object_get(run->record->connection, "mtu"));
	return 0;
}

/* ---- rounds ---- */

/* Rails run the same load at the same time; other cells run alone. */
static bool together(const struct run *run, int a, int b)
{
	const struct gp_cell *x = &run->record->cells[a], *y = &run->record->cells[b];

	return a == b || (run->slots[a].stand->rail && run->slots[a].p == run->slots[b].p &&
			  run->slots[a].op == run->slots[b].op && x->size == y->size);
}

static bool leads(const struct run *run, int c)
{
	for (int k = 0; k < c; k++)
		if (together(run, k, c))
			return false;
	return run->slots[c].p >= 0;
}

/* The mean of the rounds so far. */
static void take_busy(struct gp_cell *cell, const double busy[GP_STAGES])
{
	struct gp_stage_note *stages[GP_STAGES] = {[GP_STAGE_OUT] = &cell->pipeline.copy_out,
						   [GP_STAGE_WIRE] = &cell->pipeline.wire,
						   [GP_STAGE_IN] = &cell->pipeline.copy_in};

	for (int i = 0; i < GP_STAGES; i++) {
		double before = cell->n_rounds ? stages[i]->busy : 0;

		stages[i]->busy = before + (busy[i] - before) / (cell->n_rounds + 1);
	}
}

static int take_outcome(struct run *run, int c)
{
	const struct gp_outcome *outcome = &run->slots[c].stand->outcome;
	struct gp_round_value value = {.gbytes_per_s = outcome->gbytes_per_s,
				       .bytes = outcome->bytes,
				       .messages = outcome->messages,
				       .seconds = outcome->seconds,
				       .start_s = since(run, outcome->start_ns)};

	gp_proof_add(&run->slots[c].proof, outcome);
	take_busy(&run->record->cells[c], outcome->busy);
	return gp_cell_add_round(&run->record->cells[c], &value);
}

/* A failed round leaves QPs in the error state: the path is opened anew for the other cells. */
static int take_failure(struct run *run, int c, struct gp_error *err)
{
	struct gp_stand *stand = run->slots[c].stand;

	run->record->cells[c].error = stand->failed;
	if (stand->failed.space == GP_SPACE_WC && !gp_stop_requested())
		return gp_stand_reopen_path(stand, run->slots[c].p, err);
	*err = stand->failed;
	return -1;
}

/* Stands that run together spend the same time: that of the first is the round's. */
static void take_times(struct run *run, const struct gp_stand *stand)
{
	struct gp_times *times = &run->record->times;

	if (stand->failed.set)
		return;
	times->measured_s += stand->outcome.seconds;
	times->before_s += stand->outcome.before_s;
	times->after_s += stand->outcome.after_s;
}

/* One round of the cells that run together with `leader`. */
static int run_group(struct run *run, int leader, struct gp_error *err)
{
	const struct gp_cell *cell = &run->record->cells[leader];
	struct gp_stand *stands[GP_STANDS_MAX];
	int cells[GP_STANDS_MAX], n = 0;

	for (int c = leader; c < run->record->n_cells && n < GP_STANDS_MAX; c++)
		if (together(run, leader, c) && !run->record->cells[c].error.set) {
			cells[n] = c;
			stands[n++] = run->slots[c].stand;
		}
	if (n == 0)
		return 0;
	gp_status_show(&run->status, cell,
		       cell->n_rounds ? cell->rounds[cell->n_rounds - 1].gbytes_per_s : NAN);
	gp_stands_round(stands, n, run->slots[leader].p, run->slots[leader].op, cell->size);
	for (int i = 0; i < n; i++) {
		if (stands[i]->failed.set && take_failure(run, cells[i], err) < 0)
			return -1;
		if (!stands[i]->failed.set && take_outcome(run, cells[i]) < 0)
			return out_of_memory(err);
	}
	take_times(run, stands[0]);
	return 0;
}

/* A B C, C B A, A B C ...: what drifts hits all cells alike. */
static int run_round(struct run *run, int round, struct gp_error *err)
{
	int n = run->record->n_cells;

	for (int i = 0; i < n; i++) {
		int c = round % 2 ? n - 1 - i : i;

		if (leads(run, c) && run_group(run, c, err) < 0)
			return -1;
		run->status.done += leads(run, c);
	}
	return 0;
}

static int count_groups(const struct run *run)
{
	int n = 0;

	for (int c = 0; c < run->record->n_cells; c++)
		n += leads(run, c);
	return n;
}

/* Is there a comparison that more rounds may settle, and the time for them? */
static bool goes_on(const struct run *run, int round, double min_effect)
{
	return run->opt->until_clear && round < GP_ROUNDS_MAX &&
	       since(run, gp_now_ns()) < run->opt->max_time_s &&
	       gp_plan_summarize(run->record, min_effect) > 0;
}

static int run_rounds(struct run *run, double min_effect, struct gp_error *err)
{
	int groups = count_groups(run), rc = 0;

	gp_status_start(&run->status, run->opt->rounds * groups);
	for (int r = 0; rc == 0 && groups && (r < run->opt->rounds || goes_on(run, r, min_effect));
	     r++) {
		if (r >= run->opt->rounds)
			run->status.total += groups;
		rc = run_round(run, r, err);
	}
	gp_status_end(&run->status);
	return rc;
}

/* ---- the end ---- */

static void conclude_cells(struct run *run)
{
	for (int c = 0; c < run->record->n_cells; c++) {
		struct gp_cell *cell = &run->record->cells[c];
		const struct slot *slot = &run->slots[c];
		const struct gp_path *path;
		struct gp_scene scene;

		if (!cell->n_rounds)
			continue;
		path = run->plan->path[slot->p];
		gp_rig_ask_pipeline(&slot->stand->rig[slot->p], slot->op, &cell->pipeline);
		scene = gp_proof_scene(&slot->stand->session, path, slot->op);
		gp_proof_conclude(&slot->proof, &slot->stand->opening[slot->p], &scene, path,
				  run->mtu, run->opt->verify != GP_VERIFY_OFF, cell);
	}
}

/* A placement that was asked for and is not there. */
static void note_missing(const struct run *run)
{
	for (int i = 0; i < run->n_stands && !run->record->error.set; i++) {
		const struct gp_stand *stand = &run->stands[i];

		if (stand->missing.set)
			gp_error_set(&run->record->error, GP_EXIT_MISSING,
				     "--placement %s is not available: %s", stand->name,
				     stand->missing.fact);
	}
}

static int measure(struct run *run, const char *server, struct gp_error *err)
{
	double min_effect = run->opt->min_effect_percent / 100;
	int rc;

	if (gp_host_open(gp_bw_uses_gpu(run->opt), &run->host, err) < 0 ||
	    gp_stands_plan(run->opt, &run->host, &run->stands, &run->n_stands, err) < 0 ||
	    open_stands(run, server, err) < 0)
		return -1;
	if (run->opt->rails[0] && find_shared_rails(run) < 0)
		return out_of_memory(err);
	if (open_paths(run, err) < 0)
		return -1;
	run->record->times.setup_s = since(run, gp_now_ns());
	rc = run_rounds(run, min_effect, err);
	conclude_cells(run);
	note_missing(run);
	if (gp_plan_summarize(run->record, min_effect) < 0 ||
	    gp_plan_find(run->record, min_effect) < 0)
		return out_of_memory(err);
	return rc < 0 ? -1 : gp_plan_judge(run->opt, run->record, err);
}

int gp_measure(const struct gp_bw_options *opt, const struct gp_plan *plan, const char *server,
	       struct gp_record *record, struct gp_error *err)
{
	struct run run = {.opt = opt, .plan = plan, .record = record, .began_ns = gp_now_ns()};
	int rc = measure(&run, server, err);

	gp_error_side(err, "client");
	for (int i = 0; i < run.n_stands; i++)
		gp_stand_close(&run.stands[i]);
	gp_host_close(&run.host);
	free(run.stands);
	free(run.slots);
	record->times.wall_s = since(&run, gp_now_ns());
	return rc;
}
