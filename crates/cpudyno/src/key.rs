//! Which machine this is by behaviour, and whether it is as it was: what to ask before numbers of two runs are compared.
//!
//! ```
//! use cpudyno::Seconds;
//! use cpudyno::key::{TakenKey, Verdict};
//!
//! let before = TakenKey::builder().on("sim:4c").budget(Seconds(1.0)).run()?;
//! let after = TakenKey::builder().on("sim:4c").budget(Seconds(1.0)).run()?;
//! assert_eq!(after.beside(&before.key()).verdict, Verdict::Yes);
//! # Ok::<(), cpudyno::Error>(())
//! ```

pub use fleet::key::{KeyComparison as Comparison, KeyVerdict as Verdict};
pub use model::record::{KeyNumber, KeyPair, MachineKey, PairClass};
use model::record::{Presentation, Record};

use crate::Error;
use crate::builder::{RunExtent, answers};

/// The key of this machine, in about three seconds.
///
/// # Errors
/// See [`Builder::run`](crate::Builder::run).
pub fn key() -> Result<TakenKey, Error> {
    TakenKey::builder().run()
}

/// A measured key.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenKey {
    record: Record,
}

impl TakenKey {
    fn of_record(record: Record) -> TakenKey {
        TakenKey { record }
    }

    /// The key itself: what is kept, and written as JSON.
    pub fn key(&self) -> MachineKey {
        fleet::key::of(&self.record)
    }

    /// This one held against an earlier one.
    pub fn beside(&self, earlier: &MachineKey) -> Comparison {
        fleet::key::compare(earlier, &self.key())
    }
}

answers! {
    TakenKey of () as "key::TakenKey", Key, (), request;
}

fn request(
    (): (),
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    measure::key::request(budget.unwrap_or(measure::key::TIME), cpus, command, presentation)
}
