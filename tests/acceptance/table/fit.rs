//! Claims about drives that are not modelled by name.

use super::seconds;
use crate::acceptance::{ClaimRow, Tier, fit};

pub(super) const FIT: &[ClaimRow] = &[
    ClaimRow {
        id: "fit.4",
        title: "Large mapping units amplify, free and take memory as they must",
        bar: "units of 16 and 64 KiB: write amplification of random writes of 4 KiB, of 16 KiB \
              and of both, at 7 and 28 % over-provisioning, within 0.5 % of unit / size times \
              the closed form; a TRIM of every 4 KiB by itself frees nothing, one of every unit \
              all; a drive of 61.44 TB with units of 64 KiB takes at most 10 GiB, and the dry run \
              announces its memory and that of 256 TB",
        tier: Tier::Acceptance(&[]),
        short: seconds(60),
        full: seconds(600),
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
        short: seconds(90),
        full: seconds(400),
        measure: fit::what_if::measure,
        read: fit::what_if::read,
    },
];
