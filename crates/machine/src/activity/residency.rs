//! Time in idle states that the hardware entered, by its registers, where the kernel has no PMU for them.

use model::{CpuId, Obstacle, Reading, Unavailable, Unit};
use sys::clock::{Probe, Tsc};

use super::{Column, ColumnSource, LookContext, Places, Scope, no_interval, share_of_ticks};
use crate::ports::Machine;
use model::growth::grown;

const QUANTITY: &str = "residency";

/// Name of a state and the register that counts TSC ticks in it.
///
/// # Source
/// Intel SDM volume 4, `MSR_CORE_C3_RESIDENCY` 3FCh and its neighbours; `MSR_PKG_C2_RESIDENCY` 60Dh,
/// `MSR_PKG_C3_RESIDENCY` 3F8h and its neighbours.
const OF_CORES: &[(&str, u32)] = &[("c3", 0x3fc), ("c6", 0x3fd), ("c7", 0x3fe)];
const OF_PACKAGES: &[(&str, u32)] =
    &[("pc2", 0x60d), ("pc3", 0x3f8), ("pc6", 0x3f9), ("pc7", 0x3fa)];

/// Those of a kind that this machine has.
struct ResidencyRegisters {
    scope: Scope,
    prefix: &'static str,
    states: Vec<(&'static str, u32)>,
    tsc: Tsc,
    last: Option<(u64, Vec<Vec<Reading<u64>>>)>,
}

pub(super) fn of_cores(machine: &Machine, places: &Places) -> Reading<Box<dyn ColumnSource>> {
    opened(machine, places, Scope::Core, "CPU%", OF_CORES)
}

pub(super) fn of_packages(machine: &Machine, places: &Places) -> Reading<Box<dyn ColumnSource>> {
    opened(machine, places, Scope::Package, "Pkg%", OF_PACKAGES)
}

fn opened(
    machine: &Machine,
    places: &Places,
    scope: Scope,
    prefix: &'static str,
    states: &[(&'static str, u32)],
) -> Reading<Box<dyn ColumnSource>> {
    /// EBX of CPUID leaf 0 is the start of `GenuineIntel`.
    const INTEL: u32 = u32::from_le_bytes(*b"Genu");
    let absent = |why: &str| Unavailable::new(Obstacle::Hardware, QUANTITY, why);
    if machine.cpuid.leaf(0, 0).is_none_or(|leaf| leaf.ebx != INTEL) {
        return Err(absent("only CPUs of Intel have registers of it"));
    }
    let first = places.carriers(scope).first().copied().unwrap_or(CpuId(0));
    let tsc = Tsc::invariant().filter(|_| machine.simulated.is_none());
    let tsc = tsc.ok_or_else(|| {
        absent("residency is counted in ticks of an invariant TSC, which cannot be read here")
    })?;
    let read: Vec<Reading<u64>> =
        states.iter().map(|state| machine.msr.read(first, state.1)).collect();
    let there: Vec<(&'static str, u32)> = states
        .iter()
        .zip(&read)
        .filter(|(_, read)| read.is_ok())
        .map(|(state, _)| *state)
        .collect();
    match read.into_iter().find_map(Result::err) {
        Some(reason) if there.is_empty() => Err(reason),
        _ => Ok(Box::new(ResidencyRegisters { scope, prefix, states: there, tsc, last: None })),
    }
}

impl ColumnSource for ResidencyRegisters {
    fn columns(&self) -> Vec<Column> {
        let column = |(state, _): &(&'static str, u32)| Column {
            header: format!("{}{state}", self.prefix).into(),
            quantity: QUANTITY,
            part: Some((*state).to_owned()),
            unit: Unit::One,
            scope: self.scope,
            source: "registers of residency".into(),
        };
        self.states.iter().map(column).collect()
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        let carriers = look.places.carriers(self.scope);
        let of_state = |(_, register): &(&'static str, u32)| -> Vec<Reading<u64>> {
            carriers.iter().map(|&cpu| look.machine.msr.read(cpu, *register)).collect()
        };
        let now: Vec<Vec<Reading<u64>>> = self.states.iter().map(of_state).collect();
        let stamp = self.tsc.stamp();
        let last = self.last.replace((stamp, now.clone()));
        let value = |state: usize, carrier: usize| -> Reading<f64> {
            let (then, before) = last.as_ref().ok_or_else(|| no_interval(QUANTITY))?;
            let (now, before) = (now[state][carrier].clone()?, before[state][carrier].clone()?);
            share_of_ticks(QUANTITY, grown(QUANTITY, now as f64, before as f64)?, stamp, *then)
        };
        let of_state = |state| (0..carriers.len()).map(|carrier| value(state, carrier)).collect();
        (0..self.states.len()).map(of_state).collect()
    }
}
