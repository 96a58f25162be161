//! Core to core, pauses, wake-ups, OpenMP regions, and the advice that rests on them.

use super::check::{ANYWHERE, Plot, Rule, table};
use super::page::Table;
use super::record::{Record, Series, items, of_one_class, text, with_most};
use super::stats::{greatest, least, median, micro, once, plural, quantile, si, time};

const CORES: &str = "cores";
const PAUSE: &str = "pause";
const WAKE: &str = "wake";
const WAIT: &str = "wait";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines {
        area: CORES,
        section: ANYWHERE,
        template: "A contended cache line goes from core to core in {}.",
        want: lines_sentence,
    },
    Rule::Tables {
        area: CORES,
        section: "Core to core",
        template: "latency from core to core, ns: half of a round trip (lower is better)",
        want: kinds_table,
    },
    Rule::Tables {
        area: CORES,
        section: "Core to core",
        template: "cas: latency of each pair, ns (lower is better) ({})",
        want: map,
    },
    Rule::Lines {
        area: PAUSE,
        section: ANYWHERE,
        template: "One pause takes {}.",
        want: pause_sentence,
    },
    Rule::Tables {
        area: PAUSE,
        section: "Pause",
        template: "what one wait takes, each CPU alone",
        want: pauses_table,
    },
    Rule::Lines {
        area: PAUSE,
        section: "Pause",
        template: "least, middle and greatest of {}",
        want: pauses_left_out,
    },
    Rule::Tables {
        area: PAUSE,
        section: "Pause",
        template: "time per wait (neither direction is better)",
        want: pauses_bars,
    },
    Rule::Lines {
        area: WAKE,
        section: ANYWHERE,
        template: "Waking a thread on another core takes {}.",
        want: wake_sentence,
    },
    Rule::Lines { area: WAKE, section: ANYWHERE, template: "After a rest of {}.", want: cliff },
    Rule::Tables {
        area: WAKE,
        section: "Wake-ups",
        template: "two threads that signal each other, us (lower is better)",
        want: signals,
    },
    Rule::Plots {
        area: WAKE,
        section: "Wake-ups",
        template: "round trips by how long they took (farther to the left is better) ({})",
        want: distribution,
    },
    Rule::Plots {
        area: WAKE,
        section: "Wake-ups",
        template: "wake-ups by {} ({})",
        want: by_state,
    },
    Rule::Tables {
        area: WAKE,
        section: "Wake-ups",
        template: "from the signal until a cache line answers, us, {}",
        want: rests_table,
    },
    Rule::Lines {
        area: WAIT,
        section: ANYWHERE,
        template: "Spin before sleeping: {}.",
        want: wait_sentence,
    },
    Rule::Tables {
        area: WAIT,
        section: "Spin or sleep",
        template: "what this machine's numbers say about waiting",
        want: advice_table,
    },
];

/// Pairs of CPUs with numbers, alike in message, relation and class of placement.
struct Kind<'a> {
    message: &'a str,
    between: &'a str,
    class: Option<&'a str>,
    pairs: Vec<&'a Series>,
}

const RELATIONS: [&str; 6] =
    ["same-cpu", "smt-sibling", "same-cache", "same-package", "other-cache", "other-package"];

fn pairs(record: &Record) -> Vec<&Series> {
    let all = record.of_quantity("cores", "latency");
    all.filter(|it| it.has() && it.cpus.len() == 2).collect()
}

fn kinds(record: &Record) -> Vec<Kind<'_>> {
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for pair in pairs(record) {
        let between = pair.parameter("between").unwrap_or("unknown");
        let (message, class) = (pair.workload.as_str(), pair.class.as_deref());
        let is =
            |it: &&mut Kind<'_>| (it.message, it.between, it.class) == (message, between, class);
        match kinds.iter_mut().find(is) {
            Some(kind) => kind.pairs.push(pair),
            None => kinds.push(Kind { message, between, class, pairs: vec![pair] }),
        }
    }
    // The nearest first.
    kinds.sort_by_key(|it| RELATIONS.iter().position(|known| *known == it.between));
    kinds
}

impl Kind<'_> {
    fn over(&self, q: f64) -> Option<f64> {
        median(&self.pairs.iter().filter_map(|it| it.q(q)).collect::<Vec<_>>())
    }

    /// The pair with the least median (the first of equals) or the greatest one (the last of them).
    fn extreme(&self, is_greatest: bool) -> Option<&Series> {
        let all = self.pairs.iter().copied();
        let by = |a: &&Series, b: &&Series| a.median().partial_cmp(&b.median()).expect("numbers");
        if is_greatest { all.max_by(by) } else { all.min_by(by) }
    }
}

fn nano(seconds: f64) -> String {
    format!("{:.1}", seconds * 1e9)
}

fn kinds_table(record: &Record) -> Vec<Table> {
    let row = |kind: &Kind<'_>| {
        let [p5, middle, p95] =
            [0.05, 0.5, 0.95].map(|q| kind.over(q).map_or("-".to_owned(), nano));
        let pair = |it: &Series| format!("{}-{}", it.cpus[0], it.cpus[1]);
        let extreme = |greatest| {
            let it = kind.extreme(greatest).expect("a kind has pairs");
            format!("{} ({})", it.median().map(nano).unwrap_or_default(), pair(it))
        };
        let ends = match kind.pairs.as_slice() {
            [only] => [format!("only {}", pair(only)), String::new()],
            _ => [extreme(false), extreme(true)],
        };
        let words = [kind.message, kind.between, kind.class.unwrap_or("not probed")];
        let mut row: Vec<String> = words.map(str::to_owned).to_vec();
        row.extend([kind.pairs.len().to_string(), middle, format!("{p5} - {p95}")]);
        row.extend(ends);
        row
    };
    let rows: Vec<Vec<String>> = kinds(record).iter().map(row).collect();
    let caption = "latency from core to core, ns: half of a round trip (lower is better)";
    let columns =
        ["message", "between", "placement", "pairs", "median", "lines", "least", "greatest"];
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

/// All pairs, where at least half of them were measured, of three CPUs and more.
fn map(record: &Record) -> Vec<Table> {
    let pairs: Vec<&Series> = pairs(record).into_iter().filter(|it| it.workload == "cas").collect();
    let mut cpus: Vec<u64> = pairs.iter().flat_map(|it| it.cpus.clone()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() < 3 || pairs.len() * 2 < cpus.len() * (cpus.len() - 1) {
        return Vec::new();
    }
    let cell = |a: u64, b: u64| {
        let of = pairs.iter().filter(|it| it.cpus == [a.min(b), a.max(b)]).copied();
        let middle = with_most(of).and_then(Series::median);
        middle.map_or("-".to_owned(), |it| format!("{:.0}", it * 1e9))
    };
    let row =
        |a: &u64| std::iter::once(a.to_string()).chain(cpus.iter().map(|b| cell(*a, *b))).collect();
    let names: Vec<String> = cpus.iter().map(u64::to_string).collect();
    let columns: Vec<&str> =
        std::iter::once("CPU").chain(names.iter().map(String::as_str)).collect();
    let caption = "cas: latency of each pair, ns (lower is better) (columns: CPU)";
    vec![table(caption, &columns, cpus.iter().map(row).collect())]
}

fn lines_sentence(record: &Record) -> Vec<String> {
    let kinds = kinds(record);
    let of = |between: &str| {
        // Of several placements the one that most pairs had, the first of equals.
        let alike = kinds.iter().filter(|it| it.message == "cas" && it.between == between);
        let most = alike.rev().max_by_key(|it| it.pairs.len())?;
        let class = most.class.filter(|class| *class != between);
        let class = class.map_or(String::new(), |class| format!(", placed {class}"));
        Some(format!("{} ({between}{class})", time(most.over(0.5)?)))
    };
    let said: Vec<String> =
        once(kinds.iter().map(|it| it.between)).into_iter().filter_map(of).collect();
    let line = || format!("A contended cache line goes from core to core in {}.", said.join(", "));
    if said.is_empty() { Vec::new() } else { vec![line()] }
}

/// What a finding may say of pairs that are alike and differ.
pub(crate) fn uneven_pairs(record: &Record) -> Vec<String> {
    let said = |kind: &Kind<'_>| {
        let (near, far) = (kind.extreme(false)?, kind.extreme(true)?);
        let (low, high) = (time(near.median()?), time(far.median()?));
        let [a, b, c, d] = [near.cpus[0], near.cpus[1], far.cpus[0], far.cpus[1]];
        Some(format!(
            "CPUs {a} and {b} need {low}, CPUs {c} and {d} {high}, although the kernel takes both for \
             alike: clusters of cores, sub-NUMA, or a host that placed them apart"
        ))
    };
    kinds(record).iter().filter_map(said).collect()
}

fn pauses(record: &Record) -> Vec<&Series> {
    record.of_quantity("pause", "time_per_op").filter(|it| it.has()).collect()
}

/// Of more than eight, those with the least, the middle and the greatest time.
fn pauses_shown(record: &Record) -> Vec<&Series> {
    let mut all = pauses(record);
    if all.len() > 8 {
        all.sort_by(|a, b| a.median().partial_cmp(&b.median()).expect("numbers"));
        return vec![all[0], all[all.len() / 2], all[all.len() - 1]];
    }
    all
}

fn cycles_of<'a>(record: &'a Record, pause: &Series) -> Option<&'a Series> {
    let mut all = record.of_quantity("pause", "cycles_per_op");
    all.find(|it| (&it.workload, it.cpu, &it.active) == (&pause.workload, pause.cpu, &pause.active))
}

fn pauses_table(record: &Record) -> Vec<Table> {
    let known = super::known::pause(record);
    let row = |it: &&Series| {
        let ns = |q| it.q(q).expect("it has samples") * 1e9;
        let cycles = cycles_of(record, it).and_then(Series::median);
        let cycles = cycles.map_or("unavailable".to_owned(), |cycles| format!("{cycles:.1}"));
        let spread = format!("{:.1} - {:.1}", ns(0.05), ns(0.95));
        vec![it.cpu.to_string(), format!("{:.2}", ns(0.5)), spread, cycles, known.clone()]
    };
    let rows: Vec<Vec<String>> = pauses_shown(record).iter().map(row).collect();
    let columns = ["CPU", "ns", "p5 - p95 ns", "cycles", "known cycles"];
    let caption = "what one wait takes, each CPU alone";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

fn pauses_left_out(record: &Record) -> Vec<String> {
    let all = pauses(record).len();
    let line = format!(
        "least, middle and greatest of {all}; `cpudyno pause` lists all, and the record has them"
    );
    if pauses_shown(record).len() < all { vec![line] } else { Vec::new() }
}

fn pauses_bars(record: &Record) -> Vec<Table> {
    let row = |it: &&Series| Some(vec![format!("CPU {}", it.cpu), si(it.median()?, "s")]);
    let rows: Vec<Vec<String>> = pauses_shown(record).iter().filter_map(row).collect();
    let caption = "time per wait (neither direction is better)";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &["", ""], rows)] }
}

/// Seconds of one pause: the middle over CPUs.
fn one_pause(record: &Record) -> Option<f64> {
    let all = pauses(record).into_iter().filter(|it| it.workload == "pause_only");
    median(&all.filter_map(Series::median).collect::<Vec<_>>())
}

fn pause_sentence(record: &Record) -> Vec<String> {
    let of = |seconds: f64| {
        let all = record.of_quantity("pause", "cycles_per_op");
        let all = all.filter(|it| it.workload == "pause_only").filter_map(Series::median);
        let cycles = median(&all.collect::<Vec<_>>());
        let cycles = cycles.map_or(String::new(), |it| format!(" ({it:.0} cycles)"));
        let (one, thousand) = (time(seconds), time(seconds * 1000.0));
        format!("One pause takes {one}{cycles}: a spin loop of 1,000 pauses waits {thousand}.")
    };
    one_pause(record).map(of).into_iter().collect()
}

/// What a finding may say of pauses that differ.
pub(crate) fn uneven_pauses(record: &Record) -> Vec<String> {
    let all: Vec<f64> = pauses(record).into_iter().filter_map(Series::median).collect();
    let [low, high] = [least(&all), greatest(&all)].map(|it| it.map(time).unwrap_or_default());
    let why = "core types differ, or a sibling is busy";
    vec![format!("a pause takes {low} on one CPU and {high} on another: {why}")]
}

/// The series of the same method, CPUs and parameters; of several classes the one with most samples.
fn same<'a>(record: &'a Record, of: &Series, quantity: &str) -> Option<&'a Series> {
    let is = |it: &&Series| {
        (&it.area, &it.workload, &it.active, &it.parameters)
            == (&of.area, &of.workload, &of.active, &of.parameters)
            && it.quantity == quantity
    };
    with_most(record.series.iter().filter(is)).filter(|it| it.has())
}

/// Each method and pair once, in the order of the record.
fn signalled(record: &Record) -> Vec<&Series> {
    let all = record.of_quantity("wake", "time_per_signal");
    let mut all: Vec<&Series> =
        all.filter(|it| it.has() && it.parameter("question") == Some("signals")).collect();
    let mut seen = Vec::new();
    all.retain(|it| {
        let key = (&it.workload, &it.active, &it.parameters);
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    all
}

fn signals(record: &Record) -> Vec<Table> {
    let row = |it: &&Series| {
        let one = same(record, it, "time_per_signal")?.median()?;
        let trips = same(record, it, "round_trip")?;
        let words = [it.workload.as_str(), it.parameter("pair").unwrap_or("-"), &it.active];
        let numbers = [0.5, 0.99, 0.999, 1.0].map(|q| trips.q(q).map(micro).unwrap_or_default());
        Some(words.map(str::to_owned).into_iter().chain([micro(one)]).chain(numbers).collect())
    };
    let rows: Vec<Vec<String>> = signalled(record).iter().filter_map(row).collect();
    let caption = "two threads that signal each other, us (lower is better)";
    let columns = ["method", "pair", "CPUs", "us/signal", "round trip", "p99", "p99.9", "max"];
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

fn apart(record: &Record) -> Vec<&Series> {
    signalled(record).into_iter().filter(|it| it.parameter("pair") != Some("same-cpu")).collect()
}

/// The share of samples in each twelfth of a decade, with a step without any at both ends; such stand at half a
/// sample.
fn shares(caption: &str, of: Vec<(String, Vec<f64>)>) -> Vec<Plot> {
    let line = |(name, trips): (String, Vec<f64>)| {
        let step = |seconds: &f64| (seconds.log10() * 12.0).floor() as i32;
        let steps: Vec<i32> = trips.iter().filter(|it| **it > 0.0).map(step).collect();
        let (first, last) = (*steps.iter().min()?, *steps.iter().max()?);
        let point = |step: i32| {
            let count = steps.iter().filter(|it| **it == step).count();
            let middle = 10f64.powf((f64::from(step) + 0.5) / 12.0) * 1e6;
            (middle, (count as f64).max(0.5) / steps.len() as f64 * 100.0)
        };
        Some((name, (first - 1..=last + 1).map(point).collect()))
    };
    let lines: Vec<_> = of.into_iter().filter_map(line).collect();
    let y = "per cent (steps without any stand at half a sample)";
    if lines.is_empty() { Vec::new() } else { vec![Plot::new(caption, ["us", y], lines)] }
}

/// Of the methods that differ most.
fn distribution(record: &Record) -> Vec<Plot> {
    let apart = apart(record);
    let differ = ["futex", "pipe", "spin-futex", "spin"];
    let mut shown: Vec<&&Series> =
        apart.iter().filter(|it| differ.contains(&it.workload.as_str())).collect();
    if shown.is_empty() {
        shown = apart.iter().take(4).collect();
    }
    let of = |it: &&&Series| {
        Some((it.workload.clone(), same(record, it, "round_trip")?.samples.clone()))
    };
    shares(
        "round trips by how long they took (farther to the left is better)",
        shown.iter().filter_map(of).collect(),
    )
}

/// By the idle state that wake-ups ended; by the length of rest where nobody counts states.
fn by_state(record: &Record) -> Vec<Plot> {
    let all = record.of_quantity("wake", "round_trip").filter(|it| it.has());
    let mine = |it: &&Series| {
        it.parameter("question") == Some("idle") && it.parameter("limit_us").is_none()
    };
    let all: Vec<&Series> = of_one_class(all.filter(mine));
    let pooled = |key: &str, value: &str| {
        let of = all.iter().filter(|it| it.parameter(key) == Some(value));
        of.flat_map(|it| it.samples.clone()).collect::<Vec<f64>>()
    };
    let names = once(all.iter().filter_map(|it| it.parameter("state_name")));
    if !names.is_empty() {
        let of = names.iter().map(|name| ((*name).to_owned(), pooled("state_name", name)));
        return shares(
            "wake-ups by the idle state that they ended (farther to the left is better)",
            of.collect(),
        );
    }
    let mut rests = once(all.iter().filter_map(|it| it.parameter("rest_us")?.parse::<u64>().ok()));
    rests.sort_unstable();
    let of = rests
        .iter()
        .map(|us| (format!("after {}", rest_words(*us)), pooled("rest_us", &us.to_string())));
    shares("wake-ups by how long the sleeper rested (farther to the left is better)", of.collect())
}

fn wake_sentence(record: &Record) -> Vec<String> {
    let of = |method: &str| {
        let apart = apart(record);
        let found = apart.iter().find(|it| it.workload == method)?;
        same(record, found, "time_per_signal")?.median().map(micro)
    };
    let spin = of("spin-pause").map(|it| format!("; one that spins sees a signal after {it} us"));
    let spin = spin.unwrap_or_default();
    let line = |it| format!("Waking a thread on another core takes {it} us by futex{spin}.");
    of("futex").map(line).into_iter().collect()
}

/// A length of rest before the signal.
struct Rest<'a> {
    us: u64,
    trips: &'a Series,
    slept: Option<f64>,
    ambiguous: Option<f64>,
    left: Vec<String>,
}

/// All rests with a number, ascending; idle states that are limited are another table.
fn rests(record: &Record) -> Vec<Rest<'_>> {
    let all = record.of_quantity("wake", "round_trip").filter(|it| it.has());
    let mine = |it: &&Series| {
        it.parameter("question") == Some("idle")
            && it.parameter("state").is_none()
            && it.parameter("limit_us").is_none()
    };
    let of = |it: &&'_ Series| it.parameter("rest_us").and_then(|us| us.parse().ok());
    let mut keys =
        once(all.filter(mine).filter_map(|it| Some((of(&it)?, &it.active, &it.workload))));
    keys.sort_by_key(|it| it.0);
    let rest = |(us, active, workload): &(u64, &String, &String)| {
        let us_text = us.to_string();
        let of_rest = |quantity: &'static str, with_state: bool| {
            record.of_quantity("wake", quantity).filter(move |it| {
                it.parameter("rest_us") == Some(&us_text)
                    && (&it.active, &it.workload) == (*active, *workload)
                    && it.parameter("state").is_some() == with_state
            })
        };
        let number =
            |quantity| with_most(of_rest.clone()(quantity, false)).and_then(Series::median);
        let state =
            |it: &Series| Some(format!("{} {:.2}", it.parameter("state_name")?, it.median()?));
        Some(Rest {
            us: *us,
            trips: with_most(of_rest.clone()("round_trip", false))?,
            slept: number("slept"),
            ambiguous: number("ambiguous"),
            left: of_one_class(of_rest.clone()("entries", true))
                .into_iter()
                .filter_map(state)
                .collect(),
        })
    };
    keys.iter().filter_map(rest).collect()
}

fn rest_words(us: u64) -> String {
    match us {
        0 => "0".to_owned(),
        us if us.is_multiple_of(1000) => format!("{} ms", us / 1000),
        us => format!("{us} us"),
    }
}

fn rests_table(record: &Record) -> Vec<Table> {
    let rests = rests(record);
    if rests.is_empty() {
        return Vec::new();
    }
    let percent = |it: Option<f64>| it.map_or("-".to_owned(), |it| format!("{:.0} %", it * 100.0));
    let counted = rests.iter().any(|it| !it.left.is_empty());
    let row = |it: &Rest<'_>| {
        let numbers =
            [0.0, 0.5, 0.99, 0.999, 1.0].map(|q| it.trips.q(q).map(micro).unwrap_or_default());
        let mut row: Vec<String> = std::iter::once(rest_words(it.us)).chain(numbers).collect();
        row.push(percent(it.slept));
        if counted {
            let left = if it.left.is_empty() { "-".to_owned() } else { it.left.join(", ") };
            row.extend([left, percent(it.ambiguous)]);
        }
        row
    };
    let mut columns = vec!["rest", "min", "median", "p99", "p99.9", "max", "slept"];
    if counted {
        columns.extend(["states left per wake-up", "ambiguous"]);
    }
    let caption = "from the signal until a cache line answers, us, by how long the sleeper rested before \
                   (lower is better)";
    vec![table(caption, &columns, rests.iter().map(row).collect())]
}

/// The fastest rest in which the sleeper slept.
fn lightest<'a, 'b>(rests: &'b [Rest<'a>]) -> Option<&'b Rest<'a>> {
    let slept = rests.iter().filter(|it| it.slept.is_none_or(|slept| slept >= 0.9));
    slept.min_by(|a, b| a.trips.median().partial_cmp(&b.trips.median()).expect("numbers"))
}

/// What a wake-up takes beside idle states.
fn lightest_sleep(record: &Record) -> Option<f64> {
    lightest(&rests(record))?.trips.median()
}

fn cliff(record: &Record) -> Vec<String> {
    let rests = rests(record);
    let of = |(light, last): (&Rest<'_>, &Rest<'_>)| {
        let said =
            |it: &Rest<'_>| [0.5, 0.99].map(|q| it.trips.q(q).map(micro).unwrap_or_default());
        let ([long, long_99], [short, short_99]) = (said(last), said(light));
        format!(
            "After a rest of {} a wake-up takes {long} us (p99 {long_99}), after {} it takes {short} \
             (p99 {short_99}).",
            rest_words(last.us),
            rest_words(light.us)
        )
    };
    let ends = lightest(&rests).zip(rests.last()).filter(|(light, last)| light.us < last.us);
    ends.map(of).into_iter().collect()
}

/// What wake-ups from each state take, and how much more that is than from the lightest sleep.
pub(crate) fn states(record: &Record) -> Vec<(&str, f64, f64)> {
    let Some(light) = lightest_sleep(record) else { return Vec::new() };
    let all = || record.of_quantity("wake", "round_trip").filter(|it| it.has());
    let names = once(all().filter_map(|it| it.parameter("state_name")));
    let of_state = |name| {
        let of_state = all().filter(|it| it.parameter("state_name") == Some(name));
        let of_state = of_one_class(of_state).into_iter();
        let samples: Vec<f64> = of_state.flat_map(|it| it.samples.clone()).collect();
        let middle = median(&samples)?;
        Some((name, middle, middle - light))
    };
    names.into_iter().filter_map(of_state).collect()
}

/// What a finding may say of each state: how much more than the lightest sleep it takes.
pub(crate) fn deep_sleeps(record: &Record) -> Vec<String> {
    let said = |(name, takes, more): (&str, f64, f64)| {
        let (takes, more) = (micro(takes), micro(more));
        format!(
            "a wake-up from {name} takes {takes} us, {more} us more than from the lightest sleep"
        )
    };
    states(record).into_iter().map(said).collect()
}

/// What the kernel's table says of leaving a state, in seconds.
pub(crate) fn exit_latency(record: &Record, name: &str) -> Option<f64> {
    let mut known = items(&record.value["machine"]["idle_states"]).iter();
    known.find(|state| text(&state["name"]) == name)?["latency_seconds"].as_f64()
}

/// What a finding may say of each state that is off the kernel's table by a factor of more than two.
pub(crate) fn tables_off(record: &Record) -> Vec<String> {
    let said = |(name, _, more): (&str, f64, f64)| {
        let table = exit_latency(record, name)?;
        let is_off = more > table * 2.0 || more < table / 2.0;
        let (takes, table) = (micro(more), micro(table));
        is_off.then(|| {
            format!(
                "leaving {name} takes {takes} us, where the kernel's table says {table}: its governor decides by \
                 the table"
            )
        })
    };
    states(record).into_iter().filter_map(said).collect()
}

/// A futex to another CPU: its median time per signal, and the 99th hundredth of round trips.
fn wake_up(record: &Record) -> Option<(f64, f64)> {
    let of = |quantity| {
        let all = record.of_quantity("wake", quantity).filter(|it| {
            it.has()
                && it.workload == "futex"
                && it.parameter("question") == Some("signals")
                && it.cpus.len() == 2
        });
        Some(&with_most(all)?.samples)
    };
    Some((median(of("time_per_signal")?)?, quantile(of("round_trip")?, 0.99)?))
}

fn spin(record: &Record) -> Option<[String; 2]> {
    let (middle, p99) = wake_up(record)?;
    let back = format!("there and back: p99 {}", time(p99));
    let seen = format!("a futex wakes another core in {} ({back})", time(middle));
    Some(match one_pause(record) {
        None => [format!("for {}", time(middle)), seen],
        Some(pause) => [
            format!("for {}, {:.0} pauses", time(middle), middle / pause),
            format!("{seen}, a pause takes {}", time(pause)),
        ],
    })
}

fn look(record: &Record) -> Option<[String; 2]> {
    let all = record.of_quantity("cores", "latency").filter(|it| it.workload == "cas");
    let line = median(&all.filter_map(Series::median).collect::<Vec<_>>())?;
    let pause = one_pause(record)?;
    let count = (line / pause).ceil().max(1.0) as usize;
    let because = format!("a contended line takes {}, a pause {}", time(line), time(pause));
    Some([plural(count, "pause"), because])
}

/// What the longest rest costs over the shortest one that is none.
fn sleep(record: &Record) -> Option<[String; 2]> {
    let rests = rests(record);
    let mut slept = rests.iter().filter(|it| it.us > 0);
    let (first, last) = (slept.next()?, slept.next_back()?);
    let of = |it: &Rest<'_>| Some((it.us as f64 * 1e-6, it.trips.median()?, it.trips.q(0.99)?));
    let ((short, low, low_99), (long, high, high_99)) = (of(first)?, of(last)?);
    let ends = |it: &Rest<'_>| it.trips.interval();
    if ends(first)?[1] >= ends(last)?[0] {
        return None;
    }
    Some([
        format!("{} more after {}", time(high - low), time(long)),
        format!(
            "{} after a rest of {}, {} after {} (p99 {} and {})",
            time(high),
            time(long),
            time(low),
            time(short),
            time(high_99),
            time(low_99)
        ),
    ])
}

fn wait_sentence(record: &Record) -> Vec<String> {
    let line =
        |[value, because]: [String; 2]| format!("Spin before sleeping: {value} ({because}).");
    spin(record).map(line).into_iter().collect()
}

fn advice_table(record: &Record) -> Vec<Table> {
    let rows = [
        ("spin before sleeping", spin(record)),
        ("between two looks at a line", look(record)),
        ("KMP_BLOCKTIME", super::openmp::least(record, &["libomp", "libiomp5"], "KMP_BLOCKTIME=")),
        ("GOMP_SPINCOUNT", super::openmp::least(record, &["libgomp"], "GOMP_SPINCOUNT=")),
        ("wake-ups after a rest", sleep(record)),
    ];
    let row = |(what, said): (&str, Option<[String; 2]>)| {
        let [value, because] = said?;
        Some(vec![what.to_owned(), value, because])
    };
    let rows: Vec<Vec<String>> = rows.into_iter().filter_map(row).collect();
    let caption = "what this machine's numbers say about waiting";
    let columns = ["question", "advice", "it rests on"];
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}
