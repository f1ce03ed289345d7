/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_record: any bytes as a record. What is taken from them must be within limits, without
 * control characters, and the same after being written and read again; what is refused has its one
 * line.
 */
#include "record_read.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_clean(const char *text)
{
	for (; *text; text++)
		require((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void use(const struct gp_record *record)
{
	json_t *once = gp_record_to_json(record), *twice;
	struct gp_record again;
	struct gp_error err = {0};

	for (int i = 0; i < record->n_cells; i++) {
		const struct gp_cell *cell = &record->cells[i];

		require(cell->n_rounds <= GP_ROUNDS_MAX && cell->facts.n <= GP_FACTS_MAX);
		require_clean(cell->path);
		require_clean(cell->reason);
	}
	require_clean(record->tool);
	require(gp_record_from_json(once, &again, &err) == 0);
	twice = gp_record_to_json(&again);
	require(json_equal(once, twice));
	gp_record_free(&again);
	json_decref(once);
	json_decref(twice);
}

/* The way from a file, with the evidence passed over: what the whole reader takes, it takes too. */
static void read_figures(const uint8_t *data, size_t size, bool expected)
{
	int fd = memfd_create("record", 0);
	struct gp_record record;
	struct gp_error err = {0};
	char path[40];

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (gp_record_read_figures(path, &record, &err) == 0)
		gp_record_free(&record);
	else
		require(err.set && !expected);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gp_record record;
	struct gp_error err = {0};
	json_error_t why;
	json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &why);

	if (!json) {
		read_figures(data, size, false);
		return 0;
	}
	if (gp_record_from_json(json, &record, &err) == 0) {
		read_figures(data, size, true);
		use(&record);
		gp_record_free(&record);
	} else {
		require(err.set && err.fact[0]);
		require_clean(err.fact);
		require(record.cells == NULL);
		read_figures(data, size, false);
	}
	json_decref(json);
	return 0;
}
