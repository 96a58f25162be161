//! Interrupts and SMIs of each CPU since it started, as the kernel and the processor count them.
//!
//! # Source
//! Linux, `Documentation/filesystems/proc.rst`: `/proc/interrupts` has a column for each CPU that is online. Intel SDM
//! volume 4, MSR 34h, `MSR_SMI_COUNT`: bits 31 to 0. KVM answers it with the SMIs that it emulates (`arch/x86/kvm/x86.c`),
//! so that a guest never learns of those of the hardware.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use crate::facts;
use crate::facts::fact_cache::Survey;
use crate::ports::{Machine, Msr};
use model::growth::{Places, grown};

/// The kernel's table, with a column for each CPU.
pub(crate) const TABLE: &str = "/proc/interrupts";
/// Where Intel's processors count SMIs.
pub const MSR_SMI_COUNT: u32 = 0x34;

/// How often each line's interrupt came to each CPU.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InterruptTable {
    columns: Vec<CpuId>,
    lines: BTreeMap<String, Vec<u64>>,
}

impl InterruptTable {
    /// What the table says now.
    ///
    /// # Error
    /// Where it cannot be read.
    pub(crate) fn read(machine: &Machine) -> Reading<InterruptTable> {
        let table = machine.tree.read(TABLE)?;
        let mut lines = table.lines();
        let header = lines.next().unwrap_or_default().split_whitespace();
        let columns =
            header.filter_map(|name| name.strip_prefix("CPU")?.parse().ok()).map(CpuId).collect();
        let line = |line: &str| {
            let (name, counts) = line.split_once(':')?;
            let counts = counts.split_whitespace().map_while(|count| count.parse().ok());
            // These two are one number for the whole machine.
            let is_of_cpus = !matches!(name.trim(), "ERR" | "MIS");
            is_of_cpus.then(|| (name.trim().to_owned(), counts.collect()))
        };
        Ok(InterruptTable { columns, lines: lines.filter_map(line).collect() })
    }

    /// The counts of these CPUs, each by line and CPU.
    ///
    /// # Error
    /// Where it has a column of none of them.
    pub(crate) fn of(&self, cpus: &CpuSet) -> Reading<Places> {
        let columns = self.columns.iter().enumerate().filter(|(_, cpu)| cpus.contains(**cpu));
        let columns: Vec<(usize, &CpuId)> = columns.collect();
        if columns.is_empty() {
            let what = "interrupts of these CPUs";
            let why = format!("`{TABLE}` says nothing of {what}");
            return Err(Unavailable::new(Obstacle::Hardware, what, why));
        }
        let of_line = |(name, counts): (&String, &Vec<u64>)| -> Vec<(String, f64)> {
            let count = |(column, cpu): &(usize, &CpuId)| {
                Some((format!("interrupt {name}, CPU {cpu}"), *counts.get(*column)? as f64))
            };
            columns.iter().filter_map(count).collect()
        };
        Ok(self.lines.iter().flat_map(of_line).collect())
    }

    /// How many interrupts came to a CPU since then.
    ///
    /// # Error
    /// Where it was offline at either time, a count fell, or a line came or went.
    pub(crate) fn came_since(&self, then: &InterruptTable, cpu: CpuId) -> Reading<f64> {
        const WHAT: &str = "interrupts";
        let broken = |why: String| Unavailable::new(Obstacle::Measurement, WHAT, why);
        let column = |table: &InterruptTable| {
            let at = table.columns.iter().position(|column| *column == cpu);
            at.ok_or_else(|| broken(format!("`{TABLE}` had no column for CPU {cpu} all the time")))
        };
        let (here, there) = (column(self)?, column(then)?);
        if !self.lines.keys().eq(then.lines.keys()) {
            return Err(broken(format!("a line of `{TABLE}` came or went during the interval")));
        }
        let of_line = |(now, then): (&Vec<u64>, &Vec<u64>)| {
            let at =
                |counts: &[u64], column: usize| counts.get(column).copied().unwrap_or(0) as f64;
            grown(WHAT, at(now, here), at(then, there))
        };
        self.lines.values().zip(then.lines.values()).map(of_line).sum()
    }
}

/// The processor's count of SMIs.
#[derive(Clone)]
pub struct SmiCounter(Arc<dyn Msr>);

impl SmiCounter {
    /// That of this machine, as tried on one of its CPUs.
    ///
    /// # Error
    /// Where the processor is not Intel's or the kernel is a guest, and where the register cannot be read.
    pub fn of(machine: &Machine, cpu: CpuId) -> Reading<SmiCounter> {
        const WHAT: &str = "count of SMIs";
        let survey = Survey::new(machine);
        if survey.is_guest() {
            return Err(facts::hidden_from_guest(machine, WHAT));
        }
        if facts::cpu_vendor(&survey).as_deref() != Ok("GenuineIntel") {
            let why = "only CPUs of Intel count SMIs in a register";
            return Err(Unavailable::new(Obstacle::Hardware, WHAT, why));
        }
        let counter = SmiCounter(Arc::clone(&machine.msr));
        counter.read(cpu).map(|_| counter)
    }

    /// How many have come to a CPU so far.
    ///
    /// # Error
    /// Where its register cannot be read.
    pub fn read(&self, cpu: CpuId) -> Reading<u64> {
        self.0.read(cpu, MSR_SMI_COUNT).map(|count| count & u64::from(u32::MAX))
    }
}
