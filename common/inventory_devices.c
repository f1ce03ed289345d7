/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_devices: lines that name a GPU or an RDMA device, in the forms of nvidia-smi, lspci,
 * /proc, node labels, ibv_devinfo, ibstat, ibstatus, rdma and ibdev2netdev.
 */
#include "inventory_shapes.h"

#include <ctype.h>
#include <string.h>

/* --- GPUs --- */

static void note_gpu(const struct gp_shape_hit *hit, const char *name, size_t length)
{
	struct gp_origin where = {hit->reading->source, hit->line->text, hit->line->number};
	char copy[100];

	while (length > 0 && isspace((unsigned char)name[length - 1]))
		length--;
	if (length == 0 || length >= sizeof(copy))
		return;
	memcpy(copy, name, length);
	copy[length] = '\0';
	gp_inventory_gpu(hit->reading->inv, copy, &where);
}

/* "|   0  NVIDIA GeForce RTX 4090        Off |   00000000:1B:00.0 Off | …" */
void gp_shape_smi_row(const struct gp_shape_hit *hit)
{
	const char *p = gp_trimmed(hit->line->text), *end;
	static const char *const states[] = {" On", " Off", " N/A", " WDDM", " TCC", " MCDM"};

	if (*p++ != '|')
		return;
	p = gp_trimmed(p);
	if (!isdigit((unsigned char)*p))
		return;
	p = gp_trimmed(p + strspn(p, "0123456789"));
	end = p + strcspn(p, "|");
	while (end > p && end[-1] == ' ')
		end--;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		size_t n = strlen(states[i]);

		if ((size_t)(end - p) > n && strncmp(end - n, states[i], n) == 0) {
			end -= n;
			break;
		}
	}
	if (*hit->line->text && end > p)
		note_gpu(hit, p, (size_t)(end - p));
}

/* "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)" */
void gp_shape_smi_list(const struct gp_shape_hit *hit)
{
	const char *text = gp_trimmed(hit->line->text), *colon = strchr(text, ':');

	if (gp_begins(text, "GPU ") && colon && colon < hit->at)
		note_gpu(hit, gp_trimmed(colon + 1), (size_t)(hit->at - gp_trimmed(colon + 1)));
}

/* "    Product Name                          : NVIDIA H200"; dmidecode has no space there */
void gp_shape_product(const struct gp_shape_hit *hit)
{
	const char *colon = strchr(hit->at, ':');

	if (colon && colon[-1] == ' ')
		note_gpu(hit, gp_trimmed(colon + 1), strlen(gp_trimmed(colon + 1)));
}

/* "Model: \t\t NVIDIA H100 PCIe" of /proc/driver/nvidia/gpus */
void gp_shape_model(const struct gp_shape_hit *hit)
{
	static const char *const makes[] = {"NVIDIA ", "Tesla ", "Quadro ", "GeForce ", "GRID "};
	const char *name = gp_value_of(hit->at, "Model:");

	for (size_t i = 0; hit->at == gp_trimmed(hit->line->text) && i < 5; i++)
		if (gp_begins(name, makes[i]))
			note_gpu(hit, name, strlen(name));
}

/* nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3 */
void gp_shape_product_label(const struct gp_shape_hit *hit)
{
	const char *name = gp_value_of(hit->at, "nvidia.com/gpu.product");
	char copy[100];

	snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(name, " \t\"',"), name);
	for (char *p = copy; *p; p++)
		*p = *p == '-' ? ' ' : *p;
	note_gpu(hit, copy, strlen(copy));
}

/* --- RDMA devices --- */

static void note_nic(const struct gp_shape_hit *hit, const char *name, size_t length)
{
	struct gp_origin where = {hit->reading->source, hit->line->text, hit->line->number};
	char copy[64];

	if (length == 0 || length >= sizeof(copy))
		return;
	memcpy(copy, name, length);
	copy[length] = '\0';
	gp_inventory_nic(hit->reading->inv, copy, NULL, &where);
}

static size_t name_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
}

void gp_shape_hca_id(const struct gp_shape_hit *hit)
{
	const char *name = gp_value_of(hit->at, "hca_id:");

	note_nic(hit, name, name_length(name));
}

void gp_shape_quoted_nic(const struct gp_shape_hit *hit)
{
	const char *name = strchr(hit->at, '\'');

	if (name && gp_trimmed(hit->line->text) == hit->at)
		note_nic(hit, name + 1, name_length(name + 1));
}

/* "link mlx5_0/1 state ACTIVE …"; older: "1/1: mlx5_0/1: state ACTIVE" */
void gp_shape_rdma_link(const struct gp_shape_hit *hit)
{
	const char *slash = hit->at, *start = slash;

	while (start > hit->line->text && name_length(start - 1) > 0 && start[-1] != '/')
		start--;
	note_nic(hit, start, (size_t)(slash - start));
}

/* "mlx5_0 port 1 ==> ib0 (Up)" */
void gp_shape_ibdev2netdev(const struct gp_shape_hit *hit)
{
	const char *text = gp_trimmed(hit->line->text);

	if (strstr(text, " port "))
		note_nic(hit, text, name_length(text));
}

/* "    mlx5_0              b8cef60300f2a1c4" below the header of ibv_devices */
void gp_shape_ibv_rows(const struct gp_shape_hit *hit)
{
	const struct gp_segment *segment = hit->reading->segment;

	for (int i = hit->index + 1; i < segment->n; i++) {
		struct gp_shape_hit row = *hit;
		const char *text = gp_trimmed(segment->lines[i].text);
		size_t length = name_length(text);

		if (text[0] == '-')
			continue;
		if (length == 0 || strspn(gp_trimmed(text + length), "0123456789abcdef:") < 16)
			return;
		row.line = &segment->lines[i];
		note_nic(&row, text, length);
	}
}

void gp_shape_no_devices(const struct gp_shape_hit *hit)
{
	if (!hit->reading->segment->inside)
		gp_shape_note(hit, GP_FACT_RDMA, GP_NO, GP_RANK_DIRECT, NULL);
}

/* lspci: "18:00.0 Infiniband controller: Mellanox …", "… 3D controller: NVIDIA … [H100 …]" */
void gp_shape_lspci(const struct gp_shape_hit *hit)
{
	const char *text = gp_trimmed(hit->line->text), *open, *close;

	if (strspn(text, "0123456789abcdef:.") < 7 || !strstr(text, "controller"))
		return;
	if (!strstr(text, "NVIDIA Corporation") || strstr(text, "Mellanox") ||
	    strstr(text, "ConnectX")) {
		gp_shape_note(hit, GP_FACT_NIC_PCI, GP_YES, GP_RANK_DIRECT, NULL);
		return;
	}
	open = strchr(text, '[');
	if (open && gp_begins(open, "[03"))
		open = strchr(open + 1, '['); /* lspci -nn: the class comes first */
	close = open ? strchr(open, ']') : NULL;
	if (close && !strchr(open, ':'))
		note_gpu(hit, open + 1, (size_t)(close - open - 1));
}
