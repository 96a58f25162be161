//! Latencies that others found, beside what was measured.

use std::sync::LazyLock;

use model::Pages;
use model::record::Record;
use serde::Deserialize;

use super::super::published::{self, Set, distinct};
use super::cache_boundaries::{LatencyLevel, Whose};
use super::shown::sweep::{name, sweep};
use crate::band::{Band, BandVerdict};

/// The table, as `data/README.md` describes it.
static SETS: LazyLock<Vec<Set<Figure>>> =
    LazyLock::new(|| published::read(include_str!("../../../../../data/memory-latency.toml")));

/// What a source says of one level, in one of two units.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    level: MemoryLevel,
    cycles: Option<f64>,
    ns: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum MemoryLevel {
    L1,
    L2,
    L3,
    #[serde(rename = "memory")]
    Memory,
}

impl MemoryLevel {
    fn of(whose: Whose) -> Option<MemoryLevel> {
        match whose {
            Whose::Cache(claim) => match claim.level {
                1 => Some(MemoryLevel::L1),
                2 => Some(MemoryLevel::L2),
                3 => Some(MemoryLevel::L3),
                _ => None,
            },
            Whose::Memory => Some(MemoryLevel::Memory),
            Whose::Unclaimed(_) | Whose::Beyond(_) => None,
        }
    }

    /// Up to this share a latency is that of others. A core's own caches take whole cycles, to which small
    /// pages add translations from the second one on; what is shared has distances and a clock that differ
    /// between models of one core, and memory its modules.
    fn tolerance(self) -> f64 {
        match self {
            MemoryLevel::L1 => 0.1,
            MemoryLevel::L2 => 0.2,
            MemoryLevel::L3 | MemoryLevel::Memory => 0.4,
        }
    }
}

/// What a figure is counted in.
#[derive(Debug, Clone, Copy)]
enum FigureUnit {
    Cycles,
    Nanoseconds,
}

impl FigureUnit {
    const ALL: [FigureUnit; 2] = [FigureUnit::Cycles, FigureUnit::Nanoseconds];

    fn word(self) -> &'static str {
        match self {
            FigureUnit::Cycles => "cycles",
            FigureUnit::Nanoseconds => "ns",
        }
    }

    fn of(self, figure: &Figure) -> Option<f64> {
        match self {
            FigureUnit::Cycles => figure.cycles,
            FigureUnit::Nanoseconds => figure.ns,
        }
    }
}

/// The latency of each level that a sweep found, beside what others found on such a core.
pub(super) fn bands(record: &Record) -> Vec<Band> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let kind = record.machine.topology.place(sweep.cpu).and_then(|place| place.kind.as_deref());
    let core = published::core(record, kind);
    let around = Around { guest: record.is_guest(), small_pages: has_small_pages(record) };
    let levels =
        sweep.levels.iter().filter_map(|level| Some((level, MemoryLevel::of(level.whose)?)));
    let band = |(level, place), count: FigureUnit| {
        let measured = match count {
            FigureUnit::Cycles => sweep.cycles(level)?,
            FigureUnit::Nanoseconds => sweep.seconds(level) * 1e9,
        };
        let figures = figures(core.as_deref(), place, count);
        let mut band = band(&name(level.whose), place, count, &figures, measured, around)?;
        if band.missing.is_some() && only_near_its_end(level) {
            let why =
                "nothing smaller than half of it was measured, and the next level may add to it";
            band.verdict = BandVerdict::CannotTell(why.to_owned());
        }
        Some(band)
    };
    levels
        .flat_map(|it| FigureUnit::ALL.into_iter().filter_map(move |count| band(it, count)))
        .collect()
}

/// What slows accesses down beside the caches themselves.
#[derive(Debug, Clone, Copy, Default)]
struct Around {
    guest: bool,
    small_pages: bool,
}

/// Whether rings lay in base pages, asked for or not; ends of them never fill a huge one.
fn has_small_pages(record: &Record) -> bool {
    const ENDS: f64 = 0.1;
    let mut rings = record.run.plan.memory.iter().filter(|it| it.content == "ring");
    rings.any(|it| match it.as_asked {
        asked if it.pages == Pages::Base.name() => asked.is_none_or(|share| share > ENDS),
        asked => asked.is_some_and(|share| share < 1.0 - ENDS),
    })
}

/// Whether each size on a level is so large that some of it may lie in the next one: few sizes are measured in short
/// runs.
fn only_near_its_end(level: &LatencyLevel) -> bool {
    matches!(level.whose, Whose::Cache(claim) if level.sizes[0] > claim.bytes / 2)
}

/// What is known of a level of that core, each with the set that says it.
fn figures(
    core: Option<&str>,
    place: MemoryLevel,
    count: FigureUnit,
) -> Vec<(f64, &'static Set<Figure>)> {
    let of_set = |set: &'static Set<Figure>| {
        let same = set.figures.iter().filter(move |figure| figure.level == place);
        same.filter_map(move |figure| Some((count.of(figure)?, set)))
    };
    SETS.iter().filter(|set| set.is_of(core)).flat_map(of_set).collect()
}

fn band(
    level: &str,
    place: MemoryLevel,
    count: FigureUnit,
    figures: &[(f64, &'static Set<Figure>)],
    measured: f64,
    around: Around,
) -> Option<Band> {
    let off = |known: f64| measured / known - 1.0;
    let values = figures.iter().map(|(value, _)| *value);
    let nearest = values.clone().min_by(|a, b| off(*a).abs().total_cmp(&off(*b).abs()))?;
    let (least, most) = values
        .clone()
        .fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    let tolerance = place.tolerance();
    let (is_low, is_high) =
        (measured < least * (1.0 - tolerance), measured > most * (1.0 + tolerance));
    let verdict = match place {
        _ if !is_low && !is_high => BandVerdict::Normal,
        MemoryLevel::L1 | MemoryLevel::L2 if is_low => BandVerdict::Outside(
            "another core than it says, or another clock than its own".to_owned(),
        ),
        MemoryLevel::L3 | MemoryLevel::Memory if is_low => BandVerdict::CannotTell(
            "faster than others found it: models of one core differ".to_owned(),
        ),
        MemoryLevel::L3 | MemoryLevel::Memory if around.guest => {
            BandVerdict::CannotTell("guests translate addresses twice".to_owned())
        }
        MemoryLevel::L1 => BandVerdict::Outside("another core than it says".to_owned()),
        MemoryLevel::L2 if around.small_pages => {
            BandVerdict::Outside("small pages, or a busy sibling".to_owned())
        }
        MemoryLevel::L2 => BandVerdict::Outside("a busy sibling".to_owned()),
        MemoryLevel::L3 => {
            BandVerdict::Outside("a low clock of the uncore, or busy neighbours".to_owned())
        }
        MemoryLevel::Memory if around.small_pages => BandVerdict::Outside(
            "slow or far memory, small pages, or a low clock of the uncore".to_owned(),
        ),
        MemoryLevel::Memory => {
            BandVerdict::Outside("slow or far memory, or a low clock of the uncore".to_owned())
        }
    };
    let citations = figures.iter().map(|(_, set)| set.citation());
    Some(Band {
        what: format!("latency of {level}"),
        expected: format!(
            "{} {}",
            distinct(values.map(|value| value.to_string()), " / "),
            count.word()
        ),
        source: format!("latency of {level} expected: {}", distinct(citations, "; ")),
        measured: format!("{measured:.1} {}", count.word()),
        position: format!("{:+.1} %", off(nearest) * 100.0),
        verdict,
        normal: [least * (1.0 - tolerance), most * (1.0 + tolerance)].map(|end| end / measured),
        missing: is_high.then(|| most * (1.0 + tolerance) / measured),
        remedy: match place {
            MemoryLevel::L1 => "see which core it says it is: `cpudyno info`",
            MemoryLevel::L2 | MemoryLevel::L3 | MemoryLevel::Memory => {
                "look closer: `cpudyno memory sweep`"
            }
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::cache_boundaries::ClaimedCache;
    use super::*;
    use crate::testing::near;

    #[test]
    fn every_figure_is_one_of_a_known_core_in_one_unit() {
        assert!(SETS.len() >= 10, "{}", SETS.len());
        // Where a machine has several types of core, the type follows.
        let of_types = |core| ["", " P", " E"].map(|kind| format!("{core}{kind}"));
        let known: Vec<String> = model::microarchitecture::names().flat_map(of_types).collect();
        for set in SETS.iter() {
            assert!(!set.citation().is_empty() && !set.figures.is_empty(), "{set:?}");
            assert!(known.iter().any(|core| set.is_of(Some(core))), "{set:?}");
            for figure in &set.figures {
                assert!(figure.cycles.is_some() != figure.ns.is_some(), "{figure:?}");
                let value = figure.cycles.or(figure.ns).unwrap();
                assert!((1.0..1000.0).contains(&value), "{figure:?}");
                // A time says nothing of what runs at a core's clock, nor a number of cycles of memory.
                let is_own = matches!(figure.level, MemoryLevel::L1 | MemoryLevel::L2);
                assert!(!is_own || figure.cycles.is_some(), "{figure:?}");
                assert!(figure.level != MemoryLevel::Memory || figure.ns.is_some(), "{figure:?}");
            }
        }
    }

    fn verdict(
        core: &str,
        place: MemoryLevel,
        count: FigureUnit,
        measured: f64,
        guest: bool,
    ) -> BandVerdict {
        let figures = figures(Some(core), place, count);
        let around = Around { guest, ..Around::default() };
        band("it", place, count, &figures, measured, around).unwrap().verdict
    }

    #[test]
    fn what_a_core_has_to_itself_takes_what_others_found() {
        let cycles = |place, measured| verdict("Zen 4", place, FigureUnit::Cycles, measured, true);
        assert_eq!(cycles(MemoryLevel::L1, 4.17), BandVerdict::Normal);
        assert_eq!(cycles(MemoryLevel::L2, 15.0), BandVerdict::Normal);
        for (place, measured) in [
            (MemoryLevel::L1, 3.0),
            (MemoryLevel::L1, 5.0),
            (MemoryLevel::L2, 10.0),
            (MemoryLevel::L2, 20.0),
        ] {
            assert!(
                matches!(cycles(place, measured), BandVerdict::Outside(_)),
                "{place:?} {measured}"
            );
        }
    }

    #[test]
    fn what_is_shared_may_be_slow_in_a_guest_and_fast_anywhere() {
        let ns = |measured, guest| {
            verdict("Cascade Lake", MemoryLevel::Memory, FigureUnit::Nanoseconds, measured, guest)
        };
        assert_eq!(ns(90.0, false), BandVerdict::Normal);
        assert!(matches!(ns(140.0, false), BandVerdict::Outside(_)));
        assert!(matches!(ns(140.0, true), BandVerdict::CannotTell(_)));
        assert!(matches!(ns(40.0, false), BandVerdict::CannotTell(_)));
    }

    #[test]
    fn small_pages_are_a_cause_only_where_there_are_some() {
        for (place, count) in
            [(MemoryLevel::L2, FigureUnit::Cycles), (MemoryLevel::Memory, FigureUnit::Nanoseconds)]
        {
            let figures = figures(Some("Cascade Lake"), place, count);
            let names_them = |small_pages| {
                let around = Around { guest: false, small_pages };
                let verdict = band("it", place, count, &figures, 900.0, around).unwrap().verdict;
                matches!(verdict, BandVerdict::Outside(why) if why.contains("small pages"))
            };
            assert!(names_them(true) && !names_them(false), "{place:?}");
        }
    }

    #[test]
    fn a_level_that_was_measured_near_its_end_alone_is_known_as_such() {
        let of = |level, sizes| {
            let whose = Whose::Cache(ClaimedCache { level: 2, bytes: level });
            only_near_its_end(&LatencyLevel { whose, seconds: 4e-9, sizes, knee: None })
        };
        assert!(of(1 << 20, [1 << 20, 1 << 20]));
        assert!(!of(1 << 20, [1 << 19, 1 << 20]));
    }

    #[test]
    fn what_nobody_measured_has_no_band() {
        let figures = figures(Some("SIMULATED wide core"), MemoryLevel::L1, FigureUnit::Cycles);
        assert!(
            band("L1", MemoryLevel::L1, FigureUnit::Cycles, &figures, 4.0, Around::default())
                .is_none()
        );
    }

    #[test]
    fn a_latency_above_its_band_lacks_what_is_beyond_a_tenth() {
        // Of a Zen 4 the first level takes 4 cycles: 3.6 to 4.4 are normal.
        let figures = figures(Some("Zen 4"), MemoryLevel::L1, FigureUnit::Cycles);
        let of = |measured| {
            let unit = FigureUnit::Cycles;
            band("L1", MemoryLevel::L1, unit, &figures, measured, Around::default()).unwrap()
        };
        let slow = of(5.0);
        let [low, high] = slow.normal;
        near(low, 3.6 / 5.0);
        near(high, 4.4 / 5.0);
        near(slow.missing.unwrap(), 0.88);
        assert_eq!(slow.position, "+25.0 %");
        assert_eq!((of(4.3).missing, of(3.5).missing), (None, None));
    }

    #[test]
    fn rings_are_in_small_pages_where_more_than_a_tenth_of_one_is() {
        let has = |content: &str, pages: &str, as_asked| {
            let mut record = crate::testing::blank();
            record.run.plan.memory = vec![model::record::PlacedMemory {
                cpu: model::CpuId(0),
                content: content.to_owned(),
                bytes: 1 << 20,
                pages: pages.to_owned(),
                node: None,
                backing: model::Known::Yes(String::new()),
                as_asked,
            }];
            has_small_pages(&record)
        };
        assert!(has("ring", "thp", Some(0.89)) && !has("ring", "thp", Some(0.91)));
        assert!(has("ring", "4k", Some(0.11)) && !has("ring", "4k", Some(0.09)));
        assert!(has("ring", "4k", None) && !has("ring", "thp", None));
        assert!(!has("arrays", "thp", Some(0.0)));
    }
}
