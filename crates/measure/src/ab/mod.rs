//! Comparing two settings, A and B: quads A B B A or B A A B in random order, controls of A with A
//! between them, looks that were planned before.
//!
//! The statistics are [`model::stats::paired`]; here is who measures, and what is set meanwhile.

mod promised;
mod quad_run;

pub use crate::arms::{AbSubject, ArmLook, Metric};
pub use promised::Promise;

use std::time::Instant;

use levers::Session;
use levers::plan::Change;
use machine::Machine;
use model::record::{Proof, Record, Settings};
use model::stats::paired::{BAND, Better, Comparison, Rules, Verdict};
use model::{CpuSet, Finding, Known, Obstacle, Seconds, Unavailable};

use crate::arms::interference::InterferenceWatch;
use crate::arms::{Arm, ArmRunner, Turns, difference};
use crate::run::arm_env::ArmEnv;
use crate::run::{Error, Progress};
use quad_run::QuadRun;
use rig::executor::Stop;

/// What is compared, and how.
pub struct Comparing {
    /// How A and B run.
    pub own: [ArmEnv; 2],
    /// What A and B were asked to be, as it was typed.
    pub words: [Vec<String>; 2],
    /// What they come to, where one word stands for several settings.
    pub remarks: Vec<String>,
    /// What is set on the machine for each, whatever is there already.
    pub changes: [Vec<Change>; 2],
    /// What is measured.
    pub what: AbSubject,
    /// The time for all of it.
    pub budget: Seconds,
    /// Relative differences up to this are the same.
    pub band: f64,
    /// Which direction is better, where somebody says so.
    pub better: Option<Better>,
    /// Whether to see if the machine obeys.
    pub prove: bool,
    /// CPUs that are kept busy while A, and B, is measured.
    pub busy: [CpuSet; 2],
    /// Whether the clocks of measured and busy CPUs are looked at around each measurement.
    pub watches_clocks: bool,
    /// The clocks that CPUs are promised by each arm: they are looked at before anything is compared.
    pub promises: Vec<Promise>,
    /// What cannot be observed in such a comparison, and why.
    pub unobserved: Vec<Proof>,
    /// What is looked at whenever settings of an arm were made; none: nothing.
    pub look: Option<ArmLook>,
}

impl Comparing {
    /// A command, or a workload, with everything as usual.
    pub fn usual(what: AbSubject) -> Comparing {
        Comparing {
            own: [ArmEnv::default(), ArmEnv::default()],
            words: [Vec::new(), Vec::new()],
            remarks: Vec::new(),
            changes: [Vec::new(), Vec::new()],
            what,
            budget: Seconds(60.0),
            band: BAND,
            better: None,
            prove: true,
            busy: [CpuSet::default(), CpuSet::default()],
            watches_clocks: false,
            promises: Vec::new(),
            unobserved: Vec::new(),
            look: None,
        }
    }

    /// Whether A and B come to the same.
    fn is_equal(&self) -> bool {
        let [a, b] = &self.own;
        a.is_like(b) && self.difference().is_empty()
    }

    /// What changes from A to B on the machine.
    fn difference(&self) -> Vec<Change> {
        difference(&self.changes[0], &self.changes[1])
    }

    fn turns(&self) -> Turns<'_> {
        let arm = |place: usize| Arm {
            name: ["A", "B"][place],
            own: &self.own[place],
            changes: &self.changes[place],
            busy: &self.busy[place],
        };
        Turns {
            arms: [0, 1].map(arm).to_vec(),
            what: &self.what,
            budget: self.budget,
            watches_clocks: self.watches_clocks,
            has_control_chain: true,
            look: self.look,
        }
    }
}

/// Compares. `described` is the record of the machine, to which the comparison is added. What the session
/// set is for the caller to put back.
pub fn run<'m>(
    machine: &'m Machine,
    comparing: &Comparing,
    session: Option<&mut Session<'m>>,
    described: Record,
    stop: &Stop,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Record, Error> {
    let begun = Instant::now();
    let mut bench = ArmRunner::new(machine, comparing.turns(), session, stop)?;
    let mut proofs = if comparing.prove { bench.prove(machine, [0, 1])? } else { Vec::new() };
    let mut promises = comparing.promises.clone();
    proofs.extend(promised::keep(&mut bench, machine, &mut promises, stop)?);
    proofs.extend(comparing.unobserved.iter().cloned());
    let surroundings = InterferenceWatch::watch(machine, bench.cpus(), bench.elapsed());
    let usual = bench.usual_direction();
    let better = comparing.better.unwrap_or(usual);
    let rules = Rules { better, band: comparing.band, level: 0.05 };
    let (mut run, lost) = QuadRun { bench: &mut bench, comparing, rules }.compare(progress)?;
    proofs.extend(promised::busy_kept(&bench, &promises));
    run.busy_clocks = bench.busy_clocks();
    let looked = bench.looked();
    let mut record = described;
    record.run.plan.cpus = bench.cpus();
    let around = surroundings.end(machine, bench.elapsed(), bench.ran());
    withhold(&mut run.comparison, around.rivals);
    if machine.simulated.is_none() {
        record.run.seconds = begun.elapsed().as_secs_f64();
    }
    if stop.asked() {
        record.run.interrupted = Some("stopped".to_owned());
    }
    let changes = comparing.difference();
    if run.held_seconds.is_some() {
        for proof in &mut proofs {
            proof.caveat = None;
        }
    } else if proofs.iter().all(|proof| proof.caveat.is_none()) {
        record.findings.extend(heat(machine, &changes));
    }
    proofs.extend(looked);
    let remarks = comparing.remarks.clone();
    if !(proofs.is_empty() && remarks.is_empty()) {
        record.settings = Some(Settings { proofs, remarks, ..Settings::default() });
    }
    record.findings.extend(equal(comparing));
    record.findings.extend(lost);
    record.findings.extend(around.findings);
    record.conditions.after.extend(around.conditions);
    record.comparison = Some(run);
    Ok(record)
}

/// No difference is told that others can have made, where they had much of the CPUs: when they used them
/// is no coin's choice.
fn withhold(comparison: &mut Known<Comparison>, rivals: f64) {
    /// Of the CPUs that were measured.
    const MUCH: f64 = 0.25;
    let Known::Yes(found) = comparison else { return };
    // Who is left with a share of the time takes as much longer.
    let theirs = -(1.0 - rivals.min(0.99)).ln();
    let is_told = matches!(found.verdict, Verdict::Faster | Verdict::Slower);
    if rivals >= MUCH && is_told && found.ratio.centre.abs() <= theirs {
        let share = rivals * 100.0;
        let why = format!("other programs used {share:.0} % of the CPUs that were measured");
        found.verdict =
            Verdict::CannotTell(Unavailable::new(Obstacle::Measurement, "verdict", why));
    }
}

/// Settings that move power were not held, and no proof says so: each reason once.
pub(crate) fn heat(machine: &Machine, changes: &[Change]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for (about, text) in crate::proof::caveats(machine, changes) {
        match found.iter_mut().find(|known| known.text == text) {
            Some(known) if known.about.split(", ").any(|it| it == about) => {}
            Some(known) => known.about = format!("{}, {about}", known.about),
            None => found.push(
                Finding::warning("ab.heat", about, text)
                    .remedy("give it that time: --budget".to_owned()),
            ),
        }
    }
    found
}

fn equal(comparing: &Comparing) -> Option<Finding> {
    comparing.is_equal().then(|| {
        Finding::note(
            "ab.equal",
            "A and B",
            "A and B are the same: differences are noise of this machine",
        )
    })
}
