//! Levers on files that are laid out like a kernel's: written, read back, killed between any two writes,
//! and undone by another process.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use levers::ask::Asked;
use levers::journal::Shelf;
use levers::plan::Plan;
use levers::port::Kernel;
use levers::{Error, Levers, Object, Others, Session, undo};
use machine::Machine;
use tempfile::TempDir;

/// A machine of four CPUs, two of them under one policy.
fn files() -> BTreeMap<String, String> {
    const CPU: &str = "sys/devices/system/cpu";
    let mut files = BTreeMap::new();
    let mut put = |path: String, text: &str| drop(files.insert(path, format!("{text}\n")));
    put(format!("{CPU}/present"), "0-3");
    put(format!("{CPU}/online"), "0-3");
    for cpu in 0..4 {
        let folder = format!("{CPU}/cpu{cpu}");
        let group = if cpu < 2 { "0 1".to_owned() } else { cpu.to_string() };
        put(format!("{folder}/cpufreq/affected_cpus"), &group);
        put(format!("{folder}/cpufreq/scaling_driver"), "intel_pstate");
        put(format!("{folder}/cpufreq/scaling_governor"), "powersave");
        put(format!("{folder}/cpufreq/scaling_available_governors"), "performance powersave");
        put(format!("{folder}/cpufreq/energy_performance_preference"), "balance_performance");
        put(format!("{folder}/cpufreq/scaling_min_freq"), "800000");
        put(format!("{folder}/cpufreq/scaling_max_freq"), "3800000");
        put(format!("{folder}/power/energy_perf_bias"), "6");
        put(format!("{folder}/topology/core_cpus_list"), &cpu.to_string());
        for (state, name) in ["POLL", "C1", "C6"].iter().enumerate() {
            put(format!("{folder}/cpuidle/state{state}/name"), name);
            put(format!("{folder}/cpuidle/state{state}/disable"), "0");
        }
        if cpu > 0 {
            put(format!("{folder}/online"), "1");
        }
    }
    put(format!("{CPU}/intel_pstate/no_turbo"), "0");
    put(format!("{CPU}/smt/control"), "on");
    put("sys/kernel/mm/transparent_hugepage/enabled".into(), "always [madvise] never");
    put("proc/sys/kernel/numa_balancing".into(), "1");
    put("proc/sys/kernel/random/boot_id".into(), "the-first");
    files
}

struct Fake {
    folder: TempDir,
}

impl Fake {
    fn new() -> Fake {
        // In memory, where there is such a place: hundreds of journals are forced to disk here.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let fake = Fake { folder: folder.unwrap() };
        for (path, text) in files() {
            let path = fake.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fake
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn machine(&self) -> Machine {
        Machine::rooted(&self.root()).unwrap()
    }

    fn kernel(&self) -> Box<dyn Levers> {
        kernel(&self.root())
    }

    fn shelf(&self) -> Shelf {
        Shelf::new(self.state(), &self.machine())
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap().trim().to_owned()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.root().join(path), text).unwrap();
    }

    /// What differs from the files that the machine came with.
    fn changed(&self) -> Vec<String> {
        let differs = |(path, text): (String, String)| {
            let now = self.read(&path);
            (now != text.trim()).then(|| format!("{path}: {now}"))
        };
        files().into_iter().filter_map(differs).collect()
    }

    fn undo(&self) -> levers::Undone {
        self.undo_with(Others::Spare)
    }

    fn undo_with(&self, others: Others) -> levers::Undone {
        undo(&self.machine(), self.kernel(), &self.shelf(), others, "test").unwrap()
    }
}

/// A kernel that marks the chosen word of the list, as the kernel does, and takes the preference along
/// with the governor.
struct Marking {
    kernel: Kernel,
    root: PathBuf,
}

fn kernel(root: &Path) -> Box<dyn Levers> {
    let kernel = Kernel::below(root, root.join("dev/cpu"));
    Box::new(Marking { kernel, root: root.to_owned() })
}

impl Levers for Marking {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn is_read_only(&self, path: &str) -> bool {
        self.kernel.is_read_only(path)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let Object::File(path) = object else { return self.kernel.write(object, text) };
        if path.ends_with("transparent_hugepage/enabled") {
            let marked = |word: &str| if word == text { format!("[{word}]") } else { word.into() };
            let words = ["always", "madvise", "never"].map(marked).join(" ");
            return self.kernel.write(object, &words);
        }
        self.kernel.write(object, text)?;
        if let Some(folder) = path.strip_suffix("scaling_governor") {
            let preference = match text {
                "performance" => "performance",
                _ => "balance_power",
            };
            let file = self.root.join(folder.trim_start_matches('/'));
            fs::write(file.join("energy_performance_preference"), preference)?;
        }
        Ok(())
    }
}

fn asked(settings: &[&str]) -> Vec<Asked> {
    settings.iter().map(|text| text.parse().unwrap()).collect()
}

fn plan(fake: &Fake, settings: &[&str]) -> Result<Plan, Error> {
    Plan::new(&fake.machine(), &*fake.kernel(), &asked(settings), true)
}

/// Sets, and leaves it so.
fn set(fake: &Fake, settings: &[&str]) {
    let machine = fake.machine();
    let mut session = Session::open(&machine, fake.kernel(), &fake.shelf(), "test").unwrap();
    let plan = Plan::new(&machine, session.levers(), &asked(settings), true).unwrap();
    session.apply(&plan).unwrap();
    session.leave();
}

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

#[test]
fn what_is_set_is_there_and_undone_exactly() {
    for setting in ALL {
        let fake = Fake::new();
        set(&fake, &[setting]);
        assert!(!fake.changed().is_empty(), "{setting} changed nothing");
        let undone = fake.undo();
        assert!(undone.is_complete(), "{setting}: {undone:?}");
        assert_eq!(fake.changed(), [] as [&str; 0], "{setting}");
        assert!(!fake.shelf().path().exists(), "{setting}: the journal is still there");
    }
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
    set(&fake, &["no_turbo=on", "epb@0=0"]);
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

/// A kernel that refuses limits beyond each other.
struct Ordering {
    kernel: Box<dyn Levers>,
    root: PathBuf,
}

impl Levers for Ordering {
    fn permits(&self, object: &Object) -> io::Result<()> {
        self.kernel.permits(object)
    }

    fn write(&mut self, object: &Object, text: &str) -> io::Result<()> {
        let Object::File(path) = object else { return self.kernel.write(object, text) };
        let number = |path: &str| -> u64 {
            let path = self.root.join(path.trim_start_matches('/'));
            fs::read_to_string(path).unwrap().trim().parse().unwrap()
        };
        let khz: u64 = text.parse().unwrap();
        let fits = match path.split_once("_min_") {
            Some((before, after)) => khz <= number(&format!("{before}_max_{after}")),
            None => khz >= number(&path.replace("_max_", "_min_")),
        };
        if fits { self.kernel.write(object, text) } else { Err(sys_einval()) }
    }
}

fn sys_einval() -> io::Error {
    io::Error::from_raw_os_error(sys::errno::EINVAL)
}

#[test]
fn limits_move_together_in_either_order() {
    for settings in [["min_freq=3GHz", "max_freq=3500MHz"], ["max_freq=3500MHz", "min_freq=3GHz"]] {
        let fake = Fake::new();
        for cpu in 0..4 {
            fake.write(
                &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_max_freq"),
                "2000000",
            );
        }
        let before = fake.changed();
        let machine = fake.machine();
        let levers = Box::new(Ordering { kernel: fake.kernel(), root: fake.root() });
        let mut session = Session::open(&machine, levers, &fake.shelf(), "test").unwrap();
        let plan = Plan::new(&machine, session.levers(), &asked(&settings), false).unwrap();
        session.apply(&plan).unwrap();
        assert_eq!(fake.read("sys/devices/system/cpu/cpu3/cpufreq/scaling_min_freq"), "3000000");
        assert!(session.restore().is_complete());
        assert_eq!(fake.changed(), before);
    }
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
    set(&fake, &["no_turbo=on"]);
    let undone = fake.undo();
    assert_eq!(undone.restored.len(), 1);
    assert_eq!(fake.read("sys/kernel/mm/transparent_hugepage/enabled"), "[always] madvise never");
    fake.shelf().forget_formers(&formers);
    assert_eq!(fake.shelf().formers(), []);
    // That of another machine in the same folder is nobody's business here.
    set(&fake, &["no_turbo=on"]);
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
    set(&fake, &["no_turbo=on"]);
    assert_eq!(fake.shelf().pending().unwrap().unwrap().kept.len(), 2);
    assert!(fake.undo().is_complete());
    assert_eq!(fake.changed(), [] as [&str; 0]);
    for broken in ["{}\n", "nothing\n", "{\"cpudyno_journal\":2,\"machine\":\"x\",\"boot\":null}\n"]
    {
        fs::write(&path, broken).unwrap();
        assert!(matches!(fake.shelf().pending(), Err(Error::Journal { .. })), "{broken}");
    }
}

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
    let shelf = Shelf::new(Path::new(folder).join("state"), &machine);
    let levers = Box::new(Dying { kernel: kernel(&root), moments: moments.parse().unwrap() });
    if what == "undo" {
        undo(&machine, levers, &shelf, Others::Spare, "test").unwrap();
        return;
    }
    let settings = if what == "round" { &["max_freq@3=2450MHz"] } else { ALL };
    let levers: Box<dyn Levers> =
        if what == "round" { Box::new(Rounding(kernel(&root))) } else { levers };
    let mut session = Session::open(&machine, levers, &shelf, "test").unwrap();
    let plan = Plan::new(&machine, session.levers(), &asked(settings), true).unwrap();
    session.apply(&plan).unwrap();
    session.restore();
}

/// Whether it was killed.
fn killed(fake: &Fake, what: &str, moments: usize) -> bool {
    let order = format!("{what} {moments} {}", fake.folder.path().display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    let command = command.args(["--exact", "dies_when_told", "--nocapture"]).env(KILL, order);
    let output = command.output().unwrap();
    !output.status.success()
}

#[test]
fn killed_between_any_two_writes_it_is_undone_by_another_process() {
    let mut deaths = 0;
    // Of each write, before and after: applying, and putting back.
    for moment in 0.. {
        let fake = Fake::new();
        if !killed(&fake, "set", moment) {
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
    assert!(deaths > 50, "{deaths}");
}

#[test]
fn wrong_words_are_refused_with_the_right_ones() {
    let fake = Fake::new();
    let parse = |text: &str| text.parse::<Asked>().unwrap_err().to_string();
    assert!(parse("governor").contains("looks like governor=performance"));
    assert!(parse("governer=performance").contains("no such setting"));
    assert!(parse("governor@=performance").starts_with("cannot read"));
    assert!(parse("thp@0=always").contains("no setting of single CPUs"));
    assert!(parse("governor=").contains("to be set to?"));
    let why = |text: &str| plan(&fake, &[text]).unwrap_err().to_string();
    assert!(why("governor=perfomance").contains("did you mean `performance`?"));
    assert!(why("epb=16").contains("from 0 to 15"));
    assert!(why("max_freq=2400000").contains("with a unit"));
    assert!(why("idle.C9=off").contains("no idle state C9, but POLL, C1, C6"));
    assert!(why("online@0=off").contains("there is no `/sys/devices/system/cpu/cpu0/online`"));
    assert!(why("epb@9=0").contains("there is no CPU 9"));
    assert!(why("uncore_max=2GHz").contains("has none"));
    assert!(why("prefetch.l2=off").contains("none of them"));
    assert_eq!(fake.changed(), [] as [&str; 0]);
}

#[test]
fn what_is_bound_to_a_cpu_is_named_before_it_goes() {
    let fake = Fake::new();
    let put = |path: &str, text: &str| {
        let path = fake.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    // The process may run everywhere, one of its threads may not.
    put("proc/17/task/17/status", "Name:\tserver\nCpus_allowed_list:\t0-3\n");
    put("proc/17/task/19/status", "Name:\tserver\nCpus_allowed_list:\t2-3\n");
    put("proc/17/cmdline", "server\0");
    put("proc/18/task/18/status", "Name:\tshell\nCpus_allowed_list:\t0-3\n");
    put("proc/18/cmdline", "sh\0");
    put("proc/irq/5/smp_affinity_list", "3\n");
    // This one has another CPU left, these two come back with theirs.
    put("proc/irq/6/smp_affinity_list", "0,3\n");
    put("proc/irq/7/smp_affinity_list", "3\n");
    put("sys/kernel/irq/7/actions", "nvme0q4\n");
    put("proc/irq/8/smp_affinity_list", "3\n");
    put("proc/irq/8/smp_affinity", "8\n");
    let mask = fake.root().join("proc/irq/8/smp_affinity");
    fs::set_permissions(mask, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = Plan::new(&fake.machine(), &*fake.kernel(), &asked(&["online@3=off"]), false);
    let why = refused.unwrap_err().to_string();
    assert!(why.contains("CPU 3 would go offline; threads are bound there"), "{why}");
    assert!(why.contains("server (19, CPUs 2-3); 1 interrupt is"), "{why}");
    assert!(!why.contains("shell"), "{why}");
    let forced = plan(&fake, &["online@3=off"]).unwrap();
    assert_eq!(forced.changes.len(), 1);
    assert!(Plan::new(&fake.machine(), &*fake.kernel(), &asked(&["online@1=off"]), false).is_ok());
}
