/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify_json: the record of `path`, as in results/path.schema.json. What is not known is null.
 */
#include "classify.h"

#include <string.h>

/* NULL and bytes that are no UTF-8 become null and '?': input is whatever somebody pasted. */
static json_t *text(const char *value)
{
	json_t *json;
	char copy[700];

	if (!value)
		return json_null();
	json = json_string(value);
	if (json)
		return json;
	snprintf(copy, sizeof(copy), "%s", value);
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	return json_string(copy);
}

static json_t *text_or_null(const char *value)
{
	return value && value[0] ? text(value) : json_null();
}

static json_t *number_or_null(double value)
{
	return value < 0 ? json_null() : json_real(value);
}

static json_t *line_object(const char *source, const char *line, int number)
{
	json_t *json = json_object();

	json_object_set_new(json, "source", text(source));
	json_object_set_new(json, "line", text(line));
	json_object_set_new(json, "number", number ? json_integer(number) : json_null());
	return json;
}

static json_t *deciders(const struct gp_path_verdict *verdict)
{
	json_t *list = json_array();

	for (int i = 0; i < verdict->n_deciders; i++) {
		const struct gp_host_fact *fact = verdict->decider[i].fact;
		json_t *json = line_object(fact->source, fact->line, fact->number);

		json_object_set_new(json, "fact", text(verdict->decider[i].name));
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *prerequisites(const struct gp_prerequisite *need)
{
	json_t *json = json_object();

	for (int i = 0; i < GP_NEED_COUNT; i++) {
		json_t *row = json_object();

		json_object_set_new(row, "state", text(gp_state_word(need[i].state)));
		json_object_set_new(row, "detail", text(need[i].detail));
		json_object_set_new(json, gp_need_word((enum gp_prereq)i), row);
	}
	return json;
}

static json_t *findings(const struct gp_path_verdict *verdict)
{
	json_t *list = json_array();

	for (int i = 0; i < verdict->n_findings; i++) {
		const struct gp_finding *finding = &verdict->finding[i];
		json_t *json = json_object(), *evidence = json_array();

		for (int j = 0; j < finding->n_evidence; j++)
			json_array_append_new(evidence, line_object(finding->evidence[j].source,
								    finding->evidence[j].line,
								    finding->evidence[j].number));
		json_object_set_new(json, "id", text(finding->id));
		json_object_set_new(json, "severity", text(gp_severity_word(finding->severity)));
		json_object_set_new(json, "message", text(finding->message));
		json_object_set_new(json, "evidence", evidence);
		json_object_set_new(json, "fix", text(finding->fix));
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *nccl_lists(const struct gp_nccl *nccl, json_t *json)
{
	json_t *nics = json_array(), *gdr = json_object(), *env = json_object(),
	       *errors = json_array(), *lines = json_array();

	for (int i = 0; i < nccl->n_nics; i++)
		json_array_append_new(nics, text(nccl->nics[i].name));
	for (int i = 0; i < nccl->n_hcas; i++)
		json_object_set_new(gdr, nccl->hcas[i].name, json_boolean(nccl->hcas[i].gdr));
	for (int i = 0; i < nccl->n_env; i++)
		json_object_set_new(env, nccl->env[i].name, text(nccl->env[i].value));
	for (int i = 0; i < nccl->n_failures; i++) {
		const struct gp_nccl_failure *failure = &nccl->failures[i];
		json_t *row = json_object();

		json_object_set_new(row, "status",
				    failure->status < 0 ? json_null()
							: json_integer(failure->status));
		json_object_set_new(row, "vendor_err",
				    failure->vendor_err < 0 ? json_null()
							    : json_integer(failure->vendor_err));
		json_array_append_new(errors, row);
		json_array_append_new(
			lines, line_object(nccl->source, failure->line.text, failure->line.number));
	}
	json_object_set_new(json, "nics", nics);
	json_object_set_new(json, "gdr", gdr);
	json_object_set_new(json, "env", env);
	json_object_set_new(json, "errors", errors);
	json_object_set_new(json, "error_lines", lines); /* of each error, in the same order */
	return json;
}

static json_t *nccl_object(const struct gp_nccl *nccl)
{
	json_t *json = json_object();

	json_object_set_new(json, "source", text(nccl->source));
	json_object_set_new(json, "host", text_or_null(nccl->host));
	json_object_set_new(json, "version", text_or_null(nccl->version));
	json_object_set_new(json, "network", text_or_null(nccl->network));
	json_object_set_new(json, "link", text_or_null(nccl->link));
	json_object_set_new(json, "gdr_channels",
			    nccl->gdr_channels < 0 ? json_null()
						   : json_integer(nccl->gdr_channels));
	json_object_set_new(json, "net_channels",
			    nccl->net_channels < 0 ? json_null()
						   : json_integer(nccl->net_channels));
	json_object_set_new(json, "dmabuf_gpu",
			    nccl->dmabuf_line.number ? json_true() : json_null());
	json_object_set_new(json, "busbw",
			    number_or_null(nccl->busbw >= 0 ? nccl->busbw : nccl->busbw_top));
	return nccl_lists(nccl, json);
}

static json_t *node_object(const struct gp_inventory *inv, const struct gp_path_verdict *verdict)
{
	json_t *json = json_object(), *conditions = json_array(), *helm = json_array();
	json_t *both = json_object(), *unread = json_array();

	for (int i = 0; i < verdict->n_conditions; i++)
		json_array_append_new(conditions, text(verdict->condition[i]));
	for (int i = 0; i < verdict->n_helm; i++)
		json_array_append_new(helm, text(verdict->helm[i]));
	for (const struct gp_unread *u = inv->unread; u; u = u->next)
		json_array_append_new(unread, text(u->text));
	json_object_set_new(both, "dmabuf", prerequisites(verdict->dmabuf));
	json_object_set_new(both, "peermem", prerequisites(verdict->peermem));

	json_object_set_new(json, "name", text(inv->name));
	json_object_set_new(json, "source", text(inv->source));
	json_object_set_new(json, "path", text(gp_path_word(verdict->path)));
	json_object_set_new(json, "confidence",
			    text(verdict->confirmed ? "confirmed" : "conditional"));
	json_object_set_new(json, "conditions", conditions);
	json_object_set_new(json, "decided_by", deciders(verdict));
	json_object_set_new(json, "prerequisites", both);
	json_object_set_new(json, "findings", findings(verdict));
	json_object_set_new(json, "helm", helm);
	json_object_set_new(json, "unread", unread);
	json_object_set_new(json, "nccl",
			    inv->n_nccl > 0 ? nccl_object(inv->nccl[0]) : json_null());
	if (inv->n_nccl > 1)
		json_object_set_new(json, "nccl_other", nccl_object(inv->nccl[1]));
	return json;
}

static json_t *group_object(const struct gp_fleet *fleet, const struct gp_fleet_verdict *verdict,
			    const struct gp_group *group)
{
	const struct gp_path_verdict *first = &verdict->verdict[group->node[0]];
	json_t *json = json_object(), *nodes = json_array(), *ids = json_array();

	for (int i = 0; i < group->n; i++) {
		const struct gp_inventory *node = fleet->nodes[group->node[i]];

		json_array_append_new(nodes, text(node->name ? node->name : node->source));
	}
	for (int i = 0; i < first->n_findings; i++)
		json_array_append_new(ids, text(first->finding[i].id));
	json_object_set_new(json, "nodes", nodes);
	json_object_set_new(json, "path", text(gp_path_word(first->path)));
	json_object_set_new(json, "findings", ids);
	return json;
}

json_t *gp_classify_to_json(const struct gp_fleet *fleet, const struct gp_fleet_verdict *verdict)
{
	json_t *json = json_object(), *nodes = json_array(), *groups = json_array();

	for (int i = 0; i < fleet->n; i++)
		json_array_append_new(nodes, node_object(fleet->nodes[i], &verdict->verdict[i]));
	for (int i = 0; i < verdict->n_groups; i++)
		json_array_append_new(groups, group_object(fleet, verdict, &verdict->group[i]));
	json_object_set_new(json, "schema", json_string("gdrproof/path/1"));
	json_object_set_new(json, "nodes", nodes);
	json_object_set_new(json, "groups", groups);
	json_object_set_new(json, "summary", text(verdict->summary));
	json_object_set_new(json, "error", json_null());
	return json;
}
