#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The program as a user meets it: help and version, bad usage, what is missing on this machine,
# records of failures, and a server that strangers talk to. Streams and exit status each time.
# Prints TAP. Run from the repository root; $BUILD (default: build) has the program.
set -u
export LC_ALL=C

program=${BUILD:-build}/gdrproof
[[ -x $program ]] || { echo "1..0 # SKIP $program is not built"; exit 77; }
work=$(mktemp -d)
servers=()
leave() {
	[[ ${#servers[@]} -eq 0 ]] || kill "${servers[@]}" 2>/dev/null
	rm -rf "$work"
}
trap leave EXIT
n=0 failed=0 skipped=0

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

skip() {
	n=$((n + 1)) skipped=$((skipped + 1))
	echo "ok $n - $1 # SKIP $2"
}

# run ARGS...: the program, with its streams in $work and its exit status in $status
run() {
	timeout 20 "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
}

# What a run must have left. Each says whether it holds.
exits() { [[ $status -eq $1 ]]; }
silent() { [[ ! -s $work/$1 ]]; }
lines() { [[ $(wc -l <"$work/$1") -eq $2 ]]; }
says() { grep -qF -- "$2" "$work/$1"; }
printable() { ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$work/$1"; }
one_line() { lines err 1 && says err "gdrproof: " && printable err; }

helps() { exits 0 && silent err && says out "$1"; }
refused() { exits 2 && silent out && one_line && says err "$1"; }
missing() { exits 4 && silent out && one_line; }

# record FILE EXIT: a valid record of a failed run
record() {
	python3 - "$work/$1" "$2" <<'END' 2>>"$work/err"
import json, sys
with open(sys.argv[1], encoding="utf-8") as f:
    record = json.load(f)
code = int(sys.argv[2])
assert record["schema"] == "gdrproof/result/1", record["schema"]
assert record["exit_code"] == code, record["exit_code"]
assert isinstance(record["error"], dict), "error is null"
assert record["error"]["exit_code"] == code and record["error"]["fact"], record["error"]
assert record["cells"] == [] and record["thresholds"] == []
END
}

# ---- help and version

run --help
check "--help" helps "usage: gdrproof COMMAND"
mapfile -t commands < <(sed -n '/^commands:$/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p' "$work/out")
run help
check "help" helps "usage: gdrproof COMMAND"
run --version
check "--version" helps "gdrproof "
check "--version is one line" lines out 1
check "there are commands to test" test "${#commands[@]}" -ge 3
for command in "${commands[@]}"; do
	run "$command" --help
	check "$command --help" helps "usage: gdrproof $command [options]"
	run "$command" --no-such-option x y z --help
	check "$command ... --help beside bad usage" helps "usage: gdrproof $command"
	check "$command --help tells the exit status" says out "exit status:"
	run "$command" --no-such-option
	check "$command --no-such-option" refused "unknown option --no-such-option"
done
run
check "no command" exits 2
check "no command: help on stderr" says err "usage: gdrproof COMMAND"
check "no command: nothing on stdout" silent out

# ---- bad usage: the words, and a part of the line that must come. ~ stands for a blank in a word.

while IFS='|' read -r words part; do
	[[ -n $words ]] || continue
	read -ra args <<<"$words"
	run "${args[@]//\~/ }"
	check "refused: $words" refused "$part"
done <<'END'
frobnicate|unknown command 'frobnicate'
Bw|unknown command 'Bw'
-h|unknown command '-h'
--frob|unknown command '--frob'
bw|bw needs the server's HOST
bw a b|unexpected argument 'b'
bw h --sise 1M|did you mean --size?
bw h --dration 3|did you mean --duration?
bw h -Z|unknown option -Z
bw h --port|--port needs a value
bw h -s|-s needs a value
bw h --port 0|--port takes 1 to 65535, not '0'
bw h --port 65536|--port takes 1 to 65535
bw h --port -1|--port takes 1 to 65535
bw h --port 1.5|--port takes a whole number
bw h --port x|--port takes 1 to 65535, not 'x'
bw h --port=|--port takes 1 to 65535, not ''
bw h -s 0|--size takes 1 to 1G
bw h -s 2G|--size takes 1 to 1G
bw h -s -5|--size takes 1 to 1G
bw h -s 1M,|--size takes a list
bw h -s 1M,1M|--size names 1M twice
bw h -s 1M,1024K|--size names 1024K twice
bw h -s 1MB|--size takes 1 to 1G
bw h -q 0|--qp takes 1 to
bw h -q 99999|--qp takes 1 to
bw h -D 0|--duration takes 0.01 to
bw h -D nan|--duration takes 0.01 to
bw h -D inf|--duration takes 0.01 to
bw h -n 0|--iters takes 1 to
bw h --rounds 0|--rounds takes 1 to
bw h --rounds 99999|--rounds takes 1 to
bw h --path magic|--path is a list of auto, dmabuf
bw h --path host,host|--path names host twice
bw h --path auto,host|--path auto stands alone
bw h --op send|--op is a list of write, read
bw h --verify maybe|--verify is one of full, sample, off
bw h --relaxed-ordering yes|--relaxed-ordering is one of on, off
bw h --connect ib|--connect is one of auto, cm, tcp
bw h --region 4K|--region takes 1M to
bw h --timeout 0|--timeout takes 0.5 to
bw h -a -s 1M|--all and --size exclude each other
bw h --path host --gpu 1|--path host moves host memory
bw h --path host --server-gpu 0|--path host moves host memory
bw h --gpu none --server-gpu none|leaves only --path host
bw h -t 8 -l 16|can't be over --tx-depth (8)
bw h -Q 6 -l 4|must be a multiple of the other
bw h -m 1500|--mtu is 256, 512
bw h -x 3 --connect cm|--gid-index goes with --connect tcp
bw h -S 1 --connect cm|--sl goes with --connect tcp
bw h --require-path magic|no path is called 'magic'
bw h --require-path a-name-far-too-long|--require-path takes at most 15 characters
bw h --bidirectional=on|--bidirectional
serve x|unexpected argument 'x'
serve --port 0|--port takes 1 to 65535
serve --max-bytes 5|--max-bytes takes
serve --timeout x|--timeout takes
serve --onse|did you mean --once?
serve --bind no~such~address|--bind no such address
serve --psk-file /no/such/file|/no/such/file
topo --from|--from needs a value
topo --from /no/such/capture|/no/such/capture
END

# ---- what a user types is shown as one line, whatever is in it

run bw h $'--a\nb'
check "an option with a newline in it" refused "unknown option --a"
run $'no\ncommand'
check "a command with a newline in it" refused "unknown command"
run bw h --nic $'a\nb'
check "a value with a newline in it" refused "without control characters"
run bw h $'--\033[2Jx'
check "an option with an escape sequence in it" refused "unknown option"

# ---- order

run bw --port 0 h
first=$(cat "$work/err")
run bw h --port 0
check "HOST may stand before or behind the options" test "$first" = "$(cat "$work/err")"

# ---- records of failures

run bw --json -
check "bad usage with --json: exit status and line" eval 'exits 2 && one_line'
check "bad usage with --json: the record" record out 2
run bw --json "$work/record.json" h --port 0
check "bad usage with --json FILE: nothing on stdout" refused "--port takes 1 to 65535"
check "bad usage with --json FILE: the record" record record.json 2
run bw --json - $'h\xffst' --port 0
check "bad usage, no UTF-8: the record" record out 2
run bw --json - $'--h\xffst'
check "unknown option, no UTF-8: the record" record out 2

printf 'accept:\n- path: dmabuf\n  min-gbp: 45\n' >"$work/typo.yaml"
run bw host --accept "$work/typo.yaml"
check "an acceptance file with a key that is not known: the line" refused "typo.yaml:3: a rule has no 'min-gbp'"
run bw host --accept "$work/no.yaml"
check "an acceptance file that is not there" refused "no.yaml"
run bw host --accept "$work"
check "an acceptance file that is a directory" refused "$work"

run bw localhost --json /no/such/directory/record.json
check "a record that can't be written: known before anything runs" refused "/no/such/directory"

# ---- standard output that can't be written

status=0
for words in "--help" "--version" "bw --help"; do
	read -ra args <<<"$words"
	"$program" "${args[@]}" >/dev/full 2>"$work/err" </dev/null
	status=$?
	: >"$work/out"
	check "$words to a full device" eval 'exits 1 && one_line'
done
"$program" bw --json - >/dev/full 2>"$work/err" </dev/null
status=$?
check "a record to a full device: one line" eval 'exits 2 && one_line'

# ---- the machine

if [[ -n $(ls /sys/class/infiniband 2>/dev/null) ]]; then
	for name in "bw" "bw with --json" "bw with --json FILE"; do
		skip "$name without RDMA" "there is an RDMA device here"
	done
	run bw 127.0.0.1 --port 1 --path host --json -
	check "bw where nobody listens: exit status and line" eval 'exits 1 && one_line'
	check "bw where nobody listens: says what to do" says err "gdrproof serve"
	check "bw where nobody listens: the record" record out 1
else
	run bw localhost
	check "bw without RDMA" missing
	check "bw without RDMA: says so" says err "no RDMA device"
	run bw localhost --json -
	check "bw without RDMA, with --json: exit status and line" eval 'exits 4 && one_line'
	check "bw without RDMA, with --json: the record" record out 4
	run bw --json "$work/missing.json" localhost
	check "bw without RDMA, with --json FILE: nothing on stdout" missing
	check "bw without RDMA, with --json FILE: the record" record missing.json 4
	skip "bw where nobody listens" "no RDMA device here, which is looked for first"
fi

# ---- a server, and strangers

free_port() {
	python3 -c 'import socket
with socket.socket() as s:
	s.bind(("127.0.0.1", 0))
	print(s.getsockname()[1])'
}

# serve NAME ARGS...: start one in the background, its streams in $work/NAME.*; waits for its port
serve() {
	local name=$1
	shift
	"$program" serve --bind 127.0.0.1 --port "$port" "$@" \
		>"$work/$name.out" 2>"$work/$name.err" </dev/null &
	server=$!
	servers+=("$server")
	for _ in {1..100}; do
		grep -q "port $port" "$work/$name.err" && return
		sleep 0.05
	done
	echo "# the server did not start: $(head -c 300 "$work/$name.err")"
}

# ended NAME: wait for the server (10 s at most); its exit status and streams become the run's
ended() {
	for _ in {1..100}; do
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	status=$?
	cp "$work/$1.out" "$work/out"
	cp "$work/$1.err" "$work/err"
}

# talk BYTES: send them (printf's escapes) and read until the server hangs up
talk() {
	# shellcheck disable=SC2059
	exec 3<>"/dev/tcp/127.0.0.1/$port" && printf "$1" >&3 2>/dev/null
	timeout 1 cat <&3 >"$work/answer" 2>/dev/null
	exec 3>&-
}

port=$(free_port)
serve first
run serve --bind 127.0.0.1 --port "$port"
check "a port that is taken" eval 'exits 1 && silent out && one_line && says err EADDRINUSE'
run serve --bind 192.0.2.1 --port "$port"
check "an address that is not ours" eval 'exits 1 && silent out && says err EADDRNOTAVAIL'
talk 'GET / HTTP/1.1\r\n\r\n'
talk '\0\0\0\0'
talk '\0\0\0\2[]'
talk '{'
kill -0 "$server" 2>/dev/null
status=$?
cp "$work/first.err" "$work/err"
check "strangers do not end a server" exits 0
check "strangers are told of" says err "not gdrproof"
kill -TERM "$server"
ended first
check "SIGTERM ends a server in order" eval 'exits 0 && silent out'
check "what strangers sent is not printed" printable err

port=$(free_port)
serve interrupted
kill -INT "$server"
ended interrupted
check "SIGINT ends a server in order" eval 'exits 0 && silent out'

port=$(free_port)
serve once --once --timeout 1
talk 'GET / HTTP/1.1\r\n\r\n'
ended once
check "serve --once: a stranger is a failure" eval 'exits 1 && silent out'

port=$(free_port)
serve old --once --timeout 1
hello='{"gdrproof":99,"version":"9.9"}'
talk "\\0\\0\\0\\x1f$hello"
ended old
check "another protocol: both versions are named" \
	eval 'exits 1 && says err "gdrproof 9.9 with protocol 99, this is gdrproof"'
check "another protocol: the other end gets our hello" grep -q '"gdrproof"' "$work/answer"

port=$(free_port)
serve silence --once --timeout 0.5
exec 4<>"/dev/tcp/127.0.0.1/$port"
ended silence
exec 4>&-
check "a client that says nothing is left in time" eval 'exits 1 && says err "within"'

echo "1..$n"
echo "# $((n - failed - skipped)) passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 ]]
