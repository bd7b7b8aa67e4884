use trimbench_core::rng::Rng;
use trimbench_core::units::rounded;
use trimbench_core::{
    Bytes, Capabilities, Caveat, Clock, FileCommand, FileId, FilesystemSpec, Instant, Medium,
    Nanos, Next, Opened, Provisioner as _, Support, Workload as _,
};
use trimbench_devices::ModelledFilesystems;
use trimbench_results::{LatencyHistogram, Step};

use super::analysis::{Point, choose};
use super::steps::{PolicyCountedStep, PolicyCycleStep, PolicyLoadStep};
use super::*;
use trimbench_engine::testing::{KeptSteps, assert_defined, close, figure, run_on, says, settings};
use trimbench_engine::{
    Churn, ChurnFiles, MethodDefinition as _, MethodError, MethodResult, Preset,
};

/// Small files on a small drive, which serves the writes of the load.
const SMALL: [(&str, &str); 8] = [
    ("file-sizes", "256KiB,1MiB"),
    ("foreground-span", "8MiB"),
    ("cycle", "20%"),
    ("stable-cycles", "2"),
    ("cycles", "3"),
    ("rate", "2000"),
    ("read-share", "95%"),
    ("btrfs-async", "delay=1s"),
];

fn method(set: &[(&str, &str)]) -> PolicyLab {
    let mut all = settings(&SMALL);
    all.extend(settings(set));
    PolicyLab::resolve(Preset::Quick, &all).unwrap()
}

fn refused(set: &[(&str, &str)]) -> String {
    PolicyLab::resolve(Preset::Quick, &settings(set)).unwrap_err().to_string()
}

fn modelled(drive: &str) -> ModelledFilesystems {
    trimbench_engine::testing::modelled(&format!("ext4,journal=8MiB:sim:{drive},capacity=512MiB"))
}

fn run(method: &PolicyLab, drive: &str) -> Result<(MethodResult, KeptSteps), MethodError> {
    let mut keeper = KeptSteps::default();
    let mut filesystems = modelled(drive);
    let found = run_on(method, Opened::Filesystems(&mut filesystems), &mut keeper, Vec::new())?;
    Ok((found, keeper))
}

#[test]
fn the_policies_are_those_of_the_modelled_filesystem() {
    let filesystems = modelled("vendor6");
    let spec = |text: &str| FilesystemSpec {
        discard: trimbench_core::DiscardMode::Policy(text.to_owned()),
        ..FilesystemSpec::default()
    };
    for preset in Preset::ALL {
        let lab = PolicyLab::resolve(preset, &settings(&[("policies", "all")])).unwrap();
        // And `ext4` again, behind a smaller limit for discards.
        assert_eq!(lab.policies.len(), trimbench_policy::POLICIES.len() + 1);
        for (_, text) in &lab.policies {
            assert_eq!(filesystems.check(&spec(text)), Ok(()), "{text}");
        }
    }
}

#[test]
fn policies_are_chosen_by_name_and_take_their_parameters() {
    let lab =
        method(&[("policies", "paced, none,fstrim-weekly"), ("target", "3ms"), ("paced", "")]);
    let expected =
        [("fstrim-weekly", "fstrim-weekly"), ("none", "none"), ("paced", "paced,target=3ms")];
    let expected = expected.map(|(name, text)| (name, text.to_owned()));
    assert_eq!(lab.policies, expected);
    for (set, said) in [
        (("policies", "none,pased"), "did you mean `paced`?"),
        (("policies", "none,online"), "did you mean `ext4-4.13`?"),
        (("policies", "none,"), "there is no policy ``"),
        (("policies", "none,none"), "`none` is named twice"),
        (("rate", "0"), "out of range; give 1 to 1000000"),
        (("churn", "1KB"), "out of range"),
        (("used", "96%"), "out of range"),
        (("age", "70%"), "out of range; give 80% to 98%"),
        (("cycles", "3"), "out of range; give 4 to 1000"),
        (("access", "5000B"), "not a multiple of 4KiB"),
        (("target", "1us"), "out of range"),
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

/// All commands of a churn that get ended at once, with the time at which each was issued.
fn played(churn: &mut Churn, bytes: Bytes) -> Vec<(Instant, FileCommand)> {
    let mut now = Instant::START;
    churn.begin(now, bytes);
    let mut commands = Vec::new();
    loop {
        match churn.next(now) {
            Next::Issue { command, .. } => {
                commands.push((now, command));
                assert_eq!(churn.next(now), Next::Await, "one after the other");
                churn.completed(&command, now);
            }
            Next::NotBefore(at) => now = at,
            Next::Await => panic!("nothing is under way"),
            Next::Done => return commands,
        }
    }
}

#[test]
fn files_come_and_go_within_their_room_and_at_their_rate() {
    let lab = method(&[("churn", "1MiB"), ("file-sizes", "256KiB,512KiB")]);
    let budget = Bytes::mib(4);
    let files = ChurnFiles { sizes: lab.sizes.clone(), budget, rate: lab.churn, first: FileId(1) };
    let new = || Churn::new(files.clone(), Rng::new(3));
    let mut churn = new();
    let grown = churn.grow(Bytes::mib(5));
    let shrunk = churn.shrink();
    assert!(shrunk.iter().all(|it| matches!(it, FileCommand::Unlink { .. })));
    let played_once = played(&mut churn, Bytes::mib(20));
    let mut again = new();
    assert_eq!((again.grow(Bytes::mib(5)), again.shrink()), (grown.clone(), shrunk.clone()));
    assert_eq!(played(&mut again, Bytes::mib(20)), played_once, "the same operations");

    let mut live = std::collections::BTreeMap::new();
    let (mut made, mut first) = (0, true);
    let aged = [grown, shrunk].concat().into_iter().map(|command| (None, command));
    let cycled = played_once.iter().map(|(at, command)| (Some(*at), *command));
    for (at, command) in aged.chain(cycled) {
        match command {
            FileCommand::Create { file } => assert_eq!(live.insert(file, 0), None),
            FileCommand::Write { file, offset, length } => {
                let size = live.get_mut(&file).expect("it was made");
                assert_eq!(*size, offset.0, "in order");
                *size += length.0;
                made += if at.is_some() { length.0 } else { 0 };
            }
            FileCommand::Unlink { file } => assert!(live.remove(&file).is_some()),
            other => panic!("{other:?}"),
        }
        let most = if at.is_some() { budget } else { Bytes::mib(5) };
        let sum: u64 = live.values().sum();
        assert!(sum <= most.0, "{sum}");
        if at.is_some() && first {
            assert!(sum > Bytes::mib(3).0, "{sum}: not more than needed is deleted");
            first = false;
        }
    }
    assert!((Bytes::mib(20).0..Bytes::mib(21).0).contains(&made), "{made}");
    let last = played_once.last().unwrap().0.since_start();
    close(last.seconds(), (made - (128 << 10)) as f64 / f64::from(1 << 20));
}

#[test]
fn every_policy_meets_the_same_operations_and_its_counters_add_up() {
    let lab = method(&[("policies", "none,ext4,btrfs-async,paced")]);
    let (found, keeper) = run(&lab, "vendor6").unwrap();
    assert_eq!(found.steps, keeper.steps);
    let cycles = |policy: &str| -> Vec<PolicyCycleStep> {
        let cycles = found.steps.iter().filter(|step| step.kind == policy);
        cycles.map(|step| step.read().unwrap()).collect()
    };
    let made = |policy: &str| -> Vec<Bytes> {
        cycles(policy).iter().map(|cycle| cycle.load.files_made_bytes).collect()
    };
    let none = made("none");
    assert_eq!(none.len(), 3, "as many as there are to be");
    for (policy, _) in &lab.policies {
        let made = made(policy);
        assert_eq!(made, none, "{policy}");
        let last = cycles(policy).pop().unwrap().counted;
        let known = last.issued.bytes + last.skipped.bytes + last.invalidated.bytes;
        assert_eq!(known + last.waiting_bytes, last.freed.bytes);
        assert!(last.freed.bytes > none[0], "{policy}");
    }
    let of = |id: &str| figure(&found.figures, id).value;
    assert!(of("trimmed-under-none") <= 0.0 && of("issued-under-none") <= 0.0);
    close(of("not-trimmed-under-none"), of("freed-under-none"));
    close(of("trimmed-under-ext4"), of("freed-under-ext4"));
    assert!(of("untrimmed-under-none") > of("untrimmed-under-ext4"));
    assert!(of("deferred-under-btrfs-async") > 0.0 && of("waited-under-btrfs-async") > 0.0);
    assert!(of("amplification-under-none") >= of("amplification-under-ext4"));
    assert_defined(&lab.metrics(), &found.figures);
    let lacks = |metric: &Metric| found.figures.iter().all(|figure| figure.id != metric.id);
    let lacking: Vec<Metric> = lab.metrics().into_iter().filter(lacks).collect();
    assert!(lacking.iter().all(|it| it.id.starts_with("cycles-under")), "{lacking:?}");
    let (again, _) = run(&lab, "vendor6").unwrap();
    assert_eq!(again.trace_hash, found.trace_hash);
}

#[test]
fn cycles_are_as_many_whether_the_amplification_is_stable_or_not() {
    for (tolerance, unsteady) in [("50%", false), ("0.1%", true)] {
        let lab = method(&[("policies", "none"), ("tolerance", tolerance), ("cycles", "4")]);
        let (found, _) = run(&lab, "vendor6").unwrap();
        assert_eq!(found.steps.len(), 4, "{tolerance}: windows are equal under all policies");
        let stable = found.figures.iter().find(|figure| figure.id == "cycles-under-none");
        assert_eq!(stable.is_none(), unsteady, "{stable:?}");
        let figure = figure(&found.figures, "amplification-under-none");
        assert_eq!(figure.n, 2, "of the last");
        let caveat = Caveat::NoSteadyState.id();
        assert_eq!(figure.caveats.iter().any(|id| id == caveat), unsteady, "{tolerance}");
        let headline = &found.figures[0];
        assert_eq!(headline.caveats.iter().any(|id| id == caveat), unsteady, "{tolerance}");
    }
}

#[test]
fn a_week_is_as_much_written_as_in_kernels() {
    let none = settings(&[]);
    let lab = PolicyLab::resolve(Preset::Quick, &none).unwrap();
    let text = lab.text_in("fstrim-weekly", "fstrim-weekly", Bytes(4_000_000_000));
    assert_eq!(text, "fstrim-weekly,period=200s", "4 GB at 20 MB/s");
    let set = lab.text_in("fstrim-weekly", "fstrim-weekly,period=7s", Bytes(4_000_000_000));
    assert_eq!(set, "fstrim-weekly,period=7s");
    assert_eq!(lab.text_in("none", "none", Bytes(1)), "none");
    // The cycles that count are whole weeks, and the p99.9 has twice what it needs.
    assert_eq!(lab.window as u64 * u64::from(lab.cycle.0) % u64::from(lab.week.0), 0);
    let counted = lab.window as f64 * f64::from(lab.cycle.0) / 1e6 * 200.0;
    assert!(counted * 1e9 / lab.gap.0 as f64 >= 20_000.0);
}

#[test]
fn parameters_of_a_policy_that_cannot_be_end_it_before_anything_is_measured() {
    let lab = method(&[("policies", "none,paced"), ("paced", "tolerance=200%")]);
    let error = run(&lab, "vendor6").err().unwrap().to_string();
    assert!(
        error.contains(
            "option `paced` of `policy`: parameter `tolerance` of `paced`: `200%` is out of range"
        ),
        "{error}"
    );
    let lab = method(&[("paced", "tolerence=5%")]);
    let error = run(&lab, "vendor6").err().unwrap().to_string();
    assert!(error.contains("did you mean `tolerance`?"), "{error}");
}

#[test]
fn the_policy_to_choose_is_quick_among_those_that_wear_little() {
    let point =
        |policy, tail, amplification, throughput| Point { policy, tail, amplification, throughput };
    let points = [
        point("none", 1.0, 3.0, 20.0),
        // Nobody can be told to go back to it.
        point("ext4-2.6.33", 0.9, 0.9, 30.0),
        point("ext4", 90.0, 1.0, 15.0),
        point("btrfs-async", 40.0, 1.05, 16.0),
        point("fstrim-weekly", 41.0, 1.06, 16.0),
        point("paced", 1.5, 1.2, 19.0),
    ];
    let best = |slack: &str, lost: &str| {
        choose(&points, &method(&[("slack", slack), ("lost", lost)])).unwrap().policy
    };
    for (slack, chosen) in
        [("0%", "ext4"), ("10%", "btrfs-async"), ("25%", "paced"), ("300%", "none")]
    {
        assert_eq!(best(slack, "50%"), chosen);
    }
    // The least amplification of those that are fast enough.
    assert_eq!(
        [best("10%", "22%"), best("10%", "10%"), best("10%", "1%")],
        ["btrfs-async", "paced", "none"]
    );
    let front: Vec<&str> =
        points[2..].iter().filter(|it| it.is_best(&points[2..])).map(|it| it.policy).collect();
    assert_eq!(front, ["ext4", "btrfs-async", "paced"]);
    assert_eq!(choose(&[], &method(&[])), None);
}

/// Two cycles with a tail of so many ms and these amplifications, and a TRIM of so many ms.
fn cycles(policy: &str, tail: u64, amplifications: [f64; 2], longest: f64) -> Vec<Step> {
    let cycle = |(at, amplification): (usize, f64)| {
        let mut responses = LatencyHistogram::new();
        for count in 0..10_000 {
            let slow = count % 500 == 0;
            responses.record(Nanos::from_micros(if slow { 1_000 * tail } else { 100 }));
        }
        let load = PolicyLoadStep {
            cycle_s: 40.0,
            files_made_bytes: Bytes(800_000_000),
            response_time: responses,
        };
        let counted = PolicyCountedStep {
            host_written_bytes: Bytes(1_000_000_000),
            media_written_bytes: Bytes(rounded(1e9 * amplification)),
            write_amplification: Some(amplification),
            discard_s_max: longest / 1e3,
            ..PolicyCountedStep::default()
        };
        let values = PolicyCycleStep { cycle: 1, load, counted };
        Step::of(format!("{policy}-cycle-{at}"), policy, &values)
    };
    amplifications.into_iter().enumerate().map(cycle).collect()
}

#[test]
fn figures_are_those_of_the_last_cycles_together() {
    let lab = method(&[("policies", "none,ext4,paced")]);
    let mut steps = cycles("none", 500, [9.0, 3.0], 0.0);
    steps.extend(cycles("none", 2, [3.0, 3.1], 0.0).into_iter().skip(1));
    steps.extend(cycles("ext4", 50, [1.1, 1.1], 20.0));
    steps.extend(cycles("paced", 3, [1.2, 1.6], 4.0));
    let Findings { figures, .. } = analyse(&lab, &steps);
    let of = |id: &str| figure(&figures, id).value;
    close(of("amplification-under-none"), 3.05);
    close(of("throughput-under-none"), 20.0);
    close(of("cycles-under-none"), 3.0);
    close(of("trim-under-ext4"), 20.0);
    assert!((of("p99.9-under-ext4") - 50.0).abs() < 0.5);
    assert!((of("p50-under-ext4") - 0.1).abs() < 0.01);
    let headline = &figures[0];
    let words = headline.words().unwrap();
    assert!(words.starts_with("`ext4 (Linux 6.8 on)`: the lowest p99.9"), "{words}");
    let title = "p99.9 of 95% reads and 5% writes of 4KiB over 8MiB, under the policy to choose";
    assert_eq!(headline.title, title);
    assert!((of("policy-over-none") - 25.0).abs() < 0.3, "50 ms over 2 ms");
    assert!(headline.headline && headline.words().unwrap().ends_with("ext4, none, paced"));
    let unsteady = |id: &str| figure(&figures, id).caveats == [Caveat::NoSteadyState.id()];
    assert!(unsteady("p99.9-under-paced") && !unsteady("p99.9-under-none"));
    assert_eq!(figure(&figures, "p99.9-under-ext4").words().as_deref(), Some("to choose"));
    assert_eq!(figure(&figures, "p99.9-under-paced").words().as_deref(), Some("front"));
}

#[test]
fn a_target_is_kept_missed_or_impossible() {
    let lab = method(&[("policies", "none,paced"), ("target", "10ms")]);
    for (none, paced, longest, said) in [
        (1, 9, 4.0, "kept"),
        (1, 9, 92.0, "kept by trimming rarely: one TRIM takes 92 ms"),
        (1, 11, 92.0, "not possible: one TRIM takes 92 ms"),
        (12, 11, 92.0, "not possible: one TRIM takes 92 ms; missed without any TRIM too"),
        (12, 11, 4.0, "missed, and without any TRIM too"),
        (1, 11, 4.0, "missed"),
    ] {
        let mut steps = cycles("none", none, [1.0, 1.0], 0.0);
        steps.extend(cycles("paced", paced, [1.0, 1.0], longest));
        let Findings { figures, .. } = analyse(&lab, &steps);
        let target = figure(&figures, "paced-over-target");
        assert_eq!(target.words().as_deref(), Some(said));
        assert!((target.value - paced as f64 / 10.0).abs() < 0.01, "{}", target.value);
    }
}

#[test]
fn too_few_accesses_leave_no_choice() {
    let lab = method(&[("policies", "none")]);
    let mut steps = cycles("none", 1, [1.0, 1.0], 0.0);
    for step in &mut steps {
        let mut load: PolicyLoadStep = step.read().unwrap();
        load.response_time = LatencyHistogram::new();
        load.response_time.record(Nanos::from_micros(100));
        step.store(&load);
    }
    let Findings { figures, caveats } = analyse(&lab, &steps);
    assert_eq!(caveats, [Caveat::TooFewPoints]);
    assert!(figures.iter().all(|figure| !figure.headline && figure.id != "p99.9-under-none"));
    assert!(figures.iter().any(|figure| figure.id == "amplification-under-none"));
}

#[test]
fn the_page_has_every_figure() {
    for Metric { id, .. } in method(&[("policies", "paced")]).metrics() {
        let id = id.strip_suffix("-paced").map_or(id.to_string(), |column| format!("{column}-P"));
        assert!(PolicyLab::INFO.page.contains(&format!("`{id}`")), "{id}");
    }
}
