//! How often a survey finds faults that were planted, and cries wolf where there is none:
//!
//! ```text
//! cpudyno sheet --machine sim:2s-56c --json base.json
//! cargo run --release -p cpudyno-fleet --example alarms -- base.json 200
//! ```
#![expect(clippy::print_stdout, reason = "it is a program")]

use std::error::Error;

use fleet::simulate::{FAULTS, PlantedFault, SimulatedFleet};
use fleet::survey::{Host, Rows, Survey, survey};
use model::record::Digest;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(fleets)) = (args.next(), args.next()) else {
        return Err(
            "name a record of a simulated machine and how many fleets: base.json 200".into()
        );
    };
    let text = std::fs::read_to_string(file)?;
    let base = Digest::read(&text).ok_or("the record begins with no digest")?;
    let fleets: u64 = fleets.parse()?;
    println!("SIMULATED");
    for hosts in [100, 1_000] {
        let alarms = (0..fleets).filter(|seed| looked_at(&base, hosts, *seed, &[]).has_suspects());
        println!("{} of {fleets} fleets of {hosts} without a fault show a suspect", alarms.count());
    }
    for hosts in [100, 1_000, 10_000] {
        let faults: Vec<PlantedFault> =
            FAULTS.iter().map(|fault| PlantedFault { fault, count: None }).collect();
        let simulated = SimulatedFleet::new(base.clone(), hosts, 1, &faults);
        let found = looked_at(&base, hosts, 1, &faults);
        for (fault, ill) in simulated.planted() {
            let first = found.fact_of(&ill);
            println!("{hosts} hosts, {}: {}", fault.name, first.as_deref().unwrap_or("NOT FOUND"));
        }
    }
    Ok(())
}

fn looked_at(base: &Digest, hosts: usize, seed: u64, faults: &[PlantedFault]) -> Survey {
    let simulated = SimulatedFleet::new(base.clone(), hosts, seed, faults);
    let rows = Rows::default();
    let row = |host: usize| {
        let name = simulated.name(host);
        rows.row_of(&name, &name, &simulated.digest(host))
    };
    let mut hosts: Vec<Host> = (0..simulated.len()).filter_map(row).collect();
    let mut names = rows.names();
    names.say("rack", "Group", &mut hosts, |host| host.name.split('n').next().map(str::to_owned));
    survey(&hosts, &names)
}
