/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * err: see err.h. The advice table is here: a row is keyed by call, space and code, and may check
 * something about this machine before it speaks, so that it never blames what is in order.
 */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The kernel's own ENOTSUPP; user space has no name for it. */
#define KERNEL_ENOTSUPP 524

struct advice {
	const char *call; /* NULL: any */
	enum gp_space space;
	int code;
	bool (*check)(void); /* NULL: always */
	const char *text;
};

static bool peermem_not_loaded(void)
{
	return access("/sys/module/nvidia_peermem", F_OK) != 0 &&
	       access("/sys/module/nv_peer_mem", F_OK) != 0;
}

static bool memlock_is_limited(void)
{
	struct rlimit lim;

	return getrlimit(RLIMIT_MEMLOCK, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY;
}

/* First match wins, so a row with a check stands before the general one. */
static const struct advice advices[] = {
	{"ibv_reg_mr", GP_SPACE_ERRNO, EFAULT, peermem_not_loaded,
	 "nvidia_peermem is not loaded, so the kernel can't resolve a GPU address: modprobe "
	 "nvidia-peermem (needs MLNX_OFED or DOCA-OFED), or use --path dmabuf"},
	{"ibv_reg_mr", GP_SPACE_ERRNO, EFAULT, NULL,
	 "nvidia_peermem is loaded, but no peer-memory client took this address: see dmesg for "
	 "nvidia_peermem, and whether the GPU supports GPUDirect RDMA"},
	{"ibv_reg_mr", GP_SPACE_ERRNO, ENOMEM, memlock_is_limited,
	 "RLIMIT_MEMLOCK is limited here: raise it (ulimit -l unlimited; in a container also "
	 "CAP_IPC_LOCK, which is inert for a user other than root)"},
	{"ibv_reg_mr", GP_SPACE_ERRNO, ENOMEM, NULL,
	 "out of memory or of BAR1 space for this buffer: try a smaller --region, and look at "
	 "nvidia-smi -q -d MEMORY (BAR1)"},
	{"ibv_reg_mr", GP_SPACE_ERRNO, EINVAL, NULL,
	 "the NIC driver refused the range or the access flags: try --relaxed-ordering off"},
	{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, EOPNOTSUPP, NULL,
	 "the NIC's driver has no dma-buf support: mlx5 needs Linux 5.12 and rdma-core 34, other "
	 "drivers came later, software RDMA has none"},
	{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, EPROTONOSUPPORT, NULL,
	 "this kernel's verbs have no dma-buf call: Linux 5.12 or higher is needed"},
	{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, KERNEL_ENOTSUPP, NULL,
	 "the GPU driver refused to attach this NIC: PCI topology not supported for dma-buf, or a "
	 "PCIe mapping given to a NIC that needs the default one; see dmesg for NVRM"},
	{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, ENOMEM, memlock_is_limited,
	 "RLIMIT_MEMLOCK is limited here: raise it (ulimit -l unlimited); else BAR1 is full, or "
	 "the GPU driver refused to map (see dmesg for NVRM)"},
	{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, ENOMEM, NULL,
	 "BAR1 is full, or the GPU driver refused to map: try a smaller --region, look at "
	 "nvidia-smi -q -d MEMORY (BAR1) and dmesg for NVRM"},
	{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, EINVAL, NULL,
	 "the NIC driver refused offset, length or access flags: try --relaxed-ordering off"},
	{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, EBADF, NULL,
	 "the file descriptor is no dma-buf: the GPU driver exported something else"},
	{"cuMemGetHandleForAddressRange", GP_SPACE_CUDA, 801, NULL,
	 "this GPU driver can't export dma-bufs: it takes the Open Kernel Module (R515 or newer, "
	 "CUDA 11.7) and Linux 5.12"},
	{"cudaMalloc", GP_SPACE_CUDART, 2, NULL,
	 "the GPU's memory is in use or too small: free it (nvidia-smi), or try a smaller "
	 "--region"},
	{"cudaGetDeviceCount", GP_SPACE_CUDART, 35, NULL,
	 "no NVIDIA driver is loaded, or it is older than this CUDA runtime: see nvidia-smi"},
	{"connect", GP_SPACE_ERRNO, ECONNREFUSED, NULL,
	 "nothing listens there: start `gdrproof serve` on that host, or check --port"},
	{"connect", GP_SPACE_ERRNO, ETIMEDOUT, NULL,
	 "the host did not answer: check the address, a firewall, and that `gdrproof serve` runs"},
	{"connect", GP_SPACE_ERRNO, EHOSTUNREACH, NULL, "no route to that host"},
	{"connect", GP_SPACE_ERRNO, ENETUNREACH, NULL, "no route to that network"},
	{"bind", GP_SPACE_ERRNO, EADDRINUSE, NULL,
	 "another process listens on this port (another `gdrproof serve`?): use --port"},
	{"bind", GP_SPACE_ERRNO, EADDRNOTAVAIL, NULL, "no interface here has this address"},
	{NULL, GP_SPACE_WC, 4, NULL,
	 "local protection error: the NIC could not use its own memory; with a GPU buffer look "
	 "at ACS redirect on the bridges between GPU and NIC"},
	{NULL, GP_SPACE_WC, 10, NULL, "the peer's NIC refused the access (rkey, range or rights)"},
	{NULL, GP_SPACE_WC, 11, NULL,
	 "the peer's NIC could not complete it; with a GPU buffer this is what a chipset that "
	 "does not forward peer-to-peer reads gives: try --op write"},
	{NULL, GP_SPACE_WC, 12, NULL,
	 "the peer's NIC does not answer: is the server still running, is the link up at both "
	 "ends, do MTU and GID index fit (RoCE: same version, same VLAN)?"},
	{NULL, GP_SPACE_WC, 13, NULL,
	 "the peer was never ready to receive: it is stuck or too slow"},
};

static const char *advice_for(const char *call, enum gp_space space, int code)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		const struct advice *a = &advices[i];

		if (a->space != space || a->code != code)
			continue;
		if (a->call && strcmp(a->call, call) != 0)
			continue;
		if (!a->check || a->check())
			return a->text;
	}
	return "";
}

const char *gp_errno_text(int code, char *buf, size_t size)
{
	const char *name = NULL;

#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
	name = strerrorname_np(code);
#endif
	if (code == KERNEL_ENOTSUPP)
		snprintf(buf, size, "524 (the kernel's ENOTSUPP)");
	else if (name)
		snprintf(buf, size, "%s (%s)", name, strerror(code));
	else
		snprintf(buf, size, "errno %d (%s)", code, strerror(code));
	return buf;
}

/* Length of the UTF-8 character at p, 0 where there is none. */
static size_t utf8_length(const unsigned char *p)
{
	static const struct {
		unsigned char lead, mask;
		size_t length;
		unsigned least; /* shorter forms exist below this code point */
	} forms[] = {{0x00, 0x80, 1, 0},
		     {0xc0, 0xe0, 2, 0x80},
		     {0xe0, 0xf0, 3, 0x800},
		     {0xf0, 0xf8, 4, 0x10000}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		unsigned code = p[0] & (unsigned char)~forms[i].mask;

		if ((p[0] & forms[i].mask) != forms[i].lead)
			continue;
		for (size_t k = 1; k < forms[i].length; k++) {
			if ((p[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (p[k] & 0x3f);
		}
		if (code < forms[i].least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return 0;
		return forms[i].length;
	}
	return 0;
}

void gp_text_clean(char *text)
{
	unsigned char *p = (unsigned char *)text;

	while (*p) {
		size_t length = utf8_length(p);

		/* The C1 controls are two bytes each, and some terminals obey them. */
		if (*p < 0x20 || *p == 0x7f)
			*p = ' ';
		else if (length == 0 || (length == 2 && p[0] == 0xc2 && p[1] < 0xa0))
			*p = '?';
		else
			p += length - 1;
		p++;
	}
}

int gp_error_set(struct gp_error *err, enum gp_exit exit_code, const char *fmt, ...)
{
	va_list ap;

	if (err->set)
		return -1;
	*err = (struct gp_error){.set = true, .exit_code = exit_code};
	va_start(ap, fmt);
	vsnprintf(err->fact, sizeof(err->fact), fmt, ap);
	va_end(ap);
	gp_text_clean(err->fact);
	return -1;
}

int gp_error_code(struct gp_error *err, enum gp_exit exit_code, enum gp_space space, int code,
		  const char *code_name, const char *call, const char *detail_fmt, ...)
{
	char detail[240], name[120];
	va_list ap;

	if (err->set)
		return -1;
	va_start(ap, detail_fmt);
	vsnprintf(detail, sizeof(detail), detail_fmt, ap);
	va_end(ap);
	if (space == GP_SPACE_ERRNO)
		gp_errno_text(code, name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%s (%d)", code_name ? code_name : "error", code);

	*err = (struct gp_error){.set = true, .exit_code = exit_code, .space = space, .code = code};
	snprintf(err->call, sizeof(err->call), "%s", call);
	snprintf(err->fact, sizeof(err->fact), "%s(%s): %s", call, detail, name);
	gp_text_clean(err->fact);
	snprintf(err->advice, sizeof(err->advice), "%s", advice_for(call, space, code));
	return -1;
}

void gp_error_advise(struct gp_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->advice, sizeof(err->advice), fmt, ap);
	va_end(ap);
	gp_text_clean(err->advice);
}

void gp_error_side(struct gp_error *err, const char *side)
{
	if (err->set && !err->side[0])
		snprintf(err->side, sizeof(err->side), "%s", side);
}

char *gp_error_line(const struct gp_error *err, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s%s%s", err->side, err->side[0] ? ": " : "", err->fact,
		 err->advice[0] ? "; " : "", err->advice);
	gp_text_clean(buf); /* it may have been cut */
	return buf;
}

static const char *const space_names[] = {"none", "errno", "cudart", "cuda", "nvml", "wc"};
#define N_SPACES (sizeof(space_names) / sizeof(space_names[0]))

json_t *gp_error_to_json(const struct gp_error *err)
{
	if (!err->set)
		return NULL;
	return json_pack("{s:i s:s s:i s:s s:s s:s s:s}", "exit_code", (int)err->exit_code, "space",
			 space_names[err->space], "code", err->code, "side", err->side, "call",
			 err->call, "fact", err->fact, "advice", err->advice);
}

/* Copy a peer's text, cut to fit. */
static void take_text(const json_t *json, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	snprintf(out, size, "%s", text ? text : "");
	gp_text_clean(out);
}

int gp_error_from_json(const json_t *json, struct gp_error *err)
{
	const char *space = json_string_value(json_object_get(json, "space"));
	const json_t *exit_code = json_object_get(json, "exit_code");
	struct gp_error e = {.set = true};
	json_int_t exit_value;

	if (!json_is_integer(exit_code) || !json_object_get(json, "fact"))
		return -1;
	exit_value = json_integer_value(exit_code);
	if (exit_value < GP_EXIT_FAILED || exit_value > GP_EXIT_WRONG)
		exit_value = GP_EXIT_FAILED;
	e.exit_code = (enum gp_exit)exit_value;
	for (size_t i = 0; space && i < N_SPACES; i++)
		if (strcmp(space, space_names[i]) == 0)
			e.space = (enum gp_space)i;
	e.code = (int)json_integer_value(json_object_get(json, "code"));
	take_text(json, "side", e.side, sizeof(e.side));
	take_text(json, "call", e.call, sizeof(e.call));
	take_text(json, "fact", e.fact, sizeof(e.fact));
	take_text(json, "advice", e.advice, sizeof(e.advice));
	*err = e;
	return 0;
}

static const char *const exit_texts[] = {
	[GP_EXIT_OK] = "done, all thresholds met",
	[GP_EXIT_FAILED] = "failed while running: peer lost, verbs error, time-out",
	[GP_EXIT_USAGE] = "bad usage or unreadable input",
	[GP_EXIT_THRESHOLD] = "a threshold was missed or a regression found",
	[GP_EXIT_MISSING] = "a requested path, device or prerequisite is not there",
	[GP_EXIT_WRONG] = "wrong data, or the evidence contradicts the path",
};

const char *gp_exit_text(enum gp_exit code)
{
	return exit_texts[code];
}
