//! Several settings under one name, which users call a plan: those that are built in (`data/plans.toml`), and
//! those of files.
//!
//! A file has one setting a line, as on the command line. `#` begins a comment; a `?` before a setting leaves it
//! out on machines that do not have it.

use std::sync::LazyLock;

use serde::Deserialize;

/// Those that are built in, in the order in which they are listed.
static TABLE: LazyLock<PresetFile> = LazyLock::new(|| {
    const TEXT: &str = include_str!("../../../data/plans.toml");
    toml::from_str(TEXT).expect("BUG: a test reads the table")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetFile {
    plan: Vec<Preset>,
}

/// Several settings under one name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// The name, as it stands after `@`.
    pub name: String,
    /// What it is for, and what it costs.
    pub doc: String,
    /// The settings; a machine that does not have one goes without it.
    pub settings: Vec<PresetSetting>,
}

/// One of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetSetting {
    /// As on the command line.
    pub set: String,
    /// What it does for the plan.
    pub why: String,
    /// Who says so.
    pub source: String,
}

/// A setting that stands in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetLine {
    /// As on the command line.
    pub text: String,
    /// Where it stands: `@latency`, `mine.plan:3`.
    pub place: String,
    /// Why it is there, and who says so; known of those that are built in.
    pub why: Option<String>,
    /// Whether a machine that does not have it goes without.
    pub is_optional: bool,
}

/// Those that are built in.
pub fn built_in() -> &'static [Preset] {
    &TABLE.plan
}

/// The one of that name that is built in.
pub fn find(name: &str) -> Option<&'static Preset> {
    built_in().iter().find(|preset| preset.name == name)
}

impl Preset {
    /// Its settings.
    pub fn lines(&self) -> Vec<PresetLine> {
        let line = |setting: &PresetSetting| PresetLine {
            text: setting.set.clone(),
            place: format!("@{}", self.name),
            why: Some(format!("{} ({})", setting.why, setting.source)),
            is_optional: true,
        };
        self.settings.iter().map(line).collect()
    }
}

/// The settings of a file of that name.
pub fn of_file(name: &str, text: &str) -> Vec<PresetLine> {
    let line = |(index, line): (usize, &str)| {
        let asked = without_comment(line).trim();
        let (text, is_optional) = match asked.strip_prefix('?') {
            Some(asked) => (asked.trim_start(), true),
            None => (asked, false),
        };
        let place = format!("{name}:{}", index + 1);
        let line = PresetLine { text: text.to_owned(), place, why: None, is_optional };
        (!asked.is_empty()).then_some(line)
    };
    text.lines().enumerate().filter_map(line).collect()
}

/// What stands before a `#` that begins a word: values may hold one.
fn without_comment(line: &str) -> &str {
    let begins =
        |(at, _): &(usize, &str)| line[..*at].chars().next_back().is_none_or(char::is_whitespace);
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::SettingSpec;

    #[test]
    fn lines_of_a_file_are_settings_with_their_place() {
        let text = "# mine\n\n governor=performance  # why\n?epb=0\n? env.X=a#b\n";
        let lines = of_file("my.plan", text);
        let told: Vec<(&str, &str, bool)> =
            lines.iter().map(|it| (&*it.place, &*it.text, it.is_optional)).collect();
        assert_eq!(
            told,
            [
                ("my.plan:3", "governor=performance", false),
                ("my.plan:4", "epb=0", true),
                ("my.plan:5", "env.X=a#b", true)
            ]
        );
        assert_eq!(of_file("empty", "#\n  \n"), []);
    }

    #[test]
    fn built_in_plans_are_settings_each_with_a_reason_and_a_source() {
        for preset in built_in() {
            assert!(preset.name.bytes().all(|byte| byte.is_ascii_lowercase()), "{}", preset.name);
            assert!(preset.doc.ends_with('.') && !preset.settings.is_empty(), "{}", preset.name);
            let mut names = Vec::new();
            for PresetSetting { set, why, source } in &preset.settings {
                let spec: SettingSpec = set.parse().unwrap_or_else(|error| panic!("{error}"));
                assert!(spec.lever.loses.is_none(), "{set} needs --force");
                assert!(!why.is_empty() && source.starts_with("Linux, "), "{set}");
                assert!(!names.contains(&spec.name), "{set} stands twice in {}", preset.name);
                names.push(spec.name);
            }
        }
        assert!(find("latency").is_some() && find("latncy").is_none());
    }
}
