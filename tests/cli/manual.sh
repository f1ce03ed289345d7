#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What is made from the option tables beside --help: manual pages against --help and groff, the
# completion in a real bash, and what `make install` puts where. Nothing here names the options of a
# command: they are read off --help. Prints TAP. Run from the repository root; $BUILD (default:
# build) has the program.
set -u
export LC_ALL=C

program=${BUILD:-build}/gdrproof
[[ -x $program ]] || { echo "1..0 # SKIP $program is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=0 failed=0 skipped=0

# result NAME PROBLEMS: one line of TAP; the problems follow as comments.
result() {
	n=$((n + 1))
	if [[ -z $2 ]]; then
		echo "ok $n - $1"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $n - $1"
	printf '%s\n' "$2" | head -n 20 | cat -v | sed 's/^/# /'
}

skip() {
	n=$((n + 1)) skipped=$((skipped + 1))
	echo "ok $n - $1 # SKIP $2"
}

# same NAME WANT GOT: two texts are one
same() {
	result "$1" "$(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3"))"
}

# The options of a --help, a line each: "-p, --port N", without what follows in the next column.
help_options() {
	sed -n '/^options:$/,/^$/p' "$1" | grep -E '^ {2,6}-' | sed -E 's/^ +//; s/ {2,}.*//'
}

# The same of a page: what stands behind .TP under OPTIONS, without fonts and escapes.
page_options() {
	sed -n '/^\.SH OPTIONS$/,/^\.SH "EXIT/p' "$1" | sed -n '/^\.TP$/{n;p}' |
		sed -E 's/\\f[BIR]//g; s/\\-/-/g'
}

# The texts of a --help, a line each: help, choices, default with $cut between, a row's lines joined.
cut=$'\x1f'
help_texts() {
	sed -n '/^options:$/,/^$/p' "$1" | /usr/bin/python3 -c '
import re, sys
rows = []
for line in sys.stdin.read().splitlines()[1:]:
    option = re.match(r" {2,6}(-\w, )?--[\w-]+( \S+)?(  +|$)", line)
    if option:
        rows.append("")
        line = line[option.end():]
    if rows:
        rows[-1] = (rows[-1] + " " + line.strip()).strip()
for row in rows:
    text, choices, default = re.fullmatch(r"(.*?)( \([a-z]+(?:, [a-z]+)+\))?( \[[^]]+\])?", row).groups()
    print(text, (choices or "").strip(" ()"), (default or "").strip(" []"), sep="\x1f")
'
}

page_name() {
	echo "gdrproof${1:+-$1}"
}

"$program" --help >"$work/gdrproof.help"
mapfile -t commands < <(sed -n '/^commands:$/,/^$/s/^  \([a-z]\{1,\}\) .*/\1/p' "$work/gdrproof.help")
result "there are commands" "$([[ ${#commands[@]} -ge 3 ]] || echo "${commands[*]}")"

# ---- pages

check_page() {
	local command=$1 name problems='' text choices default
	name=$(page_name "$command")
	"$program" ${command:+"$command"} --help >"$work/$name.help"
	"$program" --manual ${command:+"$command"} >"$work/$name.1" 2>"$work/err"
	same "$name(1): ends well, says nothing else" "0 0" "$? $(wc -c <"$work/err")"
	same "$name(1): the options of --help, and no other" "$(help_options "$work/$name.help")" \
		"$(page_options "$work/$name.1")"
	result "$name(1): every section" "$(for section in NAME SYNOPSIS DESCRIPTION OPTIONS \
		'"EXIT STATUS"' '"SEE ALSO"'; do
		grep -qxF ".SH $section" "$work/$name.1" || echo "no $section"
	done)"
	result "$name(1): ASCII, no control characters" "$(grep -n $'[^\t -~]' "$work/$name.1")"
	if ! command -v groff >/dev/null; then
		skip "$name(1): groff" "groff is not here (package groff-base)"
		return
	fi
	result "$name(1): groff has no warning" "$(groff -man -ww -Tutf8 -z "$work/$name.1" 2>&1)"
	# As a reader has it, a paragraph a line.
	groff -man -Tascii -P-c -P-b -P-u -rLL=2000n "$work/$name.1" >"$work/$name.txt"
	while IFS=$cut read -r text choices default; do
		grep -qF -- "$text" "$work/$name.txt" || problems+="no '$text'"$'\n'
		[[ -z $choices ]] || grep -qE " of: $choices\." "$work/$name.txt" ||
			problems+="no choices $choices"$'\n'
		[[ -z $default ]] || grep -qF -- "Default: $default." "$work/$name.txt" ||
			problems+="no default $default"$'\n'
	done < <(help_texts "$work/$name.help")
	result "$name(1): help, choices and defaults can be read" "$problems"
	problems=$(for other in '' "${commands[@]}"; do
		[[ $other == "$command" ]] ||
			sed -n '/^SEE ALSO/,$p' "$work/$name.txt" |
			grep -qwF -- "$(page_name "$other")(1)" || page_name "$other"
	done)
	result "$name(1): the other pages" "$problems"
	problems=$(sed -n '/^exit status:$/,$s/^  \([0-9]\)  //p' "$work/$name.help" |
		while read -r text; do
			grep -qF -- "$text" "$work/$name.txt" || echo "no '$text'"
		done)
	result "$name(1): the exit codes" "$problems"
}

for command in '' "${commands[@]}"; do
	check_page "$command"
done

"$program" --manual frobnicate >"$work/out" 2>"$work/err"
same "the manual of no command" "2 0 gdrproof: unknown command 'frobnicate'; see gdrproof --help" \
	"$? $(wc -c <"$work/out") $(cat "$work/err")"
"$program" --manual >/dev/full 2>"$work/err"
same "a page to a full device" "1 1" "$? $(wc -l <"$work/err")"

# ---- completion

"$program" --completion >"$work/completion" 2>"$work/err"
same "the script: ends well, says nothing else" "0 0" "$? $(wc -c <"$work/err")"
mkdir -p "$work/files/runs"
touch "$work/files/run.json" "$work/files/other.txt" "$work/files/run two.json"

# complete WORD...: what a fresh bash offers for the last word, a line each
complete_words() {
	bash --norc -c '
cd "$1" || exit
source "$2" || exit
definition=$(complete -p gdrproof) && [[ $definition =~ -F\ ([a-z_]+) ]] || exit
shift 2
COMP_WORDS=(gdrproof "$@") COMP_CWORD=$#
"${BASH_REMATCH[1]}" gdrproof "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf "%s\n" "${COMPREPLY[@]}"' _ "$work/files" "$work/completion" "$@" 2>&1
}

# offers NAME WANT WORD...: the words of WANT, blank-separated, in any order
offers() {
	local name=$1 want=$2
	shift 2
	same "completion: $name" "$(tr ' ' '\n' <<<"$want" | sort)" "$(complete_words "$@" | sort)"
}

# Words that begin with $1, of those on standard input, in one line.
beginning() {
	grep -e "^$1" | sort | tr '\n' ' ' | sed 's/ $//'
}

option_words() {
	help_options "$1" | sed -E 's/(-.), /\1\n/' | sed 's/ .*//'
}

offers "commands" "${commands[*]}" ''
offers "a command that has begun" "$(printf '%s\n' "${commands[@]}" | beginning re)" re
offers "the program's options" "$(option_words "$work/gdrproof.help" | beginning --)" --
offers "commands, for their manual" "${commands[*]}" "$(option_words "$work/gdrproof.help" | grep man)" ''
offers "nothing for an unknown command" "" frobnicate --
for command in "${commands[@]}"; do
	help=$work/gdrproof-$command.help
	offers "$command: long options" "$(option_words "$help" | beginning --)" "$command" --
	offers "$command: letters too" "$(option_words "$help" | beginning -)" "$command" -
done

# Every option of every command, by how --help tells its value: choices, names of files, neither.
values=0 listed=0 files=0
for command in "${commands[@]}"; do
	help=$work/gdrproof-$command.help
	while IFS=$cut read -r names choices; do
		read -ra words <<<"${names//,/}"
		arg=
		[[ ${words[-1]} == -* ]] || arg=${words[-1]}
		for option in "${words[@]}"; do
			[[ $option == -* && -n $arg ]] || continue
			values=$((values + 1))
			if [[ -n $choices ]]; then
				listed=$((listed + 1))
				offers "$command $option: its choices" "${choices//, / }" "$command" "$option" ''
			elif [[ $arg == FILE ]]; then
				files=$((files + 1))
				offers "$command $option: names of files" "other.txt" "$command" "$option" o
			elif [[ $arg != *'|'* ]]; then
				offers "$command $option: no option for a value" "" "$command" "$option" -
			fi
		done
	done < <(paste -d"$cut" <(help_options "$help") <(help_texts "$help" | cut -d"$cut" -f2))
done
result "completion: there were values, choices and files" \
	"$([[ $values -gt 20 && $listed -gt 4 && $files -gt 4 ]] || echo "$values $listed $files")"

offers "a choice that has begun" "dmabuf" bw --path d
offers "behind --option=" "auto dmabuf peermem host bounce" bw --path =
offers "a choice behind --option=" "dmabuf" bw --path = d
offers "the next word of a list" "dmabuf,host" bw --path dmabuf,h
offers "no word of a list twice" "host,bounce,auto host,bounce,dmabuf host,bounce,peermem" \
	bw --path host,bounce,
offers "one choice where there is no list" "" bw --verify full,s
offers "words beside a number" "nic far gpu" bw --cpu-node ''
offers "an option behind a value" "--verify --verbose" bw --path host --ver
same "completion: records, also with a blank in the name" "$(printf "%s\n" "run two.json" run.json runs)" \
	"$(complete_words report run.json ru | sort)"

# ---- what is installed

list() {
	(cd "$work/root" && find . ! -type d -printf '%m %P\n' | sort -k 2)
}

make_it() {
	make -s "$@" BUILD="${BUILD:-build}" DESTDIR="$work/root" PREFIX=/usr >"$work/out" 2>&1 ||
		echo "make $*: $(tail -n 5 "$work/out")"
}

mkdir -p "$work/root/usr/bin" "$work/root/usr/share/man/man1"
touch "$work/root/usr/bin/gdrproof-of-others" "$work/root/usr/share/man/man1/gdrproof-of-others.1"
before=$(list)
result "make install" "$(make_it install)"
same "make install: every file in its place" "$({
	echo "$before"
	echo "755 usr/bin/gdrproof"
	echo "644 usr/share/bash-completion/completions/gdrproof"
	for command in '' "${commands[@]}"; do
		echo "644 usr/share/man/man1/$(page_name "$command").1"
	done
} | sort -k 2)" "$(list)"
installed=$work/root/usr/bin/gdrproof
problems=$(for command in '' "${commands[@]}"; do
	"$installed" --manual ${command:+"$command"} |
		diff -q - "$work/root/usr/share/man/man1/$(page_name "$command").1"
done
"$installed" --completion | diff -q - "$work/root/usr/share/bash-completion/completions/gdrproof")
result "make install: pages and script are the program's" "$problems"
result "make uninstall" "$(make_it uninstall)"
same "make uninstall: what was there before, and no more" "$before" "$(list)"

echo "1..$n"
echo "# $((n - failed - skipped)) passed, $failed failed, $skipped skipped"
[[ $failed -eq 0 ]]
