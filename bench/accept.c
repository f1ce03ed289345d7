/* SPDX-License-Identifier: BSD-2-Clause */
/* accept: see accept.h. */
#include "accept.h"
#include "root.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* Rules' keys that are options of bw, with what they mean there. */
static const char *const keys[] = {"path",     "op",	    "size",	     "placement", "verdict",
				   "min-gbps", "min-limit", "min-vs-bounce", NULL};

/* ---- reading ---- */

struct reader {
	yaml_document_t *document;
	const char *file;
	struct gp_error *err;
};

static __attribute__((format(printf, 3, 4))) int refuse(struct reader *r, const yaml_node_t *at,
							const char *fmt, ...)
{
	char what[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	gp_text_clean(what);
	return gp_error_set(r->err, GP_EXIT_USAGE, "%s:%zu: %s", r->file,
			    at ? at->start_mark.line + 1 : 1, what);
}

static const char *scalar(const yaml_node_t *node)
{
	if (!node || node->type != YAML_SCALAR_NODE ||
	    strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
		return NULL;
	return (const char *)node->data.scalar.value;
}

/* A value, or a list of them: how many there are, and each. -1: neither. */
static int count_items(const yaml_node_t *node)
{
	if (node->type == YAML_SCALAR_NODE)
		return 1;
	if (node->type != YAML_SEQUENCE_NODE)
		return -1;
	return (int)(node->data.sequence.items.top - node->data.sequence.items.start);
}

static const yaml_node_t *item(struct reader *r, const yaml_node_t *node, int i)
{
	if (node->type == YAML_SCALAR_NODE)
		return node;
	return yaml_document_get_node(r->document, node->data.sequence.items.start[i]);
}

static int read_placements(struct reader *r, const yaml_node_t *node, struct gp_accept_rule *rule)
{
	int n = count_items(node);

	if (n > GP_ACCEPT_PLACEMENTS_MAX)
		return refuse(r, node, "at most %d placements in a rule", GP_ACCEPT_PLACEMENTS_MAX);
	for (int i = 0; i < n; i++) {
		const char *text = scalar(item(r, node, i));

		if (!text || !text[0] || strlen(text) >= GP_PLACEMENT_MAX)
			return refuse(r, node,
				      "'placement' takes near, far, rail1 or a pattern such as "
				      "rail*");
		strcpy(rule->placement[rule->n_placements++], text);
	}
	return 0;
}

static int read_verdict(struct reader *r, const yaml_node_t *node, struct gp_accept_rule *rule)
{
	const char *text = scalar(node);

	if (text && gp_verdict_read(text, &rule->verdict) == 0 &&
	    (rule->verdict == GP_PROVEN || rule->verdict == GP_UNPROVEN))
		return 0;
	return refuse(r, node, "'verdict' takes proven, or unproven for that or better");
}

/* What is an option's value is read as on the command line. */
static int read_option(struct reader *r, const char *key, const yaml_node_t *node,
		       struct gp_accept_rule *rule)
{
	const struct gp_option *row = gp_option_find(&gp_bw_table, key);
	bool list = row->type == GP_OPT_CHOICES || row->type == GP_OPT_SIZES;
	int n = count_items(node);
	struct gp_error why = {0};
	char joined[1024] = "";

	if (n < 1 || (n > 1 && !list))
		return refuse(r, node, "'%s' takes %s", key,
			      list ? "a value or a list" : "one value");
	for (int i = 0; i < n; i++) {
		const char *text = scalar(item(r, node, i));
		size_t used = strlen(joined);

		if (!text || strlen(text) + 2 > sizeof(joined) - used)
			return refuse(r, node, "'%s' takes a value or a short list", key);
		snprintf(joined + used, sizeof(joined) - used, "%s%s", i ? "," : "", text);
	}
	if (gp_option_read(row, joined, &rule->want, &why) < 0)
		return refuse(r, node, "%s", why.fact);
	return 0;
}

/* `auto` is what a run tries, not what a cell was. */
static int check_rule(struct reader *r, const yaml_node_t *node, const struct gp_accept_rule *rule)
{
	for (int i = 0; i < rule->want.path.n; i++)
		if (rule->want.path.index[i] == GP_PATH_AUTO)
			return refuse(r, node, "a rule names its paths: no 'auto'");
	return 0;
}

static int known_key(const char *key)
{
	for (int i = 0; keys[i]; i++)
		if (key && strcmp(keys[i], key) == 0)
			return i;
	return -1;
}

static int read_rule(struct reader *r, const yaml_node_t *node, struct gp_accept_rule *rule)
{
	unsigned seen = 0;

	if (!node || node->type != YAML_MAPPING_NODE)
		return refuse(r, node,
			      "a rule is a mapping: path, op, size, placement, and what "
			      "is wanted of these");
	*rule = (struct gp_accept_rule){.line = (int)node->start_mark.line + 1,
					.verdict = GP_PROVEN};
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
	     p++) {
		const yaml_node_t *name = yaml_document_get_node(r->document, p->key);
		const yaml_node_t *value = yaml_document_get_node(r->document, p->value);
		const char *key = scalar(name);
		int k = known_key(key), rc;

		if (k < 0)
			return refuse(r, name,
				      "a rule has no '%s': it has path, op, size, placement, "
				      "verdict, min-gbps, min-limit, min-vs-bounce",
				      key ? key : "key that is no text");
		if (seen & 1u << k)
			return refuse(r, name, "'%s' is there twice", key);
		seen |= 1u << k;
		rc = strcmp(key, "placement") == 0 ? read_placements(r, value, rule)
		     : strcmp(key, "verdict") == 0 ? read_verdict(r, value, rule)
						   : read_option(r, key, value, rule);
		if (rc < 0)
			return -1;
	}
	return check_rule(r, node, rule);
}

static int read_rules(struct reader *r, const yaml_node_t *list, struct gp_accept *accept)
{
	int n = list && list->type == YAML_SEQUENCE_NODE ? count_items(list) : 0;

	if (n < 1)
		return refuse(r, list, "'accept' takes a list of rules");
	if (n > GP_ACCEPT_RULES_MAX)
		return refuse(r, list, "%d rules, the most is %d", n, GP_ACCEPT_RULES_MAX);
	accept->rules = calloc((size_t)n, sizeof(*accept->rules));
	if (!accept->rules)
		return gp_error_set(r->err, GP_EXIT_FAILED, "out of memory for %s", r->file);
	for (; accept->n < n; accept->n++)
		if (read_rule(r, item(r, list, accept->n), &accept->rules[accept->n]) < 0)
			return -1;
	return 0;
}

static int read_document(struct reader *r, struct gp_accept *accept)
{
	const yaml_node_t *root = yaml_document_get_root_node(r->document), *key;
	yaml_node_pair_t *pairs;

	if (!root || root->type != YAML_MAPPING_NODE)
		return refuse(r, root, "an acceptance file begins with 'accept:', a list of rules");
	pairs = root->data.mapping.pairs.start;
	if (root->data.mapping.pairs.top - pairs == 0)
		return refuse(r, root, "there is no 'accept:'");
	key = yaml_document_get_node(r->document, pairs[0].key);
	if (!scalar(key) || strcmp(scalar(key), "accept") != 0)
		return refuse(r, key, "'accept' is the one key, not '%s'",
			      scalar(key) ? scalar(key) : "something else");
	if (root->data.mapping.pairs.top - pairs > 1)
		return refuse(r, yaml_document_get_node(r->document, pairs[1].key),
			      "'accept' is the one key, and stands once");
	return read_rules(r, yaml_document_get_node(r->document, pairs[0].value), accept);
}

static int read_stream(yaml_parser_t *parser, struct reader *r, struct gp_accept *accept)
{
	yaml_document_t document;
	int rc;

	if (!yaml_parser_load(parser, &document))
		return gp_error_set(r->err, GP_EXIT_USAGE, "%s:%zu: no YAML: %s", r->file,
				    parser->problem_mark.line + 1,
				    parser->problem ? parser->problem : "unreadable");
	r->document = &document;
	rc = read_document(r, accept);
	yaml_document_delete(&document);
	if (rc < 0)
		return -1;
	if (!yaml_parser_load(parser, &document))
		return gp_error_set(r->err, GP_EXIT_USAGE, "%s:%zu: no YAML: %s", r->file,
				    parser->problem_mark.line + 1,
				    parser->problem ? parser->problem : "unreadable");
	r->document = &document;
	if (yaml_document_get_root_node(&document))
		rc = refuse(r, yaml_document_get_root_node(&document), "a second document");
	yaml_document_delete(&document);
	return rc;
}

int gp_accept_parse(const char *text, size_t size, const char *file, struct gp_accept *accept,
		    struct gp_error *err)
{
	struct reader r = {.file = file, .err = err};
	const char *slash = strrchr(file, '/');
	yaml_parser_t parser;
	int rc;

	*accept = (struct gp_accept){0};
	snprintf(accept->name, sizeof(accept->name), "%s", slash ? slash + 1 : file);
	gp_text_clean(accept->name);
	if (!yaml_parser_initialize(&parser))
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for %s", file);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	rc = read_stream(&parser, &r, accept);
	yaml_parser_delete(&parser);
	if (rc < 0)
		gp_accept_free(accept);
	return rc;
}

int gp_accept_read(const char *file, struct gp_accept *accept, struct gp_error *err)
{
	struct gp_bytes bytes;
	int rc;

	*accept = (struct gp_accept){0};
	if (gp_root_read_file(file, &bytes, err) < 0)
		return -1;
	rc = gp_accept_parse(bytes.text, bytes.length, file, accept, err);
	free(bytes.text);
	return rc;
}

void gp_accept_free(struct gp_accept *accept)
{
	free(accept->rules);
	*accept = (struct gp_accept){0};
}

/* ---- what to measure ---- */

static bool add_choice(struct gp_choice_list *list, int index)
{
	for (int i = 0; i < list->n; i++)
		if (list->index[i] == index)
			return true;
	if (list->n == GP_LIST_MAX)
		return false;
	list->index[list->n++] = index;
	return true;
}

static bool add_size(struct gp_size_list *list, uint64_t bytes)
{
	for (int i = 0; i < list->n; i++)
		if (list->bytes[i] == bytes)
			return true;
	if (list->n == GP_LIST_MAX)
		return false;
	list->bytes[list->n++] = bytes;
	return true;
}

/* The choice of that word; -1 where there is none. */
static int choice(const char *option, const char *word)
{
	const char *const *choices = gp_option_find(&gp_bw_table, option)->choices;

	for (int i = 0; choices[i]; i++)
		if (strcmp(choices[i], word) == 0)
			return i;
	return -1;
}

/* What the rules name of each; a list stays empty where one rule leaves it open. */
struct needs {
	struct gp_choice_list path, op, placement;
	struct gp_size_list size;
	bool fits;
};

static void add_choices(struct gp_choice_list *to, const struct gp_choice_list *from, bool *fits)
{
	for (int i = 0; i < from->n; i++)
		*fits = add_choice(to, from->index[i]) && *fits;
}

static struct needs needs_of(const struct gp_accept *accept)
{
	bool path = true, op = true, size = true, placement = true;
	struct needs needs = {.fits = true};

	for (int i = 0; i < accept->n; i++) {
		const struct gp_accept_rule *rule = &accept->rules[i];

		path = path && rule->want.path.n;
		op = op && rule->want.op.n;
		size = size && rule->want.size.n;
		placement = placement && rule->n_placements;
		add_choices(&needs.path, &rule->want.path, &needs.fits);
		add_choices(&needs.op, &rule->want.op, &needs.fits);
		for (int k = 0; k < rule->want.size.n; k++)
			needs.fits = add_size(&needs.size, rule->want.size.bytes[k]) && needs.fits;
		for (int k = 0; k < rule->n_placements; k++) {
			int index = choice("placement", rule->placement[k]);

			placement = placement && index >= 0;
			if (index >= 0)
				add_choice(&needs.placement, index);
		}
	}
	needs.path.n = path ? needs.path.n : 0;
	needs.op.n = op ? needs.op.n : 0;
	needs.size.n = size ? needs.size.n : 0;
	needs.placement.n = placement ? needs.placement.n : 0;
	return needs;
}

int gp_accept_plan(const struct gp_accept *accept, gp_option_mask given, struct gp_bw_options *opt,
		   struct gp_error *err)
{
	struct needs needs = needs_of(accept);
	int host = choice("path", "host");

	if (!needs.fits)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--accept %s: its rules name more than %d sizes", accept->name,
				    GP_LIST_MAX);
	if (needs.path.n && !gp_option_given(&gp_bw_table, given, "path")) {
		if (needs.path.n > 1 || needs.path.index[0] != host)
			add_choice(&needs.path, choice("path", "bounce"));
		opt->path = needs.path;
	}
	if (needs.op.n && !gp_option_given(&gp_bw_table, given, "op"))
		opt->op = needs.op;
	if (needs.size.n && !gp_option_given(&gp_bw_table, given, "size") && !opt->all)
		opt->size = needs.size;
	if (needs.placement.n && !gp_option_given(&gp_bw_table, given, "placement") &&
	    !opt->rails[0])
		opt->placement = needs.placement;
	return 0;
}

/* ---- judging ---- */

static bool has_choice(const char *option, const struct gp_choice_list *list, const char *word)
{
	int index = choice(option, word);

	for (int i = 0; i < list->n; i++)
		if (list->index[i] == index)
			return true;
	return list->n == 0;
}

static bool fits(const struct gp_accept_rule *rule, const struct gp_cell *cell)
{
	bool size = rule->want.size.n == 0, placement = rule->n_placements == 0;

	for (int i = 0; i < rule->want.size.n; i++)
		size = size || rule->want.size.bytes[i] == cell->size;
	for (int i = 0; i < rule->n_placements; i++)
		placement = placement || fnmatch(rule->placement[i], cell->placement, 0) == 0;
	return size && placement && has_choice("path", &rule->want.path, cell->path) &&
	       has_choice("op", &rule->want.op, cell->op);
}

static struct gp_threshold begin(const struct gp_accept *accept, const struct gp_accept_rule *rule,
				 const char *name, const struct gp_cell *cell)
{
	struct gp_threshold t = {.wanted = NAN, .measured = NAN};

	snprintf(t.name, sizeof(t.name), "%s", name);
	snprintf(t.rule, sizeof(t.rule), "%s:%d", accept->name, rule->line);
	if (cell)
		gp_cell_id(cell, t.cell, sizeof(t.cell));
	return t;
}

static int add_verdict(const struct gp_accept *accept, const struct gp_accept_rule *rule,
		       const struct gp_cell *cell, struct gp_record *record)
{
	struct gp_threshold t = begin(accept, rule, "verdict", cell);

	t.met = cell && (cell->verdict == GP_PROVEN || cell->verdict == rule->verdict);
	snprintf(t.wanted_word, sizeof(t.wanted_word), "%s", gp_verdict_name(rule->verdict));
	snprintf(t.measured_word, sizeof(t.measured_word), "%s",
		 cell ? gp_verdict_name(cell->verdict) : "not measured");
	return gp_record_add_threshold(record, &t);
}

static int add_figure(const struct gp_accept *accept, const struct gp_accept_rule *rule,
		      const struct gp_cell *cell, const char *name, double wanted, double measured,
		      struct gp_record *record)
{
	struct gp_threshold t = begin(accept, rule, name, cell);

	if (wanted <= 0)
		return 0;
	t.wanted = wanted;
	/* no figure beside a path that it is not of */
	t.measured = cell->verdict == GP_CONTRADICTED ? (double)NAN : measured;
	t.met = t.measured >= wanted; /* NaN, what is not known, is not met */
	return gp_record_add_threshold(record, &t);
}

static int judge_cell(const struct gp_accept *accept, const struct gp_accept_rule *rule,
		      const struct gp_cell *cell, struct gp_record *record)
{
	if (add_verdict(accept, rule, cell, record) < 0 ||
	    add_figure(accept, rule, cell, "min-gbps", rule->want.min_gbytes_per_s,
		       cell->summary.median, record) < 0 ||
	    add_figure(accept, rule, cell, "min-limit", rule->want.min_limit_percent,
		       cell->of_limit * 100, record) < 0)
		return -1;
	return add_figure(accept, rule, cell, "min-vs-bounce", rule->want.min_vs_bounce,
			  cell->vs_bounce, record);
}

int gp_accept_judge(const struct gp_accept *accept, struct gp_record *record, struct gp_error *err)
{
	int rc = 0;

	for (int i = 0; i < accept->n && rc == 0; i++) {
		const struct gp_accept_rule *rule = &accept->rules[i];
		bool any = false;

		for (int c = 0; c < record->n_cells && rc == 0; c++) {
			const struct gp_cell *cell = &record->cells[c];

			if (cell->n_rounds == 0 || !fits(rule, cell))
				continue;
			any = true;
			rc = judge_cell(accept, rule, cell, record);
		}
		if (!any && rc == 0)
			rc = add_verdict(accept, rule, NULL, record);
	}
	return rc < 0 ? gp_error_set(err, GP_EXIT_FAILED, "out of memory for the record") : 0;
}
