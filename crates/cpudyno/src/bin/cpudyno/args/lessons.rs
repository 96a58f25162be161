//! What the help of `cpudyno sst` teaches, and what it says where a call lacks something: the lessons of crate `sst`.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use sst::lessons::Lesson;

use crate::failure::Failure;

/// Gives the features and their commands the texts and examples of their lessons.
pub(super) fn taught(sst: clap::Command) -> clap::Command {
    let names = |of: &clap::Command| -> Vec<String> {
        of.get_subcommands().map(|it| it.get_name().to_owned()).collect()
    };
    names(&sst).iter().fold(sst, |sst, feature| {
        sst.mut_subcommand(feature, |it| {
            let teach = |it: clap::Command, command: &String| {
                it.mut_subcommand(command, |it| with_lesson(it, &format!("{feature} {command}")))
            };
            names(&it).iter().fold(with_lesson(it, feature), teach)
        })
    })
}

fn with_lesson(command: clap::Command, words: &str) -> clap::Command {
    let Some(lesson) = Lesson::of(words) else { return command };
    let about = command.get_about().cloned().unwrap_or_default();
    let command = command.long_about(format!("{about}.\n\n{}", lesson.text));
    command.after_long_help(format!("Example:\n  {}", call(lesson)))
}

fn call(lesson: &Lesson) -> String {
    format!("sudo cpudyno sst {}", lesson.example)
}

/// Of a command that lacks its feature, or what it cannot do without: what is missing, and an example.
pub(super) fn lacking(error: &clap::Error, named: &[String]) -> Option<Failure> {
    let (_, rest) = named.split_first().filter(|(first, _)| *first == "sst")?;
    match (
        error.kind(),
        error.get(ContextKind::InvalidArg),
        error.get(ContextKind::InvalidSubcommand),
    ) {
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing)), _) => {
            let words = rest.join(" ");
            let lesson = Lesson::of(&words)?;
            let text = format!("`cpudyno sst {words}` needs {}", missing.join(" and "));
            let hint = format!("for example: {}", call(lesson));
            Some(Failure::usage(text).hint(hint))
        }
        (ErrorKind::InvalidSubcommand, _, Some(ContextValue::String(name))) if rest.is_empty() => {
            let all: Vec<&Lesson> = Lesson::of_commands(name).collect();
            let features = all.iter().filter_map(|it| Some(it.words.split_once(' ')?.0));
            let features: Vec<&str> = features.collect();
            let text = format!("`{name}` needs its feature before it: {}", features.join(" or "));
            let example = all.iter().find(|it| !it.example.is_empty())?;
            Some(Failure::usage(text).hint(format!("for example: {}", call(example))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use sst::lessons::LESSONS;

    use crate::args::Cli;

    #[test]
    fn every_example_is_a_line_that_is_taken() {
        for lesson in LESSONS.iter().filter(|it| !it.example.is_empty()) {
            let line = super::call(lesson);
            let parsed = Cli::try_parse_from(line.split(' ').skip(1));
            assert!(parsed.is_ok(), "{line}: {parsed:?}");
        }
    }
}
