/* Null pointers, text that is none, old handles, words that mean nothing: each is an error with a text, and what
   the program has stays as it was. */
#include "check.h"

static void no_sense(void) {
    cd_regions regions = 77;
    CHECK(cd_regions_open(NULL, NULL, NULL) == CD_ERROR_ARGUMENT && SAYS("`regions` is NULL"));
    CHECK(cd_error_status() == CD_ERROR_ARGUMENT);
    CHECK(cd_regions_open("sim:4\xff", NULL, &regions) == CD_ERROR_ARGUMENT);
    CHECK(SAYS("`machine` is not UTF-8 from byte 5 on"));
    CHECK(cd_regions_open("sim:4d", NULL, &regions) == CD_ERROR_ARGUMENT && SAYS("hint: "));
    CHECK(cd_regions_open("", NULL, &regions) == CD_ERROR_ARGUMENT);
    CHECK(cd_regions_open("sim:4c", "instrucions", &regions) == CD_ERROR_UNAVAILABLE);
    CHECK(SAYS("did you mean `instructions`?"));
    CHECK(strstr(cd_error_remedy(), "did you mean") && strlen(cd_error_what()) && strlen(cd_error_why()));
    CHECK(cd_regions_open("sim:4c", "r1c2,r2c2,r3c2,r4c2,r5c2,r6c2,r7c2,r8c2,r9c2", &regions) ==
          CD_ERROR_UNAVAILABLE);
    CHECK(SAYS("do not fit together"));
    CHECK(regions == 77);
}

static void handles(void) {
    cd_regions regions, other;
    uint32_t region = 0, number = 7;
    uint64_t count = 7, calls = 7;
    double seconds = 7;
    char *text = NULL;
    CHECK(cd_regions_close(0) == CD_OK);
    CHECK(cd_regions_open("sim:4c", "instructions", &regions) == CD_OK);
    CHECK(cd_region(regions, "one", &region) == CD_OK);
    CHECK(cd_regions_close(regions) == CD_OK);
    /* Closed twice, and used afterwards, also once its place is taken by another set. */
    for (int again = 0; again < 2; again++) {
        CHECK(cd_regions_close(regions) == CD_ERROR_HANDLE);
        CHECK(cd_region(regions, "two", &number) == CD_ERROR_HANDLE);
        CHECK(cd_region_start(regions, region) == CD_ERROR_HANDLE);
        CHECK(cd_region_stop(regions, region) == CD_ERROR_HANDLE);
        CHECK(cd_region_reset(regions, region) == CD_ERROR_HANDLE);
        CHECK(cd_regions_thread(regions) == CD_ERROR_HANDLE);
        CHECK(cd_regions_loop(regions, 1) == CD_ERROR_HANDLE);
        CHECK(cd_regions_threads(regions, &number) == CD_ERROR_HANDLE);
        CHECK(cd_region_calls(regions, region, 0, &calls) == CD_ERROR_HANDLE);
        CHECK(cd_region_seconds(regions, region, 0, &seconds) == CD_ERROR_HANDLE);
        CHECK(cd_region_count(regions, region, 0, "instructions", &count, &calls) == CD_ERROR_HANDLE);
        CHECK(cd_regions_json(regions, &text) == CD_ERROR_HANDLE);
        CHECK(cd_regions_text(regions, &text) == CD_ERROR_HANDLE);
        CHECK(SAYS("not open") && strlen(cd_error_what()) == 0);
        if (again == 0) CHECK(cd_regions_open("sim:4c", NULL, &other) == CD_OK && other != regions);
    }
    for (cd_regions never = 1; never < 1000; never += 7) CHECK(cd_region_start(never, 0) == CD_ERROR_HANDLE);
    CHECK(cd_region_start(UINT64_MAX, 0) == CD_ERROR_HANDLE);
    CHECK(number == 7 && count == 7 && calls == 7 && seconds == 7 && text == NULL);
    CHECK(cd_regions_close(other) == CD_OK);
}

static void inside(void) {
    cd_regions regions;
    uint32_t region = 77, same = 78;
    uint64_t count = 7, calls = 7;
    double seconds = 7;
    CHECK(cd_regions_open("sim:4c", "instructions, branches", &regions) == CD_OK);
    CHECK(cd_region_start(regions, 0) == CD_ERROR_ARGUMENT && SAYS("no region of that number"));
    CHECK(cd_region(regions, NULL, &region) == CD_ERROR_ARGUMENT);
    CHECK(cd_region(regions, "a\xc3", &region) == CD_ERROR_ARGUMENT && region == 77);
    CHECK(cd_region(regions, "one", NULL) == CD_ERROR_ARGUMENT);
    CHECK(cd_region(regions, "one", &region) == CD_OK && cd_region(regions, "one", &same) == CD_OK);
    CHECK(region == same);
    CHECK(cd_region_stop(regions, region) == CD_ERROR_STATE && SAYS("is not in this region"));
    CHECK(cd_region_seconds(regions, region, CD_ALL_THREADS, &seconds) == CD_ERROR_UNAVAILABLE);
    CHECK(cd_region_count(regions, region, 0, "branches", &count, &calls) == CD_ERROR_UNAVAILABLE);
    CHECK(strcmp(cd_error_what(), "branches") == 0 && strstr(cd_error_why(), "left the region yet"));
    CHECK(cd_region_start(regions, region) == CD_OK);
    CHECK(cd_region_start(regions, region) == CD_ERROR_STATE && SAYS("in this region already"));
    CHECK(cd_region_stop(regions, region) == CD_OK);
    CHECK(cd_region_count(regions, region, 0, "cycles", &count, &calls) == CD_ERROR_ARGUMENT);
    CHECK(SAYS("none of the events: instructions, branches"));
    CHECK(cd_region_count(regions, region, 1, "branches", &count, &calls) == CD_ERROR_ARGUMENT);
    CHECK(cd_region_count(regions, region + 1, 0, "branches", &count, &calls) == CD_ERROR_ARGUMENT);
    CHECK(cd_region_count(regions, region, 0, NULL, &count, &calls) == CD_ERROR_ARGUMENT);
    CHECK(cd_region_count(regions, region, 0, "branches", NULL, &calls) == CD_ERROR_ARGUMENT);
    CHECK(cd_region_calls(regions, region, 0, NULL) == CD_ERROR_ARGUMENT);
    CHECK(cd_region_seconds(regions, region, 0, NULL) == CD_ERROR_ARGUMENT);
    CHECK(cd_regions_threads(regions, NULL) == CD_ERROR_ARGUMENT);
    CHECK(cd_regions_json(regions, NULL) == CD_ERROR_ARGUMENT);
    CHECK(cd_regions_text(regions, NULL) == CD_ERROR_ARGUMENT);
    CHECK(count == 7 && calls == 7 && seconds == 7);
    CHECK(cd_region_count(regions, region, 0, "branches", &count, NULL) == CD_OK && count == 0);
    CHECK(cd_region_reset(regions, region) == CD_OK);
    CHECK(cd_region_calls(regions, region, 0, &calls) == CD_OK && calls == 0);
    /* There is room for 256 regions. */
    char name[16];
    for (int at = 1; at < 256; at++) {
        snprintf(name, sizeof name, "region %d", at);
        CHECK(cd_region(regions, name, &region) == CD_OK && region == (uint32_t)at);
    }
    CHECK(cd_region(regions, "too many", &region) == CD_ERROR_STATE && SAYS("`too many` is one too many"));
    CHECK(cd_region_start(regions, 255) == CD_OK && cd_region_stop(regions, 255) == CD_OK);
    CHECK(cd_region_start(regions, 256) == CD_ERROR_ARGUMENT);
    CHECK(cd_region_start(regions, UINT32_MAX) == CD_ERROR_ARGUMENT);
    CHECK(cd_regions_close(regions) == CD_OK);
}

static void room(void) {
    cd_regions open[64], more = 7;
    for (int at = 0; at < 64; at++) CHECK(cd_regions_open("sim:1c", NULL, &open[at]) == CD_OK);
    CHECK(cd_regions_open("sim:1c", NULL, &more) == CD_ERROR_STATE && SAYS("no room") && more == 7);
    for (int at = 0; at < 64; at++) CHECK(cd_regions_close(open[at]) == CD_OK);
}

static void strings(void) {
    cd_regions regions;
    char *text = NULL, *copy, *nothing = NULL, ours[] = "ours", *not_given = ours;
    CHECK(cd_string_free(NULL) == CD_ERROR_ARGUMENT);
    CHECK(cd_string_free(&nothing) == CD_OK);
    CHECK(cd_string_free(&not_given) == CD_ERROR_HANDLE && not_given == ours);
    CHECK(cd_regions_open("sim:4c", "instructions", &regions) == CD_OK);
    CHECK(cd_regions_json(regions, &text) == CD_OK && text[0] == '{');
    copy = text;
    CHECK(cd_string_free(&text) == CD_OK && text == NULL);
    CHECK(cd_string_free(&text) == CD_OK);
    CHECK(cd_string_free(&copy) == CD_ERROR_HANDLE && SAYS("freed before"));
    CHECK(cd_regions_close(regions) == CD_OK);
}

int main(void) {
    CHECK(strcmp(cd_error_text(), "") == 0 && cd_error_status() == CD_OK);
    CHECK(cd_abi_version() == CD_ABI_VERSION && strchr(cd_version(), '.'));
    CHECK(strncmp(cd_schema(), "cpudyno.record/", 15) == 0);
    no_sense();
    handles();
    inside();
    room();
    strings();
    return 0;
}
