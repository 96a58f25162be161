//! The way from the advertised clock to the delivered one: the record's account, calculated again, and the page
//! against it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::check::{ANYWHERE, Failure, Rule, table};
use super::page::Table;
use super::record::{Record, Series, class_with_most, items, number, text};
use super::stats::{median, mhz, numbers, once, plural, time};

const WHY: &str = "turbo: why not faster";
const SECTION: &str = "Why not faster?";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines {
        area: WHY,
        section: ANYWHERE,
        template: "From the advertised {} gets: {}.",
        want: sentence,
    },
    Rule::Tables {
        area: WHY,
        section: SECTION,
        template: "from the advertised clock to the delivered one, MHz",
        want: accounts,
    },
    Rule::Lines {
        area: WHY,
        section: SECTION,
        template: "unavailable: no stream has a clock here; {}",
        want: unclocked,
    },
    Rule::Lines { area: WHY, section: SECTION, template: "advertised: {}", want: advertised },
    Rule::Lines { area: WHY, section: SECTION, template: "power limits: {}", want: power },
    Rule::Lines {
        area: WHY,
        section: SECTION,
        template: "{} more accounts are in the record",
        want: more_accounts,
    },
    Rule::Tables { area: WHY, section: SECTION, template: "what each step takes, {}", want: bars },
    // Asked before evidence, which may begin with anything.
    Rule::Lines { area: WHY, section: SECTION, template: "{} no clock{}", want: settings },
    Rule::Lines {
        area: WHY,
        section: SECTION,
        template: "no limit was in force or came up: {} so",
        want: nothing_held,
    },
    Rule::Lines {
        area: WHY,
        section: SECTION,
        template: "held, though no cell above lost a clock to it: {}",
        want: idle_reasons,
    },
    Rule::Lines { area: WHY, section: SECTION, template: "not known: {}", want: not_known },
    Rule::Lines {
        area: WHY,
        section: SECTION,
        template: "without an advertised clock {}",
        want: without,
    },
    Rule::Lines { area: WHY, section: SECTION, template: "{}: {}", want: evidence },
];

fn all(record: &Record) -> &[Value] {
    items(&record.clock()["accounts"])
}

/// A page shows sixteen of them.
fn more_accounts(record: &Record) -> Vec<String> {
    let more = all(record).len().saturating_sub(16);
    let line = || format!("{more} more accounts are in the record");
    (more > 0).then(line).into_iter().collect()
}

/// A loss in MHz with its sign; a gain has the other one.
fn loss(hertz: f64) -> String {
    let lost = -(hertz / 1e6).round();
    if lost == 0.0 { "0".to_owned() } else { format!("{lost:+.0}") }
}

fn name(account: &Value) -> String {
    let count = numbers(text(&account["active"])).len();
    let kind = account["core_type"].as_str().map_or(String::new(), |kind| format!("{kind} "));
    let cores = plural(count, "core");
    let (count, word) = cores.split_once(' ').expect("a number and a word");
    format!("{} on {count} {kind}{word}", text(&account["workload"]))
}

fn is_after(step: &Value) -> bool {
    ["halted", "steal", "taken", "quota"].contains(&text(&step["id"]))
}

fn advertised_hertz(account: &Value) -> Option<f64> {
    account["advertised"]["hertz"].as_f64()
}

fn sentence(record: &Record) -> Vec<String> {
    let of = |account: &Value| {
        let first = advertised_hertz(account)?;
        let part = |it: &Value| format!("{} {}", loss(number(&it["hertz"])), text(&it["label"]));
        let mut parts: Vec<String> = items(&account["steps"]).iter().map(part).collect();
        let rest = account["unexplained"].as_f64();
        parts.extend(rest.map(|rest| format!("{} unexplained", loss(rest))));
        Some(format!(
            "From the advertised {} MHz to the {} MHz that {} gets: {}.",
            mhz(first),
            mhz(number(&account["delivered"])),
            name(account),
            parts.join(", ")
        ))
    };
    all(record).last().and_then(of).into_iter().collect()
}

fn accounts(record: &Record) -> Vec<Table> {
    let accounts = all(record);
    if accounts.is_empty() {
        return Vec::new();
    }
    let line = |label: &str, cell: &dyn Fn(&Value) -> Option<String>| {
        let cells = accounts.iter().map(|it| cell(it).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(label.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let order =
        ["boost", "core", "kernel", "governor", "hwp", "active-cores", "sst", "licence", "heavier"];
    let rank = |it: &&Value| {
        let place = order.iter().position(|id| it["id"] == **id);
        place.unwrap_or(order.len())
    };
    let steps = |after: bool| {
        let all = accounts.iter().flat_map(|it| items(&it["steps"]));
        let mut all: Vec<&Value> = all.filter(|it| is_after(it) == after).collect();
        all.sort_by_key(rank);
        once(all.into_iter().map(|it| text(&it["label"])))
    };
    let step = |label: &str| {
        let of = |account: &Value| {
            let of = items(&account["steps"]).iter().filter(|it| it["label"] == *label);
            let all: Vec<f64> = of.map(|it| number(&it["hertz"])).collect();
            (!all.is_empty()).then(|| loss(all.iter().sum()))
        };
        line(label, &of)
    };
    let mut rows = vec![line("advertised", &|it| Some(mhz(advertised_hertz(it)?)))];
    rows.extend(steps(false).into_iter().map(step));
    rows.push(line("unexplained", &|it| Some(loss(it["unexplained"].as_f64()?))));
    rows.push(line("clock", &|it| Some(mhz(number(&it["clock"])))));
    rows.extend(steps(true).into_iter().map(step));
    rows.push(line("delivered", &|it| Some(mhz(number(&it["delivered"])))));
    let names: Vec<String> = accounts.iter().map(name).collect();
    let columns: Vec<&str> =
        std::iter::once("MHz").chain(names.iter().map(String::as_str)).collect();
    vec![table("from the advertised clock to the delivered one, MHz", &columns, rows)]
}

/// Streams without a clock, of which the first says why.
fn unclocked(record: &Record) -> Vec<String> {
    let mut clocks = record.of_quantity("turbo", "clock");
    let why = clocks.find_map(|it| Some(text(&it.unavailable.as_ref()?["why"]).to_owned()));
    let line = why.filter(|_| all(record).is_empty() && !record.clock().is_null());
    line.map(|why| format!("unavailable: no stream has a clock here; {why}")).into_iter().collect()
}

fn advertised(record: &Record) -> Vec<String> {
    let line = |account: &Value| match account["advertised"].get("unavailable") {
        None => format!("advertised: {}", text(&account["advertised"]["source"])),
        Some(reason) => {
            let remedy = reason["remedy"].as_str().map_or(String::new(), |it| format!("; {it}"));
            format!("advertised: unknown, {}{remedy}", text(&reason["why"]))
        }
    };
    once(all(record).iter().map(line))
}

/// Limits of power are facts of the record.
fn power(record: &Record) -> Vec<String> {
    let one = |it: &Value| {
        let word = if it["term"] == "long" { "PL1" } else { "PL2" };
        let watts = it["watts"].as_f64();
        let over = it["seconds"].as_f64().filter(|_| watts.is_some());
        let over = over.map_or(String::new(), |seconds| format!(" over {}", time(seconds)));
        let watts = watts.map_or("none".to_owned(), |watts| format!("{watts:.0} W"));
        let locked = if it["locked"] == true { ", locked" } else { "" };
        let off = if it["enabled"] == true { "" } else { ", off" };
        format!("{word} {watts}{over} ({}{locked}{off})", text(&it["source"]))
    };
    let limits = once(items(&record.clock()["power"]).iter().map(one));
    if limits.is_empty() || all(record).is_empty() {
        return Vec::new();
    }
    vec![format!("power limits: {}", limits.join("; "))]
}

fn bars(record: &Record) -> Vec<Table> {
    let lost = |of: &Value| format!("{} MHz", loss(number(of)));
    let of = |account: &Value| {
        let first = advertised_hertz(account)?;
        let clock = |label: &str, hertz: f64| vec![label.to_owned(), format!("{} MHz", mhz(hertz))];
        let steps = |after: bool| {
            let of = items(&account["steps"]).iter().filter(move |it| is_after(it) == after);
            of.map(|it| vec![text(&it["label"]).to_owned(), lost(&it["hertz"])])
        };
        let rest = vec!["unexplained".to_owned(), lost(&account["unexplained"])];
        let mut rows = vec![clock("advertised", first)];
        rows.extend(steps(false).chain([rest]));
        rows.push(clock("clock", number(&account["clock"])));
        rows.extend(steps(true));
        rows.push(clock("delivered", number(&account["delivered"])));
        let caption = format!("what each step takes, {}, MHz", name(account));
        Some(table(caption, &["", ""], rows))
    };
    all(record).iter().filter_map(of).collect()
}

/// Settings that are not those for performance, and state no clock.
fn settings(record: &Record) -> Vec<String> {
    let open: Vec<&Value> = all(record).iter().filter(|it| it["unexplained"].is_number()).collect();
    let chooses = items(&record.clock()["allowed"]).iter();
    let chooses = chooses.filter(|it| text(&it["source"]).starts_with("governor")).count() > 0;
    let word = |name: &str, id: &str| {
        let value = record.fact(id)?["value"].as_str()?.to_owned();
        let silent = value != "performance" && value != "0" && !(name == "governor" && chooses);
        silent.then(|| format!("{name} {value}"))
    };
    let words = [
        ("governor", "cpufreq.governor"),
        ("preference", "cpufreq.epp"),
        ("energy bias", "cpufreq.epb"),
    ];
    let words: Vec<String> = words.into_iter().filter_map(|(name, id)| word(name, id)).collect();
    if open.is_empty() || words.is_empty() {
        return Vec::new();
    }
    let is_left = |it: &&&Value| number(&it["unexplained"]) > 0.005 * number(&it["clock"]);
    let part = open.iter().filter(is_left).count() > 0;
    let verb = if words.len() == 1 { "it states" } else { "they state" };
    let rest = if part { ", and may be part of what is unexplained" } else { "" };
    vec![format!("{}: {verb} no clock{rest}", words.join(", "))]
}

fn held(reason: &Value) -> bool {
    let is = |when: &str, what: &str| reason[when][what] == true;
    is("before", "active")
        || is("after", "active")
        || (is("after", "logged") && !is("before", "logged"))
}

fn is_cause(reason: &Value) -> bool {
    let states = ["turbo-limit", "attenuation", "below-request", "p1"];
    !states.contains(&text(&reason["id"]))
}

/// Whether something lowered the clock during the run, as far as registers and the kernel say.
pub(crate) fn is_held_cause(reason: &Value) -> bool {
    held(reason) && is_cause(reason)
}

fn nothing_held(record: &Record) -> Vec<String> {
    let asked: Vec<&str> = items(&record.clock()["asked"]).iter().map(text).collect();
    let mut reasons = items(&record.clock()["reasons"]).iter();
    let counted = ["disturbance.thermal_core", "disturbance.thermal_package"];
    let throttled = counted.iter().any(|id| record.grown(id) > Some(0.0));
    let seen = record.of_quantity("turbo", "soak_limited").next().is_some();
    let any = throttled || seen || reasons.any(|it| is_cause(it) && held(it));
    if asked.is_empty() || any || all(record).is_empty() {
        return Vec::new();
    }
    let verb = if asked.len() == 1 { "says" } else { "say" };
    vec![format!("no limit was in force or came up: {} {verb} so", asked.join(", "))]
}

fn idle_reasons(record: &Record) -> Vec<String> {
    let steps = || all(record).iter().flat_map(|it| items(&it["steps"]));
    let told = |reason: &Value| {
        let precise = |step: &Value| {
            reason["id"] == "power" && text(&step["id"]).split('+').any(|id| id.starts_with("pl"))
        };
        steps().any(|it| text(&it["evidence"]).contains(text(&reason["source"])) || precise(it))
    };
    let idle = items(&record.clock()["reasons"]).iter();
    let idle = idle.filter(|it| held(it) && is_cause(it) && !told(it));
    let idle = once(idle.map(|it| format!("{} ({})", text(&it["label"]), text(&it["source"]))));
    if idle.is_empty() || all(record).is_empty() {
        return Vec::new();
    }
    vec![format!("held, though no cell above lost a clock to it: {}", idle.join(", "))]
}

fn not_known(record: &Record) -> Vec<String> {
    let line = |it: &Value| {
        let remedy = it["remedy"].as_str().map_or(String::new(), |remedy| format!(": {remedy}"));
        format!("not known: {}, {}{remedy}", text(&it["what"]), text(&it["why"]))
    };
    if all(record).is_empty() {
        return Vec::new();
    }
    items(&record.clock()["unread"]).iter().map(line).collect()
}

fn without(record: &Record) -> Vec<String> {
    let unknown = all(record).iter().all(|it| it["unexplained"].is_null());
    if record.value["run"]["simulated"].is_string() || !unknown || all(record).is_empty() {
        return Vec::new();
    }
    let line = "without an advertised clock the way down to this one has no beginning: what was lost beside \
                the clock stands below it";
    vec![line.to_owned()]
}

/// Limits that a clock is above.
fn not_obeyed(record: &Record) -> Vec<String> {
    let all: Vec<&Value> = all(record).iter().flat_map(|it| items(&it["refuted"])).collect();
    let line = |it: &&Value| {
        let same =
            |other: &&&Value| other["label"] == it["label"] && other["evidence"] == it["evidence"];
        let clocks: Vec<f64> = all.iter().filter(same).map(|it| number(&it["clock"])).collect();
        let clock = mhz(clocks.into_iter().fold(0.0, f64::max));
        let (label, evidence) = (text(&it["label"]), text(&it["evidence"]));
        format!("{label}: {evidence}: not obeyed: the clock is {clock} MHz")
    };
    once(all.iter().map(line))
}

/// Boost that is off without a step that says what it takes.
fn unstated(record: &Record) -> Option<String> {
    let is_off = record.fact("cpufreq.boost")?["value"]["value"] == "off"
        || record.fact("cpufreq.boost")?["value"] == "off";
    let all = all(record);
    let of = |what: &'static str| all.iter().flat_map(move |it| items(&it[what]));
    let has_line = of("steps").chain(of("refuted")).any(|it| it["id"] == "boost");
    let highest = all.iter().filter_map(advertised_hertz).fold(0.0, f64::max);
    (is_off && !has_line && highest > 0.0).then(|| {
        format!(
            "boost is off: the clock with it, above {} MHz, is not stated while it is",
            mhz(highest)
        )
    })
}

/// What says so, each once; then switches, and limits that were reached before.
fn evidence(record: &Record) -> Vec<String> {
    // Where cells say different things of a step, those whose it is are named.
    let mut said: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for account in all(record) {
        for step in items(&account["steps"]) {
            let (label, why) = (text(&step["label"]), text(&step["evidence"]));
            match said.iter_mut().find(|it| it.0 == label && it.1 == why) {
                Some(known) => known.2.push(name(account)),
                None => said.push((label, why, vec![name(account)])),
            }
        }
    }
    let alone = |label: &str| said.iter().filter(|it| it.0 == label).count() == 1;
    let line = |(label, why, cells): &(&str, &str, Vec<String>)| {
        let whose = if alone(label) { String::new() } else { format!(", {}", cells.join(", ")) };
        format!("{label}{whose}: {why}")
    };
    let mut lines: Vec<String> = said.iter().map(line).collect();
    if lines.is_empty() && all(record).is_empty() {
        return Vec::new();
    }
    lines.extend(not_obeyed(record));
    lines.extend(unstated(record));
    let reasons = || items(&record.clock()["reasons"]).iter();
    let again = |it: &&Value| reasons().any(|other| other["label"] == it["label"] && held(other));
    let old = reasons().filter(|it| is_cause(it) && !again(it));
    let old = once(old.map(|it| format!("{} ({})", text(&it["label"]), text(&it["source"]))));
    if !old.is_empty() {
        let before = "logged before the run, so that nothing tells whether it happened again";
        lines.push(format!("{before}: {}", old.join(", ")));
    }
    let switch = |it: &Value| {
        let on = if it["on"] == true { "on" } else { "off" };
        format!("{}: {on} ({})", text(&it["label"]), text(&it["source"]))
    };
    lines.extend(items(&record.clock()["switches"]).iter().map(switch));
    lines
}

fn mean(shares: &[f64]) -> Option<f64> {
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The share of time that was lost in gaps: the mean over workloads on a CPU beside the same others.
pub(crate) fn lost_share(record: &Record) -> Option<f64> {
    let mut cells: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for it in record.series.iter().filter(|it| it.area != "rig") {
        let cell = (&it.area, &it.workload, &it.active, it.cpu);
        cells.entry(cell).or_default().extend(it.disturbance["lost_share"].as_f64());
    }
    mean(&cells.values().filter_map(|it| mean(it)).collect::<Vec<_>>())
}

/// The median over threads of the medians of a quantity.
pub(crate) fn over_threads(
    record: &Record,
    quantity: &str,
    workload: &str,
    active: &str,
) -> Option<f64> {
    let of = record.of_quantity("turbo", quantity);
    let cell: Vec<&Series> =
        of.filter(|it| it.workload == workload && it.active == active).collect();
    let class = class_with_most(&cell)?;
    let of_class = cell.iter().filter(|it| it.class == *class);
    median(&of_class.filter_map(|it| it.median()).collect::<Vec<_>>())
}

/// The numbers of accounts stand in the record: they are calculated again from its series and facts.
pub(crate) fn recalculated(record: &Record) -> Vec<Failure> {
    let (mut failures, mut words) = (Vec::new(), Vec::new());
    failures.extend(busy_too_long(record));
    for account in all(record) {
        let name = name(account);
        let mut hold = |what: &str, said: f64, wanted: Option<f64>| {
            // Hertz of whole numbers, added in another order.
            if wanted.is_none_or(|wanted| (said - wanted).abs() > 1.0 || said.is_nan()) {
                let text =
                    format!("{name}: {what} {said} in the account, the series give {wanted:?}");
                failures.push(Failure::new(WHY, text));
            }
        };
        let steps = items(&account["steps"]);
        let of =
            |quantity, workload| over_threads(record, quantity, workload, text(&account["active"]));
        let workload = text(&account["workload"]);
        let clock = of("clock", workload);
        hold("clock", number(&account["clock"]), clock);
        let sum = |after| -> f64 {
            let of = steps.iter().filter(|it| is_after(it) == after);
            of.map(|it| number(&it["hertz"])).sum()
        };
        hold("delivered", number(&account["delivered"]), clock.map(|clock| clock - sum(true)));
        if let Some(first) = advertised_hertz(account) {
            hold("advertised", first, promised(record, account, true));
            let rest = clock.map(|clock| first - sum(false) - clock);
            hold("unexplained", account["unexplained"].as_f64().unwrap_or(f64::NAN), rest);
        }
        let mut left = advertised_hertz(account);
        for step in steps {
            let (hertz, said) = (number(&step["hertz"]), text(&step["evidence"]));
            let wanted = step_again(record, account, step, left, clock);
            if let Some((wanted, evidence)) = wanted {
                hold(text(&step["label"]), hertz, Some(wanted));
                if !said.starts_with(&evidence) {
                    let text = format!("{name}: evidence {said:?}, the series give {evidence:?}");
                    words.push(Failure::new(WHY, text));
                }
            } else {
                let text = format!("{name}: step {:?} has no rule", text(&step["label"]));
                words.push(Failure::new(super::check::WITHOUT, text));
            }
            left = left.map(|left| left - hertz);
        }
    }
    failures.extend(words);
    failures
}

/// No CPU that anything was measured on was busy for longer than the run.
fn busy_too_long(record: &Record) -> Option<Failure> {
    let busy = record.clock()["busy_seconds"].as_f64()?;
    let cpus = once(record.series.iter().flat_map(|it| it.cpus.iter().copied())).len() as f64;
    let most = number(&record.value["run"]["seconds"]) * cpus;
    let text = || format!("CPUs were busy for {busy} s of {most} s");
    (busy > most * (1.0 + 1e-9)).then(|| Failure::new(WHY, text()))
}

/// The clock that is promised to one core, or to the active ones of the busiest package.
fn promised(record: &Record, account: &Value, alone: bool) -> Option<f64> {
    let cpus = numbers(text(&account["active"]));
    let limit = by_count(record, if alone { &cpus[..1] } else { &cpus });
    let claimed = || record.fact("cpu.max_frequency")?["value"]["value"].as_f64();
    let of_cpu = || {
        let mut all = items(&record.clock()["highest"]).iter();
        let first = cpus.first()?;
        number(&all.find(|it| numbers(text(&it["cpus"])).contains(first))?["hertz"]).into()
    };
    limit.or_else(claimed).or_else(of_cpu)
}

/// The same by registers alone.
pub(crate) fn by_count(record: &Record, cpus: &[u64]) -> Option<f64> {
    let first = cpus.first()?;
    let mut limits = items(&record.value["machine"]["turbo_limits"]).iter();
    let limit = limits.find(|it| numbers(text(&it["cpus"])).contains(first))?;
    let active = busiest(record, cpus) as u64;
    let steps = items(&limit["steps"]);
    let step = steps.iter().find(|it| it["active_cores"].as_u64() >= Some(active));
    // Beyond the last step nothing is known where a register was not read.
    let last = steps.last().filter(|_| limit["beyond"].is_null());
    step.or(last)?["hertz"].as_f64()
}

/// What firmware promises a stream on these CPUs: light ones by the lower of both tables, heavy ones by the one of
/// their licence alone.
pub(crate) fn promised_to(record: &Record, stream: &str, active: &str) -> Option<f64> {
    let cpus = numbers(active);
    let of_licence = licence(record, stream, &cpus).map(|it| it.0);
    if row(stream, 4) > 0 {
        return of_licence;
    }
    let both: Vec<f64> = by_count(record, &cpus).into_iter().chain(of_licence).collect();
    super::stats::least(&both)
}

/// Active cores of the package that has most of them.
fn busiest(record: &Record, cpus: &[u64]) -> usize {
    let places = once(cpus.iter().filter_map(|cpu| record.place(*cpu)));
    let of = |package| places.iter().filter(|place| place.0 == package).count();
    places.iter().map(|place| of(place.0)).max().unwrap_or(0)
}

/// Seconds of work of all CPUs together.
fn work_seconds(record: &Record) -> f64 {
    let cpus = numbers(text(&record.plan()["cpus"])).len() as f64;
    let whole = || number(&record.value["run"]["seconds"]) * cpus;
    record.clock()["busy_seconds"].as_f64().unwrap_or_else(whole)
}

/// Time that was lost beside the clock, as shares of what it has left, and how the evidence of each begins. A moment
/// that several counters see is lost once: to a quota, to halts, to the hypervisor, or to what nobody names. Halts that the
/// chain takes for slow cycles are in the clock already.
fn lost(record: &Record, account: &Value, clock: f64) -> BTreeMap<&'static str, (f64, String)> {
    let of = |quantity| {
        over_threads(record, quantity, text(&account["workload"]), text(&account["active"]))
    };
    let mut instruments = items(&record.value["instruments"]).iter();
    let counters = instruments.find(|it| it["id"] == "aperf_mperf");
    let rate = counters.and_then(|it| it["rate"]["hertz"].as_f64());
    let work = work_seconds(record);
    let grown = |id: &str| record.grown(id).filter(|it| *it > 0.0).unwrap_or(0.0);
    let (throttled, taken_by_host) =
        (grown("disturbance.cgroup_throttled"), grown("disturbance.steal"));
    let streams = record.of_quantity("turbo", "clock");
    let gaps: Vec<f64> = streams.filter_map(|it| it.disturbance["lost_share"].as_f64()).collect();
    let gaps = mean(&gaps);
    let halts =
        rate.zip(of("mperf_rate")).map(|(rate, of)| 1.0 - of / rate).filter(|it| *it >= 1e-3);
    let unhalted = rate.zip(of("aperf_per_mperf")).map(|(rate, of)| rate * of);
    let in_clock = unhalted.map(|it| 1.0 - clock / it).filter(|it| *it >= 0.01).unwrap_or(0.0);

    let wanted = work.max(grown("disturbance.wanted"));
    let (stopped, stolen) = (throttled / (throttled + work), taken_by_host / wanted);
    let all = match (gaps, halts) {
        (None, None) => (stopped + stolen).min(1.0),
        _ => gaps.unwrap_or(0.0).max(halts.unwrap_or(0.0)),
    };
    let quota = stopped.min(all);
    let halted = (halts.unwrap_or(0.0) - quota).max(0.0);
    let steal = stolen.min(all - quota - halted);
    let parts = [
        ("halted", halted, format!("MPERF counted {:.2} % less", halts.unwrap_or(0.0) * 100.0)),
        ("quota", quota, format!("{throttled:.2} s beside {work:.1} s of work")),
        (
            "steal",
            steal,
            format!("the kernel counts {taken_by_host:.2} s beside {wanted:.1} s of work"),
        ),
        (
            "taken",
            all - quota - halted - steal,
            format!("gaps in polling while streams ran, {:.2} %", gaps.unwrap_or(0.0) * 100.0),
        ),
    ];
    let mut already = in_clock.min(all);
    let left = 1.0 - already;
    let beside = |(id, share, said): (&'static str, f64, String)| {
        let cut = share.min(already);
        already -= cut;
        (id, ((share - cut) / left, said))
    };
    parts.into_iter().map(beside).collect()
}

/// What a step takes, and how its evidence begins; none where there is no rule for such a step.
fn step_again(
    record: &Record,
    account: &Value,
    step: &Value,
    left: Option<f64>,
    clock: Option<f64>,
) -> Option<(f64, String)> {
    let clock = clock?;
    let light = over_threads(record, "clock", "scalar_iadd", text(&account["active"]));
    match text(&step["id"]) {
        "active-cores" => {
            let bin = promised(record, account, false)?;
            let count = busiest(record, &numbers(text(&account["active"])));
            Some((left? - bin, format!("{} MHz with {count} active in a package", mhz(bin))))
        }
        "licence" => {
            let Some((hertz, name)) =
                licence(record, text(&account["workload"]), &numbers(text(&account["active"])))
            else {
                let lost = (light? - clock).min(left? - clock).max(0.0);
                let light = mhz(light?);
                let said = format!("measured: scalar_iadd runs at {light} MHz on the same cores");
                return Some((lost, said));
            };
            Some((left? - hertz, format!("{} MHz by the table of licence {name}", mhz(hertz))))
        }
        "heavier" => {
            let lost = (light? - clock).min(left? - clock).max(0.0);
            Some((lost, format!("measured: scalar_iadd runs at {} MHz", mhz(light?))))
        }
        // Limits that state no clock take all that is left.
        id if id
            .split('+')
            .all(|id| id.starts_with("pl") || ["power", "thermal", "prochot"].contains(&id)) =>
        {
            Some((left? - clock, String::new()))
        }
        id @ ("quota" | "halted" | "steal" | "taken") => {
            let (share, said) = lost(record, account, clock).remove(id)?;
            Some((clock * share, said))
        }
        id => {
            let (hertz, evidence) = stated(record, account, id)?;
            Some((left? - hertz, evidence))
        }
    }
}

/// A limit that states a clock: the clock, and how its evidence begins.
fn stated(record: &Record, account: &Value, id: &str) -> Option<(f64, String)> {
    let active = numbers(text(&account["active"]));
    let clock = record.clock();
    let is_here = |it: &&Value| numbers(text(&it["cpus"])).iter().any(|cpu| active.contains(cpu));
    let least = |is: &dyn Fn(&str) -> bool| {
        let all = items(&clock["allowed"]).iter().filter(is_here);
        let of = all.filter(|it| is(text(&it["source"])));
        let least = of.min_by(|a, b| number(&a["hertz"]).total_cmp(&number(&b["hertz"])))?;
        let hertz = number(&least["hertz"]);
        Some((hertz, format!("{} {}", text(&least["source"]), mhz(hertz))))
    };
    let [kernel, governor] = ["scaling_max_freq", "governor "];
    match id {
        "boost" => {
            let base = record.fact("cpu.base_frequency")?["value"]["value"].as_f64()?;
            Some((base, String::new()))
        }
        "kernel" => least(&|source| source == kernel),
        "governor" => least(&|source| source.starts_with(governor)),
        "hwp" => least(&|source| source != kernel && !source.starts_with(governor)),
        "core" => {
            let own = items(&clock["highest"]).iter().find(is_here)?;
            let hertz = number(&own["hertz"]);
            Some((hertz, format!("{} {}; CPUs ", text(&own["source"]), mhz(hertz))))
        }
        _ => None,
    }
}

/// The present level of the domain of a CPU.
fn level_of(record: &Record, cpu: u64) -> Option<(&Value, &Value)> {
    let mut domains = items(&record.value["speed_select"]["domains"]).iter();
    let domain = domains.find(|it| numbers(text(&it["cpus"])).contains(&cpu))?;
    let profiles = &domain["profiles"];
    let level = items(&profiles["levels"]).iter().find(|it| it["number"] == profiles["current"])?;
    Some((domain, level))
}

/// That of the first CPU that is measured.
pub(crate) fn level(record: &Record) -> Option<(&Value, &Value)> {
    level_of(record, *numbers(text(&record.plan()["cpus"])).first()?)
}

/// The row of a firmware's table that states a stream's clock. Light 512-bit code shares a licence with heavy
/// 256-bit code, unless the table has five rows and more.
pub(crate) fn row(stream: &str, rows: usize) -> usize {
    let more = usize::from(rows >= 5);
    let is_heavy = ["fma", "imul", "vlzcnt"].iter().any(|word| stream.contains(word));
    match (stream.split_once('_').map_or("", |it| it.0), is_heavy && !stream.contains("sparse")) {
        ("amx", _) => 3 + more,
        ("avx512", true) => 2 + more,
        ("avx512", false) => 1 + more,
        ("avx256", true) => 1,
        _ => 0,
    }
}

/// The clock of that row, and its name.
fn licence(record: &Record, stream: &str, active: &[u64]) -> Option<(f64, String)> {
    let (domain, level) = level_of(record, *active.first()?)?;
    let tables = items(&level["properties"]["turbo"]);
    let table = tables.get(row(stream, tables.len())).or(tables.last())?;
    let here = numbers(text(&domain["cpus"]));
    let cores =
        once(active.iter().filter(|it| here.contains(it)).filter_map(|it| record.place(*it)));
    let steps = items(&table["steps"]);
    let covers = |it: &&Value| it["cores"].as_u64().is_none_or(|of| of as usize >= cores.len());
    let step = steps.iter().find(covers).or(steps.last())?;
    Some((step["hertz"].as_f64()?, text(&table["licence"]).to_owned()))
}
