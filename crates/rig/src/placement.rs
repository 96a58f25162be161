//! Who runs where: which CPUs are used, in which order, and what the host makes of it.

use std::sync::Arc;

pub use model::fabric::Fabric;
pub use model::record::PairClass as Class;
use model::record::{CpuPlace, Topology};
use model::{CpuId, CpuSet, Finding, Seconds, Severity, stats};

use super::exchange::{Exchange, Pace};
use super::executor::{Executor, RunError};
use super::job::{Manner, Member, RawRepeat, Repeat, Tools};
use super::line::{LINE, Line};
use super::protocol;

/// The CPUs of a run, in the order in which they become active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// In order. Usually one package is filled before the next begins: turbo bins are per package.
    pub cpus: Vec<CpuId>,
    /// Whether somebody named them: others may then not be used at all.
    pub is_named: bool,
    /// Why these, in words.
    pub reason: String,
}

/// The order in which CPUs become active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One package is filled before the next begins; SMT siblings come after all cores of it.
    Package,
    /// As near to each other as possible: siblings, then cores of one last-level cache.
    Compact,
    /// As far from each other as possible: packages take turns, and last-level caches within them.
    Spread,
}

/// Which CPUs a run may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Exactly these; none: one of each core.
    pub cpus: Option<CpuSet>,
    /// Whether SMT siblings are used, too, where no CPUs are named.
    pub siblings: bool,
    /// In which order.
    pub order: Order,
    /// Only so many of them, the first ones.
    pub at_most: Option<usize>,
}

/// CPUs that were asked for and that there are not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// This process may not use them, or they are not online.
    #[error("cannot use CPU {asked}: this process may use {usable}")]
    Missing {
        /// What was asked for and is not there.
        asked: CpuSet,
        /// What is there.
        usable: CpuSet,
    },
    /// There are fewer.
    #[error("cannot use {asked} CPUs: there are {chosen} to choose from")]
    TooMany {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        chosen: usize,
    },
    /// There is none at all.
    #[error("cannot use any CPU: this process may use none of the machine's CPUs")]
    Nobody,
}

impl Choice {
    /// One CPU of each core, or exactly these, package by package.
    pub fn usual(cpus: Option<CpuSet>) -> Choice {
        Choice { cpus, siblings: false, order: Order::Package, at_most: None }
    }

    /// The CPUs of this machine that it stands for.
    pub fn place(&self, topology: &Topology) -> Result<Placement, Refusal> {
        let usable = &topology.usable;
        let missing = self.cpus.as_ref().map(|asked| asked.difference(usable)).unwrap_or_default();
        if !missing.is_empty() {
            return Err(Refusal::Missing { asked: missing, usable: usable.clone() });
        }
        let asked = |place: &&CpuPlace| self.cpus.as_ref().is_none_or(|c| c.contains(place.cpu));
        let mut seats = seats(topology.usable_places().filter(asked));
        if self.cpus.is_none() && !self.siblings {
            seats.retain(|seat| seat.sibling == 0);
        }
        match self.order {
            Order::Package => seats.sort_by_key(|s| (s.package, s.sibling, s.core, s.cpu)),
            Order::Compact => seats.sort_by_key(|s| (s.package, s.cache, s.core, s.cpu)),
            Order::Spread => {
                seats.sort_by_key(|s| (s.sibling, s.place_in_cache, s.cache_in_package, s.package));
            }
        }
        let chosen = seats.len();
        match self.at_most {
            Some(asked) if asked > chosen => return Err(Refusal::TooMany { asked, chosen }),
            Some(asked) => seats.truncate(asked),
            None => {}
        }
        if seats.is_empty() {
            return Err(Refusal::Nobody);
        }
        let cpus = seats.iter().map(|seat| seat.cpu).collect();
        let is_named = self.cpus.is_some();
        Ok(Placement { cpus, is_named, reason: self.reason(topology, chosen) })
    }

    fn reason(&self, topology: &Topology, chosen: usize) -> String {
        let (usable, online) = (topology.usable.len(), topology.online.len());
        let idle = usable - chosen;
        let every = if usable < online {
            format!("every CPU that this process may use ({usable} of {online})")
        } else {
            "every usable CPU".to_owned()
        };
        // A cpuset may have one thread of each core.
        let shown = topology.usable_places().any(|place| place.siblings.len() > 1);
        let order = match self.order {
            Order::Package => "package by package",
            Order::Compact => "as near to each other as possible",
            Order::Spread => "spread over packages and caches",
        };
        let which = match (&self.cpus, self.siblings) {
            (Some(_), _) if self.order == Order::Package => "as asked for".to_owned(),
            (Some(_), _) => format!("as asked for, {order}"),
            (None, true) => format!("{every}, SMT siblings among them, {order}"),
            (None, false) if idle == 0 && self.order == Order::Package => {
                let siblings =
                    if shown { "one of each core" } else { "the kernel shows no SMT siblings" };
                format!("{every}; {siblings}")
            }
            (None, false) if idle == 0 => format!("{every}, {order}"),
            (None, false) => {
                format!("one CPU of each core, {order}; {idle} SMT siblings idle")
            }
        };
        let first = self.at_most.map_or(String::new(), |n| format!("; the first {n} of them"));
        which + &first
    }
}

/// Where a CPU sits, in numbers to sort by.
struct Seat {
    cpu: CpuId,
    package: u32,
    core: u32,
    /// Which of its core's CPUs it is.
    sibling: usize,
    /// The first CPU of its last-level cache; its own number where no cache is known.
    cache: CpuId,
    /// Which of its package's caches that is.
    cache_in_package: usize,
    /// Which of its cache's CPUs with that place on their cores it is.
    place_in_cache: usize,
}

fn seats<'a>(places: impl Iterator<Item = &'a CpuPlace>) -> Vec<Seat> {
    let mut seats: Vec<Seat> = Vec::new();
    for place in places {
        let cache = place.last_level_cache.iter().next().unwrap_or(CpuId(place.package));
        let of_core = |s: &&Seat| (s.package, s.core) == (place.package, place.core);
        let sibling = seats.iter().filter(of_core).count();
        let mut caches: Vec<CpuId> =
            seats.iter().filter(|s| s.package == place.package).map(|s| s.cache).collect();
        caches.dedup();
        let known = caches.iter().position(|known| *known == cache);
        let beside =
            |s: &&Seat| s.package == place.package && s.cache == cache && s.sibling == sibling;
        let place_in_cache = seats.iter().filter(beside).count();
        seats.push(Seat {
            cpu: place.cpu,
            package: place.package,
            core: place.core,
            sibling,
            cache,
            cache_in_package: known.unwrap_or(caches.len()),
            place_in_cache,
        });
    }
    seats
}

impl Placement {
    /// Numbers of active cores to measure: powers of two within the first package, all of that
    /// package (turbo bins are per package), and all.
    pub fn active_counts(&self, topology: &Topology) -> Vec<usize> {
        let package_of = |cpu| topology.place(cpu).map(|place| place.package);
        let first = self.cpus.first().and_then(|&cpu| package_of(cpu));
        let in_first = self.cpus.iter().take_while(|&&cpu| package_of(cpu) == first).count();
        let doubled = std::iter::successors(Some(1), |n| Some(n * 2));
        let mut counts: Vec<usize> = doubled.take_while(|n| *n < in_first).collect();
        counts.extend([in_first, self.cpus.len()]);
        counts.dedup();
        counts
    }
}

/// What a probe of two CPUs saw.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// The pair.
    pub pair: [CpuId; 2],
    /// Time for a cache line to go there and back; the median.
    pub round_trip: Seconds,
    /// Multiplies per second together, as a share of those alone.
    pub share_together: f64,
    /// Whether the kernel lists a last-level cache that both share; `None`: it lists none at all.
    pub claimed_same_cache: Option<bool>,
    /// What lies between them.
    pub fabric: Fabric,
    /// Seconds of a pointer in their last-level cache, where this run measured them.
    pub last_level: Option<Seconds>,
}

impl Probe {
    /// The class that the numbers speak for; where they are not clear, what the kernel says decides, and where
    /// it says nothing, which of both limits is nearer.
    pub fn class(&self) -> Class {
        /// Two threads of one core get half of it each; two cores get all, whatever their clocks do.
        const SHARE_OF_SAME_CORE: f64 = 0.75;
        let (surely_same_cache, surely_apart) = self.fabric.limits_beside(self.last_level);
        let nearer = || self.round_trip.0 < (surely_same_cache.0 * surely_apart.0).sqrt();
        let same_cache = self.claimed_same_cache.unwrap_or_else(nearer);
        if self.share_together < SHARE_OF_SAME_CORE {
            Class::SameCore
        } else if self.round_trip < surely_same_cache {
            Class::SameCache
        } else if self.round_trip > surely_apart || !same_cache {
            Class::Apart
        } else {
            Class::SameCache
        }
    }
}

/// The pairs that stand for all pairs of these CPUs: neighbours in the order of placement, at most
/// three, and the two ends.
pub fn pairs(cpus: &[CpuId]) -> Vec<[CpuId; 2]> {
    const NEIGHBOURS_MAX: usize = 3;
    let mut pairs: Vec<[CpuId; 2]> =
        cpus.windows(2).take(NEIGHBOURS_MAX).map(|pair| [pair[0], pair[1]]).collect();
    if let [first, .., last] = *cpus
        && !pairs.contains(&[first, last])
    {
        pairs.push([first, last]);
    }
    pairs
}

/// Probes one pair: about 2 ms.
pub fn probe(
    executor: &mut dyn Executor,
    tools: &Tools,
    topology: &Topology,
    fabric: Fabric,
    pair: [CpuId; 2],
) -> Result<Probe, RunError> {
    let job = Exchange {
        id: LINE,
        first: pair[0],
        second: pair[1],
        channels: Arc::new([Box::new(Line::default())]),
        stretches: 20,
        round_trips: 50,
        pace: Pace::Rally,
        look: None,
    };
    let raw = executor.exchange(&job)?;
    let trips: Vec<f64> = raw
        .stretches
        .iter()
        .map(|stretch| stretch.length().at(executor.rate()).0 / f64::from(job.round_trips))
        .collect();
    let mut per_iteration = |cpus: &[CpuId]| -> Result<f64, RunError> {
        let member = |&cpu: &CpuId| Member::new(cpu, tools.contention);
        let job = Repeat {
            members: cpus.iter().map(member).collect(),
            phases: vec![protocol::sharing()],
            tools: *tools,
            manner: Manner::USUAL,
        };
        Ok(ticks_per_iteration(&executor.repeat(&job)?))
    };
    let share_together = per_iteration(&pair[..1])? / per_iteration(&pair)?;
    let round_trip = Seconds(stats::median(&trips).unwrap_or(f64::INFINITY));
    let first = topology.place(pair[0]);
    let cache = first.map(|place| &place.last_level_cache).filter(|cache| !cache.is_empty());
    let claimed_same_cache = cache.map(|cache| cache.contains(pair[1]));
    Ok(Probe { pair, round_trip, share_together, claimed_same_cache, fabric, last_level: None })
}

/// Of the first member, the median.
fn ticks_per_iteration(raw: &RawRepeat) -> f64 {
    let phase = &raw.members[0].phases[0];
    let lengths: Vec<f64> = phase
        .stamps
        .iter()
        .map(|stamp| stamp.length().count() as f64 / phase.iterations[0] as f64)
        .collect();
    stats::median(&lengths).unwrap_or(f64::NAN)
}

/// The classes of all pairs as one word for records: `same-cache`, or `apart+same-cache`.
pub fn class_word(probes: &[Probe]) -> Option<String> {
    let mut classes: Vec<Class> = probes.iter().map(Probe::class).collect();
    classes.sort_unstable();
    classes.dedup();
    let words: Vec<&str> = classes.into_iter().map(Class::word).collect();
    (!words.is_empty()).then(|| words.join("+"))
}

/// What the probes of one pair say together: medians, because one probe may have been disturbed.
pub fn typical(probes: &[Probe]) -> Option<Probe> {
    let median = |of: fn(&Probe) -> f64| stats::median(&probes.iter().map(of).collect::<Vec<_>>());
    Some(Probe {
        round_trip: Seconds(median(|probe| probe.round_trip.0)?),
        share_together: median(|probe| probe.share_together)?,
        ..*probes.first()?
    })
}

/// What contradicts the kernel's picture of the machine.
pub fn contradictions(probes: impl Iterator<Item = Probe>, topology: &Topology) -> Vec<Finding> {
    let place = |cpu| topology.place(cpu);
    probes.filter_map(|probe| contradiction(&probe, place(probe.pair[0])?)).collect()
}

fn contradiction(probe: &Probe, first: &CpuPlace) -> Option<Finding> {
    let [a, b] = probe.pair;
    let finding = |id: &str, severity, text| {
        let about = format!("CPUs {a} and {b}");
        Some(Finding::new(severity, id.to_owned(), about, text))
    };
    match probe.class() {
        Class::SameCore if !first.siblings.contains(b) => finding(
            "placement.hidden-sibling",
            Severity::Warning,
            format!(
                "each reaches {:.0} % of its speed alone when both run: they share a core, \
                 although the kernel lists two",
                probe.share_together * 100.0
            ),
        )
        .map(|found| found.remedy(format!("count them as one core: measure one, `--cpus {a}`"))),
        Class::Apart if first.last_level_cache.contains(b) => finding(
            "placement.cache-not-shared",
            Severity::Note,
            format!(
                "a cache line takes {:.0} ns there and back: more than within a shared cache{}, although \
                 the kernel lists one",
                probe.round_trip.0 * 1e9,
                match (probe.last_level, probe.fabric) {
                    (Some(hit), _) => format!(" that answers in {:.0} ns", hit.0 * 1e9),
                    (None, Fabric::Complexes) => " of these cores".to_owned(),
                    (None, Fabric::Mesh | Fabric::Any) => String::new(),
                }
            ),
        ),
        // On a ring or a mesh neighbours may be as near that do not share a cache.
        Class::SameCache
            if probe.fabric == Fabric::Complexes && probe.claimed_same_cache == Some(false) =>
        {
            finding(
                "placement.cache-shared",
                Severity::Note,
                format!(
                    "a cache line takes {:.0} ns there and back, as within a shared cache of these cores, although \
                     the kernel lists two",
                    probe.round_trip.0 * 1e9
                ),
            )
        }
        Class::SameCache | Class::Apart if first.siblings.contains(b) && a != b => finding(
            "placement.no-sibling",
            Severity::Note,
            format!(
                "each keeps {:.0} % of its speed alone when both run: they do not share a core, \
                 although the kernel lists them as siblings",
                probe.share_together * 100.0
            ),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(list: &str) -> Vec<CpuId> {
        list.parse::<CpuSet>().unwrap().iter().collect()
    }

    #[test]
    fn a_few_pairs_stand_for_all() {
        assert_eq!(pairs(&cpus("0")), Vec::<[CpuId; 2]>::new());
        assert_eq!(pairs(&cpus("0-1")), [[CpuId(0), CpuId(1)]]);
        let many = pairs(&cpus("0-9"));
        assert_eq!(many.len(), 4);
        assert_eq!(many[3], [CpuId(0), CpuId(9)]);
    }

    #[test]
    fn what_a_cpuset_leaves_is_not_called_everything() {
        let machine = machine::Machine::named("sim:2s-28c").unwrap();
        let mut topology = machine::facts::machine(&machine).topology;
        let online = topology.online.len();
        topology.usable = "0-2".parse().unwrap();
        let reason = |topology: &Topology| Choice::usual(None).place(topology).unwrap().reason;
        let told = format!("every CPU that this process may use (3 of {online}); one of each core");
        assert_eq!(reason(&topology), told);
        let all = machine::facts::machine(&machine::Machine::named("sim:vm-2c").unwrap()).topology;
        assert_eq!(reason(&all), "every usable CPU; the kernel shows no SMT siblings");
    }

    /// Silence is no claim: neither that they share a cache, nor that they do not.
    #[test]
    fn unknown_caches_contradict_nothing() {
        let machine = machine::Machine::named("sim:vm-2c").unwrap();
        let mut topology = machine::facts::machine(&machine).topology;
        let probe = |claimed_same_cache, nanoseconds: f64| Probe {
            pair: [CpuId(0), CpuId(1)],
            round_trip: Seconds(nanoseconds * 1e-9),
            share_together: 1.0,
            claimed_same_cache,
            fabric: Fabric::Complexes,
            last_level: None,
        };
        let found = |probe: Probe, topology: &Topology| {
            contradictions(std::iter::once(probe), topology).len()
        };
        for place in &mut topology.cpus {
            place.siblings = CpuSet::from_iter([place.cpu]);
            place.last_level_cache = CpuSet::default();
        }
        assert_eq!(found(probe(None, 50.0), &topology), 0);
        assert_eq!(found(probe(None, 250.0), &topology), 0);
        assert_eq!(found(probe(Some(false), 50.0), &topology), 1);
    }

    /// Lengths and claims at random: what the kernel claims decides where numbers are unclear, a longer way is never a
    /// nearer class, and what numbers refute is told.
    #[test]
    fn bent_claims_decide_what_is_unclear_and_are_told_where_they_are_refuted() {
        let machine = machine::Machine::named("sim:2s-28c").unwrap();
        let good = machine::facts::machine(&machine).topology;
        let pair = [CpuId(0), CpuId(1)];
        let mut random = fastrand::Rng::with_seed(13);
        for _ in 0..10_000 {
            let claimed_same_cache = [None, Some(false), Some(true)][random.usize(..3)];
            let fabric = if random.bool() { Fabric::Complexes } else { Fabric::Any };
            let mut topology = good.clone();
            for place in topology.cpus.iter_mut().filter(|place| pair.contains(&place.cpu)) {
                place.siblings = CpuSet::from_iter([place.cpu]);
                place.last_level_cache = match claimed_same_cache {
                    None => CpuSet::default(),
                    Some(false) => CpuSet::from_iter([place.cpu]),
                    Some(true) => CpuSet::from_iter(pair),
                };
            }
            let of = |nanoseconds: f64| {
                let round_trip = Seconds(nanoseconds * 1e-9);
                Probe {
                    pair,
                    round_trip,
                    share_together: 1.0,
                    claimed_same_cache,
                    fabric,
                    last_level: None,
                }
            };
            let (near, far) = (random.f64() * 600.0, random.f64() * 600.0);
            let (near, far) = (of(near.min(far)), of(near.max(far)));
            assert!(near.class() <= far.class(), "{near:?} {far:?}");
            for probe in [near, far] {
                let (surely_same_cache, surely_apart) = fabric.limits();
                let is_unclear =
                    (surely_same_cache.0..=surely_apart.0).contains(&probe.round_trip.0);
                let as_claimed = claimed_same_cache
                    .map(|same| if same { Class::SameCache } else { Class::Apart });
                let is_refuted = as_claimed.is_some_and(|class| class != probe.class());
                assert!(!(is_unclear && is_refuted), "{probe:?}");
                // On a ring or a mesh neighbours may be as near that do not share a cache.
                let is_told =
                    is_refuted && (fabric == Fabric::Complexes || claimed_same_cache == Some(true));
                let told = contradictions(std::iter::once(probe), &topology);
                assert_eq!(told.len(), usize::from(is_told), "{probe:?} {told:?}");
            }
        }
    }

    #[test]
    fn numbers_speak_for_a_class() {
        let probe = |share_together, nanoseconds: f64| Probe {
            pair: [CpuId(0), CpuId(1)],
            round_trip: Seconds(nanoseconds * 1e-9),
            share_together,
            claimed_same_cache: Some(true),
            fabric: Fabric::Any,
            last_level: None,
        };
        assert_eq!(probe(0.51, 60.0).class(), Class::SameCore);
        assert_eq!(probe(1.02, 120.0).class(), Class::SameCache);
        assert_eq!(probe(0.97, 480.0).class(), Class::Apart);
        assert_eq!(probe(1.0, 230.0).class(), Class::SameCache, "unclear: as the kernel says");
        let claimed_apart = Probe { claimed_same_cache: Some(false), ..probe(1.0, 230.0) };
        assert_eq!(claimed_apart.class(), Class::Apart);
        let unsaid = |ns| Probe { claimed_same_cache: None, ..probe(1.0, ns) }.class();
        assert_eq!([230.0, 260.0].map(unsaid), [Class::SameCache, Class::Apart], "the nearer one");
        // Between two complexes a line is as fast as on a large mesh, and much slower than within one.
        let complexes = |ns| Probe { fabric: Fabric::of(Some("Zen 4")), ..probe(1.0, ns) };
        assert_eq!([50.0, 135.0, 220.0].map(|ns| complexes(ns).class()), {
            [Class::SameCache, Class::SameCache, Class::Apart]
        });
        let claimed_apart = |ns| Probe { claimed_same_cache: Some(false), ..complexes(ns) }.class();
        assert_eq!([50.0, 135.0].map(claimed_apart), [Class::SameCache, Class::Apart]);
        assert_eq!(
            class_word(&[probe(1.0, 480.0), probe(1.0, 120.0)]).as_deref(),
            Some("same-cache+apart")
        );
    }
}
