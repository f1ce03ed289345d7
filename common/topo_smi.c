/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_smi: the matrix of `nvidia-smi topo -m`, as people paste it.
 *
 * Read as words, not as lines: tabs turned into spaces, wrapped rows, quoting marks, prompts and
 * what else stands around it do not matter then. The header is a run of device names, a row is a
 * device name with one cell for each of them behind it; whatever comes next up to the following row
 * are the affinity columns.
 */
#include "topo_tree.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX (2 * GP_TOPO_MAX)

struct word {
	const char *at;
	size_t len;
};

struct words {
	int n;
	struct word *word;
};

/* The matrix: names of the header, and where in the words the rows begin. */
struct matrix {
	int n;
	struct word name[COLUMNS_MAX];
	bool cpu, numa; /* columns behind the cells */
	int begin;	/* word behind the header */
};

static bool word_is(const struct word *word, const char *text)
{
	return word->len == strlen(text) && memcmp(word->at, text, word->len) == 0;
}

static bool word_equal(const struct word *a, const struct word *b)
{
	return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

/* `prefix` and then digits only. */
static bool word_numbered(const struct word *word, const char *prefix)
{
	size_t n = strlen(prefix);

	if (word->len <= n || memcmp(word->at, prefix, n) != 0)
		return false;
	for (size_t i = n; i < word->len; i++)
		if (!isdigit((unsigned char)word->at[i]))
			return false;
	return true;
}

static const struct {
	const char *text;
	enum gp_class class;
} cells[] = {
	{"PIX", GP_CLASS_PIX},	 {"PSB", GP_CLASS_PIX}, /* one switch, on the board */
	{"PXB", GP_CLASS_PXB},	 {"PHB", GP_CLASS_PHB},	    {"NODE", GP_CLASS_NODE},
	{"SYS", GP_CLASS_SYS},	 {"SOC", GP_CLASS_SYS}, /* so called before driver 384 */
	{"X", GP_CLASS_UNKNOWN}, {"N/A", GP_CLASS_UNKNOWN},
};

/* NVLink cells (NV4) are between GPUs and tell no PCIe distance. */
static bool cell_read(const struct word *word, enum gp_class *class)
{
	*class = GP_CLASS_UNKNOWN;
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
		if (!word_is(word, cells[i].text))
			continue;
		*class = cells[i].class;
		return true;
	}
	return word_numbered(word, "NV");
}

/*
 * Split a copy of the text into words. The escapes with which nvidia-smi underlines its header
 * become blanks, also where a paste lost the ESC ("[4m") or made it two characters ("^[[4m").
 */
static void escapes_blank(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		size_t from = i, to;

		if (text[i] != '[')
			continue;
		for (to = i + 1; to < len && (isdigit((unsigned char)text[to]) || text[to] == ';');)
			to++;
		if (to >= len || text[to] != 'm')
			continue;
		if (from > 0 && text[from - 1] == '\033')
			from--;
		else if (from > 1 && text[from - 1] == '[' && text[from - 2] == '^')
			from -= 2;
		memset(text + from, ' ', to + 1 - from);
	}
}

static bool is_blank(char c)
{
	return isspace((unsigned char)c) || c == '\033' || c == 0;
}

static bool is_quoting(const struct word *word)
{
	return strspn(word->at, ">|`") >= word->len;
}

/* Words point into `text`, which is changed. */
static int words_split(char *text, size_t len, struct words *words)
{
	words->n = 0;
	words->word = malloc((len / 2 + 1) * sizeof(*words->word));
	if (!words->word)
		return -1;
	escapes_blank(text, len);
	for (size_t i = 0; i < len;) {
		struct word word = {text + i, 0};

		while (i < len && !is_blank(text[i])) {
			word.len++;
			i++;
		}
		i += word.len == 0;
		if (word.len > 0 && !is_quoting(&word))
			words->word[words->n++] = word;
	}
	return 0;
}

static int column_find(const struct matrix *matrix, const struct word *word)
{
	for (int i = 0; i < matrix->n; i++)
		if (word_equal(&matrix->name[i], word))
			return i;
	return -1;
}

/* A row begins at word i: a name of the header, then a cell. */
static bool is_row(const struct words *words, const struct matrix *matrix, int i)
{
	enum gp_class class;

	return i + 1 < words->n && column_find(matrix, &words->word[i]) >= 0 &&
	       cell_read(&words->word[i + 1], &class);
}

static bool is_heading(const struct word *word)
{
	static const char *const heading[] = {"CPU", "NUMA", "GPU", "Affinity", "ID"};

	for (size_t i = 0; i < sizeof(heading) / sizeof(heading[0]); i++)
		if (word_is(word, heading[i]))
			return true;
	return false;
}

/* Try to read a header at word i: names, headings of the affinity columns, the first row. */
static bool header_at(const struct words *words, int i, struct matrix *matrix)
{
	enum gp_class class;

	memset(matrix, 0, sizeof(*matrix));
	for (; i < words->n && matrix->n < COLUMNS_MAX; i++) {
		const struct word *word = &words->word[i];

		if (is_heading(word) || column_find(matrix, word) >= 0)
			break;
		matrix->name[matrix->n++] = *word;
	}
	for (; i < words->n && is_heading(&words->word[i]); i++) {
		bool affinity = i + 1 < words->n && word_is(&words->word[i + 1], "Affinity");

		matrix->cpu |= affinity && word_is(&words->word[i], "CPU");
		matrix->numa |= affinity && word_is(&words->word[i], "NUMA");
	}
	matrix->begin = i;
	if (!is_row(words, matrix, i))
		return false;
	/* all cells of the first row, or it is another matrix (topo -p2p) */
	for (int k = 1; k <= matrix->n; k++)
		if (i + k >= words->n || !cell_read(&words->word[i + k], &class))
			return false;
	return true;
}

static bool header_find(const struct words *words, struct matrix *matrix)
{
	for (int i = 0; i < words->n; i++)
		if (word_numbered(&words->word[i], "GPU") && header_at(words, i, matrix))
			return true;
	return false;
}

/* What a row says: one class per column, and the words behind. */
struct row {
	int column;
	enum gp_class class[COLUMNS_MAX];
	int rest, n_rest; /* words of the affinity columns */
};

/* Read the row at word *i and step behind it; false where it is cut off. */
static bool row_read(const struct words *words, const struct matrix *matrix, int *i,
		     struct row *row)
{
	row->column = column_find(matrix, &words->word[(*i)++]);
	for (int k = 0; k < matrix->n; k++, (*i)++)
		if (*i >= words->n || !cell_read(&words->word[*i], &row->class[k]))
			return false;
	row->rest = *i;
	while (*i < words->n && !is_row(words, matrix, *i) && *i - row->rest < 3 &&
	       !word_is(&words->word[*i], "Legend:"))
		(*i)++;
	row->n_rest = *i - row->rest;
	return true;
}

static bool is_list(const struct word *word)
{
	return word->len > 0 && strspn(word->at, "0123456789,-") >= word->len &&
	       isdigit((unsigned char)word->at[0]);
}

/* CPU Affinity, NUMA Affinity. A row that leaves one out is told by the shape of what is there. */
static void affinity_read(const struct words *words, const struct matrix *matrix,
			  const struct row *row, struct gp_topo_device *gpu)
{
	const struct word *word = &words->word[row->rest];
	int at = 0;

	if (matrix->cpu && at < row->n_rest) {
		if (is_list(&word[at]))
			gp_topo_text(gpu->cpus, sizeof(gpu->cpus), word[at].at, word[at].len);
		at++;
	}
	if (!matrix->numa || at >= row->n_rest || !is_list(&word[at]))
		return;
	if (strspn(word[at].at, "0123456789") >= word[at].len && word[at].len < 5)
		gpu->numa_node = atoi(word[at].at);
}

/* Devices of the header, in its order; index[] is their place in their list. */
static void devices_add(struct gp_topo *topo, const struct matrix *matrix, int *index)
{
	char name[64];

	for (int i = 0; i < matrix->n; i++) {
		bool gpu = word_numbered(&matrix->name[i], "GPU");

		gp_topo_text(name, sizeof(name), matrix->name[i].at, matrix->name[i].len);
		index[i] = gpu ? topo->n_gpus : topo->n_nics;
		if (!(gpu ? gp_topo_gpu_add(topo, -1, name) : gp_topo_nic_add(topo, -1, name)))
			index[i] = -1;
	}
	for (int g = 0; g < GP_TOPO_MAX; g++)
		for (int n = 0; n < GP_TOPO_MAX; n++)
			topo->pair[g][n] = GP_CLASS_UNKNOWN;
}

static void row_store(struct gp_topo *topo, const struct matrix *matrix, const int *index,
		      const struct row *row)
{
	bool gpu = word_numbered(&matrix->name[row->column], "GPU");
	int own = index[row->column];

	for (int k = 0; k < matrix->n; k++) {
		if (word_numbered(&matrix->name[k], "GPU") == gpu || index[k] < 0 || own < 0 ||
		    row->class[k] == GP_CLASS_UNKNOWN)
			continue;
		if (gpu)
			topo->pair[own][index[k]] = row->class[k];
		else
			topo->pair[index[k]][own] = row->class[k];
	}
}

/* "NIC Legend: NIC0: mlx5_0 ...", in any arrangement of lines. */
static void legend_read(struct gp_topo *topo, const struct words *words, int i)
{
	for (; i + 1 < words->n; i++) {
		struct word key = words->word[i], value = words->word[i + 1];

		if (key.len < 2 || key.at[--key.len] != ':' || !word_numbered(&key, "NIC"))
			continue;
		while (value.len > 0 && strchr(",;", value.at[value.len - 1]))
			value.len--;
		for (int n = 0; n < topo->n_nics && value.len > 0; n++)
			if (strlen(topo->nics[n].name) == key.len &&
			    memcmp(topo->nics[n].name, key.at, key.len) == 0) {
				gp_topo_text(topo->nics[n].name, sizeof(topo->nics[n].name),
					     value.at, value.len);
				break;
			}
	}
}

static int matrix_read(struct gp_topo *topo, const struct words *words, struct gp_error *err)
{
	int index[COLUMNS_MAX], i;
	struct matrix matrix;
	struct row row;

	if (!header_find(words, &matrix))
		return gp_error_set(err, GP_EXIT_USAGE, "nvidia-smi topo -m: no matrix found");
	devices_add(topo, &matrix, index);
	for (i = matrix.begin; is_row(words, &matrix, i);) {
		int begin = i;

		if (!row_read(words, &matrix, &i, &row))
			return gp_error_set(err, GP_EXIT_USAGE,
					    "nvidia-smi topo -m: the row of %.*s is cut off",
					    (int)words->word[begin].len, words->word[begin].at);
		row_store(topo, &matrix, index, &row);
		if (word_numbered(&matrix.name[row.column], "GPU") && index[row.column] >= 0)
			affinity_read(words, &matrix, &row, &topo->gpus[index[row.column]]);
	}
	legend_read(topo, words, matrix.begin);
	return 0;
}

/* Work on a copy: `text` is the caller's. */
static int with_words(const char *text, size_t len, struct words *words, char **copy)
{
	*copy = malloc(len + 1);
	if (!*copy)
		return -1;
	memcpy(*copy, text, len);
	(*copy)[len] = 0;
	if (words_split(*copy, len, words) == 0)
		return 0;
	free(*copy);
	return -1;
}

int gp_topo_read_smi(struct gp_topo *topo, const char *text, size_t len, struct gp_error *err)
{
	struct words words;
	char *copy;
	int rc;

	if (with_words(text, len, &words, &copy) < 0)
		return gp_error_set(err, GP_EXIT_FAILED, "nvidia-smi topo -m: out of memory");
	rc = matrix_read(topo, &words, err);
	free(words.word);
	free(copy);
	return rc;
}

bool gp_topo_is_smi(const char *text, size_t len)
{
	struct matrix matrix;
	struct words words;
	char *copy;
	bool found;

	if (with_words(text, len, &words, &copy) < 0)
		return false;
	found = header_find(&words, &matrix);
	free(words.word);
	free(copy);
	return found;
}
