//! What neighbours cost, on simulated machines: costs that were put in come out again, with intervals.

use machine::Machine;
use measure::areas::turbo::{Tests, TurboOptions};
use model::page::{Block, HeatCell};
use model::record::{Outcome, Record};
use rig::placement::Choice;
use simulated::{Model, Tax};

use crate::common::{assert_near, measured, of, streams, why};

fn tax(by: &str, sibling: bool) -> Tax {
    let (clock, ops, bandwidth, latency, neighbours) = (1.0, 1.0, 1.0, 1.0, 1);
    Tax { by: by.to_owned(), sibling, clock, ops, bandwidth, latency, neighbours }
}

/// Four cores of a server, on which neighbours cost what is known.
pub(super) fn taxed() -> Record {
    let mut model = Model::named("2s-56c").unwrap();
    model.noise.drift_amplitude = 0.005;
    model.tax = vec![
        Tax { clock: 0.9, ..tax("avx512_fma_t", false) },
        Tax { bandwidth: 0.6, latency: 1.5, ..tax("triad", false) },
        Tax { ops: 0.5, ..tax("avx256_fma_t", true) },
        Tax { latency: 1.2, ..tax("lock", false) },
    ];
    let machine = Machine::from(model);
    let cpus = Choice::usual(Some("0-3,112".parse().unwrap()));
    measured(&machine, TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) })
}

/// The ratio of a victim's quantity beside a class of neighbours, which must have an interval that holds it.
#[track_caller]
fn ratio(record: &Record, victim: &str, quantity: &str, beside: &str, place: &str) -> f64 {
    let is = |key: &str, value: &str, series: &model::record::Series| {
        series.parameters.get(key).is_some_and(|it| it == value)
    };
    let mut all = of(record, quantity);
    let found = all.find(|series| {
        series.workload == victim && is("beside", beside, series) && is("place", place, series)
    });
    let series = found.unwrap_or_else(|| panic!("no {quantity} of {victim} beside {beside}"));
    let summary = series.summary().unwrap_or_else(|| panic!("{:?}", series.outcome));
    let [low, high] = summary.between_blocks.expect("twelve blocks have an interval");
    assert!((low..=high).contains(&summary.median));
    summary.median
}

#[test]
fn costs_that_were_put_in_come_out() {
    let record = taxed();
    let (others, sibling) = ("other cores", "SMT sibling");
    // Two cores and more share a lower bin.
    let bin = 3.7 / 3.8;
    let of = |victim, quantity, beside, place| ratio(&record, victim, quantity, beside, place);
    let clock = of("victim scalar", "tax_clock_ratio", "scalar", others);
    assert_near(clock, bin, 0.003, "others that are merely active");
    let clock = of("victim scalar", "tax_clock_ratio", "heavy 512 bit", others);
    assert_near(clock, bin * 0.9, 0.003, "heavy neighbours");
    let rate = of("victim scalar", "tax_rate_ratio", "heavy 512 bit", others);
    assert_near(rate, bin * 0.9, 0.003, "heavy neighbours, in ops");
    let rate = of("victim scalar", "tax_rate_ratio", "heavy 256 bit", sibling);
    // A core has one clock, and the licence of the heavier of its threads.
    let licence = 3.6 / 3.8;
    assert_near(rate, 0.5 * licence, 0.003, "half of the core's ops, at its licence's clock");
    let clock = of("victim scalar", "tax_clock_ratio", "heavy 256 bit", sibling);
    assert_near(clock, licence, 0.003, "at the licence of its sibling");
    let bandwidth = of("victim bandwidth", "tax_bandwidth_ratio", "memory", others);
    assert_near(bandwidth, 0.6, 0.01, "memory that others move");
    let bandwidth = of("victim bandwidth", "tax_bandwidth_ratio", "scalar", others);
    assert_near(bandwidth, 1.0, 0.01, "memory that nobody moves");
    let latency = of("victim latency", "tax_latency_ratio", "memory", others);
    assert_near(latency, 1.5, 0.01, "pointers wait");
    let latency = of("victim latency", "tax_latency_ratio", "lock spinner", others);
    assert_near(latency, 1.2, 0.01, "pointers wait for those who want a lock");
}

/// Each of eight neighbours costs as much as another: one, half of them and all of them are told apart.
#[test]
fn cost_grows_with_the_number_of_neighbours_as_it_was_put_in() {
    let mut model = Model::named("2s-56c").unwrap();
    model.noise.drift_amplitude = 0.0;
    model.tax = vec![Tax { bandwidth: 0.6, neighbours: 8, ..tax("triad", false) }];
    let cpus = Choice::usual(Some("0-8".parse().unwrap()));
    let options = TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) };
    let record = measured(&Machine::from(model), options);
    let of = |place| ratio(&record, "victim bandwidth", "tax_bandwidth_ratio", "memory", place);
    let places = [("one other core", 1.0), ("half of the other cores", 4.0), ("other cores", 8.0)];
    for (place, count) in places {
        assert_near(of(place), 0.6f64.powf(count / 8.0), 0.01, place);
    }
    let found = record.findings.iter().find(|it| it.id == "turbo.memory-neighbours").unwrap();
    assert!(found.text.contains("; one neighbour costs 6."), "{}", found.text);
    assert!(found.text.contains(" %, 4 cost 22.") && found.text.contains(", all 8 cost 40."));
    let page = report::areas::turbo::page(&record, 0, 100);
    assert!(page.blocks.iter().any(|block| match block {
        Block::Table(table) => table.caption.starts_with("Change by number of neighbours"),
        _ => false,
    }));
}

/// Where CPUs were named, a sibling that is none of them is left alone, and that is said.
#[test]
fn no_other_cpus_are_used_than_those_that_were_named() {
    let cpus = Choice::usual(Some("0-1".parse().unwrap()));
    let machine = Machine::from(Model::named("2s-56c").unwrap());
    let record =
        measured(&machine, TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) });
    let named = "0-1".parse().unwrap();
    assert!(record.series.iter().all(|series| series.active.iter().all(|cpu| {
        let named: &model::CpuSet = &named;
        named.contains(cpu)
    })));
    let why = record.series.iter().find_map(|series| match &series.outcome {
        Outcome::Unavailable { unavailable } if unavailable.what.contains("SMT sibling") => {
            Some(&unavailable.why)
        }
        _ => None,
    });
    assert!(why.is_some_and(|why| why.contains("CPU 112")), "{why:?}");
}

/// A victim was alone in the blocks of many cells, and what was taken of it is that of all of them.
#[test]
fn what_was_taken_of_a_lone_victim_is_that_of_all_its_blocks() {
    let mut model = Model::named("2s-56c").unwrap();
    model.noise.steal_share = 0.02;
    let cpus = Choice::usual(Some("0-1,112".parse().unwrap()));
    let options = TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) };
    let record = measured(&Machine::from(model), options);
    let accounts = record.clock.as_ref().unwrap().accounts.iter();
    let alone: Vec<_> = accounts.filter(|it| it.moment.as_deref() == Some("alone")).collect();
    assert_eq!(alone.len(), 2);
    for account in alone {
        let stream = Some(&account.workload);
        let alone = of(&record, "tax_clock_alone");
        let mine = alone.filter(|it| it.parameters.get("stream") == stream);
        let shares: Vec<f64> = mine.filter_map(|it| it.disturbance.lost_share).collect();
        let mean = model::stats::mean(&shares).unwrap();
        assert!(shares.len() >= 9 && mean > 0.01, "{shares:?}");
        let beside = ["halted", "quota", "steal", "taken"];
        let lost = account.steps.iter().filter(|it| beside.contains(&it.id.as_str()));
        let lost: f64 = lost.map(|it| it.hertz).sum();
        assert_near(lost, account.clock * mean, 1e-9, "the mean of its gaps");
    }
}

/// Caches of a server are large; a matrix over them is measured in the time that was planned, and what nobody could
/// plan does not go on for ever.
#[test]
fn a_matrix_takes_the_time_that_was_planned_and_has_an_end() {
    let record = taxed();
    let plan = &record.run.plan;
    assert_eq!((plan.blocks_planned, plan.blocks_done), (12, 12));
    let [taken, planned] = [record.run.seconds, plan.budget_seconds];
    assert!(planned < 120.0 && taken < planned, "{taken} s of {planned} s");
    // Others leave so little of memory that a trip takes a hundred times as long.
    let mut model = Model::named("2s-56c").unwrap();
    model.tax = vec![Tax { bandwidth: 0.01, ..tax("triad", false) }];
    let cpus = Choice::usual(Some("0-1".parse().unwrap()));
    let options = TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) };
    let late = measured(&Machine::from(model), options);
    let (done, planned) = (late.run.plan.blocks_done, late.run.plan.budget_seconds);
    assert!((1..12).contains(&done), "{done} blocks");
    let sweep = late.run.seconds / done as f64;
    let most = (1.5 * planned).max(sweep);
    assert!(late.run.seconds <= most * 1.01, "{} s of {planned} s", late.run.seconds);
}

#[test]
fn advice_follows_from_the_numbers() {
    let record = taxed();
    let finding = |id: &str| record.findings.iter().find(|it| it.id == id).unwrap();
    let wide = finding("turbo.wide-neighbours");
    assert!(wide.text.contains("512-bit FMA code on other cores"), "{}", wide.text);
    assert!(wide.remedy.as_ref().unwrap().contains("256 bit there cost"), "{wide:?}");
    // 10 % of the clock are gone beside 512 bit, none beside 256.
    assert!(wide.gain.as_ref().unwrap().starts_with("11.1 % more "), "{wide:?}");
    let sibling = finding("turbo.busy-sibling");
    assert!(sibling.text.contains("SMT sibling"));
    assert!(sibling.gain.as_ref().unwrap().contains("% more"), "{sibling:?}");
    let memory = finding("turbo.memory-neighbours");
    // Of 40 % of the bandwidth and a third of the pointers the former is more.
    let told =
        "memory traffic on other cores lowers what one core moves by triad with ordinary stores (";
    assert!(memory.text.starts_with(told) && memory.text.contains(" alone) by 40"), "{memory:?}");
}

/// Of neighbours that cost as much, the one that is named is the first, and none that noise picked.
#[test]
fn among_equals_the_first_is_named() {
    for seed in [1, 2, 3] {
        let mut model = Model::named("2s-56c").unwrap();
        model.seed = seed;
        let wide = ["avx512_iadd_t", "avx512_fma_t", "amx_bf16_t"];
        model.tax = wide.map(|by| Tax { clock: 0.9, ..tax(by, false) }).into();
        let cpus = Choice::usual(Some("0-1".parse().unwrap()));
        let options = TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) };
        let record = measured(&Machine::from(model), options);
        let found = record.findings.iter().find(|it| it.id == "turbo.wide-neighbours").unwrap();
        let told = "512-bit integer code on other cores lowers the clock of scalar code (";
        assert!(found.text.starts_with(told) && found.text.contains(" alone) by 10"), "{found:?}");
    }
}

/// What every neighbour costs is not the doing of those who move memory.
#[test]
fn memory_is_not_blamed_for_what_all_neighbours_cost() {
    let mut model = Model::named("2s-56c").unwrap();
    model.noise.drift_amplitude = 0.0;
    let all =
        ["scalar_iadd", "triad"].map(|by| Tax { bandwidth: 0.6, latency: 1.5, ..tax(by, false) });
    model.tax = all.into();
    let cpus = Choice::usual(Some("0-3,112".parse().unwrap()));
    let options = TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) };
    let record = measured(&Machine::from(model), options);
    assert!(
        record.findings.iter().all(|it| it.id != "turbo.memory-neighbours"),
        "{:?}",
        record.findings
    );
}

/// Everything costs the sibling as much: no class is to blame.
#[test]
fn a_sibling_is_slow_whatever_runs_beside_it() {
    let of = |least: f64| {
        let mut model = Model::named("2s-56c").unwrap();
        model.noise.drift_amplitude = 0.0;
        let streams =
            ["scalar_iadd", "avx512_fma_t", "avx256_fma_t", "avx512_iadd_t", "pause_only"];
        let halves = streams.into_iter().map(|by| Tax { clock: 0.7, ..tax(by, true) });
        let lighter = ["avx256_iadd_t", "amx_bf16_t", "triad", "lock"];
        let others = lighter.into_iter().map(|by| Tax { clock: least, ..tax(by, true) });
        model.tax = halves.chain(others).collect();
        let cpus = Choice::usual(Some("0,112".parse().unwrap()));
        let options =
            TurboOptions { tests: Tests::Neighbours, cpus, ..crate::common::streams(&[]) };
        let record = measured(&Machine::from(model), options);
        let found = record.findings.iter().find(|it| it.id == "turbo.busy-sibling");
        found.unwrap_or_else(|| panic!("{:?}", record.findings)).text.clone()
    };
    let alike = of(0.7);
    assert!(alike.starts_with("whatever runs on the SMT sibling lowers "), "{alike}");
    let different = of(0.9);
    assert!(!different.contains("whatever runs"), "{different}");
}

/// Where firmware has turbo-freq, a core can have a clock of its own beside wide vectors.
#[test]
fn speed_select_is_advised_where_it_is() {
    let mut model = Model::named("sapphire").unwrap();
    model.noise.drift_amplitude = 0.0;
    model.tax = vec![Tax { clock: 0.85, ..tax("avx512_fma_t", false) }];
    let cpus = Choice::usual(Some("0-3,112".parse().unwrap()));
    let options = TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) };
    let record = measured(&Machine::from(model), options);
    let wide = record.findings.iter().find(|it| it.id == "turbo.wide-neighbours").unwrap();
    let remedy = wide.remedy.as_ref().unwrap();
    assert!(remedy.contains("Speed Select can give this core a clock of its own"), "{remedy}");
}

/// The darkest cell is the greatest loss, of latencies as well.
#[test]
fn shades_are_losses() {
    let page = report::areas::turbo::page(&taxed(), 0, 100);
    let map = page.blocks.iter().find_map(|block| match block {
        Block::HeatMap(map) if map.caption.starts_with("Change against running alone") => Some(map),
        _ => None,
    });
    let map = map.unwrap();
    let note = "victim on CPU 0, SMT sibling: CPU 112";
    assert!(map.notes.iter().any(|it| it.starts_with(note)), "{:?}", map.notes);
    let row = map.groups.iter().flatten().find(|row| row.label == "memory, other cores").unwrap();
    let value = |title: &str| {
        let at = map.columns.iter().position(|it| it == title).unwrap();
        match &row.cells[at] {
            HeatCell::Value { value, .. } => *value,
            HeatCell::Absent(why) => panic!("{why:?}"),
        }
    };
    assert_near(value("triad GB/s"), 40.0, 0.02, "bandwidth that is lost");
    // Pointers take 1.5 times as long.
    assert_near(value("latency ns"), 100.0 / 3.0, 0.03, "pointers that are lost");
    assert!(value("scalar MHz").abs() < 4.0, "{map:?}");
    // Cells say changes, and the legend losses: what takes nine times as long has lost 89 %, and not 800.
    let losses = map.shaded_from.as_ref().unwrap();
    assert_eq!(
        [&*map.unit, &*map.column_title, &*losses.unit],
        ["%", "change of victim", "% lost"]
    );
    let cells = map.groups.iter().flatten().flat_map(|row| &row.cells);
    let value = |cell: &HeatCell| {
        if let HeatCell::Value { value, .. } = cell { Some(*value) } else { None }
    };
    let greatest = cells.filter_map(value).fold(0.0, f64::max);
    assert_eq!(losses.greatest, format!("{greatest:.1}"));
    assert!(greatest < 100.0, "{greatest}");
}

/// Where nothing costs anything, nothing is advised but what active cores cost.
#[test]
fn no_advice_without_cost() {
    let mut model = Model::named("2s-56c").unwrap();
    model.topology.threads_per_core = 1;
    let cpus = Choice::usual(Some("0-1".parse().unwrap()));
    let options = TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) };
    let record = measured(&Machine::from(model), options);
    for id in ["turbo.wide-neighbours", "turbo.busy-sibling", "turbo.memory-neighbours"] {
        assert!(!record.findings.iter().any(|it| it.id == id), "{id}");
    }
}

/// Both threads of two cores may be used: the victim's sibling is none of the other cores.
#[test]
fn the_sibling_is_no_other_core() {
    let cpus = Choice::usual(Some("0-1,112-113".parse().unwrap()));
    let machine = Machine::named("sim:2s-56c").unwrap();
    let record =
        measured(&machine, TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) });
    let active = |place: &str| {
        let mut all = of(&record, "tax_rate_ratio");
        let found = all.find(|it| it.parameters.get("place").is_some_and(|it| it == place));
        found.unwrap().active.to_string()
    };
    assert_eq!(active("other cores"), "0-1,113");
    assert_eq!(active("SMT sibling"), "0,112");
}

/// Without a ruler there is no clock, and ops, bytes and nanoseconds stand.
#[test]
fn what_needs_no_ruler_is_shown_without_one() {
    let mut model = Model::named("2s-56c").unwrap();
    model.costs.get_mut("ruler").unwrap().cycles = 3.4;
    let cpus = Choice::usual(Some("0-1".parse().unwrap()));
    let options = TurboOptions { tests: Tests::Neighbours, cpus, ..streams(&[]) };
    let record = measured(&Machine::from(model), options);
    let page = report::areas::turbo::page(&record, 0, 200);
    let heading = model::page::Block::Heading("Neighbours".to_owned());
    assert!(page.blocks.contains(&heading));
    ratio(&record, "victim scalar", "tax_rate_ratio", "scalar", "other cores");
    for series in of(&record, "tax_clock_ratio") {
        assert!(!why(series).is_empty());
    }
    assert!(of(&record, "tax_clock_ratio").count() > 0);
}

/// The host put both CPUs onto one core, and the kernel lists two.
#[test]
fn a_cpu_that_shares_the_core_is_none_of_the_other_cores() {
    let mut model = Model::named("vm-2c").unwrap();
    model.noise.drift_amplitude = 0.0;
    let machine = Machine::from(model);
    let record = measured(&machine, TurboOptions { tests: Tests::Neighbours, ..streams(&[]) });
    let classes: Vec<&str> =
        of(&record, "tax_rate_ratio").filter_map(|it| it.placement_class.as_deref()).collect();
    assert!(!classes.is_empty() && classes.iter().all(|it| *it == "same-core"), "{classes:?}");
    let page = format!("{:?}", report::areas::turbo::page(&record, 0, 200));
    assert!(page.contains("heavy 256 bit, hidden sibling"), "{page}");
    assert!(!page.contains("heavy 256 bit, other cores"), "{page}");
}

#[test]
fn classes_that_are_missing_have_a_reason() {
    let record = taxed();
    let tiles = record.series.iter().find(|it| it.workload == "tiles").unwrap();
    let Outcome::Unavailable { unavailable } = &tiles.outcome else { panic!("{tiles:?}") };
    assert_eq!(unavailable.what, "neighbours: tiles");
    let page = report::areas::turbo::page(&record, 0, 200);
    assert!(format!("{page:?}").contains("neighbours: tiles"), "{page:?}");
}

/// The matrix and the numbers below it say the same of each cell, and what neighbours cost that are merely active
/// stands beside it.
#[test]
fn the_matrix_agrees_with_the_numbers_below_it() {
    let record = taxed();
    let page = report::areas::turbo::page(&record, 0, 200);
    let (mut matrix, mut numbers) = (None, None);
    for block in page.blocks {
        match block {
            Block::HeatMap(map) if map.caption.starts_with("Change against running alone") => {
                matrix = Some(map);
            }
            Block::Table(table) if table.caption.starts_with("Alone and with neighbours") => {
                numbers = Some(table);
            }
            _ => {}
        }
    }
    let (matrix, numbers) = (matrix.unwrap(), numbers.unwrap());
    let rows: Vec<_> = matrix.groups.iter().flatten().collect();
    assert_eq!(rows.len(), numbers.rows.len());
    let mut compared = 0;
    for (row, line) in std::iter::zip(rows, &numbers.rows) {
        assert_eq!(row.label, line[0].text);
        for (cell, number) in std::iter::zip(&row.cells, &line[1..]) {
            let HeatCell::Value { text, .. } = cell else { continue };
            let change: f64 = text.split(' ').next().unwrap().parse().unwrap();
            let (alone, beside) = number.text.split_once(" to ").unwrap();
            let [alone, beside] = [alone, beside].map(|it| it.parse::<f64>().unwrap());
            let said = (beside / alone - 1.0) * 100.0;
            assert!((said - change).abs() < 1.0, "{}: {text}, {}", row.label, number.text);
            compared += 1;
        }
    }
    assert!(compared > 60, "{compared} cells");
    let first = &matrix.groups[0];
    let scalar = first.iter().find(|row| row.label == "scalar, other cores").unwrap();
    let HeatCell::Value { text, .. } = &scalar.cells[0] else { panic!("{scalar:?}") };
    let note = format!(
        "baseline: neighbours that run scalar adds (other cores) change scalar MHz {text}, "
    );
    assert!(matrix.legend.iter().any(|it| it.starts_with(&note)), "{note}: {:?}", matrix.legend);
}
