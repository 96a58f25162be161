//! What others take from a core.

use super::check::{ANYWHERE, Rule, table};
use super::page::Table;
use super::record::{Record, Series, with_most};
use super::stats::{change_or_none as change, list, once, si};

const AREA: &str = "turbo: neighbours";
const SECTION: &str = "Neighbours";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines {
        area: AREA,
        section: ANYWHERE,
        template: "Beside others who move memory a core still gets {}.",
        want: sentence,
    },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "what neighbours change, {}",
        want: changes,
    },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "alone to beside them, medians",
        want: medians,
    },
    Rule::Lines { area: AREA, section: SECTION, template: "victim on CPU {}", want: places },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "neighbours that are merely active ({}) change {}",
        want: active,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "left out, as are pairs without a number: {}",
        want: left_out,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "{} of a cell {} too few for advice, {}",
        want: few,
    },
];

/// A column: its title, the victim, what is measured, and how that is printed.
struct Column(&'static str, &'static str, &'static str, fn(f64) -> String);

static COLUMNS: [Column; 6] = [
    Column("scalar MHz", "victim scalar", "tax_clock", |it| format!("{:.0}", it / 1e6)),
    Column("scalar Mops", "victim scalar", "tax_rate", |it| format!("{:.0}", it / 1e6)),
    Column("vector MHz", "victim vector", "tax_clock", |it| format!("{:.0}", it / 1e6)),
    Column("vector Mops", "victim vector", "tax_rate", |it| format!("{:.0}", it / 1e6)),
    Column("triad GB/s", "victim bandwidth", "tax_bandwidth", |it| format!("{:.1}", it / 1e9)),
    Column("latency ns", "victim latency", "tax_latency", |it| format!("{:.1}", it * 1e9)),
];

const CLASSES: [&str; 9] = [
    "memory",
    "scalar",
    "tiles",
    "heavy 512 bit",
    "heavy 256 bit",
    "light 512 bit",
    "light 256 bit",
    "lock spinner",
    "pause",
];

/// All ratios, with numbers or without, in the order of the record, measure by measure.
fn ratios(record: &Record) -> Vec<&Series> {
    let measures =
        ["tax_clock_ratio", "tax_rate_ratio", "tax_bandwidth_ratio", "tax_latency_ratio"];
    let all = measures.into_iter().flat_map(|it| record.of_quantity("turbo", it));
    all.filter(|it| it.parameter("place").is_some()).collect()
}

fn rows(record: &Record) -> Vec<(&str, &str)> {
    let of = |it: &&Series| (place_rank(it), class_rank(it));
    let mut all = ratios(record);
    all.sort_by_key(of);
    once(all.iter().filter_map(|it| Some((it.parameter("beside")?, place(it)?))))
}

fn class_rank(series: &Series) -> Option<usize> {
    CLASSES.iter().position(|it| series.parameter("beside") == Some(it))
}

/// Where the kernel says that they are, unless the probes found them on the victim's core.
fn place(series: &Series) -> Option<&str> {
    let place = series.parameter("place")?;
    let shares = series.class.as_ref().is_some_and(|class| class.contains("same-core"));
    Some(if place == "other cores" && shares { "hidden sibling" } else { place })
}

/// Others first, hidden siblings after them, those that the kernel lists last.
fn place_rank(series: &Series) -> Option<usize> {
    let places = ["other cores", "hidden sibling", "SMT sibling"];
    places.iter().position(|it| place(series) == Some(it))
}

fn columns(record: &Record) -> Vec<&'static Column> {
    let is_asked = |it: &&Column| {
        let ratio = format!("{}_ratio", it.2);
        record
            .of_quantity("turbo", &ratio)
            .any(|of| of.workload == it.1 && of.parameter("beside").is_some())
    };
    COLUMNS.iter().filter(is_asked).collect()
}

fn find<'a>(
    record: &'a Record,
    column: &Column,
    kind: &str,
    (class, at): (&str, &str),
) -> Option<&'a Series> {
    let quantity = format!("{}{kind}", column.2);
    let is = |it: &&Series| {
        it.area == "turbo"
            && it.quantity == quantity
            && it.workload == column.1
            && it.parameter("beside") == Some(class)
            && place(it) == Some(at)
    };
    with_most(record.series.iter().filter(is))
}

fn absent(series: Option<&Series>) -> String {
    let is_told = series.is_some_and(|it| it.unavailable.is_some());
    if is_told { "unavailable" } else { "-" }.to_owned()
}

fn matrix(
    record: &Record,
    caption: &str,
    cell: &dyn Fn(&Column, (&str, &str)) -> String,
) -> Vec<Table> {
    let (rows, columns) = (rows(record), columns(record));
    if rows.is_empty() {
        return Vec::new();
    }
    let line = |row: &(&str, &str)| {
        let cells = columns.iter().map(|column| cell(column, *row));
        std::iter::once(format!("{}, {}", row.0, row.1)).chain(cells).collect()
    };
    let titles: Vec<&str> =
        std::iter::once("beside").chain(columns.iter().map(|it| it.0)).collect();
    vec![table(caption, &titles, rows.iter().map(line).collect())]
}

fn changes(record: &Record) -> Vec<Table> {
    let has_interval = ratios(record).into_iter().any(|it| it.interval().is_some());
    let interval = if has_interval {
        " and its 95 % interval, of five blocks 94 %"
    } else {
        ", of too few blocks for an interval"
    };
    let [worse, lost] = if columns(record).iter().any(|it| it.0.ends_with("ns")) {
        [" (ns: higher is worse)", ", of ns that of the pointers followed"]
    } else {
        ["", ""]
    };
    let caption = format!(
        "what neighbours change, % of what the victim has alone: the median{interval}{worse}; shades are what is \
         lost{lost} (columns: change of victim)"
    );
    matrix(record, &caption, &|column, row| {
        let series = find(record, column, "_ratio", row);
        let Some(middle) = series.and_then(Series::median) else { return absent(series) };
        let between = series.and_then(Series::interval).map(|ends| ends.map(change));
        let between = between.map_or(String::new(), |[low, high]| format!(" ({low}, {high})"));
        format!("{}{between}", change(middle))
    })
}

fn medians(record: &Record) -> Vec<Table> {
    matrix(record, "alone to beside them, medians", &|column, row| {
        let of = |kind| find(record, column, kind, row)?.median();
        match of("_alone").zip(of("")) {
            Some((alone, beside)) => format!("{} to {}", column.3(alone), column.3(beside)),
            None => absent(find(record, column, "_ratio", row)),
        }
    })
}

fn places(record: &Record) -> Vec<String> {
    let line = |it: &Series| {
        let others: Vec<u64> = it.cpus.iter().copied().filter(|cpu| *cpu != it.cpu).collect();
        let class = it.class.as_ref().map_or(String::new(), |it| format!(", as probed {it}"));
        let place = place(it).unwrap_or_default();
        let word = if others.len() == 1 { "CPU" } else { "CPUs" };
        format!("victim on CPU {}, {place}: {word} {}{class}", it.cpu, list(&others))
    };
    let all = once(ratios(record).into_iter().map(line));
    let is_probed = |line: &String| {
        all.iter().any(|other| other.strip_prefix(&**line).is_some_and(|rest| !rest.is_empty()))
    };
    // Where one of them was probed, the others are those.
    all.iter().filter(|line| !is_probed(line)).cloned().collect()
}

/// What the rows of scalar neighbours say.
fn active(record: &Record) -> Vec<String> {
    let line = |row: &(&str, &str)| {
        let cell = |column: &&Column| {
            let series = find(record, column, "_ratio", *row)?;
            let [low, high] = series.interval()?.map(change);
            Some(format!("{} {} ({low}, {high})", column.0, change(series.median()?)))
        };
        let cells: Vec<String> = columns(record).iter().filter_map(cell).collect();
        let (at, cells) = (row.1, cells.join(", "));
        let line = "neighbours that are merely active";
        (!cells.is_empty())
            .then(|| format!("{line} ({at}) change {cells}: the other rows hold that, too"))
    };
    rows(record).iter().filter(|row| row.0 == "scalar").filter_map(line).collect()
}

/// Victims and classes that there was no time for.
fn left_out(record: &Record) -> Vec<String> {
    let is_missing = |name: &&str| {
        let measures =
            ["tax_clock_ratio", "tax_rate_ratio", "tax_bandwidth_ratio", "tax_latency_ratio"];
        let mut all = measures.into_iter().flat_map(|it| record.of_quantity("turbo", it));
        all.any(|it| {
            let why = it.unavailable.as_ref();
            let is_time = why.is_some_and(|why| why["obstacle"] == "measurement");
            it.workload == **name && it.parameter("beside").is_none() && is_time
        })
    };
    let victims = ["victim scalar", "victim vector", "victim bandwidth", "victim latency"];
    let missing: Vec<&str> = victims.into_iter().chain(CLASSES).filter(is_missing).collect();
    let line = format!(
        "left out, as are pairs without a number: {}: `cpudyno turbo --neighbours` has all",
        missing.join(", ")
    );
    if missing.is_empty() || rows(record).is_empty() { Vec::new() } else { vec![line] }
}

/// Too few blocks for anything to be believed.
fn few(record: &Record) -> Vec<String> {
    let blocks = ratios(record).into_iter().map(|it| it.medians().len());
    let most = blocks.max().filter(|most| (1..6).contains(most));
    let line = |most| {
        let blocks = if most == 1 { "block of a cell is" } else { "blocks of a cell are" };
        format!(
            "{most} {blocks} too few for advice, however much they change: 6 are needed, by more time"
        )
    };
    most.map(line).into_iter().collect()
}

/// `-46.8 % (-46.9 % to -46.7 %)`.
pub(crate) fn words(series: &Series) -> Option<String> {
    let between = series.interval().map(|ends| ends.map(change));
    let between = between.map_or(String::new(), |[low, high]| format!(" ({low} % to {high} %)"));
    Some(format!("{} %{between}", change(series.median()?)))
}

fn sentence(record: &Record) -> Vec<String> {
    let of = |column: &Column| {
        let row = ("memory", "other cores");
        let beside = find(record, column, "", row)?.median()?;
        let words = words(find(record, column, "_ratio", row)?)?;
        let beside = si(beside, "B/s");
        Some(format!("Beside others who move memory a core still gets {beside}: {words}."))
    };
    of(&COLUMNS[4]).into_iter().collect()
}

/// What a finding may say of any of these cells.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let rows = rows(record);
    let all = rows.iter().flat_map(|row| COLUMNS.iter().map(move |column| (column, *row)));
    let said = |(column, row): (&Column, (&str, &str))| {
        let words = words(find(record, column, "_ratio", row)?)?;
        let place = match row.1 {
            "SMT sibling" => "the SMT sibling",
            "hidden sibling" => "a CPU that shares this one's core, as probed,",
            place => place,
        };
        // Where all classes cost as much, none of them is named.
        let scalar = find(record, column, "_ratio", ("scalar", row.1)).and_then(self::words);
        let of_it = scalar.map(|it| format!(", {it} of it where they are merely active"));
        let whose = [row.0, "whatever runs"];
        let said = whose.map(|whose| format!("{whose} on {place} changes {} by {words}", column.0));
        let more =
            said.clone().map(|it| of_it.iter().map(move |more| format!("{it}{more}")).collect());
        Some(said.into_iter().chain(more.into_iter().flat_map(|it: Vec<String>| it)).collect())
    };
    all.filter_map(said).flat_map(|it: Vec<String>| it).collect()
}
