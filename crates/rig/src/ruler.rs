//! The ruler: a serial chain of multiplies whose length in cycles is calibrated, never assumed.
//!
//! A chain of `imul r,r` takes a whole number of cycles per op on every known core, and stays true when
//! an SMT sibling is busy; a chain of `add r,r` takes one cycle per op, but reads some per cent slow
//! beside a busy sibling. So the adds say how many cycles the multiply takes, at a moment when both
//! agree on a whole number, and from then on the multiply is the clock and the adds are its witness.

use std::collections::BTreeMap;

use model::{CpuId, Unavailable};

/// What of a repetition does not grow with its iterations, beyond the empty one; counted in iterations,
/// because it takes longer where the clock is lower.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fixed {
    /// Of the multiply chain.
    pub ruler: f64,
    /// Of the add chain.
    pub witness: f64,
}

/// The ruler of one CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruler {
    /// Cycles that one multiply takes.
    pub latency_cycles: u32,
    /// What of each repetition is fixed, shared by all cores of one type: see [`share`].
    pub fixed: Fixed,
    /// What looks at this CPU alone said of that: one is no better than 0.1 % of a repetition, the
    /// median of many is.
    pub looks: Vec<Fixed>,
    /// Attempts until rulers agreed: 1 on a quiet machine.
    pub attempts: u32,
}

/// The rulers of CPUs, or why there is none.
pub type Rulers = BTreeMap<CpuId, Result<Ruler, Unavailable>>;

/// More looks at one CPU tell nothing more.
const LOOKS_MAX: usize = 25;

impl Ruler {
    /// Keeps a look, and says whether it was wanted.
    pub fn keep(&mut self, look: Option<Fixed>) -> bool {
        let wanted = self.looks.len() < LOOKS_MAX && look.is_some();
        self.looks.extend(look.filter(|_| wanted));
        wanted
    }
}

/// Gives all cores of one type what the looks at all of them say: what is fixed belongs to the chain and
/// the type of core.
pub fn share<K: Ord>(rulers: &mut Rulers, type_of: impl Fn(CpuId) -> K) {
    let mut looks: BTreeMap<(K, u32), Vec<Fixed>> = BTreeMap::new();
    for (&cpu, ruler) in rulers.iter() {
        if let Ok(ruler) = ruler {
            looks.entry((type_of(cpu), ruler.latency_cycles)).or_default().extend(&ruler.looks);
        }
    }
    let median = |looks: &[Fixed], of: fn(&Fixed) -> f64| {
        model::stats::median(&looks.iter().map(of).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let shared: BTreeMap<(K, u32), Fixed> = looks
        .into_iter()
        .map(|(key, looks)| {
            let ruler = median(&looks, |look| look.ruler);
            (key, Fixed { ruler, witness: median(&looks, |look| look.witness) })
        })
        .collect();
    for (&cpu, ruler) in rulers {
        if let Ok(ruler) = ruler {
            let shared = shared.get(&(type_of(cpu), ruler.latency_cycles));
            ruler.fixed = shared.copied().unwrap_or_default();
        }
    }
}
