//! What was done in a run, so that a reader sees what was tried and what was not.

/// Defines the counts once for all that is done with each of them.
macro_rules! tally {
    ($($(#[$text:meta])* $name:ident,)*) => {
        /// Counts of a run, or of many. Units have 4 KiB.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct SoakTally {
            $($(#[$text])* pub $name: u64,)*
        }

        impl SoakTally {
            /// Both together.
            #[must_use]
            pub fn plus(&self, other: &Self) -> Self {
                Self { $($name: self.$name + other.$name,)* }
            }

            /// Names of what never occurred.
            pub fn never(&self) -> Vec<&'static str> {
                let fields = [$((stringify!($name), self.$name),)*];
                fields.into_iter().filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
            }
        }
    };
}

tally! {
    /// Commands that the drive took: the following four.
    commands,
    /// Writes.
    writes,
    /// Reads.
    reads,
    /// Discards.
    discards,
    /// Flushes.
    flushes,
    /// Commands that were refused, as they had to be.
    refused,
    /// Commands that failed, as they had to.
    failed,
    /// Power cuts.
    power_cuts,
    /// Purges.
    purges,
    /// How often every invariant and every unit was checked.
    walks,
    /// Units that the host wrote, as all below counted by the drive.
    written_units,
    /// Units that held data and were freed by a discard.
    freed_units,
    /// Units moved by garbage collection.
    collected_units,
    /// Units that were moved out of an SLC cache.
    folded_units,
    /// Units that compression did not need to program.
    saved_units,
    /// Translation pages read, in drives with a mapping cache.
    map_pages_read,
    /// Translation pages programmed.
    map_pages_programmed,
    /// Superblocks erased.
    erased_superblocks,
}
