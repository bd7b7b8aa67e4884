//! A drive of which every number is known, and curves that are written down.

use trimbench_core::settings::SettingError;
use trimbench_core::{Bytes, Caveat, Nanos, PurgeMeans, Virtual};
use trimbench_results::{Series, Step};
use trimbench_ssd::TrimMode;

use super::session::{IDLE, POINT};
use super::*;
use trimbench_engine::testing::{
    KeptSteps, Lying, assert_defined, assert_needs_discards, close, drive, figure, resume, run,
    settings,
};
use trimbench_engine::{ASSUMED_RATE, MethodDefinition as _, MethodResult, Preset, RunError};

/// Slices of the tests, s.
const SLICE: f64 = 0.01;

/// The only point of the curves that are written down.
const ONE_POINT: [(&str, &str); 2] = [("ranges", "50%"), ("written", "0")];

/// On the drive of the tests: all of its 1 GiB, 2 s of load in slices of 10 ms.
fn method(set: &[(&str, &str)]) -> Settle {
    let own = [("ranges", "50%,100%"), ("written", "0,100%"), ("span", "all")];
    Settle::resolve(Preset::Quick, &settings(&[&own[..], set].concat())).unwrap()
}

fn of(mode: TrimMode, set: &[(&str, &str)]) -> MethodResult {
    let mut device = Virtual::new(Lying::new(drive(mode)));
    run(&method(set), &mut device, &mut KeptSteps::default()).unwrap()
}

/// What the analysis finds in one point with these curves.
fn found_in(set: &[(&str, &str)], rates: &[f64], twin: &[f64]) -> Vec<trimbench_results::Figure> {
    let set = [&ONE_POINT, set].concat();
    analyse(&method(&set), &[point(rates, twin, &[])]).figures
}

/// A point with these curves after its TRIM, of its twin and of its placebo.
fn point(rates: &[f64], twin: &[f64], placebo: &[f64]) -> Step {
    let series = |rates: &[f64]| {
        let x = (0..rates.len()).map(|slice| slice as f64).collect();
        let series = Series::new("s", "MB/s", x, rates.iter().copied().map(Some).collect());
        series.filter(|series| !series.x.is_empty())
    };
    let [trimmed, twin, placebo] = [rates, twin, placebo].map(series);
    let point = SettlePointStep {
        trimmed_percent: 50,
        written_percent: 0,
        range_bytes: Bytes::mib(512),
        written_bytes: Bytes(0),
        trim_s: 0.1,
        pace: SettlePaceStep { slice_s: SLICE, trimmed, twin, placebo },
    };
    Step::of("trimmed-50-written-0", POINT, &point)
}

/// A level, the `slow` first slices at a share of it.
fn curve(slow: usize, share: f64) -> Vec<f64> {
    (0..100).map(|slice| if slice < slow { 200.0 * share } else { 200.0 }).collect()
}

#[test]
fn a_drive_that_works_a_trim_off_settles_after_work_over_share() {
    let found = of(TrimMode::Background, &[]);
    // 262.144 ms of work for a GiB that was written, a tenth for one that was not; a quarter of the
    // time is for it.
    for (trimmed, written, work) in
        [(50, 0, 0.013_107_2), (100, 0, 0.026_214_4), (50, 100, 0.131_072), (100, 100, 0.262_144)]
    {
        let id = format!("settling-trimmed-{trimmed}-written-{written}");
        let after = figure(&found.figures, &id).value;
        let expected = work / 0.25;
        assert!((after - expected).abs() < SLICE, "{id}: {after}, not {expected}");
    }
    let headline = figure(&found.figures, "settle");
    assert!(headline.headline && headline.n == 4, "{headline:?}");
    close(headline.value, figure(&found.figures, "settling-trimmed-100-written-100").value);
    assert_eq!(headline.words().as_deref(), Some("slower after 4 of 4 TRIMs"));
    let slowest = figure(&found.figures, "settle-slowest").value;
    assert!((0.74..0.79).contains(&slowest), "a quarter is taken: {slowest}");
    // What is lost is the work, less what of a slice falls on a command that has left the
    // controller.
    let lost = figure(&found.figures, "settle-lost").value;
    assert!((0.9 * 0.262_144..=0.27).contains(&lost), "{lost}");
    close(figure(&found.figures, "settle-twin").value, 0.0);
    assert_eq!(found.caveats, []);
}

#[test]
fn a_drive_that_works_at_once_or_has_nothing_to_do_is_at_its_pace() {
    for mode in [TrimMode::Queued, TrimMode::Blocking, TrimMode::None, TrimMode::Ignored] {
        let found = of(mode, &[]);
        let headline = figure(&found.figures, "settle");
        close(headline.value, 0.0);
        assert_eq!(headline.words().as_deref(), Some("at its pace at once"), "{mode:?}");
        // 32 pieces of 8.192 ms and 130 us, where it works at once.
        let works = matches!(mode, TrimMode::Queued | TrimMode::Blocking);
        let trim = 32.0 * 130e-6 + if works { 0.262_144 } else { 0.0 };
        close(figure(&found.figures, "settle-trim").value, trim);
    }
}

#[test]
fn what_does_not_settle_within_the_window_is_a_bound() {
    let set = [("window", "400ms"), ("slice", "4ms")];
    let found = of(TrimMode::Background, &set);
    let open = figure(&found.figures, "settling-trimmed-100-written-100");
    close(open.value, 0.4);
    let least = "at least: not at its pace within the window";
    assert_eq!(open.words().as_deref(), Some(least));
    assert_eq!(open.caveats, [Caveat::LowerBound.id()]);
    let headline = figure(&found.figures, "settle");
    close(headline.value, 0.4);
    let words = headline.words();
    assert_eq!(words.as_deref(), Some(format!("{least} after 2 of 4 TRIMs").as_str()));
    assert_eq!(headline.caveats, [Caveat::LowerBound.id()]);
    assert!(!Caveat::LowerBound.invalidates(), "a bound above a limit is above it");
    // A flat curve is its own plateau; that of another point tells.
    let set = [&set[..], &[("reference", "plateau")]].concat();
    let alone = of(TrimMode::Background, &set);
    let open = figure(&alone.figures, "settling-trimmed-100-written-100");
    assert_eq!(open.words().as_deref(), Some(least));
    assert!(figure(&alone.figures, "settling-trimmed-50-written-0").verdict.is_none());
    assert!(alone.figures.iter().all(|figure| figure.id != "settle-twin"));
}

#[test]
fn a_plateau_of_the_same_curve_serves_where_it_is_reached() {
    let twin = of(TrimMode::Background, &[]);
    let plateau = of(TrimMode::Background, &[("reference", "plateau")]);
    for figure_of_twin in twin.figures.iter().filter(|it| it.id.starts_with("settling-")) {
        let other = figure(&plateau.figures, &figure_of_twin.id).value;
        assert!((other - figure_of_twin.value).abs() < SLICE + 1e-9, "{}", figure_of_twin.id);
    }
}

#[test]
fn the_running_median_leaves_single_slices_out_and_keeps_edges() {
    let level = vec![200.0; 100];
    let after = |set: &[(&str, &str)], rates: &[f64]| {
        figure(&found_in(set, rates, &level), "settling-trimmed-50-written-0").value
    };
    for slow in [0, 3, 7, 50, 94] {
        close(after(&[], &curve(slow, 0.7)), slow as f64 * SLICE);
    }
    let mut hiccup = curve(10, 0.7);
    (hiccup[40], hiccup[41]) = (0.0, 0.0);
    close(after(&[], &hiccup), 10.0 * SLICE);
    close(after(&[("smoothing", "1")], &hiccup), 42.0 * SLICE);
    // Late, but it is back: the last tenth as a whole is at its pace.
    let mut late = curve(10, 0.7);
    late[96..].fill(100.0);
    close(after(&[], &late), 100.0 * SLICE);
    assert!(found_in(&[], &late, &level)[0].caveats.is_empty());
    late[94..].fill(100.0);
    assert_eq!(found_in(&[], &late, &level)[0].caveats, [Caveat::LowerBound.id()]);
    // 95 % is settled.
    close(after(&[], &curve(10, 0.951)), 0.0);
    close(after(&[], &curve(10, 0.949)), 10.0 * SLICE);
}

#[test]
fn what_the_twin_does_now_and_then_is_no_settling() {
    // The collector of the drive stops the load for 60 ms now and then, with a TRIM or without.
    let bursts = |at: &[usize]| {
        let mut rates = curve(0, 1.0);
        for at in at {
            rates[*at..at + 6].fill(40.0);
        }
        rates
    };
    let after = |rates: &[f64], twin: &[f64]| figure(&found_in(&[], rates, twin), "settle").clone();
    let none = after(&bursts(&[10, 85]), &bursts(&[30, 60]));
    close(none.value, 0.0);
    assert_eq!(
        none.words().as_deref(),
        Some("at its pace at once, or within 60 ms: less is not told from the pace's own noise")
    );
    // Even at the end of the window.
    assert_eq!(after(&bursts(&[94]), &bursts(&[30])).caveats, [Caveat::UnsteadyTwin.id()]);
    // What is longer than that counts, up to its own end.
    let mut slow = bursts(&[85]);
    slow[..10].fill(100.0);
    close(after(&slow, &bursts(&[30])).value, 10.0 * SLICE);
    let figures = found_in(&[], &slow, &bursts(&[30]));
    close(figure(&figures, "settle-slowest").value, 0.5);
    // A cache that ends now earlier and now later, without any TRIM.
    let ends = |at: usize| -> Vec<f64> {
        (0..100).map(|it| if it < at { 400.0 } else { 200.0 }).collect()
    };
    let with_placebo = |placebo: &[f64]| {
        let step = point(&ends(50), &ends(70), placebo);
        figure(&analyse(&method(&ONE_POINT), &[step]).figures, "settle").value
    };
    close(with_placebo(&[]), 70.0 * SLICE);
    close(with_placebo(&ends(45)), 0.0);
}

#[test]
fn lost_time_adds_up_and_a_faster_curve_takes_from_it() {
    let level = vec![200.0; 100];
    let lost = |rates: &[f64]| figure(&found_in(&[], rates, &level), "settle-lost").value;
    close(lost(&curve(20, 0.7)), 0.3 * 20.0 * SLICE);
    let mut rates = curve(20, 0.7);
    rates[30..40].fill(220.0);
    close(lost(&rates), 0.3 * 20.0 * SLICE - 0.1 * 10.0 * SLICE);
}

#[test]
fn a_twin_that_is_slow_itself_is_said() {
    let figures = found_in(&[], &curve(10, 0.5), &curve(5, 0.5));
    close(figure(&figures, "settle-twin").value, 5.0 * SLICE);
    let headline = figure(&figures, "settle");
    assert_eq!(headline.caveats, [Caveat::UnsteadyTwin.id()]);
    close(headline.value, 10.0 * SLICE);
    // A twin that becomes slower, when a cache is full, is none of that: the pace is compared with
    // that of the same moment.
    let falls: Vec<f64> = (0..100).map(|slice| if slice < 50 { 400.0 } else { 200.0 }).collect();
    let figures = found_in(&[], &falls, &falls);
    assert_eq!(figure(&figures, "settle").caveats, Vec::<String>::new());
    close(figure(&figures, "settle").value, 0.0);
}

#[test]
fn each_point_begins_empty_and_trims_its_range() {
    let mut device = Virtual::new(Lying::new(drive(TrimMode::Queued)));
    let method =
        method(&[("ranges", "50%"), ("written", "100%"), ("window", "100ms"), ("slice", "5ms")]);
    run(&method, &mut device, &mut KeptSteps::default()).unwrap();
    // 32 pieces empty the drive and 16 are the TRIM; once more for each twin.
    let discards = &device.model().discards;
    assert_eq!(discards.len(), 3 * (32 + 16));
    let end = |range: &trimbench_core::LbaRange| range.end().0 * 512;
    assert_eq!(discards[32..48].iter().map(end).max(), Some(Bytes::mib(512).0));
    // Rests: before writing, twice before the TRIM, and of the twin once before and once after it.
    let now = trimbench_core::Target::now(&device).since(trimbench_core::Instant::START);
    assert!(
        now > Nanos::from_secs(5)
            && method.demand(Bytes::gib(1), ASSUMED_RATE).time > Nanos::from_secs(5)
    );
}

#[test]
fn merged_commands_and_another_load_are_noticed() {
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.merged = 2;
    let found = run(&method(&[]), &mut Virtual::new(lying), &mut KeptSteps::default()).unwrap();
    let caveats = &figure(&found.figures, "settling-trimmed-50-written-0").caveats;
    assert!(caveats.contains(&Caveat::CommandsMerged.id().to_owned()), "{caveats:?}");
}

#[test]
fn the_page_has_every_figure() {
    for Metric { id, .. } in method(&[]).metrics() {
        let id =
            if id.starts_with("settling-") { "settling-trimmed-R-written-W".into() } else { id };
        assert!(Settle::INFO.page.contains(&format!("`{id}`")), "{id}");
    }
}

#[test]
fn a_resumed_run_equals_one_without_a_break() {
    let method = method(&[("window", "200ms"), ("slice", "2ms")]);
    let new = || Virtual::new(Lying::new(drive(TrimMode::Background)));
    let whole = run(&method, &mut new(), &mut KeptSteps::default()).unwrap();
    assert_eq!(whole.steps.len(), 5, "the purge and four points");
    let mut kept = KeptSteps::stopping_after(3);
    let error = run(&method, &mut new(), &mut kept).unwrap_err();
    assert!(matches!(error, MethodError::Run(RunError::Interrupted)), "{error}");
    let mut rest = KeptSteps::default();
    let resumed = resume(&method, &mut new(), &mut rest, kept.steps).unwrap();
    assert_eq!(rest.steps.len(), 2, "nothing is measured twice");
    let ids = |found: &MethodResult| found.steps.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&resumed), ids(&whole));
    assert_eq!(resumed.figures, whole.figures);
}

#[test]
fn every_figure_found_is_one_of_the_metrics() {
    assert_defined(&method(&[]).metrics(), &of(TrimMode::Background, &[]).figures);
}

#[test]
fn a_directory_and_a_device_without_discards_do_not_fit() {
    assert_needs_discards(&method(&[]));
}

#[test]
fn a_part_of_the_drive_and_options_out_of_range_are_said() {
    let mut lying = Lying::new(drive(TrimMode::Queued));
    lying.means = PurgeMeans::Trim;
    let set = [("span", "100MiB"), ("window", "20ms"), ("slice", "1ms")];
    let found = run(&method(&set), &mut Virtual::new(lying), &mut KeptSteps::default()).unwrap();
    assert_eq!(found.caveats, [Caveat::PartOfDrive]);
    for (key, value) in [("smoothing", "4"), ("slice", "1s"), ("ranges", "0"), ("written", "101%")]
    {
        let error = Settle::resolve(Preset::Quick, &settings(&[(key, value)])).unwrap_err();
        assert!(matches!(error, SettingError::Value { .. }), "{key}={value}");
    }
}

#[test]
fn an_idle_drive_works_a_trim_off_in_the_work_and_a_busy_one_in_work_over_share() {
    let set = [("ranges", "100%"), ("written", "0,100%"), ("idle-halvings", "7")];
    let found = of(TrimMode::Background, &set);
    let value = |id: &str| figure(&found.figures, id).value;
    let work = 0.262_144;
    // Halved seven times; and what is left within a slice is not seen.
    let resolution = work / 0.25 / 128.0 + SLICE;
    let idle = value("settle-idle");
    assert!((idle - work).abs() < resolution, "{idle}, not {work}");
    let ratio = value("settle-idle-over-loaded");
    assert!((ratio - 0.25).abs() < 0.02, "a quarter of the time is for it: {ratio}");
    assert_eq!(found.steps.iter().filter(|step| step.kind == IDLE).count(), 7);
    assert_defined(&method(&set).metrics(), &found.figures);
    // The points are those of a run without the search.
    let without = of(TrimMode::Background, &set[..2]);
    close(figure(&without.figures, "settle").value, value("settle"));
    assert!(without.figures.iter().all(|figure| figure.id != "settle-idle"));
    // Where nothing is put off, there is nothing to look for.
    let found = of(TrimMode::Queued, &set);
    assert!(found.steps.iter().all(|step| step.kind == POINT || step.kind.starts_with("purge")));
    assert!(found.figures.iter().all(|figure| figure.id != "settle-idle"));
}

#[test]
fn a_search_that_was_interrupted_goes_on_to_the_same_idle_time() {
    let set = [("ranges", "100%"), ("written", "100%"), ("idle-halvings", "4")];
    let mut device = Virtual::new(Lying::real(drive(TrimMode::Background)));
    let whole = run(&method(&set), &mut device, &mut KeptSteps::default()).unwrap();
    let ids: Vec<&str> = whole.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids[1..], ["trimmed-100-written-100", "idle-1", "idle-2", "idle-3", "idle-4"]);
    let kept = whole.steps[..4].to_vec();
    let mut device = Virtual::new(Lying::real(drive(TrimMode::Background)));
    let resumed = resume(&method(&set), &mut device, &mut KeptSteps::default(), kept).unwrap();
    close(
        figure(&resumed.figures, "settle-idle").value,
        figure(&whole.figures, "settle-idle").value,
    );
}
