/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place: put a thread and memory on a NUMA node, and then ask the kernel where they are. What was
 * asked for is never reported as what was got. Which node is wanted is decided elsewhere (topo).
 *
 * Node -1 means "leave it alone" everywhere. On a machine without NUMA there is one node, 0.
 */
#ifndef GP_PLACE_H
#define GP_PLACE_H

#include "err.h"

#include <sched.h>
#include <stdint.h>

/* How many NUMA nodes with CPUs there are; 1 where the kernel has no NUMA. */
int gp_place_nodes(void);

/* The nodes with CPUs, in order; returns how many, at most `max`. Node 0 where the kernel has no
 * NUMA. */
int gp_place_list(int *nodes, int max);

/* The node with CPUs that is furthest from `node` by the firmware's distances; -1: there is no
 * other. */
int gp_place_far(int node);

/*
 * Let the calling thread run only on the CPUs of `node` that it may use already; `before` (may be
 * NULL) gets what it could use until now, for gp_place_restore(). GP_EXIT_MISSING where none of the
 * node's CPUs is allowed here (a container's cpuset), GP_EXIT_USAGE where there is no such node.
 */
int gp_place_thread(int node, cpu_set_t *before, struct gp_error *err);
void gp_place_restore(const cpu_set_t *before);

/* Page-aligned anonymous memory, every page present, bound to `node` before it was touched. */
int gp_place_alloc(uint64_t bytes, int node, void **addr, struct gp_error *err);
/* Takes NULL. */
void gp_place_free(void *addr, uint64_t bytes);

/* Where the calling thread runs now; -1 where the kernel does not tell. */
void gp_place_ask_thread(int *cpu, int *node);

/* The node that holds most of the pages of a range (at most 512 of them are looked at, spread over
 * it), and the share of those pages that it holds; node -1 and share 0 where not told. */
void gp_place_ask_memory(const void *addr, uint64_t bytes, int *node, double *share);

#endif
