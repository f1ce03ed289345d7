/* SPDX-License-Identifier: BSD-2-Clause */
/* connect: see connect.h. First what both ways share, then `tcp`, then `cm`. */
#include "connect.h"
#include "stop.h"
#include "units.h"
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct gp_connection {
	enum gp_connect_way way;
	struct gp_rdma *rdma;
	struct gp_connect_want want;
	bool active;
	struct ibv_cq *cq;
	int n_qps; /* made so far */
	struct ibv_qp *qp[GP_QP_MAX];
	int rd_atomic;
	int mtu; /* bytes, once known */
	/* tcp */
	uint32_t psn[GP_QP_MAX];
	int gid_index;
	union ibv_gid gid;
	/* cm */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id[GP_QP_MAX];
	uint64_t token; /* tells our clients' connection requests from strangers' */
};

/* 67 ms a try and seven retries, as perftest has it: what is lost is sent again soon, and a dead
 * peer is noticed within a second or a few. */
#define ACK_TIMEOUT 14
#define RETRY_COUNT 7
#define RNR_RETRY   7
#define RNR_TIMER   12

/* Device attributes are bytes on the wire; never ask for more than any device has. */
#define RD_ATOMIC_MAX 16

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

static struct ibv_qp_init_attr qp_attr(const struct gp_connection *conn)
{
	return (struct ibv_qp_init_attr){
		.send_cq = conn->cq,
		.recv_cq = conn->cq,
		.cap = {.max_send_wr = (uint32_t)conn->want.send_wr,
			.max_recv_wr = (uint32_t)conn->want.recv_wr,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
}

static enum ibv_mtu mtu_code(int bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && (128 << code) < bytes)
		code = (enum ibv_mtu)(code + 1);
	return code;
}

static int json_number(const json_t *json, const char *key, json_int_t min, json_int_t max,
		       json_int_t *out, struct gp_error *err)
{
	const json_t *value = json_object_get(json, key);

	if (!json_is_integer(value) || json_integer_value(value) < min ||
	    json_integer_value(value) > max)
		return gp_error_set(err, GP_EXIT_FAILED,
				    "the peer's connection data has no valid '%s'", key);
	*out = json_integer_value(value);
	return 0;
}

/* ---- tcp: the numbers go over the control channel ---- */

static int tcp_create_qp(struct gp_connection *conn, struct gp_error *err)
{
	struct ibv_qp_init_attr init = qp_attr(conn);
	struct ibv_qp *qp = ibv_create_qp(conn->rdma->pd, &init);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = (uint8_t)conn->rdma->nic.port,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	int code;

	if (!qp)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "ibv_create_qp",
				      "%s, %d send and %d receive requests", conn->rdma->nic.name,
				      conn->want.send_wr, conn->want.recv_wr);
	conn->qp[conn->n_qps++] = qp;
	code = ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (code)
		return gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_modify_qp", "%s to INIT",
				      conn->rdma->nic.name);
	return 0;
}

static int tcp_prepare(struct gp_connection *conn, json_t **info, struct gp_error *err)
{
	struct ibv_port_attr port;
	char gid[INET6_ADDRSTRLEN];
	json_t *qps;
	int code;

	code = ibv_query_port(conn->rdma->ctx, (uint8_t)conn->rdma->nic.port, &port);
	if (code)
		return gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_query_port", "%s port %d",
				      conn->rdma->nic.name, conn->rdma->nic.port);
	if (gp_rdma_choose_gid(conn->rdma, conn->want.gid_index, &conn->gid_index, &conn->gid,
			       err) < 0)
		return -1;
	conn->mtu = conn->rdma->nic.mtu;
	if (conn->want.mtu > conn->mtu)
		return gp_error_set(err, GP_EXIT_MISSING,
				    "--mtu %d is over the active MTU %d of %s", conn->want.mtu,
				    conn->mtu, conn->rdma->nic.name);
	if (conn->want.mtu)
		conn->mtu = conn->want.mtu;
	qps = json_array();
	for (int i = 0; i < conn->want.qps; i++) {
		if (tcp_create_qp(conn, err) < 0) {
			json_decref(qps);
			return -1;
		}
		if (getrandom(&conn->psn[i], sizeof(conn->psn[i]), 0) < 0)
			conn->psn[i] = 0;
		conn->psn[i] &= 0xffffff;
		json_array_append_new(qps,
				      json_pack("{s:I s:I}", "qpn", (json_int_t)conn->qp[i]->qp_num,
						"psn", (json_int_t)conn->psn[i]));
	}
	inet_ntop(AF_INET6, conn->gid.raw, gid, sizeof(gid));
	*info = json_pack("{s:i s:i s:s s:i s:b s:o}", "lid", (int)port.lid, "mtu", conn->mtu,
			  "gid", gid, "rd_atomic", conn->rd_atomic, "ethernet",
			  (int)conn->rdma->nic.ethernet, "qps", qps);
	return 0;
}

struct tcp_peer {
	json_int_t lid, mtu, rd_atomic, qpn, psn;
	union ibv_gid gid;
	const json_t *qps;
};

static int tcp_read_peer(struct gp_connection *conn, const json_t *info, struct tcp_peer *peer,
			 struct gp_error *err)
{
	const char *gid = json_string_value(json_object_get(info, "gid"));
	const json_t *ethernet = json_object_get(info, "ethernet");

	if (json_number(info, "lid", 0, 0xffff, &peer->lid, err) < 0 ||
	    json_number(info, "mtu", 256, 4096, &peer->mtu, err) < 0 ||
	    json_number(info, "rd_atomic", 0, 255, &peer->rd_atomic, err) < 0)
		return -1;
	if (!gid || inet_pton(AF_INET6, gid, peer->gid.raw) != 1)
		return gp_error_set(err, GP_EXIT_FAILED,
				    "the peer's connection data has no valid GID");
	if (json_is_true(ethernet) != conn->rdma->nic.ethernet)
		return gp_error_set(err, GP_EXIT_FAILED,
				    "one NIC is on Ethernet, the other on InfiniBand");
	peer->qps = json_object_get(info, "qps");
	if (json_array_size(peer->qps) != (size_t)conn->n_qps)
		return gp_error_set(err, GP_EXIT_FAILED, "the peer has %zu QPs, not %d",
				    json_array_size(peer->qps), conn->n_qps);
	return 0;
}

static int tcp_to_rts(struct gp_connection *conn, int i, const struct tcp_peer *peer,
		      struct gp_error *err)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(conn->mtu),
		.dest_qp_num = (uint32_t)peer->qpn,
		.rq_psn = (uint32_t)peer->psn,
		.max_dest_rd_atomic = (uint8_t)conn->rd_atomic,
		.min_rnr_timer = RNR_TIMER,
		.ah_attr = {.dlid = (uint16_t)peer->lid,
			    .sl = (uint8_t)conn->want.service_level,
			    .port_num = (uint8_t)conn->rdma->nic.port,
			    .is_global = conn->rdma->nic.ethernet,
			    .grh = {.dgid = peer->gid,
				    .sgid_index = (uint8_t)conn->gid_index,
				    .hop_limit = 64,
				    .traffic_class = (uint8_t)conn->want.traffic_class}},
	};
	int code = ibv_modify_qp(conn->qp[i], &attr,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					 IBV_QP_MIN_RNR_TIMER);

	if (code)
		return gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_modify_qp",
				      "%s to RTR, GID index %d", conn->rdma->nic.name,
				      conn->gid_index);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .sq_psn = conn->psn[i],
				    .timeout = ACK_TIMEOUT,
				    .retry_cnt = RETRY_COUNT,
				    .rnr_retry = RNR_RETRY,
				    .max_rd_atomic = (uint8_t)conn->rd_atomic};
	code = ibv_modify_qp(conn->qp[i], &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (code)
		return gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_modify_qp", "%s to RTS",
				      conn->rdma->nic.name);
	return 0;
}

static int tcp_finish(struct gp_connection *conn, const json_t *info, int control_fd,
		      struct gp_error *err)
{
	struct tcp_peer peer;

	(void)control_fd;
	if (tcp_read_peer(conn, info, &peer, err) < 0)
		return -1;
	conn->mtu = min_int(conn->mtu, (int)peer.mtu);
	conn->rd_atomic = min_int(conn->rd_atomic, (int)peer.rd_atomic);
	for (int i = 0; i < conn->n_qps; i++) {
		const json_t *qp = json_array_get(peer.qps, (size_t)i);

		if (json_number(qp, "qpn", 1, 0xffffff, &peer.qpn, err) < 0 ||
		    json_number(qp, "psn", 0, 0xffffff, &peer.psn, err) < 0 ||
		    tcp_to_rts(conn, i, &peer, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- cm: librdmacm ---- */

/* What a connection request carries, so that the passive side knows whose it is. */
struct cm_private {
	uint64_t token; /* network order */
	uint32_t index;
} __attribute__((packed));

/* Wait for one event of `wanted` kind; the caller acks *event. */
static int cm_wait(struct gp_connection *conn, enum rdma_cm_event_type wanted, int control_fd,
		   uint64_t deadline_ns, struct rdma_cm_event **event, struct gp_error *err)
{
	const char *name = rdma_event_str(wanted);

	for (;;) {
		struct gp_error waited = {0};
		struct rdma_cm_event *e;

		if (control_fd >= 0 && gp_wire_hung_up(control_fd))
			return gp_error_set(err, GP_EXIT_FAILED,
					    "the peer went away while QPs were being connected");
		if (gp_wait_fd(conn->channel->fd, POLLIN, gp_deadline(0.1), name, &waited) < 0) {
			if (gp_now_ns() < deadline_ns && !gp_stop_requested())
				continue;
			gp_error_set(err, GP_EXIT_FAILED, "no %s from rdma_cm within %.0f s", name,
				     conn->want.timeout_s);
			gp_error_advise(err, "check that the NICs' own addresses reach each other "
					     "(ping), or use --connect tcp");
			return -1;
		}
		if (rdma_get_cm_event(conn->channel, &e) < 0) {
			if (errno == EAGAIN)
				continue;
			return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_get_cm_event", "%s",
					      conn->rdma->nic.name);
		}
		if (e->event == wanted) {
			*event = e;
			return 0;
		}
		gp_error_set(err, GP_EXIT_FAILED, "rdma_cm on %s: %s (status %d) in place of %s",
			     conn->rdma->nic.name, rdma_event_str(e->event), e->status, name);
		rdma_ack_cm_event(e);
		return -1;
	}
}

static int cm_step(struct gp_connection *conn, enum rdma_cm_event_type wanted, int control_fd,
		   struct gp_error *err)
{
	struct rdma_cm_event *event;

	if (cm_wait(conn, wanted, control_fd, gp_deadline(conn->want.timeout_s), &event, err) < 0)
		return -1;
	rdma_ack_cm_event(event);
	return 0;
}

static int cm_resolve_host(const char *address, int port, struct sockaddr_storage *out,
			   struct gp_error *err)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				 .ai_socktype = SOCK_STREAM},
			*ai;
	char service[16];
	int rc;

	snprintf(service, sizeof(service), "%d", port);
	rc = getaddrinfo(address, service, &hints, &ai);
	if (rc)
		return gp_error_set(err, GP_EXIT_FAILED, "'%.60s' is no IP address: %s", address,
				    gai_strerror(rc));
	memcpy(out, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
	return 0;
}

static int cm_open_channel(struct gp_connection *conn, struct gp_error *err)
{
	conn->channel = rdma_create_event_channel();
	if (!conn->channel)
		return gp_error_errno(err, GP_EXIT_MISSING, errno, "rdma_create_event_channel",
				      "/dev/infiniband/rdma_cm");
	fcntl(conn->channel->fd, F_SETFL, fcntl(conn->channel->fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

static int cm_listen(struct gp_connection *conn, json_t **info, struct gp_error *err)
{
	const char *address = conn->rdma->nic.address;
	struct sockaddr_storage addr;

	if (cm_resolve_host(address, 0, &addr, err) < 0)
		return -1;
	if (rdma_create_id(conn->channel, &conn->listener, conn, RDMA_PS_TCP) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_create_id", "listener");
	if (rdma_bind_addr(conn->listener, (struct sockaddr *)&addr) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_bind_addr", "%s", address);
	if (rdma_listen(conn->listener, conn->want.qps) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_listen", "%s", address);
	*info = json_pack("{s:s s:i s:i}", "address", address, "port",
			  (int)ntohs(rdma_get_src_port(conn->listener)), "rd_atomic",
			  conn->rd_atomic);
	return 0;
}

static int cm_prepare(struct gp_connection *conn, json_t **info, struct gp_error *err)
{
	if (!conn->rdma->nic.address[0])
		return gp_error_set(err, GP_EXIT_MISSING,
				    "%s has no IP address for rdma_cm: use --connect tcp",
				    conn->rdma->nic.name);
	if (cm_open_channel(conn, err) < 0)
		return -1;
	if (!conn->active)
		return cm_listen(conn, info, err);
	if (getrandom(&conn->token, sizeof(conn->token), 0) < 0)
		conn->token = gp_now_ns();
	conn->token &= INT64_MAX; /* fits JSON's integer */
	*info = json_pack("{s:I s:i}", "token", (json_int_t)conn->token, "rd_atomic",
			  conn->rd_atomic);
	return 0;
}

/* The id must stand on the chosen port: rdma_cm goes by routes, not by what we want. */
static int cm_check_device(const struct gp_connection *conn, const struct rdma_cm_id *id,
			   struct gp_error *err)
{
	if (id->verbs == conn->rdma->ctx && id->port_num == conn->rdma->nic.port)
		return 0;
	gp_error_set(err, GP_EXIT_FAILED, "rdma_cm went through %s port %d, not %s port %d",
		     id->verbs ? ibv_get_device_name(id->verbs->device) : "no device", id->port_num,
		     conn->rdma->nic.name, conn->rdma->nic.port);
	gp_error_advise(err, "mend the routes between the NICs' addresses, or use --connect tcp");
	return -1;
}

static int cm_create_qp(struct gp_connection *conn, struct rdma_cm_id *id, int i,
			struct gp_error *err)
{
	struct ibv_qp_init_attr init = qp_attr(conn);
	uint8_t ack_timeout = ACK_TIMEOUT;

	/* rdma_cm's own choice is seconds on some fabrics; a kernel without the option keeps it. */
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout,
			sizeof(ack_timeout));

	if (rdma_create_qp(id, conn->rdma->pd, &init) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_create_qp",
				      "%s, %d send and %d receive requests", conn->rdma->nic.name,
				      conn->want.send_wr, conn->want.recv_wr);
	conn->qp[i] = id->qp;
	conn->n_qps++;
	return 0;
}

static struct rdma_conn_param cm_param(const struct gp_connection *conn)
{
	return (struct rdma_conn_param){.responder_resources = (uint8_t)conn->rd_atomic,
					.initiator_depth = (uint8_t)conn->rd_atomic,
					.retry_count = RETRY_COUNT,
					.rnr_retry_count = RNR_RETRY};
}

static int cm_connect_one(struct gp_connection *conn, int i, struct sockaddr_storage *from,
			  struct sockaddr_storage *to, int control_fd, struct gp_error *err)
{
	struct cm_private private = {.token = htobe64(conn->token), .index = htonl((uint32_t)i)};
	struct rdma_conn_param param = cm_param(conn);
	int timeout_ms = (int)(conn->want.timeout_s * 1000);
	uint8_t tos = (uint8_t)conn->want.traffic_class;
	struct rdma_cm_id *id;

	if (rdma_create_id(conn->channel, &conn->id[i], conn, RDMA_PS_TCP) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_create_id", "QP %d", i);
	id = conn->id[i];
	if (tos)
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
	if (rdma_resolve_addr(id, (struct sockaddr *)from, (struct sockaddr *)to, timeout_ms) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_resolve_addr", "from %s",
				      conn->rdma->nic.address);
	if (cm_step(conn, RDMA_CM_EVENT_ADDR_RESOLVED, control_fd, err) < 0 ||
	    cm_check_device(conn, id, err) < 0)
		return -1;
	if (rdma_resolve_route(id, timeout_ms) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_resolve_route", "QP %d", i);
	if (cm_step(conn, RDMA_CM_EVENT_ROUTE_RESOLVED, control_fd, err) < 0 ||
	    cm_create_qp(conn, id, i, err) < 0)
		return -1;
	param.private_data = &private;
	param.private_data_len = sizeof(private);
	if (rdma_connect(id, &param) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_connect", "QP %d", i);
	return cm_step(conn, RDMA_CM_EVENT_ESTABLISHED, control_fd, err);
}

static int cm_connect_all(struct gp_connection *conn, const json_t *info, int control_fd,
			  struct gp_error *err)
{
	const char *address = json_string_value(json_object_get(info, "address"));
	struct sockaddr_storage from, to;
	json_int_t port;

	if (json_number(info, "port", 1, 65535, &port, err) < 0)
		return -1;
	if (cm_resolve_host(address ? address : "", (int)port, &to, err) < 0 ||
	    cm_resolve_host(conn->rdma->nic.address, 0, &from, err) < 0)
		return -1;
	for (int i = 0; i < conn->want.qps; i++)
		if (cm_connect_one(conn, i, &from, &to, control_fd, err) < 0)
			return -1;
	return 0;
}

/* Take one request that carries our token; others are turned away and do not count. */
static int cm_accept_one(struct gp_connection *conn, int control_fd, uint64_t deadline_ns,
			 struct gp_error *err)
{
	struct rdma_conn_param param = cm_param(conn);
	struct cm_private private = {0};
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	uint32_t index;

	if (cm_wait(conn, RDMA_CM_EVENT_CONNECT_REQUEST, control_fd, deadline_ns, &event, err) < 0)
		return -1;
	id = event->id;
	if (event->param.conn.private_data_len >= sizeof(private))
		memcpy(&private, event->param.conn.private_data, sizeof(private));
	rdma_ack_cm_event(event);
	index = ntohl(private.index);
	if (be64toh(private.token) != conn->token || index >= (uint32_t)conn->want.qps ||
	    conn->id[index]) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return 0;
	}
	conn->id[index] = id;
	if (cm_check_device(conn, id, err) < 0 || cm_create_qp(conn, id, (int)index, err) < 0)
		return -1;
	if (rdma_accept(id, &param) < 0)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "rdma_accept", "QP %u", index);
	return cm_step(conn, RDMA_CM_EVENT_ESTABLISHED, control_fd, err);
}

static int cm_accept_all(struct gp_connection *conn, const json_t *info, int control_fd,
			 struct gp_error *err)
{
	uint64_t deadline_ns = gp_deadline(conn->want.timeout_s);
	json_int_t token;

	if (json_number(info, "token", 0, INT64_MAX, &token, err) < 0)
		return -1;
	conn->token = (uint64_t)token;
	while (conn->n_qps < conn->want.qps)
		if (cm_accept_one(conn, control_fd, deadline_ns, err) < 0)
			return -1;
	return 0;
}

static int cm_finish(struct gp_connection *conn, const json_t *info, int control_fd,
		     struct gp_error *err)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	json_int_t rd_atomic;

	if (json_number(info, "rd_atomic", 0, 255, &rd_atomic, err) < 0)
		return -1;
	conn->rd_atomic = min_int(conn->rd_atomic, (int)rd_atomic);
	if ((conn->active ? cm_connect_all : cm_accept_all)(conn, info, control_fd, err) < 0)
		return -1;
	if (ibv_query_qp(conn->qp[0], &attr, IBV_QP_PATH_MTU, &init) == 0)
		conn->mtu = 128 << attr.path_mtu;
	return 0;
}

static void cm_close(struct gp_connection *conn)
{
	for (int i = 0; i < GP_QP_MAX; i++) {
		if (!conn->id[i])
			continue;
		rdma_disconnect(conn->id[i]);
		if (conn->qp[i])
			rdma_destroy_qp(conn->id[i]);
		conn->qp[i] = NULL;
		rdma_destroy_id(conn->id[i]);
	}
	if (conn->listener)
		rdma_destroy_id(conn->listener);
	if (conn->channel)
		rdma_destroy_event_channel(conn->channel);
}

/* ---- the table, and what the rest of the program calls ---- */

static const struct {
	const char *name;
	int (*prepare)(struct gp_connection *conn, json_t **info, struct gp_error *err);
	int (*finish)(struct gp_connection *conn, const json_t *info, int control_fd,
		      struct gp_error *err);
} ways[] = {
	[GP_CONNECT_CM] = {"cm", cm_prepare, cm_finish},
	[GP_CONNECT_TCP] = {"tcp", tcp_prepare, tcp_finish},
};

const char *gp_connect_name(enum gp_connect_way way)
{
	return ways[way].name;
}

int gp_connect_prepare(enum gp_connect_way way, struct gp_rdma *rdma,
		       const struct gp_connect_want *want, bool active, struct gp_connection **out,
		       json_t **info, struct gp_error *err)
{
	struct gp_connection *conn = calloc(1, sizeof(*conn));
	int max_wr = rdma->attr.max_qp_wr;

	if (!conn)
		return gp_error_set(err, GP_EXIT_FAILED, "out of memory for a connection");
	*conn = (struct gp_connection){
		.way = way, .rdma = rdma, .want = *want, .active = active, .gid_index = -1};
	conn->rd_atomic = min_int(
		RD_ATOMIC_MAX, min_int(rdma->attr.max_qp_rd_atom, rdma->attr.max_qp_init_rd_atom));
	if (want->send_wr > max_wr || want->recv_wr > max_wr) {
		gp_error_set(err, GP_EXIT_MISSING,
			     "%s takes at most %d requests a QP: lower --tx-depth", rdma->nic.name,
			     max_wr);
	} else if (gp_rdma_create_cq(rdma, want->qps * (want->send_wr + want->recv_wr), &conn->cq,
				     err) == 0 &&
		   ways[way].prepare(conn, info, err) == 0) {
		*out = conn;
		return 0;
	}
	gp_connect_close(conn);
	return -1;
}

int gp_connect_finish(struct gp_connection *conn, const json_t *peer_info, int control_fd,
		      struct gp_error *err)
{
	return ways[conn->way].finish(conn, peer_info, control_fd, err);
}

void gp_connect_close(struct gp_connection *conn)
{
	if (!conn)
		return;
	cm_close(conn);
	for (int i = 0; i < GP_QP_MAX; i++)
		if (conn->qp[i])
			ibv_destroy_qp(conn->qp[i]);
	if (conn->cq)
		ibv_destroy_cq(conn->cq);
	free(conn);
}

int gp_connection_qps(const struct gp_connection *conn)
{
	return conn->n_qps;
}

struct ibv_qp *gp_connection_qp(const struct gp_connection *conn, int i)
{
	return conn->qp[i];
}

struct ibv_cq *gp_connection_cq(const struct gp_connection *conn)
{
	return conn->cq;
}

int gp_connection_rd_atomic(const struct gp_connection *conn)
{
	return conn->rd_atomic;
}

/* The GID that QPs send from: chosen here with tcp, by the kernel with cm. */
static bool sending_gid(const struct gp_connection *conn, struct ibv_gid_entry *entry)
{
	struct ibv_context *ctx = conn->rdma->ctx;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int index = conn->gid_index;

	if (index < 0) {
		if (!conn->n_qps || ibv_query_qp(conn->qp[0], &attr, IBV_QP_AV, &init) != 0 ||
		    !attr.ah_attr.is_global)
			return false;
		index = attr.ah_attr.grh.sgid_index;
	}
	return ibv_query_gid_ex(ctx, (uint32_t)conn->rdma->nic.port, (uint32_t)index, entry, 0) ==
	       0;
}

json_t *gp_connection_describe(const struct gp_connection *conn)
{
	static const char *const types[] = {[IBV_GID_TYPE_IB] = "InfiniBand",
					    [IBV_GID_TYPE_ROCE_V1] = "RoCE v1",
					    [IBV_GID_TYPE_ROCE_V2] = "RoCE v2"};
	json_t *json = json_pack("{s:s s:i s:n s:n s:n}", "way", gp_connect_name(conn->way), "mtu",
				 conn->mtu, "gid_index", "gid", "gid_type");
	struct ibv_gid_entry entry;
	char gid[INET6_ADDRSTRLEN];

	if (!sending_gid(conn, &entry))
		return json;
	inet_ntop(AF_INET6, entry.gid.raw, gid, sizeof(gid));
	json_object_set_new(json, "gid_index", json_integer(entry.gid_index));
	json_object_set_new(json, "gid", json_string(gid));
	if (entry.gid_type < sizeof(types) / sizeof(types[0]))
		json_object_set_new(json, "gid_type", json_string(types[entry.gid_type]));
	return json;
}
