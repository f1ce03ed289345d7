/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_inventory: any bytes as a pasted transcript, judged and written as the record. The first
 * byte chooses whether the text is a captured file of some command.
 */
#include "classify.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const char *const commands[] = {
	NULL,	   "lsmod",	  "uname -a", "nvidia-smi -q",
	"modinfo", "ibv_devices", "dmesg",    "ls /sys/class/infiniband"};

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct gp_fleet_verdict verdict;
	struct gp_fleet fleet = {0};
	struct gp_inventory *node = gp_fleet_add(&fleet);
	char *text = malloc(size + 1);
	size_t kind = size ? data[0] % 32 : 0;

	if (!text || !node)
		abort();
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	gp_inventory_text(&fleet, node, "fuzz",
			  kind < sizeof(commands) / sizeof(commands[0]) ? commands[kind] : NULL,
			  text, size);
	free(text);
	gp_fleet_settle(&fleet);
	if (gp_classify_fleet(&fleet, &verdict) == 0) {
		json_t *json = gp_classify_to_json(&fleet, &verdict);

		free(json_dumps(json, JSON_COMPACT));
		json_decref(json);
		gp_fleet_verdict_close(&verdict);
	}
	gp_fleet_close(&fleet);
	return 0;
}
