/* Threads have counters and sums of their own; a set is closed while they use it. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { THREADS = 4, LOOPS = 500, TRIPS = 10, INSTRUCTIONS = 9 + 2 * TRIPS };

static cd_regions regions;
static uint32_t both, one;
static atomic_int closed;

static void *work(void *argument) {
    uint32_t mine;
    (void)argument;
    CHECK(cd_region(regions, "both", &mine) == CD_OK && mine == both);
    for (int loop = 0; loop < LOOPS; loop++) {
        CHECK(cd_region_start(regions, both) == CD_OK);
        CHECK(cd_regions_loop(regions, TRIPS) == CD_OK);
        CHECK(cd_region_stop(regions, both) == CD_OK);
    }
    /* The first thread is inside; this one is not. */
    CHECK(cd_region_stop(regions, one) == CD_ERROR_STATE);
    return NULL;
}

static void *until_closed(void *argument) {
    (void)argument;
    for (;;) {
        int was_closed = atomic_load(&closed);
        cd_status status = cd_region_start(regions, both);
        if (status == CD_OK) status = cd_region_stop(regions, both);
        CHECK(status == CD_OK || status == CD_ERROR_HANDLE);
        if (was_closed) {
            CHECK(status == CD_ERROR_HANDLE);
            return NULL;
        }
    }
}

int main(void) {
    pthread_t threads[THREADS];
    uint32_t number;
    uint64_t count, calls;
    CHECK(cd_regions_open("sim:4c", "instructions", &regions) == CD_OK);
    CHECK(cd_region(regions, "both", &both) == CD_OK && cd_region(regions, "one", &one) == CD_OK);
    CHECK(cd_region_start(regions, one) == CD_OK);
    for (int at = 0; at < THREADS; at++) CHECK(pthread_create(&threads[at], NULL, work, NULL) == 0);
    for (int at = 0; at < THREADS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    CHECK(cd_region_stop(regions, one) == CD_OK);
    /* What threads have summed stays when they have ended. */
    CHECK(cd_regions_threads(regions, &number) == CD_OK && number == THREADS + 1);
    CHECK(cd_region_count(regions, both, CD_ALL_THREADS, "instructions", &count, &calls) == CD_OK);
    CHECK(calls == THREADS * LOOPS && count == calls * INSTRUCTIONS);
    for (uint32_t at = 1; at <= THREADS; at++) {
        CHECK(cd_region_count(regions, both, at, "instructions", &count, &calls) == CD_OK);
        CHECK(calls == LOOPS && count == LOOPS * INSTRUCTIONS);
    }
    CHECK(cd_region_calls(regions, both, 0, &calls) == CD_OK && calls == 0);
    /* The text of an error is the thread's own. */
    CHECK(strcmp(cd_error_text(), "") == 0);
    for (int at = 0; at < THREADS; at++) CHECK(pthread_create(&threads[at], NULL, until_closed, NULL) == 0);
    for (int at = 0; at < 20; at++) {
        char *json = NULL;
        CHECK(cd_regions_json(regions, &json) == CD_OK && cd_string_free(&json) == CD_OK);
    }
    CHECK(cd_regions_close(regions) == CD_OK);
    atomic_store(&closed, 1);
    for (int at = 0; at < THREADS; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    return 0;
}
