//! Hardware-controlled performance states of Intel CPUs, from registers.
//!
//! # Source
//! Intel SDM volume 3B, section on hardware-controlled performance states; volume 4,
//! `IA32_PM_ENABLE`, `IA32_HWP_CAPABILITIES`.

use model::{CpuId, Obstacle, Reading, Unavailable};

use super::groups::{Maker, by_kind, byte, flag, groups, identity, register};
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("turbo.hwp", "Hardware P-states (first CPUs)", |s| hwp(s).map(text)),
];

const PM_ENABLE: u32 = 0x770;
const HWP_CAPABILITIES: u32 = 0x771;

fn hwp(survey: &Survey<'_>) -> Reading<String> {
    offered(survey)?;
    by_kind(&groups(survey), |group| {
        if is_on(survey, group.first())? {
            in_words(register(survey, group.first(), HWP_CAPABILITIES)?)
        } else {
            Ok("off".to_owned())
        }
    })
}

/// Whether this CPU has them.
fn offered(survey: &Survey<'_>) -> Reading<()> {
    let absent = |why: &str| Unavailable::new(Obstacle::Hardware, "hardware P-states", why);
    let (maker, _) = identity(survey)?;
    if maker != Maker::Intel {
        return Err(absent("only CPUs of Intel have them; AMD's are in `cppc.performance`"));
    }
    let by_cpuid = survey.cpuid.leaf(6, 0).map(|leaf| leaf.eax & (1 << 7) != 0);
    if by_cpuid.or_else(|| flag(survey, "hwp")) == Some(false) {
        return Err(absent("this CPU has none (CPUID 6 EAX bit 7, flag `hwp`)"));
    }
    Ok(())
}

fn is_on(survey: &Survey<'_>, cpu: CpuId) -> Reading<bool> {
    Ok(register(survey, cpu, PM_ENABLE)? & 1 == 1)
}

/// The highest level of a CPU: cores that firmware favours have a higher one.
pub(super) fn highest(survey: &Survey<'_>, cpu: CpuId) -> Reading<u32> {
    highest_and_guaranteed(survey, cpu).map(|[highest, _]| highest)
}

/// That, and the level that base is.
pub(super) fn highest_and_guaranteed(survey: &Survey<'_>, cpu: CpuId) -> Reading<[u32; 2]> {
    offered(survey)?;
    if !is_on(survey, cpu)? {
        let why = "hardware P-states are off, and nothing else states levels";
        return Err(Unavailable::new(Obstacle::Hardware, "performance levels", why));
    }
    let [highest, guaranteed, ..] = levels_of(register(survey, cpu, HWP_CAPABILITIES)?)?;
    Ok([highest, guaranteed])
}

/// Highest, guaranteed, efficient and lowest, in units of the CPU's own: on hybrids they are no ratios.
fn levels_of(capabilities: u64) -> Reading<[u32; 4]> {
    if capabilities > u64::from(u32::MAX) {
        let why = format!(
            "the register {HWP_CAPABILITIES:x}h holds {capabilities:#x}, where only 32 bits are \
             in use"
        );
        return Err(Unavailable::new(Obstacle::Cpudyno, "hardware P-states", why));
    }
    let levels = [0, 1, 2, 3].map(|index| byte(capabilities, index));
    if levels[0] == 0 {
        let why = format!(
            "the register {HWP_CAPABILITIES:x}h holds {capabilities:#x}, which names no levels"
        );
        return Err(Unavailable::new(Obstacle::Cpudyno, "hardware P-states", why));
    }
    Ok(levels)
}

fn in_words(capabilities: u64) -> Reading<String> {
    let [highest, guaranteed, efficient, lowest] = levels_of(capabilities)?;
    Ok(format!(
        "highest {highest}, guaranteed {guaranteed}, efficient {efficient}, lowest {lowest}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_a_core_in_the_order_of_the_register() {
        let expected = "highest 60, guaranteed 27, efficient 27, lowest 1";
        assert_eq!(in_words(0x11b_1b3c).as_deref(), Ok(expected));
        assert!(in_words(u64::MAX).unwrap_err().why.contains("771h holds 0xffffffffffffffff"));
        assert!(in_words(0).is_err());
    }
}
