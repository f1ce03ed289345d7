/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_tools: the tools whose output is known, and what each says by what it does not print.
 *
 * A row of `tools` is a command name, the words that may follow where no prompt says that it is a
 * command, and its reader. Lines that tell by themselves what they are belong to
 * inventory_shapes; here is what takes the command to understand: a bare "5.15.0", an empty
 * `lsmod | grep nvidia`, "ofed_info: command not found".
 */
#include "inventory_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef void read_fn(const struct gp_reading *reading);

struct tool {
	const char *name;
	/* what may follow without a prompt: "" options only, "/" a path, "*" up to three words,
	 * else the list of first words, one of which has to follow where it begins with "!" */
	const char *words;
	read_fn *read;
};

void gp_reading_note(const struct gp_reading *reading, enum gp_fact_id id, enum gp_known known,
		     enum gp_rank rank, const char *value, const struct gp_line *line)
{
	struct gp_origin where = {reading->source, line->text, line->number};

	gp_inventory_set(reading->inv, id, known, rank, value, &where);
}

/* A fact whose line is the command itself: it printed nothing about it, and would have. */
static void note_silence(const struct gp_reading *reading, enum gp_fact_id id, enum gp_rank rank)
{
	const struct gp_segment *segment = reading->segment;
	struct gp_line line = {segment->command ? segment->command : (char *)"",
			       segment->command_number};

	gp_reading_note(reading, id, GP_NO, rank, NULL, &line);
}

/* Its silence counts: the output is whole, and nothing in it says otherwise. */
static bool is_whole(const struct gp_reading *reading)
{
	return !reading->segment->elided && (reading->segment->closed || reading->segment->n > 0);
}

bool gp_kernel_word(const char *text, char *release, size_t size)
{
	size_t digits = strspn(text, "0123456789"), length;

	if (digits == 0 || digits > 2 || text[digits] != '.' ||
	    !isdigit((unsigned char)text[digits + 1]))
		return false;
	length =
		strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-+~");
	if (length >= size || (text[length] && !strchr(" \t,\"')", text[length])))
		return false;
	memcpy(release, text, length);
	release[length] = '\0';
	return true;
}

/* --- readers --- */

static void read_uname(const struct gp_reading *reading)
{
	char release[100];

	for (int i = 0; i < reading->segment->n; i++) {
		const struct gp_line *line = &reading->segment->lines[i];
		const char *text = gp_trimmed(line->text);

		if (gp_kernel_word(text, release, sizeof(release)) &&
		    gp_is_blank(text + strlen(release))) {
			gp_reading_note(reading, GP_FACT_KERNEL, GP_YES, GP_RANK_KERNEL, release,
					line);
			return;
		}
	}
}

static void read_hostname(const struct gp_reading *reading)
{
	const struct gp_line *line = gp_segment_first_line(reading->segment);
	size_t length;

	if (!line || reading->inv->name)
		return;
	length = strcspn(gp_trimmed(line->text), " \t");
	if (gp_is_blank(gp_trimmed(line->text) + length))
		reading->inv->name = strndup(gp_trimmed(line->text), length);
}

bool gp_module_row(const char *line, char *name, size_t size, const char **users)
{
	const char *p = gp_trimmed(line);
	size_t length = strcspn(p, " \t");
	char *end;

	if (length == 0 || length >= size ||
	    strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_") < length)
		return false;
	memcpy(name, p, length);
	name[length] = '\0';
	p += length;
	for (int i = 0; i < 2; i++) {
		p = gp_trimmed(p);
		strtoul(p, &end, 10);
		if (end == p || (*end && *end != ' ' && *end != '\t'))
			return false;
		p = end;
	}
	*users = gp_trimmed(p);
	return true;
}

/* What module lists say by silence. `nvidia` absent is told by a list that is not cut to a few. */
static void read_modules(const struct gp_reading *reading)
{
	int rows = 0, nvidia = 0, peermem = 0;
	char name[64];
	const char *users;
	bool filtered =
		reading->part && (reading->part->n > 1 || gp_pipeline_is_grep(reading->part));

	for (int i = 0; i < reading->segment->n; i++) {
		const char *text = reading->segment->lines[i].text;

		if (!gp_module_row(text, name, sizeof(name), &users))
			continue;
		rows++;
		nvidia += strcmp(name, "nvidia") == 0;
		peermem += gp_has_word(text, "nvidia_peermem");
	}
	if (!is_whole(reading) || (rows == 0 && gp_segment_first_line(reading->segment)))
		return;
	if (!reading->part || (rows == 0 && !filtered))
		return;
	if (peermem == 0 && gp_pipeline_shows(reading->part, "nvidia_peermem 16384 0"))
		note_silence(reading, GP_FACT_PEERMEM, GP_RANK_DIRECT);
	if (nvidia == 0 && (filtered || rows >= 8) &&
	    gp_pipeline_shows(reading->part, "nvidia 56713216 1 nvidia_uvm"))
		note_silence(reading, GP_FACT_DRIVER, GP_RANK_DIRECT);
}

/* What /proc/modules and /etc/hostname hold is what lsmod and hostname print. */
static void read_cat(const struct gp_reading *reading)
{
	const struct gp_stage *stage = &reading->part->stage[0];

	for (int i = 1; i < stage->n; i++) {
		if (strstr(stage->word[i], "/proc/modules"))
			read_modules(reading);
		if (strstr(stage->word[i], "/etc/hostname"))
			read_hostname(reading);
	}
	gp_files_cat(reading);
}

static bool is_guid(const char *text)
{
	size_t length = strspn(text, "0123456789abcdefABCDEF:.xX*-");

	return length >= 4 && gp_is_blank(text + length);
}

/* Rows of ibv_devices below its two header lines. */
static void read_ibv_devices(const struct gp_reading *reading)
{
	bool header = false;
	int rows = 0;

	for (int i = 0; i < reading->segment->n; i++) {
		const struct gp_line *line = &reading->segment->lines[i];
		const char *text = gp_trimmed(line->text);
		size_t length = strcspn(text, " \t");
		struct gp_origin where = {reading->source, line->text, line->number};
		char name[64];

		if (text[0] == '-' || strstr(text, "node GUID")) {
			header = true;
			continue;
		}
		if (length == 0 || length >= sizeof(name) || !is_guid(gp_trimmed(text + length)))
			continue;
		memcpy(name, text, length);
		name[length] = '\0';
		gp_inventory_nic(reading->inv, name, NULL, &where);
		rows++;
	}
	if (header && rows == 0 && is_whole(reading) && !reading->segment->inside)
		note_silence(reading, GP_FACT_RDMA, GP_RANK_DIRECT);
}

static void read_rdma(const struct gp_reading *reading)
{
	const struct gp_stage *stage = &reading->part->stage[0];

	if (stage->n > 1 && strncmp(stage->word[1], "link", 4) == 0 && reading->part->n == 1 &&
	    !gp_segment_first_line(reading->segment) && is_whole(reading) &&
	    !reading->segment->inside)
		note_silence(reading, GP_FACT_RDMA, GP_RANK_DIRECT);
}

#define MEMLOCK_ENOUGH_KIB (1ULL << 20) /* 1 GiB: room for the buffers of a benchmark */

static void read_ulimit(const struct gp_reading *reading)
{
	const struct gp_line *line = gp_segment_first_line(reading->segment);
	const struct gp_stage *stage = &reading->part->stage[0];
	unsigned long long kib;
	char value[64], *end;

	if (!line || stage->n != 2 || !strchr(stage->word[1], 'l'))
		return;
	if (strcmp(gp_trimmed(line->text), "unlimited") == 0) {
		gp_reading_note(reading, GP_FACT_MEMLOCK, GP_YES, GP_RANK_DIRECT, "unlimited",
				line);
		return;
	}
	kib = strtoull(gp_trimmed(line->text), &end, 10);
	if (end == gp_trimmed(line->text) || !gp_is_blank(end))
		return;
	snprintf(value, sizeof(value), "%llu KiB", kib);
	gp_reading_note(reading, GP_FACT_MEMLOCK, kib < MEMLOCK_ENOUGH_KIB ? GP_NO : GP_YES,
			GP_RANK_DIRECT, value, line);
}

static const char *field_after(const char *text, const char *key)
{
	size_t length = strlen(key);

	return strncmp(text, key, length) == 0 ? gp_trimmed(text + length) : NULL;
}

static bool module_is(const char *module, const char *name)
{
	size_t length = strlen(name);

	/* "nvidia", "/lib/modules/…/nvidia.ko.xz"; '-' and '_' are the same to the kernel */
	for (const char *p = module; *p; p++) {
		size_t i = 0;

		if (p != module && p[-1] != '/')
			continue;
		while (i < length && (p[i] == name[i] || (p[i] == '-' && name[i] == '_')))
			i++;
		if (i == length && (!p[i] || strncmp(p + i, ".ko", 3) == 0))
			return true;
	}
	return false;
}

/* The block of one module: which, its version, its license. */
struct module_info {
	const char *module;
	const struct gp_line *version, *license;
};

static void note_module(const struct gp_reading *reading, const struct module_info *info)
{
	const char *version = info->version ? gp_trimmed(info->version->text) : "";

	if (!info->module)
		return;
	if (strncmp(version, "version:", 8) == 0)
		version = gp_trimmed(version + 8);
	if (module_is(info->module, "nvidia") && info->version)
		gp_reading_note(reading, GP_FACT_DRIVER, GP_YES, GP_RANK_INSTALLED, version,
				info->version);
	if (module_is(info->module, "nvidia") && info->license)
		gp_reading_note(reading, GP_FACT_OPEN,
				strstr(info->license->text, "GPL") ? GP_YES : GP_NO,
				GP_RANK_INSTALLED, version, info->license);
	if (module_is(info->module, "nvidia_fs") && info->version)
		gp_reading_note(reading, GP_FACT_NVIDIA_FS, GP_YES, GP_RANK_INSTALLED, version,
				info->version);
	if (module_is(info->module, "mlx5_core") && info->version)
		gp_reading_note(reading, GP_FACT_OFED_MODULES, GP_YES, GP_RANK_INSTALLED, version,
				info->version);
	/* the kernel's own has no version; OFED's stands under updates/ or extra/ */
	if (module_is(info->module, "mlx5_core") && !info->version && info->license &&
	    strstr(info->module, "/kernel/drivers/"))
		gp_reading_note(reading, GP_FACT_OFED_MODULES, GP_NO, GP_RANK_INSTALLED, NULL,
				info->license);
}

static void read_modinfo(const struct gp_reading *reading)
{
	const struct gp_stage *stage = reading->part ? &reading->part->stage[0] : NULL;
	struct module_info info = {.module = stage && stage->n > 1 ? stage->word[stage->n - 1]
								   : NULL};
	const char *field = NULL;

	for (int i = 1; stage && i + 2 < stage->n; i++)
		if (strcmp(stage->word[i], "-F") == 0)
			field = stage->word[i + 1];
	for (int i = 0; i < reading->segment->n; i++) {
		const struct gp_line *line = &reading->segment->lines[i];
		const char *text = gp_trimmed(line->text);

		if (field_after(text, "filename:")) {
			note_module(reading, &info);
			info = (struct module_info){.module = field_after(text, "filename:")};
		} else if (field_after(text, "version:") ||
			   (field && strcmp(field, "version") == 0 &&
			    isdigit((unsigned char)*text))) {
			info.version = line;
		} else if (field_after(text, "license:") ||
			   (field && strcmp(field, "license") == 0 && !strchr(text, ':') &&
			    !gp_is_blank(text))) {
			info.license = line;
		}
	}
	note_module(reading, &info);
}

/* "name, driver_version" of --query-gpu as columns of what is printed. */
static void read_smi_query(const struct gp_reading *reading, const char *fields)
{
	for (int i = 0; i < reading->segment->n; i++) {
		const struct gp_line *line = &reading->segment->lines[i];
		struct gp_origin where = {reading->source, line->text, line->number};
		const char *field = fields, *cell = gp_trimmed(line->text);
		char value[100];

		while (*field && *cell) {
			size_t name = strcspn(field, ","), length = strcspn(cell, ",");

			snprintf(value, sizeof(value), "%.*s",
				 (int)(length < sizeof(value) ? length : sizeof(value) - 1), cell);
			if ((strncmp(field, "name", name) == 0 ||
			     strncmp(field, "gpu_name", name) == 0) &&
			    strcmp(value, "name") != 0)
				gp_inventory_gpu(reading->inv, value, &where);
			else if (strncmp(field, "driver_version", name) == 0 &&
				 isdigit((unsigned char)value[0]))
				gp_reading_note(reading, GP_FACT_DRIVER, GP_YES, GP_RANK_DIRECT,
						value, line);
			field += name + (field[name] == ',');
			cell = gp_trimmed(cell + length + (cell[length] == ','));
		}
	}
}

static void read_smi(const struct gp_reading *reading)
{
	const struct gp_stage *stage = &reading->part->stage[0];

	for (int i = 1; i < stage->n; i++)
		if (strncmp(stage->word[i], "--query-gpu=", 12) == 0)
			read_smi_query(reading, stage->word[i] + 12);
}

/* A package list without any package of OFED, where the filter would have let one through. */
static void read_packages(const struct gp_reading *reading)
{
	const struct gp_segment *segment = reading->segment;

	if (reading->part->n < 2 || !segment->closed || segment->elided || segment->inside ||
	    gp_segment_first_line(segment))
		return;
	/* both are part of every MLNX_OFED and DOCA-OFED */
	if (gp_pipeline_shows(reading->part, "ofed-scripts") ||
	    gp_pipeline_shows(reading->part, "mlnx-tools"))
		note_silence(reading, GP_FACT_OFED, GP_RANK_INSTALLED);
}

static void read_nothing(const struct gp_reading *reading)
{
	(void)reading;
}

static const struct tool tools[] = {
	{"uname", "", read_uname},
	{"hostname", "", read_hostname},
	{"hostnamectl", "status", read_nothing},
	{"lsmod", "", read_modules},
	{"ofed_info", "", read_nothing},
	{"nvidia-smi", "topo nvlink", read_smi},
	{"nvcc", "", read_nothing},
	{"cat", "/", read_cat},
	{"head", "/", read_cat},
	{"tail", "/", read_cat},
	{"more", "/", read_cat},
	{"less", "/", read_cat},
	{"grep", "/", read_cat},
	{"ls", "/", gp_files_ls},
	{"modinfo", "*", read_modinfo},
	{"modprobe", "*", read_nothing},
	{"insmod", "/", read_nothing},
	{"rmmod", "*", read_nothing},
	{"ibv_devices", "", read_ibv_devices},
	{"ibv_devinfo", "", read_nothing},
	{"ibstat", "*", read_nothing},
	{"ibstatus", "*", read_nothing},
	{"ibdev2netdev", "", read_nothing},
	{"show_gids", "", read_nothing},
	{"rdma", "!link dev res system", read_rdma},
	{"mst", "!status start version", read_nothing},
	{"lspci", "", read_nothing},
	{"dmesg", "", read_nothing},
	{"journalctl", "", read_nothing},
	{"ulimit", "", read_ulimit},
	{"dpkg", "", read_packages},
	{"dpkg-query", "", read_packages},
	{"rpm", "", read_packages},
	{"apt", "!list", read_packages},
	{"apt-cache", "!policy", read_nothing},
	{"yum", "!list", read_nothing},
	{"dnf", "!list module", read_nothing},
	{"zypper", "!se search", read_nothing},
	{"dkms", "status", read_nothing},
	{"helm", "!get list ls show status history install upgrade template version", read_nothing},
	{"kubectl", "!get describe logs exec apply version patch edit", read_nothing},
	{"oc", "!get describe logs exec apply version debug adm", read_nothing},
	{"systemctl", "status show is-active", read_nothing},
	{"ethtool", "*", read_nothing},
	{"ip", "!link addr a l", read_nothing},
	{"gdscheck", "", read_nothing},
	{"gdscheck.py", "", read_nothing},
	{"numactl", "", read_nothing},
	{"lscpu", "", read_nothing},
	{"ib_write_bw", "*", read_nothing},
	{"ib_read_bw", "*", read_nothing},
	{"ucx_info", "", read_nothing},
	{"fi_info", "", read_nothing},
	{"mpirun", "*", read_nothing},
	{"getconf", "*", read_nothing},
	{"which", "*", read_nothing},
	{"date", "", read_nothing},
	{"exit", "", read_nothing},
};
#define N_TOOLS (sizeof(tools) / sizeof(tools[0]))

/* --- finding a tool --- */

static const struct tool *tool_find(const char *word)
{
	const char *slash = strrchr(word, '/');

	if (slash)
		word = slash + 1;
	for (size_t i = 0; i < N_TOOLS; i++)
		if (word[0] == tools[i].name[0] && strcmp(word, tools[i].name) == 0)
			return &tools[i];
	return NULL;
}

static bool word_listed(const char *list, const char *word)
{
	size_t length = strlen(word); /* 0 for a lone quote */

	for (const char *p = list; length && (p = strstr(p, word)); p += length)
		if ((p == list || p[-1] == ' ') && (!p[length] || p[length] == ' '))
			return true;
	return false;
}

static bool is_path(const char *word)
{
	return word[0] == '/' || word[0] == '~' || (word[0] == '.' && word[1] == '/');
}

static bool words_fit(const struct tool *tool, const struct gp_stage *stage)
{
	const char *first = NULL;
	int plain = 0;
	bool path = false;

	for (int i = 1; i < stage->n; i++) {
		const char *word = stage->word[i];

		path |= is_path(word);
		if (word[0] == '-' || is_path(word) || isdigit((unsigned char)word[0]))
			continue;
		if (plain++ == 0)
			first = word;
	}
	if (strcmp(tool->words, "/") == 0)
		return path && plain <= 2;
	if (strcmp(tool->words, "*") == 0)
		return plain <= 3 && stage->n <= 12;
	/* an option may have its value behind it: `journalctl -k -b`, `modinfo -F version` */
	if (tool->words[0] == '\0')
		return plain == 0 || (plain == 1 && stage->n > 2 && stage->word[1][0] == '-');
	if (first && word_listed(tool->words + (tool->words[0] == '!'), first))
		return true;
	return tool->words[0] != '!' && plain == 0 && stage->n <= 6;
}

bool gp_tool_is_command(const char *text)
{
	size_t length =
		strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			     "_-./=");
	struct gp_command command;
	const char *slash;
	char word[64];

	if (length < 2 || length >= sizeof(word) ||
	    (text[length] && !strchr(" \t|;&", text[length])))
		return false;
	memcpy(word, text, length);
	word[length] = '\0';
	slash = strrchr(word, '/');
	if (!tool_find(word) && !gp_command_is_wrapper(slash ? slash + 1 : word) &&
	    !strchr(word, '='))
		return false;
	gp_command_read(text, &command);
	if (command.n == 0 || command.part[0].n == 0 || command.part[0].stage[0].n == 0)
		return false;
	const struct gp_stage *stage = &command.part[0].stage[0];
	const struct tool *tool = tool_find(stage->word[0]);

	return tool && words_fit(tool, stage);
}

/* --- captured files --- */

/* Names that are not the command's own. */
static const struct {
	const char *file, *command;
} file_names[] = {
	{"installed-rpms", "rpm -qa"},
	{"installed-debs", "dpkg -l"},
	{"kernel", "uname -r"},
	{"modules", "lsmod"},
	{"values", "helm get values"},
	{"helm_values", "helm get values"},
	{"ds_describe", "kubectl describe ds"},
	{"memory_peers", "ls /sys/kernel/mm/memory_peers"},
	{"limits", "ulimit -a"},
	{"memlock", "ulimit -l"},
	{"version.json", "cat /usr/local/cuda/version.json"},
	{"infiniband", "ls /sys/class/infiniband"},
	{"clusterpolicy", "kubectl get clusterpolicy -o yaml"},
	{"nicclusterpolicy", "kubectl get nicclusterpolicy -o yaml"},
	{"peermem_log", "kubectl logs"},
};

static const char *const mirrored[] = {"proc/", "sys/", "etc/", "usr/", "run/", "var/", "opt/"};

/* "mst_status": the tool `mst`, the rest its words. A tool's own underscores are part of it. */
static bool from_tool_name(const char *base, char *command, size_t size)
{
	const struct tool *best = NULL;
	size_t best_length = 0;

	for (size_t i = 0; i < N_TOOLS; i++) {
		size_t length = strlen(tools[i].name);

		if (strncmp(base, tools[i].name, length) == 0 && length > best_length &&
		    (!base[length] || strchr("_-. ", base[length]))) {
			best = &tools[i];
			best_length = length;
		}
	}
	if (!best)
		return false;
	snprintf(command, size, "%s %s", best->name,
		 base + best_length + (base[best_length] != '\0' && base[best_length] != '-'));
	for (char *p = command + best_length; *p; p++)
		if (*p == '_')
			*p = ' ';
	return true;
}

bool gp_tool_from_file(const char *path, char *command, size_t size)
{
	static const char *const endings[] = {".txt", ".log", ".out", ".yaml", ".yml", ".json"};
	const char *slash = strrchr(path, '/');
	char base[200];
	size_t length;

	for (size_t i = 0; i < sizeof(mirrored) / sizeof(mirrored[0]); i++)
		if (strncmp(path, mirrored[i], strlen(mirrored[i])) == 0) {
			snprintf(command, size, "cat /%s", path);
			return true;
		}
	snprintf(base, sizeof(base), "%s", slash ? slash + 1 : path);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		length = strlen(base);
		if (length > strlen(endings[i]) && strcmp(base, "version.json") != 0 &&
		    strcasecmp(base + length - strlen(endings[i]), endings[i]) == 0)
			base[length - strlen(endings[i])] = '\0';
	}
	for (size_t i = 0; i < sizeof(file_names) / sizeof(file_names[0]); i++)
		if (strcasecmp(base, file_names[i].file) == 0) {
			snprintf(command, size, "%s", file_names[i].command);
			return true;
		}
	return from_tool_name(base, command, size);
}

/* --- reading --- */

void gp_tools_read(struct gp_inventory *inv, const struct gp_segment *segment, const char *source)
{
	struct gp_reading reading = {inv, segment, NULL, source};
	struct gp_command command;
	bool modinfo = false;

	gp_files_messages(&reading);
	if (segment->command)
		gp_command_read(segment->command, &command);
	for (int i = 0; segment->command && i < command.n; i++) {
		const struct gp_stage *stage = &command.part[i].stage[0];
		const struct tool *tool = stage->n ? tool_find(stage->word[0]) : NULL;

		if (!tool)
			continue;
		reading.part = &command.part[i];
		modinfo |= tool->read == read_modinfo;
		tool->read(&reading);
	}
	reading.part = NULL;
	if (!modinfo)
		read_modinfo(&reading); /* its blocks name the module themselves */
}
