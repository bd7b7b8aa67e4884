//! Threads for blocking operations: system calls on names and sizes, and discards before Linux
//! 6.12. Reads and writes never use them.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use trimbench_core::Errno;

#[cfg(test)]
mod tests;

pub(crate) type Perform<J, D> = Box<dyn Fn(J) -> D + Send + Sync>;

pub(crate) struct Workers<J, D> {
    shared: Arc<Shared<J, D>>,
    threads: Vec<JoinHandle<()>>,
    name: &'static str,
}

struct Shared<J, D> {
    state: Mutex<State<J, D>>,
    wake: Condvar,
    /// Counter whose change ends the wait in `reap`.
    bell: Arc<OwnedFd>,
    perform: Perform<J, D>,
}

struct State<J, D> {
    jobs: VecDeque<J>,
    idle: usize,
    finished: Vec<D>,
    closing: bool,
}

impl<J: Send + 'static, D: Send + 'static> Workers<J, D> {
    /// No thread yet. The bell is rung for each job that ends.
    pub(crate) fn new(name: &'static str, bell: Arc<OwnedFd>, perform: Perform<J, D>) -> Self {
        let (jobs, finished) = (VecDeque::new(), Vec::new());
        let state = Mutex::new(State { jobs, idle: 0, finished, closing: false });
        let shared = Arc::new(Shared { state, wake: Condvar::new(), bell, perform });
        Self { shared, threads: Vec::new(), name }
    }

    pub(crate) fn start(&mut self) -> Result<(), Errno> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name(self.name.to_owned());
        let thread = thread.spawn(move || shared.work());
        let thread = thread.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EAGAIN)))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Gives a job to the next thread that is free.
    pub(crate) fn give(&self, job: J) {
        lock(&self.shared.state).jobs.push_back(job);
        self.shared.wake.notify_one();
    }

    /// The same; if none is free, to a new thread, of which there are `most`. An error if there is
    /// no thread at all.
    pub(crate) fn give_to_one_of(&mut self, most: usize, job: J) -> Result<(), Errno> {
        let state = lock(&self.shared.state);
        let is_free = state.idle > state.jobs.len();
        drop(state);
        if !is_free && self.threads.len() < most {
            match self.start() {
                Err(errno) if self.threads.is_empty() => return Err(errno),
                // Without a new one, those that there are do it when they can.
                _ => {}
            }
        }
        self.give(job);
        Ok(())
    }

    pub(crate) fn take_finished(&self, into: &mut Vec<D>) {
        into.append(&mut lock(&self.shared.state).finished);
    }
}

impl<J, D> Drop for Workers<J, D> {
    /// Waits for the jobs that were given: the kernel works on them meanwhile.
    fn drop(&mut self) {
        lock(&self.shared.state).closing = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so; nothing of it is left to wait for.
            let _ = thread.join();
        }
    }
}

impl<J, D> Shared<J, D> {
    fn work(&self) {
        while let Some(job) = self.next() {
            let done = (self.perform)(job);
            lock(&self.state).finished.push(done);
            // A counter that is full has been rung already.
            let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
        }
    }

    fn next(&self) -> Option<J> {
        let mut state = lock(&self.state);
        state.idle += 1;
        while state.jobs.is_empty() && !state.closing {
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.idle -= 1;
        state.jobs.pop_front()
    }
}

/// Every critical section here is a few pushes and counts that cannot panic halfway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
