//! The account of the clock as people read it: one column for each cell, one line for each step, and what
//! says so below.

use model::page::{Align, Bar, Bars, Block, Table, Text, Tone};
use model::record::{
    AccountStep, ClockAccount, ClockRecord, LimitReason, LimitSwitch, PowerLimit, Record,
};
use model::record::{BOOST, THERMAL_THROTTLES};

use model::{Known, in_order};

use super::clock_account::SAME;
use super::read::{grown, mhz, rows};
use model::areas::turbo::promise::BY_GOVERNOR;

/// The table of all accounts, with the way down of each as bars; where no stream has a clock the reason, and nothing where none was asked.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let heading = || Block::Heading("Why not faster?".to_owned());
    let Some(clock) = record.clock.as_ref() else { return Vec::new() };
    if clock.accounts.is_empty() {
        let reason = rows(record).iter().find_map(|row| Some(row.reason("clock")?.why.clone()));
        let text = reason.map(|why| format!("unavailable: no stream has a clock here; {why}"));
        let text = text.map(|text| Block::Paragraph(Text::toned(text, Tone::Warning)));
        return text.map_or(Vec::new(), |text| vec![heading(), text]);
    }
    let mut blocks = vec![heading(), table(record, clock)];
    blocks.extend(shown(clock).iter().filter_map(bars));
    blocks.extend(evidence(record, clock));
    blocks
}

/// A loss with its sign; what was gained has the other one.
fn loss(hertz: f64) -> String {
    let lost = -(hertz / 1e6).round();
    if lost == 0.0 { "0".to_owned() } else { format!("{lost:+.0}") }
}

fn cell_name(account: &ClockAccount) -> String {
    let count = account.active.len();
    let kind = account.core_type.as_ref().map_or(String::new(), |kind| format!(" {kind}"));
    let plural = if count == 1 { "" } else { "s" };
    let own = account.own.as_ref().map_or(String::new(), |own| format!("{} of ", own.len()));
    let moment = account.moment.as_ref().map_or(String::new(), |moment| format!(", {moment}"));
    format!("{} on {own}{count}{kind} core{plural}{moment}", account.workload)
}

/// The steps of all accounts before the clock or after it, each label once, in the order in which limits apply.
fn labels(accounts: &[ClockAccount], after: bool) -> Vec<&str> {
    const ORDER: [&str; 10] = [
        "boost",
        "core",
        "kernel",
        "governor",
        "hwp",
        "active-cores",
        "sst",
        "licence",
        "heavier",
        "neighbours",
    ];
    let steps = accounts.iter().flat_map(|account| &account.steps);
    let mut steps: Vec<&AccountStep> = steps.filter(|step| is_after(&step.id) == after).collect();
    let rank = |id: &str| ORDER.iter().position(|known| *known == id).unwrap_or(ORDER.len());
    steps.sort_by_key(|step| rank(&step.id));
    in_order(steps.into_iter().map(|step| step.label.as_str()))
}

/// Whether a step takes time rather than clock.
fn is_after(id: &str) -> bool {
    ["halted", "steal", "taken", "quota"].contains(&id)
}

/// Of more accounts than this a page shows the first.
const SHOWN_MAX: usize = 16;

fn shown(clock: &ClockRecord) -> &[ClockAccount] {
    clock.accounts.get(..SHOWN_MAX).unwrap_or(&clock.accounts)
}

fn table(record: &Record, clock: &ClockRecord) -> Block {
    let accounts = shown(clock);
    let dash = || Text::toned("-", Tone::Faint);
    let line = |label: &str, tone: Tone, cell: &dyn Fn(&ClockAccount) -> Option<String>| {
        let cells = accounts
            .iter()
            .map(|account| cell(account).map_or_else(dash, |text| Text::toned(text, tone)));
        std::iter::once(Text::toned(label, tone)).chain(cells).collect::<Vec<Text>>()
    };
    let step = |label: &str| {
        let of = |account: &ClockAccount| {
            let steps = account.steps.iter().filter(|step| step.label == label);
            steps.map(|step| step.hertz).reduce(|a, b| a + b).map(loss)
        };
        line(label, Tone::Plain, &of)
    };
    let advertised = |it: &ClockAccount| Some(mhz(it.advertised.value()?.hertz));
    let mut rows = vec![line("advertised", Tone::Strong, &advertised)];
    rows.extend(labels(accounts, false).into_iter().map(step));
    rows.push(line("unexplained", Tone::Warning, &|it| it.unexplained.map(loss)));
    rows.push(line("clock", Tone::Strong, &|it| Some(mhz(it.clock))));
    rows.extend(labels(accounts, true).into_iter().map(step));
    rows.push(line("delivered", Tone::Strong, &|it| Some(mhz(it.delivered))));
    Table::of("Advertised clock to delivered clock, MHz")
        .left("MHz")
        .columns(accounts.iter().map(|account| (cell_name(account), Align::Right)))
        .rows(rows)
        .legend(legend(record, clock))
        .notes(sources(clock))
        .into()
}

/// Whose clock is advertised.
fn sources(clock: &ClockRecord) -> Vec<String> {
    let known = clock.accounts.iter().filter_map(|account| account.advertised.value());
    in_order(known.map(|advertised| format!("advertised: {}", advertised.source)))
}

/// Why no clock is advertised.
fn unknown(account: &ClockAccount) -> Option<String> {
    let Known::No { unavailable } = &account.advertised else { return None };
    let remedy = unavailable.remedy.as_ref().map_or(String::new(), |it| format!("; {it}"));
    Some(format!("advertised: unknown, {}{remedy}", unavailable.why))
}

/// What is left out, and which limits stand, whether or not they held.
fn legend(record: &Record, clock: &ClockRecord) -> Vec<String> {
    let mut legend = in_order(clock.accounts.iter().filter_map(unknown));
    let more = clock.accounts.len() - shown(clock).len();
    if more > 0 {
        legend.push(format!("{more} more accounts are in the record"));
    }
    let power = in_order(clock.power.iter().map(PowerLimit::said));
    if !power.is_empty() {
        legend.push(format!("power limits: {}", power.join("; ")));
    }
    if record.run.simulated.is_none() && clock.accounts.iter().all(|it| it.unexplained.is_none()) {
        legend.push(
            "Advertised clock unknown: only losses below the measured clock are shown".to_owned(),
        );
    }
    legend
}

/// The way down as bars: the clocks from zero, and what each step takes between what was left before and after it.
fn bars(account: &ClockAccount) -> Option<Block> {
    let mut left = account.advertised.value()?.hertz;
    let bar = |label: &str, ends: [f64; 2], text: String| {
        let [from, value] = ends.map(|hertz| hertz / 1e6);
        Bar { label: label.to_owned(), from, value, text }
    };
    let whole = |label: &str, hertz: f64| bar(label, [0.0, hertz], format!("{} MHz", mhz(hertz)));
    let mut bars = vec![whole("advertised", left)];
    let mut take = |label: &str, hertz: f64| {
        let before = left;
        left -= hertz;
        bar(label, [before, left], format!("{} MHz", loss(hertz)))
    };
    let (after, before): (Vec<_>, Vec<_>) =
        account.steps.iter().partition(|step| is_after(&step.id));
    bars.extend(before.iter().map(|step| take(&step.label, step.hertz)));
    bars.extend(account.unexplained.map(|rest| take("unexplained", rest)));
    bars.push(whole("clock", account.clock));
    bars.extend(after.iter().map(|step| take(&step.label, step.hertz)));
    bars.push(whole("delivered", account.delivered));
    let caption = format!("Steps from the advertised clock, {}, MHz", cell_name(account));
    Some(Block::Bars(Bars { caption, bars }))
}

/// What is set that may cost clock and states none: governor and preferences, where they are not those for
/// performance. A governor that chooses a clock has a step.
fn settings(record: &Record, clock: &ClockRecord) -> Option<Text> {
    const SETTINGS: [(&str, &str); 3] = [
        (BY_GOVERNOR, "cpufreq.governor"),
        ("preference ", "cpufreq.epp"),
        ("energy bias ", "cpufreq.epb"),
    ];
    /// The kernel's word for each of them, and its number where it has one.
    const PERFORMANCE: [&str; 2] = ["performance", "0"];
    if clock.accounts.iter().all(|it| it.unexplained.is_none()) {
        return None;
    }
    let has_step = |word: &str| clock.allowed.iter().any(|it| it.source.starts_with(word));
    let set = |(word, id): &(&str, &str)| {
        let value = record.text(id)?;
        let is_silent = !PERFORMANCE.contains(&value) && !has_step(word);
        is_silent.then(|| format!("{word}{value}"))
    };
    let set: Vec<String> = SETTINGS.iter().filter_map(set).collect();
    let is_left = |it: &ClockAccount| it.unexplained.is_some_and(|rest| rest > SAME * it.clock);
    let is_open = clock.accounts.iter().any(is_left);
    let rest = if is_open { ", and may be part of what is unexplained" } else { "" };
    let verb = if set.len() == 1 { "it states" } else { "they state" };
    (!set.is_empty()).then(|| format!("{}: {verb} no clock{rest}", set.join(", ")).into())
}

/// What says so: each step's evidence once, and what could not be asked.
fn evidence(record: &Record, clock: &ClockRecord) -> Vec<Block> {
    let mut lines: Vec<Text> = of_steps(shown(clock)).into_iter().map(Text::from).collect();
    let warnings = not_obeyed(&clock.accounts).into_iter().chain(boost_unstated(record, clock));
    lines.extend(warnings.map(|text| Text::toned(text, Tone::Warning)));
    lines.extend(settings(record, clock));
    lines.extend(idle_reasons(clock));
    let held =
        |label: &str| clock.reasons.iter().any(|reason| reason.label == label && reason.held());
    let causes_of = |reason: &&LimitReason| reason.is_cause() && !held(&reason.label);
    let old = clock.reasons.iter().filter(causes_of);
    let old = in_order(old.map(|reason| format!("{} ({})", reason.label, reason.source)));
    if !old.is_empty() {
        let text = format!(
            "logged before the run, so that nothing tells whether it happened again: {}",
            old.join(", ")
        );
        lines.push(Text::toned(text, Tone::Faint));
    }
    let causes = || clock.reasons.iter().filter(|reason| reason.is_cause());
    // Registers may be silent of what the kernel counts, and of what was seen in a window.
    let throttled = |id: &&str| grown(record, id).is_some_and(|count| count > 0.0);
    let came_up = record.series_of(super::AREA, model::areas::sustained::LIMITED).next().is_some()
        || THERMAL_THROTTLES.iter().any(throttled);
    if !clock.asked.is_empty() && !causes().any(LimitReason::held) && !came_up {
        let verb = if clock.asked.len() == 1 { "says" } else { "say" };
        let asked = clock.asked.join(", ");
        lines.push(format!("no limit was in force or came up: {asked} {verb} so").into());
    }
    let switches = clock.switches.iter().map(|it| Text::toned(position(record, it), Tone::Faint));
    lines.extend(switches);
    for reason in &clock.unread {
        let remedy = reason.remedy.as_ref().map_or(String::new(), |remedy| format!(": {remedy}"));
        let text = format!("not known: {}, {}{remedy}", reason.what, reason.why);
        lines.push(Text::toned(text, Tone::Warning));
    }
    if lines.is_empty() { Vec::new() } else { vec![Block::List(lines)] }
}

/// `core performance boost: on (MSR C0010015h bit 25)`; what only permits boost is not on while the kernel asks for
/// none.
fn position(record: &Record, LimitSwitch { label, on, source, .. }: &LimitSwitch) -> String {
    if *on && label == BOOST && record.text(BOOST_FILE) == Some("off") {
        return format!(
            "{label}: permitted ({source}), and switched off by the kernel (its file `boost`)"
        );
    }
    let on = if *on { "on" } else { "off" };
    format!("{label}: {on} ({source})")
}

/// The condition that says whether the kernel has boost on.
const BOOST_FILE: &str = "cpufreq.boost";

/// That boost is off, where no clock is known that it costs.
fn boost_unstated(record: &Record, clock: &ClockRecord) -> Option<String> {
    let is_off = record.text(BOOST_FILE) == Some("off")
        || clock.switches.iter().any(|it| it.label == BOOST && !it.on);
    let has_line = |it: &ClockAccount| {
        let (taken, refuted) = (it.steps.iter(), it.refuted.iter());
        taken.map(|it| &it.id).chain(refuted.map(|it| &it.id)).any(|id| id == "boost")
    };
    let highest = clock.accounts.iter().filter_map(|it| Some(it.advertised.value()?.hertz));
    let highest = highest.reduce(f64::max).filter(|_| is_off)?;
    (!clock.accounts.iter().any(has_line)).then(|| {
        format!(
            "boost is off: the clock with it, above {} MHz, is not stated while it is",
            mhz(highest)
        )
    })
}

/// Limits that clocks were above, each once with the highest clock.
fn not_obeyed(accounts: &[ClockAccount]) -> Vec<String> {
    let refuted = || accounts.iter().flat_map(|it| &it.refuted);
    let each = in_order(refuted().map(|it| (it.label.as_str(), it.evidence.as_str())));
    let line = |(label, evidence): (&str, &str)| {
        let mine = refuted().filter(|it| it.label == label && it.evidence == evidence);
        let clock = mine.map(|it| it.clock).fold(0.0, f64::max);
        format!("{label}: {evidence}: not obeyed: the clock is {} MHz", mhz(clock))
    };
    each.into_iter().map(line).collect()
}

/// Each step's evidence once; where cells have different ones for it, with those whose it is.
fn of_steps(accounts: &[ClockAccount]) -> Vec<String> {
    let steps = || accounts.iter().flat_map(|it| it.steps.iter().map(move |step| (it, step)));
    let each = in_order(steps().map(|(_, step)| (step.label.as_str(), step.evidence.as_str())));
    let line = |&(label, evidence): &(&str, &str)| {
        if each.iter().filter(|(other, _)| *other == label).count() == 1 {
            return format!("{label}: {evidence}");
        }
        let mine = steps().filter(|(_, step)| step.label == label && step.evidence == evidence);
        let cells: Vec<String> = mine.map(|(account, _)| cell_name(account)).collect();
        format!("{label}, {}: {evidence}", cells.join(", "))
    };
    each.iter().map(line).collect()
}

/// Reasons that held while no cell of these lost its clock to them: others on the package did, or nobody.
fn idle_reasons(clock: &ClockRecord) -> Option<Text> {
    // A register that says `power` is no news beside one that says which limit.
    let explains = |reason: &LimitReason| {
        let is_told = |id: &str| reason.id == "power" && id.starts_with("pl");
        clock.accounts.iter().any(|account| {
            // What was seen in a moment of a run has that for its evidence instead of registers.
            let is_seen = |id: &str| account.moment.is_some() && reason.id == id;
            account.steps.iter().any(|step| {
                let mut ids = step.id.split('+');
                step.evidence.contains(&reason.source) || ids.any(|id| is_told(id) || is_seen(id))
            })
        })
    };
    let idle = clock.reasons.iter().filter(|it| it.held() && it.is_cause() && !explains(it));
    let idle = in_order(idle.map(|it| format!("{} ({})", it.label, it.source)));
    let line = || format!("held, though no cell above lost a clock to it: {}", idle.join(", "));
    (!idle.is_empty()).then(|| Text::from(line()))
}

/// The way down of the most loaded cell, of the first type of core, as a sentence.
pub(super) fn sentence(record: &Record) -> Option<Text> {
    let accounts = &record.clock.as_ref()?.accounts;
    let kind = &accounts.first()?.core_type;
    let account = accounts.iter().rfind(|account| account.core_type == *kind)?;
    let advertised = account.advertised.value()?;
    let part = |step: &AccountStep| format!("{} {}", loss(step.hertz), step.label);
    let mut parts: Vec<String> = account.steps.iter().map(part).collect();
    parts.extend(account.unexplained.map(|rest| format!("{} unexplained", loss(rest))));
    Some(
        format!(
            "From the advertised {} MHz to the {} MHz that {} gets: {}.",
            mhz(advertised.hertz),
            mhz(account.delivered),
            cell_name(account),
            parts.join(", ")
        )
        .into(),
    )
}
