//! Who the CPU says it is.

use std::iter::repeat_n;

use model::microarchitecture::{self, CpuNumbers, Signature};
use model::{Obstacle, Reading, Unavailable};
use sys::cpuid::Leaf;

use super::cores::{self, CoreIdentity};
use super::cpuinfo::{Architecture, CPUINFO, Cpuinfo};
use super::platform::not_offered;
use super::topology;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::parse::folded;
use crate::ports::Machine;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("cpu.brand", "CPU", |s| brand(s).map(text)),
    row("cpu.vendor", "Vendor", |s| vendor(s).map(text)),
    row("cpu.family_model_stepping", "Family/model/stepping", |s| numbers(s).map(text)),
    row("cpu.microcode", "Microcode", |s| cpuinfo(s, "microcode").map(text)),
    row("cpu.microarchitecture", "Microarchitecture", |s| microarchitecture(s).map(text)),
    row("cpu.core_types", "Core types", |s| core_types(s).map(text)),
];

/// The numbers of the CPUs: one entry for all of an x86 machine, one for each CPU of others, in the
/// order in which the kernel lists them.
pub fn cpu_numbers(machine: &Machine) -> Reading<Vec<CpuNumbers>> {
    let survey = Survey::new(machine);
    let of_arm = |core: &CoreIdentity| match core {
        CoreIdentity::Arm(midr) => {
            Some(CpuNumbers::Arm { implementer: midr.implementer(), part: midr.part() })
        }
        CoreIdentity::RiscV(_) => None,
    };
    let cores: Vec<CpuNumbers> = cores(&survey).iter().filter_map(of_arm).collect();
    if !cores.is_empty() {
        return Ok(cores);
    }
    let Signature { family, model, stepping } = signature(&survey)?;
    Ok(vec![CpuNumbers::X86 { vendor: vendor(&survey)?, family, model, stepping }])
}

/// A line of the first CPU in `/proc/cpuinfo`, or of all.
pub(super) fn cpuinfo(survey: &Survey<'_>, key: &str) -> Reading<String> {
    let value = survey.cpuinfo()?.first(key);
    value
        .map(String::from)
        .ok_or_else(|| not_offered(&format!("`{CPUINFO}` has no line `{key}` here"), CPUINFO))
}

/// What the CPU calls itself: each architecture's kernel has a word of its own for it.
fn brand(survey: &Survey<'_>) -> Reading<String> {
    // 32-bit Arm has a line `model name` that names the version of the architecture alone.
    let is_core = |name: &String| !["ARMv", "AArch64"].iter().any(|start| name.starts_with(start));
    let line = |key| cpuinfo(survey, key).ok();
    let named = line("model name");
    let brand = named.clone().filter(is_core);
    brand
        .or_else(|| brand_by_cpuid(survey))
        .or_else(|| full_names(survey))
        // LoongArch; MIPS and Alpha; Power and SPARC.
        .or_else(|| ["Model Name", "cpu model", "cpu"].into_iter().find_map(line))
        .or_else(|| mainframe(survey))
        .or(named)
        .ok_or_else(|| no_line(survey, "model name", "names neither CPU nor core"))
}

/// Why a line is missing: only x86 has those that are asked for first.
fn no_line(survey: &Survey<'_>, key: &str, otherwise: &str) -> Unavailable {
    match survey.cpuinfo() {
        Err(reason) => reason,
        Ok(_) if matches!(survey.architecture(), None | Some(Architecture::X86)) => {
            not_offered(&format!("`{CPUINFO}` has no line `{key}` here"), CPUINFO)
        }
        Ok(_) => not_offered(&format!("`{CPUINFO}` {otherwise} here"), CPUINFO),
    }
}

/// The type of the machine and no more: beside it stands a serial number.
fn mainframe(survey: &Survey<'_>) -> Option<String> {
    let kind = mainframe_type(survey)?;
    let name = microarchitecture::mainframe(kind).map(|name| format!("IBM {name}, "));
    Some(format!("{}machine type {kind}", name.unwrap_or_default()))
}

fn mainframe_type(survey: &Survey<'_>) -> Option<u32> {
    if survey.architecture() != Some(Architecture::S390) {
        return None;
    }
    survey.cpuinfo().ok()?.first("machine")?.parse().ok()
}

/// # Source
/// Intel SDM volume 2A, CPUID: leaves 8000_0002h to 8000_0004h hold 48 letters, zero-terminated.
pub(super) fn brand_by_cpuid(survey: &Survey<'_>) -> Option<String> {
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
    let of_core = || cores(survey).first().and_then(CoreIdentity::designer).map(String::from);
    let of_architecture = || match survey.architecture()? {
        Architecture::LoongArch => Some("Loongson".to_owned()),
        _ => None,
    };
    let line = cpuinfo(survey, "vendor_id").ok();
    line.or_else(|| vendor_by_cpuid(survey))
        .or_else(of_core)
        .or_else(of_architecture)
        .ok_or_else(|| no_line(survey, "vendor_id", "names no maker"))
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
/// family in 11:8, more of the family in 27:20 (of family 15), more of the model in 19:16: of
/// families 6 and 15 there, from family 6 up in the kernel (`arch/x86/lib/cpu.c`), as Zhaoxin has
/// it in family 7.
fn signature_by_cpuid(survey: &Survey<'_>) -> Option<Signature> {
    let eax = survey.cpuid.leaf(1, 0).map(|leaf| leaf.eax).filter(|&eax| eax != 0)?;
    let bits = |low: u32, count: u32| eax >> low & ((1 << count) - 1);
    let base = bits(8, 4);
    Some(Signature {
        family: if base == 15 { base + bits(20, 8) } else { base },
        model: if base >= 6 { bits(16, 4) << 4 | bits(4, 4) } else { bits(4, 4) },
        stepping: Some(bits(0, 4)),
    })
}

/// Family, model and stepping; on other architectures what stands for them.
fn numbers(survey: &Survey<'_>) -> Reading<String> {
    if let Ok(signature) = signature(survey) {
        return Ok(signature.to_string());
    }
    let numbers: Vec<String> = cores(survey).iter().map(CoreIdentity::numbers).collect();
    if !numbers.is_empty() {
        return Ok(folded(numbers.iter().map(String::as_str)));
    }
    // `2.1 (pvr 004b 0201)`.
    let version = cpuinfo(survey, "revision").ok().and_then(|revision| {
        let (_, version) = revision.split_once("(pvr ")?;
        Some(format!("PVR {}", version.trim_end_matches(')')))
    });
    version.ok_or_else(|| no_line(survey, "cpu family", "gives the CPU no numbers"))
}

/// Who the cores of the online CPUs say they are; empty on architectures where they do not.
fn cores(survey: &Survey<'_>) -> Vec<CoreIdentity> {
    let nothing = Cpuinfo::default();
    let cpuinfo = survey.cpuinfo().unwrap_or(&nothing);
    let cores = cores::cores(survey, cpuinfo, &topology::online(survey));
    cores.into_iter().map(|(_, core)| core).collect()
}

/// The names of the cores, folded; `None` where they do not say who they are.
fn names_of_cores(survey: &Survey<'_>) -> Option<Reading<String>> {
    let cores = cores(survey);
    if cores.is_empty() {
        return None;
    }
    let names: Reading<Vec<String>> = cores.iter().map(CoreIdentity::name).collect();
    let silent = topology::online(survey).len().saturating_sub(cores.len());
    Some(
        names.map(|names| {
            folded(names.iter().map(String::as_str).chain(repeat_n("not told", silent)))
        }),
    )
}

/// `Arm Cortex-A725 (10), Cortex-X925 (10)`: the designer of the first stands for all.
fn full_names(survey: &Survey<'_>) -> Option<String> {
    let names = names_of_cores(survey)?.ok()?;
    match cores(survey).first()? {
        core @ CoreIdentity::Arm(_) => Some(format!("{} {names}", core.designer()?)),
        CoreIdentity::RiscV(_) => Some(names),
    }
}

fn microarchitecture(survey: &Survey<'_>) -> Reading<String> {
    if let Some(simulated) = &survey.simulated {
        return Ok(simulated.identity.microarchitecture.clone());
    }
    if let Some(cores) = names_of_cores(survey) {
        return cores;
    }
    let signature = match signature(survey) {
        Ok(signature) => signature,
        Err(reason) => {
            let other = microarchitecture_of_others(survey);
            let no_line = |_| no_line(survey, "cpu family", "names no core that is known");
            return other.ok_or(reason).map_err(no_line);
        }
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
            "family {family} model {model} is {name}, which has no {newer}, but this CPU has: the \
             hypervisor reports the number of another CPU"
        );
        return Err(Unavailable::new(Obstacle::Permission, "microarchitecture", why)
            .with_remedy("ask the operator of the host for the CPU's model"));
    }
    Ok(name.to_owned())
}

/// That of architectures where all cores are of one kind.
fn microarchitecture_of_others(survey: &Survey<'_>) -> Option<String> {
    let line = |key| cpuinfo(survey, key).ok();
    match survey.architecture()? {
        // `POWER9 (raw), altivec supported`: the first word is the name.
        Architecture::Power => {
            line("cpu")?.split([' ', ',']).next().filter(|name| !name.is_empty()).map(String::from)
        }
        Architecture::Sparc => line("cpu"),
        Architecture::S390 => microarchitecture::mainframe(mainframe_type(survey)?).map(Into::into),
        Architecture::LoongArch => {
            microarchitecture::loongson_core(&line("Model Name")?).map(Into::into)
        }
        _ => None,
    }
}

/// The types of cores and how many CPUs there are of each.
fn core_types(survey: &Survey<'_>) -> Reading<String> {
    if let Some(cores) = names_of_cores(survey) {
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
