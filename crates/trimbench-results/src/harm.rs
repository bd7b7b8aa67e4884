//! Harm: data that TRIM lost or falsified, as steps count it.
//!
//! A step that finds such blocks measures their number under the key of a [`Harm`]. Figures of a
//! method exist only when its session has finished; a step is kept when it ends. So advice counts
//! these keys in every step of every session, and a run that was interrupted, failed or was killed
//! still speaks against TRIM. No method is known here by name.

use crate::record::{Session, Step};
use crate::role::Role;

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

impl Harm {
    /// All of them, the worst first.
    pub const ALL: [Self; 5] = [
        Self::NeighboursLost,
        Self::RewrittenLost,
        Self::ForeignRead,
        Self::PromiseBroken,
        Self::WritesLost,
    ];

    /// The metric of a step that counts these blocks.
    pub const fn key(self) -> &'static str {
        match self {
            Self::NeighboursLost => "neighbour_blocks_lost",
            Self::RewrittenLost => "rewritten_blocks_lost",
            Self::ForeignRead => "trimmed_blocks_foreign",
            Self::PromiseBroken => "trimmed_blocks_against_promise",
            Self::WritesLost => "unwritten_blocks",
        }
    }

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
        step.metric(self.key()).map_or(0.0, |blocks| blocks.max(0.0))
    }

    /// How many blocks the steps of a session found together.
    pub fn of_steps(self, session: &Session) -> f64 {
        session.steps.iter().map(|step| self.of_step(step)).sum()
    }
}
