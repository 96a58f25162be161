//! What Speed Select gives a core: the clock of one that is chosen, the clip of the others, the limit of a class.

use crate::record::{
    CoreAssociation, FeatureState, LicenceFrequency, PerformanceLevel, PowerDomain, SpeedSelect,
};
use crate::{CpuId, Known};

use super::promise::OPEN;
use crate::licence::Licence;

/// The first class of low priority, where turbo frequencies are of two kinds.
const LOW: u8 = 2;

/// A clock, and what says so.
pub type Stated = (f64, String);

/// What firmware said of a CPU's power domain.
#[derive(Clone, Copy)]
pub struct Selected<'a> {
    cpu: CpuId,
    /// It.
    pub domain: &'a PowerDomain,
    /// The present one.
    pub level: &'a PerformanceLevel,
}

impl<'a> Selected<'a> {
    /// The one of that CPU, where its domain says which level is the present one.
    pub fn of(said: Option<&'a SpeedSelect>, cpu: CpuId) -> Option<Selected<'a>> {
        let domain = said?.domains.iter().find(|domain| domain.cpus.contains(cpu))?;
        let profiles = domain.profiles.as_ref()?.value()?;
        let level = profiles.levels.iter().find(|level| level.number == profiles.current)?;
        Some(Selected { cpu, domain, level })
    }

    /// The class of its core, where classes count.
    fn class(&self) -> Option<u8> {
        let switches = self.domain.core_power.as_ref()?;
        let is_on = switches.classes_enabled.value() == Some(&true);
        let mut associations = self.domain.associations.iter();
        let association = associations.find(|it| is_on && it.cpus.contains(self.cpu))?;
        association.class.value().copied()
    }

    /// Its class, where turbo frequencies are of two kinds.
    fn class_of_turbo_freq(&self) -> Option<u8> {
        let is_on = self.level.turbo_freq_state.value() == Some(&FeatureState::Enabled);
        self.class().filter(|_| is_on)
    }

    /// Where turbo frequencies are of two kinds and its core is one of the chosen: how many there are.
    pub fn chosen(&self) -> Option<usize> {
        self.class_of_turbo_freq().filter(|class| *class < LOW)?;
        let is_chosen = |it: &&CoreAssociation| it.class.value().is_some_and(|class| *class < LOW);
        Some(self.domain.associations.iter().filter(is_chosen).count())
    }

    /// What turbo-freq leaves it under a licence: more to a chosen core than to others.
    fn by_turbo_freq(&self, licence: Licence) -> Option<Stated> {
        let class = self.class_of_turbo_freq()?;
        let frequencies = self.level.turbo_freq.as_ref()?.value()?;
        let Some(chosen) = self.chosen() else {
            let LicenceFrequency { licence, hertz } = licence.row(&frequencies.others)?;
            let clip = mhz(hertz.0);
            return Some((
                hertz.0,
                format!("turbo-freq clips class {class} to {clip} MHz ({licence})"),
            ));
        };
        let table = licence.row(&frequencies.chosen)?;
        let covers = |cores: Option<u16>| cores.is_none_or(|cores| usize::from(cores) >= chosen);
        let hertz = table.steps.iter().find(|step| covers(step.cores))?.hertz?.0;
        let (licence, clock) = (&table.licence, mhz(hertz));
        Some((hertz, format!("turbo-freq lets {chosen} chosen have {clock} MHz ({licence})")))
    }

    /// What its class allows it at most.
    pub fn by_class(&self) -> Option<Stated> {
        let class = self.class()?;
        let mut classes = self.domain.classes.iter().filter_map(Known::value);
        let hertz = classes.find(|it| it.number == class)?.highest_hertz?.0;
        (hertz < OPEN).then(|| (hertz, format!("class {class} allows {} MHz", mhz(hertz))))
    }

    /// What priorities leave it under a licence.
    pub fn by_priority(&self, licence: Licence) -> Option<Stated> {
        least(self.by_class(), self.by_turbo_freq(licence))
    }

    /// The clock of a licence on so many active cores: of a chosen core by turbo-freq, of others by the table of the
    /// level, or by their clip.
    pub fn by_licence(&self, licence: Licence, active: usize) -> Option<Stated> {
        let by_turbo_freq = self.by_turbo_freq(licence);
        if by_turbo_freq.is_some() && self.chosen().is_some() {
            return by_turbo_freq;
        }
        least(by_turbo_freq, self.by_level(licence, active))
    }

    fn by_level(&self, licence: Licence, active: usize) -> Option<Stated> {
        let table = licence.row(self.level.properties.as_ref()?.turbo.value()?)?;
        let covers = |cores: Option<u16>| cores.is_none_or(|cores| usize::from(cores) >= active);
        let step = table.steps.iter().find(|step| covers(step.cores)).or(table.steps.last())?;
        let hertz = step.hertz?.0;
        Some((hertz, format!("{} MHz by the table of licence {}", mhz(hertz), table.licence)))
    }
}

/// The lower one, where there are two.
fn least(a: Option<Stated>, b: Option<Stated>) -> Option<Stated> {
    a.into_iter().chain(b).min_by(|a, b| a.0.total_cmp(&b.0))
}

fn mhz(hertz: f64) -> String {
    format!("{:.0}", hertz / 1e6)
}
