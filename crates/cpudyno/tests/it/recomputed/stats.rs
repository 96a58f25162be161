//! Order statistics and the texts of numbers, written again from METHODOLOGY: nothing is shared with the
//! program.

/// Between ranks by the distance to them: the q-quantile lies at q (n - 1) of the ascending values.
pub(crate) fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = q * last as f64;
    let below = place as usize;
    let above = sorted[(below + 1).min(last)];
    Some(sorted[below] + (above - sorted[below]) * (place - below as f64))
}

pub(crate) fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

pub(crate) fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

pub(crate) fn greatest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

/// The 95 % interval of a median between blocks: from the k-th smallest to the k-th greatest, with the
/// greatest k for which fewer than k heads (or fewer than k tails) of n coins have a chance of 5 % at most.
/// Five blocks give their whole range, fewer nothing.
pub(crate) fn interval(medians: &[f64]) -> Option<[f64; 2]> {
    let count = medians.len();
    if count < 5 {
        return None;
    }
    let mut sorted = medians.to_vec();
    sorted.sort_by(f64::total_cmp);
    let k = rank(count).max(1);
    Some([sorted[k - 1], sorted[count - k]])
}

fn rank(count: usize) -> usize {
    let n = count as f64;
    if count > 100 {
        return ((n - 1.96 * n.sqrt()) / 2.0) as usize;
    }
    // Pascal's triangle: the ways of so many heads.
    let mut ways = vec![1.0];
    for _ in 0..count {
        let mut next: Vec<f64> = ways.windows(2).map(|pair| pair[0] + pair[1]).collect();
        next.insert(0, 1.0);
        next.push(1.0);
        ways = next;
    }
    let chance = |k: usize| 2.0 * ways[..k].iter().sum::<f64>() / 2f64.powf(n);
    (1..=count / 2).rev().find(|k| chance(*k) <= 0.05).unwrap_or(0)
}

/// Samples that lie together: cut where a neighbour is 1.2 times as large, put together again where medians are
/// less than 1.4 times each other; of fewer than eight, and where one is not positive, all are one.
pub(crate) fn groups(samples: &[f64]) -> Vec<Vec<f64>> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return Vec::new();
    }
    if sorted.len() < 8 || sorted[0] <= 0.0 {
        return vec![sorted];
    }
    let mut found: Vec<Vec<f64>> = Vec::new();
    let close = |found: &mut Vec<Vec<f64>>, group: Vec<f64>| match found.last_mut() {
        Some(before) if median(&group) < median(before).map(|it| it * 1.4) => before.extend(group),
        _ => found.push(group),
    };
    let mut group = vec![sorted[0]];
    for pair in sorted.windows(2) {
        if pair[1] >= pair[0] * 1.2 {
            close(&mut found, std::mem::take(&mut group));
        }
        group.push(pair[1]);
    }
    close(&mut found, group);
    found
}

/// Four significant digits with the prefix that fits.
pub(crate) fn si(value: f64, unit: &str) -> String {
    let prefixes = [("G", 9), ("M", 6), ("k", 3), ("", 0), ("m", -3), ("u", -6), ("n", -9)];
    if value == 0.0 {
        return format!("0 {unit}");
    }
    let rounded = |power: i32| value / 10f64.powi(power);
    let fits = |&&(_, power): &&(&str, i32)| rounded(power).abs() >= 0.99995;
    let (prefix, power) = prefixes.iter().find(fits).unwrap_or(&prefixes[6]);
    let scaled = match power {
        // Divided by the same literals as everybody does: 1e-6 is no power of two.
        -3 => value / 1e-3,
        -6 => value / 1e-6,
        -9 => value / 1e-9,
        _ => rounded(*power),
    };
    let digits = if scaled.abs() >= 99.995 {
        1
    } else if scaled.abs() >= 9.9995 {
        2
    } else {
        3
    };
    format!("{scaled:.digits$} {prefix}{unit}")
}

pub(crate) fn time(seconds: f64) -> String {
    si(seconds, "s")
}

/// Powers of 1,024; a tenth only where it is not zero.
pub(crate) fn bytes(value: f64) -> String {
    let steps = [(30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];
    let (power, name) =
        steps.into_iter().find(|(power, _)| value >= 2f64.powi(*power)).unwrap_or((0, "B"));
    let scaled = value / 2f64.powi(power);
    // Halves go up.
    let tenth = format!("{:.1}", (scaled * 10.0).round() / 10.0);
    if (scaled - scaled.round()).abs() < 0.05 {
        format!("{scaled:.0} {name}")
    } else {
        format!("{tenth} {name}")
    }
}

/// Three digits, as latencies have them: at least so many decimals below ten.
pub(crate) fn three(value: f64) -> String {
    if value.abs() >= 99.95 {
        format!("{value:.0}")
    } else if value.abs() >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// The same of microseconds, which have a third decimal below one.
pub(crate) fn micro(seconds: f64) -> String {
    let us = seconds * 1e6;
    if us.abs() < 0.9995 { format!("{us:.3}") } else { three(us) }
}

pub(crate) fn mhz(hertz: f64) -> String {
    format!("{:.0}", hertz / 1e6)
}

/// The change against something, in per cent with a sign.
pub(crate) fn change(ratio: f64) -> String {
    format!("{:+.1}", (ratio - 1.0) * 100.0)
}

/// The same, where nothing is not less than nothing.
pub(crate) fn change_or_none(ratio: f64) -> String {
    change(ratio).replace("-0.0", "+0.0")
}

/// A number of a plot: four significant digits, no zeros behind the point.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let power = value.abs().log10().floor() as i32;
    if !(-4..=6).contains(&power) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", (3 - power).max(0) as usize);
    match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text,
    }
}

/// A number of bytes on an axis.
pub(crate) fn short_bytes(value: f64) -> String {
    let steps = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let found = steps.into_iter().find(|(power, _)| value >= 2f64.powi(*power));
    found.map_or_else(|| short(value), |(power, name)| short(value / 2f64.powi(power)) + name)
}

pub(crate) fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// `0-3,5`.
pub(crate) fn list(numbers: &[u64]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in sorted {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let text = |(a, b): &(u64, u64)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The numbers of `0-3,5`.
pub(crate) fn numbers(text: &str) -> Vec<u64> {
    let parse = |text: &str| text.parse::<u64>().expect("a number in a list of CPUs");
    let range = |part: &str| match part.split_once('-') {
        Some((first, last)) => parse(first)..=parse(last),
        None => parse(part)..=parse(part),
    };
    text.split(',').filter(|part| !part.is_empty()).flat_map(range).collect()
}

/// Each once, in the order of first appearance.
pub(crate) fn once<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}
