//! Which CPU it is, as lists of events write it.

use std::fmt;
use std::str::FromStr;

use model::microarchitecture::{self, CpuNumbers};
use model::name::did_you_mean;

use super::error::Error;
use super::table::{CoreType, Family, Table};

/// A CPU by its numbers. It reads and writes as `GenuineIntel-6-8F-8` (family decimal, model and
/// stepping hexadecimal, as perf does), cores of Arm's architecture as `0x41-0xd0c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuModel {
    /// Its numbers; the stepping may be missing where somebody typed it.
    numbers: CpuNumbers,
}

/// Whose registers it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// Intel.
    Intel,
    /// AMD, and Hygon.
    Amd,
    /// Arm, and those who build cores of its architecture.
    Arm,
    /// Others.
    Other,
}

impl CpuModel {
    /// Of these numbers.
    pub fn of(numbers: CpuNumbers) -> CpuModel {
        CpuModel { numbers }
    }

    /// What somebody typed: the name of a family, another name of it, or a CPU's numbers.
    pub fn named(typed: &str) -> Result<CpuModel, Error> {
        let families = &Table::builtin().family;
        if let Some(cpuid) = families.iter().find_map(|family| family.cpu_called(typed)) {
            return cpuid.parse();
        }
        // What `cpudyno info` calls it.
        if let Some(numbers) = microarchitecture::numbers(typed) {
            return Ok(CpuModel::of(numbers));
        }
        if microarchitecture::is_of_others(typed) {
            return Err(Error::OtherArchitecture { typed: typed.to_owned() });
        }
        typed.parse().map_err(|error| {
            let name = typed.trim().to_ascii_lowercase().replace(['_', ' '], "-");
            let of_info = microarchitecture::names();
            let names = families.iter().flat_map(Family::names).chain(of_info);
            let near = did_you_mean(&name, names).map(String::from);
            match error {
                Error::UnknownCpu { typed, .. } => Error::UnknownCpu { typed, near },
                other => other,
            }
        })
    }

    /// Whose registers it has.
    pub fn maker(&self) -> Maker {
        match &self.numbers {
            CpuNumbers::Arm { .. } => Maker::Arm,
            CpuNumbers::X86 { vendor, .. } => match vendor.as_str() {
                "GenuineIntel" => Maker::Intel,
                "AuthenticAMD" | "HygonGenuine" => Maker::Amd,
                _ => Maker::Other,
            },
        }
    }

    /// Its families: two for a hybrid, none where our table does not know it.
    pub fn families(&self) -> Vec<&'static Family> {
        let name = self.to_string();
        Table::builtin().family.iter().filter(|family| family.cpus.is_match(&name)).collect()
    }

    /// Whether it is known which stepping it is.
    pub fn has_stepping(&self) -> bool {
        !matches!(self.numbers, CpuNumbers::X86 { stepping: None, .. })
    }

    /// Implementer and part as Arm's data write them: `0x41d0c`.
    pub fn arm_id(&self) -> Option<String> {
        match self.numbers {
            CpuNumbers::Arm { implementer, part } => Some(format!("{implementer:#x}{part:03x}")),
            CpuNumbers::X86 { .. } => None,
        }
    }
}

impl Family {
    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.id.as_str()).chain(self.also.keys().map(String::as_str))
    }

    /// The CPU that one of its names means: capitals, blanks and hyphens are all the same.
    fn cpu_called(&self, typed: &str) -> Option<&str> {
        let typed = folded(typed);
        let is_it = |name: &String| folded(name) == typed;
        if is_it(&self.id) || self.libpfm.iter().any(is_it) {
            return Some(&self.cpuid);
        }
        self.also.iter().find(|(name, _)| is_it(name)).map(|(_, cpuid)| cpuid.as_str())
    }

    /// Whether it is one of its names.
    pub fn is_called(&self, typed: &str) -> bool {
        self.cpu_called(typed).is_some()
    }

    /// The family of that type of core; of several, none where the type is not known.
    pub fn of_core<'a>(families: &[&'a Family], core: Option<CoreType>) -> Option<&'a Family> {
        match (families, core) {
            ([only], None) => Some(only),
            (_, None) => None,
            (_, core) => {
                let fits = |family: &&&Family| family.core.is_none() || family.core == core;
                families.iter().find(fits).copied()
            }
        }
    }
}

/// Letters and digits alone, in lower case.
fn folded(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

impl fmt::Display for CpuModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.numbers {
            CpuNumbers::X86 { vendor, family, model, stepping } => {
                write!(f, "{vendor}-{family}-{model:X}")?;
                stepping.map_or(Ok(()), |stepping| write!(f, "-{stepping:X}"))
            }
            CpuNumbers::Arm { implementer, part } => write!(f, "{implementer:#x}-{part:#05x}"),
        }
    }
}

impl FromStr for CpuModel {
    type Err = Error;

    fn from_str(text: &str) -> Result<CpuModel, Error> {
        let unknown = || Error::UnknownCpu { typed: text.to_owned(), near: None };
        let hex = |word: &str| u32::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let words: Vec<&str> = text.trim().split('-').collect();
        let parsed = match words.as_slice() {
            [implementer, part] if implementer.starts_with("0x") => {
                let numbers = hex(implementer).zip(hex(part));
                numbers.map(|(implementer, part)| CpuNumbers::Arm { implementer, part })
            }
            [vendor, family, model, rest @ ..] if rest.len() <= 1 => {
                let stepping = rest.first().map(|word| hex(word));
                let numbers = family.parse().ok().zip(hex(model));
                let vendor = (*vendor).to_owned();
                match (numbers, stepping) {
                    (None, _) | (_, Some(None)) => None,
                    (Some((family, model)), stepping) => {
                        let stepping = stepping.flatten();
                        Some(CpuNumbers::X86 { vendor, family, model, stepping })
                    }
                }
            }
            _ => None,
        };
        parsed.map(CpuModel::of).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_numbers_are_the_same_cpu() {
        for (typed, written, family) in [
            ("skylake-x", "GenuineIntel-6-55-4", "skylake-x"),
            ("Cascade Lake", "GenuineIntel-6-55-7", "skylake-x"),
            ("sapphire-rapids", "GenuineIntel-6-8F-8", "sapphire-rapids"),
            ("GenuineIntel-6-8F", "GenuineIntel-6-8F", "sapphire-rapids"),
            ("GenuineIntel-6-8f-4", "GenuineIntel-6-8F-4", "sapphire-rapids"),
            ("zen4", "AuthenticAMD-25-11-1", "zen4"),
            ("amd64_fam19h_zen4", "AuthenticAMD-25-11-1", "zen4"),
            ("AuthenticAMD-25-1-1", "AuthenticAMD-25-1-1", "zen3"),
            ("neoverse-n1", "0x41-0xd0c", "neoverse-n1"),
        ] {
            let cpu = CpuModel::named(typed).unwrap();
            assert_eq!(cpu.to_string(), written, "{typed}");
            assert_eq!(cpu.families()[0].id, family, "{typed}");
        }
        let hybrid = CpuModel::named("alder-lake").unwrap();
        assert_eq!(hybrid.families().len(), 2);
        assert!(CpuModel::named("GenuineIntel-6-17-6").unwrap().families().is_empty());
    }

    #[test]
    fn what_is_no_cpu_says_what_it_might_be() {
        let near = |typed: &str| match CpuModel::named(typed) {
            Err(Error::UnknownCpu { near, .. }) => near,
            other => panic!("{other:?}"),
        };
        assert_eq!(near("saphire-rapids").as_deref(), Some("sapphire-rapids"));
        assert_eq!(near("???"), None);
        // What `info` calls CPUs of other architectures is a name, and nobody is meant by it.
        for other in [
            "SiFive U74-MC",
            "POWER8",
            "z196",
            "zEC12",
            "IBM zEC12, machine type 2827",
            "LA664",
            "Loongson-3A6000",
            "TI UltraSparc IIIi",
        ] {
            let said = CpuModel::named(other);
            assert!(matches!(said, Err(Error::OtherArchitecture { .. })), "{other}: {said:?}");
        }
        for product in ["Strix Halo", "venice", "Hygon", "turin-dense"] {
            assert!(CpuModel::named(product).is_ok(), "{product}");
        }
        for core in ["Arm Neoverse-V2", "Qualcomm Oryon", "Fujitsu A64FX", "HiSilicon TaiShan v110"]
        {
            assert!(CpuModel::named(core).is_ok(), "{core}");
        }
        for bad in ["", "GenuineIntel", "GenuineIntel-x-8F", "GenuineIntel-6-8F-Z", "a-1-2-3-4"] {
            assert!(CpuModel::named(bad).is_err(), "{bad}");
        }
    }

    /// Who has a name has events, and the other way round.
    #[test]
    fn models_are_in_both_tables() {
        /// From Skylake and Zen 2 on: what nobody has published events of, or not of its own.
        const WITHOUT_EVENTS: &[&str] = &[
            "Cannon Lake",
            "Ice Lake (NNP-I)",
            "Lakefield",
            "Nova Lake",
            "Diamond Rapids",
            "Zen 6",
        ];
        /// Before them, and of lines of which no events are kept.
        const EARLIER: &[&str] = &[
            "P6",
            "Pentium M",
            "Core (Yonah)",
            "Core",
            "Penryn",
            "Bonnell",
            "Saltwell",
            "Silvermont",
            "Airmont",
        ];
        let mut silent = BTreeSet::new();
        for (vendor, family) in [
            ("GenuineIntel", 6),
            ("GenuineIntel", 18),
            ("GenuineIntel", 19),
            ("AuthenticAMD", 23),
            ("AuthenticAMD", 25),
            ("AuthenticAMD", 26),
        ] {
            for model in 0..=0xff {
                let stepping = Some(5);
                let vendor = vendor.to_owned();
                let numbers = CpuNumbers::X86 { vendor, family, model, stepping };
                let cpu = CpuModel::of(numbers.clone());
                match (microarchitecture::name_of(&numbers), cpu.families().is_empty()) {
                    (None, false) => panic!("{cpu} has events and no name"),
                    (Some(name), true) => _ = silent.insert(name),
                    _ => {}
                }
            }
        }
        let known: BTreeSet<&str> = WITHOUT_EVENTS.iter().chain(EARLIER).copied().collect();
        assert_eq!(silent, known);
    }

    #[test]
    fn every_family_has_the_cpus_that_it_names() {
        for family in &Table::builtin().family {
            for cpuid in std::iter::once(&family.cpuid).chain(family.also.values()) {
                let cpu: CpuModel = cpuid.parse().unwrap();
                assert_eq!(&cpu.to_string(), cpuid);
                let families = cpu.families();
                assert!(families.iter().any(|it| it.id == family.id), "{cpuid} of {}", family.id);
                assert!(families.len() == 1 || families.iter().all(|it| it.core.is_some()));
            }
        }
    }
}
