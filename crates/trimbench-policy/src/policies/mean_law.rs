//! `mean-law`: a rate that is halved while the mean latency of the last second exceeds that of the
//! last minute, and raised otherwise: an idea of a patent \[VMWARE-UNMAP\], in our formulation.
//! Means are blind to a tail: a stall of one request in a thousand moves them little.

use trimbench_core::settings::{FromSettings as _, SettingError, Values, default_to, within};
use trimbench_core::{Bytes, Ppm, settings};

use crate::law_policy::{LawPolicy, LawPolicyOptions};
use crate::pacing::{MeanLaw, MeanLawOptions};
use crate::policy::{PolicyInfo, PolicyOrigin};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "mean-law",
    summary: "a rate that falls while the short mean of latency exceeds the long one",
    origin: PolicyOrigin::Proposal("[VMWARE-UNMAP]"),
    parameters: Settings::rows,
    build: Some(|values| Ok(Box::new(Settings::read(values)?.build(values)))),
};

const RATE_MAX: Bytes = Bytes::gib(1 << 10);

settings! {
    #[derive(Clone, Copy, Debug)]
    struct Settings(values) {
        /// bytes that are discarded at a time, one extent after the other (assumed)
        chunk: Bytes = "chunk", default_to("64MiB"), within(Bytes::kib(4), Bytes::gib(1 << 20));
        /// bytes a second, at least (assumed)
        rate_min: Bytes = "rate-min", default_to("25MiB"), within(Bytes::kib(4), RATE_MAX);
        /// bytes a second, at most (assumed)
        rate_max: Bytes = "rate-max", default_to("4GiB"), within(Bytes::kib(4), RATE_MAX);
        /// by how much the short mean may exceed the long one, as a share of the long one (assumed)
        excess: Ppm = "excess", default_to("25%"), within(Ppm(10_000), Ppm(10_000_000));
    }
    check Settings::check;
}

impl Settings {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        values.check_within("rate-max", self.rate_max, self.rate_min, RATE_MAX)
    }

    fn build(self, values: &Values) -> LawPolicy<MeanLaw> {
        let Self { chunk, rate_min, rate_max, excess } = self;
        let law = MeanLaw::new(MeanLawOptions { chunk, rates: [rate_min, rate_max], excess });
        LawPolicy::new(law, LawPolicyOptions::unlimited(values.block_size()))
    }
}
