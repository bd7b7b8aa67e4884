//! Numbers that no other process has, for names and stamps.

use std::fs::File;
use std::io::Read as _;

use trimbench_core::Errno;

use crate::errno::errno_of;

/// 64 bits of `/dev/urandom`.
pub fn random() -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(errno_of)?;
    Ok(u64::from_ne_bytes(bytes))
}
