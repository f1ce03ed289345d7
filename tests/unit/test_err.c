/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_err: one failure as an object. The first stays, a code keeps its space, the advice fits the
 * call, the printed form is one line, and what comes from a peer is cut, cleaned and bounded.
 */
#include "err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void expect_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		print_error("no '%s' in '%s'\n", part, text);
	assert_non_null(strstr(text, part));
}

static void test_first_failure_stays(void **state)
{
	struct gp_error err = {0};

	(void)state;
	assert_int_equal(gp_error_set(&err, GP_EXIT_MISSING, "no %s", "NIC"), -1);
	assert_int_equal(gp_error_set(&err, GP_EXIT_FAILED, "clean-up"), -1);
	assert_int_equal(gp_error_errno(&err, GP_EXIT_WRONG, EIO, "close", "fd %d", 3), -1);
	assert_true(err.set);
	assert_int_equal(err.exit_code, GP_EXIT_MISSING);
	assert_string_equal(err.fact, "no NIC");
	assert_int_equal(err.space, GP_SPACE_NONE);
	assert_string_equal(err.call, "");
}

static void test_errno_is_named_with_call_and_detail(void **state)
{
	struct gp_error err = {0};

	(void)state;
	gp_error_errno(&err, GP_EXIT_FAILED, EACCES, "open", "/dev/x, %d bytes", 7);
	assert_string_equal(err.fact, "open(/dev/x, 7 bytes): EACCES (Permission denied)");
	assert_string_equal(err.call, "open");
	assert_int_equal(err.space, GP_SPACE_ERRNO);
	assert_int_equal(err.code, EACCES);
	assert_string_equal(err.advice, "");
}

static void test_code_keeps_its_space(void **state)
{
	static const struct {
		enum gp_space space;
		const char *name, *fact;
	} rows[] = {
		{GP_SPACE_ERRNO, NULL, "f(x): EINTR (Interrupted system call)"},
		{GP_SPACE_CUDART, "cudaErrorCudartUnloading", "f(x): cudaErrorCudartUnloading (4)"},
		{GP_SPACE_CUDA, "CUDA_ERROR_DEINITIALIZED", "f(x): CUDA_ERROR_DEINITIALIZED (4)"},
		{GP_SPACE_NVML, NULL, "f(x): error (4)"},
		{GP_SPACE_WC, "local protection error", "f(x): local protection error (4)"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_error err = {0};

		gp_error_code(&err, GP_EXIT_FAILED, rows[i].space, 4, rows[i].name, "f", "x");
		assert_string_equal(err.fact, rows[i].fact);
		assert_int_equal(err.space, rows[i].space);
		assert_int_equal(err.code, 4);
	}
}

static void test_advice_fits_call_space_and_code(void **state)
{
	static const struct {
		const char *call;
		enum gp_space space;
		int code;
		const char *part; /* NULL: none must be given */
	} rows[] = {
		{"ibv_reg_mr", GP_SPACE_ERRNO, EFAULT, "nvidia_peermem"},
		{"ibv_reg_mr", GP_SPACE_ERRNO, ENOMEM, ""},
		{"ibv_reg_mr", GP_SPACE_ERRNO, EINVAL, "--relaxed-ordering"},
		{"ibv_reg_mr", GP_SPACE_ERRNO, EPERM, NULL},
		{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, EOPNOTSUPP, "dma-buf"},
		{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, EFAULT, NULL},
		{"ibv_reg_dmabuf_mr", GP_SPACE_ERRNO, 524, "PCI topology"},
		{"cuMemGetHandleForAddressRange", GP_SPACE_CUDA, 801, "Open Kernel Module"},
		{"cuMemGetHandleForAddressRange", GP_SPACE_CUDART, 801, NULL},
		{"cudaMalloc", GP_SPACE_CUDART, 2, "--region"},
		{"cudaMalloc", GP_SPACE_ERRNO, 2, NULL},
		{"connect", GP_SPACE_ERRNO, ECONNREFUSED, "gdrproof serve"},
		{"bind", GP_SPACE_ERRNO, ECONNREFUSED, NULL},
		{"bind", GP_SPACE_ERRNO, EADDRINUSE, "--port"},
		{"ibv_poll_cq", GP_SPACE_WC, 12, "does not answer"},
		{"anything", GP_SPACE_WC, 12, "does not answer"},
		{"ibv_poll_cq", GP_SPACE_ERRNO, 12, NULL},
		{"ibv_poll_cq", GP_SPACE_WC, 9999, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_error err = {0};

		gp_error_code(&err, GP_EXIT_FAILED, rows[i].space, rows[i].code, "X", rows[i].call,
			      "x");
		if (!rows[i].part) {
			assert_string_equal(err.advice, "");
			continue;
		}
		assert_true(err.advice[0]);
		expect_in(err.advice, rows[i].part);
		assert_true(strlen(err.advice) < sizeof(err.advice) - 1); /* none is cut */
	}
}

static void test_advice_can_be_replaced(void **state)
{
	struct gp_error err = {0};

	(void)state;
	gp_error_errno(&err, GP_EXIT_FAILED, ECONNREFUSED, "connect", "h");
	gp_error_advise(&err, "ask %s", "them");
	assert_string_equal(err.advice, "ask them");
}

static void test_errno_text(void **state)
{
	static const struct {
		int code;
		const char *text;
	} rows[] = {
		{EFAULT, "EFAULT (Bad address)"},
		{ETIMEDOUT, "ETIMEDOUT (Connection timed out)"},
		{524, "524 (the kernel's ENOTSUPP)"},
		{99999, "errno 99999 (Unknown error 99999)"},
	};
	char buf[80];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_string_equal(gp_errno_text(rows[i].code, buf, sizeof(buf)), rows[i].text);
}

static void test_line(void **state)
{
	static const struct {
		const char *side, *fact, *advice, *line;
	} rows[] = {
		{"", "f", "", "f"},
		{"", "f", "a", "f; a"},
		{"client", "f", "", "client: f"},
		{"server", "f", "a", "server: f; a"},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct gp_error err = {0};

		gp_error_set(&err, GP_EXIT_FAILED, "%s", rows[i].fact);
		gp_error_advise(&err, "%s", rows[i].advice);
		gp_error_side(&err, rows[i].side);
		assert_string_equal(gp_error_line(&err, buf, sizeof(buf)), rows[i].line);
	}
}

static void test_line_of_foreign_text_is_one_line(void **state)
{
	struct gp_error err = {0};
	char buf[200];

	(void)state;
	gp_error_set(&err, GP_EXIT_USAGE, "unknown option %s", "--a\nb\r\033[2J");
	gp_error_line(&err, buf, sizeof(buf));
	assert_null(strpbrk(buf, "\n\r\033"));
}

static void test_side_is_named_once_and_only_on_a_failure(void **state)
{
	struct gp_error none = {0}, err = {0};

	(void)state;
	gp_error_side(&none, "client");
	assert_string_equal(none.side, "");
	gp_error_set(&err, GP_EXIT_FAILED, "f");
	gp_error_side(&err, "server");
	gp_error_side(&err, "client");
	assert_string_equal(err.side, "server");
}

static void test_json_keeps_everything(void **state)
{
	static const enum gp_space spaces[] = {GP_SPACE_NONE, GP_SPACE_ERRNO, GP_SPACE_CUDART,
					       GP_SPACE_CUDA, GP_SPACE_NVML,  GP_SPACE_WC};

	(void)state;
	for (size_t i = 0; i < COUNT(spaces); i++)
		for (int code = GP_EXIT_FAILED; code <= GP_EXIT_WRONG; code++) {
			struct gp_error err = {0}, back = {0};
			json_t *json;

			gp_error_code(&err, (enum gp_exit)code, spaces[i], 12, "NAME", "call",
				      "detail");
			gp_error_advise(&err, "do this");
			gp_error_side(&err, "server");
			json = gp_error_to_json(&err);
			assert_int_equal(gp_error_from_json(json, &back), 0);
			json_decref(json);
			assert_true(back.set);
			assert_int_equal(back.exit_code, code);
			assert_int_equal(back.space, spaces[i]);
			assert_int_equal(back.code, 12);
			assert_string_equal(back.side, "server");
			assert_string_equal(back.call, "call");
			assert_string_equal(back.fact, err.fact);
			assert_string_equal(back.advice, "do this");
		}
}

static void test_json_of_no_failure_is_none(void **state)
{
	struct gp_error none = {0};

	(void)state;
	assert_null(gp_error_to_json(&none));
}

static void test_json_from_a_peer_is_bounded(void **state)
{
	static const struct {
		const char *json;
		int rc;
		int exit_code;
		enum gp_space space;
	} rows[] = {
		{"{}", -1, 0, 0},
		{"[]", -1, 0, 0},
		{"\"text\"", -1, 0, 0},
		{"null", -1, 0, 0},
		{"{\"fact\": \"f\"}", -1, 0, 0},
		{"{\"exit_code\": 1}", -1, 0, 0},
		{"{\"exit_code\": \"1\", \"fact\": \"f\"}", -1, 0, 0},
		{"{\"exit_code\": 1.5, \"fact\": \"f\"}", -1, 0, 0},
		{"{\"exit_code\": 4, \"fact\": \"f\"}", 0, GP_EXIT_MISSING, GP_SPACE_NONE},
		{"{\"exit_code\": 0, \"fact\": \"f\"}", 0, GP_EXIT_FAILED, GP_SPACE_NONE},
		{"{\"exit_code\": 6, \"fact\": \"f\"}", 0, GP_EXIT_FAILED, GP_SPACE_NONE},
		{"{\"exit_code\": -1, \"fact\": \"f\"}", 0, GP_EXIT_FAILED, GP_SPACE_NONE},
		{"{\"exit_code\": 4294967300, \"fact\": \"f\"}", 0, GP_EXIT_FAILED, GP_SPACE_NONE},
		{"{\"exit_code\": 2, \"fact\": 7}", 0, GP_EXIT_USAGE, GP_SPACE_NONE},
		{"{\"exit_code\": 2, \"fact\": \"f\", \"space\": \"wc\"}", 0, GP_EXIT_USAGE,
		 GP_SPACE_WC},
		{"{\"exit_code\": 2, \"fact\": \"f\", \"space\": \"mars\"}", 0, GP_EXIT_USAGE,
		 GP_SPACE_NONE},
		{"{\"exit_code\": 2, \"fact\": \"f\", \"code\": {}, \"side\": [], \"x\": 1}", 0,
		 GP_EXIT_USAGE, GP_SPACE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		json_t *json = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
		struct gp_error err = {0};

		assert_non_null(json);
		assert_int_equal(gp_error_from_json(json, &err), rows[i].rc);
		assert_int_equal(err.set, rows[i].rc == 0);
		assert_int_equal(err.exit_code, rows[i].exit_code);
		assert_int_equal(err.space, rows[i].space);
		json_decref(json);
	}
	assert_int_equal(gp_error_from_json(NULL, &(struct gp_error){0}), -1);
}

static void test_json_texts_from_a_peer_are_cut_and_cleaned(void **state)
{
	struct gp_error err = {0};
	char big[2000];
	json_t *json;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	json = json_pack("{s:i s:s s:s s:s s:s}", "exit_code", 1, "fact", big, "advice",
			 "\033[2Jred\nline\r\177", "side", big, "call", big);
	assert_int_equal(gp_error_from_json(json, &err), 0);
	json_decref(json);
	assert_int_equal(strlen(err.fact), sizeof(err.fact) - 1);
	assert_int_equal(strlen(err.side), sizeof(err.side) - 1);
	assert_int_equal(strlen(err.call), sizeof(err.call) - 1);
	assert_string_equal(err.advice, " [2Jred line  ");
}

/* Texts are cut at a byte count and may hold what a user typed: the object must still be had. */
static void test_json_of_any_text_is_an_object(void **state)
{
	static const char *const texts[] = {"h\xffst", "\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80"};
	struct gp_error cut = {0};
	char big[600];
	json_t *json;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct gp_error err = {0};

		gp_error_set(&err, GP_EXIT_USAGE, "no host %s", texts[i]);
		json = gp_error_to_json(&err);
		assert_non_null(json);
		json_decref(json);
	}
	for (size_t i = 0; i + 2 < sizeof(big); i += 2)
		memcpy(big + i, "\xc3\xa4", 3);
	gp_error_set(&cut, GP_EXIT_FAILED, "%s", big);
	json = gp_error_to_json(&cut);
	assert_non_null(json);
	json_decref(json);
}

static void test_every_exit_code_has_a_sentence(void **state)
{
	(void)state;
	for (int a = GP_EXIT_OK; a <= GP_EXIT_WRONG; a++) {
		assert_true(gp_exit_text((enum gp_exit)a)[0]);
		for (int b = GP_EXIT_OK; b < a; b++)
			assert_string_not_equal(gp_exit_text((enum gp_exit)a),
						gp_exit_text((enum gp_exit)b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_failure_stays),
		cmocka_unit_test(test_errno_is_named_with_call_and_detail),
		cmocka_unit_test(test_code_keeps_its_space),
		cmocka_unit_test(test_advice_fits_call_space_and_code),
		cmocka_unit_test(test_advice_can_be_replaced),
		cmocka_unit_test(test_errno_text),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_line_of_foreign_text_is_one_line),
		cmocka_unit_test(test_side_is_named_once_and_only_on_a_failure),
		cmocka_unit_test(test_json_keeps_everything),
		cmocka_unit_test(test_json_of_no_failure_is_none),
		cmocka_unit_test(test_json_from_a_peer_is_bounded),
		cmocka_unit_test(test_json_texts_from_a_peer_are_cut_and_cleaned),
		cmocka_unit_test(test_json_of_any_text_is_an_object),
		cmocka_unit_test(test_every_exit_code_has_a_sentence),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
