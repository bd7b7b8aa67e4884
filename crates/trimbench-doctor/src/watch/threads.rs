//! Threads that wait without interruption (state D), sampled from procfs.
//!
//! A thread that was in state D at two looks and was not scheduled between them, by its count of
//! switches, has waited all the time. Only such waits are told, and only of threads that wait for a
//! watched filesystem or a watched disk's node: the system call names the file. Where it names none
//! or may not be read, it counts whether the process has any file or its working directory there.
//! Threads of the kernel do the waiting of others and are left out, as
//! are calls of `ioctl`: who asks for a TRIM (`fstrim`, `blkdiscard`, mkfs) waits for it on
//! purpose.
//!
//! Nothing here asks the filesystem that may be frozen or hung: links and `fdinfo` come from the
//! kernel's own tables. (Command lines are not read: they need the memory of the process.)

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use trimbench_claim::mounts::{Mount, mount_of, own_mounts};
use trimbench_claim::sysfs::{BlockDevice, names_in};
use trimbench_core::Nanos;
use trimbench_linux::monotonic_time;

use super::observation::{ThreadWait, WatchedThread};

/// From one look to the next, at least.
const LOOK_EVERY: Nanos = Nanos::from_millis(50);
/// A look takes at most one in so many parts of the time.
const PART: u64 = 25;
/// Open files of a process that are looked at.
const FILES_MAX: usize = 256;
/// A thread of the kernel, by its flags (`PF_KTHREAD`, include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;
/// Numbers of system calls: `ioctl`, and those whose first argument is the file that they wait for
/// (read, write, their variants, fsync, fdatasync, ftruncate, fallocate, syncfs and the like).
#[cfg(target_arch = "x86_64")]
const CALLS: (u64, &[u64]) =
    (16, &[0, 1, 17, 18, 19, 20, 40, 74, 75, 77, 217, 277, 285, 295, 296, 306, 327, 328]);
/// The same of the architectures that share the generic table (include/uapi/asm-generic/unistd.h).
#[cfg(not(target_arch = "x86_64"))]
const CALLS: (u64, &[u64]) =
    (29, &[46, 47, 61, 63, 64, 65, 66, 67, 68, 69, 70, 71, 82, 83, 84, 267, 286, 287]);

/// Watches threads wait.
#[derive(Debug)]
pub(super) struct WaitingThreads {
    mounts: Vec<Mount>,
    nodes: Vec<PathBuf>,
    kernel: BTreeSet<u32>,
    waiting: BTreeMap<u32, Waiting>,
    ended: Vec<ThreadWait>,
    due: Nanos,
    last: Nanos,
    longest_pause: Nanos,
}

/// A thread that is in state D.
#[derive(Debug)]
struct Waiting {
    switches: u64,
    from: Nanos,
    to: Nanos,
    name: String,
    place: WaitPlace,
}

/// Where a thread waits.
#[derive(Debug)]
enum WaitPlace {
    /// Not asked before the second look.
    Unknown,
    /// For nothing that is watched.
    Elsewhere,
    /// In this function of the kernel.
    Function(String),
}

/// What a system call waits for.
#[derive(Debug, PartialEq, Eq)]
enum WaitsFor {
    /// What the program asked for by `ioctl`.
    Ioctl,
    /// The open file of this number.
    File(String),
    /// Something that has a path, or is not known.
    Other,
}

impl WaitingThreads {
    pub(super) fn new(target: &Path, disks: &[BlockDevice]) -> Self {
        let numbers: Vec<(u32, u32)> = disks
            .iter()
            .flat_map(|disk| std::iter::once(disk.clone()).chain(disk.partitions()))
            .filter_map(|device| device.numbers())
            .collect();
        let nodes: Vec<PathBuf> = disks.iter().map(BlockDevice::node).collect();
        let of_target = mount_of(target).ok().filter(|_| BlockDevice::from_node(target).is_none());
        let is_ours = |mount: &Mount| {
            let same = |it: &Mount| it.device == mount.device || it.source == mount.source;
            numbers.contains(&mount.device) || of_target.as_ref().is_some_and(same)
        };
        let mut mounts = own_mounts().unwrap_or_default();
        mounts.retain(is_ours);
        Self {
            mounts,
            nodes,
            kernel: BTreeSet::new(),
            waiting: BTreeMap::new(),
            ended: Vec::new(),
            due: Nanos::ZERO,
            last: Nanos::ZERO,
            longest_pause: LOOK_EVERY,
        }
    }

    /// How uncertain the begin of a wait is.
    pub(super) fn resolution(&self) -> Nanos {
        self.longest_pause
    }

    /// Looks if it is time.
    pub(super) fn look(&mut self, now: Nanos) {
        if now < self.due {
            return;
        }
        if self.last > Nanos::ZERO {
            self.longest_pause = self.longest_pause.max(now.saturating_sub(self.last));
        }
        self.last = now;
        let begun = monotonic_time();
        let mut seen = BTreeSet::new();
        for process in numbers(Path::new("/proc")) {
            if self.kernel.contains(&process) {
                continue;
            }
            let folder = PathBuf::from(format!("/proc/{process}/task"));
            for thread in numbers(&folder) {
                let path = folder.join(thread.to_string());
                let Some(stat) = read(&path.join("stat")) else { continue };
                match state(&stat) {
                    Some((_, flags, _)) if flags & PF_KTHREAD != 0 => {
                        self.kernel.insert(process);
                    }
                    Some(('D', _, name)) => {
                        if let Some(switches) = switches(&path) {
                            seen.insert(thread);
                            self.waits((process, thread), &path, (name, switches), now);
                        }
                    }
                    _ => {}
                }
            }
        }
        let gone: Vec<u32> =
            self.waiting.keys().filter(|thread| !seen.contains(thread)).copied().collect();
        for thread in gone {
            self.end_one(thread);
        }
        let took = monotonic_time().saturating_sub(begun);
        self.due = now + LOOK_EVERY.max(took.times(PART));
    }

    /// All waits, those that last included.
    pub(super) fn end(mut self) -> Vec<ThreadWait> {
        let left: Vec<u32> = self.waiting.keys().copied().collect();
        for thread in left {
            self.end_one(thread);
        }
        self.ended
    }

    fn waits(
        &mut self,
        (process, thread): (u32, u32),
        path: &Path,
        (name, switches): (&str, u64),
        now: Nanos,
    ) {
        let is_new = self.waiting.get(&thread).is_none_or(|it| it.switches != switches);
        if is_new {
            self.end_one(thread);
            let (name, place) = (name.to_owned(), WaitPlace::Unknown);
            let waiting = Waiting { switches, from: now, to: now, name, place };
            self.waiting.insert(thread, waiting);
            return;
        }
        let is_new = |it: &Waiting| matches!(it.place, WaitPlace::Unknown);
        let place =
            self.waiting.get(&thread).is_some_and(is_new).then(|| self.place(process, path));
        if let Some(waiting) = self.waiting.get_mut(&thread) {
            waiting.to = now;
            if let Some(place) = place {
                waiting.place = place;
            }
        }
    }

    fn place(&self, process: u32, path: &Path) -> WaitPlace {
        let call = read(&path.join("syscall")).unwrap_or_default();
        let is_ours = match waits_for(&call) {
            WaitsFor::Ioctl => false,
            WaitsFor::File(number) => self.is_watched(process, &number),
            WaitsFor::Other => self.uses(process),
        };
        if !is_ours {
            return WaitPlace::Elsewhere;
        }
        let function = read(&path.join("wchan")).unwrap_or_default();
        WaitPlace::Function(if function == "0" { String::new() } else { function })
    }

    /// Whether the process has something open that is watched.
    fn uses(&self, process: u32) -> bool {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let below = |link: &Path| self.mounts.iter().any(|it| link.starts_with(&it.mount_point));
        // The mount of everything is no evidence by name.
        let is_root = self.mounts.iter().any(|it| it.mount_point == Path::new("/"));
        if !is_root && fs::read_link(folder.join("cwd")).is_ok_and(|link| below(&link)) {
            return true;
        }
        let files = names_in(&folder.join("fd"));
        files.iter().take(FILES_MAX).any(|number| self.is_watched(process, number))
    }

    /// Whether an open file of the process lies on a watched filesystem, or is a watched disk.
    fn is_watched(&self, process: u32, number: &str) -> bool {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let info = read(&folder.join("fdinfo").join(number)).unwrap_or_default();
        let mount = info.lines().find_map(|line| line.strip_prefix("mnt_id:"));
        let mount = mount.and_then(|number| number.trim().parse::<u64>().ok());
        let is_on = |id: u64| self.mounts.iter().any(|it| it.id == id);
        mount.is_some_and(is_on)
            || fs::read_link(folder.join("fd").join(number))
                .is_ok_and(|link| self.nodes.contains(&link))
    }

    fn end_one(&mut self, thread: u32) {
        let Some(it) = self.waiting.remove(&thread) else { return };
        if let WaitPlace::Function(function) = it.place {
            let thread = WatchedThread { name: it.name, pid: thread };
            self.ended.push(ThreadWait { thread, function, from: it.from, to: it.to });
        }
    }
}

/// What a line of `/proc/PID/syscall` says that is waited for: `18 0x5 0x7f... ...`, or `running`.
fn waits_for(call: &str) -> WaitsFor {
    let mut fields = call.split(' ');
    let number = fields.next().and_then(|number| number.parse::<u64>().ok());
    let file = fields.next().and_then(|it| u32::from_str_radix(it.strip_prefix("0x")?, 16).ok());
    match (number, file) {
        (Some(number), _) if number == CALLS.0 => WaitsFor::Ioctl,
        (Some(number), Some(file)) if CALLS.1.contains(&number) => WaitsFor::File(file.to_string()),
        _ => WaitsFor::Other,
    }
}

/// The entries of a folder that are numbers, in ascending order.
fn numbers(folder: &Path) -> Vec<u32> {
    let mut numbers: Vec<u32> =
        names_in(folder).iter().filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

fn read(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// State, flags and name of a line of `/proc/PID/stat`. A name may contain anything, brackets too.
fn state(stat: &str) -> Option<(char, u64, &str)> {
    let (before, after) = stat.rsplit_once(") ")?;
    let (_, name) = before.split_once(" (")?;
    let mut fields = after.split(' ');
    let state = fields.next()?.chars().next()?;
    let flags = fields.nth(5)?.parse().ok()?;
    Some((state, flags, name))
}

/// How often a thread was taken off a processor, of its own will or not.
fn switches(thread: &Path) -> Option<u64> {
    let status = read(&thread.join("status"))?;
    let count = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse::<u64>().ok()
    };
    Some(count("voluntary_ctxt_switches:")? + count("nonvoluntary_ctxt_switches:")?)
}

#[cfg(test)]
mod tests;
