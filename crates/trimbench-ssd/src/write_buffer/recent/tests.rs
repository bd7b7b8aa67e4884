use trimbench_core::rng::Rng;
use trimbench_core::units::narrow;

use super::*;

const PLACES: u64 = 16;
const UNITS: usize = 4;

/// Groups of two frontiers, each of which may stay open for long, and what is in them.
struct Trial {
    recent: Recent,
    open: [Vec<u32>; 2],
    /// Full groups that have left and may still have their places, the last in front, and others.
    full: VecDeque<Vec<u32>>,
    filled: u64,
    left: u64,
}

impl Trial {
    fn new() -> Self {
        let recent = Recent::new(index(PLACES), UNITS);
        let open = [Vec::new(), Vec::new()];
        Self { recent, open, full: VecDeque::new(), filled: 0, left: 0 }
    }

    fn write(&mut self, lpn: u32, frontier: usize) {
        if self.open[frontier].is_empty() {
            self.recent.begin(frontier, self.filled, self.left);
        }
        self.recent.write(lpn, frontier);
        self.open[frontier].push(lpn);
        if self.open[frontier].len() == UNITS {
            self.full.push_back(std::mem::take(&mut self.open[frontier]));
            self.filled += 1;
        }
    }

    /// All that are full leave, but for so many.
    fn leave(&mut self, but: u64) {
        self.left = self.left.max(self.filled.saturating_sub(but));
        let last = index(self.filled.min(self.left + PLACES) - self.left + PLACES);
        while self.full.len() > last {
            self.full.pop_front();
        }
    }

    fn denied(&self) -> Option<u32> {
        let units = self.full.iter().chain(&self.open).flatten().copied();
        units.into_iter().find(|lpn| !self.recent.may_hold(*lpn))
    }
}

#[test]
fn no_unit_of_the_buffer_is_denied_and_few_others_are_not() {
    let mut rng = Rng::new(1);
    let mut trial = Trial::new();
    let (mut taken, mut asked) = (0, 0);
    for number in 0..40_000_u64 {
        // For long the second frontier is not used.
        let second = number % 2_000 < 500 && rng.below(3) == 0;
        trial.write(narrow(rng.below(1 << 30)), usize::from(second));
        trial.leave(rng.below(4));
        assert_eq!(trial.denied(), None, "after {number}");
        if number == 20_000 {
            // Everything leaves at once, and the open groups stay.
            trial.full.clear();
            (trial.filled, trial.left) = (0, 0);
            trial.recent.settle();
        }
        asked += 1;
        taken += u32::from(trial.recent.may_hold(narrow(rng.below(1 << 30))));
    }
    assert!(taken * 10 < asked, "{taken} of {asked} that were never written");
}
