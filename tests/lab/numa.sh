#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# In one guest with two sockets, a NIC and a stand-in for a GPU on each: distances, the choice of
# the closest pair, and that threads and memory are where they were asked to be.

set -u
# shellcheck source=tests/lab/lib.sh
. tests/lab/lib.sh
export GP_EMU_GPUS=2

# json EXPRESSION: a value of the record, by Python.
json() {
	/usr/bin/python3 -c "import json; r = json.load(open('$LAB_OUT/$1')); print($2)"
}
node_is() { [[ $(json "$1" "$2") == "$3" ]]; }

read -r gpu0 gpu1 <<<"$LAB_GPU_BDFS"
tests/emu/with "$gdrproof" topo --json "$LAB_OUT/topo.json" >"$LAB_OUT/out" 2>"$LAB_OUT/err"
rc=$?
check "topo runs" exits 0
class="{(p['gpu'], p['nic']): p['class'] for p in r['pairs']}"
near='(PIX|PXB|PHB|NODE)'
check "GPU and NIC of a socket are near, across sockets it is SYS" all \
	'[[ $(json topo.json "$class[(\"GPU0\", \"rxe0\")]") =~ ^$near$ ]]' \
	'[[ $(json topo.json "$class[(\"GPU1\", \"rxe1\")]") =~ ^$near$ ]]' \
	'node_is topo.json "$class[(\"GPU0\", \"rxe1\")]" SYS' 'node_is topo.json "$class[(\"GPU1\", \"rxe0\")]" SYS'

serve
bw --path dmabuf,host,bounce --op write --gpu 1 --server-gpu 1 --json "$LAB_OUT/near.json"
check "GPU 1 gets the NIC of its socket, on both sides" all 'exits 0' \
	'out_has "client .*gpu1 .*node 1.*rxe1:1.*node 1"' 'out_has "server .*gpu1 .*node 1.*rxe1:1.*node 1"'
where="[c['placement'] for c in r['cells'] if c['path']['requested'] == 'bounce'][0]"
check "thread and bounce slots are on the NIC's node, by the kernel's word" all \
	'node_is near.json "$where[\"client\"][\"thread\"][\"verified\"]" 1' \
	'node_is near.json "$where[\"client\"][\"memory\"][\"verified\"]" 1' \
	'node_is near.json "$where[\"client\"][\"memory\"][\"share\"]" 1.0' \
	'node_is near.json "$where[\"server\"][\"thread\"][\"verified\"]" 1' \
	'node_is near.json "$where[\"server\"][\"memory\"][\"verified\"]" 1'
bw --path host --op write --nic rxe0 --server-nic rxe0 --cpu-node far --mem-node 0 --server-mem-node far \
	--json "$LAB_OUT/far.json"
where="r['cells'][0]['placement']"
check "thread and memory go where they are sent, each by itself" all 'exits 0' \
	'node_is far.json "$where[\"client\"][\"thread\"][\"verified\"]" 1' \
	'node_is far.json "$where[\"client\"][\"memory\"][\"verified\"]" 0' \
	'node_is far.json "$where[\"server\"][\"thread\"][\"verified\"]" 0' \
	'node_is far.json "$where[\"server\"][\"memory\"][\"verified\"]" 1'
bw --path host --op write --cpu-node 7
check "a node that is not there" all 'exits 2' one_error_line 'err_has "no NUMA node 7"'
bw --path host --op write --cpu-node elsewhere
check "a word that is no node" all 'exits 2' one_error_line
stop_server
taskset -c 0 tests/emu/with "$gdrproof" bw 127.0.0.1 --path host --cpu-node 1 >"$LAB_OUT/out" 2>"$LAB_OUT/err"
rc=$?
check "a node that this process may not use" all 'exits 4' one_error_line 'err_has "may be used here"'
echo "1..$count"
