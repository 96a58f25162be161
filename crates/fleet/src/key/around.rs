//! Keys before and after something else: was it the same machine meanwhile?

use model::record::MachineKey;
use model::{Finding, Unavailable};

use super::{KeyVerdict, compare};

/// What the keys around what that command watched say, where they say that it moved, or nothing. Of one that was ended
/// before its second key nothing is asked.
pub fn finding(taken: &[Result<MachineKey, Unavailable>], command: &str) -> Option<Finding> {
    const ABOUT: &str = "this machine";
    let unknown = |why: &str| {
        let text = format!("nobody knows whether it changed meanwhile: {why}");
        Some(Finding::note(format!("{command}.machine-unknown"), ABOUT, text))
    };
    match taken {
        [Ok(before), Ok(after)] => {
            let found = compare(before, after);
            match found.verdict {
                KeyVerdict::Yes => None,
                KeyVerdict::CannotTell => unknown(&found.text),
                KeyVerdict::No => {
                    let text = format!("not comparable with itself before: {}", found.text);
                    let remedy = "hold fast what can be (`cpudyno settings`), run it again, or take a quieter machine";
                    let moved = Finding::warning(format!("{command}.machine-moved"), ABOUT, text);
                    Some(moved.remedy(remedy.to_owned()))
                }
            }
        }
        _ => unknown(&taken.iter().find_map(|key| key.as_ref().err())?.why),
    }
}
