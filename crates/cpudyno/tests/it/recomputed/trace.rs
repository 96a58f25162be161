//! Transitions: halts, throttled dispatch, clocks that stay low, gaps, and the folded timeline.

use super::check::{Plot, Rule, marks, table};
use super::page::Table;
use super::record::{Record, Series, text};
use super::stats::{median, mhz, once, time};

const AREA: &str = "turbo: transitions";
const SECTION: &str = "Transitions";

pub(crate) static RULES: &[Rule] = &[
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "what a stream in a duty cycle causes{}",
        want: events,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "a halt counts only where it comes at the same phase in {}",
        want: what_counts,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "halts of {} unavailable: {}",
        want: unseen,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "throttled of {} unavailable: {}",
        want: unthrottled,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "low clock of {} unavailable: {}",
        want: unknown,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "{}the stream ends at {}",
        want: |record| marked(record, |line| line.contains("the stream ends at ")),
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "throttled for {}",
        want: |record| {
            marked(record, |line| !line.contains("ends") && line.starts_with("throttled"))
        },
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "halt of {}",
        want: |record| marked(record, |line| !line.contains("ends") && line.starts_with("halt")),
    },
    Rule::Tables {
        area: AREA,
        section: SECTION,
        template: "time that is missing at once{}",
        want: gaps,
    },
    Rule::Lines {
        area: AREA,
        section: SECTION,
        template: "time missing is that of all gaps longer than {}",
        want: all_gaps,
    },
    Rule::Plots {
        area: AREA,
        section: SECTION,
        template: "clock by the time since {} began, all periods over each other (higher is better) ({})",
        want: wholes,
    },
    Rule::Plots {
        area: AREA,
        section: SECTION,
        template: "clock by the time since {} began, all periods over each other, the first 100 us (higher is better) ({})",
        want: beginnings,
    },
];

/// A core that watched, told apart by what its series share.
struct Core<'a> {
    record: &'a Record,
    name: String,
    is_own: bool,
    title: String,
    of: &'a Series,
}

fn name(series: &Series) -> String {
    let kind = series.parameter("core_type").map_or(String::new(), |kind| format!(" on {kind}"));
    format!("{}{kind}", series.parameter("stream").unwrap_or_default())
}

/// For each stream the core that runs it, and then the one beside it.
fn cores(record: &Record) -> Vec<Core<'_>> {
    let all: Vec<&Series> =
        record.of_quantity("turbo", "trace_visible").filter(|it| it.has()).collect();
    let mut cores = Vec::new();
    for wanted in once(all.iter().map(|it| name(it))) {
        for role in ["own", "other"] {
            for of in
                all.iter().filter(|it| name(it) == wanted && it.parameter("core") == Some(role))
            {
                let is_same = of.class.as_deref().is_some_and(|it| it.contains("same-core"));
                let word = if role == "other" && is_same { "hidden sibling" } else { role };
                let title = format!("{word}, CPU {}", of.cpu);
                cores.push(Core { record, name: wanted.clone(), is_own: role == "own", title, of });
            }
        }
    }
    cores
}

impl<'a> Core<'a> {
    fn all(&self, quantity: &'a str) -> Vec<&'a Series> {
        let all = self.record.of_quantity("turbo", quantity);
        all.filter(|it| name(it) == self.name && it.cpu == self.of.cpu).collect()
    }

    fn number(&self, quantity: &'a str) -> Option<f64> {
        self.all(quantity).into_iter().find_map(Series::median)
    }

    fn why(&self, quantity: &'a str) -> Option<&'a str> {
        self.all(quantity).into_iter().find_map(|it| Some(text(&it.unavailable.as_ref()?["why"])))
    }

    /// Phase, length, and what of another quantity belongs to it.
    fn events(&self, quantity: &'a str, with: &'a str) -> Vec<(&'a str, f64, f64)> {
        let others = self.all(with);
        let one = |it: &'a Series| {
            let at = it.parameter("at_us")?;
            let other = others.iter().find(|other| other.parameter("at_us") == Some(at))?;
            Some((at, it.median()?, other.median()?))
        };
        self.all(quantity).into_iter().filter_map(one).collect()
    }

    fn halts(&self) -> String {
        let said: Vec<String> = self
            .events("trace_halt", "trace_halt_share")
            .iter()
            .map(|(at, length, share)| {
                format!("{} at {at} us, in {:.0} % of periods", time(*length), share * 100.0)
            })
            .collect();
        let least = self.number("trace_visible").expect("it was followed");
        let near = self.number("trace_visible_beside_throttled");
        let near =
            near.map_or(String::new(), |it| format!(" ({} beside throttled looks)", time(it)));
        let least =
            self.enough().map(|looked| format!("{}{near}, {looked:.0} periods", time(least)));
        beside(&said, least)
    }

    /// Periods that were looked at; fewer than 50 tell nothing.
    fn enough(&self) -> Option<f64> {
        self.number("trace_looked").filter(|looked| *looked >= 50.0)
    }

    fn throttled(&self) -> String {
        let said: Vec<String> = self
            .events("trace_throttled", "trace_throttled_ratio")
            .iter()
            .map(|(at, length, ratio)| {
                format!("{:.0} ± 2 us at {at} us, adds take {ratio:.1} times as long", length * 1e6)
            })
            .collect();
        let least = self.number("trace_throttled_visible").filter(|_| self.enough().is_some());
        beside(&said, least.map(bins))
    }

    fn low(&self) -> String {
        let clocks = self.number("trace_low").zip(self.number("trace_relaxed"));
        let clocks = clocks.map(|(low, high)| format!("{} of {} MHz", mhz(low), mhz(high)));
        let is_there = !self.all("trace_hold").is_empty();
        match (self.number("trace_hold"), clocks) {
            (Some(length), Some(clocks)) => {
                format!("{:.0} ± 2 us after it, at {clocks}", length * 1e6)
            }
            (None, Some(clocks)) if is_there => format!("not back within the period: {clocks}"),
            _ => match self.number("trace_hold_visible") {
                Some(least) => format!("no lower clock seen above {:.1} %", least * 100.0),
                None if self.why("trace_hold_visible").is_some() => "unavailable".to_owned(),
                None => "-".to_owned(),
            },
        }
    }

    /// A line over some of the period; of many bins medians of as many neighbours as leave 250.
    fn line(&self, until: f64) -> Option<(String, Vec<(f64, f64)>)> {
        let (at, clock) =
            (self.all("trace_folded_time").pop()?, self.all("trace_folded_clock").pop()?);
        let bins: Vec<(f64, f64)> =
            at.samples.iter().copied().zip(clock.samples.iter().copied()).collect();
        let bins: Vec<(f64, f64)> = bins.into_iter().filter(|it| it.0 * 1e6 < until).collect();
        let size = bins.len().div_ceil(250).max(1);
        let middle = |chunk: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
            median(&chunk.iter().map(of).collect::<Vec<_>>()).expect("a chunk has bins")
        };
        let point =
            |it: &[(f64, f64)]| (middle(it, |bin| bin.0) * 1e6, middle(it, |bin| bin.1) / 1e6);
        let points: Vec<(f64, f64)> = bins.chunks(size).map(point).collect();
        (!points.is_empty()).then(|| (self.title.clone(), points))
    }

    /// What is marked in it.
    fn marks(&self, until: f64) -> Vec<String> {
        let is_drawn = |at: &str| at.parse::<f64>().is_ok_and(|at| at < until);
        let mut marks = Vec::new();
        for (at, length, _) in self.events("trace_throttled", "trace_throttled_ratio") {
            marks.extend(
                is_drawn(at).then(|| format!("throttled for {} from {at} us on", bins(length))),
            );
        }
        for (at, length, _) in self.events("trace_halt", "trace_halt_share") {
            marks.extend(is_drawn(at).then(|| format!("halt of {} at {at} us", time(length))));
        }
        let end = self.of.parameter("burst_us").unwrap_or("?");
        marks.extend(is_drawn(end).then(|| format!("the stream ends at {end} us")));
        marks
    }
}

/// What is told in bins of 2 us.
fn bins(seconds: f64) -> String {
    format!("{:.0} us", seconds * 1e6)
}

/// What was seen, beside the least that others could have been.
fn beside(said: &[String], least: Option<String>) -> String {
    let rest = match (said.is_empty(), least) {
        (true, Some(least)) => format!("none seen above {least}"),
        (true, None) => "unavailable".to_owned(),
        (false, Some(least)) => format!("no others above {least}"),
        (false, None) => "others unavailable".to_owned(),
    };
    said.iter().cloned().chain([rest]).collect::<Vec<_>>().join("; ")
}

/// The same as a finding has it.
pub(crate) fn findings(record: &Record) -> Vec<String> {
    let said = |it: &Core<'_>| {
        let [halts, throttled, low] = [it.halts(), it.throttled(), it.low()];
        format!("halts: {halts}; throttled: {throttled}; low clock: {low}")
    };
    cores(record).iter().map(said).collect()
}

fn events(record: &Record) -> Vec<Table> {
    let cores = cores(record);
    let Some(first) = cores.first() else { return Vec::new() };
    let [burst, period] = ["burst_us", "period_us"].map(|it| first.of.parameter(it).unwrap_or("?"));
    let row = |it: &Core<'_>| {
        vec![it.name.clone(), it.title.clone(), it.halts(), it.throttled(), it.low()]
    };
    let caption = format!("what a stream in a duty cycle causes: {burst} us in each {period} us");
    let columns = ["stream", "core", "halts", "throttled", "low clock"];
    vec![table(caption, &columns, cores.iter().map(row).collect())]
}

/// Limits of the method, and no numbers of the record.
fn what_counts(record: &Record) -> Vec<String> {
    let line = "a halt counts only where it comes at the same phase in 80 % of the periods that were looked at then, \
                of 50 and more; adds that are held up while multiplies are not are throttled dispatch, and no clock";
    if cores(record).is_empty() { Vec::new() } else { vec![line.to_owned()] }
}

fn without(record: &Record, what: &str, quantity: &str) -> Vec<String> {
    let line = |it: &Core<'_>| {
        let all = record.of_quantity("turbo", quantity);
        let mut mine = all.filter(|of| name(of) == it.name && of.cpu == it.of.cpu);
        let why = mine.find_map(|of| Some(text(&of.unavailable.as_ref()?["why"])))?;
        Some(format!("{what} of {} ({}) unavailable: {why}", it.name, it.title))
    };
    cores(record).iter().filter_map(line).collect()
}

fn unseen(record: &Record) -> Vec<String> {
    without(record, "halts", "trace_halt")
}

fn unthrottled(record: &Record) -> Vec<String> {
    without(record, "throttled", "trace_throttled")
}

fn unknown(record: &Record) -> Vec<String> {
    without(record, "low clock", "trace_hold_visible")
}

/// Each stream's gaps, cut where its own core could tell: no more of the pass is missing in them than in all gaps.
fn gaps(record: &Record) -> Vec<Table> {
    let mut rows = Vec::new();
    let cores = cores(record);
    for stream in once(cores.iter().map(|it| it.name.clone())) {
        for pass in ["without payload", "with payload"] {
            for core in cores.iter().filter(|it| it.name == stream) {
                let find = |quantity| {
                    let mut all = core.all(quantity).into_iter();
                    all.find(|it| it.parameter("pass") == Some(pass)).filter(|it| it.has())
                };
                let number = |quantity| find(quantity).and_then(Series::median);
                let Some(rate) = number("trace_gap_rate") else { continue };
                let mut share = number("trace_gap_share").unwrap_or(f64::NAN);
                let gap = find("trace_gap");
                if let Some(gap) = gap {
                    // As many gaps as there are in a second of so many seconds.
                    let seconds = gap.samples.len() as f64 / rate;
                    let missing = gap.samples.iter().sum::<f64>() / seconds;
                    share = if missing <= 1.002 * share + 1e-9 { share } else { missing };
                }
                let above = core.number("trace_visible").map_or("-".to_owned(), time);
                let of_gap = |q| gap.and_then(|it| it.q(q)).map_or("-".to_owned(), time);
                let words = [stream.clone(), pass.to_owned(), core.title.clone(), above];
                let share = format!("{:.1} %", share * 100.0);
                let numbers = [format!("{rate:.0}"), share, of_gap(0.5), of_gap(1.0)];
                rows.push(words.into_iter().chain(numbers).collect());
            }
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let caption = "time that is missing at once, whatever took it (lower is better)";
    let columns =
        ["stream", "pass", "core", "above", "gaps per second", "time missing", "median", "longest"];
    vec![table(caption, &columns, rows)]
}

/// A limit of the method, and no number of the record.
fn all_gaps(record: &Record) -> Vec<String> {
    let line = "time missing is that of all gaps longer than 1 us";
    gaps(record).iter().map(|_| line.to_owned()).collect()
}

fn plots(record: &Record, until: f64, words: &str) -> Vec<Plot> {
    let cores = cores(record);
    let plot = |own: &Core<'_>| {
        let both = cores.iter().filter(|it| it.name == own.name);
        let lines: Vec<_> = both.filter_map(|it| it.line(until)).collect();
        let caption = format!(
            "clock by the time since {} began, all periods over each other{words} (higher is better)",
            own.name
        );
        let marks = own.marks(until);
        (!lines.is_empty()).then(|| Plot { marks, ..Plot::new(caption, ["us", "MHz"], lines) })
    };
    cores.iter().filter(|it| it.is_own).filter_map(plot).collect()
}

fn wholes(record: &Record) -> Vec<Plot> {
    plots(record, f64::INFINITY, "")
}

fn beginnings(record: &Record) -> Vec<Plot> {
    plots(record, 100.0, ", the first 100 us")
}

fn marked(record: &Record, is_wanted: fn(&String) -> bool) -> Vec<String> {
    let all = wholes(record).into_iter().chain(beginnings(record));
    marks(all.collect()).into_iter().filter(is_wanted).collect()
}
