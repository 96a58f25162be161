//! The page of a gate: verdict, what it was judged by, findings.

use model::Known;
use model::areas::result_name;
use model::page::{Block, Page, Table, Text, Tone, si};
use model::record::{BoundKind, GateBound, GateItem, GateState, GateVerdict, Record};

use report::{parts, reference};

use super::bounds::on;
use super::line;

/// The page: verdict, bounds, the place among earlier records, findings.
pub fn page(record: &Record, verbosity: u8) -> Page {
    let tone = match record.gate.as_ref().map(|run| run.verdict) {
        Some(GateVerdict::Pass) => Tone::Good,
        Some(GateVerdict::Fail) => Tone::Serious,
        Some(GateVerdict::CannotJudge) | None => Tone::Warning,
    };
    let title = match &record.run.simulated {
        Some(name) => format!("SIMULATED gate: machine sim:{name}, nothing was measured"),
        None => "Does this machine pass?".to_owned(),
    };
    let mut blocks = vec![
        Block::Title { text: title, subtitle: parts::subtitle(record) },
        Block::Paragraph(Text::toned(line(record), tone)),
    ];
    let Some(run) = &record.gate else { return Page { blocks } };
    blocks.push(parts::quality(record));
    if !run.bounds.is_empty() {
        blocks.push(bounds_table(&run.bounds));
    }
    if let Some(reference) = &record.reference {
        blocks.push(reference::table(reference, verbosity));
    }
    if run.bounds.is_empty() && record.reference.is_none() {
        blocks.extend(items_table(&run.items, verbosity));
    }
    blocks.push(Block::Heading("Findings".to_owned()));
    blocks.push(parts::findings(record));
    if verbosity > 0 {
        blocks.extend(parts::missing(record));
        blocks.extend(parts::details(record));
    }
    Page { blocks }
}

/// What it was judged by; what holds, and what could not be judged, by number alone.
fn items_table(items: &[GateItem], verbosity: u8) -> Option<Block> {
    let is_told = |item: &&GateItem| {
        verbosity > 0 || !matches!(item.state, GateState::Holds | GateState::NotJudged)
    };
    let count = |state| items.iter().filter(|item| item.state == state).count();
    let legend = format!(
        "{} hold, {} could not be judged",
        count(GateState::Holds),
        count(GateState::NotJudged)
    );
    let rows: Vec<Vec<Text>> = items.iter().filter(is_told).map(item_row).collect();
    if rows.is_empty() {
        return (!items.is_empty()).then(|| Block::List(vec![Text::from(legend)]));
    }
    let table = Table::of("Judged by what is known anyway")
        .label("what")
        .left("")
        .left("found")
        .left("expected, or why not judged")
        .rows(rows)
        .legend(vec![legend]);
    Some(table.into())
}

fn item_row(item: &GateItem) -> Vec<Text> {
    let word = match item.state {
        GateState::Fails => Text::toned("fails", Tone::Serious),
        GateState::CannotJudge => Text::toned("cannot judge", Tone::Warning),
        GateState::Warns => Text::toned("warns", Tone::Warning),
        GateState::NotJudged => Text::toned("not judged", Tone::Faint),
        GateState::Holds => Text::toned("holds", Tone::Good),
    };
    let said = |text: &Option<String>| match text {
        Some(text) => Text::from(text.as_str()),
        None => Text::toned("-", Tone::Faint),
    };
    let is_open = matches!(item.state, GateState::CannotJudge | GateState::NotJudged);
    let why = item
        .why
        .as_deref()
        .map(|why| why.strip_prefix(&format!("{}: ", item.name)).unwrap_or(why).to_owned());
    let (found, expected) = (said(&item.found), said(if is_open { &why } else { &item.expected }));
    vec![item.name.as_str().into(), word, found, expected]
}

fn bounds_table(bounds: &[GateBound]) -> Block {
    let row = |bound: &GateBound| {
        let side = if bound.kind == BoundKind::Min { "at least" } else { "at most" };
        let limit = format!("{side} {}", si::format(bound.limit, bound.unit));
        let (found, of, word) = match &bound.outcome {
            Known::Yes(outcome) => (
                Text::from(si::format(outcome.value, bound.unit)),
                Text::from(format!("{}, {}", result_name(&outcome.what), on(outcome.what.active))),
                if outcome.holds {
                    Text::toned("holds", Tone::Good)
                } else {
                    Text::toned("fails", Tone::Serious)
                },
            ),
            Known::No { unavailable } => (
                Text::toned("-", Tone::Faint),
                Text::from(unavailable.why.as_str()),
                Text::toned("cannot judge", Tone::Warning),
            ),
        };
        vec![Text::from(bound.name.as_str()), limit.into(), found, word, of]
    };
    Table::of("bounds")
        .label("bound")
        .right("is")
        .right("found")
        .left("")
        .left("the result that comes nearest")
        .rows(bounds.iter().map(row))
        .into()
}
