/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare: see compare.h. A cell's rounds are kept as one row of figures a side, with marks where
 * each record begins. Up to two records a side, rounds are the values; from three on a record is
 * one value (its median), because what varies from run to run is not in the rounds of one.
 */
#include "compare.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From so many records on a side, a record is one value. */
#define BY_RECORD_FROM 3

struct series {
	double *values; /* GB/s, record after record; owned */
	int n, room;
	struct run {
		int record, first, n;
	} * runs; /* owned */
	int n_runs, runs_room;
	enum gp_verdict evidence;
	bool seen;	  /* in some record, measured or not */
	char reason[200]; /* why it was not measured, of the last such */
};

struct entry {
	char id[300];
	struct series side[2];
};

struct gp_compare {
	struct gp_compare_ask ask;
	struct entry *entries; /* owned */
	int n, room;
	int hint; /* where the next cell was found the last time, most probably */
	int records[2], total;
	json_t *reference[4]; /* client, server, command, connection of the first; owned */
	char tool[64];
	struct gp_difference differences[GP_DIFFERENCES_MAX];
	int n_differences;
};

/* --- which cells --- */

#define TEXT(member, masked) #member, offsetof(struct gp_cell, member), true, masked
#define INT(name, member)    name, offsetof(struct gp_cell, member), false, NULL

/* The members that can be selected by. */
static const struct {
	const char *name;
	size_t offset;
	bool text; /* char[]; else an int or the size */
	const char *mask;
} members[] = {
	{TEXT(path, "*")},	  {TEXT(op, "*")},   {TEXT(placement, "*")},
	{TEXT(gpu, "*")},	  {TEXT(nic, "*")},  {TEXT(server_gpu, "*")},
	{TEXT(server_nic, "*")},  {INT("qps", qps)}, {INT("tx_depth", tx_depth)},
	{"size", 0, false, NULL},
};
#define N_MEMBERS ((int)(sizeof(members) / sizeof(members[0])))
#define M_PATH	  0
#define M_PLACE	  2
#define M_SIZE	  (N_MEMBERS - 1)

static int unknown_member(const char *word, struct gp_error *err)
{
	char names[200] = "";

	for (int i = 0; i < N_MEMBERS; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", members[i].name);
	return gp_error_set(err, GP_EXIT_USAGE,
			    "a selection is NAME=VALUE[,NAME=VALUE...], not '%.60s'; names: %s",
			    word, names);
}

int gp_selection_read(const char *text, struct gp_selection *selection, struct gp_error *err)
{
	struct gp_selection s = {0};

	while (*text) {
		size_t len = strcspn(text, ","), name = strcspn(text, "=,");
		int key = 0;

		while (key < N_MEMBERS && (strlen(members[key].name) != name ||
					   strncmp(members[key].name, text, name) != 0))
			key++;
		if (key == N_MEMBERS || text[name] != '=' || s.n == GP_WANTS_MAX ||
		    len - name > sizeof(s.want[0].value))
			return unknown_member(text, err);
		s.want[s.n].key = key;
		snprintf(s.want[s.n++].value, sizeof(s.want[0].value), "%.*s",
			 (int)(len - name - 1), text + name + 1);
		text += len + (text[len] == ',');
	}
	*selection = s;
	return 0;
}

static void member_write(const struct gp_cell *cell, int key, char *buf, size_t size)
{
	const char *at = (const char *)cell + members[key].offset;

	if (key == M_SIZE)
		gp_size_write(cell->size, buf, size);
	else if (members[key].text)
		snprintf(buf, size, "%s", at);
	else
		snprintf(buf, size, "%d", *(const int *)(const void *)at);
}

static bool selected(const struct gp_selection *pick, const struct gp_cell *cell)
{
	char value[80];

	for (int i = 0; i < pick->n; i++) {
		member_write(cell, pick->want[i].key, value, sizeof(value));
		if (strcmp(value, pick->want[i].value) != 0)
			return false;
	}
	return true;
}

static bool wants(const struct gp_selection *pick, int key, const char *value)
{
	for (int i = 0; i < pick->n; i++)
		if (pick->want[i].key == key && (!value || strcmp(pick->want[i].value, value) == 0))
			return true;
	return false;
}

/* Both sides name this member: they part by it. Named by one side only, it chooses cells. */
static bool parted(const struct gp_compare_ask *ask, int key)
{
	return wants(&ask->pick[0], key, NULL) && wants(&ask->pick[1], key, NULL);
}

/* What the two sides part by is no part of what must match. Where they part by placement, the
 * devices follow from it; where one is the path without a GPU, so do the GPUs. */
static bool is_masked(const struct gp_compare_ask *ask, int key)
{
	bool gpu = strstr(members[key].name, "gpu"), nic = strstr(members[key].name, "nic");
	bool host = wants(&ask->pick[0], M_PATH, "host") || wants(&ask->pick[1], M_PATH, "host");

	return parted(ask, key) || ((gpu || nic) && parted(ask, M_PLACE)) ||
	       (gpu && host && parted(ask, M_PATH));
}

static void make_id(const struct gp_compare_ask *ask, const struct gp_cell *cell, char *buf,
		    size_t size)
{
	struct gp_cell masked;

	if (ask->pick[0].n + ask->pick[1].n == 0) {
		gp_cell_id(cell, buf, size);
		return;
	}
	masked = *cell;
	for (int key = 0; key < N_MEMBERS; key++) {
		char *at = (char *)&masked + members[key].offset;

		if (!is_masked(ask, key))
			continue;
		if (key == M_SIZE)
			masked.size = 0;
		else if (members[key].text)
			strcpy(at, members[key].mask);
		else
			*(int *)(void *)at = 0;
	}
	gp_cell_id(&masked, buf, size);
}

/* --- taking records --- */

/* Room for one more of `size` bytes; doubles. */
static int make_room(void *array, int n, int *room, size_t size)
{
	void *more, *old;
	int count = *room ? *room * 2 : 8;

	if (n < *room)
		return 0;
	memcpy(&old, array, sizeof(old));
	more = realloc(old, (size_t)count * size);
	if (!more)
		return -1;
	memcpy(array, &more, sizeof(more));
	*room = count;
	return 0;
}

static struct entry *find_entry(struct gp_compare *c, const char *id)
{
	for (int i = 0; i < c->n; i++) {
		struct entry *e = &c->entries[(c->hint + i) % c->n];

		if (strcmp(e->id, id) == 0) {
			c->hint = (c->hint + i + 1) % c->n;
			return e;
		}
	}
	if (make_room(&c->entries, c->n, &c->room, sizeof(*c->entries)) < 0)
		return NULL;
	c->entries[c->n] =
		(struct entry){.side = {{.evidence = GP_PROVEN}, {.evidence = GP_PROVEN}}};
	snprintf(c->entries[c->n].id, sizeof(c->entries[c->n].id), "%s", id);
	return &c->entries[c->n++];
}

/* Further from proven, in this order. */
static int distance(enum gp_verdict verdict)
{
	static const int order[] = {
		[GP_PROVEN] = 0, [GP_UNPROVEN] = 1, [GP_UNAVAILABLE] = 2, [GP_CONTRADICTED] = 3};

	return order[verdict];
}

static void say_unmeasured(struct series *s, const struct gp_cell *cell)
{
	const char *why = cell->reason[0] ? cell->reason : cell->error.fact;

	snprintf(s->reason, sizeof(s->reason), "%s%s%.150s", gp_verdict_name(cell->verdict),
		 why[0] ? ": " : "", why);
}

/* No figure counts beside a path that the evidence says was not used. */
static int add_rounds(struct series *s, int record, const struct gp_cell *cell)
{
	struct run run = {record, s->n, cell->n_rounds - cell->warmup};

	s->seen = true;
	if (distance(cell->verdict) > distance(s->evidence))
		s->evidence = cell->verdict;
	if (cell->n_rounds == 0 || cell->verdict == GP_CONTRADICTED) {
		say_unmeasured(s, cell);
		return 0;
	}
	for (int i = cell->warmup; i < cell->n_rounds; i++) {
		if (make_room(&s->values, s->n, &s->room, sizeof(*s->values)) < 0)
			return -1;
		s->values[s->n++] = cell->rounds[i].gbytes_per_s;
	}
	if (make_room(&s->runs, s->n_runs, &s->runs_room, sizeof(*s->runs)) < 0)
		return -1;
	s->runs[s->n_runs++] = run;
	return 0;
}

static int add_cell(struct gp_compare *c, enum gp_compare_side side, const char *name,
		    const struct gp_cell *cell, struct gp_error *err)
{
	char id[300];
	struct entry *e;
	struct series *s;

	make_id(&c->ask, cell, id, sizeof(id));
	e = find_entry(c, id);
	if (!e)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for the cells");
	s = &e->side[side];
	if (s->n_runs && s->runs[s->n_runs - 1].record == c->total) {
		gp_error_set(err, GP_EXIT_USAGE, "%.100s: two cells of one side are %.150s", name,
			     id);
		gp_error_advise(err, "select by more, such as gpu= or nic=");
		return -1;
	}
	if (add_rounds(s, c->total, cell) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for the rounds");
	return 0;
}

/* --- surroundings --- */

enum { CLIENT, SERVER, COMMAND, CONNECTION };

#define HOST(path, name, refuses)                     \
	{CLIENT, path, "client " name, refuses},      \
	{                                             \
		SERVER, path, "server " name, refuses \
	}

static const struct {
	int part;
	const char *path; /* dotted */
	const char *what;
	bool refuses;
} surroundings[] = {
	HOST("gpu.name", "GPU", true),
	HOST("nic.link", "NIC's link", true),
	HOST("nic.rate_gbits_per_s", "NIC's rate", true),
	HOST("nic.software", "NIC is software", true),
	HOST("nic.firmware", "NIC's firmware", true),
	HOST("nic.mtu", "NIC's MTU", true),
	HOST("distance", "distance of GPU and NIC", true),
	HOST("kernel", "kernel", true),
	HOST("driver", "GPU driver", true),
	HOST("cuda.driver", "CUDA driver", true),
	HOST("cuda.runtime", "CUDA runtime", false),
	HOST("host", "host", false),
	{COMMAND, "region", "--region", true},
	{COMMAND, "verify", "--verify", true},
	{COMMAND, "relaxed-ordering", "--relaxed-ordering", true},
	{COMMAND, "cq-mod", "--cq-mod", false},
	{COMMAND, "post-list", "--post-list", false},
	{COMMAND, "duration", "--duration", false},
	{COMMAND, "iters", "--iters", false},
	{CONNECTION, "mtu", "path MTU", true},
	{CONNECTION, "way", "way to connect", false},
};
#define N_SURROUNDINGS (sizeof(surroundings) / sizeof(surroundings[0]))

static void look_up(const json_t *json, const char *path, char *buf, size_t size)
{
	char part[40];
	const json_t *at = json;

	for (;;) {
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		at = json_object_get(at, part);
		if (!path[len])
			break;
		path += len + 1;
	}
	buf[0] = '\0';
	if (json_is_string(at))
		snprintf(buf, size, "%s", json_string_value(at));
	else if (json_is_number(at))
		snprintf(buf, size, "%.10g", json_number_value(at));
	else if (json_is_boolean(at))
		snprintf(buf, size, "%s", json_is_true(at) ? "yes" : "no");
}

/* Each once, however many records say it. */
static void add_difference(struct gp_compare *c, const char *what, const char *base,
			   const char *new, bool refuses)
{
	struct gp_difference *d = &c->differences[c->n_differences];

	for (int i = 0; i < c->n_differences; i++)
		if (strcmp(c->differences[i].what, what) == 0 &&
		    strncmp(c->differences[i].new, new, sizeof(d->new) - 1) == 0)
			return;
	if (c->n_differences == GP_DIFFERENCES_MAX)
		return;
	c->n_differences++;
	*d = (struct gp_difference){.refuses = refuses};
	snprintf(d->what, sizeof(d->what), "%s", what);
	snprintf(d->base, sizeof(d->base), "%s", base);
	snprintf(d->new, sizeof(d->new), "%s", new);
	gp_text_clean(d->base);
	gp_text_clean(d->new);
}

/* What one of the two does not tell is no difference. */
static void hold_against(struct gp_compare *c, const struct gp_record *record)
{
	const json_t *now[] = {record->client, record->server, record->command, record->connection};
	char base[100], new[100];

	for (size_t i = 0; i < N_SURROUNDINGS; i++) {
		int part = surroundings[i].part;

		look_up(c->reference[part], surroundings[i].path, base, sizeof(base));
		look_up(now[part], surroundings[i].path, new, sizeof(new));
		if (base[0] && new[0] && strcmp(base, new) != 0)
			add_difference(c, surroundings[i].what, base, new, surroundings[i].refuses);
	}
	if (strcmp(c->tool, record->tool) != 0)
		add_difference(c, "gdrproof", c->tool, record->tool, false);
}

static void keep_reference(struct gp_compare *c, const struct gp_record *record)
{
	c->reference[CLIENT] = json_incref(record->client);
	c->reference[SERVER] = json_incref(record->server);
	c->reference[COMMAND] = json_incref(record->command);
	c->reference[CONNECTION] = json_incref(record->connection);
	snprintf(c->tool, sizeof(c->tool), "%s", record->tool);
}

int gp_compare_open(const struct gp_compare_ask *ask, struct gp_compare **compare,
		    struct gp_error *err)
{
	*compare = calloc(1, sizeof(**compare));
	if (!*compare)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory");
	(*compare)->ask = *ask;
	return 0;
}

void gp_compare_close(struct gp_compare *c)
{
	if (!c)
		return;
	for (int i = 0; i < c->n; i++)
		for (int side = 0; side < 2; side++) {
			free(c->entries[i].side[side].values);
			free(c->entries[i].side[side].runs);
		}
	for (int i = 0; i < 4; i++)
		json_decref(c->reference[i]);
	free(c->entries);
	free(c);
}

int gp_compare_add(struct gp_compare *c, enum gp_compare_side side, const char *name,
		   const struct gp_record *record, struct gp_error *err)
{
	if (c->total == 0)
		keep_reference(c, record);
	else
		hold_against(c, record);
	c->total++;
	for (enum gp_compare_side s = GP_BASE; s <= GP_NEW; s++) {
		if (!c->ask.within && s != side)
			continue;
		c->records[s]++;
		for (int i = 0; i < record->n_cells; i++)
			if (selected(&c->ask.pick[s], &record->cells[i]) &&
			    add_cell(c, s, name, &record->cells[i], err) < 0)
				return -1;
	}
	return 0;
}

/* --- judging --- */

/* The median of each record; `out` has room for n_runs. */
static void run_medians(const struct series *s, double *out)
{
	for (int i = 0; i < s->n_runs; i++)
		out[i] = gp_median(s->values + s->runs[i].first, s->runs[i].n);
}

static void add_note(struct gp_compare_row *row, const char *who, const char *what)
{
	size_t used = strlen(row->note);

	if (what[0])
		snprintf(row->note + used, sizeof(row->note) - used, "%s%s%s%s", used ? "; " : "",
			 who, who[0] ? ": " : "", what);
}

/* A level that moved is no level: what looks the same on average is not settled by it. */
static void note_steadiness(struct gp_compare_row *row, const struct gp_compare_ask *ask,
			    const double *values, int n, const char *who)
{
	struct gp_steadiness s = gp_steadiness(values, n, ask->ab.min_effect);
	char words[100];

	add_note(row, who, gp_steadiness_write(&s, words, sizeof(words)));
	if ((s.kind == GP_DRIFT || s.kind == GP_STEP) && row->ab.verdict == GP_AB_SAME)
		row->ab.verdict = GP_AB_UNCLEAR;
}

/* Pairs of all records that have both; a and b have room for every value. */
static int make_pairs(const struct entry *e, bool by_record, double *a, double *b)
{
	const struct series *sa = &e->side[0], *sb = &e->side[1];
	int n = 0;

	for (int i = 0, j = 0; i < sa->n_runs; i++) {
		const struct run *ra = &sa->runs[i], *rb;
		int pairs;

		while (j < sb->n_runs && sb->runs[j].record < ra->record)
			j++;
		if (j == sb->n_runs || sb->runs[j].record != ra->record)
			continue;
		rb = &sb->runs[j];
		pairs = ra->n < rb->n ? ra->n : rb->n;
		if (by_record) {
			a[n] = gp_median(sa->values + ra->first, pairs);
			b[n++] = gp_median(sb->values + rb->first, pairs);
			continue;
		}
		for (int k = 0; k < pairs; k++, n++) {
			a[n] = sa->values[ra->first + k];
			b[n] = sb->values[rb->first + k];
		}
	}
	return n;
}

static void judge_pairs(const struct entry *e, const struct gp_compare_ask *ask,
			struct gp_compare_row *row, double *a, double *b)
{
	int n = make_pairs(e, row->by_record, a, b);

	row->ab = gp_ab_paired(a, b, n, &ask->ab);
	for (int i = 0; i < n; i++)
		a[i] = a[i] > 0 ? b[i] / a[i] : 0;
	if (e->side[0].n_runs == 1)
		note_steadiness(row, ask, a, n, "ratio");
}

static void judge_sides(const struct entry *e, const struct gp_compare_ask *ask,
			struct gp_compare_row *row, double *a, double *b)
{
	const struct series *sa = &e->side[0], *sb = &e->side[1];

	if (row->by_record) {
		row->ab = gp_ab_sides(a, sa->n_runs, b, sb->n_runs, &ask->ab);
		return;
	}
	row->ab = gp_ab_sides(sa->values, sa->n, sb->values, sb->n, &ask->ab);
	if (sa->n_runs == 1)
		note_steadiness(row, ask, sa->values, sa->n, "base");
	if (sb->n_runs == 1)
		note_steadiness(row, ask, sb->values, sb->n, "new");
}

static double median_of_all(const struct series *s, const double *medians)
{
	double *sorted, median;

	if (s->n_runs == 0)
		return NAN;
	if (s->n_runs <= GP_ROUNDS_MAX)
		return gp_median(medians, s->n_runs);
	/* thousands: those in the middle of the list of records stand for all */
	sorted = calloc(GP_ROUNDS_MAX, sizeof(*sorted));
	if (!sorted)
		return NAN;
	for (int i = 0; i < GP_ROUNDS_MAX; i++)
		sorted[i] = medians[(int64_t)i * s->n_runs / GP_ROUNDS_MAX];
	median = gp_median(sorted, GP_ROUNDS_MAX);
	free(sorted);
	return median;
}

static void describe(const struct gp_compare *c, const struct entry *e, struct gp_compare_row *row)
{
	static const char *const who[] = {"base", "new"};
	char text[260];

	for (int side = 0; side < 2; side++) {
		const struct series *s = &e->side[side];

		row->records[side] = s->n_runs;
		row->evidence[side] = s->evidence;
		if (s->n_runs == 0 && s->seen)
			add_note(row, who[side], s->reason);
		else if (s->n_runs && s->n_runs < c->records[side]) {
			snprintf(text, sizeof(text), "measured in %d of %d records", s->n_runs,
				 c->records[side]);
			add_note(row, who[side], text);
		}
	}
	if (row->kind != GP_ROW_COMPARED ||
	    distance(row->evidence[1]) <= distance(row->evidence[0]))
		return;
	snprintf(text, sizeof(text), "evidence was %s, is %s", gp_verdict_name(row->evidence[0]),
		 gp_verdict_name(row->evidence[1]));
	add_note(row, "", text);
}

static int judge_entry(const struct gp_compare *c, const struct entry *e,
		       struct gp_compare_row *row)
{
	const struct series *sa = &e->side[0], *sb = &e->side[1];
	size_t room = (size_t)(sa->n > sb->n ? sa->n : sb->n) + 1;
	double *a = calloc(room, sizeof(*a)), *b = calloc(room, sizeof(*b));
	int rc = a && b ? 0 : -1;

	snprintf(row->id, sizeof(row->id), "%s", e->id);
	row->by_record = sa->n_runs >= BY_RECORD_FROM || sb->n_runs >= BY_RECORD_FROM;
	row->kind = !sb->n_runs ? GP_ROW_VANISHED : !sa->n_runs ? GP_ROW_NEW : GP_ROW_COMPARED;
	row->ab = (struct gp_ab){GP_AB_UNCLEAR, NAN, NAN, NAN, sa->n, sb->n, 0};
	if (rc == 0) {
		run_medians(sa, a);
		run_medians(sb, b);
		row->median[0] = median_of_all(sa, a);
		row->median[1] = median_of_all(sb, b);
		if (row->kind == GP_ROW_COMPARED)
			(c->ask.within ? judge_pairs : judge_sides)(e, &c->ask, row, a, b);
		describe(c, e, row);
	}
	free(a);
	free(b);
	return rc;
}

static int refuse(const struct gp_compare *c, struct gp_error *err)
{
	const struct gp_difference *first = NULL;
	int more = -1;

	for (int i = 0; i < c->n_differences; i++) {
		const struct gp_difference *d = &c->differences[i];

		if (!d->refuses)
			continue;
		first = first ? first : d;
		more++;
	}
	if (!first || c->ask.force)
		return 0;
	gp_error_set(err, GP_EXIT_USAGE, "not comparable: %s is '%s' and '%s'", first->what,
		     first->base, first->new);
	if (more > 0)
		snprintf(err->fact + strlen(err->fact), sizeof(err->fact) - strlen(err->fact),
			 ", and %d more", more);
	gp_error_advise(err, "--force compares all the same, and lists what differs");
	return -1;
}

static bool measured(const struct gp_compare *c, int side)
{
	for (int i = 0; i < c->n; i++)
		if (c->entries[i].side[side].n_runs)
			return true;
	return false;
}

static int check_sides(const struct gp_compare *c, struct gp_error *err)
{
	static const char *const who[] = {"base", "new"};

	for (int side = 0; side < 2; side++) {
		if (measured(c, side) || (side == 1 && !c->ask.pick[1].n && c->records[1]))
			continue;
		gp_error_set(err, GP_EXIT_USAGE, "nothing was measured on the %s side%s", who[side],
			     c->ask.pick[side].n ? " that its selection matches" : "");
		return -1;
	}
	return 0;
}

int gp_compare_finish(struct gp_compare *c, struct gp_comparison *result, struct gp_error *err)
{
	*result = (struct gp_comparison){.records = {c->records[0], c->records[1]}};
	memcpy(result->differences, c->differences, sizeof(c->differences));
	result->n_differences = c->n_differences;
	if (refuse(c, err) < 0 || check_sides(c, err) < 0)
		return -1;
	result->rows = calloc((size_t)c->n + 1, sizeof(*result->rows));
	for (int i = 0; result->rows && i < c->n; i++) {
		struct gp_compare_row *row = &result->rows[result->n_rows];

		if (!c->entries[i].side[0].n_runs && !c->entries[i].side[1].n_runs)
			continue; /* could be had on neither side */
		if (judge_entry(c, &c->entries[i], row) < 0)
			return gp_error_set(err, GP_EXIT_FAILED, "out of memory for the rows");
		result->n_rows++;
		result->count[row->ab.verdict] += row->kind == GP_ROW_COMPARED;
		result->vanished += row->kind == GP_ROW_VANISHED;
		result->added += row->kind == GP_ROW_NEW;
	}
	return result->rows ? 0 : gp_error_set(err, GP_EXIT_FAILED, "out of memory for the rows");
}

void gp_comparison_free(struct gp_comparison *result)
{
	free(result->rows);
	*result = (struct gp_comparison){0};
}

const char *gp_compare_word(const struct gp_compare_row *row)
{
	static const char *const words[] = {[GP_ROW_VANISHED] = "vanished", [GP_ROW_NEW] = "new"};

	return row->kind == GP_ROW_COMPARED ? gp_ab_name(row->ab.verdict) : words[row->kind];
}

bool gp_compare_passes(const struct gp_comparison *result)
{
	return result->count[GP_AB_WORSE] == 0 && result->vanished == 0;
}

char *gp_compare_sentence(const struct gp_compare_row *row, double confidence, char *buf,
			  size_t size)
{
	const struct gp_ab *ab = &row->ab;
	char interval[100] = "", more[100] = "", base[32], new[32];

	gp_rate_write(row->median[0], base, sizeof(base));
	gp_rate_write(row->median[1], new, sizeof(new));
	if (isfinite(ab->lo))
		snprintf(interval, sizeof(interval), ", %g %% interval %+.1f to %+.1f %%",
			 confidence * 100, (ab->lo - 1) * 100, (ab->hi - 1) * 100);
	if (ab->more > 0)
		snprintf(more, sizeof(more), "; %d more %s a side would probably settle it",
			 ab->more, row->by_record ? "records" : "rounds");
	else if (ab->more < 0)
		snprintf(more, sizeof(more), "; more than %d more would be needed to settle it",
			 GP_ROUNDS_MAX);
	if (row->kind == GP_ROW_COMPARED)
		snprintf(buf, size, "%s -> %s GB/s: %+.1f %%%s%s", base, new, (ab->ratio - 1) * 100,
			 interval, more);
	else
		snprintf(buf, size, "%s GB/s, on the %s side only",
			 row->kind == GP_ROW_NEW ? new : base,
			 row->kind == GP_ROW_NEW ? "new" : "base");
	if (row->note[0])
		snprintf(buf + strlen(buf), size - strlen(buf), "; %s", row->note);
	return buf;
}
