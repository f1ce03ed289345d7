# SPDX-License-Identifier: BSD-2-Clause
# Builds build/gdrproof. `make help` lists the targets. SAN=address or SAN=undefined builds the same
# with a sanitizer, in a directory of its own; CC=clang likewise with BUILD=...; V=1 shows commands.

PREFIX ?= /usr/local
DESTDIR ?=
CC = gcc
SAN =
BUILD = build$(if $(SAN),/$(SAN))
WERROR = 1
V = 0
Q = $(if $(filter 1,$(V)),,@)

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PKGS = libibverbs librdmacm jansson hwloc yaml-0.1 libsodium
CUDA_HOME ?= /usr/local/cuda

CFLAGS = -O2 -g
WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes $(if $(filter 1,$(WERROR)),-Werror)
SANFLAGS = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lnuma -ldl -lm -lpthread
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARN) -Icommon -Ibench -MMD -MP $(PKG_CFLAGS) \
	$(SANFLAGS) $(CFLAGS)

SRC = $(wildcard common/*.c bench/*.c)
OBJ = $(SRC:%.c=$(BUILD)/%.o)
TESTED = $(filter-out $(BUILD)/bench/main.o,$(OBJ))
UNIT = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
ABI = $(if $(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h),$(BUILD)/unit/abi_cuda)
FUZZ_SAN = -fno-sanitize-recover=undefined -fsanitize=address,undefined
FUZZ_OBJ = $(patsubst %.c,$(BUILD)/fuzz/obj/%.o,$(filter-out bench/main.c,$(SRC)))
FUZZ = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

# A command is a file, and has a manual page.
COMMANDS = $(patsubst bench/cmd_%.c,%,$(wildcard bench/cmd_*.c))
PAGES = $(BUILD)/man1/gdrproof.1 $(COMMANDS:%=$(BUILD)/man1/gdrproof-%.1)
BIN_DIR = $(DESTDIR)$(PREFIX)/bin
MAN_DIR = $(DESTDIR)$(PREFIX)/share/man/man1
COMPLETION_DIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions

all: $(BUILD)/gdrproof

$(BUILD)/gdrproof: $(OBJ)
	@echo "  LD      $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# The version changes without any source changing: only version.o carries it.
$(BUILD)/bench/version.o: ALL_CFLAGS += -DGP_VERSION='"$(VERSION)"'
$(BUILD)/bench/version.o: $(BUILD)/version
$(BUILD)/version: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' >$@

$(BUILD)/unit/test_%: $(BUILD)/tests/unit/test_%.o $(TESTED)
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

# Our cuda.h must not stand in the toolkit's place: -iquote, not -I.
$(BUILD)/unit/abi_cuda: tests/unit/abi_cuda.c common/cuda_abi.h
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) -std=gnu11 $(WARN) -iquote common -isystem $(CUDA_HOME)/include -o $@ $<

# Fuzz targets: the same sources once more with clang's coverage, and libFuzzer's main.
$(BUILD)/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  CC      $< (fuzz)"
	$(Q)clang -std=gnu11 -D_GNU_SOURCE $(WARN) -Icommon -Ibench -MMD -MP $(PKG_CFLAGS) -O1 -g \
		-DGP_VERSION='"fuzz"' $(FUZZ_SAN),fuzzer-no-link -c -o $@ $<

$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/obj/tests/fuzz/fuzz_%.o $(FUZZ_OBJ)
	@echo "  LD      $@"
	$(Q)clang $(FUZZ_SAN),fuzzer -o $@ $^ $(LIBS)

include tests/emu/emu.mk
include tests/perf/perf.mk

unit: $(UNIT) $(ABI)
fuzz: $(FUZZ)

check:
	scripts/check

$(BUILD)/man1/gdrproof.1: $(BUILD)/gdrproof
	@mkdir -p $(@D)
	$(Q)$< --manual >$@

$(BUILD)/man1/gdrproof-%.1: $(BUILD)/gdrproof
	@mkdir -p $(@D)
	$(Q)$< --manual $* >$@

$(BUILD)/completion/gdrproof: $(BUILD)/gdrproof
	@mkdir -p $(@D)
	$(Q)$< --completion >$@

install: $(BUILD)/gdrproof $(PAGES) $(BUILD)/completion/gdrproof
	install -d $(BIN_DIR) $(MAN_DIR) $(COMPLETION_DIR)
	install -m 755 $(BUILD)/gdrproof $(BIN_DIR)
	install -m 644 $(PAGES) $(MAN_DIR)
	install -m 644 $(BUILD)/completion/gdrproof $(COMPLETION_DIR)

uninstall:
	rm -f $(BIN_DIR)/gdrproof $(PAGES:$(BUILD)/man1/%=$(MAN_DIR)/%) $(COMPLETION_DIR)/gdrproof

format:
	clang-format -i $(wildcard common/*.[ch] bench/*.[ch] tests/*/*.[ch])

lab:
	scripts/lab shell

clean:
	rm -rf $(filter-out build/lab,$(wildcard build/*))

help:
	@echo "all      $(BUILD)/gdrproof (the default)"
	@echo "check    every test: scripts/check"
	@echo "unit     the unit tests' programs under $(BUILD)/unit"
	@echo "emu      the emulated GPU under $(BUILD)/emu"
	@echo "fuzz     the fuzz targets under $(BUILD)/fuzz (clang)"
	@echo "install  to DESTDIR/PREFIX ($(DESTDIR)$(PREFIX))"
	@echo "uninstall removes what install put there"
	@echo "perf     what the loops cost on simulated devices, as one table"
	@echo "lab      a shell in the virtual lab"
	@echo "format   clang-format over all sources"
	@echo "clean    remove what was built (the lab's kernel stays)"

FORCE:
.PHONY: all unit fuzz emu check install uninstall format lab clean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(OBJ:.o=.d) $(wildcard $(BUILD)/tests/unit/*.d)
