//! Threads that sleep until a number changes: futex(2) on a number of this process alone.

use std::sync::atomic::AtomicU32;

/// Sleeps until [`unpark_all`] is called on that number; not at all where it is another one than this.
/// It may wake up without a reason, too.
pub fn park(number: &AtomicU32, expected: u32) {
    const OPERATION: libc::c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let none = std::ptr::null::<libc::timespec>();
    // SAFETY: the kernel reads four bytes at an address that lives as long as the call; there is no
    // time limit. Whatever it answers, the caller looks at the number again.
    unsafe { libc::syscall(libc::SYS_futex, number.as_ptr(), OPERATION, expected, none) };
}

/// Wakes everybody who sleeps on that number.
pub fn unpark_all(number: &AtomicU32) {
    const OPERATION: libc::c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the address is a name for the kernel, which does not touch what is there.
    unsafe { libc::syscall(libc::SYS_futex, number.as_ptr(), OPERATION, libc::c_int::MAX) };
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;

    #[test]
    fn who_sleeps_is_woken() {
        let number = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                while number.load(SeqCst) == 0 {
                    park(&number, 0);
                }
            });
            number.store(1, SeqCst);
            unpark_all(&number);
            sleeper.join().unwrap();
        });
    }

    #[test]
    fn nobody_sleeps_on_another_number() {
        park(&AtomicU32::new(1), 0);
    }
}
