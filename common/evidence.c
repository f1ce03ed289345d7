/* SPDX-License-Identifier: BSD-2-Clause */
/* evidence: see evidence.h. */
#include "evidence.h"

#include <stdarg.h>
#include <string.h>

static const char *const side_names[GP_SIDES] = {"client", "server"};

static const struct {
	const char *name;
	const char *text;
} verdicts[] = {
	[GP_UNPROVEN] = {"unproven", "a fact that the path needs could not be had; it is named"},
	[GP_PROVEN] = {"proven", "every fact that the path needs is there, none speaks against it"},
	[GP_CONTRADICTED] = {"contradicted", "a fact speaks against the path; exit status 5"},
	[GP_UNAVAILABLE] = {"unavailable", "the path can't be had between these hosts; the reason "
					   "is given, and no figure"},
};
#define N_VERDICTS ((int)(sizeof(verdicts) / sizeof(verdicts[0])))

const char *gp_side_name(enum gp_side side)
{
	return side_names[side];
}

const char *gp_verdict_name(enum gp_verdict verdict)
{
	return verdicts[verdict].name;
}

const char *gp_verdict_text(enum gp_verdict verdict)
{
	return verdicts[verdict].text;
}

int gp_verdict_read(const char *word, enum gp_verdict *verdict)
{
	for (int i = 0; i < N_VERDICTS; i++)
		if (strcmp(word, verdicts[i].name) == 0) {
			*verdict = (enum gp_verdict)i;
			return 0;
		}
	return -1;
}

/* Where the next fact goes. A full list takes one that speaks against in the place of one that does
 * not: whatever a peer sends, it can't push out what contradicts it. */
static struct gp_fact *place_for(struct gp_facts *facts, enum gp_support supports)
{
	if (facts->n < GP_FACTS_MAX)
		return &facts->fact[facts->n++];
	for (int i = facts->n; supports == GP_SUPPORT_NO && i-- > 0;)
		if (facts->fact[i].supports != GP_SUPPORT_NO)
			return &facts->fact[i];
	return NULL;
}

void gp_fact_add(struct gp_facts *facts, const char *name, enum gp_side side, const char *source,
		 enum gp_support supports, const char *value_fmt, ...)
{
	struct gp_fact *fact;
	va_list ap;

	fact = place_for(facts, supports);
	if (!fact)
		return;
	*fact = (struct gp_fact){.side = side, .supports = supports};
	snprintf(fact->name, sizeof(fact->name), "%s", name);
	snprintf(fact->source, sizeof(fact->source), "%s", source);
	va_start(ap, value_fmt);
	vsnprintf(fact->value, sizeof(fact->value), value_fmt, ap);
	va_end(ap);
	gp_text_clean(fact->name);
	gp_text_clean(fact->source);
	gp_text_clean(fact->value);
}

void gp_facts_append(struct gp_facts *facts, const struct gp_facts *more)
{
	for (int i = 0; i < more->n; i++) {
		struct gp_fact *place = place_for(facts, more->fact[i].supports);

		if (place)
			*place = more->fact[i];
	}
}

static bool needed_on(const struct gp_need *need, const struct gp_scene *scene, enum gp_side side)
{
	switch (need->where) {
	case GP_AT_EACH_GPU:
		return scene->gpu[side];
	case GP_AT_EACH_SINK:
		return scene->sink[side];
	case GP_AT_EACH_SIDE:
		break;
	}
	return true;
}

/* The fact of that name that supports it, else any of that name, else NULL. */
static const struct gp_fact *find_fact(const struct gp_facts *facts, const char *name,
				       enum gp_side side)
{
	const struct gp_fact *found = NULL;

	for (int i = 0; i < facts->n; i++) {
		const struct gp_fact *fact = &facts->fact[i];

		if (fact->side != side || strcmp(fact->name, name) != 0)
			continue;
		if (fact->supports == GP_SUPPORT_YES)
			return fact;
		found = found ? found : fact;
	}
	return found;
}

/* Append "; side: text" as far as it fits. */
static void add_reason(char *reason, size_t size, enum gp_side side, const char *name,
		       const char *value)
{
	size_t used;

	if (!reason)
		return;
	used = strlen(reason);
	snprintf(reason + used, size - used, "%s%s %s: %s", used ? "; " : "", gp_side_name(side),
		 name, value);
	gp_text_clean(reason);
}

enum gp_verdict gp_evidence_verdict(const struct gp_facts *facts, const struct gp_need *needs,
				    const struct gp_scene *scene, char *reason, size_t size)
{
	enum gp_verdict verdict = GP_PROVEN;

	if (reason)
		reason[0] = '\0';
	for (int i = 0; i < facts->n; i++) {
		const struct gp_fact *fact = &facts->fact[i];

		if (fact->supports != GP_SUPPORT_NO)
			continue;
		verdict = GP_CONTRADICTED;
		add_reason(reason, size, fact->side, fact->name, fact->value);
	}
	if (verdict == GP_CONTRADICTED)
		return verdict;
	for (const struct gp_need *need = needs; need->fact; need++)
		for (enum gp_side side = GP_CLIENT; side <= GP_SERVER; side++) {
			const struct gp_fact *fact = find_fact(facts, need->fact, side);

			if (!needed_on(need, scene, side))
				continue;
			if (fact && fact->supports == GP_SUPPORT_YES)
				continue;
			verdict = GP_UNPROVEN;
			add_reason(reason, size, side, need->fact,
				   fact ? fact->value : "not known");
		}
	return verdict;
}

static json_t *support_to_json(enum gp_support supports)
{
	return supports == GP_SUPPORT_UNKNOWN ? json_null()
					      : json_boolean(supports == GP_SUPPORT_YES);
}

json_t *gp_facts_to_json(const struct gp_facts *facts)
{
	json_t *array = json_array();

	for (int i = 0; i < facts->n; i++) {
		const struct gp_fact *f = &facts->fact[i];

		json_array_append_new(array, json_pack("{s:s s:s s:s s:s s:o}", "fact", f->name,
						       "side", gp_side_name(f->side), "source",
						       f->source, "value", f->value, "supports",
						       support_to_json(f->supports)));
	}
	return array;
}

static int side_read(const char *word, enum gp_side *side)
{
	for (int i = 0; word && i < GP_SIDES; i++)
		if (strcmp(word, side_names[i]) == 0) {
			*side = (enum gp_side)i;
			return 0;
		}
	return -1;
}

int gp_facts_from_json(const json_t *json, struct gp_facts *facts)
{
	size_t i;
	json_t *item;

	if (!json_is_array(json))
		return -1;
	facts->n = 0;
	json_array_foreach (json, i, item) {
		const char *name = json_string_value(json_object_get(item, "fact"));
		const char *source = json_string_value(json_object_get(item, "source"));
		const char *value = json_string_value(json_object_get(item, "value"));
		const json_t *supports = json_object_get(item, "supports");
		enum gp_side side;

		if (!name || !source || !value ||
		    side_read(json_string_value(json_object_get(item, "side")), &side) < 0)
			return -1;
		gp_fact_add(facts, name, side, source,
			    json_is_true(supports)    ? GP_SUPPORT_YES
			    : json_is_false(supports) ? GP_SUPPORT_NO
						      : GP_SUPPORT_UNKNOWN,
			    "%s", value);
	}
	return 0;
}
