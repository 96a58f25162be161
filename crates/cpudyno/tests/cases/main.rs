//! Cases that need what is not everywhere: a recording, `perf`, a browser, readers of metrics. What a machine
//! lacks is in the name of its case, which is shown as ignored there.

use std::process::ExitCode;

use libtest_mimic::Arguments;

mod avx_turbo;
#[path = "../it/common/mod.rs"]
mod common;
mod field;
mod html;
mod metrics;
mod perf_stat;

fn main() -> ExitCode {
    let trials = [
        avx_turbo::trials(),
        field::trials(),
        html::trials(),
        metrics::trials(),
        perf_stat::trials(),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials.into_iter().flatten().collect()).exit_code()
}
