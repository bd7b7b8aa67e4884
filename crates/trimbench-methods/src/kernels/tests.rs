use std::collections::BTreeMap;
use std::sync::LazyLock;

use trimbench_core::{
    Capabilities, Caveat, FileCommand, FileId, Instant, Next, Opened, Ppm, Workload as _,
};
use trimbench_results::{StepOf, Verdict};

use super::analysis::{FeltSystem, hurts_least};
use super::foreground::{ForegroundTimes, SerialFsync};
use super::session::{DELETION, SKIPPED, WEAR, step_id};
use super::steps::{KernelsDeletionStep, KernelsUnmountStep, KernelsWearStep, KernelsWindowStep};
use super::systems::read_systems;
use super::*;
use trimbench_engine::testing::{KeptSteps, assert_defined, close, figure, run_on, says, settings};
use trimbench_engine::{MethodDefinition as _, MethodResult, Preset, Sample};

/// Small files on a small drive.
const SMALL: [(&str, &str); 6] = [
    ("file-sizes", "256KiB,1MiB"),
    ("foreground-span", "16MiB"),
    ("deleted", "10%"),
    ("rate", "200"),
    ("window", "5s"),
    ("drive-writes", "0"),
];

fn method(set: &[(&str, &str)]) -> Kernels {
    let mut all = settings(&SMALL);
    all.extend(settings(set));
    Kernels::resolve(Preset::Quick, &all).unwrap()
}

fn refused(set: &[(&str, &str)]) -> String {
    Kernels::resolve(Preset::Quick, &settings(set)).unwrap_err().to_string()
}

fn run(method: &Kernels, target: &str, done: Vec<Step>) -> Result<MethodResult, MethodError> {
    let mut filesystems = trimbench_engine::testing::modelled(target);
    run_on(method, Opened::Filesystems(&mut filesystems), &mut KeptSteps::default(), done)
}

/// Every system on a drive whose TRIMs take 90 ms each and delay everything else.
static TABLE: LazyLock<MethodResult> =
    LazyLock::new(|| run(&method(&[]), "ext4:sim:vendor2,capacity=1GiB", Vec::new()).unwrap());

fn deletions() -> impl Iterator<Item = StepOf<'static, KernelsDeletionStep>> {
    let steps = TABLE.steps.iter().filter(|step| step.kind == DELETION);
    steps.map(|step| StepOf::read(step).unwrap_or_else(|| panic!("{} is whole", step.id)))
}

fn deletion(system: &str) -> KernelsDeletionStep {
    let id = format!("{system}-{DELETION}");
    let found = deletions().find(|deletion| deletion.step.id == id);
    found.unwrap_or_else(|| panic!("{id} was measured")).values
}

fn all_discarded(system: &str) -> f64 {
    deletion(system).all_discarded_s.unwrap()
}

fn longest_fsync(system: &str) -> f64 {
    deletion(system).window.fsync_s_max.unwrap()
}

fn lost(system: &str) -> Option<f64> {
    deletion(system).unmount.lost_at_unmount_share
}

fn value(column: &str, system: &str) -> f64 {
    figure(&TABLE.figures, &format!("{column}-under-{system}")).value
}

/// The time of all discards together over the time that they took: how many were in flight.
fn discards_in_flight(system: &str) -> f64 {
    deletion(system).discard_time_s / all_discarded(system)
}

/// Those that send one discard after the other, as `docs/model/issuers.md` has them.
const SERIAL: [&str; 4] = ["ext4", "ext4-5.15", "ext4-2.6.33", "ext4-no-journal"];
/// Those that send all of a commit or checkpoint side by side.
const SIDE_BY_SIDE: [&str; 2] = ["ext4-4.13", "xfs"];

#[test]
fn as_many_discards_are_in_flight_as_each_kernel_sends() {
    for system in SERIAL {
        let depth = discards_in_flight(system);
        assert!(depth > 0.5 && depth <= 1.0, "{system}: {depth}");
    }
    for system in SIDE_BY_SIDE {
        // Write-back throttling lets 4 through at first, fewer beside slow reads, and at most 24.
        let depth = discards_in_flight(system);
        assert!((2.0..=24.0).contains(&depth), "{system}: {depth}");
    }
}

#[test]
fn an_fsync_waits_for_the_discards_of_a_commit_and_for_no_others() {
    for system in ["ext4-2.6.33", "ext4-4.13"] {
        let (fsync, all) = (longest_fsync(system), all_discarded(system));
        assert!(fsync > 0.9 * (all - 0.1), "{system}: {fsync} s of {all} s");
    }
    // In a worker, or in the process that deletes: a TRIM or some delay each request of it.
    for system in ["ext4", "ext4-5.15", "ext4-no-journal", "btrfs-sync", "btrfs-async"] {
        let (fsync, all) = (longest_fsync(system), all_discarded(system));
        assert!(fsync < 0.5 * all, "{system}: {fsync} s of {all} s");
    }
}

#[test]
fn an_unmount_loses_what_waits_for_a_worker() {
    for system in ["ext4-4.13", "ext4-2.6.33", "xfs", "btrfs-sync"] {
        close(lost(system).unwrap(), 0.0);
    }
    for system in ["btrfs-async", "none"] {
        close(lost(system).unwrap(), 1.0);
    }
    for system in ["ext4", "ext4-5.15"] {
        let lost = value("lost", system);
        assert!((90.0..100.0).contains(&lost), "{system}: {lost} %");
    }
    // Without a journal only metadata wait for the worker.
    assert!(value("lost", "ext4-no-journal") < 1.0);
    for system in ["fstrim-ext4", "fstrim-xfs", "fstrim-btrfs"] {
        assert_eq!(lost(system), None, "{system}: its next run discards everything");
    }
}

#[test]
fn as_much_is_discarded_as_was_freed_or_more() {
    let discarded = |system| value("discarded", system);
    for system in ["ext4-4.13", "ext4-2.6.33", "ext4-no-journal", "xfs"] {
        close(discarded(system), 1.0);
    }
    // What is written again while it waits for the worker is left out.
    let clipped = discarded("ext4-5.15");
    assert!((0.98..=1.0).contains(&clipped), "{clipped}");
    // Tree blocks that a commit replaces are discarded too.
    assert!((1.0..1.05).contains(&discarded("btrfs-sync")), "{}", discarded("btrfs-sync"));
    // To the end of the free space; all that is free in the group; all that is free.
    for system in ["ext4", "btrfs-async", "fstrim-ext4", "fstrim-xfs", "fstrim-btrfs"] {
        assert!(discarded(system) > 1.02, "{system}: {}", discarded(system));
    }
    assert!(discarded("none") <= 0.0);
    assert_eq!(deletion("none").all_discarded_s, None);
}

#[test]
fn discards_begin_when_each_kernel_sends_them() {
    // A commit comes with the next fsync, each 100 ms, except on btrfs: every 30 s; its worker
    // waits for another 120 s.
    for system in SERIAL.into_iter().chain(SIDE_BY_SIDE) {
        assert!(all_discarded(system) < 60.0, "{system}");
    }
    assert!((120.0..160.0).contains(&all_discarded("btrfs-async")));
}

#[test]
fn p99_9_has_twice_the_reads_that_it_needs() {
    let lab = Kernels::resolve(Preset::Quick, &settings(&[])).unwrap();
    let reads = lab.window.0 / lab.gap.0;
    assert!(reads >= 2 * 10_000, "{reads}");
}

#[test]
fn windows_of_all_systems_are_equal_and_hold_the_discards() {
    for deletion in deletions() {
        let (window, id) = (&deletion.window, &deletion.step.id);
        // 200 a second for 5 s, at random: five standard deviations.
        let reads = window.read_response.count();
        assert!((840..=1_160).contains(&reads), "{id}: {reads}");
        let begin = window.window_begin_s;
        let late = if id.starts_with("btrfs-async") { 100.0..160.0 } else { 0.0..35.0 };
        assert!(late.contains(&begin), "{id}: {begin} s");
    }
    // Each TRIM stops this drive for 90 ms.
    for system in SERIAL.into_iter().chain(SIDE_BY_SIDE).chain(["btrfs-sync", "btrfs-async"]) {
        assert!(value("longest-read", system) > 80.0, "{system}");
    }
    assert!(deletion("ext4").window.window_begin_s < 1.0);
}

#[test]
fn the_deletions_are_the_same_under_every_system() {
    let deleted: Vec<(Bytes, Bytes)> =
        deletions().map(|it| (it.deleted_bytes, it.unmount.deleted_before_unmount_bytes)).collect();
    assert!(deleted.len() >= 12 && deleted.iter().all(|it| *it == deleted[0]), "{deleted:?}");
    let tenth = deletion("ext4").room_bytes.0 as f64 / 10.0;
    assert!((tenth..tenth + 1_048_576.0).contains(&(deleted[0].0.0 as f64)), "{deleted:?}");
}

#[test]
fn nothing_stutters_where_nothing_is_discarded() {
    assert!(value("stutter", "none") < 0.05, "{}", value("stutter", "none"));
    assert!(value("stutter", "ext4") > 10.0, "every TRIM stops this drive");
    assert!(value("longest-read", "ext4") > 80.0, "for as long as it takes");
    assert!(value("longest-read-before", "ext4") < 80.0);
}

#[test]
fn figures_are_those_that_are_defined() {
    let lab = method(&[]);
    assert_defined(&lab.metrics(), &TABLE.figures);
    let Some(Verdict::LeastWaitOnly { system, without }) = &TABLE.figures[0].verdict else {
        panic!("{:?}", TABLE.figures[0]);
    };
    assert_eq!(system, "none", "this drive is better off without TRIM, as long as wear is free");
    let wait = value("longest-read", "none").max(value("longest-fsync", "none"));
    close(TABLE.figures[0].value, wait);
    assert_eq!(*without, trimbench_results::number::quantity(wait, "ms"), "it is the baseline");
    assert!(
        TABLE.figures[0].title.contains("in 5s of a mass deletion"),
        "{}",
        TABLE.figures[0].title
    );
}

#[test]
fn a_run_goes_on_with_the_steps_that_are_missing() {
    let target = "ext4:sim:generic-sata-tlc,capacity=1GiB";
    let set = [("systems", "xfs,ext4-4.13"), ("drive-writes", "1"), ("churn", "20MB")];
    let lab = method(&set);
    let whole = run(&lab, target, Vec::new()).unwrap();
    let ids: Vec<&str> = whole.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["ext4-4.13-deletion", "ext4-4.13-wear", "xfs-deletion"], "no wear of XFS");
    assert_eq!(whole.caveats, [Caveat::AllocatorNotModelled]);
    let done: Vec<Step> = [1, 2].map(|at| whole.steps[at].clone()).into();
    let resumed = run(&lab, target, done).unwrap();
    assert_eq!(resumed.steps, whole.steps, "each begins with the same drive");
    assert_eq!(resumed.figures, whole.figures);
}

#[test]
fn a_drive_that_learns_nothing_of_deletions_wears_more() {
    let set = [
        ("systems", "ext4,ext4-4.13,fstrim-ext4,none"),
        ("drive-writes", "4"),
        ("churn", "1MB"),
        ("window", "1s"),
    ];
    let found = run(&method(&set), "ext4:sim:vendor6,capacity=1GiB", Vec::new()).unwrap();
    let of = |system: &str| figure(&found.figures, &format!("amplification-under-{system}")).value;
    for system in ["ext4", "ext4-4.13"] {
        assert!(of(system) + 0.2 < of("none"), "{system}: {} and {}", of(system), of("none"));
    }
    assert!(of("ext4-4.13") < of("fstrim-ext4"), "once in a drive write is late");
    let Some(Verdict::LeastWait { system, .. }) = &found.figures[0].verdict else {
        panic!("{:?}", found.figures[0]);
    };
    assert_eq!(system, "ext4 (Linux 6.8 on)");
}

#[test]
fn systems_that_cannot_be_made_are_skipped_by_name_unless_they_were_named() {
    let short = [("window", "1s")];
    let with_journal = "ext4,journal=8MiB:sim:generic-nvme-tlc,capacity=1GiB";
    let found = run(&method(&short), with_journal, Vec::new()).unwrap();
    let skipped = found.steps.iter().filter(|step| step.kind == SKIPPED);
    let skipped: Vec<&str> = skipped.map(|step| step.id.as_str()).collect();
    for id in ["btrfs-sync-skipped", "btrfs-async-skipped", "fstrim-btrfs-skipped"] {
        assert!(skipped.contains(&id), "{skipped:?}");
    }
    assert!(found.figures.iter().any(|figure| figure.id == "stutter-under-xfs"));
    assert!(!found.figures.iter().any(|figure| figure.id.ends_with("-under-btrfs-sync")));

    let error = run(&method(&[("systems", "xfs,btrfs-sync")]), with_journal, Vec::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("option `systems` of `kernels`"), "{error}");
    assert!(error.contains("`journal` is a setting of ext4 and xfs, not of btrfs"), "{error}");

    let of_an_era = "ext4,era=4.13:sim:generic-nvme-tlc,capacity=1GiB";
    let error = run(&method(&[]), of_an_era, Vec::new()).unwrap_err().to_string();
    assert!(error.contains("`era` is for the method to decide"), "{error}");
}

#[test]
fn systems_are_chosen_by_name_in_the_order_of_the_table() {
    let ids = |text: &str| -> Vec<&str> {
        read_systems(text).unwrap().into_iter().map(ComparedSystem::id).collect()
    };
    assert_eq!(ids("none, xfs,ext4-4.13"), ["ext4-4.13", "xfs", "none"]);
    let all = ids("all");
    assert_eq!((all.first(), all.last()), (Some(&"ext4"), Some(&"none")));
    for absent in ["blkdiscard", "zfs-autotrim", "freebsd-2013"] {
        assert!(!all.contains(&absent), "{absent} is no filesystem's");
    }
    for (set, said) in [
        (("systems", "ext4-4.12"), "did you mean `ext4-4.13`?"),
        (("systems", "xfs,"), "there is no system ``"),
        (("systems", "xfs,xfs"), "`xfs` is named twice"),
        (("deleted", "46%"), "out of range"),
        (("used", "40%"), "two deletions of 25% are more than `used`, 40%"),
        (("access", "5000B"), "not a multiple of 4KiB"),
        (("churn", "1KB"), "out of range"),
    ] {
        let error = refused(&[set]);
        assert!(error.contains(said), "{set:?}: {error}");
    }
}

#[test]
fn only_a_modelled_filesystem_that_discards_fits() {
    let lab = method(&[]);
    let medium = Medium::Directory { available: Bytes::gib(1), fs_block: Bytes(4_096) };
    let device = says(Bytes::gib(1), Bytes(4_096), Bytes::gib(1));
    let good = Capabilities { medium, ..device.clone() };
    assert_eq!(lab.fits(&good), Ok(()));
    let real = Capabilities { clock: Clock::Wall, ..good.clone() };
    for other in [&device, &real] {
        assert!(lab.fits(other).unwrap_err().to_string().contains("name `ext4:sim:NAME`"));
    }
    let without = Capabilities { discard: Support::None, ..good.clone() };
    assert!(lab.fits(&without).unwrap_err().to_string().contains("takes no discards"));
    let available = Bytes::mib(100) - Bytes(1);
    let medium = Medium::Directory { available, fs_block: Bytes(4_096) };
    let small = lab.fits(&Capabilities { medium, ..good }).unwrap_err().to_string();
    assert!(small.contains("it needs 100MiB"), "{small}");
}

#[test]
fn an_fsync_follows_each_write_and_keeps_to_its_grid() {
    let at = |millis| Instant::START + Nanos::from_millis(millis);
    let mut fsyncs = SerialFsync::new(FileId(7), Nanos::from_millis(100), at(0));
    let mut issued = |now, is_fsync: bool| {
        let Next::Issue { command, .. } = fsyncs.next(now) else { panic!("nothing is issued") };
        assert_eq!(matches!(command, FileCommand::Fsync { .. }), is_fsync, "{command:?}");
        assert_eq!((command.file(), fsyncs.next(now)), (Some(FileId(7)), Next::Await));
        fsyncs.completed(&command, now);
    };
    issued(at(0), false);
    // It takes two and a half intervals.
    issued(at(250), true);
    assert_eq!(fsyncs.next(at(250)), Next::Issue { intended: at(250), command: fsyncs_append() });
    fsyncs.completed(&fsyncs_append(), at(251));
    fsyncs.completed(&FileCommand::Fsync { file: FileId(7) }, at(252));
    assert_eq!(fsyncs.next(at(252)), Next::NotBefore(at(300)), "late ones are not made up for");
}

#[test]
fn only_probes_that_were_later_than_any_before_stutter() {
    let stop = std::cell::Cell::new(false);
    let note = |times: &mut ForegroundTimes, micros: &[u64]| {
        for latency in micros {
            let command = FileCommand::Fsync { file: FileId(0) };
            let issued = Instant::START;
            let completed = issued + Nanos::from_micros(*latency);
            let status = trimbench_core::Status::Done;
            let sample = Sample { stream: 1, command, intended: issued, issued, completed, status };
            times.note(&sample, &stop);
        }
    };
    let window = Nanos::from_secs(25);
    let mut quiet = ForegroundTimes::new(Instant::START, window, None);
    note(&mut quiet, &[100, 100, 400]);
    let mut times = ForegroundTimes::new(Instant::START, window, Some(&quiet));
    note(&mut times, &[400, 399, 50, 400]);
    close(times.stutter_since(&quiet).unwrap(), 0.0);
    note(&mut times, &[1_000_200, 2_200]);
    // Less the mean of 200 us each.
    close(times.stutter_since(&quiet).unwrap(), 1.002);
    assert!(!stop.get());
    let empty = ForegroundTimes::new(Instant::START, window, None);
    assert_eq!(times.stutter_since(&empty), None);
}

fn fsyncs_append() -> FileCommand {
    let stream = trimbench_core::Stream {
        piece: 4_096,
        buffered: false,
        payload: trimbench_core::Payload::Random,
    };
    FileCommand::Append { file: FileId(7), length: Bytes(4_096), stream }
}

#[test]
fn the_shortest_wait_counts_among_those_that_wear_little() {
    let felt = |name: &str, wait, amplification| FeltSystem {
        system: read_systems(name).unwrap()[0],
        wait,
        amplification,
    };
    let all = [
        felt("ext4", 9.0, Some(1.0)),
        felt("fstrim-ext4", 5.0, Some(1.1)),
        felt("none", 1.0, Some(1.3)),
        // The least of everything, and nobody may be told to use them.
        felt("ext4-2.6.33", 0.1, Some(0.5)),
        felt("ext4-no-journal", 0.1, Some(0.5)),
        felt("f2fs", 0.1, None),
        // What it writes is not known.
        felt("xfs", 0.1, None),
    ];
    let least = |slack| hurts_least(&all, Ppm(slack)).unwrap().wait;
    close(least(0), 9.0);
    close(least(110_000), 5.0);
    close(least(300_001), 1.0);
    let unworn = all.map(|it| FeltSystem { amplification: None, ..it });
    assert_eq!(hurts_least(&unworn, Ppm(0)).unwrap().system.id(), "xfs");
    assert_eq!(hurts_least(&all[3..6], Ppm(0)), None);
    assert_eq!(hurts_least(&[], Ppm(0)), None);
}

#[test]
fn figures_come_from_the_steps_and_carry_their_caveats() {
    let lab = method(&[("systems", "xfs,none")]);
    let xfs = lab.systems[0];
    let deletion = KernelsDeletionStep {
        window: KernelsWindowStep {
            read_response_s_max: Some(0.004),
            fsync_s_max: Some(0.18),
            ..KernelsWindowStep::default()
        },
        deleted_bytes: Bytes(2_000_000_000),
        stutter_s: Some(0.5),
        discarded_bytes: Bytes(2_000_000_000),
        unmount: KernelsUnmountStep {
            lost_at_unmount_share: Some(0.25),
            ..KernelsUnmountStep::default()
        },
        ..KernelsDeletionStep::default()
    };
    let mut deletion = Step::of(step_id(xfs, DELETION), DELETION, &deletion);
    deletion.caveat(Caveat::DiscardsWait);
    let none = lab.systems[1];
    let wear = KernelsWearStep { write_amplification: Some(1.5), ..KernelsWearStep::default() };
    let wear = Step::of(step_id(none, WEAR), WEAR, &wear);
    let unworn = analyse(&lab, std::slice::from_ref(&deletion));
    assert_eq!((figure(&unworn.figures, "least").value, unworn.caveats), (180.0, Vec::new()));
    let Findings { figures, caveats } = analyse(&lab, &[deletion, wear]);
    assert_eq!(caveats, [Caveat::AllocatorNotModelled]);
    let found: BTreeMap<&str, f64> =
        figures.iter().map(|figure| (figure.id.as_str(), figure.value)).collect();
    for (id, expected) in [
        ("least", 180.0),
        ("longest-read-under-xfs", 4.0),
        ("longest-fsync-under-xfs", 180.0),
        ("stutter-under-xfs", 0.25),
        ("discarded-under-xfs", 1.0),
        ("lost-under-xfs", 25.0),
        ("amplification-under-none", 1.5),
    ] {
        close(found[id], expected);
    }
    assert_eq!(found.len(), 7, "what was not measured is absent: {found:?}");
    let caveats = |id: &str| figure(&figures, id).caveats.clone();
    assert_eq!(caveats("stutter-under-xfs"), [Caveat::DiscardsWait.id()]);
    assert!(caveats("amplification-under-none").is_empty());
    let Findings { caveats, .. } = analyse(&lab, &[]);
    assert_eq!(caveats, [Caveat::TooFewPoints]);
}

#[test]
fn the_page_has_every_figure_and_every_system() {
    for Metric { id, .. } in method(&[("systems", "xfs")]).metrics() {
        let id = id.strip_suffix("-xfs").map_or(id.to_string(), |column| format!("{column}-S"));
        assert!(Kernels::INFO.page.contains(&format!("`{id}`")), "{id}");
    }
    for system in ComparedSystem::all() {
        assert!(Kernels::INFO.page.contains(&format!("`{}`", system.id())), "{}", system.id());
    }
}
