/* SPDX-License-Identifier: BSD-2-Clause */
/* table: see table.h. */
#include "table.h"
#include "explain.h"
#include "units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static const char *get_text(const json_t *json, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : otherwise;
}

/* "18:00.0" of "0000:18:00.0": the domain is only noise where it is 0. */
static const char *short_bdf(const char *bdf)
{
	return strncmp(bdf, "0000:", 5) == 0 ? bdf + 5 : bdf;
}

static void print_place(const json_t *device, FILE *out)
{
	const json_t *node = json_object_get(device, "numa_node");
	const char *bdf = get_text(device, "bdf", NULL);

	fprintf(out, " (%s", bdf ? short_bdf(bdf) : "no PCI address");
	if (json_is_integer(node))
		fprintf(out, ", node %d", (int)json_integer_value(node));
	fprintf(out, ")");
}

static void print_nic(const json_t *nic, FILE *out)
{
	const json_t *rate = json_object_get(nic, "rate_gbits_per_s");

	fprintf(out, "  %s:%d ", get_text(nic, "name", "?"),
		(int)json_integer_value(json_object_get(nic, "port")));
	if (json_is_number(rate))
		fprintf(out, "%g Gb/s ", json_number_value(rate));
	else
		fprintf(out, "software ");
	fprintf(out, "%s", get_text(nic, "link", "?"));
	print_place(nic, out);
}

static void print_host(const char *side, const json_t *host, FILE *out)
{
	const json_t *gpu = json_object_get(host, "gpu");

	if (!json_is_object(host))
		return;
	fprintf(out, "%s  %s", side, get_text(host, "host", "?"));
	if (json_is_object(gpu)) {
		fprintf(out, "  gpu%d %s", (int)json_integer_value(json_object_get(gpu, "ordinal")),
			get_text(gpu, "name", "?"));
		print_place(gpu, out);
	} else {
		fprintf(out, "  no GPU");
	}
	print_nic(json_object_get(host, "nic"), out);
	if (json_is_object(gpu))
		fprintf(out, "  %s", get_text(host, "distance", "distance unknown"));
	fputc('\n', out);
}

static void print_limit(const struct gp_limit_note *limit, FILE *out)
{
	char rate[32];

	if (isfinite(limit->gbytes_per_s))
		fprintf(out, "limit   %s GB/s: %s\n",
			gp_rate_write(limit->gbytes_per_s, rate, sizeof(rate)), limit->detail);
	else
		fprintf(out, "limit   %s\n", limit->detail[0] ? limit->detail : "not known");
}

static void ratio_text(double value, double scale, const char *unit, int digits, char *buf,
		       size_t size)
{
	if (isfinite(value))
		snprintf(buf, size, "%.*f%s", digits, value * scale, unit);
	else
		snprintf(buf, size, "-");
}

#define ROW "%-8s %-6s %-6s %8s  %-20s %8s  %9s  %-12s "

/* Nothing was measured: it can't be had, it failed, or what failed before it ended the run. */
static const char *unmeasured(const struct gp_cell *cell)
{
	if (cell->verdict == GP_UNAVAILABLE)
		return "not available: ";
	return cell->error.set ? "failed: " : "not measured";
}

static void print_cell(const struct gp_cell *cell, FILE *out)
{
	char size[32], median[32], min[32], max[32], range[80] = "", limit[32], bounce[32];
	char op[16];
	/* No figure beside a path that the evidence says was not used. */
	bool show = cell->n_rounds > 0 && cell->verdict != GP_CONTRADICTED;
	char line[900];

	snprintf(op, sizeof(op), "%s%s", cell->op[0] ? cell->op : "-", cell->two_way ? "+" : "");
	gp_rate_write(show ? cell->summary.median : NAN, median, sizeof(median));
	if (show)
		snprintf(range, sizeof(range), "[%s  %s]",
			 gp_rate_write(cell->summary.min, min, sizeof(min)),
			 gp_rate_write(cell->summary.max, max, sizeof(max)));
	ratio_text(show ? cell->of_limit : NAN, 100, " %", 0, limit, sizeof(limit));
	ratio_text(show ? cell->vs_bounce : NAN, 1, "x", 2, bounce, sizeof(bounce));
	fprintf(out, ROW, cell->path, op,
		cell->size ? gp_size_write(cell->size, size, sizeof(size)) : "-", median, range,
		limit, bounce, cell->n_rounds ? gp_verdict_name(cell->verdict) : "");
	if (cell->error.set || !cell->n_rounds)
		fprintf(out, "%s%s\n", unmeasured(cell),
			cell->error.set ? gp_error_line(&cell->error, line, sizeof(line)) : "");
	else
		fprintf(out, "%s\n", cell->placement);
}

static const struct gp_fact *find_fact(const struct gp_cell *cell, const char *name,
				       enum gp_side side)
{
	for (int i = 0; i < cell->facts.n; i++)
		if (cell->facts.fact[i].side == side && strcmp(cell->facts.fact[i].name, name) == 0)
			return &cell->facts.fact[i];
	return NULL;
}

/* The facts worth a word each, with what they say in common or on each side. */
static void print_fact_pair(const struct gp_cell *cell, const char *name, const char *lead,
			    bool source, FILE *out)
{
	const struct gp_fact *f[GP_SIDES];

	for (enum gp_side side = GP_CLIENT; side <= GP_SERVER; side++)
		f[side] = find_fact(cell, name, side);
	if (f[0] && f[1]) {
		const char *a = source ? f[0]->source : f[0]->value;
		const char *b = source ? f[1]->source : f[1]->value;

		if (strcmp(a, b) == 0)
			fprintf(out, "; %s%s on both sides", lead, a);
		else
			fprintf(out, "; %s%s on the client, %s on the server", lead, a, b);
	} else if (f[0] || f[1]) {
		const struct gp_fact *one = f[0] ? f[0] : f[1];

		fprintf(out, "; %s%s on the %s", lead, source ? one->source : one->value,
			gp_side_name(one->side));
	}
}

/* All cells of one path together: the verdict that is furthest from proven, and what was checked.
 */
static void print_evidence(const struct gp_record *record, int first, FILE *out)
{
	const struct gp_cell *cell = &record->cells[first];
	enum gp_verdict worst = GP_PROVEN;
	uint64_t checked = 0, wrong = 0;
	const char *reason = "";
	char buf[32], buf2[32];

	for (int i = first; i < record->n_cells; i++) {
		const struct gp_cell *c = &record->cells[i];

		if (strcmp(c->path, cell->path) != 0)
			continue;
		checked += c->checked_bytes;
		wrong += c->wrong_bytes;
		if (c->verdict != GP_PROVEN && worst != GP_CONTRADICTED) {
			worst = c->verdict;
			reason = c->reason;
		}
	}
	fprintf(out, "%s %s: %s%s%s of %s wrong", cell->path, gp_verdict_name(worst), reason,
		reason[0] ? " -- " : "", wrong ? gp_bytes_write(wrong, buf, sizeof(buf)) : "0",
		gp_bytes_write(checked, buf2, sizeof(buf2)));
	print_fact_pair(cell, "registration", "MR from ", true, out);
	print_fact_pair(cell, "exporter", "fd ", false, out);
	print_fact_pair(cell, "pointer", "", false, out);
	print_fact_pair(cell, "port-sent", "", false, out);
	print_fact_pair(cell, "port-received", "", false, out);
	fputc('\n', out);
}

static void print_facts(const struct gp_cell *cell, FILE *out)
{
	static const char *const marks[] = {
		[GP_SUPPORT_UNKNOWN] = "?", [GP_SUPPORT_YES] = "+", [GP_SUPPORT_NO] = "-"};
	char id[GP_CELL_ID_MAX];

	fprintf(out, "\n%s\n", gp_cell_id(cell, id, sizeof(id)));
	for (int i = 0; i < cell->facts.n; i++) {
		const struct gp_fact *f = &cell->facts.fact[i];

		fprintf(out, "  %s %-6s %-15s %s  [%s]\n", marks[f->supports],
			gp_side_name(f->side), f->name, f->value, f->source);
	}
	for (int i = 0; i < cell->n_rounds; i++)
		fprintf(out, "  round %d: %.6g GB/s, %" PRIu64 " bytes in %.3f s\n", i + 1,
			cell->rounds[i].gbytes_per_s, cell->rounds[i].bytes,
			cell->rounds[i].seconds);
}

static bool first_of_path(const struct gp_record *record, int index)
{
	return index == 0 || strcmp(record->cells[index].path, record->cells[index - 1].path) != 0;
}

/* What was bound and is elsewhere, one line a side. */
static void print_misplaced(const struct gp_cell *cell, FILE *out)
{
	for (enum gp_side side = GP_CLIENT; side <= GP_SERVER; side++) {
		const struct gp_placed *p = &cell->placed[side];

		if (cell->n_rounds && gp_placed_differs(p))
			fprintf(out,
				"%s: misplaced on the %s: thread on node %d (asked %d), memory "
				"%.0f %% on node %d (asked %d)\n",
				cell->path, gp_side_name(side), p->cpu_node, p->cpu_node_asked,
				p->mem_share * 100, p->mem_node, p->mem_node_asked);
	}
}

/* Why a figure is low, and what to try. */
static void print_diagnosis(const struct gp_record *record, FILE *out)
{
	struct gp_diagnosis diagnosis;

	gp_explain(record, &diagnosis);
	for (int i = 0; i < diagnosis.n; i++)
		fprintf(out, "%s: %s; try: %s\n", diagnosis.line[i].what, diagnosis.line[i].facts,
			diagnosis.line[i].next);
}

static void print_thresholds(const struct gp_record *record, FILE *out)
{
	for (int i = 0; i < record->n_thresholds; i++) {
		const struct gp_threshold *t = &record->thresholds[i];

		fprintf(out, "%s  --%s %g: %.4g  %s\n", t->met ? "met   " : "MISSED", t->name,
			t->wanted, t->measured, t->cell);
	}
}

void gp_table_print(const struct gp_record *record, bool verbose, FILE *out)
{
	print_host("client", record->client, out);
	print_host("server", record->server, out);
	if (record->n_cells == 0)
		return;
	print_limit(&record->limit, out);
	fputc('\n', out);
	fprintf(out, ROW "%s\n", "path", "op", "size", "GB/s", "[min  max]", "of limit",
		"vs bounce", "verdict", "placement");
	for (int i = 0; i < record->n_cells; i++)
		print_cell(&record->cells[i], out);
	fputc('\n', out);
	for (int i = 0; i < record->n_cells; i++)
		if (first_of_path(record, i) && record->cells[i].n_rounds)
			print_evidence(record, i, out);
	for (int i = 0; i < record->n_cells; i++)
		if (first_of_path(record, i))
			print_misplaced(&record->cells[i], out);
	print_diagnosis(record, out);
	for (int i = 0; verbose && i < record->n_cells; i++)
		if (record->cells[i].n_rounds)
			print_facts(&record->cells[i], out);
	print_thresholds(record, out);
}

void gp_status_start(struct gp_status *status, int total)
{
	*status = (struct gp_status){
		.on = isatty(STDERR_FILENO), .start_ns = gp_now_ns(), .total = total};
}

void gp_status_show(struct gp_status *status, const struct gp_cell *cell, double gbytes_per_s)
{
	double elapsed_s = (double)(gp_now_ns() - status->start_ns) / 1e9;
	double left_s =
		status->done ? elapsed_s / status->done * (status->total - status->done) : 0;
	char size[32], rate[32];

	if (!status->on)
		return;
	fprintf(stderr, "\r\033[K%s %s %s  round %d of %d  %s GB/s  %.0f s left", cell->path,
		cell->op, gp_size_write(cell->size, size, sizeof(size)), status->done + 1,
		status->total, gp_rate_write(gbytes_per_s, rate, sizeof(rate)), left_s);
	fflush(stderr);
}

void gp_status_end(struct gp_status *status)
{
	if (status->on)
		fprintf(stderr, "\r\033[K");
}
