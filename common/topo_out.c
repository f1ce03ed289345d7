/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_out: a topology as JSON (gdrproof/topo/1) and as a drawing for graphviz. The table that a
 * person sees is the command's.
 */
#include "topo_tree.h"

#include <string.h>

static json_t *text_json(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *number_json(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static json_t *whole_json(int value)
{
	return value > 0 ? json_integer(value) : json_null();
}

static json_t *class_json(enum gp_class class)
{
	return class == GP_CLASS_UNKNOWN ? json_null() : json_string(gp_class_name(class));
}

json_t *gp_link_to_json(const struct gp_link *link)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "gts", number_json(link->gts), "width",
			 whole_json(link->width), "max_gts", number_json(link->max_gts),
			 "max_width", whole_json(link->max_width), "gbytes_per_s",
			 number_json(gp_link_weight(link)));
}

static json_t *device_json(const struct gp_topo_device *device)
{
	json_t *json = json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o}", "name", device->name, "bdf",
		text_json(device->bdf), "numa_node",
		device->numa_node >= 0 ? json_integer(device->numa_node) : json_null(), "cpus",
		text_json(device->cpus), "link", gp_link_to_json(&device->link), "narrowest",
		device->narrowed ? gp_link_to_json(&device->narrowest) : json_null());

	if (!json)
		return NULL;
	if (device->narrowed)
		json_object_set_new(json_object_get(json, "narrowest"), "bdf",
				    json_string(device->narrowest_bdf));
	json_object_set_new(json, "max_payload_bytes", whole_json(device->max_payload_bytes));
	json_object_set_new(json, "iommu", text_json(device->iommu));
	return json;
}

static json_t *gpu_json(const struct gp_topo_device *gpu)
{
	json_t *json = device_json(gpu);

	json_object_set_new(json, "model", text_json(gpu->model));
	return json;
}

static json_t *nic_json(const struct gp_topo *topo, const struct gp_topo_device *nic)
{
	json_t *json = device_json(nic), *ports = json_array();

	for (int i = 0; i < nic->n_ports; i++)
		json_array_append_new(
			ports, json_pack("{s:i, s:o, s:o, s:o}", "port", nic->ports[i].number,
					 "state", text_json(nic->ports[i].state), "rate_gbps",
					 number_json(nic->ports[i].rate_gbps), "link_layer",
					 text_json(nic->ports[i].layer)));
	json_object_set_new(json, "via", text_json(nic->via));
	json_object_set_new(json, "netdev", text_json(nic->netdev));
	json_object_set_new(json, "software",
			    topo->sysfs ? json_boolean(nic->software) : json_null());
	json_object_set_new(json, "ports", ports);
	return json;
}

static json_t *best_json(const struct gp_topo *topo)
{
	struct gp_topo_pick picks[GP_TOPO_MAX];
	json_t *best = json_array();

	gp_topo_share(topo, picks);
	for (int g = 0; g < topo->n_gpus; g++) {
		const struct gp_topo_device *nic = gp_topo_nic(topo, picks[g].index);

		json_array_append_new(
			best, json_pack("{s:s, s:o, s:o, s:s}", "gpu", topo->gpus[g].name, "nic",
					nic ? json_string(nic->name) : json_null(), "class",
					class_json(picks[g].class), "why", picks[g].why));
	}
	return best;
}

static json_t *pairs_json(const struct gp_topo *topo)
{
	json_t *pairs = json_array();

	for (int g = 0; g < topo->n_gpus; g++)
		for (int n = 0; n < topo->n_nics; n++)
			json_array_append_new(pairs, json_pack("{s:s, s:s, s:o}", "gpu",
							       topo->gpus[g].name, "nic",
							       topo->nics[n].name, "class",
							       class_json(topo->pair[g][n])));
	return pairs;
}

static json_t *findings_json(const struct gp_topo *topo)
{
	struct gp_topo_finding findings[GP_TOPO_FINDINGS_MAX];
	int n = gp_topo_findings(topo, findings);
	json_t *list = json_array();

	for (int i = 0; i < n; i++) {
		const struct gp_topo_device *gpu = gp_topo_gpu(topo, findings[i].gpu);
		const struct gp_topo_device *nic = gp_topo_nic(topo, findings[i].nic);

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "id", findings[i].id,
					"severity", findings[i].severity, "message",
					findings[i].message, "fix", findings[i].fix, "gpu",
					gpu ? json_string(gpu->name) : json_null(), "nic",
					nic ? json_string(nic->name) : json_null()));
	}
	return list;
}

json_t *gp_topo_to_json(const struct gp_topo *topo)
{
	json_t *gpus = json_array(), *nics = json_array();

	for (int i = 0; i < topo->n_gpus; i++)
		json_array_append_new(gpus, gpu_json(&topo->gpus[i]));
	for (int i = 0; i < topo->n_nics; i++)
		json_array_append_new(nics, nic_json(topo, &topo->nics[i]));
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:n}", "schema",
			 "gdrproof/topo/1", "source", topo->source, "numa_nodes",
			 whole_json(topo->n_nodes), "sockets", whole_json(topo->n_sockets), "gpus",
			 gpus, "nics", nics, "pairs", pairs_json(topo), "best", best_json(topo),
			 "findings", findings_json(topo), "error");
}

/* --- graphviz --- */

static void quote(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void link_label(FILE *out, const struct gp_link *link)
{
	if (link->gts > 0 && link->width > 0)
		fprintf(out, "%g GT/s x%d", link->gts, link->width);
	else if (link->gbytes_per_s > 0)
		fprintf(out, "%.1f GB/s", link->gbytes_per_s);
}

static const char *const kind_text[] = {
	[GP_OBJ_HOST] = "host bridge",
	[GP_OBJ_BRIDGE] = "bridge",
	[GP_OBJ_SWITCH] = "switch",
	[GP_OBJ_FUNCTION] = "function",
};

/* What lies above a GPU or NIC, once; devices themselves are drawn as such. */
static void mark_above(const struct gp_topo *topo, const int *objs, int n, bool *used)
{
	for (int i = 0; i < n; i++)
		for (int at = objs[i]; at >= 0 && !used[at]; at = topo->objs[at].parent)
			used[at] = true;
}

static bool is_device(const struct gp_topo *topo, int obj)
{
	for (int i = 0; i < topo->n_gpus; i++)
		if (topo->gpu_obj[i] == obj)
			return true;
	for (int i = 0; i < topo->n_nics; i++)
		if (topo->nic_obj[i] == obj)
			return true;
	return false;
}

static void dot_bridges(const struct gp_topo *topo, FILE *out)
{
	bool used[GP_TOPO_OBJS_MAX] = {false};

	mark_above(topo, topo->gpu_obj, topo->n_gpus, used);
	mark_above(topo, topo->nic_obj, topo->n_nics, used);
	for (int i = 0; i < topo->n_objs; i++) {
		int up = topo->objs[i].parent;
		int node = gp_topo_obj_node(topo, i);

		if (!used[i] || is_device(topo, i))
			continue;
		fprintf(out, "\to%d [shape=ellipse, label=\"%s\\n", i,
			kind_text[topo->objs[i].kind]);
		quote(out, topo->objs[i].bdf);
		fprintf(out, "\"];\n");
		if (up >= 0) {
			fprintf(out, "\to%d -- o%d [label=\"", up, i);
			link_label(out, &topo->objs[i].link);
			fprintf(out, "\"];\n");
		} else if (node >= 0) {
			fprintf(out, "\tn%d [shape=box, style=rounded, label=\"NUMA node %d\"];\n",
				node, node);
			fprintf(out, "\tn%d -- o%d;\n", node, i);
		}
	}
}

static void dot_device(const struct gp_topo *topo, const struct gp_topo_device *device, int obj,
		       const char *id, int index, FILE *out)
{
	fprintf(out, "\t%s%d [shape=box, style=filled, fillcolor=\"%s\", label=\"", id, index,
		id[0] == 'g' ? "#d5e8d4" : "#dae8fc");
	quote(out, device->name);
	if (device->bdf[0])
		fprintf(out, "\\n%s", device->bdf);
	if (device->model[0]) {
		fprintf(out, "\\n");
		quote(out, device->model);
	}
	fprintf(out, "\"];\n");
	if (obj < 0 || topo->objs[obj].parent < 0)
		return;
	fprintf(out, "\to%d -- %s%d [label=\"", topo->objs[obj].parent, id, index);
	link_label(out, &device->link);
	fprintf(out, "\"];\n");
}

void gp_topo_to_dot(const struct gp_topo *topo, FILE *out)
{
	struct gp_topo_pick picks[GP_TOPO_MAX];

	fprintf(out, "graph topology {\n\tnode [fontname=\"sans-serif\"];\n"
		     "\tedge [fontname=\"sans-serif\", fontsize=10];\n");
	dot_bridges(topo, out);
	for (int i = 0; i < topo->n_gpus; i++)
		dot_device(topo, &topo->gpus[i], topo->gpu_obj[i], "gpu", i, out);
	for (int i = 0; i < topo->n_nics; i++)
		dot_device(topo, &topo->nics[i], topo->nic_obj[i], "nic", i, out);
	gp_topo_share(topo, picks);
	for (int g = 0; g < topo->n_gpus; g++)
		for (int n = 0; n < topo->n_nics; n++)
			if (topo->given || picks[g].index == n)
				fprintf(out,
					"\tgpu%d -- nic%d [label=\"%s\", style=%s, color=\"%s\", "
					"constraint=%s];\n",
					g, n, gp_class_name(topo->pair[g][n]),
					picks[g].index == n ? "bold" : "dotted",
					picks[g].index == n ? "#b85450" : "#999999",
					topo->given ? "true" : "false");
	fprintf(out, "}\n");
}
