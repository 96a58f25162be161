//! Arguments of `cpudyno cores`.

use clap::Args;
use measure::areas::cores::{Home, MESSAGES, Message};
use model::name::did_you_mean;
use model::{CpuSet, Seconds};

use super::BadValue;
use super::common::{Measuring, budget, cpu_list};

/// Measure core-to-core latency.
///
/// Two pinned threads pass a cache line to each other; half of a round trip is the latency between their
/// cores. Each pair has 64 fresh lines, because the latency of a line depends on the home of its address.
/// Both cores are warm before they count. One CPU of each core takes part. Above 128 CPUs, or where there
/// is no time for all pairs, one pair of each kind is measured, and others at random.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CoresArgs {
    /// Messages: cas, load_store, one_way; by default all, above 8 CPUs cas.
    ///
    /// cas: both threads compare and swap one line. load_store: each stores to a line of its own. one_way: from
    /// a store until the other core sees it.
    #[arg(long, value_delimiter = ',', value_parser = message, value_name = "IDS")]
    pub(crate) messages: Option<Vec<MessageWord>>,

    /// Memory node of the lines: first or second (CPU of the pair), or a number.
    #[arg(long, default_value = "first", value_parser = home, value_name = "HOME")]
    pub(crate) home: HomeWord,

    /// CPUs to use, such as 0-3,8; by default one of each core.
    #[arg(long, value_parser = cpu_list, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,

    /// Also use SMT siblings.
    #[arg(long)]
    pub(crate) allow_hyperthreads: bool,

    /// Time limit (1s to 1h); 30s by default; two CPUs need 2s.
    #[arg(long, value_parser = budget, value_name = "TIME")]
    pub(crate) budget: Option<Seconds>,

    #[command(flatten)]
    pub(crate) measuring: Measuring,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno cores                                every pair of cores
  cpudyno cores --cpus 0,1 --messages cas      one pair
  cpudyno cores --allow-hyperthreads           SMT siblings, too
  cpudyno cores --home 1                       lines of memory node 1
  cpudyno cores --machine sim:2s-56c           a server of two packages (SIMULATED)";

/// A message that was asked for.
#[derive(Clone, Copy)]
pub(crate) struct MessageWord(pub(crate) &'static Message);

impl std::fmt::Debug for MessageWord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id)
    }
}

/// Where lines are at home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HomeWord(pub(crate) Home);

fn message(id: &str) -> Result<MessageWord, BadValue> {
    let id = id.trim();
    MESSAGES.iter().find(|message| message.id == id).map(MessageWord).ok_or_else(|| {
        let ids = || MESSAGES.iter().map(|message| message.id);
        let known = ids().collect::<Vec<_>>().join(", ");
        let hint = match did_you_mean(id, ids()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("messages: {known}"),
        };
        BadValue::new("no such message", hint)
    })
}

fn home(word: &str) -> Result<HomeWord, BadValue> {
    match word {
        "first" => Ok(HomeWord(Home::First)),
        "second" => Ok(HomeWord(Home::Second)),
        number => number.parse().map(|node| HomeWord(Home::Node(node))).map_err(|_| {
            BadValue::new(
                "expected first, second, or the number of a memory node",
                "`cpudyno info` lists the nodes",
            )
        }),
    }
}
