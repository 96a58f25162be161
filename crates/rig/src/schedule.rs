//! What fits into the budget.

use model::Seconds;
use model::stats::BLOCKS_FOR_INTERVAL;

/// What an area would like to measure: the cost of one block of each of its cells, most wanted first.
pub struct AreaDemand {
    /// Its share of what is left after the minima of all areas.
    pub weight: f64,
    /// Seconds of one block of each cell.
    pub costs: Vec<Seconds>,
}

/// Which cells of each area are admitted, one answer for each.
///
/// A cell needs five blocks, and all areas shall have them by half of the budget. Each area is given
/// the part of that time that its weight stands for; what one does not use goes to the others. A cell that
/// nothing of this leaves room for keeps no cheaper one out.
pub fn admit(wishes: &[AreaDemand], budget: Seconds) -> Vec<Vec<bool>> {
    let mut left = budget / 2.0 / BLOCKS_FOR_INTERVAL as f64;
    let mut asked: Vec<AreaAdmission<'_>> = wishes.iter().map(AreaAdmission::new).collect();
    loop {
        let weights: f64 = asked.iter().filter(|it| it.next().is_some()).map(|it| it.weight).sum();
        let mut taken = Seconds(0.0);
        for area in &mut asked {
            let mut share = left * (area.weight / weights);
            while let Some(cost) = area.next().filter(|cost| *cost <= share) {
                share = share - cost;
                taken = taken + cost;
                area.answer(true);
            }
        }
        left = left - taken;
        if taken.0 > 0.0 {
            continue;
        }
        // Shares shrink as areas are served. When nobody's next cell fits its share, what is left goes
        // to who has the most weight of those whom it serves at all.
        let served = asked.iter_mut().filter(|it| it.next().is_some_and(|cost| cost <= left));
        if let Some(area) = served.max_by(|a, b| a.weight.total_cmp(&b.weight)) {
            left = left - area.next().unwrap_or(Seconds(0.0));
            area.answer(true);
            continue;
        }
        // There is no room for any of them, and less and less.
        for area in &mut asked {
            while area.next().is_some_and(|cost| cost > left) {
                area.answer(false);
            }
        }
        if asked.iter().all(|it| it.next().is_none()) {
            return asked.into_iter().map(|it| it.admitted).collect();
        }
    }
}

/// An area whose cells are asked one after the other.
struct AreaAdmission<'a> {
    weight: f64,
    costs: &'a [Seconds],
    /// The answers so far.
    admitted: Vec<bool>,
}

impl<'a> AreaAdmission<'a> {
    fn new(wish: &'a AreaDemand) -> AreaAdmission<'a> {
        AreaAdmission { weight: wish.weight, costs: &wish.costs, admitted: Vec::new() }
    }

    /// What the cell costs that is asked next.
    fn next(&self) -> Option<Seconds> {
        self.costs.get(self.admitted.len()).copied()
    }

    fn answer(&mut self, admitted: bool) {
        self.admitted.push(admitted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(weight: f64, costs: &[f64]) -> AreaDemand {
        AreaDemand { weight, costs: costs.iter().copied().map(Seconds).collect() }
    }

    /// How many of each are admitted.
    fn counts(wishes: &[AreaDemand], budget: Seconds) -> Vec<usize> {
        let count = |of: Vec<bool>| of.into_iter().filter(|admitted| *admitted).count();
        admit(wishes, budget).into_iter().map(count).collect()
    }

    #[test]
    fn what_is_too_costly_keeps_nothing_out() {
        // 0.1 s for one block of everything.
        let wishes = [wish(1.0, &[0.02, 0.5, 0.03, 0.4, 0.01]), wish(1.0, &[0.7, 0.02])];
        let admitted = admit(&wishes, Seconds(1.0));
        assert_eq!(admitted, [vec![true, false, true, false, true], vec![false, true]]);
        // What is wanted more comes first, as long as there is room for it.
        let wishes = [wish(1.0, &[0.02, 0.07, 0.03])];
        assert_eq!(admit(&wishes, Seconds(1.0)), [[true, true, false]]);
    }

    #[test]
    fn everything_fits_into_plenty() {
        let wishes = [wish(3.0, &[0.01; 20]), wish(1.0, &[0.004; 2])];
        assert_eq!(counts(&wishes, Seconds(30.0)), [20, 2]);
    }

    #[test]
    fn scarcity_is_shared_by_weight_and_leftovers_go_round() {
        // 1.05 s of budget: 0.105 s for one block of everything.
        let wishes = [wish(3.0, &[0.01; 20]), wish(1.0, &[0.01; 20])];
        let admitted = counts(&wishes, Seconds(1.05));
        assert_eq!(admitted.iter().sum::<usize>(), 10);
        assert!(admitted[0] > 2 * admitted[1]);
        let wishes = [wish(3.0, &[0.01; 20]), wish(1.0, &[0.01; 1])];
        assert_eq!(counts(&wishes, Seconds(1.05)), [9, 1]);
    }

    #[test]
    fn what_is_too_little_for_two_is_enough_for_one() {
        // 0.105 s for one block of everything: each share is less than a cell.
        let wishes = [wish(1.0, &[0.06; 2]), wish(2.0, &[0.08]), wish(3.0, &[0.2])];
        assert_eq!(counts(&wishes, Seconds(1.05)), [0, 1, 0]);
    }

    #[test]
    fn nothing_fits_into_nothing() {
        assert_eq!(counts(&[wish(1.0, &[1.0])], Seconds(1.0)), [0]);
        assert_eq!(counts(&[], Seconds(1.0)), Vec::<usize>::new());
    }
}
