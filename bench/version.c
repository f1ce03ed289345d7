/* SPDX-License-Identifier: BSD-2-Clause */
/* version: see version.h. */
#include "version.h"

const char *const gp_version = GP_VERSION;
