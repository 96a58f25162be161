//! OpenMP regions.

use super::check::{ANYWHERE, Rule, table};
use super::page::Table;
use super::record::{Record, Series, with_most};
use super::stats::{greatest, least as minimum, once, plural, time};

const AREA: &str = "openmp";
const SECTION: &str = "OpenMP regions";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines {
        area: AREA,
        section: ANYWHERE,
        template: "A small OpenMP loop on {}.",
        want: sentence,
    },
    Rule::Tables { area: AREA, section: SECTION, template: "OpenMP loop with {}", want: loops },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "us per region of the loop, {}",
        want: regions,
    },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "cores kept busy by {} right after it {}",
        want: after,
    },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "cores kept busy by {} with little to do {}",
        want: little,
    },
    Rule::Lines { area: AREA, section: SECTION, template: "cores busy: {}", want: what_is_busy },
];

/// One series of each runtime, setting and set of CPUs; defaults before other settings of their library.
fn teams(record: &Record) -> Vec<&Series> {
    let key = |it: &&Series| (it.workload.clone(), it.active.clone(), it.parameters.clone());
    let mut keys = Vec::new();
    let all = record.series.iter().filter(|it| it.area == "openmp" && it.has());
    let mut teams: Vec<&Series> = all
        .filter(|it| {
            let is_new = !keys.contains(&key(it));
            keys.push(key(it));
            is_new
        })
        .collect();
    let library = |it: &Series| {
        (it.workload.clone(), it.cpus.len(), it.parameter("library").map(str::to_owned))
    };
    for alike in teams.chunk_by_mut(|a, b| library(a) == library(b)) {
        alike.sort_by_key(|it| it.parameter("setting") != Some("default"));
    }
    teams
}

fn find<'a>(record: &'a Record, team: &Series, quantity: &str) -> Vec<&'a Series> {
    let is = |it: &&Series| {
        (&it.area, &it.workload, &it.active, &it.parameters)
            == (&team.area, &team.workload, &team.active, &team.parameters)
            && it.quantity == quantity
            && it.has()
    };
    record.series.iter().filter(is).collect()
}

fn median(record: &Record, team: &Series, quantity: &str) -> Option<f64> {
    with_most(find(record, team, quantity).into_iter())?.median()
}

fn setting(team: &Series) -> &str {
    team.parameter("setting").unwrap_or("-")
}

fn widest(record: &Record) -> Vec<&Series> {
    let teams = teams(record);
    let most = teams.iter().map(|it| it.cpus.len()).max();
    teams.into_iter().filter(|it| Some(it.cpus.len()) == most).collect()
}

fn threads(record: &Record) -> String {
    plural(widest(record).first().map_or(0, |it| it.cpus.len()), "thread")
}

/// Three digits, two decimals at most, and nothing below the last of them.
fn digits(value: f64) -> String {
    if value.abs() < 0.005 { "0.00".to_owned() } else { super::stats::three(value) }
}

fn sentence(record: &Record) -> Vec<String> {
    let libraries = once(
        widest(record)
            .into_iter()
            .filter_map(|it| Some((it.workload.clone(), it.parameter("library")?.to_owned()))),
    );
    let of = |(runtime, library): &(String, String)| {
        let widest = widest(record);
        let mine: Vec<&&Series> = widest
            .iter()
            .filter(|it| it.workload == *runtime && it.parameter("library") == Some(library))
            .collect();
        let looped = |it: &Series| median(record, it, "loop_time");
        let usual = mine.iter().find(|it| setting(it) == "default")?;
        let usual = looped(usual).filter(|it| *it > 0.0)?;
        let timed: Vec<(&str, f64)> =
            mine.iter().filter_map(|it| Some((setting(it), looped(it)?))).collect();
        let slowest = timed.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let ratio = slowest.1 / usual;
        let more = if ratio > 1.5 {
            format!(", with {} {ratio:.1} times that", slowest.0)
        } else {
            String::new()
        };
        Some(format!("{runtime} {}{more}", time(usual)))
    };
    let known: Vec<String> = libraries.iter().filter_map(of).collect();
    let line = || format!("A small OpenMP loop on {}: {}.", threads(record), known.join("; "));
    if known.is_empty() { Vec::new() } else { vec![line()] }
}

fn loops(record: &Record) -> Vec<Table> {
    let teams = teams(record);
    let whole = |it: &Series, name: &str| it.parameter(name)?.parse::<f64>().ok();
    let row = |it: &&Series| {
        let of = |quantity| median(record, it, quantity);
        let time = of("loop_time")?;
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let elapsed = whole(it, "outer").map(|outer| format!("{:.1}", time * outer));
        let run: Vec<f64> =
            find(record, it, "loop_regions").iter().flat_map(|it| it.samples.clone()).collect();
        let run = (!run.is_empty()).then(|| format!("{:.0}", run.iter().sum::<f64>()));
        let busy = |quantity| or_dash(of(quantity).map(|it| format!("{it:.2}")));
        let words = [it.workload.clone(), setting(it).to_owned(), it.cpus.len().to_string()];
        let numbers = [digits(time * 1e6), or_dash(elapsed), or_dash(run)];
        let cores = [busy("loop_busy"), busy("rest_busy")];
        Some(words.into_iter().chain(numbers).chain(cores).collect())
    };
    let rows: Vec<Vec<String>> = teams.iter().filter_map(row).collect();
    let asked = teams.iter().find_map(|it| Some((whole(it, "outer")?, whole(it, "elements")?)));
    let Some((outer, elements)) = asked.filter(|_| !rows.is_empty()) else { return Vec::new() };
    let inner = elements + 1.0;
    let caption =
        format!("OpenMP loop with {outer} outer and {inner} parallel inner loop (lower is better)");
    let columns = [
        "runtime",
        "setting",
        "threads",
        "us per region",
        "elapsed s",
        "regions run",
        "cores busy",
        "after it",
    ];
    vec![table(caption, &columns, rows)]
}

/// Bars of a quantity, where there are several and one of them is more than nothing.
fn bars(
    record: &Record,
    caption: String,
    quantity: &str,
    scale: f64,
    text: fn(f64) -> String,
) -> Vec<Table> {
    let of = |it: &&Series| {
        let label = match setting(it) {
            "-" => it.workload.clone(),
            setting => format!("{} {setting}", it.workload),
        };
        Some((label, median(record, it, quantity).filter(|it| *it >= 0.0)?))
    };
    let all: Vec<(String, f64)> = widest(record).iter().filter_map(of).collect();
    if all.len() < 2 || all.iter().all(|(_, it)| it * scale < 0.005) {
        return Vec::new();
    }
    let rows = all.into_iter().map(|(label, it)| vec![label, text(it)]).collect();
    vec![table(caption, &["", ""], rows)]
}

fn regions(record: &Record) -> Vec<Table> {
    let caption = format!("us per region of the loop, {} (lower is better)", threads(record));
    bars(record, caption, "loop_time", 1e6, time)
}

fn after(record: &Record) -> Vec<Table> {
    let of = threads(record);
    let caption = format!("cores kept busy by {of} right after it (lower is better)");
    bars(record, caption, "rest_busy", 1.0, |it| format!("{it:.2}"))
}

fn little(record: &Record) -> Vec<Table> {
    let of = threads(record);
    let caption = format!("cores kept busy by {of} with little to do (lower is better)");
    bars(record, caption, "small_busy", 1.0, |it| format!("{it:.2}"))
}

/// A length of the method, and no number of the record.
fn what_is_busy(record: &Record) -> Vec<String> {
    let line = "cores busy: CPU time of all threads against time, in the loop, and in the 20 ms after it in \
                which the first thread sleeps";
    if loops(record).is_empty() { Vec::new() } else { vec![line.to_owned()] }
}

/// The least value of a setting whose regions take no more than a tenth longer than with the best one.
pub(crate) fn least(record: &Record, runtimes: &[&str], prefix: &str) -> Option<[String; 2]> {
    let is =
        |it: &&Series| runtimes.contains(&it.workload.as_str()) && setting(it).starts_with(prefix);
    let all: Vec<&Series> = record.of_quantity("openmp", "loop_time").filter(is).collect();
    let most = all.iter().map(|it| it.cpus.len()).max()?;
    let widest = all.into_iter().filter(|it| it.cpus.len() == most && it.has());
    let timed: Vec<(&Series, f64)> = widest.filter_map(|it| Some((it, it.median()?))).collect();
    let times: Vec<f64> = timed.iter().map(|it| it.1).collect();
    if timed.len() < 2 {
        return None;
    }
    let best = minimum(&times)?;
    let value = |it: &Series| match setting(it).split_once('=').map_or("", |it| it.1) {
        "infinite" => f64::INFINITY,
        number => number.parse().unwrap_or(f64::NAN),
    };
    let good = timed.iter().filter(|it| it.1 <= best * 1.1);
    let chosen = good.min_by(|a, b| value(a.0).total_cmp(&value(b.0)))?;
    let slowest = timed.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let ratio = greatest(&times)? / chosen.1;
    let against = if ratio <= 1.1 {
        ", and hardly longer with any other".to_owned()
    } else {
        format!(", {ratio:.1} times as long with {}", setting(slowest.0))
    };
    let busy = find(record, chosen.0, "rest_busy").first().and_then(|it| it.median());
    let busy = busy
        .map_or(String::new(), |it| format!(", and {it:.2} cores stay busy in the 20 ms after it"));
    let because = format!("a region takes {}{against}{busy}", time(chosen.1));
    Some([setting(chosen.0).to_owned(), because])
}

/// What findings may say.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let mut said = Vec::new();
    let named = |it: &Series| {
        if setting(it) == "default" { "its default".to_owned() } else { setting(it).to_owned() }
    };
    let teams = widest(record);
    for a in &teams {
        let busy = median(record, a, "rest_busy").or_else(|| median(record, a, "small_busy"));
        said.extend(busy.map(|busy| {
            let begin = "with its default, threads without work keep";
            format!("{begin} {busy:.2} cores busy right after a region")
        }));
        let Some(fast) = median(record, a, "loop_time") else { continue };
        for b in teams.iter().filter(|it| it.workload == a.workload) {
            let Some(slow) = median(record, b, "loop_time") else { continue };
            let (ratio, [fast, slow]) = (slow / fast, [fast, slow].map(time));
            let costs = [a, b].map(|it| median(record, it, "region_cost").filter(|it| *it > 0.0));
            let beside = costs[0].zip(costs[1]).map_or(String::new(), |(least, most)| {
                let ratio = most / least;
                let [least, most] = [least, most].map(time);
                format!("; the region alone costs {least} and {most}: {ratio:.1} times")
            });
            said.push(format!(
                "with {} a region of the loop takes {fast}, with {} {slow}: {ratio:.1} times as long, on {} \
                 threads{beside}",
                named(a),
                named(b),
                a.cpus.len()
            ));
            let begin = "programs that set nothing have";
            said.push(format!(
                "{begin} {slow} for each region of the loop, where {fast} could be had"
            ));
        }
    }
    said
}
