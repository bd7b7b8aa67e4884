use super::*;

#[test]
fn the_governor_keeps_the_target_or_says_so_in_virtual_time() {
    for (profile, jumps, dearer) in
        [("vendor2", 4, 1), ("like-rc100", 0, 10), ("generic-nvme-tlc", 4, 10)]
    {
        let drive = PacedDrive {
            profile,
            capacity: Bytes::gib(1),
            commands: 100_000,
            tolerance: Ppm(10_000),
            jumps,
            dearer,
            seed: 1,
        };
        let outcome = drive.run().unwrap();
        let is_kept = outcome.late_beyond() <= drive.tolerance;
        assert!(is_kept || outcome.is_announced(drive.tolerance), "{profile}: {outcome:?}");
        assert_eq!(outcome.unaccounted(), 0, "{profile}: {outcome:?}");
        assert!(outcome.longest_wait <= WAIT_LONGEST, "{profile}: {outcome:?}");
        assert!(outcome.discards.issued.count > 0, "{profile}: {outcome:?}");
        assert!(outcome.commands >= drive.commands, "{profile}: {outcome:?}");
    }
}
