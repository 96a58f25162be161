//! What is right: each task's questions, and the answers that follow from the machine's description.

mod cgroup;
mod doctor;
mod health;
mod hotplug;
mod measure;
mod numa;
mod pmu;
mod settings;
mod topology;

use std::fmt::Display;

use serde_json::Value;

use crate::boot::Run;
use crate::machine::Machine;
use crate::replies::{Replies, Reply};

/// What a guest does, and what must come of it.
pub(crate) struct Task {
    name: &'static str,
    /// What the guest runs.
    pub(crate) script: &'static str,
    judge: fn(&mut Judge<'_>),
}

/// All tasks.
const TASKS: &[Task] = &[
    Task {
        name: "facts",
        script: include_str!("../../guest/tasks/facts.sh"),
        judge: |judge| {
            topology::judge(judge);
            doctor::judge(judge);
        },
    },
    Task { name: "numa", script: include_str!("../../guest/tasks/numa.sh"), judge: numa::judge },
    Task {
        name: "settings",
        script: include_str!("../../guest/tasks/settings.sh"),
        judge: settings::judge,
    },
    Task {
        name: "cgroup2",
        script: include_str!("../../guest/tasks/cgroup2.sh"),
        judge: cgroup::version2,
    },
    Task {
        name: "cgroup1",
        script: include_str!("../../guest/tasks/cgroup1.sh"),
        judge: cgroup::version1,
    },
    Task { name: "pmu", script: include_str!("../../guest/tasks/pmu.sh"), judge: pmu::judge },
    Task {
        name: "measure",
        script: include_str!("../../guest/tasks/measure.sh"),
        judge: measure::judge,
    },
    Task {
        name: "sheet",
        script: include_str!("../../guest/tasks/sheet.sh"),
        judge: measure::sheet,
    },
    Task {
        name: "hotplug",
        script: include_str!("../../guest/tasks/hotplug.sh"),
        judge: hotplug::judge,
    },
    Task {
        name: "isolated",
        script: include_str!("../../guest/tasks/isolated.sh"),
        judge: hotplug::isolated,
    },
    Task { name: "smt", script: include_str!("../../guest/tasks/smt.sh"), judge: hotplug::smt },
    Task { name: "lock", script: include_str!("../../guest/tasks/lock.sh"), judge: hotplug::lock },
    Task { name: "oom", script: include_str!("../../guest/tasks/oom.sh"), judge: measure::oom },
    Task { name: "huge", script: include_str!("../../guest/tasks/huge.sh"), judge: measure::huge },
    Task {
        name: "taken",
        script: include_str!("../../guest/tasks/taken.sh"),
        judge: measure::taken,
    },
    Task { name: "bare", script: include_str!("../../guest/tasks/bare.sh"), judge: measure::bare },
    Task {
        name: "clock",
        script: include_str!("../../guest/tasks/clock.sh"),
        judge: measure::clock,
    },
    Task {
        name: "suspend",
        script: include_str!("../../guest/tasks/suspend.sh"),
        judge: measure::suspend,
    },
    Task {
        name: "budgets",
        script: include_str!("../../guest/tasks/budgets.sh"),
        judge: measure::budgets,
    },
    Task {
        name: "rounds",
        script: include_str!("../../guest/tasks/rounds.sh"),
        judge: measure::rounds,
    },
];

pub(crate) fn task(name: &str) -> Option<&'static Task> {
    TASKS.iter().find(|task| task.name == name)
}

/// One answer held against what is right.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The label of the command.
    pub(crate) label: String,
    /// What was asked.
    pub(crate) about: String,
    pub(crate) expected: String,
    pub(crate) said: String,
    pub(crate) right: bool,
}

impl Answer {
    /// What `open.toml` calls it.
    pub(crate) fn id(&self) -> String {
        format!("{}: {}", self.label, self.about)
    }
}

/// Judges everything that a machine said.
pub(crate) fn of(machine: &Machine, run: &Run, replies: &Replies) -> Vec<Answer> {
    let mut judge = Judge { machine, replies, answers: Vec::new() };
    health::judge(&mut judge, run);
    for task in machine.tasks.iter().filter_map(|name| task(name)) {
        (task.judge)(&mut judge);
    }
    judge.answers
}

/// Holds answers against what is right.
pub(crate) struct Judge<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) replies: &'a Replies,
    answers: Vec<Answer>,
}

impl Judge<'_> {
    /// Notes an answer.
    pub(crate) fn holds(
        &mut self,
        label: &str,
        about: impl Into<String>,
        expected: impl Into<String>,
        said: impl Display,
        right: bool,
    ) {
        let (label, about, expected) = (label.to_owned(), about.into(), expected.into());
        self.answers.push(Answer { label, about, expected, said: brief(&said.to_string()), right });
    }

    /// It must be this.
    pub(crate) fn equal<T: PartialEq + Display>(
        &mut self,
        label: &str,
        about: impl Into<String>,
        expected: &T,
        said: &T,
    ) {
        self.holds(label, about, expected.to_string(), said, expected == said);
    }

    /// What the command answered; that it was never asked, or did not end, is one wrong answer.
    pub(crate) fn reply(&mut self, label: &str) -> Option<Reply> {
        let reply = self.replies.asked.get(label).cloned();
        let is_noted = |answer: &Answer| answer.label == label && answer.about == "answer";
        if reply.is_none() && !self.answers.iter().any(is_noted) {
            self.holds(label, "answer", "an answer", "nothing: the command did not end", false);
        }
        reply
    }

    /// The record that the command printed; null where it printed none, which is a wrong answer.
    pub(crate) fn record(&mut self, label: &str) -> Value {
        let Some(reply) = self.reply(label) else { return Value::Null };
        serde_json::from_str(&reply.output).unwrap_or_else(|_| {
            self.holds(label, "record", "JSON", everything(&reply), false);
            Value::Null
        })
    }

    /// The record that a command wrote to a file; null where it wrote none, which is a wrong answer.
    pub(crate) fn noted_record(&mut self, note: &str) -> Value {
        serde_json::from_str(self.note(note)).unwrap_or_else(|_| {
            self.holds(note, "record", "a file with JSON", "no such file", false);
            Value::Null
        })
    }

    /// It must end with one of these exit codes.
    pub(crate) fn ends(&mut self, label: &str, codes: &[i32]) {
        let Some(reply) = self.reply(label) else { return };
        let expected: Vec<_> = codes.iter().map(ToString::to_string).collect();
        let said = format!("{}: {}", reply.code, everything(&reply));
        self.holds(label, "exit code", expected.join(" or "), said, codes.contains(&reply.code));
    }

    /// It must end with 0 where anything was measured, and with 3 where its page says that nothing was, as when an emulated
    /// machine is too slow for its budget.
    pub(crate) fn ends_as_measured(&mut self, label: &str) {
        let Some(reply) = self.reply(label) else { return };
        let is_nothing = everything(&reply).contains("Nothing was measured");
        self.ends(label, &[if is_nothing { 3 } else { 0 }]);
    }

    /// Its page, or its message, must have this text.
    pub(crate) fn says(&mut self, label: &str, text: &str) {
        self.line(label, text, true);
    }

    /// Neither its page nor its message may have this text.
    pub(crate) fn never_says(&mut self, label: &str, text: &str) {
        self.line(label, text, false);
    }

    fn line(&mut self, label: &str, text: &str, wanted: bool) {
        let Some(reply) = self.reply(label) else { return };
        let page = everything(&reply);
        let line = page.lines().find(|line| line.contains(text));
        let said = line.unwrap_or("nothing of it");
        let (about, expected) = if wanted {
            (format!("says `{text}`"), text)
        } else {
            (format!("does not say `{text}`"), "nothing of it")
        };
        self.holds(label, about, expected, said, line.is_some() == wanted);
    }

    /// What the kernel said.
    pub(crate) fn note(&self, name: &str) -> &str {
        self.replies.notes.get(name).map_or("(not noted)", |text| text)
    }
}

/// Both streams of a command.
pub(crate) fn everything(reply: &Reply) -> String {
    [reply.output.as_str(), reply.errors.as_str()].join("")
}

/// A text without its middle, where it is long.
fn brief(text: &str) -> String {
    const HALF: usize = 300;
    let letters: Vec<char> = text.trim().chars().collect();
    if letters.len() <= 2 * HALF {
        return letters.into_iter().collect();
    }
    let part = |part: &[char]| part.iter().collect::<String>();
    format!("{} ... {}", part(&letters[..HALF]), part(&letters[letters.len() - HALF..]))
}

/// What a fact, a capability or a condition of a record says: its value, or the reason for its absence with the
/// remedy.
pub(crate) fn fact(record: &Value, id: &str) -> String {
    let places = ["/machine/facts", "/machine/capabilities", "/conditions/before"];
    let rows = places.iter().filter_map(|place| record.pointer(place)?.as_array()).flatten();
    let Some(row) = rows.into_iter().find(|row| row["id"] == id) else {
        return "(no such row)".to_owned();
    };
    told(&row["value"])
}

/// A value as text.
pub(crate) fn told(value: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value.get("unavailable") {
        Some(absent) => {
            let remedy = absent.get("remedy").filter(|remedy| !remedy.is_null());
            let remedy = remedy.map(|remedy| format!(" -> {}", text(remedy))).unwrap_or_default();
            format!("unavailable: {}{remedy}", text(&absent["why"]))
        }
        None => value.get("value").map_or_else(|| text(value), text),
    }
}
