//! Results of a kind of machines, as marks along an axis.

use std::collections::{BTreeMap, BTreeSet};

use model::page::{StripMark, StripPlot, StripRow, tally};
use model::stats::paired::Better;
use model::stats::quantile_sorted;

use super::kind::KindOfHost;
use super::sorts::SortedResult;
use super::{HostGroup, named, page, worded};

/// More rows than these are no picture.
const ROWS_MAX: usize = 12;

/// So many of the usual machines' marks fill a row: those of a place are one.
const PLACES: f64 = 240.0;

impl KindOfHost<'_> {
    /// The results in which groups of this kind are worst; `None` where there are no groups.
    pub(super) fn strips(
        &self,
        place: usize,
        suspects: &[HostGroup],
        modes: &[HostGroup],
    ) -> Option<StripPlot> {
        let of_kind = |group: &&HostGroup| group.kind == place;
        let groups = suspects.iter().chain(modes).filter(of_kind);
        let mut shown: Vec<&SortedResult> = Vec::new();
        for deviation in groups.filter_map(|group| group.results.first()) {
            let is_it = |it: &&SortedResult| *self.column(it.result) == deviation.column;
            let is_new = |it: &&SortedResult| shown.iter().all(|known| known.result != it.result);
            shown.extend(self.results.iter().find(is_it).filter(is_new));
        }
        shown.truncate(ROWS_MAX);
        let rows: Vec<StripRow> = shown.into_iter().map(|it| self.row(it, suspects)).collect();
        let caption =
            format!("Kind {}: each machine over the median, suspects named", page::letter(place));
        (!rows.is_empty()).then_some(StripPlot { caption, rows })
    }

    fn row(&self, result: &SortedResult, suspects: &[HostGroup]) -> StripRow {
        let column = self.column(result.result);
        let each = suspects.iter().flat_map(|group| &group.each);
        let of_it = each.filter(|it| it.deviation.column == *column);
        let bad: BTreeSet<&str> = of_it.map(|it| it.host.as_str()).collect();
        let usual = quantile_sorted(&result.values, 0.5);
        let [least, most] = [0, result.values.len() - 1].map(|at| result.values[at]);
        let number = |value: f64| worded(value, column.unit);
        let mut marks = Vec::new();
        let mut places: BTreeMap<i64, (usize, f64)> = BTreeMap::new();
        for (host, value) in result.cells(0..result.values.len()) {
            let host = self.hosts[host];
            if bad.contains(host.name.as_str()) {
                marks.push(StripMark {
                    ratio: value / usual,
                    name: format!("{}: {}", host.name, number(value)),
                    stands_out: true,
                    link: host.page.clone(),
                });
            } else {
                let place = (value - least) / (most - least).max(f64::MIN_POSITIVE) * PLACES;
                places.entry(place as i64).or_insert((0, value)).0 += 1;
            }
        }
        marks.extend(places.into_values().map(|(count, value)| StripMark {
            ratio: value / usual,
            name: format!("{}: {}", tally(count, "machine"), number(value)),
            stands_out: false,
            link: None,
        }));
        let better = match column.better {
            Some(Better::More) => ", higher is better",
            Some(Better::Less) => ", lower is better",
            None => "",
        };
        StripRow { name: format!("{}{better}", named(&column.what)), marks }
    }
}
