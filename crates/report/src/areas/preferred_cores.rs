//! Each core alone, as people read it: which are the fastest, and whether they are those that firmware calls so.

use model::areas::preferred_cores::{self, CLOCK};
use model::page::{Block, Table, Text, Tone};
use model::record::{CoreLevel, Record, Series};
use model::stats::median;
use model::{CpuId, Known, in_order};

use super::Section;
use super::turbo::AREA;

/// What it says: its blocks stand within those of clocks.
pub const SECTION: Section = Section::of(preferred_cores::AREA, |_| Vec::new());

/// Of more cores than this a page shows the first and the last.
const SHOWN_MAX: usize = 16;

/// A core with its clock alone and the level that firmware gives it.
struct RankedCore<'a> {
    cpu: CpuId,
    kind: Option<&'a str>,
    hertz: f64,
    /// Half the interval of its median.
    uncertainty: Option<f64>,
    level: Option<&'a CoreLevel>,
}

impl RankedCore<'_> {
    /// Whether it is faster than another one, by more than either clock is known to.
    fn is_faster_than(&self, other: &RankedCore<'_>) -> bool {
        let apart = |(own, others): (f64, f64)| self.hertz - own > other.hertz + others;
        self.uncertainty.zip(other.uncertainty).is_some_and(apart)
    }
}

/// The cores, the fastest first.
fn cores(record: &Record) -> Vec<RankedCore<'_>> {
    let core = |series: &'_ Series| {
        let (cpu, summary) = (series.cpu, series.summary()?);
        let mut levels = record.clock.iter().flat_map(|clock| &clock.levels);
        let level = levels.find(|level| level.cpus.contains(cpu));
        let uncertainty = summary.relative_uncertainty().map(|share| share * summary.median);
        let kind = record.machine.topology.place(cpu).and_then(|place| place.kind.as_deref());
        Some(RankedCore { cpu, kind, hertz: summary.median, uncertainty, level })
    };
    let mut cores: Vec<RankedCore<'_>> = record.series_of(AREA, CLOCK).filter_map(core).collect();
    cores.sort_by(|a, b| b.hertz.total_cmp(&a.hertz).then(a.cpu.cmp(&b.cpu)));
    cores
}

/// The same, each with its rank, the first ranks first: a core whose clock is known well may be slower than more
/// cores than one whose clock is lower.
fn ranked<'c, 'a>(cores: &'c [RankedCore<'a>]) -> Vec<(usize, &'c RankedCore<'a>)> {
    let rank =
        |core: &RankedCore<'_>| 1 + cores.iter().filter(|it| it.is_faster_than(core)).count();
    let mut ranked: Vec<(usize, &RankedCore<'_>)> = cores.iter().map(|it| (rank(it), it)).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked
}

/// The cores by their clock alone, beside the ranking of the firmware.
pub(super) fn blocks(record: &Record) -> Option<Block> {
    let cores = cores(record);
    if cores.len() < 2 {
        return None;
    }
    let line = |(rank, core): (usize, &RankedCore<'_>)| {
        let spread = core.uncertainty.map_or(String::new(), |it| format!(" ± {:.0}", it / 1e6));
        vec![
            Text::from(rank.to_string()),
            Text::from(core.cpu.to_string()),
            Text::from(format!("{:.0}{spread}", core.hertz / 1e6)),
            core.level.map_or(Text::toned("-", Tone::Faint), |it| it.highest.to_string().into()),
        ]
    };
    let mut rows: Vec<Vec<Text>> = ranked(&cores).into_iter().map(line).collect();
    let mut legend = verdicts(record, &cores);
    if rows.len() > SHOWN_MAX {
        let left_out = rows.len() - SHOWN_MAX;
        rows.drain(SHOWN_MAX / 2..SHOWN_MAX / 2 + left_out);
        legend.push(format!("{left_out} cores between are in the record"));
    }
    Some(
        Table::of("Clock of each core alone, scalar_iadd, MHz")
            .right("rank")
            .right("CPU")
            .right("MHz alone")
            .right("firmware's level")
            .rows(rows)
            .legend(legend)
            .notes(["cores share a rank unless one is faster by more than both are known to"])
            .into(),
    )
}

/// Whether cores that firmware calls faster are so: a sentence for each type of core.
fn verdicts(record: &Record, cores: &[RankedCore<'_>]) -> Vec<String> {
    if cores.iter().any(|core| core.level.is_none()) {
        let stated = record.fact("cppc.favoured_cores").map(|fact| &fact.value);
        let why = match stated {
            Some(Known::No { unavailable }) => unavailable.why.as_str(),
            _ => "firmware states no level of each core",
        };
        return vec![format!("there is no ranking to compare with: {why}")];
    }
    let kinds = in_order(cores.iter().map(|core| core.kind));
    let of = |kind: Option<&str>| -> Vec<&RankedCore<'_>> {
        cores.iter().filter(|core| core.kind == kind).collect()
    };
    let verdict = |kind: Option<&str>| {
        let whose = kind.map_or(String::new(), |kind| format!("{kind} cores: "));
        Some(format!("{whose}{}", verdict(&of(kind))?))
    };
    kinds.into_iter().filter_map(verdict).collect()
}

/// Whether those of the highest level are faster, and how many pairs of cores lie as their levels say.
fn verdict(cores: &[&RankedCore<'_>]) -> Option<String> {
    /// Less than this between groups of cores is what clocks drift by.
    const DIFFERENT: f64 = 0.005;
    let level = |core: &RankedCore<'_>| core.level.map(|level| level.highest);
    let top = cores.iter().filter_map(|core| core.level).max_by_key(|level| level.highest)?;
    let source = match top.source.as_str() {
        "" => String::new(),
        source => format!(" ({source})"),
    };
    let is_favoured = |core: &&&RankedCore<'_>| level(core) == Some(top.highest);
    let clocks = |favoured: bool| -> Vec<f64> {
        cores.iter().filter(|it| is_favoured(it) == favoured).map(|it| it.hertz).collect()
    };
    let Some(others) = median(&clocks(false)) else {
        let (fastest, slowest) = (cores.first()?.hertz, cores.last()?.hertz);
        return Some(format!(
            "firmware gives all of them level {}{source}; measured they lie {:.1} % apart",
            top.highest,
            (fastest / slowest - 1.0) * 100.0
        ));
    };
    let change = median(&clocks(true))? / others - 1.0;
    let answer = match change {
        it if it > DIFFERENT => "as measured, too",
        it if it < -DIFFERENT => "though they are slower as measured",
        _ => "which is not to be seen here",
    };
    let ranked = cores.iter().flat_map(|a| {
        cores
            .iter()
            .filter(|b| level(a) > level(b))
            .map(|b| (a.is_faster_than(b), b.is_faster_than(a)))
    });
    let ranked: Vec<(bool, bool)> = ranked.collect();
    let [as_said, otherwise] = [
        ranked.iter().filter(|(as_said, _)| *as_said).count(),
        ranked.iter().filter(|(_, otherwise)| *otherwise).count(),
    ];
    Some(format!(
        "firmware favours the cores of level {}{source}, {answer}: {:+.1} % against the others; of {} pairs of \
         cores with different levels {as_said} lie as it says, {otherwise} the other way round",
        top.highest,
        change * 100.0,
        ranked.len(),
    ))
}

#[cfg(test)]
mod tests {
    use model::record::ClockRecord;

    use super::*;
    use crate::testing::{blank, near, series};

    /// Of two cores that are slower than the fastest for certain, or not, the one with the lower clock may be the one
    /// that is not.
    #[test]
    fn ranks_are_in_order() {
        let core = |(cpu, mhz, off): (u32, f64, f64)| {
            let (hertz, uncertainty) = (mhz * 1e6, Some(off * 1e6));
            RankedCore { cpu: CpuId(cpu), kind: None, hertz, uncertainty, level: None }
        };
        let cores = [(0, 3600.0, 1.0), (1, 3595.0, 1.0), (2, 3594.0, 9.0), (3, 3593.0, 1.0)];
        let cores = cores.map(core);
        let ranks: Vec<(usize, u32)> =
            ranked(&cores).into_iter().map(|(rank, core)| (rank, core.cpu.0)).collect();
        assert_eq!(ranks, [(1, 0), (1, 2), (2, 1), (2, 3)]);
    }

    #[test]
    fn cores_share_a_rank_unless_their_clocks_are_known_apart() {
        let core = |cpu: u32, mhz: f64, off: f64| {
            let hertz = |mhz: f64| [mhz * 1e6];
            let blocks = [mhz - off, mhz, mhz, mhz, mhz + off].map(hertz);
            let blocks = blocks.each_ref().map(|block| &block[..]);
            series([AREA, "each core", CLOCK], &cpu.to_string(), &[], &blocks)
        };
        let few = series([AREA, "each core", CLOCK], "4", &[], &[&[3400e6]]);
        let record = Record {
            series: vec![
                core(0, 3500.0, 6.0),
                core(1, 3510.0, 5.0),
                core(2, 3600.0, 40.0),
                core(3, 3520.0, 5.0),
                few,
            ],
            ..blank()
        };
        let cores = cores(&record);
        near(cores[0].uncertainty.unwrap(), 40e6);
        let ranks: Vec<(usize, u32)> =
            ranked(&cores).iter().map(|(rank, core)| (*rank, core.cpu.0)).collect();
        // 3,600 - 40 is above 3,520 + 5. 3,520 - 5 is not above 3,510 + 5, but above 3,500 + 6. 3,510 - 5 is not above
        // 3,500 + 6. One block has no interval, so that no core is faster than CPU 4 for certain.
        assert_eq!(ranks, [(1, 2), (1, 4), (2, 3), (2, 1), (3, 0)]);
    }

    #[test]
    fn cores_have_the_level_that_firmware_gives_them() {
        let level = |cpus: &str, highest| CoreLevel {
            cpus: cpus.parse().unwrap(),
            highest,
            source: String::new(),
        };
        let of = |cpu: &str| series([AREA, "each core", CLOCK], cpu, &[], &[&[3.5e9]]);
        let levels = vec![level("0-1", 44), level("2", 46)];
        let record = Record {
            series: ["0", "1", "2", "3"].map(of).to_vec(),
            clock: Some(ClockRecord { levels, ..ClockRecord::default() }),
            ..blank()
        };
        let levels: Vec<Option<u32>> =
            cores(&record).iter().map(|it| Some(it.level?.highest)).collect();
        // Cores of one clock stand in their order.
        assert_eq!(levels, [Some(44), Some(44), Some(46), None]);
    }
}
