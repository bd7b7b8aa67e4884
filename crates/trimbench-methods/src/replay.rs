//! `replay`: a trace with and without its TRIMs.
//!
//! The same commands are issued to the same drive, filled before, once with the trace's TRIMs and
//! once without, as fast as possible or at the trace's own times; writes a second are counted in
//! windows of the trace. The procedure, its parameters and what it cannot show are in
//! `docs/methods/replay.md`. Source: \[S4\].

mod analysis;
mod feed;
mod fit;
mod meter;
mod options;
mod pass;
mod session;
mod survey;
mod synthesis;
#[cfg(test)]
mod tests;

pub use analysis::{analyse, announced_figures};
pub use options::{Pace, Replay, Scaling, Trims};

use trimbench_core::{
    BlockCommand, BlockSize, Bytes, Capabilities, Drive, Drives, Nanos, Support, Target,
};
use trimbench_trace::generate::{Master, SPACE_MIN};

use crate::method::{ASSUMED_RATE, Context, Demand, Found, MethodError, MethodInfo, Procedure};
use crate::options::Parameters;
use crate::settings;

/// Stable id.
pub const ID: &str = "replay";

impl Procedure for Replay {
    const INFO: MethodInfo = MethodInfo {
        id: Self::ID,
        version: 1,
        summary: "a trace with and without its TRIMs, in windows of 100,000 commands",
        options: Self::OPTIONS,
    };

    fn announced_figures(&self) -> Vec<(String, &'static str)> {
        announced_figures(self)
    }

    fn space(&self) -> Bytes {
        SPACE_MIN
    }

    fn emulated_capacity(&self) -> Option<Bytes> {
        match self.span {
            settings::Span::All => None,
            settings::Span::First(bytes) => Some(bytes.max(SPACE_MIN)),
        }
    }

    /// A trace of the user's is taken to write as much as a generated one.
    fn demand(&self, capacity: Bytes) -> Demand {
        let span = self.span.on(capacity, BlockSize::SECTOR);
        let each = span + Master::written(self.generated(span));
        let passes = self.passes().len() as u64;
        let written = each.0.saturating_mul(passes);
        let rests = self.rest.times(passes);
        let time = Nanos::from_seconds(written as f64 / ASSUMED_RATE as f64) + rests;
        Demand { written: Bytes(written), time }
    }

    fn fits(&self, capabilities: &Capabilities) -> Result<(), String> {
        settings::fits(capabilities, SPACE_MIN, &[])?;
        let trims = self.trims.iter().any(|trims| *trims != Trims::Stripped);
        if trims && capabilities.discard == Support::None {
            let reason = "the device takes no TRIM; replay without with `--set passes=stripped`";
            return Err(reason.to_owned());
        }
        Ok(())
    }

    fn run_on_drives<D: Drives>(
        &self,
        drives: &D,
        context: Context<'_>,
    ) -> Result<Found, MethodError> {
        session::on_drives(self, drives, context)
    }

    fn run_on_device<D>(&self, device: &mut D, context: Context<'_>) -> Result<Found, MethodError>
    where
        D: Target<Command = BlockCommand> + Drive,
    {
        session::on_device(self, device, context)
    }
}
