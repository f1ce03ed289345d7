# SPDX-License-Identifier: BSD-2-Clause
# What the loops cost on simulated devices: `make perf`. Never part of what is installed.

PERF = $(BUILD)/perf/perf_loop $(BUILD)/perf/perf_staged
SIM = $(BUILD)/tests/perf/sim_stages.o

$(BUILD)/perf/%: $(BUILD)/tests/perf/%.o $(TESTED)
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/perf/perf_staged $(BUILD)/unit/test_staged: $(SIM)

perf: $(PERF)
	tests/perf/run loop $(BUILD)/perf
	tests/perf/run staged $(BUILD)/perf

.PHONY: perf
