/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_compare: `gdrproof compare`. Options, reading the records, and the four forms of the answer:
 * table, JSON, Markdown, JUnit. What is compared with what, and the verdicts, are compare's.
 */
#include "command.h"
#include "compare.h"
#include "page.h"
#include "record_read.h"
#include "units.h"
#include "version.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct compare_options {
	struct gp_text_list base, new;
	char a[512], b[512];
	double min_effect_percent, confidence_percent;
	bool gate, force;
	char json[512], markdown[512], junit[512];
};

#define AT(member) offsetof(struct compare_options, member)

static const struct gp_option rows[] = {
	{"base", 0, GP_OPT_TEXTS, AT(base), 0, 0, NULL, NULL, NULL, "SRC",
	 "a further record, or directory of records, of the base side; may be repeated", 0},
	{"new", 0, GP_OPT_TEXTS, AT(new), 0, 0, NULL, NULL, NULL, "SRC", "the same of the new side",
	 0},
	{"a", 0, GP_OPT_TEXT, AT(a), 0, 511, NULL, NULL, NULL, "NAME=VALUE,...",
	 "base side: only cells with these values, such as path=dmabuf", 0},
	{"b", 0, GP_OPT_TEXT, AT(b), 0, 511, NULL, NULL, NULL, "NAME=VALUE,...",
	 "new side: the same; with --a and BASE alone, two cells of one run are compared", 0},
	{"min-effect", 0, GP_OPT_REAL, AT(min_effect_percent), 0.01, 1000, NULL, NULL, "2", "PCT",
	 "the least change that counts, in per cent", 0},
	{"confidence", 0, GP_OPT_REAL, AT(confidence_percent), 50, 99.9, NULL, NULL, "95", "PCT",
	 "of the interval, in per cent", 0},
	{"gate", 0, GP_OPT_FLAG, AT(gate), 0, 0, NULL, NULL, NULL, NULL,
	 "exit 3 where a cell is worse or has vanished", 0},
	{"force", 0, GP_OPT_FLAG, AT(force), 0, 0, NULL, NULL, NULL, NULL,
	 "compare also what is not comparable; what differs is listed", 0},
	{"json", 0, GP_OPT_TEXT, AT(json), 0, 511, NULL, NULL, NULL, "FILE",
	 "write the comparison; -: to standard output, and the table goes to standard error", 0},
	{"markdown", 0, GP_OPT_TEXT, AT(markdown), 0, 511, NULL, NULL, NULL, "FILE",
	 "write a page in Markdown; - likewise", 0},
	{"junit", 0, GP_OPT_TEXT, AT(junit), 0, 511, NULL, NULL, NULL, "FILE",
	 "write a JUnit report, a test case per cell; - likewise", 0},
	{.name = NULL},
};

static const struct gp_option_table table = {
	.command = "compare",
	.arguments = "BASE [NEW]",
	.summary = "is B different from A: verdict per cell, regression gate",
	.details =
		"BASE and NEW are records of `gdrproof bw --json`, or directories of them "
		"(*.json).\n"
		"Cells with the same id are compared. One BASE with --a and --b compares cells of\n"
		"the same run, round by round: gdrproof compare run.json --a path=peermem --b "
		"path=dmabuf\n\n"
		"  same     the whole interval is within the least effect\n"
		"  better   the interval leaves out no change, and the ratio is the least effect "
		"or "
		"more\n"
		"  worse    likewise\n"
		"  unclear  none of these; how many more rounds would probably settle it is said\n",
	.rows = rows,
};

/* --- reading --- */

/* The sides being read; where both are one, only the base side's sources are. */
struct reading {
	struct gp_compare *compare;
	enum gp_compare_side side;
	char first[2][200]; /* the first record of each side, for people */
};

static int add_file(struct reading *r, const char *file, struct gp_error *err)
{
	struct gp_record record;
	char *first = r->first[r->side];
	int rc;

	if (gp_record_read_figures(file, &record, err) < 0)
		return -1;
	if (!first[0])
		snprintf(first, sizeof(r->first[0]), "%s", file);
	rc = gp_compare_add(r->compare, r->side, file, &record, err);
	gp_record_free(&record);
	return rc;
}

static int is_json(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

static int add_directory(struct reading *r, const char *dir, struct gp_error *err)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, is_json, alphasort), rc = 0;
	char path[4400];

	if (n < 0)
		return gp_error_errno(err, GP_EXIT_USAGE, errno, "scandir", "%s", dir);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
		if (rc == 0)
			rc = add_file(r, path, err);
		free(list[i]);
	}
	free(list);
	if (n == 0)
		rc = gp_error_set(err, GP_EXIT_USAGE, "%s: no *.json in this directory", dir);
	return rc;
}

static int add_source(struct reading *r, const char *name, struct gp_error *err)
{
	struct stat st;

	if (stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return add_directory(r, name, err);
	return add_file(r, name, err);
}

static int add_side(struct reading *r, enum gp_compare_side side, const char *word,
		    const struct gp_text_list *more, struct gp_error *err)
{
	r->side = side;
	if (word && add_source(r, word, err) < 0)
		return -1;
	for (int i = 0; i < more->n; i++)
		if (add_source(r, more->text[i], err) < 0)
			return -1;
	return 0;
}

/* --- table --- */

static const char *const side_names[] = {"base", "new"};

static void share_text(double ratio, char *buf, size_t size)
{
	if (isfinite(ratio))
		snprintf(buf, size, "%+.1f %%", (ratio - 1) * 100);
	else
		snprintf(buf, size, "-");
}

static void interval_text(const struct gp_ab *ab, char *buf, size_t size)
{
	if (isfinite(ab->lo))
		snprintf(buf, size, "[%+.1f  %+.1f]", (ab->lo - 1) * 100, (ab->hi - 1) * 100);
	else
		snprintf(buf, size, "-");
}

static void counts_text(const struct gp_comparison *c, char *buf, size_t size)
{
	snprintf(buf, size, "%d worse, %d better, %d same, %d unclear, %d vanished, %d new",
		 c->count[GP_AB_WORSE], c->count[GP_AB_BETTER], c->count[GP_AB_SAME],
		 c->count[GP_AB_UNCLEAR], c->vanished, c->added);
}

static void more_text(const struct gp_compare_row *row, char *buf, size_t size)
{
	const char *unit = row->by_record ? "record" : "round";

	buf[0] = '\0';
	if (row->ab.more > 0)
		snprintf(buf, size, "%d more %s%s a side would probably settle it", row->ab.more,
			 unit, row->ab.more == 1 ? "" : "s");
	else if (row->ab.more < 0)
		snprintf(buf, size, "over %d more %ss would be needed", GP_ROUNDS_MAX, unit);
}

static void row_print(const struct gp_compare_row *row, int width, FILE *out)
{
	char base[32], new[32], change[32], interval[64], more[100];
	bool pair = row->kind == GP_ROW_COMPARED;

	share_text(pair ? row->ab.ratio : NAN, change, sizeof(change));
	interval_text(&row->ab, interval, sizeof(interval));
	more_text(row, more, sizeof(more));
	fprintf(out,
		more[0] || row->note[0] ? "%-*s  %8s  %8s  %8s  %-16s  %-8s"
					: "%-*s  %8s  %8s  %8s  %-16s  %s",
		width, row->id, gp_rate_write(row->median[0], base, sizeof(base)),
		gp_rate_write(row->median[1], new, sizeof(new)), change, interval,
		gp_compare_word(row));
	fprintf(out, "%s%s%s%s\n", more[0] || row->note[0] ? "  " : "", more,
		more[0] && row->note[0] ? "; " : "", row->note);
}

static void differences_print(const struct gp_comparison *c, FILE *out)
{
	for (int i = 0; i < c->n_differences; i++)
		fprintf(out, "differs  %s: '%s', '%s'%s\n", c->differences[i].what,
			c->differences[i].base, c->differences[i].new,
			c->differences[i].refuses ? "  (forced)" : "");
}

static void sides_print(const struct gp_comparison *c, const struct reading *r, bool within,
			FILE *out)
{
	for (int side = 0; side < (within ? 1 : 2); side++)
		fprintf(out, "%-7s  %d record%s: %s%s\n", within ? "records" : side_names[side],
			c->records[side], c->records[side] == 1 ? "" : "s", r->first[side],
			c->records[side] > 1 ? ", ..." : "");
}

static void table_print(const struct gp_comparison *c, const struct reading *r,
			const struct compare_options *opt, bool within, FILE *out)
{
	char counts[120], header[32];
	int width = 4;

	for (int i = 0; i < c->n_rows; i++)
		if ((int)strlen(c->rows[i].id) > width)
			width = (int)strlen(c->rows[i].id);
	sides_print(c, r, within, out);
	differences_print(c, out);
	snprintf(header, sizeof(header), "[%g %%]", opt->confidence_percent);
	fprintf(out, "\n%-*s  %8s  %8s  %8s  %-16s  verdict\n", width, "cell", "base", "new",
		"change", header);
	for (int i = 0; i < c->n_rows; i++)
		row_print(&c->rows[i], width, out);
	counts_text(c, counts, sizeof(counts));
	fprintf(out, "\n%s; least effect %g %%\n", counts, opt->min_effect_percent);
}

/* --- JSON --- */

static json_t *real_or_null(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

/* What was typed need not be UTF-8. */
static json_t *typed(const char *text)
{
	char copy[600];

	snprintf(copy, sizeof(copy), "%s", text);
	gp_text_clean(copy);
	return json_string(copy);
}

static json_t *row_side_json(const struct gp_compare_row *row, int side)
{
	return json_pack("{s:o s:i s:i s:s}", "median", real_or_null(row->median[side]), "records",
			 row->records[side], "values", side ? row->ab.n_b : row->ab.n_a, "evidence",
			 gp_verdict_name(row->evidence[side]));
}

static json_t *row_json(const struct gp_compare_row *row)
{
	const struct gp_ab *ab = &row->ab;
	json_t *more = ab->more == 0  ? json_null()
		       : ab->more > 0 ? json_integer(ab->more)
				      : json_string("over 1000");

	return json_pack("{s:s s:s s:o s:o s:s s:o s:o s:o s:s}", "id", row->id, "verdict",
			 gp_compare_word(row), "ratio",
			 real_or_null(row->kind == GP_ROW_COMPARED ? ab->ratio : NAN), "interval",
			 isfinite(ab->lo) ? json_pack("[f f]", ab->lo, ab->hi) : json_null(),
			 "unit", row->by_record ? "record" : "round", "base", row_side_json(row, 0),
			 "new", row_side_json(row, 1), "more", more, "note", row->note);
}

static json_t *comparison_json(const struct gp_comparison *c, const struct reading *r,
			       const struct compare_options *opt, bool within, int exit_code,
			       const struct gp_error *err)
{
	json_t *list = json_array(), *differences = json_array(), *error = gp_error_to_json(err);
	const char *pick[] = {opt->a, opt->b};
	char tool[80];

	for (int i = 0; i < c->n_rows; i++)
		json_array_append_new(list, row_json(&c->rows[i]));
	for (int i = 0; i < c->n_differences; i++) {
		const struct gp_difference *d = &c->differences[i];

		json_array_append_new(differences, json_pack("{s:s s:s s:s s:b}", "what", d->what,
							     "base", d->base, "new", d->new,
							     "refuses", (int)d->refuses));
	}
	snprintf(tool, sizeof(tool), "gdrproof %s", gp_version);
	json_t *json = json_pack("{s:s s:s s:f s:f s:b}", "schema", "gdrproof/compare/1", "tool",
				 tool, "min_effect", opt->min_effect_percent / 100, "confidence",
				 opt->confidence_percent / 100, "paired", (int)within);

	for (int side = 0; side < 2; side++)
		json_object_set_new(json, side_names[side],
				    json_pack("{s:i s:o s:o}", "records", c->records[side], "first",
					      typed(r->first[within ? 0 : side]), "selection",
					      typed(pick[side])));
	json_object_set_new(json, "differences", differences);
	json_object_set_new(json, "rows", list);
	json_object_set_new(json, "counts",
			    json_pack("{s:i s:i s:i s:i s:i s:i}", "same", c->count[GP_AB_SAME],
				      "better", c->count[GP_AB_BETTER], "worse",
				      c->count[GP_AB_WORSE], "unclear", c->count[GP_AB_UNCLEAR],
				      "vanished", c->vanished, "new", c->added));
	json_object_set_new(json, "gate",
			    opt->gate && !err->set
				    ? json_string(gp_compare_passes(c) ? "passed" : "failed")
				    : json_null());
	json_object_set_new(json, "error", error ? error : json_null());
	json_object_set_new(json, "exit_code", json_integer(exit_code));
	return json;
}

/* --- Markdown --- */

static void markdown_row(const struct gp_compare_row *row, FILE *out)
{
	char base[32], new[32], change[32], interval[64], more[100];

	share_text(row->kind == GP_ROW_COMPARED ? row->ab.ratio : NAN, change, sizeof(change));
	interval_text(&row->ab, interval, sizeof(interval));
	more_text(row, more, sizeof(more));
	fputs("| ", out);
	gp_page_markdown(row->id, out);
	fprintf(out, " | %s | %s | %s | %s | %s | %s%s",
		gp_rate_write(row->median[0], base, sizeof(base)),
		gp_rate_write(row->median[1], new, sizeof(new)), change, interval,
		gp_compare_word(row), more, more[0] && row->note[0] ? "; " : "");
	gp_page_markdown(row->note, out);
	fputs(" |\n", out);
}

static void markdown_print(const struct gp_comparison *c, const struct compare_options *opt,
			   FILE *out)
{
	char counts[120];

	counts_text(c, counts, sizeof(counts));
	fprintf(out, "## gdrproof compare: %s\n\n%s\n\n",
		gp_compare_passes(c) ? "no regression" : "regression", counts);
	for (int i = 0; i < c->n_differences; i++) {
		fprintf(out, "- differs: %s: ", c->differences[i].what);
		gp_page_markdown(c->differences[i].base, out);
		fputs(", ", out);
		gp_page_markdown(c->differences[i].new, out);
		fputc('\n', out);
	}
	fprintf(out,
		"\n| cell | base GB/s | new GB/s | change | %g %% interval | verdict | note |\n"
		"|---|---:|---:|---:|---|---|---|\n",
		opt->confidence_percent);
	for (int i = 0; i < c->n_rows; i++)
		markdown_row(&c->rows[i], out);
}

/* --- JUnit --- */

/* What a row is to a CI system: nothing to say, skipped, failed. */
static const char *junit_element(const struct gp_compare_row *row)
{
	if (row->kind == GP_ROW_VANISHED ||
	    (row->kind == GP_ROW_COMPARED && row->ab.verdict == GP_AB_WORSE))
		return "failure";
	if (row->kind == GP_ROW_NEW || row->ab.verdict == GP_AB_UNCLEAR)
		return "skipped";
	return NULL;
}

static void junit_case(const struct gp_compare_row *row, double confidence, FILE *out)
{
	const char *element = junit_element(row);
	char sentence[1000];

	gp_compare_sentence(row, confidence, sentence, sizeof(sentence));
	fputs("  <testcase classname=\"gdrproof.compare\" name=\"", out);
	gp_page_text(row->id, out);
	fputs("\">\n", out);
	if (element) {
		fprintf(out, "   <%s message=\"%s: ", element, gp_compare_word(row));
		gp_page_text(sentence, out);
		fputs("\"/>\n", out);
	}
	fputs("   <system-out>", out);
	gp_page_text(sentence, out);
	fputs("</system-out>\n  </testcase>\n", out);
}

static void junit_print(const struct gp_comparison *c, const struct compare_options *opt, FILE *out)
{
	int failures = c->count[GP_AB_WORSE] + c->vanished;
	int skipped = c->count[GP_AB_UNCLEAR] + c->added;

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
		" <testsuite name=\"gdrproof compare\" tests=\"%d\" failures=\"%d\" errors=\"0\" "
		"skipped=\"%d\">\n",
		c->n_rows, failures, skipped);
	for (int i = 0; i < c->n_rows; i++)
		junit_case(&c->rows[i], opt->confidence_percent / 100, out);
	fputs(" </testsuite>\n</testsuites>\n", out);
}

/* --- doing --- */

static int write_json(json_t *json, const char *file, struct gp_error *err)
{
	FILE *out = gp_page_open(file, err);

	if (!out)
		return -1;
	if (json_dumpf(json, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) < 0)
		gp_error_set(err, GP_EXIT_FAILED, "%s: could not be written", file);
	fputc('\n', out);
	return gp_page_close(out, file, err);
}

static int write_with(void (*print)(const struct gp_comparison *, const struct compare_options *,
				    FILE *),
		      const char *file, const struct gp_comparison *c,
		      const struct compare_options *opt, struct gp_error *err)
{
	FILE *out = file[0] ? gp_page_open(file, err) : NULL;

	if (!out)
		return err->set ? -1 : 0;
	print(c, opt, out);
	return gp_page_close(out, file, err);
}

static int check_usage(const struct compare_options *opt, int n_words, bool *within,
		       struct gp_error *err)
{
	int bases = opt->base.n + (n_words > 0), news = opt->new.n + (n_words > 1);
	int to_stdout = (strcmp(opt->json, "-") == 0) + (strcmp(opt->markdown, "-") == 0) +
			(strcmp(opt->junit, "-") == 0);

	*within = news == 0;
	if (bases == 0)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "compare needs BASE, a record of bw --json");
	if (*within && (!opt->a[0] || !opt->b[0]))
		return gp_error_set(err, GP_EXIT_USAGE,
				    "compare needs NEW too, or --a and --b to compare cells inside "
				    "BASE");
	if (*within && strcmp(opt->a, opt->b) == 0)
		return gp_error_set(err, GP_EXIT_USAGE, "--a and --b are the same");
	if (to_stdout > 1)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "only one of --json, --markdown, --junit can go to standard "
				    "output");
	return 0;
}

static int read_and_compare(struct reading *r, const struct compare_options *opt,
			    const char **words, bool within, struct gp_comparison *c,
			    struct gp_error *err)
{
	struct gp_compare_ask ask = {
		.ab = {opt->min_effect_percent / 100, opt->confidence_percent / 100},
		.within = within,
		.force = opt->force,
	};

	if (gp_selection_read(opt->a, &ask.pick[0], err) < 0 ||
	    gp_selection_read(opt->b, &ask.pick[1], err) < 0 ||
	    gp_compare_open(&ask, &r->compare, err) < 0 ||
	    add_side(r, GP_BASE, words[0], &opt->base, err) < 0 ||
	    add_side(r, GP_NEW, words[1], &opt->new, err) < 0)
		return -1;
	return gp_compare_finish(r->compare, c, err);
}

static int show(const struct gp_comparison *c, const struct reading *r,
		const struct compare_options *opt, bool within, struct gp_error *err)
{
	bool piped = strcmp(opt->json, "-") == 0 || strcmp(opt->markdown, "-") == 0 ||
		     strcmp(opt->junit, "-") == 0;

	table_print(c, r, opt, within, piped ? stderr : stdout);
	if (write_with(markdown_print, opt->markdown, c, opt, err) < 0)
		return -1;
	return write_with(junit_print, opt->junit, c, opt, err);
}

static int run(int argc, char **argv, struct gp_error *err)
{
	struct compare_options opt = {0};
	struct reading reading = {0};
	struct gp_comparison c = {0};
	const char *words[2] = {NULL, NULL};
	int n_words = 0, exit_code = GP_EXIT_OK;
	bool within = false;
	struct gp_error ignored = {0};

	gp_options_default(&table, &opt);
	if (gp_options_parse(&table, argc, argv, &opt, NULL, words, 2, &n_words, err) < 0 ||
	    check_usage(&opt, n_words, &within, err) < 0)
		return GP_EXIT_USAGE;
	if (read_and_compare(&reading, &opt, words, within, &c, err) == 0 &&
	    show(&c, &reading, &opt, within, err) == 0 && opt.gate && !gp_compare_passes(&c))
		exit_code = GP_EXIT_THRESHOLD;
	if (err->set)
		exit_code = (int)err->exit_code;
	if (opt.json[0]) {
		json_t *json = comparison_json(&c, &reading, &opt, within, exit_code, err);

		if (write_json(json, opt.json, err->set ? &ignored : err) < 0 && err->set)
			exit_code = (int)err->exit_code;
		json_decref(json);
	}
	gp_comparison_free(&c);
	gp_compare_close(reading.compare);
	return exit_code;
}

const struct gp_command gp_cmd_compare = {.options = &table, .run = run};
