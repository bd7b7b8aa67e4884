//! `delete-stall` on emulated drives whose stutter was published, by themselves and under a
//! modelled filesystem; and the highest rate of deletion that a load bears.

use super::program;

#[test]
fn the_published_stutter_is_found_on_a_drive_and_under_a_filesystem() {
    // s/GB as published in [S1], and how far off the figure may be.
    for (drive, published, off) in
        [("like-optane-900p", 0.0, 0.000_5), ("like-rc100", 0.25, 0.01_f64)]
    {
        for layer in ["sim:", "ext4:sim:"] {
            let target = format!("{layer}{drive}");
            let run = program().run("delete-stall", &target, &[]).unwrap();
            let stutter = run.value("stutter").unwrap();
            assert!((stutter - published).abs() <= off, "{target}: {stutter} s/GB");
        }
    }
}

/// Every TRIM of the drive makes 2 or 3 accesses exceed the limit, so that 3 to 5 of the chunks may
/// come in the 10.5 s of a try.
#[test]
fn the_highest_rate_of_deletion_is_that_of_the_trims_that_the_limit_allows() {
    let target = "ext4,era=2.6.33:sim:vendor2";
    let options = [
        "p999-limit=80ms",
        // Of random arrivals more or fewer meet a TRIM.
        "arrivals=constant",
        "rate-chunks=32MiB",
        "sizes=64MiB",
        "patience=0s",
        "read-share=100%",
        // With the blocks of a larger file comes a scattered write of metadata before each TRIM.
        "span=64MiB",
    ];
    let run = program().run("delete-stall", target, &options).unwrap();
    let chunks = run.value("highest-deletion-rate").unwrap() * 10.5 / 33.554_432;
    assert!((2.9..=5.1).contains(&chunks), "{chunks} chunks");
}
