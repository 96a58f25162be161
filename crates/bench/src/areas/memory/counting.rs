//! How bytes are counted on a page. The record holds what the program asks for.

use model::record::{ByteCount, ByteUnit, Record};

use super::read::Cell;

/// Which bytes count in the headline, and their unit.
#[derive(Clone, Copy)]
pub(super) struct Counting(ByteCount);

impl Counting {
    /// As the run was asked to.
    pub(super) fn of(record: &Record) -> Counting {
        Counting(record.run.plan.bytes.unwrap_or(ByteCount::USUAL))
    }

    /// The same unit, with the bytes that the program asks for.
    pub(super) fn as_asked(self) -> Counting {
        Counting(ByteCount { write_allocate: false, ..self.0 })
    }

    /// The unit.
    pub(super) fn unit(self) -> &'static str {
        self.0.unit.symbol().0
    }

    /// Bytes per second in the unit.
    pub(super) fn in_unit(self, bytes_per_second: f64) -> f64 {
        bytes_per_second / self.0.unit.symbol().1
    }

    /// The unit of axes over caches and memory, which need few digits: 10^9 bytes or 2^30.
    pub(super) fn giga(self) -> &'static str {
        self.large().symbol().0
    }

    /// Bytes per second in that unit.
    pub(super) fn in_giga(self, bytes_per_second: f64) -> f64 {
        bytes_per_second / self.large().symbol().1
    }

    fn large(self) -> ByteUnit {
        match self.0.unit {
            ByteUnit::Mega | ByteUnit::Giga => ByteUnit::Giga,
            ByteUnit::Mebi | ByteUnit::Gibi => ByteUnit::Gibi,
        }
    }

    /// Rounded, without the unit: to 0.1 MB/s as the originals print it, or 0.01 GB/s.
    pub(super) fn text(self, bytes_per_second: f64) -> String {
        let value = self.in_unit(bytes_per_second);
        match self.0.unit {
            ByteUnit::Mega | ByteUnit::Mebi => format!("{value:.1}"),
            ByteUnit::Giga | ByteUnit::Gibi => format!("{value:.2}"),
        }
    }

    /// Whether lines that ordinary stores bring into the cache first are in the headline.
    pub(super) fn write_allocate(self) -> bool {
        self.0.write_allocate
    }

    /// The words for the headline's counting.
    pub(super) fn words(self) -> &'static str {
        if self.0.write_allocate { "with write-allocate" } else { "as asked" }
    }

    /// What the headline says where the program asked for so much: with write-allocate where that is
    /// wanted and known.
    pub(super) fn headline(self, cell: &Cell<'_>, asked: f64) -> f64 {
        let moved = moved_per_asked(cell).filter(|_| self.0.write_allocate);
        asked * moved.unwrap_or(1.0)
    }
}

/// Bytes that must be moved for each byte that the program asks for; none where the CPU chooses and
/// does not tell.
pub(super) fn moved_per_asked(cell: &Cell<'_>) -> Option<f64> {
    let (moved, asked) = cell.text("moved_per_asked")?.split_once('/')?;
    let (moved, asked): (f64, f64) = (moved.parse().ok()?, asked.parse().ok()?);
    (moved > 0.0 && asked > 0.0).then_some(moved / asked)
}
