//! Harm: data that TRIM lost or falsified, as steps count it.
//!
//! A step that looks for such blocks stores their number as a [`HarmStep`]. Figures of a
//! method exist only when its session has finished; a step is kept when it ends. So advice counts
//! these keys in every step of every session, and a run that was interrupted, failed or was killed
//! still speaks against TRIM. No method is known here by name.

use crate::record::{Session, Step};
use crate::role::Role;
use crate::step::StepOf;
use crate::steps;

#[cfg(test)]
mod tests;

/// A kind of harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Blocks beside TRIMs lost their data.
    NeighboursLost,
    /// Trimmed blocks lost what was written into them later.
    RewrittenLost,
    /// Trimmed blocks read as the data of other blocks.
    ForeignRead,
    /// Trimmed blocks read against the drive's promise.
    PromiseBroken,
    /// Blocks lost what was written before any TRIM.
    WritesLost,
}

steps! {
    /// What a step found of the harms that it looked for.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct HarmStep {
        /// untrimmed blocks that in any read did not hold the data last written to them
        measured neighbour_blocks_lost: Option<u64>;
        /// trimmed blocks that did not hold what was written to them after the TRIM
        measured rewritten_blocks_lost: Option<u64>;
        /// trimmed blocks that in any read returned the stamp of another block
        measured trimmed_blocks_foreign: Option<u64>;
        /// trimmed blocks that in any read broke the promise
        measured trimmed_blocks_against_promise: Option<u64>;
        /// blocks that did not hold what was written to them before any TRIM
        measured unwritten_blocks: Option<u64>;
    }
}

impl Harm {
    /// All of them, the worst first.
    pub const ALL: [Self; 5] = [
        Self::NeighboursLost,
        Self::RewrittenLost,
        Self::ForeignRead,
        Self::PromiseBroken,
        Self::WritesLost,
    ];

    /// The role of the figure that counts them in a whole session, if one has it.
    pub const fn role(self) -> Option<Role> {
        match self {
            Self::NeighboursLost => Some(Role::NeighboursLost),
            Self::RewrittenLost => Some(Role::RewrittenLost),
            Self::PromiseBroken => Some(Role::PromiseBroken),
            Self::ForeignRead | Self::WritesLost => None,
        }
    }

    /// What happened to the blocks, behind their number.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NeighboursLost => "blocks beside TRIMs lost their data",
            Self::RewrittenLost => "trimmed blocks lost what was written into them later",
            Self::ForeignRead => "trimmed blocks read as other blocks' data",
            Self::PromiseBroken => "trimmed blocks read against the drive's promise",
            Self::WritesLost => "blocks lost what was written into them before any TRIM",
        }
    }

    /// Whether TRIM destroys or mixes up data: then the drive must not be trimmed. Without this
    /// the drive cannot be relied on all the same, and trimming it is not recommended.
    pub const fn is_by_trim(self) -> bool {
        matches!(self, Self::NeighboursLost | Self::RewrittenLost | Self::ForeignRead)
    }

    /// How many blocks a step found.
    pub fn of_step(self, step: &Step) -> f64 {
        self.found_in(std::slice::from_ref(step))
    }

    /// How many blocks the steps of a session found together.
    pub fn of_steps(self, session: &Session) -> f64 {
        self.found_in(&session.steps)
    }

    /// The sum over those of the steps that looked for them.
    fn found_in(self, steps: &[Step]) -> f64 {
        let found = steps.iter().filter_map(StepOf::<HarmStep>::read);
        found.filter_map(|found| found.blocks(self)).map(|blocks| blocks as f64).sum()
    }
}

impl HarmStep {
    /// How many blocks it found; `None` if it did not look for them.
    pub fn blocks(&self, harm: Harm) -> Option<u64> {
        match harm {
            Harm::NeighboursLost => self.neighbour_blocks_lost,
            Harm::RewrittenLost => self.rewritten_blocks_lost,
            Harm::ForeignRead => self.trimmed_blocks_foreign,
            Harm::PromiseBroken => self.trimmed_blocks_against_promise,
            Harm::WritesLost => self.unwritten_blocks,
        }
    }
}
