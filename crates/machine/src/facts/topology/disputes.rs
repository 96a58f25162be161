//! What sources say against each other.

use std::cell::RefCell;

use model::Finding;

/// What is believed where CPUs list different ones.
pub(super) const MOST: &str = "what most of the CPUs agree on is believed";

/// Remarks on sources that contradict each other, one for each thing that they disagree on.
#[derive(Debug, Default)]
pub(super) struct Disputes(RefCell<Vec<Finding>>);

impl Disputes {
    /// What they disagree on, who says what, and what is believed.
    pub(super) fn note(&self, about: &str, says: &str, believed: &str) {
        let mut findings = self.0.borrow_mut();
        if findings.iter().any(|known| known.about == about) {
            return;
        }
        findings.push(Finding::note(
            "machine.sources-disagree",
            about.to_owned(),
            format!("the kernel's files contradict each other: {says}; {believed}"),
        ));
    }

    /// As remarks.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.0.into_inner()
    }
}
