//! What `cpudyno turbo` measures: streams or a mix of them, on numbers of cores.

use kernels::StreamRow;
use machine::instruments::clock::RateChoice;
use model::record::Presentation;
use model::stats::BLOCKS_FOR_INTERVAL;
use model::{CpuId, Obstacle, Seconds, Unavailable};

use super::super::datatypes::{self, DATATYPES};
use super::super::energy::{self, ENERGY};
use super::super::interference::{self, INTERFERENCE};
use super::super::memory::{self, MEMORY};
use super::super::preferred_cores::{self, PREFERRED_CORES};
use super::super::sustained::{self, SUSTAINED};
use super::super::transitions::{self, TRANSITIONS};
use super::{TURBO, active, asked, is_heavy, phases};
use crate::run::area::Area;
use crate::run::plan::{Active, Cell, DATA, Planning, Proposal};
use crate::run::{AreaRequest, Error, Request, Span};
use rig::job::{Manner, Member, Phase};
use rig::placement::{Choice, Refusal};
use rig::protocol;
use rig::streams;

/// What is executed.
#[derive(Debug, Clone)]
pub enum Tests {
    /// Each of these on all active cores alike.
    Streams(Vec<&'static StreamRow>),
    /// All of these at once, each on so many cores.
    Spec(Vec<(&'static StreamRow, usize)>),
    /// What holds the clock down: light and heavy streams on one core and on all, and each core alone.
    Why,
    /// A light and a heavy stream on all cores, each for so long.
    Sustain(Seconds),
    /// What neighbours cost a victim.
    Neighbours,
    /// Multiply-adds of every datatype, and what memory gives them.
    Datatypes,
    /// What these streams do in a duty cycle of so long a period.
    Trace(Vec<&'static StreamRow>, Seconds),
}

/// What was asked for.
#[derive(Debug, Clone)]
pub struct TurboOptions {
    /// What is executed.
    pub tests: Tests,
    /// The least number of active cores; 1 if nobody says.
    pub threads_min: Option<usize>,
    /// The greatest number of active cores; all if nobody says.
    pub threads_max: Option<usize>,
    /// All cores alone, whatever the least number is.
    pub all_alone: bool,
    /// Ops in each repetition; none: as many as take its time.
    pub ops: Option<u64>,
    /// How long the one test is held.
    pub duration: Option<Seconds>,
    /// Time to fill with blocks; none: five blocks of each cell.
    pub budget: Option<Seconds>,
    /// Which CPUs, in which order.
    pub cpus: Choice,
    /// How threads take part.
    pub manner: Manner,
    /// Whose word is taken for the rate of the stamp clock.
    pub rate: RateChoice,
}

impl TurboOptions {
    /// What is usual, but for what is executed.
    pub fn about(tests: Tests) -> TurboOptions {
        TurboOptions {
            tests,
            threads_min: None,
            threads_max: None,
            all_alone: false,
            ops: None,
            duration: None,
            budget: None,
            cpus: Choice::usual(None),
            manner: Manner::USUAL,
            rate: RateChoice::Best,
        }
    }

    /// The run that answers it.
    pub fn request(self, command: Vec<String>, presentation: Presentation) -> Request {
        let span = self.budget.map_or(self.tests.span(), Span::Budget);
        Request {
            cpus: self.cpus.clone(),
            streams: self.tests.rows(),
            manner: self.manner,
            rate: self.rate,
            remark: self.remark(),
            ..Request::new(span, move |plan| self.asked(plan), command, presentation)
        }
    }

    /// What the options make unusual.
    fn remark(&self) -> Option<String> {
        let asked = self.ops?;
        let mut sizes: Vec<u64> =
            self.tests.rows().iter().map(|row| row.ops_per_iteration).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let rounded = |size: &u64| match asked.div_ceil(*size) * size {
            ops if ops == asked => None,
            ops => Some(format!("{ops} where an iteration has {size}")),
        };
        let rounded: Vec<String> = sizes.iter().filter_map(rounded).collect();
        let rounding = match rounded.as_slice() {
            [] => String::new(),
            _ => format!(", rounded up to whole iterations: {}", rounded.join(", ")),
        };
        Some(format!("{asked} ops in each repetition, and twice that{rounding}"))
    }

    fn asked(&self, plan: &Planning<'_>) -> Result<Vec<AreaRequest>, Error> {
        let of = |area: &'static Area, proposal| Ok(vec![AreaRequest { area, proposal }]);
        match &self.tests {
            Tests::Streams(rows) => of(&TURBO, self.streams(plan, rows)?),
            Tests::Spec(spec) => of(&TURBO, self.spec(plan, spec)?),
            Tests::Why => {
                let streams = self.streams(plan, &self.tests.rows())?;
                let each = Proposal::from(preferred_cores::cells(plan));
                Ok(vec![
                    AreaRequest { area: &TURBO, proposal: streams },
                    AreaRequest { area: &PREFERRED_CORES, proposal: each },
                ])
            }
            Tests::Trace(rows, period) => {
                let extent = transitions::Extent::whole(*period);
                of(&TRANSITIONS, transitions::of_streams(plan, rows, extent).map_err(cannot)?)
            }
            Tests::Datatypes => Ok(vec![
                AreaRequest { area: &DATATYPES, proposal: datatypes::all(plan) },
                AreaRequest { area: &MEMORY, proposal: memory::under_roof(plan) },
                AreaRequest {
                    area: &ENERGY,
                    proposal: energy::of_streams(plan, datatypes::rows()),
                },
            ]),
            Tests::Neighbours => {
                let matrix = interference::Matrix::whole();
                of(&INTERFERENCE, interference::of_matrix(plan, &matrix).map_err(cannot)?)
            }
            Tests::Sustain(duration) => {
                let cell = sustained::cell(plan, *duration, &asked::light_and_heavy());
                of(&SUSTAINED, Proposal::from(vec![cell.map_err(cannot)?]))
            }
        }
    }

    fn streams(&self, plan: &Planning<'_>, rows: &[&'static StreamRow]) -> Result<Proposal, Error> {
        let mut proposal = Proposal::default();
        let mut loads = Vec::new();
        for (order, row) in rows.iter().enumerate() {
            match streams::load(plan.machine, row, DATA) {
                Ok(load) => loads.push((order, *row, load)),
                Err(reason) => proposal.absent.push((row.id, reason)),
            }
        }
        if let (true, Some((_, reason))) = (loads.is_empty(), proposal.absent.first()) {
            return Err(cannot(reason.clone()));
        }
        for (kind, cpus) in active::kinds(plan) {
            for count in self.counts(plan, kind.as_deref(), &cpus)? {
                for (order, row, load) in &loads {
                    let member = |&cpu| self.active(*order, row, Member::new(cpu, *load));
                    let members = cpus[..count].iter().map(member).collect();
                    let mut cell = Cell::streams(members, self.phases(&[row]));
                    cell.parameters.extend(kind.clone().map(|kind| ("core_type".to_owned(), kind)));
                    cell.parameters.extend(self.whole_ops(&[row]));
                    proposal.cells.push(cell);
                }
            }
        }
        self.one_if_held(proposal)
    }

    fn spec(
        &self,
        plan: &Planning<'_>,
        spec: &[(&'static StreamRow, usize)],
    ) -> Result<Proposal, Error> {
        let (asked, chosen) = (spec.iter().map(|(_, n)| n).sum(), plan.placement.cpus.len());
        if asked > chosen {
            return Err(Refusal::TooMany { asked, chosen }.into());
        }
        let mut cpus = plan.placement.cpus.iter();
        let mut members = Vec::with_capacity(asked);
        for (order, (row, count)) in spec.iter().enumerate() {
            let load = streams::load(plan.machine, row, DATA).map_err(cannot)?;
            let member = |&cpu| self.active(order, row, Member::new(cpu, load));
            members.extend(cpus.by_ref().take(*count).map(member));
        }
        let rows: Vec<&StreamRow> = spec.iter().map(|(row, _)| *row).collect();
        let words: Vec<String> = spec.iter().map(|(row, n)| format!("{}/{n}", row.id)).collect();
        let mut cell = Cell::streams(members, self.phases(&rows));
        cell.parameters.insert("spec".to_owned(), words.join(","));
        cell.parameters.extend(self.whole_ops(&rows));
        self.one_if_held(Proposal::from(vec![cell]))
    }

    /// A member with the iterations that were asked for.
    fn active(&self, order: usize, row: &StreamRow, member: Member) -> Active {
        Active { order, member: Member { iterations: self.iterations(row), ..member } }
    }

    /// The ops that each repetition has where they were asked for: those of whole iterations, stream
    /// by stream.
    fn whole_ops(&self, rows: &[&StreamRow]) -> Option<(String, String)> {
        let whole =
            |row: &&StreamRow| Some((self.iterations(row)? * row.ops_per_iteration).to_string());
        let ops: Option<Vec<String>> = rows.iter().map(whole).collect();
        Some(("ops".to_owned(), ops?.join(",")))
    }

    /// Whole iterations that hold the ops that were asked for.
    fn iterations(&self, row: &StreamRow) -> Option<u64> {
        Some(self.ops?.div_ceil(row.ops_per_iteration))
    }

    /// The numbers of active cores among so many of one type.
    fn counts(
        &self,
        plan: &Planning<'_>,
        kind: Option<&str>,
        cpus: &[CpuId],
    ) -> Result<Vec<usize>, Error> {
        let chosen = cpus.len();
        if self.all_alone {
            return Ok(vec![chosen]);
        }
        let (min, max) = (self.threads_min, self.threads_max);
        if let Some(asked) = min.into_iter().chain(max).find(|asked| *asked > chosen) {
            return Err(Refusal::TooMany { asked, chosen }.into());
        }
        if min.is_some() || max.is_some() {
            return Ok((min.unwrap_or(1)..=max.unwrap_or(chosen)).collect());
        }
        Ok(match self.tests {
            Tests::Why if chosen > 1 => vec![1, chosen],
            _ => active::counts(plan, kind, cpus),
        })
    }

    /// The phases of these streams; those that the payload fills, for as long as asked.
    fn phases(&self, rows: &[&StreamRow]) -> Vec<Phase> {
        let mut phases = phases_of(rows);
        let Some(duration) = self.duration else { return phases };
        let other: Seconds = phases
            .iter()
            .filter(|phase| !phase.purpose.is_full())
            .fold(Seconds(0.0), |sum, phase| sum + phase.duration());
        for phase in phases.iter_mut().filter(|phase| phase.purpose.is_full()) {
            let round = phase.duration() / f64::from(phase.rounds);
            let block = duration / BLOCKS_FOR_INTERVAL as f64 - other;
            phase.rounds = ((block / round) as u32).max(phase.rounds);
        }
        phases
    }

    /// Only one cell can be held.
    fn one_if_held(&self, proposal: Proposal) -> Result<Proposal, Error> {
        if self.duration.is_none() || proposal.cells.len() == 1 {
            return Ok(proposal);
        }
        let why = format!("a duration is for one test, and these are {}", proposal.cells.len());
        let refusal = Unavailable::new(Obstacle::Measurement, "tests", why);
        let remedy = "name one: --test scalar_iadd --min-threads 1 --max-threads 1";
        Err(Error::Asked(refusal.with_remedy(remedy)))
    }
}

/// Nothing can be measured, because of this stream.
fn cannot(reason: Unavailable) -> Error {
    Error::Unavailable(match reason.remedy {
        Some(_) => reason,
        None => reason.with_remedy("`cpudyno turbo --list` says what each stream needs"),
    })
}

impl Tests {
    /// Blocks of every cell: what goes on over time is gone through once. What others take of memory nobody knows
    /// before, so that a matrix of them has an end in time.
    fn span(&self) -> Span {
        match self {
            Tests::Sustain(_) | Tests::Trace(..) => Span::Blocks(1),
            Tests::Neighbours => Span::Bounded(interference::BLOCKS),
            Tests::Streams(_) | Tests::Spec(_) | Tests::Why | Tests::Datatypes => {
                Span::Blocks(BLOCKS_FOR_INTERVAL as u64)
            }
        }
    }

    /// The streams, in the order in which they were named.
    fn rows(&self) -> Vec<&'static StreamRow> {
        match self {
            Tests::Streams(rows) | Tests::Trace(rows, _) => rows.clone(),
            Tests::Why | Tests::Sustain(_) => asked::light_and_heavy(),
            Tests::Neighbours => interference::streams(),
            Tests::Datatypes => datatypes::rows().collect(),
            Tests::Spec(spec) => {
                let mut rows: Vec<&'static StreamRow> = Vec::new();
                for (row, _) in spec {
                    if !rows.iter().any(|known| known.id == row.id) {
                        rows.push(row);
                    }
                }
                rows
            }
        }
    }
}

/// A mix is measured as its heaviest member.
fn phases_of(rows: &[&StreamRow]) -> Vec<Phase> {
    let row = rows.iter().find(|row| is_heavy(row)).or(rows.first());
    row.map_or_else(protocol::heavy, |row| phases(row))
}
