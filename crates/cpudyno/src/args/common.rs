//! Arguments that several commands share.

use clap::{Args, ValueEnum};

/// How a record is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The data sheet for a terminal.
    Text,
    /// The whole record; docs/reference/record.schema.json describes it.
    Json,
    /// One line per sample.
    Csv,
    /// The data sheet for a ticket.
    Markdown,
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How text looks.
#[derive(Debug, Clone, Args)]
pub(crate) struct Look {
    /// How to print it.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(crate) format: Format,

    /// Columns of text, 40 to 400; by default those of the terminal, or 100.
    #[arg(long, value_parser = clap::value_parser!(u16).range(40..=400), value_name = "COLUMNS")]
    pub(crate) width: Option<u16>,

    /// When to use colours; no meaning rests on them.
    #[arg(long, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,

    /// Also print every fact, condition and instrument.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}
