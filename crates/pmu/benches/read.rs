//! What one reading of a counter costs by each way, and a switch from part to part of a program; beside
//! the crate perf-event2. `cargo bench -p cpudyno-pmu`. It judges nothing: times depend on the machine.
#![expect(clippy::print_stdout, reason = "it is a program for developers")]

use std::hint::black_box;
use std::time::Instant;

use machine::Machine;
use machine::perf::{Reader, Wanted};
use model::CpuId;
use perf_event::events::Software;
use pmu::counting::{CounterSet, PartIndex, base, software};
use pmu::events::Encoded;
use simulated::Model;
use sys::perf_open::{Attributes, Event};

/// Readings of a batch, and batches: the quickest batch is told, with the middle one.
const READINGS: u32 = 20_000;
const BATCHES: usize = 15;

fn main() {
    let real = Machine::real();
    let simulated: Machine = Model::named("4c").expect("BUG: it is there").into();
    // The page faults of user mode: every kernel has them, every level of rights lets them be counted.
    let faults: Attributes = Event { kind: 1, config: 2, kernel: false }.into();
    let cycles: Attributes = Event::CYCLES_USER.into();
    read("cycles of this machine", &real, cycles);
    read("page faults of this machine", &real, faults);
    read("cycles of a simulated machine", &simulated, cycles);
    switch("instructions, cycles, ref-cycles of this machine", &real, &base(&real, CpuId(0)));
    let cheap: Vec<Encoded> =
        software().into_iter().filter(|it| it.name == "page-faults").collect();
    switch("page faults of this machine", &real, &cheap);
    switch("instructions of a simulated machine", &simulated, &base(&simulated, CpuId(0))[..1]);
    beside();
}

fn told(what: &str, mut work: impl FnMut()) {
    let mut batches: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let begun = Instant::now();
            (0..READINGS).for_each(|_| work());
            begun.elapsed().as_secs_f64() * 1e9 / f64::from(READINGS)
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    println!("{what}: {:.1} ns (middle of {BATCHES}: {:.1})", batches[0], batches[BATCHES / 2]);
}

fn read(what: &str, machine: &Machine, attributes: Attributes) {
    let wanted = Wanted::of_this_thread("event", attributes);
    match machine.perf.open(&wanted, None) {
        Ok(reader) => {
            let way = reader.way().name();
            told(&format!("one reading of {what}, by {way}"), || {
                _ = black_box(Reader::read(&reader));
            });
        }
        Err(reason) => println!("one reading of {what}: {}", reason.why),
    }
}

fn switch(what: &str, machine: &Machine, events: &[Encoded]) {
    match CounterSet::open(machine, events, &["one", "other"]) {
        Ok(mut set) => {
            let mut part = 0;
            let what = format!("switch_to with {} counters: {what}", events.len());
            told(&what, || {
                part ^= 1;
                set.switch_to(PartIndex(part));
            });
        }
        Err(reason) => println!("switch_to, {what}: {}", reason.why),
    }
}

fn beside() {
    let counter = perf_event::Builder::new(Software::PAGE_FAULTS).build();
    match counter {
        Ok(mut counter) => {
            told("one reading by perf-event2, by read(2)", || _ = black_box(counter.read()));
            match counter.sampled(0) {
                Ok(sampler) => told("one reading by perf-event2, from its page", || {
                    _ = black_box(sampler.read_user().count());
                }),
                Err(error) => println!("the page of perf-event2: {error}"),
            }
        }
        Err(error) => println!("perf-event2: {error}"),
    }
}
