/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_shapes: what the readers of self-telling lines share. Internal to inventory_shapes.c
 * and inventory_devices.c.
 */
#ifndef GP_INVENTORY_SHAPES_H
#define GP_INVENTORY_SHAPES_H

#include "inventory_text.h"

/* A line under the reader's eyes: `at` is where the needle stands in it. */
struct gp_shape_hit {
	const struct gp_reading *reading;
	const struct gp_line *line;
	int index; /* of the line in the segment */
	const char *at;
};

typedef void gp_shape_fn(const struct gp_shape_hit *hit);

static inline void gp_shape_note(const struct gp_shape_hit *hit, enum gp_fact_id id,
				 enum gp_known known, enum gp_rank rank, const char *value)
{
	gp_reading_note(hit->reading, id, known, rank, value, hit->line);
}

static inline bool gp_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Behind `key`, which stands at `at`, and any of ` \t:="'`. */
static inline const char *gp_value_of(const char *at, const char *key)
{
	at += strlen(key);
	return at + strspn(at, " \t:=\"'");
}

/* GPUs and RDMA devices, in inventory_devices.c. */
gp_shape_fn gp_shape_smi_row, gp_shape_smi_list, gp_shape_product, gp_shape_model,
	gp_shape_product_label, gp_shape_hca_id, gp_shape_quoted_nic, gp_shape_rdma_link,
	gp_shape_ibdev2netdev, gp_shape_ibv_rows, gp_shape_no_devices, gp_shape_lspci;

#endif
