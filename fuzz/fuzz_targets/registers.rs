//! CPUID and registers that answer anything, beside plain files.

#![no_main]

use libfuzzer_sys::fuzz_target;
use machine::Files;

fuzz_target!(|words: Vec<u32>| {
    let mut files = Files::default();
    files.put("/sys/devices/system/cpu/online", "0-3");
    files.put("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6");
    cpudyno_fuzz::survey(&cpudyno_fuzz::machine_of(files, words));
});
