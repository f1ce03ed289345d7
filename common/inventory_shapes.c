/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_shapes: lines that tell by themselves what they are, with or without their command.
 *
 * A row of `shapes` is a needle and a reader; a line that has the needle is given to the reader,
 * which looks closer and may refuse. All needles are looked for in one pass over a line, by their
 * first bytes, so a long log costs little more than one look at each of its bytes.
 */
#include "inventory_shapes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The line and the `more` below it as one, for what a terminal wrapped. Returns buf. */
static const char *joined(const struct gp_shape_hit *hit, int more, char *buf, size_t size)
{
	const struct gp_segment *segment = hit->reading->segment;
	size_t used = 0;

	buf[0] = '\0';
	for (int i = hit->index; i <= hit->index + more && i < segment->n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? " " : "",
					 segment->lines[i].text);
	return buf;
}

/* Cut a version ("570.86.15", "v24.9.2", "12.8") from the start of `text`; false where none. */
static bool take_version(const char *text, char *version, size_t size)
{
	size_t length = strspn(text, "0123456789.");

	while (length > 0 && text[length - 1] == '.')
		length--;
	if (length == 0 || length >= size)
		return false;
	memcpy(version, text, length);
	version[length] = '\0';
	return true;
}

/* --- the GPU driver --- */

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build …",
 * "NVIDIA UNIX x86_64 Kernel Module  535.183.06  …"; in dmesg behind "NVRM: loading". */
static bool nvrm_parse(const char *at, bool *open, char *version, size_t size)
{
	const char *module = strstr(at, "Kernel Module"), *p;

	if (!module)
		return false;
	*open = module > at + 5 && gp_begins(module - 5, "Open ");
	for (p = module + strlen("Kernel Module"); *p; p += strcspn(p, " \t")) {
		p = gp_trimmed(p);
		if (isdigit((unsigned char)*p) && take_version(p, version, size) &&
		    strchr(version, '.'))
			return true;
		if (gp_begins(p, "TempVersion")) {
			snprintf(version, size, "TempVersion");
			return true;
		}
	}
	return false;
}

static void read_nvrm(const struct gp_shape_hit *hit)
{
	char buf[600], version[32];
	const char *at = hit->at;
	bool open;

	if (!nvrm_parse(at, &open, version, sizeof(version))) {
		at = strstr(joined(hit, 1, buf, sizeof(buf)), "NVIDIA UNIX");
		if (!at || !nvrm_parse(at, &open, version, sizeof(version)))
			return;
	}
	gp_shape_note(hit, GP_FACT_DRIVER, GP_YES, GP_RANK_KERNEL, version);
	gp_shape_note(hit, GP_FACT_OPEN, open ? GP_YES : GP_NO, GP_RANK_KERNEL, version);
}

static void read_smi_failed(const struct gp_shape_hit *hit)
{
	if (!hit->reading->segment->inside)
		gp_shape_note(hit, GP_FACT_DRIVER, GP_NO, GP_RANK_DIRECT, NULL);
}

/* In nvidia-smi's table, in nvidia-smi -q, or in a person's words. */
static enum gp_rank smi_rank(const struct gp_shape_hit *hit)
{
	const char *text = gp_trimmed(hit->line->text);
	const char *colon = strchr(hit->at, ':');

	if (text[0] == '|' || gp_begins(text, "NVIDIA-SMI") ||
	    (colon && colon > hit->at + 1 && colon[-1] == ' ' && text == hit->at))
		return GP_RANK_DIRECT;
	return GP_RANK_HEARSAY;
}

static void read_driver_version(const struct gp_shape_hit *hit)
{
	static const char *const keys[] = {"Driver Version", "KMD Version"};
	char version[32];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (gp_begins(hit->at, keys[i]) &&
		    take_version(gp_value_of(hit->at, keys[i]), version, sizeof(version)) &&
		    strchr(version, '.'))
			gp_shape_note(hit, GP_FACT_DRIVER, GP_YES, smi_rank(hit), version);
}

/* "CUDA Version: 12.8" is the driver's side; "CUDA Version 10.2.89" a toolkit's version.txt. */
static void read_cuda_version(const struct gp_shape_hit *hit)
{
	const char *key = gp_begins(hit->at, "CUDA UMD") ? "CUDA UMD Version" : "CUDA Version";
	const char *behind = hit->at + strlen(key);
	char version[32];

	if (!take_version(gp_value_of(hit->at, key), version, sizeof(version)) ||
	    !strchr(version, '.'))
		return;
	if (*behind == ' ' && isdigit((unsigned char)behind[1]))
		gp_shape_note(hit, GP_FACT_CUDA_TOOLKIT, GP_YES, GP_RANK_DIRECT, version);
	else
		gp_shape_note(hit, GP_FACT_CUDA_DRIVER, GP_YES, smi_rank(hit), version);
}

static void read_nvcc(const struct gp_shape_hit *hit)
{
	char buf[400], version[32];
	const char *at = strstr(joined(hit, 1, buf, sizeof(buf)), "release");

	if (at && take_version(gp_value_of(at, "release"), version, sizeof(version)))
		gp_shape_note(hit, GP_FACT_CUDA_TOOLKIT, GP_YES, GP_RANK_DIRECT, version);
}

/* "cuda" : { "name" : "CUDA SDK", "version" : "12.9.1" } over one line or several */
static void read_version_json(const struct gp_shape_hit *hit)
{
	char buf[600], version[32];
	const char *text = strstr(joined(hit, 4, buf, sizeof(buf)), "\"cuda\"");
	const char *open = text ? strchr(text, '{') : NULL;
	const char *at = open ? strstr(open, "\"version\"") : NULL;

	if (at && open - text < 12 && at < open + strcspn(open, "}") &&
	    take_version(gp_value_of(at, "\"version\""), version, sizeof(version)))
		gp_shape_note(hit, GP_FACT_CUDA_TOOLKIT, GP_YES, GP_RANK_DIRECT, version);
}

/* libcudart.so.12.4.127; the SONAME .11.0 is any 11, and .12 any 12 */
static void read_libcudart(const struct gp_shape_hit *hit)
{
	char version[32];

	if (take_version(gp_value_of(hit->at, "libcudart.so."), version, sizeof(version)) &&
	    strcmp(version, "11.0") != 0 && strcmp(version, "11") != 0)
		gp_shape_note(hit, GP_FACT_CUDA_TOOLKIT, GP_YES, GP_RANK_INSTALLED, version);
}

/* --- OFED --- */

/* On a line of its own or from ofed_info it is the tool's answer, elsewhere talk or a URL. */
static void read_ofed(const struct gp_shape_hit *hit)
{
	const char *command = hit->reading->segment->command;
	bool asked = command && gp_has_word(command, "ofed_info");
	bool alone = hit->at == gp_trimmed(hit->line->text);
	char version[80];
	size_t length = strcspn(hit->at, ": \t,;()\"'`/");

	if (length >= sizeof(version) || !strpbrk(hit->at, "0123456789"))
		return;
	memcpy(version, hit->at, length);
	version[length] = '\0';
	if (!alone && !asked &&
	    (strstr(version, ".iso") || strstr(version, ".tgz") || strstr(hit->line->text, "://")))
		return;
	if (hit->reading->segment->inside)
		return; /* user space of a container */
	gp_shape_note(hit, GP_FACT_OFED, GP_YES,
		      asked || (alone && !strpbrk(hit->at + length, "abcdefghijklmnopqrstuvwxyz"))
			      ? GP_RANK_DIRECT
			      : GP_RANK_HEARSAY,
		      version);
}

/* Packages: "ii  mlnx-ofed-kernel-utils 24.10…", "mlnx-ofa_kernel-24.10-…", "doca-ofed" */
static void read_ofed_package(const struct gp_shape_hit *hit)
{
	const char *text = gp_trimmed(hit->line->text);
	char name[100];

	if (gp_begins(text, "ii "))
		text = gp_trimmed(text + 3);
	if (text != hit->at)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, " \t"), text);
	gp_shape_note(hit, GP_FACT_OFED, GP_YES, GP_RANK_INSTALLED, name);
}

/* --- NVIDIA packages: the flavour that is installed --- */

static const struct {
	const char *part;
	bool open;
} package_rows[] = {
	/* the open ones first: their names contain the others */
	{"-open-dkms", true},
	{"nvidia-open", true},
	{"-kernel-open", true},
	{"open-kernel", true},
	{"-server-open", true},
	{"-open", true},
	{"nvidia-dkms-", false},
	{"nvidia-kernel-dkms", false},
	{"kmod-nvidia-", false},
	{"nvidia-driver-", false},
	{"nvidia-kernel-source-", false},
	{"linux-modules-nvidia-", false},
};

/* The first word of a package list's row, dpkg's states and rpm's forms. */
static void read_package(const struct gp_shape_hit *hit)
{
	const char *text = gp_trimmed(hit->line->text);
	const char *command = hit->reading->segment->command;
	bool dpkg = gp_begins(text, "ii "), listed = false;
	static const char *const lists[] = {"dpkg", "rpm", "apt", "dnf", "yum", "zypper"};
	char name[100], version[32] = "";
	const char *digits;

	for (size_t i = 0; command && i < sizeof(lists) / sizeof(lists[0]); i++)
		listed |= gp_has_word(command, lists[i]);
	if (dpkg)
		text = gp_trimmed(text + 3);
	if ((!dpkg && !listed) || hit->at >= text + strcspn(text, " \t"))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, " \t,/"), text);
	for (size_t i = 0; i < sizeof(package_rows) / sizeof(package_rows[0]); i++) {
		if (!strstr(name, package_rows[i].part))
			continue;
		digits = strpbrk(dpkg ? text + strlen(name) : name, "0123456789");
		if (digits)
			take_version(digits, version, sizeof(version));
		gp_shape_note(hit, GP_FACT_OPEN, package_rows[i].open ? GP_YES : GP_NO,
			      GP_RANK_INSTALLED, version);
		return;
	}
}

/* --- modules --- */

static void read_module(const struct gp_shape_hit *hit)
{
	static const struct {
		const char *name;
		enum gp_fact_id id;
		enum gp_rank rank;
	} rows[] = {
		{"nvidia_peermem", GP_FACT_PEERMEM, GP_RANK_DIRECT},
		{"nv_peer_mem", GP_FACT_NV_PEER_MEM, GP_RANK_DIRECT},
		{"nvidia", GP_FACT_DRIVER, GP_RANK_INDIRECT},
		{"nvidia_fs", GP_FACT_NVIDIA_FS, GP_RANK_INDIRECT},
	};
	const char *users;
	char name[64];

	if (!gp_module_row(hit->line->text, name, sizeof(name), &users))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(name, rows[i].name) == 0 || gp_has_word(users, rows[i].name))
			gp_shape_note(hit, rows[i].id, GP_YES, rows[i].rank, NULL);
}

static void read_modules_linked(const struct gp_shape_hit *hit)
{
	if (strstr(hit->at, " nvidia_peermem"))
		gp_shape_note(hit, GP_FACT_PEERMEM, GP_YES, GP_RANK_INDIRECT, NULL);
	if (strstr(hit->at, " nv_peer_mem"))
		gp_shape_note(hit, GP_FACT_NV_PEER_MEM, GP_YES, GP_RANK_INDIRECT, NULL);
}

/* dmesg: "nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client" */
static void read_peer_symbol(const struct gp_shape_hit *hit)
{
	if (strstr(hit->line->text, "disagrees about version") ||
	    strstr(hit->line->text, "Unknown symbol"))
		gp_shape_note(hit, GP_FACT_PEER_SYMBOLS, GP_YES, GP_RANK_KERNEL, NULL);
}

/* "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument" and its like */
static void read_insert(const struct gp_shape_hit *hit)
{
	const char *reason;

	if (!strstr(hit->line->text, "peer"))
		return;
	reason = strrchr(hit->line->text, ':');
	reason = reason ? gp_trimmed(reason + 1) : hit->line->text;
	gp_shape_note(hit, GP_FACT_PEERMEM, GP_NO, GP_RANK_INDIRECT, NULL);
	if (strstr(reason, "Invalid argument") || strstr(hit->line->text, "Unknown symbol"))
		gp_shape_note(hit, GP_FACT_PEER_SYMBOLS, GP_YES, GP_RANK_INDIRECT, reason);
	else
		gp_shape_note(hit, GP_FACT_PEERMEM_ERROR, GP_YES, GP_RANK_DIRECT, reason);
}

/* nvidia-peermem-ctr: each of its sentences, and whether the module is loaded then */
static void read_peermem_log(const struct gp_shape_hit *hit)
{
	static const struct {
		const char *says;
		enum gp_known loaded;
	} rows[] = {
		{"successfully loaded nvidia-peermem module", GP_YES},
		{"nvidia-peermem module already loaded", GP_YES},
		{"failed to load nvidia-peermem module", GP_NO},
		{"nvidia-peermem module is not loaded", GP_NO},
		{"waiting for mellanox ofed and nvidia drivers", GP_UNKNOWN},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!strcasestr(hit->line->text, rows[i].says))
			continue;
		gp_shape_note(hit, GP_FACT_PEERMEM_LOG, rows[i].loaded == GP_YES ? GP_YES : GP_NO,
			      GP_RANK_DIRECT, rows[i].says);
		if (rows[i].loaded != GP_UNKNOWN)
			gp_shape_note(hit, GP_FACT_PEERMEM, rows[i].loaded, GP_RANK_INDIRECT, NULL);
		return;
	}
}

/* --- the rest --- */

/* "Linux n17 5.14.0-503.el9.x86_64 #1 SMP …", "Linux version 6.8.0-60-generic (buildd@…)" */
static void read_linux(const struct gp_shape_hit *hit)
{
	const char *p = hit->at + strlen("Linux ");
	size_t length = strcspn(p, " ");
	char release[100];

	if (!gp_kernel_word(gp_trimmed(p + length), release, sizeof(release)))
		return;
	if (gp_begins(p, "version ")) {
		gp_shape_note(hit, GP_FACT_KERNEL, GP_YES, GP_RANK_KERNEL, release);
		return;
	}
	if (hit->at != gp_trimmed(hit->line->text) || !strchr(hit->at, '#'))
		return;
	gp_shape_note(hit, GP_FACT_KERNEL, GP_YES, GP_RANK_KERNEL, release);
	if (!hit->reading->inv->name && !hit->reading->segment->inside && length < 64)
		hit->reading->inv->name = strndup(p, length);
}

/* hostnamectl's "Kernel: Linux 5.15.0-118-generic", a form's "Kernel version: 4.18.0-553" */
static void read_kernel_label(const struct gp_shape_hit *hit)
{
	const char *p = hit->at;
	char release[100];

	p += strcspn(p, ":=");
	p += strspn(p, " \t:=\"'*`");
	if (gp_begins(p, "Linux "))
		p += 6;
	if (gp_kernel_word(p, release, sizeof(release)))
		gp_shape_note(hit, GP_FACT_KERNEL, GP_YES,
			      gp_begins(hit->at, "kernel-version.full") ? GP_RANK_DIRECT
									: GP_RANK_HEARSAY,
			      release);
}

/* A line that is a release and nothing else, as `uname -r` prints, where no command is known. */
static void read_bare_release(const struct gp_shape_hit *hit)
{
	const char *text = gp_trimmed(hit->line->text);
	char release[100];

	if (!hit->reading->segment->command && gp_kernel_word(text, release, sizeof(release)) &&
	    *gp_trimmed(text + strlen(release)) == '\0' && strchr(release, '-'))
		gp_shape_note(hit, GP_FACT_KERNEL, GP_YES, GP_RANK_INDIRECT, release);
}

/* ulimit -a: "max locked memory       (kbytes, -l) 64"; /proc/self/limits in bytes */
static void read_memlock(const struct gp_shape_hit *hit)
{
	const char *p = hit->at + strlen("max locked memory");
	const char *bracket = strchr(p, ')');
	unsigned long long limit;
	char value[64], *end;

	p = gp_trimmed(bracket ? bracket + 1 : p);
	if (gp_begins(p, "unlimited")) {
		gp_shape_note(hit, GP_FACT_MEMLOCK, GP_YES, GP_RANK_DIRECT, "unlimited");
		return;
	}
	limit = strtoull(p, &end, 10);
	if (end == p)
		return;
	if (!bracket)
		limit /= 1024;
	snprintf(value, sizeof(value), "%llu KiB", limit);
	gp_shape_note(hit, GP_FACT_MEMLOCK, limit < (1ULL << 20) ? GP_NO : GP_YES, GP_RANK_DIRECT,
		      value);
}

/* nvidia-smi -q: the Total below "BAR1 Memory Usage" */
static void read_bar1(const struct gp_shape_hit *hit)
{
	const struct gp_segment *segment = hit->reading->segment;

	if (hit->index + 1 < segment->n) {
		struct gp_shape_hit total = *hit;
		const char *text = gp_trimmed(segment->lines[hit->index + 1].text);

		total.line = &segment->lines[hit->index + 1];
		if (gp_begins(text, "Total"))
			gp_shape_note(&total, GP_FACT_BAR1, GP_YES, GP_RANK_DIRECT,
				      gp_value_of(text, "Total"));
	}
}

/* "NVFS driver(version: 2.17.5)", "nvidia_fs version:  2.17" */
static void read_nvidia_fs(const struct gp_shape_hit *hit)
{
	const char *p = strpbrk(hit->at, "0123456789");
	char version[32];

	if (p && take_version(p, version, sizeof(version)))
		gp_shape_note(hit, GP_FACT_NVIDIA_FS, GP_YES, GP_RANK_DIRECT, version);
}

static const struct {
	const char *needle;
	gp_shape_fn *read;
} shapes[] = {
	{"NVIDIA UNIX", read_nvrm},
	{"NVIDIA-SMI has failed", read_smi_failed},
	{"communicate with the NVIDIA driver", read_smi_failed},
	{"Driver Version", read_driver_version},
	{"KMD Version", read_driver_version},
	{"CUDA Version", read_cuda_version},
	{"CUDA UMD Version", read_cuda_version},
	{"Cuda compilation tools", read_nvcc},
	{"\"cuda\"", read_version_json},
	{"libcudart.so.", read_libcudart},
	{"00000000:", gp_shape_smi_row},
	{"(UUID: ", gp_shape_smi_list},
	{"Product Name", gp_shape_product},
	{"Model:", gp_shape_model},
	{"nvidia.com/gpu.product", gp_shape_product_label},
	{"MLNX_OFED", read_ofed},
	{"OFED-internal", read_ofed},
	{"DOCA_OFED", read_ofed},
	{"mlnx-ofa_kernel", read_ofed_package},
	{"mlnx-ofed-", read_ofed_package},
	{"doca-ofed", read_ofed_package},
	{"ofed-scripts", read_ofed_package},
	{"nvidia-", read_package},
	{"hca_id:", gp_shape_hca_id},
	{"CA '", gp_shape_quoted_nic},
	{"Infiniband device '", gp_shape_quoted_nic},
	{"/1 state ", gp_shape_rdma_link},
	{"/1: state ", gp_shape_rdma_link},
	{" ==> ", gp_shape_ibdev2netdev},
	{"node GUID", gp_shape_ibv_rows},
	{"No IB devices found", gp_shape_no_devices},
	{"Failed to get IB devices list", gp_shape_no_devices},
	{"sys files not found (/sys/class/infiniband", gp_shape_no_devices},
	{"Mellanox", gp_shape_lspci},
	{"nfiniband controller", gp_shape_lspci},
	{"nfiniBand controller", gp_shape_lspci},
	{"NVIDIA Corporation", gp_shape_lspci},
	{"nvidia", read_module},
	{"nv_peer_mem", read_module},
	{"Modules linked in", read_modules_linked},
	{"ib_register_peer_memory_client", read_peer_symbol},
	{"could not insert", read_insert},
	{"could not load module nv", read_insert},
	{"FATAL: Module nv", read_insert},
	{"nvidia-peermem module", read_peermem_log},
	{"waiting for mellanox ofed", read_peermem_log},
	{"Linux ", read_linux},
	{"kernel-version.full", read_kernel_label},
	{"Kernel:", read_kernel_label},
	{"Kernel version", read_kernel_label},
	{"kernel version", read_kernel_label},
	{"Kernel Version", read_kernel_label},
	{"-generic", read_bare_release},
	{".el", read_bare_release},
	{"-amd64", read_bare_release},
	{"x86_64", read_bare_release},
	{"aarch64", read_bare_release},
	{"max locked memory", read_memlock},
	{"Max locked memory", read_memlock},
	{"BAR1 Memory Usage", read_bar1},
	{"NVFS driver", read_nvidia_fs},
	{"nvidia_fs version", read_nvidia_fs},
};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* --- one pass for all needles --- */

/* The shapes by the first byte of their needle, as chains in the table's order. */
struct index {
	signed char head[256]; /* -1: none */
	signed char next[N_SHAPES];
};
_Static_assert(N_SHAPES < 128, "the index is made of signed char");

static void index_make(struct index *index)
{
	memset(index->head, -1, sizeof(index->head));
	for (size_t i = N_SHAPES; i-- > 0;) {
		unsigned char first = (unsigned char)shapes[i].needle[0];

		index->next[i] = index->head[first];
		index->head[first] = (signed char)i;
	}
}

static void read_line(const struct index *index, struct gp_shape_hit *hit)
{
	for (const char *p = hit->line->text; *p; p++)
		for (int i = index->head[(unsigned char)*p]; i >= 0; i = index->next[i])
			if (shapes[i].needle[1] == p[1] && gp_begins(p, shapes[i].needle)) {
				hit->at = p;
				shapes[i].read(hit);
			}
}

void gp_shapes_read(struct gp_inventory *inv, const struct gp_segment *segment, const char *source)
{
	struct gp_reading reading = {inv, segment, NULL, source};
	struct gp_shape_hit hit = {.reading = &reading};
	struct index index;

	index_make(&index);
	for (hit.index = 0; hit.index < segment->n; hit.index++) {
		hit.line = &segment->lines[hit.index];
		read_line(&index, &hit);
	}
}
