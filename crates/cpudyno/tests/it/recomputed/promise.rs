//! What is promised beside what was measured: by active cores, by licence, and for each core alone.

use serde_json::Value;

use super::check::{Rule, table};
use super::page::Table;
use super::record::{Record, Series, class_with_most, items, text};
use super::stats::{change, greatest, least, list, median, mhz, numbers, once};
use super::why::{by_count, row};

const AREA: &str = "turbo: promised";
const SECTION: &str = "Clock";

pub(crate) static RULES: &[Rule] = &[
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "promised and measured clock, MHz",
        want: measured,
    },
    Rule::Lines { area: AREA, section: SECTION, template: "turbo limit: {}", want: limits },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "{} more groups of CPUs with limits of their own are in the record",
        want: more_groups,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "hardware p-states (first cpus): {}",
        want: |record| levels(record, "turbo.hwp", "hardware p-states (first cpus)"),
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "performance levels: {}",
        want: |record| levels(record, "cppc.performance", "performance levels"),
    },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "each core alone under scalar_iadd, MHz (higher is better)",
        want: alone,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "{} cores between are in the record",
        want: between,
    },
    Rule::Lines { area: AREA, section: SECTION, template: "firmware {}", want: ranking },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "there is no ranking to compare with: {}",
        want: no_ranking,
    },
];

/// Streams by the CPUs that were active with them, the fewest first.
struct Cells<'a> {
    active: &'a str,
    cpus: &'a [u64],
    /// With the clock of each, the median over threads.
    streams: Vec<(&'a str, Option<f64>)>,
}

fn cells(record: &Record) -> Vec<Cells<'_>> {
    let is_stream = |it: &&Series| it.parameter("data").is_some();
    let series: Vec<&Series> = record.of_quantity("turbo", "clock").filter(is_stream).collect();
    let mut cells: Vec<Cells<'_>> = Vec::new();
    for one in &series {
        if cells.iter().all(|it| it.active != one.active) {
            let mine: Vec<&&Series> = series.iter().filter(|it| it.active == one.active).collect();
            let clock = |id: &&str| {
                let of: Vec<&Series> =
                    mine.iter().filter(|it| it.workload == **id).map(|it| **it).collect();
                let class = class_with_most(&of)?;
                let of_class = of.iter().filter(|it| it.class == *class);
                median(&of_class.filter_map(|it| it.median()).collect::<Vec<_>>())
            };
            let ids = once(mine.iter().map(|it| it.workload.as_str()));
            let streams = ids.iter().map(|id| (*id, clock(id))).collect();
            cells.push(Cells { active: &one.active, cpus: &one.cpus, streams });
        }
    }
    cells.sort_by_key(|it| it.cpus.len());
    cells
}

/// The least and the most that the kernel allows these CPUs.
fn allowed(record: &Record, cpus: &[u64]) -> Option<[f64; 2]> {
    let all = items(&record.clock()["allowed"]).iter();
    let ours = all.filter(|it| {
        let theirs = numbers(text(&it["cpus"]));
        it["source"] == "scaling_max_freq" && theirs.iter().any(|cpu| cpus.contains(cpu))
    });
    let ours: Vec<f64> = ours.filter_map(|it| it["hertz"].as_f64()).collect();
    Some([least(&ours)?, greatest(&ours)?])
}

fn is_promised(record: &Record) -> bool {
    let cells = cells(record);
    let limited = !items(&record.value["machine"]["turbo_limits"]).is_empty();
    !cells.is_empty() && (limited || cells.iter().any(|it| allowed(record, it.cpus).is_some()))
}

fn measured(record: &Record) -> Vec<Table> {
    if !is_promised(record) {
        return Vec::new();
    }
    let cell = |hertz: Option<f64>| hertz.map_or("-".to_owned(), mhz);
    let line = |it: &Cells<'_>| {
        let (turbo, allowed) = (by_count(record, it.cpus), allowed(record, it.cpus));
        let clocks = it.streams.iter().filter_map(|(id, clock)| Some((*id, (*clock)?)));
        let best = clocks.max_by(|a, b| a.1.total_cmp(&b.1));
        let [low, high] = [0, 1].map(|end| cell(allowed.map(|it| it[end])));
        let is_one = low == high;
        let both: Vec<f64> = turbo.into_iter().chain(allowed.map(|it| it[0])).collect();
        let promised = least(&both).filter(|_| is_one);
        let share = best.zip(promised).map(|((_, clock), most)| clock / most * 100.0);
        vec![
            it.cpus.len().to_string(),
            cell(turbo),
            if is_one { low } else { format!("{low} to {high}") },
            cell(best.map(|it| it.1)),
            best.map_or("-", |it| it.0).to_owned(),
            share.map_or("-".to_owned(), |share| format!("{share:.1} %")),
        ]
    };
    let columns =
        ["cores", "turbo limit", "kernel allows", "fastest stream", "which", "of promised"];
    let rows = cells(record).iter().map(line).collect();
    vec![table("promised and measured clock, MHz", &columns, rows)]
}

/// A page shows eight groups of CPUs that the kernel allows as much.
fn more_groups(record: &Record) -> Vec<String> {
    let all = items(&record.clock()["allowed"]).iter();
    let of_kernel = all.filter(|it| it["source"] == "scaling_max_freq");
    let more = once(of_kernel.filter_map(|it| it["hertz"].as_f64())).len().saturating_sub(8);
    let line = || format!("{more} more groups of CPUs with limits of their own are in the record");
    (more > 0).then(line).into_iter().collect()
}

fn limits(record: &Record) -> Vec<String> {
    let all = items(&record.value["machine"]["turbo_limits"]).iter();
    let lines = once(all.map(|it| format!("turbo limit: {}", text(&it["source"]))));
    if is_promised(record) { lines } else { Vec::new() }
}

/// A fact of the record, as it stands there.
fn levels(record: &Record, id: &str, label: &str) -> Vec<String> {
    let said = record.fact(id).and_then(|it| it["value"]["text"].as_str());
    let said = said.or_else(|| record.fact(id)?["value"].as_str());
    let line = said.map(|said| format!("{label}: {said}"));
    if is_promised(record) { line.into_iter().collect() } else { Vec::new() }
}

/// The fastest stream of each licence of a firmware's table, by active cores.
pub(crate) fn by_licence(record: &Record, licences: usize) -> Vec<Vec<String>> {
    let line = |it: &Cells<'_>| {
        let best = |place: usize| {
            let mine =
                it.streams.iter().filter(|(id, _)| row(id, licences).min(licences - 1) == place);
            mine.filter_map(|it| it.1).reduce(f64::max)
        };
        let cells = (0..licences).map(|place| best(place).map_or("-".to_owned(), mhz));
        std::iter::once(format!("measured, {} active", it.cpus.len())).chain(cells).collect()
    };
    cells(record).iter().map(line).collect()
}

/// A core with its clock alone, half of that one's interval, and its level.
struct Core<'a> {
    cpu: u64,
    hertz: f64,
    off: Option<f64>,
    level: Option<&'a Value>,
}

impl Core<'_> {
    fn number(&self) -> Option<u64> {
        self.level?["highest"].as_u64()
    }

    fn beats(&self, other: &Core<'_>) -> bool {
        let both = self.off.zip(other.off);
        both.is_some_and(|(own, theirs)| self.hertz - own > other.hertz + theirs)
    }
}

/// The fastest first.
fn cores(record: &Record) -> Vec<Core<'_>> {
    let levels = items(&record.clock()["levels"]);
    let core = |it: &Series| {
        let hertz = it.median()?;
        let off = it.uncertainty().map(|share| share * hertz);
        let level = levels.iter().find(|level| numbers(text(&level["cpus"])).contains(&it.cpu));
        Some(Core { cpu: it.cpu, hertz, off, level })
    };
    let mut cores: Vec<Core<'_>> =
        record.of_quantity("turbo", "core_clock").filter_map(core).collect();
    cores.sort_by(|a, b| b.hertz.total_cmp(&a.hertz).then(a.cpu.cmp(&b.cpu)));
    if cores.len() < 2 { Vec::new() } else { cores }
}

/// One rank below each core that is faster by more than both are known to.
fn alone(record: &Record) -> Vec<Table> {
    let cores = cores(record);
    let rank = |core: &Core<'_>| 1 + cores.iter().filter(|other| other.beats(core)).count();
    let line = |core: &Core<'_>| {
        let rank = rank(core);
        let off = core.off.map_or(String::new(), |off| format!(" ± {}", mhz(off)));
        let level = core.number().map_or("-".to_owned(), |level| level.to_string());
        let clock = format!("{}{off}", mhz(core.hertz));
        vec![rank.to_string(), list(&[core.cpu]), clock, level]
    };
    let mut in_order: Vec<&Core<'_>> = cores.iter().collect();
    in_order.sort_by_key(|core| rank(core));
    let mut rows: Vec<Vec<String>> = in_order.into_iter().map(line).collect();
    // The first and the last of many.
    rows.drain(rows.len().min(8)..rows.len().saturating_sub(8).max(rows.len().min(8)));
    let caption = "each core alone under scalar_iadd, MHz (higher is better)";
    let columns = ["rank", "CPU", "MHz alone", "firmware's level"];
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

/// Cores that are not shown.
fn between(record: &Record) -> Vec<String> {
    let left = cores(record).len().saturating_sub(16);
    (left > 0).then(|| format!("{left} cores between are in the record")).into_iter().collect()
}

/// The cores of the highest level against the others; machines here have one type of core.
fn ranking(record: &Record) -> Vec<String> {
    let cores = cores(record);
    let top = cores.iter().filter_map(|it| Some((it.number()?, it.level?))).max_by_key(|it| it.0);
    let Some((top, level)) = top.filter(|_| cores.iter().all(|it| it.level.is_some())) else {
        return Vec::new();
    };
    let source = text(&level["source"]);
    let of = |is_top: bool| -> Vec<f64> {
        let ours = cores.iter().filter(|it| (it.number() == Some(top)) == is_top);
        ours.map(|it| it.hertz).collect()
    };
    let Some((best, rest)) = median(&of(true)).zip(median(&of(false))) else {
        let apart = (cores[0].hertz / cores[cores.len() - 1].hertz - 1.0) * 100.0;
        return vec![format!(
            "firmware gives all of them level {top} ({source}); measured they lie {apart:.1} % apart"
        )];
    };
    let answer = match best / rest - 1.0 {
        it if it > 0.005 => "as measured, too",
        it if it < -0.005 => "though they are slower as measured",
        _ => "which is not to be seen here",
    };
    let pairs = || cores.iter().flat_map(|a| cores.iter().map(move |b| (a, b)));
    let ranked: Vec<_> = pairs().filter(|(a, b)| a.number() > b.number()).collect();
    let right = ranked.iter().filter(|(a, b)| a.beats(b)).count();
    let wrong = ranked.iter().filter(|(a, b)| b.beats(a)).count();
    vec![format!(
        "firmware favours the cores of level {top} ({source}), {answer}: {} % against the others; of {} pairs of \
         cores with different levels {right} lie as it says, {wrong} the other way round",
        change(best / rest),
        ranked.len()
    )]
}

/// The reason of the fact that would have it.
fn no_ranking(record: &Record) -> Vec<String> {
    let cores = cores(record);
    if cores.iter().all(|it| it.level.is_some()) {
        return Vec::new();
    }
    let fact = record.fact("cppc.favoured_cores");
    let why = fact.and_then(|it| it["value"]["unavailable"]["why"].as_str());
    let why = why.unwrap_or("firmware states no level of each core");
    vec![format!("there is no ranking to compare with: {why}")]
}
