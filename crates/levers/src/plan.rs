//! What will be written: every change with the value that is there now.

mod bound;
mod classes;
mod foreseen;
pub(crate) mod wanted;

use std::collections::HashSet;

use machine::Machine;
use machine::doctor::locked_registers;
use machine::isst::DomainAddress;
use machine::isst::settable::{Address, Die, Settable, What};
use model::{CpuSet, Unavailable, in_order};

use crate::ask::SettingSpec;
use crate::drivers::{self, Drivers};
use crate::error::Error;
use crate::object::Object;
use crate::overrides;
use crate::port::Levers;
use crate::rows::{Lever, Loss, PERFORMANCE};
use crate::targets::{self, NO_IDLE_STATES, SettingOwner, Target};
use crate::unlimited::{self, OPEN_KHZ};

/// One change.
#[derive(Debug, Clone)]
pub struct Change {
    /// The setting, as it was asked for.
    pub setting: String,
    /// The row.
    pub lever: &'static Lever,
    /// Whose setting it is.
    pub of: SettingOwner,
    /// What is written to.
    pub object: Object,
    /// What is there.
    pub former: String,
    /// What is to be there.
    pub wanted: String,
    /// What a write changes, too, and what is there; absent ones are left out.
    pub followers: Vec<(Object, String)>,
    /// Whether what the kernel makes of it is taken, where that is on the way there.
    pub is_effective: bool,
    /// Whether it is a limit that was open: then it is put back so, and not at what it came to.
    pub was_open: bool,
}

impl Change {
    /// Whether there is nothing to do. Without turbo, a limit above the base frequency looks open.
    fn is_so(&self, machine: &Machine) -> bool {
        let is_open = self.was_open && self.wanted == OPEN_KHZ;
        self.former == self.wanted || is_open && unlimited::allows_turbo(machine)
    }

    /// The text that brings back what was there.
    fn back(&self) -> String {
        if self.was_open { OPEN_KHZ.to_owned() } else { self.former.clone() }
    }
}

/// What a command with a name of its own is about to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedWrite {
    /// What it belongs to, in the words of that command.
    pub setting: String,
    /// Whose it is.
    pub of: SettingOwner,
    /// What is written to.
    pub object: Object,
    /// What is to be there.
    pub wanted: String,
    /// Whether it is a limit of the clock, of which the kernel may leave less, and which is put back
    /// open where it was open.
    pub is_effective: bool,
}

/// When it is written: CPUs come before what belongs to them, and go after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    Brings,
    Between,
    Takes,
}

impl Turn {
    pub(crate) fn of(object: &Object, text: &str) -> Turn {
        let Object::File(path) = object else { return Turn::Between };
        match path.rsplit('/').next() {
            Some("online") if text == "1" => Turn::Brings,
            Some("control") if path.ends_with("/smt/control") && text == "on" => Turn::Brings,
            Some("online") => Turn::Takes,
            Some("control") if path.ends_with("/smt/control") => Turn::Takes,
            _ => Turn::Between,
        }
    }
}

/// Changes, as they were asked for.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Those that change something.
    pub changes: Vec<Change>,
    /// Settings that are as they should be already.
    pub already: Vec<Change>,
    /// What to know before it is done.
    pub remarks: Vec<String>,
}

impl Plan {
    /// What it takes to set what was asked for; nothing is written.
    ///
    /// What cannot be undone is refused unless `force` is given.
    pub fn new(
        machine: &Machine,
        levers: &dyn Levers,
        asked: &[SettingSpec],
        force: bool,
    ) -> Result<Plan, Error> {
        let asked: Vec<SettingSpec> = asked.iter().map(|asked| asked.here(machine)).collect();
        let asked = asked.as_slice();
        let mut drivers = Drivers::of(machine);
        let mut plan = Plan::default();
        // What is said of some CPUs goes before what is said of all.
        let (some, all): (Vec<&SettingSpec>, Vec<&SettingSpec>) =
            asked.iter().partition(|asked| asked.cpus.is_some() || asked.part.is_some());
        let mut taken = HashSet::new();
        for asked in some {
            plan.add(machine, levers, &drivers, asked, &mut taken, Repeated::Refused)?;
        }
        let named = taken.clone();
        for asked in all {
            plan.add(machine, levers, &drivers, asked, &mut taken, Repeated::Spared(&named))?;
        }
        plan.rules(machine, &mut drivers, asked);
        let leaving = plan.leaving(machine);
        plan.spare(&leaving);
        for asked in asked {
            plan.lose(machine, levers, &leaving, asked, force)?;
        }
        plan.heed_classes(machine, force)?;
        plan.tell_unseen(machine);
        plan.remarks.extend(foreseen::remarks(machine, &plan, asked));
        plan.lead();
        Ok(plan)
    }

    /// What it takes to do these steps in their order; nothing is written.
    ///
    /// What cannot be undone is refused unless `force` is given.
    pub fn of_steps(
        machine: &Machine,
        levers: &dyn Levers,
        steps: Vec<PlannedWrite>,
        force: bool,
    ) -> Result<Plan, Error> {
        let mut plan = Plan::default();
        for step in steps {
            let change = change_of(machine, levers, step)?;
            let list = if change.is_so(machine) { &mut plan.already } else { &mut plan.changes };
            list.push(change);
        }
        let leaving = plan.leaving(machine);
        match bound::to(machine, levers, &leaving) {
            Some(why) if force => plan.remarks.push(why),
            Some(why) => return Err(Error::Irreversible { setting: "online".to_owned(), why }),
            None => {}
        }
        Ok(plan)
    }

    /// What this plan changes, as it is and as it would be: each in the order in which it can be written
    /// when the other one is there.
    pub fn as_arms(&self) -> [Vec<Change>; 2] {
        let back = |change: &Change| Change { wanted: change.back(), ..change.clone() };
        let led = |change: &Change| -> Vec<Change> {
            let of = |(object, former): &(Object, String)| follower(change, object, former);
            change.followers.iter().map(of).collect()
        };
        let mut as_it_is: Vec<Change> = Vec::new();
        for change in self.changes.iter().rev() {
            let all = std::iter::once(back(change)).chain(led(change));
            for one in all {
                if !as_it_is.iter().any(|known| known.object == one.object) {
                    as_it_is.push(one);
                }
            }
        }
        // Several may lead the same: the last of them would undo what was put back between them.
        leaders_first(&mut as_it_is);
        [as_it_is, self.changes.clone()]
    }

    /// Whether each change needs those before it: what firmware holds is set in the order of the steps,
    /// and where one fails, nothing after it is tried.
    pub(crate) fn is_in_order(&self) -> bool {
        let of_firmware = |change: &Change| matches!(change.object, Object::SpeedSelect(_));
        self.changes.iter().any(of_firmware)
    }

    /// Who is followed comes first, and what is as it should be is written again where it follows what
    /// changes.
    fn lead(&mut self) {
        let followers = followers_of(&self.changes);
        let (dragged, already): (Vec<Change>, Vec<Change>) = std::mem::take(&mut self.already)
            .into_iter()
            .partition(|change| followers.contains(&change.object));
        self.already = already;
        self.changes.extend(dragged);
        leaders_first(&mut self.changes);
    }

    /// What belongs to CPUs that leave is not set: it would be gone before it could be read back.
    fn spare(&mut self, leaving: &CpuSet) {
        let leaves = |change: &Change| match change.of {
            SettingOwner::Cpu(cpu) => leaving.contains(cpu) && change.lever.id != "online",
            SettingOwner::Machine | SettingOwner::Part(_) => false,
        };
        let mut gone: Vec<String> =
            self.changes.iter().filter(|c| leaves(c)).map(|c| c.setting.clone()).collect();
        gone.dedup();
        self.changes.retain(|change| !leaves(change));
        self.already.retain(|change| !leaves(change));
        for setting in gone {
            self.remarks.push(format!("`{setting}` is not set on CPUs that go offline: {leaving}"));
        }
    }

    /// Everything that A and B are to have; see [`Plan::each_arm`].
    pub fn arms(
        machine: &Machine,
        levers: &dyn Levers,
        asked: [&[SettingSpec]; 2],
        force: bool,
    ) -> Result<([Vec<Change>; 2], Vec<String>), Error> {
        let (arms, remarks) = Plan::each_arm(machine, levers, &asked, force)?;
        let mut arms = arms.into_iter();
        Ok(([(); 2].map(|()| arms.next().unwrap_or_default()), remarks))
    }

    /// Everything that arms are to have: where only some of them were asked for something, the others have what is
    /// there now, also of what follows it.
    pub fn each_arm(
        machine: &Machine,
        levers: &dyn Levers,
        asked: &[&[SettingSpec]],
        force: bool,
    ) -> Result<(Vec<Vec<Change>>, Vec<String>), Error> {
        let plans: Vec<Plan> = asked
            .iter()
            .map(|asked| Plan::new(machine, levers, asked, force))
            .collect::<Result<_, Error>>()?;
        let remarks = in_order(plans.iter().flat_map(|plan| plan.remarks.iter().cloned()));
        let all = |plan: &Plan| -> Vec<Change> {
            plan.changes.iter().chain(&plan.already).cloned().collect()
        };
        let wished: Vec<Vec<Change>> = plans.iter().map(all).collect();
        let others = |place: usize| -> Vec<Change> {
            let others = wished.iter().enumerate().filter(|(other, _)| *other != place);
            others.flat_map(|(_, changes)| changes.iter().cloned()).collect()
        };
        let arms = wished.iter().enumerate().map(|(place, mine)| arm(mine, &others(place)));
        Ok((arms.collect(), remarks))
    }

    fn add(
        &mut self,
        machine: &Machine,
        levers: &dyn Levers,
        drivers: &Drivers,
        asked: &SettingSpec,
        taken: &mut HashSet<Object>,
        repeated: Repeated<'_>,
    ) -> Result<(), Error> {
        let targets = targets_of(machine, drivers, asked)?;
        for target in targets {
            let change = change(machine, levers, drivers, asked, target)?;
            if repeated.is_spared(&change.object) {
                continue;
            }
            if !taken.insert(change.object.clone()) {
                let why = format!("{} is asked for twice", change.object);
                return Err(Error::Malformed { text: asked.name.clone(), why });
            }
            if change.former == change.wanted {
                self.already.push(change);
            } else {
                permitted(machine, levers, asked, &change.object)?;
                self.changes.push(change);
            }
        }
        Ok(())
    }

    /// Who honours what changes, under the governors that there will be.
    fn rules(&mut self, machine: &Machine, drivers: &mut Drivers, asked: &[SettingSpec]) {
        let governor = |of: &SettingOwner| {
            let is_its = |change: &&Change| change.lever.id == "governor" && change.of == *of;
            let planned = self.changes.iter().find(is_its).map(|change| change.wanted.clone());
            planned.or_else(|| targets::governor(machine, of))
        };
        // The preference of that governor is no other one.
        let is_other = |change: &&Change| {
            change.lever.id == "epp" && !["performance", "0"].contains(&change.wanted.as_str())
        };
        // What is so already is written again where it follows what changes.
        let others = self.changes.iter().chain(&self.already).filter(is_other);
        drivers.governor =
            others.filter_map(|it| governor(&it.of)).find(|governor| governor == PERFORMANCE);
        let changes = |asked: &&SettingSpec| {
            asked.lever.id == "epp" || self.changes.iter().any(|c| c.setting == asked.name)
        };
        let rule = |asked: &SettingSpec| {
            let rule = (asked.lever.rule)(drivers)?;
            Some(format!("`{}`: {rule}", asked.name))
        };
        let rules: Vec<String> = asked.iter().filter(changes).filter_map(rule).collect();
        self.remarks.extend(rules);
    }

    fn lose(
        &mut self,
        machine: &Machine,
        levers: &dyn Levers,
        leaving: &CpuSet,
        asked: &SettingSpec,
        force: bool,
    ) -> Result<(), Error> {
        if !self.changes.iter().any(|change| change.setting == asked.name) {
            return Ok(());
        }
        let why = match asked.lever.loses {
            None => return Ok(()),
            Some(Loss::Taint) => {
                self.remarks.push(format!(
                    "`{}`: writing a register taints the kernel until it starts again",
                    asked.name
                ));
                return Ok(());
            }
            Some(Loss::Bindings) => {
                if machine.elsewhere.is_some() && !leaving.is_empty() {
                    self.remarks.push(format!(
                        "`{}`: threads and interrupts that are bound to CPUs which go offline are \
                         known only on the machine itself",
                        asked.name
                    ));
                }
                bound::to(machine, levers, leaving)
            }
            Some(Loss::Firmware) => Some(
                "firmware keeps it, perhaps over the next start of the machine: then the journal \
                 with the former value is no longer valid"
                    .to_owned(),
            ),
        };
        match why {
            Some(why) if force => self.remarks.push(format!("`{}`: {why}", asked.name)),
            Some(why) => return Err(Error::Irreversible { setting: asked.name.clone(), why }),
            None => {}
        }
        Ok(())
    }

    /// Limits of the clock stay as they are where cores have classes: those limit it, too, and what was
    /// meant to go first would not.
    fn heed_classes(&mut self, machine: &Machine, force: bool) -> Result<(), Error> {
        let limits = self.changes.iter().filter(|it| classes::LIMITS.contains(&it.lever.id));
        let Some(change) = classes::first_heeded(machine, limits.clone()) else {
            let placed = classes::placed(machine, limits);
            if !placed.is_empty() {
                self.remarks.push(format!(
                    "cores of {} are already in classes of Speed Select: once core-power is on, \
                     classes limit the clock in addition to these limits (`cpudyno sst core-power \
                     get-assoc`)",
                    placed.named()
                ));
            }
            return Ok(());
        };
        let setting = change.setting.clone();
        let why =
            "cores have classes of Speed Select (core-power is on), which limit the clock as well";
        if !force {
            return Err(Error::Ordered { setting, why: why.to_owned(), first: FIRST.to_owned() });
        }
        self.remarks.push(format!("`{setting}`: {why}"));
        Ok(())
    }

    /// Without turbo, a limit that is as high as the clock goes may hide another one, which nobody sees.
    fn tell_unseen(&mut self, machine: &Machine) {
        let may_hide = |change: &Change| {
            let most = unlimited::comes_to(machine, &change.object, OPEN_KHZ);
            most.is_some_and(|most| most == change.former)
        };
        if !unlimited::allows_turbo(machine) && self.changes.iter().any(may_hide) {
            let off = unlimited::turbo_setting(machine, false);
            self.remarks.push(format!(
                "turbo is off, which hides limits of the clock at or above the base frequency: \
                 `cpudyno undo` restores only those that were set before `cpudyno set {off}`, or \
                 seen since"
            ));
        }
    }

    /// The CPUs that would be switched off.
    fn leaving(&self, machine: &Machine) -> CpuSet {
        let off = |change: &Change| match (&change.of, change.lever.id, &*change.wanted) {
            (SettingOwner::Cpu(cpu), "online", "0") => CpuSet::from_iter([*cpu]),
            (_, "smt", "off") => drivers::online(machine).difference(&first_threads(machine)),
            _ => CpuSet::default(),
        };
        self.changes.iter().flat_map(|change| off(change).iter().collect::<Vec<_>>()).collect()
    }
}

/// What comes before limits of the clock.
const FIRST: &str = "first `cpudyno sst core-power disable`; --force sets it anyway";

/// What becomes of an object that is asked for again.
#[derive(Clone, Copy)]
enum Repeated<'a> {
    Refused,
    /// These are as they were asked for by name.
    Spared(&'a HashSet<Object>),
}

impl Repeated<'_> {
    fn is_spared(self, object: &Object) -> bool {
        matches!(self, Repeated::Spared(named) if named.contains(object))
    }
}

/// What follows some of these changes.
fn followers_of(changes: &[Change]) -> HashSet<Object> {
    let followers = changes.iter().flat_map(|change| &change.followers);
    followers.map(|(object, _)| object.clone()).collect()
}

/// What is dragged along is set after what drags it, in whichever order they were asked for.
fn leaders_first(changes: &mut [Change]) {
    let followers = followers_of(changes);
    changes.sort_by_key(|change| followers.contains(&change.object));
}

/// The first thread of each core.
fn first_threads(machine: &Machine) -> CpuSet {
    let first = |cpu| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list");
        let siblings: CpuSet = machine.tree.read(&path).ok()?.parse().ok()?;
        siblings.iter().next()
    };
    drivers::online(machine).iter().filter_map(first).collect()
}

/// What one arm asked for, and the rest as it is.
fn arm(mine: &[Change], other: &[Change]) -> Vec<Change> {
    let own: HashSet<&Object> = mine.iter().map(|change| &change.object).collect();
    let moved = mine.iter().filter(|change| change.wanted != change.former);
    let dragged: HashSet<&Object> =
        moved.flat_map(|change| &change.followers).map(|(object, _)| object).collect();
    let is_free =
        |change: &Change| !own.contains(&change.object) && !dragged.contains(&change.object);
    let as_it_is = |change: &Change| Change { wanted: change.former.clone(), ..change.clone() };
    let led = |change: &Change| -> Vec<Change> {
        change.followers.iter().map(|(object, former)| follower(change, object, former)).collect()
    };
    let mut arm: Vec<Change> = Vec::new();
    let mut known: HashSet<Object> = HashSet::new();
    let mut push = |change: Change| {
        if known.insert(change.object.clone()) {
            arm.push(change);
        }
    };
    // First what is as it was: it may drag along what this arm has a wish for.
    for change in other.iter().filter(|change| is_free(change)) {
        push(as_it_is(change));
        led(change).into_iter().filter(is_free).for_each(&mut push);
    }
    for change in mine {
        push(change.clone());
        // When the other arm moved it, what follows was moved, too.
        if change.wanted == change.former {
            led(change).into_iter().filter(is_free).for_each(&mut push);
        }
    }
    leaders_first(&mut arm);
    arm
}

/// What follows a change, as it is.
fn follower(leader: &Change, object: &Object, former: &str) -> Change {
    let own = Lever::of(object);
    Change {
        setting: own.map_or_else(|| leader.setting.clone(), |lever| lever.id.to_owned()),
        lever: own.unwrap_or(leader.lever),
        of: leader.of.clone(),
        object: object.clone(),
        former: former.to_owned(),
        wanted: former.to_owned(),
        followers: Vec::new(),
        is_effective: false,
        was_open: false,
    }
}

fn absent(asked: &SettingSpec, why: impl Into<String>, remedy: Option<String>) -> Error {
    Error::Absent { setting: asked.name.clone(), why: why.into(), remedy }
}

fn targets_of(
    machine: &Machine,
    drivers: &Drivers,
    asked: &SettingSpec,
) -> Result<Vec<Target>, Error> {
    if let Some(why) = asked.lever.unknown_here(drivers) {
        return Err(absent(asked, why, None));
    }
    if let Some(cpus) = &asked.cpus {
        let beyond = cpus.difference(&drivers::present(machine));
        if !beyond.is_empty() {
            let word = if beyond.len() == 1 { "is no CPU" } else { "are no CPUs" };
            return Err(absent(asked, format!("there {word} {beyond}"), None));
        }
    }
    let targets =
        targets::targets(machine, asked.lever, asked.state.as_deref(), asked.cpus.as_ref());
    let targets = match &asked.part {
        Some(part) => of_part(machine, asked, part, targets)?,
        None => targets,
    };
    if targets.is_empty() {
        return Err(absent(asked, none_there(machine, asked), None));
    }
    Ok(targets)
}

/// Those of a part with that name, or with an agent of that name.
fn of_part(
    machine: &Machine,
    asked: &SettingSpec,
    part: &str,
    all: Vec<Target>,
) -> Result<Vec<Target>, Error> {
    let names: Vec<String> = all.iter().map(|target| target.of.named(machine)).collect();
    let is_it = |target: &Target| match &target.of {
        SettingOwner::Part(name) => {
            name == part || machine::facts::uncore_agents(machine, name).contains(&part)
        }
        SettingOwner::Machine | SettingOwner::Cpu(_) => false,
    };
    let found: Vec<Target> = all.into_iter().filter(is_it).collect();
    if found.is_empty() && !names.is_empty() {
        let why = format!("there is no `{part}`, but {}", names.join(", "));
        return Err(absent(asked, why, None));
    }
    Ok(found)
}

fn none_there(machine: &Machine, asked: &SettingSpec) -> String {
    match &asked.state {
        Some(state) => {
            let cpu = drivers::online(machine).iter().next().unwrap_or(model::CpuId(0));
            let known: Vec<String> =
                targets::states(machine, cpu).into_iter().map(|state| state.name).collect();
            match known.as_slice() {
                [] => NO_IDLE_STATES.to_owned(),
                known => format!("there is no idle state {state}, but {}", known.join(", ")),
            }
        }
        None => "this machine has none".to_owned(),
    }
}

fn change(
    machine: &Machine,
    levers: &dyn Levers,
    drivers: &Drivers,
    asked: &SettingSpec,
    target: Target,
) -> Result<Change, Error> {
    let former = target.object.read(machine).map_err(|reason| {
        is_off(machine, asked, &target.of)
            .unwrap_or_else(|| unreadable(machine, asked, asked.lever.missing(drivers, reason)))
    })?;
    if let Some(why) = asked.lever.stuck_at(&former) {
        return Err(absent(asked, why, None));
    }
    let wanted = wanted::text(machine, asked, &target)?;
    if former != wanted && !wanted::is_taken(machine, asked.lever, &target, &former) {
        let why = format!("{} holds `{former}`, which cannot be written back", target.object);
        return Err(absent(asked, why, None));
    }
    // What cannot be written is nobody's to put back, and `<unsupported>` is no value.
    let held = |object: Object| {
        let text = object.read(machine).ok().filter(|text| !text.starts_with('<'))?;
        levers.permits(&object).is_ok().then_some((object, text))
    };
    let followers = target.followers.into_iter().filter_map(held).collect();
    let was_open = unlimited::is_open(machine, &target.object, &former);
    Ok(Change {
        setting: asked.name.clone(),
        lever: asked.lever,
        of: target.of,
        object: target.object,
        former,
        wanted,
        followers,
        is_effective: false,
        was_open,
    })
}

/// Why there is nothing to set on a CPU that is off.
fn is_off(machine: &Machine, asked: &SettingSpec, of: &SettingOwner) -> Option<Error> {
    let SettingOwner::Cpu(cpu) = of else { return None };
    drivers::off(machine).contains(*cpu).then(|| {
        let bring = || format!("`cpudyno set online@{cpu}=on` brings it back");
        let remedy = overrides::smt_off(machine).unwrap_or_else(bring);
        absent(asked, format!("CPU {cpu} is off"), Some(remedy))
    })
}

/// The change of a step, with what is there.
fn change_of(machine: &Machine, levers: &dyn Levers, step: PlannedWrite) -> Result<Change, Error> {
    let PlannedWrite { setting, of, object, wanted, is_effective } = step;
    let lever = Lever::of(&object).ok_or_else(|| Error::Malformed {
        text: setting.clone(),
        why: format!("{object} is no setting"),
    })?;
    let name = || lever.id.to_owned();
    let former = object.read(machine).map_err(|reason| Error::unread(name(), reason))?;
    let was_open = is_effective && unlimited::is_open(machine, &object, &former);
    if former != wanted {
        levers
            .permits(&object)
            .map_err(|error| not_permitted(machine, &setting, &object, &error))?;
    }
    let held = |follower: Object| Some((follower.clone(), follower.read(machine).ok()?));
    let followers = firmware_follows(&object).into_iter().filter_map(held).collect();
    Ok(Change { setting, lever, of, object, former, wanted, followers, is_effective, was_open })
}

/// A new level switches its features off, and may set the turbo limits that hold at most.
fn firmware_follows(object: &Object) -> Vec<Object> {
    let Object::SpeedSelect(Settable { at, what: What::Level }) = object else {
        return Vec::new();
    };
    let registers = match *at {
        Address::Registers(die) | Address::Mailbox(die) => die,
        Address::Domain(DomainAddress { package, .. }) => {
            Die { package: package.into(), die: None }
        }
    };
    let of = |at: Address, what: What| Object::SpeedSelect(Settable { at, what });
    vec![of(*at, What::Features), of(Address::Registers(registers), What::TurboLimits)]
}

fn unreadable(machine: &Machine, asked: &SettingSpec, reason: Unavailable) -> Error {
    match Error::unread(asked.name.clone(), reason) {
        Error::Rights { setting, why, remedy: None } if machine.host.is_root() => {
            Error::Rights { setting, why, remedy: Some(REFUSES_ROOT.to_owned()) }
        }
        error => error,
    }
}

fn permitted(
    machine: &Machine,
    levers: &dyn Levers,
    asked: &SettingSpec,
    object: &Object,
) -> Result<(), Error> {
    if let Some(reason) = locked(machine, object) {
        return Err(unreadable(machine, asked, reason));
    }
    levers.permits(object).map_err(|error| not_permitted(machine, &asked.name, object, &error))
}

/// Why the kernel lets nobody write an object that opens.
pub(crate) fn locked(machine: &Machine, object: &Object) -> Option<Unavailable> {
    matches!(object, Object::Bit { .. }).then(|| locked_registers(machine)).flatten()
}

/// What helps where root is refused.
pub(crate) const REFUSES_ROOT: &str =
    "the kernel refuses it to root, too: a container, a security module or a lock (`sudo dmesg`)";

fn not_permitted(
    machine: &Machine,
    setting: &str,
    object: &Object,
    error: &std::io::Error,
) -> Error {
    let why = format!("opening {object} to write: {}", sys::errno::words(error));
    let setting = setting.to_owned();
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            let remedy = machine.host.is_root().then(|| REFUSES_ROOT.to_owned());
            Error::Rights { setting, why, remedy }
        }
        std::io::ErrorKind::ReadOnlyFilesystem => {
            let remedy = "the files are mounted read-only, as in containers: set it on the host";
            Error::Absent { setting, why, remedy: Some(remedy.to_owned()) }
        }
        _ => Error::Absent { setting, why, remedy: None },
    }
}
