//! Each core alone: which are the fastest, and whether they are those that firmware calls so.

use std::collections::BTreeMap;

use machine::Machine;
use model::page::{Align, Block, Table, Text, Tone};
use model::record::{Record, Series};
use model::stats::median;
use model::{CpuId, Seconds};

use super::super::{Cell, Errand, Planning, Run, Work, series_of};
use super::{AREA, phases};
use crate::rig::executor::{Executor, RunError};
use crate::rig::job::{Load, Manner, Member, Phase, Repeat, Tools};
use crate::rig::protocol;
use crate::rig::reduce::{self, Readings};
use crate::rig::ruler::Rulers;
use crate::streams;

/// Its workload: the lightest stream on one core, all others idle.
pub(super) const WORKLOAD: &str = "each core";

/// Its quantity.
pub(super) const CLOCK: &str = "core_clock";

/// Of more cores than this a page shows the first and the last.
const SHOWN_MAX: usize = 16;

/// One core alone.
struct Alone {
    cpu: CpuId,
    load: Load,
    phases: Vec<Phase>,
    tools: Tools,
}

/// A cell for each core; none where the stream cannot be run.
pub(super) fn cells(plan: &Planning<'_>) -> Vec<Cell> {
    let row = kernels::streams::TABLE.iter().find(|row| row.id == "scalar_iadd");
    let load =
        row.and_then(|row| Some((row, streams::load(plan.machine, row, super::super::DATA).ok()?)));
    let (Some((row, load)), Ok(tools)) = (load, streams::tools(plan.machine)) else {
        return Vec::new();
    };
    let cell = |&cpu: &CpuId| {
        let alone = Alone { cpu, load, phases: phases(row), tools };
        Cell { work: Work::Errand(Box::new(alone)), parameters: BTreeMap::new() }
    };
    plan.placement.cpus.iter().map(cell).collect()
}

impl Errand for Alone {
    fn order(&self) -> usize {
        super::ORDER_OF_QUESTIONS
    }

    fn workload(&self) -> &'static str {
        WORKLOAD
    }

    fn cpus(&self) -> Vec<CpuId> {
        vec![self.cpu]
    }

    fn duration(&self) -> Seconds {
        protocol::duration(&self.phases)
    }

    fn run(
        &self,
        executor: &mut dyn Executor,
        rulers: &Rulers,
        _machine: &Machine,
    ) -> Result<Run, RunError> {
        let job = Repeat {
            members: vec![Member::new(self.cpu, self.load)],
            phases: self.phases.clone(),
            tools: self.tools,
            manner: Manner::USUAL,
        };
        let raw = executor.repeat(&job)?;
        let ruler = match rulers.get(&self.cpu) {
            Some(Ok(ruler)) => ruler,
            Some(Err(reason)) => return Ok(Run::or_reason(Err(reason.clone()), [CLOCK])),
            None => return Ok(Run::default()),
        };
        let member = &raw.members[0];
        let reduced = reduce::reduce(member, self.load, &job, Some(ruler), executor.rate());
        // A block that somebody disturbed has no samples.
        let clock = if reduced.contended() { Vec::new() } else { reduced.clock };
        let readings = Readings::from([(CLOCK, Ok(clock))]);
        Ok(Run { around: member.around, readings, ..Run::default() })
    }
}

/// A core with its clock alone and the level that firmware gives it.
struct Core {
    cpu: CpuId,
    hertz: f64,
    /// Half the interval of its median.
    uncertainty: Option<f64>,
    level: Option<u32>,
}

fn cores(record: &Record) -> Vec<Core> {
    let core = |series: &Series| {
        let summary = series.summary()?;
        let levels = record.clock.iter().flat_map(|clock| &clock.levels);
        let level =
            levels.filter(|level| level.cpus.contains(series.cpu)).map(|it| it.highest).next();
        let uncertainty = summary.relative_uncertainty().map(|share| share * summary.median);
        Some(Core { cpu: series.cpu, hertz: summary.median, uncertainty, level })
    };
    let mut cores: Vec<Core> = series_of(record, AREA, CLOCK).filter_map(core).collect();
    cores.sort_by(|a, b| b.hertz.total_cmp(&a.hertz).then(a.cpu.cmp(&b.cpu)));
    cores
}

/// The cores by their clock alone, beside the ranking of the firmware.
pub(super) fn blocks(record: &Record) -> Option<Block> {
    let cores = cores(record);
    if cores.len() < 2 {
        return None;
    }
    let line = |(rank, core): (usize, &Core)| {
        let spread = core.uncertainty.map_or(String::new(), |it| format!(" ± {:.0}", it / 1e6));
        vec![
            Text::from((rank + 1).to_string()),
            Text::from(core.cpu.to_string()),
            Text::from(format!("{:.0}{spread}", core.hertz / 1e6)),
            core.level.map_or(Text::toned("-", Tone::Faint), |level| level.to_string().into()),
        ]
    };
    let mut rows: Vec<Vec<Text>> = cores.iter().enumerate().map(line).collect();
    let mut notes = vec![verdict(&cores)];
    if rows.len() > SHOWN_MAX {
        let left_out = rows.len() - SHOWN_MAX;
        rows.drain(SHOWN_MAX / 2..SHOWN_MAX / 2 + left_out);
        notes.push(format!("{left_out} cores between are in the record"));
    }
    let columns = [("rank", Align::Right), ("CPU", Align::Right), ("MHz alone", Align::Right)];
    let columns = columns.into_iter().chain([("firmware's level", Align::Right)]);
    Some(Block::Table(Table {
        caption: "each core alone under scalar_iadd, MHz (higher is better)".to_owned(),
        columns: columns.map(|(name, align)| (name.to_owned(), align)).collect(),
        rows,
        notes,
    }))
}

/// Whether cores that firmware calls faster are so.
fn verdict(cores: &[Core]) -> String {
    /// Less than this between groups of cores is what clocks drift by.
    const DIFFERENT: f64 = 0.005;
    let levels: Option<Vec<u32>> = cores.iter().map(|core| core.level).collect();
    let Some(levels) = levels else {
        return "firmware states no level of each core (CPPC), so that there is no ranking to compare with"
            .to_owned();
    };
    let (low, high) = (levels.iter().min(), levels.iter().max());
    let (Some(low), Some(high)) = (low, high) else { return String::new() };
    let fastest = cores.first().map_or(f64::NAN, |core| core.hertz);
    let slowest = cores.last().map_or(f64::NAN, |core| core.hertz);
    if low == high {
        let spread = (fastest / slowest - 1.0) * 100.0;
        return format!(
            "firmware gives all cores level {high}; measured they lie {spread:.1} % apart"
        );
    }
    let middle = |favoured: bool| {
        let of = cores.iter().filter(|core| (core.level == Some(*high)) == favoured);
        median(&of.map(|core| core.hertz).collect::<Vec<_>>())
    };
    let Some((favoured, others)) = middle(true).zip(middle(false)) else { return String::new() };
    let change = favoured / others - 1.0;
    let answer = match change {
        it if it > DIFFERENT => "as measured, too",
        it if it < -DIFFERENT => "though they are slower as measured",
        _ => "which is not to be seen here",
    };
    format!(
        "firmware favours the cores of level {high}, {answer}: {:+.1} % against the others",
        change * 100.0
    )
}
