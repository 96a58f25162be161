//! Hardware-controlled performance states of Intel CPUs, from registers.
//!
//! # Source
//! Intel SDM volume 3B, section on hardware-controlled performance states; volume 4,
//! `IA32_PM_ENABLE`, `IA32_HWP_CAPABILITIES`.

use model::{Obstacle, Unavailable};

use super::groups::{Group, Maker, by_kind, byte, flag, groups, identity};
use crate::ports::Reading;
use crate::rows::{Row, row, text};
use crate::survey::Survey;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("turbo.hwp", "Hardware P-states (first CPUs)", |s| hwp(s).map(text)),
];

const PM_ENABLE: u32 = 0x770;
const HWP_CAPABILITIES: u32 = 0x771;

fn hwp(survey: &Survey<'_>) -> Reading<String> {
    let absent = |why: &str| Unavailable::new(Obstacle::Hardware, "hardware P-states", why);
    let (maker, _) = identity(survey)?;
    if maker != Maker::Intel {
        return Err(absent("only CPUs of Intel have them; AMD's are in `cppc.performance`"));
    }
    let by_cpuid = survey.cpuid.leaf(6, 0).map(|leaf| leaf.eax & (1 << 7) != 0);
    if by_cpuid.or_else(|| flag(survey, "hwp")) == Some(false) {
        return Err(absent("this CPU has none (CPUID 6 EAX bit 7, flag `hwp`)"));
    }
    by_kind(&groups(survey), |group| of_group(survey, group))
}

fn of_group(survey: &Survey<'_>, group: &Group) -> Reading<String> {
    let mut readings =
        survey.msr.read_many(group.first(), &[PM_ENABLE, HWP_CAPABILITIES]).into_iter();
    let mut next = || {
        let nothing = || Unavailable::new(Obstacle::Cpudyno, "registers", "nothing was read");
        readings.next().unwrap_or_else(|| Err(nothing()))
    };
    let enabled = next()? & 1 == 1;
    if enabled { in_words(next()?) } else { Ok("off".to_owned()) }
}

/// Levels are in units of the CPU's own: on hybrids they are no ratios.
fn in_words(capabilities: u64) -> Reading<String> {
    if capabilities > u64::from(u32::MAX) {
        let why = format!(
            "the register {HWP_CAPABILITIES:x}h holds {capabilities:#x}, where only 32 bits are \
             in use"
        );
        return Err(Unavailable::new(Obstacle::Cpudyno, "hardware P-states", why));
    }
    let [highest, guaranteed, efficient, lowest] = [0, 1, 2, 3].map(|i| byte(capabilities, i));
    if highest == 0 {
        let why = format!(
            "the register {HWP_CAPABILITIES:x}h holds {capabilities:#x}, which names no levels"
        );
        return Err(Unavailable::new(Obstacle::Cpudyno, "hardware P-states", why));
    }
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
