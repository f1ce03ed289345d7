#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# gdrproof topo: exit codes, one error line, streams, JSON against its schema, the drawing.
# One test in TAP; run from the repository root, $BUILD is where the program is.
set -u
program=${BUILD:-build}/gdrproof
data=tests/data/topo
[ -x "$program" ] || { echo "not ok 1 - topo: $program is not built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
before=$(ls -A)

bad() {
	echo "# $*"
	failed=1
}

# run EXIT ARGS...: output to $work/out and $work/err
run() {
	local want=$1 got
	shift
	"$program" topo "$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	[ "$got" = "$want" ] || bad "topo $*: exit $got, expected $want: $(cat "$work/err")"
}

has() {
	grep -qF -- "$2" "$work/$1" || bad "no '$2' in $1: $(head -c 2000 "$work/$1")"
}

is_empty() {
	[ ! -s "$work/$1" ] || bad "$1 is not empty: $(head -c 500 "$work/$1")"
}

one_error_line() {
	[ "$(wc -l <"$work/err")" = 1 ] || bad "not one error line: $(cat "$work/err")"
	has err "gdrproof: $1"
	is_empty out
}

# this host, whatever it is like
run 0
has out "topology  this host"
is_empty err

# the table
run 0 --from "$data/topo-02-nic-legend/input"
has out "mlx5_4  PIX: at most one PCIe switch between them"
is_empty err
run 0 --from "$data/capture-two-sockets/input"
has out "WARNING  acs-redirect: GPU0 to mlx5_0"
has out "32 GT/s x8 of 32 x16"
has out "         fix: "

# a pipe is as good as a file
"$program" topo --from <(cat "$data/nccl-two-cpus/input") >"$work/out" 2>"$work/err" ||
	bad "a pipe was refused: $(cat "$work/err")"
has out "NCCL topology dump"

# --json -: JSON alone on standard output, the table on standard error
run 0 --from "$data/hwloc-format-2/input" --json -
has err "topology  hwloc XML"
[ "$(head -c 1 "$work/out")" = "{" ] || bad "standard output is not JSON alone"

# --dot
run 0 --from "$data/hwloc-format-2/input" --dot "$work/dot"
has dot "graph topology {"
if command -v dot >/dev/null; then
	dot -Tsvg "$work/dot" -o "$work/svg" || bad "graphviz refused the drawing"
fi

# bad usage, unreadable input
run 2 --from "$work/none"
one_error_line "$work/none: No such file"
run 2 --from "$data/hwloc-cut-off/input"
one_error_line "hwloc XML: broken or cut off"
run 2 --from "$data/text-unknown/input"
one_error_line "$data/text-unknown/input: neither"
run 2 --from "$data/capture-empty/input"
one_error_line "$data/capture-empty/input: no sysfs"
run 2 surplus
one_error_line "topo takes no argument"
run 2 --json - --dot -
one_error_line "--json and --dot"
run 2 --form x
one_error_line ""
run 2 --from "$data/smi-bare/input" --json "$work/none/json"
one_error_line "fopen($work/none/json)"

# a failed run still writes its record
run 2 --from "$data/hwloc-cut-off/input" --json "$work/json"
has json '"error": {'

# every record against the schema
if python3 -c 'import jsonschema' 2>/dev/null; then
	for case in "$data"/*/input "$work/none"; do
		"$program" topo --from "$case" --json "$work/json" >/dev/null 2>&1
		python3 - results/topo.schema.json "$work/json" <<'CHECK' || bad "schema: $case"
import json, sys
import jsonschema
schema, record = (json.load(open(name)) for name in sys.argv[1:])
errors = list(jsonschema.Draft202012Validator(schema).iter_errors(record))
for error in errors[:3]:
    print(list(error.absolute_path), error.message)
sys.exit(bool(errors))
CHECK
	done
else
	echo "skipped: the schema is not checked, python3 has no jsonschema"
fi

# nothing was written but what was asked for
[ "$(ls -A)" = "$before" ] || bad "files were left in the working directory"

if [ "$failed" = 0 ]; then
	echo "ok 1 - topo: exit codes, streams, records, drawing"
else
	echo "not ok 1 - topo: see above"
fi
echo 1..1
