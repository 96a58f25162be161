//! Arguments of `cpudyno streams`.

use clap::Args;

use super::PresentationArgs;

/// List the instruction streams.
///
/// The page shows what each executes, what it needs, and its ops per iteration.
#[derive(Debug, Args)]
pub(crate) struct StreamsArgs {
    #[command(flatten)]
    pub(crate) look: PresentationArgs,
}
