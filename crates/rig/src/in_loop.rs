//! The ruler in the payload's own loop: how many multiplies stand beside how many ops.
//!
//! An out-of-order core takes the longer of the two for an iteration: the chain of multiplies, or the
//! payload. As long as that is the chain, the loop tells the clock *while* the payload executes; a
//! chain that is the shorter one tells nothing but the payload's own time (docs/method/clock.md).

use super::job::Mixture;
use kernels::MULTIPLIES_MAX;

/// Pairs of densities, in per cent: the first whose two readings agree on a core is the one that holds there. Ports that
/// payload and chain share decide how dense a payload leaves the chain alone: all of 82 % on Skylake's server cores, less
/// of parallel streams on their successors.
pub const PAIRS: [[u8; 2]; 4] = [[82, 50], [65, 40], [50, 33], [33, 20]];

/// Of kernels with so many ops the one, and the number of multiplies, that bring the payload nearest
/// to this density (per cent of the chain's time).
///
/// `op` is the time of one op in multiplies. None where nothing comes near enough.
pub fn nearest(ops: [u64; 2], op: f64, density_per_cent: u8) -> Option<Mixture> {
    /// Farther away than this share of it is another density.
    const FAR: f64 = 0.15;
    /// Two kernels that are as near as this are as good.
    const LIKE: f64 = 0.02;
    let wanted = f64::from(density_per_cent) / 100.0;
    let distance = |mixture: &Mixture| (density(*mixture, op) / wanted - 1.0).abs();
    let mixtures = ops.iter().enumerate().flat_map(|(kernel, &ops)| {
        let multiplies = ops as f64 * op / wanted;
        [multiplies.floor(), multiplies.ceil()].map(|multiplies| {
            let multiplies = multiplies.clamp(1.0, f64::from(MULTIPLIES_MAX)) as u32;
            Mixture { kernel, ops, multiplies }
        })
    });
    let near: Vec<Mixture> = mixtures.filter(|mixture| distance(mixture) <= FAR).collect();
    let least = near.iter().map(distance).fold(f64::INFINITY, f64::min);
    // The smaller kernel where both are good: a whole iteration must be within the core's reach.
    let good = near.into_iter().filter(|mixture| distance(mixture) <= least + LIKE);
    good.min_by_key(|mixture| mixture.ops)
}

/// Time of the payload's ops alone, as a share of the time of the multiplies alone.
pub fn density(mixture: Mixture, op: f64) -> f64 {
    mixture.ops as f64 * op / f64::from(mixture.multiplies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_speed_has_two_densities() {
        let cases = [
            ([10, 40], [0.25, 1.0 / 3.0, 0.5, 1.0, 1.5, 2.0].as_slice()),
            ([6, 24], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].as_slice()),
        ];
        for (ops, cycles) in cases {
            for (cycles, wanted) in cycles.iter().flat_map(|cycles| [(cycles, 50), (cycles, 82)]) {
                let Some(mixture) = nearest(ops, cycles / 3.0, wanted) else {
                    panic!("no kernel of {ops:?} reaches {wanted} % with {cycles} cycles per op")
                };
                let density = density(mixture, cycles / 3.0);
                assert!(
                    density < 0.95,
                    "{cycles} {wanted}: the chain is the longer path: {density}"
                );
            }
        }
    }

    #[test]
    fn what_no_chain_can_reach_is_none() {
        assert_eq!(nearest([48, 48], 40.0, 95), None, "so many multiplies there are not");
        assert_eq!(nearest([1, 2], 0.01, 95), None, "one multiply takes much longer than the op");
        assert_eq!(nearest([48, 12], f64::NAN, 95), None);
    }
}
