//! Do parallel regions take as long as in programs that a compiler made?
//!
//! The programs are C, compiled by GCC for libgomp and by Clang for libomp. The body of their loop is
//! the machine code of ours, byte by byte. Both sides get the same variables, run once a turn in a
//! process of their own, and take turns; what counts is the pair within one round.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, bail};
use machine::{Machine, facts};
use model::{CpuId, Seconds, stats};
use rig::child::{self, ChildAnswer, ChildWork, ask};
use rig::executor::Stop;
use rig::placement;
use rig::regions::{Effort, Looped, RawRegions, Stretch, Team, Waiting, environment};
use serde_json::Value;

use crate::{EXIT_NO, companion, table};

/// The C program, from the repository's root.
const SOURCE: &str = "benchmarks/openmp/regions.c";
/// Numbers of the loop: as in OpenMPTest.
const ELEMENTS: u64 = 9_999;
/// Of the loop, and of regions with a delay alone.
const TURN: Seconds = Seconds(0.1);
/// A region of the loop may take so much more than in a compiled program, as a share.
const TOLERANCE: f64 = 0.03;

/// Who is compared: the compiler, the library, and ways of waiting.
const ROWS: &[(&str, &str, &[Waiting])] = &[
    ("gcc", "libgomp.so.1", &[Waiting::Default, Waiting::Passive, Waiting::Active]),
    (
        "clang",
        "libomp.so.5",
        &[Waiting::Default, Waiting::BlockTime(Some(0)), Waiting::BlockTime(Some(1))],
    ),
];

/// Compares the loop and regions with nothing but a delay in them.
pub(crate) fn run(rounds: u32) -> anyhow::Result<ExitCode> {
    let machine = Machine::real();
    let topology = facts::machine(&machine).topology;
    let cpus = placement::Choice::usual(None).place(&topology)?.cpus;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let body = folder.path().join("body.s");
    fs::write(&body, assembly()).context("cannot write the body of the loop")?;
    println!("{}; {} threads, {rounds} rounds", crate::load(), cpus.len());
    let (mut rows, mut all_as_fast) = (Vec::new(), true);
    for (compiler, library, settings) in ROWS {
        let Some(compiler) = find(compiler) else {
            println!("{library}: there is no {compiler}: apt-get install -y {compiler} libomp-dev");
            continue;
        };
        let program = folder.path().join(library);
        compile(&compiler, &body, &program)?;
        for &waiting in *settings {
            let sides = Sides { program: &program, library, cpus: &cpus, waiting };
            let (row, good) = sides.compare(rounds)?;
            rows.push(row);
            all_as_fast &= good;
        }
    }
    let header = ["runtime", "setting", "us ours", "us C", "ratio", "delay us", "C", "ratio"];
    println!("{}", table::plain(header, &header[2..], rows));
    println!(
        "ratio: ours by that of the compiled program, the median over rounds, each by its least stretch; of the loop it may be \
         {:.0} % off, of regions with 50 ns of delay it is printed",
        TOLERANCE * 100.0
    );
    Ok(if all_as_fast { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// One turn of ours, as the order on standard input says.
pub(crate) fn worker() -> anyhow::Result<ExitCode> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read an order")?;
    print!("{}", child::answer(&line));
    Ok(ExitCode::SUCCESS)
}

/// The body of the loop for any assembler.
fn assembly() -> String {
    let mut text = String::from(
        ".text\n.p2align 6\n.globl cpudyno_relax\n.type cpudyno_relax, %function\ncpudyno_relax:\n",
    );
    for byte in kernels::region_body::machine_code() {
        // A string takes every byte.
        writeln!(text, ".byte {byte}").expect("BUG: a string takes every text");
    }
    text + ".size cpudyno_relax, . - cpudyno_relax\n.section .note.GNU-stack,\"\",%progbits\n"
}

/// A compiler by its name, or by that with a version behind it.
fn find(name: &str) -> Option<String> {
    let versions = (11..=25).rev().map(|version| format!("{name}-{version}"));
    let mut names = std::iter::once(name.to_owned()).chain(versions);
    names.find(|name| Command::new(name).arg("--version").output().is_ok())
}

fn compile(compiler: &str, body: &Path, program: &Path) -> anyhow::Result<()> {
    let options = format!("-O2 -fopenmp {}", body.display());
    companion::compile_by(compiler, &options, &xtask::cargo::root().join(SOURCE), program)
}

/// What takes turns.
struct Sides<'a> {
    program: &'a Path,
    library: &'a str,
    cpus: &'a [CpuId],
    waiting: Waiting,
}

/// Nanoseconds of a region: of the loop, and of one with a delay.
#[derive(Clone, Copy)]
struct Pair {
    looped: f64,
    delay: f64,
}

impl Sides<'_> {
    fn compare(&self, rounds: u32) -> anyhow::Result<([String; 8], bool)> {
        let mut seen = Vec::new();
        for round in 0..rounds {
            // Who begins changes with each round.
            let (ours, theirs) = if round % 2 == 0 {
                let ours = self.ours()?;
                (ours, self.theirs()?)
            } else {
                let theirs = self.theirs()?;
                (self.ours()?, theirs)
            };
            seen.push((ours, theirs));
        }
        let median = |of: &dyn Fn(&(Pair, Pair)) -> f64| {
            stats::median(&seen.iter().map(of).collect::<Vec<_>>()).context("no round was run")
        };
        let ratio = median(&|(ours, theirs)| ours.looped / theirs.looped)?;
        let microseconds = |ns: f64| format!("{:.2}", ns / 1000.0);
        let row = [
            self.library.to_owned(),
            self.waiting.words(),
            microseconds(median(&|(ours, _)| ours.looped)?),
            microseconds(median(&|(_, theirs)| theirs.looped)?),
            format!("{ratio:.3}"),
            microseconds(median(&|(ours, _)| ours.delay)?),
            microseconds(median(&|(_, theirs)| theirs.delay)?),
            format!("{:.3}", median(&|(ours, theirs)| ours.delay / theirs.delay)?),
        ];
        Ok((row, ratio <= 1.0 + TOLERANCE))
    }

    fn ours(&self) -> anyhow::Result<Pair> {
        let looped = Looped { elements: ELEMENTS, regions_max: u64::MAX, time: TURN };
        let effort = Effort {
            warm_up: Seconds(0.1),
            looped: Some(looped),
            construct: Some(TURN),
            rest: None,
            small: None,
        };
        let team = Team::Library(self.library.to_owned());
        let work = ChildWork::Regions { team, cpus: self.cpus.to_vec(), effort };
        let us: PathBuf = std::env::current_exe().context("cannot find this program")?;
        let variables = environment(self.cpus, self.waiting);
        let answered = ask(&us, work, &variables, Duration::from_mins(1), &Stop::default())?;
        match answered.answer {
            ChildAnswer::Regions(RawRegions { looped, region, .. }) => {
                Ok(Pair { looped: of_stretches(&looped)?, delay: of_stretches(&region)? })
            }
            ChildAnswer::Cannot(why) | ChildAnswer::NotFound(why) => {
                bail!("{}: {why}", self.library)
            }
            ChildAnswer::Library(_) => bail!("BUG: another answer"),
        }
    }

    fn theirs(&self) -> anyhow::Result<Pair> {
        let milliseconds = format!("{}", TURN.0 * 1e3);
        let output = Command::new(self.program)
            .args([ELEMENTS.to_string(), milliseconds])
            .envs(environment(self.cpus, self.waiting))
            .output()
            .context("cannot run the C program")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("the C program failed ({}): {}", output.status, said.trim());
        }
        let answer: Value =
            serde_json::from_slice(&output.stdout).context("the C program answered no JSON")?;
        let of = |name: &str| {
            let all = answer[name].as_array().context("the C program answered no list")?;
            least(all.iter().filter_map(Value::as_f64))
        };
        Ok(Pair { looped: of("loop")?, delay: of("delay")? })
    }
}

/// The least of a turn: in other stretches somebody else may have had the CPUs.
fn least(each: impl Iterator<Item = f64>) -> anyhow::Result<f64> {
    each.reduce(f64::min).context("nothing was timed")
}

fn of_stretches(stretches: &[Stretch]) -> anyhow::Result<f64> {
    least(stretches.iter().map(|stretch| stretch.nanoseconds as f64 / stretch.count as f64))
}
