//! Who the CPU says it is.

use std::fmt;

use model::{Isa, Obstacle, Unavailable};

use super::microarchitecture;
use super::platform::not_offered;
use crate::ports::{Machine, Reading};
use crate::rows::{Row, row, text};
use crate::survey::Survey;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("cpu.brand", "CPU", |s| brand(s).map(text)),
    row("cpu.vendor", "Vendor", |s| vendor(s).map(text)),
    row("cpu.family_model_stepping", "Family/model/stepping",
        |s| signature(s).map(|signature| text(signature.to_string()))),
    row("cpu.microcode", "Microcode", |s| cpuinfo(s, "microcode").map(text)),
    row("cpu.microarchitecture", "Microarchitecture", |s| microarchitecture(s).map(text)),
    row("cpu.isa", "Instruction sets", |s| Ok(text(isa_names(&isa_of(s)?)))),
];

const CPUINFO: &str = "/proc/cpuinfo";

/// Display family, model and stepping, as `/proc/cpuinfo` writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) family: u32,
    pub(super) model: u32,
    pub(super) stepping: u32,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.family, self.model, self.stepping)
    }
}

/// A line of the first CPU in `/proc/cpuinfo`.
fn cpuinfo(survey: &Survey<'_>, key: &str) -> Reading<String> {
    let text = survey.cpuinfo()?;
    let first = text.split("\n\n").next().unwrap_or_default();
    // Keys may begin alike (`model`, `model name`): only white space may stand before the colon.
    let value = first.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    });
    value
        .map(String::from)
        .ok_or_else(|| not_offered(&format!("`{CPUINFO}` has no line `{key}` here"), CPUINFO))
}

fn brand(survey: &Survey<'_>) -> Reading<String> {
    cpuinfo(survey, "model name").or_else(|reason| brand_by_cpuid(survey).ok_or(reason))
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
    let brand = brand.trim_matches(['\0', ' ']);
    (!brand.is_empty()).then(|| brand.into())
}

pub(super) fn vendor(survey: &Survey<'_>) -> Reading<String> {
    cpuinfo(survey, "vendor_id").or_else(|reason| {
        // Arm numbers its implementers (Arm ARM, MIDR_EL1); the most frequent ones by name.
        let name = match cpuinfo(survey, "CPU implementer")?.as_str() {
            "0x41" => "Arm",
            "0x48" => "HiSilicon",
            "0x61" => "Apple",
            "0xc0" => "Ampere",
            _ => return Err(reason),
        };
        Ok(name.into())
    })
}

pub(super) fn signature(survey: &Survey<'_>) -> Reading<Signature> {
    let number = |key| {
        let text = cpuinfo(survey, key)?;
        text.parse().map_err(|_| {
            let why = format!("`{CPUINFO}` says `{key} : {text}`, which is no number");
            Unavailable::new(Obstacle::Cpudyno, key, why)
        })
    };
    Ok(Signature {
        family: number("cpu family")?,
        model: number("model")?,
        stepping: number("stepping")?,
    })
}

fn microarchitecture(survey: &Survey<'_>) -> Reading<String> {
    if let Some(simulated) = &survey.simulated {
        return Ok(simulated.identity.microarchitecture.clone());
    }
    let signature = signature(survey)?;
    let name = microarchitecture::name(&vendor(survey)?, signature);
    name.map(String::from).ok_or_else(|| {
        let Signature { family, model, .. } = signature;
        let why = format!("this version has no name for family {family} model {model}");
        Unavailable::new(Obstacle::Cpudyno, "microarchitecture", why)
    })
}

/// The instruction sets that CPU and operating system allow, in the order of [`Isa::ALL`].
///
/// # Source
/// The flags in `/proc/cpuinfo`: the kernel leaves out what it does not enable.
pub fn isa(machine: &Machine) -> Reading<Vec<Isa>> {
    isa_of(&Survey::new(machine))
}

fn isa_names(isa: &[Isa]) -> String {
    let names: Vec<&str> = isa.iter().map(|isa| isa.name()).collect();
    if names.is_empty() { "none beyond the base".into() } else { names.join(" ") }
}

fn isa_of(survey: &Survey<'_>) -> Reading<Vec<Isa>> {
    let flags = cpuinfo(survey, "flags").or_else(|reason| {
        // Arm's list of features: none of ours is among them, which is an answer, too.
        cpuinfo(survey, "Features").map_err(|_| reason)
    })?;
    let has = |isa: &Isa| flags.split_whitespace().any(|flag| flag == isa.name());
    Ok(Isa::ALL.iter().copied().filter(has).collect())
}
