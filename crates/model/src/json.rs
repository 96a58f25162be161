//! Why a text is not the JSON that was expected, in words.

use serde_json::error::Category;

/// Where a text is no JSON, that it ends too early, or which of its values is not what belongs there.
pub fn refusal(error: &serde_json::Error) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        Category::Eof if error.column() == 0 && error.line() <= 1 => "it is empty".to_owned(),
        Category::Eof => format!("it ends too early, at {place}"),
        Category::Syntax => format!("it is no JSON from {place} on"),
        Category::Data | Category::Io => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_json_is_said_in_words() {
        for (text, said) in [
            ("", "it is empty"),
            ("{\n", "it ends too early, at line 2, column 0"),
            ("hello", "it is no JSON from line 1, column 1 on"),
        ] {
            let error = serde_json::from_str::<serde::de::IgnoredAny>(text).unwrap_err();
            assert_eq!(super::refusal(&error), said, "{text}");
        }
    }
}
