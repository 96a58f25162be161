//! What schedulers and monitors that call the gate want to hear: one row each.
//!
//! # Source
//! slurm.conf(5), `Prolog`, `Epilog`, `HealthCheckProgram`; Slurm's guide on prolog and epilog; NHC's README,
//! `check_cmd_status` and `TIMEOUT`; node-problem-detector, "Custom Plugin Monitor"; Nagios Plugins Development
//! Guidelines, "Plugin Output" and "Return Codes"; NVIDIA Health Validation, exit codes of a node's verdict.

use model::Seconds;
use model::areas;
use model::record::{GateCode, GateItem, GateState, GateVerdict, Record, ResultKey};

use super::verdict;
use crate::digest;

/// Who calls, and what is agreed with it.
#[derive(Debug)]
pub struct Caller {
    /// The word for it.
    pub word: &'static str,
    /// What it is.
    pub who: &'static str,
    /// Its time is up so long after the program began.
    pub ends: Seconds,
    /// What it makes of exit codes.
    pub codes: Codes,
    /// What becomes of a machine that fails.
    pub acts: &'static str,
    form: Form,
}

/// Exit codes by verdict.
#[derive(Debug, Clone, Copy)]
pub struct Codes {
    /// It passes.
    pub passes: u8,
    /// It passes, and something is not as it should be.
    pub warns: u8,
    /// It fails.
    pub fails: u8,
    /// Nobody can say.
    pub cannot_judge: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// At most [`LINE_MAX`] characters.
    Line,
    /// The same, with the state before it and numbers behind it.
    Nagios,
    /// JSON.
    Object,
}

const fn codes(passes: u8, warns: u8, fails: u8, cannot_judge: u8) -> Codes {
    Codes { passes, warns, fails, cannot_judge }
}

/// All of them.
#[rustfmt::skip] // One caller, one row.
pub static CALLERS: &[Caller] = &[
    Caller { word: "slurm-prolog", who: "Slurm's `Prolog`", ends: Seconds(8.0), codes: codes(0, 0, 1, 0),
        acts: "Slurm drains the node and holds the job", form: Form::Line },
    Caller { word: "slurm-epilog", who: "Slurm's `Epilog`", ends: Seconds(5.0), codes: codes(0, 0, 1, 0),
        acts: "Slurm drains the node", form: Form::Line },
    Caller { word: "slurm-health", who: "Slurm's `HealthCheckProgram`", ends: Seconds(45.0), codes: codes(0, 0, 0, 0),
        acts: "`--drain`, `--undrain`", form: Form::Line },
    Caller { word: "nhc", who: "LBNL's Node Health Check", ends: Seconds(5.0), codes: codes(0, 0, 1, 0),
        acts: "NHC marks the node offline", form: Form::Line },
    Caller { word: "npd", who: "node-problem-detector", ends: Seconds(25.0), codes: codes(0, 0, 1, 2),
        acts: "it sets a condition of the node", form: Form::Line },
    Caller { word: "nagios", who: "Nagios, Icinga, GCM", ends: Seconds(20.0), codes: codes(0, 1, 2, 3),
        acts: "it alerts", form: Form::Nagios },
    Caller { word: "verdict", who: "programs", ends: Seconds(30.0), codes: codes(0, 0, 1, 1),
        acts: "the program", form: Form::Object },
];

/// The caller of that word.
pub fn find(word: &str) -> Option<&'static Caller> {
    CALLERS.iter().find(|caller| caller.word == word)
}

/// A message of node-problem-detector's sample ends there.
pub const LINE_MAX: usize = 80;

/// What begins every line: drain reasons of ours are told from others by it.
pub const PREFIX: &str = "cpudyno:";

/// What is printed, and the exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The text, without a newline at its end.
    pub text: String,
    /// The exit code.
    pub code: u8,
    /// The verdict.
    pub verdict: GateVerdict,
    /// Codes of which something holds, and nothing else does not.
    pub held: Vec<GateCode>,
}

/// What a caller hears of a record.
pub fn answer(caller: &Caller, record: &Record) -> Answer {
    let verdict = verdict_of(record);
    let warns = items(record).any(|item| item.state == GateState::Warns);
    let codes = caller.codes;
    let (code, state) = match verdict {
        GateVerdict::Pass if warns => (codes.warns, "WARNING"),
        GateVerdict::Pass => (codes.passes, "OK"),
        GateVerdict::Fail => (codes.fails, "CRITICAL"),
        GateVerdict::CannotJudge => (codes.cannot_judge, "UNKNOWN"),
    };
    let text = match caller.form {
        Form::Line => line(record),
        Form::Nagios => format!("{state} - {}{}", line(record), performance(record)),
        Form::Object => verdict::object(record),
    };
    let has =
        |code: &GateCode, state| items(record).any(|it| it.code == *code && it.state == state);
    let is_held = |code: &GateCode| has(code, GateState::Holds) && !has(code, GateState::Warns);
    let held = GateCode::ALL.into_iter().filter(is_held).collect();
    Answer { text, code, verdict, held }
}

/// What a caller hears where nothing was measured.
pub fn unmeasured(caller: &Caller, word: &str, why: &str) -> Answer {
    without_numbers(caller, GateVerdict::CannotJudge, word, why)
}

/// What a caller hears of a CPU that computed something wrong.
pub fn wrong_answer(caller: &Caller, why: &str) -> Answer {
    without_numbers(caller, GateVerdict::Fail, GateCode::Sdc.word(), why)
}

fn without_numbers(caller: &Caller, verdict: GateVerdict, word: &str, why: &str) -> Answer {
    let line = cut(&format!("{PREFIX}{word} {}", plain(why)));
    let is_failure = verdict == GateVerdict::Fail;
    let (code, state) = if is_failure {
        (caller.codes.fails, "CRITICAL")
    } else {
        (caller.codes.cannot_judge, "UNKNOWN")
    };
    let text = match caller.form {
        Form::Line => line,
        Form::Nagios => format!("{state} - {line}"),
        Form::Object => verdict::unmeasured(&line, is_failure.then_some(word), why),
    };
    Answer { text, code, verdict, held: Vec::new() }
}

/// The verdict; of a record that was not judged, none.
pub(super) fn verdict_of(record: &Record) -> GateVerdict {
    record.gate.as_ref().map_or(GateVerdict::CannotJudge, |gate| gate.verdict)
}

fn items(record: &Record) -> impl Iterator<Item = &GateItem> {
    record.gate.iter().flat_map(|gate| &gate.items)
}

/// `cpudyno:BW memory.triad 187 of 412GB/s (63 peers) DIMM?`
pub fn line(record: &Record) -> String {
    let simulated = if record.run.simulated.is_some() { "SIMULATED " } else { "" };
    let count = |state| items(record).filter(|item| item.state == state).count();
    let first = |state| items(record).find(|item| item.state == state);
    let begin = |code: &str| format!("{PREFIX}{code} {simulated}");
    let verdict = verdict_of(record);
    let text = match (verdict, first(GateState::Fails)) {
        (GateVerdict::Fail, Some(item)) => {
            begin(item.code.word()) + &with_hint(item, LINE_MAX - begin(item.code.word()).len())
        }
        (GateVerdict::CannotJudge, _) => {
            let open = first(GateState::CannotJudge);
            // Something was found, and other work may be why.
            let is_noise = open.is_some_and(|item| item.code.is_timed() && item.found.is_some());
            let told = open.map_or_else(
                || "nothing was judged".to_owned(),
                |item| match &item.why {
                    Some(why) if !is_noise => why.clone(),
                    _ => in_brief(item) + " in a disturbed run",
                },
            );
            begin(if is_noise { NOISE } else { NONE }) + &told
        }
        (GateVerdict::Pass | GateVerdict::Fail, _) => {
            let mut said = vec![format!("{} hold", count(GateState::Holds))];
            let open = count(GateState::NotJudged);
            said.extend((open > 0).then(|| format!("{open} not judged")));
            let warns = first(GateState::Warns);
            let more = count(GateState::Warns);
            said.extend(
                warns.map(|it| format!("{more} warn: {} {}", it.code.word(), in_brief(it))),
            );
            begin(OK) + &said.join(", ")
        }
    };
    cut(&plain(&text))
}

/// The word of a machine that passes, in place of a code.
pub const OK: &str = "OK";
/// The word of one that could not be judged, where noise is not why.
pub const NONE: &str = "NONE";
/// The word of one that could not be judged as others use it.
pub const NOISE: &str = GateCode::Noise.word();

/// What to look at first.
pub const fn hint(code: GateCode) -> &'static str {
    match code {
        GateCode::Sdc => "replace the CPU",
        GateCode::Ecc | GateCode::Bw => "DIMM?",
        GateCode::Clk => "power, heat?",
        GateCode::Lat => "DIMM, NUMA?",
        GateCode::C2c => "placement?",
        GateCode::Wake => "idle states?",
        GateCode::Cfg => "cpudyno doctor",
        GateCode::Noise => "other work?",
    }
}

/// A hint has to fit whole.
fn with_hint(item: &GateItem, room: usize) -> String {
    let brief = in_brief(item);
    let hinted = format!("{brief} {}", hint(item.code));
    if hinted.len() <= room { hinted } else { brief }
}

/// `memory.triad 187 of 412GB/s (63 peers)`; what is no number beside another one, in words.
fn in_brief(item: &GateItem) -> String {
    let GateItem { name, found, expected, by, why, .. } = item;
    let numbers = found.as_ref().zip(expected.as_ref()).and_then(|(a, b)| beside(a, b));
    match (numbers, why) {
        (Some(numbers), _) if by.is_empty() => format!("{name} {numbers}"),
        (Some(numbers), _) => format!("{name} {numbers} ({by})"),
        (None, Some(why)) => why.clone(),
        (None, None) => name.clone(),
    }
}

/// Two numbers: a unit that both have stands once. Who reads one line at night needs no fourth digit, unless they are as
/// near as that.
fn beside(found: &str, expected: &str) -> Option<String> {
    let split = |text: &str| -> Option<(String, String)> {
        let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
        number.parse::<f64>().ok()?;
        (!unit.contains(' ')).then(|| (number.to_owned(), unit.to_owned()))
    };
    let ((number, unit), (limit, of)) = (split(found)?, split(expected)?);
    let short = [shortened(&number), shortened(&limit)];
    let is_enough = short[0] != short[1] || unit != of;
    let [number, limit] = if is_enough { short } else { [number, limit] };
    Some(if unit == of {
        format!("{number} of {limit}{of}")
    } else {
        format!("{number}{unit} of {limit}{of}")
    })
}

/// `412.0` as `412`.
fn shortened(number: &str) -> String {
    let Ok(value) = number.parse::<f64>() else { return number.to_owned() };
    match value.abs() {
        size if size >= 99.5 => format!("{value:.0}"),
        size if size >= 9.95 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Reasons of Slurm and messages of Kubernetes: one line of ASCII.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let letter = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    // Quotes end a reason, a bar ends what Nagios shows.
    let text = words.join(" ").replace(['"', '`', '\''], "").replace('|', "/");
    text.replace('µ', "u").replace('°', "deg ").chars().map(letter).collect()
}

/// No more than fits, of a text that is ASCII.
fn cut(text: &str) -> String {
    if text.len() <= LINE_MAX {
        return text.to_owned();
    }
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= LINE_MAX - 2).last();
    text[..end.unwrap_or(0)].trim_end().to_owned() + ".."
}

/// Numbers for whoever draws them: of each area and workload the one with most cores, in base units.
fn performance(record: &Record) -> String {
    const SHOWN_MAX: usize = 24;
    let digest = digest::at_hand(record);
    let judged = |what: &ResultKey| areas::judged(&what.area).any(|it| it.id == what.quantity);
    let mut shown: Vec<(String, usize, f64)> = Vec::new();
    for (what, result) in digest.results.iter().filter(|(what, _)| judged(what)) {
        let (Ok(measured), true) = (&result.outcome, what.parameters.is_empty()) else { continue };
        let name = format!("{}.{}.{}", what.area, what.workload, what.quantity);
        match shown.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, active, value)) if *active < what.active => {
                (*active, *value) = (what.active, measured.median);
            }
            Some(_) => {}
            None => shown.push((name, what.active, measured.median)),
        }
    }
    let all: Vec<String> = shown
        .into_iter()
        .take(SHOWN_MAX)
        .map(|(name, _, value)| format!("'{name}'={}", digits(value)))
        .collect();
    if all.is_empty() { String::new() } else { format!(" | {}", all.join(" ")) }
}

/// Seven digits, without an exponent that some readers of performance data refuse.
fn digits(value: f64) -> String {
    let decimals = (6.0 - value.abs().log10().floor()).clamp(0.0, 15.0);
    let decimals = if value.is_normal() { decimals as usize } else { 0 };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use model::record::GateRun;

    use super::*;
    use crate::testing::{blank, series};

    fn item(code: GateCode, name: &str, state: GateState) -> GateItem {
        GateItem {
            code,
            name: name.to_owned(),
            state,
            found: None,
            expected: None,
            by: String::new(),
            why: None,
            remedy: None,
            off: None,
        }
    }

    fn triad(state: GateState) -> GateItem {
        GateItem {
            found: Some("187.0 GB/s".to_owned()),
            expected: Some("412.3 GB/s".to_owned()),
            by: "63 peers".to_owned(),
            ..item(GateCode::Bw, "memory.triad", state)
        }
    }

    /// A record that was judged so.
    fn judged(verdict: GateVerdict, items: Vec<GateItem>) -> Record {
        let (reason, bounds) = ("a reason".to_owned(), Vec::new());
        let gate = Some(GateRun { verdict, reason, bounds, items });
        Record { gate, ..blank() }
    }

    fn answers(record: &Record) -> Vec<(&'static str, u8)> {
        CALLERS.iter().map(|caller| (caller.word, answer(caller, record).code)).collect()
    }

    #[test]
    fn each_caller_gets_its_own_codes() {
        let holds = item(GateCode::Clk, "clock", GateState::Holds);
        let words = CALLERS.iter().map(|caller| caller.word);
        let told = |codes: [u8; 7]| words.clone().zip(codes).collect::<Vec<_>>();
        let pass = judged(GateVerdict::Pass, vec![holds.clone()]);
        assert_eq!(answers(&pass), told([0, 0, 0, 0, 0, 0, 0]));
        let warns = judged(GateVerdict::Pass, vec![triad(GateState::Warns), holds]);
        assert_eq!(answers(&warns), told([0, 0, 0, 0, 0, 1, 0]));
        let fails = judged(GateVerdict::Fail, vec![triad(GateState::Fails)]);
        assert_eq!(answers(&fails), told([1, 1, 0, 1, 1, 2, 1]));
        let open = judged(GateVerdict::CannotJudge, vec![triad(GateState::CannotJudge)]);
        assert_eq!(answers(&open), told([0, 0, 0, 0, 2, 3, 1]));
        let unmeasured = |caller| unmeasured(caller, NOISE, "busy").code;
        assert_eq!(CALLERS.iter().map(unmeasured).collect::<Vec<_>>(), [0, 0, 0, 0, 2, 3, 1]);
        let wrong = |caller| wrong_answer(caller, "avx2 gave 3 for 2").code;
        assert_eq!(CALLERS.iter().map(wrong).collect::<Vec<_>>(), [1, 1, 0, 1, 1, 2, 1]);
    }

    #[test]
    fn a_line_has_code_name_and_numbers_and_fits() {
        let fails = |item| line(&judged(GateVerdict::Fail, vec![item]));
        let told = "cpudyno:BW memory.triad 187 of 412GB/s (63 peers) DIMM?";
        assert_eq!(fails(triad(GateState::Fails)), told);
        let why =
            Some("turbo: -5.0 % with 16 active\n(3514 of 3700 \"MHz\") 44 °C | µs ∞".to_owned());
        let words = GateItem { why, ..item(GateCode::Clk, "turbo", GateState::Fails) };
        let told = "cpudyno:CLK turbo: -5.0 % with 16 active (3514 of 3700 MHz) 44 deg C / us ?";
        assert_eq!(fails(words), told);
        let long = GateItem { name: "µ".repeat(300), ..triad(GateState::Fails) };
        let cut = fails(long);
        assert!(cut.len() == LINE_MAX && cut.ends_with("..") && cut.is_ascii(), "{cut}");
        let mut simulated = judged(GateVerdict::Fail, vec![triad(GateState::Fails)]);
        simulated.run.simulated = Some("4c".to_owned());
        assert!(line(&simulated).starts_with("cpudyno:BW SIMULATED memory.triad "));
        let items = vec![
            triad(GateState::Warns),
            item(GateCode::Clk, "clock", GateState::NotJudged),
            item(GateCode::Clk, "clock", GateState::Holds),
        ];
        let told =
            "cpudyno:OK 1 hold, 1 not judged, 1 warn: BW memory.triad 187 of 412GB/s (63 pe..";
        assert_eq!(line(&judged(GateVerdict::Pass, items)), told);
        let few = GateItem {
            why: Some("7 earlier records are too few".to_owned()),
            ..item(GateCode::Cfg, "peers", GateState::CannotJudge)
        };
        let told = "cpudyno:NONE 7 earlier records are too few";
        assert_eq!(line(&judged(GateVerdict::CannotJudge, vec![few])), told);
    }

    #[test]
    fn what_other_work_may_have_slowed_down_is_noise() {
        let slow = judged(GateVerdict::CannotJudge, vec![triad(GateState::CannotJudge)]);
        let prolog = answer(find("slurm-prolog").unwrap(), &slow);
        assert_eq!((prolog.code, prolog.verdict), (0, GateVerdict::CannotJudge));
        let told = "cpudyno:NOISE memory.triad 187 of 412GB/s (63 peers) in a disturbed run";
        assert_eq!(prolog.text, told);
    }

    #[test]
    fn numbers_that_look_alike_have_all_their_digits() {
        let told = |a, b| beside(a, b).unwrap();
        assert_eq!(told("0.5002 cycles", "0.505 cycles"), "0.50 of 0.51cycles");
        assert_eq!(told("0.5052 cycles", "0.505 cycles"), "0.5052 of 0.505cycles");
        assert_eq!(told("99.81 GB/s", "99.84 GB/s"), "99.81 of 99.84GB/s");
        assert_eq!(told("999 MB/s", "1.2 GB/s"), "999MB/s of 1.20GB/s");
        assert_eq!(beside("3800 to 2900 MHz", "1 MHz"), None);
    }

    #[test]
    fn nagios_gets_a_state_and_numbers_and_programs_an_object() {
        let mut record = judged(GateVerdict::Fail, vec![triad(GateState::Fails)]);
        record.series = vec![series(["memory", "triad", "bandwidth"], "0-1", &[], &[&[187e9]])];
        let nagios = answer(find("nagios").unwrap(), &record).text;
        let told = "CRITICAL - cpudyno:BW memory.triad 187 of 412GB/s (63 peers) DIMM? | \
                    'memory.triad.bandwidth'=187000000000";
        assert_eq!(nagios, told);
        let object = answer(find("verdict").unwrap(), &record).text;
        assert_eq!(object.lines().count(), 1);
        let object: serde_json::Value = serde_json::from_str(&object).unwrap();
        assert_eq!((&object["verdict"], &object["code"]), (&"CRITICAL".into(), &"BW".into()));
        assert_eq!(object["failed"][0]["name"], "memory.triad");
        assert_eq!(object["schema"], "cpudyno.verdict/1");
        let none = unmeasured(find("verdict").unwrap(), NOISE, "busy: \"others\"").text;
        let none: serde_json::Value = serde_json::from_str(&none).unwrap();
        assert_eq!(none["verdict"], "UNKNOWN");
        assert_eq!(none["reason"], "busy: \"others\"");
    }

    #[test]
    fn numbers_have_seven_digits_and_no_exponent() {
        for (value, told) in [
            (187e9, "187000000000"),
            (1.25e-7, "0.000000125"),
            (3.706_123_456, "3.706123"),
            (0.0, "0"),
            (1e-30, "0"),
        ] {
            assert_eq!(digits(value), told);
        }
    }

    #[test]
    fn the_page_on_callers_has_these_rows_and_codes() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/gate.md");
        let page = std::fs::read_to_string(path).unwrap();
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        for Caller { word, who, ends, codes, acts, .. } in CALLERS {
            let Codes { passes, warns, fails, cannot_judge } = codes;
            let row = format!(
                "| `{word}` | {who} | {} s | {passes} | {warns} | {fails} | {cannot_judge} | {acts} |",
                ends.0
            );
            assert!(rows.contains(&row.as_str()), "{row}");
        }
        for code in GateCode::ALL {
            let begin = format!("| `{}` | ", code.word());
            assert!(rows.iter().any(|row| row.starts_with(&begin)), "{begin}");
        }
    }
}
