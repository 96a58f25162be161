/* Regions for counters: cc regions.c -lcpudyno && ./a.out */
#include <cpudyno.h>
#include <stdio.h>
#include <stdlib.h>

static void ok(cd_status status) {
    if (status != CD_OK) {
        fprintf(stderr, "error: %s\n", cd_error_text());
        exit(1);
    }
}

int main(int argc, char **argv) {
    const char *machine = argc > 1 ? argv[1] : NULL; /* NULL: this one */
    cd_regions regions;
    uint32_t outer, inner;
    ok(cd_regions_open(machine, "instructions,cycles", &regions));
    ok(cd_region(regions, "outer", &outer));
    ok(cd_region(regions, "inner", &inner));
    ok(cd_region_start(regions, outer));
    for (int i = 0; i < 100; i++) {
        ok(cd_region_start(regions, inner));
        ok(cd_regions_loop(regions, 1000)); /* your work: here two instructions, 1000 times */
        ok(cd_region_stop(regions, inner));
    }
    ok(cd_region_stop(regions, outer));
    uint64_t instructions;
    if (cd_region_count(regions, inner, CD_ALL_THREADS, "instructions", &instructions, NULL) == CD_OK)
        printf("%.1f instructions a trip\n", (double)instructions / 1e5);
    else
        printf("no instructions: %s\n", cd_error_why());
    char *text;
    ok(cd_regions_text(regions, &text));
    fputs(text, stdout);
    ok(cd_string_free(&text));
    ok(cd_regions_close(regions));
    return 0;
}
