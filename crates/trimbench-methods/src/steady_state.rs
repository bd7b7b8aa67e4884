//! `steady-state`: sustained performance, and what TRIM adds to it.
//!
//! Purge, precondition, then rounds of random writes until they are steady by the criterion of
//! \[PTS\]; then a share of the drive is trimmed and left alone, and the rounds go on until they
//! are steady again: what is trimmed serves as over-provisioning \[FRAN12\]. The procedure, its
//! parameters and what it cannot show are in `docs/methods/steady-state.md`. Source: \[S2\], its
//! readers' comments.

mod analysis;
mod options;
mod session;
#[cfg(test)]
mod tests;

pub use analysis::{analyse, announced_figures};
pub use options::SteadyState;

use std::collections::BTreeMap;

use trimbench_core::{BlockCommand, Bytes, Capabilities, Drive, Support, Target};

use crate::method::{Context, Demand, Found, MethodError, MethodInfo, Preset, Procedure};
use crate::options::OptionError;
use crate::settings;

/// Stable id.
pub const ID: &str = "steady-state";

/// The smallest device that it makes sense on.
const SPACE: Bytes = Bytes::mib(16);

impl Procedure for SteadyState {
    const INFO: MethodInfo = MethodInfo {
        id: ID,
        version: 1,
        summary: "sustained random writes, and what trimmed space adds to them",
        options: options::OPTIONS,
    };

    const RESUMES: bool = false;

    fn resolve(preset: Preset, set: &BTreeMap<String, String>) -> Result<Self, OptionError> {
        Self::resolve(preset, set)
    }

    fn to_map(&self) -> BTreeMap<String, String> {
        self.to_map()
    }

    fn announced_figures(&self) -> Vec<(String, &'static str)> {
        announced_figures(self)
    }

    fn space(&self) -> Bytes {
        SPACE
    }

    fn demand(&self, capacity: Bytes) -> Demand {
        self.demand(capacity)
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), String> {
        settings::fits(capabilities, SPACE, &[self.access])?;
        if capabilities.discard == Support::None && self.trimmed_shares.len() > 1 {
            let reason = "the device takes no TRIM; measure it without trimmed shares: \
                          `--set trimmed-shares=0`";
            return Err(reason.to_owned());
        }
        Ok(())
    }

    fn run_on_device<D>(&self, device: &mut D, context: Context<'_>) -> Result<Found, MethodError>
    where
        D: Target<Command = BlockCommand> + Drive,
    {
        session::run(self, device, context)
    }
}
