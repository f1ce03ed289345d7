/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inventory_words: how systems say that something is not there, in the languages of the GNU C
 * library, bash and the usual shells. A phrase that is missing here costs a fact, never makes one.
 */
#include "inventory_text.h"

#include <ctype.h>
#include <string.h>

/* Compared without regard to the case of ASCII letters; a Cyrillic capital is left out. */
static const char *const not_found[] = {
	"command not found",
	": not found",
	"unknown command",
	"executable file not found",
	"is not recognized as an internal or external command",
	"kommando nicht gefunden",
	"befehl nicht gefunden",
	"commande introuvable",
	"commande inconnue",
	"orden no encontrada",
	"no se encontró la orden",
	"no se encontró el comando",
	"comando non trovato",
	"comando não encontrado",
	"ordre no trobada",
	"no s'ha trobat l'ordre",
	"opdracht niet gevonden",
	"kommandot finns inte",
	"kommandot hittades inte",
	"kommando ikke fundet",
	"kommandoen ikke fundet",
	"kommando ikke funnet",
	"komentoa ei löydy",
	"nie znaleziono polecenia",
	"příkaz nenalezen",
	"príkaz nenájdený",
	"parancs nem található",
	"comandă negăsită",
	"komut bulunamadı",
	"команда не найдена",
	"команду не знайдено",
	"η εντολή δε βρέθηκε",
	"未找到命令",
	"找不到命令",
	"找不到指令",
	"無此指令",
	"コマンドが見つかりません",
	"명령어를 찾을 수",
	"명령을 찾을 수",
	"không tìm thấy lệnh",
	"perintah tidak ditemukan",
};

static const char *const no_such_file[] = {
	"no such file or directory",
	"datei oder verzeichnis nicht gefunden",
	"aucun fichier ou dossier de ce type",
	"aucun fichier ou répertoire de ce type",
	"no existe el fichero o el directorio",
	"no existe el archivo o el directorio",
	"file o directory non esistente",
	"arquivo ou diretório inexistente",
	"arquivo ou diretório não encontrado",
	"ficheiro ou directória inexistente",
	"el fitxer o directori no existeix",
	"bestand of map bestaat niet",
	"filen eller katalogen finns inte",
	"ingen sådan fil eller filkatalog",
	"ingen slik fil eller filkatalog",
	"tiedostoa tai hakemistoa ei ole",
	"nie ma takiego pliku ani katalogu",
	"adresář nebo soubor neexistuje",
	"nincs ilyen fájl vagy könyvtár",
	"böyle bir dosya ya da dizin yok",
	"ет такого файла",
	"емає такого файла",
	"没有那个文件",
	"沒有此一檔案",
	"そのようなファイル",
	"그런 파일이나",
};

static bool has_any(const char *line, const char *const *phrases, size_t n)
{
	if (strlen(line) > 400)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcasestr(line, phrases[i]))
			return true;
	return false;
}

bool gp_says_command_not_found(const char *line)
{
	return has_any(line, not_found, sizeof(not_found) / sizeof(not_found[0]));
}

bool gp_says_no_such_file(const char *line)
{
	return has_any(line, no_such_file, sizeof(no_such_file) / sizeof(no_such_file[0]));
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

bool gp_has_word(const char *line, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = line; (p = strstr(p, word)); p += length)
		if ((p == line || !in_name(p[-1])) && !in_name(p[length]))
			return true;
	return false;
}
