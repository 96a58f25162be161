//! The same computation by other instructions: another width, another encoding, or the whole number of ops of one chain
//! by another stream.

use crate::arithmetic::Arithmetic;
use crate::streams::TABLE;
use crate::{Kind, StreamRow};

impl StreamRow {
    /// Whether it computes something: one that waits on purpose does not.
    pub fn computes(&self) -> bool {
        !matches!(self.kind, Kind::Spin | Kind::Null)
    }

    /// Another stream that computes the same in each lane, by another instruction or at another width, and that `can` be
    /// executed; none: no other instruction of the table does.
    pub fn second_form(
        &self,
        can: impl Fn(&'static StreamRow) -> bool,
    ) -> Option<&'static StreamRow> {
        if self.beside.is_some() {
            return None;
        }
        let is_other = |row: &&&'static StreamRow| {
            row.mnemonic != self.mnemonic || row.width_bits != self.width_bits
        };
        let is_same = |row: &&&'static StreamRow| {
            row.arithmetic == self.arithmetic && row.kind != Kind::Spin && row.beside.is_none()
        };
        let others =
            || TABLE.iter().filter(is_same).filter(is_other).filter(|row| can(row)).copied();
        // Another encoding says more than another width of one, which has the same units.
        others().find(|row| row.mnemonic != self.mnemonic).or_else(|| others().next())
    }

    /// Whether the portable computation has its answer after any number of ops: not where an instruction adds several
    /// rounded products in an order of its own, whose sums are exact for a while only.
    pub fn is_known_after_any(&self) -> bool {
        !matches!(
            self.arithmetic,
            Arithmetic::DotBrain | Arithmetic::TileBrain | Arithmetic::TileHalf
        )
    }

    /// Trips through the body in which each chain has so many ops.
    pub fn iterations_of(&self, ops_per_chain: u64) -> u64 {
        (ops_per_chain * u64::from(self.chains) / self.ops_per_iteration.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::find;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn other_widths_and_encodings_compute_the_same() {
        let form = |id: &str| find(id).and_then(|row| row.second_form(|_| true)).map(|row| row.id);
        assert_eq!(form("avx512_iadd"), Some("scalar_iadd"));
        assert_eq!(form("scalar_iadd"), Some("sse2_iadd"));
        assert_eq!(form("avx512_fma_t"), Some("scalar_fma"));
        assert_eq!(form("avx512_vpermw"), None);
        assert_eq!(form("amx_int8"), None);
        let none =
            find("avx512_iadd").and_then(|row| row.second_form(|row| row.id == "avx512_iadd"));
        assert!(none.is_none());
    }

    #[test]
    fn trips_hold_the_ops_of_each_chain() {
        for row in TABLE.iter().filter(|row| row.kind != Kind::Spin) {
            let per_chain = crate::patterns::OPS_MAX;
            let ops = row.iterations_of(per_chain) * row.ops_per_iteration;
            assert_eq!(ops / u64::from(row.chains), per_chain, "{}", row.id);
        }
    }
}
