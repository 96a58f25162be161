//! Files of the kernel with any text: sizes, lists, tables, whatever facts are read from.

#![no_main]

use libfuzzer_sys::fuzz_target;
use machine::Files;

fuzz_target!(|input: Vec<(usize, String)>| {
    let mut files = Files::default();
    for (place, text) in input {
        files.put(cpudyno_fuzz::PATHS[place % cpudyno_fuzz::PATHS.len()], &text);
    }
    cpudyno_fuzz::survey(&cpudyno_fuzz::machine_of(files, Vec::new()));
});
