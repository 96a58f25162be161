//! What software asks of the hardware where that chooses the clock itself (HWP, CPPC of AMD).

use model::record::AllowedClock;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::together;
use crate::facts::fact_cache::Survey;
use crate::facts::{Maker, bits, identity, nominal_frequency};

const PM_ENABLE: u32 = 0x770;
const HWP_CAPABILITIES: u32 = 0x771;
const HWP_REQUEST_PKG: u32 = 0x772;
const HWP_REQUEST: u32 = 0x774;

/// The clock of the highest level that is asked for, where levels can be told in clocks.
///
/// # Error
/// Where it cannot be known whether something is asked for, because the limit or the registers do not answer, or
/// which clock that is.
pub(super) fn allowed(survey: &Survey<'_>, cpus: &CpuSet) -> Reading<Vec<AllowedClock>> {
    match identity(survey) {
        Ok((Maker::Intel, signature)) if signature.is_6_or_later() => by_hwp(survey, cpus),
        Ok((Maker::Amd, _)) => by_cppc(survey, cpus),
        _ => Ok(Vec::new()),
    }
}

/// In clocks where the firmware states the nominal one, to which levels are in proportion.
///
/// # Source
/// AMD processor programming references, `Core::X86::Msr::CppcCapability1` (nominal level in bits 23:16, highest in
/// 31:24), `CppcEnable` (bit 0), `CppcRequest` (maximum in bits 7:0, desired in 23:16; 0: the hardware chooses).
fn by_cppc(survey: &Survey<'_>, cpus: &CpuSet) -> Reading<Vec<AllowedClock>> {
    const CAPABILITY_1: u32 = 0xc001_02b0;
    const ENABLE: u32 = 0xc001_02b1;
    const REQUEST: u32 = 0xc001_02b3;
    let Ok(nominal_hertz) = nominal_frequency(survey) else { return Ok(Vec::new()) };
    let clock = |cpu: CpuId| -> Reading<Option<(CpuId, f64)>> {
        let read = survey.msr.read_many(cpu, &[ENABLE, CAPABILITY_1, REQUEST]);
        let value = |index: usize| {
            let what = "request to the hardware (CPPC)".to_owned();
            read[index].clone().map_err(|reason| Unavailable { what, ..reason })
        };
        match value(0) {
            Ok(enabled) if bits(enabled, 0, 1) == 1 => {}
            // A CPU without the register is asked in memory, by the firmware's ways.
            Ok(_) => return Ok(None),
            Err(reason) if reason.obstacle == Obstacle::Hardware => return Ok(None),
            Err(reason) => return Err(reason),
        }
        let (capabilities, request) = (value(1)?, value(2)?);
        let [nominal, highest] = [16, 24].map(|start| bits(capabilities, start, 8));
        let [most, desired] = [0, 16].map(|start| bits(request, start, 8));
        let most = if desired > 0 { most.min(desired) } else { most };
        let asks = nominal > 0 && most > 0 && most < highest;
        Ok(asks.then(|| (cpu, nominal_hertz * most as f64 / nominal as f64)))
    };
    let clocks: Reading<Vec<Option<(CpuId, f64)>>> = cpus.iter().map(clock).collect();
    let source = format!("CPPC request (MSR {REQUEST:X}h)");
    Ok(together(clocks?.into_iter().flatten(), &source))
}

/// In clocks where the highest level is the ratio of the turbo limit of one core. On hybrids levels are no ratios.
fn by_hwp(survey: &Survey<'_>, cpus: &CpuSet) -> Reading<Vec<AllowedClock>> {
    let unknown = |reason: &Unavailable| Unavailable { what: BY_HWP.to_owned(), ..reason.clone() };
    let limits = survey.turbo_limits().map_err(|reason| unknown(&reason))?;
    let clock = |cpu: CpuId| -> Reading<Option<Reading<(CpuId, f64)>>> {
        let Some(limit) = limits.iter().find(|limit| limit.cpus.contains(cpu)) else {
            return Ok(None);
        };
        let addresses = [PM_ENABLE, HWP_CAPABILITIES, HWP_REQUEST, HWP_REQUEST_PKG];
        let read = survey.msr.read_many(cpu, &addresses);
        let value = |index: usize| read[index].clone().map_err(|reason| unknown(&reason));
        match value(0) {
            Ok(enabled) if bits(enabled, 0, 1) == 1 => {}
            // A CPU without the switch has no such thing, and one whose switch is off asks for nothing.
            Ok(_) => return Ok(None),
            Err(reason) if reason.obstacle == Obstacle::Hardware => return Ok(None),
            Err(reason) => return Err(reason),
        }
        let (capabilities, request, package) = (value(1)?, value(2)?, read[3].as_ref().ok());
        let asked = decode(1, capabilities, request, package.copied());
        let Some((asked, alone)) = asked.zip(limit.steps.first()) else { return Ok(None) };
        if asked.most >= asked.highest {
            return Ok(None);
        }
        let level = alone.hertz / f64::from(asked.highest);
        let is_ratio = limit.kind.is_none() && (level / RATIO_HERTZ - 1.0).abs() < 1e-6;
        Ok(Some(if is_ratio {
            Ok((cpu, level * f64::from(asked.most)))
        } else {
            Err(no_ratio(cpu, &asked))
        }))
    };
    let clocks: Vec<_> = cpus.iter().map(clock).collect::<Reading<_>>()?;
    let (known, others): (Vec<_>, Vec<_>) = clocks.into_iter().flatten().partition(Result::is_ok);
    // Favoured cores have a level of their own: what is known of the others stands.
    if known.is_empty()
        && let Some(Err(reason)) = others.into_iter().next()
    {
        return Err(reason);
    }
    let source = format!("HWP request (MSR {HWP_REQUEST:X}h)");
    Ok(together(known.into_iter().flatten(), &source))
}

const BY_HWP: &str = "request to the hardware (HWP)";

/// Less is asked for than there is, and nothing states which clock that is.
fn no_ratio(cpu: CpuId, HwpLevels { highest, most }: &HwpLevels) -> Unavailable {
    let why = format!(
        "CPU {cpu} may choose level {most} of {highest} at most, and no register states the clock of a level there"
    );
    Unavailable::new(Obstacle::Hardware, BY_HWP, why)
}

/// What a ratio is multiplied with.
const RATIO_HERTZ: f64 = 100e6;

/// Levels of performance.
#[derive(Debug, PartialEq, Eq)]
struct HwpLevels {
    /// The highest one that there is.
    highest: u8,
    /// The highest one that the hardware may choose.
    most: u8,
}

/// None: HWP is off, or the registers hold no levels.
///
/// # Source
/// Intel SDM volume 3B, "Hardware-controlled performance states": `IA32_PM_ENABLE` bit 0;
/// `IA32_HWP_CAPABILITIES` highest in bits 7:0; `IA32_HWP_REQUEST` maximum in bits 15:8, desired in 23:16 (0:
/// the hardware chooses), package control in 42, desired valid in 61, maximum valid in 62;
/// `IA32_HWP_REQUEST_PKG` alike.
fn decode(
    enabled: u64,
    capabilities: u64,
    request: u64,
    package: Option<u64>,
) -> Option<HwpLevels> {
    if bits(enabled, 0, 1) == 0 {
        return None;
    }
    let by_package = bits(request, 42, 1) == 1;
    // What is not valid in the thread's own register is asked for by the package's.
    let asked = |valid: u32, start: u32| {
        let own = !by_package || bits(request, valid, 1) == 1;
        Some(bits(if own { request } else { package? }, start, 8) as u8)
    };
    let (most, desired) = (asked(62, 8)?, asked(61, 16)?);
    let most = if desired > 0 { most.min(desired) } else { most };
    let highest = bits(capabilities, 0, 8) as u8;
    (highest > 0 && most > 0).then_some(HwpLevels { highest, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_level_that_is_asked_for() {
        let asked = |most| Some(HwpLevels { highest: 38, most });
        // Minimum 8 and maximum 38; then maximum 20; then desired 15; then by the package.
        assert_eq!(decode(1, 0x80b_1426, 0x8000_2608, None), asked(38));
        assert_eq!(decode(1, 0x80b_1426, 0x8000_1408, None), asked(20));
        assert_eq!(decode(1, 0x80b_1426, 0x800f_2608, None), asked(15));
        assert_eq!(decode(1, 0x80b_1426, 1 << 42 | 0x2608, Some(0x1e08)), asked(30));
        assert_eq!(decode(1, 0x80b_1426, 1 << 42 | 0x2608, None), None, "nobody knows");
        let own = 1 << 62 | 1 << 61 | 1 << 42 | 0x2608;
        assert_eq!(decode(1, 0x80b_1426, own, None), asked(38));
        assert_eq!(decode(1, 0x80b_1426, own & !(1 << 61), Some(0x0f_2608)), asked(15));
        // Only its preference is valid.
        assert_eq!(decode(1, 0x80b_1426, 1 << 60 | 1 << 42 | 0x2608, Some(0x1e08)), asked(30));
    }

    #[test]
    fn registers_without_levels_ask_for_nothing() {
        assert_eq!(decode(0, 0x80b_1426, 0x1408, None), None, "HWP is off");
        assert_eq!(decode(1, 0, 0x1408, None), None);
        assert_eq!(decode(1, 0x80b_1426, 0, None), None);
    }
}
