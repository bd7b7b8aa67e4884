//! Harm: data that TRIM lost or falsified, as steps count it.
//!
//! A step that looks for such blocks stores their number as a [`HarmStep`]. Figures of a
//! method exist only when its session has finished; a step is kept when it ends. So advice counts
//! these keys in every step of every session, and a run that was interrupted, failed or was killed
//! still speaks against TRIM. No method is known here by name.

use crate::record::{Session, Step};
use crate::role::Role;
use crate::step::{StepField as _, StepLacks, StepPlace, StepRow, StepTable};

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

/// What a step found of the harms that it looked for, in blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HarmStep(pub Vec<(Harm, u64)>);

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
        self.found_in(std::slice::from_ref(step))
    }

    /// How many blocks the steps of a session found together.
    pub fn of_steps(self, session: &Session) -> f64 {
        self.found_in(&session.steps)
    }

    /// The sum over those of the steps that looked for them.
    fn found_in(self, steps: &[Step]) -> f64 {
        steps.iter().filter_map(|step| self.read("", step)).map(|blocks| blocks as f64).sum()
    }

    fn read(self, prefix: &str, step: &Step) -> Option<u64> {
        u64::read(StepPlace::Measured, &format!("{prefix}{}", self.key()), step)
    }
}

impl HarmStep {
    /// How many blocks it found; `None` if it did not look for them.
    pub fn blocks(&self, harm: Harm) -> Option<u64> {
        self.0.iter().find(|(other, _)| *other == harm).map(|(_, blocks)| *blocks)
    }
}

impl StepTable for HarmStep {
    fn rows(prefix: &str) -> Vec<StepRow> {
        let row = |harm: Harm| StepRow {
            key: format!("{prefix}{}", harm.key()),
            place: StepPlace::Measured,
            always: false,
            help: harm.words().to_owned(),
        };
        Harm::ALL.map(row).into()
    }

    fn store(&self, prefix: &str, step: &mut Step) {
        for (harm, blocks) in &self.0 {
            blocks.store(StepPlace::Measured, &format!("{prefix}{}", harm.key()), step);
        }
    }

    fn read(prefix: &str, step: &Step) -> Result<Self, StepLacks> {
        let found = |harm: Harm| Some((harm, harm.read(prefix, step)?));
        Ok(Self(Harm::ALL.into_iter().filter_map(found).collect()))
    }
}
