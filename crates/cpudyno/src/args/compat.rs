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

/// Whether the reference tool was called, by its name or as `cpudyno [OPTIONS] sst --compat[=VERSION]`.
pub(crate) fn compat(arguments: &[OsString]) -> Option<Result<CompatArgs, Failure>> {
    let (program, mut rest) = arguments.split_first()?;
    if Path::new(program).file_name() == Some(OsStr::new(NAME)) {
        let (machine, root) = (None, None);
        return Some(Ok(CompatArgs { machine, root, tool: Tool::DEFAULT, words: texts(rest) }));
    }
    let (mut machine, mut root) = (None, None);
    loop {
        let (word, behind) = rest.split_first()?;
        let word = word.to_str()?;
        let (name, attached) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
        rest = behind;
        match name {
            "sst" if attached.is_none() => break,
            "--machine" | "--root" => {
                let value = if let Some(value) = attached {
                    value.to_owned()
                } else {
                    let (value, behind) = rest.split_first()?;
                    rest = behind;
                    value.to_str()?.to_owned()
                };
                if name == "--machine" {
                    machine = Some(value);
                } else {
                    root = Some(value.into());
                }
            }
            _ => return None,
        }
    }
    let (word, words) = rest.split_first()?;
    let version = word.to_str()?.strip_prefix("--compat")?;
    let tool = match version.strip_prefix('=') {
        None if version.is_empty() => Tool::DEFAULT,
        None => return None,
        Some(version) => match Tool::of(version) {
            Some(tool) => tool,
            None => return Some(Err(unknown(version))),
        },
    };
    Some(Ok(CompatArgs { machine, root, tool, words: texts(words) }))
}

fn unknown(version: &str) -> Failure {
    let known: Vec<&str> = TOOLS.iter().map(|tool| tool.version).collect();
    Failure::usage(format!("there is no table of titles for version `{version}` of {NAME}"))
        .hint(format!("versions: {}", known.join(", ")))
}

/// None of its arguments can be anything but a text.
fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
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
        for (line, machine, version, words) in [
            ("/usr/bin/intel-speed-select -c 1 core-power info", None, "1.20", 4),
            ("cpudyno sst --compat", None, "1.20", 0),
            ("cpudyno --machine sim:guide sst --compat=1.13 --info", Some("sim:guide"), "1.13", 1),
            ("cpudyno --machine=sim:guide sst --compat --machine x", Some("sim:guide"), "1.20", 2),
        ] {
            let args = called(line).unwrap().unwrap();
            assert_eq!(args.machine.as_deref(), machine, "{line}");
            assert_eq!((args.tool.version, args.words.len()), (version, words), "{line}");
        }
        assert!(called("cpudyno sst --compat=1.12").unwrap().is_err());
        for line in ["cpudyno sst info", "cpudyno sst info --compat", "cpudyno show sst", "cpudyno"]
        {
            assert!(called(line).is_none(), "{line}");
        }
    }
}
