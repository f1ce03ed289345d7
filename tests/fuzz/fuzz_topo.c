/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_topo: any bytes as a topology text (hwloc XML, NCCL dump, nvidia-smi topo -m), and what is
 * made from it: JSON, drawing, findings. One entry point, for libFuzzer and for replaying a corpus.
 */
#include "topo.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct gp_topo *topo)
{
	struct gp_topo_pick pick;
	char *text = NULL, cpus[64];
	size_t len;
	FILE *out = open_memstream(&text, &len);

	json_decref(gp_topo_to_json(topo));
	if (out) {
		gp_topo_to_dot(topo, out);
		fclose(out);
	}
	free(text);
	for (int g = 0; gp_topo_gpu(topo, g); g++) {
		gp_topo_pick_nic(topo, g, &pick);
		gp_topo_cpus(topo, gp_topo_gpu(topo, g)->bdf, cpus, sizeof(cpus));
	}
	for (int n = 0; gp_topo_nic(topo, n); n++)
		gp_topo_pick_gpu(topo, n, &pick);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_topo *topo = NULL;
	struct gp_error err = {0};
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	if (gp_topo_open_text(text, size, &topo, &err) == 0) {
		use(topo);
		gp_topo_gpu_name(topo, "0000:18:00.0", 0, "x");
		use(topo);
	}
	gp_topo_close(topo);
	free(text);
	return 0;
}
