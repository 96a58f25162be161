//! Which tests took longest, from the report that nextest writes in JUnit's form.

use std::path::Path;

/// Where nextest puts it, from the root; `.config/nextest.toml` has the name.
pub(crate) const REPORT: &str = "target/nextest/check/junit.xml";
/// As many are named.
const NAMED: usize = 10;

/// A line for each of the slowest tests; none where there is no report.
pub(crate) fn lines(report: &Path) -> Vec<String> {
    let mut tests = tests(&std::fs::read_to_string(report).unwrap_or_default());
    tests.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    tests.truncate(NAMED);
    tests.into_iter().map(|(name, seconds)| format!("{seconds:7.1} s  {name}")).collect()
}

/// Each test with its seconds.
fn tests(xml: &str) -> Vec<(String, f64)> {
    let test = |element: &str| {
        let value = |name: &str| {
            let (_, rest) = element.split_once(&format!(" {name}=\""))?;
            rest.split_once('"').map(|(value, _)| value)
        };
        let name = format!("{} {}", value("classname")?, value("name")?);
        Some((name, value("time")?.parse().ok()?))
    };
    xml.split("<testcase").skip(1).filter_map(test).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn seconds_are_those_of_the_test() {
        let xml = r#"<testsuite name="x" time="9"><testcase name="a::b" classname="c::it"
            timestamp="2026" time="1.5"></testcase><testcase name="d" classname="c::it" time="0.2"/>"#
            .replace('\n', " ");
        let expected = [("c::it a::b".to_owned(), 1.5), ("c::it d".to_owned(), 0.2)];
        assert_eq!(super::tests(&xml), expected);
        assert!(super::lines(std::path::Path::new("no such file")).is_empty());
    }
}
