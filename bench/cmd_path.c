/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_path: `gdrproof path`. Options, what is read for them, and where the results go. Reading is
 * in inventory*, judging in classify*, showing in classify_view.
 */
#include "classify_view.h"
#include "command.h"
#include "here.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct path_options {
	struct gp_text_list from, intent, nccl;
	char capture[4096];
	char json[4096];
	char markdown[4096];
	bool explain;
};

#define ROW(name, type, max, arg, help)                                                        \
	{                                                                                      \
#name, 0, type, offsetof(struct path_options, name), 0, max, NULL, NULL, NULL, \
			arg, help, 0                                                           \
	}

static const struct gp_option rows[] = {
	ROW(from, GP_OPT_TEXTS, 0, "SRC",
	    "a captured host in place of this one: a directory with a file per command or its "
	    "paths mirrored, or a pasted text with prompts (`-`: standard input); may be repeated "
	    "and may hold many nodes"),
	ROW(capture, GP_OPT_TEXT, 4095, "DIR",
	    "write what is read from this host to a new directory for --from, without serial "
	    "numbers, GUIDs, MAC and IP addresses"),
	ROW(intent, GP_OPT_TEXTS, 0, "FILE",
	    "what the cluster was told: helm values, ClusterPolicy, NicClusterPolicy, `kubectl "
	    "describe ds`; may be repeated"),
	ROW(nccl, GP_OPT_TEXTS, 0, "LOG",
	    "an NCCL_DEBUG=INFO log; given twice, RDMA on and off are compared"),
	ROW(json, GP_OPT_TEXT, 4095, "FILE",
	    "write the record, `-` for standard output (the text then goes to standard error)"),
	ROW(markdown, GP_OPT_TEXT, 4095, "FILE",
	    "write the one-page record, `-` for standard output (the text then goes to standard "
	    "error)"),
	ROW(explain, GP_OPT_FLAG, 0, NULL, "print the decision tree and end"),
	{.name = NULL},
};

static const struct gp_option_table options = {
	.command = "path",
	.arguments = "",
	.summary = "which module path is this host on, and which line decides it",
	.details = "It loads, changes and installs nothing, and needs no root. What a capture does "
		   "not tell\nis unknown, and said to be.\n",
	.rows = rows,
};

/* --- reading --- */

/* This host, by its files, its commands and CUDA's own word. */
static int read_host(struct gp_inventory *inv, struct gp_error *err)
{
	struct gp_cuda_versions versions = {0};
	struct gp_gpu gpus[GP_GPU_MAX];
	struct gp_error ignored = {0};
	struct gp_cuda *cuda = NULL;
	int n = 0;

	if (gp_cuda_open(&cuda, &versions, &ignored) == 0 &&
	    gp_cuda_list(cuda, gpus, GP_GPU_MAX, &n, &ignored) < 0)
		n = 0;
	gp_cuda_close(cuda);
	return gp_here_read(inv, true, &(struct gp_here_cuda){versions, gpus, n}, err);
}

static int read_live(struct gp_fleet *fleet, struct gp_error *err)
{
	struct gp_inventory *node = gp_fleet_add(fleet);

	if (!node)
		return gp_error_set(err, GP_EXIT_FAILED, "no memory");
	return read_host(node, err);
}

static bool is_here(const struct gp_fleet *logs)
{
	char name[65] = "";

	if (gethostname(name, sizeof(name) - 1) < 0)
		return false;
	name[strcspn(name, ".")] = '\0';
	for (int i = 0; i < logs->n; i++)
		if (logs->nodes[i]->name && strcasecmp(logs->nodes[i]->name, name) == 0)
			return true;
	return false;
}

/* This host is read where no other is meant: an NCCL log alone is of the host that it names. */
static int read_all(const struct path_options *values, struct gp_fleet *fleet, struct gp_error *err)
{
	for (int i = 0; i < values->from.n; i++)
		if (gp_fleet_read(fleet, values->from.text[i], err) < 0)
			return -1;
	for (int i = 0; i < values->nccl.n; i++)
		if (gp_fleet_read_nccl(fleet, values->nccl.text[i], err) < 0)
			return -1;
	if (values->from.n == 0 && (values->nccl.n == 0 || is_here(fleet)) &&
	    read_live(fleet, err) < 0)
		return -1;
	for (int i = 0; i < values->intent.n; i++)
		if (gp_fleet_read_intent(fleet, values->intent.text[i], err) < 0)
			return -1;
	gp_fleet_settle(fleet);
	return 0;
}

/* --- results --- */

/* A stream for `name`; "-" is standard output. */
static FILE *output_open(const char *name, struct gp_error *err)
{
	FILE *out = strcmp(name, "-") == 0 ? stdout : fopen(name, "w");

	if (!out)
		gp_error_set(err, GP_EXIT_USAGE, "%s: %s", name, strerror(errno));
	return out;
}

static int output_close(FILE *out, const char *name, struct gp_error *err)
{
	bool failed = fflush(out) != 0 || ferror(out);

	if (out != stdout)
		failed |= fclose(out) != 0;
	return failed ? gp_error_set(err, GP_EXIT_FAILED, "%s: could not be written", name) : 0;
}

static int json_write(json_t *json, const char *name, struct gp_error *err)
{
	FILE *out = output_open(name, err);

	if (!out)
		return -1;
	if (!json || json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) < 0)
		gp_error_set(err, GP_EXIT_FAILED, "%s: could not be written", name);
	fputc('\n', out);
	return output_close(out, name, err);
}

/* A run that fails still writes a valid record. */
static void failure_write(const char *name, const struct gp_error *err)
{
	struct gp_error ignored = {0};
	json_t *json = json_pack("{s:s, s:[], s:[], s:n, s:o}", "schema", "gdrproof/path/1",
				 "nodes", "groups", "summary", "error", gp_error_to_json(err));

	json_write(json, name, &ignored);
	json_decref(json);
}

static int results_write(const struct path_options *values, const struct gp_fleet *fleet,
			 struct gp_error *err)
{
	bool piped = strcmp(values->json, "-") == 0 || strcmp(values->markdown, "-") == 0;
	struct gp_fleet_verdict verdict;
	int rc = 0;

	if (gp_classify_fleet(fleet, &verdict) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "no memory");
	if (values->json[0]) {
		json_t *json = gp_classify_to_json(fleet, &verdict);

		rc = json_write(json, values->json, err);
		json_decref(json);
	}
	if (rc == 0 && values->markdown[0]) {
		FILE *out = output_open(values->markdown, err);

		if (out)
			gp_view_markdown(fleet, &verdict, out);
		rc = out ? output_close(out, values->markdown, err) : -1;
	}
	if (rc == 0)
		gp_view_text(fleet, &verdict, piped ? stderr : stdout);
	gp_fleet_verdict_close(&verdict);
	return rc;
}

static int check_options(const struct path_options *values, struct gp_error *err)
{
	if (strcmp(values->json, "-") == 0 && strcmp(values->markdown, "-") == 0)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--json and --markdown can't both go to standard output");
	if (values->capture[0] && values->from.n)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--capture is of this host: it can't go with --from");
	return 0;
}

static int run(int argc, char **argv, struct gp_error *err)
{
	struct path_options values = {0};
	struct gp_fleet fleet = {0};
	const char *words[1];
	int n_words = 0, rc;

	gp_options_default(&options, &values);
	if (gp_options_parse(&options, argc, argv, &values, NULL, words, 1, &n_words, err) < 0)
		return GP_EXIT_USAGE;
	if (n_words > 0)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "path takes no argument '%s'; a captured host is given with "
				    "--from",
				    words[0]);
	if (values.explain) {
		gp_view_explain(stdout);
		return GP_EXIT_OK;
	}
	rc = check_options(&values, err);
	if (rc == 0 && values.capture[0])
		rc = gp_inventory_capture(values.capture, err);
	if (rc == 0)
		rc = read_all(&values, &fleet, err);
	if (rc == 0)
		rc = results_write(&values, &fleet, err);
	if (rc < 0 && values.json[0])
		failure_write(values.json, err);
	gp_fleet_close(&fleet);
	return rc < 0 ? (int)err->exit_code : GP_EXIT_OK;
}

const struct gp_command gp_cmd_path = {.options = &options, .run = run};
