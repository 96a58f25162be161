//! What a machine can do, in brief.

use model::Known;
use model::page::{Block, Table, Text, Tone};
use model::record::{
    FeatureState, PerformanceLevel, PerformanceProfiles, PowerDomain, PowerDomainKind, SpeedSelect,
    SpeedSelectDriver,
};

use super::levels::standing;
use super::parts::{DomainGroup, PageBuilder, groups, list};

/// `sst info`.
pub(super) fn blocks(told: &mut PageBuilder<'_>) -> Vec<Block> {
    let run = told.run;
    let mut blocks = vec![Block::Box(platform(run))];
    for group in groups(run) {
        let rows = features(told, &group);
        blocks
            .push(Table::of(group.name).label("feature").left("is").left("does").rows(rows).into());
    }
    blocks
}

fn platform(run: &SpeedSelect) -> Vec<(String, Text)> {
    let mut lines: Vec<(String, Text)> = Vec::new();
    let mut line = |label: &str, text: String| lines.push((label.to_owned(), text.into()));
    line("Driver", driver(run.driver));
    if let Some(it) = run.processor {
        let (family, model) = (it.family, it.model);
        line(
            "CPU",
            format!("family {family}, model {model} ({model:x}h), stepping {}", it.stepping),
        );
    }
    let packages: Vec<u32> = run.domains.iter().map(|domain| domain.package).collect();
    let io = |domain: &&PowerDomain| domain.kind == PowerDomainKind::Io;
    let io = run.domains.iter().filter(io).count();
    let io = if io == 0 { String::new() } else { format!(", {io} of them for I/O") };
    let domains = run.domains.len();
    line("Power domains", format!("{domains}{io}, in packages {}", list(packages)));
    lines
}

/// Who answered.
fn driver(driver: Option<SpeedSelectDriver>) -> String {
    let Some(driver) = driver else {
        return "none: frequencies of two kinds are chosen in the firmware's setup".to_owned();
    };
    // Each driver has a version.
    if driver.version == 0 {
        return "none: registers of power domains (TPMI) were recorded".to_owned();
    }
    let parts = [(driver.mailbox, "mailbox"), (driver.mmio, "registers in memory")];
    let parts: Vec<&str> = parts.iter().filter(|(is, _)| *is).map(|(_, part)| *part).collect();
    let by = if parts.is_empty() { "power domains (TPMI)".to_owned() } else { parts.join(" and ") };
    format!("interface {}, version {}, by {by}", driver.interface, driver.version)
}

/// What firmware offers, and what of it is on.
fn features<'a>(told: &mut PageBuilder<'a>, group: &DomainGroup<'a>) -> Vec<Vec<Text>> {
    let mut rows = Vec::new();
    let mut row = |name: &str, is: Text, does: &str| {
        rows.push(vec![Text::toned(name, Tone::Strong), is, Text::toned(does, Tone::Faint)]);
    };
    if let Some(profiles) = group.profiles(told) {
        let standing = standing(profiles);
        let text = standing.text.trim_end_matches('.').replacen("Level", "level", 1);
        row("perf-profile", Text { text, ..standing }, "fewer cores at a higher base");
        for level in &profiles.levels {
            if let Known::No { unavailable } = &level.base_freq_state {
                told.lacking(unavailable, format!("features of level {}", level.number));
            }
        }
        if let Some(Known::No { unavailable }) = &profiles.locked_by_register {
            told.lacking(unavailable, "lock of levels".to_owned());
        }
        let base = support(profiles, |level| &level.base_freq_state);
        row("base-freq", base, "a higher base for some, a lower one for others");
        let turbo = support(profiles, |level| &level.turbo_freq_state);
        row("turbo-freq", turbo, "a higher turbo for few, others are clipped");
    }
    if let Some(of) = &group.first().core_power {
        for reading in [&of.supported, &of.enabled, &of.classes_enabled] {
            if let Known::No { unavailable } = reading {
                told.lacking(unavailable, format!("core-power of {}", group.name));
            }
        }
        let priority = of.priority.value().map_or("", String::as_str);
        let is = match (of.supported.value(), of.enabled.value(), of.classes_enabled.value()) {
            (Some(false), ..) => Text::toned("not supported", Tone::Faint),
            (None, ..) => Text::toned("not told", Tone::Faint),
            (_, Some(true), Some(true)) => Text::toned(format!("on, {priority}"), Tone::Strong),
            (_, Some(false), Some(false)) => "off".into(),
            _ => Text::toned("half on: its two switches disagree", Tone::Warning),
        };
        row("core-power", is, "who is throttled last");
    }
    rows
}

/// At which levels a feature is there, and whether it is on.
fn support(
    profiles: &PerformanceProfiles,
    state: impl Fn(&PerformanceLevel) -> &Known<FeatureState>,
) -> Text {
    let has = |level: &&PerformanceLevel| {
        state(level).value().is_some_and(|state| *state != FeatureState::Unsupported)
    };
    let with: Vec<u32> =
        profiles.levels.iter().filter(has).map(|level| level.number.into()).collect();
    if with.is_empty() {
        let is_told = profiles.levels.iter().all(|level| state(level).value().is_some());
        let word = if is_told { "not supported" } else { "not told" };
        return Text::toned(word, Tone::Faint);
    }
    let on =
        profiles.levels.iter().any(|level| state(level).value() == Some(&FeatureState::Enabled));
    let word = if on { "on" } else { "off" };
    let s = if with.len() == 1 { "" } else { "s" };
    let tone = if on { Tone::Strong } else { Tone::Plain };
    Text::toned(format!("{word}; at level{s} {}", list(with)), tone)
}
