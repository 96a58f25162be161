//! Two keys: is it the same kind of machine, and is it as it was?

use std::collections::{BTreeMap, BTreeSet};

use model::page::si;
use model::record::{KeyNumber, KeyPair, MachineKey};
use model::{Known, Obstacle};
use serde::Serialize;

use super::like::COMMON_MIN;
use super::{BY_RIGHTS, CLAIMS, id, of_machine};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyComparison {
    /// Which form this is.
    pub schema: &'static str,
    /// Whether what is measured now and then can be held against each other.
    pub verdict: KeyVerdict,
    /// Whether it is the same kind of machine.
    pub same_kind: KeyVerdict,
    /// The same in words: `same kind, clock 9 % lower`.
    pub text: String,
    /// What differs, or cannot be told, that of the kind first.
    pub differences: Vec<KeyDifference>,
    /// What differs and can be set, or comes with an update: it decides nothing.
    pub remarks: Vec<String>,
    /// The earlier key, and this one.
    pub keys: [MachineKey; 2],
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyVerdict {
    /// They are alike.
    Yes,
    /// They are not.
    No,
    /// What was measured does not tell.
    CannotTell,
}

/// One thing that differs, or of which it cannot be told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyDifference {
    /// What: a fact's id, or that of a number.
    pub id: String,
    /// Whether machines of another kind have another one.
    pub is_kind: bool,
    /// `No`: it differs; `CannotTell`: its interval reaches into the band, or one of them lacks it.
    pub alike: KeyVerdict,
    /// What it was.
    pub then: String,
    /// What it is.
    pub now: String,
    /// In words: `clock 9 % lower`.
    pub text: String,
}

impl KeyDifference {
    /// What nobody can tell.
    fn unknown(id: &str, is_kind: bool, [then, now]: [String; 2], text: String) -> KeyDifference {
        KeyDifference { id: id.to_owned(), is_kind, alike: KeyVerdict::CannotTell, then, now, text }
    }
}

/// How a number is held against an earlier one.
struct ComparedNumber {
    /// The number's id, or how those of several begin.
    id: &'static str,
    /// What people call it.
    label: &'static str,
    is_kind: bool,
    /// How far it may be from the earlier one.
    band: Band,
    /// What it means if it is lower, and if it is higher, where a word says more than a number.
    means: [Option<&'static str>; 2],
}

impl ComparedNumber {
    /// What people call the number of that id.
    fn name(&self, id: &str) -> String {
        match id::rest(id, self.id).filter(|rest| !rest.is_empty()) {
            Some(rest) if self.id == id::CACHE => {
                format!("{} in L{}", self.label, rest.split('.').next().unwrap_or_default())
            }
            Some(rest) => format!("{} of {}", self.label, printable(rest)),
            None => self.label.to_owned(),
        }
    }
}

/// What is no difference yet.
#[derive(Clone, Copy)]
enum Band {
    /// A factor: this times as much or as little.
    Factor(f64),
    /// So much more or less.
    Points(f64),
}

/// Bands are wider than what one machine does from run to run with its neighbours as they are (docs/guide/key.md has such
/// runs), and narrower than what makes results of benchmarks useless.
const ROWS: &[ComparedNumber] = &[
    // PAUSE differs between guests and hosts, and with a busy sibling; between cores by factors.
    row("cycles.pause_only", "cycles of PAUSE", true, Band::Factor(1.35), [None, None]),
    // Whole numbers of cycles, mostly up to eight: the next is 12 % away or more, and a busy sibling makes it 5 %.
    row(id::CYCLES, "cycles", true, Band::Factor(1.08), [None, None]),
    row(id::CACHE, "cycles of a pointer", true, Band::Factor(1.15), [None, None]),
    row(id::TOTAL, "memory", true, Band::Factor(1.03), [None, None]),
    row(id::CLOCK, "clock", false, Band::Factor(1.05), [None, None]),
    row(id::LAST, "latency of the last-level cache", false, Band::Factor(1.3), [None, None]),
    row(
        id::USABLE,
        "usable last-level cache",
        false,
        Band::Factor(1.6),
        [Some("neighbours use more of the cache"), Some("neighbours use less of the cache")],
    ),
    row(id::MEMORY, "latency of memory", false, Band::Factor(1.25), [None, None]),
    row(id::READ, "reads of one core", false, Band::Factor(1.25), [None, None]),
    row(
        id::LOST,
        "lost time",
        false,
        Band::Points(0.02),
        [Some("neighbours quieter"), Some("neighbours busier")],
    ),
];

const fn row(
    id: &'static str,
    label: &'static str,
    is_kind: bool,
    band: Band,
    means: [Option<&'static str>; 2],
) -> ComparedNumber {
    ComparedNumber { id, label, is_kind, band, means }
}

/// A share of time that others take is another one where it differs by more than this part of itself.
const TURNS: f64 = 0.4;

/// Numbers without which nobody can say that a machine is as it was.
pub(super) const NEEDED: &[&str] = &[id::CLOCK, id::MEMORY];

/// Holds a key against an earlier one.
pub fn compare(then: &MachineKey, now: &MachineKey) -> KeyComparison {
    let mut differences = claims(then, now, true);
    differences.extend(numbers(then, now));
    differences.extend(behaviour(then, now));
    differences.extend(pairs(then, now));
    let (conditions, remarks): (Vec<_>, Vec<_>) =
        claims(then, now, false).into_iter().partition(|it| DECIDING.contains(&it.id.as_str()));
    differences.extend(conditions);
    differences.sort_by_key(|it| (!it.is_kind, it.alike == KeyVerdict::CannotTell));
    let alike = |is_kind: bool| {
        let of = |alike| differences.iter().any(|it| it.is_kind == is_kind && it.alike == alike);
        match (of(KeyVerdict::No), of(KeyVerdict::CannotTell)) {
            (true, _) => KeyVerdict::No,
            (false, true) => KeyVerdict::CannotTell,
            (false, false) => KeyVerdict::Yes,
        }
    };
    let (same_kind, as_it_was) = (alike(true), alike(false));
    let verdict = match (same_kind, as_it_was) {
        (KeyVerdict::No, _) | (_, KeyVerdict::No) => KeyVerdict::No,
        (KeyVerdict::Yes, KeyVerdict::Yes) => KeyVerdict::Yes,
        _ => KeyVerdict::CannotTell,
    };
    let text = text([same_kind, as_it_was], &differences);
    let mut remarks: Vec<String> = remarks.into_iter().map(|it| it.text).collect();
    remarks.extend(NEEDED.iter().filter_map(|id| neither(id, then, now)));
    let keys = [then.clone(), now.clone()];
    let schema = "cpudyno.key-comparison/1";
    KeyComparison { schema, verdict, same_kind, text, differences, remarks, keys }
}

/// What is no kind and decides nevertheless.
const DECIDING: &[&str] = &["cpus.usable", "cgroup.quota"];

/// What machines say of themselves.
fn claims(then: &MachineKey, now: &MachineKey, of_kind: bool) -> Vec<KeyDifference> {
    let rows = || CLAIMS.iter().filter(|(.., is_kind)| *is_kind == of_kind);
    let said = |id: &str| [then, now].map(|key| key.claims.get(id));
    let mut found: Vec<KeyDifference> = rows().filter_map(|row| claim(row, said(row.0))).collect();
    if !of_kind {
        return found;
    }
    let is_said = |id: &str| said(id).iter().all(|it| it.is_some_and(|it| it.value().is_some()));
    if !rows().any(|(id, ..)| is_said(id)) {
        let text = "nothing that they say of themselves is known of both".to_owned();
        let unknown = [String::new(), String::new()];
        found = vec![KeyDifference::unknown("claims", true, unknown, text)];
    }
    if then.simulated.is_some() != now.simulated.is_some() {
        let word = |key: &MachineKey| {
            if key.simulated.is_some() { "simulated" } else { "measured" }.to_owned()
        };
        found.insert(
            0,
            KeyDifference {
                id: "simulated".to_owned(),
                is_kind: true,
                alike: KeyVerdict::No,
                then: word(then),
                now: word(now),
                text: format!("{}, was {}", word(now), word(then)),
            },
        );
    }
    found
}

/// One thing that both say of themselves, or one of them does not.
fn claim(
    (id, label, is_kind): &(&str, &str, bool),
    said: [Option<&Known<String>>; 2],
) -> Option<KeyDifference> {
    let texts = said.map(|known| known.and_then(Known::value));
    let [then, now] = texts.map(|text| printable(text.map_or("unknown", String::as_str)));
    let (alike, text) = match texts {
        [None, None] => return None,
        [Some(a), Some(b)] => {
            let ((a, by), (b, now_by)) = (of_machine(id, a), of_machine(id, b));
            if a == b || by != now_by {
                return None;
            }
            (KeyVerdict::No, format!("{label} `{now}`, was `{then}`"))
        }
        // Without root some registers cannot be read.
        _ if BY_RIGHTS.contains(id) => return None,
        // An earlier version had fewer of them, which makes no remark.
        _ if !is_kind && said.contains(&None) => return None,
        [None, _] => (KeyVerdict::CannotTell, format!("{label} `{now}`, was unknown")),
        [_, None] => (KeyVerdict::CannotTell, format!("{label} unknown, was `{then}`")),
    };
    Some(KeyDifference { id: (*id).to_owned(), is_kind: *is_kind, alike, then, now, text })
}

/// What a key has of that id, or why it has nothing.
fn has<'a, T>(of: &'a BTreeMap<String, Known<T>>, id: &str) -> Result<&'a T, &'a str> {
    match of.get(id) {
        Some(Known::Yes(value)) => Ok(value),
        Some(Known::No { unavailable }) => Err(&unavailable.why),
        None => Err("it was not measured"),
    }
}

/// Foreign texts end on a terminal.
fn printable(text: &str) -> String {
    const LONGEST: usize = 100;
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST).collect()
}

fn row_of(id: &str) -> Option<&'static ComparedNumber> {
    ROWS.iter().find(|row| id::rest(id, row.id).is_some())
}

/// What was measured. What only one of them has is no answer.
fn numbers(then: &MachineKey, now: &MachineKey) -> Vec<KeyDifference> {
    // Where neighbours leave little of a cache, what it takes to answer is theirs as much as its own.
    let is_own = |key: &MachineKey| {
        let number = |id: &str| Some(key.numbers.get(id)?.value()?.value);
        matches!((number(id::USABLE), number(id::CLAIMED)), (Some(usable), Some(claimed)) if usable >= claimed / 2.0)
    };
    let are_own = is_own(then) && is_own(now);
    let are_quiet = [then, now].iter().all(|key| is_quiet(key));
    let number = |id: &str| -> Option<KeyDifference> {
        let row = row_of(id)?;
        // Programs that take turns on a core leave each other little of its caches.
        if row.id == id::LAST && !are_own || row.id == id::CACHE && !are_quiet {
            return None;
        }
        match [then, now].map(|key| has(&key.numbers, id)) {
            [Ok(a), Ok(b)] if a.unit == b.unit => difference((id, row), [a, b], are_quiet),
            [Err(_), Err(_)] if !NEEDED.contains(&id) || neither(id, then, now).is_some() => None,
            // How much of its behaviour must be known is asked of all of it.
            [Ok(_), Err(_)] | [Err(_), Ok(_)] if row.is_kind && row.id != id::TOTAL => None,
            both => Some(lacking((id, row), both)),
        }
    };
    let ids = then.numbers.keys().chain(now.numbers.keys()).map(String::as_str);
    let ids: BTreeSet<&str> = ids.chain(NEEDED.iter().copied()).collect();
    ids.into_iter().filter_map(number).collect()
}

/// A number that cannot be held against the other, and why.
fn lacking(
    (id, row): (&str, &ComparedNumber),
    both: [Result<&KeyNumber, &str>; 2],
) -> KeyDifference {
    let said = both.map(|number| {
        number.map_or_else(|_| "unknown".to_owned(), |it| si::format(it.value, it.unit))
    });
    let name = row.name(id);
    let text = match both {
        [_, Err(why)] => format!("{name} unknown: {}", printable(why)),
        [Err(why), _] => format!("{name} was unknown: {}", printable(why)),
        [Ok(_), Ok(_)] => format!("{name} in another unit"),
    };
    KeyDifference::unknown(id, row.is_kind, said, text)
}

/// What neither can have, for one reason, which is then no difference: in words.
fn neither(id: &str, then: &MachineKey, now: &MachineKey) -> Option<String> {
    let reason = |key: &'_ MachineKey| match key.numbers.get(id) {
        Some(Known::No { unavailable }) if unavailable.obstacle != Obstacle::Measurement => {
            Some(unavailable.why.clone())
        }
        _ => None,
    };
    let why = reason(then).filter(|why| reason(now).as_ref() == Some(why))?;
    Some(format!("{} unknown of both: {}", row_of(id)?.name(id), printable(&why)))
}

/// Whether others took little of its time.
fn is_quiet(key: &MachineKey) -> bool {
    const LOST_MAX: f64 = 0.05;
    let lost = key.numbers.get(id::LOST).and_then(Known::value);
    lost.is_some_and(|number| number.value < LOST_MAX)
}

/// How far a number is from an earlier one, and the nearest and the farthest that it may be, with its sign.
fn distance(band: Band, then: &KeyNumber, now: &KeyNumber) -> Option<[f64; 3]> {
    let ends = |number: &KeyNumber| {
        let [low, high] = number.interval.unwrap_or([number.value; 2]);
        [low.min(number.value), high.max(number.value)]
    };
    let ([a_low, a_high], [b_low, b_high]) = (ends(then), ends(now));
    let found = match band {
        Band::Factor(_) => {
            let ratio = |b: f64, a: f64| (b / a).ln();
            [ratio(now.value, then.value), ratio(b_low, a_high), ratio(b_high, a_low)]
        }
        Band::Points(_) => [now.value - then.value, b_low - a_high, b_high - a_low],
    };
    found.iter().all(|it| it.is_finite()).then_some(found)
}

fn difference(
    (id, row): (&str, &ComparedNumber),
    [then, now]: [&KeyNumber; 2],
    are_quiet: bool,
) -> Option<KeyDifference> {
    let limit = match row.band {
        Band::Factor(factor) => factor.ln(),
        // Of a machine on which others take turns, nobody knows the share to a few points.
        Band::Points(points) => points.max(TURNS * then.value.max(now.value)),
    };
    let name = row.name(id);
    let said = |number: &KeyNumber| si::format(number.value, number.unit);
    let of = |alike, text: String| KeyDifference {
        id: id.to_owned(),
        is_kind: row.is_kind,
        alike,
        then: said(then),
        now: said(now),
        text,
    };
    let Some([middle, low, high]) = distance(row.band, then, now) else {
        return Some(of(KeyVerdict::CannotTell, format!("{name}: its numbers have no ratio")));
    };
    let have_intervals = [then, now].iter().all(|it| it.interval.is_some());
    if middle.abs() <= limit {
        // That nothing was seen says nothing where nothing could be seen.
        let is_blind = !have_intervals || low < -limit && high > limit;
        let text = format!("{name} too uncertain, {} after {}", said(now), said(then));
        return (is_blind && NEEDED.contains(&id)).then(|| of(KeyVerdict::CannotTell, text));
    }
    let amount = match row.band {
        Band::Factor(_) if middle.abs() > 2f64.ln() => {
            format!(
                "{:.1} times as {}",
                middle.abs().exp(),
                if middle > 0.0 { "much" } else { "little" }
            )
        }
        Band::Factor(_) => {
            let percent = (middle.exp() - 1.0).abs() * 100.0;
            format!("{percent:.0} % {}", if middle > 0.0 { "higher" } else { "lower" })
        }
        Band::Points(_) => format!("{}, was {}", said(now), said(then)),
    };
    let plain = format!("{name} {amount}");
    let text = match row.means[usize::from(middle > 0.0)] {
        Some(means) => format!("{means} ({plain})"),
        None => plain,
    };
    // The whole interval lies beyond the band, or only its middle. Of fewer than five blocks there is none: what moves by
    // the minute is not known then, and chains have whole cycles nevertheless where nobody else used the core.
    let is_whole = are_quiet && row.id != id::CACHE || row.id == id::TOTAL;
    let is_sure = have_intervals || row.is_kind && is_whole;
    let nearest = if middle > 0.0 { low } else { -high };
    Some(if nearest > limit && is_sure {
        of(KeyVerdict::No, text)
    } else {
        of(KeyVerdict::CannotTell, format!("perhaps {text}"))
    })
}

/// How CPUs lie to each other.
fn pairs(then: &MachineKey, now: &MachineKey) -> Vec<KeyDifference> {
    let class = |key: &MachineKey, between: &str| match key.pairs.get(between) {
        Some(KeyPair { latency, class: Known::Yes(class) }) => {
            let time = latency.value().map(|it| format!(", {}", si::format(it.value, it.unit)));
            Ok((*class, class.word().to_owned() + &time.unwrap_or_default()))
        }
        Some(KeyPair { class: Known::No { unavailable }, .. }) => Err(unavailable.why.clone()),
        None => Err("it was not measured".to_owned()),
    };
    let pair = |between: &String| {
        let cores = format!("cores that the kernel calls {}", printable(between));
        let (alike, text) = match (class(then, between), class(now, between)) {
            (Ok((was, _)), Ok((is, _))) if was == is => return None,
            (Err(_), Err(_)) => return None,
            (Ok((_, was)), Ok((_, is))) => {
                (KeyVerdict::No, format!("{cores} are {is} to each other, were {was}"))
            }
            (Ok((_, was)), Err(why)) => {
                let text = format!("how {cores} lie is unknown, were {was}: {}", printable(&why));
                (KeyVerdict::CannotTell, text)
            }
            (Err(why), Ok((_, is))) => {
                let text = format!("how {cores} lay is unknown, are {is}: {}", printable(&why));
                (KeyVerdict::CannotTell, text)
            }
        };
        let said =
            |key| class(key, between).map_or_else(|_| "unknown".to_owned(), |(_, said)| said);
        let id = format!("pairs.{}", printable(between));
        Some(KeyDifference { id, is_kind: false, alike, then: said(then), now: said(now), text })
    };
    let all: BTreeSet<&String> = then.pairs.keys().chain(now.pairs.keys()).collect();
    all.into_iter().filter_map(pair).collect()
}

/// Whether enough of what instructions take is known of both, of which a spinning core tells nothing: some chains, or
/// one of more than a cycle where they call themselves the same.
fn behaviour(then: &MachineKey, now: &MachineKey) -> Option<KeyDifference> {
    let chains = |key: &MachineKey| -> BTreeSet<String> {
        let is_chain = |id: &&String| row_of(id).is_some_and(|row| row.id == id::CYCLES);
        let ids = key.numbers.keys().filter(is_chain).filter(|id| has(&key.numbers, id).is_ok());
        ids.cloned().collect()
    };
    let [of_then, of_now] = [then, now].map(chains);
    let common: Vec<&String> = of_then.intersection(&of_now).collect();
    let tells = |id: &&String| has(&then.numbers, id).is_ok_and(|it| it.value > SAME_ON_MOST);
    let is_enough =
        common.len() >= COMMON_MIN || call_themselves_alike(then, now) && common.iter().any(tells);
    (!is_enough).then(|| {
        let known = common.len();
        let text = format!("instruction latencies: {known} known of both, {COMMON_MIN} needed");
        let counts = [of_then.len(), of_now.len()].map(|count| count.to_string());
        KeyDifference::unknown("cycles", true, counts, text)
    })
}

/// Most cores add and shift in one cycle.
const SAME_ON_MOST: f64 = 1.5;

/// Whether both say the same model of themselves.
fn call_themselves_alike(then: &MachineKey, now: &MachineKey) -> bool {
    let [then, now] = [then, now].map(|key| has(&key.claims, "cpu.family_model_stepping"));
    then.is_ok() && then.ok() == now.ok()
}

/// The answer in words: what differs first, and of what cannot be told only what decides.
fn text([same_kind, as_it_was]: [KeyVerdict; 2], differences: &[KeyDifference]) -> String {
    /// More of them say nothing more.
    const MOST: usize = 4;
    let list = |is_kind: bool| {
        let of = differences.iter().filter(move |it| it.is_kind == is_kind);
        let all: Vec<&str> = of.map(|it| it.text.as_str()).collect();
        let more = all.len().saturating_sub(MOST);
        let shown = all[..all.len() - more].join(", ");
        if more > 0 { format!("{shown}, and {more} more") } else { shown }
    };
    match (same_kind, as_it_was) {
        (KeyVerdict::No, _) => format!("another kind: {}", list(true)),
        (KeyVerdict::CannotTell, KeyVerdict::No) => {
            format!("{}; whether it is the same kind is unknown: {}", list(false), list(true))
        }
        (KeyVerdict::CannotTell, _) => {
            format!("cannot tell whether it is the same kind: {}", list(true))
        }
        (KeyVerdict::Yes, KeyVerdict::Yes) => "same kind, as it was".to_owned(),
        (KeyVerdict::Yes, _) => format!("same kind, {}", list(false)),
    }
}
