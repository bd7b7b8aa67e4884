//! The machine and the storage below a path, for the record of a run.
//!
//! Everything is read, nothing guessed: facts that cannot be read are omitted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags};
use trimbench_core::text::to_text;

use crate::mounts::{Mount, MountError, mount_of};
use crate::sysfs::{BlockDevice, attribute, devices_of, names_in};

mod place;

pub use place::hyphenated;
#[cfg(test)]
mod tests;

/// Through what the kernel reaches a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// A file posing as a disk.
    Loop,
    /// A virtual machine's disk.
    Virtio,
    /// An `NVMe` namespace.
    Nvme,
    /// A disk of the SCSI layer whose vendor is `ATA`: behind a SATA port or a translation.
    Sata,
    /// Another SCSI disk: SAS, USB, iSCSI, a hypervisor's.
    Scsi,
    /// Made of other block devices: device mapper, md.
    Stacked,
    /// Whatever else: zram, nbd, a ramdisk.
    Other,
}

impl DeviceKind {
    /// The stable name in records.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Virtio => "virtio",
            Self::Nvme => "nvme",
            Self::Sata => "sata",
            Self::Scsi => "scsi",
            Self::Stacked => "stacked",
            Self::Other => "other",
        }
    }
}

/// A snapshot of the machine and of the storage below `path`: stable kebab-case keys, sorted.
///
/// Keys of devices carry `-2`, `-3`, ... from the second device of a filesystem on. Units are in
/// the keys; keys without one are the kernel's own text. Read it before and after a run.
pub fn environment(path: &Path) -> Result<BTreeMap<String, String>, MountError> {
    let mount = mount_of(path)?;
    let mut found = BTreeMap::new();
    machine(&mut found);
    for (key, text) in [
        ("filesystem", mount.filesystem.clone()),
        ("mount-options", mount.options.clone()),
        ("mount-point", to_text(&mount.mount_point)),
        ("source-device", to_text(&mount.source)),
    ] {
        found.insert(key.to_owned(), text);
    }
    place::facts(path, &mount, &mut found);
    if let Ok(status) = rustix::fs::statvfs(path) {
        found.insert("filesystem-bytes".into(), (status.f_blocks * status.f_frsize).to_string());
        found.insert("free-bytes".into(), (status.f_bavail * status.f_frsize).to_string());
        found.insert("fs-block-bytes".into(), status.f_frsize.to_string());
    }
    for (position, device) in devices_of(&mount).iter().enumerate() {
        let suffix = if position == 0 { String::new() } else { format!("-{}", position + 1) };
        device_facts(device, &suffix, &mut found);
    }
    Ok(found)
}

/// A snapshot of the machine and of one device, with the keys of [`environment`] and those that
/// only a device of its own has: where a partition begins, and how discards align in it.
pub fn device_environment(device: &BlockDevice) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    machine(&mut found);
    device_facts(device, "", &mut found);
    for (key, name) in [
        ("partition-start-sectors", "start"),
        ("alignment-offset-bytes", "alignment_offset"),
        ("discard-alignment-bytes", "discard_alignment"),
    ] {
        if let Some(text) = device.own_attribute(name) {
            found.insert(key.to_owned(), text);
        }
    }
    if let Some(sectors) = device.own_attribute("size") {
        // Of the partition, where it is one.
        found.insert("device-sectors".to_owned(), sectors);
    }
    found
}

/// Whether the storage below this mount is a physical SSD, so far as the kernel can tell: each of
/// its devices is an ATA, SAS or `NVMe` disk that does not turn and has no virtual model.
///
/// A disk that a hypervisor passes through shows as what it is. A virtual disk with the model text
/// of a real one cannot be told.
pub fn is_physical_ssd(mount: &Mount) -> bool {
    let devices = devices_of(mount);
    !devices.is_empty() && devices.iter().all(is_physical)
}

/// The same of one device; of a stacked one, whether it holds for all below it.
pub fn is_physical(device: &BlockDevice) -> bool {
    match kind_of(device) {
        DeviceKind::Loop | DeviceKind::Virtio | DeviceKind::Other => false,
        DeviceKind::Stacked => {
            let below = device.below();
            !below.is_empty() && below.iter().all(is_physical)
        }
        DeviceKind::Nvme | DeviceKind::Sata | DeviceKind::Scsi => {
            !is_virtual_model(&model_of(device).unwrap_or_default())
                && device.number("queue/rotational") != Some(1)
        }
    }
}

/// Whether a model text is one that hypervisors, clouds and storage servers show.
fn is_virtual_model(model: &str) -> bool {
    const MARKS: [&str; 14] = [
        "qemu",
        "vmware",
        "virtual",
        "vbox",
        "msft",
        "google",
        "persistentdisk",
        "amazon elastic block store",
        "xen",
        "lio-org",
        "linux scsi_debug",
        "scsi_debug",
        "openstack",
        "linux", // The kernel's own NVMe target calls itself so.
    ];
    let model = model.to_ascii_lowercase();
    MARKS.iter().any(|mark| model.contains(mark))
}

/// The kind of a device, or of the disk that it is a partition of: by its name, driver and vendor.
pub fn kind_of(device: &BlockDevice) -> DeviceKind {
    let name = device.disk_name();
    let vendor = device.attribute("device/vendor").unwrap_or_default();
    match name {
        _ if name.starts_with("loop") => DeviceKind::Loop,
        _ if name.starts_with("nvme") => DeviceKind::Nvme,
        _ if name.starts_with("vd") && driver_is_virtio(device) => DeviceKind::Virtio,
        _ if name.starts_with("dm-") || name.starts_with("md") => DeviceKind::Stacked,
        _ if name.starts_with("sd") && vendor == "ATA" => DeviceKind::Sata,
        _ if name.starts_with("sd") => DeviceKind::Scsi,
        _ => DeviceKind::Other,
    }
}

fn driver_is_virtio(device: &BlockDevice) -> bool {
    let driver = fs::read_link(device.disk().join("device/driver"));
    driver.is_ok_and(|link| link.ends_with("virtio_blk"))
}

/// Vendor and model as the device says them.
pub(crate) fn model_of(device: &BlockDevice) -> Option<String> {
    let model = device.attribute("device/model")?;
    let vendor = device.attribute("device/vendor").filter(|vendor| !vendor.starts_with("0x"));
    Some(vendor.map_or(model.clone(), |vendor| format!("{vendor} {model}")))
}

/// What sysfs says of a device and its disk; `suffix` closes each key.
pub(crate) fn device_facts(
    device: &BlockDevice,
    suffix: &str,
    found: &mut BTreeMap<String, String>,
) {
    let mut add = |key: &str, text: Option<String>| {
        if let Some(text) = text {
            found.insert(format!("{key}{suffix}"), text);
        }
    };
    add("device-name", Some(device.name.clone()));
    add("disk-name", Some(device.disk_name().to_owned()));
    add("device-kind", Some(kind_of(device).id().to_owned()));
    add("model", model_of(device));
    add("serial", device.attribute("serial").or_else(|| device.attribute("device/serial")));
    add("udev-serial", place::udev_serial(device));
    let firmware = device.attribute("device/firmware_rev");
    add("firmware", firmware.or_else(|| device.attribute("device/rev")));
    for (key, name) in [
        ("device-sectors", "size"),
        ("scheduler", "queue/scheduler"),
        ("nr-requests", "queue/nr_requests"),
        ("device-queue-depth", "device/queue_depth"),
        ("wbt-latency-us", "queue/wbt_lat_usec"),
        ("nomerges", "queue/nomerges"),
        ("rotational", "queue/rotational"),
        ("write-cache", "queue/write_cache"),
        ("discard-granularity-bytes", "queue/discard_granularity"),
        ("discard-max-bytes", "queue/discard_max_bytes"),
        ("discard-max-hw-bytes", "queue/discard_max_hw_bytes"),
        ("discard-max-segments", "queue/max_discard_segments"),
        ("write-zeroes-max-bytes", "queue/write_zeroes_max_bytes"),
        ("fua", "queue/fua"),
        ("zoned", "queue/zoned"),
        ("max-sectors-kib", "queue/max_sectors_kb"),
        ("logical-block-bytes", "queue/logical_block_size"),
        ("physical-block-bytes", "queue/physical_block_size"),
        ("loop-backing-file", "loop/backing_file"),
        ("loop-direct-io", "loop/dio"),
    ] {
        add(key, device.attribute(name));
    }
    add("temperature-celsius", temperature_celsius(device).map(|it| it.to_string()));
    add("power-control", device.attribute("device/power/control"));
    if kind_of(device) == DeviceKind::Nvme {
        // The namespace's `device` is the controller, whose `device` is the PCI function.
        add("nvme-link", nvme_link(device, "current"));
        add("nvme-link-max", nvme_link(device, "max"));
        add("pci-power-control", device.attribute("device/device/power/control"));
        add("numa-node", device.attribute("device/device/numa_node"));
        // 0: the drive keeps out of its states of rest (APST).
        add(
            "nvme-latency-tolerance-us",
            device.attribute("device/power/pm_qos_latency_tolerance_us"),
        );
    }
}

/// Speed and width of the `PCIe` link of an `NVMe` drive, now or at best: `8.0 GT/s PCIe x4`.
fn nvme_link(device: &BlockDevice, when: &str) -> Option<String> {
    let speed = device.attribute(&format!("device/device/{when}_link_speed"))?;
    let width = device.attribute(&format!("device/device/{when}_link_width"))?;
    Some(format!("{speed} x{width}"))
}

/// What the drive's own sensor says, where the kernel passes it on (hwmon: `NVMe` since Linux 5.5,
/// SATA by `drivetemp`).
pub fn temperature_celsius(device: &BlockDevice) -> Option<i64> {
    let parent = device.disk().join("device");
    // Of an NVMe drive the sensors are the controller's own, or in a folder of theirs.
    let sensors = [parent.join("hwmon"), parent.clone()].into_iter().flat_map(|folder| {
        let names = names_in(&folder).into_iter().filter(|name| name.starts_with("hwmon"));
        names.map(move |name| folder.join(name)).collect::<Vec<_>>()
    });
    let mut texts = sensors.filter_map(|sensor| attribute(&sensor.join("temp1_input")));
    let millidegrees: i64 = texts.next()?.parse().ok()?;
    Some(millidegrees / 1_000)
}

pub(crate) fn machine(found: &mut BTreeMap<String, String>) {
    let mut add = |key: &str, text: Option<String>| {
        if let Some(text) = text {
            found.insert(key.to_owned(), text);
        }
    };
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy().into_owned();
    add("kernel", Some(format!("{} {release}", system.sysname().to_string_lossy())));
    add("architecture", Some(system.machine().to_string_lossy().into_owned()));
    let cpus = std::thread::available_parallelism().ok();
    add("cpus", cpus.map(|count| count.to_string()));
    let processors = attribute(Path::new("/proc/cpuinfo"));
    add("cpu-model", processors.and_then(|text| field(&text, "model name")));
    // Published for an NVMe drive: APST, the governor and mq-deadline each move IOPS by a tenth.
    for (key, path) in [
        ("cpu-governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        (
            "cpu-energy-preference",
            "/sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference",
        ),
        ("cpu-boost", "/sys/devices/system/cpu/cpufreq/boost"),
        ("cpu-no-turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
        ("nvme-apst-max-latency-us", "/sys/module/nvme_core/parameters/default_ps_max_latency_us"),
    ] {
        add(key, attribute(Path::new(path)));
    }
    let memory = attribute(Path::new("/proc/meminfo")).and_then(|text| field(&text, "MemTotal"));
    add("memory-bytes", memory.and_then(|text| kibibytes(&text)));
    for resource in ["cpu", "io", "memory"] {
        let text = attribute(&Path::new("/proc/pressure").join(resource));
        let average = text.and_then(|text| pressure(&text));
        add(&format!("pressure-{resource}-percent-avg10"), average);
    }
}

/// The value of the first line `key: value`.
fn field(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// `24684084 kB` in bytes.
fn kibibytes(text: &str) -> Option<String> {
    let count: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    Some((count * 1024).to_string())
}

/// The share of the last 10 s in which some task waited, in percent.
fn pressure(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split(' ').find_map(|word| word.strip_prefix("avg10=")).map(str::to_owned)
}

/// Alignment in bytes that direct I/O on this file needs of offsets and lengths; `None` where the
/// kernel does not say (before Linux 6.1) or the filesystem has no direct I/O.
pub fn direct_io_alignment(path: &Path) -> Option<u64> {
    let status = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::DIOALIGN).ok()?;
    let known = status.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    (known && status.stx_dio_offset_align > 0).then(|| u64::from(status.stx_dio_offset_align))
}
