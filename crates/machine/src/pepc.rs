//! Machines that pepc recorded: most of sysfs is one text, registers of CPUs are another.
//!
//! # Source
//! <https://github.com/intel/pepc>, `tests/emul-data`, and `pepclibs/helperlibs/EmulProcessManager.py`, which reads
//! both.

use std::collections::BTreeMap;

use model::{CpuId, Obstacle, Reading, Unavailable};
use simulated::Files;

use crate::ports::Msr;

/// Where most files are.
pub const FILES: &str = "/sys/inlinefiles.txt";
/// Where registers of CPUs are.
pub const REGISTERS: &str = "/msr/msr.txt";

/// A file a line, `ro|PATH|VALUE` or `rw|PATH|VALUE`; others are remarks.
pub fn files(text: &str) -> Files {
    let mut files = Files::default();
    for line in text.lines() {
        let mut fields = line.splitn(3, '|');
        if let (Some("ro" | "rw"), Some(path), Some(value)) =
            (fields.next(), fields.next(), fields.next())
        {
            files.put(path, value);
        }
    }
    files
}

/// Registers by their number and CPU.
pub struct PepcRegisters(BTreeMap<(u32, CpuId), u64>);

/// A register a line, `NUMBER:CPU|VALUE CPU|VALUE ...`, numbers and values hexadecimal; others are remarks.
pub fn registers(text: &str) -> PepcRegisters {
    let of_line = |line: &str| {
        let (number, values) = line.split_once(':')?;
        let number = u32::from_str_radix(number, 16).ok()?;
        let of_cpu = |pair: &str| {
            let (cpu, value) = pair.split_once('|')?;
            let value = u64::from_str_radix(value, 16).ok()?;
            Some(((number, CpuId(cpu.parse().ok()?)), value))
        };
        Some(values.split_whitespace().filter_map(of_cpu).collect::<Vec<_>>())
    };
    PepcRegisters(text.lines().filter_map(of_line).flatten().collect())
}

impl Msr for PepcRegisters {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        self.0.get(&(register, cpu)).copied().ok_or_else(|| {
            let why = format!("`{REGISTERS}` does not hold it");
            Unavailable::new(Obstacle::Cpudyno, format!("register {register:#x}"), why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_none_say_nothing() {
        let files = files("# remark\nro|/a/b|1|2\nrw|/a/c|\nxx|/a/d|1\nro|/a/e\n");
        assert_eq!(
            (files.read("/a/b").as_deref(), files.read("/a/c").as_deref()),
            (Ok("1|2"), Ok(""))
        );
        assert_eq!(files.list("/a").unwrap(), ["b", "c"]);
        let registers =
            registers("# remark: 1\n54:0|1f 1|zz 2 x|1\nce:3|ffffffffffffffff\nxyz:0|1\n");
        let known: Vec<((u32, CpuId), u64)> = registers.0.clone().into_iter().collect();
        assert_eq!(known, [((0x54, CpuId(0)), 0x1f), ((0xce, CpuId(3)), u64::MAX)]);
        assert!(registers.read(CpuId(1), 0x54).unwrap_err().why.contains("does not hold it"));
    }
}
