//! Manual pages and completions, as packages have them; and the version.

use std::fs;

use crate::common::{cpudyno, finish};

#[test]
fn each_command_has_a_manual_page_with_examples_and_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    finish(cpudyno(&["pages", folder.path().to_str().unwrap()])).success();
    let all = finish(cpudyno(&["help", "--all"])).success();
    let commands = all.lines().filter_map(|line| line.strip_prefix("  "));
    let mut seen = 0;
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        // The page of `help` would be that of each command again.
        if command == "help" {
            continue;
        }
        let page = folder.path().join(format!("man/cpudyno-{command}.1"));
        let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{command}: {error}"));
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "\"EXIT STATUS\""]
        {
            assert!(page.contains(&format!("\n.SH {section}\n")), "{command}: no {section}");
        }
        seen += 1;
    }
    assert!(seen > 20, "{all}");
    assert!(folder.path().join("man/cpudyno-memory-sweep.1").exists());
    for page in fs::read_dir(folder.path().join("man")).unwrap() {
        let text = fs::read_to_string(page.unwrap().path()).unwrap();
        // `cpudyno-sst(1)`, which stands in roff as `cpudyno\-sst(1)`, or in bold before `(1)`.
        let text = text.replace("\\-", "-").replace("\\fR(1)", "(1)").replace("\\fB", "");
        for (before, _) in text.match_indices("(1)") {
            let name = text[..before].rsplit(|c: char| !c.is_alphanumeric() && c != '-').next();
            let referred = folder.path().join(format!("man/{}.1", name.unwrap()));
            assert!(referred.exists(), "{text}\nno {}", referred.display());
        }
    }
    let first = fs::read_to_string(folder.path().join("man/cpudyno.1")).unwrap();
    assert_eq!(first.matches(".SH \"EXIT STATUS\"").count(), 1, "{first}");
}

#[test]
fn help_of_every_command_fits_a_page() {
    const COLUMNS: usize = 100;
    let folder = tempfile::tempdir().unwrap();
    finish(cpudyno(&["pages", folder.path().to_str().unwrap()])).success();
    let page = fs::read_to_string(folder.path().join("cpudyno.md")).unwrap();
    for line in page.lines() {
        assert!(line.chars().count() <= COLUMNS, "{line}");
    }
    for words in [&["memory", "sweep"][..], &["sst"], &[]] {
        let mut command = cpudyno(&[words, &["--help"]].concat());
        command.env("COLUMNS", COLUMNS.to_string());
        let help = finish(command).success();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let title = [&["cpudyno"], words].concat().join(" ");
        let part = format!("\n## {title}\n\n```text\n{}\n```\n", help.join("\n"));
        assert!(page.contains(&part), "{part}");
    }
}

#[test]
fn completions_know_values() {
    for shell in ["bash", "zsh", "fish"] {
        let script = finish(cpudyno(&["completions", shell])).success();
        // Zsh has a backslash before the colon.
        for value in ["2s-56c", "avx512_fma_t", "governor=", "slurm-prolog", "libgomp"] {
            assert!(script.contains(value), "{shell} does not know {value}");
        }
    }
    // Bash ends words at the colon of `sim:2s-56c`; clap's function alone would complete the rest as a word.
    let bash = finish(cpudyno(&["completions", "bash"])).success();
    assert_eq!(bash.matches("complete -F _cpudyno_words ").count(), 2);
    assert!(!bash.contains("complete -F _cpudyno "));
    let refused = finish(cpudyno(&["completions", "csh"]));
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("bash, elvish, fish"), "{}", refused.stderr);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let failed = finish(cpudyno(&["pages", "/proc/none"]));
    assert_eq!(failed.code, Some(3));
    assert!(failed.stderr.contains("cannot write to `/proc/none`"), "{}", failed.stderr);
}

#[test]
fn the_version_names_what_a_report_should() {
    for args in [&["--version", "-v"][..], &["-vV"], &["--verbose", "-V"]] {
        let text = finish(cpudyno(args)).success();
        let named: Vec<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(named, ["cpudyno", "commit", "target", "features", "record"], "{text}");
        assert!(text.contains("record    cpudyno.record/1\n"), "{text}");
    }
    let short = finish(cpudyno(&["--version"])).success();
    assert_eq!(short, format!("cpudyno {}\n", env!("CARGO_PKG_VERSION")));
}
