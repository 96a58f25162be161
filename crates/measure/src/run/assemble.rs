//! From what was measured to the record.

use std::collections::{BTreeMap, BTreeSet};

use machine::Machine;
use machine::conditions;
use machine::instruments::clock::StampClock;
use machine::instruments::traffic::Carried;
use model::areas::{Quantity, memory};
use model::budget::{BUDGET_MAX, more_time};
use model::contradictions;
use model::record::{
    ClockRecord, Conditions, Disturbance, Fact, Instrument, Outcome, PlacedMemory, Plan,
    PlannedWorkload, Record, Run, Samples, Series, ToldCell,
};
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{CpuId, CpuSet, Obstacle, Seconds, Unavailable, Unit, in_order};

use super::area::Area;
use super::controllers::Controllers;
use super::counters::Counters;
use super::sweep::{End, Own, ReasonCounts, Swept};
use super::variant_trials::Trial;
use super::{Planned, Program, Request, Span, events, speed_select};
use crate::run::plan::{CellWork, Workload};

use rig::collect::rounded;
use rig::executor::RunError;
use rig::placement::{self, Placement};
use rig::traffic::Placed;

/// What a record is made of.
pub(super) struct Parts<'a> {
    pub(super) machine: &'a Machine,
    pub(super) request: &'a Request,
    /// The run as it began.
    pub(super) begun: Run,
    pub(super) description: model::record::Machine,
    pub(super) conditions_before: Vec<Fact>,
    pub(super) disturbed: Vec<Fact>,
    pub(super) neighbours: Fact,
    /// What limits clocks, where they were measured.
    pub(super) clock: Option<ClockRecord>,
    /// What the CPUs did, where that was asked for.
    pub(super) activity: Vec<Series>,
    pub(super) stamp_clock: StampClock,
    pub(super) counters: Counters,
    /// Where some cell is counted there.
    pub(super) controllers: Option<Controllers>,
    pub(super) placement: &'a Placement,
    pub(super) program: &'a Program,
    pub(super) run: Swept,
    pub(super) placed: Vec<PlacedMemory>,
    pub(super) seconds: Seconds,
}

pub(super) fn record(parts: Parts<'_>) -> Record {
    let plan = plan(&parts);
    let instruments = instruments(&parts);
    let mut conditions_after = conditions::read(parts.machine);
    conditions_after.extend(parts.disturbed.iter().cloned());
    conditions_after.push(parts.neighbours.clone());
    let Parts { machine, request, run, program, .. } = parts;
    let no_ruler = run
        .rulers
        .iter()
        .filter_map(|(cpu, ruler)| Some((*cpu, ruler.as_ref().err()?.clone())))
        .collect();
    let events = events::of_run(program, &run);
    let mut findings = parts.stamp_clock.findings;
    findings.extend(contradictions::of(&parts.description, &parts.conditions_before));
    findings.extend(parts.counters.finding());
    let mut series = run.collector.into_series(&no_ruler, parts.counters.absent());
    let is_interrupted = matches!(run.end, Some(End::Interrupted));
    let seconds = given(request.span, program, parts.seconds);
    let ended =
        EarlyEnd { run: run.end.as_ref(), spared: &run.spared, failed: &run.failed, seconds };
    series.extend(absent_series(program, &plan, &ended, &series));
    let topology = &parts.description.topology;
    let probes = run.probes.values().filter_map(|probes| placement::typical(probes));
    // A cache that this run measured says itself how long a line within it may take.
    let beside = probes.map(|probe| {
        let last_level = memory::last_level_latency(topology, probe.pair[0], &series);
        placement::Probe { last_level, ..probe }
    });
    findings.extend(placement::contradictions(beside, topology));
    let (seconds, cpus) = (parts.seconds.0, plan.cpus.len());
    findings.extend(machine::disturbances::findings(&parts.disturbed, seconds, cpus));
    series.extend(own_series(run.own, run.probes));
    let idle = parts.controllers.as_ref().map_or(&[][..], Controllers::idle);
    series.extend(idle_series(&plan.cpus, idle));
    series.extend(trials(program, run.trials));
    series.extend(parts.activity);
    run.judged.refuse(&mut series);
    findings.extend(run.judged.findings());
    let compared = run.judged.compared;
    let run = Run {
        seconds: parts.seconds.0,
        interrupted: is_interrupted.then(|| "stopped".to_owned()),
        plan,
        events,
        ..parts.begun
    };
    Record {
        conditions: Conditions { before: parts.conditions_before, after: conditions_after },
        instruments,
        series,
        clock: parts.clock,
        speed_select: speed_select::told(machine, &program.areas),
        answers: compared,
        findings,
        ..Record::new(run, parts.description)
    }
}

/// Notes which cells a reason spared, and which met it.
pub(super) fn tell(
    mut clock: ClockRecord,
    program: &Program,
    told: &BTreeMap<usize, BTreeMap<String, ReasonCounts>>,
) -> ClockRecord {
    for reason in &mut clock.reasons {
        for (&cell, reasons) in told {
            let Some(&ReasonCounts { clear, came_up, untold }) = reasons.get(&reason.source) else {
                continue;
            };
            let list = match (clear, came_up) {
                (_, 1..) => &mut reason.met,
                (1.., 0) => &mut reason.spared,
                // What was logged before its first block tells nothing of it.
                (0, 0) => continue,
            };
            let cell = &program.cell(cell).cell;
            let active: CpuSet = cell.cpus().into_iter().collect();
            let of = |it: Workload| {
                let (workload, active) = (it.id.to_owned(), active.clone());
                ToldCell { workload, active, clear, untold }
            };
            list.extend(cell.workloads().into_iter().map(of));
        }
    }
    clock
}

fn plan(parts: &Parts<'_>) -> Plan {
    let spared = parts.run.spared.iter().map(|cell| parts.program.cell(*cell));
    let cells = parts.program.cells.iter().chain(spared);
    let mut active: Vec<u32> = cells.map(|planned| planned.cell.cpus().len() as u32).collect();
    active.sort_unstable();
    active.dedup();
    Plan {
        budget_seconds: parts.program.time.0,
        cpus: parts.placement.cpus.iter().copied().collect(),
        placement: parts.placement.reason.clone(),
        manner: manner(parts.request),
        areas: in_order(parts.program.areas.iter().map(|area| area.word().to_owned())),
        workloads: streams(parts).into_iter().map(workload).collect(),
        active_cores: active,
        blocks_planned: parts.run.sweeps_planned,
        blocks_done: parts.run.sweeps_done,
        seed: parts.run.seed,
        bytes: parts.request.bytes,
        memory: parts.placed.clone(),
    }
}

/// Memory that was measured in, as far as it is still there, and the pages that it really came in.
pub(super) fn placed(machine: &Machine, placed: &[Placed]) -> Vec<PlacedMemory> {
    placed.iter().map(|placed| memory(machine, placed)).collect()
}

fn memory(machine: &Machine, placed: &Placed) -> PlacedMemory {
    let Placed { cpu, store, range } = placed;
    let (address, bytes) = *range;
    let backing = machine::memory::backing(machine, &(address..address + bytes));
    PlacedMemory {
        cpu: *cpu,
        content: store.content.word().to_owned(),
        bytes: store.bytes,
        pages: store.pages.name().to_owned(),
        node: store.node,
        as_asked: backing.as_ref().ok().and_then(|backing| backing.share_of(store.pages)),
        backing: backing.map(|backing| backing.to_string()).into(),
    }
}

/// The streams that were asked for, and those that areas chose themselves.
fn streams(parts: &Parts<'_>) -> Vec<&'static kernels::StreamRow> {
    let executes = |planned: &&Planned| matches!(planned.cell.work, CellWork::Streams(_));
    let cells = parts.program.cells.iter().filter(executes);
    let chosen = cells.flat_map(|planned| planned.cell.workloads());
    let chosen = chosen.map(|workload| workload.id);
    let ids = parts.request.streams.iter().map(|row| row.id).chain(chosen);
    in_order(ids).into_iter().filter_map(kernels::streams::find).collect()
}

fn workload(row: &'static kernels::StreamRow) -> PlannedWorkload {
    PlannedWorkload {
        id: row.id.to_owned(),
        title: row.title.to_owned(),
        kind: row.kind.word().to_owned(),
        width_bits: row.width_bits,
        licence: Some(rig::streams::licence(row)),
        mnemonic: Some(row.mnemonic.to_owned()),
        ops_per_iteration: row.ops_per_iteration,
        datatype: row.datatype(),
        operations_per_op: row.operations_per_op(),
    }
}

/// How threads take part, and what else is unusual about the run.
fn manner(request: &Request) -> Option<String> {
    let words: Vec<String> =
        request.manner.words().into_iter().chain(request.remark.clone()).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The clocks, and the rulers that were calibrated with them.
fn instruments(parts: &Parts<'_>) -> Vec<Instrument> {
    use model::record::InstrumentState;
    let mut instruments = parts.stamp_clock.instruments.clone();
    let own_cost = own_cost(parts);
    let known: Vec<u32> =
        parts.run.rulers.values().flatten().map(|ruler| ruler.latency_cycles).collect();
    let mut latencies = known.clone();
    latencies.sort_unstable();
    latencies.dedup();
    let words: Vec<String> = latencies.iter().map(u32::to_string).collect();
    let state = match (words.as_slice(), own_cost) {
        ([], _) | (_, None) => InstrumentState::Unavailable {
            unavailable: parts.run.rulers.values().find_map(|r| r.clone().err()).unwrap_or_else(
                || {
                    let why = if parts.program.cells.is_empty() {
                        "none of the streams could be run"
                    } else {
                        "the run ended before it was calibrated"
                    };
                    Unavailable::new(Obstacle::Measurement, "core clock", why)
                },
            ),
        },
        (_, Some(own_cost_seconds)) => InstrumentState::Used {
            unit: Unit::Cycle,
            // A multiply is the least that the chain can tell.
            resolution: f64::from(latencies[0]),
            own_cost_seconds,
            rate: None,
        },
    };
    instruments.push(parts.counters.instrument());
    instruments.extend(parts.controllers.as_ref().map(Controllers::instrument));
    instruments.push(Instrument {
        id: "multiply_chain".to_owned(),
        source: format!(
            "serial multiplies; {} cycles each by the add chain, on {} of {} CPUs",
            if words.is_empty() { "unknown".to_owned() } else { words.join(" or ") },
            known.len(),
            parts.run.rulers.len()
        ),
        measures: "core cycles".to_owned(),
        state,
    });
    instruments
}

/// The empty repetition, as measured in this run.
fn own_cost(parts: &Parts<'_>) -> Option<f64> {
    let samples: Vec<f64> =
        parts.run.own.values().flat_map(|own| own.repetition.concat()).collect();
    model::stats::median(&samples)
}

/// What ended before its time: the run, or cells of it.
struct EarlyEnd<'a> {
    run: Option<&'a End>,
    /// What was measured in the time that was left.
    spared: &'a BTreeSet<usize>,
    failed: &'a BTreeMap<usize, RunError>,
    /// The time that the run had.
    seconds: Seconds,
}

impl EarlyEnd<'_> {
    /// Whether a cell had its turn where sweeps were done; what is gone through once comes after all of them.
    fn let_run(&self, planned: &Planned) -> bool {
        match self.run {
            None => true,
            Some(End::Interrupted | End::OutOfTime) => !planned.cell.is_once(),
            Some(End::Lost { .. } | End::Failed(_)) => false,
        }
    }
}

/// A series without numbers for everything that was not measured at all.
fn absent_series(
    program: &Program,
    plan: &Plan,
    ended: &EarlyEnd<'_>,
    measured: &[Series],
) -> Vec<Series> {
    let first = plan.cpus.iter().next().unwrap_or(CpuId(0));
    let cannot = program.absent.iter().flat_map(|(area, workload, reason)| {
        let active = [first].into_iter().collect();
        series_without(program.areas[*area], workload, first, &active, reason)
    });
    let is_spared = |index: usize| ended.spared.contains(&(program.cells.len() + index));
    let left_out = program.left_out.iter().enumerate().filter(|(index, _)| !is_spared(*index));
    let no_time = left_out.flat_map(|(_, planned)| {
        let what = if planned.cell.is_once() { "it" } else { "five blocks of it" };
        let why = format!("{what} did not fit into half of {} s", plan.budget_seconds);
        let remedy = time_for_all(program, plan.budget_seconds);
        cell_without(program, planned, |what| {
            Unavailable::new(Obstacle::Measurement, what, why.as_str()).with_remedy(remedy.as_str())
        })
    });
    let spared = ended.spared.iter().map(|index| (*index, program.cell(*index)));
    let stopped = program.cells.iter().enumerate().chain(spared).filter(|(_, planned)| {
        let active: CpuSet = planned.cell.cpus().into_iter().collect();
        let workload = planned.cell.workloads()[0].id;
        let of_cell = |series: &Series| {
            series.area == program.areas[planned.area].word()
                && series.workload == workload
                && series.active == active
                && planned.cell.parameters.iter().all(|(k, v)| series.parameters.get(k) == Some(v))
        };
        !measured.iter().any(of_cell)
    });
    let stopped = stopped.flat_map(|(cell, planned)| {
        cell_without(program, planned, |what| match events::end_of(program, ended.failed, cell) {
            Some(error) => error.reason(what),
            None if plan.blocks_done > 0 && ended.let_run(planned) => {
                Unavailable::new(Obstacle::Measurement, what, "none of its blocks gave a number")
            }
            None => not_reached(planned, ended, what),
        })
    });
    cannot.chain(no_time).chain(stopped).collect()
}

/// The time that a run had: what it was given, or, where it was only planned, what it took.
fn given(span: Span, program: &Program, took: Seconds) -> Seconds {
    match span {
        Span::Budget(time) | Span::All(time) => time,
        Span::Bounded(_) | Span::Blocks(_) => Seconds(program.time.0.max(took.0)),
    }
}

/// Why a cell that was planned has no block.
fn not_reached(planned: &Planned, ended: &EarlyEnd<'_>, what: String) -> Unavailable {
    let reason = |why: String| Unavailable::new(Obstacle::Measurement, what, why);
    match ended.run {
        None | Some(End::Interrupted) => {
            reason("the run was stopped before it was measured".to_owned())
        }
        Some(End::OutOfTime) => {
            let seconds = ended.seconds.0;
            reason(format!("the {seconds:.1} s of the run ended before it was measured"))
                .with_remedy(more_time(seconds * 2.0))
        }
        Some(End::Lost { cpu, why }) => {
            let is_its = planned.cell.cpus().contains(cpu);
            let why = if is_its {
                format!("CPU {cpu} was lost during the run: {why}")
            } else {
                format!("the run ended before it was measured, when CPU {cpu} was lost")
            };
            reason(why).with_remedy(events::WITHOUT_LOST)
        }
        Some(End::Failed(error)) => {
            reason(format!("the run ended before it was measured: {error}"))
        }
    }
}

/// The budget that everything would fit into.
pub(super) fn time_for_all(program: &Program, budget_seconds: f64) -> String {
    let all = program.cells.iter().chain(&program.left_out);
    let block = all.map(|planned| planned.cell.cost().0).sum::<f64>();
    // Five blocks within half of it, and a tenth for probes and calibration.
    let needed = (block * BLOCKS_FOR_INTERVAL as f64 * 2.0 * 1.1).max(budget_seconds).ceil();
    if needed > BUDGET_MAX {
        return "measure fewer at once: --cpus LIST or fewer streams".to_owned();
    }
    more_time(needed)
}

/// Every workload of a cell without numbers, on the first CPU that would have executed it.
fn cell_without(
    program: &Program,
    planned: &Planned,
    reason: impl Fn(String) -> Unavailable,
) -> Vec<Series> {
    let area = program.areas[planned.area];
    let active: CpuSet = planned.cell.cpus().into_iter().collect();
    let mut all = Vec::new();
    for Workload { id, cpu, .. } in planned.cell.workloads() {
        let reason = reason(format!("{id} with {} active", active.len()));
        let without = series_without(area, id, cpu, &active, &reason);
        let parameters = &planned.cell.parameters;
        all.extend(without.into_iter().map(|s| Series { parameters: parameters.clone(), ..s }));
    }
    all
}

fn series_without(
    area: &Area,
    workload: &str,
    cpu: CpuId,
    active: &CpuSet,
    reason: &Unavailable,
) -> Vec<Series> {
    let of_quantity = |quantity: &Quantity| Series {
        area: area.word().to_owned(),
        workload: workload.to_owned(),
        quantity: quantity.id.to_owned(),
        unit: quantity.unit,
        parameters: BTreeMap::new(),
        cpu,
        active: active.clone(),
        placement_class: None,
        outcome: Outcome::Unavailable { unavailable: reason.clone() },
        fixed_cost: None,
        disturbance: Disturbance::default(),
    };
    area.quantities.iter().filter(|q| (area.offers)(workload, q)).map(of_quantity).collect()
}

/// What was tried before the first sweep: one block each, so that there is no interval.
fn trials(program: &Program, trials: Vec<Trial>) -> Vec<Series> {
    let of = |trial: Trial| {
        let samples = Samples::Plain(vec![trial.samples.into_iter().map(rounded).collect()]);
        let summary = samples.summary()?;
        let mut parameters = trial.parameters;
        parameters.insert("question".to_owned(), "trial".to_owned());
        Some(Series {
            area: program.areas[trial.area].word().to_owned(),
            workload: trial.workload.to_owned(),
            quantity: "bandwidth".to_owned(),
            unit: Unit::BytePerSecond,
            parameters,
            cpu: trial.cpus[0],
            active: trial.cpus.iter().copied().collect::<CpuSet>(),
            placement_class: None,
            outcome: Outcome::Measured { samples, summary },
            fixed_cost: None,
            disturbance: Disturbance::default(),
        })
    };
    trials.into_iter().filter_map(of).collect()
}

/// What memory controllers carried before the run and after it, while this process slept: area `rig`.
fn idle_series(cpus: &CpuSet, idle: &[Vec<Carried>]) -> Vec<Series> {
    let Some(first) = cpus.iter().next() else { return Vec::new() };
    let of = |quantity, way: fn(&Carried) -> f64| {
        let block = |windows: &Vec<Carried>| windows.iter().map(|it| rounded(way(it))).collect();
        let blocks = idle.iter().map(block).collect();
        rig_series("memory", quantity, Unit::BytePerSecond, &[first], blocks)
    };
    let series = [of("idle_read", |carried| carried.read), of("idle_write", |it| it.written)];
    series.into_iter().flatten().collect()
}

/// A series of the area `rig`.
fn rig_series(
    workload: &str,
    quantity: &str,
    unit: Unit,
    cpus: &[CpuId],
    blocks: Vec<Vec<f64>>,
) -> Option<Series> {
    let samples = Samples::Plain(blocks);
    let summary = samples.summary()?;
    Some(Series {
        area: "rig".to_owned(),
        workload: workload.to_owned(),
        quantity: quantity.to_owned(),
        unit,
        parameters: BTreeMap::new(),
        cpu: cpus[0],
        active: cpus.iter().copied().collect::<CpuSet>(),
        placement_class: None,
        outcome: Outcome::Measured { samples, summary },
        fixed_cost: None,
        disturbance: Disturbance::default(),
    })
}

/// What the rig measured of itself: area `rig`.
fn own_series(
    own: BTreeMap<CpuId, Own>,
    probes: BTreeMap<[CpuId; 2], Vec<placement::Probe>>,
) -> Vec<Series> {
    let mut all = Vec::new();
    for (cpu, own) in own {
        all.extend(rig_series("null", "repetition_cost", Unit::Second, &[cpu], own.repetition));
        all.extend(rig_series("ruler", "quiet_clock", Unit::Hertz, &[cpu], own.quiet_clock));
        all.extend(rig_series("ruler", "clock_after", Unit::Hertz, &[cpu], own.clock_after));
    }
    for (pair, probes) in probes {
        let blocks =
            |of: fn(&placement::Probe) -> f64| probes.iter().map(|p| vec![of(p)]).collect();
        let (trips, shares) = (blocks(|p| p.round_trip.0), blocks(|p| p.share_together));
        all.extend(rig_series("placement_probe", "round_trip", Unit::Second, &pair, trips));
        all.extend(rig_series("placement_probe", "share_together", Unit::One, &pair, shares));
    }
    all
}
