/* SPDX-License-Identifier: BSD-2-Clause */
/* host: see host.h. */
#include "host.h"
#include "here.h"
#include "place.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/utsname.h>

static int open_cuda(struct gp_host *host, struct gp_error *err)
{
	if (gp_cuda_open(&host->cuda, &host->cuda_versions, &host->cuda_error) < 0)
		return 0; /* kept for whoever wants a GPU */
	return gp_cuda_list(host->cuda, host->gpus, GP_GPU_MAX, &host->n_gpus, err);
}

int gp_host_open(bool with_cuda, struct gp_host *host, struct gp_error *err)
{
	struct utsname uts;

	*host = (struct gp_host){0};
	if (uname(&uts) == 0) {
		snprintf(host->name, sizeof(host->name), "%.63s", uts.nodename);
		snprintf(host->kernel, sizeof(host->kernel), "%s", uts.release);
	}
	if ((with_cuda && open_cuda(host, err) < 0) ||
	    gp_rdma_list(host->nics, GP_NIC_MAX, &host->n_nics, err) < 0 ||
	    gp_topo_open(NULL, &host->topo, err) < 0) {
		gp_host_close(host);
		return -1;
	}
	for (int i = 0; i < host->n_gpus; i++)
		gp_topo_gpu_name(host->topo, host->gpus[i].bdf, host->gpus[i].ordinal,
				 host->gpus[i].name);
	host->inventory = gp_here_describe(
		&(struct gp_here_cuda){host->cuda_versions, host->gpus, host->n_gpus});
	return 0;
}

void gp_host_close(struct gp_host *host)
{
	json_decref(host->inventory);
	gp_topo_close(host->topo);
	gp_cuda_close(host->cuda);
	*host = (struct gp_host){0};
}

/* PCI addresses compare from the right, so that "18:00.0" and "00000000:18:00.0" both do. */
static bool same_bdf(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b), n = la < lb ? la : lb;

	return n >= 7 && strcasecmp(a + la - n, b + lb - n) == 0;
}

static bool is_number(const char *word)
{
	return word[0] && strspn(word, "0123456789") == strlen(word);
}

static const struct gp_gpu *find_gpu(const struct gp_host *host, const char *word,
				     struct gp_error *err)
{
	for (int i = 0; i < host->n_gpus; i++) {
		const struct gp_gpu *gpu = &host->gpus[i];

		if (is_number(word) ? atoi(word) == gpu->ordinal
				    : same_bdf(word, gpu->bdf) || strcasecmp(word, gpu->uuid) == 0)
			return gpu;
	}
	if (!host->cuda)
		*err = host->cuda_error;
	else
		gp_error_set(err, GP_EXIT_MISSING, "no GPU '%s' here (CUDA shows %d)", word,
			     host->n_gpus);
	return NULL;
}

enum gp_class gp_host_distance(const struct gp_host *host, const struct gp_gpu *gpu,
			       const struct gp_nic *nic)
{
	int g = gpu ? gp_topo_gpu_find(host->topo, gpu->bdf) : -1;
	int n = gp_topo_nic_find(host->topo, nic->name);

	return g < 0 || n < 0 ? GP_CLASS_UNKNOWN : gp_topo_pair(host->topo, g, n);
}

/* The closest pair with an active port; whoever is fixed already is the only candidate. */
static void choose_closest(const struct gp_host *host, struct gp_choice *choice)
{
	const struct gp_nic *fixed_nic = choice->nic;
	const struct gp_gpu *fixed_gpu = choice->gpu;

	for (int g = 0; g < host->n_gpus; g++)
		for (int n = 0; n < host->n_nics; n++) {
			const struct gp_gpu *gpu = &host->gpus[g];
			const struct gp_nic *nic = &host->nics[n];
			enum gp_class d = gp_host_distance(host, gpu, nic);

			if ((fixed_nic && nic != fixed_nic) || (fixed_gpu && gpu != fixed_gpu) ||
			    !nic->active)
				continue;
			if (choice->nic && choice->gpu && d >= choice->distance)
				continue;
			choice->nic = nic;
			choice->gpu = gpu;
			choice->distance = d;
		}
}

static int choose_first_nic(const struct gp_host *host, struct gp_choice *choice,
			    struct gp_error *err)
{
	for (int n = 0; n < host->n_nics && !choice->nic; n++)
		if (host->nics[n].active)
			choice->nic = &host->nics[n];
	if (choice->nic)
		return 0;
	if (host->n_nics) {
		gp_error_set(err, GP_EXIT_MISSING, "no RDMA port here is active (of %d)",
			     host->n_nics);
		gp_error_advise(err, "bring a link up: see ibv_devinfo, ip link, rdma link");
	} else {
		gp_error_set(err, GP_EXIT_MISSING, "no RDMA device here");
		gp_error_advise(err, "load the NIC's RDMA driver: see ibv_devices, lspci");
	}
	return -1;
}

int gp_host_choose(const struct gp_host *host, const char *nic, const char *gpu,
		   struct gp_choice *choice, struct gp_error *err)
{
	*choice = (struct gp_choice){.distance = GP_CLASS_UNKNOWN};
	choice->gpu_declined = strcmp(gpu, "none") == 0;
	if (nic[0]) {
		choice->nic = gp_rdma_find(host->nics, host->n_nics, nic, err);
		if (!choice->nic)
			return -1;
	}
	if (gpu[0] && !choice->gpu_declined) {
		choice->gpu = find_gpu(host, gpu, err);
		if (!choice->gpu)
			return -1;
	}
	if (!choice->gpu_declined)
		choose_closest(host, choice);
	if (!choice->gpu && !choice->gpu_declined) {
		choice->no_gpu = host->cuda_error;
		gp_error_set(&choice->no_gpu, GP_EXIT_MISSING, "CUDA shows no GPU here");
	}
	return choice->nic ? 0 : choose_first_nic(host, choice, err);
}

static const struct gp_nic *active_nic(const struct gp_host *host, const char *name)
{
	for (int n = 0; n < host->n_nics; n++)
		if (host->nics[n].active && strcmp(host->nics[n].name, name) == 0)
			return &host->nics[n];
	return NULL;
}

int gp_host_rails(const struct gp_host *host, struct gp_rail rails[GP_RAILS_MAX])
{
	struct gp_topo_pick picks[GP_TOPO_MAX];
	int n = 0;

	gp_topo_share(host->topo, picks);
	for (int i = 0; i < host->n_gpus && n < GP_RAILS_MAX; i++) {
		int g = gp_topo_gpu_find(host->topo, host->gpus[i].bdf);
		int picked = g < 0 ? -1 : picks[g].index;
		const struct gp_nic *nic =
			picked < 0 ? NULL : active_nic(host, gp_topo_nic(host->topo, picked)->name);
		bool taken = false;

		for (int k = 0; k < n; k++)
			taken = taken || rails[k].nic == nic;
		if (nic && !taken)
			rails[n++] = (struct gp_rail){&host->gpus[i], nic};
	}
	for (int i = 0; i < host->n_nics && n < GP_RAILS_MAX && host->n_gpus == 0; i++)
		if (host->nics[i].active)
			rails[n++] = (struct gp_rail){NULL, &host->nics[i]};
	return n;
}

int gp_host_rail_findings(const struct gp_host *host, const struct gp_rail *rails, int n,
			  struct gp_topo_finding findings[GP_TOPO_FINDINGS_MAX])
{
	struct gp_topo_pick picks[GP_TOPO_MAX];

	for (int i = 0; i < GP_TOPO_MAX; i++)
		picks[i] = (struct gp_topo_pick){.index = -1, .class = GP_CLASS_UNKNOWN};
	for (int i = 0; i < n; i++) {
		int g = rails[i].gpu ? gp_topo_gpu_find(host->topo, rails[i].gpu->bdf) : -1;

		if (g < 0)
			continue;
		picks[g].index = gp_topo_nic_find(host->topo, rails[i].nic->name);
		picks[g].class = gp_host_distance(host, rails[i].gpu, rails[i].nic);
	}
	return gp_topo_rail_findings(host->topo, picks, findings);
}

static int nic_node(const struct gp_host *host, const struct gp_choice *choice)
{
	int n = gp_topo_nic_find(host->topo, choice->nic->name);
	const struct gp_topo_device *device = n >= 0 ? gp_topo_nic(host->topo, n) : NULL;

	return device ? device->numa_node : -1;
}

int gp_host_node(const struct gp_host *host, const struct gp_choice *choice, const char *word,
		 int *node, struct gp_error *err)
{
	int nic = nic_node(host, choice);

	if (is_number(word)) {
		*node = atoi(word);
	} else if (strcmp(word, "nic") == 0) {
		*node = nic;
	} else if (strcmp(word, "gpu") == 0) {
		if (!choice->gpu)
			return gp_error_set(err, GP_EXIT_MISSING,
					    "NUMA node 'gpu' was asked for, and there is no GPU");
		*node = gp_topo_numa_node(host->topo, choice->gpu->bdf);
	} else if (strcmp(word, "far") == 0) {
		*node = gp_place_far(nic);
		if (*node < 0)
			return gp_error_set(err, GP_EXIT_MISSING, "no far NUMA node: %s",
					    nic < 0 ? "the NIC's own node is not told"
						    : "there is one node");
	} else {
		return gp_error_set(err, GP_EXIT_USAGE,
				    "a NUMA node is a number, nic, gpu or far, not '%s'", word);
	}
	return 0;
}

/* RoCE v2 in IPv6 packets where the interface's address is one. */
static enum gp_packet wire_of(const struct gp_nic *nic)
{
	if (!nic->ethernet)
		return GP_PACKET_INFINIBAND;
	return strchr(nic->address, ':') ? GP_PACKET_ROCE_V2_IPV6 : GP_PACKET_ROCE_V2_IPV4;
}

/* The narrowest link on the way up is what counts. */
static void pcie_limit(const struct gp_topo_device *device, const char *name,
		       struct gp_limit *limit)
{
	const struct gp_link *link;

	*limit = (struct gp_limit){0};
	if (!device)
		return;
	link = device->narrowed ? &device->narrowest : &device->link;
	if (link->gts > 0 && link->width > 0)
		gp_limit_pcie(name, link->gts, link->width, device->max_payload_bytes, false,
			      limit);
}

void gp_host_limit(const struct gp_host *host, const struct gp_choice *choice,
		   struct gp_limit *limit)
{
	const struct gp_nic *nic = choice->nic;
	int n = gp_topo_nic_find(host->topo, nic->name);
	int g = choice->gpu ? gp_topo_gpu_find(host->topo, choice->gpu->bdf) : -1;
	struct gp_limit limits[3];

	gp_limit_wire(nic->rate_gbits_per_s, nic->speed_code, nic->mtu, wire_of(nic), nic->software,
		      &limits[0]);
	pcie_limit(n >= 0 ? gp_topo_nic(host->topo, n) : NULL, nic->name, &limits[1]);
	pcie_limit(g >= 0 ? gp_topo_gpu(host->topo, g) : NULL, "the GPU", &limits[2]);
	gp_limit_least(limits, 3, limit);
}
