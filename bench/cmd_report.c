/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_report: `gdrproof report`. Reads the records, has gnuplot draw (without it the page says what
 * is missing), and writes the page, Markdown or text. What the page says is page's.
 */
#include "command.h"
#include "page.h"
#include "record_read.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORDS_MAX 64
#define SVG_MAX	    (8 * 1024 * 1024)

extern char **environ;

struct report_options {
	char output[512], markdown[512], text[512];
};

#define AT(member) offsetof(struct report_options, member)

static const struct gp_option rows[] = {
	{"output", 'o', GP_OPT_TEXT, AT(output), 0, 511, NULL, NULL, NULL, "FILE",
	 "write the page, HTML that needs nothing else; -: to standard output", 0},
	{"markdown", 0, GP_OPT_TEXT, AT(markdown), 0, 511, NULL, NULL, NULL, "FILE",
	 "write it as Markdown; - likewise", 0},
	{"text", 0, GP_OPT_TEXT, AT(text), 0, 511, NULL, NULL, NULL, "FILE",
	 "write the table with all evidence; - likewise, and the default", 0},
	{.name = NULL},
};

static const struct gp_option_table table = {
	.command = "report",
	.arguments = "RECORD...",
	.summary = "the page to hand over: decision, table, plots, evidence, hosts, commands",
	.details = "RECORD is written by `gdrproof bw --json`. Plots are drawn by gnuplot, where "
		   "it is installed.\n",
	.rows = rows,
};

struct report {
	struct gp_record records[RECORDS_MAX];
	struct gp_page_plots plots[RECORDS_MAX];
	const char *names[RECORDS_MAX];
	int n;
};

/* --- gnuplot --- */

/* All of fd as a text, at most SVG_MAX; NULL where there is more, or nothing. */
static char *read_all(int fd)
{
	char *text = NULL;
	size_t used = 0;
	ssize_t got;

	do {
		char *more = realloc(text, used + 65537);

		if (!more || used > SVG_MAX) {
			free(more ? more : text);
			return NULL;
		}
		text = more;
		do
			got = read(fd, text + used, 65536);
		while (got < 0 && errno == EINTR);
		used += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	text[used] = '\0';
	if (used > 0 && got == 0)
		return text;
	free(text);
	return NULL;
}

static int spawn_gnuplot(int script, int out, pid_t *pid)
{
	char *argv[] = {(char *)"gnuplot", NULL};
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* What gnuplot makes of the script in `script`; NULL where it is not there or fails. */
static char *draw(int script)
{
	int ends[2], status = -1, rc;
	char *svg = NULL;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	rc = spawn_gnuplot(script, ends[1], &pid);
	close(ends[1]);
	if (rc == 0) {
		svg = read_all(ends[0]);
		close(ends[0]);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	} else {
		close(ends[0]);
	}
	if (svg && (status != 0 || !strstr(svg, "</svg>"))) {
		free(svg);
		svg = NULL;
	}
	return svg;
}

/* 1: drawn, 0: nothing to draw, -1: could not be drawn. */
static int make_plot(enum gp_plot plot, const struct gp_record *record, char **svg)
{
	int fd = memfd_create("plot", MFD_CLOEXEC), rc = 0;
	FILE *script = fd < 0 ? NULL : fdopen(fd, "w+");

	if (!script) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (gp_plot_script(plot, record, script)) {
		fflush(script);
		rewind(script);
		lseek(fd, 0, SEEK_SET);
		*svg = draw(fd);
		rc = *svg ? 1 : -1;
	}
	fclose(script);
	return rc;
}

static void make_plots(struct report *report)
{
	int failed = 0;

	for (int i = 0; i < report->n; i++) {
		struct gp_page_plots *plots = &report->plots[i];
		int drawn = 0, missing = 0;

		for (int p = 0; p < GP_PLOTS; p++) {
			int rc = make_plot((enum gp_plot)p, &report->records[i], &plots->svg[p]);

			drawn += rc > 0;
			missing += rc < 0;
		}
		failed += missing;
		if (missing)
			plots->missing = "Not drawn: gnuplot is not installed, or it failed.";
		else if (!drawn)
			plots->missing = "Nothing to draw: one round, one size, one placement.";
	}
	if (failed)
		fprintf(stderr, "gdrproof: the page has no plots: gnuplot is not installed or "
				"failed; apt install gnuplot-nox\n");
}

/* --- doing --- */

static int write_page(struct report *r, const char *file, struct gp_error *err)
{
	FILE *out;

	if (!file[0])
		return 0;
	make_plots(r);
	out = gp_page_open(file, err);
	if (!out)
		return -1;
	gp_page_html(r->records, r->plots, r->names, r->n, out);
	return gp_page_close(out, file, err);
}

static int write_markdown(struct report *r, const char *file, struct gp_error *err)
{
	FILE *out = file[0] ? gp_page_open(file, err) : NULL;

	if (!out)
		return err->set ? -1 : 0;
	gp_page_markdown_records(r->records, r->names, r->n, out);
	return gp_page_close(out, file, err);
}

static int write_text(struct report *r, const char *file, struct gp_error *err)
{
	FILE *out = file[0] ? gp_page_open(file, err) : NULL;

	if (!out)
		return err->set ? -1 : 0;
	for (int i = 0; i < r->n; i++) {
		fprintf(out, "%s%s\n\n", i ? "\n\n" : "", r->names[i]);
		gp_table_print(&r->records[i], true, out);
	}
	return gp_page_close(out, file, err);
}

static int check_usage(struct report_options *opt, int n, struct gp_error *err)
{
	int to_stdout = (strcmp(opt->output, "-") == 0) + (strcmp(opt->markdown, "-") == 0) +
			(strcmp(opt->text, "-") == 0);

	if (n == 0)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "report needs RECORD, written by bw --json");
	if (to_stdout > 1)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "only one of --output, --markdown, --text can go to standard "
				    "output");
	if (!opt->output[0] && !opt->markdown[0] && !opt->text[0])
		strcpy(opt->text, "-");
	return 0;
}

static int read_records(struct report *r, int n, struct gp_error *err)
{
	for (; r->n < n; r->n++)
		if (gp_record_read(r->names[r->n], &r->records[r->n], err) < 0)
			return -1;
	return 0;
}

static void report_free(struct report *r)
{
	for (int i = 0; i < r->n; i++) {
		gp_record_free(&r->records[i]);
		for (int p = 0; p < GP_PLOTS; p++)
			free(r->plots[i].svg[p]);
	}
	free(r);
}

static int run(int argc, char **argv, struct gp_error *err)
{
	struct report *r = calloc(1, sizeof(*r));
	struct report_options opt = {.output = ""};
	int n = 0;

	if (!r)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory");
	gp_options_default(&table, &opt);
	if (gp_options_parse(&table, argc, argv, &opt, NULL, r->names, RECORDS_MAX, &n, err) == 0 &&
	    check_usage(&opt, n, err) == 0 && read_records(r, n, err) == 0 &&
	    write_page(r, opt.output, err) == 0 && write_markdown(r, opt.markdown, err) == 0)
		write_text(r, opt.text, err);
	report_free(r);
	return err->set ? (int)err->exit_code : GP_EXIT_OK;
}

const struct gp_command gp_cmd_report = {.options = &table, .run = run};
