//! Work that needs a process of its own, because something in it is settled once and for all.
//!
//! The parent starts a program with an environment, writes one line of JSON to its standard input and
//! reads one from its standard output ([`ask`]); the program hands the line to [`answer`]. A child that
//! crashes, hangs or talks nonsense is a [`Failed`], and never takes its parent along.

mod ask;
mod measure;
mod own;
mod team;

pub use ask::{Answered, Failed, ask};

use model::CpuId;
use serde::{Deserialize, Serialize};
use sys::openmp::{Interface, NotLoaded, Runtime};

use crate::regions::{Effort, RawRegions, Team};

/// What a child is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The process that asks; when it ends, the child does.
    pub parent: u32,
    /// What for.
    pub work: ChildWork,
}

/// What a child shall do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildWork {
    /// Say what this library is.
    Look(String),
    /// Go through parallel regions.
    Regions {
        /// Whose.
        team: Team,
        /// On which CPUs.
        cpus: Vec<CpuId>,
        /// What, and for how long.
        effort: Effort,
    },
}

/// What a child answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildAnswer {
    /// What a library is.
    Library(RuntimeInfo),
    /// What a team saw.
    Regions(RawRegions),
    /// There is nothing of that name.
    NotFound(String),
    /// Why it cannot be done.
    Cannot(String),
}

/// A runtime as it shows itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeInfo {
    /// The file, without links on the way to it.
    pub path: String,
    /// Whether it is called as Clang calls.
    pub kmpc: bool,
    /// Threads of a region.
    pub threads_max: u32,
    /// How long its threads spin, in milliseconds, where it says so.
    pub block_time_ms: Option<u32>,
}

/// Does what one line asks for, and answers with another one.
pub fn answer(line: &str) -> String {
    let answer = match serde_json::from_str::<Order>(line) {
        Ok(order) => of_order(&order).unwrap_or_else(ChildAnswer::Cannot),
        Err(error) => ChildAnswer::Cannot(format!("cannot read the order: {error}")),
    };
    serde_json::to_string(&answer).expect("BUG: an answer is strings, numbers and lists") + "\n"
}

fn of_order(order: &Order) -> Result<ChildAnswer, String> {
    match sys::process::die_with(order.parent) {
        Ok(true) => {}
        Ok(false) => return Err("the parent process has ended".to_owned()),
        Err(error) => return Err(format!("cannot ask to end with the parent: {error}")),
    }
    match &order.work {
        ChildWork::Look(library) => Ok(look(library)),
        ChildWork::Regions { team, cpus, effort } => {
            team::Team::new(team, cpus)?.measure(cpus.len(), effort).map(ChildAnswer::Regions)
        }
    }
}

fn look(library: &str) -> ChildAnswer {
    match Runtime::load(library) {
        Ok(runtime) => ChildAnswer::Library(RuntimeInfo {
            path: runtime.path().to_string_lossy().into_owned(),
            kmpc: runtime.interface() == Interface::Kmpc,
            threads_max: runtime.threads_max(),
            block_time_ms: runtime.block_time(),
        }),
        Err(NotLoaded::Refused(why)) => ChildAnswer::NotFound(why),
        Err(NotLoaded::NoRuntime) => {
            ChildAnswer::Cannot("the library has no OpenMP interface".to_owned())
        }
    }
}
