//! Encodings beside those of others: lists of Intel, AMD and Arm as they publish them, and what
//! libpfm4 computed.
//!
//! The lists are other people's: they are read where they lie, beside the project, and are no part of
//! it. Without them, and without libpfm4, the cases that need them are shown as ignored, with the reason.

#![expect(clippy::unnecessary_wraps, reason = "a case is a function that may fail")]

mod hostile;
mod hybrids;
mod lists;
mod lookup;
mod others;
mod own;
mod twins;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use sys::pfm::Pfm;

/// A case: its name, what it needs, what it does.
type Case = (&'static str, Need, fn() -> Result<(), Failed>);

/// What a case needs.
#[derive(Clone, Copy)]
enum Need {
    Nothing,
    Lists,
    Libpfm,
    Both,
}

const CASES: &[&[Case]] = &[
    own::CASES,
    lists::CASES,
    others::CASES,
    lookup::CASES,
    hostile::CASES,
    hybrids::CASES,
    twins::CASES,
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // While there is one thread, so that it may be told to encode for other CPUs.
    let libpfm = Pfm::load().map_or_else(
        |error| Some(format!("libpfm4 is not installed ({error:?})")),
        |library| (!library.encodes_inactive()).then(|| "libpfm4 encodes for this CPU only".into()),
    );
    let lists =
        lists::folder("").is_none().then(|| "no lists in ../shared/fixtures/pmu".to_owned());
    let missing = |need: Need| match need {
        Need::Nothing => None,
        Need::Lists => lists.clone(),
        Need::Libpfm => libpfm.clone(),
        Need::Both => lists.clone().or(libpfm.clone()),
    };
    let trial = |(name, need, run): &Case| {
        let (run, missing) = (*run, missing(*need));
        let name = match &missing {
            Some(why) => format!("{name}: {why}"),
            None => (*name).to_owned(),
        };
        Trial::test(name, run).with_ignored_flag(missing.is_some())
    };
    let trials = CASES.iter().copied().flatten().map(trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A case has failed.
fn wrong(text: String) -> Result<(), Failed> {
    Err(text.into())
}

/// Fails with all that is in the list.
fn none(wrong: &[String]) -> Result<(), Failed> {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
