//! Base frequencies and turbo frequencies of two kinds of cores, at one level.

use model::Known;
use model::page::{Block, Text, Tone};
use model::record::{FeatureState, PerformanceLevel};

use super::levels::{base_freq, clocks, turbo_freq, who};
use super::parts::{Group, Told, groups};

/// `base-freq info`.
pub(super) fn base(told: &mut Told<'_>) -> Vec<Block> {
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
pub(super) fn turbo(told: &mut Told<'_>) -> Vec<Block> {
    let bucket = told.run.question.bucket.map(usize::from);
    of_groups(told, "turbo-freq", move |told, _, levels, _| turbo_freq(told, levels, bucket))
}

/// What is shown of a group of domains with these levels, of which one is at present.
type Show<'f> =
    dyn for<'a> Fn(&mut Told<'a>, &Group<'a>, &'a [PerformanceLevel], u8) -> Vec<Block> + 'f;

fn of_groups(
    told: &mut Told<'_>,
    feature: &str,
    show: impl for<'a> Fn(&mut Told<'a>, &Group<'a>, &'a [PerformanceLevel], u8) -> Vec<Block>,
) -> Vec<Block> {
    let show: &Show<'_> = &show;
    let mut blocks = Vec::new();
    for group in groups(told.run) {
        blocks.push(Block::Heading(group.name.clone()));
        let Some(profiles) = group.profiles(told) else { continue };
        let shown = show(told, &group, &profiles.levels, profiles.current);
        if shown.is_empty() {
            let level = profiles.levels.first().map_or(profiles.current, |level| level.number);
            let text = format!("Level {level} has no {feature} here.");
            blocks.push(Block::Paragraph(Text::toned(text, Tone::Faint)));
            continue;
        }
        for level in &profiles.levels {
            let state = if feature == "base-freq" {
                &level.base_freq_state
            } else {
                &level.turbo_freq_state
            };
            let is = match state {
                Known::Yes(FeatureState::Enabled) => "on",
                _ if level.number == profiles.current => "off",
                _ => "not in force: another level is",
            };
            let text = format!("Level {}: {feature} is {is}.", level.number);
            blocks.push(Block::Paragraph(text.into()));
        }
        blocks.extend(shown);
    }
    blocks
}
