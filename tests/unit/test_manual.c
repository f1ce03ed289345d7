/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_manual: the page and the completion that are made from a table, on a table that has whatever
 * could go wrong. How real pages are set, and that the script completes, is tests/cli/manual.sh.
 */
#include "options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const kinds[] = {".hidden", "it's", "plain", NULL};

static const struct gp_option rows[] = {
	{.name = "dot",
	 .letter = 'd',
	 .type = GP_OPT_TEXT,
	 .max = 9,
	 .def = ".x",
	 .arg = ".FILE",
	 .help = ".TH begins with a dot"},
	{.name = "quo-te",
	 .type = GP_OPT_CHOICES,
	 .choices = kinds,
	 .def = "plain",
	 .arg = "LIST",
	 .help = "'quoted' \\fBand\\n \"more\" ~ ^ `x`"},
	{.name = "count",
	 .letter = 'c',
	 .type = GP_OPT_INT,
	 .min = -1,
	 .max = 70000,
	 .zero_word = "none",
	 .def = "-1",
	 .arg = "N",
	 .help = "how many"},
	{.name = "place", .type = GP_OPT_TEXT, .max = 9, .arg = "N|near|far|BDF", .help = "where"},
	{.name = "flag", .letter = 'f', .help = "on or off"},
	{.name = NULL},
};

static const struct gp_option_table odd = {
	.command = "odd-one",
	.arguments = "FILE...",
	.summary = ".odd - 'summary'",
	.details = ".first\n'second'\n  a  table\n  .b  row\nafter\n\nlast",
	.rows = rows,
};
static const struct gp_option_table bare = {"bare", "", "no details", NULL, &rows[4]};
static const struct gp_option_table own = {"", "COMMAND", "does it", "Long.", &rows[4]};
static const struct gp_option_table *const commands[] = {&odd, &bare, NULL};
static const struct gp_program program = {&own, commands, "v1-2\"3\""};

static char *made(const struct gp_option_table *page)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	if (page)
		gp_options_manual(&program, page, out);
	else
		gp_options_completion(&program, out);
	fclose(out);
	return text;
}

static void expect_parts(const char *text, const char *const *parts)
{
	for (; *parts; parts++) {
		const char *found = strstr(text, *parts);

		if (!found)
			print_error("no '%s' (in this order) in:\n%s\n", *parts, text);
		assert_non_null(found);
		text = found + strlen(*parts);
	}
}

static void test_page_escapes_what_roff_would_take_for_its_own(void **state)
{
	static const char *const parts[] = {
		".TH GDRPROOF\\-ODD\\-ONE 1 \"\" \"gdrproof v1\\-2\\(dq3\\(dq\" ",
		".SH NAME\ngdrproof\\-odd\\-one \\- \\&.odd \\- \\(aqsummary\\(aq\n",
		".SH SYNOPSIS\n\\fBgdrproof\\fR \\fBodd\\-one\\fR [\\fIoptions\\fR] ",
		".SH DESCRIPTION\n\\&.first\n\\(aqsecond\\(aq\n"
		".nf\n  a  table\n  .b  row\n.fi\nafter\n.PP\nlast\n",
		".SH OPTIONS\n.TP\n\\fB\\-d\\fR, \\fB\\-\\-dot\\fR \\fI\\&.FILE\\fR\n"
		"\\&.TH begins with a dot\n.br\nDefault: \\&.x.\n",
		".TP\n\\fB\\-\\-quo\\-te\\fR \\fILIST\\fR\n"
		"\\(aqquoted\\(aq \\efBand\\en \\(dqmore\\(dq \\(ti \\(ha \\(gax\\(ga\n.br\n"
		"A list of: \\&.hidden, it\\(aqs, plain.\nDefault: plain.\n",
		"Range: \\-1 to 70000, or none.\nDefault: \\-1.\n",
		".TP\n\\fB\\-f\\fR, \\fB\\-\\-flag\\fR\non or off\n.TP\n\\fB\\-\\-help\\fR\n",
		NULL};
	char *text = made(&odd);

	(void)state;
	expect_parts(text, parts);
	free(text);
}

/* Whatever a table holds, a line begins with a dot only where it is one of our requests. */
static void test_page_has_only_requests_that_are_meant(void **state)
{
	static const char *const requests[] = {".TH ",	".SH ",	 ".TP\n", ".PP\n",  ".br\n",
					       ".nf\n", ".fi\n", ".nh\n", ".ad l\n"};
	char *text = made(&odd);

	(void)state;
	for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		bool known = line[0] != '.';

		for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
			known = known || strncmp(line, requests[i], strlen(requests[i])) == 0;
		assert_true(known);
		assert_true(line[0] != '\'');
	}
	free(text);
}

static void test_page_tells_exits_and_the_other_pages(void **state)
{
	static const char *const of_odd[] = {
		".SH \"EXIT STATUS\"\n", ".TP\n\\fB0\\fR\n", ".TP\n\\fB5\\fR\n",
		".SH \"SEE ALSO\"\n\\fBgdrproof\\fR(1),\n\\fBgdrproof\\-bare\\fR(1)\n", NULL};
	static const char *const of_own[] = {
		".TH GDRPROOF 1 ",
		"\\fBgdrproof\\fR \\fICOMMAND\\fR\n",
		".SH COMMANDS\n",
		"\\fBgdrproof\\-odd\\-one\\fR(1)\n\\&.odd",
		"\\fBgdrproof\\-bare\\fR(1)\n",
		".SH OPTIONS\n",
		"SEE ALSO\"\n\\fBgdrproof\\-odd\\-one\\fR(1),\n\\fBgdrproof\\-bare\\fR(1)\n",
		NULL};
	char *text = made(&odd);

	(void)state;
	expect_parts(text, of_odd);
	free(text);
	text = made(&own);
	expect_parts(text, of_own);
	free(text);
	text = made(&bare);
	assert_non_null(strstr(text, ".SH DESCRIPTION\nno details\n"));
	free(text);
}

static void test_completion_says_what_a_value_can_be(void **state)
{
	static const char *const parts[] = {
		"'') kind='words' words='odd-one bare' options='--flag -f --help'",
		"'odd-one') kind='file' options='--dot -d --quo-te --count -c --place --flag -f "
		"--help'",
		"'bare') kind='' options=",
		"'odd-one --dot' | 'odd-one -d') kind='none'",
		"'odd-one --quo-te') kind='list' words=",
		"'odd-one --count' | 'odd-one -c') kind='words' words='none'",
		"'odd-one --place') kind='words' words='near far'",
		NULL};
	char *text = made(NULL);

	(void)state;
	expect_parts(text, parts);
	assert_null(strstr(text, "--flag')")); /* takes no value */
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_escapes_what_roff_would_take_for_its_own),
		cmocka_unit_test(test_page_has_only_requests_that_are_meant),
		cmocka_unit_test(test_page_tells_exits_and_the_other_pages),
		cmocka_unit_test(test_completion_says_what_a_value_can_be),
	};

	return cmocka_run_group_tests_name("manual", tests, NULL, NULL);
}
