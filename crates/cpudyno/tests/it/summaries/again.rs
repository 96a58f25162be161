//! Series as JSON has them, and the order statistics of docs/method/statistics.md, written again: nothing is shared with
//! the program.

use serde_json::Value;

/// The numbers of a series, laid open.
pub(crate) struct Numbers {
    /// Every sample; of packed ones the middle of its bin.
    pub(crate) samples: Vec<f64>,
    /// The median of each block that has samples.
    pub(crate) block_medians: Vec<f64>,
}

impl Numbers {
    /// Those of the samples of a series; none where it has a reason instead.
    pub(crate) fn of(samples: &Value) -> Option<Numbers> {
        match samples {
            Value::Null => None,
            Value::Array(blocks) => {
                let blocks = blocks.iter().map(|block| items(block).iter().map(number).collect());
                let blocks: Vec<Vec<f64>> = blocks.collect();
                let block_medians = blocks.iter().filter_map(|block| quantile(block, 0.5));
                Some(Numbers { block_medians: block_medians.collect(), samples: blocks.concat() })
            }
            packed => Some(Numbers::unpacked(packed)),
        }
    }

    fn unpacked(packed: &Value) -> Numbers {
        let middle = middle_of_bin(&packed["step"]);
        let mut samples = Vec::new();
        for run in items(&packed["packed"]) {
            let whole = items(run).iter().map(|it| it.as_i64().expect("a whole number"));
            let whole: Vec<i64> = whole.collect();
            for (bin, count) in (whole[0]..).zip(&whole[1..]) {
                samples.extend(std::iter::repeat_n(middle(bin), *count as usize));
            }
        }
        let medians = items(&packed["block_medians"]).iter().map(|block| number(&block[1]));
        Numbers { samples, block_medians: medians.collect() }
    }

    /// The `q`-quantile of the samples.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        quantile(&self.samples, q)
    }

    /// The 95 % interval of the median between blocks, and as far as to the median itself.
    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        let ([low, high], median) = interval(&self.block_medians).zip(self.quantile(0.5))?;
        Some([low.min(median), high.max(median)])
    }
}

/// The items of an array; nothing of what is none.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The middle of a bin, computed with the decimals that the step is written with.
fn middle_of_bin(step: &Value) -> impl Fn(i64) -> f64 {
    let text = format!("{:e}", number(step));
    let (digits, exponent) = text.split_once('e').expect("an exponent");
    let after_point = digits.split_once('.').map_or(0, |(_, after)| after.len()) as i32;
    let digits: i64 = digits.replace('.', "").parse().expect("digits");
    let exponent = exponent.parse::<i32>().expect("a whole exponent") - after_point;
    move |bin| {
        format!("{}e{exponent}", i128::from(bin) * i128::from(digits)).parse().expect("a number")
    }
}

/// Between ranks by the distance to them: the q-quantile lies at q (n - 1) of the ascending values.
fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = q * last as f64;
    let below = place as usize;
    let above = sorted[(below + 1).min(last)];
    Some(sorted[below] + (above - sorted[below]) * (place - below as f64))
}

/// The interval of a median: from the k-th smallest to the k-th greatest, with the greatest k for which fewer than k
/// heads (or fewer than k tails) of n coins have a chance of 5 % at most. Five blocks give their whole range, fewer
/// nothing.
fn interval(medians: &[f64]) -> Option<[f64; 2]> {
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
