/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_xml: the pull reader. It knows tags, attributes, comments, declarations and CDATA; whatever
 * stands between tags is skipped, since neither hwloc nor NCCL writes anything there that we read.
 */
#include "topo_xml.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Step behind the next `word`; false where there is none. */
static bool skip_past(struct gp_xml *xml, const char *word)
{
	size_t len = strlen(word);
	const char *hit = memmem(xml->at, (size_t)(xml->end - xml->at), word, len);

	if (!hit)
		return false;
	xml->at = hit + len;
	return true;
}

static bool starts(const struct gp_xml *xml, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(xml->end - xml->at) >= len && memcmp(xml->at, word, len) == 0;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == ':' || c == '.';
}

/* xml->at is behind '<' or '</'. Leaves it behind '>'. */
static int read_tag(struct gp_xml *xml, struct gp_xml_tag *tag)
{
	size_t n = 0;
	char quote = 0;

	while (xml->at < xml->end && is_name(*xml->at)) {
		if (n + 1 < sizeof(tag->name))
			tag->name[n++] = *xml->at;
		xml->at++;
	}
	tag->name[n] = 0;
	if (n == 0)
		return -1;
	tag->attrs = xml->at;
	for (; xml->at < xml->end; xml->at++) {
		char c = *xml->at;

		if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '<' || c == 0) {
			return -1;
		} else if (c == '>') {
			tag->attrs_end = xml->at++;
			return 1;
		}
	}
	return -1;
}

int gp_xml_next(struct gp_xml *xml, struct gp_xml_tag *tag)
{
	static const struct {
		const char *from, *to;
	} skipped[] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}};
	int rc;

again:
	if (memchr(xml->at, '<', (size_t)(xml->end - xml->at)) == NULL)
		return 0;
	xml->at = memchr(xml->at, '<', (size_t)(xml->end - xml->at));
	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++) {
		if (!starts(xml, skipped[i].from))
			continue;
		if (!skip_past(xml, skipped[i].to))
			return -1;
		goto again;
	}
	xml->at++;
	memset(tag, 0, sizeof(*tag));
	if (xml->at < xml->end && *xml->at == '/') {
		xml->at++;
		tag->close = true;
	} else {
		tag->open = true;
	}
	rc = read_tag(xml, tag);
	if (rc == 1 && tag->open && tag->attrs_end > tag->attrs && tag->attrs_end[-1] == '/') {
		tag->attrs_end--;
		tag->close = true;
	}
	return rc;
}

/* One character or entity at *at; steps over it. */
static char decode(const char **at, const char *end)
{
	static const struct {
		const char *name;
		char c;
	} entities[] = {
		{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};
	size_t left = (size_t)(end - *at);

	for (size_t i = 0; **at == '&' && i < sizeof(entities) / sizeof(entities[0]); i++) {
		size_t len = strlen(entities[i].name);

		if (left >= len && memcmp(*at, entities[i].name, len) == 0) {
			*at += len;
			return entities[i].c;
		}
	}
	if (left > 3 && (*at)[0] == '&' && (*at)[1] == '#') {
		const char *semicolon = memchr(*at, ';', left);

		if (semicolon) {
			*at = semicolon + 1;
			return ' '; /* line ends in texts; nothing that is read here has any */
		}
	}
	return *(*at)++;
}

/* Find the attribute; its raw value. */
static bool find_attr(const struct gp_xml_tag *tag, const char *name, const char **value,
		      const char **value_end)
{
	const char *at = tag->attrs, *end = tag->attrs_end;
	size_t want = strlen(name);

	while (at < end) {
		const char *key, *key_end, *close;

		while (at < end && !is_name(*at))
			at++;
		for (key = at; at < end && is_name(*at);)
			at++;
		key_end = at;
		while (at < end && (isspace((unsigned char)*at) || *at == '='))
			at++;
		if (at >= end || (*at != '"' && *at != '\''))
			continue;
		close = memchr(at + 1, *at, (size_t)(end - at - 1));
		if (!close)
			return false;
		if ((size_t)(key_end - key) == want && memcmp(key, name, want) == 0) {
			*value = at + 1;
			*value_end = close;
			return true;
		}
		at = close + 1;
	}
	return false;
}

bool gp_xml_attr(const struct gp_xml_tag *tag, const char *name, char *value, size_t size)
{
	const char *at, *end;
	size_t n = 0;

	value[0] = 0;
	if (!find_attr(tag, name, &at, &end))
		return false;
	while (at < end && n + 1 < size) {
		char c = decode(&at, end);

		value[n++] = (unsigned char)c < 0x20 || c == 0x7f ? '?' : c;
	}
	value[n] = 0;
	return true;
}

long gp_xml_int(const struct gp_xml_tag *tag, const char *name, int base, long missing)
{
	char text[32], *end;
	long value;

	if (!gp_xml_attr(tag, name, text, sizeof(text)) || !text[0])
		return missing;
	errno = 0;
	value = strtol(text, &end, base);
	return errno || *end ? missing : value;
}

bool gp_xml_root_is(const char *text, size_t len, const char *name)
{
	struct gp_xml xml = {text, text + len};
	struct gp_xml_tag tag;
	size_t blank = strspn(text, " \t\r\n\xef\xbb\xbf"); /* and a byte order mark */

	return blank < len && text[blank] == '<' && gp_xml_next(&xml, &tag) == 1 && tag.open &&
	       strcmp(tag.name, name) == 0;
}
