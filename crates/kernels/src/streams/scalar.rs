//! Streams that leave the vector units alone.

stream! {
    /// Hints that this is a spin loop, back to back (`isb` on AArch64). They give power and
    /// execution slots away, so this is the lightest load that still keeps a CPU from idling. Each
    /// hint is counted; how long one lasts differs by an order of magnitude between CPUs.
    title: "spin-wait hints",
    kind: Spin, chains: 1, ops: 10,
    op: Count "pause" ("isb" on aarch64),
    rows: { none PAUSE_ONLY = "pause_only" needs [] alias "pause" }
}

stream! {
    /// Dependent additions in a general purpose register: each waits for the one before it. One
    /// cycle each on nearly every CPU, so its rate is close to the clock where the core is alone.
    title: "integer adds, serial",
    kind: Latency, chains: 1, ops: 100,
    op: Sum "add",
    rows: { gpr SCALAR_IADD = "scalar_iadd" needs [] }
}
