/* SPDX-License-Identifier: BSD-2-Clause */
/* nccl: see nccl.h. A row of `forms` is what a line has and who reads it. */
#include "nccl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gp_nccl_init(struct gp_nccl *nccl)
{
	*nccl = (struct gp_nccl){
		.gdr_channels = -1,
		.net_channels = -1,
		.distance = -1,
		.distance_limit = -1,
		.busbw = -1,
		.busbw_top = -1,
		.size_top = -1,
	};
}

const char *gp_nccl_env(const struct gp_nccl *nccl, const char *name)
{
	for (int i = 0; i < nccl->n_env; i++)
		if (strcmp(nccl->env[i].name, name) == 0)
			return nccl->env[i].value;
	return NULL;
}

/* A line under the reader's eyes; `at` stands behind what the form looked for. */
struct hit {
	struct gp_nccl *nccl;
	const char *line, *at;
	int number;
};

static void keep(const struct hit *hit, struct gp_nccl_line *line)
{
	if (line->number)
		return;
	line->number = hit->number ? hit->number : 1;
	snprintf(line->text, sizeof(line->text), "%s", hit->line);
}

/* Copy up to one of `ends` (or the end) into out; false where it would not fit or is empty. */
static bool take(const char *from, const char *ends, char *out, size_t size)
{
	size_t length = strcspn(from, ends);

	if (length == 0 || length >= size)
		return false;
	memcpy(out, from, length);
	out[length] = '\0';
	return true;
}

static void add_nic(struct gp_nccl *nccl, const char *name, const char *link)
{
	struct gp_nccl_nic *nic;

	for (int i = 0; i < nccl->n_nics; i++)
		if (strcmp(nccl->nics[i].name, name) == 0)
			return;
	if (nccl->n_nics == GP_NCCL_NICS_MAX)
		return;
	nic = &nccl->nics[nccl->n_nics++];
	snprintf(nic->name, sizeof(nic->name), "%s", name);
	snprintf(nic->link, sizeof(nic->link), "%.*s", (int)sizeof(nic->link) - 1, link);
}

/* One link for all NICs, or nothing to say. */
static void settle_link(struct gp_nccl *nccl)
{
	nccl->link[0] = '\0';
	for (int i = 0; i < nccl->n_nics; i++) {
		if (i > 0 && strcmp(nccl->nics[i].link, nccl->nics[0].link) != 0)
			return;
	}
	if (nccl->n_nics)
		snprintf(nccl->link, sizeof(nccl->link), "%s", nccl->nics[0].link);
}

/* "[0]mlx5_0:1/RoCE [1]mlx5_1:1/IB/SHARP [RO]; OOB …", merged NICs as "[0]={[0] mlx5_2:1/RoCE, …}",
 * "mlx5_2:1/RoCE+mlx5_3:1/RoCE" too. */
static void read_using_ib(const struct hit *hit)
{
	const char *p = hit->at, *end = p + strcspn(p, ";");
	char word[sizeof(hit->nccl->nics[0].name)], *slash;

	while (p < end) {
		size_t length;

		p += strcspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (p >= end)
			break;
		length = strcspn(p, " ,;{}[]+=");
		if (length < sizeof(word))
			memcpy(word, p, length);
		word[length < sizeof(word) ? length : 0] = '\0';
		p += length;
		slash = strchr(word, '/');
		if (!slash || !strchr(word, ':') || strchr(word, ':') > slash)
			continue;
		*slash++ = '\0';
		slash[strcspn(slash, "/")] = '\0';
		add_nic(hit->nccl, word, slash);
	}
	settle_link(hit->nccl);
}

static void read_no_device(const struct hit *hit)
{
	keep(hit, &hit->nccl->no_device_line);
}

static void set_network(const struct hit *hit, const char *name)
{
	snprintf(hit->nccl->network, sizeof(hit->nccl->network), "%s", name);
	hit->nccl->network_line.number = 0;
	keep(hit, &hit->nccl->network_line);
}

static void read_network(const struct hit *hit)
{
	char name[40];

	/* a plugin's name may be of words: "AWS Libfabric" */
	if (take(hit->at, "\t", name, sizeof(name)))
		set_network(hit, name);
}

/* "NET/Socket : Using [0]eth0:…" comes before "Using network", which has the last word. */
static void read_socket(const struct hit *hit)
{
	if (!hit->nccl->network[0])
		set_network(hit, "Socket");
}

/* "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA(PCI)/Shared" */
static void read_channel(const struct hit *hit)
{
	const char *via = strstr(hit->at, " via ");
	struct gp_nccl *nccl = hit->nccl;
	char network[40];

	if (!via)
		return;
	if (nccl->net_channels < 0)
		nccl->net_channels = nccl->gdr_channels = 0;
	if (strncmp(via + 5, "NET/", 4) != 0)
		return;
	nccl->net_channels++;
	if (strstr(via, "/GDRDMA")) {
		nccl->gdr_channels++;
		keep(hit, &nccl->gdr_channel_line);
	} else {
		keep(hit, &nccl->net_channel_line);
	}
	if (!nccl->network[0] && take(via + 9, "/", network, sizeof(network)))
		set_network(hit, network);
}

/* "GPU Direct RDMA Disabled for HCA 0 'mlx5_0' (no module)" */
static void read_gdr_hca(const struct hit *hit)
{
	const char *quote = strchr(hit->at, '\'');
	struct gp_nccl *nccl = hit->nccl;
	bool enabled = strncmp(hit->at, "Enabled", 7) == 0;
	struct gp_nccl_hca *hca;
	char name[40];

	if (!strstr(hit->at, " for HCA ") || !quote || !take(quote + 1, "'", name, sizeof(name)))
		return;
	for (int i = 0; i < nccl->n_hcas; i++)
		if (strcmp(nccl->hcas[i].name, name) == 0) {
			/* several ranks speak of one HCA: one that can't is what matters */
			nccl->hcas[i].gdr = nccl->hcas[i].gdr && enabled;
			return;
		}
	if (nccl->n_hcas == GP_NCCL_NICS_MAX)
		return;
	hca = &nccl->hcas[nccl->n_hcas++];
	snprintf(hca->name, sizeof(hca->name), "%s", name);
	hca->gdr = enabled;
	keep(hit, &hca->line);
}

/* "GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 5 > 3)": all forms of 2.4 to 2.30 */
static void read_gdr_distance(const struct hit *hit)
{
	const char *p = strstr(hit->at, "(distance ");
	int a, b;

	if (strncmp(hit->at, "Disabled for GPU", 16) != 0 || !p)
		return;
	if (sscanf(p, "(distance %d > %d)", &a, &b) != 2)
		return;
	if (hit->nccl->distance < 0) {
		hit->nccl->distance = a;
		hit->nccl->distance_limit = b;
	}
	keep(hit, &hit->nccl->distance_line);
}

static void read_gdr(const struct hit *hit)
{
	read_gdr_hca(hit);
	read_gdr_distance(hit);
}

static void read_dmabuf(const struct hit *hit)
{
	hit->nccl->dmabuf_gpu = true;
	keep(hit, &hit->nccl->dmabuf_line);
}

static void env_set(struct gp_nccl *nccl, const char *name, const char *value)
{
	struct gp_nccl_env *env = NULL;

	for (int i = 0; i < nccl->n_env; i++)
		if (strcmp(nccl->env[i].name, name) == 0)
			env = &nccl->env[i];
	if (!env && nccl->n_env < GP_NCCL_ENV_MAX)
		env = &nccl->env[nccl->n_env++];
	if (!env)
		return;
	snprintf(env->name, sizeof(env->name), "%s", name);
	snprintf(env->value, sizeof(env->value), "%s", value);
}

/* "NCCL_IB_DISABLE set by environment to 1." */
static void read_env(const struct hit *hit)
{
	const char *end = strstr(hit->line, " set by environment to ");
	const char *start = end;
	char name[48], value[96];
	size_t length;

	while (start > hit->line && start[-1] != ' ' && start[-1] != '\t')
		start--;
	if (strncmp(start, "NCCL_", 5) != 0 || !take(start, " ", name, sizeof(name)))
		return;
	snprintf(value, sizeof(value), "%s", hit->at);
	length = strcspn(value, " \t");
	if (length > 0 && value[length - 1] == '.')
		length--;
	value[length] = '\0';
	env_set(hit->nccl, name, value);
	if (strcmp(name, "NCCL_IB_DISABLE") == 0)
		keep(hit, &hit->nccl->disable_line);
}

/* "NCCL version 2.18.3+cuda12.2" */
static void read_version(const struct hit *hit)
{
	take(hit->at, "+ \t", hit->nccl->version, sizeof(hit->nccl->version));
}

static void read_cuda_driver(const struct hit *hit)
{
	hit->nccl->cuda_driver = atoi(hit->at);
}

static void read_plugin(const struct hit *hit)
{
	keep(hit, &hit->nccl->plugin_line);
}

/* "comm 0x… rank 0 nranks 16 cudaDev 0 …" */
static void read_ranks(const struct hit *hit)
{
	int n = atoi(hit->at);

	if (n > hit->nccl->n_ranks && n < 10000000)
		hit->nccl->n_ranks = n;
}

/* The number behind `key`, also in "status=IBV_WC_RETRY_EXC_ERR(12)"; -1 where there is none. */
static int number_behind(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	if (!p)
		return -1;
	p += strlen(key);
	p += strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_(");
	return isdigit((unsigned char)*p) ? atoi(p) : -1;
}

static int first_number(const char *text, const char *const keys[])
{
	int value = -1;

	for (int i = 0; keys[i] && value < 0; i++)
		value = number_behind(text, keys[i]);
	return value;
}

/* "Got completion with error 4, opcode 8983, len 0, vendor err 81", "Got completion from peer …
 * with status=12 opcode=0 len=0 vendor err 129", "… status=IBV_WC_RETRY_EXC_ERR(12) …
 * vendor_err=129 …" */
static void read_failure(const struct hit *hit)
{
	static const char *const status[] = {" error ", "status=", " status ", NULL};
	static const char *const vendor[] = {"vendor err ", "vendor_err=", "vendor_err ", NULL};
	struct gp_nccl *nccl = hit->nccl;
	struct gp_nccl_failure *failure;

	if (nccl->n_failures == GP_NCCL_ERRORS_MAX)
		return;
	failure = &nccl->failures[nccl->n_failures++];
	failure->status = first_number(hit->line, status);
	failure->vendor_err = first_number(hit->line, vendor);
	keep(hit, &failure->line);
}

/* nccl-tests: "# Avg bus bandwidth    : 123.456" */
static void read_busbw(const struct hit *hit)
{
	const char *p = strpbrk(hit->at, "0123456789");

	if (p)
		hit->nccl->busbw = atof(p);
	if (p)
		keep(hit, &hit->nccl->busbw_line);
}

static const struct {
	const char *has;
	void (*read)(const struct hit *hit);
} forms[] = {
	{"NET/IB : Using ", read_using_ib},
	{"NET/IB : No device found", read_no_device},
	{"Using network ", read_network},
	{"NET/Socket : Using ", read_socket},
	{" NCCL INFO Channel ", read_channel},
	{"GPU Direct RDMA ", read_gdr},
	{"DMA-BUF is available on GPU device ", read_dmabuf},
	{" set by environment to ", read_env},
	{"NCCL version ", read_version},
	{"cudaDriverVersion ", read_cuda_driver},
	{"Plugin Path : ", read_plugin},
	{"P2P plugin ", read_plugin},
	{"Initialized NET plugin ", read_plugin},
	{"Loaded net plugin ", read_plugin},
	{" nranks ", read_ranks},
	{"Got completion ", read_failure},
	{"Avg bus bandwidth", read_busbw},
};

/* "node1:25668:27396 [0] NCCL INFO ": the host of the first such line. */
static void take_host(struct gp_nccl *nccl, const char *line)
{
	size_t length = strcspn(line, ":");
	const char *p = line + length;

	if (nccl->host[0] || length == 0 || length >= sizeof(nccl->host) || *p != ':' ||
	    !isdigit((unsigned char)p[1]) || memchr(line, ' ', length))
		return;
	memcpy(nccl->host, line, length);
	nccl->host[length] = '\0';
}

/*
 * A row of nccl-tests: size, count, type, redop, root, then time, algbw, busbw, #wrong out of place
 * and in place. The busbw of the largest size out of place is kept.
 */
static void read_table_row(struct gp_nccl *nccl, const char *line)
{
	double size, busbw;
	int used = 0;

	if (sscanf(line, " %lf %*d %*[a-z0-9] %*[a-z] %*d %*f %*f %lf %n", &size, &busbw, &used) <
		    2 ||
	    !used || size < nccl->size_top || busbw < 0)
		return;
	nccl->size_top = size;
	nccl->busbw_top = busbw;
}

/* The command line of the run, as people paste it: "./build/all_reduce_perf -b 8 -e 8G" */
static void read_operation(struct gp_nccl *nccl, const char *line)
{
	static const char *const names[] = {
		"all_reduce_perf", "all_gather_perf", "alltoall_perf", "reduce_scatter_perf",
		"broadcast_perf",  "sendrecv_perf",   "reduce_perf",   "gather_perf"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !nccl->operation[0]; i++)
		if (strstr(line, names[i]))
			snprintf(nccl->operation, sizeof(nccl->operation), "%s", names[i]);
}

void gp_nccl_line(struct gp_nccl *nccl, const char *line, int number)
{
	struct hit hit = {.nccl = nccl, .line = line, .number = number};
	const char *p = line + strspn(line, " \t");

	if (isdigit((unsigned char)*p))
		read_table_row(nccl, line);
	if (strstr(line, "_perf"))
		read_operation(nccl, line);
	if (!strstr(line, "NCCL") && !strstr(line, "Avg bus bandwidth"))
		return;
	if (strstr(line, "NCCL INFO") || strstr(line, "NCCL WARN") ||
	    strstr(line, "Avg bus bandwidth") || strstr(line, "NCCL version"))
		nccl->any = true;
	if (strstr(line, " NCCL "))
		take_host(nccl, p);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const char *at = strstr(line, forms[i].has);

		if (!at)
			continue;
		hit.at = at + strlen(forms[i].has);
		forms[i].read(&hit);
	}
}
