//! `cpudyno compare`.

use std::path::Path;
use std::process::ExitCode;

use fleet::compare::{self, Comparison, Named};
use fleet::counts::WithCounts;
use model::record::{Digest, PageKind, Record};

use super::records::each;
use super::show::{refused, text};
use super::{json, percent, presentation, sinks_beside, unrecorded};
use crate::args::{CompareArgs, Format};
use crate::failure::{Failure, code};
use crate::output;

pub(super) fn run(args: CompareArgs) -> Result<ExitCode, Failure> {
    if args.records.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Failure::usage("cannot compare `-` with `-`: standard input can be read once")
            .hint("write one of the records to a file: `cpudyno sheet --json FILE`"));
    }
    let (sinks, look) = sinks_beside(&args.records, args.output)?;
    let named = |file: &Path, digest: Digest| Named { name: file.display().to_string(), digest };
    let records: Vec<Named> = each(&args.records, named).into_iter().collect::<Result<_, _>>()?;
    let is_of_counts = |named: &Named| named.digest.results.is_empty();
    if let ([first, second], true) = (args.records.as_slice(), records.iter().all(is_of_counts))
        && let (Some(a), Some(b)) = (counted(first)?, counted(second)?)
    {
        if args.fail_on.is_some() {
            return Err(Failure::usage(
                "counts are neither slower nor faster: --fail-on is of results",
            )
            .hint("save a budget and check it: `cpudyno pmu kernel NAME --save-budget FILE`"));
        }
        let names = [first, second].map(|file| file.display().to_string());
        let page = fleet::counts::page([(&names[0], &a), (&names[1], &b)]);
        let presentation = presentation(&look, PageKind::Pmu);
        let told = |format| match format {
            Format::Json => {
                let comparison = compare::compare(&records);
                json(serde_json::to_string_pretty(&WithCounts::of(&comparison, [&a, &b])))
            }
            format => unrecorded("a comparison of counts", &page, format, presentation),
        };
        let wrote = sinks.write(told);
        output::data(&told(look.format)?)?;
        return wrote.map(|()| ExitCode::SUCCESS);
    }
    let comparison = compare::compare(&records);
    // Of a thousand records, giving each text and list back one by one would be a tenth of the time; the process ends.
    std::mem::forget(records);
    let comparison = std::mem::ManuallyDrop::new(comparison);
    let presentation = presentation(&look, PageKind::Sheet);
    let page = compare::page(&comparison, presentation.verbosity);
    let told = |format| match format {
        Format::Json => written(&comparison),
        Format::Html => {
            let page = || compare::drawn(&comparison, presentation.verbosity);
            views::html::render(page, None).map_err(|error| super::broken(&error))
        }
        Format::Csv => Err(Failure::usage("a comparison has no samples for a table")
            .hint("print it as text, markdown, html or json: --format json")),
        format => unrecorded("a comparison", &page, format, presentation),
    };
    let written = sinks.write(told);
    output::data(&told(look.format)?)?;
    written?;
    args.fail_on.map_or(Ok(ExitCode::SUCCESS), |limit| judged(&comparison, limit))
}

/// A record of counts; what came from a pipe was read already.
fn counted(file: &Path) -> Result<Option<Record>, Failure> {
    if file == Path::new("-") {
        return Ok(None);
    }
    let mut buffer = Vec::new();
    let text = text(file, &mut buffer)?;
    let record = model::record::read(&text).map_err(|error| refused(file, &text, &error))?;
    Ok(record.counts.is_some().then_some(record))
}

/// The answer for scripts.
fn judged(comparison: &Comparison, limit: f64) -> Result<ExitCode, Failure> {
    let worse = comparison.worse_by(limit);
    let Some(worst) = worse.first() else {
        // What could not be judged is no green light, whatever the other records say.
        let Some(source) = comparison.undecided() else { return Ok(ExitCode::SUCCESS) };
        let first = &comparison.records[0].name;
        let why = format!(
            "cannot say what is slower in `{}`: no result of it has a verdict beside `{first}`",
            source.name
        );
        return Err(Failure::new(code::NOT_HERE, why)
            .hint("measure longer, with what both can measure: `cpudyno sheet --budget 60s`"));
    };
    let count = if worse.len() == 1 {
        "1 result is".to_owned()
    } else {
        format!("{} results are", worse.len())
    };
    let whose = worst
        .worst()
        .map_or_else(String::new, |place| format!(", in `{}`", comparison.records[place].name));
    let worst = model::areas::result_name(&worst.what);
    let text = format!("{count} worse by more than {} %, first: {worst}{whose}", percent(limit));
    Err(Failure::new(code::NO, text))
}

fn written(comparison: &Comparison) -> Result<String, Failure> {
    json(serde_json::to_string_pretty(comparison))
}
