//! Claims about drives by their numbers.

use super::seconds;
use crate::acceptance::{ClaimRow, Tier, fit, safe};
use crate::campaign::twins;

pub(super) const FIT: &[ClaimRow] = &[
    ClaimRow {
        id: "fit.1",
        title: "Hidden values are found again, and what was not measured is predicted",
        bar: "30 emulated drives with eight hidden values, each fitted in at most 180 s on 2 \
              processors: 90 to 99 % of the intervals of 95 % hold the truth, at least five of \
              eight values are determined, and figures of three methods that were not seen are \
              within 15 %; the sources of the campaign are unchanged, and two new drives hold as \
              well",
        tier: Tier::Campaign,
        short: seconds(130),
        full: seconds(330),
        measure: |context| safe::campaign::measure(context, &twins::CAMPAIGN, 1),
        read: |raw| safe::campaign::read(raw, &twins::CAMPAIGN),
    },
    ClaimRow {
        id: "fit.2",
        title: "The profiles of published drives are what a fit finds",
        bar: "six drives of [S0] from the three published figures of each, begun at other values: \
              each value within 2 % of the profile's, or its interval holds that, and at least 48 \
              of the 54 predictions of `kernels.5` miss no bar; four drives of [SSDIQ] from one \
              uniform run each, on 4 or 8 GiB: the worst course of `drives.1` that is predicted \
              is at most 0.01 farther off than with the profile's values (short form: one value \
              of `vendor2`)",
        tier: Tier::Evidence,
        short: seconds(70),
        full: seconds(1_440),
        measure: fit::named::measure,
        read: fit::named::read,
    },
    ClaimRow {
        id: "fit.3",
        title: "A client drive gives back after TRIM and a rest what a reviewer measured",
        bar: "two drives with one rule of idle collection and one value of their own: sequential \
              writes dirty, and after TRIM and half an hour of rest, over those of the erased \
              drive within 0.15 of the review's; after half and twice the rest in order; a fit \
              finds the value within a factor of 1.5 on a smaller scaling",
        tier: Tier::Acceptance(&[]),
        short: seconds(8),
        full: seconds(80),
        measure: fit::client::measure,
        read: fit::client::read,
    },
    ClaimRow {
        id: "fit.4",
        title: "Large mapping units amplify, free and take memory as they must",
        bar: "units of 16 and 64 KiB: write amplification of random writes of 4 KiB, of 16 KiB \
              and of both, at 7 and 28 % over-provisioning, within 0.5 % of unit / size times \
              the closed form; a TRIM of every 4 KiB by itself frees nothing, one of every unit \
              all; a drive of 61.44 TB with units of 64 KiB takes at most 10 GiB, and the dry run \
              announces its memory and that of 256 TB",
        tier: Tier::Acceptance(&[]),
        short: seconds(10),
        full: seconds(130),
        measure: fit::units::measure,
        read: fit::units::read,
    },
    ClaimRow {
        id: "fit.5",
        title: "What free space buys is what a real drive and theory say",
        bar: "a 7450 MAX with 521 of 745 GiB in use, to which nothing was fitted: steady writes a \
              second and write amplification within 3 % of the real drive's, with intervals; \
              write amplification at 7 to 60 % over-provisioning within 0.5 % of the closed form",
        tier: Tier::Tests("crates/trimbench/tests/cli/fit.rs"),
        short: seconds(42),
        full: seconds(200),
        measure: fit::what_if::measure,
        read: fit::what_if::read,
    },
    ClaimRow {
        id: "fit.6",
        title: "The twin of this machine's own disk says what it does not know",
        bar: "the disk below this checkout, measured by `trimbench fit --measure` in a directory: \
              each value has an interval or is named as not determined; the exit code says whether \
              the twin follows all figures; half of them are off by a factor of 1.5 at most; the \
              time of a TRIM is within 25 % of what one method measures directly; no image is left \
              (short form: the two values of a TRIM)",
        tier: Tier::Evidence,
        short: seconds(40),
        full: seconds(520),
        measure: fit::own_disk::measure,
        read: fit::own_disk::read,
    },
];
