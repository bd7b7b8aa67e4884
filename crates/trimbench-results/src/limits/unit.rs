//! Units of figures as quotients (`s/GB`, `MB/s`, `%`), for comparing figures with limits.

/// A unit: what it measures, and how many base units it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit {
    above: Quantity,
    below: Quantity,
    /// In base units: seconds, bytes, plain numbers.
    scale: f64,
}

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Number,
    Time,
    Size,
    SizeSquared,
    /// Requests times the time that each waited.
    Waiting,
}

const UNITS: [(&str, Quantity, f64); 29] = [
    ("", Quantity::Number, 1.0),
    ("1", Quantity::Number, 1.0),
    ("%", Quantity::Number, 1e-2),
    ("ppm", Quantity::Number, 1e-6),
    ("ns", Quantity::Time, 1e-9),
    ("us", Quantity::Time, 1e-6),
    ("ms", Quantity::Time, 1e-3),
    ("s", Quantity::Time, 1.0),
    ("min", Quantity::Time, 60.0),
    ("h", Quantity::Time, 3_600.0),
    ("request-seconds", Quantity::Waiting, 1.0),
    ("request-s", Quantity::Waiting, 1.0),
    ("requests", Quantity::Number, 1.0),
    ("commands", Quantity::Number, 1.0),
    ("extents", Quantity::Number, 1.0),
    ("discards", Quantity::Number, 1.0),
    ("blocks", Quantity::Number, 1.0),
    ("B", Quantity::Size, 1.0),
    ("KB", Quantity::Size, 1e3),
    ("MB", Quantity::Size, 1e6),
    ("GB", Quantity::Size, 1e9),
    ("TB", Quantity::Size, 1e12),
    ("PB", Quantity::Size, 1e15),
    ("GB^2", Quantity::SizeSquared, 1e18),
    ("KiB", Quantity::Size, 1_024.0),
    ("MiB", Quantity::Size, 1_048_576.0),
    ("GiB", Quantity::Size, 1_073_741_824.0),
    ("TiB", Quantity::Size, 1_099_511_627_776.0),
    ("PiB", Quantity::Size, 1_125_899_906_842_624.0),
];

impl Unit {
    /// Reads `UNIT` or `UNIT/UNIT`; `None` if a part is not known.
    pub(super) fn parse(text: &str) -> Option<Self> {
        // A rate in its own name: requests a second.
        let (above, below) = match text {
            "IOPS" => ("", "s"),
            _ => text.split_once('/').unwrap_or((text, "")),
        };
        let (above, above_scale) = lookup(above)?;
        let (below, below_scale) = lookup(below)?;
        Some(Self { above, below, scale: above_scale / below_scale })
    }

    /// How many of `other` one of these is; `None` if they measure different things.
    pub(super) fn over(self, other: &Self) -> Option<f64> {
        let alike = self.above == other.above && self.below == other.below;
        alike.then(|| self.scale / other.scale)
    }
}

fn lookup(name: &str) -> Option<(Quantity, f64)> {
    UNITS.iter().find(|(known, ..)| *known == name).map(|(_, quantity, scale)| (*quantity, *scale))
}
