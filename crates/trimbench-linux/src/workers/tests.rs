use std::sync::mpsc;

use super::*;

/// A bell that is not watched: an ordinary pipe end would fill up, a file does not.
fn bell() -> Arc<OwnedFd> {
    Arc::new(tempfile::tempfile().unwrap().into())
}

/// Jobs are numbers.
fn workers<D: Send + 'static>(
    perform: impl Fn(u32) -> D + Send + Sync + 'static,
) -> Workers<u32, D> {
    Workers::new("test", bell(), Box::new(perform))
}

/// What ended, sorted, once there are `count`.
fn all<D: Ord + Send + 'static>(workers: &Workers<u32, D>, count: usize) -> Vec<D> {
    let mut finished = Vec::new();
    while finished.len() < count {
        workers.take_finished(&mut finished);
        std::thread::yield_now();
    }
    finished.sort();
    finished
}

#[test]
fn several_jobs_are_under_way_at_once() {
    // Each waits until all four have begun: with fewer threads this never ends.
    let barrier = std::sync::Barrier::new(4);
    let mut workers = workers(move |_| {
        barrier.wait();
    });
    for job in 0..4 {
        workers.give_to_one_of(32, job).unwrap();
    }
    assert_eq!(all(&workers, 4).len(), 4);
    assert_eq!(workers.threads.len(), 4);
}

#[test]
fn a_thread_that_is_free_is_used_again() {
    let mut workers = workers(|job| job * 10);
    for job in 0..20 {
        workers.give_to_one_of(32, job).unwrap();
        assert_eq!(all(&workers, 1), [job * 10]);
        while lock(&workers.shared.state).idle == 0 {
            std::thread::yield_now();
        }
    }
    assert_eq!(workers.threads.len(), 1);
}

#[test]
fn more_jobs_than_threads_wait_their_turn() {
    let mut workers = workers(|job| job);
    for job in 0..500 {
        workers.give_to_one_of(32, job).unwrap();
    }
    assert_eq!(all(&workers, 500), (0..500).collect::<Vec<_>>());
    assert!(workers.threads.len() <= 32);
}

#[test]
fn dropping_waits_for_what_was_given() {
    let (sender, done) = mpsc::channel();
    let mut workers = workers(move |job| sender.send(job).unwrap());
    for job in 0..50 {
        workers.give_to_one_of(32, job).unwrap();
    }
    drop(workers);
    assert_eq!(done.iter().count(), 50);
}
