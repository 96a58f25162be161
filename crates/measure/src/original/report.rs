//! What the benchmark prints, read line by line. Nothing here knows where the text came from.
//!
//! # Source
//! Reports of revision 5.10, and their lines of the same form in other revisions.

use model::Seconds;

use super::error::Quote;

/// What the benchmark does with its arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// c = a
    Copy,
    /// b = s c
    Scale,
    /// c = a + b
    Add,
    /// a = b + s c
    Triad,
}

impl Function {
    /// All, in the order of the report.
    pub const ALL: [Function; 4] =
        [Function::Copy, Function::Scale, Function::Add, Function::Triad];

    /// As the report has it.
    pub fn name(self) -> &'static str {
        match self {
            Function::Copy => "Copy",
            Function::Scale => "Scale",
            Function::Add => "Add",
            Function::Triad => "Triad",
        }
    }
}

/// A line of its table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// What was executed.
    pub function: Function,
    /// The bytes that the loop names over the shortest time: reads and writes, without those that a
    /// cache reads before it is written to.
    ///
    /// # Unit
    /// Bytes per second; a MB of the report is a million bytes.
    pub best_bytes_per_second: f64,
    /// Mean time of one execution; times are rounded to a microsecond, and may be 0 for short arrays.
    pub average: Seconds,
    /// The shortest.
    pub shortest: Seconds,
    /// The longest.
    pub longest: Seconds,
}

/// What it says of its own arrays after the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validation {
    /// They are what they should be.
    Validates,
    /// They are not; the lines from there on.
    Fails(Quote),
    /// It says nothing of it.
    Absent,
}

/// A report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Its revision, such as `5.10`.
    pub revision: Option<String>,
    /// One line for each of [`Function::ALL`].
    pub rates: [Rate; 4],
    /// Elements of each array.
    pub array_elements: Option<u64>,
    /// Threads that it counted; a program without OpenMP does not say.
    pub threads: Option<u32>,
    /// Whether it believes its arrays.
    pub validation: Validation,
}

impl Report {
    /// Reads a report; the error says what is missing or wrong.
    pub fn parse(text: &str) -> Result<Report, String> {
        let [copy, scale, add, triad] = Function::ALL.map(|function| rate(text, function));
        Ok(Report {
            revision: revision(text),
            rates: [copy?, scale?, add?, triad?],
            array_elements: number_after(text, "Array size = ")?,
            threads: threads(text)?,
            validation: validation(text),
        })
    }

    /// The line of that function.
    pub fn rate(&self, function: Function) -> &Rate {
        &self.rates[function as usize]
    }
}

/// The line of a function: best rate in MB/s, then mean, least and greatest time in seconds.
fn rate(text: &str, function: Function) -> Result<Rate, String> {
    let name = function.name();
    let row = |line: &'_ str| -> Option<String> {
        line.trim_start().strip_prefix(name)?.strip_prefix(':').map(str::to_owned)
    };
    let mut rows = text.lines().filter_map(row);
    let numbers = match (rows.next(), rows.next()) {
        (Some(only), None) => only,
        (None, _) => return Err(format!("it has no line `{name}:`")),
        (Some(_), Some(_)) => return Err(format!("it has several lines `{name}:`")),
    };
    let parsed: Option<Vec<f64>> = numbers.split_whitespace().map(|it| it.parse().ok()).collect();
    let Some(&[mega, average, shortest, longest]) = parsed.as_deref() else {
        return Err(format!("expected a rate and three times after `{name}:`"));
    };
    let best_bytes_per_second = mega * 1e6;
    let times = [average, shortest, longest];
    // Times of short arrays are printed as 0.000000; a rate is never 0.
    let sound = |number: f64| number.is_finite() && number >= 0.0;
    if !times.into_iter().all(sound) || !sound(best_bytes_per_second) || mega == 0.0 {
        return Err(format!("no rate and times can be `{}` after `{name}:`", numbers.trim()));
    }
    let [average, shortest, longest] = times.map(Seconds);
    Ok(Rate { function, best_bytes_per_second, average, shortest, longest })
}

/// The whole number that follows these words, where they are.
fn number_after<T: std::str::FromStr>(text: &str, words: &str) -> Result<Option<T>, String> {
    let Some((_, rest)) = text.split_once(words) else { return Ok(None) };
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().map(Some).map_err(|_| format!("expected a number after `{}`", words.trim_end()))
}

/// Threads that were counted; what was requested where it counted none.
fn threads(text: &str) -> Result<Option<u32>, String> {
    let counted = number_after(text, "Number of Threads counted = ")?;
    if counted.is_some() {
        return Ok(counted);
    }
    number_after(text, "Number of Threads requested = ")
}

/// The last word of the check is what counts: a failure anywhere is a failure.
fn validation(text: &str) -> Validation {
    if let Some(begin) = text.find("Failed Validation") {
        Validation::Fails(Quote::of(&text[begin..]))
    } else if text.contains("Solution Validates") {
        Validation::Validates
    } else {
        Validation::Absent
    }
}

/// What stands in `$Revision: 5.10 $`, in a report or a source.
pub(super) fn revision(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("$Revision:")?;
    let (revision, _) = rest.lines().next()?.split_once('$')?;
    let revision = revision.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_ ".contains(c);
    (!revision.is_empty() && revision.chars().all(plain)).then(|| revision.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the form of revision 5.10, with numbers of our own.
    const REPORT: &str = "\
-------------------------------------------------------------
STREAM version $Revision: 5.10 $
-------------------------------------------------------------
Array size = 20000000 (elements), Offset = 0 (elements)
Number of Threads requested = 2
Number of Threads counted = 2
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           11000.5     0.030000     0.029000     0.031000
Scale:          12000.0     0.028000     0.027000     0.029000
Add:            13000.0     0.038000     0.037000     0.039000
Triad:          14000.0     0.036000     0.035000     0.037000
Solution Validates: avg error less than 1.000000e-13 on all three arrays
";

    #[test]
    fn a_report_is_read() {
        let report = Report::parse(REPORT).unwrap();
        assert_eq!(report.revision.as_deref(), Some("5.10"));
        assert_eq!((report.array_elements, report.threads), (Some(20_000_000), Some(2)));
        assert_eq!(report.validation, Validation::Validates);
        for (function, rate) in Function::ALL.into_iter().zip(&report.rates) {
            assert_eq!(rate.function, function);
            assert_eq!(report.rate(function), rate);
        }
        let copy = report.rate(Function::Copy);
        assert!((copy.best_bytes_per_second - 11_000.5e6).abs() < 1.0);
        let times = [copy.average, copy.shortest, copy.longest];
        assert_eq!(times, [Seconds(0.03), Seconds(0.029), Seconds(0.031)]);
        assert!((report.rate(Function::Triad).best_bytes_per_second - 14_000e6).abs() < 1.0);
    }

    #[test]
    fn what_a_report_does_not_say_is_absent() {
        let table: String =
            REPORT.lines().filter(|line| line.contains(":  ")).flat_map(|l| [l, "\n"]).collect();
        let report = Report::parse(&table).unwrap();
        assert_eq!(report.revision, None);
        assert_eq!((report.array_elements, report.threads), (None, None));
        assert_eq!(report.validation, Validation::Absent);
        let requested = REPORT.replace("Number of Threads counted = 2\n", "");
        assert_eq!(Report::parse(&requested).unwrap().threads, Some(2));
    }

    #[test]
    fn a_failure_outweighs_a_success() {
        let text =
            format!("{REPORT}Failed Validation on array b[], AvgRelAbsErr > 1e-13\n  5 of 9\n");
        let Validation::Fails(quote) = Report::parse(&text).unwrap().validation else {
            panic!("it fails");
        };
        assert_eq!(quote.lines().len(), 2);
        assert!(quote.lines()[0].starts_with("Failed Validation on array b[]"));
    }

    #[test]
    fn what_is_no_report_is_told_why() {
        let why = |from: &str, to: &str| Report::parse(&REPORT.replace(from, to)).unwrap_err();
        assert_eq!(why("Add:", "Sum:"), "it has no line `Add:`");
        assert_eq!(why("Scale:", "Copy:"), "it has several lines `Copy:`");
        let numbers = "expected a rate and three times after `Copy:`";
        for wrong in ["eleven", "", "1.0 2.0"] {
            assert_eq!(why("11000.5", wrong), numbers, "{wrong}");
        }
        for wrong in ["nan", "inf", "0.0", "-1.0", "1e303"] {
            let why = why("11000.5", wrong);
            assert!(why.starts_with(&format!("no rate and times can be `{wrong} ")), "{why}");
        }
        assert!(why("0.031000", "-0.031000").ends_with("-0.031000` after `Copy:`"));
        assert_eq!(why("20000000", "many"), "expected a number after `Array size =`");
        assert_eq!(why("20000000", &"9".repeat(30)), "expected a number after `Array size =`");
        assert_eq!(Report::parse("").unwrap_err(), "it has no line `Copy:`");
    }

    /// Whatever is printed: it is read or refused, and what was read are numbers.
    #[test]
    fn mutilated_reports_are_read_or_refused() {
        let mut random = fastrand::Rng::with_seed(1);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let mut bytes = REPORT.as_bytes().to_vec();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                match random.u8(..3) {
                    0 => bytes[at] = random.u8(..),
                    1 => bytes.truncate(at.max(1)),
                    _ => drop(bytes.splice(at..at, *b"9e9")),
                }
            }
            let Ok(report) = Report::parse(&String::from_utf8_lossy(&bytes)) else {
                refused += 1;
                continue;
            };
            read += 1;
            for rate in report.rates {
                let best = rate.best_bytes_per_second;
                assert!(best.is_finite() && best > 0.0, "{rate:?}");
                for Seconds(time) in [rate.average, rate.shortest, rate.longest] {
                    assert!(time.is_finite() && time >= 0.0, "{rate:?}");
                }
            }
        }
        assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
    }

    #[test]
    fn short_arrays_take_no_time_that_could_be_printed() {
        let report = Report::parse(&REPORT.replace("0.029000", "0.000000")).unwrap();
        assert_eq!(report.rate(Function::Copy).shortest, Seconds(0.0));
    }

    #[test]
    fn a_revision_is_a_word() {
        for (text, expected) in [
            ("printf(\"STREAM version $Revision: 5.10 $\\n\");", Some("5.10")),
            ("$Revision: $", None),
            ("$Revision: 5.10", None),
            ("$Revision: \x1b[31m $", None),
            ("", None),
        ] {
            assert_eq!(revision(text).as_deref(), expected, "{text}");
        }
    }
}
