//! Order of values, where it is not that of a sort.

/// Distinct values in the order of their first appearance.
pub fn in_order<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_value_stands_where_it_came_first() {
        assert_eq!(super::in_order([3, 1, 3, 2, 1]), [3, 1, 2]);
    }
}
