//! Arguments of `cpudyno streams`.

use clap::Args;

use super::PresentationArgs;

/// List the instruction streams.
///
/// The page shows what each executes, what it needs, and its ops per iteration.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct StreamsArgs {
    #[command(flatten)]
    pub(crate) look: PresentationArgs,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno streams                      all of them
  cpudyno turbo --test avx256_fma_t    one of them, on one core and on more";
