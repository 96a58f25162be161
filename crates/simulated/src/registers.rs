//! Registers of a simulated machine.

use model::{CpuId, Obstacle, Reading, Unavailable};

use crate::description::Power;
use crate::description::{KindName, Model, Registers};
use crate::faults::Fault;
use crate::files::CPU;
use crate::firmware::Firmware;

/// Where a bit that is set switches boost off on CPUs of AMD.
pub(crate) const HWCR: u32 = 0xc001_0015;
pub(crate) const BOOST_DISABLED: u32 = 25;

impl Model {
    /// A register of a CPU, laid out as Skylake servers and their successors do; frequencies are multiples of
    /// 100 MHz.
    ///
    /// # Error
    /// Where it has none, or cannot be read.
    ///
    /// # Source
    /// Intel SDM volume 4, the tables of these generations: `MSR_SMI_COUNT`, `MSR_PLATFORM_INFO`,
    /// `MSR_TURBO_RATIO_LIMIT`, `MSR_TURBO_RATIO_LIMIT_CORES`, `IA32_ENERGY_PERF_BIAS`,
    /// `IA32_PM_ENABLE`, `IA32_HWP_CAPABILITIES`, `IA32_HWP_REQUEST`, `MSR_UNCORE_RATIO_LIMIT`; those of limits
    /// as `machine::limits` reads them.
    pub fn register(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let what = format!("register {register:#x}");
        if self.has(Fault::NoMsr) {
            return Err(no_driver(&what));
        }
        if self.registers.is_none() || !self.is_online(cpu) {
            return Err(none(&what));
        }
        holds(self, cpu, register).ok_or_else(|| {
            let why = format!("this simulated machine has no register {register:#x}");
            Unavailable::new(Obstacle::Hardware, what, why)
        })
    }
}

/// What is said of registers where the fault [`Fault::NoMsr`] was put in.
pub(crate) fn no_driver(what: &str) -> Unavailable {
    let why = "there is no `/dev/cpu/*/msr`: the driver is not loaded";
    Unavailable::new(Obstacle::Permission, what, why).with_remedy("`sudo modprobe msr`")
}

/// What is said where the description has no registers.
pub(crate) fn none(what: &str) -> Unavailable {
    let why = "this simulated machine has no registers that can be read";
    Unavailable::new(Obstacle::Hardware, what, why)
}

/// What a register holds: as it was set, or as the machine came.
pub(crate) fn holds(model: &Model, cpu: CpuId, register: u32) -> Option<u64> {
    let firmware = Firmware::of(model).and_then(|it| of_firmware(it, model, cpu, register));
    let limits = || limiting(model, cpu, register).filter(|_| !model.identity.is_amd());
    let of_vendor = if model.identity.is_amd() { of_amd } else { of_intel };
    let came =
        firmware.or_else(limits).or_else(|| of_vendor(model, model.registers?, cpu, register))?;
    Some(model.settings.register(cpu, register).unwrap_or(came))
}

/// What Speed Select says of them.
fn of_firmware(firmware: Firmware<'_>, model: &Model, cpu: CpuId, register: u32) -> Option<u64> {
    model.registers?;
    match register {
        0x53 | 0x54 => firmware.physical(cpu).map(u64::from),
        0x1ad => Some(firmware.turbo_limits(model.package_of(cpu))),
        0x1ae => Some(firmware.turbo_cores()),
        _ => None,
    }
}

/// Whether a core runs below what it might, and the limits of power. As real ones do, logs stay set: PROCHOT
/// is in force all the time, power limits are only logged, because whoever reads has ended the load.
fn limiting(model: &Model, cpu: CpuId, register: u32) -> Option<u64> {
    /// 1/8 W and 1/1024 s.
    const UNITS: u64 = 0xa_0e03;
    /// The usual switches: both directions of PROCHOT, C1E.
    const POWER_CTL: u64 = 0b11;
    model.registers?;
    let [long, short] = model.met_limits(model.package_of(cpu));
    let bit = |is_set: bool, bit: u32| u64::from(is_set) << bit;
    let hot = model.prochot_now().is_some();
    let reasons = bit(hot, 2) | bit(hot, 3) | bit(long || short, 11);
    match register {
        0x19c | 0x1b1 => Some(reasons),
        // As client processors have it.
        0x64f => Some(bit(hot, 0) | bit(hot, 16) | bit(long, 26) | bit(short, 27)),
        0x1fc => Some(POWER_CTL),
        0x606 => model.power.map(|_| UNITS),
        0x610 => model.power.map(power_limits),
        _ => None,
    }
}

/// The register of both limits, as 606h gives its units; without a limit the field is full.
fn power_limits(power: Power) -> u64 {
    let field = |watts: Option<f64>, seconds: f64| {
        let watts = watts.map_or(0x7ff8, |watts| (watts * 8.0).round() as u64 & 0x7fff);
        // A time without quarters.
        let time = (seconds * 1024.0).log2().round().clamp(0.0, 31.0) as u64;
        watts | 1 << 15 | time << 17
    };
    let short = field(power.short_term_watts, 0.0025);
    field(power.long_term_watts, power.long_term_seconds) | short << 32
}

/// Whether the driver has switched boost off in registers: other drivers of AMD ask for less instead.
///
/// # Source
/// Linux, drivers/cpufreq/acpi-cpufreq.c: `boost_set_msr`.
fn is_unboosted(model: &Model) -> bool {
    let boost = || model.settings.text(&format!("{CPU}/cpufreq/boost"));
    model.cpufreq_driver.as_deref() == Some("acpi-cpufreq") && boost().as_deref() == Some("0")
}

/// From Zen 4 on. Who turns PROCHOT on lowers the P-state that is allowed.
///
/// # Source
/// AMD PPR of family 19h models 10h and later, MSRC000_0108 (Prefetch Control), MSRC001_0015 (HWCR),
/// MSRC001_0061 (P-state Current Limit), MSRC001_02B0, 02B1 and 02B3 (CPPC).
fn of_amd(model: &Model, registers: Registers, cpu: CpuId, register: u32) -> Option<u64> {
    // Without firmware's levels there is no more than this.
    let level = |hertz| model.level(hertz);
    let [highest, lowest] = [level(model.highest_hz(cpu)), level(registers.lowest_hz)];
    let with = |low: Option<u64>, rest: [Option<u64>; 3]| {
        let all: Option<Vec<u64>> = std::iter::once(low).chain(rest).collect();
        Some(bytes(all?.into_iter()))
    };
    match register {
        // All prefetchers are on.
        0xc000_0108 => Some(0),
        HWCR => level(0.0).map(|_| 0x0900_0011 | u64::from(is_unboosted(model)) << BOOST_DISABLED),
        // The lowest P-state is the second one.
        0xc001_0061 => level(0.0).map(|_| 2 << 4 | u64::from(model.prochot_now().is_some()) << 1),
        0xc001_02b0 => {
            with(lowest, [level(registers.efficient_hz), level(model.clock.tsc_hz), highest])
        }
        0xc001_02b1 => level(0.0).map(|_| 1),
        0xc001_02b3 => with(highest, [lowest, Some(0), Some(0)]),
        _ => None,
    }
}

/// Tiger Lake, whose turbo limits are for each number of cores; the others here have them for groups of cores.
const TIGER_LAKE: u32 = 0x8c;

fn of_intel(model: &Model, registers: Registers, cpu: CpuId, register: u32) -> Option<u64> {
    let lowest = ratio(registers.lowest_hz);
    let highest = ratio(model.highest_hz(cpu));
    let base = ratio(model.clock.tsc_hz);
    let bins = || model.licence.iter().take(1).flat_map(|licence| licence.bins.iter().take(8));
    Some(match register {
        0x34 => (model.elapsed.seconds().0 * model.noise.smis_per_second) as u64,
        0xce => base << 8 | lowest << 40,
        0x1ad if model.identity.model == TIGER_LAKE => bytes((1..=8).map(|cores| {
            let of = model.licence.first();
            let bin = of.and_then(|it| it.bins.iter().find(|(most, _)| *most >= cores));
            let bin = bin.or(of.and_then(|it| it.bins.last()));
            bin.map_or(0, |&(_, hertz)| ratio(hertz))
        })),
        0x1ad => bytes(bins().map(|&(_, hertz)| ratio(hertz))),
        0x1ae => bytes(bins().map(|&(cores, _)| u64::from(cores))),
        // Of efficient cores of hybrids, whose clock other cores leave alone.
        0x650 => bytes([of_efficient(model)?].into_iter()),
        0x651 => bytes([efficient_cores(model)].into_iter()),
        // All prefetchers are on.
        0x1a4 => 0,
        0x1b0 => u64::from(registers.energy_perf_bias),
        0x620 => ratio(registers.uncore_max_hz) | ratio(registers.uncore_min_hz) << 8,
        0x770 => 1,
        0x771 => bytes([highest, base, ratio(registers.efficient_hz), lowest].into_iter()),
        0x774 => bytes([lowest, highest].into_iter()),
        _ => return None,
    })
}

/// As far as efficient cores come, where there are any.
fn of_efficient(model: &Model) -> Option<u64> {
    let kind = model.kind.iter().find(|kind| kind.name == KindName::E)?;
    kind.highest_hz.map(ratio)
}

fn efficient_cores(model: &Model) -> u64 {
    let efficient = model.kind.iter().filter(|kind| kind.name != KindName::P);
    efficient.map(|kind| u64::from(kind.cores)).sum()
}

/// Multiples of 100 MHz.
fn ratio(hertz: f64) -> u64 {
    (hertz / 1e8).round() as u64 & 0xff
}

/// At most eight, the first one lowest.
fn bytes(values: impl Iterator<Item = u64>) -> u64 {
    values.take(8).enumerate().fold(0, |all, (place, value)| all | (value & 0xff) << (8 * place))
}
