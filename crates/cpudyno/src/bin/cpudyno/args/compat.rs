//! Called as the reference tool of Speed Select: its arguments are not those of cpudyno.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ::sst::compat::{TOOLS, Tool};

use crate::failure::Failure;

/// The name of the reference tool.
const NAME: &str = "intel-speed-select";

/// What it is called with.
#[derive(Debug)]
pub(crate) struct CompatArgs {
    /// As of every command.
    pub(crate) machine: Option<String>,
    /// As of every command.
    pub(crate) root: Option<PathBuf>,
    /// Which version is followed.
    pub(crate) tool: &'static Tool,
    /// Its arguments.
    pub(crate) words: Vec<String>,
}

/// Whether the reference tool was called, by its name or as `cpudyno [OPTIONS] sst --compat[=VERSION]`. What is cpudyno's
/// own may stand anywhere in the line: `--compat` behind `sst`, `--machine` and `--root`.
pub(crate) fn compat(arguments: &[OsString]) -> Option<Result<CompatArgs, Failure>> {
    let (program, rest) = arguments.split_first()?;
    let rest: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let is_by_name = Path::new(program).file_name() == Some(OsStr::new(NAME));
    (is_by_name || is_asked_for(&rest)).then(|| CompatArgs::of(rest, is_by_name))
}

const COMPAT: &str = "--compat";

/// An option, and what is attached to it.
fn parts(word: &str) -> (&str, Option<&str>) {
    word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)))
}

fn is_asked_for(rest: &[String]) -> bool {
    let mut words = rest.iter().map(String::as_str);
    loop {
        match words.next().map(parts) {
            Some(("--machine" | "--root", None)) => drop(words.next()),
            Some(("--machine" | "--root", Some(_))) => {}
            // Behind two strokes stands the command of somebody else.
            Some(("sst", None)) => {
                return words.take_while(|word| *word != "--").any(|word| parts(word).0 == COMPAT);
            }
            _ => return false,
        }
    }
}

impl CompatArgs {
    /// Takes out of the line what is cpudyno's own, and leaves the words of the reference tool.
    fn of(rest: Vec<String>, is_by_name: bool) -> Result<CompatArgs, Failure> {
        let [mut machine, mut root] = [const { None }; 2];
        let (mut tool, mut words, mut is_behind) = (Tool::DEFAULT, Vec::new(), is_by_name);
        let mut rest = rest.into_iter();
        while let Some(word) = rest.next() {
            let (own, value) = parts(&word);
            let kept = match own {
                "--machine" => &mut machine,
                "--root" => &mut root,
                COMPAT if !is_by_name => {
                    tool = value.map_or(Ok(Tool::DEFAULT), |it| Tool::of(it).ok_or(unknown(it)))?;
                    continue;
                }
                "sst" if !is_behind => {
                    is_behind = true;
                    continue;
                }
                _ => {
                    words.push(word);
                    continue;
                }
            };
            let value = value.map(str::to_owned).or_else(|| rest.next());
            let value = value.ok_or_else(|| {
                Failure::usage(format!("option `{own}` needs a value")).hint(EXAMPLE)
            })?;
            if kept.replace(value).is_some() {
                return Err(
                    Failure::usage(format!("option `{own}` stands there twice")).hint(EXAMPLE)
                );
            }
        }
        if machine.is_some() && root.is_some() {
            let text = "`--machine` and `--root` each name a machine";
            return Err(Failure::usage(text).hint("leave one of them out"));
        }
        Ok(CompatArgs { machine, root: root.map(PathBuf::from), tool, words })
    }
}

const EXAMPLE: &str = "cpudyno sst --compat --machine sim:guide core-power info";

fn unknown(version: &str) -> Failure {
    let known: Vec<&str> = TOOLS.iter().map(|tool| tool.version).collect();
    Failure::usage(format!("there is no table of titles for version `{version}` of {NAME}"))
        .hint(format!("versions: {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(line: &str) -> Option<Result<CompatArgs, Failure>> {
        let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        compat(&arguments)
    }

    #[test]
    fn it_is_called_by_name_or_by_option() {
        for (line, version, words) in [
            ("/usr/bin/intel-speed-select -c 1 core-power info", "1.20", "-c 1 core-power info"),
            ("cpudyno sst --compat", "1.20", ""),
            ("cpudyno sst --compat=1.13 --info", "1.13", "--info"),
            ("cpudyno sst -c 1 --compat core-power info", "1.20", "-c 1 core-power info"),
            ("cpudyno sst core-power info --compat", "1.20", "core-power info"),
            ("cpudyno sst --compat sst", "1.20", "sst"),
        ] {
            let args = called(line).unwrap().unwrap();
            assert_eq!(
                (args.tool.version, args.words.join(" ").as_str()),
                (version, words),
                "{line}"
            );
            assert_eq!(args.machine, None, "{line}");
        }
        assert!(called("cpudyno sst --compat=1.12").unwrap().is_err());
        for line in [
            "cpudyno",
            "cpudyno sst",
            "cpudyno sst info",
            "cpudyno show sst --compat",
            "cpudyno sst try base-freq -- ./job --compat",
            "cpudyno sheet --machine",
        ] {
            assert!(called(line).is_none(), "{line}");
        }
    }

    #[test]
    fn a_machine_may_be_named_anywhere_in_the_line_and_once() {
        let words = ["sst", "--compat", "-c", "1", "perf-profile", "info", "-l", "0"];
        for place in 0..=words.len() {
            for named in [&["--machine", "sim:guide"][..], &["--machine=sim:guide"]] {
                let line =
                    [&["cpudyno"], &words[..place], named, &words[place..]].concat().join(" ");
                // A value is taken with its option.
                if line.contains("-c --") || line.contains("-l --") {
                    continue;
                }
                let args = called(&line).unwrap().unwrap();
                assert_eq!(args.machine.as_deref(), Some("sim:guide"), "{line}");
                assert_eq!(args.words, words[2..], "{line}");
            }
        }
        for line in [
            "cpudyno sst --compat --info --machine",
            "cpudyno --machine sim:guide sst --compat --machine sim:guide --info",
            "cpudyno sst --root / --compat --machine sim:guide --info",
        ] {
            assert!(called(line).unwrap().is_err(), "{line}");
        }
    }
}
