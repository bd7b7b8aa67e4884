//! Claims about what a user meets.

use super::seconds;
use crate::acceptance::{ClaimRow, Tier, answer};

pub(super) const ANSWER: &[ClaimRow] = &[
    ClaimRow {
        id: "answer.1",
        title: "`trimbench run` prints every verdict and the table on its first screen",
        bar: "at 80 columns: four verdicts before all else, and every method in the table within \
              24 lines, cargo's two included; at most 80 lines in all; no hashes, nothing twice; \
              the README shows what is printed",
        tier: Tier::Acceptance(&[]),
        short: seconds(40),
        full: seconds(60),
        measure: answer::first_lines::measure,
        read: answer::first_lines::read,
    },
    ClaimRow {
        id: "answer.2",
        title: "Mistakes on the command line are answered as was written down beforehand",
        bar: "at least 40 mistakes; the exit code, the message and the hint of each are as the \
              table has them",
        tier: Tier::Acceptance(&[]),
        short: seconds(20),
        full: seconds(20),
        measure: answer::mistakes::measure,
        read: answer::mistakes::read,
    },
    ClaimRow {
        id: "answer.3",
        title: "The time left is estimated truly",
        bar: "at 25, 50 and 75 % of a run's time, the report included, the estimate is within \
              30 % of what was left: all methods on four emulated drives, and a real directory \
              before an emulated drive, with 1 and 2 jobs",
        tier: Tier::Evidence,
        short: seconds(120),
        full: seconds(900),
        measure: answer::clock::measure,
        read: answer::clock::read,
    },
    ClaimRow {
        id: "answer.4",
        title: "\"Discard or fstrim?\" is answered by the README alone in five minutes",
        bar: "the README's commands on an ext4 on a loop device that is mounted without \
              `discard`: at most 300 s, the methods that it names and no others, one card with \
              an answer and a line to type, all files that were there intact, none left behind. \
              Needs a calm disk, and root",
        tier: Tier::Evidence,
        short: seconds(80),
        full: seconds(420),
        measure: answer::readme::measure,
        read: answer::readme::read,
    },
    ClaimRow {
        id: "answer.5",
        title: "A figure has one unit and one rounding wherever it is shown",
        bar: "all methods on emulated drives: every figure of the record is in the terminal, on \
              the page, in CSV, in Markdown and in JUnit as the one formatter shows it",
        tier: Tier::Acceptance(&[]),
        short: seconds(40),
        full: seconds(60),
        measure: answer::formats::measure,
        read: answer::formats::read,
    },
];
