//! What the kernel counts of what interrupts one CPU, read at once, so that a gap has its cause.
//!
//! # Source
//! Linux, `Documentation/filesystems/proc.rst`: `/proc/interrupts` and `/proc/softirqs` have a column for each CPU;
//! `arch/x86/kernel/irq.c` for the names that begin lines.

use std::fs::File;
use std::os::unix::fs::FileExt;

use model::{CpuId, Obstacle, Reading, Unavailable};

use crate::interrupts::{SmiCounter, TABLE};
use crate::ports::Machine;

/// What has come to a CPU so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InterruptionCounts {
    /// Of each line of the table.
    lines: Vec<u64>,
    /// Work that was put off.
    softirqs: Option<u64>,
    /// SMIs, where they can be read.
    smis: Option<u64>,
}

/// What came between two readings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interruptions {
    /// Interrupts of the CPU's own timer.
    pub timer: u64,
    /// Those that other CPUs sent.
    pub from_cpus: u64,
    /// Those of a device, by its name: the one that came most often.
    pub device: Option<String>,
    /// All others.
    pub other: u64,
    /// Work that was put off.
    pub softirqs: u64,
    /// SMIs.
    pub smis: u64,
}

/// Whose interrupts a line counts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InterruptLine {
    Timer,
    FromCpus,
    Device(String),
    Other,
}

/// The counters of one CPU.
pub struct InterruptionCounters {
    interrupts: File,
    softirqs: Option<File>,
    smis: Option<SmiCounter>,
    cpu: CpuId,
    /// Of each line, in the order of the table.
    lines: Vec<InterruptLine>,
    /// The first line: while CPUs come or go, columns are another CPU's.
    header: String,
    /// Of the CPU, among those that are online.
    column: usize,
    /// The same of softirqs, which have a column for each CPU that there may be.
    softirq_column: usize,
}

impl InterruptionCounters {
    /// Those of a CPU of this machine, which is no other and none that is simulated, with SMIs where they are counted.
    ///
    /// # Error
    /// Where the kernel does not show them.
    pub fn of(
        machine: &Machine,
        cpu: CpuId,
        smis: Option<&SmiCounter>,
    ) -> Reading<InterruptionCounters> {
        let absent =
            |why: String| Unavailable::new(Obstacle::Permission, "causes of interruptions", why);
        if machine.simulated.is_some() || machine.elsewhere.is_some() {
            return Err(absent("only the machine at hand has them".to_owned()));
        }
        let interrupts = File::open(TABLE)
            .map_err(|error| absent(format!("`{TABLE}`: {}", sys::errno::words(&error))))?;
        let text = whole(&interrupts).ok_or_else(|| absent(format!("`{TABLE}` cannot be read")))?;
        let column = column_of(&text, cpu)
            .ok_or_else(|| absent(format!("`{TABLE}` has no column for CPU {cpu}")))?;
        let lines = text.lines().skip(1).map(InterruptLine::of).collect();
        let header = text.lines().next().unwrap_or_default().to_owned();
        let softirqs = File::open("/proc/softirqs").ok().and_then(|file| {
            let column = column_of(&whole(&file)?, cpu)?;
            Some((file, column))
        });
        let (softirqs, softirq_column) = softirqs.unzip();
        let softirq_column = softirq_column.unwrap_or(0);
        Ok(InterruptionCounters {
            interrupts,
            softirqs,
            smis: smis.cloned(),
            cpu,
            lines,
            header,
            column,
            softirq_column,
        })
    }

    /// What has come so far.
    pub fn read(&self) -> Option<InterruptionCounts> {
        let text =
            whole(&self.interrupts).filter(|text| text.lines().next() == Some(&self.header))?;
        let lines = text.lines().skip(1).map(|line| cell(line, self.column).unwrap_or(0));
        let softirqs = self.softirqs.as_ref().and_then(whole).map(|text| {
            text.lines().skip(1).filter_map(|line| cell(line, self.softirq_column)).sum::<u64>()
        });
        let smis = self.smis.as_ref().and_then(|counter| counter.read(self.cpu).ok());
        Some(InterruptionCounts { lines: lines.collect(), softirqs, smis })
    }

    /// What came from one reading to the next.
    pub fn between(
        &self,
        before: &InterruptionCounts,
        after: &InterruptionCounts,
    ) -> Interruptions {
        let mut came = Interruptions::default();
        let mut most = 0;
        let grown = |pair: (&u64, &u64)| pair.1.saturating_sub(*pair.0);
        let lines = std::iter::zip(&before.lines, &after.lines).map(grown);
        // A line that came up since stands somewhere in the table: its lines have other names than at first.
        let is_known = after.lines.len() == self.lines.len();
        for (line, grown) in std::iter::zip(&self.lines, lines).filter(|(_, grown)| *grown > 0) {
            match line {
                _ if !is_known => came.other += grown,
                InterruptLine::Timer => came.timer += grown,
                InterruptLine::FromCpus => came.from_cpus += grown,
                InterruptLine::Other => came.other += grown,
                InterruptLine::Device(name) if grown > most => {
                    most = grown;
                    came.device = Some(name.clone());
                }
                InterruptLine::Device(_) => {}
            }
        }
        let of = |count: fn(&InterruptionCounts) -> Option<u64>| {
            count(before)
                .zip(count(after))
                .map_or(0, |(before, after)| after.saturating_sub(before))
        };
        came.softirqs = of(|counts| counts.softirqs);
        came.smis = of(|counts| counts.smis);
        came
    }
}

impl InterruptLine {
    /// By what it begins with, and what it is called.
    fn of(line: &str) -> InterruptLine {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default().trim_end_matches(':');
        let names: Vec<&str> = words.filter(|word| word.parse::<u64>().is_err()).collect();
        let is_timer = |name: &&str| ["arch_timer", "timer"].contains(name);
        match first {
            // On x86 the local APIC's, and those of Hyper-V and Xen.
            "LOC" | "HVS" => InterruptLine::Timer,
            "RES" | "CAL" | "TLB" | "IWI" | "RTR" => InterruptLine::FromCpus,
            _ if first.starts_with("IPI") => InterruptLine::FromCpus,
            _ if names.iter().any(is_timer) => InterruptLine::Timer,
            _ if first.parse::<u32>().is_ok() => InterruptLine::Device(
                names.last().map_or_else(|| first.to_owned(), |it| (*it).to_owned()),
            ),
            _ => InterruptLine::Other,
        }
    }
}

/// All of a file of procfs, from its beginning.
fn whole(file: &File) -> Option<String> {
    let mut bytes = Vec::with_capacity(1 << 16);
    let mut chunk = vec![0; 1 << 15];
    loop {
        match file.read_at(&mut chunk, bytes.len() as u64).ok()? {
            0 => return String::from_utf8(bytes).ok(),
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}

/// Which of the columns of numbers is a CPU's.
fn column_of(table: &str, cpu: CpuId) -> Option<usize> {
    let name = format!("CPU{cpu}");
    table.lines().next()?.split_whitespace().position(|word| word == name)
}

/// The number of a line in a column; lines for the whole machine have one number alone.
fn cell(line: &str, column: usize) -> Option<u64> {
    line.split_whitespace().nth(column + 1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = "\
           CPU0       CPU2
  1:          0          9   IO-APIC    1-edge      i8042
 27:          3          5  PCI-MSIX-0000:00:03.0   0-edge      virtio1-input.0
LOC:        100        200   Local timer interrupts
CAL:          7          8   Function call interrupts
PMI:          0          1   Performance monitoring interrupts
ERR:          4
";

    fn counters(table: &str, cpu: u32) -> InterruptionCounters {
        let column = column_of(table, CpuId(cpu)).unwrap();
        let lines = table.lines().skip(1).map(InterruptLine::of).collect();
        let interrupts = File::open("/dev/null").unwrap();
        InterruptionCounters {
            interrupts,
            softirqs: None,
            smis: None,
            cpu: CpuId(cpu),
            lines,
            header: String::new(),
            column,
            softirq_column: 0,
        }
    }

    fn read(counters: &InterruptionCounters, table: &str, softirqs: u64) -> InterruptionCounts {
        let lines =
            table.lines().skip(1).map(|line| cell(line, counters.column).unwrap_or(0)).collect();
        InterruptionCounts { lines, softirqs: Some(softirqs), smis: None }
    }

    #[test]
    fn what_came_to_a_cpu_is_counted_by_its_column_and_line() {
        let counters = counters(SHOWN, 2);
        let before = read(&counters, SHOWN, 10);
        // CPU 2: two of the network card, one timer, one call; of CPU 0 nothing counts.
        let later = SHOWN
            .replace("          3          5", "          9          7")
            .replace("        200", "        201")
            .replace("          8 ", "          9 ");
        let came = counters.between(&before, &read(&counters, &later, 13));
        let device = Some("virtio1-input.0".to_owned());
        let expected = Interruptions {
            timer: 1,
            from_cpus: 1,
            device,
            softirqs: 3,
            ..Interruptions::default()
        };
        assert_eq!(came, expected);
        assert_eq!(counters.between(&before, &before), Interruptions::default());
    }

    #[test]
    fn an_interrupt_of_a_table_that_grew_has_no_name() {
        let counters = counters(SHOWN, 0);
        let before = read(&counters, SHOWN, 0);
        let grown =
            SHOWN.replace("LOC:        100", " 28:          1          0  new\nLOC:        101");
        let came = counters.between(&before, &read(&counters, &grown, 0));
        assert!(came.device.is_none() && came.timer == 0 && came.other > 0, "{came:?}");
    }

    #[test]
    fn lines_of_other_machines_have_their_kinds() {
        for (line, kind) in [
            (" 11:   5   6  GICv3  27 Level  arch_timer", InterruptLine::Timer),
            ("IPI0:  5   6  Rescheduling interrupts", InterruptLine::FromCpus),
            ("HVS:   5   6  Hyper-V stimer0 interrupts", InterruptLine::Timer),
            ("NMI:   5   6  Non-maskable interrupts", InterruptLine::Other),
            ("  9:   5   6", InterruptLine::Device("9".to_owned())),
        ] {
            assert_eq!(InterruptLine::of(line), kind, "{line}");
        }
    }
}
