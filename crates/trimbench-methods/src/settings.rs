//! Options that the methods on whole devices share: what part of the device, and what data.

use trimbench_core::{BlockSize, Bytes, Capabilities, Caveat, Data, Medium, Ppm};

use crate::method::NEEDS_A_DEVICE;
use crate::options::{OptionError, Values};

#[cfg(test)]
mod tests;

/// The least unit of spans and shares.
pub(crate) const UNIT: u64 = 4096;
/// What the text of compressible data begins with.
const COMPRESSIBLE: &str = "compressible-";

/// What part of a device is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// All of it.
    All,
    /// The first bytes, or all where there are no more.
    First(Bytes),
}

impl Span {
    /// Reads the option `span`: `all` or a size.
    pub(crate) fn read(values: &Values) -> Result<Self, OptionError> {
        if values.text("span") == "all" {
            return Ok(Self::All);
        }
        values.quantity("span", Bytes::mib(1), Bytes::gib(1 << 20)).map(Self::First)
    }

    /// Bytes of it on a device of this capacity.
    pub(crate) fn of(self, capacity: Bytes) -> Bytes {
        match self {
            Self::All => capacity,
            Self::First(bytes) => bytes.min(capacity),
        }
    }

    /// The same in whole units: of 4 KiB, or of the device's logical blocks where they are larger.
    pub fn on(self, capacity: Bytes, logical_block: BlockSize) -> Bytes {
        whole(self.of(capacity), logical_block)
    }

    /// The caveat of leaving a part of the device out.
    pub(crate) fn caveat(self, capacity: Bytes) -> Option<Caveat> {
        let part = matches!(self, Self::First(bytes) if bytes < capacity);
        part.then_some(Caveat::PartOfDrive)
    }
}

/// Whole units, rounded down.
pub(crate) fn whole(bytes: Bytes, logical_block: BlockSize) -> Bytes {
    let unit = UNIT.max(logical_block.bytes().0);
    Bytes(bytes.0 / unit * unit)
}

/// Reads `random` or `compressible-25%`: data of which a compressing controller stores a quarter.
pub(crate) fn data(values: &Values, key: &'static str) -> Result<Data, OptionError> {
    let text = values.text(key);
    let percent = text.strip_prefix(COMPRESSIBLE).and_then(|share| share.parse::<Ppm>().ok());
    let data = match (text, percent.and_then(whole_percent)) {
        ("random", _) => Some(Data::Random),
        (_, Some(percent)) => u8::try_from(percent).ok().map(Data::Compressible),
        _ => None,
    };
    data.ok_or_else(|| {
        let problem = format!(
            "`{text}` is neither `random` nor for example `compressible-25%`, in whole percent"
        );
        OptionError::Value { key, problem }
    })
}

/// The percentage that a share is; `None` if it is not a whole one, or above 100.
pub(crate) fn whole_percent(share: Ppm) -> Option<u32> {
    let whole = share <= Ppm::ONE && share.0.is_multiple_of(10_000);
    whole.then_some(share.0 / 10_000)
}

/// Reads a list of whole percentages within the limits: ascending, each once.
pub(crate) fn percents(
    values: &Values,
    key: &'static str,
    (low, high): (Ppm, Ppm),
) -> Result<Vec<Ppm>, OptionError> {
    let mut shares = values.list(key, low, high)?;
    if let Some(share) = shares.iter().find(|share| whole_percent(**share).is_none()) {
        let problem = format!("`{share}` is not a whole percentage");
        return Err(OptionError::Value { key, problem });
    }
    shares.sort_unstable();
    shares.dedup();
    Ok(shares)
}

/// Reads a size of accesses: a multiple of 4 KiB in `[4KiB, high]`.
pub(crate) fn access(
    values: &Values,
    key: &'static str,
    high: Bytes,
) -> Result<Bytes, OptionError> {
    let access = values.quantity(key, Bytes(UNIT), high)?;
    if access.0.is_multiple_of(UNIT) {
        return Ok(access);
    }
    let problem = format!("`{access}` is not a multiple of 4KiB");
    Err(OptionError::Value { key, problem })
}

/// Checks what every method on whole devices needs: a device of at least `needed` bytes that takes
/// the accesses.
pub(crate) fn fits(
    capabilities: &Capabilities,
    needed: Bytes,
    accesses: &[Bytes],
) -> Result<(), String> {
    let Medium::Device { capacity, logical_block } = capabilities.medium else {
        return Err(NEEDS_A_DEVICE.to_owned());
    };
    if capacity < needed {
        return Err(format!("it needs {needed} and the device has {capacity}"));
    }
    let block = logical_block.bytes();
    match accesses.iter().find(|access| !access.0.is_multiple_of(block.0)) {
        None => Ok(()),
        Some(access) => Err(format!(
            "accesses of {access} are not whole logical blocks of {block}; give a multiple of it"
        )),
    }
}
