//! The fields of an event, and where the select register has them.

use machine::pmu::Config;
use serde::Deserialize;

use super::cpu::Maker;

/// What is written into the select register of a core's counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Fields {
    /// The event.
    pub event: u64,
    /// Which parts of it; of Intel's from Lion Cove and Darkmont on, 16 bits.
    pub umask: u64,
    /// Count cycles with at least so many.
    pub cmask: u64,
    /// Count changes from false to true.
    pub edge: bool,
    /// Turn the comparison with `cmask` round.
    pub inv: bool,
    /// Count for both threads of a core.
    pub any: bool,
}

impl Fields {
    /// As perf_event_open(2) takes it, for the PMU of a core; none where a field does not fit.
    ///
    /// # Source
    /// Intel SDM volume 3B, figure of IA32_PERFEVTSELx: event in bits 7:0, unit mask in 15:8, edge 18, any
    /// thread 21, invert 23, counter mask in 31:24, and more of the unit mask (UMASK2) in 47:40. AMD APM volume 2, PERF_CTL: the same, and more of the
    /// event in 35:32. Arm: the event in 15:0, Linux `Documentation/arch/arm64/perf.rst` and the files in
    /// `format` of the PMU.
    pub fn config(self, maker: Maker) -> Option<Config> {
        let Fields { event, umask, cmask, edge, inv, any } = self;
        let flags = u64::from(edge) << 18 | u64::from(any) << 21 | u64::from(inv) << 23;
        let beside = (umask & 0xff) << 8 | cmask << 24 | flags;
        let config = match maker {
            Maker::Arm => (event <= 0xffff && umask == 0 && beside == 0).then_some(event)?,
            _ if umask > 0xffff || cmask > 0xff => return None,
            Maker::Intel if event <= 0xff => event | beside | umask >> 8 << 40,
            _ if umask > 0xff => return None,
            Maker::Amd if event <= 0xfff => event & 0xff | event >> 8 << 32 | beside,
            Maker::Other if event <= 0xff => event | beside,
            _ => return None,
        };
        Some([config, 0, 0, 0])
    }
}

/// `0-3`, `0,2,4`: one bit each.
pub(super) fn counters(text: &str) -> Option<u64> {
    text.split(',').try_fold(0, |bits, range| {
        let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        let fits = first <= last && last < u64::BITS;
        fits.then(|| (first..=last).fold(bits, |bits, counter| bits | 1 << counter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_go_where_each_maker_has_them() {
        let wide = Fields { event: 0x1a0, umask: 0x1e, ..Fields::default() };
        assert_eq!(wide.config(Maker::Amd), Some([0x1_0000_1ea0, 0, 0, 0]));
        assert_eq!(wide.config(Maker::Intel), None);
        assert_eq!(wide.config(Maker::Arm), None);
        let edge = Fields { event: 0xc3, umask: 1, cmask: 1, edge: true, ..Fields::default() };
        assert_eq!(edge.config(Maker::Intel), Some([0x104_01c3, 0, 0, 0]));
        let second = Fields { event: 0xc4, umask: 0x111, ..Fields::default() };
        assert_eq!(second.config(Maker::Intel), Some([0x100_0000_11c4, 0, 0, 0]));
        assert_eq!(second.config(Maker::Amd), None);
        let plain = Fields { event: 0x4004, ..Fields::default() };
        assert_eq!(plain.config(Maker::Arm), Some([0x4004, 0, 0, 0]));
    }

    #[test]
    fn counters_are_bits() {
        assert_eq!(counters("0-3"), Some(0xf));
        assert_eq!(counters("0,2,4"), Some(0b10101));
        assert_eq!(counters("0, 2,3"), Some(0b1101));
        for bad in ["", "3-0", "64", "x"] {
            assert_eq!(counters(bad), None, "{bad}");
        }
    }
}
