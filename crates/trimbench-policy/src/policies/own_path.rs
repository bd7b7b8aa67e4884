//! The eras of ext4's own discard: names only. A modelled ext4 does what they say by itself, with
//! what a queue of freed extents cannot express: commits that wait for their discards, and
//! discards that run on to the end of the free space.

use crate::issuer::Issuer;
use crate::policy::{PolicyInfo, PolicyOrigin};

pub(crate) const EXT4: PolicyInfo =
    own("ext4", Issuer::Ext4, "one at a time in a worker, to the end of the free space there");
pub(crate) const EXT4_5_15: PolicyInfo =
    own("ext4-5.15", Issuer::Ext4Since5_15, "one at a time in a worker, exactly what was freed");
pub(crate) const EXT4_4_13: PolicyInfo =
    own("ext4-4.13", Issuer::Ext4Since4_13, "all of a commit side by side, within the commit");
pub(crate) const EXT4_2_6_33: PolicyInfo =
    own("ext4-2.6.33", Issuer::Ext4Since2_6_33, "one at a time, within the commit");

const fn own(id: &'static str, issuer: Issuer, summary: &'static str) -> PolicyInfo {
    PolicyInfo {
        id,
        summary,
        origin: PolicyOrigin::OwnPath(issuer),
        parameters: Vec::new,
        build: None,
    }
}
