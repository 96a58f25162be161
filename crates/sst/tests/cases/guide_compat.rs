//! The transcripts of the user guide, called on the guide's system, and those of a real Ice Lake server,
//! of which the shape must come out: titles, indentation, masks, units.
//!
//! They are other people's, and read where it lies below `../shared/fixtures`; without it every case
//! is shown as ignored. Each line of a transcript on package 0 must come in its order. The guide is older
//! than the versions that are followed: what differs is in [`DIFFERENCES`].

use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use machine::Machine;
use sst::compat::{Tool, answer, nobody};

const FILE: &str = "sst/isst-text/linux-doc-intel-speed-select-blocks.txt";
const REAL: &str = "sst/isst-text/icx-2x-sst-bf-cp-blocks.txt";
const PROMPT: &str = "# intel-speed-select ";

/// What had been set before the guide asked: priorities on, CPU 10 in class 3.
const SET: &str =
    r#"{"firmware": {"0.0/core-power": 1, "0.0/priorities": 2, "0.0/association/10": 3}}"#;

/// Lines of the guide, and what stands in their place; `None`: nothing. The page about conformance lists
/// them.
const DIFFERENCES: &[(&str, &str, Option<&str>)] = &[
    // The model's number is not in the guide.
    ("", "Executing on CPU model: X", None),
    ("", "...", None),
    ("perf-profile get-lock-status", "get-lock-status:0", Some("get-lock-status:unlocked")),
    ("base-freq info -l 0", "speed-select-base-freq", Some("speed-select-base-freq-properties")),
    ("turbo-freq info -l 0", "speed-select-turbo-freq", Some("speed-select-turbo-freq-properties")),
    // Level 0 of the same guide supports it.
    (
        "--info",
        "Intel(R) SST-BF (feature base-freq) is not supported",
        Some("Intel(R) SST-BF (feature base-freq) is supported"),
    ),
    // CPU 10 is in package 0 where the guide associates it.
    ("-c 10 core-power get-assoc", "package-1", Some("package-0")),
];

/// Calls that read.
fn reads(call: &str) -> bool {
    let command = call.split(' ').any(|word| word.starts_with("get-") || word == "info");
    !call.contains("--help") && (command || call == "--info")
}

fn fixture(file: &str) -> Option<String> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures").join(file);
    std::fs::read_to_string(shared).ok()
}

pub(crate) fn trials() -> Vec<Trial> {
    let (Some(text), Some(real)) = (fixture(FILE), fixture(REAL)) else {
        let missing = Trial::test("guide_compat::transcripts", || Ok(())).with_ignored_flag(true);
        return vec![missing];
    };
    let mut trials = Vec::new();
    for (place, block) in text.split(PROMPT).skip(1).enumerate() {
        let (call, lines) = block.split_once('\n').unwrap_or((block, ""));
        if reads(call) {
            let (call, lines) = (call.trim().to_owned(), lines.to_owned());
            let name = format!("guide_compat::transcript {place}: {call}");
            trials.push(Trial::test(name, move || compare(&call, &lines).map_err(Failed::from)));
        }
    }
    for block in real.split(PROMPT).skip(1) {
        let (call, lines) = block.split_once('\n').unwrap_or((block, ""));
        let (call, lines) = (call.trim().to_owned(), lines.to_owned());
        let name = format!("guide_compat::shape on Ice Lake: {call}");
        trials.push(Trial::test(name, move || in_shape(&call, &lines).map_err(Failed::from)));
    }
    // A guide that was cut short would prove nothing.
    let enough = trials.len() >= 15;
    trials.push(Trial::test("guide_compat::there are as many as the guide has", move || {
        if enough { Ok(()) } else { Err(Failed::from("fewer than 15 transcripts")) }
    }));
    trials
}

/// What is shown of a call on a simulated machine with that state.
fn shown(machine: &str, state: &str, call: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file: PathBuf = folder.path().join("state");
    std::fs::write(&file, state).map_err(|error| error.to_string())?;
    let machine = Machine::named(&format!("sim:{machine}@{}", file.display()));
    let machine = machine.map_err(|error| error.to_string())?;
    let words: Vec<String> = call.split(' ').map(str::to_owned).collect();
    let answer = answer(&machine, Tool::DEFAULT, &words, &mut nobody);
    Ok(format!("{}{}", answer.stdout, answer.stderr))
}

/// Where each line begins, its title, and what its value looks like.
fn shapes(text: &str) -> Vec<String> {
    let indented = text.lines().skip_while(|line| !line.starts_with(' '));
    indented.take_while(|line| line.starts_with(' ')).map(shape).collect()
}

fn shape(line: &str) -> String {
    let (title, value) = line.trim_end().split_once(':').unwrap_or((line.trim_end(), ""));
    let is_hexadecimal = |word: &str| word.len() == 8 && u32::from_str_radix(word, 16).is_ok();
    let value = if title.ends_with("mask") {
        value.split(',').all(is_hexadecimal).to_string()
    } else {
        let list = numbers(value);
        if list.starts_with("N,N") { "N,N".to_owned() } else { list }
    };
    format!("{}:{value}", numbers(title))
}

/// Numbers as `N`.
fn numbers(text: &str) -> String {
    let mut shape = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' if shape.ends_with('N') => {}
            '0'..='9' => shape.push('N'),
            other => shape.push(other),
        }
    }
    shape
}

fn in_shape(call: &str, transcript: &str) -> Result<(), String> {
    // Which CPUs are in which package differs; all that are asked for are in the first one here.
    let shown = shown("icelake", "{}", call)?;
    let (expected, seen) = (shapes(transcript), shapes(&shown));
    if expected == seen && !seen.is_empty() {
        return Ok(());
    }
    Err(format!("expected the shape\n{}\nof\n{shown}", expected.join("\n")))
}

fn compare(call: &str, transcript: &str) -> Result<(), String> {
    let shown = shown("guide", SET, call)?;
    let mut shown_lines = shown.lines().map(str::trim);
    for line in of_package_0(call, transcript) {
        if !shown_lines.any(|shown| shown == line) {
            return Err(format!("`{line}` is missing, or too early, in\n{shown}"));
        }
    }
    Ok(())
}

/// The lines of the answer, as they are expected.
fn of_package_0<'a>(call: &str, transcript: &'a str) -> Vec<&'a str> {
    let lines = transcript.lines().map(str::trim);
    let answered = lines.take_while(|line| !line.is_empty() && !line.starts_with('#'));
    let edited = answered.filter_map(|line| {
        let row = DIFFERENCES
            .iter()
            .find(|(of, from, _)| (of.is_empty() || *of == call) && *from == line);
        row.map_or(Some(line), |(_, _, to)| *to)
    });
    edited.take_while(|line| *line != "package-1").collect()
}
