//! Base frequencies and turbo frequencies of two kinds of cores, at one level.

use model::page::{Block, Text, Tone};
use model::record::{FeatureState, PerformanceLevel};
use model::{Known, Unavailable};

use super::levels::{base_freq, clocks, turbo_freq, who};
use super::parts::{DomainGroup, PageBuilder, groups};

/// `base-freq info`.
pub(super) fn base(told: &mut PageBuilder<'_>) -> Vec<Block> {
    of_groups(told, "base-freq", |told, group, levels, current| {
        let mut blocks: Vec<Block> = base_freq(told, levels).into_iter().collect();
        if !blocks.is_empty() {
            blocks.push(clocks(group.first(), levels, current));
            blocks.push(who(told, group));
        }
        blocks
    })
}

/// `turbo-freq info`.
pub(super) fn turbo(told: &mut PageBuilder<'_>) -> Vec<Block> {
    let bucket = told.run.question.bucket.map(usize::from);
    of_groups(told, "turbo-freq", move |told, _, levels, _| turbo_freq(told, levels, bucket))
}

/// What is shown of a group of domains with these levels, of which one is at present.
type Show<'f> = dyn for<'a> Fn(&mut PageBuilder<'a>, &DomainGroup<'a>, &'a [PerformanceLevel], u8) -> Vec<Block>
    + 'f;

fn of_groups(
    told: &mut PageBuilder<'_>,
    feature: &str,
    show: impl for<'a> Fn(
        &mut PageBuilder<'a>,
        &DomainGroup<'a>,
        &'a [PerformanceLevel],
        u8,
    ) -> Vec<Block>,
) -> Vec<Block> {
    let show: &Show<'_> = &show;
    let mut blocks = Vec::new();
    for group in groups(told.run) {
        blocks.push(Block::Heading(group.name.clone()));
        let Some(profiles) = group.profiles(told) else { continue };
        let shown = show(told, &group, &profiles.levels, profiles.current);
        for level in &profiles.levels {
            let (state, reason) = if feature == "base-freq" {
                (&level.base_freq_state, level.base_freq.as_ref().and_then(reason))
            } else {
                (&level.turbo_freq_state, level.turbo_freq.as_ref().and_then(reason))
            };
            let number = level.number;
            let is = match state {
                Known::Yes(FeatureState::Unsupported) => {
                    let text = format!("Level {number} has no {feature} here.");
                    blocks.push(Block::Paragraph(Text::toned(text, Tone::Faint)));
                    continue;
                }
                Known::Yes(FeatureState::Enabled) => "on",
                Known::Yes(FeatureState::Disabled) if number == profiles.current => "off",
                Known::Yes(FeatureState::Disabled) => "not in force: another level is",
                Known::No { .. } => "not told",
            };
            let text = format!("Level {number}: {feature} is {is}.");
            blocks.push(Block::Paragraph(text.into()));
            if let Some(reason) = reason {
                told.lacking(reason, format!("{feature} of level {number}"));
            }
        }
        blocks.extend(shown);
    }
    blocks
}

fn reason<T>(known: &Known<T>) -> Option<&Unavailable> {
    match known {
        Known::Yes(_) => None,
        Known::No { unavailable } => Some(unavailable),
    }
}
