/* SPDX-License-Identifier: BSD-2-Clause */
/* topo_way: the bridges between a GPU and a NIC, and what they and the IOMMU do to the traffic. */
#include "topo_tree.h"

#include <string.h>

static bool is_above(const struct gp_topo *topo, int upper, int obj)
{
	for (obj = topo->objs[obj].parent; obj >= 0; obj = topo->objs[obj].parent)
		if (obj == upper)
			return true;
	return false;
}

static void way_up(const struct gp_topo *topo, int from, int other, struct gp_way *way)
{
	for (int at = topo->objs[from].parent; at >= 0 && way->n < 2 * GP_TOPO_DEPTH_MAX;
	     at = topo->objs[at].parent) {
		if (topo->objs[at].kind == GP_OBJ_HOST)
			break;
		if (is_above(topo, at, other))
			return; /* where the two ways meet */
		way->obj[way->n++] = at;
	}
	way->through_host = true;
}

bool gp_topo_way(const struct gp_topo *topo, int gpu, int nic, struct gp_way *way)
{
	int a = topo->gpu_obj[gpu], b = topo->nic_obj[nic];

	memset(way, 0, sizeof(*way));
	if (a < 0 || b < 0)
		return false;
	way_up(topo, a, b, way);
	way_up(topo, b, a, way);
	return true;
}

/* Request redirect 4, completion redirect 8, upstream forwarding 0x10 (linux/pci_regs.h PCI_ACS_*).
 */
bool gp_acs_redirects(int acs)
{
	return acs > 0 && acs & 0x1c;
}

/* Where the way goes through the root complex anyway, redirecting changes nothing. */
int gp_topo_acs_redirect(const struct gp_topo *topo, int gpu, int nic)
{
	struct gp_way way;
	int known = 0;

	if (!gp_topo_way(topo, gpu, nic, &way))
		return -1;
	for (int i = 0; i < way.n && !way.through_host; i++) {
		int acs = topo->objs[way.obj[i]].acs;

		if (gp_acs_redirects(acs))
			return 1;
		known = acs < 0 ? -1 : known;
	}
	return known;
}

int gp_topo_iommu_translates(const struct gp_topo_device *device)
{
	if (!device->iommu[0])
		return -1;
	return strncmp(device->iommu, "DMA", 3) == 0;
}
