//! Many independent attempts, each drawn from its number alone, made by a few threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use trimbench_core::rng::Rng;
use xtask::process;
use xtask::steps::Deadline;

/// What attempts are drawn from.
const SEED: u64 = 1;
/// How often an attempt that could not be made is begun.
const TRIES: usize = 3;
/// How often progress is printed.
const PROGRESS: Duration = Duration::from_secs(30);

/// So many attempts, to be made by so many threads until a deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempts {
    /// What an attempt is, in a word: its random numbers depend on it, too.
    pub(crate) name: &'static str,
    /// How many there are to be.
    pub(crate) count: u64,
    /// How many are made at a time.
    pub(crate) workers: usize,
    /// When all must be made.
    pub(crate) deadline: Deadline,
}

impl Attempts {
    /// What attempt `number` is drawn from.
    pub(crate) fn random(&self, number: u64) -> Rng {
        Rng::new(SEED).split(&format!("{} {number}", self.name))
    }

    /// Makes the attempts and returns what they came to, by number. `attempt` gets the number of
    /// its thread and its own, both from 0. What it finds is part of what it returns; an error, or
    /// a panic of a helper, says that it could not be made: it is made again, and at last ends all.
    ///
    /// # Errors
    /// As well when the deadline passes before all are made, or the user interrupts.
    pub(crate) fn make<T: Send>(
        &self,
        attempt: impl Fn(usize, u64) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let Self { name, count, .. } = *self;
        let next = AtomicU64::new(0);
        let made = Mutex::new(Vec::new());
        let known = || made.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = || process::interrupted() || self.deadline.remaining().is_zero();
        let work = |worker| {
            while !is_over() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                match self.until_made(number, || attempt(worker, number)) {
                    Ok(outcome) => known().push((number, outcome)),
                    Err(error) => {
                        // The other threads end what they are at, and begin nothing.
                        next.store(count, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let work = &work;
            let spawn = |worker| scope.spawn(move || work(worker));
            let workers: Vec<_> = (0..self.workers).map(spawn).collect();
            let mut progress = Deadline::after(PROGRESS);
            while workers.iter().any(|worker| !worker.is_finished()) {
                thread::sleep(Duration::from_millis(20));
                if progress.remaining().is_zero() {
                    progress = Deadline::after(PROGRESS);
                    eprintln!("  {name}: {} of {count}", known().len());
                }
            }
            let mut ended = workers.into_iter().map(thread::ScopedJoinHandle::join);
            ended.try_for_each(|ended| ended.expect("attempts catch panics"))
        })?;
        let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        if process::interrupted() {
            bail!("interrupted after {} of {count} attempts", made.len());
        }
        if (made.len() as u64) < count {
            bail!("{} of {count} attempts were made when the time was over", made.len());
        }
        made.sort_by_key(|(number, _)| *number);
        Ok(made.into_iter().map(|(_, outcome)| outcome).collect())
    }

    fn until_made<T>(&self, number: u64, attempt: impl Fn() -> Result<T>) -> Result<T> {
        let mut tries = 0;
        loop {
            tries += 1;
            match caught(&attempt) {
                Err(error) if tries < TRIES && !process::interrupted() => {
                    eprintln!("  {}: attempt {number} again: {error:#}", self.name);
                }
                result => return result.with_context(|| format!("attempt {number}")),
            }
        }
    }
}

/// Runs something. A panic, as of a helper to which the machine refuses something, is an error.
pub(crate) fn caught<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let reason = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(anyhow!("{}", reason.unwrap_or("it panicked")))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use anyhow::ensure;

    use super::*;

    fn attempts(count: u64, span: Duration) -> Attempts {
        Attempts { name: "test", count, workers: 2, deadline: Deadline::after(span) }
    }

    #[test]
    fn all_are_made_and_returned_by_number_and_one_that_fails_once_is_made_again() {
        let (error, panic) = (AtomicBool::new(true), AtomicBool::new(true));
        let made = attempts(20, Duration::from_secs(60)).make(|worker, number| {
            ensure!(worker < 2);
            match number {
                7 if error.swap(false, Ordering::Relaxed) => bail!("once"),
                8 if panic.swap(false, Ordering::Relaxed) => panic!("a helper"),
                number => Ok(number * 2),
            }
        });
        assert_eq!(made.unwrap(), (0..20).map(|number| number * 2).collect::<Vec<_>>());
    }

    #[test]
    fn one_that_cannot_be_made_or_a_deadline_is_an_error_that_says_how_far_it_came() {
        let failing = |number| if number == 3 { bail!("no") } else { Ok(number) };
        let error = attempts(20, Duration::from_secs(60)).make(|_, number| failing(number));
        assert_eq!(format!("{:#}", error.unwrap_err()), "attempt 3: no");
        let late = attempts(5, Duration::ZERO).make(|_, number| Ok(number)).unwrap_err();
        assert_eq!(late.to_string(), "0 of 5 attempts were made when the time was over");
    }

    #[test]
    fn a_number_draws_the_same_again_and_another_number_another() {
        let attempts = attempts(1, Duration::ZERO);
        let draw = |number| attempts.random(number).bits();
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
