//! The area's key figures: the clock of one core and of all, and the multiply-adds of all.

use model::Unit;
use model::areas::turbo::{HEAVY, LIGHT, promise};
use model::licence::Licence;
use model::page::{si, tally};
use model::record::Record;

use super::AREA;
use super::claims::{AS_CLAIMED, Peak};
use super::clock_account;
use super::published_licences::PublishedCpu;
use super::read::{Pooled, WorkloadRow, active_counts, core_types, pooled_of, rows, summary};
use crate::figure::{KeyFigure, Standing};

pub(super) fn figures(record: &Record) -> Vec<KeyFigure> {
    let counts = active_counts(record);
    let (Some(&fewest), Some(&most)) = (counts.first(), counts.last()) else { return Vec::new() };
    let has_clock =
        |id: &&str| [fewest, most].iter().any(|n| summary(record, "clock", id, *n).is_some());
    let widest = HEAVY.into_iter().find(has_clock);
    let streams = [Some((LIGHT, "scalar".to_owned())), widest.map(|id| (id, width(record, id)))];
    let rows = rows(record);
    let mut figures = Vec::new();
    let kinds = core_types(record);
    for (stream, words) in streams.into_iter().flatten() {
        // Which core is alone is said where there are several types.
        let first = kinds.first().copied();
        figures.extend(clock(record, &rows, (stream, &words), (fewest, first)));
        if most > fewest && kinds.is_empty() {
            let of_all = clock(record, &rows, (stream, &words), (most, None));
            figures.extend(
                of_all.map(|figure| KeyFigure { curve: curve(record, stream, &counts), ..figure }),
            );
        } else if most > fewest {
            let of_kind = |kind| clock(record, &rows, (stream, &words), (most, Some(kind)));
            figures.extend(kinds.iter().copied().filter_map(of_kind));
        }
    }
    figures.extend(Peak::of(record).map(|peak| peak.figure()));
    figures
}

/// `512-bit FMA`.
fn width(record: &Record, stream: &str) -> String {
    let bits = record.run.plan.workload(stream).and_then(|workload| workload.width_bits);
    bits.map_or("FMA".to_owned(), |bits| format!("{bits}-bit FMA"))
}

fn clock<'a>(
    record: &'a Record,
    rows: &[WorkloadRow<'a>],
    (stream, words): (&'static str, &str),
    (cores, kind): (usize, Option<&'a str>),
) -> Option<KeyFigure> {
    let whose = kind.map_or(String::new(), |kind| format!(", {kind}"));
    let name = format!("clock, {}{whose}, {words}", tally(cores, "core"));
    let summary = match pooled_of(record, "clock", stream, (cores, kind))? {
        Pooled::Measured { summary, .. } => summary,
        Pooled::Absent(reason) => return Some(KeyFigure::absent(name, reason.why)),
    };
    let of_cores = |row: &&WorkloadRow<'_>| row.workload == stream && row.active.len() == cores;
    let mut of_cores = rows.iter().filter(of_cores);
    // A row may be of one type of core, or have all types.
    let row = match kind {
        None => of_cores.next().cloned(),
        Some(kind) => {
            of_cores.map(|row| row.on_type(record, kind)).find(|row| !row.of("clock").is_empty())
        }
    };
    let series = row.as_ref().map(|row| row.of("clock")).unwrap_or_default();
    let is_doubtful = !series.is_empty() && series.iter().all(|series| series.is_doubtful());
    let promised = row.as_ref().and_then(|row| clock_account::promised(record, row));
    let figure = KeyFigure::of(name, summary.median, Unit::Hertz)
        .known_to(summary.relative_uncertainty())
        .doubted(is_doubtful)
        .normally(promised.map(around), "the turbo limits that firmware states")
        .result(AREA, stream, "clock", cores);
    let standing =
        row.filter(|_| promised.is_none()).and_then(|row| published(record, &row, summary.median));
    Some(KeyFigure { standing: standing.unwrap_or(figure.standing), ..figure })
}

/// What is as good as a clock: limits are multiples of 100 MHz, and clocks jitter.
fn around(hertz: f64) -> [f64; 2] {
    [1.0 - AS_CLAIMED, 1.0 + AS_CLAIMED].map(|end| end * hertz)
}

/// How a clock stands to the published one of such a CPU, where firmware states none: that of the licence of its stream,
/// for the number of cores that were active in a package.
fn published(record: &Record, row: &WorkloadRow<'_>, clock: f64) -> Option<Standing> {
    let cpu = PublishedCpu::of(record)?;
    let licence = record.run.plan.licence(row.workload);
    let active = promise::busiest(&record.machine.topology, row.active);
    let hertz = cpu.hertz(licence, active)?;
    let normal = around(hertz);
    let said = format!(
        "published {} (turbo table of the {}, {}, {}: {})",
        si::format(hertz, Unit::Hertz),
        cpu.brand,
        tally(active, "core"),
        licence.word(),
        cpu.source
    );
    Some(if clock > normal[1] {
        Standing::CannotTell { why: format!("faster than {said}") }
    } else if clock < normal[0] && licence != Licence::Plain {
        // The table is of what licences allow; power often allows heavy code less.
        Standing::CannotTell { why: format!("power may keep it below {said}") }
    } else {
        Standing::Known { normal, source: said }
    })
}

fn curve(record: &Record, stream: &str, counts: &[usize]) -> Vec<(usize, f64)> {
    let point = |count: &usize| Some((*count, summary(record, "clock", stream, *count)?.median));
    counts.iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{multiply_adds, near, say, turbo};

    #[track_caller]
    fn is_normal_in(figure: &KeyFigure, [low, high]: [f64; 2]) {
        let Standing::Known { normal, .. } = &figure.standing else { panic!("{figure:?}") };
        near(normal[0], low);
        near(normal[1], high);
    }

    #[test]
    fn clock_figures_are_normal_within_a_hundredth_of_their_limits() {
        let record = turbo(&[(LIGHT, "0", 3500.0), (LIGHT, "0-1", 3300.0), (LIGHT, "0-3", 2640.0)]);
        let figures = figures(&record);
        let [one, all] = &figures[..] else { panic!("{figures:?}") };
        near(one.value().unwrap(), 3500e6);
        // 3,500 MHz less and more 35; 3,000 less and more 30.
        is_normal_in(one, [3465e6, 3535e6]);
        is_normal_in(all, [2970e6, 3030e6]);
        near(one.off().unwrap(), 0.0);
        // 2,640 of 3,000 MHz.
        near(all.off().unwrap(), -0.12);
        // The curve is that of all cores alone.
        assert_eq!(all.curve, [(1, 3500e6), (2, 3300e6), (4, 2640e6)]);
        assert!(one.curve.is_empty());
    }

    #[test]
    fn clock_without_a_limit_of_firmware_is_held_against_the_published_table() {
        let standing = |mhz, stream| {
            let mut record = turbo(&[(stream, "0", mhz)]);
            record.machine.turbo_limits.clear();
            say(&mut record, "cpu.brand", "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz");
            figures(&record).remove(0)
        };
        // data/licences.toml: 3,700 MHz of one core under plain code, 3,500 under heavy code of 512 bits.
        let near_it = standing(3690.0, LIGHT);
        is_normal_in(&near_it, [3663e6, 3737e6]);
        let Standing::Known { source, .. } = &near_it.standing else { panic!() };
        let said = "published 3.700 GHz (turbo table of the Gold 6130, 1 core, plain: avx-turbo 3)";
        assert_eq!(source, said);
        assert_eq!(near_it.off(), Some(0.0));
        near(standing(3256.0, LIGHT).off().unwrap(), -0.12);
        // Faster is no such CPU, and slower heavy code is what power allows.
        for (mhz, stream) in [(3800.0, LIGHT), (3300.0, HEAVY[0])] {
            let found = standing(mhz, stream).standing;
            assert!(matches!(found, Standing::CannotTell { .. }), "{stream}: {found:?}");
        }
    }

    #[test]
    fn fp64_figure_below_its_band_is_twelve_per_cent_low() {
        // 2 cores x 8 doubles x 2 x 2 units x 2 GHz = 128 GFLOP/s, of which 95 % are 121.6 and 105 % 134.4. 12 % below
        // 121.6 are 107.008: 32 operations in 0.299043 ns.
        let record = multiply_adds(2000.0, &[32.0 / 107.008; 5]);
        let figures = figures(&record);
        let [clock, peak] = &figures[..] else { panic!("{figures:?}") };
        near(clock.value().unwrap(), 2000e6);
        near(peak.value().unwrap(), 107.008e9);
        is_normal_in(peak, [121.6e9, 134.4e9]);
        near(peak.off().unwrap(), -0.12);
        assert_eq!(peak.uncertainty, Some(0.0));
    }

    #[test]
    fn clock_figure_of_wide_code_without_a_table_has_no_reference() {
        // Turbo limits promise nothing to code of another licence.
        let record = multiply_adds(2000.0, &[0.25; 5]);
        assert_eq!(figures(&record)[0].standing, Standing::NoReference);
    }
}
