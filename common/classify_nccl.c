/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify_nccl: findings about NCCL logs, one or an A/B of two. Their conditions, then their rows.
 */
#include "classify_findings.h"

#include <stdio.h>
#include <string.h>

static bool is_socket(const struct gp_nccl *nccl)
{
	return strcmp(nccl->network, "Socket") == 0;
}

static bool ib_disabled(const struct gp_nccl *nccl)
{
	const char *set = gp_nccl_env(nccl, "NCCL_IB_DISABLE");

	return set && strcmp(set, "0") != 0 && set[0];
}

static bool uses_rdma(const struct gp_nccl *nccl)
{
	return nccl->network[0] && !is_socket(nccl);
}

bool gp_nccl_disable_ineffective(const struct gp_nccl *nccl)
{
	return ib_disabled(nccl) && (uses_rdma(nccl) || nccl->n_nics > 0);
}

static bool nccl_disable_ineffective(const struct gp_case *c)
{
	return (c->nccl && gp_nccl_disable_ineffective(c->nccl)) ||
	       (c->other && gp_nccl_disable_ineffective(c->other));
}

/* The log that is meant to use RDMA: the one without NCCL_IB_DISABLE. */
const struct gp_nccl *gp_case_on_side(const struct gp_case *c)
{
	return c->other && ib_disabled(c->nccl) ? c->other : c->nccl;
}

const struct gp_nccl *gp_case_off_side(const struct gp_case *c)
{
	return gp_case_on_side(c) == c->nccl ? c->other : c->nccl;
}

static bool nccl_ib_not_used(const struct gp_case *c)
{
	const struct gp_nccl *nccl = c->nccl ? gp_case_on_side(c) : NULL;

	return nccl && !ib_disabled(nccl) &&
	       (is_socket(nccl) || (!nccl->network[0] && nccl->no_device_line.number));
}

static bool hca_says_off(const struct gp_nccl *nccl)
{
	for (int i = 0; i < nccl->n_hcas; i++)
		if (!nccl->hcas[i].gdr)
			return true;
	return false;
}

static bool nccl_gdr_level(const struct gp_case *c)
{
	const struct gp_nccl *nccl = c->nccl ? gp_case_on_side(c) : NULL;

	return nccl && nccl->distance_line.number && !hca_says_off(nccl);
}

/* Said per HCA, or seen on the channels; where the distance was the reason, that is the finding. */
static bool nccl_gdr_off(const struct gp_case *c)
{
	const struct gp_nccl *nccl = c->nccl ? gp_case_on_side(c) : NULL;

	if (!nccl || is_socket(nccl) || nccl_gdr_level(c))
		return false;
	return hca_says_off(nccl) || (nccl->net_channels > 0 && nccl->gdr_channels == 0);
}

static bool nccl_gdr_off_old(const struct gp_case *c)
{
	const struct gp_nccl *nccl = c->nccl ? gp_case_on_side(c) : NULL;
	bool old =
		nccl && (!nccl->version[0] || gp_version_compare(nccl->version, "2.23.4", 3) < 0);

	return nccl_gdr_off(c) && old && hca_says_off(nccl) &&
	       gp_case_known(c, GP_FACT_MEMORY_PEERS) != GP_YES;
}

#define BUSBW_SAME 0.05 /* closer than this is unchanged */

double gp_nccl_busbw(const struct gp_nccl *nccl)
{
	return nccl->busbw >= 0 ? nccl->busbw : nccl->busbw_top;
}

static bool words_differ(const char *a, const char *b)
{
	return a[0] && b[0] && strcmp(a, b) != 0;
}

/* Different jobs. What a log does not tell is taken to be the same. */
static bool jobs_differ(const struct gp_nccl *a, const struct gp_nccl *b, char *out, size_t size)
{
	if (a->n_ranks && b->n_ranks && a->n_ranks != b->n_ranks)
		snprintf(out, size, "%d ranks against %d", a->n_ranks, b->n_ranks);
	else if (words_differ(a->version, b->version))
		snprintf(out, size, "NCCL %s against %s", a->version, b->version);
	else if (words_differ(a->operation, b->operation))
		snprintf(out, size, "%s against %s", a->operation, b->operation);
	else if (a->size_top >= 0 && b->size_top >= 0 && a->size_top != b->size_top)
		snprintf(out, size, "largest message %.0f bytes against %.0f", a->size_top,
			 b->size_top);
	else
		return false;
	return true;
}

bool gp_nccl_difference(const struct gp_case *c, char *out, size_t size)
{
	const struct gp_nccl *a = c->nccl, *b = c->other;

	if (nccl_disable_ineffective(c))
		snprintf(out, size, "the run with NCCL_IB_DISABLE=1 still used RDMA");
	else if (jobs_differ(a, b, out, size))
		return true;
	else if (ib_disabled(a) == ib_disabled(b))
		snprintf(out, size, "NCCL_IB_DISABLE=1 is set in %s of them",
			 ib_disabled(a) ? "both" : "neither");
	else if (is_socket(gp_case_on_side(c)))
		snprintf(out, size, "the run that should use RDMA used sockets");
	else
		return false;
	return true;
}

static bool nccl_not_comparable(const struct gp_case *c)
{
	char difference[160];

	return c->nccl && c->other && gp_nccl_difference(c, difference, sizeof(difference));
}

static bool nccl_unchanged(const struct gp_case *c)
{
	double on, off;

	if (!c->nccl || !c->other || nccl_not_comparable(c))
		return false;
	on = gp_nccl_busbw(gp_case_on_side(c));
	off = gp_nccl_busbw(gp_case_off_side(c));
	return on > 0 && off > 0 && on / off < 1 + BUSBW_SAME && off / on < 1 + BUSBW_SAME;
}

const struct gp_finding_row gp_nccl_findings[] = {
	{"nccl-ib-disable-ineffective",
	 GP_SEVERITY_ERROR,
	 nccl_disable_ineffective,
	 {GP_NO_FACT},
	 "NCCL_IB_DISABLE=1 did not turn RDMA off: the network is {nccl_network}, an external "
	 "plugin or another path to the same HCAs; as the off side of an A/B this run proves "
	 "nothing",
	 "repeat it with NCCL_NET_PLUGIN=none (or the plugin unset) beside NCCL_IB_DISABLE=1, or "
	 "with NCCL_NET=Socket",
	 NULL,
	 NULL,
	 NULL},
	{"nccl-ib-not-used",
	 GP_SEVERITY_ERROR,
	 nccl_ib_not_used,
	 {GP_NO_FACT},
	 "NCCL uses TCP sockets: it found no RDMA device",
	 "look at ibv_devinfo in the same container, NCCL_IB_HCA and the rights on "
	 "/dev/infiniband; GPUDirect comes after that",
	 NULL,
	 NULL,
	 NULL},
	{"nccl-gdr-off",
	 GP_SEVERITY_ERROR,
	 nccl_gdr_off,
	 {GP_NO_FACT},
	 "NCCL uses RDMA, and not GPUDirect: {nccl_gdr}",
	 "find out which path this host has (gdrproof path on it) and measure it (gdrproof bw); "
	 "NCCL_NET_GDR_LEVEL is not the reason, since this is decided before any distance",
	 nccl_gdr_off_old,
	 NULL,
	 "NCCL_NET_GDR_LEVEL is not the reason: this is said per HCA, before any distance. Is "
	 "there "
	 "a path (gdrproof path)? With nvidia_peermem loaded, it may be only that memory_peers is "
	 "absent, all that NCCL before 2.23.4 looks at: use NCCL 2.23.4 or newer"},
	{"nccl-gdr-level",
	 GP_SEVERITY_WARNING,
	 nccl_gdr_level,
	 {GP_NO_FACT},
	 "NCCL does not use GPUDirect between a GPU and an HCA that are too far apart: "
	 "{nccl_distance}",
	 "use the NIC nearest to the GPU (gdrproof topo; NCCL_IB_HCA); NCCL_NET_GDR_LEVEL raises "
	 "the limit, which is often slower: measure with gdrproof bw",
	 NULL,
	 NULL,
	 NULL},
	{"nccl-ab-not-comparable",
	 GP_SEVERITY_ERROR,
	 nccl_not_comparable,
	 {GP_NO_FACT},
	 "the two NCCL runs can't be compared: {nccl_difference}",
	 "repeat both with the same ranks, sizes, operation and NCCL, one with RDMA and one with "
	 "NCCL_IB_DISABLE=1 NCCL_NET_PLUGIN=none",
	 NULL,
	 NULL,
	 NULL},
	{"nccl-ab-unchanged",
	 GP_SEVERITY_WARNING,
	 nccl_unchanged,
	 {GP_NO_FACT},
	 "turning RDMA off changed nothing ({nccl_busbw}): the network is not what bounds this "
	 "test, or RDMA was not used with it on",
	 "use a larger message and more than one node, and look for /GDRDMA on the channels of the "
	 "run with RDMA",
	 NULL,
	 NULL,
	 NULL},
	{.id = NULL},
};
