//! The doctor on recorded systems: trees made by hand from public descriptions, one a file of
//! `trees/`. A line of such a file is `PATH: content`, `PATH -> link`, or `PATH/` for a folder;
//! `%nn` in a content is a byte.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod advised;
mod senders;
mod stacks;
mod trapped;
mod tree_file;
