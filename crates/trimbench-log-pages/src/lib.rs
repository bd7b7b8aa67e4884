//! What drives say of themselves: log pages of NVMe, of the Open Compute Project and of vendors,
//! and the device statistics of ATA.
//!
//! Every parser is a pure function of bytes. No command is sent here: `trimbench-linux` reads the
//! bytes. A page is a table ([`LogPage`], [`LogField`]) that one reader follows, so that each
//! offset stands in one place, beside its name and its meaning.
//!
//! ```text
//! pages_for(drive) -> [&LogPage]     which pages to ask this drive for
//! page.read(bytes) -> DecodedPage    named values, or why the bytes are not this page
//! DriveSummary::of(pages)           what callers decide by: pending TRIM, TRIM latency, wear, heat
//! ```
//!
//! Any bytes are accepted. Too few of them, another GUID or an unknown version are errors that name
//! the page; no length in a page decides how much is allocated.
//!
//! A page says what the drive's firmware counted, not what happened. Sources: \[NVME\], \[OCP\],
//! \[NVMECLI\], \[NVMECONTROL\], \[ATA\], \[SMARTMONTOOLS\]; each page names its own.

pub mod ata;
pub mod nvme;
pub mod ocp;
pub mod vendors;

mod error;
mod field;
mod histogram;
mod page;
mod summary;

pub use error::LogPageError;
pub use field::{FieldKind, LogField, LogValue};
pub use histogram::{LatencyBucket, LogHistogram};
pub use page::{
    AttributeArea, DecodedPage, LogAttribute, LogLayout, LogPage, NamedValue, VersionAt,
};
pub use summary::DriveSummary;
pub use vendors::{NvmeVendor, pages_for};

#[cfg(test)]
mod tests;
