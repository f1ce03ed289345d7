/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * explain: a record to what diagnose asks for, so that the table can say why a figure is low. What
 * the record does not hold stays unknown, and the rules that need it silent.
 */
#ifndef GP_EXPLAIN_H
#define GP_EXPLAIN_H

#include "diagnose.h"
#include "record.h"

/* At most three lines, none where the facts carry none. */
void gp_explain(const struct gp_record *record, struct gp_diagnosis *diagnosis);

#endif
