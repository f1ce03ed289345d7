/* SPDX-License-Identifier: BSD-2-Clause */
/* here: see here.h. */
#include "here.h"
#include "classify.h"

#include <string.h>

/* --- CUDA's own answers --- */

static void cuda_note(struct gp_inventory *inv, enum gp_fact_id id, enum gp_known known,
		      const char *value, const char *source, const char *line)
{
	gp_inventory_set(inv, id, known, GP_RANK_KERNEL, value,
			 &(struct gp_origin){source, line, 0});
}

static void note_version(struct gp_inventory *inv, enum gp_fact_id id, int version,
			 const char *source)
{
	char value[32], line[80];

	if (version == 0)
		return;
	snprintf(value, sizeof(value), "%d.%d", version / 1000, version % 1000 / 10);
	snprintf(line, sizeof(line), "%s: %d", source, version);
	cuda_note(inv, id, GP_YES, value, source, line);
}

static void note_gpu(struct gp_inventory *inv, const struct gp_gpu *gpu)
{
	char line[160], bytes[32];

	snprintf(line, sizeof(line), "GPU %d: %s", gpu->ordinal, gpu->name);
	gp_inventory_gpu(inv, gpu->name, &(struct gp_origin){"cuDeviceGetName", line, 0});
	snprintf(line, sizeof(line), "GPU %d %s: attribute 124 (dma-buf) is %d", gpu->ordinal,
		 gpu->name, gpu->dma_buf);
	if (gpu->dma_buf >= 0)
		cuda_note(inv, GP_FACT_DMABUF, gpu->dma_buf ? GP_YES : GP_NO, NULL,
			  "cuDeviceGetAttribute", line);
	snprintf(line, sizeof(line), "GPU %d %s: attribute 116 (GPUDirect RDMA) is %d",
		 gpu->ordinal, gpu->name, gpu->gdr);
	/* one GPU that can is enough for a path */
	if (gpu->gdr >= 0 && inv->facts[GP_FACT_GPU_GDR].known != GP_YES)
		cuda_note(inv, GP_FACT_GPU_GDR, gpu->gdr ? GP_YES : GP_NO, NULL,
			  "cuDeviceGetAttribute", line);
	snprintf(line, sizeof(line), "GPU %d %s: attribute 100 (host page tables) is 1",
		 gpu->ordinal, gpu->name);
	if (gpu->host_page_tables == 1)
		cuda_note(inv, GP_FACT_COHERENT, GP_YES, NULL, "cuDeviceGetAttribute", line);
	if (gpu->bar1_total_bytes) {
		snprintf(bytes, sizeof(bytes), "%llu MiB",
			 (unsigned long long)(gpu->bar1_total_bytes >> 20));
		cuda_note(inv, GP_FACT_BAR1, GP_YES, bytes, "nvmlDeviceGetBAR1MemoryInfo", bytes);
	}
}

int gp_here_read(struct gp_inventory *inv, bool with_commands, const struct gp_here_cuda *cuda,
		 struct gp_error *err)
{
	if (gp_inventory_live(inv, with_commands, err) < 0)
		return -1;
	note_version(inv, GP_FACT_CUDA_TOOLKIT, cuda->versions.runtime, "cudaRuntimeGetVersion");
	note_version(inv, GP_FACT_CUDA_DRIVER, cuda->versions.driver, "cuDriverGetVersion");
	for (int i = 0; i < cuda->n_gpus; i++)
		note_gpu(inv, &cuda->gpus[i]);
	return 0;
}

bool gp_here_missing(const char *path, char *text, size_t size)
{
	static const enum gp_path_id paths[] = {GP_PATH_DMABUF, GP_PATH_PEERMEM};
	struct gp_inventory inv = {0};
	struct gp_error ignored = {0};
	bool missing = false;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (strcmp(gp_path_word(paths[i]), path) != 0)
			continue;
		if (gp_inventory_live(&inv, false, &ignored) == 0)
			missing = gp_classify_missing(&inv, paths[i], text, size);
		gp_inventory_close(&inv);
	}
	return missing;
}

/* --- for the record --- */

static json_t *driver_text(const struct gp_inventory *inv)
{
	const struct gp_host_fact *open = &inv->facts[GP_FACT_OPEN];
	const struct gp_host_fact *driver = &inv->facts[GP_FACT_DRIVER];

	if (open->known != GP_UNKNOWN)
		return json_sprintf("%s %s", open->known == GP_YES ? "open" : "proprietary",
				    open->value);
	if (driver->known == GP_UNKNOWN)
		return json_null();
	return json_string(driver->known == GP_YES ? driver->value : "none");
}

static json_t *ofed_text(const struct gp_inventory *inv)
{
	const struct gp_host_fact *ofed = &inv->facts[GP_FACT_OFED];

	if (ofed->known == GP_UNKNOWN)
		return json_null();
	return json_string(ofed->known == GP_YES ? ofed->value : "none");
}

/* What of a node of path.schema.json goes into the record of a run. */
static json_t *cut_node(const json_t *node, const struct gp_inventory *inv)
{
	static const char *const members[] = {"path", "confidence", "conditions", "decided_by",
					      "prerequisites"};
	json_t *json = json_object();

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		json_object_set(json, members[i], json_object_get(node, members[i]));
	json_object_set_new(json, "driver", driver_text(inv));
	json_object_set_new(json, "ofed", ofed_text(inv));
	return json;
}

json_t *gp_here_describe(const struct gp_here_cuda *cuda)
{
	struct gp_fleet fleet = {0};
	struct gp_fleet_verdict verdict = {0};
	struct gp_inventory *inv = gp_fleet_add(&fleet);
	struct gp_error ignored = {0};
	json_t *all, *json = NULL;

	if (inv && gp_here_read(inv, false, cuda, &ignored) == 0 &&
	    gp_classify_fleet(&fleet, &verdict) == 0) {
		all = gp_classify_to_json(&fleet, &verdict);
		json = cut_node(json_array_get(json_object_get(all, "nodes"), 0), inv);
		json_decref(all);
	}
	gp_fleet_verdict_close(&verdict);
	gp_fleet_close(&fleet);
	return json;
}
