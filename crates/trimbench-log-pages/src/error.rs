//! Why bytes are not the page that they were taken for.

/// Bytes that are not the page they were read as. `page` is the id of the page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogPageError {
    /// The drive, or what reads from it, returned less than the page has.
    #[error("`{page}` has {needed} bytes, {found} came")]
    TooShort {
        /// Which page.
        page: &'static str,
        /// Bytes that the page has at least.
        needed: usize,
        /// Bytes that there are.
        found: usize,
    },
    /// Another specification or vendor uses the same log identifier.
    #[error("this is not `{page}`: its GUID is {found:032x}, not {known:032x}")]
    WrongGuid {
        /// Which page.
        page: &'static str,
        /// The GUID in the bytes.
        found: u128,
        /// The GUID of the page.
        known: u128,
    },
    /// A newer or older firmware; the layout is not known, so nothing is read from it.
    #[error("`{page}` has version {found}; trimbench knows {known}")]
    UnknownVersion {
        /// Which page.
        page: &'static str,
        /// The version in the bytes.
        found: u32,
        /// The versions that are known.
        known: String,
    },
    /// The drive answers, but the page holds nothing but zeroes.
    #[error("`{page}` is empty: the drive returned zeroes only")]
    Empty {
        /// Which page.
        page: &'static str,
    },
    /// The page has neither GUID nor version, and its content contradicts its layout.
    #[error("this is not `{page}`: {why}")]
    Foreign {
        /// Which page.
        page: &'static str,
        /// What contradicts the layout.
        why: &'static str,
    },
}
