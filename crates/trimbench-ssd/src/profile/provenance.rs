//! Where the values of a profile come from, and how many of each kind there are.

use std::fmt;

/// How a value of a profile is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Taken from a published source.
    Sourced,
    /// Set so that the model reproduces a published figure.
    Fitted,
    /// Taken to be typical.
    Assumed,
    /// Set by the user, in the place of the profile's value or beside them.
    Set,
}

/// One value of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileValue {
    /// Table and key, as `nand.read`.
    pub key: String,
    /// As the file has it, with its unit.
    pub value: String,
    /// How it is known.
    pub origin: Origin,
    /// The source, what it was fitted to, or why it was assumed.
    pub source: String,
}

/// How many values of a profile are of which origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OriginCounts {
    /// Values taken from a published source.
    pub sourced: u32,
    /// Values fitted so that the model reproduces a published figure.
    pub fitted: u32,
    /// Values assumed to be typical.
    pub assumed: u32,
    /// Values that the user set.
    pub set: u32,
}

impl Origin {
    /// Those that a profile may give, in the order in which they are counted.
    pub const FILED: [Self; 3] = [Self::Sourced, Self::Fitted, Self::Assumed];

    /// The key in a profile, and the word in lists.
    pub fn id(self) -> &'static str {
        match self {
            Self::Sourced => "sourced",
            Self::Fitted => "fitted",
            Self::Assumed => "assumed",
            Self::Set => "set",
        }
    }
}

impl ProfileValue {
    /// The value in the unit that its key completes: `200MB` of `channel_bytes_per_second` are
    /// `200MB/s`.
    pub fn with_unit(&self) -> String {
        let per = match self.key.as_str() {
            key if key.ends_with("_bytes_per_second") => "/s",
            key if key.contains("per_gib") => "/GiB",
            _ => "",
        };
        format!("{}{per}", self.value)
    }
}

impl OriginCounts {
    pub(super) fn of(values: &[ProfileValue]) -> Self {
        let mut counts = Self::default();
        for value in values {
            *match value.origin {
                Origin::Sourced => &mut counts.sourced,
                Origin::Fitted => &mut counts.fitted,
                Origin::Assumed => &mut counts.assumed,
                Origin::Set => &mut counts.set,
            } += 1;
        }
        counts
    }

    /// Values of all origins.
    pub fn total(self) -> u32 {
        self.sourced + self.fitted + self.assumed + self.set
    }
}

impl fmt::Display for OriginCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sourced, fitted, assumed, set } = self;
        let all = self.total();
        write!(formatter, "{assumed} of {all} values assumed, {fitted} fitted, {sourced} sourced")?;
        if *set == 0 { Ok(()) } else { write!(formatter, ", {set} set by the user") }
    }
}
