/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * evidence: facts about what really happened, and the verdict that they carry. Pure.
 *
 * A fact has a name, the side it was seen on, its source, its value, and whether it supports that
 * the path was used: yes, no, or unknown. What could not be read is unknown, never false. A path
 * lists the facts that it needs; the verdict is a fold over facts and needs.
 */
#ifndef GP_EVIDENCE_H
#define GP_EVIDENCE_H

#include "err.h"

#include <stdbool.h>

#define GP_FACTS_MAX 40

enum gp_side { GP_CLIENT, GP_SERVER };
#define GP_SIDES 2

/* "client", "server" */
const char *gp_side_name(enum gp_side side);

enum gp_support { GP_SUPPORT_UNKNOWN, GP_SUPPORT_YES, GP_SUPPORT_NO };

struct gp_fact {
	char name[32]; /* "registration", "exporter", "data", ... */
	enum gp_side side;
	char source[96]; /* where it was read: "ibv_reg_dmabuf_mr", "/proc/self/fdinfo/9" */
	char value[200]; /* what was read, in words and figures */
	enum gp_support supports;
};

struct gp_facts {
	int n;
	struct gp_fact fact[GP_FACTS_MAX];
};

/* On which sides a needed fact must be there. */
enum gp_where {
	GP_AT_EACH_GPU,	 /* the sides whose memory is a GPU's */
	GP_AT_EACH_SIDE, /* both */
	GP_AT_EACH_SINK, /* the sides where data arrives */
};

struct gp_need {
	const char *fact; /* NULL ends a list */
	enum gp_where where;
};

/* What a cell was: which sides have a GPU, and where data arrives. */
struct gp_scene {
	bool gpu[GP_SIDES];
	bool sink[GP_SIDES];
};

enum gp_verdict { GP_UNPROVEN, GP_PROVEN, GP_CONTRADICTED, GP_UNAVAILABLE };

/* "proven", ... */
const char *gp_verdict_name(enum gp_verdict verdict);
/* -1 where the word is none. */
int gp_verdict_read(const char *word, enum gp_verdict *verdict);
/* The sentence that the README and the manual give. */
const char *gp_verdict_text(enum gp_verdict verdict);

/* Add a fact. Where the list is full one that speaks against replaces one that does not; others are
 * dropped. */
void gp_fact_add(struct gp_facts *facts, const char *name, enum gp_side side, const char *source,
		 enum gp_support supports, const char *value_fmt, ...)
	__attribute__((format(printf, 6, 7)));

/* Append all of `more`. */
void gp_facts_append(struct gp_facts *facts, const struct gp_facts *more);

/*
 * The fold. GP_CONTRADICTED where any fact says no; else GP_PROVEN where every need has a fact
 * that says yes on each side it is needed on; else GP_UNPROVEN. `reason` (may be NULL) gets the
 * facts that spoke against it, or those that were missing, in words; empty where proven.
 */
enum gp_verdict gp_evidence_verdict(const struct gp_facts *facts, const struct gp_need *needs,
				    const struct gp_scene *scene, char *reason, size_t size);

/* [{fact, side, source, value, supports: true|false|null}]; a new reference. */
json_t *gp_facts_to_json(const struct gp_facts *facts);

/* Read such an array, from a peer or a record; texts are cut to fit. -1 where it is none. */
int gp_facts_from_json(const json_t *json, struct gp_facts *facts);

#endif
