//! The ports of a capture.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::isst::RecordedIsst;
use machine::links::Linked;
use machine::perf::Elsewhere;
use machine::permissions::{Permits, Question};
use machine::ports::{Cpuid, KnownHost, Machine, Msr, Tree};
use model::{CpuId, Obstacle, Reading, Unavailable};
use simulated::files::missing;
use sys::cpuid::Leaf;

use crate::captured_paths::{self, Pattern};
use crate::cpuid::key;
use crate::folded::{self, Folded, Span};
use crate::registers;
use crate::text::{Answer, PLACE};
use crate::write::{CPUINFO, device};

/// What stands in a capture.
pub(crate) struct Capture {
    pub(crate) captured: String,
    pub(crate) by: String,
    pub(crate) is_root: bool,
    pub(crate) affinity: Answer,
    pub(crate) simulated: Option<String>,
    pub(crate) walked: Vec<Pattern>,
    /// Files by path, and folders that end in a slash.
    pub(crate) tree: Folded<String, Answer>,
    pub(crate) cpuinfo: Option<String>,
    pub(crate) cpuid: Folded<(u32, u32), Leaf>,
    /// Where no CPU was asked by its number.
    pub(crate) cpuid_of_any: BTreeMap<(u32, u32), Leaf>,
    pub(crate) xcr0: Option<u64>,
    pub(crate) registers: Folded<u32, Answer>,
    pub(crate) permits: BTreeMap<String, Answer>,
}

/// The machine that answers as the captured one did.
pub(crate) fn machine(capture: Capture) -> Machine {
    let Capture { captured, by, is_root, affinity, .. } = capture;
    let (simulated, kind) = match &capture.simulated {
        Some(name) => (simulated::Model::named(name).ok(), "a capture of a SIMULATED machine"),
        None => (None, "a capture"),
    };
    let elsewhere = format!("{kind}, taken {captured} by {by}");
    let tree = Arc::new(CapturedTree {
        walked: capture.walked,
        files: capture.tree,
        cpuinfo: capture.cpuinfo,
    });
    let msr = Arc::new(CapturedRegisters(capture.registers));
    Machine {
        tree: Box::new(Linked::new(Arc::clone(&tree))),
        cpuid: Box::new(Leaves {
            of: capture.cpuid,
            of_any: capture.cpuid_of_any,
            xcr0: capture.xcr0,
        }),
        isst: Arc::new(RecordedIsst::new(tree, msr.clone())),
        msr,
        permits: Box::new(Answers(capture.permits)),
        perf: Box::new(Elsewhere(elsewhere.clone())),
        host: Box::new(then(captured, is_root, &affinity)),
        elsewhere: Some(elsewhere),
        simulated,
        worker: None,
    }
}

/// What was not asked when the capture was taken. Another capture helps only if this version would
/// ask.
fn not_captured(what: &str, asked_now: bool) -> Unavailable {
    let why = format!("the capture does not hold {what}");
    let unavailable = Unavailable::new(Obstacle::Cpudyno, what, why);
    if asked_now {
        unavailable
            .with_remedy("capture the machine again with this version: `cpudyno capture FILE`")
    } else {
        unavailable
    }
}

struct CapturedTree {
    walked: Vec<Pattern>,
    files: Folded<String, Answer>,
    cpuinfo: Option<String>,
}

impl CapturedTree {
    fn answer(&self, path: &str) -> Option<&Answer> {
        let (template, number) = folded::split(path);
        self.files.get(template.as_str(), number.unwrap_or(0))
    }

    /// Names and numbers of what lies below a folder, which ends in a slash.
    fn below(&self, folder: &str) -> impl Iterator<Item = (&str, &[Span])> + use<'_> {
        let (template, number) = folded::split(folder);
        self.files
            .from(template.as_str())
            .map_while(move |(key, spans)| Some((key.strip_prefix(&template)?, spans)))
            .filter(move |(_, spans)| number.is_none_or(|n| folded::find(spans, n).is_some()))
            .filter(|(rest, _)| !rest.is_empty())
    }

    /// Why there is no such path.
    fn absent(&self, path: &str) -> Unavailable {
        if self.walked.iter().any(|pattern| pattern.covers(path)) {
            return missing(path);
        }
        let asked_now = captured_paths::patterns().iter().any(|pattern| pattern.covers(path));
        not_captured(&format!("`{path}`"), asked_now)
    }
}

impl Tree for CapturedTree {
    fn read(&self, path: &str) -> Reading<String> {
        let what = || format!("`{path}`");
        if let (CPUINFO, Some(text)) = (path, &self.cpuinfo) {
            return Ok(text.clone());
        }
        match self.answer(path) {
            Some(Answer::Text(text)) => Ok(text.clone()),
            Some(Answer::OwnNumber) => {
                Ok(folded::split(path).1.map(|number| number.to_string()).unwrap_or_default())
            }
            Some(Answer::Refused(reason)) => Err(reason.unavailable(what(), path)),
            Some(Answer::Noted) => {
                let why = format!("`{path}` is there; captures do not hold what is in it");
                Err(Unavailable::new(Obstacle::Cpudyno, what(), why))
            }
            None if self.below(&format!("{path}/")).next().is_some() => {
                let why = format!("`{path}` is a folder");
                Err(Unavailable::new(Obstacle::Hardware, what(), why))
            }
            None => Err(self.absent(path)),
        }
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        /// As in the tree of a real machine.
        const NAMES_MAX: usize = 65_536;
        let folder = format!("{}/", path.trim_end_matches('/'));
        match self.answer(&folder) {
            Some(Answer::Refused(reason)) => {
                return Err(reason.unavailable(format!("`{path}`"), path));
            }
            Some(_) => return Ok(Vec::new()),
            None => {}
        }
        let mut names: BTreeSet<String> = BTreeSet::new();
        let mut numbered: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
        for (rest, spans) in self.below(&folder) {
            let name = rest.split('/').next().unwrap_or(rest);
            if name.contains(PLACE) {
                let ranges = spans.iter().map(|span| (span.first, span.last));
                numbered.entry(name).or_default().extend(ranges);
            } else {
                names.insert(name.to_owned());
            }
        }
        if folder == "/proc/" && self.cpuinfo.is_some() {
            names.insert("cpuinfo".to_owned());
        }
        for (name, mut ranges) in numbered {
            ranges.sort_unstable();
            let mut next = 0;
            for (first, last) in ranges {
                for number in first.max(next)..=last {
                    names.insert(folded::join(name, Some(number)));
                }
                next = next.max(last.saturating_add(1));
                if names.len() > NAMES_MAX {
                    let why = format!("`{path}` holds more than 65536 names");
                    return Err(Unavailable::new(Obstacle::Cpudyno, format!("`{path}`"), why));
                }
            }
        }
        if names.is_empty() { Err(self.absent(path)) } else { Ok(names.into_iter().collect()) }
    }
}

struct Leaves {
    of: Folded<(u32, u32), Leaf>,
    of_any: BTreeMap<(u32, u32), Leaf>,
    xcr0: Option<u64>,
}

impl Cpuid for Leaves {
    fn leaf(&self, leaf: u32, subleaf: u32) -> Option<Leaf> {
        let key = key(leaf, subleaf);
        self.of.lowest(&key).or_else(|| self.of_any.get(&key)).copied()
    }

    fn leaf_of(&self, cpu: CpuId, leaf: u32, subleaf: u32) -> Option<Leaf> {
        self.of.get(&key(leaf, subleaf), cpu.0).copied()
    }

    fn xcr0(&self) -> Option<u64> {
        self.xcr0
    }
}

struct CapturedRegisters(Folded<u32, Answer>);

impl Msr for CapturedRegisters {
    fn read(&self, cpu: CpuId, register: u32) -> Reading<u64> {
        let what = format!("register {register:#x}");
        match self.0.get(&register, cpu.0) {
            Some(Answer::Text(value)) => {
                let digits = value.trim_start_matches("0x");
                u64::from_str_radix(digits, 16).map_err(|_| not_captured(&what, false))
            }
            Some(Answer::Refused(reason)) => Err(reason.unavailable(what, &device(cpu))),
            _ if self.0.has(&register) => Err(not_captured(&format!("{what} of CPU {cpu}"), false)),
            _ => {
                let asked_now = registers::TABLE.iter().any(|(number, _)| *number == register);
                Err(not_captured(&what, asked_now))
            }
        }
    }
}

struct Answers(BTreeMap<String, Answer>);

impl Permits for Answers {
    fn ask(&self, question: Question) -> Reading<String> {
        match self.0.get(question.name()) {
            Some(Answer::Text(text)) => Ok(text.clone()),
            Some(Answer::Refused(reason)) => {
                Err(reason.unavailable(question.name().to_owned(), ""))
            }
            _ => Err(not_captured(question.name(), true)),
        }
    }
}

/// The surroundings when the capture was taken. Nothing is drawn: nothing can be measured on a capture.
fn then(captured: String, is_root: bool, affinity: &Answer) -> KnownHost {
    let what = "CPU affinity";
    let affinity = match affinity {
        Answer::Text(list) => list.parse().map_err(|_| not_captured(what, true)),
        Answer::Refused(reason) => Err(reason.unavailable(what.to_owned(), "")),
        _ => Err(not_captured(what, true)),
    };
    KnownHost { now_utc: captured, run_id: "captured0000".to_owned(), seed: 0, affinity, is_root }
}
