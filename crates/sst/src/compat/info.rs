//! What the machine can do, in the lines of `--info`.

use super::layout::{CompatOutput, OutputEntry};
use super::render::RenderContext;
use crate::model::{DomainKind, Feature, Features};

const UNKNOWN: &str = "status is unknown";

/// Of the first power domain with CPUs.
pub(super) fn page(seen: &RenderContext<'_>) -> CompatOutput {
    let platform = &seen.snapshot.platform;
    let mut shown = CompatOutput::default();
    let mut line = |text: String| shown.entries.push(OutputEntry::Line(text));
    line(format!("Platform: API version : {}", platform.api_version));
    line(format!("Platform: Driver version : {}", platform.driver_version));
    line(format!("Platform: mbox supported : {}", platform.mailbox));
    line(format!("Platform: mmio supported : {}", platform.mmio));
    let mut domains = seen.snapshot.domains.iter();
    let domain = domains.find(|domain| domain.kind() == DomainKind::Compute);
    let Some(domain) = domain else {
        shown.fail("no power domain has CPUs that are online");
        return shown;
    };
    let Some(Ok(profiles)) = &domain.profiles else {
        shown.fail("get_tdp_* failed");
        return shown;
    };
    let supports = |is: bool| if is { "is supported" } else { "is not supported" };
    line(format!("Intel(R) SST-PP (feature perf-profile) {}", supports(profiles.dynamic)));
    if !profiles.dynamic {
        line("Only performance level 0 (base level) is present".to_owned());
    }
    line(if profiles.locked {
        "TDP level change control is locked".to_owned()
    } else {
        // The older version ends this line with a blank.
        let end = if seen.tool.newer_titles { "" } else { " " };
        format!("TDP level change control is unlocked, max level: {}{end}", profiles.highest)
    });
    let features = profiles.levels.iter().map(|level| level.features.as_ref());
    let any = |of: fn(&Features) -> Feature| {
        let has = features.clone().flatten().map(of).any(|it| it != Feature::Unsupported);
        if !has && features.clone().any(|it| it.is_err()) { UNKNOWN } else { supports(has) }
    };
    let turbo = any(|features| features.turbo_freq);
    line(format!("Intel(R) SST-TF (feature turbo-freq) {turbo}"));
    let base = any(|features| features.base_freq);
    line(format!("Intel(R) SST-BF (feature base-freq) {base}"));
    let priorities = domain.core_power.as_ref().and_then(|it| it.supported.as_ref().ok());
    let priorities = priorities.map_or(UNKNOWN, |is| supports(*is));
    line(format!("Intel(R) SST-CP (feature core-power) {priorities}"));
    // Of priorities the reference tool says so, too, and does not fail.
    shown.failed |= [turbo, base].contains(&UNKNOWN);
    shown
}
