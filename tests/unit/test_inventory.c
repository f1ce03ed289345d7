/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_inventory: how a text is cut (prompts, headers, filters) and what silence means; rows. Whole
 * captures are test_classify's.
 */
#include "inventory_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- prompts --- */

static const struct {
	const char *line, *command, *host; /* command NULL: the line is output */
} prompts[] = {
	{"$ uname -r", "uname -r", ""},
	{"# lsmod | grep nvidia", "lsmod | grep nvidia", ""},
	{"> ofed_info -s", "ofed_info -s", ""},
	{"% nvcc --version", "nvcc --version", ""},
	{"\xe2\x9d\xaf uname -r", "uname -r", ""},
	{"user@host:~$ uname -r", "uname -r", "host"},
	{"user@host ~ % uname -r", "uname -r", "host"},
	{"[root@n17 ~]# uname -r", "uname -r", "n17"},
	{"[root@n17.example.org ~]# uname -r", "uname -r", "n17.example.org"},
	{"root@host:/# uname -r", "uname -r", "host"},
	{"n17:~ # uname -r", "uname -r", "n17"},
	{"(base) user@host:~$ uname -r", "uname -r", "host"},
	{"14:02:11 root@n17:~ # uname -r", "uname -r", "n17"},
	{"[12:01:33] root@n17:~# uname -r", "uname -r", "n17"},
	{"bash-5.1$ uname -r", "uname -r", ""},
	{"sh-4.4# uname -r", "uname -r", ""},
	{"+ uname -r", "uname -r", ""},
	{"n3> uname -r", "uname -r", "n3"},
	{"    $ uname -r", "uname -r", ""},
	{"==> lsmod <==", "lsmod", ""},
	{"=== uname -r ===", "uname -r", ""},
	{"--- ofed_info -s", "ofed_info -s", ""},
	{"## `ofed_info -s`", "ofed_info -s", ""},
	{"Output of `lsmod | grep nvidia`:", "lsmod | grep nvidia", ""},
	{"==> /proc/driver/nvidia/version <==", "cat /proc/driver/nvidia/version", ""},
	{"uname -r", "uname -r", ""},
	{"/usr/bin/ofed_info -s", "/usr/bin/ofed_info -s", ""},
	/* no prompts */
	{"# a comment", NULL, ""},
	{"> quoted words", NULL, ""},
	{"lsmod shows no nvidia_peermem", NULL, ""},
	{"nvcc: NVIDIA (R) Cuda compiler driver", NULL, ""},
	{"bash: ofed_info: command not found", NULL, ""},
	{"nvidia 56713216 1 nvidia_uvm", NULL, ""},
	{"helm  '", NULL, ""},
	{"  rdma:", NULL, ""},
	{"driver:", NULL, ""},
	{"---", NULL, ""},
	{"+-----------------+", NULL, ""},
	{"5.15.0-118-generic", NULL, ""},
};

static void prompts_are_told_from_output(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(prompts) / sizeof(prompts[0]); i++) {
		struct gp_segments segments;
		char text[200];
		const char *command;

		snprintf(text, sizeof(text), "%s\nx\n", prompts[i].line);
		assert_int_equal(gp_segments_read(text, strlen(text), NULL, &segments), 0);
		command = segments.item[0].command;
		if (!prompts[i].command != !command ||
		    (command && strcmp(command, prompts[i].command) != 0) ||
		    strcmp(segments.item[0].host, prompts[i].host) != 0)
			fail_msg("'%s' gives command '%s' on '%s'", prompts[i].line,
				 command ? command : "(none)", segments.item[0].host);
		gp_segments_close(&segments);
	}
}

/* --- command lines --- */

static const struct {
	const char *line, *first, *target;
	bool inside;
} commands[] = {
	{"sudo lsmod", "lsmod", "", false},
	{"sudo -u root -E lsmod", "lsmod", "", false},
	{"LC_ALL=C time lsmod", "lsmod", "", false},
	{"ssh -p 22 root@n17 lsmod", "lsmod", "n17", false},
	{"ssh n17 'sudo lsmod'", "lsmod", "n17", false},
	{"docker exec -it -u root ctr lsmod", "lsmod", "ctr", true},
	{"kubectl exec -n x pod-1 -c main -- lsmod", "lsmod", "pod-1", true},
	{"kubectl exec pod-1 -- bash -c 'lsmod | grep x'", "lsmod", "pod-1", true},
	{"oc debug node/w1 -- chroot /host lsmod", "lsmod", "w1", false},
	{"bash -lc \"lsmod\"", "lsmod", "", false},
	{"kubectl get pods", "kubectl", "", false},
	{"docker ps", "docker", "", false},
	{"srun -N 2 --pty lsmod", "lsmod", "", false},
};

static void wrappers_are_taken_off(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct gp_command command;

		gp_command_read(commands[i].line, &command);
		if (command.n == 0 || command.part[0].n == 0 ||
		    strcmp(command.part[0].stage[0].word[0], commands[i].first) != 0 ||
		    strcmp(command.target, commands[i].target) != 0 ||
		    command.inside != commands[i].inside)
			fail_msg("'%s' gives '%s' on '%s'", commands[i].line,
				 command.n && command.part[0].n ? command.part[0].stage[0].word[0]
								: "",
				 command.target);
	}
}

static const struct {
	const char *line;
	bool shows; /* a row of nvidia_peermem */
} filters[] = {
	{"lsmod", true},
	{"lsmod | grep nvidia", true},
	{"lsmod | grep -i PEER", true},
	{"lsmod|grep peermem", true},
	{"lsmod | grep -E 'mlx5|peermem'", true},
	{"lsmod | egrep \"nvidia|mlx5\"", true},
	{"lsmod | grep 'mlx5\\|nvidia'", true},
	{"lsmod | grep -e mlx5 -e nvidia", true},
	{"lsmod | sort | grep ^nvidia", true},
	{"grep nvidia /proc/modules", true},
	{"lsmod | grep mlx5", false},
	{"lsmod | grep nv_peer", false},
	{"lsmod | grep PEER", false},
	{"lsmod | grep -v nvidia", false},
	{"lsmod | grep nvidia | grep drm", false},
	{"lsmod | head", false},
	{"lsmod | grep -c nvidia", false},
	{"lsmod | awk '/nvidia/'", false},
	{"grep mlx5 /proc/modules", false},
};

static void filters_tell_what_they_would_show(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		struct gp_command command;

		gp_command_read(filters[i].line, &command);
		if (gp_pipeline_shows(&command.part[0], "nvidia_peermem 16384 0") !=
		    filters[i].shows)
			fail_msg("'%s' %s", filters[i].line,
				 filters[i].shows ? "should show it" : "should not show it");
	}
}

/* --- facts --- */

/* One fact out of one text: its state and its value (NULL: not compared). */
static const struct {
	const char *text;
	enum gp_fact_id id;
	enum gp_known known;
	const char *value;
} facts[] = {
	{"$ uname -r\n5.15.0-118-generic\n", GP_FACT_KERNEL, GP_YES, "5.15.0-118-generic"},
	{"Linux n1 6.8.0-60-generic #63-Ubuntu SMP x86_64\n", GP_FACT_KERNEL, GP_YES, NULL},
	{"[    0.0] Linux version 6.8.0-60-generic (b@l) (gcc)\n", GP_FACT_KERNEL, GP_YES,
	 "6.8.0-60-generic"},
	{"NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  550.144.03  Release\n",
	 GP_FACT_OPEN, GP_YES, "550.144.03"},
	{"NVRM version: NVIDIA UNIX aarch64 Kernel Module  550.120  Fri\n", GP_FACT_OPEN, GP_NO,
	 "550.120"},
	{"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  TempVersion\n", GP_FACT_OPEN,
	 GP_YES, "TempVersion"},
	{"$ modinfo -F license nvidia\nNVIDIA\n", GP_FACT_OPEN, GP_NO, NULL},
	{"$ modinfo -F license nvidia\nDual MIT/GPL\n", GP_FACT_OPEN, GP_YES, NULL},
	{"| NVIDIA-SMI 555.42.02  Driver Version: 555.42.02  CUDA Version: 12.5  |\n",
	 GP_FACT_CUDA_DRIVER, GP_YES, "12.5"},
	{"CUDA Version 10.2.89\n", GP_FACT_CUDA_TOOLKIT, GP_YES, "10.2.89"},
	{"Cuda compilation tools, release 12.4, V12.4.131\n", GP_FACT_CUDA_TOOLKIT, GP_YES, "12.4"},
	{"{\n\"cuda\" : {\n\"name\" : \"CUDA SDK\",\n\"version\" : \"12.9.1\"\n}}\n",
	 GP_FACT_CUDA_TOOLKIT, GP_YES, "12.9.1"},
	{"libcudart.so.11.0 -> libcudart.so.11.8.89\n", GP_FACT_CUDA_TOOLKIT, GP_YES, "11.8.89"},
	{"$ ofed_info -s\nOFED-internal-25.10-1.7.1:\n", GP_FACT_OFED, GP_YES,
	 "OFED-internal-25.10-1.7.1"},
	{"wget https://example.org/MLNX_OFED_LINUX-5.8-1.0.tgz\n", GP_FACT_OFED, GP_UNKNOWN, NULL},
	{"$ rpm -qa | grep -i ofed\n$ date\n", GP_FACT_OFED, GP_NO, NULL},
	{"$ rpm -qa | grep -i kernel\n$ date\n", GP_FACT_OFED, GP_UNKNOWN, NULL},
	{"$ cat /sys/module/mlx5_core/version\n24.07-0.6.1\n", GP_FACT_OFED_MODULES, GP_YES,
	 "24.07-0.6.1"},
	{"$ lsmod | grep nvidia\nnvidia 5 0\n", GP_FACT_PEERMEM, GP_NO, NULL},
	{"$ lsmod | grep nvidia\n$ date\n", GP_FACT_PEERMEM, GP_NO, NULL},
	{"$ lsmod | grep nvidia\n$ date\n", GP_FACT_DRIVER, GP_NO, NULL},
	{"$ lsmod | grep mlx5\nmlx5_core 5 0\n", GP_FACT_PEERMEM, GP_UNKNOWN, NULL},
	{"$ lsmod\nnvidia 5 0\n...\n", GP_FACT_PEERMEM, GP_UNKNOWN, NULL},
	{"ib_core 557056 9 rdma_cm,nvidia_peermem,mlx5_ib\n", GP_FACT_PEERMEM, GP_YES, NULL},
	{"$ lsmod | grep peer\n$ modprobe nvidia-peermem\n$ lsmod | grep peer\nnvidia_peermem 5 "
	 "0\n",
	 GP_FACT_PEERMEM, GP_YES, NULL},
	{"$ ibv_devinfo\nNo IB devices found\n", GP_FACT_RDMA, GP_NO, NULL},
	{"$ docker exec c ibv_devinfo\nNo IB devices found\n", GP_FACT_RDMA, GP_UNKNOWN, NULL},
	{"$ ibv_devinfo\nbash: ibv_devinfo: command not found\n", GP_FACT_RDMA, GP_UNKNOWN, NULL},
	{"CA 'mlx5_0'\n\tCA type: MT4129\n", GP_FACT_RDMA, GP_YES, NULL},
	{"Infiniband device 'mlx5_0' port 1 status:\n", GP_FACT_RDMA, GP_YES, NULL},
	{"$ rdma link\nlink mlx5_0/1 state ACTIVE physical_state LINK_UP\n", GP_FACT_RDMA, GP_YES,
	 NULL},
	{"$ rdma link\n$ date\n", GP_FACT_RDMA, GP_NO, NULL},
	{"$ ls /sys/class/infiniband\nmlx5_0  mlx5_1\n", GP_FACT_RDMA, GP_YES, NULL},
	{"mlx5_0 port 1 ==> ib0 (Up)\n", GP_FACT_RDMA, GP_YES, NULL},
	{"$ ulimit -l\n64\n", GP_FACT_MEMLOCK, GP_NO, "64 KiB"},
	{"$ ulimit -l\nunlimited\n", GP_FACT_MEMLOCK, GP_YES, "unlimited"},
	{"max locked memory           (kbytes, -l) 8192\n", GP_FACT_MEMLOCK, GP_NO, "8192 KiB"},
	{"    BAR1 Memory Usage\n        Total                 : 131072 MiB\n", GP_FACT_BAR1,
	 GP_YES, "131072 MiB"},
	{"$ ls /sys/kernel/mm/memory_peers\nnv_mem\n", GP_FACT_MEMORY_PEERS, GP_YES, NULL},
};

static void texts_become_facts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		struct gp_fleet fleet = {0};
		struct gp_inventory *node = gp_fleet_add(&fleet);
		char *text = strdup(facts[i].text);
		const struct gp_host_fact *fact;

		assert_non_null(node);
		gp_inventory_text(&fleet, node, "row", NULL, text, strlen(text));
		fact = &node->facts[facts[i].id];
		if (fact->known != facts[i].known ||
		    (facts[i].value && strcmp(fact->value, facts[i].value) != 0))
			fail_msg("%s is %d '%s' out of:\n%s", gp_fact_name(facts[i].id),
				 fact->known, fact->known ? fact->value : "", facts[i].text);
		free(text);
		gp_fleet_close(&fleet);
	}
}

static void captured_names_are_commands(void **state)
{
	static const struct {
		const char *file, *command;
	} names[] = {
		{"uname", "uname "},
		{"sos_commands/kernel/uname_-a", "uname -a"},
		{"ofed_info_-s.txt", "ofed_info -s"},
		{"mst_status", "mst status"},
		{"proc/driver/nvidia/version", "cat /proc/driver/nvidia/version"},
		{"installed-rpms", "rpm -qa"},
	};
	char command[300];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(gp_tool_from_file(names[i].file, command, sizeof(command)));
		assert_string_equal(command, names[i].command);
	}
	assert_false(gp_tool_from_file("notes.txt", command, sizeof(command)));
}

static void versions_compare_by_number(void **state)
{
	(void)state;
	assert_true(gp_version_compare("5.9.0", "5.12", 2) < 0);
	assert_true(gp_version_compare("5.12.0-rc1", "5.12", 2) == 0);
	assert_true(gp_version_compare("v25.3.0", "24.9", 2) > 0);
	assert_true(gp_version_compare("11.7", "11.7", 2) == 0);
}

static void binary_is_refused(void **state)
{
	char text[] = "\x7f"
		      "ELF\0\1\2\3\0\0\0\0\0\0";
	struct gp_segments segments;

	(void)state;
	assert_int_equal(gp_segments_read(text, sizeof(text) - 1, NULL, &segments), -1);
	gp_segments_close(&segments);
}

static void this_host_needs_neither_root_nor_commands(void **state)
{
	struct gp_inventory inv = {0};
	struct gp_error err = {0};

	(void)state;
	assert_int_equal(gp_inventory_live(&inv, false, &err), 0);
	assert_int_equal(inv.facts[GP_FACT_KERNEL].known, GP_YES);
	gp_inventory_close(&inv);
	gp_inventory_close(&inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prompts_are_told_from_output),
		cmocka_unit_test(wrappers_are_taken_off),
		cmocka_unit_test(filters_tell_what_they_would_show),
		cmocka_unit_test(texts_become_facts),
		cmocka_unit_test(captured_names_are_commands),
		cmocka_unit_test(versions_compare_by_number),
		cmocka_unit_test(binary_is_refused),
		cmocka_unit_test(this_host_needs_neither_root_nor_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
