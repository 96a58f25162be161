//! What was seen, as parts of pages; a pure function of the record (invariant I2).

use model::areas::cores::{AREA, LATENCY, MESSAGES};
use model::page::{Align, Block, HeatCell, HeatMap, HeatRow, Table, Text, Tone, si, tally};
use model::record::{Record, Relation, Series, Topology};
use model::stats::Summary;
use model::{CpuId, Finding, Unit, in_order_of, stats};

use super::super::memory;

use crate::claim::{Claim, Verdict};
use crate::figure::KeyFigure;

/// What one pair took, in one placement.
pub(super) struct PairResult<'a> {
    pub(super) message: &'a str,
    pub(super) pair: [CpuId; 2],
    relation: &'a str,
    class: Option<&'a str>,
    /// Of what types the cores are, where the machine has several.
    types: Option<String>,
    /// Whether it rests on disturbed blocks alone.
    is_doubtful: bool,
    /// How many lines were measured, where that is known.
    pub(super) lines: Option<&'a str>,
    summary: Summary,
}

/// Everything that was measured, in the order of the record.
pub(super) fn told(record: &Record) -> Vec<PairResult<'_>> {
    let topology = &record.machine.topology;
    record.series_of(AREA, LATENCY).filter_map(|series| read(topology, series)).collect()
}

fn read<'a>(topology: &Topology, series: &'a Series) -> Option<PairResult<'a>> {
    let cpus: Vec<CpuId> = series.active.iter().collect();
    let [a, b] = cpus[..] else { return None };
    Some(PairResult {
        message: &series.workload,
        pair: [a, b],
        relation: series.parameters.get("between").map_or("unknown", String::as_str),
        class: series.placement_class.as_deref(),
        types: topology.types(&series.active),
        is_doubtful: series.is_doubtful(),
        lines: series.parameters.get("lines").map(String::as_str),
        summary: *series.summary()?,
    })
}

/// The messages that were measured.
pub(super) fn messages<'a>(told: &[PairResult<'a>]) -> Vec<&'a str> {
    in_order_of(told.iter().map(|it| it.message), &MESSAGES.map(|it| it.0))
}

/// Rows of the same message, relation, placement class and types of cores.
struct PairClass<'a> {
    message: &'a str,
    relation: &'a str,
    class: Option<&'a str>,
    types: Option<&'a str>,
    told: Vec<&'a PairResult<'a>>,
}

impl PairClass<'_> {
    fn medians(&self) -> Vec<f64> {
        self.told.iter().map(|told| told.summary.median).collect()
    }

    fn is_doubtful(&self) -> bool {
        self.told.iter().all(|told| told.is_doubtful)
    }

    /// Whether there is more than one number for each pair.
    fn has_spread(&self) -> bool {
        self.told.iter().any(|told| told.summary.count > 1)
    }

    fn extreme(&self, greatest: bool) -> Option<&PairResult<'_>> {
        let by = |a: &&&PairResult<'_>, b: &&&PairResult<'_>| {
            a.summary.median.total_cmp(&b.summary.median)
        };
        let found =
            if greatest { self.told.iter().max_by(by) } else { self.told.iter().min_by(by) };
        found.copied()
    }
}

/// By message, and then the nearest first.
fn kinds<'a>(told: &'a [PairResult<'a>]) -> Vec<PairClass<'a>> {
    let mut kinds: Vec<PairClass<'a>> = Vec::new();
    for one in told {
        let types = one.types.as_deref();
        let same = |kind: &&mut PairClass<'a>| {
            (kind.message, kind.relation) == (one.message, one.relation)
                && (kind.class, kind.types) == (one.class, types)
        };
        match kinds.iter_mut().find(same) {
            Some(kind) => kind.told.push(one),
            None => kinds.push(PairClass {
                message: one.message,
                relation: one.relation,
                class: one.class,
                types,
                told: vec![one],
            }),
        }
    }
    let messages = messages(told);
    let order = |id: &str| messages.iter().position(|known| *known == id);
    kinds.sort_by_key(|kind| (order(kind.message), Relation::named(kind.relation)));
    kinds
}

/// Nanoseconds without their unit.
fn nanoseconds(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e9)
}

/// One row for each kind of pair.
pub(super) fn table(told: &[PairResult<'_>]) -> Block {
    let kinds = kinds(told);
    let row = |kind: &PairClass<'_>| {
        let median = stats::median(&kind.medians())?;
        let [p5, p95] = [|s: &Summary| s.p5, |s: &Summary| s.p95].map(|of| {
            let of_pairs: Vec<f64> = kind.told.iter().map(|told| of(&told.summary)).collect();
            stats::median(&of_pairs).map_or("-".to_owned(), nanoseconds)
        });
        let extreme = |greatest| {
            let told = kind.extreme(greatest)?;
            let [a, b] = told.pair;
            Some(format!("{} ({a}-{b})", nanoseconds(told.summary.median)))
        };
        let extremes = if kind.told.len() > 1 {
            [false, true].map(|greatest| extreme(greatest).unwrap_or_else(|| "-".to_owned()))
        } else {
            let [a, b] = kind.told.first()?.pair;
            [format!("only {a}-{b}"), String::new()]
        };
        let [least, greatest] = extremes;
        let mut row: Vec<Text> = vec![kind.message.into(), kind.relation.into()];
        row.extend(kind.types.map(Text::from));
        row.extend([
            kind.class.map_or_else(|| Text::toned("not probed", Tone::Faint), Text::from),
            kind.told.len().to_string().into(),
            Text::toned(nanoseconds(median), Tone::Strong).doubted(kind.is_doubtful()),
            if kind.has_spread() {
                format!("{p5} - {p95}").into()
            } else {
                Text::toned("-", Tone::Faint)
            },
            least.into(),
            greatest.into(),
        ]);
        Some(row)
    };
    let types = kinds.iter().any(|kind| kind.types.is_some());
    let mut notes: Vec<String> = MESSAGES
        .iter()
        .filter(|(id, _)| kinds.iter().any(|kind| kind.message == *id))
        .map(|(id, doc)| format!("{id}: {doc}"))
        .collect();
    notes.push(if kinds.iter().any(PairClass::has_spread) {
        "lines: the middle nine tenths of samples, one for each line and block".to_owned()
    } else {
        "lines: not known, each pair has one number".to_owned()
    });
    Table::of("Core-to-core latency, ns (half a round trip)")
        .left("message")
        .left("between")
        .columns(types.then_some(("types", Align::Left)))
        .left("placement")
        .right("pairs")
        .right("median")
        .right("lines")
        .right("least")
        .right("greatest")
        .rows(kinds.iter().filter_map(row))
        .notes(notes)
        .into()
}

/// CPUs by CPUs; nothing where a table says as much.
pub(super) fn map(told: &[PairResult<'_>], message: &str) -> Option<Block> {
    const CPUS_MIN: usize = 3;
    let of_message: Vec<&PairResult<'_>> =
        told.iter().filter(|told| told.message == message).collect();
    let mut cpus: Vec<CpuId> = of_message.iter().flat_map(|told| told.pair).collect();
    cpus.sort_unstable();
    cpus.dedup();
    // A map of pairs at random would be mostly holes.
    let complete = of_message.len() * 2 >= cpus.len() * (cpus.len().saturating_sub(1));
    if cpus.len() < CPUS_MIN || !complete {
        return None;
    }
    let cell = |a: CpuId, b: CpuId| {
        let pair = [a.min(b), a.max(b)];
        let found = of_message.iter().filter(|told| told.pair == pair);
        match found.max_by_key(|told| told.summary.count) {
            Some(told) => {
                let value = told.summary.median * 1e9;
                HeatCell::Value { value, text: format!("{value:.0}") }
            }
            None => HeatCell::Absent(Text::toned("-", Tone::Faint)),
        }
    };
    let row = |&a: &CpuId| HeatRow {
        label: a.to_string(),
        cells: cpus.iter().map(|&b| cell(a, b)).collect(),
    };
    Some(Block::HeatMap(HeatMap {
        caption: format!("{message}: latency by pair, ns"),
        unit: "ns".to_owned(),
        row_title: "CPU".to_owned(),
        column_title: "CPU".to_owned(),
        columns: cpus.iter().map(CpuId::to_string).collect(),
        groups: vec![cpus.iter().map(row).collect()],
        legend: Vec::new(),
        notes: Vec::new(),
        shaded_from: None,
        outline: None,
    }))
}

pub(super) fn section(record: &Record) -> Vec<Block> {
    let told = told(record);
    if told.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Core to core".to_owned()), table(&told)];
    blocks.extend(map(&told, MESSAGES[0].0));
    blocks
}

/// Pairs that lie so to each other, by the first message, of each combination of types of cores: of several placements
/// the one that most pairs had.
fn usual<'k, 'a>(kinds: &'k [PairClass<'a>], relation: Relation) -> Vec<&'k PairClass<'a>> {
    let mut found: Vec<&PairClass<'_>> = Vec::new();
    for kind in kinds {
        if kind.message != MESSAGES[0].0 || kind.relation != relation.word() {
            continue;
        }
        match found.iter_mut().find(|known| known.types == kind.types) {
            Some(known) if kind.told.len() > known.told.len() => *known = kind,
            Some(_) => {}
            None => found.push(kind),
        }
    }
    found
}

/// The nearest cores that are two, and the farthest; of several types of cores each combination.
pub(super) fn figures(record: &Record) -> Vec<KeyFigure> {
    let told = told(record);
    let kinds = kinds(&told);
    let of = |most: &PairClass<'_>| {
        let types = most.types.map_or(String::new(), |types| format!(", {types}"));
        let name = format!("core to core, {}{types}", most.relation);
        let [only] = most.told.as_slice() else {
            let figure = KeyFigure::of(name, stats::median(&most.medians())?, Unit::Second);
            return Some(figure.doubted(most.is_doubtful()));
        };
        let summary = only.summary;
        let figure = KeyFigure::of(name, summary.median, Unit::Second);
        Some(figure.known_to(summary.relative_uncertainty()).doubted(only.is_doubtful))
    };
    let apart =
        Relation::ALL.into_iter().filter(|it| !matches!(it, Relation::SameCpu | Relation::Sibling));
    let classes: Vec<&PairClass<'_>> = apart.flat_map(|it| usual(&kinds, it)).collect();
    let has_types = classes.iter().any(|it| it.types.is_some());
    let mut figures: Vec<KeyFigure> = classes.into_iter().filter_map(of).collect();
    if figures.len() > 2 && !has_types {
        figures.drain(1..figures.len() - 1);
    }
    figures
}

pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let told = told(record);
    let kinds = kinds(&told);
    let of = |most: &PairClass<'_>| {
        let median = stats::median(&most.medians())?;
        let class = most.class.filter(|class| *class != most.relation);
        let class = class.map_or(String::new(), |class| format!(", placed {class}"));
        let types = most.types.map_or(String::new(), |types| format!(", {types}"));
        Some(format!("{} ({}{types}{class})", si::format(median, Unit::Second), most.relation))
    };
    let all = Relation::ALL.into_iter().flat_map(|relation| usual(&kinds, relation));
    let usual: Vec<String> = all.filter_map(of).collect();
    if usual.is_empty() {
        return Vec::new();
    }
    let text = usual.join(", ");
    vec![format!("A contended cache line goes from core to core in {text}.").into()]
}

/// Slices of one cache differ by less.
const RATIO_MAX: f64 = 1.6;

/// Fewer pairs tell of no difference between them.
const PAIRS_MIN: usize = 3;

/// A line that stays within a cache takes no longer than so many looks into it, whatever its clock, size and fabric.
///
/// # Source
/// Published latencies from core to core beside those of the last-level cache: 1.5 to 3 of these on rings, on meshes of
/// up to 60 cores and within complexes of Zen 2 to Zen 5; 6 to 12 between two complexes or packages.
const LOOKS_MAX: f64 = 5.0;

/// That cores of one cache, of two and of two packages are as near as that: pairs of each are alike, and a line that
/// stays within a cache takes a few times as long as a look into it.
pub(super) fn claims(record: &Record) -> Vec<Claim> {
    let told = told(record);
    let kinds = kinds(&told);
    let look = memory::last_cache_latency(record);
    let mut claims = Vec::new();
    let relations = [Relation::SameCache, Relation::OtherCache, Relation::OtherPackage];
    // Where the host moved CPUs, a pair has a number for each placement.
    let each =
        relations.into_iter().flat_map(|it| usual(&kinds, it).into_iter().map(move |of| (it, of)));
    for (relation, usual) in each {
        let mut medians = usual.medians();
        medians.sort_unstable_by(f64::total_cmp);
        let (Some(least), Some(greatest)) = (medians.first(), medians.last()) else { continue };
        let far =
            look.filter(|look| relation == Relation::SameCache && *greatest > look * LOOKS_MAX);
        if medians.len() < PAIRS_MIN && far.is_none() {
            continue;
        }
        let verdict = if medians.len() >= PAIRS_MIN && *greatest > least * RATIO_MAX {
            Verdict::Differs(format!(
                "the farthest pair takes {:.1} times as long as the nearest",
                greatest / least
            ))
        } else if let Some(look) = far {
            let (times, look) = (greatest / look, nanoseconds(look));
            Verdict::Differs(format!(
                "{times:.0} times the {look} ns of that cache: lines leave it"
            ))
        } else {
            Verdict::AsClaimed
        };
        let claimed = match relation {
            Relation::SameCache => "share a last-level cache",
            Relation::OtherCache => "share a package, and no cache",
            _ => "lie in two packages",
        };
        claims.push(Claim {
            what: {
                let types = usual.types.map_or(String::new(), |types| format!(", {types}"));
                format!("{} of cores{types}", tally(medians.len(), "pair"))
            },
            claimed: claimed.to_owned(),
            by: "kernel".to_owned(),
            measured: match medians.as_slice() {
                [only] => format!("{} ns", nanoseconds(*only)),
                _ => format!("{} to {} ns", nanoseconds(*least), nanoseconds(*greatest)),
            },
            verdict,
            finding: Some("cores.uneven"),
            short: None,
            cause: None,
            command: "cpudyno cores",
        });
    }
    claims
}

/// Pairs that the kernel takes for alike, and that are not.
pub(super) fn findings(record: &Record) -> Vec<Finding> {
    let told = told(record);
    let uneven = |kind: &PairClass<'_>| {
        let (least, greatest) = (kind.extreme(false)?, kind.extreme(true)?);
        let (low, high) = (least.summary.median, greatest.summary.median);
        if kind.told.len() < PAIRS_MIN || high <= low * RATIO_MAX {
            return None;
        }
        let ([a, b], [c, d]) = (least.pair, greatest.pair);
        let text = format!(
            "CPUs {a} and {b} need {}, CPUs {c} and {d} {}, although the kernel takes both for \
                 alike: clusters of cores, sub-NUMA, or a host that placed them apart",
            si::format(low, Unit::Second),
            si::format(high, Unit::Second)
        );
        Some(
            Finding::note(
                "cores.uneven",
                format!("{} between {} pairs", kind.message, kind.relation),
                text,
            )
            .remedy("the map shows who is near whom: `cpudyno cores`".to_owned()),
        )
    };
    kinds(&told).iter().filter_map(uneven).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, cache, near, series};

    /// Pairs of CPUs, how they lie, and their nanoseconds.
    fn pairs(of: &[(&str, Relation, f64)]) -> Record {
        let mut record = blank();
        let one = |(pair, relation, ns): &(&str, Relation, f64)| {
            let between = [("between", relation.word())];
            series([AREA, MESSAGES[0].0, LATENCY], pair, &between, &[&[ns * 1e-9]])
        };
        record.series = of.iter().map(one).collect();
        record
    }

    const THREE: [(&str, Relation, f64); 3] = [
        ("0-1", Relation::SameCache, 50.0),
        ("0,2", Relation::SameCache, 90.0),
        ("1-2", Relation::SameCache, 40.0),
    ];

    #[test]
    fn a_class_has_the_median_and_the_extremes_of_its_pairs() {
        let far = [("0,9", Relation::OtherPackage, 120.0), ("1,9", Relation::OtherPackage, 130.0)];
        let record = pairs(&[far.as_slice(), &THREE].concat());
        let told = told(&record);
        let kinds = kinds(&told);
        let medians: Vec<f64> =
            kinds.iter().map(|kind| stats::median(&kind.medians()).unwrap()).collect();
        // The nearest first: 40, 50, 90; then between 120 and 130.
        near(medians[0], 50e-9);
        near(medians[1], 125e-9);
        let extremes = [false, true].map(|greatest| kinds[0].extreme(greatest).unwrap().pair);
        assert_eq!(extremes, [[CpuId(1), CpuId(2)], [CpuId(0), CpuId(2)]]);
        let figures = figures(&record);
        assert_eq!(figures.len(), 2);
        near(figures[0].value().unwrap(), 50e-9);
        near(figures[1].value().unwrap(), 125e-9);
    }

    #[test]
    fn three_pairs_of_a_class_are_uneven_from_eight_fifths_on() {
        let of = |greatest: f64, count: usize| {
            let mut of = THREE;
            of[1].2 = greatest;
            let record = pairs(&of[3 - count..]);
            (findings(&record).len(), claims(&record).into_iter().map(|it| it.verdict).next())
        };
        // 1.6 x 40 ns are 64.
        assert_eq!(of(63.9, 3), (0, Some(Verdict::AsClaimed)));
        assert!(matches!(of(64.1, 3), (1, Some(Verdict::Differs(_)))));
        // Two pairs say nothing of each other.
        assert_eq!(of(90.0, 2), (0, None));
    }

    #[test]
    fn a_pair_of_one_cache_is_far_beyond_five_looks_into_it() {
        let of = |ns| {
            let mut record = pairs(&[("0-1", Relation::SameCache, ns)]);
            cache(&mut record, 3, 1 << 20, &["0-1"]);
            for (kib, look) in
                [(256, 20e-9), (512, 20e-9), (1024, 20e-9), (2048, 80e-9), (4096, 80e-9)]
            {
                let bytes = (kib << 10).to_string();
                let parameters = [("question", "sweep"), ("footprint", bytes.as_str())];
                record.series.push(series(
                    ["memory", "chase", "latency"],
                    "0",
                    &parameters,
                    &[&[look]],
                ));
            }
            claims(&record).into_iter().map(|claim| claim.verdict).next()
        };
        // 5 x 20 ns are 100.
        assert_eq!(of(99.0), None);
        assert!(matches!(of(101.0), Some(Verdict::Differs(_))));
    }
}
