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

static void print_devices(const json_t *host, FILE *out)
{
	const json_t *gpu = json_object_get(host, "gpu");

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
}

static void print_host(const char *side, const json_t *host, FILE *out)
{
	if (!json_is_object(host))
		return;
	fprintf(out, "%s  %s", side, get_text(host, "host", "?"));
	print_devices(host, out);
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

/* The first is what client, server and limit say. */
static void print_stands(const struct gp_record *record, FILE *out)
{
	char rate[32];

	for (int i = 1; i < record->n_stands; i++) {
		const struct gp_stand_note *s = &record->stands[i];

		fprintf(out, "%-7s", s->name);
		if (s->differs[0] || !s->client) {
			fprintf(out, " %s", s->differs);
		} else {
			print_devices(s->client, out);
			fprintf(out, "  to");
			print_devices(s->server, out);
		}
		if (isfinite(s->limit.gbytes_per_s) &&
		    strcmp(s->limit.detail, record->limit.detail) != 0)
			fprintf(out, "; limit %s GB/s: %s",
				gp_rate_write(s->limit.gbytes_per_s, rate, sizeof(rate)),
				s->limit.detail);
		fputc('\n', out);
	}
}

static char *ratio_text(double value, double scale, const char *unit, int digits, char *buf,
			size_t size)
{
	if (isfinite(value))
		snprintf(buf, size, "%.*f%s", digits, value * scale, unit);
	else
		snprintf(buf, size, "-");
	return buf;
}

#define ROW "%-8s %-6s %-6s %8s  %-20s %8s  %9s  %-12s "

/* Nothing was measured: it can't be had, it failed, or what failed before it ended the run. */
static const char *unmeasured(const struct gp_cell *cell)
{
	if (cell->verdict == GP_UNAVAILABLE)
		return "not available: ";
	return cell->error.set ? "failed: " : "not measured";
}

static void print_cell(const struct gp_cell *cell, bool several, FILE *out)
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
		fprintf(out, "%s%s%s%s\n", several ? cell->placement : "", several ? ": " : "",
			unmeasured(cell),
			cell->error.set ? gp_error_line(&cell->error, line, sizeof(line)) : "");
	else
		fprintf(out, "%s\n", cell->placement);
}

/* Rails together, over the time that they had in common. */
static void print_sum(const struct gp_sum *sum, FILE *out)
{
	char size[32], median[32], min[32], max[32], range[80] = "", limit[32], op[16];

	snprintf(op, sizeof(op), "%s%s", sum->op, sum->two_way ? "+" : "");
	if (sum->n_rounds)
		snprintf(range, sizeof(range), "[%s  %s]",
			 gp_rate_write(sum->summary.min, min, sizeof(min)),
			 gp_rate_write(sum->summary.max, max, sizeof(max)));
	ratio_text(sum->of_limit, 100, " %", 0, limit, sizeof(limit));
	fprintf(out, ROW "sum of %d rails, windows %.0f %% in common\n", sum->path, op,
		gp_size_write(sum->size, size, sizeof(size)),
		gp_rate_write(sum->n_rounds ? sum->summary.median : NAN, median, sizeof(median)),
		range, limit, "-", "", sum->rails, sum->overlap * 100);
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

		if (strcmp(c->path, cell->path) != 0 || !c->n_rounds)
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

/* The first of its path that has rounds. */
static bool stands_for_path(const struct gp_record *record, int index)
{
	const struct gp_cell *cells = record->cells;

	for (int i = 0; i < index; i++)
		if (cells[i].n_rounds && strcmp(cells[i].path, cells[index].path) == 0)
			return false;
	return cells[index].n_rounds > 0;
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

static void print_findings(const struct gp_record *record, bool verbose, FILE *out)
{
	for (int i = 0; i < record->n_findings; i++) {
		const struct gp_run_finding *f = &record->findings[i];

		if (strcmp(f->severity, "info") == 0 && !verbose)
			continue;
		fprintf(out, "%s: %s%s%s\n", f->id, f->message, f->fix[0] ? "; try: " : "", f->fix);
	}
}

static const struct gp_cell *cell_of(const struct gp_record *record, const char *id)
{
	char buf[GP_CELL_ID_MAX];

	for (int i = 0; i < record->n_cells; i++)
		if (strcmp(gp_cell_id(&record->cells[i], buf, sizeof(buf)), id) == 0)
			return &record->cells[i];
	return NULL;
}

static void print_contrast(const struct gp_record *record, const struct gp_contrast *c, FILE *out)
{
	const struct gp_cell *a = cell_of(record, c->a), *b = cell_of(record, c->b);
	char size[32], range[48] = "";

	if (!a || !b)
		return;
	if (isfinite(c->ab.lo) && isfinite(c->ab.hi))
		snprintf(range, sizeof(range), "[%.3f  %.3f]", c->ab.lo, c->ab.hi);
	fprintf(out, "%-18s %-8s %-6s %-6s %-8s %6.3fx  %-16s %s", c->what,
		strcmp(a->path, b->path) == 0 ? a->path : "", a->op,
		gp_size_write(a->size, size, sizeof(size)),
		strcmp(a->placement, b->placement) == 0 ? a->placement : "", c->ab.ratio, range,
		gp_ab_name(c->ab.verdict));
	if (c->ab.verdict == GP_AB_UNCLEAR && c->ab.more > 0)
		fprintf(out, ": about %d more rounds would settle it", c->ab.more);
	fputc('\n', out);
}

/* What the run was for: one placement, one path against the other. */
static void print_contrasts(const struct gp_record *record, FILE *out)
{
	for (int i = 0; i < record->n_contrasts; i++)
		print_contrast(record, &record->contrasts[i], out);
}

static void print_times(const struct gp_times *t, FILE *out)
{
	double other = t->wall_s - t->setup_s - t->before_s - t->measured_s - t->after_s;

	fprintf(out,
		"time    %.2f s: setup %.2f, fill and start %.2f, measured %.2f, drain and check "
		"%.2f, rest %.2f; %.0f %% outside of measured rounds\n",
		t->wall_s, t->setup_s, t->before_s, t->measured_s, t->after_s, other,
		(1 - t->measured_s / t->wall_s) * 100);
}

static void print_thresholds(const struct gp_record *record, FILE *out)
{
	char line[GP_THRESHOLD_MAX];

	for (int i = 0; i < record->n_thresholds; i++) {
		const struct gp_threshold *t = &record->thresholds[i];

		fprintf(out, "%s\n", gp_threshold_write(t, line, sizeof(line)));
	}
}

static void print_stage(const char *name, const struct gp_stage_note *stage, FILE *out)
{
	char alone[32], busy[32];

	if (!isfinite(stage->busy) && !isfinite(stage->gbytes_per_s))
		return;
	fprintf(out, "  %-13s %7s GB/s alone, busy %s of the time\n", name,
		gp_rate_write(stage->gbytes_per_s, alone, sizeof(alone)),
		ratio_text(stage->busy, 100, " %", 0, busy, sizeof(busy)));
}

static void print_pipeline(const struct gp_cell *cell, FILE *out)
{
	const struct gp_pipeline *p = &cell->pipeline;
	double slowest =
		fmin(fmin(p->copy_out.gbytes_per_s, p->wire.gbytes_per_s), p->copy_in.gbytes_per_s);
	char id[GP_CELL_ID_MAX], chunk[32], share[32];

	fprintf(out, "%s: chunks of %s in %d slots each way\n", gp_cell_id(cell, id, sizeof(id)),
		gp_size_write(p->chunk_bytes, chunk, sizeof(chunk)), p->slots);
	print_stage("GPU to host", &p->copy_out, out);
	print_stage("wire", &p->wire, out);
	print_stage("host to GPU", &p->copy_in, out);
	fprintf(out, "  reached %s of what the slowest does alone\n",
		ratio_text(cell->summary.median / slowest, 100, " %", 0, share, sizeof(share)));
}

void gp_table_print_pipelines(const struct gp_record *record, FILE *out)
{
	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];

		if (cell->pipeline.chunk_bytes && cell->n_rounds &&
		    cell->verdict != GP_CONTRADICTED)
			print_pipeline(cell, out);
	}
}

void gp_table_print(const struct gp_record *record, bool verbose, FILE *out)
{
	print_host("client", record->client, out);
	print_host("server", record->server, out);
	if (record->n_cells == 0)
		return;
	print_limit(&record->limit, out);
	print_stands(record, out);
	fputc('\n', out);
	fprintf(out, ROW "%s\n", "path", "op", "size", "GB/s", "[min  max]", "of limit",
		"vs bounce", "verdict", "placement");
	for (int i = 0; i < record->n_cells; i++)
		print_cell(&record->cells[i], record->n_stands > 1, out);
	for (int i = 0; i < record->n_sums; i++)
		print_sum(&record->sums[i], out);
	fputc('\n', out);
	for (int i = 0; i < record->n_cells; i++)
		if (stands_for_path(record, i))
			print_evidence(record, i, out);
	print_diagnosis(record, out);
	print_findings(record, verbose, out);
	for (int i = 0; verbose && i < record->n_cells; i++)
		if (record->cells[i].n_rounds)
			print_facts(&record->cells[i], out);
	if (verbose)
		gp_table_print_pipelines(record, out);
	print_contrasts(record, out);
	print_thresholds(record, out);
	if (verbose)
		print_times(&record->times, out);
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
