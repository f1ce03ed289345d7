/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nccl: what an NCCL_DEBUG=INFO log (and the table of nccl-tests in it) says about the network.
 *
 * Text in, struct out, over all forms of the lines from 2.4 to 2.30. What a log does not say is
 * unknown (-1, empty), never zero. What it means is decided in classify.
 */
#ifndef GP_NCCL_H
#define GP_NCCL_H

#include <stdbool.h>
#include <stddef.h>

#define GP_NCCL_NICS_MAX   32
#define GP_NCCL_ENV_MAX	   32
#define GP_NCCL_ERRORS_MAX 8
#define GP_NCCL_LINE_MAX   320

/* A line of the log as evidence. number 0: there was none. */
struct gp_nccl_line {
	int number;
	char text[GP_NCCL_LINE_MAX];
};

struct gp_nccl_nic {
	char name[48]; /* "mlx5_0:1" */
	char link[8];  /* "IB", "RoCE" */
};

struct gp_nccl_hca {
	char name[40]; /* "mlx5_0" */
	bool gdr;
	struct gp_nccl_line line;
};

struct gp_nccl_env {
	char name[48];
	char value[96];
};

struct gp_nccl_failure {
	int status;	/* completion status, -1 unknown */
	int vendor_err; /* as printed: 81 for "vendor err 81", -1 unknown */
	struct gp_nccl_line line;
};

struct gp_nccl {
	bool any;	  /* at least one NCCL line was there */
	char source[128]; /* file that it is from */
	char host[64];	  /* of the first line that names one */
	char version[32]; /* "2.18.3" */
	int cuda_driver;  /* "cudaDriverVersion 12020", 0 unknown */
	char network[40]; /* "IB", "Socket", a plugin's name */
	char link[8];	  /* "IB", "RoCE", empty where unknown or mixed */
	struct gp_nccl_nic nics[GP_NCCL_NICS_MAX];
	int n_nics;
	struct gp_nccl_hca hcas[GP_NCCL_NICS_MAX];
	int n_hcas;
	int gdr_channels, net_channels; /* -1: no channel line of any kind */
	bool dmabuf_gpu;		/* "DMA-BUF is available on GPU device N": GPU side only */
	int distance, distance_limit;	/* "(distance a > b)" of a GPU-HCA pair, -1 unknown */
	struct gp_nccl_env env[GP_NCCL_ENV_MAX];
	int n_env;
	struct gp_nccl_failure failures[GP_NCCL_ERRORS_MAX];
	int n_failures;
	int n_ranks;	    /* 0 unknown */
	double busbw;	    /* GB/s, "Avg bus bandwidth"; negative: unknown */
	double busbw_top;   /* GB/s, of the largest size in the table; negative: unknown */
	double size_top;    /* bytes of that row */
	char operation[32]; /* "all_reduce_perf", from the command line in the log */
	struct gp_nccl_line network_line, no_device_line, distance_line, dmabuf_line, disable_line,
		plugin_line, busbw_line;
	struct gp_nccl_line net_channel_line, gdr_channel_line; /* first without, first with GDR */
};

/* Start an empty one: everything unknown. */
void gp_nccl_init(struct gp_nccl *nccl);

/* Take one line (no newline in it). Lines that say nothing are ignored; order does not matter. */
void gp_nccl_line(struct gp_nccl *nccl, const char *line, int number);

/* The value of an environment variable that the log names, or NULL. */
const char *gp_nccl_env(const struct gp_nccl *nccl, const char *name);

#endif
