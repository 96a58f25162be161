//! Who the CPU says it is.

use std::fmt;

use model::{CpuId, Obstacle, Unavailable};
use sys::cpuid::Leaf;

use super::microarchitecture;
use super::platform::not_offered;
use super::topology;
use crate::ports::{Machine, Reading};
use crate::rows::{Row, row, text};
use crate::survey::Survey;
use crate::text::folded;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cpu.brand", "CPU", |s| brand(s).map(text)),
    row("cpu.vendor", "Vendor", |s| vendor(s).map(text)),
    row("cpu.family_model_stepping", "Family/model/stepping", |s| numbers(s).map(text)),
    row("cpu.microcode", "Microcode", |s| cpuinfo(s, "microcode").map(text)),
    row("cpu.microarchitecture", "Microarchitecture", |s| microarchitecture(s).map(text)),
    row("cpu.core_types", "Core types", |s| core_types(s).map(text)),
];

pub(super) const CPUINFO: &str = "/proc/cpuinfo";

/// Display family, model and stepping, as `/proc/cpuinfo` writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) family: u32,
    pub(crate) model: u32,
    /// Old kernels, and some hypervisors, say `unknown`.
    pub(crate) stepping: Option<u32>,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/", self.family, self.model)?;
        match self.stepping {
            Some(stepping) => write!(f, "{stepping}"),
            None => f.write_str("?"),
        }
    }
}

/// The numbers by which lists of events know a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuNumbers {
    /// An x86 CPU.
    X86 {
        /// Vendor, as CPUID 0 writes it.
        vendor: String,
        /// Display family.
        family: u32,
        /// Display model.
        model: u32,
        /// Stepping, where it is known.
        stepping: Option<u32>,
    },
    /// A core of Arm's architecture.
    Arm {
        /// Who designed it.
        implementer: u32,
        /// Which of the designer's cores it is.
        part: u32,
    },
}

/// The numbers of the CPUs: one entry for all of an x86 machine, one for each CPU of others, in the
/// order in which the kernel lists them.
pub fn cpu_numbers(machine: &Machine) -> Reading<Vec<CpuNumbers>> {
    let survey = Survey::new(machine);
    let of_arm =
        |midr: &Midr| CpuNumbers::Arm { implementer: midr.implementer(), part: midr.part() };
    let cores: Vec<CpuNumbers> = midrs(&survey).iter().map(of_arm).collect();
    if !cores.is_empty() {
        return Ok(cores);
    }
    let Signature { family, model, stepping } = signature(&survey)?;
    Ok(vec![CpuNumbers::X86 { vendor: vendor(&survey)?, family, model, stepping }])
}

/// A line of the first CPU in `/proc/cpuinfo`.
pub(super) fn cpuinfo(survey: &Survey<'_>, key: &str) -> Reading<String> {
    let text = survey.cpuinfo()?;
    let first = text.split("\n\n").next().unwrap_or_default();
    // Keys may begin alike (`model`, `model name`): only white space may stand before the colon.
    let value = first.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim()).filter(|value| !value.is_empty())
    });
    value
        .map(String::from)
        .ok_or_else(|| not_offered(&format!("`{CPUINFO}` has no line `{key}` here"), CPUINFO))
}

/// What the CPU calls itself: each architecture's kernel has a word of its own for it.
fn brand(survey: &Survey<'_>) -> Reading<String> {
    cpuinfo(survey, "model name").or_else(|reason| {
        let arm = || Some(format!("{} {}", vendor(survey).ok()?, arm_cores(survey)?.ok()?));
        // Power, RISC-V, LoongArch.
        let others = ["cpu", "uarch", "Model Name"];
        brand_by_cpuid(survey)
            .or_else(arm)
            .or_else(|| others.iter().find_map(|key| cpuinfo(survey, key).ok()))
            .or_else(|| mainframe(survey))
            .ok_or(reason)
    })
}

/// `processor 0: version = FF,  identification = 0133E8,  machine = 2964`: the type of the machine
/// and no more, for the identification is a serial number.
fn mainframe(survey: &Survey<'_>) -> Option<String> {
    let (_, machine) = survey.cpuinfo().ok()?.split_once("machine = ")?;
    let digits: String = machine.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then(|| format!("machine type {digits}"))
}

/// # Source
/// Intel SDM volume 2A, CPUID: leaves 8000_0002h to 8000_0004h hold 48 letters, zero-terminated.
fn brand_by_cpuid(survey: &Survey<'_>) -> Option<String> {
    let mut letters = Vec::new();
    for leaf in 0x8000_0002..=0x8000_0004 {
        let leaf = survey.cpuid.leaf(leaf, 0)?;
        for register in [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx] {
            letters.extend(register.to_le_bytes());
        }
    }
    let brand = String::from_utf8_lossy(&letters);
    let brand = brand.split('\0').next().unwrap_or_default().trim();
    (!brand.is_empty()).then(|| brand.into())
}

pub(crate) fn vendor(survey: &Survey<'_>) -> Reading<String> {
    cpuinfo(survey, "vendor_id").or_else(|reason| {
        let of_arm = || microarchitecture::implementer(midrs(survey).first()?.implementer());
        vendor_by_cpuid(survey).or_else(|| of_arm().map(String::from)).ok_or(reason)
    })
}

/// # Source
/// Intel SDM volume 2A and AMD APM volume 3, CPUID: leaf 0 holds 12 letters in EBX, EDX, ECX.
fn vendor_by_cpuid(survey: &Survey<'_>) -> Option<String> {
    let leaf = survey.cpuid.leaf(0, 0)?;
    let letters: Vec<u8> =
        [leaf.ebx, leaf.edx, leaf.ecx].iter().flat_map(|word| word.to_le_bytes()).collect();
    let letters = String::from_utf8_lossy(&letters);
    let letters = letters.trim_matches(['\0', ' ']);
    (!letters.is_empty()).then(|| letters.into())
}

pub(super) fn signature(survey: &Survey<'_>) -> Reading<Signature> {
    let number = |key| {
        let text = cpuinfo(survey, key)?;
        text.parse().map_err(|_| {
            let why = format!("`{CPUINFO}` says `{key} : {text}`, which is no number");
            Unavailable::new(Obstacle::Cpudyno, key, why)
        })
    };
    let by_cpuid = signature_by_cpuid(survey);
    let listed = || {
        let (family, model) = (number("cpu family")?, number("model")?);
        let same = |it: &Signature| (it.family, it.model) == (family, model);
        let stepping = number("stepping").ok();
        let stepping = stepping.or_else(|| by_cpuid.filter(same).and_then(|it| it.stepping));
        Ok(Signature { family, model, stepping })
    };
    listed().or_else(|reason| by_cpuid.ok_or(reason))
}

/// # Source
/// Intel SDM volume 2A and AMD APM volume 3, CPUID 1 EAX: stepping in bits 3:0, model in 7:4,
/// family in 11:8, more of the model in 19:16 (of families 6 and 15), more of the family in 27:20
/// (of family 15).
fn signature_by_cpuid(survey: &Survey<'_>) -> Option<Signature> {
    let eax = survey.cpuid.leaf(1, 0).map(|leaf| leaf.eax).filter(|&eax| eax != 0)?;
    let bits = |low: u32, count: u32| eax >> low & ((1 << count) - 1);
    let base = bits(8, 4);
    Some(Signature {
        family: if base == 15 { base + bits(20, 8) } else { base },
        model: if matches!(base, 6 | 15) { bits(16, 4) << 4 | bits(4, 4) } else { bits(4, 4) },
        stepping: Some(bits(0, 4)),
    })
}

/// Family, model and stepping; on Arm what stands for them.
fn numbers(survey: &Survey<'_>) -> Reading<String> {
    signature(survey).map(|signature| signature.to_string()).or_else(|reason| {
        let midrs = midrs(survey);
        if midrs.is_empty() {
            return Err(reason);
        }
        let numbers: Vec<String> = midrs.iter().map(Midr::to_string).collect();
        Ok(folded(numbers.iter().map(String::as_str)))
    })
}

/// Arm's identification of a core, MIDR_EL1.
///
/// # Source
/// Arm Architecture Reference Manual, MIDR_EL1: implementer in bits 31:24, variant in 23:20, part
/// in 15:4, revision in 3:0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Midr(u64);

impl Midr {
    fn implementer(self) -> u32 {
        (self.0 >> 24 & 0xff) as u32
    }

    fn part(self) -> u32 {
        (self.0 >> 4 & 0xfff) as u32
    }

    fn name(self) -> Reading<String> {
        let name = microarchitecture::arm_core(self.implementer(), self.part());
        name.map(String::from).ok_or_else(|| {
            let why = format!("this version has no name for {self}");
            Unavailable::new(Obstacle::Cpudyno, "core", why)
        })
    }
}

impl fmt::Display for Midr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, revision) = (self.0 >> 20 & 0xf, self.0 & 0xf);
        let (implementer, part) = (self.implementer(), self.part());
        write!(f, "implementer {implementer:#04x} part {part:#05x} r{variant}p{revision}")
    }
}

/// Of every CPU that says it; empty on other architectures.
fn midrs(survey: &Survey<'_>) -> Vec<Midr> {
    let blocks = survey.cpuinfo().unwrap_or_default().split("\n\n");
    let listed: Vec<Midr> = blocks.filter_map(midr_of_block).collect();
    if !listed.is_empty() {
        return listed;
    }
    let read = |cpu: CpuId| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
        let text = survey.tree.read(&path).ok()?;
        u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok().map(Midr)
    };
    // Where the first CPU has no such file, none has.
    topology::online(survey).iter().map_while(read).collect()
}

/// One CPU of `/proc/cpuinfo`, put together again.
fn midr_of_block(block: &str) -> Option<Midr> {
    let number = |key: &str| {
        let (_, value) = block
            .lines()
            .find_map(|line| line.split_once(':').filter(|(name, _)| name.trim() == key))?;
        let value = value.trim();
        match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => value.parse().ok(),
        }
    };
    let implementer = number("CPU implementer").filter(|&implementer| implementer <= 0xff)?;
    let part = number("CPU part").filter(|&part| part <= 0xfff)?;
    let small = |key| number(key).filter(|&number| number <= 0xf).unwrap_or_default();
    let (variant, revision) = (small("CPU variant"), small("CPU revision"));
    Some(Midr(implementer << 24 | variant << 20 | part << 4 | revision))
}

/// The names of Arm's cores, folded; `None` on other architectures.
fn arm_cores(survey: &Survey<'_>) -> Option<Reading<String>> {
    let midrs = midrs(survey);
    if midrs.is_empty() {
        return None;
    }
    let names: Reading<Vec<String>> = midrs.iter().map(|midr| midr.name()).collect();
    Some(names.map(|names| folded(names.iter().map(String::as_str))))
}

fn microarchitecture(survey: &Survey<'_>) -> Reading<String> {
    if let Some(simulated) = &survey.simulated {
        return Ok(simulated.identity.microarchitecture.clone());
    }
    if let Some(cores) = arm_cores(survey) {
        return cores;
    }
    let signature = match (signature(survey), cpuinfo(survey, "cpu")) {
        (Ok(signature), _) => signature,
        // `POWER9 (raw), altivec supported`: the first word is the name.
        (Err(_), Ok(power)) => {
            return Ok(power.split([' ', ',']).next().unwrap_or_default().into());
        }
        (Err(reason), _) => return cpuinfo(survey, "uarch").map_err(|_| reason),
    };
    let Signature { family, model, .. } = signature;
    let Some(name) = microarchitecture::name(&vendor(survey)?, signature) else {
        let why = format!("this version has no name for family {family} model {model}");
        return Err(Unavailable::new(Obstacle::Cpudyno, "microarchitecture", why));
    };
    // Hypervisors give all hosts of a fleet one number, that of the oldest.
    let newer =
        survey.cpuid.leaf(7, 0).and_then(|leaf| microarchitecture::betrayed(name, leaf.edx));
    if let Some(newer) = newer {
        let why = format!(
            "family {family} model {model} is {name}, which has no {newer}, and this CPU has it: the hypervisor \
             gives it another one's number"
        );
        return Err(Unavailable::new(Obstacle::Permission, "microarchitecture", why)
            .with_remedy("ask whoever runs the host for the CPU's model"));
    }
    Ok(name.to_owned())
}

/// The types of cores and how many CPUs there are of each.
fn core_types(survey: &Survey<'_>) -> Reading<String> {
    if let Some(cores) = arm_cores(survey) {
        return cores;
    }
    let generation = microarchitecture(survey).unwrap_or_default();
    let Some(here) = core_type(&generation, |leaf| survey.cpuid.leaf(leaf, 0)) else {
        return one_type(survey);
    };
    if !are_mixed(|leaf| survey.cpuid.leaf(leaf, 0)) {
        return Ok(here);
    }
    let of = |cpu| core_type(&generation, |leaf| survey.cpuid.leaf_of(cpu, leaf, 0));
    let names: Vec<String> = topology::online(survey).iter().filter_map(of).collect();
    Ok(if names.is_empty() { here } else { folded(names.iter().map(String::as_str)) })
}

/// Where nobody names types.
fn one_type(survey: &Survey<'_>) -> Reading<String> {
    if topology::is_of_one_kind(survey) {
        return Ok("one type".to_owned());
    }
    let why = "neither CPUID nor `/proc/cpuinfo` names types of cores";
    Err(Unavailable::new(Obstacle::Hardware, "core types", why))
}

const CORE_TYPE: u32 = 0x1a;
const AMD_TOPOLOGY: u32 = 0x8000_0026;

/// # Source
/// Intel SDM volume 2A, CPUID: 7 EDX\[15\]; AMD APM volume 3, appendix E: 8000_0026h EAX\[30\].
fn are_mixed(ask: impl Fn(u32) -> Option<Leaf>) -> bool {
    ask(7).is_some_and(|leaf| leaf.edx >> 15 & 1 == 1)
        || ask(AMD_TOPOLOGY).is_some_and(|leaf| leaf.eax >> 30 & 1 == 1)
}

/// The type of one CPU's core.
///
/// # Source
/// Intel SDM volume 2A, CPUID 1Ah: EAX\[31:24\] is the type, EAX\[23:0\] its model; AMD APM
/// volume 3, appendix E: 8000_0026h EBX\[31:28\] is the type where cores differ.
fn core_type(generation: &str, ask: impl Fn(u32) -> Option<Leaf>) -> Option<String> {
    if let Some(leaf) = ask(CORE_TYPE).filter(|leaf| leaf.eax != 0) {
        let name = microarchitecture::core_type(generation, leaf.eax);
        return Some(name.map_or_else(|| format!("unnamed {:#010x}", leaf.eax), String::from));
    }
    let leaf = ask(AMD_TOPOLOGY).filter(|leaf| leaf.eax >> 30 & 1 == 1)?;
    Some(match leaf.ebx >> 28 {
        0 => "performance".into(),
        1 => "efficiency".into(),
        other => format!("unnamed {other}"),
    })
}
