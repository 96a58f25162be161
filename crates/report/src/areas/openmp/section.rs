//! The area's part of the sheet, and what it shares with the page of the command.

use model::Unit;
use model::areas::openmp::{SMALL_REGIONS, SMALL_SLEEP};
use model::page::{Bar, Bars, Block, Table, Text, Tone, si};
use model::record::Record;
use model::stats::BLOCKS_FOR_INTERVAL;

use super::read::{Cell, libraries, teams, widest};

pub(super) fn section(record: &Record) -> Vec<Block> {
    let teams = teams(record);
    if teams.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("OpenMP regions".to_owned())];
    blocks.push(loops(&teams));
    blocks.extend(bars(&teams));
    blocks
}

pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let teams = teams(record);
    let libraries = libraries(&teams);
    let of = |teams: &Vec<&Cell<'_>>| {
        let default = teams.iter().find(|team| team.is_default())?;
        let usual = default.median("loop_time").filter(|time| *time > 0.0)?;
        let timed =
            teams.iter().filter_map(|team| Some((team.setting(), team.median("loop_time")?)));
        let slowest = timed.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let more = if slowest.1 > 1.5 * usual {
            format!(", with {} {:.1} times that", slowest.0, slowest.1 / usual)
        } else {
            String::new()
        };
        Some(format!("{} {}{more}", default.workload, si::format(usual, Unit::Second)))
    };
    let known: Vec<String> = libraries.iter().filter_map(of).collect();
    if known.is_empty() {
        return Vec::new();
    }
    vec![format!("A small OpenMP loop on {}: {}.", threads(&teams), known.join("; ")).into()]
}

/// How many there are at most, in words.
fn threads(teams: &[Cell<'_>]) -> String {
    match widest(teams).first().map_or(0, |team| team.active.len()) {
        1 => "1 thread".to_owned(),
        count => format!("{count} threads"),
    }
}

/// How the ancestor would say it.
pub(super) fn title(teams: &[Cell<'_>]) -> Option<String> {
    let team = teams.iter().find(|team| team.number("outer").is_some())?;
    let (outer, elements) = (team.number("outer")?, team.number("elements")?);
    Some(format!(
        "OpenMP loop with {outer} outer and {} parallel inner loop",
        elements.saturating_add(1)
    ))
}

/// What stands where there is no number.
fn dash() -> Text {
    Text::toned("-", Tone::Faint)
}

fn microseconds(team: &Cell<'_>, quantity: &str) -> Text {
    team.told(quantity, |seconds| digits(seconds * 1e6)).unwrap_or_else(dash)
}

fn cores(busy: Option<f64>) -> Text {
    busy.map_or_else(dash, |busy| format!("{busy:.2}").into())
}

/// What is less than the last digit has no sign.
const LEAST: f64 = 0.005;

/// Three digits: more say nothing of a region.
fn digits(value: f64) -> String {
    match value.abs() {
        v if v < LEAST => "0.00".to_owned(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Why these numbers have no interval, where they have none.
fn few_blocks(teams: &[Cell<'_>], quantities: &[&str]) -> Option<String> {
    let blocks = teams.iter().flat_map(|team| quantities.iter().map(|id| team.blocks(id)));
    let text = match blocks.flatten().min()? {
        1 => "from one block each: these numbers have no interval",
        few if few < BLOCKS_FOR_INTERVAL as u64 => {
            "from fewer than five blocks each: these numbers have no interval"
        }
        _ => return None,
    };
    Some(text.to_owned())
}

/// The time of a region, the elapsed time of the ancestor's loop, and the cores that are kept busy.
pub(super) fn loops(teams: &[Cell<'_>]) -> Block {
    let row = |team: &Cell<'_>| {
        let time = team.median("loop_time");
        let outer = team.number("outer");
        let elapsed = time.zip(outer).map(|(time, outer)| time * outer as f64);
        let run = team.sum("loop_regions");
        vec![
            Text::from(team.workload),
            team.setting().into(),
            team.crew().into(),
            microseconds(team, "loop_time"),
            elapsed.map_or_else(dash, |seconds| format!("{seconds:.1}").into()),
            run.map_or_else(dash, |run| format!("{run:.0}").into()),
            cores(team.median("loop_busy")),
            cores(team.median("rest_busy")),
        ]
    };
    let timed = teams.iter().filter(|team| team.median("loop_time").is_some());
    let rows: Vec<Vec<Text>> = timed.map(row).collect();
    let title = title(teams).unwrap_or_else(|| "OpenMP loop".to_owned());
    let words = [
        "elapsed: as many regions as were asked for, by the time of those that were run",
        "cores busy: CPU time of all threads against time, in the loop, and in the 20 ms after it in \
         which the first thread sleeps",
    ];
    let is_empty = rows.is_empty();
    Table::of(title)
        .left("runtime")
        .left("setting")
        .right("threads")
        .right("us per region")
        .right("elapsed s")
        .right("regions run")
        .right("cores busy")
        .right("after it")
        .rows(rows)
        .legend((!is_empty).then(|| few_blocks(teams, &["loop_time"])).into_iter().flatten())
        .notes(words)
        .into()
}

/// The time of a region, and the cores that waiting keeps busy: runtime by setting, on all CPUs.
pub(super) fn bars(teams: &[Cell<'_>]) -> Vec<Block> {
    let threads = threads(teams);
    let label = |team: &Cell<'_>| match team.setting() {
        "-" => team.workload.to_owned(),
        setting => format!("{} {setting}", team.workload),
    };
    let of = |quantity: &str, value: fn(f64) -> f64, text: fn(f64) -> String| -> Vec<Bar> {
        let bar = |team: &&Cell<'_>| {
            let median = team.median(quantity).filter(|median| *median >= 0.0)?;
            Some(Bar { label: label(team), from: 0.0, value: value(median), text: text(median) })
        };
        widest(teams).iter().filter_map(bar).collect()
    };
    let plots = [
        (
            format!("Loop region, {threads}, us"),
            of("loop_time", |s| s * 1e6, |s| si::format(s, Unit::Second)),
        ),
        (
            format!("Cores kept busy by {threads} right after a region"),
            of("rest_busy", |busy| busy, |busy| format!("{busy:.2}")),
        ),
        (
            format!("Cores kept busy by {threads} with little to do"),
            of("small_busy", |busy| busy, |busy| format!("{busy:.2}")),
        ),
    ];
    // Where nobody waits, as one thread does not, bars would compare the last digits of nothing.
    let waits = widest(teams).iter().any(|team| team.active.len() > 1);
    let tells = |bars: &Vec<Bar>| bars.len() > 1 && bars.iter().any(|bar| bar.value >= LEAST);
    let plots =
        plots.into_iter().enumerate().filter(|(at, (_, bars))| (waits || *at == 0) && tells(bars));
    plots.map(|(_, plot)| plot).map(|(caption, bars)| Block::Bars(Bars { caption, bars })).collect()
}

/// What each construct costs.
pub(super) fn constructs(teams: &[Cell<'_>]) -> Option<Block> {
    const COSTS: [&str; 4] = ["region_cost", "barrier_cost", "for_cost", "reduction_cost"];
    let row = |team: &Cell<'_>| {
        let costs = COSTS.map(|id| microseconds(team, id));
        let head = [Text::from(team.workload), team.setting().into(), team.crew().into()];
        head.into_iter().chain(costs).collect()
    };
    let what = "for: a static loop and the barrier at its end; reduction: a region with a sum";
    let has = |team: &&Cell<'_>| COSTS.iter().any(|id| team.median(id).is_some());
    let rows: Vec<Vec<Text>> = teams.iter().filter(has).map(row).collect();
    (!rows.is_empty()).then(|| {
        Table::of("Cost of a construct, us (EPCC's method)")
            .left("runtime")
            .left("setting")
            .right("threads")
            .right("region")
            .right("barrier")
            .right("for")
            .right("reduction")
            .rows(rows)
            .notes([what])
            .legend(few_blocks(teams, &COSTS))
            .into()
    })
}

/// Regions with little to do.
pub(super) fn small(teams: &[Cell<'_>]) -> Option<Block> {
    let row = |team: &Cell<'_>| {
        let time = team.told("small_time", |time| format!("{time:.3}"))?;
        Some(vec![
            Text::from(team.workload),
            team.setting().into(),
            team.crew().into(),
            time,
            cores(team.median("small_busy")),
        ])
    };
    let rows: Vec<Vec<Text>> = teams.iter().filter_map(row).collect();
    let run = teams.iter().find_map(|team| team.number("regions"));
    let run = run.unwrap_or(SMALL_REGIONS.into());
    let word = if run == 1 { "region" } else { "regions" };
    let mut legend = Vec::new();
    if run < SMALL_REGIONS.into() {
        legend.push(format!("there is no time for {SMALL_REGIONS}; --budget gives more"));
    }
    (!rows.is_empty()).then(|| {
        Table::of(format!(
            "{run} empty {word} with {:.0} ms of sleep after each",
            SMALL_SLEEP.0 * 1e3
        ))
        .left("runtime")
        .left("setting")
        .right("threads")
        .right("elapsed s")
        .right("cores busy")
        .rows(rows)
        .legend(legend)
        .into()
    })
}

/// Which runtimes: file, version, and what they do if nobody says.
pub(super) fn runtimes(teams: &[Cell<'_>]) -> Option<Block> {
    let row = |teams: &Vec<&Cell<'_>>| {
        let team = teams[0];
        let text = |name: &str| team.text(name).map_or_else(dash, Text::from);
        vec![
            team.workload.into(),
            text("library"),
            text("version"),
            text("openmp"),
            text("default"),
        ]
    };
    let rows: Vec<Vec<Text>> = libraries(teams).iter().map(row).collect();
    let says_passive =
        |team: &Cell<'_>| team.text("default").is_some_and(|text| text.contains("PASSIVE"));
    let mut legend = Vec::new();
    if teams.iter().any(says_passive) {
        legend.push(
            "libgomp says PASSIVE also where nobody set a policy; it spins for GOMP_SPINCOUNT then"
                .to_owned(),
        );
    }
    (!rows.is_empty()).then(|| {
        Table::of("OpenMP runtimes")
            .left("runtime")
            .left("file")
            .left("version")
            .left("_OPENMP")
            .left("default")
            .rows(rows)
            .legend(legend)
            .into()
    })
}
