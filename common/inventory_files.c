/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_files: files and tools that are a fact by being there or not: what `cat` and `ls` of
 * them print, "No such file or directory", "command not found". A row of `file_rows` is a path and
 * its fact.
 */
#include "inventory_text.h"

#include <ctype.h>
#include <string.h>

#define MESSAGE_LINES_MAX 5000 /* longer output is a log: its lines are no shell's messages */

/* Files whose being there, or whose one line, is a fact. A trailing slash: anything below. */
static const struct file_row {
	const char *path;
	enum gp_fact_id id;
	bool valued; /* the first line is the value */
} file_rows[] = {
	{"/proc/driver/nvidia/version", GP_FACT_DRIVER, false},
	{"/sys/module/nvidia/version", GP_FACT_DRIVER, true},
	{"/sys/module/nvidia_peermem", GP_FACT_PEERMEM, false},
	{"/sys/module/nv_peer_mem", GP_FACT_NV_PEER_MEM, false},
	{"/sys/module/mlx5_core/version", GP_FACT_OFED_MODULES, true},
	{"/sys/kernel/mm/memory_peers", GP_FACT_MEMORY_PEERS, false},
	{"/sys/class/infiniband", GP_FACT_RDMA, false},
	{"/sys/module/nvidia_fs/version", GP_FACT_NVIDIA_FS, true},
	{"/usr/bin/ofed_info", GP_FACT_OFED, false},
	{"/proc/sys/kernel/osrelease", GP_FACT_KERNEL, true},
};
#define N_FILE_ROWS (sizeof(file_rows) / sizeof(file_rows[0]))

static const struct file_row *file_row_in(const char *text)
{
	for (size_t i = 0; i < N_FILE_ROWS; i++)
		if (strstr(text, file_rows[i].path))
			return &file_rows[i];
	return NULL;
}

/* nv_peer_mem and the module's files prove that it is loaded; a client under memory_peers, too. */
static void note_file(const struct gp_reading *reading, const struct file_row *row,
		      const char *path, const struct gp_line *line)
{
	char value[100] = "";

	if (row->valued)
		snprintf(value, sizeof(value), "%.99s", gp_trimmed(line->text));
	gp_reading_note(reading, row->id, GP_YES, GP_RANK_DIRECT, value, line);
	if (strstr(path, "memory_peers/nv_mem"))
		gp_reading_note(reading, GP_FACT_PEERMEM, GP_YES, GP_RANK_INDIRECT, NULL, line);
}

void gp_files_cat(const struct gp_reading *reading)
{
	const struct gp_line *line = gp_segment_first_line(reading->segment);
	const struct gp_stage *stage = &reading->part->stage[0];

	for (int i = 1; i < stage->n; i++) {
		const struct file_row *row = file_row_in(stage->word[i]);

		if (row && line && row->id != GP_FACT_DRIVER && row->id != GP_FACT_RDMA &&
		    !gp_says_no_such_file(line->text) && !strchr(line->text, ':'))
			note_file(reading, row, stage->word[i], line);
		else if (row && row->valued && line &&
			 isdigit((unsigned char)*gp_trimmed(line->text)))
			note_file(reading, row, stage->word[i], line);
	}
}

/* Names that `ls` prints, several a line or one with details ("... mlx5_0 -> ../../devices"). */
static void list_infiniband(const struct gp_reading *reading, const struct gp_line *line)
{
	char copy[512], *word, *rest = copy;
	const char *arrow = strstr(line->text, " -> ");
	bool details = line->text[0] == 'l' || line->text[0] == 'd' || arrow;

	if (strchr(line->text, ':') && !arrow)
		return;
	snprintf(copy, sizeof(copy), "%.*s", arrow ? (int)(arrow - line->text) : 500, line->text);
	if (details && strrchr(copy, ' '))
		rest = strrchr(copy, ' ') + 1;
	if (strncmp(copy, "total", 5) == 0)
		return;
	while ((word = strtok_r(rest, " \t", &rest))) {
		struct gp_origin where = {reading->source, line->text, line->number};

		gp_inventory_nic(reading->inv, word, NULL, &where);
	}
}

void gp_files_ls(const struct gp_reading *reading)
{
	const struct gp_stage *stage = &reading->part->stage[0];
	const struct gp_segment *segment = reading->segment;

	for (int i = 1; i < stage->n; i++) {
		const char *path = stage->word[i];
		const struct file_row *row = file_row_in(path);

		for (int j = 0; row && j < segment->n; j++) {
			const struct gp_line *line = &segment->lines[j];

			if (gp_is_blank(line->text) || gp_says_no_such_file(line->text))
				continue;
			if (row->id == GP_FACT_RDMA)
				list_infiniband(reading, line);
			else if (!strchr(line->text, ':') || strstr(line->text, path))
				gp_reading_note(reading, row->id, GP_YES, GP_RANK_DIRECT, NULL,
						line);
		}
	}
}

/* --- what is not there --- */

/* Tools that come with what they ask about: without the tool, it is not there either. */
static const struct {
	const char *tool;
	enum gp_fact_id id;
	enum gp_rank rank;
} proofs[] = {
	{"ofed_info", GP_FACT_OFED, GP_RANK_DIRECT},
};

void gp_files_messages(const struct gp_reading *reading)
{
	const struct gp_segment *segment = reading->segment;
	const char *command = segment->command ? segment->command : "";
	int look = segment->n <= MESSAGE_LINES_MAX ? segment->n : 5;

	for (int i = 0; i < look; i++) {
		const struct gp_line *line = &segment->lines[i];
		const struct file_row *row = file_row_in(line->text);

		if (segment->inside)
			return; /* a container has its own files and tools */
		if (row && gp_says_no_such_file(line->text)) {
			/* one client's directory less is not all of them */
			gp_reading_note(reading, row->id, GP_NO,
					row->id == GP_FACT_MEMORY_PEERS ? GP_RANK_INDIRECT
									: GP_RANK_DIRECT,
					NULL, line);
			continue;
		}
		for (size_t p = 0; p < sizeof(proofs) / sizeof(proofs[0]); p++) {
			bool named = gp_has_word(line->text, proofs[p].tool);
			/* "(command not found)" alone is about the command above it */
			bool above =
				!named && segment->n <= 4 && gp_has_word(command, proofs[p].tool);

			if ((named || above) && (gp_says_command_not_found(line->text) ||
						 gp_says_no_such_file(line->text)))
				gp_reading_note(reading, proofs[p].id, GP_NO, proofs[p].rank, NULL,
						line);
		}
	}
}
