//! cpudyno beside C programs, other tools, and what it claims of itself: `cargo peers --help`.
//!
//! Each claim about speed is one row in `speed::CLAIMS`. Nothing here is part of the product.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool that talks to its terminal; invariant I1 is about the product"
)]

mod ab_cost;
mod agree;
mod answers;
mod bandwidth;
mod built;
mod companion;
mod conformance;
mod cores;
mod datatypes;
mod density;
mod equal;
mod fleet;
mod fleet_packs;
mod fleet_ways;
mod large;
mod latency;
mod one_cpu;
mod openmp;
mod plain;
mod speed;
mod stores;
mod table;
mod threads;
mod top;
mod trials;
mod turbo;
mod turns;
mod undo;
mod wake;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use model::{CpuId, Unavailable};
use xtask::{EXIT_CANNOT, EXIT_NO};

#[derive(Parser)]
#[command(
    name = "peers",
    bin_name = "cargo peers",
    about = "Compare cpudyno with other programs, and with its claims"
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure this machine twice and say whether the two runs agree
    Agree {
        /// Time for each of the two runs
        #[arg(long, default_value = "10s")]
        budget: String,
    },
    /// Compare each classic stream with a plain loop in C of the same instruction, side by side
    Plain {
        /// The CPU on which both run; by default the last one that may be used
        #[arg(long)]
        cpu: Option<u32>,
    },
    /// Compare what each datatype computes with a C program by the method of cpufp, side by side
    Datatypes {
        /// The CPU on which both run; by default the last one that may be used
        #[arg(long)]
        cpu: Option<u32>,
    },
    /// Compare the memory kernels with a C program and likwid-bench, side by side
    Bandwidth {
        /// Rounds; each lets all take turns
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..=1000))]
        rounds: u32,
        /// CPUs that move data together, such as 0-1; by default one, and then all
        #[arg(long)]
        cpus: Option<String>,
    },
    /// Compare latencies from core to core with those of a C program, side by side
    Cores {
        /// Rounds; each lets both take turns
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=1000))]
        rounds: u32,
        /// The two CPUs, such as 0,1; by default the first two that may be used
        #[arg(long)]
        cpus: Option<String>,
    },
    /// Prove by reading back that stores reach memory as each variant declares
    Stores,
    /// Compare parallel regions with those of C programs by GCC and Clang, taking turns
    Openmp {
        /// Rounds; each lets both take a turn
        #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(3..=1000))]
        rounds: u32,
    },
    /// Hold the numbers of threads that cpudyno proposes against every number, with a C program by GCC
    Threads {
        /// Rounds; each lets every number take a turn
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(3..=1000))]
        rounds: u32,
    },
    /// One turn of ours in a process of its own
    #[command(hide = true)]
    Worker,
    /// Measure instruction latencies here and compare them with those that others found
    Latency,
    /// Measure what the project claims about its own speed and size
    Speed,
    /// Run `cpudyno turbo` ten times: how long does it take, and how well does it repeat?
    Turbo,
    /// Compare the clock within a stream's loop with the one right after it, by density
    Density,
    /// Compare cycles per op with answers compared on the way and without, in turns
    Answers {
        /// Pairs of pairs of blocks, of each stream
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(8..=10_000))]
        quads: u32,
    },
    /// Compare wake-ups by futex and pipe with a C program and `perf bench sched pipe`, side by side
    Wake {
        /// Rounds; each lets all take turns
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=1000))]
        rounds: u32,
        /// The CPUs to take the first two of, such as 0-1; by default all
        #[arg(long)]
        cpus: Option<String>,
    },
    /// Simulate comparisons of known truth: do intervals and verdicts keep their promises?
    Trials {
        /// Simulated runs for each case
        #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(500..=100_000))]
        trials: u64,
        /// Begins the random numbers
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Compare A with A on this machine: is there no difference, and is a disturber named?
    Equal {
        /// Comparisons, each once alone and once beside a process that spins
        #[arg(long, default_value_t = 20)]
        runs: usize,
        /// Seconds for each of them
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        /// What is compared with itself, in turns: areas as `cpudyno ab --area` names them, or command
        #[arg(long, value_delimiter = ',', default_value = "turbo,pause,wake,command")]
        areas: Vec<String>,
    },
    /// Take the time of putting back the governors of 2,048 CPUs, in files like those of a kernel
    Undo,
    /// What does `cpudyno top` take of a CPU, here and on 512 CPUs in files like those of a kernel?
    Top,
    /// Compare `cpudyno sst` and its face of intel-speed-select with the unmodified tool, on simulated machines
    Conformance {
        /// Only calls in whose name this is, such as `sim:granite` or `turbo-freq enable`
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
    },
    /// Take the time that `ab` needs for itself, with settings of one object and of 2,048
    AbCost,
    /// Compare `cpudyno fleet` at 10,000 records with DuckDB, pandas and jq, taking turns
    Fleet(fleet::FleetTrial),
    /// Days of a fleet in a pack, by a process of its own
    #[command(hide = true)]
    FleetDays(fleet_packs::FleetDays),
}

/// How busy the machine is, for readers of numbers that others may have disturbed.
fn load() -> String {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    // The first of its numbers is the mean of the last minute (proc_loadavg(5)).
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    match text.split(' ').next().and_then(|mean| mean.parse::<f64>().ok()) {
        Some(mean) => format!("load of the last minute: {mean:.2}, with {cpus} CPUs to use"),
        None => "the load is not known: `/proc/loadavg` cannot be read".to_owned(),
    }
}

/// Why something cannot be measured, as an error.
fn because(reason: &Unavailable) -> anyhow::Error {
    anyhow::anyhow!("{}: {}", reason.what, reason.why)
}

fn main() -> ExitCode {
    xtask::ended(match Arguments::parse().task {
        Task::Agree { budget } => agree::run(&budget),
        Task::Plain { cpu } => plain::run(cpu.map(CpuId)),
        Task::Datatypes { cpu } => datatypes::run(cpu.map(CpuId)),
        Task::Bandwidth { rounds, cpus } => bandwidth::run(rounds, cpus.as_deref()),
        Task::Cores { rounds, cpus } => cores::run(rounds, cpus.as_deref()),
        Task::Stores => stores::run(),
        Task::Openmp { rounds } => openmp::run(rounds),
        Task::Threads { rounds } => threads::run(rounds),
        Task::Worker => openmp::worker(),
        Task::Latency => latency::run(),
        Task::Speed => speed::run(),
        Task::Turbo => turbo::run(),
        Task::Density => density::run(),
        Task::Answers { quads } => answers::run(quads),
        Task::Wake { rounds, cpus } => wake::run(rounds, cpus.as_deref()),
        Task::Trials { trials, seed } => trials::run(trials, seed),
        Task::Equal { runs, seconds, areas } => equal::run(runs, model::Seconds(seconds), &areas),
        Task::Undo => undo::run(),
        Task::Top => top::run(),
        Task::Conformance { only } => conformance::run(only.as_deref()),
        Task::AbCost => ab_cost::run(),
        Task::Fleet(trial) => fleet::run(&trial),
        Task::FleetDays(wanted) => fleet_packs::worker(&wanted),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }
}
