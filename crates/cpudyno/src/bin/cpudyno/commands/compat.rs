//! The face of the reference tool of Speed Select. Everything that it says is made in `sst::compat`.

use std::process::ExitCode;

use ::sst::change::{NotChanged, Refused, What, Wish};
use ::sst::compat::args::{self, CompatCommand};

use crate::args::CompatArgs;
use crate::failure::{Failure, code};
use crate::output::{self, Sink};
use crate::signals::Signals;

/// How the reference tool ends where it cannot write to its file.
const NO_FILE: u8 = 1;

/// Answers as the reference tool does.
pub(crate) fn compat(args: &CompatArgs) -> Result<ExitCode, Failure> {
    let machine = super::machine(args.machine.as_deref(), args.root.as_deref())?;
    // What cannot be told afterwards is not done.
    let asked = args::parse(args.tool, &args.words).ok();
    let sink = asked.as_ref().and_then(CompatCommand::file).map(Sink::open).transpose();
    let sink = sink.map_err(|failure| Failure { code: NO_FILE, ..failure })?;
    let mut changer = |wish: &Wish| {
        let nowhere = |Failure { code, message: why, hint }: Failure| {
            let (what, hint) = (wish.words(), hint.unwrap_or_default());
            NotChanged::Refused(match code {
                code::NOT_HERE => Refused::NotHere { what, why, hint },
                _ => Refused::Order { what, why, hint },
            })
        };
        let levers = super::settings::writer(&machine).map_err(nowhere)?;
        let shelf = super::settings::shelf(&machine).map_err(nowhere)?;
        let who = format!("cpudyno sst --compat, process {}", std::process::id());
        if matches!(wish.what, What::Level { with_cpus: true, .. }) {
            let plan = ::sst::change::planned(&machine, &*levers, wish, false)?;
            let remarks = plan.remarks.iter().map(|remark| format!("note: {remark}"));
            remarks.for_each(|remark| output::remark(&remark));
        }
        let signals = Signals::listen().map_err(nowhere)?;
        let _deaf = signals.ignore();
        match ::sst::change::make(&machine, levers, &shelf, &who, wish) {
            Err(error @ NotChanged::Unplanned(_)) => Err(nowhere(super::sst::not_changed(error))),
            made => made,
        }
    };
    let answer = ::sst::compat::answer(&machine, args.tool, &args.words, &mut changer);
    output::data(&answer.stdout)?;
    output::beside(&answer.stderr);
    if let Some(((_, results), sink)) = answer.file.as_ref().zip(sink) {
        sink.write(results).map_err(|failure| match asked {
            Some(CompatCommand::Change { .. }) => {
                failure.hint("it was done; `cpudyno undo` puts it back")
            }
            _ => failure,
        })?;
    }
    Ok(ExitCode::from(answer.code))
}
