/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_sysfs: what the two sysfs readers, for PCI and for RDMA devices, have in common.
 */
#ifndef GP_TOPO_SYSFS_H
#define GP_TOPO_SYSFS_H

#include "topo_tree.h"

/* Add the PCI functions that a sysfs path goes through; the index of the last, -1 where there is
 * none, -2 with `err` set. */
int gp_topo_path_add(struct gp_topo *topo, const char *path, struct gp_error *err);

/* RDMA devices of sys/class/infiniband, each where it, its parent or its netdev stands. */
int gp_topo_read_rdma(struct gp_topo *topo, const struct gp_root *root, struct gp_error *err);

#endif
