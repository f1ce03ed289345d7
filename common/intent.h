/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * intent: what a cluster was told, from helm values, ClusterPolicy, NicClusterPolicy and
 * NVIDIADriver objects (YAML or JSON), `kubectl describe` and `helm list`, as facts of an
 * inventory. What it should have been told is decided in classify.
 */
#ifndef GP_INTENT_H
#define GP_INTENT_H

#include "inventory_text.h"

/*
 * Take facts from one YAML stream or JSON text. Returns the number of values that meant something,
 * or -1 where it is broken, with `why` filled ("line 7: did not find expected key"); what stood
 * before the break is taken. Depth and size are bounded, aliases are not followed.
 */
int gp_intent_yaml(struct gp_inventory *inv, const struct gp_line *lines, int n, const char *source,
		   char *why, size_t why_size);

/* Take facts from the lines of a segment in whatever form they have: YAML inside other output,
 * `kubectl describe`, `helm list`, or --set on the command line itself. */
void gp_intent_read(struct gp_inventory *inv, const struct gp_segment *segment, const char *source);

#endif
