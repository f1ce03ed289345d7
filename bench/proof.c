/* SPDX-License-Identifier: BSD-2-Clause */
/* proof: see proof.h. */
#include "proof.h"
#include "units.h"

#include <inttypes.h>
#include <string.h>

static void add_counter(int64_t *sum, int64_t value, bool first)
{
	if (first)
		*sum = value;
	else
		*sum = *sum < 0 || value < 0 ? -1 : *sum + value;
}

void gp_proof_add(struct gp_proof *proof, const struct gp_outcome *outcome)
{
	bool first = proof->rounds++ == 0;

	for (int side = 0; side < GP_SIDES; side++) {
		struct gp_check *check = &proof->check[side];
		const struct gp_check *more = &outcome->check[side];
		struct gp_counters *sum = &proof->counted[side];
		const struct gp_counters *c = &outcome->counted[side];

		proof->port_bytes[side] += outcome->port_bytes[side];
		if (more->wrong_bytes && !check->wrong_bytes)
			check->first_wrong = more->first_wrong;
		check->checked_bytes += more->checked_bytes;
		check->wrong_bytes += more->wrong_bytes;
		add_counter(&sum->sent_bytes, c->sent_bytes, first);
		add_counter(&sum->received_bytes, c->received_bytes, first);
		add_counter(&sum->sent_packets, c->sent_packets, first);
		add_counter(&sum->received_packets, c->received_packets, first);
	}
}

struct gp_scene gp_proof_scene(const struct gp_session *session, const struct gp_path *path,
			       const struct gp_op *op)
{
	bool two_way = session->end.opt->bidirectional;

	return (struct gp_scene){
		.gpu = {path->needs_gpu && session->end.gpu,
			path->needs_gpu && session->server_has_gpu},
		.sink = {two_way || !op->from_initiator, two_way || op->from_initiator},
	};
}

static void add_data_fact(struct gp_facts *facts, enum gp_side side, const struct gp_check *check,
			  bool on_gpu, bool verified)
{
	const char *source = on_gpu ? "read back through CUDA" : "read back";
	char checked[32], wrong[32];

	gp_bytes_write(check->checked_bytes, checked, sizeof(checked));
	if (!verified)
		gp_fact_add(facts, "data", side, source, GP_SUPPORT_UNKNOWN,
			    "not checked (--verify off)");
	else if (check->wrong_bytes)
		gp_fact_add(facts, "data", side, source, GP_SUPPORT_NO,
			    "%s of %s wrong, the first at offset %" PRIu64,
			    gp_bytes_write(check->wrong_bytes, wrong, sizeof(wrong)), checked,
			    check->first_wrong);
	else
		gp_fact_add(facts, "data", side, source,
			    check->checked_bytes ? GP_SUPPORT_YES : GP_SUPPORT_UNKNOWN,
			    "0 of %s wrong", checked);
}

/*
 * A port that counts bytes must have counted what moved; one that counts packets, at least as many
 * as those bytes fill at the path's MTU. A count of zero is a device that keeps none for this
 * traffic, or a loopback inside it: unknown, not a contradiction.
 */
static void add_port_fact(struct gp_facts *facts, enum gp_side side, const char *name,
			  int64_t bytes, int64_t packets, uint64_t moved, int mtu)
{
	uint64_t least = bytes >= 0 || mtu <= 0 ? moved : moved / (uint64_t)mtu;
	int64_t counted = bytes >= 0 ? bytes : packets;
	const char *verb = strcmp(name, "port-sent") == 0 ? "left" : "arrived";
	const char *source = bytes >= 0 ? "counters/port_xmit_data, port_rcv_data"
					: "hw_counters/sent_pkts, rcvd_pkts";
	enum gp_support supports = GP_SUPPORT_YES;
	char seen[48], needed[32];

	gp_bytes_write(moved, needed, sizeof(needed));
	if (counted < 0) {
		gp_fact_add(facts, name, side, "port counters", GP_SUPPORT_UNKNOWN,
			    "this device shows none");
		return;
	}
	if (counted == 0)
		supports = GP_SUPPORT_UNKNOWN;
	else if ((double)counted < 0.95 * (double)least)
		supports = GP_SUPPORT_NO;
	if (bytes >= 0)
		gp_bytes_write((uint64_t)bytes, seen, sizeof(seen));
	else
		snprintf(seen, sizeof(seen), "%" PRId64 " packets", packets);
	gp_fact_add(facts, name, side, source, supports, "%s %s for %s of messages%s", seen, verb,
		    needed, counted == 0 ? ": not counted for this traffic, or a loopback" : "");
}

static void add_port_facts(const struct gp_proof *proof, const struct gp_scene *scene, int mtu,
			   struct gp_facts *facts)
{
	for (enum gp_side sink = GP_CLIENT; sink <= GP_SERVER; sink++) {
		enum gp_side source = sink == GP_CLIENT ? GP_SERVER : GP_CLIENT;
		const struct gp_counters *from = &proof->counted[source];
		const struct gp_counters *to = &proof->counted[sink];

		if (!scene->sink[sink] || scene->sink[source])
			continue; /* two-way: the port's figure is not of one direction alone */
		add_port_fact(facts, source, "port-sent", from->sent_bytes, from->sent_packets,
			      proof->port_bytes[source], mtu);
		add_port_fact(facts, sink, "port-received", to->received_bytes,
			      to->received_packets, proof->port_bytes[sink], mtu);
	}
}

void gp_proof_conclude(const struct gp_proof *proof, const struct gp_facts *opening,
		       const struct gp_scene *scene, const struct gp_path *path, int mtu,
		       bool verified, struct gp_cell *cell)
{
	cell->facts = *opening;
	for (enum gp_side side = GP_CLIENT; side <= GP_SERVER; side++) {
		if (!scene->sink[side])
			continue;
		add_data_fact(&cell->facts, side, &proof->check[side], scene->gpu[side], verified);
		cell->checked_bytes += proof->check[side].checked_bytes;
		cell->wrong_bytes += proof->check[side].wrong_bytes;
	}
	add_port_facts(proof, scene, mtu, &cell->facts);
	cell->verdict = gp_evidence_verdict(&cell->facts, path->needs, scene, cell->reason,
					    sizeof(cell->reason));
}
