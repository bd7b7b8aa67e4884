//! One processor for both sides and for the kernel's worker that does the loop device's work.
//!
//! If the scheduler may choose, it sometimes puts the worker on the processor of the program that
//! waits for it and sometimes on another, for seconds, and this alone decides whether a command
//! takes 10 or 50 us (measured on two virtual processors): which side is affected is chance.

use std::fs;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where the kernel's workers of no particular processor may run: a mask in hexadecimal.
pub(super) const WORKERS: &str = "/sys/devices/virtual/workqueue/cpumask";

/// Keeps this thread, its children and the kernel's workers on one processor until it is dropped.
pub(super) struct OneProcessor {
    before: CpuSet,
    /// Gives the workers their processors back when its standard input ends, as it does with this
    /// process, however that ends.
    keeper: Child,
}

impl OneProcessor {
    /// The last processor that this thread may use: the first has most of the interrupts.
    pub(super) fn take() -> Result<Self> {
        let before = sched_getaffinity(None).context("read this thread's processors")?;
        let number = (0..CpuSet::MAX_CPU).rev().find(|&number| before.is_set(number));
        let number = number.context("this thread may use no processor")?;
        let mask = fs::read_to_string(WORKERS).with_context(|| format!("read {WORKERS}"))?;
        // A terminal's Ctrl-C is sent to it as well.
        let script = "trap '' INT TERM HUP; read -r _; printf %s \"$1\" >\"$2\"";
        let mut keeper = Command::new("sh");
        keeper.args(["-c", script, "sh", mask.trim(), WORKERS]).stdin(Stdio::piped());
        let keeper = keeper.spawn().context("start sh")?;
        let taken = Self { before, keeper };
        fs::write(WORKERS, mask_of(number)).with_context(|| format!("write {WORKERS}"))?;
        let mut only = CpuSet::new();
        only.set(number);
        sched_setaffinity(None, &only).context("stay on one processor")?;
        Ok(taken)
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// The mask of one processor, in hexadecimal words of 32 bits, as the kernel reads it.
fn mask_of(number: usize) -> String {
    let lower = ",00000000".repeat(number / 32);
    format!("{:x}{lower}", 1_u32 << (number % 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_written_in_words_of_32_bits() {
        for (number, mask) in
            [(0, "1"), (1, "2"), (31, "80000000"), (32, "1,00000000"), (69, "20,00000000,00000000")]
        {
            assert_eq!(mask_of(number), mask);
        }
    }
}
