//! What the report that nextest writes in JUnit's form says at the end of a check: which tests took longest,
//! and which failed, once more, for whoever sees only the end of a long text.

use std::path::Path;

/// Where nextest puts it, from the root; `.config/nextest.toml` has the name.
pub(crate) const REPORT: &str = "target/nextest/check/junit.xml";
/// As many of the slowest are named.
const NAMED: usize = 10;
/// As many of those that failed are shown, each with as many lines.
const SHOWN: usize = 5;
const LINES: usize = 12;

/// A test of the report.
#[derive(Debug, PartialEq)]
struct Test {
    name: String,
    seconds: f64,
    /// Why it failed.
    failure: Option<String>,
}

/// Lines to print: the slowest tests, then what each that failed said; none where there is no report.
pub(crate) fn lines(report: &Path) -> Vec<String> {
    let mut tests = tests(&std::fs::read_to_string(report).unwrap_or_default());
    tests.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    let mut lines = Vec::new();
    if !tests.is_empty() {
        lines.push("the slowest tests:".to_owned());
    }
    lines.extend(
        tests.iter().take(NAMED).map(|test| format!("{:7.1} s  {}", test.seconds, test.name)),
    );
    let failed: Vec<_> =
        tests.iter().filter_map(|test| Some((test, test.failure.as_ref()?))).collect();
    if !failed.is_empty() {
        lines.push(format!("\nfailed ({} of {}):", failed.len(), tests.len()));
    }
    for (place, (test, why)) in failed.into_iter().enumerate() {
        lines.push(format!("  {}", test.name));
        if place < SHOWN {
            lines.extend(why.lines().take(LINES).map(|line| format!("    {line}")));
        }
    }
    lines
}

fn tests(xml: &str) -> Vec<Test> {
    xml.split("<testcase").skip(1).filter_map(test).collect()
}

fn test(element: &str) -> Option<Test> {
    let value = |name: &str| {
        let (_, rest) = element.split_once(&format!(" {name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    // A test that passed at a second try has `flakyFailure` instead.
    let failure = element.split_once("<failure").map(|(_, rest)| {
        let (_, text) = rest.split_once('>').unwrap_or_default();
        unescaped(text.split("</failure>").next().unwrap_or_default())
    });
    let name = format!("{} {}", value("classname")?, value("name")?);
    Some(Test { name, seconds: value("time")?.parse().ok()?, failure })
}

fn unescaped(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    entities.into_iter().fold(text.to_owned(), |text, (entity, sign)| text.replace(entity, sign))
}

#[cfg(test)]
mod tests {
    use super::{Test, tests};

    #[test]
    fn seconds_and_failures_are_those_of_the_test() {
        let xml = r#"<testsuite name="x" time="9"><testcase name="a::b" classname="c::it"
            timestamp="2026" time="1.5"></testcase><testcase name="d" classname="c::it" time="0.2">
            <failure message="m" type="test failure with exit code 101">left: &quot;&amp;lt;&quot;</failure>
            </testcase>"#
            .replace('\n', " ");
        let test = |name: &str, seconds, failure: Option<&str>| Test {
            name: name.to_owned(),
            seconds,
            failure: failure.map(str::to_owned),
        };
        let expected =
            [test("c::it a::b", 1.5, None), test("c::it d", 0.2, Some("left: \"&lt;\""))];
        assert_eq!(tests(&xml), expected);
        assert!(super::lines(std::path::Path::new("no such file")).is_empty());
    }
}
