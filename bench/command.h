/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * command: what main knows of a subcommand. One file cmd_NAME.c each.
 */
#ifndef GP_COMMAND_H
#define GP_COMMAND_H

#include "err.h"
#include "options.h"

struct gp_command {
	const struct gp_option_table *options; /* name, summary, --help, manual */
	/*
	 * Run with argv[0] the command's name; --help is dealt with before. Returns the exit code.
	 * Where `err` is set on return, main prints it as the one error line and exits with
	 * err->exit_code instead. Results go to standard output, talk to standard error.
	 */
	int (*run)(int argc, char **argv, struct gp_error *err);
};

extern const struct gp_command gp_cmd_serve, gp_cmd_bw, gp_cmd_path, gp_cmd_topo, gp_cmd_compare,
	gp_cmd_report;

#endif
