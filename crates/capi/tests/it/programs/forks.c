/* A child has the regions of its parent, and counts for itself: also where another thread had the library's lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static cd_regions regions, real;
static uint32_t region, open_region, of_real;
static atomic_int done;

/* Takes the lock all the time. */
static void *asks(void *argument) {
    (void)argument;
    while (!atomic_load(&done)) {
        char *json = NULL;
        CHECK(cd_regions_json(regions, &json) == CD_OK && cd_string_free(&json) == CD_OK);
    }
    return NULL;
}

/* Executes `child` in a copy of the process, which has to end well. */
static void in_child(void (*child)(void)) {
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        child();
        exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void counts(void) {
    uint32_t threads;
    uint64_t count, calls = 7;
    char *json = NULL;
    CHECK(cd_regions_threads(regions, &threads) == CD_OK && threads == 0);
    CHECK(cd_region_calls(regions, region, CD_ALL_THREADS, &calls) == CD_ERROR_STATE && calls == 7);
    /* The parent's thread is inside, this one is not. */
    CHECK(cd_region_stop(regions, open_region) == CD_ERROR_STATE);
    CHECK(cd_region_start(regions, region) == CD_OK && cd_regions_loop(regions, 10) == CD_OK);
    CHECK(cd_region_stop(regions, region) == CD_OK);
    CHECK(cd_region_count(regions, region, CD_ALL_THREADS, "instructions", &count, &calls) == CD_OK);
    CHECK(count == 29 && calls == 1);
    CHECK(cd_region_start(real, of_real) == CD_OK && cd_region_stop(real, of_real) == CD_OK);
    CHECK(cd_region_calls(real, of_real, CD_ALL_THREADS, &calls) == CD_OK && calls == 1);
    CHECK(cd_regions_json(regions, &json) == CD_OK && cd_string_free(&json) == CD_OK);
}

static void counts_and_its_child_too(void) {
    counts();
    CHECK(cd_region_start(regions, open_region) == CD_OK);
    in_child(counts);
    CHECK(cd_region_stop(regions, open_region) == CD_OK);
}

static void closes(void) {
    CHECK(cd_regions_close(regions) == CD_OK && cd_regions_close(real) == CD_OK);
    CHECK(cd_region_start(regions, region) == CD_ERROR_HANDLE);
    CHECK(cd_regions_open("sim:4c", "instructions", &regions) == CD_OK);
}

int main(void) {
    pthread_t thread;
    uint64_t calls;
    CHECK(cd_regions_open("sim:4c", "instructions", &regions) == CD_OK);
    CHECK(cd_regions_open(NULL, "page-faults", &real) == CD_OK && cd_region(real, "real", &of_real) == CD_OK);
    CHECK(cd_region(regions, "region", &region) == CD_OK && cd_region(regions, "open", &open_region) == CD_OK);
    CHECK(cd_region_start(regions, region) == CD_OK && cd_region_stop(regions, region) == CD_OK);
    CHECK(cd_region_start(real, of_real) == CD_OK && cd_region_stop(real, of_real) == CD_OK);
    CHECK(cd_region_start(regions, open_region) == CD_OK);
    CHECK(pthread_create(&thread, NULL, asks, NULL) == 0);
    for (int at = 0; at < 20; at++) in_child(counts);
    in_child(counts_and_its_child_too);
    in_child(closes);
    atomic_store(&done, 1);
    CHECK(pthread_join(thread, NULL) == 0);
    /* The parent's sums and handles are as they were. */
    CHECK(cd_region_stop(regions, open_region) == CD_OK);
    CHECK(cd_region_calls(regions, region, 0, &calls) == CD_OK && calls == 1);
    CHECK(cd_region_calls(real, of_real, 0, &calls) == CD_OK && calls == 1);
    CHECK(cd_regions_close(regions) == CD_OK && cd_regions_close(real) == CD_OK);
    return 0;
}
