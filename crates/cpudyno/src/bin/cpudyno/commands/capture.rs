//! `cpudyno capture`.

use std::path::Path;
use std::process::ExitCode;

use machine::Machine;

use crate::args::CaptureArgs;
use crate::failure::Failure;
use crate::output::{self, Sink};

pub(super) fn run(machine: &Machine, args: &CaptureArgs) -> Result<ExitCode, Failure> {
    let to_stdout = args.file == Path::new("-");
    let sink = if to_stdout { None } else { Some(Sink::open(&args.file)?) };
    let text = recorded::capture(machine);
    let place = if let Some(sink) = sink {
        sink.write(&text)?;
        format!("`{}`", args.file.display())
    } else {
        output::data(&text)?;
        "the capture".to_owned()
    };
    let (bytes, lines) = (text.len(), text.lines().count());
    let simulated = if machine.simulated.is_some() { " of a SIMULATED machine" } else { "" };
    output::remark(&format!("{place}{simulated}: {lines} lines, {bytes} bytes"));
    output::remark(
        "host and user names, serial numbers and addresses are left out; look at it before you \
         pass it on",
    );
    Ok(ExitCode::SUCCESS)
}
