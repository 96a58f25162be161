//! `cpudyno gate --for CALLER`: what is agreed with it, whatever happens.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fleet::gate::callers::{self, Answer, Caller};
use machine::Machine;
use model::Seconds;

use super::super::measuring::refused;
use super::super::start::{Start, Turn};
use super::deadline::Deadline;
use super::slurm::SlurmNode;
use super::{asked, busy, is_wrong_answer};
use crate::args::{Format, GateArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

/// What a run takes beside its budget: looking at the machine, judging, files. Of the time that there is, and at least.
const BESIDE_SHARE: f64 = 0.15;
const BESIDE_MIN: f64 = 1.2;

/// Slurm ends a health check after 60 s, which begin before it waits.
const HEALTH_ENDS: Duration = Duration::from_mins(1);

pub(super) fn run(
    machine: &Machine,
    caller: &'static Caller,
    mut args: GateArgs,
) -> Result<ExitCode, Failure> {
    let has = args.budget.unwrap_or(caller.ends);
    are_for(caller, &args, has)?;
    let begun = Instant::now();
    let signals = Signals::listen()?;
    let waits = args.start.waits();
    let (drain, undrain) = (args.drain, args.undrain);
    let start = Start::new(std::mem::take(&mut args.start), &args.output.files);
    let turn = start.turn(machine, &signals);
    // Who waits for a turn has chosen to.
    let begun = if waits { Instant::now() } else { begun };
    let late = callers::unmeasured(caller, callers::NONE, &format!("not done within {} s", has.0));
    let ends = begun + Duration::from_secs_f64(has.0);
    let deadline = Deadline::at(ends, signals.stop().clone(), late);
    let called = Called { machine, caller, signals: &signals, deadline: &deadline, has };
    let answer = turn.and_then(|turn| called.answer(&turn, args)).unwrap_or_else(|failure| {
        output::failure(&failure);
        // Another cpudyno measures here.
        let is_noise = failure.code == code::REFUSED;
        let word = if is_noise { callers::NOISE } else { callers::NONE };
        callers::unmeasured(caller, word, &failure.message)
    });
    deadline.knows(answer.clone());
    if drain || undrain {
        SlurmNode::of_this_host().act(&answer, drain, undrain);
    }
    let answer = deadline.met();
    output::data(&(answer.text + "\n"))?;
    Ok(ExitCode::from(answer.code))
}

/// What does not fit together is told before anything else.
fn are_for(caller: &Caller, args: &GateArgs, has: Seconds) -> Result<(), Failure> {
    let is_health = caller.word == "slurm-health";
    if (args.drain || args.undrain) && !is_health {
        let text = format!("--drain and --undrain are for slurm-health, not for {}", caller.word);
        return Err(
            Failure::usage(text).hint("Slurm drains a node itself whose prolog or epilog fails")
        );
    }
    let waits = args.start.stagger.unwrap_or_default() + args.start.wait_lock.unwrap_or_default();
    if is_health && waits + Duration::from_secs_f64(has.0) > HEALTH_ENDS {
        let text = format!(
            "Slurm ends a health check after {} s: {} s of waiting and {} s of measuring do not fit",
            HEALTH_ENDS.as_secs(),
            waits.as_secs(),
            has.0
        );
        return Err(Failure::usage(text).hint("give it less: --stagger 10s, --budget 20s"));
    }
    let look = &args.output.look;
    if look.verbose || look.format != Format::Text {
        return Err(Failure::usage(format!("--for {} has a form of its own", caller.word))
            .hint("the whole page: `cpudyno gate -v`; the record beside it: --json FILE"));
    }
    Ok(())
}

/// A call, in its time.
struct Called<'a> {
    machine: &'a Machine,
    caller: &'static Caller,
    signals: &'a Signals,
    deadline: &'a Deadline,
    has: Seconds,
}

impl Called<'_> {
    /// Measures, if nobody else uses the machine.
    fn answer(&self, turn: &Turn, args: GateArgs) -> Result<Answer, Failure> {
        let Called { machine, caller, signals, deadline, has } = *self;
        // A file of bounds that is not there says nothing of the machine.
        let (asked, outputs) = asked(args)?;
        if let Some(whom) = busy::by_whom(machine) {
            return Ok(callers::unmeasured(caller, callers::NOISE, &whom));
        }
        let budget = Seconds((has.0 - (has.0 * BESIDE_SHARE).max(BESIDE_MIN)).max(1.0));
        match asked.judged(machine, budget, &outputs.look, signals, turn) {
            Ok((record, signal)) => {
                let answer = callers::answer(caller, &record);
                deadline.knows(answer.clone());
                // The verdict stands, whatever becomes of a file.
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
}

/// What a caller hears of words that are wrong: they say nothing of the machine, and one of them on all nodes must not
/// take all of them out of use.
///
/// # Errors
/// The failure itself, where nobody called, or where it is of something else.
pub(crate) fn misused(arguments: &[OsString], failure: Failure) -> Result<ExitCode, Failure> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let is_gate = words.contains(&"gate") && failure.code == code::USAGE;
    let behind = words.iter().position(|word| *word == "--for").and_then(|at| words.get(at + 1));
    let joined = || words.iter().find_map(|word| word.strip_prefix("--for="));
    let named = behind.copied().or_else(joined).filter(|_| is_gate);
    let Some(caller) = named.and_then(callers::find) else { return Err(failure) };
    output::failure(&failure);
    let answer = callers::unmeasured(caller, callers::NONE, &failure.message);
    output::data(&(answer.text + "\n"))?;
    Ok(ExitCode::from(answer.code))
}
