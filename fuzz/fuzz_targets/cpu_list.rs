//! Lists of CPUs: what can be read is written as something that reads the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use model::CpuSet;

fuzz_target!(|text: &str| {
    let Ok(cpus) = text.parse::<CpuSet>() else { return };
    assert_eq!(cpus.to_string().parse(), Ok(cpus));
});
