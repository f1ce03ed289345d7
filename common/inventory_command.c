/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_command: one command line taken apart, as far as its output depends on it: what runs
 * (below sudo, ssh, docker exec, kubectl exec and the like), on what, and through which filters.
 * It is no shell: variables, substitutions and redirections stay words or are dropped.
 */
#include "inventory_text.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

/* --- wrappers: words before the command that do not change what it prints --- */

enum wrapper_kind {
	WRAP_PLAIN,	/* options, then the command: sudo, time */
	WRAP_HOST,	/* options, a host, then the command: ssh */
	WRAP_HOSTS,	/* options, then the command, output prefixed: pdsh */
	WRAP_CONTAINER, /* "exec", options, a container, then the command: docker */
	WRAP_POD,	/* "exec" or "debug", a pod, "--", then the command: kubectl */
	WRAP_SHELL,	/* "-c", then the command as one word: bash */
};

static const struct wrapper {
	const char *name;
	enum wrapper_kind kind;
	const char *valued; /* letters of options that take the next word */
} wrappers[] = {
	{"sudo", WRAP_PLAIN, "ugCpT"},
	{"doas", WRAP_PLAIN, "uC"},
	{"time", WRAP_PLAIN, "fo"},
	{"env", WRAP_PLAIN, "uC"},
	{"nohup", WRAP_PLAIN, ""},
	{"timeout", WRAP_HOST, "ks"},
	{"watch", WRAP_PLAIN, "n"},
	{"stdbuf", WRAP_PLAIN, "ioe"},
	{"chroot", WRAP_HOST, ""},
	{"nsenter", WRAP_PLAIN, "tSG"},
	{"srun", WRAP_PLAIN, "NnwptcAJG"},
	{"ssh", WRAP_HOST, "ilopFJbcDEeLmOQRSWw"},
	{"pdsh", WRAP_HOSTS, "wxgtuf"},
	{"clush", WRAP_HOSTS, "wxgtuf"},
	{"dsh", WRAP_HOSTS, "mgn"},
	{"docker", WRAP_CONTAINER, "uwe"},
	{"podman", WRAP_CONTAINER, "uwe"},
	{"nerdctl", WRAP_CONTAINER, "uwe"},
	{"crictl", WRAP_CONTAINER, "rit"},
	{"kubectl", WRAP_POD, "nc"},
	{"oc", WRAP_POD, "nc"},
	{"k", WRAP_POD, "nc"},
	{"microk8s", WRAP_PLAIN, ""},
	{"bash", WRAP_SHELL, ""},
	{"sh", WRAP_SHELL, ""},
	{"zsh", WRAP_SHELL, ""},
};
#define N_WRAPPERS (sizeof(wrappers) / sizeof(wrappers[0]))

/* The next word, quotes respected but kept; *text moves behind it. */
static size_t word_length(const char *text)
{
	char quote = '\0';
	size_t i = 0;

	for (; text[i] && (quote || !isspace((unsigned char)text[i])); i++) {
		if (quote)
			quote = text[i] == quote ? '\0' : quote;
		else if (text[i] == '\'' || text[i] == '"')
			quote = text[i];
	}
	return i;
}

static void word_copy(const char *text, char *word, size_t size)
{
	size_t length = word_length(text);

	snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), text);
}

static const char *word_next(const char *text)
{
	text += word_length(text);
	return text + strspn(text, " \t");
}

static const char *skip_options(const char *text, const char *valued)
{
	while (text[0] == '-' && text[1] && strncmp(text, "-- ", 3) != 0) {
		size_t length = word_length(text);
		/* "-u root" takes a word, "-uroot" and "--user=root" have it inside */
		bool takes = length == 2 && strchr(valued, text[1]) != NULL;

		text = word_next(text);
		if (takes)
			text = word_next(text);
	}
	return strncmp(text, "-- ", 3) == 0 ? word_next(text) : text;
}

/* NULL where these words are no exec: `docker ps`, `kubectl get`. */
static const char *enter_container(const char *text, const struct wrapper *wrapper,
				   struct gp_command *out)
{
	const char *rest;

	text = skip_options(text, wrapper->valued);
	if (strncmp(text, "exec ", 5) != 0)
		return NULL;
	rest = skip_options(word_next(text), wrapper->valued);
	word_copy(rest, out->target, sizeof(out->target));
	out->inside = true;
	return word_next(rest);
}

static const char *enter_pod(const char *text, const struct wrapper *wrapper,
			     struct gp_command *out)
{
	const char *rest, *dashes = strstr(text, " -- ");

	text = skip_options(text, wrapper->valued);
	if ((strncmp(text, "exec ", 5) != 0 && strncmp(text, "debug ", 6) != 0) || !dashes)
		return NULL;
	rest = skip_options(word_next(text), wrapper->valued);
	word_copy(strncmp(rest, "node/", 5) == 0 ? rest + 5 : rest, out->target,
		  sizeof(out->target));
	out->inside = strncmp(rest, "node/", 5) != 0;
	return dashes + 4;
}

static const char *enter_shell(const char *text)
{
	while (text[0] == '-') {
		bool command = strchr(text, 'c') && strchr(text, 'c') < text + word_length(text);

		text = word_next(text);
		if (command)
			return text;
	}
	return NULL;
}

static const char *enter_host(const char *text, const struct wrapper *wrapper,
			      struct gp_command *out)
{
	const char *at;
	char word[80];

	text = skip_options(text, wrapper->valued);
	word_copy(text, word, sizeof(word));
	at = strrchr(word, '@');
	if (strcmp(wrapper->name, "ssh") == 0)
		snprintf(out->target, sizeof(out->target), "%s", at ? at + 1 : word);
	return word_next(text);
}

/* What stands behind one wrapper, or NULL where `text` does not begin with one. */
static const char *unwrap(const char *text, struct gp_command *out)
{
	char word[32];

	word_copy(text, word, sizeof(word));
	for (size_t i = 0; i < N_WRAPPERS; i++) {
		const struct wrapper *wrapper = &wrappers[i];
		const char *slash = strrchr(word, '/');

		if (strcmp(slash ? slash + 1 : word, wrapper->name) != 0)
			continue;
		text = word_next(text);
		switch (wrapper->kind) {
		case WRAP_HOST:
			return enter_host(text, wrapper, out);
		case WRAP_CONTAINER:
			return enter_container(text, wrapper, out);
		case WRAP_POD:
			return enter_pod(text, wrapper, out);
		case WRAP_SHELL:
			return enter_shell(text);
		case WRAP_HOSTS:
			out->prefixed = true;
			return skip_options(text, wrapper->valued);
		case WRAP_PLAIN:
			return skip_options(text, wrapper->valued);
		}
	}
	/* NAME=value in front of a command */
	if (strchr(word, '=') && (isalpha((unsigned char)word[0]) || word[0] == '_') &&
	    word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")] ==
		    '=')
		return word_next(text);
	return NULL;
}

bool gp_command_is_wrapper(const char *name)
{
	for (size_t i = 0; i < N_WRAPPERS; i++)
		if (strcmp(name, wrappers[i].name) == 0)
			return true;
	return false;
}

/* --- lexing --- */

/* "uname -r; lsmod" as one quoted word is a command line of its own: blank its two quotes. */
static void open_quotes(char *text)
{
	char *end = text[0] == '\'' || text[0] == '"' ? strchr(text + 1, text[0]) : NULL;

	if (end)
		*text = *end = ' ';
}

static bool is_operator(const char *p, size_t *length)
{
	*length = (p[0] == '|' && p[1] == '|') || (p[0] == '&' && p[1] == '&') ? 2 : 1;
	return p[0] == '|' || p[0] == ';' || (p[0] == '&' && p[1] == '&');
}

/* One word without its quotes, in place: *in moves on, the word ends up at `out`. */
static char *lex_word(char **in, char *out)
{
	size_t length;
	char quote = '\0';
	char *p = *in;

	for (; *p; p++) {
		if (!quote && (isspace((unsigned char)*p) || is_operator(p, &length)))
			break;
		if (!quote && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (quote && *p == quote)
			quote = '\0';
		else
			*out++ = *p;
	}
	*in = p;
	return out;
}

static bool is_redirection(const char *word)
{
	word += strspn(word, "0123456789&");
	return word[0] == '>' || word[0] == '<';
}

/* Begin the next stage or part; returns where its words go, NULL where there is no room. */
static struct gp_stage *lex_operator(struct gp_command *out, bool pipe)
{
	struct gp_pipeline *part;

	if (!pipe) {
		if (out->n == GP_PARTS_MAX)
			return NULL;
		out->part[out->n++] = (struct gp_pipeline){0};
	}
	part = &out->part[out->n > 0 ? out->n - 1 : 0];
	if (part->n == GP_STAGES_MAX)
		return NULL;
	part->stage[part->n] = (struct gp_stage){0};
	return &part->stage[part->n++];
}

/* Splits out->buf. A word is closed by writing a NUL behind it, so an operator that touches it is
 * read before. */
static void lex(struct gp_command *out)
{
	struct gp_stage *stage;
	char *in = out->buf;
	int n_words = 0;

	out->n = 0;
	stage = lex_operator(out, false);
	while (stage && *in) {
		bool pipe, operator_follows;
		size_t length;
		char *word = in, *end;

		if (isspace((unsigned char)*in)) {
			in++;
			continue;
		}
		if (is_operator(in, &length)) {
			pipe = *in == '|' && length == 1;
			in += length;
			stage = lex_operator(out, pipe);
			continue;
		}
		end = lex_word(&in, word);
		operator_follows = is_operator(in, &length);
		pipe = *in == '|' && length == 1;
		if (*in)
			in += operator_follows ? length : 1;
		*end = '\0';
		if (!is_redirection(word) && n_words < GP_WORDS_MAX) {
			if (stage->n++ == 0)
				stage->word = &out->word[n_words];
			out->word[n_words++] = word;
		}
		if (operator_follows)
			stage = lex_operator(out, pipe);
	}
}

/* "sudo" in front of a later part: uname -r; sudo dmesg */
static void drop_sudo(struct gp_stage *stage)
{
	while (stage->n > 1 && strcmp(stage->word[0], "sudo") == 0) {
		do {
			stage->word++;
			stage->n--;
		} while (stage->n > 1 && stage->word[0][0] == '-');
	}
}

void gp_command_read(const char *text, struct gp_command *command)
{
	const char *inner;

	*command = (struct gp_command){0};
	snprintf(command->buf, sizeof(command->buf), "%s", text + strspn(text, " \t"));
	for (int depth = 0; depth < 8 && (inner = unwrap(command->buf, command)); depth++) {
		memmove(command->buf, inner, strlen(inner) + 1);
		open_quotes(command->buf);
		inner = command->buf + strspn(command->buf, " \t");
		memmove(command->buf, inner, strlen(inner) + 1);
	}
	lex(command);
	for (int i = 0; i < command->n; i++)
		drop_sudo(&command->part[i].stage[0]);
}

/* --- filters --- */

struct grep {
	bool ignore_case, invert, extended, fixed, count;
	const char *pattern[8];
	int n;
};

static void grep_options(struct grep *grep, const struct gp_stage *stage)
{
	for (int i = 1; i < stage->n; i++) {
		const char *word = stage->word[i];

		if (word[0] != '-' || !word[1]) {
			if (grep->n == 0)
				grep->pattern[grep->n++] = word;
			continue;
		}
		if (word[1] == '-')
			continue;
		for (const char *c = word + 1; *c; c++) {
			grep->ignore_case |= *c == 'i';
			grep->invert |= *c == 'v';
			grep->extended |= *c == 'E' || *c == 'P';
			grep->fixed |= *c == 'F';
			grep->count |= *c == 'c' || *c == 'q' || *c == 'l';
			if (*c == 'e' && i + 1 < stage->n && grep->n < 8)
				grep->pattern[grep->n++] = stage->word[++i];
			else if (strchr("ABCm", *c) && !c[1])
				i++;
			else
				continue;
			break;
		}
	}
}

static bool pattern_matches(const struct grep *grep, const char *pattern, const char *sample)
{
	int flags = REG_NOSUB | (grep->extended ? REG_EXTENDED : 0) |
		    (grep->ignore_case ? REG_ICASE : 0);
	regex_t regex;
	bool matches;

	if (grep->fixed)
		return (grep->ignore_case ? strcasestr(sample, pattern)
					  : strstr(sample, pattern)) != NULL;
	if (strlen(pattern) > 200 || strchr(pattern, '{') || regcomp(&regex, pattern, flags) != 0)
		return false;
	matches = regexec(&regex, sample, 0, NULL, 0) == 0;
	regfree(&regex);
	return matches;
}

static bool grep_shows(const struct gp_stage *stage, const char *sample)
{
	struct grep grep = {.extended = strcmp(stage->word[0], "egrep") == 0,
			    .fixed = strcmp(stage->word[0], "fgrep") == 0};
	bool matches = false;

	grep_options(&grep, stage);
	if (grep.count)
		return false;
	for (int i = 0; i < grep.n; i++)
		matches |= pattern_matches(&grep, grep.pattern[i], sample);
	return matches != grep.invert;
}

bool gp_pipeline_is_grep(const struct gp_pipeline *pipeline)
{
	return pipeline->n > 0 && pipeline->stage[0].n > 0 &&
	       strstr(pipeline->stage[0].word[0], "grep") != NULL;
}

bool gp_pipeline_shows(const struct gp_pipeline *pipeline, const char *sample)
{
	static const char *const harmless[] = {"sort",	 "cat", "tee", "less", "more",
					       "column", "nl",	"tr",  NULL};

	/* the first stage is the source, unless it is a grep of a file */
	for (int i = gp_pipeline_is_grep(pipeline) ? 0 : 1; i < pipeline->n; i++) {
		const struct gp_stage *stage = &pipeline->stage[i];
		bool known = false;

		if (stage->n == 0)
			return false;
		for (int h = 0; harmless[h]; h++)
			known |= strcmp(stage->word[0], harmless[h]) == 0;
		if (known)
			continue;
		if (!strstr(stage->word[0], "grep") && strcmp(stage->word[0], "rg") != 0)
			return false; /* awk, head, wc: who knows */
		if (!grep_shows(stage, sample))
			return false;
	}
	return true;
}
