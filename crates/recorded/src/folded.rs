//! Equal answers of many CPUs as one line, and finding them again.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};

use crate::numbers::{NUMBER_MAX, Numbers};
use crate::text::PLACE;

/// A path without its first number, and that number: `/cpu12/cache/index2` is `/cpu*/cache/index2`
/// of 12. What cannot be a number of the kernel's (`cpu07`) is part of the name.
pub(crate) fn split(path: &str) -> (String, Option<u32>) {
    let mut start = 0;
    for component in path.split('/') {
        let name = component.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &component[name.len()..];
        if let Some(number) = canonical(digits) {
            let (before, after) = (start + name.len(), start + component.len());
            let mut template = String::with_capacity(path.len());
            template.push_str(&path[..before]);
            template.push(PLACE);
            template.push_str(&path[after..]);
            return (template, Some(number));
        }
        start += component.len() + 1;
    }
    (path.to_owned(), None)
}

/// The path that `split` took apart.
pub(crate) fn join(template: &str, number: Option<u32>) -> String {
    match number {
        Some(number) => template.replacen(PLACE, &number.to_string(), 1),
        None => template.to_owned(),
    }
}

fn canonical(digits: &str) -> Option<u32> {
    let number = digits.parse::<u32>().ok()?;
    (number <= NUMBER_MAX && (digits.len() == 1 || !digits.starts_with('0'))).then_some(number)
}

/// Equal texts under the numbers that have them, in the order of their first number. The numbers
/// ascend.
pub(crate) fn fold(texts: impl IntoIterator<Item = (u32, String)>) -> Vec<(Numbers, String)> {
    let mut groups: Vec<(Vec<u32>, String)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (number, text) in texts {
        let place = *places.entry(text).or_insert_with_key(|text| {
            groups.push((Vec::new(), text.clone()));
            groups.len() - 1
        });
        groups[place].0.push(number);
    }
    groups.into_iter().map(|(numbers, text)| (Numbers::ascending(numbers), text)).collect()
}

/// Values by name and number, as they were read from lines.
#[derive(Debug)]
pub(crate) struct Folded<K, V> {
    spans: BTreeMap<K, Vec<Span>>,
    values: Vec<V>,
}

/// Numbers in a row that have one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) first: u32,
    pub(crate) last: u32,
    value: usize,
    line: usize,
}

impl<K, V> Default for Folded<K, V> {
    fn default() -> Self {
        Folded { spans: BTreeMap::new(), values: Vec::new() }
    }
}

impl<K: Ord, V> Folded<K, V> {
    /// Adds what a line says. `sort` comes behind the last one.
    pub(crate) fn add(&mut self, key: K, numbers: &Numbers, value: V, line: usize) {
        let place = self.values.len();
        self.values.push(value);
        let spans = numbers.ranges().iter();
        let spans = spans.map(|&(first, last)| Span { first, last, value: place, line });
        self.spans.entry(key).or_default().extend(spans);
    }

    /// Makes it ready to be asked; the line that says something again is an error.
    pub(crate) fn sort(&mut self) -> Result<(), usize> {
        for spans in self.spans.values_mut() {
            spans.sort_unstable_by_key(|span| (span.first, span.line));
            for pair in spans.windows(2) {
                if let [before, after] = pair
                    && after.first <= before.last
                {
                    return Err(before.line.max(after.line));
                }
            }
        }
        Ok(())
    }

    /// The value of a name and number.
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q, number: u32) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let spans = self.spans.get(key)?;
        self.values.get(find(spans, number)?.value)
    }

    /// Whether the name has any number.
    pub(crate) fn has<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.spans.contains_key(key)
    }

    /// The value of the lowest number.
    pub(crate) fn lowest<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.values.get(self.spans.get(key)?.first()?.value)
    }

    /// Names from this one on, with their numbers.
    pub(crate) fn from<Q: Ord + ?Sized>(
        &self,
        key: &Q,
    ) -> impl Iterator<Item = (&K, &[Span])> + use<'_, K, V, Q>
    where
        K: Borrow<Q>,
    {
        let range = self.spans.range((std::ops::Bound::Included(key), std::ops::Bound::Unbounded));
        range.map(|(key, spans)| (key, spans.as_slice()))
    }
}

/// The span that holds a number.
pub(crate) fn find(spans: &[Span], number: u32) -> Option<&Span> {
    let above = spans.partition_point(|span| span.first <= number);
    spans.get(above.checked_sub(1)?).filter(|span| number <= span.last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_number_of_a_path_is_taken_out() {
        let of = |path: &str| split(path);
        assert_eq!(of("/cpu12/cache/index2/size"), ("/cpu\0/cache/index2/size".into(), Some(12)));
        assert_eq!(of("/dev/cpu/3/msr"), ("/dev/cpu/\0/msr".into(), Some(3)));
        assert_eq!(of("/cpu07/size"), ("/cpu07/size".into(), None));
        assert_eq!(of("/proc/meminfo"), ("/proc/meminfo".into(), None));
        assert_eq!(of("/a99999/b1"), ("/a99999/b\0".into(), Some(1)));
        assert_eq!(of(""), (String::new(), None));
    }

    #[test]
    fn equal_texts_stand_once() {
        let texts = [(0, "a"), (1, "a"), (2, "b"), (3, "a")];
        let folded = fold(texts.map(|(number, text)| (number, text.to_owned())));
        let lines: Vec<String> = folded.iter().map(|(n, text)| format!("{n} {text}")).collect();
        assert_eq!(lines, ["0-1,3 a", "2 b"]);
    }

    #[test]
    fn what_is_said_twice_is_found() {
        let mut folded = Folded::default();
        folded.add("a", &Numbers::parse("0-3").unwrap(), 'x', 1);
        folded.add("a", &Numbers::parse("5").unwrap(), 'y', 2);
        assert_eq!(folded.sort(), Ok(()));
        assert_eq!([3, 4, 5].map(|n| folded.get("a", n).copied()), [Some('x'), None, Some('y')]);
        folded.add("a", &Numbers::parse("3").unwrap(), 'z', 3);
        assert_eq!(folded.sort(), Err(3));
    }

    proptest! {
        #[test]
        fn split_and_join_are_inverse(path in "(/[a-z:]{0,3}[0-9]{0,6}){0,4}") {
            let (template, number) = split(&path);
            prop_assert_eq!(join(&template, number), path);
        }
    }
}
