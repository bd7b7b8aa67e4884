//! Who sends discards from a filesystem: its mount options, `fstrim.timer`, a job of cron.
//!
//! Sources: `fstrim(8)` (which filesystems the timer trims: those that `/etc/fstab` lists, or all
//! mounts where it lists none; not those with `X-fstrim.notrim`, nor read-only ones);
//! `systemd.timer(5)` (the file that a persistent timer touches when it runs).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use trimbench_claim::mounts::{Mount, unescape};
use trimbench_core::text::to_text;

use crate::mount_table::{MountTable, btrfs_folder};
use crate::tree::{SystemFact, SystemTree};

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
    /// The lines of fstab, as fields.
    #[serde(skip)]
    pub(crate) fstab: Vec<Vec<String>>,
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

impl SystemSenders {
    pub(crate) fn of(tree: &SystemTree) -> Self {
        let timer_last_s = last_run(tree);
        Self {
            timer: timer(tree),
            timer_last_s,
            trimmed: timer_last_s.map_or_else(BTreeMap::new, |_| trimmed(tree)),
            jobs: jobs(tree),
            is_container: is_container(tree),
            minimum: minimum(tree),
            fstab: fstab(tree),
        }
    }

    /// What `fstrim.service` said last that it trimmed on this mount point, in bytes.
    pub(crate) fn trimmed(&self, mount_point: &str) -> Option<u64> {
        self.trimmed.get(mount_point).copied()
    }

    /// The line of fstab for any mount of this filesystem.
    pub(crate) fn fstab_line(&self, mounts: &MountTable, mount: &Mount) -> Option<&[String]> {
        let points: Vec<&Path> =
            mounts.same_filesystem(mount).map(|it| it.mount_point.as_path()).collect();
        let is_it = |line: &&Vec<String>| {
            points.iter().any(|point| unescape(&line[1]) == point.as_os_str())
        };
        self.fstab.iter().rfind(is_it).map(Vec::as_slice)
    }

    /// Whether the timer, were it on, would trim this filesystem, and why not.
    pub(crate) fn timer_covers(
        &self,
        mounts: &MountTable,
        mount: &Mount,
    ) -> Result<(), &'static str> {
        let line = self.fstab_line(mounts, mount);
        let listed = self.fstab.iter().any(|line| line[1].starts_with('/'));
        if line.is_some_and(|line| line[3].split(',').any(|it| it == NOTRIM)) {
            return Err("`X-fstrim.notrim` of `/etc/fstab` keeps it from this filesystem");
        }
        if listed && line.is_none() {
            return Err("it trims what `/etc/fstab` lists, and this filesystem is not there");
        }
        if mounts.same_filesystem(mount).all(|it| it.has_option("ro")) {
            return Err("it leaves out what is mounted read-only");
        }
        Ok(())
    }

    /// Whether the timer trims this filesystem.
    pub(crate) fn timer_trims(&self, mounts: &MountTable, mount: &Mount) -> bool {
        self.timer == TimerState::On && self.timer_covers(mounts, mount).is_ok()
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
    let mut options = mount.options.split(',');
    options.find(|it| matches!(*it, "discard" | "discard=sync" | "discard=async"))
}

/// What a record would say of this mount: what lines to type are made of.
pub(crate) fn mount_facts(
    tree: &SystemTree,
    senders: &SystemSenders,
    mount: &Mount,
) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = [
        ("filesystem", mount.filesystem.clone()),
        ("mount-options", mount.options.clone()),
        ("mount-point", to_text(&mount.mount_point)),
        ("source-device", to_text(&mount.source)),
    ]
    .into_iter()
    .map(|(key, text)| (key.to_owned(), text))
    .collect();
    if mount.root != "/" {
        facts.insert("mount-root".to_owned(), to_text(&mount.root));
    }
    if !senders.fstab.is_empty() {
        let line = senders.fstab.iter().rfind(|line| {
            unescape(&line[1]) == mount.mount_point.as_os_str()
                && (line[2] == mount.filesystem || line[2] == "auto")
        });
        let text = line.map_or("none".to_owned(), |line| line.join(" "));
        facts.insert("fstab-line".to_owned(), text);
    }
    if let Some(uuid) = uuid(tree, mount) {
        facts.insert("filesystem-uuid".to_owned(), uuid);
    }
    facts
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

/// The least length in the command line of `fstrim.service`.
fn minimum(tree: &SystemTree) -> Option<String> {
    let mut files: Vec<String> =
        UNITS.iter().map(|folder| format!("{folder}/fstrim.service")).collect();
    for folder in UNITS {
        let folder = format!("{folder}/fstrim.service.d");
        let names = tree.names_or_none(&folder);
        files.extend(names.iter().map(|name| format!("{folder}/{name}")));
    }
    let texts = files.iter().filter_map(|file| tree.text(file).known());
    texts.collect::<Vec<_>>().iter().flat_map(|text| text.lines()).find_map(|line| {
        let command = line.trim().strip_prefix("ExecStart=")?;
        let words: Vec<&str> = command.split_ascii_whitespace().collect();
        let place = words.iter().position(|it| it.starts_with("-m") || it.starts_with("--min"))?;
        let joined = match words[place].split_once('=') {
            Some((_, value)) => Some(value),
            None => words[place].strip_prefix("-m").filter(|value| !value.is_empty()),
        };
        joined.or(words.get(place + 1).copied()).map(str::to_owned)
    })
}

/// The lines of fstab with at least four fields.
fn fstab(tree: &SystemTree) -> Vec<Vec<String>> {
    let text = match tree.text("/etc/fstab") {
        SystemFact::Known(text) => text,
        SystemFact::Absent | SystemFact::Unreadable(_) => return Vec::new(),
    };
    let lines = text.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.len() >= 4)
        .collect()
}
