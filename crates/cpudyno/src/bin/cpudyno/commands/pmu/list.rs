//! `cpudyno pmu list`.

use std::process::ExitCode;

use machine::Machine;
use model::Unavailable;
use model::page::{Block, Page, Remark, Table, Text, Tone};
use model::record::PageKind;
use pmu::events::{CounterPlace, Encoded, Error, EventScope, Events};
use serde_json::{Value, json};

use super::{refused, target};
use crate::args::{Format, PmuListArgs};
use crate::commands::{presentation, unrecorded};
use crate::failure::{Failure, code};
use crate::output;

pub(super) fn run(machine: &Machine, args: &PmuListArgs) -> Result<ExitCode, Failure> {
    let events = Events::of(target(machine, &args.cpu)?);
    let found = found(&events, args).map_err(refused)?;
    let missing: Vec<&Unavailable> = match args.source {
        Some(source) => events.of_source(source).missing.iter().collect(),
        None => events.missing(),
    };
    if found.is_empty() {
        let why = missing.first().map(|reason| reason.why.clone()).unwrap_or_default();
        let failure = Failure::new(code::NOT_HERE, format!("cannot list events: {why}"));
        let remedy = missing.first().and_then(|reason| reason.remedy.clone());
        return Err(Failure { hint: remedy, ..failure });
    }
    let printed = match args.look.format {
        Format::Json => {
            let list = json!({
                "schema": "cpudyno.events/1",
                "cpu": events.target().cpu().map(ToString::to_string).ok(),
                "events": found.iter().map(of_json).collect::<Vec<Value>>(),
                "missing": missing,
            });
            let printed = serde_json::to_string_pretty(&list);
            printed.map_err(|error| Failure::new(code::BUG, error.to_string()))? + "\n"
        }
        Format::Csv => {
            return Err(Failure::usage("the list of events is no table of samples")
                .hint("print it as text, markdown, html or json: --format json"));
        }
        format => {
            let page = page(&events, &found, &missing, args);
            unrecorded("the list", &page, format, presentation(&args.look, PageKind::Info))?
        }
    };
    output::data(&printed)?;
    Ok(ExitCode::SUCCESS)
}

fn found(events: &Events<'_>, args: &PmuListArgs) -> Result<Vec<Encoded>, Error> {
    let Some(pattern) = &args.pattern else {
        return Ok(match args.source {
            Some(source) => events.of_source(source).events.clone(),
            None => events.all().into_iter().cloned().collect(),
        });
    };
    match args.source {
        Some(source) => events.fitting_of(source, pattern),
        // A name that only its source can read: a code, `msr/tsc/`.
        None => events.fitting(pattern).or_else(|error| match error {
            Error::NoMatch { .. } => events.resolve(pattern),
            other => Err(other),
        }),
    }
}

fn page(
    events: &Events<'_>,
    found: &[Encoded],
    missing: &[&Unavailable],
    args: &PmuListArgs,
) -> Page {
    let target = events.target();
    let cpu = target.cpu().map_or_else(|_| "this CPU".to_owned(), ToString::to_string);
    let families: Vec<&str> = target.families().iter().map(|it| it.title.as_str()).collect();
    let families =
        if families.is_empty() { "not in our own table".to_owned() } else { families.join("; ") };
    let mut legend = Vec::new();
    if target.is_at_hand() && found.iter().any(|event| event.kind.is_none()) {
        legend.push("*: cannot be counted here; the reasons stand below".to_owned());
    }
    if found.iter().any(|event| event.scope == EventScope::Shared) {
        legend.push("shared: counts for several CPUs, and for no single thread".to_owned());
    }
    let at_hand = target.is_at_hand();
    let mut blocks = vec![
        Table::of(format!("{} events of {cpu} ({families})", found.len()))
            .left("event")
            .left("PMU")
            .left("code")
            .left("counters")
            .left("source")
            .rows(found.iter().map(|event| row(event, at_hand)))
            .legend(legend)
            .into(),
    ];
    let is_short = args.pattern.is_some() || args.look.verbose;
    if is_short {
        blocks.push(Block::List(found.iter().filter_map(described).collect()));
    }
    if !is_short || args.look.verbose || args.source.is_some() {
        blocks.push(Block::Remarks(missing.iter().map(|reason| remark(reason)).collect()));
    }
    Page { blocks }
}

fn row(event: &Encoded, at_hand: bool) -> Vec<Text> {
    let mark = if at_hand && event.kind.is_none() { " *" } else { "" };
    let shared = if event.scope == EventScope::Shared { ", shared" } else { "" };
    vec![
        Text::from(format!("{}{mark}", event.name)),
        event.pmu.as_deref().unwrap_or("software").into(),
        code_of(event).into(),
        format!("{}{shared}", counters(event.place)).into(),
        event.source.row().name.into(),
    ]
}

/// The words of `config` that are used.
fn code_of(event: &Encoded) -> String {
    let [first, rest @ ..] = event.config;
    let rest = (1..).zip(rest).filter(|(_, word)| *word != 0);
    let rest: Vec<String> = rest.map(|(place, word)| format!(" config{place}={word:#x}")).collect();
    format!("{first:#x}{}", rest.concat())
}

fn counters(place: CounterPlace) -> String {
    match place {
        CounterPlace::Software => "the kernel's".to_owned(),
        CounterPlace::Fixed(number) => format!("fixed {number}"),
        CounterPlace::General { takes: 0, .. } => "with `slots`".to_owned(),
        CounterPlace::General { counters: u64::MAX, takes: 1 } => "general".to_owned(),
        CounterPlace::General { counters, takes } => {
            let bits: model::CpuSet =
                (0..u64::BITS).filter(|bit| counters >> bit & 1 == 1).map(model::CpuId).collect();
            if takes == 1 { format!("{bits}") } else { format!("{takes} of {bits}") }
        }
    }
}

fn described(event: &Encoded) -> Option<Text> {
    let mut words: Vec<&str> = event.description.as_deref().into_iter().collect();
    words.extend(event.caveats.iter().map(String::as_str));
    let tone = if event.caveats.is_empty() { Tone::Plain } else { Tone::Warning };
    (!words.is_empty()).then(|| Text::toned(format!("{}: {}", event.name, words.join(" ")), tone))
}

fn remark(reason: &Unavailable) -> Remark {
    Remark {
        mark: Text::toned("not listed", Tone::Warning),
        about: reason.what.clone(),
        text: reason.why.clone(),
        remedy: reason.remedy.clone(),
    }
}

fn of_json(event: &Encoded) -> Value {
    let config: Vec<String> = event.config.iter().map(|word| format!("{word:#x}")).collect();
    json!({
        "name": event.name,
        "pmu": event.pmu,
        "type": event.kind,
        "config": config,
        "counters": counters(event.place),
        "shared": event.scope == EventScope::Shared,
        "source": event.source.row().name,
        "description": event.description,
        "caveats": event.caveats,
    })
}
