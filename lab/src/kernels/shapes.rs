//! The shapes of stalls by who sends the discards: what \[CALL24\] saw of ext4 and XFS on an array.
//! A test has other drives, depths and senders.

use anyhow::Result;

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// Reads beside the discards of 512 GB; the ledger of published figures shows these.
pub(crate) const ENTRY: Entry = Entry {
    name: "shapes",
    title: "Who sends the discards decides the shape of the stall: 512 GB, as in [CALL24]",
    needs: &[],
    sources: EMULATED,
    run,
};

/// The array of \[CALL24\] as one drive, with room for what is deleted.
const ARRAY: &str = "sim:like-callaghan-raid0,capacity=600GiB";
/// Its reads a second at rest.
const AT_REST: f64 = 76_000.0;
/// Who sends the discards of 512 GB, the reads a second that \[CALL24\] has meanwhile, and for how
/// long, s. The times are fitted, the reads are not.
const SHAPES: [(&str, [f64; 2], f64); 2] =
    [("ext4", [2_500.0, 2_500.0], 13.0), ("xfs", [215.0, 285.0], 4.0)];
/// As in \[CALL24\]: a large file, and nothing but 8 reads at a time. The probe comes once a
/// second, so as to be no ninth.
const OPTIONS: [&str; 10] = [
    "readers=8",
    "probe-interval=1s",
    "probe-spacing=constant",
    "sizes=512GiB",
    "repetitions=1",
    "patience=0s",
    "window=20s",
    "lead=1s",
    "span=8GiB",
    "rest=5s",
];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (issuer, [low, high], seconds) in SHAPES {
        let sender = format!("as={issuer}");
        let run = lab.run("delete-stall", ARRAY, &[&OPTIONS[..], &[&sender]].concat())?;
        for (what, id, unit, bar) in [
            ("reads at rest", "reads-at-rest", "1/s", Bar::Near { value: AT_REST, share: 0.1 }),
            (
                "reads while 512 GB are discarded",
                "largest-slow-reads",
                "1/s",
                Bar::Within(low / 2.0, high * 2.0),
            ),
            (
                "time that they take",
                "largest-slow-time",
                "s",
                Bar::Near { value: seconds, share: 0.3 },
            ),
        ] {
            figures.push(Figure::new(format!("{what}, as {issuer}"), (run.value(id)?, unit), bar));
        }
    }
    Ok(figures)
}
