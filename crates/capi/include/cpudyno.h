// cpudyno.h: a dynamometer for CPUs, for programs in C. docs/guide/c.md shows how it is used.
// Generated: `cargo xtask generate` writes it anew.

#ifndef CPUDYNO_H
#define CPUDYNO_H

#include <stddef.h>
#include <stdint.h>

// The number of this header's interface; `cd_abi_version()` is that of the library.
#define CD_ABI_VERSION 0

// All threads together.
#define CD_ALL_THREADS UINT32_MAX

// How a call ended. What is not `CD_OK` has a text: `cd_error_text()`.
typedef enum {
  // Done; what it answers is in its out-pointers.
  CD_OK = 0,
  // An argument makes no sense: a null pointer, text that is not UTF-8, a word or number that is not known.
  CD_ERROR_ARGUMENT = 1,
  // There is nothing of that handle: it was closed, freed or never given.
  CD_ERROR_HANDLE = 2,
  // Not now: a region is entered twice or left twice, or the thread is ending.
  CD_ERROR_STATE = 3,
  // The number is not there; `cd_error_what()`, `cd_error_why()` and `cd_error_remedy()` say more.
  CD_ERROR_UNAVAILABLE = 4,
  // Another cpudyno measures on this machine.
  CD_ERROR_BUSY = 5,
  // `cd_stop()` ended it before there was a number.
  CD_ERROR_STOPPED = 6,
  // The measurement failed.
  CD_ERROR_FAILED = 7,
  // A mistake of cpudyno itself, caught; please report its text, which begins with `BUG:`.
  CD_ERROR_BUG = 8,
} cd_status;

// A set of regions, counted with the same events: a number, 0 is none. It serves all threads.
typedef uint64_t cd_regions;

// A measured number in its SI unit: the median of its samples, the smallest and the largest of them.
typedef struct {
  // The median.
  double median;
  // The smallest sample.
  double minimum;
  // The largest sample.
  double maximum;
  // How many samples it rests on.
  uint64_t samples;
  // 1: each of them was disturbed; 0: it can be relied on.
  uint32_t is_doubtful;
} cd_value;

// What STREAM's kernels read and write, in bytes per second.
typedef struct {
  // How many threads moved data, one on each CPU.
  uint32_t threads;
  // `c[i] = a[i]`
  cd_value copy;
  // `b[i] = s * c[i]`
  cd_value scale;
  // `c[i] = a[i] + b[i]`
  cd_value add;
  // `a[i] = b[i] + s * c[i]`
  cd_value triad;
} cd_bandwidth;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of cpudyno, such as "0.2.0"; do not free it.
const char *cd_version(void);

// The number of this interface: `CD_ABI_VERSION` of the header that it belongs to. It grows when a program that was
// built with an older header would go wrong.
uint32_t cd_abi_version(void);

// The version of the records that it writes as JSON, as their field `schema` has it; do not free it.
const char *cd_schema(void);

// How the last call of this thread that failed ended; `CD_OK` where none has.
cd_status cd_error_status(void);

// Why the last call of this thread that failed was not done: a sentence, and on a second line what helps. Empty
// where none has failed. It stays until the next failure in this thread; do not free it.
const char *cd_error_text(void);

// What is not there, after `CD_ERROR_UNAVAILABLE`: a quantity, an event, an instrument. Empty after another error.
const char *cd_error_what(void);

// Why it is not there, after `CD_ERROR_UNAVAILABLE`. Empty after another error.
const char *cd_error_why(void);

// What would make it available, after `CD_ERROR_UNAVAILABLE`: a command where there is one. Empty where nothing is
// known to help, and after another error.
const char *cd_error_remedy(void);

// Frees a string that this library gave, and makes the pointer NULL: freeing it twice does nothing the second time.
// A copy of a pointer that was freed is CD_ERROR_HANDLE, unless a later string of this library lies there.
//
// `text` points at the pointer. That one may be NULL.
cd_status cd_string_free(char **text);

// Opens regions: named stretches of a program, whose time and events are summed by thread. The counters of the calling
// thread are opened, too; those of other threads at their first start, or by `cd_regions_thread()`.
//
// `machine`: NULL for this one, or a simulated one such as "sim:2s-56c", which does not execute your program: its
// counters move by `cd_regions_loop()` alone.
// `events`: names, patterns and codes as `cpudyno pmu list` has them, with commas between them; NULL: instructions,
// cycles, reference cycles. An event that cannot be counted here has its reason in place of a count, and time is
// measured anyway.
//
// CD_ERROR_ARGUMENT: there is no such machine. CD_ERROR_UNAVAILABLE: an event means nothing, or they do not fit on the
// counters together.
cd_status cd_regions_open(const char *machine,
                          const char *events,
                          cd_regions *regions);

// Closes regions: their handle is CD_ERROR_HANDLE from then on, in every thread. The counters of other threads are closed
// when those end. Closing 0 does nothing.
cd_status cd_regions_close(cd_regions regions);

// The number of the region of that name, which is the same in all threads; at most 256 in a set. The first use of a
// name makes it.
cd_status cd_region(cd_regions regions,
                    const char *name,
                    uint32_t *region);

// Opens the counters of the calling thread, which its first start would do otherwise: that takes a millisecond or two.
cd_status cd_regions_thread(cd_regions regions);

// Enters a region. Regions may nest and overlap. After the first call in a thread it allocates nothing, takes no lock,
// and makes no system call where the kernel lets programs read counters by instruction; a signal handler may call
// it.
//
// CD_ERROR_STATE: the thread is in this region already. CD_ERROR_ARGUMENT: there is no region of that number.
cd_status cd_region_start(cd_regions regions,
                          uint32_t region);

// Leaves a region, and adds its time and events to the sums of the thread. As cheap as entering it.
//
// CD_ERROR_STATE: the thread is not in this region.
cd_status cd_region_stop(cd_regions regions, uint32_t region);

// Forgets what the calling thread has summed in a region; it may be inside.
cd_status cd_region_reset(cd_regions regions, uint32_t region);

// Goes so many times through a loop of two instructions, one of them a branch: counts that are known, to try regions
// out. A simulated machine does it by its model.
cd_status cd_regions_loop(cd_regions regions,
                          uint64_t trips);

// How many threads have counters in these regions, those that have ended among them. After a fork the child has none
// at first: what was summed before is the parent's.
cd_status cd_regions_threads(cd_regions regions,
                             uint32_t *threads);

// How often a region was left.
//
// `thread`: from 0 on in the order in which threads came, or CD_ALL_THREADS.
cd_status cd_region_calls(cd_regions regions, uint32_t region, uint32_t thread, uint64_t *calls);

// For how many seconds threads were in a region, without what the measurement itself takes. Calls that have not ended
// do not count.
//
// CD_ERROR_UNAVAILABLE: no thread has left it yet.
cd_status cd_region_seconds(cd_regions regions,
                            uint32_t region,
                            uint32_t thread,
                            double *seconds);

// How many events of a name a region had, without what the measurement itself counts, and in how many of its calls:
// those in which a counter was off the hardware are left out. `calls` may be NULL.
//
// CD_ERROR_UNAVAILABLE: it could not be counted; CD_ERROR_ARGUMENT: it is none of the events of these regions.
cd_status cd_region_count(cd_regions regions,
                          uint32_t region,
                          uint32_t thread,
                          const char *event,
                          uint64_t *count,
                          uint64_t *calls);

// All regions as JSON, each with its total and its threads; free it with `cd_string_free()`.
cd_status cd_regions_json(cd_regions regions, char **json);

// All regions as a table each, in the form of `cpudyno pmu`; free it with `cd_string_free()`.
cd_status cd_regions_text(cd_regions regions, char **text);

// Measures the bandwidth of memory by STREAM's four kernels, each in the fastest way that this CPU has: all four
// numbers, or none.
//
// `machine`: NULL for this one, or a simulated one such as "sim:2s-56c", which takes no time.
// `threads`: so many; 0: as many as there are cores.
// `seconds`: about so long, at most 3600; 0: as long as the command takes by itself.
//
// CD_ERROR_BUSY: another process or thread measures this machine. CD_ERROR_UNAVAILABLE: there is no such number here.
cd_status cd_memory_bandwidth(const char *machine,
                              uint32_t threads,
                              double seconds,
                              cd_bandwidth *bandwidth);

// Measures, and gives the record as JSON, the same that `cpudyno ... --json` writes: `cpudyno show` reads it.
// Free it with `cd_string_free()`. What could not be measured has its reason there.
//
// `area`: "sheet", "memory", "turbo", "cores", "wake", "pause", "openmp", "jitter", "threads",
// "gate", "verify"; "info" and "doctor" only read.
// `options`: NULL, or a JSON object such as {"machine": "sim:2s-56c", "budget": 2, "threads": 4}. The guide lists them;
// one that is not known is CD_ERROR_ARGUMENT.
cd_status cd_measure_json(const char *area,
                          const char *options,
                          char **json);

// Ends what this process measures at the moment: each call ends soon, with what was measured until then, or with
// CD_ERROR_STOPPED. Signal handlers and other threads may call it. Where nothing is measured it does nothing.
cd_status cd_stop(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CPUDYNO_H */
