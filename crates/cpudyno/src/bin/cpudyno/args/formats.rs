//! Which formats a command offers.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};

use super::Format;

/// Commands that have no samples for a table, and lists that are no record, with the formats that they refuse.
const NOT_OFFERED: &[(&[&str], &[Format])] = &[
    (&["info"], &[Format::Csv]),
    (&["doctor"], &[Format::Csv]),
    (&["settings"], &[Format::Csv]),
    (&["set"], &[Format::Csv]),
    (&["undo"], &[Format::Csv]),
    (&["ab"], &[Format::Csv]),
    (&["sweep"], &[Format::Csv]),
    (&["quiet"], &[Format::Csv]),
    (&["verify"], &[Format::Csv]),
    (&["compare"], &[Format::Csv]),
    (&["history"], &[Format::Csv]),
    (&["sst"], &[Format::Csv]),
    (&["pmu", "list"], &[Format::Csv]),
    (&["pmu", "kernel"], &[Format::Csv]),
    (&["pmu", "selftest"], &[Format::Csv]),
    (&["pmu", "stat"], &[Format::Csv]),
    (&["streams"], &[Format::Json, Format::Csv]),
];

/// The same commands, whose help does not offer what they refuse; they still say why.
pub(super) fn offered(mut command: clap::Command) -> clap::Command {
    for (path, refused) in NOT_OFFERED {
        let mut at = &mut command;
        for name in *path {
            at = at.find_subcommand_mut(name).expect("BUG: there is no such command");
        }
        *at = std::mem::take(at).mut_arg("format", |format| format.value_parser(parser(refused)));
    }
    command
}

fn parser(refused: &'static [Format]) -> ValueParser {
    let value = |format: &Format| -> Option<PossibleValue> {
        Some(format.to_possible_value()?.hide(refused.contains(format)))
    };
    let values = PossibleValuesParser::new(Format::value_variants().iter().filter_map(value));
    ValueParser::new(values.try_map(|word| Format::from_str(&word, false)))
}
