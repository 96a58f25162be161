//! The source of the benchmark: where it is, what it is.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sys::errno;

use super::child::Children;
use super::error::{Error, Quote};
use super::report;

/// Where the source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamSource {
    /// A file.
    File(PathBuf),
    /// Something that `curl` fetches.
    Url(String),
}

impl StreamSource {
    /// What has `://` in it is a URL.
    pub fn new(text: &str) -> StreamSource {
        if text.contains("://") {
            StreamSource::Url(text.to_owned())
        } else {
            StreamSource::File(PathBuf::from(text))
        }
    }
}

impl fmt::Display for StreamSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamSource::File(path) => path.display().fmt(f),
            StreamSource::Url(url) => url.fmt(f),
        }
    }
}

/// A SHA-256, in hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sha256([u8; 32]);

/// Why a text is no SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{0}` as SHA-256: expected 64 hexadecimal digits, as `sha256sum` prints them")]
pub struct Sha256Error(String);

impl Sha256 {
    /// That of these bytes.
    pub fn of(bytes: &[u8]) -> Sha256 {
        Sha256(hmac_sha256::Hash::hash(bytes))
    }
}

impl FromStr for Sha256 {
    type Err = Sha256Error;

    fn from_str(text: &str) -> Result<Sha256, Sha256Error> {
        let error = || Sha256Error(text.to_owned());
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(error());
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = &text[2 * index..2 * index + 2];
            *byte = u8::from_str_radix(digits, 16).map_err(|_| error())?;
        }
        Ok(Sha256(bytes))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The source itself.
pub(super) struct Text {
    /// Where it came from.
    pub(super) origin: String,
    pub(super) bytes: Vec<u8>,
}

/// Longest source: the file has 20 KiB.
const BYTES_MAX: u64 = 1 << 20;

/// Words without which a source cannot be asked for an array size, or cannot print a report.
const WORDS: &[&str] = &["STREAM_ARRAY_SIZE", "Copy", "Scale", "Add", "Triad"];

impl Text {
    /// Reads or fetches it.
    pub(super) fn read(source: &StreamSource, children: &Children<'_>) -> Result<Text, Error> {
        let bytes = match source {
            StreamSource::File(path) => read(path)?,
            StreamSource::Url(url) => fetch(url, children)?,
        };
        Ok(Text { origin: source.to_string(), bytes })
    }

    /// That it is what was asked for, before anything is compiled.
    pub(super) fn check(&self, expected: Option<Sha256>) -> Result<(), Error> {
        let origin = self.origin.clone();
        let found = self.sha256();
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            return Err(Error::OtherSource { origin, expected, found });
        }
        let text = String::from_utf8_lossy(&self.bytes);
        match WORDS.iter().find(|word| !text.contains(*word)) {
            Some(word) => {
                Err(Error::NotStream { origin, why: format!("it does not mention `{word}`") })
            }
            None => Ok(()),
        }
    }

    pub(super) fn sha256(&self) -> Sha256 {
        Sha256::of(&self.bytes)
    }

    /// The revision that it prints.
    pub(super) fn revision(&self) -> Option<String> {
        report::revision(&String::from_utf8_lossy(&self.bytes))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let fail = |why: String| Error::Unreadable { path: path.display().to_string(), why };
    let no_file = |error: std::io::Error| fail(errno::words(&error));
    let metadata = path.metadata().map_err(no_file)?;
    if metadata.is_dir() {
        return Err(fail("it is a folder".to_owned()));
    }
    // A pipe could keep us waiting for ever.
    if !metadata.is_file() {
        return Err(fail("it is no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(no_file)?;
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(no_file)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(fail(format!("it has more than {BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

/// What a person types to fetch it.
pub(super) fn by_hand(url: &str) -> String {
    format!("curl --fail --location --output stream.c '{}'", url.replace('\'', "'\\''"))
}

/// The program that fetches.
pub(super) fn curl(url: &str, children: &Children<'_>) -> Result<PathBuf, Error> {
    children.find("curl").ok_or_else(|| Error::NoCurl { url: url.to_owned() })
}

/// Fetches it with `curl`, which knows proxies and certificates.
fn fetch(url: &str, children: &Children<'_>) -> Result<Vec<u8>, Error> {
    const SECONDS_MAX: u64 = 60;
    /// For a `curl` that does not keep its own limit.
    const LIMIT: Duration = Duration::from_secs(SECONDS_MAX + 5);
    let curl = curl(url, children)?;
    let mut command = children.command(&curl);
    command.args(["--fail", "--location", "--silent", "--show-error", "--globoff"]).args([
        "--max-time",
        &SECONDS_MAX.to_string(),
        "--url",
        url,
    ]);
    let finished = children.finish(command, "curl", LIMIT)?;
    if finished.status.success() {
        return Ok(finished.stdout);
    }
    let said = Quote::of(&finished.stderr);
    let why = said.lines().first().cloned().unwrap_or_else(|| finished.status.to_string());
    Err(Error::NotFetched { url: url.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Sha256::of(b"abc").to_string(), abc);
        assert_eq!(abc.to_uppercase().parse(), Ok(Sha256::of(b"abc")));
        for wrong in ["", "ba78", &abc[1..], &abc.replace('b', "g"), &abc.replace('b', "+")] {
            assert!(wrong.parse::<Sha256>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_has_a_scheme_is_a_url() {
        assert_eq!(
            StreamSource::new("https://x/stream.c"),
            StreamSource::Url("https://x/stream.c".to_owned())
        );
        assert_eq!(StreamSource::new("./stream.c"), StreamSource::File("./stream.c".into()));
    }

    #[test]
    fn the_command_by_hand_is_one_word_for_each_argument() {
        assert!(by_hand("http://x/it's?a&b").ends_with(r"'http://x/it'\''s?a&b'"));
    }

    #[test]
    fn a_source_needs_each_of_the_words() {
        let all = WORDS.join(" ");
        let check = |text: &str| {
            let bytes = text.as_bytes().to_vec();
            Text { origin: "x.c".to_owned(), bytes }.check(None)
        };
        check(&all).unwrap();
        for word in WORDS {
            let error = check(&all.replace(word, "")).unwrap_err().to_string();
            assert_eq!(error, format!("cannot use `x.c` as STREAM: it does not mention `{word}`"));
        }
    }
}
