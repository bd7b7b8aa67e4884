use super::*;

/// A shortened print of fio 3.33.
const PRINTED: &str = r#"fio: a warning
{ "fio version" : "fio-3.33", "jobs" : [ { "error" : 0, "job_runtime" : 2000,
  "usr_cpu" : 10.0, "sys_cpu" : 30.0,
  "write" : { "iops" : 50000.5, "total_ios" : 100000,
    "lat_ns" : { "percentile" : { "50.000000" : 13000, "99.000000" : 90000 } },
    "clat_ns" : { "percentile" : { "50.000000" : 6000, "99.000000" : 80000 } } } } ] }"#;

#[test]
fn what_fio_printed_is_read() {
    let run = fio::parse(PRINTED).unwrap();
    let expected = BlockRun {
        iops: 50_000.5,
        latency_ns_p50: 13_000.0,
        latency_ns_p99: 90_000.0,
        completion_ns_p50: Some(6_000.0),
        completion_ns_p99: Some(80_000.0),
        // 40 % of 2 s for 100,000 commands.
        cpu_ns: 8_000.0,
    };
    assert_eq!(run, expected);
}

#[test]
fn a_run_of_fio_that_failed_or_did_little_is_an_error() {
    for (from, to) in [
        (r#""error" : 0"#, r#""error" : 5"#),
        (r#""total_ios" : 100000"#, r#""total_ios" : 999"#),
        (r#""usr_cpu""#, r#""user_cpu""#),
        ("{ \"fio", "\"fio"),
    ] {
        assert!(fio::parse(&PRINTED.replacen(from, to, 1)).is_err(), "{to}");
    }
}

#[test]
fn each_side_is_measured_once_a_repetition_and_in_changing_order() {
    let mut rng = Rng::new(1);
    let orders: std::collections::BTreeSet<_> = (0..200).map(|_| shuffled(&mut rng)).collect();
    assert_eq!(orders.len(), 24, "all orders come");
    for mut order in orders {
        order.sort_unstable();
        assert_eq!(order, Who::ALL);
    }
}

#[test]
fn ratios_are_of_medians_with_intervals_and_only_ours_against_fio_is_judged() {
    let run = |iops: f64, cpu_ns: f64| BlockRun {
        iops,
        latency_ns_p50: 10.0,
        latency_ns_p99: 20.0,
        completion_ns_p50: None,
        completion_ns_p99: None,
        cpu_ns,
    };
    let mut runs = Runs::default();
    for noise in [-1.0, 0.0, 1.0, 0.0, 0.5, -0.5] {
        runs.runs[Who::Ours as usize].push(run(98.0 + noise, 120.0));
        runs.runs[Who::Fio as usize].push(run(100.0 + noise, 100.0));
        runs.runs[Who::Control as usize].push(run(101.0 + noise, 100.0));
        runs.runs[Who::Plain as usize].push(run(49.0, 200.0));
    }
    let cases = compare::cases("QD 1", &runs, &mut Rng::new(2));
    let found = |name: &str| cases.iter().find(|case| case.name == name).unwrap();
    assert_eq!(found("QD 1 IOPS").ratio(), Some(0.98));
    let [low, high] = found("QD 1 IOPS").interval.unwrap();
    assert!(low > 0.95 && low <= 0.98 && (0.98..1.0).contains(&high), "{low} {high}");
    assert_eq!(found("QD 1 IOPS").holds(), Some(true));
    assert_eq!(found("QD 1 CPU").holds(), Some(false));
    assert_eq!(found("QD 1 p99").holds(), Some(true));
    assert_eq!(found("QD 1 IOPS, fio against fio").ratio(), Some(1.01));
    assert_eq!(found("QD 1 IOPS, plain fio").ratio(), Some(2.0));
    let judged = cases.iter().filter(|case| case.holds().is_some()).count();
    assert_eq!((judged, cases.len()), (4, 12));
}
