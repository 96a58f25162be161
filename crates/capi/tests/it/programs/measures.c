/* Measuring on simulated machines, asked for well and badly, in threads, in a child, and stopped. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define SIM "\"machine\": \"sim:4c\", \"budget\": 1"

static int is_value(cd_value value) {
    return value.samples > 0 && value.minimum > 1e8 && value.minimum <= value.median &&
           value.median <= value.maximum && value.is_doubtful <= 1;
}

/* The same on each call: simulated machines are. */
static void *bandwidth(void *argument) {
    cd_bandwidth one, other;
    (void)argument;
    memset(&one, 0, sizeof one);
    memset(&other, 0, sizeof other);
    CHECK(cd_memory_bandwidth("sim:4c", 2, 1, &one) == CD_OK && one.threads == 2);
    CHECK(is_value(one.copy) && is_value(one.scale) && is_value(one.add) && is_value(one.triad));
    CHECK(cd_memory_bandwidth("sim:4c", 2, 1, &other) == CD_OK);
    CHECK(one.triad.median == other.triad.median && one.copy.samples == other.copy.samples);
    return NULL;
}

static void no_bandwidth(void) {
    cd_bandwidth untouched, before;
    memset(&untouched, 7, sizeof untouched);
    before = untouched;
    CHECK(cd_memory_bandwidth("sim:4d", 1, 1, &untouched) == CD_ERROR_ARGUMENT);
    CHECK(cd_memory_bandwidth("sim:4c", 1, -1, &untouched) == CD_ERROR_ARGUMENT && SAYS("`seconds` is -1 s"));
    CHECK(cd_memory_bandwidth("sim:4c", 1, 1e9, &untouched) == CD_ERROR_ARGUMENT);
    CHECK(cd_memory_bandwidth("sim:4c", 1, 0.0 / (double)(before.threads == 0), &untouched) == CD_ERROR_ARGUMENT);
    CHECK(cd_memory_bandwidth("sim:4c", 1, 1, NULL) == CD_ERROR_ARGUMENT && SAYS("`bandwidth` is NULL"));
    CHECK(cd_memory_bandwidth("sim:4c", 100000, 1, &untouched) != CD_OK && !SAYS("BUG"));
    CHECK(memcmp(&untouched, &before, sizeof before) == 0);
}

/* The text of a record, which has to hold these words. */
static void holds(const char *area, const char *options, const char *words) {
    char *json = NULL;
    cd_status status = cd_measure_json(area, options, &json);
    if (status != CD_OK) fprintf(stderr, "%s %s\n", area, options ? options : "NULL");
    CHECK(status == CD_OK);
    CHECK(strstr(json, "\"cpudyno.record/"));
    if (!strstr(json, words)) fprintf(stderr, "%s %s: no %s\n", area, options, words);
    CHECK(strstr(json, words));
    CHECK(cd_string_free(&json) == CD_OK);
}

static void records(void) {
    holds("sheet", "{" SIM "}", "SIMULATED");
    holds("memory", "{" SIM ", \"threads\": 2, \"kernels\": [\"triad\"]}", "\"triad\"");
    holds("memory", "{" SIM ", \"question\": \"latency\"}", "\"latency\"");
    holds("memory", "{" SIM ", \"question\": \"scaling\"}", "\"bandwidth\"");
    holds("memory", "{" SIM ", \"question\": \"vector-lengths\"}", "\"bandwidth\"");
    holds("turbo", "{" SIM ", \"streams\": [\"scalar_iadd\"], \"active\": \"all\"}", "\"scalar_iadd\"");
    holds("turbo", "{" SIM ", \"streams\": [\"scalar_iadd\"], \"cores\": 2}", "\"clock\"");
    holds("cores", "{" SIM ", \"messages\": [\"cas\"], \"cpus\": \"0-1\"}", "\"cas\"");
    holds("wake", "{" SIM ", \"methods\": [\"futex\"]}", "\"futex\"");
    holds("wake", "{" SIM ", \"question\": \"timer\"}", "\"lateness\"");
    holds("wake", "{" SIM ", \"question\": \"idle\"}", "\"wake\"");
    holds("pause", "{" SIM "}", "\"pause\"");
    holds("openmp", "{" SIM ", \"threads\": [2], \"runtimes\": [\"libgomp\"]}", "\"openmp\"");
    holds("jitter", "{" SIM ", \"shortest\": 1e-6}", "\"jitter\"");
    holds("info", "{\"machine\": \"sim:4c\"}", "SIMULATED");
    holds("doctor", "{\"machine\": \"sim:4c\"}", "SIMULATED");
    holds("info", NULL, "\"facts\"");
    holds("info", " {} ", "\"facts\"");
}

/* What makes no sense, with words of its error. */
static void refused(const char *area, const char *options, const char *words) {
    char *json = NULL;
    cd_status status = cd_measure_json(area, options, &json);
    if (!SAYS(words)) fprintf(stderr, "%s %s: no %s\n", area, options, words);
    CHECK(status == CD_ERROR_ARGUMENT && json == NULL && SAYS(words));
}

static void no_records(void) {
    char deep[4000];
    refused(NULL, NULL, "`area` is NULL");
    refused("memroy", NULL, "did you mean `memory`?");
    refused("", NULL, "known are sheet, memory");
    refused("memory", "{\"thread\": 4}", "`thread` is no option of memory\nhint: did you mean `threads`?");
    refused("sheet", "{\"threads\": 4}", "`threads` is no option of sheet");
    refused("info", "{\"budget\": 4}", "`budget` is no option of info");
    refused("memory", "[1]", "options are no object");
    refused("memory", "{\"threads\": 4", "options are no JSON");
    refused("memory", "{\"threads\": \"4\"}", "`threads` is no number from 1 on: \"4\"");
    refused("memory", "{\"threads\": 0}", "`threads` is no number from 1 on");
    refused("memory", "{\"threads\": -1}", "`threads` is no number from 1 on");
    refused("memory", "{\"threads\": 1.5}", "`threads` is no number from 1 on");
    refused("memory", "{\"budget\": 0}", "`budget` is 0 s");
    refused("memory", "{\"budget\": 1e300}", "at most 3600 s");
    refused("memory", "{\"budget\": true}", "`budget` is no number: true");
    refused("memory", "{\"cpus\": \"0-\"}", "`cpus`: ");
    refused("memory", "{\"cpus\": 3}", "`cpus` is no text: 3");
    refused("memory", "{\"machine\": \"sim:4c\", \"cpus\": \"77\"}", "77");
    refused("memory", "{\"machine\": \"sim:4d\"}", "4d");
    refused("memory", "{\"question\": \"latancy\"}", "did you mean `latency`?");
    refused("memory", "{\"kernels\": [\"traid\"]}", "did you mean `triad`?");
    refused("memory", "{\"kernels\": \"triad\"}", "`kernels` is no list");
    refused("memory", "{\"kernels\": [1]}", "`kernels` holds what is no text: 1");
    refused("turbo", "{\"streams\": [\"avx512_fmaa\"]}", "did you mean `avx512_fma`?");
    refused("turbo", "{\"active\": \"some\"}", "`active` is not `some`");
    refused("openmp", "{\"threads\": [2, 0]}", "`threads` is no number from 1 on: 0");
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = 0;
    refused("memory", deep, "options are no JSON");
    refused("memory", "{\"a\": \"\xff\"}", "`options` is not UTF-8");
    CHECK(cd_measure_json("info", NULL, NULL) == CD_ERROR_ARGUMENT && SAYS("`json` is NULL"));
}

static atomic_int measured;

static void *asks_to_stop(void *argument) {
    (void)argument;
    while (!atomic_load(&measured)) {
        CHECK(cd_stop() == CD_OK);
        usleep(1000);
    }
    return NULL;
}

/* On this machine: whether it is stopped early, too short for some number, or another one measures. */
static void stops(void) {
    pthread_t thread;
    cd_bandwidth numbers;
    CHECK(pthread_create(&thread, NULL, asks_to_stop, NULL) == 0);
    cd_status status = cd_memory_bandwidth(NULL, 1, 3600, &numbers);
    atomic_store(&measured, 1);
    CHECK(pthread_join(thread, NULL) == 0);
    if (status == CD_OK) CHECK(is_value(numbers.triad));
    CHECK(status == CD_OK || status == CD_ERROR_STOPPED || status == CD_ERROR_BUSY);
    /* What was stopped then does not stop what comes now. */
    bandwidth(NULL);
}

static void in_a_child(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        bandwidth(NULL);
        _exit(0);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    pthread_t threads[3];
    CHECK(cd_stop() == CD_OK);
    bandwidth(NULL);
    for (int at = 0; at < 3; at++) CHECK(pthread_create(&threads[at], NULL, bandwidth, NULL) == 0);
    for (int at = 0; at < 3; at++) CHECK(pthread_join(threads[at], NULL) == 0);
    no_bandwidth();
    records();
    no_records();
    in_a_child();
    stops();
    return 0;
}
