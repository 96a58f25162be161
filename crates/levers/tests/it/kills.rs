//! Processes that are killed between any two writes, and what another process makes of what they left.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use levers::ask::SettingSpec;
use levers::journal::JournalDir;
use levers::plan::Plan;
use levers::{Error, Levers, Object, Others, Session, undo};
use machine::Machine;

use crate::fake::{
    Fake, asked, changed_registers, kernel, on_files, other_value, processor_with, set,
    with_registers,
};

const ALL: &[&str] = &[
    "governor=performance",
    "epb=0",
    "no_turbo=on",
    "max_freq@2-3=2.4GHz",
    "min_freq@3=1200MHz",
    "idle.C6=off",
    "thp=always",
    "numa_balancing=0",
    "smt=off",
    "online@3=off",
];

/// A kernel that rounds what it takes, and is killed before anybody can look.
struct Rounding(Box<dyn Levers>);

impl Levers for Rounding {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.0.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        self.0.write(object, if text == "2450000" { "2400000" } else { text })?;
        std::process::abort();
    }
}

#[test]
fn a_value_that_was_rounded_before_the_kill_is_ours() {
    let fake = Fake::new();
    assert!(killed(&fake, "round", 0));
    assert_eq!(fake.changed().len(), 1);
    let undone = fake.undo();
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(fake.changed(), [] as [&str; 0]);
    // What was read back is known: another value is somebody else's.
    set(&fake, &["max_freq=2GHz"]);
    fake.write("sys/devices/system/cpu/cpu3/cpufreq/scaling_max_freq", "2400000");
    assert_eq!(fake.undo().foreign.len(), 1);
}

/// How an aborted process ends.
const SIGABRT: i32 = 6;

/// No lever takes as many writes.
const MOMENTS: usize = 10_000;

/// What a killed process was about to do.
const KILL: &str = "CPUDYNO_TEST_KILL";

/// Dies before or after its nth write.
struct Dying {
    kernel: Box<dyn Levers>,
    moments: usize,
}

impl Dying {
    fn moment(&mut self) {
        match self.moments.checked_sub(1) {
            Some(left) => self.moments = left,
            None => std::process::abort(),
        }
    }
}

impl Levers for Dying {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        self.moment();
        self.kernel.write(object, text)?;
        self.moment();
        Ok(())
    }
}

/// The process that is killed: this test, called by the next one.
#[test]
fn dies_when_told() {
    let Ok(order) = std::env::var(KILL) else { return };
    let [what, moments, folder]: [&str; 3] =
        order.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let root = Path::new(folder).join("root");
    let machine = Machine::rooted(&root).unwrap();
    let shelf = JournalDir::new(Path::new(folder).join("state"), &machine);
    let levers: Box<dyn Levers> =
        Box::new(Dying { kernel: kernel(&root), moments: moments.parse().unwrap() });
    match what {
        "undo" => drop(undo(&machine, levers, &shelf, Others::Spare, "test").unwrap()),
        "again" => again(&machine, Box::new(Fickle { kernel: kernel(&root), writes: 0 }), &shelf),
        "round" => {
            once(&machine, Box::new(Rounding(kernel(&root))), &shelf, &["max_freq@3=2450MHz"]);
        }
        "all" => once(&machine, levers, &shelf, ALL),
        setting => {
            let lever = setting.parse::<SettingSpec>().unwrap().lever;
            let machine = Machine { cpuid: Box::new(processor_with(lever)), ..machine };
            once(&machine, levers, &shelf, &[setting]);
        }
    }
}

/// The file that says that the journal could not be kept.
const REFUSED: &str = "refused";

/// Sets, and puts back.
fn once(machine: &Machine, levers: Box<dyn Levers>, shelf: &JournalDir, settings: &[&str]) {
    let mut session = Session::open(machine, levers, shelf, "test").unwrap();
    let plan = Plan::new(machine, session.levers(), &asked(settings), true).unwrap();
    match session.apply(&plan) {
        Ok(_) => assert!(session.restore().is_complete()),
        // Nothing can be noted any more: then nothing is done.
        Err(error) => {
            assert!(matches!(error.cause, Error::Journal { .. }), "{error}");
            fs::write(shelf.folder().with_file_name(REFUSED), "").unwrap();
        }
    }
}

/// Switches there, back and there again.
fn again(machine: &Machine, levers: Box<dyn Levers>, shelf: &JournalDir) {
    let mut session = Session::open(machine, levers, shelf, "test").unwrap();
    let (arms, _) =
        Plan::arms(machine, session.levers(), [&asked(&["epb@3=0"]), &[]], false).unwrap();
    for arm in [&arms[0], &arms[1], &arms[0]] {
        session.switch(arm).unwrap();
    }
}

/// The process, told what to do and when to die.
fn told(fake: &Fake, what: &str, moments: usize, program: &[&str]) -> bool {
    let own = std::env::current_exe().unwrap();
    let words = program.iter().map(OsStr::new).chain([own.as_os_str()]).collect::<Vec<_>>();
    let mut command = Command::new(words[0]);
    let order = format!("{what} {moments} {}", fake.folder.path().display());
    command.args(&words[1..]).args(["--exact", "kills::dies_when_told", "--nocapture"]);
    let output = command.env(KILL, order).output().unwrap();
    let status = output.status;
    // A panic is no kill.
    let ended = status.success() || status.signal() == Some(SIGABRT);
    assert!(ended, "{what}, {moments}: {status}, {}", String::from_utf8_lossy(&output.stderr));
    status.success()
}

/// Whether it was killed.
fn killed(fake: &Fake, what: &str, moments: usize) -> bool {
    !told(fake, what, moments, &[])
}

#[test]
fn killed_between_any_two_writes_it_is_undone_by_another_process() {
    let mut deaths = 0;
    // Of each write, before and after: applying, and putting back.
    for moment in 0..MOMENTS {
        let fake = Fake::new();
        if !killed(&fake, "all", moment) {
            assert_eq!(fake.changed(), [] as [&str; 0], "nobody died");
            break;
        }
        deaths += 1;
        // The first attempt to undo dies, too.
        killed(&fake, "undo", moment % 7);
        let undone = fake.undo();
        assert!(undone.is_complete(), "killed at {moment}: {undone:?}");
        assert_eq!(fake.changed(), [] as [&str; 0], "killed at {moment}");
    }
    assert!((51..MOMENTS).contains(&deaths), "{deaths}");
}

#[test]
fn each_lever_that_is_killed_between_any_two_writes_is_undone_by_another_process() {
    for lever in on_files() {
        let setting = other_value(lever);
        let mut deaths = 0;
        for moment in 0..MOMENTS {
            let fake = Fake::new();
            let machine = with_registers(&fake, processor_with(lever));
            let changed = || [fake.changed(), changed_registers(&fake)].concat();
            if !killed(&fake, setting, moment) {
                assert_eq!(changed(), [] as [&str; 0], "{setting}: nobody died");
                break;
            }
            deaths += 1;
            let undone =
                undo(&machine, kernel(&fake.root()), &fake.shelf(), Others::Spare, "test").unwrap();
            assert!(undone.is_complete(), "{setting}, killed at {moment}: {undone:?}");
            assert_eq!(changed(), [] as [&str; 0], "{setting}, killed at {moment}");
        }
        // Before and after a write that sets and one that puts back.
        assert!((4..MOMENTS).contains(&deaths), "{setting}: {deaths}");
    }
}

/// A kernel that makes another value of what it took before, and is killed before anybody can look.
struct Fickle {
    kernel: Box<dyn Levers>,
    writes: usize,
}

impl Levers for Fickle {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        self.writes += 1;
        if self.writes == 3 {
            self.kernel.write(object, "4")?;
            std::process::abort();
        }
        self.kernel.write(object, text)
    }
}

#[test]
fn what_was_made_of_a_value_that_was_written_again_is_ours() {
    let fake = Fake::new();
    assert!(killed(&fake, "again", 0));
    assert_eq!(fake.changed(), ["sys/devices/system/cpu/cpu3/power/energy_perf_bias: 4"]);
    let undone = fake.undo();
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

#[test]
fn a_disk_that_is_full_in_the_middle_of_a_line_changes_nothing() {
    let mut refused = Vec::new();
    // So many blocks may a file have; each file of the kernel fits into one.
    for blocks in 1..=40 {
        let fake = Fake::new();
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        assert!(told(&fake, "all", usize::MAX, &["sh", "-c", &limit, "sh"]), "{blocks} blocks");
        assert_eq!(fake.changed(), [] as [&str; 0], "{blocks} blocks");
        // What was noted before the disk was full is still whole.
        assert!(fake.undo().is_complete(), "{blocks} blocks");
        refused.push(fake.folder.path().join(REFUSED).exists());
    }
    // With the smallest ones nothing was set, with the largest ones all was.
    assert!(refused[0] && refused[5] && !refused[39], "{refused:?}");
}
