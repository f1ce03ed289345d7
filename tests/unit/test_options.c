/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_options: every row of bw's table keeps its promises (default in range, what is written reads
 * back, outside refused, named by --help), and a command line and a wire object read alike.
 */
#include "bw_options.h"
#include "units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ARGS_MAX 40

/* A command line that was read. */
struct line {
	struct gp_bw_options opt;
	gp_option_mask given;
	const char *words[2];
	int n_words;
	struct gp_error err;
	int rc;
	char text[600];
};

/* Read "bw ARGS", split at blanks. */
static void read_line(struct line *line, const char *args)
{
	char *argv[ARGS_MAX] = {(char *)"bw"};
	int argc = 1;

	memset(line, 0, sizeof(*line));
	snprintf(line->text, sizeof(line->text), "%s", args);
	for (char *word = strtok(line->text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	gp_options_default(&gp_bw_table, &line->opt);
	line->rc = gp_options_parse(&gp_bw_table, argc, argv, &line->opt, &line->given, line->words,
				    2, &line->n_words, &line->err);
}

static void expect_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("no '%s' in '%s'\n", part, text);
	assert_non_null(strstr(text, part));
}

static void expect_refused(const struct gp_option *row, const char *text)
{
	struct gp_bw_options opt = {0}, before;
	struct gp_error err = {0};
	char name[80];

	gp_options_default(&gp_bw_table, &opt);
	before = opt;
	if (gp_option_read(row, text, &opt, &err) == 0)
		print_error("--%s took '%s'\n", row->name, text);
	assert_true(err.set);
	assert_int_equal(err.exit_code, GP_EXIT_USAGE);
	snprintf(name, sizeof(name), "--%s ", row->name);
	assert_memory_equal(err.fact, name, strlen(name));
	assert_memory_equal(&opt, &before, sizeof(opt)); /* set only on success */
}

/* Reads, and what is then written reads as the same. */
static void expect_identity(const struct gp_option *row, const char *text)
{
	struct gp_bw_options opt = {0}, back = {0};
	struct gp_error err = {0};
	char written[1024], again[1024];

	gp_options_default(&gp_bw_table, &opt);
	back = opt;
	if (gp_option_read(row, text, &opt, &err) < 0)
		print_error("%s\n", err.fact);
	assert_false(err.set);
	gp_option_write(row, &opt, written, sizeof(written));
	assert_int_equal(gp_option_read(row, written, &back, &err), 0);
	assert_memory_equal(&opt, &back, sizeof(opt));
	assert_string_equal(gp_option_write(row, &back, again, sizeof(again)), written);
}

static const struct gp_option *row_of(const char *name)
{
	const struct gp_option *row = gp_option_find(&gp_bw_table, name);

	assert_non_null(row);
	return row;
}

static bool is_number(const struct gp_option *row)
{
	return row->type == GP_OPT_INT || row->type == GP_OPT_REAL;
}

static bool is_size(const struct gp_option *row)
{
	return row->type == GP_OPT_SIZE || row->type == GP_OPT_SIZES;
}

#define FOR_EACH_ROW(row) for (const struct gp_option *row = gp_bw_table.rows; row->name; row++)

static void test_rows_are_well_formed(void **state)
{
	int n = 0;

	(void)state;
	FOR_EACH_ROW(row)
	{
		bool choice = row->type == GP_OPT_CHOICE || row->type == GP_OPT_CHOICES;

		n++;
		assert_true(row->offset < sizeof(struct gp_bw_options));
		assert_true(row->help && row->help[0]);
		assert_true(row->help[strlen(row->help) - 1] != '.');
		assert_int_equal(row->arg == NULL, row->type == GP_OPT_FLAG);
		assert_int_equal(row->choices != NULL, choice);
		assert_true(!row->zero_word || row->type == GP_OPT_INT || row->type == GP_OPT_SIZE);
		assert_true(row->type != GP_OPT_TEXTS || !(row->flags & GP_OPT_WIRE));
		if (is_number(row) || is_size(row))
			assert_true(row->min < row->max && row->def);
		for (const struct gp_option *other = gp_bw_table.rows; other < row; other++) {
			assert_string_not_equal(row->name, other->name);
			assert_true(row->letter == 0 || row->letter != other->letter);
			assert_true(row->offset != other->offset);
		}
		assert_string_not_equal(row->name, "help"); /* main's */
	}
	assert_true(n <= 64); /* bits of gp_option_mask */
}

static void test_defaults_are_in_range(void **state)
{
	struct gp_bw_options opt = {0};

	(void)state;
	gp_options_default(&gp_bw_table, &opt);
	FOR_EACH_ROW(row)
	if (row->def)
		expect_identity(row, row->def);
	assert_int_equal(opt.port, 18515);
	assert_int_equal(opt.size.n, 1);
	assert_int_equal(opt.size.bytes[0], GP_MIB);
	assert_int_equal(opt.path.index[0], GP_PATH_AUTO);
	assert_int_equal(opt.op.n, 2);
	assert_int_equal(opt.tx_depth, 128);
	assert_int_equal(opt.cq_mod, 0);
	assert_int_equal(opt.gid_index, -1);
	assert_int_equal(opt.relaxed_ordering, GP_ON);
	assert_int_equal(opt.region_bytes, 256 * GP_MIB);
	assert_true(opt.duration_s == 2);
	assert_false(opt.bidirectional);
}

static void test_written_reads_back(void **state)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{"port", "1"},
		{"port", "65535"},
		{"nic", "mlx5_0:1"},
		{"nic", ""},
		{"gpu", "none"},
		{"gpu", "0000:18:00.0"},
		{"path", "dmabuf"},
		{"path", "bounce,host,dmabuf"},
		{"path", "auto"},
		{"op", "read"},
		{"op", "read,write"},
		{"size", "1"},
		{"size", "64K,1M,8M,3000"},
		{"size", "1G"},
		{"all", "on"},
		{"all", "off"},
		{"cq-mod", "auto"},
		{"cq-mod", "1"},
		{"duration", "0.01"},
		{"duration", "0.25"},
		{"duration", "1e2"},
		{"duration", "3.14159265358979"},
		{"iters", "off"},
		{"iters", "2000000000"},
		{"gid-index", "-1"},
		{"gid-index", "255"},
		{"mtu", "auto"},
		{"mtu", "4096"},
		{"region", "1M"},
		{"region", "1024G"},
		{"relaxed-ordering", "off"},
		{"verify", "sample"},
		{"json", "-"},
		{"json", "a b/c.json"},
		{"bidirectional", "on"},
		{"min-gbps", "0"},
		{"min-gbps", "1000000"},
		{"timeout", "0.5"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		expect_identity(row_of(rows[i].name), rows[i].text);
}

static void test_written_reads_back_at_the_limits(void **state)
{
	char text[64];

	(void)state;
	FOR_EACH_ROW(row)
	{
		const double limits[] = {row->min, row->max};

		for (size_t i = 0; i < COUNT(limits); i++) {
			if (is_number(row))
				snprintf(text, sizeof(text), "%.15g", limits[i]);
			else if (is_size(row))
				gp_size_write((uint64_t)limits[i], text, sizeof(text));
			else
				continue;
			expect_identity(row, text);
		}
		for (int i = 0; row->choices && row->choices[i]; i++)
			expect_identity(row, row->choices[i]);
		if (row->zero_word)
			expect_identity(row, row->zero_word);
	}
}

static void test_written_reads_back_for_every_double(void **state)
{
	(void)state;
	expect_identity(row_of("duration"), "0.30000000000000004");
	expect_identity(row_of("timeout"), "3599.9999999999995");
}

static void test_outside_is_refused(void **state)
{
	char text[64];

	(void)state;
	FOR_EACH_ROW(row)
	{
		const double step = row->type == GP_OPT_REAL ? 1e-3 : 1;
		const double outside[] = {row->min - step, row->max + step, row->max * 1000 + 1};

		if (!is_number(row) && !is_size(row))
			continue;
		for (size_t i = 0; i < COUNT(outside); i++) {
			if (is_size(row))
				snprintf(text, sizeof(text), "%.0f", outside[i]);
			else
				snprintf(text, sizeof(text), "%.15g", outside[i]);
			expect_refused(row, text);
		}
	}
}

static void test_refusal_names_option_value_and_range(void **state)
{
	static const struct {
		const char *name, *text, *fact;
	} rows[] = {
		{"port", "70000", "--port takes 1 to 65535, not '70000'"},
		{"port", "x", "--port takes 1 to 65535, not 'x'"},
		{"port", "80.5", "--port takes a whole number, not '80.5'"},
		{"cq-mod", "-3", "--cq-mod takes 1 to 16384, or auto, not '-3'"},
		{"iters", "0", "--iters takes 1 to 2000000000, or off, not '0'"},
		{"duration", "0", "--duration takes 0.01 to 86400, not '0'"},
		{"region", "5", "--region takes 1M to 1024G, not '5'"},
		{"size", "2G", "--size takes 1 to 1G, not '2G'"},
		{"size", "1M,,2M", "--size takes a list such as 64K,1M,8M, not '1M,,2M'"},
		{"size", "1M,1024K", "--size names 1024K twice, not '1M,1024K'"},
		{"path", "magic",
		 "--path is a list of auto, dmabuf, peermem, host, bounce, not "
		 "'magic'"},
		{"op", "read,write,read", "--op names read twice, not 'read,write,read'"},
		{"verify", "yes", "--verify is one of full, sample, off, not 'yes'"},
		{"bidirectional", "maybe", "--bidirectional is on or off, not 'maybe'"},
		{"require-path", "0123456789abcdef",
		 "--require-path takes at most 15 characters, not '0123456789abcdef'"},
		{"nic", "a\tb", "--nic takes UTF-8 text without control characters, not "},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_bw_options opt = {0};
		struct gp_error err = {0};

		expect_refused(row_of(rows[i].name), rows[i].text);
		gp_option_read(row_of(rows[i].name), rows[i].text, &opt, &err);
		expect_in(err.fact, rows[i].fact);
	}
}

static void test_garbage_is_refused_by_every_number(void **state)
{
	static const char *const texts[] = {"",	    " ",  "x",	 "1x",	  "nan", "inf", "-inf",
					    "1,2,", ",1", "--1", "1e999", "1 ",	 "on",	"\xff"};

	(void)state;
	FOR_EACH_ROW(row)
	for (size_t i = 0; (is_number(row) || is_size(row)) && i < COUNT(texts); i++)
		expect_refused(row, texts[i]);
}

static void test_garbage_is_refused_by_every_choice(void **state)
{
	static const char *const texts[] = {"",	      ",",	"x",	 "ON",	       " on",
					    "write,", ",write", "auto ", "full,sample"};

	(void)state;
	FOR_EACH_ROW(row)
	for (size_t i = 0; row->choices && i < COUNT(texts); i++)
		expect_refused(row, texts[i]);
}

static void test_text_has_a_limit_and_no_control_characters(void **state)
{
	char text[1024];

	(void)state;
	FOR_EACH_ROW(row)
	{
		if (row->type != GP_OPT_TEXT)
			continue;
		memset(text, 'x', sizeof(text));
		text[(int)row->max] = '\0';
		expect_identity(row, text);
		text[(int)row->max] = 'x';
		text[(int)row->max + 1] = '\0';
		expect_refused(row, text);
		expect_refused(row, "a\nb");
		expect_refused(row, "\033[2J");
		expect_refused(row, "\177");
	}
}

static void test_list_has_a_limit(void **state)
{
	char text[400] = "1";
	struct line line;

	(void)state;
	for (int i = 2; i <= GP_LIST_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ",%d", i);
	expect_identity(row_of("size"), text);
	strcat(text, ",99");
	expect_refused(row_of("size"), text);
	read_line(&line, "-a h");
	assert_int_equal(gp_bw_options_finish(&line.opt, line.given, &line.err), 0);
	assert_int_equal(line.opt.size.n, 23);
	assert_int_equal(line.opt.size.bytes[0], 2);
	assert_int_equal(line.opt.size.bytes[22], 8 * GP_MIB);
}

static void test_repeated_option_collects_where_its_type_is_texts(void **state)
{
	static const struct gp_option rows[] = {
		{"from", 'f', GP_OPT_TEXTS, 0, 0, 0, NULL, NULL, NULL, "SRC", "sources", 0}, {0}};
	static const struct gp_option_table table = {"x", "", "s", NULL, rows};
	char *many[2 * GP_LIST_MAX + 4] = {(char *)"x"};
	char *argv[] = {(char *)"x",   (char *)"--from",   (char *)"a",
			(char *)"-fb", (char *)"--from=c", NULL};
	struct gp_text_list list = {0};
	struct gp_error err = {0};
	char buf[64];
	int n;

	(void)state;
	assert_int_equal(gp_options_parse(&table, 5, argv, &list, NULL, NULL, 0, &n, &err), 0);
	assert_int_equal(list.n, 3);
	assert_string_equal(gp_option_write(&rows[0], &list, buf, sizeof(buf)), "a,b,c");
	list.n = 0;
	for (int i = 0; i <= GP_LIST_MAX; i++)
		many[i + 1] = (char *)"-fz";
	assert_int_equal(
		gp_options_parse(&table, GP_LIST_MAX + 1, many, &list, NULL, NULL, 0, &n, &err), 0);
	list.n = 0;
	assert_int_equal(
		gp_options_parse(&table, GP_LIST_MAX + 2, many, &list, NULL, NULL, 0, &n, &err),
		-1);
	expect_in(err.fact, "at most 32 times");
}

static void test_forms_mean_the_same(void **state)
{
	static const struct {
		const char *a, *b;
	} rows[] = {
		{"h --size 64K", "h --size=64K"},
		{"h --size 64K", "h -s 64K"},
		{"h --size 64K", "h -s64K"},
		{"h --bidirectional --verbose", "h -bv"},
		{"h -b -v -D 3", "h -bvD3"},
		{"h --gid-index -1", "h --gid-index=-1"},
		{"h --gid-index 3", "h -x 3"},
		{"h --rounds 3", "h --round 3"}, /* an abbreviation that only one row has */
		{"h -s 1M -s 2M", "h -s 2M"},	 /* the last one counts */
		{"h --size 2048", "h --size 2K"},
	};
	struct line a, b;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		read_line(&a, rows[i].a);
		read_line(&b, rows[i].b);
		assert_int_equal(a.rc, 0);
		assert_int_equal(b.rc, 0);
		assert_memory_equal(&a.opt, &b.opt, sizeof(a.opt));
		assert_int_equal(a.given, b.given);
	}
}

static void test_order_does_not_matter(void **state)
{
	static const char *const parts[] = {"-s 64K,1M",    "--path dmabuf", "-b",
					    "host.example", "--min-gbps=40", "-x 3"};
	struct line first, line;
	size_t order[COUNT(parts)];

	(void)state;
	for (size_t turn = 0; turn < 720; turn++) {
		char text[200] = "";
		size_t left = turn;

		for (size_t i = 0; i < COUNT(parts); i++)
			order[i] = i;
		for (size_t i = 0; i < COUNT(parts); i++) { /* the turn-th permutation */
			size_t pick = i + left % (COUNT(parts) - i), swap = order[i];

			left /= COUNT(parts) - i;
			order[i] = order[pick];
			order[pick] = swap;
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
				 parts[order[i]]);
		}
		read_line(&line, text);
		assert_int_equal(line.rc, 0);
		assert_int_equal(line.n_words, 1);
		assert_string_equal(line.words[0], "host.example");
		assert_int_equal(gp_bw_options_finish(&line.opt, line.given, &line.err), 0);
		if (turn == 0)
			first = line;
		assert_memory_equal(&line.opt, &first.opt, sizeof(first.opt));
		assert_int_equal(line.given, first.given);
	}
}

static void test_command_lines_that_are_refused(void **state)
{
	static const struct {
		const char *args, *fact;
	} rows[] = {
		{"h --sise 1M", "unknown option --sise (did you mean --size?)"},
		{"h --dration=3", "(did you mean --duration?)"},
		{"h --tx_depth 3", "(did you mean --tx-depth?)"},
		{"h --min-gpbs 3", "(did you mean --min-gbps?)"},
		{"h --relaxed-order1ng on", "(did you mean --relaxed-ordering?)"},
		{"h --bidirectonal", "(did you mean --bidirectional?)"},
		{"h --frobnicate", "unknown option --frobnicate"},
		{"h --min 3", "unknown option --min"}, /* three rows begin so */
		{"h -Z", "unknown option -Z"},
		{"h -bZ", "unknown option -Z"},
		{"h --port", "--port needs a value"},
		{"h -p", "-p needs a value"},
		{"h --bidirectional=on", "--bidirectional=on"},
		{"a b c", "unexpected argument 'c'"},
		{"h --port 0", "--port takes 1 to 65535"},
		{"h -p -p", "--port takes 1 to 65535, not '-p'"},
	};
	struct line line;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		read_line(&line, rows[i].args);
		assert_int_equal(line.rc, -1);
		assert_int_equal(line.err.exit_code, GP_EXIT_USAGE);
		expect_in(line.err.fact, rows[i].fact);
	}
	read_line(&line, "h --frobnicate");
	assert_null(strstr(line.err.fact, "did you mean"));
	expect_in(line.err.advice, "gdrproof bw --help");
}

static void test_two_dashes_end_the_options(void **state)
{
	struct line line;

	(void)state;
	read_line(&line, "-b -- -v --port");
	assert_int_equal(line.rc, 0);
	assert_int_equal(line.n_words, 2);
	assert_string_equal(line.words[0], "-v");
	assert_string_equal(line.words[1], "--port");
	assert_false(line.opt.verbose);
}

static void test_given_are_those_on_the_line(void **state)
{
	struct line line;

	(void)state;
	read_line(&line, "h --size 1M -x -1 --verbose");
	FOR_EACH_ROW(row)
	{
		bool expected = strcmp(row->name, "size") == 0 ||
				strcmp(row->name, "gid-index") == 0 ||
				strcmp(row->name, "verbose") == 0;

		assert_int_equal(gp_option_given(&gp_bw_table, line.given, row->name), expected);
	}
	read_line(&line, "h");
	assert_int_equal(line.given, 0);
}

static char *help_text(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	gp_options_help(&gp_bw_table, out);
	fclose(out);
	return text;
}

static void test_help_names_every_row(void **state)
{
	char *help = help_text(), part[200];

	(void)state;
	FOR_EACH_ROW(row)
	{
		if (row->letter)
			snprintf(part, sizeof(part), "\n  -%c, --%s%s%s", row->letter, row->name,
				 row->arg ? " " : "", row->arg ? row->arg : "");
		else
			snprintf(part, sizeof(part), "\n      --%s%s%s", row->name,
				 row->arg ? " " : "", row->arg ? row->arg : "");
		expect_in(help, part);
		if (row->def && row->type != GP_OPT_FLAG) {
			snprintf(part, sizeof(part), "[%s]", row->def);
			expect_in(help, part);
		}
		for (int i = 0; row->choices && row->choices[i]; i++)
			expect_in(help, row->choices[i]);
	}
	expect_in(help, "usage: gdrproof bw [options] HOST\n");
	for (int code = GP_EXIT_OK; code <= GP_EXIT_WRONG; code++) {
		snprintf(part, sizeof(part), "  %d  %s\n", code, gp_exit_text((enum gp_exit)code));
		expect_in(help, part);
	}
	free(help);
}

static void test_help_fits_the_page(void **state)
{
	char *help = help_text();

	(void)state;
	for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n")) {
		if (strlen(line) > 100)
			print_error("%zu characters: %s\n", strlen(line), line);
		assert_true(strlen(line) <= 100);
		assert_true(line[0] && line[strlen(line) - 1] != ' ');
	}
	free(help);
}

static void test_wire_carries_every_wire_row_and_no_other(void **state)
{
	struct gp_bw_options opt = {0};
	json_t *json;

	(void)state;
	gp_options_default(&gp_bw_table, &opt);
	json = gp_options_to_json(&gp_bw_table, &opt, GP_OPT_WIRE);
	FOR_EACH_ROW(row)
	assert_int_equal(json_is_string(json_object_get(json, row->name)),
			 (row->flags & GP_OPT_WIRE) != 0);
	json_decref(json);
	json = gp_options_to_json(&gp_bw_table, &opt, GP_OPT_RECORD);
	FOR_EACH_ROW(row)
	assert_int_equal(json_is_string(json_object_get(json, row->name)),
			 (row->flags & GP_OPT_RECORD) != 0);
	json_decref(json);
}

static void test_wire_gives_the_server_what_the_client_has(void **state)
{
	static const char *const lines[] = {
		"h",
		"h -s 64K,3000,8M --path bounce,dmabuf --op read -b --server-nic mlx5_3:2 -q 4",
		"h --server-gpu none --verify off --relaxed-ordering off -n 1000 -D 0.25",
		"h --region 1G",
		"h -Q 16 -l 4 -t 64 -x 3 -m 1024 -S 2 -T 96 --timeout 3.5",
	};
	struct line line;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct gp_bw_options server = {0};
		struct gp_error err = {0};
		json_t *sent, *back;

		read_line(&line, lines[i]);
		assert_int_equal(line.rc, 0);
		sent = gp_options_to_json(&gp_bw_table, &line.opt, GP_OPT_WIRE);
		assert_int_equal(
			gp_options_from_json(&gp_bw_table, sent, GP_OPT_WIRE, &server, &err), 0);
		back = gp_options_to_json(&gp_bw_table, &server, GP_OPT_WIRE);
		assert_true(json_equal(sent, back));
		FOR_EACH_ROW(row)
		{
			char ours[1024], theirs[1024];

			gp_option_write(row, &line.opt, ours, sizeof(ours));
			gp_option_write(row, &server, theirs, sizeof(theirs));
			if (row->flags & GP_OPT_WIRE)
				assert_string_equal(ours, theirs);
		}
		json_decref(sent);
		json_decref(back);
	}
}

/* JSON holds UTF-8 only: other text is refused at once, or sent somehow; never left out. */
static void test_wire_never_leaves_out_a_text(void **state)
{
	(void)state;
	FOR_EACH_ROW(row)
	{
		struct gp_bw_options opt = {0};
		struct gp_error err = {0};
		json_t *json;

		if (row->type != GP_OPT_TEXT || !(row->flags & GP_OPT_WIRE))
			continue;
		if (gp_option_read(row, "mlx5_\xff", &opt, &err) < 0)
			continue;
		json = gp_options_to_json(&gp_bw_table, &opt, GP_OPT_WIRE);
		assert_true(json_is_string(json_object_get(json, row->name)));
		json_decref(json);
	}
}

static int from_json(json_t *json, struct gp_bw_options *opt, struct gp_error *err)
{
	int rc;

	*err = (struct gp_error){0};
	rc = gp_options_from_json(&gp_bw_table, json, GP_OPT_WIRE, opt, err);
	json_decref(json);
	if (rc < 0)
		assert_int_equal(err->exit_code, GP_EXIT_USAGE);
	return rc;
}

static void test_wire_refuses_what_a_peer_must_not_set(void **state)
{
	struct gp_bw_options opt = {0};
	struct gp_error err;

	(void)state;
	FOR_EACH_ROW(row)
	{
		char text[1024];

		gp_options_default(&gp_bw_table, &opt);
		gp_option_write(row, &opt, text, sizeof(text));
		assert_int_equal(from_json(json_pack("{s:s}", row->name, text), &opt, &err),
				 row->flags & GP_OPT_WIRE ? 0 : -1);
		if (err.set)
			expect_in(err.fact, row->name);
	}
	assert_int_equal(from_json(json_pack("{s:s}", "frobnicate", "1"), &opt, &err), -1);
	assert_int_equal(from_json(json_pack("{s:i}", "qp", 1), &opt, &err), -1);
	assert_int_equal(from_json(json_pack("{s:n}", "qp"), &opt, &err), -1);
	assert_int_equal(from_json(json_pack("{s:b}", "bidirectional", 1), &opt, &err), -1);
	assert_int_equal(from_json(json_pack("[s]", "qp"), &opt, &err), -1);
	assert_int_equal(from_json(NULL, &opt, &err), -1);
	assert_int_equal(from_json(json_object(), &opt, &err), 0);
}

static void test_wire_holds_the_same_limits(void **state)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{"qp", "0"},	      {"qp", "100000"}, {"size", "0"},	  {"size", "1M,1M"},
		{"size", "2G"},	      {"path", "nvme"}, {"op", ""},	  {"region", "2000G"},
		{"rounds", "5"},      {"timeout", "0"}, {"verify", "no"}, {"tx-depth", "1e9"},
		{"server-nic", "\n"},
	};
	struct gp_bw_options opt = {0};
	struct gp_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(
			from_json(json_pack("{s:s}", rows[i].name, rows[i].text), &opt, &err), -1);
}

static void test_wire_starts_from_the_defaults(void **state)
{
	struct gp_bw_options opt = {.qps = 99, .tx_depth = 1, .verify = GP_VERIFY_OFF};
	struct gp_error err;

	(void)state;
	assert_int_equal(from_json(json_pack("{s:s}", "qp", "3"), &opt, &err), 0);
	assert_int_equal(opt.qps, 3);
	assert_int_equal(opt.tx_depth, 128);
	assert_int_equal(opt.verify, GP_VERIFY_FULL);
}

static void test_finish_checks_what_no_row_can(void **state)
{
	static const struct {
		const char *args, *fact; /* NULL: accepted */
	} rows[] = {
		{"h", NULL},
		{"h -a", NULL},
		{"h -a -s 1M", "--all and --size exclude each other"},
		{"h --path host", NULL},
		{"h --path host --gpu 1", "--path host moves host memory"},
		{"h --path host --server-gpu 0", "--path host moves host memory"},
		{"h --path host,bounce --gpu 1", NULL},
		{"h --gpu none", NULL},
		{"h --server-gpu none", NULL},
		{"h --gpu none --server-gpu none", "leaves only --path host"},
		{"h --gpu none --server-gpu none --path bounce", "leaves only --path host"},
		{"h --path auto,host", "--path auto stands alone"},
		{"h --path host,auto", "--path auto stands alone"},
		{"h --require-path dmabuf", NULL},
		{"h --require-path auto", "no path is called 'auto'"},
		{"h --require-path dmabuff", "no path is called 'dmabuff'"},
		{"h -t 64 -Q 64", NULL},
		{"h -t 64 -Q 65", "can't be over --tx-depth (64)"},
		{"h -t 64 -l 128", "can't be over --tx-depth (64)"},
		{"h -Q 8 -l 4", NULL},
		{"h -Q 4 -l 8", NULL},
		{"h -Q 6 -l 4", "must be a multiple of the other"},
		{"h -Q 100 -l 100", NULL},
		{"h -m 256", NULL},
		{"h -m 4096", NULL},
		{"h -m 1500", "--mtu is 256, 512, 1024, 2048 or 4096, not 1500"},
		{"h -x 3", NULL},
		{"h -x 3 --connect tcp", NULL},
		{"h -x 3 --connect cm", "--gid-index goes with --connect tcp"},
		{"h -m 1024 --connect cm", "--mtu goes with --connect tcp"},
		{"h -S 1 --connect cm", "--sl goes with --connect tcp"},
		{"h -T 96 --connect cm", NULL},
	};
	struct line line;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		read_line(&line, rows[i].args);
		assert_int_equal(line.rc, 0);
		line.rc = gp_bw_options_finish(&line.opt, line.given, &line.err);
		if ((line.rc == 0) != (rows[i].fact == NULL))
			print_error("bw %s: %s\n", rows[i].args, line.err.fact);
		assert_int_equal(line.rc, rows[i].fact ? -1 : 0);
		if (rows[i].fact) {
			assert_int_equal(line.err.exit_code, GP_EXIT_USAGE);
			expect_in(line.err.fact, rows[i].fact);
		}
	}
}

static void test_finish_connects_by_tcp_where_cm_has_no_say(void **state)
{
	static const struct {
		const char *args;
		int connect;
	} rows[] = {
		{"h", GP_CONNECT_AUTO},		  {"h --connect cm", GP_CONNECT_BY_CM},
		{"h -x 3", GP_CONNECT_BY_TCP},	  {"h -x -1", GP_CONNECT_BY_TCP},
		{"h -m 1024", GP_CONNECT_BY_TCP}, {"h -S 1", GP_CONNECT_BY_TCP},
		{"h -T 96", GP_CONNECT_AUTO},
	};
	struct line line;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		read_line(&line, rows[i].args);
		assert_int_equal(gp_bw_options_finish(&line.opt, line.given, &line.err), 0);
		assert_int_equal(line.opt.connect, rows[i].connect);
	}
}

/* What the client settled must be acceptable to the server, which finishes it once more. */
static void test_finish_may_be_done_on_both_sides(void **state)
{
	static const char *const lines[] = {"h",	   "h -a",
					    "h -x 3",	   "h --path host",
					    "h -Q 8 -l 4", "h --gpu none --path bounce"};
	struct line line;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct gp_bw_options server = {0};
		struct gp_error err = {0};
		json_t *json;

		read_line(&line, lines[i]);
		assert_int_equal(gp_bw_options_finish(&line.opt, line.given, &line.err), 0);
		json = gp_options_to_json(&gp_bw_table, &line.opt, GP_OPT_WIRE);
		assert_int_equal(
			gp_options_from_json(&gp_bw_table, json, GP_OPT_WIRE, &server, &err), 0);
		json_decref(json);
		assert_int_equal(gp_bw_options_finish(&server, 0, &err), 0);
		assert_int_equal(gp_bw_region_bytes(&server), gp_bw_region_bytes(&line.opt));
		assert_int_equal(server.size.n, line.opt.size.n);
	}
}

static void test_gpu_matters_unless_all_is_host(void **state)
{
	static const struct {
		const char *args;
		bool uses;
	} rows[] = {
		{"h", true},
		{"h --path host", false},
		{"h --path bounce", true},
		{"h --path host,bounce", true},
		{"h --path peermem", true},
	};
	struct line line;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		read_line(&line, rows[i].args);
		assert_int_equal(gp_bw_uses_gpu(&line.opt), rows[i].uses);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_well_formed),
		cmocka_unit_test(test_defaults_are_in_range),
		cmocka_unit_test(test_written_reads_back),
		cmocka_unit_test(test_written_reads_back_at_the_limits),
		cmocka_unit_test(test_written_reads_back_for_every_double),
		cmocka_unit_test(test_outside_is_refused),
		cmocka_unit_test(test_refusal_names_option_value_and_range),
		cmocka_unit_test(test_garbage_is_refused_by_every_number),
		cmocka_unit_test(test_garbage_is_refused_by_every_choice),
		cmocka_unit_test(test_text_has_a_limit_and_no_control_characters),
		cmocka_unit_test(test_list_has_a_limit),
		cmocka_unit_test(test_repeated_option_collects_where_its_type_is_texts),
		cmocka_unit_test(test_forms_mean_the_same),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_command_lines_that_are_refused),
		cmocka_unit_test(test_two_dashes_end_the_options),
		cmocka_unit_test(test_given_are_those_on_the_line),
		cmocka_unit_test(test_help_names_every_row),
		cmocka_unit_test(test_help_fits_the_page),
		cmocka_unit_test(test_wire_carries_every_wire_row_and_no_other),
		cmocka_unit_test(test_wire_gives_the_server_what_the_client_has),
		cmocka_unit_test(test_wire_never_leaves_out_a_text),
		cmocka_unit_test(test_wire_refuses_what_a_peer_must_not_set),
		cmocka_unit_test(test_wire_holds_the_same_limits),
		cmocka_unit_test(test_wire_starts_from_the_defaults),
		cmocka_unit_test(test_finish_checks_what_no_row_can),
		cmocka_unit_test(test_finish_connects_by_tcp_where_cm_has_no_say),
		cmocka_unit_test(test_finish_may_be_done_on_both_sides),
		cmocka_unit_test(test_gpu_matters_unless_all_is_host),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
