//! Why there is no report.

use std::fmt;
use std::io;
use std::time::Duration;

use sys::errno;

use super::source::Sha256;

/// Why the original could not be compared with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request contradicts itself.
    #[error("cannot run STREAM: {why}")]
    Request {
        /// What is wrong with it.
        why: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// No folder for what is compiled.
    #[error("cannot make a temporary folder in `{folder}`: {}", errno::words(source))]
    Temporary {
        /// Where it was to be.
        folder: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A file in that folder.
    #[error("cannot use the temporary folder: {}", errno::words(source))]
    TemporaryFile {
        /// What the kernel answered.
        source: io::Error,
    },
    /// The source cannot be read.
    #[error("cannot read `{path}`: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// What came of opening it.
        why: String,
    },
    /// A URL, and nothing to fetch it with.
    #[error("cannot fetch `{url}`: there is no `curl`")]
    NoCurl {
        /// Where the source is.
        url: String,
    },
    /// A URL that does not answer with a file.
    #[error("cannot fetch `{url}`: {why}")]
    NotFetched {
        /// Where the source should be.
        url: String,
        /// What `curl` said.
        why: String,
    },
    /// Something else than the benchmark.
    #[error("cannot use `{origin}` as STREAM: {why}")]
    NotStream {
        /// Where it came from.
        origin: String,
        /// What it lacks.
        why: String,
    },
    /// Another source than was asked for.
    #[error("cannot trust `{origin}`: its SHA-256 is {found}, not {expected}")]
    OtherSource {
        /// Where it came from.
        origin: String,
        /// What was asked for.
        expected: Sha256,
        /// What it is.
        found: Sha256,
    },
    /// None of the usual compilers.
    #[error("cannot compile STREAM: there is none of {looked_for}")]
    NoCompiler {
        /// Their names.
        looked_for: String,
    },
    /// The compiler that was asked for cannot be used.
    #[error("cannot use compiler `{name}`: {why}")]
    Compiler {
        /// As it was given.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The compiler refused.
    #[error("cannot compile `{origin}` with `{compiler}` ({status}): {}", messages.telling())]
    NotCompiled {
        /// Where the source came from.
        origin: String,
        /// What compiled it.
        compiler: String,
        /// How it ended.
        status: String,
        /// What it said.
        messages: Quote,
    },
    /// A program did not start.
    #[error("cannot execute `{program}`: {}", errno::words(source))]
    NotStarted {
        /// Its name.
        program: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A program was killed because it did not end.
    #[error("cannot wait for `{program}`: it took more than {} s", limit.as_secs_f64())]
    TookTooLong {
        /// Its name.
        program: String,
        /// How long it may take.
        limit: Duration,
    },
    /// A program was killed because it did not stop printing.
    #[error("cannot read the output of `{program}`: it has more than {limit_bytes} bytes")]
    PrintedTooMuch {
        /// Its name.
        program: String,
        /// How much it may print.
        limit_bytes: u64,
    },
    /// The benchmark ended badly.
    #[error("cannot use STREAM: it failed ({status}): {}", printed.telling())]
    Failed {
        /// How it ended.
        status: String,
        /// What it printed.
        printed: Quote,
    },
    /// It printed something else than a report.
    #[error("cannot read the report of STREAM: {why}; it begins with: {}", printed.telling())]
    NotAReport {
        /// What is missing or wrong.
        why: String,
        /// How it begins.
        printed: Quote,
    },
    /// It did something else than it was asked to.
    #[error("cannot compare with STREAM: it ran with {found} {what} where {asked} were asked for")]
    Deviates {
        /// `threads` or `elements`.
        what: &'static str,
        /// What was asked for.
        asked: u64,
        /// What it says.
        found: u64,
    },
    /// It found its own arrays wrong, so that its rates mean nothing.
    #[error("cannot use the rates of STREAM: its own check of the arrays fails: {}", printed.telling())]
    WrongAnswer {
        /// What it says of it.
        printed: Quote,
    },
}

impl Error {
    /// What helps.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::Temporary { .. } | Error::TemporaryFile { .. } => {
                "name a folder that you may write to: TMPDIR=DIR".to_owned()
            }
            Error::Unreadable { .. } => {
                "name the file `stream.c` of the benchmark, or its URL: --source FILE".to_owned()
            }
            Error::NoCurl { url } => format!(
                "apt install curl; or fetch it elsewhere with `{}`, then --source stream.c",
                super::source::by_hand(url)
            ),
            Error::NotFetched { .. } => {
                "STREAM's home is https://www.cs.virginia.edu/stream/FTP/Code/".to_owned()
            }
            Error::NotStream { .. } => {
                "revision 5.10 of `stream.c` is what it expects: --source FILE".to_owned()
            }
            Error::OtherSource { found, .. } => {
                format!("if this is the file that you mean: --sha256 {found}")
            }
            Error::NoCompiler { .. } => "apt install gcc".to_owned(),
            Error::Compiler { .. } => "name a C compiler: --compiler gcc".to_owned(),
            Error::NotCompiled { messages, .. } if messages.mentions("omp") => {
                "the compiler needs its OpenMP library: apt install gcc, or libomp-dev for clang"
                    .to_owned()
            }
            Error::NotStarted { source, .. }
                if source.kind() == io::ErrorKind::PermissionDenied =>
            {
                "programs may not run in the temporary folder; name another one: TMPDIR=DIR"
                    .to_owned()
            }
            Error::Failed { status, .. } if status.contains("SIGKILL") => {
                "a signal killed it, perhaps for lack of memory: use shorter arrays, --length N"
                    .to_owned()
            }
            Error::Deviates { what: "elements", .. } => {
                "the array size is given by -DSTREAM_ARRAY_SIZE; does the source use it?".to_owned()
            }
            _ => return None,
        };
        Some(hint)
    }

    /// What the compiler or the benchmark said.
    pub fn quote(&self) -> Option<&Quote> {
        match self {
            Error::NotCompiled { messages: quote, .. }
            | Error::Failed { printed: quote, .. }
            | Error::NotAReport { printed: quote, .. }
            | Error::WrongAnswer { printed: quote } => Some(quote),
            _ => None,
        }
    }
}

/// The first lines that another program printed, without characters that act on a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quote(Vec<String>);

impl Quote {
    /// Of a long text, the first lines that are not blank.
    pub(super) fn of(text: &str) -> Quote {
        const LINES_MAX: usize = 10;
        const COLUMNS_MAX: usize = 200;
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        let shown = |line: &str| {
            let visible = |c: char| if c.is_control() { ' ' } else { c };
            line.chars().take(COLUMNS_MAX).map(visible).collect()
        };
        Quote(lines.take(LINES_MAX).map(shown).collect())
    }

    /// The lines.
    pub fn lines(&self) -> &[String] {
        &self.0
    }

    /// The line that says most in one line: the first with `error:` in it, or the first.
    fn telling(&self) -> &str {
        let error = self.0.iter().find(|line| line.contains("error:"));
        error.or(self.0.first()).map_or("it printed nothing", String::as_str)
    }

    fn mentions(&self, word: &str) -> bool {
        self.0.iter().any(|line| line.contains(word))
    }
}

/// All of it, line by line.
impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_short_and_harmless() {
        let quote =
            Quote::of(&format!("\n\x1b[31mred\n\n{}\nx.c:1: error: no\n", "long".repeat(99)));
        assert_eq!(quote.lines()[0], " [31mred");
        assert_eq!(quote.lines()[1].len(), 200);
        assert_eq!(quote.telling(), "x.c:1: error: no");
        assert_eq!(Quote::of(&"line\n".repeat(99)).lines().len(), 10);
        assert_eq!(Quote::of("").telling(), "it printed nothing");
    }
}
