/* Parallel regions as a compiler makes them, for a comparison with those that cpudyno makes.
 *
 * The body of the loop is an object of its own, cpudyno_relax, so that the compiler has no part in it;
 * what is compared is what surrounds it.
 *
 * Build: cc -O2 -fopenmp regions.c body.s
 * Call:  regions ELEMENTS MILLISECONDS
 *
 * After 100 ms of empty regions it runs the loop over an array of that length for so long, and then regions
 * with nothing but a short delay in them. It prints one line of JSON: nanoseconds of each stretch per
 * region, and the number of threads. What the loop computed is checked.
 */
#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STRETCHES 50
#define THREADS_MAX 1024
/* Numbers of the delay, and their distance: lines of their own for each thread. */
#define DELAY 32
#define DISTANCE 64

void cpudyno_relax(double *x, size_t from, size_t to);

static double *array;
static long length, threads;
static double delays[THREADS_MAX][DISTANCE];

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Each thread has the part that a static schedule gives it. */
static void loop(void) {
#pragma omp parallel for schedule(static)
    for (long thread = 0; thread < threads; thread++) {
        long each = length / threads, more = length % threads;
        long first = each * thread + (thread < more ? thread : more);
        cpudyno_relax(array, (size_t)first, (size_t)(first + each + (thread < more)));
    }
}

static void delay(void) {
#pragma omp parallel
    cpudyno_relax(delays[omp_get_thread_num()], 0, DELAY);
}

static void empty(void) {
#pragma omp parallel
    __asm__ volatile("");
}

static uint64_t timed(void (*region)(void), long count) {
    uint64_t begun = now_ns();
    for (long i = 0; i < count; i++) region();
    return now_ns() - begun;
}

/* Stretches that fill the time together. */
static void series(const char *name, void (*region)(void), double ns) {
    long count = 1;
    uint64_t taken;
    while ((taken = timed(region, count)) < ns / 10) count *= 2;
    long each = (long)(ns / ((double)taken / (double)count)) / STRETCHES;
    if (each < 1) each = 1;
    printf("\"%s\": [", name);
    for (int i = 0; i < STRETCHES; i++)
        printf("%s%.3f", i ? ", " : "", (double)timed(region, each) / (double)each);
    printf("], ");
}

static int is_right(void) {
    for (long i = 0; i < length; i++) array[i] = (double)i;
    for (int i = 0; i < 3; i++) loop();
    for (long i = 0; i < length; i++) {
        double x = (double)i;
        for (int j = 0; j < 3; j++) x = (x * 10.0 + 1.0) / 15.0;
        if (x != array[i]) return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "regions: call it as: regions ELEMENTS MILLISECONDS\n");
        return 2;
    }
    length = atol(argv[1]);
    double ns = atof(argv[2]) * 1e6;
    array = calloc((size_t)length, sizeof *array);
    threads = omp_get_max_threads();
    if (!array || threads > THREADS_MAX) return 2;
    for (uint64_t begun = now_ns(); now_ns() - begun < 100000000u;) empty();
    if (!is_right()) {
        fprintf(stderr, "regions: the loop computes something else\n");
        return 1;
    }
    printf("{");
    series("loop", loop, ns);
    series("delay", delay, ns);
    printf("\"threads\": %ld}\n", threads);
    return 0;
}
