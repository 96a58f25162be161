//! Who is measured when: quads in an order of chance, and where the control arm lies between them.

use serde::{Deserialize, Serialize};

use super::{Arm, Draw};

/// The order of a quad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A B B A.
    Abba,
    /// B A A B.
    Baab,
}

impl Order {
    /// Whose turn each of the four measurements is.
    pub fn arms(self) -> [Arm; 4] {
        match self {
            Order::Abba => [Arm::A, Arm::B, Arm::B, Arm::A],
            Order::Baab => [Arm::B, Arm::A, Arm::A, Arm::B],
        }
    }
}

/// What a quad compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// B with A.
    Compared,
    /// A with A: its arm B is set up like every B, with the setting of A.
    Control,
}

/// One quad that is to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slot {
    /// What it compares.
    pub kind: Kind,
    /// In which order.
    pub order: Order,
}

/// The quads of a run, in order: so many compared ones, and one of each `control_every` quads is a
/// control, at a place of chance among them (0 or 1: none). Each order is a coin of its own. Balancing
/// the orders would make later coins depend on earlier ones, and the test rests on fair coins.
pub fn schedule(compared: u64, control_every: u64, draw: Draw<'_>) -> Vec<Slot> {
    let mut kinds = Vec::new();
    let mut left = compared;
    while left > 0 {
        let controlled = control_every > 1;
        let group = if controlled { left.min(control_every - 1) } else { left };
        let control = controlled.then(|| draw(group + 1));
        for place in 0..=group {
            if control == Some(place) {
                kinds.push(Kind::Control);
            }
            if place < group {
                kinds.push(Kind::Compared);
            }
        }
        left -= group;
    }
    let order = |coin| if coin == 0 { Order::Abba } else { Order::Baab };
    kinds.into_iter().map(|kind| Slot { kind, order: order(draw(2)) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(compared: u64, control_every: u64, seed: u64) -> Vec<Slot> {
        let mut chance = fastrand::Rng::with_seed(seed);
        schedule(compared, control_every, &mut |below| chance.u64(..below))
    }

    #[test]
    fn so_many_quads_with_their_controls() {
        let count = |slots: &[Slot], kind| slots.iter().filter(|slot| slot.kind == kind).count();
        for (compared, every, controls) in
            [(20, 4, 7), (18, 4, 6), (20, 0, 0), (20, 1, 0), (0, 4, 0)]
        {
            let slots = slots(compared, every, 7);
            assert_eq!(count(&slots, Kind::Compared), compared as usize);
            assert_eq!(count(&slots, Kind::Control), controls, "{compared} by {every}");
        }
    }

    #[test]
    fn coins_are_fair_and_controls_are_anywhere() {
        let slots = slots(30_000, 4, 1);
        let share = |is: fn(&Slot) -> bool| {
            slots.iter().filter(|slot| is(slot)).count() as f64 / slots.len() as f64
        };
        // Four standard deviations of 40,000 coins are 1 %.
        assert!((share(|slot| slot.order == Order::Abba) - 0.5).abs() < 0.01);
        for place in 0..4 {
            let here = slots.chunks(4).filter(|group| group[place].kind == Kind::Control).count();
            assert!((here as f64 / 10_000.0 - 0.25).abs() < 0.018, "place {place}: {here}");
        }
        // Each coin is thrown by itself: two in a row are equal as often as not.
        let same = slots.windows(2).filter(|pair| pair[0].order == pair[1].order).count();
        assert!((same as f64 / 39_999.0 - 0.5).abs() < 0.01, "{same}");
    }

    #[test]
    fn a_seed_repeats_its_schedule() {
        assert_eq!(slots(40, 4, 3), slots(40, 4, 3));
        assert_ne!(slots(40, 4, 3), slots(40, 4, 4));
    }
}
