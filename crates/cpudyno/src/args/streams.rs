//! Arguments of `cpudyno streams`.

use clap::Args;

use super::PresentationArgs;

/// List the instruction streams: what each executes, what it needs, how many ops an iteration has.
#[derive(Debug, Args)]
pub(crate) struct StreamsArgs {
    #[command(flatten)]
    pub(crate) look: PresentationArgs,
}
