//! Scalar floating point in the encoding of SSE.

// The encoding of SSE, because only it keeps the upper halves of a register as they are: where
// those are dirty, each op depends on them too.
stream! {
    /// Additions of single floating-point numbers, each followed by a comparison and a branch that
    /// is never taken; the three are one op. The instructions are those of SSE, and the upper
    /// halves of the registers hold zeros (clean) or ones (dirty). Dirty upper halves cost some
    /// CPUs time, and others the licence for a higher clock.
    title: "floating-point adds and compares",
    kind: Latency, chains: 1, ops: 100,
    op: RealSum "addsd",
    rows: {
        clean UCOMIS_CLEAN = "ucomis_clean" needs [Avx],
        dirty UCOMIS_DIRTY = "ucomis_dirty" needs [Avx],
    }
}
