/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf_staged: the bounce pipeline against copies and a wire of set rates, on a simulated clock:
 * what share of the slowest stage's rate it reaches, with the chunk and the slots that it chooses
 * itself. One line a row; tests/perf/run makes the table of them and judges.
 */
#include "sim_stages.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>

#define BASE	 50.0 /* GB/s */
#define COPY_NS	 1500 /* that each copy costs */
#define ROUND_NS 5000
#define FAR_NS	 100000
#define SIZE	 (8 * GP_MIB)

/* Parts of the base rate. */
static const struct {
	double out, wire, in;
	double round_ns;
} mixes[] = {
	{1, 1, 1, ROUND_NS},	 {0.5, 1, 0.5, ROUND_NS}, {1, 0.5, 1, ROUND_NS},
	{0.1, 1, 0.1, ROUND_NS}, {1, 0.1, 1, ROUND_NS},	  {1, 1, 0.5, ROUND_NS},
	{0.5, 1, 1, ROUND_NS},	 {1, 1, 0.1, ROUND_NS},	  {0.1, 1, 1, ROUND_NS},
	{1, 1, 1, FAR_NS},	 {1, 0.5, 1, FAR_NS},
};

static double least(double a, double b)
{
	return a < b ? a : b;
}

static int run_row(struct sim_setup *setup, size_t m)
{
	struct gp_bw_options opt;
	struct sim_result result;
	struct gp_error err = {0};
	double slowest = BASE * least(least(mixes[m].out, mixes[m].wire), mixes[m].in);

	gp_options_default(&gp_bw_table, &opt);
	setup->pipe = (struct gp_pipe_rates){
		.out = {BASE * mixes[m].out, COPY_NS},
		.wire = {BASE * mixes[m].wire, mixes[m].round_ns},
		.in = {BASE * mixes[m].in, COPY_NS},
	};
	setup->tuning = gp_tuning_choose(&opt, &setup->pipe, 1);
	if (sim_run(setup, &result, &err) < 0) {
		fprintf(stderr, "perf_staged: %s\n", err.fact);
		return -1;
	}
	if (result.faults || result.messages != setup->messages) {
		fprintf(stderr, "perf_staged: %d faults, %llu messages\n", result.faults,
			(unsigned long long)result.messages);
		return -1;
	}
	printf("%s%s %g:%g:%g %g %llu %d %.3f %.4f\n", setup->op, setup->two_way ? "+" : "",
	       setup->pipe.out.gbytes_per_s, setup->pipe.wire.gbytes_per_s,
	       setup->pipe.in.gbytes_per_s, mixes[m].round_ns / 1e3,
	       (unsigned long long)(setup->tuning.chunk_bytes / GP_KIB), setup->tuning.slots,
	       result.gbytes_per_s, result.gbytes_per_s / slowest);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t messages = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;

	if (messages == 0) {
		fprintf(stderr, "usage: perf_staged MESSAGES\n");
		return 2;
	}
	for (int way = 0; way < 4; way++)
		for (size_t m = 0; m < sizeof(mixes) / sizeof(mixes[0]); m++) {
			struct sim_setup setup = {.op = way & 1 ? "read" : "write",
						  .two_way = way & 2,
						  .size = SIZE,
						  .messages = messages,
						  .region_bytes = 256 * GP_MIB};

			if (run_row(&setup, m) < 0)
				return 1;
		}
	return 0;
}
