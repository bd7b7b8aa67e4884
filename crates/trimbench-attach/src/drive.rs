//! How a drive begins.

use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, named_enum};
use trimbench_ssd::{DriveConfigError, Media, Ssd, SsdConfig};

/// Bytes of a logical block.
pub(crate) const BLOCK: u64 = 512;
/// Random writes that bring a drive into its steady state, in units of its capacity.
const STEADY_WRITES: u64 = 3;

named_enum! {
    /// The state in which a drive is attached.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum InitialState {
        /// As new: nothing was ever written.
        #[default]
        Fresh = "fresh",
        /// Each block was written once, in order.
        Filled = "filled",
        /// Each block was written, then random mapping units, three times the capacity.
        Steady = "steady",
    }
}

/// A drive of these numbers in that state, at rest, which keeps contents from now on.
pub(crate) fn made(config: SsdConfig, state: InitialState) -> Result<Ssd, DriveConfigError> {
    let capacity = config.capacity;
    let mut ssd = config.build()?;
    if state != InitialState::Fresh {
        ssd.precondition_sequential(Bytes(0), capacity);
    }
    if state == InitialState::Steady {
        let units = capacity.0 / ssd.config().mapping_unit.0;
        ssd.precondition_random(STEADY_WRITES * units, &mut Rng::new(0).split("attach"));
    }
    ssd.keep_contents();
    Ok(ssd)
}

/// Whether a power cut takes anything from such a drive that it has acknowledged.
pub(crate) fn may_lose(config: &SsdConfig) -> bool {
    config.media == Media::Flash && !config.power_loss_protection
}
