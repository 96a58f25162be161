//! How late alarms are.

use model::in_order_of;
use model::page::{Align, Block, Table, Text, Tone};
use model::record::Record;

use super::super::read::{Cell, Spread, cells, in_order};
use super::super::{DISTANCE, STATE, TIMER};
use super::{dash, distribution, microseconds, note, percent};
use model::areas::wake::{RANGES, WAYS};

/// A table of CPUs and distances, and the distributions.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let all = cells(record, TIMER);
    let whole: Vec<&Cell<'_>> = all
        .iter()
        .filter(|c| c.text(DISTANCE).is_none() && c.text(STATE).is_none())
        .filter(|c| c.median("lateness").is_some())
        .collect();
    if whole.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Alarms".to_owned()), table(&all, &whole)];
    blocks.extend(by_state(&all));
    let first = whole[0].active;
    let samples: Vec<(String, Vec<f64>)> = whole
        .iter()
        .filter(|cell| cell.active == first)
        .map(|cell| (cell.workload.to_owned(), cell.samples("lateness")))
        .collect();
    let caption = format!("lateness of alarms on CPU {first}");
    blocks.extend(distribution(&caption, "us", &samples));
    blocks.push(note(
        "Threads asked for a timer slack of 1 ns (PR_SET_TIMERSLACK); usually the kernel may add 50 us. \
         Some CPUs begin to wake before an alarm is due, so that deep sleep hides from it: `cpudyno wake \
         idle` wakes them by a signal.",
    ));
    blocks
}

fn table(all: &[Cell<'_>], whole: &[&Cell<'_>]) -> Block {
    let distances =
        in_order_of(all.iter().filter_map(|cell| cell.text(DISTANCE)), &RANGES.map(|it| it.0));
    let row = |cell: &&Cell<'_>| {
        let spread = cell.spread("lateness")?;
        let median_of = |word: &str| {
            let of = all.iter().find(|part| {
                (part.workload, part.active) == (cell.workload, cell.active)
                    && part.text(DISTANCE) == Some(word)
            });
            let spread = of.and_then(|part| part.spread("lateness"));
            spread.map_or_else(dash, |s| {
                format!("{} ({})", microseconds(s.median), microseconds(s.p99)).into()
            })
        };
        let mut row = vec![Text::from(cell.active.to_string()), cell.workload.into()];
        row.extend(distances.iter().copied().map(median_of));
        row.push(microseconds(spread.max).into());
        row.push(cell.median("slept").map_or_else(dash, |slept| percent(slept).into()));
        row.push(Text::toned(spread.count.to_string(), Tone::Faint));
        Some(row)
    };
    Table::of("Timer lateness by distance, us: median (p99)")
        .right("CPU")
        .left("alarm")
        .columns(distances.iter().map(|word| (format!("in {word}"), Align::Right)))
        .right("max")
        .right("slept")
        .right("alarms")
        .rows(whole.iter().filter_map(row))
        .into()
}

/// Alarms by the idle state that they ended, where the kernel counts states; those of all CPUs.
fn by_state(all: &[Cell<'_>]) -> Option<Block> {
    fn key<'a>(cell: &Cell<'a>) -> Option<(&'a str, u64)> {
        Some((cell.workload, cell.number(STATE)?))
    }
    let row = |of: (&str, u64)| {
        let mine: Vec<&Cell<'_>> = all.iter().filter(|cell| key(cell) == Some(of)).collect();
        let samples: Vec<f64> = mine.iter().flat_map(|cell| cell.samples("lateness")).collect();
        let (state, spread) = (mine.first()?.text("state_name")?, Spread::of(&samples)?);
        Some(vec![
            Text::from(of.0),
            state.into(),
            microseconds(spread.median).into(),
            microseconds(spread.p99).into(),
            Text::toned(spread.count.to_string(), Tone::Faint),
        ])
    };
    let mut keys = in_order(all.iter().filter_map(key));
    // By depth, in the order of the ways.
    keys.sort_by_key(|(_, state)| *state);
    keys.sort_by_key(|(way, _)| WAYS.iter().position(|row| *row == *way));
    let rows: Vec<Vec<Text>> = keys.into_iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| {
        Table::of("Timer lateness by idle state, us, all CPUs")
            .left("alarm")
            .left("state")
            .right("median")
            .right("p99")
            .right("alarms")
            .rows(rows)
            .into()
    })
}
