//! Matrices made by hand: changes, what is believed, and what is lost.

use super::*;
use crate::areas::turbo::accounts;
use crate::testing::{blank, near, promise, series as made};

#[test]
fn fewer_blocks_than_chance_needs_say_so() {
    for blocks in 1..20u64 {
        let one_sided = vec![0.5; blocks as usize];
        let is_hopeless = chance_of_sides(&one_sided, 1.0) > 0.05;
        assert_eq!(too_few(blocks).is_some(), is_hopeless, "{blocks}");
    }
    assert_eq!(too_few(0), None, "nothing was measured");
}

const OTHERS: &str = "other cores";

/// A number of a victim on CPU 0 in each block, while other cores execute a class.
fn beside(victim: &str, quantity: &str, class: &str, blocks: &[f64]) -> Series {
    let blocks: Vec<[f64; 1]> = blocks.iter().map(|it| [*it]).collect();
    let blocks: Vec<&[f64]> = blocks.iter().map(|block| &block[..]).collect();
    let parameters = [(STREAM, LIGHT), (BESIDE, class), (PLACE, OTHERS)];
    made([AREA, victim, quantity], "0-3", &parameters, &blocks)
}

fn ratio(class: &str, blocks: &[f64]) -> Series {
    beside(SCALAR, CLOCK.ratio, class, blocks)
}

fn record(series: Vec<Series>) -> Record {
    Record { series, ..blank() }
}

/// The cells of the matrix that have a number: the change, and whether it is believed.
fn changes(record: &Record) -> Vec<Change> {
    Matrix::of(record).changes.into_iter().flatten().flatten().collect()
}

/// What of each cell is drawn as lost, in per cent.
fn lost(record: &Record) -> Vec<Option<f64>> {
    let Block::HeatMap(map) = shown(&Matrix::of(record)) else { panic!("a map") };
    let cells = map.groups.into_iter().flatten().flat_map(|row| row.cells);
    let value = |cell| match cell {
        HeatCell::Value { value, .. } => Some((value * 1e6_f64).round() / 1e6),
        HeatCell::Absent(_) => None,
    };
    cells.map(value).collect()
}

#[test]
fn change_of_six_blocks_on_one_side_is_believed() {
    let record = record(vec![ratio("pause", &[0.88, 0.93, 0.89, 0.92, 0.90, 0.91])]);
    let [change] = changes(&record)[..] else { panic!("one cell") };
    // The middle of 0.90 and 0.91; the interval of six blocks is all of them.
    near(change.ratio, 0.905);
    assert_eq!(change.interval, Some([0.88, 0.93]));
    // 2 of 64 ways are 3.1 %: less than one in twenty.
    assert!(change.is_sure);
    assert_eq!(lost(&record), [Some(9.5)]);
}

#[test]
fn change_is_believed_by_its_blocks_and_by_the_number_of_cells() {
    let sure = |cells: &[(&str, usize)]| -> Vec<bool> {
        let cells = cells.iter().map(|(class, blocks)| ratio(class, &vec![0.9; *blocks]));
        let even = ratio("pause", &[0.9, 1.1, 0.9, 1.1, 0.9, 1.1]);
        let all = changes(&record(cells.chain([even]).collect()));
        all.iter().map(|it| it.is_sure).collect()
    };
    // One of two cells needs half of 5 %: 2 of 64 are 3.1 %, 2 of 128 are 1.6 %.
    assert_eq!(sure(&[("memory", 6)]), [false, false]);
    assert_eq!(sure(&[("memory", 7)]), [true, false]);
    // Two of three need two thirds of 5 %, 3.3 %: both have 3.1 %.
    assert_eq!(sure(&[("memory", 6), ("tiles", 6)]), [true, true, false]);
    // Of five blocks, chance puts all on one side in 2 of 32, 6.3 %.
    assert_eq!(sure(&[("memory", 5), ("tiles", 5)]), [false; 3]);
}

#[test]
fn cell_of_four_blocks_or_of_no_change_is_not_shaded() {
    let four = record(vec![ratio("pause", &[0.5; 4])]);
    assert_eq!(changes(&four)[0].interval, None);
    assert_eq!(lost(&four), [None]);
    // The interval is 0.97 to 1.01, and 1 lies within.
    let none = record(vec![ratio("pause", &[0.97, 0.98, 0.98, 0.99, 1.01])]);
    assert_eq!(lost(&none), [Some(0.0)]);
}

#[test]
fn latency_longer_by_a_quarter_loses_a_fifth_of_the_pointers() {
    let record = record(vec![beside(LATENCY, WAIT.ratio, "memory", &[1.25; 6])]);
    // 1 - 1 / 1.25.
    assert_eq!(lost(&record), [Some(20.0)]);
    near(changes(&record)[0].loss(&WAIT), 0.2);
    near(changes(&record)[0].loss(&CLOCK), -0.25);
}

#[test]
fn series_probed_on_one_core_has_a_row_of_its_own() {
    let mut hidden = ratio("pause", &[0.5; 6]);
    hidden.placement_class = Some("same-core".to_owned());
    let record = record(vec![hidden, ratio("pause", &[0.9; 6])]);
    // One row for each place, with its own change.
    assert_eq!(lost(&record), [Some(10.0), Some(50.0)]);
    assert_eq!(rows(&record), [("pause", OTHERS), ("pause", HIDDEN)]);
}

#[test]
fn neighbour_step_is_the_clock_lost_against_scalar_neighbours() {
    let heavy = "heavy 512 bit";
    let alone = |class, mhz: f64| beside(SCALAR, CLOCK.alone, class, &[mhz * 1e6]);
    let with = |class, mhz: f64| beside(SCALAR, CLOCK.beside, class, &[mhz * 1e6]);
    let mut record = record(vec![
        ratio(heavy, &[0.86; 6]),
        ratio(SCALAR_CLASS, &[0.91; 6]),
        alone(heavy, 3490.0),
        alone(SCALAR_CLASS, 3510.0),
        with(heavy, 3000.0),
        with(SCALAR_CLASS, 3200.0),
    ]);
    promise(&mut record, "0-3", &[(4, 3500.0)]);
    let accounts = accounts(&record);
    let clocks: Vec<f64> = accounts.iter().map(|it| it.clock).collect();
    // Alone the middle of 3,490 and 3,510 MHz.
    assert_eq!(clocks, [3500e6, 3000e6]);
    assert!(accounts[0].steps.is_empty());
    // 3,200 - 3,000; 3,500 - 3,200 remain unexplained.
    let [step] = &accounts[1].steps[..] else { panic!("{accounts:?}") };
    assert_eq!((step.id.as_str(), step.hertz), ("neighbours", 200e6));
    near(accounts[1].unexplained.unwrap(), 300e6);
}

#[test]
fn worst_loss_within_noise_is_that_of_active_cores() {
    let class = |heavy: f64, scalar: f64| {
        let record = record(vec![ratio("tiles", &[heavy; 6]), ratio(SCALAR_CLASS, &[scalar; 6])]);
        let matrix = Matrix::of(&record);
        worst(&matrix, &[&COLUMNS[0]], matrix.rows.iter().copied()).map(|it| it.1.0.to_owned())
    };
    // 0.4 points are within the half that noise is; 0.6 are not. 1.9 % are below the 2 % that count.
    assert_eq!(class(0.900, 0.904), Some(SCALAR_CLASS.to_owned()));
    assert_eq!(class(0.900, 0.906), Some("tiles".to_owned()));
    assert_eq!(class(0.981, 0.990), None);
}

#[test]
fn neighbours_of_a_class_that_this_build_lacks_keep_their_row() {
    let record = record(vec![ratio("matrix unit", &[0.9; 6]), ratio("tiles", &[0.9; 6])]);
    let classes: Vec<&str> = rows(&record).into_iter().map(|row| row.0).collect();
    assert_eq!(classes, ["tiles", "matrix unit"]);
}
