# SPDX-License-Identifier: BSD-2-Clause
# The emulated GPU: shared objects under $(BUILD)/emu that tests/emu/with puts in front of a
# program. Never part of what is installed, and never sanitized.

EMU = $(BUILD)/emu
EMU_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARN) -fPIC -fvisibility=hidden -O2 -g
EMU_LINK = -shared -Wl,-rpath,'$$ORIGIN' -L$(EMU)
EMU_SO = $(EMU)/libcudart.so.13 $(EMU)/libcuda.so.1 $(EMU)/libnvidia-ml.so.1 $(EMU)/libgp_emu_verbs.so
EMU_HDR = tests/emu/emu.h

emu: $(EMU_SO)

$(EMU)/libgp_emu.so: tests/emu/emu.c tests/emu/emu_stream.c $(EMU_HDR)
	@mkdir -p $(@D)
	@echo "  EMU     $@"
	$(Q)$(CC) $(EMU_CFLAGS) -fvisibility=default -shared -o $@ $(filter %.c,$^) -lpthread

$(EMU)/libcudart.so.13: tests/emu/emu_cudart.c $(EMU)/libgp_emu.so
	@echo "  EMU     $@"
	$(Q)$(CC) $(EMU_CFLAGS) $(EMU_LINK) -Wl,-soname,libcudart.so.13 -o $@ $< -lgp_emu

$(EMU)/libcuda.so.1: tests/emu/emu_cuda.c $(EMU)/libgp_emu.so
	@echo "  EMU     $@"
	$(Q)$(CC) $(EMU_CFLAGS) $(EMU_LINK) -Wl,-soname,libcuda.so.1 -o $@ $< -lgp_emu

$(EMU)/libnvidia-ml.so.1: tests/emu/emu_cuda.c $(EMU)/libgp_emu.so
	@echo "  EMU     $@"
	$(Q)$(CC) $(EMU_CFLAGS) -DEMU_NVML $(EMU_LINK) -Wl,-soname,libnvidia-ml.so.1 -o $@ $< -lgp_emu

$(EMU)/libgp_emu_verbs.so: tests/emu/emu_verbs.c $(EMU)/libgp_emu.so
	@echo "  EMU     $@"
	$(Q)$(CC) $(EMU_CFLAGS) $(EMU_LINK) -o $@ $< -lgp_emu -ldl
