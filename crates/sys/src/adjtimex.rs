//! What NTP has learnt about the kernel's clock.

/// The state of the kernel's clock discipline (adjtimex(2)), read only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Discipline {
    /// Whether a time daemon keeps it synchronised (`STA_UNSYNC` is clear).
    pub synchronised: bool,
    /// The correction that is applied to the hardware clock, in parts per million.
    pub frequency_ppm: f64,
    /// The tick length in microseconds times `USER_HZ`; 10,000 is nominal, others correct further.
    pub tick: i64,
}

/// Reads the state. Some sandboxes forbid the call even for reading.
pub fn read() -> std::io::Result<Discipline> {
    // SAFETY: `timex` consists of integers only, for which zero is a value; `modes` 0 only reads.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `timex`, which lives on this stack.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(Discipline {
        synchronised: timex.status & libc::STA_UNSYNC == 0,
        // The kernel counts in units of 2^-16 ppm (adjtimex(2)).
        frequency_ppm: timex.freq as f64 / 65_536.0,
        tick: timex.tick,
    })
}
