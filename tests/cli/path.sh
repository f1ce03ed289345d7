#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# `gdrproof path` as a user meets it: live on this machine, captures, bad input of every kind, and
# where the results go. Streams and exit status each time. Prints TAP. Run from the repository
# root; $BUILD (default: build) has the program.
set -u
export LC_ALL=C

program=${BUILD:-build}/gdrproof
[[ -x $program ]] || { echo "1..0 # SKIP $program is not built"; exit 77; }
data=tests/data/path
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0

# check NAME CONDITION...: one line of TAP; what was seen follows where it failed.
check() {
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $n - $name"
	printf '%s\n' "exit status $status, stdout $(wc -c <"$work/out") bytes, stderr:" \
		"$(head -c 600 "$work/err")" | cat -v | sed 's/^/# /'
}

# run ARGS...: `gdrproof path ARGS`, its streams in $work and its exit status in $status
run() {
	timeout 60 "$program" path "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
}

exits() { [[ $status -eq $1 ]]; }
silent() { [[ ! -s $work/$1 ]]; }
says() { grep -qF -- "$2" "$work/$1"; }
begins() { grep -q -- "^$2" "$work/$1"; }
one_line() { [[ $(wc -l <"$work/err") -eq 1 ]] && says err "gdrproof: "; }
refused() { exits 2 && silent out && one_line && says err "$1"; }
answers() { exits 0 && silent err && begins out "path      $1"; }
# json EXPRESSION: of the record on standard output, as Python
json() {
	python3 -c 'import json,sys; r = json.load(open(sys.argv[1])); n = (r["nodes"] or [{}])[0]
sys.exit(not eval(sys.argv[2]))' "$work/out" "$1"
}

# ---- the tree and the live host

run --explain
check "--explain prints the tree" says out "OFED is optional"
check "--explain names the helm flag" says out "--set driver.rdma.enabled=true"
check "--explain says what lsmod shows" says out "no nvidia_peermem"
run
check "this host: exit 0" exits 0
check "this host: a path is said" begins out "path      "
run --json -
check "this host: a record" json 'r["schema"] == "gdrproof/path/1" and len(r["nodes"]) == 1'
check "this host: the kernel is known" json \
	'n["prerequisites"]["dmabuf"]["kernel"]["state"] != "unknown"'
check "--json -: the text goes to standard error" begins err "path      "

run --capture "$work/capture"
check "--capture" exits 0
live=$(grep '^path' "$work/out")
run --from "$work/capture"
check "a capture gives the live answer" test "$live" = "$(grep '^path' "$work/out")"
check "a capture has no addresses" bash -c \
	"! grep -rqE '([0-9a-f]{2}:){5}[0-9a-f]{2}|GPU-[0-9a-f]{8}' '$work/capture'"
run --capture "$work/capture"
check "--capture into what is there" refused "new directory"

# ---- captures

run --from $data/01-open-5.15-no-ofed-usehostmofed/input.txt
check "the worked example" answers dmabuf
check "the missing module is no fault" says out "nvidia_peermem absent: expected on DMA-BUF"
check "the deciding line is verbatim" says out \
	'"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64 570.86.15"'
check "CUDA is unknown, not missing" says out "CUDA           ? not in the capture"
check "the finding has its fix" says out "fix: --set driver.rdma.useHostMofed=false"
check "the measurement is asked for" says out "prove it: kubectl describe ds"
"$program" path --from - <$data/02-proprietary-el8-peermem/input.txt >"$work/out" 2>"$work/err"
status=$?
check "a capture on standard input" answers peermem

run --from $data/expert-c/input --intent $data/expert-c/intent-gpu-operator.yaml \
	--intent $data/expert-c/intent-network-operator.yaml
check "a fleet: two groups" says out "group 2   8 of 12 nodes"
check "a fleet: the setting and whom it is wrong for" says out "useHostMofed=true is wrong for 4"
check "a fleet: two ways out" says out "(2) change the setting"
check "a fleet: measure first" begins out "measure   before anything is changed"
run --from $data/expert-c/input --json -
check "a fleet: the record has groups" json 'sorted(len(g["nodes"]) for g in r["groups"]) == [4, 8]'

run --from $data/08-doca-ofed-open/input.txt --markdown "$work/page.md"
check "--markdown" grep -q '^| kernel | ok: 6.8' "$work/page.md"
run --nccl $data/nccl-ab-unchanged/nccl.log --nccl $data/nccl-ab-unchanged/nccl-off.log
check "--nccl twice compares" says out "nccl-ab-unchanged"
run --nccl $data/nccl-03-plugin-gdrdma/nccl.log --json -
check "--nccl fills the record" json 'n["nccl"]["gdr_channels"] == 4 and n["path"] == "undetermined"'

# ---- input that is none

head -c 100000 /dev/urandom >"$work/binary"
: >"$work/empty"
mkdir "$work/nothing"
truncate -s 70M "$work/huge"
printf 'driver:\n  rdma: [true\n foo: bar\n' >"$work/broken.yaml"
printf 'a: 1\n' >"$work/other.yaml"
example=$data/08-doca-ofed-open/input.txt
while IFS='|' read -r words part; do
	read -ra args <<<"$words"
	run "${args[@]}"
	check "refused: ${words//$work/WORK}" refused "$part"
done <<END
--from $work/none|No such file or directory
--from $work/binary|binary
--from $work/empty|nothing in it
--from $work/nothing|no file in it
--from $work/huge|larger than
--nccl $work/none|No such file
--nccl $example|no NCCL line
--from $example --intent $work/broken.yaml|broken YAML
--from $example --intent $work/other.yaml|no GPU Operator
--from $example --json $work/none/x|No such file
--from $example --capture $work/x|can't go with --from
surplus|takes no argument
--from|needs a value
END
run --from "$work/none" --json -
check "a failure is a valid record" json 'r["error"]["exit_code"] == 2 and r["nodes"] == []'

run --json - --markdown -
check "two results on standard output are refused" json 'r["error"]["exit_code"] == 2'

echo "1..$n"
[[ $failed -eq 0 ]]
