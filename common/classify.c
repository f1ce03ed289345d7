/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * classify: the decision, see the rule in classify.h. Which GPUs and NIC drivers can do what is
 * here as tables; findings are in classify_findings, fleets in classify_fleet.
 */
#include "classify.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define KERNEL_DMABUF "5.12"
#define CUDA_DMABUF   "11.7"

#define FIRST_OPEN_DRIVER "515"

/* --- what devices can do --- */

static bool has_part(const char *name, const char *const *parts)
{
	for (int i = 0; parts[i]; i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* "GRID A100-10C", "NVIDIA A40-8Q": a slice by its size and one of the letters of its classes. */
bool gp_gpu_name_is_vgpu(const char *name)
{
	static const char classes[] = "QVAC";
	const char *dash = strrchr(name, '-');
	size_t digits;

	if (!dash)
		return strstr(name, "vGPU") != NULL;
	dash++;
	digits = strspn(dash, "0123456789");
	if (digits == 0 || digits > 3 || !dash[digits] || !strchr(classes, dash[digits]))
		return false;
	return dash[digits + 1] == '\0' || isspace((unsigned char)dash[digits + 1]);
}

/* Consumer boards, and GPUs that are part of the CPU's chip. */
bool gp_gpu_name_lacks_gdr(const char *name)
{
	static const char *const parts[] = {"GeForce", "TITAN", "Titan ", "GB10",      "Orin",
					    "Xavier",  "Tegra", "Thor",	  "DGX Spark", NULL};

	return has_part(name, parts) || gp_gpu_name_is_vgpu(name);
}

bool gp_gpu_name_is_coherent(const char *name)
{
	static const char *const parts[] = {"GH200", "GB200", "GB300", NULL};

	return has_part(name, parts);
}

bool gp_gpu_name_is_old(const char *name)
{
	static const char *const parts[] = {"V100",	    "P100",	"P40",	    "P4 ",
					    "K80",	    "K40",	"M60",	    "M40",
					    "M10",	    "TITAN V",	"Quadro P", "Quadro GP100",
					    "Quadro GV100", "Quadro M", "Quadro K", NULL};

	return has_part(name, parts);
}

bool gp_gpus_lack_gdr(const struct gp_inventory *inv, bool *all, const struct gp_host_fact **line)
{
	int lacking = 0;

	*line = NULL;
	for (int i = 0; i < inv->gpus.n; i++) {
		if (!gp_gpu_name_lacks_gdr(inv->gpus.item[i].name))
			continue;
		if (lacking++ == 0)
			*line = &inv->gpus.item[i].named;
	}
	*all = lacking > 0 && lacking == inv->gpus.n;
	/* what the driver itself says of all of them outweighs names */
	if (inv->facts[GP_FACT_GPU_GDR].known == GP_NO) {
		*all = true;
		*line = &inv->facts[GP_FACT_GPU_GDR];
	}
	if (inv->facts[GP_FACT_GPU_GDR].known == GP_YES && *all)
		*all = false;
	return *line != NULL;
}

/* The kernel that first has dma-buf memory regions in this driver; "" where none has. */
static const struct {
	const char *driver, *since;
	const char *prefix; /* of its device names where nobody renames them */
} nic_drivers[] = {
	{"mlx5_core", "5.12", "mlx5_"},
	{"mlx5_ib", "5.12", NULL},
	{"mlx4_core", "", "mlx4_"},
	{"efa", "5.16", "efa_"},
	{"irdma", "6.3", "irdma"},
	{"i40e", "6.3", NULL},
	{"ice", "6.3", NULL},
	{"bnxt_re", "6.6", "bnxt_re"},
	{"bnxt_en", "6.6", NULL},
	{"mana_ib", "6.15", "mana_"},
	{"ionic", "6.18", "ionic_"},
	{"rdma_rxe", "", "rxe"},
	{"siw", "", "siw"},
	{"hns_roce", "", "hns_"},
	{"erdma", "", "erdma_"},
	{"hfi1", "", "hfi1_"},
	{"qedr", "", "qedr"},
	{"cxgb4", "", "cxgb4_"},
	{"usnic", "", "usnic_"},
};
#define N_NIC_DRIVERS (sizeof(nic_drivers) / sizeof(nic_drivers[0]))

const char *gp_nic_dmabuf_since(const char *driver)
{
	for (size_t i = 0; driver && i < N_NIC_DRIVERS; i++)
		if (strcmp(driver, nic_drivers[i].driver) == 0)
			return nic_drivers[i].since;
	return NULL;
}

const char *gp_nic_driver(const struct gp_device *nic)
{
	if (nic->driver)
		return nic->driver;
	for (size_t i = 0; i < N_NIC_DRIVERS; i++)
		if (nic_drivers[i].prefix &&
		    strncmp(nic->name, nic_drivers[i].prefix, strlen(nic_drivers[i].prefix)) == 0)
			return nic_drivers[i].driver;
	return NULL;
}

/* --- words --- */

const char *gp_path_word(enum gp_path_id path)
{
	static const char *const words[] = {"undetermined", "none", "peermem", "dmabuf"};

	return words[path];
}

const char *gp_need_word(enum gp_prereq need)
{
	static const char *const words[] = {"driver", "cuda", "kernel", "ofed"};

	return words[need];
}

const char *gp_state_word(enum gp_state state)
{
	static const char *const words[] = {"unknown", "ok", "missing"};

	return words[state];
}

const char *gp_severity_word(enum gp_severity severity)
{
	static const char *const words[] = {"error", "warning", "info"};

	return words[severity];
}

/* --- prerequisites --- */

static void judge(struct gp_prerequisite *need, enum gp_state state,
		  const struct gp_host_fact *fact, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void judge(struct gp_prerequisite *need, enum gp_state state,
		  const struct gp_host_fact *fact, const char *fmt, ...)
{
	va_list args;

	need->state = state;
	need->fact = fact && fact->known ? fact : NULL;
	va_start(args, fmt);
	vsnprintf(need->detail, sizeof(need->detail), fmt, args);
	va_end(args);
}

/* "5.15" of "5.15.0-118-generic" */
static const char *short_version(const char *version, char *buf, size_t size)
{
	size_t major = strcspn(version, "."), length;

	length = major + (version[major] ? 1 + strcspn(version + major + 1, ".-+ ") : 0);
	snprintf(buf, size, "%.*s", (int)length, version);
	return buf;
}

static void dmabuf_driver(const struct gp_inventory *inv, struct gp_prerequisite *need)
{
	const struct gp_host_fact *driver = &inv->facts[GP_FACT_DRIVER];
	const struct gp_host_fact *open = &inv->facts[GP_FACT_OPEN];
	const struct gp_host_fact *attribute = &inv->facts[GP_FACT_DMABUF];
	const char *version = open->known && open->value[0] ? open->value
			      : driver->known		    ? driver->value
							    : "";

	if (driver->known == GP_NO)
		judge(need, GP_STATE_MISSING, driver, "no NVIDIA driver");
	else if (open->known == GP_NO)
		judge(need, GP_STATE_MISSING, open, "proprietary%s%s", version[0] ? " " : "",
		      version);
	else if (attribute->known == GP_NO)
		judge(need, GP_STATE_MISSING, attribute, "the driver says no dma-buf here");
	else if (open->known == GP_YES)
		judge(need, GP_STATE_OK, open, "open%s%s", version[0] ? " " : "", version);
	else if (attribute->known == GP_YES)
		judge(need, GP_STATE_OK, attribute, "the driver says that it exports dma-bufs");
	else if (version[0] && gp_version_compare(version, FIRST_OPEN_DRIVER, 1) < 0)
		judge(need, GP_STATE_MISSING, driver,
		      "%s, older than the first open one (" FIRST_OPEN_DRIVER ")", version);
	else if (version[0])
		judge(need, GP_STATE_UNKNOWN, NULL, "flavour of %s not in the capture", version);
	else
		judge(need, GP_STATE_UNKNOWN, NULL, "not in the capture");
}

static void dmabuf_cuda(const struct gp_inventory *inv, struct gp_prerequisite *need)
{
	const struct gp_host_fact *side[] = {&inv->facts[GP_FACT_CUDA_TOOLKIT],
					     &inv->facts[GP_FACT_CUDA_DRIVER]};
	static const char *const word[] = {"toolkit", "driver"};
	char text[120] = "";

	for (int i = 0; i < 2; i++) {
		size_t used = strlen(text);

		if (!side[i]->known)
			continue;
		if (gp_version_compare(side[i]->value, CUDA_DMABUF, 2) < 0) {
			judge(need, GP_STATE_MISSING, side[i], "%s %s < " CUDA_DMABUF, word[i],
			      side[i]->value);
			return;
		}
		snprintf(text + used, sizeof(text) - used, "%s%s (%s)", used ? ", " : "",
			 side[i]->value, word[i]);
	}
	if (text[0])
		judge(need, GP_STATE_OK, side[0]->known ? side[0] : side[1], "%s >= " CUDA_DMABUF,
		      text);
	else
		judge(need, GP_STATE_UNKNOWN, NULL, "not in the capture");
}

/* The first NIC whose driver can't, where no other one can: NULL otherwise. */
static const struct gp_device *nic_without_dmabuf(const struct gp_inventory *inv)
{
	const struct gp_host_fact *kernel = &inv->facts[GP_FACT_KERNEL];
	const struct gp_device *first = NULL;

	for (int i = 0; i < inv->nics.n; i++) {
		const char *since = gp_nic_dmabuf_since(gp_nic_driver(&inv->nics.item[i]));

		if (!since || (since[0] && !kernel->known))
			return NULL;
		if (since[0] && gp_version_compare(kernel->value, since, 2) >= 0)
			return NULL;
		if (!first)
			first = &inv->nics.item[i];
	}
	return first;
}

static void dmabuf_kernel(const struct gp_inventory *inv, struct gp_prerequisite *need)
{
	const struct gp_host_fact *kernel = &inv->facts[GP_FACT_KERNEL];
	const struct gp_device *nic = nic_without_dmabuf(inv);
	char version[32];

	if (!kernel->known) {
		judge(need, GP_STATE_UNKNOWN, NULL, "not in the capture");
		return;
	}
	short_version(kernel->value, version, sizeof(version));
	if (gp_version_compare(kernel->value, KERNEL_DMABUF, 2) < 0) {
		judge(need, GP_STATE_MISSING, kernel, "%s < " KERNEL_DMABUF, version);
	} else if (nic) {
		const char *driver = gp_nic_driver(nic);
		const char *since = gp_nic_dmabuf_since(driver);

		judge(need, GP_STATE_MISSING, &nic->named, "%s of %s has dma-buf %s%s", driver,
		      nic->name, since[0] ? "from Linux " : "in no kernel", since);
	} else {
		judge(need, GP_STATE_OK, kernel, "%s >= " KERNEL_DMABUF, version);
	}
}

/* OFED on the host, or modules of OFED that somebody else (the Network Operator) loaded. */
static const struct gp_host_fact *ofed_of(const struct gp_inventory *inv)
{
	const struct gp_host_fact *host = &inv->facts[GP_FACT_OFED];
	const struct gp_host_fact *modules = &inv->facts[GP_FACT_OFED_MODULES];

	if (host->known == GP_YES || modules->known != GP_YES)
		return host->known ? host : modules;
	return modules;
}

static void dmabuf_ofed(const struct gp_inventory *inv, struct gp_prerequisite *need)
{
	const struct gp_host_fact *ofed = ofed_of(inv);

	if (ofed->known == GP_YES)
		judge(need, GP_STATE_OK, ofed, "optional (%s)",
		      ofed->value[0] ? ofed->value : "there");
	else
		judge(need, GP_STATE_OK, ofed, "optional");
}

static bool peermem_loaded(const struct gp_inventory *inv)
{
	return inv->facts[GP_FACT_PEERMEM].known == GP_YES ||
	       inv->facts[GP_FACT_NV_PEER_MEM].known == GP_YES;
}

static void peermem_needs(const struct gp_inventory *inv, struct gp_prerequisite *need)
{
	const struct gp_host_fact *driver = &inv->facts[GP_FACT_DRIVER];
	const struct gp_host_fact *ofed = ofed_of(inv);

	if (driver->known == GP_NO)
		judge(&need[GP_NEED_DRIVER], GP_STATE_MISSING, driver, "no NVIDIA driver");
	else if (driver->known || inv->facts[GP_FACT_OPEN].known || peermem_loaded(inv))
		judge(&need[GP_NEED_DRIVER], GP_STATE_OK, driver, "any driver");
	else
		judge(&need[GP_NEED_DRIVER], GP_STATE_UNKNOWN, NULL,
		      "any driver; not in the capture");
	judge(&need[GP_NEED_CUDA], GP_STATE_OK, NULL, "no minimum");
	judge(&need[GP_NEED_KERNEL], GP_STATE_OK, NULL, "no minimum");
	if (ofed->known == GP_YES)
		judge(&need[GP_NEED_OFED], GP_STATE_OK, ofed, "%s",
		      ofed == &inv->facts[GP_FACT_OFED_MODULES] ? "its modules are loaded"
		      : ofed->value[0]				? ofed->value
								: "there");
	else if (ofed->known == GP_NO)
		judge(&need[GP_NEED_OFED], GP_STATE_MISSING, ofed, "required, none installed");
	else
		judge(&need[GP_NEED_OFED], GP_STATE_UNKNOWN, NULL, "required; not in the capture");
}

/* --- the decision --- */

static void decide(struct gp_path_verdict *verdict, const char *name,
		   const struct gp_host_fact *fact, const char *note)
{
	struct gp_decider *decider;

	if (!fact || !fact->known || verdict->n_deciders == GP_DECIDERS_MAX)
		return;
	for (int i = 0; i < verdict->n_deciders; i++)
		if (verdict->decider[i].fact == fact)
			return;
	decider = &verdict->decider[verdict->n_deciders++];
	decider->name = name;
	decider->fact = fact;
	snprintf(decider->note, sizeof(decider->note), "%s", note);
}

static void condition(struct gp_path_verdict *verdict, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void condition(struct gp_path_verdict *verdict, const char *fmt, ...)
{
	va_list args;

	if (verdict->n_conditions == GP_CONDITIONS_MAX)
		return;
	va_start(args, fmt);
	vsnprintf(verdict->condition[verdict->n_conditions++], sizeof(verdict->condition[0]), fmt,
		  args);
	va_end(args);
}

static enum gp_state worst(const struct gp_prerequisite *need)
{
	enum gp_state state = GP_STATE_OK;

	for (int i = 0; i < GP_NEED_COUNT; i++) {
		if (need[i].state == GP_STATE_MISSING)
			return GP_STATE_MISSING;
		if (need[i].state == GP_STATE_UNKNOWN)
			state = GP_STATE_UNKNOWN;
	}
	return state;
}

/* Every prerequisite of DMA-BUF that is missing is a reason. */
static void decide_against_dmabuf(struct gp_path_verdict *verdict)
{
	static const char *const names[] = {"driver", "CUDA", "kernel", "OFED"};
	static const char *const notes[] = {"", " < " CUDA_DMABUF, " < " KERNEL_DMABUF, ""};

	for (int i = 0; i < GP_NEED_COUNT; i++) {
		const struct gp_prerequisite *need = &verdict->dmabuf[i];

		if (need->state == GP_STATE_MISSING)
			decide(verdict, strstr(need->detail, " has dma-buf ") ? "NIC" : names[i],
			       need->fact, strstr(need->detail, " < ") ? notes[i] : "");
	}
}

/* Rule 1. */
static bool decide_without_modules(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	const struct gp_host_fact *gpu;
	bool all;

	gp_gpus_lack_gdr(inv, &all, &gpu);
	if (inv->facts[GP_FACT_DRIVER].known == GP_NO)
		decide(verdict, "driver", &inv->facts[GP_FACT_DRIVER], "");
	if (inv->facts[GP_FACT_RDMA].known == GP_NO)
		decide(verdict, "RDMA", &inv->facts[GP_FACT_RDMA], "");
	if (all)
		decide(verdict, "GPU", gpu, "");
	if (verdict->n_deciders == 0)
		return false;
	verdict->path = GP_PATH_NONE;
	verdict->confirmed = true;
	if (verdict->n_deciders == 1 && all && inv->facts[GP_FACT_GPU_GDR].known != GP_NO &&
	    gp_gpu_name_is_vgpu(inv->gpus.item[0].name)) {
		verdict->confirmed = false;
		condition(verdict, "CUDA attribute 116 is 0 there: a vGPU slice seldom has "
				   "GPUDirect RDMA, but some do");
	}
	return true;
}

/* Rule 2. */
static bool decide_dmabuf(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	const struct gp_prerequisite *need = verdict->dmabuf;

	if (worst(need) == GP_STATE_MISSING || need[GP_NEED_DRIVER].state != GP_STATE_OK ||
	    need[GP_NEED_KERNEL].state != GP_STATE_OK)
		return false;
	verdict->path = GP_PATH_DMABUF;
	verdict->confirmed = need[GP_NEED_CUDA].state == GP_STATE_OK;
	decide(verdict, "driver", need[GP_NEED_DRIVER].fact, "");
	decide(verdict, "kernel", &inv->facts[GP_FACT_KERNEL], " >= " KERNEL_DMABUF);
	if (!verdict->confirmed)
		condition(verdict, "CUDA " CUDA_DMABUF " or higher: CUDA is not in the capture");
	return true;
}

static const struct gp_host_fact *module_fact(const struct gp_inventory *inv)
{
	return inv->facts[GP_FACT_NV_PEER_MEM].known == GP_YES &&
			       inv->facts[GP_FACT_PEERMEM].known != GP_YES
		       ? &inv->facts[GP_FACT_NV_PEER_MEM]
		       : &inv->facts[GP_FACT_PEERMEM];
}

/* One side of CUDA too old while the other would do: is it the one that counts? */
static void condition_on_toolkit(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	const struct gp_host_fact *toolkit = &inv->facts[GP_FACT_CUDA_TOOLKIT];
	const struct gp_host_fact *driver = &inv->facts[GP_FACT_CUDA_DRIVER];
	int missing = 0;

	for (int i = 0; i < GP_NEED_COUNT; i++)
		missing += verdict->dmabuf[i].state == GP_STATE_MISSING;
	if (missing == 1 && verdict->dmabuf[GP_NEED_CUDA].fact == toolkit && toolkit->known &&
	    driver->known && gp_version_compare(driver->value, CUDA_DMABUF, 2) >= 0) {
		verdict->confirmed = false;
		condition(verdict,
			  "programs use the toolkit %s found here; the driver's %s would do, and a "
			  "container may bring a newer toolkit",
			  toolkit->value, driver->value);
	}
}

/* Rule 3. */
static void decide_peermem(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	enum gp_state ofed = verdict->peermem[GP_NEED_OFED].state;
	const struct gp_host_fact *module = module_fact(inv);
	bool loaded = module->known == GP_YES;

	decide_against_dmabuf(verdict);
	if (loaded)
		decide(verdict, "module", module, "");
	decide(verdict, "OFED", ofed_of(inv), "");
	if (ofed == GP_STATE_OK || loaded) {
		verdict->path = GP_PATH_PEERMEM;
		verdict->confirmed = ofed == GP_STATE_OK && module->known;
		if (!module->known)
			condition(verdict, "nvidia_peermem is loaded: lsmod is not in the capture");
		if (ofed == GP_STATE_UNKNOWN)
			condition(verdict, "OFED is installed: ofed_info is not in the capture");
		if (ofed == GP_STATE_MISSING)
			condition(verdict, "the kernel's own peer-memory interface does: the "
					   "module is loaded without OFED");
	} else if (ofed == GP_STATE_MISSING) {
		verdict->path = GP_PATH_NONE;
		verdict->confirmed = true;
	} else {
		condition(verdict, "OFED is not in the capture: peermem with it, none without");
	}
	condition_on_toolkit(inv, verdict);
}

/* Rule 4. */
static void decide_by_module(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	static const char *const wanted[] = {
		"the driver's flavour (cat /proc/driver/nvidia/version)",
		"CUDA (nvidia-smi, nvcc --version)", "the kernel (uname -r)", NULL};
	const struct gp_host_fact *module = module_fact(inv);

	if (module->known == GP_YES) {
		verdict->path = GP_PATH_PEERMEM;
		decide(verdict, "module", module, "");
		if (verdict->peermem[GP_NEED_OFED].state != GP_STATE_UNKNOWN)
			decide(verdict, "OFED", ofed_of(inv), "");
	}
	for (int i = 0; i < GP_NEED_COUNT; i++)
		if (verdict->dmabuf[i].state == GP_STATE_UNKNOWN && wanted[i] && i != GP_NEED_CUDA)
			condition(verdict,
				  module->known == GP_YES
					  ? "DMA-BUF is not there too: %s is not in the capture"
					  : "DMA-BUF can't be judged: %s is not in the capture",
				  wanted[i]);
	if (module->known != GP_YES && verdict->peermem[GP_NEED_OFED].state == GP_STATE_UNKNOWN)
		condition(verdict, "OFED (ofed_info -s) is not in the capture: nvidia-peermem "
				   "can't be judged");
}

static void set_helm(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	const struct gp_host_fact *driver = &inv->facts[GP_FACT_DRIVER];
	bool host_ofed = inv->facts[GP_FACT_OFED].known == GP_YES;

	if (verdict->path == GP_PATH_DMABUF) {
		snprintf(verdict->helm[verdict->n_helm++], sizeof(verdict->helm[0]),
			 "--set driver.kernelModuleType=%s",
			 driver->known && driver->value[0] &&
					 gp_version_compare(driver->value, "570", 1) >= 0
				 ? "auto"
				 : "open");
		snprintf(verdict->helm[verdict->n_helm++], sizeof(verdict->helm[0]),
			 "--set driver.rdma.enabled=false");
	} else if (verdict->path == GP_PATH_PEERMEM) {
		snprintf(verdict->helm[verdict->n_helm++], sizeof(verdict->helm[0]),
			 "--set driver.rdma.enabled=true");
		if (inv->facts[GP_FACT_OFED].known)
			snprintf(verdict->helm[verdict->n_helm++], sizeof(verdict->helm[0]),
				 "--set driver.rdma.useHostMofed=%s", host_ofed ? "true" : "false");
	}
}

static void set_expectation(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	static const char *const states[] = {"not in the capture", "absent", "loaded"};
	const struct gp_host_fact *module = module_fact(inv);
	const char *name =
		module == &inv->facts[GP_FACT_PEERMEM] ? "nvidia_peermem" : "nv_peer_mem";
	const char *says = "";

	if (verdict->path == GP_PATH_DMABUF)
		says = module->known == GP_YES ? ": not needed on DMA-BUF, harmless"
					       : ": expected on DMA-BUF, not a fault";
	else if (verdict->path == GP_PATH_PEERMEM)
		says = module->known == GP_YES	? ": as the legacy path needs it"
		       : module->known == GP_NO ? ": the legacy path needs it"
						: ": the legacy path needs it loaded";
	else if (module->known == GP_YES)
		says = ": it does not make a path here";
	if (module->known || verdict->path == GP_PATH_PEERMEM)
		snprintf(verdict->expectation, sizeof(verdict->expectation), "%s %s%s", name,
			 states[module->known], says);
	else if (verdict->path == GP_PATH_DMABUF)
		snprintf(verdict->expectation, sizeof(verdict->expectation),
			 "not in the capture; nvidia_peermem is not expected on DMA-BUF");
}

void gp_classify(const struct gp_inventory *inv, struct gp_path_verdict *verdict)
{
	*verdict = (struct gp_path_verdict){0};
	dmabuf_driver(inv, &verdict->dmabuf[GP_NEED_DRIVER]);
	dmabuf_cuda(inv, &verdict->dmabuf[GP_NEED_CUDA]);
	dmabuf_kernel(inv, &verdict->dmabuf[GP_NEED_KERNEL]);
	dmabuf_ofed(inv, &verdict->dmabuf[GP_NEED_OFED]);
	peermem_needs(inv, verdict->peermem);

	if (!decide_without_modules(inv, verdict) && !decide_dmabuf(inv, verdict)) {
		if (worst(verdict->dmabuf) == GP_STATE_MISSING)
			decide_peermem(inv, verdict);
		else
			decide_by_module(inv, verdict);
	}
	set_helm(inv, verdict);
	set_expectation(inv, verdict);
	gp_findings_add(inv, verdict);
}

bool gp_path_verdict_has(const struct gp_path_verdict *verdict, const char *id)
{
	for (int i = 0; i < verdict->n_findings; i++)
		if (strcmp(verdict->finding[i].id, id) == 0)
			return true;
	return false;
}

bool gp_classify_missing(const struct gp_inventory *inv, enum gp_path_id path, char *text,
			 size_t size)
{
	static const char *const names[] = {"driver", "CUDA", "kernel", "OFED"};
	const struct gp_prerequisite *need;
	struct gp_path_verdict verdict;

	text[0] = '\0';
	gp_classify(inv, &verdict);
	if (verdict.path == GP_PATH_NONE &&
	    decide_without_modules(inv, &(struct gp_path_verdict){0})) {
		const struct gp_decider *decider = &verdict.decider[0];

		snprintf(text, size, "%s: %s (\"%s\")", decider->name,
			 strcmp(decider->name, "GPU") == 0    ? "without GPUDirect RDMA"
			 : strcmp(decider->name, "RDMA") == 0 ? "no RDMA device"
							      : "no NVIDIA driver",
			 decider->fact->line);
		return true;
	}
	need = path == GP_PATH_DMABUF ? verdict.dmabuf : verdict.peermem;
	for (int i = 0; i < GP_NEED_COUNT; i++) {
		if (need[i].state != GP_STATE_MISSING)
			continue;
		snprintf(text, size, "%s: %s%s%s%s", names[i], need[i].detail,
			 need[i].fact ? " (\"" : "", need[i].fact ? need[i].fact->line : "",
			 need[i].fact ? "\")" : "");
		return true;
	}
	if (path == GP_PATH_PEERMEM && module_fact(inv)->known == GP_NO) {
		snprintf(text, size, "module: nvidia_peermem is not loaded (\"%s\")",
			 module_fact(inv)->line);
		return true;
	}
	return false;
}
