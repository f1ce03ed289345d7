/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options_manual: the manual pages, made from the rows that --help is made from. Macros and escapes
 * are those of man(7) and groff_char(7). No word of a single option stands here.
 */
#include "options.h"

#include <ctype.h>
#include <string.h>

#define TITLE_MAX 64

/*
 * `len` bytes of text as they are: roff must take nothing for a request or an escape, and print no
 * typographic form, so that what is copied from a page can be typed.
 */
static void put_part(FILE *out, const char *text, size_t len)
{
	if (len && text[0] == '.')
		fputs("\\&", out);
	for (size_t i = 0; i < len; i++) {
		switch (text[i]) {
		case '\\':
			fputs("\\e", out);
			break;
		case '-':
			fputs("\\-", out);
			break;
		case '\'':
			fputs("\\(aq", out);
			break;
		case '"':
			fputs("\\(dq", out);
			break;
		case '`':
			fputs("\\(ga", out);
			break;
		case '^':
			fputs("\\(ha", out);
			break;
		case '~':
			fputs("\\(ti", out);
			break;
		default:
			fputc(text[i], out);
		}
	}
}

static void put(FILE *out, const char *text)
{
	put_part(out, text, strlen(text));
}

/* In a font: B or I. */
static void put_in(FILE *out, char font, const char *text)
{
	fprintf(out, "\\f%c", font);
	put(out, text);
	fputs("\\fR", out);
}

/* "gdrproof-bw", "gdrproof": what a page is called. */
static const char *page_name(const struct gp_option_table *table, char *buf, size_t size)
{
	snprintf(buf, size, "gdrproof%s%s", table->command[0] ? "-" : "", table->command);
	return buf;
}

static void put_title(FILE *out, const struct gp_program *program,
		      const struct gp_option_table *table)
{
	char name[TITLE_MAX], title[TITLE_MAX];
	size_t i;

	page_name(table, name, sizeof(name));
	for (i = 0; name[i]; i++)
		title[i] = (char)toupper((unsigned char)name[i]);
	title[i] = '\0';
	fputs(".TH ", out);
	put(out, title);
	fputs(" 1 \"\" \"gdrproof ", out);
	put(out, program->version);
	/* No hyphens of groff's own: a name that is broken by one can't be copied. */
	fputs("\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n", out);
	put(out, name);
	fputs(" \\- ", out);
	put(out, table->summary);
	fputc('\n', out);
}

static void put_synopsis(FILE *out, const struct gp_option_table *table)
{
	fputs(".SH SYNOPSIS\n\\fBgdrproof\\fR ", out);
	if (table->command[0]) {
		put_in(out, 'B', table->command);
		fputs(" [\\fIoptions\\fR] ", out);
	}
	if (table->arguments[0])
		put_in(out, 'I', table->arguments);
	fputc('\n', out);
}

/* Lines that begin with a blank are a table and stay as they are; others are filled. */
static void put_details(FILE *out, const char *text)
{
	bool as_is = false;

	while (*text) {
		size_t len = strcspn(text, "\n");
		bool indented = text[0] == ' ';

		if (indented != as_is)
			fputs(indented ? ".nf\n" : ".fi\n", out);
		as_is = indented;
		if (len == 0)
			fputs(".PP", out);
		put_part(out, text, len);
		fputc('\n', out);
		text += len + (text[len] == '\n');
	}
	if (as_is)
		fputs(".fi\n", out);
}

static void put_description(FILE *out, const struct gp_option_table *table)
{
	fputs(".SH DESCRIPTION\n", out);
	put_details(out, table->details ? table->details : table->summary);
}

static void put_row(FILE *out, const struct gp_option *row)
{
	bool has_default = row->def && row->type != GP_OPT_FLAG;
	bool is_list = row->type == GP_OPT_CHOICES;
	char letter[] = {'-', row->letter, '\0'};
	char takes[160];

	fputs(".TP\n", out);
	if (row->letter) {
		put_in(out, 'B', letter);
		fputs(", ", out);
	}
	fputs("\\fB\\-\\-", out);
	put(out, row->name);
	fputs("\\fR", out);
	if (row->arg) {
		fputc(' ', out);
		put_in(out, 'I', row->arg);
	}
	fputc('\n', out);
	put(out, row->help);
	fputc('\n', out);
	gp_option_takes(row, takes, sizeof(takes));
	if (takes[0] || has_default)
		fputs(".br\n", out);
	if (takes[0]) {
		fputs(is_list ? "A list of: " : row->choices ? "One of: " : "Range: ", out);
		put(out, takes);
		fputs(".\n", out);
	}
	if (has_default) {
		fputs("Default: ", out);
		put(out, row->def);
		fputs(".\n", out);
	}
}

static void put_options(FILE *out, const struct gp_option_table *table)
{
	fputs(".SH OPTIONS\n", out);
	for (const struct gp_option *row = table->rows; row->name; row++)
		put_row(out, row);
	put_row(out, &gp_option_help);
}

static void put_commands(FILE *out, const struct gp_program *program)
{
	char name[TITLE_MAX];

	fputs(".SH COMMANDS\n", out);
	for (int i = 0; program->commands[i]; i++) {
		fputs(".TP\n", out);
		put_in(out, 'B', page_name(program->commands[i], name, sizeof(name)));
		fputs("(1)\n", out);
		put(out, program->commands[i]->summary);
		fputc('\n', out);
	}
}

static void put_exit_status(FILE *out)
{
	fputs(".SH \"EXIT STATUS\"\n", out);
	for (int code = GP_EXIT_OK; code <= GP_EXIT_WRONG; code++) {
		fprintf(out, ".TP\n\\fB%d\\fR\n", code);
		put(out, gp_exit_text((enum gp_exit)code));
		fputc('\n', out);
	}
}

static void put_see_also(FILE *out, const struct gp_program *program,
			 const struct gp_option_table *page)
{
	const struct gp_option_table *other = program->own;
	const char *before = "";
	char name[TITLE_MAX];

	fputs(".SH \"SEE ALSO\"\n", out);
	for (int i = 0; other; other = program->commands[i++]) {
		if (other == page)
			continue;
		fputs(before, out);
		put_in(out, 'B', page_name(other, name, sizeof(name)));
		fputs("(1)", out);
		before = ",\n";
	}
	fputc('\n', out);
}

void gp_options_manual(const struct gp_program *program, const struct gp_option_table *table,
		       FILE *out)
{
	put_title(out, program, table);
	put_synopsis(out, table);
	put_description(out, table);
	if (table == program->own)
		put_commands(out, program);
	put_options(out, table);
	put_exit_status(out);
	put_see_also(out, program, table);
}
