use std::sync::mpsc;

use super::*;

/// A bell that is not watched: an ordinary pipe end would fill up, a file does not.
fn bell() -> Arc<OwnedFd> {
    Arc::new(tempfile::tempfile().unwrap().into())
}

fn helpers(perform: impl Fn(u64, u64) -> Result<(), Errno> + Send + Sync + 'static) -> Helpers {
    Helpers::new(bell(), MonotonicClock::start(), Box::new(perform))
}

fn job(slot: u32) -> Job {
    Job { slot, offset: u64::from(slot) * 10, length: 7 }
}

/// What ended, in the order of slots, once there are `count`.
fn all(helpers: &Helpers, count: usize) -> Vec<Finished> {
    let mut finished = Vec::new();
    while finished.len() < count {
        helpers.take_finished(&mut finished);
        std::thread::yield_now();
    }
    finished.sort_by_key(|each| each.slot);
    finished
}

#[test]
fn several_jobs_are_under_way_at_once() {
    // Each waits until all four have begun: with fewer threads this never ends.
    let barrier = std::sync::Barrier::new(4);
    let mut helpers = helpers(move |_, _| {
        barrier.wait();
        Ok(())
    });
    for slot in 0..4 {
        helpers.give(job(slot)).unwrap();
    }
    assert_eq!(all(&helpers, 4).len(), 4);
    assert_eq!(helpers.threads.len(), 4);
}

#[test]
fn a_thread_that_is_free_is_used_again() {
    let mut helpers = helpers(|offset, length| {
        assert_eq!((offset % 10, length), (0, 7));
        Err(Errno(i32::try_from(offset).unwrap()))
    });
    for slot in 0..20 {
        helpers.give(job(slot)).unwrap();
        let finished = all(&helpers, 1);
        assert_eq!(finished[0].result, Err(Errno(i32::try_from(slot).unwrap() * 10)));
        while lock(&helpers.shared.state).idle == 0 {
            std::thread::yield_now();
        }
    }
    assert_eq!(helpers.threads.len(), 1);
}

#[test]
fn more_jobs_than_threads_wait_their_turn() {
    let mut helpers = helpers(|_, _| Ok(()));
    for slot in 0..500 {
        helpers.give(job(slot)).unwrap();
    }
    let finished = all(&helpers, 500);
    assert!(finished.iter().zip(0..).all(|(each, slot)| each.slot == slot));
    assert!(helpers.threads.len() <= THREADS);
}

#[test]
fn a_thread_that_dies_reports_its_job_and_is_replaced() {
    let mut helpers = helpers(|offset, _| {
        assert!(offset != 10, "planted");
        Ok(())
    });
    helpers.give(job(1)).unwrap();
    assert_eq!(all(&helpers, 1)[0].result, Err(Errno::EIO));
    helpers.give(job(2)).unwrap();
    assert_eq!(all(&helpers, 1)[0].result, Ok(()));
    assert_eq!(lock(&helpers.shared.state).alive, 1);
}

#[test]
fn dropping_waits_for_what_was_given() {
    let (sender, done) = mpsc::channel();
    let mut helpers = helpers(move |offset, _| {
        sender.send(offset).unwrap();
        Ok(())
    });
    for slot in 0..50 {
        helpers.give(job(slot)).unwrap();
    }
    drop(helpers);
    assert_eq!(done.iter().count(), 50);
}
