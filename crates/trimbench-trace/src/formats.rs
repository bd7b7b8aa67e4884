//! The formats that are read and written. Each is one file or folder here, and one line of
//! [`FORMATS`]; [`Format`] says what it consists of.

mod alibaba;
mod blkparse;
mod blktrace;
mod columns;
mod iolog;
mod jedec;
mod midas;
mod msr;
pub(crate) mod own;
mod spc;
mod tencent;

use crate::format::Format;

/// Every format, in the order of lists.
pub const FORMATS: &[&Format] = &[
    &own::FORMAT,
    &jedec::FORMAT,
    &blktrace::FORMAT,
    &blkparse::FORMAT,
    &iolog::FORMAT,
    &msr::FORMAT,
    &alibaba::FORMAT,
    &tencent::FORMAT,
    &spc::FORMAT,
    &midas::FORMAT,
];

impl Format {
    /// The format of that name.
    pub fn from_id(id: &str) -> Option<&'static Self> {
        FORMATS.iter().copied().find(|format| format.id == id)
    }
}
