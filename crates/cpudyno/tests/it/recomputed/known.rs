//! What others found, and what theory allows, by the tables that are a part of the sources.

use super::check::{Rule, table};
use super::levels::{Whose, sweep};
use super::memory::{copies, name};
use super::page::Table;
use super::record::{Record, items, text};
use super::stats::{change, least, median, mhz, once, plural};
use super::turbo::middle;

const AREA: &str = "normal";
const SECTION: &str = "Is this normal?";

pub(crate) static RULES: &[Rule] = &[
    Rule::Lines { area: "pause", section: "Pause", template: "known: {}", want: citations },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "beside what theory allows, and what others found on such a core",
        want: bands,
    },
    Rule::Lines { area: AREA, section: SECTION, template: "{} expected: {}", want: sources },
    Rule::Lines { area: AREA, section: SECTION, template: "{}, outside: {}", want: outside },
    Rule::Lines { area: AREA, section: SECTION, template: "{}, cannot tell: {}", want: untold },
];

/// A figure that a table has, and who says so.
struct Figure {
    value: f64,
    source: String,
    citation: String,
}

fn read(name: &str) -> String {
    let file = format!("{}/../../data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The value of a key of a table of TOML, without its quotation marks.
fn value(lines: &str, key: &str) -> Option<String> {
    let mut lines = lines.lines();
    let found = lines.find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix("= "))?;
    Some(found.trim().trim_matches('"').to_owned())
}

fn fact<'a>(record: &'a Record, id: &str) -> &'a str {
    record.fact(id).map_or("", |fact| text(&fact["value"]))
}

/// What the table has for a planned workload on this microarchitecture, under that key.
fn figures(record: &Record, workload: &str) -> Vec<Figure> {
    let planned = record.planned(workload);
    let key = match text(&planned["kind"]) {
        "latency" => "latency = ",
        "throughput" | "spin" => "reciprocal = ",
        _ => return Vec::new(),
    };
    let mnemonic = format!("mnemonic = \"{}\",", text(&planned["mnemonic"]));
    let bits = planned["width_bits"].as_u64().map(|bits| format!("bits = {bits},"));
    let is_it = |line: &str| {
        let of_bits = bits.as_ref().map_or(!line.contains("bits ="), |bits| line.contains(bits));
        line.contains(&mnemonic) && of_bits
    };
    figures_of(record, "instruction-latency.toml", is_it, key)
}

/// What such a table has for this microarchitecture in those lines, under that key.
fn figures_of(
    record: &Record,
    table: &str,
    is_it: impl Fn(&str) -> bool,
    key: &str,
) -> Vec<Figure> {
    let core = format!("\"{}\"", fact(record, "cpu.microarchitecture"));
    let all = read(table);
    let mut found = Vec::new();
    for set in all.split("[[set]]").skip(1) {
        if !value(set, "of").is_some_and(|of| of.contains(&core)) {
            continue;
        }
        let quoted = |key: &str| value(set, key).unwrap_or_default();
        let how = match quoted("method").as_str() {
            "measured" => "measured",
            "model" => "a model, not measured",
            _ => "a database",
        };
        let more = ["cpu", "remark"].into_iter().filter_map(|key| value(set, key));
        let more: Vec<String> = more.map(|it| format!(", {it}")).collect();
        let [source, version, place] = ["source", "version", "place"].map(quoted);
        let citation = format!("{source} {version}, {place}: {how}{}", more.concat());
        for line in set.lines().filter(|line| is_it(line)) {
            let Some((_, rest)) = line.split_once(key) else { continue };
            let end = rest.find([' ', ',', '}']).unwrap_or(rest.len());
            let value = rest[..end].parse().expect("a number");
            found.push(Figure { value, source: source.clone(), citation: citation.clone() });
        }
    }
    found
}

fn words(figures: &[Figure]) -> String {
    let known = once(figures.iter().map(|it| it.value.to_string()));
    if known.is_empty() { "-".to_owned() } else { known.join(" / ") }
}

fn who(figures: &[Figure]) -> String {
    once(figures.iter().map(|it| it.source.as_str())).join(", ")
}

/// The known cycles of a pause.
pub(crate) fn pause(record: &Record) -> String {
    words(&figures(record, "pause_only"))
}

fn citations(record: &Record) -> Vec<String> {
    let is_there = record.of_quantity("pause", "time_per_op").any(super::record::Series::has);
    let all = figures(record, "pause_only");
    let lines = once(all.iter().map(|it| format!("known: {}", it.citation)));
    if is_there { lines } else { Vec::new() }
}

/// A row of the table, and the line below it that says where its expectation is from.
type Band = ([String; 5], String);

fn all(record: &Record) -> Vec<Band> {
    let turbo = peak(record).into_iter().chain(instructions(record));
    turbo.chain(latencies(record)).chain(copy(record)).chain(pauses(record)).collect()
}

fn bands(record: &Record) -> Vec<Table> {
    let row = |([what, expected, measured, position, verdict], _): Band| {
        let verdict = verdict.split(": ").next().unwrap_or_default().to_owned();
        vec![what, verdict, expected, measured, position]
    };
    let rows: Vec<Vec<String>> = all(record).into_iter().map(row).collect();
    let columns = ["what", "verdict", "expected", "measured", "position"];
    let caption = "beside what theory allows, and what others found on such a core";
    if rows.is_empty() { Vec::new() } else { vec![table(caption, &columns, rows)] }
}

/// Why verdicts of that kind are so.
fn notes(record: &Record, kind: &str) -> Vec<String> {
    let of = |([what, _, _, _, verdict], _): &Band| {
        verdict.starts_with(&format!("{kind}: ")).then(|| format!("{what}, {verdict}"))
    };
    all(record).iter().filter_map(of).collect()
}

/// What findings say of numbers outside of their bands.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let is_outside = |([_, _, _, _, verdict], _): &&Band| verdict.starts_with("outside");
    let said = |([_, expected, measured, position, _], _): &Band| {
        format!("{measured} measured, {expected} expected ({position})")
    };
    all(record).iter().filter(is_outside).map(said).collect()
}

/// What the finding on cycles per op says of all streams together.
pub(crate) fn differing(record: &Record) -> Vec<String> {
    let is_outside = |([_, _, _, _, verdict], _): &&Band| verdict.starts_with("outside");
    let said = |([what, expected, measured, _, _], source): &Band| {
        let [expected, measured] = [expected, measured].map(|it| it.replace(" cycles", ""));
        let by = source.rsplit_once("expected: ").map_or("", |it| it.1);
        format!("{what} {measured} (known: {expected}, by {by})")
    };
    let all = instructions(record);
    let streams: Vec<String> = all.iter().filter(is_outside).map(said).collect();
    vec![format!(
        "with one core active, core cycles per op are not as others found them on this microarchitecture: {}",
        streams.join("; ")
    )]
}

fn outside(record: &Record) -> Vec<String> {
    notes(record, "outside")
}

fn untold(record: &Record) -> Vec<String> {
    notes(record, "cannot tell")
}

fn sources(record: &Record) -> Vec<String> {
    once(all(record).into_iter().map(|band| band.1))
}

/// Clock x width x units x 2, of all cores together.
fn peak(record: &Record) -> Option<Band> {
    let most = *super::turbo::counts(record).last()?;
    let widest = ["avx512_fma_t", "avx256_fma_t", "avx128_fma_t"];
    let time = |id: &str| middle(record, "time_per_op", id, most);
    let (stream, time) = widest.into_iter().find_map(|id| Some((id, time(id)?)))?;
    let bits = record.planned(stream)["width_bits"].as_f64()?;
    let clock = middle(record, "clock", stream, most)?;
    let known = figures(record, stream);
    let units = 1.0 / least(&known.iter().map(|it| it.value).collect::<Vec<_>>())?;
    let (cores, flops) = (most as f64, bits / 64.0 * 2.0);
    let (expected, measured) = (cores * clock * flops * units, cores * flops / time);
    let share = measured / expected;
    let verdict = if share < 0.95 {
        "outside: units are shared with another thread, or time was taken away"
    } else if share > 1.05 {
        "outside: more units than are known of this core"
    } else {
        "normal"
    };
    let units = if units < 1.5 { "1 unit".to_owned() } else { format!("{units:.0} units") };
    let source = format!(
        "GFLOP/s expected: {most} cores x {} MHz x {bits} bit x {units} x 2 ({})",
        mhz(clock),
        who(&known)
    );
    let giga = |it: f64| format!("{:.1} GFLOP/s", it / 1e9);
    let position = format!("{:.1} % of it", share * 100.0);
    let what = format!("{stream} on {most} cores");
    Some(([what, giga(expected), giga(measured), position, verdict.to_owned()], source))
}

/// Cycles per op of one core, beside the nearest figure.
fn instructions(record: &Record) -> Vec<Band> {
    let streams = once(record.of_quantity("turbo", "cycles_per_op").map(|it| it.workload.as_str()));
    let of = |stream: &&str| {
        let cell = super::turbo::cell(record, "cycles_per_op", stream, 1);
        let medians: Vec<f64> = cell.iter().filter_map(|it| it.median()).collect();
        let measured = median(&medians).filter(|it| *it > 0.0)?;
        let uncertainty = cell.iter().filter_map(|it| it.uncertainty()).fold(0.0, f64::max);
        beside_known(record, stream, measured, uncertainty)
    };
    streams.iter().filter_map(of).collect()
}

/// A stream's cycles beside the nearest figure.
fn beside_known(record: &Record, stream: &str, measured: f64, uncertainty: f64) -> Option<Band> {
    let known = figures(record, stream);
    let off = |it: &Figure| (measured / it.value - 1.0).abs();
    let nearest = known.iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let kind = text(&record.planned(stream)["kind"]);
    let tolerance = if kind == "latency" { 0.02 } else { 0.05 };
    let [low, high] = [1.0 - uncertainty, 1.0 + uncertainty].map(|end| end * measured);
    let is_reached =
        |it: &&Figure| low <= it.value * (1.0 + tolerance) && high >= it.value * (1.0 - tolerance);
    let verdict = if off(nearest) <= tolerance {
        "normal".to_owned()
    } else if kind == "spin" {
        "cannot tell: it differs between CPUs and guests of one core".to_owned()
    } else if known.iter().find(is_reached).is_some() {
        format!("cannot tell: it is known to {:.1} % only", uncertainty * 100.0)
    } else {
        "outside: another core than it says, or shared units".to_owned()
    };
    let row = [
        stream.to_owned(),
        format!("{} cycles", words(&known)),
        format!("{measured:.3} cycles"),
        format!("{} %", change(measured / nearest.value)),
        verdict,
    ];
    Some((row, format!("cycles expected: {}", who(&known))))
}

/// A pause on all CPUs, each alone.
fn pauses(record: &Record) -> Vec<Band> {
    let all = || record.of_quantity("pause", "cycles_per_op");
    let of = |stream: &&str| {
        let same = all().filter(|it| it.workload == *stream);
        let medians: Vec<f64> = same.filter_map(super::record::Series::median).collect();
        beside_known(record, stream, median(&medians)?, 0.0)
    };
    once(all().map(|it| it.workload.as_str())).iter().filter_map(of).collect()
}

/// Latencies of the levels of a sweep, in both units.
fn latencies(record: &Record) -> Vec<Band> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let guest = fact(record, "platform.virtualisation");
    let guest = !guest.is_empty() && !guest.starts_with("none");
    let placed = items(&record.value["run"]["plan"]["memory"]);
    let small = placed.iter().filter(|it| it["content"] == "ring").any(|it| {
        let share = it["as_asked"].as_f64();
        if it["pages"] == "4k" { share.unwrap_or(1.0) > 0.1 } else { share.unwrap_or(1.0) < 0.9 }
    });
    let mut bands = Vec::new();
    for level in &sweep.levels {
        let level_name = name(level.whose);
        let (tolerance, high) = match level_name.as_str() {
            "L1" => (0.1, "outside: another core than it says"),
            "L2" if small => (0.2, "outside: small pages, or a busy sibling"),
            "L2" => (0.2, "outside: a busy sibling"),
            "L3" | "memory" if guest => (
                0.4,
                "cannot tell: a guest shares it with its neighbours, and its addresses are translated twice",
            ),
            "L3" => (0.4, "outside: a low clock of the uncore, or busy neighbours"),
            "memory" if !small => {
                (0.4, "outside: slow or far memory, or a low clock of the uncore")
            }
            "memory" => {
                (0.4, "outside: slow or far memory, small pages, or a low clock of the uncore")
            }
            _ => continue,
        };
        let high = match level.whose {
            Whose::Cache(_, claimed) if level.sizes[0] > claimed / 2 => {
                "cannot tell: nothing smaller than half of it was measured, and the next level may add to it"
            }
            _ => high,
        };
        let line = format!("level = \"{level_name}\",");
        let cycles = sweep.over(level, "chase", "latency_cycles");
        for (unit, measured) in [("cycles", cycles), ("ns", Some(sweep.seconds(level) * 1e9))] {
            let is_it = |it: &str| it.contains(&line);
            let known = figures_of(record, "memory-latency.toml", is_it, &format!("{unit} = "));
            let Some(measured) = measured else { continue };
            let off = |it: &&Figure| (measured / it.value - 1.0).abs();
            let Some(nearest) = known.iter().min_by(|a, b| off(a).total_cmp(&off(b))) else {
                continue;
            };
            let greatest = known.iter().map(|it| it.value).fold(0.0, f64::max);
            let lowest = known.iter().map(|it| it.value).fold(f64::INFINITY, f64::min);
            let verdict = if measured > greatest * (1.0 + tolerance) {
                high
            } else if measured >= lowest * (1.0 - tolerance) {
                "normal"
            } else if tolerance > 0.3 {
                "cannot tell: faster than others found it: models of one core differ"
            } else {
                "outside: another core than it says, or another clock than its own"
            };
            let what = format!("latency of {level_name}");
            let cited = once(known.iter().map(|it| it.citation.as_str())).join("; ");
            let source = format!("{what} expected: {cited}");
            let row = [
                what,
                format!("{} {unit}", words(&known)),
                format!("{measured:.1} {unit}"),
                format!("{} %", change(measured / nearest.value)),
                verdict.to_owned(),
            ];
            bands.push((row, source));
        }
    }
    bands
}

/// Copies of all cores, of channels x rate x 8 bytes.
fn copy(record: &Record) -> Option<Band> {
    let all = read("memory-peak.toml");
    let core = format!("\"{}\"", fact(record, "cpu.microarchitecture"));
    let is_it = |peak: &&str| {
        let brand = value(peak, "brand");
        value(peak, "of").is_some_and(|of| of.contains(&core))
            && brand.is_some_and(|brand| fact(record, "cpu.brand").contains(&brand))
    };
    let peak = all.split("[[peak]]").skip(1).find(is_it)?;
    let whole = |key: &str| value(peak, key)?.parse::<f64>().ok();
    let (channels, transfers) = (whole("channels")?, whole("transfers")?);
    let (cpus, moved) = copies(record)?;
    let packages = once(cpus.iter().filter_map(|cpu| Some(record.place(*cpu)?.0))).len();
    let expected = channels * transfers * 1e6 * 8.0 * packages as f64;
    let share = moved / expected;
    let guest = fact(record, "platform.virtualisation");
    let cores = plural(cpus.len(), "core");
    let verdict = if share > 1.0 {
        "outside: more than memory can give: caches took part".to_owned()
    } else if share >= 0.6 {
        "normal".to_owned()
    } else if !guest.is_empty() && !guest.starts_with("none") {
        "cannot tell: a guest has a part of its host's memory channels".to_owned()
    } else if cpus.len() < 8 * packages {
        format!("cannot tell: {cores} cannot draw more")
    } else {
        "outside: are all channels populated, at full rate?".to_owned()
    };
    let giga = |it: f64| format!("{:.2} GB/s", it / 1e9);
    let position = format!("{:.1} % of it", share * 100.0);
    let row = [format!("copy on {cores}"), giga(expected), giga(moved), position, verdict];
    let remark = value(peak, "remark").map_or(String::new(), |it| format!("; {it}"));
    let packages = plural(packages, "package");
    let source = format!(
        "GB/s expected: {packages} x {channels} channels x {transfers} million transfers a second x 8 bytes, \
         by the maker{remark}"
    );
    Some((row, source))
}
