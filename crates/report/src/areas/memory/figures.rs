//! The area's key figures: the bandwidth of one core and of all, and the latency of each level.

use model::Unit;
use model::page::{si, tally};
use model::record::Record;

use super::byte_accounting::Counting;
use super::cache_boundaries::Whose;
use super::read::{Cell, alone, cells};
use super::shown::sweep::{Sweep, name, sweeps};
use super::{ALONE, AREA};
use crate::band::Band;
use crate::figure::KeyFigure;

pub(super) fn figures(record: &Record) -> Vec<KeyFigure> {
    let bands = super::bands(record);
    let mut figures = bandwidths(record, &bands);
    figures.extend(latencies(record, &bands));
    figures
}

/// Of the kernel that stands for all, on the fewest cores and on the most.
fn bandwidths(record: &Record, bands: &[Band]) -> Vec<KeyFigure> {
    let counting = Counting::of(record);
    let mut copies = cells(record, "bandwidth");
    copies.retain(|cell| cell.workload == ALONE);
    copies.sort_by_key(|cell| cell.active.len());
    let choice = copies.first().and_then(|cell| cell.text("choice"));
    copies.retain(|cell| cell.text("choice") == choice);
    let topology = &record.machine.topology;
    let first_type = copies.first().and_then(|cell| alone(topology, cell.active));
    let is_first =
        |cell: &Cell<'_>| alone(topology, cell.active).is_none_or(|it| Some(it) == first_type);
    let figure = |cell: &Cell<'_>| {
        let cores = tally(cell.active.len(), "core");
        let kind = alone(topology, cell.active).map_or(String::new(), |kind| format!(", {kind}"));
        let values = values(counting, cell)?;
        let name = format!("memory {ALONE}, {cores}{kind}");
        let band = bands.iter().find(|band| band.what == format!("{ALONE} on {cores}"));
        let figure = KeyFigure::of(name, values[0], Unit::BytePerSecond);
        let figure = KeyFigure { values: Ok(values), ..figure }
            .known_to(cell.numbers("bandwidth")?.uncertainty)
            .doubted(cell.is_doubtful("bandwidth"))
            .within(band);
        // Results are known by the number of cores alone.
        let is_known = is_first(cell);
        Some(if is_known {
            figure.result(AREA, ALONE, "bandwidth", cell.active.len())
        } else {
            figure
        })
    };
    let ends = [copies.first(), copies.last()].map(|cell| cell.map(|cell| cell.active.len()));
    let ends = copies.iter().filter(|cell| ends.contains(&Some(cell.active.len())));
    let mut figures: Vec<KeyFigure> = ends.filter_map(figure).collect();
    if let [_, .., all] = figures.as_mut_slice() {
        let point = |cell: &Cell<'_>| Some((cell.active.len(), values(counting, cell)?[0]));
        all.curve = copies.iter().filter(|cell| is_first(cell)).filter_map(point).collect();
    }
    figures
}

/// The medians of the groups that samples fall into, the largest group first.
fn values(counting: Counting<'_>, cell: &Cell<'_>) -> Option<Vec<f64>> {
    let numbers = cell.numbers("bandwidth")?;
    let mut asked = vec![numbers.median];
    let modes = numbers.modes().unwrap_or_default();
    asked.extend(
        modes
            .iter()
            .map(|mode| mode.median)
            .filter(|median| median.total_cmp(&numbers.median).is_ne()),
    );
    asked.into_iter().map(|asked| counting.headline(cell, asked)).collect()
}

/// Of each level that is claimed, and of memory.
fn latencies(record: &Record, bands: &[Band]) -> Vec<KeyFigure> {
    let mut sweeps = sweeps(record).into_iter();
    let Some(sweep) = sweeps.next() else { return Vec::new() };
    let claimed = sweep.claims.iter().map(|claim| Whose::Cache(*claim));
    // What lies beyond caches may not be memory alone.
    let is_beyond = |whose: &Whose| matches!(whose, Whose::Beyond(_));
    let beyond = sweep.levels.iter().map(|level| level.whose).find(is_beyond);
    let levels = claimed.chain([beyond.unwrap_or(Whose::Memory)]).map(|whose| {
        let level = name(whose);
        if is_beyond(&whose) {
            let found = sweep.levels.iter().find(|it| is_beyond(&it.whose));
            let mixed = found.map_or(String::new(), |it| {
                format!(" ({})", si::format(sweep.seconds(it), Unit::Second))
            });
            let why = format!("the largest array fits into caches in part{mixed}: more `--budget`");
            return KeyFigure::absent("latency, memory", why);
        }
        let figure_name = format!("latency, {level}");
        let Some(found) = sweep.levels.iter().find(|it| name(it.whose) == level) else {
            return KeyFigure::absent(figure_name, "no plateau among the sizes measured");
        };
        let band = bands.iter().find(|band| band.what == format!("latency of {level}"));
        KeyFigure::of(figure_name, sweep.seconds(found), Unit::Second).within(band)
    });
    // Of further types of cores the sheet follows pointers in memory alone.
    let of_type = |sweep: Sweep<'_>| {
        let kind = record.machine.topology.kind(sweep.cpu)?;
        let name = format!("latency, memory, {kind}");
        Some(KeyFigure::of(name, sweep.beyond()?, Unit::Second))
    };
    levels.chain(sweeps.filter_map(of_type)).collect()
}

#[cfg(test)]
mod tests {
    use model::areas::memory::{CHASE, QUESTION};

    use super::*;
    use crate::testing::{blank, cache, near, series};

    fn copies(of: &[(&str, &[&[f64]])]) -> Record {
        let parameters = [(QUESTION, "bandwidth"), ("moved_per_asked", "3/2")];
        let mut record = blank();
        let one = |(active, blocks): &(&str, &[&[f64]])| {
            series([AREA, ALONE, "bandwidth"], active, &parameters, blocks)
        };
        record.series = of.iter().map(one).collect();
        record
    }

    #[test]
    fn copy_on_fewest_and_most_cores_has_write_allocate_and_the_curve_between() {
        let record = copies(&[
            ("0-3", &[&[19e9], &[20e9], &[20e9], &[20e9], &[21e9]]),
            ("0", &[&[10e9]]),
            ("0-1", &[&[18e9]]),
        ]);
        let figures = figures(&record);
        let [one, all] = figures.as_slice() else { panic!("{figures:?}") };
        // 1.5 bytes for each that is asked for: 10, 18 and 20 GB/s are 15, 27 and 30.
        near(one.value().unwrap(), 15e9);
        near(all.value().unwrap(), 30e9);
        assert_eq!(
            (one.name.as_str(), all.name.as_str()),
            ("memory copy, 1 core", "memory copy, 4 cores")
        );
        // From 19 to 21 around 20.
        near(all.uncertainty.unwrap(), 0.05);
        assert_eq!(all.curve, [(1, 15e9), (2, 27e9), (4, 30e9)]);
        assert!(one.curve.is_empty() && one.uncertainty.is_none());
    }

    #[test]
    fn copy_in_two_modes_has_both_the_larger_first() {
        let record = copies(&[("0", &[&[60e9, 60e9, 60e9, 110e9, 110e9, 110e9, 110e9, 110e9]])]);
        // 1.5 x 110 and 1.5 x 60.
        assert_eq!(figures(&record)[0].values, Ok(vec![165e9, 90e9]));
    }

    #[test]
    fn a_level_that_no_size_shows_has_a_figure_without_a_value() {
        const MIB: u64 = 1 << 20;
        let mut record = blank();
        for (level, bytes) in [(1, 48 << 10), (2, MIB), (3, 32 * MIB)] {
            cache(&mut record, level, bytes, &["0"]);
        }
        // Nothing between 32 KiB and 128 MiB; 4 x (1 + 32) MiB are less than 256 MiB.
        for (bytes, seconds) in
            [(16 << 10, 1e-9), (32 << 10, 1e-9), (128 * MIB, 90e-9), (256 * MIB, 90e-9)]
        {
            let parameters = [(QUESTION, "sweep"), ("footprint", &bytes.to_string())];
            record.series.push(series([AREA, CHASE, "latency"], "0", &parameters, &[&[seconds]]));
        }
        let found: Vec<(String, Option<f64>)> =
            figures(&record).into_iter().map(|it| (it.name.clone(), it.value())).collect();
        let expected = [("L1", Some(1e-9)), ("L2", None), ("L3", None), ("memory", Some(90e-9))];
        assert_eq!(found, expected.map(|(level, value)| (format!("latency, {level}"), value)));
    }
}
