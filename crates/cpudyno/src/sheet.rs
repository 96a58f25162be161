//! The data sheet: a little of everything, within a given time.

use model::Seconds;
use model::record::{Presentation, Record};

use crate::Error;
use crate::builder::{RunExtent, answers};

/// All areas within about so long.
///
/// # Errors
/// See [`Builder::run`](crate::Builder::run).
pub fn measure(budget: Seconds) -> Result<Sheet, Error> {
    Sheet::builder().budget(budget).run()
}

/// A data sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    record: Record,
}

impl Sheet {
    fn of_record(record: Record) -> Sheet {
        Sheet { record }
    }
}

answers! {
    Sheet of () as "sheet::Sheet", Sheet, (), request;
}

fn request(
    (): (),
    RunExtent { cpus, budget }: RunExtent,
    command: Vec<String>,
    presentation: Presentation,
) -> measure::run::Request {
    const TIME: Seconds = Seconds(10.0);
    measure::sheet::request(budget.unwrap_or(TIME), cpus, None, command, presentation)
}
