//! Pages about settings, pure functions of the record (invariant I2).

use model::page::{Align, Block, Page, Remark, Table, Text, Tone};
use model::record::{
    ARM, ChangeOutcome, NO_LATENCY_LIMIT_US, Proof, ProofAnswer, Record, Setting, SettingChange,
    Settings,
};
use model::{CpuSet, Known, Obstacle, Unavailable};

/// All settings: what they hold, what they take, and why some cannot be set.
pub fn settings(record: &Record, verbosity: u8) -> Page {
    let listed: &[Setting] = record.settings.as_ref().map_or(&[], |settings| &settings.listed);
    let (arms, listed): (Vec<Setting>, Vec<Setting>) =
        listed.iter().cloned().partition(|setting| setting.of.as_deref() == Some(ARM));
    let (arms, listed): (Vec<&Setting>, &[Setting]) = (arms.iter().collect(), &listed);
    let there = |setting: &&Setting| matches!(setting.value, Known::Yes(_));
    let (movable, fixed): (Vec<&Setting>, Vec<&Setting>) =
        listed.iter().filter(there).partition(|setting| setting.fixed.is_none());
    let whose = match &record.run.elsewhere {
        Some(_) => "Settings of a machine elsewhere, as recorded",
        None => "Settings of this machine",
    };
    let mut blocks = vec![title(record, whose, "settings")];
    blocks.push(Block::Paragraph(summary(listed, movable.len(), fixed.len())));
    if !movable.is_empty() {
        blocks.push(table("can be set: cpudyno set SETTING=VALUE", &movable, verbosity));
    }
    if !fixed.is_empty() {
        blocks.push(table("cannot be set here", &fixed, verbosity));
    }
    if !arms.is_empty() {
        blocks.push(table(
            "of an arm of cpudyno ab: --a NAME=VALUE --b NAME=VALUE",
            &arms,
            verbosity,
        ));
    }
    let hidden = listed.iter().filter(|setting| is_hidden(setting));
    let refused = fixed
        .iter()
        .copied()
        .filter_map(|setting| Some((setting, setting.fixed.as_ref()?)))
        .chain(hidden.filter_map(|setting| Some((setting, reason(setting)?))));
    push_remarks(&mut blocks, "Why not", "not here", refused);
    let rules: Vec<Text> = listed.iter().filter_map(rule).collect();
    if !rules.is_empty() {
        blocks.push(Block::Heading("Who honours them here".to_owned()));
        blocks.push(Block::List(rules));
    }
    let absent = listed.iter().filter_map(|setting| match &setting.value {
        Known::No { unavailable } if !is_hidden(setting) => Some((setting, unavailable)),
        Known::No { .. } | Known::Yes(_) => None,
    });
    push_remarks(&mut blocks, "Not on this machine", "not there", absent);
    Page { blocks }
}

fn title(record: &Record, text: &str, simulated: &str) -> Block {
    let run = &record.run;
    let text = match &run.simulated {
        Some(name) => format!("SIMULATED {simulated}: machine sim:{name}"),
        None => text.to_owned(),
    };
    let from = run.elsewhere.as_ref().map_or(String::new(), |from| format!(", {from}"));
    let subtitle = format!("{} {}, {}{from}", record.tool.name, record.tool.version, run.started);
    Block::Title { text, subtitle }
}

fn summary(listed: &[Setting], movable: usize, fixed: usize) -> Text {
    let hidden = listed.iter().filter(|setting| is_hidden(setting)).count();
    let missing = listed.iter().filter(|s| reason(s).is_some()).count() - hidden;
    let fixed = fixed + hidden;
    let rights = listed.iter().filter_map(|setting| setting.fixed.as_ref());
    let rights = rights.filter(|reason| reason.needs_root()).count() + hidden;
    let could = match rights {
        0 => String::new(),
        rights => format!(" With root, {rights} more could be set."),
    };
    let text = format!(
        "{movable} can be set by this user, {fixed} cannot, {missing} are not there.{could}"
    );
    Text::toned(text, Tone::Strong)
}

/// Why there is no value.
fn reason(setting: &Setting) -> Option<&Unavailable> {
    match &setting.value {
        Known::No { unavailable } => Some(unavailable),
        Known::Yes(_) => None,
    }
}

/// Whether it is there, and this user may not even read it.
fn is_hidden(setting: &Setting) -> bool {
    reason(setting).is_some_and(Unavailable::needs_root)
}

fn table(caption: &str, settings: &[&Setting], verbosity: u8) -> Block {
    let row = |setting: &&Setting| {
        let value = setting.value.value().map_or("", String::as_str);
        let mut cells: Vec<Text> = vec![
            setting.id.as_str().into(),
            setting.of.as_deref().unwrap_or_default().into(),
            Text::toned(value, Tone::Strong),
            setting.takes.as_deref().unwrap_or_default().into(),
        ];
        if verbosity > 0 {
            cells.extend([setting.doc.as_str().into(), setting.proof.as_str().into()]);
        }
        cells
    };
    let mut columns = vec!["setting", "of", "is", "takes"];
    if verbosity > 0 {
        columns.extend(["what it does", "shown by"]);
    }
    Table::of(caption)
        .columns(columns.into_iter().map(|name| (name, Align::Left)))
        .rows(settings.iter().map(row))
        .into()
}

fn rule(setting: &Setting) -> Option<Text> {
    Some(format!("{}: {}", setting.id, setting.rule.as_ref()?).into())
}

/// One remark for each reason, with everything that it keeps.
fn push_remarks<'a>(
    blocks: &mut Vec<Block>,
    heading: &str,
    mark: &str,
    reasons: impl Iterator<Item = (&'a Setting, &'a Unavailable)>,
) {
    let mut grouped: Vec<(Vec<&Unavailable>, Vec<&str>)> = Vec::new();
    for (setting, reason) in reasons {
        let same = |known: &[&Unavailable]| kind(known[0]) == kind(reason);
        match grouped.iter_mut().find(|(known, _)| same(known)) {
            Some((_, ids)) if ids.contains(&&*setting.id) => {}
            Some((known, ids)) => {
                known.push(reason);
                ids.push(&setting.id);
            }
            None => grouped.push((vec![reason], vec![&setting.id])),
        }
    }
    if grouped.is_empty() {
        return;
    }
    blocks.push(Block::Heading(heading.to_owned()));
    let remark = |(reasons, ids): (Vec<&Unavailable>, Vec<&str>)| Remark {
        mark: Text::toned(mark, Tone::Faint),
        about: ids.join(", "),
        text: why(&reasons),
        remedy: reasons[0].remedy.clone(),
    };
    blocks.push(Block::Remarks(grouped.into_iter().map(remark).collect()));
}

/// Reasons of one kind are told once, with the first object that they were met at. Files that are not
/// there are of one kind where they would be in one folder.
fn kind(reason: &Unavailable) -> (Obstacle, &str, Option<&str>) {
    let tail = reason.why.rsplit_once(": ").map_or(&*reason.why, |(_, tail)| tail);
    let tail = missing(tail).map_or(tail, |(folder, _)| folder);
    (reason.obstacle, tail, reason.remedy.as_deref())
}

/// Folder and name of a file that is not there.
fn missing(why: &str) -> Option<(&str, &str)> {
    why.strip_prefix("there is no `")?.strip_suffix("` here")?.rsplit_once('/')
}

/// The first of several reasons of one kind; of files that are not there, all of them.
fn why(reasons: &[&Unavailable]) -> String {
    let first = reasons[0].why.clone();
    let Some((folder, _)) = missing(&first) else { return first };
    let mut names: Vec<&str> = Vec::new();
    for (_, name) in reasons.iter().filter_map(|reason| missing(&reason.why)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [_] => first,
        names => format!("there is no `{folder}/{{{}}}` here", names.join(",")),
    }
}

/// What was set, or put back, and what it was seen to do.
pub fn changes(record: &Record) -> Page {
    let none = Settings::default();
    let settings = record.settings.as_ref().unwrap_or(&none);
    let is_asked = |word: &str| record.run.command.iter().any(|asked| asked == word);
    let heading = if is_asked("undo") {
        "Settings that were put back"
    } else if is_asked("--dry-run") {
        "Settings that would be changed"
    } else {
        "Settings that were changed"
    };
    let mut blocks = vec![title(record, heading, "changes of settings")];
    if settings.changes.is_empty() {
        blocks.push(Block::Paragraph("There was nothing to change.".into()));
    } else {
        blocks.push(change_table(&settings.changes));
    }
    blocks.extend(proofs(&settings.proofs));
    if !settings.remarks.is_empty() {
        blocks.push(Block::Heading("To know".to_owned()));
        let remarks = settings.remarks.iter().map(|remark| remark.as_str().into());
        blocks.push(Block::List(remarks.collect()));
    }
    Page { blocks }
}

/// Objects whose names differ in one number as one name with all of these: `cpu{0-3,8}/online`.
fn together(objects: &[&str]) -> String {
    let parts: Vec<Vec<&str>> = objects.iter().map(|object| numbered(object)).collect();
    let distinct = |place: usize| {
        let all = parts.iter().filter_map(|parts| parts.get(place));
        all.collect::<std::collections::BTreeSet<_>>().len()
    };
    // Numbers are at odd places: that which differs most is told as a list.
    let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
    let place = (1..longest).step_by(2).rev().max_by_key(|place| distinct(*place)).unwrap_or(1);
    let mut alike: Vec<([String; 2], Vec<&str>)> = Vec::new();
    for parts in &parts {
        let (before, rest) = parts.split_at(place.min(parts.len()));
        let (number, after) = rest.split_first().unwrap_or((&"", &[]));
        let around = [before.concat(), after.concat()];
        match alike.iter_mut().find(|(known, _)| *known == around) {
            Some((_, numbers)) => numbers.push(number),
            None => alike.push((around, vec![number])),
        }
    }
    let told = alike.into_iter().map(|([before, after], numbers)| {
        // What begins with a zero is no plain number.
        let list = numbers.join(",");
        let set = list.parse().ok().filter(|set: &CpuSet| set.len() == numbers.len());
        let is_plain = numbers.iter().all(|it| *it == "0" || !it.starts_with('0'));
        match (numbers.as_slice(), set.filter(|_| is_plain)) {
            ([one], _) => format!("{before}{one}{after}"),
            (_, Some(set)) => format!("{before}{{{set}}}{after}"),
            (_, None) => format!("{before}{{{list}}}{after}"),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// A name cut at its numbers, which are at odd places.
fn numbered(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = name;
    let mut digits = false;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        (rest, digits) = (after, !digits);
    }
    parts
}

/// What was changed, like stories told once.
pub fn change_table(changes: &[SettingChange]) -> Block {
    // Many CPUs have the same story: it is told once.
    let mut grouped: Vec<(&SettingChange, Vec<&str>)> = Vec::new();
    for change in changes {
        let same = |known: &SettingChange| {
            let story = |c: &SettingChange| (c.id.clone(), c.former.clone(), c.wanted.clone());
            story(known) == story(change) && known.outcome == change.outcome
        };
        match grouped.iter_mut().find(|(known, _)| same(known)) {
            // What follows two settings was written twice, and is one object.
            Some((_, objects)) if objects.contains(&&*change.object) => {}
            Some((_, objects)) => objects.push(&change.object),
            None => grouped.push((change, vec![&change.object])),
        }
    }
    // A narrow page cuts the table, and repeats the first column.
    let is_alike = |id: &str| grouped.iter().filter(|(change, _)| change.id == id).count() > 1;
    let is_numbered = grouped.iter().any(|(change, _)| is_alike(&change.id));
    let name = |nth: usize, id: &str| {
        if is_numbered { format!("{} {id}", nth + 1) } else { id.to_owned() }
    };
    let names: Vec<String> =
        grouped.iter().enumerate().map(|(nth, (change, _))| name(nth, &change.id)).collect();
    // Where all of it comes to the same, the title says so; what has nothing to be done is seen by its values.
    let is_so = |it: &ChangeOutcome| *it == ChangeOutcome::Already;
    let mut moved = grouped.iter().map(|(change, _)| &change.outcome).filter(|it| !is_so(it));
    let throughout = match moved.next() {
        None => Some("so already, and nothing is written"),
        Some(first) if !moved.all(|it| it == first) => None,
        Some(ChangeOutcome::Planned) => Some("planned, and nothing is written"),
        Some(ChangeOutcome::Done) => Some("done, read back"),
        Some(_) => None,
    };
    let is_told = throughout.is_none();
    let row = |(name, (change, objects)): (String, (&SettingChange, Vec<&str>))| {
        let then = match (is_told, &change.outcome) {
            (false, ChangeOutcome::Already) => Text::toned("(so already)", Tone::Faint),
            _ => Text::toned(in_words(&change.id, &change.wanted), Tone::Strong),
        };
        let mut row = vec![name.into(), in_words(&change.id, &change.former).into(), then];
        row.extend(is_told.then(|| outcome(&change.outcome)));
        row.push(together(&objects).into());
        row
    };
    Table::of(match throughout {
        Some(outcome) => format!("{outcome}: as the kernel writes them"),
        None => "as the kernel writes them".to_owned(),
    })
    .left("setting")
    .folded("before")
    .folded("then")
    .columns(is_told.then_some(("", Align::Left)))
    .folded("written to")
    .rows(names.into_iter().zip(grouped).map(row))
    .into()
}

/// A value by the word that the setting has for it, as it is asked for.
fn in_words<'a>(id: &str, value: &'a str) -> &'a str {
    if id == "cpu_dma_latency" && value.parse() == Ok(NO_LATENCY_LIMIT_US) { "none" } else { value }
}

fn outcome(outcome: &ChangeOutcome) -> Text {
    match outcome {
        ChangeOutcome::Planned => "planned".into(),
        ChangeOutcome::Already => Text::toned("was so already", Tone::Faint),
        ChangeOutcome::Done => Text::toned("done, read back", Tone::Good),
        ChangeOutcome::Foreign => {
            Text::toned("left alone: somebody else changed it meanwhile", Tone::Warning)
        }
        ChangeOutcome::Failed { why } => Text::toned(format!("failed: {why}"), Tone::Serious),
    }
}

/// Whether the machine obeys; nothing where nothing was looked at.
pub fn proofs(proofs: &[Proof]) -> Vec<Block> {
    if proofs.is_empty() {
        return Vec::new();
    }
    let heading = Block::Heading("Does the machine obey?".to_owned());
    vec![heading, Block::Remarks(proofs.iter().map(proof).collect())]
}

fn proof(proof: &Proof) -> Remark {
    let mark = match proof.answer {
        ProofAnswer::Obeyed => Text::toned("obeyed", Tone::Good),
        ProofAnswer::NotObeyed => Text::toned("not obeyed", Tone::Serious),
        ProofAnswer::NotObservable => Text::toned("not observable here", Tone::Faint),
    };
    let text = match proof.load.as_str() {
        "none" => proof.seen.clone(),
        load => format!("{} (load: {load})", proof.seen),
    };
    let caveat = proof.caveat.iter().map(|caveat| format!(". Note: {caveat}"));
    let text = std::iter::once(text).chain(caveat).collect();
    Remark { mark, about: proof.id.clone(), text, remedy: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that `smt` brings back are CPUs that `online` brings back, too.
    #[test]
    fn an_object_is_told_once() {
        let change = |object: &str| SettingChange {
            id: "online".to_owned(),
            object: object.to_owned(),
            former: "0".to_owned(),
            wanted: "1".to_owned(),
            outcome: ChangeOutcome::Done,
        };
        let changes = ["/cpu5/online", "/cpu5/online", "/cpu7/online"].map(change);
        let Block::Table(table) = change_table(&changes) else { panic!("a table") };
        let told = table.rows[0].last().map(|cell| cell.text.as_str());
        assert_eq!(told, Some("/cpu{5,7}/online"));
    }

    #[test]
    fn objects_that_differ_in_a_number_are_one_name_with_all_of_them() {
        for (objects, told) in [
            (&["/cpu4/online"][..], "/cpu4/online"),
            (&["/cpu4/online", "/cpu6/online", "/cpu5/online"], "/cpu{4-6}/online"),
            (
                &["class of core 1 of package 0", "class of core 2 of package 0"],
                "class of core {1-2} of package 0",
            ),
            (&["1 of 0", "2 of 0", "1 of 1"], "{1-2} of 0; 1 of 1"),
            (&["package_00/max", "package_01/max"], "package_{00,01}/max"),
            (&["/a", "/b"], "/a; /b"),
        ] {
            assert_eq!(together(objects), told);
        }
    }
}
