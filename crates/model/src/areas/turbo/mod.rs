//! Clocks under streams of instructions.

pub mod favoured;
pub mod neighbours;
pub mod promise;
pub mod soak;
pub mod speed_select;
pub mod trace;

use super::{HIGHER, LOWER, NEITHER, Quantity};
use crate::Unit;
use crate::record::Series;

/// Its id.
pub const AREA: &str = "turbo";

/// The lightest stream: what a licence costs is told against it.
pub const LIGHT: &str = "scalar_iadd";

/// The heaviest streams, the first one that was measured counts.
pub const HEAVY: [&str; 3] = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t"];

/// Workloads that are no streams.
const QUESTIONS: [&str; 7] = [
    trace::WORKLOAD,
    favoured::WORKLOAD,
    soak::WORKLOAD,
    neighbours::SCALAR,
    neighbours::VECTOR,
    neighbours::BANDWIDTH,
    neighbours::LATENCY,
];

/// Whether a workload is no stream.
pub fn is_question(workload: &str) -> bool {
    QUESTIONS.contains(&workload) || neighbours::is_class(workload)
}

/// The word that stands in the place of a clock that is not believed: what its reason begins with.
pub fn distrust(why: &str) -> Option<&'static str> {
    const WORDS: [&str; 3] = ["contended", "sibling busy", "throttled"];
    WORDS.into_iter().find(|word| why.starts_with(word))
}

/// What its numbers mean, in the order of a record.
pub static QUANTITIES: &[Quantity] = &[
    Quantity::new("clock", "clock", Unit::Hertz, HIGHER, "Core clock right after 45 us of the payload at full density: 3 us of the multiply chain, \
              whose length in cycles is known, between two stamps.").judged().packed(5e-4),
    Quantity::new("clock_in_loop", "clock in the loop, dense", Unit::Hertz, NEITHER, "Core clock while the payload executes: the multiply chain in the payload's own loop, \
              with the payload taking at most 95 % of the chain's time. Evidence for `clock`.").packed(5e-4),
    Quantity::new("clock_in_loop_half", "clock in the loop, less dense", Unit::Hertz, NEITHER, "The same with the payload taking less, at most 50 %: where it differs, payload and chain are \
              in each other's way, and neither tells the clock.").packed(5e-4),
    Quantity::new("cycles_per_op", "cycles per op", Unit::CyclePerOp, LOWER, "Core cycles per op, against multiply chains right before and right after, n against 2n.").judged().packed(2e-4),
    Quantity::new("time_per_op", "time per op", Unit::SecondPerOp, LOWER, "Seconds per op, n against 2n; its reciprocal is the rate of ops.").packed(5e-4),
    Quantity::new("overlap", "overlap", Unit::One, HIGHER, "Time that all threads executed the payload together, as a share of the time that any of \
              them did."),
    Quantity::new("aperf_per_mperf", "A/M-ratio", Unit::One, HIGHER, "APERF per MPERF while the payload executes: core cycles per cycle of a constant clock, \
              both counted only while the core is not halted.").packed(1e-4),
    Quantity::new("mperf_rate", "MPERF per second", Unit::Hertz, NEITHER, "MPERF per second of the stamp clock: below its own rate by the share of time that the \
              core was halted.").packed(1e-4),
    Quantity::new(favoured::CLOCK, "clock of a core alone", Unit::Hertz, HIGHER, "Core clock under scalar_iadd by the chain, all other cores idle."),
    Quantity::new(soak::TIME, "middle of a window", Unit::Second, NEITHER, "Time from the beginning of the stream to the middle of each window.").in_order(),
    Quantity::new(soak::CLOCK, "clock in a window", Unit::Hertz, HIGHER, "Median over all looks by the chain and all cores in each window.").in_order(),
    Quantity::new(soak::LOST, "time lost in a window", Unit::One, LOWER, "What rounds of the stream took longer than the median of them, of all their time, the mean over jobs and \
             cores: interrupts, other threads, or the hypervisor.").in_order(),
    Quantity::new(soak::REST, "rest before a stream", Unit::Second, NEITHER, "How long nothing was executed between the stream before and this one."),
    Quantity::new(soak::POWER, "power in a window", Unit::Watt, NEITHER, "Energy counters of all packages over the time of each window.").in_order(),
    Quantity::new(soak::TEMPERATURE, "temperature after a window", Unit::Celsius, NEITHER, "The hottest sensor of the packages, else of the cores.").in_order(),
    Quantity::new(soak::LIMITED, "windows in which a limit was seen", Unit::Second, NEITHER, "Times of the windows in which its log came up, or after which it was in force.").in_order(),
    Quantity::new(trace::VISIBLE, "the least halt that can be told", Unit::Second, LOWER, "Nine windows of 20 us in ten lose less than this at once, without the payload and with it, and no look is \
         shorter."),
    Quantity::new(trace::VISIBLE_BESIDE, "the least halt that can be told beside throttled dispatch", Unit::Second, LOWER, "A look beside stretched ones may be as long by throttled dispatch, which makes it four times as long at most: \
         3.5 times is taken for that. Only where time was taken for it at the same phase of many periods."),
    Quantity::new(trace::LOOKED, "periods in which a phase was looked at", Unit::Count, HIGHER, "Those in which no gap covers the phase, at the phase where they are fewest; of fewer than 50 nothing is told."),
    Quantity::new(trace::HALT, "halt", Unit::Second, LOWER, "Time that is missing at one phase in 80 % and more of the periods that were looked at then, one for each \
         that has it."),
    Quantity::new(trace::HALT_SHARE, "share of periods that have the halt", Unit::One, NEITHER, "Of those that were looked at at that phase. Halts that come by chance are in few."),
    Quantity::new(trace::THROTTLED, "throttled dispatch", Unit::Second, LOWER, "Time in which adds take longer while multiplies hardly do, by the median over periods of each 2 us, in 80 % and \
         more of the periods that were looked at then."),
    Quantity::new(trace::THROTTLED_VISIBLE, "the least throttled dispatch that can be told", Unit::Second, LOWER, "Two bins of 2 us, those between them that no look fell into, without the payload or with it, and no \
         less than what is seen without."),
    Quantity::new(trace::THROTTLED_RATIO, "how much longer adds take meanwhile", Unit::One, LOWER, "Against the clock without a payload: dispatch is throttled before the clock changes."),
    Quantity::new(trace::HOLD, "how long the clock stays low after the payload", Unit::Second, LOWER, "From the end of the payload until five bins of 2 us in a row are nearer to the clock at the \
         end of the period."),
    Quantity::new(trace::HOLD_VISIBLE, "the least difference of clocks that can be told", Unit::One, LOWER, "Of the payload's second half and the period's last quarter the worse: four median distances of the bins \
         from their median, or a step of the stamps over a look's chain and the root of the looks in a bin."),
    Quantity::new(trace::LOW, "clock under the payload", Unit::Hertz, HIGHER, "Median of the bins of the second half of the payload."),
    Quantity::new(trace::RELAXED, "clock at the end of the period", Unit::Hertz, HIGHER, "Median of the bins of the last quarter of the period; without a payload where that is higher."),
    Quantity::new(trace::TIME, "time of a look", Unit::Second, NEITHER, "Since its period began.").in_order(),
    Quantity::new(trace::CLOCK, "clock in a look", Unit::Hertz, HIGHER, "By a chain of multiplies of 0.35 us.").in_order(),
    Quantity::new(trace::STRETCH, "how much longer adds took in a look", Unit::One, NEITHER, "Against the clock by the multiplies right after them.").in_order(),
    Quantity::new(trace::FOLDED_TIME, "middle of a bin", Unit::Second, NEITHER, "Since the period began.").in_order(),
    Quantity::new(trace::FOLDED_CLOCK, "clock in a bin", Unit::Hertz, HIGHER, "By the mean time of looks in all periods, without those that something came into.").in_order(),
    Quantity::new(trace::GAP, "time that is missing at once", Unit::Second, LOWER, "Between two looks, beyond what lies between them usually, whatever took it."),
    Quantity::new(trace::GAP_RATE, "such gaps per second", Unit::PerSecond, LOWER, "Those above the least halt that can be told."),
    Quantity::new(trace::GAP_SHARE, "share of time that is missing in gaps", Unit::One, LOWER, "All gaps longer than 1 us, whether a halt as short could be told or not, over the time of the pass."),
    Quantity::new(neighbours::CLOCK.alone, "clock of the victim alone", Unit::Hertz, HIGHER, "Median clock by the chain, the mean of the jobs before and after those beside neighbours."),
    Quantity::new(neighbours::CLOCK.beside, "clock of the victim beside neighbours", Unit::Hertz, HIGHER, "Median clock by the chain, the mean of two jobs beside neighbours."),
    Quantity::new(neighbours::CLOCK.ratio, "clock beside neighbours over alone", Unit::One, HIGHER, "One for each block: alone, beside, beside, alone."),
    Quantity::new(neighbours::RATE.alone, "ops per second of the victim alone", Unit::PerSecond, HIGHER, "Median rate of ops, the mean of the jobs before and after those beside neighbours."),
    Quantity::new(neighbours::RATE.beside, "ops per second of the victim beside neighbours", Unit::PerSecond, HIGHER, "Median rate of ops, the mean of two jobs beside neighbours."),
    Quantity::new(neighbours::RATE.ratio, "ops per second beside neighbours over alone", Unit::One, HIGHER, "One for each block: alone, beside, beside, alone."),
    Quantity::new(neighbours::MOVED.alone, "bandwidth of the victim alone", Unit::BytePerSecond, HIGHER, "Median bandwidth of a triad beyond caches, the mean of the jobs before and after those beside neighbours."),
    Quantity::new(neighbours::MOVED.beside, "bandwidth of the victim beside neighbours", Unit::BytePerSecond, HIGHER, "Median bandwidth of a triad beyond caches, the mean of two jobs beside neighbours."),
    Quantity::new(neighbours::MOVED.ratio, "bandwidth beside neighbours over alone", Unit::One, HIGHER, "One for each block: alone, beside, beside, alone."),
    Quantity::new(neighbours::WAIT.alone, "latency of the victim alone", Unit::Second, LOWER, "Median latency of one chain of pointers beyond caches, the mean of the jobs before and after \
         those beside neighbours."),
    Quantity::new(neighbours::WAIT.beside, "latency of the victim beside neighbours", Unit::Second, LOWER, "Median latency of one chain of pointers beyond caches, the mean of two jobs beside neighbours."),
    Quantity::new(neighbours::WAIT.ratio, "latency beside neighbours over alone", Unit::One, LOWER, "One for each block: alone, beside, beside, alone."),
];

/// What a series without numbers is called.
pub(super) fn name_of(series: &Series) -> Option<String> {
    if let Some(beside) = series.parameters.get(neighbours::BESIDE) {
        let place = series.parameters.get(neighbours::PLACE)?;
        return Some(format!("{} beside {beside}, {place}", series.workload));
    }
    let stream = series.parameters.get(soak::STREAM)?;
    let core = series.parameters.get(trace::CORE).map(|core| format!("{core} core"));
    let cpus = series.parameters.get(soak::GROUP).map(|cpus| format!("CPUs {cpus}"));
    let of = core.or(cpus).map_or(String::new(), |of| format!(" ({of})"));
    let what = super::quantity(AREA, &series.quantity);
    let what = what.map_or(series.quantity.as_str(), |quantity| quantity.label);
    Some(format!("{what} of {stream}{of}"))
}
