//! Folders of records as they come to be: cut, foreign, unreadable, called anything, and written to while they are read.
#![expect(clippy::print_stderr, reason = "a test that cannot be run here says why")]

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Finished, cpudyno, finish, program};

/// A folder of records of simulated machines.
struct Folder(TempDir);

impl Folder {
    fn new(hosts: usize) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        let (base, records) = (folder.0.path().join("base.json"), folder.records());
        let (base, records) = (base.to_str().unwrap(), records.to_str().unwrap());
        let sheet = ["sheet", "--machine", "sim:2s-28c", "--budget", "2s", "--json", base];
        finish(cpudyno(&sheet)).success();
        let hosts = hosts.to_string();
        let made = ["fleet", "simulate", "--from", base, "--hosts", &hosts, records];
        finish(cpudyno(&made)).success();
        folder
    }

    fn records(&self) -> PathBuf {
        self.0.path().join("records")
    }

    fn record(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.records().join(name.as_ref())
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.record(name)).unwrap()
    }

    fn survey(&self) -> Value {
        survey(cpudyno(&["fleet", self.records().to_str().unwrap(), "--format", "json"]))
    }
}

/// What is found by a command that must not fail.
fn survey(command: std::process::Command) -> Value {
    serde_json::from_str(&finish(command).success()).unwrap()
}

/// Each name that is left out, and why; in their order.
fn left_out(survey: &Value) -> Vec<(String, String)> {
    let told = |it: &'static str| move |out: &Value| out[it].as_str().unwrap().to_owned();
    let left_out = survey["left_out"].as_array().unwrap();
    left_out.iter().map(|out| (told("name")(out), told("why")(out))).collect()
}

/// Its first bytes, without a brace at their end: with one it would be as whole as its digest.
fn cut(text: &str, length: usize) -> &str {
    let is_cut = |end: &usize| text.is_char_boundary(*end) && !text[..*end].trim().ends_with('}');
    &text[..(0..=length).rev().find(is_cut).unwrap()]
}

#[test]
fn ten_cut_records_of_three_hundred_are_named_and_cost_no_other() {
    let folder = Folder::new(300);
    let expected: Vec<String> = (0..10).map(|place| format!("r000n{:02}", place * 2)).collect();
    for (place, name) in expected.iter().enumerate() {
        let file = format!("{name}.json");
        let text = folder.text(&file);
        let length = if place == 9 { text.trim_end().len() - 1 } else { text.len() * place / 9 };
        fs::write(folder.record(&file), cut(&text, length)).unwrap();
    }
    let found = folder.survey();
    assert_eq!(found["hosts"], 290);
    let told = left_out(&found);
    assert_eq!(told.iter().map(|it| &it.0).collect::<Vec<_>>(), Vec::from_iter(&expected));
    assert!(told.iter().all(|it| it.1 == "cut off or damaged"), "{told:?}");
}

#[test]
fn each_version_is_read_or_left_out_with_its_reason() {
    let folder = Folder::new(10);
    let base = fs::read_to_string(folder.0.path().join("base.json")).unwrap();
    fs::write(folder.record("today.json"), &base).unwrap();
    // As of a version that wrote no digest.
    let mut old: Value = serde_json::from_str(&base).unwrap();
    old.as_object_mut().unwrap().remove("digest").unwrap();
    fs::write(folder.record("old.json"), old.to_string()).unwrap();
    for (name, schema) in [("later", "cpudyno.record/2"), ("foreign", "others.record/1")] {
        for (kind, record) in [("", &base), ("-old", &old.to_string())] {
            let record = record.replacen("cpudyno.record/1", schema, 1);
            fs::write(folder.record(format!("{name}{kind}.json")), record).unwrap();
        }
    }
    fs::write(
        folder.record("minor.json"),
        base.replacen("cpudyno.record/1", "cpudyno.record/1.7", 1),
    )
    .unwrap();
    let found = folder.survey();
    assert_eq!(found["hosts"], 13);
    let another = "of another version of cpudyno";
    let expected = [
        ("foreign", "no record"),
        ("foreign-old", "no record"),
        ("later", another),
        ("later-old", another),
    ];
    let expected = expected.map(|(name, why)| (name.to_owned(), why.to_owned()));
    assert_eq!(left_out(&found), expected);
    assert_eq!(found["partial"], serde_json::json!([]), "one without a digest has all results");
    let page = finish(cpudyno(&["fleet", folder.records().to_str().unwrap(), "-v"])).success();
    for (name, why) in expected {
        assert!(page.lines().any(|line| line.contains(&name) && line.contains(&why)), "{page}");
    }
}

/// Whoever may write to a shared folder names files in it; what they are called is shown to others, and handed on.
#[test]
fn names_of_files_are_no_lines_no_escapes_and_no_hosts_of_others() {
    let folder = Folder::new(20);
    let text = folder.text("r000n00.json");
    let names: [&[u8]; 7] = [
        b"a blank.json",
        b"two\nlines.json",
        b"tab\there.json",
        b"red\x1b[31m.json",
        b"no\xffutf.json",
        b"<b>&'\".json",
        b"a,b[1-9].json",
    ];
    for name in names {
        fs::write(folder.record(OsStr::from_bytes(name)), &text).unwrap();
        let broken = [b"x", name].concat();
        fs::write(folder.record(OsStr::from_bytes(&broken)), cut(&text, text.len() / 2)).unwrap();
    }
    let found = folder.survey();
    assert_eq!(
        (&found["hosts"], left_out(&found).len()),
        (&Value::from(20 + names.len()), names.len())
    );
    let records = folder.records();
    let records = records.to_str().unwrap();
    let list = finish(cpudyno(&["fleet", records, "--good"])).success();
    assert_eq!(list.lines().count(), 1, "{list:?}");
    let is_listed = |letter: char| letter.is_ascii_alphanumeric() || "-._,[]%\n".contains(letter);
    assert!(list.chars().all(is_listed), "{list:?}");
    assert!(list.contains("a%2Cb%5B1-9%5D") && !list.contains("b["), "{list}");
    for more in [&["-v"][..], &["--good"], &["--format", "markdown"], &["--format", "html"]] {
        let told = finish(cpudyno(&[&["fleet", records], more].concat())).success();
        assert!(!(more.contains(&"html") && told.contains("<b>&")), "{told}");
        let raw = told.chars().find(|letter| letter.is_control() && *letter != '\n');
        assert_eq!(raw, None, "{more:?}");
        assert!(!told.contains("two\nlines"), "{more:?}: {told}");
    }
}

/// Files that are there when a folder is listed and gone when they are read, that come while it is read, and that are
/// written to: none of them costs another its place.
#[test]
fn a_folder_that_changes_while_it_is_read_loses_no_other_record() {
    const KEPT: usize = 20;
    let folder = Folder::new(2 * KEPT);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder.records()).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let (kept, changing) = files.split_at(KEPT);
    let texts: Vec<String> = changing.iter().map(|it| fs::read_to_string(it).unwrap()).collect();
    let is_over = AtomicBool::new(false);
    let change = || {
        while !is_over.load(Ordering::Relaxed) {
            for (file, text) in changing.iter().zip(&texts) {
                fs::remove_file(file).unwrap();
                fs::write(file, text).unwrap();
            }
        }
    };
    let found: Vec<Finished> = thread::scope(|scope| {
        scope.spawn(change);
        let records = folder.records();
        let args = ["fleet", records.to_str().unwrap(), "--format", "json"];
        let found = (0..10).map(|_| finish(cpudyno(&args))).collect();
        is_over.store(true, Ordering::Relaxed);
        found
    });
    for found in found {
        let found: Value = serde_json::from_str(&found.success()).unwrap();
        let out: Vec<String> = left_out(&found).into_iter().map(|(name, _)| name).collect();
        let hosts = found["hosts"].as_u64().unwrap() as usize;
        assert!((KEPT..=2 * KEPT).contains(&(hosts + out.len())), "{hosts} {out:?}");
        for file in kept {
            let name = file.file_stem().unwrap().to_str().unwrap();
            assert!(!out.iter().any(|it| it == name), "{name}");
        }
    }
}

#[test]
fn a_file_that_is_gone_dangling_or_broken_on_disk_costs_no_other() {
    let folder = Folder::new(10);
    let gone = folder.record("gone.json");
    symlink(&gone, folder.record("dangling.json")).unwrap();
    // The kernel opens it as a file, and answers EIO to who reads it.
    symlink("/proc/self/mem", folder.record("broken.json")).unwrap();
    fs::create_dir(folder.record("folder.json")).unwrap();
    let records = folder.records();
    let args = ["fleet", records.to_str().unwrap(), gone.to_str().unwrap(), "--format", "json"];
    let found = survey(cpudyno(&args));
    assert_eq!(found["hosts"], 10);
    let expected = ["broken", "gone"].map(|name| (name.to_owned(), "cannot be read".to_owned()));
    assert_eq!(left_out(&found), expected);
}

#[test]
fn a_file_that_may_not_be_read_is_left_out_and_a_folder_is_refused() {
    // Without the rights of root over files, if this is root.
    let command = |args: &[&str]| {
        if sys::host::effective_user() != 0 {
            return cpudyno(args);
        }
        let mut command = program("setpriv");
        command.args(["--bounding-set", "-dac_override,-dac_read_search"]);
        command.arg(env!("CARGO_BIN_EXE_cpudyno")).args(args);
        command
    };
    if !command(&["--version"]).output().is_ok_and(|it| it.status.success()) {
        eprintln!("not run: it takes `setpriv` and its rights, or another user than root");
        return;
    }
    let folder = Folder::new(10);
    fs::set_permissions(folder.record("r003n00.json"), Permissions::from_mode(0o0)).unwrap();
    let records = folder.records();
    let args = ["fleet", records.to_str().unwrap(), "--format", "json"];
    let found = survey(command(&args));
    assert_eq!(found["hosts"], 9);
    assert_eq!(left_out(&found), [("r003n00".to_owned(), "cannot be read".to_owned())]);
    let judged = finish(command(&["fleet", records.to_str().unwrap(), "--fail-on", "slower:50%"]));
    assert_eq!(judged.code, Some(3), "{judged:?}");
    assert!(judged.stderr.contains("1 record left out"), "{judged:?}");
    fs::set_permissions(&records, Permissions::from_mode(0o0)).unwrap();
    let refused = finish(command(&args));
    fs::set_permissions(&records, Permissions::from_mode(0o755)).unwrap();
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{refused:?}");
    assert!(refused.stderr.contains("permission denied"), "{refused:?}");
}

#[test]
fn of_a_host_with_many_records_the_newest_that_is_whole_counts() {
    let folder = Folder::new(10);
    let text = folder.text("r000n00.json");
    let write = |name: &str, text: &str| fs::write(folder.record(name), text).unwrap();
    let at = |year: &str| text.replacen("\"started\":\"2026", &format!("\"started\":\"{year}"), 1);
    write("r000n00_20200101T000000Z.json", &at("2020"));
    write("r000n00_20200101T000000Z-2.json", &at("2021"));
    // The same run under another name is no other run.
    write("r000n00_20260101T000000Z.json", &text);
    write("r000n00_20270101T000000Z.json", cut(&at("2027"), text.len() / 2));
    write("r001n00.example.json", &folder.text("r001n00.json"));
    let found = folder.survey();
    assert_eq!((&found["hosts"], &found["older"]), (&Value::from(11), &Value::from(2)));
    let why = "cut off or damaged; another record of the machine is looked at";
    assert_eq!(left_out(&found), [("r000n00".to_owned(), why.to_owned())]);
}
