//! Interrupts and SMIs that came to each CPU.

use model::{CpuId, Reading, Unit};

use super::{Column, ColumnSource, LookContext, Places, Scope, no_interval};
use crate::interrupts::{InterruptTable, SmiCounter, TABLE};
use crate::ports::Machine;
use model::growth::grown;

const IRQ: &str = "IRQ";
const SMI: &str = "SMI";

pub(super) const IRQ_COLUMNS: &[(&str, &str, Unit)] = &[(IRQ, "interrupts", Unit::Count)];
pub(super) const SMI_COLUMNS: &[(&str, &str, Unit)] = &[(SMI, "smis", Unit::Count)];

/// The kernel's counts of all lines.
struct ByTable {
    last: Option<Reading<InterruptTable>>,
}

pub(super) fn by_table(machine: &Machine, places: &Places) -> Reading<Box<dyn ColumnSource>> {
    InterruptTable::read(machine)?.of(&places.carriers(Scope::Cpu).into_iter().collect())?;
    Ok(Box::new(ByTable { last: None }))
}

impl ColumnSource for ByTable {
    fn columns(&self) -> Vec<Column> {
        super::of_each_cpu(IRQ_COLUMNS, TABLE)
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        let now = InterruptTable::read(look.machine);
        let last = self.last.replace(now.clone()).unwrap_or_else(|| Err(no_interval(IRQ)));
        let both = now.and_then(|now| Ok((now, last?)));
        let came = |cpu| {
            let (now, last) = both.as_ref().map_err(Clone::clone)?;
            now.came_since(last, cpu)
        };
        vec![look.places.carriers(Scope::Cpu).into_iter().map(came).collect()]
    }
}

/// The register of each CPU.
struct ByRegister {
    counter: SmiCounter,
    last: Option<Vec<Reading<u64>>>,
}

pub(super) fn by_register(machine: &Machine, places: &Places) -> Reading<Box<dyn ColumnSource>> {
    let first = places.carriers(Scope::Cpu).first().copied().unwrap_or(CpuId(0));
    Ok(Box::new(ByRegister { counter: SmiCounter::of(machine, first)?, last: None }))
}

impl ColumnSource for ByRegister {
    fn columns(&self) -> Vec<Column> {
        super::of_each_cpu(SMI_COLUMNS, "MSR 34h, MSR_SMI_COUNT")
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        let cpus = look.places.carriers(Scope::Cpu);
        let now: Vec<Reading<u64>> = cpus.iter().map(|&cpu| self.counter.read(cpu)).collect();
        let Some(last) = self.last.replace(now.clone()) else {
            return vec![vec![Err(no_interval(SMI)); cpus.len()]];
        };
        let came =
            |(now, last): (Reading<u64>, Reading<u64>)| grown(SMI, now? as f64, last? as f64);
        vec![now.into_iter().zip(last).map(came).collect()]
    }
}
