/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_text: a pasted text as commands and what they printed. Internal to inventory*.c.
 *
 * A segment is one command line with the lines below it, on one host. What a segment's lines mean
 * is for inventory_tools (by command) and inventory_shapes (by the line alone).
 */
#ifndef GP_INVENTORY_TEXT_H
#define GP_INVENTORY_TEXT_H

#include "inventory.h"

#include <string.h>

struct gp_line {
	char *text; /* without newline, colours and carriage returns; into the text's own bytes */
	int number;
};

struct gp_segment {
	char *command; /* as typed, without prompt; NULL: no command is known */
	int command_number;
	char host[64];	 /* from the prompt or a header; empty: not told */
	char target[80]; /* container, pod or ssh host that it ran on; empty: the prompt's host */
	bool inside;	 /* in a container: what is not there may be there outside */
	bool closed;	 /* another prompt follows: the output is whole, even where empty */
	bool elided;	 /* somebody cut lines out ("...") */
	struct gp_line *lines;
	int n, capacity;
};

struct gp_segments {
	struct gp_segment *item;
	int n, capacity;
};

/*
 * Clean the text in place (CRLF, ANSI, quoting by mail, UTF-16) and cut it. `command`, where not
 * NULL, printed the first lines. Returns 0, -1 where it is binary. The segments point into `text`.
 */
int gp_segments_read(char *text, size_t length, const char *command, struct gp_segments *out);
void gp_segments_close(struct gp_segments *segments);

/* --- one command line, taken apart --- */

#define GP_WORDS_MAX  48
#define GP_STAGES_MAX 6
#define GP_PARTS_MAX  8

/* "lsmod" "|" "grep -i nvidia": each stage its words. */
struct gp_stage {
	char **word;
	int n;
};
struct gp_pipeline {
	struct gp_stage stage[GP_STAGES_MAX];
	int n;
};

/* A command line: pipelines between ; and &&, wrappers such as sudo, ssh, docker exec removed. */
struct gp_command {
	char buf[1500];
	char *word[GP_WORDS_MAX + 1];
	struct gp_pipeline part[GP_PARTS_MAX];
	int n;
	char target[80]; /* see gp_segment */
	bool inside;
	bool prefixed; /* pdsh and the like: each line of output begins with "HOST: " */
};

void gp_command_read(const char *text, struct gp_command *command);

bool gp_pipeline_is_grep(const struct gp_pipeline *pipeline);

/* True where the filters behind the first stage (grep, head, …) would let `sample` through. */
bool gp_pipeline_shows(const struct gp_pipeline *pipeline, const char *sample);

/* --- small words about lines --- */

static inline const char *gp_trimmed(const char *text)
{
	return text + strspn(text, " \t");
}

static inline bool gp_is_blank(const char *text)
{
	return *gp_trimmed(text) == '\0';
}

/* The first line that is not blank, or NULL. */
const struct gp_line *gp_segment_first_line(const struct gp_segment *segment);

/* --- who knows what --- */

/* What a reader works on: one segment and, where it is known, the pipeline that printed it. */
struct gp_reading {
	struct gp_inventory *inv;
	const struct gp_segment *segment;
	const struct gp_pipeline *part; /* NULL: no command is known */
	const char *source;		/* how its lines are cited */
};

/* Set a fact from a line of the segment. */
void gp_reading_note(const struct gp_reading *reading, enum gp_fact_id id, enum gp_known known,
		     enum gp_rank rank, const char *value, const struct gp_line *line);

/* True where `text` reads as a command line of a known tool, without a prompt to tell. */
bool gp_tool_is_command(const char *text);

/* A captured file's name as the command that prints it: "ofed_info_-s.txt" is "ofed_info -s",
 * "proc/modules" is "cat /proc/modules". False where the name is not known. */
bool gp_tool_from_file(const char *path, char *command, size_t size);

/* Facts that depend on the command: what it could have printed and did not. */
void gp_tools_read(struct gp_inventory *inv, const struct gp_segment *segment, const char *source);

/* Facts of lines that tell by their own shape what they are. */
void gp_shapes_read(struct gp_inventory *inv, const struct gp_segment *segment, const char *source);

/* Files and tools that are there or not: as `cat` and `ls` print them, and as a shell says it. */
void gp_files_cat(const struct gp_reading *reading);
void gp_files_ls(const struct gp_reading *reading);
void gp_files_messages(const struct gp_reading *reading);

/* One row of lsmod or /proc/modules; `users` is the last column, empty where there is none. */
bool gp_module_row(const char *line, char *name, size_t size, const char **users);

/* "5.15.0-118-generic", cut from the word at `text`; false where it is no kernel release. */
bool gp_kernel_word(const char *text, char *release, size_t size);

/* How systems say it, in many languages; see inventory_words.c. */
bool gp_says_command_not_found(const char *line);
bool gp_says_no_such_file(const char *line);

/* True where `word` stands in `line` between characters that are no part of a name. */
bool gp_has_word(const char *line, const char *word);

bool gp_is_container_id(const char *name);

/* True where `name` runs another command: sudo, ssh, kubectl. */
bool gp_command_is_wrapper(const char *name);

#endif
