use trimbench_core::Lba;
use trimbench_core::fault::FaultPlan;
use trimbench_ssd::Profile;

use super::*;
use crate::drive::{InitialState, made};

/// A drive with a read and a discard that have ended in the model, and when.
fn ended(delays: Delays) -> (DelayedDrive, [Instant; 2]) {
    let mut config = Profile::built_in("generic-nvme-tlc").unwrap().config;
    config.capacity = Bytes::gib(1);
    let ends = [Delays::default(), delays].map(|delays| {
        let ssd = made(config.clone(), InitialState::Filled).unwrap();
        let mut drive = DelayedDrive::new(Faulty::new(ssd, FaultPlan::default()));
        drive.delay(Instant::START, delays);
        let range = LbaRange::new(Lba(0), trimbench_core::Blocks(8)).unwrap();
        drive.submit(Instant::START, Tag(1), BlockCommand::Read(range)).unwrap();
        drive.submit(Instant::START, Tag(2), BlockCommand::Discard(range)).unwrap();
        drive
    });
    let [mut undelayed, drive] = ends;
    let all = run(&mut undelayed);
    let at = |tag| all.iter().find(|it| it.tag == Tag(tag)).unwrap().at;
    (drive, [at(1), at(2)])
}

/// Has everything happen that comes of itself within a minute.
fn run(drive: &mut DelayedDrive) -> Vec<Completion> {
    let mut out = Vec::new();
    let end = Instant::START + Nanos::from_secs(60);
    while drive.next_event() <= end {
        drive.advance(drive.next_event(), &mut out);
    }
    drive.advance(end, &mut out);
    out
}

#[test]
fn each_command_ends_by_its_delay_after_the_model() {
    let (commands, discards) = (Nanos::from_millis(20), Nanos::from_millis(7));
    let (mut drive, [read, discard]) = ended(Delays { commands, discards });
    let ends: Vec<_> = run(&mut drive).into_iter().map(|it| (it.tag, it.at)).collect();
    assert_eq!(ends, [(Tag(1), read + commands), (Tag(2), discard + commands + discards)]);
}

#[test]
fn a_delay_that_is_taken_back_ends_at_once_what_was_held_back() {
    let forever = Nanos(u64::MAX);
    let (mut drive, _) = ended(Delays { commands: forever, discards: forever });
    assert_eq!(run(&mut drive), []);
    let now = Instant::START + Nanos::from_secs(61);
    drive.delay(now, Delays::default());
    assert_eq!(drive.next_event(), now);
    let mut out = Vec::new();
    drive.advance(now, &mut out);
    let ends: Vec<_> = out.into_iter().map(|it| (it.tag, it.at)).collect();
    assert_eq!(ends, [(Tag(1), now), (Tag(2), now)]);
}
