/* SPDX-License-Identifier: BSD-2-Clause */
/* record_file: a record from a file, whole or without its evidence; see record_read.h. */
#include "record_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARKS  "[]{},:\""
#define BLANKS " \t\r\n"

/* All of fd, and a byte more for its end; NULL with `err` set, by the name of `file`. */
static char *read_file(int fd, const char *file, size_t *size, struct gp_error *err)
{
	size_t room = 0, used = 0;
	char *text = NULL;
	ssize_t got = 1;

	while (got > 0) {
		if (used + 1 >= room) {
			char *more = realloc(text, room = room ? room * 2 : 131072);

			if (!more) {
				gp_error_set(err, GP_EXIT_FAILED, "out of memory for %s", file);
				break;
			}
			text = more;
			if (used > GP_RECORD_BYTES_MAX)
				break;
		}
		got = read(fd, text + used, room - used - 1);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			used += (size_t)got;
	}
	if (got < 0)
		gp_error_errno(err, GP_EXIT_USAGE, errno, "read", "%s", file);
	else if (used > GP_RECORD_BYTES_MAX)
		gp_error_set(err, GP_EXIT_USAGE, "%s: larger than %d MiB, no record of gdrproof",
			     file, GP_RECORD_BYTES_MAX >> 20);
	else if (used == 0)
		gp_error_set(err, GP_EXIT_USAGE, "%s: empty, no record of gdrproof", file);
	*size = used;
	if (!err->set) {
		text[used] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

/* The closing quote of the string that begins at p, or the end. */
static const char *string_end(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return p;
}

/* The bracket that closes the one at p, or the end. */
static const char *list_end(const char *p)
{
	int depth = 0;

	for (; *p; p++) {
		depth += (*p == '[') - (*p == ']');
		if (depth == 0)
			return p;
		if (*p == '"')
			p = string_end(p);
		if (!*p)
			break;
	}
	return p;
}

/* Copy a text with every list that is called evidence empty, and one blank for many: the parser
 * takes its time over each character. `out` has room for 3 more than the text; returns the length.
 */
static size_t copy_figures(const char *text, char *out)
{
	static const char name[] = "\"evidence\"";
	char *at = out;

	for (const char *p = text; *p; p++) {
		const char *from = p, *value;

		if (strchr(BLANKS, *p)) {
			p += strspn(p, BLANKS) - 1;
			if (at > out && !strchr(MARKS, at[-1]) && !strchr(MARKS, p[1]))
				*at++ = ' '; /* it parts two numbers or words */
			continue;
		}
		if (*p == '"')
			p = string_end(p);
		if (!*p)
			break;
		memcpy(at, from, (size_t)(p - from) + 1);
		at += p - from + 1;
		if (*p != '"' || strncmp(from, name, strlen(name)) != 0)
			continue;
		value = p + 1 + strspn(p + 1, BLANKS);
		value += *value == ':' ? 1 + strspn(value + 1, BLANKS) : 0;
		if (*value != '[' || !memchr(p, ':', (size_t)(value - p)))
			continue;
		at = stpcpy(at, ":[]");
		p = list_end(value);
		if (!*p)
			break;
	}
	return (size_t)(at - out);
}

/* Where the shortened text is no JSON, the whole one tells the line. */
static json_t *parse(const char *text, size_t size, bool figures, json_error_t *why)
{
	bool whole = !figures || strlen(text) != size; /* a NUL is for the parser to refuse */
	char *copy = whole ? NULL : malloc(size + 4);
	json_t *json = NULL;

	if (copy)
		json = json_loadb(copy, copy_figures(text, copy), JSON_REJECT_DUPLICATES, why);
	free(copy);
	return json ? json : json_loadb(text, size, JSON_REJECT_DUPLICATES, why);
}

static json_t *load(int fd, const char *file, bool figures, struct gp_error *err)
{
	json_error_t why;
	size_t size;
	char *text = read_file(fd, file, &size, err);
	json_t *json;

	if (!text)
		return NULL;
	json = parse(text, size, figures, &why);
	free(text);
	if (!json)
		gp_error_set(err, GP_EXIT_USAGE, "%s: no valid JSON, line %d: %.120s", file,
			     why.line, why.text);
	return json;
}

static int read_record(const char *file, bool figures, struct gp_record *record,
		       struct gp_error *err)
{
	bool is_stdin = strcmp(file, "-") == 0;
	int fd = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC), rc;
	struct gp_error why = {0};
	json_t *json;

	*record = (struct gp_record){0};
	if (fd < 0)
		return gp_error_errno(err, GP_EXIT_USAGE, errno, "open", "%s", file);
	json = load(fd, file, figures, err);
	if (!is_stdin)
		close(fd);
	if (!json)
		return -1;
	rc = gp_record_from_json(json, record, &why);
	json_decref(json);
	if (rc == 0)
		return 0;
	gp_error_set(err, why.exit_code, "%.150s: %s", file, why.fact);
	if (why.advice[0])
		gp_error_advise(err, "%s", why.advice);
	return -1;
}

int gp_record_read(const char *file, struct gp_record *record, struct gp_error *err)
{
	return read_record(file, false, record, err);
}

int gp_record_read_figures(const char *file, struct gp_record *record, struct gp_error *err)
{
	return read_record(file, true, record, err);
}
