//! Which processor it is, as far as the meaning of answers depends on it.

use machine::Machine;

/// Family, model and stepping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Processor {
    /// Display family.
    pub family: u32,
    /// Display model.
    pub model: u32,
    /// Stepping.
    pub stepping: u32,
}

impl Processor {
    /// That of a machine; none: neither CPUID nor the kernel says.
    ///
    /// # Source
    /// Intel SDM volume 2A, CPUID, figure of the version information in EAX.
    pub fn of(machine: &Machine) -> Option<Processor> {
        let Some(leaf) = machine.cpuid.leaf(1, 0) else { return Processor::of_cpuinfo(machine) };
        let eax = leaf.eax;
        let family = eax >> 8 & 0xf;
        let beyond = if family == 15 { eax >> 20 & 0xff } else { 0 };
        let model = eax >> 4 & 0xf | (eax >> 16 & 0xf) << 4;
        Some(Processor { family: family + beyond, model, stepping: eax & 0xf })
    }

    fn of_cpuinfo(machine: &Machine) -> Option<Processor> {
        let text = machine.tree.read("/proc/cpuinfo").ok()?;
        let field = |name: &str| {
            let fields = text.lines().filter_map(|line| line.split_once(':'));
            fields
                .filter(|(key, _)| key.trim() == name)
                .find_map(|(_, value)| value.trim().parse().ok())
        };
        Some(Processor {
            family: field("cpu family")?,
            model: field("model")?,
            stepping: field("stepping")?,
        })
    }

    /// Skylake servers and what came of them: classes are behind the mailbox.
    pub(crate) fn is_skylake_server(self) -> bool {
        self.model == 0x55
    }

    /// Ice Lake servers.
    pub(crate) fn is_ice_lake(self) -> bool {
        matches!(self.model, 0x6a | 0x6c)
    }

    /// Sapphire and Emerald Rapids.
    pub(crate) fn is_sapphire_rapids(self) -> bool {
        matches!(self.model, 0x8f) || self.is_emerald_rapids()
    }

    /// Emerald Rapids, whose licences have no names.
    pub(crate) fn is_emerald_rapids(self) -> bool {
        self.model == 0xcf
    }
}
