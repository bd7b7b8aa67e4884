//! The memory that a program may still use.

use rustix::process::{Resource, getrlimit};
use trimbench_core::Bytes;

#[cfg(test)]
mod tests;

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
