//! The machine's roofline: what a program could do at most, by the bytes that it moves for each operation.
//!
//! # Source
//!
//! S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore
//! architectures", Communications of the ACM 52 (2009).

use model::areas::memory;
use model::page::{Align, Block, Lines, Mark, Scale, Table, Text, Tone, si, tally};
use model::record::{
    Record, Roofline, RooflineLevel as Level, RooflinePeak as Peak, RooflineSpot as Spot,
};
use model::{CpuSet, Datatype, Unit};

use super::rates::{Rate, is_within_quota, rates};
use crate::cells::cells;

/// The rooflines of one CPU, the fastest, and of the most, as far as both peaks and bandwidth are known; none where the
/// record has no datatypes.
pub fn rooflines(record: &Record) -> Vec<Roofline> {
    of_rates(record, &rates(record))
}

/// The same, of rates that were read already.
pub(super) fn of_rates(record: &Record, rates: &[Rate<'_>]) -> Vec<Roofline> {
    let counts = || rates.iter().map(|rate| rate.active.len());
    let Some((fewest, most)) = counts().min().zip(counts().max()) else { return Vec::new() };
    let fastest = |count: usize| {
        let its = rates.iter().filter(|rate| rate.active.len() == count);
        its.max_by(|a, b| a.per_second.total_cmp(&b.per_second))
    };
    let ends = [fewest, most].into_iter().take(if fewest == most { 1 } else { 2 });
    let sets = ends.filter_map(fastest).map(|rate| rate.active);
    let sets = sets.filter(|active| is_within_quota(record, active));
    sets.filter_map(|active| of(record, rates, active)).collect()
}

fn of(record: &Record, rates: &[Rate<'_>], active: &CpuSet) -> Option<Roofline> {
    let caches = if active.len() == 1 { caches(record, active) } else { Vec::new() };
    let levels: Vec<Level> = caches.into_iter().chain(memory_of(record, active)).collect();
    let fastest = |datatype: Datatype| {
        let its = rates.iter().filter(|it| it.active == active && it.datatype == datatype);
        let fastest = its.max_by(|a, b| a.per_second.total_cmp(&b.per_second))?;
        let (operations_per_second, is_doubtful) = (fastest.per_second, fastest.is_doubtful);
        Some(Peak { datatype, operations_per_second, is_doubtful })
    };
    let peaks: Vec<Peak> = Datatype::ALL.into_iter().filter_map(fastest).collect();
    let is_known = !levels.is_empty() && !peaks.is_empty();
    let kind = rates.iter().find(|it| it.active == active).and_then(|it| it.kind);
    let kind = kind.map(str::to_owned);
    is_known.then(|| Roofline { cpus: active.len() as u64, kind, peaks, levels })
}

/// Operations for each byte at which a level is fast enough for a datatype.
fn ridge(peak: &Peak, level: &Level) -> f64 {
    peak.operations_per_second / level.bytes_per_second
}

/// `2 CPUs`, `1 CPU of type P`.
fn whose(roofline: &Roofline) -> String {
    let kind = roofline.kind.as_ref().map_or_else(String::new, |kind| format!(" of type {kind}"));
    format!("{}{kind}", tally(roofline.cpus as usize, "CPU"))
}

/// The roofline, with what lies below it by name.
pub fn plot(roofline: &Roofline, spots: &[(String, &Spot)]) -> Block {
    /// A spot is a short line: so far to both sides of it.
    const WIDE: f64 = 1.15;
    let Roofline { peaks, levels, .. } = roofline;
    let bytes = |pick: fn(f64, f64) -> f64, from: f64| {
        levels.iter().map(|level| level.bytes_per_second).fold(from, pick)
    };
    let (fastest, slowest) = (bytes(f64::max, 0.0), bytes(f64::min, f64::INFINITY));
    let top = peaks.iter().map(|it| it.operations_per_second).fold(0.0, f64::max);
    let leftmost = spots.iter().map(|(_, spot)| spot.intensity() / WIDE).fold(1.0 / 64.0, f64::min);
    let rightmost = spots.iter().map(|(_, spot)| spot.intensity() * WIDE).fold(0.0, f64::max);
    let end = rightmost.max(4.0 * top / slowest);
    let giga = |(x, y): (f64, f64)| (x, y / 1e9);
    let memory = levels.iter().map(|level| {
        let ends = [(leftmost, level.allows(leftmost)), (top / level.bytes_per_second, top)];
        (level.name.clone(), ends.map(giga).to_vec())
    });
    let peaks_of = peaks.iter().map(|peak| {
        let most = peak.operations_per_second;
        let ends = [(most / fastest, most), (end, most)];
        (peak.datatype.name().to_owned(), ends.map(giga).to_vec())
    });
    let spots_of = spots.iter().map(|(name, spot)| {
        let (at, rate) = (spot.intensity(), spot.rate());
        (name.clone(), [(at / WIDE, rate), (at * WIDE, rate)].map(giga).to_vec())
    });
    let marks = peaks.first().zip(levels.last()).map(|(peak, level)| Mark {
        at: ridge(peak, level),
        text: format!("{} from {}", peak.datatype.name(), level.name),
    });
    Block::Lines(Lines {
        caption: format!("Roofline of {}", whose(roofline)),
        x: "operations for each byte".to_owned(),
        y: "billion operations a second".to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        reach: None,
        lines: memory.chain(peaks_of).chain(spots_of).collect(),
        marks: marks.into_iter().collect(),
    })
}

/// A line for each datatype, a column for each level.
pub(super) fn ridges(roofline: &Roofline) -> Block {
    let Roofline { peaks, levels, .. } = roofline;
    let bandwidth = levels
        .iter()
        .map(|level| Text::toned(format!("{:.1} GB/s", level.bytes_per_second / 1e9), Tone::Faint));
    let row = |peak: &Peak| {
        let of_levels = levels.iter().map(|level| Text::from(format!("{:.2}", ridge(peak, level))));
        let most = told(peak.operations_per_second, peak.datatype);
        [Text::from(peak.datatype.name()), Text::from(most).doubted(peak.is_doubtful)]
            .into_iter()
            .chain(of_levels)
            .collect()
    };
    let first: Vec<Text> = [Text::from(""), Text::from("")].into_iter().chain(bandwidth).collect();
    let columns = levels.iter().map(|level| (level.name.clone(), Align::Right));
    let legend = "with more operations for each byte of a level a program can reach the peak; with fewer, that level bounds \
                  it";
    Table::of(format!("Ridge points of {}, operations for each byte", whose(roofline)))
        .left("datatype")
        .right("peak")
        .columns(columns)
        .rows(std::iter::once(first).chain(peaks.iter().map(row)))
        .legend([legend])
        .into()
}

/// `119.5 GFLOP/s`, or `956.0 GOP/s` of integers.
pub(super) fn told(per_second: f64, datatype: Datatype) -> String {
    let text = si::format(per_second, Unit::FlopPerSecond);
    if datatype.is_floating() { text } else { text.replace("FLOP/s", "OP/s") }
}

/// What bounds work that lies there: the slowest level that it is not beyond, or the peak.
pub fn sentence(roofline: &Roofline, name: &str, spot: &Spot) -> Option<String> {
    /// Bandwidth is reached to so much, and measured as well as that.
    const BEYOND: f64 = 1.05;
    let (intensity, rate) = (spot.intensity(), spot.rate());
    let of = |per_second| told(per_second, spot.datatype);
    let share = |most: f64| format!("{:.0} %", 100.0 * rate / most);
    let peak = roofline.peaks.iter().find(|peak| peak.datatype == spot.datatype)?;
    let most = peak.operations_per_second;
    let by = match &spot.by {
        [operations, bytes] if operations == bytes => format!("both {bytes}"),
        [operations, bytes] => format!("operations {operations}, bytes {bytes}"),
    };
    let is_beyond = |level: &Level| rate > BEYOND * level.allows(intensity);
    let slowest_first = || roofline.levels.iter().rev();
    let has_caches = roofline.levels.len() > 1;
    let bound = match slowest_first().find(|level| !is_beyond(level)) {
        _ if rate > BEYOND * most && !peak.is_doubtful => {
            "more than the peak: operations or time are other ones".to_owned()
        }
        Some(level) if level.allows(intensity) < most => {
            let allowed = level.allows(intensity);
            let name = short(level);
            format!(
                "{name} bounds it: it allows {}, of which that is {}",
                of(allowed),
                share(allowed)
            )
        }
        Some(_) => "no level of memory bounds it, the peak does".to_owned(),
        None if has_caches => "more than any level allows: bytes or time are other ones".to_owned(),
        None => "what caches allow is not in the record".to_owned(),
    };
    let passed = slowest_first().take_while(|level| is_beyond(level)).last();
    let passed = passed.map_or_else(String::new, |level| {
        format!("faster than {} allows, so that its data come from nearer; ", short(level))
    });
    let doubt = if peak.is_doubtful { ", which is in doubt" } else { "" };
    // Between one CPU and all there is no other roofline.
    let fewer = (spot.busy < 0.8 * roofline.cpus as f64)
        .then(|| format!(" (it kept {:.1} of them busy)", spot.busy));
    Some(format!(
        "{name}: {intensity:.3} operations for each byte ({by}) at {}, {} of the {} peak of {}{doubt}{}; {passed}{bound}.",
        of(rate),
        share(most),
        spot.datatype.name(),
        whose(roofline),
        fewer.unwrap_or_default(),
    ))
}

/// `L2` of `L2, reads`.
fn short(level: &Level) -> &str {
    level.name.split(',').next().unwrap_or_default()
}

/// What one CPU reads a second from each of its caches.
fn caches(record: &Record, active: &CpuSet) -> Vec<Level> {
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
        let of = |bytes_per_second| Level { name: format!("L{level}, reads"), bytes_per_second };
        levels.extend(best(2 * inner, bytes / 4 * 3).map(of));
        inner = bytes;
    }
    levels
}

/// What these CPUs move a second to and from memory at most, as programs ask for it, and by which kernel.
fn memory_of(record: &Record, active: &CpuSet) -> Option<Level> {
    let all = cells(record, |series| {
        let is_of = series.parameters.get(memory::QUESTION).is_some_and(|it| it == "bandwidth");
        series.area == memory::AREA && is_of && series.active == *active
    });
    let rates = all.iter().filter_map(|cell| Some((cell.workload, cell.main_median("bandwidth")?)));
    let (kernel, rate) = rates.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Level { name: format!("memory, {kernel}"), bytes_per_second: rate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_bound_by_the_slowest_level_that_it_is_not_beyond() {
        let level =
            |name: &str, bytes_per_second| Level { name: name.to_owned(), bytes_per_second };
        let peak = |datatype, operations_per_second| Peak {
            datatype,
            operations_per_second,
            is_doubtful: false,
        };
        let roofline = Roofline {
            cpus: 1,
            kind: None,
            peaks: vec![peak(Datatype::Fp64, 100e9), peak(Datatype::Int8, 800e9)],
            levels: vec![level("L1, reads", 200e9), level("memory, triad", 10e9)],
        };
        let said = |datatype, operations, bytes| {
            let by = ["stated", "counted"].map(str::to_owned);
            let spot = Spot { cpus: 1, datatype, operations, bytes, seconds: 1.0, busy: 1.0, by };
            sentence(&roofline, "it", &spot).unwrap()
        };
        let memory = said(Datatype::Fp64, 0.5e9, 6e9);
        let wanted = "it: 0.083 operations for each byte (operations stated, bytes counted) at 500.0 MFLOP/s, 0 % of the \
                      FP64 peak of 1 CPU; memory bounds it: it allows 833.3 MFLOP/s, of which that is 60 %.";
        assert_eq!(memory, wanted);
        let cache = said(Datatype::Fp64, 5e9, 60e9);
        assert!(
            cache.contains("faster than memory allows") && cache.contains("L1 bounds it"),
            "{cache}"
        );
        let peak = said(Datatype::Int8, 700e9, 5e9);
        assert!(
            peak.contains("700.0 GOP/s, 88 % of the INT8 peak") && peak.contains("the peak does"),
            "{peak}"
        );
        assert!(said(Datatype::Fp64, 200e9, 5e9).contains("more than the peak"));
        assert!(said(Datatype::Fp64, 50e9, 900e9).contains("more than any level allows"));
        // Of several CPUs the caches are not known, and nothing is wrong with what is faster than memory.
        let by = ["stated", "stated"].map(str::to_owned);
        let (operations, bytes, seconds) = (50e9, 600e9, 1.0);
        let spot =
            Spot { cpus: 8, datatype: Datatype::Fp64, operations, bytes, seconds, busy: 2.0, by };
        let levels = vec![level("memory, triad", 10e9)];
        let several = Roofline { cpus: 8, levels, ..roofline.clone() };
        let found = sentence(&several, "it", &spot).unwrap();
        assert!(found.contains("8 CPUs (it kept 2.0 of them busy); faster than memory"), "{found}");
        assert!(found.ends_with("what caches allow is not in the record."), "{found}");
    }
}
