//! What the numbers of each area say: one folder each.

pub mod cores;
pub mod datatypes;
pub mod energy;
pub mod interference;
pub mod jitter;
pub mod memory;
pub mod openmp;
pub mod pause;
pub mod pmu;
pub mod preferred_cores;
pub mod published;
mod section;
pub mod sst;
pub mod sustained;
pub mod top;
pub mod transitions;
pub mod turbo;
pub mod wait;
pub mod wake;

pub use self::section::Section;

/// All of them, in the order of the sheet.
pub static SECTIONS: &[Section] = &[
    turbo::SECTION,
    transitions::SECTION,
    sustained::SECTION,
    preferred_cores::SECTION,
    interference::SECTION,
    memory::SECTION,
    cores::SECTION,
    pause::SECTION,
    wake::SECTION,
    openmp::SECTION,
    datatypes::SECTION,
    jitter::SECTION,
    wait::SECTION,
    pmu::SECTION,
    energy::SECTION,
    sst::SECTION,
    top::SECTION,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_stand_in_one_order_wherever_they_do() {
        let ids: Vec<&str> = model::areas::ids().collect();
        assert_eq!(SECTIONS.iter().map(Section::id).collect::<Vec<_>>(), ids);
        assert_eq!(measure::areas::AREAS.iter().map(|area| area.id).collect::<Vec<_>>(), ids);
    }
}
