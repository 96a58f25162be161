//! Answers of repetitions that are timed, which must be alike.

/// What repetitions of a payload answered that are timed, all of them with as many iterations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedAnswers {
    /// Iterations of each.
    pub iterations: u64,
    /// Each answer and how often it came, the first one first: a single one, unless some are wrong.
    pub found: Vec<(u64, u64)>,
    /// Repetitions whose answer is none of these, when there was no room for more.
    pub others: u64,
}

impl TimedAnswers {
    /// So many different answers are kept as they are.
    pub const KEPT: usize = 4;

    /// None yet. It has room for all that it will keep.
    pub fn of(iterations: u64) -> TimedAnswers {
        TimedAnswers { iterations, found: Vec::with_capacity(TimedAnswers::KEPT), others: 0 }
    }

    /// Takes an answer that so many repetitions gave.
    #[inline(always)]
    pub fn take(&mut self, answer: u64, times: u64) {
        match self.found.first_mut() {
            Some((first, count)) if *first == answer => *count += times,
            _ => self.take_another(answer, times),
        }
    }

    #[cold]
    fn take_another(&mut self, answer: u64, times: u64) {
        if let Some((_, count)) = self.found.iter_mut().find(|(known, _)| *known == answer) {
            *count += times;
        } else if self.found.len() < TimedAnswers::KEPT {
            self.found.push((answer, times));
        } else {
            self.others += times;
        }
    }

    /// Adds those of another stretch with as many iterations.
    pub fn add(&mut self, more: &TimedAnswers) {
        more.found.iter().for_each(|(answer, times)| self.take(*answer, *times));
        self.others += more.others;
    }

    /// Repetitions.
    pub fn calls(&self) -> u64 {
        self.found.iter().map(|(_, times)| times).sum::<u64>() + self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_one_by_one_until_there_is_no_room() {
        let mut answers = TimedAnswers::of(7);
        for answer in [5, 5, 9, 5, 1, 2, 3, 3, 9] {
            answers.take(answer, 1);
        }
        assert_eq!(answers.found, [(5, 3), (9, 2), (1, 1), (2, 1)]);
        assert_eq!((answers.others, answers.calls()), (2, 9));
        let mut more = TimedAnswers::of(7);
        more.add(&answers);
        assert_eq!(more, answers);
    }
}
