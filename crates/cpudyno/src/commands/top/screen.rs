//! A page on the whole of a terminal, renewed, with keys to scroll.

use std::io::{self, Write, stdout};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::{cursor, queue, style, terminal};

/// The terminal, which gets back what it showed before.
pub(super) struct Screen {
    lines: Vec<String>,
    /// The first line that is shown.
    first: usize,
}

/// What a key asks for.
enum Wish {
    Quit,
    Scroll(isize),
    Nothing,
}

const KEYS: &str = "arrows, PgUp, PgDn, Home scroll; q ends";

impl Screen {
    pub(super) fn open() -> io::Result<Screen> {
        terminal::enable_raw_mode()?;
        // From here on the terminal is put back, whatever happens.
        let screen = Screen { lines: vec!["the first interval ...".to_owned()], first: 0 };
        queue!(stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        screen.draw()?;
        Ok(screen)
    }

    /// Shows a page.
    pub(super) fn show(&mut self, page: &str) -> io::Result<()> {
        self.lines = page.lines().map(str::to_owned).collect();
        self.draw()
    }

    /// Does what keys ask for until then, and something else again and again meanwhile; false where
    /// somebody wants to end.
    pub(super) fn wait_until(
        &mut self,
        end: Instant,
        is_over: impl Fn() -> bool,
        mut meanwhile: impl FnMut(),
    ) -> io::Result<bool> {
        /// A signal does not end a wait for keys.
        const PART: Duration = Duration::from_millis(200);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if is_over() {
                return Ok(false);
            }
            if left.is_zero() {
                return Ok(true);
            }
            meanwhile();
            if !event::poll(left.min(PART))? {
                continue;
            }
            match wish(&event::read()?) {
                Wish::Quit => return Ok(false),
                Wish::Scroll(lines) => {
                    // Whoever scrolls beyond the end scrolls back from there.
                    let most = self.lines.len().saturating_sub(room()?);
                    self.first = self.first.min(most).saturating_add_signed(lines).min(most);
                    self.draw()?;
                }
                Wish::Nothing => self.draw()?,
            }
        }
    }

    fn draw(&self) -> io::Result<()> {
        let (_, rows) = terminal::size()?;
        let room = room()?;
        let first = self.first.min(self.lines.len().saturating_sub(room));
        let mut out = stdout().lock();
        queue!(out, cursor::MoveTo(0, 0))?;
        for line in self.lines.iter().skip(first).take(room) {
            queue!(out, style::Print(line), clear_rest(), style::Print("\r\n"))?;
        }
        queue!(out, terminal::Clear(terminal::ClearType::FromCursorDown))?;
        let last = (first + room).min(self.lines.len());
        let foot = format!("lines {} to {last} of {}; {KEYS}", first + 1, self.lines.len());
        queue!(out, cursor::MoveTo(0, rows.saturating_sub(1)), style::Print(foot), clear_rest())?;
        out.flush()
    }
}

/// Lines of a page that there is room for.
fn room() -> io::Result<usize> {
    let (_, rows) = terminal::size()?;
    Ok(usize::from(rows).saturating_sub(1))
}

fn clear_rest() -> terminal::Clear {
    terminal::Clear(terminal::ClearType::UntilNewLine)
}

fn wish(event: &Event) -> Wish {
    const PAGE: isize = 20;
    let Event::Key(KeyEvent { code, modifiers, kind: KeyEventKind::Press, .. }) = event else {
        return Wish::Nothing;
    };
    match code {
        KeyCode::Char('q') | KeyCode::Esc => Wish::Quit,
        KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => Wish::Quit,
        KeyCode::Down | KeyCode::Char('j') => Wish::Scroll(1),
        KeyCode::Up | KeyCode::Char('k') => Wish::Scroll(-1),
        KeyCode::PageDown | KeyCode::Char(' ') => Wish::Scroll(PAGE),
        KeyCode::PageUp => Wish::Scroll(-PAGE),
        KeyCode::Home => Wish::Scroll(isize::MIN),
        _ => Wish::Nothing,
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Whoever cannot be written to has gone away.
        drop(queue!(stdout(), cursor::Show, terminal::LeaveAlternateScreen));
        drop(stdout().flush());
        drop(terminal::disable_raw_mode());
    }
}
