//! How bandwidth grows with the number of threads.

use std::collections::BTreeSet;

use model::page::tally;
use model::page::{Block, Lines, Mark, Scale, Table, Text};
use model::record::{Record, Topology};

use super::super::ALONE;
use super::super::byte_accounting::{AS_ASKED, Counting};
use super::super::read::{Cell, cells, in_order};
use super::factors::most;
use super::{modes, note, placement, through};

/// Who has this share of the most has nearly all.
const SATURATED: f64 = 0.95;

/// The most with one number of threads.
struct ScalingPoint<'a> {
    threads: usize,
    most: f64,
    kernel: &'a str,
    variant: &'a str,
}

/// An order of CPUs.
struct Grown<'a> {
    order: &'a str,
    points: Vec<ScalingPoint<'a>>,
}

fn grown<'a>(counting: Counting<'_>, cells: &[Cell<'a>]) -> Vec<Grown<'a>> {
    let of_order = |order: &'a str| {
        let of_order = || cells.iter().filter(move |cell| cell.text("order") == Some(order));
        let mut counts = in_order(of_order().map(|cell| cell.active.len()));
        counts.sort_unstable();
        let point = |threads: usize| {
            let of_count = || of_order().filter(|cell| cell.active.len() == threads);
            let (most, kernel) = most(counting, of_count())?;
            let variant = of_count().find(|cell| cell.workload == kernel)?.text("variant")?;
            Some(ScalingPoint { threads, most, kernel, variant })
        };
        Grown { order, points: counts.into_iter().filter_map(point).collect() }
    };
    let orders = in_order(cells.iter().filter_map(|cell| cell.text("order")));
    orders.into_iter().map(of_order).filter(|grown| !grown.points.is_empty()).collect()
}

/// A table for each order, and the plot.
pub(in super::super) fn blocks(record: &Record) -> Vec<Block> {
    let cells = cells(record, "scaling");
    if cells.is_empty() {
        return Vec::new();
    }
    let counting = Counting::of(record);
    let orders = grown(counting, &cells);
    let mut blocks = vec![Block::Heading(format!(
        "Bandwidth by number of threads{}",
        through(&counting.extents(&cells))
    ))];
    for grown in &orders {
        blocks.push(table(counting, counting.words(&cells), grown));
        blocks.extend(saturation(counting, grown));
    }
    let line = |grown: &Grown<'_>| {
        let points: Vec<(f64, f64)> = grown
            .points
            .iter()
            .map(|point| (point.threads as f64, counting.in_unit(point.most)))
            .collect();
        (points.len() > 1).then(|| (grown.order.to_owned(), points))
    };
    let lines: Vec<_> = orders.iter().filter_map(line).collect();
    if !lines.is_empty() {
        blocks.push(Block::Lines(Lines {
            caption: "Highest bandwidth by number of threads".to_owned(),
            x: "threads".to_owned(),
            y: counting.unit().to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach: None,
            lines,
            marks: Vec::new(),
        }));
    }
    blocks.extend(counting.left_out(&cells, "bandwidth").map(note));
    blocks.extend(placement(&cells, "bandwidth"));
    blocks.extend(modes(&cells, "bandwidth", |asked| counting.words_of(asked)));
    blocks
}

fn table(counting: Counting<'_>, words: &str, grown: &Grown<'_>) -> Block {
    let all = grown.points.iter().map(|point| point.most).fold(0.0, f64::max);
    let row = |point: &ScalingPoint<'_>| {
        vec![
            Text::from(point.threads.to_string()),
            counting.text(point.most).into(),
            counting.text(point.most / point.threads as f64).into(),
            format!("{:.0} %", point.most / all * 100.0).into(),
            point.kernel.into(),
            point.variant.into(),
        ]
    };
    Table::of(format!("{}: highest bandwidth, {} {}", grown.order, counting.unit(), words))
        .right("threads")
        .right("maximum")
        .right("per core")
        .right("of the most")
        .left("kernel")
        .left("variant")
        .rows(grown.points.iter().map(row))
        .into()
}

/// The first of some numbers of threads, the fewest first, that has nearly all that any of them has.
fn saturates(points: &[(usize, f64)]) -> Option<usize> {
    let most = points.iter().map(|point| point.1).reduce(f64::max)?;
    points.iter().position(|point| point.1 >= SATURATED * most)
}

/// What one kernel moves on ever more cores; of one package alone, or of all.
fn points(topology: &Topology, cells: &[Cell<'_>], one_package: bool) -> Vec<(usize, f64)> {
    let package = |cpu| topology.place(cpu).map(|place| place.package);
    let packages =
        |cell: &Cell<'_>| cell.active.iter().filter_map(package).collect::<BTreeSet<_>>().len();
    let mut points: Vec<(usize, f64)> = cells
        .iter()
        .filter(|cell| cell.workload == ALONE && (!one_package || packages(cell) == 1))
        .filter_map(|cell| Some((cell.active.len(), cell.main_median("bandwidth")?)))
        .collect();
    points.sort_unstable_by_key(|point| point.0);
    points
}

/// A curve of fewer points says nothing of where it ends.
const POINTS_MIN: usize = 3;

/// The fewest cores of one package that have nearly all that it gives, where there are more of both.
pub(in super::super) fn of_one_package(
    topology: &Topology,
    cells: &[Cell<'_>],
) -> Option<(usize, f64)> {
    let (all, one) = (points(topology, cells, false), points(topology, cells, true));
    let enough = saturates(&one).filter(|enough| enough + 1 < one.len())?;
    (one.len() >= POINTS_MIN && all.len() > one.len()).then(|| one[enough])
}

/// For the sheet: what one kernel moves on ever more cores, and where more of them add nothing.
pub(in super::super) fn in_brief(
    counting: Counting<'_>,
    topology: &Topology,
    cells: &[Cell<'_>],
) -> Option<Block> {
    let kernel = ALONE;
    let points = points(topology, cells, false);
    if points.len() < POINTS_MIN {
        return None;
    }
    let mark = |of: &str, (threads, asked): (usize, f64)| Mark {
        at: threads as f64,
        text: format!(
            "{:.0} % of the most{of} with {}: {} {}",
            SATURATED * 100.0,
            tally(threads, "core"),
            counting.text(asked),
            counting.unit()
        ),
    };
    let one = of_one_package(topology, cells).map(|enough| mark(" of one package", enough));
    let all = saturates(&points).map(|enough| mark("", points[enough]));
    let line = points.iter().map(|(threads, asked)| (*threads as f64, counting.in_unit(*asked)));
    Some(Block::Lines(Lines {
        caption: format!("{kernel} by number of cores, {AS_ASKED}"),
        x: "cores".to_owned(),
        y: counting.unit().to_owned(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        reach: None,
        lines: vec![(kernel.to_owned(), line.collect())],
        marks: all.into_iter().chain(one).collect(),
    }))
}

/// The fewest threads that have nearly all that any number of them has.
fn saturation(counting: Counting<'_>, grown: &Grown<'_>) -> Option<Block> {
    let all = grown.points.iter().map(|point| point.most).reduce(f64::max)?;
    let last = grown.points.last().filter(|last| last.threads > 1)?.threads;
    let points: Vec<(usize, f64)> =
        grown.points.iter().map(|point| (point.threads, point.most)).collect();
    let at = saturates(&points)?;
    let enough = &grown.points[at];
    // Not every number of threads is measured on a large machine.
    let before = at.checked_sub(1).map_or(0, |before| grown.points[before].threads);
    let fewest = if before + 1 < enough.threads {
        format!("{} to {}", before + 1, tally(enough.threads, "thread"))
    } else {
        tally(enough.threads, "thread")
    };
    let between = if before + 1 < enough.threads {
        format!(": {before} do not have it, {} do, and none between was measured", enough.threads)
    } else {
        String::new()
    };
    let text = format!(
        "{}: it takes {fewest} of {last} to reach {:.0} % of the most ({} of {} {}){between}.",
        grown.order,
        SATURATED * 100.0,
        counting.text(enough.most),
        counting.text(all),
        counting.unit()
    );
    Some(Block::Paragraph(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, place, series};

    fn moved(record: &mut Record, [kernel, active, moved]: [&str; 3], asked: f64) {
        let parameters = [
            ("question", "scaling"),
            ("order", "near"),
            ("variant", "it"),
            ("moved_per_asked", moved),
        ];
        record.series.push(series(
            ["memory", kernel, "bandwidth"],
            active,
            &parameters,
            &[&[asked]],
        ));
    }

    #[test]
    fn bandwidth_saturates_at_the_first_point_with_nearly_all_of_the_most() {
        // 95 % of 20 are 19.
        assert_eq!(saturates(&[(1, 10.0), (2, 19.1), (4, 20.0), (8, 18.0)]), Some(1));
        assert_eq!(saturates(&[(1, 10.0), (2, 18.9), (4, 20.0), (8, 18.0)]), Some(2));
        assert_eq!(saturates(&[(4, 7.0)]), Some(0));
        assert_eq!(saturates(&[]), None);
    }

    #[test]
    fn the_most_of_some_threads_is_that_of_the_kernel_that_moves_most() {
        let mut record = blank();
        // Of two threads copy moves 20 x 3/2 = 30, triad 24 x 4/3 = 32; of one 15 and 14.67.
        moved(&mut record, ["copy", "0-1", "3/2"], 20e9);
        moved(&mut record, ["triad", "0-1", "4/3"], 24e9);
        moved(&mut record, ["triad", "0", "4/3"], 11e9);
        moved(&mut record, ["copy", "0", "3/2"], 10e9);
        let grown = grown(Counting::of(&record), &cells(&record, "scaling"));
        let points: Vec<(usize, &str)> =
            grown[0].points.iter().map(|point| (point.threads, point.kernel)).collect();
        assert_eq!(points, [(1, "copy"), (2, "triad")]);
        near(grown[0].points[0].most, 15e9);
        near(grown[0].points[1].most, 32e9);
    }

    #[test]
    fn one_package_saturates_apart_from_both() {
        let mut record = blank();
        place(&mut record, &["0-3", "4-7"]);
        for (active, asked) in [("0", 10e9), ("0-1", 19.1e9), ("0-2", 20e9), ("0-3", 19.9e9)] {
            moved(&mut record, ["copy", active, "3/2"], asked);
        }
        let enough =
            |record: &Record| of_one_package(&record.machine.topology, &cells(record, "scaling"));
        // Where all cores are those of one package, that is said of all.
        assert_eq!(enough(&record), None);
        moved(&mut record, ["copy", "0-7", "3/2"], 39e9);
        assert_eq!(enough(&record), Some((2, 19.1e9)));
    }
}
