//! Simulated machines whose state is a file, and wishes.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use levers::journal::JournalDir;
use levers::plan::Plan;
use levers::{Levers, Object, Others, Session, Undone, port, undo};
use machine::Machine;
use model::CpuSet;
use simulated::Model;
use sst::change::{ClassWish, NotChanged, Refused, What, Wish, apply, planned};
use sst::model::Priority;
use tempfile::TempDir;

pub(crate) const CPU: &str = "/sys/devices/system/cpu";

/// A simulated machine whose state is a file, and whose journal lies beside it.
pub(crate) struct Here {
    pub(crate) folder: TempDir,
    pub(crate) name: &'static str,
    shelf: OnceLock<JournalDir>,
}

impl Here {
    pub(crate) fn new(name: &'static str) -> Here {
        // In memory, where there is such a place: journals are forced to disk.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        Here { folder, name, shelf: OnceLock::new() }
    }

    pub(crate) fn with(name: &'static str, state: &str) -> Here {
        let here = Here::new(name);
        std::fs::write(here.folder.path().join("state"), state).unwrap();
        here
    }

    /// As another process finds it.
    pub(crate) fn machine(&self) -> Machine {
        static CAME: Mutex<BTreeMap<&str, Model>> = Mutex::new(BTreeMap::new());
        let file = self.folder.path().join("state");
        let model =
            CAME.lock().unwrap().entry(self.name).or_insert_with(|| came(self.name)).clone();
        Machine::found_again(&model, file.to_str().unwrap()).unwrap()
    }

    pub(crate) fn shelf(&self) -> JournalDir {
        let new = || JournalDir::new(self.folder.path().join("journal"), &self.machine());
        self.shelf.get_or_init(new).clone()
    }

    /// What differs from the machine as it came: firmware and files.
    pub(crate) fn state(&self) -> String {
        let text = std::fs::read_to_string(self.folder.path().join("state")).unwrap_or_default();
        let state: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let part = |key: &str| match state.get(key) {
            Some(part) if !part.is_null() => part.to_string(),
            _ => "{}".to_owned(),
        };
        format!("{} {}", part("firmware"), part("files"))
    }

    pub(crate) fn plan(&self, wish: &Wish) -> Result<Plan, NotChanged> {
        let machine = self.machine();
        planned(&machine, &*port::of(&machine).unwrap(), wish, false)
    }

    /// What is written for a wish, a line each, in its order.
    pub(crate) fn lines(&self, wish: &Wish) -> Vec<String> {
        let plan = self.plan(wish).unwrap();
        let line =
            |it: &levers::plan::Change| format!("{}: {} -> {}", it.object, it.former, it.wanted);
        plan.changes.iter().map(line).collect()
    }

    /// Done, and left so.
    pub(crate) fn done(&self, wish: &Wish) -> Result<usize, NotChanged> {
        self.done_through(wish, |levers| levers)
    }

    /// The same, with something between the engine and the machine.
    pub(crate) fn done_through(
        &self,
        wish: &Wish,
        through: impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers>,
    ) -> Result<usize, NotChanged> {
        let machine = self.machine();
        let levers = through(port::of(&machine).unwrap());
        let mut session = Session::open(&machine, levers, &self.shelf(), "test").unwrap();
        let done = apply(&machine, &mut session, wish, false)?;
        session.leave();
        Ok(done.len())
    }

    pub(crate) fn refused(&self, wish: &Wish) -> Refused {
        let before = self.state();
        match self.done(wish).unwrap_err() {
            NotChanged::Refused(refused) => {
                assert_eq!(self.state(), before, "{refused}");
                refused
            }
            error => panic!("{error}"),
        }
    }

    /// `cpudyno set`, and left so.
    pub(crate) fn set_through(
        &self,
        settings: &str,
        through: impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers>,
    ) -> Result<usize, NotChanged> {
        self.set_and(settings, through, |session| {
            session.leave();
        })
    }

    /// `cpudyno set --for`, until that is over.
    pub(crate) fn set_for(
        &self,
        settings: &str,
        through: impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers>,
    ) -> Result<usize, NotChanged> {
        self.set_and(settings, through, |session| {
            let undone = session.restore();
            assert!(undone.is_complete(), "{undone:?}");
        })
    }

    fn set_and(
        &self,
        settings: &str,
        through: impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers>,
        end: impl FnOnce(Session<'_>),
    ) -> Result<usize, NotChanged> {
        let machine = self.machine();
        let levers = through(port::of(&machine).unwrap());
        let asked: Vec<_> = settings.split(' ').map(|it| it.parse().unwrap()).collect();
        let mut session = Session::open(&machine, levers, &self.shelf(), "test").unwrap();
        let plan = Plan::new(&machine, session.levers(), &asked, false)?;
        let done = session.apply(&plan)?;
        end(session);
        Ok(done.len())
    }

    /// Firmware has these faults from now on, or none.
    pub(crate) fn fails(&self, faults: &str) {
        let faults = serde_json::from_str(&format!("[{faults}]")).unwrap();
        self.edit(|state| state["firmware_faults"] = faults);
    }

    /// What somebody else does to a value of firmware meanwhile.
    pub(crate) fn firmware(&self, name: &str, value: u64) {
        self.edit(|state| state["firmware"][name] = value.into());
    }

    fn edit(&self, edit: impl FnOnce(&mut serde_json::Value)) {
        let file = self.folder.path().join("state");
        let text = std::fs::read_to_string(&file).unwrap();
        let mut state: serde_json::Value = serde_json::from_str(&text).unwrap();
        edit(&mut state);
        std::fs::write(file, state.to_string()).unwrap();
    }

    /// What a file holds.
    pub(crate) fn text(&self, path: &str) -> String {
        self.machine().tree.read(&format!("{CPU}/{path}")).unwrap()
    }

    /// What somebody else does to a file meanwhile.
    pub(crate) fn set(&self, path: &str, text: &str) {
        let mut levers = port::of(&self.machine()).unwrap();
        levers.write(&Object::File(format!("{CPU}/{path}")), text).unwrap();
    }

    pub(crate) fn undo(&self) -> Undone {
        self.undo_through(|levers| levers)
    }

    /// The same, with something between the engine and the machine.
    pub(crate) fn undo_through(
        &self,
        through: impl FnOnce(Box<dyn Levers>) -> Box<dyn Levers>,
    ) -> Undone {
        let machine = self.machine();
        let levers = through(port::of(&machine).unwrap());
        undo(&machine, levers, &self.shelf(), Others::Spare, "test").unwrap()
    }

    pub(crate) fn undone(&self) {
        let undone = self.undo();
        assert!(undone.is_complete(), "{undone:?}");
    }
}

/// A machine as it came, with its files.
fn came(name: &str) -> Model {
    let model = match name {
        "skylake" => Model::parse("skylake.toml", &skylake()),
        "cascade" => Model::parse("cascade.toml", &cascade()),
        "twin" => Model::parse("twin.toml", &twin()),
        "exclusive" => Model::parse("exclusive.toml", &exclusive()),
        name => Model::named(name),
    };
    Machine::from(model.unwrap()).simulated.unwrap()
}

/// The guide's machine with a processor whose classes are behind the mailbox.
fn skylake() -> String {
    const GUIDE: &str = include_str!("../../../../simulated/src/machines/guide.toml");
    GUIDE.replace("model = 106", "model = 85")
}

/// The guide's machine with a processor that has no interface: where some base frequencies are higher, the setup of its
/// firmware has chosen those cores.
fn cascade() -> String {
    const GUIDE: &str = include_str!("../../../../simulated/src/machines/guide.toml");
    let (before, _) = GUIDE.split_once("[speed_select]").unwrap();
    let (_, after) = GUIDE.split_once("\n[clock]\n").unwrap();
    format!("{before}\n[clock]\n{after}")
        .replace("model = 106", "model = 85")
        .replace("stepping = 6", "stepping = 7")
        .replace("SIMULATED 2 x 14 cores", "SIMULATED Xeon Gold 6252N CPU @ 2.30GHz")
}

/// The guide's machine with two dies in each package, each with a mailbox of its own.
fn twin() -> String {
    const GUIDE: &str = include_str!("../../../../simulated/src/machines/guide.toml");
    GUIDE.replace("modules = [14]", "modules = [7, 7]")
}

/// A machine of the newer generation that has base-freq and turbo-freq, and not both at once.
fn exclusive() -> String {
    const GRANITE: &str = include_str!("../../../../simulated/src/machines/granite.toml");
    GRANITE.replace("interface = 3\n", "interface = 3\nexclusive_features = true\n")
}

pub(crate) fn wish(what: What) -> Wish {
    Wish { what, cpus: None, lenient: false }
}

pub(crate) fn on(cpus: &str, what: What) -> Wish {
    Wish { what, cpus: Some(cpus.parse::<CpuSet>().unwrap()), lenient: false }
}

pub(crate) const BF_ON: What = What::BaseFreq { on: true, auto: true };
pub(crate) const BF_OFF: What = What::BaseFreq { on: false, auto: true };
pub(crate) const TF_ON: What = What::TurboFreq { on: true, auto: true, limits: None };
pub(crate) const TF_OFF: What = What::TurboFreq { on: false, auto: true, limits: None };
pub(crate) const CP_OFF: What = What::CorePower { on: false, priority: Priority::Proportional };
pub(crate) const CP_ON: What = What::CorePower { on: true, priority: Priority::Ordered };

pub(crate) const fn level(level: u8, with_cpus: bool) -> What {
    What::Level { level, with_cpus }
}

pub(crate) const fn class(class: u8) -> ClassWish {
    ClassWish { class, weight: None, epp: None, min_mhz: None, max_mhz: None }
}
