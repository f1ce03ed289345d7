/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay: runs a fuzz target over the files that are named, where there is no libFuzzer. Exits 0
 * when all have been through it; 77 (skip) where none was named.
 */
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static int replay(const char *path)
{
	FILE *in = fopen(path, "rb");
	unsigned char *data = NULL;
	size_t size = 0, got;

	if (!in) {
		perror(path);
		return -1;
	}
	do {
		data = realloc(data, size + 65536);
		if (!data)
			abort();
		got = fread(data + size, 1, 65536, in);
		size += got;
	} while (got > 0);
	fclose(in);
	/* a copy of the exact size, so that a read behind its end is seen */
	unsigned char *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	for (size_t i = 0; i < size; i++)
		exact[i] = data[i];
	free(data);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]) < 0;
	printf("replayed %d input%s\n", argc - 1, argc == 2 ? "" : "s");
	return argc < 2 ? 77 : failed;
}
