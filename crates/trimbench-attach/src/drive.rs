//! What the engine asks of the model beside commands.

use trimbench_core::fault::Faulty;
use trimbench_core::rng::Rng;
use trimbench_core::{Bytes, Instant, LbaRange, Tag, named_enum};
use trimbench_ssd::{DriveConfigError, Media, Overreach, Ssd, SsdConfig};

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

/// The power goes at `now`, to which the drive was advanced, and comes back: `lost` is told each
/// command that ends with it.
pub(crate) fn cut_power(drive: &mut Faulty<Ssd>, now: Instant, lost: impl FnMut(Tag)) {
    let inside = drive.inside(now);
    drive.inner_mut().cut_power(inside).into_iter().for_each(lost);
}

/// From now on each discard frees these bytes as well.
pub(crate) fn lose_neighbours(drive: &mut Faulty<Ssd>, before: Bytes, behind: Bytes) {
    drive.inner_mut().plant_overreach(Overreach { before, behind });
}

/// Of each of these blocks, whether the drive needs the bytes of its generation: now, or after a
/// power cut.
pub(crate) fn may_hold(
    drive: &mut Faulty<Ssd>,
    range: LbaRange,
    generations: &[u32],
    now: Instant,
) -> Vec<bool> {
    let inside = drive.inside(now);
    drive.inner_mut().may_hold(range, generations, inside)
}

/// Whether a power cut at `now` or later would leave these blocks as they are.
pub(crate) fn is_durable(drive: &mut Faulty<Ssd>, range: LbaRange, now: Instant) -> bool {
    let inside = drive.inside(now);
    drive.inner_mut().is_durable(range, inside)
}
