//! The lowest device that this machine sees: a drive, or what stands for one.
//!
//! A drive behind SATA, SAS or NVMe is seen as it is. A virtual disk, a volume of a RAID controller
//! or of a storage server, and a drive behind a USB bridge are not: these accept discards and may
//! do nothing with them, so what becomes of a discard behind them is unknown here.
//!
//! Source: Documentation/ABI/testing/sysfs-class-scsi_disk of Linux.

use trimbench_core::text::shell_word;
use trimbench_results::advice::LineToType;

use super::Walk;
use crate::device::DeviceNode;
use crate::drive_facts::{DriveFacts, Transport};
use crate::layer::{Handling, Layer, LayerKind};
use crate::traps;

/// Where the settings of a virtual machine stand.
const MACHINE_FILE: &str = "the virtual machine's definition";
/// What to change there. The element also names the format of the image, which only the host
/// knows: with another one the machine would read its disk as something else.
const LIBVIRT_CHANGE: &str =
    "add `discard='unmap'` to this disk's existing `<driver ...>` element, and leave the rest";
/// The same for Xen, where the element is a text.
const XEN_CHANGE: &str = "add `discard` to this disk's existing text in `disk = [ ... ]`";
/// Bits of byte 5 of the provisioning page: UNMAP, WRITE SAME (16) and (10) with UNMAP.
const LBPU: u8 = 0x80;
const LBPWS: u8 = 0x60;

/// The layer of a drive.
pub(super) fn layer(walk: &Walk<'_>, device: &DeviceNode) -> Layer {
    let facts = DriveFacts::of(walk.system.tree, device);
    let handling = match walk.by_queue(device, &[]) {
        Some(handling) => handling,
        None if device.limits(walk.system.tree).accepts() == Some(true) => {
            accepting(&facts, device)
        }
        None => refusing(&facts, device),
    };
    let mut layer = walk.queue_layer(LayerKind::Drive, device, handling);
    layer.title = facts.words();
    layer.traps = traps::of_drive(walk.system.tree, device, &facts);
    layer
}

/// What lies behind a device that accepts discards.
fn accepting(facts: &DriveFacts, device: &DeviceNode) -> Handling {
    let hides = |what: &str, lines| Handling::Hides { what: what.to_owned(), lines };
    if facts.provisioning.as_deref() == Some("writesame_zero") {
        return Handling::Drops {
            cause: "writes-zeros",
            why: "the kernel turns discards into writes of zeros (`provisioning_mode` is \
                  `writesame_zero`)"
                .to_owned(),
            lines: provisioning_lines(facts, device),
        };
    }
    match &facts.transport {
        Transport::Usb(_) => hides(
            "a drive behind a USB bridge: some bridges accept TRIM and do nothing with it",
            Vec::new(),
        ),
        // Nobody but the cloud changes anything there.
        _ if facts.is_in_cloud => {
            hides("a disk of a cloud, which decides what becomes of a discard", Vec::new())
        }
        Transport::VirtioBlk | Transport::VirtioScsi => hides(
            "a virtual disk: its hypervisor decides what becomes of a discard (QEMU drops it by \
             default)",
            vec![libvirt_line()],
        ),
        Transport::Xen | Transport::HyperV | Transport::Vmware => {
            hides("a virtual disk: the hypervisor decides what becomes of a discard", Vec::new())
        }
        Transport::Nvme if is_virtual(&facts.model) => {
            hides("a disk of a hypervisor, which decides what becomes of a discard", Vec::new())
        }
        Transport::RaidController(_) => {
            hides("a volume of a RAID controller, which decides what its drives get", Vec::new())
        }
        Transport::Network(_) | Transport::NvmeFabrics => {
            hides("a volume of a storage server, which decides what its drives get", Vec::new())
        }
        Transport::Other(kind) => Handling::Hides {
            what: format!("a device of `{kind}`: what serves it decides"),
            lines: Vec::new(),
        },
        Transport::Memory => Handling::HasNoDrive,
        Transport::Nvme
        | Transport::Ata
        | Transport::Sas(_)
        | Transport::ScsiDebug
        | Transport::Card => Handling::Accepts,
    }
}

/// Why a device accepts no discards.
fn refusing(facts: &DriveFacts, device: &DeviceNode) -> Handling {
    let drops = |cause, why: &str, lines| Handling::Drops { cause, why: why.to_owned(), lines };
    let mode = facts.provisioning.as_deref();
    match (&facts.transport, mode) {
        (Transport::Usb(_), Some("full")) => usb_refusing(facts, device),
        (_, Some("disabled")) => drops(
            "provisioning-disabled",
            "the kernel gave it up for this drive after it refused a discard \
             (`provisioning_mode` is `disabled`)",
            provisioning_lines(facts, device),
        ),
        (Transport::Ata, _) if facts.ata_trim.as_deref() == Some("forced_unsupported") => drops(
            "ata-quirk",
            "the kernel never sends TRIM to this model: it loses data by it (libata's list of \
             quirks)",
            Vec::new(),
        ),
        (Transport::Ata | Transport::Sas(_) | Transport::Usb(_), _) if facts.rotates => {
            drops("hard-disk", "it is a hard disk, which has no TRIM and needs none", Vec::new())
        }
        (Transport::Ata, _) => drops("no-ata-trim", "the drive offers no TRIM", Vec::new()),
        (Transport::Nvme, _) if facts.model.contains("Elastic Block Store") => {
            drops("cloud-without-discards", "Amazon's EBS accepts no discards", Vec::new())
        }
        (Transport::Nvme | Transport::NvmeFabrics, _) => drops(
            "no-dsm",
            "its controller does not offer Dataset Management, which is TRIM's command of NVMe",
            Vec::new(),
        ),
        _ if facts.is_in_cloud => drops(
            "cloud-without-discards",
            "the cloud offers no discards for this disk",
            Vec::new(),
        ),
        (Transport::VirtioBlk | Transport::VirtioScsi, _) => drops(
            "virtio-without-discards",
            "the hypervisor offers no discards for this disk",
            vec![libvirt_line()],
        ),
        (Transport::Xen, _) => drops(
            "xen-without-discards",
            "the backend of this disk offers no discards (`feature-discard`)",
            vec![LineToType::in_file("Xen", MACHINE_FILE, XEN_CHANGE).untested()],
        ),
        (Transport::RaidController(driver), _) => {
            let why = format!("the RAID controller (`{driver}`) offers no TRIM for its volumes");
            drops("raid-controller", &why, Vec::new())
        }
        (Transport::Card, _) => drops("card", "the card offers no discards", Vec::new()),
        (_, Some("full")) => drops(
            "provisioning-full",
            "the device says that all its blocks are always mapped (`provisioning_mode` is \
             `full`)",
            provisioning_lines(facts, device),
        ),
        _ => drops("no-discards", "the device accepts none", Vec::new()),
    }
}

/// Why a drive behind a USB bridge accepts none, by what the bridge says of itself.
fn usb_refusing(facts: &DriveFacts, device: &DeviceNode) -> Handling {
    let can = facts.provisioning_page.map(|page| page & (LBPU | LBPWS) != 0);
    let why = match can {
        Some(true) => {
            "the kernel takes the drive for one without TRIM (`provisioning_mode` is `full`), \
             although its USB bridge offers it"
        }
        Some(false) => "its USB bridge says that it does not pass TRIM",
        None => {
            "the kernel takes the drive for one without TRIM (`provisioning_mode` is `full`), as \
             its USB bridge does not say that it passes it"
        }
    };
    let lines = if can == Some(true) { provisioning_lines(facts, device) } else { Vec::new() };
    Handling::Drops { cause: "usb-bridge", why: why.to_owned(), lines }
}

/// How a SCSI disk whose drive offers UNMAP is told to use it.
fn provisioning_lines(facts: &DriveFacts, device: &DeviceNode) -> Vec<LineToType> {
    let mode = match facts.provisioning_page {
        Some(page) if page & LBPU != 0 => "unmap",
        Some(page) if page & LBPWS != 0 => "writesame_16",
        // It says itself that it can do neither.
        Some(_) => return Vec::new(),
        None => "unmap",
    };
    let disk = shell_word(device.disk_name());
    let text = format!("echo {mode} > /sys/block/{disk}/device/scsi_disk/*/provisioning_mode");
    let line = LineToType::command("SCSI", text)
        .checked_by(format!("lsblk --discard /dev/{disk}"))
        .noting(
            "until the next start; only for a drive whose data you can restore, until \
             `trimbench doctor --probe` has shown that other data stay intact; then a udev rule \
             for its `scsi_disk` makes it last",
        );
    vec![line]
}

fn libvirt_line() -> LineToType {
    LineToType::in_file("libvirt", MACHINE_FILE, LIBVIRT_CHANGE).untested().noting(
        "on the host; leave `type` as it is: with the format of another image the virtual machine \
         reads and writes its disk wrongly",
    )
}

/// Whether a model is one that hypervisors show.
fn is_virtual(model: &str) -> bool {
    const MARKS: [&str; 3] = ["QEMU", "VMware", "Virtual"];
    MARKS.iter().any(|mark| model.contains(mark))
}
