//! `cpudyno wake`.

use std::process::ExitCode;

use machine::Machine;
use measure::areas::wake::{Question, WakeOptions};
use model::record::PageKind;

use super::measuring::{Prepared, measure, outline, prepared};
use super::{command, lists, presentation};
use crate::args::{WakeArgs, WakeMethod, WakeQuestion};
use crate::failure::Failure;

pub(super) fn run(machine: &Machine, args: WakeArgs) -> Result<ExitCode, Failure> {
    if args.list {
        return lists::methods(machine, &args.measuring.output.look);
    }
    let Prepared { dry_run, start, sinks, look } = prepared(args.measuring.clone())?;
    let presentation = presentation(&look, PageKind::Wake);
    let request = options(args)?.request(command(), presentation);
    if dry_run {
        return outline(machine, &request, (look.format, sinks));
    }
    measure(machine, &request, (look.format, sinks), &start)
}

fn options(args: WakeArgs) -> Result<WakeOptions, Failure> {
    let (question, limit) = match args.question {
        None => (Question::Signals, None),
        Some(WakeQuestion::Idle { limit_latency }) => (Question::Idle, limit_latency),
        Some(WakeQuestion::Timer) => (Question::Timer, None),
    };
    let ignored = match question {
        Question::Signals => None,
        Question::Idle => args.signals.map(|_| "--signals"),
        Question::Timer if args.methods.is_some() => Some("--methods"),
        Question::Timer if args.pairs.is_some() => Some("--pairs"),
        Question::Timer => args.signals.map(|_| "--signals"),
    };
    if let Some(option) = ignored {
        return Err(Failure::usage(format!("{option} does not go with this question")).hint(
            match question {
                Question::Timer => {
                    "leave it out: alarms need no other CPU; `cpudyno wake timer --help` \
                                    lists what goes with them"
                }
                _ => "leave it out: `cpudyno wake idle --help` lists what goes with it",
            },
        ));
    }
    let methods = args.methods.map(|asked| {
        let mut once = Vec::new();
        for WakeMethod(method) in asked {
            if !once.iter().any(|known: &&rig::signals::Method| known.id == method.id) {
                once.push(method);
            }
        }
        once
    });
    let pairs = args.pairs.map(|asked| {
        let mut once = Vec::new();
        for pair in asked {
            if !once.contains(&pair) {
                once.push(pair);
            }
        }
        once
    });
    Ok(WakeOptions {
        question,
        methods,
        pairs,
        signals: args.signals,
        limit,
        budget: args.budget,
        cpus: args.cpus,
    })
}
