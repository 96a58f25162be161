//! The text of a capture: whatever can be read is surveyed, and its capture is the same again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recorded::{capture, parse};

fuzz_target!(|text: &str| {
    let Ok(machine) = parse("fuzz", text) else { return };
    cpudyno_fuzz::survey(&machine);
    let again = capture(&machine);
    let replayed = parse("fuzz", &again).expect("what we write we can read");
    assert_eq!(capture(&replayed), again);
});
