/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diagnose: see diagnose.h. Each rule is a predicate and a writer, one row of the table at the end,
 * best carried first. The predicate is asked of every row of figures; what it finds (which path,
 * which sides, how bad) it leaves in the look, for the writer. Numbers that the facts must reach
 * are constants at the top.
 */
#include "diagnose.h"
#include "stats.h"
#include "units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* From this share of the limit on a figure is not called low: the limit is an upper bound that
 * leaves out acknowledgements and flow control; 47 of 49.7 and 23 of 24.5 GB/s are called good in
 * reports (Mooncake#1459, perftest#241), and the rest is left for older hosts. */
#define NEAR_LIMIT 0.85
/* Below this share of the reference something is wrong: a loss of a third is more than rounds
 * differ by, and the reported faults leave 0.48 and less (perftest#241, Mooncake#1459, ucx#10955).
 */
#define FAR_BELOW 0.7
/* Two medians this close are one: rounds of one cell differ by less, a path that gains by more. */
#define ABOUT 0.10
/* A PCIe link that binds shows at least this share of its raw rate as payload: TLP headers leave
 * 0.84 at 128 bytes a packet; the rest is left for reads, which also wait. A choice, not measured.
 */
#define LINK_BINDS 0.6
/* Shorter messages are bound by their number, not by any link: at 400 Gb/s 64 KiB take 1.3 us, of
 * which posting is under 3 %. */
#define LARGE_BYTES (64 * GP_KIB)

/* Completion status, enum ibv_wc_status of infiniband/verbs.h. */
#define WC_LOCAL_PROTECTION 4
#define WC_REMOTE_OPERATION 11
#define WC_RETRIES_EXCEEDED 12

#define SIDE(side) (1U << (side))
#define BOTH_SIDES (SIDE(GP_CLIENT) | SIDE(GP_SERVER))

/* What a rule sees and finds in one row. */
struct look {
	const struct gp_diagnose_run *run;
	const struct gp_diagnose_row *row, *other; /* other: the same with the other op, or NULL */
	enum gp_diagnose_path path;		   /* the GPU path that it is about */
	unsigned sides;				   /* where the facts were found */
	int rail, low_rails;
	double share; /* how bad: of rows that carry the rule the lowest is told */
};

struct rule {
	const char *id;
	bool (*when)(struct look *look);
	/* What the facts are beside the figures; where what or next is NULL, also these. */
	void (*say)(const struct look *look, struct gp_diagnosis_line *line);
	const char *what, *next;
};

/* --- text --- */

static void add(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}

#define WHAT(line, ...)	 add((line)->what, sizeof((line)->what), __VA_ARGS__)
#define FACTS(line, ...) add((line)->facts, sizeof((line)->facts), __VA_ARGS__)
#define NEXT(line, ...)	 add((line)->next, sizeof((line)->next), __VA_ARGS__)

static const char *const path_names[GP_DIAGNOSE_PATHS] = {"host", "dmabuf", "peermem", "bounce"};

static const char *sides_text(unsigned sides)
{
	if (sides == BOTH_SIDES)
		return "both sides";
	return gp_side_name(sides & SIDE(GP_CLIENT) ? GP_CLIENT : GP_SERVER);
}

/* --- figures --- */

static bool known(double value)
{
	return isfinite(value) && value > 0;
}

static double figure(const struct gp_diagnose_row *row, enum gp_diagnose_path path)
{
	double value = row->path[path].gbytes_per_s;

	return known(value) ? value : (double)NAN;
}

/* Of the limit, which each direction has for itself; NaN where either is not known. */
static double of_limit(const struct look *look, double gbytes_per_s)
{
	double limit = look->row->limit.gbytes_per_s * (look->row->two_way ? 2 : 1);

	return known(limit) && known(gbytes_per_s) ? gbytes_per_s / limit : (double)NAN;
}

/* The better of the GPU paths: what one of them reaches, the way between the devices allows. */
static enum gp_diagnose_path best_path(const struct gp_diagnose_row *row)
{
	double dmabuf = figure(row, GP_DIAGNOSE_DMABUF), peermem = figure(row, GP_DIAGNOSE_PEERMEM);

	return known(peermem) && !(dmabuf >= peermem) ? GP_DIAGNOSE_PEERMEM : GP_DIAGNOSE_DMABUF;
}

static double best_figure(const struct gp_diagnose_row *row)
{
	return figure(row, best_path(row));
}

static bool failed_with(const struct gp_diagnose_row *row, enum gp_diagnose_path path, int code)
{
	return row->path[path].space == GP_SPACE_WC && row->path[path].code == code;
}

static bool is_large(const struct look *look)
{
	return look->row->size >= LARGE_BYTES;
}

static bool about(double a, double b)
{
	return known(a) && known(b) && fmax(a, b) <= fmin(a, b) * (1 + ABOUT);
}

static void say_figure(const char *name, double gbytes_per_s, const char **lead,
		       struct gp_diagnosis_line *line)
{
	char rate[32];

	if (!known(gbytes_per_s))
		return;
	FACTS(line, "%s%s %s%s", *lead, name, gp_rate_write(gbytes_per_s, rate, sizeof(rate)),
	      **lead == ':' ? " GB/s" : "");
	*lead = ", ";
}

/* "write 1M near: dmabuf 11.0 GB/s, host 23.0, bounce 10.2, limit 24.5": the path in question
 * first, and what is not known left out. */
static void say_figures(const struct look *look, struct gp_diagnosis_line *line)
{
	const struct gp_diagnose_row *row = look->row;
	const char *lead = ": ";
	char size[32];

	FACTS(line, "%s %s%s%s", row->op, gp_size_write(row->size, size, sizeof(size)),
	      row->placement[0] ? " " : "", row->placement);
	say_figure(path_names[look->path], figure(row, look->path), &lead, line);
	for (int p = 0; p < GP_DIAGNOSE_PATHS; p++)
		if (p != (int)look->path)
			say_figure(path_names[p], figure(row, (enum gp_diagnose_path)p), &lead,
				   line);
	say_figure("limit", look->row->limit.gbytes_per_s, &lead, line);
	if (row->two_way && known(look->row->limit.gbytes_per_s))
		FACTS(line, " each way");
}

/* --- facts of the sides --- */

typedef bool side_test(const struct gp_diagnose_side *side);

static const struct gp_diagnose_side *side_of(const struct gp_diagnose_row *row, int side)
{
	return row->sides && row->sides[side].gpu ? &row->sides[side] : NULL;
}

/* Sides with a GPU where the test holds. */
static unsigned sides_where(const struct gp_diagnose_row *row, side_test *test)
{
	unsigned sides = 0;

	for (int s = 0; s < GP_SIDES; s++)
		if (side_of(row, s) && test(side_of(row, s)))
			sides |= SIDE(s);
	return sides;
}

static const char *const classes[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
enum { CLASS_UNKNOWN = -1, CLASS_PIX, CLASS_PXB, CLASS_PHB, CLASS_NODE, CLASS_SYS };

static int class_of(const struct gp_diagnose_side *side)
{
	for (int c = CLASS_PIX; side->distance && c <= CLASS_SYS; c++)
		if (strcmp(side->distance, classes[c]) == 0)
			return c;
	return CLASS_UNKNOWN;
}

/* The longer of both sides' ways: it is the one that binds. */
static int worst_class(const struct gp_diagnose_row *row)
{
	int worst = CLASS_UNKNOWN;

	for (int s = 0; s < GP_SIDES; s++)
		if (side_of(row, s) && class_of(side_of(row, s)) > worst)
			worst = class_of(side_of(row, s));
	return worst;
}

/* Through the root complex it goes anyway: there redirect changes nothing. */
static bool has_acs(const struct gp_diagnose_side *side)
{
	return side->acs_redirect == 1 && class_of(side) < CLASS_PHB;
}

static bool has_iommu(const struct gp_diagnose_side *side)
{
	return side->iommu_translating == 1;
}

static bool lacks_pcie_mapping(const struct gp_diagnose_side *side)
{
	return side->coherent == 1 && side->pcie_mapping == 0;
}

/* "; client: PHB, GPU node 0, NIC node 1". */
static void say_place(const struct gp_diagnose_row *row, unsigned sides,
		      struct gp_diagnosis_line *line)
{
	for (int s = 0; s < GP_SIDES; s++) {
		const struct gp_diagnose_side *side = side_of(row, s);

		if (!side || !(sides & SIDE(s)) || class_of(side) == CLASS_UNKNOWN)
			continue;
		FACTS(line, "; %s: %s", gp_side_name((enum gp_side)s), side->distance);
		if (side->gpu_node >= 0 && side->nic_node >= 0)
			FACTS(line, ", GPU node %d, NIC node %d", side->gpu_node, side->nic_node);
	}
}

/* --- PCIe links --- */

/* What a link can carry at most: 8b/10b up to 5 GT/s, 128b/130b above (PCIe Base Specification). */
static double link_gbytes_per_s(const struct gp_diagnose_link *link)
{
	return link->gts * link->width / 8 * (link->gts < 8 ? 0.8 : 128.0 / 130);
}

static bool link_is_below(const struct gp_diagnose_link *link)
{
	return link->gts > 0 && link->width > 0 &&
	       (link->gts < link->max_gts || link->width < link->max_width);
}

/* It is below its maximum and the figure is what it lets through: more than it can carry shows that
 * it was asleep when it was read, much less that something else binds. */
static bool link_explains(const struct gp_diagnose_link *link, double gbytes_per_s)
{
	double most = link_is_below(link) ? link_gbytes_per_s(link) : (double)NAN;

	return gbytes_per_s <= most && gbytes_per_s >= most * LINK_BINDS;
}

static const struct gp_diagnose_link *slow_link(const struct gp_diagnose_link *own,
						const struct gp_diagnose_link *narrowest,
						double gbytes_per_s)
{
	if (link_explains(own, gbytes_per_s))
		return own;
	return link_explains(narrowest, gbytes_per_s) ? narrowest : NULL;
}

static void say_link(const char *whose, bool own, int side, const struct gp_diagnose_link *link,
		     struct gp_diagnosis_line *line)
{
	FACTS(line, "; %s: %s %s runs at %g GT/s x%d", gp_side_name((enum gp_side)side),
	      own ? "PCIe link of the" : "narrowest PCIe link above the", whose, link->gts,
	      link->width);
	if (link->max_gts > 0 && link->max_width > 0)
		FACTS(line, " of %g GT/s x%d", link->max_gts, link->max_width);
}

/* --- what several rules ask --- */

/* The other op moves well between the same GPUs. Each op reads from the source's GPU and writes to
 * the sink's; so the ways as such are good, and the source of this op is what is left. */
static bool other_op_is_good(const struct look *look)
{
	return look->other &&
	       best_figure(look->other) >= figure(look->other, GP_DIAGNOSE_HOST) * FAR_BELOW;
}

static enum gp_side source_of(const struct gp_diagnose_row *row)
{
	return strcmp(row->op, "read") == 0 ? GP_SERVER : GP_CLIENT;
}

static bool path_is_low(struct look *look, enum gp_diagnose_path path)
{
	double host = figure(look->row, GP_DIAGNOSE_HOST), gpu = figure(look->row, path);

	look->path = path;
	look->share = gpu / host;
	return is_large(look) && of_limit(look, host) >= NEAR_LIMIT && look->share < FAR_BELOW;
}

/* Host memory near the limit, and no GPU path anywhere near it. */
static bool gpu_is_low(struct look *look)
{
	return path_is_low(look, best_path(look->row));
}

/* Sides of gpu_is_low() where the test holds; only the source's where the other op is good. */
static bool low_and(struct look *look, side_test *test)
{
	look->sides = sides_where(look->row, test);
	if (other_op_is_good(look))
		look->sides &= SIDE(source_of(look->row));
	return look->sides && gpu_is_low(look);
}

/* Host memory is below the limit, and so is every GPU path that has a figure. */
static bool both_are_low(struct look *look)
{
	double host = figure(look->row, GP_DIAGNOSE_HOST), gpu = best_figure(look->row);

	look->share = of_limit(look, host);
	return is_large(look) && look->share < NEAR_LIMIT && !(of_limit(look, gpu) >= NEAR_LIMIT);
}

/* --- the rules --- */

/* Reading between peers through the CPU's root complex is what some platforms don't forward, or
 * slowly (open-gpu-kernel-modules#1253: "Intel client CPUs are known to only support PCIe P2P
 * writes"). */
static bool reads_through_cpu(const struct gp_diagnose_side *side)
{
	return class_of(side) >= CLASS_PHB || side->client_chipset == 1;
}

static bool read_failed(const struct gp_diagnose_row *row, enum gp_diagnose_path path)
{
	return source_of(row) == GP_SERVER && row->path[GP_DIAGNOSE_HOST].space == GP_SPACE_NONE &&
	       (failed_with(row, path, WC_REMOTE_OPERATION) ||
		failed_with(row, path, WC_RETRIES_EXCEEDED));
}

static bool is_good_beside_host(const struct gp_diagnose_row *row, enum gp_diagnose_path path)
{
	double host = figure(row, GP_DIAGNOSE_HOST);

	return known(figure(row, path)) && !(figure(row, path) < host * FAR_BELOW);
}

static bool reads_are_bad(struct look *look, enum gp_diagnose_path path)
{
	double gpu = figure(look->row, path), host = figure(look->row, GP_DIAGNOSE_HOST);

	if (!look->other || !is_good_beside_host(look->other, path))
		return false;
	look->path = path;
	look->share = read_failed(look->row, path) ? 0 : gpu / host;
	return look->share == 0 || (is_large(look) && gpu < host * FAR_BELOW &&
				    gpu < figure(look->other, path) * FAR_BELOW);
}

static bool when_reads(struct look *look)
{
	look->sides = sides_where(look->row, reads_through_cpu) & SIDE(source_of(look->row));
	return look->sides && !look->row->two_way &&
	       (reads_are_bad(look, GP_DIAGNOSE_DMABUF) ||
		reads_are_bad(look, GP_DIAGNOSE_PEERMEM));
}

static void say_reads(const struct look *look, struct gp_diagnosis_line *line)
{
	const struct gp_diagnose_row *row = look->row;
	const char *side = sides_text(look->sides), *path = path_names[look->path];
	int code = row->path[look->path].code;
	char rate[32];

	WHAT(line,
	     "peer-to-peer reads: the %s's NIC writes to its GPU well and reads from it badly",
	     side);
	FACTS(line, "; %s %s %s GB/s", path, look->other->op,
	      gp_rate_write(figure(look->other, look->path), rate, sizeof(rate)));
	if (read_failed(row, look->path))
		FACTS(line, "; %s %s ends in completion status %d (%s)", path, row->op, code,
		      code == WC_REMOTE_OPERATION ? "remote operation error" : "retries exceeded");
	say_place(row, look->sides, line);
	if (row->sides[source_of(row)].client_chipset == 1)
		FACTS(line, "; %s: client chipset", side);
	NEXT(line,
	     "put the %s's GPU and NIC under one PCIe switch; else stage what leaves that GPU "
	     "through host memory (bounce): what arrives (--op %s) may stay direct",
	     side, look->other->op);
}

/* NCCL's own hint for this status; UCX#3564, NCCL#928. */
static bool when_acs_refuses(struct look *look)
{
	const struct gp_diagnose_row *row = look->row;

	look->sides = sides_where(row, has_acs) & SIDE(GP_CLIENT);
	look->share = 0;
	look->path = failed_with(row, GP_DIAGNOSE_DMABUF, WC_LOCAL_PROTECTION)
			     ? GP_DIAGNOSE_DMABUF
			     : GP_DIAGNOSE_PEERMEM;
	return look->sides && known(figure(row, GP_DIAGNOSE_HOST)) &&
	       failed_with(row, look->path, WC_LOCAL_PROTECTION);
}

static void say_acs_refuses(const struct look *look, struct gp_diagnosis_line *line)
{
	FACTS(line,
	      "; %s ends in completion status %d (local protection error); client: ACS redirect "
	      "between GPU and NIC",
	      path_names[look->path], WC_LOCAL_PROTECTION);
}

/* FORCE_PCIE needs a coherent platform, GPU and NIC in one iommu_group (nv-pci.c); NCCL uses the
 * flag from CUDA 12.8 on. */
static bool when_coherent(struct look *look)
{
	look->sides = sides_where(look->row, lacks_pcie_mapping);
	return look->sides && path_is_low(look, GP_DIAGNOSE_DMABUF);
}

static void say_coherent(const struct look *look, struct gp_diagnosis_line *line)
{
	FACTS(line, "; %s: the GPU shares the CPU's page tables, exported without the PCIe mapping",
	      sides_text(look->sides));
}

static bool gpu_link_explains(struct look *look, double gbytes_per_s)
{
	look->sides = 0;
	for (int s = 0; s < GP_SIDES; s++) {
		const struct gp_diagnose_side *side = side_of(look->row, s);

		if (side && slow_link(&side->gpu_link, &side->gpu_narrowest, gbytes_per_s))
			look->sides |= SIDE(s);
	}
	return look->sides;
}

/* Either far below host memory, or near a limit which that very link makes. */
static bool when_gpu_link(struct look *look)
{
	double gpu = best_figure(look->row);
	double one_way = look->row->two_way ? gpu / 2 : gpu;
	bool bound = strncmp(look->row->limit.bound_by, "PCIe link", 9) == 0 && is_large(look) &&
		     of_limit(look, gpu) >= NEAR_LIMIT && of_limit(look, gpu) <= 1;

	if (!gpu_is_low(look)) {
		if (!bound)
			return false;
		look->share = of_limit(look, gpu);
	} else if (other_op_is_good(look)) {
		return false;
	}
	return gpu_link_explains(look, one_way);
}

static void say_gpu_link(const struct look *look, struct gp_diagnosis_line *line)
{
	double gpu = figure(look->row, look->path) / (look->row->two_way ? 2 : 1);

	for (int s = 0; s < GP_SIDES; s++) {
		const struct gp_diagnose_side *side = side_of(look->row, s);
		const struct gp_diagnose_link *link;

		if (!side || !(look->sides & SIDE(s)))
			continue;
		link = slow_link(&side->gpu_link, &side->gpu_narrowest, gpu);
		say_link("GPU", link == &side->gpu_link, s, link, line);
	}
}

/* 150 instead of 200 Gb/s (ucx#8062, host memory), 16 instead of over 40 GB/s (ucx#10955). */
static bool when_relaxed(struct look *look)
{
	look->path = GP_DIAGNOSE_HOST;
	if (look->run->relaxed_ordering != 0)
		return false;
	return both_are_low(look) || (gpu_is_low(look) && !other_op_is_good(look));
}

static void say_relaxed(const struct look *look, struct gp_diagnosis_line *line)
{
	(void)look;
	FACTS(line, "; --relaxed-ordering off, on both sides");
}

/* A row of a nearer placement is no faster: then the distance is not what binds. */
static bool nearer_is_no_faster(const struct look *look)
{
	const struct gp_diagnose_row *row = look->row;

	for (int i = 0; i < look->run->n_rows; i++) {
		const struct gp_diagnose_row *near = &look->run->rows[i];
		int class = worst_class(near);

		if (near->size == row->size && strcmp(near->op, row->op) == 0 &&
		    near->two_way == row->two_way && class != CLASS_UNKNOWN &&
		    class < worst_class(row) && best_figure(near) <= best_figure(row) * (1 + ABOUT))
			return true;
	}
	return false;
}

/* Low for a distance: where one op is good the way is, and when_reads() has its say. */
static bool low_at(struct look *look, int class)
{
	if (worst_class(look->row) != class || !gpu_is_low(look) || other_op_is_good(look) ||
	    nearer_is_no_faster(look))
		return false;
	look->sides = 0;
	for (int s = 0; s < GP_SIDES; s++)
		if (side_of(look->row, s) && class_of(side_of(look->row, s)) == class)
			look->sides |= SIDE(s);
	return true;
}

static bool when_sys(struct look *look)
{
	return low_at(look, CLASS_SYS);
}

static bool when_node(struct look *look)
{
	return low_at(look, CLASS_NODE);
}

static bool when_phb(struct look *look)
{
	return low_at(look, CLASS_PHB);
}

static void say_distance(const struct look *look, struct gp_diagnosis_line *line)
{
	say_place(look->row, look->sides, line);
}

/* RR, CR and UF send peer-to-peer traffic up to the root complex (NCCL's troubleshooting guide). */
static bool when_acs(struct look *look)
{
	return low_and(look, has_acs);
}

static void say_acs(const struct look *look, struct gp_diagnosis_line *line)
{
	FACTS(line, "; %s: ACS redirect on a bridge between GPU and NIC", sides_text(look->sides));
	say_place(look->row, look->sides, line);
}

static bool when_iommu(struct look *look)
{
	return low_and(look, has_iommu);
}

static void say_iommu(const struct look *look, struct gp_diagnosis_line *line)
{
	FACTS(line, "; %s: IOMMU translating for GPU or NIC", sides_text(look->sides));
}

/* A missing PCIe mapping is reason enough, and has its own rule. */
static bool when_paths_differ(struct look *look)
{
	double dmabuf = figure(look->row, GP_DIAGNOSE_DMABUF);
	double peermem = figure(look->row, GP_DIAGNOSE_PEERMEM);

	look->path = dmabuf < peermem ? GP_DIAGNOSE_DMABUF : GP_DIAGNOSE_PEERMEM;
	look->share = fmin(dmabuf, peermem) / fmax(dmabuf, peermem);
	if (look->path == GP_DIAGNOSE_DMABUF && sides_where(look->row, lacks_pcie_mapping))
		return false;
	return is_large(look) && known(dmabuf) && known(peermem) && look->share < FAR_BELOW;
}

static void say_paths_differ(const struct look *look, struct gp_diagnosis_line *line)
{
	const char *faster = path_names[best_path(look->row)];

	WHAT(line,
	     "%s is far below %s between the same devices: not the way, the registration differs",
	     path_names[look->path], faster);
	NEXT(line, "let the job use %s; compare what both registrations tell (bw -v)", faster);
}

static int rail_count(const struct gp_diagnose_row *row)
{
	return row->n_rails < GP_DIAGNOSE_RAILS_MAX ? row->n_rails : GP_DIAGNOSE_RAILS_MAX;
}

/* Unlike rails are compared by what they reach of their own limits, where all have one. */
static bool rails_have_limits(const struct gp_diagnose_row *row)
{
	for (int i = 0; i < rail_count(row); i++)
		if (!known(row->rails[i].limit))
			return false;
	return true;
}

/* GB/s, or the share of the rail's own limit; NaN where the rail has no figure. */
static double rail_value(const struct gp_diagnose_row *row, int index, bool by_limit)
{
	const struct gp_diagnose_rail *rail = &row->rails[index];

	if (!known(rail->gbytes_per_s))
		return NAN;
	return by_limit ? rail->gbytes_per_s / rail->limit : rail->gbytes_per_s;
}

/* Median over the rails but one. */
static double rail_others(const struct gp_diagnose_row *row, int but, bool by_limit)
{
	double values[GP_DIAGNOSE_RAILS_MAX];
	int n = 0;

	for (int i = 0; i < rail_count(row); i++)
		if (i != but && known(row->rails[i].gbytes_per_s))
			values[n++] = rail_value(row, i, by_limit);
	return n ? gp_median(values, n) : (double)NAN;
}

/* One of many, or few of many: where half and more are low, it is not the rail. */
static bool when_rail(struct look *look)
{
	const struct gp_diagnose_row *row = look->row;
	bool by_limit = rails_have_limits(row);
	int n = 0;

	look->share = FAR_BELOW;
	for (int i = 0; i < rail_count(row); i++) {
		double share = rail_value(row, i, by_limit) / rail_others(row, i, by_limit);

		n += known(row->rails[i].gbytes_per_s);
		look->low_rails += share < FAR_BELOW;
		if (share < look->share) {
			look->share = share;
			look->rail = i;
		}
	}
	return is_large(look) && look->low_rails &&
	       (look->low_rails == 1 || look->low_rails * 2 < n);
}

static void say_rail(const struct look *look, struct gp_diagnosis_line *line)
{
	const struct gp_diagnose_row *row = look->row;
	double value = row->rails[look->rail].gbytes_per_s;
	char rate[32], others[32];

	WHAT(line, "one rail is far below the others: %s", row->rails[look->rail].name);
	FACTS(line, "; rail %s GB/s, the median of the others %s",
	      gp_rate_write(value, rate, sizeof(rate)),
	      gp_rate_write(rail_others(row, look->rail, false), others, sizeof(others)));
	if (rails_have_limits(row))
		FACTS(line, "; %.0f %% of its limit, the others %.0f %%",
		      rail_value(row, look->rail, true) * 100,
		      rail_others(row, look->rail, true) * 100);
	FACTS(line, "; %d of %d rails low", look->low_rails, rail_count(row));
}

static double own_limit(const struct look *look)
{
	double host = figure(look->row, GP_DIAGNOSE_HOST);

	return known(host) ? host : best_figure(look->row);
}

/* The figure is near a limit that a trained-down link of a NIC makes. */
static bool when_nic_link(struct look *look)
{
	double limit = look->row->limit.gbytes_per_s, got = own_limit(look);

	look->sides = 0;
	look->path = known(figure(look->row, GP_DIAGNOSE_HOST)) ? GP_DIAGNOSE_HOST
								: best_path(look->row);
	look->share = of_limit(look, got);
	for (int s = 0; look->row->sides && s < GP_SIDES; s++) {
		const struct gp_diagnose_side *side = &look->row->sides[s];

		if (slow_link(&side->nic_link, &side->nic_narrowest, limit))
			look->sides |= SIDE(s);
	}
	return look->sides && is_large(look) && look->share >= NEAR_LIMIT && look->share <= 1 &&
	       strncmp(look->row->limit.bound_by, "PCIe link", 9) == 0;
}

static void say_nic_link(const struct look *look, struct gp_diagnosis_line *line)
{
	for (int s = 0; s < GP_SIDES; s++) {
		const struct gp_diagnose_side *side = &look->row->sides[s];
		const struct gp_diagnose_link *link;

		if (!(look->sides & SIDE(s)))
			continue;
		link = slow_link(&side->nic_link, &side->nic_narrowest,
				 look->row->limit.gbytes_per_s);
		say_link("NIC", link == &side->nic_link, s, link, line);
	}
}

/* The slower port binds, or is overrun by the faster one. */
static bool when_link_rate(struct look *look)
{
	const struct gp_diagnose_side *sides = look->row->sides;
	double client = sides ? sides[GP_CLIENT].nic_gbits_per_s : (double)NAN;
	double server = sides ? sides[GP_SERVER].nic_gbits_per_s : (double)NAN;

	look->sides = SIDE(client < server ? GP_CLIENT : GP_SERVER);
	look->path = known(figure(look->row, GP_DIAGNOSE_HOST)) ? GP_DIAGNOSE_HOST
								: best_path(look->row);
	look->share = of_limit(look, figure(look->row, look->path));
	if (!known(client) || !known(server) || fmax(client, server) <= fmin(client, server) ||
	    !is_large(look) || strcmp(look->row->limit.bound_by, "NIC rate") != 0)
		return false;
	return look->share >= NEAR_LIMIT || both_are_low(look);
}

static void say_link_rate(const struct look *look, struct gp_diagnosis_line *line)
{
	const struct gp_diagnose_side *sides = look->row->sides;

	WHAT(line, "the %s's port is the slower one, and %s", sides_text(look->sides),
	     look->share >= NEAR_LIMIT ? "all goes at its rate"
				       : "the faster one may overrun it or the switch before it");
	FACTS(line, "; client port %g Gb/s, server port %g Gb/s", sides[GP_CLIENT].nic_gbits_per_s,
	      sides[GP_SERVER].nic_gbits_per_s);
}

static bool when_mtu(struct look *look)
{
	int most = INT32_MAX;

	for (int s = 0; look->row->sides && s < GP_SIDES; s++)
		if (look->row->sides[s].mtu_max < most)
			most = look->row->sides[s].mtu_max;
	look->path = GP_DIAGNOSE_HOST;
	return look->row->sides && look->run->mtu > 0 && look->run->mtu < most &&
	       both_are_low(look);
}

static void say_mtu(const struct look *look, struct gp_diagnosis_line *line)
{
	const struct gp_diagnose_side *sides = look->row->sides;

	FACTS(line, "; active MTU %d, the ports can do %d and %d", look->run->mtu,
	      sides[GP_CLIENT].mtu_max, sides[GP_SERVER].mtu_max);
}

static bool when_roce_v1(struct look *look)
{
	look->path = GP_DIAGNOSE_HOST;
	return look->run->roce == GP_DIAGNOSE_ROCE_V1 && both_are_low(look);
}

static void say_roce_v1(const struct look *look, struct gp_diagnosis_line *line)
{
	(void)look;
	FACTS(line, "; GID type RoCE v1");
}

static bool when_one_qp(struct look *look)
{
	look->path = GP_DIAGNOSE_HOST;
	return look->run->qps == 1 && both_are_low(look);
}

static void say_one_qp(const struct look *look, struct gp_diagnosis_line *line)
{
	(void)look;
	FACTS(line, "; 1 QP");
}

static bool when_bounce(struct look *look)
{
	double gpu = best_figure(look->row), bounce = figure(look->row, GP_DIAGNOSE_BOUNCE);

	look->path = best_path(look->row);
	look->share = gpu / bounce;
	return is_large(look) && known(gpu) && known(bounce) && look->share <= 1 + ABOUT;
}

static void say_bounce(const struct look *look, struct gp_diagnosis_line *line)
{
	bool full = of_limit(look, best_figure(look->row)) >= NEAR_LIMIT;

	WHAT(line, "%s %s bounce: GPUDirect gains no bandwidth here", path_names[look->path],
	     look->share < 1 - ABOUT ? "is slower than" : "is about as fast as");
	FACTS(line, "; %.2f of bounce", look->share);
	if (full)
		NEXT(line, "nothing for bandwidth: both are near the limit; GPUDirect still spares "
			   "host memory and CPU");
	else
		NEXT(line,
		     "see why the direct path is not faster (gdrproof topo: class, links, "
		     "findings), with host measured beside it (--path host,%s,bounce)",
		     path_names[look->path]);
}

/* Where it is near the limit the wire binds, and nothing is low. */
static bool far_is_equal(struct look *look, enum gp_diagnose_path path)
{
	double near = figure(look->row, path), far = look->row->path[path].far;

	look->path = path;
	look->share = far / near;
	return about(near, far) && !(of_limit(look, near) >= NEAR_LIMIT);
}

static bool when_far(struct look *look)
{
	if (!is_large(look) || worst_class(look->row) == CLASS_SYS)
		return false;
	return far_is_equal(look, GP_DIAGNOSE_DMABUF) || far_is_equal(look, GP_DIAGNOSE_PEERMEM) ||
	       far_is_equal(look, GP_DIAGNOSE_HOST) || far_is_equal(look, GP_DIAGNOSE_BOUNCE);
}

static void say_far(const struct look *look, struct gp_diagnosis_line *line)
{
	char rate[32];

	FACTS(line, "; %s far %s GB/s, %.2f of near", path_names[look->path],
	      gp_rate_write(look->row->path[look->path].far, rate, sizeof(rate)), look->share);
}

/* Without host memory beside it nobody can tell the wire from the way to the GPU. */
static bool when_no_host(struct look *look)
{
	double gpu = best_figure(look->row);

	look->path = best_path(look->row);
	look->share = of_limit(look, gpu);
	return is_large(look) && look->share < FAR_BELOW &&
	       !known(figure(look->row, GP_DIAGNOSE_HOST)) &&
	       look->row->path[GP_DIAGNOSE_HOST].space == GP_SPACE_NONE;
}

#define ACS_OFF                                                                           \
	"switch ACS off in the BIOS, or clear ACSCtl with setpci on the bridges between " \
	"them (gdrproof topo names them); in a VM keep it and use ATS on the NIC"
#define NEARER_SLOT                                                                       \
	"take a NIC under the GPU's own PCIe switch (PIX or PXB) if gdrproof topo shows " \
	"one, or move the card to such a slot; else compare with bounce"

/* First what was seen to differ in one thing, then what is known to be set wrong, then where the
 * devices stand, then the wire, then what is only remarkable. */
static const struct rule rules[] = {
	{"peer-to-peer-reads", when_reads, say_reads, NULL, NULL},
	{"acs-refuses", when_acs_refuses, say_acs_refuses,
	 "ACS redirect on the client keeps the NIC from its GPU", ACS_OFF},
	{"rail-low", when_rail, say_rail, NULL,
	 "run that rail alone (--gpu, --nic): as fast as the others, then it shares an uplink with "
	 "one of them; as slow, then compare its class, PCIe link, cable and port with another's "
	 "(gdrproof topo)"},
	{"coherent-mapping", when_coherent, say_coherent,
	 "the dma-buf goes through the CPU's memory system, not straight over PCIe",
	 "CUDA 12.8 or higher, and GPU and NIC in one iommu_group, so that the PCIe mapping can be "
	 "had; on such NICs the Data Direct device"},
	{"gpu-link", when_gpu_link, say_gpu_link, "the PCIe link of the GPU runs below its maximum",
	 "read the link under load (an idle GPU lowers its speed); if it stays: reseat the card or "
	 "riser, look for the slot's width and speed in the BIOS"},
	{"relaxed-ordering-off", when_relaxed, say_relaxed,
	 "relaxed ordering is off: PCIe writes must pass one after the other",
	 "--relaxed-ordering on, which is the default; a job needs it too (NCCL: "
	 "NCCL_IB_PCI_RELAXED_ORDERING, UCX: UCX_IB_PCI_RELAXED_ORDERING)"},
	{"acs-redirect", when_acs, say_acs,
	 "ACS sends what goes from GPU to NIC up to the root complex and back", ACS_OFF},
	{"distance-sys", when_sys, say_distance,
	 "GPU and NIC stand on different NUMA nodes: between them is the link of sockets or dies "
	 "(SYS)",
	 "take a GPU and NIC of one node: gdrproof topo names the best NIC of each GPU (--nic, "
	 "--gpu and their --server- twins); --placement near,far measures the difference"},
	{"iommu-translating", when_iommu, say_iommu,
	 "the IOMMU translates what goes between GPU and NIC, through the root complex",
	 "boot with iommu=pt (type identity in /sys/bus/pci/devices/*/iommu_group/type), or switch "
	 "the IOMMU off"},
	{"distance-node", when_node, say_distance,
	 "GPU and NIC hang on different host bridges of one NUMA node (NODE): all crosses the CPU",
	 NEARER_SLOT},
	{"distance-phb", when_phb, say_distance,
	 "between GPU and NIC is the CPU's host bridge (PHB): peer-to-peer traffic may be slow "
	 "there",
	 NEARER_SLOT},
	{"gpu-paths-differ", when_paths_differ, say_paths_differ, NULL, NULL},
	{"nic-link", when_nic_link, say_nic_link,
	 "the limit itself is low: the PCIe link of a NIC runs below its maximum",
	 "reseat the NIC or take a slot with all lanes and its full speed; look for the slot's "
	 "width, bifurcation and speed in the BIOS"},
	{"link-rate", when_link_rate, say_link_rate, NULL,
	 "see whether cable, switch port and NIC allow more (ibstat, ethtool, mlxlink); between "
	 "unlike ports look at flow control (PFC, pause) and discards"},
	{"mtu", when_mtu, say_mtu,
	 "the active MTU is below what both ports can do: more packets for the same data",
	 "RoCE: raise the MTU of netdev and switch (4200 or 9000 for 4096); InfiniBand: the subnet "
	 "manager's partition MTU; with -m, leave it out"},
	{"roce-v1", when_roce_v1, say_roce_v1,
	 "the GID in use is RoCE v1, which switches neither route nor mark (no ECN)",
	 "take a RoCE v2 GID with -x: /sys/class/infiniband/NIC/ports/PORT/gid_attrs/types/ tells "
	 "which is which"},
	{"one-qp", when_one_qp, say_one_qp,
	 "one QP may not fill this link: it is one flow for the NIC and for the network",
	 "-q 4: if that is faster, a job needs several QPs as well (NCCL: "
	 "NCCL_IB_QPS_PER_CONNECTION); if not, look at congestion and the peer"},
	{"bounce-equal", when_bounce, say_bounce, NULL, NULL},
	{"far-equal", when_far, say_far,
	 "far is as fast as near: the link between sockets is not what binds",
	 "leave the placement as it is and look at what both have in common: NIC, wire, peer, "
	 "number of QPs"},
	{"host-not-measured", when_no_host, NULL,
	 "wire or way to the GPU: which of them binds can't be told, host was not measured",
	 "the same once more with --path host beside the others"},
};

#define N_RULES ((int)(sizeof(rules) / sizeof(rules[0])))

const char *gp_diagnose_rule(int index)
{
	return index >= 0 && index < N_RULES ? rules[index].id : NULL;
}

int gp_diagnose_path_find(const char *name)
{
	for (int p = 0; p < GP_DIAGNOSE_PATHS; p++)
		if (strcmp(name, path_names[p]) == 0)
			return p;
	return -1;
}

void gp_diagnose_side_init(struct gp_diagnose_side *side)
{
	*side = (struct gp_diagnose_side){
		.gpu_node = -1,
		.nic_node = -1,
		.acs_redirect = GP_DIAGNOSE_UNKNOWN,
		.iommu_translating = GP_DIAGNOSE_UNKNOWN,
		.coherent = GP_DIAGNOSE_UNKNOWN,
		.pcie_mapping = GP_DIAGNOSE_UNKNOWN,
		.client_chipset = GP_DIAGNOSE_UNKNOWN,
		.nic_gbits_per_s = NAN,
	};
}

void gp_diagnose_row_init(struct gp_diagnose_row *row)
{
	*row = (struct gp_diagnose_row){.op = "", .placement = "", .limit = {.gbytes_per_s = NAN}};
	for (int p = 0; p < GP_DIAGNOSE_PATHS; p++)
		row->path[p] = (struct gp_diagnose_figure){.gbytes_per_s = NAN, .far = NAN};
}

void gp_diagnose_run_init(struct gp_diagnose_run *run)
{
	*run = (struct gp_diagnose_run){.relaxed_ordering = GP_DIAGNOSE_UNKNOWN,
					.roce = GP_DIAGNOSE_UNKNOWN};
}

static const struct gp_diagnose_row *find_other_op(const struct gp_diagnose_run *run,
						   const struct gp_diagnose_row *row)
{
	for (int i = 0; i < run->n_rows; i++) {
		const struct gp_diagnose_row *other = &run->rows[i];

		if (strcmp(other->op, row->op) != 0 && other->size == row->size &&
		    other->two_way == row->two_way && strcmp(other->placement, row->placement) == 0)
			return other;
	}
	return NULL;
}

/* Of the rows that carry the rule the worst. */
static bool rule_find(const struct rule *rule, const struct gp_diagnose_run *run,
		      struct look *worst)
{
	bool any = false;

	for (int i = 0; i < run->n_rows; i++) {
		struct look look = {.run = run, .row = &run->rows[i]};

		look.other = find_other_op(run, look.row);
		if (!rule->when(&look) || (any && !(look.share < worst->share)))
			continue;
		*worst = look;
		any = true;
	}
	return any;
}

static void rule_write(const struct rule *rule, const struct look *look,
		       struct gp_diagnosis_line *line)
{
	line->id = rule->id;
	if (rule->what)
		WHAT(line, "%s", rule->what);
	if (rule->next)
		NEXT(line, "%s", rule->next);
	say_figures(look, line);
	if (rule->say)
		rule->say(look, line);
}

void gp_diagnose(const struct gp_diagnose_run *run, struct gp_diagnosis *diagnosis)
{
	struct look look;

	memset(diagnosis, 0, sizeof(*diagnosis));
	for (int r = 0; r < N_RULES && diagnosis->n < GP_DIAGNOSIS_MAX; r++) {
		struct gp_diagnosis_line *line = &diagnosis->line[diagnosis->n];

		if (!rule_find(&rules[r], run, &look))
			continue;
		rule_write(&rules[r], &look, line);
		diagnosis->n++;
	}
}
