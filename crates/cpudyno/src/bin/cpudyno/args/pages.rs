//! Completions for shells, manual pages, and the reference of commands: all from the commands as they are defined.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;
use roff::{Roff, bold, roman};

use super::EXIT_CODES;
use crate::failure::{Failure, code};
use crate::output;

/// Print completions for a shell.
///
/// They know commands, options, and values: streams, areas, simulated machines, settings.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// Shell that they are for.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  cpudyno completions bash > ~/.local/share/bash-completion/completions/cpudyno
  cpudyno completions zsh > ~/.zfunc/_cpudyno    with `fpath+=~/.zfunc` before compinit
  cpudyno completions fish > ~/.config/fish/completions/cpudyno.fish";

/// Write manual pages, completions and the reference of commands into a folder.
#[derive(Debug, Args)]
pub(crate) struct PagesArgs {
    /// Folder that gets `man/`, `completions/` and `cpudyno.md`.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The shells that packages have completions for.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

type Values = fn() -> Vec<String>;

/// Values that an option takes and that its parser knows, but clap does not: the command, `""` for all of them, the
/// option, the values.
const OFFERED: &[(&str, &str, Values)] = &[
    ("", "machine", || simulated::names().map(|name| format!("sim:{name}")).collect()),
    ("turbo", "test", || words(streams().chain(["all"]))),
    ("turbo", "trace", || words(streams())),
    ("sheet", "streams", || words(streams())),
    ("memory", "kernels", || words(kernels::memory::TABLE.iter().map(|kernel| kernel.id))),
    ("wake", "methods", || words(rig::signals::TABLE.iter().map(|method| method.id))),
    ("openmp", "runtime", || words(measure::areas::openmp::names())),
    ("verify", "streams", || words(measure::verify::ids())),
    ("doctor", "require", || words(machine::doctor::ids())),
    ("gate", "caller", || words(fleet::gate::callers::CALLERS.iter().map(|caller| caller.word))),
    ("ab", "a", || settings(super::settings::all_names())),
    ("ab", "b", || settings(super::settings::all_names())),
    ("ab", "area", || areas().collect()),
    ("sweep", "swept", || settings(super::settings::all_names())),
    ("sweep", "area", || areas().collect()),
    ("set", "settings", || settings(levers::Lever::all().map(|lever| lever.id))),
    ("quiet", "settings", || settings(levers::Lever::all().map(|lever| lever.id))),
    ("settings", "names", || words(levers::Lever::all().map(|lever| lever.id))),
];

fn words<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    all.map(str::to_owned).collect()
}

/// Names with what follows them.
fn settings<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.map(|name| format!("{name}=")).collect()
}

fn streams() -> impl Iterator<Item = &'static str> {
    kernels::streams::TABLE.iter().map(|row| row.id)
}

fn areas() -> impl Iterator<Item = String> {
    measure::areas::subjects::SUBJECTS.iter().map(|subject| subject.id.replace(' ', "-"))
}

/// The commands, with all values that are known.
fn offering(command: Command) -> Command {
    OFFERED.iter().fold(command, |command, (name, option, values)| {
        let values = values();
        if name.is_empty() {
            return taking(command, option, &values);
        }
        command.mut_subcommand(name, |command| taking(command, option, &values))
    })
}

/// The command, and those below it, where they have the option.
fn taking(command: Command, option: &str, values: &[String]) -> Command {
    let parser = || PossibleValuesParser::new(values.iter().cloned());
    let command = command
        .mut_args(|arg| if arg.get_id() == option { arg.value_parser(parser()) } else { arg });
    command.mut_subcommands(|below| taking(below, option, values))
}

/// Prints completions.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    output::data(&script(args.shell))?;
    Ok(ExitCode::SUCCESS)
}

/// Bash ends words at `:` and `=`, as in `sim:2s-56c`; the program does not, nor do the completions, to which the value
/// of `--option=value` is a word of its own.
const BASH_WORDS: &str = r#"
_cpudyno_words() {
    local words=() rest="$COMP_LINE" i word apart last=-1 at=0 before
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word="${COMP_WORDS[i]}"
        apart="${rest%%[![:blank:]]*}"
        rest="${rest#"$apart"}"
        rest="${rest#"$word"}"
        if [[ $last -lt 0 || -n "$apart" ]]; then
            words[++last]="$word"
        elif [[ "$word" == "=" && "${words[last]}" == -* ]]; then
            words[++last]=""
        else
            words[last]+="$word"
        fi
        ((i == COMP_CWORD)) && at=$last
    done
    COMP_WORDS=("${words[@]}")
    COMP_CWORD=$at
    _cpudyno "$1" "${words[at]}" "${words[at - 1]}"
    before="${words[at]%"$2"}"
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
"#;

/// The completions for a shell.
fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    // Each has a command of its own: clap completes it, which can be done but once.
    clap_complete::generate(shell, &mut offering(super::command()), "cpudyno", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => {
            script.replace("complete -F _cpudyno ", "complete -F _cpudyno_words ") + BASH_WORDS
        }
        _ => script.into_owned(),
    }
}

/// Writes what packages have beside the program.
pub(crate) fn pages(args: &PagesArgs) -> Result<ExitCode, Failure> {
    let (man, completions) = (args.folder.join("man"), args.folder.join("completions"));
    let written = fs::create_dir_all(&man)
        .and_then(|()| fs::create_dir_all(&completions))
        .and_then(|()| write_manual(&man))
        .and_then(|()| fs::write(args.folder.join("cpudyno.md"), reference()))
        .and_then(|()| {
            SHELLS.iter().try_for_each(|&shell| {
                fs::write(completions.join(shell.file_name("cpudyno")), script(shell))
            })
        });
    written.map(|()| ExitCode::SUCCESS).map_err(|error| {
        let text =
            format!("cannot write to `{}`: {}", args.folder.display(), sys::errno::words(&error));
        Failure::new(code::NOT_HERE, text)
    })
}

/// Columns of the reference, and of help where there is no terminal.
const COLUMNS: usize = 100;

/// What help prints, command by command, in Markdown.
fn reference() -> String {
    let mut command = super::command().term_width(COLUMNS);
    command.build();
    let all = super::help::all(&command);
    let mut page = format!(
        "# The command line\n\nWhat help prints, command by command.\n\n```text\n{all}```\n"
    );
    refer(&mut page, &command);
    page
}

fn refer(page: &mut String, command: &Command) {
    let title = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let help = command.clone().render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    page.extend(["\n## ", title, "\n\n```text\n", &lines.join("\n"), "\n```\n"]);
    let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
    for below in shown.filter(|it| it.get_name() != "help" || !it.has_subcommands()) {
        refer(page, below);
    }
}

/// A page for each command that help shows.
fn write_manual(folder: &Path) -> io::Result<()> {
    // The help of each command is its page.
    let command = super::command().mut_subcommand("help", |help| help.hide(true));
    let mut command = command.term_width(0);
    command.build();
    write_page(&command, &[], folder)
}

/// Writes the page of a command and of those below it; `above` are those that it is below.
fn write_page(command: &Command, above: &[&Command], folder: &Path) -> io::Result<()> {
    fs::write(folder.join(format!("{}.1", name(command))), page(command, above)?)?;
    let all = [above, &[command]].concat();
    let below = command.get_subcommands().filter(|it| !it.is_hide_set());
    below.into_iter().try_for_each(|below| write_page(below, &all, folder))
}

/// What its page is called.
fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// One page: what clap knows, then the examples, and the codes that all commands end with.
fn page(command: &Command, above: &[&Command]) -> io::Result<Vec<u8>> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let man = Man::new(command.clone().override_usage(usage));
    // Longer names do not fit beside each other at the top of a page.
    let title = above.get(1).copied().unwrap_or(command);
    let version = env!("CARGO_PKG_VERSION");
    let mut page =
        format!(".TH \"{}\" 1 \"\" \"cpudyno {version}\" \"cpudyno\"\n", name(title)).into_bytes();
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.get_subcommands().any(|below| !below.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let mut rest = Roff::new();
    sections(&mut rest, &examples(command, above));
    sections(&mut rest, EXIT_CODES);
    if let Some(above) = above.last() {
        rest.control("SH", ["SEE ALSO"]);
        rest.text([bold(name(above)), roman("(1)")]);
    }
    page.write_all(rest.render().as_bytes())?;
    Ok(page)
}

/// The examples of a command: its own, or those of a command above that are of it.
fn examples(command: &Command, above: &[&Command]) -> String {
    let after = |of: &Command| of.get_after_long_help().map(ToString::to_string);
    if above.is_empty() {
        return format!("Examples:\n{}", super::help::questions());
    }
    if let Some(own) = after(command) {
        return own;
    }
    let typed = format!("{} ", command.get_bin_name().unwrap_or_default());
    let all = above.iter().rev().filter_map(|above| after(above)).collect::<Vec<_>>().join("\n");
    let of_it: Vec<&str> = all.lines().filter(|line| format!("{line} ").contains(&typed)).collect();
    if of_it.is_empty() { String::new() } else { format!("Examples:\n{}", of_it.join("\n")) }
}

/// Text as help shows it: what stands at the left with a colon is a heading, the rest keeps its lines.
fn sections(roff: &mut Roff, text: &str) {
    let mut is_open = false;
    for line in text.lines() {
        match line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            Some(heading) => {
                if is_open {
                    roff.control("fi", []);
                }
                let heading = heading.to_uppercase().replace("EXIT CODES", "EXIT STATUS");
                roff.control("SH", [heading.as_str()]);
                roff.control("nf", []);
                is_open = true;
            }
            None => {
                roff.text([roman(line)]);
            }
        }
    }
    if is_open {
        roff.control("fi", []);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_that_is_offered_values_is_there() {
        let command = super::super::command();
        for (name, option, values) in OFFERED {
            let of = if name.is_empty() { Some(&command) } else { command.find_subcommand(name) };
            let has = of.is_some_and(|of| of.get_arguments().any(|arg| arg.get_id() == option));
            assert!(has, "`{name}` has no `{option}`");
            assert!(!values().is_empty(), "`{name}` has no values for `{option}`");
        }
    }
}
