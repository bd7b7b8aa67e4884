//! The diagnosis of a place: its layers, whether TRIM reaches its drives, and why not.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use serde::Serialize;
use trimbench_results::advice::LineToType;

use crate::device::{DeviceNode, DiscardCount};
use crate::layer::{Handling, Layer, LayerKind};
use crate::mount_table::{MountTable, of_source};
use crate::senders::SystemSenders;
use crate::system::System;
use crate::trap::Trap;
use crate::tree::{SystemFact, SystemTree};
use crate::walk::{Walk, swap_layers};

/// What was found of one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What was asked about.
    pub place: String,
    /// The topmost layer, with all below it.
    pub top: Layer,
    /// Whether TRIM reaches the drives.
    pub reach: Reach,
    /// Discards at the top and at the bottom since the devices appeared.
    pub since_start: SinceStart,
    /// Traps of all layers, those that matter most first.
    pub traps: Vec<Trap>,
    /// When `fstrim.timer` last ran, in seconds since 1970.
    pub timer_last_s: Option<u64>,
    /// What `fstrim.service` said last that it trimmed here, in bytes; `None` if the journal does
    /// not have it, or may not be read.
    pub timer_trimmed_bytes: Option<u64>,
    /// What each drive says of its health ([`Self::ask_drives`]); empty if none was asked.
    pub drives_say: Vec<String>,
}

/// Whether TRIM reaches the drives.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Reach {
    /// It is sent, every layer passes it, and every drive accepts it.
    Reaches {
        /// The drives.
        drives: Vec<String>,
    },
    /// It does not reach some or all of the drives.
    DoesNot {
        /// The layers at which it ends, the uppermost first.
        stops: Vec<Stop>,
        /// Drives that it reaches all the same.
        reached: Vec<String>,
    },
    /// It gets as far as can be seen; what is further down cannot be.
    CannotTell {
        /// The layers of which it is not known.
        unknown: Vec<Stop>,
    },
    /// There is nothing to trim.
    HasNoDrive,
}

/// A layer at which TRIM ends, or behind which nothing can be seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stop {
    /// The layer, for people.
    pub layer: String,
    /// The device or mount point.
    pub name: String,
    /// What kind of layer it is.
    pub kind: LayerKind,
    /// A stable id.
    pub cause: String,
    /// Why, as a clause.
    pub why: String,
    /// What mends it.
    pub lines: Vec<LineToType>,
}

/// Discards since the devices appeared, most often since the machine started.
///
/// The top is what the filesystem sends discards to. The bottom is the lowest device that serves
/// only this stack: a partition rather than its disk. A disk that others use as well counts their
/// discards too, and says so.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SinceStart {
    /// The uppermost devices, and what they have completed.
    pub top: Vec<(String, DiscardCount)>,
    /// The lowest, the same.
    pub bottom: Vec<(String, DiscardCount)>,
    /// Bytes at the bottom by bytes at the top; `None` if nothing was discarded at the top, if the
    /// two are the same devices, or if the bottom serves others as well.
    pub ratio: Option<f64>,
}

/// Why there is no diagnosis.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiagnosisError {
    /// `/proc/self/mountinfo` cannot be read: mount procfs on `/proc`.
    #[error("cannot read the mount table `/proc/self/mountinfo`: {0}")]
    NoMounts(String),
    /// No mount of the table has this path: in a recorded tree, name a mount point.
    #[error("no mount holds `{}`", .0.display())]
    NoMount(PathBuf),
    /// The device is not in sysfs.
    #[error("sysfs has no block device `{0}`")]
    NoDevice(String),
}

/// Reads a system, once; then places can be asked for.
#[derive(Debug)]
pub struct Doctor {
    tree: SystemTree,
    mounts: MountTable,
    senders: SystemSenders,
}

impl Doctor {
    /// Reads what all places share.
    pub fn new(tree: SystemTree) -> Result<Self, DiagnosisError> {
        let mounts = match MountTable::of(&tree) {
            SystemFact::Known(mounts) => mounts,
            SystemFact::Absent => {
                return Err(DiagnosisError::NoMounts("it is not there".to_owned()));
            }
            SystemFact::Unreadable(obstacle) => {
                return Err(DiagnosisError::NoMounts(obstacle.errno.to_string()));
            }
        };
        let senders = SystemSenders::of(&tree);
        Ok(Self { tree, mounts, senders })
    }

    /// Of a path without links on a mounted filesystem, or of a device's node.
    pub fn diagnose(&self, path: &Path) -> Result<Diagnosis, DiagnosisError> {
        let walk = self.walk();
        if path.starts_with("/dev")
            && let Some(device) = of_source(&self.tree, &path.to_string_lossy())
        {
            let layer = walk.of_device(&device);
            let mut areas = swap_layers(&walk).into_iter();
            // What uses the whole of it sends discards, or does not.
            let area =
                areas.find(|area| area.below.first().is_some_and(|it| it.name == layer.name));
            return Ok(self.of_layer(path, area.unwrap_or(layer)));
        }
        let mount = self.mounts.of_path(path);
        let mount = mount.ok_or_else(|| DiagnosisError::NoMount(path.to_owned()))?;
        Ok(self.of_layer(path, walk.of_mount(mount)))
    }

    /// Of a device by its kernel name.
    pub fn diagnose_device(&self, name: &str) -> Result<Diagnosis, DiagnosisError> {
        let device = DeviceNode::named(&self.tree, name);
        let device = device.ok_or_else(|| DiagnosisError::NoDevice(name.to_owned()))?;
        let walk = self.walk();
        Ok(self.of_layer(Path::new(name), walk.of_device(&device)))
    }

    /// Of every mounted filesystem that stands on a block device, each once.
    pub fn diagnose_all(&self) -> Vec<Diagnosis> {
        let walk = self.walk();
        let mut seen = Vec::new();
        let mut found = Vec::new();
        for mount in self.mounts.all() {
            if seen.contains(&mount.device) {
                continue;
            }
            seen.push(mount.device);
            let layer = walk.of_mount(mount);
            let is_hidden = mount.device.0 != 0 || layer.kind == LayerKind::Overlay;
            if layer.handling != Handling::HasNoDrive && (is_hidden || has_device(&layer)) {
                found.push(self.of_layer(&mount.mount_point, layer));
            }
        }
        found
    }

    fn walk(&self) -> Walk<'_> {
        let Self { tree, mounts, senders } = self;
        Walk::new(System { tree, mounts, senders })
    }

    fn of_layer(&self, place: &Path, top: Layer) -> Diagnosis {
        let walk = self.walk();
        let mut traps: Vec<Trap> = top.all().iter().flat_map(|it| it.traps.clone()).collect();
        let drives: Vec<&str> = drives(&top).iter().map(|it| it.name.as_str()).collect();
        for area in swap_layers(&walk) {
            let shares = self::drives(&area).iter().any(|it| drives.contains(&it.name.as_str()));
            if shares && area.name != top.name {
                traps.extend(area.traps);
            }
        }
        traps.sort_by_key(|trap| Reverse(trap.weight));
        traps.dedup();
        let since_start = since_start(&top);
        Diagnosis {
            place: place.display().to_string(),
            reach: contradicted(reach(&top), &top, &since_start),
            since_start,
            traps,
            timer_last_s: self.senders.timer_last_s,
            timer_trimmed_bytes: top.all().iter().find_map(|it| self.senders.trimmed(&it.name)),
            drives_say: Vec::new(),
            top,
        }
    }
}

impl Diagnosis {
    /// The kernel names of the drives, each once.
    pub fn drives(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for drive in drives(&self.top) {
            if !names.contains(&drive.name.as_str()) {
                names.push(&drive.name);
            }
        }
        names
    }

    /// Why there is nothing to trim although there is a drive, as a clause: an image that is only
    /// read.
    pub fn nothing_to_trim(&self) -> Option<&str> {
        self.top.all().into_iter().find_map(|it| it.nothing_to_trim.as_deref())
    }
}

/// Whether something of a layer is a block device.
fn has_device(layer: &Layer) -> bool {
    layer.all().iter().any(|it| it.limits.is_some())
}

/// The lowest layers.
fn drives(top: &Layer) -> Vec<&Layer> {
    top.all().into_iter().filter(|it| it.kind == LayerKind::Drive).collect()
}

/// Where the ways down from a layer end.
fn ends<'a>(layer: &'a Layer, found: &mut Vec<&'a Layer>) {
    match &layer.handling {
        Handling::Drops { .. } | Handling::Unknown { .. } | Handling::Hides { .. } => {
            found.push(layer);
            // What is further down may drop them as well: all has to be mended.
            for below in &layer.below {
                let mut lower = Vec::new();
                ends(below, &mut lower);
                found.extend(lower.into_iter().filter(|it| drops(it)));
            }
        }
        Handling::Accepts | Handling::HasNoDrive => found.push(layer),
        Handling::Sends { .. } | Handling::Passes | Handling::Frees { .. } => {
            if layer.below.is_empty() {
                found.push(layer);
            }
            layer.below.iter().for_each(|below| ends(below, found));
        }
    }
}

fn drops(layer: &Layer) -> bool {
    matches!(layer.handling, Handling::Drops { .. })
}

fn reach(top: &Layer) -> Reach {
    let mut all = Vec::new();
    ends(top, &mut all);
    let names = |wanted: &Handling| {
        let mut names: Vec<String> =
            all.iter().filter(|it| it.handling == *wanted).map(|it| it.name.clone()).collect();
        names.dedup();
        names
    };
    let mut stops: Vec<Stop> = all.iter().filter(|it| drops(it)).map(|it| stop(it)).collect();
    stops.dedup();
    if !stops.is_empty() {
        return Reach::DoesNot { stops, reached: names(&Handling::Accepts) };
    }
    let is_unknown =
        |layer: &&&Layer| !matches!(layer.handling, Handling::Accepts | Handling::HasNoDrive);
    let mut unknown: Vec<Stop> = all.iter().filter(is_unknown).map(|it| stop(it)).collect();
    unknown.dedup();
    if !unknown.is_empty() {
        return Reach::CannotTell { unknown };
    }
    match names(&Handling::Accepts) {
        drives if drives.is_empty() => Reach::HasNoDrive,
        drives => Reach::Reaches { drives },
    }
}

/// The verdict by the counters, where they contradict what the layers say of themselves: much was
/// discarded at the top, and next to nothing at the bottom.
///
/// Pools, caches and files drop discards of blocks that they have freed already, so there the
/// counters prove nothing.
fn contradicted(reach: Reach, top: &Layer, since: &SinceStart) -> Reach {
    const MUCH: u64 = 16 << 20;
    let keeps_account = |layer: &&Layer| {
        use LayerKind::{DmCache, DmThin, DmThinPool, DmVdo, Loop};
        matches!(layer.kind, DmThin | DmThinPool | DmCache | DmVdo | Loop)
    };
    let all = top.all();
    let sent: u64 = since.top.iter().map(|(_, count)| count.bytes).sum();
    let is_contradicted = matches!(reach, Reach::Reaches { .. })
        && sent >= MUCH
        && since.ratio.is_some_and(|ratio| ratio < 0.01)
        && !all.iter().any(keeps_account);
    if !is_contradicted {
        return reach;
    }
    // The last layer that counted them is the one that does not pass them on.
    let passes = |layer: &&&Layer| layer.discarded.is_some_and(|it| it.bytes >= sent / 100);
    let Some(last) = all.iter().rfind(passes) else { return reach };
    let why = "it has completed discards since it appeared, and next to none arrived below it";
    Reach::DoesNot {
        stops: vec![Stop {
            cause: "counted-none-below".to_owned(),
            why: why.to_owned(),
            ..stop(last)
        }],
        reached: Vec::new(),
    }
}

fn stop(layer: &Layer) -> Stop {
    let (cause, why, lines) = match &layer.handling {
        Handling::Drops { cause, why, lines } => ((*cause).to_owned(), why.clone(), lines.clone()),
        Handling::Hides { what, lines } => ("hidden".to_owned(), what.clone(), lines.clone()),
        Handling::Unknown { why } => ("unknown".to_owned(), why.clone(), Vec::new()),
        _ => ("nothing-below".to_owned(), "nothing is seen below it".to_owned(), Vec::new()),
    };
    let (layer, name, kind) = (layer.words(), layer.name.clone(), layer.kind);
    Stop { layer, name, kind, cause, why, lines }
}

/// The uppermost devices with a count, and the lowest of this stack's own.
fn since_start(top: &Layer) -> SinceStart {
    let counted = |layer: &Layer| Some((layer.name.clone(), layer.discarded?));
    let mut uppermost = Vec::new();
    first_devices(top, &mut uppermost);
    let mut lowest = Vec::new();
    let mut is_own = true;
    last_devices(top, &mut lowest, &mut is_own);
    let top: Vec<_> = uppermost.iter().filter_map(|it| counted(it)).collect();
    let bottom: Vec<_> = lowest.iter().filter_map(|it| counted(it)).collect();
    let bytes = |all: &[(String, DiscardCount)]| all.iter().map(|(_, it)| it.bytes).sum::<u64>();
    let comparable = is_own && top.len() == uppermost.len() && bottom.len() == lowest.len();
    let differ = uppermost.iter().map(|it| &it.name).ne(lowest.iter().map(|it| &it.name));
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    let ratio = (comparable && differ && bytes(&top) > 0)
        .then(|| bytes(&bottom) as f64 / bytes(&top) as f64);
    SinceStart { top, bottom, ratio }
}

fn first_devices<'a>(layer: &'a Layer, found: &mut Vec<&'a Layer>) {
    if layer.limits.is_some() {
        found.push(layer);
    } else {
        layer.below.iter().for_each(|below| first_devices(below, found));
    }
}

/// The lowest devices that serve only this stack. Below a loop device others write to the same
/// filesystem.
fn last_devices<'a>(layer: &'a Layer, found: &mut Vec<&'a Layer>, is_own: &mut bool) {
    if layer.kind == LayerKind::Loop || layer.is_shared {
        *is_own = false;
    }
    let ends_here = layer.kind == LayerKind::Partition || layer.below.is_empty();
    if ends_here && layer.limits.is_some() {
        found.push(layer);
    } else {
        layer.below.iter().for_each(|below| last_devices(below, found, is_own));
    }
}
