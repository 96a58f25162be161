//! Bandwidth, latency by size, latency beside others.

use super::check::{ANYWHERE, Plot, Rule, marks, table};
use super::levels::{Ends, Level, Sweep, Whose, known_to, sweep};
use super::page::Table;
use super::record::{Record, Series, items, text};
use super::stats::{bytes, groups, median, numbers, once, plural, three};

const AREA: &str = "memory";
const SIZES: &str = "Latency{}by size";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines { area: AREA, section: ANYWHERE, template: "Memory: {}.", want: sentence },
    Rule::Lines { area: AREA, section: ANYWHERE, template: "Caches: {}.", want: caches_sentence },
    Rule::Tables {
        area: AREA,
        section: "Bandwidth: {}",
        template: "GB/s as the program asks for them, {}",
        want: bandwidths,
    },
    Rule::Lines {
        area: AREA,
        section: "Bandwidth: {}",
        template: "### Bandwidth: {}",
        want: bandwidth_heading,
    },
    Rule::Lines {
        area: AREA,
        section: "Latency while others move data{}",
        template: "### Latency while others move data{}",
        want: loaded_heading,
    },
    Rule::Plots {
        area: AREA,
        section: "Bandwidth: {}",
        template: "copy by number of cores, as asked (higher is better) ({})",
        want: by_cores,
    },
    Rule::Lines {
        area: AREA,
        section: "Bandwidth: {}",
        template: "95 % of the most with {}",
        want: |record| marks(by_cores(record)),
    },
    Rule::Plots {
        area: AREA,
        section: SIZES,
        template: "bandwidth of {} by size, as asked (higher is better) ({})",
        want: bandwidth_plot,
    },
    Rule::Plots {
        area: AREA,
        section: "Latency while others move data{}",
        template: "latency by what others move (lower is better) ({})",
        want: loaded_plot,
    },
    Rule::Lines {
        area: AREA,
        section: "Latency while others move data{}",
        template: "knee of {}",
        want: |record| marks(loaded_plot(record)),
    },
    Rule::Plots {
        area: AREA,
        section: SIZES,
        template: "latency of a random access by size (lower is better) ({})",
        want: latency_plot,
    },
    Rule::Tables {
        area: AREA,
        section: SIZES,
        template: "levels, as the latencies show them",
        want: levels_table,
    },
    Rule::Lines {
        area: AREA,
        section: SIZES,
        template: "L{} shows no plateau of its own",
        want: not_seen,
    },
    // Below both plots.
    Rule::Lines {
        area: AREA,
        section: SIZES,
        template: "{} to {}iB",
        want: |record| {
            marks([latency_plot(record), bandwidth_plot(record)].into_iter().flatten().collect())
        },
    },
    Rule::Lines {
        area: AREA,
        section: SIZES,
        template: "nothing was measured between {}",
        want: gaps,
    },
    Rule::Tables {
        area: AREA,
        section: "Latency while others move data{}",
        template: "latency in ns by what others move in GB/s",
        want: loaded_table,
    },
    Rule::Lines {
        area: AREA,
        section: "Latency while others move data{}",
        template: "knee: what others move where latency is {}",
        want: what_a_knee_is,
    },
];

/// The series of one workload with its parameters on one set of CPUs.
pub(crate) struct Cell<'a> {
    pub(crate) workload: &'a str,
    pub(crate) cpus: &'a [u64],
    active: &'a str,
    series: Vec<&'a Series>,
}

pub(crate) fn cells<'a>(record: &'a Record, question: &str) -> Vec<Cell<'a>> {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    let all = record.series.iter().filter(|it| it.area == "memory");
    for series in all.filter(|it| it.parameter("question") == Some(question)) {
        let same = |cell: &&mut Cell<'_>| {
            cell.workload == series.workload
                && cell.active == series.active
                && cell.series[0].parameters == series.parameters
        };
        match cells.iter_mut().find(same) {
            Some(cell) => cell.series.push(series),
            None => cells.push(Cell {
                workload: &series.workload,
                cpus: &series.cpus,
                active: &series.active,
                series: vec![series],
            }),
        }
    }
    cells
}

impl<'a> Cell<'a> {
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.series[0].parameter(name)
    }

    pub(crate) fn whole(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// Of several classes of placement the one with most samples of any quantity, the first of equals.
    pub(crate) fn shown(&self, quantity: &str) -> Option<&'a Series> {
        let most = self.series.iter().rev().max_by_key(|it| it.samples.len())?;
        let all = || self.series.iter().filter(|it| it.quantity == quantity).copied();
        all().find(|it| it.class == most.class).or_else(|| all().next())
    }

    /// The groups that samples fall into.
    fn groups(&self, quantity: &str) -> Vec<Vec<f64>> {
        self.shown(quantity).map_or(Vec::new(), |it| groups(&it.samples))
    }

    /// The median of the largest group, the first of equals.
    fn main(&self, quantity: &str) -> Option<f64> {
        let groups = self.groups(quantity);
        median(groups.iter().rev().max_by_key(|it| it.len())?)
    }

    pub(crate) fn median(&self, quantity: &str) -> Option<f64> {
        self.main(quantity).filter(|it| *it > 0.0)
    }

    /// Gigabytes per second; each mode by itself where a fifth of the samples and more are in each.
    fn giga(&self, quantity: &str, factor: f64) -> Option<String> {
        let groups = self.groups(quantity);
        let all: usize = groups.iter().map(Vec::len).sum();
        let is_mode = |it: &&Vec<f64>| it.len() as f64 / all as f64 >= 0.2;
        let modes: Vec<f64> = groups.iter().filter(is_mode).filter_map(|it| median(it)).collect();
        let said = |it: f64| format!("{:.2}", it * factor / 1e9);
        if modes.len() > 1 {
            let modes: Vec<String> = modes.into_iter().map(said).collect();
            return Some(modes.join(" or "));
        }
        self.main(quantity).map(said)
    }

    /// Bytes of each array, and of all that is gone over by those who move data.
    fn arrays(&self) -> Option<(u64, u64)> {
        let elements = self.whole("beside_elements").or_else(|| self.whole("elements"))?;
        let all = self.whole("beside_footprint").or_else(|| self.whole("footprint"))?;
        Some((elements * 8, all))
    }

    /// What its data passes through.
    fn extent(&self, record: &Record) -> Option<Extent> {
        let (array, all) = self.arrays()?;
        let caches = caches_in_use(record, self.cpus)?;
        if array + 8 * self.cpus.len() as u64 >= 4 * caches {
            return Some(Extent::Memory);
        }
        let each = all.div_ceil(self.cpus.len() as u64);
        let holds = |cache: &&serde_json::Value| {
            let users = items(&cache["instances"]).iter().map(|it| {
                let instance = numbers(text(it));
                self.cpus.iter().filter(|cpu| instance.contains(cpu)).count() as u64
            });
            let users = users.max().unwrap_or(0);
            users > 0 && cache["bytes"].as_u64().is_some_and(|size| each * users <= size)
        };
        let held = data_caches(record).into_iter().find(holds);
        let level = held.and_then(|it| it["level"].as_u64());
        Some(level.map_or(Extent::Partly, Extent::Within))
    }

    /// Bytes that must be moved for each byte asked for; within caches no line is brought in.
    fn moved(&self, record: &Record) -> Option<f64> {
        if matches!(self.extent(record), Some(Extent::Within(_))) {
            return Some(1.0);
        }
        let (moved, asked) = self.text("moved_per_asked")?.split_once('/')?;
        Some(moved.parse::<f64>().ok()? / asked.parse::<f64>().ok()?)
    }
}

#[derive(PartialEq, Clone, Copy)]
enum Extent {
    /// A cache of that level holds all of it.
    Within(u64),
    Partly,
    Memory,
}

/// What cells pass through, each once, in words.
fn through(record: &Record, cells: &[Cell<'_>]) -> String {
    let word = |it: Extent| match it {
        Extent::Within(level) => format!("within L{level}"),
        Extent::Partly => "cache and memory".to_owned(),
        Extent::Memory => "memory".to_owned(),
    };
    let words = once(cells.iter().filter_map(|it| it.extent(record)).map(word));
    words.join(", ")
}

pub(crate) fn data_caches(record: &Record) -> Vec<&serde_json::Value> {
    let all = items(&record.value["machine"]["topology"]["caches"]).iter();
    all.filter(|it| it["kind"] != "instruction").collect()
}

/// Bytes of all caches beyond the first level that these CPUs use; what a cache that holds all of it holds, too,
/// counts once.
pub(crate) fn caches_in_use(record: &Record, cpus: &[u64]) -> Option<u64> {
    let mut caches = data_caches(record);
    caches.retain(|it| it["level"].as_u64() >= Some(2));
    caches.sort_by_key(|it| std::cmp::Reverse(it["level"].as_u64()));
    let mut left = cpus.to_vec();
    let mut all = 0;
    for cache in caches {
        let used: Vec<Vec<u64>> = items(&cache["instances"])
            .iter()
            .map(|it| numbers(text(it)))
            .filter(|it| it.iter().any(|cpu| left.contains(cpu)))
            .collect();
        if used.is_empty() {
            continue;
        }
        all += cache["bytes"].as_u64()? * used.len() as u64;
        if cache["inclusive"] == true {
            left.retain(|cpu| !used.iter().any(|it| it.contains(cpu)));
        }
    }
    (all > 0).then_some(all)
}

/// The first choice of variants.
fn in_brief(record: &Record) -> Vec<Cell<'_>> {
    let mut cells = cells(record, "bandwidth");
    let choice = cells.first().and_then(|it| it.text("choice"));
    cells.retain(|it| it.text("choice") == choice);
    cells
}

fn bandwidths(record: &Record) -> Vec<Table> {
    let cells = in_brief(record);
    let mut counts = once(cells.iter().map(|it| it.cpus.len()));
    counts.sort_unstable();
    // Of numbers between the ends only one kernel is measured: a plot has them.
    let kernels = once(cells.iter().map(|it| it.workload));
    let of = |count: usize| cells.iter().filter(|it| it.cpus.len() == count).count();
    counts.retain(|count| of(*count) > 1 || kernels.len() == 1);
    let find = |kernel: &str, count: usize| {
        cells.iter().find(|it| it.workload == kernel && it.cpus.len() == count)
    };
    let value = |cell: Option<&Cell<'_>>| {
        let Some(cell) = cell else { return "not planned".to_owned() };
        let Some(asked) = cell.giga("bandwidth", 1.0) else { return "unavailable".to_owned() };
        let moved = cell.moved(record).filter(|it| *it > 1.0);
        let moved = moved.and_then(|it| cell.giga("bandwidth", it));
        moved.map_or(asked.clone(), |moved| format!("{asked} ({moved})"))
    };
    let row = |kernel: &&str| {
        let widest = counts.last().and_then(|count| find(kernel, *count));
        let word = |name| widest.and_then(|it| it.text(name));
        let mut row = vec![(*kernel).to_owned(), word("formula").unwrap_or_default().to_owned()];
        row.extend(counts.iter().map(|count| value(find(kernel, *count))));
        row.push(word("variant").unwrap_or("-").to_owned());
        row
    };
    let rows: Vec<Vec<String>> = kernels.iter().map(row).collect();
    let names: Vec<String> = counts.iter().map(|count| plural(*count, "core")).collect();
    let mut columns = vec!["kernel", "formula"];
    columns.extend(names.iter().map(String::as_str));
    columns.push("variant");
    let caption = "GB/s as the program asks for them, and with write-allocate where that is more (higher is \
                   better)";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

/// The CPUs of the widest copy through memory, and what it moves with write-allocate, bytes per second.
pub(crate) fn copies(record: &Record) -> Option<(Vec<u64>, f64)> {
    let cells = cells(record, "bandwidth");
    let copies = cells.iter().filter(|it| it.workload == "copy");
    let copies = copies.filter(|it| it.extent(record) == Some(Extent::Memory));
    let widest = copies.max_by_key(|it| it.cpus.len())?;
    Some((widest.cpus.to_vec(), widest.median("bandwidth")? * widest.moved(record)?))
}

fn bandwidth_heading(record: &Record) -> Vec<String> {
    let cells = in_brief(record);
    let line = || format!("### Bandwidth: {}", through(record, &cells));
    if cells.is_empty() { Vec::new() } else { vec![line()] }
}

fn loaded_heading(record: &Record) -> Vec<String> {
    let of = cells(record, "loaded");
    let through = through(record, &of);
    let through = if through.is_empty() { through } else { format!(": {through}") };
    let is_there = !loaded(record).is_empty()
        || of.iter().any(|it| it.text("mix").is_none() && it.median("latency").is_some());
    if is_there { vec![format!("### Latency while others move data{through}")] } else { Vec::new() }
}

fn nano(seconds: f64) -> String {
    three(seconds * 1e9)
}

fn size(of: f64) -> String {
    // Knees lie between sizes; a part of a byte is none.
    bytes(of.trunc())
}

fn sentence(record: &Record) -> Vec<String> {
    let cells = in_brief(record);
    let copies = cells.iter().filter(|it| it.workload == "copy");
    let copies = copies.filter(|it| it.extent(record) == Some(Extent::Memory));
    let mut copies: Vec<(usize, String)> =
        copies.filter_map(|it| Some((it.cpus.len(), it.giga("bandwidth", 1.0)?))).collect();
    copies.sort_by_key(|it| std::cmp::Reverse(it.0));
    let said =
        |(count, moved): &(usize, String)| format!("{moved} GB/s with {}", plural(*count, "core"));
    // With those between, or the ends alone.
    let all: Vec<String> = copies.iter().map(said).collect();
    let mut ends = all.clone();
    if ends.len() > 2 {
        ends.drain(1..ends.len() - 1);
    }
    once([all, ends]).into_iter().filter_map(|copies| memory_words(record, &copies)).collect()
}

fn memory_words(record: &Record, copies: &[String]) -> Option<String> {
    let mut parts = Vec::new();
    if !copies.is_empty() {
        parts.push(format!("{} (copy, as asked)", copies.join(", ")));
    }
    parts.extend(one_package(record).map(|(cores, giga)| {
        let cores = plural(cores, "core");
        format!("{cores} of one package have nearly all that it gives ({giga:.2} GB/s)")
    }));
    let of_sweep = sweep(record).and_then(|sweep| {
        let last = sweep.levels.last().filter(|it| it.whose == Whose::Memory)?;
        Some(sweep.seconds(last))
    });
    let all = cells(record, "loaded");
    let idle = all.iter().find(|it| it.text("mix").is_none() && it.text("limited_by").is_none());
    let takes = of_sweep.or_else(|| idle?.median("latency"));
    parts.extend(takes.map(|it| format!("one access takes {} ns", nano(it))));
    (!parts.is_empty()).then(|| format!("Memory: {}.", parts.join("; ")))
}

pub(crate) fn name(whose: Whose) -> String {
    match whose {
        Whose::Cache(level, _) => format!("L{level}"),
        Whose::Unclaimed(number) => format!("cache {number}"),
        Whose::Memory => "memory".to_owned(),
        Whose::Beyond(Some(level)) => format!("beyond L{level}"),
        Whose::Beyond(None) => "beyond".to_owned(),
    }
}

fn caches_sentence(record: &Record) -> Vec<String> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let of = |level: &Level| {
        let Whose::Cache(number, claimed) = level.whose else { return None };
        let takes = nano(sweep.seconds(level));
        let claimed = size(claimed as f64);
        Some(match level.ends() {
            Ends::Elsewhere(at) => {
                let at = size(at);
                format!("L{number} {takes} ns, behaves like {at} although {claimed} are claimed")
            }
            _ => format!("L{number} {claimed} {takes} ns"),
        })
    };
    let known: Vec<String> = sweep.levels.iter().filter_map(of).collect();
    if known.is_empty() { Vec::new() } else { vec![format!("Caches: {}.", known.join("; "))] }
}

fn latency_plot(record: &Record) -> Vec<Plot> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let point = |it: &Cell<'_>| Some((it.whole("footprint")? as f64, it.median("latency")? * 1e9));
    let points: Vec<(f64, f64)> = sweep.of("chase").filter_map(point).collect();
    if points.len() < 3 {
        return Vec::new();
    }
    let caption = "latency of a random access by size (lower is better)";
    let lines = vec![("latency".to_owned(), points)];
    let marks = ends_of(&sweep);
    vec![Plot { bytes: true, marks, ..Plot::new(caption, ["bytes gone over", "ns"], lines) }]
}

/// Where levels end.
fn ends_of(sweep: &Sweep<'_>) -> Vec<String> {
    let of = |it: &Level| Some(format!("{} to {}", name(it.whose), size(it.knee.as_ref()?.at)));
    sweep.levels.iter().filter_map(of).collect()
}

fn bandwidth_plot(record: &Record) -> Vec<Plot> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let kernels = once(sweep.cells.iter().map(|it| it.workload).filter(|it| *it != "chase"));
    let line = |kernel: &&str| {
        let point =
            |it: &Cell<'_>| Some((it.whole("footprint")? as f64, it.median("bandwidth")? / 1e9));
        let points: Vec<(f64, f64)> = sweep.of(kernel).filter_map(point).collect();
        (points.len() >= 3).then(|| ((*kernel).to_owned(), points))
    };
    let lines: Vec<_> = kernels.iter().filter_map(line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let caption =
        format!("bandwidth of {} by size, as asked (higher is better)", kernels.join(", "));
    let marks = ends_of(&sweep);
    vec![Plot { bytes: true, marks, ..Plot::new(caption, ["bytes gone over", "GB/s"], lines) }]
}

/// What copies move on ever more cores, and the fewest that have nearly the most.
fn by_cores(record: &Record) -> Vec<Plot> {
    let cells = in_brief(record);
    let copies = cells.iter().filter(|it| it.workload == "copy");
    let of = |it: &Cell<'_>| Some((it.cpus.len(), it.median("bandwidth")? / 1e9));
    let mut points: Vec<(usize, f64)> = copies.filter_map(of).collect();
    points.sort_by_key(|it| it.0);
    if points.len() < 3 {
        return Vec::new();
    }
    let most = points.iter().map(|it| it.1).fold(0.0, f64::max);
    let enough = points.iter().find(|it| it.1 >= 0.95 * most).expect("one of them is the most");
    let mark = format!("95 % of the most with {}: {:.2} GB/s", plural(enough.0, "core"), enough.1);
    let mut said = vec![mark];
    said.extend(one_package(record).map(|(cores, giga)| {
        format!("95 % of the most of one package with {}: {giga:.2} GB/s", plural(cores, "core"))
    }));
    let points = points.iter().map(|it| (it.0 as f64, it.1)).collect();
    let caption = "copy by number of cores, as asked (higher is better)";
    let lines = vec![("copy".to_owned(), points)];
    vec![Plot { marks: said, ..Plot::new(caption, ["cores", "GB/s"], lines) }]
}

/// The fewest cores of one package that have nearly all that it gives, in GB/s, where there are more of both.
fn one_package(record: &Record) -> Option<(usize, f64)> {
    let cells = in_brief(record);
    let copies = cells.iter().filter(|it| it.workload == "copy");
    let mut all: Vec<(usize, f64, bool)> = copies
        .filter_map(|it| {
            let packages = once(it.cpus.iter().filter_map(|cpu| Some(record.place(*cpu)?.0)));
            Some((it.cpus.len(), it.median("bandwidth")? / 1e9, packages.len() == 1))
        })
        .collect();
    all.sort_by_key(|it| it.0);
    let of_one: Vec<_> = all.iter().filter(|it| it.2).collect();
    let most = of_one.iter().map(|it| it.1).fold(0.0, f64::max);
    let (last, others) = of_one.split_last()?;
    let enough = others.iter().find(|it| it.1 >= 0.95 * most)?;
    (of_one.len() >= 3 && all.len() > of_one.len() && last.0 > enough.0)
        .then_some((enough.0, enough.1))
}

/// Latency from an idle machine on, by what others move.
fn loaded_plot(record: &Record) -> Vec<Plot> {
    let (idle, mixes) = loaded_points(record);
    let line = |(mix, points): &Mix| {
        let begin = idle.map(|idle| (0.0, idle));
        let all = begin.iter().chain(points).map(|it| (it.0 / 1e9, it.1 * 1e9));
        let points: Vec<(f64, f64)> = all.collect();
        (points.len() >= 3).then(|| (mix.clone(), points))
    };
    let lines: Vec<_> = mixes.iter().filter_map(line).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let mark = |(mix, points): &Mix| {
        let (at, None) = knee(idle?, points)? else { return None };
        Some(format!("knee of {mix}: {:.2} GB/s", at / 1e9))
    };
    let marks = mixes.iter().filter_map(mark).collect();
    let words = ["GB/s with write-allocate", "ns"];
    vec![Plot { marks, ..Plot::new("latency by what others move (lower is better)", words, lines) }]
}

/// What others move where latency has grown by half, on straight lines between points; below the first of them
/// nobody knows, and between points that are far apart only that it is there.
fn knee(idle: f64, points: &[(f64, f64)]) -> Option<(f64, Option<f64>)> {
    let limit = 1.5 * idle;
    let at = points.iter().position(|it| it.1 >= limit)?;
    let before = points[at.checked_sub(1)?];
    let rise = points[at].1 - before.1;
    let share = if rise > 0.0 { ((limit - before.1) / rise).clamp(0.0, 1.0) } else { 1.0 };
    let between = before.0 + (points[at].0 - before.0) * share;
    let is_near = points[at].0 <= before.0 * 1.3;
    Some(if is_near { (between, None) } else { (before.0, Some(points[at].0)) })
}

fn kernel<'a>(sweep: &'a Sweep<'_>) -> Option<&'a str> {
    sweep.cells.iter().map(|it| it.workload).find(|it| *it != "chase")
}

fn levels_table(record: &Record) -> Vec<Table> {
    let Some(sweep) = sweep(record).filter(|it| !it.levels.is_empty()) else { return Vec::new() };
    let kernel = kernel(&sweep);
    let row = |level: &Level| {
        let dash = || "-".to_owned();
        let moved = kernel.and_then(|kernel| sweep.over(level, kernel, "bandwidth"));
        let ends = level.knee.as_ref().map(|knee| {
            let [at, low, high] = [knee.at, knee.interval[0], knee.interval[1]].map(size);
            format!("{at} ({low} - {high})")
        });
        let claimed = match level.whose {
            Whose::Cache(_, claimed) => Some(size(claimed as f64)),
            _ => None,
        };
        let verdict = match (level.ends(), level.whose, &claimed) {
            (Ends::AsClaimed, ..) => "as claimed".to_owned(),
            (Ends::Elsewhere(at), _, Some(claimed)) => {
                format!("says {claimed}, behaves like {}", size(at))
            }
            (Ends::Vague(factor), ..) => known_to(factor),
            (_, Whose::Cache(..), _) if level.knee.is_some() => {
                "too little was measured around its end".to_owned()
            }
            (_, Whose::Cache(..), _) => "its end was not reached".to_owned(),
            (_, Whose::Beyond(_), _) => "not far enough to be memory".to_owned(),
            _ => dash(),
        };
        vec![
            name(level.whose),
            nano(sweep.seconds(level)),
            sweep.over(level, "chase", "latency_cycles").map_or_else(dash, three),
            moved.map_or_else(dash, |it| format!("{:.2}", it / 1e9)),
            ends.unwrap_or_else(dash),
            claimed.unwrap_or_else(dash),
            verdict,
        ]
    };
    let moved = format!("{} GB/s as asked", kernel.unwrap_or("bandwidth"));
    let columns = ["level", "ns", "cycles", &moved, "ends at (interval)", "claimed", "verdict"];
    vec![table(
        "levels, as the latencies show them",
        &columns,
        sweep.levels.iter().map(row).collect(),
    )]
}

/// Claimed caches around whose size there was something to see, and nothing was seen.
pub(crate) fn unseen<'a>(sweep: &'a Sweep<'_>) -> impl Iterator<Item = (u64, u64)> + 'a {
    let sizes = sweep.of("chase").filter(|it| it.median("latency").is_some());
    let sizes: Vec<u64> = sizes.filter_map(|it| it.whole("footprint")).collect();
    sweep.claims.iter().copied().filter(move |&(level, claimed)| {
        let is_seen = sweep.levels.iter().any(|it| it.whose == Whose::Cache(level, claimed));
        let smaller = sweep.claims.iter().filter(|it| it.0 < level).map(|it| it.1).max();
        let least = (claimed / 8).max(smaller.map_or(0, |it| it + 1));
        let near = sizes.iter().filter(|it| (least..=claimed).contains(*it)).count();
        let in_gap = sweep.levels.iter().filter_map(|it| it.knee.as_ref()).any(|knee| {
            let [low, high] = knee.interval;
            knee.is_gap() && (low..=high).contains(&(claimed as f64))
        });
        !is_seen && sweep.largest > claimed && near >= 2 && !in_gap
    })
}

fn not_seen(record: &Record) -> Vec<String> {
    let Some(sweep) = sweep(record).filter(|it| !it.levels.is_empty()) else { return Vec::new() };
    let line = |(level, claimed): (u64, u64)| {
        format!("L{level} ({} claimed) shows no plateau of its own", size(claimed as f64))
    };
    unseen(&sweep).map(line).collect()
}

fn gaps(record: &Record) -> Vec<String> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let sizes = sweep.of("chase").filter(|it| it.median("latency").is_some());
    let sizes: Vec<u64> = sizes.filter_map(|it| it.whole("footprint")).collect();
    let apart = sizes.windows(2).filter(|pair| pair[1] / 3 > pair[0]);
    let said = apart.map(|pair| format!("{} and {}", size(pair[0] as f64), size(pair[1] as f64)));
    let said: Vec<String> = said.collect();
    let line = || format!("nothing was measured between {}", said.join(", "));
    if said.is_empty() { Vec::new() } else { vec![line()] }
}

/// Latency without others, and the points of each mix of them.
fn loaded_points(record: &Record) -> (Option<f64>, Vec<Mix>) {
    let cells = cells(record, "loaded");
    let idle = cells.iter().find(|it| it.text("mix").is_none());
    (idle.and_then(|it| it.median("latency")), loaded(record))
}

/// What a mix of others moves, and the latency beside it, ascending.
pub(crate) type Mix = (String, Vec<(f64, f64)>);

fn loaded(record: &Record) -> Vec<Mix> {
    let cells = cells(record, "loaded");
    let mixes = once(cells.iter().filter_map(|it| it.text("mix")));
    let of = |mix: &str| {
        let point = |it: &Cell<'_>| {
            Some((it.median("background")? * it.moved(record)?, it.median("latency")?))
        };
        let of_mix = cells.iter().filter(|it| it.text("mix") == Some(mix));
        let mut points: Vec<(f64, f64)> = of_mix.filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (mix.to_owned(), points)
    };
    let mut all: Vec<_> = mixes.into_iter().map(of).filter(|it| !it.1.is_empty()).collect();
    all.sort_by_key(|it| it.0.contains("write"));
    all
}

fn loaded_table(record: &Record) -> Vec<Table> {
    let (idle, mixes) = loaded_points(record);
    let dash = || "-".to_owned();
    let giga = |it: f64| format!("{:.2}", it / 1e9);
    let row = |(mix, points): &(String, Vec<(f64, f64)>)| {
        let knee = idle.and_then(|idle| knee(idle, points));
        let first = points.first().filter(|it| idle.is_some_and(|idle| it.1 >= 1.5 * idle));
        let below = first.map_or("not reached".to_owned(), |it| format!("below {}", giga(it.0)));
        let most = points.last();
        vec![
            mix.clone(),
            idle.map_or_else(dash, nano),
            match knee {
                Some((at, None)) => giga(at),
                Some((low, Some(high))) => format!("{} - {}", giga(low), giga(high)),
                None => below,
            },
            most.map_or_else(dash, |it| giga(it.0)),
            most.map_or_else(dash, |it| nano(it.1)),
            idle.zip(most).map_or_else(dash, |(idle, most)| format!("{:.2}", most.1 / idle)),
        ]
    };
    let rows: Vec<Vec<String>> = mixes.iter().map(row).collect();
    let columns = ["mix", "idle ns", "knee", "maximum", "ns there", "of idle"];
    let caption = "latency in ns by what others move in GB/s";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

/// A limit of the method, and no number of the record.
fn what_a_knee_is(record: &Record) -> Vec<String> {
    let line = "knee: what others move where latency is 1.5 times that of an idle machine; bytes are counted with \
                write-allocate";
    if loaded_table(record).is_empty() { Vec::new() } else { vec![line.to_owned()] }
}

/// What findings may say of the largest arrays that had no room to be larger.
pub(crate) fn limited(record: &Record) -> Vec<String> {
    let footprint = |it: &Series| it.parameter("footprint").and_then(|text| text.parse().ok());
    let all = record.series.iter().filter(|it| it.area == "memory");
    let some = all.filter_map(|it| Some((footprint(it)?, it.parameter("limited_by")?)));
    let some: Vec<(u64, &str)> = some.collect();
    let most = some.iter().map(|(footprint, _)| *footprint).max();
    let said = |(footprint, by): &(u64, &str)| {
        format!(
            "there is no room for 4 times the caches, so that {} at most was used: limited by {by}",
            size(*footprint as f64)
        )
    };
    some.iter().filter(|(footprint, _)| Some(*footprint) == most).map(said).collect()
}

/// What pages arrays came in, of those of which less than nine tenths came as they were asked for.
pub(crate) fn other_pages(record: &Record) -> Vec<String> {
    let mut asked: Vec<&str> = Vec::new();
    let mut got: Vec<&str> = Vec::new();
    for placed in items(&record.value["run"]["plan"]["memory"]) {
        if placed["as_asked"].as_f64().is_none_or(|share| share >= 0.9) {
            continue;
        }
        let each = [(&mut asked, &placed["pages"]), (&mut got, &placed["backing"])];
        for (all, one) in each.map(|(all, one)| (all, text(one))) {
            if !one.is_empty() && !all.contains(&one) {
                all.push(one);
            }
        }
    }
    vec![format!(
        "memory was asked to come in {} and came in {}: latencies contain more address translation, and bandwidths may",
        asked.join(", "),
        got.join("; ")
    )]
}

/// What findings may say of caches.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let mut said = Vec::new();
    for level in &sweep.levels {
        let (Whose::Cache(_, claimed), Some(knee)) = (level.whose, &level.knee) else { continue };
        let [at, low, high] = [knee.at, knee.interval[0], knee.interval[1]].map(bytes);
        let text =
            format!("it claims {} and behaves like {at} ({low} to {high})", size(claimed as f64));
        let shared = "it is shared with others, in a guest also with its neighbours, and moves with what they do";
        said.push(format!("{text}: {shared}"));
        said.push(text);
    }
    said.extend(unseen(&sweep).map(|(_, claimed)| {
        format!(
            "it claims {} and shows no plateau of its own in the latencies",
            size(claimed as f64)
        )
    }));
    said
}

/// The words of a finding that was seen where memory was scattered.
#[test]
fn other_pages_are_told_as_they_came() {
    let came = |as_asked: f64, backing: &str| serde_json::json!({"pages": "thp", "backing": backing, "as_asked": as_asked});
    let memory =
        [came(0.99, "2 MiB pages"), came(0.5, "4 KiB pages, 50 %"), came(0.7, "4 KiB pages, 30 %")];
    let text = "memory was asked to come in thp and came in 4 KiB pages, 50 %; 4 KiB pages, 30 %: latencies contain \
                more address translation, and bandwidths may";
    let finding = serde_json::json!({"id": "memory.other-pages", "text": text});
    let value = serde_json::json!({"run": {"plan": {"memory": memory}}, "findings": [finding], "series": []});
    let record = Record::of(value);
    let failures = super::around::findings_again(&record);
    assert!(failures.is_empty(), "{:?}", failures.iter().map(|it| &it.text).collect::<Vec<_>>());
}
