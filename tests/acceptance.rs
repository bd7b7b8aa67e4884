//! The project's claims, and how each is checked.
//!
//! A [`Claim`] has two halves. `measure` runs programs and keeps what they print, untouched, in a
//! folder of raw output. `read` turns raw output into [`Finding`]s: figures with a bar each. No
//! verdict is stored; it is computed from the raw output whenever that is read.
//!
//! The claims of one subject form a [`Key`], with a folder of this name and a page in
//! `docs/evidence/`.

mod bench;
mod capture;
mod claim;
mod device;
mod files;
mod foundation;
mod house;
#[cfg(test)]
pub(crate) mod planted;
mod report;
mod runs;
mod safe;
mod ssd;
mod trace;

pub use capture::{Capture, Context, Raw};
pub use claim::{Bar, Claim, Finding, short};
pub use house::Compared;
pub use safe::{build_before, print_attacks};

/// The claims of one subject.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name: the first part of its claims' ids.
    pub name: &'static str,
    /// What it is about, for the title of its page.
    pub title: &'static str,
    /// Its claims, in the order of their numbers.
    pub claims: &'static [Claim],
}

/// Every key.
pub const KEYS: [Key; 8] = [
    foundation::KEY,
    device::KEY,
    ssd::KEY,
    files::KEY,
    trace::KEY,
    report::KEY,
    safe::KEY,
    house::KEY,
];
