//! What sysfs says of a drive and of the way to it.
//!
//! Sources: Documentation/ABI/testing/sysfs-class-scsi_disk and sysfs-ata of Linux; SBC-4, logical
//! block provisioning page (VPD B2h), which sysfs shows.

use crate::device::DeviceNode;
use crate::tree::SystemTree;

/// Through what the kernel reaches a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Nvme,
    NvmeFabrics,
    Ata,
    /// Its driver: `usb-storage` or `uas`.
    Usb(String),
    VirtioBlk,
    VirtioScsi,
    Xen,
    HyperV,
    Vmware,
    /// The driver of a RAID controller.
    RaidController(String),
    /// iSCSI, Fibre Channel: the driver.
    Network(String),
    Sas(String),
    ScsiDebug,
    Card,
    Memory,
    /// By its name: nbd, rbd.
    Other(String),
}

/// A drive and what is known of its way.
#[derive(Clone, Debug)]
pub(crate) struct DriveFacts {
    pub(crate) transport: Transport,
    pub(crate) model: String,
    /// Whether it is a cloud's, whose hypervisor its customer cannot change.
    pub(crate) is_in_cloud: bool,
    pub(crate) rotates: bool,
    /// `provisioning_mode` of its SCSI disk.
    pub(crate) provisioning: Option<String>,
    /// How libata sends TRIM: `queued`, `unqueued`, `forced_unqueued`, `unsupported`.
    pub(crate) ata_trim: Option<String>,
    /// What the drive says of provisioning: byte 5 of its page.
    pub(crate) provisioning_page: Option<u8>,
}

impl Transport {
    /// Whether it leads to a hypervisor.
    fn is_virtual(&self) -> bool {
        use Transport::{HyperV, VirtioBlk, VirtioScsi, Vmware, Xen};
        matches!(self, VirtioBlk | VirtioScsi | Xen | HyperV | Vmware)
    }
}

impl DriveFacts {
    pub(crate) fn of(tree: &SystemTree, device: &DeviceNode) -> Self {
        let text = |name: &str| device.attribute(tree, name).known();
        let page = tree.bytes(&device.disk_folder().join("device/vpd_pgb2")).known();
        let vendor = text("device/vendor").filter(|it| !it.starts_with("0x") && it != "ATA");
        let own_model = text("device/model").unwrap_or_default();
        let model = vendor.map_or(own_model.clone(), |vendor| format!("{vendor} {own_model}"));
        let transport = transport(tree, device, &own_model);
        Self {
            is_in_cloud: is_of_cloud(&model) || transport.is_virtual() && is_machine_of_cloud(tree),
            transport,
            model,
            rotates: text("queue/rotational").as_deref() == Some("1"),
            provisioning: in_only_folder(tree, device, "device/scsi_disk", "provisioning_mode"),
            ata_trim: ata_trim(tree, device),
            provisioning_page: page.and_then(|bytes| bytes.get(5).copied()),
        }
    }

    /// For people: transport and model.
    pub(crate) fn words(&self) -> String {
        let way = match &self.transport {
            Transport::Nvme => "NVMe",
            Transport::NvmeFabrics => "NVMe over fabrics",
            Transport::Ata => "SATA",
            Transport::Usb(_) => "USB",
            Transport::VirtioBlk => "virtio-blk",
            Transport::VirtioScsi => "virtio-scsi",
            Transport::Xen => "Xen",
            Transport::HyperV => "Hyper-V",
            Transport::Vmware => "VMware",
            Transport::RaidController(driver)
            | Transport::Network(driver)
            | Transport::Sas(driver)
            | Transport::Other(driver) => driver,
            Transport::ScsiDebug => "scsi_debug",
            Transport::Card => "memory card",
            Transport::Memory => "memory",
        };
        format!("{way} {}", self.model).trim_end().to_owned()
    }
}

/// Whether a model is one that clouds show.
fn is_of_cloud(model: &str) -> bool {
    const MARKS: [&str; 6] =
        ["Amazon", "Google", "nvme_card", "PersistentDisk", "MSFT NVMe", "Microsoft NVMe"];
    MARKS.iter().any(|mark| model.contains(mark))
}

/// Whether this machine says that it is a cloud's: virtio-blk disks have no model. The same words
/// as cloud-init's `ds-identify` and systemd's `detect_vm_dmi` look for.
fn is_machine_of_cloud(tree: &SystemTree) -> bool {
    const MARKS: [&str; 13] = [
        "Google Compute Engine",
        "Amazon EC2",
        "Alibaba Cloud",
        "Akamai",
        "DigitalOcean",
        "Exoscale",
        "Hetzner",
        "Linode",
        "OracleCloud",
        "Scaleway",
        "Tencent Cloud",
        "UpCloud",
        "Vultr",
    ];
    let says = ["sys_vendor", "product_name", "chassis_asset_tag"];
    let texts = says.iter().filter_map(|it| tree.text(format!("/sys/class/dmi/id/{it}")).known());
    texts.collect::<Vec<_>>().iter().any(|text| MARKS.iter().any(|mark| text.contains(mark)))
}

/// The drive's way, by its driver and its place in sysfs.
fn transport(tree: &SystemTree, device: &DeviceNode, model: &str) -> Transport {
    let name = device.disk_name();
    let place = device.disk_folder().display().to_string();
    let has = |part: &str| place.split('/').any(|it| it.starts_with(part));
    match () {
        () if name.starts_with("nvme") => {
            let way = device.attribute(tree, "device/transport").known();
            let local = way.is_none_or(|it| it == "pcie");
            if local && !has("nvme-fabrics") { Transport::Nvme } else { Transport::NvmeFabrics }
        }
        () if name.starts_with("vd") => Transport::VirtioBlk,
        () if name.starts_with("xvd") => Transport::Xen,
        () if name.starts_with("mmcblk") => Transport::Card,
        () if name.starts_with("zram") || name.starts_with("ram") => Transport::Memory,
        () if name.starts_with("sd") => scsi(tree, device, model),
        () => Transport::Other(name.trim_end_matches(|it: char| it.is_ascii_digit()).to_owned()),
    }
}

/// The way of a SCSI disk: what the driver of its host calls itself.
fn scsi(tree: &SystemTree, device: &DeviceNode, model: &str) -> Transport {
    let place = device.disk_folder();
    let is_host =
        |name: &str| name.strip_prefix("host").is_some_and(|number| number.parse::<u32>().is_ok());
    let name = |path: &std::path::Path| {
        path.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_owned()
    };
    let host = place.ancestors().find(|path| is_host(&name(path)));
    let driver = host.and_then(|host| {
        let number = name(host);
        tree.text(host.join("scsi_host").join(&number).join("proc_name")).known()
    });
    let driver = driver.unwrap_or_default();
    let vendor = device.attribute(tree, "device/vendor").known().unwrap_or_default();
    match driver.as_str() {
        "usb-storage" | "uas" => Transport::Usb(driver),
        "virtio_scsi" => Transport::VirtioScsi,
        "storvsc" | "storvsc_host_t" => Transport::HyperV,
        "vmw_pvscsi" => Transport::Vmware,
        "scsi_debug" => Transport::ScsiDebug,
        "iscsi_tcp" | "iser" | "qla2xxx" | "lpfc" | "fnic" | "zfcp" => Transport::Network(driver),
        // A drive that the controller hands through shows as what it is.
        "megaraid_sas" | "hpsa" | "smartpqi" | "aacraid" | "arcmsr" | "3w-sas"
            if vendor != "ATA" && !model.is_empty() =>
        {
            Transport::RaidController(driver)
        }
        _ if vendor == "ATA" => Transport::Ata,
        _ if place.components().any(|it| it.as_os_str().to_string_lossy().starts_with("usb")) => {
            Transport::Usb("usb-storage".to_owned())
        }
        "" => Transport::Sas("SCSI".to_owned()),
        _ => Transport::Sas(driver),
    }
}

/// How libata sends TRIM to the disk; only Linux itself knows (4.14 and later).
fn ata_trim(tree: &SystemTree, device: &DeviceNode) -> Option<String> {
    let port = device.disk_folder().ancestors().find(|path| {
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        name.strip_prefix("ata").is_some_and(|number| number.parse::<u32>().is_ok())
    })?;
    for link in tree.names_or_none(port).iter().filter(|it| it.starts_with("link")) {
        let link = port.join(link);
        for unit in tree.names_or_none(&link).iter().filter(|it| it.starts_with("dev")) {
            let file = link.join(unit).join("ata_device").join(unit).join("trim");
            if let Some(text) = tree.text(file).known() {
                return Some(text);
            }
        }
    }
    None
}

/// An attribute in the one folder below `folder`, whose name nobody knows.
fn in_only_folder(
    tree: &SystemTree,
    device: &DeviceNode,
    folder: &str,
    attribute: &str,
) -> Option<String> {
    let folder = device.disk_folder().join(folder);
    let name = tree.names(&folder).known()?.into_iter().next()?;
    tree.text(folder.join(name).join(attribute)).known()
}
