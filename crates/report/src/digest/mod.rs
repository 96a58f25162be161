//! What others are held against, out of a record: what the machine says of itself in words, and each result.
//!
//! It stands at the beginning of every record of measurements, so that whoever compares many reads no further. Of
//! older records it is made when they are read.

mod facts;
mod results;

use std::borrow::Cow;

use model::record::{Digest, DigestRun, Record};

pub(crate) use self::facts::{AFTER, speed_select};

/// The digest of a record.
pub fn of(record: &Record) -> Digest {
    let run = &record.run;
    let places = &record.machine.topology.cpus;
    let mut cores: Vec<(u32, u32)> = places.iter().map(|p| (p.package, p.core)).collect();
    cores.sort_unstable();
    cores.dedup();
    Digest {
        tool: record.tool.clone(),
        run: DigestRun {
            id: run.id.clone(),
            started: run.started.clone(),
            simulated: run.simulated.clone(),
            elsewhere: run.elsewhere.clone(),
            interrupted: run.interrupted.clone(),
        },
        packages: cores.chunk_by(|a, b| a.0 == b.0).count(),
        cores: cores.len(),
        facts: facts::of(record),
        results: results::of(record),
    }
}

/// The digest that a record has, or that is made of it.
pub(crate) fn at_hand(record: &Record) -> Cow<'_, Digest> {
    record.digest.as_ref().map_or_else(|| Cow::Owned(of(record)), Cow::Borrowed)
}
