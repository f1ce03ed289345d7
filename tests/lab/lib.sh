# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
#
# What the lab tests share, inside a guest: a server with given switches of the emulated GPU, a
# client whose exit code, standard output and standard error are kept, and TAP.

BUILD=${BUILD:-build}
export BUILD
gdrproof=$BUILD/gdrproof
# Small and short: figures mean nothing under software emulation, behaviour does.
quick=(--size 64K --tx-depth 16 --duration 0.2 --rounds 1 --region 2M --timeout "${TIMEOUT:-20}")
count=0
server_pid=

# check NAME CONDITION...: one TAP line; where it fails, what the client said.
check() {
	local name=$1
	shift
	count=$((count + 1))
	if "$@"; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		printf '# failed: %s\n# exit %s\n' "$*" "$rc"
		sed 's/^/# out: /' "$LAB_OUT/out"
		sed 's/^/# err: /' "$LAB_OUT/err"
		[[ ! -e $LAB_OUT/serve.err ]] || tail -n 5 "$LAB_OUT/serve.err" | sed 's/^/# server: /'
	fi
}

skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# serve [GP_EMU_X=Y]... [-- OPTION...]: start a server, wait until it listens.
serve() {
	local switches=()
	while [[ ${1:-} == *=* ]]; do
		switches+=("$1")
		shift
	done
	tests/emu/with "${switches[@]}" "$gdrproof" serve --timeout "${TIMEOUT:-20}" "$@" 2>"$LAB_OUT/serve.err" &
	server_pid=$!
	for _ in {1..200}; do
		! grep -q 'serves on' "$LAB_OUT/serve.err" || return 0
		sleep 0.05
	done
	echo "# the server does not come up"
}

stop_server() {
	[[ -n $server_pid ]] || return 0
	kill -TERM "$server_pid" 2>/dev/null
	wait "$server_pid"
	server_rc=$?
	server_pid=
}

# bw [GP_EMU_X=Y]... OPTION...: run a client against $HOST; sets rc, out, err.
bw() {
	local switches=()
	while [[ ${1:-} == *=* ]]; do
		switches+=("$1")
		shift
	done
	timeout -k 5 120 tests/emu/with "${switches[@]}" "$gdrproof" bw "${HOST:-127.0.0.1}" "${quick[@]}" "$@" \
		>"$LAB_OUT/out" 2>"$LAB_OUT/err"
	rc=$?
}

# Wait until packets flow, and a moment more.
in_a_round() {
	local sent=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts before
	before=$(<$sent)
	for _ in {1..300}; do
		[[ $(<$sent) -lt $((before + 500)) ]] || break
		sleep 0.1
	done
	sleep 0.5
}

exits() { [[ $rc -eq $1 ]]; }
out_has() { grep -qE -- "$1" "$LAB_OUT/out"; }
err_has() { grep -qE -- "$1" "$LAB_OUT/err"; }
one_error_line() { [[ $(wc -l <"$LAB_OUT/err") -eq 1 ]] && grep -q '^gdrproof: ' "$LAB_OUT/err"; }
# row PATH OP VERDICT
row() { grep -qE "^$1 +$2 .* $3 " "$LAB_OUT/out"; }
all() {
	local condition
	for condition in "$@"; do
		eval "$condition" || return 1
	done
}
