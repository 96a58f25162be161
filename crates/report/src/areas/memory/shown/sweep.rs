//! Latency and bandwidth by the size of what is used, and where caches end.

use model::page::{Align, Block, Lines, Mark, Scale, Table, Text, Tone};
use model::record::{Record, Topology};
use model::stats::{median, quantile};
use model::{CpuId, CpuSet};

use super::super::CHASE;
use super::super::byte_accounting::{AS_ASKED, Counting};
use super::super::cache_boundaries::{self, ClaimedCache, CurvePoint, Knee, LatencyLevel, Whose};
use super::super::read::{Cell, cells, in_order};
use super::factors::POINTS_MIN;
use super::{dash, digits, modes, nanoseconds, note, pages, size as size_text};
use model::areas::memory as size;
use model::areas::memory::data_caches;

/// What a sweep found.
pub(in super::super) struct Sweep<'a> {
    /// The CPU that did it.
    pub(in super::super) cpu: CpuId,
    /// The levels that its latencies show.
    pub(in super::super) levels: Vec<LatencyLevel>,
    /// What the machine claims.
    pub(in super::super) claims: Vec<ClaimedCache>,
    /// The greatest size that has a latency.
    largest: u64,
    cells: Vec<Cell<'a>>,
}

/// Reads the sweep of a record, where there is one: of several types of cores, that of the first.
pub(in super::super) fn sweep(record: &Record) -> Option<Sweep<'_>> {
    sweeps(record).into_iter().next()
}

/// The sweeps of a record: one for each CPU that did one.
pub(in super::super) fn sweeps(record: &Record) -> Vec<Sweep<'_>> {
    let cells = cells(record, "sweep");
    let of = |active: &CpuSet| {
        let mine = cells.iter().filter(|cell| cell.active == active);
        of_one(record, *active.as_slice().first()?, mine.cloned().collect())
    };
    in_order(cells.iter().map(|cell| cell.active)).into_iter().filter_map(of).collect()
}

fn of_one<'a>(record: &Record, cpu: CpuId, mut cells: Vec<Cell<'a>>) -> Option<Sweep<'a>> {
    cells.sort_by_key(|cell| cell.number("footprint"));
    let topology = &record.machine.topology;
    let claims = claims(topology, cpu);
    let points: Vec<CurvePoint> =
        cells.iter().filter(|cell| cell.workload == CHASE).filter_map(point).collect();
    let levels = cache_boundaries::levels(&points, &claims, size::caches(topology, &[cpu]));
    let largest = points.last()?.bytes;
    Some(Sweep { cpu, levels, claims, largest, cells })
}

/// What the machine claims of the data caches of a CPU.
pub(in super::super) fn claims(topology: &Topology, cpu: CpuId) -> Vec<ClaimedCache> {
    let only = CpuSet::from_iter([cpu]);
    let claim = |cache: &model::record::Cache| {
        Some(ClaimedCache { level: cache.level, bytes: cache.bytes.filter(|bytes| *bytes > 0)? })
    };
    let mut claims: Vec<ClaimedCache> = data_caches(topology, &only).filter_map(claim).collect();
    claims.sort_by_key(|claim| claim.level);
    claims.dedup_by_key(|claim| claim.level);
    claims
}

/// Noise only adds to a latency: the lower quartile of all samples is more typical than the median.
fn point(cell: &Cell<'_>) -> Option<CurvePoint> {
    let samples = cell.shown("latency")?.samples()?;
    Some(CurvePoint {
        bytes: cell.number("footprint")?,
        seconds: quantile(&samples.all(), 0.25).filter(|seconds| *seconds > 0.0)?,
        blocks: samples.numbered_medians(),
    })
}

impl Sweep<'_> {
    fn of<'b>(&'b self, workload: &'b str) -> impl Iterator<Item = &'b Cell<'b>> {
        self.cells.iter().filter(move |cell| cell.workload == workload)
    }

    /// The kernels that were swept, too.
    fn kernels(&self) -> Vec<&str> {
        in_order(self.cells.iter().map(|cell| cell.workload).filter(|id| *id != CHASE))
    }

    /// The median of a quantity over the sizes of a level.
    fn over(&self, level: &LatencyLevel, workload: &str, quantity: &str) -> Option<f64> {
        let [least, greatest] = level.sizes;
        let on_it = |cell: &&Cell<'_>| {
            cell.number("footprint").is_some_and(|bytes| (least..=greatest).contains(&bytes))
        };
        let medians: Vec<f64> =
            self.of(workload).filter(on_it).filter_map(|cell| cell.main_median(quantity)).collect();
        median(&medians)
    }

    /// Latency of a level in cycles of the core, where its clock was measured.
    pub(in super::super) fn cycles(&self, level: &LatencyLevel) -> Option<f64> {
        self.over(level, CHASE, "latency_cycles")
    }

    /// Latency of the largest size, in seconds, where nothing limited it: that of memory.
    pub(in super::super) fn beyond(&self) -> Option<f64> {
        let largest = self.of(CHASE).last().filter(|cell| cell.limited().is_empty())?;
        largest.main_median("latency")
    }

    /// Latency of a level, in seconds.
    pub(in super::super) fn seconds(&self, level: &LatencyLevel) -> f64 {
        self.over(level, CHASE, "latency").unwrap_or(level.seconds)
    }
}

/// What people call a level.
pub(in super::super) fn name(whose: Whose) -> String {
    match whose {
        Whose::Cache(claim) => format!("L{}", claim.level),
        Whose::Unclaimed(number) => format!("cache {number}"),
        Whose::Memory => "memory".to_owned(),
        Whose::Beyond(Some(level)) => format!("beyond L{level}"),
        Whose::Beyond(None) => "beyond".to_owned(),
    }
}

/// How a level's end compares with what the machine claims.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum LevelVerdict {
    /// It ends where it should.
    AsClaimed,
    /// It ends elsewhere, about here.
    Behaves(u64),
    /// It may end where it should, and is known to this factor only.
    Vague(f64),
    /// It was not reached, or there is nothing to compare with.
    Unknown,
}

/// The verdict on a level.
pub(in super::super) fn verdict(level: &LatencyLevel) -> LevelVerdict {
    /// Sizes are this far apart at most where nothing is known of what is between.
    const NEAR: f64 = 1.3;
    /// One disturbed block moves a knee; of fewer nobody knows which one it is.
    const BLOCKS_MIN: usize = 3;
    /// In a wider interval lie both half and twice of what is in its middle: it tells none of them from it.
    const WIDEST: f64 = 4.0;
    let (Whose::Cache(claim), Some(knee)) = (level.whose, level.knee) else {
        return LevelVerdict::Unknown;
    };
    if knee.is_gap() || knee.blocks < BLOCKS_MIN {
        return LevelVerdict::Unknown;
    }
    let claimed = claim.bytes as f64;
    let [low, high] = knee.interval;
    if !(low / NEAR..=high * NEAR).contains(&claimed) {
        LevelVerdict::Behaves(knee.bytes as u64)
    } else if knee.factor() > WIDEST {
        LevelVerdict::Vague(knee.factor())
    } else {
        LevelVerdict::AsClaimed
    }
}

/// Plots of latency and bandwidth, and the table of levels.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    sweeps(record).iter().flat_map(|sweep| blocks_of(record, sweep)).collect()
}

fn blocks_of(record: &Record, sweep: &Sweep<'_>) -> Vec<Block> {
    let cpu = record.machine.topology.named(sweep.cpu);
    let mut blocks = vec![Block::Heading(format!("Latency and bandwidth by size, {cpu}"))];
    blocks.extend(latency_plot(sweep));
    blocks.extend(bandwidth_plot(Counting::of(record), sweep));
    blocks.extend(level_table(Counting::of(record), sweep));
    blocks.extend(kernel_table(Counting::of(record), sweep));
    blocks.extend(point_table(sweep));
    blocks.extend(gaps(sweep));
    blocks.extend(how(sweep));
    let counting = Counting::of(record);
    blocks.extend(modes(&sweep.cells, "latency", |seconds| format!("{} ns", nanoseconds(seconds))));
    blocks.extend(modes(&sweep.cells, "bandwidth", |asked| counting.words_of(asked)));
    blocks
}

/// Every point, where they are too few for a plot or a level.
fn point_table(sweep: &Sweep<'_>) -> Option<Block> {
    let rows: Vec<Vec<Text>> = sweep
        .of(CHASE)
        .filter_map(|cell| {
            let bytes = size_text(cell.number("footprint")?);
            Some(vec![bytes.into(), nanoseconds(cell.main_median("latency")?).into()])
        })
        .collect();
    let few = rows.len() < POINTS_MIN || sweep.levels.is_empty();
    (few && !rows.is_empty()).then(|| {
        Table::of("every point: too few for a plateau").right("size").right("ns").rows(rows).into()
    })
}

/// What several kernels move in each level.
fn kernel_table(counting: Counting<'_>, sweep: &Sweep<'_>) -> Option<Block> {
    let kernels = sweep.kernels();
    let row = |level: &LatencyLevel| {
        let moved = |kernel: &&str| {
            let moved = sweep.over(level, kernel, "bandwidth");
            moved.map_or_else(dash, |moved| counting.text(moved).into())
        };
        std::iter::once(name(level.whose).into()).chain(kernels.iter().map(moved)).collect()
    };
    (kernels.len() > 1 && !sweep.levels.is_empty()).then(|| {
        Table::of(format!("Bandwidth by kernel, {} {AS_ASKED}", counting.unit()))
            .left("level")
            .columns(kernels.iter().map(|kernel| (*kernel, Align::Right)))
            .rows(sweep.levels.iter().map(row))
            .into()
    })
}

fn how(sweep: &Sweep<'_>) -> Option<Block> {
    let cell = sweep.of(CHASE).next()?;
    let asked = pages(cell.text("pages")?);
    let limited = cell.limited();
    Some(note(format!("one pointer for each line, in random order, in {asked}{limited}")))
}

/// Where levels end, as the latencies show it.
fn ends(sweep: &Sweep<'_>) -> Vec<Mark> {
    let mark = |level: &LatencyLevel| {
        let bytes = level.knee?.bytes;
        Some(Mark {
            at: bytes,
            text: format!("{} to {}", name(level.whose), size_text(bytes as u64)),
        })
    };
    sweep.levels.iter().filter_map(mark).collect()
}

/// Latency by size.
pub(in super::super) fn latency_plot(sweep: &Sweep<'_>) -> Option<Block> {
    let points: Vec<(f64, f64)> = sweep
        .of(CHASE)
        .filter_map(|cell| {
            Some((cell.number("footprint")? as f64, cell.main_median("latency")? * 1e9))
        })
        .collect();
    (points.len() >= POINTS_MIN).then(|| {
        Block::Lines(Lines {
            caption: "Random access latency by size".to_owned(),
            x: "bytes gone over".to_owned(),
            y: "ns".to_owned(),
            x_scale: Scale::Bytes,
            y_scale: Scale::Logarithmic,
            reach: None,
            lines: vec![("latency".to_owned(), points)],
            marks: ends(sweep),
        })
    })
}

pub(in super::super) fn bandwidth_plot(counting: Counting<'_>, sweep: &Sweep<'_>) -> Option<Block> {
    let line = |kernel: &str| {
        let points: Vec<(f64, f64)> = sweep
            .of(kernel)
            .filter_map(|cell| {
                let asked = cell.main_median("bandwidth")?;
                Some((cell.number("footprint")? as f64, counting.in_giga(asked)))
            })
            .collect();
        (points.len() >= POINTS_MIN).then(|| (kernel.to_owned(), points))
    };
    let kernels = sweep.kernels();
    let lines: Vec<_> = kernels.iter().filter_map(|kernel| line(kernel)).collect();
    let names = kernels.join(", ");
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: format!("bandwidth of {names} by size, as asked"),
            x: "bytes gone over".to_owned(),
            y: counting.giga().to_owned(),
            x_scale: Scale::Bytes,
            y_scale: Scale::Logarithmic,
            reach: None,
            lines,
            marks: ends(sweep),
        })
    })
}

/// Sizes between which nothing was measured, because the time was over before.
pub(in super::super) fn gaps(sweep: &Sweep<'_>) -> Option<Block> {
    /// Sizes are not farther apart than this where all were measured.
    const APART_MAX: u64 = 3;
    let sizes: Vec<u64> = sweep
        .of(CHASE)
        .filter(|cell| cell.main_median("latency").is_some())
        .filter_map(|cell| cell.number("footprint"))
        .collect();
    let gaps = sizes.windows(2).filter(|pair| pair[1] / APART_MAX > pair[0]);
    let gaps: Vec<String> =
        gaps.map(|pair| format!("{} and {}", size_text(pair[0]), size_text(pair[1]))).collect();
    let text = format!("nothing was measured between {}", gaps.join(", "));
    (!gaps.is_empty()).then(|| Block::Paragraph(Text::toned(text, Tone::Warning)))
}

/// The levels, with what the machine claims of them.
pub(in super::super) fn level_table(counting: Counting<'_>, sweep: &Sweep<'_>) -> Option<Block> {
    let kernel = sweep.kernels().first().copied();
    let row = |level: &LatencyLevel| {
        let cycles = sweep.cycles(level);
        let moved = kernel.and_then(|kernel| sweep.over(level, kernel, "bandwidth"));
        let claim = match level.whose {
            Whose::Cache(claim) => Some(claim),
            _ => None,
        };
        let ends = level.knee.map_or_else(dash, |knee| {
            let [low, high] = knee.interval.map(|bytes| size_text(bytes as u64));
            format!("{} ({low} - {high})", size_text(knee.bytes as u64)).into()
        });
        vec![
            Text::from(name(level.whose)),
            nanoseconds(sweep.seconds(level)).into(),
            cycles.map_or_else(dash, |cycles| digits(cycles).into()),
            moved.map_or_else(dash, |moved| counting.text(moved).into()),
            ends,
            claim.map_or_else(dash, |claim| size_text(claim.bytes).into()),
            verdict_text(level),
        ]
    };
    let bandwidth = format!("{} {} {AS_ASKED}", kernel.unwrap_or("bandwidth"), counting.unit());
    (!sweep.levels.is_empty()).then(|| {
        Table::of("Cache levels by latency")
            .left("level")
            .right("ns")
            .right("cycles")
            .right(bandwidth)
            .left("ends at (interval)")
            .right("claimed")
            .left("verdict")
            .rows(sweep.levels.iter().map(row))
            .legend(unseen(sweep))
            .into()
    })
}

fn verdict_text(level: &LatencyLevel) -> Text {
    match (verdict(level), level.whose) {
        (LevelVerdict::AsClaimed, _) => Text::toned("as claimed", Tone::Good),
        (LevelVerdict::Behaves(bytes), Whose::Cache(claim)) => Text::toned(
            format!("says {}, behaves like {}", size_text(claim.bytes), size_text(bytes)),
            Tone::Warning,
        ),
        (LevelVerdict::Vague(factor), _) => Text::toned(known_to(factor), Tone::Faint),
        (_, Whose::Cache(_)) if level.knee.is_some() => {
            Text::toned("too little was measured around its end", Tone::Faint)
        }
        (_, Whose::Cache(_)) => Text::toned("its end was not reached", Tone::Faint),
        (_, Whose::Beyond(_)) => Text::toned("not far enough to be memory", Tone::Faint),
        _ => dash(),
    }
}

/// Why an end that may be where it should is no proof.
pub(in super::super) fn known_to(factor: f64) -> String {
    format!("its end is known to a factor of {factor:.0} only")
}

/// Claimed caches that the latencies do not show.
pub(in super::super) fn not_seen(sweep: &Sweep<'_>) -> Vec<ClaimedCache> {
    let seen = |claim: &ClaimedCache| sweep.levels.iter().any(|l| l.whose == Whose::Cache(*claim));
    let gaps = || sweep.levels.iter().filter_map(|level| level.knee).filter(Knee::is_gap);
    let looked_at = |claim: &ClaimedCache| {
        let bytes = claim.bytes as f64;
        let within = |knee: Knee| (knee.interval[0]..=knee.interval[1]).contains(&bytes);
        // A few points of a sweep that was cut short tell of no cache.
        let sizes = sweep.of(CHASE).filter(|cell| cell.main_median("latency").is_some());
        let sizes = sizes.filter_map(|cell| cell.number("footprint"));
        // What a smaller cache holds says nothing of this one.
        let smaller = sweep.claims.iter().filter(|other| other.level < claim.level);
        let held = smaller.map(|other| other.bytes).max().unwrap_or(0);
        let own = (claim.bytes / 8).max(held + 1)..=claim.bytes;
        let near = sizes.filter(|size| own.contains(size)).count();
        sweep.largest > claim.bytes && near >= 2 && !gaps().any(within)
    };
    sweep.claims.iter().copied().filter(|claim| !seen(claim) && looked_at(claim)).collect()
}

fn unseen(sweep: &Sweep<'_>) -> Vec<String> {
    let line = |claim: ClaimedCache| {
        format!("L{} ({} claimed) shows no plateau of its own", claim.level, size_text(claim.bytes))
    };
    not_seen(sweep).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests;
