//! What the machine says of itself, beside what was measured; and distances of nodes.

use serde_json::Value;

use super::check::{Rule, table};
use super::levels::{self, Ends, Whose, known_to, sweep};
use super::memory::{cells, unseen};
use super::page::Table;
use super::record::{Record, items, number, text};
use super::stats::{bytes, greatest, least, mhz, micro, numbers, once, plural, three};
use super::waiting;
use super::why::{over_threads, promised_to};

const AREA: &str = "claims";

pub(crate) static RULES: &[Rule] = &[
    Rule::Tables {
        area: AREA,
        section: "Claims against facts",
        template: "what the machine says of itself, and what was measured",
        want: claims,
    },
    Rule::Lines {
        area: AREA,
        section: "Claims against facts",
        template: "claimed by {}",
        want: claimed_by,
    },
    Rule::Lines { area: AREA, section: "Claims against facts", template: "{}: {}", want: verdicts },
    Rule::Tables {
        area: "memory",
        section: "From node to node{}",
        template: "latency of one access, ns (lower is better) ({})",
        want: latencies,
    },
    Rule::Tables {
        area: "memory",
        section: "From node to node{}",
        template: "distances as the firmware states them (10 is the node itself) ({})",
        want: distances,
    },
];

/// What, claimed, by whom, measured, verdict.
type Claim = [String; 5];

const AS_CLAIMED: &str = "as claimed";

fn all(record: &Record) -> Vec<Claim> {
    let all = [stamp_clock, one_core, limits, caches, nodes, pairs, states, sharing];
    all.iter().flat_map(|of| of(record)).collect()
}

/// What findings say of those that are refuted.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let said = |[_, claimed, by, measured, verdict]: Claim| {
        let how = verdict.strip_prefix("differs: ")?;
        Some(format!("{by} claims {claimed}; measured: {measured} ({how})"))
    };
    all(record).into_iter().filter_map(said).collect()
}

/// Those of one claimant in one line.
fn claimed_by(record: &Record) -> Vec<String> {
    let all = all(record);
    let who = once(all.iter().map(|it| it[2].as_str()).filter(|by| !by.is_empty()));
    let of = |by: &str| {
        let what: Vec<&str> = all.iter().filter(|it| it[2] == by).map(|it| &*it[0]).collect();
        format!("claimed by {by}: {}", what.join(", "))
    };
    who.into_iter().map(of).collect()
}

/// What stands behind the colon of a verdict stands below the table.
fn verdicts(record: &Record) -> Vec<String> {
    let all = all(record);
    let with_reason = once(all.iter().map(|it| it[4].as_str()).filter(|it| it.contains(": ")));
    let of = |verdict: &str| {
        let what: Vec<&str> = all.iter().filter(|it| it[4] == verdict).map(|it| &*it[0]).collect();
        format!("{}, {verdict}", what.join(", "))
    };
    with_reason.into_iter().map(of).collect()
}

fn claims(record: &Record) -> Vec<Table> {
    let row = |[what, claimed, _, measured, verdict]: Claim| {
        let verdict = verdict.split(": ").next().unwrap_or_default().to_owned();
        vec![what, verdict, claimed, measured]
    };
    let rows: Vec<Vec<String>> = all(record).into_iter().map(row).collect();
    let columns = ["what", "verdict", "claimed", "measured"];
    let caption = "what the machine says of itself, and what was measured";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

/// Against the source that is farthest from it; one that is not independent and says the same says nothing.
fn stamp_clock(record: &Record) -> Vec<Claim> {
    let instrument = &record.value["instruments"][0];
    let rate = &instrument["rate"];
    let Some(hertz) = rate["hertz"].as_f64() else { return Vec::new() };
    let chosen = text(&rate["chosen"]);
    let off = |it: &Value| {
        let ppm = (it["hertz"].as_f64()? / hertz - 1.0) * 1e6;
        let says = it["independent"] == true || ppm != 0.0;
        (text(&it["source"]) != chosen && says).then(|| (ppm, text(&it["source"]).to_owned()))
    };
    let all = items(&rate["sources"]).iter().filter_map(off);
    let worst = all.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let verdict = match &worst {
        None => "cannot tell: no other source says anything".to_owned(),
        Some((ppm, _)) if ppm.abs() <= 200.0 => AS_CLAIMED.to_owned(),
        Some((ppm, _)) => format!("differs: {ppm:+.0} ppm"),
    };
    let measured = worst.map_or("-".to_owned(), |(ppm, by)| {
        format!("{ppm:+.1} ppm by {}", by.split(" (").next().unwrap_or_default())
    });
    let what = format!("rate of {}", text(&instrument["id"]));
    vec![[what, format!("{:.6} MHz", hertz / 1e6), chosen.to_owned(), measured, verdict]]
}

fn one_core(record: &Record) -> Vec<Claim> {
    let mut accounts = items(&record.clock()["accounts"]).iter();
    let Some(it) = accounts.find(|it| numbers(text(&it["active"])).len() == 1) else {
        return Vec::new();
    };
    let (stream, active) = (text(&it["workload"]), text(&it["active"]));
    let clock = over_threads(record, "clock", stream, active).unwrap_or(f64::NAN);
    let measured = format!("{} MHz ({stream})", mhz(clock));
    let what = "clock of one core".to_owned();
    let advertised = &it["advertised"];
    if let Some(reason) = advertised.get("unavailable") {
        let verdict = format!("cannot tell: {}", text(&reason["why"]));
        return vec![[what, "-".to_owned(), String::new(), measured, verdict]];
    }
    let hertz = number(&advertised["hertz"]);
    let off = (clock / hertz - 1.0) * 100.0;
    let verdict = of_clock(record, active, Some((it, hertz)), off, "");
    let by = text(&advertised["source"]).to_owned();
    vec![[what, format!("{} MHz", mhz(hertz)), by, measured, verdict]]
}

/// What of an account took its clock below what was claimed, beside what takes time.
fn taken_below(account: &Value, claimed: f64) -> Option<String> {
    let mut left = account["advertised"]["hertz"].as_f64()?;
    let mut below = Vec::new();
    for step in items(&account["steps"]) {
        if ["quota", "halted", "steal", "taken"].contains(&text(&step["id"])) {
            continue;
        }
        let hertz = number(&step["hertz"]);
        left -= hertz;
        if left < claimed * 0.995 {
            let (label, evidence) = (text(&step["label"]), text(&step["evidence"]));
            below.push(format!("{label} took {} MHz ({evidence})", mhz(hertz)));
        }
    }
    (!below.is_empty()).then(|| below.join(", "))
}

/// Of a clock of an account that is off by so much: no more than half of what the ruler alone moved by tells nothing but
/// what was seen to take it.
fn of_clock(
    record: &Record,
    active: &str,
    account: Option<(&Value, f64)>,
    percent: f64,
    of_what: &str,
) -> String {
    let moved = super::around::quiet_drift(record, &numbers(active));
    let moved = moved.map_or(0.0, |[low, high]| (high / low - 1.0) * 100.0);
    let cause = account.and_then(|(account, claimed)| taken_below(account, claimed));
    let cause = cause.map_or(String::new(), |cause| format!("; {cause}"));
    match percent.abs() {
        ..=1.0 => AS_CLAIMED.to_owned(),
        off if off <= moved / 2.0 => format!(
            "cannot tell: {percent:+.1} %{of_what}, while clocks moved by {moved:.1} % without any payload{cause}"
        ),
        _ => format!("differs: {percent:+.1} %{of_what}"),
    }
}

/// The lightest stream by active cores, against the limits of turbo.
fn limits(record: &Record) -> Vec<Claim> {
    let light = record.of_quantity("turbo", "clock").filter(|it| it.workload == "scalar_iadd");
    let mut sets = once(light.map(|it| it.active.as_str()));
    sets.sort_by_key(|it| numbers(it).len());
    let told = |active: &str| {
        let clock = over_threads(record, "clock", "scalar_iadd", active)?;
        Some((numbers(active).len(), promised_to(record, "scalar_iadd", active)?, clock))
    };
    let told = sets.iter().filter_map(|active| {
        let (count, promised, clock) = told(active)?;
        Some((count, promised, clock, *active))
    });
    let told: Vec<(usize, f64, f64, &str)> = told.collect();
    let (Some(first), Some(last)) = (told.first(), told.last()) else { return Vec::new() };
    let off = |it: &(usize, f64, f64, &str)| (it.2 / it.1 - 1.0) * 100.0;
    let worst = told.iter().max_by(|a, b| off(a).abs().total_cmp(&off(b).abs()));
    let worst = worst.expect("there is a first");
    let mut accounts = items(&record.clock()["accounts"]).iter();
    let account = accounts.find(|it| it["workload"] == "scalar_iadd" && it["active"] == *worst.3);
    let account = account.map(|it| (it, worst.1));
    let of_what = format!(" with {} active", worst.0);
    let verdict = of_clock(record, worst.3, account, off(worst), &of_what);
    let from_to = |a: f64, b: f64| format!("{} MHz", once([mhz(a), mhz(b)]).join(" to "));
    let by = record.value["machine"]["turbo_limits"][0]["source"].as_str().unwrap_or("firmware");
    vec![[
        format!("turbo, {} to {} cores", first.0, last.0),
        from_to(first.1, last.1),
        by.to_owned(),
        from_to(first.2, last.2),
        verdict,
    ]]
}

fn size(of: f64) -> String {
    bytes(of.trunc())
}

fn caches(record: &Record) -> Vec<Claim> {
    let sweep = sweep(record);
    let kernel = || "kernel".to_owned();
    let mut claims: Vec<Claim> = Vec::new();
    for level in sweep.iter().flat_map(|sweep| &sweep.levels) {
        let Whose::Cache(number, claimed) = level.whose else { continue };
        let measured = level.knee.as_ref().map_or("-".to_owned(), |knee| {
            let [at, low, high] = [knee.at, knee.interval[0], knee.interval[1]].map(size);
            format!("{at} ({low} - {high})")
        });
        let verdict = match level.ends() {
            Ends::AsClaimed => AS_CLAIMED.to_owned(),
            Ends::Elsewhere(at) => format!("differs: behaves like {}", size(at)),
            Ends::Vague(factor) => format!("cannot tell: {}", known_to(factor)),
            Ends::Unknown => "cannot tell: too little was measured around its end".to_owned(),
        };
        claims.push([format!("L{number}"), size(claimed as f64), kernel(), measured, verdict]);
    }
    claims.extend(sweep.iter().flat_map(unseen).map(|(number, claimed)| {
        let [measured, verdict] =
            ["no plateau of its own", "differs: latencies do not show it"].map(str::to_owned);
        [format!("L{number}"), size(claimed as f64), kernel(), measured, verdict]
    }));
    let why = match &sweep {
        Some(_) => "cannot tell: latencies were not measured up to its end",
        None => "cannot tell: no latencies were measured",
    };
    let of_first =
        || levels::claimed(record, numbers(text(&record.value["run"]["plan"]["cpus"]))[0]);
    let claimed = sweep.as_ref().map_or_else(of_first, |sweep| sweep.claims.clone());
    for (number, bytes) in claimed {
        let what = format!("L{number}");
        if claims.iter().all(|it| it[0] != what) {
            claims.push([what, size(bytes as f64), kernel(), "-".to_owned(), why.to_owned()]);
        }
    }
    claims.sort();
    claims
}

/// Latency from node to node, in seconds.
fn between(record: &Record, from: u64, to: u64) -> Option<f64> {
    let cells = cells(record, "numa");
    let is = |it: &&super::memory::Cell<'_>| {
        it.workload == "chase"
            && it.whole("from_node") == Some(from)
            && it.whole("to_node") == Some(to)
    };
    cells.iter().find(is)?.median("latency")
}

fn topology_nodes(record: &Record) -> &[Value] {
    items(&record.value["machine"]["topology"]["nodes"])
}

fn id(node: &Value) -> u64 {
    node["id"].as_u64().unwrap_or_default()
}

fn nodes(record: &Record) -> Vec<Claim> {
    let (mut claims, mut unmeasured) = (Vec::new(), Vec::new());
    for node in topology_nodes(record) {
        for to in topology_nodes(record).iter().filter(|to| id(to) != id(node)) {
            let Some(distance) = node["distances"][id(to).to_string()].as_f64() else { continue };
            let ends = between(record, id(node), id(node)).zip(between(record, id(node), id(to)));
            let Some((own, far)) = ends else {
                unmeasured.push(distance);
                continue;
            };
            let (claimed, ratio) = (distance / 10.0, far / own);
            let off = ratio / claimed - 1.0;
            let verdict = if off.abs() <= 0.25 {
                AS_CLAIMED.to_owned()
            } else {
                format!("differs: {:+.0} %", off * 100.0)
            };
            let [own, far] = [own, far].map(|it| three(it * 1e9));
            claims.push([
                format!("node {} to node {}", id(node), id(to)),
                format!("distance {distance}: {claimed:.2} times"),
                "firmware (SLIT)".to_owned(),
                format!("{far} ns for {own} ns: {ratio:.2} times"),
                verdict,
            ]);
        }
    }
    if let (Some(low), Some(high)) = (least(&unmeasured), greatest(&unmeasured)) {
        let claimed = if low.total_cmp(&high).is_eq() {
            format!("distance {low}")
        } else {
            format!("distances {low} to {high}")
        };
        let why = "cannot tell: latencies from node to node were not measured";
        let what = plural(unmeasured.len(), "way") + " between nodes";
        let [by, dash, why] = ["firmware (SLIT)", "-", why].map(str::to_owned);
        claims.push([what, claimed, by, dash, why]);
    }
    claims
}

/// Pairs of one relation are as far from each other as those of another.
fn pairs(record: &Record) -> Vec<Claim> {
    let of = |(relation, claimed): &(&str, &str)| {
        let all = record.of_quantity("cores", "latency").filter(|it| it.workload == "cas");
        let all = all.filter(|it| it.parameter("between") == Some(relation));
        let all: Vec<f64> = all.filter_map(super::record::Series::median).collect();
        let (low, high) = (least(&all)?, greatest(&all)?);
        let verdict = if high <= low * 1.6 {
            AS_CLAIMED
        } else {
            "differs: not all alike: the map shows who is near whom"
        };
        let [low, high] = [low, high].map(|it| format!("{:.1}", it * 1e9));
        (all.len() >= 3).then(|| {
            let what = format!("{} pairs of cores", all.len());
            let measured = format!("{low} to {high} ns");
            [what, (*claimed).to_owned(), "kernel".to_owned(), measured, verdict.to_owned()]
        })
    };
    let relations = [
        ("same-cache", "share a last-level cache"),
        ("other-cache", "share a package, and no cache"),
        ("other-package", "lie in two packages"),
    ];
    relations.iter().filter_map(of).collect()
}

/// How much longer wake-ups take that ended a state than the lightest sleep.
fn states(record: &Record) -> Vec<Claim> {
    let all = || record.of_quantity("wake", "round_trip").filter(|it| it.has());
    let place = |name: &str| -> Option<u64> {
        let mut of_state = all().filter(|it| it.parameter("state_name") == Some(name));
        of_state.find_map(|it| it.parameter("state")?.parse().ok())
    };
    let mut states = waiting::states(record);
    states.sort_by_key(|(name, ..)| (place(name), *name));
    let of = |&(name, _, beyond): &(&str, f64, f64)| {
        let said = waiting::exit_latency(record, name)?;
        let off = beyond - said;
        let verdict = if beyond <= 0.0 {
            "cannot tell: it is the lightest sleep that was seen".to_owned()
        } else if off.abs() <= (0.5 * said).max(2e-6) {
            AS_CLAIMED.to_owned()
        } else {
            format!(
                "differs: {} us {}",
                micro(off.abs()),
                if off > 0.0 { "longer" } else { "shorter" }
            )
        };
        let measured = format!("{} us beyond lightest sleep", micro(beyond));
        let claimed = format!("{} us", micro(said));
        Some([
            format!("exit from {name}"),
            claimed,
            "kernel (cpuidle)".to_owned(),
            measured,
            verdict,
        ])
    };
    states.iter().filter_map(of).collect()
}

/// The first pair of each relation and class of placement.
fn sharing(record: &Record) -> Vec<Claim> {
    let cpus = items(&record.value["machine"]["topology"]["cpus"]);
    let of = |cpu: u64| cpus.iter().find(|it| it["cpu"] == cpu);
    let of_cache =
        |cpu: &serde_json::Value| cpu["last_level_cache"].as_str().unwrap_or_default().to_owned();
    let relation = |a: u64, b: u64| {
        let (a, b) = (of(a)?, of(b)?);
        let same = |key: &str| a[key] == b[key];
        Some(match () {
            () if same("package") && same("core") && same("die") => 0,
            // Where nobody says who shares a cache, nothing is claimed.
            () if same("package") && of_cache(a).is_empty() => return None,
            () if same("last_level_cache") => 1,
            () if same("package") => 2,
            () => 3,
        })
    };
    let mut seen: Vec<(usize, &str, [u64; 2])> = Vec::new();
    for series in &record.series {
        let (&[a, b], Some(class)) = (series.cpus.as_slice(), &series.class) else { continue };
        let Some(relation) = relation(a, b) else { continue };
        // Nobody knows how they lay.
        if class == "changed" {
            continue;
        }
        if !seen.iter().any(|it| (it.0, it.1) == (relation, class.as_str())) {
            seen.push((relation, class, [a, b]));
        }
    }
    seen.sort_unstable();
    let claimed = [
        "threads of one core",
        "cores of one cache",
        "cores of two caches",
        "cores of two packages",
    ];
    let claim = |(relation, class, [a, b]): &(usize, &str, [u64; 2])| {
        let verdict = match (*relation, class.contains("same-core")) {
            (0, false) => "differs: they do not share a core",
            (1..=3, true) => "differs: two threads of one core",
            (1, false) if class.contains("apart") => "differs: not always near each other",
            (2 | 3, false) if *class == "same-cache" => "differs: as near as within one cache",
            _ => AS_CLAIMED,
        };
        let [claimed, by, verdict] = [claimed[*relation], "kernel", verdict].map(str::to_owned);
        [format!("CPUs {a} and {b}"), claimed, by, format!("{class}, as probed"), verdict]
    };
    seen.iter().map(claim).collect()
}

/// Rows are nodes with CPUs, columns all nodes; where there are several.
fn node_map(
    record: &Record,
    caption: &str,
    value: &dyn Fn(&Value, &Value) -> Option<String>,
) -> Vec<Table> {
    let nodes = topology_nodes(record);
    if nodes.len() < 2 || cells(record, "numa").is_empty() {
        return Vec::new();
    }
    let row = |from: &Value| {
        let cell = |to: &Value| value(from, to).unwrap_or_else(|| "-".to_owned());
        std::iter::once(id(from).to_string()).chain(nodes.iter().map(cell)).collect()
    };
    let names: Vec<String> = nodes.iter().map(|it| id(it).to_string()).collect();
    let columns: Vec<&str> =
        std::iter::once("from node").chain(names.iter().map(String::as_str)).collect();
    let with_cpus = nodes.iter().filter(|it| !text(&it["cpus"]).is_empty());
    vec![table(caption, &columns, with_cpus.map(row).collect())]
}

fn latencies(record: &Record) -> Vec<Table> {
    let caption = "latency of one access, ns (lower is better) (columns: memory of node)";
    node_map(record, caption, &|from, to| {
        between(record, id(from), id(to)).map(|it| three(it * 1e9))
    })
}

fn distances(record: &Record) -> Vec<Table> {
    let caption =
        "distances as the firmware states them (10 is the node itself) (columns: memory of node)";
    let known = topology_nodes(record).iter().any(|it| it["distances"].is_object());
    let of = |from: &Value, to: &Value| {
        Some(from["distances"][id(to).to_string()].as_u64()?.to_string())
    };
    if known { node_map(record, caption, &of) } else { Vec::new() }
}
