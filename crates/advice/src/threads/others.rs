//! What other work leaves of the CPUs.

use model::record::{BUSY_CPUS, Record};

/// The part of the time of all CPUs that a thread on each of them has beside the work of others, who were seen right before
/// the run. The scheduler gives equals equal parts, so that one who wants a whole CPU gets half of it.
pub(super) fn left(record: &Record) -> f64 {
    const HALF: f64 = 0.5;
    let cpus = record.run.plan.cpus.len().max(1) as f64;
    let taken: f64 =
        record.text(BUSY_CPUS).map_or(0.0, |text| shares(text).map(|it| it.min(HALF)).sum());
    (1.0 - taken / cpus).max(HALF)
}

/// `CPU 0 (91 % by a process), CPU 1 (92 %)`
fn shares(text: &str) -> impl Iterator<Item = f64> {
    let per_cent = |part: &str| part.split_once(" %")?.0.parse::<f64>().ok();
    let share =
        move |part: &str| Some(per_cent(part)? / 100.0).filter(|it| (0.0..=1.0).contains(it));
    text.split("CPU ").filter_map(|part| part.split_once(" (")).filter_map(move |(_, it)| share(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_as_they_are_told() {
        let of = |text: &str| shares(text).collect::<Vec<_>>();
        assert_eq!(of("CPU 0 (91 % by `rustc`), CPU 12 (50 %), and 3 more"), [0.91, 0.5]);
        assert!(of("none").is_empty());
        assert!(of("CPU 1 (x %), CPU 2 (900 % by `a`), CPU (").is_empty());
    }
}
