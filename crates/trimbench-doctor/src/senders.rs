//! Who sends discards from a filesystem: its mount options, `fstrim.timer`, a job of cron.
//!
//! Sources: sys-utils/fstrim.c of util-linux, for whom `fstrim.timer` trims (`--listed-in
//! /etc/fstab:/proc/self/mountinfo`): what fstab lists if it has any line, swap included, and the
//! root filesystem beside that; else all that is mounted. Not those with `X-fstrim.notrim`, nor
//! read-only ones. `systemd.timer(5)` (the file that a persistent timer touches when it runs).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use trimbench_claim::mounts::Mount;
use trimbench_core::text::to_text;
use trimbench_results::advice::{Action, LineToType, Place, lines_to_type};

use crate::fstab::{FstabEntry, FstabTable};
use crate::mount_table::{MountTable, btrfs_folder, devices_of};
use crate::tree::SystemTree;

/// Keeps `fstrim.timer` from one mount.
const NOTRIM: &str = "X-fstrim.notrim";
/// Where systemd keeps its units, those that count first.
pub(crate) const UNITS: [&str; 4] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];

/// Who may send discards on this machine, whatever the filesystem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SystemSenders {
    /// Whether the weekly timer is on.
    pub(crate) timer: TimerState,
    /// Seconds since 1970 when it last ran; `None` if it never did, or nobody knows.
    pub(crate) timer_last_s: Option<u64>,
    /// What it said last that it trimmed, by mount point, in bytes.
    #[serde(skip)]
    trimmed: BTreeMap<String, u64>,
    /// Jobs of cron that run `fstrim`.
    pub(crate) jobs: Vec<String>,
    /// Whether this is a container, whose host has timers of its own.
    pub(crate) is_container: bool,
    /// The least length that the timer's service gives `fstrim`, as written there.
    pub(crate) minimum: Option<String>,
    /// Where the timer's service looks for what to trim.
    #[serde(skip)]
    scope: TimerScope,
    /// What `/etc/fstab` lists.
    #[serde(skip)]
    pub(crate) fstab: FstabTable,
    /// Whether `fstrim` finds the root filesystem although fstab does not list it: by `root=` of
    /// the kernel command line.
    #[serde(skip)]
    finds_root: bool,
}

/// Whether `fstrim.timer` is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TimerState {
    /// It is enabled, and systemd runs.
    On,
    /// It is installed, and not enabled.
    Off,
    /// It is linked to nothing.
    Masked,
    /// It is enabled, but systemd does not run this system.
    WithoutSystemd,
    /// It is not installed.
    Missing,
}

/// Where `fstrim.service` looks for what to trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimerScope {
    /// In fstab, and among what is mounted if that has no lines: the unit since util-linux 2.36.
    FstabOrMounted,
    /// In fstab only: the unit before.
    Fstab,
    /// Among what is mounted: the unit before that.
    Mounted,
}

impl TimerScope {
    /// By the options of its command line.
    fn of(command: &[String]) -> Self {
        let is_short = |word: &str, letter: char| {
            let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
            letters.is_some_and(|it| it.contains(letter))
        };
        let has = |long: &str, letter: char| {
            command.iter().any(|word| word == long || is_short(word, letter))
        };
        match () {
            () if has("--all", 'a') => Self::Mounted,
            () if has("--fstab", 'A') => Self::Fstab,
            () => Self::FstabOrMounted,
        }
    }
}

impl SystemSenders {
    pub(crate) fn of(tree: &SystemTree) -> Self {
        let timer_last_s = last_run(tree);
        let command = service_command(tree);
        Self {
            timer: timer(tree),
            timer_last_s,
            trimmed: timer_last_s.map_or_else(BTreeMap::new, |_| trimmed(tree)),
            jobs: jobs(tree),
            is_container: is_container(tree),
            minimum: minimum(&command),
            scope: TimerScope::of(&command),
            fstab: FstabTable::of(tree),
            finds_root: finds_root(tree),
        }
    }

    /// What `fstrim.service` said last that it trimmed on this mount point, in bytes.
    pub(crate) fn trimmed(&self, mount_point: &str) -> Option<u64> {
        self.trimmed.get(mount_point).copied()
    }

    /// Whether the timer, were it on, would trim this filesystem, and why not.
    pub(crate) fn timer_covers(
        &self,
        mounts: &MountTable,
        mount: &Mount,
    ) -> Result<(), &'static str> {
        if mounts.is_read_only(mount) {
            return Err("it leaves out what is mounted read-only");
        }
        match (self.scope, self.fstab.entries()) {
            (TimerScope::Mounted, _) | (TimerScope::FstabOrMounted, []) => return Ok(()),
            (TimerScope::Fstab, []) => return Err("it trims what `/etc/fstab` lists: nothing"),
            (TimerScope::Fstab | TimerScope::FstabOrMounted, _) => {}
        }
        let writable = || mounts.same_filesystem(mount).filter(|it| !it.has_option("ro"));
        let listed: Vec<(&Mount, Option<&FstabEntry>)> =
            writable().map(|it| (it, self.fstab.of_mount(it))).collect();
        let is_trimmed = |(at, entry): &(&Mount, Option<&FstabEntry>)| match entry {
            Some(entry) => !entry.has_option(NOTRIM) && !entry.has_option("ro"),
            None => at.mount_point == Path::new("/") && self.finds_root,
        };
        if listed.iter().any(is_trimmed) {
            return Ok(());
        }
        let entries: Vec<&FstabEntry> = listed.iter().filter_map(|(_, entry)| *entry).collect();
        Err(if entries.is_empty() {
            "it trims what `/etc/fstab` lists, and this filesystem is not there"
        } else if entries.iter().any(|it| it.has_option(NOTRIM)) {
            "`X-fstrim.notrim` of `/etc/fstab` keeps it from this filesystem"
        } else {
            "it leaves out what `/etc/fstab` lists as read-only"
        })
    }

    /// Whether the timer trims this filesystem.
    pub(crate) fn timer_trims(&self, mounts: &MountTable, mount: &Mount) -> bool {
        self.timer == TimerState::On && self.timer_covers(mounts, mount).is_ok()
    }

    /// What to type to have a mount trimmed in this way.
    pub(crate) fn lines(
        &self,
        tree: &SystemTree,
        mounts: &MountTable,
        mount: &Mount,
        action: &Action,
    ) -> Vec<LineToType> {
        let place = Place::of_mount(&mount_facts(tree, &self.fstab, mount));
        let mut lines = lines_to_type(action, &place);
        // `fstrim.timer` trims some filesystems that fstab does not list: these need no line there.
        let is_unlisted = self.fstab.is_known() && self.fstab.of_mount(mount).is_none();
        let is_weekly = matches!(action, Action::WeeklyFstrim);
        if is_weekly && is_unlisted && self.timer_covers(mounts, mount).is_ok() {
            lines.retain(|line| line.file != Some("/etc/fstab"));
        }
        lines
    }
}

/// What the journal has of `fstrim.service`; the last line of each mount point counts. Only root
/// and some groups may read it.
fn trimmed(tree: &SystemTree) -> BTreeMap<String, u64> {
    const LINE: [&str; 5] =
        ["--unit=fstrim.service", "--output=cat", "--lines=200", "--no-pager", "--quiet"];
    let text = tree.printed("journalctl", &LINE).known().unwrap_or_default();
    text.lines().filter_map(trimmed_line).collect()
}

/// `/srv: 12.3 GiB (13207859200 bytes) trimmed on /dev/sda1`, as `fstrim --verbose` prints it.
fn trimmed_line(line: &str) -> Option<(String, u64)> {
    let (head, _) = line.rsplit_once(" bytes) trimmed on ")?;
    let (head, bytes) = head.rsplit_once(" (")?;
    let (mount_point, _) = head.rsplit_once(": ")?;
    Some((mount_point.to_owned(), bytes.parse().ok()?))
}

/// The option by which a filesystem discards what it frees; `None` if it does not.
pub(crate) fn online(mount: &Mount) -> Option<&str> {
    // JFS shows the least number of blocks that it discards: `discard=512`.
    let is_jfs = mount.filesystem == "jfs";
    let mut options = mount.options.split(',');
    options.find(|it| {
        matches!(*it, "discard" | "discard=sync" | "discard=async")
            || is_jfs && it.starts_with("discard=")
    })
}

/// Whether `fstrim` by hand trims a filesystem that is mounted read-only; `None` where nobody has
/// looked. Sources: `ext4_ioctl`, `xfs_ioc_trim`, `btrfs_ioctl_fitrim` (each refuses where the
/// log was not replayed), `f2fs_ioc_fitrim` of Linux.
pub(crate) fn trims_read_only(mount: &Mount) -> Option<bool> {
    let skips_log = mount.options.split(',').any(|option| match option.split_once('=') {
        None => matches!(option, "norecovery" | "noload" | "nologreplay"),
        Some(("rescue", all)) => all.split(':').any(|it| matches!(it, "nologreplay" | "all")),
        Some(_) => false,
    });
    match mount.filesystem.as_str() {
        "ext3" | "ext4" | "xfs" | "btrfs" => Some(!skips_log),
        "f2fs" => Some(false),
        _ => None,
    }
}

/// What a record would say of this mount: what lines to type are made of.
fn mount_facts(tree: &SystemTree, fstab: &FstabTable, mount: &Mount) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = [
        ("filesystem", mount.filesystem.clone()),
        ("mount-options", mount.options.clone()),
        ("mount-point", to_text(&mount.mount_point)),
        ("source-device", to_text(&mount.source)),
    ]
    .into_iter()
    .map(|(key, text)| (key.to_owned(), text))
    .collect();
    let mut add = |key: &str, text: String| facts.insert(key.to_owned(), text);
    if mount.root != "/" {
        add("mount-root", to_text(&mount.root));
    }
    if fstab.is_known() {
        let line = fstab.of_mount(mount);
        let line = line.filter(|it| it.kind() == mount.filesystem || it.kind() == "auto");
        add("fstab-line", line.map_or("none".to_owned(), FstabEntry::text));
    }
    if let Some(uuid) = uuid(tree, mount) {
        add("filesystem-uuid", uuid);
    }
    if let Some((file, options)) = loop_image(tree, mount) {
        add("loop-file", file);
        add("loop-options", options);
    }
    facts
}

/// The file that a filesystem is in, and the options by which `mount` makes a loop device of it.
/// Only of a device that goes with the mount (`autoclear`): then its UUID leads nowhere.
fn loop_image(tree: &SystemTree, mount: &Mount) -> Option<(String, String)> {
    let devices = devices_of(tree, mount);
    let [device] = devices.as_slice() else { return None };
    if !device.disk_name().starts_with("loop") {
        return None;
    }
    let file = device.attribute(tree, "loop/backing_file").known()?;
    if device.number(tree, "loop/autoclear").known() != Some(1) {
        return None;
    }
    let before = device.number(tree, "loop/offset").known().unwrap_or(0);
    let offset = before + device.start_bytes(tree).unwrap_or(0);
    let mut options = "loop".to_owned();
    if offset > 0 {
        write!(options, ",offset={offset}").expect("a text takes all");
    }
    let size = device.bytes(tree).filter(|_| device.is_partition());
    if let Some(size) = size {
        write!(options, ",sizelimit={size}").expect("a text takes all");
    }
    Some((file, options))
}

/// The UUID of a filesystem, by the links of udev or the folder of a btrfs.
fn uuid(tree: &SystemTree, mount: &Mount) -> Option<String> {
    if let Some(folder) = btrfs_folder(tree, mount) {
        return folder.file_name()?.to_str().map(str::to_owned);
    }
    let source = tree.canonical(Path::new(&mount.source))?;
    let links = Path::new("/dev/disk/by-uuid");
    let names = tree.names_or_none(links);
    names.into_iter().find(|name| tree.canonical(links.join(name)).as_ref() == Some(&source))
}

/// Whether others than we see may run `fstrim`: in a container, whose markers a virtual machine
/// that was made of its image has as well. Only where no container is are the kernel's own threads
/// seen.
fn is_container(tree: &SystemTree) -> bool {
    let markers = ["/run/.containerenv", "/.dockerenv", "/run/systemd/container"];
    let kernel_thread = tree.text("/proc/2/comm").known();
    kernel_thread.as_deref() != Some("kthreadd") && markers.iter().any(|path| tree.exists(path))
}

fn timer(tree: &SystemTree) -> TimerState {
    let file = "fstrim.timer";
    if tree.canonical(Path::new(UNITS[0]).join(file)).is_some_and(|it| it == Path::new("/dev/null"))
    {
        return TimerState::Masked;
    }
    let wanted = |folder: &&str| {
        let names = tree.names_or_none(Path::new(folder).join("timers.target.wants"));
        names.iter().any(|name| name == file)
    };
    let is_installed = UNITS.iter().any(|folder| tree.exists(Path::new(folder).join(file)));
    match (UNITS.iter().any(wanted), is_installed) {
        (true, _) if tree.exists("/run/systemd/system") => TimerState::On,
        (true, _) => TimerState::WithoutSystemd,
        (false, true) => TimerState::Off,
        (false, false) => TimerState::Missing,
    }
}

fn last_run(tree: &SystemTree) -> Option<u64> {
    tree.modified_s("/var/lib/systemd/timers/stamp-fstrim.timer")
}

/// Jobs that run `fstrim`: files of the folders of cron, lines of its tables.
fn jobs(tree: &SystemTree) -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly"] {
        let names = tree.names_or_none(folder);
        found.extend(names.iter().map(|name| format!("{folder}/{name}")));
    }
    let tables = tree.names_or_none("/etc/cron.d");
    found.extend(tables.iter().map(|name| format!("/etc/cron.d/{name}")));
    found.push("/etc/crontab".to_owned());
    found.retain(|path| {
        let text = tree.text(path).known().unwrap_or_default();
        text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains("fstrim"))
    });
    found
}

/// The command line of `fstrim.service` as words: of its drop-ins, else of the unit that counts.
fn service_command(tree: &SystemTree) -> Vec<String> {
    let mut files = Vec::new();
    for folder in UNITS {
        let folder = format!("{folder}/fstrim.service.d");
        let names = tree.names_or_none(&folder);
        files.extend(names.iter().rev().map(|name| format!("{folder}/{name}")));
    }
    files.extend(UNITS.iter().map(|folder| format!("{folder}/fstrim.service")));
    let command = files.iter().find_map(|file| {
        let text = tree.text(file).known()?;
        // An empty one only takes back those before it.
        let mut commands = text.lines().filter_map(|it| it.trim().strip_prefix("ExecStart="));
        commands.rfind(|it| !it.is_empty()).map(str::to_owned)
    });
    command.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect()
}

/// The least length in the command line of `fstrim.service`.
fn minimum(command: &[String]) -> Option<String> {
    let place = command.iter().position(|it| it.starts_with("-m") || it.starts_with("--min"))?;
    let joined = match command[place].split_once('=') {
        Some((_, value)) => Some(value),
        None => command[place].strip_prefix("-m").filter(|value| !value.is_empty()),
    };
    joined.map(str::to_owned).or_else(|| command.get(place + 1).cloned())
}

/// Whether the kernel was told its root filesystem, as `fstrim` asks; it was where nobody knows.
fn finds_root(tree: &SystemTree) -> bool {
    let line = tree.text("/proc/cmdline").known();
    line.is_none_or(|it| it.split_ascii_whitespace().any(|word| word.starts_with("root=")))
}
