//! `cpudyno fleet pack`, and packs among records.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fleet::pack::{self, PackError, PackedCounts, PackedHosts, Packer};
use fleet::survey::Rows;
use fleet::window::RunWindow;

use super::records;
use crate::args::PackArgs;
use crate::failure::{Failure, code};
use crate::output;

/// Adds records to a pack.
pub(super) fn pack(args: &PackArgs) -> Result<ExitCode, Failure> {
    let files = records::files(&args.records)?;
    if files.is_empty() {
        let named: Vec<String> = args.records.iter().map(|it| it.display().to_string()).collect();
        return Err(Failure::usage(format!("there is no record in `{}`", named.join("`, `")))
            .hint(records::HINT));
    }
    let to = args.to.clone().unwrap_or_else(|| in_folder(&args.records));
    let mut packer = Packer::open(&to).map_err(|error| failed(&error))?;
    for files in files.chunks(pack::TOGETHER) {
        let (mut found, mut remarks) = (Vec::new(), Vec::new());
        for packable in records::packable(files, packer.ledger()) {
            match packable {
                Ok(packable) => found.push(packable),
                Err(remark) => remarks.push(remark),
            }
        }
        packer.add(found, &remarks).map_err(|error| failed(&error))?;
    }
    let counts = packer.finish().map_err(|error| failed(&error))?;
    output::data(&told(counts, &to))?;
    Ok(ExitCode::SUCCESS)
}

/// Where a pack is, unless somebody says otherwise: beside the first records.
fn in_folder(records: &[PathBuf]) -> PathBuf {
    let first = records.first().map_or(Path::new("."), PathBuf::as_path);
    let folder = if first.is_dir() { first } else { first.parent().unwrap_or(Path::new(".")) };
    folder.join(pack::IN_FOLDER)
}

fn told(counts: PackedCounts, to: &Path) -> String {
    let PackedCounts { runs, known, results, left_out } = counts;
    let first = format!("{runs} runs with {results} results packed into {}", to.display());
    let known = match known {
        0 => None,
        1 => Some("1 was there already".to_owned()),
        many => Some(format!("{many} were there already")),
    };
    let left_out = match left_out {
        0 => None,
        1 => Some("1 file is no record".to_owned()),
        many => Some(format!("{many} files are no records")),
    };
    let lines = [Some(first), known, left_out].into_iter().flatten();
    lines.map(|line| line + "\n").collect()
}

/// What packs among these say: those that are named, and those in folders that are.
pub(super) fn read(
    named: &[PathBuf],
    window: &RunWindow,
    rows: &Rows,
) -> Result<PackedHosts, Failure> {
    let packs: Vec<PathBuf> = named.iter().filter_map(|folder| pack::of(folder)).collect();
    pack::read(&packs, window, rows).map_err(|error| failed(&error))
}

fn failed(error: &PackError) -> Failure {
    let text = error.to_string();
    match error {
        PackError::NotBuilt => Failure::new(code::NOT_HERE, text)
            .hint("build it with packs: `cargo build --release -p cpudyno --features parquet`"),
        PackError::Read { .. } => Failure::new(code::NOT_HERE, text).hint(
            "take the file away with that of the same name in `facts/`, or `results/`, and pack its records \
             again: `cpudyno fleet pack DIR --to PACK`",
        ),
        PackError::Write { .. } => Failure::new(code::NOT_HERE, text)
            .hint("name a folder that can be written to: `cpudyno fleet pack DIR --to PACK`"),
        PackError::Busy(_) => Failure::new(code::REFUSED, text).hint("wait until it has ended"),
    }
}
