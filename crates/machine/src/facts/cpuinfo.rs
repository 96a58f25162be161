//! `/proc/cpuinfo`, as each architecture's kernel writes it: a block of lines for each CPU, and lines
//! that are about all of them, before, between or behind.
//!
//! # Source
//! `show_cpuinfo` in the kernel's `arch/*/kernel`: x86 `cpu/proc.c`, arm64 `cpuinfo.c`, arm `setup.c`,
//! riscv `cpu.c`, loongarch and mips `proc.c`, powerpc `setup-common.c`, s390 `processor.c`, sparc
//! `cpu.c`.

use std::collections::BTreeMap;

use model::microarchitecture::{Midr, RiscV};
use model::{CpuId, CpuSet};

pub(super) const CPUINFO: &str = "/proc/cpuinfo";

/// What it says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cpuinfo {
    cpus: BTreeMap<CpuId, Block>,
    /// Of no CPU, and so of all.
    common: Block,
}

/// Lines `key : value`; the first of equal keys counts.
#[derive(Debug, Clone, Default)]
struct Block(Vec<(String, String)>);

impl Block {
    fn push(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.0.push((key.to_owned(), value.to_owned()));
        }
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// Whose CPUs they are, by the lines that only the kernel of that architecture writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    X86,
    Arm,
    RiscV,
    LoongArch,
    Mips,
    Power,
    S390,
    Sparc,
}

/// A cache that a line describes; who shares it, no line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DescribedCache {
    pub(super) level: u8,
    pub(super) kind: model::record::CacheKind,
    pub(super) bytes: u64,
    pub(super) line_bytes: Option<u32>,
    pub(super) ways: Option<u32>,
}

impl Cpuinfo {
    pub(crate) fn parse(text: &str) -> Cpuinfo {
        let mut cpuinfo = Cpuinfo::default();
        let mut current = None;
        for line in text.lines() {
            if line.trim().is_empty() {
                current = None;
            }
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim(), value.trim());
            if let Some((cpu, fields)) = processor(key, value) {
                let block = cpuinfo.cpus.entry(cpu).or_default();
                for (key, value) in fields.iter().filter_map(|field| field.split_once('=')) {
                    block.push(key.trim(), value.trim());
                }
                current = fields.is_empty().then_some(cpu);
                continue;
            }
            match current.and_then(|cpu| cpuinfo.cpus.get_mut(&cpu)) {
                Some(block) => block.push(key, value),
                None => cpuinfo.common.push(key, value),
            }
        }
        cpuinfo
    }

    /// The CPUs that it names.
    pub(super) fn cpus(&self) -> CpuSet {
        self.cpus.keys().copied().collect()
    }

    /// The line of one CPU, else that of all.
    pub(super) fn of(&self, cpu: CpuId, key: &str) -> Option<&str> {
        self.cpus.get(&cpu).and_then(|block| block.get(key)).or_else(|| self.common.get(key))
    }

    /// The line of the first CPU, else that of all.
    pub(super) fn first(&self, key: &str) -> Option<&str> {
        let of_first = self.cpus.values().next().and_then(|block| block.get(key));
        of_first.or_else(|| self.common.get(key))
    }

    /// The line of whichever CPU has it first.
    pub(super) fn any(&self, key: &str) -> Option<&str> {
        self.cpus.values().find_map(|block| block.get(key)).or_else(|| self.common.get(key))
    }

    /// A number of one CPU, decimal or with `0x`.
    fn number_of(&self, cpu: CpuId, key: &str) -> Option<u64> {
        number(self.of(cpu, key)?)
    }

    /// A number of one CPU, from the first of these lines that is there; -1 and what only looks like
    /// it mean that there is none.
    pub(super) fn small(&self, cpu: CpuId, keys: &[&str]) -> Option<u32> {
        let number = keys.iter().find_map(|key| self.of(cpu, key))?.parse().ok();
        number.filter(|&number| i32::try_from(number).is_ok())
    }

    /// x86 and s390 write `physical id`, LoongArch and MIPS `package`.
    pub(super) fn package(&self, cpu: CpuId) -> Option<u32> {
        self.small(cpu, &["physical id", "package"])
    }

    /// x86 and s390 write `core id`, LoongArch and MIPS `core`.
    pub(super) fn core(&self, cpu: CpuId) -> Option<u32> {
        self.small(cpu, &["core id", "core"])
    }

    /// The architecture, where a line tells it.
    pub(crate) fn architecture(&self) -> Option<Architecture> {
        let has = |key: &str| self.first(key).is_some();
        let starts = |key: &str, starts: &[&str]| {
            self.first(key).is_some_and(|value| starts.iter().any(|start| value.starts_with(start)))
        };
        let contains = |key: &str, part: &str| self.first(key).is_some_and(|v| v.contains(part));
        Some(if starts("vendor_id", &["IBM/S390"]) || has("# processors") {
            Architecture::S390
        } else if has("cpu family") || has("flags") {
            Architecture::X86
        } else if has("isa") && (has("hart") || starts("isa", &["rv"])) {
            Architecture::RiscV
        } else if starts("CPU Family", &["Loongson"]) || starts("ISA", &["loongarch"]) {
            Architecture::LoongArch
        } else if has("CPU implementer") || has("Processor") {
            Architecture::Arm
        } else if contains("revision", "pvr") || starts("cpu", &["POWER", "PPC"]) {
            Architecture::Power
        } else if starts("type", &["sun4"]) || has("ncpus probed") {
            Architecture::Sparc
        } else if has("cpu model") && has("system type") {
            Architecture::Mips
        } else {
            return None;
        })
    }

    /// Arm's identification of a core.
    pub(super) fn midr(&self, cpu: CpuId) -> Option<Midr> {
        let number = |key| self.number_of(cpu, key);
        let small = |key| number(key).filter(|&number| number <= 0xf).unwrap_or_default();
        let implementer = number("CPU implementer").filter(|&number| number <= 0xff)?;
        let part = number("CPU part").filter(|&number| number <= 0xfff)?;
        Some(Midr::new(implementer, small("CPU variant"), part, small("CPU revision")))
    }

    /// What tells a RISC-V core from others; `None` where no line does.
    pub(super) fn riscv(&self, cpu: CpuId) -> Option<RiscV> {
        if self.architecture() != Some(Architecture::RiscV) {
            return None;
        }
        let core = RiscV {
            uarch: self.of(cpu, "uarch").map(String::from),
            vendor: self.number_of(cpu, "mvendorid").filter(|&vendor| vendor != 0),
            architecture: self.number_of(cpu, "marchid"),
        };
        (core.uarch.is_some() || core.vendor.is_some()).then_some(core)
    }

    /// The instruction sets of a RISC-V hart: its own, where the kernel tells them apart.
    pub(super) fn riscv_isa(&self, cpu: CpuId) -> Option<&str> {
        self.of(cpu, "hart isa").or_else(|| self.of(cpu, "isa")).filter(|isa| isa.starts_with("rv"))
    }

    /// The instruction sets of other architectures than x86 and Arm, in the kernel's words; of a
    /// RISC-V, whether its vectors are those of a draft.
    pub(super) fn instruction_sets(&self) -> Option<String> {
        let line = |key| self.first(key).map(String::from);
        match self.architecture()? {
            Architecture::RiscV => {
                let cpu = self.cpus.keys().next().copied().unwrap_or(CpuId(0));
                let isa = self.riscv_isa(cpu).or_else(|| self.first("isa"))?;
                let told = self.first("cpu-vector").or_else(|| self.first("vector version"));
                let draft = told.is_some_and(|version| version.starts_with("0."))
                    || self.riscv(cpu).is_some_and(|core| core.has_draft_vectors());
                let letters = isa.split('_').next().unwrap_or(isa).trim_start_matches("rv");
                let draft = if draft && letters.contains('v') { " (v: draft 0.7.1)" } else { "" };
                Some(format!("{isa}{draft}"))
            }
            Architecture::LoongArch => line("Features").or_else(|| line("ISA")),
            Architecture::S390 => line("features"),
            Architecture::Power => {
                let (_, sets) = self.first("cpu")?.split_once(", ")?;
                Some(sets.trim_end_matches(" supported").to_owned())
            }
            Architecture::Mips => line("ASEs implemented"),
            _ => None,
        }
    }

    /// The caches that it describes: those of s390, and those of the first CPU on T-Head's kernels.
    ///
    /// # Source
    /// The kernel's `show_cacheinfo` in `arch/s390/kernel/cache.c`: `cache0 : level=1 type=Data
    /// scope=Private size=128K line_size=256 associativity=8`.
    pub(super) fn caches(&self) -> Vec<DescribedCache> {
        use model::record::CacheKind::{Data, Instruction, Unified};
        /// Of T-Head's kernels, with and without `cpu-`.
        const KEYS: [(&str, u8, model::record::CacheKind); 3] =
            [("icache", 1, Instruction), ("dcache", 1, Data), ("l2cache", 2, Unified)];
        let of_s390 = self.common.0.iter().filter_map(|(key, value)| {
            key.strip_prefix("cache")?.parse::<u8>().ok()?;
            described(value)
        });
        let mut caches: Vec<DescribedCache> = of_s390.collect();
        let word = |key: &str| self.first(&format!("cpu-{key}")).or_else(|| self.first(key));
        let line = word("cacheline").or_else(|| word("cache line"));
        let line_bytes = line.and_then(|line| line.trim_end_matches("Bytes").parse().ok());
        caches.extend(KEYS.into_iter().filter_map(|(key, level, kind)| {
            let bytes = size(word(key)?.trim_end_matches('B'))?;
            Some(DescribedCache { level, kind, bytes, line_bytes, ways: None })
        }));
        caches.sort_unstable();
        caches.dedup();
        caches
    }
}

/// One line of s390.
fn described(line: &str) -> Option<DescribedCache> {
    use model::record::CacheKind::{Data, Instruction, Unified};
    let field = |name: &str| {
        let fields = || line.split_whitespace().filter_map(|field| field.split_once('='));
        fields().find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let positive = |name| field(name)?.parse::<u32>().ok().filter(|&number| number > 0);
    Some(DescribedCache {
        level: field("level")?.parse().ok().filter(|level| (1..=15).contains(level))?,
        kind: match field("type")? {
            "Data" => Data,
            "Instruction" => Instruction,
            "Unified" => Unified,
            _ => return None,
        },
        bytes: size(field("size")?)?,
        line_bytes: positive("line_size"),
        ways: positive("associativity"),
    })
}

fn size(text: &str) -> Option<u64> {
    /// No cache is nearly as large.
    const BYTES_MAX: u64 = 64 << 30;
    let bytes = crate::parse::sysfs_bytes(&text.to_ascii_uppercase())? as u64;
    (1..=BYTES_MAX).contains(&bytes).then_some(bytes)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The beginning of a block: `processor : 3`; s390 writes `processor 3: version = FF, machine =
/// 2964`, a block of one line, and later blocks that begin with `cpu number : 3`.
fn processor<'a>(key: &str, value: &'a str) -> Option<(CpuId, Vec<&'a str>)> {
    let (number, fields) = match key {
        // IA-64 puts a comma behind the number.
        "processor" | "cpu number" => (value.trim_end_matches(','), Vec::new()),
        _ => (key.strip_prefix("processor ")?.trim(), value.split(',').collect()),
    };
    let list: CpuSet = number.parse().ok().filter(|list: &CpuSet| list.len() == 1)?;
    Some((list.iter().next()?, fields))
}
