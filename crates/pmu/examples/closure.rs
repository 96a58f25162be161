//! A closure, counted by byte and packet: `cargo run --release -p cpudyno-pmu --example closure`.
//! The guide's page on counting from a program shows it.
#![expect(clippy::print_stdout, reason = "an example is a program")]

use std::hint::black_box;

use pmu::Unavailable;

/// A function, counted.
pub(crate) fn main() -> Result<(), Unavailable> {
    let packet = vec![7u8; 1440];
    let (packets, bytes) = (1000, 1000 * packet.len() as u64);
    let sum = || packet.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let work = || {
        for _ in 0..packets {
            black_box(sum());
        }
    };

    let units = [("byte", bytes), ("packet", packets)];
    let profile = pmu::profile(work, &["branches", "branch-misses"], &units)?;
    println!("{profile}");
    let (total, counts) = pmu::measure(sum, &["instructions", "task-clock"])?;
    println!("{total}\n{}", pmu::report(&counts, &[("byte", 1440)]));

    if let Err(reason) = pmu::is_available() {
        println!("no counters: {}", reason.why);
    }
    Ok(())
}
