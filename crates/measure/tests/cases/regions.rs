//! Parallel regions with the runtimes of this machine, and children that fail.
//!
//! A runtime that is not installed is shown as an ignored case.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use libtest_mimic::{Failed as TestFailed, Trial};
use model::{CpuId, Seconds};
use rig::child::{self, ChildAnswer, ChildWork, Failed, ask};
use rig::executor::Stop;
use rig::regions::{Effort, Looped, RawRegions, Small, Team, Waiting, environment, reduce};

/// The runtimes, and whether they are called as Clang calls.
const LIBRARIES: &[(&str, bool)] =
    &[("libgomp.so.1", false), ("libomp.so.5", true), ("libiomp5.so", true)];
/// Long enough for any machine that is not stuck.
const PATIENCE: Duration = Duration::from_mins(2);

type Case = fn();

/// What the worker does.
pub(crate) fn work() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("an order can be read");
    let answer = child::answer(&line);
    std::io::Write::write_all(&mut std::io::stdout(), answer.as_bytes())
        .expect("an answer can be written");
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for &(library, kmpc) in LIBRARIES {
        let there = matches!(look(library), Ok(ChildAnswer::Library(_)));
        // The reason stands in the name: an ignored case has no other place for it.
        let why = if there { String::new() } else { format!(": {library} is not installed") };
        let case = move || {
            is_called_as_it_should(library, kmpc);
            goes_through_everything(&Team::Library(library.to_owned()), Waiting::Default);
            for waiting in waitings(kmpc) {
                loops(&Team::Library(library.to_owned()), waiting);
            }
        };
        trials.push(trial(&format!("{library}{why}"), case).with_ignored_flag(!there));
    }
    let cases: &[(&str, Case)] = &[
        ("our own regions", || {
            goes_through_everything(&Team::Spinning, Waiting::Default);
            goes_through_everything(&Team::Sleeping, Waiting::Default);
        }),
        ("small regions take as long as their sleep", small_regions),
        ("a library that is not there is not found", not_found),
        ("a library without OpenMP cannot be used", without_openmp),
        ("a CPU that there is not cannot be used", no_such_cpu),
        ("a child that crashes has ended", crashes),
        ("a child that hangs is ended", hangs),
        ("a child that talks nonsense is not believed", nonsense),
        ("a program that is not there is not started", missing),
        ("who asked to stop waits for nobody", stopped),
        ("an order that makes no sense is answered", bad_order),
    ];
    trials.extend(cases.iter().map(|(name, case)| trial(name, *case)));
    trials
}

fn trial(name: &str, case: impl FnOnce() + Send + 'static) -> Trial {
    Trial::test(format!("regions::{name}"), move || {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(case));
        done.map_err(|_| TestFailed::from("its message stands above"))
    })
}

fn us() -> PathBuf {
    std::env::current_exe().expect("this program has a path")
}

/// The first CPUs that this process may run on.
fn usable(count: usize) -> Vec<CpuId> {
    sys::affinity::current().unwrap().iter().take(count).collect()
}

fn look(library: &str) -> Result<ChildAnswer, Failed> {
    let work = ChildWork::Look(library.to_owned());
    Ok(ask(&us(), work, &[], PATIENCE, &Stop::default())?.answer)
}

fn short() -> Effort {
    Effort {
        warm_up: Seconds(0.002),
        looped: Some(Looped { elements: 999, regions_max: 40, time: Seconds(0.004) }),
        construct: Some(Seconds(0.003)),
        rest: Some(Seconds(0.002)),
        small: None,
    }
}

fn measured(team: &Team, cpus: &[CpuId], waiting: Waiting, effort: Effort) -> RawRegions {
    let work = ChildWork::Regions { team: team.clone(), cpus: cpus.to_vec(), effort };
    let variables = environment(cpus, waiting);
    match ask(&us(), work, &variables, PATIENCE, &Stop::default()).unwrap().answer {
        ChildAnswer::Regions(raw) => raw,
        other => panic!("{team:?}: {other:?}"),
    }
}

fn is_called_as_it_should(library: &str, kmpc: bool) {
    let looked = look(library);
    let Ok(ChildAnswer::Library(seen)) = looked else { panic!("{library}: {looked:?}") };
    assert_eq!(seen.kmpc, kmpc, "{seen:?}");
    assert!(Path::new(&seen.path).is_absolute(), "{seen:?}");
    assert_eq!(seen.block_time_ms.is_some(), kmpc, "{seen:?}");
}

fn waitings(kmpc: bool) -> Vec<Waiting> {
    if kmpc {
        [Some(0), Some(1), None].map(Waiting::BlockTime).to_vec()
    } else {
        vec![Waiting::Passive, Waiting::Active, Waiting::SpinCount(10)]
    }
}

/// The worker checks what the loop computes, and how many threads there are.
fn goes_through_everything(team: &Team, waiting: Waiting) {
    for count in [1, usable(3).len()] {
        let raw = measured(team, &usable(count), waiting, short());
        assert_eq!(raw.threads as usize, count);
        assert!(raw.looped.iter().map(|stretch| stretch.count).sum::<u64>() <= 40);
        let all = [&raw.looped, &raw.reference, &raw.region, &raw.reduction];
        let pairs = [&raw.barrier, &raw.static_for].map(|pairs| pairs.concat());
        for stretches in all.into_iter().chain(&pairs) {
            assert!(!stretches.is_empty(), "{raw:?}");
            assert!(stretches.iter().all(|it| it.count > 0 && it.nanoseconds > 0), "{raw:?}");
        }
        for [once, twice] in raw.barrier.iter().chain(&raw.static_for) {
            assert_eq!(once.count * 2, twice.count);
        }
        let readings = reduce(&Ok(raw));
        for id in ["loop_time", "loop_busy", "region_cost", "for_cost", "rest_busy"] {
            assert!(readings.contains_key(id), "{id}");
        }
    }
}

fn loops(team: &Team, waiting: Waiting) {
    let effort = Effort { construct: None, rest: None, ..short() };
    let raw = measured(team, &usable(2), waiting, effort);
    assert!(!raw.looped.is_empty() && raw.region.is_empty() && raw.rest.is_none(), "{raw:?}");
}

fn small_regions() {
    let small = Small { regions: 3, sleep: Seconds(0.004) };
    let effort =
        Effort { looped: None, construct: None, rest: None, small: Some(small), ..short() };
    let raw = measured(&Team::Sleeping, &usable(2), Waiting::Default, effort);
    let spent = raw.small.unwrap();
    assert!(spent.nanoseconds >= 12_000_000, "{spent:?}");
    assert!(raw.looped.is_empty());
}

fn not_found() {
    let answer = look("libno-such-library.so").unwrap();
    assert!(
        matches!(answer, ChildAnswer::NotFound(ref why) if why.contains("no-such")),
        "{answer:?}"
    );
}

fn without_openmp() {
    let answer = look("libc.so.6").unwrap();
    assert!(matches!(answer, ChildAnswer::Cannot(_)), "{answer:?}");
}

fn no_such_cpu() {
    let cpus = vec![CpuId(60_000)];
    let work = ChildWork::Regions { team: Team::Spinning, cpus, effort: short() };
    let answer = ask(&us(), work, &[], PATIENCE, &Stop::default()).unwrap().answer;
    assert!(matches!(answer, ChildAnswer::Cannot(ref why) if why.contains("60000")), "{answer:?}");
}

/// What comes of a program that is this script.
fn script(text: &str, limit: Duration) -> Result<child::Answered, Failed> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    ask(&path, ChildWork::Look("x".to_owned()), &[], limit, &Stop::default())
}

fn crashes() {
    match script("echo it is lost >&2; kill -SEGV $$", PATIENCE) {
        Err(Failed::Ended { status, said }) => {
            assert!(status.contains("signal: 11"), "{status}");
            assert_eq!(said, "it is lost");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(script("exit 0", PATIENCE), Err(Failed::Ended { .. })));
}

fn hangs() {
    let file = tempfile::NamedTempFile::new().unwrap();
    // The script's own child must not stay behind either.
    let text = format!("sleep 1000 & echo $! > {}; wait", file.path().display());
    let ended = script(&text, Duration::from_secs(1));
    assert!(matches!(ended, Err(Failed::TookTooLong { .. })), "{ended:?}");
    let child = std::fs::read_to_string(file.path()).unwrap();
    let stat = PathBuf::from(format!("/proc/{}/stat", child.trim()));
    // It is killed at once, and gone when somebody has waited for it.
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z")) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn nonsense() {
    for text in ["echo hello", "echo '{}'", "echo '{\"library\": 7}'"] {
        let answer = script(text, PATIENCE);
        assert!(matches!(answer, Err(Failed::Nonsense { .. })), "{text}: {answer:?}");
    }
}

fn missing() {
    let work = ChildWork::Look("x".to_owned());
    let program = Path::new("/no/such/program");
    let answer = ask(program, work, &[], PATIENCE, &Stop::default());
    assert!(matches!(answer, Err(Failed::NotStarted { .. })), "{answer:?}");
}

fn stopped() {
    let stop = Stop::default();
    stop.ask();
    let answer = ask(&us(), ChildWork::Look("x".to_owned()), &[], PATIENCE, &stop);
    assert!(matches!(answer, Err(Failed::Interrupted)), "{answer:?}");
}

fn bad_order() {
    assert!(child::answer("what?").contains("cannot read the order"));
}
