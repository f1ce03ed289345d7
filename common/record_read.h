/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * record_read: a record of `bw` back from JSON, from a file that anybody may have made. What comes
 * out is within the limits of record.h and free of control characters, so that it can be printed;
 * whether its figures make sense is not asked here. Writing is record.c's.
 */
#ifndef GP_RECORD_READ_H
#define GP_RECORD_READ_H

#include "record.h"

/* A larger file is refused: 16 cells of 5 rounds are 40 kB. */
#define GP_RECORD_BYTES_MAX (64 * 1024 * 1024)

/*
 * Read schema gdrproof/result/1. Members that are not known are ignored; one that is missing, of
 * another type or out of range is named. `json` may be changed: control characters in its texts
 * become spaces. On failure `record` is empty. The caller frees it. Errors: GP_EXIT_USAGE.
 */
int gp_record_from_json(json_t *json, struct gp_record *record, struct gp_error *err);

/* The same from a file, "-" being standard input; the error names the file. */
int gp_record_read(const char *file, struct gp_record *record, struct gp_error *err);

/* The same without the evidence, which is most of a record and is passed over as text: cells have
 * no facts, and what is wrong inside an evidence list is not seen. Three times as fast. */
int gp_record_read_figures(const char *file, struct gp_record *record, struct gp_error *err);

#endif
