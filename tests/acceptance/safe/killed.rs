//! Whatever ends the program, what it had kept is there.

use std::time::Duration;

use super::campaign;
use crate::acceptance::Claim;
use crate::campaign::killed::CAMPAIGN;

pub(super) const CLAIM: Claim = Claim {
    id: CAMPAIGN.id,
    title: "After kill -9 and power cuts records are whole, readable and resumable",
    bar: "500 kills and 200 power cuts of ext4, XFS and btrfs: the record is the newest that was \
          kept or a later one, goes on to its end, emulated runs to the same bytes, and after the \
          next start nothing is left behind; a fresh sample of 2 % holds as well",
    short: Duration::from_secs(45),
    full: Duration::from_secs(120),
    measure: |context| campaign::measure(context, &CAMPAIGN, 7),
    read: |raw| campaign::read(raw, &CAMPAIGN),
};
