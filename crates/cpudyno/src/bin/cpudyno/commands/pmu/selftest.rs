//! `cpudyno pmu selftest`.

use std::process::ExitCode;

use machine::Machine;
use model::record::{CountsRun, KnownAnswer};
use pmu::counting::{refused, selftest, with_unknown};
use pmu::events::{Encoded, Events, Target};

use super::super::sinks;
use super::counting::{described, not_csv, print, session};
use crate::args::PmuSelftestArgs;
use crate::failure::{Failure, code};
use crate::output;

pub(super) fn run(machine: &Machine, args: &PmuSelftestArgs) -> Result<ExitCode, Failure> {
    let (sinks, look) = sinks(args.output.clone())?;
    not_csv(look.format)?;
    let folder = super::lists(args.event_dir.as_deref());
    let events = Events::of(Target::of(machine).with_folder(folder.as_deref()));
    let only: Option<Vec<Encoded>> = match args.events.as_slice() {
        [] => None,
        names => {
            let names = names.iter().map(String::as_str);
            Some(events.resolve_all(names).map_err(super::refused)?)
        }
    };
    let session = session(machine, args.pin)?.without_canary().without_metrics();
    let answers = selftest(&session, &events, only.as_deref());
    if answers.is_empty() {
        return Err(Failure::new(code::NOT_HERE, "cannot test these events: no answer is known")
            .hint("`cpudyno pmu selftest` lists those with a known answer"));
    }
    let answers = match &only {
        Some(only) => with_unknown(&session, answers, only),
        None => answers,
    };
    let outline = session.outline("work whose counts are known", &session.plan(&[]));
    drop(session);
    let wrong = refused(&answers);
    let is_decided = |answer: &KnownAnswer| answer.is_right().is_some();
    // Who asks for some wants to know of each; who asks for none, of what there is.
    let counted = match only {
        Some(_) => answers.iter().all(is_decided),
        None => answers.iter().any(is_decided),
    };
    let run = CountsRun { passes: Vec::new(), answers, ..outline };
    print(described(machine, &look), run, sinks, look.format)?;
    for (event, reason) in &wrong {
        output::failure(&Failure::new(code::NO, format!("`{event}` is refused: {}", reason.why)));
    }
    Ok(match (wrong.is_empty(), counted) {
        (false, _) => ExitCode::from(code::NO),
        (true, true) => ExitCode::SUCCESS,
        (true, false) => ExitCode::from(code::NOT_HERE),
    })
}
