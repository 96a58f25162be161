//! Arguments of `cpudyno turbo`.

use clap::{Args, ValueEnum};
use kernels::StreamRow;
use model::{CpuSet, Seconds};
use rig::placement::Order;

use super::BadValue;
use super::common::{
    Measuring, Stream, THREADS_MAX, budget, count, cpu_list, duration, period, stream, sustained,
    whole,
};

/// Measure clocks by instruction stream and active cores.
///
/// Each stream runs on one core, then on two, and so on. The page shows ops per second, core cycles per
/// op, and the clock. The clock is read in two ways: from APERF and MPERF (A/M-MHz; usually needs root),
/// and from a chain of multiplies of known length in cycles, right after the stream and within its loop
/// (MHz (chain); needs no rights). The cell of a shared or throttled core says so and has no number.
/// Cells of more than two threads show the least, the middle and the greatest; -v, or --width 200, lists
/// up to eight. Columns that do not fit stand in a table below, all of them with -v.
///
/// All chosen cores are fully loaded meanwhile. Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct TurboArgs {
    /// Streams to run, such as scalar_iadd,avx256_fma, or `all` of --list.
    ///
    /// By default the 49 of avx-turbo.
    #[arg(long, value_delimiter = ',', value_parser = test, value_name = "IDS")]
    pub(crate) test: Option<Vec<Test>>,

    /// Run streams together, each on N cores: avx256_fma/1,scalar_iadd/3.
    #[arg(long, value_delimiter = ',', value_parser = part, value_name = "SPEC",
          conflicts_with_all = ["test", "min_threads", "max_threads"])]
    pub(crate) spec: Option<Vec<MixPart>>,

    /// Explain the clock in steps, from the advertised to the delivered one.
    ///
    /// Light and heavy streams run on one core and on all, and each core runs alone. Each step names its
    /// source.
    #[arg(long, conflicts_with_all = ["test", "spec", "min_threads", "max_threads", "iters", "duration"])]
    pub(crate) why: bool,

    /// Hold a light, then a heavy stream on all cores, each for TIME (1s to 1h).
    ///
    /// The page shows clock, power and temperature over time, and when the clock first drops.
    #[arg(long, value_parser = sustained, value_name = "TIME",
          conflicts_with_all = ["test", "spec", "why", "min_threads", "max_threads", "iters", "duration",
                                "budget"])]
    pub(crate) sustain: Option<Seconds>,

    /// Measure the cost of busy neighbours: other cores, and the SMT sibling.
    ///
    /// A scalar, a vector and a memory-bound stream run next to each class of work. The page shows what they
    /// lose in MHz, Mops, GB/s and ns, with intervals.
    #[arg(long, conflicts_with_all = ["test", "spec", "why", "sustain", "min_threads", "max_threads", "iters",
                                      "duration"])]
    pub(crate) neighbours: bool,

    /// Follow these streams, such as avx512_fma_t, through a duty cycle.
    ///
    /// A reading about every microsecond, on their core and on another one, shows halts, throttled dispatch,
    /// and how long the clock stays low.
    #[arg(long, value_delimiter = ',', value_parser = stream, value_name = "STREAMS",
          conflicts_with_all = ["test", "spec", "why", "sustain", "neighbours", "min_threads", "max_threads",
                                "iters", "duration", "budget"])]
    pub(crate) trace: Option<Vec<Stream>>,

    /// Period of --trace (0.5ms to 100ms); the first tenth runs the stream.
    #[arg(long, value_parser = period, default_value = "5ms", value_name = "TIME", requires = "trace")]
    pub(crate) period: Seconds,

    /// Measure multiply-adds by datatype and width, and the machine's roofline.
    ///
    /// FP64 to INT8, scalar to the widest vectors and tiles, on one core and on all: elements a cycle, operations
    /// a second, the clock that is held, and the share of what the units could do. With what caches and memory
    /// give, that is the roofline.
    #[arg(long, conflicts_with_all = ["test", "spec", "why", "sustain", "neighbours", "trace", "min_threads",
                                      "max_threads", "iters", "duration", "classic"])]
    pub(crate) datatypes: bool,

    /// List the streams and what they need; measure nothing.
    #[arg(long)]
    pub(crate) list: bool,

    /// Ops per repetition; by default 20 to 90 us of them.
    ///
    /// They are rounded up to whole iterations.
    #[arg(long, value_parser = ops, value_name = "OPS")]
    pub(crate) iters: Option<u64>,

    /// Least number of active cores; 1 by default.
    #[arg(long, value_parser = count, value_name = "N")]
    pub(crate) min_threads: Option<usize>,

    /// Greatest number of active cores; all by default.
    ///
    /// With more than eight cores, some numbers are left out unless --min-threads or --max-threads is given.
    #[arg(long, value_parser = count, value_name = "N")]
    pub(crate) max_threads: Option<usize>,

    /// Use only the first N of the CPUs in their order.
    #[arg(long, value_parser = count, value_name = "N")]
    pub(crate) num_cpus: Option<usize>,

    /// Longest warm-up in ms (0 to 60000); it ends when timings agree.
    #[arg(long, default_value_t = 20, value_parser = milliseconds, value_name = "MS")]
    pub(crate) warmup_ms: u32,

    /// Do not pin threads; a number may then mix CPUs.
    #[arg(long, conflicts_with_all = ["neighbours", "trace", "why"])]
    pub(crate) no_pin: bool,

    /// Do not start threads together; they may then run one after the other.
    #[arg(long)]
    pub(crate) no_barrier: bool,

    /// Also use SMT siblings.
    #[arg(long)]
    pub(crate) allow_hyperthreads: bool,

    /// Print the tables of avx-turbo, for scripts that read them.
    #[arg(long, conflicts_with_all = ["why", "trace", "neighbours", "sustain", "dry_run", "format"])]
    pub(crate) classic: bool,

    /// Measure the rate of the time stamp counter, whatever CPU and kernel say.
    ///
    /// The page shows it with its spread, and what they say.
    #[arg(long)]
    pub(crate) force_tsc_calibrate: bool,

    /// Fill the upper half of register 15 before each repetition.
    ///
    /// Of the widest vector register that the CPU has.
    #[arg(long)]
    pub(crate) dirty_upper: bool,

    /// Fill the upper half of register 16 instead, which only AVX-512 has.
    #[arg(long, conflicts_with = "dirty_upper")]
    pub(crate) dirty_upper16: bool,

    /// CPUs to use, such as 0-3,8; by default one of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Order in which CPUs become active.
    #[arg(long, value_enum, default_value_t = OrderWord::Package, value_name = "ORDER")]
    pub(crate) order: OrderWord,

    /// Hold one test for this time (1s to 1h), to watch it with another tool.
    #[arg(long, value_parser = duration, value_name = "TIME", conflicts_with = "budget")]
    pub(crate) duration: Option<Seconds>,

    /// Time to measure (1s to 1h); by default that of five blocks of each cell.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno turbo                                  the streams of avx-turbo, one core and more
  cpudyno turbo --max-threads 1                  one core only: two seconds
  cpudyno turbo --why                            what keeps the clock from the advertised one?
  cpudyno turbo --sustain 60s                    does the clock last, and what makes it drop?
  cpudyno turbo --neighbours                     what do busy neighbours cost a core?
  cpudyno turbo --datatypes                      how many FLOP/s, by datatype; the roofline
  cpudyno turbo --trace avx512_fma_t             does the core halt, and how long is the clock low?
  cpudyno turbo --test avx256_fma_t,avx512_fma_t          do wide multiply-adds lower the clock?
  cpudyno turbo --spec avx512_fma_t/1,scalar_iadd/3       what does one heavy core cost the others?
  cpudyno turbo --test scalar_iadd --max-threads 1 --duration 30s   one test, held
  cpudyno turbo --json run.json; cpudyno show run.json    the same text again, on any machine
  cpudyno turbo --machine sim:2s-56c --width 160          a large server (SIMULATED)";

/// The order in which CPUs become active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderWord {
    /// As near as possible: siblings, then cores of one last-level cache.
    Compact,
    /// As far apart as possible: packages take turns.
    Spread,
    /// One package after the other, as turbo limits are per package.
    Package,
}

impl From<OrderWord> for Order {
    fn from(word: OrderWord) -> Order {
        match word {
            OrderWord::Compact => Order::Compact,
            OrderWord::Spread => Order::Spread,
            OrderWord::Package => Order::Package,
        }
    }
}

/// What to run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Test {
    /// Every stream there is.
    All,
    /// This one.
    One(Stream),
}

fn test(text: &str) -> Result<Test, BadValue> {
    if text.trim() == "all" { Ok(Test::All) } else { stream(text).map(Test::One) }
}

/// A stream of a mix, and on how many cores it runs.
#[derive(Clone, Copy)]
pub(crate) struct MixPart(pub(crate) &'static StreamRow, pub(crate) usize);

impl std::fmt::Debug for MixPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.0.id, self.1)
    }
}

fn ops(text: &str) -> Result<u64, BadValue> {
    whole(
        text,
        1..=1_000_000_000_000,
        "such as --iters 100000; leave it out for 20 to 90 us of them",
    )
}

fn milliseconds(text: &str) -> Result<u32, BadValue> {
    whole(text, 0..=60_000, "milliseconds without a unit, such as --warmup-ms 20")
        .map(|milliseconds| milliseconds as u32)
}

fn part(text: &str) -> Result<MixPart, BadValue> {
    const HINT: &str = "a mix looks like avx256_fma/1,scalar_iadd/3";
    let Some((id, number)) = text.split_once('/') else {
        return Err(BadValue::new("expected a stream, a slash and a number of cores", HINT));
    };
    let Stream(row) = stream(id)?;
    match number.trim().parse::<usize>() {
        Ok(number) if (1..=THREADS_MAX).contains(&number) => Ok(MixPart(row, number)),
        _ => Err(BadValue::new("expected a number of cores of at least 1 after the slash", HINT)),
    }
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn a_mix_names_streams_and_numbers() {
        let good = part("avx256_fma/3").unwrap();
        assert_eq!((good.0.id, good.1), ("avx256_fma", 3));
        for bad in
            ["", "/", "scalar_iadd", "scalar_iadd/0", "scalar_iadd/-1", "nothing/1", "x/", "/1"]
        {
            assert!(part(bad).is_err(), "{bad}");
        }
    }
}
