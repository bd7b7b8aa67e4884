//! The shapes of stalls: who sends the discards of a deletion, and how many at once.

use tests::program::Run;

use super::program;

/// Ranges under way, and systems.
const DEPTHS: [&str; 3] = ["1", "8", "all"];
const ISSUERS: [&str; 3] = ["ext4", "xfs", "blkdiscard"];

/// Deletions of up to 16 ranges of 128 MiB beside reads alone: what writes cost a drive is not the
/// question.
fn deletions(target: &str, set: &str) -> Run {
    let options = ["sizes=256MiB,512MiB,1GiB,2GiB", "repetitions=2", "read-share=100%", set];
    program().run("delete-stall", target, &options).unwrap()
}

/// Nothing but the issuer decides how many are under way.
fn at_depth(drive: &str, depth: &str) -> Run {
    deletions(&format!("sim:{drive},wbt=0"), &format!("discard-depth={depth}"))
}

/// The work of the TRIMs is the same whoever sends them, and so is what a serial probe waits, but
/// for half an interval of 1 ms a stop; a drive that works later is not felt much.
#[test]
fn the_stutter_of_a_gigabyte_does_not_depend_on_who_discards_or_how_much_at_once() {
    // Drives whose TRIMs go in their turn, alone, and later.
    for drive in ["like-rc100", "generic-sata-tlc", "generic-nvme-tlc"] {
        let issuers =
            ISSUERS.map(|it| (it, deletions(&format!("sim:{drive}"), &format!("as={it}"))));
        let depths = DEPTHS.map(|it| (it, at_depth(drive, it)));
        let stutter = |run: &Run| run.value("stutter").unwrap();
        let all = stutter(&depths[2].1);
        for (manner, run) in depths.iter().chain(&issuers) {
            let off = (stutter(run) - all).abs();
            assert!(off <= 0.005 + 0.15 * all, "{drive}, {manner}: {off} of {all} s/GB");
        }
    }
}

#[test]
fn a_read_waits_for_all_trims_under_way_where_they_go_in_their_turn() {
    // What a TRIM of 128 MiB costs the drive by its profile, s: 70 us, and an eighth of 267 ms.
    let trim = 0.000_07 + 0.267 / 8.0;
    for (depth, ranges) in DEPTHS.into_iter().zip([1.0, 8.0, 16.0]) {
        let worst = at_depth("like-rc100", depth).value("largest-response-max").unwrap();
        let expected: f64 = ranges * trim;
        assert!((worst - expected).abs() <= 0.1 * expected, "{depth}: {worst} s");
    }
}
