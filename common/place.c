/* SPDX-License-Identifier: BSD-2-Clause */
/* place: see place.h. */
#include "place.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES_ASKED 512

static bool has_numa(void)
{
	return numa_available() >= 0;
}

/* The CPUs of a node; false where there is no such node or it has none. */
static bool node_cpus(int node, cpu_set_t *cpus)
{
	struct bitmask *mask = numa_allocate_cpumask();
	bool any = false;

	CPU_ZERO(cpus);
	if (mask && numa_node_to_cpus(node, mask) == 0)
		for (unsigned cpu = 0; cpu < mask->size && cpu < CPU_SETSIZE; cpu++)
			if (numa_bitmask_isbitset(mask, cpu)) {
				CPU_SET(cpu, cpus);
				any = true;
			}
	if (mask)
		numa_free_cpumask(mask);
	return any;
}

int gp_place_nodes(void)
{
	cpu_set_t cpus;
	int n = 0;

	if (!has_numa())
		return 1;
	for (int node = 0; node <= numa_max_node(); node++)
		n += node_cpus(node, &cpus);
	return n;
}

int gp_place_list(int *nodes, int max)
{
	cpu_set_t cpus;
	int n = 0;

	nodes[0] = 0;
	if (!has_numa())
		return 1;
	for (int node = 0; node <= numa_max_node() && n < max; node++)
		if (node_cpus(node, &cpus))
			nodes[n++] = node;
	return n;
}

int gp_place_far(int node)
{
	int best = -1, best_distance = 0;
	cpu_set_t cpus;

	if (node < 0 || !has_numa())
		return -1;
	for (int other = 0; other <= numa_max_node(); other++) {
		int distance = numa_distance(node, other);

		if (other == node || !node_cpus(other, &cpus) || distance <= best_distance)
			continue;
		best = other;
		best_distance = distance;
	}
	return best;
}

int gp_place_thread(int node, cpu_set_t *before, struct gp_error *err)
{
	cpu_set_t now, wanted;

	if (sched_getaffinity(0, sizeof(now), &now) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "sched_getaffinity",
				      "this thread");
	if (before)
		*before = now;
	if (node < 0 || (node == 0 && !has_numa()))
		return 0;
	if (!has_numa() || !node_cpus(node, &wanted))
		return gp_error_set(err, GP_EXIT_USAGE,
				    "there is no NUMA node %d with CPUs here (%d)", node,
				    gp_place_nodes());
	CPU_AND(&wanted, &wanted, &now);
	if (CPU_COUNT(&wanted) == 0) {
		gp_error_set(err, GP_EXIT_MISSING, "no CPU of NUMA node %d may be used here", node);
		gp_error_advise(err, "the process is restricted (taskset, a container's cpuset): "
				     "give it CPUs of that node, or choose another");
		return -1;
	}
	if (sched_setaffinity(0, sizeof(wanted), &wanted) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "sched_setaffinity",
				      "CPUs of NUMA node %d", node);
	return 0;
}

void gp_place_restore(const cpu_set_t *before)
{
	sched_setaffinity(0, sizeof(*before), before);
}

static int bind_memory(void *addr, uint64_t bytes, int node, struct gp_error *err)
{
	struct bitmask *mask;
	int rc = 0;

	if (node < 0 || !has_numa())
		return 0;
	mask = numa_allocate_nodemask();
	if (!mask)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for a node mask");
	numa_bitmask_setbit(mask, (unsigned)node);
	if (mbind(addr, bytes, MPOL_BIND, mask->maskp, mask->size + 1, 0) < 0)
		rc = gp_error_errno(err, GP_EXIT_MISSING, errno, "mbind",
				    "%llu bytes to NUMA node %d", (unsigned long long)bytes, node);
	numa_free_nodemask(mask);
	return rc;
}

int gp_place_alloc(uint64_t bytes, int node, void **addr, struct gp_error *err)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "mmap",
				      "%llu bytes of host memory", (unsigned long long)bytes);
	if (bind_memory(memory, bytes, node, err) < 0) {
		munmap(memory, bytes);
		return -1;
	}
	memset(memory, 0, bytes); /* every page is there, and where it was bound to */
	*addr = memory;
	return 0;
}

void gp_place_free(void *addr, uint64_t bytes)
{
	if (addr)
		munmap(addr, bytes);
}

void gp_place_ask_thread(int *cpu, int *node)
{
	*cpu = sched_getcpu();
	*node = *cpu < 0 ? -1 : has_numa() ? numa_node_of_cpu(*cpu) : 0;
}

void gp_place_ask_memory(const void *addr, uint64_t bytes, int *node, double *share)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), pages = bytes / page;
	unsigned long n = pages < PAGES_ASKED ? pages : PAGES_ASKED;
	int status[PAGES_ASKED], held[64] = {0}, told = 0;
	void *at[PAGES_ASKED];

	*node = -1;
	*share = 0;
	for (unsigned long i = 0; i < n; i++)
		at[i] = (char *)addr + pages * i / n * page;
	/* Without nodes to move to, the call only tells. */
	if (n == 0 || move_pages(0, n, at, NULL, status, 0) < 0)
		return;
	for (unsigned long i = 0; i < n; i++)
		if (status[i] >= 0 && status[i] < 64) {
			held[status[i]]++;
			told++;
		}
	for (int i = 0; i < 64; i++)
		if (held[i] && (*node < 0 || held[i] > held[*node]))
			*node = i;
	if (*node >= 0)
		*share = (double)held[*node] / told;
}
