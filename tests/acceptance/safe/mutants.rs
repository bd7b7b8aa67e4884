//! The tests notice when the safety code is wrong.

use std::time::Duration;

use super::campaign;
use crate::acceptance::Claim;
use crate::campaign::mutants::CAMPAIGN;

pub(super) const CLAIM: Claim = Claim {
    id: CAMPAIGN.id,
    title: "A mutant of the safety code is killed by a test",
    bar: "at least 98 % of the mutants of claim, guard, mkfs and the writing module; the others \
          are explained one by one, no test fails without a mutant; the campaign is of these \
          sources, and a fresh sample of 2 % holds as well (not in the short form: what it needs \
          takes minutes to build)",
    short: Duration::from_secs(10),
    full: Duration::from_secs(900),
    measure: |context| campaign::measure(context, &CAMPAIGN, 0),
    read: |raw| campaign::read(raw, &CAMPAIGN),
};
