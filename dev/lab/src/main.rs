//! The product on real kernels, in machines that QEMU emulates: `cargo xtask lab --help`.
//!
//! A machine is a row of `machines.toml`, a task a row of `answers::TASKS`, a fault of the product that is not
//! mended yet a row of `open.toml`.

#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    reason = "a developer's tool that talks to its terminal; invariant I1 is about the product"
)]

mod answers;
mod boot;
mod cpus;
mod initramfs;
mod machine;
mod open;
mod replies;
mod setup;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Parser;
use xtask::EXIT_NO;

use crate::answers::Answer;
use crate::machine::{Arch, Machine, Release};
use crate::open::{Judged, Open};
use crate::replies::Replies;
use crate::setup::System;

#[derive(Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(
    name = "lab",
    bin_name = "cargo xtask lab",
    about = "Boot emulated machines and hold what the product says of them against what they are",
    arg_required_else_help = true
)]
struct Arguments {
    /// The machines to boot, such as a-n1
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Boot all machines
    #[arg(long)]
    all: bool,
    /// Boot the selection that belongs to the full check
    #[arg(long)]
    short: bool,
    /// Name the machines and what each is for
    #[arg(long)]
    list: bool,
    /// Run these tasks only, instead of the machine's own
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    tasks: Vec<String>,
    /// Use KVM for machines of this host's architecture that do not forbid it
    #[arg(long)]
    kvm: bool,
    /// Boot what was built before, without building it anew
    #[arg(long)]
    built: bool,
    /// Judge what the machines said the last time, without booting them
    #[arg(long)]
    again: bool,
    /// Also print the answers that are right
    #[arg(short, long)]
    verbose: bool,
    /// How often each command is asked for by machines that ask again and again
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    rounds: u32,
    /// Switch a machine off after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    limit: u64,
}

fn main() -> ExitCode {
    xtask::ended(run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let machines = machine::all()?;
    if arguments.list {
        for Machine { name, purpose, short, .. } in &machines {
            println!("{name:12} {}{purpose}", if *short { "(short) " } else { "" });
        }
        return Ok(ExitCode::SUCCESS);
    }
    let open = open::all(&machines)?;
    let mut systems = BTreeMap::new();
    let mut right = true;
    for mut machine in chosen(arguments, machines)? {
        if arguments.kvm {
            machine.lend_cpu();
        }
        let whole = arguments.tasks.is_empty();
        if !whole {
            machine.tasks.clone_from(&arguments.tasks);
        }
        machine.rounds = arguments.rounds;
        machine.check()?;
        right &= one(&machine, whole, arguments, &open, &mut systems)?;
    }
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

/// The machines that were asked for.
fn chosen(arguments: &Arguments, machines: Vec<Machine>) -> anyhow::Result<Vec<Machine>> {
    for name in &arguments.names {
        if machines.iter().all(|machine| machine.name != *name) {
            bail!("there is no machine `{name}`\nhint: `cargo xtask lab --list` names them");
        }
    }
    let asked = |machine: &Machine| {
        arguments.all || arguments.short && machine.short || arguments.names.contains(&machine.name)
    };
    Ok(machines.into_iter().filter(asked).collect())
}

/// Boots one machine and judges what it says; whether all is right, but what is known to be open.
fn one(
    machine: &Machine,
    whole: bool,
    arguments: &Arguments,
    open: &[Open],
    systems: &mut BTreeMap<(Arch, Release), System>,
) -> anyhow::Result<bool> {
    let run = if arguments.again {
        boot::last(machine)
    } else {
        let system = match systems.entry((machine.arch, machine.release)) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let (arch, release) = *entry.key();
                entry.insert(setup::system(arch, release, !arguments.built)?)
            }
        };
        boot::run(machine, system, Duration::from_secs(arguments.limit))?
    };
    let replies = Replies::read(&run.folder)?;
    let answers = answers::of(machine, &run, &replies);
    let judged = open::judge(&machine.name, &answers, open, whole);
    let path = run.folder.join("answers.txt");
    fs::write(&path, answers.iter().map(told).collect::<String>())
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    for answer in answers.iter().filter(|answer| arguments.verbose || judged.wrong(answer)) {
        print!("{}", told(answer));
    }
    for stale in &judged.stale {
        println!("STALE {stale}\nhint: is it mended? Take it out of `dev/lab/open.toml`");
    }
    println!("{}", summary(machine, &answers, &judged, run.seconds));
    Ok(judged.unexpected.is_empty() && judged.stale.is_empty())
}

/// An answer, with what was expected and what was said.
fn told(answer: &Answer) -> String {
    let Answer { expected, said, right, .. } = answer;
    let word = if *right { "right" } else { "WRONG" };
    let mut text = format!("{word} {}\n", answer.id());
    for (who, what) in [("expected", expected), ("said", said)] {
        let _ = writeln!(text, "  {who:9} {}", what.replace('\n', "\n            "));
    }
    text
}

fn summary(machine: &Machine, answers: &[Answer], judged: &Judged, seconds: f64) -> String {
    let right = answers.iter().filter(|answer| answer.right).count();
    let by = if machine.kvm { "KVM" } else { "TCG" };
    let mut text = format!("{:12} {right} of {} answers right", machine.name, answers.len());
    for (number, what) in [(judged.unexpected.len(), "WRONG"), (judged.known, "known to be open")] {
        if number > 0 {
            let _ = write!(text, ", {number} {what}");
        }
    }
    text + &format!(", {seconds:.0} s ({by})")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Arguments::command().debug_assert();
    }

    #[test]
    fn machines_and_open_faults_are_well_formed() {
        let machines = super::machine::all().unwrap();
        super::open::all(&machines).unwrap();
        assert_eq!(machines.iter().filter(|machine| machine.short).count(), 3);
    }
}
