# SPDX-License-Identifier: BSD-2-Clause
# Builds build/gdrproof. `make help` lists the targets. Variants: SAN=address or SAN=undefined go
# to a build directory of their own; V=1 prints the commands.

PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
SAN ?=
BUILD ?= build$(if $(SAN),/$(SAN))
WERROR ?= 1
V ?= 0
Q = $(if $(filter 1,$(V)),,@)

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PKGS = libibverbs librdmacm jansson hwloc yaml-0.1 libsodium

CFLAGS ?= -O2 -g
WARN = -Wall -Wextra -Wshadow -Wstrict-prototypes $(if $(filter 1,$(WERROR)),-Werror)
SANFLAGS = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARN) -Icommon -Ibench -MMD -MP $(PKG_CFLAGS) $(SANFLAGS) \
	$(CFLAGS)
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lnuma -ldl -lm -lpthread

SRC = $(wildcard common/*.c bench/*.c)
OBJ = $(SRC:%.c=$(BUILD)/%.o)
TESTED = $(filter-out $(BUILD)/bench/main.o,$(OBJ))
UNIT = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))

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

$(BUILD)/unit/%: $(BUILD)/tests/unit/%.o $(TESTED)
	@mkdir -p $(@D)
	@echo "  LD      $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

-include $(wildcard tests/emu/emu.mk)

unit: $(UNIT)

.SECONDARY:
-include $(OBJ:.o=.d)
