/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options: see options.h. A type is one row of `types`: how it reads, how it writes. The words of a
 * command line are split by getopt_long, whose table is made from the rows.
 */
#include "options.h"
#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROWS_MAX 64 /* bits of gp_option_mask */

/* Each returns 0, or -1 with `why` filled. */
typedef int read_fn(const struct gp_option *row, const char *text, void *member, char *why,
		    size_t why_size);
typedef void write_fn(const struct gp_option *row, const void *member, char *buf, size_t size);

static void range_text(const struct gp_option *row, char *buf, size_t size)
{
	char lo[32], hi[32];

	if (row->type == GP_OPT_SIZE || row->type == GP_OPT_SIZES) {
		gp_size_write((uint64_t)row->min, lo, sizeof(lo));
		gp_size_write((uint64_t)row->max, hi, sizeof(hi));
	} else {
		snprintf(lo, sizeof(lo), "%g", row->min);
		snprintf(hi, sizeof(hi), "%.10g", row->max);
	}
	snprintf(buf, size, "%s to %s%s%s", lo, hi, row->zero_word ? ", or " : "",
		 row->zero_word ? row->zero_word : "");
}

char *gp_option_takes(const struct gp_option *row, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; row->choices && row->choices[i] && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 row->choices[i]);
	if (row->type == GP_OPT_INT || row->type == GP_OPT_REAL || row->type == GP_OPT_SIZE ||
	    row->type == GP_OPT_SIZES)
		range_text(row, buf, size);
	return buf;
}

static void say_takes(const struct gp_option *row, const char *verb, char *why, size_t size)
{
	char takes[160];

	snprintf(why, size, "%s %s", verb, gp_option_takes(row, takes, sizeof(takes)));
}

static int read_flag(const struct gp_option *row, const char *text, void *member, char *why,
		     size_t why_size)
{
	(void)row;
	if (strcmp(text, "on") != 0 && strcmp(text, "off") != 0) {
		snprintf(why, why_size, "is on or off");
		return -1;
	}
	*(bool *)member = strcmp(text, "on") == 0;
	return 0;
}

static void write_flag(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	(void)row;
	snprintf(buf, size, "%s", *(const bool *)member ? "on" : "off");
}

static int read_real_value(const struct gp_option *row, const char *text, double *out, char *why,
			   size_t why_size)
{
	char *end;
	double value = strtod(text, &end);

	say_takes(row, "takes", why, why_size);
	if (end == text || *end != '\0' || !isfinite(value) || value < row->min || value > row->max)
		return -1;
	*out = value;
	return 0;
}

static int read_real(const struct gp_option *row, const char *text, void *member, char *why,
		     size_t why_size)
{
	return read_real_value(row, text, member, why, why_size);
}

static void write_real(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	(void)row;
	double value = *(const double *)member;

	/* As short as reads back exactly. */
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
}

static int read_int(const struct gp_option *row, const char *text, void *member, char *why,
		    size_t why_size)
{
	double value;

	if (row->zero_word && strcmp(text, row->zero_word) == 0) {
		*(int *)member = 0;
		return 0;
	}
	if (read_real_value(row, text, &value, why, why_size) < 0)
		return -1;
	if (value != floor(value)) {
		snprintf(why, why_size, "takes a whole number");
		return -1;
	}
	*(int *)member = (int)value;
	return 0;
}

static void write_int(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	int value = *(const int *)member;

	if (value == 0 && row->zero_word)
		snprintf(buf, size, "%s", row->zero_word);
	else
		snprintf(buf, size, "%d", value);
}

static int read_size(const struct gp_option *row, const char *text, void *member, char *why,
		     size_t why_size)
{
	uint64_t value;

	if (row->zero_word && strcmp(text, row->zero_word) == 0) {
		*(uint64_t *)member = 0;
		return 0;
	}
	say_takes(row, "takes", why, why_size);
	if (gp_size_read(text, &value) < 0 || (double)value < row->min || (double)value > row->max)
		return -1;
	*(uint64_t *)member = value;
	return 0;
}

static void write_size(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	uint64_t value = *(const uint64_t *)member;

	if (value == 0 && row->zero_word)
		snprintf(buf, size, "%s", row->zero_word);
	else
		gp_size_write(value, buf, size);
}

/* Cut the next comma-separated word out of *cursor into `word`. 1: got one, 0: end, -1: bad. */
static int next_word(const char **cursor, char *word, size_t size)
{
	size_t len;

	if (!*cursor)
		return 0;
	len = strcspn(*cursor, ",");
	if (len == 0 || len >= size)
		return -1;
	memcpy(word, *cursor, len);
	word[len] = '\0';
	*cursor = (*cursor)[len] ? *cursor + len + 1 : NULL;
	return 1;
}

static int read_sizes(const struct gp_option *row, const char *text, void *member, char *why,
		      size_t why_size)
{
	struct gp_size_list list = {0};
	const char *cursor = text;
	char word[32];
	int rc;

	while ((rc = next_word(&cursor, word, sizeof(word))) > 0) {
		if (list.n == GP_LIST_MAX) {
			snprintf(why, why_size, "takes at most %d values", GP_LIST_MAX);
			return -1;
		}
		if (read_size(row, word, &list.bytes[list.n], why, why_size) < 0)
			return -1;
		for (int i = 0; i < list.n; i++)
			if (list.bytes[i] == list.bytes[list.n]) {
				snprintf(why, why_size, "names %s twice", word);
				return -1;
			}
		list.n++;
	}
	if (rc < 0) {
		snprintf(why, why_size, "takes a list such as 64K,1M,8M");
		return -1;
	}
	*(struct gp_size_list *)member = list;
	return 0;
}

static void append(char *buf, size_t size, const char *word)
{
	size_t used = strlen(buf);

	snprintf(buf + used, size - used, "%s%s", used ? "," : "", word);
}

static void write_sizes(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	const struct gp_size_list *list = member;
	char word[32];

	(void)row;
	buf[0] = '\0';
	for (int i = 0; i < list->n; i++)
		append(buf, size, gp_size_write(list->bytes[i], word, sizeof(word)));
}

static int read_text(const struct gp_option *row, const char *text, void *member, char *why,
		     size_t why_size)
{
	size_t len = strlen(text);
	char clean[1024];

	if (len > (size_t)row->max || len >= sizeof(clean)) {
		snprintf(why, why_size, "takes at most %d characters", (int)row->max);
		return -1;
	}
	memcpy(clean, text, len + 1);
	gp_text_clean(clean);
	if (strcmp(clean, text) != 0) {
		snprintf(why, why_size, "takes UTF-8 text without control characters");
		return -1;
	}
	memcpy(member, text, len + 1);
	return 0;
}

static void write_text(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	(void)row;
	snprintf(buf, size, "%s", (const char *)member);
}

static int read_texts(const struct gp_option *row, const char *text, void *member, char *why,
		      size_t why_size)
{
	struct gp_text_list *list = member;

	(void)row;
	if (list->n == GP_LIST_MAX) {
		snprintf(why, why_size, "can be given at most %d times", GP_LIST_MAX);
		return -1;
	}
	list->text[list->n++] = (char *)text;
	return 0;
}

static void write_texts(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	const struct gp_text_list *list = member;

	(void)row;
	buf[0] = '\0';
	for (int i = 0; i < list->n; i++)
		append(buf, size, list->text[i]);
}

static int find_choice(const struct gp_option *row, const char *word)
{
	for (int i = 0; row->choices[i]; i++)
		if (strcmp(row->choices[i], word) == 0)
			return i;
	return -1;
}

static int read_choice(const struct gp_option *row, const char *text, void *member, char *why,
		       size_t why_size)
{
	int i = find_choice(row, text);

	if (i < 0) {
		say_takes(row, "is one of", why, why_size);
		return -1;
	}
	*(int *)member = i;
	return 0;
}

static void write_choice(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	snprintf(buf, size, "%s", row->choices[*(const int *)member]);
}

static int read_choices(const struct gp_option *row, const char *text, void *member, char *why,
			size_t why_size)
{
	struct gp_choice_list list = {0};
	const char *cursor = text;
	char word[32];
	int rc;

	say_takes(row, "is a list of", why, why_size);
	while ((rc = next_word(&cursor, word, sizeof(word))) > 0) {
		int choice = find_choice(row, word);

		if (choice < 0 || list.n == GP_LIST_MAX)
			return -1;
		for (int i = 0; i < list.n; i++)
			if (list.index[i] == choice) {
				snprintf(why, why_size, "names %s twice", word);
				return -1;
			}
		list.index[list.n++] = choice;
	}
	if (rc < 0)
		return -1;
	*(struct gp_choice_list *)member = list;
	return 0;
}

static void write_choices(const struct gp_option *row, const void *member, char *buf, size_t size)
{
	const struct gp_choice_list *list = member;

	buf[0] = '\0';
	for (int i = 0; i < list->n; i++)
		append(buf, size, row->choices[list->index[i]]);
}

static const struct {
	read_fn *read;
	write_fn *write;
	size_t bytes; /* of the member that is zeroed where there is no default */
} types[] = {
	[GP_OPT_FLAG] = {read_flag, write_flag, sizeof(bool)},
	[GP_OPT_INT] = {read_int, write_int, sizeof(int)},
	[GP_OPT_REAL] = {read_real, write_real, sizeof(double)},
	[GP_OPT_SIZE] = {read_size, write_size, sizeof(uint64_t)},
	[GP_OPT_SIZES] = {read_sizes, write_sizes, sizeof(struct gp_size_list)},
	[GP_OPT_TEXT] = {read_text, write_text, 1},
	[GP_OPT_TEXTS] = {read_texts, write_texts, sizeof(struct gp_text_list)},
	[GP_OPT_CHOICE] = {read_choice, write_choice, sizeof(int)},
	[GP_OPT_CHOICES] = {read_choices, write_choices, sizeof(struct gp_choice_list)},
};

int gp_option_read(const struct gp_option *row, const char *text, void *values,
		   struct gp_error *err)
{
	char why[200] = "";

	if (types[row->type].read(row, text, (char *)values + row->offset, why, sizeof(why)) < 0)
		return gp_error_set(err, GP_EXIT_USAGE, "--%s %s, not '%s'", row->name, why, text);
	return 0;
}

char *gp_option_write(const struct gp_option *row, const void *values, char *buf, size_t size)
{
	types[row->type].write(row, (const char *)values + row->offset, buf, size);
	return buf;
}

void gp_options_default(const struct gp_option_table *table, void *values)
{
	for (const struct gp_option *row = table->rows; row->name; row++) {
		struct gp_error err = {0};

		memset((char *)values + row->offset, 0, types[row->type].bytes);
		if (row->def && gp_option_read(row, row->def, values, &err) < 0) {
			fprintf(stderr, "gdrproof: default of %s: %s\n", row->name, err.fact);
			abort();
		}
	}
}

const struct gp_option *gp_option_find(const struct gp_option_table *table, const char *name)
{
	for (const struct gp_option *row = table->rows; row->name; row++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

bool gp_option_given(const struct gp_option_table *table, gp_option_mask given, const char *name)
{
	const struct gp_option *row = gp_option_find(table, name);

	return row && (given >> (row - table->rows)) & 1;
}

/* Edit distance, for the nearest name to a typo. Words are short: one row of state is enough. */
static int distance(const char *a, const char *b)
{
	int row[64];
	int lb = (int)strlen(b);

	if (lb >= 64)
		return INT_MAX;
	for (int j = 0; j <= lb; j++)
		row[j] = j;
	for (int i = 0; a[i]; i++) {
		int diagonal = row[0];

		row[0] = i + 1;
		for (int j = 1; j <= lb; j++) {
			int cost = diagonal + (a[i] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < cost)
				cost = row[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			row[j] = cost;
		}
	}
	return row[lb];
}

static int unknown_option(const struct gp_option_table *table, const char *word,
			  struct gp_error *err)
{
	const char *nearest = NULL;
	char name[64];
	int best = 4; /* further off than three edits is no typo */

	snprintf(name, sizeof(name), "%s", word + strspn(word, "-"));
	name[strcspn(name, "=")] = '\0';
	for (const struct gp_option *row = table->rows; row->name; row++) {
		int d = distance(name, row->name);

		if (d < best && d < (int)strlen(row->name)) {
			best = d;
			nearest = row->name;
		}
	}
	gp_error_set(err, GP_EXIT_USAGE, "unknown option %s%s%s%s", word,
		     nearest ? " (did you mean --" : "", nearest ? nearest : "",
		     nearest ? "?)" : "");
	gp_error_advise(err, "see gdrproof %s --help", table->command);
	return -1;
}

struct getopt_table {
	struct option longs[ROWS_MAX + 1];
	char shorts[3 + 2 * ROWS_MAX];
};

/* A long option's `val` is ROW_BASE plus its row, so that rows without a letter have one too. */
#define ROW_BASE 256

static void make_getopt_table(const struct gp_option_table *table, struct getopt_table *out)
{
	char *s = out->shorts;
	int n = 0;

	*s++ = ':'; /* a missing value is told from an unknown option */
	for (const struct gp_option *row = table->rows; row->name && n < ROWS_MAX; row++, n++) {
		bool value = row->type != GP_OPT_FLAG;

		out->longs[n] = (struct option){row->name, value ? required_argument : no_argument,
						NULL, ROW_BASE + n};
		if (row->letter) {
			*s++ = row->letter;
			if (value)
				*s++ = ':';
		}
	}
	*s = '\0';
	out->longs[n] = (struct option){0};
}

static const struct gp_option *row_of(const struct gp_option_table *table, int val)
{
	if (val >= ROW_BASE)
		return &table->rows[val - ROW_BASE];
	for (const struct gp_option *row = table->rows; row->name; row++)
		if (val && row->letter == val)
			return row;
	return NULL;
}

int gp_options_parse(const struct gp_option_table *table, int argc, char **argv, void *values,
		     gp_option_mask *given, const char **words, int max_words, int *n_words,
		     struct gp_error *err)
{
	struct getopt_table gt;
	int val;

	make_getopt_table(table, &gt);
	if (given)
		*given = 0;
	*n_words = 0;
	opterr = 0;
	optind = 0; /* glibc: start over, also where another command line was read before */
	while ((val = getopt_long(argc, argv, gt.shorts, gt.longs, NULL)) != -1) {
		const struct gp_option *row = val == '?' ? NULL : row_of(table, val);

		if (val == ':')
			return gp_error_set(err, GP_EXIT_USAGE, "%s needs a value",
					    argv[optind - 1]);
		if (!row) {
			char letter[3] = {'-', (char)optopt, '\0'};
			bool is_letter = optopt && optopt < ROW_BASE && !row_of(table, optopt);

			return unknown_option(table, is_letter ? letter : argv[optind - 1], err);
		}
		if (gp_option_read(row, row->type == GP_OPT_FLAG ? "on" : optarg, values, err) < 0)
			return -1;
		if (given)
			*given |= (gp_option_mask)1 << (row - table->rows);
	}
	for (; optind < argc; optind++) {
		if (*n_words == max_words)
			return gp_error_set(err, GP_EXIT_USAGE, "unexpected argument '%s'",
					    argv[optind]);
		words[(*n_words)++] = argv[optind];
	}
	return 0;
}

json_t *gp_options_to_json(const struct gp_option_table *table, const void *values, unsigned flags)
{
	json_t *json = json_object();
	char buf[1024];

	for (const struct gp_option *row = table->rows; row->name; row++)
		if (row->flags & flags)
			json_object_set_new(
				json, row->name,
				json_string(gp_option_write(row, values, buf, sizeof(buf))));
	return json;
}

int gp_options_from_json(const struct gp_option_table *table, const json_t *json, unsigned flags,
			 void *values, struct gp_error *err)
{
	const char *name;
	json_t *value;

	if (!json_is_object(json))
		return gp_error_set(err, GP_EXIT_USAGE, "the options are not an object");
	gp_options_default(table, values);
	json_object_foreach ((json_t *)json, name, value) {
		const struct gp_option *row = gp_option_find(table, name);

		if (!row || !(row->flags & flags) || !json_is_string(value))
			return gp_error_set(err, GP_EXIT_USAGE,
					    "option '%.40s' is not one that a peer can set", name);
		if (gp_option_read(row, json_string_value(value), values, err) < 0)
			return -1;
	}
	return 0;
}

#define HELP_COLUMN 30
#define HELP_WIDTH  92

/* Print `text` from the current column on, wrapped at words, later lines at HELP_COLUMN. */
static void print_wrapped(FILE *out, int column, const char *text)
{
	if (column > HELP_COLUMN - 2) {
		fprintf(out, "\n%*s", HELP_COLUMN, "");
		column = HELP_COLUMN;
	} else {
		fprintf(out, "%*s", HELP_COLUMN - column, "");
		column = HELP_COLUMN;
	}
	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + len > HELP_WIDTH) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", len, text);
		column += len;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void print_row(FILE *out, const struct gp_option *row)
{
	char help[600], takes[160];
	size_t used;
	int column;

	if (row->letter)
		column = fprintf(out, "  -%c, --%s", row->letter, row->name);
	else
		column = fprintf(out, "      --%s", row->name);
	if (row->arg)
		column += fprintf(out, " %s", row->arg);

	used = (size_t)snprintf(help, sizeof(help), "%s", row->help);
	if (row->choices)
		used += (size_t)snprintf(help + used, sizeof(help) - used, " (%s)",
					 gp_option_takes(row, takes, sizeof(takes)));
	if (row->def && row->type != GP_OPT_FLAG)
		snprintf(help + used, sizeof(help) - used, " [%s]", row->def);
	print_wrapped(out, column, help);
}

const struct gp_option gp_option_help = {
	.name = "help", .type = GP_OPT_FLAG, .help = "print the options, and end"};

static void print_rows(FILE *out, const struct gp_option_table *table)
{
	fprintf(out, "\noptions:\n");
	for (const struct gp_option *row = table->rows; row->name; row++)
		print_row(out, row);
	print_row(out, &gp_option_help);
	if (table->details)
		fprintf(out, "\n%s\n", table->details);
}

void gp_options_help(const struct gp_option_table *table, FILE *out)
{
	fprintf(out, "usage: gdrproof %s [options]%s%s\n\n%s\n", table->command,
		table->arguments[0] ? " " : "", table->arguments, table->summary);
	print_rows(out, table);
	fprintf(out, "\nexit status:\n");
	for (int code = GP_EXIT_OK; code <= GP_EXIT_WRONG; code++)
		fprintf(out, "  %d  %s\n", code, gp_exit_text((enum gp_exit)code));
}

void gp_options_overview(const struct gp_program *program, FILE *out)
{
	fprintf(out, "usage: gdrproof %s\n\n%s\n\ncommands:\n", program->own->arguments,
		program->own->summary);
	for (int i = 0; program->commands[i]; i++)
		fprintf(out, "  %-8s %s\n", program->commands[i]->command,
			program->commands[i]->summary);
	print_rows(out, program->own);
}
