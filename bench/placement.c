/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * placement: which stands a run has (stand.h). `far` differs from `near` in exactly one thing, so
 * that what it shows has one cause: another GPU, else another NIC, else another NUMA node for
 * thread and buffers; what the user named stays. `all` is every GPU with every NIC and every node.
 */
#include "place.h"
#include "stand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stands {
	const struct gp_bw_options *opt;
	const struct gp_host *host;
	struct gp_stand *stand;
	int n, size;
};

/* A stand more, as the options have it; NULL out of memory or too many. */
static struct gp_stand *add(struct stands *stands, const char *name, struct gp_error *err)
{
	struct gp_stand *more, *stand;

	if (stands->n == GP_STANDS_MAX) {
		gp_error_set(err, GP_EXIT_USAGE, "over %d placements or rails", GP_STANDS_MAX);
		return NULL;
	}
	more = realloc(stands->stand, (size_t)(stands->n + 1) * sizeof(*more));
	if (!more) {
		gp_error_set(err, GP_EXIT_FAILED, "out of memory for a placement");
		return NULL;
	}
	stands->stand = more;
	stand = &more[stands->n++];
	*stand = (struct gp_stand){.opt = *stands->opt,
				   .host = stands->host,
				   .limit.gbytes_per_s = NAN,
				   .session.fd = -1};
	snprintf(stand->name, sizeof(stand->name), "%s", name);
	return stand;
}

static void fix_nic(struct gp_bw_options *opt, const struct gp_nic *nic)
{
	snprintf(opt->nic, sizeof(opt->nic), "%.70s:%d", nic->name, nic->port);
}

static void fix_gpu(struct gp_bw_options *opt, const struct gp_gpu *gpu)
{
	if (gpu)
		snprintf(opt->gpu, sizeof(opt->gpu), "%d", gpu->ordinal);
}

static void fix_nodes(struct gp_bw_options *opt, int cpu_node, int mem_node)
{
	if (cpu_node >= 0)
		snprintf(opt->cpu_node, sizeof(opt->cpu_node), "%d", cpu_node);
	if (mem_node >= 0)
		snprintf(opt->mem_node, sizeof(opt->mem_node), "%d", mem_node);
}

/* What `near` is, with its nodes as numbers. */
struct near {
	struct gp_choice choice;
	int cpu_node, mem_node;
};

static int find_near(const struct stands *stands, struct near *near, struct gp_error *err)
{
	const struct gp_bw_options *opt = stands->opt;
	const struct gp_host *host = stands->host;

	if (gp_host_choose(host, opt->nic, gp_bw_uses_gpu(opt) ? opt->gpu : "none", &near->choice,
			   err) < 0 ||
	    gp_host_node(host, &near->choice, opt->cpu_node, &near->cpu_node, err) < 0 ||
	    gp_host_node(host, &near->choice, opt->mem_node, &near->mem_node, err) < 0)
		return -1;
	return 0;
}

/* ---- far ---- */

static bool far_gpu(const struct gp_host *host, const struct near *near, struct gp_stand *far)
{
	const struct gp_gpu *was = near->choice.gpu;

	for (int i = 0; i < host->n_gpus; i++) {
		const struct gp_gpu *gpu = &host->gpus[i];

		if (gp_host_distance(host, gpu, near->choice.nic) != GP_CLASS_SYS)
			continue;
		fix_gpu(&far->opt, gpu);
		far->needs_gpu = true;
		snprintf(far->differs, sizeof(far->differs),
			 "GPU %d (%s) in place of GPU %d (%s): SYS to %s", gpu->ordinal, gpu->bdf,
			 was->ordinal, was->bdf, near->choice.nic->name);
		return true;
	}
	return false;
}

static bool far_nic(const struct gp_host *host, const struct near *near, struct gp_stand *far)
{
	const struct gp_nic *was = near->choice.nic;

	for (int i = 0; i < host->n_nics; i++) {
		const struct gp_nic *nic = &host->nics[i];

		if (!nic->active || gp_host_distance(host, near->choice.gpu, nic) != GP_CLASS_SYS)
			continue;
		fix_nic(&far->opt, nic);
		snprintf(far->differs, sizeof(far->differs),
			 "NIC %s:%d in place of %s:%d: SYS to GPU %d", nic->name, nic->port,
			 was->name, was->port, near->choice.gpu->ordinal);
		return true;
	}
	return false;
}

static bool far_node(const struct near *near, struct gp_stand *far)
{
	int node = gp_place_far(near->cpu_node);

	if (node < 0)
		return false;
	fix_nodes(&far->opt, node, node);
	snprintf(far->differs, sizeof(far->differs),
		 "thread and host buffers on NUMA node %d in place of %d", node, near->cpu_node);
	return true;
}

static int plan_far(struct stands *stands, const struct near *near, struct gp_error *err)
{
	const struct gp_bw_options *opt = stands->opt;
	struct gp_stand *far = add(stands, "far", err);

	if (!far)
		return -1;
	if (gp_place_nodes() < 2) {
		gp_error_set(&far->missing, GP_EXIT_MISSING, "one NUMA node");
		return 0;
	}
	fix_gpu(&far->opt, near->choice.gpu);
	fix_nic(&far->opt, near->choice.nic);
	fix_nodes(&far->opt, near->cpu_node, near->mem_node);
	if ((near->choice.gpu && !opt->gpu[0] && far_gpu(stands->host, near, far)) ||
	    (near->choice.gpu && !opt->nic[0] && far_nic(stands->host, near, far)) ||
	    far_node(near, far))
		return 0;
	gp_error_set(&far->missing, GP_EXIT_MISSING,
		     "no GPU and no NIC here are SYS apart, and the NIC's NUMA node is not told");
	return 0;
}

/* ---- all ---- */

/* A path without a GPU is measured with the first of the GPUs alone. */
static int add_combination(struct stands *stands, const struct gp_gpu *gpu, bool first,
			   const struct gp_nic *nic, int node, struct gp_error *err)
{
	char name[GP_PLACEMENT_MAX], gpu_name[16] = "";
	struct gp_stand *stand;

	if (gpu)
		snprintf(gpu_name, sizeof(gpu_name), "gpu%d,", gpu->ordinal);
	snprintf(name, sizeof(name), "%s%.24s:%d,node%d", gpu_name, nic->name, nic->port, node);
	stand = add(stands, name, err);
	if (!stand)
		return -1;
	fix_gpu(&stand->opt, gpu);
	fix_nic(&stand->opt, nic);
	fix_nodes(&stand->opt, node, node);
	stand->needs_gpu = !first;
	return 0;
}

static int plan_all(struct stands *stands, const struct near *near, struct gp_error *err)
{
	const struct gp_host *host = stands->host;
	const struct gp_bw_options *opt = stands->opt;
	int gpus = near->choice.gpu && !opt->gpu[0] ? host->n_gpus : 1;
	int nodes[GP_STANDS_MAX], n_nodes = gp_place_list(nodes, GP_STANDS_MAX);

	for (int g = 0; g < gpus; g++)
		for (int i = 0; i < host->n_nics; i++) {
			const struct gp_gpu *gpu = gpus > 1 ? &host->gpus[g] : near->choice.gpu;
			const struct gp_nic *nic = &host->nics[i];

			if (!nic->active || (opt->nic[0] && nic != near->choice.nic))
				continue;
			for (int k = 0; k < n_nodes; k++)
				if (add_combination(stands, gpu, g == 0, nic, nodes[k], err) < 0)
					return -1;
		}
	return 0;
}

static int plan_placements(struct stands *stands, struct gp_error *err)
{
	const struct gp_bw_options *opt = stands->opt;
	struct near near;

	if (opt->placement.n == 1 && opt->placement.index[0] == GP_PLACE_NEAR)
		return add(stands, "near", err) ? 0 : -1;
	if (find_near(stands, &near, err) < 0)
		return -1;
	for (int i = 0; i < opt->placement.n; i++) {
		int rc = 0;

		switch (opt->placement.index[i]) {
		case GP_PLACE_NEAR:
			rc = add(stands, "near", err) ? 0 : -1;
			break;
		case GP_PLACE_FAR:
			rc = plan_far(stands, &near, err);
			break;
		case GP_PLACE_ALL:
			rc = plan_all(stands, &near, err);
			break;
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* ---- rails ---- */

/*
 * "GPU:NIC" or "GPU:NIC:PORT"; the GPU may be a PCI address, which has a colon itself. Cuts `word`.
 */
static int split_rail(char *word, const char **gpu, const char **nic, struct gp_error *err)
{
	char *colon = strrchr(word, ':');

	if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
		*colon = '\0'; /* the port; what is in front of the NIC is found without it */
		char *before = strrchr(word, ':');

		*colon = ':';
		colon = before;
	}
	if (!colon || colon == word || !colon[1])
		return gp_error_set(err, GP_EXIT_USAGE,
				    "a rail is GPU:NIC, such as 0:mlx5_0 or 18:00.0:mlx5_0:1, "
				    "not '%s'",
				    word);
	*colon = '\0';
	*gpu = word;
	*nic = colon + 1;
	return 0;
}

/* The words of a list of rails, into the devices of one side of the stands. */
static int name_rails(struct stands *stands, const char *list, bool server, int *n,
		      struct gp_error *err)
{
	char copy[512], name[16], *save = NULL;
	const char *gpu = NULL, *nic = NULL;

	snprintf(copy, sizeof(copy), "%s", list);
	*n = 0;
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		struct gp_bw_options *opt;

		if (split_rail(word, &gpu, &nic, err) < 0)
			return -1;
		snprintf(name, sizeof(name), "rail%d", *n + 1);
		if (server && *n >= stands->n)
			return gp_error_set(err, GP_EXIT_USAGE,
					    "--server-rails has more rails than there are here "
					    "(%d)",
					    stands->n);
		if (!server && !add(stands, name, err))
			return -1;
		opt = &stands->stand[(*n)++].opt;
		if (gp_bw_uses_gpu(opt))
			snprintf(server ? opt->server_gpu : opt->gpu, sizeof(opt->gpu), "%.79s",
				 gpu);
		snprintf(server ? opt->server_nic : opt->nic, sizeof(opt->nic), "%.79s", nic);
	}
	return 0;
}

static int auto_rails(struct stands *stands, struct gp_error *err)
{
	struct gp_rail rails[GP_RAILS_MAX];
	int n = gp_host_rails(stands->host, rails);
	char name[16];

	for (int i = 0; i < n; i++) {
		struct gp_stand *stand;

		snprintf(name, sizeof(name), "rail%d", i + 1);
		stand = add(stands, name, err);
		if (!stand)
			return -1;
		fix_nic(&stand->opt, rails[i].nic);
		fix_gpu(&stand->opt, rails[i].gpu);
	}
	if (n == 0)
		return gp_error_set(err, GP_EXIT_MISSING,
				    "--rails auto: no active NIC here has a GPU of its own");
	return 0;
}

static int plan_rails(struct stands *stands, struct gp_error *err)
{
	const struct gp_bw_options *opt = stands->opt;
	int n, theirs;

	if (strcmp(opt->rails, "auto") == 0) {
		if (auto_rails(stands, err) < 0)
			return -1;
	} else if (name_rails(stands, opt->rails, false, &n, err) < 0) {
		return -1;
	}
	for (int i = 0; i < stands->n; i++)
		stands->stand[i].rail = i + 1;
	if (!opt->server_rails[0])
		return 0;
	if (name_rails(stands, opt->server_rails, true, &theirs, err) < 0)
		return -1;
	if (theirs < stands->n)
		return gp_error_set(err, GP_EXIT_USAGE,
				    "--server-rails has %d rails, here there are %d", theirs,
				    stands->n);
	return 0;
}

int gp_stands_plan(const struct gp_bw_options *opt, const struct gp_host *host,
		   struct gp_stand **stands, int *n, struct gp_error *err)
{
	struct stands all = {.opt = opt, .host = host};
	int rc = opt->rails[0] ? plan_rails(&all, err) : plan_placements(&all, err);

	*stands = all.stand;
	*n = all.n;
	return rc;
}
