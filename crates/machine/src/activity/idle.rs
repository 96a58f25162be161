//! Idle states, as they were asked for.

use std::time::Duration;

use model::{CpuId, Obstacle, Reading, Unavailable, Unit};

use super::{Column, ColumnSource, LookContext, Places, Scope, no_interval};
use crate::facts::fact_cache::Survey;
use crate::facts::idle::{folder, numbers};
use crate::parse::whole_number;
use crate::ports::{Machine, Tree};
use model::growth::grown;

const QUANTITY: &str = "idle_share";

/// Which states there are, the kernel says.
pub(super) const COLUMNS: &[(&str, &str, Unit)] = &[("C1%", QUANTITY, Unit::One)];

/// `time` of each state of each CPU.
struct States {
    /// Name and number.
    states: Vec<(String, u32)>,
    last: Option<(Duration, Vec<Vec<Reading<f64>>>)>,
}

pub(super) fn open(machine: &Machine, places: &Places) -> Reading<Box<dyn ColumnSource>> {
    let first = places.cpus.first().map_or(CpuId(0), |place| place.cpu);
    let folder = folder(first);
    let mut states = Vec::new();
    for number in numbers(&Survey::new(machine), &folder)? {
        states.push((machine.tree.read(&format!("{folder}/state{number}/name"))?, number));
    }
    Ok(Box::new(States { states, last: None }))
}

impl ColumnSource for States {
    fn columns(&self) -> Vec<Column> {
        let column = |(name, number): &(String, u32)| Column {
            header: format!("{name}%").into(),
            quantity: QUANTITY,
            part: Some(name.clone()),
            unit: Unit::One,
            scope: Scope::Cpu,
            source: format!("cpuidle/state{number}/time: the state that was asked for").into(),
        };
        self.states.iter().map(column).collect()
    }

    fn read(&mut self, look: &LookContext<'_>) -> Vec<Vec<Reading<f64>>> {
        let cpus = look.places.carriers(Scope::Cpu);
        let tree = look.machine.tree.as_ref();
        let of = |number: u32| cpus.iter().map(|&cpu| seconds(tree, cpu, number)).collect();
        let now: Vec<Vec<Reading<f64>>> =
            self.states.iter().map(|(_, number)| of(*number)).collect();
        let last = self.last.replace((look.now, now.clone()));
        let Some((then, before)) = last else {
            let nothing = || Err(no_interval("idle states"));
            return now.iter().map(|of| of.iter().map(|_| nothing()).collect()).collect();
        };
        let elapsed = look.now.saturating_sub(then).as_secs_f64();
        let share = |(now, then): (Reading<f64>, Reading<f64>)| {
            // A state that was entered before the interval is counted where it ends.
            Ok((grown("idle states", now?, then?)? / elapsed).min(1.0))
        };
        let of_state = |(now, then): (Vec<Reading<f64>>, Vec<Reading<f64>>)| {
            now.into_iter().zip(then).map(share).collect()
        };
        now.into_iter().zip(before).map(of_state).collect()
    }
}

fn seconds(tree: &dyn Tree, cpu: CpuId, state: u32) -> Reading<f64> {
    let path = format!("{}/state{state}/time", folder(cpu));
    let text = tree.read(&path)?;
    let microseconds = whole_number(&path, &text)
        .map_err(|reason| Unavailable::new(Obstacle::Cpudyno, "idle states", reason.why))?;
    Ok(microseconds as f64 * 1e-6)
}
