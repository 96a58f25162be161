//! The permission to use the tiles of AMX.

use std::io;

/// Asks the kernel to let this process use tiles (arch_prctl(2), `ARCH_REQ_XCOMP_PERM`).
///
/// It holds for all threads, those that are there and those to come, for as long as the process
/// lives; a program that is executed in its place asks anew. From then on the state of a thread is
/// larger by 8 KiB, and the kernel refuses alternate signal stacks that are too small for it.
///
/// # Errors
///
/// `EOPNOTSUPP` where CPU or kernel have no tiles, `EINVAL` before Linux 5.16, which does not know
/// the question, `ENOSPC` where a thread has an alternate signal stack that is too small.
///
/// # Source
///
/// The kernel's `Documentation/arch/x86/xstate.rst`.
#[cfg(target_arch = "x86_64")]
pub fn request() -> io::Result<()> {
    const ARCH_REQ_XCOMP_PERM: libc::c_int = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_ulong = 18;
    // SAFETY: it takes two numbers, and touches no memory of this process.
    let done =
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) };
    if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// There are no such tiles on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn request() -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

#[cfg(test)]
mod tests {
    use crate::cpuid;

    #[test]
    fn tiles_are_granted_where_the_kernel_saves_them() {
        const TILES: u64 = 0b11 << 17;
        let saved = cpuid::xcr0().is_some_and(|enabled| enabled & TILES == TILES);
        match super::request() {
            Ok(()) => assert!(saved),
            // A sandbox may refuse what the kernel would grant; then there is a reason.
            Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
        }
    }
}
