//! Who says how fast a stamp clock ticks, in order of preference.

use std::io;

use model::record::CalibratedRate;
use model::{Obstacle, Reading, Unavailable};
use simulated::Model;
use sys::clock::{Cntvct, Tsc};

use super::rates::{RateReading, Role};
use super::regression::{self, Regression};
use crate::conditions::CLOCKSOURCE;
use crate::ports::Machine;

const KERNEL: &str = "kernel's conversion";
const ADJTIMEX: &str = "NTP discipline (adjtimex)";

/// The sources for the time stamp counter.
pub(super) fn of_tsc(machine: &Machine, tsc: Tsc) -> Vec<RateReading> {
    let regression = regression::regress(tsc);
    let kernel = sys::perf_page::time_conversion();
    let mut sources = of_cpuid(machine);
    sources.push(source(KERNEL, kernels_rate(kernel), false, Role::Rate));
    sources.extend(measured(machine, regression, &["tsc", "kvm-clock", "hyperv_clocksource"]));
    sources
}

/// The sources for the generic timer.
pub(super) fn of_cntvct(machine: &Machine, timer: Cntvct, announced: u64) -> Vec<RateReading> {
    let regression = regression::regress(timer);
    let mut sources = vec![source("CNTFRQ_EL0", Ok(announced as f64), true, Role::Rate)];
    sources.extend(measured(machine, regression, &["arch_sys_counter"]));
    sources
}

/// The sources as a simulated machine's description has them.
pub(super) fn of_simulated(machine: &Machine, model: &Model) -> Vec<RateReading> {
    let claims = &model.clock.claims;
    let claimed = |name: &str, hertz: Option<f64>| {
        let why = "this simulated machine has no such source";
        hertz.ok_or_else(|| Unavailable::new(Obstacle::Hardware, name, why))
    };
    let raw = &format!("{}, simulated", CalibratedRate::MEASURED);
    let mut sources = of_cpuid(machine);
    sources.extend([
        source(KERNEL, claimed(KERNEL, claims.kernel_hz), false, Role::Rate),
        source(raw, claimed(raw, claims.monotonic_raw_hz), false, Role::Measured),
        source(ADJTIMEX, claimed(ADJTIMEX, claims.adjtimex_hz), true, Role::Check),
    ]);
    sources
}

fn source(name: &str, hertz: Reading<f64>, independent: bool, role: Role) -> RateReading {
    let hertz = hertz.and_then(|hertz| {
        let plausible = hertz.is_finite() && (1e5..1e12).contains(&hertz);
        plausible.then_some(hertz).ok_or_else(|| {
            let why = format!("it says {hertz} Hz, which is no rate of a clock");
            Unavailable::new(Obstacle::Hardware, name, why)
        })
    });
    RateReading { name: name.into(), hertz, independent, role }
}

fn of_cpuid(machine: &Machine) -> Vec<RateReading> {
    vec![
        source("CPUID 15h", crystal(machine), true, Role::Rate),
        source("hypervisor (CPUID 40000010h)", hypervisor(machine), true, Role::Rate),
        source("CPUID 16h, nominal", nominal(machine), true, Role::Nominal(1e6)),
    ]
}

fn silent(what: &str, why: &str) -> Unavailable {
    Unavailable::new(Obstacle::Hardware, what, why)
}

/// # Source
/// Intel SDM volume 2A, CPUID 15h: TSC rate = crystal (ECX, hertz) x EBX / EAX.
fn crystal(machine: &Machine) -> Reading<f64> {
    let what = "CPUID 15h";
    let leaf = machine.cpuid.leaf(0x15, 0);
    let leaf = leaf.ok_or_else(|| silent(what, "this CPU does not announce CPUID 15h"))?;
    if leaf.eax == 0 || leaf.ebx == 0 {
        return Err(silent(what, "CPUID 15h is there, but its ratio is zero"));
    }
    if leaf.ecx == 0 {
        return Err(silent(what, "CPUID 15h has a ratio, but does not say the crystal's rate"));
    }
    Ok(f64::from(leaf.ecx) * f64::from(leaf.ebx) / f64::from(leaf.eax))
}

/// # Source
/// Intel SDM volume 2A, CPUID 16h EAX: base frequency in whole megahertz, at which the TSC
/// nominally ticks.
fn nominal(machine: &Machine) -> Reading<f64> {
    let megahertz = machine.cpuid.leaf(0x16, 0).map_or(0, |leaf| leaf.eax & 0xffff);
    if megahertz == 0 {
        return Err(silent("CPUID 16h", "CPUID 16h is missing or zero"));
    }
    Ok(f64::from(megahertz) * 1e6)
}

/// # Source
/// VMware's proposal of generic hypervisor leaves, also kept by KVM hosts and Xen: CPUID 4000_0010h
/// EAX is the TSC rate in kilohertz.
fn hypervisor(machine: &Machine) -> Reading<f64> {
    let what = "hypervisor's leaf";
    let range = machine.cpuid.leaf(0x4000_0000, 0);
    let range = range.ok_or_else(|| silent(what, "no hypervisor announces itself"))?;
    let kilohertz = match range.eax {
        0x4000_0010.. => machine.cpuid.leaf(0x4000_0010, 0).map_or(0, |leaf| leaf.eax),
        _ => 0,
    };
    if kilohertz == 0 {
        return Err(silent(what, "the hypervisor does not say the TSC's rate (CPUID 40000010h)"));
    }
    Ok(f64::from(kilohertz) * 1e3)
}

fn kernels_rate(answer: io::Result<Option<sys::perf_page::TimeConversion>>) -> Reading<f64> {
    match answer {
        Ok(Some(conversion)) => Ok(conversion.hertz()),
        Ok(None) => Err(silent(
            KERNEL,
            "the kernel publishes no conversion: its scheduler clock is not the plain TSC; \
                 usual in guests",
        )),
        Err(error) => {
            let why = format!("perf_event_open answered `{error}`");
            let refused = Unavailable::new(Obstacle::Permission, KERNEL, why);
            Err(refused.with_remedy(
                "set kernel.perf_event_paranoid to 2 or lower, and let the sandbox allow it",
            ))
        }
    }
}

/// What was measured: the regression, and the regression corrected by what NTP has learnt.
///
/// Where the kernel makes its own time from the same counter (`derived`), the regression can only
/// show what the kernel believes.
fn measured(
    machine: &Machine,
    regression: Option<Regression>,
    derived: &[&str],
) -> [RateReading; 2] {
    let kernels = machine.tree.read(CLOCKSOURCE).unwrap_or_default();
    let independent =
        !kernels.is_empty() && !derived.iter().any(|clock| kernels.starts_with(clock));
    let what = CalibratedRate::MEASURED;
    let name = match regression {
        Some(Regression { spread_ppm, .. }) => format!(
            "{what}, {} windows of {} ms, spread {spread_ppm:.1} ppm",
            regression::WINDOWS,
            regression::WINDOW.as_millis()
        ),
        None => what.into(),
    };
    let hertz = regression
        .map(|regression| regression.hertz)
        .ok_or_else(|| silent(what, "one of the two clocks stands still"));
    let corrected = disciplined(hertz.clone(), sys::adjtimex::read());
    [
        source(&name, hertz, independent, Role::Measured),
        source(ADJTIMEX, corrected, true, Role::Check),
    ]
}

/// NTP makes the kernel's clock run (1 + correction) times as fast as the raw clock, and the result
/// is true time: the counter's true rate is lower by as much.
fn disciplined(
    raw: Reading<f64>,
    discipline: io::Result<sys::adjtimex::Discipline>,
) -> Reading<f64> {
    /// Microseconds times `USER_HZ`: the nominal length of a tick.
    const TICK: i64 = 10_000;
    let discipline = discipline.map_err(|error| {
        let why = format!("adjtimex answered `{error}`");
        Unavailable::new(Obstacle::Permission, ADJTIMEX, why)
    })?;
    if !discipline.synchronised {
        let why = "no time daemon keeps the clock synchronised";
        return Err(Unavailable::new(Obstacle::Permission, ADJTIMEX, why)
            .with_remedy("run a time daemon such as chrony for an hour"));
    }
    let ticks = (discipline.tick - TICK) as f64 / TICK as f64;
    Ok(raw? / (1.0 + discipline.frequency_ppm * 1e-6 + ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_raw_clock_makes_the_counter_look_slow() {
        let discipline = |frequency_ppm, tick, synchronised| {
            Ok(sys::adjtimex::Discipline { synchronised, frequency_ppm, tick })
        };
        let rate = disciplined(Ok(1e9), discipline(100.0, 10_000, true)).unwrap();
        assert!((rate - 0.9999e9).abs() < 20.0, "{rate}");
        let rate = disciplined(Ok(1e9), discipline(0.0, 10_001, true)).unwrap();
        assert!((rate - 0.9999e9).abs() < 20.0, "{rate}");
        assert!(disciplined(Ok(1e9), discipline(0.0, 10_000, false)).is_err());
    }

    #[test]
    fn implausible_rates_are_absences() {
        assert!(source("x", Ok(0.0), true, Role::Rate).hertz.is_err());
        assert!(source("x", Ok(f64::NAN), true, Role::Rate).hertz.is_err());
    }
}
