/* Two threads that send each other signals in turns, by futex and by pipe, as a C programmer writes
 * them, for a comparison of speeds.
 *
 * It shares no line with cpudyno. It stays between measurements, so that another program can take turns
 * with it.
 *
 * Build: gcc -O2 -pthread pingpong.c
 * Call:  pingpong FIRST SECOND
 *
 * FIRST and SECOND are the CPUs that the two threads are pinned to; they may be one. Each line `METHOD
 * WARM_UP TRIPS` of its input lets them go WARM_UP round trips, and then TRIPS that are timed, and is
 * answered by one line with the seconds that these took.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Where a thread waits: two cache lines of its own. */
struct word {
    _Alignas(128) _Atomic uint32_t number;
};

static struct word words[2];
static int pipes[2][2];
static int cpus[2];
static atomic_int ready;

static void fail(const char *what)
{
    fprintf(stderr, "pingpong: cannot %s: %s\n", what, strerror(errno));
    exit(1);
}

static void futex_signal(int to, uint32_t number)
{
    atomic_store_explicit(&words[to].number, number, memory_order_release);
    syscall(SYS_futex, &words[to].number, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(int me, uint32_t number)
{
    uint32_t seen;

    while ((seen = atomic_load_explicit(&words[me].number, memory_order_acquire)) != number)
        syscall(SYS_futex, &words[me].number, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void pipe_signal(int to, uint32_t number)
{
    if (write(pipes[to][1], &number, sizeof number) != sizeof number)
        fail("write");
}

static void pipe_await(int me, uint32_t number)
{
    uint32_t seen;

    (void)number;
    if (read(pipes[me][0], &seen, sizeof seen) != sizeof seen)
        fail("read");
}

/* One loop for each method, so that nothing in it is called through a pointer. */
#define METHOD(name) \
    static void name##_first(uint32_t begin, uint32_t trips) \
    { \
        for (uint32_t trip = 0; trip < trips; trip++) { \
            name##_signal(1, begin + 2 * trip + 1); \
            name##_await(0, begin + 2 * trip + 2); \
        } \
    } \
    static void name##_second(uint32_t begin, uint32_t trips) \
    { \
        for (uint32_t trip = 0; trip < trips; trip++) { \
            name##_await(1, begin + 2 * trip + 1); \
            name##_signal(0, begin + 2 * trip + 2); \
        } \
    }

METHOD(futex)
METHOD(pipe)

struct method {
    const char *name;
    void (*first)(uint32_t, uint32_t);
    void (*second)(uint32_t, uint32_t);
};

static const struct method methods[] = {
    { "futex", futex_first, futex_second },
    { "pipe", pipe_first, pipe_second },
};

static const struct method *method;
static uint32_t warm_up, trips;
static double seconds;

static void enter(int side)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpus[side], &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        fail("pin a thread");
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < 2)
        sched_yield();
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *play_first(void *nothing)
{
    enter(0);
    method->first(0, warm_up);
    double begun = now();
    method->first(2 * warm_up, trips);
    seconds = now() - begun;
    return nothing;
}

static void *play_second(void *nothing)
{
    enter(1);
    method->second(0, warm_up);
    method->second(2 * warm_up, trips);
    return nothing;
}

static void play(void)
{
    pthread_t first, second;

    memset(words, 0, sizeof words);
    atomic_store(&ready, 0);
    for (int side = 0; side < 2; side++)
        if (pipe(pipes[side]) != 0)
            fail("make a pipe");
    if (pthread_create(&first, NULL, play_first, NULL) != 0
        || pthread_create(&second, NULL, play_second, NULL) != 0)
        fail("start a thread");
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    for (int side = 0; side < 2; side++) {
        close(pipes[side][0]);
        close(pipes[side][1]);
    }
    printf("%.9f\n", seconds);
    fflush(stdout);
}

int main(int count, char **arguments)
{
    char name[16];

    if (count != 3) {
        fprintf(stderr, "usage: pingpong FIRST SECOND\n");
        return 2;
    }
    cpus[0] = atoi(arguments[1]);
    cpus[1] = atoi(arguments[2]);
    while (scanf("%15s %u %u", name, &warm_up, &trips) == 3) {
        method = NULL;
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
            if (strcmp(name, methods[i].name) == 0)
                method = &methods[i];
        if (method == NULL) {
            fprintf(stderr, "pingpong: no method `%s`\n", name);
            return 2;
        }
        play();
    }
    return 0;
}
