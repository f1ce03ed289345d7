/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify_view: what a person sees of a verdict: the text of `gdrproof path`, the one-page record
 * in Markdown, and the decision tree. All from the same verdict as the JSON.
 */
#ifndef GP_CLASSIFY_VIEW_H
#define GP_CLASSIFY_VIEW_H

#include "classify.h"

/* One node in full, several as groups. */
void gp_view_text(const struct gp_fleet *fleet, const struct gp_fleet_verdict *verdict, FILE *out);

void gp_view_markdown(const struct gp_fleet *fleet, const struct gp_fleet_verdict *verdict,
		      FILE *out);

/* The decision tree, which needs no host. */
void gp_view_explain(FILE *out);

#endif
