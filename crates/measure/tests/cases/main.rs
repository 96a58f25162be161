//! Cases that need what is not everywhere: tables of others, OpenMP runtimes. Where it is missing, a case is
//! shown as ignored.
//!
//! This program is its own worker.

mod facts;
mod regions;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        regions::work();
        return ExitCode::SUCCESS;
    }
    let trials = [facts::trials(), regions::trials()];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}
