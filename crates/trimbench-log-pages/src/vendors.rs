//! Pages of vendors, where a public source documents them, and which pages to ask a drive for.
//!
//! Vendors use the same log identifiers for different pages. Where a page has neither GUID nor
//! version, only the vendor of the drive says what it is, so [`pages_for`] never asks a drive for
//! the page of another vendor.

pub mod boot_ssd;
pub mod memblaze;
pub mod micron;
pub mod samsung;
pub mod solidigm;
pub mod wdc;

mod attributes;

use crate::nvme::smart::SMART;
use crate::ocp::latency::OCP_LATENCY;
use crate::ocp::smart::OCP_SMART;
use crate::page::LogPage;

use boot_ssd::BOOT_SSD_SMART;

/// Who made an NVMe drive. Sources of the identifiers: \[NVMECLI\] (Micron, WDC), \[LINUXNVME\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NvmeVendor {
    /// Micron.
    Micron,
    /// Memblaze.
    Memblaze,
    /// Solidigm, and Intel, whose drives it took over.
    Solidigm,
    /// Samsung.
    Samsung,
    /// WDC: Western Digital, HGST, `SanDisk`.
    Wdc,
    /// Every other: the pages of specifications only.
    Other,
}

/// Pages of specifications. Log C0h is OCP's, or that of its predecessor for boot drives: the GUID
/// says which.
static STANDARD: [&LogPage; 4] = [&SMART, &OCP_SMART, &BOOT_SSD_SMART, &OCP_LATENCY];

static OTHER: &[&LogPage] = &STANDARD;
static MICRON: &[&LogPage] = &[
    STANDARD[0],
    STANDARD[1],
    STANDARD[2],
    STANDARD[3],
    &micron::FB_SMART,
    &micron::FB_SMART_PACKED,
    &micron::LATENCY,
];
/// The models 2100 AI/AT and its siblings, by PCI device: their workload log counts TRIM.
static MICRON_WORKLOAD: &[&LogPage] =
    &[STANDARD[0], STANDARD[1], STANDARD[2], STANDARD[3], &micron::WORKLOAD];
static MEMBLAZE: &[&LogPage] = &[
    STANDARD[0],
    STANDARD[1],
    STANDARD[2],
    STANDARD[3],
    &memblaze::ATTRIBUTES,
    &memblaze::LATENCY,
];
static SOLIDIGM: &[&LogPage] =
    &[STANDARD[0], STANDARD[1], STANDARD[2], STANDARD[3], &solidigm::ATTRIBUTES];
static SAMSUNG: &[&LogPage] =
    &[STANDARD[0], STANDARD[1], STANDARD[2], STANDARD[3], &samsung::EXTENDED_SMART];
static WDC: &[&LogPage] = &[
    STANDARD[0],
    STANDARD[1],
    STANDARD[2],
    STANDARD[3],
    &wdc::DEVICE_INFO,
    &wdc::VENDOR_SMART,
    &wdc::NAND_STATISTICS,
];

impl NvmeVendor {
    /// By the PCI vendor of the controller, and where an adapter or an old drive has another's, by
    /// the model that the drive reports.
    pub fn of(pci_vendor: u16, model: &str) -> Self {
        let by_model = [
            ("Micron", Self::Micron),
            ("Memblaze", Self::Memblaze),
            ("SOLIDIGM", Self::Solidigm),
            ("INTEL SSD", Self::Solidigm),
            ("SAMSUNG", Self::Samsung),
            ("WDC ", Self::Wdc),
            ("HUSMR", Self::Wdc),
        ];
        match pci_vendor {
            0x1344 => Self::Micron,
            0x1c5f => Self::Memblaze,
            0x025e | 0x8086 => Self::Solidigm,
            0x144d => Self::Samsung,
            0x1c58 | 0x1b96 | 0x15b7 => Self::Wdc,
            0 => {
                let begins = |name: &str| {
                    model.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
                };
                let known = by_model.into_iter().find(|(name, _)| begins(name));
                known.map_or(Self::Other, |(_, vendor)| vendor)
            }
            _ => Self::Other,
        }
    }
}

/// The pages to ask an NVMe drive for, by the PCI identifiers of its controller (0: not known) and
/// the model that it reports. Pages with one log identifier are alternatives: it is read once, and
/// the first page that accepts the bytes is it. Telemetry is not in the list: it takes several
/// commands ([`crate::ocp::telemetry`]).
pub fn pages_for(pci_vendor: u16, pci_device: u16, model: &str) -> &'static [&'static LogPage] {
    match NvmeVendor::of(pci_vendor, model) {
        NvmeVendor::Micron if micron::has_workload_log(pci_device) => MICRON_WORKLOAD,
        NvmeVendor::Micron => MICRON,
        NvmeVendor::Memblaze => MEMBLAZE,
        NvmeVendor::Solidigm => SOLIDIGM,
        NvmeVendor::Samsung => SAMSUNG,
        NvmeVendor::Wdc => WDC,
        NvmeVendor::Other => OTHER,
    }
}
