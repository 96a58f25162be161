//! Which pages memory is made of.

use std::fmt;
use std::str::FromStr;

use crate::name::did_you_mean;

/// The pages that memory is asked to come in. What it really came in is for the kernel to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pages {
    /// Base pages and no larger ones: 4 KiB, but 16 or 64 KiB where an AArch64 kernel was built so.
    Base,
    /// Base pages which the kernel makes huge where it can.
    Transparent,
    /// Pages of 2 MiB from those that the administrator set aside.
    Huge2M,
    /// Pages of 1 GiB from those that the administrator set aside.
    Huge1G,
}

impl Pages {
    /// All of them, in the order in which they are offered.
    pub const ALL: &[Pages] = &[Pages::Base, Pages::Transparent, Pages::Huge2M, Pages::Huge1G];

    /// The word for it on the command line and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Pages::Base => "4k",
            Pages::Transparent => "thp",
            Pages::Huge2M => "2m",
            Pages::Huge1G => "1g",
        }
    }

    /// What people call it.
    pub const fn title(self) -> &'static str {
        match self {
            Pages::Base => "base pages",
            Pages::Transparent => "transparent huge pages",
            Pages::Huge2M => "reserved pages of 2 MiB",
            Pages::Huge1G => "reserved pages of 1 GiB",
        }
    }

    /// Bytes of a page that the administrator sets aside; `None` of the other kinds, whose size
    /// the kernel chose when it was built.
    pub const fn reserved_bytes(self) -> Option<u64> {
        match self {
            Pages::Base | Pages::Transparent => None,
            Pages::Huge2M => Some(2 << 20),
            Pages::Huge1G => Some(1 << 30),
        }
    }
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text names no pages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are no pages `{typed}`: known are 4k, thp, 2m and 1g{hint}")]
pub struct PagesError {
    typed: String,
    hint: String,
}

/// Reads the words of [`Pages::name`], also in capitals.
impl FromStr for Pages {
    type Err = PagesError;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        let word = typed.to_ascii_lowercase();
        let known = Pages::ALL.iter().copied();
        known.clone().find(|pages| pages.name() == word).ok_or_else(|| {
            let near = did_you_mean(&word, known.map(Pages::name));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            PagesError { typed: typed.into(), hint }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_its_own_name() {
        for pages in Pages::ALL.iter().copied() {
            assert_eq!(pages.name().parse(), Ok(pages));
            assert_eq!(pages.name().to_uppercase().parse(), Ok(pages));
        }
    }

    #[test]
    fn other_words_are_refused_with_those_that_are_known() {
        for bad in ["", "4", "4kb", "2048k", " 4k", "huge"] {
            let error = bad.parse::<Pages>().unwrap_err().to_string();
            let start = format!("there are no pages `{bad}`: known are ");
            assert!(error.starts_with(&start), "{error}");
            for pages in Pages::ALL {
                assert!(error.contains(pages.name()), "{error}");
            }
        }
        let near = "4kb".parse::<Pages>().unwrap_err().to_string();
        assert!(near.ends_with("; did you mean `4k`?"), "{near}");
    }
}
