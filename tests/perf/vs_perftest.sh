#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Inside the guests: `server` on nodeA, `client` on nodeB. The client prints a line a measurement:
# tool op size qps pair GB/s cpu-seconds.

set -u
IFS=, read -ra sizes <<<"$SIZES"
IFS=, read -ra qps <<<"$QPS"
IFS=, read -ra ops <<<"$OPS"
gdrproof=build/gdrproof

bytes() {
	local number=${1%[KMG]}
	case $1 in
	*K) echo $((number << 10)) ;;
	*M) echo $((number << 20)) ;;
	*) echo "$number" ;;
	esac
}

perftest() { # OP SIZE QPS [HOST]
	local most=$DEPTH
	"${PERFTEST:+$PERFTEST/}ib_$1_bw" -d rxe0 -x 1 -F -s "$(bytes "$2")" -q "$3" -t "$most" -D "$DURATION" \
		--report_gbits -p 18600 "${@:4}"
}

each() { # COMMAND: for every row and pair
	local size q op pair
	for pair in $(seq "$PAIRS"); do
		for op in "${ops[@]}"; do
			for size in "${sizes[@]}"; do
				for q in "${qps[@]}"; do
					"$1" "$op" "$size" "$q" "$pair"
				done
			done
		done
	done
}

serve_perftest() {
	perftest "$1" "$2" "$3" >/dev/null 2>/lab/perftest.err
}

cpu_seconds() {
	awk '{ print ($1 + $2) }' <(times | tail -n 1 | sed 's/[ms]/ /g' | awk '{ print $1 * 60 + $2, $3 * 60 + $4 }')
}

measure_perftest() {
	local before after rate
	before=$(cpu_seconds)
	for _ in {1..100}; do # until its server is there
		rate=$(perftest "$1" "$2" "$3" "$LAB_PEER_ADDR" 2>/lab/perftest.err |
			awk -v s="$(bytes "$2")" '$1 == s && NF >= 4 { print $4 / 8 }')
		[[ -z $rate ]] || break
		sleep 0.1
	done
	after=$(cpu_seconds)
	echo "perftest $1 $2 $3 $4 ${rate:-0} $(awk "BEGIN { print $after - $before }")"
}

measure_gdrproof() {
	local before after rate
	before=$(cpu_seconds)
	rate=$("$gdrproof" bw "$LAB_PEER_ADDR" --path host --op "$1" --size "$2" --qp "$3" --tx-depth "$DEPTH" \
		--duration "$DURATION" --rounds 1 --region 16M --timeout 30 --json - 2>/lab/gdrproof.err |
		sed -n 's/^ *"median": \([0-9.e-]*\),*$/\1/p')
	after=$(cpu_seconds)
	echo "gdrproof $1 $2 $3 $4 ${rate:-0} $(awk "BEGIN { print $after - $before }")"
}

# Who goes first changes from pair to pair.
pair() {
	if (($4 % 2)); then
		measure_perftest "$@"
		measure_gdrproof "$@"
	else
		measure_gdrproof "$@"
		measure_perftest "$@"
	fi
}

case $1 in
server)
	"$gdrproof" serve --timeout 60 2>/lab/serve.err &
	each serve_perftest
	wait
	;;
client)
	each pair
	;;
esac
