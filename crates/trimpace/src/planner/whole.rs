//! Filesystems that do not say where they have free space, and are trimmed in one call.
//!
//! f2fs would take ranges, but each of its calls writes a checkpoint (`f2fs_trim_fs`,
//! `fs/f2fs/segment.c`): few large calls are gentler than many small ones.

use trimbench_claim::mounts::Mount;
use trimbench_core::{Bytes, Errno};

use super::{Cutting, FreeExtent, Planner, Region};

#[cfg(test)]
mod tests;

const ALL: [Region; 1] = [Region { start: 0, length: Bytes(u64::MAX) }];

/// One region, the whole filesystem, that is not cut.
#[derive(Debug)]
pub(super) struct Whole {
    is_f2fs: bool,
    discards_online: bool,
}

impl Whole {
    pub(super) fn new(mount: &Mount) -> Self {
        Self { is_f2fs: mount.filesystem == "f2fs", discards_online: mount.has_option("discard") }
    }
}

impl Planner for Whole {
    fn regions(&self) -> &[Region] {
        &ALL
    }

    fn cutting(&self) -> Cutting {
        Cutting {
            joins_regions: false,
            between_extents: false,
            within_extents: false,
            returns_early: self.is_f2fs && self.discards_online,
        }
    }

    fn free_extents(&self, _region: Region) -> Result<Option<Vec<FreeExtent>>, Errno> {
        Ok(None)
    }

    fn hazards(&self) -> Vec<String> {
        let mut hazards = Vec::new();
        if self.is_f2fs {
            hazards.push("f2fs writes a checkpoint at each call of FITRIM.".to_owned());
        }
        if self.is_f2fs && self.discards_online {
            hazards.push(
                "f2fs mounted with `-o discard` only queues what FITRIM finds: its discard thread \
                 sends the discards later, at its own pace."
                    .to_owned(),
            );
        }
        hazards
    }
}
