//! Arguments of `cpudyno turbo`.

use clap::{Args, ValueEnum};
use kernels::StreamRow;
use model::{CpuSet, Seconds};
use rig::placement::Order;

use super::BadValue;
use super::common::{
    Measuring, Stream, THREADS_MAX, budget, count, cpu_list, duration, period, stream, sustained,
};

/// Measure which clock the cores hold under each instruction stream, with one core active and more.
///
/// Runs every stream on one core, then on two, and so on, and prints for each: ops per second, core
/// cycles per op, and the clock. The clock is read in two ways: by APERF and MPERF where those
/// registers can be read (A/M-MHz, usually as root), and by a chain of multiplies whose length in
/// cycles is known, right after the stream and within its own loop (MHz (chain), needs no rights).
/// Where a core is shared or throttled the cell says so instead of a number. Cells of more than two
/// threads show the least, the middle and the greatest; -v, or --width 200, lists up to eight.
///
/// All chosen cores are fully loaded meanwhile. Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct TurboArgs {
    /// Run only these streams, such as scalar_iadd,avx256_fma, or `all` that --list prints; by default
    /// the 49 of avx-turbo.
    #[arg(long, value_delimiter = ',', value_parser = test, value_name = "IDS")]
    pub(crate) test: Option<Vec<Test>>,

    /// Run a mix at once, each stream on so many cores: avx256_fma/1,scalar_iadd/3.
    #[arg(long, value_delimiter = ',', value_parser = part, value_name = "SPEC",
          conflicts_with_all = ["test", "min_threads", "max_threads"])]
    pub(crate) spec: Option<Vec<MixPart>>,

    /// Ask why the clock is not higher: light and heavy streams on one core and on all, each core alone, and
    /// the way from the advertised clock to the delivered one in steps, each with what says so.
    #[arg(long, conflicts_with_all = ["test", "spec", "min_threads", "max_threads", "iters", "duration"])]
    pub(crate) why: bool,

    /// Hold a light stream and then a heavy one on all cores, each for so long, such as 60s, and tell clock,
    /// power and temperature over time, and when the clock first drops.
    #[arg(long, value_parser = sustained, value_name = "TIME",
          conflicts_with_all = ["test", "spec", "why", "min_threads", "max_threads", "iters", "duration",
                                "budget"])]
    pub(crate) sustain: Option<Seconds>,

    /// Tell what neighbours cost: what every class of work on the other cores and on the SMT sibling takes from a
    /// scalar, a vector and a memory-bound victim, in MHz, Mops, GB/s and ns, with intervals.
    #[arg(long, conflicts_with_all = ["test", "spec", "why", "sustain", "min_threads", "max_threads", "iters",
                                      "duration"])]
    pub(crate) neighbours: bool,

    /// Follow these streams, such as avx512_fma_t, through a duty cycle with a look about every microsecond:
    /// halts, throttled dispatch, how long the clock stays low, on their core and on another one.
    #[arg(long, value_delimiter = ',', value_parser = stream, value_name = "STREAMS",
          conflicts_with_all = ["test", "spec", "why", "sustain", "neighbours", "min_threads", "max_threads",
                                "iters", "duration", "budget"])]
    pub(crate) trace: Option<Vec<Stream>>,

    /// How long a period of --trace is; the stream runs in the first tenth of it.
    #[arg(long, value_parser = period, default_value = "5ms", value_name = "TIME", requires = "trace")]
    pub(crate) period: Seconds,

    /// Print the streams with what they need, and measure nothing.
    #[arg(long)]
    pub(crate) list: bool,

    /// Execute this many ops in each repetition, rounded up to whole iterations; by default as many
    /// as take 20 to 90 us.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000),
          value_name = "OPS")]
    pub(crate) iters: Option<u64>,

    /// The least number of active cores; 1 by default.
    #[arg(long, value_parser = count, value_name = "N")]
    pub(crate) min_threads: Option<usize>,

    /// The greatest number of active cores; all by default. Of more than eight cores not every number
    /// is measured unless one of the two is given.
    #[arg(long, value_parser = count, value_name = "N")]
    pub(crate) max_threads: Option<usize>,

    /// Use only so many of the CPUs, the first ones in their order.
    #[arg(long, value_parser = count, value_name = "N")]
    pub(crate) num_cpus: Option<usize>,

    /// Warm up for at most so many milliseconds; warm-up ends when the stream's timings agree.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=60_000),
          value_name = "MS")]
    pub(crate) warmup_ms: u32,

    /// Do not pin threads to CPUs: numbers may then mix CPUs.
    #[arg(long, conflicts_with_all = ["neighbours", "trace", "why"])]
    pub(crate) no_pin: bool,

    /// Do not let threads wait for each other: they may then run one after the other.
    #[arg(long)]
    pub(crate) no_barrier: bool,

    /// Use SMT siblings, too.
    #[arg(long)]
    pub(crate) allow_hyperthreads: bool,

    /// Measure the rate of the time stamp counter instead of believing what CPU and kernel say.
    #[arg(long)]
    pub(crate) force_tsc_calibrate: bool,

    /// Put something into the upper half of register 15 before each repetition: the widest there is.
    #[arg(long)]
    pub(crate) dirty_upper: bool,

    /// The same with register 16, which only AVX-512 has.
    #[arg(long, conflicts_with = "dirty_upper")]
    pub(crate) dirty_upper16: bool,

    /// Use exactly these CPUs, such as 0-3,8; by default one CPU of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// The order in which CPUs become active.
    #[arg(long, value_enum, default_value_t = OrderWord::Package, value_name = "ORDER")]
    pub(crate) order: OrderWord,

    /// Hold one test for so long, such as 30s, while another tool looks on.
    #[arg(long, value_parser = duration, value_name = "TIME", conflicts_with = "budget")]
    pub(crate) duration: Option<Seconds>,

    /// Fill this time, such as 30s, instead of measuring five blocks of each cell.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno turbo                                every stream, one core and more
  cpudyno turbo --max-threads 1                one core only: two seconds
  cpudyno turbo --why                          what keeps the clock from the advertised one?
  cpudyno turbo --sustain 60s                  does the clock last, and what makes it drop?
  cpudyno turbo --neighbours                   what do busy neighbours cost a core?
  cpudyno turbo --trace avx512_fma_t           does the core halt, and how long is the clock low?
  cpudyno turbo --test avx256_fma_t,avx512_fma_t    do wide multiply-adds lower the clock?
  cpudyno turbo --spec avx512_fma_t/1,scalar_iadd/3    what one heavy core costs its neighbours
  cpudyno turbo --test scalar_iadd --max-threads 1 --duration 30s    hold it and look with another tool
  cpudyno turbo --json run.json; cpudyno show run.json    the same text again, on any machine
  cpudyno turbo --machine sim:2s-56c --width 160    what it looks like on a large server (SIMULATED)";

/// The order in which CPUs become active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderWord {
    /// As near to each other as possible: siblings, then cores of one last-level cache.
    Compact,
    /// As far from each other as possible: packages take turns.
    Spread,
    /// One package after the other: turbo limits are per package.
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
