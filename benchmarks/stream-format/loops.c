/* Four loops over three arrays, reported in lines of the form that STREAM's reports have.
 *
 * It is not STREAM, and its numbers are not STREAM's. `cpudyno memory original` can be tried on it
 * where the original is not at hand.
 *
 * Build: gcc -O3 -march=native -fopenmp -DSTREAM_ARRAY_SIZE=20000000 -DNTIMES=10 loops.c
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifndef STREAM_ARRAY_SIZE
#define STREAM_ARRAY_SIZE 20000000
#endif
#ifndef NTIMES
#define NTIMES 10
#endif

#define LENGTH ((ptrdiff_t)(STREAM_ARRAY_SIZE))
_Static_assert(STREAM_ARRAY_SIZE > 0, "arrays hold something");
_Static_assert(NTIMES > 1, "the first time is not counted");

static double a[LENGTH], b[LENGTH], c[LENGTH];

/* The square root of 2, less 1: after copy, scale, add and triad, `a` is what it was, so that
 * nothing overflows however often they are repeated. */
static const double FACTOR = 0.41421356237309503;

#define EACH _Pragma("omp parallel for schedule(static)") for (ptrdiff_t i = 0; i < LENGTH; i++)

static void copy(void) { EACH c[i] = a[i]; }
static void scale(void) { EACH b[i] = FACTOR * c[i]; }
static void add(void) { EACH c[i] = a[i] + b[i]; }
static void triad(void) { EACH a[i] = b[i] + FACTOR * c[i]; }

static const struct {
    const char *name;
    int arrays;
    void (*run)(void);
} LOOPS[] = {{"Copy:", 2, copy}, {"Scale:", 2, scale}, {"Add:", 3, add}, {"Triad:", 3, triad}};
#define COUNT ((int)(sizeof LOOPS / sizeof LOOPS[0]))

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The greatest relative distance of an element from what it should be. */
static double distance(const double *array, double expected) {
    double greatest = 0;
    for (ptrdiff_t i = 0; i < LENGTH; i++) {
        double error = fabs(array[i] / expected - 1);
        /* Not fmax, which hides what is no number. */
        if (!(error <= greatest)) {
            greatest = error;
        }
    }
    return greatest;
}

static void check(void) {
    /* Each time, rounding adds less than 1e-15. */
    const double bound = 1e-15 * (NTIMES + 1);
    double expected[3] = {1, 0, 0};
    for (int time = 0; time < NTIMES; time++) {
        expected[1] = FACTOR * expected[0];
        expected[2] = expected[0] + expected[1];
        expected[0] = expected[1] + FACTOR * expected[2];
    }
    const double *arrays[] = {a, b, c};
    for (int one = 0; one < 3; one++) {
        double error = distance(arrays[one], expected[one]);
        if (!(error < bound)) {
            printf("Failed Validation on array %c[]: %e of %e\n", 'a' + one, error, bound);
            return;
        }
    }
    printf("Solution Validates: error below %e in each element\n", bound);
}

int main(void) {
    printf("Array size = %td (elements), Offset = 0 (elements)\n", LENGTH);
#ifdef _OPENMP
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    printf("Number of Threads counted = %d\n", threads);
#endif
    EACH {
        a[i] = 1;
        b[i] = 0;
        c[i] = 0;
    }
    double sum[COUNT] = {0}, least[COUNT], most[COUNT] = {0};
    for (int time = 0; time < NTIMES; time++) {
        for (int loop = 0; loop < COUNT; loop++) {
            double begun = now_s();
            LOOPS[loop].run();
            double took = now_s() - begun;
            if (time == 0) {
                continue;
            }
            sum[loop] += took;
            least[loop] = time == 1 || took < least[loop] ? took : least[loop];
            most[loop] = took > most[loop] ? took : most[loop];
        }
    }
    printf("Function    Best Rate MB/s  Avg time     Min time     Max time\n");
    for (int loop = 0; loop < COUNT; loop++) {
        double bytes = (double)sizeof(double) * LOOPS[loop].arrays * (double)LENGTH;
        double best = 1e-6 * bytes / least[loop], mean = sum[loop] / (NTIMES - 1);
        printf("%-12s%11.1f  %11.6f  %11.6f  %11.6f\n", LOOPS[loop].name, best, mean, least[loop],
               most[loop]);
    }
    check();
    return 0;
}
