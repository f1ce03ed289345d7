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
bw --path dmabuf,host --op write --placement near,far --rounds 3 --json "$LAB_OUT/places.json"
where="[c['placement'] for c in r['cells'] if c['placement']['asked'] == 'far'][0]"
check "near and far both run, bound where they say, and the end compares them" all 'exits 0' \
	'row dmabuf write proven' 'out_has "^dmabuf .* near$"' 'out_has "^dmabuf .* far$"' \
	'out_has "^far +GPU 1 .*in place of GPU 0 .*: SYS to rxe0"' \
	'out_has "^far / near +dmabuf +write"' \
	'node_is places.json "[p[\"name\"] for p in r[\"placements\"]]" "['\''near'\'', '\''far'\'']"' \
	'node_is places.json "[p[\"client\"][\"distance\"] == \"SYS\" for p in r[\"placements\"]]" "[False, True]"' \
	'node_is places.json "$where[\"client\"][\"thread\"][\"verified\"]" 0' \
	'node_is places.json "[c[\"path\"][\"requested\"] for c in r[\"cells\"]]" "['\''dmabuf'\'', '\''dmabuf'\'', '\''host'\'']"' \
	'node_is places.json "[c[\"what\"] for c in r[\"comparisons\"]]" "['\''far / near'\'']"'
bw --path host,bounce --op write --gpu 0 --nic rxe0 --server-nic rxe0 --placement near,far --json "$LAB_OUT/far.json"
where="[c['placement'] for c in r['cells'] if c['placement']['asked'] == 'far' and c['path']['requested'] == 'bounce'][0]"
check "with GPU and NIC named, far is the other node for thread and buffers" all 'exits 0' \
	'out_has "^far +thread and host buffers on NUMA node 1 in place of 0"' \
	'node_is far.json "$where[\"client\"][\"thread\"][\"verified\"]" 1' \
	'node_is far.json "$where[\"client\"][\"memory\"][\"verified\"]" 1' \
	'node_is far.json "$where[\"server\"][\"thread\"][\"verified\"]" 0' \
	'node_is far.json "len(r[\"cells\"])" 4'
bw --path host --op write --placement all --json "$LAB_OUT/all.json"
check "all is every NIC and node; a pair that does not reach each other is a row with the reason" all \
	'exits 4' 'node_is all.json "[c[\"verdict\"] for c in r[\"cells\"]]" \
		"['\''proven'\'', '\''proven'\'', '\''unavailable'\'', '\''unavailable'\'']"' \
	'out_has "not available: client: no RDMA_CM_EVENT_ADDR_RESOLVED"' \
	'node_is all.json "len(r[\"cells\"])" 4' 'node_is all.json "len({c[\"id\"] for c in r[\"cells\"]})" 4'

bw --path dmabuf,host --op write --rails auto --rounds 3 --duration 0.5 --json "$LAB_OUT/rails.json"
windows="[(q['start'], q['start'] + q['seconds']) for c in r['cells'] if c['path']['requested'] == 'dmabuf' for q in c['rounds'][:1]]"
check "two rails run at once, each with its own pair, and are summed" all 'exits 0' \
	'row dmabuf write proven' 'out_has "^dmabuf .* rail1$"' 'out_has "^dmabuf .* rail2$"' \
	'out_has "^dmabuf +write .* sum of 2 rails"' \
	'node_is rails.json "sorted({(c[\"gpu\"], c[\"nic\"]) for c in r[\"cells\"] if c[\"gpu\"] != \"none\"})" \
		"[('\''$gpu0'\'', '\''rxe0:1'\''), ('\''$gpu1'\'', '\''rxe1:1'\'')]"' \
	'node_is rails.json "[c[\"placement\"][\"client\"][\"thread\"][\"verified\"] for c in r[\"cells\"]]" "[0, 1, 0, 1]"'
check "their windows overlap" all \
	'node_is rails.json "max(w[0] for w in $windows) < min(w[1] for w in $windows)" True' \
	'node_is rails.json "all(s[\"overlap\"] > 0.8 and s[\"left_out\"] == 0 for s in r[\"sums\"])" True' \
	'node_is rails.json "[s[\"rails\"] for s in r[\"sums\"]]" "[2, 2]"'
bw --path host --op write --rails 0:rxe0,1:rxe0 --server-rails 0:rxe0,1:rxe0 --rounds 2 --json "$LAB_OUT/shared.json"
check "rails that share a port are found" all 'exits 0' 'out_has "^rails-share-link: rails 1 and 2 are both on rxe0:1"'
bw --path host --op write --rails 0:rxe0,1:rxe1,0:rxe1
check "more rails than the server has" all 'exits 4' one_error_line 'err_has "server: rail 3 was asked for, here are 2"'
bw --path host --op write --cpu-node 7
check "a node that is not there" all 'exits 2' one_error_line 'err_has "no NUMA node 7"'
bw --path host --op write --cpu-node elsewhere
check "a word that is no node" all 'exits 2' one_error_line
stop_server
taskset -c 0 tests/emu/with "$gdrproof" bw 127.0.0.1 --path host --cpu-node 1 >"$LAB_OUT/out" 2>"$LAB_OUT/err"
rc=$?
check "a node that this process may not use" all 'exits 4' one_error_line 'err_has "may be used here"'
echo "1..$count"
