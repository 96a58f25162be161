//! Clock, cycles per op, and what is said of them on top.

use super::check::{ANYWHERE, Rule, table};
use super::page::Table;
use serde_json::Value;

use super::record::{Pool, Record, Series, class_with_most, items, text, uncertainty};
use super::stats::{change, change_or_none, interval, median, mhz, once, plural, quantile};

const CLOCK: &str = "turbo: clock";
const CYCLES: &str = "turbo: cycles per op";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines {
        area: CLOCK,
        section: ANYWHERE,
        template: "One core alone runs {} at {}.",
        want: alone,
    },
    Rule::Lines {
        area: CLOCK,
        section: ANYWHERE,
        template: "{} cores together run it at {}.",
        want: together,
    },
    Rule::Lines {
        area: CLOCK,
        section: ANYWHERE,
        template: "Under {}-bit multiply-adds {}.",
        want: heaviest,
    },
    Rule::Lines {
        area: CYCLES,
        section: ANYWHERE,
        template: "One after the other, integer adds take {}.",
        want: serial,
    },
    Rule::Tables { area: CLOCK, section: "Clock", template: "clock in MHz, {}", want: clocks },
    Rule::Lines {
        area: CLOCK,
        section: "Clock",
        template: "placement of several active cores, as probed: {}",
        want: placements,
    },
    Rule::Tables {
        area: CLOCK,
        section: "Clock",
        template: "median clock by the chain, MHz (higher is better) ({})",
        want: map,
    },
    Rule::Lines { area: CLOCK, section: "Clock", template: "bold: within {}", want: as_promised },
    Rule::Tables {
        area: CLOCK,
        section: "Clock",
        template: "promised by licence and active cores, MHz",
        want: promised,
    },
    Rule::Lines {
        area: CLOCK,
        section: "Clock",
        template: "firmware, level {}",
        want: promised_by,
    },
    Rule::Tables {
        area: CLOCK,
        section: "Clock",
        template: "median clock with one core active, MHz (higher is better)",
        want: bars,
    },
    Rule::Tables {
        area: CYCLES,
        section: "Cycles per op",
        template: "core cycles per op, {}",
        want: cycles,
    },
    Rule::Lines {
        area: CYCLES,
        section: "Cycles per op",
        template: "further numbers of active cores, in the record: {}",
        want: between,
    },
];

pub(crate) fn cell<'a>(
    record: &'a Record,
    quantity: &'a str,
    workload: &'a str,
    active: usize,
) -> Vec<&'a Series> {
    let of = record.of_quantity("turbo", quantity);
    of.filter(|it| it.workload == workload && it.cpus.len() == active).collect()
}

/// All CPUs of a cell together, of the class of placement with most samples. CPUs of one block are no
/// independent blocks: each block has the median over its CPUs.
pub(crate) fn pooled(
    record: &Record,
    quantity: &str,
    workload: &str,
    active: usize,
) -> Option<Pool> {
    let cell = cell(record, quantity, workload, active);
    let class = class_with_most(&cell)?;
    let of_class: Vec<&&Series> = cell.iter().filter(|it| it.class == *class).collect();
    let samples = of_class.iter().flat_map(|it| it.samples.clone()).collect();
    let blocks: Vec<(u64, f64)> = of_class.iter().flat_map(|it| it.blocks.clone()).collect();
    let mut numbers: Vec<u64> = blocks.iter().map(|block| block.0).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let of_block = |number: &u64| {
        let of = blocks.iter().filter(|block| block.0 == *number).map(|block| block.1);
        median(&of.collect::<Vec<_>>())
    };
    let medians = numbers.iter().filter_map(of_block).collect();
    Some(Pool { samples, medians, class: class.clone() }).filter(|pool| !pool.samples.is_empty())
}

/// Its median.
pub(crate) fn middle(
    record: &Record,
    quantity: &str,
    workload: &str,
    active: usize,
) -> Option<f64> {
    median(&pooled(record, quantity, workload, active)?.samples).filter(|it| *it > 0.0)
}

fn workloads(record: &Record) -> Vec<&str> {
    once(record.of_quantity("turbo", "clock").map(|it| it.workload.as_str()))
}

pub(crate) fn counts(record: &Record) -> Vec<usize> {
    let planned = items(&record.plan()["active_cores"]).iter();
    let planned = planned.filter_map(|it| Some(it.as_u64()? as usize));
    let is_there =
        |count: &usize| record.of_quantity("turbo", "clock").any(|it| it.cpus.len() == *count);
    planned.filter(is_there).collect()
}

/// The fewest active cores and the most.
fn ends(record: &Record) -> Option<(usize, usize)> {
    let counts = counts(record);
    Some((*counts.first()?, *counts.last()?))
}

/// What reasons begin with that stand in cells.
const WORDS: [&str; 3] = ["contended", "sibling busy", "throttled"];

/// The word where there is no number.
fn absent(record: &Record, quantity: &str, workload: &str, count: usize) -> String {
    let cell = cell(record, quantity, workload, count);
    let Some(reason) = cell.iter().find_map(|it| it.unavailable.as_ref()) else {
        return "not planned".to_owned();
    };
    let why = text(&reason["why"]);
    WORDS.into_iter().find(|word| why.starts_with(word)).unwrap_or("unavailable").to_owned()
}

fn range(record: &Record, workload: &str, count: usize) -> Option<[f64; 3]> {
    let all = pooled(record, "clock", workload, count)?.samples;
    Some([quantile(&all, 0.05)?, median(&all)?, quantile(&all, 0.95)?])
}

/// One core, all of them, and the widest multiply-adds, in one sentence; of the lightest stream with a clock.
fn in_one(record: &Record) -> Option<String> {
    let (few, most) = ends(record)?;
    let clock = |id: &str, count| middle(record, "clock", id, count);
    let light = workloads(record).into_iter().find(|id| clock(id, few).is_some())?;
    let scalar = light == "scalar_iadd";
    let code = if scalar { "scalar code" } else { text(&record.planned(light)["title"]) };
    let [p5, one, p95] = range(record, light, few)?;
    let [low, middle_one, high] = [p5, one, p95].map(mhz);
    let mut said =
        vec![format!("One core alone runs {code} at {middle_one} MHz (p5 - p95: {low} - {high})")];
    let all = clock(light, most);
    if let Some(all) = all.filter(|_| most > few) {
        let change = change_or_none(all / one);
        said.push(format!(", {most} cores together at {} MHz ({change} %)", mhz(all)));
    }
    let widest = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t"];
    if let Some((heavy, hertz)) = widest.into_iter().find_map(|id| Some((id, clock(id, most)?))) {
        let width = record.planned(heavy)["width_bits"].as_u64()?;
        said.push(format!("; under {width}-bit multiply-adds at {} MHz", mhz(hertz)));
        said.extend(all.map(|all| format!(" ({} % against that)", change_or_none(hertz / all))));
        let cycles = middle(record, "cycles_per_op", heavy, most);
        said.extend(cycles.map(|it| format!(", {:.2} of them a cycle", 1.0 / it)));
    }
    if !scalar {
        said.push(match absent(record, "clock", "scalar_iadd", few).as_str() {
            "not planned" => String::new(),
            "contended" => "; scalar code was contended, and has no clock".to_owned(),
            _ => "; scalar code has no clock here".to_owned(),
        });
    }
    Some(format!("{}.", said.concat()))
}

fn alone(record: &Record) -> Vec<String> {
    let of = |(few, _)| {
        let [p5, middle, p95] = range(record, "scalar_iadd", few)?.map(mhz);
        Some(format!("One core alone runs scalar code at {middle} MHz (p5 - p95: {p5} - {p95})."))
    };
    ends(record).and_then(of).into_iter().chain(in_one(record)).collect()
}

fn together(record: &Record) -> Vec<String> {
    let of = |(few, most): (usize, usize)| {
        let clock = |count| middle(record, "clock", "scalar_iadd", count);
        let (one, all) = (clock(few)?, clock(most).filter(|_| most > few)?);
        let change = change(all / one);
        Some(format!("{most} cores together run it at {} MHz: {change} %.", mhz(all)))
    };
    ends(record).and_then(of).into_iter().collect()
}

fn heaviest(record: &Record) -> Vec<String> {
    let of = |(_, most): (usize, usize)| {
        let clock = |id: &str| middle(record, "clock", id, most);
        let scalar = clock("scalar_iadd")?;
        let widest = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t"];
        let heavy = widest.into_iter().find(|id| clock(id).is_some())?;
        let (hertz, width) = (clock(heavy)?, record.planned(heavy)["width_bits"].as_u64()?);
        let hold =
            if most == 1 { "one core holds".to_owned() } else { format!("{most} cores hold") };
        let per_cycle = middle(record, "cycles_per_op", heavy, most)
            .map(|cycles| format!("; each core finishes {:.2} of them a cycle", 1.0 / cycles));
        Some(format!(
            "Under {width}-bit multiply-adds {hold} {} MHz, {} % against scalar code{}.",
            mhz(hertz),
            change(hertz / scalar),
            per_cycle.unwrap_or_default()
        ))
    };
    ends(record).and_then(of).into_iter().collect()
}

fn serial(record: &Record) -> Vec<String> {
    let of = |(few, _)| {
        let costs = |ids: [&str; 3]| {
            let cost = |id| Some(format!("{:.2}", middle(record, "cycles_per_op", id, few)?));
            let costs: Vec<String> = ids.into_iter().filter_map(cost).collect();
            (!costs.is_empty()).then(|| costs.join(" / "))
        };
        let adds = costs(["avx128_iadd", "avx256_iadd", "avx512_iadd"])?;
        let fmas = costs(["avx128_fma", "avx256_fma", "avx512_fma"])?;
        Some(format!(
            "One after the other, integer adds take {adds} cycles and multiply-adds {fmas}, from 128 bit \
             to the widest."
        ))
    };
    ends(record).and_then(of).into_iter().collect()
}

fn header<'a>(first: &[&'a str], counts: &'a [String]) -> Vec<&'a str> {
    first.iter().copied().chain(counts.iter().map(String::as_str)).collect()
}

fn clocks(record: &Record) -> Vec<Table> {
    let counts = counts(record);
    if counts.is_empty() {
        return Vec::new();
    }
    let row = |workload: &&str| {
        let cell = |&count: &usize| match range(record, workload, count) {
            Some([p5, _, p95]) => format!("{} - {}", mhz(p5), mhz(p95)),
            None => absent(record, "clock", workload, count),
        };
        std::iter::once((*workload).to_owned()).chain(counts.iter().map(cell)).collect()
    };
    let caption = "clock in MHz, p5 - p95 over all active cores (higher is better)";
    let names: Vec<String> = counts.iter().map(|count| plural(*count, "core")).collect();
    let rows = workloads(record).iter().map(row).collect();
    vec![table(caption, &header(&["stream"], &names), rows)]
}

/// Which placements the table shows.
fn placements(record: &Record) -> Vec<String> {
    let counts = counts(record);
    let all = workloads(record).into_iter().flat_map(|id| counts.iter().map(move |it| (id, *it)));
    let classes = once(all.filter_map(|(id, count)| pooled(record, "clock", id, count)?.class));
    let begin = "placement of several active cores, as probed";
    let line = || format!("{begin}: {} (classes are never pooled)", classes.join(", "));
    if classes.is_empty() { Vec::new() } else { vec![line()] }
}

/// Streams that have rows, and numbers of active cores, where there are several of both.
fn mapped(record: &Record) -> Option<(Vec<&str>, Vec<usize>)> {
    let is_stream = |it: &&Series| it.parameter("data").is_some();
    let rows: Vec<&Series> = record.of_quantity("turbo", "clock").filter(is_stream).collect();
    let streams = once(rows.iter().map(|it| it.workload.as_str()));
    let mut counts = once(rows.iter().map(|it| it.cpus.len()));
    counts.sort_unstable();
    (streams.len() > 1 && counts.len() > 1).then_some((streams, counts))
}

/// The median over CPUs of their medians; the word for a guard's reason where there is none.
fn over_cpus(record: &Record, stream: &str, count: usize) -> Result<f64, String> {
    let cell = cell(record, "clock", stream, count);
    let class = class_with_most(&cell);
    let of_class = cell.iter().filter(|it| Some(&it.class) == class);
    let medians: Vec<f64> = of_class.clone().filter_map(|it| it.median()).collect();
    median(&medians).ok_or_else(|| {
        let mut reasons = of_class.filter_map(|it| it.unavailable.as_ref());
        let why = reasons.next().map_or("", |it| text(&it["why"]));
        WORDS.into_iter().find(|word| why.starts_with(word)).unwrap_or("-").to_owned()
    })
}

fn map(record: &Record) -> Vec<Table> {
    let Some((streams, counts)) = mapped(record) else { return Vec::new() };
    let row = |stream: &&str| {
        let cell = |count: &usize| over_cpus(record, stream, *count).map_or_else(|word| word, mhz);
        std::iter::once((*stream).to_owned()).chain(counts.iter().map(cell)).collect()
    };
    let names: Vec<String> = counts.iter().map(usize::to_string).collect();
    let caption = "median clock by the chain, MHz (higher is better) (columns: active cores)";
    vec![table(caption, &header(&["stream"], &names), streams.iter().map(row).collect())]
}

/// How many cells are within 1 % of what firmware promises them.
fn as_promised(record: &Record) -> Vec<String> {
    let Some((streams, counts)) = mapped(record) else { return Vec::new() };
    let (mut of, mut near) = (0, 0);
    for (stream, count) in streams.iter().flat_map(|it| counts.iter().map(move |count| (it, count)))
    {
        let active = cell(record, "clock", stream, *count).first().map(|it| it.active.clone());
        let Some(active) = active else { continue };
        let Ok(clock) = over_cpus(record, stream, *count) else { continue };
        let Some(promised) = super::why::promised_to(record, stream, &active) else { continue };
        of += 1;
        near += usize::from((clock / promised - 1.0).abs() <= 0.01);
    }
    let line = format!(
        "bold: within 1 % of what firmware promises this stream with so many active cores: {near} of {of} \
         whose promise is known"
    );
    if near > 0 { vec![line] } else { Vec::new() }
}

/// The firmware's table of the present level.
fn promised(record: &Record) -> Vec<Table> {
    let Some((_, level)) = super::why::level(record) else { return Vec::new() };
    let tables = items(&level["properties"]["turbo"]);
    let names = once(tables.iter().map(|it| text(&it["licence"])));
    if names.is_empty() {
        return Vec::new();
    }
    let cell = |hertz: Option<f64>| hertz.map_or("-".to_owned(), mhz);
    let steps = |tables: &[Value], of: &str| {
        let counts =
            once(tables.iter().flat_map(|it| items(&it["steps"])).map(|it| it["cores"].as_u64()));
        let row = |count: &Option<u64>| {
            let label = count.map_or("any".to_owned(), |count| format!("up to {count}"));
            let of_licence = |name: &&str| {
                let table = tables.iter().find(|it| it["licence"] == **name)?;
                let mut steps = items(&table["steps"]).iter();
                steps.find(|it| it["cores"].as_u64() == *count)?["hertz"].as_f64()
            };
            let cells = names.iter().map(|name| cell(of_licence(name)));
            std::iter::once(format!("{of}{label}")).chain(cells).collect::<Vec<_>>()
        };
        counts.iter().map(row).collect::<Vec<_>>()
    };
    let mut rows = steps(tables, "");
    let two_kinds = &level["turbo_freq"];
    if two_kinds["chosen"].is_array() {
        rows.extend(steps(items(&two_kinds["chosen"]), "turbo-freq, chosen cores: "));
        let clip = |name: &&str| {
            let mut all = items(&two_kinds["others"]).iter();
            cell(all.find(|it| it["licence"] == **name).and_then(|it| it["hertz"].as_f64()))
        };
        let label = "turbo-freq, others".to_owned();
        rows.push(std::iter::once(label).chain(names.iter().map(clip)).collect());
    }
    rows.extend(super::promise::by_licence(record, names.len()));
    let columns: Vec<&str> = std::iter::once("active cores").chain(names.iter().copied()).collect();
    vec![table("promised by licence and active cores, MHz", &columns, rows)]
}

fn promised_by(record: &Record) -> Vec<String> {
    let Some((domain, level)) = super::why::level(record) else { return Vec::new() };
    let line = || format!("firmware, level {} of CPUs {}", level["number"], text(&domain["cpus"]));
    if promised(record).is_empty() { Vec::new() } else { vec![line()] }
}

fn bars(record: &Record) -> Vec<Table> {
    let counts = counts(record);
    let bar = |workload: &&str| {
        let clock = middle(record, "clock", workload, counts[0])?;
        Some(vec![(*workload).to_owned(), format!("{} MHz", mhz(clock))])
    };
    // Where there is no map.
    if counts.is_empty() || mapped(record).is_some() {
        return Vec::new();
    }
    let rows: Vec<Vec<String>> = workloads(record).iter().filter_map(bar).collect();
    let caption = "median clock with one core active, MHz (higher is better)";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &["", ""], rows)] }
}

/// The first and the last number of active cores.
fn shown(record: &Record) -> Vec<usize> {
    let mut counts = counts(record);
    if counts.len() > 2 {
        counts.drain(1..counts.len() - 1);
    }
    counts
}

fn cycles(record: &Record) -> Vec<Table> {
    let counts = shown(record);
    if counts.is_empty() {
        return Vec::new();
    }
    let cell = |workload: &str, count: usize| {
        let Some(pool) = pooled(record, "cycles_per_op", workload, count) else {
            return absent(record, "cycles_per_op", workload, count);
        };
        let middle = median(&pool.samples).expect("a pool has samples");
        let spread = interval(&pool.medians).and_then(|interval| uncertainty(middle, interval));
        let spread = spread
            .map_or("(too few blocks)".to_owned(), |share| format!("± {:.2} %", share * 100.0));
        format!("{middle:.3} {spread}")
    };
    let row = |workload: &&str| {
        let kind = text(&record.planned(workload)["kind"]).to_owned();
        let cells = counts.iter().map(|count| cell(workload, *count));
        [(*workload).to_owned(), kind].into_iter().chain(cells).collect()
    };
    let caption = "core cycles per op, median ± its 95 % interval between blocks, of five 94 % (lower is better)";
    let names: Vec<String> = counts.iter().map(|count| plural(*count, "core")).collect();
    let rows = workloads(record).iter().map(row).collect();
    vec![table(caption, &header(&["stream", "kind"], &names), rows)]
}

fn between(record: &Record) -> Vec<String> {
    let between = counts(record).len() - shown(record).len();
    let line = || format!("further numbers of active cores, in the record: {between}");
    if between > 0 { vec![line()] } else { Vec::new() }
}
