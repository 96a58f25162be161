//! What the description of a simulated machine must hold to.

use model::{CpuId, CpuSet};

use super::{CorePmu, Cost, Layout, Licence, Memory, Model, Registers, Tax, WrongAnswers};

impl Model {
    pub(crate) fn check(&self) -> Result<(), String> {
        let says_so = |text: &str| text.contains("SIMULATED");
        let layout = &self.topology;
        let noise = &self.noise;
        let expectations = [
            ("description", "must say SIMULATED", says_so(&self.description)),
            ("identity.brand", "must say SIMULATED", says_so(&self.identity.brand)),
            ("started", "is no RFC 3339 time", humantime::parse_rfc3339(&self.started).is_ok()),
            ("topology.packages", "must be 1..=64", (1..=64).contains(&layout.packages)),
            ("topology.cores_per_package", "must be 1..=1024", self.has_cores()),
            ("topology.threads_per_core", "must be 1..=8", self.has_threads()),
            ("topology.nodes_per_package", "must divide the cores", self.nodes_divide_cores()),
            ("topology.memory_only_nodes", "must be 0..=64", layout.memory_only_nodes <= 64),
            ("topology.offline", "must leave CPU 0", self.offline_is_ours()),
            ("kind", KIND_RULE, self.kinds_fit()),
            ("caches.cores_per_l2", "must divide the cores", self.l2_divides_cores()),
            ("caches.cores_per_l3", "must divide the cores", self.l3_divides_cores()),
            ("level_hz", "must leave levels from 1 to 255", self.levels_fit()),
            ("identity.product", "must say SIMULATED", self.product_says_so()),
            ("memory", MEMORY_RULE, self.memory.as_ref().is_none_or(Memory::is_sound)),
            ("dimms", DIMMS_RULE, self.dimms.as_ref().is_none_or(|it| it.are_sound(layout))),
            ("openmp", "must have positive times", self.openmp.is_none_or(|it| it.is_sound())),
            ("idle", "must have latencies that are not negative", self.idle_is_sound()),
            ("power", "must have watts and degrees", self.power.is_none_or(|it| it.is_sound())),
            ("slow_cores", "must have a positive clock", self.slow_cores_are_sound()),
            ("prochot_hz", "must be positive", self.prochot_hz.is_none_or(positive)),
            (
                "prochot_from_seconds",
                "must not be negative",
                not_negative(self.prochot_from_seconds),
            ),
            (
                "tax",
                "must leave shares, and make nothing shorter",
                self.tax.iter().all(Tax::is_sound),
            ),
            ("work", "must have shares from 0 to 1", self.work_is_sound()),
            ("wrong_answers", WRONG_RULE, self.wrong_answers.iter().all(WrongAnswers::is_sound)),
            ("signals", "must have costs that are not negative", self.signals_are_sound()),
            ("registers", "must hold frequencies from 0.1 to 12.7 GHz", self.registers_fit()),
            ("registers.mperf_hz", "must be positive", self.mperf_fits()),
            ("pmu", "must have 1..=32 counters of 32..=64 bits", self.pmus_are_sound()),
            ("clock.tsc_hz", "must be positive", positive(self.clock.tsc_hz)),
            ("clock.tsc_step_ticks", "must be positive", self.clock.tsc_step_ticks > 0),
            ("overhead_cycles", "must not be negative", not_negative(self.overhead_cycles)),
            ("licence_hold_seconds", "must be positive", positive(self.licence_hold_seconds)),
            ("halt_seconds", "must not be negative", not_negative(self.halt_seconds)),
            ("throttled_seconds", "must not be negative", not_negative(self.throttled_seconds)),
            ("return_halt_seconds", "must not be negative", not_negative(self.return_halt_seconds)),
            ("licence", "must have at least one", !self.licence.is_empty()),
            ("noise.relative_sd", "must not be negative", not_negative(noise.relative_sd)),
            ("noise.drift_amplitude", "must be a share", share(noise.drift_amplitude)),
            (
                "noise.drift_period_seconds",
                "must be positive",
                positive(noise.drift_period_seconds),
            ),
            ("noise.steal_share", "must be a share", share(noise.steal_share)),
            ("noise.quota_share", "must be a share", share(noise.quota_share)),
            ("topology.smt_yield", "must be positive", layout.smt_yield.is_none_or(positive)),
            ("topology.quota_cpus", "must be positive", layout.quota_cpus.is_none_or(positive)),
        ];
        for (key, why, met) in expectations {
            if !met {
                return Err(format!("`{key}` {why}"));
            }
        }
        self.licence.iter().try_for_each(Licence::check)?;
        let cores = layout.cores_per_package;
        self.speed_select.iter().try_for_each(|it| it.check(cores))?;
        self.costs.iter().try_for_each(|(id, cost)| self.check_cost(id, cost))
    }

    fn has_cores(&self) -> bool {
        (1..=1024).contains(&self.topology.cores_per_package)
    }

    fn has_threads(&self) -> bool {
        (1..=8).contains(&self.topology.threads_per_core)
    }

    fn nodes_divide_cores(&self) -> bool {
        let nodes = self.topology.nodes_per_package;
        nodes > 0 && self.topology.cores_per_package.is_multiple_of(nodes)
    }

    fn slow_cores_are_sound(&self) -> bool {
        self.slow_cores.iter().all(|slow| positive(slow.highest_hz))
    }

    fn offline_is_ours(&self) -> bool {
        let all: CpuSet = self.cpus().collect();
        let Layout { offline, isolated, .. } = &self.topology;
        !offline.contains(CpuId(0))
            && offline.difference(&all).is_empty()
            && isolated.difference(&all).is_empty()
    }

    fn l2_divides_cores(&self) -> bool {
        self.caches.cores_per_l2.is_none_or(|cores| self.divides_cores(cores))
    }

    fn l3_divides_cores(&self) -> bool {
        self.caches.cores_per_l3.is_none_or(|cores| self.divides_cores(cores))
    }

    fn divides_cores(&self, n: u32) -> bool {
        n > 0 && self.topology.cores_per_package.is_multiple_of(n)
    }

    fn levels_fit(&self) -> bool {
        let has_clocks = self.licence.iter().all(|licence| !licence.bins.is_empty());
        let Some(each) = self.level_hz.filter(|_| has_clocks) else { return true };
        let lowest = self.registers.map_or(self.clock.tsc_hz, |registers| registers.lowest_hz);
        let ends = [lowest, self.highest_hz(CpuId(0))].map(|hertz| self.level(hertz));
        positive(each) && ends.into_iter().flatten().all(|level| (1..=255).contains(&level))
    }

    fn product_says_so(&self) -> bool {
        self.identity.product.as_ref().is_none_or(|product| product.contains("SIMULATED"))
    }

    fn work_is_sound(&self) -> bool {
        self.work.iter().all(|work| (0.0..=1.0).contains(&work.share))
    }

    fn idle_is_sound(&self) -> bool {
        self.idle.iter().all(|state| {
            not_negative(state.exit_latency_seconds) && not_negative(state.target_residency_seconds)
        })
    }

    fn signals_are_sound(&self) -> bool {
        self.signals.values().all(|cost| {
            not_negative(cost.seconds) && cost.same_cpu_seconds.is_none_or(not_negative)
        })
    }

    fn pmus_are_sound(&self) -> bool {
        self.pmu.iter().all(CorePmu::is_sound)
    }

    /// Ratios to 100 MHz have seven bits.
    fn registers_fit(&self) -> bool {
        let fits = |hertz: f64| (0.1e9..=12.7e9).contains(&hertz);
        self.registers.is_none_or(|registers| {
            let Registers { lowest_hz, efficient_hz, uncore_min_hz, uncore_max_hz, .. } = registers;
            [lowest_hz, efficient_hz, uncore_min_hz, uncore_max_hz].into_iter().all(fits)
                && registers.energy_perf_bias < 16
        })
    }

    fn mperf_fits(&self) -> bool {
        self.registers.and_then(|registers| registers.mperf_hz).is_none_or(positive)
    }

    fn check_cost(&self, id: &str, cost: &Cost) -> Result<(), String> {
        if !not_negative(cost.cycles) {
            return Err(format!("`costs.{id}.cycles` must not be negative"));
        }
        match self.licence_of(id) {
            Some(_) => Ok(()),
            None => Err(format!("`costs.{id}.licence`: there is no licence `{}`", cost.licence)),
        }
    }
}

impl Licence {
    fn check(&self) -> Result<(), String> {
        let ascending = self.bins.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let rates = self.bins.iter().all(|&(_, hertz)| positive(hertz));
        if self.bins.is_empty() || !ascending || !rates {
            let rule = "must have bins, ascending by cores, with positive rates";
            return Err(format!("`licence.{}.bins` {rule}", self.name));
        }
        Ok(())
    }
}

const MEMORY_RULE: &str =
    "must have caches that grow, positive latencies and bandwidths, and 1..=64 channels";
const DIMMS_RULE: &str =
    "must have 1..=26 channels, a known kind, positive rates, and `empty` names of slots";
const WRONG_RULE: &str = "must come once in 1 op or more, and flip a bit from 0 to 63";
const KIND_RULE: &str = "must share all cores of a package, of one thread each, with positive times and costs that the others have, too";

pub(crate) fn positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}

pub(crate) fn not_negative(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

pub(crate) fn share(number: f64) -> bool {
    (0.0..1.0).contains(&number)
}
