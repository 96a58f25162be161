//! Clock, cycles per op, and what is said of them on top.

use super::check::{Plot, Rule, table};
use super::page::Table;
use super::record::{Pool, Record, Series, class_with_most, text, uncertainty};
use super::stats::{change, interval, median, mhz, once, plural, quantile};

const CLOCK: &str = "turbo: clock";
const CYCLES: &str = "turbo: cycles per op";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines {
        area: CLOCK,
        section: "",
        template: "One core alone runs scalar code at {}.",
        want: alone,
    },
    Rule::Lines {
        area: CLOCK,
        section: "",
        template: "{} cores together run it at {}.",
        want: together,
    },
    Rule::Lines {
        area: CLOCK,
        section: "",
        template: "Under {}-bit multiply-adds {}.",
        want: heaviest,
    },
    Rule::Lines {
        area: CYCLES,
        section: "",
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
    Rule::Plots {
        area: CLOCK,
        section: "Clock",
        template: "median clock by active cores (higher is better) ({})",
        want: by_cores,
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
        template: "{} numbers of active cores between are in the record",
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
    let planned = super::record::items(&record.plan()["active_cores"]).iter();
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

/// The word where there is no number.
fn absent(record: &Record, quantity: &str, workload: &str, count: usize) -> String {
    let cell = cell(record, quantity, workload, count);
    let Some(reason) = cell.iter().find_map(|it| it.unavailable.as_ref()) else {
        return "not planned".to_owned();
    };
    let contended = text(&reason["why"]).starts_with("contended");
    if contended { "contended" } else { "unavailable" }.to_owned()
}

fn range(record: &Record, workload: &str, count: usize) -> Option<[f64; 3]> {
    let all = pooled(record, "clock", workload, count)?.samples;
    Some([quantile(&all, 0.05)?, median(&all)?, quantile(&all, 0.95)?])
}

fn alone(record: &Record) -> Vec<String> {
    let of = |(few, _)| {
        let [p5, middle, p95] = range(record, "scalar_iadd", few)?.map(mhz);
        Some(format!("One core alone runs scalar code at {middle} MHz (p5 - p95: {p5} - {p95})."))
    };
    ends(record).and_then(of).into_iter().collect()
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

fn by_cores(record: &Record) -> Vec<Plot> {
    let counts = counts(record);
    let line = |id: &str| {
        let point =
            |count: &usize| Some((*count as f64, middle(record, "clock", id, *count)? / 1e6));
        let points: Vec<(f64, f64)> = counts.iter().filter_map(point).collect();
        (points.len() >= 3).then(|| (id.to_owned(), points))
    };
    let shown = ["scalar_iadd", "avx256_fma_t", "avx512_fma_t"];
    let lines: Vec<_> = shown.into_iter().filter_map(line).collect();
    if counts.len() < 3 || lines.is_empty() {
        return Vec::new();
    }
    let caption = "median clock by active cores (higher is better)";
    vec![Plot::new(caption, ["active cores", "MHz"], lines)]
}

fn bars(record: &Record) -> Vec<Table> {
    let counts = counts(record);
    let bar = |workload: &&str| {
        let clock = middle(record, "clock", workload, counts[0])?;
        Some(vec![(*workload).to_owned(), format!("{} MHz", mhz(clock))])
    };
    if counts.is_empty() || counts.len() >= 3 {
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
    let caption = "core cycles per op, median ± its 95 % interval between blocks (lower is better)";
    let names: Vec<String> = counts.iter().map(|count| plural(*count, "core")).collect();
    let rows = workloads(record).iter().map(row).collect();
    vec![table(caption, &header(&["stream", "kind"], &names), rows)]
}

fn between(record: &Record) -> Vec<String> {
    let between = counts(record).len() - shown(record).len();
    let line = || format!("{between} numbers of active cores between are in the record");
    if between > 0 { vec![line()] } else { Vec::new() }
}
