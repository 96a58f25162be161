//! Speed Select: what firmware said, which the record has; domains that are alike are told once.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::check::{Rule, table};
use super::page::Table;
use super::record::{Record, items, number, text};
use super::stats::list;

const AREA: &str = "sst";
const SECTION: &str = "Speed Select";

pub(crate) static RULES: &[Rule] = &[
    Rule::Tables { area: AREA, section: SECTION, template: "", want: in_brief },
    Rule::Tables { area: AREA, section: SECTION, template: "package{}", want: features },
    Rule::Lines { area: AREA, section: SECTION, template: "unavailable {}", want: missing },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "turbo frequency that each level allows, {}",
        want: levels,
    },
    Rule::Lines { area: AREA, section: SECTION, template: "bold: level {}", want: at_present },
    Rule::Lines { area: AREA, section: SECTION, template: "level {}: {}", want: of_levels },
];

/// What it is set to, where firmware says so; domains that differ are told one after the other.
pub(crate) fn in_the_box(record: &Record) -> Option<String> {
    let level = |domain: &Value| {
        let current = domain["profiles"]["current"].as_u64()?;
        let mut levels = items(&domain["profiles"]["levels"]).iter();
        levels.find(|it| it["number"].as_u64() == Some(current)).cloned()
    };
    let state = |domain: &Value, key: &str| {
        let level = level(domain)?;
        let word = match level[key].as_str()? {
            "enabled" => "on",
            "disabled" => "off",
            _ => "not supported",
        };
        Some(word.to_owned())
    };
    let told = |word: &str, of: &dyn Fn(&Value) -> Option<String>| {
        let values: BTreeSet<String> = domains(record).iter().filter_map(of).collect();
        let values: Vec<String> = values.into_iter().collect();
        (!values.is_empty()).then(|| format!("{word} {}", values.join(" / ")))
    };
    let power = |domain: &Value| {
        let on = domain["core_power"]["enabled"].as_bool()?;
        Some(if on { "on" } else { "off" }.to_owned())
    };
    let all = [
        told("level", &|it| Some(it["profiles"]["current"].as_u64()?.to_string())),
        told("base frequency", &|it| state(it, "base_freq_state")),
        told("turbo frequency", &|it| state(it, "turbo_freq_state")),
        told("core power", &power),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The levels of the first domain that has any.
fn profiles(record: &Record) -> Option<&Value> {
    domains(record).iter().map(|it| &it["profiles"]).find(|it| {
        items(&it["levels"]).iter().any(|level| !items(&level["properties"]["turbo"]).is_empty())
    })
}

/// The limit of each licence for so many cores: that of the first step which goes so far.
fn levels(record: &Record) -> Vec<Table> {
    let Some(profiles) = profiles(record) else { return Vec::new() };
    let all = || items(&profiles["levels"]).iter();
    let tables = || all().flat_map(|level| items(&level["properties"]["turbo"]));
    let steps = tables().flat_map(|it| items(&it["steps"]));
    let counts: BTreeSet<u64> = steps.filter_map(|it| it["cores"].as_u64()).collect();
    let cell = |table: &Value, count: u64| {
        let mut steps = items(&table["steps"]).iter();
        let step = steps.find(|it| it["cores"].as_u64().is_some_and(|cores| cores >= count));
        let hertz = step.and_then(|it| it["hertz"].as_f64());
        hertz.map_or("-".to_owned(), |it| format!("{:.0}", it / 1e6))
    };
    let rows = all().flat_map(|level| {
        let number = whole(&level["number"]);
        let counts = &counts;
        items(&level["properties"]["turbo"]).iter().map(move |table| {
            let label = format!("level {number}, {}", text(&table["licence"]));
            let cells = counts.iter().map(|count| cell(table, *count));
            std::iter::once(label).chain(cells).collect::<Vec<String>>()
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let titles: Vec<String> = counts.iter().map(u64::to_string).collect();
    let columns: Vec<&str> =
        std::iter::once("level, licence").chain(titles.iter().map(String::as_str)).collect();
    let caption = "turbo frequency that each level allows, by licence, MHz (higher is better) (columns: up to \
                   so many active cores)";
    vec![table(caption, &columns, rows)]
}

fn at_present(record: &Record) -> Vec<String> {
    let now = profiles(record).map(|it| whole(&it["current"]));
    now.map(|it| format!("bold: level {it}, at present")).into_iter().collect()
}

fn of_levels(record: &Record) -> Vec<String> {
    let Some(profiles) = profiles(record) else { return Vec::new() };
    let line = |level: &Value| {
        let of = &level["properties"];
        let base = items(&of["base"]).first();
        let base = base.map(|it| {
            format!(
                "base {} ({})",
                super::stats::si(number(&it["hertz"]), "Hz"),
                text(&it["licence"])
            )
        });
        let watts = of["tdp_watts"].as_u64().map(|it| format!("{it} W"));
        let cpus = of["allowed"]["cpus"].as_str().map(|it| format!("CPUs {it}"));
        let there = |key: &str| level.get(key).is_some_and(|it| it.get("unavailable").is_none());
        let has = [("base_freq", "has base-freq"), ("turbo_freq", "has turbo-freq")];
        let has = has.iter().filter(|(key, _)| there(key)).map(|(_, word)| (*word).to_owned());
        let parts: Vec<String> = [base, watts, cpus].into_iter().flatten().chain(has).collect();
        format!("level {}: {}", level["number"], parts.join(", "))
    };
    items(&profiles["levels"]).iter().map(line).collect()
}

fn told(record: &Record) -> &Value {
    &record.value["speed_select"]
}

fn domains(record: &Record) -> &[Value] {
    items(&told(record)["domains"])
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn in_brief(record: &Record) -> Vec<Table> {
    let (told, domains) = (told(record), domains(record));
    if domains.is_empty() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    let mut line = |label: &str, text: String| rows.push(vec![label.to_owned(), text]);
    let driver = &told["driver"];
    if driver.is_object() {
        let ways = [("mailbox", "mailbox"), ("mmio", "registers in memory")];
        let ways: Vec<&str> =
            ways.iter().filter(|it| driver[it.0] == true).map(|it| it.1).collect();
        let by =
            if ways.is_empty() { "power domains (TPMI)".to_owned() } else { ways.join(" and ") };
        let (interface, version) = (&driver["interface"], &driver["version"]);
        line("Driver", format!("interface {interface}, version {version}, by {by}"));
    } else {
        let none = "none: frequencies of two kinds are chosen in the firmware's setup";
        line("Driver", none.to_owned());
    }
    let it = &told["processor"];
    if it.is_object() {
        let [family, model, stepping] = ["family", "model", "stepping"].map(|key| whole(&it[key]));
        line("CPU", format!("family {family}, model {model} ({model:x}h), stepping {stepping}"));
    }
    let io = domains.iter().filter(|it| it["kind"] == "io").count();
    let io = if io > 0 { format!(", {io} of them for I/O") } else { String::new() };
    let packages: Vec<u64> = domains.iter().map(|it| whole(&it["package"])).collect();
    line("Power domains", format!("{}{io}, in packages {}", domains.len(), list(&packages)));
    vec![table("", &["", ""], rows)]
}

/// Without what says where it is.
fn nowhere(domain: &Value) -> Value {
    fn forget(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("cpus");
                fields.values_mut().for_each(forget);
            }
            Value::Array(items) => items.iter_mut().for_each(forget),
            _ => {}
        }
    }
    let mut it = domain.clone();
    for key in ["package", "die", "number"] {
        it[key] = Value::Null;
    }
    forget(&mut it);
    it
}

fn groups(record: &Record) -> Vec<Vec<&Value>> {
    let mut groups: Vec<(Value, Vec<&Value>)> = Vec::new();
    for domain in domains(record) {
        let it = nowhere(domain);
        match groups.iter_mut().find(|group| group.0 == it) {
            Some(group) => group.1.push(domain),
            None => groups.push((it, vec![domain])),
        }
    }
    groups.into_iter().map(|group| group.1).collect()
}

/// `packages 0-1, power domain 2`.
fn place(record: &Record, alike: &[&Value]) -> String {
    let by_die = told(record)["generation"] != "tpmi";
    let word = |word: &str, numbers: &[u64]| {
        let s = if numbers.len() == 1 { "" } else { "s" };
        format!("{word}{s} {}", list(numbers))
    };
    let mut packages: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for it in alike {
        let of = if by_die && it["die"].is_u64() { &it["die"] } else { &it["number"] };
        packages.entry(whole(&it["package"])).or_default().push(whole(of));
    }
    let alone = |it: &&Value| {
        domains(record).iter().filter(|other| other["package"] == it["package"]).count() == 1
    };
    let numbers: Vec<u64> = packages.keys().copied().collect();
    let part = if by_die { "die" } else { "power domain" };
    let first = packages.values().next().cloned().unwrap_or_default();
    let said = if by_die && alike.iter().all(alone) {
        word("package", &numbers)
    } else if packages.values().all(|it| *it == first) {
        format!("{}, {}", word("package", &numbers), word(part, &first))
    } else {
        let one =
            |(package, of): (&u64, &Vec<u64>)| format!("package {package}, {}", word(part, of));
        packages.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    match text(&alike[0]["kind"]) {
        "io" => format!("{said} (I/O: no cores)"),
        "compute" => said,
        _ => format!("{said} (no CPU online)"),
    }
}

fn standing(profiles: &Value) -> String {
    let there: Vec<u64> = items(&profiles["there"]).iter().map(whole).collect();
    let there = match there.as_slice() {
        [] => "the firmware lists none".to_owned(),
        [only] => format!("level {only} is the only one"),
        several => format!("there are levels {}", list(several)),
    };
    let by_register = &profiles["locked_by_register"];
    let may = if profiles["locked"] == true {
        "locked until the next reset"
    } else if *by_register == true {
        "locked for the operating system (register 64Bh)"
    } else if profiles["can_change"] != true {
        "fixed: levels cannot be changed while the machine runs"
    } else if by_register.get("unavailable").is_some() {
        "not locked by firmware; register 64Bh cannot be read"
    } else {
        "not locked"
    };
    format!("level {} at present, {may}; {there}", profiles["current"])
}

/// At which levels a feature is there.
fn support(profiles: &Value, state: &str) -> String {
    let levels = items(&profiles["levels"]);
    let has = |it: &&Value| it[state].as_str().is_some_and(|it| it != "unsupported");
    let with: Vec<u64> = levels.iter().filter(has).map(|it| whole(&it["number"])).collect();
    if with.is_empty() {
        let is_told = levels.iter().all(|it| it[state].is_string());
        return if is_told { "not supported" } else { "not told" }.to_owned();
    }
    let on = levels.iter().any(|it| it[state] == "enabled");
    let s = if with.len() == 1 { "" } else { "s" };
    format!("{}; at level{s} {}", if on { "on" } else { "off" }, list(&with))
}

fn features(record: &Record) -> Vec<Table> {
    let of = |alike: &Vec<&Value>| {
        let mut rows = Vec::new();
        let mut row = |cells: [&str; 3]| rows.push(cells.map(str::to_owned).to_vec());
        let profiles = &alike[0]["profiles"];
        if profiles["levels"].is_array() {
            row(["perf-profile", &standing(profiles), "fewer cores at a higher base"]);
            let base = support(profiles, "base_freq_state");
            row(["base-freq", &base, "a higher base for some, a lower one for others"]);
            let turbo = support(profiles, "turbo_freq_state");
            row(["turbo-freq", &turbo, "a higher turbo for few, others are clipped"]);
        }
        let of = &alike[0]["core_power"];
        if of.is_object() {
            let is = |key: &str| of[key].as_bool();
            let on = format!("on, {}", text(&of["priority"]));
            let word = match (is("supported"), is("enabled"), is("classes_enabled")) {
                (Some(false), ..) => "not supported",
                (None, ..) => "not told",
                (_, Some(true), Some(true)) => &on,
                (_, Some(false), Some(false)) => "off",
                _ => "half on: its two switches disagree",
            };
            row(["core-power", word, "who is throttled last"]);
        }
        table(place(record, alike), &["feature", "is", "does"], rows)
    };
    groups(record).iter().map(of).collect()
}

fn missing(record: &Record) -> Vec<String> {
    let line = |it: &Value| format!("unavailable {}: {}", text(&it["what"]), text(&it["why"]));
    items(&told(record)["missing"]).iter().map(line).collect()
}
