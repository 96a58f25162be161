//! The face of the reference tool of Speed Select. Everything that it says is made in `sst::compat`.

use std::process::ExitCode;

use crate::args::CompatArgs;
use crate::failure::Failure;
use crate::output::{self, Sink};

/// Answers as the reference tool does.
pub(crate) fn compat(args: &CompatArgs) -> Result<ExitCode, Failure> {
    let machine = super::machine(args.machine.as_deref(), args.root.as_deref())?;
    let answer = ::sst::compat::answer(&machine, args.tool, &args.words);
    output::data(&answer.stdout)?;
    output::beside(&answer.stderr);
    if let Some((path, results)) = &answer.file {
        Sink::open(path)?.write(results)?;
    }
    Ok(ExitCode::from(answer.code))
}
