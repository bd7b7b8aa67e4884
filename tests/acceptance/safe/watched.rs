//! Nothing is changed that was not named: seen from outside.

use std::time::Duration;

use super::campaign;
use crate::acceptance::Claim;
use crate::campaign::watched::CAMPAIGN;

pub(super) const CLAIM: Claim = Claim {
    id: CAMPAIGN.id,
    title: "The kernel sees no run change what was not named, whatever is exchanged or killed",
    bar: "5,000 runs watched, none of them outside of what was named and its output and temporary \
          directories; every planted violation is seen, at least 10; the campaign is of these \
          sources, and a fresh sample of 2 % holds as well",
    short: Duration::from_secs(45),
    full: Duration::from_secs(240),
    measure: |context| campaign::measure(context, &CAMPAIGN, 40),
    read: |raw| campaign::read(raw, &CAMPAIGN),
};
