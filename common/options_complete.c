/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options_complete: the completion script for bash. Two functions of the script are tables, written
 * from the rows: what a command has, and what an option's value can be. The third asks them, and
 * knows no command and no option.
 */
#include "options.h"

#include <string.h>

/*
 * COMP_WORDS is split at the characters of COMP_WORDBREAKS: `=` stands as a word of its own between
 * option and value. A list's words so far (`done_with`) are kept and not offered again; no blank
 * follows, another word may.
 */
static const char engine[] =
	"_gdrproof() {\n"
	"	local IFS=$' \\t\\n' current=${COMP_WORDS[COMP_CWORD]} "
	"option=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"	local command='' kind='' words='' options='' done_with='' word left=''\n"
	"\n"
	"	COMPREPLY=()\n"
	"	if [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} != -* ]]; then\n"
	"		command=${COMP_WORDS[1]}\n"
	"	fi\n"
	"	if [[ $current == = ]]; then\n"
	"		current=''\n"
	"	elif [[ $option == = && $COMP_CWORD -gt 2 ]]; then\n"
	"		option=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"	fi\n"
	"	_gdrproof_command \"$command\" || return 0\n"
	"	if ! _gdrproof_value \"$command\" \"$option\" && [[ $current == -* || -z $kind ]]; "
	"then\n"
	"		kind='words' words=$options\n"
	"	fi\n"
	"	case $kind in\n"
	"	words)\n"
	"		mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	"		;;\n"
	"	list)\n"
	"		done_with=${current%\"${current##*,}\"}\n"
	"		for word in $words; do\n"
	"			[[ ,$done_with == *,$word,* ]] || left+=\" $word\"\n"
	"		done\n"
	"		mapfile -t COMPREPLY < <(compgen -P \"$done_with\" -W \"$left\" -- "
	"\"${current##*,}\")\n"
	"		compopt -o nospace 2>/dev/null\n"
	"		;;\n"
	"	file | directory | hostname)\n"
	"		mapfile -t COMPREPLY < <(compgen -A \"$kind\" -- \"$current\")\n"
	"		[[ $kind == hostname ]] || compopt -o filenames 2>/dev/null\n"
	"		;;\n"
	"	esac\n"
	"	return 0\n"
	"}\n"
	"\n"
	"complete -F _gdrproof gdrproof\n";

/* What the words for values in --help stand for, by how they begin, in compgen's terms. */
static const struct {
	const char *arg, *kind;
} kinds[] = {
	{"FILE", "file"}, {"LOG", "file"},	{"SRC", "file"},      {"RECORD", "file"},
	{"BASE", "file"}, {"DIR", "directory"}, {"HOST", "hostname"},
};

static const char *kind_of(const char *arg)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(arg, kinds[i].arg, strlen(kinds[i].arg)) == 0)
			return kinds[i].kind;
	return "none";
}

/* The words of "N|nic|gpu|far" that are in small letters, each after a blank. */
static void literal_words(const char *arg, char *buf, size_t size)
{
	size_t used = 0;

	while (*arg && used < size) {
		size_t len = strcspn(arg, "|");

		if (strspn(arg, "abcdefghijklmnopqrstuvwxyz") == len)
			used += (size_t)snprintf(buf + used, size - used, " %.*s", (int)len, arg);
		arg += len + (arg[len] == '|');
	}
}

static void put_command_words(FILE *out, const struct gp_program *program)
{
	fprintf(out, "kind='words' words='");
	for (int i = 0; program->commands[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", program->commands[i]->command);
	fputc('\'', out);
}

/* What `arg` stands for: the commands, where it is one; else a kind of names. */
static void put_kind(FILE *out, const struct gp_program *program, const char *arg)
{
	if (strncmp(arg + (arg[0] == '['), "COMMAND", strlen("COMMAND")) == 0)
		put_command_words(out, program);
	else
		fprintf(out, "kind='%s'", arg[0] ? kind_of(arg) : "");
}

static void put_value(FILE *out, const struct gp_program *program, const struct gp_option *row)
{
	char literal[120] = "";

	if (row->choices) {
		fprintf(out, "kind='%s' words='", row->type == GP_OPT_CHOICES ? "list" : "words");
		for (int i = 0; row->choices[i]; i++)
			fprintf(out, "%s%s", i ? " " : "", row->choices[i]);
		fputc('\'', out);
		return;
	}
	literal_words(row->arg, literal, sizeof(literal));
	if (row->zero_word)
		fprintf(out, "kind='words' words='%s'", row->zero_word);
	else if (literal[0])
		fprintf(out, "kind='words' words='%s'", literal + 1);
	else
		put_kind(out, program, row->arg);
}

static void put_values(FILE *out, const struct gp_program *program,
		       const struct gp_option_table *table)
{
	for (const struct gp_option *row = table->rows; row->name; row++) {
		if (row->type == GP_OPT_FLAG)
			continue;
		fprintf(out, "\t'%s --%s'", table->command, row->name);
		if (row->letter)
			fprintf(out, " | '%s -%c'", table->command, row->letter);
		fputs(") ", out);
		put_value(out, program, row);
		fputs(" ;;\n", out);
	}
}

static void put_options(FILE *out, const struct gp_program *program,
			const struct gp_option_table *table)
{
	fprintf(out, "\t'%s') ", table->command);
	put_kind(out, program, table->arguments);
	fputs(" options='", out);
	for (const struct gp_option *row = table->rows; row->name; row++) {
		fprintf(out, "--%s ", row->name);
		if (row->letter)
			fprintf(out, "-%c ", row->letter);
	}
	fprintf(out, "--%s' ;;\n", gp_option_help.name);
}

void gp_options_completion(const struct gp_program *program, FILE *out)
{
	fprintf(out,
		"# Completion of gdrproof %s for bash, made from the tables of its options.\n\n",
		program->version);
	fputs("_gdrproof_command() {\n\tcase $1 in\n", out);
	put_options(out, program, program->own);
	for (int i = 0; program->commands[i]; i++)
		put_options(out, program, program->commands[i]);
	fputs("\t*) return 1 ;;\n\tesac\n}\n\n", out);
	fputs("_gdrproof_value() {\n\tcase \"$1 $2\" in\n", out);
	put_values(out, program, program->own);
	for (int i = 0; program->commands[i]; i++)
		put_values(out, program, program->commands[i]);
	fputs("\t*) return 1 ;;\n\tesac\n}\n\n", out);
	fputs(engine, out);
}
