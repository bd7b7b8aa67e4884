use super::*;

#[test]
fn what_ended_in_a_sample_has_its_mean_latency() {
    // Fields as Documentation/block/stat.rst has them.
    let before = fields("10 0 80 5 20 0 160 9 0 30 14 1 0 8 2 3 4").unwrap();
    let after = fields("14 0 112 45 20 0 160 9 1 70 54 3 0 4104 42 4 10").unwrap();
    let mut found = Vec::new();
    requests(&before, &after, (2, Nanos::from_millis(100)), &mut found);
    let told: Vec<_> =
        found.iter().map(|it| (it.kind, it.count, it.length.0, it.entered.0 / 1_000_000)).collect();
    let expected = [
        (OperationKind::Read, 4, 32 * 512, 90),
        (OperationKind::Discard, 2, 4096 * 512, 80),
        (OperationKind::Flush, 1, 0, 94),
    ];
    assert_eq!(told, expected);
    assert!(found.iter().all(|it| it.completed == Some(Nanos::from_millis(100)) && it.disk == 2));
    // Linux before 4.18 counts no discards.
    assert_eq!(fields("1 2 3 4 5 6 7 8 9 10 11"), None);
}
