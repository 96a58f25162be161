//! Streams of instructions that wait for a time or a cache line. Here there is nothing left to wait
//! for: time per op is the least that such a wait takes, and so the grain of a loop made of them.

stream! {
    /// TPAUSE until a time that is over: what the light sleep costs where it need not begin.
    title: "timed pauses that are over",
    kind: Spin, chains: 1, ops: 10,
    op: Count "tpause",
    rows: { timed TPAUSE = "tpause" needs [Waitpkg] }
}

stream! {
    /// UMWAIT until a time that is over, with no line monitored: what a look costs.
    title: "waits for a line that are over",
    kind: Spin, chains: 1, ops: 10,
    op: Count "umwait",
    rows: { timed UMWAIT = "umwait" needs [Waitpkg] }
}

stream! {
    /// MWAITX with no line monitored, which returns at once: what a look costs.
    title: "waits for no line",
    kind: Spin, chains: 1, ops: 10,
    op: Count "mwaitx",
    rows: { none MWAITX = "mwaitx" needs [Mwaitx] }
}
