//! The memory that a program may still use, and memory for requests past the page cache.

use std::ops::{Deref, DerefMut};

use rustix::process::{Resource, getrlimit};
use trimbench_core::Bytes;

#[cfg(test)]
mod tests;

/// What `O_DIRECT` asks of memory: a multiple of every logical block in use.
const ALIGNMENT: usize = 4_096;

/// Bytes, zero at first, at a place in memory that is fit for requests past the page cache.
#[derive(Debug)]
pub struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// Of this length.
    pub fn new(length: usize) -> Self {
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { memory, start, length }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

/// The limit of the stack of a program's first thread (`ulimit -s`); `None` if there is none.
pub fn stack_limit() -> Option<Bytes> {
    getrlimit(Resource::Stack).current.map(Bytes)
}

/// Memory that can be had without swapping, as the kernel estimates it, and within the limits of
/// this process (`ulimit -v`, `ulimit -d`): beyond them the program would end at once. `None` where
/// the kernel does not say.
pub fn available_memory() -> Option<Bytes> {
    let of_machine = field("/proc/meminfo", "MemAvailable:")?;
    let limits = [(Resource::As, "VmSize:"), (Resource::Data, "VmData:")];
    let of_process = limits.into_iter().filter_map(|(resource, used)| {
        let used = field("/proc/self/status", used).unwrap_or(0);
        getrlimit(resource).current.map(|limit| limit.saturating_sub(used))
    });
    of_process.chain([of_machine]).min().map(Bytes)
}

/// A field in `kB` of a file in `/proc`, in bytes.
fn field(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}
