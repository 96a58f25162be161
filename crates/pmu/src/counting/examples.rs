//! What is at hand to be counted, on real and on simulated machines alike.

use std::hint::black_box;

use kernels::checksum::{ChecksumRow, TABLE};
use kernels::empty_loop::count_down;
use model::record::{CountedUnit, Counts};
use model::{Known, Obstacle, Reading, Unavailable};
use simulated::Model;

use super::counted_kernels::{has_room, size_in_words};
use super::session::Executable;
use super::{CountingPlan, Session, Work};

/// How much the checksums have to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// How many.
    pub number: u64,
    /// The size of each, in bytes.
    pub bytes: usize,
}

impl Packets {
    /// Those of the first demonstration of Snabb's `lib.pmu`.
    pub const USUAL: Packets = Packets { number: 100_000, bytes: 1440 };
}

/// What the measurement counts by itself, which is subtracted everywhere else.
///
/// # Error
/// Where the machine cannot count.
pub fn empty(session: &Session<'_>, plan: &CountingPlan) -> Reading<Counts> {
    session.count("empty", plan, Work::Nothing, &[])
}

/// A loop of so many iterations.
///
/// # Error
/// Where the machine cannot execute it.
pub fn counted_loop(
    session: &Session<'_>,
    plan: &CountingPlan,
    iterations: u64,
) -> Reading<Counts> {
    let units = iterations.max(1);
    let mut demonstration =
        Demonstration { id: "loop".to_owned(), calls: 1, units, run: || count_down(units) };
    let work = Work::Known(&mut demonstration);
    session.count("loop", plan, work, &[CountedUnit::new("loop", units)])
}

/// What simulated machines know by its name.
struct Demonstration<F> {
    id: String,
    calls: u64,
    units: u64,
    run: F,
}

impl<F: FnMut()> Executable for Demonstration<F> {
    fn run(&mut self) {
        (self.run)();
    }

    fn simulate(&mut self, model: &Model) -> Reading<()> {
        model.execute(&self.id, self.calls, self.units)
    }
}

/// The Internet checksum by every row of its table: what cannot be executed has its reasons in place of
/// counts.
pub fn checksums(session: &Session<'_>, plan: &CountingPlan, packets: Packets) -> Vec<Counts> {
    TABLE.iter().map(|row| checksum(session, plan, packets, row)).collect()
}

fn checksum(
    session: &Session<'_>,
    plan: &CountingPlan,
    packets: Packets,
    row: &'static ChecksumRow,
) -> Counts {
    let Some(bytes) = packets.number.checked_mul(packets.bytes as u64) else {
        let Packets { number, bytes } = packets;
        let why = format!("{number} packets of {bytes} bytes are more than can be counted");
        return without(row.id, plan, &[], &Unavailable::new(Obstacle::Cpudyno, row.id, why));
    };
    let units = [CountedUnit::new("byte", bytes), CountedUnit::new("packet", packets.number)];
    let id = format!("checksum_{}", row.id);
    let counted = session.can_execute(row).and_then(|()| {
        let packet = packet(session, row.id, packets.bytes)?;
        // What is simulated may be something that this CPU lacks.
        let checksum = row.runnable();
        let run = || {
            let Ok(checksum) = checksum else { return };
            for _ in 0..packets.number {
                black_box(checksum.of(black_box(&packet)));
            }
        };
        let mut demonstration = Demonstration { id, calls: packets.number, units: bytes, run };
        session.count(row.id, plan, Work::Known(&mut demonstration), &units)
    });
    counted.unwrap_or_else(|reason| without(row.id, plan, &units, &reason))
}

/// The bytes of a packet: what is simulated needs none.
fn packet(session: &Session<'_>, what: &str, bytes: usize) -> Reading<Vec<u8>> {
    if session.machine().simulated.is_some() {
        return Ok(Vec::new());
    }
    has_room(session.machine(), what, bytes as u64)?;
    let mut packet = Vec::new();
    packet.try_reserve_exact(bytes).map_err(|error| {
        let why = format!("no memory of {} for a packet: {error}", size_in_words(bytes as u64));
        Unavailable::new(Obstacle::Permission, what, why).with_remedy("choose less: --size 1440")
    })?;
    packet.extend((0..bytes).map(|at| at as u8));
    Ok(packet)
}

/// A table in which every event has the same reason.
pub(super) fn without(
    title: &str,
    plan: &CountingPlan,
    units: &[CountedUnit],
    reason: &Unavailable,
) -> Counts {
    let events = plan.events.iter().map(|event| model::record::EventCount {
        event: event.name.clone(),
        by: super::counted_by(event),
        unit: None,
        count: Known::No {
            unavailable: Unavailable { what: event.name.clone(), ..reason.clone() },
        },
        own: None,
        way: None,
    });
    Counts {
        title: title.to_owned(),
        units: units.to_vec(),
        events: events.collect(),
        ..Counts::default()
    }
}
