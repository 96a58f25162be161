//! Machines recorded as a text: one file per machine, made by `cpudyno capture`.
//!
//! A capture holds what the ports answered: files, CPUID, registers, what may be opened. It is made
//! to be read by people: equal answers of CPUs stand in one line, the order is always the same, and
//! what is refused stands there with its reason. `docs/reference/capture.md` describes the format.
//!
//! What may enter is decided in two tables, `walked.rs` for files and `registers.rs` for registers;
//! nothing else is read. Values that could name a person or one particular machine are cut down in
//! `scrub.rs` (invariant I10).
//!
//! A replayed machine answers as the captured one did. What was looked for and was not there is
//! absent; what this version would look for and the capture does not hold is *not captured*, which
//! is another reason.

#![forbid(unsafe_code)]

mod captured_paths;
mod cpuid;
mod error;
mod folded;
mod numbers;
mod parse;
mod registers;
mod replay;
mod scrub;
mod text;
mod write;

use std::path::Path;

use machine::{Machine, dir};

pub use self::error::Error;
pub use self::parse::parse;
pub use self::write::capture;

/// The first line of every capture: the format and its version.
const FIRST_LINE: &str = "cpudyno-capture 1";

/// The last line, without which a capture was cut off.
const END: &str = "[end]";

/// The longest capture that is read.
const CAPTURE_BYTES_MAX: u64 = dir::TEXT_BYTES_MAX;

/// The machine of that name: `sim:2s-56c` is simulated, everything else is the file of a capture.
pub fn named(name: &str) -> Result<Machine, Error> {
    if name.starts_with("sim:") { Ok(Machine::named(name)?) } else { open(Path::new(name)) }
}

/// The machine of a capture.
pub fn open(path: &Path) -> Result<Machine, Error> {
    let name = path.display().to_string();
    let bytes = dir::contents(path).map_err(|error| Error::Unread {
        suggestion: model::name::did_you_mean(&name, simulated::names()),
        why: sys::errno::words(&error),
        name: name.clone(),
    })?;
    parse(&name, &String::from_utf8_lossy(&bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_that_are_no_file_are_said() {
        let missing = super::named("spr.capture").err().unwrap().to_string();
        assert!(
            missing.starts_with("cannot read machine `spr.capture`: there is no such file"),
            "{missing}"
        );
    }
}
