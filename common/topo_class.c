/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_class: how far two PCI objects are apart, and which partner is the best. Pure.
 */
#include "topo_tree.h"

#include <string.h>

static const struct {
	const char *name, *text;
} classes[] = {
	[GP_CLASS_PIX] = {"PIX", "at most one PCIe switch between them"},
	[GP_CLASS_PXB] = {"PXB", "several PCIe switches between them, no host bridge"},
	[GP_CLASS_PHB] = {"PHB", "through the host bridge"},
	[GP_CLASS_NODE] = {"NODE", "between host bridges of one NUMA node"},
	[GP_CLASS_SYS] = {"SYS", "across NUMA nodes"},
	[GP_CLASS_UNKNOWN] = {"unknown", "the distance is not told"},
};

const char *gp_class_name(enum gp_class class)
{
	return classes[class].name;
}

const char *gp_class_text(enum gp_class class)
{
	return classes[class].text;
}

int gp_topo_obj_node_effective(const struct gp_topo *topo, int obj)
{
	int node = gp_topo_obj_node(topo, obj);

	if (node < 0 && obj >= 0 && topo->n_nodes == 1 && topo->n_sockets <= 1)
		return topo->nodes[0].os_index;
	return node;
}

static int depth_of(const struct gp_topo *topo, int obj)
{
	int depth = 0;

	while (topo->objs[obj].parent >= 0) {
		obj = topo->objs[obj].parent;
		depth++;
	}
	return depth;
}

/* The nearest common ancestor, -1; *steps_x: how many bridges stand between it and each. A whole
 * switch counts as its two ports. */
static int ancestor(const struct gp_topo *topo, int a, int b, int *steps_a, int *steps_b)
{
	int depth_a = depth_of(topo, a), depth_b = depth_of(topo, b);

	*steps_a = *steps_b = 0;
	while (a >= 0 && a != b) {
		bool up_a = depth_a >= depth_b, up_b = depth_b >= depth_a;

		if (up_a) {
			a = topo->objs[a].parent;
			depth_a--;
		}
		if (up_b) {
			b = topo->objs[b].parent;
			depth_b--;
		}
		if (a < 0 || b < 0)
			return -1;
		if (a == b)
			break;
		*steps_a += up_a ? 1 + (topo->objs[a].kind == GP_OBJ_SWITCH) : 0;
		*steps_b += up_b ? 1 + (topo->objs[b].kind == GP_OBJ_SWITCH) : 0;
	}
	return a;
}

static int root_of(const struct gp_topo *topo, int obj)
{
	while (topo->objs[obj].parent >= 0)
		obj = topo->objs[obj].parent;
	return obj;
}

/* No common ancestor: all depends on the NUMA nodes. */
static enum gp_class class_apart(const struct gp_topo *topo, int a, int b)
{
	int node_a = gp_topo_obj_node_effective(topo, a);
	int node_b = gp_topo_obj_node_effective(topo, b);
	bool hosts = topo->objs[root_of(topo, a)].kind == GP_OBJ_HOST &&
		     topo->objs[root_of(topo, b)].kind == GP_OBJ_HOST;

	if (topo->hosts_untold) /* two CPUs of an NCCL dump are two nodes, of one host or two */
		return hosts ? GP_CLASS_SYS : GP_CLASS_UNKNOWN;
	if (node_a < 0 || node_b < 0)
		return GP_CLASS_UNKNOWN;
	if (node_a != node_b)
		return GP_CLASS_SYS;
	return hosts ? GP_CLASS_NODE : GP_CLASS_UNKNOWN;
}

enum gp_class gp_topo_obj_class(const struct gp_topo *topo, int a, int b)
{
	int above, steps_a, steps_b, switches;

	if (a < 0 || b < 0)
		return GP_CLASS_UNKNOWN;
	above = ancestor(topo, a, b, &steps_a, &steps_b);
	if (above < 0)
		return class_apart(topo, a, b);
	if (topo->objs[above].kind == GP_OBJ_HOST)
		return GP_CLASS_PHB;
	/* a switch is two ports on the way; where the ways meet inside one, each has one port of it
	 */
	switches = steps_a / 2 + steps_b / 2 +
		   (steps_a % 2 || steps_b % 2 || topo->objs[above].kind == GP_OBJ_SWITCH);
	return switches <= 1 ? GP_CLASS_PIX : GP_CLASS_PXB;
}

/* --- partners --- */

/* Down only where every port is known and none is up. */
static bool is_down(const struct gp_topo_device *nic)
{
	for (int i = 0; i < nic->n_ports; i++)
		if (!nic->ports[i].state[0] || strcmp(nic->ports[i].state, "ACTIVE") == 0)
			return false;
	return nic->n_ports > 0;
}

/* Hardware before what is virtual: VFs and SFs are mostly meant for others; software last. */
static int rank(const struct gp_topo *topo, int nic)
{
	int obj = topo->nic_obj[nic];

	if (topo->nics[nic].software)
		return 2;
	return topo->nics[nic].via[0] || (obj >= 0 && topo->objs[obj].virtual_function);
}

/* A distance that is not told is still below SYS where both are known to be on one node. */
static bool is_same_node(const struct gp_topo *topo, int gpu, int nic)
{
	return topo->gpus[gpu].numa_node >= 0 &&
	       topo->gpus[gpu].numa_node == topo->nics[nic].numa_node;
}

/* What makes one NIC a worse choice than another for this GPU: what is down last, then far behind
 * near, then virtual behind real. */
static int badness(const struct gp_topo *topo, int gpu, int nic)
{
	enum gp_class class = topo->pair[gpu][nic];
	int distance = 8 * (int)class;

	if (class == GP_CLASS_UNKNOWN && is_same_node(topo, gpu, nic))
		distance = 8 * GP_CLASS_NODE + 4;
	return is_down(&topo->nics[nic]) * 100 + distance + rank(topo, nic);
}

static int least_badness(const struct gp_topo *topo, int gpu)
{
	int least = 1000;

	for (int n = 0; n < topo->n_nics; n++)
		if (badness(topo, gpu, n) < least)
			least = badness(topo, gpu, n);
	return least;
}

/* A NIC that stands nearer but is down, -1. */
int gp_topo_nearer_down(const struct gp_topo *topo, int gpu, enum gp_class class)
{
	for (int n = 0; n < topo->n_nics; n++)
		if (is_down(&topo->nics[n]) && topo->pair[gpu][n] < class)
			return n;
	return -1;
}

static void why_nic(const struct gp_topo *topo, int gpu, int used, struct gp_topo_pick *pick)
{
	int least = least_badness(topo, gpu), equals = 0, down;
	size_t at;
	char *why = pick->why, more[96] = "";

	for (int n = 0; n < topo->n_nics; n++)
		equals += badness(topo, gpu, n) == least;
	at = (size_t)snprintf(why, sizeof(pick->why), "%s: %s", gp_class_name(pick->class),
			      gp_class_text(pick->class));
	down = gp_topo_nearer_down(topo, gpu, pick->class);
	if (is_down(&topo->nics[pick->index]))
		snprintf(more, sizeof(more), "; no NIC is up");
	else if (down >= 0)
		snprintf(more, sizeof(more), "; %.40s is nearer (%s), but its port is %s",
			 topo->nics[down].name, gp_class_name(topo->pair[gpu][down]),
			 topo->nics[down].ports[0].state);
	else if (used > 1)
		snprintf(more, sizeof(more), "; shared by %d GPUs", used);
	else if (topo->n_nics == 1)
		snprintf(more, sizeof(more), "; the only NIC");
	else if (pick->class == GP_CLASS_UNKNOWN && is_same_node(topo, gpu, pick->index))
		snprintf(more, sizeof(more), "; on the same NUMA node");
	else if (equals > 1)
		snprintf(more, sizeof(more), "; one of %d so near", equals);
	else
		snprintf(more, sizeof(more), "; the nearest");
	snprintf(why + at, sizeof(pick->why) - at, "%s", more);
}

static void pick_none(struct gp_topo_pick *pick, const char *what)
{
	pick->index = -1;
	pick->class = GP_CLASS_UNKNOWN;
	snprintf(pick->why, sizeof(pick->why), "there is no %s", what);
}

void gp_topo_pick_nic(const struct gp_topo *topo, int gpu, struct gp_topo_pick *pick)
{
	if (topo->n_nics == 0 || gpu < 0 || gpu >= topo->n_gpus) {
		pick_none(pick, topo->n_nics == 0 ? "NIC" : "such GPU");
		return;
	}
	pick->index = 0;
	for (int n = 1; n < topo->n_nics; n++)
		if (badness(topo, gpu, n) < badness(topo, gpu, pick->index))
			pick->index = n;
	pick->class = topo->pair[gpu][pick->index];
	why_nic(topo, gpu, 1, pick);
}

void gp_topo_pick_gpu(const struct gp_topo *topo, int nic, struct gp_topo_pick *pick)
{
	int equals = 0;

	if (topo->n_gpus == 0 || nic < 0 || nic >= topo->n_nics) {
		pick_none(pick, topo->n_gpus == 0 ? "GPU" : "such NIC");
		return;
	}
	pick->index = 0;
	for (int g = 1; g < topo->n_gpus; g++)
		if (topo->pair[g][nic] < topo->pair[pick->index][nic])
			pick->index = g;
	pick->class = topo->pair[pick->index][nic];
	for (int g = 0; g < topo->n_gpus; g++)
		equals += topo->pair[g][nic] == pick->class;
	if (topo->n_gpus == 1)
		snprintf(pick->why, sizeof(pick->why), "%s: %s; the only GPU",
			 gp_class_name(pick->class), gp_class_text(pick->class));
	else if (equals > 1)
		snprintf(pick->why, sizeof(pick->why), "%s: %s; one of %d so near",
			 gp_class_name(pick->class), gp_class_text(pick->class), equals);
	else
		snprintf(pick->why, sizeof(pick->why), "%s: %s; the nearest",
			 gp_class_name(pick->class), gp_class_text(pick->class));
}

/* --- sharing out: a matching of GPUs to their equally good NICs --- */

struct sharing {
	const struct gp_topo *topo;
	int least[GP_TOPO_MAX];	   /* badness of the best NICs of each GPU */
	int limit;		   /* GPUs that one NIC may have in this round */
	int nic[GP_TOPO_MAX];	   /* of each GPU, -1: none yet */
	int used[GP_TOPO_MAX];	   /* GPUs of each NIC */
	bool visited[GP_TOPO_MAX]; /* NICs, in the present search */
};

static bool is_candidate(const struct sharing *sharing, int gpu, int nic)
{
	return badness(sharing->topo, gpu, nic) == sharing->least[gpu];
}

/* Give `gpu` a NIC of its best class, moving others aside where they have another one as good. */
static bool place(struct sharing *sharing, int gpu)
{
	for (int n = 0; n < sharing->topo->n_nics; n++) {
		if (!is_candidate(sharing, gpu, n) || sharing->visited[n] ||
		    sharing->used[n] >= sharing->limit)
			continue;
		sharing->nic[gpu] = n;
		sharing->used[n]++;
		return true;
	}
	for (int n = 0; n < sharing->topo->n_nics; n++) {
		if (!is_candidate(sharing, gpu, n) || sharing->visited[n])
			continue;
		sharing->visited[n] = true;
		for (int g = 0; g < sharing->topo->n_gpus; g++) {
			if (sharing->nic[g] != n)
				continue;
			sharing->used[n]--;
			sharing->nic[g] = -1;
			if (place(sharing, g)) {
				sharing->nic[gpu] = n;
				sharing->used[n]++;
				return true;
			}
			sharing->nic[g] = n;
			sharing->used[n]++;
		}
	}
	return false;
}

void gp_topo_share(const struct gp_topo *topo, struct gp_topo_pick picks[GP_TOPO_MAX])
{
	struct sharing sharing = {.topo = topo};
	int left = topo->n_nics ? topo->n_gpus : 0;

	memset(sharing.nic, -1, sizeof(sharing.nic));
	for (int g = 0; g < topo->n_gpus; g++)
		sharing.least[g] = least_badness(topo, g);
	for (sharing.limit = 1; left > 0 && sharing.limit <= GP_TOPO_MAX; sharing.limit++) {
		for (int g = 0; g < topo->n_gpus; g++) {
			memset(sharing.visited, 0, sizeof(sharing.visited));
			if (sharing.nic[g] < 0 && place(&sharing, g))
				left--;
		}
	}
	for (int g = 0; g < topo->n_gpus; g++) {
		if (topo->n_nics == 0) {
			pick_none(&picks[g], "NIC");
			continue;
		}
		picks[g].index = sharing.nic[g];
		picks[g].class = topo->pair[g][sharing.nic[g]];
		why_nic(topo, g, sharing.used[sharing.nic[g]], &picks[g]);
	}
}
