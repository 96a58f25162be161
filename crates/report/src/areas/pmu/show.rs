//! What was seen, as parts of pages; a pure function of the record (invariant I2).

use model::Finding;
use model::page::{Block, Table, Text};
use model::record::{Record, Series};

use super::{AREA, CYCLES, INSTRUCTIONS, KNOWN_INSTRUCTIONS};
use crate::claim::{Claim, Verdict};

/// A stream as the counters and the ruler saw it.
struct StreamCounts<'a> {
    workload: &'a str,
    instructions: Option<f64>,
    cycles: Option<f64>,
    /// Cycles per op by the chain of multiplies, on the same CPU alone.
    by_ruler: Option<f64>,
}

fn seen(record: &Record) -> Vec<StreamCounts<'_>> {
    let median = |series: &Series| series.summary().map(|summary| summary.median);
    let of = |cycles| -> StreamCounts<'_> {
        let cycles: &Series = cycles;
        let same = |series: &&Series| {
            (&series.workload, series.cpu) == (&cycles.workload, cycles.cpu)
                && series.active.len() == 1
        };
        StreamCounts {
            workload: &cycles.workload,
            instructions: record.series_of(AREA, INSTRUCTIONS).find(same).and_then(median),
            cycles: median(cycles),
            by_ruler: record.series_of("turbo", "cycles_per_op").find(same).and_then(median),
        }
    };
    let all = record.series_of(AREA, CYCLES).map(of);
    all.filter(|seen| seen.instructions.is_some() || seen.cycles.is_some()).collect()
}

pub(super) fn section(record: &Record) -> Vec<Block> {
    let number = |number: Option<f64>| {
        Text::from(number.map_or_else(|| "-".to_owned(), |number| format!("{number:.3}")))
    };
    let row = |seen: &StreamCounts<'_>| {
        let StreamCounts { workload, instructions, cycles, by_ruler } = *seen;
        let per_cycle = instructions.zip(cycles).filter(|(_, cycles)| *cycles > 0.0);
        vec![
            Text::from(workload),
            number(instructions),
            number(cycles),
            number(by_ruler),
            number(per_cycle.map(|(instructions, cycles)| instructions / cycles)),
        ]
    };
    let rows: Vec<Vec<Text>> = seen(record).iter().map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let table = Table::of("Core counters, user mode")
        .left("stream")
        .right("instructions per op")
        .right("cycles per op")
        .right("by the ruler")
        .right("instructions per cycle")
        .rows(rows);
    vec![Block::Heading("Counters".to_owned()), Block::Table(table)]
}

pub(super) fn findings(record: &Record) -> Vec<Finding> {
    /// The ruler holds within half a per cent; what the kernel does meanwhile is in neither, and a sibling
    /// that is busy in one of the two moments costs a few per cent.
    const APART: f64 = 0.05;
    let apart = |seen: &StreamCounts<'_>| {
        let (cycles, by_ruler) = (seen.cycles?, seen.by_ruler?);
        let off = (cycles / by_ruler - 1.0).abs();
        (off > APART).then(|| format!("{} {cycles:.3} and {by_ruler:.3}", seen.workload))
    };
    let apart: Vec<String> = seen(record).iter().filter_map(apart).collect();
    if apart.is_empty() {
        return Vec::new();
    }
    vec![
        Finding::warning(
            "pmu.cycles-disagree",
            "pmu",
            format!(
                "the counter of cycles and the chain of multiplies disagree on cycles per op: {}",
                apart.join(", ")
            ),
        )
        .remedy("`cpudyno pmu selftest` says which events count what they should".to_owned()),
    ]
}

/// The counter of instructions against machine code of which the count is known, by the stream farthest off.
pub(super) fn claims(record: &Record) -> Vec<Claim> {
    /// Interrupts add one or two; counters are exact otherwise.
    const OFF_MAX: f64 = 0.01;
    let median = |series: &Series| series.summary().map(|summary| summary.median);
    let of = |counted| -> Option<(&str, f64, f64)> {
        let counted: &Series = counted;
        let mut known = record.series_of(AREA, KNOWN_INSTRUCTIONS);
        let known = known.find(|it| (&it.workload, it.cpu) == (&counted.workload, counted.cpu))?;
        Some((&counted.workload, median(counted)?, median(known)?))
    };
    let off = |(_, counted, known): &(&str, f64, f64)| counted / known - 1.0;
    let all = record.series_of(AREA, INSTRUCTIONS).filter_map(of);
    let farthest = all.max_by(|a, b| off(a).abs().total_cmp(&off(b).abs()));
    let claim = |farthest: (&str, f64, f64)| {
        let (stream, counted, known) = farthest;
        let verdict = if off(&farthest).abs() <= OFF_MAX {
            Verdict::AsClaimed
        } else {
            Verdict::Differs(format!("{:+.1} % under {stream}", off(&farthest) * 100.0))
        };
        Claim {
            what: "count of instructions".to_owned(),
            claimed: format!("{counted:.3} an op"),
            by: "counter of the core".to_owned(),
            measured: format!("{known:.3} an op in the code of {stream}"),
            verdict,
            finding: None,
            short: None,
            cause: None,
            command: "cpudyno pmu selftest",
        }
    };
    farthest.map(claim).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, series};

    fn record(counted: f64, by_ruler: f64) -> Record {
        let mut record = blank();
        for (area, quantity, active, value) in [
            (AREA, INSTRUCTIONS, "0", 2.0),
            (AREA, CYCLES, "0", counted),
            ("turbo", "cycles_per_op", "0-1", 9.0),
            ("turbo", "cycles_per_op", "0", by_ruler),
        ] {
            record.series.push(series([area, "scalar_add", quantity], active, &[], &[&[value]]));
        }
        record
    }

    #[test]
    fn a_count_of_instructions_is_as_claimed_within_a_hundredth_of_the_code() {
        let verdict = |counted: f64| {
            let mut record = blank();
            for (workload, quantity, value) in [
                ("scalar_add", INSTRUCTIONS, counted),
                ("scalar_add", KNOWN_INSTRUCTIONS, 1.02),
                ("pause", INSTRUCTIONS, 1.0),
                ("pause", KNOWN_INSTRUCTIONS, 1.0),
            ] {
                record.series.push(series([AREA, workload, quantity], "0", &[], &[&[value]]));
            }
            claims(&record).remove(0)
        };
        // A hundredth of 1.02 is 0.0102.
        assert_eq!(verdict(1.03).verdict, Verdict::AsClaimed);
        let off = verdict(1.0098 * 1.02 + 0.001);
        assert_eq!(off.verdict, Verdict::Differs("+1.1 % under scalar_add".to_owned()));
        assert_eq!(verdict(0.0).verdict, Verdict::Differs("-100.0 % under scalar_add".to_owned()));
        assert!(claims(&record(2.0, 2.0)).is_empty(), "what the code has is not recorded");
    }

    #[test]
    fn counter_and_ruler_disagree_beyond_a_twentieth() {
        let found = |counted| findings(&record(counted, 2.0)).len();
        // 5 % of 2 cycles are 0.1.
        assert_eq!([1.89, 1.91, 2.09, 2.11].map(found), [1, 0, 0, 1]);
    }

    #[test]
    fn a_row_of_counters_has_instructions_per_cycle_and_the_ruler_alone() {
        let blocks = section(&record(0.5, 0.502));
        let Some(Block::Table(table)) = blocks.last() else { panic!("{blocks:?}") };
        let texts: Vec<&str> = table.rows[0].iter().map(|text| text.text.as_str()).collect();
        // 2 / 0.5.
        assert_eq!(texts, ["scalar_add", "2.000", "0.500", "0.502", "4.000"]);
    }
}
