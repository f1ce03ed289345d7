/* SPDX-License-Identifier: BSD-2-Clause */
/* prerequisite: see prerequisite.h. */
#include "prerequisite.h"
#include "classify.h"
#include "inventory.h"

#include <string.h>

bool gp_prerequisite_missing(const char *path, char *text, size_t size)
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
