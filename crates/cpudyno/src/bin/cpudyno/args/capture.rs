//! Arguments of `cpudyno capture`.

use std::path::PathBuf;

use clap::Args;

/// Save what a machine answers, to examine it elsewhere.
///
/// The file holds what `info` and `doctor` read: files of the kernel, CPUID, registers, and what may be opened.
/// With root it holds more, such as the registers of Speed Select. Host names, serial numbers, user names and
/// addresses are left out. It is a text: look at it before you pass it on.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CaptureArgs {
    /// File to write; `-` prints it.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno capture my.capture             this machine
  sudo cpudyno capture my.capture        the same with registers
  cpudyno info --machine my.capture      what `info` shows of it, on any machine
  cpudyno doctor --machine my.capture    what could be measured there
  cpudyno sst --machine my.capture       its Speed Select: Sierra Forest, Granite Rapids or later";
