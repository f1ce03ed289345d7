#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# gdrproof report: the page is well formed, needs nothing from the network, holds every cell with the
# record's figures, and hostile text in a record stays text; Markdown and text likewise; a screenshot
# and A4 where Chromium is there. Prints TAP. Run from the repository root, $BUILD is where it is.
set -u
program=${BUILD:-build}/gdrproof
data=tests/data/records
[ -x "$program" ] || { echo "not ok 1 - report: $program is not built"; echo 1..1; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0 problems=""

bad() {
	problems+="# $*"$'\n'
}

done_with() {
	n=$((n + 1))
	if [ -z "$problems" ]; then
		echo "ok $n - report: $1"
	else
		echo "not ok $n - report: $1"
		printf '%s' "$problems"
		failed=1
	fi
	problems=""
}

run() {
	local want=$1 got
	shift
	"$program" report "$@" >"$work/out" 2>"$work/err" </dev/null
	got=$?
	[ "$got" = "$want" ] || bad "report $*: exit $got, expected $want: $(cat "$work/err")"
}

has() {
	grep -qF -- "$2" "$work/$1" || bad "no '$2' in $1"
}

has_not() {
	! grep -qF -- "$2" "$work/$1" || bad "'$2' in $1"
}

python() {
	/usr/bin/python3 - "$work" >"$work/py" 2>&1 || bad "$(tail -n 3 "$work/py")"
}

/usr/bin/python3 "$data/make.py" "$work/a.json" 1 0.01 10
# Several sizes and placements, a limit, a missed threshold, a contradicted and a missing cell.
python <<'END'
import copy, json, sys
work = sys.argv[1]
with open(f"{work}/a.json") as f:
    r = json.load(f)
cells = []
for size, name in ((65536, "64K"), (1048576, "1M"), (8388608, "8M")):
    for place in ("near", "far"):
        for c in copy.deepcopy(r["cells"]):
            c["size"], c["placement"]["asked"] = size, place
            c["id"] = c["id"].replace("/64K/", f"/{name}/").replace("/near/", f"/{place}/")
            cells.append(c)
cells[0].update(verdict="contradicted", reason="client exporter: exported by udmabuf")
cells[0]["path"]["used"] = None
r["cells"] = cells
r["limit"] = {"gbytes_per_s": 49.7, "bound_by": "NIC rate", "detail": "NIC rate, 400 Gb/s"}
r["thresholds"] = [{"name": "min-gbps", "wanted": 60.0, "cell": cells[1]["id"],
                    "measured": cells[1]["summary"]["median"], "met": False}]
r["error"] = {"exit_code": 3, "space": "none", "code": 0, "side": "", "call": "",
              "fact": "--min-gbps 60 missed", "advice": ""}
r["exit_code"] = 3
json.dump(r, open(f"{work}/full.json", "w"))
evil = "</td><script>alert(1)</script>\u001b[2J'\"&| `x`"
r["client"]["host"] = r["server"]["host"] = evil
r["command"]["size"] = "64K'; rm -rf /; '"
for c in r["cells"]:
    c["reason"] = evil
    c["evidence"][0]["value"] = evil
    c["placement"]["asked"] = "n\"; system 'x"
    c["id"] = c["id"].replace("/near/", "/n\"; system 'x/").replace("/far/", "/n\"; system 'x/")
seen = set()
r["cells"] = [c for c in r["cells"] if not (c["id"] in seen or seen.add(c["id"]))]
json.dump(r, open(f"{work}/evil.json", "w"))
END

run 0 "$work/full.json" -o "$work/page.html" --markdown "$work/m.md" --text "$work/t.txt"
[ ! -s "$work/out" ] || bad "standard output is not empty"
python <<'END'
import base64, json, re, sys
import xml.etree.ElementTree as ET
work = sys.argv[1]
text = open(f"{work}/page.html").read()
assert text.startswith("<!DOCTYPE html>\n")
page = ET.fromstring(text[len("<!DOCTYPE html>\n"):])
record = json.load(open(f"{work}/full.json"))
rows = {r.get("data-id"): r for r in page.iter("tr") if r.get("class") == "cell"}
assert set(rows) == {c["id"] for c in record["cells"]}, "cells"
for cell in record["cells"]:
    columns = rows[cell["id"]].findall("td")
    values = [c.get("data-value") for c in columns[3:8]]
    want = [cell["summary"][k] for k in ("median", "min", "max")]
    if cell["verdict"] == "contradicted":
        assert values == [None] * 5, values
    else:
        for got, figure in zip(values, want):
            assert abs(float(got) - figure) <= 1e-8 * figure, (got, figure)
        assert abs(float(columns[3].text) - want[0]) < 0.06
    assert columns[8].text == cell["verdict"]
rounds = [float(s.text) for s in page.iter("span") if s.get("class") == "round"]
assert len(rounds) == sum(len(c["rounds"]) for c in record["cells"])
facts = sum(len(t.findall("tbody/tr")) for t in page.iter("table") if t.get("class") == "facts")
assert facts == sum(len(c["evidence"]) for c in record["cells"]), "facts"
decision = [d for d in page.iter("div") if "decision" in d.get("class", "")][0]
assert "Threshold missed" in "".join(decision.itertext())
assert list(page.iter("div"))[0] is decision, "the decision is not at the top"
everything = "".join(page.itertext())
for words in (record["client"]["kernel"], record["server"]["host"], "gdrproof serve",
              "gdrproof bw nodeA", "--rounds 3", "NIC rate, 400 Gb/s"):
    assert words in everything, words
for element in page.iter():
    for name, value in element.attrib.items():
        assert name not in ("src", "href") or value.startswith("data:"), value
assert not re.search(r"url\(|@import|https?://", text), "something from the network"
images = [e.get("src") for e in page.iter("img")]
open(f"{work}/images", "w").write(str(len(images)))
for image in images:
    svg = ET.fromstring(base64.b64decode(image.split(",", 1)[1]))
    assert svg.tag.endswith("svg") and len(list(svg.iter())) > 20
END
done_with "page: well formed, the decision first, every cell, round and fact, nothing from outside"

if command -v gnuplot >/dev/null; then
	[ "$(cat "$work/images")" = 3 ] || bad "not 3 plots but $(cat "$work/images")"
	done_with "plots: sizes with the limit, rounds, placements"
fi
PATH=/nonexistent run 0 "$work/full.json" -o "$work/bare.html"
has err "gnuplot is not installed"
has bare.html "Not drawn: gnuplot is not installed"
has_not bare.html "<img"
done_with "without gnuplot the page says so and is whole otherwise"

python <<'END'
import json, sys
work = sys.argv[1]
record = json.load(open(f"{work}/full.json"))
lines = [l for l in open(f"{work}/m.md") if l.startswith("| ") and "| path" not in l]
assert len(lines) == len(record["cells"]), len(lines)
for line, cell in zip(lines, record["cells"]):
    columns = [c.strip() for c in line.split("|")]
    assert columns[1] == cell["path"]["requested"] and columns[9] == cell["verdict"], line
    if cell["verdict"] == "proven":
        assert abs(float(columns[4]) - cell["summary"]["median"]) < 0.06, line
    else:
        assert columns[4] == "-", line
END
has m.md "**Threshold missed**"
has t.txt "contradicted"
run 0 "$work/full.json"
cmp -s "$work/out" "$work/t.txt" || bad "text is not the default"
done_with "Markdown and text hold every cell"

run 0 "$work/evil.json" -o "$work/evil.html" --markdown "$work/evil.md" --text "$work/evil.txt"
has_not evil.html "<script"
has_not evil.html $'\033'
has_not evil.txt $'\033'
# outside of code, where it is literal
! grep -v '^    ' "$work/evil.md" | grep -qP '(?<!\\)<script' || bad "a script in Markdown"
has evil.html "rm -rf"
python <<'END'
import sys
import xml.etree.ElementTree as ET
text = open(f"{sys.argv[1]}/evil.html").read()
page = ET.fromstring(text[len("<!DOCTYPE html>\n"):])
command = [p for p in page.iter("pre")][0].text
assert "'64K'\\''; rm -rf /; '\\'''" in command, command
END
done_with "hostile text in a record stays text, in shell commands too"

run 2
has err "report needs RECORD"
echo '{"schema": "gdrproof/result/9"}' >"$work/future.json"
run 2 "$work/full.json" "$work/future.json" -o "$work/no.html"
[ "$(wc -l <"$work/err")" = 1 ] || bad "not one line: $(cat "$work/err")"
[ ! -e "$work/no.html" ] || bad "a page was written all the same"
run 1 "$work/full.json" -o /no/such/dir/page.html
run 0 "$work/full.json" "$work/a.json" -o -
[ "$(grep -c '<h2>Result: ' "$work/out")" = 2 ] || bad "not two results on one page"
done_with "errors, and several records on one page"

if command -v chromium >/dev/null; then
	timeout 60 chromium --headless --no-sandbox --disable-gpu --window-size=1200,1600 \
		--screenshot="$work/page.png" "file://$work/page.html" >/dev/null 2>&1
	timeout 60 chromium --headless --no-sandbox --disable-gpu --print-to-pdf="$work/page.pdf" \
		"file://$work/page.html" >/dev/null 2>&1
	[ "$(stat -c %s "$work/page.png" 2>/dev/null || echo 0)" -gt 20000 ] || bad "no screenshot"
	# A4 is 595 x 842 points
	grep -aqE 'MediaBox ?\[0 0 59[45](\.[0-9]+)? 84[12]' "$work/page.pdf" || bad "not on A4"
	done_with "a browser shows it, and prints it to A4"
fi

echo "1..$n"
exit "$failed"
