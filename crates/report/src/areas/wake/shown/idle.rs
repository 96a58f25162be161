//! What a rest before the signal costs, and which idle states stand behind it.

use model::page::{Align, Block, Lines, Scale, Table, Text, Tone};
use model::record::{IdleState, Record};
use model::{CpuId, CpuSet};

use super::super::read::{Cell, Spread, cells, in_order};
use super::super::{IDLE, LIMIT, REST, STATE};
use super::signals::of_types;
use super::{dash, distribution, microseconds, percent};

/// The rests of one method, pair and limit.
pub(in super::super) struct Staircase<'a> {
    pub(in super::super) workload: &'a str,
    pub(in super::super) active: &'a CpuSet,
    /// Microseconds that states may take to be left.
    pub(in super::super) limit: Option<&'a str>,
    /// By length of rest.
    pub(in super::super) steps: Vec<RestLength>,
    /// By depth.
    pub(in super::super) states: Vec<State<'a>>,
}

/// One length of rest.
pub(in super::super) struct RestLength {
    /// Microseconds.
    pub(in super::super) rest: u64,
    pub(in super::super) spread: Spread,
    pub(in super::super) slept: Option<f64>,
    pub(in super::super) ambiguous: Option<f64>,
    /// Name of each state that was left, and how often per wake-up.
    pub(in super::super) states: Vec<(String, f64)>,
}

/// An idle state that wake-ups ended.
pub(in super::super) struct State<'a> {
    pub(in super::super) name: &'a str,
    /// Round trips that ended it.
    pub(in super::super) spread: Spread,
    /// What they take beyond the fastest rest in which the sleeper slept, at the median.
    pub(in super::super) beyond: Option<f64>,
    /// What the kernel's table says of it.
    pub(in super::super) table: Option<&'a IdleState>,
    /// Of the states that are left sooner, the deepest, whether or not it was seen.
    pub(in super::super) shallower: Option<&'a IdleState>,
}

/// Whose CPU sleeps: the one that does not carry the series.
fn sleeper(cell: &Cell<'_>) -> Option<CpuId> {
    let waker = cell.series("round_trip")?.cpu;
    cell.active.iter().find(|cpu| *cpu != waker)
}

/// All of them.
pub(in super::super) fn staircases(record: &Record) -> Vec<Staircase<'_>> {
    let all = cells(record, IDLE);
    let keys = all.iter().map(|cell| (cell.workload, cell.active, cell.text(LIMIT)));
    let mut keys = in_order(keys);
    // What is as usual comes first.
    keys.sort_by_key(|(_, _, limit)| limit.is_some());
    keys.into_iter()
        .map(|(workload, active, limit)| {
            let mine: Vec<&Cell<'_>> = all
                .iter()
                .filter(|c| (c.workload, c.active, c.text(LIMIT)) == (workload, active, limit))
                .collect();
            let steps = steps(&mine);
            let lightest = lightest(&steps).map(|step| step.spread.median);
            let states = states(record, &mine, lightest);
            Staircase { workload, active, limit, steps, states }
        })
        .filter(|stairs| !stairs.steps.is_empty())
        .collect()
}

/// The fastest rest in which the sleeper slept: what a wake-up costs beside idle states.
pub(in super::super) fn lightest(steps: &[RestLength]) -> Option<&RestLength> {
    let slept = steps.iter().filter(|step| step.slept.is_none_or(|slept| slept >= SLEPT_MIN));
    slept.min_by(|a, b| a.spread.median.total_cmp(&b.spread.median))
}

fn steps(cells: &[&Cell<'_>]) -> Vec<RestLength> {
    let step = |cell: &&&Cell<'_>| {
        let rest = cell.number(REST).filter(|_| cell.text(STATE).is_none())?;
        let of_rest = cells.iter().filter(|c| c.number(REST) == Some(rest));
        let states = of_rest
            .filter_map(|c| Some((c.text("state_name")?.to_owned(), c.median("entries")?)))
            .collect();
        Some(RestLength {
            rest,
            spread: cell.spread("round_trip")?,
            slept: cell.median("slept"),
            ambiguous: cell.median("ambiguous"),
            states,
        })
    };
    let mut steps: Vec<RestLength> = cells.iter().filter_map(|cell| step(&cell)).collect();
    steps.sort_by_key(|step| step.rest);
    steps
}

/// Wake-ups by the state that they ended, over all rests.
fn states<'a>(record: &'a Record, cells: &[&Cell<'a>], lightest: Option<f64>) -> Vec<State<'a>> {
    let mut numbers = in_order(cells.iter().filter_map(|cell| cell.number(STATE)));
    numbers.sort_unstable();
    let state = |number: u64| {
        let mine: Vec<&&Cell<'_>> =
            cells.iter().filter(|cell| cell.number(STATE) == Some(number)).collect();
        let samples: Vec<f64> = mine.iter().flat_map(|cell| cell.samples("round_trip")).collect();
        let name = mine.first()?.text("state_name")?;
        let spread = Spread::of(&samples)?;
        let sleeper = mine.iter().find_map(|cell| sleeper(cell));
        let known = |state: &&IdleState| sleeper.is_none_or(|cpu| state.cpus.contains(cpu));
        let known = record.machine.idle_states.iter().filter(known);
        let latency = |state: &&IdleState| state.latency_seconds;
        let table = known.clone().find(|state| state.name == name);
        let until = table.and_then(|it| it.latency_seconds);
        let sooner = known.filter(|state| latency(state).zip(until).is_some_and(|(a, b)| a < b));
        let seconds = |state: &&IdleState| latency(state).unwrap_or_default();
        let shallower = sooner.max_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        let beyond = lightest.map(|lightest| spread.median - lightest);
        Some(State { name, spread, beyond, table, shallower })
    };
    numbers.into_iter().filter_map(state).collect()
}

/// Tables, plot and verdict.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let stairs = staircases(record);
    let mut blocks = Vec::new();
    for stairs in &stairs {
        let limited = stairs.limit.map_or(String::new(), |limit| {
            format!(", idle states limited to {limit} us of exit latency")
        });
        blocks.push(Block::Heading(format!(
            "A sleeper that rested: {}, CPUs {}{}{limited}",
            stairs.workload,
            stairs.active,
            of_types(record, stairs.active)
        )));
        blocks.push(table(stairs));
        blocks.extend(state_table(stairs));
    }
    blocks.extend(plot(&stairs));
    if !stairs.is_empty() {
        blocks.push(Block::Heading("Verdict".to_owned()));
        blocks.push(Block::List(super::super::findings::verdict(record)));
    }
    blocks
}

/// Wake-ups by length of rest.
pub(in super::super) fn table(stairs: &Staircase<'_>) -> Block {
    // Where the kernel counts none, the reason is among what was not measured.
    let counted = stairs.steps.iter().any(|step| !step.states.is_empty());
    let row = |step: &RestLength| {
        let spread = &step.spread;
        let numbers = [spread.min, spread.median, spread.p99, spread.p999, spread.max];
        let mut row = vec![Text::from(rest_words(step.rest))];
        row.extend(numbers.map(|seconds| Text::from(microseconds(seconds))));
        let slept = match step.slept {
            None => dash(),
            Some(slept) if slept < SLEPT_MIN => Text::toned(percent(slept), Tone::Warning),
            Some(slept) => percent(slept).into(),
        };
        row.push(slept);
        if counted {
            let states: Vec<String> =
                step.states.iter().map(|(name, entries)| format!("{name} {entries:.2}")).collect();
            row.push(if states.is_empty() { dash() } else { states.join(", ").into() });
            row.push(step.ambiguous.map_or_else(dash, |share| percent(share).into()));
        }
        row
    };
    let mut notes =
        vec!["slept: waits in which the kernel took the sleeper off its CPU".to_owned()];
    if counted {
        notes.push(
            "ambiguous: rests in which the CPU left no idle state, or several; shorter rests leave no \
             time to read the counters at each wake-up"
                .to_owned(),
        );
    }
    Table::of("Wake-up latency by length of rest, us")
        .right("rest")
        .right("min")
        .right("median")
        .right("p99")
        .right("p99.9")
        .right("max")
        .right("slept")
        .columns(counted.then_some(("states left per wake-up", Align::Left)))
        .columns(counted.then_some(("ambiguous", Align::Right)))
        .rows(stairs.steps.iter().map(row))
        .notes(notes)
        .into()
}

/// A wait that did not sleep proves nothing of idle states.
pub(in super::super) const SLEPT_MIN: f64 = 0.9;

/// `0`, `10 us`, `1 ms`.
pub(in super::super) fn rest_words(microseconds: u64) -> String {
    match microseconds {
        0 => "0".to_owned(),
        us if us % 1000 == 0 => format!("{} ms", us / 1000),
        us => format!("{us} us"),
    }
}

fn state_table(stairs: &Staircase<'_>) -> Option<Block> {
    let row = |state: &State<'_>| {
        let of_table = |of: fn(&IdleState) -> Option<f64>| {
            state.table.and_then(of).map_or_else(dash, |seconds| microseconds(seconds).into())
        };
        vec![
            Text::from(state.name),
            of_table(|table| table.latency_seconds),
            of_table(|table| table.residency_seconds),
            state.beyond.map_or_else(dash, |beyond| microseconds(beyond).into()),
            microseconds(state.spread.median).into(),
            microseconds(state.spread.p99).into(),
            Text::toned(state.spread.count.to_string(), Tone::Faint),
        ]
    };
    let rows: Vec<Vec<Text>> = stairs.states.iter().map(row).collect();
    (!rows.is_empty()).then(|| {
        Table::of(
            "idle states, us: what the kernel's table says, and what wake-ups took that ended \
             them",
        )
        .left("state")
        .right("table: exit")
        .right("table: residency")
        .right("measured: beyond")
        .right("median")
        .right("p99")
        .right("wake-ups")
        .rows(rows)
        .notes([
            "beyond: what the median is more than that of the fastest rest in which the sleeper \
             slept",
            "the kernel counts the state that was asked for; hardware may choose a shallower one",
        ])
        .into()
    })
}

/// How long wake-ups took, by the idle state that they ended; by length of rest where nobody counts states.
pub(in super::super) fn distributions(record: &Record) -> Option<Block> {
    let all = cells(record, IDLE);
    let as_usual = || all.iter().filter(|cell| cell.text(LIMIT).is_none());
    let pooled = |of: &dyn Fn(&Cell<'_>) -> bool| -> Vec<f64> {
        as_usual().filter(|cell| of(cell)).flat_map(|cell| cell.samples("round_trip")).collect()
    };
    let names = in_order(as_usual().filter_map(|cell| cell.text("state_name")));
    let of_state = |name: &str| {
        pooled(&|cell| cell.text("state_name") == Some(name) && cell.text(STATE).is_some())
    };
    let states = names.into_iter().map(|name| (name.to_owned(), of_state(name)));
    let states: Vec<(String, Vec<f64>)> = states.filter(|it| !it.1.is_empty()).collect();
    if !states.is_empty() {
        return distribution("Wake-up latency by idle state", "us", &states);
    }
    let mut rests = in_order(as_usual().filter_map(|cell| cell.number(REST)));
    rests.sort_unstable();
    let of_rest = |rest| pooled(&|cell| cell.number(REST) == Some(rest));
    let rests =
        rests.into_iter().map(|rest| (format!("after {}", rest_words(rest)), of_rest(rest)));
    let rests: Vec<(String, Vec<f64>)> = rests.filter(|it| !it.1.is_empty()).collect();
    distribution("Wake-up latency by length of rest", "us", &rests)
}

/// Median and p99 by length of rest.
fn plot(stairs: &[Staircase<'_>]) -> Option<Block> {
    /// No rest has no place on a logarithmic axis: it stands one decade before the next one.
    const NO_REST: f64 = 1.0;
    let points = |stairs: &Staircase<'_>, of: fn(&Spread) -> f64| -> Vec<(f64, f64)> {
        let point = |step: &RestLength| ((step.rest as f64).max(NO_REST), of(&step.spread) * 1e6);
        stairs.steps.iter().map(point).collect()
    };
    let mut lines = Vec::new();
    for of in stairs.iter().take(2) {
        let limited = of.limit.map_or(String::new(), |limit| format!(" (limit {limit} us)"));
        lines.push((format!("median{limited}"), points(of, |spread| spread.median)));
        lines.push((format!("p99{limited}"), points(of, |spread| spread.p99)));
    }
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: "Wake-up by length of rest, us (no rest stands at 1)".to_owned(),
            x: "rest us".to_owned(),
            y: "us".to_owned(),
            x_scale: Scale::Logarithmic,
            y_scale: Scale::Logarithmic,
            reach: None,
            lines,
            marks: Vec::new(),
        })
    })
}

#[cfg(test)]
pub(in crate::areas::wake) mod tests {
    use super::*;
    use crate::testing::{blank, near, series};

    /// A sleeper on CPU 1 that rests for some time: microseconds of its wake-ups, and the share that slept; then
    /// microseconds of those that ended `C1` and `C6`, which the table says to take 2 and 100 us.
    pub(in crate::areas::wake) fn record(rests: &[(&str, f64, f64)], states: [f64; 2]) -> Record {
        let mut record = blank();
        let mut put = |parameters: &[(&str, &str)], quantity: &str, value: f64| {
            let parameters = [&[("question", IDLE)], parameters].concat();
            let of = ["wake", "futex", quantity];
            record.series.push(series(of, "0-1", &parameters, &[&[value]]));
        };
        for (rest, us, slept) in rests {
            put(&[(REST, rest)], "round_trip", us * 1e-6);
            put(&[(REST, rest)], "slept", *slept);
        }
        for (number, name, us) in [("1", "C1", states[0]), ("2", "C6", states[1])] {
            let parameters = [(REST, "1000"), (STATE, number), ("state_name", name)];
            put(&parameters, "round_trip", us * 1e-6);
        }
        let state = |name: &str, us: f64| IdleState {
            name: name.to_owned(),
            description: String::new(),
            latency_seconds: Some(us * 1e-6),
            residency_seconds: None,
            cpus: "0-1".parse().unwrap(),
            disabled_on: CpuSet::default(),
        };
        record.machine.idle_states = vec![state("POLL", 0.0), state("C1", 2.0), state("C6", 100.0)];
        record
    }

    #[test]
    fn a_state_costs_what_it_takes_beyond_the_lightest_sleep() {
        // Without a rest nobody slept: what that takes is no sleep.
        let rests = [("1000", 150.0, 1.0), ("0", 1.0, 0.0), ("10", 5.0, 0.95), ("50", 7.0, 1.0)];
        let record = record(&rests, [6.0, 155.0]);
        let stairs = staircases(&record).remove(0);
        let steps: Vec<u64> = stairs.steps.iter().map(|step| step.rest).collect();
        assert_eq!(steps, [0, 10, 50, 1000]);
        assert_eq!(lightest(&stairs.steps).unwrap().rest, 10);
        let [c1, c6] = stairs.states.as_slice() else { panic!("two states") };
        // 6 - 5 and 155 - 5 us.
        near(c1.beyond.unwrap(), 1e-6);
        near(c6.beyond.unwrap(), 150e-6);
        let name = |state: Option<&IdleState>| state.unwrap().name.clone();
        assert_eq!([name(c1.shallower), name(c6.shallower)], ["POLL", "C1"]);
        assert_eq!(name(c6.table), "C6");
    }
}
