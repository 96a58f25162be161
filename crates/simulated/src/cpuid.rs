//! What CPUID of a simulated machine answers.

use model::CpuId;
use sys::cpuid::Leaf;

use crate::description::{Identity, Model};

impl Model {
    /// A leaf of the CPU that answers first, where it announces it.
    pub fn leaf(&self, leaf: u32) -> Option<Leaf> {
        let identity = &self.identity;
        let claims = &self.clock.claims;
        let hypervisor = identity.hypervisor.as_deref();
        if self.is_arm() {
            return None;
        }
        match leaf {
            0 => {
                let [ebx, edx, ecx] = words(&identity.vendor);
                Some(Leaf { eax: 0x16, ebx, ecx, edx })
            }
            1 => {
                let guest = u32::from(hypervisor.is_some()) << 31;
                Some(registers([signature(identity), 0, guest, 0]))
            }
            // A hybrid says so on every CPU.
            7 if self.is_efficient(CpuId(0)).is_some() => Some(registers([0, 0, 0, 1 << 15])),
            // Turbo, HWP and its energy preference; the bias between performance and energy, and
            // APERF with MPERF.
            6 => self.registers.map(|has| {
                let pair = u32::from(has.aperf_mperf);
                let [power, bias] =
                    if identity.is_amd() { [0; 2] } else { [1 << 1 | 1 << 7 | 1 << 10, 1 << 3] };
                registers([power, 0, bias | pair, 0])
            }),
            // How far this range goes, and the register that switches prefetchers off.
            0x8000_0000 if identity.is_amd() => Some(registers([0x8000_0021, 0, 0, 0])),
            0x8000_0021 if identity.is_amd() => Some(registers([1 << 13, 0, 0, 0])),
            0xa => self.leaf_of_counters(CpuId(0)),
            // A crystal of 1 MHz, and a ratio in thousandths.
            0x15 => claims.cpuid15_hz.map(|hz| registers([1000, (hz / 1e3) as u32, 1_000_000, 0])),
            0x16 => claims.cpuid16_hz.map(|hz| registers([(hz / 1e6) as u32, 0, 0, 0])),
            0x4000_0000 => hypervisor.map(|name| {
                let [ebx, ecx, edx] = words(name);
                Leaf { eax: 0x4000_0010, ebx, ecx, edx }
            }),
            0x4000_0010 => {
                let hertz = claims.hypervisor_hz.filter(|_| hypervisor.is_some());
                hertz.map(|hz| registers([(hz / 1e3) as u32, 0, 0, 0]))
            }
            _ => None,
        }
    }

    /// A leaf of one CPU: cores of a hybrid differ.
    pub fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        match (leaf, self.is_efficient(cpu)) {
            // The kind of core: Atom, Core.
            (0x1a, Some(efficient)) => {
                Some(registers([if efficient { 0x20 } else { 0x40 } << 24, 0, 0, 0]))
            }
            (0xa, _) => self.leaf_of_counters(cpu),
            (7, Some(_)) if subleaf != 0 => None,
            _ => self.leaf(leaf),
        }
    }

    /// How many counters a thread has, in version 4 of the leaf.
    fn leaf_of_counters(&self, cpu: CpuId) -> Option<Leaf> {
        let limits = self.core_limits(cpu)?;
        let width = limits.width.unwrap_or(0);
        let general = 4 | limits.general << 8 | width << 16 | 7 << 24;
        Some(registers([general, 0, 0, limits.fixed_bits.count_ones() | width << 5]))
    }
}

/// Family, model and stepping as CPUID 1 packs them.
///
/// # Source
/// Intel SDM volume 2A, CPUID, figure of the version information in EAX.
fn signature(identity: &Identity) -> u32 {
    let family = identity.family.min(15);
    let beyond = identity.family - family;
    let (model, model_beyond) = (identity.model & 0xf, identity.model >> 4 & 0xf);
    beyond << 20 | model_beyond << 16 | family << 8 | model << 4 | identity.stepping & 0xf
}

fn registers([eax, ebx, ecx, edx]: [u32; 4]) -> Leaf {
    Leaf { eax, ebx, ecx, edx }
}

/// Up to twelve letters as three registers, filled with zeros.
fn words(text: &str) -> [u32; 3] {
    let mut bytes = [0; 12];
    let count = text.len().min(bytes.len());
    bytes[..count].copy_from_slice(&text.as_bytes()[..count]);
    std::array::from_fn(|i| {
        u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
    })
}
