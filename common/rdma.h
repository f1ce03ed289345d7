/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma: NICs, and on one of them PD, MR, CQ and QP. The verbs' four return conventions (pointer and
 * errno; errno as value; -1 and errno; negative errno) become one here: 0 or -1 and a gp_error.
 * How two QPs find each other is connect's business.
 */
#ifndef GP_RDMA_H
#define GP_RDMA_H

#include "err.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define GP_NIC_MAX 64
#define GP_QP_MAX  256

/* One port of an RDMA device, as verbs and sysfs tell. Unknown: empty, 0, or as said. */
struct gp_nic {
	char name[64];	  /* RDMA device: "mlx5_0" */
	int port;	  /* 1-based */
	char netdev[32];  /* interface behind it: "ens1f0np0" */
	char address[64]; /* an IP address of that interface that rdma_cm can use */
	bool active;
	bool ethernet;		 /* RoCE; else InfiniBand */
	bool software;		 /* rdma_rxe, siw: its rate is made up */
	int mtu, mtu_max;	 /* active MTU, and the most that the port can do, in bytes */
	double rate_gbits_per_s; /* active width times speed */
	int speed_code;		 /* ibv_port_attr.active_speed */
	char firmware[64];
};

/* An opened port. All zero is closed. */
struct gp_rdma {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_context **cm_list; /* set where ctx is librdmacm's own */
	struct gp_nic nic;
	struct ibv_device_attr attr;
};

/* Every port of every RDMA device, in the order of libibverbs. No device, and no RDMA in the
 * kernel at all, is *n = 0 and no error. */
int gp_rdma_list(struct gp_nic *nics, int max, int *n, struct gp_error *err);

/* The NIC for "mlx5_0" or "mlx5_0:1"; without a port the first active one. GP_EXIT_MISSING names
 * what there is. Pointer into `nics`. */
const struct gp_nic *gp_rdma_find(const struct gp_nic *nics, int n, const char *name,
				  struct gp_error *err);

/*
 * Open a port and allocate a PD. With `use_cm` the context is librdmacm's, as rdma_cm ids on this
 * device will have it, so that one PD and its MRs serve them all.
 */
int gp_rdma_open(const struct gp_nic *nic, bool use_cm, struct gp_rdma *rdma, struct gp_error *err);
void gp_rdma_close(struct gp_rdma *rdma);

/* Access flags of every MR; relaxed ordering is an optional flag that a driver may ignore. */
unsigned gp_rdma_access(bool relaxed_ordering);

/* ibv_reg_mr. `what` is for the error: "GPU memory", "host memory". GP_EXIT_MISSING on failure: the
 * path can't be had. */
int gp_rdma_register(struct gp_rdma *rdma, void *addr, uint64_t bytes, unsigned access,
		     const char *what, struct ibv_mr **mr, struct gp_error *err);

/* ibv_reg_dmabuf_mr of a whole dma-buf, remote addresses starting at `iova`. */
int gp_rdma_register_dmabuf(struct gp_rdma *rdma, int fd, uint64_t bytes, uint64_t iova,
			    unsigned access, struct ibv_mr **mr, struct gp_error *err);

/* Takes NULL. */
void gp_rdma_deregister(struct ibv_mr *mr);

int gp_rdma_create_cq(struct gp_rdma *rdma, int entries, struct ibv_cq **cq, struct gp_error *err);

/*
 * What the port has sent and received. Bytes where the device counts them (port_xmit_data and
 * port_rcv_data, in units of 4 bytes, headers included), packets where only those are counted
 * (rdma_rxe). -1 is unknown, never zero. Counters are the port's, whoever uses it.
 */
struct gp_counters {
	int64_t sent_bytes, received_bytes;
	int64_t sent_packets, received_packets;
};
void gp_rdma_counters(const struct gp_nic *nic, struct gp_counters *out);

/*
 * The GID to use for a QP exchange over the control channel: `wanted` >= 0 is taken as it is (if it
 * exists), -1 chooses: on RoCE the RoCE v2 entry of the interface's own IPv4 address, else of a
 * global IPv6 one, else any RoCE v2; on InfiniBand entry 0.
 */
int gp_rdma_choose_gid(struct gp_rdma *rdma, int wanted, int *index, union ibv_gid *gid,
		       struct gp_error *err);

#endif
