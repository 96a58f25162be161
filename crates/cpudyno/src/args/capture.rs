//! Arguments of `cpudyno capture`.

use std::path::PathBuf;

use clap::Args;

/// Write what this machine answers to a text file, so that it can be looked at elsewhere.
///
/// The file holds what `info` and `doctor` read: files of the kernel, CPUID, registers, what may be
/// opened. As root it holds more, the registers of Speed Select among it. Host names, serial numbers, user names and addresses are left
/// out; it is a text, so look at it before you pass it on.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CaptureArgs {
    /// The file to write; `-` prints it.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno capture my.capture             what this machine answers
  sudo cpudyno capture my.capture        the same with registers
  cpudyno info --machine my.capture      what `info` says of it, on any machine
  cpudyno doctor --machine my.capture    what could be measured there
  cpudyno sst --machine my.capture       its Speed Select, of Sierra Forest, Granite Rapids or later";
