use trimbench_core::fault::FaultPlan;
use trimbench_core::{Caveat, Data, Errno, Instant, Nanos, Ppm, PurgeMeans, Target as _, Virtual};
use trimbench_results::{Figure, Step};

use super::steps::RecoveryPassStep;
use super::*;
use trimbench_core::BlockCommand;
use trimbench_engine::testing::{
    KeptSteps, Toy, assert_defined, emulated, faulty, figure, profile, run, settings, small_tlc,
};
use trimbench_engine::{
    ASSUMED_RATE, Method, MethodDefinition as _, PassStep, PhaseStep, Preset, RunError, SteadyStep,
    WindowStep,
};

fn method(set: &[(&str, &str)]) -> Recovery {
    Recovery::resolve(Preset::Quick, &settings(set)).unwrap()
}

fn verdict(figures: &[Figure], id: &str) -> String {
    figure(figures, id).words().unwrap()
}

#[test]
fn a_tlc_drive_is_fragmented_by_random_writes_and_back_to_new_after_trim() {
    let mut drive = emulated(profile("plain-nvme-tlc", Bytes::gib(1)));
    let found = run(&method(&[]), &mut drive, &mut KeptSteps::default()).unwrap();
    let value = |id| figure(&found.figures, id).value;
    assert!(value("trimmed-of-fresh") >= 0.98, "{}", value("trimmed-of-fresh"));
    assert!(value("fragmented-of-fresh") < 0.5, "{}", value("fragmented-of-fresh"));
    assert!(value("self-healed-of-fresh") > value("fragmented-of-fresh") + 0.3);
    assert!(figure(&found.figures, "trimmed-of-fresh").headline);
    assert_eq!(verdict(&found.figures, "trimmed-of-fresh"), "back to new");
    assert_eq!(verdict(&found.figures, "fragmented-of-fresh"), "slower than fresh");
    assert!((value("write-amplification-fresh") - 1.0).abs() < 1e-9);
    assert!(value("write-amplification-fragmented") > 2.0);
    assert_eq!(found.caveats, []);
    // The picture of S2: the fragmented pass begins slow and heals what it passes over.
    let fragmented = found.steps.iter().find(|step| step.id == "fragmented").unwrap();
    let curve = fragmented.read::<PassStep>().unwrap().means.unwrap();
    let mean = |points: &[Option<f64>]| {
        points.iter().flatten().sum::<f64>() / points.iter().flatten().count() as f64
    };
    let tenth = curve.y.len() / 10;
    let (first, last) = (mean(&curve.y[..tenth]), mean(&curve.y[9 * tenth..]));
    assert!(curve.y.len() >= 200 && last > 2.0 * first, "{first} to {last} MB/s");
}

#[test]
fn a_drive_that_overwrites_in_place_has_nothing_to_recover_from() {
    let mut drive = emulated(profile("like-optane-900p", Bytes::mib(256)));
    let found = run(&method(&[]), &mut drive, &mut KeptSteps::default()).unwrap();
    assert_eq!(verdict(&found.figures, "trimmed-of-fresh"), "nothing to recover from");
    assert_eq!(verdict(&found.figures, "fragmented-of-fresh"), "random writes leave no trace");
    assert_eq!(verdict(&found.figures, "self-healed-of-fresh"), "nothing to heal");
}

#[test]
fn with_trim_as_the_only_purge_the_ratio_is_not_measurable() {
    let found =
        run(&method(&[]), &mut Virtual::new(Toy::new()), &mut KeptSteps::default()).unwrap();
    assert_eq!(found.caveats, [Caveat::PurgedByTrim]);
    assert!(found.figures.iter().all(|figure| figure.id != "trimmed-of-fresh"));
    let trimmed = figure(&found.figures, "trimmed");
    assert!(trimmed.headline);
    let words = trimmed.words().unwrap();
    assert_eq!(words, "not measurable against fresh: purged by TRIM");
    for id in ["fresh", "trimmed"] {
        assert_eq!(figure(&found.figures, id).caveats, [Caveat::PurgedByTrim.id()]);
    }
    assert_eq!(found.steps[0].id, "purge-1-by-trim");
    assert!(found.figures.iter().any(|figure| figure.id == "fragmented-of-fresh"));
}

/// What the toy was asked for, in order: sequential writes, random writes and discards, by bytes.
fn phases(toy: &Toy) -> Vec<(char, u64)> {
    let mut phases: Vec<(char, u64)> = Vec::new();
    let mut ended = Instant::START;
    for (at, command) in &toy.log {
        let (kind, range) = match command {
            BlockCommand::Write { range, .. } if range.length().0 == 8 => ('r', range),
            BlockCommand::Write { range, .. } => ('s', range),
            BlockCommand::Discard(range) => ('d', range),
            other => panic!("{other:?}"),
        };
        let bytes = range.length().0 * 512;
        let rested = at.since(ended) >= Nanos::from_millis(900);
        match phases.last_mut() {
            Some(last) if last.0 == kind && !rested => last.1 += bytes,
            _ => phases.push((kind, bytes)),
        }
        ended = *at;
    }
    phases
}

const WHOLE: u64 = 16 << 20;

#[test]
fn the_drive_is_tortured_again_after_a_second_purge_and_trimmed_whole() {
    let mut toy = Virtual::new(Toy::new());
    let mut keeper = KeptSteps::default();
    run(&method(&[("torture", "50%")]), &mut toy, &mut keeper).unwrap();
    assert_eq!(toy.model().purges, 2);
    let (sequential, random) = (('s', WHOLE), ('r', WHOLE / 2));
    let first = [sequential, sequential, random, sequential, sequential];
    let second = [sequential, random, ('d', WHOLE), sequential];
    assert_eq!(phases(toy.model()), [&first[..], &second[..]].concat());
    assert_eq!(
        keeper.kept(),
        [
            "purge-1-by-trim",
            "fresh",
            "fill-1",
            "torture-1",
            "fragmented",
            "self-healed",
            "purge-2-by-trim",
            "fill-2",
            "torture-2",
            "trim",
            "trimmed"
        ]
    );
}

#[test]
fn a_torture_by_time_is_repeated_by_bytes() {
    // 200 us a command after the first purge, 300 us after the second.
    let slower_by_purge = Nanos::from_micros(100);
    let mut toy = Virtual::new(Toy { slower_by_purge, ..Toy::new() });
    let found = run(&method(&[("torture", "20ms")]), &mut toy, &mut KeptSteps::default()).unwrap();
    let phase = |id: &str| -> PhaseStep {
        found.steps.iter().find(|step| step.id == id).unwrap().read().unwrap()
    };
    for (id, seconds) in [("torture-1", 0.02), ("torture-2", 0.03)] {
        assert_eq!(phase(id).written_bytes, Some(Bytes(32 * 100 * 4_096)), "{id}");
        assert!((phase(id).elapsed_s - seconds).abs() < 1e-9, "{id}");
    }
}

#[test]
fn a_torture_until_steady_keeps_its_rounds_and_says_when_it_was_not() {
    let mut drive = emulated(small_tlc(Bytes::mib(16), Ppm(125_000)));
    let set = method(&[("torture", "steady")]);
    let found = run(&set, &mut drive, &mut KeptSteps::default()).unwrap();
    let rounds: Vec<&Step> =
        found.steps.iter().filter(|step| step.id.starts_with("torture-1-")).collect();
    assert!((5..=25).contains(&rounds.len()));
    let seconds = |step: &Step| step.read::<PhaseStep>().unwrap().elapsed_s;
    assert!(rounds.iter().all(|step| seconds(step) >= 60.0), "a minute each");
    assert!(rounds.last().unwrap().read::<SteadyStep>().unwrap().window.unwrap().steady);
    assert_eq!(found.caveats, []);
    let mut steps = found.steps.clone();
    for step in &mut steps {
        if let Ok(round) = step.read::<SteadyStep>() {
            let window = round.window.map(|window| WindowStep { steady: false, ..window });
            step.store(&SteadyStep { window, ..round });
        }
    }
    assert_eq!(analyse(&steps).caveats, [Caveat::NoSteadyState]);
}

#[test]
fn other_data_are_compared_on_the_same_torture() {
    let mut toy = Virtual::new(Toy::new());
    let set = method(&[("compare-data", "compressible-10%"), ("torture", "50%")]);
    let mut keeper = KeptSteps::default();
    let found = run(&set, &mut toy, &mut keeper).unwrap();
    assert_eq!(toy.model().purges, 3);
    let compressible = |command: &BlockCommand| {
        matches!(command, BlockCommand::Write { data: Data::Compressible(10), .. })
    };
    let log = &toy.model().log;
    let written = log.iter().filter(|entry| compressible(&entry.1)).count() as u64;
    assert_eq!(written * 131_072, 2 * WHOLE, "two passes, no torture");
    assert_eq!(
        keeper.kept()[11..],
        ["purge-3-by-trim", "fresh-compared", "fill-3", "torture-3", "fragmented-compared"]
    );
    assert_eq!(verdict(&found.figures, "flattered-by"), "the data make no difference");
}

/// Recorded passes with these throughputs, MB/s.
fn passes(rates: &[(&str, f64)]) -> Vec<Step> {
    let pass = |(id, rate): &(&str, f64)| {
        let values = RecoveryPassStep {
            throughput_mb_per_s: Some(*rate),
            write_amplification_ratio: None,
            cure_s: None,
        };
        Step::of(*id, "pass", &values)
    };
    rates.iter().map(pass).collect()
}

#[test]
fn verdicts_follow_from_the_passes() {
    let verdicts = |fragmented, healed, trimmed| {
        let rates = [
            ("fresh", 250.0),
            ("fragmented", fragmented),
            ("self-healed", healed),
            ("trimmed", trimmed),
        ];
        let Findings { figures, caveats } = analyse(&passes(&rates));
        assert_eq!(caveats, []);
        let of = |id| verdict(&figures, id);
        (of("trimmed-of-fresh"), of("self-healed-of-fresh"))
    };
    let pair = |trimmed: &str, healed: &str| (trimmed.to_owned(), healed.to_owned());
    assert_eq!(verdicts(50.0, 200.0, 248.0), pair("back to new", "partly healed"));
    assert_eq!(verdicts(50.0, 247.0, 200.0), pair("partly recovered", "healed"));
    assert_eq!(verdicts(50.0, 52.0, 54.0), pair("not recovered", "not healed"));
    assert_eq!(verdicts(249.0, 249.0, 249.0), pair("nothing to recover from", "nothing to heal"));
    // TRIM that makes a drive slower is not hidden behind a drive that lost nothing.
    assert_eq!(verdicts(249.0, 249.0, 100.0).0, "not recovered");
}

#[test]
fn data_that_flatter_are_said_to() {
    let rates = [
        ("fresh", 250.0),
        ("fragmented", 50.0),
        ("fresh-compared", 260.0),
        ("fragmented-compared", 208.0),
    ];
    let Findings { figures, .. } = analyse(&passes(&rates));
    let flattered = figure(&figures, "flattered-by");
    assert!((flattered.value - 4.16).abs() < 1e-9);
    let words = "compressible data make the drive look better than it is";
    assert_eq!(flattered.words().as_deref(), Some(words));
    assert_eq!(flattered.caveats, [Caveat::CompressibleData.id()]);
    assert!((figure(&figures, "fragmented-of-fresh-compared").value - 0.8).abs() < 1e-9);
    assert!((figure(&figures, "fragmented-of-fresh").value - 0.2).abs() < 1e-9);
    assert_eq!(figure(&figures, "fragmented-of-fresh").caveats, [""; 0]);
}

#[test]
fn every_figure_found_is_one_of_the_metrics() {
    let set = method(&[("compare-data", "compressible-10%")]);
    let mut drive = emulated(small_tlc(Bytes::mib(16), Ppm(125_000)));
    let found = run(&set, &mut drive, &mut KeptSteps::default()).unwrap();
    let announced = set.metrics();
    assert_eq!(found.figures.len(), announced.len());
    assert_defined(&announced, &found.figures);
    // What compresses is said on what it touches, and not on the whole session.
    assert_eq!(found.caveats, []);
}

#[test]
fn tortures_are_shares_times_or_until_steady() {
    assert_eq!(method(&[("torture", "150%")]).torture, Torture::Share(Ppm(1_500_000)));
    assert_eq!(method(&[("torture", "20min")]).torture, Torture::Time(Nanos::from_secs(1_200)));
    assert_eq!(method(&[("torture", "steady")]).torture, Torture::Steady);
    for wrong in ["0%", "3000%", "0s", "forever", "12"] {
        Recovery::resolve(Preset::Quick, &settings(&[("torture", wrong)])).unwrap_err();
    }
    for preset in Preset::ALL {
        Recovery::resolve(preset, &settings(&[])).unwrap();
    }
}

#[test]
fn a_device_without_trim_does_not_fit() {
    let mut capabilities = Toy::new().capabilities;
    assert_eq!(method(&[]).fits(&capabilities), Ok(()));
    capabilities.discard = Support::None;
    assert!(method(&[]).fits(&capabilities).unwrap_err().to_string().contains("takes no TRIM"));
}

#[test]
fn passes_and_trim_cover_the_part_that_is_asked_for_and_tortures_everything() {
    let mut toy = Virtual::new(Toy::new());
    let set = [("torture", "50%"), ("part", "25%"), ("torture-rest", "0s")];
    run(&method(&set), &mut toy, &mut KeptSteps::default()).unwrap();
    let (whole, part, random) = (('s', WHOLE), ('s', WHOLE / 4), ('r', WHOLE / 2));
    let first = [part, whole, random, part, part];
    let second = [whole, random, ('d', WHOLE / 4), part];
    assert_eq!(phases(toy.model()), [&first[..], &second[..]].concat());
    let rests = |set: &[(&str, &str)]| {
        let mut toy = Virtual::new(Toy::new());
        run(&method(set), &mut toy, &mut KeptSteps::default()).unwrap();
        toy.now()
    };
    let spared = rests(&[]).since(rests(&[("torture-rest", "0s")]));
    assert!(spared.0.abs_diff(Nanos::from_secs(2).0) < 1_000_000, "{spared}");
}

#[test]
fn a_span_that_is_no_multiple_of_a_write_is_passed_and_trimmed_to_its_end() {
    let mut toy = Virtual::new(Toy::new());
    let set = [("torture", "50%"), ("span", "8256KiB")];
    run(&method(&set), &mut toy, &mut KeptSteps::default()).unwrap();
    let found = phases(toy.model());
    let span = 8_256 << 10;
    for kind in ['s', 'd'] {
        let bytes: Vec<u64> = found.iter().filter(|it| it.0 == kind).map(|it| it.1).collect();
        assert!(bytes.iter().all(|bytes| *bytes % span == 0), "{kind}: {bytes:?}");
    }
}

#[test]
fn what_is_demanded_is_what_is_written() {
    let part = vec![("part", "25%")];
    for set in [vec![], vec![("compare-data", "compressible-10%")], part] {
        let method = method(&set);
        let mut toy = Virtual::new(Toy::new());
        run(&method, &mut toy, &mut KeptSteps::default()).unwrap();
        let writes = phases(toy.model()).into_iter().filter(|phase| phase.0 != 'd');
        let written: u64 = writes.map(|phase| phase.1).sum();
        assert_eq!(method.demand(Bytes(WHOLE), ASSUMED_RATE).written, Bytes(written));
    }
}

#[test]
fn a_part_of_the_drive_and_data_that_compress_are_caveats() {
    let set = [("span", "8MiB"), ("data", "compressible-50%")];
    let mut toy = Toy::new();
    toy.means = PurgeMeans::Format;
    let found = run(&method(&set), &mut Virtual::new(toy), &mut KeptSteps::default()).unwrap();
    assert_eq!(found.caveats, [Caveat::PartOfDrive, Caveat::CompressibleData]);
    assert_eq!(found.steps[0].id, "purge-1-by-format");
}

#[test]
fn a_wish_to_stop_is_heard_and_what_was_kept_stays() {
    let mut drive = emulated(small_tlc(Bytes::mib(32), Ppm(125_000)));
    let mut keeper = KeptSteps::stopping_after(4);
    let error = run(&method(&[]), &mut drive, &mut keeper).unwrap_err();
    assert!(matches!(error, MethodError::Run(RunError::Interrupted)), "{error}");
    assert_eq!(keeper.kept(), ["purge-1-by-model", "fresh", "fill-1", "torture-1"]);
}

#[test]
fn a_drive_that_fails_breaks_the_pass_that_it_was_in() {
    let config = small_tlc(Bytes::mib(32), Ppm(125_000));
    let mut drive = emulated(config.clone());
    let found = run(&method(&[]), &mut drive, &mut KeptSteps::default()).unwrap();
    let taken = |step: &Step| Some(step.read::<PhaseStep>().ok()?.elapsed_s);
    let before: f64 = found.steps.iter().take(4).filter_map(taken).sum();
    // Purge, fresh pass and torture are each followed by a second of rest.
    let at = before + 3.0 + 0.5 * taken(&found.steps[4]).unwrap();
    let fail_from = Some(Instant::from_start(Nanos::from_seconds(at)));
    let mut drive = faulty(config, FaultPlan { fail_from, ..FaultPlan::default() });
    let mut keeper = KeptSteps::default();
    let error = run(&method(&[]), &mut drive, &mut keeper).unwrap_err();
    let MethodError::Broken { step, errno, .. } = error else { panic!("{error}") };
    assert_eq!((step.as_str(), errno), ("fragmented", Errno::EIO));
    assert_eq!(keeper.steps.len(), 4);
}

#[test]
fn it_is_behind_the_one_door() {
    let resolved = Recovery::INFO.resolve(Preset::Published, &settings(&[])).unwrap();
    assert_eq!(resolved.options.text("torture"), Some("20min"));
}
