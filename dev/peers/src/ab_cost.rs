//! What `ab` takes for itself, beside measuring: with settings of one object and of 2,048.
//!
//! The command that is compared does nothing. What is left of a quad is the settings, the journal, and
//! the bookkeeping; on this machine also the chain of multiplies beside each measurement, which a machine
//! in files cannot execute.

use std::iter;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use levers::Session;
use levers::ask::SettingSpec;
use levers::plan::{Change, Plan};
use machine::Machine;
use measure::ab::{self, AbSubject, Comparing, Metric};
use model::Seconds;
use model::record::{AbRun, PageKind, Presentation};
use rig::executor::Stop;

use crate::undo::{CPUS, Large};
use crate::{EXIT_NO, table};

/// What the project promises, for each quad.
const PROMISED: Seconds = Seconds(10e-3);

/// What A and B set, and the time for their comparison.
struct Case {
    what: &'static str,
    budget: Seconds,
    a: Option<&'static str>,
    b: Option<&'static str>,
}

const CASES: &[Case] = &[
    Case { what: "nothing", budget: Seconds(5.0), a: None, b: None },
    Case {
        what: "no_turbo, other in B",
        budget: Seconds(5.0),
        a: Some("no_turbo=off"),
        b: Some("no_turbo=on"),
    },
    Case {
        what: "2,048 governors, the same in both",
        budget: Seconds(20.0),
        a: Some("governor=performance"),
        b: Some("governor=performance"),
    },
    Case {
        what: "2,048 governors, other in B",
        budget: Seconds(100.0),
        a: Some("governor=powersave"),
        b: Some("governor=performance"),
    },
];

pub(crate) fn run() -> Result<ExitCode> {
    println!("{}", crate::load());
    let large = Large::new()?;
    let mut rows = Vec::new();
    let mut kept = true;
    let here = Case { what: "nothing, on this machine", budget: Seconds(5.0), a: None, b: None };
    for case in iter::once(&here).chain(CASES) {
        let found = match case.what {
            what if what == here.what => {
                measured(&Machine::real(), None, case, <[_; 2]>::default())
            }
            _ => compare(&large, case),
        };
        let found = found.with_context(|| format!("cannot compare {}", case.what))?;
        ensure!(!found.quads.is_empty(), "{}: no quad was measured ({})", case.what, found.ended);
        let cost = found.cost.context("BUG: quads without a cost")?;
        kept &= cost.own < PROMISED.0;
        let milliseconds = |seconds: f64| format!("{:.2} ms", seconds * 1e3);
        rows.push([
            case.what.to_owned(),
            found.quads.len().to_string(),
            milliseconds(cost.seconds),
            milliseconds(cost.setting),
            milliseconds(cost.own),
        ]);
    }
    let header = ["set", "quads", "a quad took", "of it settings", "of it cpudyno"];
    println!("{}", table::plain(header, &header[1..], rows));
    let (promised, words) = (PROMISED.0 * 1e3, if kept { "kept" } else { "BROKEN" });
    println!(
        "promised: less than {promised:.0} ms in each quad for all but measuring and writing settings, \
         {CPUS} CPUs: {words}"
    );
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NO) })
}

fn compare(large: &Large, case: &Case) -> Result<AbRun> {
    let machine = large.machine()?;
    let shelf = large.shelf(&machine);
    let mut session = Session::open(&machine, large.kernel(), &shelf, "peers")?;
    let asked = |setting: Option<&str>| {
        setting.map(str::parse::<SettingSpec>).transpose().map(Vec::from_iter)
    };
    let (a, b) = (asked(case.a)?, asked(case.b)?);
    let (changes, _) = Plan::arms(&machine, session.levers(), [&a, &b], false)?;
    let found = measured(&machine, Some(&mut session), case, changes);
    ensure!(session.restore().is_complete(), "not all was put back");
    found
}

fn measured<'m>(
    machine: &'m Machine,
    session: Option<&mut Session<'m>>,
    case: &Case,
    changes: [Vec<Change>; 2],
) -> Result<AbRun> {
    let what = AbSubject::Command(vec!["true".to_owned()], Metric::Wall);
    // The narrowest band: it is never decided before the time is over.
    let usual = Comparing::usual(what);
    let comparing = Comparing { changes, budget: case.budget, band: 1e-4, prove: false, ..usual };
    let look = Presentation::of(PageKind::Ab);
    let described = machine::describe(machine, Vec::new(), look);
    let stop = Stop::default();
    let record = ab::run(machine, &comparing, session, described, &stop, &mut |_| {});
    record?.comparison.context("BUG: no comparison")
}
