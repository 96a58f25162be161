//! `cpudyno doctor` on the machine at hand: as root, as a plain user, in a user namespace, behind a
//! filter, on one CPU, at every level of perf. What it names as a remedy is applied, and helps.
#![expect(clippy::print_stderr, reason = "a test that cannot be run here says why")]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use model::record::{Fact, Record};
use model::{Known, Obstacle, Unavailable};
use tempfile::TempDir;

use crate::common::{cpudyno, finish, program};
use crate::record::checked;

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
const HUGE_PAGES: &str = "/proc/sys/vm/nr_hugepages";
const NOBODY: u32 = 65_534;

/// Held by tests that change a setting of the kernel, or depend on one: they may be processes of their own, so it is the
/// lock of a file.
fn kernel() -> File {
    let here = File::open(env!("CARGO_TARGET_TMPDIR")).unwrap();
    here.lock().unwrap();
    here
}

/// A setting of the kernel that is put back at the end, whatever happens.
struct Setting {
    path: &'static str,
    before: String,
}

impl Setting {
    /// None where it cannot be written, which is said.
    fn of(path: &'static str) -> Option<Setting> {
        let before = fs::read_to_string(path).ok();
        let kept = before.filter(|before| fs::write(path, before).is_ok());
        if kept.is_none() {
            eprintln!("skipped: `{path}` cannot be written here");
        }
        kept.map(|before| Setting { path, before })
    }

    fn set(&self, value: &str) {
        fs::write(self.path, value).unwrap();
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        if let Err(error) = fs::write(self.path, &self.before) {
            eprintln!("`{}` could not be put back to {}: {error}", self.path, self.before);
        }
    }
}

/// The command where every user may execute it.
struct Anywhere {
    _folder: TempDir,
    path: PathBuf,
}

impl Anywhere {
    fn new() -> Anywhere {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("cpudyno");
        fs::copy(env!("CARGO_BIN_EXE_cpudyno"), &path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        Anywhere { _folder: folder, path }
    }

    fn doctor_as_nobody(&self) -> Record {
        let mut command = program(&self.path);
        command.args(["doctor", "--format", "json"]).current_dir("/");
        command.uid(NOBODY).gid(NOBODY);
        record_of(command)
    }
}

fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let uid = status.lines().find(|line| line.starts_with("Uid:")).unwrap();
    uid.split_whitespace().nth(2) == Some("0")
}

/// Whether the test runs as root; where it does not, that is said.
fn root_or_skip() -> bool {
    let root = is_root();
    if !root {
        eprintln!("skipped: only root can become another user");
    }
    root
}

fn record_of(command: Command) -> Record {
    checked(&finish(command).success())
}

fn doctor() -> Command {
    cpudyno(&["doctor", "--format", "json"])
}

/// The doctor, started by another program.
fn doctor_by(program_and_args: &[&str]) -> Command {
    let mut command = program(program_and_args[0]);
    command.args(&program_and_args[1..]).arg(env!("CARGO_BIN_EXE_cpudyno"));
    command.args(["doctor", "--format", "json"]);
    command
}

fn capability<'a>(record: &'a Record, id: &str) -> &'a Fact {
    let found = record.machine.capabilities.iter().find(|fact| fact.id == id);
    found.unwrap_or_else(|| panic!("no capability `{id}`"))
}

fn missing<'a>(record: &'a Record, id: &str) -> Option<&'a Unavailable> {
    match &capability(record, id).value {
        Known::No { unavailable } => Some(unavailable),
        Known::Yes(_) => None,
    }
}

#[track_caller]
fn refused<'a>(record: &'a Record, id: &str) -> (&'a str, &'a str) {
    let fact = capability(record, id);
    let Known::No { unavailable } = &fact.value else { panic!("it is available: {fact:?}") };
    assert_eq!(unavailable.obstacle, Obstacle::Permission, "{fact:?}");
    (&unavailable.why, unavailable.remedy.as_deref().expect("a remedy"))
}

#[track_caller]
fn assert_available(record: &Record, id: &str) {
    assert!(missing(record, id).is_none(), "{:?}", capability(record, id));
}

/// What stands between two texts.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).unwrap_or_else(|| panic!("no {start} in {text}")).1;
    rest.split_once(end).unwrap_or_else(|| panic!("no {end} in {text}")).0
}

#[test]
fn every_capability_is_there_or_says_why_and_what_helps() {
    let _kernel = kernel();
    let mut records = vec![record_of(doctor())];
    if root_or_skip() {
        records.push(Anywhere::new().doctor_as_nobody());
    }
    for name in simulated::names() {
        let machine = format!("sim:{name}");
        records.push(record_of(cpudyno(&["doctor", "--machine", &machine, "--format", "json"])));
    }
    for record in &records {
        let ids: Vec<&str> =
            record.machine.capabilities.iter().map(|fact| fact.id.as_str()).collect();
        assert_eq!(ids, machine::doctor::ids().collect::<Vec<_>>());
        for fact in &record.machine.capabilities {
            let Known::No { unavailable } = &fact.value else { continue };
            assert!(!unavailable.why.is_empty(), "{fact:?}");
            let helps = unavailable.remedy.is_some();
            assert!(helps || unavailable.obstacle != Obstacle::Permission, "{fact:?}");
        }
    }
}

#[test]
fn the_page_is_the_same_when_it_is_shown_again() {
    let _kernel = kernel();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let args = ["doctor", "--machine", "sim:vm-2c", "--width", "80"];
    let live = finish(cpudyno(&args)).success();
    assert!(live.starts_with("SIMULATED doctor: machine sim:vm-2c"), "{live}");
    assert!(live.lines().all(|line| line.chars().count() <= 80), "{live}");
    let words = live.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("the hypervisor shows this guest no PMU"), "{live}");
    fs::write(&file, finish(cpudyno(&[&args[..], &["--format", "json"]].concat())).success())
        .unwrap();
    assert_eq!(finish(cpudyno(&["show", file.to_str().unwrap()])).success(), live);
    let markdown = finish(cpudyno(&[&args[..], &["--format", "markdown"]].concat())).success();
    assert!(markdown.contains("| id |"), "{markdown}");
    let here = finish(cpudyno(&["doctor", "--verbose", "--width", "132"])).success();
    assert!(here.starts_with("What can be measured here\n"), "{here}");
    assert!(here.contains("Sources of each answer"), "{here}");
}

#[test]
fn what_is_required_and_missing_ends_with_1() {
    let finished =
        finish(cpudyno(&["doctor", "--machine", "sim:vm-2c", "--require", "perf,pmu,msr"]));
    assert_eq!(finished.code, Some(1), "{finished:#?}");
    assert!(finished.stdout.contains("available"), "{finished:#?}");
    let lines: Vec<&str> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), 4, "{finished:#?}");
    assert!(lines[0].starts_with("error: `msr` is not available here: there is no `/dev/cpu/*/m"));
    assert!(lines[1].starts_with("hint: `sudo modprobe msr`"), "{}", lines[1]);
    assert!(lines[2].starts_with("error: `pmu` is not available here: "), "{}", lines[2]);
    assert!(lines[3].starts_with("hint: give the guest a PMU on the host"), "{}", lines[3]);
    finish(cpudyno(&["doctor", "--machine", "sim:vm-2c", "--require", "perf,clock"])).success();
}

#[test]
fn strange_names_and_formats_are_usage_errors() {
    for (args, error, hint) in [
        (
            ["--require", "perf,pmuu"],
            "invalid value 'pmuu' for",
            "did you mean `pmu`? capabilities: ",
        ),
        (["--require", "zzz"], "invalid value 'zzz' for", "hint: capabilities: msr, "),
        (["--format", "csv"], "csv has a line per sample", "--format json"),
    ] {
        let finished = finish(cpudyno(&[&["doctor"], &args[..]].concat()));
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{finished:#?}");
        assert!(finished.stderr.contains(error), "{finished:#?}");
        assert!(finished.stderr.contains(hint), "{finished:#?}");
    }
}

#[test]
fn every_level_of_perf_is_explained_and_its_remedy_helps() {
    let _kernel = kernel();
    let Some(level) = root_or_skip().then(|| Setting::of(PARANOID)).flatten() else { return };
    let anywhere = Anywhere::new();
    level.set("-1");
    for id in ["perf", "perf.kernel", "perf.system_wide"] {
        assert_available(&anywhere.doctor_as_nobody(), id);
    }
    for id in ["perf.kernel", "perf.system_wide"] {
        for set in ["2", "3", "4"] {
            level.set(set);
            assert_available(&record_of(doctor()), id);
            let record = anywhere.doctor_as_nobody();
            let (why, remedy) = refused(&record, id);
            assert!(why.contains("answered EACCES"), "{why}");
            assert!(why.contains(&format!("`kernel.perf_event_paranoid` is {set}")), "{why}");
            level.set(between(remedy, "sysctl kernel.perf_event_paranoid=", "`"));
            assert_available(&anywhere.doctor_as_nobody(), id);
        }
    }
    level.set("2");
    let record = anywhere.doctor_as_nobody();
    let (_, remedy) = refused(&record, "perf.kernel");
    let given = between(remedy, "sudo setcap ", " ");
    let setcap = Command::new("setcap").arg(given).arg(&anywhere.path).status();
    if setcap.is_ok_and(|status| status.success()) {
        assert_available(&anywhere.doctor_as_nobody(), "perf.kernel");
    } else {
        eprintln!("skipped: setcap does not work here");
    }
}

#[test]
fn reserved_huge_pages_are_found() {
    let _kernel = kernel();
    let Some(pool) = root_or_skip().then(|| Setting::of(HUGE_PAGES)).flatten() else { return };
    let sizes = Path::new("/sys/kernel/mm/hugepages/hugepages-2048kB");
    if !sizes.exists() {
        eprintln!("skipped: this machine has no huge pages of 2 MiB");
        return;
    }
    pool.set("0");
    let record = record_of(doctor());
    let (why, remedy) = refused(&record, "huge_pages");
    assert!(why.contains("answered ENOMEM: none is reserved"), "{why}");
    pool.set(between(remedy, "`echo ", " |"));
    if fs::read_to_string(HUGE_PAGES).unwrap().trim() == "0" {
        eprintln!("skipped: memory is too scattered for huge pages");
        return;
    }
    assert_available(&record_of(doctor()), "huge_pages");
    assert_available(&Anywhere::new().doctor_as_nobody(), "huge_pages");
}

#[test]
fn root_of_a_user_namespace_is_told_what_it_is_worth() {
    let _kernel = kernel();
    let namespace = ["unshare", "--user", "--map-root-user", "--mount"];
    let tried = Command::new("unshare").args(&namespace[1..]).arg("true").output();
    if !tried.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no user namespaces here");
        return;
    }
    let level = is_root().then(|| Setting::of(PARANOID)).flatten();
    if let Some(level) = &level {
        level.set("2");
    }
    let record = record_of(doctor_by(&namespace));
    let (why, remedy) = refused(&record, "capabilities");
    assert!(why.contains("inside of this user namespace"), "{why}");
    assert!(remedy.starts_with("run as root outside"), "{remedy}");
    if level.is_some() {
        let (why, remedy) = refused(&record, "perf.kernel");
        assert!(why.contains("root of a user namespace counts as one"), "{why}");
        assert!(remedy.contains("on the host"), "{remedy}");
        assert!(refused(&record, "realtime").1.starts_with("run as root outside"));
        // The remedy: run as root outside.
        for id in ["perf.kernel", "capabilities", "realtime"] {
            assert_available(&record_of(doctor()), id);
        }
    }
}

#[test]
fn a_narrow_affinity_is_widened_by_the_command_it_names() {
    let whole = record_of(doctor());
    if missing(&whole, "cpus").is_some() || sys::affinity::current().unwrap().len() < 2 {
        eprintln!("skipped: this process has not several CPUs, and all of them");
        return;
    }
    let first = sys::affinity::current().unwrap().iter().next().unwrap().to_string();
    let record = record_of(doctor_by(&["taskset", "-c", &first]));
    assert_available(&record, "affinity");
    let (why, remedy) = refused(&record, "cpus");
    assert!(why.contains(&format!("may run on 1 of {} online CPUs: {first}", whole_count())));
    let all = between(remedy, "`taskset -c ", " ");
    // From the narrow process on: what is widened is the child's own affinity.
    let widened = doctor_by(&["taskset", "-c", &first, "taskset", "-c", all]);
    assert_available(&record_of(widened), "cpus");
}

fn whole_count() -> usize {
    sys::affinity::current().unwrap().len()
}

#[test]
fn a_filter_of_system_calls_is_named() {
    let _kernel = kernel();
    if missing(&record_of(doctor()), "perf").is_some() {
        eprintln!("skipped: perf events are refused here without a filter, too");
        return;
    }
    for (errno, name) in [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS")] {
        let mut command = doctor();
        refuse_perf(&mut command, errno);
        let record = record_of(command);
        let (why, remedy) = refused(&record, "perf");
        assert_eq!(why, format!("a seccomp filter refuses `perf_event_open` ({name})"));
        assert!(remedy.contains("--security-opt seccomp=unconfined"), "{remedy}");
        let (why, _) = refused(&record, "seccomp");
        assert!(why.contains("it refused: perf cpu-clock:u, perf cpu-clock"), "{why}");
    }
    // The remedy: run outside of it.
    assert_available(&record_of(doctor()), "seccomp");
}

/// Puts a filter over the child that lets everything pass but `perf_event_open`.
fn refuse_perf(command: &mut Command, errno: i32) {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let call = libc::SYS_perf_event_open as u32;
    let mut filter = [
        // The number of the call is the first word of `struct seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter { jf: 1, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call) },
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let install = move || {
        let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
        // SAFETY: takes integers only.
        let alone = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        // SAFETY: the kernel copies the program, whose four statements the closure owns.
        let done = unsafe {
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
        };
        if alone == 0 && done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec the closure calls prctl only, which is async-signal-safe; it
    // allocates nothing.
    unsafe { command.pre_exec(install) };
}
