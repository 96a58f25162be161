//! What others state of frequency licences: their clocks on CPUs whose firmware does not tell, and how long a change
//! of licence takes.

use std::sync::LazyLock;

use model::record::Record;
use serde::Deserialize;

use model::in_order;
use model::licence::Licence;

/// The table, as `data/README.md` describes it.
static TABLE: LazyLock<PublishedClocks> = LazyLock::new(|| {
    const TEXT: &str = include_str!("../../../../../data/licences.toml");
    toml::from_str(TEXT).expect("BUG: a test reads the table")
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedClocks {
    cpu: Vec<PublishedCpu>,
    transition: Vec<Transition>,
}

/// What one source says of the clocks of one CPU.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::areas) struct PublishedCpu {
    pub(in crate::areas) brand: String,
    pub(in crate::areas) source: String,
    clock: Vec<LicenceClock>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LicenceClock {
    licences: Vec<Licence>,
    /// From and to so many active cores of a package.
    megahertz: Vec<(usize, usize, u32)>,
}

/// What a change of licence was found to take, in microseconds from and to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Transition {
    of: Vec<String>,
    cpu: String,
    source: String,
    throttled: (f64, f64),
    halt: (f64, f64),
    hold: (f64, f64),
    r#return: (f64, f64),
}

impl PublishedCpu {
    /// That of the machine of a record; none: nobody states any.
    pub(in crate::areas) fn of(record: &Record) -> Option<&'static PublishedCpu> {
        let brand = record.text("cpu.brand")?;
        let brand = format!(" {brand} ");
        TABLE.cpu.iter().find(|cpu| brand.contains(&format!(" {} ", cpu.brand)))
    }

    /// The counts of active cores for which it states clocks: from and to.
    pub(in crate::areas) fn counts(&self) -> Vec<(usize, usize)> {
        let steps = self.clock.iter().flat_map(|clock| &clock.megahertz);
        let mut counts = in_order(steps.map(|(from, to, _)| (*from, *to)));
        counts.sort_unstable();
        counts
    }

    /// The clock of a licence with so many active cores in a package, in hertz.
    pub(in crate::areas) fn hertz(&self, licence: Licence, active: usize) -> Option<f64> {
        let clock = self.clock.iter().find(|clock| clock.licences.contains(&licence))?;
        let steps = clock.megahertz.iter();
        let step = steps.copied().find(|(from, to, _)| (*from..=*to).contains(&active));
        step.map(|(_, _, megahertz)| f64::from(megahertz) * 1e6)
    }
}

/// What others found changes of licence to take on this microarchitecture, in a sentence.
pub(in crate::areas) fn transition(record: &Record) -> Option<String> {
    let core = record.text("cpu.microarchitecture")?;
    let known = TABLE.transition.iter().find(|it| it.of.iter().any(|of| of == core))?;
    Some(known.words())
}

impl Transition {
    fn words(&self) -> String {
        let Transition { cpu, source, .. } = self;
        let [throttled, halt, hold, back] =
            [self.throttled, self.halt, self.hold, self.r#return].map(microseconds);
        format!(
            "others found on a {cpu}: dispatch throttled for {throttled}, halts of {halt}, the lower clock held for \
             {hold}, {back} halted when it is given back ({source})"
        )
    }
}

fn microseconds((from, to): (f64, f64)) -> String {
    if from < to { format!("{from:.0} to {to:.0} us") } else { format!("{from:.0} us") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{blank, say};

    fn cpu(brand: &str) -> &'static PublishedCpu {
        TABLE.cpu.iter().find(|cpu| cpu.brand == brand).unwrap()
    }

    #[test]
    fn clocks_are_those_of_the_counts_that_somebody_states() {
        let all = cpu("Platinum 8160");
        for (licence, active, megahertz) in [
            (Licence::Plain, 1, Some(3700.0)),
            (Licence::Plain, 12, Some(3400.0)),
            (Licence::Heavy256, 24, Some(2500.0)),
            (Licence::Light512, 3, Some(3400.0)),
            (Licence::Heavy512, 3, None),
            (Licence::Plain, 25, None),
        ] {
            let said = all.hertz(licence, active).map(|hertz| hertz / 1e6);
            assert_eq!(said, megahertz, "{licence:?} on {active}");
        }
        // What is stated for one core and for all says nothing of those between.
        assert_eq!(cpu("Gold 6154").hertz(Licence::Heavy512, 9), None);
        assert_eq!(cpu("Gold 6154").hertz(Licence::Heavy512, 18), Some(2.7e9));
    }

    #[test]
    fn transitions_are_told_of_their_microarchitecture() {
        let named = |core: &str| {
            TABLE
                .transition
                .iter()
                .find(|it| it.of.iter().any(|of| of == core))
                .map(Transition::words)
        };
        let said = named("Skylake-SP").unwrap();
        assert!(said.contains("throttled for 8 to 20 us, halts of 10 us"), "{said}");
        assert_eq!(named("Zen 4"), None);
    }

    #[test]
    fn steps_do_not_overlap_and_heavier_code_is_never_faster() {
        for cpu in &TABLE.cpu {
            for clock in &cpu.clock {
                let steps = &clock.megahertz;
                assert!(steps.iter().all(|(from, to, _)| from <= to), "{cpu:?}");
                assert!(steps.windows(2).all(|pair| pair[0].1 < pair[1].0), "{cpu:?}");
                assert!(steps.windows(2).all(|pair| pair[0].2 >= pair[1].2), "{cpu:?}");
            }
            let order = [Licence::Plain, Licence::Heavy256, Licence::Light512, Licence::Heavy512];
            for active in 1..=32 {
                let clocks: Vec<f64> =
                    order.iter().filter_map(|licence| cpu.hertz(*licence, active)).collect();
                assert!(clocks.is_sorted_by(|a, b| a >= b), "{cpu:?} with {active}: {clocks:?}");
            }
        }
    }

    #[test]
    fn published_cpu_matches_whole_words_of_the_brand() {
        let hertz = |brand: &str, licence, active| {
            let mut record = blank();
            say(&mut record, "cpu.brand", brand);
            PublishedCpu::of(&record).and_then(|cpu| cpu.hertz(licence, active))
        };
        let xeon = "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz";
        // data/licences.toml: 3,700, 3,600 and 3,500 MHz for one core.
        assert_eq!(hertz(xeon, Licence::Plain, 1), Some(3.7e9));
        assert_eq!(hertz(xeon, Licence::Light512, 1), Some(3.6e9));
        assert_eq!(hertz(xeon, Licence::Heavy512, 1), Some(3.5e9));
        assert_eq!(hertz(xeon, Licence::Plain, 2), None);
        assert_eq!(hertz("Intel(R) Xeon(R) Gold 6130F CPU", Licence::Plain, 1), None);
    }

    #[test]
    fn published_counts_are_listed_once() {
        // Three licences, each for one core and for all eighteen.
        assert_eq!(cpu("Gold 6154").counts(), [(1, 1), (18, 18)]);
    }
}
