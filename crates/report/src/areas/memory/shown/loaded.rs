//! What one access costs while others move data.

use model::page::tally;
use model::page::{Block, Lines, Mark, Scale, Table, Text};
use model::record::Record;

use super::super::byte_accounting::Counting;
use super::super::read::{Cell, cells, in_order};
use super::factors::POINTS_MIN;
use super::{dash, modes, nanoseconds, note, placement, size, through};

/// The knee is where latency has grown this much.
const KNEE: f64 = 1.5;

/// What others move, and the latency beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct LoadPoint {
    /// Bytes per second, in the headline's counting.
    pub(in super::super) moved: f64,
    /// Seconds.
    pub(in super::super) latency: f64,
}

/// Latency by what others move, for one mix of reads and writes.
pub(in super::super) struct Mix<'a> {
    pub(in super::super) name: &'a str,
    /// Ascending by what is moved.
    pub(in super::super) points: Vec<LoadPoint>,
}

/// What was found.
pub(in super::super) struct Loaded<'a> {
    /// Latency while nothing else moves data, in seconds.
    pub(in super::super) idle: Option<f64>,
    pub(in super::super) mixes: Vec<Mix<'a>>,
    cells: Vec<Cell<'a>>,
}

/// Reads it, where there is any.
pub(in super::super) fn loaded(record: &Record) -> Option<Loaded<'_>> {
    let cells = cells(record, "loaded");
    let counting = Counting::of(record);
    let idle = cells.iter().find(|cell| cell.text("mix").is_none());
    let idle = idle.and_then(|cell| cell.main_median("latency"));
    let mix = |name| {
        let of_mix = cells.iter().filter(|cell| cell.text("mix") == Some(name));
        let point = |cell: &Cell<'_>| {
            Some(LoadPoint {
                moved: counting.headline(cell, cell.main_median("background")?)?,
                latency: cell.main_median("latency")?,
            })
        };
        let mut points: Vec<LoadPoint> = of_mix.filter_map(point).collect();
        points.sort_by(|a, b| a.moved.total_cmp(&b.moved));
        Mix { name, points }
    };
    let names = in_order(cells.iter().filter_map(|cell| cell.text("mix")));
    let mut mixes: Vec<Mix<'_>> =
        names.into_iter().map(mix).filter(|mix| !mix.points.is_empty()).collect();
    // What only reads is what the others are compared with.
    mixes.sort_by_key(|mix| mix.name.contains("write"));
    let found = idle.is_some() || !mixes.is_empty();
    found.then_some(Loaded { idle, mixes, cells })
}

impl Mix<'_> {
    /// The point with most traffic.
    pub(in super::super) fn most(&self) -> Option<LoadPoint> {
        self.points.last().copied()
    }

    /// What others move where latency has grown by half, between the points around it. Where the first
    /// point is beyond it, it lies anywhere below that, and is none.
    pub(in super::super) fn knee(&self, idle: f64) -> Option<Knee> {
        /// The curve bends between points: where they are farther apart, a straight line says nothing.
        const NEAR: f64 = 1.3;
        let limit = KNEE * idle;
        let pairs = self.points.iter().zip(self.points.iter().skip(1));
        self.points.first().filter(|first| first.latency < limit)?;
        let (before, after) = pairs.into_iter().find(|(_, after)| after.latency >= limit)?;
        if after.moved > before.moved * NEAR {
            return Some(Knee::Between(before.moved, after.moved));
        }
        let rise = after.latency - before.latency;
        let share = if rise > 0.0 { (limit - before.latency) / rise } else { 1.0 };
        Some(Knee::At(before.moved + (after.moved - before.moved) * share.clamp(0.0, 1.0)))
    }
}

/// Where latency has grown by half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) enum Knee {
    /// Here, between two points that are near each other.
    At(f64),
    /// Somewhere between these two, where nothing was measured.
    Between(f64, f64),
}

/// The table of mixes, the plot, and all points for those who ask for more.
pub(in super::super) fn blocks(record: &Record, verbosity: u8) -> Vec<Block> {
    let Some(loaded) = loaded(record) else { return Vec::new() };
    let counting = Counting::of(record);
    let mut blocks = vec![Block::Heading(heading(counting, &loaded))];
    blocks.extend(setting(&loaded));
    blocks.push(table(counting, &loaded));
    blocks.extend(plot(counting, &loaded));
    blocks.extend(placement(&loaded.cells, "latency"));
    blocks.extend(modes(&loaded.cells, "background", |asked| counting.words_of(asked)));
    blocks
        .extend(modes(&loaded.cells, "latency", |seconds| format!("{} ns", nanoseconds(seconds))));
    if verbosity > 0 {
        blocks.push(all_points(counting, &loaded));
    }
    blocks
}

/// The heading, with what others move through.
pub(in super::super) fn heading(counting: Counting<'_>, loaded: &Loaded<'_>) -> String {
    format!("Latency while others move data{}", through(&counting.extents(&loaded.cells)))
}

/// Who follows pointers, and who moves data.
fn setting(loaded: &Loaded<'_>) -> Option<Block> {
    let cell = loaded.cells.iter().find(|cell| cell.text("mix").is_some())?;
    let chaser = cell.active.iter().next()?;
    let limited = cell.limited();
    Some(note(format!(
        "CPU {chaser} follows pointers over {}; {} of CPUs {} beside it, with ever shorter \
         pauses{limited}",
        size(cell.number("footprint")?),
        tally(cell.active.len().saturating_sub(1), "thread"),
        cell.active
    )))
}

/// Knee and maximum of each mix.
pub(in super::super) fn table(counting: Counting<'_>, loaded: &Loaded<'_>) -> Block {
    let knee = |mix: &Mix<'_>| mix.knee(loaded.idle?);
    let row = |mix: &Mix<'_>| {
        let most = mix.most();
        let first = mix.points.first().zip(loaded.idle);
        let below = match first.filter(|(first, idle)| first.latency >= KNEE * idle) {
            Some((first, _)) => format!("below {}", counting.text(first.moved)),
            None => "not reached".to_owned(),
        };
        let growth = loaded.idle.zip(most).map(|(idle, most)| most.latency / idle);
        vec![
            Text::from(mix.name),
            loaded.idle.map_or_else(dash, |idle| nanoseconds(idle).into()),
            Text::from(match knee(mix) {
                Some(Knee::At(knee)) => counting.text(knee),
                Some(Knee::Between(low, high)) => {
                    format!("{} - {}", counting.text(low), counting.text(high))
                }
                None => below,
            }),
            most.map_or_else(dash, |most| counting.text(most.moved).into()),
            most.map_or_else(dash, |most| nanoseconds(most.latency).into()),
            growth.map_or_else(dash, |growth| format!("{growth:.2}").into()),
        ]
    };
    let method = format!(
        "knee: what others move where latency is {KNEE} times that of an idle machine; bytes are \
         counted {}",
        counting.words(&loaded.cells)
    );
    let mut legend = Vec::new();
    if loaded.mixes.iter().any(|mix| matches!(knee(mix), Some(Knee::Between(..)))) {
        legend.push(
            "a knee with two ends: nothing was measured between them; `cpudyno memory loaded` measures more".to_owned(),
        );
    }
    legend.extend(counting.left_out(&loaded.cells, "background"));
    Table::of(format!("latency in ns by what others move in {}", counting.unit()))
        .left("mix")
        .right("idle ns")
        .right("knee")
        .right("maximum")
        .right("ns there")
        .right("of idle")
        .rows(loaded.mixes.iter().map(row))
        .legend(legend)
        .notes([method])
        .into()
}

pub(in super::super) fn plot(counting: Counting<'_>, loaded: &Loaded<'_>) -> Option<Block> {
    let idle = loaded.idle.map(|latency| LoadPoint { moved: 0.0, latency });
    let line = |mix: &Mix<'_>| {
        let points: Vec<(f64, f64)> = idle
            .iter()
            .chain(&mix.points)
            .map(|point| (counting.in_unit(point.moved), point.latency * 1e9))
            .collect();
        (points.len() >= POINTS_MIN).then(|| (mix.name.to_owned(), points))
    };
    let mark = |mix: &Mix<'_>| {
        let Knee::At(knee) = mix.knee(loaded.idle?)? else { return None };
        let text = format!("knee of {}: {} {}", mix.name, counting.text(knee), counting.unit());
        Some(Mark { at: counting.in_unit(knee), text })
    };
    let lines: Vec<_> = loaded.mixes.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| {
        Block::Lines(Lines {
            caption: "Latency by background bandwidth".to_owned(),
            x: format!("{} {}", counting.unit(), counting.words(&loaded.cells)),
            y: "ns".to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            reach: None,
            lines,
            marks: loaded.mixes.iter().filter_map(mark).collect(),
        })
    })
}

fn all_points(counting: Counting<'_>, loaded: &Loaded<'_>) -> Block {
    let rows = loaded.mixes.iter().flat_map(|mix| {
        mix.points.iter().map(|point| {
            vec![
                Text::from(mix.name),
                counting.text(point.moved).into(),
                nanoseconds(point.latency).into(),
            ]
        })
    });
    Table::of("every point").left("mix").right(counting.unit()).right("ns").rows(rows).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, series};

    /// Knee of points of GB/s and ns, where an access takes 100 ns on an idle machine.
    fn knee(points: &[(f64, f64)]) -> Option<Knee> {
        let point = |(moved, ns): &(f64, f64)| LoadPoint { moved: moved * 1e9, latency: ns * 1e-9 };
        Mix { name: "read", points: points.iter().map(point).collect() }.knee(100e-9)
    }

    #[test]
    fn a_knee_lies_between_near_points_where_latency_has_grown_by_half() {
        // 150 ns are half of the way from 120 to 180.
        let Some(Knee::At(at)) = knee(&[(5.0, 110.0), (10.0, 120.0), (12.0, 180.0), (13.0, 300.0)])
        else {
            panic!("it has one")
        };
        near(at, 11e9);
        let Some(Knee::At(at)) = knee(&[(10.0, 120.0), (12.9, 195.0)]) else {
            panic!("it has one")
        };
        // 30 of 75 ns: two fifths of 2.9.
        near(at, 11.16e9);
    }

    #[test]
    fn a_knee_between_points_a_third_apart_is_anywhere_between() {
        assert_eq!(knee(&[(10.0, 120.0), (13.1, 180.0)]), Some(Knee::Between(10e9, 13.1e9)));
        // Before the first point, or after the last, it is nowhere.
        assert_eq!(knee(&[(10.0, 150.1), (11.0, 180.0)]), None);
        assert_eq!(knee(&[(10.0, 120.0), (11.0, 149.9)]), None);
        assert_eq!(knee(&[]), None);
    }

    #[test]
    fn points_of_a_mix_ascend_by_what_is_moved_and_reads_come_first() {
        let mut record = blank();
        let mut put = |more: &[(&str, &str)], quantity: &str, value: f64| {
            let parameters = [&[("question", "loaded")], more].concat();
            let of = ["memory", "chase", quantity];
            record.series.push(series(of, "0-3", &parameters, &[&[value]]));
        };
        let mut point = |mix: &str, moved: &str, pause: &str, asked: f64, latency: f64| {
            let more = [("mix", mix), ("moved_per_asked", moved), ("pause", pause)];
            put(&more, "background", asked);
            put(&more, "latency", latency);
        };
        point("read and write", "3/2", "0", 40e9, 200e-9);
        point("read", "1/1", "0", 80e9, 160e-9);
        point("read", "1/1", "9", 20e9, 101e-9);
        put(&[], "latency", 100e-9);
        let found = loaded(&record).unwrap();
        near(found.idle.unwrap(), 100e-9);
        let names: Vec<&str> = found.mixes.iter().map(|mix| mix.name).collect();
        assert_eq!(names, ["read", "read and write"]);
        let at = |moved, latency| LoadPoint { moved, latency };
        assert_eq!(found.mixes[0].points, [at(20e9, 101e-9), at(80e9, 160e-9)]);
        // 3/2 x 40 GB/s.
        assert_eq!(found.mixes[1].most(), Some(at(60e9, 200e-9)));
    }
}
