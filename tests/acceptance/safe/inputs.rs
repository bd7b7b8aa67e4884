//! Whatever is read, nothing breaks.

use std::time::Duration;

use super::campaign;
use crate::acceptance::Claim;
use crate::campaign::inputs::CAMPAIGN;

pub(super) const CLAIM: Claim = Claim {
    id: CAMPAIGN.id,
    title: "Damaged inputs and garbage into every reader break nothing",
    bar: "10^7 inputs, no panic, no hang, at most 256 MiB; the campaign is of these sources, and a \
          fresh sample of 2 % holds as well",
    short: Duration::from_secs(60),
    full: Duration::from_secs(180),
    measure: |context| campaign::measure(context, &CAMPAIGN, 4),
    read: |raw| campaign::read(raw, &CAMPAIGN),
};
