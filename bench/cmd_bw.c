/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_bw: the active side: options in, a measurement, table and record out. */
#include "accept.h"
#include "bw_options.h"
#include "command.h"
#include "measure.h"
#include "stop.h"
#include "table.h"
#include "version.h"

#include <errno.h>
#include <string.h>

/* Table and record, to standard output unless the record goes there. */
static void show(const struct gp_bw_options *opt, const struct gp_record *record,
		 struct gp_error *err)
{
	FILE *out = strcmp(opt->json, "-") == 0 ? stderr : stdout;
	struct gp_error failed = {0};

	if (record->n_cells)
		gp_table_print(record, opt->verbose, out);
	if (opt->explain_bounce && !opt->verbose)
		gp_table_print_pipelines(record, out);
	if (opt->json[0] && gp_record_write(record, opt->json, &failed) < 0 && !err->set)
		*err = failed;
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

/* Options, the acceptance file that they name, and the server's HOST. */
static int read_options(int argc, char **argv, struct gp_bw_options *opt, struct gp_accept *accept,
			const char **host, struct gp_error *err)
{
	gp_option_mask given;
	int n_words;

	gp_options_default(&gp_bw_table, opt);
	if (gp_options_parse(&gp_bw_table, argc, argv, opt, &given, host, 1, &n_words, err) < 0) {
		find_json(argc, argv, opt);
		return -1;
	}
	if (n_words == 0) {
		gp_error_set(err, GP_EXIT_USAGE, "bw needs the server's HOST");
		gp_error_advise(err, "start `gdrproof serve` there; see gdrproof bw --help");
		return -1;
	}
	if (opt->accept[0] && (gp_accept_read(opt->accept, accept, err) < 0 ||
			       gp_accept_plan(accept, given, opt, err) < 0))
		return -1;
	return gp_bw_options_finish(opt, given, err) < 0 ? -1 : check_json(opt, err);
}

static int run_bw(int argc, char **argv, struct gp_error *err)
{
	struct gp_bw_options opt;
	struct gp_record record;
	struct gp_accept accept = {0};
	struct gp_plan plan;
	const char *host;
	int exit_code;

	gp_record_init(&record, gp_version);
	if (read_options(argc, argv, &opt, &accept, &host, err) == 0) {
		record.command = gp_options_to_json(&gp_bw_table, &opt, GP_OPT_RECORD);
		gp_plan_make(&opt, &plan);
		gp_stop_install();
		if (gp_measure(&opt, &plan, host, &record, err) == 0 &&
		    gp_accept_judge(&accept, &record, err) == 0)
			gp_plan_conclude(&opt, &plan, &record);
	}
	if (err->set)
		record.error = *err;
	*err = record.error;
	record.exit_code = err->set ? (int)err->exit_code : GP_EXIT_OK;
	show(&opt, &record, err);
	exit_code = record.exit_code;
	gp_record_free(&record);
	gp_accept_free(&accept);
	return exit_code;
}

const struct gp_command gp_cmd_bw = {.options = &gp_bw_table, .run = run_bw};
