/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_xml: as much XML as hwloc and NCCL write: elements and attributes, no text, no entities
 * beyond the five and &#N;. A pull reader over memory that allocates nothing.
 *
 * An own reader because hwloc refuses files of a newer major version than the library's, because
 * NCCL's dump is no hwloc file, and because captured files come from strangers.
 */
#ifndef GP_TOPO_XML_H
#define GP_TOPO_XML_H

#include <stdbool.h>
#include <stddef.h>

struct gp_xml {
	const char *at, *end;
};

struct gp_xml_tag {
	char name[32];
	bool open, close; /* <a> is open, </a> is close, <a/> is both */
	const char *attrs, *attrs_end;
};

/* 1: *tag is the next one; 0: the end; -1: this is no XML. */
int gp_xml_next(struct gp_xml *xml, struct gp_xml_tag *tag);

/* The value of an attribute, decoded and cut to fit; false and "" where it is not there. */
bool gp_xml_attr(const struct gp_xml_tag *tag, const char *name, char *value, size_t size);
/* As a number in base 10 (also "0x..." where base is 0); `missing` where there is none. */
long gp_xml_int(const struct gp_xml_tag *tag, const char *name, int base, long missing);

/* True where the first element is `name`. */
bool gp_xml_root_is(const char *text, size_t len, const char *name);

#endif
