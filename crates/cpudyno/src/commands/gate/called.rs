//! `cpudyno gate --for CALLER`: what is agreed with it, whatever happens.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use fleet::gate::callers::{self, Answer, Caller};
use machine::Machine;
use model::Seconds;

use super::super::measuring::refused;
use super::super::start::Start;
use super::deadline::Deadline;
use super::slurm::Node;
use super::{Asked, Outputs, asked, busy, is_wrong_answer};
use crate::args::{Format, GateArgs};
use crate::failure::Failure;
use crate::output;
use crate::signals::Signals;

/// What a run takes beside its budget: looking at the machine, judging, files. Of the time that there is, and at least.
const BESIDE_SHARE: f64 = 0.15;
const BESIDE_MIN: f64 = 1.2;

/// Which states of a node are changed.
#[derive(Clone, Copy)]
struct Acts {
    drain: bool,
    undrain: bool,
}

pub(super) fn run(
    machine: &Machine,
    caller: &'static Caller,
    mut args: GateArgs,
) -> Result<ExitCode, Failure> {
    let acts = Acts { drain: args.drain, undrain: args.undrain };
    are_for(caller, acts, &args)?;
    let start = Start::new(std::mem::take(&mut args.start), &args.output.files);
    let answer = match asked(args) {
        Ok((asked, outputs)) => answered(machine, caller, &start, asked, outputs),
        // A file of bounds that is not there says nothing of the machine.
        Err(failure) => Err(failure),
    };
    let answer = answer.unwrap_or_else(|failure| {
        let answer = callers::unmeasured(caller, callers::NONE, &failure.message);
        output::failure(&failure);
        answer
    });
    if let Some(node) = (acts.drain || acts.undrain).then(Node::of_this_host) {
        node.act(&answer, acts.drain, acts.undrain);
    }
    output::data(&(answer.text + "\n"))?;
    Ok(ExitCode::from(answer.code))
}

/// What does not fit together is told before anything else.
fn are_for(caller: &Caller, acts: Acts, args: &GateArgs) -> Result<(), Failure> {
    if (acts.drain || acts.undrain) && caller.word != "slurm-health" {
        let text = format!("--drain and --undrain are for slurm-health, not for {}", caller.word);
        return Err(
            Failure::usage(text).hint("Slurm drains a node itself whose prolog or epilog fails")
        );
    }
    let look = &args.output.look;
    if look.verbose || look.format != Format::Text {
        return Err(Failure::usage(format!("--for {} has a form of its own", caller.word))
            .hint("the whole page: `cpudyno gate -v`; the record beside it: --json FILE"));
    }
    Ok(())
}

/// Measures within the caller's time, if nobody else uses the machine.
fn answered(
    machine: &Machine,
    caller: &'static Caller,
    start: &Start,
    asked: Asked,
    outputs: Outputs,
) -> Result<Answer, Failure> {
    let signals = Signals::listen()?;
    // Who waits for a turn has chosen to.
    let turn = match start.turn(machine, &signals) {
        Ok(turn) => turn,
        Err(failure) if failure.code == crate::failure::code::REFUSED => {
            return Ok(callers::unmeasured(caller, callers::NOISE, &failure.message));
        }
        Err(failure) => return Err(failure),
    };
    let has = asked.budget.unwrap_or(caller.ends);
    let ends = Instant::now() + Duration::from_secs_f64(has.0);
    let late = callers::unmeasured(caller, callers::NONE, &format!("not done within {} s", has.0));
    let deadline = Deadline::at(ends, signals.stop().clone(), late);
    if let Some(whom) = busy::by_whom(machine) {
        deadline.met();
        return Ok(callers::unmeasured(caller, callers::NOISE, &whom));
    }
    let budget = Seconds((has.0 - (has.0 * BESIDE_SHARE).max(BESIDE_MIN)).max(1.0));
    let judged = asked.judged(machine, budget, &outputs.look, &signals, &turn);
    deadline.met();
    match judged {
        Ok((record, signal)) => {
            let answer = callers::answer(caller, &record);
            // The verdict stands, whatever became of a file.
            if let Err(failure) = outputs.write(&record, signal) {
                output::failure(&failure);
            }
            Ok(answer)
        }
        Err(error) if is_wrong_answer(&error) => {
            Ok(callers::wrong_answer(caller, &error.to_string()))
        }
        Err(error) => Err(signals.of(refused(machine, error))),
    }
}
