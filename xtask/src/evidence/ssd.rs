//! Claims of the fourth issue: the emulated SSD is as true as the theory, as fast as memory allows.

mod amplification;
pub(super) mod formulas;
mod queueing;
mod recovery;
mod soak;
mod speed;
mod trim_modes;
mod trimmed;
mod uniform;

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;

use super::{Capture, Key, Raw};

pub use amplification::print as print_amplification;
pub use queueing::print as print_queueing;
pub use trim_modes::print as print_trim_modes;

/// The key.
pub(super) const KEY: Key = Key {
    name: "ssd",
    title: "The emulated SSD: as true as the theory, as fast as memory allows.",
    claims: &[
        uniform::CLAIM,
        trimmed::CLAIM,
        queueing::CLAIM,
        trim_modes::CLAIM,
        speed::CLAIM,
        recovery::CLAIM,
        soak::CLAIM,
    ],
};

/// The lines of JSON that a program printed.
fn lines<T: DeserializeOwned>(raw: &Raw, capture: &Capture) -> Result<Vec<T>> {
    capture.expect_status(0)?;
    let text = raw.text(&capture.output)?;
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().with_context(|| format!("read {}", capture.output))
}
