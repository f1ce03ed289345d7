/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify_fleet: many hosts together. Groups by path and findings, the settings that one cluster
 * has for nodes that differ, and the sentence for the case notes.
 */
#include "classify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same path, confidence aside, and the same findings in the same order (the table's). */
static bool same_group(const struct gp_path_verdict *a, const struct gp_path_verdict *b)
{
	if (a->path != b->path || a->n_findings != b->n_findings)
		return false;
	for (int i = 0; i < a->n_findings; i++)
		if (strcmp(a->finding[i].id, b->finding[i].id) != 0)
			return false;
	return true;
}

static int group_add(struct gp_fleet_verdict *out, int node)
{
	struct gp_group *group = NULL;
	int *nodes;

	for (int i = 0; i < out->n_groups && !group; i++)
		if (same_group(&out->verdict[out->group[i].node[0]], &out->verdict[node]))
			group = &out->group[i];
	if (!group) {
		struct gp_group *groups =
			realloc(out->group, sizeof(*groups) * (size_t)(out->n_groups + 1));

		if (!groups)
			return -1;
		out->group = groups;
		group = &groups[out->n_groups];
		*group = (struct gp_group){0};
	}
	nodes = realloc(group->node, sizeof(*nodes) * (size_t)(group->n + 1));
	if (!nodes)
		return -1;
	group->node = nodes;
	group->node[group->n++] = node;
	out->n_groups += group == &out->group[out->n_groups];
	return 0;
}

/* Is useHostMofed right for this node? Unknown where the node's OFED is. */
static enum gp_known fits(const struct gp_inventory *node, enum gp_known told)
{
	enum gp_known ofed = node->facts[GP_FACT_OFED].known;

	if (ofed == GP_UNKNOWN)
		return GP_UNKNOWN;
	return ofed == told ? GP_YES : GP_NO;
}

/* One useHostMofed over nodes of which some have OFED and some have none. */
static void find_split(const struct gp_fleet *fleet, struct gp_split *split)
{
	enum gp_known told = GP_UNKNOWN;

	for (int i = 0; i < fleet->n; i++) {
		enum gp_known here = fleet->nodes[i]->facts[GP_FACT_HOST_MOFED].known;

		if (here == GP_UNKNOWN)
			continue;
		if (told != GP_UNKNOWN && here != told)
			return; /* more than one setting: more than one cluster */
		told = here;
	}
	if (told == GP_UNKNOWN)
		return;
	for (int i = 0; i < fleet->n; i++) {
		enum gp_known fit = fits(fleet->nodes[i], told);

		split->right += fit == GP_YES;
		split->wrong += fit == GP_NO;
		split->unknown += fit == GP_UNKNOWN;
	}
	split->there = split->right > 0 && split->wrong > 0;
	split->told = told == GP_YES;
}

static void describe_split(struct gp_split *split)
{
	int total = split->right + split->wrong + split->unknown;

	snprintf(split->message, sizeof(split->message),
		 "one cluster-wide useHostMofed=%s over nodes that differ: right for %d of %d "
		 "nodes, "
		 "which have %s, wrong for %d, which have %s",
		 split->told ? "true" : "false", split->right, total,
		 split->told ? "OFED on the host" : "none", split->wrong,
		 split->told ? "none" : "OFED on the host");
	snprintf(split->fix, sizeof(split->fix),
		 "two ways: (1) change the nodes: %s, and keep --set driver.rdma.useHostMofed=%s; "
		 "one owner of OFED, at the price of work on every such host at each upgrade. "
		 "(2) change the setting: --set driver.rdma.useHostMofed=%s, %s; the operator then "
		 "owns OFED on all nodes, at the price of draining the other %d once. Nodes that "
		 "stay different need a NIC policy and a driver policy (NVIDIADriver) of their own "
		 "by nodeSelector",
		 split->told ? "install the same OFED on those that have none"
			     : "remove OFED from those that have it",
		 split->told ? "true" : "false", split->told ? "false" : "true",
		 split->told ? "remove OFED from the hosts that have it, and let the Network "
			       "Operator's ofedDriver supply DOCA-OFED everywhere"
			     : "and install OFED on the hosts that have none",
		 split->right);
}

/* The finding stands with the nodes for which the setting is wrong. */
static void add_split(const struct gp_fleet *fleet, struct gp_fleet_verdict *out)
{
	find_split(fleet, &out->split);
	if (!out->split.there)
		return;
	describe_split(&out->split);
	for (int i = 0; i < fleet->n; i++) {
		const struct gp_inventory *node = fleet->nodes[i];
		const struct gp_host_fact *facts[] = {&node->facts[GP_FACT_HOST_MOFED],
						      &node->facts[GP_FACT_OFED]};
		struct gp_path_verdict *verdict = &out->verdict[i];
		struct gp_finding *finding = &verdict->finding[verdict->n_findings];

		if (fits(node, out->split.told ? GP_YES : GP_NO) != GP_NO ||
		    verdict->n_findings == GP_FINDINGS_MAX)
			continue;
		*finding = (struct gp_finding){.id = "clusterwide-mofed-split",
					       .severity = GP_SEVERITY_ERROR};
		snprintf(finding->message, sizeof(finding->message), "%s", out->split.message);
		snprintf(finding->fix, sizeof(finding->fix), "%s", out->split.fix);
		for (int j = 0; j < 2; j++) {
			finding->evidence[j].source = facts[j]->source;
			finding->evidence[j].line = facts[j]->line;
			finding->evidence[j].number = facts[j]->number;
			finding->n_evidence += facts[j]->known != GP_UNKNOWN;
		}
		verdict->n_findings++;
		gp_findings_sort(verdict);
	}
}

/* "driver 535.183.06, kernel 4.18.0-553.el8, module loaded" */
static const char *why(const struct gp_path_verdict *verdict, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; i < verdict->n_deciders && i < 3 && used < size; i++) {
		const struct gp_host_fact *fact = verdict->decider[i].fact;
		bool module = strcmp(verdict->decider[i].name, "module") == 0;
		const char *state = fact->known == GP_NO ? "absent" : (module ? "loaded" : "there");

		used += (size_t)snprintf(buf + used, size - used, "%s%s %s", used ? ", " : "",
					 verdict->decider[i].name,
					 fact->value[0] ? fact->value : state);
	}
	return buf;
}

static void count_path(char *buf, size_t size, enum gp_path_id path, int n, const char *reason)
{
	static const char *const words[] = {"undetermined", "without a path", "on peermem",
					    "on dmabuf"};
	size_t used = strlen(buf);

	if (n > 0)
		snprintf(buf + used, size - used, "%s%d %s%s%s%s", used ? ", " : "", n, words[path],
			 reason[0] ? " (" : "", reason, reason[0] ? ")" : "");
}

/* "12 nodes: 8 on peermem (driver …), 4 on dmabuf (…); useHostMofed=true is wrong for 4; …" */
static void summarise(struct gp_fleet_verdict *out)
{
	static const enum gp_path_id order[] = {GP_PATH_DMABUF, GP_PATH_PEERMEM, GP_PATH_NONE,
						GP_PATH_UNDETERMINED};
	char paths[400] = "", reason[140];

	for (size_t p = 0; p < sizeof(order) / sizeof(order[0]); p++) {
		int n = 0;

		reason[0] = '\0';
		for (int i = out->n; i-- > 0;)
			if (out->verdict[i].path == order[p]) {
				n++;
				why(&out->verdict[i], reason, sizeof(reason));
			}
		count_path(paths, sizeof(paths), order[p], n, reason);
	}
	snprintf(out->summary, sizeof(out->summary), "%d node%s: %s", out->n,
		 out->n == 1 ? "" : "s", paths);
	if (out->split.there) {
		size_t used = strlen(out->summary);

		snprintf(out->summary + used, sizeof(out->summary) - used,
			 "; the cluster-wide useHostMofed=%s is wrong for %d of them; nothing is "
			 "changed before gdrproof bw has measured one node of each group",
			 out->split.told ? "true" : "false", out->split.wrong);
	}
}

int gp_classify_fleet(const struct gp_fleet *fleet, struct gp_fleet_verdict *out)
{
	*out = (struct gp_fleet_verdict){0};
	out->verdict = calloc((size_t)fleet->n + 1, sizeof(*out->verdict));
	if (!out->verdict)
		return -1;
	out->n = fleet->n;
	for (int i = 0; i < fleet->n; i++)
		gp_classify(fleet->nodes[i], &out->verdict[i]);
	add_split(fleet, out);
	for (int i = 0; i < fleet->n; i++)
		if (group_add(out, i) < 0) {
			gp_fleet_verdict_close(out);
			return -1;
		}
	summarise(out);
	return 0;
}

void gp_fleet_verdict_close(struct gp_fleet_verdict *fleet)
{
	for (int i = 0; i < fleet->n_groups; i++)
		free(fleet->group[i].node);
	free(fleet->group);
	free(fleet->verdict);
	*fleet = (struct gp_fleet_verdict){0};
}
