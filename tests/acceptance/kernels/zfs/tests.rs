use std::collections::BTreeMap;

use trimbench_results::{Series, Step};

use super::*;
use crate::acceptance::planted::{Planted, failing, record, session};

/// What the runs found, with one value of one of them changed: a figure, or a counter of a step.
fn found(changed: &str, key: &str, factor: f64) -> Vec<String> {
    let planted = Planted::new();
    let pool = Pool::of_s3(SMALL.scale, SMALL.drive << 20, SMALL.file << 20);
    let one = Pool::of_one(TRIM_RATE_DRIVE << 20);
    let mut runs: BTreeMap<String, (Discards, f64)> = BTreeMap::new();
    runs.insert("zfs-autotrim".to_owned(), (pool.autotrim(), pool.autotrim_seconds()));
    runs.insert("zfs-trim".to_owned(), (pool.zpool_trim(), 1.0));
    for name in ["freebsd-2013", "freebsd-2017", SKIPPING] {
        runs.insert(name.to_owned(), (pool.freebsd(), 1.0));
    }
    for rate in RATES {
        let seconds = pool.freebsd_2017_seconds(rate as f64);
        runs.insert(rate.to_string(), (pool.freebsd(), seconds));
    }
    for rate in TRIM_RATES {
        let longer = if rate == 0 { 0.0 } else { one.rate_seconds(rate << 20) };
        runs.insert(format!("trim-rate-{rate}"), (Discards::default(), 10.0 + longer));
    }
    for (name, (discards, seconds)) in runs {
        let of =
            |id: &str, value: f64| if name == changed && id == key { factor } else { 1.0 } * value;
        let mut step = Step::new("trim", "phase");
        step.measure("issued_count", of("issued_count", discards.count as f64));
        step.measure("issued_bytes", of("issued_bytes", discards.bytes as f64));
        step.measure("discard_count", of("discard_count", discards.count as f64));
        step.measure("skipped_count", of("skipped_count", 3.0));
        for (counter, bytes) in [
            ("freed", 100.0),
            ("issued", 70.0),
            ("skipped", 20.0),
            ("invalidated", 6.0),
            ("waiting", 4.0),
        ] {
            let mut y = vec![Some(bytes); 10];
            y[7] = Some(of(counter, bytes));
            let x = (0..10).map(f64::from).collect();
            step.add_series(&format!("{counter}-bytes-by-drive"), Series::new("drive", "B", x, y));
        }
        let mut session = session(&name, &[("trim-time", of("trim-time", seconds))]);
        session.steps = vec![step];
        planted.capture(&name, 0, "");
        planted.record(&format!("{name}/run.json"), &record(vec![session]));
    }
    let findings = read(&planted.raw_of(Form::Acceptance)).unwrap();
    assert_eq!(findings.len(), 4 * 4 + 1 + 2 + 2 + 2);
    failing(&findings).into_iter().map(str::to_owned).collect()
}

#[test]
fn each_figure_has_its_bar_in_each_run() {
    assert_eq!(found("", "", 2.0), Vec::<String>::new());
    for (run, key, factor, part) in [
        ("zfs-autotrim", "trim-time", 0.89, "zfs-autotrim: from the deletion"),
        ("freebsd-2013", "issued_bytes", 1.12, "freebsd-2013: mean size"),
        ("zfs-trim", "discard_count", 0.99, "zfs-trim: discards that ended"),
        ("freebsd-2017", "freed", 1.01, "freebsd-2017: freed bytes in no account"),
        (SKIPPING, "waiting", 2.0, "skip-by-queue: freed bytes in no account"),
        (SKIPPING, "skipped_count", 0.0, "skip-by-queue: extents skipped"),
        ("500", "trim-time", 1.12, "500 discards a second"),
        ("5000", "trim-time", 0.88, "5000 discards a second"),
        ("trim-rate-64", "trim-time", 1.2, "zpool trim -r 64M"),
        ("trim-rate-256", "trim-time", 0.5, "zpool trim -r 256M"),
    ] {
        let failing = found(run, key, factor);
        assert!(failing.len() == 1 && failing[0].contains(part), "{run} {key}: {failing:?}");
    }
}

#[test]
fn the_calculation_gives_what_the_sources_say() {
    // S3 itself: 16 GiB a metaslab; 2,000 of 128 MiB a drive would hold 4 x 512 GB with parity.
    let whole = Pool::of_s3(1, 352 << 30, 480 << 30);
    let Discards { count, bytes } = whole.autotrim();
    assert!((2_700_000_000_000..2_710_000_000_000).contains(&bytes), "{bytes}");
    assert!((19_900..21_100).contains(&count), "{count}");
    // 80 KiB, as freed space has a hole every 21 sectors of a drive.
    let small = Pool::of_s3(512, 704 << 20, 960 << 20);
    let mean = small.freebsd().mean();
    assert!((mean / 1_024.0 - 80.0).abs() < 0.1, "{mean}");
    // At 500 a second what the passes add is little: 6,144 segments a drive, after 30 s.
    let (seconds, count) = (small.freebsd_2017_seconds(500.0), small.freebsd().count);
    assert!((seconds - count as f64 / 10.0 / 500.0).abs() < 0.3, "{seconds}");
    // 16 metaslabs of 512 MiB, of which the last is cut: four discards each, three waits.
    let rate = Pool::of_one(8 << 30).rate_seconds(64 << 20);
    assert!((rate - 15.0 * 6.0).abs() < 1e-9, "{rate}");
}
