//! The kernel's and the hardware's counters.

use super::Survey;
use crate::attempts::PARANOID;
use crate::permits::Question;
use crate::pmu::PMUS;
use crate::ports::{Machine, Reading};
use crate::rows::{Row, row, text};
use crate::text::tally;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
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
    let names = survey.tree.list(PMUS).unwrap_or_default();
    let of_cores = |name: &String| {
        name == "cpu" || ["cpu_", "armv8", "armv9", "apple_"].iter().any(|s| name.starts_with(s))
    };
    let names: Vec<String> =
        names.iter().filter(|name| of_cores(name)).map(|name| format!("`{name}`")).collect();
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
///
/// # Source
/// Intel SDM volume 2A, CPUID 0Ah: EAX\[7:0\] version, EAX\[15:8\] general counters, EDX\[4:0\]
/// fixed ones. AMD APM volume 3, CPUID 8000_0022h: EBX\[3:0\] where EAX\[0\] is set; before that
/// six where 8000_0001h ECX\[23\] is set, else four.
fn counters(machine: &Machine) -> Option<String> {
    /// EBX of leaf 0 is the start of `AuthenticAMD`.
    const AUTH: u32 = u32::from_le_bytes(*b"Auth");
    if machine.cpuid.leaf(0, 0)?.ebx == AUTH {
        let announced = machine.cpuid.leaf(0x8000_0022, 0).filter(|leaf| leaf.eax & 1 == 1);
        let extended = || machine.cpuid.leaf(0x8000_0001, 0).map(|leaf| leaf.ecx >> 23 & 1 == 1);
        let count = match announced {
            Some(leaf) => leaf.ebx & 0xf,
            None if extended()? => 6,
            None => 4,
        };
        return Some(tally(count as usize, "general counter"));
    }
    let leaf = machine.cpuid.leaf(0xa, 0).filter(|leaf| leaf.eax & 0xff != 0)?;
    let (general, fixed) = (leaf.eax >> 8 & 0xff, leaf.edx & 0x1f);
    Some(format!("{}, {fixed} fixed", tally(general as usize, "general counter")))
}
