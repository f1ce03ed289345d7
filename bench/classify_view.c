/* SPDX-License-Identifier: BSD-2-Clause */
/* classify_view: see classify_view.h. */
#include "classify_view.h"

#include <string.h>

#define WIDTH	   100
#define SOURCE_MAX 52

/* Words of `text`: the first line goes on at column `at`, the others are indented to `column`. */
static void put_wrapped_at(FILE *out, int at, int column, const char *text)
{
	bool first = true;

	for (; *text; first = false) {
		int length = (int)strcspn(text, " ");

		if (!first && at + 1 + length > WIDTH) {
			fprintf(out, "\n%*s", column, "");
			at = column;
		} else if (!first) {
			fputc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", length, text);
		at += length;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void put_wrapped(FILE *out, int column, const char *text)
{
	put_wrapped_at(out, column, column, text);
}

static const char *node_name(const struct gp_inventory *node)
{
	return node->name ? node->name : (node->source ? node->source : "-");
}

/* "cat /proc/driver/nvidia/version, line 4" */
static void put_source(FILE *out, const char *source, int number)
{
	bool cut = strlen(source) > SOURCE_MAX;

	fprintf(out, "  [%.*s%s", cut ? SOURCE_MAX - 3 : SOURCE_MAX, source, cut ? "..." : "");
	if (number)
		fprintf(out, ", line %d", number);
	fputc(']', out);
}

/* A line that is no more than the value needs no quotes: 5.15.0-118-generic >= 5.12 */
static void put_decider(FILE *out, const struct gp_decider *decider)
{
	const struct gp_host_fact *fact = decider->fact;

	if (decider->note[0] && fact->value[0])
		fprintf(out, "%-7s %s%s", decider->name, fact->value, decider->note);
	else
		fprintf(out, "%-7s \"%s\"%s", decider->name, fact->line, decider->note);
	put_source(out, fact->source, fact->number);
	fputc('\n', out);
}

static void put_head(FILE *out, const struct gp_path_verdict *verdict)
{
	fprintf(out, "path      %s\n", gp_path_word(verdict->path));
	if (verdict->confirmed)
		fprintf(out, "holds     confirmed\n");
	for (int i = 0; i < verdict->n_conditions; i++) {
		bool open = verdict->path == GP_PATH_UNDETERMINED;

		fprintf(out, "%-10s%s", i ? "" : (open ? "open" : "holds"), open ? "" : "if ");
		put_wrapped(out, open ? 10 : 13, verdict->condition[i]);
	}
	for (int i = 0; i < verdict->n_deciders; i++) {
		fprintf(out, "%-10s", i ? "" : "decided");
		put_decider(out, &verdict->decider[i]);
	}
	if (verdict->expectation[0]) {
		fprintf(out, "%-10s", "lsmod");
		put_wrapped(out, 10, verdict->expectation);
	}
}

static void cell_text(const struct gp_prerequisite *need, char *buf, size_t size)
{
	static const char *const states[] = {"? ", "ok: ", "missing: "};

	snprintf(buf, size, "%s%s", states[need->state], need->detail);
}

static const char *const need_titles[] = {"GPU driver", "CUDA", "kernel", "OFED"};

static void put_prerequisites(FILE *out, const struct gp_path_verdict *verdict)
{
	char cell[GP_NEED_COUNT][160], other[160];
	int width = 26;

	for (int i = 0; i < GP_NEED_COUNT; i++) {
		cell_text(&verdict->dmabuf[i], cell[i], sizeof(cell[i]));
		if ((int)strlen(cell[i]) > width)
			width = (int)strlen(cell[i]);
	}
	fprintf(out, "\n%-14s %-*s %s\n", "prerequisite", width, "dmabuf", "peermem");
	for (int i = 0; i < GP_NEED_COUNT; i++) {
		cell_text(&verdict->peermem[i], other, sizeof(other));
		fprintf(out, "%-14s %-*s %s\n", need_titles[i], width, cell[i], other);
	}
}

static void put_findings(FILE *out, const struct gp_path_verdict *verdict)
{
	static const char *const words[] = {"ERROR", "WARN", "info"};

	for (int i = 0; i < verdict->n_findings; i++) {
		const struct gp_finding *finding = &verdict->finding[i];

		fprintf(out, "%s%-6s %s: ", i ? "" : "\n", words[finding->severity], finding->id);
		put_wrapped_at(out, 9 + (int)strlen(finding->id), 7, finding->message);
		for (int j = 0; j < finding->n_evidence; j++) {
			const char *line = finding->evidence[j].line;
			bool silent = strcmp(line, finding->evidence[j].source) == 0;

			fprintf(out, "       line: %s", silent ? "none in the output" : line);
			put_source(out, finding->evidence[j].source, finding->evidence[j].number);
			fputc('\n', out);
		}
		fprintf(out, "       fix: ");
		put_wrapped(out, 12, finding->fix);
	}
}

static void put_nccl(FILE *out, const struct gp_nccl *nccl, const char *title)
{
	fprintf(out, "%s%-10s%s", title[0] ? "\n" : "", title,
		nccl->network[0] ? nccl->network : "network not in the log");
	if (nccl->link[0])
		fprintf(out, " over %s", nccl->link);
	if (nccl->version[0])
		fprintf(out, ", NCCL %s", nccl->version);
	if (nccl->net_channels >= 0)
		fprintf(out, ", GDRDMA on %d of %d network channels", nccl->gdr_channels,
			nccl->net_channels);
	if (nccl->busbw >= 0 || nccl->busbw_top >= 0)
		fprintf(out, ", bus bandwidth %.2f GB/s",
			nccl->busbw >= 0 ? nccl->busbw : nccl->busbw_top);
	fprintf(out, "  [%s]\n", nccl->source);
	for (int i = 0; i < nccl->n_hcas; i++)
		fprintf(out, "          %s: GPU Direct RDMA %s\n", nccl->hcas[i].name,
			nccl->hcas[i].gdr ? "enabled" : "disabled");
	for (int i = 0; i < nccl->n_failures; i++)
		fprintf(out, "          failed: \"%s\"\n", nccl->failures[i].line.text);
	if (nccl->gdr_channels > 0)
		fprintf(out, "          which path carried it is not in any NCCL log%s\n",
			nccl->dmabuf_gpu ? ": the GPU side offers DMA-BUF, so probably that"
					 : ": \"DMA-BUF is available\" is not in it, so probably "
					   "nvidia-peermem, or the head of the log is missing");
}

static void put_unread(FILE *out, const struct gp_inventory *inv)
{
	for (const struct gp_unread *u = inv->unread; u; u = u->next) {
		fprintf(out, "%-10s", "not read");
		put_wrapped(out, 10, u->text);
	}
}

static void put_proof(FILE *out, const struct gp_inventory *node, enum gp_path_id path)
{
	/* without a path there is nothing to prove before the findings are mended */
	fprintf(out, path == GP_PATH_NONE ? "\nwhen mended, prove it: " : "\nprove it: ");
	put_wrapped(out, 10,
		    gp_inventory_has_intent(node)
			    ? "kubectl describe ds -n gpu-operator nvidia-driver-daemonset; then "
			      "gdrproof bw, or one NCCL run with NCCL_DEBUG=INFO and one with "
			      "NCCL_IB_DISABLE=1"
			    : "gdrproof bw, or one NCCL run with NCCL_DEBUG=INFO and one with "
			      "NCCL_IB_DISABLE=1");
}

static void put_helm(FILE *out, const struct gp_path_verdict *verdict)
{
	if (verdict->n_helm == 0)
		return;
	fprintf(out, "\nhelm      ");
	for (int i = 0; i < verdict->n_helm; i++)
		fprintf(out, "%s%s", i ? " " : "", verdict->helm[i]);
	fputc('\n', out);
}

static void put_node(FILE *out, const struct gp_inventory *node,
		     const struct gp_path_verdict *verdict)
{
	bool only_nccl = node->n_nccl > 0 && verdict->n_deciders == 0 &&
			 verdict->path == GP_PATH_UNDETERMINED;

	if (!only_nccl) {
		put_head(out, verdict);
		put_unread(out, node);
		put_prerequisites(out, verdict);
	} else {
		fprintf(out, "path      undetermined: an NCCL log alone does not tell the module "
			     "path (give --from too)\n");
	}
	for (int i = 0; i < node->n_nccl; i++)
		put_nccl(out, node->nccl[i], i ? "" : "nccl");
	put_findings(out, verdict);
	put_helm(out, verdict);
}

/* --- fleets --- */

static void put_group(FILE *out, const struct gp_fleet *fleet, const struct gp_fleet_verdict *all,
		      int index)
{
	const struct gp_group *group = &all->group[index];
	char names[4000] = "";
	size_t used = 0;
	int i;

	for (i = 0; i < group->n && used < sizeof(names) - 80; i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.70s",
					 i ? " " : "", node_name(fleet->nodes[group->node[i]]));
	if (i < group->n)
		snprintf(names + used, sizeof(names) - used, " and %d more", group->n - i);
	fprintf(out, "group %-3d ", index + 1);
	fprintf(out, "%d of %d node%s: ", group->n, all->n, all->n == 1 ? "" : "s");
	put_wrapped(out, 10, names);
	put_node(out, fleet->nodes[group->node[0]], &all->verdict[group->node[0]]);
	if (group->n > 1)
		fprintf(out, "          (lines of %s, one for all)\n",
			node_name(fleet->nodes[group->node[0]]));
	fprintf(out, "\n");
}

void gp_view_text(const struct gp_fleet *fleet, const struct gp_fleet_verdict *all, FILE *out)
{
	if (all->n == 1) {
		if (fleet->nodes[0]->name)
			fprintf(out, "node      %s\n", fleet->nodes[0]->name);
		put_node(out, fleet->nodes[0], &all->verdict[0]);
		put_proof(out, fleet->nodes[0], all->verdict[0].path);
		return;
	}
	for (int i = 0; i < all->n_groups; i++)
		put_group(out, fleet, all, i);
	put_unread(out, &fleet->cluster);
	if (all->split.there) {
		fprintf(out, "cluster   ");
		put_wrapped(out, 10, all->split.message);
		fprintf(out, "          ");
		put_wrapped(out, 10, all->split.fix);
	}
	fprintf(out, "measure   ");
	put_wrapped(
		out, 10,
		"before anything is changed: gdrproof bw between two nodes of each group, or one "
		"NCCL run with NCCL_DEBUG=INFO and one with NCCL_IB_DISABLE=1 "
		"NCCL_NET_PLUGIN=none");
	fprintf(out, "note      ");
	put_wrapped(out, 10, all->summary);
}

/* --- Markdown --- */

/* A cell must not end early, nor a line of input become markup. */
static void put_cell(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("|`*_<>\\", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* Verbatim between as many backticks as it takes. */
static void put_code(FILE *out, const char *text)
{
	const char *ticks = strchr(text, '`') ? "``" : "`";

	fprintf(out, "%s%s%s", ticks, text, ticks);
}

static void markdown_findings(FILE *out, const struct gp_path_verdict *verdict)
{
	if (verdict->n_findings)
		fprintf(out, "\n| severity | finding | fix |\n|---|---|---|\n");
	for (int i = 0; i < verdict->n_findings; i++) {
		const struct gp_finding *finding = &verdict->finding[i];

		fprintf(out, "| %s | **%s**: ", gp_severity_word(finding->severity), finding->id);
		put_cell(out, finding->message);
		fprintf(out, " | ");
		put_cell(out, finding->fix);
		fprintf(out, " |\n");
	}
}

static void markdown_node(FILE *out, const struct gp_path_verdict *verdict)
{
	char cell[160];

	fprintf(out, "Path: **%s**, %s\n\n", gp_path_word(verdict->path),
		verdict->confirmed ? "confirmed" : "conditional");
	for (int i = 0; i < verdict->n_conditions; i++)
		fprintf(out, "- condition: %s\n", verdict->condition[i]);
	for (int i = 0; i < verdict->n_deciders; i++) {
		const struct gp_host_fact *fact = verdict->decider[i].fact;

		fprintf(out, "- decided by %s: ", verdict->decider[i].name);
		put_code(out, fact->line);
		fprintf(out, "%s (", verdict->decider[i].note);
		put_code(out, fact->source);
		if (fact->number)
			fprintf(out, ", line %d", fact->number);
		fprintf(out, ")\n");
	}
	if (verdict->expectation[0])
		fprintf(out, "- lsmod: %s\n", verdict->expectation);
	fprintf(out, "\n| prerequisite | dmabuf | peermem |\n|---|---|---|\n");
	for (int i = 0; i < GP_NEED_COUNT; i++) {
		fprintf(out, "| %s | ", need_titles[i]);
		cell_text(&verdict->dmabuf[i], cell, sizeof(cell));
		put_cell(out, cell);
		fprintf(out, " | ");
		cell_text(&verdict->peermem[i], cell, sizeof(cell));
		put_cell(out, cell);
		fprintf(out, " |\n");
	}
	markdown_findings(out, verdict);
	for (int i = 0; i < verdict->n_helm; i++)
		fprintf(out, "%s`%s`", i ? " " : "\nGPU Operator: ", verdict->helm[i]);
	if (verdict->n_helm)
		fputc('\n', out);
}

void gp_view_markdown(const struct gp_fleet *fleet, const struct gp_fleet_verdict *all, FILE *out)
{
	fprintf(out, "# GPUDirect RDMA path\n\n%s\n", all->summary);
	for (int g = 0; g < all->n_groups; g++) {
		const struct gp_group *group = &all->group[g];

		fprintf(out, "\n## ");
		for (int i = 0; i < group->n; i++) {
			fprintf(out, "%s", i ? ", " : "");
			put_cell(out, node_name(fleet->nodes[group->node[i]]));
		}
		fprintf(out, "\n\n");
		markdown_node(out, &all->verdict[group->node[0]]);
	}
	if (all->split.there)
		fprintf(out, "\n## Cluster\n\n%s\n\n%s\n", all->split.message, all->split.fix);
	fprintf(out,
		"\n## Before anything is changed\n\nMeasure: `gdrproof bw` between two nodes%s, "
		"or one NCCL run with `NCCL_DEBUG=INFO` and one with `NCCL_IB_DISABLE=1 "
		"NCCL_NET_PLUGIN=none`.\n",
		all->n_groups > 1 ? " of each group" : "");
}

/* --- the tree --- */

void gp_view_explain(FILE *out)
{
	fputs("1  Is there an NVIDIA driver, an RDMA device, and a GPU with GPUDirect RDMA?\n"
	      "   (cat /proc/driver/nvidia/version; ibv_devinfo; GeForce boards have none)\n"
	      "   no:  path none. Fix that half first; no module helps.\n"
	      "   yes: 2\n\n"
	      "2  Which flavour is the driver?        cat /proc/driver/nvidia/version\n"
	      "   \"Open Kernel Module\": 3\n"
	      "   \"UNIX x86_64 Kernel Module\" (proprietary): DMA-BUF is ruled out: 4\n\n"
	      "3  Kernel 5.12 or newer (uname -r), CUDA 11.7 or newer (nvidia-smi, nvcc "
	      "--version)?\n"
	      "   yes: path dmabuf. OFED is optional.\n"
	      "        helm:  --set driver.kernelModuleType=open (auto from R570 on), "
	      "driver.rdma.enabled unset\n"
	      "        lsmod: no nvidia_peermem. That is expected, not a fault.\n"
	      "   no:  4\n\n"
	      "4  Who owns OFED?                      ofed_info -s; kubectl get nicclusterpolicy\n"
	      "   the host (MLNX_OFED or DOCA-OFED installed): path peermem\n"
	      "        helm:  --set driver.rdma.enabled=true --set driver.rdma.useHostMofed=true\n"
	      "        lsmod: nvidia_peermem, used by no one, and in ib_core's last column\n"
	      "   the Network Operator (ofedDriver): path peermem\n"
	      "        helm:  --set driver.rdma.enabled=true (useHostMofed=false)\n"
	      "        lsmod: nvidia_peermem, loaded by nvidia-peermem-ctr\n"
	      "   nobody: path none. Two ways out: the open module and a newer kernel (DMA-BUF), "
	      "or\n"
	      "        DOCA-OFED and nvidia-peermem.\n\n"
	      "prerequisite   dmabuf                        peermem\n"
	      "GPU driver     Open Kernel Module, Turing+   any\n"
	      "CUDA           11.7 or higher                no minimum\n"
	      "kernel         5.12 or higher                no minimum\n"
	      "OFED           optional                      MLNX_OFED or DOCA-OFED\n",
	      out);
}
