//! Sessions on emulated targets, as many at a time as there are jobs.
//!
//! Each session has a thread of its own, and shares only jobs and memory with the others. The
//! longest begin first, so that the last to end are short. Their steps are told in the order of the
//! plan; their results are saved as soon as they end. A session that fails ends all later ones, and
//! their results are dropped: the record is then the same whatever the number of jobs. When the
//! user interrupts the run, all of them end, and no results are dropped.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use trimbench_core::{Bytes, Instant, Interrupt, Nanos};
use trimbench_engine::{MethodError, RunError, Slots, Stage};
use trimbench_results::{Session as SessionRecord, Step};

use super::recorder::Recorder;
use super::session::{Ended, Listener, run as run_session};
use crate::failure::Failure;
use crate::plan::Plan;

/// How often the user's wish to stop is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Part of the available memory that tables of emulated drives may take.
const MEMORY_SHARE: u64 = 80;

/// What a session says of itself.
enum News {
    Opened(Box<SessionRecord>),
    Stage { done: usize, total: usize, text: String, now: Instant, left: Nanos },
    Note(String),
    AlsoFailed(Box<Failure>),
    Step(Box<Step>),
    Ended(Box<Ended>),
}

/// Sends what a session says.
struct Reporter<'a> {
    index: usize,
    send: &'a Sender<(usize, News)>,
}

impl Reporter<'_> {
    /// Nobody listens any more when the run is over.
    fn say(&self, news: News) {
        drop(self.send.send((self.index, news)));
    }
}

impl Listener for Reporter<'_> {
    fn opened(&mut self, record: SessionRecord) -> Result<Vec<Step>, Failure> {
        self.say(News::Opened(Box::new(record)));
        // Its state depends on all that went before: it begins anew.
        Ok(Vec::new())
    }

    fn stage(&mut self, stage: &Stage<'_>) {
        let Stage { done, total, text, now, left } = *stage;
        self.say(News::Stage { done, total, text: text.to_owned(), now, left });
    }

    fn note(&mut self, text: String) {
        self.say(News::Note(text));
    }

    fn also_failed(&mut self, failure: Failure) {
        self.say(News::AlsoFailed(Box::new(failure)));
    }

    fn keep(&mut self, step: Step) -> Result<(), Failure> {
        self.say(News::Step(Box::new(step)));
        Ok(())
    }
}

/// Sessions that are still to be begun, and what ends those that run.
struct Waiting<'a> {
    plan: &'a Plan,
    /// The longest last.
    order: Mutex<Vec<usize>>,
    /// By session: its own wish to stop.
    ends: BTreeMap<usize, Interrupt>,
}

impl<'a> Waiting<'a> {
    fn new(plan: &'a Plan, sessions: &[usize]) -> Self {
        let mut order = sessions.to_vec();
        order.sort_by_key(|index| (plan.sessions[*index].weight(), Reverse(*index)));
        let ends = sessions.iter().map(|index| (*index, Interrupt::default())).collect();
        Self { plan, order: Mutex::new(order), ends }
    }

    /// The next to be begun.
    fn take(&self) -> Option<usize> {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        order.pop()
    }

    /// Ends the sessions from this one on, and begins none of them.
    fn end_from(&self, first: usize) {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        order.retain(|index| *index < first);
        self.ends.range(first..).for_each(|(_, end)| end.request());
    }
}

/// Runs these sessions of the plan, up to the first that fails.
pub(super) fn run(
    plan: &Plan,
    sessions: &[usize],
    recorder: &mut Recorder<'_>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let available = trimbench_linux::available_memory();
    let memory = available.map_or(Bytes(u64::MAX), |bytes| Bytes(bytes.0 / 100 * MEMORY_SHARE));
    let slots = Slots::new(plan.jobs, memory);
    let waiting = Waiting::new(plan, sessions);
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..plan.jobs.min(sessions.len()) {
            let (send, waiting, slots) = (send.clone(), &waiting, &slots);
            scope.spawn(move || work(waiting, slots, &send));
        }
        drop(send);
        let mut order = Order { recorder, waiting: &waiting, slots: BTreeMap::new() };
        let result = order.listen(sessions, &receive, interrupt);
        // Threads that still run do so in vain.
        waiting.end_from(0);
        result
    })
}

/// Runs sessions until there are no more.
fn work(waiting: &Waiting<'_>, slots: &Slots, send: &Sender<(usize, News)>) {
    while let Some(index) = waiting.take() {
        let _room = slots.take(waiting.plan.sessions[index].target.memory());
        let mut reporter = Reporter { index, send };
        let means = (&waiting.ends[&index], slots);
        let ended = run_session(waiting.plan, index, &mut reporter, means);
        reporter.say(News::Ended(Box::new(ended)));
    }
}

/// What is known of a session that is not yet shown.
#[derive(Default)]
struct Slot {
    /// While it runs, with the steps so far.
    record: Option<SessionRecord>,
    was_opened: bool,
    unseen: Vec<Step>,
    ended: Option<Result<(), Failure>>,
}

/// Brings what sessions say into the order of the plan.
struct Order<'a, 'r> {
    recorder: &'a mut Recorder<'r>,
    waiting: &'a Waiting<'a>,
    slots: BTreeMap<usize, Slot>,
}

impl Order<'_, '_> {
    /// Listens until all have ended, or one has failed, or the user asks for the end.
    fn listen(
        &mut self,
        sessions: &[usize],
        receive: &Receiver<(usize, News)>,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let mut sessions = sessions.iter().copied();
        let mut shown = sessions.next();
        self.begin(shown);
        let mut all_ended = false;
        while let Some(index) = shown {
            if interrupt.requested() {
                self.waiting.end_from(0);
            }
            match receive.recv_timeout(LOOK_EVERY) {
                Ok((index, news)) => self.hear(index, news),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => all_ended = true,
            }
            self.show(index);
            match self.slots.entry(index).or_default().ended.take() {
                Some(Ok(())) => {
                    self.recorder.show_end(index);
                    shown = sessions.next();
                    self.begin(shown);
                }
                Some(Err(failure)) => {
                    self.recorder.show_end(index);
                    self.finish(receive, (index, interrupt));
                    return Err(failure);
                }
                None if all_ended => {
                    // It was never begun.
                    self.recorder.show_end(index);
                    return Err(MethodError::Run(RunError::Interrupted).into());
                }
                None => {}
            }
        }
        Ok(())
    }

    fn begin(&mut self, shown: Option<usize>) {
        if let Some(index) = shown {
            self.recorder.begin(index);
        }
    }

    /// After a failure: what those behind it measured is given up, unless the user asked for the
    /// end; then it is kept as far as they have come.
    fn finish(
        &mut self,
        receive: &Receiver<(usize, News)>,
        (failed, interrupt): (usize, &Interrupt),
    ) {
        self.waiting.end_from(0);
        if !interrupt.requested() {
            let was_opened = self.slots.get(&failed).is_some_and(|slot| slot.was_opened);
            self.recorder.truncate(failed + usize::from(was_opened));
            return;
        }
        while let Ok((index, news)) = receive.recv() {
            self.hear(index, news);
        }
    }

    /// Takes in what a session says, and keeps it when it has ended.
    fn hear(&mut self, index: usize, news: News) {
        let slot = self.slots.entry(index).or_default();
        match news {
            News::Opened(record) => {
                slot.record = Some(*record);
                slot.was_opened = true;
                self.recorder.opened(index);
            }
            News::Step(step) => {
                slot.record.as_mut().expect("it was opened").steps.push((*step).clone());
                slot.unseen.push(*step);
            }
            News::Stage { done, total, text, now, left } => {
                self.recorder.stage(index, &Stage { done, total, text: &text, now, left });
            }
            News::Note(text) => self.recorder.note(&text),
            News::AlsoFailed(failure) => self.recorder.also_failed(*failure),
            News::Ended(ended) => {
                let record = slot.record.take();
                let kept = self.keep(index, record, *ended);
                self.slots.entry(index).or_default().ended = Some(kept);
            }
        }
    }

    /// Puts an ended session into the record. One that failed is kept as far as it came.
    fn keep(
        &mut self,
        index: usize,
        record: Option<SessionRecord>,
        ended: Ended,
    ) -> Result<(), Failure> {
        if let Some(record) = record {
            self.recorder.put(index, record);
        }
        let kept = match ended.result {
            Ok(end) => {
                self.recorder.finish(index, end);
                self.recorder.save_in_time()
            }
            Err(failure) => Err(failure),
        };
        if kept.is_err() {
            self.waiting.end_from(index + 1);
        }
        kept
    }

    /// Shows what was not yet seen of a session.
    fn show(&mut self, index: usize) {
        for step in std::mem::take(&mut self.slots.entry(index).or_default().unseen) {
            self.recorder.show(index, &step);
        }
    }
}
