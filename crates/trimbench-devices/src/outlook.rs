//! What is known of a target before it is open, and targets that lack nothing.

use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Support};

/// What is known of a target that is not open. Nothing was opened for writing to know it.
#[derive(Debug)]
pub struct TargetOutlook {
    /// What it offers at best: what does not fit this does not fit the target.
    pub ideal: Capabilities,
    /// What it holds; `None` where it must be asked for.
    pub capacity: Option<Bytes>,
    /// What has that capacity, in words.
    pub holder: &'static str,
    /// What a directory has room for by now.
    pub room: Option<Bytes>,
    /// The block device or image file with what stands below and above it, as a readable tree.
    pub stack: Option<String>,
    /// What the drives hold together that its writes wear, where they are real and known: more
    /// than `capacity` for a partition or an image file.
    pub worn: Option<Bytes>,
    /// Why it would be refused, and what to do; `None` if it will probably be accepted.
    pub refusal: Option<(String, String)>,
    /// What is lost, in words.
    pub destroys: &'static str,
    /// Whether it is purged in the way that `--purge` says.
    pub takes_purge: bool,
    /// What one must be permitted, in words.
    pub privileges: &'static str,
    /// What shows only when it is opened, in words; `None` of models.
    pub unchecked: Option<&'static str>,
}

impl TargetOutlook {
    /// A model: whatever stands in its way is known when its text is read.
    pub(crate) fn of_model(ideal: Capabilities, capacity: Bytes, destroys: &'static str) -> Self {
        let capacity = Some(capacity);
        Self { capacity, unchecked: None, ..Self::new(ideal, destroys, "none") }
    }

    /// A place of this machine, of which nothing else is known.
    pub(crate) fn new(
        ideal: Capabilities,
        destroys: &'static str,
        privileges: &'static str,
    ) -> Self {
        Self {
            ideal,
            capacity: None,
            holder: "the drive",
            room: None,
            stack: None,
            worn: None,
            refusal: None,
            destroys,
            takes_purge: false,
            privileges,
            unchecked: Some("space, permission and discards: checked when it starts"),
        }
    }

    /// What demands are asked for: its capacity, or the room for files.
    pub fn measure(&self) -> Bytes {
        self.capacity.or(self.room).unwrap_or(Bytes(0))
    }
}

/// A directory with so much room that lacks nothing else, on a clock of its kind.
pub(crate) fn ideal_directory(available: Bytes, clock: Clock) -> Capabilities {
    Capabilities {
        clock,
        medium: Medium::Directory { available, fs_block: Bytes(4_096) },
        discard: Support::Native,
        discard_max: Bytes(u64::MAX),
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

/// A device of this capacity that lacks nothing, on a clock of its kind.
pub(crate) fn ideal_device(capacity: Bytes, clock: Clock) -> Capabilities {
    let medium = Medium::Device { capacity, logical_block: BlockSize::SECTOR };
    Capabilities { medium, ..ideal_directory(capacity, clock) }
}
