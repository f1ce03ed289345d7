/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify_findings: from rows to findings: the questions that conditions share, the values that
 * stand in texts, and the lines that are evidence. The rows are elsewhere, see
 * classify_findings.h.
 */
#include "classify_findings.h"

#include <stdio.h>
#include <string.h>

enum gp_known gp_case_known(const struct gp_case *c, enum gp_fact_id id)
{
	return c->inv->facts[id].known;
}

const char *gp_case_value(const struct gp_case *c, enum gp_fact_id id)
{
	return c->inv->facts[id].known ? c->inv->facts[id].value : "";
}

bool gp_case_older(const struct gp_case *c, enum gp_fact_id id, const char *than, int parts)
{
	return gp_case_known(c, id) == GP_YES && gp_case_value(c, id)[0] &&
	       gp_version_compare(gp_case_value(c, id), than, parts) < 0;
}

bool gp_case_is(const struct gp_case *c, enum gp_path_id path)
{
	return c->verdict->path == path;
}

bool gp_case_proprietary(const struct gp_case *c)
{
	bool before_open = gp_case_known(c, GP_FACT_OPEN) == GP_UNKNOWN &&
			   gp_case_older(c, GP_FACT_DRIVER, "515", 1);

	return (gp_case_known(c, GP_FACT_OPEN) == GP_NO &&
		gp_case_known(c, GP_FACT_DRIVER) != GP_NO) ||
	       before_open;
}

bool gp_case_driver_is_old(const struct gp_case *c)
{
	return gp_case_older(c, GP_FACT_DRIVER, "570", 1) ||
	       gp_case_older(c, GP_FACT_OPEN, "570", 1);
}

bool gp_case_gpu_is_old(const struct gp_case *c)
{
	for (int i = 0; i < c->inv->gpus.n; i++)
		if (gp_gpu_name_is_old(c->inv->gpus.item[i].name))
			return true;
	return false;
}

/* "2.17" says nothing about its third number. */
bool gp_case_fs_older(const struct gp_case *c, enum gp_fact_id id)
{
	const char *version = gp_case_value(c, id), *dot = strchr(version, '.');
	int parts = dot && strchr(dot + 1, '.') ? 3 : 2;

	return gp_case_older(c, id, "2.17.5", parts);
}

/* --- values in texts --- */

typedef void token_fn(const struct gp_case *c, char *out, size_t size);

static void token_driver(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s",
		 gp_case_value(c, GP_FACT_DRIVER)[0] ? gp_case_value(c, GP_FACT_DRIVER)
						     : gp_case_value(c, GP_FACT_OPEN));
}

static void token_kernel(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s", gp_case_value(c, GP_FACT_KERNEL));
}

static void token_ofed(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s", gp_case_value(c, GP_FACT_OFED));
}

static void token_gpu(const struct gp_case *c, char *out, size_t size)
{
	const char *name = "this GPU";

	for (int i = c->inv->gpus.n; i-- > 0;)
		if (gp_gpu_name_lacks_gdr(c->inv->gpus.item[i].name) ||
		    gp_gpu_name_is_old(c->inv->gpus.item[i].name))
			name = c->inv->gpus.item[i].name;
	snprintf(out, size, "%s", name);
}

static void token_cuda(const struct gp_case *c, char *out, size_t size)
{
	bool toolkit = gp_case_older(c, GP_FACT_CUDA_TOOLKIT, "11.7", 2);
	bool driver = gp_case_older(c, GP_FACT_CUDA_DRIVER, "11.7", 2);

	snprintf(out, size, "%s%s%s%s%s", toolkit ? "the toolkit is " : "",
		 toolkit ? gp_case_value(c, GP_FACT_CUDA_TOOLKIT) : "",
		 toolkit && driver ? ", " : "", driver ? "the driver supports up to " : "",
		 driver ? gp_case_value(c, GP_FACT_CUDA_DRIVER) : "");
}

static void token_nic(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s", c->verdict->dmabuf[GP_NEED_KERNEL].detail);
}

static void token_memlock(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s", gp_case_value(c, GP_FACT_MEMLOCK));
}

static void token_load_error(const struct gp_case *c, char *out, size_t size)
{
	const char *why = gp_case_value(c, GP_FACT_PEERMEM_ERROR);

	snprintf(out, size, "%s%s", why[0] ? ": " : "", why);
}

static void token_container(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s",
		 gp_case_known(c, GP_FACT_PEERMEM_CONTAINER) == GP_YES
			 ? "is in it"
			 : "was asked for and is not in it");
}

static void token_fs(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s",
		 gp_case_fs_older(c, GP_FACT_GDS_VERSION) ? gp_case_value(c, GP_FACT_GDS_VERSION)
							  : gp_case_value(c, GP_FACT_NVIDIA_FS));
}

static void token_module_type(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s", gp_case_value(c, GP_FACT_MODULE_TYPE));
}

static void token_flavour(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s",
		 gp_case_known(c, GP_FACT_OPEN) == GP_YES ? "open" : "proprietary");
}

static void token_gpu_operator(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s", gp_case_value(c, GP_FACT_GPU_OPERATOR));
}

static void token_nccl_network(const struct gp_case *c, char *out, size_t size)
{
	const struct gp_nccl *nccl = gp_nccl_disable_ineffective(c->nccl) ? c->nccl : c->other;

	snprintf(out, size, "%s", nccl->network[0] ? nccl->network : "NET/IB");
}

static void token_nccl_gdr(const struct gp_case *c, char *out, size_t size)
{
	const struct gp_nccl *nccl = gp_case_on_side(c);
	int off = 0;

	for (int i = 0; i < nccl->n_hcas; i++)
		off += !nccl->hcas[i].gdr;
	if (off)
		snprintf(out, size, "it is disabled for %d of %d HCAs", off, nccl->n_hcas);
	else
		snprintf(out, size, "none of %d network channels carries GDRDMA",
			 nccl->net_channels);
}

static void token_nccl_distance(const struct gp_case *c, char *out, size_t size)
{
	const struct gp_nccl *nccl = gp_case_on_side(c);

	snprintf(out, size, "distance %d where NCCL allows %d (its numbers differ by version)",
		 nccl->distance, nccl->distance_limit);
}

static void token_nccl_difference(const struct gp_case *c, char *out, size_t size)
{
	gp_nccl_difference(c, out, size);
}

static void token_nccl_busbw(const struct gp_case *c, char *out, size_t size)
{
	snprintf(out, size, "%.2f GB/s with it, %.2f GB/s without",
		 gp_nccl_busbw(gp_case_on_side(c)), gp_nccl_busbw(gp_case_off_side(c)));
}

static const struct {
	const char *name;
	token_fn *write;
} tokens[] = {
	{"driver", token_driver},
	{"kernel", token_kernel},
	{"ofed", token_ofed},
	{"gpu", token_gpu},
	{"cuda", token_cuda},
	{"nic", token_nic},
	{"memlock", token_memlock},
	{"load_error", token_load_error},
	{"container", token_container},
	{"fs", token_fs},
	{"module_type", token_module_type},
	{"flavour", token_flavour},
	{"gpu_operator", token_gpu_operator},
	{"nccl_network", token_nccl_network},
	{"nccl_gdr", token_nccl_gdr},
	{"nccl_distance", token_nccl_distance},
	{"nccl_difference", token_nccl_difference},
	{"nccl_busbw", token_nccl_busbw},
};

static void token_write(const struct gp_case *c, const char *name, size_t length, char *out,
			size_t size)
{
	out[0] = '\0';
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
		if (strlen(tokens[i].name) == length && strncmp(tokens[i].name, name, length) == 0)
			tokens[i].write(c, out, size);
}

static void expand(const struct gp_case *c, const char *text, char *out, size_t size)
{
	size_t used = 0;

	while (*text && used + 1 < size) {
		size_t length = strcspn(text, "}");

		if (*text != '{') {
			out[used++] = *text++;
			continue;
		}
		token_write(c, text + 1, length - 1, out + used, size - used);
		used += strlen(out + used);
		text += length + 1;
	}
	out[used] = '\0';
}

/* --- evidence --- */

/* One line may tell several facts: it stands once. */
static void add_line(struct gp_finding *finding, const char *source, const char *line, int number)
{
	if (finding->n_evidence == GP_EVIDENCE_MAX || !line || !line[0])
		return;
	for (int i = 0; i < finding->n_evidence; i++)
		if (finding->evidence[i].number == number &&
		    strcmp(finding->evidence[i].source, source) == 0 &&
		    strcmp(finding->evidence[i].line, line) == 0)
			return;
	finding->evidence[finding->n_evidence].source = source;
	finding->evidence[finding->n_evidence].line = line;
	finding->evidence[finding->n_evidence++].number = number;
}

static void add_fact(struct gp_finding *finding, const struct gp_host_fact *fact)
{
	if (fact && fact->known)
		add_line(finding, fact->source, fact->line, fact->number);
}

/* Findings about devices have a device's line. */
static void add_device_lines(const struct gp_case *c, struct gp_finding *finding)
{
	const struct gp_host_fact *gpu = NULL;
	bool all;

	if (strcmp(finding->id, "gpu-without-gdr") == 0 && gp_gpus_lack_gdr(c->inv, &all, &gpu) &&
	    gpu != &c->inv->facts[GP_FACT_GPU_GDR])
		add_fact(finding, gpu);
	if (strcmp(finding->id, "nic-driver-no-dmabuf") == 0)
		add_fact(finding, c->verdict->dmabuf[GP_NEED_KERNEL].fact);
	for (int i = 0; strcmp(finding->id, "coherent-platform") == 0 && i < c->inv->gpus.n; i++)
		if (gp_gpu_name_is_coherent(c->inv->gpus.item[i].name))
			add_fact(finding, &c->inv->gpus.item[i].named);
}

static void add_nccl_lines(const struct gp_case *c, struct gp_finding *finding)
{
	for (int i = 0; i < c->inv->n_nccl && strncmp(finding->id, "nccl-", 5) == 0; i++) {
		const struct gp_nccl *nccl = c->inv->nccl[i];
		const struct gp_nccl_line *hca = NULL;
		const struct {
			const char *id;
			const struct gp_nccl_line *line;
		} lines[] = {
			{"nccl-ib-disable-ineffective", &nccl->disable_line},
			{"nccl-ib-disable-ineffective", &nccl->plugin_line},
			{"nccl-ib-disable-ineffective", &nccl->network_line},
			{"nccl-ib-not-used", &nccl->network_line},
			{"nccl-ib-not-used", &nccl->no_device_line},
			{"nccl-gdr-off", &nccl->net_channel_line},
			{"nccl-gdr-level", &nccl->distance_line},
			{"nccl-ab-not-comparable", &nccl->network_line},
			{"nccl-ab-unchanged", &nccl->busbw_line},
		};

		for (int j = 0; j < nccl->n_hcas && !hca; j++)
			if (!nccl->hcas[j].gdr)
				hca = &nccl->hcas[j].line;
		if (hca && strcmp(finding->id, "nccl-gdr-off") == 0)
			add_line(finding, nccl->source, hca->text, hca->number);
		for (size_t j = 0; j < sizeof(lines) / sizeof(lines[0]); j++)
			if (strcmp(finding->id, lines[j].id) == 0 && lines[j].line->number)
				add_line(finding, nccl->source, lines[j].line->text,
					 lines[j].line->number);
	}
}

static void add(const struct gp_case *c, const struct gp_finding_row *row,
		struct gp_path_verdict *verdict)
{
	struct gp_finding *finding = &verdict->finding[verdict->n_findings++];
	bool rather = row->rather && row->rather(c);

	*finding = (struct gp_finding){.id = row->id, .severity = row->severity};
	expand(c, rather && row->other_message ? row->other_message : row->message,
	       finding->message, sizeof(finding->message));
	expand(c, rather && row->other_fix ? row->other_fix : row->fix, finding->fix,
	       sizeof(finding->fix));
	for (int i = 0; i < 5 && row->evidence[i] != GP_NO_FACT; i++)
		add_fact(finding, &c->inv->facts[row->evidence[i]]);
	add_device_lines(c, finding);
	add_nccl_lines(c, finding);
}

void gp_findings_add(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	struct gp_case c = {.inv = inv,
			    .verdict = verdict,
			    .nccl = inv->n_nccl > 0 ? inv->nccl[0] : NULL,
			    .other = inv->n_nccl > 1 ? inv->nccl[1] : NULL};

	static const struct gp_finding_row *const tables[] = {
		gp_host_findings, gp_operator_findings, gp_nccl_findings};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct gp_finding_row *row = tables[i]; row->id; row++)
			if (verdict->n_findings < GP_FINDINGS_MAX && row->when(&c))
				add(&c, row, verdict);
	gp_findings_sort(verdict);
}

/* By insertion: few, and the table's order stays within a severity. */
void gp_findings_sort(struct gp_path_verdict *verdict)
{
	for (int i = 1; i < verdict->n_findings; i++)
		for (int j = i;
		     j > 0 && verdict->finding[j - 1].severity > verdict->finding[j].severity;
		     j--) {
			struct gp_finding swap = verdict->finding[j];

			verdict->finding[j] = verdict->finding[j - 1];
			verdict->finding[j - 1] = swap;
		}
}
