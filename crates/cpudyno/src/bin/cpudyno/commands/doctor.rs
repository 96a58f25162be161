//! `cpudyno doctor`.

use std::process::ExitCode;

use machine::Machine;
use model::Unavailable;
use model::record::{PageKind, Record};

use super::{Delivery, command, presentation};
use crate::args::{DoctorArgs, Format};
use crate::failure::{Failure, code};
use crate::output;

pub(super) fn run(machine: &Machine, args: &DoctorArgs) -> Result<ExitCode, Failure> {
    if args.look.format == Format::Csv {
        return Err(Failure::usage("csv has a line per sample, and doctor measures nothing")
            .hint("print it as text, markdown, html or json: --format json"));
    }
    let presentation = presentation(&args.look, PageKind::Doctor);
    let record = machine::describe(machine, command(), presentation);
    output::data(&Delivery::of(&record).told(args.look.format)?)?;
    let mut answer = ExitCode::SUCCESS;
    for (id, reason) in missing(&record, &args.require) {
        let failure =
            Failure::new(code::NO, format!("`{id}` is not available here: {}", reason.why));
        output::failure(&match &reason.remedy {
            Some(remedy) => failure.hint(remedy),
            None => failure,
        });
        answer = ExitCode::from(code::NO);
    }
    Ok(answer)
}

/// What was required and is not there, in the order of the page.
fn missing<'a>(
    record: &'a Record,
    required: &[&str],
) -> impl Iterator<Item = (&'a str, &'a Unavailable)> {
    record.machine.capabilities.iter().filter_map(|fact| match &fact.value {
        model::Known::No { unavailable } if required.contains(&fact.id.as_str()) => {
            Some((fact.id.as_str(), unavailable))
        }
        _ => None,
    })
}
