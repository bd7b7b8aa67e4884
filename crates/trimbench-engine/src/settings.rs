//! Options shared by the methods on whole devices: the part of the device to use, and the kind of
//! data.

use std::str::FromStr as _;

use trimbench_core::settings::{
    ValueKind, ValueProblem, ascending, checked, list, mapped, multiple_of, or_word, parsed, within,
};
use trimbench_core::{BlockSize, Bytes, Capabilities, Caveat, Data, Medium, Nanos, Ppm};

use crate::method::{Misfit, NEEDS_A_DEVICE};
use crate::pattern::Pattern;

#[cfg(test)]
mod tests;

/// The least unit of spans and shares.
pub const UNIT: u64 = 4096;
/// The smallest emulated drive that a span asks for.
const EMULATED_LEAST: Bytes = Bytes::gib(4);
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
    /// Bytes of it on a device of this capacity.
    pub fn of(self, capacity: Bytes) -> Bytes {
        match self {
            Self::All => capacity,
            Self::First(bytes) => bytes.min(capacity),
        }
    }

    /// The same in whole units: of 4 KiB, or of the device's logical blocks where they are larger.
    pub fn on(self, capacity: Bytes, logical_block: BlockSize) -> Bytes {
        whole(self.of(capacity), logical_block)
    }

    /// The capacity of an emulated drive of which this is all: by the span's size, but none that
    /// has too few superblocks to be a drive of its kind.
    pub fn emulated_capacity(self) -> Option<Bytes> {
        match self {
            Self::First(bytes) if bytes >= EMULATED_LEAST => Some(bytes),
            Self::First(_) | Self::All => None,
        }
    }

    /// The caveat of leaving a part of the device out.
    pub fn caveat(self, capacity: Bytes) -> Option<Caveat> {
        let part = matches!(self, Self::First(bytes) if bytes < capacity);
        part.then_some(Caveat::PartOfDrive)
    }
}

/// Whole units, rounded down.
pub fn whole(bytes: Bytes, logical_block: BlockSize) -> Bytes {
    let unit = UNIT.max(logical_block.bytes().0);
    Bytes(bytes.0 / unit * unit)
}

/// The option `span`: `all` or a size.
pub fn span_or_all() -> ValueKind<Span> {
    let size = or_word("all", within(Bytes::mib(1), Bytes::gib(1 << 20)));
    mapped(size, |size| size.map_or(Span::All, Span::First))
}

/// `random` or `compressible-25%`: data of which a compressing controller stores a quarter.
pub fn data_kind() -> ValueKind<Data> {
    parsed("`random` or `compressible-25%`", read_data)
}

fn read_data(text: &str) -> Result<Data, ValueProblem> {
    let text = text.trim();
    let percent = text.strip_prefix(COMPRESSIBLE).and_then(|share| share.parse::<Ppm>().ok());
    let data = match (text, percent.and_then(whole_percent)) {
        ("random", _) => Some(Data::Random),
        (_, Some(percent)) => u8::try_from(percent).ok().map(Data::Compressible),
        _ => None,
    };
    data.ok_or_else(|| {
        ValueProblem(format!(
            "`{text}` is neither `random` nor for example `compressible-25%`, in whole percent"
        ))
    })
}

/// Which places are accessed, and how often.
pub fn pattern() -> ValueKind<Pattern> {
    parsed(
        "`uniform`, `zipf-EXPONENT`, `hot-PLACES-ACCESSES` or `zones-SIZE-COUNT`",
        Pattern::from_str,
    )
}

/// The percentage that a share is; `None` if it is not a whole one, or above 100.
pub fn whole_percent(share: Ppm) -> Option<u32> {
    let whole = share <= Ppm::ONE && share.0.is_multiple_of(10_000);
    whole.then_some(share.0 / 10_000)
}

/// A list of whole percentages in `[low, high]`: ascending, each once.
pub fn percents(low: Ppm, high: Ppm) -> ValueKind<Vec<Ppm>> {
    ascending(list(checked(within(low, high), |share| match whole_percent(share) {
        Some(_) => Ok(share),
        None => Err(ValueProblem(format!("`{share}` is not a whole percentage"))),
    })))
}

/// The size of accesses: a multiple of 4 KiB in `[4KiB, high]`.
pub fn access_size(high: Bytes) -> ValueKind<Bytes> {
    multiple_of(Bytes(UNIT), within(Bytes(UNIT), high))
}

/// A size in `[low, high]`, rounded down to whole pieces of 4 KiB, which every filesystem and drive
/// has.
pub fn whole_size(low: Bytes, high: Bytes) -> ValueKind<Bytes> {
    mapped(within(low, high), |size| Bytes(size.0 / UNIT * UNIT))
}

/// The mean gap between accesses, of which there are so many a second.
pub fn gap_of_rate() -> ValueKind<Nanos> {
    mapped(within(1, 1_000_000_u64), |rate| Nanos(1_000_000_000 / rate))
}

/// Checks what every method on whole devices needs: a device of at least `needed` bytes that takes
/// the accesses.
pub fn fits(capabilities: &Capabilities, needed: Bytes, accesses: &[Bytes]) -> Result<(), Misfit> {
    let Medium::Device { capacity, logical_block } = capabilities.medium else {
        return Err(NEEDS_A_DEVICE.into());
    };
    if capacity < needed {
        return Err(Misfit(format!("it needs {needed} and the device has {capacity}")));
    }
    let block = logical_block.bytes();
    match accesses.iter().find(|access| !access.0.is_multiple_of(block.0)) {
        None => Ok(()),
        Some(access) => Err(Misfit(format!(
            "accesses of {access} are not whole logical blocks of {block}; give a multiple of it"
        ))),
    }
}
