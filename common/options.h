/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options: one row per option, and everything that is made from it.
 *
 * A row gives name, letter, type, place in the command's struct, range, default and help. From the
 * same rows come parsing, --help, the manual, what is sent to the peer and what the record keeps,
 * so that none of them can drift. A value that arrives over the wire goes through the same read
 * function as one from the command line, so limits hold on both ends.
 */
#ifndef GP_OPTIONS_H
#define GP_OPTIONS_H

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GP_LIST_MAX 32

/* The value types of the rows. */
struct gp_size_list {
	int n;
	uint64_t bytes[GP_LIST_MAX];
};
struct gp_choice_list {
	int n;
	int index[GP_LIST_MAX]; /* into the row's choices, in the order given, no doubles */
};
struct gp_text_list {
	int n;
	char *text[GP_LIST_MAX]; /* owned by argv: such a row never goes over the wire */
};

enum gp_option_type {
	GP_OPT_FLAG,	/* bool */
	GP_OPT_INT,	/* int */
	GP_OPT_REAL,	/* double */
	GP_OPT_SIZE,	/* uint64_t, bytes */
	GP_OPT_SIZES,	/* struct gp_size_list */
	GP_OPT_TEXT,	/* char[row.max + 1] */
	GP_OPT_TEXTS,	/* struct gp_text_list: the option may be repeated */
	GP_OPT_CHOICE,	/* int, index into choices */
	GP_OPT_CHOICES, /* struct gp_choice_list */
};

enum gp_option_flags {
	GP_OPT_WIRE = 1,   /* sent to the peer */
	GP_OPT_RECORD = 2, /* kept in the record */
};

struct gp_option {
	const char *name; /* without dashes; NULL ends a table */
	char letter;	  /* 0: none */
	enum gp_option_type type;
	size_t offset;		    /* of the member, by offsetof */
	double min, max;	    /* INT, REAL, SIZE, each of SIZES; TEXT: max length */
	const char *zero_word;	    /* INT, SIZE: the word for 0 ("auto"), which is then allowed */
	const char *const *choices; /* CHOICE, CHOICES: NULL-terminated */
	const char *def;	    /* default as one would type it; NULL: zero, empty */
	const char *arg;	    /* the word for the value in --help; NULL for FLAG */
	const char *help;	    /* one sentence, no full stop */
	unsigned flags;
};

/* A command's options. `summary` is one line, `details` (may be NULL) what --help says after the
 * options. */
struct gp_option_table {
	const char *command;   /* "bw" */
	const char *arguments; /* "HOST", "" */
	const char *summary;
	const char *details;
	const struct gp_option *rows;
};

/* The program as a whole. */
struct gp_program {
	const struct gp_option_table *own; /* what is asked of no command; its `command` is "" */
	const struct gp_option_table *const *commands; /* NULL-terminated */
	const char *version;
};

/* --help, which every table has without a row of its own: main deals with it. */
extern const struct gp_option gp_option_help;

/* Which rows were given explicitly: bit i is row i. */
typedef uint64_t gp_option_mask;

/* Fill `values` (the struct that the rows' offsets are of) with every row's default. */
void gp_options_default(const struct gp_option_table *table, void *values);

/*
 * Read a command line; argv[0] is the command's own name. Defaults must be in place already.
 * Non-option words go to `words` (at most max_words, NULL-terminated is not promised; *n_words is
 * their number). `given` may be NULL. An unknown option names the nearest known one.
 * Errors: GP_EXIT_USAGE.
 */
int gp_options_parse(const struct gp_option_table *table, int argc, char **argv, void *values,
		     gp_option_mask *given, const char **words, int max_words, int *n_words,
		     struct gp_error *err);

/* True where the option `name` is in `given`. `name` must be in the table. */
bool gp_option_given(const struct gp_option_table *table, gp_option_mask given, const char *name);

/* Set one option from text, with every limit checked. Errors: GP_EXIT_USAGE. */
int gp_option_read(const struct gp_option *row, const char *text, void *values,
		   struct gp_error *err);

/* The value as one would type it; reading it back gives the same. Returns buf. */
char *gp_option_write(const struct gp_option *row, const void *values, char *buf, size_t size);

/* What a value may be, for people: "1 to 16384, or auto", "full, sample, off"; empty where neither
 * range nor choices bind it. Returns buf. */
char *gp_option_takes(const struct gp_option *row, char *buf, size_t size);

/* The row of that name, or NULL. */
const struct gp_option *gp_option_find(const struct gp_option_table *table, const char *name);

/* An object {name: text} of all rows that have one of `flags`; a new reference. */
json_t *gp_options_to_json(const struct gp_option_table *table, const void *values, unsigned flags);

/* Read such an object over the defaults. Names that are not in the table or lack one of `flags`
 * are refused. Errors: GP_EXIT_USAGE. */
int gp_options_from_json(const struct gp_option_table *table, const json_t *json, unsigned flags,
			 void *values, struct gp_error *err);

/* --help for one command. */
void gp_options_help(const struct gp_option_table *table, FILE *out);

/* --help of the program: its commands and its own options. */
void gp_options_overview(const struct gp_program *program, FILE *out);

/*
 * The manual page, in roff with the macros of man(7), section 1: of one of the program's commands,
 * or of the program itself where `table` is its own. All texts must be ASCII.
 */
void gp_options_manual(const struct gp_program *program, const struct gp_option_table *table,
		       FILE *out);

/*
 * A completion script for bash 4 and later: commands, options, choices (also within a list), and
 * names of files. What a value is follows from its row: choices, zero_word, and `arg`, where
 * FILE, LOG, SRC and DIR are names of files, and words in small letters between bars
 * ("N|nic|gpu|far") are meant literally. Names and choices must need no quoting in a shell.
 */
void gp_options_completion(const struct gp_program *program, FILE *out);

#endif
