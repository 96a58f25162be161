//! How long one core takes to tell another one something, pair by pair.
//!
//! A line that two cores write travels between their caches; how far depends on who shares what with
//! whom, and on where the line is at home. One line says little: what it costs depends on the slice or
//! agent that its address belongs to, so that each pair has many.

mod matrix;
mod messages;
mod pairs;
mod request;
mod tell;

pub use matrix::{MatrixError, is_matrix, of_matrix};
pub use messages::{MESSAGES, Message};
pub use request::{CoresOptions, Home};

use model::areas::cores::{AREA, LATENCY, QUANTITIES};
use model::{CpuId, Unavailable};

use crate::run::area::{Area, Names};
use crate::run::plan::{Planning, Proposal};
use rig::collect::{Take, Taken};
use rig::executor::{Executor, RunError};
use tell::MessageJob;

/// Seconds from one CPU to the other on each line, by that message: one block, for comparisons with other
/// programs.
pub fn block(
    executor: &mut dyn Executor,
    message: &'static Message,
    pair: [CpuId; 2],
) -> Result<Result<Vec<f64>, Unavailable>, RunError> {
    let (is_probed, is_simulated) = (false, false);
    let tell = MessageJob { order: 0, message, pair, home: None, is_probed, is_simulated };
    let mut run = tell.block(executor)?;
    Ok(run.readings.remove(LATENCY).unwrap_or_else(|| Ok(Vec::new())))
}

/// The area.
pub static CORES: Area = Area { taken, names, ..Area::new(AREA, QUANTITIES, 1.0, proposal) };

fn taken(quantity: &str) -> Taken {
    match quantity {
        LATENCY => Taken::by(Take::Named).always(),
        _ => Taken::NAMED,
    }
}

fn names() -> Names {
    let workloads = MESSAGES.iter().map(|message| message.id).collect();
    Names { workloads, ..Names::default() }
}

fn proposal(plan: &Planning<'_>) -> Proposal {
    request::in_brief(plan)
}

/// What the key of a machine asks.
pub(crate) fn in_key(plan: &Planning<'_>) -> Proposal {
    request::in_key(plan)
}
