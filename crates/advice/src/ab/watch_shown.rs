//! The clocks of CPUs around the measurements, as the guide's tables have them.

use model::Known;
use model::page::{Block, Remark, Table, Text, Tone};
use model::record::{AbRun, ArmClock, BusyClock, BusyClocks, CpuRole};

/// The table; or why there is none.
pub(super) fn clocks(run: &AbRun) -> Option<Block> {
    Some(match run.busy_clocks.as_ref()? {
        Known::Yes(clocks) => table(clocks),
        Known::No { unavailable } => Block::Remarks(vec![Remark {
            mark: Text::toned("unavailable", Tone::Warning),
            about: "Bzy_MHz".to_owned(),
            text: unavailable.why.clone(),
            remedy: unavailable.remedy.clone(),
        }]),
    })
}

fn table(clocks: &BusyClocks) -> Block {
    let source = format!(
        "MHz while not halted, around each measurement of an arm, by {}: the median, and how it spread.",
        clocks.source
    );
    Table::of("Clock of measured and busy CPUs, without and with the feature")
        .label("Package")
        .label("Core")
        .label("CPU")
        .left("as A")
        .right("Bzy_MHz before")
        .right("p10 to p90")
        .left("as B")
        .right("Bzy_MHz after")
        .right("p10 to p90")
        .rows(clocks.cpus.iter().map(row))
        .legend(reasons(clocks))
        .notes([source])
        .into()
}

fn row(it: &BusyClock) -> Vec<Text> {
    let place = [it.package, it.core, it.cpu.0].map(|number| number.to_string());
    place.into_iter().map(Text::from).chain(cells(&it.a)).chain(cells(&it.b)).collect()
}

fn cells(arm: &ArmClock) -> [Text; 3] {
    let (role, tone) = match arm.role {
        CpuRole::Measured => ("measured", Tone::Strong),
        CpuRole::Busy => ("busy", Tone::Plain),
        CpuRole::Idle => ("idle", Tone::Faint),
    };
    let mhz = |hertz: f64| format!("{:.0}", hertz / 1e6);
    let [clock, spread] = match &arm.clock {
        Known::Yes(clock) => {
            [mhz(clock.median), format!("{} to {}", mhz(clock.p10), mhz(clock.p90))]
        }
        Known::No { .. } => ["-".to_owned(), "-".to_owned()],
    };
    [Text::toned(role, tone), Text::toned(clock, tone), Text::from(spread)]
}

/// Why cells are empty, each reason once.
fn reasons(clocks: &BusyClocks) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for (it, arm, name) in clocks.cpus.iter().flat_map(|it| [(it, &it.a, "A"), (it, &it.b, "B")]) {
        if let Known::No { unavailable } = &arm.clock
            && !told.iter().any(|note| note.ends_with(&unavailable.why))
        {
            told.push(format!("-: such as CPU {} as {name}: {}", it.cpu, unavailable.why));
        }
    }
    told
}
