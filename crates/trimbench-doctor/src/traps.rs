//! The traps: rules that look at a layer and its surroundings. Each has a test in which it is
//! found, and one in which it is not.
//!
//! Sources: the kernel's own code as read for `docs/model/issuers.md`, and what was measured on
//! Linux 6.18 (`docs/reference/doctor.md` has a row for each).

use std::path::Path;

use trimbench_claim::mounts::Mount;
use trimbench_results::advice::{Action, LineToType};

use crate::device::DeviceNode;
use crate::drive_facts::{DriveFacts, Transport};
use crate::fstab::FstabEntry;
use crate::layer::{Handling, Layer, LayerKind};
use crate::mount_table::btrfs_folder;
use crate::senders::{online, trims_read_only};
use crate::system::System;
use crate::trap::Trap;
use crate::tree::SystemTree;

/// Discards below this free little: what most deletions free in one place.
const COARSE: u64 = 256 << 10;
/// From this much unallocated space on, the first `fstrim` of a btrfs may take long.
const MUCH_UNALLOCATED: u64 = 10 << 30;

/// The version of the kernel, as far as its first two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KernelVersion(u32, u32);

impl KernelVersion {
    /// Of the tree; `None` where it does not say.
    pub(crate) fn of(tree: &SystemTree) -> Option<Self> {
        Self::parse(&tree.text("/proc/sys/kernel/osrelease").known()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(['.', '-', '+', '~']);
        Some(Self(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }
}

/// Traps of a mounted filesystem.
pub(crate) fn of_filesystem(
    system: System<'_>,
    mount: &Mount,
    layer: &Layer,
    below: &[Layer],
) -> Vec<Trap> {
    let kernel = KernelVersion::of(system.tree);
    let by_timer = system.senders.timer_trims(system.mounts, mount);
    let mut traps = Vec::new();
    match mount.filesystem.as_str() {
        "ext2" | "ext3" | "ext4" => ext4(system, mount, kernel, &mut traps),
        "xfs" => xfs(mount, kernel, by_timer, &mut traps),
        "btrfs" => btrfs(system, mount, kernel, &mut traps),
        _ => {}
    }
    if let Some(option) = online(mount).filter(|_| by_timer) {
        let text = format!(
            "`{}` is trimmed twice: `{option}` discards what is freed, and `fstrim.timer` once a \
             week discards it again",
            layer.name
        );
        traps.push(Trap::loss("trimmed-twice", text));
    }
    if system.mounts.is_read_only(mount) {
        let by_hand = match trims_read_only(mount) {
            Some(true) => "; `fstrim` by hand trims it all the same",
            Some(false) => "; `fstrim` by hand fails with EROFS",
            None => "",
        };
        let text = format!(
            "it is mounted read-only, so nothing is freed there, and `fstrim.timer` leaves it \
             out{by_hand}"
        );
        traps.push(Trap::note("read-only", text));
    }
    let entry = system.senders.fstab.of_filesystem(system.mounts, mount);
    if entry.is_some_and(|it| it.has_option("X-fstrim.notrim")) {
        let trap = "`X-fstrim.notrim` of `/etc/fstab` keeps `fstrim.timer` and `fstrim --fstab` \
                    from this filesystem; `fstrim MOUNT` by hand trims it";
        traps.push(Trap::note("notrim", trap));
    }
    traps.extend(coarse(below));
    traps
}

/// A layer below a filesystem that takes only large discards: what is smaller frees nothing.
fn coarse(below: &[Layer]) -> Option<Trap> {
    let all = below.iter().flat_map(Layer::all);
    let granularity = |layer: &Layer| {
        let limits = layer.limits.as_ref().filter(|limits| limits.accepts() == Some(true));
        limits.and_then(|limits| limits.granularity_bytes).unwrap_or(0)
    };
    let worst =
        all.max_by_key(|layer| granularity(layer)).filter(|it| granularity(it) >= COARSE)?;
    let text = format!(
        "{} takes discards of {} KiB and their multiples only: deleting smaller files frees \
         nothing there, until their neighbours are free as well and `fstrim` sends them together",
        worst.words(),
        granularity(worst) >> 10
    );
    let id = match worst.kind {
        LayerKind::DmThin | LayerKind::DmThinPool => "thin-chunk",
        _ => "coarse-granularity",
    };
    Some(Trap::loss(id, text))
}

fn ext4(system: System<'_>, mount: &Mount, kernel: Option<KernelVersion>, traps: &mut Vec<Trap>) {
    let is_online = online(mount).is_some();
    let source = mount.source.to_string_lossy();
    let folder = format!("/sys/fs/ext4/{}", source.rsplit('/').next().unwrap_or_default());
    // The kernel shows `journal_task` of every filesystem with a journal (5.5 and later).
    let has_journal = !system.tree.exists(&folder)
        || system.tree.exists(format!("{folder}/journal_task"))
        || kernel.is_none_or(|it| it < KernelVersion(5, 5));
    let is_writeback = mount.has_option("data=writeback");
    if is_online && (is_writeback || !has_journal) {
        let why = if is_writeback { "with `data=writeback`" } else { "without a journal" };
        let text = format!(
            "ext4 {why} sends each discard from within `rm` and waits for it: deleting takes as \
             long as the TRIMs"
        );
        let System { tree, mounts, senders } = system;
        let lines = senders.lines(tree, mounts, mount, &Action::WeeklyFstrim);
        traps.push(Trap::danger("discards-inside-rm", text).mended_by(lines));
    } else if is_online && kernel.is_some_and(|it| it >= KernelVersion(6, 8)) {
        traps.push(Trap::note(
            "ext4-trims-neighbours",
            "ext4 of Linux 6.8 and later discards, with each freed extent, the free blocks behind \
             it again: many small deletions discard many times the bytes that they free",
        ));
    }
    if let Some(minimum) = &system.senders.minimum {
        let text = format!(
            "`fstrim.service` runs `fstrim` with a least length of {minimum}: ext4 then takes \
             groups with smaller free extents for trimmed, and a later `fstrim` without it may \
             leave them out until the next mount"
        );
        traps.push(Trap::loss("ext4-minlen", text));
    }
}

fn xfs(mount: &Mount, kernel: Option<KernelVersion>, by_timer: bool, traps: &mut Vec<Trap>) {
    if online(mount).is_some() {
        traps.push(Trap::note(
            "xfs-log-holds-discards",
            "XFS sends discards only when its log is forced: up to 30 s after a deletion, unless a \
             file is synced; and an `fsync` that forces it waits until they are sent",
        ));
    }
    if by_timer && kernel.is_some_and(|it| it >= KernelVersion(6, 10)) {
        traps.push(Trap::loss(
            "xfs-skips-small-extents",
            "on Linux 6.10 and later (seen on 6.18) `fstrim` of a whole XFS skips most small free \
             extents; a call for a part of one allocation group trims them all",
        ));
    }
}

fn btrfs(system: System<'_>, mount: &Mount, kernel: Option<KernelVersion>, traps: &mut Vec<Trap>) {
    if mount.has_option("discard=async") || mount.has_option("discard=sync") {
        let asked = system.senders.fstab.of_filesystem(system.mounts, mount);
        let asked = asked.is_some_and(|it| it.options().any(|it| it.contains("discard")));
        if !asked && kernel.is_some_and(|it| it >= KernelVersion(6, 2)) {
            traps.push(Trap::note(
                "btrfs-async-by-default",
                "nobody asked for it: btrfs switches `discard=async` on by itself since Linux 6.2 \
                 where the drive takes discards; it sends them 10 s to 2 min after a deletion, and \
                 forgets what is pending at an unmount",
            ));
        }
    }
    let Some(folder) = btrfs_folder(system.tree, mount) else { return };
    let unallocated = unallocated_in(system.tree, &folder);
    if unallocated >= MUCH_UNALLOCATED {
        let text = format!(
            "{} GiB are unallocated: every `fstrim` after a mount discards all of it, whatever \
             range it is given, and commits wait meanwhile on most kernels",
            unallocated >> 30
        );
        traps.push(Trap::note("btrfs-unallocated", text));
    }
}

/// Bytes of a btrfs that belong to no block group; 0 where nobody knows.
fn unallocated_in(tree: &SystemTree, folder: &Path) -> u64 {
    let used =
        |kind: &str| tree.number(folder.join("allocation").join(kind).join("disk_total")).known();
    let allocated: u64 = ["data", "metadata", "system"].iter().filter_map(|it| used(it)).sum();
    let devices = tree.names_or_none(folder.join("devices"));
    let sizes = devices.iter().filter_map(|name| DeviceNode::named(tree, name)?.bytes(tree));
    if allocated == 0 { 0 } else { sizes.sum::<u64>().saturating_sub(allocated) }
}

/// The same of the btrfs that is the topmost of these layers.
pub(crate) fn unallocated(tree: &SystemTree, top: &Layer) -> u64 {
    let all = Path::new("/sys/fs/btrfs");
    let Some(device) = top.below.first() else { return 0 };
    let names = tree.names_or_none(all);
    let folders = names.iter().map(|name| all.join(name));
    let mut own = folders.filter(|it| tree.exists(it.join("devices").join(&device.name)));
    own.next().map_or(0, |folder| unallocated_in(tree, &folder))
}

/// Traps of a mapping of device mapper.
pub(crate) fn of_mapping(layer: &Layer, below: &[Layer]) -> Vec<Trap> {
    let mut traps = Vec::new();
    let granularity = |layer: &Layer| {
        layer.limits.as_ref().and_then(|limits| limits.granularity_bytes).unwrap_or(0)
    };
    let lower = below.iter().map(granularity).max().unwrap_or(0);
    if layer.kind == LayerKind::DmSnapshot && layer.handling == Handling::Passes {
        traps.push(Trap::note(
            "snapshot-keeps-blocks",
            "blocks that a snapshot still holds stay in use, whatever is discarded",
        ));
    }
    if layer.kind == LayerKind::DmCache && granularity(layer) > lower.max(COARSE) {
        let text = format!(
            "the cache takes discards of whole blocks of {} KiB only",
            granularity(layer) >> 10
        );
        traps.push(Trap::loss("cache-block", text));
    }
    traps
}

/// Traps of an array.
pub(crate) fn of_array(
    tree: &SystemTree,
    level: &str,
    layer: &Layer,
    below: &[Layer],
) -> Vec<Trap> {
    let mut traps = Vec::new();
    let (count, all) = (below.iter().filter(|it| it.may_accept()).count(), below.len());
    if count > 0 && count < all && layer.handling == Handling::Passes {
        let text = format!(
            "{count} of {all} drives of `{}` take discards; those for the others end without an \
             error",
            layer.name
        );
        traps.push(Trap::loss("mixed-members", text));
    }
    let has_parity = matches!(level, "raid4" | "raid5" | "raid6");
    if has_parity && layer.handling == Handling::Passes {
        let promises = |layer: &Layer| layer.all().iter().any(|it| returns_zeros(tree, it));
        if !below.iter().all(promises) {
            traps.push(Trap::danger(
                "parity-without-zeros",
                format!(
                    "`devices_handle_discard_safely` is set, but not every drive below `{}` is \
                     known to return zeros after TRIM: a rebuild may then restore wrong data \
                     (`hdparm -I` says it of SATA drives)",
                    layer.name
                ),
            ));
        }
    }
    traps
}

/// Whether a drive says that discarded blocks read as zeros: LBPRZ of its provisioning page, which
/// libata sets only for drives that are known to keep to it.
fn returns_zeros(tree: &SystemTree, layer: &Layer) -> bool {
    const LBPRZ: u8 = 0x1c;
    let Some(device) = DeviceNode::named(tree, &layer.name) else { return false };
    let page = tree.bytes(&device.disk_folder().join("device/vpd_pgb2")).known();
    page.and_then(|bytes| bytes.get(5).copied()).is_some_and(|byte| byte & LBPRZ != 0)
}

/// Traps of a drive.
pub(crate) fn of_drive(tree: &SystemTree, device: &DeviceNode, facts: &DriveFacts) -> Vec<Trap> {
    let mut traps = Vec::new();
    let name = device.disk_name();
    match facts.ata_trim.as_deref() {
        Some("forced_unqueued") => traps.push(Trap::note(
            "queued-trim-quirk",
            format!(
                "the kernel does not queue TRIMs to `{name}`, because queued TRIM \
                 fails or loses data on this model: each TRIM waits until all other requests are \
                 done, and they wait for it"
            ),
        )),
        Some("unqueued") => traps.push(Trap::note(
            "unqueued-trim",
            format!(
                "`{name}` does not queue TRIMs: each waits until all other requests are done, and \
                 they wait for it"
            ),
        )),
        _ => {}
    }
    if matches!(&facts.transport, Transport::Usb(driver) if driver == "usb-storage") {
        traps.push(Trap::note(
            "usb-without-queue",
            format!("`{name}` is driven by `usb-storage`: one request at a time, TRIM included"),
        ));
    }
    let limits = device.limits(tree);
    let wbt = device.number(tree, "queue/wbt_lat_usec").known().unwrap_or(0);
    if limits.accepts() == Some(true) && wbt > 0 {
        traps.push(Trap::note(
            "throttled-discards",
            format!(
                "write-back throttling of `{name}` lets few discards at a time through (4 at \
                 first), which protects other requests and makes `fstrim` take longer"
            ),
        ));
    }
    let is_small = matches!(
        (limits.max_bytes, limits.max_hardware_bytes),
        (Some(most), Some(hardware)) if most > 0 && most < hardware
    );
    if is_small {
        traps.push(Trap::note(
            "smaller-discard-max",
            format!("somebody has set `discard_max_bytes` of `{name}` below what it can take"),
        ));
    }
    let misaligned = limits.alignment_bytes.zip(limits.granularity_bytes);
    if misaligned.is_some_and(|(off, granularity)| granularity > 4096 && off % granularity != 0) {
        traps.push(Trap::loss(
            "misaligned",
            format!("`{name}` begins between two of its discard units: the edges stay untrimmed"),
        ));
    }
    traps
}

/// The trap of a swap area that discards, by its line of fstab.
pub(crate) fn of_swap(area: &str, entry: &FstabEntry) -> Option<Trap> {
    let is_discard = |it: &str| it == "discard" || it.starts_with("discard=");
    let option = entry.options().find(|it| is_discard(it))?;
    let once = "all of it when it is switched on";
    let pages = "each group of pages that it frees, in the way of what is being swapped";
    let what = match option {
        "discard=once" => once.to_owned(),
        "discard=pages" => pages.to_owned(),
        // `swapon(8)`: without a policy it does both.
        _ => format!("{once}, and {pages}"),
    };
    let text = format!("swap on `{area}` discards (`{option}`): {what}");
    let line = LineToType::in_file("swap", "/etc/fstab", entry.text_without(is_discard))
        .checked_by("findmnt --fstab --types swap")
        .untested();
    Some(Trap::note("swap-discards", text).mended_by(vec![line]))
}
