//! Arguments of `cpudyno help`, and the lists of commands: by purpose, and by the questions that they answer.

use std::fmt::Write;

use clap::Args;

/// Print the help of a command, or list all commands.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct HelpArgs {
    /// List every command, by purpose.
    #[arg(long)]
    pub(crate) all: bool,

    /// Command, such as `memory sweep`; by default cpudyno itself.
    #[arg(value_name = "COMMAND", conflicts_with = "all")]
    command: Vec<String>,
}

impl HelpArgs {
    /// The commands that were named, one below the other.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.command.iter().map(String::as_str)
    }
}

const EXAMPLES: &str = "\
Examples:
  cpudyno help --all           every command
  cpudyno help memory          one of them
  cpudyno help memory sweep    one of its subcommands";

/// Commands of one purpose.
struct Group {
    title: &'static str,
    commands: &'static [&'static str],
}

/// Every command that help shows is in one of them; `help` itself is listed after them.
const GROUPS: &[Group] = &[
    Group {
        title: "Measure",
        commands: &[
            "sheet", "turbo", "memory", "cores", "pause", "wake", "openmp", "jitter", "pmu",
        ],
    },
    Group { title: "Explain", commands: &["info", "doctor", "threads", "wait", "streams"] },
    Group { title: "Watch", commands: &["top", "quiet"] },
    Group { title: "Set", commands: &["settings", "set", "undo", "sst"] },
    Group { title: "Compare", commands: &["key", "ab", "sweep", "compare", "history"] },
    Group { title: "Many machines", commands: &["verify", "gate", "fleet"] },
    Group { title: "Records", commands: &["show", "capture"] },
    Group { title: "Shells", commands: &["completions"] },
];

/// The commands that most people begin with, of all groups.
const FIRST: &[&str] = &["sheet", "doctor", "turbo", "memory", "wake", "top", "set", "compare"];

/// Questions that people ask, and the command that answers each.
const QUESTIONS: &[(&str, &str)] = &[
    ("What is this machine, in half a minute?", "cpudyno sheet"),
    ("What can be measured here?", "cpudyno doctor"),
    ("Which clock do the cores hold under load?", "cpudyno turbo"),
    ("How fast are caches and memory?", "cpudyno memory"),
    ("How long does it take to wake a thread?", "cpudyno wake"),
    ("How many threads, and on which CPUs?", "cpudyno threads"),
    ("Spin or sleep?", "cpudyno wait"),
    ("What do the CPUs do right now?", "cpudyno top"),
    ("Does a setting help my program?", "cpudyno ab --b SETTING=VALUE -- CMD"),
    ("Can the result of my benchmark be trusted?", "cpudyno quiet -- CMD"),
    ("Is this the machine that I had?", "cpudyno key --compare FILE"),
    ("Why is this machine slower than that one?", "cpudyno compare A.json B.json"),
    ("What changed since yesterday?", "cpudyno history"),
    ("Which of my machines are slow, and why?", "cpudyno fleet DIR"),
    ("Does every core compute right?", "cpudyno verify"),
    ("Is this machine still normal?", "cpudyno gate --reference DIR"),
    ("Which other commands are there?", "cpudyno help --all"),
];

/// What `cpudyno` prints without a command.
pub(super) fn questions() -> String {
    let longest = QUESTIONS.iter().map(|(question, _)| question.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (question, command) in QUESTIONS {
        line(&mut text, &format!("{question:longest$}  {command}"));
    }
    text
}

/// The help of `cpudyno` itself: the first commands, and all options.
pub(super) fn template(command: &clap::Command) -> String {
    let mut first = String::new();
    list(&mut first, command, FIRST);
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\nCommands:\n{first}\n\
         `cpudyno help --all` lists every command\n\nOptions:\n{{options}}{{after-help}}"
    )
}

/// What `cpudyno help --all` prints.
pub(super) fn all(command: &clap::Command) -> String {
    let mut text = String::new();
    for Group { title, commands } in GROUPS {
        line(&mut text, title);
        list(&mut text, command, commands);
        line(&mut text, "");
    }
    line(&mut text, "Help");
    list(&mut text, command, &["help"]);
    text
}

/// Names with what each command is about, a line each.
fn list(text: &mut String, command: &clap::Command, names: &[&str]) {
    let longest = command.get_subcommands().map(|it| it.get_name().len()).max().unwrap_or_default();
    for name in names {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about);
        let about = about.expect("BUG: each command has an about");
        line(text, &format!("  {name:longest$}  {about}"));
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("BUG: a String takes any text");
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::super::command;
    use super::*;

    /// The commands below this one that help shows, with those below them.
    fn shown(command: &Command, above: &str) -> Vec<(String, Command)> {
        let below = command.get_subcommands().filter(|it| !it.is_hide_set());
        below
            .flat_map(|it| {
                let name = format!("{above} {}", it.get_name());
                let mut all = shown(it, &name);
                all.push((name, it.clone()));
                all
            })
            .collect()
    }

    #[test]
    fn every_visible_command_is_in_one_group() {
        let command = command();
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        let mut visible: Vec<&str> =
            visible.map(Command::get_name).filter(|name| *name != "help").collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|it| it.commands).copied().collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, visible);
        assert!(FIRST.iter().all(|name| grouped.contains(name)));
    }

    #[test]
    fn line_of_every_command_is_short_and_begins_with_a_verb() {
        const MOST: usize = 60;
        const VERBS: &[&str] = &[
            "Advise",
            "Allow",
            "Change",
            "Check",
            "Choose",
            "Compare",
            "Configure",
            "Count",
            "Fetch",
            "Find",
            "List",
            "Measure",
            "Plan",
            "Print",
            "Put",
            "Restore",
            "Run",
            "Save",
            "Set",
            "Show",
            "Switch",
            "Test",
            "Watch",
            "Write",
        ];
        for (name, command) in shown(&command(), "cpudyno") {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(about.chars().count() <= MOST, "{name}: {about}");
            let verb = about.split(' ').next().unwrap_or_default();
            assert!(VERBS.contains(&verb), "{name}: {about}");
        }
    }

    #[test]
    fn examples_and_exit_codes_are_not_wrapped() {
        const COLUMNS: usize = 100;
        for (name, command) in
            [shown(&command(), "cpudyno"), vec![(String::new(), command())]].concat()
        {
            let text = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines() {
                assert!(line.chars().count() <= COLUMNS, "{name}: {line}");
            }
        }
    }

    #[test]
    fn questions_fit_a_terminal_and_name_commands_that_parse() {
        for line in questions().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for (_, answer) in QUESTIONS {
            let words = answer.replace("SETTING=VALUE", "nice=10");
            let parsed = command().try_get_matches_from(words.split(' '));
            assert!(parsed.is_ok(), "{answer}: {parsed:?}");
        }
    }
}
