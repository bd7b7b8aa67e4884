//! What the steps of the method hold.

use trimbench_core::Bytes;
use trimbench_engine::{LiveFigures, StepKinds};
use trimbench_results::{HarmStep, Step, StepTable as _, steps};

steps! {
    /// A case.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct TrimIntegrityStep {
        /// what the drive promises of trimmed blocks: 0 not known, 1 nothing, 2 the same at each
        /// read, 3 zeroes, 4 ones
        set promise_code: u64;
        /// bytes of a granule, the unit that the device can trim
        set granularity_bytes: Bytes;
        /// number of discards
        set discards: u64;
        /// bytes of the discards
        set discarded_bytes: Bytes;
        /// bytes that the device counted as discarded
        measured discarded_bytes_device: Bytes;
        /// what became of the blocks
        part blocks: TrimBlocksStep;
    }

    /// What became of the blocks in a case.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct TrimBlocksStep {
        /// blocks that were not trimmed and held what was written to them before the TRIM
        measured neighbour_blocks: u64;
        /// what was lost or falsified; a step has all of it
        part harm: HarmStep;
        /// address of the first of `neighbour_blocks_lost`, where there are any
        measured lost_lba_first: Option<u64>;
        /// trimmed blocks
        measured trimmed_blocks: u64;
        /// trimmed blocks of which one discard covers the whole granule
        measured whole_blocks: u64;
        /// of `whole_blocks`, those whose first read returned zeroes
        measured whole_blocks_zeroes: u64;
        /// of `whole_blocks`, those whose first read returned ones
        measured whole_blocks_ones: u64;
        /// of `whole_blocks`, those whose first read returned what was last written to them
        measured whole_blocks_old_data: u64;
        /// of `whole_blocks`, those whose first read returned their stamp of an earlier generation
        measured whole_blocks_stale_data: u64;
        /// of `whole_blocks`, those whose first read returned anything else
        measured whole_blocks_other: u64;
        /// unless the power is cut before a flush
        part edges: Option<TrimEdgesStep>;
        /// if the power is cut before a flush
        part unflushed: Option<TrimUnflushedStep>;
        /// trimmed blocks that differed between two reads
        measured trimmed_blocks_unstable: u64;
    }

    /// Blocks of granules that were trimmed in part.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct TrimEdgesStep {
        /// trimmed blocks of which no discard covers the whole granule
        measured edge_blocks: u64;
        /// of `edge_blocks`, those whose first read returned what was last written to them
        measured edge_blocks_old_data: u64;
    }

    /// Blocks whose TRIM the power cut may have undone.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct TrimUnflushedStep {
        /// trimmed blocks, as no TRIM was flushed before the power cut
        measured unflushed_blocks: u64;
        /// of `unflushed_blocks`, those whose first read returned what was last written to them
        measured unflushed_blocks_undone: u64;
    }
}

/// What a step says of the session while it goes on.
pub(super) fn live(step: &Step) -> LiveFigures {
    let blocks = step.read::<TrimIntegrityStep>().ok().map(|it| it.blocks);
    let lost = blocks.and_then(|it| it.harm.neighbour_blocks_lost);
    LiveFigures {
        headline: lost.map(|lost| ("lost", lost as f64, "blocks")),
        ..LiveFigures::default()
    }
}

/// The rows of each kind of step.
pub(super) fn tables() -> StepKinds {
    vec![("trim", TrimIntegrityStep::rows(""))]
}
