//! Which channel each slot is of, by what firmware calls slots and banks.
//!
//! SMBIOS has no field for it, and vendors name slots as they like. What several of them write is read here; where names do
//! not say it beyond doubt, nothing is said.

use std::collections::{BTreeMap, BTreeSet};

use crate::devices::Device;

/// A channel of memory, and what is in its slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel<'a> {
    /// The package that it is of, counted in the order of firmware's numbers; `None`: names do not say it.
    pub package: Option<u32>,
    /// How firmware calls its first slot, or the bank of it where slots of several channels are called alike.
    pub name: &'a str,
    /// Its slots in order.
    pub devices: Vec<&'a Device>,
}

/// What a name says of where a slot is.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SlotPlace {
    socket: Option<u32>,
    node: Option<u32>,
    controller: Option<u32>,
    /// A letter or a number.
    channel: Option<String>,
    slot: Option<u32>,
}

/// No memory since DDR3 has more slots to a channel.
const SLOTS_MAX: usize = 3;

/// The channels of these devices in a machine of so many packages, in the order of their places.
///
/// # Error
/// Why names do not say it, in words that continue "channels are unknown:".
pub fn channels<'a>(devices: &[&'a Device], packages: usize) -> Result<Vec<Channel<'a>>, String> {
    let of = |name: fn(&Device) -> SlotPlace| devices.iter().map(|device| name(device)).collect();
    let by_slot: Vec<SlotPlace> = of(|device| SlotPlace::of(&device.locator));
    let by_bank: Vec<SlotPlace> = of(|device| SlotPlace::of(&device.bank));
    let by_both: Vec<SlotPlace> =
        by_bank.iter().zip(&by_slot).map(|(bank, slot)| bank.clone().or(slot.clone())).collect();
    let [by_slot, by_bank, by_both] = [by_slot, by_bank, by_both].map(|it| grouped(&it, packages));
    if let (Ok(slot), Ok(bank)) = (&by_slot, &by_bank)
        && members(slot) != members(bank)
    {
        return Err("names of slots and of banks contradict each other".to_owned());
    }
    let nameless = by_both.clone().err();
    let groups = by_both.or(by_slot).or(by_bank).map_err(|why| nameless.unwrap_or(why))?;
    Ok(named(&groups, devices, packages))
}

/// Devices by the channel that they are of: its place without slot, and their indices in the order of slots.
type Groups = BTreeMap<SlotPlace, BTreeMap<Option<u32>, usize>>;

fn members(groups: &Groups) -> BTreeSet<BTreeSet<usize>> {
    groups.values().map(|slots| slots.values().copied().collect()).collect()
}

fn grouped(places: &[SlotPlace], packages: usize) -> Result<Groups, String> {
    let mut groups = Groups::new();
    for (index, place) in places.iter().enumerate() {
        if place.channel.is_none() {
            return Err("firmware names no channel of its slots".to_owned());
        }
        let slots = groups.entry(SlotPlace { slot: None, ..place.clone() }).or_default();
        if slots.insert(place.slot, index).is_some() {
            return Err("firmware gives several slots one name".to_owned());
        }
    }
    if groups.values().any(|slots| slots.len() > SLOTS_MAX) {
        return Err(format!("what looks like a channel has more than {SLOTS_MAX} slots"));
    }
    let is_of_package = groups.keys().any(|place| place.package().is_some());
    if packages > 1 && !is_of_package && groups.len() <= packages {
        return Err("letters of slots may stand for packages".to_owned());
    }
    Ok(groups)
}

fn named<'a>(groups: &Groups, devices: &[&'a Device], packages: usize) -> Vec<Channel<'a>> {
    let of_package: BTreeSet<Option<u32>> = groups.keys().map(SlotPlace::package).collect();
    let package = |place: &SlotPlace| match (packages, of_package.len() == packages) {
        (1, _) => Some(0),
        (_, false) => None,
        (_, true) => {
            place.package()?;
            of_package.iter().position(|it| *it == place.package()).map(|at| at as u32)
        }
    };
    let locators: BTreeSet<&str> = devices.iter().map(|device| device.locator.as_str()).collect();
    let are_distinct = locators.len() == devices.len();
    let channel = |(place, slots): (&SlotPlace, &BTreeMap<Option<u32>, usize>)| {
        let devices: Vec<&Device> = slots.values().map(|index| devices[*index]).collect();
        let first = devices.first()?;
        let name = if are_distinct { &first.locator } else { &first.bank };
        Some(Channel { package: package(place), name, devices })
    };
    groups.iter().filter_map(channel).collect()
}

impl SlotPlace {
    /// What this one says, and of the rest what the other one does.
    fn or(self, other: SlotPlace) -> SlotPlace {
        SlotPlace {
            socket: self.socket.or(other.socket),
            node: self.node.or(other.node),
            controller: self.controller.or(other.controller),
            channel: self.channel.or(other.channel),
            slot: self.slot.or(other.slot),
        }
    }

    /// A node alone is a package; beside one it is a controller within it.
    fn package(&self) -> Option<u32> {
        self.socket.or(self.node)
    }

    /// What a name says. Read are such as `P1-DIMMA1`, `CPU0_DIMM_A1`, `DIMM_P0_A0`, `CPU0_C0D0`, `P0 CHANNEL A`,
    /// `NODE 0 CHANNEL 0 DIMM 0`, `P0_Node0_Channel0_Dimm0`, `Controller0-ChannelA-DIMM0`.
    fn of(name: &str) -> SlotPlace {
        let words = words(name);
        let mut place = SlotPlace::default();
        let mut rest = words.as_slice();
        let mut is_dimm = false;
        loop {
            rest = match rest {
                [] => return place,
                // A letter that is a package stands before one that is a channel.
                [word, number, letter, slot, ..]
                    if word == "P" && is_letter(letter) && slot.parse::<u32>().is_ok() =>
                {
                    place.socket = number.parse().ok();
                    &rest[2..]
                }
                [channel, number, slot, place_of, ..]
                    if channel == "C" && slot == "D" && number.parse::<u32>().is_ok() =>
                {
                    (place.channel, place.slot) = (Some(number.clone()), place_of.parse().ok());
                    &rest[4..]
                }
                [letter, number, ..] if is_dimm && place.channel.is_none() && is_letter(letter) => {
                    (place.channel, place.slot) = (Some(letter.clone()), number.parse().ok());
                    &rest[2..]
                }
                [word, value, ..] if place.take(word, value) => {
                    is_dimm |= is_of_dimm(word);
                    &rest[2..]
                }
                [word, ..] => {
                    is_dimm |= is_of_dimm(word);
                    &rest[1..]
                }
            };
        }
    }

    /// Takes a word and what stands behind it, where they belong together.
    fn take(&mut self, word: &str, value: &str) -> bool {
        let number = value.parse::<u32>().ok();
        let field = match word {
            "CHANNEL" | "CHAN" | "CH" if number.is_some() || is_letter(value) => {
                self.channel = Some(value.to_owned());
                return true;
            }
            "CPU" | "P" | "PROC" | "SOCKET" => &mut self.socket,
            "NODE" => &mut self.node,
            "CONTROLLER" | "MC" | "IMC" => &mut self.controller,
            "DIMM" | "SLOT" => &mut self.slot,
            _ => return false,
        };
        *field = number.or(*field);
        number.is_some()
    }
}

fn is_of_dimm(word: &str) -> bool {
    word == "DIMM"
}

fn is_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [letter] if letter.is_ascii_uppercase())
}

/// A name as words in capitals and numbers; a letter that follows `DIMM` or `CHANNEL` at once is a word of its own.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let upper = name.to_ascii_uppercase();
    for part in upper.split(|c: char| !c.is_ascii_alphanumeric()) {
        let bytes = part.as_bytes();
        for run in bytes.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
            let run = String::from_utf8_lossy(run);
            let glued = ["DIMM", "CHANNEL"]
                .into_iter()
                .find(|word| run.len() == word.len() + 1 && run.starts_with(word));
            match glued {
                Some(word) => words.extend([word.to_owned(), run[word.len()..].to_owned()]),
                None => words.push(run.into_owned()),
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{device, devices};

    /// Socket, node, controller, channel, slot.
    type Parts = (Option<u32>, Option<u32>, Option<u32>, Option<String>, Option<u32>);

    fn place(name: &str) -> Parts {
        let SlotPlace { socket, node, controller, channel, slot } = SlotPlace::of(name);
        (socket, node, controller, channel, slot)
    }

    #[test]
    fn names_of_vendors_say_where_a_slot_is() {
        let c = |channel: &str| Some(channel.to_owned());
        for (name, expected) in [
            ("P1-DIMMA1", (Some(1), None, None, c("A"), Some(1))),
            ("CPU0_DIMM_A1", (Some(0), None, None, c("A"), Some(1))),
            ("CPU1_DIMM_Q2", (Some(1), None, None, c("Q"), Some(2))),
            ("CPU1_DIMM_P1", (Some(1), None, None, c("P"), Some(1))),
            ("DIMM_P0_A0", (Some(0), None, None, c("A"), Some(0))),
            ("DIMM_P1", (None, None, None, c("P"), Some(1))),
            ("CPU0_C1D0", (Some(0), None, None, c("1"), Some(0))),
            ("P0 CHANNEL A", (Some(0), None, None, c("A"), None)),
            ("NODE 1 CHANNEL 2 DIMM 0", (None, Some(1), None, c("2"), Some(0))),
            ("P0_Node1_Channel2_Dimm1", (Some(0), Some(1), None, c("2"), Some(1))),
            ("SOCKET 1 CHANNEL 5 DIMM 0", (Some(1), None, None, c("5"), Some(0))),
            ("Controller1-ChannelA-DIMM0", (None, None, Some(1), c("A"), Some(0))),
            ("ChannelB-DIMM1", (None, None, None, c("B"), Some(1))),
            ("DIMM 0", (None, None, None, None, Some(0))),
            // Letters of Dell stand for packages or risers; they have no word before them.
            ("A1", (None, None, None, None, None)),
            ("PROC 2 DIMM 11", (Some(2), None, None, None, Some(11))),
            ("BANK 0", (None, None, None, None, None)),
            ("Not Specified", (None, None, None, None, None)),
            ("", (None, None, None, None, None)),
        ] {
            assert_eq!(place(name), expected, "{name}");
        }
    }

    /// For each pair of names a channel, and how many packages there are.
    fn counts(
        names: &[(&str, &str)],
        packages: usize,
    ) -> Result<Vec<(Option<u32>, usize)>, String> {
        let devices = devices(names);
        let devices: Vec<&Device> = devices.iter().collect();
        let all = channels(&devices, packages)?;
        Ok(all.iter().map(|channel| (channel.package, channel.devices.len())).collect())
    }

    #[test]
    fn slots_of_a_channel_come_together() {
        let names =
            [("DIMM 0", "P0 CHANNEL A"), ("DIMM 1", "P0 CHANNEL A"), ("DIMM 0", "P0 CHANNEL B")];
        assert_eq!(counts(&names, 1), Ok(vec![(Some(0), 2), (Some(0), 1)]));
        // The socket stands in one name, the channel in the other; boards count from 1, banks from 0.
        let names =
            [("P1-DIMMA1", "P0_Node0_Channel0_Dimm0"), ("P2-DIMMA1", "P1_Node0_Channel0_Dimm0")];
        assert_eq!(counts(&names, 2), Ok(vec![(Some(0), 1), (Some(1), 1)]));
        // Nodes that are all called alike say nothing, and slots say it all.
        let names =
            [("CPU0_DIMM_A1", "NODE 0"), ("CPU1_DIMM_A1", "NODE 0"), ("CPU1_DIMM_B1", "NODE 0")];
        assert_eq!(counts(&names, 2), Ok(vec![(Some(0), 1), (Some(1), 1), (Some(1), 1)]));
        // Two controllers in each package.
        let names =
            [("CPU1_DIMM_A1", "NODE 1"), ("CPU1_DIMM_D1", "NODE 2"), ("CPU2_DIMM_A1", "NODE 3")];
        assert_eq!(counts(&names, 2), Ok(vec![(Some(0), 1), (Some(0), 1), (Some(1), 1)]));
        // Letters run on through packages, of which there is no word.
        let names = [("DIMM_A1", ""), ("DIMM_B1", ""), ("DIMM_C1", ""), ("DIMM_D1", "")];
        assert_eq!(counts(&names, 2), Ok(vec![(None, 1); 4]));
    }

    #[test]
    fn what_names_do_not_say_is_not_guessed() {
        let dell: Vec<String> = (1..=8).map(|slot| format!("A{slot}")).collect();
        let dell: Vec<(&str, &str)> =
            dell.iter().map(|name| (name.as_str(), "Not Specified")).collect();
        assert!(counts(&dell, 1).unwrap_err().contains("names no channel"));
        let twelve: Vec<String> = (1..=12).map(|slot| format!("DIMM_A{slot}")).collect();
        let twelve: Vec<(&str, &str)> = twelve.iter().map(|name| (name.as_str(), "")).collect();
        assert!(counts(&twelve, 1).unwrap_err().contains("more than 3 slots"));
        let alike = [("DIMM 0", "P0 CHANNEL A"), ("DIMM 0", "P0 CHANNEL A")];
        assert!(counts(&alike, 1).unwrap_err().contains("one name"));
        let packages = [("DIMM_A1", ""), ("DIMM_B1", "")];
        assert!(counts(&packages, 2).unwrap_err().contains("may stand for packages"));
        let torn = [("DIMM_A1", "P0 CHANNEL A DIMM 0"), ("DIMM_A2", "P0 CHANNEL B DIMM 0")];
        assert!(counts(&torn, 1).unwrap_err().contains("contradict"));
        assert_eq!(counts(&[], 1), Ok(Vec::new()));
    }

    #[test]
    fn a_channel_is_called_by_its_first_slot_or_by_its_bank() {
        let name = |names: &[(&str, &str)]| {
            let devices = devices(names);
            let devices: Vec<&Device> = devices.iter().collect();
            let all = channels(&devices, 1).unwrap();
            all.iter().map(|channel| channel.name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            name(&[("DIMM_B1", ""), ("DIMM_A2", ""), ("DIMM_A1", "")]),
            ["DIMM_A1", "DIMM_B1"]
        );
        let banks = name(&[("DIMM 0", "P0 CHANNEL A"), ("DIMM 0", "P0 CHANNEL B")]);
        assert_eq!(banks, ["P0 CHANNEL A", "P0 CHANNEL B"]);
        assert_eq!(device("x", "y").locator, "x");
    }
}
