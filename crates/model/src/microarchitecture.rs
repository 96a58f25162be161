//! What this version knows of CPUs by the numbers that they give themselves: one row for a model, which has its name
//! and where it states what it says of its clock. A model is known in all of that, or in none.
//!
//! # Source
//! Intel SDM volume 4, table 2-1 (family and model of each processor generation) and the tables of registers by
//! model; the kernel's `arch/x86/include/asm/intel-family.h`, and turbostat (`trl_msrs`, `plr_msrs`), which reads
//! the same registers; AMD's processor programming references and revision guides of the families named, and the
//! kernel's `arch/x86/kernel/cpu/amd.c`; for Zhaoxin and Hygon, the processor types of GCC
//! (`gcc/common/config/i386/cpuinfo.h`) and the kernel's `arch/x86/kernel/cpu/{zhaoxin,hygon}.c`.

use std::fmt;
use std::ops::RangeInclusive;

/// Display family, model and stepping, as `/proc/cpuinfo` writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// Display family.
    pub family: u32,
    /// Display model.
    pub model: u32,
    /// Old kernels, and some hypervisors, say `unknown`.
    pub stepping: Option<u32>,
}

impl Signature {
    /// Of Intel's: family 6, or what came after it (18, 19); 15 is NetBurst, and 11 Knights Corner.
    pub fn is_6_or_later(self) -> bool {
        self.family == 6 || self.family > 15
    }
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

/// Models that are alike: vendor, family, models, steppings, name, what they state of their clock.
type ModelRow = (
    &'static str,
    u32,
    RangeInclusive<u32>,
    RangeInclusive<u32>,
    &'static str,
    Option<&'static ClockLayout>,
);

/// Where models state what they say of their clock.
#[derive(Debug, PartialEq)]
pub struct ClockLayout {
    /// What ratios are multiplied with, in hertz; none: it is set per product.
    pub bus: Option<f64>,
    /// How they state turbo limits.
    pub turbo: Option<Turbo>,
    /// Their register of reasons for a lower clock, beside the thermal status that all have.
    pub reasons: Option<Reasons>,
}

/// How turbo limits are stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turbo {
    /// Eight ratios to a register: of 1 core, of 2 cores, and so on; this many registers.
    PerCore(usize),
    /// Eight ratios in 1ADh, and in 1AEh the counts of cores up to which they hold.
    Groups,
    /// The same, and counts are of modules: cores that share an L2.
    Modules,
    /// The same for performance cores, and in 650h and 651h for efficient ones. Older ones among
    /// them have no 1AEh: one ratio per core, then.
    Hybrid,
    /// A ratio and a count of cores in 1ADh, then differences.
    Differences,
}

/// Layouts of the register of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasons {
    /// `MSR_CORE_PERF_LIMIT_REASONS` of clients since Skylake.
    Client,
    /// That of Haswell and Broadwell.
    Haswell,
    /// That of their servers.
    HaswellServer,
}

const fn clock(turbo: Turbo, reasons: Option<Reasons>) -> ClockLayout {
    ClockLayout { bus: Some(100e6), turbo: Some(turbo), reasons }
}

/// Before Nehalem, and in Bonnell, Silvermont and Airmont, the bus clock is set per product (`MSR_FSB_FREQ`).
const BY_PRODUCT: &ClockLayout = &ClockLayout { bus: None, turbo: None, reasons: None };
const NEHALEM: &ClockLayout =
    &ClockLayout { bus: Some(400e6 / 3.0), turbo: Some(Turbo::PerCore(1)), reasons: None };
/// Those of four sockets and more.
const NEHALEM_EX: &ClockLayout =
    &ClockLayout { bus: Some(400e6 / 3.0), turbo: None, reasons: None };
const SANDY_BRIDGE: &ClockLayout = &clock(Turbo::PerCore(1), None);
const IVY_BRIDGE_EP: &ClockLayout = &clock(Turbo::PerCore(2), None);
const HASWELL: &ClockLayout = &clock(Turbo::PerCore(1), Some(Reasons::Haswell));
const HASWELL_EP: &ClockLayout = &clock(Turbo::PerCore(3), Some(Reasons::HaswellServer));
const SKYLAKE: &ClockLayout = &clock(Turbo::PerCore(1), Some(Reasons::Client));
const XEON: &ClockLayout = &clock(Turbo::Groups, None);
const E_CORE_XEON: &ClockLayout = &clock(Turbo::Modules, None);
const ATOM: &ClockLayout = &clock(Turbo::Groups, None);
const HYBRID: &ClockLayout = &clock(Turbo::Hybrid, Some(Reasons::Client));
const XEON_PHI: &ClockLayout = &clock(Turbo::Differences, None);

const INTEL: &str = "GenuineIntel";
const AMD: &str = "AuthenticAMD";
const HYGON: &str = "HygonGenuine";
/// One maker under two names.
const ZHAOXIN: [&str; 2] = ["Shanghai", "CentaurHauls"];
const ANY: RangeInclusive<u32> = 0..=u32::MAX;

const fn intel(model: u32, name: &'static str, clock: &'static ClockLayout) -> ModelRow {
    (INTEL, 6, model..=model, ANY, name, Some(clock))
}

const fn amd(family: u32, first: u32, last: u32, name: &'static str) -> ModelRow {
    (AMD, family, first..=last, ANY, name, None)
}

const fn zhaoxin(as_called: usize, first: u32, last: u32, name: &'static str) -> ModelRow {
    (ZHAOXIN[as_called], 7, first..=last, ANY, name, None)
}

/// The first row that fits counts.
#[rustfmt::skip]
const TABLE: &[ModelRow] = &[
    (INTEL, 15, 0..=6, ANY, "NetBurst", Some(BY_PRODUCT)),
    intel(0x09, "Pentium M", BY_PRODUCT), intel(0x0d, "Pentium M", BY_PRODUCT),
    intel(0x15, "Pentium M", BY_PRODUCT), intel(0x0e, "Core (Yonah)", BY_PRODUCT),
    (INTEL, 6, 0x00..=0x0b, ANY, "P6", Some(BY_PRODUCT)),
    intel(0x0f, "Core", BY_PRODUCT), intel(0x16, "Core", BY_PRODUCT),
    intel(0x17, "Penryn", BY_PRODUCT), intel(0x1d, "Penryn", BY_PRODUCT),
    intel(0x1a, "Nehalem", NEHALEM), intel(0x1e, "Nehalem", NEHALEM),
    intel(0x1f, "Nehalem", NEHALEM), intel(0x2e, "Nehalem", NEHALEM_EX),
    intel(0x25, "Westmere", NEHALEM), intel(0x2c, "Westmere", NEHALEM),
    intel(0x2f, "Westmere", NEHALEM_EX),
    intel(0x2a, "Sandy Bridge", SANDY_BRIDGE), intel(0x2d, "Sandy Bridge", SANDY_BRIDGE),
    intel(0x3a, "Ivy Bridge", SANDY_BRIDGE), intel(0x3e, "Ivy Bridge", IVY_BRIDGE_EP),
    intel(0x3c, "Haswell", HASWELL), intel(0x3f, "Haswell", HASWELL_EP),
    intel(0x45, "Haswell", HASWELL), intel(0x46, "Haswell", HASWELL),
    intel(0x3d, "Broadwell", HASWELL), intel(0x47, "Broadwell", HASWELL),
    intel(0x4f, "Broadwell", HASWELL_EP), intel(0x56, "Broadwell", HASWELL_EP),
    intel(0x4e, "Skylake", SKYLAKE), intel(0x5e, "Skylake", SKYLAKE),
    (INTEL, 6, 0x55..=0x55, 0..=4, "Skylake-SP", Some(XEON)),
    (INTEL, 6, 0x55..=0x55, 5..=7, "Cascade Lake", Some(XEON)),
    (INTEL, 6, 0x55..=0x55, 10..=11, "Cooper Lake", Some(XEON)),
    (INTEL, 6, 0x8e..=0x8e, 0..=9, "Kaby Lake", Some(SKYLAKE)),
    intel(0x8e, "Kaby Lake or later Skylake", SKYLAKE),
    (INTEL, 6, 0x9e..=0x9e, 0..=9, "Kaby Lake", Some(SKYLAKE)),
    intel(0x9e, "Coffee Lake", SKYLAKE),
    intel(0xa5, "Comet Lake", SKYLAKE), intel(0xa6, "Comet Lake", SKYLAKE),
    intel(0x66, "Cannon Lake", SKYLAKE),
    intel(0x7d, "Ice Lake", SKYLAKE), intel(0x7e, "Ice Lake", SKYLAKE),
    intel(0x9d, "Ice Lake (NNP-I)", SKYLAKE),
    intel(0x6a, "Ice Lake-SP", XEON), intel(0x6c, "Ice Lake-D", XEON),
    intel(0x8c, "Tiger Lake", SKYLAKE), intel(0x8d, "Tiger Lake", SKYLAKE),
    intel(0xa7, "Rocket Lake", SKYLAKE),
    intel(0x8a, "Lakefield", HYBRID),
    intel(0x97, "Alder Lake", HYBRID), intel(0x9a, "Alder Lake", HYBRID),
    intel(0xbe, "Gracemont (Alder Lake-N)", HYBRID),
    intel(0xb7, "Raptor Lake", HYBRID), intel(0xba, "Raptor Lake", HYBRID),
    intel(0xbf, "Raptor Lake", HYBRID), intel(0xd7, "Bartlett Lake", HYBRID),
    intel(0xaa, "Meteor Lake", HYBRID), intel(0xac, "Meteor Lake", HYBRID),
    intel(0xb5, "Arrow Lake", HYBRID), intel(0xc5, "Arrow Lake", HYBRID),
    intel(0xc6, "Arrow Lake", HYBRID),
    intel(0xbd, "Lunar Lake", HYBRID),
    intel(0xcc, "Panther Lake", HYBRID), intel(0xe5, "Panther Lake", HYBRID),
    intel(0xd5, "Wildcat Lake", HYBRID),
    (INTEL, 18, 0x01..=0x01, ANY, "Nova Lake", Some(HYBRID)),
    (INTEL, 18, 0x03..=0x03, ANY, "Nova Lake", Some(HYBRID)),
    intel(0x8f, "Sapphire Rapids", XEON), intel(0xcf, "Emerald Rapids", XEON),
    intel(0xad, "Granite Rapids", XEON), intel(0xae, "Granite Rapids-D", XEON),
    (INTEL, 19, 0x01..=0x01, ANY, "Diamond Rapids", Some(XEON)),
    intel(0xaf, "Sierra Forest", E_CORE_XEON), intel(0xb6, "Grand Ridge", E_CORE_XEON),
    intel(0xdd, "Clearwater Forest", E_CORE_XEON),
    intel(0x1c, "Bonnell", BY_PRODUCT), intel(0x26, "Bonnell", BY_PRODUCT),
    intel(0x27, "Saltwell", BY_PRODUCT), intel(0x35, "Saltwell", BY_PRODUCT),
    intel(0x36, "Saltwell", BY_PRODUCT),
    intel(0x37, "Silvermont", BY_PRODUCT), intel(0x4d, "Silvermont", BY_PRODUCT),
    intel(0x4a, "Silvermont", BY_PRODUCT), intel(0x5a, "Silvermont", BY_PRODUCT),
    intel(0x5d, "Silvermont", BY_PRODUCT), intel(0x65, "Silvermont", BY_PRODUCT),
    intel(0x4c, "Airmont", BY_PRODUCT), intel(0x6e, "Airmont", BY_PRODUCT),
    intel(0x75, "Airmont", BY_PRODUCT),
    intel(0x5c, "Goldmont", ATOM), intel(0x5f, "Goldmont", ATOM),
    intel(0x7a, "Goldmont Plus", ATOM),
    intel(0x86, "Tremont", ATOM), intel(0x96, "Tremont", ATOM), intel(0x9c, "Tremont", ATOM),
    intel(0x57, "Knights Landing", XEON_PHI), intel(0x85, "Knights Mill", XEON_PHI),
    amd(0x0f, 0x00, 0xff, "K8"), amd(0x10, 0x00, 0x0f, "K10"), amd(0x12, 0x00, 0x0f, "K10"),
    amd(0x14, 0x00, 0x0f, "Bobcat"),
    amd(0x16, 0x00, 0x0f, "Jaguar"), amd(0x16, 0x30, 0x3f, "Puma"),
    amd(0x15, 0x00, 0x01, "Bulldozer"), amd(0x15, 0x02, 0x02, "Piledriver"),
    amd(0x15, 0x10, 0x1f, "Piledriver"), amd(0x15, 0x30, 0x3f, "Steamroller"),
    amd(0x15, 0x60, 0x7f, "Excavator"),
    amd(0x17, 0x08, 0x08, "Zen+"), amd(0x17, 0x18, 0x18, "Zen+"),
    amd(0x17, 0x00, 0x2f, "Zen"), amd(0x17, 0x50, 0x5f, "Zen"), amd(0x17, 0x30, 0xaf, "Zen 2"),
    amd(0x19, 0x00, 0x0f, "Zen 3"), amd(0x19, 0x10, 0x1f, "Zen 4"), amd(0x19, 0x20, 0x5f, "Zen 3"),
    amd(0x19, 0x60, 0x9f, "Zen 4"), amd(0x19, 0xa0, 0xaf, "Zen 4c"),
    // Turin Dense is 11h, Strix Halo 70h to 77h, Venice 50h to 5Fh.
    amd(0x1a, 0x10, 0x1f, "Zen 5c"), amd(0x1a, 0x00, 0x2f, "Zen 5"), amd(0x1a, 0x40, 0x4f, "Zen 5"),
    amd(0x1a, 0x60, 0x7f, "Zen 5"),
    amd(0x1a, 0x50, 0x5f, "Zen 6"), amd(0x1a, 0x80, 0xaf, "Zen 6"), amd(0x1a, 0xc0, 0xcf, "Zen 6"),
    (HYGON, 0x18, 0x00..=0x1f, ANY, "Dhyana", None),
    (ZHAOXIN[1], 6, 0x0f..=0x0f, ANY, "Isaiah", None),
    (ZHAOXIN[1], 6, 0x19..=0x19, ANY, "ZX-C", None), (ZHAOXIN[0], 6, 0x19..=0x19, ANY, "ZX-C", None),
    zhaoxin(0, 0x1b, 0x1b, "WuDaoKou"), zhaoxin(1, 0x1b, 0x1b, "WuDaoKou"),
    zhaoxin(0, 0x3b, 0x3b, "LuJiaZui"), zhaoxin(1, 0x3b, 0x3b, "LuJiaZui"),
    zhaoxin(0, 0x5b, 0x5b, "YongFeng"), zhaoxin(1, 0x5b, 0x5b, "YongFeng"),
    zhaoxin(0, 0x6b, 0x6b, "ShiJiDaDao"), zhaoxin(1, 0x6b, 0x6b, "ShiJiDaDao"),
];

/// What people call CPUs that have the cores of others: name, maker, family, model.
///
/// # Source
/// AMD, revision guides and processor programming references of these models.
#[rustfmt::skip]
const PRODUCTS: &[(&str, &str, u32, u32)] = &[
    ("Naples", AMD, 0x17, 0x01), ("Matisse", AMD, 0x17, 0x71), ("Vermeer", AMD, 0x19, 0x21),
    ("Raphael", AMD, 0x19, 0x61), ("Phoenix", AMD, 0x19, 0x74), ("Strix Point", AMD, 0x1a, 0x24),
    ("Granite Ridge", AMD, 0x1a, 0x44), ("Krackan Point", AMD, 0x1a, 0x60),
    ("Strix Halo", AMD, 0x1a, 0x70), ("Turin Dense", AMD, 0x1a, 0x11), ("Venice", AMD, 0x1a, 0x50),
    ("Hygon", HYGON, 0x18, 0x00),
];

/// Every name of an x86 CPU and of a core of Arm's architecture that there is.
pub fn names() -> impl Iterator<Item = &'static str> {
    let products = PRODUCTS.iter().map(|product| product.0);
    TABLE.iter().map(|row| row.4).chain(products).chain(ARM_CORES.iter().map(|core| core.2))
}

/// Whether a CPU of another architecture is called so.
pub fn is_of_others(called: &str) -> bool {
    /// POWER, SPARC, LoongArch and IBM Z call themselves something that begins so.
    const BEGINNINGS: &[&str] =
        &["power", "ultrasparc", "tiultrasparc", "sparc", "loongson", "ibm", "machinetype"];
    let called = letters(called);
    let designers = RISCV_DESIGNERS.iter().map(|(_, designer, _)| letters(designer));
    let machines = MAINFRAMES.iter().map(|(_, name)| letters(name));
    let mut cores = LOONGSON_CORES.iter().map(|(_, name)| letters(name)).chain(machines);
    BEGINNINGS.iter().any(|beginning| called.starts_with(beginning))
        || designers.into_iter().any(|designer| called.starts_with(&designer))
        || cores.any(|core| core == called)
}

/// The rows of these numbers; of an unknown stepping all.
fn rows(vendor: &str, signature: Signature) -> impl Iterator<Item = &'static ModelRow> {
    let fits = move |(of, family, models, steppings, ..): &&ModelRow| {
        *of == vendor
            && *family == signature.family
            && models.contains(&signature.model)
            && signature.stepping.is_none_or(|stepping| steppings.contains(&stepping))
    };
    TABLE.iter().filter(fits)
}

/// The name of a microarchitecture, where this version has one. Where the stepping is unknown, it is
/// the one of all steppings.
pub fn name(vendor: &str, signature: Signature) -> Option<&'static str> {
    let mut names = rows(vendor, signature).map(|row| row.4);
    let name = names.next()?;
    (signature.stepping.is_some() || names.all(|other| other == name)).then_some(name)
}

/// The same of a core of Arm's architecture, too.
pub fn name_of(numbers: &CpuNumbers) -> Option<&'static str> {
    match *numbers {
        CpuNumbers::Arm { implementer, part } => arm_core(implementer, part),
        CpuNumbers::X86 { ref vendor, family, model, stepping } => {
            name(vendor, Signature { family, model, stepping })
        }
    }
}

/// Where an Intel CPU of any stepping states what it says of its clock; none: this version does not know.
pub fn clock_of_intel(family: u32, model: u32) -> Option<&'static ClockLayout> {
    rows(INTEL, Signature { family, model, stepping: None }).next()?.5
}

/// What CPUID 7 tells of in EDX that only these microarchitectures have: bit, name, who has it.
///
/// # Source
/// Intel, Architecture Instruction Set Extensions Programming Reference (319433), table 1-2.
const NEWER: &[(u32, &str, &[&str])] = &[(24, "AMX", AMX)];
const AMX: &[&str] =
    &["Sapphire Rapids", "Emerald Rapids", "Granite Rapids", "Granite Rapids-D", "Diamond Rapids"];

/// What a CPU has by that register, and cannot have if it is what its numbers say.
pub fn betrayed(name: &str, edx: u32) -> Option<&'static str> {
    let has = |(bit, _, of): &&(u32, &str, &[&str])| edx >> bit & 1 == 1 && !of.contains(&name);
    NEWER.iter().find(has).map(|(_, what, _)| *what)
}

/// Types of cores: EAX of CPUID 1Ah, name.
///
/// # Source
/// Intel SDM volume 2A, CPUID 1Ah: 40h in the highest byte is a core of the Core line, 20h of the
/// Atom line; the models below it as the CPUs of each generation give them.
const CORE_TYPES: &[(u32, &str)] = &[
    (0x4000_0000, "Sunny Cove"),
    (0x2000_0000, "Tremont"),
    (0x4000_0001, "Golden Cove"),
    (0x2000_0001, "Gracemont"),
    (0x4000_0002, "Redwood Cove"),
    (0x2000_0002, "Crestmont"),
    (0x4000_0003, "Lion Cove"),
    (0x2000_0003, "Skymont"),
    (0x4000_0004, "Cougar Cove"),
    (0x2000_0004, "Darkmont"),
];

/// The name of a type of cores in a generation.
pub fn core_type(generation: &str, eax: u32) -> Option<&'static str> {
    let (_, name) = CORE_TYPES.iter().find(|(known, _)| *known == eax)?;
    // The successor of Golden Cove calls itself by the same number.
    let has_successor = ["Raptor Lake", "Bartlett Lake"].contains(&generation);
    Some(if has_successor && *name == "Golden Cove" { "Raptor Cove" } else { name })
}

/// Who designs cores of Arm's architecture.
///
/// # Source
/// Arm Architecture Reference Manual, MIDR_EL1, field Implementer.
#[rustfmt::skip]
const IMPLEMENTERS: &[(u32, &str)] = &[
    (0x41, "Arm"), (0x42, "Broadcom"), (0x43, "Cavium"), (0x46, "Fujitsu"), (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"), (0x50, "APM"), (0x51, "Qualcomm"), (0x53, "Samsung"), (0x56, "Marvell"),
    (0x61, "Apple"), (0x69, "Intel"), (0x6d, "Microsoft"), (0x70, "Phytium"), (0xc0, "Ampere"),
];

/// The name of who designed a core of Arm's architecture.
pub fn implementer(number: u32) -> Option<&'static str> {
    IMPLEMENTERS.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

/// Cores of Arm's architecture: implementer, part, name.
///
/// # Source
/// The technical reference manual of each core, MIDR_EL1; for other designers than Arm, the
/// kernel's `arch/arm64/include/asm/cputype.h`.
#[rustfmt::skip]
const ARM_CORES: &[(u32, u32, &str)] = &[
    (0x41, 0xc05, "Cortex-A5"), (0x41, 0xc07, "Cortex-A7"), (0x41, 0xc08, "Cortex-A8"),
    (0x41, 0xc09, "Cortex-A9"), (0x41, 0xc0d, "Cortex-A12"), (0x41, 0xc0e, "Cortex-A17"),
    (0x41, 0xc0f, "Cortex-A15"), (0x41, 0xd01, "Cortex-A32"), (0x41, 0xd02, "Cortex-A34"),
    (0x41, 0xd03, "Cortex-A53"), (0x41, 0xd04, "Cortex-A35"), (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd06, "Cortex-A65"), (0x41, 0xd07, "Cortex-A57"), (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"), (0x41, 0xd0a, "Cortex-A75"), (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"), (0x41, 0xd0d, "Cortex-A77"), (0x41, 0xd0e, "Cortex-A76AE"),
    (0x41, 0xd40, "Neoverse-V1"), (0x41, 0xd41, "Cortex-A78"), (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd43, "Cortex-A65AE"), (0x41, 0xd44, "Cortex-X1"), (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"), (0x41, 0xd48, "Cortex-X2"), (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4a, "Neoverse-E1"), (0x41, 0xd4b, "Cortex-A78C"), (0x41, 0xd4c, "Cortex-X1C"),
    (0x41, 0xd4d, "Cortex-A715"), (0x41, 0xd4e, "Cortex-X3"), (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"), (0x41, 0xd81, "Cortex-A720"), (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd83, "Neoverse-V3AE"), (0x41, 0xd84, "Neoverse-V3"), (0x41, 0xd85, "Cortex-X925"),
    (0x41, 0xd87, "Cortex-A725"), (0x41, 0xd88, "Cortex-A520AE"), (0x41, 0xd89, "Cortex-A720AE"),
    (0x41, 0xd8a, "C1-Nano"), (0x41, 0xd8b, "C1-Pro"), (0x41, 0xd8c, "C1-Ultra"),
    (0x41, 0xd8e, "Neoverse-N3"), (0x41, 0xd8f, "Cortex-A320"), (0x41, 0xd90, "C1-Premium"),
    (0x41, 0xb76, "ARM1176"),
    (0x42, 0x516, "ThunderX2"),
    (0x43, 0x0a1, "ThunderX"), (0x43, 0x0af, "ThunderX2"), (0x43, 0x0b8, "ThunderX3"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "TaiShan v110"), (0x48, 0xd02, "TaiShan v120"), (0x48, 0xd40, "Cortex-A76"),
    (0x4e, 0x003, "Denver 2"), (0x4e, 0x004, "Carmel"), (0x4e, 0x010, "Olympus"),
    (0x50, 0x000, "X-Gene"),
    (0x51, 0x001, "Oryon"), (0x51, 0x002, "Oryon"), (0x51, 0x800, "Kryo 2xx Gold"), (0x51, 0x801, "Kryo 2xx Silver"),
    (0x51, 0x802, "Kryo 3xx Gold"), (0x51, 0x803, "Kryo 3xx Silver"),
    (0x51, 0x804, "Kryo 4xx Gold"), (0x51, 0x805, "Kryo 4xx Silver"), (0x51, 0xc00, "Falkor"),
    (0x53, 0x001, "Exynos M1"), (0x53, 0x002, "Exynos M3"), (0x53, 0x003, "Exynos M4"),
    (0x53, 0x004, "Exynos M5"),
    (0x61, 0x020, "Icestorm"), (0x61, 0x021, "Firestorm"), (0x61, 0x022, "Icestorm"), (0x61, 0x023, "Firestorm"), (0x61, 0x024, "Icestorm"),
    (0x61, 0x025, "Firestorm"), (0x61, 0x028, "Icestorm"), (0x61, 0x029, "Firestorm"),
    (0x61, 0x032, "Blizzard"), (0x61, 0x033, "Avalanche"), (0x61, 0x034, "Blizzard"),
    (0x61, 0x035, "Avalanche"), (0x61, 0x036, "Sawtooth"), (0x61, 0x037, "Everest"),
    (0x61, 0x038, "Blizzard"), (0x61, 0x039, "Avalanche"), (0x61, 0x048, "Sawtooth"),
    (0x61, 0x049, "Everest"),
    (0x6d, 0xd49, "Cobalt 100"),
    (0x70, 0x303, "FTC310"), (0x70, 0x660, "FTC660"), (0x70, 0x661, "FTC661"),
    (0x70, 0x662, "FTC662"), (0x70, 0x663, "FTC663"), (0x70, 0x664, "FTC664"),
    (0x70, 0x862, "FTC862"),
    (0xc0, 0xac3, "AmpereOne"), (0xc0, 0xac4, "AmpereOne"),
];

/// The name of a core of Arm's architecture.
pub fn arm_core(implementer: u32, part: u32) -> Option<&'static str> {
    let fits = |(of, number, _): &&(u32, u32, &str)| (*of, *number) == (implementer, part);
    ARM_CORES.iter().find(fits).map(|(.., name)| *name)
}

/// The numbers of a CPU of that name; capitals, blanks and hyphens are all the same. Cores of Arm's architecture may be
/// called with their designer's name before their own.
pub fn numbers(called: &str) -> Option<CpuNumbers> {
    let called = letters(called);
    let of_arm = || {
        let is_it = |core: &&(u32, u32, &str)| {
            let by_designer = implementer(core.0).and_then(|it| called.strip_prefix(&letters(it)));
            let name = letters(core.2);
            name == called || by_designer == Some(&name)
        };
        let core = ARM_CORES.iter().find(is_it)?;
        Some(CpuNumbers::Arm { implementer: core.0, part: core.1 })
    };
    let of_product = || {
        let &(_, maker, family, model) =
            PRODUCTS.iter().find(|product| letters(product.0) == called)?;
        Some(CpuNumbers::X86 { vendor: maker.to_owned(), family, model, stepping: None })
    };
    let named = TABLE.iter().filter(|row| letters(row.4) == called).find_map(first_of);
    named.or_else(of_product).or_else(of_arm)
}

/// The first CPU of a row that no earlier row has.
fn first_of(row: &ModelRow) -> Option<CpuNumbers> {
    /// Steppings have 4 bits.
    const LAST: u32 = 15;
    let steppings = || (*row.3.start()..=LAST).take_while(|it| row.3.contains(it));
    let all = row.2.clone().flat_map(|model| steppings().map(move |stepping| (model, stepping)));
    let family = row.1;
    let is_its = |(model, stepping): &(u32, u32)| {
        name(row.0, Signature { family, model: *model, stepping: Some(*stepping) }) == Some(row.4)
    };
    let (model, stepping) = all.into_iter().find(is_its)?;
    Some(CpuNumbers::X86 { vendor: row.0.to_owned(), family, model, stepping: Some(stepping) })
}

fn letters(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

/// Arm's identification of a core, MIDR_EL1.
///
/// # Source
/// Arm Architecture Reference Manual, MIDR_EL1: implementer in bits 31:24, variant in 23:20, part
/// in 15:4, revision in 3:0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Midr(
    /// The register.
    pub u64,
);

impl Midr {
    /// The register, of its fields.
    #[must_use]
    pub fn new(implementer: u64, variant: u64, part: u64, revision: u64) -> Midr {
        Midr(implementer << 24 | variant << 20 | part << 4 | revision)
    }

    /// Who designed the core.
    pub fn implementer(self) -> u32 {
        (self.0 >> 24 & 0xff) as u32
    }

    /// Which of the designer's cores it is.
    pub fn part(self) -> u32 {
        (self.0 >> 4 & 0xfff) as u32
    }

    /// The name of the core.
    pub fn name(self) -> Option<&'static str> {
        arm_core(self.implementer(), self.part())
    }
}

impl fmt::Display for Midr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, revision) = (self.0 >> 20 & 0xf, self.0 & 0xf);
        let (implementer, part) = (self.implementer(), self.part());
        write!(f, "implementer {implementer:#04x} part {part:#05x} r{variant}p{revision}")
    }
}

/// Designers of RISC-V cores: as device trees write them, name, `mvendorid`.
///
/// # Source
/// The kernel's `Documentation/devicetree/bindings/vendor-prefixes.yaml`, and JEDEC JEP106, from
/// which the RISC-V privileged architecture, section 3.1.2 makes `mvendorid`.
const RISCV_DESIGNERS: &[(&str, &str, u64)] = &[
    ("andestech", "Andes", 0x31e),
    ("mips", "MIPS", 0x722),
    ("sifive", "SiFive", 0x489),
    ("spacemit", "SpacemiT", 0x710),
    ("thead", "T-Head", 0x5b7),
    ("ventana", "Ventana", 0x61f),
];

/// RISC-V cores that say by numbers who they are: `mvendorid`, `marchid`, name.
///
/// # Source
/// LLVM's `RISCVProcessors.td`, after what the makers published.
const RISCV_CORES: &[(u64, u64, &str)] = &[
    (0x489, 0x8000_0000_0000_0007, "SiFive 7 series"),
    (0x489, 0x8000_0000_0000_0008, "SiFive P550 or P650"),
    (0x61f, 0x8000_0000_0001_0000, "Ventana Veyron V1"),
    (0x710, 0x8000_0000_4100_0001, "SpacemiT A60"),
    (0x710, 0x8000_0000_4100_0002, "SpacemiT A100"),
    (0x710, 0x8000_0000_5800_0001, "SpacemiT X60"),
    (0x710, 0x8000_0000_5800_0002, "SpacemiT X100"),
];

/// What tells a RISC-V core from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RiscV {
    /// As the device tree calls it: `sifive,u74-mc`.
    pub uarch: Option<String>,
    /// `mvendorid`.
    pub vendor: Option<u64>,
    /// `marchid`.
    pub architecture: Option<u64>,
}

impl RiscV {
    /// Who designed it, where that is known.
    pub fn designer(&self) -> Option<&'static str> {
        let prefix = self.uarch.as_deref().and_then(|uarch| uarch.split_once(',')).map(|it| it.0);
        let fits = |(tree, _, number): &&(&str, &str, u64)| {
            prefix == Some(tree) || prefix.is_none() && self.vendor == Some(*number)
        };
        RISCV_DESIGNERS.iter().find(fits).map(|(_, name, _)| *name)
    }

    /// The name of the core: by what the device tree calls it, else by its numbers.
    pub fn name(&self) -> Option<String> {
        if let Some(uarch) = &self.uarch {
            let core = uarch.split_once(',').map_or(uarch.as_str(), |(_, core)| core);
            let core = core.to_ascii_uppercase();
            return Some(match self.designer() {
                Some(designer) => format!("{designer} {core}"),
                None => uarch.clone(),
            });
        }
        let fits = |(vendor, architecture, _): &&(u64, u64, &str)| {
            self.vendor == Some(*vendor) && self.architecture == Some(*architecture)
        };
        RISCV_CORES.iter().find(fits).map(|(.., name)| (*name).to_owned())
    }

    /// Whether its vector unit is that of the draft 0.7.1, whose instructions have other codes than
    /// those of version 1.0.
    ///
    /// # Source
    /// The kernel's `arch/riscv/kernel/cpufeature.c`: T-Head's cores with the draft say 0 in
    /// `marchid`.
    pub fn has_draft_vectors(&self) -> bool {
        self.vendor == Some(0x5b7) && self.architecture == Some(0)
    }
}

impl fmt::Display for RiscV {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (vendor, architecture) = (self.vendor, self.architecture);
        match (vendor, architecture) {
            (Some(vendor), Some(id)) => write!(f, "mvendorid {vendor:#x} marchid {id:#x}"),
            (Some(vendor), None) => write!(f, "mvendorid {vendor:#x}"),
            _ => f.write_str(self.uarch.as_deref().unwrap_or("RISC-V")),
        }
    }
}

/// Machines of IBM Z: type, name.
///
/// # Source
/// The kernel's `arch/s390/kernel/processor.c`, `setup_elf_platform`.
#[rustfmt::skip]
const MAINFRAMES: &[(u32, &str)] = &[
    (2064, "z900"), (2066, "z800"), (2084, "z990"), (2086, "z890"), (2094, "z9-109"),
    (2096, "z9 BC"), (2097, "z10 EC"), (2098, "z10 BC"), (2817, "z196"), (2818, "z114"),
    (2827, "zEC12"), (2828, "zBC12"), (2964, "z13"), (2965, "z13s"), (3906, "z14"),
    (3907, "z14 ZR1"), (3931, "z16"), (3932, "z16"), (8561, "z15"), (8562, "z15"),
    (9175, "z17"), (9176, "z17"),
];

/// The name of a machine of IBM Z.
pub fn mainframe(machine_type: u32) -> Option<&'static str> {
    MAINFRAMES.iter().find(|(known, _)| *known == machine_type).map(|(_, name)| *name)
}

/// Cores of Loongson's CPUs: how the CPU's name begins, name of the core.
///
/// # Source
/// Loongson's reference manuals of the CPUs named.
const LOONGSON_CORES: &[(&str, &str)] = &[
    ("Loongson-3A5000", "LA464"),
    ("Loongson-3B5000", "LA464"),
    ("Loongson-3C5000", "LA464"),
    ("Loongson-3D5000", "LA464"),
    ("Loongson-3A6000", "LA664"),
    ("Loongson-3B6000", "LA664"),
    ("Loongson-3C6000", "LA664"),
    ("Loongson-3D6000", "LA664"),
    ("Loongson-3E6000", "LA664"),
    ("Loongson-2K1000", "LA264"),
    ("Loongson-2K2000", "LA364"),
];

/// The name of the cores of a CPU of Loongson's.
pub fn loongson_core(cpu: &str) -> Option<&'static str> {
    LOONGSON_CORES.iter().find(|(start, _)| cpu.starts_with(start)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steppings_tell_generations_apart_and_strangers_have_no_name() {
        let of = |vendor, family, model, stepping| {
            name(vendor, Signature { family, model, stepping: Some(stepping) })
        };
        let of_any = |model| name(INTEL, Signature { family: 6, model, stepping: None });
        assert_eq!((of_any(0x55), of_any(207)), (None, Some("Emerald Rapids")));
        assert_eq!(of(INTEL, 6, 0x55, 4), Some("Skylake-SP"));
        assert_eq!(of(INTEL, 6, 0x55, 7), Some("Cascade Lake"));
        assert_eq!(of(INTEL, 6, 207, 2), Some("Emerald Rapids"));
        assert_eq!(of(AMD, 0x17, 0x31, 0), Some("Zen 2"));
        assert_eq!(of(INTEL, 6, 300, 0), None);
        assert_eq!(of("Arm", 6, 0x55, 4), None);
        assert_eq!(of(AMD, 0x1a, 0x11, 0), Some("Zen 5c"));
        assert_eq!(of(AMD, 0x1a, 0x70, 0), Some("Zen 5"));
        assert_eq!(of(AMD, 0x1a, 0x50, 0), Some("Zen 6"));
        assert_eq!(of(AMD, 0x1a, 0x30, 0), None);
        assert_eq!(of(ZHAOXIN[0], 7, 0x3b, 1), Some("LuJiaZui"));
    }

    /// What `cpudyno info` calls a core is a name of it.
    #[test]
    fn cores_are_found_by_their_designers_name_too() {
        for (of, part, name) in ARM_CORES {
            let designer = implementer(*of).unwrap();
            let Some(CpuNumbers::Arm { implementer, part }) =
                numbers(&format!("{designer} {name}"))
            else {
                panic!("{designer} {name} ({of:#x}, {part:#x}) is not found");
            };
            assert_eq!((implementer, arm_core(implementer, part)), (*of, Some(*name)));
        }
        assert_eq!(numbers("Qualcomm Neoverse-N1"), None, "it is Arm's");
        for (_, name) in MAINFRAMES {
            assert!(is_of_others(&format!("IBM {name}, machine type 1")), "{name}");
        }
        for (start, _) in LOONGSON_CORES {
            assert!(is_of_others(&format!("{start}-HV")), "{start}");
        }
        assert!(!is_of_others("Zen 4") && !is_of_others("Panther Lake"));
    }

    /// Whoever adds a model of Intel says where it states its clock.
    #[test]
    fn every_model_of_intel_says_where_its_clock_is() {
        for (vendor, family, models, _, name, clock) in TABLE {
            assert_eq!(*vendor == INTEL, clock.is_some(), "{name}");
            let alike = clock_of_intel(*family, *models.start());
            assert!(clock.is_none() || alike == *clock, "{name}: one register for all steppings");
        }
        for (family, model) in [(6, 0xd7), (6, 0xd5), (6, 0x8a), (18, 1), (19, 1), (6, 0xb6)] {
            assert!(clock_of_intel(family, model).is_some_and(|clock| clock.turbo.is_some()));
        }
        assert_eq!(clock_of_intel(6, 300), None);
    }

    #[test]
    fn nobody_has_what_came_after_it() {
        let amx = 1 << 24;
        assert_eq!(betrayed("Rocket Lake", amx | 1), Some("AMX"));
        assert_eq!(betrayed("Rocket Lake", !amx), None);
        assert_eq!(betrayed("Granite Rapids", amx), None);
        let named = |name: &&str| names().any(|known| known == *name);
        assert!(NEWER.iter().all(|(_, _, of)| of.iter().all(named)));
    }
}
