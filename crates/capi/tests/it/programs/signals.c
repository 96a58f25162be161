/* A signal handler enters and leaves regions, also the one that the thread is entering or leaving in this moment. */
#include <signal.h>
#include <sys/time.h>

#include "check.h"

static cd_regions regions;
static uint32_t work, handled;
static volatile sig_atomic_t signals, entered, refused;

static void handler(int signal) {
    (void)signal;
    CHECK(cd_region_start(regions, handled) == CD_OK);
    cd_status status = cd_region_start(regions, work);
    if (status == CD_OK) {
        CHECK(cd_region_stop(regions, work) == CD_OK);
        entered++;
    } else {
        CHECK(status == CD_ERROR_STATE);
        refused++;
    }
    CHECK(cd_region_stop(regions, handled) == CD_OK);
    signals++;
}

int main(void) {
    struct sigaction action = {0};
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    uint64_t loops = 0, calls;
    /* Events that every kernel counts; one that may not be counted has its reason. */
    CHECK(cd_regions_open(NULL, "page-faults,task-clock", &regions) == CD_OK);
    CHECK(cd_region(regions, "work", &work) == CD_OK && cd_region(regions, "handled", &handled) == CD_OK);
    action.sa_handler = handler;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    while (signals < 500 || refused == 0) {
        CHECK(cd_region_start(regions, work) == CD_OK);
        CHECK(cd_region_stop(regions, work) == CD_OK);
        /* The handler may be refused while this is. */
        CHECK(cd_region_start(regions, 99) == CD_ERROR_ARGUMENT && strlen(cd_error_text()) < 2048);
        loops++;
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(cd_region_calls(regions, work, 0, &calls) == CD_OK && calls == loops + (uint64_t)entered);
    CHECK(cd_region_calls(regions, handled, 0, &calls) == CD_OK && calls == (uint64_t)signals);
    CHECK(cd_regions_close(regions) == CD_OK);
    return 0;
}
