//! Records from a file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(record) = model::record::read(text) else { return };
    machine::pages::info(&record, 1);
    machine::pages::doctor(&record, 1);
});
