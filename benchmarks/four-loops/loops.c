/* COPY, SCALE, ADD and TRIAD as a C programmer writes them, for a comparison of speeds.
 *
 * It shares no line with cpudyno. It stays, with its arrays, between measurements, so that another
 * program can take turns with it.
 *
 * Build: gcc -O3 -march=native -fopenmp loops.c
 * Call:  loops ELEMENTS CPUS
 *
 * ELEMENTS is the length of each of the three arrays of doubles. CPUS are numbers between commas; one
 * thread is pinned to each, and first touches the part of the arrays that it works on.
 *
 * It prints a line of JSON when it is ready. Each line `KERNEL MILLISECONDS` of its input repeats a
 * kernel for at least that long, and is answered by one line of JSON. A MB is a million bytes; bytes
 * are those that the loop names, without any that a cache reads before it is written to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX 4096
#define CPU_NUMBER_MAX 65535
/* Times of one measurement; it ends early when there are more. */
#define TIMES_MAX 65536
#define HUGE_PAGE ((size_t)2 << 20)

static ptrdiff_t length;
static double *restrict a, *restrict b, *restrict c;
/* What each element must be. */
static double of_a = 1, of_b = 2, of_c = 3;
/* With it COPY, SCALE, ADD and TRIAD in turn leave `a` as it was: the square root of 2, less 1. */
static const double FACTOR = 0.41421356237309503;

#define EACH _Pragma("omp parallel for schedule(static)") for (ptrdiff_t i = 0; i < length; i++)

/* Nothing that a loop writes is read by it, so that it can be repeated. */
static void copy(void) { EACH c[i] = a[i]; }
static void scale(void) { EACH b[i] = FACTOR * c[i]; }
static void add(void) { EACH c[i] = a[i] + b[i]; }
static void triad(void) { EACH a[i] = b[i] + FACTOR * c[i]; }

/* What it writes must be afterwards. */
static double after_copy(void) { return of_c = of_a; }
static double after_scale(void) { return of_b = FACTOR * of_c; }
static double after_add(void) { return of_c = of_a + of_b; }
static double after_triad(void) { return of_a = of_b + FACTOR * of_c; }

static const struct {
    const char *name;
    int arrays;
    double *restrict *written;
    void (*run)(void);
    double (*after)(void);
} KERNELS[] = {
    {"copy", 2, &c, copy, after_copy},
    {"scale", 2, &b, scale, after_scale},
    {"add", 3, &c, add, after_add},
    {"triad", 3, &a, triad, after_triad},
};
#define COUNT ((int)(sizeof KERNELS / sizeof KERNELS[0]))

static int fail(const char *what) {
    fprintf(stderr, "loops: %s\n", what);
    return 2;
}

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

/* As many elements are wrong. */
static ptrdiff_t wrong(const double *array, double expected) {
    ptrdiff_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (ptrdiff_t i = 0; i < length; i++) {
        count += !(fabs(array[i] - expected) <= 1e-12 * fabs(expected));
    }
    return count;
}

/* Repeats a kernel for so many seconds, and says how fast it was. */
static int measure(int kernel, double seconds) {
    static double times[TIMES_MAX];
    int count = 0;
    /* Once before, so that threads are awake. */
    KERNELS[kernel].run();
    double begun = now_s(), before = begun;
    do {
        KERNELS[kernel].run();
        double after = now_s();
        times[count++] = after - before;
        before = after;
    } while (before - begun < seconds && count < TIMES_MAX);
    double took = before - begun;
    if (wrong(*KERNELS[kernel].written, KERNELS[kernel].after()) != 0) {
        return fail("the answer is wrong");
    }
    double mega = 1e-6 * (double)sizeof(double) * KERNELS[kernel].arrays * (double)length;
    qsort(times, (size_t)count, sizeof times[0], ascending);
    double median = (times[(count - 1) / 2] + times[count / 2]) / 2;
    printf("{\"kernel\":\"%s\",\"repetitions\":%d,\"seconds\":%.9f,\"mean_mb_per_s\":%.3f,"
           "\"best_mb_per_s\":%.3f,\"median_mb_per_s\":%.3f}\n",
           KERNELS[kernel].name, count, took, mega * count / took, mega / times[0], mega / median);
    fflush(stdout);
    return 0;
}

/* Reads numbers between commas. */
static int read_cpus(const char *text, int cpus[CPUS_MAX]) {
    int count = 0;
    for (;;) {
        char *end;
        long cpu = strtol(text, &end, 10);
        if (end == text || cpu < 0 || cpu > CPU_NUMBER_MAX || count == CPUS_MAX) {
            return 0;
        }
        cpus[count++] = (int)cpu;
        if (*end == '\0') {
            return count;
        }
        if (*end != ',') {
            return 0;
        }
        text = end + 1;
    }
}

/* Begins again with these places. A thread that pins itself makes the runtime believe that there are
 * more threads than CPUs, so that they sleep where they would wait. */
static int begin_again(char **arguments, const int *cpus, int count) {
    static char places[CPUS_MAX * 16];
    /* A user's OMP_PLACES has pinned this thread already. */
    cpu_set_t *mask = CPU_ALLOC(CPU_NUMBER_MAX + 1);
    size_t bytes = CPU_ALLOC_SIZE(CPU_NUMBER_MAX + 1);
    CPU_ZERO_S(bytes, mask);
    char *end = places;
    for (int i = 0; i < count; i++) {
        end += sprintf(end, "%s{%d}", i == 0 ? "" : ",", cpus[i]);
        CPU_SET_S((size_t)cpus[i], bytes, mask);
    }
    if (sched_setaffinity(0, bytes, mask) != 0) {
        return fail("it may not run on these CPUs");
    }
    char threads[16];
    sprintf(threads, "%d", count);
    setenv("OMP_NUM_THREADS", threads, 1);
    setenv("OMP_DYNAMIC", "false", 1);
    setenv("OMP_PROC_BIND", "close", 1);
    setenv("OMP_PLACES", places, 1);
    execv("/proc/self/exe", arguments);
    return fail("cannot execute itself again");
}

/* Whether each thread runs on its CPU. */
static int pinned(const int *cpus, int count) {
    int right = 0;
#pragma omp parallel reduction(+ : right)
    right += omp_get_num_threads() == count && sched_getcpu() == cpus[omp_get_thread_num()];
    return right == count;
}

/* Memory in huge pages, where the kernel gives them. Arrays begin at different places of their pages,
 * so that a load seldom looks as if it followed a store to the same address. */
static double *array(int number) {
    size_t offset = (size_t)number * (4096 + 64);
    size_t bytes = (size_t)length * sizeof(double) + offset;
    bytes = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    char *memory = aligned_alloc(HUGE_PAGE, bytes);
    if (memory == NULL) {
        return NULL;
    }
    /* Small pages are no error: the numbers are then those of small pages. */
    madvise(memory, bytes, MADV_HUGEPAGE);
    return (double *)(memory + offset);
}

int main(int count_of_arguments, char **arguments) {
    static int cpus[CPUS_MAX];
    if (count_of_arguments != 3) {
        return fail("call it with ELEMENTS CPUS");
    }
    char *end;
    errno = 0;
    long long elements = strtoll(arguments[1], &end, 10);
    if (errno != 0 || *end != '\0' || elements < 1 || elements > INT64_MAX / 64) {
        return fail("ELEMENTS is no number of elements");
    }
    length = (ptrdiff_t)elements;
    int count = read_cpus(arguments[2], cpus);
    if (count == 0) {
        return fail("CPUS is no list of CPUs such as 0,1");
    }
    if (getenv("FOUR_LOOPS") == NULL) {
        setenv("FOUR_LOOPS", "placed", 1);
        return begin_again(arguments, cpus, count);
    }
    if (!pinned(cpus, count)) {
        return fail("its threads are not where they should be");
    }
    a = array(0);
    b = array(1);
    c = array(2);
    if (a == NULL || b == NULL || c == NULL) {
        return fail("there is not enough memory");
    }
    EACH {
        a[i] = of_a;
        b[i] = of_b;
        c[i] = of_c;
    }
    printf("{\"elements\":%td,\"threads\":%d,\"cpus\":\"%s\"}\n", length, count, arguments[2]);
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        char name[16];
        double milliseconds;
        int kernel = 0;
        int words = sscanf(line, "%15s %lf", name, &milliseconds);
        while (words == 2 && kernel < COUNT && strcmp(name, KERNELS[kernel].name) != 0) {
            kernel++;
        }
        if (words != 2 || kernel == COUNT || !(milliseconds > 0)) {
            return fail("expected a kernel and milliseconds, such as: copy 200");
        }
        int failed = measure(kernel, 1e-3 * milliseconds);
        if (failed) {
            return failed;
        }
    }
    return pinned(cpus, count) ? 0 : fail("its threads did not stay where they were");
}
