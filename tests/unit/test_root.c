/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_root: what a capture may and may not do: no link leads out, nothing runs, sizes are bound.
 */
#include "root.h"
#include "units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/gdrproof-root-XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[200];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void link_file(const char *target, const char *name)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(symlink(target, path), 0);
}

static int make_directory(void **state)
{
	char path[200];

	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/sub", directory);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/pipe", directory);
	mkfifo(path, 0666);
	write_file("plain", "text\n");
	write_file("empty", "");
	write_file("sub/b", "b");
	write_file("sub/a", "a");
	link_file("/etc/passwd", "absolute");
	link_file("../../../../etc/passwd", "dots");
	link_file("../bus/pci/drivers/mlx5_core", "driver");
	return 0;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"sub/a", "sub/b",  "sub",  "plain", "empty", "absolute",
					    "dots",  "driver", "pipe", "huge",	""};
	char path[200];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		if (remove(path) < 0 && i + 1 == sizeof(names) / sizeof(names[0]))
			return -1;
	}
	return 0;
}

static void read_gives_the_text_or_one_sentence(void **state)
{
	struct gp_root root;
	struct gp_error err = {0};
	struct gp_bytes bytes;

	(void)state;
	assert_int_equal(gp_root_open(directory, &root, &err), 0);
	assert_int_equal(gp_root_read(&root, "plain", &bytes, &err), 0);
	assert_string_equal(bytes.text, "text\n");
	assert_int_equal(bytes.length, 5);
	free(bytes.text);
	assert_int_equal(gp_root_read(&root, "empty", &bytes, &err), 0);
	assert_int_equal(bytes.length, 0);
	free(bytes.text);
	assert_int_equal(gp_root_read(&root, "none", &bytes, &err), -1);
	assert_int_equal(err.exit_code, GP_EXIT_USAGE);
	assert_non_null(strstr(err.fact, "none"));
	gp_root_close(&root);
	gp_root_close(&root);
}

static void links_stay_inside_and_pipes_do_not_block(void **state)
{
	static const char *const names[] = {"absolute", "dots", "pipe", "sub"};
	struct gp_root root;
	struct gp_bytes bytes;
	struct gp_error err = {0};
	char name[40];

	(void)state;
	assert_int_equal(gp_root_open(directory, &root, &err), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		err = (struct gp_error){0};
		assert_int_equal(gp_root_read(&root, names[i], &bytes, &err), -1);
		assert_true(err.set);
	}
	assert_true(gp_root_link_name(&root, "driver", name, sizeof(name)));
	assert_string_equal(name, "mlx5_core");
	assert_false(gp_root_link_name(&root, "plain", name, sizeof(name)));
	gp_root_close(&root);
}

static void too_large_is_refused(void **state)
{
	struct gp_root root;
	struct gp_bytes bytes;
	struct gp_error err = {0};
	char path[200];

	(void)state;
	write_file("huge", "");
	snprintf(path, sizeof(path), "%s/huge", directory);
	assert_int_equal(truncate(path, (off_t)GP_ROOT_FILE_MAX + 1), 0);
	assert_int_equal(gp_root_open(directory, &root, &err), 0);
	assert_int_equal(gp_root_read(&root, "huge", &bytes, &err), -1);
	assert_non_null(strstr(err.fact, "larger than"));
	gp_root_close(&root);
}

static void lists_are_sorted_and_bounded(void **state)
{
	struct gp_root root;
	struct gp_error err = {0};
	char **names;

	(void)state;
	assert_int_equal(gp_root_open(directory, &root, &err), 0);
	assert_int_equal(gp_root_list(&root, "sub", 10, &names), 2);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "b");
	gp_root_names_free(names, 2);
	assert_int_equal(gp_root_list(&root, "sub", 1, &names), 1);
	gp_root_names_free(names, 1);
	assert_int_equal(gp_root_list(&root, "none", 10, &names), 0);
	gp_root_names_free(names, 0);
	assert_true(gp_root_is_directory(&root, "sub"));
	assert_false(gp_root_is_directory(&root, "plain"));
	gp_root_close(&root);
}

static void commands_run_on_a_live_root_only(void **state)
{
	const char *const echo[] = {"echo", "one", NULL};
	const char *const none[] = {"gdrproof-no-such-command", NULL};
	struct gp_root root;
	struct gp_bytes bytes;
	struct gp_error err = {0};

	(void)state;
	assert_int_equal(gp_root_open(NULL, &root, &err), 0);
	assert_int_equal(gp_root_run(&root, echo, 5000, &bytes, &err), 0);
	assert_string_equal(bytes.text, "one\n");
	free(bytes.text);
	assert_int_equal(gp_root_run(&root, none, 5000, &bytes, &err), 1);
	gp_root_close(&root);
	assert_int_equal(gp_root_open(directory, &root, &err), 0);
	assert_int_equal(gp_root_run(&root, echo, 5000, &bytes, &err), -1);
	assert_non_null(strstr(err.fact, "capture"));
	gp_root_close(&root);
}

static void a_command_that_hangs_is_killed(void **state)
{
	const char *const sleeper[] = {"sh", "-c", "sleep 60 & sleep 60", NULL};
	struct gp_root root;
	struct gp_bytes bytes;
	struct gp_error err = {0};
	uint64_t start_ns = gp_now_ns();

	(void)state;
	assert_int_equal(gp_root_open(NULL, &root, &err), 0);
	assert_int_equal(gp_root_run(&root, sleeper, 100, &bytes, &err), -1);
	assert_non_null(strstr(err.fact, "did not end"));
	assert_true(gp_now_ns() - start_ns < 30 * GP_NS_PER_S);
	gp_root_close(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_gives_the_text_or_one_sentence),
		cmocka_unit_test(links_stay_inside_and_pipes_do_not_block),
		cmocka_unit_test(too_large_is_refused),
		cmocka_unit_test(lists_are_sorted_and_bounded),
		cmocka_unit_test(commands_run_on_a_live_root_only),
		cmocka_unit_test(a_command_that_hangs_is_killed),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
