//! Sessions and their journal: what was there before comes back, whoever ends it.

use model::Reading;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use levers::journal::JournalDir;
use levers::plan::Plan;
use levers::{Error, Levers, Object, Others, Session, undo};
use machine::{Machine, Tree};

use crate::fake::{Fake, asked, plan, set};

#[test]
fn an_arm_that_is_as_it_is_has_what_follows_as_it_was() {
    let fake = Fake::new();
    let machine = fake.machine();
    let preference =
        || fake.read("sys/devices/system/cpu/cpu3/cpufreq/energy_performance_preference");
    for b in [&[][..], &["governor=powersave"], &["epp=power"]] {
        let asked = [&["governor=performance"][..], b].map(asked);
        let (arms, _) =
            Plan::arms(&machine, &*fake.kernel(), [&asked[0], &asked[1]], false).unwrap();
        let session = Session::open(&machine, fake.kernel(), &fake.shelf(), "test");
        let mut session = session.unwrap();
        let expected = if b == ["epp=power"] { "power" } else { "balance_performance" };
        for _ in 0..3 {
            session.switch(&arms[0]).unwrap();
            assert_eq!(preference(), "performance");
            session.switch(&arms[1]).unwrap();
            // The driver itself leaves `balance_power`.
            assert_eq!(preference(), expected, "{b:?}");
        }
        assert!(session.restore().is_complete());
        assert_eq!(fake.changed(), [] as [&str; 0]);
    }
}

/// The driver makes the preference `performance` together with the governor.
#[test]
fn what_follows_a_setting_is_set_after_it_in_whichever_order_they_are_asked_for() {
    for (settings, expected) in [
        // It is so already, until the governor changes.
        (["governor@3=performance", "epp@3=balance_performance"], "balance_performance"),
        (["epp@3=power", "governor@3=performance"], "power"),
    ] {
        let fake = Fake::new();
        set(&fake, &settings);
        let path = "sys/devices/system/cpu/cpu3/cpufreq/energy_performance_preference";
        assert_eq!(fake.read(path), expected, "{settings:?}");
        assert!(fake.undo().is_complete());
        assert_eq!(fake.changed(), [] as [&str; 0]);
    }
}

#[test]
fn a_governor_that_is_left_gets_back_how_it_was_tuned() {
    let fake = Fake::new();
    let folder = fake.root().join("sys/devices/system/cpu/cpu2/cpufreq");
    fs::create_dir_all(folder.join("powersave")).unwrap();
    let tunable = folder.join("powersave/sampling_rate");
    fs::write(&tunable, "4000").unwrap();
    fs::write(folder.join("scaling_setspeed"), "<unsupported>").unwrap();
    set(&fake, &["governor@2=performance"]);
    // The kernel makes it anew, with what it thinks best.
    fs::write(&tunable, "10000").unwrap();
    let undone = fake.undo();
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(fs::read_to_string(&tunable).unwrap(), "4000");
    assert_eq!(fs::read_to_string(folder.join("scaling_setspeed")).unwrap(), "<unsupported>");
}

#[test]
fn one_lock_holds_for_all_folders() {
    let fake = Fake::new();
    let machine = fake.machine();
    let lock = fake.folder.path().join("lock");
    let shelf =
        |name: &str| JournalDir::new(fake.folder.path().join(name), &machine).with_lock(&lock);
    let _session = Session::open(&machine, fake.kernel(), &shelf("a"), "root's").unwrap();
    let second = Session::open(&machine, fake.kernel(), &shelf("b"), "a user's");
    let error = second.err().unwrap().to_string();
    assert_eq!(error, "cannot change settings: `root's` is changing them");
    // Who may not hold it keeps to his own folder.
    let nowhere =
        JournalDir::new(fake.folder.path().join("c"), &machine).with_lock("/nowhere/lock");
    assert!(Session::open(&machine, fake.kernel(), &nowhere, "test").is_ok());
}

#[test]
fn a_journal_in_use_is_not_of_a_former_boot() {
    let fake = Fake::new();
    set(&fake, &["thp=always"]);
    // A machine of the same name, such as a container's, in the same home.
    let other = fake.machine();
    let session = Session::open(&other, fake.kernel(), &fake.shelf(), "test").unwrap();
    fake.write("proc/sys/kernel/random/boot_id", "the-second");
    assert_eq!(fake.shelf().formers(), []);
    drop(session);
    assert_eq!(fake.shelf().formers().len(), 1);
}

#[test]
fn one_write_sets_a_policy_and_its_followers_come_back() {
    let fake = Fake::new();
    let plan = plan(&fake, &["governor=performance"]).unwrap();
    assert_eq!(plan.changes.len(), 3, "CPUs 0 and 1 share one");
    set(&fake, &["governor=performance"]);
    assert_eq!(fake.read("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"), "performance");
    fake.undo();
    // The driver itself would have left `balance_power`.
    let preference = "sys/devices/system/cpu/cpu2/cpufreq/energy_performance_preference";
    assert_eq!(fake.read(preference), "balance_performance");
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

#[test]
fn a_session_that_ends_puts_back_what_it_found() {
    let fake = Fake::new();
    set(&fake, &["max_freq=3GHz"]);
    let before = fake.changed();
    let machine = fake.machine();
    let mut session = Session::open(&machine, fake.kernel(), &fake.shelf(), "test").unwrap();
    for settings in [["max_freq=2GHz", "thp=always"], ["max_freq=1GHz", "thp=never"]] {
        let plan = Plan::new(&machine, session.levers(), &asked(&settings), false).unwrap();
        session.apply(&plan).unwrap();
    }
    drop(session);
    assert_eq!(fake.changed(), before);
    assert!(fake.undo().is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

#[test]
fn what_others_changed_meanwhile_is_left_alone_unless_forced() {
    let fake = Fake::new();
    set(&fake, &["numa_balancing=0", "epb@0=0"]);
    let bias = "sys/devices/system/cpu/cpu0/power/energy_perf_bias";
    fake.write(bias, "15");
    let undone = fake.undo();
    assert_eq!(undone.restored.len(), 1);
    assert_eq!((&*undone.foreign[0].former, &*undone.foreign[0].now), ("6", "15"));
    assert_eq!(fake.read(bias), "15");
    let undone = fake.undo_with(Others::Overwrite);
    assert!(undone.is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

/// A kernel that fails in one way, at one object.
struct Faulty {
    kernel: Box<dyn Levers>,
    /// Objects that are taken as they should be, before the one that is not.
    good: usize,
    /// Those that were met.
    met: Vec<Object>,
    /// The text that is put back.
    former: &'static str,
    fault: Fault,
}

/// What becomes of a text: another one, or an error.
type Fault = fn(&str) -> io::Result<String>;

impl Levers for Faulty {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        if !self.met.contains(object) {
            self.met.push(object.clone());
        }
        let is_bad = self.met.iter().position(|met| met == object) == Some(self.good);
        if is_bad && text != self.former {
            let text = (self.fault)(text)?;
            return self.kernel.write(object, &text);
        }
        self.kernel.write(object, text)
    }
}

#[test]
fn a_plan_that_fails_in_the_middle_leaves_nothing_behind() {
    let faults: [(&str, Fault); 3] = [
        ("reads `6`", |_| Ok("6".to_owned())),
        ("busy", |_| Err(io::Error::from_raw_os_error(sys::errno::EBUSY))),
        // Rounded, or clamped: a value that nobody asked for.
        ("reads `4`", |_| Ok("4".to_owned())),
    ];
    for (expected, fault) in faults {
        for good in 0..4 {
            let fake = Fake::new();
            let machine = fake.machine();
            let levers =
                Box::new(Faulty { kernel: fake.kernel(), good, met: vec![], former: "6", fault });
            let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
            let plan = Plan::new(&machine, session.levers(), &asked(&["epb=0"]), false).unwrap();
            let error = session.apply(&plan).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.undone.is_complete(), "{error}");
            assert_eq!(fake.changed(), [] as [&str; 0], "after {good} writes");
            let undone = session.restore();
            assert!(undone.is_complete() && undone.restored.is_empty(), "{undone:?}");
            assert_eq!(fake.changed(), [] as [&str; 0]);
            assert!(!fake.shelf().path().exists());
        }
    }
}

#[test]
fn what_could_not_be_taken_back_is_told_and_stays_ours() {
    let fake = Fake::new();
    let machine = fake.machine();
    // It takes nothing but what it makes of it.
    let fault: Fault = |_| Ok("4".to_owned());
    let levers =
        Box::new(Faulty { kernel: fake.kernel(), good: 1, met: vec![], former: "none", fault });
    let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
    let plan = Plan::new(&machine, session.levers(), &asked(&["epb=0"]), false).unwrap();
    let error = session.apply(&plan).unwrap_err();
    assert_eq!(error.undone.failed.len(), 1, "{error}");
    assert!(error.to_string().contains("not everything was put back"), "{error}");
    let undone = session.restore();
    assert!(undone.foreign.is_empty() && undone.failed.len() == 1, "{undone:?}");
    assert_eq!(fake.changed().len(), 1);
    // Another process, and a kernel that has come to its senses.
    assert!(fake.undo().is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

#[test]
fn the_second_one_learns_who_was_first() {
    let fake = Fake::new();
    let machine = fake.machine();
    let _session = Session::open(&machine, fake.kernel(), &fake.shelf(), "set 17").unwrap();
    let second = Session::open(&machine, fake.kernel(), &fake.shelf(), "set 18");
    let error = second.err().unwrap().to_string();
    assert_eq!(error, "cannot change settings: `set 17` is changing them");
    assert!(undo(&machine, fake.kernel(), &fake.shelf(), Others::Spare, "undo").is_err());
}

#[test]
fn a_journal_of_a_former_boot_is_reported_and_not_replayed() {
    let fake = Fake::new();
    set(&fake, &["thp=always"]);
    fake.write("proc/sys/kernel/random/boot_id", "the-second");
    let formers = fake.shelf().formers();
    assert_eq!(formers.len(), 1);
    assert_eq!(formers[0].1, 1, "settings");
    set(&fake, &["numa_balancing=0"]);
    let undone = fake.undo();
    assert_eq!(undone.restored.len(), 1);
    assert_eq!(fake.read("sys/kernel/mm/transparent_hugepage/enabled"), "[always] madvise never");
    fake.shelf().forget_formers(&formers);
    assert_eq!(fake.shelf().formers(), []);
    // That of another machine in the same folder is nobody's business here.
    set(&fake, &["numa_balancing=0"]);
    fs::create_dir_all(fake.root().join("etc")).unwrap();
    fake.write("etc/machine-id", "another");
    fake.write("proc/sys/kernel/random/boot_id", "the-third");
    assert_eq!(fake.shelf().formers(), []);
    assert!(fake.shelf().pending().unwrap().is_none());
}

#[test]
fn a_journal_that_is_none_is_not_guessed_at() {
    let fake = Fake::new();
    set(&fake, &["thp=always"]);
    let path = fake.shelf().path();
    let text = fs::read_to_string(&path).unwrap();
    // Half a line at its end was never acted upon.
    fs::write(&path, format!("{text}{{\"keeps\":{{\"obj")).unwrap();
    assert_eq!(fake.shelf().pending().unwrap().unwrap().kept.len(), 1);
    set(&fake, &["numa_balancing=0"]);
    assert_eq!(fake.shelf().pending().unwrap().unwrap().kept.len(), 2);
    assert!(fake.undo().is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
    for broken in ["{}\n", "nothing\n", "{\"cpudyno_journal\":2,\"machine\":\"x\",\"boot\":null}\n"]
    {
        fs::write(&path, broken).unwrap();
        assert!(matches!(fake.shelf().pending(), Err(Error::Journal { .. })), "{broken}");
    }
}

/// Files whose reads are counted.
struct Counting {
    machine: Machine,
    reads: Arc<AtomicUsize>,
}

impl Tree for Counting {
    fn read(&self, path: &str) -> Reading<String> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.machine.tree.read(path)
    }

    fn list(&self, path: &str) -> Reading<Vec<String>> {
        self.machine.tree.list(path)
    }
}

/// `ab` asks for an arm before each measurement: what is set already costs it next to nothing.
#[test]
fn what_is_set_already_is_looked_at_here_and_there() {
    const CPUS: usize = 1000;
    let fake = Fake::new();
    let bias = |cpu: usize| format!("sys/devices/system/cpu/cpu{cpu}/power/energy_perf_bias");
    for cpu in 4..CPUS {
        fs::create_dir_all(fake.root().join(bias(cpu)).parent().unwrap()).unwrap();
        fake.write(&bias(cpu), "6");
    }
    for file in ["present", "online"] {
        fake.write(&format!("sys/devices/system/cpu/{file}"), &format!("0-{}", CPUS - 1));
    }
    let reads = Arc::new(AtomicUsize::new(0));
    let tree = Box::new(Counting { machine: fake.machine(), reads: reads.clone() });
    let machine = Machine { tree, ..fake.machine() };
    let mut session = Session::open(&machine, fake.kernel(), &fake.shelf(), "test").unwrap();
    let ([a, b], _) =
        Plan::arms(&machine, session.levers(), [&asked(&["epb=0"]), &[]], false).unwrap();
    session.switch(&a).unwrap();
    session.switch(&b).unwrap();
    let mut switch = |arm| {
        let before = reads.load(Ordering::Relaxed);
        let changed = session.switch(arm).map(|changed| changed.len());
        (changed, reads.load(Ordering::Relaxed) - before)
    };
    // Each value that was written is read back.
    let (changed, read) = switch(&a);
    let changed = changed.unwrap();
    assert!(changed == CPUS && (CPUS..CPUS + CPUS / 10).contains(&read), "{changed}, {read}");
    let (changed, read) = switch(&a);
    let changed = changed.unwrap();
    assert!(changed == 0 && read <= CPUS / 10, "{changed}, {read}");
    // What somebody else wrote meanwhile is found before long, and left as it is.
    fake.write(&bias(777), "9");
    let found = (0..CPUS / 10).find_map(|_| switch(&a).0.err()).unwrap();
    assert!(found.to_string().contains("another program has since changed"), "{found}");
    let undone = session.restore();
    assert_eq!(undone.foreign.len(), 1, "{undone:?}");
    let left: Vec<usize> = (4..CPUS).filter(|&cpu| fake.read(&bias(cpu)) != "6").collect();
    assert_eq!(left, [777]);
}

/// Journals of a version that was never released name power domains otherwise.
#[test]
fn what_a_former_version_wrote_is_refused_with_an_explanation() {
    let fake = Fake::new();
    set(&fake, &["thp=always"]);
    let path = fake.shelf().path();
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(
        r#"{"keeps":{"object":{"speed-select":{"at":{"registers":0},"what":"level"}},"setting":"sst.level","former":"0"}}"#,
    );
    text.push('\n');
    fs::write(&path, text).unwrap();
    let undone = fake.undo();
    assert_eq!((undone.restored.len(), undone.unread.len()), (1, 1), "{undone:?}");
    assert!(undone.unread[0].contains("an older version wrote it"), "{undone:?}");
}
