//! Parts of a program that runs for long, each with its bill, and a budget that they are held against:
//! `cargo run --release -p cpudyno-pmu --example parts`. The guide's page on counting from a program
//! shows it.
#![expect(clippy::print_stdout, reason = "an example is a program")]

use std::hint::black_box;

use pmu::{Budget, CounterSet, Drift, Machine, Report, Unavailable};

/// Packets of a batch.
const BATCH: u64 = 100;

/// Ten batches, each parsed and routed.
pub(crate) fn serve(
    machine: &Machine,
    mut parse: impl FnMut(),
    mut route: impl FnMut(),
) -> Result<CounterSet, Unavailable> {
    let events = ["instructions", "cycles", "ref-cycles"];
    let mut set = CounterSet::open(machine, &events, &["parse", "route", "idle"])?;
    let part = |set: &CounterSet, name| set.part(name).expect("the set has it");
    let [parsing, routing, idle] = ["parse", "route", "idle"].map(|name| part(&set, name));
    for _ in 0..10 {
        set.switch_to(parsing);
        parse();
        set.done(BATCH);
        set.switch_to(routing);
        route();
        set.done(BATCH);
        set.switch_to(idle);
    }
    Ok(set)
}

/// The table of a part.
pub(crate) fn table(set: &CounterSet, part: &str) -> Option<Report> {
    let bill = set.bill(set.part(part)?, "packet")?;
    Some(Report::of(&bill, &bill.units))
}

/// What the parts cost, as later versions are held against it: a file of JSON.
pub(crate) fn keep(set: &CounterSet) -> serde_json::Result<String> {
    let bill = |name| set.bill(set.part(name)?, "packet");
    let bills: Vec<_> = ["parse", "route"].into_iter().filter_map(bill).collect();
    serde_json::to_string_pretty(&Budget::of(&bills, 0.05))
}

/// What costs more or less than such a file says.
pub(crate) fn drifts(set: &CounterSet, file: &str) -> serde_json::Result<Vec<Drift>> {
    let budget: Budget = serde_json::from_str(file)?;
    Ok(set.check(&budget))
}

/// A program with two parts.
pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let packets = vec![7u8; 64 * BATCH as usize];
    let parse = || {
        black_box(packets.iter().filter(|&&byte| byte > 6).count());
    };
    let route = || {
        black_box(packets.iter().map(|&byte| u64::from(byte)).sum::<u64>());
    };
    match serve(&Machine::real(), parse, route) {
        Ok(set) => {
            ["parse", "route"].iter().filter_map(|part| table(&set, part)).for_each(|it| {
                println!("{it}");
            });
            println!("{} drifts", drifts(&set, &keep(&set)?)?.len());
        }
        Err(reason) => println!("counting nothing: {}", reason.why),
    }
    Ok(())
}
