//! `settle`: how long a drive is slower after a TRIM, compared with work / share on drives that
//! postpone TRIM work, and with nothing on one that does not.

use tests::program::Run;
use trimbench_results::Step;
use trimbench_ssd::{Profile, SsdConfig, TrimMode};

use super::program;

/// What a slice may miss of the plateau before the method calls it slow.
const SLOW: f64 = 0.05;

fn config(drive: &str) -> SsdConfig {
    Profile::built_in(drive).unwrap().config
}

/// A run, and its nine points: trimmed range by bytes written in between.
fn points(drive: &str, options: &[&str]) -> (Run, Vec<Step>) {
    let run = program().run("settle", &format!("sim:{drive}"), options).unwrap();
    let points: Vec<Step> = run.steps("point").cloned().collect();
    assert_eq!(points.len(), 9, "{drive}");
    (run, points)
}

fn settling(run: &Run, point: &Step) -> f64 {
    run.value(&format!("settling-{}", point.id)).unwrap()
}

/// What the model owes for the TRIM of a point: its mapped and its unmapped part, s.
fn work(config: &SsdConfig, point: &Step) -> f64 {
    let of = |key: &str| point.parameters[key];
    let (range, mapped) = (of("range_bytes"), of("range_bytes").min(of("written_bytes")));
    let gib = (1_u64 << 30) as f64;
    mapped / gib * config.trim.per_gib_mapped.seconds()
        + (range - mapped) / gib * config.trim.per_gib_unmapped.seconds()
}

#[test]
fn a_drive_that_postpones_trim_work_settles_after_work_over_share() {
    for (drive, slice) in [("vendor6", "slice=10ms"), ("plain-nvme-tlc", "slice=2ms")] {
        let config = config(drive);
        assert_eq!(config.trim.mode, TrimMode::Background);
        // A twin is slow by itself in its first slice, if the stream of writes that begins there
        // costs enough of it.
        let switch = config.write_streams.as_ref().map_or(0.0, |it| it.switch.seconds());
        let mut starts: f64 = 0.0;
        let (run, points) = points(drive, &[slice]);
        for point in &points {
            let slice = point.parameters["slice_s"];
            let expected = work(&config, point) / config.trim.background_share.fraction();
            let slices = (settling(&run, point) - expected) / slice;
            assert!((-1.0..=2.0).contains(&slices), "{drive}, {}: {slices} slices", point.id);
            starts = starts.max(if switch > SLOW * slice { slice } else { 0.0 });
        }
        assert!(run.value("settle").unwrap() > 0.0, "{drive} is not slowed at all");
        let twin = run.value("settle-twin").unwrap();
        assert!(twin <= starts, "{drive}: its twins take {twin} s");
    }
}

#[test]
fn a_drive_that_trims_at_once_settles_at_once_and_its_trim_takes_the_work() {
    let drive = "generic-sata-tlc";
    let config = config(drive);
    let (run, points) = points(drive, &["window=1s", "slice=10ms"]);
    for point in &points {
        assert!(settling(&run, point) <= 0.0, "{}", point.id);
        let (took, work) = (point.metrics["trim_s"], work(&config, point));
        assert!(took >= work, "{}: {took} s of {work} s", point.id);
    }
}
