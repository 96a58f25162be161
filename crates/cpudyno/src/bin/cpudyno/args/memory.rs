//! Arguments of `cpudyno memory`.

use clap::{Args, Subcommand, ValueEnum};
use kernels::memory::MemoryKernel;
use measure::areas::memory::Length;
use measure::original::{Sha256, Sha256Error};
use model::name::did_you_mean;
use model::record::ByteUnit;
use model::{CpuSet, Pages, Seconds};

use super::BadValue;
use super::common::{Measuring, budget, count, cpu_list, whole};
use super::turbo::OrderWord;

/// Measure bandwidth and latency of caches and memory.
///
/// Without a subcommand, the kernels of STREAM (copy, scale, add, triad) run on one CPU and on all, as in
/// STREAMBenchmark. Bandwidth is counted in two ways: the bytes that the program asks for, and those plus
/// write-allocate, the lines that ordinary stores bring into the cache first. A short trial finds the
/// fastest variant of each kernel, and the page names it. Every result of a kernel is checked; a wrong one
/// has no number.
///
/// Arrays are four times as large as the caches in use, and each thread touches its part first. Whether
/// they fit into memory is checked before. Nothing on the machine is changed.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, subcommand_negates_reqs = true)]
pub(crate) struct MemoryArgs {
    /// What to measure instead.
    #[command(subcommand)]
    pub(crate) question: Option<QuestionArgs>,

    /// Kernels to run; by default those of STREAM (sweep, numa: load).
    ///
    /// Kernels: load, store, copy, scale, add, triad, update, daxpy, striad, sdaxpy. `latency` and `loaded`
    /// take none, `original` takes those of STREAM.
    #[arg(long, global = true, value_delimiter = ',', value_parser = kernel, value_name = "IDS")]
    pub(crate) kernels: Option<Vec<KernelArg>>,

    /// Variant of the kernels, such as avx512-nt; by default the fastest.
    ///
    /// `cpudyno memory --list` lists them. `latency` and `loaded` take none.
    #[arg(long, global = true, value_parser = variant, value_name = "NAME")]
    pub(crate) variant: Option<String>,

    /// Number of threads; by default one, and then one for each CPU.
    ///
    /// At most one for each CPU. By default `scaling` goes up to all CPUs; `sweep --factors`, `loaded` and
    /// `original` use all. `sweep` and `latency` always use one, `numa` those of each node.
    #[arg(long, global = true, allow_hyphen_values = true, value_parser = count,
          value_name = "N")]
    pub(crate) threads: Option<usize>,

    /// Length of each array: elements of 8 bytes, or bytes with a unit.
    ///
    /// Such as 20000000, 512MiB or 1GB, over all threads. By default four times the caches in use. For `sweep`
    /// and `latency`, that of the largest array.
    #[arg(long, global = true, allow_hyphen_values = true, value_parser = length,
          value_name = "LENGTH")]
    pub(crate) length: Option<Length>,

    /// Pages: 4k, thp, 2m or 1g; by default thp where the kernel has them.
    ///
    /// thp are transparent huge pages; 2m and 1g are huge pages that were reserved before. By default `latency`
    /// uses 4k, too.
    #[arg(long, global = true, value_parser = pages, value_name = "PAGES")]
    pub(crate) pages: Option<Pages>,

    /// Count write-allocate in the headline; off counts as STREAM does.
    #[arg(long, global = true, value_enum, default_value_t = Switch::On, value_name = "SWITCH")]
    pub(crate) write_allocate: Switch,

    /// Unit of bandwidths, per second.
    #[arg(long, global = true, value_enum, default_value_t = UnitWord::Mb, value_name = "UNIT")]
    pub(crate) unit: UnitWord,

    /// CPUs to use, such as 0-3,8; by default one of each core.
    #[arg(long, global = true, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Order in which CPUs become active.
    #[arg(long, global = true, value_enum, default_value_t = OrderWord::Compact, value_name = "ORDER")]
    pub(crate) order: OrderWord,

    /// Also use SMT siblings.
    #[arg(long, global = true)]
    pub(crate) allow_hyperthreads: bool,

    /// Time to measure (1s to 1h); each subcommand has its own default.
    ///
    /// The defaults: 8.5s; `scaling` 30s, `scaling --all` 5m, `sweep` 17s, `sweep --factors` and `numa` 10s, `latency` and `loaded`
    /// 12s.
    #[arg(long, global = true, allow_hyphen_values = true, value_parser = budget,
          value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    /// List the kernels and their variants; measure nothing.
    #[arg(long)]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno memory                               STREAM's kernels, on one CPU and on all: ten seconds
  cpudyno memory --write-allocate off          counted as STREAM does
  cpudyno memory --kernels load,store --threads 1
  cpudyno memory scaling                       how many cores does it take to use all bandwidth?
  cpudyno memory scaling --all                 the same with every number of threads
  cpudyno memory sweep                         where do caches really end?
  cpudyno memory latency                       how long does one access take?
  cpudyno memory loaded                        the same while other CPUs use memory
  cpudyno memory original --source stream.c    the original STREAM next to our kernels
  cpudyno memory numa --machine sim:2s-56c     from each node to each (SIMULATED)";

/// The questions, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum QuestionArgs {
    /// Measure bandwidth by number of threads.
    ///
    /// Threads are packed, and spread. The page shows how many of them reach 95 % of the bandwidth. On machines
    /// of many CPUs only some numbers of threads are measured, as many as fit into the time.
    Scaling {
        /// Measure every number of threads, and print every section.
        #[arg(long)]
        all: bool,
    },
    /// Measure bandwidth and latency by size of the data.
    ///
    /// Sizes go from 4 KiB to four times the caches. The page shows where each cache really ends, and whether
    /// the machine says the same.
    Sweep {
        /// Run the kernels with arrays of 1 to N times the caches instead (N: 1 to 64).
        #[arg(long, value_parser = factors, value_name = "N")]
        factors: Option<u32>,
    },
    /// Measure the latency of each cache and of memory.
    ///
    /// Also what small pages add, and how many accesses one core has in flight.
    Latency,
    /// Measure memory latency while other CPUs use bandwidth.
    ///
    /// Their bandwidth rises step by step.
    Loaded,
    Original(OriginalArgs),
    /// Measure latency and bandwidth from each node to each.
    ///
    /// The page also shows the distances of the firmware.
    Numa,
}

/// Run the original STREAM and compare its numbers with ours.
///
/// The source is compiled here. STREAM and our kernels run on the same CPUs, with arrays of the same length.
#[derive(Debug, Args)]
pub(crate) struct OriginalArgs {
    /// Source of STREAM: a file, or an address that curl fetches.
    ///
    /// Such as https://www.cs.virginia.edu/stream/FTP/Code/stream.c.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: String,

    /// Refuse a source with another SHA-256.
    #[arg(long, value_parser = sha256, value_name = "HEX")]
    pub(crate) sha256: Option<Sha256>,

    /// Compiler; by default the first of gcc, cc and clang that is installed.
    #[arg(long, value_name = "COMPILER")]
    pub(crate) compiler: Option<String>,

    /// Runs of each kernel (2 to 100); the first one does not count.
    #[arg(long, default_value_t = 10, value_parser = repetitions, value_name = "N")]
    pub(crate) repetitions: u32,
}

fn factors(text: &str) -> Result<u32, BadValue> {
    whole(text, 1..=64, "such as --factors 4").map(|factors| factors as u32)
}

fn repetitions(text: &str) -> Result<u32, BadValue> {
    whole(text, 2..=100, "such as --repetitions 10").map(|repetitions| repetitions as u32)
}

fn sha256(text: &str) -> Result<Sha256, BadValue> {
    const HINT: &str = "give its 64 hexadecimal digits, as sha256sum prints them";
    text.parse().map_err(|error: Sha256Error| BadValue::new(error.to_string(), HINT))
}

/// A kernel that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct KernelArg(pub(crate) &'static MemoryKernel);

impl std::fmt::Debug for KernelArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id)
    }
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// With the lines that ordinary stores bring in first.
    On,
    /// Without them, as STREAM.
    Off,
}

/// Units of bandwidths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnitWord {
    /// 10^6 bytes per second.
    #[value(name = "MB")]
    Mb,
    /// 10^9 bytes per second.
    #[value(name = "GB")]
    Gb,
    /// 2^20 bytes per second.
    #[value(name = "MiB")]
    Mib,
    /// 2^30 bytes per second.
    #[value(name = "GiB")]
    Gib,
}

impl From<UnitWord> for ByteUnit {
    fn from(word: UnitWord) -> ByteUnit {
        match word {
            UnitWord::Mb => ByteUnit::Mega,
            UnitWord::Gb => ByteUnit::Giga,
            UnitWord::Mib => ByteUnit::Mebi,
            UnitWord::Gib => ByteUnit::Gibi,
        }
    }
}

const LIST: &str = "`cpudyno memory --list` prints them";

fn kernel(id: &str) -> Result<KernelArg, BadValue> {
    let id = id.trim();
    kernels::memory::find(id).map(KernelArg).ok_or_else(|| {
        let near = did_you_mean(id, kernels::memory::TABLE.iter().map(|kernel| kernel.id));
        let hint = near.map_or(LIST.to_owned(), |near| format!("did you mean `{near}`?"));
        BadValue::new("no such kernel", hint)
    })
}

/// A variant that some kernel has.
fn variant(id: &str) -> Result<String, BadValue> {
    let ids = || kernels::memory::TABLE.iter().flat_map(|kernel| kernel.variants).map(|v| v.id);
    if ids().any(|known| known == id) {
        return Ok(id.to_owned());
    }
    let hint = did_you_mean(id, ids()).map_or(LIST.to_owned(), |n| format!("did you mean `{n}`?"));
    Err(BadValue::new("no such variant", hint))
}

fn pages(word: &str) -> Result<Pages, BadValue> {
    word.parse::<Pages>().map_err(|error| {
        BadValue::new(error.to_string(), "pages are 4k, thp, 2m or 1g; `cpudyno doctor` says which")
    })
}

/// A length in elements, or in bytes with a unit.
fn length(text: &str) -> Result<Length, BadValue> {
    const HINT: &str = "give elements of 8 bytes (20000000), or bytes with a unit (512MiB, 1GB)";
    const UNITS: &[(&str, u64)] = &[
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1000),
        ("KB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("B", 1),
    ];
    /// More than any machine has.
    const BYTES_MAX: u64 = 1 << 50;
    const TOO_MUCH: &str = "no machine has so much memory";
    let bad = |why: &str| BadValue::new(why, HINT);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, word) = (&text[..digits], text[digits..].trim_start());
    let unit = UNITS.iter().find(|(unit, _)| *unit == word);
    if number.is_empty() || (unit.is_none() && !word.is_empty()) {
        let near = UNITS.iter().map(|(unit, _)| *unit).find(|unit| is_meant(word, unit));
        let near = near.filter(|_| !number.is_empty());
        let hint = near.map_or(HINT.to_owned(), |near| format!("did you mean `{number}{near}`?"));
        return Err(BadValue::new("expected a length such as 20000000", hint));
    }
    // Digits alone: what is no number is too large for one.
    let number: u64 = number.parse().map_err(|_| bad(TOO_MUCH))?;
    let bytes = number.checked_mul(unit.map_or(8, |(_, bytes)| *bytes));
    match bytes.filter(|bytes| *bytes <= BYTES_MAX) {
        None => Err(bad(TOO_MUCH)),
        Some(bytes) if bytes < 8 => Err(bad("expected one element of 8 bytes at least")),
        Some(bytes) if unit.is_some() => Ok(Length::Bytes(bytes)),
        Some(_) => Ok(Length::Elements(number)),
    }
}

/// Whether a word is that unit, but for large letters and the B for bytes.
fn is_meant(word: &str, unit: &str) -> bool {
    let bytes = |text: &str| text.to_ascii_lowercase().trim_end_matches('b').to_owned();
    bytes(word) == bytes(unit)
}

#[cfg(test)]
mod tests {
    use measure::areas::memory::Length;

    use super::length;

    #[test]
    fn lengths_are_elements_or_bytes() {
        assert_eq!(length("1000").unwrap(), Length::Elements(1000));
        assert_eq!(length("1MB").unwrap(), Length::Bytes(1_000_000));
        assert_eq!(length("2 GiB").unwrap(), Length::Bytes(2 << 30));
        for bad in ["0", "-1", "", "MB", "1.5GB", "7B", "9999999999999TB", "1e9", "NaN", "ten"] {
            assert!(length(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn length_with_a_wrong_unit_gets_a_hint() {
        let hint = |text| length(text).unwrap_err().hint;
        for (text, near) in
            [("512M", "512MB"), ("512mb", "512MB"), ("1gib", "1GiB"), ("2Gi", "2GiB"), ("8b", "8B")]
        {
            assert_eq!(hint(text), format!("did you mean `{near}`?"));
        }
        for text in ["5 parsecs", "-1", "mb"] {
            assert!(hint(text).starts_with("give elements"), "{text}");
        }
        let huge = length("99999999999999999999").unwrap_err();
        assert_eq!(huge.to_string(), "no machine has so much memory");
    }
}
