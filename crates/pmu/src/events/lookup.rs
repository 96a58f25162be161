//! From what was asked for to events: names, patterns, modifiers.

use std::cell::OnceCell;
use std::collections::HashSet;

use model::Unavailable;
use model::name::did_you_mean;
use regex_lite::Regex;

use super::encoded::{CounterPlace, Encoded, Modes, Source};
use super::error::Error;
use super::sources::{Listed, TABLE, believed, kernel_aliases};
use super::target::Target;

/// The events of a target, by the precedence of their sources. Sources are asked when they are needed.
pub struct Events<'a> {
    target: Target<'a>,
    listed: Vec<OnceCell<Listed>>,
}

impl<'a> Events<'a> {
    /// Of that target.
    pub fn of(target: Target<'a>) -> Events<'a> {
        Events { target, listed: TABLE.iter().map(|_| OnceCell::new()).collect() }
    }

    /// What events are looked up for.
    pub fn target(&self) -> &Target<'a> {
        &self.target
    }

    /// What a source has, also where another one has the same name.
    pub fn of_source(&self, source: Source) -> &Listed {
        let place = TABLE.iter().position(|row| row.source == source);
        self.listed(place.expect("BUG: every source has a row"))
    }

    fn listed(&self, place: usize) -> &Listed {
        self.listed[place].get_or_init(|| believed(&self.target, &TABLE[place]))
    }

    /// All events, each of the first source that has it: fixed counters first, then in the order of
    /// sources and of each source's own list.
    pub fn all(&self) -> Vec<&Encoded> {
        let mut seen = HashSet::new();
        let events = (0..TABLE.len()).flat_map(|place| &self.listed(place).events);
        let mut all: Vec<&Encoded> =
            events.filter(|event| seen.insert((plain(event), event.pmu.as_deref()))).collect();
        all.sort_by_key(|event| rank(event));
        all
    }

    /// What the sources have not, and why.
    pub fn missing(&self) -> Vec<&Unavailable> {
        (0..TABLE.len()).flat_map(|place| &self.listed(place).missing).collect()
    }

    /// The events that several names and patterns mean, each once: fixed counters first. One text may
    /// have several with commas between, as perf takes them.
    pub fn resolve_all<'n>(
        &self,
        asked: impl IntoIterator<Item = &'n str>,
    ) -> Result<Vec<Encoded>, Error> {
        let mut found: Vec<Encoded> = Vec::new();
        for asked in asked.into_iter().flat_map(separate) {
            for event in self.resolve(asked)? {
                let is_same = |it: &Encoded| (&it.name, &it.pmu) == (&event.name, &event.pmu);
                if !found.iter().any(is_same) {
                    found.push(event);
                }
            }
        }
        found.sort_by_key(rank);
        Ok(found)
    }

    /// The events that a name or a pattern means. It is never none: what means nothing is an error. A
    /// name has one for each type of core, and for each instance of a unit outside of the cores.
    pub fn resolve(&self, asked: &str) -> Result<Vec<Encoded>, Error> {
        let asked = asked.trim();
        let (name, modes) = modifier(asked)?;
        let mut found = match self.named(name)? {
            Some(found) => found,
            // A name with a modifier may be one of libpfm4 with a unit mask.
            None => match self.named(asked)? {
                Some(found) => return Ok(found),
                None if is_pattern(name) => without_aliases(self.fitting(name)?),
                None => return Err(self.unknown(asked)),
            },
        };
        if let Some((modes, word)) = modes {
            for event in &mut found {
                if !event.by_mode {
                    let why = format!("`{}` cannot be counted by mode", event.name);
                    return Err(Error::Encoding { name: asked.to_owned(), why });
                }
                event.name = format!("{}{}{word}", event.name, separator(&event.name));
                event.modes = Some(modes);
            }
        }
        Ok(found)
    }

    /// By its exact name, of the first source that has it.
    fn named(&self, name: &str) -> Result<Option<Vec<Encoded>>, Error> {
        let name = name.to_ascii_lowercase();
        let name = kernel_aliases(&name);
        for (place, row) in TABLE.iter().enumerate() {
            if let Some(found) = (row.find)(&self.target, name) {
                return found.map(Some);
            }
            let is_it = |event: &&Encoded| is_called(event, name);
            let found: Vec<Encoded> =
                self.listed(place).events.iter().filter(is_it).cloned().collect();
            if !found.is_empty() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// By a pattern, anywhere in the name.
    pub fn fitting(&self, pattern: &str) -> Result<Vec<Encoded>, Error> {
        fitting(&self.all(), pattern)
    }

    /// By a pattern among what one source has, also where another one is believed.
    pub fn fitting_of(&self, source: Source, pattern: &str) -> Result<Vec<Encoded>, Error> {
        fitting(&self.of_source(source).events.iter().collect::<Vec<_>>(), pattern)
    }

    fn unknown(&self, name: &str) -> Error {
        /// As many as fit into a line.
        const MOST: usize = 3;
        let all = self.all();
        let known: HashSet<&str> = all.iter().map(|event| plain(event)).collect();
        let mut left: Vec<&str> = known.into_iter().collect();
        left.sort_unstable();
        let lower = name.to_ascii_lowercase();
        let mut near = Vec::new();
        while let Some(next) =
            did_you_mean(&lower, left.iter().copied()).filter(|_| near.len() < MOST)
        {
            near.push(next.to_owned());
            left.retain(|name| *name != next);
        }
        let sources: Vec<&str> = TABLE
            .iter()
            .enumerate()
            .filter(|(place, _)| !self.listed(*place).events.is_empty())
            .map(|(_, row)| row.name)
            .collect();
        let cpu = self.target.cpu().map_or_else(|_| "this CPU".to_owned(), ToString::to_string);
        let why = format!("{} names of {cpu} are known ({})", all.len(), sources.join(", "));
        Error::Unknown { name: name.to_owned(), why, near }
    }
}

/// What a pattern finds is counted once: the same encoding under the name that a later source has for it
/// (libpfm4 knows several for many) is the same event.
fn without_aliases(found: Vec<Encoded>) -> Vec<Encoded> {
    let mut kept: Vec<Encoded> = Vec::new();
    for event in found {
        let is_same = |it: &Encoded| {
            it.source < event.source
                && (&it.pmu, it.kind, it.config) == (&event.pmu, event.kind, event.config)
        };
        if !kept.iter().any(is_same) {
            kept.push(event);
        }
    }
    kept
}

fn fitting(all: &[&Encoded], pattern: &str) -> Result<Vec<Encoded>, Error> {
    let expression = Regex::new(&lower(pattern))
        .map_err(|error| Error::Pattern { pattern: pattern.to_owned(), why: error.to_string() })?;
    let fits = |event: &&&Encoded| {
        let (name, plain) = (event.name.to_ascii_lowercase(), plain(event).to_ascii_lowercase());
        expression.is_match(&plain) || expression.is_match(&name)
    };
    let found: Vec<Encoded> = all.iter().filter(fits).copied().cloned().collect();
    if found.is_empty() {
        return Err(Error::NoMatch { pattern: pattern.to_owned(), names: all.len() });
    }
    Ok(found)
}

/// Fixed counters first.
fn rank(event: &Encoded) -> u32 {
    match event.place {
        CounterPlace::Fixed(number) => number,
        _ => u32::MAX,
    }
}

/// Its name without the PMU around it.
pub(crate) fn plain(event: &Encoded) -> &str {
    // Another PMU's event is called with the PMU, as its name alone may mean anything.
    let inner = event.pmu.as_deref().and_then(|pmu| {
        let inner = event.name.strip_prefix(pmu)?.strip_prefix('/')?.strip_suffix('/')?;
        let is_of_list = matches!(event.source, Source::Own | Source::Perfmon | Source::Libpfm);
        let is_of_cores = event.by_mode;
        (is_of_list || is_of_cores).then_some(inner)
    });
    inner.unwrap_or(&event.name)
}

fn is_called(event: &Encoded, name: &str) -> bool {
    // `cpu/slots/` is `slots` of that PMU.
    let of_pmu = event
        .pmu
        .as_deref()
        .and_then(|pmu| name.strip_prefix(pmu)?.strip_prefix('/')?.strip_suffix('/'));
    let called = plain(event);
    event.name.eq_ignore_ascii_case(name)
        || called.eq_ignore_ascii_case(name)
        || of_pmu.is_some_and(|name| called.eq_ignore_ascii_case(name))
}

/// Whether it can only be meant as a pattern: names have points, and no other such characters.
fn is_pattern(text: &str) -> bool {
    text.contains(['*', '+', '?', '[', ']', '(', ')', '{', '}', '|', '^', '$', '\\'])
}

/// In lower case, as names are; but for what follows a backslash, which means something else then.
fn lower(pattern: &str) -> String {
    let mut after_backslash = false;
    let lowered = |letter: char| {
        let keep = after_backslash;
        after_backslash = letter == '\\' && !keep;
        if keep { letter } else { letter.to_ascii_lowercase() }
    };
    pattern.chars().map(lowered).collect()
}

/// `cycles,cpu/event=0x3c,umask=0/`: at commas, but not at those between slashes, which separate terms, nor
/// at those of patterns, in braces, brackets or parentheses.
fn separate(asked: &str) -> Vec<&str> {
    let (mut depth, mut in_terms, mut begin) = (0_u32, false, 0);
    let mut names = Vec::new();
    for (at, letter) in asked.char_indices() {
        match letter {
            '/' => in_terms = !in_terms,
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 && !in_terms => {
                names.push(&asked[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    names.push(&asked[begin..]);
    names
}

type Modifier<'a> = Option<(Modes, &'a str)>;

/// `cycles:u`, `cpu/event=0x3c/k`: the name and the modes. What else perf would take is refused.
fn modifier(asked: &str) -> Result<(&str, Modifier<'_>), Error> {
    let split = match asked.rsplit_once('/') {
        Some((_, word)) if asked.matches('/').count() >= 2 => {
            let name = &asked[..asked.len() - word.len()];
            (!word.is_empty()).then_some((name, word.trim_start_matches(':')))
        }
        _ => asked.rsplit_once(':').filter(|(name, _)| !name.ends_with(':')),
    };
    let Some((name, word)) = split else { return Ok((asked, None)) };
    let refused = |why: String| Err(Error::Encoding { name: asked.to_owned(), why });
    let modes = match word {
        "u" => Modes::User,
        "k" => Modes::Kernel,
        "uk" | "ku" => Modes::Both,
        "p" | "pp" | "ppp" | "P" => {
            return refused(format!("`:{word}` is for sampling, and nothing is sampled here"));
        }
        "h" | "G" | "H" | "D" | "W" | "e" | "I" | "S" => {
            return refused(format!("`:{word}` is not known here; `:u` and `:k` are"));
        }
        _ => return Ok((asked, None)),
    };
    Ok((name, Some((modes, word))))
}

/// What stands between a name and its modifier.
fn separator(name: &str) -> &'static str {
    if name.ends_with('/') { "" } else { ":" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_those_of_perf() {
        let of = |asked| modifier(asked).unwrap();
        assert_eq!(of("cycles"), ("cycles", None));
        assert_eq!(of("cycles:u"), ("cycles", Some((Modes::User, "u"))));
        assert_eq!(of("cpu/event=1/k"), ("cpu/event=1/", Some((Modes::Kernel, "k"))));
        assert_eq!(of("msr/tsc/"), ("msr/tsc/", None));
        assert_eq!(of("INST_RETIRED:ANY"), ("INST_RETIRED:ANY", None));
        assert_eq!(of("spr::X"), ("spr::X", None));
        assert!(modifier("cycles:pp").is_err() && modifier("cycles:G").is_err());
    }

    #[test]
    fn several_names_stand_between_commas_and_terms_stay_together() {
        for (asked, names) in [
            ("cycles", &["cycles"][..]),
            ("cycles,instructions:u", &["cycles", "instructions:u"]),
            ("cpu/event=0x3c,umask=0/", &["cpu/event=0x3c,umask=0/"]),
            (
                "cpu/event=1,umask=2/u,cycles,msr/tsc/",
                &["cpu/event=1,umask=2/u", "cycles", "msr/tsc/"],
            ),
            ("l[1,2]_hit,a{1,2}b,(x,y)", &["l[1,2]_hit", "a{1,2}b", "(x,y)"]),
            ("cycles,", &["cycles", ""]),
        ] {
            assert_eq!(separate(asked), names, "{asked}");
        }
    }

    #[test]
    fn patterns_are_lower_case_but_for_classes() {
        assert_eq!(lower(r"MEM_LOAD.*L\d_HIT\S\\A"), r"mem_load.*l\d_hit\S\\a");
        assert!(is_pattern("mem_load.*l._hit") && is_pattern("all_branches$"));
        assert!(!is_pattern("br_inst_retired.all_branches") && !is_pattern("l1-dcache-loads"));
    }
}
