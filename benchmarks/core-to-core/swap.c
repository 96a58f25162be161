/* How long a line takes from core to core by compare-and-swap: two pinned threads swap one number, and
 * half of a round trip counts, as core-to-core-latency measures it (github.com/nviennot, its first
 * benchmark): one line for all samples.
 *
 * usage: swap FIRST SECOND ROUND_TRIPS
 * Reads lines; answers each with nanoseconds of half a round trip. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Alignas(128) atomic_int line;
static sem_t go;
static int second_cpu;
static long round_trips;

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set)) {
        perror("sched_setaffinity");
        exit(1);
    }
}

static void swap(int from, int to) {
    int expected = from;
    while (!atomic_compare_exchange_weak_explicit(&line, &expected, to, memory_order_acq_rel,
                                                  memory_order_relaxed))
        expected = from;
}

static void *answer(void *unused) {
    (void)unused;
    pin(second_cpu);
    /* It sleeps while others are measured; half of its swaps are warm-up. */
    for (;;) {
        sem_wait(&go);
        for (long trip = 0; trip < 2 * round_trips; trip++)
            swap(1, 0);
    }
}

int main(int count, char **words) {
    if (count != 4)
        return 2;
    int first_cpu = atoi(words[1]);
    second_cpu = atoi(words[2]);
    round_trips = atol(words[3]);
    if (round_trips < 1)
        return 2;
    char asked[64];
    pthread_t thread;
    pin(first_cpu);
    if (sem_init(&go, 0, 0) || pthread_create(&thread, NULL, answer, NULL))
        return 1;
    while (fgets(asked, sizeof asked, stdin)) {
        struct timespec begin, end;
        sem_post(&go);
        /* Warm. */
        for (long trip = 0; trip < round_trips; trip++)
            swap(0, 1);
        clock_gettime(CLOCK_MONOTONIC_RAW, &begin);
        for (long trip = 0; trip < round_trips; trip++)
            swap(0, 1);
        while (atomic_load_explicit(&line, memory_order_acquire) != 0)
            ;
        clock_gettime(CLOCK_MONOTONIC_RAW, &end);
        double taken = (end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec);
        printf("%.3f\n", taken / round_trips / 2);
        fflush(stdout);
    }
    return 0;
}
