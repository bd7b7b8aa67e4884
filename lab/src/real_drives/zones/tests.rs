use trimbench_core::Bytes;
use trimbench_core::units::rounded;

use super::super::rows;
use super::{COURSE_MOST, DRIVES, ZONES, ZoneRun, judged};

/// The runs of the real drives.
fn all() -> Vec<ZoneRun> {
    let path = format!("{}/../{ZONES}", env!("CARGO_MANIFEST_DIR"));
    rows(&std::fs::read_to_string(path).unwrap(), ZoneRun::read).unwrap()
}

/// What does not hold where ours are the real ones times these factors in rate and in write
/// amplification.
fn missed((rate, worn): (f64, f64)) -> Vec<String> {
    let of = |run: &ZoneRun| {
        let ours: Vec<f64> = run.tenths.iter().map(|iops| iops * rate).collect();
        (run.course(&ours, worn), run.worn(run.amplification.unwrap_or(1.0) * worn, None))
    };
    let (courses, worn): (Vec<_>, Vec<_>) = all().iter().map(of).unzip();
    let figures = judged(&courses, &worn.into_iter().flatten().collect::<Vec<_>>()).into_iter();
    figures.filter(|figure| !figure.holds()).map(|figure| figure.what).collect()
}

#[test]
fn runs_like_the_real_ones_hold_and_others_do_not() {
    let within = (COURSE_MOST - 0.001).exp();
    assert!(missed((within, 1.049)).is_empty());
    let beyond = (-COURSE_MOST - 0.001).exp();
    let what = |it: &str| format!("{it}: the worst course of zones with TRIM");
    assert_eq!(missed((beyond, 1.0)), DRIVES.each_ref().map(|it| what(it.drive)));
    let counted = DRIVES[0].drive;
    let what = format!("{counted}: write amplification of zones with TRIM, furthest off");
    assert_eq!(missed((1.0, 0.949)), [what]);
}

#[test]
fn what_is_left_after_a_factor_is_said_beside_the_residual() {
    let line = "micron-7450-max-800,a,b,predict,800166076416,1,4096,,100 100 100 100 100 100";
    let run = ZoneRun::read(line).unwrap();
    // Twice as fast in the first half of the rounds, four times in the second.
    let course = run.course(&[200.0, 200.0, 200.0, 400.0, 400.0, 400.0], 1.5);
    // Half of ln 2 and ln 4; a factor of the root of 8.
    assert_eq!(course.remark, "0.3466 after a factor of 2.8284, write amplification 1.5");
    assert!((course.off.unwrap() - 1.0397).abs() < 1e-4);
    assert_eq!(course.ours_told(), "400 IOPS when steady");
}

#[test]
fn drive_and_zones_shrink_with_the_superblocks() {
    let all = all();
    assert_eq!(all.len(), 20);
    let run = all.iter().find(|run| run.drive == DRIVES[0].drive && run.writes == 2_172).unwrap();
    // 745.2 GiB of 2,112 MiB, and zones of 1.0605 GiB.
    assert_eq!(run.capacity().unwrap().0 >> 20, 763_097 * 32 / 2_112);
    let zone = Bytes(33 << 19);
    for (trimmed, end) in [(true, "-trimmed"), (false, "")] {
        let options = run.options(trimmed).unwrap();
        assert!(options.contains(&format!("pattern=zones-{zone}-1{end}")), "{options:?}");
    }
    // What a discard takes in any case comes as rarely as zones do, and the host has its time.
    let kioxia = all.iter().find(|run| run.of().unwrap().host_limits).unwrap();
    let target = kioxia.target().unwrap();
    let latency = rounded(512_000.0 * 32.0 / 5_376.0);
    assert!(target.contains(&format!("trim.latency={latency}ns")), "{target}");
    let free = rounded(1_041.0 * f64::from(1 << 20) * 32.0 / 2_112.0);
    assert!(run.target().unwrap().contains(&format!("trim.uncharged={free}B")));
    let each = rounded(1e9 / kioxia.tenths[0] - 524_288.0 / 14.0 - 7_000.0);
    assert!(target.contains("host.command="), "{target}");
    let named: u64 = target.rsplit('=').next().unwrap().trim_end_matches("ns").parse().unwrap();
    assert!(named.abs_diff(each) < 3, "{named} {each}");
    assert!(ZoneRun::read("a,b").is_err());
}
