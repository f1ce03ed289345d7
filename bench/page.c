/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page: see page.h. The decision comes first, then the table, the plots, the evidence, the hosts
 * and the commands. The HTML is well-formed XML as well, so that a test can read it as such.
 * Figures carry the record's own digits in data-value.
 */
#include "page.h"
#include "bw_options.h"
#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of one plot: eight colours, drawn through and dashed. */
#define LINES_MAX 16

/* --- streams and texts --- */

FILE *gp_page_open(const char *file, struct gp_error *err)
{
	FILE *out = strcmp(file, "-") == 0 ? stdout : fopen(file, "we");

	if (!out)
		gp_error_errno(err, GP_EXIT_FAILED, errno, "fopen", "%s", file);
	return out;
}

int gp_page_close(FILE *out, const char *file, struct gp_error *err)
{
	bool failed = fflush(out) != 0 || ferror(out);

	if (out != stdout)
		failed |= fclose(out) != 0;
	return failed ? gp_error_set(err, GP_EXIT_FAILED, "%s: could not be written", file) : 0;
}

void gp_page_text(const char *text, FILE *out)
{
	static const char *const entities[128] = {['&'] = "&amp;",
						  ['<'] = "&lt;",
						  ['>'] = "&gt;",
						  ['"'] = "&quot;",
						  ['\''] = "&#39;"};

	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p < 128 && entities[*p])
			fputs(entities[*p], out);
		else if (*p < 0x20 || *p == 0x7f)
			fputc(' ', out);
		else if (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe) {
			fputc('?', out); /* U+FFFE and U+FFFF are in no XML */
			p += 2;
		} else
			fputc(*p, out);
	}
}

void gp_page_markdown(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (strchr("\\`*_[]<>|#~$!", *text))
			fputc('\\', out);
		fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
	}
}

static void html(FILE *out, const char *before, const char *text, const char *after)
{
	fputs(before, out);
	gp_page_text(text, out);
	fputs(after, out);
}

/* --- what is said of a record and of a cell --- */

static bool is_shown(const struct gp_cell *cell)
{
	return cell->n_rounds > 0 && cell->verdict != GP_CONTRADICTED;
}

static void share_text(double value, double scale, const char *unit, int digits, char *buf,
		       size_t size)
{
	if (isfinite(value))
		snprintf(buf, size, "%.*f%s", digits, value * scale, unit);
	else
		snprintf(buf, size, "-");
}

/* Why there is no figure, or what is to be known of one. */
static const char *remark(const struct gp_cell *cell, char *buf, size_t size)
{
	double values[GP_ROUNDS_MAX];
	struct gp_steadiness steady;
	char words[100];

	buf[0] = '\0';
	if (cell->error.set || cell->verdict != GP_PROVEN) {
		const char *why = cell->reason[0] ? cell->reason : cell->error.fact;

		snprintf(buf, size, "%s%s%s", why, cell->error.advice[0] ? "; " : "",
			 cell->error.advice);
		return buf;
	}
	steady = gp_steadiness(values, gp_cell_values(cell, values), GP_MIN_EFFECT);
	snprintf(buf, size, "%s", gp_steadiness_write(&steady, words, sizeof(words)));
	return buf;
}

/* One word and one sentence: what to make of this run. */
static const char *decision(const struct gp_record *record, char *sentence, size_t size)
{
	int proven = 0, measured = 0, met = 0;

	if (record->error.set) {
		gp_error_line(&record->error, sentence, size);
		return record->exit_code == GP_EXIT_THRESHOLD ? "Threshold missed"
		       : record->exit_code == GP_EXIT_WRONG   ? "Contradicted"
		       : record->exit_code == GP_EXIT_MISSING ? "Not available"
							      : "Failed";
	}
	for (int i = 0; i < record->n_cells; i++) {
		measured += record->cells[i].n_rounds > 0;
		proven += record->cells[i].n_rounds > 0 && record->cells[i].verdict == GP_PROVEN;
	}
	for (int i = 0; i < record->n_thresholds; i++)
		met += record->thresholds[i].met;
	snprintf(sentence, size, "%d of %d measured cells have their path proven%s", proven,
		 measured, record->n_thresholds ? "" : "; no thresholds were set");
	if (record->n_thresholds)
		snprintf(sentence + strlen(sentence), size - strlen(sentence),
			 "; %d of %d thresholds met", met, record->n_thresholds);
	if (proven < measured || !measured)
		return "Measured, not all proven";
	return record->n_thresholds ? "Passed" : "Paths proven";
}

/* --- the commands that repeat it --- */

static bool is_plain(const char *text)
{
	return text[0] && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_-.,:/+=@") == strlen(text);
}

static void shell_word(const char *text, char *buf, size_t size)
{
	size_t used = strlen(buf);

	if (is_plain(text)) {
		snprintf(buf + used, size - used, " %s", text);
		return;
	}
	used += (size_t)snprintf(buf + used, size - used, " '");
	for (; *text && used + 8 < size; text++)
		used += (size_t)snprintf(buf + used, size - used, *text == '\'' ? "'\\''" : "%c",
					 *text);
	snprintf(buf + used, size - used, "'");
}

/* Options that are not at their default; names that bw does not know are left out. */
static void bw_command(const struct gp_record *record, char *buf, size_t size)
{
	struct gp_bw_options defaults;
	const char *host = json_string_value(json_object_get(record->server, "host"));
	char def[1024], option[64];
	const char *key;
	json_t *value;

	gp_options_default(&gp_bw_table, &defaults);
	snprintf(buf, size, "gdrproof bw");
	shell_word(host ? host : "HOST", buf, size);
	json_object_foreach (record->command, key, value) {
		const struct gp_option *row = gp_option_find(&gp_bw_table, key);
		const char *text = json_string_value(value);

		if (!row || !text ||
		    strcmp(text, gp_option_write(row, &defaults, def, sizeof(def))) == 0)
			continue;
		snprintf(option, sizeof(option), "--%s", row->name);
		shell_word(option, buf, size);
		if (row->type != GP_OPT_FLAG)
			shell_word(text, buf, size);
	}
	shell_word("--json", buf, size);
	shell_word("run.json", buf, size);
}

/* --- HTML --- */

static const char style[] =
	"body{font:15px/1.45 system-ui,sans-serif;color:#1a1a1a;background:#fff;max-width:1100px;"
	"margin:2em auto;padding:0 1em}\n"
	"h1{font-size:1.6em;margin:0 0 .4em}h2{font-size:1.2em;margin:1.8em 0 "
	".5em;border-bottom:1px "
	"solid #ccc}h3{font-size:1em;margin:1.2em 0 .3em;overflow-wrap:anywhere}\n"
	".decision{border-left:6px solid #777;background:#f4f4f4;padding:.6em 1em;margin:.6em 0}\n"
	".good{border-color:#1b7f3b}.bad{border-color:#b3261e}\n"
	"table{border-collapse:collapse;width:100%;font-size:.92em}\n"
	"th,td{text-align:left;padding:.25em .6em;border-bottom:1px solid #ddd;vertical-align:top;"
	"overflow-wrap:anywhere}\n"
	"th{background:#f4f4f4}td.n,th.n{text-align:right;white-space:nowrap;"
	"font-variant-numeric:tabular-nums}\n"
	"td.v{white-space:nowrap}td.contradicted{color:#b3261e;font-weight:600}\n"
	"td.unproven{color:#8a5a00;font-weight:600}td.proven{color:#1b7f3b;font-weight:600}\n"
	"pre{background:#f4f4f4;padding:.6em 1em;white-space:pre-wrap;overflow-wrap:anywhere}\n"
	"img{max-width:100%;display:block;margin:.5em 0}.small{font-size:.85em;color:#555}\n"
	"@page{size:A4;margin:14mm}\n"
	"@media "
	"print{body{font-size:10px;margin:0;max-width:none;padding:0}h2,h3{break-after:avoid}"
	"tr,img,.decision{break-inside:avoid}th,.decision,pre{print-color-adjust:exact}}\n";

static void html_number(double value, const char *shown, FILE *out)
{
	if (isfinite(value))
		fprintf(out, "<td class=\"n\" data-value=\"%.9g\">%s</td>", value, shown);
	else
		fprintf(out, "<td class=\"n\">%s</td>", shown);
}

static void html_cell(const struct gp_cell *cell, FILE *out)
{
	char text[1600], size[32];
	const struct gp_summary *s = &cell->summary;
	const struct {
		double value, scale;
		const char *unit;
	} shares[] = {{cell->of_limit, 100, " %"}, {cell->vs_bounce, 1, "x"}};
	double rates[] = {s->median, s->min, s->max};
	const char *verdict = gp_verdict_name(cell->verdict);

	fputs("<tr class=\"cell\" data-id=\"", out);
	gp_page_text(gp_cell_id(cell, text, sizeof(text)), out);
	html(out, "\"><td>", cell->path, "</td>");
	html(out, "<td>", cell->op[0] ? cell->op : "-", cell->two_way ? "+</td>" : "</td>");
	html(out, "<td class=\"n\">",
	     cell->size ? gp_size_write(cell->size, size, sizeof(size)) : "-", "</td>");
	for (int i = 0; i < 3; i++) {
		double value = is_shown(cell) ? rates[i] : NAN;

		html_number(value, gp_rate_write(value, text, sizeof(text)), out);
	}
	for (int i = 0; i < 2; i++) {
		double value = is_shown(cell) ? shares[i].value : NAN;

		share_text(value, shares[i].scale, shares[i].unit, i ? 2 : 0, text, sizeof(text));
		html_number(value, text, out);
	}
	fprintf(out, "<td class=\"v %s\">%s</td>", verdict, verdict);
	html(out, "<td>", cell->placement, "</td>");
	html(out, "<td>", remark(cell, text, sizeof(text)), "</td></tr>\n");
}

static void html_table(const struct gp_record *record, FILE *out)
{
	fputs("<table class=\"cells\"><thead><tr><th>path</th><th>op</th><th class=\"n\">size</th>"
	      "<th class=\"n\">GB/s</th><th class=\"n\">min</th><th class=\"n\">max</th>"
	      "<th class=\"n\">of limit</th><th class=\"n\">vs bounce</th><th>verdict</th>"
	      "<th>placement</th><th>remark</th></tr></thead><tbody>\n",
	      out);
	for (int i = 0; i < record->n_cells; i++)
		html_cell(&record->cells[i], out);
	fputs("</tbody></table>\n", out);
	if (isfinite(record->limit.gbytes_per_s))
		fprintf(out, "<p class=\"small\">Limit %.4g GB/s: ", record->limit.gbytes_per_s);
	else
		fputs("<p class=\"small\">No limit is known. ", out);
	html(out, "", record->limit.detail,
	     " GB/s are 10^9 bytes per second, median of the "
	     "rounds.</p>\n");
}

static void html_thresholds(const struct gp_record *record, FILE *out)
{
	if (!record->n_thresholds)
		return;
	fputs("<h2>Thresholds</h2>\n<table><thead><tr><th>threshold</th><th class=\"n\">wanted</th>"
	      "<th class=\"n\">measured</th><th></th><th>cell</th></tr></thead><tbody>\n",
	      out);
	for (int i = 0; i < record->n_thresholds; i++) {
		const struct gp_threshold *t = &record->thresholds[i];
		char measured[32], wanted[32];

		snprintf(wanted, sizeof(wanted), "%g", t->wanted);
		share_text(t->measured, 1, "", 3, measured, sizeof(measured));
		html(out, "<tr><td>", t->rule[0] ? t->rule : "--", t->rule[0] ? " " : "");
		html(out, "", t->name, "</td>");
		html(out, "<td class=\"n\">", t->wanted_word[0] ? t->wanted_word : wanted, "</td>");
		html(out, "<td class=\"n\">", t->wanted_word[0] ? t->measured_word : measured,
		     "</td>");
		fprintf(out, "<td>%s</td>", t->met ? "met" : "missed");
		html(out, "<td>", t->cell, "</td></tr>\n");
	}
	fputs("</tbody></table>\n", out);
}

static void base64(const char *data, FILE *out)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = strlen(data);

	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned char)data[i] << 16;

		v |= i + 1 < n ? (unsigned)(unsigned char)data[i + 1] << 8 : 0;
		v |= i + 2 < n ? (unsigned char)data[i + 2] : 0;
		fputc(letters[v >> 18], out);
		fputc(letters[v >> 12 & 63], out);
		fputc(i + 1 < n ? letters[v >> 6 & 63] : '=', out);
		fputc(i + 2 < n ? letters[v & 63] : '=', out);
	}
}

static void html_plots(const struct gp_page_plots *plots, FILE *out)
{
	fputs("<h2>Plots</h2>\n", out);
	if (plots->missing)
		html(out, "<p>", plots->missing, "</p>\n");
	else
		fprintf(out,
			"<p class=\"small\">At most %d lines each; all figures are in the "
			"tables.</p>\n",
			LINES_MAX);
	for (int i = 0; i < GP_PLOTS; i++) {
		if (!plots->svg[i])
			continue;
		html(out, "<h3>", gp_plot_title((enum gp_plot)i), "</h3>\n");
		html(out, "<img alt=\"", gp_plot_title((enum gp_plot)i),
		     "\" src=\"data:image/svg+xml;base64,");
		base64(plots->svg[i], out);
		fputs("\" />\n", out);
	}
}

static void html_facts(const struct gp_cell *cell, FILE *out)
{
	static const char *const words[] = {[GP_SUPPORT_UNKNOWN] = "unknown",
					    [GP_SUPPORT_YES] = "for",
					    [GP_SUPPORT_NO] = "against"};

	if (!cell->facts.n)
		return;
	fputs("<table class=\"facts\"><thead><tr><th>fact</th><th>side</th><th>speaks</th>"
	      "<th>value</th><th>source</th></tr></thead><tbody>\n",
	      out);
	for (int i = 0; i < cell->facts.n; i++) {
		const struct gp_fact *f = &cell->facts.fact[i];

		html(out, "<tr><td>", f->name, "</td>");
		fprintf(out, "<td>%s</td><td>%s</td>", gp_side_name(f->side), words[f->supports]);
		html(out, "<td>", f->value, "</td>");
		html(out, "<td>", f->source, "</td></tr>\n");
	}
	fputs("</tbody></table>\n", out);
}

static void html_evidence(const struct gp_record *record, FILE *out)
{
	char text[400];

	fputs("<h2>Evidence</h2>\n", out);
	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];

		html(out, "<h3>", gp_cell_id(cell, text, sizeof(text)),
		     "</h3>\n<p class=\"small\">");
		html(out, gp_verdict_name(cell->verdict), cell->reason[0] ? ": " : "", "");
		html(out, "", cell->reason, ". ");
		fprintf(out, "%" PRIu64 " bytes checked, %" PRIu64 " wrong.", cell->checked_bytes,
			cell->wrong_bytes);
		for (int r = 0; r < cell->n_rounds; r++)
			fprintf(out, "%s<span class=\"round\">%.9g</span>",
				r ? ", " : " Rounds, GB/s: ", cell->rounds[r].gbytes_per_s);
		fputs("</p>\n", out);
		html_facts(cell, out);
	}
}

/* Every leaf of an object, as dotted names: what describes a host grows with the versions. */
static void html_leaves(const json_t *json, const char *prefix, int depth, FILE *out)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)json, key, value) {
		char name[200], *text;

		snprintf(name, sizeof(name), "%s%s%.60s", prefix, prefix[0] ? "." : "", key);
		if (json_is_object(value) && depth < 4) {
			html_leaves(value, name, depth + 1, out);
			continue;
		}
		html(out, "<tr><td>", name, "</td>");
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		html(out, "<td>",
		     json_is_string(value) ? json_string_value(value)
		     : json_is_null(value) ? "not known"
		     : text		   ? text
					   : "",
		     "</td></tr>\n");
		free(text);
	}
}

static void html_host(const char *title, const json_t *json, FILE *out)
{
	fprintf(out, "<h3>%s</h3>\n", title);
	if (!json_object_size(json)) {
		fputs("<p>nothing is known of it</p>\n", out);
		return;
	}
	fputs("<table class=\"host\"><tbody>\n", out);
	html_leaves(json, "", 0, out);
	fputs("</tbody></table>\n", out);
}

static void html_record(const struct gp_record *record, const struct gp_page_plots *plots,
			const char *name, FILE *out)
{
	char command[4096];

	html(out, "<h2>Result: ", name, "</h2>\n");
	html(out, "<p class=\"small\">Started ", record->started, ", ");
	html(out, "", record->tool, ".</p>\n");
	html_table(record, out);
	html_thresholds(record, out);
	html_plots(plots, out);
	html_evidence(record, out);
	fputs("<h2>Hosts</h2>\n", out);
	html_host("Client", record->client, out);
	html_host("Server", record->server, out);
	html_host("Connection", record->connection, out);
	bw_command(record, command, sizeof(command));
	html(out, "<h2>To repeat it</h2>\n<pre>server$ gdrproof serve\nclient$ ", command,
	     "</pre>\n");
}

void gp_page_html(const struct gp_record *records, const struct gp_page_plots *plots,
		  const char *const *names, int n, FILE *out)
{
	char sentence[1024];

	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\" />\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
	      "<title>gdrproof report</title>\n<style>\n",
	      out);
	fputs(style, out);
	fputs("</style></head><body>\n<h1>GPUDirect RDMA: what was measured, and by which "
	      "path</h1>\n",
	      out);
	for (int i = 0; i < n; i++) {
		const char *word = decision(&records[i], sentence, sizeof(sentence));

		fprintf(out, "<div class=\"decision %s\"><strong>%s</strong>: ",
			records[i].error.set	    ? "bad"
			: strchr(word, ',') == NULL ? "good"
						    : "open",
			word);
		gp_page_text(sentence, out);
		html(out, ". <span class=\"small\">", names[i], "</span></div>\n");
	}
	for (int i = 0; i < n; i++)
		html_record(&records[i], &plots[i], names[i], out);
	fputs("</body></html>\n", out);
}

/* --- Markdown --- */

static void markdown_cell(const struct gp_cell *cell, FILE *out)
{
	char text[1600], size[32], rate[3][32], share[2][32];
	bool show = is_shown(cell);

	gp_rate_write(show ? cell->summary.median : NAN, rate[0], sizeof(rate[0]));
	gp_rate_write(show ? cell->summary.min : NAN, rate[1], sizeof(rate[1]));
	gp_rate_write(show ? cell->summary.max : NAN, rate[2], sizeof(rate[2]));
	share_text(show ? cell->of_limit : NAN, 100, " %", 0, share[0], sizeof(share[0]));
	share_text(show ? cell->vs_bounce : NAN, 1, "x", 2, share[1], sizeof(share[1]));
	fputs("| ", out);
	gp_page_markdown(cell->path, out);
	fputs(" | ", out);
	gp_page_markdown(cell->op[0] ? cell->op : "-", out);
	fprintf(out, " | %s | %s | %s | %s | %s | %s | %s | ",
		cell->size ? gp_size_write(cell->size, size, sizeof(size)) : "-", rate[0], rate[1],
		rate[2], share[0], share[1], gp_verdict_name(cell->verdict));
	gp_page_markdown(cell->placement, out);
	fputs(" | ", out);
	gp_page_markdown(remark(cell, text, sizeof(text)), out);
	fputs(" |\n", out);
}

void gp_page_markdown_records(const struct gp_record *records, const char *const *names, int n,
			      FILE *out)
{
	char text[4096];

	for (int i = 0; i < n; i++) {
		const char *word = decision(&records[i], text, sizeof(text));

		fputs("## ", out);
		gp_page_markdown(names[i], out);
		fprintf(out, "\n\n**%s**: ", word);
		gp_page_markdown(text, out);
		fputs("\n\n| path | op | size | GB/s | min | max | of limit | vs bounce | verdict "
		      "| "
		      "placement | remark |\n|---|---|---:|---:|---:|---:|---:|---:|---|---|---|\n",
		      out);
		for (int c = 0; c < records[i].n_cells; c++)
			markdown_cell(&records[i].cells[c], out);
		bw_command(&records[i], text, sizeof(text));
		fprintf(out, "\nTo repeat it:\n\n    server$ gdrproof serve\n    client$ %s\n\n",
			text);
	}
}

/* --- plots --- */

const char *gp_plot_title(enum gp_plot plot)
{
	static const char *const titles[GP_PLOTS] = {
		[GP_PLOT_SIZES] = "GB/s against message size",
		[GP_PLOT_ROUNDS] = "Rounds of the largest size, in the order they were taken",
		[GP_PLOT_PLACEMENTS] = "By placement",
	};

	return titles[plot];
}

/* Gnuplot reads its scripts as a language: only what can't be one gets in. */
static void plot_word(const char *text, FILE *out)
{
	for (; *text; text++)
		fputc(isalnum((unsigned char)*text) || strchr("_+-.:", *text) ? *text : '_', out);
}

static void plot_label(const struct gp_cell *cell, bool size, bool placement, FILE *out)
{
	char bytes[32];

	plot_word(cell->path, out);
	fputc(' ', out);
	plot_word(cell->op, out);
	fputs(cell->two_way ? "+" : "", out);
	if (size)
		fprintf(out, " %s", gp_size_write(cell->size, bytes, sizeof(bytes)));
	if (placement) {
		fputc(' ', out);
		plot_word(cell->placement, out);
	}
}

/* Cells that belong on one line of the plot. */
static bool same_line(enum gp_plot plot, const struct gp_cell *a, const struct gp_cell *b)
{
	if (plot == GP_PLOT_ROUNDS)
		return a == b;
	if (plot == GP_PLOT_PLACEMENTS)
		return strcmp(a->placement, b->placement) == 0;
	return strcmp(a->path, b->path) == 0 && strcmp(a->op, b->op) == 0 &&
	       strcmp(a->placement, b->placement) == 0 && strcmp(a->nic, b->nic) == 0 &&
	       strcmp(a->gpu, b->gpu) == 0 && a->qps == b->qps;
}

/* The rounds of one size are enough to see whether the figures stood still: the largest. */
static int find_lines(enum gp_plot plot, const struct gp_record *record, int *first)
{
	uint64_t largest = 0;
	int n = 0;

	for (int i = 0; i < record->n_cells; i++)
		if (record->cells[i].size > largest && is_shown(&record->cells[i]))
			largest = record->cells[i].size;
	for (int i = 0; i < record->n_cells && n < LINES_MAX; i++) {
		bool known = !is_shown(&record->cells[i]) ||
			     (plot == GP_PLOT_ROUNDS && record->cells[i].size != largest);

		for (int j = 0; j < n && !known; j++)
			known = same_line(plot, &record->cells[first[j]], &record->cells[i]);
		if (!known)
			first[n++] = i;
	}
	return n;
}

static int points_of(enum gp_plot plot, const struct gp_record *record, int first, FILE *out)
{
	const struct gp_cell *line = &record->cells[first];
	int n = 0;

	for (int i = 0; plot == GP_PLOT_ROUNDS && i < line->n_rounds; i++, n++)
		if (out)
			fprintf(out, "%d %.9g\n", i + 1, line->rounds[i].gbytes_per_s);
	for (int i = 0; plot != GP_PLOT_ROUNDS && i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];

		if (!is_shown(cell) || !same_line(plot, line, cell))
			continue;
		n++;
		if (!out)
			continue;
		if (plot == GP_PLOT_SIZES) {
			fprintf(out, "%" PRIu64 " %.9g %.9g %.9g\n", cell->size,
				cell->summary.median, cell->summary.min, cell->summary.max);
			continue;
		}
		fputc('"', out);
		plot_label(cell, true, false, out);
		fprintf(out, "\" %.9g\n", cell->summary.median);
	}
	return n;
}

static void plot_head(enum gp_plot plot, const struct gp_record *record, FILE *out)
{
	static const char *const extra[GP_PLOTS] = {
		[GP_PLOT_SIZES] = "set logscale x 2\nset format x '%.0b%BB'\n"
				  "set xlabel 'message size'\n",
		[GP_PLOT_ROUNDS] = "set xlabel 'round'\nset xtics 1\n",
		[GP_PLOT_PLACEMENTS] = "set style data histogram\nset style histogram clustered\n"
				       "set style fill solid 0.8\nset xtics rotate by -30\n",
	};
	static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
					      "#e69f00", "#56b4e9", "#555555", "#7a5195"};

	fputs("set terminal svg size 900,420 noenhanced font 'sans-serif,13' background '#ffffff'\n"
	      "set encoding utf8\nset ylabel 'GB/s'\nset yrange [0:*]\nset grid ytics lc "
	      "'#dddddd'\n"
	      "set key outside right top\nset border 3\nset tics nomirror\n",
	      out);
	fputs(extra[plot], out);
	for (int i = 0; i < LINES_MAX; i++)
		fprintf(out, "set linetype %d lc rgb '%s' lw 2 dt %d\n", i + 1, colours[i % 8],
			i < 8 ? 1 : 2);
	if (plot != GP_PLOT_PLACEMENTS && isfinite(record->limit.gbytes_per_s))
		fprintf(out, "limit = %.9g\n", record->limit.gbytes_per_s);
}

static void plot_lines(enum gp_plot plot, const struct gp_record *record, const int *first, int n,
		       FILE *out)
{
	static const char *const with[GP_PLOTS] = {
		[GP_PLOT_SIZES] = "using 1:2 with linespoints pt 7 ps 0.5",
		[GP_PLOT_ROUNDS] = "using 1:2 with linespoints pt 7 ps 0.5",
		[GP_PLOT_PLACEMENTS] = "using 2:xtic(1)",
	};

	for (int i = 0; i < n; i++) {
		fprintf(out, "$d%d << EOD\n", i);
		points_of(plot, record, first[i], out);
		fputs("EOD\n", out);
	}
	fputs("plot ", out);
	for (int i = 0; i < n; i++) {
		fprintf(out, "%s$d%d %s title '", i ? ", " : "", i, with[plot]);
		if (plot == GP_PLOT_PLACEMENTS)
			plot_word(record->cells[first[i]].placement, out);
		else
			plot_label(&record->cells[first[i]], plot == GP_PLOT_ROUNDS, true, out);
		fputc('\'', out);
	}
	if (plot != GP_PLOT_PLACEMENTS && isfinite(record->limit.gbytes_per_s))
		fputs(", limit with lines dt 2 lc rgb '#000000' title 'limit'", out);
	fputc('\n', out);
}

bool gp_plot_script(enum gp_plot plot, const struct gp_record *record, FILE *out)
{
	int first[LINES_MAX], n = find_lines(plot, record, first), most = 0;

	for (int i = 0; i < n; i++) {
		int points = points_of(plot, record, first[i], NULL);

		most = points > most ? points : most;
	}
	if (n == 0 || (plot == GP_PLOT_PLACEMENTS ? n < 2 : most < 2))
		return false;
	plot_head(plot, record, out);
	plot_lines(plot, record, first, n, out);
	return true;
}
