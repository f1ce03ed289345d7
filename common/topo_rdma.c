/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_rdma: RDMA devices of sysfs, and where they stand.
 *
 * A hardware device stands where its directory is; that of an SF goes through its parent function.
 * rxe and siw have none: they stand where the netdev below them does, and that may be a bond or a
 * VLAN over another one.
 */
#include "topo_file.h"
#include "topo_sysfs.h"

#include <stdlib.h>
#include <string.h>

#define NET "sys/class/net"
#define IB  "sys/class/infiniband"

/* A plain name, safe as one component of a path. */
static bool is_plain(const char *name)
{
	return name[0] && name[0] != '.' && strlen(name) < 64 && !strchr(name, '/');
}

/* The netdev that `netdev` stands on: the active slave of a bond, else its first lower device. */
static bool lower_find(const struct gp_root *root, const char *netdev, char *lower, size_t size)
{
	char **names;
	int n;
	bool found = false;

	if (gp_file_text(root, lower, size, NET "/%s/bonding/active_slave", netdev) > 0 &&
	    is_plain(lower))
		return true;
	n = gp_file_list(root, &names, 1024, NET "/%s", netdev);
	for (int i = 0; i < n && !found; i++) {
		if (strncmp(names[i], "lower_", 6) != 0 || !is_plain(names[i] + 6))
			continue;
		snprintf(lower, size, "%s", names[i] + 6);
		found = true;
	}
	gp_root_names_free(names, n);
	return found;
}

/* PCI object below a netdev, through as many lower netdevs as it takes; -1: none, -2: err. */
static int netdev_place(struct gp_topo *topo, const struct gp_root *root, const char *netdev,
			char *via, size_t via_size, struct gp_error *err)
{
	char at[64], lower[64], target[512];
	size_t used = (size_t)snprintf(via, via_size, "netdev %s", netdev);

	snprintf(at, sizeof(at), "%s", netdev);
	for (int hops = 0; hops < 8; hops++) {
		int obj = -1;

		if (gp_file_link(root, target, sizeof(target), NET "/%s", at))
			obj = gp_topo_path_add(topo, target, err);
		if (obj == -1 && gp_file_link(root, target, sizeof(target), NET "/%s/device", at))
			obj = gp_topo_path_add(topo, target, err);
		if (obj != -1)
			return obj;
		if (!lower_find(root, at, lower, sizeof(lower)))
			return -1;
		memcpy(at, lower, sizeof(at));
		if (used < via_size)
			used += (size_t)snprintf(via + used, via_size - used, " over %s", at);
	}
	return -1;
}

/* The netdev of the first GID that has one, else that beside the device, else rxe's `parent`. */
static void netdev_find(const struct gp_root *root, const char *name, char *netdev, size_t size)
{
	char **names;
	int n;

	for (int gid = 0; gid < 8; gid++)
		if (gp_file_text(root, netdev, size, IB "/%s/ports/1/gid_attrs/ndevs/%d", name,
				 gid) > 0 &&
		    is_plain(netdev))
			return;
	if (gp_file_text(root, netdev, size, IB "/%s/parent", name) > 0 && is_plain(netdev))
		return;
	netdev[0] = 0;
	n = gp_file_list(root, &names, 64, IB "/%s/device/net", name);
	if (n > 0 && is_plain(names[0]))
		snprintf(netdev, size, "%s", names[0]);
	gp_root_names_free(names, n);
}

/*
 * rxe and siw. rxe has a file `parent`, and both say so in node_desc (rxe_verbs.c
 * rxe_register_device "rxe", siw.h SIW_NODE_DESC_COMMON); a device below devices/virtual has no
 * hardware either.
 */
static bool is_software(const struct gp_root *root, const char *name, const char *path)
{
	char text[64];

	if (strstr(path, "devices/virtual/") || gp_file_exists(root, IB "/%s/parent", name))
		return true;
	gp_file_text(root, text, sizeof(text), IB "/%s/node_desc", name);
	return strncmp(text, "Software iWARP", 14) == 0 || strcmp(text, "rxe") == 0;
}

/* ports/N: state "4: ACTIVE", rate "400 Gb/sec (4X NDR)", link_layer. */
static void ports_read(const struct gp_root *root, struct gp_topo_device *nic)
{
	char **names, text[64], *word;
	int n = gp_file_list(root, &names, 16, IB "/%s/ports", nic->name);

	for (int i = 0; i < n && nic->n_ports < GP_TOPO_PORTS_MAX; i++) {
		struct gp_topo_port *port = &nic->ports[nic->n_ports];
		int number = atoi(names[i]);
		double rate;

		if (number < 1 || number > 255)
			continue;
		nic->n_ports++;
		port->number = number;
		gp_file_text(root, text, sizeof(text), IB "/%s/ports/%s/state", nic->name,
			     names[i]);
		word = strchr(text, ':') ? strchr(text, ':') + 1 : text;
		word += strspn(word, " ");
		gp_topo_text(port->state, sizeof(port->state), word, strlen(word));
		gp_file_text(root, text, sizeof(text), IB "/%s/ports/%s/rate", nic->name, names[i]);
		rate = strtod(text, NULL);
		port->rate_gbps = !nic->software && rate > 0 && rate < 1e5 ? rate : 0;
		gp_file_text(root, text, sizeof(text), IB "/%s/ports/%s/link_layer", nic->name,
			     names[i]);
		gp_topo_text(port->layer, sizeof(port->layer), text, strlen(text));
	}
	gp_root_names_free(names, n);
}

/* A capture without links: the address is in the device's uevent too. */
static int uevent_place(struct gp_topo *topo, const struct gp_root *root, const char *name,
			struct gp_error *err)
{
	static const char key[] = "PCI_SLOT_NAME=";
	char text[2048], *value;

	gp_file_text(root, text, sizeof(text), IB "/%s/device/uevent", name);
	value = strstr(text, key);
	if (!value)
		return -1;
	value += strlen(key);
	value[strcspn(value, "\r\n")] = 0;
	return gp_topo_path_add(topo, value, err);
}

static int nic_read(struct gp_topo *topo, const struct gp_root *root, const char *name,
		    struct gp_error *err)
{
	char path[512] = "", device[512] = "", netdev[64], via[64] = "";
	struct gp_topo_device *nic;
	bool software;
	int obj = -1;

	gp_file_link(root, path, sizeof(path), IB "/%s", name);
	gp_file_link(root, device, sizeof(device), IB "/%s/device", name);
	netdev_find(root, name, netdev, sizeof(netdev));
	software = is_software(root, name, path);
	if (!software) {
		obj = gp_topo_path_add(topo, path, err);
		if (obj == -1)
			obj = gp_topo_path_add(topo, device, err);
		if (obj == -1)
			obj = uevent_place(topo, root, name, err);
		if (obj >= 0 && !strstr(device, topo->objs[obj].bdf) && device[0])
			snprintf(via, sizeof(via), "parent of %.40s",
				 strrchr(device, '/') ? strrchr(device, '/') + 1 : device);
	}
	if (obj == -1 && netdev[0])
		obj = netdev_place(topo, root, netdev, via, sizeof(via), err);
	if (obj == -2)
		return -1;
	nic = gp_topo_nic_add(topo, obj, name);
	if (!nic)
		return 0;
	nic->software = software;
	gp_topo_text(nic->via, sizeof(nic->via), via, strlen(via));
	gp_topo_text(nic->netdev, sizeof(nic->netdev), netdev, strlen(netdev));
	ports_read(root, nic);
	return 0;
}

int gp_topo_read_rdma(struct gp_topo *topo, const struct gp_root *root, struct gp_error *err)
{
	char **names;
	int n = gp_file_list(root, &names, GP_TOPO_MAX * 4, IB), rc = 0;

	for (int i = 0; i < n && rc == 0; i++)
		if (is_plain(names[i]))
			rc = nic_read(topo, root, names[i], err);
	gp_root_names_free(names, n);
	return rc;
}
