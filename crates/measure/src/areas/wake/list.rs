//! The ways to signal, and whether this machine has them.

use machine::Machine;
use model::page::{Align, Block, Page, Table, Text, Tone};

use rig::signals::{Method, TABLE};

/// A page of all methods.
pub fn list(machine: &Machine) -> Page {
    let row = |method: &&'static Method| {
        let here = match method.missing(machine) {
            None => Text::from("yes"),
            Some(reason) => Text::toned(reason.why, Tone::Faint),
        };
        vec![Text::from(method.id), method.waits.word().into(), here, method.doc.into()]
    };
    Page {
        blocks: vec![Block::Table(Table {
            caption: "ways in which one thread signals another".to_owned(),
            columns: ["method", "until then it", "here", "what it is"]
                .map(|name| (name.to_owned(), Align::Left))
                .to_vec(),
            rows: TABLE.iter().map(row).collect(),
            notes: Vec::new(),
        })],
    }
}
