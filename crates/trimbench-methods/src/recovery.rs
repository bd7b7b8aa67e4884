//! `recovery`: does TRIM give a fragmented drive its speed back?
//!
//! Sequential passes over a fresh drive, over one that random writes have fragmented, over the same
//! again (which heals a part), and over one that was fragmented and then trimmed. The procedure,
//! its parameters and what it cannot show are in `docs/methods/recovery.md`. Source: \[S2\].

mod analysis;
mod options;
mod session;
#[cfg(test)]
mod tests;

pub use analysis::{analyse, announced_figures};
pub use options::{Recovery, Torture};

use std::collections::BTreeMap;

use trimbench_core::{BlockCommand, Bytes, Capabilities, Drive, Support, Target};

use crate::method::{Context, Demand, Found, MethodError, MethodInfo, Preset, Procedure};
use crate::options::OptionError;
use crate::settings;

/// Stable id.
pub const ID: &str = "recovery";

/// The smallest device that it makes sense on.
const SPACE: Bytes = Bytes::mib(16);

impl Procedure for Recovery {
    const INFO: MethodInfo = MethodInfo {
        id: ID,
        version: 1,
        summary: "sequential writes when fresh, fragmented, healed by a second pass, and trimmed",
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
        settings::fits(capabilities, SPACE, &[self.pass_size, self.access])?;
        if capabilities.discard == Support::None {
            let reason = "the device takes no TRIM, and what TRIM gives back is the question; \
                          `steady-state` with `--set trimmed-shares=0` works without";
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
