//! Counters that can be waited for as files (eventfd(2)).

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// A counter at 0: writing eight bytes adds a number, reading eight waits until it is not 0, answers
/// it and sets it to 0 again.
pub fn counter() -> io::Result<File> {
    // SAFETY: takes no pointer.
    let number = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it, and nobody else knows its number.
    let owned = unsafe { OwnedFd::from_raw_fd(number) };
    Ok(File::from(owned))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    #[test]
    fn numbers_are_added() {
        let counter = super::counter().unwrap();
        for number in [2u64, 5] {
            (&counter).write_all(&number.to_ne_bytes()).unwrap();
        }
        let mut bytes = [0; 8];
        (&counter).read_exact(&mut bytes).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 7);
    }
}
