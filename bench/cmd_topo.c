/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cmd_topo: `gdrproof topo`. Options, the table that a person sees, and CUDA's names for the GPUs
 * of this host. What is computed is computed in common/topo*.
 */
#include "command.h"
#include "cuda.h"
#include "topo.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct topo_options {
	char from[4096];
	char json[4096];
	char dot[4096];
};

#define ROW(name, arg, help)                                                                     \
	{                                                                                        \
#name, 0, GP_OPT_TEXT, offsetof(struct topo_options, name), 0, 4095, NULL, NULL, \
			NULL, arg, help, 0                                                       \
	}

static const struct gp_option rows[] = {
	ROW(from, "SRC",
	    "hwloc XML, pasted `nvidia-smi topo -m`, NCCL topology dump, or a capture "
	    "directory, in place of this host; `-`: text from standard input"),
	ROW(json, "FILE",
	    "write the topology as JSON, `-` for standard output (the table then goes "
	    "to standard error)"),
	ROW(dot, "FILE", "write a drawing for graphviz (`dot -Tsvg`), `-` for standard output"),
	{.name = NULL},
};

static const struct gp_option_table options = {
	.command = "topo",
	.arguments = "",
	.summary = "which NIC belongs to which GPU: distance, NUMA node, PCIe link, what slows it",
	.details = "Distances, nearest first, as in `nvidia-smi topo -m`:\n"
		   "  PIX   at most one PCIe switch between the two\n"
		   "  PXB   several PCIe switches, no host bridge\n"
		   "  PHB   through the host bridge\n"
		   "  NODE  between host bridges of one NUMA node\n"
		   "  SYS   between NUMA nodes, across the socket link\n\n"
		   "Virtual RDMA devices (rxe, bond, VF, SF) stand where the netdev or function "
		   "behind\n"
		   "them does. Nothing needs root; as root ACS and the max payload size are read "
		   "too.\n",
	.rows = rows,
};

/* --- table --- */

static const char *or_dash(const char *text)
{
	return text[0] ? text : "-";
}

static const char *node_text(int node, char *buf, size_t size)
{
	if (node < 0)
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%d", node);
	return buf;
}

/* "16 GT/s x8 of 32 GT/s x16", "15.8 GB/s", "-" */
static int link_write(const struct gp_link *link, char *buf, size_t size)
{
	if (link->gts <= 0 || link->width <= 0)
		return link->gbytes_per_s > 0 ? snprintf(buf, size, "%.1f GB/s", link->gbytes_per_s)
					      : snprintf(buf, size, "-");
	if (link->max_gts > 0 && link->max_width > 0 &&
	    (link->gts < link->max_gts || link->width < link->max_width))
		return snprintf(buf, size, "%g GT/s x%d of %g x%d", link->gts, link->width,
				link->max_gts, link->max_width);
	return snprintf(buf, size, "%g GT/s x%d", link->gts, link->width);
}

static const char *link_text(const struct gp_topo_device *device, char *buf, size_t size)
{
	int used = link_write(&device->link, buf, size);
	char narrow[64];

	if (device->narrowed && used > 0 && (size_t)used < size) {
		link_write(&device->narrowest, narrow, sizeof(narrow));
		snprintf(buf + used, size - (size_t)used, " (%s at %s)", narrow,
			 device->narrowest_bdf);
	}
	return buf;
}

static int wider(int width, const char *text)
{
	int len = (int)strlen(text);

	return len > width ? len : width;
}

/* Widths of the columns of a list of devices; no model, no column. */
struct widths {
	int name, model, bdf, link;
};

static void widths_grow(struct widths *widths, const struct gp_topo_device *device)
{
	char text[160];

	widths->name = wider(widths->name, device->name);
	widths->model = wider(widths->model, device->model);
	widths->bdf = wider(widths->bdf, or_dash(device->bdf));
	widths->link = wider(widths->link, link_text(device, text, sizeof(text)));
}

static void device_print(const struct gp_topo_device *device, const struct widths *widths,
			 FILE *out)
{
	char node[16], link[160];

	fprintf(out, "%-*s", widths->name, device->name);
	if (widths->model)
		fprintf(out, "  %-*s", widths->model, or_dash(device->model));
	fprintf(out, "  %-*s  %-4s  %-*s", widths->bdf, or_dash(device->bdf),
		node_text(device->numa_node, node, sizeof(node)), widths->link,
		link_text(device, link, sizeof(link)));
}

static void gpus_print(const struct gp_topo *topo, FILE *out)
{
	struct widths widths = {.name = 4, .bdf = 3, .link = 4};
	struct gp_topo_pick picks[GP_TOPO_MAX];
	const struct gp_topo_device *gpu, *nic;

	gp_topo_share(topo, picks);
	for (int g = 0; (gpu = gp_topo_gpu(topo, g)); g++)
		widths_grow(&widths, gpu);
	fprintf(out, "%-*s", widths.name, "gpu");
	if (widths.model)
		fprintf(out, "  %-*s", widths.model, "model");
	fprintf(out, "  %-*s  %-4s  %-*s", widths.bdf, "bdf", "node", widths.link, "pcie");
	for (int n = 0; (nic = gp_topo_nic(topo, n)); n++)
		fprintf(out, "  %-*s", wider(4, nic->name), nic->name);
	fprintf(out, "  best\n");
	for (int g = 0; (gpu = gp_topo_gpu(topo, g)); g++) {
		const struct gp_topo_device *best = gp_topo_nic(topo, picks[g].index);

		device_print(gpu, &widths, out);
		for (int n = 0; (nic = gp_topo_nic(topo, n)); n++) {
			enum gp_class class = gp_topo_pair(topo, g, n);

			fprintf(out, "  %-*s", wider(4, nic->name),
				class == GP_CLASS_UNKNOWN ? "?" : gp_class_name(class));
		}
		fprintf(out, "  %s%s%s\n", best ? best->name : "", best ? "  " : "", picks[g].why);
	}
	fputc('\n', out);
}

static void nics_print(const struct gp_topo *topo, FILE *out)
{
	struct widths widths = {.name = 4, .bdf = 3, .link = 4};
	const struct gp_topo_device *nic;

	for (int n = 0; (nic = gp_topo_nic(topo, n)); n++)
		widths_grow(&widths, nic);
	fprintf(out, "%-*s  %-*s  %-4s  %-*s  ports\n", widths.name, "nic", widths.bdf, "bdf",
		"node", widths.link, "pcie");
	for (int n = 0; (nic = gp_topo_nic(topo, n)); n++) {
		device_print(nic, &widths, out);
		for (int p = 0; p < nic->n_ports; p++) {
			const struct gp_topo_port *port = &nic->ports[p];

			fprintf(out, "  %d: %s", port->number, or_dash(port->state));
			if (port->rate_gbps > 0)
				fprintf(out, " %g Gb/s", port->rate_gbps);
			fprintf(out, "%s%s", port->layer[0] ? " " : "", port->layer);
		}
		fprintf(out, "%s%s%s%s\n", nic->n_ports ? "" : "  -",
			nic->software ? "  software" : "", nic->via[0] ? "  via " : "", nic->via);
	}
	fputc('\n', out);
}

static void findings_print(const struct gp_topo *topo, FILE *out)
{
	struct gp_topo_finding findings[GP_TOPO_FINDINGS_MAX];
	int n = gp_topo_findings(topo, findings);
	char severity[16];

	for (int i = 0; i < n; i++) {
		snprintf(severity, sizeof(severity), "%s", findings[i].severity);
		for (char *c = severity; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		fprintf(out, "%-7s  %s: %s\n", severity, findings[i].id, findings[i].message);
		/* the same advice once, below the last that it is for */
		if (i + 1 == n || findings[i + 1].id != findings[i].id)
			fprintf(out, "         fix: %s\n", findings[i].fix);
	}
}

static void count_print(const char *what, int n, FILE *out)
{
	if (n > 0)
		fprintf(out, ", %d %s%s", n, what, n == 1 ? "" : "s");
}

static void table_print(const struct gp_topo *topo, FILE *out)
{
	int n_gpus = gp_topo_gpu_count(topo), n_nics = gp_topo_nic_count(topo);

	fprintf(out, "topology  %s", gp_topo_source(topo));
	count_print("socket", gp_topo_sockets(topo), out);
	count_print("NUMA node", gp_topo_numa_nodes(topo), out);
	fprintf(out, "\n\n");
	if (n_gpus)
		gpus_print(topo, out);
	if (n_nics)
		nics_print(topo, out);
	if (!n_gpus || !n_nics)
		fprintf(out, "no %s found\n",
			n_gpus ? "RDMA device" : (n_nics ? "GPU" : "GPU and no RDMA device"));
	findings_print(topo, out);
}

/* --- doing --- */

/* CUDA's numbers and names, where it is there. What keeps it from being is `path`'s subject. */
static void cuda_name(struct gp_topo *topo)
{
	struct gp_gpu gpus[GP_GPU_MAX];
	struct gp_error ignored = {0};
	struct gp_cuda *cuda;
	int n = 0;

	if (gp_cuda_open(&cuda, NULL, &ignored) < 0)
		return;
	if (gp_cuda_list(cuda, gpus, GP_GPU_MAX, &n, &ignored) == 0)
		for (int i = 0; i < n && i < GP_GPU_MAX; i++)
			gp_topo_gpu_name(topo, gpus[i].bdf, gpus[i].ordinal, gpus[i].name);
	gp_cuda_close(cuda);
}

/* A stream for `name`; "-" is standard output. */
static FILE *output_open(const char *name, struct gp_error *err)
{
	FILE *out = strcmp(name, "-") == 0 ? stdout : fopen(name, "w");

	if (!out)
		gp_error_errno(err, GP_EXIT_USAGE, errno, "fopen", "%s", name);
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

static int dot_write(const struct gp_topo *topo, const char *name, struct gp_error *err)
{
	FILE *out = output_open(name, err);

	if (!out)
		return -1;
	gp_topo_to_dot(topo, out);
	return output_close(out, name, err);
}

/* A run that fails still writes a valid record. */
static void failure_write(const char *name, const struct gp_error *err)
{
	struct gp_error ignored = {0};
	json_t *json =
		json_pack("{s:s, s:n, s:n, s:n, s:[], s:[], s:[], s:[], s:[], s:o}", "schema",
			  "gdrproof/topo/1", "source", "numa_nodes", "sockets", "gpus", "nics",
			  "pairs", "best", "findings", "error", gp_error_to_json(err));

	json_write(json, name, &ignored);
	json_decref(json);
}

static int results_write(const struct gp_topo *topo, const struct topo_options *values,
			 struct gp_error *err)
{
	bool piped = strcmp(values->json, "-") == 0 || strcmp(values->dot, "-") == 0;

	if (values->json[0]) {
		json_t *json = gp_topo_to_json(topo);
		int rc = json_write(json, values->json, err);

		json_decref(json);
		if (rc < 0)
			return -1;
	}
	if (values->dot[0] && dot_write(topo, values->dot, err) < 0)
		return -1;
	table_print(topo, piped ? stderr : stdout);
	return 0;
}

static int run(int argc, char **argv, struct gp_error *err)
{
	struct topo_options values = {.from = ""};
	struct gp_topo *topo = NULL;
	const char *words[1];
	int n_words = 0, rc;

	gp_options_default(&options, &values);
	if (gp_options_parse(&options, argc, argv, &values, NULL, words, 1, &n_words, err) < 0)
		return GP_EXIT_USAGE;
	if (n_words > 0)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "topo takes no argument '%s'; a captured topology is given "
				    "with --from",
				    words[0]);
	if (strcmp(values.json, "-") == 0 && strcmp(values.dot, "-") == 0)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--json and --dot can't both go to standard output");
	rc = gp_topo_open(values.from, &topo, err);
	if (rc == 0 && !values.from[0])
		cuda_name(topo);
	if (rc == 0)
		rc = results_write(topo, &values, err);
	if (rc < 0 && values.json[0])
		failure_write(values.json, err);
	gp_topo_close(topo);
	return rc < 0 ? (int)err->exit_code : GP_EXIT_OK;
}

const struct gp_command gp_cmd_topo = {.options = &options, .run = run};
