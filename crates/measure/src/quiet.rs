//! A command, and what went on beside it: can its result be trusted?
//!
//! [`CommandWatch::begin`] looks before it starts, [`CommandWatch::end`] after it has ended; the command
//! itself is started by the caller. What disturbs a command is what disturbs a measurement: other work, a
//! hypervisor, quotas, heat, limits of power, a clock that is not the same at its end as at its beginning.

use std::time::Duration;

use machine::Machine;
use machine::activity::Activity;
use machine::cpu_load::BusySnapshot;
use machine::limits::{Looked, Reasons};
use model::page::si;
use model::record::{ClockRecord, CommandEnd, Fact, QuietRun, Trust};
use model::{CpuSet, Finding, Hertz, Known, Obstacle, Seconds, Severity, Unavailable, Unit};

use crate::arms::CommandRuns;
use crate::arms::interference::InterferenceWatch;
use crate::proof::Observer;
use crate::run::other_load::TELLING;
use rig::executor::{RunError, Stop};

/// Beyond this the clock at the end is another one than that at the beginning: guests and boost move it by
/// less between two looks.
const CLOCK_MOVED: f64 = 0.02;

/// What others used, as its absence is called.
pub const OTHERS: &str = "use of CPUs by others";

/// Others that used more of the CPUs than this were in the way: what a desktop and its services use is less.
const OTHERS_MAX: f64 = 0.05;

/// So many CPUs have to be taken away from its threads before their rate says something.
const SWITCHES_MIN: u64 = 10;

/// What is watched while a command runs.
pub struct CommandWatch<'m> {
    machine: &'m Machine,
    observer: Result<Observer<'m>, Unavailable>,
    cpus: CpuSet,
    clock: Result<Hertz, Unavailable>,
    busy: Result<BusySnapshot, Unavailable>,
    activity: Result<Activity<'m>, Unavailable>,
    reasons: Reasons,
    looked: Looked,
    surroundings: InterferenceWatch,
}

/// How a command ended.
#[derive(Debug, Clone)]
pub struct CommandOutcome {
    /// The name of the program.
    pub program: String,
    /// By itself, or by a signal.
    pub end: CommandEnd,
    /// From its start to its end.
    pub seconds: Seconds,
    /// Time of CPUs, of it and of all that it waited for.
    pub cpu_seconds: Seconds,
    /// Times that a CPU was taken away from one of its threads.
    pub involuntary_switches: u64,
}

/// What was seen of it.
pub struct WatchReport {
    /// What goes into the record.
    pub run: QuietRun,
    /// What spoils its result.
    pub findings: Vec<Finding>,
    /// What grew meanwhile.
    pub conditions: Vec<Fact>,
    /// What holds the clock down.
    pub clock: ClockRecord,
}

/// Settings that were asked for and not made are no settings that were in force.
pub fn refused(reasons: &[Unavailable]) -> Vec<Finding> {
    let finding = |reason: &Unavailable| {
        Finding::serious(
            "quiet.not-set",
            reason.what.clone(),
            format!("requested but not set: {}", reason.why),
        )
        .remedy(reason.remedy.clone())
    };
    reasons.iter().map(finding).collect()
}

impl<'m> CommandWatch<'m> {
    /// From now on. A short measurement of the clock comes first.
    pub fn begin(
        machine: &'m Machine,
        observer: Result<Observer<'m>, Unavailable>,
        stop: &Stop,
    ) -> Result<CommandWatch<'m>, RunError> {
        let cpus = machine.host.affinity().unwrap_or_default();
        let mut observer = observer;
        let clock = clock(&mut observer, &cpus)?;
        if stop.asked() {
            return Err(RunError::Interrupted);
        }
        let mut activity = Activity::open(machine, None);
        if let Ok(activity) = &mut activity {
            activity.only(&[BUSY_CLOCK.to_owned(), BUSY_SHARE.to_owned()]);
            activity.look();
        }
        let reasons = Reasons::of(machine, &cpus);
        let looked = reasons.look(machine);
        let surroundings = InterferenceWatch::watch(machine, cpus.clone(), Seconds(0.0));
        let busy = BusySnapshot::read(machine);
        Ok(CommandWatch {
            machine,
            observer,
            cpus,
            clock,
            busy,
            activity,
            reasons,
            looked,
            surroundings,
        })
    }

    /// To be called every few seconds while it runs: counters of energy and cycles begin anew.
    pub fn meanwhile(&mut self) {
        if let Ok(activity) = &mut self.activity {
            activity.note();
        }
    }

    /// How often.
    pub const EVERY: Duration = Duration::from_secs(10);

    /// Until now; `refused` are settings that were asked for and not made.
    pub fn end(self, ended: CommandOutcome, refused: Vec<Unavailable>) -> WatchReport {
        let CommandWatch {
            machine, mut observer, cpus, clock: before, busy, reasons, looked, ..
        } = self;
        let clock_meanwhile = self.activity.and_then(|activity| busy_clock(activity, machine));
        let others = busy.and_then(|then| Ok(BusySnapshot::read(machine)?.since(&then)));
        let after_look = reasons.look(machine);
        let limits = looked.and(&after_look, machine, &cpus);
        let ran = CommandRuns {
            runs: 1,
            cpu_seconds: ended.cpu_seconds.0,
            involuntary_switches: ended.involuntary_switches,
        };
        // A simulated machine has no part in what this one does to the command; and of a handful, what
        // happened at its start is most.
        let counts = machine.simulated.is_none() && ended.involuntary_switches >= SWITCHES_MIN;
        let ran: &[CommandRuns] = if counts { &[ran] } else { &[] };
        let around = self.surroundings.end(machine, ended.seconds, ran);
        // The machine is another one while something is computed on it: this comes last.
        let after = clock(&mut observer, &cpus).unwrap_or_else(|error| {
            Err(Unavailable::new(Obstacle::Measurement, CLOCK, error.to_string()))
        });
        let named = around.findings.iter().any(|finding| finding.id == "run.rivals");
        let others = others.and_then(|all| {
            if machine.simulated.is_some() {
                let why = "processes of this host do not run on the simulated machine";
                return Err(Unavailable::new(Obstacle::Hardware, OTHERS, why));
            }
            if ended.seconds.0 < TELLING.as_secs_f64() {
                let why = format!(
                    "the command ended after {}: the kernel counts CPU time in steps of 10 ms",
                    si::format(ended.seconds.0, Unit::Second)
                );
                return Err(Unavailable::new(Obstacle::Measurement, OTHERS, why)
                    .with_remedy("run it several times in a row: `sh -c 'for ...'`"));
            }
            let ours = ended.cpu_seconds.0 / ended.seconds.0;
            let here = all.into_iter().filter(|(cpu, _)| cpus.contains(*cpu));
            let all: f64 =
                here.map(|(_, busy)| Ok(busy?.share)).sum::<Result<f64, Unavailable>>()?;
            Ok(((all - ours).max(0.0) / cpus.len().max(1) as f64).max(around.rivals))
        });
        let share = others.as_ref().copied().unwrap_or(around.rivals);
        let mut findings = self::refused(&refused);
        findings.extend(failed(ended.end, ended.seconds));
        findings.extend(around.findings.into_iter().map(|finding| match finding.id.as_str() {
            "ab.preempted" => Finding { id: "quiet.preempted".to_owned(), ..finding },
            _ => finding,
        }));
        findings.extend((!named && share > OTHERS_MAX).then(|| others_finding(share)));
        findings.extend(moved(&before, &after));
        findings.extend(limited(&limits));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let spoiled = findings.iter().any(|finding| finding.severity >= Severity::Warning);
        let trust = match (spoiled, &others) {
            (true, _) => Trust::No,
            (false, Ok(_)) => Trust::Yes,
            (false, Err(_)) => Trust::CannotTell,
        };
        let run = QuietRun {
            program: ended.program,
            ended: Some(ended.end),
            seconds: ended.seconds,
            cpu_seconds: ended.cpu_seconds,
            involuntary_switches: ended.involuntary_switches,
            cpus,
            others: Known::from(others),
            clock: [before.into(), after.into()],
            clock_meanwhile: clock_meanwhile.into(),
            refused,
            trust,
        };
        WatchReport { run, findings, conditions: around.conditions, clock: limits }
    }
}

const CLOCK: &str = "core clock";
const BUSY_CLOCK: &str = "Bzy_MHz";
const BUSY_SHARE: &str = "Busy%";

/// The clock under load of the first CPU that the command may use.
fn clock(
    observer: &mut Result<Observer<'_>, Unavailable>,
    cpus: &CpuSet,
) -> Result<Result<Hertz, Unavailable>, RunError> {
    let nobody = || Unavailable::new(Obstacle::Permission, CLOCK, "this process may use no CPU");
    match (observer, cpus.iter().next()) {
        (Ok(observer), Some(cpu)) => observer.clock_of(cpu),
        (Err(reason), _) => Ok(Err(reason.clone())),
        (_, None) => Ok(Err(nobody())),
    }
}

/// The clock of busy CPUs since the first look: each counts as much as it was busy.
fn busy_clock(mut activity: Activity<'_>, machine: &Machine) -> Result<Hertz, Unavailable> {
    let columns: Vec<String> =
        activity.columns().iter().map(|column| column.header.to_string()).collect();
    let place = |header: &str| columns.iter().position(|column| column == header);
    let reason = || {
        let missing = activity.missing().iter().find(|missing| missing.header == BUSY_CLOCK);
        let none = || Unavailable::new(Obstacle::Hardware, CLOCK, "this machine does not count it");
        missing.map_or_else(none, |missing| missing.reason.clone())
    };
    let Some(clock) = place(BUSY_CLOCK) else { return Err(reason()) };
    let nothing = |why: &str| Unavailable::new(Obstacle::Measurement, CLOCK, why);
    if machine.simulated.is_some() {
        return Err(nothing("no time passes on a simulated machine while a command runs"));
    }
    let share = place(BUSY_SHARE);
    let interval = activity.look().ok_or_else(|| nothing("nothing was counted"))?;
    let clocks = &interval.values[clock];
    let weight = |at: usize| share.and_then(|share| interval.values[share].get(at)?.clone().ok());
    let (mut sum, mut weights) = (0.0, 0.0);
    for (at, clock) in clocks.iter().enumerate() {
        if let (Ok(clock), weight) = (clock, weight(at).unwrap_or(1.0))
            && clock.is_finite()
        {
            sum += clock * weight;
            weights += weight;
        }
    }
    if weights > 0.0 { Ok(Hertz(sum / weights)) } else { Err(nothing("no CPU was busy")) }
}

fn others_finding(share: f64) -> Finding {
    let text = format!(
        "ended programs, interrupts or the kernel used {:.0} % of the CPUs that the command may \
         use",
        share * 100.0
    );
    Finding::warning("quiet.others", "other work", text).remedy(
        "stop other work and run it again; `cpudyno top` shows which CPUs are busy".to_owned(),
    )
}

/// A command that did not end as it should; what an exit code means is the command's.
fn failed(end: CommandEnd, seconds: Seconds) -> Option<Finding> {
    let (severity, id, text) = match end {
        CommandEnd::Code(0) => return None,
        CommandEnd::Code(code) => {
            let text = format!("exit code {code}: the command reports that it failed");
            (Severity::Note, "quiet.failed", text)
        }
        CommandEnd::Signal(signal) => {
            let after = si::run_length(seconds.0);
            let text = format!("signal {signal} ended the command after {after}: it has no result");
            (Severity::Serious, "quiet.killed", text)
        }
    };
    Some(Finding::new(severity, id, "command", text))
}

/// The clock at the end is not that of the beginning.
fn moved(
    before: &Result<Hertz, Unavailable>,
    after: &Result<Hertz, Unavailable>,
) -> Option<Finding> {
    let (Ok(Hertz(before)), Ok(Hertz(after))) = (before, after) else { return None };
    let share = after / before - 1.0;
    let text = format!(
        "under load, {} right before the command and {} right after it, {:+.1} %",
        si::format(*before, Unit::Hertz),
        si::format(*after, Unit::Hertz),
        share * 100.0
    );
    let remedy = "hold the clock below what heat and power allow: max_freq, no_turbo or boost, as \
                  `cpudyno settings` lists them; `cpudyno turbo --why` shows what limits it";
    (share.abs() > CLOCK_MOVED)
        .then(|| Finding::warning("quiet.clock-moved", "clock", text).remedy(remedy.to_owned()))
}

/// Power, heat or current limited the clock meanwhile, at its beginning or at its end.
fn limited(clock: &ClockRecord) -> Vec<Finding> {
    let began = clock.reasons.iter().filter(|reason| reason.is_cause() && reason.held());
    began
        .map(|reason| {
            Finding::warning(
                "quiet.limited",
                "clock",
                format!(
                    "limited during the command: {} (CPUs {}, {})",
                    reason.label, reason.cpus, reason.source
                ),
            )
            .remedy("`cpudyno turbo --why` shows which limit it is, and by how much".to_owned())
        })
        .collect()
}
