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

/// Every value once, in the order of these; those that are none of these come last, as they were. A record may hold
/// words that this build does not know.
pub fn in_order_of<T: PartialEq>(values: impl IntoIterator<Item = T>, order: &[T]) -> Vec<T> {
    let mut seen = in_order(values);
    seen.sort_by_key(|value| order.iter().position(|it| it == value).unwrap_or(order.len()));
    seen
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_value_stands_where_it_came_first() {
        assert_eq!(super::in_order([3, 1, 3, 2, 1]), [3, 1, 2]);
    }

    #[test]
    fn values_that_an_order_lacks_come_last() {
        assert_eq!(super::in_order_of([9, 1, 8, 2, 9], &[2, 1]), [2, 1, 9, 8]);
    }
}
