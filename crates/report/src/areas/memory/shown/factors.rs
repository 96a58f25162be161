//! What the kernels move where arrays are once, twice, ... so many times the caches.

use model::page::tally;
use model::page::{Block, Lines, Scale, Table, Text, Tone};
use model::record::Record;

use super::super::byte_accounting::Counting;
use super::super::read::{Cell, cells, in_order};
use super::{dash, modes, placement, size};

/// The table, and its plot where there are points for a line.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let cells = cells(record, "factors");
    let Some(first) = cells.first() else { return Vec::new() };
    let counting = Counting::of(record);
    let mut factors: Vec<u64> = in_order(cells.iter().filter_map(|cell| cell.number("factor")));
    factors.sort_unstable();
    let most = |factor: u64| {
        let of_factor = cells.iter().filter(|cell| cell.number("factor") == Some(factor));
        most(counting, of_factor)
    };
    let row = |&factor: &u64| {
        let of_factor = cells.iter().find(|cell| cell.number("factor") == Some(factor));
        let elements = of_factor.and_then(|cell| cell.number("elements"));
        let best = most(factor);
        vec![
            Text::from(factor.to_string()),
            elements.map_or_else(dash, |elements| elements.to_string().into()),
            elements.map_or_else(dash, |elements| size(elements.saturating_mul(8)).into()),
            best.map_or_else(
                || Text::toned("unavailable", Tone::Warning),
                |(value, _)| counting.text(value).into(),
            ),
            best.map_or_else(dash, |(_, kernel)| kernel.into()),
        ]
    };
    let table = Table::of(format!(
        "Highest bandwidth on {}, {} {}",
        tally(first.active.len(), "thread"),
        counting.unit(),
        counting.words(&cells)
    ))
    .right("factor")
    .right("elements")
    .right("each array")
    .right(counting.unit())
    .left("kernel")
    .rows(factors.iter().map(row))
    .legend(legend(counting, &cells, &factors))
    .notes([FACTOR])
    .into();
    let points: Vec<(f64, f64)> = factors
        .iter()
        .filter_map(|&factor| Some((factor as f64, counting.in_unit(most(factor)?.0))))
        .collect();
    let values = || points.iter().map(|point| point.1);
    let range = values().fold(0.0, f64::max) / values().fold(f64::INFINITY, f64::min);
    let mut blocks = vec![Block::Heading("Arrays of multiples of the caches".to_owned()), table];
    if points.len() >= POINTS_MIN && range >= RANGE_MIN {
        blocks.push(Block::Lines(Lines {
            caption: "Highest bandwidth by array size".to_owned(),
            x: "size of each array, in caches in use".to_owned(),
            y: counting.unit().to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach: None,
            lines: vec![("maximum".to_owned(), points)],
            marks: Vec::new(),
        }));
    } else if points.len() >= POINTS_MIN {
        let text = format!(
            "Between these sizes it differs by less than {:.0} %.",
            (RANGE_MIN - 1.0) * 100.0
        );
        blocks.push(Block::Paragraph(text.into()));
    }
    blocks.extend(placement(&cells, "bandwidth"));
    blocks.extend(modes(&cells, "bandwidth", |asked| counting.words_of(asked)));
    blocks
}

fn legend(counting: Counting<'_>, cells: &[Cell<'_>], factors: &[u64]) -> Vec<String> {
    let mut legend = Vec::new();
    if factors.windows(2).any(|pair| pair[1] > pair[0] + 1) {
        legend.push(
            "factors between these do not fit into the time: --budget TIME gives more".to_owned(),
        );
    }
    legend.extend(counting.left_out(cells, "bandwidth"));
    legend
}

const FACTOR: &str = "factor 1: arrays as large as the caches that the CPUs use; below 4, caches still hold a part \
     of them";

/// A plot of less than this would show nothing but noise.
const RANGE_MIN: f64 = 1.05;

/// Fewer points are no line.
pub(super) const POINTS_MIN: usize = 3;

/// The most of these, and which kernel it is.
pub(super) fn most<'a, 'b: 'a>(
    counting: Counting<'_>,
    cells: impl Iterator<Item = &'a Cell<'b>>,
) -> Option<(f64, &'b str)> {
    let known = cells.filter_map(|cell| {
        Some((counting.headline(cell, cell.main_median("bandwidth")?)?, cell.workload))
    });
    known.max_by(|a, b| a.0.total_cmp(&b.0))
}
