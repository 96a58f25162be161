//! Reading the area's series back out of a record.

use model::record::{Record, Series};
use model::stats::BLOCKS_FOR_INTERVAL;

use super::AREA;
pub(super) use crate::cells::Cell;
use crate::cells::cells;

/// A cell is a team: a runtime with a setting on one set of CPUs.
impl<'a> Cell<'a> {
    /// How its threads wait.
    pub(super) fn setting(&self) -> &'a str {
        self.text("setting").unwrap_or("-")
    }

    /// How many threads it has, and on cores of which type, where the machine has several: `4 E`.
    pub(super) fn crew(&self) -> String {
        let kind = self.text("core_type").map_or(String::new(), |kind| format!(" {kind}"));
        format!("{}{kind}", self.active.len())
    }

    /// Whether nobody said how its threads wait.
    pub(super) fn is_default(&self) -> bool {
        self.setting() == "default"
    }

    /// The blocks of that quantity; of several classes of placement the fewest.
    pub(super) fn blocks(&self, quantity: &str) -> Option<u64> {
        self.all(quantity).filter_map(|series| Some(series.summary()?.blocks)).min()
    }

    /// Whether there are blocks enough for an interval.
    pub(super) fn is_known(&self, quantity: &str) -> bool {
        self.blocks(quantity).is_some_and(|blocks| blocks >= BLOCKS_FOR_INTERVAL as u64)
    }

    /// The sum of all samples of that quantity.
    pub(super) fn sum(&self, quantity: &str) -> Option<f64> {
        let of = self.all(quantity).filter_map(|series| Some(series.samples()?.all()));
        let all: Vec<f64> = of.flatten().collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }
}

/// The teams of a record, in its order, those with default settings before others of their library.
pub(super) fn teams(record: &Record) -> Vec<Cell<'_>> {
    let measured = |series: &Series| series.area == AREA && series.summary().is_some();
    let mut teams = cells(record, measured);
    for library in teams.chunk_by_mut(|a, b| {
        (a.workload, a.active.len(), a.text("library"))
            == (b.workload, b.active.len(), b.text("library"))
    }) {
        library.sort_by_key(|team| !team.is_default());
    }
    teams
}

/// Those that are active on the most CPUs.
pub(super) fn widest<'a, 'b>(teams: &'b [Cell<'a>]) -> Vec<&'b Cell<'a>> {
    let most = teams.iter().map(|team| team.active.len()).max();
    teams.iter().filter(|team| Some(team.active.len()) == most).collect()
}

/// Those of one library, on the most CPUs, library by library.
pub(super) fn libraries<'a, 'b>(teams: &'b [Cell<'a>]) -> Vec<Vec<&'b Cell<'a>>> {
    let mut libraries: Vec<Vec<&Cell<'_>>> = Vec::new();
    for team in widest(teams).into_iter().filter(|team| team.text("library").is_some()) {
        let same = |known: &&mut Vec<&Cell<'_>>| {
            known[0].workload == team.workload && known[0].text("library") == team.text("library")
        };
        match libraries.iter_mut().find(same) {
            Some(known) => known.push(team),
            None => libraries.push(vec![team]),
        }
    }
    libraries
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, near, series};

    #[test]
    fn teams_are_told_on_most_cpus_and_the_default_of_a_library_first() {
        let mut record = blank();
        let mut put = |quantity: &str, active: &str, setting: &str, blocks: &[&[f64]]| {
            let parameters = [("library", "libgomp.so.1"), ("setting", setting)];
            record.series.push(series([AREA, "libgomp", quantity], active, &parameters, blocks));
        };
        put("loop_time", "0-1", "default", &[&[1e-6]]);
        put("loop_time", "0-3", "passive", &[&[2e-6][..]; 5]);
        put("loop_time", "0-3", "default", &[&[3e-6][..]; 4]);
        put("loop_regions", "0-3", "passive", &[&[100.0], &[120.0], &[80.0]]);
        let teams = teams(&record);
        let libraries = libraries(&teams);
        let settings: Vec<&str> = libraries[0].iter().map(|team| team.setting()).collect();
        assert_eq!((libraries.len(), settings), (1, vec!["default", "passive"]));
        let [default, passive] = libraries[0].as_slice() else { panic!("two") };
        // 100 + 120 + 80 regions; five blocks have an interval, four have none.
        near(passive.sum("loop_regions").unwrap(), 300.0);
        assert_eq!([passive.blocks("loop_time"), default.blocks("loop_time")], [Some(5), Some(4)]);
        assert_eq!([passive, default].map(|team| team.is_known("loop_time")), [true, false]);
        assert_eq!(default.sum("loop_regions"), None);
    }
}
