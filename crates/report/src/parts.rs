//! Parts of pages that show what was measured.

use crate::kit::{Absences, fact_table, value_text};
use crate::speed_select;
use model::areas;
use model::page::{Block, Page, Remark, Table, Text, Tone, si, tally};
use model::record::{
    ComparedAnswers, Fact, FactValue, Instrument, InstrumentState, Outcome, Record, Series,
};
use model::{Known, Severity, Unavailable, Unit};

/// What a colleague would ask first.
pub(crate) const IN_BRIEF: &[(&str, &[&str])] = &[
    ("CPU", &["cpu.brand", "cpu.microarchitecture"]),
    ("Cores", &["cpu.cores"]),
    ("Caches", &["cpu.caches"]),
    ("Memory", &["memory.total"]),
    ("Runs on", &[VIRTUALISATION, "kernel.release"]),
    ("Frequency", &["cpufreq.driver", "cpufreq.governor", "cpufreq.boost", "cpufreq.epp"]),
    ("Platform", &["platform.model", "platform.firmware"]),
    ("Microcode", &["cpu.microcode"]),
    ("Security", &["kernel.mitigations"]),
];

/// What machine this is, in four lines.
pub(crate) fn machine_in_brief(record: &Record) -> Block {
    let join = |ids: &[&str], between: &str| {
        let known =
            |id: &&str| if *id == VIRTUALISATION { runs_on(record) } else { known(record, id) };
        let texts: Vec<String> = ids.iter().filter_map(known).collect();
        texts.join(between)
    };
    let labelled = |label: &str, id: &str| known(record, id).map(|text| format!("{label} {text}"));
    let frequency = [
        labelled("governor", "cpufreq.governor"),
        labelled("EPP", "cpufreq.epp"),
        labelled("driver", "cpufreq.driver"),
    ];
    let frequency: Vec<String> = frequency.into_iter().flatten().collect();
    let system = [
        join(&[VIRTUALISATION], ""),
        labelled("kernel", "kernel.release").unwrap_or_default(),
        frequency.join(", "),
        speed_select_in_brief(record).map_or(String::new(), |it| format!("Speed Select: {it}")),
    ];
    let memory = [join(&["cpu.caches"], ""), join(&["memory.total"], "")];
    let named = |parts: &[String]| {
        let parts: Vec<&str> =
            parts.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
        parts.join("; ")
    };
    let plan = &record.run.plan;
    let word = if plan.cpus.len() == 1 { "CPU" } else { "CPUs" };
    let is_hidden = |finding: &model::Finding| finding.id == "placement.hidden-sibling";
    let hidden: Vec<_> = record.findings.iter().filter(|it| is_hidden(it)).collect();
    let fewer = match hidden.as_slice() {
        [] => String::new(),
        [pair] => format!("; {} are one core, as measured", pair.about),
        pairs => format!("; {} pairs of CPUs are one core, as measured", pairs.len()),
    };
    let cpu = join(&["cpu.brand", "cpu.microarchitecture", "cpu.cores"], ", ");
    let lines = [
        ("CPU", format!("{cpu}{fewer}")),
        ("Memory", named(&memory)),
        ("System", named(&system)),
        ("Measured", format!("{word} {}: {}", plan.cpus, plan.placement)),
    ];
    let lines = lines.into_iter().filter(|(_, text)| !text.is_empty());
    Block::Groups(vec![lines.map(|(label, text)| (label.to_owned(), text.into())).collect()])
}

/// What Speed Select is set to, where it is there.
pub(crate) fn speed_select_in_brief(record: &Record) -> Option<String> {
    const TOLD: [(&str, &str); 4] = [
        ("sst.level", "level"),
        ("sst.base_freq", "base frequency"),
        ("sst.turbo_freq", "turbo frequency"),
        ("sst.core_power", "core power"),
    ];
    let rows = speed_select::facts(record.speed_select.as_ref());
    let told = TOLD.iter().filter_map(|(id, word)| {
        let value = rows.iter().find(|row| row.id == *id)?.text.as_ref()?;
        Some(format!("{word} {value}"))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// By which version, when, how long and how much of what was planned.
pub fn subtitle(record: &Record) -> String {
    let run = &record.run;
    if record.tool.is_foreign() {
        let from = run.elsewhere.as_ref().unwrap_or(&run.started);
        return format!("{}, {from}", record.tool.name);
    }
    // Without a budget the time is what was planned, to a tenth.
    let given = (run.plan.budget_seconds * 10.0).round() / 10.0;
    let ended = run.interrupted.as_ref().map_or(String::new(), |why| format!(", {why}"));
    format!(
        "{} {}, {}, {:.1} s of {given} s, {} of {} sweeps{ended}",
        record.tool.name,
        record.tool.version,
        run.started,
        run.seconds,
        run.plan.blocks_done,
        run.plan.blocks_planned,
    )
}

/// What the page of one area is made of.
pub struct Leaf {
    /// Its answer in sentences.
    pub(crate) answer: Vec<Text>,
    /// Its title.
    pub(crate) title: &'static str,
    /// What of a simulated machine is shown, as `wake-ups`.
    pub(crate) simulated: &'static str,
    /// What a reader of such numbers asks first; lines without an answer are left out.
    pub(crate) lines: Vec<(&'static str, Option<String>)>,
    /// What was measured.
    pub(crate) blocks: Vec<Block>,
}

/// The page of one area. A verbosity of 1 and more adds every fact, condition and instrument.
pub fn leaf(record: &Record, verbosity: u8, leaf: Leaf) -> Page {
    let Leaf { answer, title, simulated, lines, blocks: measured } = leaf;
    let text = match &record.run.simulated {
        Some(name) => format!("SIMULATED {simulated}: machine sim:{name}, nothing was measured"),
        None => title.to_owned(),
    };
    let lines =
        lines.into_iter().filter_map(|(label, text)| Some((label.to_owned(), text?.into())));
    let mut blocks = vec![Block::Title { text, subtitle: subtitle(record) }];
    blocks.extend(self::answer(answer));
    blocks.extend([quality(record), Block::Box(lines.collect())]);
    blocks.extend(measured);
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(findings(record));
    blocks.extend(missing(record));
    // What another program measured comes without.
    if verbosity > 0 && !record.tool.is_foreign() {
        blocks.extend(how(record));
        blocks.extend(details(record));
    }
    blocks.retain(|block| !matches!(block, Block::Table(table) if table.rows.is_empty()));
    Page { blocks }
}

/// An answer in sentences; nothing where nothing was measured.
pub(crate) fn answer(sentences: Vec<Text>) -> Option<Block> {
    (!sentences.is_empty()).then_some(Block::List(sentences))
}

/// What the machine says of that, where it does.
pub fn known(record: &Record, id: &str) -> Option<String> {
    let fact = record.fact(id)?;
    match &fact.value {
        Known::Yes(_) => Some(value_text(&fact.value).text),
        Known::No { .. } => None,
    }
}

/// What the kernel runs on. That no hypervisor is below reads as if nothing were.
pub fn runs_on(record: &Record) -> Option<String> {
    let text = known(record, VIRTUALISATION)?;
    let bare = text.strip_prefix("none (").and_then(|text| text.split_once(')'));
    Some(bare.map_or_else(|| text.clone(), |(bare, around)| format!("{bare}{around}")))
}

/// The fact that says what the kernel runs on.
pub const VIRTUALISATION: &str = "platform.virtualisation";

/// An instrument in a few words: its rate and whose word that is, or why it is not used.
pub fn instrument_in_brief(instrument: &Instrument) -> String {
    match &instrument.state {
        InstrumentState::Unavailable { unavailable } => format!("no: {}", unavailable.why),
        InstrumentState::Used { rate: Some(rate), .. } => {
            let mhz = rate.hertz.0 / 1e6;
            format!("{}, {mhz:.3} MHz ({})", instrument.source, rate.chosen)
        }
        InstrumentState::Used { .. } => instrument.source.clone(),
    }
}

/// Everything that has a reason instead of a number, under its heading; nothing where there is none.
pub fn missing(record: &Record) -> Vec<Block> {
    let missing = not_measured(record);
    if missing.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading("Not measured".to_owned()), Block::Remarks(missing)]
}

/// Of an area without numbers, the reasons for that, where its numbers would stand; nothing where nobody
/// asked for any.
pub fn in_its_place(record: &Record, area: &str) -> Vec<Block> {
    let mut absences = Absences::default();
    for series in record.series.iter().filter(|series| series.area == area) {
        if let Outcome::Unavailable { unavailable } = &series.outcome {
            absences.note(unavailable, name(series, unavailable));
        }
    }
    let remarks = absences.remarks();
    if remarks.is_empty() {
        return Vec::new();
    }
    vec![Block::Heading(areas::title(area).to_owned()), Block::Remarks(remarks)]
}

/// The instruments and what their rates rest on.
pub fn how(record: &Record) -> Vec<Block> {
    let heading = Block::Heading("How it was measured".to_owned());
    let blocks = [heading, instruments(record), rate_sources(record)].into_iter();
    blocks.chain(record.answers.as_ref().map(answers)).collect()
}

/// How many answers of streams were compared while these were timed.
fn answers(answers: &ComparedAnswers) -> Block {
    let ComparedAnswers { cpus, streams, ops_least, wrong, with_reference, .. } = answers;
    let found =
        if wrong.is_empty() { "No wrong answer" } else { "Wrong answers (see the findings)" };
    let on = match cpus.len() {
        1 => format!("on CPU {cpus}"),
        count => format!("on each of {count} CPUs ({cpus})"),
    };
    let (ops, streams) = (ops(*ops_least), tally(streams.len(), "stream"));
    let of = with_reference + answers.among_themselves;
    let held = match answers.among_themselves {
        0 => "each held against a reference".to_owned(),
        _ => format!(
            "of {of} kinds of calls {with_reference} were held against a reference, the others against one another"
        ),
    };
    Block::Paragraph(format!("{found} in {ops} ops of {streams} {on}: {held}.").into())
}

/// A count of ops: 3.1e11.
pub fn ops(count: u64) -> String {
    if count < 100_000 { count.to_string() } else { format!("{:.1e}", count as f64) }
}

/// How far the numbers can be trusted, from what the run saw.
pub fn quality(record: &Record) -> Block {
    let badge = |grade: &str, tone, reasons: &[String]| Block::Badge {
        label: "Quality".to_owned(),
        grade: Text::toned(grade, tone),
        reasons: sentence(&reasons.join(", ")),
    };
    let measured = |series: &Series| series.area != "rig" && series.summary().is_some();
    if !record.series.iter().any(measured) {
        return badge("none", Tone::Serious, &["nothing was measured".to_owned()]);
    }
    let mut reasons = Vec::new();
    if let Some((typical, worst)) = noise(record) {
        let (typical, worst) = (typical * 100.0, worst * 100.0);
        let digits = usize::from(worst < 9.95);
        reasons.push(format!("cycles per op ± {typical:.1} % (worst {worst:.digits$} %)"));
    }
    if let Some(lost) = record.lost_share() {
        reasons.push(format!("{:.1} % of time lost to interruptions", lost * 100.0));
    }
    reasons.extend(disturbed(record, "disturbance.steal", "steal"));
    reasons.extend(disturbed(record, "disturbance.thermal_core", "thermal throttles"));
    match record.findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Serious) => badge("bad, do not rely on this run", Tone::Serious, &reasons),
        Some(Severity::Warning) => badge("fair, see the findings", Tone::Warning, &reasons),
        Some(Severity::Note) | None => badge("good", Tone::Good, &reasons),
    }
}

/// With a capital letter in front.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The `±` of cycles per op, of the middle and of the worst cell.
fn noise(record: &Record) -> Option<(f64, f64)> {
    let cycles = record.series.iter().filter(|series| series.quantity == "cycles_per_op");
    let spreads: Vec<f64> =
        cycles.filter_map(|series| series.summary()?.relative_uncertainty()).collect();
    let worst = spreads.iter().copied().fold(0.0, f64::max);
    Some((model::stats::median(&spreads)?, worst))
}

fn disturbed(record: &Record, id: &str, name: &str) -> Option<String> {
    let fact = record.conditions.after.iter().find(|fact| fact.id == id)?;
    match fact.value.value()? {
        FactValue::Number { value, unit } => Some(format!("{name} {}", si::format(*value, *unit))),
        FactValue::Text(text) => Some(format!("{name} {text}")),
    }
}

/// What was found out, or that nothing was.
pub fn findings(record: &Record) -> Block {
    if record.findings.is_empty() {
        return Block::Paragraph("None: nothing that was watched disturbed this run.".into());
    }
    Block::Remarks(record.findings.iter().map(Remark::from).collect())
}

/// Everything that has a reason instead of a number; one remark per reason. Of facts only those that
/// the sheet would show: `cpudyno info` has all of them.
fn not_measured(record: &Record) -> Vec<Remark> {
    let mut absences = Absences::default();
    for instrument in &record.instruments {
        if let InstrumentState::Unavailable { unavailable } = &instrument.state {
            absences.note(unavailable, format!("{} ({})", instrument.measures, instrument.id));
        }
    }
    for series in &record.series {
        if let Outcome::Unavailable { unavailable } = &series.outcome {
            absences.note(unavailable, name(series, unavailable));
        }
    }
    let shown = |fact: &Fact| IN_BRIEF.iter().any(|(_, ids)| ids.contains(&fact.id.as_str()));
    absences.note_facts(record, shown);
    absences.remarks()
}

/// What a series without numbers is called: by what tells it apart from others of its workload. One
/// that has no parameters was never planned, and its reason says what is missing.
fn name(series: &Series, reason: &Unavailable) -> String {
    if series.parameters.is_empty() && !reason.what.is_empty() {
        return reason.what.clone();
    }
    if let Some(name) = areas::name_of(series) {
        return name;
    }
    let apart = areas::apart(&series.area, &series.parameters);
    let apart = apart.map_or(String::new(), |words| format!(" {words}"));
    format!("{}{apart} with {} active", series.workload, series.active.len())
}

fn instruments(record: &Record) -> Block {
    let row = |instrument: &model::record::Instrument| match &instrument.state {
        InstrumentState::Unavailable { .. } => None,
        InstrumentState::Used { unit, resolution, own_cost_seconds, rate } => Some(vec![
            Text::from(instrument.id.as_str()),
            Text::from(instrument.measures.as_str()),
            match unit {
                Unit::Cycle | Unit::Count => format!("{resolution:.0}").into(),
                unit => si::format(*resolution, *unit).into(),
            },
            si::format(*own_cost_seconds, Unit::Second).into(),
            rate.as_ref()
                .map_or_else(Text::default, |rate| format!("{:.6} MHz", rate.hertz.0 / 1e6).into()),
        ]),
    };
    Table::of("Clocks: resolution and read cost")
        .left("instrument")
        .left("measures")
        .right("difference")
        .right("own cost")
        .right("rate")
        .rows(record.instruments.iter().filter_map(row))
        .into()
}

fn rate_sources(record: &Record) -> Block {
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    for instrument in &record.instruments {
        let InstrumentState::Used { rate: Some(rate), .. } = &instrument.state else { continue };
        notes.push(format!("rate of {} taken from: {}", instrument.id, rate.chosen));
        rows.extend(rate.sources.iter().map(|source| {
            let value = match &source.hertz {
                Known::Yes(hertz) => Text::from(format!("{:.6}", hertz / 1e6)),
                Known::No { .. } => Text::toned("unavailable", Tone::Faint),
            };
            vec![
                Text::from(instrument.id.as_str()),
                Text::from(source.source.as_str()),
                value,
                source
                    .disagreement_ppm
                    .map_or_else(Text::default, |ppm| format!("{ppm:+.1}").into()),
                Text::from(if source.independent { "yes" } else { "no" }),
            ]
        }));
    }
    Table::of("Rate of the clock by source")
        .left("clock")
        .left("source")
        .right("MHz")
        .right("ppm off")
        .left("independent")
        .rows(rows)
        .notes(notes)
        .into()
}

/// Every fact and condition, for those who ask for more.
pub fn details(record: &Record) -> Vec<Block> {
    let before_and_after = |after: &Fact| {
        let before = record.conditions.before.iter().find(|before| before.id == after.id);
        let before = before.map_or_else(Text::default, |before| value_text(&before.value));
        vec![Text::from(after.label.as_str()), before, value_text(&after.value)]
    };
    let conditions = Table::of("Conditions before and after the run, and counters that grew")
        .left("condition")
        .left("before")
        .left("after")
        .rows(record.conditions.after.iter().map(before_and_after));
    vec![
        Block::Heading("Machine".to_owned()),
        fact_table(record.machine.facts.iter()),
        Block::Heading("Conditions".to_owned()),
        Block::Table(conditions),
    ]
}
