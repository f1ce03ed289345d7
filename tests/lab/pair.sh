#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Between two guests, two kernels: `pair.sh server` on nodeA, `pair.sh client` on nodeB.

set -u
# shellcheck source=tests/lab/lib.sh
. tests/lab/lib.sh
HOST=$LAB_PEER_ADDR

server() {
	serve
	lab-wait kill 200
	kill -9 "$server_pid"
	wait "$server_pid" 2>/dev/null
	serve
	lab-mark again
	lab-wait end 200
	stop_server
}

client() {
	lab-wait listening 60
	bw --path dmabuf,peermem,host,bounce --json "$LAB_OUT/pair.json"
	check "all four paths are proven between two kernels" all 'exits 0' 'row dmabuf write proven' \
		'row dmabuf read proven' 'row peermem write proven' 'row peermem read proven' \
		'row host write proven' 'row host read proven' 'row bounce write proven' 'row bounce read proven'
	bw --path dmabuf,bounce --connect tcp --qp 2 --bidirectional
	check "and by QP exchange, both directions at once" all 'exits 0' 'row dmabuf read\\+ proven' \
		'row bounce write\\+ proven'
	local start=$SECONDS
	(in_a_round; lab-mark kill) &
	bw --path host --op write --duration 30
	check "a server killed in the middle of a round ends the client in time, with one line" all \
		'exits 1' one_error_line 'err_has "went away"' '[[ $((SECONDS - start)) -lt 28 ]]'
	lab-wait again 60
	bw --path host --op write
	check "the next client works" exits 0
	start=$SECONDS
	(in_a_round; tc qdisc replace dev lab0 root netem loss 100%) &
	bw --path host --op write --duration 30 --timeout 3
	check "a link that goes dead in the middle ends the run in time, with one line" all 'exits 1' \
		one_error_line '[[ $((SECONDS - start)) -lt 25 ]]'
	lab-mark end
	echo "1..$count"
}

"$1"
