//! What was seen, as parts of pages; a pure function of the record (invariant I2).

use std::collections::BTreeMap;

use model::areas::jitter::{AREA, CAUSE, SHORTEST, cause};
use model::page::{Align, Block, Page, Table, Text, si};
use model::record::{Record, Series};
use model::stats::quantile;
use model::{CpuId, Finding, Unit};

use crate::parts::{self, Leaf, known};

/// A cause with all its gaps, over CPUs.
struct CauseRow<'a> {
    cause: &'a str,
    /// In seconds, the shortest first.
    gaps: Vec<f64>,
}

impl CauseRow<'_> {
    fn lost(&self) -> f64 {
        self.gaps.iter().sum()
    }

    fn longest(&self) -> f64 {
        self.gaps.last().copied().unwrap_or(0.0)
    }
}

/// All causes, the one that took most time first.
fn causes(record: &Record) -> Vec<CauseRow<'_>> {
    let least = shortest_gap(record).unwrap_or(0.0);
    let mut rows: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for series in record.series_of(AREA, "gap") {
        let (Some(cause), Some(samples)) = (series.parameters.get(CAUSE), series.samples()) else {
            continue;
        };
        // What was packed may have lost some of its length.
        let gaps = samples.all().into_iter().map(|gap| gap.max(least));
        rows.entry(cause).or_default().extend(gaps);
    }
    let sorted = |(cause, mut gaps): (_, Vec<f64>)| {
        gaps.sort_unstable_by(f64::total_cmp);
        CauseRow { cause, gaps }
    };
    let mut rows: Vec<CauseRow<'_>> = rows.into_iter().map(sorted).collect();
    rows.sort_by(|a, b| b.lost().total_cmp(&a.lost()));
    rows
}

/// For how long CPUs were watched, added up.
fn watched(record: &Record) -> f64 {
    let of = |series: &Series| series.samples().map(|it| it.all().iter().sum::<f64>());
    record.series_of(AREA, "watched").filter_map(of).sum()
}

/// The share that each CPU lost, in the middle of its blocks.
fn lost(record: &Record) -> Vec<(CpuId, f64)> {
    let of = |series: &Series| Some((series.cpu, series.summary()?.median));
    record.series_of(AREA, "lost").filter_map(of).collect()
}

/// What a cause without one is: somebody below the kernel.
fn in_words(record: &Record, word: &str) -> String {
    match (word, record.is_guest()) {
        (cause::UNEXPLAINED, true) => format!("{word}: the hypervisor, or firmware"),
        (cause::UNEXPLAINED, false) => format!("{word}: firmware, or hardware"),
        _ => word.to_owned(),
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 0.1 { format!("{percent:.3} %") } else { format!("{percent:.2} %") }
}

fn time(seconds: f64) -> String {
    si::format(seconds, Unit::Second)
}

pub(super) fn sentences(record: &Record) -> Vec<Text> {
    let (shares, rows, all) = (lost(record), causes(record), watched(record));
    if shares.is_empty() || all <= 0.0 {
        return Vec::new();
    }
    let share = rows.iter().map(CauseRow::lost).sum::<f64>() / all;
    let who = if shares.len() == 1 { "A busy CPU loses" } else { "Busy CPUs lose" };
    let whose = if shares.len() == 1 { "its" } else { "their" };
    let most = rows.first().map_or(String::new(), |first| {
        let word = in_words(record, first.cause);
        let part = first.lost() / all;
        let most = if part >= share / 2.0 { "most of it" } else { "more than by others" };
        format!(", {most} ({}) by: {word}", percent(part))
    });
    let text = format!("{who} {} of {whose} time to interruptions{most}.", percent(share));
    let longest = rows.iter().max_by(|a, b| a.longest().total_cmp(&b.longest()));
    let longest = longest.map(|row| {
        let word = in_words(record, row.cause);
        Text::from(format!("The longest gap is {}, by: {word}.", time(row.longest())))
    });
    let worst = shares.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let worst = worst
        .filter(|(_, lost)| shares.len() > 2 && *lost > 2.0 * share)
        .map(|it| Text::from(format!("CPU {} loses most, {}.", it.0, percent(it.1))));
    [Some(Text::from(text)), longest, worst].into_iter().flatten().collect()
}

/// The table of causes.
fn by_cause(record: &Record) -> Block {
    let (rows, all) = (causes(record), watched(record));
    let row = |row: &CauseRow<'_>| {
        let at = |share| time(quantile(&row.gaps, share).unwrap_or(0.0));
        let numbers = [
            format!("{:.1}", row.gaps.len() as f64 / all),
            at(0.5),
            at(0.99),
            time(row.longest()),
            percent(row.lost() / all),
        ];
        let mut cells = vec![Text::from(in_words(record, row.cause))];
        cells.extend(numbers.map(Text::from));
        cells
    };
    Table::of("Gaps of a busy CPU, by cause")
        .label("cause")
        .right("gaps/s")
        .right("median")
        .right("p99")
        .right("longest")
        .right("time lost")
        .rows(rows.iter().map(row))
        .legend(shortest_gap(record).map(|it| format!("gaps of {} and longer", time(it))))
        .notes([
            "a gap has the cause that explains it: SMI, then a stop, a switch, a device, another CPU, the timer"
                .to_owned(),
        ])
        .into()
}

/// From where on gaps count, in seconds.
fn shortest_gap(record: &Record) -> Option<f64> {
    let of = |series: &Series| series.parameters.get(SHORTEST)?.parse::<f64>().ok();
    record.series_of(AREA, "lost").find_map(of).map(|nanoseconds| nanoseconds * 1e-9)
}

/// Lower ends of the lengths that gaps are counted by, in seconds.
const LENGTHS: [f64; 13] =
    [1e-7, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 1e-1];

/// How often, by length and cause.
fn histogram(record: &Record) -> Option<Block> {
    let (rows, all) = (causes(record), watched(record));
    let count = |row: &CauseRow<'_>, at: usize| {
        let end = LENGTHS.get(at + 1).copied().unwrap_or(f64::INFINITY);
        row.gaps.iter().filter(|gap| (LENGTHS[at]..end).contains(*gap)).count()
    };
    let seen = |at: &usize| rows.iter().any(|row| count(row, *at) > 0);
    let lengths: Vec<usize> = (0..LENGTHS.len()).filter(seen).collect();
    let columns = *lengths.first()?..=*lengths.last()?;
    let row = |row: &CauseRow<'_>| {
        let cell = |at| match count(row, at) {
            0 => Text::from(""),
            gaps => rate_text(gaps as f64 / all).into(),
        };
        std::iter::once(Text::from(row.cause)).chain(columns.clone().map(cell)).collect()
    };
    let table = Table::of("Gaps per second, by length from")
        .label("cause")
        .columns(columns.clone().map(|at| (from(LENGTHS[at]), Align::Right)))
        .rows(rows.iter().map(row));
    Some(table.into())
}

/// `20 us`
fn from(seconds: f64) -> String {
    let text = time(seconds);
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number} {unit}")
}

fn rate_text(rate: f64) -> String {
    if rate >= 10.0 { format!("{rate:.0}") } else { format!("{rate:.2}") }
}

/// The longest gap of a series, and its cause.
fn longest_of(series: &Series) -> Option<(f64, &str)> {
    let longest = series.samples()?.all().into_iter().reduce(f64::max)?;
    Some((longest, series.parameters.get(CAUSE)?))
}

/// CPUs that lose more than others, by share.
fn by_cpu(record: &Record, most: usize) -> Option<Block> {
    let mut shares = lost(record);
    if shares.len() < 2 {
        return None;
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let left = shares.len().saturating_sub(most);
    shares.truncate(most);
    let longest = |cpu: CpuId| {
        let mine = record.series_of(AREA, "gap").filter(|series| series.cpu == cpu);
        mine.filter_map(longest_of).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let row = |(cpu, share): &(CpuId, f64)| {
        let (length, cause) = longest(*cpu).map_or(("-".to_owned(), "-"), |it| (time(it.0), it.1));
        vec![cpu.to_string().into(), percent(*share).into(), length.into(), cause.into()]
    };
    let table = Table::of("Time that each CPU lost, the most first")
        .label("CPU")
        .right("time lost")
        .right("longest gap")
        .left("its cause")
        .rows(shares.iter().map(row));
    let more = (left > 0).then(|| format!("{left} more CPUs lost less; `-v` shows all"));
    Some(table.legend(more).into())
}

pub(super) fn findings(record: &Record) -> Vec<Finding> {
    /// Isolated CPUs lose a ten-thousandth, busy ones less than a hundredth.
    const LOST_MAX: f64 = 0.01;
    /// Firmware that stops a CPU for longer is felt by whoever waits.
    const SMI_MAX: f64 = 100e-6;
    let all = watched(record);
    let mut findings = Vec::new();
    let rows = causes(record);
    if let Some(row) = rows.iter().find(|row| row.cause == cause::SMI && row.longest() > SMI_MAX) {
        let text = format!(
            "firmware stops a CPU {:.1} times a second, for {} at most",
            row.gaps.len() as f64 / all,
            time(row.longest())
        );
        let remedy = "firmware's settings: power capping, USB legacy support, error reporting; ask the vendor";
        findings.push(Finding::warning("jitter.smi", "SMI", text).remedy(remedy.to_owned()));
    }
    for row in rows.iter().filter(|row| row.lost() / all > LOST_MAX) {
        let (text, remedy) = match row.cause {
            cause::THREAD => (
                "other threads take",
                "`cpudyno top` shows where; a cpuset keeps them away, and a quota (cpu.max) looks alike",
            ),
            cause::TIMER | cause::TIMER_SOFTIRQ => (
                "the timer takes",
                "fewer ticks: boot with nohz_full=LIST, or a kernel of a lower HZ",
            ),
            cause::UNEXPLAINED if record.is_guest() => {
                ("the hypervisor takes", "ask for CPUs of their own, or another host")
            }
            _ => continue,
        };
        let text = format!("{text} {} of the time of busy CPUs", percent(row.lost() / all));
        findings.push(Finding::note("jitter.lost", "busy CPUs", text).remedy(remedy.to_owned()));
    }
    findings
}

/// What a sheet shows of it, where it was measured beside.
pub(super) fn section(record: &Record) -> Vec<Block> {
    if watched(record) <= 0.0 {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Interruptions".to_owned()), by_cause(record)];
    blocks.extend(histogram(record));
    blocks
}

/// The page of `cpudyno jitter`.
pub fn page(record: &Record, verbosity: u8) -> Page {
    /// CPUs of a table that nobody asked to be whole.
    const CPUS: usize = 12;
    let mut blocks = Vec::new();
    if watched(record) > 0.0 {
        blocks.push(by_cause(record));
        blocks.extend(histogram(record));
        blocks.extend(by_cpu(record, if verbosity > 0 { usize::MAX } else { CPUS }));
    }
    let plan = &record.run.plan;
    let lines = vec![
        ("CPU", known(record, "cpu.brand")),
        ("CPUs", Some(format!("{}: {}", plan.cpus, plan.placement))),
        ("Kernel", known(record, "kernel.release")),
        ("Isolated CPUs", known(record, "kernel.isolated")),
        ("Other busy CPUs", known(record, "busy.cpus")),
    ];
    let (title, simulated) = ("Interruptions of busy CPUs", "interruptions of busy CPUs");
    let answer = super::SECTION.sentences(record);
    parts::leaf(record, verbosity, Leaf { answer, title, simulated, lines, blocks })
}

#[cfg(test)]
mod tests {
    use model::areas::jitter::{CPU, POLL};

    use super::*;
    use crate::testing::{blank, near, series};

    /// Ten seconds of one CPU: gaps in microseconds, by cause.
    fn record(gaps: &[(&str, &[f64])]) -> Record {
        let mut record = blank();
        let lost: f64 = gaps.iter().flat_map(|it| it.1).sum::<f64>() * 1e-6 / 10.0;
        for (quantity, value) in [("lost", lost), ("watched", 10.0)] {
            let of_cpu = [(CPU, "0"), (SHORTEST, "1000")];
            record.series.push(series([AREA, POLL, quantity], "0", &of_cpu, &[&[value]]));
        }
        for (cause, lengths) in gaps {
            let lengths: Vec<f64> = lengths.iter().map(|it| it * 1e-6).collect();
            let parameters = [(CPU, "0"), (CAUSE, *cause)];
            record.series.push(series([AREA, POLL, "gap"], "0", &parameters, &[&lengths]));
        }
        record
    }

    #[test]
    fn causes_stand_by_the_time_that_they_take() {
        let record = record(&[(cause::TIMER, &[5.0; 40]), (cause::THREAD, &[150.0, 250.0])]);
        let rows = causes(&record);
        assert_eq!(
            rows.iter().map(|row| row.cause).collect::<Vec<_>>(),
            [cause::THREAD, cause::TIMER]
        );
        // 40 x 5 us, and 400 us.
        near(rows[1].lost(), 200e-6);
        near(rows[0].lost(), 400e-6);
        near(rows[0].longest(), 250e-6);
        let Block::Table(table) = by_cause(&record) else { panic!() };
        let cells: Vec<Vec<&str>> =
            table.rows.iter().map(|row| row.iter().map(|it| it.text.as_str()).collect()).collect();
        // 2 in 10 s, 400 us of 10 s; 40 in 10 s.
        assert_eq!(cells[0][..2], ["other thread", "0.2"]);
        assert_eq!(cells[0][5], "0.004 %");
        assert_eq!(cells[1][..3], ["timer", "4.0", "5.000 us"]);
        let sentences = sentences(&record);
        let told = "A busy CPU loses 0.006 % of its time to interruptions, most of it (0.004 %) by: other thread.";
        assert_eq!(sentences[0].text, told);
        assert_eq!(sentences[1].text, "The longest gap is 250.0 us, by: other thread.");
    }

    #[test]
    fn gaps_are_counted_by_their_length() {
        let record = record(&[(cause::TIMER, &[1.1, 4.9, 5.1, 201.0])]);
        let Some(Block::Table(table)) = histogram(&record) else { panic!() };
        let titles: Vec<&str> = table.columns.iter().map(|column| column.0.as_str()).collect();
        assert_eq!(
            titles[1..],
            ["1 us", "2 us", "5 us", "10 us", "20 us", "50 us", "100 us", "200 us"]
        );
        let texts: Vec<&str> = table.rows[0].iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["timer", "0.10", "0.10", "0.10", "", "", "", "", "0.10"]);
    }

    #[test]
    fn firmware_that_stops_a_cpu_for_long_is_a_warning_and_for_short_none() {
        let ids = |gaps: &[f64]| -> Vec<String> {
            findings(&record(&[(cause::SMI, gaps)])).into_iter().map(|it| it.id).collect()
        };
        assert_eq!(ids(&[90.0]), [""; 0]);
        assert_eq!(ids(&[90.0, 110.0]), ["jitter.smi"]);
        // 0.2 of 10 s.
        let busy = findings(&record(&[(cause::THREAD, &[200_000.0])]));
        assert_eq!(busy[0].text, "other threads take 2.00 % of the time of busy CPUs");
    }
}
