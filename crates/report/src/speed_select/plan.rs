//! Who would get which clock.

use model::page::{Block, Table, Text, Tone};
use model::record::{CeilingBy, ClockCeiling, ClockPair, ExpectedClocks};
use model::{CpuSet, Hertz, Known};

use super::parts::{NONE, PageBuilder, mhz};
use model::record::OUTSIDE;

/// `plan`.
pub(super) fn blocks(told: &mut PageBuilder<'_>) -> Vec<Block> {
    lacking(told);
    let notes = note("; nothing was measured or changed");
    let mut blocks = vec![expected(&told.run.expected, vec![notes])];
    let to_know = held(&told.run.expected).into_iter().chain(told.run.to_know.iter().cloned());
    let to_know: Vec<Text> = to_know.map(Text::from).collect();
    if !to_know.is_empty() {
        blocks.push(Block::Heading("To know".to_owned()));
        blocks.push(Block::List(to_know));
    }
    blocks
}

/// The clocks of a comparison, with what holds them down.
pub(super) fn measured(clocks: &[ExpectedClocks]) -> Block {
    let all = std::iter::once(note("")).chain(held(clocks)).chain(not_told(clocks));
    expected(clocks, all.collect())
}

/// Why clocks are unknown.
fn not_told(expected: &[ExpectedClocks]) -> Vec<String> {
    let mut found: Vec<(String, CpuSet)> = Vec::new();
    for it in expected {
        let all = [("now", Some(&it.now)), ("then", it.then.as_ref())];
        let all = all.into_iter().filter_map(|(when, clocks)| Some((when, clocks?)));
        for (when, clocks) in all.filter(|(_, clocks)| !is_outside(clocks)) {
            for (known, name) in named(clocks) {
                let Known::No { unavailable } = known else { continue };
                let text = format!("{name} {when} is unknown: {}", unavailable.why);
                gather(&mut found, text, &it.cpus);
            }
        }
    }
    found.into_iter().map(|(text, cpus)| format!("{}: {text}", cpus.named())).collect()
}

/// The same is said once, of all CPUs.
fn gather<T: PartialEq>(found: &mut Vec<(T, CpuSet)>, said: T, cpus: &CpuSet) {
    match found.iter_mut().find(|(known, _)| *known == said) {
        Some((_, all)) => *all = all.iter().chain(cpus.iter()).collect(),
        None => found.push((said, cpus.clone())),
    }
}

/// The clocks of a pair, as they are called where one is unknown.
fn named(clocks: &ClockPair) -> [(&Known<Hertz>, &'static str); 2] {
    [(&clocks.base, "base frequency"), (&clocks.turbo, "turbo limit")]
}

/// What is said of who is held down: by whom, from which package and at which clock, now and then.
#[derive(PartialEq)]
struct Said {
    by: CeilingBy,
    /// None: each at the base frequency that the table has.
    at: Option<(u32, Hertz)>,
    when: [bool; 2],
}

/// Whose clocks somebody holds below what the level gives.
fn held(expected: &[ExpectedClocks]) -> Vec<String> {
    let mut found: Vec<(Said, CpuSet)> = Vec::new();
    for it in expected {
        let at = |ceiling: ClockCeiling| match ceiling.by {
            CeilingBy::NoTurbo => (ceiling.by, None),
            by => (by, Some((it.package, ceiling.clock))),
        };
        let ceilings = [it.now.ceiling, it.then.as_ref().and_then(|then| then.ceiling)];
        let ceilings = ceilings.map(|ceiling| ceiling.map(at));
        let mut here: Vec<Said> = Vec::new();
        for (by, at) in ceilings.into_iter().flatten() {
            let said = Said { by, at, when: ceilings.map(|it| it == Some((by, at))) };
            if !here.contains(&said) {
                here.push(said);
            }
        }
        for said in here {
            gather(&mut found, said, &it.cpus);
        }
    }
    found.iter().map(|(said, cpus)| said.of(cpus)).collect()
}

impl Said {
    fn of(&self, cpus: &CpuSet) -> String {
        let when = match self.when {
            [true, true] => "now and then",
            [true, false] => "now",
            [false, _] => "then",
        };
        let package =
            self.at.map_or_else(String::new, |(package, _)| format!(" of package {package}"));
        let who = match self.by {
            CeilingBy::Class(number) => format!(
                "class {number}{package} says so while core-power is on (`cpudyno sst core-power get-config`)"
            ),
            CeilingBy::Kernel => "somebody limits `max_freq` (scaling_max_freq) to that".to_owned(),
            CeilingBy::TurboLimits => format!(
                "the turbo limits{package} that hold at most (register 1ADh) say so (`cpudyno sst turbo-mode \
                 set-trl`)"
            ),
            CeilingBy::NoTurbo => {
                "turbo is off (`cpudyno set no_turbo=off`, or boost=on)".to_owned()
            }
        };
        let has = if cpus.len() == 1 { "has" } else { "have" };
        let limit = match self.at {
            Some((_, clock)) => format!("{} MHz at most", mhz(clock)),
            None => "no more than the base frequency".to_owned(),
        };
        format!("{} {has} {limit} {when}: {who}", cpus.named())
    }
}

fn note(and: &str) -> String {
    format!(
        "MHz, for the weakest instructions, by the firmware's own numbers{and}. Base: guaranteed where power \
         runs short or turbo is off. All-core turbo: the limit while all cores of the level are at work."
    )
}

fn lacking(told: &mut PageBuilder<'_>) {
    let run = told.run;
    let all = run.expected.iter().flat_map(|it| [Some(&it.now), it.then.as_ref()]).flatten();
    for clocks in all.filter(|clocks| !is_outside(clocks)) {
        for (known, name) in named(clocks) {
            if let Known::No { unavailable } = known {
                told.lacking(unavailable, name.to_owned());
            }
        }
    }
}

/// The clocks that CPUs are given, before a change and after it.
fn expected(expected: &[ExpectedClocks], legend: Vec<String>) -> Block {
    Table::of("Clock of each core after the change, MHz")
        .left("CPUs")
        .right("base")
        .right("then")
        .right("all-core turbo")
        .right("then")
        .left("")
        .rows(expected.iter().map(row))
        .legend(legend)
        .into()
}

fn row(it: &ExpectedClocks) -> Vec<Text> {
    let cell = |known: &Known<Hertz>| known.value().map_or(NONE.to_owned(), |hertz| mhz(*hertz));
    let then = |pick: fn(&ClockPair) -> &Known<Hertz>| {
        it.then.as_ref().map_or(NONE.to_owned(), |then| cell(pick(then)))
    };
    let cells = [
        it.cpus.to_string(),
        cell(&it.now.base),
        then(|clocks| &clocks.base),
        cell(&it.now.turbo),
        then(|clocks| &clocks.turbo),
    ];
    let mut row: Vec<Text> = cells.into_iter().map(Text::from).collect();
    row.push(verdict(it));
    row
}

/// Whether the level is without these CPUs.
fn is_outside(clocks: &ClockPair) -> bool {
    matches!(&clocks.turbo, Known::No { unavailable } if unavailable.what == OUTSIDE)
}

/// Who gains, and who loses.
fn verdict(it: &ExpectedClocks) -> Text {
    let was_outside = is_outside(&it.now);
    let Some(then) = it.then.as_ref().filter(|then| !is_outside(then)) else {
        let what = if was_outside { "not in the level, as now" } else { "not in the level" };
        return Text::toned(what, Tone::Warning);
    };
    if was_outside {
        return Text::toned("joins the level", Tone::Good);
    }
    // What nobody knows is no difference of nothing.
    let pairs = [(&it.now.base, &then.base), (&it.now.turbo, &then.turbo)];
    if pairs.iter().any(|(now, then)| now.value().is_some() != then.value().is_some()) {
        return Text::toned("unknown", Tone::Warning);
    }
    let change = |now: &Known<Hertz>, then: &Known<Hertz>, name: &str| {
        let mhz = (then.value()?.0 - now.value()?.0) / 1e6;
        (mhz.abs() >= 1.0).then(|| (mhz, format!("{mhz:+.0} MHz {name}")))
    };
    let by = |clocks: &ClockPair| clocks.ceiling.map(|ceiling| ceiling.by);
    // Without turbo that is the same change once more.
    let is_base = [&it.now, then].iter().all(|clocks| by(clocks) == Some(CeilingBy::NoTurbo));
    let turbo = change(&it.now.turbo, &then.turbo, "turbo").filter(|_| !is_base);
    let changes: Vec<(f64, String)> =
        change(&it.now.base, &then.base, "base").into_iter().chain(turbo).collect();
    let words = changes.iter().map(|(_, words)| words.as_str()).collect::<Vec<_>>().join(", ");
    let (gains, loses) =
        (changes.iter().any(|(mhz, _)| *mhz > 0.0), changes.iter().any(|(mhz, _)| *mhz < 0.0));
    match (gains, loses) {
        (false, false) => Text::toned("as it is", Tone::Faint),
        (true, false) => Text::toned(format!("gains: {words}"), Tone::Good),
        (false, true) => Text::toned(format!("loses: {words}"), Tone::Warning),
        (true, true) => format!("gains and loses: {words}").into(),
    }
}
