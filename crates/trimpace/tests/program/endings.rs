//! Passes that do not end by themselves, and what others do meanwhile.

use std::path::Path;

use serde_json::Value;
use trimbench_core::Nanos;
use trimbench_linux::pause;

use crate::stage::{EXT4, Ended, Stage, apart, holds_within, run, trimpace};

/// The default of a loop device, which the kernel does not take, and the nearest that it takes.
pub(crate) const LARGEST: u64 = 4_294_963_200;
/// More than a hundred steps, and pauses between them.
pub(crate) const SLOW: &[&str] = &["--law", "talos", "--chunk", "4M", "--delay", "50ms"];
/// One call of some hundred thousand discards.
pub(crate) const LONG: &[&str] = &["--law", "pieces", "--piece", "4K"];

/// One with some hundred free extents in four block groups.
pub(crate) fn fragmented(folder: &Path) -> Option<Stage> {
    Stage::filled(folder, "ext4", 512, EXT4)
}

/// One whose trim in pieces of 4 KiB takes some seconds.
pub(crate) fn large(folder: &Path) -> Option<Stage> {
    Stage::new(folder, "ext4", 2_048, EXT4)
}

#[test]
fn an_interrupted_pass_says_what_it_left() {
    let test = "endings::an_interrupted_pass_says_what_it_left";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = large(&folder) else { return };
    for (signal, law) in [("INT", LONG), ("TERM", LONG), ("INT", SLOW), ("TERM", SLOW)] {
        stage.mount_anew();
        let before = stage.discarded();
        let running = stage.begin(law);
        if law == LONG {
            assert!(holds_within(Nanos::from_secs(5), || stage.largest() == 4_096));
        } else {
            pause(Nanos::from_millis(800));
        }
        running.signal(signal);
        let ended = running.ended();
        assert_eq!(ended.code, Some(130), "{signal} {law:?} {ended:?}");
        assert!(ended.errors.contains(" left for another time"), "{signal} {law:?} {ended:?}");
        assert!(stage.largest() >= LARGEST, "{signal} {law:?}");
        assert!(stage.discarded() - before < 2_000 << 20, "it had ended by itself: {law:?}");
    }
}

#[test]
fn a_lazy_unmount_ends_it() {
    let Some(folder) = apart("endings::a_lazy_unmount_ends_it") else { return };
    let Some(stage) = fragmented(&folder) else { return };
    for law in [SLOW, &["--law", "mean", "--chunk", "4M"]] {
        let mut running = stage.begin(law);
        pause(Nanos::from_millis(700));
        run("umount", &["--lazy", stage.point()]);
        assert!(holds_within(Nanos::from_secs(3), || running.is_over()), "{law:?}");
        let ended = running.ended();
        assert_eq!(ended.code, Some(1), "{law:?} {ended:?}");
        assert!(ended.errors.contains("stopped: it was unmounted"), "{law:?} {ended:?}");
        assert!(stage.largest() >= LARGEST);
        assert!(holds_within(Nanos::from_secs(3), || try_mount(&stage)));
    }
}

/// Whether it is mounted: the one that was unmounted lazily may take a moment to go.
fn try_mount(stage: &Stage) -> bool {
    let output = std::process::Command::new("mount").args([&stage.node, stage.point()]).output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn a_stopped_process_is_no_latency_of_the_device() {
    let Some(folder) = apart("endings::a_stopped_process_is_no_latency_of_the_device") else {
        return;
    };
    let Some(stage) = fragmented(&folder) else { return };
    // A busy machine makes few reads later than this; a stop, those that were due in it.
    let running = stage.begin(&["--p99", "5ms", "--output-format", "json"]);
    for wait in [120, 37] {
        pause(Nanos::from_millis(wait));
        running.signal("STOP");
        pause(Nanos::from_secs(1));
        running.signal("CONT");
    }
    let ended = running.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    let filesystem = &document["filesystems"][0];
    let limit = Nanos::from_millis(500).0;
    assert!(filesystem["governor"]["late_ns"].as_u64().unwrap() < limit, "{filesystem}");
    assert!(filesystem["probe"]["longest_wait_ns"].as_u64().unwrap() < limit, "{filesystem}");
    assert!(filesystem["took_ns"].as_u64().unwrap() > Nanos::from_secs(1).0, "{filesystem}");
}

#[test]
fn what_somebody_else_sets_meanwhile_stays() {
    let Some(folder) = apart("endings::what_somebody_else_sets_meanwhile_stays") else { return };
    let Some(stage) = large(&folder) else { return };
    let running = stage.begin(LONG);
    assert!(holds_within(Nanos::from_secs(5), || stage.largest() == 4_096));
    // It has read back what it has written, and trims.
    assert!(holds_within(Nanos::from_secs(5), || stage.counted() > 8 << 20));
    stage.set_largest(64 << 20);
    let ended = running.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.largest(), 64 << 20, "{ended:?}");
    assert!(ended.errors.contains("somebody else"), "{ended:?}");
    // Nor does the next start or `restore` undo it.
    assert_eq!(trimpace(&["restore"]).code, Some(0));
    assert_eq!(stage.largest(), 64 << 20);
}

#[test]
fn two_at_once_do_no_harm() {
    let Some(folder) = apart("endings::two_at_once_do_no_harm") else { return };
    let Some(stage) = large(&folder) else { return };
    let running = stage.begin(LONG);
    assert!(holds_within(Nanos::from_secs(5), || stage.largest() == 4_096));
    let second: Ended = stage.once(&[]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.errors.contains("another trimpace works on"), "{second:?}");
    assert_eq!(stage.largest(), 4_096, "it is still the first one's");
    // `restore` leaves what a living one has borrowed alone.
    let restored = trimpace(&["restore"]);
    assert_eq!((restored.code, restored.out.as_str()), (Some(0), ""));
    run("fstrim", &[stage.point()]);
    let first = running.ended();
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(stage.largest() >= LARGEST);
    stage.check(&["e2fsck", "-fn"]);
}
