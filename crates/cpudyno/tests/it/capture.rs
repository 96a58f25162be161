//! `cpudyno capture`, and what the other commands make of a capture or a folder.

use std::fs;
use std::path::Path;

use crate::common::{Finished, cpudyno, finish};

fn in_folder(folder: &Path, args: &[&str]) -> Finished {
    let mut command = cpudyno(args);
    command.current_dir(folder);
    finish(command)
}

/// A capture of a simulated machine, as `sim.capture`.
fn captured(folder: &Path) -> String {
    let finished = in_folder(folder, &["capture", "sim.capture", "--machine", "sim:2s-56c"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), ""), "{finished:?}");
    fs::read_to_string(folder.join("sim.capture")).unwrap()
}

#[test]
fn a_capture_is_written_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let text = captured(folder.path());
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("cpudyno-capture 1"));
    assert!(lines.next().unwrap().contains("SIMULATED"));
    let printed = in_folder(folder.path(), &["capture", "-", "--machine", "sim:2s-56c"]);
    assert_eq!((printed.code, printed.stdout), (Some(0), text.clone()));
    let size = format!("{} lines, {} bytes", text.lines().count(), text.len());
    assert!(printed.stderr.contains(&size), "{}", printed.stderr);
    assert!(printed.stderr.contains("look at it before you pass it on"), "{}", printed.stderr);
    let again = in_folder(folder.path(), &["capture", "-", "--machine", "sim.capture"]);
    assert_eq!(again.stdout, text);
}

#[test]
fn this_machine_is_captured_and_replayed_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let finished = in_folder(folder.path(), &["capture", "here.capture"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), ""), "{finished:?}");
    for command in ["info", "doctor"] {
        let json =
            in_folder(folder.path(), &[command, "--machine", "here.capture", "--format", "json"]);
        let record: serde_json::Value = serde_json::from_str(&json.success()).unwrap();
        let elsewhere = record["run"]["elsewhere"].as_str().unwrap();
        assert!(elsewhere.starts_with("a capture, taken 20"), "{elsewhere}");
        assert!(!record.to_string().contains("here.capture"));
    }
}

#[test]
fn folders_are_machines_whose_files_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let release = folder.path().join("root/proc/sys/kernel");
    fs::create_dir_all(&release).unwrap();
    fs::write(release.join("osrelease"), "6.8.0-elsewhere\n").unwrap();
    let json = in_folder(folder.path(), &["info", "--root", "root", "--format", "json"]).success();
    assert!(json.contains("6.8.0-elsewhere") && json.contains("files below a folder"), "{json}");
    let text = in_folder(folder.path(), &["capture", "-", "--root", "root"]).stdout;
    assert!(text.contains("\n/proc/sys/kernel/osrelease = 6.8.0-elsewhere\n"), "{text}");
}

/// Option and name, what the error begins with, what the hint has in it.
const NO_MACHINES: &[(&str, &str, &str, &str)] = &[
    (
        "--machine",
        "missing",
        "cannot read machine `missing`: there is no such file",
        "machines: sim:1c, ",
    ),
    ("--machine", "folder", "cannot read machine `folder`: it is a folder", "--root folder"),
    ("--machine", "/dev/null", "cannot read machine `/dev/null`: it is no regular", "capture FILE"),
    (
        "--machine",
        "vm-2c",
        "cannot read machine `vm-2c`: there is no such file",
        "did you mean `sim:vm-2c`?",
    ),
    ("--machine", "sim:vm2c", "cannot find simulated machine `vm2c`", "did you mean `sim:vm-2c`?"),
    ("--machine", "cut", "cannot use capture `cut`, line ", "`cpudyno capture FILE` writes one"),
    (
        "--machine",
        "newer",
        "cannot use capture `newer`, line 1: this version reads",
        "capture FILE",
    ),
    (
        "--machine",
        "record.json",
        "cannot use capture `record.json`, line 1: expected `cpudyno-",
        "`cpudyno show record.json`",
    ),
    (
        "--machine",
        "binary",
        "cannot use capture `binary`, line 1: expected `cpudyno-",
        "capture FILE",
    ),
    (
        "--machine",
        "empty",
        "cannot use capture `empty`, line 1: expected `cpudyno-",
        "capture FILE",
    ),
    ("--root", "missing", "cannot use folder `missing`: there is no such file", "--root DIR"),
    ("--root", "empty", "cannot use folder `empty`: it is no folder", "--root DIR"),
];

#[test]
fn what_is_no_machine_is_explained() {
    const USAGE: i32 = 2;
    let folder = tempfile::tempdir().unwrap();
    let good = captured(folder.path());
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("cut", &good.as_bytes()[..good.len() / 2]);
    write("newer", good.replacen("cpudyno-capture 1", "cpudyno-capture 2", 1).as_bytes());
    write("record.json", b"{\"schema\": \"cpudyno.record/1\"}\n");
    write("binary", &[0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe]);
    write("empty", b"");
    fs::create_dir(folder.path().join("folder")).unwrap();
    for &(option, name, error, hint) in NO_MACHINES {
        let finished = in_folder(folder.path(), &["info", option, name]);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(USAGE), ""), "{finished:?}");
        let lines: Vec<&str> = finished.stderr.lines().collect();
        let [first, second] = lines[..] else { panic!("not two lines: {finished:?}") };
        assert!(first.starts_with(&format!("error: {error}")), "{first}\n{error}");
        assert!(second.starts_with("hint: ") && second.contains(hint), "{second}\n{hint}");
    }
    let refused = in_folder(folder.path(), &["capture", "no-such-folder/x"]);
    assert_eq!(refused.code, Some(USAGE));
    assert!(refused.stderr.starts_with("error: cannot write `no-such-folder/x`"), "{refused:?}");
}
