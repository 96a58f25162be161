//! Idle states, as the kernel's driver states them.
//!
//! # Source
//! Linux, `Documentation/admin-guide/pm/cpuidle.rst`.

use std::collections::BTreeMap;

use model::record::IdleState;
use model::{CpuId, CpuSet, Obstacle, Reading, Unavailable};

use super::cpuinfo::Architecture;
use super::groups::{CpuGroup, groups};
use super::kernel::parameters;
use super::platform::{hidden_from_guest, no_file, unknown_ground};
use super::topology::online;
use crate::facts::fact_cache::Survey;
use crate::facts::fact_table::{FactRow, row, text};
use crate::parse::first_number;
use crate::ports::Machine;

#[rustfmt::skip]
pub(super) const ROWS: &[FactRow] = &[
    row("idle.driver", "Idle driver", |s| driver(s).map(text)),
    row("idle.states", "Idle states (exit latency/residency)",
        |s| Ok(text(in_words(s.idle_states()?)))),
    row("idle.haltpoll", "Polling before a halt", |s| haltpoll(s).map(text)),
];

const CPU: &str = "/sys/devices/system/cpu";

/// The kernel has at most 10 (`CPUIDLE_STATE_MAX`).
const STATES_MAX: u32 = 16;

/// Names of states are few; a tree may be made up.
const WORDS_MAX: usize = 32;

/// No state takes longer to leave, or is worth more waiting.
const SECONDS_MAX: f64 = 1000.0;

fn no_idle(survey: &Survey<'_>) -> Unavailable {
    let what = "idle states";
    let folder = format!("{CPU}/cpuidle");
    let driver = survey.tree.read(&format!("{folder}/current_driver"));
    if survey.is_copied() && !driver.is_ok_and(|driver| driver == "none") {
        return no_file(survey, "", &folder);
    }
    if survey.is_guest() {
        return hidden_from_guest(survey, what);
    }
    switched_off(survey).absence(what, "the kernel shows no idle states here")
}

/// Whether the kernel was told to do without idle states.
pub(crate) struct SwitchedOff(Reading<Vec<String>>);

/// By its command line. s390 and SPARC have no drivers of idle states: nothing is switched off there.
///
/// # Source
/// The kernel's `Documentation/admin-guide/kernel-parameters.txt`, and `select CPU_IDLE` in its
/// `arch/*/Kconfig`.
pub(crate) fn switched_off(survey: &Survey<'_>) -> SwitchedOff {
    /// Whole words.
    const WORDS: &[&str] = &[
        "cpuidle.off=1",
        "idle=halt",
        "idle=poll",
        "intel_idle.max_cstate=0",
        "nohlt",
        "processor.max_cstate=0",
    ];
    if matches!(survey.architecture(), Some(Architecture::S390 | Architecture::Sparc)) {
        return SwitchedOff(Ok(Vec::new()));
    }
    let line = survey.tree.read("/proc/cmdline");
    SwitchedOff(line.map(|line| {
        let given = parameters(&line).filter(|word| WORDS.contains(word));
        given.map(|word| format!("`{word}`")).collect()
    }))
}

impl SwitchedOff {
    /// Why there are none, and what helps where something does.
    pub(crate) fn absence(&self, what: &str, why: &str) -> Unavailable {
        let absent = |reason: String| {
            Unavailable::new(Obstacle::Permission, what, format!("{why}: {reason}"))
        };
        match &self.0 {
            Ok(given) if given.is_empty() => {
                let reason = "it has no driver for this CPU; no parameter forbids them";
                Unavailable { obstacle: Obstacle::Hardware, ..absent(reason.to_owned()) }
            }
            Ok(given) => {
                let given = given.join(" and ");
                absent(format!("it was booted with {given}"))
                    .with_remedy(format!("boot without {given}"))
            }
            Err(_) => {
                let reason = "it has no driver for this CPU, or was booted without one";
                absent(reason.to_owned()).with_remedy(
                    "where `cat /proc/cmdline` shows `cpuidle.off=1`, `idle=poll` or `nohlt`, boot \
                     without them",
                )
            }
        }
    }
}

fn driver(survey: &Survey<'_>) -> Reading<String> {
    let read = |file: &str| survey.tree.read(&format!("{CPU}/cpuidle/{file}"));
    let driver = read("current_driver").map_err(|error| match error.obstacle {
        Obstacle::Permission => error,
        _ => no_idle(survey),
    })?;
    if driver.is_empty() || driver == "none" {
        return Err(no_idle(survey));
    }
    let governor = read("current_governor").or_else(|_| read("current_governor_ro"));
    Ok(governor.map_or_else(|_| driver.clone(), |name| format!("{driver}, governor {name}")))
}

/// How long a guest polls before it halts, which costs an exit to the host.
///
/// # Source
/// Linux, `Documentation/virt/guest-halt-polling.rst`.
fn haltpoll(survey: &Survey<'_>) -> Reading<String> {
    const PARAMETERS: &str = "/sys/module/haltpoll/parameters";
    let absent =
        |why: String| Err(Unavailable::new(Obstacle::Permission, "polling before a halt", why));
    if !survey.is_guest() {
        let unknown = unknown_ground(survey);
        let of_guests = "only guests poll before they halt";
        return absent(unknown.map_or_else(
            || of_guests.to_owned(),
            |reason| {
                format!(
                    "{of_guests}, and whether this machine is a guest is unknown: {}",
                    reason.why
                )
            },
        ));
    }
    let read = |file: &str| survey.tree.read(&format!("{CPU}/cpuidle/{file}"));
    let governor = read("current_governor").or_else(|_| read("current_governor_ro"));
    let hidden = || hidden_from_guest(survey, "polling before a halt");
    let driver = read("current_driver").map_err(|_| hidden())?;
    let governor = governor.map_err(|_| hidden())?;
    if driver == "none" || governor != "haltpoll" {
        return absent(format!(
            "the guest halts right away: idle driver `{driver}`, governor `{governor}`"
        ));
    }
    let most = survey.tree.read(&format!("{PARAMETERS}/guest_halt_poll_ns"))?;
    let nanoseconds = first_number(PARAMETERS, &most)?;
    if nanoseconds <= 0.0 {
        return absent("the guest halts right away: guest_halt_poll_ns is 0".to_owned());
    }
    let time = if nanoseconds < 1e3 {
        format!("{nanoseconds:.0} ns")
    } else {
        format!("{:.0} us", nanoseconds / 1e3)
    };
    Ok(format!("for up to {time} (guest_halt_poll_ns)"))
}

/// The states of all CPUs, the shallowest first; kinds of CPUs may have states of their own.
pub(crate) fn idle_states(survey: &Survey<'_>) -> Reading<Vec<IdleState>> {
    let mut states: Vec<IdleState> = Vec::new();
    let mut reason = None;
    for group in groups(survey) {
        match of_group(survey, &group) {
            Ok(more) => more.into_iter().for_each(|state| merge(&mut states, state)),
            Err(error) => reason = reason.or(Some(error)),
        }
    }
    if states.is_empty() {
        return Err(reason.unwrap_or_else(|| no_idle(survey)));
    }
    Ok(states)
}

fn merge(states: &mut Vec<IdleState>, state: IdleState) {
    let union = |a: &CpuSet, b: &CpuSet| a.iter().chain(b.iter()).collect();
    let same = |known: &&mut IdleState| {
        (&known.name, &known.description) == (&state.name, &state.description)
            && known.latency_seconds.map(f64::to_bits) == state.latency_seconds.map(f64::to_bits)
            && known.residency_seconds.map(f64::to_bits)
                == state.residency_seconds.map(f64::to_bits)
    };
    match states.iter_mut().find(same) {
        Some(known) => {
            known.cpus = union(&known.cpus, &state.cpus);
            known.disabled_on = union(&known.disabled_on, &state.disabled_on);
        }
        None => states.push(state),
    }
}

/// The states of the first CPU of a group that has any, which are those of all; who switched them off
/// differs. What one of them does not say, or what makes no sense, is missing of it alone.
fn of_group(machine: &Survey<'_>, group: &CpuGroup) -> Reading<Vec<IdleState>> {
    let of = |cpu| Some((folder(cpu), numbers(machine, &folder(cpu)).ok()?));
    let Some((folder, numbers)) = group.cpus.iter().find_map(of) else {
        return Err(no_states_of(machine, group.first()));
    };
    let state = |number: u32| {
        let read = |file: &str| machine.tree.read(&format!("{folder}/state{number}/{file}"));
        let off = machine.idle_switches().off.get(&number);
        let name = read("name").ok().filter(|name| !name.is_empty());
        IdleState {
            name: name.unwrap_or_else(|| format!("state{number}")),
            description: read("desc").unwrap_or_default(),
            latency_seconds: read("latency").ok().and_then(|text| seconds(&text)),
            residency_seconds: read("residency").ok().and_then(|text| seconds(&text)),
            cpus: group.cpus.clone(),
            disabled_on: off.map(|off| group.cpus.intersection(off)).unwrap_or_default(),
        }
    };
    Ok(numbers.into_iter().map(state).collect())
}

fn no_states_of(machine: &Survey<'_>, cpu: CpuId) -> Unavailable {
    numbers(machine, &folder(cpu)).err().unwrap_or_else(|| no_idle(machine))
}

pub(crate) fn folder(cpu: CpuId) -> String {
    format!("{CPU}/cpu{cpu}/cpuidle")
}

/// The numbers of a CPU's states, ascending: `state0` is the shallowest.
pub(crate) fn numbers(survey: &Survey<'_>, folder: &str) -> Reading<Vec<u32>> {
    let names = survey.tree.list(folder).map_err(|error| match error.obstacle {
        Obstacle::Permission => error,
        _ => no_idle(survey),
    })?;
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("state")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.truncate(STATES_MAX as usize);
    if numbers.is_empty() { Err(no_idle(survey)) } else { Ok(numbers) }
}

/// A time that a state may take: some firmware states all ones where it knows none.
fn seconds(microseconds: &str) -> Option<f64> {
    let seconds = microseconds.split_whitespace().next()?.parse::<f64>().ok()? / 1e6;
    Some(seconds).filter(|seconds| (0.0..=SECONDS_MAX).contains(seconds))
}

/// Which CPUs may not enter which states.
#[derive(Debug, Default)]
pub(crate) struct IdleSwitches {
    /// By the number of the state; a state that is allowed everywhere is not in it.
    off: BTreeMap<u32, CpuSet>,
    /// Whether any CPU has such a switch.
    any: bool,
}

/// Reads every switch: one small file for each state and CPU, and nobody is asked who sits where.
pub(crate) fn idle_switches(machine: &Machine) -> IdleSwitches {
    let mut off: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
    let mut any = false;
    for cpu in online(machine).iter() {
        for state in 0..STATES_MAX {
            let path = format!("{}/state{state}/disable", folder(cpu));
            let Ok(text) = machine.tree.read(&path) else { break };
            any = true;
            if text.trim() != "0" {
                off.entry(state).or_default().push(cpu);
            }
        }
    }
    let off = off.into_iter().map(|(state, cpus)| (state, cpus.into_iter().collect()));
    IdleSwitches { off: off.collect(), any }
}

/// Which states are switched off, and where: `C6`, `C1 (CPUs 0-3)`. Kinds of CPUs may have states of
/// different names under one number.
pub(crate) fn disabled(survey: &Survey<'_>) -> Reading<String> {
    let IdleSwitches { off, any } = survey.idle_switches();
    if !any {
        return Err(no_idle(survey));
    }
    let online = online(survey);
    let mut words = Vec::new();
    for (state, cpus) in off {
        let mut names: BTreeMap<String, Vec<CpuId>> = BTreeMap::new();
        for cpu in cpus.iter() {
            let name = survey.tree.read(&format!("{}/state{state}/name", folder(cpu)));
            let name = name.unwrap_or_else(|_| format!("state{state}"));
            names.entry(name).or_default().push(cpu);
        }
        for (name, cpus) in names {
            let cpus: CpuSet = cpus.into_iter().collect();
            words.push(if cpus == online { name } else { format!("{name} ({})", cpus.named()) });
        }
    }
    words.truncate(WORDS_MAX);
    Ok(if words.is_empty() { "none".to_owned() } else { words.join(", ") })
}

/// `POLL, C1 1/1 us, C6 133/? us`; states that only some CPUs have say which.
fn in_words(states: &[IdleState]) -> String {
    let everyone = states.iter().map(|state| state.cpus.len()).max().unwrap_or(0);
    let micro = |seconds: Option<f64>| match seconds {
        Some(seconds) => (seconds * 1e6).round().to_string(),
        None => "?".to_owned(),
    };
    let say = |state: &IdleState| {
        let (latency, residency) = (state.latency_seconds, state.residency_seconds);
        let times = if latency == Some(0.0) && residency == Some(0.0) {
            String::new()
        } else {
            format!(" {}/{} us", micro(latency), micro(residency))
        };
        let some = state.cpus.len() < everyone || states_of_others(states, state);
        let whose = if some { format!(" ({})", state.cpus.named()) } else { String::new() };
        format!("{}{times}{whose}", state.name)
    };
    states.iter().map(say).collect::<Vec<_>>().join(", ")
}

/// Whether another state of that name stands for other CPUs.
fn states_of_others(states: &[IdleState], state: &IdleState) -> bool {
    states.iter().any(|other| other.cpus != state.cpus && other.name == state.name)
}

#[cfg(test)]
mod tests {
    use simulated::Files;

    use super::*;
    use crate::tests::machine_of;

    fn files(states: &[(&str, &str, &str, &str)]) -> Files {
        let mut files = Files::default();
        files.put("/sys/devices/system/cpu/online", "0-1");
        for cpu in 0..2 {
            for (number, (name, latency, residency, disable)) in states.iter().enumerate() {
                let state = format!("{CPU}/cpu{cpu}/cpuidle/state{number}");
                files.put(format!("{state}/name"), name);
                files.put(format!("{state}/latency"), latency);
                files.put(format!("{state}/residency"), residency);
                files.put(format!("{state}/disable"), disable);
            }
        }
        files
    }

    #[test]
    fn states_with_their_times_and_who_switched_them_off() {
        let mut files =
            files(&[("POLL", "0", "0", "0"), ("C1", "1", "1", "0"), ("C6", "133", "400", "1")]);
        files.put(format!("{CPU}/cpu1/cpuidle/state1/disable"), "1");
        let machine = machine_of(files, "0-1");
        let survey = Survey::new(&machine);
        assert_eq!(in_words(survey.idle_states().unwrap()), "POLL, C1 1/1 us, C6 133/400 us");
        assert_eq!(disabled(&Survey::new(&machine)).unwrap(), "C1 (CPU 1), C6");
    }

    #[test]
    fn a_guest_polls_where_the_governor_does() {
        let mut files = Files::default();
        files.put("/sys/devices/system/cpu/online", "0");
        files.put("/sys/devices/system/cpu/cpuidle/current_driver", "haltpoll");
        files.put("/sys/devices/system/cpu/cpuidle/current_governor", "haltpoll");
        files.put("/sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000");
        files.put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor");
        files.put("/sys/class/dmi/id/sys_vendor", "QEMU");
        files.put("/sys/class/dmi/id/product_name", "Standard PC");
        let machine = machine_of(files, "0");
        let answer = haltpoll(&Survey::new(&machine));
        if Survey::new(&machine).is_guest() {
            assert_eq!(answer.unwrap(), "for up to 200 us (guest_halt_poll_ns)");
        } else {
            assert!(answer.unwrap_err().why.contains("only guests"));
        }
    }

    #[test]
    fn who_may_be_a_guest_may_poll() {
        let why = |files: Files| haltpoll(&Survey::new(&machine_of(files, "0"))).unwrap_err().why;
        let mut files = Files::default();
        files.put("/sys/devices/system/cpu/online", "0");
        assert!(why(files.clone()).contains("whether this machine is a guest is unknown"));
        files.put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu");
        files.put("/sys/class/dmi/id/product_name", "PowerEdge R750");
        assert_eq!(why(files), "only guests poll before they halt");
    }

    #[test]
    fn an_absurd_time_is_missing_of_its_state_alone() {
        for time in ["-1", "4294967295", "99999999999999999999", "NaN", "soon", ""] {
            let states = [("POLL", "0", "0", "0"), ("C1", time, "1", "0"), ("C6", "9", time, "0")];
            let machine = machine_of(files(&states), "0-1");
            let states = idle_states(&Survey::new(&machine)).unwrap();
            assert_eq!(in_words(&states), "POLL, C1 ?/1 us, C6 9/? us", "{time}");
        }
    }

    #[test]
    fn states_that_the_first_cpu_does_not_show_are_read_of_another() {
        let mut files = Files::default();
        files.put("/sys/devices/system/cpu/online", "0-1");
        for (number, name, time) in [(0, "POLL", "0"), (1, "C1", "1")] {
            let state = format!("{CPU}/cpu1/cpuidle/state{number}");
            files.put(format!("{state}/name"), name);
            files.put(format!("{state}/latency"), time);
            files.put(format!("{state}/residency"), time);
        }
        let machine = machine_of(files, "0-1");
        let states = idle_states(&Survey::new(&machine)).unwrap();
        assert_eq!(in_words(&states), "POLL, C1 1/1 us");
    }
}
