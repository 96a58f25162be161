//! The kernel's and the hardware's counters.

use model::counters::Limits;
use model::page::tally;
use model::{CpuId, Reading};

use super::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::perf::limits;
use crate::permissions::Question;
use crate::pmu::of_cores;
use crate::ports::Machine;
use crate::probes::PARANOID;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("perf", "Perf events, own threads", |s| perf(s).map(text)),
    row("perf.kernel", "Perf events, with the kernel",
        |s| s.permits.ask(Question::PerfKernel).map(text)),
    row("perf.system_wide", "Perf events, whole CPUs",
        |s| s.permits.ask(Question::PerfSystemWide).map(text)),
    row("pmu", "Counters of the cores (PMU)", |s| pmu(s).map(text)),
    row("rdpmc", "Counters without system calls", |s| s.permits.ask(Question::Rdpmc).map(text)),
    row("uncore", "Counters outside of the cores",
        |s| s.permits.ask(Question::PerfUncore).map(text)),
];

fn perf(survey: &Survey<'_>) -> Reading<String> {
    let answer = survey.permits.ask(Question::PerfUser)?;
    let paranoid = survey.tree.read(PARANOID);
    Ok(paranoid.map_or_else(|_| answer.clone(), |level| format!("{answer}; paranoid {level}")))
}

fn pmu(survey: &Survey<'_>) -> Reading<String> {
    survey.permits.ask(Question::PerfCyclesUser)?;
    let names = of_cores(&*survey.tree);
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let mut parts = Vec::from_iter(counters(survey));
    if !names.is_empty() {
        parts.push(format!("PMU {}", names.join(", ")));
    }
    if survey.tree.read("/proc/sys/kernel/nmi_watchdog").is_ok_and(|on| on.trim() == "1") {
        parts.push("the NMI watchdog holds one (`sudo sysctl kernel.nmi_watchdog=0`)".into());
    }
    if parts.is_empty() {
        parts.push("cycles can be counted".into());
    }
    Ok(parts.join("; "))
}

/// How many counters a thread of the first CPU has.
fn counters(machine: &Machine) -> Option<String> {
    let Limits { general, fixed_bits, .. } = limits(machine, CpuId(0)).ok()?;
    let fixed = fixed_bits.count_ones();
    let general = tally(general as usize, "general counter");
    Some(if fixed == 0 { general } else { format!("{general}, {fixed} fixed") })
}
