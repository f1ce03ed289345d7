/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * page: the page to hand over, made from records alone: HTML that needs nothing else, Markdown, and
 * the scripts of its plots. Also how any text gets into such a page unharmed. Running gnuplot is
 * cmd_report's.
 */
#ifndef GP_PAGE_H
#define GP_PAGE_H

#include "record.h"

#include <stdio.h>

/* A stream for a file, "-" being standard output. NULL on failure; errors: GP_EXIT_FAILED. */
FILE *gp_page_open(const char *file, struct gp_error *err);
/* Close it (standard output is only flushed); -1 where something was not written. */
int gp_page_close(FILE *out, const char *file, struct gp_error *err);

/* Text for HTML and XML, content or attribute. */
void gp_page_text(const char *text, FILE *out);
/* Text for Markdown, in a cell of a table too. */
void gp_page_markdown(const char *text, FILE *out);

enum gp_plot { GP_PLOT_SIZES, GP_PLOT_ROUNDS, GP_PLOT_PLACEMENTS };
#define GP_PLOTS 3

/* The plot's title, for people. */
const char *gp_plot_title(enum gp_plot plot);

/* A gnuplot script that writes SVG to standard output. False: the record has nothing to draw
 * there (one size, one round, one placement), and nothing was written. */
bool gp_plot_script(enum gp_plot plot, const struct gp_record *record, FILE *out);

/* SVG of each plot, NULL where there is none. `missing` says why plots are absent, or is NULL. */
struct gp_page_plots {
	char *svg[GP_PLOTS]; /* owned by the caller */
	const char *missing;
};

/* The whole page; plots is one per record. `names` are the files, for headings. */
void gp_page_html(const struct gp_record *records, const struct gp_page_plots *plots,
		  const char *const *names, int n, FILE *out);
void gp_page_markdown_records(const struct gp_record *records, const char *const *names, int n,
			      FILE *out);

#endif
