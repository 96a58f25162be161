//! A page on the whole of a terminal, renewed, with keys to scroll.

use std::io::{self, Stdout, Write, stdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use termion::event::Key;
use termion::input::TermRead;
use termion::raw::{IntoRawMode, RawTerminal};
use termion::screen::{AlternateScreen, IntoAlternateScreen};
use termion::{clear, cursor, terminal_size};

/// The terminal, which gets back what it showed before.
pub(super) struct Screen {
    out: AlternateScreen<RawTerminal<Stdout>>,
    keys: Receiver<Key>,
    lines: Vec<String>,
    /// The first line that is shown.
    first: usize,
    /// Columns and rows that were drawn upon.
    size: (u16, u16),
    /// Whether the page stays as it is.
    is_paused: bool,
    /// Whether the keys are shown in its place.
    is_help: bool,
}

/// What ended a wait.
pub(super) enum Waited {
    Elapsed,
    /// Somebody wants to end.
    Ended,
    /// Sorted by the column so many steps on.
    Sort(isize),
    /// In the next grouping.
    Group,
}

/// What a key asks for.
enum KeyCommand {
    Quit,
    Scroll(isize),
    Wait(Waited),
    Pause,
    Help,
    Nothing,
}

const KEYS: &str = "h: keys, q: end";

const HELP: &[&str] = &[
    "Keys of cpudyno top",
    "",
    "  s, S                    sort by the next column, by the one before; the largest first",
    "  g                       a row for each CPU, core, kind, node, package",
    "  space                   pause: the page stays, and it is watched on",
    "  arrows, j, k            scroll by a line",
    "  PgUp, PgDn, Home        scroll by a page, to the beginning",
    "  h, ?                    these keys, and back",
    "  q, Esc, Ctrl-C          end",
];

impl Screen {
    pub(super) fn open() -> io::Result<Screen> {
        let out = stdout().into_raw_mode()?.into_alternate_screen()?;
        let lines = vec!["the first interval ...".to_owned()];
        let (keys, size) = (keys()?, terminal_size()?);
        let mut screen =
            Screen { out, keys, lines, first: 0, size, is_paused: false, is_help: false };
        screen.draw()?;
        Ok(screen)
    }

    /// Shows a page.
    pub(super) fn show(&mut self, page: &str) -> io::Result<()> {
        self.lines = page.lines().map(str::to_owned).collect();
        self.draw()
    }

    /// Whether the page is to stay as it is.
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Does what keys ask for until then, and something else again and again meanwhile.
    pub(super) fn wait_until(
        &mut self,
        end: Instant,
        is_over: impl Fn() -> bool,
        mut meanwhile: impl FnMut(),
    ) -> io::Result<Waited> {
        /// A signal does not end a wait for keys.
        const PART: Duration = Duration::from_millis(200);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if is_over() {
                return Ok(Waited::Ended);
            }
            if left.is_zero() {
                return Ok(Waited::Elapsed);
            }
            meanwhile();
            match self.keys.recv_timeout(left.min(PART)).map(wish) {
                Ok(KeyCommand::Scroll(lines)) => {
                    // Whoever scrolls beyond the end scrolls back from there.
                    let most = self.lines.len().saturating_sub(room(self.size));
                    self.first = self.first.min(most).saturating_add_signed(lines).min(most);
                    self.draw()?;
                }
                Ok(KeyCommand::Wait(waited)) => return Ok(waited),
                Ok(KeyCommand::Pause) => {
                    self.is_paused = !self.is_paused;
                    self.draw()?;
                }
                Ok(KeyCommand::Help) => {
                    self.is_help = !self.is_help;
                    self.draw()?;
                }
                // Who has no terminal any more wants no more either.
                Ok(KeyCommand::Quit) | Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Waited::Ended);
                }
                Err(RecvTimeoutError::Timeout) if self.size == terminal_size()? => {}
                Ok(KeyCommand::Nothing) | Err(RecvTimeoutError::Timeout) => self.draw()?,
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.size = terminal_size()?;
        let room = room(self.size);
        let first = self.first.min(self.lines.len().saturating_sub(room));
        let (home, rest) = (cursor::Goto(1, 1), clear::UntilNewline);
        write!(self.out, "{}{home}", cursor::Hide)?;
        if self.is_help {
            for line in HELP.iter().take(room) {
                write!(self.out, "{line}{rest}\r\n")?;
            }
        } else {
            for line in self.lines.iter().skip(first).take(room) {
                write!(self.out, "{line}{rest}\r\n")?;
            }
        }
        let paused = if self.is_paused { "PAUSED, " } else { "" };
        let (below, foot) = (clear::AfterCursor, cursor::Goto(1, self.size.1.max(1)));
        let (last, all) = ((first + room).min(self.lines.len()), self.lines.len());
        write!(
            self.out,
            "{below}{foot}{paused}lines {} to {last} of {all}; {KEYS}{rest}",
            first + 1
        )?;
        self.out.flush()
    }
}

/// Lines of a page that there is room for.
fn room((_, rows): (u16, u16)) -> usize {
    usize::from(rows).saturating_sub(1)
}

/// The keys that are pressed, also where standard input is something else.
fn keys() -> io::Result<Receiver<Key>> {
    let keys = termion::get_tty()?.keys();
    let (sender, pressed) = mpsc::channel();
    thread::spawn(move || keys.map_while(Result::ok).try_for_each(|key| sender.send(key)));
    Ok(pressed)
}

fn wish(key: Key) -> KeyCommand {
    const PAGE: isize = 20;
    match key {
        Key::Char('q') | Key::Esc | Key::Ctrl('c') => KeyCommand::Quit,
        Key::Down | Key::Char('j') => KeyCommand::Scroll(1),
        Key::Up | Key::Char('k') => KeyCommand::Scroll(-1),
        Key::PageDown => KeyCommand::Scroll(PAGE),
        Key::Char('s') => KeyCommand::Wait(Waited::Sort(1)),
        Key::Char('S') => KeyCommand::Wait(Waited::Sort(-1)),
        Key::Char('g') => KeyCommand::Wait(Waited::Group),
        Key::Char(' ') => KeyCommand::Pause,
        Key::Char('h' | '?') => KeyCommand::Help,
        Key::PageUp => KeyCommand::Scroll(-PAGE),
        Key::Home => KeyCommand::Scroll(isize::MIN),
        _ => KeyCommand::Nothing,
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Whoever cannot be written to has gone away.
        drop(write!(self.out, "{}", cursor::Show));
    }
}
