//! Who the CPU says it is.

use std::fmt;

use model::{Isa, Obstacle, Unavailable};

use super::microarchitecture;
use super::platform::not_offered;
use crate::ports::{Machine, Reading};

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
fn cpuinfo(machine: &Machine, key: &str) -> Reading<String> {
    let text = machine.tree.read(CPUINFO)?;
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

pub(super) fn brand(machine: &Machine) -> Reading<String> {
    cpuinfo(machine, "model name").or_else(|reason| brand_by_cpuid(machine).ok_or(reason))
}

/// # Source
/// Intel SDM volume 2A, CPUID: leaves 8000_0002h to 8000_0004h hold 48 letters, zero-terminated.
fn brand_by_cpuid(machine: &Machine) -> Option<String> {
    let mut letters = Vec::new();
    for leaf in 0x8000_0002..=0x8000_0004 {
        let leaf = machine.cpuid.leaf(leaf, 0)?;
        for register in [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx] {
            letters.extend(register.to_le_bytes());
        }
    }
    let brand = String::from_utf8_lossy(&letters);
    let brand = brand.trim_matches(['\0', ' ']);
    (!brand.is_empty()).then(|| brand.into())
}

pub(super) fn vendor(machine: &Machine) -> Reading<String> {
    cpuinfo(machine, "vendor_id").or_else(|reason| {
        // Arm numbers its implementers (Arm ARM, MIDR_EL1); the most frequent ones by name.
        let name = match cpuinfo(machine, "CPU implementer")?.as_str() {
            "0x41" => "Arm",
            "0x48" => "HiSilicon",
            "0x61" => "Apple",
            "0xc0" => "Ampere",
            _ => return Err(reason),
        };
        Ok(name.into())
    })
}

pub(super) fn signature(machine: &Machine) -> Reading<Signature> {
    let number = |key| {
        let text = cpuinfo(machine, key)?;
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

/// Kept as it is: guests often show a made-up one.
pub(super) fn microcode(machine: &Machine) -> Reading<String> {
    cpuinfo(machine, "microcode")
}

pub(super) fn microarchitecture(machine: &Machine) -> Reading<String> {
    if let Some(simulated) = &machine.simulated {
        return Ok(simulated.identity.microarchitecture.clone());
    }
    let signature = signature(machine)?;
    let name = microarchitecture::name(&vendor(machine)?, signature);
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
    let flags = cpuinfo(machine, "flags").or_else(|reason| {
        // Arm's list of features: none of ours is among them, which is an answer, too.
        cpuinfo(machine, "Features").map_err(|_| reason)
    })?;
    let has = |isa: &Isa| flags.split_whitespace().any(|flag| flag == isa.name());
    Ok(Isa::ALL.iter().copied().filter(has).collect())
}
