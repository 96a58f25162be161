//! What numbers of one page say against each other: each follows from the record, and together they cannot be.

use super::levels::{Whose, sweep};
use super::record::Record;
use super::stats::bytes;

/// All of it, in words.
pub(crate) fn of(record: &Record) -> Vec<String> {
    [levels_without_points(record), unseen_but_measured(record), two_sizes(record)].concat()
}

/// The latency of a level is near that of each size on it.
fn levels_without_points(record: &Record) -> Vec<String> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let mut found = Vec::new();
    for level in &sweep.levels {
        let said = sweep.seconds(level);
        let on_it = sweep.of("chase").filter(|it| level.holds(it.whole("footprint")));
        let all: Vec<f64> = on_it.filter_map(|it| it.median("latency")).collect();
        let far = |it: &&f64| !(0.66..1.5).contains(&(**it / said));
        if let Some(far) = all.iter().find(far) {
            let [said, far] = [said, *far].map(|it| it * 1e9);
            let whose = level.whose;
            found.push(format!("{whose:?} takes {said:.1} ns, and a size on it takes {far:.1} ns"));
        }
    }
    found
}

/// A cache is called unseen, and a size that no smaller one holds has a latency between two plateaus.
fn unseen_but_measured(record: &Record) -> Vec<String> {
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let point =
        |it: &super::memory::Cell<'_>| Some((it.whole("footprint")?, it.median("latency")?));
    let points: Vec<(u64, f64)> = sweep.of("chase").filter_map(point).collect();
    let mut found = Vec::new();
    for (level, claimed) in super::memory::unseen(&sweep) {
        let smaller =
            sweep.claims.iter().filter(|it| it.0 < level).map(|it| it.1).max().unwrap_or(0);
        let within = |it: &&[(u64, f64)]| {
            let (before, here, after) = (it[0].1, it[1].1, it[2].1);
            it[1].0 > smaller && it[1].0 <= claimed && here > 1.3 * before && after > 1.3 * here
        };
        if let Some(three) = points.windows(3).find(within) {
            let (size, ns) = (bytes(three[1].0 as f64), three[1].1 * 1e9);
            found.push(format!(
                "L{level} shows no plateau, and {size} take {ns:.1} ns, unlike their neighbours"
            ));
        }
    }
    found
}

/// A size of a cache has one text.
fn two_sizes(record: &Record) -> Vec<String> {
    let said = record.fact("cpu.caches").map_or("", |fact| super::record::text(&fact["value"]));
    let Some(sweep) = sweep(record) else { return Vec::new() };
    let claimed = sweep.levels.iter().filter_map(|it| match it.whose {
        Whose::Cache(level, claimed) => Some((level, bytes(claimed as f64))),
        _ => None,
    });
    let other = claimed.filter(|(_, size)| !said.contains(size.as_str()));
    other
        .map(|(level, size)| {
            format!("L{level} claims {size} in its table, and in the box {said:?}")
        })
        .collect()
}
