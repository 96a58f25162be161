//! What will be written: every change with the value that is there now.

use machine::Machine;
use model::{CpuSet, Obstacle, Unavailable};

use crate::ask::Asked;
use crate::error::Error;
use crate::object::Object;
use crate::port::Levers;
use crate::rows::{Lever, Loss, Values};
use crate::targets::{self, Drivers, Of, Target};

/// One change.
#[derive(Debug, Clone)]
pub struct Change {
    /// The setting, as it was asked for.
    pub setting: String,
    /// The row.
    pub lever: &'static Lever,
    /// Whose setting it is.
    pub of: Of,
    /// What is written to.
    pub object: Object,
    /// What is there.
    pub former: String,
    /// What is to be there.
    pub wanted: String,
    /// What a write changes, too, and what is there; absent ones are left out.
    pub followers: Vec<(Object, String)>,
}

/// Changes in the order in which they are made.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Those that change something.
    pub changes: Vec<Change>,
    /// Settings that are as they should be already.
    pub already: Vec<Change>,
    /// What to know before it is done.
    pub remarks: Vec<String>,
}

impl Plan {
    /// What it takes to set what was asked for; nothing is written.
    ///
    /// What cannot be undone is refused unless `force` is given.
    pub fn new(
        machine: &Machine,
        levers: &dyn Levers,
        asked: &[Asked],
        force: bool,
    ) -> Result<Plan, Error> {
        let drivers = Drivers::of(machine);
        let mut plan = Plan::default();
        for asked in asked {
            plan.add(machine, levers, &drivers, asked, force)?;
        }
        Ok(plan)
    }

    /// Everything that A and B are to have: where only one of them was asked for something, the other
    /// one has what is there now.
    pub fn arms(
        machine: &Machine,
        levers: &dyn Levers,
        asked: [&[Asked]; 2],
        force: bool,
    ) -> Result<([Vec<Change>; 2], Vec<String>), Error> {
        let [a, b] = asked.map(|asked| Plan::new(machine, levers, asked, force));
        let (a, b) = (a?, b?);
        let mut remarks = a.remarks.clone();
        remarks.extend(b.remarks.iter().filter(|remark| !a.remarks.contains(remark)).cloned());
        let all = |plan: &Plan| -> Vec<Change> {
            plan.changes.iter().chain(&plan.already).cloned().collect()
        };
        let with = |mine: Vec<Change>, other: &[Change]| -> Vec<Change> {
            let lacks = |change: &&Change| !mine.iter().any(|own| own.object == change.object);
            let as_it_is = |c: &Change| Change { wanted: c.former.clone(), ..c.clone() };
            let more: Vec<Change> = other.iter().filter(lacks).map(as_it_is).collect();
            mine.into_iter().chain(more).collect()
        };
        let (a, b) = (all(&a), all(&b));
        Ok(([with(a.clone(), &b), with(b, &a)], remarks))
    }

    fn add(
        &mut self,
        machine: &Machine,
        levers: &dyn Levers,
        drivers: &Drivers,
        asked: &Asked,
        force: bool,
    ) -> Result<(), Error> {
        let targets = targets_of(machine, drivers, asked)?;
        let before = self.changes.len();
        for target in targets {
            let change = change(machine, asked, target)?;
            permitted(levers, asked, &change.object)?;
            let list =
                if change.former == change.wanted { &mut self.already } else { &mut self.changes };
            list.push(change);
        }
        if self.changes.len() == before {
            return Ok(());
        }
        if let Some(rule) = (asked.lever.rule)(drivers) {
            self.remarks.push(format!("`{}`: {rule}", asked.name));
        }
        self.lose(machine, asked, force)
    }

    fn lose(&mut self, machine: &Machine, asked: &Asked, force: bool) -> Result<(), Error> {
        let why = match asked.lever.loses {
            None => return Ok(()),
            Some(Loss::Taint) => {
                self.remarks.push(format!(
                    "`{}`: writing a register taints the kernel until it starts again",
                    asked.name
                ));
                return Ok(());
            }
            Some(Loss::Bindings) => bound(machine, &self.leaving(machine)),
        };
        match why {
            Some(why) if force => self.remarks.push(format!("`{}`: {why}", asked.name)),
            Some(why) => return Err(Error::Irreversible { setting: asked.name.clone(), why }),
            None => {}
        }
        Ok(())
    }

    /// The CPUs that would be switched off.
    fn leaving(&self, machine: &Machine) -> CpuSet {
        let off = |change: &Change| match (&change.of, change.lever.id, &*change.wanted) {
            (Of::Cpu(cpu), "online", "0") => CpuSet::from_iter([*cpu]),
            (_, "smt", "off") => targets::online(machine).difference(&first_threads(machine)),
            _ => CpuSet::default(),
        };
        self.changes.iter().flat_map(|change| off(change).iter().collect::<Vec<_>>()).collect()
    }
}

/// The first thread of each core.
fn first_threads(machine: &Machine) -> CpuSet {
    let first = |cpu| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list");
        let siblings: CpuSet = machine.tree.read(&path).ok()?.parse().ok()?;
        siblings.iter().next()
    };
    targets::online(machine).iter().filter_map(first).collect()
}

fn absent(asked: &Asked, why: impl Into<String>, remedy: Option<String>) -> Error {
    Error::Absent { setting: asked.name.clone(), why: why.into(), remedy }
}

fn targets_of(machine: &Machine, drivers: &Drivers, asked: &Asked) -> Result<Vec<Target>, Error> {
    if let Some(why) = asked.lever.unknown_here(drivers) {
        return Err(absent(asked, why, None));
    }
    if let Some(cpus) = &asked.cpus {
        let beyond = cpus.difference(&targets::present(machine));
        if !beyond.is_empty() {
            let word = if beyond.len() == 1 { "is no CPU" } else { "are no CPUs" };
            return Err(absent(asked, format!("there {word} {beyond}"), None));
        }
    }
    let targets =
        targets::targets(machine, asked.lever, asked.state.as_deref(), asked.cpus.as_ref());
    if targets.is_empty() {
        return Err(absent(asked, none_there(machine, asked), None));
    }
    Ok(targets)
}

fn none_there(machine: &Machine, asked: &Asked) -> String {
    match &asked.state {
        Some(state) => {
            let cpu = targets::online(machine).iter().next().unwrap_or(model::CpuId(0));
            let known: Vec<String> =
                targets::states(machine, cpu).into_iter().map(|state| state.name).collect();
            match known.as_slice() {
                [] => "the kernel manages no idle states here".to_owned(),
                known => format!("there is no idle state {state}, but {}", known.join(", ")),
            }
        }
        None => "this machine has none".to_owned(),
    }
}

fn change(machine: &Machine, asked: &Asked, target: Target) -> Result<Change, Error> {
    let former = target.object.read(machine).map_err(|reason| unreadable(asked, reason))?;
    if let Some(why) = asked.lever.stuck_at(&former) {
        return Err(absent(asked, why, None));
    }
    let wanted = wanted(machine, asked, &target, &former)?;
    let held = |object: Object| object.read(machine).ok().map(|text| (object, text));
    let followers = target.followers.into_iter().filter_map(held).collect();
    Ok(Change {
        setting: asked.name.clone(),
        lever: asked.lever,
        of: target.of,
        object: target.object,
        former,
        wanted,
        followers,
    })
}

fn unreadable(asked: &Asked, reason: Unavailable) -> Error {
    match reason.obstacle {
        Obstacle::Permission => Error::Rights { setting: asked.name.clone(), why: reason.why },
        _ => absent(asked, reason.why, reason.remedy),
    }
}

fn permitted(levers: &dyn Levers, asked: &Asked, object: &Object) -> Result<(), Error> {
    levers.permits(object).map_err(|error| {
        let why = format!("opening {object} to write: {}", sys::errno::words(&error));
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                Error::Rights { setting: asked.name.clone(), why }
            }
            std::io::ErrorKind::ReadOnlyFilesystem => absent(
                asked,
                why,
                Some(
                    "the files are mounted read-only, as in containers: set it on the host".into(),
                ),
            ),
            _ => absent(asked, why, None),
        }
    })
}

/// The text that is written for a value.
fn wanted(
    machine: &Machine,
    asked: &Asked,
    target: &Target,
    former: &str,
) -> Result<String, Error> {
    let typed = asked.value.as_str();
    let refused =
        |why: String| Error::Value { setting: asked.name.clone(), value: typed.to_owned(), why };
    let one_of = |words: Vec<&str>| {
        if words.contains(&typed) {
            return Ok(typed.to_owned());
        }
        let near = model::name::did_you_mean(typed, words.iter().copied());
        let near = near.map_or(String::new(), |near| format!(", did you mean `{near}`?"));
        Err(refused(format!("it takes {}{near}", words.join(", "))))
    };
    match asked.lever.values {
        Values::Words(words) => one_of(words.to_vec()),
        Values::Listed(_) => {
            let list = target.listed.as_ref().and_then(|path| machine.tree.read(path).ok());
            match &list {
                Some(list) => one_of(list.split_whitespace().collect()),
                None => Ok(typed.to_owned()),
            }
        }
        Values::Bracketed => {
            let Object::File(path) = &target.object else { return Ok(typed.to_owned()) };
            let text = machine.tree.read(path).unwrap_or_default();
            one_of(text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect())
        }
        Values::Switch { on, off } => match typed {
            "on" | "yes" | "true" => Ok(on.to_owned()),
            "off" | "no" | "false" => Ok(off.to_owned()),
            _ => Err(refused("it takes on, off".to_owned())),
        },
        Values::Kilohertz => kilohertz(typed).map(|khz| khz.to_string()).ok_or_else(|| {
            refused("it takes a frequency with a unit, such as 2.4GHz or 2400MHz".to_owned())
        }),
        // What forbids all idle states is no number.
        Values::Number { .. }
            if typed == "n/a"
                && former.parse::<u64>().is_ok()
                && asked.lever.id == "resume_latency" =>
        {
            Ok(typed.to_owned())
        }
        Values::Number { min, max, unit } => {
            match typed.strip_suffix(unit).unwrap_or(typed).parse::<u64>() {
                Ok(number) if (min..=max).contains(&number) => Ok(number.to_string()),
                _ => Err(refused(format!("it takes a whole number from {min} to {max}"))),
            }
        }
    }
}

/// Kilohertz of `2.4GHz`, `2400MHz` or `2400000kHz`.
fn kilohertz(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = [("ghz", 1e6), ("mhz", 1e3), ("khz", 1.0)]
        .into_iter()
        .find_map(|(suffix, unit)| Some((lower.strip_suffix(suffix)?.trim(), unit)))?;
    let number: f64 = number.parse().ok()?;
    let khz = (number * unit).round();
    (khz.is_finite() && (1.0..1e9).contains(&khz)).then_some(khz as u64)
}

/// Who is bound to these CPUs, in words; nobody: none.
fn bound(machine: &Machine, leaving: &CpuSet) -> Option<String> {
    if leaving.is_empty() {
        return None;
    }
    let online = targets::online(machine);
    let names = |path: &str| machine.tree.list(path).unwrap_or_default();
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    // Who may run everywhere loses nothing.
    let touched = |list: &str| -> bool {
        let cpus: CpuSet = list.trim().parse().unwrap_or_default();
        cpus != online
            && !online.difference(&cpus).is_empty()
            && !cpus.intersection(leaving).is_empty()
    };
    let allowed = |pid: &String| {
        let status = machine.tree.read(&format!("/proc/{pid}/status")).ok()?;
        let field = |key: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(key))
                .map(|text| text.trim().to_owned())
        };
        // Threads of the kernel belong to a CPU, and come and go with it.
        let own =
            machine.tree.read(&format!("/proc/{pid}/cmdline")).is_ok_and(|text| !text.is_empty());
        let list = field("Cpus_allowed_list:").filter(|list| own && touched(list))?;
        Some(format!("{} ({}, CPUs {list})", field("Name:")?, pid))
    };
    let tasks: Vec<String> =
        names("/proc").iter().filter(|n| is_number(n)).filter_map(allowed).collect();
    let irq = |number: &&String| {
        machine
            .tree
            .read(&format!("/proc/irq/{number}/smp_affinity_list"))
            .is_ok_and(|list| touched(&list))
    };
    let numbers = names("/proc/irq");
    let irqs = numbers.iter().filter(|n| is_number(n)).filter(irq).count();
    if tasks.is_empty() && irqs == 0 {
        return None;
    }
    let word = if leaving.len() == 1 { "CPU" } else { "CPUs" };
    let mut what = Vec::new();
    if !tasks.is_empty() {
        /// So many are named.
        const NAMED: usize = 3;
        let more = tasks.len().saturating_sub(NAMED);
        let named = tasks.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        what.push(format!("processes are bound there and lose that for good: {named}{more}"));
    }
    if irqs > 0 {
        what.push(format!("{irqs} interrupts are bound there and move away for good"));
    }
    Some(format!("{word} {leaving} would go offline; {}", what.join("; ")))
}
