//! What holds on a twin whose capacity is not the drive's.
//!
//! What a method does to the whole of a drive it does to the whole of its twin, and rates,
//! latencies and costs of a GB are the same on both. Work of a fixed size is another share of the
//! twin, and times for all that was trimmed grow with the capacity: seen by running each method on
//! drives that differ in nothing but their capacity, of 1, 4 and 16 GiB.

use std::collections::BTreeMap;

use trimbench_core::Bytes;
use trimbench_engine::{MethodInfo, TwinUse};

use super::UnusableSession;

/// Figures that grow with the capacity, or are of a size that is chosen by it: the method, and what
/// is a part of the figure's name.
const GROWING: [(&str, &str); 6] = [
    ("idle-trim", "full"),
    ("idle-trim", "empty"),
    ("settle", "settl"),
    ("trim-sweep", "chunk"),
    ("trim-sweep", "throughput"),
    ("trim-sweep", "trim-p50"),
];
/// The option with the part of the drive that is used, and the whole of it.
const SPAN: &str = "span";
const ALL: &str = "all";

/// A drive and its twin.
#[derive(Clone, Copy, Debug)]
pub struct TwinScaling {
    /// The drive's capacity.
    pub drive: Bytes,
    /// The twin's.
    pub twin: Bytes,
}

impl TwinScaling {
    /// What a run on a drive of another capacity needs, so that the twin can do the same.
    pub const WHOLE: [&str; 2] = ["--set", "span=all"];

    /// Whether the two differ.
    pub fn is_scaled(self) -> bool {
        self.drive != self.twin
    }

    /// Whether a method does the same on both.
    pub fn suits(self, method: &MethodInfo) -> bool {
        !self.is_scaled() || method.twin != TwinUse::SameCapacity
    }

    /// Changes a session's options to those of the twin; the error says why it cannot do the same.
    pub(super) fn scale(
        self,
        method: &MethodInfo,
        options: &mut BTreeMap<String, String>,
    ) -> Result<(), UnusableSession> {
        let Self { drive, twin } = self;
        if !self.suits(method) {
            return Err(UnusableSession::OwnSizes { drive, twin });
        }
        let Some(span) = options.get_mut(SPAN).filter(|_| self.is_scaled()) else { return Ok(()) };
        let is_whole = span == ALL || span.parse().is_ok_and(|span: Bytes| span >= drive);
        if !is_whole {
            return Err(UnusableSession::PartOfDrive { span: span.clone(), drive, twin });
        }
        ALL.clone_into(span);
        Ok(())
    }
}

/// Whether a figure grows with the capacity.
pub(super) fn grows(method: &str, figure: &str) -> bool {
    GROWING.iter().any(|(of, part)| *of == method && figure.contains(part))
}

#[cfg(test)]
mod tests {
    use trimbench_methods::METHODS;

    use super::*;

    #[test]
    fn what_covers_a_part_of_a_larger_drive_or_is_of_a_fixed_size_is_no_session_of_a_twin() {
        let scale = |method: &str, span: &str, drive: u64| {
            let mut options = BTreeMap::from([(SPAN.to_owned(), span.to_owned())]);
            let scaling = TwinScaling { drive: Bytes::gib(drive), twin: Bytes::gib(1) };
            let method = METHODS.iter().find(|known| known.id == method).unwrap();
            scaling.scale(method, &mut options).map(|()| options.remove(SPAN).unwrap())
        };
        let whole = Ok(ALL.to_owned());
        assert_eq!(scale("steady-state", "all", 64), whole);
        assert_eq!(scale("steady-state", "64GiB", 64), whole);
        let part = scale("steady-state", "16GiB", 64).unwrap_err().to_string();
        assert!(part.contains("covered 16GiB of 64GiB") && part.contains("span=all"), "{part}");
        let own = scale("replay", "all", 64).unwrap_err().to_string();
        assert!(own.contains("sizes of its own"), "{own}");
        // With the drive's capacity the twin does all.
        assert_eq!(scale("steady-state", "512MiB", 1), Ok("512MiB".to_owned()));
        assert_eq!(scale("replay", "2GiB", 1), Ok("2GiB".to_owned()));
    }
}
