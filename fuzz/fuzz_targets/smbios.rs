//! Tables of firmware that hold anything: what is read of them can be written and read again.

#![no_main]

use firmware::{MemoryTable, Population};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|table: &[u8]| {
    let read = MemoryTable::parse(table);
    assert_eq!(MemoryTable::parse(&read.to_bytes()), read);
    if let Some(population) = Population::of(&read) {
        let _ = (population.text(), population.bytes(), population.configured());
        for packages in 1..4 {
            let channels = firmware::channels(population.devices(), packages).unwrap_or_default();
            let count: usize = channels.iter().map(|channel| channel.devices.len()).sum();
            assert!(channels.is_empty() || count == population.devices().len());
        }
    }
});
