//! Cases that need what is not everywhere: a recording, `perf`, a browser, readers of metrics and tables, a scheduler. What a machine
//! lacks is in the name of its case, which is shown as ignored there.

use std::process::ExitCode;

use libtest_mimic::Arguments;

#[expect(dead_code, reason = "archives that are whole trees are of no use here")]
#[path = "../../../machine/tests/machines/archive.rs"]
mod archive;
mod avx_turbo;
#[path = "../it/common/mod.rs"]
mod common;
mod contrib;
mod core_to_core;
mod engines;
mod field;
mod html;
mod kubernetes;
mod metrics;
mod perf_stat;
mod slurm;
mod speed_select;
#[path = "../../../sst/tests/cases/unpacked.rs"]
mod unpacked;

fn main() -> ExitCode {
    let trials = [
        avx_turbo::trials(),
        contrib::trials(),
        core_to_core::trials(),
        engines::trials(),
        field::trials(),
        html::trials(),
        kubernetes::trials(),
        metrics::trials(),
        perf_stat::trials(),
        slurm::trials(),
        speed_select::trials(),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}
