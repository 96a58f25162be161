//! Which of several ways to do a thing is the fastest, where the machine is now fast, now slow.
//!
//! A guest whose CPUs the host moves about may be twice as fast in one moment as in the next one, so
//! that the best turn of a candidate says when it was tried, not how good it is. Therefore all
//! candidates take turns in rounds, and only what they reached in the same round is compared.

use fastrand::Rng;
use model::stats;

/// The least number of rounds that tells anything: two cannot outvote one.
const ROUNDS_MIN: usize = 3;

/// Candidates that take one turn each in every round, until one is left.
#[derive(Debug, Clone)]
pub struct Contest {
    /// Speeds, round by round, of all who took part; by candidate.
    rounds: Vec<Vec<Option<f64>>>,
    candidates: usize,
    still_in: Vec<usize>,
    random: Rng,
}

impl Contest {
    /// A contest among so many, whose turns are in an order that the seed decides.
    pub fn new(candidates: usize, seed: u64) -> Contest {
        let still_in = (0..candidates).collect();
        Contest { rounds: Vec::new(), candidates, still_in, random: Rng::with_seed(seed) }
    }

    /// Whose turns the next round has, in random order; none when the fastest is known, and when it is
    /// late and no more than a guess is wanted.
    pub fn turns(&mut self, is_late: bool) -> Option<Vec<usize>> {
        /// After so many rounds, those who are left are equally good.
        const ROUNDS_MAX: usize = 40;
        let rounds = self.rounds.len();
        let is_over = rounds >= ROUNDS_MAX || (is_late && rounds >= ROUNDS_MIN);
        (self.still_in.len() > 1 && !is_over).then(|| {
            let mut turns = self.still_in.clone();
            self.random.shuffle(&mut turns);
            turns
        })
    }

    /// What each reached in a round. Who was in it and reached nothing is out.
    pub fn round(&mut self, reached: &[(usize, f64)]) {
        let mut round = vec![None; self.candidates];
        for &(candidate, speed) in reached {
            round[candidate] = (speed > 0.0).then_some(speed);
        }
        self.still_in.retain(|&candidate| round[candidate].is_some());
        self.rounds.push(round);
        if let Some(leader) = self.leader() {
            let behind = |&candidate: &usize| !self.is_behind(candidate, leader);
            self.still_in = self.still_in.iter().copied().filter(behind).collect();
        }
    }

    /// The one that is fastest, as far as is known: by the median over rounds of its speed relative to
    /// the median speed in the round.
    pub fn leader(&self) -> Option<usize> {
        let of_round = |round: &Vec<Option<f64>>| {
            let speeds = self.still_in.iter().filter_map(|&candidate| round[candidate]);
            stats::median(&speeds.collect::<Vec<f64>>())
        };
        let middles: Vec<Option<f64>> = self.rounds.iter().map(of_round).collect();
        let score = |candidate: usize| {
            let of = |(round, middle): (&Vec<Option<f64>>, &Option<f64>)| {
                Some(round[candidate]? / (*middle)?)
            };
            stats::median(
                &std::iter::zip(&self.rounds, &middles).filter_map(of).collect::<Vec<_>>(),
            )
        };
        let scores = self.still_in.iter().map(|&c| (c, score(c).unwrap_or_default()));
        // Of equals the first one, which is the simplest.
        scores.reduce(|best, next| if next.1 > best.1 { next } else { best }).map(|(c, _)| c)
    }

    /// What a candidate reached, round by round.
    pub fn speeds(&self, candidate: usize) -> Vec<f64> {
        self.rounds.iter().filter_map(|round| round[candidate]).collect()
    }

    /// Whether a candidate need not be tried again: far behind in every round, or behind in nearly
    /// all of more rounds.
    fn is_behind(&self, candidate: usize, leader: usize) -> bool {
        /// One move of the CPUs halves a turn; that it does so to one candidate only, in every round,
        /// it would have to happen in each round between the same two turns.
        const FAR: f64 = 0.9;
        /// Six tosses of a coin that all say the same are one in 64.
        const ROUNDS: usize = 6;
        /// Of eight rounds it may have won one.
        const WON_OF: usize = 8;
        let pairs = self.rounds.iter().filter_map(|r| Some(r[candidate]? / r[leader]?));
        let ratios: Vec<f64> = pairs.collect();
        let won = ratios.iter().filter(|&&ratio| ratio >= 1.0).count();
        let far = ratios.len() >= ROUNDS_MIN && ratios.iter().all(|&ratio| ratio < FAR);
        far || (ratios.len() >= ROUNDS && won * WON_OF <= ratios.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that is fast or slow for a while, and noisy; one turn takes one unit of time.
    struct Host {
        random: Rng,
        /// How long a mode lasts on average, in turns.
        lasts: f64,
        noise: f64,
        is_slow: bool,
    }

    impl Host {
        fn turn(&mut self, speed: f64) -> f64 {
            self.is_slow ^= self.random.f64() < 1.0 / self.lasts;
            let mode = if self.is_slow { 0.5 } else { 1.0 };
            speed * mode * (1.0 + self.noise * (self.random.f64() - 0.5))
        }
    }

    /// The speed of the one that is chosen, and the number of rounds.
    fn chosen(speeds: &[f64], host: &mut Host) -> (f64, usize) {
        let mut contest = Contest::new(speeds.len(), host.random.u64(..));
        while let Some(turns) = contest.turns(false) {
            let reached: Vec<_> = turns.iter().map(|&c| (c, host.turn(speeds[c]))).collect();
            contest.round(&reached);
        }
        (speeds[contest.leader().unwrap()], contest.rounds.len())
    }

    /// Eight variants; the best one leads by four per cent.
    const SPEEDS: [f64; 8] = [0.5, 0.8, 0.95, 0.96, 0.9, 1.0, 0.7, 0.93];

    fn host(seed: u64, lasts: f64) -> Host {
        Host { random: Rng::with_seed(seed), lasts, noise: 0.04, is_slow: seed % 2 == 1 }
    }

    #[test]
    fn a_host_that_moves_cpus_does_not_choose() {
        // A mode lasts for a few rounds: each contest sees several of them, and changes in rounds.
        for seed in 0..500 {
            let (speed, rounds) = chosen(&SPEEDS, &mut host(seed, 24.0));
            assert!(speed >= 0.95, "seed {seed}: {speed} after {rounds} rounds");
        }
        let best = |seed| chosen(&SPEEDS, &mut host(seed, 24.0)).0 > 0.99;
        let right = (0..500).filter(|&seed| best(seed)).count();
        assert!(right >= 480, "{right} of 500");
    }

    #[test]
    fn the_greatest_speed_would_have_been_fooled() {
        // What is compared: the best turn of each over three rounds, as if there were no modes.
        let fooled = |seed| {
            let mut host = host(seed, 24.0);
            let mut best = [0.0f64; SPEEDS.len()];
            for _ in 0..3 {
                for (best, speed) in std::iter::zip(&mut best, SPEEDS) {
                    *best = best.max(host.turn(speed));
                }
            }
            let chosen = (0..best.len()).max_by(|&a, &b| best[a].total_cmp(&best[b]));
            SPEEDS[chosen.unwrap()] < 0.95
        };
        assert!((0..500).filter(|&seed| fooled(seed)).count() > 20, "the host moves nothing");
    }

    #[test]
    fn what_is_clear_takes_few_rounds() {
        let quiet = |speeds: &[f64]| chosen(speeds, &mut host(0, f64::INFINITY));
        assert_eq!(quiet(&[1.0, 0.5, 0.6]), (1.0, ROUNDS_MIN));
        assert_eq!(quiet(&[0.9, 1.0]).1, 6, "less than the limit, but always");
        assert_eq!(quiet(&[1.0]), (1.0, 0), "nobody to compete with");
        let mut equals = Contest::new(2, 0);
        for _ in 0..ROUNDS_MIN {
            assert_eq!(equals.turns(true).map(|turns| turns.len()), Some(2));
            equals.round(&[(0, 1.0), (1, 1.0)]);
        }
        assert!(equals.turns(true).is_none() && equals.turns(false).is_some());
    }

    #[test]
    fn a_fast_moment_counts_for_all_of_its_round() {
        let mut contest = Contest::new(2, 0);
        contest.round(&[(0, 100.0), (1, 95.0)]);
        contest.round(&[(1, 190.0), (0, 200.0)]);
        contest.round(&[(0, 101.0), (1, 190.0)]);
        assert_eq!(contest.leader(), Some(0), "the second one was lucky once");
        assert_eq!(contest.speeds(1), [95.0, 190.0, 190.0]);
    }

    #[test]
    fn who_reaches_nothing_is_out() {
        let mut contest = Contest::new(3, 0);
        contest.round(&[(0, 1.0), (1, 0.0)]);
        assert_eq!(contest.leader(), Some(0));
        assert_eq!(contest.turns(false), None);
        assert_eq!(contest.speeds(2), [0.0; 0]);
        let mut nobody = Contest::new(1, 0);
        nobody.round(&[]);
        assert_eq!(nobody.leader(), None);
        assert_eq!(Contest::new(0, 0).leader(), None);
    }

    #[test]
    fn of_equals_the_first_one_leads() {
        let mut contest = Contest::new(3, 0);
        for _ in 0..3 {
            contest.round(&[(2, 7.0), (1, 7.0), (0, 7.0)]);
        }
        assert_eq!(contest.leader(), Some(0));
    }
}
