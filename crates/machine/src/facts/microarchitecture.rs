//! Names of common microarchitectures, by family and model.
//!
//! # Source
//! Intel SDM volume 4, table 2-1 (family and model of each processor generation); AMD's processor
//! programming references and revision guides of the families named.

use std::ops::RangeInclusive;

use super::cpu::Signature;

/// Vendor, family, models, steppings, name.
type Row = (&'static str, u32, RangeInclusive<u32>, RangeInclusive<u32>, &'static str);

const INTEL: &str = "GenuineIntel";
const AMD: &str = "AuthenticAMD";
const HYGON: &str = "HygonGenuine";
const ANY: RangeInclusive<u32> = 0..=u32::MAX;

const fn intel(model: u32, name: &'static str) -> Row {
    (INTEL, 6, model..=model, ANY, name)
}

const fn amd(family: u32, first: u32, last: u32, name: &'static str) -> Row {
    (AMD, family, first..=last, ANY, name)
}

/// The first row that fits counts.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    intel(0x2a, "Sandy Bridge"), intel(0x2d, "Sandy Bridge"),
    intel(0x3a, "Ivy Bridge"), intel(0x3e, "Ivy Bridge"),
    intel(0x3c, "Haswell"), intel(0x3f, "Haswell"), intel(0x45, "Haswell"), intel(0x46, "Haswell"),
    intel(0x3d, "Broadwell"), intel(0x47, "Broadwell"),
    intel(0x4f, "Broadwell"), intel(0x56, "Broadwell"),
    intel(0x4e, "Skylake"), intel(0x5e, "Skylake"),
    (INTEL, 6, 0x55..=0x55, 0..=4, "Skylake-SP"),
    (INTEL, 6, 0x55..=0x55, 5..=7, "Cascade Lake"),
    (INTEL, 6, 0x55..=0x55, 10..=11, "Cooper Lake"),
    intel(0x8e, "Kaby Lake or later Skylake"), intel(0x9e, "Kaby Lake or later Skylake"),
    intel(0xa5, "Comet Lake"), intel(0xa6, "Comet Lake"),
    intel(0x66, "Cannon Lake"),
    intel(0x7d, "Ice Lake"), intel(0x7e, "Ice Lake"),
    intel(0x6a, "Ice Lake-SP"), intel(0x6c, "Ice Lake-D"),
    intel(0x8c, "Tiger Lake"), intel(0x8d, "Tiger Lake"), intel(0xa7, "Rocket Lake"),
    intel(0x97, "Alder Lake"), intel(0x9a, "Alder Lake"), intel(0xbe, "Gracemont (Alder Lake-N)"),
    intel(0xb7, "Raptor Lake"), intel(0xba, "Raptor Lake"), intel(0xbf, "Raptor Lake"),
    intel(0xaa, "Meteor Lake"), intel(0xac, "Meteor Lake"),
    intel(0xb5, "Arrow Lake"), intel(0xc5, "Arrow Lake"), intel(0xc6, "Arrow Lake"),
    intel(0xbd, "Lunar Lake"), intel(0xcc, "Panther Lake"),
    intel(0x8f, "Sapphire Rapids"), intel(0xcf, "Emerald Rapids"),
    intel(0xad, "Granite Rapids"), intel(0xae, "Granite Rapids-D"),
    intel(0xaf, "Sierra Forest"), intel(0xdd, "Clearwater Forest"),
    intel(0x37, "Silvermont"), intel(0x4d, "Silvermont"),
    intel(0x5c, "Goldmont"), intel(0x5f, "Goldmont"), intel(0x7a, "Goldmont Plus"),
    intel(0x86, "Tremont"), intel(0x96, "Tremont"), intel(0x9c, "Tremont"),
    intel(0x57, "Knights Landing"), intel(0x85, "Knights Mill"),
    amd(0x15, 0x00, 0x01, "Bulldozer"), amd(0x15, 0x02, 0x02, "Piledriver"),
    amd(0x15, 0x10, 0x1f, "Piledriver"), amd(0x15, 0x30, 0x3f, "Steamroller"),
    amd(0x15, 0x60, 0x7f, "Excavator"),
    amd(0x17, 0x08, 0x08, "Zen+"), amd(0x17, 0x18, 0x18, "Zen+"),
    amd(0x17, 0x00, 0x2f, "Zen"), amd(0x17, 0x30, 0xaf, "Zen 2"),
    amd(0x19, 0x00, 0x0f, "Zen 3"), amd(0x19, 0x10, 0x1f, "Zen 4"), amd(0x19, 0x20, 0x5f, "Zen 3"),
    amd(0x19, 0x60, 0x7f, "Zen 4"), amd(0x19, 0xa0, 0xaf, "Zen 4c"),
    amd(0x1a, 0x00, 0x7f, "Zen 5"),
    (HYGON, 0x18, 0x00..=0x0f, ANY, "Dhyana"),
];

/// The name of a microarchitecture, where this version has one.
pub(super) fn name(vendor: &str, signature: Signature) -> Option<&'static str> {
    let fits = |(of, family, models, steppings, _): &&Row| {
        *of == vendor
            && *family == signature.family
            && models.contains(&signature.model)
            && steppings.contains(&signature.stepping)
    };
    TABLE.iter().find(fits).map(|(.., name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steppings_tell_generations_apart_and_strangers_have_no_name() {
        let of =
            |vendor, family, model, stepping| name(vendor, Signature { family, model, stepping });
        assert_eq!(of(INTEL, 6, 0x55, 4), Some("Skylake-SP"));
        assert_eq!(of(INTEL, 6, 0x55, 7), Some("Cascade Lake"));
        assert_eq!(of(INTEL, 6, 207, 2), Some("Emerald Rapids"));
        assert_eq!(of(AMD, 0x17, 0x31, 0), Some("Zen 2"));
        assert_eq!(of(INTEL, 6, 300, 0), None);
        assert_eq!(of("Arm", 6, 0x55, 4), None);
    }
}
