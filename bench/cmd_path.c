/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_path: `gdrproof path`. Options, what is read for them, and where the results go. Reading is
 * in inventory*, judging in classify*, showing in classify_view.
 */
#include "classify_view.h"
#include "command.h"
#include "cuda.h"

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

/* --- CUDA's own answers, for the live host --- */

static void cuda_note(struct gp_inventory *inv, enum gp_fact_id id, enum gp_known known,
		      const char *value, const char *source, const char *line)
{
	gp_inventory_set(inv, id, known, GP_RANK_KERNEL, value,
			 &(struct gp_where){source, line, 0});
}

static void note_version(struct gp_inventory *inv, enum gp_fact_id id, int version,
			 const char *source)
{
	char value[32], line[80];

	if (version == 0)
		return;
	snprintf(value, sizeof(value), "%d.%d", version / 1000, version % 1000 / 10);
	snprintf(line, sizeof(line), "%s: %d", source, version);
	cuda_note(inv, id, GP_YES, value, source, line);
}

static void note_gpu(struct gp_inventory *inv, const struct gp_gpu *gpu)
{
	char line[160], bytes[32];

	snprintf(line, sizeof(line), "GPU %d: %s", gpu->ordinal, gpu->name);
	gp_inventory_gpu(inv, gpu->name, &(struct gp_where){"cuDeviceGetName", line, 0});
	snprintf(line, sizeof(line), "GPU %d %s: attribute 124 (dma-buf) is %d", gpu->ordinal,
		 gpu->name, gpu->dma_buf);
	if (gpu->dma_buf >= 0)
		cuda_note(inv, GP_FACT_DMABUF, gpu->dma_buf ? GP_YES : GP_NO, NULL,
			  "cuDeviceGetAttribute", line);
	snprintf(line, sizeof(line), "GPU %d %s: attribute 116 (GPUDirect RDMA) is %d",
		 gpu->ordinal, gpu->name, gpu->gdr);
	/* one GPU that can is enough for a path */
	if (gpu->gdr >= 0 && inv->facts[GP_FACT_GPU_GDR].known != GP_YES)
		cuda_note(inv, GP_FACT_GPU_GDR, gpu->gdr ? GP_YES : GP_NO, NULL,
			  "cuDeviceGetAttribute", line);
	snprintf(line, sizeof(line), "GPU %d %s: attribute 100 (host page tables) is 1",
		 gpu->ordinal, gpu->name);
	if (gpu->host_page_tables == 1)
		cuda_note(inv, GP_FACT_COHERENT, GP_YES, NULL, "cuDeviceGetAttribute", line);
	if (gpu->bar1_total_bytes) {
		snprintf(bytes, sizeof(bytes), "%llu MiB",
			 (unsigned long long)(gpu->bar1_total_bytes >> 20));
		cuda_note(inv, GP_FACT_BAR1, GP_YES, bytes, "nvmlDeviceGetBAR1MemoryInfo", bytes);
	}
}

static void ask_cuda(struct gp_inventory *inv)
{
	struct gp_cuda_versions versions = {0};
	struct gp_gpu gpus[GP_GPU_MAX];
	struct gp_error ignored = {0};
	struct gp_cuda *cuda = NULL;
	int n = 0, rc;

	rc = gp_cuda_open(&cuda, &versions, &ignored);
	note_version(inv, GP_FACT_CUDA_TOOLKIT, versions.runtime, "cudaRuntimeGetVersion");
	note_version(inv, GP_FACT_CUDA_DRIVER, versions.driver, "cuDriverGetVersion");
	if (rc < 0)
		return;
	if (gp_cuda_list(cuda, gpus, GP_GPU_MAX, &n, &ignored) == 0)
		for (int i = 0; i < n && i < GP_GPU_MAX; i++)
			note_gpu(inv, &gpus[i]);
	gp_cuda_close(cuda);
}

/* --- reading --- */

static int read_live(struct gp_fleet *fleet, struct gp_error *err)
{
	struct gp_inventory *node = gp_fleet_add(fleet);

	if (!node)
		return gp_error_set(err, GP_EXIT_FAILED, "no memory");
	if (gp_inventory_live(node, true, err) < 0)
		return -1;
	ask_cuda(node);
	return 0;
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
