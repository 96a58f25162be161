//! `cpudyno pmu repl`: sub-commands line by line.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use machine::Machine;

use crate::args::{self, Command, PmuCommand};
use crate::failure::Failure;
use crate::output;

/// What people type where nothing else is asked.
const PROMPT: &str = "pmu> ";

pub(super) fn run(machine: &Machine, file: Option<&Path>) -> Result<ExitCode, Failure> {
    let is_typed = file.is_none() && std::io::stdin().is_terminal();
    let prompt = || if is_typed { output::data(PROMPT) } else { Ok(()) };
    let input: Box<dyn BufRead> = match file {
        Some(file) => Box::new(BufReader::new(opened(file)?)),
        None => Box::new(std::io::stdin().lock()),
    };
    prompt()?;
    for line in input.lines() {
        let line = line.map_err(|error| {
            Failure::usage(format!("cannot read a line: {}", sys::errno::words(&error)))
                .hint("lines are text in UTF-8: cpudyno pmu repl FILE")
        })?;
        let line = line.trim();
        if ["quit", "exit"].contains(&line) {
            break;
        }
        if !line.is_empty() && !line.starts_with('#') {
            match words(line).and_then(|words| one(machine, &words)) {
                Ok(code) if !is_typed && code != ExitCode::SUCCESS => return Ok(code),
                Err(failure) if !is_typed && failure.code != 0 => return Err(failure),
                Ok(_) => {}
                Err(failure) => output::failure(&failure),
            }
        }
        prompt()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn opened(file: &Path) -> Result<File, Failure> {
    File::open(file).map_err(|error| {
        let why = sys::errno::words(&error);
        Failure::usage(format!("cannot read lines from `{}`: {why}", file.display()))
            .hint("name a file of lines such as: kernel loop -e cycles")
    })
}

fn one(machine: &Machine, words: &[String]) -> Result<ExitCode, Failure> {
    let line = ["cpudyno", "pmu"].into_iter().chain(words.iter().map(String::as_str));
    let cli = args::parse(line.map(OsString::from))?;
    match cli.command {
        _ if cli.machine.is_some() || cli.root.is_some() => {
            Err(Failure::usage("all lines are of one machine")
                .hint("name it before: cpudyno pmu --machine NAME repl"))
        }
        Command::Pmu(args) if matches!(args.command, PmuCommand::Repl(_)) => {
            Err(Failure::usage("this is `pmu repl` already").hint("`quit` ends it"))
        }
        Command::Pmu(args) => super::run(machine, args),
        _ => Err(Failure::usage("lines are sub-commands of `cpudyno pmu`").hint("kernel loop")),
    }
}

/// The words of a line, as a shell has them: quotes hold blanks together.
fn words(line: &str) -> Result<Vec<String>, Failure> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(Failure::usage(format!("a quote is not closed: {line}"))
            .hint("such as: list 'mem_load.*l._hit'"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        let of = |line| words(line).ok().unwrap();
        assert_eq!(of(" list  'a b'\"c\" -e x"), ["list", "a bc", "-e", "x"]);
        assert_eq!(of("''"), [""]);
        assert_eq!(of(""), [""; 0]);
        assert!(words("list 'a").is_err());
    }
}
