//! The time stamp counter of x86: whether its rate is constant, as the machine says. Whoever asks is told
//! the same.

use super::groups::flag;
use crate::facts::fact_cache::Survey;

/// What is announced of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeStampCounter {
    /// There is none: another architecture, or no list of flags.
    None,
    /// It runs at one rate, whatever the CPU does.
    Invariant,
    /// The kernel takes its rate for constant, and nobody says that it runs on in idle states.
    Constant,
    /// Nothing is said of its rate.
    Unannounced,
}

impl TimeStampCounter {
    /// Why it is not relied on.
    pub(crate) fn why(self) -> &'static str {
        match self {
            TimeStampCounter::Constant => {
                "the TSC has a constant rate, but is not announced as invariant (it may stop in \
                 idle states)"
            }
            _ => "the TSC is not announced to run at a constant rate",
        }
    }
}

/// # Source
/// Intel SDM volume 3B, 18.17.1 "Invariant TSC": CPUID 8000_0007h EDX\[8\]; the kernel's flags
/// `constant_tsc` and `nonstop_tsc` say the same in two words.
pub(crate) fn time_stamp_counter(survey: &Survey<'_>) -> TimeStampCounter {
    let Some(constant) = flag(survey, "constant_tsc") else { return TimeStampCounter::None };
    let announced = survey.cpuid.leaf(0x8000_0007, 0).map(|leaf| leaf.edx >> 8 & 1 == 1);
    let invariant = announced.or_else(|| flag(survey, "nonstop_tsc")).unwrap_or(false);
    match (constant, invariant) {
        (true, true) => TimeStampCounter::Invariant,
        (true, false) => TimeStampCounter::Constant,
        (false, _) => TimeStampCounter::Unannounced,
    }
}
