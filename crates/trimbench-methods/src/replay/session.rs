//! The procedure: a survey of the trace, then its passes.
//!
//! On emulated drives each pass has a drive of its own, and two run concurrently, each in a thread:
//! they share only the stop request. Steps are saved in the order of the plan, and a pass that
//! fails ends only later passes, so the record equals that of sequential passes. On a real device
//! passes run sequentially.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use trimbench_core::rng::Rng;
use trimbench_core::trace_hash::TraceHash;
use trimbench_core::{
    Bytes, Capabilities, Caveat, Device, Drives, Instant, Interrupt, Medium, Nanos, PurgeMeans,
};
use trimbench_results::Step;
use trimbench_trace::generate::Master;
use trimbench_trace::{TraceError, TraceSource, Traces};

use super::options::{Pass, Replay, ReplayedTrims};
use super::pass::{Passed, Task};
use super::survey::Survey;
use trimbench_engine::{ASSUMED_RATE, MethodError, MethodSession, Permit, RunError, Stage};

/// How often progress is shown, on the target's clock.
const SHOW_EVERY: Nanos = Nanos::from_secs(1);

/// How far a pass is.
#[derive(Clone, Copy, Debug, Default)]
struct PassPlace {
    /// Since it began, on its target's clock.
    time: Nanos,
    written: Bytes,
}

/// Tells others how far a pass is, and the pass whether it must end.
pub(super) struct Progress<'a> {
    tell: &'a mut dyn FnMut(PassPlace),
    told: Option<Nanos>,
    ends: &'a dyn Fn() -> bool,
}

impl<'a> Progress<'a> {
    fn new(tell: &'a mut dyn FnMut(PassPlace), ends: &'a dyn Fn() -> bool) -> Self {
        Self { tell, told: None, ends }
    }

    /// `written` bytes of the trace after `time`.
    pub(super) fn show(&mut self, time: Nanos, written: Bytes) {
        if self.told.is_none_or(|told| time < told || time >= told + SHOW_EVERY) {
            self.told = Some(time);
            (self.tell)(PassPlace { time, written });
        }
    }

    pub(super) fn ends(&self) -> bool {
        (self.ends)()
    }
}

/// What all passes have in common. Threads share it.
struct Replayed<'a> {
    method: &'a Replay,
    rng: &'a Rng,
    traces: &'a dyn Traces,
    /// What is used of the device.
    room: Bytes,
    /// Bytes that the trace spans.
    span: Bytes,
    /// Bytes that a pass writes of it, about.
    written: Bytes,
    passes: Vec<Pass>,
    /// The caveat of purging a device and using only a part of it.
    part_of_drive: Option<Caveat>,
}

impl<'a> Replayed<'a> {
    /// Looks at the trace, and whether it can be replayed.
    fn begin<'s: 'a>(
        method: &'a Replay,
        capabilities: &Capabilities,
        session: &MethodSession<'s>,
    ) -> Result<(Self, Step), MethodError> {
        let Medium::Device { capacity, logical_block } = capabilities.medium else {
            unreachable!("it fits devices only")
        };
        let room = method.span.on(capacity, logical_block);
        let passes = method.passes();
        let part_of_drive = method.span.caveat(capacity);
        let (rng, traces) = (session.rng, session.traces);
        let (span, written) = (room, Bytes(0));
        let mut replayed = Self { method, rng, traces, room, span, written, passes, part_of_drive };
        let survey = Survey::of(&mut *replayed.open()?, room)?;
        survey.check(method, room)?;
        replayed.written = survey.written(method.scaling);
        if method.trace.is_some() {
            replayed.span = Bytes(survey.span);
        }
        Ok((replayed, survey.step()))
    }

    fn open(&self) -> Result<Box<dyn TraceSource>, TraceError> {
        if let Some(name) = &self.method.trace {
            return self.traces.open(name);
        }
        let config = self.method.generated(self.room);
        Ok(Box::new(Master::new(config, self.rng.split("trace"))))
    }

    /// A pass that is to be done, on a device that must be purged and filled if `prepare`.
    fn task(&self, pass: Pass, prepare: bool) -> Result<Task<'a>, MethodError> {
        let (method, span, source) = (self.method, self.span, self.open()?);
        Ok(Task { method, pass, source, span, prepare })
    }

    /// Notes what the whole session is known by.
    fn end(kept: Kept<'_, '_>, means: PurgeMeans) {
        let Kept { session, hash, .. } = kept;
        session.hash(hash.value());
        if means == PurgeMeans::Trim {
            session.caveat(Caveat::PurgedByTrim);
        }
    }
}

/// Steps that were kept, and how far the passes are.
struct Kept<'a, 's> {
    session: &'a mut MethodSession<'s>,
    hash: TraceHash,
    /// By pass.
    places: Vec<PassPlace>,
    /// Bytes that a pass writes, about.
    written: Bytes,
}

impl<'a, 's> Kept<'a, 's> {
    fn new(replayed: &Replayed<'_>, session: &'a mut MethodSession<'s>) -> Self {
        let places = vec![PassPlace::default(); replayed.passes.len()];
        Self { session, hash: TraceHash::default(), places, written: replayed.written }
    }

    fn keep_pass(&mut self, passed: Passed) -> Result<(), MethodError> {
        self.hash.word(passed.trace_hash);
        self.session.keep(passed.step)
    }

    /// Shows that a pass is so far.
    fn show(&mut self, index: usize, name: &str, place: PassPlace) {
        self.places[index] = place;
        let written: u64 = self.places.iter().map(|place| place.written.0).sum();
        let time: f64 = self.places.iter().map(|place| place.time.seconds()).sum();
        let rate = if written > 0 { written as f64 / time } else { ASSUMED_RATE as f64 };
        let all = self.written.0 as f64 * self.places.len() as f64;
        let left = Nanos::from_seconds((all - written as f64).max(0.0) / rate);
        let now = Instant::from_start(place.time);
        let (done, total) = (self.session.steps().len(), self.places.len() + 1);
        self.session.show(&Stage { done, total, text: name, now, left });
    }
}

/// Runs all passes on a device, one after the other.
pub(super) fn on_device(
    method: &Replay,
    device: &mut dyn Device,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let (replayed, survey) = Replayed::begin(method, device.capabilities(), session)?;
    match session.step(&survey.id) {
        None => session.keep(survey)?,
        Some(before) if *before == survey => {}
        Some(_) => {
            let reason = "it is another trace than when the run was begun; begin anew".to_owned();
            return Err(MethodError::Unreplayable { reason });
        }
    }
    let interrupt = session.interrupt;
    let mut kept = Kept::new(&replayed, session);
    for (index, &pass) in replayed.passes.iter().enumerate() {
        let name = pass.id();
        if kept.session.is_done(&name) {
            continue;
        }
        let mut tell = |place| kept.show(index, &name, place);
        let mut progress = Progress::new(&mut tell, &|| false);
        let passed = replayed.task(pass, true)?.run(device, interrupt, &mut progress)?;
        kept.keep_pass(passed)?;
    }
    Replayed::end(kept, device.purge_means());
    session.caveat(replayed.part_of_drive);
    Ok(())
}

/// What a thread says of a pass.
enum Message {
    Shown(usize, PassPlace),
    Ended(usize, Result<Passed, MethodError>),
}

/// Runs all passes on emulated drives, as many at once as there is room for.
pub(super) fn on_drives(
    method: &Replay,
    drives: &dyn Drives,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let (replayed, survey) = Replayed::begin(method, drives.capabilities(), session)?;
    session.keep(survey)?;
    let interrupt = session.interrupt;
    let (slots, memory) = (session.slots, drives.memory());
    // The session has room for one drive.
    let more: Vec<Permit<'_>> =
        (1..replayed.passes.len()).map_while(|_| slots.try_take(memory)).collect();
    let mut kept = Kept::new(&replayed, session);
    let queue = Queue::new(&replayed.passes, interrupt);
    let (send, receive) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..=more.len() {
            let (send, replayed, queue) = (send.clone(), &replayed, &queue);
            scope.spawn(move || work(replayed, drives, queue, &send));
        }
        drop(send);
        let result = collect(&replayed, &mut kept, &receive, &queue);
        if result.is_err() {
            queue.end_from(0);
        }
        result
    })?;
    // Each drive was handed out full: what the passes do not use is no over-provisioning.
    Replayed::end(kept, PurgeMeans::Model);
    Ok(())
}

/// Passes that threads take, one after the other.
struct Queue<'a> {
    /// Those without TRIMs first: the drive has more to do in them, and the last should be short.
    order: Vec<usize>,
    next: AtomicUsize,
    /// Passes from this one on are not wanted any more.
    end: AtomicUsize,
    interrupt: &'a Interrupt,
}

impl<'a> Queue<'a> {
    fn new(passes: &[Pass], interrupt: &'a Interrupt) -> Self {
        let mut order: Vec<usize> = (0..passes.len()).collect();
        order.sort_by_key(|&index| passes[index].trims != ReplayedTrims::Stripped);
        let end = AtomicUsize::new(passes.len());
        Self { order, next: AtomicUsize::new(0), end, interrupt }
    }

    /// The next pass that is wanted.
    fn take(&self) -> Option<usize> {
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let index = *self.order.get(place)?;
            if self.wants(index) {
                return Some(index);
            }
        }
    }

    fn wants(&self, index: usize) -> bool {
        index < self.end.load(Ordering::Relaxed) && !self.interrupt.requested()
    }

    fn end_from(&self, index: usize) {
        self.end.fetch_min(index, Ordering::Relaxed);
    }
}

fn work(
    replayed: &Replayed<'_>,
    drives: &dyn Drives,
    queue: &Queue<'_>,
    send: &mpsc::Sender<Message>,
) {
    while let Some(index) = queue.take() {
        let interrupt = Interrupt::default();
        // Nobody listens any more once an earlier pass has failed: then it ends, too.
        let mut tell = |place| drop(send.send(Message::Shown(index, place)));
        let ends = || !queue.wants(index);
        let mut progress = Progress::new(&mut tell, &ends);
        let mut drive = drives.make();
        let task = replayed.task(replayed.passes[index], false);
        let result = task.and_then(|task| task.run(&mut *drive, &interrupt, &mut progress));
        if result.is_err() {
            queue.end_from(index + 1);
        }
        drop(send.send(Message::Ended(index, result)));
    }
}

/// Keeps what passes came to, in their order, until all have ended or one has failed.
fn collect(
    replayed: &Replayed<'_>,
    kept: &mut Kept<'_, '_>,
    receive: &mpsc::Receiver<Message>,
    queue: &Queue<'_>,
) -> Result<(), MethodError> {
    let names: Vec<String> = replayed.passes.iter().map(|pass| pass.id()).collect();
    let mut ended: Vec<Option<Result<Passed, MethodError>>> = Vec::new();
    ended.resize_with(names.len(), || None);
    let mut next = 0;
    while next < ended.len() {
        match receive.recv() {
            Ok(Message::Shown(index, place)) => kept.show(index, &names[index], place),
            Ok(Message::Ended(index, result)) => ended[index] = Some(result),
            // The threads have ended without it: they were asked to.
            Err(mpsc::RecvError) => return Err(RunError::Interrupted.into()),
        }
        while let Some(result) = ended.get_mut(next).and_then(Option::take) {
            kept.keep_pass(result?)?;
            next += 1;
        }
    }
    debug_assert!(queue.take().is_none(), "all passes have ended");
    Ok(())
}
