//! `talos`: chunks of freed space with a fixed delay after each, as Talos Linux trims where
//! `chunkSize` and `chunkDelay` are set \[TALOS\]. There a chunk is a range of the filesystem, and
//! a run comes once in a while; here it is a part of what waits, and a run ends when nothing does.

use trimbench_core::settings::{FromSettings as _, Values, default_to, within};
use trimbench_core::{Bytes, Nanos, settings};

use crate::law_policy::{LawPolicy, LawPolicyOptions};
use crate::pacing::Rival;
use crate::policy::{PolicyInfo, PolicyOrigin};

pub(crate) const INFO: PolicyInfo = PolicyInfo {
    id: "talos",
    summary: "discards freed extents in chunks, with a fixed delay after each",
    origin: PolicyOrigin::System,
    parameters: Settings::rows,
    build: Some(|values| Ok(Box::new(Settings::read(values)?.build(values)))),
};

settings! {
    #[derive(Clone, Copy, Debug)]
    struct Settings(values) {
        /// bytes of a chunk, discarded one extent after the other (Talos, chunkSize; value assumed)
        chunk: Bytes = "chunk", default_to("1GiB"), within(Bytes::kib(4), Bytes::gib(1 << 20));
        /// time from the end of a chunk to the next one (Talos, chunkDelay; value assumed)
        delay: Nanos = "delay", default_to("1s"), within(Nanos(1_000), Nanos::from_secs(86_400));
    }
}

impl Settings {
    fn build(self, values: &Values) -> LawPolicy<Rival> {
        let law = Rival::Chunks { chunk: self.chunk, delay: self.delay, ended: None };
        LawPolicy::new(law, LawPolicyOptions::unlimited(values.block_size()))
    }
}
