//! Which microarchitectures instructions cost what they cost here.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use model::record::{MachineKey, Record};
use model::{CpuId, Known, Unavailable};
use serde::Deserialize;

use super::{absent, alone, number};
use model::areas::turbo;

/// The table, as `data/README.md` describes it; what is not needed of it is left out.
static SETS: LazyLock<Vec<CoreSet>> = LazyLock::new(|| {
    let table = include_str!("../../../../data/instruction-latency.toml");
    toml::from_str::<PublishedChains>(table).map_or_else(|_| Vec::new(), |table| table.set)
});

#[derive(Deserialize)]
struct PublishedChains {
    set: Vec<CoreSet>,
}

/// What one source says of one core.
#[derive(Deserialize)]
struct CoreSet {
    of: Vec<String>,
    figures: Vec<PublishedChain>,
}

/// What it says of one instruction.
#[derive(Deserialize)]
struct PublishedChain {
    mnemonic: String,
    bits: Option<u32>,
    latency: Option<f64>,
}

/// Up to this share a measured latency is a published one, which are rounded; a busy sibling adds as much.
const TOLERANCE: f64 = 0.05;

/// Fewer latencies in common tell too little: most cores add in one cycle.
pub(super) const COMMON_MIN: usize = 3;

/// Vectors of so many bits are on some cores only.
const WIDE: u32 = 512;

/// The microarchitectures whose published latencies are those of the record's chains.
pub(super) fn of(record: &Record, first: CpuId) -> Result<Vec<String>, Unavailable> {
    const WHAT: &str = "microarchitecture by behaviour";
    let chains = record.run.plan.workloads.iter().filter(|row| row.kind == "latency");
    let measured: Vec<(&str, Option<u32>, f64)> = chains
        .filter_map(|row| {
            let series = alone(record, turbo::AREA, "cycles_per_op", &row.id, first);
            let cycles = number(&series, &row.id).ok()?.value;
            Some((row.mnemonic.as_deref()?, row.width_bits, cycles))
        })
        .collect();
    let names: BTreeSet<&str> = SETS.iter().flat_map(|set| &set.of).map(String::as_str).collect();
    let fits: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| Some((agreed(name, &measured)?, name)))
        .filter(|(common, _)| *common >= COMMON_MIN)
        .collect();
    if measured.len() < COMMON_MIN {
        return Err(absent(WHAT, format!("{} latencies were measured", measured.len())));
    }
    Ok(fits.into_iter().map(|(_, name)| name.to_owned()).collect())
}

/// How many of these a core has in common with the table, where all of those agree. A core of which no figure is as
/// wide as vectors that were measured does not have them.
fn agreed(name: &str, measured: &[(&str, Option<u32>, f64)]) -> Option<usize> {
    let figures = || {
        let sets = SETS.iter().filter(|set| set.of.iter().any(|of| of == name));
        sets.flat_map(|set| &set.figures)
    };
    let executes = |bits: &Option<u32>| {
        bits.is_none_or(|bits| bits < WIDE || figures().any(|figure| figure.bits == Some(bits)))
    };
    if !measured.iter().all(|(_, bits, _)| executes(bits)) {
        return None;
    }
    let mut common = 0;
    for (mnemonic, bits, cycles) in measured {
        let mut known = figures()
            .filter(|figure| figure.mnemonic == *mnemonic && figure.bits == *bits)
            .filter_map(|figure| figure.latency)
            .peekable();
        if known.peek().is_none() {
            continue;
        }
        if !known.any(|latency| (cycles / latency - 1.0).abs() <= TOLERANCE) {
            return None;
        }
        common += 1;
    }
    Some(common)
}

/// What the machine says of its microarchitecture, where the key has it.
fn claimed(key: &MachineKey) -> Option<&str> {
    key.claims.get("cpu.microarchitecture")?.value().map(String::as_str)
}

/// Whether a name of the table is of that microarchitecture, or of a type of core of it.
fn is_of(name: &str, claimed: &str) -> bool {
    name.strip_prefix(claimed).is_some_and(|rest| ["", " P", " E"].contains(&rest))
}

/// The word for the line: what it says it is where it behaves so, else what it behaves like.
pub(super) fn word(key: &MachineKey) -> String {
    /// Cores of one family are alike.
    const SHOWN: usize = 2;
    let joined = |name: &str| name.split_whitespace().collect::<Vec<_>>().concat();
    let Known::Yes(like) = &key.behaves_like else { return "?".to_owned() };
    match claimed(key) {
        Some(claimed) if like.iter().any(|name| is_of(name, claimed)) => joined(claimed),
        _ if like.is_empty() => "?".to_owned(),
        _ => {
            let more = like.len().saturating_sub(SHOWN);
            let names: Vec<String> = like.iter().take(SHOWN).map(|name| joined(name)).collect();
            let more = if more > 0 { format!("+{more}") } else { String::new() };
            names.join("|") + &more
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_of_its_own_family_alone() {
        assert!(is_of("Alder Lake P", "Alder Lake") && is_of("Zen 2", "Zen 2"));
        for (name, claimed) in [("Zen 2", "Zen"), ("Zen", "Zen 2"), ("Zen 4", "Ze")] {
            assert!(!is_of(name, claimed), "{name} {claimed}");
        }
    }

    /// Cores of a hybrid that cost the same and have no such vectors.
    #[test]
    fn cores_without_vectors_of_512_bits_do_not_execute_them() {
        let narrow = "Arrow Lake E";
        let sets = || SETS.iter().filter(|set| set.of.iter().any(|of| of == narrow));
        let own: Vec<(&str, Option<u32>, f64)> = sets()
            .flat_map(|set| &set.figures)
            .filter_map(|it| Some((it.mnemonic.as_str(), it.bits, it.latency?)))
            .collect();
        assert!(agreed(narrow, &own).is_some_and(|common| common >= COMMON_MIN), "{own:?}");
        let wide = [own.as_slice(), &[("VPADDD", Some(512), 1.0)]].concat();
        assert_eq!(agreed(narrow, &wide), None);
    }
}
