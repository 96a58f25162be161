//! Called as the reference tool of Speed Select.

use std::os::unix::fs::symlink;

use crate::common::{cpudyno, finish, program};

#[test]
fn its_arguments_are_those_behind_the_option() {
    let args = ["--machine", "sim:guide", "sst", "--compat", "-f", "json", "-c", "1"];
    let ended = finish(cpudyno(&[&args[..], &["perf-profile", "get-lock-status"]].concat()));
    assert_eq!(
        ended.stdout,
        "Intel(R) Speed Select Technology\nExecuting on CPU model:106[0x6a]\nSIMULATED machine: guide\n"
    );
    let json =
        "{\n  \"package-0:die-0:cpu-1\": {\n    \"get-lock-status\": \"unlocked\"\n  }\n\n}\n";
    assert_eq!((ended.stderr.as_str(), ended.code), (json, Some(0)));
    let older = ["--machine", "sim:guide", "sst", "--compat=1.13", "--version"];
    assert_eq!(finish(cpudyno(&older)).stderr, "Version v1.13\n");
    let unknown = finish(cpudyno(&["sst", "--compat=2", "--version"]));
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("hint: versions: 1.20, 1.13"), "{}", unknown.stderr);
}

#[test]
fn results_are_written_to_the_file_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results");
    let name = file.to_str().unwrap();
    let args = ["--machine", "sim:guide", "sst", "--compat", "-o", name, "core-power", "info"];
    let ended = finish(cpudyno(&args));
    assert_eq!((ended.stderr.as_str(), ended.code), ("", Some(0)));
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.starts_with(" package-0\n  die-0\n    cpu-0\n      core-power\n"), "{text}");
}

#[test]
fn a_link_of_its_name_is_it() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("intel-speed-select");
    symlink(env!("CARGO_BIN_EXE_cpudyno"), &link).unwrap();
    let mut command = program(&link);
    command.arg("--version");
    let ended = finish(command);
    assert_eq!((ended.stderr.as_str(), ended.code), ("Version v1.20\n", Some(0)));
    let mut command = program(&link);
    command.args(["-c", "x", "core-power", "info"]);
    let ended = finish(command);
    assert_eq!((ended.stderr.as_str(), ended.code), ("\"--cpu x\" malformed\n", Some(255)));
}

#[test]
fn without_the_option_it_is_our_own_face() {
    let page = finish(cpudyno(&["--machine", "sim:guide", "sst", "info"])).success();
    assert!(page.contains("SIMULATED") && !page.contains("Executing on CPU model"), "{page}");
}

#[test]
fn a_machine_may_be_named_at_any_place_of_the_line() {
    let words = ["sst", "--compat", "core-power", "info"];
    let ended = |place: usize| {
        let line = [&words[..place], &["--machine", "sim:guide"], &words[place..]].concat();
        let ended = finish(cpudyno(&line));
        assert_eq!(ended.code, Some(0), "{line:?}: {ended:?}");
        (ended.stdout, ended.stderr)
    };
    let first = ended(0);
    assert!(first.1.contains("support-status:supported"), "{first:?}");
    for place in 1..=words.len() {
        assert_eq!(ended(place), first, "{place}");
    }
}

#[test]
fn where_there_is_no_speed_select_nothing_comes_before_the_reason() {
    for line in [&["--info"][..], &["perf-profile", "info"], &["core-power", "disable"]] {
        let ended =
            finish(cpudyno(&[&["sst", "--compat", "--machine", "sim:epyc"], line].concat()));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(3), ""), "{line:?}: {ended:?}");
        let reason = "error: cannot read Speed Select: there is no `/dev/isst_interface`";
        assert!(ended.stderr.starts_with(reason), "{line:?}: {ended:?}");
    }
}

#[test]
fn our_own_help_names_it() {
    let help = finish(cpudyno(&["sst", "--help"])).success();
    assert!(help.contains("--compat[=<VERSION>]") && help.contains("intel-speed-select"), "{help}");
}
