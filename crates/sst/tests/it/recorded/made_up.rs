//! Registers of a machine that nobody built: one package with a power domain of four cores and one for I/O.
//!
//! # Source
//! Linux, drivers/platform/x86/intel/speed_select_if/isst_tpmi_core.c: the places of fields.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Where priorities begin, and where levels do.
pub(crate) const CP: usize = 1;
pub(crate) const PP: usize = 12;
/// From level to level.
const LEVEL: usize = 22;

/// Base frequency in 100 MHz, thermal design power, and the cores of each level.
pub(crate) const LEVELS: [(u64, u64, u64); 2] = [(20, 250, 0b1111), (26, 240, 0b0011)];

fn header(features: u64, levels: u64) -> Vec<u64> {
    let mut registers = vec![0; PP + 5 + LEVEL * LEVELS.len()];
    registers[0] = 1 | features << 8 | (CP as u64) << 16 | (PP as u64) << 24;
    registers[PP] = 1 << 4 | levels << 12;
    registers[PP + 1] = 12 << 8 | 14 << 16;
    registers[PP + 2] = 5 | 27 << 8;
    registers
}

/// Two levels, of which the first has both features.
pub(crate) fn compute() -> Vec<u64> {
    let mut registers = header(0b11, 0b11);
    registers[CP + 2] = 1;
    for class in 0..4 {
        registers[CP + 3 + class] = (3 * class as u64) << 4 | 8 << 8 | 39 << 16;
    }
    registers[CP + 7] = 0x3210;
    for (level, (base, watts, cores)) in LEVELS.into_iter().enumerate() {
        let own = &mut registers[PP + 5 + LEVEL * level..][..LEVEL];
        own[0] = base | (base - 2) << 8 | (base - 4) << 16;
        own[1] = (watts * 8) << 32 | 95 << 47 | 56 << 55;
        own[2] = cores;
        own[4..10].fill(0x2324_2526_2728_292a);
        own[10] = 0x0807_0605_0403_0201;
        own[11] = u64::from_le_bytes([39, base as u8, 8, 5, 25, 20, 8, 0]);
    }
    let first = &mut registers[PP + 5..];
    first[12] = 1 << 12 | 23 << 13 | 18 << 21 | 90 << 38 | (250 * 8) << 46;
    first[13] = 0b0101;
    first[14] = 1 << 12 | 0x1e1e_1e1e_1e1e << 16;
    first[15] = 0x0402;
    first[16..22].fill(0x2728);
    registers
}

/// One level, which has no cores.
fn io() -> Vec<u64> {
    header(0b10, 0b1)
}

/// As debugfs writes the registers of power domains.
pub(crate) fn dump(domains: &[Vec<u64>]) -> String {
    const WORDS: usize = 8;
    let mut text = String::new();
    for (number, registers) in domains.iter().enumerate() {
        let _ = writeln!(text, "TPMI Instance:{number} offset:0x{:08x}", 0x1000 * (number + 1));
        let words: Vec<u32> =
            registers.iter().flat_map(|it| [*it as u32, (*it >> 32) as u32]).collect();
        for (line, words) in words.chunks(WORDS).enumerate() {
            let words: Vec<String> = words.iter().map(|word| format!("{word:08x}")).collect();
            let _ = writeln!(text, " {:08x}: {}", line * WORDS * 4, words.join(" "));
        }
    }
    text
}

/// The registers of Speed Select of the whole machine.
pub(crate) fn registers() -> String {
    dump(&[compute(), io()])
}

/// The machine as files below a folder; with the CPUs' own registers, which say in which power domain they are, or
/// without.
pub(crate) fn lay(folder: &Path, has_places: bool) {
    let put = |path: &str, bytes: &[u8]| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let tpmi = "sys/kernel/debug/tpmi-0000:00:03.1";
    put(&format!("{tpmi}/tpmi-id-05/mem_dump"), registers().as_bytes());
    let place =
        "TPMI Instance:0 offset:0x00009000\n 00000000: 00000002 00000000 00000019 80000000\n";
    put(&format!("{tpmi}/tpmi-id-81/mem_dump"), place.as_bytes());
    put("sys/devices/system/cpu/online", b"0-3\n");
    put("sys/devices/system/cpu/present", b"0-3\n");
    for cpu in 0..4_u64 {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        put(&format!("{topology}/physical_package_id"), b"0\n");
        if has_places {
            let mut msr = vec![0; 0x54];
            msr.extend((cpu << 3).to_le_bytes());
            put(&format!("dev/cpu/{cpu}/msr"), &msr);
        }
    }
}
