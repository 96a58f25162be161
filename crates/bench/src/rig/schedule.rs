//! What fits into the budget.

use model::Seconds;
use model::stats::BLOCKS_FOR_INTERVAL;

/// What an area would like to measure: the cost of one block of each of its cells, most wanted first.
pub struct Wish {
    /// Its share of what is left after the minima of all areas.
    pub weight: f64,
    /// Seconds of one block of each cell.
    pub costs: Vec<Seconds>,
}

/// How many cells of each area are admitted.
///
/// A cell needs five blocks, and all areas shall have them by half of the budget. Each area is given
/// the part of that time that its weight stands for; what one does not use goes to the others.
pub fn admit(wishes: &[Wish], budget: Seconds) -> Vec<usize> {
    let mut left = budget / 2.0 / BLOCKS_FOR_INTERVAL as f64;
    let mut admitted = vec![0; wishes.len()];
    loop {
        let wanting: Vec<usize> =
            (0..wishes.len()).filter(|&area| admitted[area] < wishes[area].costs.len()).collect();
        let weights: f64 = wanting.iter().map(|&area| wishes[area].weight).sum();
        let mut taken = Seconds(0.0);
        for &area in &wanting {
            let mut share = left * (wishes[area].weight / weights);
            while let Some(&cost) = wishes[area].costs.get(admitted[area]).filter(|c| **c <= share)
            {
                share = share - cost;
                taken = taken + cost;
                admitted[area] += 1;
            }
        }
        left = left - taken;
        if taken.0 > 0.0 {
            continue;
        }
        // Shares shrink as areas are served. When nobody's next cell fits its share, what is left goes
        // to who has the most weight of those whom it serves at all.
        let next = |area: usize| wishes[area].costs[admitted[area]];
        let served = wanting.into_iter().filter(|&area| next(area) <= left);
        let Some(area) = served.max_by(|a, b| wishes[*a].weight.total_cmp(&wishes[*b].weight))
        else {
            return admitted;
        };
        left = left - next(area);
        admitted[area] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(weight: f64, costs: &[f64]) -> Wish {
        Wish { weight, costs: costs.iter().copied().map(Seconds).collect() }
    }

    #[test]
    fn everything_fits_into_plenty() {
        let wishes = [wish(3.0, &[0.01; 20]), wish(1.0, &[0.004; 2])];
        assert_eq!(admit(&wishes, Seconds(30.0)), [20, 2]);
    }

    #[test]
    fn scarcity_is_shared_by_weight_and_leftovers_go_round() {
        // 1.05 s of budget: 0.105 s for one block of everything.
        let wishes = [wish(3.0, &[0.01; 20]), wish(1.0, &[0.01; 20])];
        let admitted = admit(&wishes, Seconds(1.05));
        assert_eq!(admitted.iter().sum::<usize>(), 10);
        assert!(admitted[0] > 2 * admitted[1]);
        let wishes = [wish(3.0, &[0.01; 20]), wish(1.0, &[0.01; 1])];
        assert_eq!(admit(&wishes, Seconds(1.05)), [9, 1]);
    }

    #[test]
    fn what_is_too_little_for_two_is_enough_for_one() {
        // 0.105 s for one block of everything: each share is less than a cell.
        let wishes = [wish(1.0, &[0.06; 2]), wish(2.0, &[0.08]), wish(3.0, &[0.2])];
        assert_eq!(admit(&wishes, Seconds(1.05)), [0, 1, 0]);
    }

    #[test]
    fn nothing_fits_into_nothing() {
        assert_eq!(admit(&[wish(1.0, &[1.0])], Seconds(1.0)), [0]);
        assert_eq!(admit(&[], Seconds(1.0)), Vec::<usize>::new());
    }
}
