/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_find: what slows the way between GPU and NIC. Pure; one row of the table at the end for each
 * kind of finding. They speak of the pairs that gp_topo_share() makes: what a job would use.
 */
#include "topo_tree.h"

#include <stdarg.h>
#include <string.h>

struct sink {
	const struct gp_topo *topo;
	struct gp_topo_pick picks[GP_TOPO_MAX];
	struct gp_topo_finding *findings;
	int n;
	const char *id, *fix; /* of the row at work */
};

static void add(struct sink *sink, const char *severity, int gpu, int nic, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static void add(struct sink *sink, const char *severity, int gpu, int nic, const char *fmt, ...)
{
	struct gp_topo_finding *finding;
	va_list args;

	if (sink->n == GP_TOPO_FINDINGS_MAX)
		return;
	finding = &sink->findings[sink->n++];
	memset(finding, 0, sizeof(*finding));
	finding->id = sink->id;
	finding->severity = severity;
	finding->gpu = gpu;
	finding->nic = nic;
	va_start(args, fmt);
	vsnprintf(finding->message, sizeof(finding->message), fmt, args);
	va_end(args);
	snprintf(finding->fix, sizeof(finding->fix), "%s", sink->fix);
}

/* A list of names in a sentence; what does not fit is counted. */
struct names {
	char text[200];
	size_t used;
	int n, left_out;
};

static void names_add(struct names *names, const char *name)
{
	names->n++;
	if (names->used + strlen(name) + 20 > sizeof(names->text)) {
		names->left_out++;
		return;
	}
	names->used +=
		(size_t)snprintf(names->text + names->used, sizeof(names->text) - names->used,
				 "%s%s", names->used ? ", " : "", name);
}

static const char *names_end(struct names *names)
{
	if (names->left_out)
		snprintf(names->text + names->used, sizeof(names->text) - names->used,
			 " and %d more", names->left_out);
	return names->text;
}

static const char *node_text(int node, char *buf, size_t size)
{
	if (node < 0)
		snprintf(buf, size, "node unknown");
	else
		snprintf(buf, size, "node %d", node);
	return buf;
}

/* --- the rows --- */

enum sockets { SOCKETS_UNTOLD, SOCKETS_SAME, SOCKETS_APART };

/* Two NUMA nodes of one socket are SYS too, but cross no socket link. */
static enum sockets sockets_compare(const struct gp_topo *topo, int gpu, int nic)
{
	int node_a = topo->gpus[gpu].numa_node, node_b = topo->nics[nic].numa_node;
	int a = node_a < 0 ? -1 : gp_topo_node_socket(topo, node_a);
	int b = node_b < 0 ? -1 : gp_topo_node_socket(topo, node_b);

	if (a < 0 || b < 0)
		return SOCKETS_UNTOLD;
	return a == b ? SOCKETS_SAME : SOCKETS_APART;
}

/* The pair is SYS, and for all that is told crosses between sockets. */
static bool crosses(const struct sink *sink, int gpu)
{
	int nic = sink->picks[gpu].index;

	return nic >= 0 && sink->picks[gpu].class == GP_CLASS_SYS &&
	       sockets_compare(sink->topo, gpu, nic) != SOCKETS_SAME;
}

static void find_cross_socket(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo;
	char a[24], b[24];

	for (int g = 0; g < topo->n_gpus; g++) {
		int n = sink->picks[g].index;
		bool untold;

		if (!crosses(sink, g))
			continue;
		untold = sockets_compare(topo, g, n) == SOCKETS_UNTOLD;
		add(sink, "warning", g, n,
		    "%s (%s) has no %sNIC on its own %s: the best, %s (%s), %s", topo->gpus[g].name,
		    node_text(topo->gpus[g].numa_node, a, sizeof(a)),
		    gp_topo_nearer_down(topo, g, GP_CLASS_SYS) >= 0 ? "active " : "",
		    untold ? "NUMA node" : "socket", topo->nics[n].name,
		    node_text(topo->nics[n].numa_node, b, sizeof(b)),
		    untold ? "is on another, behind the socket link unless both are one socket's"
			   : "is across the socket link");
	}
}

static void find_numa_unknown(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo;
	bool several = topo->n_nodes > 1 || topo->n_sockets > 1;
	struct names names = {.used = 0};

	if (topo->given)
		return; /* the matrix says all that it knows */
	for (int i = 0; i < topo->n_gpus; i++)
		if (topo->gpus[i].numa_node < 0 && topo->gpu_obj[i] >= 0)
			names_add(&names, topo->gpus[i].name);
	for (int i = 0; i < topo->n_nics; i++)
		if (topo->nics[i].numa_node < 0 && topo->nic_obj[i] >= 0)
			names_add(&names, topo->nics[i].name);
	if (names.n)
		add(sink, several ? "warning" : "info", -1, -1, "%s: no NUMA node is told (-1)%s",
		    names_end(&names),
		    several ? "; what is near can't be known" : "; there is only one to be on");
	if (topo->n_nodes == 1 && topo->n_sockets > 1)
		add(sink, "warning", -1, -1,
		    "%d sockets, but one NUMA node: NUMA is off or interleaved, and which socket a "
		    "device is on can't be told",
		    topo->n_sockets);
}

static double least(double a, double b)
{
	return a > 0 && (b <= 0 || a < b) ? a : b;
}

/* What both ends of the link above `obj` can do. */
static struct gp_link link_able(const struct gp_topo *topo, int obj)
{
	struct gp_link able = topo->objs[obj].link;
	int up = topo->objs[obj].parent;

	if (up >= 0 && topo->objs[up].kind == GP_OBJ_BRIDGE) {
		able.max_gts = least(able.max_gts, topo->objs[up].link.max_gts);
		able.max_width = (int)least(able.max_width, topo->objs[up].link.max_width);
	}
	return able;
}

static const char *link_text(double gts, int width, char *buf, size_t size)
{
	snprintf(buf, size, "%g GT/s x%d", gts, width);
	return buf;
}

/* One link below its maximum. An idle GPU lowers its speed, so that alone is only worth a hint. */
static void link_check(struct sink *sink, int obj, int gpu, int nic, const char *name)
{
	const struct gp_link *link = &sink->topo->objs[obj].link;
	struct gp_link able = link_able(sink->topo, obj);
	char now[32], most[32];
	bool slow, slim;

	if (link->gts <= 0 || link->width <= 0 || link->max_gts <= 0 || link->max_width <= 0)
		return;
	slow = link->gts < able.max_gts;
	slim = link->width < able.max_width;
	link_text(link->gts, link->width, now, sizeof(now));
	if (slow || slim)
		add(sink, gpu >= 0 && !slim ? "info" : "warning", gpu, nic,
		    "%s (%s): the PCIe link runs at %s, both ends can do %s%s", name,
		    sink->topo->objs[obj].bdf, now,
		    link_text(able.max_gts, able.max_width, most, sizeof(most)),
		    gpu >= 0 && !slim ? "; an idle GPU lowers its speed: look again under load"
				      : "");
	else if (link->gts < link->max_gts || link->width < link->max_width)
		add(sink, link->width < link->max_width ? "warning" : "info", gpu, nic,
		    "%s (%s): the PCIe link runs at %s, the device can do %s but its slot can't",
		    name, sink->topo->objs[obj].bdf, now,
		    link_text(link->max_gts, link->max_width, most, sizeof(most)));
}

/* Upstream ports of switches on the way up, each once. In a chain device, port, port, ..., root
 * port every second one is the lower end of a link. */
static void links_above(struct sink *sink, int obj, bool *seen)
{
	const struct gp_topo *topo = sink->topo;
	int n = 0;

	for (int at = obj; at >= 0 && topo->objs[at].kind != GP_OBJ_HOST; n++)
		at = topo->objs[at].parent;
	for (int at = topo->objs[obj].parent, i = 1; i < n; at = topo->objs[at].parent, i++) {
		if (seen[at] || (n % 2 == 0 && i % 2))
			continue;
		seen[at] = true;
		if (topo->objs[at].parent >= 0 &&
		    topo->objs[topo->objs[at].parent].kind == GP_OBJ_BRIDGE)
			link_check(sink, at, -1, -1, "PCIe switch");
	}
}

static void find_link(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo;
	bool seen[GP_TOPO_OBJS_MAX] = {false};

	for (int g = 0; g < topo->n_gpus; g++) {
		if (topo->gpu_obj[g] < 0)
			continue;
		link_check(sink, topo->gpu_obj[g], g, -1, topo->gpus[g].name);
		links_above(sink, topo->gpu_obj[g], seen);
	}
	for (int n = 0; n < topo->n_nics; n++) {
		if (topo->nic_obj[n] < 0 || topo->nics[n].software)
			continue;
		link_check(sink, topo->nic_obj[n], -1, n, topo->nics[n].name);
		links_above(sink, topo->nic_obj[n], seen);
	}
}

static bool way_find(const struct sink *sink, int gpu, struct gp_way *way)
{
	int nic = sink->picks[gpu].index;

	return nic >= 0 && gp_topo_way(sink->topo, gpu, nic, way);
}

static void find_acs(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo;
	struct gp_way way;

	for (int g = 0; g < topo->n_gpus; g++) {
		struct names names = {.used = 0};

		if (!way_find(sink, g, &way) || way.through_host)
			continue;
		for (int i = 0; i < way.n; i++) {
			const struct gp_obj *obj = &topo->objs[way.obj[i]];

			if (gp_acs_redirects(obj->acs))
				names_add(&names, obj->bdf);
		}
		if (names.n)
			add(sink, "warning", g, sink->picks[g].index,
			    "%s to %s: ACS redirects peer-to-peer traffic to the root complex at "
			    "%s",
			    topo->gpus[g].name, topo->nics[sink->picks[g].index].name,
			    names_end(&names));
	}
}

static void find_iommu(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo;
	struct names names = {.used = 0};
	const char *type = "";

	for (int i = 0; i < topo->n_gpus; i++)
		if (gp_topo_iommu_translates(&topo->gpus[i]) > 0) {
			names_add(&names, topo->gpus[i].name);
			type = topo->gpus[i].iommu;
		}
	for (int i = 0; i < topo->n_nics; i++)
		if (gp_topo_iommu_translates(&topo->nics[i]) > 0 && !topo->nics[i].software) {
			names_add(&names, topo->nics[i].name);
			type = topo->nics[i].iommu;
		}
	if (names.n)
		add(sink, "warning", -1, -1, "the IOMMU translates for %s (iommu_group/type %s)",
		    names_end(&names), type);
}

static void find_many_nodes(struct sink *sink)
{
	if (sink->topo->n_nodes > 8)
		add(sink, "warning", -1, -1,
		    "%d NUMA nodes: the kubelet's Topology Manager takes at most 8 and refuses to "
		    "start with a policy other than none",
		    sink->topo->n_nodes);
}

/* GPUs of which the picks satisfy something. */
static void gpus_of_nic(struct sink *sink, int nic)
{
	struct names names = {.used = 0};

	for (int g = 0; g < sink->topo->n_gpus; g++)
		if (sink->picks[g].index == nic)
			names_add(&names, sink->topo->gpus[g].name);
	if (names.n > 1)
		add(sink, "info", -1, nic, "%s share %s: together they get what one NIC has",
		    names_end(&names), sink->topo->nics[nic].name);
}

/* The first bridge that the ways of two rails have in common, -1. */
static int shared_bridge(const struct gp_way *a, const struct gp_way *b)
{
	for (int i = 0; i < a->n; i++)
		for (int k = 0; k < b->n; k++)
			if (a->obj[i] == b->obj[k])
				return a->obj[i];
	return -1;
}

/* Rails with NICs of their own that meet in a PCIe bridge: said once for each bridge. */
static void rails_of_bridge(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo;
	int said[GP_TOPO_MAX], n_said = 0;
	struct gp_way a, b;

	for (int g = 0; g < topo->n_gpus; g++) {
		struct names names = {.used = 0};
		int bridge = -1, k;

		if (!way_find(sink, g, &a))
			continue;
		for (int h = g + 1; h < topo->n_gpus; h++) {
			int met = sink->picks[h].index != sink->picks[g].index &&
						  way_find(sink, h, &b)
					  ? shared_bridge(&a, &b)
					  : -1;

			if (met < 0 || (bridge >= 0 && met != bridge))
				continue;
			if (!names.n)
				names_add(&names, topo->gpus[g].name);
			names_add(&names, topo->gpus[h].name);
			bridge = met;
		}
		for (k = 0; k < n_said && said[k] != bridge; k++)
			;
		if (bridge < 0 || k < n_said)
			continue;
		said[n_said++] = bridge;
		add(sink, "warning", g, -1, "the rails of %s share the PCIe link at %s",
		    names_end(&names), topo->objs[bridge].bdf);
	}
}

static void find_shared(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo;
	struct names names = {.used = 0};

	for (int n = 0; n < topo->n_nics; n++)
		gpus_of_nic(sink, n);
	rails_of_bridge(sink);
	for (int g = 0; g < topo->n_gpus; g++)
		if (crosses(sink, g))
			names_add(&names, topo->gpus[g].name);
	if (names.n > 1)
		add(sink, "warning", -1, -1, "the rails of %s cross between NUMA nodes together",
		    names_end(&names));
}

static void find_cpuset(struct sink *sink)
{
	if (sink->topo->allowed_nodes[0])
		add(sink, "info", -1, -1,
		    "this process may only use NUMA nodes %s of %d: what is local to others can't "
		    "be bound to",
		    sink->topo->allowed_nodes, sink->topo->n_nodes);
}

static void find_no_place(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo;
	struct names names = {.used = 0};

	if (topo->given)
		return;
	for (int i = 0; i < topo->n_gpus; i++)
		if (topo->gpu_obj[i] < 0)
			names_add(&names, topo->gpus[i].name);
	for (int i = 0; i < topo->n_nics; i++)
		if (topo->nic_obj[i] < 0)
			names_add(&names, topo->nics[i].name);
	if (names.n)
		add(sink, "info", -1, -1, "%s: no PCI device behind it: its distance can't be told",
		    names_end(&names));
}

static void find_no_pci(struct sink *sink)
{
	if (sink->topo->pci_untold)
		add(sink, "info", -1, -1, "no PCI device can be seen: no distance can be told");
}

/* The NIC of that name in another topology, -1. */
static int same_nic(const struct gp_topo *other, const char *name)
{
	for (int n = 0; n < other->n_nics; n++)
		if (strcmp(other->nics[n].name, name) == 0)
			return n;
	return -1;
}

/* nvidia-smi numbers GPUs by address, as the tree's are before CUDA renames them. */
static void find_disagreement(struct sink *sink)
{
	const struct gp_topo *topo = sink->topo, *told = topo->told;
	int gpu = -1, nic = -1, n_differ = 0, at = -1;

	if (!told || topo->cuda_numbers)
		return;
	for (int g = 0; g < topo->n_gpus; g++)
		for (int n = 0; n < topo->n_nics; n++) {
			int tg = gp_topo_gpu_find(told, topo->gpus[g].name);
			int tn = same_nic(told, topo->nics[n].name);
			enum gp_class class = gp_topo_pair(told, tg, tn);

			if (class == GP_CLASS_UNKNOWN || topo->pair[g][n] == GP_CLASS_UNKNOWN ||
			    class == topo->pair[g][n])
				continue;
			if (n_differ++ == 0) {
				gpu = g;
				nic = n;
				at = class;
			}
		}
	if (n_differ)
		add(sink, "warning", gpu, nic,
		    "nvidia-smi says %s for %s and %s, the PCI tree %s; pairs that differ: %d",
		    gp_class_name((enum gp_class)at), topo->gpus[gpu].name, topo->nics[nic].name,
		    gp_class_name(topo->pair[gpu][nic]), n_differ);
}

static void find_left_out(struct sink *sink)
{
	if (sink->topo->n_left_out)
		add(sink, "warning", -1, -1, "%d devices more than the %d that are shown",
		    sink->topo->n_left_out, GP_TOPO_MAX);
}

static const struct {
	const char *id;
	void (*find)(struct sink *sink);
	const char *fix;
} rows[] = {
	{"cross-socket", find_cross_socket,
	 "take a GPU and a NIC of one socket, or move a card; `gdrproof bw --placement near,far` "
	 "shows what it costs"},
	{"numa-node-unknown", find_numa_unknown,
	 "enable NUMA and SRAT/_PXM in the firmware (no numa=off, no node interleaving); in a "
	 "virtual machine give its PCI bridges a node"},
	{"link-below-maximum", find_link,
	 "reseat the card, try another slot or riser, look at the firmware's limits for this slot; "
	 "lspci -vv shows LnkCap and LnkSta"},
	{"acs-redirect", find_acs,
	 "on bare metal turn ACS off in the firmware, or at boot, as root: setpci -s BDF "
	 "ECAP_ACS+6.w=0000; virtual machines need ACS, there let the NIC use ATS"},
	{"iommu-translating", find_iommu,
	 "boot with iommu=pt (with intel_iommu=on on Intel), or turn the IOMMU off where nothing "
	 "needs it"},
	{"too-many-numa-nodes", find_many_nodes,
	 "fewer NUMA nodes per socket in the firmware (NPS1, SNC off), or the Topology Manager's "
	 "option max-allowable-numa-nodes"},
	{"rails-share-link", find_shared,
	 "expect the sum of such rails to stay below their limits added; a NIC for each GPU, on a "
	 "link of its own, lifts it"},
	{"cpuset-restricted", find_cpuset,
	 "give the container or job CPUs and memory of the node that GPU and NIC are on"},
	{"no-pci-place", find_no_place,
	 "put a software RDMA device on a netdev of a real card; a veth or dummy does for trying "
	 "out"},
	{"pci-not-visible", find_no_pci,
	 "mount the host's /sys into the container, or capture on the host"},
	{"topo-m-disagrees", find_disagreement,
	 "captured on two machines, or at two times? if not, please report it with the capture"},
	{"devices-left-out", find_left_out,
	 "virtual functions are the usual cause: look at a host or capture with fewer of them"},
};

int gp_topo_findings(const struct gp_topo *topo, struct gp_topo_finding *findings)
{
	struct sink sink = {.topo = topo, .findings = findings};

	gp_topo_share(topo, sink.picks);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sink.id = rows[i].id;
		sink.fix = rows[i].fix;
		rows[i].find(&sink);
	}
	return sink.n;
}

int gp_topo_rail_findings(const struct gp_topo *topo, const struct gp_topo_pick picks[GP_TOPO_MAX],
			  struct gp_topo_finding *findings)
{
	struct sink sink = {.topo = topo, .findings = findings};

	memcpy(sink.picks, picks, sizeof(sink.picks));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].find != find_shared)
			continue;
		sink.id = rows[i].id;
		sink.fix = rows[i].fix;
		rows[i].find(&sink);
	}
	return sink.n;
}
