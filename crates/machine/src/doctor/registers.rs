//! Model-specific registers.

use model::{Obstacle, Reading, Unavailable};

use super::{not_permitted, surroundings};
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::facts::{ON_THE_HOST, first_cpu};
use crate::permissions::Question;
use crate::probes::no_msr_device;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("msr", "Registers (MSR)", |s| s.permits.ask(Question::MsrDevice).map(text)),
    row("msr.module", "Driver of registers", |s| module(s).map(text)),
    row("aperf_mperf", "Clock by APERF/MPERF", |s| aperf_mperf(s).map(text)),
];

/// The driver is there where its devices are, or where sysfs names it.
fn module(survey: &Survey<'_>) -> Reading<String> {
    let here = surroundings(survey);
    if here.there("/sys/module/msr") {
        return Ok("loaded, or part of the kernel".into());
    }
    let cpu = first_cpu(survey)?;
    let devices = survey.tree.list(&format!("/dev/cpu/{cpu}")).unwrap_or_default();
    if devices.iter().any(|name| name == "msr") {
        return Ok("part of the kernel".into());
    }
    if survey.is_copied() {
        let why = "no file here says whether the driver of registers is loaded";
        return Err(Unavailable::new(Obstacle::Cpudyno, "", why));
    }
    Err(no_msr_device(&here))
}

/// # Source
/// Intel SDM volume 2A, CPUID 6 ECX\[0\]: the pair is there; volume 4, table 2-2: IA32_APERF is
/// E8h. AMD64 APM volume 3, RDPRU: CPUID 8000_0008h EBX\[4\], and EDX\[31:16\] is the highest
/// register.
fn aperf_mperf(survey: &Survey<'_>) -> Reading<String> {
    const APERF: u32 = 0xe8;
    if survey.cpuid.leaf(6, 0).is_some_and(|leaf| leaf.ecx & 1 == 0) {
        let why = "CPUID 6 announces no APERF/MPERF";
        return Err(if survey.is_guest() {
            let why = format!("{why}: the hypervisor hides the pair");
            not_permitted(why, ON_THE_HOST)
        } else {
            Unavailable::new(Obstacle::Hardware, "", why)
        });
    }
    let by_register = || {
        survey.permits.ask(Question::MsrDevice)?;
        survey.msr.read(first_cpu(survey)?, APERF)?;
        Ok("both can be read".into())
    };
    let rdpru = survey.cpuid.leaf(0x8000_0008, 0);
    let rdpru = rdpru.is_some_and(|leaf| leaf.ebx >> 4 & 1 == 1 && leaf.edx >> 16 >= 1);
    by_register().or_else(|reason| {
        if rdpru { Ok("both can be read, by the instruction RDPRU".into()) } else { Err(reason) }
    })
}
