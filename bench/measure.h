/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure: a whole run against a server, from options to a filled record: which stands there are,
 * their paths, the rounds in balanced order, and what follows from them. The policy of a
 * measurement is here, its mechanism in stand, session, loop and staged.
 */
#ifndef GP_MEASURE_H
#define GP_MEASURE_H

#include "bw_options.h"
#include "plan.h"
#include "record.h"

/*
 * Run `plan` against `server` (a host name) and fill `record`, which is begun. What could be
 * measured before a failure is in the record too. -1 and `err` where the run itself failed; a path
 * or placement that can't be had is a cell with the reason instead.
 */
int gp_measure(const struct gp_bw_options *opt, const struct gp_plan *plan, const char *server,
	       struct gp_record *record, struct gp_error *err);

#endif
