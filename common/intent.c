/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intent: see intent.h. A YAML or JSON document is walked once as events; each scalar has a dotted
 * path ("spec.driver.rdma.enabled"), and a row of `settings` says which fact the end of a path is.
 * helm values, --set flags and the objects of the cluster share the rows.
 */
#include "intent.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define PATH_MAX_BYTES 256
#define DEPTH_MAX      40

enum setting_type {
	SET_BOOL,    /* true, false */
	SET_WORD,    /* the value as it is; yes */
	SET_PRESENT, /* being there with any value is yes, "false" is no */
	SET_OPEN,    /* true asks for the open module; false is a default that asks for nothing */
};

/* `path` is the end of a path, from a dot or the start on. */
static const struct setting {
	const char *path;
	enum gp_fact_id id;
	enum setting_type type;
} settings[] = {
	{"driver.rdma.enabled", GP_FACT_RDMA_ENABLED, SET_BOOL},
	{"driver.rdma.useHostMofed", GP_FACT_HOST_MOFED, SET_BOOL},
	{"driver.kernelModuleType", GP_FACT_MODULE_TYPE, SET_WORD},
	{"driver.useOpenKernelModules", GP_FACT_MODULE_TYPE, SET_OPEN},
	{"driver.enabled", GP_FACT_DRIVER_MANAGED, SET_BOOL},
	{"driver.version", GP_FACT_OPERATOR_DRIVER, SET_WORD},
	{"gds.enabled", GP_FACT_GDS, SET_BOOL},
	{"gds.version", GP_FACT_GDS_VERSION, SET_WORD},
	/* the NVIDIADriver object: the same without "driver." */
	{"spec.rdma.enabled", GP_FACT_RDMA_ENABLED, SET_BOOL},
	{"spec.rdma.useHostMofed", GP_FACT_HOST_MOFED, SET_BOOL},
	{"spec.kernelModuleType", GP_FACT_MODULE_TYPE, SET_WORD},
	/* NicClusterPolicy, and the Network Operator's helm values */
	{"ofedDriver.version", GP_FACT_OFED_DRIVER, SET_WORD},
	{"ofedDriver.image", GP_FACT_OFED_DRIVER, SET_PRESENT},
	{"ofedDriver.deploy", GP_FACT_OFED_DRIVER, SET_BOOL},
	{"operator.version", GP_FACT_GPU_OPERATOR, SET_WORD},
};
#define N_SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* Environment variables of the driver DaemonSet's containers. */
static const struct {
	const char *name;
	enum gp_fact_id id;
	enum setting_type type;
} variables[] = {
	{"GPU_DIRECT_RDMA_ENABLED", GP_FACT_RDMA_ENABLED, SET_BOOL},
	{"USE_HOST_MOFED", GP_FACT_HOST_MOFED, SET_BOOL},
	{"KERNEL_MODULE_TYPE", GP_FACT_MODULE_TYPE, SET_WORD},
	{"OPEN_KERNEL_MODULES_ENABLED", GP_FACT_MODULE_TYPE, SET_OPEN},
	{"GDS_ENABLED", GP_FACT_GDS, SET_BOOL},
};
#define N_VARIABLES (sizeof(variables) / sizeof(variables[0]))

/* Apply a value to a fact; returns 1, or 0 where the value is none of the type's. */
static int apply(struct gp_inventory *inv, enum gp_fact_id id, enum setting_type type,
		 const char *value, const struct gp_origin *where)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};
	static const char *const no[] = {"false", "no", "off", "0"};
	enum gp_known known = GP_UNKNOWN;

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcasecmp(value, yes[i]) == 0)
			known = GP_YES;
		if (strcasecmp(value, no[i]) == 0)
			known = GP_NO;
	}
	if ((type == SET_WORD || type == SET_PRESENT) && known != GP_NO && value[0])
		known = GP_YES;
	if (known == GP_UNKNOWN || (type == SET_OPEN && known == GP_NO))
		return 0;
	if (type != SET_WORD)
		value = type == SET_OPEN ? "open" : NULL;
	gp_inventory_set(inv, id, known, type == SET_OPEN ? GP_RANK_INDIRECT : GP_RANK_DIRECT,
			 value, where);
	return 1;
}

static bool path_ends(const char *path, const char *with)
{
	size_t a = strlen(path), b = strlen(with);

	return a >= b && strcasecmp(path + a - b, with) == 0 && (a == b || path[a - b - 1] == '.');
}

static int apply_path(struct gp_inventory *inv, const char *path, const char *value,
		      const struct gp_origin *where)
{
	int n = 0;

	for (size_t i = 0; i < N_SETTINGS; i++)
		if (path_ends(path, settings[i].path))
			n += apply(inv, settings[i].id, settings[i].type, value, where);
	return n;
}

static int apply_variable(struct gp_inventory *inv, const char *name, const char *value,
			  const struct gp_origin *where)
{
	for (size_t i = 0; i < N_VARIABLES; i++)
		if (strcmp(name, variables[i].name) == 0)
			return apply(inv, variables[i].id, variables[i].type, value, where);
	return 0;
}

/* "gpu-operator-v24.9.2", "nvcr.io/nvidia/gpu-operator:v25.3.0", "network-operator-26.7.0": in
 * `helm list`, in labels and images. Returns how many it took. */
static int apply_chart(struct gp_inventory *inv, const char *text, const struct gp_origin *where)
{
	static const struct {
		const char *name;
		enum gp_fact_id id;
	} charts[] = {
		{"gpu-operator", GP_FACT_GPU_OPERATOR},
		{"network-operator", GP_FACT_NETWORK_OPERATOR},
	};
	int taken = 0;

	for (size_t i = 0; i < sizeof(charts) / sizeof(charts[0]); i++) {
		size_t length = strlen(charts[i].name);

		for (const char *p = text; (p = strstr(p, charts[i].name)); p += length) {
			const char *version = p + length + (p[length] != '\0');
			char copy[32];

			if (p[length] != '-' && p[length] != ':')
				continue;
			version += *version == 'v';
			snprintf(copy, sizeof(copy), "%.*s", (int)strspn(version, "0123456789."),
				 version);
			/* a pod's hash begins with a digit as well; a version has a dot */
			if (!strchr(copy, '.'))
				continue;
			gp_inventory_set(inv, charts[i].id, GP_YES, GP_RANK_DIRECT, copy, where);
			taken++;
		}
	}
	return taken;
}

/* --- documents --- */

/* One container of the walk: a mapping or a sequence, and where its path begins. */
struct level {
	bool mapping, want_key;
	size_t path_length;
};

struct walk {
	struct gp_inventory *inv;
	const struct gp_line *lines;
	int n;
	const char *source;
	struct level level[DEPTH_MAX];
	int depth;
	char path[PATH_MAX_BYTES];
	char name[80]; /* of the last "name: …" in a list of containers or variables */
	char kind[40]; /* of the document */
	bool driver_pod, peermem_container;
	int container_line;
	int taken;
};

static struct gp_origin where_of(const struct walk *walk, int index)
{
	if (index < 0 || index >= walk->n)
		index = walk->n ? walk->n - 1 : 0;
	return (struct gp_origin){walk->source, walk->n ? walk->lines[index].text : "",
				  walk->n ? walk->lines[index].number : 0};
}

static void path_push(struct walk *walk, const char *key)
{
	size_t used = strlen(walk->path);

	if (used && used + 2 < sizeof(walk->path))
		walk->path[used++] = '.';
	/* `kubectl describe` prints useHostMofed as "Use Host Mofed" */
	for (; *key && used + 1 < sizeof(walk->path); key++)
		if (*key != ' ')
			walk->path[used++] = *key;
	walk->path[used] = '\0';
}

/* Names in a pod's list of containers say which of them it has. */
static void take_name(struct walk *walk, const char *value, int index)
{
	snprintf(walk->name, sizeof(walk->name), "%s", value);
	if (!path_ends(walk->path, "containers.name"))
		return;
	if (strcmp(value, "nvidia-driver-ctr") == 0) {
		walk->driver_pod = true;
		walk->container_line = index;
	}
	walk->peermem_container |= strcmp(value, "nvidia-peermem-ctr") == 0;
	if (strcmp(value, "nvidia-peermem-ctr") == 0)
		walk->container_line = index;
}

static void take_scalar(struct walk *walk, const char *value, int index)
{
	struct gp_origin where = where_of(walk, index);
	static const char *const roots[] = {"driver.", "toolkit.", "devicePlugin.", "gds.",
					    "dcgmExporter."};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (strncmp(walk->path, roots[i], strlen(roots[i])) == 0 ||
		    strcmp(walk->kind, "ClusterPolicy") == 0)
			gp_inventory_set(walk->inv, GP_FACT_VALUES, GP_YES, GP_RANK_DIRECT, NULL,
					 &where);
	if (strcmp(walk->path, "kind") == 0 || strcmp(walk->path, "items.kind") == 0)
		snprintf(walk->kind, sizeof(walk->kind), "%s", value);
	if (path_ends(walk->path, "name"))
		take_name(walk, value, index);
	else if (path_ends(walk->path, "env.value"))
		walk->taken += apply_variable(walk->inv, walk->name, value, &where);
	else
		walk->taken += apply_path(walk->inv, walk->path, value, &where);
	if (path_ends(walk->path, "chart") || path_ends(walk->path, "image"))
		walk->taken += apply_chart(walk->inv, value, &where);
	if (path_ends(walk->path, "ofedDriver.version") &&
	    strcmp(walk->kind, "NicClusterPolicy") == 0)
		walk->taken++;
}

/* A key or a value has ended: the path goes back to the mapping's own. */
static void value_ends(struct walk *walk)
{
	if (walk->depth == 0)
		return;
	walk->path[walk->level[walk->depth - 1].path_length] = '\0';
	walk->level[walk->depth - 1].want_key = walk->level[walk->depth - 1].mapping;
}

static void scalar(struct walk *walk, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	struct level *level = walk->depth ? &walk->level[walk->depth - 1] : NULL;

	if (level && level->mapping && level->want_key) {
		/* "app.kubernetes.io/name" is one key, no path */
		char key[100];

		snprintf(key, sizeof(key), "%s", strchr(text, '/') ? strrchr(text, '/') + 1 : text);
		path_push(walk, key);
		level->want_key = false;
		return;
	}
	take_scalar(walk, text, (int)event->start_mark.line);
	value_ends(walk);
}

static int begin(struct walk *walk, bool mapping)
{
	if (walk->depth == DEPTH_MAX)
		return -1;
	walk->level[walk->depth++] = (struct level){mapping, mapping, strlen(walk->path)};
	return 0;
}

static void end(struct walk *walk)
{
	if (walk->depth > 0)
		walk->depth--;
	value_ends(walk);
}

static void document_ends(struct walk *walk)
{
	struct gp_origin where = where_of(walk, walk->container_line);

	if (walk->driver_pod) {
		gp_inventory_set(walk->inv, GP_FACT_PEERMEM_CONTAINER,
				 walk->peermem_container ? GP_YES : GP_NO, GP_RANK_DIRECT, NULL,
				 &where);
		walk->taken++;
	}
	walk->driver_pod = walk->peermem_container = false;
	walk->depth = 0;
	walk->path[0] = walk->kind[0] = walk->name[0] = '\0';
}

/* 1: go on, 0: the end, -1: too deep. */
static int take_event(struct walk *walk, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		scalar(walk, event);
		return 1;
	case YAML_ALIAS_EVENT:
		value_ends(walk);
		return 1;
	case YAML_MAPPING_START_EVENT:
		return begin(walk, true) < 0 ? -1 : 1;
	case YAML_SEQUENCE_START_EVENT:
		return begin(walk, false) < 0 ? -1 : 1;
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		end(walk);
		return 1;
	case YAML_DOCUMENT_END_EVENT:
		document_ends(walk);
		return 1;
	case YAML_STREAM_END_EVENT:
		return 0;
	default:
		return 1;
	}
}

/* The lines as one text for the parser; the caller frees it. */
static char *join_lines(const struct gp_line *lines, int n, size_t *length)
{
	size_t total = 1, used = 0;
	char *text;

	for (int i = 0; i < n; i++)
		total += strlen(lines[i].text) + 1;
	text = malloc(total);
	for (int i = 0; text && i < n; i++) {
		size_t bytes = strlen(lines[i].text);

		memcpy(text + used, lines[i].text, bytes);
		used += bytes;
		text[used++] = '\n';
	}
	*length = used;
	return text;
}

/* "USER-SUPPLIED VALUES:" is helm's heading, and a key to YAML: blank it. */
static int heading(const struct gp_line *lines, int n)
{
	int i = 0;

	while (i < n &&
	       (*gp_trimmed(lines[i].text) == '\0' || strstr(lines[i].text, "-SUPPLIED VALUES:") ||
		strstr(lines[i].text, "COMPUTED VALUES:")))
		i++;
	return i;
}

static int parse(struct walk *walk, const char *text, size_t length, char *why, size_t why_size)
{
	yaml_parser_t parser;
	yaml_event_t event;
	int more = 1;

	if (!yaml_parser_initialize(&parser)) {
		snprintf(why, why_size, "no memory");
		return -1;
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
	while (more > 0) {
		if (!yaml_parser_parse(&parser, &event)) {
			size_t line = parser.problem_mark.line;

			snprintf(why, why_size, "line %d: %s",
				 line < (size_t)walk->n ? walk->lines[line].number : (int)line + 1,
				 parser.problem ? parser.problem : "not YAML");
			more = -1;
			break;
		}
		more = take_event(walk, &event);
		if (more < 0)
			snprintf(why, why_size, "nested deeper than %d levels", DEPTH_MAX);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return more;
}

int gp_intent_yaml(struct gp_inventory *inv, const struct gp_line *lines, int n, const char *source,
		   char *why, size_t why_size)
{
	int skip = heading(lines, n);
	struct walk *walk;
	size_t length = 0;
	char *text;
	int rc;

	if (n == skip)
		return 0;
	walk = calloc(1, sizeof(*walk));
	text = join_lines(lines + skip, n - skip, &length);
	if (!walk || !text) {
		free(walk);
		free(text);
		snprintf(why, why_size, "no memory");
		return -1;
	}
	*walk = (struct walk){.inv = inv, .lines = lines + skip, .n = n - skip, .source = source};
	rc = parse(walk, text, length, why, why_size);
	if (rc < 0)
		document_ends(walk);
	else
		rc = walk->taken;
	free(text);
	free(walk);
	return rc;
}

/* --- inside other output --- */

static size_t indent(const char *text)
{
	return strspn(text, " ");
}

/* The start of a YAML or JSON document among other lines. */
static bool opens_document(const char *text)
{
	static const char *const keys[] = {
		"apiVersion:",		 "driver:",	    "gds:",  "gdrcopy:", "operator:",
		"ofedDriver:",		 "kind:",	    "spec:", "toolkit:", "Spec:",
		"USER-SUPPLIED VALUES:", "COMPUTED VALUES:"};

	if (strcmp(text, "{") == 0 || strncmp(text, "{\"", 2) == 0)
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t length = strlen(keys[i]);

		if (strncmp(text, keys[i], length) == 0 && (!text[length] || text[length] == ' '))
			return true;
	}
	return false;
}

/* A line that can't be part of the document that began: no key, no item, not deeper. */
static bool closes_document(const char *text)
{
	const char *p = gp_trimmed(text);

	if (*p == '\0' || *p == '#' || *p == '-' || *p == '}' || *p == ']' || indent(text) > 0)
		return false;
	p += strcspn(p, ": ");
	return *p != ':';
}

static bool says(const struct gp_segment *segment, const char *word)
{
	return segment->command && gp_has_word(segment->command, word);
}

static void read_documents(struct gp_inventory *inv, const struct gp_segment *segment,
			   const char *source)
{
	char why[160];
	bool json;

	for (int i = 0; i < segment->n; i++) {
		int end_line = i + 1;

		if (!opens_document(segment->lines[i].text))
			continue;
		json = segment->lines[i].text[0] == '{';
		while (end_line < segment->n &&
		       (json || !closes_document(segment->lines[end_line].text)))
			end_line++;
		if (gp_intent_yaml(inv, segment->lines + i, end_line - i, source, why,
				   sizeof(why)) < 0)
			gp_inventory_unread(inv, "%s: broken YAML or JSON, read up to there: %s",
					    source, why);
		i = end_line;
	}
}

/* `kubectl describe`: "      USE_HOST_MOFED:  true", "   nvidia-peermem-ctr:", and labels. */
static void read_describe(struct gp_inventory *inv, const struct gp_segment *segment,
			  const char *source)
{
	const struct gp_line *driver = NULL, *peermem = NULL;

	for (int i = 0; i < segment->n; i++) {
		const struct gp_line *line = &segment->lines[i];
		const char *text = gp_trimmed(line->text);
		size_t length = strcspn(text, ":=");
		struct gp_origin where = {source, line->text, line->number};
		char name[64];

		if (strcmp(text, "nvidia-driver-ctr:") == 0)
			driver = line;
		if (strcmp(text, "nvidia-peermem-ctr:") == 0)
			peermem = line;
		/* names alone, as jsonpath prints them */
		if (gp_has_word(text, "nvidia-driver-ctr") && !strpbrk(text, ":/{\"")) {
			driver = line;
			peermem = gp_has_word(text, "nvidia-peermem-ctr") ? line : peermem;
		}
		if (strstr(text, "-operator"))
			apply_chart(inv, text, &where);
		if (length == 0 || length >= sizeof(name) || !text[length])
			continue;
		memcpy(name, text, length);
		name[length] = '\0';
		apply_variable(inv, name, gp_trimmed(text + length + 1), &where);
	}
	if (!driver && !peermem)
		return;
	if (peermem || !segment->elided) {
		struct gp_origin where = {source, (peermem ? peermem : driver)->text,
					  (peermem ? peermem : driver)->number};

		gp_inventory_set(inv, GP_FACT_PEERMEM_CONTAINER, peermem ? GP_YES : GP_NO,
				 GP_RANK_DIRECT, NULL, &where);
	}
}

/* `kubectl get pods`: "mofed-ubuntu22.04-…-ds-x7k2p  1/1  Running" is an ofedDriver at work. */
static void read_pods(struct gp_inventory *inv, const struct gp_segment *segment,
		      const char *source)
{
	for (int i = 0; i < segment->n; i++) {
		const struct gp_line *line = &segment->lines[i];
		const char *pod = strstr(line->text, "mofed-");
		struct gp_origin where = {source, line->text, line->number};

		if (pod && (pod == line->text || pod[-1] == ' ') && strstr(pod, "-ds-") &&
		    strstr(pod, "/"))
			gp_inventory_set(inv, GP_FACT_OFED_DRIVER, GP_YES, GP_RANK_INDIRECT, NULL,
					 &where);
	}
}

/* helm install … --set driver.rdma.useHostMofed=true,gds.enabled=true */
static void read_set_flags(struct gp_inventory *inv, const struct gp_segment *segment,
			   const char *source)
{
	struct gp_origin where = {source, segment->command, segment->command_number};
	struct gp_command command;

	gp_command_read(segment->command, &command);
	for (int p = 0; p < command.n; p++) {
		const struct gp_stage *stage = &command.part[p].stage[0];

		for (int i = 1; i < stage->n; i++) {
			char copy[400], *rest = copy, *item;
			const char *flags = stage->word[i];

			if (strncmp(flags, "--set=", 6) == 0)
				flags += 6;
			else if (strncmp(stage->word[i - 1], "--set", 5) != 0)
				continue;
			snprintf(copy, sizeof(copy), "%s", flags);
			while ((item = strtok_r(rest, ",", &rest))) {
				char *value = strchr(item, '=');

				if (!value)
					continue;
				*value++ = '\0';
				if (apply_path(inv, item, value, &where))
					gp_inventory_set(inv, GP_FACT_VALUES, GP_YES,
							 GP_RANK_DIRECT, NULL, &where);
			}
		}
	}
}

void gp_intent_read(struct gp_inventory *inv, const struct gp_segment *segment, const char *source)
{
	if (segment->command && (says(segment, "helm") || says(segment, "--set")))
		read_set_flags(inv, segment, source);
	/* the output of the host's own tools is long and has none of this */
	if (says(segment, "dmesg") || says(segment, "journalctl") || says(segment, "lsmod"))
		return;
	read_documents(inv, segment, source);
	read_describe(inv, segment, source);
	read_pods(inv, segment, source);
}
