//! The benchmark as a child: pinned by its OpenMP runtime, and asked what it really did.

use std::path::Path;

use super::StreamRequest;
use super::child::Children;
use super::error::{Error, Quote};
use super::report::{Report, Validation};

/// What the variables of OpenMP runtimes begin with. Those of the user would contradict ours.
const RUNTIMES: &[&str] = &["OMP_", "GOMP_", "KMP_", "LIBOMP_"];

/// Executes the program and reads its report; and what it wrote to standard error.
pub(super) fn execute(
    program: &Path,
    request: &StreamRequest,
    children: &Children<'_>,
) -> Result<(Report, Quote), Error> {
    let mut command = children.command(program);
    for (name, _) in std::env::vars_os() {
        if RUNTIMES.iter().any(|runtime| name.to_string_lossy().starts_with(runtime)) {
            command.env_remove(name);
        }
    }
    let places: Vec<String> = request.cpus.iter().map(|cpu| format!("{{{cpu}}}")).collect();
    command
        .env("OMP_NUM_THREADS", request.cpus.len().to_string())
        .env("OMP_DYNAMIC", "false")
        .env("OMP_PROC_BIND", "close")
        .env("OMP_PLACES", places.join(","));
    let finished = children.finish(command, "STREAM", request.time_limit)?;
    let printed = String::from_utf8_lossy(&finished.stdout);
    if !finished.status.success() {
        let said = if finished.stderr.trim().is_empty() { &printed } else { &*finished.stderr };
        let status = finished.status.to_string();
        return Err(Error::Failed { status, printed: Quote::of(said) });
    }
    let report = Report::parse(&printed)
        .map_err(|why| Error::NotAReport { why, printed: Quote::of(&printed) })?;
    agrees(&report, request)?;
    Ok((report, Quote::of(&finished.stderr)))
}

/// That it did what it was asked to, as far as it tells.
fn agrees(report: &Report, request: &StreamRequest) -> Result<(), Error> {
    if let Validation::Fails(printed) = &report.validation {
        return Err(Error::WrongAnswer { printed: printed.clone() });
    }
    let told = [
        ("elements", request.array_elements, report.array_elements),
        ("threads", request.cpus.len() as u64, report.threads.map(u64::from)),
    ];
    let deviates = |(what, asked, found): (&'static str, u64, Option<u64>)| {
        let found = found.filter(|found| *found != asked)?;
        Some(Error::Deviates { what, asked, found })
    };
    told.into_iter().find_map(deviates).map_or(Ok(()), Err)
}
