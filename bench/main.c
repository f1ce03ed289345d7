/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main: dispatch to a command, print its error, exit. The array below is the table of contents.
 */
#include "command.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

static const struct gp_command *const commands[] = {
	&gp_cmd_serve, &gp_cmd_bw, &gp_cmd_path, &gp_cmd_topo, &gp_cmd_compare, &gp_cmd_report,
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* What is asked of the program itself. */
enum { OWN_VERSION, OWN_MANUAL, OWN_COMPLETION };

static const struct gp_option own_rows[] = {
	[OWN_VERSION] = {.name = "version", .help = "the version"},
	[OWN_MANUAL] = {.name = "manual",
			.type = GP_OPT_TEXT,
			.arg = "[COMMAND]",
			.help = "the manual page, of a command or of the program, in roff"},
	[OWN_COMPLETION] = {.name = "completion", .help = "the completion script for bash"},
	{.name = NULL},
};

static const struct gp_option_table own_table = {
	.command = "",
	.arguments = "COMMAND [options]",
	.summary = "proves GPUDirect RDMA throughput between two hosts",
	.details = "gdrproof prints GB/s beside the path that was really used, the evidence for "
		   "it, and\n"
		   "a host-bounce baseline. `gdrproof COMMAND --help` tells a command's options.",
	.rows = own_rows,
};

static const struct gp_command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->options->command, name) == 0)
			return commands[i];
	return NULL;
}

static bool is_option(const char *word, const struct gp_option *row)
{
	return strncmp(word, "--", 2) == 0 && strcmp(word + 2, row->name) == 0;
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (is_option(argv[i], &gp_option_help))
			return true;
	return false;
}

/* Results that did not reach their reader are a failure, unless one was told of already. */
static int flush_output(int exit_code)
{
	if ((fflush(stdout) == 0 && !ferror(stdout)) || exit_code)
		return exit_code;
	fprintf(stderr, "gdrproof: standard output could not be written\n");
	return GP_EXIT_FAILED;
}

/* The one error line. Returns the exit code that goes with it. */
static int print_error(const struct gp_error *err)
{
	char line[1200];

	fflush(stdout);
	fprintf(stderr, "gdrproof: %s\n", gp_error_line(err, line, sizeof(line)));
	return err->exit_code;
}

static int unknown_command(const char *name)
{
	struct gp_error err = {0};

	gp_error_set(&err, GP_EXIT_USAGE, "unknown command '%s'", name);
	gp_error_advise(&err, "see gdrproof --help");
	return print_error(&err);
}

static int print_manual(const struct gp_program *program, const char *name)
{
	const struct gp_command *command = name ? find(name) : NULL;

	if (name && !command)
		return unknown_command(name);
	gp_options_manual(program, command ? command->options : program->own, stdout);
	return flush_output(GP_EXIT_OK);
}

/* argv[1] is no command. */
static int run_own(const struct gp_program *program, int argc, char **argv)
{
	if (argc < 2) {
		gp_options_overview(program, stderr);
		return GP_EXIT_USAGE;
	}
	if (is_option(argv[1], &own_rows[OWN_MANUAL]))
		return print_manual(program, argc > 2 ? argv[2] : NULL);
	if (is_option(argv[1], &gp_option_help) || strcmp(argv[1], "help") == 0)
		gp_options_overview(program, stdout);
	else if (is_option(argv[1], &own_rows[OWN_VERSION]))
		printf("gdrproof %s\n", program->version);
	else if (is_option(argv[1], &own_rows[OWN_COMPLETION]))
		gp_options_completion(program, stdout);
	else
		return unknown_command(argv[1]);
	return flush_output(GP_EXIT_OK);
}

int main(int argc, char **argv)
{
	const struct gp_option_table *tables[N_COMMANDS + 1] = {NULL};
	const struct gp_program program = {&own_table, tables, gp_version};
	const struct gp_command *command = argc > 1 ? find(argv[1]) : NULL;
	struct gp_error err = {0};
	int exit_code;

	for (size_t i = 0; i < N_COMMANDS; i++)
		tables[i] = commands[i]->options;
	if (!command)
		return run_own(&program, argc, argv);
	if (wants_help(argc - 1, argv + 1)) {
		gp_options_help(command->options, stdout);
		return flush_output(GP_EXIT_OK);
	}
	exit_code = command->run(argc - 1, argv + 1, &err);
	if (err.set)
		exit_code = print_error(&err);
	return flush_output(exit_code);
}
