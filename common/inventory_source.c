/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_source: files and directories as nodes.
 *
 * A text may have several nodes, told apart by their prompts. A directory is one node where it
 * holds files that are named after commands or mirror paths; where it does not, each directory and
 * file in it is a source of its own. Objects of the cluster that stand beside nodes hold for them.
 */
#include "intent.h"
#include "inventory_text.h"

#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 20000
#define DEPTH_MAX   10

/* The nodes of one text by host name; `first` takes what no host is named for. */
struct hosts {
	struct gp_fleet *fleet;
	struct gp_inventory *first;
	int first_index; /* nodes of the fleet from here on are of this source */
	const char *source;
	bool pods_are_nodes;
};

static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");

	return strcmp(a, b) == 0 || (n == strcspn(b, ".") && strncmp(a, b, n) == 0);
}

/* More than one pod or container in one text: each stands for the node that it runs on. */
static bool has_several_targets(const struct gp_segments *segments)
{
	const char *seen = NULL;

	for (int i = 0; i < segments->n; i++) {
		const char *target = segments->item[i].target;

		if (!target[0])
			continue;
		if (seen && strcmp(seen, target) != 0)
			return true;
		seen = target;
	}
	return false;
}

static const char *host_of(const struct hosts *hosts, const struct gp_segment *segment)
{
	if (segment->target[0] && (!segment->inside || hosts->pods_are_nodes))
		return segment->target;
	return gp_is_container_id(segment->host) ? "" : segment->host;
}

static struct gp_inventory *node_of(struct hosts *hosts, const struct gp_segment *segment)
{
	const char *host = host_of(hosts, segment);
	struct gp_inventory *node;

	if (!host[0])
		return hosts->first;
	for (int i = hosts->first_index; i < hosts->fleet->n; i++) {
		node = hosts->fleet->nodes[i];
		if (node->name && same_host(node->name, host))
			return node;
	}
	/* the first name goes to the node that has none yet */
	if (!hosts->first->name) {
		hosts->first->name = strdup(host);
		return hosts->first;
	}
	node = gp_fleet_add(hosts->fleet);
	if (!node)
		return hosts->first;
	node->name = strdup(host);
	node->source = strdup(hosts->source);
	return node;
}

static void read_nccl(struct gp_inventory *node, const struct gp_segment *segment,
		      const char *source)
{
	struct gp_nccl *nccl;

	if (node->n_nccl == 2)
		return;
	nccl = malloc(sizeof(*nccl));
	if (!nccl)
		return;
	gp_nccl_init(nccl);
	snprintf(nccl->source, sizeof(nccl->source), "%s", source);
	for (int i = 0; i < segment->n; i++)
		gp_nccl_line(nccl, segment->lines[i].text, segment->lines[i].number);
	if (nccl->any)
		node->nccl[node->n_nccl++] = nccl;
	else
		free(nccl);
}

static bool has_nccl(const struct gp_segment *segment)
{
	for (int i = 0; i < segment->n; i++)
		if (strstr(segment->lines[i].text, "NCCL INFO") ||
		    strstr(segment->lines[i].text, "NCCL WARN"))
			return true;
	return false;
}

static void read_segment(struct gp_inventory *node, const struct gp_segment *segment,
			 const char *source)
{
	gp_tools_read(node, segment, source);
	gp_shapes_read(node, segment, source);
	gp_intent_read(node, segment, source);
	if (has_nccl(segment))
		read_nccl(node, segment, source);
}

/* pdsh and clush print "HOST: LINE": the lines of one host as a segment of its own. */
static bool split_prefixed(const struct gp_segment *segment, const char *host,
			   struct gp_segment *out)
{
	size_t length = strlen(host);

	*out = *segment;
	out->lines = calloc((size_t)segment->n + 1, sizeof(*out->lines));
	out->n = 0;
	if (!out->lines)
		return false;
	snprintf(out->host, sizeof(out->host), "%s", host);
	for (int i = 0; i < segment->n; i++) {
		struct gp_line line = segment->lines[i];

		if (strncmp(line.text, host, length) != 0 || line.text[length] != ':')
			continue;
		line.text += length + 1;
		line.text += *line.text == ' ';
		out->lines[out->n++] = line;
	}
	return true;
}

static void read_prefixed(struct hosts *hosts, const struct gp_segment *segment, const char *source)
{
	for (int i = 0; i < segment->n; i++) {
		const char *text = segment->lines[i].text;
		size_t length = strcspn(text, ": \t");
		struct gp_segment part;
		char host[64];
		bool seen = false;

		if (length == 0 || length >= sizeof(host) || text[length] != ':')
			continue;
		memcpy(host, text, length);
		host[length] = '\0';
		for (int j = 0; j < i && !seen; j++)
			seen = strncmp(segment->lines[j].text, host, length) == 0 &&
			       segment->lines[j].text[length] == ':';
		if (seen || !split_prefixed(segment, host, &part))
			continue;
		part.target[0] = '\0';
		read_segment(node_of(hosts, &part), &part, source);
		free(part.lines);
	}
}

static bool is_prefixed(const struct gp_segment *segment)
{
	struct gp_command command;

	if (!segment->command)
		return false;
	gp_command_read(segment->command, &command);
	return command.prefixed;
}

void gp_inventory_text(struct gp_fleet *fleet, struct gp_inventory *first, const char *label,
		       const char *command, char *text, size_t length)
{
	struct hosts hosts = {.fleet = fleet, .first = first, .source = label};
	struct gp_segments segments;

	while (hosts.first_index < fleet->n && fleet->nodes[hosts.first_index] != first)
		hosts.first_index++;
	if (gp_segments_read(text, length, command, &segments) < 0) {
		gp_inventory_unread(first, "%s: binary, not read", label);
		gp_segments_close(&segments);
		return;
	}
	hosts.pods_are_nodes = has_several_targets(&segments);
	for (int i = 0; i < segments.n; i++) {
		const struct gp_segment *segment = &segments.item[i];
		/* a captured file is cited by its name, a pasted command by itself */
		const char *source =
			segment->command && !(command && i == 0) ? segment->command : label;

		if (is_prefixed(segment))
			read_prefixed(&hosts, segment, source);
		else
			read_segment(node_of(&hosts, segment), segment, source);
	}
	gp_segments_close(&segments);
}

/* --- directories --- */

struct source {
	struct gp_fleet *fleet;
	struct gp_root root;
	const char *name; /* SRC as given */
	int files;	  /* that could be read */
};

static void read_entry(struct source *source, struct gp_inventory *node, const char *path)
{
	struct gp_error err = {0};
	struct gp_bytes bytes;
	char command[300];
	bool known = gp_tool_from_file(path, command, sizeof(command));

	if (gp_root_read(&source->root, path, &bytes, &err) < 0) {
		gp_inventory_unread(node, "%s", err.fact);
		return;
	}
	source->files++;
	gp_inventory_text(source->fleet, node, path, known ? command : NULL, bytes.text,
			  bytes.length);
	free(bytes.text);
}

/* The one thing that links, not files, tell in sysfs: a device's driver. */
static void read_infiniband(struct source *source, struct gp_inventory *node, const char *path)
{
	char **names, link[1400], driver[64];
	int n = gp_root_list(&source->root, path, GP_DEVICES_MAX, &names);

	for (int i = 0; i < n; i++) {
		struct gp_origin where = {path, names[i], 0};
		bool known;

		snprintf(link, sizeof(link), "%s/%s/device/driver", path, names[i]);
		known = gp_root_link_name(&source->root, link, driver, sizeof(driver));
		gp_inventory_nic(node, names[i], known ? driver : NULL, &where);
	}
	gp_root_names_free(names, n);
}

static bool is_sysfs_directory(const char *path, const char *tail)
{
	size_t a = strlen(path), b = strlen(tail);

	return a >= b && strcmp(path + a - b, tail) == 0;
}

/* All files of one node, in order of their names. */
static void read_tree(struct source *source, struct gp_inventory *node, const char *path, int depth)
{
	char **names, below[1024];
	int n = gp_root_list(&source->root, path, ENTRIES_MAX, &names);

	for (int i = 0; i < n && depth < DEPTH_MAX; i++) {
		int length = snprintf(below, sizeof(below), "%s%s%s", path, path[0] ? "/" : "",
				      names[i]);

		if (length >= (int)sizeof(below) || names[i][0] == '.')
			continue;
		if (!gp_root_is_directory(&source->root, below)) {
			read_entry(source, node, below);
			continue;
		}
		if (is_sysfs_directory(below, "sys/class/infiniband"))
			read_infiniband(source, node, below);
		else if (is_sysfs_directory(below, "sys/module/nvidia_peermem"))
			gp_inventory_set(node, GP_FACT_PEERMEM, GP_YES, GP_RANK_KERNEL, NULL,
					 &(struct gp_origin){below, names[i], 0});
		else if (is_sysfs_directory(below, "kernel/mm/memory_peers"))
			gp_inventory_set(node, GP_FACT_MEMORY_PEERS, GP_YES, GP_RANK_KERNEL, NULL,
					 &(struct gp_origin){below, names[i], 0});
		if (!is_sysfs_directory(below, "sys/class/infiniband"))
			read_tree(source, node, below, depth + 1);
	}
	gp_root_names_free(names, n);
}

/* Does this entry make its directory one node? Cluster objects may stand beside nodes. */
static bool is_host_entry(const char *name)
{
	static const char *const directories[] = {"proc", "sys", "etc", "sos_commands", "usr"};
	static const char *const cluster[] = {"helm", "kubectl", "oc"};
	char command[300];
	struct gp_command parsed;

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (strcmp(name, directories[i]) == 0)
			return true;
	if (!gp_tool_from_file(name, command, sizeof(command)))
		return false;
	gp_command_read(command, &parsed);
	for (size_t i = 0; i < sizeof(cluster) / sizeof(cluster[0]); i++)
		if (strncmp(command, cluster[i], strlen(cluster[i])) == 0 &&
		    (command[strlen(cluster[i])] == ' ' || !command[strlen(cluster[i])]))
			return false;
	return true;
}

static struct gp_inventory *node_add(struct source *source, const char *name)
{
	struct gp_inventory *node = gp_fleet_add(source->fleet);

	if (node)
		node->source = strdup(name);
	return node;
}

static void read_directory(struct source *source, const char *path, int depth);

static void read_child(struct source *source, const char *below, int depth)
{
	struct gp_inventory *node;

	if (gp_root_is_directory(&source->root, below)) {
		read_directory(source, below, depth + 1);
		return;
	}
	node = node_add(source, below);
	if (node)
		read_entry(source, node, below);
}

/* The last component without ".txt", for a node that nothing else names. */
static void name_after_path(struct gp_inventory *node, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!node->name && path[0])
		node->name = strdup(slash ? slash + 1 : path);
	if (node->name && strlen(node->name) > 4 &&
	    strcmp(node->name + strlen(node->name) - 4, ".txt") == 0)
		node->name[strlen(node->name) - 4] = '\0';
}

static void read_directory(struct source *source, const char *path, int depth)
{
	char **names, below[1024];
	int n = gp_root_list(&source->root, path, ENTRIES_MAX, &names);
	bool one_node = false;

	for (int i = 0; i < n; i++)
		one_node |= is_host_entry(names[i]);
	if (one_node) {
		struct gp_inventory *node = node_add(source, path[0] ? path : source->name);

		if (node) {
			read_tree(source, node, path, 0);
			name_after_path(node, path);
		}
	}
	for (int i = 0; i < n && !one_node && depth < 4; i++) {
		int length = snprintf(below, sizeof(below), "%s%s%s", path, path[0] ? "/" : "",
				      names[i]);

		if (length < (int)sizeof(below) && names[i][0] != '.')
			read_child(source, below, depth);
	}
	gp_root_names_free(names, n);
}

/* --- a SRC --- */

/* Several files of one SRC may be of one host: the later one's facts go to the first. */
static void merge_namesakes(struct gp_fleet *fleet, int first)
{
	int kept = first;

	for (int i = first; i < fleet->n; i++) {
		struct gp_inventory *node = fleet->nodes[i], *same = NULL;

		for (int j = first; j < kept && node->name && !same; j++)
			if (fleet->nodes[j]->name && same_host(fleet->nodes[j]->name, node->name))
				same = fleet->nodes[j];
		if (!same) {
			fleet->nodes[kept++] = node;
			continue;
		}
		gp_inventory_merge(same, node);
		gp_inventory_close(node);
		free(node);
	}
	fleet->n = kept;
}

/* Sources without a host in them (values.yaml, a bastion's transcript) speak for the cluster. */
static void settle_source(struct gp_fleet *fleet, int first)
{
	struct gp_inventory cluster = {0};
	int kept = first;

	for (int i = first; i < fleet->n; i++)
		if (!gp_inventory_has_host(fleet->nodes[i]))
			gp_inventory_adopt(&cluster, fleet->nodes[i]);
	for (int i = first; i < fleet->n; i++) {
		struct gp_inventory *node = fleet->nodes[i];
		bool keep = gp_inventory_has_host(node) || fleet->n - first == 1;

		if (keep) {
			gp_inventory_adopt(node, &cluster);
			fleet->nodes[kept++] = node;
			continue;
		}
		for (const struct gp_unread *u = node->unread; u; u = u->next)
			gp_inventory_unread(&fleet->cluster, "%s", u->text);
		gp_inventory_close(node);
		free(node);
	}
	fleet->n = kept;
	gp_inventory_close(&cluster);
}

static int check_source(struct gp_fleet *fleet, int first, const char *src, struct gp_error *err)
{
	const struct gp_unread *why = NULL;

	for (int i = first; i < fleet->n; i++) {
		if (gp_inventory_has_host(fleet->nodes[i]) ||
		    gp_inventory_has_intent(fleet->nodes[i]))
			return 0;
		if (!why)
			why = fleet->nodes[i]->unread;
	}
	if (!why)
		why = fleet->cluster.unread;
	if (why)
		return gp_error_set(err, GP_EXIT_USAGE, "%s", why->text);
	gp_error_set(err, GP_EXIT_USAGE, "%s: nothing in it tells of a host or its cluster", src);
	gp_error_advise(err, "it takes the output of uname -r, cat /proc/driver/nvidia/version, "
			     "lsmod, ofed_info -s and the like, each below its command");
	return -1;
}

static int read_directory_source(struct gp_fleet *fleet, const char *src, struct gp_error *err)
{
	struct source source = {.fleet = fleet, .name = src};

	if (gp_root_open(src, &source.root, err) < 0)
		return -1;
	read_directory(&source, "", 0);
	gp_root_close(&source.root);
	if (source.files == 0)
		return gp_error_set(err, GP_EXIT_USAGE, "%s: no file in it can be read", src);
	return 0;
}

static int read_file_source(struct gp_fleet *fleet, const char *src, struct gp_error *err)
{
	struct gp_inventory *node;
	struct gp_bytes bytes;

	if (gp_root_read_file(src, &bytes, err) < 0)
		return -1;
	node = gp_fleet_add(fleet);
	if (node) {
		node->source = strdup(src);
		gp_inventory_text(fleet, node, src, NULL, bytes.text, bytes.length);
	}
	free(bytes.text);
	return node ? 0 : gp_error_set(err, GP_EXIT_FAILED, "no memory");
}

int gp_fleet_read(struct gp_fleet *fleet, const char *src, struct gp_error *err)
{
	struct gp_error ignored = {0};
	struct gp_root root = {.fd = -1};
	int first = fleet->n, rc;

	if (gp_root_open(src, &root, &ignored) == 0) {
		gp_root_close(&root);
		rc = read_directory_source(fleet, src, err);
	} else {
		rc = read_file_source(fleet, src, err);
	}
	if (rc < 0)
		return -1;
	if (check_source(fleet, first, src, err) < 0)
		return -1;
	merge_namesakes(fleet, first);
	settle_source(fleet, first);
	return 0;
}

static bool is_yaml_name(const char *file)
{
	const char *dot = strrchr(file, '.');

	return dot &&
	       (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 || strcmp(dot, ".json") == 0);
}

int gp_fleet_read_intent(struct gp_fleet *fleet, const char *file, struct gp_error *err)
{
	struct gp_inventory *cluster = &fleet->cluster;
	struct gp_segments segments;
	struct gp_bytes bytes;
	char why[200] = "";
	int taken = 0;

	if (gp_root_read_file(file, &bytes, err) < 0)
		return -1;
	if (gp_segments_read(bytes.text, bytes.length, NULL, &segments) < 0)
		gp_error_set(err, GP_EXIT_USAGE, "%s: binary, not YAML or JSON", file);
	/* a file of values is one document, a transcript is many; the first try tells which */
	if (segments.n == 1 && !segments.item[0].command)
		taken = gp_intent_yaml(cluster, segments.item[0].lines, segments.item[0].n, file,
				       why, sizeof(why));
	for (int i = 0; i < segments.n; i++) {
		struct gp_segment *segment = &segments.item[i];
		const char *source = segment->command ? segment->command : file;

		gp_intent_read(cluster, segment, source);
		gp_shapes_read(cluster, segment, source);
	}
	gp_segments_close(&segments);
	free(bytes.text);
	if (err->set)
		return -1;
	/* what is named YAML has to be; anything else may be `kubectl describe` or a log */
	if (taken < 0 && (is_yaml_name(file) || !gp_inventory_has_intent(cluster)))
		return gp_error_set(err, GP_EXIT_USAGE, "%s: broken YAML or JSON: %s", file, why);
	if (!gp_inventory_has_intent(cluster) && !gp_inventory_has_host(cluster))
		return gp_error_set(err, GP_EXIT_USAGE,
				    "%s: no GPU Operator or Network Operator setting in it", file);
	return 0;
}

/* The node that a log belongs to: by host name, else the only one, else a new one. */
static struct gp_inventory *nccl_node(struct gp_fleet *fleet, const struct gp_nccl *nccl)
{
	struct gp_inventory *node;

	for (int i = 0; i < fleet->n; i++)
		if (fleet->nodes[i]->name && nccl->host[0] &&
		    same_host(fleet->nodes[i]->name, nccl->host))
			return fleet->nodes[i];
	/* off and on of one comparison are one node's, whatever rank's host came first */
	if (fleet->n == 1)
		return fleet->nodes[0];
	node = gp_fleet_add(fleet);
	if (node) {
		node->source = strdup(nccl->source);
		if (nccl->host[0])
			node->name = strdup(nccl->host);
	}
	return node;
}

static void read_nccl_lines(struct gp_nccl *nccl, const struct gp_segments *segments)
{
	for (int i = 0; i < segments->n; i++) {
		const struct gp_segment *segment = &segments->item[i];

		if (segment->command)
			gp_nccl_line(nccl, segment->command, segment->command_number);
		for (int j = 0; j < segment->n; j++)
			gp_nccl_line(nccl, segment->lines[j].text, segment->lines[j].number);
	}
}

int gp_fleet_read_nccl(struct gp_fleet *fleet, const char *file, struct gp_error *err)
{
	struct gp_inventory *node = NULL;
	struct gp_segments segments;
	struct gp_bytes bytes;
	struct gp_nccl *nccl;

	if (gp_root_read_file(file, &bytes, err) < 0)
		return -1;
	nccl = malloc(sizeof(*nccl));
	if (nccl && gp_segments_read(bytes.text, bytes.length, NULL, &segments) == 0) {
		gp_nccl_init(nccl);
		snprintf(nccl->source, sizeof(nccl->source), "%s", file);
		read_nccl_lines(nccl, &segments);
		gp_segments_close(&segments);
		node = nccl->any ? nccl_node(fleet, nccl) : NULL;
	}
	free(bytes.text);
	if (node && node->n_nccl < 2) {
		node->nccl[node->n_nccl++] = nccl;
		return 0;
	}
	free(nccl);
	if (node)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "%s: a third NCCL log of one host; two are compared", file);
	gp_error_set(err, GP_EXIT_USAGE, "%s: no NCCL line in it", file);
	gp_error_advise(err, "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET and give "
			     "the output of all ranks");
	return -1;
}
