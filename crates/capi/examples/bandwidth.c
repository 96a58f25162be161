/* The bandwidth of memory: cc bandwidth.c -lcpudyno && ./a.out */
#include <cpudyno.h>
#include <stdio.h>

static void print(const char *kernel, cd_value value) {
    printf("%-6s %8.1f GB/s (%.1f to %.1f)\n", kernel, value.median / 1e9, value.minimum / 1e9,
           value.maximum / 1e9);
}

int main(int argc, char **argv) {
    const char *machine = argc > 1 ? argv[1] : NULL; /* NULL: this one */
    cd_bandwidth found;
    cd_status status = cd_memory_bandwidth(machine, 0, 10.0, &found); /* all cores, ten seconds */
    if (status == CD_ERROR_UNAVAILABLE) {
        fprintf(stderr, "no %s: %s\n", cd_error_what(), cd_error_why());
        return 3;
    }
    if (status != CD_OK) {
        fprintf(stderr, "error: %s\n", cd_error_text());
        return 1;
    }
    printf("%u threads\n", found.threads);
    print("copy", found.copy);
    print("scale", found.scale);
    print("add", found.add);
    print("triad", found.triad);
    return 0;
}
