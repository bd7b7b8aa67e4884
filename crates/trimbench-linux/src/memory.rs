//! How much memory a program may still take.

use trimbench_core::Bytes;

/// Memory that can be had without swapping, as the kernel estimates it; `None` where it does not
/// say.
pub fn available_memory() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kibibytes << 10))
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_machine_says_how_much_memory_it_has() {
        let available = super::available_memory().unwrap();
        assert!(available > trimbench_core::Bytes::mib(1), "{available}");
    }
}
