# SPDX-License-Identifier: BSD-2-Clause
# What the loops cost on simulated devices: `make perf`. Never part of what is installed.

PERF = $(BUILD)/perf/perf_loop

$(BUILD)/perf/%: $(BUILD)/tests/perf/%.o $(TESTED)
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

perf: $(PERF)
	tests/perf/run loop $(BUILD)/perf

.PHONY: perf
