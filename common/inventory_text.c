/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_text: a pasted text cut into commands and their output.
 *
 * First the bytes are cleaned, then lines are walked: one that is a prompt with a command, a header
 * that names a command, file or host, or a bare command line, ends the segment before it and
 * begins the next. Prompts that could as well be output (`# `, `> `, nothing at all) count only in
 * front of a command that gp_tool_is_command() knows.
 */
#include "inventory_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- cleaning --- */

/* UTF-16 with a byte order mark, as some editors save: what is ASCII in it stays. */
static size_t from_utf16(char *text, size_t length)
{
	bool little = (unsigned char)text[0] == 0xff;
	size_t out = 0;

	for (size_t i = 2; i + 1 < length; i += 2) {
		unsigned char low = (unsigned char)text[little ? i : i + 1];
		unsigned char high = (unsigned char)text[little ? i + 1 : i];

		text[out++] = high == 0 && low < 0x80 ? (char)low : '?';
	}
	text[out] = '\0';
	return out;
}

static bool is_utf16(const char *text, size_t length)
{
	return length >= 2 && (((unsigned char)text[0] == 0xff && (unsigned char)text[1] == 0xfe) ||
			       ((unsigned char)text[0] == 0xfe && (unsigned char)text[1] == 0xff));
}

/* More than one in thirty bytes that no text has, or any NUL among the first 4 KiB. */
static bool is_binary(const char *text, size_t length)
{
	size_t odd = 0, look = length < 65536 ? length : 65536;

	for (size_t i = 0; i < look; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == 0 && i < 4096)
			return true;
		odd += c < 0x20 && !strchr("\t\n\r\f\b\x1b\x07", c);
	}
	return odd * 30 > look;
}

/* Length of the escape sequence at `p` (CSI, OSC, or two bytes). */
static size_t escape_length(const char *p, const char *end)
{
	const char *q = p + 1;

	if (q < end && *q == '[') {
		for (q++; q < end && (unsigned char)*q < 0x40 && *q != '\n'; q++)
			;
	} else if (q < end && *q == ']') {
		for (q++; q < end && *q != '\a' && *q != '\n'; q++)
			if (*q == '\x1b')
				return (size_t)(q - p) + (q + 1 < end && q[1] == '\\' ? 2 : 0);
	}
	if (q >= end)
		return (size_t)(end - p);
	return (size_t)(q - p) + (*q == '\n' ? 0 : 1);
}

/* Bytes outside ASCII that stand for white space in what browsers copy, or for a table's line. */
static size_t odd_space(const char *p, const char *end, char *replacement)
{
	static const struct {
		const char *bytes;
		char replacement;
	} rows[] = {
		{"\xc2\xa0", ' '},	{"\xe2\x80\xaf", ' '}, {"\xe2\x80\x8b", '\0'},
		{"\xef\xbb\xbf", '\0'}, {"\xe2\x94\x82", '|'}, {"\xe2\x95\x91", '|'},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].bytes);

		if ((size_t)(end - p) >= n && memcmp(p, rows[i].bytes, n) == 0) {
			*replacement = rows[i].replacement;
			return n;
		}
	}
	return 0;
}

/* Everything that moves a cursor goes; line ends become '\n'. Returns the new length. */
static size_t clean(char *text, size_t length)
{
	const char *p = text, *end = text + length;
	char *out = text;

	while (p < end) {
		unsigned char c = (unsigned char)*p;
		char replacement = '\0';
		size_t skip;

		if (c >= 0x20 && c < 0x7f) {
			*out++ = *p++;
		} else if (c == '\x1b') {
			p += escape_length(p, end);
		} else if (c == '\r') {
			p++;
			if (p >= end || (*p != '\n' && *p != '\r'))
				*out++ = '\n';
		} else if (c == '\b') {
			p++;
			out -= out > text && out[-1] != '\n';
		} else if (c == '\n' || c == '\t') {
			*out++ = *p++;
		} else if (c < 0x20 || c == 0x7f) {
			*out++ = ' ';
			p++;
		} else if ((skip = odd_space(p, end, &replacement)) > 0) {
			if (replacement)
				*out++ = replacement;
			p += skip;
		} else {
			*out++ = *p++;
		}
	}
	*out = '\0';
	return (size_t)(out - text);
}

/* A mail quotes every line; a shell whose prompt is `> ` does not begin its output with it. */
static bool is_mail_quoted(const char *text)
{
	size_t lines = 0, quoted = 0;

	for (const char *p = text; *p && lines < 2000;) {
		if (*p != '\n') {
			lines++;
			quoted += *p == '>';
		}
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	return lines >= 4 && quoted * 10 >= lines * 8;
}

/* --- prompts and headers --- */

struct prompt {
	const char *command; /* behind the prompt; may be empty */
	char host[64];
	bool sure; /* nothing but a prompt looks like this: any command counts */
};

static const char word_chars[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

/* Length of a prompt's last character: $ # % > or one of the arrows of fancy shells. */
static size_t prompt_char(const char *p)
{
	static const char *const arrows[] = {"\xe2\x9d\xaf", "\xe2\x9e\x9c", "\xce\xbb", "\xc2\xbb",
					     "\xe2\x96\xb6"};

	if (*p && strchr("$#%>", *p))
		return 1;
	for (size_t i = 0; i < sizeof(arrows) / sizeof(arrows[0]); i++)
		if (strncmp(p, arrows[i], strlen(arrows[i])) == 0)
			return strlen(arrows[i]);
	return 0;
}

/* A prompt's end at `p`: its character, then a space or the end of the line. */
static const char *prompt_end(const char *p)
{
	size_t n = prompt_char(p);

	if (n == 0 || (p[n] && p[n] != ' ' && p[n] != '\t'))
		return NULL;
	return p + n + strspn(p + n, " \t");
}

static void host_set(struct prompt *prompt, const char *host, size_t length)
{
	if (length >= sizeof(prompt->host))
		length = sizeof(prompt->host) - 1;
	memcpy(prompt->host, host, length);
	prompt->host[length] = '\0';
}

/* "[root@n17 ~]# " */
static const char *bracket_prompt(const char *p, struct prompt *prompt)
{
	size_t name, user;
	const char *close;

	if (*p++ != '[')
		return NULL;
	user = strspn(p, word_chars);
	if (p[user] == '@')
		p += user + 1;
	name = strspn(p, word_chars);
	close = strchr(p, ']');
	if (name == 0 || !close || (p[name] != ' ' && p[name] != ':' && p + name != close) ||
	    close - p > 120)
		return NULL;
	host_set(prompt, p, name);
	prompt->sure = true;
	return prompt_end(close + 1 + (close[1] == ' '));
}

/* "user@host:~/dir$ ", "user@host ~ % ", "host:~ # ", "n17> "; without "@" and ":" it is unsure */
static const char *host_prompt(const char *p, struct prompt *prompt)
{
	size_t name = strspn(p, word_chars);
	bool user = p[name] == '@', path;

	if (user) {
		p += name + 1;
		name = strspn(p, word_chars);
	}
	if (name == 0)
		return NULL;
	path = p[name] == ':' && (p[name + 1] == '~' || p[name + 1] == '/');
	host_set(prompt, p, name);
	prompt->sure = user || path;
	p += name;
	if (user && prompt_char(p) == 0 && (*p == ':' || *p == ' ')) {
		p++;
		p += prompt_char(p) ? 0 : strcspn(p, " $#%>");
	} else if (path) {
		p += strcspn(p, " $#%");
	}
	p += *p == ' ' && prompt_char(p + 1);
	return prompt_end(p);
}

/* "bash-5.1$ ", "sh-4.4# " */
static const char *shell_prompt(const char *p, struct prompt *prompt)
{
	if (strncmp(p, "bash-", 5) != 0 && strncmp(p, "sh-", 3) != 0)
		return NULL;
	prompt->sure = true;
	return prompt_end(p + strspn(p, "bash-.0123456789v"));
}

/* "$ ", "# ", "> ", "+ " of set -x */
static const char *bare_prompt(const char *p, struct prompt *prompt)
{
	size_t plus = strspn(p, "+");

	if (plus > 0 && plus <= 4 && p[plus] == ' ')
		return p + plus + 1;
	prompt->sure = *p == '$';
	return prompt_end(p);
}

/* "(base) ", "[12:01:33] " and a fence's indentation stand before the prompt proper. */
static const char *skip_ornament(const char *p)
{
	p += strspn(p, " \t");
	if (*p == '(' && strcspn(p, ")") < 40 && strncmp(p + strcspn(p, ")"), ") ", 2) == 0 &&
	    strcspn(p, " ") > strcspn(p, ")"))
		p += strcspn(p, ")") + 2;
	if (isdigit((unsigned char)*p) && strspn(p, "0123456789:") == 8 && p[2] == ':' &&
	    p[8] == ' ')
		p += 9;
	if (*p == '[' && isdigit((unsigned char)p[1]) &&
	    p[1 + strspn(p + 1, "0123456789:.")] == ']')
		p += strcspn(p, "]") + 1;
	return p + strspn(p, " \t");
}

static bool prompt_read(const char *line, struct prompt *prompt)
{
	static const char *(*const forms[])(const char *, struct prompt *) = {
		bracket_prompt, shell_prompt, host_prompt, bare_prompt};
	const char *p = skip_ornament(line);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		*prompt = (struct prompt){0};
		prompt->command = forms[i](p, prompt);
		if (prompt->command && (prompt->sure || gp_tool_is_command(prompt->command)))
			return true;
	}
	if (!gp_tool_is_command(p))
		return false;
	*prompt = (struct prompt){.command = p};
	return true;
}

/* Without what decorates it on both sides; returns how many marks stood in front. */
static int undecorate(const char *line, char *buf, size_t size)
{
	static const char marks[] = " \t=-#*<>+~_`:";
	size_t front = strspn(line, marks), length;
	int n = 0;

	for (size_t i = 0; i < front; i++)
		n += line[i] != ' ' && line[i] != '\t';
	snprintf(buf, size, "%s", line + front);
	length = strlen(buf);
	while (length > 0 && strchr(marks, buf[length - 1]))
		buf[--length] = '\0';
	return n;
}

static bool looks_like_host(const char *word)
{
	size_t length = strspn(word, word_chars);

	return length >= 2 && !word[length] && isalnum((unsigned char)word[0]) &&
	       strpbrk(word, "0123456789.-") && strspn(word, "0123456789.") != length;
}

/* Ansible's "n17 | CHANGED | rc=0 >>" */
static bool ansible_read(const char *line, struct prompt *prompt)
{
	size_t length = strspn(line, word_chars);

	*prompt = (struct prompt){.command = "", .sure = true};
	if (length == 0 || strncmp(line + length, " | ", 3) != 0 || !strstr(line, " | rc="))
		return false;
	host_set(prompt, line, length);
	return true;
}

/* "==> lsmod <==", "=== n17 ===", "--- uname -r", "## `ofed_info -s`", "Output of lsmod:" */
static bool header_read(const char *line, struct prompt *prompt, char *buf, size_t size)
{
	static const char *const openers[] = {"output of ", "node: ", "node ", "host: ", "host "};
	int marks = undecorate(line, buf, size);
	bool opened = false;

	if (ansible_read(line, prompt))
		return true;
	/* an indented "rdma:" is YAML */
	if (!buf[0] || (marks < 2 && (line[strlen(line) - 1] != ':' || line[0] == ' ')))
		return false;
	for (size_t i = 0; i < sizeof(openers) / sizeof(openers[0]) && !opened; i++)
		if (strncasecmp(buf, openers[i], strlen(openers[i])) == 0) {
			buf += strlen(openers[i]);
			opened = true;
		}
	buf += buf[0] == '`';
	*prompt = (struct prompt){.command = buf, .sure = true};
	if (gp_tool_is_command(buf))
		return true;
	if (buf[0] == '/' && !strchr(buf, ' ') && marks >= 2) {
		memmove(buf + 4, buf, strlen(buf) + 1);
		memcpy(buf, "cat ", 4);
		return true;
	}
	if (marks < 3 || !looks_like_host(buf))
		return false;
	host_set(prompt, buf, strlen(buf));
	prompt->command = "";
	return true;
}

static bool is_fence(const char *line)
{
	line += strspn(line, " \t");
	return strncmp(line, "```", 3) == 0 || strncmp(line, "~~~", 3) == 0 ||
	       strncasecmp(line, "{code", 5) == 0 || strncasecmp(line, "{noformat", 9) == 0;
}

static bool is_elision(const char *line)
{
	static const char *const words[] = {"...",    "[...]",	     "<snip>",	     "[snip]",
					    "(...)",  "<...>",	     "\xe2\x80\xa6", "--snip--",
					    "(snip)", "<truncated>", "(truncated)",  "[truncated]"};

	line += strspn(line, " \t");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if (strncmp(line, words[i], n) == 0 && line[n + strspn(line + n, " \t.")] == '\0')
			return true;
	}
	return false;
}

/* --- segments --- */

/* Docker's default host name: twelve hex digits. */
bool gp_is_container_id(const char *name)
{
	return strlen(name) == 12 && strspn(name, "0123456789abcdef") == 12;
}

/* A shell in a container: its prompt has the container's name. */
static bool is_inside(const struct gp_segments *segments, const char *host)
{
	if (gp_is_container_id(host))
		return true;
	for (int i = segments->n - 1; i >= 0 && host[0]; i--)
		if (segments->item[i].inside && strcmp(segments->item[i].target, host) == 0)
			return true;
	return false;
}

static struct gp_segment *segment_add(struct gp_segments *segments, const char *command, int number,
				      const char *host)
{
	struct gp_segment *segment;

	if (segments->n == segments->capacity) {
		int capacity = segments->capacity ? 2 * segments->capacity : 16;
		struct gp_segment *item = realloc(segments->item, sizeof(*item) * (size_t)capacity);

		if (!item)
			return NULL;
		segments->item = item;
		segments->capacity = capacity;
	}
	segment = &segments->item[segments->n];
	*segment =
		(struct gp_segment){.command_number = number, .inside = is_inside(segments, host)};
	segments->n++;
	snprintf(segment->host, sizeof(segment->host), "%s", host);
	if (command && command[0])
		segment->command = strdup(command);
	if (segment->command) {
		struct gp_command parsed;

		gp_command_read(segment->command, &parsed);
		segment->inside |= parsed.inside;
		snprintf(segment->target, sizeof(segment->target), "%s", parsed.target);
	}
	return segment;
}

static void line_add(struct gp_segment *segment, char *text, int number)
{
	if (segment->n == segment->capacity) {
		int capacity = segment->capacity ? 2 * segment->capacity : 16;
		struct gp_line *lines = realloc(segment->lines, sizeof(*lines) * (size_t)capacity);

		if (!lines)
			return;
		segment->lines = lines;
		segment->capacity = capacity;
	}
	segment->lines[segment->n++] = (struct gp_line){text, number};
}

static struct gp_segment *last_of(struct gp_segments *segments)
{
	return segments->n ? &segments->item[segments->n - 1] : NULL;
}

/* Long lines of dmesg or logs need no prompt test: no prompt begins like that. */
static bool may_begin(const char *line)
{
	return strlen(line) < 1000 && !(line[0] == '[' && line[1] == ' ');
}

/* The walk: where the text is, and the host that the last prompt named. */
struct walk {
	struct gp_segments *segments;
	char host[64];
	char joined[1500]; /* a command that goes on behind a backslash */
	int joined_number;
};

static void begin(struct walk *walk, const struct prompt *prompt, int number)
{
	struct gp_segment *last = last_of(walk->segments);
	size_t length = strlen(prompt->command);

	if (last)
		last->closed = true;
	if (prompt->host[0])
		snprintf(walk->host, sizeof(walk->host), "%s", prompt->host);
	walk->joined_number = 0;
	if (length > 1 && prompt->command[length - 1] == '\\') {
		snprintf(walk->joined, sizeof(walk->joined), "%.*s ", (int)(length - 1),
			 prompt->command);
		walk->joined_number = number;
	}
	segment_add(walk->segments, prompt->command, number, walk->host);
}

/* The next line of a command that went on: put in place of the segment begun without it. */
static void join(struct walk *walk, const char *line)
{
	struct prompt prompt = {.command = walk->joined};
	int number = walk->joined_number;
	size_t used = strlen(walk->joined);

	line += strspn(line, " \t");
	line += line[0] == '>' && line[1] == ' ' ? 2 : 0;
	snprintf(walk->joined + used, sizeof(walk->joined) - used, "%s", line);
	free(last_of(walk->segments)->command);
	walk->segments->n--;
	begin(walk, &(struct prompt){.command = strdupa(prompt.command)}, number);
}

static void take_line(struct walk *walk, char *line, int number)
{
	struct gp_segment *last;
	struct prompt prompt;
	char header[320];

	if (walk->joined_number) {
		join(walk, line);
		return;
	}
	if (is_fence(line))
		return;
	if (may_begin(line) &&
	    (prompt_read(line, &prompt) || (strlen(line) < sizeof(header) / 2 &&
					    header_read(line, &prompt, header, sizeof(header))))) {
		begin(walk, &prompt, number);
		return;
	}
	last = last_of(walk->segments);
	if (!last)
		last = segment_add(walk->segments, NULL, 0, walk->host);
	if (!last)
		return;
	last->elided |= is_elision(line);
	line_add(last, line, number);
}

int gp_segments_read(char *text, size_t length, const char *command, struct gp_segments *out)
{
	struct walk walk = {.segments = out};
	bool quoted;
	int number = 0;

	*out = (struct gp_segments){0};
	if (is_utf16(text, length))
		length = from_utf16(text, length);
	if (is_binary(text, length))
		return -1;
	clean(text, length);
	quoted = is_mail_quoted(text);
	if (command)
		segment_add(out, command, 0, "");
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		while (quoted && *line == '>')
			line += 1 + (line[1] == ' ');
		take_line(&walk, line, number);
	}
	return 0;
}

void gp_segments_close(struct gp_segments *segments)
{
	for (int i = 0; i < segments->n; i++) {
		free(segments->item[i].command);
		free(segments->item[i].lines);
	}
	free(segments->item);
	*segments = (struct gp_segments){0};
}

const struct gp_line *gp_segment_first_line(const struct gp_segment *segment)
{
	for (int i = 0; i < segment->n; i++)
		if (!gp_is_blank(segment->lines[i].text))
			return &segment->lines[i];
	return NULL;
}
