//! `cpudyno top`.

mod screen;

use std::io::IsTerminal;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use machine::Machine;
use measure::areas::top::{self, RowOrder, Watch, Watched};
use model::name::did_you_mean;
use model::page::{Block, Page};
use model::record::{PageKind, Presentation, Record};
use model::{Seconds, Unavailable};

use self::screen::Waited;
use super::{Delivery, Sinks, child, command, presentation, sinks, text};
use crate::args::{Format, TopArgs};
use crate::failure::{Failure, code};
use crate::output;
use crate::signals::Signals;

pub(super) fn run(machine: &Machine, args: TopArgs) -> Result<ExitCode, Failure> {
    let TopArgs { cpus, interval, intervals, once, show, hide, output, .. } = args;
    let TopArgs { add, sort, group, command: program, .. } = args;
    let (sinks, look) = sinks(output)?;
    let presentation = presentation(&look, PageKind::Top);
    let every = program.is_empty().then_some(interval);
    if let Some(asked) = &cpus {
        let online = machine::facts::topology(machine).online;
        let gone = asked.difference(&online);
        if !gone.is_empty() && !online.is_empty() {
            return Err(Failure::not_online(&gone, &online, "--cpus"));
        }
    }
    let is_place = |name: &&str| report::areas::top::PLACES.contains(name);
    if let Some(name) = add.iter().map(top::AddedColumn::name).find(is_place) {
        let taken = format!("cannot add a column `{name}`: this one says where a CPU sits");
        let hint = "name what you add: --add msr/0x10,name=TSC";
        return Err(Failure::usage(taken).hint(hint));
    }
    let is_counted = |name: &&str| {
        let is_in = |names: &[String]| names.iter().any(|it| it == name);
        (show.is_empty() || is_in(&show)) && !is_in(&hide)
    };
    let counted: Vec<&str> = top::COUNTERS.iter().copied().filter(is_counted).collect();
    let is_counted_anyway = !show.is_empty();
    let watched =
        Watched { cpus: cpus.as_ref(), every, added: &add, counted: &counted, is_counted_anyway };
    let mut watch = Watch::begin(machine, &watched, command(), presentation).map_err(refused)?;
    let added = add.iter().map(|column| column.name().to_owned());
    let order = RowOrder { sort: sorted(sort, &watch)?, group };
    if let Some(shown) = shown(show, &hide, added, &watch)? {
        if let Some(sort) = order.sort.as_ref().filter(|sort| !shown.contains(sort)) {
            let hidden = Failure::usage(format!("cannot sort by {sort}: it does not show"));
            return Err(hidden.hint("sort by a column that shows, or leave out --show and --hide"));
        }
        watch.only(shown);
    }
    some_are_there(&watch)?;
    watch.arrange(order);
    let signals = Signals::listen()?;
    let count = if once { Some(1) } else { intervals };
    let (format, keeps) = (look.format, !sinks.is_none() || look.format != Format::Text);
    let mut ends = ExitCode::SUCCESS;
    if program.is_empty() {
        let live = Live { presentation, signals: &signals, interval, count, keeps };
        let is_screen =
            count.is_none() && format == Format::Text && std::io::stdout().is_terminal();
        if is_screen {
            live.on_screen(&mut watch)?;
        } else {
            live.as_lines(&mut watch, format == Format::Text)?;
        }
    } else {
        ends = around(machine, &program, &mut watch)?;
        if format == Format::Text {
            output::data(&Delivery::of(&watch.record()).told(format)?)?;
        }
    }
    if watch.is_full() {
        let ended = watch.ended();
        output::remark(&format!(
            "it ended after {ended} intervals: a record holds no more; longer ones: -i 10s"
        ));
    }
    written(&watch.record(), format, sinks)?;
    Ok(match signals.came() {
        // Who watches until Ctrl-C ends as was meant.
        Some((_, "SIGINT")) if count.is_none() => ends,
        // What became of a command is its own answer.
        Some((signal, _)) if program.is_empty() => ExitCode::from(128 + signal as u8),
        _ => ends,
    })
}

fn refused(reason: Unavailable) -> Failure {
    let message = format!("cannot watch {}: {}", reason.what, reason.why);
    Failure { code: code::NOT_HERE, message, hint: reason.remedy }
}

/// The column by which rows are sorted, if not by the numbers of CPUs.
fn sorted(sort: Option<String>, watch: &Watch<'_>) -> Result<Option<String>, Failure> {
    let Some(sort) = sort.filter(|sort| sort != "CPU") else { return Ok(None) };
    are_known(std::slice::from_ref(&sort), watch)?;
    let (_, missing) = watch.columns();
    match missing.into_iter().find(|(name, _)| *name == sort) {
        None => Ok(Some(sort)),
        Some((_, reason)) => {
            let message = format!("cannot sort by {sort}: {}", reason.why);
            Err(Failure { code: code::NOT_HERE, message, hint: reason.remedy.clone() })
        }
    }
}

/// The columns that were asked for, and those that were added; none: all of them.
fn shown(
    show: Vec<String>,
    hide: &[String],
    added: impl Iterator<Item = String>,
    watch: &Watch<'_>,
) -> Result<Option<Vec<String>>, Failure> {
    let is_place = |name: &String| report::areas::top::PLACES.contains(&name.as_str());
    if show.is_empty() && hide.is_empty() {
        return Ok(None);
    }
    are_known(hide, watch)?;
    let mut shown: Vec<String> = if show.is_empty() {
        let (read, missing) = watch.columns();
        let missing = missing.into_iter().map(|(name, _)| name);
        read.into_iter().chain(missing).map(str::to_owned).collect()
    } else {
        show.into_iter().filter(|name| !is_place(name)).chain(added).collect()
    };
    are_known(&shown, watch)?;
    shown.retain(|name| !hide.contains(name));
    Ok(Some(shown))
}

/// Every name is one of a column, here or elsewhere.
fn are_known(shown: &[String], watch: &Watch<'_>) -> Result<(), Failure> {
    let (read, missing) = watch.columns();
    let mut known: Vec<&str> =
        read.into_iter().chain(missing.into_iter().map(|(name, _)| name)).collect();
    // Counters that do not show are not opened.
    let unopened = top::COUNTERS.iter().filter(|name| !known.contains(name));
    known.extend(unopened.copied().collect::<Vec<_>>());
    match shown.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let hint = match did_you_mean(unknown, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("columns: {}", known.join(", ")),
            };
            Err(Failure::usage(format!("there is no column `{unknown}`")).hint(hint))
        }
    }
}

fn some_are_there(watch: &Watch<'_>) -> Result<(), Failure> {
    let (read, missing) = watch.columns();
    match missing.first() {
        Some((name, reason)) if read.is_empty() => {
            let message = format!("cannot watch {name}: {}", reason.why);
            Err(Failure { code: code::NOT_HERE, message, hint: reason.remedy.clone() })
        }
        _ => Ok(()),
    }
}

/// The record, where it goes somewhere.
fn written(record: &Record, format: Format, sinks: Sinks) -> Result<(), Failure> {
    let telling = Delivery::of(record);
    telling.write(sinks)?;
    match format {
        Format::Text => Ok(()),
        _ => output::data(&telling.told(format)?),
    }
}

/// One interval: as long as a command runs.
fn around(machine: &Machine, words: &[String], watch: &mut Watch<'_>) -> Result<ExitCode, Failure> {
    if let Some(model) = &machine.simulated {
        let text = format!("cannot run `{}`: sim:{} runs no commands", words[0], model.name);
        return Err(Failure::new(code::NOT_HERE, text).hint("leave out --machine"));
    }
    let not_started = |error| child::not_started(&words[0], "top", &error);
    let mut program = Command::new(&words[0]).args(&words[1..]).spawn().map_err(not_started)?;
    let status = child::wait_and(&mut program, top::NOTE, || watch.note()).map_err(|error| {
        let text = format!("cannot wait for `{}`: {error}", words[0]);
        Failure::new(code::NOT_HERE, text)
    })?;
    watch.look();
    Ok(ExitCode::from(child::code(status)))
}

/// Interval after interval.
struct Live<'a> {
    presentation: Presentation,
    signals: &'a Signals,
    interval: Seconds,
    count: Option<usize>,
    /// Whether all intervals are kept, for a record.
    keeps: bool,
}

impl Live<'_> {
    fn is_over(&self, watch: &Watch<'_>) -> bool {
        let is_done = self.count.is_some_and(|count| watch.ended() >= count);
        self.signals.came().is_some() || is_done || watch.is_full()
    }

    /// Prints what a reader of the whole page would read, part by part.
    fn as_lines(&self, watch: &mut Watch<'_>, prints: bool) -> Result<(), Failure> {
        let verbosity = self.presentation.verbosity;
        let print = |blocks: Vec<Block>, begins: bool| {
            if !prints || blocks.is_empty() {
                return Ok(true);
            }
            let part = text(&Page { blocks }, self.presentation);
            // What is folded is for those who ask for it.
            if part.is_empty() {
                return Ok(true);
            }
            output::data_while_read(&if begins { part } else { format!("\n{part}") })
        };
        let mut next = Instant::now();
        let mut is_read = print(report::areas::top::beginning(&watch.last()), true)?;
        while is_read && !self.is_over(watch) {
            next += Duration::from_secs_f64(self.interval.0);
            self.wait_until(next, watch);
            watch.look();
            if !self.keeps {
                watch.forget();
            }
            if prints {
                is_read = print(vec![report::areas::top::interval(&watch.last(), 0)], false)?;
            }
        }
        print(report::areas::top::end(&watch.record(), verbosity), false).map(drop)
    }

    /// In parts, so that a signal is not waited for until the interval ends.
    fn wait_until(&self, end: Instant, watch: &mut Watch<'_>) {
        const PART: Duration = Duration::from_millis(200);
        if watch.is_simulated() {
            return watch.wait(self.interval);
        }
        while self.signals.came().is_none() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            watch.wait(Seconds(left.min(PART).as_secs_f64()));
        }
    }

    fn on_screen(&self, watch: &mut Watch<'_>) -> Result<(), Failure> {
        let broken = |error: std::io::Error| {
            Failure::new(code::NOT_HERE, format!("cannot draw on this terminal: {error}"))
                .hint("print lines: cpudyno top --once")
        };
        let mut screen = screen::Screen::open().map_err(broken)?;
        // What is on the screen: it stays while somebody reads it.
        let mut record = watch.last();
        while self.signals.came().is_none() {
            let end = Instant::now() + Duration::from_secs_f64(self.interval.0);
            loop {
                let is_over = || self.signals.came().is_some();
                let waited = screen.wait_until(end, is_over, || watch.note_when_due());
                let order = match waited.map_err(broken)? {
                    Waited::Elapsed => break,
                    Waited::Ended => return Ok(()),
                    Waited::Sort(steps) => sorted_next(watch, steps),
                    Waited::Group => grouped_next(watch.order()),
                };
                watch.arrange(order);
                watch.order().put(&mut record);
                if watch.ended() > 0 {
                    screen.show(&self.page(&record)).map_err(broken)?;
                }
            }
            if watch.is_full() {
                break;
            }
            if watch.is_simulated() {
                watch.wait(self.interval);
            }
            watch.look();
            if !self.keeps {
                watch.forget();
            }
            if !screen.is_paused() {
                record = watch.last();
            }
            screen.show(&self.page(&record)).map_err(broken)?;
        }
        Ok(())
    }

    fn page(&self, record: &Record) -> String {
        let mut blocks = report::areas::top::beginning(record);
        blocks.push(report::areas::top::interval(record, 0));
        blocks.extend(report::areas::top::end(record, self.presentation.verbosity));
        let width = sys::host::terminal_columns().unwrap_or(self.presentation.width);
        text(&Page { blocks }, Presentation { width, ..self.presentation })
    }
}

/// Sorted by the column so many steps on; before the first one there is the order of the CPUs.
fn sorted_next(watch: &Watch<'_>, steps: isize) -> RowOrder {
    let columns = watch.showing();
    let order = watch.order();
    let place = |sort: &String| columns.iter().position(|name| name == sort);
    let now = order.sort.as_ref().and_then(place).map_or(0, |place| place + 1);
    let next = (now as isize + steps).rem_euclid(columns.len() as isize + 1) as usize;
    let sort = next.checked_sub(1).map(|place| columns[place].to_owned());
    RowOrder { sort, group: order.group.clone() }
}

/// Grouped by what comes next; before the first one, CPU by CPU.
fn grouped_next(order: &RowOrder) -> RowOrder {
    let place = |group: &String| top::GROUPS.iter().position(|it| it == group);
    let next = order.group.as_ref().and_then(place).map_or(0, |place| place + 1);
    let group = top::GROUPS.get(next).map(|group| (*group).to_owned());
    RowOrder { sort: order.sort.clone(), group }
}
