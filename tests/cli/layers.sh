#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The layers of the house, read off the #include "..." lines: which room may use which is the two
# tables below. A row may only name rooms that stand above it, so there is no way round in a circle.
# Prints TAP. Run from the repository root.
set -u
export LC_ALL=C

# ROOM: what it may include beside `err`, which all may, and itself. Rooms of several files are in
# room_of(). A new room gets a row here, under everything that it uses.
common_rooms='
err:
units:
stats:
pattern:
evidence:
limit: units
stop: units
root: units
options: units
wire: stop units
cuda: units
rdma: units
connect: rdma stop units wire
topo: root units
place: topo units
inventory: root units
classify: inventory units
record: evidence options stats units
diagnose: evidence record stats units
'

# In bench, rooms of common are named in the same way; `*` is all of common and all above.
bench_rooms='
version:
command: options
bw_options: options rdma stats units
tuning: bw_options units
accept: bw_options evidence record root
region: cuda pattern place units
loop: rdma stop units wire
here: classify cuda inventory units
staged: loop tuning
copies: cuda place staged tuning units
path: bw_options connect cuda evidence here loop place rdma record region tuning units
staging: copies path staged units
path_host: path
path_dmabuf: cuda path rdma units
path_peermem: cuda path rdma units
path_bounce: path staging
host: cuda here limit place rdma root topo units
side: path pattern units
session: host path place side stop units version wire
plan: evidence path record stats units
stand: bw_options host path place plan record session
proof: evidence record session units
explain: diagnose evidence record
table: diagnose evidence explain record stats units
compare: evidence record stats units
page: bw_options compare evidence record stats units
classify_view: classify inventory units
measure: bw_options host plan proof record stand stop table units wire
cmd_bw: *
cmd_serve: *
cmd_path: *
cmd_topo: *
cmd_compare: *
cmd_report: *
main: command options stop version
'

# Files that are one room together, by directory and name without its ending.
room_of() {
	case $1/$2 in
	common/topo_*) echo topo ;;
	common/inventory_* | common/intent | common/nccl) echo inventory ;;
	common/classify_*) echo classify ;;
	common/record_*) echo record ;;
	common/options_*) echo options ;;
	common/cuda_abi) echo cuda ;;
	bench/session_serve) echo session ;;
	bench/host_describe) echo host ;;
	bench/placement) echo stand ;;
	*) echo "$2" ;;
	esac
}

n=0 failed=0

# result NAME PROBLEMS: one line of TAP; the problems follow as comments.
result() {
	n=$((n + 1))
	if [[ -z $2 ]]; then
		echo "ok $n - $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $n - $1"
	printf '%s\n' "$2" | sed 's/^/# /'
}

declare -A allowed=() home=()

# read_table DIR TEXT: fill allowed and home; print what is wrong with the table itself.
read_table() {
	local room uses use
	while IFS=: read -r room uses; do
		[[ -n $room ]] || continue
		[[ -z ${home[$room]:-} ]] || problems+="$room has two rows"$'\n'
		for use in $uses; do
			[[ $use == '*' || -n ${home[$use]:-} ]] ||
				problems+="$room may use $use, which has no row above it"$'\n'
		done
		[[ $uses != *'*'* ]] || uses=${!home[*]}
		home[$room]=$1
		allowed[$room]=" err $room $uses "
	done <<<"$2"
}

set -f
problems=
read_table common "$common_rooms"
read_table bench "$bench_rooms"
set +f
result "the tables name only rooms above" "${problems%$'\n'}"

stem() {
	local name=${1##*/}
	echo "${name%.*}"
}

# Where a header is: the directories are searched in this order, as the compiler does.
directory_of() {
	local dir
	for dir in "$1" common bench; do
		[[ ! -e $dir/$2 ]] || { echo "$dir"; return; }
	done
}

includes_of() {
	sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$1"
}

unknown='' upward='' beyond=''
for file in common/*.[ch] bench/*.[ch]; do
	dir=${file%%/*}
	room=$(room_of "$dir" "$(stem "$file")")
	if [[ ${home[$room]:-} != "$dir" ]]; then
		unknown+="$file: no room '$room' in $dir: add it to the table in tests/cli/layers.sh"$'\n'
		continue
	fi
	while read -r header; do
		target_dir=$(directory_of "$dir" "$header")
		if [[ -z $target_dir || $header == */* ]]; then
			unknown+="$file: includes \"$header\", which is in neither common nor bench"$'\n'
			continue
		fi
		target=$(room_of "$target_dir" "$(stem "$header")")
		if [[ $dir == common && $target_dir == bench ]]; then
			upward+="$file: common must not include bench ($header)"$'\n'
		elif [[ ${home[$target]:-} != "$target_dir" ]]; then
			unknown+="$target_dir/$header: no room '$target': add it to tests/cli/layers.sh"$'\n'
		elif [[ ${allowed[$room]} != *" $target "* ]]; then
			beyond+="$file: $room may not use $target ($header)"$'\n'
		fi
	done < <(includes_of "$file")
done
result "every file belongs to a room of the tables" "${unknown%$'\n'}"
result "common never includes bench" "${upward%$'\n'}"
result "rooms use only what their row allows" "${beyond%$'\n'}"

# Within a room files may know each other, but headers must not include in a circle.
circle=$(for header in common/*.h bench/*.h; do
	while read -r target; do
		echo "$(stem "$header") $(stem "$target")"
	done < <(includes_of "$header")
done | tsort 2>&1 >/dev/null)
result "no header includes itself through others" "$circle"

# How CUDA is laid out in memory is known in one place.
problems=$(grep -lE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"cuda_abi\.h"' \
	common/*.[ch] bench/*.[ch] | grep -vx 'common/cuda\.c')
result "cuda_abi.h is for cuda.c alone" "$problems"

problems=$(grep -nE '#[[:space:]]*include[[:space:]]*<(cuda|cuda_runtime|cuda_runtime_api|nvml)\.h>' \
	common/*.[ch] bench/*.[ch])
result "no header of the CUDA toolkit is needed" "$problems"

# The product must not know whether what it runs on is emulated.
problems=$(grep -niE '(^|[^a-z])(gp_)?emu([^a-z]|$)' common/*.[ch] bench/*.[ch])
result "product code does not know the tests' emulated GPU" "$problems"

sources() {
	find common bench tests scripts Makefile .clang-format -type f \
		-not -path 'tests/data/*' -not -path 'tests/fuzz/corpus/*' \
		\( -name '*.[ch]' -o -name '*.sh' -o -name '*.mk' -o -name '*.py' -o -not -name '*.*' \
		-o -name .clang-format \) | sort
}

problems=$(while read -r file; do
	[[ $(head -n 3 "$file") == *"SPDX-License-Identifier: BSD-2-Clause"* ]] ||
		echo "$file: no SPDX line in the first three"
done < <(sources))
result "every source says its licence" "$problems"

problems=$(find common bench tests -name '*.[ch]' -not -path 'tests/data/*' -printf '%f\n' |
	sort | uniq -d | sed 's/$/: two files have this name/'
	comm -12 <(for f in common/*.[ch]; do stem "$f"; done | sort -u) \
		<(for f in bench/*.[ch]; do stem "$f"; done | sort -u) |
	sed 's/$/: in common and in bench/')
result "names of files are unique" "$problems"

problems=$(for header in common/*.h bench/*.h; do
	guard=GP_$(stem "$header" | tr '[:lower:]' '[:upper:]')_H
	grep -qx "#ifndef $guard" "$header" || echo "$header: no #ifndef $guard"
done)
result "headers are guarded by their name" "$problems"

echo "1..$n"
echo "# $((n - failed)) passed, $failed failed"
[[ $failed -eq 0 ]]
