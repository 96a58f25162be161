//! Cases that need the recordings of others. Where those are missing, each is shown as ignored.

#[expect(dead_code, reason = "archives that are whole trees are of no use here")]
#[path = "../../../machine/tests/machines/archive.rs"]
mod archive;
mod guide_compat;
mod recorded;
mod unpacked;

use std::process::ExitCode;

use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let trials = [guide_compat::trials(), recorded::trials()];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}
