/* SPDX-License-Identifier: BSD-2-Clause */
/* record: see record.h. */
#include "record.h"
#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SCHEMA "gdrproof/result/1"

void gp_record_init(struct gp_record *record, const char *version)
{
	time_t now = time(NULL);
	struct tm utc;

	*record = (struct gp_record){.limit.gbytes_per_s = NAN};
	snprintf(record->tool, sizeof(record->tool), "gdrproof %s", version);
	gmtime_r(&now, &utc);
	strftime(record->started, sizeof(record->started), "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void gp_record_free(struct gp_record *record)
{
	for (int i = 0; i < record->n_cells; i++)
		free(record->cells[i].rounds);
	for (int i = 0; i < record->n_stands; i++) {
		json_decref(record->stands[i].client);
		json_decref(record->stands[i].server);
	}
	for (int i = 0; i < record->n_sums; i++)
		free(record->sums[i].gbytes_per_s);
	free(record->stands);
	free(record->cells);
	free(record->contrasts);
	free(record->sums);
	free(record->findings);
	free(record->thresholds);
	json_decref(record->command);
	json_decref(record->client);
	json_decref(record->server);
	json_decref(record->connection);
	*record = (struct gp_record){0};
}

char *gp_cell_id(const struct gp_cell *cell, char *buf, size_t size)
{
	char bytes[32];

	snprintf(buf, size, "%s/%s%s/%s/q%d/t%d/%s/%s-%s/%s-%s", cell->path,
		 cell->op[0] ? cell->op : "-", cell->two_way ? "+" : "",
		 gp_size_write(cell->size, bytes, sizeof(bytes)), cell->qps, cell->tx_depth,
		 cell->placement, cell->gpu, cell->nic, cell->server_gpu, cell->server_nic);
	return buf;
}

int gp_cell_add_round(struct gp_cell *cell, const struct gp_round_value *value)
{
	size_t count = (size_t)cell->n_rounds + 1;
	struct gp_round_value *more = realloc(cell->rounds, count * sizeof(*more));

	if (!more)
		return -1;
	more[cell->n_rounds++] = *value;
	cell->rounds = more;
	return 0;
}

int gp_cell_values(const struct gp_cell *cell, double values[GP_ROUNDS_MAX])
{
	int n = 0;

	for (int i = cell->warmup; i < cell->n_rounds && n < GP_ROUNDS_MAX; i++)
		values[n++] = cell->rounds[i].gbytes_per_s;
	return n;
}

/* A list one longer, the new element zero; NULL out of memory, the list then as it was. */
static void *grow(void *list, int *n, size_t size)
{
	char *more = realloc(list, ((size_t)*n + 1) * size);

	if (more)
		memset(more + (size_t)(*n)++ * size, 0, size);
	return more;
}

/* The four lists grow alike; what differs is the type. */
#define ADD_TO(list, count)                                                             \
	do {                                                                            \
		void *more = grow(record->list, &record->count, sizeof(*record->list)); \
                                                                                        \
		if (!more)                                                              \
			return NULL;                                                    \
		record->list = more;                                                    \
		return &record->list[record->count - 1];                                \
	} while (0)

struct gp_stand_note *gp_record_add_stand(struct gp_record *record)
{
	ADD_TO(stands, n_stands);
}

struct gp_contrast *gp_record_add_contrast(struct gp_record *record)
{
	ADD_TO(contrasts, n_contrasts);
}

struct gp_sum *gp_record_add_sum(struct gp_record *record)
{
	ADD_TO(sums, n_sums);
}

struct gp_run_finding *gp_record_add_finding(struct gp_record *record)
{
	ADD_TO(findings, n_findings);
}

int gp_record_add_threshold(struct gp_record *record, const struct gp_threshold *threshold)
{
	void *more = grow(record->thresholds, &record->n_thresholds, sizeof(*threshold));

	if (!more)
		return -1;
	record->thresholds = more;
	record->thresholds[record->n_thresholds - 1] = *threshold;
	return 0;
}

char *gp_threshold_write(const struct gp_threshold *t, char *buf, size_t size)
{
	char wanted[24], measured[24] = "not known";

	if (t->wanted_word[0]) {
		snprintf(wanted, sizeof(wanted), "%s", t->wanted_word);
		snprintf(measured, sizeof(measured), "%s", t->measured_word);
	} else {
		snprintf(wanted, sizeof(wanted), "%g", t->wanted);
		if (isfinite(t->measured))
			snprintf(measured, sizeof(measured), "%.4g", t->measured);
	}
	snprintf(buf, size, "%s%s%s %s %s%s%s: %s", t->rule[0] ? t->rule : "--",
		 t->rule[0] ? " " : "", t->name, wanted, t->met ? "met" : "missed",
		 t->cell[0] ? " by " : "", t->cell, measured);
	return buf;
}

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text(const char *value)
{
	return value[0] ? json_string(value) : json_null();
}

static json_t *object(json_t *value)
{
	return value ? json_incref(value) : json_null();
}

static json_t *interval(double lo, double hi)
{
	return isfinite(lo) && isfinite(hi) ? json_pack("[f f]", lo, hi) : json_null();
}

static json_t *summary_to_json(const struct gp_summary *s)
{
	return json_pack("{s:o s:o s:o s:o}", "median", number(s->median), "min", number(s->min),
			 "max", number(s->max), "ci95", interval(s->lo, s->hi));
}

static json_t *rounds_to_json(const struct gp_cell *cell)
{
	json_t *array = json_array();

	for (int i = 0; i < cell->n_rounds; i++) {
		const struct gp_round_value *r = &cell->rounds[i];

		json_array_append_new(array, json_pack("{s:f s:I s:f s:I s:o}", "gbytes_per_s",
						       r->gbytes_per_s, "bytes",
						       (json_int_t)r->bytes, "seconds", r->seconds,
						       "messages", (json_int_t)r->messages, "start",
						       number(r->start_s)));
	}
	return array;
}

/* `used` is the path that the evidence lets one say was used: none where it contradicts. */
static json_t *path_to_json(const struct gp_cell *cell)
{
	bool used = cell->n_rounds > 0 && cell->verdict != GP_CONTRADICTED &&
		    cell->verdict != GP_UNAVAILABLE;

	return json_pack("{s:s s:o}", "requested", cell->path, "used",
			 used ? json_string(cell->path) : json_null());
}

static json_t *node(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

json_t *gp_placed_to_json(const struct gp_placed *p)
{
	return json_pack("{s:{s:o s:o s:o} s:{s:o s:o s:o}}", "thread", "asked",
			 node(p->cpu_node_asked), "verified", node(p->cpu_node), "cpu",
			 node(p->cpu), "memory", "asked", node(p->mem_node_asked), "verified",
			 node(p->mem_node), "share",
			 p->mem_node < 0 ? json_null() : json_real(p->mem_share));
}

static int read_node(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	return json_is_integer(value) ? (int)json_integer_value(value) : -1;
}

int gp_placed_from_json(const json_t *json, struct gp_placed *placed)
{
	const json_t *thread = json_object_get(json, "thread");
	const json_t *memory = json_object_get(json, "memory");

	if (!json_is_object(thread) || !json_is_object(memory))
		return -1;
	*placed = (struct gp_placed){
		.cpu_node_asked = read_node(thread, "asked"),
		.cpu_node = read_node(thread, "verified"),
		.cpu = read_node(thread, "cpu"),
		.mem_node_asked = read_node(memory, "asked"),
		.mem_node = read_node(memory, "verified"),
		.mem_share = json_number_value(json_object_get(memory, "share")),
	};
	return 0;
}

bool gp_placed_differs(const struct gp_placed *p)
{
	return (p->cpu_node_asked >= 0 && p->cpu_node >= 0 && p->cpu_node != p->cpu_node_asked) ||
	       (p->mem_node_asked >= 0 && p->mem_node >= 0 &&
		(p->mem_node != p->mem_node_asked || p->mem_share < 1));
}

static json_t *stage_to_json(const struct gp_stage_note *stage)
{
	if (!isfinite(stage->gbytes_per_s) && !isfinite(stage->busy))
		return json_null();
	return json_pack("{s:o s:o}", "gbytes_per_s", number(stage->gbytes_per_s), "busy",
			 number(stage->busy));
}

static json_t *pipeline_to_json(const struct gp_pipeline *p)
{
	if (!p->chunk_bytes)
		return json_null();
	return json_pack("{s:I s:i s:o s:o s:o}", "chunk", (json_int_t)p->chunk_bytes, "slots",
			 p->slots, "copy_out", stage_to_json(&p->copy_out), "wire",
			 stage_to_json(&p->wire), "copy_in", stage_to_json(&p->copy_in));
}

static json_t *cell_to_json(const struct gp_cell *cell)
{
	json_t *json = json_object();
	json_t *error = gp_error_to_json(&cell->error);
	char id[GP_CELL_ID_MAX];

	json_object_set_new(json, "id", json_string(gp_cell_id(cell, id, sizeof(id))));
	json_object_set_new(json, "path", path_to_json(cell));
	json_object_set_new(json, "op", text(cell->op));
	json_object_set_new(json, "size",
			    cell->size ? json_integer((json_int_t)cell->size) : json_null());
	json_object_set_new(json, "qps", json_integer(cell->qps));
	json_object_set_new(json, "tx_depth", json_integer(cell->tx_depth));
	json_object_set_new(json, "bidirectional", json_boolean(cell->two_way));
	json_object_set_new(json, "placement",
			    json_pack("{s:s s:o s:o}", "asked", cell->placement, "client",
				      gp_placed_to_json(&cell->placed[GP_CLIENT]), "server",
				      gp_placed_to_json(&cell->placed[GP_SERVER])));
	json_object_set_new(json, "gpu", text(cell->gpu));
	json_object_set_new(json, "nic", text(cell->nic));
	json_object_set_new(json, "server_gpu", text(cell->server_gpu));
	json_object_set_new(json, "server_nic", text(cell->server_nic));
	json_object_set_new(json, "rounds", rounds_to_json(cell));
	json_object_set_new(json, "warmup_rounds", json_integer(cell->warmup));
	json_object_set_new(json, "summary",
			    cell->n_rounds ? summary_to_json(&cell->summary) : json_null());
	json_object_set_new(json, "of_limit", number(cell->of_limit));
	json_object_set_new(json, "vs_bounce", number(cell->vs_bounce));
	json_object_set_new(json, "verdict", json_string(gp_verdict_name(cell->verdict)));
	json_object_set_new(json, "reason", text(cell->reason));
	json_object_set_new(json, "error", error ? error : json_null());
	json_object_set_new(json, "pipeline", pipeline_to_json(&cell->pipeline));
	json_object_set_new(json, "evidence", gp_facts_to_json(&cell->facts));
	json_object_set_new(json, "verify",
			    json_pack("{s:I s:I}", "bytes_checked", (json_int_t)cell->checked_bytes,
				      "bytes_wrong", (json_int_t)cell->wrong_bytes));
	return json;
}

static json_t *limit_to_json(const struct gp_limit_note *limit)
{
	if (!isfinite(limit->gbytes_per_s))
		return json_null();
	return json_pack("{s:f s:s s:s}", "gbytes_per_s", limit->gbytes_per_s, "bound_by",
			 limit->bound_by, "detail", limit->detail);
}

static json_t *times_to_json(const struct gp_times *times)
{
	return json_pack("{s:o s:o s:o s:o s:o}", "wall_s", number(times->wall_s), "setup_s",
			 number(times->setup_s), "measured_s", number(times->measured_s),
			 "before_s", number(times->before_s), "after_s", number(times->after_s));
}

static json_t *stands_to_json(const struct gp_record *record)
{
	json_t *array = json_array();

	for (int i = 0; i < record->n_stands; i++) {
		const struct gp_stand_note *s = &record->stands[i];

		json_array_append_new(
			array, json_pack("{s:s s:o s:o s:o s:o}", "name", s->name, "differs",
					 text(s->differs), "client", object(s->client), "server",
					 object(s->server), "limit", limit_to_json(&s->limit)));
	}
	return array;
}

static json_t *contrasts_to_json(const struct gp_record *record)
{
	json_t *array = json_array();

	for (int i = 0; i < record->n_contrasts; i++) {
		const struct gp_contrast *c = &record->contrasts[i];

		json_array_append_new(array, json_pack("{s:s s:s s:s s:o s:o s:s s:i s:i}", "what",
						       c->what, "a", c->a, "b", c->b, "ratio",
						       number(c->ab.ratio), "ci95",
						       interval(c->ab.lo, c->ab.hi), "verdict",
						       gp_ab_name(c->ab.verdict), "rounds",
						       c->ab.n_a, "more", c->ab.more));
	}
	return array;
}

static json_t *sums_to_json(const struct gp_record *record)
{
	json_t *array = json_array();

	for (int i = 0; i < record->n_sums; i++) {
		const struct gp_sum *s = &record->sums[i];
		json_t *rounds = json_array();

		for (int r = 0; r < s->n_rounds; r++)
			json_array_append_new(rounds, number(s->gbytes_per_s[r]));
		json_array_append_new(
			array,
			json_pack("{s:s s:s s:I s:b s:i s:o s:i s:o s:o s:o}", "path", s->path,
				  "op", s->op, "size", (json_int_t)s->size, "bidirectional",
				  (int)s->two_way, "rails", s->rails, "rounds", rounds, "left_out",
				  s->left_out, "overlap", number(s->overlap), "summary",
				  s->n_rounds ? summary_to_json(&s->summary) : json_null(),
				  "of_limit", number(s->of_limit)));
	}
	return array;
}

static json_t *findings_to_json(const struct gp_record *record)
{
	json_t *array = json_array();

	for (int i = 0; i < record->n_findings; i++) {
		const struct gp_run_finding *f = &record->findings[i];

		json_array_append_new(array, json_pack("{s:s s:s s:s s:o}", "id", f->id, "severity",
						       f->severity, "message", f->message, "fix",
						       text(f->fix)));
	}
	return array;
}

static json_t *thresholds_to_json(const struct gp_record *record)
{
	json_t *array = json_array();

	for (int i = 0; i < record->n_thresholds; i++) {
		const struct gp_threshold *t = &record->thresholds[i];

		bool word = t->wanted_word[0];

		json_array_append_new(
			array, json_pack("{s:s s:o s:o s:o s:b s:o}", "name", t->name, "wanted",
					 word ? text(t->wanted_word) : number(t->wanted), "cell",
					 text(t->cell), "measured",
					 word ? text(t->measured_word) : number(t->measured), "met",
					 (int)t->met, "rule", text(t->rule)));
	}
	return array;
}

json_t *gp_record_to_json(const struct gp_record *record)
{
	json_t *json = json_object(), *cells = json_array();
	json_t *error = gp_error_to_json(&record->error);

	for (int i = 0; i < record->n_cells; i++)
		json_array_append_new(cells, cell_to_json(&record->cells[i]));
	json_object_set_new(json, "schema", json_string(SCHEMA));
	json_object_set_new(json, "tool", json_string(record->tool));
	json_object_set_new(json, "started", json_string(record->started));
	json_object_set_new(json, "command", object(record->command));
	json_object_set_new(json, "client", object(record->client));
	json_object_set_new(json, "server", object(record->server));
	json_object_set_new(json, "connection", object(record->connection));
	json_object_set_new(json, "limit", limit_to_json(&record->limit));
	json_object_set_new(json, "time", times_to_json(&record->times));
	json_object_set_new(json, "placements", stands_to_json(record));
	json_object_set_new(json, "cells", cells);
	json_object_set_new(json, "comparisons", contrasts_to_json(record));
	json_object_set_new(json, "sums", sums_to_json(record));
	json_object_set_new(json, "findings", findings_to_json(record));
	json_object_set_new(json, "thresholds", thresholds_to_json(record));
	json_object_set_new(json, "error", error ? error : json_null());
	json_object_set_new(json, "exit_code", json_integer(record->exit_code));
	return json;
}

int gp_record_write(const struct gp_record *record, const char *file, struct gp_error *err)
{
	bool to_stdout = strcmp(file, "-") == 0;
	json_t *json = gp_record_to_json(record);
	FILE *out = to_stdout ? stdout : fopen(file, "we");
	int rc = 0, code = errno;

	if (!out) {
		json_decref(json);
		return gp_error_errno(err, GP_EXIT_FAILED, code, "fopen", "%s, for the record",
				      file);
	}
	if (json_dumpf(json, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) < 0 ||
	    fputc('\n', out) == EOF || fflush(out) != 0) {
		code = errno;
		rc = gp_error_errno(err, GP_EXIT_FAILED, code, "write", "%s, the record", file);
	}
	if (!to_stdout && fclose(out) != 0 && rc == 0)
		rc = gp_error_errno(err, GP_EXIT_FAILED, errno, "close", "%s, the record", file);
	json_decref(json);
	return rc;
}
