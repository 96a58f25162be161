//! Reading the area's series back out of a record.

use std::collections::BTreeMap;

use model::CpuSet;
use model::record::{Record, Series};
use model::stats::BLOCKS_FOR_INTERVAL;

use super::AREA;

/// A runtime with a setting on one set of CPUs: the series of all its quantities.
pub(super) struct Team<'a> {
    pub(super) runtime: &'a str,
    pub(super) active: &'a CpuSet,
    parameters: &'a BTreeMap<String, String>,
    series: Vec<&'a Series>,
}

impl<'a> Team<'a> {
    /// A parameter.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// A parameter that is a whole number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// How its threads wait.
    pub(super) fn setting(&self) -> &'a str {
        self.text("setting").unwrap_or("-")
    }

    /// Whether nobody said how its threads wait.
    pub(super) fn is_default(&self) -> bool {
        self.setting() == "default"
    }

    /// The median of that quantity. Classes of placement are never pooled: of several, the one with the
    /// most samples.
    pub(super) fn median(&self, quantity: &str) -> Option<f64> {
        let count = |series: &&&Series| series.summary().map_or(0, |summary| summary.count);
        let of = self.series.iter().filter(|series| series.quantity == quantity);
        Some(of.max_by_key(count)?.summary()?.median)
    }

    /// The blocks of that quantity; of several classes of placement the fewest.
    pub(super) fn blocks(&self, quantity: &str) -> Option<u64> {
        let of = self.series.iter().filter(|series| series.quantity == quantity);
        of.filter_map(|series| Some(series.summary()?.blocks)).min()
    }

    /// Whether there are blocks enough for an interval.
    pub(super) fn is_known(&self, quantity: &str) -> bool {
        self.blocks(quantity).is_some_and(|blocks| blocks >= BLOCKS_FOR_INTERVAL as u64)
    }

    /// The sum of all samples of that quantity.
    pub(super) fn sum(&self, quantity: &str) -> Option<f64> {
        let of = self.series.iter().filter(|series| series.quantity == quantity);
        let all: Vec<f64> =
            of.filter_map(|series| Some(series.samples()?.all())).flatten().collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }
}

/// The teams of a record, in its order, those with default settings before others of their library.
pub(super) fn teams(record: &Record) -> Vec<Team<'_>> {
    let mut teams: Vec<Team<'_>> = Vec::new();
    let measured = |series: &&Series| series.area == AREA && series.summary().is_some();
    for series in record.series.iter().filter(measured) {
        let same = |team: &&mut Team<'_>| {
            team.runtime == series.workload
                && *team.active == series.active
                && *team.parameters == series.parameters
        };
        match teams.iter_mut().find(same) {
            Some(team) => team.series.push(series),
            None => teams.push(Team {
                runtime: &series.workload,
                active: &series.active,
                parameters: &series.parameters,
                series: vec![series],
            }),
        }
    }
    for library in teams.chunk_by_mut(|a, b| {
        (a.runtime, a.active.len(), a.text("library"))
            == (b.runtime, b.active.len(), b.text("library"))
    }) {
        library.sort_by_key(|team| !team.is_default());
    }
    teams
}

/// Those that are active on the most CPUs.
pub(super) fn widest<'a, 'b>(teams: &'b [Team<'a>]) -> Vec<&'b Team<'a>> {
    let most = teams.iter().map(|team| team.active.len()).max();
    teams.iter().filter(|team| Some(team.active.len()) == most).collect()
}

/// Those of one library, on the most CPUs, library by library.
pub(super) fn libraries<'a, 'b>(teams: &'b [Team<'a>]) -> Vec<Vec<&'b Team<'a>>> {
    let mut libraries: Vec<Vec<&Team<'_>>> = Vec::new();
    for team in widest(teams).into_iter().filter(|team| team.text("library").is_some()) {
        let same = |known: &&mut Vec<&Team<'_>>| {
            known[0].runtime == team.runtime && known[0].text("library") == team.text("library")
        };
        match libraries.iter_mut().find(same) {
            Some(known) => known.push(team),
            None => libraries.push(vec![team]),
        }
    }
    libraries
}
