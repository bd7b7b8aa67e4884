//! Claims about named drives, and about classes of drives.

use super::seconds;
use crate::acceptance::{ClaimRow, Tier, drives};

pub(super) const DRIVES: &[ClaimRow] = &[
    ClaimRow {
        id: "drives.1",
        title: "Emulated drives of four names write as fast as those, over the whole course",
        bar: "mean over the tenths of a drive write of |ln(ours / real)|, from fresh to steady, of \
              28 runs of [SSDIQ] with uniform, Zipf and read-only patterns; three numbers of each \
              profile are fitted to one uniform run: the worst course of the 7450 MAX and of the \
              CM7-R (with the host's limit of each run) at most 0.03, of the P5520 0.06 after one \
              factor a campaign from its fitted rows, of the WD 0.08; write amplification within 2 \
              % of the drives' own counters where those are public (short form: the 7450 MAX)",
        tier: Tier::Evidence,
        short: seconds(40),
        full: seconds(240),
        measure: drives::courses::measure,
        read: drives::courses::read,
    },
    ClaimRow {
        id: "drives.2",
        title: "Emulated drives of four names answer reads and writes at a rate as those do",
        bar: "22 rates of [SSDIQ] that the drives kept up with, 10,000 to 250,000 writes a second \
              beside 5,000 reads, every other one fitted: of the p50 and p99 of reads and writes \
              that are predicted, at least two thirds within 10 % or 1 us (p50) and a factor of \
              1.2 or, of writes, the row's own spread (p99); of each of the four at least \
              half (short form: the 7450 MAX)",
        tier: Tier::Evidence,
        short: seconds(40),
        full: seconds(120),
        measure: drives::latency::measure,
        read: drives::latency::read,
    },
    ClaimRow {
        id: "drives.3",
        title: "Emulated drives of four names take as long for a discard of 2 to 8 GiB as those",
        bar: "simulated as measured, the greatest of the discards of an interval of 60 s: of as \
              many intervals as [SSDIQ] has, the least is within 30 % (below 1 ms the real one is \
              an upper bound) and the median within a factor of 1.5, for the sizes that are fitted \
              (2 and 8 GiB) and the one that is predicted (2.581 GiB); of the WD, whose times end \
              beyond the scale, at least that (short form: the 7450 MAX)",
        tier: Tier::Evidence,
        short: seconds(40),
        full: seconds(700),
        measure: drives::trim::measure,
        read: drives::trim::read,
    },
    ClaimRow {
        id: "drives.4",
        title: "What named drives asked for costs the emulated SSD neither speed nor theory",
        bar: "4 KiB random writes in steady state on 256 GiB, through the contract with a \
              histogram at queue depth 32, over the speed of the bare C model in the same run: at \
              least 0.60 at 7 % over-provisioning and 0.55 at 28 % with the features of named \
              drives off, 0.40 at both with all of them on, and with all but \
              `collector.separate_hot`; at most 10 bytes of memory a 4 KiB unit; `ssd.1`, \
              `ssd.2`, `ssd.3` and `ssd.7` hold in their short forms (short form: features off, \
              at 28 %, and the forms of CI, without soak)",
        tier: Tier::Evidence,
        short: seconds(45),
        full: seconds(960),
        measure: drives::speed::measure,
        read: drives::speed::read,
    },
    ClaimRow {
        id: "drives.5",
        title: "The emulated drives of four classes do what public reviews find of real ones",
        bar: "sequential and random writes, TRIM, recovery and response times of the generic NVMe, \
              DRAM-less, QLC and SATA drives beside docs/drives/reviews.toml: each within a factor \
              of 1.5 of the reviews' range; what fewer than three drives are known for says so \
              (short form: NVMe TLC and SATA)",
        tier: Tier::Evidence,
        short: seconds(50),
        full: seconds(300),
        measure: drives::reviews::measure,
        read: drives::reviews::read,
    },
    ClaimRow {
        id: "drives.6",
        title: "The README's summary of named drives and a drive's page say what a run finds",
        bar: "the predicted discard of the 7450 MAX, run again in ten intervals: its least, as the \
              README and the drive's page have it beside the real one, and within 30 % of that",
        tier: Tier::Acceptance(&[]),
        short: seconds(40),
        full: seconds(60),
        measure: drives::summary::measure,
        read: drives::summary::read,
    },
    ClaimRow {
        id: "drives.7",
        title: "Zones that are discarded and written whole run and wear as on drives of four names",
        bar: "20 runs of [SSDIQ] with zones of 1.06 to 16 GiB, 1 to 8 at a time, 512 KiB at a \
              queue depth of 1; nothing is fitted to them: mean over the tenths of |ln(ours / \
              real)| of the worst run of each drive at most 0.10; write amplification within 5 % \
              of the 7450 MAX's own counter, metadata and parity of 2.96 % included (short form: \
              the 7450 MAX)",
        tier: Tier::Evidence,
        short: seconds(40),
        full: seconds(300),
        measure: drives::zones::measure,
        read: drives::zones::read,
    },
];
