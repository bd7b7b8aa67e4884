//! When the log says that a request arrived, beside when the kernel issued it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ::tests::Need::{Fuse, Loop, Program, Root, Tracing};
use anyhow::{Context as _, Result, ensure};
use trimbench_attach::{AttachedDrive, Attachment, Engine, LogEntry, LogEvent, LoggedCommand};
use trimbench_core::{Bytes, Nanos, OperationKind};
use trimbench_linux::{RecordedCommand, RecordedEvent, Recorder, monotonic_time};

use super::{SOURCES, config, filled, fio};
use crate::entry::Entry;
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

pub(crate) const ENTRY: Entry = Entry {
    name: "arrivals",
    title: "The log's time of a request's arrival, beside the kernel's `block_rq_issue`",
    needs: &[Root, Loop, Fuse, Tracing, Program("fio")],
    sources: SOURCES,
    run,
};

const PROFILE: &str = "generic-sata-tlc";
/// The most that an arrival may be stamped later than the request was issued, at p99, us.
const LATER_MAX: f64 = 100.0;
/// How often the kernel's events are taken: its buffers hold seconds of them.
const INTERVAL: Duration = Duration::from_millis(20);
/// How often the two clocks are read together: the closest reading counts.
const READINGS: usize = 100;
/// Bytes of a logical block.
const BLOCK: u64 = 512;

/// What tells one request from another: its kind, and its first byte.
type Place = (OperationKind, u64);

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let seconds = format!("--runtime={}", lab.form(10, 120));
    let drive = AttachedDrive::attach(Attachment { logs: true, ..filled(config(PROFILE)?) })?;
    let mut recorder = Recorder::start(drive.node(), RecordedEvent::Issued)?;
    let begin = monotonic_time().saturating_sub(recorder.elapsed());
    let origin = origin(drive.engine());
    drop(drive.engine().take_log());
    let load = ["--rw=randrw", "--bs=4k", "--iodepth=32", "--time_based", &seconds];
    let pace = ["--rate_iops=2000,2000", "--rate_process=poisson", "--size=2g"];
    let trims = ["--name=trims", "--rw=randtrim", "--bs=64k", "--offset=2g", "--size=1g"];
    let rare = ["--iodepth=1", "--rate_iops=,,20", "--time_based", &seconds];
    let ends = AtomicBool::new(false);
    let (issued, lost) = thread::scope(|scope| {
        let taking = scope.spawn(|| {
            let mut taken = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                recorder.take(&mut taken);
                thread::sleep(INTERVAL);
            }
            recorder.take_rest(&mut taken);
            (taken, recorder.lost())
        });
        let ran = fio(lab, drive.node(), &[&load[..], &pace, &trims, &rare].concat());
        ends.store(true, Ordering::Relaxed);
        let taken = taking.join();
        ran.and(taken.ok().context("what takes the events has failed"))
    })?;
    ensure!(lost == 0, "the kernel lost {lost} events");
    let log = drive.engine().take_log();
    let (later, unknown) = matched(&issued, begin, &log, origin);
    let [half, most] = [0.5, 1.0].map(|share| quantile(&later, share) / 1e3);
    let note = format!("of {} requests; median {half:.1}, at most {most:.0} us", later.len());
    Ok(vec![
        Figure::new(
            "from the issue of a request to its arrival, p99",
            (quantile(&later, 0.99) / 1e3, "us"),
            Bar::AtMost(LATER_MAX),
        )
        .with_note(note),
        Figure::new(
            "arrivals without a request that the kernel issued",
            (unknown as f64, ""),
            Bar::Equals(0.0),
        ),
    ])
}

/// The machine's time at which the drive's began.
fn origin(engine: &Engine) -> Nanos {
    let reading = || monotonic_time().saturating_sub(engine.elapsed());
    (0..READINGS).map(|_| reading()).max().unwrap_or(Nanos::ZERO)
}

/// How much later each request of the log arrived than it was issued, ns, and how many were not
/// issued. Of several to the same place the first that was issued is the first that arrived.
fn matched(
    issued: &[RecordedCommand],
    begin: Nanos,
    log: &[LogEntry],
    origin: Nanos,
) -> (Vec<f64>, usize) {
    let mut known: BTreeMap<Place, VecDeque<Nanos>> = BTreeMap::new();
    for RecordedCommand { at, kind, offset: Bytes(offset), .. } in issued {
        known.entry((*kind, *offset)).or_default().push_back(begin + *at);
    }
    let (mut later, mut unknown) = (Vec::new(), 0);
    for LogEntry { at, event } in log {
        let LogEvent::Submitted { command, .. } = event else { continue };
        let mut times = known.get_mut(&place(*command));
        match times.as_mut().and_then(|times| times.pop_front()) {
            Some(issued) => later.push((origin + Nanos(*at)).0 as f64 - issued.0 as f64),
            None => unknown += 1,
        }
    }
    (later, unknown)
}

fn place(command: LoggedCommand) -> Place {
    match command {
        LoggedCommand::Read { lba, .. } => (OperationKind::Read, lba * BLOCK),
        LoggedCommand::Write { lba, .. } => (OperationKind::Write, lba * BLOCK),
        LoggedCommand::Discard { lba, .. } => (OperationKind::Discard, lba * BLOCK),
        LoggedCommand::Flush => (OperationKind::Flush, 0),
    }
}

/// What so large a part of the values does not exceed; NaN without any.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // Of positive numbers the next whole one is found without rounding.
    let place = (0..sorted.len()).find(|place| (place + 1) as f64 >= share * sorted.len() as f64);
    place.map_or(f64::NAN, |place| sorted[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_to_one_place_are_matched_in_their_order() {
        let issue = |at, kind, block: u64| RecordedCommand {
            at: Nanos(at),
            kind,
            offset: Bytes(block * BLOCK),
            length: Bytes(BLOCK),
        };
        let [read, write] = [OperationKind::Read, OperationKind::Write];
        let issued = [issue(10, read, 8), issue(20, write, 8), issue(30, read, 8)];
        let arrival = |at, lba| LogEntry {
            at,
            event: LogEvent::Submitted { tag: 0, command: LoggedCommand::Read { lba, blocks: 1 } },
        };
        let log = [arrival(5, 8), arrival(33, 8), arrival(40, 8), arrival(41, 9)];
        // The recording began at 100 of the machine's time, and the drive at 107.
        let (later, unknown) = matched(&issued, Nanos(100), &log, Nanos(107));
        assert_eq!((later, unknown), (vec![2.0, 10.0], 2));
    }
}
