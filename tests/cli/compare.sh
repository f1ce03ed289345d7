#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# gdrproof compare: verdicts, exit codes, gate, selections, refusal, broken input, and the four forms
# of the answer, each parsed. Prints TAP. Run from the repository root; $BUILD is where the program is.
set -u
program=${BUILD:-build}/gdrproof
data=tests/data/records
[ -x "$program" ] || { echo "not ok 1 - compare: $program is not built"; echo 1..1; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0 problems=""

bad() {
	problems+="# $*"$'\n'
}

# done_with NAME: one line of TAP for all since the last
done_with() {
	n=$((n + 1))
	if [ -z "$problems" ]; then
		echo "ok $n - compare: $1"
	else
		echo "not ok $n - compare: $1"
		printf '%s' "$problems"
		failed=1
	fi
	problems=""
}

# run EXIT ARGS...: output to $work/out and $work/err
run() {
	local want=$1 got
	shift
	"$program" compare "$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	[ "$got" = "$want" ] || bad "compare $*: exit $got, expected $want: $(cat "$work/err")"
}

has() {
	grep -qF -- "$2" "$work/$1" || bad "no '$2' in $1: $(head -c 2000 "$work/$1")"
}

one_error_line() {
	[ "$(wc -l <"$work/err")" = 1 ] || bad "not one error line: $(cat "$work/err")"
	has err "gdrproof: "
	has err "$1"
	[ ! -s "$work/out" ] || bad "standard output is not empty: $(head -c 300 "$work/out")"
}

make_record() {
	local out=$1
	shift
	/usr/bin/python3 "$data/make.py" "$work/$out" "$@"
}

make_record a.json 1 0.004 5
make_record b.json 2 0.004 5
make_record slow.json 3 0.004 5 dmabuf=0.9
make_record gone.json 4 0.004 5 -peermem
make_record kernel.json 5 0.004 5 client.kernel=5.15.0
make_record noisy.json 6 0.08 5

run 0 "$work/a.json" "$work/b.json" --gate
has out "0 worse, 0 better, 8 same, 0 unclear, 0 vanished, 0 new"
run 0 "$work/a.json" "$work/a.json" --gate
has out "8 same"
run 0 "$work/a.json" "$work/noisy.json"
has out "would probably settle it"
done_with "unchanged is same, noise is unclear and says how many more rounds"

run 0 "$work/a.json" "$work/slow.json"
has out "2 worse"
run 3 "$work/a.json" "$work/slow.json" --gate
run 0 "$work/slow.json" "$work/a.json" --gate
has out "2 better"
run 0 "$work/a.json" "$work/slow.json" --gate --min-effect 15
has out "8 same"
run 3 "$work/a.json" "$work/gone.json" --gate
has out "2 vanished"
run 0 "$work/gone.json" "$work/a.json" --gate
has out "2 new"
done_with "worse and vanished fail the gate, better and new do not"

for seed in 11 12 13 14 15 16 17 18 19 20; do
	make_record x.json "$seed" 0.004 5
	make_record y.json "$((seed + 100))" 0.004 5
	make_record z.json "$((seed + 200))" 0.004 5 bounce=0.93
	run 0 "$work/x.json" "$work/y.json" --gate
	has out "0 worse"
	run 3 "$work/x.json" "$work/z.json" --gate
	has out "2 worse"
done
done_with "a planted loss of 7 % is found, no change is not, ten times of ten"

run 0 "$work/a.json" --a path=peermem --b path=dmabuf
has out "2 better"
has out "*/write/64K/"
run 0 "$work/a.json" --a path=dmabuf,op=write --b path=host,op=write
has out "1 same"
run 3 "$work/a.json" --a path=dmabuf --b path=bounce --gate
run 0 "$work/a.json" "$work/slow.json" --a path=host,op=write --b path=dmabuf
has out "1 worse"
done_with "selections inside one record and across two"

run 2 "$work/a.json" "$work/kernel.json"
one_error_line "not comparable: client kernel is"
has err "--force"
run 0 "$work/a.json" "$work/kernel.json" --force
kernel=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["client"]["kernel"])' "$work/a.json")
has out "differs  client kernel: '$kernel', '5.15.0'  (forced)"
done_with "what is not comparable is refused, with what differs"

mkdir "$work/base" "$work/many" "$work/empty"
for seed in 1 2 3 4; do
	make_record "base/$seed.json" "$seed" 0.004 3
	make_record "many/$seed.json" "1$seed" 0.004 3 peermem=0.9
done
run 3 "$work/base" "$work/many" --gate
has out "base     4 records"
has out "2 worse"
run 3 "$work/base" "$work/many/1.json" --gate
has out "2 worse"
run 3 --base "$work/base/1.json" --base "$work/base/2.json" --new "$work/many/3.json" --gate
has out "base     2 records"
run 2 "$work/base" "$work/empty"
one_error_line "no *.json in this directory"
done_with "many records a side, by directory and by option"

head -c 5000 "$work/a.json" >"$work/cut.json"
sed 's|gdrproof/result/1|gdrproof/result/7|' "$work/a.json" >"$work/future.json"
echo '{"schema": "gdrproof/topo/1"}' >"$work/foreign.json"
echo 'no record' >"$work/text.json"
: >"$work/none.json"
while read -r file words; do
	run 2 "$work/a.json" "$work/$file"
	one_error_line "$words"
	has err "$file"
done <<'END'
cut.json no valid JSON
future.json use the gdrproof that wrote it, or a newer one
foreign.json its schema is 'gdrproof/topo/1'
text.json no valid JSON
none.json empty
absent.json ENOENT
END
done_with "broken, truncated, foreign and future records: one line, exit 2"

run 2
one_error_line "needs BASE"
run 2 "$work/a.json"
one_error_line "needs NEW"
run 2 "$work/a.json" --a path=dmabuf --b path=dmabuf
one_error_line "are the same"
run 2 "$work/a.json" --a speed=1 --b path=dmabuf
one_error_line "names: path, op"
run 2 "$work/a.json" --a path=carrier --b path=dmabuf
one_error_line "nothing was measured on the base side that its selection matches"
run 2 "$work/a.json" "$work/b.json" --min-effect 0
one_error_line "--min-effect takes"
run 2 "$work/a.json" "$work/b.json" --json - --junit -
one_error_line "only one of"
run 1 "$work/a.json" "$work/b.json" --json /no/such/dir/x.json
done_with "usage errors"

run 3 "$work/a.json" "$work/slow.json" --gate --json "$work/c.json" --junit "$work/j.xml" \
	--markdown "$work/m.md"
make_record gone2.json 9 0.08 5 -peermem
run 3 "$work/a.json" "$work/gone2.json" --gate --json "$work/c2.json"
run 2 "$work/a.json" "$work/kernel.json" --json "$work/c3.json"
tests/cli/schema.sh "$work/c.json" "$work/c2.json" "$work/c3.json" >"$work/schema" ||
	bad "schema.sh failed"
! grep '^not ok' "$work/schema" >"$work/not" || bad "$(cat "$work/not")"
/usr/bin/python3 - "$work" >"$work/py" 2>&1 <<'END' || bad "$(tail -n 3 "$work/py")"
import json, statistics, sys
import xml.etree.ElementTree as ET
work = sys.argv[1]
def load(name):
    with open(f"{work}/{name}") as f:
        return json.load(f)
a, slow, c = load("a.json"), load("slow.json"), load("c.json")
rows = {r["id"]: r for r in c["rows"]}
assert set(rows) == {x["id"] for x in a["cells"]}, "cells"
for side, record in (("base", a), ("new", slow)):
    for cell in record["cells"]:
        got, want = rows[cell["id"]][side]["median"], cell["summary"]["median"]
        assert abs(got - want) < 1e-6, (side, cell["id"], got, want)
for cell, other in zip(a["cells"], slow["cells"]):
    row = rows[cell["id"]]
    want = other["summary"]["median"] / cell["summary"]["median"]
    assert abs(row["ratio"] - want) < 1e-6, (row["ratio"], want)
    assert row["interval"][0] <= row["ratio"] <= row["interval"][1]
    assert (row["verdict"] == "worse") == (cell["path"]["requested"] == "dmabuf"), row
assert c["gate"] == "failed" and c["exit_code"] == 3
c3 = load("c3.json")
assert c3["error"]["exit_code"] == 2 and c3["exit_code"] == 2 and c3["rows"] == []
suite = ET.parse(f"{work}/j.xml").getroot().find("testsuite")
cases = suite.findall("testcase")
assert {x.get("name") for x in cases} == set(rows), "junit cells"
assert int(suite.get("tests")) == len(cases) == 8
assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 2
lines = [l for l in open(f"{work}/m.md") if l.startswith("| ") and "| cell" not in l]
assert len(lines) == 8, lines
for line in lines:
    columns = [x.strip() for x in line.replace("\\_", "_").split("|")]
    row = rows[columns[1]]
    assert columns[6] == row["verdict"], line
    assert abs(float(columns[2]) - row["base"]["median"]) < 0.06, line
END
"$program" compare "$work/a.json" "$work/b.json" --json - 2>/dev/null |
	/usr/bin/python3 -c 'import json, sys; json.load(sys.stdin)' || bad "--json - is no JSON"
done_with "JSON fits its schema; JSON, JUnit and Markdown hold every cell and the record's figures"

# ci EXIT ARGS...: scripts/ci-regression with a baseline in $work/lab
ci() {
	local want=$1 got
	shift
	GDRPROOF=$(realpath "$program") scripts/ci-regression --lab "$work/lab" --out "$work/ci" "$@" \
		>"$work/out" 2>"$work/err" </dev/null
	got=$?
	[ "$got" = "$want" ] || bad "ci-regression $*: exit $got, expected $want: $(cat "$work/err")"
}

ci 4 --record "$work/a.json"
has err "run once more with --update"
for seed in 31 32 33 34; do
	make_record night.json "$seed" 0.002 5
	ci 0 --record "$work/night.json" --update --keep 3
done
[ "$(find "$work/lab" -name '*.json' | wc -l)" = 3 ] || bad "the baseline does not hold 3 records"
before=$(cd "$work/lab" && cat -- *.json | cksum)
make_record night.json 35 0.002 5
ci 0 --record "$work/night.json"
for file in record.json compare.json junit.xml summary.md page.html; do
	[ -s "$work/ci/$file" ] || bad "no $file"
done
make_record night.json 36 0.002 5 dmabuf=0.95
ci 3 --record "$work/night.json"
grep -q 'failures="2"' "$work/ci/junit.xml" || bad "junit.xml has not 2 failures"
[ "$(cd "$work/lab" && cat -- *.json | cksum)" = "$before" ] || bad "the baseline changed"
ci 2 --record "$work/absent.json"
ci 2 --speed
done_with "ci-regression: baseline, gate, what it leaves"

echo "1..$n"
exit "$failed"
