/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma: see rdma.h. */
#include "rdma.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

/* Read the first line of a sysfs file; empty where there is none. */
__attribute__((format(printf, 3, 4))) static void read_line(char *out, size_t size, const char *fmt,
							    ...)
{
	char path[256];
	va_list ap;
	FILE *f;

	out[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
	fclose(f);
}

/* The interface behind a port: the GID table's where it names one (RoCE), else the device's own
 * first one (IPoIB). */
static void find_netdev(struct gp_nic *nic)
{
	char path[256];
	struct dirent *entry;
	DIR *dir;

	read_line(nic->netdev, sizeof(nic->netdev),
		  "/sys/class/infiniband/%s/ports/%d/gid_attrs/ndevs/0", nic->name, nic->port);
	if (nic->netdev[0])
		return;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/net", nic->name);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			snprintf(nic->netdev, sizeof(nic->netdev), "%.31s", entry->d_name);
			break;
		}
	if (dir)
		closedir(dir);
}

/* An IPv4 address, else a global IPv6 one; a link-local one would need a scope at the peer. */
static void find_address(struct gp_nic *nic)
{
	struct ifaddrs *list, *ifa;

	if (!nic->netdev[0] || getifaddrs(&list) < 0)
		return;
	for (ifa = list; ifa; ifa = ifa->ifa_next) {
		if (!ifa->ifa_addr || strcmp(ifa->ifa_name, nic->netdev) != 0)
			continue;
		if (ifa->ifa_addr->sa_family == AF_INET) {
			struct sockaddr_in *in = (struct sockaddr_in *)ifa->ifa_addr;

			inet_ntop(AF_INET, &in->sin_addr, nic->address, sizeof(nic->address));
			break;
		}
		if (ifa->ifa_addr->sa_family == AF_INET6 && !nic->address[0]) {
			struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ifa->ifa_addr;

			if (!IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
				inet_ntop(AF_INET6, &in6->sin6_addr, nic->address,
					  sizeof(nic->address));
		}
	}
	freeifaddrs(list);
}

/* active_speed's bits and active_width's, as the InfiniBand specification numbers them. */
static double port_rate(const struct ibv_port_attr *port)
{
	static const struct {
		int bit;
		double gbits;
	} speeds[] = {{1, 2.5},	     {2, 5},	     {4, 10},  {8, 10},
		      {16, 14.0625}, {32, 25.78125}, {64, 50}, {128, 100}},
	  widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};
	double speed = 0, width = 0;

	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
		if (port->active_speed == speeds[i].bit)
			speed = speeds[i].gbits;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (port->active_width == widths[i].bit)
			width = widths[i].gbits;
	return speed * width;
}

/* sysfs says the rate as people know it ("400 Gb/sec (4X NDR)"), without encoding. */
static void find_rate(struct gp_nic *nic, const struct ibv_port_attr *port)
{
	char text[80];
	double rate;

	read_line(text, sizeof(text), "/sys/class/infiniband/%s/ports/%d/rate", nic->name,
		  nic->port);
	rate = strtod(text, NULL);
	nic->rate_gbits_per_s = rate > 0 ? rate : port_rate(port);
}

/* A software device has no PCI device below it: rdma_rxe and siw show a parent interface. */
static bool is_software(const char *name)
{
	char parent[64];

	read_line(parent, sizeof(parent), "/sys/class/infiniband/%s/parent", name);
	return parent[0] != '\0';
}

static void fill_nic(struct gp_nic *nic, const char *name, int number,
		     const struct ibv_device_attr *attr, const struct ibv_port_attr *port)
{
	*nic = (struct gp_nic){.port = number};
	snprintf(nic->name, sizeof(nic->name), "%s", name);
	snprintf(nic->firmware, sizeof(nic->firmware), "%s", attr->fw_ver);
	nic->active = port->state == IBV_PORT_ACTIVE;
	nic->ethernet = port->link_layer == IBV_LINK_LAYER_ETHERNET;
	nic->mtu = 128 << port->active_mtu;
	nic->mtu_max = 128 << port->max_mtu;
	nic->speed_code = port->active_speed;
	nic->software = is_software(name);
	find_rate(nic, port);
	find_netdev(nic);
	find_address(nic);
}

static void list_ports(struct ibv_device *device, struct gp_nic *nics, int max, int *n)
{
	struct ibv_context *ctx = ibv_open_device(device);
	struct ibv_device_attr attr;

	if (!ctx)
		return;
	if (ibv_query_device(ctx, &attr) == 0)
		for (int p = 1; p <= attr.phys_port_cnt && *n < max; p++) {
			struct ibv_port_attr port;

			if (ibv_query_port(ctx, (uint8_t)p, &port) == 0)
				fill_nic(&nics[(*n)++], ibv_get_device_name(device), p, &attr,
					 &port);
		}
	ibv_close_device(ctx);
}

int gp_rdma_list(struct gp_nic *nics, int max, int *n, struct gp_error *err)
{
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);

	*n = 0;
	if (!list && errno != ENOSYS && errno != ENOENT)
		return gp_error_errno(err, GP_EXIT_FAILED, errno, "ibv_get_device_list", " ");
	for (int i = 0; list && i < count; i++)
		list_ports(list[i], nics, max, n);
	if (list)
		ibv_free_device_list(list);
	return 0;
}

static int no_such_nic(const struct gp_nic *nics, int n, const char *name, struct gp_error *err)
{
	char have[256] = "";

	for (int i = 0; i < n; i++) {
		size_t used = strlen(have);

		snprintf(have + used, sizeof(have) - used, "%s%s:%d", i ? ", " : "", nics[i].name,
			 nics[i].port);
	}
	gp_error_set(err, GP_EXIT_MISSING, "no RDMA device '%s' here (there is: %s)", name,
		     n ? have : "none");
	return -1;
}

const struct gp_nic *gp_rdma_find(const struct gp_nic *nics, int n, const char *name,
				  struct gp_error *err)
{
	const struct gp_nic *found = NULL;
	size_t len = strcspn(name, ":");
	int port = name[len] ? atoi(name + len + 1) : 0;

	for (int i = 0; i < n; i++) {
		if (strlen(nics[i].name) != len || strncmp(nics[i].name, name, len) != 0)
			continue;
		if (port ? nics[i].port == port : !found || (!found->active && nics[i].active))
			found = &nics[i];
	}
	if (!found)
		no_such_nic(nics, n, name, err);
	else if (!found->active) {
		gp_error_set(err, GP_EXIT_MISSING, "port %d of %s is not active", found->port,
			     found->name);
		gp_error_advise(err, "bring the link up: see ibv_devinfo, ip link, rdma link");
		return NULL;
	}
	return found;
}

static struct ibv_context *open_for_cm(struct gp_rdma *rdma, const char *name)
{
	int n;

	rdma->cm_list = rdma_get_devices(&n);
	for (int i = 0; rdma->cm_list && i < n; i++)
		if (strcmp(ibv_get_device_name(rdma->cm_list[i]->device), name) == 0)
			return rdma->cm_list[i];
	return NULL;
}

static struct ibv_context *open_by_name(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int i = 0; list && list[i] && !ctx; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	return ctx;
}

int gp_rdma_open(const struct gp_nic *nic, bool use_cm, struct gp_rdma *rdma, struct gp_error *err)
{
	int code;

	*rdma = (struct gp_rdma){.nic = *nic};
	errno = 0;
	rdma->ctx = use_cm ? open_for_cm(rdma, nic->name) : open_by_name(nic->name);
	if (!rdma->ctx) {
		code = errno ? errno : ENODEV;
		gp_error_errno(err, GP_EXIT_MISSING, code,
			       use_cm ? "rdma_get_devices" : "ibv_open_device", "%s", nic->name);
	} else if ((code = ibv_query_device(rdma->ctx, &rdma->attr)) != 0) {
		gp_error_errno(err, GP_EXIT_FAILED, code, "ibv_query_device", "%s", nic->name);
	} else {
		rdma->pd = ibv_alloc_pd(rdma->ctx);
		if (rdma->pd)
			return 0;
		gp_error_errno(err, GP_EXIT_FAILED, errno, "ibv_alloc_pd", "%s", nic->name);
	}
	gp_rdma_close(rdma);
	return -1;
}

void gp_rdma_close(struct gp_rdma *rdma)
{
	if (rdma->pd)
		ibv_dealloc_pd(rdma->pd);
	if (rdma->cm_list)
		rdma_free_devices(rdma->cm_list);
	else if (rdma->ctx)
		ibv_close_device(rdma->ctx);
	*rdma = (struct gp_rdma){0};
}

unsigned gp_rdma_access(bool relaxed_ordering)
{
	return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	       (relaxed_ordering ? IBV_ACCESS_RELAXED_ORDERING : 0);
}

int gp_rdma_register(struct gp_rdma *rdma, void *addr, uint64_t bytes, unsigned access,
		     const char *what, struct ibv_mr **mr, struct gp_error *err)
{
	*mr = ibv_reg_mr(rdma->pd, addr, bytes, access);
	if (*mr)
		return 0;
	return gp_error_errno(err, GP_EXIT_MISSING, errno, "ibv_reg_mr",
			      "%s, %" PRIu64 " bytes of %s at %p", rdma->nic.name, bytes, what,
			      addr);
}

int gp_rdma_register_dmabuf(struct gp_rdma *rdma, int fd, uint64_t bytes, uint64_t iova,
			    unsigned access, struct ibv_mr **mr, struct gp_error *err)
{
	*mr = ibv_reg_dmabuf_mr(rdma->pd, 0, bytes, iova, fd, (int)access);
	if (*mr)
		return 0;
	return gp_error_errno(err, GP_EXIT_MISSING, errno, "ibv_reg_dmabuf_mr",
			      "%s, %" PRIu64 " bytes of GPU memory at 0x%" PRIx64, rdma->nic.name,
			      bytes, iova);
}

void gp_rdma_deregister(struct ibv_mr *mr)
{
	if (mr)
		ibv_dereg_mr(mr);
}

int gp_rdma_create_cq(struct gp_rdma *rdma, int entries, struct ibv_cq **cq, struct gp_error *err)
{
	if (entries > rdma->attr.max_cqe)
		return gp_error_set(err, GP_EXIT_MISSING,
				    "%s has at most %d CQ entries, %d are needed: lower --qp or "
				    "--tx-depth",
				    rdma->nic.name, rdma->attr.max_cqe, entries);
	*cq = ibv_create_cq(rdma->ctx, entries, NULL, NULL, 0);
	if (*cq)
		return 0;
	return gp_error_errno(err, GP_EXIT_FAILED, errno, "ibv_create_cq", "%s, %d entries",
			      rdma->nic.name, entries);
}

static int64_t read_counter(const struct gp_nic *nic, const char *file)
{
	char text[40], *end;
	long long value;

	read_line(text, sizeof(text), "/sys/class/infiniband/%s/ports/%d/%s", nic->name, nic->port,
		  file);
	errno = 0;
	value = strtoll(text, &end, 10);
	return end == text || errno || value < 0 ? -1 : value;
}

/* port_xmit_data and port_rcv_data count words of four bytes. */
static int64_t words_to_bytes(int64_t words)
{
	return words < 0 || words > INT64_MAX / 4 ? -1 : words * 4;
}

void gp_rdma_counters(const struct gp_nic *nic, struct gp_counters *out)
{
	out->sent_bytes = words_to_bytes(read_counter(nic, "counters/port_xmit_data"));
	out->received_bytes = words_to_bytes(read_counter(nic, "counters/port_rcv_data"));
	out->sent_packets = read_counter(nic, "hw_counters/sent_pkts");
	out->received_packets = read_counter(nic, "hw_counters/rcvd_pkts");
}

/* Higher is better; 0 must not be used. */
static int gid_merit(const struct ibv_gid_entry *entry)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (entry->gid_type != IBV_GID_TYPE_ROCE_V2)
		return 0;
	if (memcmp(entry->gid.raw, mapped, sizeof(mapped)) == 0)
		return 3;
	return entry->gid.raw[0] == 0xfe && (entry->gid.raw[1] & 0xc0) == 0x80 ? 1 : 2;
}

static int best_gid(struct gp_rdma *rdma)
{
	int best = -1, best_merit = 0;
	struct ibv_port_attr port;

	if (!rdma->nic.ethernet)
		return 0;
	if (ibv_query_port(rdma->ctx, (uint8_t)rdma->nic.port, &port) != 0)
		return -1;
	for (int i = 0; i < port.gid_tbl_len; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(rdma->ctx, (uint32_t)rdma->nic.port, (uint32_t)i, &entry, 0))
			continue;
		if (gid_merit(&entry) > best_merit) {
			best_merit = gid_merit(&entry);
			best = i;
		}
	}
	return best;
}

int gp_rdma_choose_gid(struct gp_rdma *rdma, int wanted, int *index, union ibv_gid *gid,
		       struct gp_error *err)
{
	static const union ibv_gid none;
	int i = wanted >= 0 ? wanted : best_gid(rdma);

	if (i < 0) {
		gp_error_set(err, GP_EXIT_MISSING, "%s port %d has no RoCE v2 GID", rdma->nic.name,
			     rdma->nic.port);
		gp_error_advise(err, "give its interface an address, or name one with --gid-index");
		return -1;
	}
	if (ibv_query_gid(rdma->ctx, (uint8_t)rdma->nic.port, i, gid) != 0 ||
	    memcmp(gid, &none, sizeof(none)) == 0) {
		gp_error_set(err, GP_EXIT_MISSING, "%s port %d has no GID at index %d",
			     rdma->nic.name, rdma->nic.port, i);
		gp_error_advise(err, "see show_gids, or /sys/class/infiniband/%s/ports/%d/gids",
				rdma->nic.name, rdma->nic.port);
		return -1;
	}
	*index = i;
	return 0;
}
