//! Arguments of `cpudyno info`.

use clap::Args;

use super::Look;

/// Print what the machine says of itself: CPU, topology, caches, memory, frequencies, idle states.
///
/// Nothing is measured and nothing is changed. As root more is known: registers need it.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub(crate) look: Look,
}
