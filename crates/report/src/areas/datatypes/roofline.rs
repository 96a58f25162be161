//! The machine's roofline: what a program could do at most, by the bytes that it moves for each operation.
//!
//! # Source
//!
//! S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
//! architectures", Communications of the ACM 52 (2009).

use model::areas::memory;
use model::page::{Block, Lines, Mark, Scale, Table, Text, Tone, tally};
use model::record::Record;
use model::{CpuSet, Datatype};

use super::rates::{Rate, is_within_quota};
use super::shown::told;
use crate::cells::cells;

/// What some CPUs do at most.
struct Roofline<'a> {
    active: &'a CpuSet,
    /// The fastest stream of each datatype.
    peaks: Vec<&'a Rate<'a>>,
    /// Bytes a second of each level, the nearest first.
    levels: Vec<(String, f64)>,
}

/// The rooflines of one CPU, the fastest, and of the most, as far as both peaks and bandwidth are known: plot and ridge
/// points.
pub(super) fn blocks(record: &Record, rates: &[Rate<'_>], ends: &[usize]) -> Vec<Block> {
    let fastest = |count: &usize| {
        let its = rates.iter().filter(|rate| rate.active.len() == *count);
        its.max_by(|a, b| a.per_second.total_cmp(&b.per_second))
    };
    let sets = ends.iter().filter_map(fastest).map(|rate| rate.active);
    let sets = sets.filter(|active| is_within_quota(record, active));
    let all = sets.filter_map(|active| Roofline::of(record, rates, active));
    all.flat_map(|roofline| [roofline.plot(), roofline.ridges()]).collect()
}

impl<'a> Roofline<'a> {
    fn of(record: &Record, rates: &'a [Rate<'a>], active: &'a CpuSet) -> Option<Roofline<'a>> {
        let caches = if active.len() == 1 { caches(record, active) } else { Vec::new() };
        let levels: Vec<(String, f64)> =
            caches.into_iter().chain(memory_of(record, active)).collect();
        let fastest = |datatype: Datatype| {
            let its = rates.iter().filter(|it| it.active == active && it.datatype == datatype);
            its.max_by(|a, b| a.per_second.total_cmp(&b.per_second))
        };
        let peaks: Vec<&Rate<'_>> = Datatype::ALL.into_iter().filter_map(fastest).collect();
        let is_known = !levels.is_empty() && !peaks.is_empty();
        is_known.then_some(Roofline { active, peaks, levels })
    }

    /// Operations for each byte at which a level is fast enough for a datatype.
    fn ridge(peak: &Rate<'_>, bytes_per_second: f64) -> f64 {
        peak.per_second / bytes_per_second
    }

    fn plot(&self) -> Block {
        let bytes = |pick: fn(f64, f64) -> f64, from: f64| {
            self.levels.iter().map(|(_, bytes)| *bytes).fold(from, pick)
        };
        let (fastest, slowest) = (bytes(f64::max, 0.0), bytes(f64::min, f64::INFINITY));
        let top = self.peaks.iter().map(|it| it.per_second).fold(0.0, f64::max);
        let end = 4.0 * top / slowest;
        let from = 1.0 / 64.0;
        let giga = |(x, y): (f64, f64)| (x, y / 1e9);
        let memory = self.levels.iter().map(|(name, bytes)| {
            let ends = [(from, from * bytes), (top / bytes, top)];
            (name.clone(), ends.map(giga).to_vec())
        });
        let peaks = self.peaks.iter().map(|peak| {
            let ends = [(Self::ridge(peak, fastest), peak.per_second), (end, peak.per_second)];
            (peak.datatype.name().to_owned(), ends.map(giga).to_vec())
        });
        let marks = self.peaks.first().zip(self.levels.last()).map(|(peak, (name, bytes))| Mark {
            at: Self::ridge(peak, *bytes),
            text: format!("{} from {name}", peak.datatype.name()),
        });
        Block::Lines(Lines {
            caption: format!("Roofline of {}", tally(self.active.len(), "CPU")),
            x: "operations for each byte".to_owned(),
            y: "billion operations a second".to_owned(),
            x_scale: Scale::Logarithmic,
            y_scale: Scale::Logarithmic,
            reach: None,
            lines: memory.chain(peaks).collect(),
            marks: marks.into_iter().collect(),
        })
    }

    fn ridges(&self) -> Block {
        let ridge =
            |peak: &Rate<'_>, bytes: f64| Text::from(format!("{:.2}", Self::ridge(peak, bytes)));
        let bandwidth = self
            .levels
            .iter()
            .map(|(_, bytes)| Text::toned(format!("{:.1} GB/s", bytes / 1e9), Tone::Faint));
        let row = |peak: &&Rate<'_>| {
            let of_levels = self.levels.iter().map(|(_, bytes)| ridge(peak, *bytes));
            [Text::from(peak.datatype.name()), told(peak)].into_iter().chain(of_levels).collect()
        };
        let first: Vec<Text> =
            [Text::from(""), Text::from("")].into_iter().chain(bandwidth).collect();
        let columns = self.levels.iter().map(|(name, _)| (name.clone(), model::page::Align::Right));
        let legend = "with more operations for each byte of a level a program can reach the peak; with fewer, that level \
                      bounds it";
        Table::of(format!(
            "Ridge points of {}, operations for each byte",
            tally(self.active.len(), "CPU")
        ))
        .left("datatype")
        .right("peak")
        .columns(columns)
        .rows(std::iter::once(first).chain(self.peaks.iter().map(row)))
        .legend([legend])
        .into()
    }
}

/// What one CPU reads a second from each of its caches.
fn caches(record: &Record, active: &CpuSet) -> Vec<(String, f64)> {
    let all = cells(record, |series| {
        let is_of = series.parameters.get(memory::QUESTION).is_some_and(|it| it == "sweep");
        series.area == memory::AREA && is_of && series.workload == "load"
    });
    let Some(cpu) = active.iter().next() else { return Vec::new() };
    let best = |from: u64, to: u64| {
        let within = all.iter().filter(|cell| {
            let bytes = cell.number("footprint");
            cell.active == active && bytes.is_some_and(|bytes| (from..=to).contains(&bytes))
        });
        within.filter_map(|cell| cell.main_median("bandwidth")).reduce(f64::max)
    };
    let mut levels = Vec::new();
    let mut inner = 0;
    for (level, bytes) in memory::cache_sizes(&record.machine.topology, cpu) {
        // What fills a cache to the brim is in part beyond it; of what is little larger than the one before, much is there.
        levels
            .extend(best(2 * inner, bytes / 4 * 3).map(|rate| (format!("L{level}, reads"), rate)));
        inner = bytes;
    }
    levels
}

/// What these CPUs move a second to and from memory at most, as programs ask for it, and by which kernel.
fn memory_of(record: &Record, active: &CpuSet) -> Option<(String, f64)> {
    let all = cells(record, |series| {
        let is_of = series.parameters.get(memory::QUESTION).is_some_and(|it| it == "bandwidth");
        series.area == memory::AREA && is_of && series.active == *active
    });
    let rates = all.iter().filter_map(|cell| Some((cell.workload, cell.main_median("bandwidth")?)));
    let (kernel, rate) = rates.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((format!("memory, {kernel}"), rate))
}
