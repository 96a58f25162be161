//! Counters that should only grow, and what is said of one that fell.
//!
//! Kernels start counters anew where a CPU goes off and on or a driver is loaded again, guests see those of another host
//! after they moved, and the time of waiting for devices falls by itself (proc(5)): no difference of two readings is
//! formed without a word for that.

use std::collections::BTreeMap;

use crate::{Obstacle, Reading, Unavailable};

/// How much a counter grew between two readings.
///
/// # Error
/// It fell.
pub fn grown(what: &str, now: f64, then: f64) -> Reading<f64> {
    if now >= then {
        return Ok(now - then);
    }
    let why = format!("the counter fell from {then} to {now}");
    Err(Unavailable::new(Obstacle::Measurement, what, why))
}

/// One counter of several places, by their names: `CPU 3`.
pub type Places = BTreeMap<String, f64>;

/// How much the counters of all places grew together: what one of them lost is not made up for by another.
///
/// # Error
/// One of them fell, or was there at one moment alone.
pub fn grown_together(what: &str, now: &Places, then: &Places) -> Reading<f64> {
    let of_place = |(place, then): (&String, &f64)| {
        let whose = if place.is_empty() { String::new() } else { format!(" of {place}") };
        let Some(now) = now.get(place) else {
            let why = format!("the counter{whose} disappeared during the interval");
            return Err(Unavailable::new(Obstacle::Measurement, what, why));
        };
        let fell = |_| {
            let why = format!("the counter{whose} fell from {then} to {now}");
            Unavailable::new(Obstacle::Measurement, what, why)
        };
        grown(what, *now, *then).map_err(fell)
    };
    if let Some(place) = now.keys().find(|place| !then.contains_key(*place)) {
        let why = format!("the counter of {place} appeared during the interval");
        return Err(Unavailable::new(Obstacle::Measurement, what, why));
    }
    then.iter().map(of_place).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn places(of: &[(&str, f64)]) -> Places {
        of.iter().map(|(place, count)| ((*place).to_owned(), *count)).collect()
    }

    #[test]
    fn what_one_place_lost_is_not_made_up_for_by_another() {
        let then = places(&[("CPU 0", 5.0), ("CPU 1", 7.0)]);
        let why = |now| grown_together("steal", &now, &then).unwrap_err().why;
        assert_eq!(
            why(places(&[("CPU 0", 4.0), ("CPU 1", 9.0)])),
            "the counter of CPU 0 fell from 5 to 4"
        );
        assert_eq!(
            why(places(&[("CPU 0", 9.0)])),
            "the counter of CPU 1 disappeared during the interval"
        );
        let more = places(&[("CPU 0", 5.0), ("CPU 1", 8.0), ("CPU 2", 2.0)]);
        assert_eq!(why(more), "the counter of CPU 2 appeared during the interval");
        let now = places(&[("CPU 0", 5.0), ("CPU 1", 9.0)]);
        assert_eq!(grown_together("steal", &now, &then), Ok(2.0));
    }

    proptest! {
        #[test]
        fn a_counter_that_fell_is_never_a_number(
            counts in prop::collection::vec((0_u32..1000, 0_u32..1000), 1..8)
        ) {
            let of = |which: fn(&(u32, u32)) -> u32| -> Places {
                let named = |(place, both): (usize, &(u32, u32))| (format!("CPU {place}"), f64::from(which(both)));
                counts.iter().enumerate().map(named).collect()
            };
            let together = grown_together("counts", &of(|it| it.1), &of(|it| it.0));
            let fell = counts.iter().any(|(then, now)| now < then);
            prop_assert_eq!(together.is_err(), fell);
            if let Ok(sum) = together {
                let all: u32 = counts.iter().map(|(then, now)| now - then).sum();
                prop_assert!((sum - f64::from(all)).abs() < 0.5);
            }
        }
    }
}
