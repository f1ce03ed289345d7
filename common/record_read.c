/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_read: see record_read.h. One function per part of the schema; a table for the texts of a
 * cell. The first thing wrong is the error, with the cell's number.
 */
#include "record_read.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA_STEM    "gdrproof/result/"
#define SCHEMA_VERSION 1
#define CELLS_MAX      100000

/* --- texts --- */

/* ASCII controls, and those of Latin-1, which UTF-8 writes as c2 80 to c2 9f. */
static bool has_control(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0))
			return true;
	return false;
}

static void clean_string(json_t *json)
{
	char *copy;

	if (!has_control(json_string_value(json)))
		return;
	copy = strdup(json_string_value(json));
	if (!copy)
		return;
	gp_text_clean(copy);
	json_string_set(json, copy);
	free(copy);
}

/* Texts of all depths (jansson's own parser ends at 2048). -1: a name that can't be shown. */
static int clean(json_t *json, struct gp_error *err)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_string(json))
		clean_string(json);
	json_array_foreach (json, i, value)
		if (clean(value, err) < 0)
			return -1;
	json_object_foreach (json, key, value) {
		if (has_control(key))
			return gp_error_set(err, GP_EXIT_USAGE,
					    "a member's name has a control character in it");
		if (clean(value, err) < 0)
			return -1;
	}
	return 0;
}

static int bad(struct gp_error *err, const char *what, const char *wanted)
{
	return gp_error_set(err, GP_EXIT_USAGE, "'%.60s' is missing or is not %s", what, wanted);
}

/* A text, cut to fit where `cut`, else refused; null is the empty text. */
static int read_text(const json_t *json, const char *key, bool cut, char *out, size_t size,
		     struct gp_error *err)
{
	const json_t *value = json_object_get(json, key);
	const char *text = json_is_string(value) ? json_string_value(value) : "";

	if (!json_is_string(value) && !json_is_null(value))
		return bad(err, key, "a text");
	if (!cut && strlen(text) >= size)
		return gp_error_set(err, GP_EXIT_USAGE, "'%s' is longer than %zu characters", key,
				    size - 1);
	snprintf(out, size, "%s", text);
	gp_text_clean(out); /* it may have been cut */
	return 0;
}

/* An error object; what is none is refused, null is no error. */
static int read_error(const json_t *json, struct gp_error *out, struct gp_error *err)
{
	const json_t *error = json_object_get(json, "error");

	if (json_is_object(error) && gp_error_from_json(error, out) < 0)
		return bad(err, "error", "an error object");
	return 0;
}

/* --- numbers --- */

static int read_integer(const json_t *json, const char *key, double min, double max,
			json_int_t *out, struct gp_error *err)
{
	const json_t *value = json_object_get(json, key);

	if (!json_is_integer(value) || (double)json_integer_value(value) < min ||
	    (double)json_integer_value(value) > max)
		return bad(err, key, "a whole number in its range");
	*out = json_integer_value(value);
	return 0;
}

/* null, or not there at all, is not known. */
static int read_real(const json_t *json, const char *key, double *out, struct gp_error *err)
{
	const json_t *value = json_object_get(json, key);

	*out = json_is_number(value) ? json_number_value(value) : NAN;
	if (value && !json_is_number(value) && !json_is_null(value))
		return bad(err, key, "a number or null");
	return 0;
}

static int read_positive(const json_t *json, const char *key, double *out, struct gp_error *err)
{
	if (read_real(json, key, out, err) < 0)
		return -1;
	return *out >= 0 && isfinite(*out) ? 0 : bad(err, key, "a number of 0 or more");
}

/* --- a cell --- */

static int read_round(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	struct gp_round_value round = {0};
	json_int_t bytes, messages;

	if (read_positive(json, "gbytes_per_s", &round.gbytes_per_s, err) < 0 ||
	    read_positive(json, "seconds", &round.seconds, err) < 0 ||
	    read_real(json, "start", &round.start_s, err) < 0 ||
	    read_integer(json, "bytes", 0, 9e18, &bytes, err) < 0 ||
	    read_integer(json, "messages", 0, 9e18, &messages, err) < 0)
		return -1;
	round.bytes = (uint64_t)bytes;
	round.messages = (uint64_t)messages;
	if (gp_cell_add_round(cell, &round) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for a record");
	return 0;
}

/* Records from before it was kept have none. */
static int read_warmup(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	json_int_t warmup = 0;

	if (json_object_get(json, "warmup_rounds") &&
	    read_integer(json, "warmup_rounds", 0, cell->n_rounds ? cell->n_rounds - 1 : 0, &warmup,
			 err) < 0)
		return -1;
	cell->warmup = (int)warmup;
	return 0;
}

static int read_rounds(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	const json_t *rounds = json_object_get(json, "rounds");

	if (!json_is_array(rounds) || json_array_size(rounds) > GP_ROUNDS_MAX)
		return bad(err, "rounds", "a list of at most 1000");
	for (size_t i = 0; i < json_array_size(rounds); i++)
		if (read_round(json_array_get(rounds, i), cell, err) < 0)
			return -1;
	return read_warmup(json, cell, err);
}

static int read_summary(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	const json_t *summary = json_object_get(json, "summary");
	const json_t *ci95 = json_object_get(summary, "ci95");
	struct gp_summary *s = &cell->summary;

	*s = (struct gp_summary){NAN, NAN, NAN, NAN, NAN};
	if (cell->n_rounds == 0)
		return 0;
	if (!json_is_object(summary) || read_positive(summary, "median", &s->median, err) < 0 ||
	    read_positive(summary, "min", &s->min, err) < 0 ||
	    read_positive(summary, "max", &s->max, err) < 0)
		return bad(err, "summary", "an object with median, min and max");
	if (json_array_size(ci95) == 2) {
		s->lo = json_number_value(json_array_get(ci95, 0));
		s->hi = json_number_value(json_array_get(ci95, 1));
	}
	return 0;
}

static int read_placement(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	const json_t *placement = json_object_get(json, "placement");

	if (!json_is_object(placement))
		return bad(err, "placement", "an object");
	for (enum gp_side side = GP_CLIENT; side <= GP_SERVER; side++)
		if (gp_placed_from_json(json_object_get(placement, gp_side_name(side)),
					&cell->placed[side]) < 0)
			cell->placed[side] = (struct gp_placed){-1, -1, -1, -1, -1, 0};
	return read_text(placement, "asked", false, cell->placement, sizeof(cell->placement), err);
}

static int read_verdict(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	const char *verdict = json_string_value(json_object_get(json, "verdict"));

	if (!verdict || gp_verdict_read(verdict, &cell->verdict) < 0)
		return bad(err, "verdict", "proven, unproven, contradicted or unavailable");
	if (read_error(json, &cell->error, err) < 0)
		return -1;
	if (gp_facts_from_json(json_object_get(json, "evidence"), &cell->facts) < 0)
		return bad(err, "evidence", "a list of facts");
	return read_text(json, "reason", true, cell->reason, sizeof(cell->reason), err);
}

static int read_stage(const json_t *json, const char *key, struct gp_stage_note *stage,
		      struct gp_error *err)
{
	const json_t *object = json_object_get(json, key);

	*stage = (struct gp_stage_note){NAN, NAN};
	if (!object || json_is_null(object))
		return 0;
	if (!json_is_object(object))
		return bad(err, key, "an object or null");
	return read_real(object, "gbytes_per_s", &stage->gbytes_per_s, err) < 0
		       ? -1
		       : read_real(object, "busy", &stage->busy, err);
}

/* Records from before there was one have none. */
static int read_pipeline(const json_t *json, struct gp_pipeline *p, struct gp_error *err)
{
	const json_t *object = json_object_get(json, "pipeline");
	json_int_t chunk, slots;

	if (!object || json_is_null(object))
		return 0;
	if (!json_is_object(object))
		return bad(err, "pipeline", "an object or null");
	if (read_integer(object, "chunk", 1, 1e15, &chunk, err) < 0 ||
	    read_integer(object, "slots", 1, 1e6, &slots, err) < 0 ||
	    read_stage(object, "copy_out", &p->copy_out, err) < 0 ||
	    read_stage(object, "wire", &p->wire, err) < 0 ||
	    read_stage(object, "copy_in", &p->copy_in, err) < 0)
		return -1;
	p->chunk_bytes = (uint64_t)chunk;
	p->slots = (int)slots;
	return 0;
}

/* The texts that tell cells apart: cut, two would be taken for one. */
static int read_names(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	const struct {
		const char *key;
		char *out;
		size_t size;
	} rows[] = {
		{"op", cell->op, sizeof(cell->op)},
		{"gpu", cell->gpu, sizeof(cell->gpu)},
		{"nic", cell->nic, sizeof(cell->nic)},
		{"server_gpu", cell->server_gpu, sizeof(cell->server_gpu)},
		{"server_nic", cell->server_nic, sizeof(cell->server_nic)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (read_text(json, rows[i].key, false, rows[i].out, rows[i].size, err) < 0)
			return -1;
	return read_text(json_object_get(json, "path"), "requested", false, cell->path,
			 sizeof(cell->path), err);
}

static int read_shape(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	const json_t *verify = json_object_get(json, "verify");
	json_int_t qps, tx_depth, size = 0, checked, wrong;

	if (!json_is_null(json_object_get(json, "size")) &&
	    read_integer(json, "size", 1, 9e18, &size, err) < 0)
		return -1;
	if (read_integer(json, "qps", 0, INT_MAX, &qps, err) < 0 ||
	    read_integer(json, "tx_depth", 0, INT_MAX, &tx_depth, err) < 0 ||
	    read_integer(verify, "bytes_checked", 0, 9e18, &checked, err) < 0 ||
	    read_integer(verify, "bytes_wrong", 0, 9e18, &wrong, err) < 0)
		return -1;
	cell->size = (uint64_t)size;
	cell->qps = (int)qps;
	cell->tx_depth = (int)tx_depth;
	cell->two_way = json_is_true(json_object_get(json, "bidirectional"));
	cell->checked_bytes = (uint64_t)checked;
	cell->wrong_bytes = (uint64_t)wrong;
	return 0;
}

/* What it calls itself must be what it is: compare goes by it. */
static int check_id(const json_t *json, const struct gp_cell *cell, struct gp_error *err)
{
	const char *id = json_string_value(json_object_get(json, "id"));
	char made[400];

	gp_cell_id(cell, made, sizeof(made));
	if (!id)
		return bad(err, "id", "a text");
	if (strcmp(id, made) != 0)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "its id is %.120s, its members make it %.120s", id, made);
	return 0;
}

static int read_cell(const json_t *json, struct gp_cell *cell, struct gp_error *err)
{
	if (!json_is_object(json))
		return gp_error_set(err, GP_EXIT_USAGE, "it is not an object");
	if (read_names(json, cell, err) < 0 || read_shape(json, cell, err) < 0 ||
	    read_placement(json, cell, err) < 0 || read_pipeline(json, &cell->pipeline, err) < 0 ||
	    read_rounds(json, cell, err) < 0 || read_summary(json, cell, err) < 0 ||
	    read_verdict(json, cell, err) < 0 ||
	    read_real(json, "of_limit", &cell->of_limit, err) < 0 ||
	    read_real(json, "vs_bounce", &cell->vs_bounce, err) < 0)
		return -1;
	return check_id(json, cell, err);
}

static int read_cells(const json_t *json, struct gp_record *record, struct gp_error *err)
{
	const json_t *cells = json_object_get(json, "cells");
	size_t n = json_array_size(cells);

	if (!json_is_array(cells) || n > CELLS_MAX)
		return bad(err, "cells", "a list");
	record->cells = calloc(n + 1, sizeof(*record->cells));
	if (!record->cells)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for a record");
	for (size_t i = 0; i < n; i++) {
		struct gp_error why = {0};

		record->n_cells++; /* also a half-read one is freed */
		if (read_cell(json_array_get(cells, i), &record->cells[i], &why) < 0)
			return gp_error_set(err, why.exit_code, "cell %zu: %s", i + 1, why.fact);
	}
	return 0;
}

/* --- a record --- */

static int read_thresholds(const json_t *json, struct gp_record *record, struct gp_error *err)
{
	const json_t *list = json_object_get(json, "thresholds");

	if (!json_is_array(list))
		return bad(err, "thresholds", "a list");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		struct gp_threshold t = {.met = json_is_true(json_object_get(item, "met"))};
		bool word = json_is_string(json_object_get(item, "wanted"));

		if (read_text(item, "name", true, t.name, sizeof(t.name), err) < 0 ||
		    read_text(item, "cell", true, t.cell, sizeof(t.cell), err) < 0 ||
		    (json_object_get(item, "rule") &&
		     read_text(item, "rule", true, t.rule, sizeof(t.rule), err) < 0))
			return -1;
		if (word ? read_text(item, "wanted", true, t.wanted_word, sizeof(t.wanted_word),
				     err) < 0 ||
				    read_text(item, "measured", true, t.measured_word,
					      sizeof(t.measured_word), err) < 0
			 : read_positive(item, "wanted", &t.wanted, err) < 0 ||
				    read_real(item, "measured", &t.measured, err) < 0)
			return -1;
		if (gp_record_add_threshold(record, &t) < 0)
			return gp_error_set(err, GP_EXIT_FAILED, "out of memory for a record");
	}
	return 0;
}

static int read_limit(const json_t *json, struct gp_limit_note *out, struct gp_error *err)
{
	const json_t *limit = json_object_get(json, "limit");

	out->gbytes_per_s = NAN;
	if (!limit || json_is_null(limit))
		return 0;
	if (read_real(limit, "gbytes_per_s", &out->gbytes_per_s, err) < 0 ||
	    read_text(limit, "bound_by", true, out->bound_by, sizeof(out->bound_by), err) < 0)
		return -1;
	return read_text(limit, "detail", true, out->detail, sizeof(out->detail), err);
}

static int read_times(const json_t *json, struct gp_times *times, struct gp_error *err)
{
	const json_t *object = json_object_get(json, "time");

	if (object && !json_is_object(object))
		return bad(err, "time", "an object");
	if (read_real(object, "wall_s", &times->wall_s, err) < 0 ||
	    read_real(object, "setup_s", &times->setup_s, err) < 0 ||
	    read_real(object, "measured_s", &times->measured_s, err) < 0 ||
	    read_real(object, "before_s", &times->before_s, err) < 0)
		return -1;
	return read_real(object, "after_s", &times->after_s, err);
}

static int no_memory(struct gp_error *err)
{
	return gp_error_set(err, GP_EXIT_FAILED, "out of memory for a record");
}

static int read_stand(const json_t *json, struct gp_record *record, struct gp_error *err)
{
	struct gp_stand_note *stand = gp_record_add_stand(record);
	json_t *client = json_object_get(json, "client"), *server = json_object_get(json, "server");

	if (!stand)
		return no_memory(err);
	if (json_is_object(client))
		stand->client = json_incref(client);
	if (json_is_object(server))
		stand->server = json_incref(server);
	if (read_text(json, "name", true, stand->name, sizeof(stand->name), err) < 0 ||
	    read_text(json, "differs", true, stand->differs, sizeof(stand->differs), err) < 0)
		return -1;
	return read_limit(json, &stand->limit, err);
}

/* [low, high], or null. */
static int read_interval(const json_t *json, double *lo, double *hi, struct gp_error *err)
{
	const json_t *pair = json_object_get(json, "ci95");

	*lo = *hi = NAN;
	if (json_is_null(pair))
		return 0;
	if (json_array_size(pair) != 2 || !json_is_number(json_array_get(pair, 0)) ||
	    !json_is_number(json_array_get(pair, 1)))
		return bad(err, "ci95", "two numbers or null");
	*lo = json_number_value(json_array_get(pair, 0));
	*hi = json_number_value(json_array_get(pair, 1));
	return 0;
}

static int read_contrast(const json_t *json, struct gp_record *record, struct gp_error *err)
{
	struct gp_contrast *contrast = gp_record_add_contrast(record);
	json_int_t rounds, more;
	char verdict[16];
	int v = GP_AB_SAME;

	if (!contrast)
		return no_memory(err);
	if (read_text(json, "what", true, contrast->what, sizeof(contrast->what), err) < 0 ||
	    read_text(json, "a", true, contrast->a, sizeof(contrast->a), err) < 0 ||
	    read_text(json, "b", true, contrast->b, sizeof(contrast->b), err) < 0 ||
	    read_real(json, "ratio", &contrast->ab.ratio, err) < 0 ||
	    read_interval(json, &contrast->ab.lo, &contrast->ab.hi, err) < 0 ||
	    read_text(json, "verdict", true, verdict, sizeof(verdict), err) < 0 ||
	    read_integer(json, "rounds", 0, GP_ROUNDS_MAX, &rounds, err) < 0 ||
	    read_integer(json, "more", -1, GP_ROUNDS_MAX, &more, err) < 0)
		return -1;
	while (v <= GP_AB_UNCLEAR && strcmp(gp_ab_name((enum gp_ab_verdict)v), verdict) != 0)
		v++;
	if (v > GP_AB_UNCLEAR)
		return bad(err, "verdict", "same, better, worse or unclear");
	contrast->ab.verdict = (enum gp_ab_verdict)v;
	contrast->ab.n_a = contrast->ab.n_b = (int)rounds;
	contrast->ab.more = (int)more;
	return 0;
}

static int read_sum_rounds(const json_t *json, struct gp_sum *sum, struct gp_error *err)
{
	const json_t *rounds = json_object_get(json, "rounds");
	size_t n = json_array_size(rounds);

	if (!json_is_array(rounds) || n > GP_ROUNDS_MAX)
		return bad(err, "rounds", "a list");
	sum->gbytes_per_s = calloc(n + 1, sizeof(double));
	if (!sum->gbytes_per_s)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_array_get(rounds, i);

		if (!json_is_number(value) || json_number_value(value) < 0)
			return bad(err, "rounds", "a list of numbers");
		sum->gbytes_per_s[sum->n_rounds++] = json_number_value(value);
	}
	sum->summary = gp_summarize(sum->gbytes_per_s, sum->n_rounds);
	return 0;
}

static int read_sum(const json_t *json, struct gp_record *record, struct gp_error *err)
{
	struct gp_sum *sum = gp_record_add_sum(record);
	json_int_t size, rails, left_out;

	if (!sum)
		return no_memory(err);
	if (read_text(json, "path", true, sum->path, sizeof(sum->path), err) < 0 ||
	    read_text(json, "op", true, sum->op, sizeof(sum->op), err) < 0 ||
	    read_integer(json, "size", 0, 1e15, &size, err) < 0 ||
	    read_integer(json, "rails", 0, CELLS_MAX, &rails, err) < 0 ||
	    read_integer(json, "left_out", 0, GP_ROUNDS_MAX, &left_out, err) < 0 ||
	    read_real(json, "overlap", &sum->overlap, err) < 0 ||
	    read_real(json, "of_limit", &sum->of_limit, err) < 0)
		return -1;
	sum->size = (uint64_t)size;
	sum->two_way = json_is_true(json_object_get(json, "bidirectional"));
	sum->rails = (int)rails;
	sum->left_out = (int)left_out;
	return read_sum_rounds(json, sum, err);
}

static int read_finding(const json_t *json, struct gp_record *record, struct gp_error *err)
{
	struct gp_run_finding *f = gp_record_add_finding(record);

	if (!f)
		return no_memory(err);
	if (read_text(json, "id", true, f->id, sizeof(f->id), err) < 0 ||
	    read_text(json, "severity", true, f->severity, sizeof(f->severity), err) < 0 ||
	    read_text(json, "message", true, f->message, sizeof(f->message), err) < 0)
		return -1;
	return read_text(json, "fix", true, f->fix, sizeof(f->fix), err);
}

/* Lists that a record may lack. */
static int read_lists(const json_t *json, struct gp_record *record, struct gp_error *err)
{
	static const struct {
		const char *key;
		int (*read)(const json_t *, struct gp_record *, struct gp_error *);
	} rows[] = {
		{"placements", read_stand},
		{"comparisons", read_contrast},
		{"sums", read_sum},
		{"findings", read_finding},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const json_t *list = json_object_get(json, rows[i].key);

		if (list && (!json_is_array(list) || json_array_size(list) > CELLS_MAX))
			return bad(err, rows[i].key, "a list");
		for (size_t k = 0; k < json_array_size(list); k++) {
			struct gp_error why = {0};

			if (rows[i].read(json_array_get(list, k), record, &why) < 0)
				return gp_error_set(err, why.exit_code, "%s %zu: %s", rows[i].key,
						    k + 1, why.fact);
		}
	}
	return 0;
}

/* Objects are kept as they are: what describes a host grows with the versions. */
static int read_objects(json_t *json, struct gp_record *record, struct gp_error *err)
{
	const struct {
		const char *key;
		json_t **out;
	} rows[] = {
		{"command", &record->command},
		{"client", &record->client},
		{"server", &record->server},
		{"connection", &record->connection},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *value = json_object_get(json, rows[i].key);

		if (json_is_object(value))
			*rows[i].out = json_incref(value);
		else if (!json_is_null(value))
			return bad(err, rows[i].key, "an object or null");
	}
	return 0;
}

static int check_schema(const json_t *json, struct gp_error *err)
{
	const char *schema = json_string_value(json_object_get(json, "schema"));
	const char *version;
	long number;
	char *end;

	if (!schema) {
		gp_error_set(err, GP_EXIT_USAGE, "no record of gdrproof: it names no schema");
		gp_error_advise(err, "records are written by `gdrproof bw --json FILE`");
		return -1;
	}
	if (strncmp(schema, SCHEMA_STEM, strlen(SCHEMA_STEM)) != 0) {
		gp_error_set(err, GP_EXIT_USAGE, "its schema is '%.60s', not " SCHEMA_STEM "%d",
			     schema, SCHEMA_VERSION);
		gp_error_advise(err, "records are written by `gdrproof bw --json FILE`");
		return -1;
	}
	version = schema + strlen(SCHEMA_STEM);
	number = strtol(version, &end, 10);
	if (end != version && *end == '\0' && number == SCHEMA_VERSION)
		return 0;
	gp_error_set(err, GP_EXIT_USAGE, "its schema is '%.60s', this gdrproof reads version %d",
		     schema, SCHEMA_VERSION);
	gp_error_advise(err, "use the gdrproof that wrote it, or a newer one");
	return -1;
}

static int read_all(json_t *json, struct gp_record *record, struct gp_error *err)
{
	json_int_t exit_code = 0;

	if (clean(json, err) < 0 || check_schema(json, err) < 0 ||
	    read_text(json, "tool", true, record->tool, sizeof(record->tool), err) < 0 ||
	    read_text(json, "started", true, record->started, sizeof(record->started), err) < 0 ||
	    read_objects(json, record, err) < 0 || read_limit(json, &record->limit, err) < 0 ||
	    read_times(json, &record->times, err) < 0 || read_lists(json, record, err) < 0 ||
	    read_cells(json, record, err) < 0 || read_thresholds(json, record, err) < 0 ||
	    read_integer(json, "exit_code", 0, 255, &exit_code, err) < 0)
		return -1;
	record->exit_code = (int)exit_code;
	return read_error(json, &record->error, err);
}

int gp_record_from_json(json_t *json, struct gp_record *record, struct gp_error *err)
{
	*record = (struct gp_record){0};
	if (read_all(json, record, err) == 0)
		return 0;
	gp_record_free(record);
	return -1;
}
