//! Busy and stolen time by the kernel's own account.

use model::{CpuId, Obstacle, Reading, Unavailable, Unit};

use super::{Column, ColumnSource, LookContext, Places, Scope, no_interval};
use crate::cpu_load::{BusyCpu, BusySnapshot};
use crate::ports::Machine;

pub(super) const BUSY: (&str, &str, Unit) = ("Busy%", "busy_share", Unit::One);
const STEAL: (&str, &str, Unit) = ("Steal%", "steal_share", Unit::One);

pub(super) const COLUMNS: &[(&str, &str, Unit)] = &[BUSY, STEAL];

/// `/proc/stat`, in steps of 10 ms.
struct Account {
    last: Option<Reading<BusySnapshot>>,
}

pub(super) fn open(machine: &Machine, _: &Places) -> Reading<Box<dyn ColumnSource>> {
    BusySnapshot::read(machine)?;
    Ok(Box::new(Account { last: None }))
}

impl ColumnSource for Account {
    fn columns(&self) -> Vec<Column> {
        super::of_each_cpu(COLUMNS, "/proc/stat, in steps of 10 ms")
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        let read = BusySnapshot::read(look.machine);
        let last = self.last.replace(read.clone());
        let spent = last
            .unwrap_or_else(|| Err(no_interval("time of the CPUs")))
            .and_then(|last| Ok(read?.since(&last)));
        let cpus = look.places.carriers(Scope::Cpu);
        let of_all = |value: fn(&BusyCpu) -> f64| -> Vec<Reading<f64>> {
            let of = |cpu: &CpuId| {
                let spent = spent.as_ref().map_err(Clone::clone)?;
                spent
                    .get(cpu)
                    .ok_or_else(|| unsaid(*cpu))?
                    .as_ref()
                    .map(value)
                    .map_err(Clone::clone)
            };
            cpus.iter().map(of).collect()
        };
        vec![of_all(|spent| spent.share), of_all(|spent| spent.steal)]
    }
}

fn unsaid(cpu: CpuId) -> Unavailable {
    let why = format!(
        "`/proc/stat` has no line of CPU {cpu} at the beginning or at the end of the interval"
    );
    Unavailable::new(Obstacle::Measurement, "time of the CPUs", why)
}
