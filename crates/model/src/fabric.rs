//! What lies between the cores of a package, and how long a cache line takes within a cache and beyond it.

use crate::Seconds;

/// What lies between the cores of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fabric {
    /// Complexes of a few cores each, which share a cache; a fabric between them.
    Complexes,
    /// A mesh of many cores, whose one cache is far where it is large.
    Mesh,
    /// Rings, and what is not known.
    Any,
}

/// Round trips of a line in latencies of the last-level cache: up to so many within it, and beyond it from so many on.
///
/// # Source
/// The ranges of [`Fabric::limits`] over latencies of `data/memory-latency.toml`: on Zen to Zen 5 an L3 answers in 38 to 57
/// cycles, 10 to 14 ns, so that 35 to 65 ns within a complex are 3 to 5 hits, and 130 ns and more between two are over 9.
/// Tried on a guest of Zen 4: 50 to 58 ns there and back, and 15 to 16 ns of a hit.
const HITS: [f64; 2] = [5.0, 9.0];

/// Microarchitectures with a mesh begin so: Xeons from Skylake-SP on, Xeon Phi, and those servers of Arm.
const MESHES: &[&str] = &[
    "Skylake-SP",
    "Cascade Lake",
    "Cooper Lake",
    "Ice Lake-SP",
    "Ice Lake-D",
    "Sapphire Rapids",
    "Emerald Rapids",
    "Granite Rapids",
    "Diamond Rapids",
    "Sierra Forest",
    "Clearwater Forest",
    "Knights",
    "Neoverse",
];

/// So long a line travels within the cache of a large mesh, as [`Fabric::limits`] says.
const MESH_MOST: Seconds = Seconds(310e-9);

impl Fabric {
    /// That of a microarchitecture.
    pub fn of(microarchitecture: Option<&str>) -> Fabric {
        match microarchitecture {
            Some(name) if name.starts_with("Zen") || name == "Dhyana" => Fabric::Complexes,
            Some(name) if MESHES.iter().any(|mesh| name.starts_with(mesh)) => Fabric::Mesh,
            _ => Fabric::Any,
        }
    }

    /// A line that goes there and back in less time stays within a last-level cache, and one that takes longer than the
    /// second leaves it; what lies between is not clear.
    ///
    /// # Source
    /// Complexes of Zen to Zen 5: 35 to 65 ns within one, up to 100 ns in those of 16 cores or at low clocks; 130 to
    /// 360 ns between two of them. Others: 50 to 310 ns within a cache (the most on the mesh of large ones), 200 ns and
    /// more between caches or packages. Published measurements of core-to-core latency, and docs of `cpudyno cores`.
    pub const fn limits(self) -> (Seconds, Seconds) {
        match self {
            Fabric::Complexes => (Seconds(110e-9), Seconds(160e-9)),
            Fabric::Mesh | Fabric::Any => (Seconds(150e-9), Seconds(400e-9)),
        }
    }

    /// The same on a machine whose last-level cache answers in that time: by its own latency, of complexes no later than
    /// those of any known one, and of meshes no earlier.
    pub fn limits_beside(self, last_level: Option<Seconds>) -> (Seconds, Seconds) {
        let (near, far) = self.limits();
        let Some(hit) = last_level.filter(|hit| hit.0 > 0.0) else { return (near, far) };
        let own = HITS.map(|hits| hit * hits);
        match self {
            Fabric::Complexes => (Seconds(own[0].0.min(near.0)), Seconds(own[1].0.min(far.0))),
            Fabric::Mesh => (own[0], Seconds(own[1].0.max(MESH_MOST.0))),
            Fabric::Any => (own[0], own[1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 25 ns and 110 ns one way, on one guest in two minutes, whose cache answers in 12 ns.
    #[test]
    fn a_cache_s_own_latency_tells_what_absolute_limits_do_not() {
        let class = |fabric: Fabric, one_way: f64, hit: Option<f64>| {
            let (near, far) = fabric.limits_beside(hit.map(Seconds));
            let round_trip = 2.0 * one_way;
            [round_trip < near.0, round_trip > far.0]
        };
        let (within, beyond, unclear) = ([true, false], [false, true], [false, false]);
        assert_eq!(class(Fabric::Any, 25e-9, Some(12e-9)), within);
        assert_eq!(class(Fabric::Any, 110e-9, Some(12e-9)), beyond);
        assert_eq!(class(Fabric::Any, 110e-9, None), unclear);
        // On a mesh the same 60 ns are near: its cache answers in 35 ns.
        assert_eq!(class(Fabric::Any, 60e-9, Some(35e-9)), within);
        // The farthest cores of a large mesh share a cache, too.
        assert_eq!(class(Fabric::of(Some("Emerald Rapids")), 150e-9, Some(30e-9)), unclear);
        assert_eq!(class(Fabric::of(Some("Emerald Rapids")), 160e-9, Some(30e-9)), beyond);
        assert_eq!(class(Fabric::of(Some("Ice Lake")), 150e-9, Some(30e-9)), beyond);
        // A cache of which neighbours leave nothing answers as memory does: complexes are known better.
        assert_eq!(class(Fabric::Complexes, 110e-9, Some(95e-9)), beyond);
    }
}
