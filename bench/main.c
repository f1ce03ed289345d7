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

static void print_help(FILE *out)
{
	fprintf(out,
		"usage: gdrproof COMMAND [options]\n\n"
		"Proves GPUDirect RDMA throughput between two hosts: GB/s beside the path that "
		"was\n"
		"really used, the evidence for it, and a host-bounce baseline.\n\ncommands:\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->options->command,
			commands[i]->options->summary);
	fprintf(out, "\n`gdrproof COMMAND --help` tells the options; `gdrproof --version` the "
		     "version.\n");
}

static const struct gp_command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->options->command, name) == 0)
			return commands[i];
	return NULL;
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0)
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

int main(int argc, char **argv)
{
	const struct gp_command *command;
	struct gp_error err = {0};
	int exit_code;

	if (argc < 2) {
		print_help(stderr);
		return GP_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return flush_output(GP_EXIT_OK);
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("gdrproof %s\n", gp_version);
		return flush_output(GP_EXIT_OK);
	}
	command = find(argv[1]);
	if (!command) {
		gp_error_set(&err, GP_EXIT_USAGE, "unknown command '%s'", argv[1]);
		gp_error_advise(&err, "see gdrproof --help");
		return print_error(&err);
	}
	if (wants_help(argc - 1, argv + 1)) {
		gp_options_help(command->options, stdout);
		return flush_output(GP_EXIT_OK);
	}
	exit_code = command->run(argc - 1, argv + 1, &err);
	if (err.set)
		exit_code = print_error(&err);
	return flush_output(exit_code);
}
