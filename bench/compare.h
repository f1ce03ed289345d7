/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compare: which cells of two sets of records are the same measurement, and what the figures of
 * each say together. Pure: records go in one by one and need not stay, rows come out. Reading files
 * and showing the rows is cmd_compare's; the statistics are stats'.
 */
#ifndef GP_COMPARE_H
#define GP_COMPARE_H

#include "record.h"
#include "stats.h"

enum gp_compare_side { GP_BASE, GP_NEW };

/* "path=dmabuf,op=write": the cells in which each of these members has this value. */
#define GP_WANTS_MAX 8
struct gp_selection {
	int n;
	struct {
		int key; /* index into the table of members */
		char value[80];
	} want[GP_WANTS_MAX];
};

/* Empty text selects all. Errors: GP_EXIT_USAGE, naming the members that there are. */
int gp_selection_read(const char *text, struct gp_selection *selection, struct gp_error *err);

struct gp_compare_ask {
	struct gp_ab_ask ab;
	bool within; /* both sides are of the same records: rounds are paired */
	bool force;  /* also what is not comparable */
	struct gp_selection pick[2];
};

enum gp_row_kind { GP_ROW_COMPARED, GP_ROW_VANISHED, GP_ROW_NEW };

struct gp_compare_row {
	char id[GP_CELL_ID_MAX]; /* of the cell; selected members are masked with * or 0 */
	enum gp_row_kind kind;
	struct gp_ab ab;	     /* GP_ROW_COMPARED */
	double median[2];	     /* GB/s; NaN where not measured */
	int records[2];		     /* that measured it */
	bool by_record;		     /* a record counts as one value, not its rounds */
	enum gp_verdict evidence[2]; /* the furthest from proven */
	char note[400];		     /* not steady, evidence fell, why it is not there; or empty */
};

/* Something that the records say of their surroundings and that is not the same. */
struct gp_difference {
	char what[64]; /* "client kernel" */
	char base[100], new[100];
	bool refuses; /* figures can't be held against each other */
};

#define GP_DIFFERENCES_MAX 32

struct gp_comparison {
	struct gp_compare_row *rows; /* owned; in the order of the records */
	int n_rows;
	int count[4]; /* compared rows by enum gp_ab_verdict */
	int vanished, added;
	int records[2];
	struct gp_difference differences[GP_DIFFERENCES_MAX];
	int n_differences;
};

struct gp_compare;

/* The caller closes it, also after a failure. */
int gp_compare_open(const struct gp_compare_ask *ask, struct gp_compare **compare,
		    struct gp_error *err);
void gp_compare_close(struct gp_compare *compare);

/* Take what is needed of a record; where `within`, `side` is GP_BASE and stands for both. `name` is
 * for errors. The first record is what all others are held against for differences. */
int gp_compare_add(struct gp_compare *compare, enum gp_compare_side side, const char *name,
		   const struct gp_record *record, struct gp_error *err);

/* All rows. Errors, GP_EXIT_USAGE: not comparable and not forced; nothing measured on a side. */
int gp_compare_finish(struct gp_compare *compare, struct gp_comparison *result,
		      struct gp_error *err);
void gp_comparison_free(struct gp_comparison *result);

/* "worse", "vanished", ...: the one word of a row. */
const char *gp_compare_word(const struct gp_compare_row *row);

/* Does a gate let it pass? Not where a cell is worse or has vanished. */
bool gp_compare_passes(const struct gp_comparison *result);

/* "47.2 of 48.7 GB/s: -3.1 %, 95 % interval -4.0 to -2.2 %; ..." for one row. Returns buf. */
char *gp_compare_sentence(const struct gp_compare_row *row, double confidence, char *buf,
			  size_t size);

#endif
