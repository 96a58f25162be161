/* What a pair of likwid's markers costs, for region.rs: the quickest of its batches. */
#define LIKWID_PERFMON
#include <likwid-marker.h>
#include <stdio.h>
#include <time.h>

enum { PAIRS = 20000, BATCHES = 15 };

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void) {
    double quickest = 1e18;
    LIKWID_MARKER_INIT;
    LIKWID_MARKER_REGISTER("region");
    for (int batch = 0; batch < BATCHES; batch++) {
        double begun = now_ns();
        for (int pair = 0; pair < PAIRS; pair++) {
            LIKWID_MARKER_START("region");
            LIKWID_MARKER_STOP("region");
        }
        double each = (now_ns() - begun) / PAIRS;
        if (each < quickest) quickest = each;
    }
    LIKWID_MARKER_CLOSE;
    printf("ns of a pair: %.1f\n", quickest);
    return 0;
}
