/* SPDX-License-Identifier: BSD-2-Clause */
/* version: what this build calls itself; defined in version.c, which the Makefile tells. */
#ifndef GP_VERSION_H
#define GP_VERSION_H

extern const char *const gp_version;

#endif
