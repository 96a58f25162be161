/* Three programs of OpenMP for an exhaustive sweep over numbers of threads: what limits each is another thing.
 *
 * Build: cc -O2 -fopenmp threads.c -lm
 * Call:  threads compute|triad|barrier MILLISECONDS
 *
 * compute: independent multiply-adds in registers, equal parts for all threads.
 * triad:   a[i] = b[i] + s * c[i] over arrays beyond all caches.
 * barrier: steps of a few microseconds in all, with a barrier after each.
 *
 * It warms up for 100 ms, works for so long, and prints work per second. What it computed is checked.
 */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LANES 32
#define BLOCKS 4096
#define ELEMENTS (16L << 20)
#define STEP_ELEMENTS 4096
#define STEPS 200

static double *a, *b, *c;
static double step[STEP_ELEMENTS];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

/* One block: every lane goes to 2 and stays there. */
static double block(double begin) {
    double lane[LANES];
    for (int i = 0; i < LANES; i++) lane[i] = begin + i;
    for (int times = 0; times < 200; times++)
        for (int i = 0; i < LANES; i++) lane[i] = lane[i] * 0.5 + 1.0;
    double sum = 0;
    for (int i = 0; i < LANES; i++) sum += lane[i];
    return sum;
}

static double compute(void) {
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int i = 0; i < BLOCKS; i++) sum += block(i % 7);
    if (fabs(sum / BLOCKS - 2.0 * LANES) > 1e-9) fail("compute: a wrong sum");
    return BLOCKS;
}

static double triad(void) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < ELEMENTS; i++) a[i] = b[i] + 3.0 * c[i];
    if (a[ELEMENTS - 1] != 7.0) fail("triad: a wrong element");
    return ELEMENTS;
}

static double barrier(void) {
#pragma omp parallel
    for (int i = 0; i < STEPS; i++) {
        /* The end of the loop is a barrier. */
#pragma omp for schedule(static)
        for (int j = 0; j < STEP_ELEMENTS; j++) step[j] = (10.0 * step[j] + 1.0) / 15.0;
    }
    return STEPS;
}

int main(int count, char **words) {
    if (count != 3) fail("usage: threads compute|triad|barrier MILLISECONDS");
    double (*work)(void) = NULL;
    if (!strcmp(words[1], "compute")) work = compute;
    if (!strcmp(words[1], "barrier")) work = barrier;
    if (!strcmp(words[1], "triad")) {
        work = triad;
        a = malloc(ELEMENTS * sizeof *a);
        b = malloc(ELEMENTS * sizeof *b);
        c = malloc(ELEMENTS * sizeof *c);
        if (!a || !b || !c) fail("triad: no memory");
#pragma omp parallel for schedule(static)
        for (long i = 0; i < ELEMENTS; i++) a[i] = 0.0, b[i] = 1.0, c[i] = 2.0;
    }
    if (!work) fail("no such work");
    double seconds = 1e-3 * atof(words[2]), done = 0, begun = now();
    while (now() - begun < 0.1) work();
    begun = now();
    while (now() - begun < seconds) done += work();
    printf("%.6e\n", done / (now() - begun));
    if (fabs(step[0]) > 1.0) fail("barrier: a wrong element");
    return 0;
}
