//! How bytes are counted on a page. The record holds what the program asks for.

use model::record::{ByteCount, ByteUnit, Record, Topology};

use super::read::{Cell, Measured, idle, in_order};
use super::working_set::{self, Extent};

/// The words for the bytes that the program asks for.
pub(super) const AS_ASKED: &str = "as asked";
/// The words for those and the lines that ordinary stores bring in.
pub(super) const WITH_WRITE_ALLOCATE: &str = "with write-allocate";

/// Of what was measured others may have moved so much, where it stands for what a cell moves.
pub(super) const OTHERS_SHARE_MAX: f64 = 0.02;

/// Which bytes count in the headline, and their unit; and what caches there are, because within them no
/// line is brought in from memory.
#[derive(Clone, Copy)]
pub(super) struct Counting<'a> {
    bytes: ByteCount,
    topology: &'a Topology,
    /// What others move.
    idle: Option<Measured>,
}

impl<'a> Counting<'a> {
    /// As the run was asked to.
    pub(super) fn of(record: &'a Record) -> Counting<'a> {
        let bytes = record.run.plan.bytes.unwrap_or(ByteCount::USUAL);
        Counting { bytes, topology: &record.machine.topology, idle: idle(record) }
    }

    /// The same unit, with the bytes that the program asks for.
    pub(super) fn as_asked(self) -> Counting<'a> {
        Counting { bytes: ByteCount { write_allocate: false, ..self.bytes }, ..self }
    }

    /// What the arrays of a cell pass through.
    pub(super) fn extent(self, cell: &Cell<'_>) -> Option<Extent> {
        working_set::of_arrays(self.topology, cell)
    }

    /// What those of several cells pass through, each once.
    pub(super) fn extents<'b, 'c: 'b>(
        self,
        cells: impl IntoIterator<Item = &'b Cell<'c>>,
    ) -> Vec<Extent> {
        in_order(cells.into_iter().filter_map(|cell| self.extent(cell)))
    }

    /// The unit.
    pub(super) fn unit(self) -> &'static str {
        self.bytes.unit.symbol().0
    }

    /// Bytes per second in the unit.
    pub(super) fn in_unit(self, bytes_per_second: f64) -> f64 {
        bytes_per_second / self.bytes.unit.symbol().1
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
        match self.bytes.unit {
            ByteUnit::Mega | ByteUnit::Giga => ByteUnit::Giga,
            ByteUnit::Mebi | ByteUnit::Gibi => ByteUnit::Gibi,
        }
    }

    /// Rounded, without the unit: to 0.1 MB/s as the originals print it, or 0.01 GB/s.
    pub(super) fn text(self, bytes_per_second: f64) -> String {
        let value = self.in_unit(bytes_per_second);
        match self.bytes.unit {
            ByteUnit::Mega | ByteUnit::Mebi => format!("{value:.1}"),
            ByteUnit::Giga | ByteUnit::Gibi => format!("{value:.2}"),
        }
    }

    /// What the program asked for, with the unit.
    pub(super) fn words_of(self, asked: f64) -> String {
        format!("{} {} {AS_ASKED}", self.text(asked), self.unit())
    }

    /// Whether lines that ordinary stores bring into the cache first are in the headline.
    pub(super) fn write_allocate(self) -> bool {
        self.bytes.write_allocate
    }

    /// The words for the headline's counting of these cells.
    pub(super) fn words<'b, 'c: 'b>(
        self,
        cells: impl IntoIterator<Item = &'b Cell<'c>>,
    ) -> &'static str {
        let extents = self.extents(cells);
        let within = extents.iter().filter(|extent| extent.is_within()).count();
        match within {
            _ if !self.write_allocate() => AS_ASKED,
            0 => WITH_WRITE_ALLOCATE,
            all if all == extents.len() => "as asked: within caches no line is brought in",
            _ => "with write-allocate, within caches as asked",
        }
    }

    /// What the headline says where the program asked for so much: with write-allocate where that is
    /// wanted; none where it is not known.
    pub(super) fn headline(self, cell: &Cell<'_>, asked: f64) -> Option<f64> {
        if self.write_allocate() { Some(asked * self.moved_per_asked(cell)?) } else { Some(asked) }
    }

    /// Bytes that must be moved for each byte that the program asks for: within caches no line is
    /// brought in from memory. Where the CPU chooses and does not tell, what the memory controllers
    /// counted; none where they did not, or where others may have moved a part of it.
    pub(super) fn moved_per_asked(self, cell: &Cell<'_>) -> Option<f64> {
        if self.extent(cell).is_some_and(|extent| extent.is_within()) {
            return Some(1.0);
        }
        let measured = || cell.measured_per_asked().filter(|_| self.is_own(cell));
        Self::told(cell).or_else(|| Some(measured()?.bytes()))
    }

    /// Whether what the memory controllers counted is the cell's own: what others move while nobody
    /// measures is next to nothing of it.
    fn is_own(self, cell: &Cell<'_>) -> bool {
        let (Some(measured), Some(idle)) = (cell.measured(), self.idle) else { return false };
        let beyond = cell.numbers("measured_beyond").map_or(0.0, |beyond| beyond.median);
        idle.bytes() * (1.0 + beyond) <= OTHERS_SHARE_MAX * measured.bytes()
    }

    /// The same where it follows from the instructions; none where the CPU chooses.
    pub(super) fn told(cell: &Cell<'_>) -> Option<f64> {
        let (moved, asked) = cell.text("moved_per_asked")?.split_once('/')?;
        let (moved, asked): (f64, f64) = (moved.parse().ok()?, asked.parse().ok()?);
        (moved > 0.0 && asked > 0.0).then_some(moved / asked)
    }

    /// What was measured of these cells and is in no headline, in words.
    pub(super) fn left_out<'b, 'c: 'b>(
        self,
        cells: impl IntoIterator<Item = &'b Cell<'c>>,
        quantity: &str,
    ) -> Option<String> {
        let untold = |cell: &&Cell<'_>| {
            let asked = cell.main_median(quantity);
            asked.is_some_and(|asked| self.headline(cell, asked).is_none())
        };
        let untold = cells.into_iter().filter(untold);
        let named = untold.map(|cell| match cell.text("variant") {
            Some(variant) => format!("{} ({variant})", cell.workload),
            None => cell.workload.to_owned(),
        });
        let named = in_order(named);
        (!named.is_empty()).then(|| {
            format!(
                "left out: {}, because the CPU chooses how it stores, and how much it moves with \
                 write-allocate was not measured well enough",
                named.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use model::areas::memory::{AREA, QUESTION};

    use super::super::read::cells;
    use super::*;
    use crate::testing::{blank, cache, near, series};

    /// A record of one kernel that asks for these bytes a second, with one sample of each further quantity.
    fn of_kernel(parameters: &[(&str, &str)], asked: f64, more: &[(&str, f64)]) -> Record {
        let parameters = [&[(QUESTION, "bandwidth")], parameters].concat();
        let mut record = blank();
        let of = |(quantity, value): &(&str, f64)| {
            series([AREA, "triad", quantity], "0", &parameters, &[&[*value]])
        };
        record.series = [("bandwidth", asked)].iter().chain(more).map(of).collect();
        record
    }

    fn headline(record: &Record) -> Option<f64> {
        let cell = &cells(record, "bandwidth")[0];
        Counting::of(record).headline(cell, cell.main_median("bandwidth")?)
    }

    #[test]
    fn triad_with_write_allocate_moves_four_bytes_for_three() {
        let mut record = of_kernel(&[("moved_per_asked", "4/3")], 90e9, &[]);
        near(headline(&record).unwrap(), 120e9);
        record.run.plan.bytes = Some(ByteCount { write_allocate: false, ..ByteCount::USUAL });
        near(headline(&record).unwrap(), 90e9);
        for unclear in ["0/3", "4/0", "4", "x/3"] {
            let record = of_kernel(&[("moved_per_asked", unclear)], 90e9, &[]);
            assert_eq!(headline(&record), None, "{unclear}");
        }
    }

    #[test]
    fn arrays_that_a_cache_holds_move_what_is_asked_for() {
        // Two arrays of 512 KiB: of a cache of 1 MiB they leave nothing.
        let parameters =
            [("moved_per_asked", "3/2"), ("elements", "65536"), ("footprint", "1048576")];
        let mut record = of_kernel(&parameters, 40e9, &[]);
        cache(&mut record, 2, 1 << 20, &["0"]);
        near(headline(&record).unwrap(), 40e9);
        record.machine.topology.caches[0].bytes = Some((1 << 20) - 1);
        near(headline(&record).unwrap(), 60e9);
    }

    #[test]
    fn controllers_count_for_a_kernel_that_tells_nothing_while_others_move_a_fiftieth() {
        let with_idle = |idle_read: f64, beyond: f64| {
            let mut record = of_kernel(
                &[],
                100e9,
                &[
                    ("measured_read", 100e9),
                    ("measured_write", 50e9),
                    ("measured_read_per_asked", 1.0),
                    ("measured_write_per_asked", 0.5),
                    ("measured_beyond", beyond),
                ],
            );
            for (quantity, bytes) in [("idle_read", idle_read), ("idle_write", 1e9)] {
                record.series.push(series(["rig", "nothing", quantity], "0", &[], &[&[bytes]]));
            }
            headline(&record)
        };
        // 150 GB/s are measured, of which 2 % are 3 GB/s: 1.9 + 1 are less, 2.1 + 1 more.
        near(with_idle(1.9e9, 0.0).unwrap(), 150e9);
        assert_eq!(with_idle(2.1e9, 0.0), None);
        // Readings that lie 5 % farther apart see 5 % more of the others: 2.9 become 3.045.
        assert_eq!(with_idle(1.9e9, 0.05), None);
    }

    #[test]
    fn units_of_bytes_are_powers_of_ten_or_of_two() {
        let mut record = blank();
        let three_gib = 3.0 * 1_073_741_824.0;
        for (unit, own, giga) in [
            (ByteUnit::Mega, 3_221.225_472, 3.221_225_472),
            (ByteUnit::Giga, 3.221_225_472, 3.221_225_472),
            (ByteUnit::Mebi, 3072.0, 3.0),
            (ByteUnit::Gibi, 3.0, 3.0),
        ] {
            record.run.plan.bytes = Some(ByteCount { unit, ..ByteCount::USUAL });
            let counting = Counting::of(&record);
            near(counting.in_unit(three_gib), own);
            near(counting.in_giga(three_gib), giga);
        }
    }
}
