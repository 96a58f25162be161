//! Why a clock is not believed: the words that stand in its place.
//!
//! `sibling busy` and `contended` are said of cores that are shared, `throttled` of cores that do less
//! in each cycle than they could.

use model::{Obstacle, Unavailable};

use super::reduce::Evidence;

/// How far two clocks of one core may be apart.
pub const AGREEMENT: f64 = 0.01;

/// The witness disagreed with the ruler in every block by more than that share of a cycle. `shared` says whether the placement probe
/// found that CPUs of the cell share a core.
pub fn contended(shared: bool, tolerance: f64, what: String) -> Unavailable {
    if shared {
        let why = "contended: some of these CPUs share a core, as the placement probe says";
        return Unavailable::new(Obstacle::Measurement, what, why)
            .with_remedy("measure one CPU of each core: --cpus LIST");
    }
    let why = format!(
        "sibling busy: the add chain beside the payload disagreed with the multiply chain by more than \
         {} %, as it does when another hardware thread uses the core",
        tolerance * 100.0
    );
    Unavailable::new(Obstacle::Measurement, what, why)
        .with_remedy("run again when the machine, or its SMT sibling, is idle")
}

/// What speaks against a clock that was read right after the payload: the clock within its loop.
/// `preempted` says whether the CPU was often taken away meanwhile, which slows both by chance.
pub fn refutes(evidence: Evidence, preempted: bool, what: String) -> Option<Unavailable> {
    let Evidence { dense, half } = evidence;
    let apart = |ratio: f64| (ratio - 1.0).abs() > AGREEMENT;
    if !apart(dense) && !apart(half) && !apart(dense / half) {
        return None;
    }
    let off = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let [dense_off, half_off] = [off(dense), off(half)];
    let (why, remedy) = if preempted {
        let why = format!(
            "contended: the CPU was taken away again and again, and a clock chain within the payload's \
             loop reads {dense_off} of the one right after it"
        );
        (why, "stop other work, or measure other CPUs: --cpus LIST")
    } else if apart(dense / half) {
        let why = format!(
            "contended: a clock chain within the payload's loop reads {dense_off} of the one right \
             after it with the payload dense, and {half_off} with it less dense: payload and chain \
             are in each other's way"
        );
        (
            why,
            "its cycles per op stand; `cpudyno doctor` says whether APERF/MPERF can tell the clock here",
        )
    } else if dense < 1.0 {
        let why = format!(
            "throttled: while the payload executes, a clock chain within its loop reads {dense_off} of \
             the one right after it, at two densities"
        );
        (why, "look for limits of heat and power, and run again")
    } else {
        let why = format!(
            "contended: a clock chain within the payload's loop reads {dense_off} of the one right \
             after it: something else used the core then"
        );
        (why, "run again when the machine, or its SMT sibling, is idle")
    };
    Some(Unavailable::new(Obstacle::Measurement, what, why).with_remedy(remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(dense: f64, half: f64) -> Option<String> {
        let reason = refutes(Evidence { dense, half }, false, "clock".to_owned())?;
        Some(reason.why.split(':').next().unwrap_or_default().to_owned())
    }

    #[test]
    fn two_densities_that_agree_with_the_sandwich_stand() {
        assert_eq!(word(0.998, 1.001), None);
        assert_eq!(word(1.004, 0.997), None);
    }

    #[test]
    fn a_chain_that_is_the_shorter_path_is_refused() {
        // Tried: at 120 % of density the chain reads 0.83 of the clock.
        assert_eq!(word(0.83, 1.0).as_deref(), Some("contended"));
        assert_eq!(word(0.985, 0.999).as_deref(), Some("contended"));
    }

    #[test]
    fn slow_only_while_the_payload_executes_is_throttled() {
        assert_eq!(word(0.97, 0.972).as_deref(), Some("throttled"));
        assert_eq!(word(1.03, 1.03).as_deref(), Some("contended"));
        let preempted =
            refutes(Evidence { dense: 0.97, half: 0.972 }, true, String::new()).unwrap();
        assert!(preempted.why.starts_with("contended"), "{}", preempted.why);
    }
}
